/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of lib/ft that send each other frames in memory: in order from one to another, as
 * late as may be.  They revoke, agree several times and die, at every step there is or at random;
 * what the dead have sent arrives until their death is known.  All of one job, or of two that are
 * connected: there each notices_death the death of the next one only. */
#include "cmocka_all.h"
#include "ft/ft.h"

#include "base/prng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCS = 6, AGREEMENTS = 3, LINE = 256, FRAME = 200 };

#define CTX	UINT64_C(0x1234)
#define REVOKED UINT64_C(0x4321)
#define JOINED	UINT64_C(0x1111)

struct line { /* from one to another */
	uint8_t frame[LINE][FRAME];
	size_t len[LINE];
	uint32_t first, n;
};

struct outcome {
	uint64_t and_of[2], max_of;
	bool unacked;
	uint8_t failed;
};

struct process {
	uint32_t rank;
	struct ft *f;
	bool dead, revoked;
	uint32_t begun; /* agreements */
	uint32_t ended; /* bits of them: of two, either may be first */
	uint32_t knows; /* bits of failures */
	struct outcome got[AGREEMENTS];
};

static struct world {
	struct base_prng rnd;
	uint32_t n, first, steps,
		dead; /* first: processes of the first job; the others are the second */
	struct process proc[PROCS];
	struct line line[PROCS][PROCS];
	uint32_t began[AGREEMENTS]; /* bits of ranks */
	uint32_t dead_then[AGREEMENTS];
	size_t held;
	uint64_t leaders;
} w;

/* The second job's name is the lower one. */
static struct ft_name
name_at(uint32_t g)
{
	return g < w.first ? (struct ft_name){9, g} : (struct ft_name){4, g - w.first};
}

static uint32_t
own_size(uint32_t me)
{
	return me < w.first ? w.first : w.n - w.first;
}

/* What process me calls process g, and back. */
static uint32_t
number_for(uint32_t me, uint32_t g)
{
	bool same = (me < w.first) == (g < w.first);

	return name_at(g).number + (same ? 0 : own_size(me));
}

static uint32_t
whom(uint32_t me, uint32_t number)
{
	bool second = (me < w.first) == (number >= own_size(me));

	return (number < own_size(me) ? number : number - own_size(me)) + (second ? w.first : 0);
}

/* All, by rising names, as me calls them. */
static const uint32_t *
everybody(uint32_t me)
{
	static uint32_t all[PROCS];

	for (uint32_t i = 0; i < w.n; i++)
		all[i] = number_for(me, (i + w.first) % w.n);
	return all;
}

static uint32_t
draw(uint32_t n)
{
	return (uint32_t)base_prng_below(&w.rnd, n);
}

static void *
get(void *user, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	(void)user;
	assert_non_null(p);
	memset(p, 0x5a, bytes);
	w.held++;
	return p;
}

static void
put(void *user, void *p)
{
	(void)user;
	w.held -= p != NULL;
	free(p);
}

static const struct ft_memory memory = {get, put, NULL};

static void
send_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	const struct process *p = user;
	struct line *l = &w.line[p->rank][whom(p->rank, to)];

	assert_true(l->n < LINE && len <= FRAME && whom(p->rank, to) != p->rank);
	uint32_t at = (l->first + l->n++) % LINE;
	memcpy(l->frame[at], frame, len);
	l->len[at] = len;
}

static void
on_failed(void *user, uint32_t number)
{
	struct process *p = user;
	uint32_t rank = whom(p->rank, number);

	assert_true(w.dead >> rank & 1);
	assert_false(p->knows >> rank & 1);
	p->knows |= 1u << rank;
	w.line[rank][p->rank].n = w.line[p->rank][rank].n = 0;
}

static void
on_revoked(void *user, uint64_t ctx)
{
	struct process *p = user;

	assert_true(ctx == REVOKED && !p->revoked);
	p->revoked = true;
}

