/* SPDX-License-Identifier: BSD-2-Clause */
/* Sealed paths: who gets in, and that nothing forged, replayed, reflected or old changes
 * anything but a counter. */
#include "suci_seal_kit.h"

/* ---- the handshake ------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t ids[2][2]; /* key ids of both sides, 0 = none; id 99: id 11, other secret */
	bool sealed[2];
	bool comes_up;
	const char *text; /* part of the opener's why */
	size_t counter;	  /* of the listener that has to count */
} mode_cases[] = {
#define C(n) offsetof(struct suci_counters, n)
	{"same key", {{11, 0}, {11, 0}}, {true, true}, true, "", 0},
	{"none sealed", {{0, 0}, {0, 0}}, {false, false}, true, "", 0},
	{"the same number, another key",
	 {{11, 0}, {99, 0}},
	 {true, true},
	 false,
	 "no answer",
	 C(drop_seal)},
	{"no key in common", {{11, 0}, {12, 0}}, {true, true}, false, "no answer", C(drop_psk)},
	{"the opener does not seal",
	 {{0, 0}, {11, 0}},
	 {false, true},
	 false,
	 "no answer",
	 C(drop_unsealed)},
	{"the listener does not seal",
	 {{11, 0}, {0, 0}},
	 {true, false},
	 false,
	 "is sealing off there?",
	 C(drop_sealed)},
	{"the listener has the new one too", {{11, 0}, {12, 11}}, {true, true}, true, "", 0},
	{"the listener has not yet the new one",
	 {{12, 11}, {11, 0}},
	 {true, true},
	 true,
	 "",
	 C(drop_psk)},
};

static void
keys_and_modes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof mode_cases / sizeof mode_cases[0]; i++) {
		struct world *w = world_new(3);
		for (int side = 0; side < 2; side++) {
			struct suci_seal_conf *s = &w->conf[side].seal;
			s->nkeys = 0;
			for (int k = 0; k < 2; k++) {
				uint32_t id = mode_cases[i].ids[side][k];
				if (!id)
					continue;
				s->key[s->nkeys++] = (struct seal_psk){.id = id == 99 ? 11 : id,
								       .secret = {(uint8_t)id}};
			}
			if (!mode_cases[i].sealed[side])
				*s = (struct suci_seal_conf){0};
		}
		world_start(w);
		open_from(w, 0);
		bool up = link_run(&w->l, w->l.now_ns + 4 * BASE_S_NS, both_up, w);
		print_message("%s: %s%s\n", mode_cases[i].name,
			      up ? "up" : "not up: ", w->s[0].text);
		assert_int_equal(up, mode_cases[i].comes_up);
		if (up) {
			send_n(w, 0, 0, 3, 100);
			send_n(w, 1, 0, 3, 100);
			assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
			assert_string_equal(w->s[0].hello, "hello-b");
			assert_string_equal(w->s[1].hello, "hello-a");
		} else {
			assert_int_equal(w->s[0].why, SUCI_DOWN_TIMEOUT);
			assert_non_null(strstr(w->s[0].text, mode_cases[i].text));
			assert_int_equal(suci_counters(w->l.ep[1])->paths_opened, 0);
		}
		if (mode_cases[i].counter) {
			uint64_t n;
			memcpy(&n,
			       (const uint8_t *)suci_counters(w->l.ep[1]) + mode_cases[i].counter,
			       sizeof n);
			assert_true(n > 0);
		}
		world_free(w);
	}
}

/* Opens that cross, under different keys of the same set. */
static void
crossing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world *w = world_new(seed);
		for (int side = 0; side < 2; side++) {
			struct suci_seal_conf *s = &w->conf[side].seal;
			s->key[side] = (struct seal_psk){.id = 11, .secret = {1}};
			s->key[!side] = (struct seal_psk){.id = 12, .secret = {2}};
			s->nkeys = 2;
		}
		if (seed % 4 >= 2)
			identities(w, seed % 8 >= 4);
		w->l.jitter_ns = 300 * BASE_US_NS;
		w->l.loss_ppb = seed % 2 ? 300000000 : 0;
		world_start(w);
		open_from(w, 0);
		open_from(w, 1);
		assert_true(link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, both_up, w));
		w->l.loss_ppb = 0;
		send_n(w, 0, 0, 50, 1000);
		send_n(w, 1, 0, 50, 1000);
		assert_true(link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, all_acked, w));
		assert_int_equal(w->s[0].downs + w->s[1].downs, 0);
		world_free(w);
	}
}

