/* SPDX-License-Identifier: BSD-2-Clause */
#include "seal/link.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define HEAD	 6		      /* magic, length */
#define OWN	 (SEAL_DH + SEAL_TAG) /* a public key, encrypted */
#define CODE_1	 (HEAD + 4 + SEAL_DH) /* where the code is */
#define CODE_2	 (HEAD + SEAL_DH)
#define PROTOCOL "seal link 1 "

static const uint8_t magic[4] = "SLK1";

enum step { STEP_FIRST, STEP_SECOND, STEP_PROOF, STEP_RECORDS };

static bool
broken(struct seal_link *l, const char *why)
{
	seal_link_wipe(l);
	snprintf(l->why, sizeof l->why, "%s", why);
	return false;
}

void
seal_link_wipe(struct seal_link *l)
{
	explicit_bzero(l->tx_key, sizeof l->tx_key);
	explicit_bzero(l->rx_key, sizeof l->rx_key);
	explicit_bzero(l->ck, sizeof l->ck);
	explicit_bzero(l->once, sizeof l->once);
	explicit_bzero(l->conf.key, sizeof l->conf.key);
	explicit_bzero(l->tx_secret, sizeof l->tx_secret);
	explicit_bzero(l->rx_secret, sizeof l->rx_secret);
	explicit_bzero(l->in, sizeof l->in);
	l->state = SEAL_LINK_BROKEN;
	l->have = 0;
	snprintf(l->why, sizeof l->why, "the link was given up here");
}

const char *
seal_link_wrong(const struct seal_link_conf *conf, enum seal_link_role role)
{
	if (!conf->crypto || conf->crypto->key_bytes > SEAL_KEY_MAX)
		return "no cipher";
	if (!conf->purpose || strlen(conf->purpose) >= 40)
		return "no purpose, or a long one";
	if (conf->nkeys > SEAL_PSK_MAX)
		return "too many pre-shared keys";
	if (!conf->nkeys && !conf->me)
		return "neither a pre-shared key nor an identity";
	if (conf->me && role == SEAL_LINK_LISTENS && !conf->known)
		return "nobody says who is known";
	return NULL;
}

static uint32_t
greeting_len(const struct seal_link *l, enum step step)
{
	if (step == STEP_SECOND)
		return CODE_2 + 2 * SEAL_TAG;
	return CODE_1 + 2 * SEAL_TAG + (l->conf.me ? OWN : 0);
}

static const struct seal_psk *
psk_of(const struct seal_link *l)
{
	return l->conf.nkeys ? &l->conf.key[l->psk] : NULL;
}

static void
begin_link(struct seal_link *l)
{
	char protocol[64];
	snprintf(protocol, sizeof protocol, PROTOCOL "%s", l->conf.purpose);
	seal_hs_begin(l->conf.crypto, l->ck, protocol, l->conf.me, psk_of(l));
}

static void
put_head(const struct seal_link *l, enum step step, uint8_t *out)
{
	memcpy(out, magic, sizeof magic);
	be16_store(out + 4, (uint16_t)(greeting_len(l, step) - HEAD));
}

/* Everything up to the code, and that; where what is encrypted begins. */
static uint32_t
put_code(const struct seal_link *l, const char label[SEAL_LABEL], uint8_t *out, uint32_t at)
{
	seal_hs_code(l->conf.crypto, psk_of(l), label, out, at, out + at);
	return at + SEAL_TAG;
}

static bool
code_good(const struct seal_link *l, const char label[SEAL_LABEL], uint32_t at)
{
	uint8_t code[SEAL_TAG];
	seal_hs_code(l->conf.crypto, psk_of(l), label, l->in, at, code);
	return seal_same(code, l->in + at, sizeof code);
}

/* The first greeting, by who dials. */
static bool
put_first(struct seal_link *l)
{
	const struct seal_crypto *c = l->conf.crypto;
	put_head(l, STEP_FIRST, l->out);
	be32_store(l->out + HEAD, l->conf.nkeys ? l->conf.key[0].id : 0);
	memcpy(l->out + HEAD + 4, l->once_public, SEAL_DH);
	uint32_t at = put_code(l, "link co1", l->out, CODE_1);
	begin_link(l);
	seal_hs_mix(c, l->ck, l->once_public, SEAL_DH);
	if (l->conf.me) {
		if (!seal_hs_mix_dh(c, l->ck, l->once, l->peer))
			return broken(l, "the public key of the other end is none");
		memcpy(l->out + at, l->conf.me->public_key, SEAL_DH);
		seal_hs_seal(c, l->ck, "link own", l->out, at, SEAL_DH, l->tx_key);
		at += OWN;
		if (!seal_hs_mix_dh(c, l->ck, l->conf.me->secret, l->peer))
			return broken(l, "the public key of the other end is none");
	}
	seal_hs_seal(c, l->ck, "link gr1", l->out, at, 0, l->tx_key);
	l->out_len = at + SEAL_TAG;
	return true;
}

