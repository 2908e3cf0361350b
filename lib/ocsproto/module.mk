# Control protocols of optical switches: TL1, SCPI, OpenFlow; sans-I/O.
$(call lib,ocsproto,lib/ocsproto,ocs coll base)

OCSPROTO_SUITES := tl1_stream tl1 scpi openflow
$(foreach s,$(OCSPROTO_SUITES),$(call unit,test_ocsproto_$(s),test/unit/test_ocsproto_$(s).c,ocsproto ocs coll base)\
	$(eval CFLAGS_test/unit/test_ocsproto_$(s).c := -Ilib/ocsproto))
$(foreach f,tl1 scpi openflow,$(call fuzz,fuzz_ocsproto_$(f),test/fuzz/fuzz_ocsproto_$(f).c,ocsproto ocs coll base)\
	$(eval CFLAGS_test/fuzz/fuzz_ocsproto_$(f).c := -Ilib/ocsproto))
