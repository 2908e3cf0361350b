/* SPDX-License-Identifier: BSD-2-Clause */
/* Sealed streams: two ends in memory, and what somebody between them can do. */
#include "seal/link.h"

#include "base/bytes.h"
#include "base/prng.h"
#include "driver/aead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct pipe_bytes {
	uint8_t b[1 << 18];
	size_t n;
};

struct end {
	struct seal_link l;
	struct seal_link_conf conf;
	struct seal_identity id;
	const uint8_t *known; /* the one public key it lets in */
	struct pipe_bytes out, got;
};

static struct end ends[4];
static uint8_t next_once;

static bool
known(void *user, const uint8_t public_key[SEAL_DH])
{
	const struct end *e = user;
	return e->known && !memcmp(e->known, public_key, SEAL_DH);
}

static void
got(void *user, const uint8_t *bytes, size_t len)
{
	struct end *e = user;
	assert_true(len && len <= SEAL_LINK_TEXT);
	assert_true(e->got.n + len <= sizeof e->got.b);
	memcpy(e->got.b + e->got.n, bytes, len);
	e->got.n += len;
}

static void
flush(struct end *e)
{
	e->out.n += seal_link_out(&e->l, e->out.b + e->out.n);
}

/* What one has sent comes to the other, in pieces of that many bytes. */
static bool
carry(struct end *from, struct end *to, size_t piece)
{
	bool good = true;
	for (size_t at = 0; good && at < from->out.n; at += piece) {
		size_t n = from->out.n - at < piece ? from->out.n - at : piece;
		good = seal_link_rx(&to->l, from->out.b + at, n, got, to);
		flush(to);
	}
	from->out.n = 0;
	return good;
}

enum how { PSK = 1, IDENTITY = 2 };

static void
configure(struct end *e, enum how how, uint8_t number)
{
	memset(e, 0, sizeof *e);
	e->conf = (struct seal_link_conf){
		.crypto = seal_aes256gcm(), .purpose = "test", .known = known, .user = e};
	if (how & PSK) {
		e->conf.key[0] = (struct seal_psk){.id = 7, .secret = {1, 2, 3}};
		e->conf.nkeys = 1;
	}
	if (how & IDENTITY) {
		memset(e->id.secret, number, SEAL_DH);
		e->conf.crypto->dh_public(e->id.secret, e->id.public_key);
		e->conf.me = &e->id;
	}
}

static void
start(struct end *e, enum seal_link_role role, const struct end *listener)
{
	uint8_t once[SEAL_DH] = {0, ++next_once}; /* the curve takes no low bits */
	assert_null(seal_link_wrong(&e->conf, role));
	seal_link_init(&e->l, &e->conf, role, once, listener ? listener->id.public_key : NULL);
	flush(e);
}

/* Ends 0 dials 1. */
static void
set_up(enum how how)
{
	configure(&ends[0], how, 10);
	configure(&ends[1], how, 11);
	ends[1].known = ends[0].id.public_key;
}

static bool
greet(size_t piece)
{
	start(&ends[0], SEAL_LINK_DIALS, &ends[1]);
	start(&ends[1], SEAL_LINK_LISTENS, NULL);
	return carry(&ends[0], &ends[1], piece) && carry(&ends[1], &ends[0], piece) &&
	       carry(&ends[0], &ends[1], piece);
}

static void
say(struct end *e, const void *text, size_t len)
{
	e->out.n += seal_link_tx(&e->l, text, len, e->out.b + e->out.n);
}

static void
both_roles(void **state)
{
	static uint8_t big[100000];
	(void)state;
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (uint8_t)(i * 7 + i / 251);
	for (int how = PSK; how <= (PSK | IDENTITY); how++)
		for (size_t piece = 1; piece < 100000; piece = piece * 3 + 1) {
			set_up((enum how)how);
			assert_true(greet(piece));
			assert_int_equal(ends[0].l.state, SEAL_LINK_UP);
			assert_int_equal(ends[1].l.state, SEAL_LINK_UP);
			if (how & IDENTITY)
				assert_memory_equal(ends[1].l.peer, ends[0].id.public_key, SEAL_DH);
			for (int turn = 0; turn < 2; turn++) {
				struct end *a = &ends[turn], *b = &ends[!turn];
				say(a, "hello", 5);
				size_t before = a->out.n;
				say(a, big, sizeof big);
				assert_int_equal(a->out.n - before, seal_link_size(sizeof big));
				/* Nothing of it is readable. */
				assert_null(memmem(a->out.b, a->out.n, "hello", 5));
				assert_null(memmem(a->out.b, a->out.n, big, 16));
				assert_true(carry(a, b, piece));
				assert_int_equal(b->got.n, 5 + sizeof big);
				assert_memory_equal(b->got.b, "hello", 5);
				assert_memory_equal(b->got.b + 5, big, sizeof big);
			}
		}
}

