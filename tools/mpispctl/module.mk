# SPDX-License-Identifier: BSD-2-Clause
$(call prog,mpispctl,$(wildcard tools/mpispctl/*.c) tools/ctl/client.c,base,jansson libbsd)
