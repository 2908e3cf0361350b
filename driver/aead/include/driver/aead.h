/* driver/aead.h - the cryptography of seal/crypto.h, and the files with the keys.
 *
 * X25519 is libsodium's.  The cipher is intel-ipsec-mb's: it takes keys, data and scratch from the
 * caller, allocates nothing, and picks code for AES-NI, AVX2 or VAES at run time.
 * doc/dependencies.md has the measurement behind the choice.
 *
 * Threads  all of it from any thread. */
#ifndef DRIVER_AEAD_H
#define DRIVER_AEAD_H

#include "seal/keys.h"

#include <stddef.h>

const struct seal_crypto *seal_aes256gcm(void);

/* Read keys from a file (seal/keys.h says what is in it).  The file must be a regular one,
 * ours, and nobody else's to read or write (mode 0600 or less).
 * The number of keys, 1 .. SEAL_PSK_MAX; or -1 and a text in why. */
int seal_psk_load(const char *path, struct seal_psk key[SEAL_PSK_MAX], char why[SEAL_TEXT]);

#endif
