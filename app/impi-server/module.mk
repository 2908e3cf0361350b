# SPDX-License-Identifier: BSD-2-Clause
$(call prog,impi-server,$(wildcard app/impi-server/*.c),impi sucaead seal process base,libbsd-overlay)
$(call unit,test_server_door,test/unit/test_server_door.c app/impi-server/door.c,sucaead seal process base)

.PHONY: install-impi-server
INSTALL_TARGETS += install-impi-server
install-impi-server:
	@install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	@sed -e 's|@PREFIX@|$(PREFIX)|g' conf/impi-server.service.in > $(DESTDIR)$(PREFIX)/lib/systemd/system/impi-server@.service
