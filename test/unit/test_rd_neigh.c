/* SPDX-License-Identifier: BSD-2-Clause */
/* The neighbour table in virtual time. */
#include "cmocka_all.h"

#include "rd/neigh.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define RETRY  (100 * BASE_MS_NS)
#define EXPIRY (10 * BASE_S_NS)

struct net {
	struct rd_neigh *n;
	void *mem;
	uint32_t requests, last_ip, unicasts;
	uint32_t sent, dropped, gone, gone_ip;
	uintptr_t sent_packet[64];
	uint8_t sent_mac[6];
	uint32_t contests, moves, owed;
	/* Stations that answer for ip 7 at once, if asked: 0 or more of these. */
	const uint8_t *answers[2];
	uint64_t now;
};

static void
on_request(void *user, uint32_t ip, const uint8_t *mac)
{
	struct net *t = user;
	t->requests++;
	t->unicasts += mac != NULL;
	t->last_ip = ip;
	for (int i = 0; i < 2; i++)
		if (t->answers[i] && (!mac || memcmp(mac, t->answers[i], 6) == 0))
			t->owed |= 1u << i;
}

static void
on_send(void *user, void *packet, const uint8_t mac[6])
{
	struct net *t = user;
	t->sent_packet[t->sent++ % 64] = (uintptr_t)packet;
	memcpy(t->sent_mac, mac, 6);
}

static void
on_drop(void *user, void *packet)
{
	struct net *t = user;
	assert_non_null(packet);
	t->dropped++;
}

static void
on_gone(void *user, uint32_t ip)
{
	struct net *t = user;
	t->gone++;
	t->gone_ip = ip;
}

static void
on_contested(void *user, uint32_t ip, const uint8_t known[6], const uint8_t claim[6])
{
	struct net *t = user;
	(void)ip;
	assert_memory_not_equal(known, claim, 6);
	t->contests++;
}

static void
on_moved(void *user, uint32_t ip, const uint8_t mac[6])
{
	struct net *t = user;
	(void)ip;
	(void)mac;
	t->moves++;
}

static const struct rd_neigh_ops ops = {on_request, on_send,	  on_drop,
					on_gone,    on_contested, on_moved};
static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa}, mac_b[6] = {2, 0, 0, 0, 0, 0xb};

static void
up(struct net *t, uint32_t entries, uint32_t pending)
{
	struct rd_neigh_conf c = {.entries = entries,
				  .pending = pending,
				  .tries = 3,
				  .retry_ns = RETRY,
				  .expiry_ns = EXPIRY,
				  .ops = &ops,
				  .user = t};
	*t = (struct net){.now = BASE_S_NS};
	t->mem = malloc(rd_neigh_footprint(&c));
	t->n = rd_neigh_new(t->mem, &c);
	assert_non_null(t->n);
}

static void
down(struct net *t)
{
	free(rd_neigh_fini(t->n));
}

static void *
pkt(uintptr_t i)
{
	return (void *)i;
}

static void
answer(struct net *t)
{
	while (t->owed) {
		uint32_t i = t->owed & 1 ? 0 : 1;
		t->owed &= ~(1u << i);
		rd_neigh_learn(t->n, 7, t->answers[i], RD_NEIGH_ANSWERS, t->now);
	}
}

/* Let time pass, ticking only when the table asks for it. */
static void
pass_time(struct net *t, uint64_t ns)
{
	uint64_t until = t->now + ns;
	answer(t);
	while (rd_neigh_expiry_ns(t->n) <= until) {
		uint64_t at = rd_neigh_expiry_ns(t->n);
		t->now = at > t->now ? at : t->now;
		rd_neigh_tick(t->n, t->now);
		assert_true(rd_neigh_expiry_ns(t->n) > t->now); /* never busy */
		answer(t);
	}
	t->now = until;
}