/* The listener's refusal is sealed as well: the opener believes it, and nobody else's. */
static void
refused(void **state)
{
	(void)state;
	struct world *w = world_new(5);
	w->s[1].refuse = true;
	world_start(w);
	open_from(w, 0);
	w->record = true;
	run_ms(w, 100);
	assert_int_equal(w->s[0].downs, 1);
	assert_int_equal(w->s[0].why, SUCI_DOWN_REFUSED);
	assert_string_equal(w->s[0].text, "job 7 is unknown");
	/* The same words again for the next try are no answer to it. */
	struct tape *t = &w->tape[w->ntapes - 1];
	assert_int_equal(t->bytes[0] & 15, SUCI_T_CLOSE);
	w->record = false;
	w->s[1].refuse = false;
	open_from(w, 0);
	deliver(w, 0, t->bytes, t->len);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	deliver(w, 0, t->bytes, t->len);
	assert_true(w->s[0].up);
	world_free(w);
}

/* ---- epochs -------------------------------------------------------------- */

/* Keys that were made ready, each once. */
static uint8_t keys_seen[4096][SEAL_SECRET];
static uint32_t nkeys_seen;

static void
note_key(void *key, const uint8_t secret[SEAL_SECRET])
{
	uint32_t i = 0;
	while (i < nkeys_seen && memcmp(keys_seen[i], secret, SEAL_SECRET) != 0)
		i++;
	assert_true(i < sizeof keys_seen / sizeof *keys_seen);
	if (i == nkeys_seen)
		memcpy(keys_seen[nkeys_seen++], secret, SEAL_SECRET);
	seal_aes256gcm()->expand(key, secret);
}

static void
epochs(void **state)
{
	struct seal_crypto noting = *seal_aes256gcm();
	noting.expand = note_key;
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world *w = world_new(seed);
		nkeys_seen = 0;
		for (int side = 0; side < 2; side++) {
			w->conf[side].seal.epoch = 40 + (uint32_t)seed;
			w->conf[side].seal.aead = &noting;
		}
		w->l.jitter_ns = 30 * BASE_US_NS * (seed % 4); /* reordering around the change */
		w->l.loss_ppb = seed % 3 ? 20000000 : 0;
		w->l.dup_ppb = 10000000;
		world_start(w);
		open_from(w, 0);
		assert_true(link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, both_up, w));
		send_n(w, 0, 0, SEGS, 1000);
		if (seed % 2)
			send_n(w, 1, 0, SEGS, 1000);
		assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_acked, w));
		const struct suci_counters *a = suci_counters(w->l.ep[0]),
					   *b = suci_counters(w->l.ep[1]);
		assert_true(a->tx_rekeys >= 4);
		assert_true(nkeys_seen >= a->tx_rekeys + b->tx_rekeys);
		/* Who only acknowledges changes its key with the other. */
		assert_true(b->tx_rekeys + 1 >= a->tx_rekeys);
		for (uint32_t i = 0; i < SEGS; i++)
			assert_int_equal(w->s[1].seen[i] > 0, 1);
		if (!(seed % 4))
			assert_int_equal(a->drop_seal + b->drop_seal, 0);
		assert_int_equal(w->s[0].downs + w->s[1].downs, 0);
		world_free(w);
	}
}

/* ---- hostile datagrams ----------------------------------------------------- */

/* Every single bit of it flipped: counted, and nothing else happens; then it is good. */
static void
flip_all(struct world *w, int to, const uint8_t *bytes, size_t len)
{
	static uint8_t copy[2048];
	struct picture before = look(w, to);
	for (size_t bit = 0; bit < len * 8; bit++) {
		uint64_t n = drops(suci_counters(w->l.ep[to]));
		memcpy(copy, bytes, len);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		deliver(w, to, copy, len);
		struct picture after = look(w, to);
		if (drops(suci_counters(w->l.ep[to])) != n + 1)
			fail_msg("bit %zu of a datagram of type %u was not counted", bit,
				 bytes[0] & 15u);
		assert_memory_equal(&before, &after, sizeof before);
	}
	for (size_t cut = 0; cut < len; cut++) {
		uint64_t n = drops(suci_counters(w->l.ep[to]));
		deliver(w, to, bytes, cut);
		assert_int_equal(drops(suci_counters(w->l.ep[to])), n + 1);
	}
	struct picture after = look(w, to);
	assert_memory_equal(&before, &after, sizeof before);
}