/* What rank offers to the k-th. */
static struct ft_offer
offer_of(uint32_t rank, uint32_t k)
{
	return (struct ft_offer){.and_of = {~(UINT64_C(1) << (8 * k + rank)), ~(uint64_t)rank},
				 .max_of = 100 * k + rank};
}

static void
check_result(uint32_t k, const struct outcome *o)
{
	uint64_t all = UINT64_MAX, max = 0;
	uint32_t alive = ~w.dead & ((1u << w.n) - 1);

	/* Everybody who has ended, the dead as well, has the same. */
	for (uint32_t r = 0; r < w.n; r++) {
		const struct process *p = &w.proc[r];
		if (p->ended >> k & 1)
			assert_memory_equal(&p->got[k], o, sizeof *o);
		if (w.began[k] >> r & 1)
			all &= offer_of(r, k).and_of[0];
	}
	/* All that is alive has taken part, and nobody who has not. */
	for (uint32_t r = 0; r < w.n; r++) {
		bool in = !(o->and_of[0] >> (8 * k + r) & 1);
		if (alive >> r & 1)
			assert_true(in);
		if (in && offer_of(r, k).max_of > max)
			max = offer_of(r, k).max_of;
	}
	assert_int_equal(all & ~o->and_of[0], 0);
	assert_int_equal(o->max_of, max);
	assert_int_equal(o->failed & alive, 0);
	assert_int_equal(o->failed & w.dead_then[k], w.dead_then[k]);
}

static void
on_agreed(void *user, uint64_t ctx, uint32_t seq, const struct ft_result *r)
{
	struct process *p = user;

	assert_true(ctx == CTX && seq < p->begun + 1 && !(p->ended >> seq & 1) && r->n == w.n);
	struct outcome *o = &p->got[seq];
	memset(o, 0, sizeof *o);
	o->and_of[0] = r->and_of[0];
	o->and_of[1] = r->and_of[1];
	o->max_of = r->max_of;
	o->unacked = r->unacked;
	for (uint32_t i = 0; i < r->n; i++)
		o->failed |= (uint8_t)(ft_result_has_failed(r, i) << whom(p->rank, r->member[i]));
	p->ended |= 1u << seq;
	check_result(seq, o);
}

static struct ft_name
frame_name(void *user, uint32_t number)
{
	const struct process *p = user;

	return name_at(whom(p->rank, number));
}

static uint32_t
seek_name(void *user, struct ft_name name)
{
	const struct process *p = user;

	for (uint32_t g = 0; g < w.n; g++)
		if (name_at(g).job == name.job && name_at(g).number == name.number)
			return number_for(p->rank, g);
	return UINT32_MAX;
}

static const struct ft_ops ops = {send_frame, on_failed,  on_revoked,
				  on_agreed,  frame_name, seek_name};

static void
make_world(uint32_t n, uint32_t first, uint64_t seed)
{
	memset(&w, 0, sizeof w);
	w.rnd = base_prng_seed(seed);
	w.n = n;
	w.first = first;
	for (uint32_t r = 0; r < n; r++) {
		w.proc[r].rank = r;
		w.proc[r].f = ft_new(number_for(r, r), own_size(r), &ops, &w.proc[r], &memory);
	}
	for (uint32_t r = 0; r < n && first < n; r++) {
		ft_grow(w.proc[r].f, n);
		ft_join(w.proc[r].f, JOINED, everybody(r), n);
	}
}

/* All between them in the ring have failed, as far as a knows. */
static bool
notices_death(uint32_t a, uint32_t b)
{
	uint32_t g = (a + 1) % w.n;

	while (w.first < w.n && g != b && w.proc[a].knows >> g & 1)
		g = (g + 1) % w.n;
	return w.first == w.n || g == b;
}

static void
kill_one(uint32_t rank)
{
	if (w.proc[rank].dead || (uint32_t)__builtin_popcount(w.dead) + 1 >= w.n)
		return;
	w.proc[rank].dead = true;
	w.dead |= 1u << rank;
}

