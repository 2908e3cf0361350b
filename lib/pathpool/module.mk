# SPDX-License-Identifier: BSD-2-Clause
# The direct paths of a process, no more than so many at a time.  Sans-I/O.
$(call lib,pathpool,lib/pathpool,base)

$(call unit,test_pathpool,test/unit/test_pathpool.c,pathpool suci base)
