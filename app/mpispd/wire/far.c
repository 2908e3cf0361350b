/* SPDX-License-Identifier: BSD-2-Clause */
#include "spd/far.h"

#include "seal/handshake.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, HELLO = 1, BLOCK = 2 };

struct far_key {
	_Alignas(64) uint8_t made[SEAL_KEY_MAX];
	uint32_t id; /* of the key in the file; 0: not made yet */
};

struct far_unit {
	struct far_key tx, rx;
	uint64_t session;	     /* of its life; 0: not known */
	uint64_t heard;		     /* what it said last, which may be old */
	uint64_t left[SPD_FAR_LEFT]; /* those it had before */
	uint32_t nleft;
	uint64_t sent, taken; /* numbers */
};

struct spd_far {
	const struct seal_crypto *crypto;
	uint32_t units, me, nkeys;
	uint64_t session;
	struct seal_psk key[SEAL_PSK_MAX];
	struct far_unit unit[];
};

struct head {
	uint8_t kind;
	uint32_t from, to, key;
	uint64_t mine, yours, number;
};

/* ---- the object ---- */

struct spd_far *
spd_far_new(const struct seal_crypto *crypto, uint32_t units, uint32_t me, uint64_t session)
{
	size_t n = sizeof(struct spd_far) + units * sizeof(struct far_unit);
	struct spd_far *f = aligned_alloc(64, (n + 63) & ~(size_t)63);

	if (!f)
		return NULL;
	memset(f, 0, n);
	f->crypto = crypto;
	f->units = units;
	f->me = me;
	f->session = session;
	return f;
}

void
spd_far_free(struct spd_far *f)
{
	if (f)
		explicit_bzero(f, sizeof *f + f->units * sizeof f->unit[0]);
	free(f);
}

void
spd_far_keys(struct spd_far *f, const struct seal_psk *key, uint32_t n)
{
	explicit_bzero(f->key, sizeof f->key);
	for (uint32_t k = 0; k < n; k++)
		f->key[k] = key[k];
	f->nkeys = n;
	for (uint32_t u = 0; u < f->units; u++)
		f->unit[u].tx.id = f->unit[u].rx.id = 0;
}

static const struct seal_psk *
find_far_key(const struct spd_far *f, uint32_t id)
{
	for (uint32_t k = 0; k < f->nkeys; k++)
		if (f->key[k].id == id)
			return &f->key[k];
	return NULL;
}

/* ---- heads ---- */

static void
write_far_head(uint8_t *out, const struct head *h)
{
	struct base_writer w = base_writer(out, SPD_FAR_HEAD);

	base_write_u8(&w, VERSION);
	base_write_u8(&w, h->kind);
	base_write_be16(&w, (uint16_t)h->from);
	base_write_be16(&w, (uint16_t)h->to);
	base_write_be16(&w, 0);
	base_write_be32(&w, h->key);
	base_write_be32(&w, 0);
	base_write_be64(&w, h->mine);
	base_write_be64(&w, h->yours);
	base_write_be64(&w, h->number);
}

static bool
read_far_head(struct head *h, const uint8_t *in, size_t len)
{
	struct base_reader r = base_reader(in, len);
	uint8_t version = base_read_u8(&r);

	h->kind = base_read_u8(&r);
	h->from = base_read_be16(&r);
	h->to = base_read_be16(&r);
	uint32_t zero = base_read_be16(&r);
	h->key = base_read_be32(&r);
	zero |= base_read_be32(&r);
	h->mine = base_read_be64(&r);
	h->yours = base_read_be64(&r);
	h->number = base_read_be64(&r);
	return base_reader_ok(&r) && version == VERSION && !zero && h->mine &&
	       (h->kind == HELLO || h->kind == BLOCK);
}

static void
code_hello(const struct spd_far *f, const struct seal_psk *key, const uint8_t *head,
	   uint8_t out[SEAL_TAG])
{
	seal_hs_code(f->crypto, key, "spdhello", head, SPD_FAR_HEAD, out);
}

/* From one unit to the other, in these two lives. */
static void
make_far_key(const struct spd_far *f, struct far_key *k, const struct seal_psk *key,
	     const struct head *h)
{
	uint8_t ck[SEAL_HASH], secret[SEAL_SECRET], who[24];

	if (k->id == key->id)
		return;
	be32_store(who, h->from);
	be32_store(who + 4, h->to);
	be64_store(who + 8, h->mine);
	be64_store(who + 16, h->yours);
	seal_hs_begin(f->crypto, ck, "mpispd between sites", false, key);
	seal_hs_key(f->crypto, ck, "spdblock", who, sizeof who, secret);
	f->crypto->expand(k->made, secret);
	k->id = key->id;
	explicit_bzero(ck, sizeof ck);
	explicit_bzero(secret, sizeof secret);
}

static void
number_nonce(uint64_t number, uint8_t nonce[SEAL_AEAD_NONCE])
{
	memset(nonce, 0, SEAL_AEAD_NONCE);
	be64_store(nonce + SEAL_AEAD_NONCE - 8, number);
}

/* ---- saying ---- */

