# SPDX-License-Identifier: BSD-2-Clause
# An independent IMPI client against our programs, and captured sessions of LAM/MPI.
# The captured host streams are a unit suite, test_impi_streams (see lib/impi/module.mk).

## interop       foreign IMPI clients and captured sessions against our programs; WORDS=.. picks
.PHONY: interop
interop: $(B)/bin/impi-server $(B)/test/unit/test_impi_streams $(B)/bin/impirun \
		$(B)/test/interop-peer $(B)/bin/relayd $(B)/bin/relayctl $(B)/bin/wanem $(B)/test/inside
	@test/interop/run $(B) $(WORDS)

# The MPI side of jobs between libmpi and a foreign client; smoke relayd-gateway runs it, too.
SMOKE_EXTRA += $(B)/test/interop-peer
INTEROP_PEER := test/interop/peer.c test/interop/peer_p2p.c test/interop/peer_types.c \
	test/interop/peer_coll.c
$(B)/test/interop-peer: $(INTEROP_PEER) test/interop/peer.h $(B)/bin/mpicc $(B)/lib/libmpi_abi.so.1
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC=$(CC) $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -o $@ $(INTEROP_PEER)
