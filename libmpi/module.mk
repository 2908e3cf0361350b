# SPDX-License-Identifier: BSD-2-Clause
include libmpi/knobs/module.mk

# libmpi: the MPI library.  Two halves that meet in engine/engine.h:
#   lmpi_surface  MPI_* on handles, datatypes, communicators, windows, files; MPI_T
#   lmpi_engine   bytes between world ranks
# each of rooms, whose module.mk say which rooms' headers they may include: others are not in their
# include path.
# The entry points, mpi.h and the export list are generated from abi/*.csv.

LMPI_GEN := $(B)/libmpi/gen
LMPI_EXTRA_HEADERS := $(addprefix $(LMPI_GEN)/include/,mpi-ext.h mpisp.h mpispf.h)
LMPI_SURFACE_ROOMS := calls rma io sp ft spx dyn comms coll objects tool
LMPI_ENGINE_ROOMS := start others epoch transport boot engine
LMPI_SURFACE_SRC := $(wildcard $(LMPI_SURFACE_ROOMS:%=libmpi/%/*.c))
LMPI_ENGINE_SRC := $(wildcard $(LMPI_ENGINE_ROOMS:%=libmpi/%/*.c))
LMPI_SURFACE_OBJ := $(patsubst %.c,$(B)/%.o,$(LMPI_SURFACE_SRC)) $(LMPI_GEN)/entry.o
LMPI_ENGINE_OBJ := $(patsubst %.c,$(B)/%.o,$(LMPI_ENGINE_SRC))
LMPI_GENERATED := $(addprefix $(LMPI_GEN)/,include/mpi.h impl.h entry.c tables.h exports.map \
	abi_check.c implemented.txt)

$(LMPI_GEN)/stamp: libmpi/abi/generate.py $(wildcard libmpi/abi/*.csv) libmpi/abi/compat.h $(LMPI_SURFACE_SRC)
	$(call say,GEN,$(LMPI_GEN))
	$(Q)mkdir -p $(@D)
	$(Q)python3 libmpi/abi/generate.py $(LMPI_GEN) $(LMPI_SURFACE_SRC)
	$(Q)touch $@
$(LMPI_GENERATED): $(LMPI_GEN)/stamp ;

# As archives, for unit tests that take one half only.
LMPI_SURFACE_BELOW := -I$(LMPI_GEN)/include -I$(LMPI_GEN) $(lmpiknobs_INC) -Ilib/mpi/include $(ft_INC) $(light_INC) $(relayproto_INC) $(meet_INC) $(launch_INC) $(spxrun_INC)
lmpi_surface_INC := $(LMPI_SURFACE_ROOMS:%=-Ilibmpi/%) -Ilibmpi/engine $(LMPI_SURFACE_BELOW)
# The lock is below both halves, and all that the surface needs of the other one as code; lib/mpi has
# the executor of schedules and windows' target side, which the surface drives.
lmpi_surface_LINK := $(B)/liblmpi_surface.a $(B)/libmpi/engine/lock.o $(B)/libmpi/engine/waiters.o $(mpicore_LINK) $(lmpiknobs_LINK) $(light_LINK) $(relayproto_LINK) $(launch_LINK) $(spxrun_LINK)
lmpi_surface_PKGLIBS := -lm $(lmpiknobs_PKGLIBS) $(spxrun_PKGLIBS) -lpthread
LMPI_PKGS := pmix libbsd
LMPI_ENGINE_BELOW := -I$(LMPI_GEN)/include $(lmpiknobs_INC) $(mpicore_INC) $(ft_INC) \
	$(tunefile_INC) $(sucudp_INC) $(sucaead_INC) $(impi_INC) $(light_INC) $(relayset_INC) $(pathpool_INC) $(doorclient_INC) $(meet_INC) $(launch_INC) $(names_INC) $(spclient_INC) $(call pkg_cflags,$(LMPI_PKGS))
lmpi_engine_INC := $(LMPI_ENGINE_ROOMS:%=-Ilibmpi/%) $(LMPI_ENGINE_BELOW)
lmpi_engine_LINK := $(B)/liblmpi_engine.a $(mpicore_LINK) $(ft_LINK) $(lmpiknobs_LINK) $(tunefile_LINK) $(sucudp_LINK) $(sucaead_LINK) $(impi_LINK) $(light_LINK) $(relayset_LINK) $(pathpool_LINK) $(doorclient_LINK) $(meet_LINK) $(launch_LINK) $(names_LINK) $(spclient_LINK)
lmpi_engine_PKGLIBS := $(call pkg_libs,$(LMPI_PKGS)) $(sucaead_PKGLIBS) -lpthread
LIBS_ALL += lmpi_surface lmpi_engine

LMPI_SURFACE_WHOLE := $(patsubst $(B)/%,$(B)/whole/%,$(LMPI_SURFACE_OBJ))
LMPI_ENGINE_WHOLE := $(patsubst $(B)/%,$(B)/whole/%,$(LMPI_ENGINE_OBJ))
LMPI_OBJ_ALL := $(LMPI_SURFACE_OBJ) $(LMPI_ENGINE_OBJ) $(LMPI_SURFACE_WHOLE) $(LMPI_ENGINE_WHOLE)

# $(call lmpi_room,ROOM,SURFACE or ENGINE,rooms whose headers it may include)
lmpi_room = $(eval $(patsubst %.c,$(B)/%.o,$(wildcard libmpi/$(1)/*.c)) $(patsubst %.c,$(B)/whole/%.o,$(wildcard libmpi/$(1)/*.c)): \
	INC := -Ilibmpi/$(1) $(3:%=-Ilibmpi/%) $(LMPI_$(2)_BELOW))
$(LMPI_GEN)/entry.o $(B)/whole/libmpi/gen/entry.o: INC := $(lmpi_surface_INC)
# Only the entry points leave the library; thread-local variables are reached
# directly because the library is loaded with the program.
$(LMPI_OBJ_ALL): private CFLAGS += -fvisibility=hidden -ftls-model=initial-exec
$(LMPI_SURFACE_OBJ) $(LMPI_SURFACE_WHOLE): | $(LMPI_GEN)/stamp $(LMPI_EXTRA_HEADERS)
$(B)/liblmpi_surface.a: $(LMPI_SURFACE_OBJ)
$(B)/liblmpi_engine.a: $(LMPI_ENGINE_OBJ)

$(LMPI_GEN)/entry.o: $(LMPI_GEN)/entry.c
	$(call say,CC,$<)
	$(Q)$(CC) $(INC) $(CFLAGS_ALL) -c -o $@ $<

# ---- the library, compiled as a whole with what it is made of (see mk/rules.mk): a short message
# passes many small functions of many files
LMPI_SO := $(B)/lib/libmpi_abi.so.1
# Build scripts that say -lmpi beside a wrapper would else get another MPI's library, if there is one.
LMPI_SO_NAMES := libmpi_abi.so libmpi_abi.so.0 libmpi.so
LMPI_SO_LIBS := spxrun spx datagram mpicore ft meet launch doorclient door names spclient lmpiknobs relayset pathpool relayproto light circ ocs coll tunefile sucudp sucaead impi suci seal tune base
$(B)/whole/libmpi/gen/entry.o: $(LMPI_GEN)/entry.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(INC) $(CFLAGS_ALL) $(LTO) -c -o $@ $<
LMPI_SO_PARTS := $(if $(LTO),$(LMPI_SURFACE_WHOLE) $(LMPI_ENGINE_WHOLE) \
	$(foreach d,$(LMPI_SO_LIBS),$($(d)_WHOLE)),$(LMPI_SURFACE_OBJ) $(LMPI_ENGINE_OBJ) \
	$(spxrun_LINK) $(mpicore_LINK) $(ft_LINK) $(meet_LINK) $(launch_LINK) $(doorclient_LINK) $(names_LINK) $(spclient_LINK) $(lmpiknobs_LINK) $(light_LINK) $(relayset_LINK) $(pathpool_LINK) $(relayproto_LINK) $(tunefile_LINK) $(sucudp_LINK) $(sucaead_LINK) $(impi_LINK))
$(LMPI_SO): $(LMPI_SO_PARTS) $(LMPI_GEN)/exports.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LTO) -shared -Wl,-soname,libmpi_abi.so.1 $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script,$(LMPI_GEN)/exports.map -o $@ \
		-Wl,--start-group $(LMPI_SO_PARTS) -Wl,--end-group \
		$(lmpi_engine_PKGLIBS) $(lmpi_surface_PKGLIBS)
	$(Q)for n in $(LMPI_SO_NAMES); do ln -sf $(@F) $(@D)/$$n; done

# What programs of this tree that use MPI depend on.
LMPI_ALL := $(LMPI_SO) $(B)/bin/mpicc $(LMPI_GEN)/include/mpi.h $(LMPI_EXTRA_HEADERS)
$(LMPI_GEN)/include/mpi-ext.h: libmpi/ft/mpi-ext.h | $(LMPI_GEN)/stamp
	$(Q)cp $< $@
$(LMPI_GEN)/include/mpisp%: libmpi/spx/mpisp% | $(LMPI_GEN)/stamp
	$(Q)cp $< $@
ALL_EXTRA += $(LMPI_ALL)

.PHONY: install-libmpi
INSTALL_TARGETS += install-libmpi
install-libmpi: $(LMPI_ALL)
	@install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(PREFIX)/include
	@install -m 755 $(LMPI_SO) $(DESTDIR)$(LIBDIR)/
	@for n in $(LMPI_SO_NAMES); do ln -sf $(notdir $(LMPI_SO)) $(DESTDIR)$(LIBDIR)/$$n; done
	@install -m 644 $(LMPI_GEN)/include/mpi.h $(LMPI_EXTRA_HEADERS) $(DESTDIR)$(PREFIX)/include/


include $(sort $(filter-out libmpi/knobs/module.mk,$(wildcard libmpi/*/module.mk)))
