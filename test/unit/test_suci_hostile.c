/* SPDX-License-Identifier: BSD-2-Clause */
/* What somebody between or beside two ends can do to a path of theirs without the key, and for an
 * unsealed one without seeing it: nothing. */
#include "test_suci_path.h"

#include "driver/aead.h"

#define DELAY_NS (2 * BASE_MS_NS)

static struct pair *
pair_for(bool sealed)
{
	struct pair *t = pair_new(5, DELAY_NS);
	for (int side = 0; side < 2 && sealed; side++) {
		t->conf[side].limits.sealed_max = t->conf[side].limits.paths_max;
		t->conf[side].seal = (struct suci_seal_conf){
			.aead = seal_aes256gcm(),
			.key = {{.id = 11, .secret = {1, 2, 3}}},
			.nkeys = 1,
			.legs = 1,
			.seed = {7, (uint8_t)side},
		};
	}
	return t;
}

/* ---- ICMP: nobody is there ------------------------------------------------- */

static uint8_t last[2][2048];
static size_t last_len[2];

/* What each side sent last is what an error can quote. */
static bool
keep_last(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l;
	memcpy(last[from], bytes, len < sizeof last[from] ? len : sizeof last[from]);
	last_len[from] = len;
	return false;
}

static bool
keep_and_lose(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)keep_last(l, from, bytes, len);
	return true;
}

static void
nobody(struct pair *t, const uint8_t *quote, size_t len)
{
	suci_path_unreachable(t->l.ep[0], &t->l.addr[1], quote, len, t->l.now_ns);
}

/* With the peer alive, at any moment: also one that shows the right tag. */
static void
unreachable_and_alive(void **state)
{
	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		struct pair *t = pair_for(sealed);
		uint8_t wrong[64] = {SUCI_VERSION << 4};
		t->l.filter = keep_last;
		for (int side = 0; side < 2; side++)
			t->l.ep[side] = link_endpoint(&t->conf[side], t->l.now_ns);
		assert_int_equal(suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &t->s[0].path,
						t->l.now_ns),
				 0);
		for (int i = 0; i < 40; i++) {
			pair_run(t, DELAY_NS / 4);
			nobody(t, last[0], last_len[0]);
			nobody(t, wrong, sizeof wrong);
			nobody(t, last[0], 8);
			nobody(t, NULL, 0);
		}
		assert_true(pair_both_up(t));
		assert_true(pair_count(t, 0)->drop_quote >= 120);
		t->want = 2000;
		pair_send(t, 0, 2000, 1000);
		for (int i = 0; i < 4000 && !pair_all_acked(t); i++) {
			pair_run(t, DELAY_NS / 4);
			nobody(t, last[0], last_len[0]);
		}
		assert_true(pair_all_acked(t));
		assert_int_equal(t->s[0].downs, 0);
		pair_free(t);
	}
}

/* Dead, and one error after the first datagram is all there is (they are rate limited): soon.
 * A forged one that shows another tag makes nothing of silence. */
static void
unreachable_and_dead(void **state)
{
	(void)state;
	for (int forged = 0; forged < 2; forged++) {
		struct pair *t = pair_for(false);
		uint8_t quote[64];
		t->l.filter = keep_last;
		pair_start(t);
		pair_run(t, BASE_S_NS);
		t->l.filter = keep_and_lose;
		pair_send(t, 0, 1, 100);
		pair_run(t, 1);
		uint32_t tag = be32_load(last[0] + 4);
		memcpy(quote, last[0], sizeof quote);
		be32_store(quote + 4, tag ^ (forged ? 0x40000u : 0));
		nobody(t, quote, sizeof quote);
		assert_int_equal(t->s[0].downs, 0);
		pair_run(t, 300 * BASE_MS_NS);
		assert_int_equal(t->s[0].downs, !forged);
		if (!forged)
			assert_int_equal(t->s[0].why, SUCI_DOWN_UNREACHABLE);
		assert_int_equal(pair_count(t, 0)->drop_quote, forged);
		pair_free(t);
	}
}

