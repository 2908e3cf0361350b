/* SPDX-License-Identifier: BSD-2-Clause */
/* A player in the place of an endpoint, against an endpoint that does not know: it goes on
 * where the other was, keeps to window and credit, acknowledges all that comes, and what is lost
 * stays lost.  All of it over a sealed path, too, under keys that change on the way. */
#include "test_suci_path.h"

#include "player.h"
#include "sealed.h"

#include "../toy_aead.h"

#define WARM  300u
#define BYTES 100u

struct rig {
	struct pair *t;
	struct pg_player *p;
	struct suci *rests; /* the endpoint of side 0, when played */
	bool played, sealed;
	uint32_t lose; /* of the peer's datagrams to the player, from now on */
	uint32_t next, got;
	uint8_t tag[4]; /* of our end, as the peer writes it */
	uint32_t most_held;
};

static struct rig *rig; /* for look_on() */

#define EPOCH 100 /* datagrams under one key */

/* What came over a sealed path, opened in a copy; 0: nothing of it. */
static size_t
open_copy(struct rig *r, const uint8_t *bytes, size_t len, uint8_t *plain)
{
	struct link *l = &r->t->l;
	memcpy(plain, bytes, len);
	return r->played ? pg_sealed_open(r->rests, r->t->s[0].path, plain, len)
			 : pg_sealed_through(l->ep[0], &l->addr[1], plain, len, 0, l->now_ns);
}

static bool
look_on(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct pair *t = l->arg;
	struct rig *r = rig;
	struct suci_segment seg;
	uint8_t plain[2000];
	bool opens = from == 1 && r->sealed && (bytes[0] & 15) == SUCI_T_DATA;
	if (from == 0) {
		pg_player_saw(r->p, bytes, len);
		return false;
	}
	memcpy(r->tag, bytes + 4, 4);
	if (r->played && r->lose) {
		r->lose--;
		return true;
	}
	if (opens) {
		len = open_copy(r, bytes, len, plain);
		bytes = plain;
	}
	if (!r->played) {
		if (len)
			(void)pg_player_rx(r->p, bytes, len, l->now_ns, &seg);
		return opens; /* it went through already */
	}
	if (!pg_player_mine(r->p, bytes, len))
		return true;
	if (pg_player_rx(r->p, bytes, len, l->now_ns, &seg)) {
		t->s[0].seen[seg.seq]++;
		assert_int_equal(seg.data_len, BYTES);
		r->got++;
	}
	return true; /* it never gets to the endpoint */
}

static struct rig *
rig_new(const struct pg_player_conf *conf, uint32_t peer_credit)
{
	struct rig *r = calloc(1, sizeof *r);
	assert_non_null(r);
	rig = r;
	r->t = pair_new(5, 20 * BASE_US_NS);
	r->p = pg_player_new(aligned_alloc(64, pg_player_size()), conf);
	r->t->conf[1].credit = peer_credit;
	r->sealed = conf->sealed;
	for (int side = 0; side < 2 && r->sealed; side++) {
		r->t->conf[side].limits.sealed_max = r->t->conf[side].limits.paths_max;
		r->t->conf[side].seal = (struct suci_seal_conf){.aead = toy_aead(),
								.key = {{.id = 11, .secret = {1}}},
								.nkeys = 1,
								.legs = 1,
								.epoch = EPOCH,
								.seed = {7, (uint8_t)side}};
	}
	r->t->l.filter = look_on;
	pair_start(r->t);
	return r;
}

static void
rig_free(struct rig *r)
{
	r->t->l.ep[0] = r->rests ? r->rests : r->t->l.ep[0];
	pair_free(r->t);
	free(r->p);
	free(r);
}

/* Both ends send with their endpoints; then the player has side 0. */
static void
take_over(struct rig *r)
{
	struct pair *t = r->t;
	assert_false(pg_player_ready(r->p));
	pair_send(t, 0, WARM, BYTES);
	pair_send(t, 1, WARM, BYTES);
	pair_run(t, 200 * BASE_MS_NS);
	assert_int_equal(t->s[0].acked, WARM);
	assert_int_equal(t->s[1].acked, WARM);
	assert_int_equal(suci_held(t->l.ep[0]), 0);
	assert_true(pg_player_ready(r->p));
	pg_player_begin(r->p);
	assert_int_equal(pg_player_held(r->p), 0);
	r->played = true;
	r->next = WARM;
	r->rests = t->l.ep[0];
	t->l.ep[0] = NULL;
}

