$(call lib,suci,lib/suci,base)

# Suites of one file of the library see its private headers.
$(call unit,test_suci_wire,test/unit/test_suci_wire.c,suci base)
CFLAGS_test/unit/test_suci_wire.c := -Ilib/suci
$(call unit,test_suci_acks,test/unit/test_suci_acks.c,suci base)
CFLAGS_test/unit/test_suci_acks.c := -Ilib/suci
$(call unit,test_suci_pacer,test/unit/test_suci_pacer.c,suci base)
CFLAGS_test/unit/test_suci_pacer.c := -Ilib/suci
$(call unit,test_suci_rtt,test/unit/test_suci_rtt.c,suci base)
CFLAGS_test/unit/test_suci_rtt.c := -Ilib/suci
$(call unit,test_suci_cc,test/unit/test_suci_cc.c,suci base)
CFLAGS_test/unit/test_suci_cc.c := -Ilib/suci
$(call unit,test_suci_bbr,test/unit/test_suci_bbr.c,suci base)
CFLAGS_test/unit/test_suci_bbr.c := -Ilib/suci
$(call unit,test_suci_endpoint,test/unit/test_suci_endpoint.c,suci base)
$(call unit,test_suci_handshake,test/unit/test_suci_handshake.c,suci base)
$(call unit,test_suci_pmtu,test/unit/test_suci_pmtu.c,suci base)
$(call unit,test_suci_parts,test/unit/test_suci_parts.c,suci base)
CFLAGS_test/unit/test_suci_parts.c := -Ilib/suci
$(call unit,test_suci_migrate,test/unit/test_suci_migrate.c,suci base)
$(call unit,test_suci_ecn,test/unit/test_suci_ecn.c,suci base)
$(call unit,test_suci_ride,test/unit/test_suci_ride.c,suci base)
$(call unit,test_suci_forward,test/unit/test_suci_forward.c,suci base)
$(call unit,test_suci_outage,test/unit/test_suci_outage.c,suci base)
$(call unit,test_suci_refused,test/unit/test_suci_refused.c,suci base)
$(call unit,test_suci_room,test/unit/test_suci_room.c,suci base)
CFLAGS_test/unit/test_suci_room.c := -Ilib/suci
$(call unit,test_suci_credit,test/unit/test_suci_credit.c,suci base)
CFLAGS_test/unit/test_suci_credit.c := -Ilib/suci
$(call unit,test_suci_lane,test/unit/test_suci_lane.c,suci base)
CFLAGS_test/unit/test_suci_lane.c := -Ilib/suci
$(call unit,test_suci_lane_room,test/unit/test_suci_lane_room.c,suci base)
CFLAGS_test/unit/test_suci_lane_room.c := -Ilib/suci
$(call unit,test_suci_group,test/unit/test_suci_group.c,suci base)
CFLAGS_test/unit/test_suci_group.c := -Ilib/suci

$(call unit,test_suci_flood,test/unit/test_suci_flood.c,suci base)
CFLAGS_test/unit/test_suci_flood.c := -Ilib/suci
$(call fuzz,fuzz_suci_rx,test/fuzz/fuzz_suci_rx.c,suci base)
$(call fuzz,fuzz_suci_actor,test/fuzz/fuzz_suci_actor.c,suci base)
CFLAGS_test/fuzz/fuzz_suci_actor.c := -Ilib/suci
$(call fuzz,fuzz_suci_handshake,test/fuzz/fuzz_suci_handshake.c,suci base)
$(call fuzz,fuzz_suci_wire,test/fuzz/fuzz_suci_wire.c,suci base)
CFLAGS_test/fuzz/fuzz_suci_wire.c := -Ilib/suci
$(call fuzz,fuzz_suci_sealed,test/fuzz/fuzz_suci_sealed.c,suci base)
