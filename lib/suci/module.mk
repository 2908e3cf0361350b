# SPDX-License-Identifier: BSD-2-Clause
# Two rooms with public headers in include/suci: path/ is the endpoint and its hops, lane/ what runs
# over them.  path/internal has what lanes see of paths beside those: upper.h; internal/ planted bugs.
$(call lib,sucipath,lib/suci/path,seal base)
$(call lib,suci,lib/suci/lane,sucipath)
$(sucipath_OBJ) $(sucipath_WHOLE): INC += -Ilib/suci/path/internal -Ilib/suci/internal
$(suci_OBJ) $(suci_WHOLE): INC += -Ilib/suci/path/internal -Ilib/suci/internal
# Who compiles archives as a whole takes both.
suci_WHOLE += $(sucipath_WHOLE)
SUCI_INTERNAL := -Ilib/suci/path/internal -Ilib/suci/internal -Ilib/suci/path

# Suites of one file of the library see its internal headers.
$(call unit,test_suci_wire,test/unit/test_suci_wire.c,suci base)
CFLAGS_test/unit/test_suci_wire.c := $(SUCI_INTERNAL)
$(call unit,test_suci_acks,test/unit/test_suci_acks.c,suci base)
CFLAGS_test/unit/test_suci_acks.c := $(SUCI_INTERNAL)
$(call unit,test_suci_pacer,test/unit/test_suci_pacer.c,suci base)
CFLAGS_test/unit/test_suci_pacer.c := $(SUCI_INTERNAL)
$(call unit,test_suci_rtt,test/unit/test_suci_rtt.c,suci base)
CFLAGS_test/unit/test_suci_rtt.c := $(SUCI_INTERNAL)
$(call unit,test_suci_cc,test/unit/test_suci_cc.c,suci base)
CFLAGS_test/unit/test_suci_cc.c := $(SUCI_INTERNAL)
$(call unit,test_suci_bbr,test/unit/test_suci_bbr.c,suci base)
CFLAGS_test/unit/test_suci_bbr.c := $(SUCI_INTERNAL)
$(call unit,test_suci_addr,test/unit/test_suci_addr.c,suci base)
$(call fuzz,fuzz_suci_addr,test/fuzz/fuzz_suci_addr.c,suci base)
$(call unit,test_suci_endpoint,test/unit/test_suci_endpoint.c,suci base)
$(call unit,test_suci_handshake,test/unit/test_suci_handshake.c,suci base)
$(call unit,test_suci_pmtu,test/unit/test_suci_pmtu.c,suci base)
$(call unit,test_suci_parts,test/unit/test_suci_parts.c,suci base)
CFLAGS_test/unit/test_suci_parts.c := $(SUCI_INTERNAL)
$(call unit,test_suci_migrate,test/unit/test_suci_migrate.c,suci base)
$(call unit,test_suci_ecn,test/unit/test_suci_ecn.c,suci base)
$(call unit,test_suci_ride,test/unit/test_suci_ride.c,suci base)
$(call unit,test_suci_forward,test/unit/test_suci_forward.c,suci base)
$(call unit,test_suci_outage,test/unit/test_suci_outage.c,suci base)
$(call unit,test_suci_refused,test/unit/test_suci_refused.c,suci base)
CFLAGS_test/unit/test_suci_refused.c := $(SUCI_INTERNAL)
$(call unit,test_suci_room,test/unit/test_suci_room.c,suci base)
CFLAGS_test/unit/test_suci_room.c := $(SUCI_INTERNAL)
$(call unit,test_suci_credit,test/unit/test_suci_credit.c,suci base)
CFLAGS_test/unit/test_suci_credit.c := $(SUCI_INTERNAL)
$(call unit,test_suci_lane,test/unit/test_suci_lane.c,suci base)
CFLAGS_test/unit/test_suci_lane.c := $(SUCI_INTERNAL) -Ilib/suci/lane
$(call unit,test_suci_lane_lives,test/unit/test_suci_lane_lives.c,suci base)
CFLAGS_test/unit/test_suci_lane_lives.c := $(SUCI_INTERNAL) -Ilib/suci/lane
$(call unit,test_suci_lane_move,test/unit/test_suci_lane_move.c,suci base)
CFLAGS_test/unit/test_suci_lane_move.c := $(SUCI_INTERNAL) -Ilib/suci/lane
$(call unit,test_suci_lane_room,test/unit/test_suci_lane_room.c,suci base)
CFLAGS_test/unit/test_suci_lane_room.c := $(SUCI_INTERNAL) -Ilib/suci/lane
$(call unit,test_suci_group,test/unit/test_suci_group.c,suci base)
CFLAGS_test/unit/test_suci_group.c := $(SUCI_INTERNAL) -Ilib/suci/lane

$(call unit,test_suci_flood,test/unit/test_suci_flood.c,suci base)
CFLAGS_test/unit/test_suci_flood.c := $(SUCI_INTERNAL) -Ilib/suci/lane
$(call fuzz,fuzz_suci_rx,test/fuzz/fuzz_suci_rx.c,suci base)
$(call fuzz,fuzz_suci_actor,test/fuzz/fuzz_suci_actor.c,suci base)
CFLAGS_test/fuzz/fuzz_suci_actor.c := $(SUCI_INTERNAL)
$(call fuzz,fuzz_suci_handshake,test/fuzz/fuzz_suci_handshake.c,suci base)
$(call fuzz,fuzz_suci_wire,test/fuzz/fuzz_suci_wire.c,suci base)
CFLAGS_test/fuzz/fuzz_suci_wire.c := $(SUCI_INTERNAL)
$(call fuzz,fuzz_suci_sealed,test/fuzz/fuzz_suci_sealed.c,suci base)