static void
to_peer(struct rig *r, const uint8_t *bytes, size_t len, uint32_t held)
{
	/* Of its own: the sanitizer sees what is read too far. */
	uint8_t *copy = malloc(len + (r->sealed ? SUCI_SEAL_TAG : 0));
	assert_non_null(copy);
	memcpy(copy, bytes, len);
	if (r->sealed) {
		len = pg_sealed_close(r->rests, r->t->s[0].path, copy, len, held);
		assert_true(len > SUCI_SEAL_TAG);
	}
	suci_rx(r->t->l.ep[1], &r->t->l.addr[0], copy, len, 0, r->t->l.now_ns);
	free(copy);
}

/* Up to n segments, as far as it may, and what acks are due. */
static uint32_t
play(struct rig *r, uint32_t n)
{
	uint8_t bytes[PG_PLAYER_ACK_MAX + 2000];
	uint32_t sent = 0;
	size_t len = pg_player_ack(r->p, bytes, r->t->l.now_ns);
	if (len) {
		assert_true(len <= PG_PLAYER_ACK_MAX);
		to_peer(r, bytes, len, pg_player_held(r->p));
	}
	while (sent < n && pg_player_may(r->p)) {
		struct suci_segment seg = {.seq = r->next++};
		uint32_t held = pg_player_held(r->p);
		len = pg_player_head(r->p, &seg, bytes, r->t->l.now_ns);
		memcpy(bytes + len, r->t->payload, BYTES);
		to_peer(r, bytes, len + BYTES, held);
		sent++;
	}
	if (pg_player_held(r->p) > r->most_held)
		r->most_held = pg_player_held(r->p);
	return sent;
}

static void
play_all(struct rig *r, uint32_t n, uint32_t turns)
{
	while (n && turns--) {
		n -= play(r, n);
		pair_run(r->t, 30 * BASE_US_NS);
	}
	assert_int_equal(n, 0);
	for (uint32_t i = 0; i < 200; i++) {
		(void)play(r, 0);
		pair_run(r->t, 100 * BASE_US_NS);
	}
}

static void
assert_each_once(const struct rig *r, int side, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(r->t->s[side].seen[i], i < WARM && side == 0 ? 0 : 1);
}

static const struct pg_player_conf wide = {
	.window = 64, .credit = 512, .ack_every = 16, .ack_wait_ns = 20 * BASE_US_NS};

static void
it_goes_on_where_the_endpoint_was(void **state)
{
	struct rig *r = rig_new(&wide, 1024);
	(void)state;
	take_over(r);
	play_all(r, 5000, 5000);
	assert_int_equal(r->t->s[1].segments, WARM + 5000);
	assert_each_once(r, 1, WARM + 5000);
	assert_int_equal(pg_player_held(r->p), 0);
	assert_int_equal(r->most_held, 64); /* the window was used, and kept */
	assert_int_equal(pair_count(r->t, 1)->drop_duplicate_pn, 0);
	assert_int_equal(pair_count(r->t, 1)->drop_bad_ack, 0);
	assert_int_equal(pg_player_counts(r->p)->bad, 0);
	assert_int_equal(pg_player_counts(r->p)->bad_acks, 0);
	rig_free(r);
}

static const struct pg_player_conf sealed = {.sealed = true,
					     .window = 64,
					     .credit = 512,
					     .ack_every = 16,
					     .ack_wait_ns = 20 * BASE_US_NS};

/* The peer opens each, acknowledges it, and follows to the next key again and again; in the end
 * the endpoint closes the path that it has not seen for so long. */
