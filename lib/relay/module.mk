# SPDX-License-Identifier: BSD-2-Clause
# The relay's forwarding core and start-up: sans-I/O, no DPDK, no JSON.
$(call lib,relay,lib/relay,door relayproto impi suci base)

$(call unit,test_relay_codec,test/unit/test_relay_codec.c,relay)
$(call unit,test_relay_startup,test/unit/test_relay_startup.c,relay)
$(call unit,test_relay_startup_ends,test/unit/test_relay_startup_ends.c,relay)
$(call unit,test_relay_cluster,test/unit/test_relay_cluster.c,relay)
$(call unit,test_relay_core,test/unit/test_relay_core.c,relay)
$(call unit,test_relay_guess,test/unit/test_relay_guess.c,relay)
CFLAGS_test/unit/test_relay_guess.c := -Ilib/relay
$(call unit,test_relay_ends,test/unit/test_relay_ends.c,relay)
$(call unit,test_relay_gateways,test/unit/test_relay_gateways.c,relay)
$(call unit,test_relay_routes,test/unit/test_relay_routes.c,relay)
$(call unit,test_relay_light,test/unit/test_relay_light.c,relay)
$(call unit,test_relay_groups,test/unit/test_relay_groups.c,relay)
$(call unit,test_relay_ways,test/unit/test_relay_ways.c,relay)
$(call unit,test_relay_places,test/unit/test_relay_places.c,relay)
# What lanes cost, in relays too.
$(call unit,test_suci_lane_share,test/unit/test_suci_lane_share.c,relay suci base)
CFLAGS_test/unit/test_suci_lane_share.c := $(SUCI_INTERNAL) -Ilib/suci/lane
$(call unit,test_relay_door_scale,test/unit/test_relay_door_scale.c,relay)
CFLAGS_test/unit/test_relay_door_scale.c := -Ilib/relay
$(call unit,test_relay_door_way,test/unit/test_relay_door_way.c,relay)
$(call unit,test_door_claim,test/unit/test_door_claim.c,relay doorclient)
$(call unit,test_relay_lanes,test/unit/test_relay_lanes.c,relay)
$(call unit,test_relay_forward,test/unit/test_relay_forward.c,relay)

$(call fuzz,fuzz_relay_cluster,test/fuzz/fuzz_relay_cluster.c,relay)
$(call fuzz,fuzz_relay_peer,test/fuzz/fuzz_relay_peer.c,relay)
$(call fuzz,fuzz_relay_core,test/fuzz/fuzz_relay_core.c,relay)
$(call fuzz,fuzz_relay_startup,test/fuzz/fuzz_relay_startup.c,relay)
