# SPDX-License-Identifier: BSD-2-Clause
# Tests of windows; they themselves are built by ../module.mk.
$(call lmpi_room,rma,SURFACE,comms coll objects engine)

$(call unit,test_lmpi_layout,test/unit/test_lmpi_layout.c,lmpi_surface base)
$(call fuzz,fuzz_lmpi_layout,test/fuzz/fuzz_lmpi_layout.c,lmpi_surface)
$(call fuzz,fuzz_lmpi_window,test/fuzz/fuzz_lmpi_window.c,lmpi_surface)
$(B)/test/fuzz/fuzz_lmpi_window.o: INC += -Itest/unit
$(B)/test/unit/test_lmpi_layout.o \
	$(B)/test/fuzz/fuzz_lmpi_layout.o $(B)/test/fuzz/fuzz_lmpi_window.o: | $(LMPI_GEN)/stamp
