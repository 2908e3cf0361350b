# SPDX-License-Identifier: BSD-2-Clause
# The table of libmpi's environment variables, and who reads them.  
$(call lib,lmpiknobs,libmpi/knobs,base,libbsd)
$(call unit,test_lmpi_knobs,test/unit/test_lmpi_knobs.c,lmpiknobs light circ ocs coll tune base)
