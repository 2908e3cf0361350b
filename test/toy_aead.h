/* SPDX-License-Identifier: BSD-2-Clause */
/* toy_aead.h - no cipher at all, but of the shape of one: what tests of the protocol need
 * is that a changed bit, another key or another nonce is noticed, without a library. */
#ifndef TOY_AEAD_H
#define TOY_AEAD_H

#include <string.h>

#include "base/bytes.h"
#include "base/siphash.h"
#include "seal/crypto.h"

static inline void
toy_expand(void *key, const uint8_t secret[SEAL_SECRET])
{
	memcpy(key, secret, SEAL_SECRET);
}

static inline void
toy_tag(const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_len,
	const uint8_t *text, size_t len, uint8_t tag[16])
{
	uint8_t k[16], sum[24];
	for (unsigned half = 0; half < 2; half++) {
		memcpy(k, key + 16 * half, sizeof k);
		be64_store(sum, base_siphash(k, nonce, SEAL_AEAD_NONCE));
		be64_store(sum + 8, base_siphash(k, aad, aad_len));
		be64_store(sum + 16, base_siphash(k, text, len));
		be64_store(tag + 8 * half, base_siphash(k, sum, sizeof sum));
	}
}

static inline void
toy_mask(const uint8_t *key, const uint8_t *nonce, uint8_t *text, size_t len)
{
	uint64_t x = base_siphash(key, nonce, SEAL_AEAD_NONCE);
	for (size_t i = 0; i < len; i++)
		text[i] ^= (uint8_t)(x >> i % 8 * 8);
}

static inline void
toy_seal(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	 uint8_t *text, size_t len)
{
	toy_mask(key, nonce, text, len);
	toy_tag(key, nonce, aad, aad_len, text, len, text + len);
}

static inline bool
toy_open(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	 uint8_t *text, size_t len)
{
	uint8_t tag[16];
	toy_tag(key, nonce, aad, aad_len, text, len, tag);
	toy_mask(key, nonce, text, len);
	return !memcmp(tag, text + len, sizeof tag);
}

static inline void
toy_hash(const void *msg, size_t len, uint8_t out[SEAL_HASH])
{
	for (unsigned i = 0; i < 4; i++) {
		uint8_t k[16] = {(uint8_t)(17 * i + 1)};
		be64_store(out + 8 * (size_t)i, base_siphash(k, msg, len));
	}
}

/* Commutes as the curve does; whoever has the public keys has all. */
static inline void
toy_dh_public(const uint8_t secret[SEAL_DH], uint8_t out[SEAL_DH])
{
	for (unsigned i = 0; i < SEAL_DH; i++)
		out[i] = secret[i] ^ 0x5a;
}

static inline bool
toy_dh(const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH], uint8_t out[SEAL_DH])
{
	uint8_t sum[SEAL_DH], any = 0;
	for (unsigned i = 0; i < SEAL_DH; i++) {
		sum[i] = (uint8_t)((secret[i] ^ 0x5a) + public_key[i]);
		any |= public_key[i];
	}
	toy_hash(sum, sizeof sum, out);
	return any != 0;
}

static inline const struct seal_crypto *
toy_aead(void)
{
	static const struct seal_crypto ops = {
		.name = "toy",
		.key_bytes = SEAL_SECRET,
		.expand = toy_expand,
		.seal = toy_seal,
		.open = toy_open,
		.sha256 = toy_hash,
		.dh_public = toy_dh_public,
		.dh = toy_dh,
	};
	return &ops;
}

#endif