static void
resolves_and_sends_what_waited(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 8, 4);
	assert_false(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(1), t.now));
	assert_false(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(2), t.now));
	assert_int_equal(t.requests, 1); /* one request for both */
	assert_int_equal(t.last_ip, 7);
	assert_int_equal(rd_neigh_waiting(t.n), 2);
	rd_neigh_learn(t.n, 7, mac_a, RD_NEIGH_ANSWERS, t.now);
	assert_int_equal(t.sent, 2);
	assert_int_equal(t.sent_packet[0], 1); /* in order */
	assert_int_equal(t.sent_packet[1], 2);
	assert_memory_equal(t.sent_mac, mac_a, 6);
	assert_true(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(3), t.now));
	assert_memory_equal(mac, mac_a, 6);
	assert_int_equal(rd_neigh_waiting(t.n), 0);
	down(&t);
}

static void
retries_then_gives_up(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 8, 4);
	assert_false(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(1), t.now));
	pass_time(&t, RETRY - 1);
	assert_int_equal(t.requests, 1);
	pass_time(&t, 1);
	assert_int_equal(t.requests, 2);
	pass_time(&t, RETRY);
	assert_int_equal(t.requests, 3);
	assert_int_equal(t.gone, 0);
	pass_time(&t, RETRY);
	assert_int_equal(t.requests, 3);
	assert_int_equal(t.gone, 1);
	assert_int_equal(t.gone_ip, 7);
	assert_int_equal(t.dropped, 1);
	assert_int_equal(rd_neigh_used(t.n), 0);
	assert_int_equal(rd_neigh_counters(t.n)->drop_unreachable, 1);
	assert_true(rd_neigh_expiry_ns(t.n) == BASE_NEVER_NS);
	/* It may come back. */
	assert_false(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(2), t.now));
	assert_int_equal(t.requests, 4);
	down(&t);
	assert_int_equal(t.dropped, 2); /* fini gives back what waits */
}

static void
pending_is_bounded(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 8, 4);
	for (uintptr_t i = 1; i <= 10; i++)
		assert_false(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(i), t.now));
	assert_int_equal(t.dropped, 6);
	assert_int_equal(rd_neigh_counters(t.n)->drop_pending, 6);
	rd_neigh_learn(t.n, 7, mac_a, RD_NEIGH_ANSWERS, t.now);
	assert_int_equal(t.sent, 4);
	down(&t);
}

/* Asked for, and answered. */
static void
known(struct net *t, uint32_t ip, enum rd_neigh_use use)
{
	uint8_t mac[6];
	if (!rd_neigh_lookup(t->n, ip, use, mac, pkt(1), t->now))
		rd_neigh_learn(t->n, ip, mac_a, RD_NEIGH_ANSWERS, t->now);
	assert_true(rd_neigh_lookup(t->n, ip, use, mac, pkt(1), t->now));
	t->requests = t->unicasts = t->owed = 0;
}

static void
has_mac(struct net *t, uint32_t ip, const uint8_t *mac)
{
	uint8_t got[6];
	assert_true(rd_neigh_lookup(t->n, ip, RD_NEIGH_PEER, got, pkt(1), t->now));
	assert_memory_equal(got, mac, 6);
}

static void
expiry_probes_while_usable(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	known(&t, 7, RD_NEIGH_PEER);
	pass_time(&t, EXPIRY - 1);
	has_mac(&t, 7, mac_a);
	assert_int_equal(t.requests, 0);
	pass_time(&t, 1);
	assert_int_equal(t.requests, 1);
	assert_int_equal(t.unicasts, 1); /* asks the station it knows first */
	has_mac(&t, 7, mac_a);
	rd_neigh_learn(t.n, 7, mac_a, RD_NEIGH_ANSWERS, t.now);
	/* Now it is silent: unicast, unicast, broadcast, gone. */
	pass_time(&t, EXPIRY + 3 * RETRY);
	assert_int_equal(t.requests, 4);
	assert_int_equal(t.unicasts, 3);
	assert_int_equal(t.gone, 1);
	down(&t);
}

/* A forged claim, of any kind, changes nothing while the true station answers; and many of them
 * make few questions. */
