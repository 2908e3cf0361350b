# SPDX-License-Identifier: BSD-2-Clause
## unit-threaded the suites in which threads meet (UNITS_THREADED), for EXTRAS=tsan
.PHONY: unit-threaded list-objects list-units
unit-threaded: $(UNITS_THREADED) $(B)/test/within
	@test/run-units $(B) $(UNITS_THREADED)

## paths         all to all of PEERS (2000) processes of PATHS (64) paths each in virtual time, LOST_PPM (0) lost
.PHONY: paths
paths: $(B)/test/unit/test_pathpool
	@$< $(or $(PEERS),2000) $(or $(PATHS),64) $(or $(LOST_PPM),0)

# For test/tidy: every object some module.mk asks for, and every archive.
list-objects:
	@printf '%s\n' $(sort $(foreach v,$(filter %_OBJ %_OBJS,$(.VARIABLES)),$($(v)))) $(foreach l,$(LIBS_ALL),$(B)/lib$(l).a)

# For test/run-lint, with -n: the compile lines of the tests.
list-units: $(UNITS) $(TESTPROGS)
