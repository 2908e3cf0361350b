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
	uint64_t now;
};

static void
on_request(void *user, uint32_t ip, const uint8_t *mac)
{
	struct net *t = user;
	t->requests++;
	t->unicasts += mac != NULL;
	t->last_ip = ip;
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

static const struct rd_neigh_ops ops = {on_request, on_send, on_drop, on_gone};
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

/* Let time pass, ticking only when the table asks for it. */
static void
pass_time(struct net *t, uint64_t ns)
{
	uint64_t until = t->now + ns;
	while (rd_neigh_expiry_ns(t->n) <= until) {
		uint64_t at = rd_neigh_expiry_ns(t->n);
		t->now = at > t->now ? at : t->now;
		rd_neigh_tick(t->n, t->now);
		assert_true(rd_neigh_expiry_ns(t->n) > t->now); /* never busy */
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
	assert_false(rd_neigh_lookup(t.n, 7, mac, pkt(1), t.now));
	assert_false(rd_neigh_lookup(t.n, 7, mac, pkt(2), t.now));
	assert_int_equal(t.requests, 1); /* one request for both */
	assert_int_equal(t.last_ip, 7);
	assert_int_equal(rd_neigh_waiting(t.n), 2);
	rd_neigh_learn(t.n, 7, mac_a, false, t.now);
	assert_int_equal(t.sent, 2);
	assert_int_equal(t.sent_packet[0], 1); /* in order */
	assert_int_equal(t.sent_packet[1], 2);
	assert_memory_equal(t.sent_mac, mac_a, 6);
	assert_true(rd_neigh_lookup(t.n, 7, mac, pkt(3), t.now));
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
	assert_false(rd_neigh_lookup(t.n, 7, mac, pkt(1), t.now));
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
	assert_false(rd_neigh_lookup(t.n, 7, mac, pkt(2), t.now));
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
		assert_false(rd_neigh_lookup(t.n, 7, mac, pkt(i), t.now));
	assert_int_equal(t.dropped, 6);
	assert_int_equal(rd_neigh_counters(t.n)->drop_pending, 6);
	rd_neigh_learn(t.n, 7, mac_a, false, t.now);
	assert_int_equal(t.sent, 4);
	down(&t);
}

static void
expiry_probes_while_usable(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 8, 4);
	rd_neigh_learn(t.n, 7, mac_a, true, t.now);
	pass_time(&t, EXPIRY - 1);
	assert_true(rd_neigh_lookup(t.n, 7, mac, pkt(1), t.now));
	assert_int_equal(t.requests, 0);
	pass_time(&t, 1);
	assert_int_equal(t.requests, 1);
	assert_int_equal(t.unicasts, 1); /* asks the station it knows first */
	assert_true(rd_neigh_lookup(t.n, 7, mac, pkt(1), t.now));
	rd_neigh_learn(t.n, 7, mac_b, false, t.now); /* moved */
	assert_true(rd_neigh_lookup(t.n, 7, mac, pkt(1), t.now));
	assert_memory_equal(mac, mac_b, 6);
	assert_int_equal(rd_neigh_counters(t.n)->moved, 1);
	/* Now it is silent: unicast, unicast, broadcast, gone. */
	pass_time(&t, EXPIRY + 3 * RETRY);
	assert_int_equal(t.requests, 4);
	assert_int_equal(t.unicasts, 3);
	assert_int_equal(t.gone, 1);
	down(&t);
}

static void
unused_entries_are_forgotten(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	rd_neigh_learn(t.n, 7, mac_a, true, t.now);
	for (int i = 0; i < 4; i++) { /* it keeps answering, nobody uses it */
		pass_time(&t, EXPIRY);
		rd_neigh_learn(t.n, 7, mac_a, false, t.now);
	}
	assert_int_equal(rd_neigh_used(t.n), 0);
	assert_int_equal(t.gone, 0); /* forgotten, not unreachable */
	down(&t);
}

static void
unasked_answers_make_no_entry(void **state)
{
	struct net t;
	(void)state;
	up(&t, 8, 4);
	rd_neigh_learn(t.n, 7, mac_a, false, t.now);
	assert_int_equal(rd_neigh_used(t.n), 0);
	assert_int_equal(rd_neigh_counters(t.n)->learned, 0);
	down(&t);
}

static void
full_table_evicts_the_oldest_resolved(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 4, 2);
	for (uint32_t ip = 1; ip <= 4; ip++) {
		rd_neigh_learn(t.n, ip, mac_a, true, t.now);
		pass_time(&t, BASE_MS_NS);
	}
	assert_true(rd_neigh_lookup(t.n, 1, mac, pkt(1), t.now)); /* 2 is the oldest now */
	pass_time(&t, BASE_MS_NS);
	assert_false(rd_neigh_lookup(t.n, 9, mac, pkt(2), t.now));
	assert_int_equal(rd_neigh_counters(t.n)->evicted, 1);
	assert_true(rd_neigh_lookup(t.n, 1, mac, pkt(1), t.now));
	assert_true(rd_neigh_lookup(t.n, 3, mac, pkt(1), t.now));
	assert_int_equal(rd_neigh_used(t.n), 4);
	down(&t);
	assert_int_equal(t.dropped, 1);
}

static void
all_resolving_refuses(void **state)
{
	struct net t;
	uint8_t mac[6];
	(void)state;
	up(&t, 4, 2);
	for (uint32_t ip = 1; ip <= 5; ip++)
		assert_false(rd_neigh_lookup(t.n, ip, mac, pkt(ip), t.now));
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
		switch (x % 4) {
		case 0:
		case 1:
			given++;
			direct += rd_neigh_lookup(t.n, ip, mac, pkt(given), t.now);
			break;
		case 2:
			rd_neigh_learn(t.n, ip, mac_a, x & 256, t.now);
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
		cmocka_unit_test(unasked_answers_make_no_entry),
		cmocka_unit_test(full_table_evicts_the_oldest_resolved),
		cmocka_unit_test(all_resolving_refuses),
		cmocka_unit_test(random_operations_lose_nothing),
		cmocka_unit_test(bad_limits_have_no_footprint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
