# SPDX-License-Identifier: BSD-2-Clause
# lib/mmp/lanes: fragments of lib/mmp over lanes of lib/suci; no I/O, no clock.
$(call lib,mmplanes,lib/mmp/lanes,mmpcore suci base)
