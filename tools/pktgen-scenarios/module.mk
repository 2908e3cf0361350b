# Frames, scenario files and the verdict need no DPDK; main.c sends.
PKTGEN := tools/pktgen-scenarios
$(call prog,relay-pktgen,$(addprefix $(PKTGEN)/,main.c play.c pcap.c scenario.c frames.c),rddpdk suci base,jansson libbsd libdpdk)
$(call unit,test_pktgen_frames,test/unit/test_pktgen_frames.c $(PKTGEN)/frames.c,rdnet suci base)
CFLAGS_test/unit/test_pktgen_frames.c := -Ilib/suci
$(call unit,test_pktgen_scenario,test/unit/test_pktgen_scenario.c $(addprefix $(PKTGEN)/,scenario.c frames.c pcap.c),suci base,jansson libbsd)