static void
bit_flips(void **state)
{
	(void)state;
	struct world *w = world_up(7);
	/* A segment, then a bare ack, then CLOSE. */
	send_n(w, 0, 0, 1, 200);
	struct tape *t = caught(w, 0, SUCI_T_DATA);
	flip_all(w, 1, t->bytes, t->len);
	deliver(w, 1, t->bytes, t->len);
	assert_int_equal(w->s[1].segments, 1);
	suci_flush_acks(w->l.ep[1]);
	t = caught(w, 1, SUCI_T_DATA);
	assert_true(t->bytes[1] & SUCI_PF_BARE);
	flip_all(w, 0, t->bytes, t->len);
	assert_int_equal(w->s[0].acked, 0);
	deliver(w, 0, t->bytes, t->len);
	assert_int_equal(w->s[0].acked, 1);
	suci_path_close(w->l.ep[0], w->s[0].path, "enough", w->l.now_ns);
	t = caught(w, 0, SUCI_T_CLOSE);
	flip_all(w, 1, t->bytes, t->len);
	deliver(w, 1, t->bytes, t->len);
	assert_int_equal(w->s[1].why, SUCI_DOWN_CLOSED);
	assert_string_equal(w->s[1].text, "enough");
	world_free(w);
}

static void
bit_flips_of_the_handshake(void **state)
{
	struct world *w = world_new(8);
	if (*state)
		identities(w, *(const bool *)*state);
	world_start(w);
	open_from(w, 0);
	struct tape *t = caught(w, 0, SUCI_T_HELLO);
	deliver(w, 1, t->bytes, t->len);
	t = caught(w, 1, SUCI_T_COOKIE);
	deliver(w, 0, t->bytes, t->len);
	t = caught(w, 0, SUCI_T_OPEN);
	/* Flips in the header may make it another type: HELLO is answered, so no flips of
	 * the first byte here; the length fields and all that follows are looked at. */
	struct picture before = look(w, 1);
	for (size_t bit = 8; bit < t->len * 8; bit++) {
		uint64_t n = drops(suci_counters(w->l.ep[1]));
		t->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		deliver(w, 1, t->bytes, t->len);
		t->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(drops(suci_counters(w->l.ep[1])), n + 1);
		struct picture after = look(w, 1);
		assert_memory_equal(&before, &after, sizeof before);
	}
	w->l.now_ns += 100 * BASE_MS_NS; /* opens of the unproven are paced */
	deliver(w, 1, t->bytes, t->len);
	assert_true(w->s[1].up);
	t = caught(w, 1, SUCI_T_ACCEPT);
	flip_all(w, 0, t->bytes, t->len);
	assert_false(w->s[0].up);
	deliver(w, 0, t->bytes, t->len);
	assert_true(w->s[0].up);
	send_n(w, 0, 0, 3, 100);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
	world_free(w);
}

/* A whole session on tape: handshake, data both ways, acks, some losses. */
static struct world *
recorded(uint64_t seed)
{
	struct world *w = world_new(seed);
	for (int side = 0; side < 2; side++)
		w->conf[side].seal.epoch = 100;
	w->record = w->lose = true;
	world_start(w);
	open_from(w, 0);
	assert_true(link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, both_up, w));
	send_n(w, 0, 0, 500, 700);
	send_n(w, 1, 0, 500, 700);
	assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_acked, w));
	w->lose = false;
	run_ms(w, 50);
	w->record = false;
	assert_true(w->ntapes > 1000);
	return w;
}

static void
check_quiet(struct world *w, const struct picture before[2])
{
	for (int side = 0; side < 2; side++) {
		struct picture after = look(w, side);
		assert_int_equal(after.opened, before[side].opened);
		assert_int_equal(after.closed, before[side].closed);
		assert_int_equal(after.segments, before[side].segments);
		assert_int_equal(after.acks, before[side].acks);
		assert_int_equal(after.downs, before[side].downs);
		assert_int_equal(after.held, before[side].held);
	}
	run_ms(w, 100);
	send_n(w, 0, 1000, 100, 300);
	send_n(w, 1, 1000, 100, 300);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
	assert_true(w->s[0].up && w->s[1].up);
}

static void
replay(void **state)
{
	(void)state;
	struct world *w = recorded(21);
	struct picture before[2] = {look(w, 0), look(w, 1)};
	uint32_t n = w->ntapes;
	for (uint32_t i = 0; i < n; i++)
		deliver(w, !w->tape[i].from, w->tape[i].bytes, w->tape[i].len);
	check_quiet(w, before);
	world_free(w);
}

static void
reflection(void **state)
{
	(void)state;
	struct world *w = recorded(22);
	struct picture before[2] = {look(w, 0), look(w, 1)};
	uint32_t n = w->ntapes;
	for (uint32_t i = 0; i < n; i++)
		deliver(w, w->tape[i].from, w->tape[i].bytes, w->tape[i].len);
	check_quiet(w, before);
	world_free(w);

	/* The cookie of our own listener in our own OPEN: an attacker on the way can
	 * bring that about, and gets no path of us with ourselves. */
	w = world_new(23);
	world_start(w);
	open_from(w, 0);
	struct tape *t = caught(w, 0, SUCI_T_HELLO);
	deliver(w, 0, t->bytes, t->len);
	t = caught(w, 0, SUCI_T_COOKIE);
	deliver(w, 0, t->bytes, t->len);
	t = caught(w, 0, SUCI_T_OPEN);
	deliver(w, 0, t->bytes, t->len);
	assert_int_equal(suci_counters(w->l.ep[0])->drop_reflected, 1);
	assert_int_equal(suci_counters(w->l.ep[0])->paths_opened, 0);
	world_free(w);
}

