# SPDX-License-Identifier: BSD-2-Clause
$(call lib,impi,lib/impi,base)

IMPI_SUITES := $(patsubst test/unit/test_impi_%.c,%,$(wildcard test/unit/test_impi_*.c))
$(foreach s,$(IMPI_SUITES),$(call unit,test_impi_$(s),test/unit/test_impi_$(s).c,impi base))
$(foreach f,$(wildcard test/fuzz/fuzz_impi_*.c),$(call fuzz,$(basename $(notdir $(f))),$(f),impi base))