/* ---- RESET: who can make one --------------------------------------------------- */

/* Side 0 has its datagrams on a tape. */
static struct tape {
	uint8_t bytes[2048];
	size_t len;
} tape[64];
static uint32_t ntape;

static bool
to_tape(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l;
	if (from == 0 && (bytes[0] & 15) == SUCI_T_DATA && len <= sizeof tape[0].bytes) {
		struct tape *t = &tape[ntape++ % 64];
		memcpy(t->bytes, bytes, len);
		t->len = len;
	}
	return false;
}

/* The RESET that an end makes of a datagram with the seal tag of q; 0: it makes none. */
static size_t
oracle(struct suci *ep, const struct suci_addr *from, const struct tape *q, uint32_t tag,
       size_t len, uint64_t now_ns, uint8_t out[2048])
{
	uint8_t d[2048] = {SUCI_VERSION << 4 | SUCI_T_DATA, SUCI_PF_SEALED};
	struct suci_out o;
	be32_store(d + 4, tag);
	memcpy(d + len - SUCI_SEAL_TAG, q->bytes + q->len - SUCI_SEAL_TAG, SUCI_SEAL_TAG);
	suci_rx(ep, from, d, len, 0, now_ns);
	size_t n = 0;
	/* Nothing else is to be lost: only what goes to that address is looked at. */
	while (suci_tx(ep, &o, now_ns))
		if (!memcmp(&o.to, from, sizeof o.to) && (o.head[0] & 15) == SUCI_T_RESET)
			n = link_flatten(&o, out);
	assert_true(n <= len);
	return n;
}

/* Whatever side 0 sends while it waits for an answer, an oracle makes a RESET of it at once: side 0
 * itself, or a third end with the same key.  Something is always under way, long enough for many
 * questions one after the other. */
static void
reset_oracle(void **state)
{
	(void)state;
	for (int third = 0; third < 2; third++) {
		struct pair *t = pair_for(true);
		struct suci_addr stranger = link_addr(30);
		uint8_t reset[2048];
		uint64_t made = 0;
		pair_start(t);
		struct suci_config c = t->conf[1];
		c.incarnation = 4711;
		struct suci *oracles = third ? link_endpoint(&c, t->l.now_ns) : t->l.ep[0];
		t->l.filter = to_tape;
		ntape = 0;
		for (int i = 0; i < 15000; i++) {
			uint32_t seen = ntape;
			if (i % 100 == 0 && i < 14000)
				pair_send(t, 0, 4, 100);
			link_run(&t->l, t->l.now_ns + 20 * BASE_US_NS, NULL, NULL);
			for (; seen < ntape; seen++) {
				const struct tape *q = &tape[seen % 64];
				uint32_t tag = be32_load(q->bytes + 4);
				size_t n =
					oracle(oracles, &stranger, q, tag, 100, t->l.now_ns, reset);
				made += n > 0;
				if (n)
					link_deliver(&t->l, link_dgram(0, &t->l.addr[1], reset, n));
			}
		}
		assert_true(made >= 10);
		assert_true(third || pair_count(t, 0)->drop_reflected >= 10);
		assert_int_equal(t->s[0].downs, 0);
		assert_int_equal(t->s[0].acked, 4 * 140);
		if (third)
			LINK_GIVE(suci_fini(oracles, t->l.now_ns));
		pair_free(t);
	}
}

/* Questions of every length: no answer is longer. */
static void
reset_no_longer(void **state)
{
	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		struct pair *t = pair_for(sealed);
		struct suci_addr stranger = link_addr(30);
		uint32_t answers = 0;
		pair_start(t);
		for (size_t len = SUCI_PATH_HDR; len < 200; len++) {
			uint8_t d[200] = {SUCI_VERSION << 4, sealed ? SUCI_PF_SEALED : 0};
			struct suci_out o;
			d[7] = 0xee; /* a tag of nobody */
			suci_rx(t->l.ep[1], &stranger, d, len, 0, t->l.now_ns);
			while (suci_tx(t->l.ep[1], &o, t->l.now_ns)) {
				answers++;
				assert_true(suci_out_len(&o) <= len);
			}
			t->l.now_ns += 10 * BASE_MS_NS;
		}
		assert_true(answers > 100);
		pair_free(t);
	}
}