/* Every refusal says why, and nobody is up. */
static void
refused(const char *why_listener, const char *why_dialler)
{
	assert_false(greet(1000));
	assert_int_not_equal(ends[1].l.state, SEAL_LINK_UP);
	if (why_listener)
		assert_non_null(strstr(ends[1].l.why, why_listener));
	if (why_dialler)
		assert_non_null(strstr(ends[0].l.why, why_dialler));
	say(&ends[1], "x", 1);
	assert_int_equal(ends[1].out.n, 0);
}

static void
wrong_keys(void **state)
{
	uint8_t other[SEAL_DH];
	(void)state;
	set_up(PSK);
	ends[1].conf.key[0].secret[31] ^= 1;
	refused("another pre-shared key", NULL);
	set_up(PSK | IDENTITY);
	ends[1].conf.key[0].secret[0] ^= 1;
	refused("another pre-shared key", NULL);
	set_up(PSK);
	ends[1].conf.key[0].id = 8;
	refused("not in the key file", NULL);
	set_up(IDENTITY);
	ends[1].known = NULL; /* revoked */
	refused("not among the peers", NULL);
	/* The dialler takes it for another one. */
	set_up(IDENTITY);
	memset(other, 99, sizeof other);
	start(&ends[0], SEAL_LINK_DIALS, NULL);
	seal_link_init(&ends[0].l, &ends[0].conf, SEAL_LINK_DIALS, other, other);
	ends[0].out.n = 0;
	flush(&ends[0]);
	start(&ends[1], SEAL_LINK_LISTENS, NULL);
	assert_false(carry(&ends[0], &ends[1], 1000));
	assert_non_null(strstr(ends[1].l.why, "another identity"));
	/* One has identities, the other not; and a purpose that differs. */
	set_up(PSK | IDENTITY);
	ends[1].conf.me = NULL;
	refused("identities", NULL);
	set_up(PSK);
	ends[1].conf.purpose = "else";
	refused("not authentic", NULL);
	/* A second key of the listener's file is found. */
	set_up(PSK);
	ends[1].conf.key[1] = ends[1].conf.key[0];
	ends[1].conf.key[0] = (struct seal_psk){.id = 9};
	ends[1].conf.nkeys = 2;
	assert_true(greet(1000));
	assert_int_equal(ends[1].l.psk, 1);
	/* No public key at all. */
	set_up(PSK);
	start(&ends[1], SEAL_LINK_LISTENS, NULL);
	assert_false(
		seal_link_rx(&ends[1].l, (const uint8_t *)"GET / HTTP/1.1\r\n", 16, got, &ends[1]));
	assert_non_null(strstr(ends[1].l.why, "no sealed stream"));
}

/* Somebody who has the public key of the dialler and of the listener, and no private one. */
static void
impostor(void **state)
{
	(void)state;
	set_up(IDENTITY);
	memset(ends[0].id.secret, 77, SEAL_DH); /* the public key stays the known one */
	assert_false(greet(1000));
	assert_non_null(strstr(ends[1].l.why, "not authentic"));
	set_up(IDENTITY);
	memset(ends[1].id.secret, 77, SEAL_DH);
	assert_false(greet(1000));
	assert_int_not_equal(ends[0].l.state, SEAL_LINK_UP);
}

/* Any byte of any greeting changed, in either mode. */
static void
changed(void **state)
{
	(void)state;
	for (int how = PSK; how <= (PSK | IDENTITY); how++)
		for (int which = 0; which < 3; which++)
			for (size_t at = 0;; at++) {
				set_up((enum how)how);
				start(&ends[0], SEAL_LINK_DIALS, &ends[1]);
				start(&ends[1], SEAL_LINK_LISTENS, NULL);
				bool good = true;
				for (int i = 0; i < which && good; i++)
					good = carry(&ends[i & 1], &ends[!(i & 1)], 1000);
				assert_true(good);
				struct end *from = &ends[which & 1], *to = &ends[!(which & 1)];
				if (at == from->out.n)
					break;
				from->out.b[at] ^= 0x20;
				/* A length may have grown: then it waits, and is not up. */
				if (carry(from, to, 1000))
					assert_true(which == 2 && at < 2);
				assert_int_not_equal(to->l.state, SEAL_LINK_UP);
			}
}

