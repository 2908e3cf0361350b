# SPDX-License-Identifier: BSD-2-Clause
# Tests of handles, representations and the datatype engine on an engine made of nothing; the room
# itself is built by ../module.mk.
$(call lmpi_room,objects,SURFACE,engine)

$(call unit,test_lmpi_rep,test/unit/test_lmpi_rep.c,lmpi_surface)
$(B)/test/unit/test_lmpi_rep.o: | $(LMPI_GEN)/stamp
$(call unit,test_lmpi_type,test/unit/test_lmpi_type.c,lmpi_surface)
$(call unit,test_lmpi_external32,test/unit/test_lmpi_external32.c,lmpi_surface)
$(call fuzz,fuzz_lmpi_type,test/fuzz/fuzz_lmpi_type.c,lmpi_surface)
$(call fuzz,fuzz_lmpi_external32,test/fuzz/fuzz_lmpi_external32.c,lmpi_surface)
$(B)/test/fuzz/fuzz_lmpi_type.o $(B)/test/fuzz/fuzz_lmpi_external32.o: INC += -Itest/unit
$(B)/test/unit/test_lmpi_type.o $(B)/test/unit/test_lmpi_external32.o \
	$(B)/test/fuzz/fuzz_lmpi_type.o $(B)/test/fuzz/fuzz_lmpi_external32.o: | $(LMPI_GEN)/stamp