/* Side 1, without its memory. */
static void
pair_restart_peer(struct pair *t)
{
	LINK_GIVE(suci_fini(t->l.ep[1], t->l.now_ns));
	link_drop_wire(&t->l);
	t->conf[1].incarnation += 1000;
	t->conf[1].cookie_secret[5] ^= 9;
	t->l.ep[1] = link_endpoint(&t->conf[1], t->l.now_ns);
}

/* And still: a peer that was started anew is found out by its RESET, soon, whether data or only
 * a keepalive tell. */
static void
reset_of_a_new_life(void **state)
{
	(void)state;
	for (int k = 0; k < 4; k++) {
		bool sealed = k & 1, idle = k & 2;
		struct pair *t = pair_for(sealed);
		t->conf[0].keepalive_ns = 100 * BASE_MS_NS;
		pair_start(t);
		t->want = 50;
		pair_send(t, 0, 50, 1000);
		pair_run(t, BASE_S_NS);
		pair_restart_peer(t);
		uint64_t latest =
			t->l.now_ns + (idle ? 100 * BASE_MS_NS : 0) + (sealed ? 16 : 4) * DELAY_NS;
		if (!idle)
			pair_send(t, 0, 1, 100);
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[0].downs, 1);
		assert_int_equal(t->s[0].why, SUCI_DOWN_RESET);
		assert_true(t->s[0].down_ns < latest);
		pair_free(t);
	}
}

/* All that is missing is shorter than a RESET and fills the window: no answer would come to it, and
 * no datagram more may be under way. */
static void
reset_under_a_full_window(void **state)
{
	enum { WINDOW = 4 };
	(void)state;
	struct pair *t = pair_for(true);
	t->conf[0].limits.window_max = WINDOW;
	pair_start(t);
	t->want = 50;
	pair_send(t, 0, 50, 1);
	pair_run(t, BASE_S_NS);
	assert_int_equal(t->s[0].acked, 50);
	pair_restart_peer(t);
	pair_send(t, 0, 2 * WINDOW, 1);
	for (uint32_t ms = 0; ms < 1000 && !t->s[0].downs; ms++) {
		assert_true(pair_info(t, 0).in_flight <= WINDOW);
		pair_run(t, BASE_MS_NS);
	}
	assert_int_equal(t->s[0].downs, 1);
	assert_int_equal(t->s[0].why, SUCI_DOWN_RESET);
	pair_free(t);
}

/* The same window, and the peer lives but hears nothing for a while: nothing is lost by it. */
static void
silence_under_a_full_window(void **state)
{
	enum { WINDOW = 4 };
	(void)state;
	struct pair *t = pair_for(true);
	t->conf[0].limits.window_max = WINDOW;
	pair_start(t);
	pair_run(t, BASE_S_NS);
	t->l.filter = keep_and_lose;
	pair_send(t, 0, 3 * WINDOW, 1);
	for (uint32_t ms = 0; ms < 500; ms++) {
		assert_true(pair_info(t, 0).in_flight <= WINDOW);
		pair_run(t, BASE_MS_NS);
	}
	t->l.filter = NULL;
	t->want = 3 * WINDOW;
	pair_run(t, 5 * BASE_S_NS);
	assert_int_equal(t->s[0].acked, 3 * WINDOW);
	assert_int_equal(t->s[0].downs, 0);
	pair_free(t);
}

static uint32_t handed_on;

static void
forge(struct link *l, int to, const struct suci_addr *from, const uint8_t *bytes, size_t len)
{
	struct dgram *d = link_dgram(to, from, bytes, len);
	d->at_ns = l->now_ns;
	link_insert(l, d);
	handed_on++;
}

/* ---- opening ------------------------------------------------------------------- */

static uint8_t heard_open[2048], heard_cookie[2048];
static size_t heard_open_len, heard_cookie_len;
static uint32_t opens, hellos_again;

