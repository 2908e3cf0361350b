# SPDX-License-Identifier: BSD-2-Clause
# What relays say, over HTTP.
WEB_DIR := tools/relayd-web
$(call prog,relayd-web,$(wildcard $(WEB_DIR)/*.c) tools/ctl/client.c tools/ctl/label.c $(B)/gen/web/page.c,base,jansson libmicrohttpd libbsd)
$(B)/gen/web/page.c: $(WEB_DIR)/page.py $(wildcard $(WEB_DIR)/page/*)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 $(WEB_DIR)/page.py $(WEB_DIR)/page > $@

.PHONY: install-relayd-web
INSTALL_TARGETS += install-relayd-web
install-relayd-web:
	@install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/relayd/monitoring
	@sed -e 's|@PREFIX@|$(PREFIX)|g' conf/relayd-web.service.in > $(DESTDIR)$(PREFIX)/lib/systemd/system/relayd-web.service
	@install -m 644 conf/monitoring/* $(DESTDIR)$(PREFIX)/share/relayd/monitoring/
