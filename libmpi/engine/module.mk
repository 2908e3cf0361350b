# Tests of the engine half; the engine itself is built by ../module.mk.

$(call unit,test_lmpi_spin,test/unit/test_lmpi_spin.c,lmpi_engine)
$(call unit,test_lmpi_patience,test/unit/test_lmpi_patience.c,lmpi_engine)
$(call unit,test_lmpi_away,test/unit/test_lmpi_away.c,lmpi_engine)
$(call unit,test_lmpi_shm_ring,test/unit/test_lmpi_shm_ring.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_shm_ring
$(call unit,test_lmpi_boot,test/unit/test_lmpi_boot.c,lmpi_engine)
$(call unit,test_lmpi_tcp,test/unit/test_lmpi_tcp.c,lmpi_engine)
$(call unit,test_lmpi_protocol,test/unit/test_lmpi_protocol.c,lmpi_engine)
$(call unit,test_lmpi_memory,test/unit/test_lmpi_memory.c,lmpi_surface lmpi_engine)
$(B)/test/unit/test_lmpi_memory.o: | $(LMPI_GEN)/stamp
$(call unit,test_lmpi_join,test/unit/test_lmpi_join.c,lmpi_engine)
$(call unit,test_lmpi_dance,test/unit/test_lmpi_dance.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_dance
UNITS_THREADED += $(B)/test/unit/test_lmpi_join
$(call unit,test_lmpi_switch,test/unit/test_lmpi_switch.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_switch
$(call testprog,lmpi_engine_test,test/mpi/lmpi_engine_test.c,lmpi_engine)
$(call fuzz,fuzz_lmpi_blobs,test/fuzz/fuzz_lmpi_blobs.c,lmpi_engine)
$(call fuzz,fuzz_lmpi_engine,test/fuzz/fuzz_lmpi_engine.c,lmpi_engine)
