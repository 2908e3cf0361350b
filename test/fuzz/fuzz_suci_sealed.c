/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw datagrams into an endpoint with sealed paths.  The cipher is none: a datagram is
 * authentic if its tag is zero, so that the fuzzer gets behind the seal, to what a peer
 * with the key could send and to every step of handshake and epochs.  The input is a row of
 * records: control byte, length (2), bytes.  Control bit 0 writes the right path tag
 * into the datagram, bit 1 the endpoint it goes to, bit 2 lets time pass, bit 3 lets the
 * pair talk in between, bit 4 marks it sealed, bit 5 makes the seal tag good
 * (and the code of an OPEN or ACCEPT), bit 6 writes the
 * tag with which the endpoint sends, and time passes by bits 4 to 7.  Bit 1 of the first
 * byte of all: with identities. */
#include "fuzz_suci_pair.h"

#include "seal/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
none_expand(void *key, const uint8_t secret[SEAL_SECRET])
{
	memcpy(key, secret, SEAL_SECRET);
}

static void
none_seal(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	  uint8_t *text, size_t len)
{
	(void)key, (void)nonce, (void)aad, (void)aad_len;
	memset(text + len, 0, SUCI_SEAL_TAG);
}

static bool
none_open(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	  uint8_t *text, size_t len)
{
	static const uint8_t zero[SUCI_SEAL_TAG];
	(void)key, (void)nonce, (void)aad, (void)aad_len;
	return !memcmp(text + len, zero, sizeof zero);
}

/* Reads all it is given, for the sanitizer; not a hash. */
static void
none_sha256(const void *msg, size_t len, uint8_t out[SEAL_HASH])
{
	const uint8_t *p = msg;
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 1099511628211u;
	for (size_t i = 0; i < SEAL_HASH; i++)
		out[i] = (uint8_t)(h >> 8 * (i % 8)) ^ (uint8_t)i;
}

static void
none_dh_public(const uint8_t secret[SEAL_DH], uint8_t out[SEAL_DH])
{
	memcpy(out, secret, SEAL_DH);
}

static bool
none_dh(const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH], uint8_t out[SEAL_DH])
{
	for (size_t i = 0; i < SEAL_DH; i++)
		out[i] = secret[i] ^ public_key[i];
	return public_key[0] != 0;
}

/* Under the first pre-shared key of fuzz_suci_pair.h, whatever number the greeting has. */
static void
make_code(const struct seal_crypto *c, struct pair_dgram *d)
{
	enum { CODE_AT = SUCI_PATH_HDR + SUCI_BODY_HDR + SUCI_SEAL_EXT + SEAL_DH };
	static const struct seal_psk psk = {.id = 7};
	int type = d->bytes[0] & 15;
	if (d->len >= CODE_AT + SEAL_TAG && (type == SUCI_T_OPEN || type == SUCI_T_ACCEPT))
		seal_hs_code(c, &psk, type == SUCI_T_ACCEPT ? "suci co2" : "suci co1", d->bytes,
			     CODE_AT, d->bytes + CODE_AT);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct seal_crypto none = {
		.name = "none",
		.key_bytes = SEAL_SECRET,
		.expand = none_expand,
		.seal = none_seal,
		.open = none_open,
		.sha256 = none_sha256,
		.dh_public = none_dh_public,
		.dh = none_dh,
	};
	if (!size)
		return 0;
	pair_aead = &none;
	pair_identities = data[0] & 2;
	struct pair *p = pair_new(data[0] & 1);
	uint8_t tag[2][4] = {{0}};
	struct base_reader r = base_reader(data + 1, size - 1);
	pair_send(p, 0, true);
	pair_send(p, 1, true);
	pair_learn_tags(p, tag);
	struct pair_dgram d;
	uint8_t ctl;
	while (pair_next_raw(&r, tag, &ctl, &d)) {
		if (ctl & 64 && d.len >= 8) /* RESET has the tag of who gets it */
			memcpy(d.bytes + 4, tag[d.from], 4);
		if (ctl & 16 && d.len >= 2)
			d.bytes[1] |= SUCI_PF_SEALED;
		if (ctl & 32 && d.len + SUCI_SEAL_TAG <= sizeof d.bytes) {
			memset(d.bytes + d.len, 0, SUCI_SEAL_TAG);
			d.len += SUCI_SEAL_TAG;
			make_code(&none, &d);
		}
		pair_give_raw(p, ctl, &d);
	}
	pair_deliver_all(p);
	pair_free(p);
	return 0;
}
