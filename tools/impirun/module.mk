# SPDX-License-Identifier: BSD-2-Clause
$(call prog,impirun,$(wildcard tools/impirun/*.c) tools/launch/place.c,impi base,libbsd-overlay)
