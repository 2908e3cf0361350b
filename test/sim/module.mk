# The virtual-time simulator: real lib/suci and lib/relay objects.
$(call testprog,simulator,$(wildcard test/sim/*.c),gateway relay impi suci base,)

## sim           simulator: all scenarios and SIM_SEEDS swarm seeds, or SEED=0x.. SCENARIO=..
SIM_SEEDS ?= 300
export SIM_BASE
SCENARIO ?= swarm
.PHONY: sim
sim: $(B)/test/simulator
	@test/sim/run $(B)/test/simulator "$(SCENARIO)" "$(SEED)" "$(SIM_SEEDS)"