static void
it_goes_on_sealed(void **state)
{
	struct rig *r = rig_new(&sealed, 1024);
	(void)state;
	take_over(r);
	assert_true(pg_sealed_is(r->rests, r->t->s[0].path));
	uint64_t keys = pair_count(r->t, 1)->tx_rekeys;
	play_all(r, 5000, 5000);
	assert_each_once(r, 1, WARM + 5000);
	assert_int_equal(pg_player_held(r->p), 0);
	assert_int_equal(pair_count(r->t, 1)->drop_seal, 0);
	assert_int_equal(pair_count(r->t, 1)->drop_duplicate_pn, 0);
	assert_int_equal(pair_count(r->t, 1)->drop_bad_ack, 0);
	assert_true(pair_count(r->t, 1)->tx_rekeys > keys + 5);
	assert_int_equal(suci_counters(r->rests)->drop_seal, 0);
	r->t->l.ep[0] = r->rests;
	r->rests = NULL;
	suci_path_close(r->t->l.ep[0], r->t->s[0].path, "done", r->t->l.now_ns);
	pair_run(r->t, 10 * BASE_MS_NS);
	assert_int_equal(r->t->s[1].downs, 1);
	assert_string_equal(r->t->s[1].text, "done");
	rig_free(r);
}

/* One bit of what comes is another, or it comes a second time: it counts for nothing. */
static void
what_is_not_authentic_is_not_opened(void **state)
{
	struct rig *r = rig_new(&sealed, 1024);
	uint8_t dgram[SUCI_PATH_HDR + SUCI_LANE_HDR + BYTES + SUCI_SEAL_TAG] = {0};
	(void)state;
	take_over(r);
	uint32_t path = r->t->s[0].path;
	dgram[0] = SUCI_VERSION << 4 | SUCI_T_DATA;
	dgram[1] = SUCI_PF_SEALED;
	memcpy(dgram + 4, r->tag, 4);
	be32_store(dgram + 8, 100000);
	assert_int_equal(pg_sealed_open(r->rests, path, dgram, sizeof dgram), 0);
	assert_int_equal(suci_counters(r->rests)->drop_seal, 1);
	dgram[4] ^= 1; /* of another path: not even looked at */
	assert_int_equal(pg_sealed_open(r->rests, path, dgram, sizeof dgram), 0);
	assert_int_equal(pg_sealed_open(r->rests, path, dgram, SUCI_PATH_HDR - 1), 0);
	assert_int_equal(pg_sealed_open(r->rests, path + 1, dgram, sizeof dgram), 0);
	assert_int_equal(suci_counters(r->rests)->drop_seal, 1);
	rig_free(r);
}

static void
it_acknowledges_sealed(void **state)
{
	struct rig *r = rig_new(&sealed, 1024);
	(void)state;
	take_over(r);
	uint64_t again = pair_count(r->t, 1)->tx_retransmits;
	pair_send(r->t, 1, 4000, BYTES);
	play_all(r, 0, 0);
	for (uint32_t i = 0; i < 2000 && r->t->s[1].acked < WARM + 4000; i++) {
		(void)play(r, 0);
		pair_run(r->t, 50 * BASE_US_NS);
	}
	assert_int_equal(r->got, 4000);
	assert_int_equal(r->t->s[1].acked, WARM + 4000);
	assert_int_equal(pair_count(r->t, 1)->tx_retransmits, again);
	assert_int_equal(suci_counters(r->rests)->drop_seal, 0);
	rig_free(r);
}

static void
it_acknowledges_what_comes(void **state)
{
	struct rig *r = rig_new(&wide, 1024);
	(void)state;
	take_over(r);
	uint64_t again = pair_count(r->t, 1)->tx_retransmits;
	pair_send(r->t, 1, 4000, BYTES);
	play_all(r, 0, 0);
	for (uint32_t i = 0; i < 2000 && r->t->s[1].acked < WARM + 4000; i++) {
		(void)play(r, 0);
		pair_run(r->t, 50 * BASE_US_NS);
	}
	assert_int_equal(r->got, 4000);
	assert_int_equal(r->t->s[1].acked, WARM + 4000);
	assert_int_equal(pair_count(r->t, 1)->tx_retransmits, again);
	/* Not one for each. */
	assert_in_range(pg_player_counts(r->p)->acks_sent, 4, 4000 / 16);
	rig_free(r);
}

static void
it_keeps_to_the_peers_credit(void **state)
{
	struct rig *r = rig_new(&wide, 10);
	(void)state;
	take_over(r);
	play_all(r, 1000, 20000);
	assert_int_equal(r->most_held, 10);
	assert_each_once(r, 1, WARM + 1000);
	rig_free(r);
}

