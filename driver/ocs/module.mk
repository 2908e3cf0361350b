# SPDX-License-Identifier: BSD-2-Clause
# Sessions with real switches: sockets, reconnecting, credentials; NETCONF.
$(call lib,ocsdrv,driver/ocs,ocsproto ocs process base,libnetconf2 libyang)
$(call unit,test_ocs_driver,test/unit/test_ocs_driver.c,ocsdrv ocsproto ocs process base,libbsd)
CFLAGS_test/unit/test_ocs_driver.c := -Idriver/ocs