static void
begin_next(struct process *p)
{
	struct ft_offer o = offer_of(p->rank, p->begun);
	bool acked[PROCS] = {false};

	/* One of them acknowledges nothing. */
	for (uint32_t i = 0; i < w.n; i++)
		acked[i] = p->rank != w.n - 1;
	o.acked = acked;
	if (!w.began[p->begun])
		w.dead_then[p->begun] = p->knows;
	w.began[p->begun] |= 1u << p->rank;
	p->begun++;
	ft_agree(p->f, CTX, everybody(p->rank), w.n, &o);
}

static void
deliver(uint32_t from, uint32_t to)
{
	struct line *l = &w.line[from][to];
	uint8_t frame[FRAME];

	if (l->n == 0 || w.proc[to].dead)
		return;
	size_t len = l->len[l->first];
	memcpy(frame, l->frame[l->first], len);
	l->first = (l->first + 1) % LINE;
	l->n--;
	assert_true(ft_on_frame(w.proc[to].f, number_for(to, from), frame, len));
}

/* One thing happens; false: there is nothing left.  late: the detector is slow. */
static bool
step(bool late)
{
	uint32_t doable[2 * PROCS * PROCS + PROCS][2], n = 0;

	for (uint32_t a = 0; a < w.n; a++) {
		struct process *p = &w.proc[a];
		for (uint32_t b = 0; b < w.n; b++)
			if (w.line[b][a].n && !p->dead)
				doable[n][0] = b, doable[n++][1] = a;
		if (!p->dead && p->begun < AGREEMENTS &&
		    p->begun - (uint32_t)__builtin_popcount(p->ended) < 2)
			doable[n][0] = a, doable[n++][1] = a;
	}
	for (uint32_t a = 0; a < w.n && (!late || n == 0); a++)
		for (uint32_t b = 0; b < w.n; b++)
			if (!w.proc[a].dead && (w.dead & ~w.proc[a].knows) >> b & 1 &&
			    notices_death(a, b))
				doable[n][0] = PROCS + b, doable[n++][1] = a;
	if (n == 0)
		return false;
	uint32_t i = draw(n), what = doable[i][0], who = doable[i][1];
	w.steps++;
	if (what >= PROCS)
		ft_failed(w.proc[who].f, number_for(who, what - PROCS));
	else if (what != who)
		deliver(what, who);
	else
		begin_next(&w.proc[who]);
	const char *wrong;
	if (!ft_check(w.proc[who].f, &wrong))
		fail_msg("%s", wrong);
	return true;
}

/* Everything comes to an end; returns the steps. */
static uint32_t
run(uint32_t n, uint32_t first, uint64_t seed, const uint32_t at[2], const uint32_t who[2],
    bool late)
{
	make_world(n, first, seed);
	uint32_t revoker = draw(n), revoke_at = draw(30);
	bool revokes = false, some = false;
	for (;;) {
		for (int i = 0; i < 2; i++)
			if (at[i] == w.steps)
				kill_one(who[i]);
		if (w.steps == revoke_at && !w.proc[revoker].dead) {
			revokes = true;
			ft_revoke(w.proc[revoker].f, REVOKED, everybody(revoker), n);
		}
		if (!step(late))
			break;
	}
	for (uint32_t r = 0; r < n; r++) {
		const struct process *p = &w.proc[r];
		w.leaders += ft_counters(p->f)->leaders;
		some |= !p->dead && p->revoked;
		if (p->dead)
			continue;
		assert_int_equal(p->ended, (1u << AGREEMENTS) - 1);
		assert_int_equal(p->knows, w.dead);
	}
	/* One of the living has it, then all have; and the revoker has if it lives. */
	for (uint32_t r = 0; r < n; r++)
		if (!w.proc[r].dead)
			assert_true(w.proc[r].revoked ==
				    (some || (revokes && !w.proc[revoker].dead)));
	uint32_t steps = w.steps;
	for (uint32_t r = 0; r < n; r++)
		ft_free(w.proc[r].f);
	assert_int_equal(w.held, 0);
	return steps;
}

