# Plain MPI programs, compiled with our own mpicc: what a user would do.
EXAMPLES := $(B)/examples/pingpong $(B)/examples/heat2d $(B)/examples/collectives
ALL_EXTRA += $(EXAMPLES)

$(B)/examples/%: examples/%.c $(B)/bin/mpicc $(B)/lib/libmpi_abi.so.1
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC=$(CC) $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -o $@ $< -lpng -lm

# The one that uses libsuci alone, with the flags that suci.pc gives.
EXAMPLES_SUCI := $(B)/examples/suci-loop
ALL_EXTRA += $(EXAMPLES_SUCI)
$(EXAMPLES_SUCI): examples/suci-loop.c libsuci/include/suci.h $(LIBSUCI_SO)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -Ilibsuci/include -o $@ $< \
		-L$(B)/lib -Wl,-rpath,$(abspath $(B))/lib -lsuci
