# SPDX-License-Identifier: BSD-2-Clause
# A pipeline of clusters on one machine, without daemons.
$(call prog,mpisprun,$(wildcard tools/mpisprun/*.c),spxagreed sp quorum spx base)
