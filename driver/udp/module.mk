$(call lib,sucudp,driver/udp,suci base)
$(call unit,test_udp_driver,test/unit/test_udp_driver.c,sucudp sucaead suci base)
$(call unit,test_udp_runs,test/unit/test_udp_runs.c,sucudp suci base)
CFLAGS_test/unit/test_udp_runs.c := -Idriver/udp
