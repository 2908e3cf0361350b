# SPDX-License-Identifier: BSD-2-Clause
# Compiler wrappers: the build tree's own, and those to be installed.
#
#   $(call wrapper,NAME,LANGUAGE,OPTION,VARIABLE,LIBS,FLAGS)      sed commands that do not depend on the place

MPI_LIB_VERSION := $(shell sed -n 's/^.define BASE_VERSION "\(.*\)"/\1/p' lib/base/include/base/version.h)

wrapper = -e 's|@NAME@|$(1)|g' -e 's|@LANGUAGE@|$(2)|' -e 's|@OPTION@|$(3)|g' -e 's|@VARIABLE@|$(4)|g' \
	-e 's|@SUFFIX@|$(lastword $(subst _, ,$(4)))|g' -e 's|@VERSION@|$(MPI_LIB_VERSION)|g' \
	-e 's|@LIBS@|$(5)|' -e 's|@FLAGS@|$(6)|'

WRAP_mpicc := $(call wrapper,mpicc,C,cc,MPICC_CC,-lmpi_abi,)
WRAP_mpicxx := $(call wrapper,mpicxx,C++,cxx,MPICXX_CXX,-lmpi_abi,)
# One routine is called with buffers of many types, which gfortran from 10 on takes
# for a mistake where it sees no interface (mpif.h).
WRAP_mpifort := $(call wrapper,mpifort,Fortran,fc,MPIFORT_FC,-lmpifort_abi -lmpi_abi,-fallow-argument-mismatch)
WRAPPERS := mpicc mpicxx mpifort
WRAPPER_LINKS := mpic++:mpicxx mpiCC:mpicxx mpif77:mpifort mpif90:mpifort mpicc_abi:mpicc
wrapper_links = for l in $(subst :,=,$(WRAPPER_LINKS)); do ln -sf "$${l\#*=}" "$(1)/$${l%%=*}"; done
ALL_EXTRA += $(WRAPPERS:%=$(B)/bin/%) $(B)/bin/.links

COMPILER_mpicc = $(CC)
COMPILER_mpicxx = $(if $(filter clang%,$(CC)),$(patsubst clang%,clang++%,$(CC)),g++)
COMPILER_mpifort = $(FC)

# Fortran's headers lie in a folder of their own in the build tree.
TREE_mpicc = $(abspath $(LMPI_GEN))/include
TREE_mpicxx = $(TREE_mpicc)
TREE_mpifort = $(abspath $(FORT_GEN))/include

$(WRAPPERS:%=$(B)/bin/%): $(B)/bin/%: libmpi/wrappers/wrapper.in libmpi/wrappers/module.mk \
		lib/base/include/base/version.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed $(WRAP_$*) -e 's|@INCLUDEDIR@|$(TREE_$*)|' -e 's|@LIBDIR@|$(abspath $(B))/lib|' \
		-e 's|@COMPILER@|$(COMPILER_$*)|' -e 's|@LDEXTRA@|$(SAN)|' $< > $@
	$(Q)chmod 755 $@

$(B)/bin/.links: libmpi/wrappers/module.mk
	$(Q)mkdir -p $(@D)
	$(Q)$(call wrapper_links,$(@D))
	$(Q)touch $@

.PHONY: install-wrappers
INSTALL_TARGETS += install-wrappers
install-wrappers:
	@install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig
	@$(foreach w,$(WRAPPERS),sed $(WRAP_$(w)) -e 's|@INCLUDEDIR@|$(PREFIX)/include|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@COMPILER@|$(patsubst mpicc,cc,$(patsubst mpicxx,c++,$(patsubst mpifort,gfortran,$(w))))|' -e 's|@LDEXTRA@||' \
		libmpi/wrappers/wrapper.in > $(DESTDIR)$(PREFIX)/bin/$(w) && chmod 755 $(DESTDIR)$(PREFIX)/bin/$(w) &&) :
	@$(call wrapper_links,$(DESTDIR)$(PREFIX)/bin)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@NAME@|mpi|' -e 's|@LIBS@|-lmpi_abi|' \
		libmpi/wrappers/mpi.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/mpi.pc
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@NAME@|mpifort|' -e 's|@LIBS@|-lmpifort_abi -lmpi_abi|' \
		libmpi/wrappers/mpi.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/mpifort.pc
	@install -d $(DESTDIR)$(PREFIX)/share/modulefiles
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		libmpi/wrappers/modulefile.in > $(DESTDIR)$(PREFIX)/share/modulefiles/relayd-mpi
