# SPDX-License-Identifier: BSD-2-Clause
$(call lib,rdconf,app/relayd/conf,suci base,jansson libbsd)
$(call unit,test_rd_conf,test/unit/test_rd_conf.c,rdconf suci base,jansson libbsd)
$(call unit,test_rd_conf_legs,test/unit/test_rd_conf_legs.c,rdconf suci base,jansson libbsd)
$(call unit,test_rd_conf6,test/unit/test_rd_conf6.c,rdconf suci base,jansson libbsd)
$(call unit,test_rd_lists,test/unit/test_rd_lists.c,rdconf suci base,jansson libbsd)
$(call unit,test_rd_reload,test/unit/test_rd_reload.c,rdconf suci base,jansson libbsd)
$(call fuzz,fuzz_rd_conf,test/fuzz/fuzz_rd_conf.c,rdconf suci base)
