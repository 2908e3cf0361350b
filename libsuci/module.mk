# SPDX-License-Identifier: BSD-2-Clause
# libsuci: the Suci paper's interface as a C library.  The archive for programs of this
# tree; for others libsuci.so.1 and a static library of one object, which export
# nothing but datagram_*.
$(call lib,datagram,libsuci,tunefile sucaead sucudp doorclient relayproto door suci tune base)
HEADERS_ALL += libsuci/include/suci.h
$(B)/headers/libsuci/include/suci.ok: INC := $(datagram_INC)

LIBSUCI_SO := $(B)/lib/libsuci.so.1
LIBSUCI_A := $(B)/lib/libsuci.a
$(LIBSUCI_SO): $(datagram_LINK) libsuci/exports.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -Wl,-soname,libsuci.so.1 $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script,libsuci/exports.map -o $@ \
		-Wl,--whole-archive $(B)/libdatagram.a -Wl,--no-whole-archive \
		-Wl,--start-group $(datagram_LINK) -Wl,--end-group $(datagram_PKGLIBS)
	$(Q)ln -sf libsuci.so.1 $(@D)/libsuci.so
$(LIBSUCI_A): $(datagram_LINK)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)ld -r -o $(@D)/libsuci-all.o --whole-archive $(sort $(datagram_LINK))
	$(Q)objcopy --wildcard --keep-global-symbol='datagram*' $(@D)/libsuci-all.o
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(@D)/libsuci-all.o
ALL_EXTRA += $(LIBSUCI_SO) $(LIBSUCI_A)

.PHONY: install-libsuci
INSTALL_TARGETS += install-libsuci
install-libsuci: $(LIBSUCI_SO) $(LIBSUCI_A) install-man
	@install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	@install -m 755 $(LIBSUCI_SO) $(DESTDIR)$(LIBDIR)/
	@ln -sf libsuci.so.1 $(DESTDIR)$(LIBDIR)/libsuci.so
	@install -m 644 $(LIBSUCI_A) $(DESTDIR)$(LIBDIR)/
	@install -m 644 libsuci/include/suci.h $(DESTDIR)$(PREFIX)/include/
	@sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@VERSION@|$(VERSION)|' libsuci/suci.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/suci.pc

$(call unit,test_datagram_db,test/unit/test_datagram_db.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base)
$(call unit,test_datagram,test/unit/test_datagram.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base)
$(call unit,test_datagram_door,test/unit/test_datagram_door.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base)
$(call unit,test_datagram_relayed,test/unit/test_datagram_relayed.c,datagram relay tunefile sucaead sucudp doorclient relayproto door suci impi tune base,,-lpthread)
$(call unit,test_datagram_lives,test/unit/test_datagram_lives.c,datagram relay tunefile sucaead sucudp doorclient relayproto door suci impi tune base,,-lpthread)
$(call unit,test_datagram_identity,test/unit/test_datagram_identity.c,datagram tunefile sucaead seal sucudp doorclient relayproto door suci tune base)
$(call fuzz,fuzz_datagram_db,test/fuzz/fuzz_datagram_db.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base)
$(call unit,test_datagram_wait,test/unit/test_datagram_wait.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base,,-lpthread)
$(call unit,test_datagram_tuned,test/unit/test_datagram_tuned.c,datagram tunefile sucaead sucudp doorclient relayproto door suci tune base)
CFLAGS_test/unit/test_datagram_tuned.c := -Ilibsuci
