# SPDX-License-Identifier: BSD-2-Clause
## unit-threaded the suites in which threads meet (UNITS_THREADED), for EXTRAS=tsan
.PHONY: unit-threaded list-objects list-units
unit-threaded: $(UNITS_THREADED) $(B)/test/within
	@test/run-units $(B) $(UNITS_THREADED)

# For test/tidy: every object some module.mk asks for, and every archive.
list-objects:
	@printf '%s\n' $(sort $(foreach v,$(filter %_OBJ %_OBJS,$(.VARIABLES)),$($(v)))) $(foreach l,$(LIBS_ALL),$(B)/lib$(l).a)

# For test/run-lint, with -n: the compile lines of the tests.
list-units: $(UNITS) $(TESTPROGS)
