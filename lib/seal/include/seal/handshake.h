/* SPDX-License-Identifier: BSD-2-Clause */
/* seal/handshake.h - the key schedule of a sealed path and of a sealed stream.
 *
 * In the manner of the Noise protocol framework (revision 34), patterns NNpsk0 and, with
 * identities, IKpsk0:
 *
 *      ck = SHA256(protocol, pattern); the pre-shared key is mixed in
 *      message 1: e.  With identities: es, the opener's own key encrypted, ss.  A payload.
 *      message 2: e', ee.  With identities: se.  A payload.
 *
 * e and e' are private keys made for this one handshake and wiped after it.  So whoever
 * records it and later gets every key that is in a file does not have what ee was.
 *
 * Not Noise to the letter: there is no running hash of the handshake.  The key of each
 * encrypted piece is made of ck and all bytes before it in the message, and used once, with the
 * nonce 0: two messages that differ in a readable byte, a time for example, never share one.
 *
 * Before anything on the curve is computed, a message is checked by a code under the
 * pre-shared key: who does not have that key costs a hash.
 *
 * All of it works on plain values of the caller, who wipes them. */
#ifndef SEAL_HANDSHAKE_H
#define SEAL_HANDSHAKE_H

#include "seal/keys.h"

#define SEAL_READABLE_MAX 240 /* bytes of a message before an encrypted piece */

/* What a message is, 8 bytes. */
#define SEAL_LABEL 8

/* protocol: text, less than 64 bytes.  psk NULL: there is none, 32 bytes of zero in its place. */
void seal_hs_begin(const struct seal_crypto *c, uint8_t ck[SEAL_HASH], const char *protocol,
		   bool identities, const struct seal_psk *psk);
void seal_hs_mix(const struct seal_crypto *c, uint8_t ck[SEAL_HASH], const uint8_t *in, size_t len);
/* Mix in what the two keys make; false: the public one is none. */
bool seal_hs_mix_dh(const struct seal_crypto *c, uint8_t ck[SEAL_HASH],
		    const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH]);
/* The key of one piece. */
void seal_hs_key(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH],
		 const char label[SEAL_LABEL], const uint8_t *readable, size_t len,
		 uint8_t out[SEAL_SECRET]);
/* Encrypt len bytes behind clear readable ones, of which there are at most SEAL_READABLE_MAX, and
 * put the tag behind them.  key: scratch memory for an expanded key, aligned to 64. */
void seal_hs_seal(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH],
		  const char label[SEAL_LABEL], uint8_t *msg, size_t clear, size_t len, void *key);
/* len is without the tag. */
bool seal_hs_open(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH],
		  const char label[SEAL_LABEL], uint8_t *msg, size_t clear, size_t len, void *key);
/* The code under the pre-shared key. */
void seal_hs_code(const struct seal_crypto *c, const struct seal_psk *psk,
		  const char label[SEAL_LABEL], const uint8_t *readable, size_t len,
		  uint8_t out[SEAL_TAG]);

/* A source of private keys for single handshakes that forgets: each call replaces the state by a
 * hash of it, so that who reads it later cannot tell what it gave before. */
struct seal_source {
	uint8_t state[SEAL_HASH];
};
/* seed: 32 bytes that nobody can guess; the caller wipes it. */
void seal_source_init(const struct seal_crypto *c, struct seal_source *s,
		      const uint8_t seed[SEAL_HASH]);
void seal_source_next(const struct seal_crypto *c, struct seal_source *s, uint8_t out[SEAL_DH]);

#endif
