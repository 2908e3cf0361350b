# SPDX-License-Identifier: BSD-2-Clause
# Which jobs a launcher starts, who ends with whom, what is told of that.  Sans-I/O.
$(call lib,launch,lib/launch,base)

$(call unit,test_launch_jobs,test/unit/test_launch_jobs.c,launch base)
$(call unit,test_launch_order,test/unit/test_launch_order.c,launch base)
