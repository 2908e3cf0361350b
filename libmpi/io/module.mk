# SPDX-License-Identifier: BSD-2-Clause
# Tests of views and plans of file accesses; the rest of MPI-IO is tested by programs
# (test/mpi/io*.c) and built by ../module.mk.
$(call lmpi_room,io,SURFACE,coll objects engine)

$(call unit,test_lmpi_io,test/unit/test_lmpi_io.c,lmpi_surface lmpi_engine)
$(B)/test/unit/test_lmpi_io.o: | $(LMPI_GEN)/stamp
$(call fuzz,fuzz_lmpi_runs,test/fuzz/fuzz_lmpi_runs.c libmpi/io/runs.c,)
$(B)/test/fuzz/fuzz_lmpi_runs.o: INC += -Ilibmpi/io
