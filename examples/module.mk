# SPDX-License-Identifier: BSD-2-Clause
# Plain MPI programs, compiled with our own mpicc: what a user would do.
EXAMPLES := $(B)/examples/pingpong $(B)/examples/heat2d $(B)/examples/collectives $(B)/examples/survivor $(B)/examples/meet \
	$(B)/examples/takeover $(B)/examples/pipeline
ALL_EXTRA += $(EXAMPLES)

$(B)/examples/%: examples/%.c $(B)/bin/mpicc $(B)/lib/libmpi_abi.so.1 $(LMPI_EXTRA_HEADERS)
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC=$(CC) $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -o $@ $< -lpng -lm

# Those that use libsuci alone, with the flags that suci.pc gives.
EXAMPLES_SUCI := $(B)/examples/suci-loop $(B)/examples/suci-stream $(B)/examples/suci-meet
ALL_EXTRA += $(EXAMPLES_SUCI)
$(EXAMPLES_SUCI): $(B)/examples/%: examples/%.c libsuci/include/suci.h $(LIBSUCI_SO)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -Ilibsuci/include -o $@ $< \
		-L$(B)/lib -Wl,-rpath,$(abspath $(B))/lib -lsuci

# NPB kernels (examples/npb/npb_comm.h says what the variants are): over MPI, with collectives made of
# pairs, over MMP, and each way with a bug planted, which verification must find.
NPB_KERNELS := is cg ep ft mg
NPB_MMP := $(foreach v,npb-mmp npb-mmp-planted,$(NPB_KERNELS:%=$(B)/examples/$(v)/%))
NPB := $(foreach v,npb npb-p2p npb-planted,$(NPB_KERNELS:%=$(B)/examples/$(v)/%)) $(NPB_MMP)
ALL_EXTRA += $(NPB)
NPB_CC = $(Q)mkdir -p $(@D) && MPICC_CC="$(CC)" $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN)
NPB_NEEDS := examples/npb/npb_comm.h examples/npb/npb.h $(B)/bin/mpicc $(B)/lib/libmpi_abi.so.1
$(B)/examples/npb/%: examples/npb/%.c $(NPB_NEEDS)
	$(call say,MPICC,$@)
	$(NPB_CC) -o $@ $< -lm
$(B)/examples/npb-p2p/%: examples/npb/%.c $(NPB_NEEDS)
	$(call say,MPICC,$@)
	$(NPB_CC) -DNPB_P2P -o $@ $< -lm
$(B)/examples/npb-planted/%: examples/npb/%.c $(NPB_NEEDS)
	$(call say,MPICC,$@)
	$(NPB_CC) -DNPB_PLANT -o $@ $< -lm
NPB_MMP_CC = $(Q)mkdir -p $(@D) && $(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) \
	-DNPB_MMP -Ilibmmp/include
NPB_MMP_LD = -L$(B)/lib -Wl,-rpath,$(abspath $(B))/lib -lmmp -lm
NPB_MMP_NEEDS := examples/npb/npb_comm.h examples/npb/npb.h libmmp/include/mmp.h $(LIBMMP_SO)
$(B)/examples/npb-mmp/%: examples/npb/%.c $(NPB_MMP_NEEDS)
	$(call say,CC,$@)
	$(NPB_MMP_CC) -o $@ $< $(NPB_MMP_LD)
$(B)/examples/npb-mmp-planted/%: examples/npb/%.c $(NPB_MMP_NEEDS)
	$(call say,CC,$@)
	$(NPB_MMP_CC) -DNPB_PLANT -o $@ $< $(NPB_MMP_LD)

# The one that uses libmmp alone, with the flags that mmp.pc gives.
EXAMPLES_MMP := $(B)/examples/mmp-all
ALL_EXTRA += $(EXAMPLES_MMP)
$(EXAMPLES_MMP): examples/mmp-all.c libmmp/include/mmp.h $(LIBMMP_SO)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -Ilibmmp/include -o $@ $< \
		-L$(B)/lib -Wl,-rpath,$(abspath $(B))/lib -lmmp
