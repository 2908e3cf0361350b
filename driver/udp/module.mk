# SPDX-License-Identifier: BSD-2-Clause
$(call lib,sucudp,driver/udp,suci tune base)
$(call unit,test_udp_driver,test/unit/test_udp_driver.c,sucudp sucaead suci tune base)
$(call unit,test_udp_runs,test/unit/test_udp_runs.c,sucudp suci tune base)
CFLAGS_test/unit/test_udp_runs.c := -Idriver/udp
$(call unit,test_udp_frame,test/unit/test_udp_frame.c,sucudp suci tune base)
CFLAGS_test/unit/test_udp_frame.c := -Idriver/udp
$(call fuzz,fuzz_udp_frame,test/fuzz/fuzz_udp_frame.c,sucudp suci tune base)
CFLAGS_test/fuzz/fuzz_udp_frame.c := -Idriver/udp
