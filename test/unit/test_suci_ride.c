/* SPDX-License-Identifier: BSD-2-Clause */
/* An ack that is due for the number of packets waits for a segment to ride on, if so configured. */
#include "test_suci_path.h"

#include "suci/wire.h"

#define DELAY_NS (5 * BASE_US_NS)
#define RIDE_NS	 (30 * BASE_US_NS)
#define TICK_NS	 (5 * BASE_US_NS)
#define EVERY	 4u
#define FULL	 1360u /* payload of a full segment: MTU 1432 */
#define SHORT	 100u

/* Lengths of the ack blocks in what side 1 sends. */
static uint16_t ack_len[64];
static uint32_t nsent;

static bool
look(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l, (void)len;
	if (from == 1 && nsent < 64)
		ack_len[nsent++] = be16_load(bytes + 2);
	return false;
}

static struct pair *
begin(uint64_t ride_ns)
{
	struct pair *t = pair_new(3, DELAY_NS);
	for (int side = 0; side < 2; side++) {
		t->conf[side].ack_every = EVERY;
		t->conf[side].ack_ride_ns = ride_ns;
	}
	pair_start(t);
	pair_run(t, BASE_S_NS);
	t->l.filter = look;
	nsent = 0;
	return t;
}

/* n packets of side 0 have just arrived. */
static void
arrive(struct pair *t, uint32_t n)
{
	pair_send(t, 0, n, SHORT);
	pair_run(t, DELAY_NS);
	assert_int_equal(t->s[1].segments, n);
}

static void
test_at_once(void **state)
{
	(void)state;
	struct pair *t = begin(0);
	arrive(t, EVERY);
	link_pump(&t->l);
	assert_int_equal(nsent, 1);
	pair_run(t, DELAY_NS);
	assert_int_equal(t->s[0].acked, EVERY);
	/* With the first segment there is, a full one, too. */
	pair_send(t, 0, 1, SHORT);
	pair_run(t, DELAY_NS);
	pair_send(t, 1, 2, FULL);
	link_pump(&t->l);
	assert_int_equal(nsent, 3);
	assert_true(ack_len[1] > 0);
	assert_int_equal(ack_len[2], 0);
	pair_free(t);
}

static void
test_with_the_answer(void **state)
{
	(void)state;
	struct pair *t = begin(RIDE_NS);
	uint64_t bare = pair_count(t, 1)->tx_pure_acks;
	arrive(t, EVERY);
	link_pump(&t->l);
	assert_int_equal(nsent, 0);
	/* Full segments stay of one length; the last has room. */
	pair_send(t, 1, 3, FULL);
	link_pump(&t->l);
	pair_send(t, 1, 1, SHORT);
	pair_run(t, DELAY_NS);
	assert_int_equal(nsent, 4);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ack_len[i], 0);
	assert_true(ack_len[3] > 0);
	assert_int_equal(t->s[0].acked, EVERY);
	assert_int_equal(pair_count(t, 1)->tx_pure_acks, bare);
	pair_free(t);
}

static void
test_without_answer(void **state)
{
	(void)state;
	struct pair *t = begin(RIDE_NS);
	arrive(t, EVERY);
	pair_run(t, RIDE_NS - 1);
	assert_int_equal(nsent, 0);
	pair_run(t, TICK_NS); /* sooner than any ack that is not due for their number: 50 us */
	assert_int_equal(nsent, 1);
	pair_run(t, DELAY_NS);
	assert_int_equal(t->s[0].acked, EVERY);
	pair_free(t);
}

/* One that is due rides on a full segment, rather than go alone. */
static void
test_due(void **state)
{
	(void)state;
	struct pair *t = begin(RIDE_NS);
	arrive(t, EVERY);
	t->l.now_ns += RIDE_NS;
	pair_send(t, 1, 1, FULL);
	link_pump(&t->l);
	assert_int_equal(nsent, 1);
	assert_true(ack_len[0] > 0);
	assert_int_equal(pair_count(t, 1)->tx_pure_acks, 0);
	pair_free(t);
}

static void
test_twice_as_many(void **state)
{
	(void)state;
	struct pair *t = begin(RIDE_NS);
	arrive(t, 2 * EVERY);
	link_pump(&t->l);
	assert_int_equal(nsent, 1);
	pair_run(t, DELAY_NS);
	assert_int_equal(t->s[0].acked, 2 * EVERY);
	pair_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),	       cmocka_unit_test(test_with_the_answer),
		cmocka_unit_test(test_without_answer), cmocka_unit_test(test_due),
		cmocka_unit_test(test_twice_as_many),
	};
	return cmocka_run_group_tests_name("suci ride", tests, NULL, NULL);
}
