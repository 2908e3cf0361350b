# SPDX-License-Identifier: BSD-2-Clause
$(call prog,impirun,$(wildcard tools/impirun/*.c) tools/launch/place.c,impi lmpiknobs base,libbsd-overlay)