/* Keeps the first OPEN; no OPEN gets through. */
static bool
hold_opens(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l, (void)from;
	if ((bytes[0] & 15) != SUCI_T_OPEN)
		return false;
	if (!heard_open_len) {
		memcpy(heard_open, bytes, len);
		heard_open_len = len;
	}
	return true;
}

/* What was held back, or recorded, comes when the same opener has made another path: it ends
 * nothing. */
static void
an_open_that_is_late(void **state)
{
	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		struct pair *t = pair_for(sealed);
		uint32_t path;
		heard_open_len = 0;
		t->l.filter = hold_opens;
		pair_make(t);
		assert_int_equal(
			suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &path, t->l.now_ns), 0);
		pair_run(t, 100 * BASE_MS_NS);
		assert_true(heard_open_len);
		suci_path_close(t->l.ep[0], path, "", t->l.now_ns);
		pair_run(t, 100 * BASE_MS_NS);
		uint32_t downs = t->s[0].downs;
		t->l.filter = NULL;
		pair_open(t);
		uint64_t dropped = pair_count(t, 1)->drop_incarnation;
		link_deliver(&t->l, link_dgram(1, &t->l.addr[0], heard_open, heard_open_len));
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[0].downs, downs);
		assert_int_equal(t->s[1].downs, 0);
		assert_int_equal(pair_count(t, 1)->drop_incarnation, dropped + 1);
		t->want = 10;
		pair_send(t, 0, 10, 100);
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[0].acked, 10);
		pair_free(t);
	}
}

/* Side 1 takes the open and its ACCEPTs are lost.  So side 0 begins again with HELLO, and somebody
 * answers that faster, as another life of side 1. */
static bool
answer_hello(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	int type = bytes[0] & 15;
	if (type == SUCI_T_COOKIE && !heard_cookie_len) {
		memcpy(heard_cookie, bytes, len);
		heard_cookie_len = len;
	}
	opens += type == SUCI_T_OPEN;
	if (type == SUCI_T_HELLO && opens >= 4 && !hellos_again++) {
		struct suci_addr peer = l->addr[1];
		heard_cookie[SUCI_PATH_HDR + 15] ^= 1; /* the last byte of incarnation */
		forge(l, 0, &peer, heard_cookie, heard_cookie_len);
	}
	return from == 1 && type == SUCI_T_ACCEPT && hellos_again < 2;
}

static void
a_false_cookie_makes_no_second_open(void **state)
{
	(void)state;
	struct pair *t = pair_for(true);
	uint32_t path;
	opens = hellos_again = 0;
	heard_cookie_len = 0;
	t->l.filter = answer_hello;
	pair_make(t);
	assert_int_equal(suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &path, t->l.now_ns), 0);
	pair_run(t, 20 * BASE_S_NS);
	assert_true(hellos_again >= 2);
	assert_int_equal(t->s[0].ups, 1);
	assert_int_equal(t->s[1].ups, 1);
	assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
	pair_free(t);
}

/* ---- moving: who hands datagrams on ------------------------------------------- */

static bool answers_lost;

/* Between the two, and faster than they: what side 0 sends is at side 1 from its address first. Its
 * own answers to a challenge may get lost; then only what else it sends shows where it is. */
static bool
hand_on(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct suci_addr mine = link_addr(30);
	int type = bytes[0] & 15;
	if (from == 0 && (type == SUCI_T_DATA || type == SUCI_T_RESPONSE))
		forge(l, 1, &mine, bytes, len);
	return answers_lost && from == 0 && type == SUCI_T_RESPONSE;
}

static void
hand_back(struct link *l, int from, const struct suci_addr *to, const uint8_t *bytes, size_t len)
{
	struct suci_addr mine = link_addr(30);
	assert_memory_equal(to, &mine, sizeof mine);
	forge(l, !from, &l->addr[from], bytes, len);
}

