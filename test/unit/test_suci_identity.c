/* SPDX-License-Identifier: BSD-2-Clause */
/* Sealed paths between sites with identities: who gets in; and that a recording cannot be opened
 * with the keys of files. */
#include "suci_seal_kit.h"

#define C(n) offsetof(struct suci_counters, n)

/* What each kind of end does with each other one. */
enum trouble {
	FINE,
	REVOKED,       /* the listener has not the opener's key */
	ELSEWHERE,     /* it has it for another address */
	NOT_ME,	       /* the opener has another key for the listener */
	STOLEN_NAME,   /* the opener has the right public key and not the private one */
	STOLEN_FILE,   /* besides it has the listener's private key, and all that follows from it */
	UNKNOWN_THERE, /* the opener has nobody for the address */
	ONE_SIDED,     /* the listener has no identity */
	OTHER_PSK,     /* identities are right, the pre-shared key is not */
};
static const struct {
	const char *name;
	enum trouble what;
	size_t counter; /* of the listener */
} identity_cases[] = {
	{"fine", FINE, 0},
	{"revoked", REVOKED, C(drop_identity)},
	{"from elsewhere", ELSEWHERE, C(drop_identity)},
	{"another key for the listener", NOT_ME, C(drop_seal)},
	{"the public key only", STOLEN_NAME, C(drop_seal)},
	{"the public key, and the listener's private one", STOLEN_FILE, 0},
	{"nobody known there", UNKNOWN_THERE, 0},
	{"the listener has none", ONE_SIDED, C(drop_identity)},
	{"another pre-shared key", OTHER_PSK, C(drop_seal)},
};

static void
make_trouble(struct world *w, enum trouble what)
{
	const struct seal_crypto *c = seal_aes256gcm();
	struct seal_peer *caller = &w->peer[1][0], *called = &w->peer[0][0];
	const struct seal_peer true_one = *called;
	char why[SEAL_TEXT];
	if (what == REVOKED)
		caller->public_key[3] ^= 1;
	if (what == ELSEWHERE)
		caller->prefix[0].addr[15] ^= 1;
	if (what == NOT_ME)
		memcpy(called->public_key, w->id[0].public_key, SEAL_DH);
	if (what == STOLEN_NAME || what == STOLEN_FILE)
		w->id[0].secret[7] ^= 1;
	if (what == UNKNOWN_THERE)
		called->nprefixes = 0;
	if (what == ONE_SIDED)
		w->conf[1].seal.me = NULL;
	if (what == OTHER_PSK)
		w->conf[1].seal.key[0].secret[5] ^= 1;
	for (int side = 0; side < 2; side++)
		assert_true(seal_peers_agree(c, &w->id[side], &w->peer[side][0], 1, why));
	if (what == STOLEN_FILE)
		*called = true_one;
}

/* Who is refused for its identity, and nobody else, is told of with all that is known. */
static void
check_told(const struct world *w, enum trouble what)
{
	const struct side *s = &w->s[1];
	assert_int_equal(s->strangers, suci_counters(w->l.ep[1])->drop_identity);
	assert_int_equal(s->strangers > 0,
			 what == REVOKED || what == ELSEWHERE || what == ONE_SIDED);
	assert_int_equal(w->s[0].strangers, 0);
	if (!s->strangers)
		return;
	assert_memory_equal(s->stranger_at.ip, w->l.addr[0].ip, 16);
	assert_int_equal(s->stranger_shows, what != ONE_SIDED);
	if (s->stranger_shows)
		assert_memory_equal(s->stranger_key, w->id[0].public_key, SEAL_DH);
	assert_ptr_equal(s->stranger_known, what == ELSEWHERE ? &w->peer[1][0] : NULL);
}

static void
identity_modes(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof identity_cases / sizeof identity_cases[0]; i++) {
		bool with_psk = i & 1;
		enum trouble what = identity_cases[i / 2].what;
		if (!with_psk && (what == ONE_SIDED || what == OTHER_PSK))
			continue;
		struct world *w = world_new(3);
		identities(w, with_psk);
		make_trouble(w, what);
		world_start(w);
		uint64_t start_ns = w->l.now_ns;
		open_from(w, 0);
		bool up = link_run(&w->l, w->l.now_ns + 4 * BASE_S_NS, both_up, w);
		print_message("%s: %s%s\n", identity_cases[i / 2].name,
			      up ? "up" : "not up: ", w->s[0].text);
		assert_int_equal(up, what == FINE);
		if (up) {
			/* HELLO, COOKIE, OPEN, ACCEPT: two round trips, as without. */
			assert_true(w->l.now_ns - start_ns <= 4 * 100 * BASE_US_NS + BASE_US_NS);
			send_n(w, 0, 0, 3, 100);
			send_n(w, 1, 0, 3, 100);
			assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
			assert_string_equal(w->s[0].hello, "hello-b");
			assert_string_equal(w->s[1].hello, "hello-a");
		} else {
			/* Who has its key may make it begin a path, and hears nothing on it. */
			assert_int_equal(suci_counters(w->l.ep[1])->paths_opened,
					 what == STOLEN_FILE);
			assert_false(w->s[0].up);
		}
		if (what == UNKNOWN_THERE)
			assert_non_null(strstr(w->s[0].text, "no peer with a public key"));
		check_told(w, what);
		if (identity_cases[i / 2].counter) {
			uint64_t n;
			memcpy(&n,
			       (const uint8_t *)suci_counters(w->l.ep[1]) +
				       identity_cases[i / 2].counter,
			       sizeof n);
			assert_true(n > 0);
		}
		world_free(w);
	}
}

