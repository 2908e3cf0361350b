# An independent IMPI client against our programs, and captured sessions of LAM/MPI.
# The captured host streams are a unit suite, test_impi_streams (see lib/impi/module.mk).

## interop       foreign IMPI clients and captured sessions against our programs; WORDS=.. picks
.PHONY: interop
interop: $(B)/bin/impi-server $(B)/test/unit/test_impi_streams
	@test/interop/run $(B) $(WORDS)

# The MPI side of jobs between libmpi and a foreign client (test/interop/relayed.sh).
$(B)/test/interop-peer: test/interop/peer.c $(B)/bin/mpicc $(B)/lib/libmpi_abi.so.1
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC=$(CC) $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -o $@ $<
