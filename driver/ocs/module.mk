# SPDX-License-Identifier: BSD-2-Clause
# Sessions with real switches: sockets, reconnecting, credentials; drivers that are loaded.
$(call lib,ocsdrv,driver/ocs,ocsproto ocs process base)
$(call unit,test_ocs_plugin,test/unit/test_ocs_plugin.c,ocsdrv ocsproto ocs process base)
CFLAGS_test/unit/test_ocs_plugin.c := -Idriver/ocs

# A driver whose table is as a test wants it.
OCS_FAKE_OBJ := $(B)/test/unit/ocs_plugin_fake.o
$(OCS_FAKE_OBJ): INC := $(ocsdrv_INC)
$(B)/test/ocs_plugin_fake.so: $(OCS_FAKE_OBJ)
	$(Q)$(call making,LD,$@)$(CC) $(LDFLAGS_ALL) -shared -o $@ $<
$(B)/test/unit/test_ocs_plugin: $(B)/test/ocs_plugin_fake.so

# OPTICS=no builds without libnetconf2 and libyang.
ifneq ($(OPTICS),no)
include driver/ocs/netconf/module.mk
endif
