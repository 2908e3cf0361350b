# SPDX-License-Identifier: BSD-2-Clause
# lib/mmp/away: ranks of other sites, over doors and lanes; no I/O, no clock.
$(call lib,mmpaway,lib/mmp/away,mmplanes mmpcore doorclient relayproto door suci base)
