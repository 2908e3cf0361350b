# SPDX-License-Identifier: BSD-2-Clause
# Prepares a machine for relayd.
SETUP_BIN := $(B)/bin/relayd-setup
ALL_EXTRA += $(SETUP_BIN)
$(SETUP_BIN): tools/relayd-setup/relayd-setup lib/base/include/base/version.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)v=$$(sed -n 's/^#define BASE_VERSION "\(.*\)"/\1/p' lib/base/include/base/version.h) && \
		sed "s/@VERSION@/$$v/" $< > $@ && chmod +x $@

.PHONY: install-relayd-setup
INSTALL_TARGETS += install-relayd-setup
install-relayd-setup: $(SETUP_BIN)
	@install -d $(DESTDIR)$(PREFIX)/bin
	@install -m 755 $(SETUP_BIN) $(DESTDIR)$(PREFIX)/bin/
