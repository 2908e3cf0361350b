# SPDX-License-Identifier: BSD-2-Clause
# The relay paper's evaluation in virtual time (doc/evaluation.md).
$(call testprog,udpcost,test/eval/udpcost.c,)

## eval-calibrate  measure what a datagram costs nodes and relays on this machine, write test/eval/costs.txt
.PHONY: eval-calibrate
eval-calibrate: $(B)/test/counted $(B)/test/udpcost
	@test/eval/calibrate $(B)

## eval-relay    the relay paper's figures by a model in virtual time: tables, bars (exit status), build/eval/*.svg, eval.json
.PHONY: eval-relay
eval-relay: $(B)/test/simulator
	@test/eval/judge-test
	@test/eval/run $(B) build/eval

## eval-impi-tcp  IMPI packets beside plain TCP, the relay paper's table 4: measured, a bar (root)
.PHONY: eval-impi-tcp
eval-impi-tcp: $(B)/test/impipp $(B)/test/netpp
	@test/eval/impi-tcp $(B)

## eval-npb      the relay paper's table 3 and figure 7 by a model, over traced patterns of NPB: tables, bars, build/eval/npb-*.svg
.PHONY: eval-npb
eval-npb: $(B)/test/simulator
	@test/eval/npb $(B) build/eval $(KERNELS)

## eval-npb-record  run NPB kernels on 32 processes under libmpitrace, write what they exchange to test/eval/npb-32.pattern
.PHONY: eval-npb-record
eval-npb-record: $(NPB) $(B)/bin/mpirun $(B)/bin/mpitrace $(B)/lib/libmpitrace.so
	@test/eval/npb32-record $(B) test/eval/npb-32.pattern

## eval-optical  the optical paper's figures and Table 4 in model time, and our modes: tables, build/eval/optical-*.svg
.PHONY: eval-optical
eval-optical: $(B)/bin/obsim
	@test/eval/optical $(B) build/eval

## eval-messages  CG and MG of 16 processes, traced here, on circuits in model time: a table, bars
.PHONY: eval-messages
eval-messages: $(B)/bin/obsim $(B)/examples/npb/cg $(B)/examples/npb/mg $(B)/bin/mpirun $(B)/lib/libmpitrace.so
	@test/eval/optical-messages $(B)

## eval-ft-record  run FT class A on 16 processes under libmpitrace, write its calls to test/eval/ft-a-16-real.trace
.PHONY: eval-ft-record
eval-ft-record: $(B)/examples/npb/ft $(B)/bin/mpirun $(B)/bin/mpitrace $(B)/lib/libmpitrace.so
	@test/eval/ft-record $(B) test/eval/ft-a-16-real.trace

## eval-optical-peers  schedules of 2025 and 2026 beside ours in model time, gaps to a bound: tables, build/eval/optical-peers.svg
.PHONY: eval-optical-peers
eval-optical-peers: $(B)/bin/obsim
	@test/eval/optical-peers $(B) build/eval

$(call testprog,stages,test/eval/stages.c test/eval/stages_kernel.c test/eval/stages_card.c,)

## eval-mmp      the MMP paper's figures 6 and 7 by a model, over traced patterns of IS and CG: tables, build/eval/mmp-*.svg
.PHONY: eval-mmp
eval-mmp: $(B)/test/stages
	@test/eval/mmp $(B) build/eval

## eval-mmp-record  run IS and CG under libmpitrace, write their patterns to test/eval/npb.pattern
.PHONY: eval-mmp-record
eval-mmp-record: $(NPB) $(B)/bin/mpirun $(B)/bin/mpitrace $(B)/lib/libmpitrace.so
	@test/eval/npb-record $(B) test/eval/npb.pattern

$(call testprog,sucimem,test/eval/sucimem.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base)

## eval-suci     the Suci paper's figures 6 to 9 beside MPICH and Open MPI, memory of 1000 peers, streams with deadlines (root)
.PHONY: eval-suci
eval-suci: $(B)/bin/suci-perf $(B)/examples/suci-stream $(B)/test/sucimem $(B)/test/inside
	@test/eval/suci $(B)
