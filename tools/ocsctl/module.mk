# SPDX-License-Identifier: BSD-2-Clause
$(call prog,ocsctl,$(wildcard tools/ocsctl/*.c),ocsdrv ocsproto ocs process base,libbsd)
