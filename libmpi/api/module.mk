# Tests of the MPI surface on an engine made of nothing; the surface itself is built by
# ../module.mk.

$(call unit,test_lmpi_rep,test/unit/test_lmpi_rep.c,lmpi_surface)
$(B)/test/unit/test_lmpi_rep.o: | $(LMPI_GEN)/stamp
