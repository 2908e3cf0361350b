/* HMAC and HKDF over the SHA-256 of the AEAD library. */
#include "suci/seal.h"

#include "base/assert.h"

#include <string.h>

#define BLOCK 64

void
suci_hmac(const struct suci_aead_ops *ops, const uint8_t *key, size_t key_len, const void *msg,
	  size_t len, uint8_t out[SUCI_SHA256])
{
	uint8_t in[BLOCK + SUCI_HMAC_MSG_MAX], outer[BLOCK + SUCI_SHA256], k[BLOCK] = {0};
	BASE_ASSERT(len <= SUCI_HMAC_MSG_MAX);
	if (key_len > BLOCK)
		ops->sha256(key, key_len, k);
	else if (key_len)
		memcpy(k, key, key_len);
	for (size_t i = 0; i < BLOCK; i++) {
		in[i] = k[i] ^ 0x36;
		outer[i] = k[i] ^ 0x5c;
	}
	if (len)
		memcpy(in + BLOCK, msg, len);
	ops->sha256(in, BLOCK + len, outer + BLOCK);
	ops->sha256(outer, sizeof outer, out);
	explicit_bzero(in, BLOCK);
	explicit_bzero(outer, BLOCK);
	explicit_bzero(k, sizeof k);
}

void
suci_hkdf_extract(const struct suci_aead_ops *ops, const uint8_t *salt, size_t salt_len,
		  const uint8_t *ikm, size_t ikm_len, uint8_t prk[SUCI_SHA256])
{
	suci_hmac(ops, salt, salt_len, ikm, ikm_len, prk);
}

void
suci_hkdf_expand(const struct suci_aead_ops *ops, const uint8_t prk[SUCI_SHA256], const void *info,
		 size_t info_len, uint8_t *out, size_t len)
{
	uint8_t in[SUCI_HMAC_MSG_MAX], t[SUCI_SHA256];
	size_t before = 0;
	BASE_ASSERT(info_len < SUCI_HMAC_MSG_MAX - SUCI_SHA256 && len <= 255 * SUCI_SHA256);
	for (uint8_t i = 1; len; i++) {
		memcpy(in, t, before);
		if (info_len)
			memcpy(in + before, info, info_len);
		in[before + info_len] = i;
		suci_hmac(ops, prk, SUCI_SHA256, in, before + info_len + 1, t);
		before = SUCI_SHA256;
		size_t n = len < SUCI_SHA256 ? len : SUCI_SHA256;
		memcpy(out, t, n);
		out += n;
		len -= n;
	}
	explicit_bzero(t, sizeof t);
	explicit_bzero(in, sizeof in);
}
