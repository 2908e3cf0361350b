# SPDX-License-Identifier: BSD-2-Clause
$(call prog,relayctl,$(wildcard tools/relayctl/*.c) tools/ctl/client.c,base,jansson libbsd smartcols)

.PHONY: install-relayctl
INSTALL_TARGETS += install-relayctl
install-relayctl:
	@install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	@install -m 644 tools/relayctl/relayctl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/relayctl
