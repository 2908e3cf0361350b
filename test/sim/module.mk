# SPDX-License-Identifier: BSD-2-Clause
# The virtual-time simulator: real lib/suci and lib/relay objects.
$(call testprog,simulator,$(wildcard test/sim/*.c) tools/obsim/call.c test/mpi_program.c test/stream_net.c test/coll_model.c,sp quorum ft spx mpicore meet launch doorclient light circ ocs coll gateway relay relayset impi mmpaway mmplanes mmpcore sucaead suci base,)

## sim           simulator: all scenarios and SIM_SEEDS swarm seeds; SCENARIO=.. only that, with SIM_SEEDS seeds or SEED=0x..
SIM_SEEDS ?= 300
export SIM_BASE
.PHONY: sim
sim: $(B)/test/simulator
	@test/sim/run $(B)/test/simulator "$(if $(filter command environment,$(origin SCENARIO)),$(SCENARIO))" \
		"$(SEED)" "$(SIM_SEEDS)"

## sim-deaths    a job over 2 x 2 relays that survives deaths: each node dies after each event
.PHONY: sim-deaths
sim-deaths: $(B)/test/simulator
	@$(B)/test/simulator --deaths

# What libmpi does when a call returns.
CFLAGS_test/sim/eval_run.c := -Ilibmpi/transport

# That the invariants can fail: every bug of the canary.h of lib/{suci,mmp,relay,relayset,door/client,meet,launch,mpi,ft,quorum,sp} must be caught.
CFLAGS_test/sim/canary_bugs.c := -I.

## sim-canary    simulator with planted bugs: each must be caught by the invariant it breaks; BUG=NAME only that
.PHONY: sim-canary
sim-canary:
	@$(MAKE) --no-print-directory CC=$(CC) EXTRAS=canary build/$(notdir $(CC))-canary/test/simulator
	@build/$(notdir $(CC))-canary/test/simulator --canary "$(BUG)"

## sim-long      SIM_SEEDS (100000) fresh seeds in SIM_LONG_S seconds (0: no limit); goes on where the last one ended; SCENARIO=.. only that
.PHONY: sim-long
sim-long: SIM_SEEDS := $(if $(filter command environment,$(origin SIM_SEEDS)),$(SIM_SEEDS),100000)
sim-long: $(B)/test/simulator
	@test/sim/run-long $(B)/test/simulator "$(SIM_SEEDS)" "$(SIM_LONG_S)" \
		"$(if $(filter command environment,$(origin SCENARIO)),$(SCENARIO))"
