/* SPDX-License-Identifier: BSD-2-Clause */
/* HMAC and HKDF over the SHA-256 of the outside. */
#include "seal/crypto.h"

#include "base/assert.h"

#include <string.h>

#define BLOCK 64

void
seal_hmac(const struct seal_crypto *c, const uint8_t *key, size_t key_len, const void *msg,
	  size_t len, uint8_t out[SEAL_HASH])
{
	uint8_t in[BLOCK + SEAL_HMAC_MSG_MAX], outer[BLOCK + SEAL_HASH], k[BLOCK] = {0};
	BASE_ASSERT(len <= SEAL_HMAC_MSG_MAX);
	if (key_len > BLOCK)
		c->sha256(key, key_len, k);
	else if (key_len)
		memcpy(k, key, key_len);
	for (size_t i = 0; i < BLOCK; i++) {
		in[i] = k[i] ^ 0x36;
		outer[i] = k[i] ^ 0x5c;
	}
	if (len)
		memcpy(in + BLOCK, msg, len);
	c->sha256(in, BLOCK + len, outer + BLOCK);
	c->sha256(outer, sizeof outer, out);
	explicit_bzero(in, BLOCK);
	explicit_bzero(outer, BLOCK);
	explicit_bzero(k, sizeof k);
}

void
seal_hkdf_extract(const struct seal_crypto *c, const uint8_t *salt, size_t salt_len,
		  const uint8_t *ikm, size_t ikm_len, uint8_t prk[SEAL_HASH])
{
	seal_hmac(c, salt, salt_len, ikm, ikm_len, prk);
}

void
seal_hkdf_expand(const struct seal_crypto *c, const uint8_t prk[SEAL_HASH], const void *info,
		 size_t info_len, uint8_t *out, size_t len)
{
	uint8_t in[SEAL_HMAC_MSG_MAX], t[SEAL_HASH];
	size_t before = 0;
	BASE_ASSERT(info_len < SEAL_HMAC_MSG_MAX - SEAL_HASH && len <= 255 * SEAL_HASH);
	for (uint8_t i = 1; len; i++) {
		memcpy(in, t, before);
		if (info_len)
			memcpy(in + before, info, info_len);
		in[before + info_len] = i;
		seal_hmac(c, prk, SEAL_HASH, in, before + info_len + 1, t);
		before = SEAL_HASH;
		size_t n = len < SEAL_HASH ? len : SEAL_HASH;
		memcpy(out, t, n);
		out += n;
		len -= n;
	}
	explicit_bzero(t, sizeof t);
	explicit_bzero(in, sizeof in);
}

bool
seal_same(const void *a, const void *b, size_t len)
{
	const uint8_t *x = a, *y = b;
	unsigned differ = 0;
	for (size_t i = 0; i < len; i++)
		differ |= (unsigned)x[i] ^ y[i];
	return differ == 0;
}
