# Plain MPI programs, compiled with our own mpicc: what a user would do.
EXAMPLES := $(B)/examples/pingpong $(B)/examples/heat2d
ALL_EXTRA += $(EXAMPLES)

$(B)/examples/%: examples/%.c $(B)/bin/mpicc $(B)/lib/libmpi_abi.so.1
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC=$(CC) $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -o $@ $< -lpng -lm
