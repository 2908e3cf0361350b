# SPDX-License-Identifier: BSD-2-Clause
# lib/mpi: matching, protocols and credit of MPI; no I/O, no clock, memory by callbacks.
$(call lib,mpicore,lib/mpi,coll impi suci base)
$(foreach s,match packet grow far window stream,$(call unit,test_lmpi_$(s),test/unit/test_lmpi_$(s).c,mpicore coll impi suci base))
$(call unit,test_lmpi_engine,test/unit/test_lmpi_engine.c test/mpi_program.c test/stream_net.c,mpicore coll impi suci base)
$(call fuzz,fuzz_lmpi_stream,test/fuzz/fuzz_lmpi_stream.c,mpicore coll impi suci base)
$(call unit,test_lmpi_lock_word,test/unit/test_lmpi_lock_word.c,mpicore coll impi suci base)
UNITS_THREADED += $(B)/test/unit/test_lmpi_lock_word
