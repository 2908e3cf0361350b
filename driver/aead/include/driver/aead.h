/* SPDX-License-Identifier: BSD-2-Clause */
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

#define SEAL_PEERS_MAX 256

/* An identity and its peers. */
struct seal_ring {
	struct seal_identity me;
	struct seal_peer peer[SEAL_PEERS_MAX];
	uint32_t npeers;
};

/* A site's private key, in a file as for pre-shared keys; 0, or -1 and a text. */
int seal_identity_load(const char *path, struct seal_identity *id, char why[SEAL_TEXT]);
/* A new one, in a new file of mode 0600; what is there is never replaced. */
int seal_identity_make(const char *path, struct seal_identity *id, char why[SEAL_TEXT]);
/* The private key, and the public ones of peers in a file that others may read, but not write.  why
 * names the file. */
int seal_ring_load(const char *identity_file, const char *peers_file, struct seal_ring *ring,
		   char why[SEAL_TEXT]);
void seal_ring_wipe(struct seal_ring *ring);

#endif