static void
a_forged_claim_changes_nothing(void **state)
{
	struct net t;
	(void)state;
	for (int word = RD_NEIGH_ANSWERS; word <= RD_NEIGH_ANNOUNCES; word++) {
		up(&t, 8, 4);
		known(&t, 7, RD_NEIGH_PEER);
		t.answers[0] = mac_a;
		t.answers[1] = mac_b;		 /* the attacker does all it can */
		for (int i = 0; i < 3000; i++) { /* 3 s of them, one a millisecond */
			rd_neigh_learn(t.n, 7, mac_b, (enum rd_neigh_word)word, t.now);
			has_mac(&t, 7, mac_a);
			pass_time(&t, BASE_MS_NS);
			has_mac(&t, 7, mac_a);
		}
		assert_int_equal(t.moves, 0);
		assert_in_range(t.contests, 7, 8); /* 3 s / (4 * RETRY) */
		assert_int_equal(t.requests, 2 * t.contests);
		assert_int_equal(rd_neigh_counters(t.n)->refuted, t.contests);
		down(&t);
	}
}

/* A station that was replaced is followed once the old one has not answered for a while. */
static void
a_true_move_is_followed(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	known(&t, 7, RD_NEIGH_PEER);
	t.answers[1] = mac_b;
	rd_neigh_learn(t.n, 7, mac_b, RD_NEIGH_ANNOUNCES, t.now);
	pass_time(&t, 4 * RETRY - 1);
	has_mac(&t, 7, mac_a);
	pass_time(&t, 1);
	has_mac(&t, 7, mac_b);
	assert_int_equal(t.moves, 1);
	assert_int_equal(t.gone, 0);
	down(&t);
}

/* Who claims and does not answer gets nothing, even if the true station is gone. */
static void
a_claim_without_an_answer_is_air(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	known(&t, 7, RD_NEIGH_PEER);
	rd_neigh_learn(t.n, 7, mac_b, RD_NEIGH_ANNOUNCES, t.now);
	pass_time(&t, 3 * RETRY);
	has_mac(&t, 7, mac_a);
	pass_time(&t, 20 * RETRY);
	assert_int_equal(t.moves, 0);
	assert_int_equal(t.gone, 1);
	down(&t);
}

/* A path is silent: its station is asked, and another that has its address by now is found,
 * although nobody announced it. */
static void
suspicion_finds_the_new_station(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	known(&t, 7, RD_NEIGH_PEER);
	t.answers[1] = mac_b;
	uint64_t end = t.now + 8 * RETRY;
	for (; t.now < end; pass_time(&t, RETRY / 2)) {
		rd_neigh_suspect(t.n, 7, t.now);
		rd_neigh_suspect(t.n, 8, t.now); /* nobody's */
	}
	has_mac(&t, 7, mac_b);
	assert_int_equal(t.gone, 0);
	/* While it answers, suspicion is cheap. */
	t.requests = 0;
	for (int i = 0; i < 400; i++) {
		rd_neigh_suspect(t.n, 7, t.now);
		pass_time(&t, RETRY / 100);
	}
	assert_in_range(t.requests, 1, 2);
	has_mac(&t, 7, mac_b);
	down(&t);
}

static void
fixed_ones_stay(void **state)
{
	struct net t;
	(void)state;
	up(&t, 2, 4);
	assert_true(rd_neigh_fix(t.n, 7, mac_a));
	rd_neigh_learn(t.n, 7, mac_b, RD_NEIGH_ANSWERS, t.now);
	assert_int_equal(t.contests, 1); /* somebody should look */
	pass_time(&t, 10 * EXPIRY);
	for (uint32_t ip = 100; ip < 200; ip++) {
		uint8_t mac[6];
		(void)rd_neigh_lookup(t.n, ip, RD_NEIGH_PEER, mac, pkt(1), t.now);
		pass_time(&t, EXPIRY);
	}
	has_mac(&t, 7, mac_a);
	assert_int_equal(rd_neigh_counters(t.n)->moved, 0);
	down(&t);
	up(&t, 1, 1);
	assert_true(rd_neigh_fix(t.n, 7, mac_a));
	assert_false(rd_neigh_fix(t.n, 8, mac_a));
	assert_true(rd_neigh_fix(t.n, 7, mac_b)); /* again is better */
	has_mac(&t, 7, mac_b);
	down(&t);
}

