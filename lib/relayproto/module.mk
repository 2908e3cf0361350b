# SPDX-License-Identifier: BSD-2-Clause
# What processes, relays and gateways tell each other over Suci: hello data and notes.  Sans-I/O.
$(call lib,relayproto,lib/relayproto,suci base)

$(call unit,test_relayproto,test/unit/test_relayproto.c,relayproto)

$(call fuzz,fuzz_relayproto,test/fuzz/fuzz_relayproto.c,relayproto)
