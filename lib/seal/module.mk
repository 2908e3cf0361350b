# SPDX-License-Identifier: BSD-2-Clause
# Keys, handshakes and the sealed stream; the primitives come from outside.
$(call lib,seal,lib/seal,base)
$(call fuzz,fuzz_seal_link,test/fuzz/fuzz_seal_link.c,seal base)
