# SPDX-License-Identifier: BSD-2-Clause
# lib/mmp: fragments, area, matching of the MMP library; no I/O, no clock.
$(call lib,mmpcore,lib/mmp,base)
$(foreach s,area ring engine pair far link meet,$(call unit,test_mmp_$(s),test/unit/test_mmp_$(s).c,mmpcore base,,-pthread))
UNITS_THREADED += $(B)/test/unit/test_mmp_ring $(B)/test/unit/test_mmp_pair
$(call fuzz,fuzz_mmp_engine,test/fuzz/fuzz_mmp_engine.c,mmpcore base)
$(call fuzz,fuzz_mmp_meet,test/fuzz/fuzz_mmp_meet.c,mmpcore base)
$(call fuzz,fuzz_mmp_link,test/fuzz/fuzz_mmp_link.c,mmpcore base)