/* Records of an established link: changed, left out, repeated, swapped, reflected, of another link.
 */
static void
records(void **state)
{
	static struct pipe_bytes tape;
	size_t len = seal_link_size(10);
	(void)state;
	for (int what = 0; what < 6; what++) {
		set_up(PSK | IDENTITY);
		assert_true(greet(1000));
		if (what == 5) { /* the same two, another stream */
			say(&ends[0], "0123456789", 10);
			tape = ends[0].out;
			set_up(PSK | IDENTITY);
			assert_true(greet(1000));
			memcpy(ends[0].out.b, tape.b, len);
			ends[0].out.n = len;
		} else {
			say(&ends[0], "0123456789", 10);
			say(&ends[0], "abcdefghij", 10);
		}
		uint8_t *b = ends[0].out.b;
		struct end *to = what == 4 ? &ends[0] : &ends[1];
		if (what == 0)
			b[5] ^= 1;
		if (what == 1)
			memmove(b, b + len, len), ends[0].out.n = len;
		if (what == 2)
			memcpy(b + len, b, len);
		if (what == 3) {
			memcpy(tape.b, b, len);
			memcpy(b, b + len, len);
			memcpy(b + len, tape.b, len);
		}
		tape = ends[0].out;
		assert_false(seal_link_rx(&to->l, tape.b, tape.n, got, to));
		assert_non_null(strstr(to->l.why, "not authentic"));
		assert_int_equal(to->got.n, what == 2 ? 10 : 0);
		/* For good. */
		assert_false(seal_link_rx(&to->l, tape.b, len, got, to));
	}
	/* Cut: what is not whole is not given. */
	set_up(PSK);
	assert_true(greet(1000));
	say(&ends[0], "0123456789", 10);
	ends[0].out.n--;
	assert_true(carry(&ends[0], &ends[1], 1000));
	assert_int_equal(ends[1].got.n, 0);
}

/* A recorded dialler, whole, to the listener once more: nobody comes up without the keys. */
static void
replayed(void **state)
{
	static struct pipe_bytes tape;
	(void)state;
	set_up(PSK | IDENTITY);
	start(&ends[0], SEAL_LINK_DIALS, &ends[1]);
	start(&ends[1], SEAL_LINK_LISTENS, NULL);
	tape = ends[0].out;
	assert_true(carry(&ends[0], &ends[1], 1000));
	assert_int_equal(ends[1].l.state, SEAL_LINK_OPENING); /* nothing is proven yet */
	assert_true(carry(&ends[1], &ends[0], 1000));
	memcpy(tape.b + tape.n, ends[0].out.b, ends[0].out.n);
	tape.n += ends[0].out.n;
	start(&ends[1], SEAL_LINK_LISTENS, NULL);
	assert_false(seal_link_rx(&ends[1].l, tape.b, tape.n, got, &ends[1]));
	assert_int_equal(ends[1].l.state, SEAL_LINK_BROKEN);
	/* Its own greeting back to the dialler. */
	set_up(PSK);
	start(&ends[0], SEAL_LINK_DIALS, NULL);
	tape = ends[0].out;
	assert_false(seal_link_rx(&ends[0].l, tape.b, tape.n, got, &ends[0]));
}

static void
rekeys(void **state)
{
	(void)state;
	set_up(PSK);
	ends[0].conf.rekey = ends[1].conf.rekey = 3;
	assert_true(greet(1000));
	for (int i = 0; i < 20; i++) {
		uint8_t before[SEAL_HASH];
		memcpy(before, ends[0].l.tx_secret, sizeof before);
		say(&ends[0], "0123456789", 10);
		/* The empty record was the first. */
		assert_int_equal(!memcmp(before, ends[0].l.tx_secret, sizeof before),
				 (i + 2) % 3 != 0);
		assert_true(carry(&ends[0], &ends[1], 7));
		say(&ends[1], "x", 1);
		assert_true(carry(&ends[1], &ends[0], 7));
	}
	assert_int_equal(ends[1].got.n, 200);
	assert_int_equal(ends[0].got.n, 20);
}

