# SPDX-License-Identifier: BSD-2-Clause
$(call prog,mpispctl,$(wildcard tools/mpispctl/*.c) tools/ctl/client.c tools/ctl/label.c,base,jansson libbsd)
