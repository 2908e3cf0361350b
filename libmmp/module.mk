# SPDX-License-Identifier: BSD-2-Clause
# libmmp: the library of the MMP paper.  The archive for programs of this tree; for others
# libmmp.so.1, which exports nothing but MP_*.  Who is in the job and at which address it
# learns as libmpi does: those two objects serve both.
$(call lib,mmp,libmmp,mmpaway mmplanes mmpcore doorclient relayproto door tunefile sucudp sucaead suci tune base,pmix libbsd)
MMP_BOOT := $(B)/libmpi/boot/pmix.o $(B)/libmpi/boot/addr.o
$(mmp_OBJ): INC += -Ilibmpi/boot -Ilibmpi/engine $(lmpiknobs_INC) $(mpicore_INC) $(suci_INC) $(door_INC) $(meet_INC)
mmp_LINK += $(MMP_BOOT) $(lmpiknobs_LINK)
HEADERS_ALL += libmmp/include/mmp.h
$(B)/headers/libmmp/include/mmp.ok: INC := $(mmp_INC)

LIBMMP_SO := $(B)/lib/libmmp.so.1
$(LIBMMP_SO): $(mmp_LINK) libmmp/exports.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -Wl,-soname,libmmp.so.1 $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script,libmmp/exports.map -o $@ \
		-Wl,--whole-archive $(B)/libmmp.a -Wl,--no-whole-archive \
		-Wl,--start-group $(filter-out $(B)/libmmp.a,$(mmp_LINK)) -Wl,--end-group \
		$(mmp_PKGLIBS) -lpthread
	$(Q)ln -sf libmmp.so.1 $(@D)/libmmp.so
ALL_EXTRA += $(LIBMMP_SO)

.PHONY: install-libmmp
INSTALL_TARGETS += install-libmmp
install-libmmp: $(LIBMMP_SO) install-man
	@install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	@install -m 755 $(LIBMMP_SO) $(DESTDIR)$(LIBDIR)/
	@ln -sf libmmp.so.1 $(DESTDIR)$(LIBDIR)/libmmp.so
	@install -m 644 libmmp/include/mmp.h $(DESTDIR)$(PREFIX)/include/
	@sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@VERSION@|$(VERSION)|' libmmp/mmp.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/mmp.pc

# Engine threads beside their programs, in two processes.
$(call unit,test_mmp_thread,test/unit/test_mmp_thread.c,mmp,,-pthread)
UNITS_THREADED += $(B)/test/unit/test_mmp_thread