/* A line with one station at its end (light). */
static void
trusting_tables_follow_at_once(void **state)
{
	struct net t;
	struct rd_neigh_conf c = {.entries = 4,
				  .pending = 1,
				  .tries = 3,
				  .retry_ns = RETRY,
				  .expiry_ns = EXPIRY,
				  .trusting = true,
				  .ops = &ops,
				  .user = &t};
	(void)state;
	t = (struct net){.now = BASE_S_NS, .mem = malloc(rd_neigh_footprint(&c))};
	t.n = rd_neigh_new(t.mem, &c);
	rd_neigh_learn(t.n, 7, mac_a, RD_NEIGH_ASKS, t.now);
	has_mac(&t, 7, mac_a);
	rd_neigh_learn(t.n, 7, mac_b, RD_NEIGH_ANSWERS, t.now);
	has_mac(&t, 7, mac_b);
	assert_int_equal(t.requests, 0);
	down(&t);
}

static void
unused_entries_are_forgotten(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	known(&t, 7, RD_NEIGH_PEER);
	for (int i = 0; i < 4; i++) { /* it keeps answering, nobody uses it */
		pass_time(&t, EXPIRY);
		rd_neigh_learn(t.n, 7, mac_a, RD_NEIGH_ANSWERS, t.now);
	}
	assert_int_equal(rd_neigh_used(t.n), 0);
	assert_int_equal(t.gone, 0); /* forgotten, not unreachable */
	down(&t);
}

static void
nothing_unasked_makes_an_entry(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	for (int word = RD_NEIGH_ANSWERS; word <= RD_NEIGH_ANNOUNCES; word++)
		rd_neigh_learn(t.n, 7, mac_a, (enum rd_neigh_word)word, t.now);
	assert_int_equal(rd_neigh_used(t.n), 0);
	assert_int_equal(rd_neigh_counters(t.n)->learned, 0);
	/* Nor does an announcement answer a question. */
	uint8_t mac[6];
	assert_false(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(1), t.now));
	rd_neigh_learn(t.n, 7, mac_b, RD_NEIGH_ANNOUNCES, t.now);
	assert_int_equal(t.sent, 0);
	down(&t);
}

/* 1500 invented senders a second, for ten: no live peer loses its entry, also one that is used
 * every 20 s only, and newcomers are still served.  A quarter is all they have, free entries or
 * not. */
static void
strangers_never_evict_peers(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 96, 2);
	for (uint32_t ip = 1; ip <= 48; ip++) {
		known(&t, ip, ip % 2 ? RD_NEIGH_PEER : RD_NEIGH_STRANGER);
		rd_neigh_touch(t.n, ip, t.now); /* all have proved themselves */
	}
	for (uint32_t i = 0; i < 15000; i++) {
		assert_false(rd_neigh_lookup(t.n, 1000 + i, RD_NEIGH_STRANGER, mac, pkt(1), t.now));
		if (i % 100 == 0) { /* a true newcomer: answers at once */
			uint32_t ip = 1000000 + i;
			assert_false(
				rd_neigh_lookup(t.n, ip, RD_NEIGH_STRANGER, mac, pkt(1), t.now));
			uint32_t sent = t.sent;
			rd_neigh_learn(t.n, ip, mac_a, RD_NEIGH_ANSWERS, t.now);
			assert_int_equal(t.sent, sent + 1);
		}
		pass_time(&t, BASE_S_NS / 1500);
		for (uint32_t ip = 1; ip <= 48; ip++) /* peers answer their probes */
			rd_neigh_learn(t.n, ip, mac_a, RD_NEIGH_ANSWERS, t.now);
	}
	for (uint32_t ip = 1; ip <= 48; ip++)
		has_mac(&t, ip, mac_a);
	assert_int_equal(rd_neigh_used(t.n), 48 + 96 / 4);
	down(&t);
}

