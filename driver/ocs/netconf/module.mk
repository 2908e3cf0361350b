# SPDX-License-Identifier: BSD-2-Clause
# NETCONF: the archive for tests, for programs a shared object that has what it needs of this tree in
# it and exports one table (driver/ocs_plugin.h).
$(call lib,ocsnetconf,driver/ocs/netconf,ocsdrv ocsproto ocs process base,libnetconf2 libyang)
$(call unit,test_ocs_driver,test/unit/test_ocs_driver.c,ocsnetconf ocsdrv ocsproto ocs process base,libbsd)
CFLAGS_test/unit/test_ocs_driver.c := -Idriver/ocs

OCS_NETCONF_SO := $(B)/lib/relayd/ocs-netconf.so
$(OCS_NETCONF_SO): $(ocsnetconf_LINK) driver/ocs/netconf/exports.map
	$(Q)$(call making,LD,$@)$(CC) $(LDFLAGS_ALL) -shared $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script,driver/ocs/netconf/exports.map -o $@ \
		-Wl,--whole-archive $(B)/libocsnetconf.a -Wl,--no-whole-archive \
		-Wl,--start-group $(filter-out $(B)/libocsnetconf.a,$(ocsnetconf_LINK)) -Wl,--end-group \
		$(ocsnetconf_PKGLIBS) -lpthread
ALL_EXTRA += $(OCS_NETCONF_SO)

.PHONY: install-optics
INSTALL_TARGETS += install-optics
install-optics: $(OCS_NETCONF_SO)
	@install -d $(DESTDIR)$(PREFIX)/lib/relayd
	@install -m 644 $(OCS_NETCONF_SO) $(DESTDIR)$(PREFIX)/lib/relayd/
