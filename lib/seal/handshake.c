/* SPDX-License-Identifier: BSD-2-Clause */
#include "seal/handshake.h"

#include "base/assert.h"

#include <string.h>

static const uint8_t zero[SEAL_SECRET]; /* the nonce 0, and no pre-shared key */

void
seal_hs_mix(const struct seal_crypto *c, uint8_t ck[SEAL_HASH], const uint8_t *in, size_t len)
{
	uint8_t next[SEAL_HASH];
	seal_hkdf_extract(c, ck, SEAL_HASH, in, len, next);
	memcpy(ck, next, sizeof next);
	explicit_bzero(next, sizeof next);
}

void
seal_hs_begin(const struct seal_crypto *c, uint8_t ck[SEAL_HASH], const char *protocol,
	      bool identities, const struct seal_psk *psk)
{
	uint8_t name[72] = {0};
	size_t n = strlen(protocol);
	BASE_ASSERT(n < 64);
	memcpy(name, protocol, n);
	memcpy(name + 64, identities ? " IKpsk0" : " NNpsk0", 8);
	c->sha256(name, sizeof name, ck);
	seal_hs_mix(c, ck, psk ? psk->secret : zero, SEAL_SECRET);
}

bool
seal_hs_mix_dh(const struct seal_crypto *c, uint8_t ck[SEAL_HASH], const uint8_t secret[SEAL_DH],
	       const uint8_t public_key[SEAL_DH])
{
	uint8_t both[SEAL_DH];
	bool good = c->dh(secret, public_key, both);
	if (good)
		seal_hs_mix(c, ck, both, sizeof both);
	explicit_bzero(both, sizeof both);
	return good;
}

void
seal_hs_key(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH], const char label[SEAL_LABEL],
	    const uint8_t *readable, size_t len, uint8_t out[SEAL_SECRET])
{
	uint8_t info[SEAL_LABEL + SEAL_READABLE_MAX];
	BASE_ASSERT(len <= SEAL_READABLE_MAX);
	memcpy(info, label, SEAL_LABEL);
	memcpy(info + SEAL_LABEL, readable, len);
	seal_hkdf_expand(c, ck, info, SEAL_LABEL + len, out, SEAL_SECRET);
}

static void
expand_handshake(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH],
		 const char label[SEAL_LABEL], const uint8_t *readable, size_t len, void *key)
{
	uint8_t raw[SEAL_SECRET];
	seal_hs_key(c, ck, label, readable, len, raw);
	c->expand(key, raw);
	explicit_bzero(raw, sizeof raw);
}

void
seal_hs_seal(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH], const char label[SEAL_LABEL],
	     uint8_t *msg, size_t clear, size_t len, void *key)
{
	expand_handshake(c, ck, label, msg, clear, key);
	c->seal(key, zero, msg, clear, msg + clear, len);
}

bool
seal_hs_open(const struct seal_crypto *c, const uint8_t ck[SEAL_HASH], const char label[SEAL_LABEL],
	     uint8_t *msg, size_t clear, size_t len, void *key)
{
	expand_handshake(c, ck, label, msg, clear, key);
	return c->open(key, zero, msg, clear, msg + clear, len);
}

void
seal_hs_code(const struct seal_crypto *c, const struct seal_psk *psk, const char label[SEAL_LABEL],
	     const uint8_t *readable, size_t len, uint8_t out[SEAL_TAG])
{
	uint8_t whole[SEAL_SECRET];
	seal_hs_key(c, psk ? psk->secret : zero, label, readable, len, whole);
	memcpy(out, whole, SEAL_TAG);
}

void
seal_source_init(const struct seal_crypto *c, struct seal_source *s, const uint8_t seed[SEAL_HASH])
{
	static const uint8_t salt[] = "seal source";
	seal_hkdf_extract(c, salt, sizeof salt, seed, SEAL_HASH, s->state);
}

void
seal_source_next(const struct seal_crypto *c, struct seal_source *s, uint8_t out[SEAL_DH])
{
	uint8_t both[SEAL_DH + SEAL_HASH];
	seal_hkdf_expand(c, s->state, "seal next", 9, both, sizeof both);
	memcpy(out, both, SEAL_DH);
	memcpy(s->state, both + SEAL_DH, sizeof s->state);
	explicit_bzero(both, sizeof both);
}