/* Peers take the strangers' entries, then those of peers that were idle for expiry_ns; live ones
 * stay. */
static void
peers_evict_strangers_then_idle_peers(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 4, 2);
	for (uint32_t ip = 1; ip <= 3; ip++)
		known(&t, ip, RD_NEIGH_PEER);
	known(&t, 4, RD_NEIGH_STRANGER);
	known(&t, 5, RD_NEIGH_PEER); /* in place of the stranger */
	assert_int_equal(rd_neigh_counters(t.n)->evicted, 1);
	assert_false(rd_neigh_lookup(t.n, 6, RD_NEIGH_PEER, mac, pkt(1), t.now));
	assert_false(rd_neigh_lookup(t.n, 6, RD_NEIGH_STRANGER, mac, pkt(1), t.now));
	assert_int_equal(rd_neigh_counters(t.n)->drop_full, 2);
	pass_time(&t, EXPIRY - 1);
	for (uint32_t ip = 1; ip <= 3; ip++)
		has_mac(&t, ip, mac_a); /* 5 is idle */
	pass_time(&t, 1);
	assert_false(rd_neigh_lookup(t.n, 6, RD_NEIGH_STRANGER, mac, pkt(1), t.now));
	assert_int_equal(rd_neigh_counters(t.n)->drop_full, 3);
	assert_false(rd_neigh_lookup(t.n, 6, RD_NEIGH_PEER, mac, pkt(1), t.now));
	assert_int_equal(rd_neigh_counters(t.n)->drop_full, 3);
	for (uint32_t ip = 1; ip <= 3; ip++)
		has_mac(&t, ip, mac_a);
	down(&t);
}

static void
all_resolving_refuses(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 4, 2);
	for (uint32_t ip = 1; ip <= 5; ip++)
		assert_false(rd_neigh_lookup(t.n, ip, RD_NEIGH_PEER, mac, pkt(ip), t.now));
	assert_int_equal(rd_neigh_counters(t.n)->drop_full, 1);
	assert_int_equal(t.dropped, 1);
	assert_int_equal(rd_neigh_used(t.n), 4);
	down(&t);
	assert_int_equal(t.dropped, 5);
}

/* Many operations against what must always hold: every packet comes back exactly
 * once, the table is within its bounds. */
static void
random_operations_lose_nothing(void **state)
{
	struct net t;
	uint8_t mac[6];
	uint64_t x = 88172645463325252ull;
	uint32_t given = 0, direct = 0;
	(void)state;
	up(&t, 16, 3);
	for (int i = 0; i < 200000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		uint32_t ip = 1 + (uint32_t)(x >> 8) % 40;
		switch (x % 5) {
		case 0:
		case 1:
			given++;
			direct += rd_neigh_lookup(t.n, ip,
						  x & 512 ? RD_NEIGH_PEER : RD_NEIGH_STRANGER, mac,
						  pkt(given), t.now);
			break;
		case 2:
			rd_neigh_learn(t.n, ip, x & 256 ? mac_a : mac_b,
				       (enum rd_neigh_word)((x >> 40) % 3), t.now);
			break;
		case 3:
			rd_neigh_suspect(t.n, ip, t.now);
			if (x & 1024)
				rd_neigh_touch(t.n, ip, t.now);
			if (x & 2048)
				rd_neigh_want(t.n, ip, t.now);
			break;
		default:
			pass_time(&t, (x >> 20) % (BASE_S_NS / 4));
			break;
		}
		assert_true(rd_neigh_used(t.n) <= 16);
		assert_true(rd_neigh_waiting(t.n) <= 48);
		assert_int_equal(given, direct + t.sent + t.dropped + rd_neigh_waiting(t.n));
	}
	down(&t);
	assert_int_equal(given, direct + t.sent + t.dropped);
}

