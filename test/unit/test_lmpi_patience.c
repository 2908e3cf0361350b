/* SPDX-License-Identifier: BSD-2-Clause */
/* How long to look at one ring only, on machines that this one is not. */
#include "cmocka_all.h"

#include "cycles.h"
#include "patience.h"

#define RATE   1000u /* cycles per us: a cycle is a ns */
#define ROUNDS 2000

/* A machine, ns: what a line takes from CPU to CPU, one look, a reading of the clock; what the
 * library adds to an answer, and the long way to a wait. */
struct machine {
	const char *what;
	uint32_t line, look, clock, software, long_way;
};

static const struct machine shared_l2 = {"shared L2", 60, 15, 8, 20, 300};
static const struct machine shared_l3 = {"shared L3", 110, 20, 8, 30, 350};
static const struct machine no_cache = {"no shared cache", 320, 15, 8, 80, 480};
static const struct machine far_socket = {"far socket", 700, 45, 12, 100, 600};
static const struct machine beyond = {"farther than the first guess", 1800, 45, 12, 100, 600};

/* One receive of what comes after answer ns, with the bound of p, as recv.c does it. */
static uint64_t
receive(struct lmpi_patience *p, const struct machine *m, uint64_t answer, bool *missed)
{
	uint64_t now = 0, since = 0;

	*missed = false;
	for (;;) {
		uint64_t begun = now;

		now += LMPI_PATIENCE_LOOKS * m->look;
		if (answer <= now) {
			if (since != 0)
				lmpi_patience_waited(p, begun - since);
			return (answer > begun ? answer : begun) + m->look;
		}
		now += m->clock;
		if (since == 0)
			since = now;
		if (now - since >= p->bound)
			break;
	}
	*missed = true;
	now = (answer > now ? answer : now) + m->long_way;
	lmpi_patience_waited(p, now - since);
	return now;
}

static uint64_t
answer_of(const struct machine *m)
{
	return 2 * m->line + m->software;
}

/* Time of so many exchanges, and how many went the long way. */
static uint64_t
exchanges(struct lmpi_patience *p, const struct machine *m, int n, int *misses)
{
	uint64_t sum = 0;

	*misses = 0;
	for (int i = 0; i < n; i++) {
		bool missed;
		/* every eighth is held up a little */
		sum += receive(p, m, answer_of(m) * (i % 8 == 7 ? 3 : 2) / 2, &missed);
		*misses += missed;
	}
	return sum;
}

/* The same with a bound that stays as it begins. */
static uint64_t
by_default(const struct machine *m, int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		struct lmpi_patience p;
		bool missed;

		lmpi_patience_init(&p, RATE);
		sum += receive(&p, m, answer_of(m) * (i % 8 == 7 ? 3 : 2) / 2, &missed);
	}
	return sum;
}

static const struct machine *const machines[] = {&shared_l2, &shared_l3, &no_cache, &far_socket,
						 &beyond};
#define MACHINES (sizeof machines / sizeof machines[0])

static void
answers_are_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		const struct machine *m = machines[i];
		struct lmpi_patience p;
		int misses;

		lmpi_patience_init(&p, RATE);
		uint64_t took = exchanges(&p, m, ROUNDS, &misses);
		if (misses > 4)
			fail_msg("%s: %d of %d exchanges went the long way", m->what, misses,
				 ROUNDS);
		if (took > by_default(m, ROUNDS) * 102 / 100)
			fail_msg("%s: %llu ns, %llu with the first guess", m->what,
				 (unsigned long long)took,
				 (unsigned long long)by_default(m, ROUNDS));
	}
}

/* From any machine to any other: the rank was moved while it runs. */
static void
a_move_is_noticed(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES * MACHINES; i++) {
		const struct machine *from = machines[i / MACHINES], *to = machines[i % MACHINES];
		struct lmpi_patience p;
		int misses;

		lmpi_patience_init(&p, RATE);
		exchanges(&p, from, ROUNDS, &misses);
		uint64_t took = exchanges(&p, to, ROUNDS, &misses);
		if (misses > 4)
			fail_msg("%s to %s: %d went the long way", from->what, to->what, misses);
		if (took > by_default(to, ROUNDS) * 12 / 10)
			fail_msg("%s to %s: worse than the first guess", from->what, to->what);
	}
}

/* Both ranks on one CPU without the library knowing, or a sender that computes: looking is in
 * vain, and gets short; what came before and comes after is as fast as ever. */
static void
vain_looking_gets_short(void **state)
{
	struct lmpi_patience p;
	bool missed;
	int misses;

	(void)state;
	lmpi_patience_init(&p, RATE);
	exchanges(&p, &beyond, ROUNDS, &misses);
	assert_true(p.bound > p.least);
	for (int i = 0; i < 10; i++)
		receive(&p, &beyond, 4000000, &missed);
	assert_int_equal(p.bound, p.least);
	exchanges(&p, &beyond, ROUNDS, &misses);
	assert_true(misses <= 2);
	for (int i = 0; i < ROUNDS; i++) {
		receive(&p, &beyond, 15000, &missed);
		assert_true(p.bound >= p.least && p.bound <= p.most);
	}
}

static void
turns_come_in_time(void **state)
{
	static const uint32_t call_ns[] = {50, 200, 800, 4000, 20};
	struct lmpi_patience p;

	(void)state;
	lmpi_patience_init(&p, RATE);
	for (size_t k = 0; k < sizeof call_ns / sizeof call_ns[0]; k++) {
		uint32_t calls = 0;

		for (int turn = 0; turn < 20; turn++) {
			calls = 1;
			while (!lmpi_patience_turn_due(&p))
				calls++;
			lmpi_patience_turned(&p, true, (uint64_t)calls * call_ns[k]);
		}
		if (calls > 16 && calls * call_ns[k] > p.turn)
			fail_msg("%u ns a call: a turn after %u", call_ns[k], calls);
		if (calls < 1024 && calls * call_ns[k] < p.turn / 4)
			fail_msg("%u ns a call: a turn after %u already", call_ns[k], calls);
	}
}

static void
rate_is_sane(void **state)
{
	static const struct {
		uint64_t cycles, ns;
		uint32_t rate;
	} row[] = {
		{2600000, 1000000, 2600},    {2600, 1000, 2000},       {0, 1000000, 2000},
		{UINT64_MAX, 1000000, 2000}, {1000000, 1000000, 1000}, {1, UINT64_MAX, 2000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		assert_int_equal(lmpi_cycles_rate(row[i].cycles, row[i].ns), row[i].rate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_seen),
		cmocka_unit_test(a_move_is_noticed),
		cmocka_unit_test(vain_looking_gets_short),
		cmocka_unit_test(turns_come_in_time),
		cmocka_unit_test(rate_is_sane),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
