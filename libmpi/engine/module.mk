# SPDX-License-Identifier: BSD-2-Clause
# The loop, waiting, the lock: below all transports; built by ../module.mk.
$(call lmpi_room,engine,ENGINE,)

$(call unit,test_lmpi_spin,test/unit/test_lmpi_spin.c,lmpi_engine)
$(call unit,test_lmpi_waiters,test/unit/test_lmpi_waiters.c,lmpi_engine)
$(call unit,test_lmpi_patience,test/unit/test_lmpi_patience.c,lmpi_engine)
$(call unit,test_lmpi_distance,test/unit/test_lmpi_distance.c,lmpi_engine)
$(call unit,test_lmpi_protocol,test/unit/test_lmpi_protocol.c,lmpi_engine)
$(call testprog,lmpi_engine_test,test/mpi/lmpi_engine_test.c,lmpi_engine)
$(call fuzz,fuzz_lmpi_engine,test/fuzz/fuzz_lmpi_engine.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_waiters
