# SPDX-License-Identifier: BSD-2-Clause
# An MPI program like a user's, but for the rows it writes.  It finds libmpi beside its own folder.
mpiprog_INC := -I$(LMPI_GEN)/include
mpiprog_LINK := $(LMPI_SO)
mpiprog_PKGLIBS := -Wl,-rpath,'$$$$ORIGIN/../lib'
$(call prog,mpitune,$(wildcard tools/mpitune/*.c),mpiprog tunefile tune base,libbsd-overlay)
$(mpitune_PROGS_OBJ): | $(LMPI_GEN)/stamp
