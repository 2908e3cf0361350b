# SPDX-License-Identifier: BSD-2-Clause
# Names of ports, in files of their user.
$(call lib,names,driver/names,,libbsd)
$(call unit,test_names,test/unit/test_names.c,names,libbsd)
