# Tests of the datatype engine; the engine itself is built by ../module.mk.

$(call unit,test_lmpi_type,test/unit/test_lmpi_type.c,lmpi_surface)
$(call unit,test_lmpi_external32,test/unit/test_lmpi_external32.c,lmpi_surface)
$(call fuzz,fuzz_lmpi_type,test/fuzz/fuzz_lmpi_type.c,lmpi_surface)
$(call fuzz,fuzz_lmpi_external32,test/fuzz/fuzz_lmpi_external32.c,lmpi_surface)
$(B)/test/fuzz/fuzz_lmpi_type.o $(B)/test/fuzz/fuzz_lmpi_external32.o: INC += -Itest/unit
$(B)/test/unit/test_lmpi_type.o $(B)/test/unit/test_lmpi_external32.o \
	$(B)/test/fuzz/fuzz_lmpi_type.o $(B)/test/fuzz/fuzz_lmpi_external32.o: | $(LMPI_GEN)/stamp
