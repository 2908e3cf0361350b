# SPDX-License-Identifier: BSD-2-Clause
# The Fortran bindings: mpif.h, modules mpi and mpi_f08, and libmpifort_abi over libmpi_abi.
# Everything is generated from libmpi/abi/*.csv but what fortran.h names.

ifeq ($(origin FC),default)
FC := gfortran
endif
FFLAGS ?= -O2 -g

FORT_GEN := $(B)/libmpi/fortran/gen
FORT_MODULES := mpi_f08_types mpi mpi_f08
FORT_OBJ := $(addprefix $(B)/libmpi/fortran/,attributes.o convert.o callbacks.o section.o staged.o survivors.o stages.o special.o special-p.o wrap.o wrap-p.o \
	mpi_f08_pass.o mpi_f08_pass-p.o $(FORT_MODULES:%=%.o))
# mpi-ext.h and mpisp.h: modules without code (ext.py), and what they include.
FORT_EXT := mpi_ext mpi_f08_ext mpisp mpisp_f08
FORT_SO := $(B)/lib/libmpifort_abi.so.1
FORT_SO_NAMES := libmpifort_abi.so libmpifort.so
FORT_INC := -I$(LMPI_GEN)/include -Ilibmpi/fortran -I$(FORT_GEN)
# The wrappers have no prototypes: their callers are Fortran.
FORT_CFLAGS := -Wno-missing-prototypes

$(FORT_GEN)/stamp: $(wildcard libmpi/fortran/*.py) libmpi/abi/generate.py $(wildcard libmpi/abi/*.csv)
	$(call say,GEN,$(FORT_GEN))
	$(Q)mkdir -p $(@D)
	$(Q)python3 libmpi/fortran/generate.py $(FORT_GEN)
	$(Q)ln -sf $$($(FC) -print-file-name=include/ISO_Fortran_binding.h) $(FORT_GEN)/ # not among a C compiler's own
	$(Q)touch $@
$(FORT_GEN)/wrap.c $(FORT_GEN)/special.h $(FORT_GEN)/include/mpif.h: $(FORT_GEN)/stamp ;
$(FORT_MODULES:%=$(FORT_GEN)/%.f90) $(FORT_EXT:%=$(FORT_GEN)/%.f90) $(FORT_GEN)/mpi_f08_pass.f90 $(FORT_GEN)/mpi_f08_pass-p.f90: $(FORT_GEN)/stamp ;

FORT_HEADERS := $(wildcard libmpi/fortran/*.h) $(FORT_GEN)/special.h $(LMPI_GEN)/stamp
$(B)/libmpi/fortran/%.o: libmpi/fortran/%.c $(FORT_HEADERS)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FORT_INC) $(CFLAGS_ALL) $(FORT_CFLAGS) -c -o $@ $<
$(B)/libmpi/fortran/%-p.o: libmpi/fortran/%.c $(FORT_HEADERS)
	$(call say,CC,$<.PMPI)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FORT_INC) $(CFLAGS_ALL) $(FORT_CFLAGS) -DLMPI_PROFILE -c -o $@ $<
$(B)/libmpi/fortran/wrap.o: $(FORT_GEN)/wrap.c $(FORT_HEADERS)
	$(call say,CC,$<)
	$(Q)$(CC) $(FORT_INC) $(CFLAGS_ALL) $(FORT_CFLAGS) -c -o $@ $<
$(B)/libmpi/fortran/wrap-p.o: $(FORT_GEN)/wrap.c $(FORT_HEADERS)
	$(call say,CC,$<.PMPI)
	$(Q)$(CC) $(FORT_INC) $(CFLAGS_ALL) $(FORT_CFLAGS) -DLMPI_PROFILE -c -o $@ $<

# Two thousand lines that call C: what optimizing them gains, only users' builds want.
$(B)/libmpi/fortran/mpi_f08_pass.o $(B)/libmpi/fortran/mpi_f08_pass-p.o: FFLAGS := $(if $(SAN),-O0,$(FFLAGS))
$(B)/libmpi/fortran/mpi.o $(B)/libmpi/fortran/mpi_f08.o: $(B)/libmpi/fortran/mpi_f08_types.o
$(filter %.o,$(FORT_MODULES:%=$(B)/libmpi/fortran/%.o) $(B)/libmpi/fortran/mpi_f08_pass.o $(B)/libmpi/fortran/mpi_f08_pass-p.o): \
	$(B)/libmpi/fortran/%.o: $(FORT_GEN)/%.f90
	$(call say,FC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(FC) $(FFLAGS) -fPIC -J$(FORT_GEN)/include -c -o $@ $<

$(addprefix $(B)/libmpi/fortran/,mpi_f08_ext.o mpisp_f08.o): $(B)/libmpi/fortran/mpi_f08_types.o
$(FORT_EXT:%=$(B)/libmpi/fortran/%.o): $(B)/libmpi/fortran/%.o: $(FORT_GEN)/%.f90 libmpi/fortran/mpif-ext.h libmpi/spx/mpispf.h $(FORT_GEN)/stamp
	$(call say,FC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(FC) $(FFLAGS) -fPIC -Ilibmpi/fortran -Ilibmpi/spx -J$(FORT_GEN)/include -c -o $@ $<
$(FORT_GEN)/include/mpif-ext.h: libmpi/fortran/mpif-ext.h $(FORT_GEN)/stamp
	$(Q)cp $< $@

$(FORT_SO): $(FORT_OBJ) $(LMPI_SO)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -Wl,-soname,libmpifort_abi.so.1 -Wl,-rpath,'$$ORIGIN' $(if $(SAN),,-Wl,-z,defs) \
		-o $@ $(FORT_OBJ) -L$(B)/lib -lmpi_abi
	$(Q)for n in $(FORT_SO_NAMES); do ln -sf $(@F) $(@D)/$$n; done

FORT_ALL := $(FORT_SO) $(B)/bin/mpifort $(FORT_EXT:%=$(B)/libmpi/fortran/%.o) $(FORT_GEN)/include/mpif-ext.h
ALL_EXTRA += $(FORT_ALL)

.PHONY: install-fortran
INSTALL_TARGETS += install-fortran
install-fortran: $(FORT_ALL) install-libmpi
	@install -m 755 $(FORT_SO) $(DESTDIR)$(LIBDIR)/
	@for n in $(FORT_SO_NAMES); do ln -sf $(notdir $(FORT_SO)) $(DESTDIR)$(LIBDIR)/$$n; done
	@install -m 644 $(FORT_GEN)/include/mpif.h $(FORT_GEN)/include/mpif-ext.h $(patsubst %,$(FORT_GEN)/include/%.mod,$(FORT_MODULES) $(FORT_EXT)) $(DESTDIR)$(PREFIX)/include/
