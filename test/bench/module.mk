# SPDX-License-Identifier: BSD-2-Clause
$(call testprog,netpp,test/bench/netpp.c,,)
# Two threads, and nothing of ours.
$(call testprog,limits,test/bench/limits.c,,,-lpthread)
$(call testprog,impipp,test/bench/impipp.c,impi)
$(call testprog,sealpp,test/bench/sealpp.c,sucaead suci base)

## bench         ratios of ours to kernel sockets, tables and build/bench/*.json (root)
.PHONY: bench
bench: all $(B)/test/netpp $(B)/test/impipp
	@test/bench/run-bench $(B)

# One measuring program per transport.  Those of the others need packages of their own,
# which only this bench installs (test/bench/suci.sh).
DUEL := $(B)/test/duel-
DUEL_CC = $(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -Itest/bench/duel
DUEL_COMMON := test/bench/duel/duel.c test/bench/duel/duel.h
$(DUEL)suci: test/bench/duel/duel_suci.c $(DUEL_COMMON) $(sucudp_LINK) $(sucaead_LINK)
	$(call say,LD,$@)
	$(DUEL_CC) $(sucudp_INC) $(sucaead_INC) -o $@ $(filter %.c,$^) -Wl,--start-group \
		$(sucudp_LINK) $(sucaead_LINK) -Wl,--end-group $(sucaead_PKGLIBS)
$(DUEL)tcp: test/bench/duel/duel_tcp.c $(DUEL_COMMON)
	$(call say,LD,$@)
	$(DUEL_CC) -o $@ $(filter %.c,$^)
$(DUEL)enet: test/bench/duel/duel_enet.c $(DUEL_COMMON)
	$(call say,LD,$@)
	$(DUEL_CC) -o $@ $(filter %.c,$^) -lenet
$(DUEL)srt: test/bench/duel/duel_srt.c $(DUEL_COMMON)
	$(call say,LD,$@)
	$(DUEL_CC) -o $@ $(filter %.c,$^) -lsrt
$(DUEL)udt: test/bench/duel/duel_udt.cc $(DUEL_COMMON)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -Itest/bench/duel \
		-c -o $@.o test/bench/duel/duel.c
	$(Q)$(CXX) $(CFLAGS) -Itest/bench/duel -o $@ test/bench/duel/duel_udt.cc $@.o -ludt -lpthread

## bench-suci    Suci against TCP, ENet, UDT, SRT: ping-pong, bulk, CPU time (root)
.PHONY: bench-suci
bench-suci: $(DUEL)suci $(B)/test/limits $(B)/test/inside
	@test/bench/suci.sh $(B)

## bench-stripe  one pair of ranks over 1, 2 and 4 relays (root)
.PHONY: bench-stripe
bench-stripe: all
	@test/bench/stripe.sh $(B)

## bench-failover  20 seeded kills of relays per policy under a running job; SEED ROUNDS; or KILLS (root)
.PHONY: bench-failover
bench-failover: all $(B)/test/mpi/failover
	@ROUNDS=$(or $(ROUNDS),20) B=$(B) test/smoke/mpi-failover.sh

## bench-relay   relayd against testpmd's macswap, a routing kernel, haproxy; build/bench/relay.* (root)
.PHONY: bench-relay
bench-relay: $(B)/bin/relayd $(B)/bin/relay-pktgen $(B)/test/netpp
	@test/bench/relay.sh $(B)

## bench-mpi     libmpi against MPICH and Open MPI, one node and two; build/bench/mpi.json (root)
.PHONY: bench-mpi
bench-mpi: $(LMPI_ALL) $(B)/bin/mpirun $(B)/test/limits $(B)/test/inside
	@test/bench/mpi.sh $(B)

## bench-tunnel  a job over two clusters: relayd beside WireGuard and bare routes with Open MPI; build/bench/tunnel.json (root)
.PHONY: bench-tunnel
bench-tunnel: all
	@test/bench/tunnel.sh $(B)

## bench-optical Linear broadcast by light through Open vSwitch, mode against mode; build/bench/optical.json (root)
.PHONY: bench-optical
bench-optical: all
	@test/bench/optical.sh $(B)

## bench-types   MPI_Pack and MPI_Unpack of vectors beside memcpy; build/bench/types.json
.PHONY: bench-types
bench-types: $(LMPI_ALL)
	$(Q)mkdir -p build/bench
	$(Q)MPICC_CC=gcc $(B)/bin/mpicc -std=gnu17 -O2 -o build/bench/packbench test/bench/packbench.c
	$(Q)build/bench/packbench >build/bench/types.json; rc=$$?; cat build/bench/types.json; exit $$rc

## bench-npb     NPB kernels over libmpi, MPICH, Open MPI, MMP: one node, and two at 100 Mb/s; build/bench/npb.json (root)
.PHONY: bench-npb
bench-npb: $(LMPI_ALL) $(B)/bin/mpirun $(B)/test/inside $(B)/bin/obsim $(B)/lib/libmpitrace.so
	@test/bench/npb.sh $(B)

## bench-mmp     MMP: the paper's figures 4 and 5, MP_tune, computing kept; build/bench/mmp.json, mmp.svg (root)
.PHONY: bench-mmp
bench-mmp: $(B)/bin/mmp-perf $(B)/test/limits $(B)/test/inside
	@test/bench/mmp.sh $(B)

## bench-counts  what a call of libmpi and of Open MPI asks of the machine: system calls, frames, time; CALLS (root, perf)
.PHONY: bench-counts
bench-counts: $(LMPI_ALL) $(B)/test/inside
	@test/bench/counts.sh $(B)

## bench-detect  how long until ranks know of a death; RANKS ROUNDS
.PHONY: bench-detect
bench-detect: $(LMPI_ALL) $(B)/bin/mpirun
	@test/bench/detect.sh $(B)

## bench-spawn   MPI_Comm_spawn beyond what the launcher takes, beside MPICH and Open MPI; N ROUNDS
.PHONY: bench-spawn
bench-spawn: $(LMPI_ALL) $(B)/bin/mpirun
	@test/bench/spawn.sh $(B)

## bench-near    messages with a process that was spawned, beside ranks of one job and Open MPI; ROUNDS
.PHONY: bench-near
bench-near: $(LMPI_ALL) $(B)/bin/mpirun
	@test/bench/near.sh $(B)

## bench-takeover  seeded kills of ranks under mpispd; KILLS SEED RANKS SPARES; build/bench/takeover.* (root)
.PHONY: bench-takeover
bench-takeover: $(B)/bin/mpispd $(B)/bin/mpispctl $(B)/examples/takeover
	@test/bench/takeover.sh $(B)

## bench-frames  frames of 64 KiB with what protects them, beside plain sends and Open MPI; build/bench/frames.json
.PHONY: bench-frames
bench-frames: $(LMPI_ALL) $(B)/bin/mpirun $(B)/bin/mpisprun $(B)/bin/mpisp-io $(B)/bin/mpispd
	@test/bench/frames.sh $(B)
