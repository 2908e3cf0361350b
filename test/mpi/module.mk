# SPDX-License-Identifier: BSD-2-Clause
# MPI conformance programs, compiled by our own mpicc and run as test/mpi/rows says.

# Every program of the folder but the one that tests the engine without an API.
MPI_TESTS := $(filter-out lmpi_engine_test,$(patsubst test/mpi/%.c,%,$(sort $(wildcard test/mpi/*.c))))
MPI_TEST_PROGS := $(MPI_TESTS:%=$(B)/test/mpi/%) $(B)/test/mpi/swarm
SMOKE_EXTRA += $(MPI_TEST_PROGS) # test/smoke/mpi-clusters.sh runs them

$(B)/test/mpi/%: test/mpi/%.c $(wildcard test/mpi/*.h) $(LMPI_ALL)
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC="$(CC)" $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) -Wno-conversion -pthread \
		$(CFLAGS) $(SAN) -Itest/mpi -I$(LMPI_GEN) -o $@ $< -lm

# Random programs: more than one file.
MPI_SWARM := $(sort $(wildcard test/mpi/swarm/*.c))
$(B)/test/mpi/swarm: $(MPI_SWARM) $(wildcard test/mpi/swarm/*.h) $(LMPI_ALL)
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC="$(CC)" $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) -Wno-conversion \
		$(CFLAGS) $(SAN) -o $@ $(MPI_SWARM)

# Fortran: fixed form with mpif.h, free form with modules mpi and mpi_f08.  A sanitizer of clang's does
# not go with gfortran's.
MPI_FORTRAN_TESTS := fortran_fixed fortran_module fortran_io fortran_f08 fortran_f08_sections fortran_dyn fortran_ft fortran_sp
ifeq ($(SAN)$(findstring clang,$(CC)),$(SAN))
MPI_TEST_PROGS += $(MPI_FORTRAN_TESTS:%=$(B)/test/mpi/%)
endif
$(B)/test/mpi/fortran_fixed: test/mpi/fortran_fixed.f
$(B)/test/mpi/fortran_module: test/mpi/fortran_module.f90
$(B)/test/mpi/fortran_io: test/mpi/fortran_io.f90
$(B)/test/mpi/fortran_f08: test/mpi/fortran_f08.f90
$(B)/test/mpi/fortran_f08_sections: test/mpi/fortran_f08_sections.f90
$(B)/test/mpi/fortran_dyn: test/mpi/fortran_dyn.f90
$(B)/test/mpi/fortran_ft: test/mpi/fortran_ft.f90
$(B)/test/mpi/fortran_sp: test/mpi/fortran_sp.f90
$(filter-out %fortran_fixed,$(MPI_FORTRAN_TESTS:%=$(B)/test/mpi/%)): test/mpi/fortran_check.inc
$(MPI_FORTRAN_TESTS:%=$(B)/test/mpi/%): $(FORT_ALL) $(LMPI_ALL)
	$(call say,MPIF90,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(B)/bin/mpifort $(FFLAGS) -w -J$(@D) -o $@ $(filter %.f %.f90,$^)

# mpi.h against every row of the tables, and what the library exports.
$(B)/test/mpi/abi_check: $(LMPI_GEN)/abi_check.c $(LMPI_ALL)
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC="$(CC)" $(B)/bin/mpicc -std=c17 $(WARN) -Wno-redundant-decls -o $@ $< $(SAN) -Wl,-z,now

## mpi           MPI conformance programs under Open MPI's mpirun; ROWS=pattern chooses
.PHONY: mpi
mpi: $(MPI_TEST_PROGS) $(NPB) $(B)/examples/survivor $(B)/examples/meet $(B)/bin/mpirun $(B)/test/mpi/abi_check $(B)/test/within
	@test/run-mpi $(B) "$(ROWS)"