void
seal_link_init(struct seal_link *l, const struct seal_link_conf *conf, enum seal_link_role role,
	       const uint8_t once[SEAL_DH], const uint8_t *listener)
{
	BASE_ASSERT(!seal_link_wrong(conf, role));
	memset(l, 0, sizeof *l);
	l->conf = *conf;
	l->role = role;
	memcpy(l->once, once, SEAL_DH);
	conf->crypto->dh_public(l->once, l->once_public);
	if (role == SEAL_LINK_LISTENS) {
		l->step = STEP_FIRST;
		l->want = HEAD;
		return;
	}
	l->step = STEP_SECOND;
	l->want = HEAD;
	if (listener)
		memcpy(l->peer, listener, SEAL_DH);
	(void)put_first(l);
}

static void
take_keys(struct seal_link *l)
{
	const struct seal_crypto *c = l->conf.crypto;
	bool dials = l->role == SEAL_LINK_DIALS;
	uint8_t *dialled = dials ? l->tx_secret : l->rx_secret;
	uint8_t *answered = dials ? l->rx_secret : l->tx_secret;
	seal_hkdf_expand(c, l->ck, "link from dialler", 17, dialled, SEAL_HASH);
	seal_hkdf_expand(c, l->ck, "link from listener", 18, answered, SEAL_HASH);
	c->expand(l->tx_key, l->tx_secret);
	c->expand(l->rx_key, l->rx_secret);
	explicit_bzero(l->conf.key, sizeof l->conf.key);
	explicit_bzero(l->ck, sizeof l->ck);
	explicit_bzero(l->once, sizeof l->once);
}

/* After so many records the key is a hash of itself. */
static void
count_record(struct seal_link *l, uint64_t *n, uint8_t *secret, uint8_t *key)
{
	uint64_t per_key = l->conf.rekey ? l->conf.rekey : SEAL_LINK_REKEY;
	if (++*n % per_key)
		return;
	uint8_t next[SEAL_HASH];
	seal_hkdf_expand(l->conf.crypto, secret, "link next", 9, next, sizeof next);
	memcpy(secret, next, sizeof next);
	explicit_bzero(next, sizeof next);
	l->conf.crypto->expand(key, secret);
}

static size_t
put_record(struct seal_link *l, const uint8_t *text, size_t len, uint8_t *out)
{
	uint8_t nonce[SEAL_AEAD_NONCE] = {0};
	be16_store(out, (uint16_t)(len + SEAL_TAG));
	be64_store(nonce + 4, l->tx_n);
	if (len)
		memcpy(out + 2, text, len);
	l->conf.crypto->seal(l->tx_key, nonce, out, 2, out + 2, len);
	count_record(l, &l->tx_n, l->tx_secret, l->tx_key);
	return 2 + len + SEAL_TAG;
}

static void
put_second(struct seal_link *l)
{
	put_head(l, STEP_SECOND, l->out);
	memcpy(l->out + HEAD, l->once_public, SEAL_DH);
	uint32_t at = put_code(l, "link co2", l->out, CODE_2);
	seal_hs_seal(l->conf.crypto, l->ck, "link gr2", l->out, at, 0, l->tx_key);
	l->out_len = at + SEAL_TAG;
}

static bool
find_psk(struct seal_link *l, uint32_t id)
{
	for (l->psk = 0; l->psk < l->conf.nkeys; l->psk++)
		if (l->conf.key[l->psk].id == id)
			return true;
	l->psk = 0;
	return !l->conf.nkeys && !id;
}

/* Who listens has the first greeting. */
static bool
rx_first(struct seal_link *l)
{
	const struct seal_crypto *c = l->conf.crypto;
	const uint8_t *e = l->in + HEAD + 4;
	uint32_t at = CODE_1 + SEAL_TAG;
	if (!find_psk(l, be32_load(l->in + HEAD)))
		return broken(l, "it uses a pre-shared key that is not in the key file here");
	if (!code_good(l, "link co1", CODE_1))
		return broken(l, "it has another pre-shared key under that number");
	begin_link(l);
	seal_hs_mix(c, l->ck, e, SEAL_DH);
	if (l->conf.me) {
		uint8_t own[OWN]; /* what is encrypted later covers it as it came */
		memcpy(own, l->in + at, OWN);
		if (!seal_hs_mix_dh(c, l->ck, l->conf.me->secret, e) ||
		    !seal_hs_open(c, l->ck, "link own", l->in, at, SEAL_DH, l->rx_key))
			return broken(l, "it expects another identity here");
		memcpy(l->peer, l->in + at, SEAL_DH);
		memcpy(l->in + at, own, OWN);
		if (!l->conf.known(l->conf.user, l->peer))
			return broken(l, "its identity is not among the peers");
		at += OWN;
		if (!seal_hs_mix_dh(c, l->ck, l->conf.me->secret, l->peer))
			return broken(l, "its identity is no public key");
	}
	if (!seal_hs_open(c, l->ck, "link gr1", l->in, at, 0, l->rx_key))
		return broken(l, "its greeting is not authentic");
	seal_hs_mix(c, l->ck, l->once_public, SEAL_DH);
	if (!seal_hs_mix_dh(c, l->ck, l->once, e) ||
	    (l->conf.me && !seal_hs_mix_dh(c, l->ck, l->once, l->peer)))
		return broken(l, "its greeting has no public key");
	put_second(l);
	take_keys(l);
	l->step = STEP_PROOF;
	return true;
}

