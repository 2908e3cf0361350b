# SPDX-License-Identifier: BSD-2-Clause
$(call lib,base,lib/base,)

BASE_SUITES := arena bytes clock copy crc32c hist ilist lobby nearest prefix prng ring serial siphash wheel
$(foreach s,$(BASE_SUITES),$(call unit,test_base_$(s),test/unit/test_base_$(s).c,base,,-pthread))
# Suites in which threads meet: `make check` runs them under tsan as well.
UNITS_THREADED += $(B)/test/unit/test_base_ring

$(call fuzz,fuzz_base_wheel,test/fuzz/fuzz_base_wheel.c,base)
$(call fuzz,fuzz_base_reader,test/fuzz/fuzz_base_reader.c,base)