/* The only ack that raised the limit is lost: it asks, and goes on. */
static void
a_lost_limit_is_asked_for(void **state)
{
	struct rig *r = rig_new(&wide, 10);
	(void)state;
	take_over(r);
	assert_int_equal(play(r, 100), 10);
	pair_run(r->t, 5 * BASE_MS_NS);
	assert_true(pg_player_may(r->p) > 0);
	r->lose = 1000000;
	uint32_t n = play(r, 100);
	assert_in_range(n, 1, 10);
	pair_run(r->t, 5 * BASE_MS_NS);
	assert_int_equal(pg_player_may(r->p), 0);
	r->lose = 0;
	/* What was acknowledged meanwhile shows with the next ack; nothing is sent twice. */
	play_all(r, 0, 0);
	assert_int_equal(r->t->s[1].segments, WARM + 10 + n);
	rig_free(r);
}

static void
what_is_lost_stays_lost(void **state)
{
	struct rig *r = rig_new(&wide, 1024);
	uint8_t gone[200];
	(void)state;
	take_over(r);
	(void)play(r, 20);
	struct suci_segment seg = {.seq = r->next++};
	(void)pg_player_head(r->p, &seg, gone, r->t->l.now_ns); /* never sent */
	for (uint32_t i = 0; i < 500; i++) {
		(void)play(r, 100);
		pair_run(r->t, 50 * BASE_US_NS);
	}
	assert_int_equal(r->t->s[1].seen[WARM + 20], 0);
	assert_int_equal(pg_player_held(r->p), 64); /* it stands still */
	rig_free(r);
}

/* One for another path, one cut short, one that acknowledges what was not sent, a copy. */
static void
what_is_no_datagram_of_the_path_has_no_effect(void **state)
{
	struct rig *r = rig_new(&wide, 1024);
	struct suci_segment seg;
	uint8_t d[SUCI_PATH_HDR + SUCI_ACK_HDR] = {SUCI_VERSION << 4, SUCI_PF_BARE, 0,
						   SUCI_ACK_HDR};
	uint64_t now = r->t->l.now_ns;
	(void)state;
	take_over(r);
	assert_false(pg_player_mine(r->p, d, sizeof d)); /* tag 0 */
	assert_false(pg_player_rx(r->p, d, sizeof d, now, &seg));
	assert_false(pg_player_rx(r->p, d, 15, now, &seg));
	assert_int_equal(pg_player_counts(r->p)->bad, 2);
	assert_int_equal(play(r, 3), 3);
	memcpy(d + 4, r->tag, 4);
	be32_store(d + SUCI_PATH_HDR, 1000000);
	be16_store(d + SUCI_PATH_HDR + 14, 1);
	assert_true(pg_player_mine(r->p, d, sizeof d));
	assert_false(pg_player_rx(r->p, d, sizeof d, now, &seg));
	assert_int_equal(pg_player_counts(r->p)->bad_acks, 1);
	assert_int_equal(pg_player_held(r->p), 3);
	uint8_t first[SUCI_PATH_HDR + SUCI_LANE_HDR] = {SUCI_VERSION << 4};
	memcpy(first + 4, r->tag, 4);
	be32_store(first + 8, 1); /* the endpoint had it */
	assert_false(pg_player_rx(r->p, first, sizeof first, now, &seg));
	assert_int_equal(pg_player_counts(r->p)->copies, 1);
	be32_store(first + 8, 100000);
	assert_true(pg_player_rx(r->p, first, sizeof first, now, &seg));
	rig_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_goes_on_where_the_endpoint_was),
		cmocka_unit_test(it_acknowledges_what_comes),
		cmocka_unit_test(it_goes_on_sealed),
		cmocka_unit_test(it_acknowledges_sealed),
		cmocka_unit_test(what_is_not_authentic_is_not_opened),
		cmocka_unit_test(it_keeps_to_the_peers_credit),
		cmocka_unit_test(a_lost_limit_is_asked_for),
		cmocka_unit_test(what_is_lost_stays_lost),
		cmocka_unit_test(what_is_no_datagram_of_the_path_has_no_effect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
