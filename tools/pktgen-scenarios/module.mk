# SPDX-License-Identifier: BSD-2-Clause
# Scenario and lab files, frames and the verdict need no DPDK; the program sends.
PKTGEN := tools/pktgen-scenarios
$(call lib,pgconf,$(PKTGEN)/conf,suci base,jansson libbsd)
pgconf_PKGLIBS += -lm
$(call prog,relay-pktgen,$(wildcard $(PKTGEN)/*.c),pgconf rdnet relay impi sucaead suci seal rddpdk base,libdpdk libbsd)
# A player speaks the wire format itself, with the codec of lib/suci.
CFLAGS_$(PKTGEN)/player.c := -Ilib/suci/path
# It seals in the name of an endpoint, as that would.
CFLAGS_$(PKTGEN)/sealed.c := $(SUCI_INTERNAL)
$(call unit,test_pktgen_frames,test/unit/test_pktgen_frames.c,pgconf rdnet suci base)
CFLAGS_test/unit/test_pktgen_frames.c := -Ilib/suci/path
$(call unit,test_pktgen_player,test/unit/test_pktgen_player.c $(PKTGEN)/player.c $(PKTGEN)/sealed.c,suci seal base)
$(call unit,test_pktgen_scenario,test/unit/test_pktgen_scenario.c $(PKTGEN)/pcap.c $(PKTGEN)/scripts.c,pgconf suci base,jansson libbsd)
$(call unit,test_pktgen_search,test/unit/test_pktgen_search.c,pgconf suci base,,-lm)
$(call unit,test_pktgen_load,test/unit/test_pktgen_load.c,pgconf suci base,jansson libbsd)
$(call fuzz,fuzz_pktgen_load,test/fuzz/fuzz_pktgen_load.c,pgconf suci base)
$(call fuzz,fuzz_pktgen_player,test/fuzz/fuzz_pktgen_player.c $(PKTGEN)/player.c,suci base)

.PHONY: install-pktgen
INSTALL_TARGETS += install-pktgen
install-pktgen:
	@install -d $(DESTDIR)$(PREFIX)/share/relayd/pktgen/example
	@install -m 644 tools/pktgen-scenarios/*.json $(DESTDIR)$(PREFIX)/share/relayd/pktgen/
	@install -m 644 tools/pktgen-scenarios/example/*.json $(DESTDIR)$(PREFIX)/share/relayd/pktgen/example/
