# SPDX-License-Identifier: BSD-2-Clause
# Tests of collectives and communicators on an engine of the test's own.
$(call lmpi_room,coll,SURFACE,objects engine)

$(call unit,test_lmpi_impi,test/unit/test_lmpi_impi.c,lmpi_surface)
$(B)/test/unit/test_lmpi_impi.o: | $(LMPI_GEN)/stamp
$(call unit,test_lmpi_light,test/unit/test_lmpi_light.c,lmpi_surface)
$(B)/test/unit/test_lmpi_light.o: | $(LMPI_GEN)/stamp
