# SPDX-License-Identifier: BSD-2-Clause
# IMPI/TCP channels to foreign hosts <-> Suci lanes: sans-I/O.
$(call lib,gateway,lib/gateway,relay impi suci base)

$(call unit,test_gateway_channel,test/unit/test_gateway_channel.c,gateway relay impi suci base)
$(call unit,test_gateway_lane,test/unit/test_gateway_lane.c,gateway relay impi suci base)

$(call fuzz,fuzz_gateway,test/fuzz/fuzz_gateway.c,gateway relay impi suci base)
$(B)/test/fuzz/fuzz_gateway: LINK_EXTRA := -lcmocka # asserts of the kit it shares with the suites