/* Side 1 is started anew.  The old keys are worth nothing, and its RESET is believed only
 * after a question that it alone can answer. */
static void
old_incarnation(void **state)
{
	(void)state;
	struct world *w = recorded(31);
	uint32_t n = w->ntapes;
	LINK_GIVE(suci_fini(w->l.ep[1], w->l.now_ns));
	memset(&w->s[1], 0, sizeof w->s[1]);
	w->s[1].w = w;
	w->conf[1].incarnation += 1000;
	w->conf[1].cookie_secret[7] ^= 9; /* random in each run */
	w->l.ep[1] = link_endpoint(&w->conf[1], w->l.now_ns);
	/* Forged: not sealed, from the right place with the right tag. */
	send_n(w, 0, 0, 1, 100);
	struct tape *t = caught(w, 0, SUCI_T_DATA);
	uint8_t forged[SUCI_PATH_HDR + 4] = {SUCI_VERSION << 4 | SUCI_T_RESET};
	memcpy(forged + 4, t->bytes + 4, 4);
	deliver(w, 0, forged, sizeof forged);
	assert_true(w->s[0].up);
	assert_int_equal(suci_counters(w->l.ep[0])->drop_unsealed, 1);
	/* The real one, of an old datagram: asked again before it is believed. */
	deliver(w, 1, t->bytes, t->len);
	t = caught(w, 1, SUCI_T_RESET);
	flip_all(w, 0, t->bytes, t->len);
	for (int k = 0; k < 20; k++)
		deliver(w, 0, t->bytes, t->len);
	assert_true(w->s[0].up);
	run_ms(w, 200);
	assert_int_equal(w->s[0].downs, 1);
	assert_int_equal(w->s[0].why, SUCI_DOWN_RESET);
	/* The new path, and all of the old session once more. */
	open_from(w, 0);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	run_ms(w, 50);
	w->want = w->s[0].acked + w->s[1].acked;
	struct picture before[2] = {look(w, 0), look(w, 1)};
	for (uint32_t i = 0; i < n; i++) {
		deliver(w, !w->tape[i].from, w->tape[i].bytes, w->tape[i].len);
		deliver(w, 0, t->bytes, t->len);
	}
	check_quiet(w, before);
	world_free(w);
}

/* Where paths are sealed a stranger gets cookies and nothing else, whatever it sends. */
static void
strangers(void **state)
{
	(void)state;
	struct world *w = world_up(41);
	struct base_prng r = base_prng_seed(4);
	struct picture before = look(w, 1);
	for (uint32_t i = 0; i < 20000; i++) {
		uint8_t d[400];
		size_t len = base_prng_below(&r, sizeof d) + 1;
		for (size_t k = 0; k < len; k++)
			d[k] = (uint8_t)base_prng_next(&r);
		d[0] = (uint8_t)(SUCI_VERSION << 4 | base_prng_below(&r, 9));
		deliver(w, 1, d, len);
		struct suci_out out;
		while (suci_tx(w->l.ep[1], &out, w->l.now_ns)) {
			int type = out.head[0] & 15;
			assert_true(type == SUCI_T_COOKIE || type == SUCI_T_RESET);
			/* RESET only to what could be sealed */
			assert_true(type == SUCI_T_COOKIE || out.head[1] & SUCI_PF_SEALED);
		}
		w->l.now_ns += 100 * BASE_US_NS;
	}
	struct picture after = look(w, 1);
	assert_int_equal(before.opened, after.opened);
	assert_int_equal(before.closed, after.closed);
	assert_int_equal(before.segments, after.segments);
	world_free(w);
}

static bool with_psk[2] = {false, true};

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(bit_flips_of_the_handshake, &with_psk[0]),
		cmocka_unit_test_prestate(bit_flips_of_the_handshake, &with_psk[1]),
		cmocka_unit_test(keys_and_modes),
		cmocka_unit_test(crossing),
		cmocka_unit_test(refused),
		cmocka_unit_test(epochs),
		cmocka_unit_test(bit_flips),
		cmocka_unit_test(bit_flips_of_the_handshake),
		cmocka_unit_test(replay),
		cmocka_unit_test(reflection),
		cmocka_unit_test(old_incarnation),
		cmocka_unit_test(strangers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