/* Products of keys of which one private part is in a file. */
static bool
thief_dh(const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH], uint8_t out[SEAL_DH])
{
	if (!memcmp(secret, ends[0].id.secret, SEAL_DH) ||
	    !memcmp(public_key, ends[1].id.public_key, SEAL_DH))
		return seal_aes256gcm()->dh(secret, public_key, out);
	memset(out, 0x5a, SEAL_DH);
	return true;
}

/* With every key that is in a file of either side, and the recording, but without the private key
 * that was made for this stream alone. */
static void
forward_secrecy(void **state)
{
	static struct pipe_bytes first, second, third;
	struct seal_crypto thief = *seal_aes256gcm();
	thief.dh = thief_dh;
	(void)state;
	for (int with_once = 0; with_once < 2; with_once++) {
		set_up(PSK | IDENTITY);
		uint8_t once = (uint8_t)(next_once + 1);
		start(&ends[0], SEAL_LINK_DIALS, &ends[1]);
		start(&ends[1], SEAL_LINK_LISTENS, NULL);
		first = ends[0].out;
		assert_true(carry(&ends[0], &ends[1], 1000));
		second = ends[1].out;
		assert_true(carry(&ends[1], &ends[0], 1000));
		assert_true(carry(&ends[0], &ends[1], 1000));
		say(&ends[1], "secret", 6);
		third = ends[1].out;
		/* A dialler made anew from the files, and the recorded answers. */
		uint8_t again[SEAL_DH] = {0, once};
		if (!with_once)
			ends[0].conf.crypto = &thief;
		seal_link_init(&ends[0].l, &ends[0].conf, SEAL_LINK_DIALS, again,
			       ends[1].id.public_key);
		assert_memory_equal(ends[0].l.out, first.b, first.n);
		ends[0].got.n = 0;
		bool read = seal_link_rx(&ends[0].l, second.b, second.n, got, &ends[0]) &&
			    seal_link_rx(&ends[0].l, third.b, third.n, got, &ends[0]) &&
			    ends[0].got.n == 6;
		assert_int_equal(read, with_once);
	}
	/* Nothing of it stays once the link is up. */
	static const uint8_t zero[SEAL_DH];
	assert_memory_equal(ends[1].l.once, zero, SEAL_DH);
	assert_memory_equal(ends[1].l.ck, zero, SEAL_HASH);
}

/* What is said under another pre-shared key is sealed by another key, all else being the same. */
static void
second_factor(void **state)
{
	static struct pipe_bytes said[3];
	(void)state;
	for (int identity = 0; identity <= IDENTITY; identity += IDENTITY) {
		uint8_t once = next_once;
		for (int i = 0; i < 3; i++) {
			next_once = once;
			set_up(PSK | identity);
			ends[0].conf.key[0].secret[3] = ends[1].conf.key[0].secret[3] = i == 2;
			start(&ends[0], SEAL_LINK_DIALS, &ends[1]);
			start(&ends[1], SEAL_LINK_LISTENS, NULL);
			assert_true(carry(&ends[0], &ends[1], 1000));
			assert_true(carry(&ends[1], &ends[0], 1000));
			assert_true(carry(&ends[0], &ends[1], 1000));
			say(&ends[1], "secret", 6);
			said[i] = ends[1].out;
		}
		assert_int_equal(said[0].n, 2 + 6 + SEAL_TAG);
		assert_memory_equal(said[0].b, said[1].b, said[0].n);
		assert_memory_not_equal(said[0].b + 2, said[2].b + 2, 6);
	}
}

static void
configurations(void **state)
{
	(void)state;
	configure(&ends[0], PSK, 1);
	ends[0].conf.nkeys = 0;
	assert_non_null(seal_link_wrong(&ends[0].conf, SEAL_LINK_DIALS));
	configure(&ends[0], IDENTITY, 1);
	ends[0].conf.known = NULL;
	assert_null(seal_link_wrong(&ends[0].conf, SEAL_LINK_DIALS));
	assert_non_null(seal_link_wrong(&ends[0].conf, SEAL_LINK_LISTENS));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_roles),	  cmocka_unit_test(wrong_keys),
		cmocka_unit_test(impostor),	  cmocka_unit_test(changed),
		cmocka_unit_test(records),	  cmocka_unit_test(replayed),
		cmocka_unit_test(rekeys),	  cmocka_unit_test(forward_secrecy),
		cmocka_unit_test(configurations), cmocka_unit_test(second_factor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
