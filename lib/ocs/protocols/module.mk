# SPDX-License-Identifier: BSD-2-Clause
# Control protocols of optical switches: TL1, SCPI, OpenFlow; sans-I/O.
$(call lib,ocsproto,lib/ocs/protocols,ocs base)

OCSPROTO_SUITES := tl1_stream tl1 scpi openflow
$(foreach s,$(OCSPROTO_SUITES),$(call unit,test_ocsproto_$(s),test/unit/test_ocsproto_$(s).c,ocsproto ocs base)\
	$(eval CFLAGS_test/unit/test_ocsproto_$(s).c := -Ilib/ocs/protocols))
$(foreach f,tl1 scpi openflow,$(call fuzz,fuzz_ocsproto_$(f),test/fuzz/fuzz_ocsproto_$(f).c,ocsproto ocs base)\
	$(eval CFLAGS_test/fuzz/fuzz_ocsproto_$(f).c := -Ilib/ocs/protocols))