/* Without a pre-shared key whoever has an address can ask for products on the curve: not for more
 * than so many, and opens of peers come through. */
static void
curve_flood(void **state)
{
	(void)state;
	struct world *w = world_new(9);
	identities(w, false);
	world_start(w);
	open_from(w, 0);
	struct tape *t = caught(w, 0, SUCI_T_HELLO);
	deliver(w, 1, t->bytes, t->len);
	t = caught(w, 1, SUCI_T_COOKIE);
	deliver(w, 0, t->bytes, t->len);
	t = caught(w, 0, SUCI_T_OPEN);
	uint8_t bad[2048];
	memcpy(bad, t->bytes, t->len);
	bad[t->len - 1] ^= 1;
	for (int i = 0; i < 10000; i++)
		deliver(w, 1, bad, t->len);
	const struct suci_counters *c = suci_counters(w->l.ep[1]);
	assert_true(c->drop_seal <= 64 && c->drop_seal + c->drop_curve == 10000);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	world_free(w);
}

/* What somebody who has all files can compute: products of keys of which he has one private part.
 */
static struct world *robbed;
static bool
thief_dh(const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH], uint8_t out[SEAL_DH])
{
	const struct seal_identity *id = robbed->id;
	if (robbed->conf[0].seal.me && (!memcmp(secret, id[0].secret, SEAL_DH) ||
					!memcmp(public_key, id[1].public_key, SEAL_DH)))
		return seal_aes256gcm()->dh(secret, public_key, out);
	memset(out, 0x5a, SEAL_DH);
	return true;
}

static void
record_session(struct world *w)
{
	w->record = true;
	open_from(w, 0);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	send_n(w, 1, 0, 5, 300);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
	assert_int_equal(w->s[0].segments, 5);
	w->record = false;
}

/* The first end, made anew, hears what it heard. */
static void
hear_again(struct world *w, uint64_t start_ns)
{
	uint32_t n = w->ntapes;
	LINK_GIVE(suci_fini(w->l.ep[0], w->l.now_ns));
	link_drop_wire(&w->l);
	memset(&w->s[0], 0, sizeof w->s[0]);
	w->s[0].w = w;
	w->l.now_ns = start_ns;
	w->l.ep[0] = link_endpoint(&w->conf[0], start_ns);
	open_from(w, 0);
	w->hold = true;
	link_pump(&w->l);
	for (uint32_t i = 0; i < n; i++)
		if (w->tape[i].from == 1) {
			deliver(w, 0, w->tape[i].bytes, w->tape[i].len);
			link_pump(&w->l);
		}
}

enum { PSK, BOTH, IDENTITIES, MODES };

/* Somebody recorded a session and later gets everything that is in files, of both sides, and more:
 * the first end is made again with its identity, pre-shared key, tags, nonces, clock, and hears
 * what was recorded.  It reads all of it if it has the private key of that one path, too, and
 * nothing if not. */
static void
forward_secrecy(void **state)
{
	struct seal_crypto thief = *seal_aes256gcm();
	thief.dh = thief_dh;
	(void)state;
	for (int mode = 0; mode < MODES; mode++)
		for (int with_source = 0; with_source < 2; with_source++) {
			struct world *w = robbed = world_new(77);
			if (mode != PSK)
				identities(w, mode == BOTH);
			world_start(w);
			uint64_t start_ns = w->l.now_ns;
			record_session(w);
			if (!with_source)
				w->conf[0].seal.aead = &thief;
			hear_again(w, start_ns);
			assert_int_equal(w->s[0].up, with_source);
			assert_int_equal(w->s[0].segments, with_source ? 5 : 0);
			assert_int_equal(suci_counters(w->l.ep[0])->drop_seal > 0, !with_source);
			/* The other end's clock is ahead of this. */
			LINK_GIVE(suci_fini(w->l.ep[0], w->l.now_ns));
			w->l.ep[0] = NULL;
			w->l.now_ns += BASE_S_NS;
			world_free(w);
		}
}

/* The data packets of a session in which nothing is drawn by chance. */
static uint32_t
sealed_data(int mode, uint8_t psk, uint8_t out[8][512])
{
	struct world *w = world_new(77);
	uint32_t n = 0;
	for (int side = 0; side < 2; side++)
		w->conf[side].seal.key[0].secret[5] = psk;
	if (mode != PSK)
		identities(w, mode == BOTH);
	world_start(w);
	record_session(w);
	for (uint32_t i = 0; i < w->ntapes; i++)
		if (w->tape[i].from == 1 && (w->tape[i].bytes[0] & 15) == SUCI_T_DATA &&
		    w->tape[i].len > 300) {
			assert_true(n < 8 && w->tape[i].len <= 512);
			memcpy(out[n++], w->tape[i].bytes, 300);
		}
	assert_int_equal(n, 5);
	world_free(w);
	return n;
}

/* Who computes all private keys from public ones, and has not the pre-shared key, reads nothing. */
static void
second_factor(void **state)
{
	static uint8_t one[8][512], same[8][512], other[8][512];
	(void)state;
	for (int mode = PSK; mode <= BOTH; mode++) {
		uint32_t n = sealed_data(mode, 1, one);
		sealed_data(mode, 1, same);
		sealed_data(mode, 2, other);
		for (uint32_t i = 0; i < n; i++) {
			const size_t at = SUCI_PATH_HDR;
			assert_memory_equal(one[i], same[i], 300);
			assert_memory_not_equal(one[i] + at, other[i] + at, 300 - at);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identity_modes),
		cmocka_unit_test(curve_flood),
		cmocka_unit_test(forward_secrecy),
		cmocka_unit_test(second_factor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
