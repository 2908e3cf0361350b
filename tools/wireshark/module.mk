# SPDX-License-Identifier: BSD-2-Clause
.PHONY: install-wireshark
INSTALL_TARGETS += install-wireshark
install-wireshark:
	@install -d $(DESTDIR)$(PREFIX)/share/relayd/wireshark
	@install -m 644 tools/wireshark/*.lua tools/wireshark/README.md $(DESTDIR)$(PREFIX)/share/relayd/wireshark/
