/* SPDX-License-Identifier: BSD-2-Clause */
/* seal/crypto.h - what cryptography is asked of the outside, and what is made of it here.
 *
 * The primitives are an argument: libraries call struct seal_crypto and link none.
 * driver/aead.h has AES-256-GCM, SHA-256 and X25519; tests and fuzz targets bring what is
 * quick and means nothing.
 *
 * Threads  the functions hold no state and may be called from any thread. */
#ifndef SEAL_CRYPTO_H
#define SEAL_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_SECRET	32 /* bytes of a key of the AEAD, and of a pre-shared key */
#define SEAL_AEAD_NONCE 12 /* bytes of its nonce */
#define SEAL_TAG	16 /* bytes it adds */
#ifndef SEAL_KEY_MAX	   /* mk/config.mk says more where the library's keys are larger */
#define SEAL_KEY_MAX 1024  /* bytes of a key made ready for use */
#endif
#define SEAL_HASH 32
#define SEAL_DH	  32 /* bytes of a private key, a public key, and of what two make */

struct seal_crypto {
	const char *name;
	uint32_t key_bytes; /* <= SEAL_KEY_MAX */
	/* Make a key ready in key_bytes at key, aligned to 64. */
	void (*expand)(void *key, const uint8_t secret[SEAL_SECRET]);
	/* Encrypt len bytes at text in place and write the tag of SEAL_TAG bytes behind them. */
	void (*seal)(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad,
		     size_t aad_len, uint8_t *text, size_t len);
	/* The reverse; the tag is behind the len bytes.  False: not authentic, and what
	 * is at text is worth nothing any more. */
	bool (*open)(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad,
		     size_t aad_len, uint8_t *text, size_t len);
	void (*sha256)(const void *msg, size_t len, uint8_t out[SEAL_HASH]);
	/* The public key of a private one, any 32 random bytes. */
	void (*dh_public)(const uint8_t secret[SEAL_DH], uint8_t out[SEAL_DH]);
	/* X25519 (RFC 7748).  False: the result would be all zero, as the public key is one of the
	 * few with which it does not depend on the secret. */
	bool (*dh)(const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH],
		   uint8_t out[SEAL_DH]);
};

/* HMAC-SHA256 (RFC 2104) and HKDF-SHA256 (RFC 5869), over c->sha256. */
#define SEAL_HMAC_MSG_MAX 640
void seal_hmac(const struct seal_crypto *c, const uint8_t *key, size_t key_len, const void *msg,
	       size_t len, uint8_t out[SEAL_HASH]);
void seal_hkdf_extract(const struct seal_crypto *c, const uint8_t *salt, size_t salt_len,
		       const uint8_t *ikm, size_t ikm_len, uint8_t prk[SEAL_HASH]);
/* len at most 255 * 32, info at most SEAL_HMAC_MSG_MAX - 33 bytes. */
void seal_hkdf_expand(const struct seal_crypto *c, const uint8_t prk[SEAL_HASH], const void *info,
		      size_t info_len, uint8_t *out, size_t len);

/* In a time that does not tell how much of them was the same. */
bool seal_same(const void *a, const void *b, size_t len);

#endif