size_t
spd_far_hello(struct spd_far *f, uint32_t unit, uint8_t out[SPD_FAR_MORE])
{
	struct head h = {.kind = HELLO,
			 .from = f->me,
			 .to = unit,
			 .key = f->nkeys ? f->key[0].id : 0,
			 .mine = f->session,
			 .yours = f->unit[unit].heard};

	h.number = h.yours && f->unit[unit].session == h.yours;
	write_far_head(out, &h);
	if (!f->nkeys)
		return SPD_FAR_HEAD;
	code_hello(f, &f->key[0], out, out + SPD_FAR_HEAD);
	return SPD_FAR_MORE;
}

bool
spd_far_knows(const struct spd_far *f, uint32_t unit)
{
	return f->unit[unit].session != 0;
}

size_t
spd_far_seal(struct spd_far *f, uint32_t unit, const void *block, size_t len, uint8_t *out)
{
	struct far_unit *u = &f->unit[unit];
	uint8_t nonce[SEAL_AEAD_NONCE];
	struct head h = {.kind = BLOCK,
			 .from = f->me,
			 .to = unit,
			 .key = f->nkeys ? f->key[0].id : 0,
			 .mine = f->session,
			 .yours = u->session,
			 .number = ++u->sent};

	write_far_head(out, &h);
	memcpy(out + SPD_FAR_HEAD, block, len);
	if (!f->nkeys)
		return SPD_FAR_HEAD + len;
	make_far_key(f, &u->tx, &f->key[0], &h);
	number_nonce(h.number, nonce);
	f->crypto->seal(u->tx.made, nonce, out, SPD_FAR_HEAD, out + SPD_FAR_HEAD, len);
	return SPD_FAR_MORE + len;
}

/* ---- hearing ---- */

static bool
was_left(const struct far_unit *u, uint64_t session)
{
	for (uint32_t i = 0; i < SPD_FAR_LEFT; i++)
		if (u->left[i] == session)
			return true;
	return false;
}

static void
learn_session(struct far_unit *u, uint64_t session)
{
	if (u->session)
		u->left[u->nleft++ % SPD_FAR_LEFT] = u->session;
	u->session = session;
	u->sent = u->taken = 0;
	u->tx.id = u->rx.id = 0;
}

static enum spd_far_got
hear_far_hello(struct spd_far *f, const struct head *h, const uint8_t *bytes, size_t len)
{
	const struct seal_psk *key = find_far_key(f, h->key);
	struct far_unit *u = &f->unit[h->from];
	uint8_t code[SEAL_TAG];

	if (h->number > 1 || len != (f->nkeys ? SPD_FAR_MORE : SPD_FAR_HEAD))
		return SPD_FAR_BAD;
	if (f->nkeys)
		code_hello(f, key, bytes, code);
	if (f->nkeys && !seal_same(code, bytes + SPD_FAR_HEAD, sizeof code))
		return SPD_FAR_KEY;
	if (was_left(u, h->mine))
		return SPD_FAR_NONE;
	u->heard = h->mine;
	if (h->yours != f->session)
		return SPD_FAR_ANSWER;
	if (u->session != h->mine)
		learn_session(u, h->mine);
	return h->number ? SPD_FAR_NONE : SPD_FAR_ANSWER;
}

static enum spd_far_got
open_far_block(struct spd_far *f, const struct head *h, uint8_t *bytes, size_t *len)
{
	const struct seal_psk *key = find_far_key(f, h->key);
	struct far_unit *u = &f->unit[h->from];
	uint8_t nonce[SEAL_AEAD_NONCE];

	if (h->mine != u->session || h->yours != f->session)
		return was_left(u, h->mine) ? SPD_FAR_NONE : SPD_FAR_ANSWER;
	if (h->number <= u->taken)
		return SPD_FAR_NONE;
	*len -= SPD_FAR_HEAD;
	if (f->nkeys) {
		if (*len < SEAL_TAG)
			return SPD_FAR_BAD;
		*len -= SEAL_TAG;
		make_far_key(f, &u->rx, key, h);
		number_nonce(h->number, nonce);
		if (!f->crypto->open(u->rx.made, nonce, bytes, SPD_FAR_HEAD, bytes + SPD_FAR_HEAD,
				     *len))
			return SPD_FAR_KEY;
	}
	u->taken = h->number;
	return SPD_FAR_BLOCK;
}

enum spd_far_got
spd_far_open(struct spd_far *f, uint8_t *bytes, size_t len, uint32_t *unit, const uint8_t **block,
	     size_t *n)
{
	struct head h;

	if (!read_far_head(&h, bytes, len) || h.to != f->me || h.from >= f->units ||
	    h.from == f->me)
		return SPD_FAR_BAD;
	*unit = h.from;
	if (f->nkeys ? !find_far_key(f, h.key) : h.key != 0)
		return SPD_FAR_KEY;
	if (h.kind == HELLO)
		return hear_far_hello(f, &h, bytes, len);
	*n = len;
	*block = bytes + SPD_FAR_HEAD;
	return open_far_block(f, &h, bytes, n);
}