static void
move_to_a_forwarder(void **state)
{
	(void)state;
	for (int k = 0; k < 4; k++) {
		bool idle = k & 1;
		answers_lost = k & 2;
		struct pair *t = pair_for(true);
		t->conf[1].migrate = true;
		t->conf[0].keepalive_ns = t->conf[1].keepalive_ns = 50 * BASE_MS_NS;
		pair_start(t);
		pair_run(t, BASE_S_NS);
		t->l.filter = hand_on;
		t->l.elsewhere = hand_back;
		handed_on = 0;
		t->want = idle ? 0 : 3000;
		pair_send(t, 0, t->want, 1000);
		pair_run(t, 10 * BASE_S_NS);
		assert_true(handed_on > 100);
		assert_true(pair_count(t, 1)->moves_denied > 0);
		assert_int_equal(t->s[1].moves, 0);
		assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
		assert_int_equal(t->s[0].acked, t->want);
		pair_free(t);
	}
}

/* ---- forged datagrams ------------------------------------------------------------ */

/* Not for ever under one key (RFC 9001 section 6.6). */
static void
forgeries(void **state)
{
	(void)state;
	struct pair *t = pair_for(true);
	t->conf[1].seal.forgeries_max = 1000;
	pair_start(t);
	pair_run(t, BASE_S_NS);
	t->l.filter = to_tape;
	ntape = 0;
	pair_send(t, 0, 1, 100);
	pair_run(t, BASE_S_NS);
	assert_int_equal(t->s[0].acked, 1);
	for (uint32_t i = 1; i <= 1000; i++) {
		uint8_t d[2048];
		memcpy(d, tape[0].bytes, tape[0].len);
		be32_store(d + 8, 100 + i);
		link_deliver(&t->l, link_dgram(1, &t->l.addr[0], d, tape[0].len));
		assert_int_equal(t->s[1].downs, i == 1000);
	}
	assert_int_equal(pair_count(t, 1)->drop_seal, 1000);
	assert_int_equal(t->s[1].why, SUCI_DOWN_STALE);
	t->l.filter = NULL;
	pair_run(t, BASE_S_NS);
	assert_int_equal(t->s[0].why, SUCI_DOWN_STALE); /* told, and it may open again */
	pair_free(t);
}

/* Nor is a key used for ever by one whose peer does not go on to the next. */
static bool
no_answer(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l, (void)bytes, (void)len;
	return from == 1;
}

/* What waits for its turn when the key ends is not sealed any more either: link_pump() checks that
 * each datagram which is given out can be. */
static void
key_used_up(void **state)
{
	(void)state;
	for (int queued = 0; queued < 2; queued++) {
		struct pair *t = pair_for(true);
		t->conf[0].seal.epoch = 16;
		t->conf[0].seal.packets_max = 64;
		t->conf[0].initial_window = 256;
		pair_start(t);
		pair_run(t, BASE_S_NS);
		t->l.filter = no_answer;
		uint64_t before = t->l.sent[0];
		for (uint32_t i = 0; queued && i < 200; i++) {
			struct suci_segment seg = {
				.seq = i, .cookie = i, .data = t->payload, .data_len = 100};
			assert_int_equal(
				suci_path_send(t->l.ep[0], t->s[0].path, &seg, t->l.now_ns), 0);
		}
		pair_send(t, 0, queued ? 0 : 1000, 100);
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[0].why, SUCI_DOWN_STALE);
		assert_true(t->l.sent[0] - before <= 64 + 8); /* and CLOSE */
		pair_free(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unreachable_and_alive),
		cmocka_unit_test(unreachable_and_dead),
		cmocka_unit_test(reset_oracle),
		cmocka_unit_test(reset_no_longer),
		cmocka_unit_test(reset_of_a_new_life),
		cmocka_unit_test(reset_under_a_full_window),
		cmocka_unit_test(silence_under_a_full_window),
		cmocka_unit_test(an_open_that_is_late),
		cmocka_unit_test(a_false_cookie_makes_no_second_open),
		cmocka_unit_test(move_to_a_forwarder),
		cmocka_unit_test(forgeries),
		cmocka_unit_test(key_used_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
