# SPDX-License-Identifier: BSD-2-Clause
# Ciphers, hash, curve and key files.  intel-ipsec-mb comes without a .pc file.
$(call lib,sucaead,driver/aead,seal base,libsodium)
sucaead_PKGLIBS += -lIPSec_MB
$(call unit,test_aead,test/unit/test_aead.c,sucaead seal base)
$(call unit,test_suci_seal,test/unit/test_suci_seal.c,sucaead suci base)
$(call unit,test_suci_hostile,test/unit/test_suci_hostile.c,sucaead suci base)
$(call unit,test_suci_siege,test/unit/test_suci_siege.c,sucaead suci base)
$(call unit,test_suci_keys,test/unit/test_suci_keys.c,sucaead suci base)
$(call unit,test_seal_link,test/unit/test_seal_link.c,sucaead seal base)
$(call unit,test_suci_identity,test/unit/test_suci_identity.c,sucaead suci base)
$(call unit,test_suci_rekey,test/unit/test_suci_rekey.c,sucaead suci base)