/* Every process dies at every step of a run. */
static void
enumerate(bool two_jobs)
{
	uint64_t runs = 0, leaders = 0;

	for (uint32_t n = two_jobs ? 2 : 1; n <= PROCS; n++)
		for (uint64_t seed = 1; seed <= 6; seed++) {
			uint32_t at[2] = {UINT32_MAX, UINT32_MAX}, who[2] = {0, 0};
			uint32_t first = two_jobs ? 1 + (uint32_t)seed % (n - 1) : n;
			uint32_t steps = run(n, first, seed, at, who, seed % 2);
			for (at[0] = 0; at[0] <= steps; at[0]++)
				for (who[0] = 0; who[0] < n; who[0]++, runs++) {
					run(n, first, seed, at, who, seed % 2);
					leaders += w.leaders;
				}
		}
	printf("  %llu runs, %llu leaders that came after others\n", (unsigned long long)runs,
	       (unsigned long long)leaders);
	assert_true(leaders > runs / 10);
}

static void
each_death(void **state)
{
	(void)state;
	enumerate(false);
}

static void
each_death_of_two_jobs(void **state)
{
	(void)state;
	enumerate(true);
}

/* Two die, where and when they like. */
static void
pairs_of_deaths(void **state)
{
	const char *s = getenv("SEED");
	uint64_t one = s ? strtoull(s, NULL, 0) : 0;

	(void)state;
	for (uint64_t seed = one ? one : 1; seed <= (one ? one : 30000); seed++) {
		struct base_prng g = base_prng_seed(seed * 77);
		uint32_t n = 3 + (uint32_t)base_prng_below(&g, PROCS - 2);
		uint32_t at[2], who[2];
		for (int i = 0; i < 2; i++) {
			at[i] = (uint32_t)base_prng_below(&g, 40 * n);
			who[i] = (uint32_t)base_prng_below(&g, n);
			if (base_prng_below(&g, 3))
				who[i] %= 2; /* those that lead */
		}
		run(n, seed % 3 ? n : 1 + (uint32_t)seed % (n - 1), seed, at, who, seed % 2);
	}
}

/* What has no sense is counted and changes nothing. */
static void
malformed_frames(void **state)
{
	uint8_t frame[FRAME];
	struct base_prng g = base_prng_seed(5);

	(void)state;
	make_world(3, 3, 1);
	struct ft_offer o = offer_of(1, 0);
	ft_agree(w.proc[1].f, CTX, everybody(1), 3, &o);
	const struct line *l = &w.line[1][0];
	assert_int_equal(l->n, 1);
	for (int i = 0; i < 20000; i++) {
		size_t len = l->len[0];
		memcpy(frame, l->frame[0], len);
		frame[base_prng_below(&g, len)] ^= (uint8_t)(1u << base_prng_below(&g, 8));
		if (i % 2)
			len = base_prng_below(&g, len);
		(void)ft_on_frame(w.proc[2].f, 1, frame, len);
	}
	assert_false(ft_on_frame(w.proc[2].f, 1, frame, 0));
	assert_false(ft_on_frame(w.proc[2].f, 7, l->frame[0], l->len[0]));
	assert_true(ft_counters(w.proc[2].f)->malformed > 10000);
	for (uint32_t r = 0; r < 3; r++)
		assert_false(ft_has_failed(w.proc[2].f, r));
	for (uint32_t r = 0; r < 3; r++)
		ft_free(w.proc[r].f);
	assert_int_equal(w.held, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_death),
		cmocka_unit_test(each_death_of_two_jobs),
		cmocka_unit_test(pairs_of_deaths),
		cmocka_unit_test(malformed_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
