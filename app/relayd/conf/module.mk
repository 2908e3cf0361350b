$(call lib,rdconf,app/relayd/conf,base,jansson libbsd)
$(call unit,test_rd_conf,test/unit/test_rd_conf.c,rdconf base,jansson libbsd)
$(call unit,test_rd_reload,test/unit/test_rd_reload.c,rdconf base,jansson libbsd)
$(call fuzz,fuzz_rd_conf,test/fuzz/fuzz_rd_conf.c,rdconf base)