static void
one_who_is_wanted_is_there_when_it_is_spoken_to(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 32, 4);
	rd_neigh_want(t.n, 7, t.now);
	rd_neigh_want(t.n, 7, t.now);
	assert_int_equal(t.requests, 1);
	rd_neigh_learn(t.n, 7, mac_a, RD_NEIGH_ANSWERS, t.now);
	assert_true(rd_neigh_lookup(t.n, 7, RD_NEIGH_PEER, mac, pkt(1), t.now));
	assert_memory_equal(mac, mac_a, 6);
	/* One that is spoken to before it answers is asked for like any other. */
	rd_neigh_want(t.n, 8, t.now);
	assert_false(rd_neigh_lookup(t.n, 8, RD_NEIGH_PEER, mac, pkt(2), t.now));
	assert_int_equal(t.requests, 2);
	pass_time(&t, 3 * RETRY);
	assert_int_equal(t.requests, 4);
	assert_int_equal(t.gone, 1);
	assert_int_equal(t.dropped, 1);
	down(&t);
}

static void
wanting_is_no_flood(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 32, 4);
	for (uint32_t ip = 100; ip < 1100; ip++)
		rd_neigh_want(t.n, ip, t.now);
	assert_int_equal(t.requests, RD_NEIGH_WANTED);
	assert_int_equal(rd_neigh_used(t.n), RD_NEIGH_WANTED);
	pass_time(&t, RETRY);
	assert_int_equal(t.requests, RD_NEIGH_WANTED); /* one question each */
	assert_int_equal(rd_neigh_used(t.n), 0);
	assert_int_equal(t.gone, 0);
	/* It takes nobody's entry: the share of strangers is 8. */
	for (uintptr_t i = 0; i < 8; i++)
		assert_false(rd_neigh_lookup(t.n, 200 + (uint32_t)i, RD_NEIGH_STRANGER, mac,
					     pkt(1 + i), t.now));
	rd_neigh_want(t.n, 300, t.now);
	assert_int_equal(rd_neigh_used(t.n), 8);
	assert_int_equal(rd_neigh_counters(t.n)->evicted, 0);
	assert_int_equal(rd_neigh_counters(t.n)->wanted, RD_NEIGH_WANTED);
	down(&t);
}

static void
bad_limits_have_no_footprint(void **state)
{
	struct rd_neigh_conf c = {
		.entries = 8, .pending = 4, .tries = 3, .retry_ns = 1, .expiry_ns = 1};
	(void)state;
	assert_true(rd_neigh_footprint(&c) > 0);
	c.entries = 0;
	assert_int_equal(rd_neigh_footprint(&c), 0);
	c.entries = 65537;
	assert_int_equal(rd_neigh_footprint(&c), 0);
	c.entries = 8;
	c.pending = 65;
	assert_int_equal(rd_neigh_footprint(&c), 0);
	c.pending = 4;
	c.retry_ns = 0;
	assert_int_equal(rd_neigh_footprint(&c), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves_and_sends_what_waited),
		cmocka_unit_test(retries_then_gives_up),
		cmocka_unit_test(pending_is_bounded),
		cmocka_unit_test(expiry_probes_while_usable),
		cmocka_unit_test(unused_entries_are_forgotten),
		cmocka_unit_test(a_forged_claim_changes_nothing),
		cmocka_unit_test(a_true_move_is_followed),
		cmocka_unit_test(a_claim_without_an_answer_is_air),
		cmocka_unit_test(suspicion_finds_the_new_station),
		cmocka_unit_test(fixed_ones_stay),
		cmocka_unit_test(trusting_tables_follow_at_once),
		cmocka_unit_test(nothing_unasked_makes_an_entry),
		cmocka_unit_test(strangers_never_evict_peers),
		cmocka_unit_test(peers_evict_strangers_then_idle_peers),
		cmocka_unit_test(all_resolving_refuses),
		cmocka_unit_test(one_who_is_wanted_is_there_when_it_is_spoken_to),
		cmocka_unit_test(wanting_is_no_flood),
		cmocka_unit_test(random_operations_lose_nothing),
		cmocka_unit_test(bad_limits_have_no_footprint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