static bool
rx_second(struct seal_link *l)
{
	const struct seal_crypto *c = l->conf.crypto;
	const uint8_t *e = l->in + HEAD;
	if (!code_good(l, "link co2", CODE_2))
		return broken(l, "it has another pre-shared key");
	seal_hs_mix(c, l->ck, e, SEAL_DH);
	if (!seal_hs_mix_dh(c, l->ck, l->once, e) ||
	    (l->conf.me && !seal_hs_mix_dh(c, l->ck, l->conf.me->secret, e)))
		return broken(l, "its greeting has no public key");
	if (!seal_hs_open(c, l->ck, "link gr2", l->in, CODE_2 + SEAL_TAG, 0, l->rx_key))
		return broken(l, "its greeting is not authentic");
	take_keys(l);
	l->step = STEP_RECORDS;
	l->state = SEAL_LINK_UP;
	l->out_len = (uint32_t)put_record(l, NULL, 0, l->out);
	return true;
}

static bool
rx_record(struct seal_link *l, void (*text)(void *, const uint8_t *, size_t), void *user)
{
	uint8_t nonce[SEAL_AEAD_NONCE] = {0};
	size_t len = l->have - 2 - SEAL_TAG;
	be64_store(nonce + 4, l->rx_n);
	if (!l->conf.crypto->open(l->rx_key, nonce, l->in, 2, l->in + 2, len))
		return broken(l,
			      "what came is not authentic: changed, repeated, or not from there");
	count_record(l, &l->rx_n, l->rx_secret, l->rx_key);
	if (l->step == STEP_PROOF) {
		l->step = STEP_RECORDS;
		l->state = SEAL_LINK_UP;
	}
	if (len)
		text(user, l->in + 2, len);
	explicit_bzero(l->in + 2, len);
	return l->state != SEAL_LINK_BROKEN;
}

/* As many bytes as were wanted are there. */
static bool
rx_whole(struct seal_link *l, void (*text)(void *, const uint8_t *, size_t), void *user)
{
	bool greets = l->step == STEP_FIRST || l->step == STEP_SECOND;
	if (greets && l->have == HEAD) {
		if (memcmp(l->in, magic, sizeof magic))
			return broken(l,
				      "what it says is no sealed stream: sealing is off there, or "
				      "it is another program");
		if (be16_load(l->in + 4) != greeting_len(l, l->step) - HEAD)
			return broken(l, "one end uses identities and the other does not");
		l->want = greeting_len(l, l->step);
		return true;
	}
	if (!greets && l->have == 2) {
		uint32_t len = be16_load(l->in);
		if (len < SEAL_TAG || len > SEAL_LINK_TEXT + SEAL_TAG)
			return broken(l, "what came is no record");
		l->want = 2 + len;
		return true;
	}
	bool good = l->step == STEP_FIRST    ? rx_first(l)
		    : l->step == STEP_SECOND ? rx_second(l)
					     : rx_record(l, text, user);
	l->have = 0;
	l->want = 2;
	return good;
}

bool
seal_link_rx(struct seal_link *l, const uint8_t *in, size_t len,
	     void (*text)(void *user, const uint8_t *bytes, size_t len), void *user)
{
	while (l->state != SEAL_LINK_BROKEN && len) {
		size_t n = l->want - l->have;
		if (n > len)
			n = len;
		memcpy(l->in + l->have, in, n);
		l->have += (uint32_t)n;
		in += n;
		len -= n;
		if (l->have == l->want && !rx_whole(l, text, user))
			return false;
	}
	return l->state != SEAL_LINK_BROKEN;
}

size_t
seal_link_out(struct seal_link *l, uint8_t out[SEAL_LINK_GREETING])
{
	size_t n = l->out_len;
	memcpy(out, l->out, n);
	l->out_len = 0;
	return n;
}

size_t
seal_link_size(size_t len)
{
	size_t records = (len + SEAL_LINK_TEXT - 1) / SEAL_LINK_TEXT;
	return len + records * (2 + SEAL_TAG);
}

size_t
seal_link_tx(struct seal_link *l, const uint8_t *text, size_t len, uint8_t *out)
{
	size_t at = 0;
	while (l->state == SEAL_LINK_UP && len) {
		size_t n = len < SEAL_LINK_TEXT ? len : SEAL_LINK_TEXT;
		at += put_record(l, text, n, out + at);
		text += n;
		len -= n;
	}
	return at;
}
