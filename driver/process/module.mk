# SPDX-License-Identifier: BSD-2-Clause
# What a long-running program of ours asks of the kernel about itself.
$(call lib,process,driver/process,base,libbsd)
$(call unit,test_accept,test/unit/test_accept.c,process base,libbsd)
$(call unit,test_pidfile,test/unit/test_pidfile.c,process base,libbsd)
$(call unit,test_secrets,test/unit/test_secrets.c,process base,libbsd)
