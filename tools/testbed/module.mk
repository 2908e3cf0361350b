# SPDX-License-Identifier: BSD-2-Clause
# The demos build `all`, and nobody installs this one.
$(call testprog,inside,tools/testbed/inside.c,)
ALL_EXTRA += $(B)/test/inside
