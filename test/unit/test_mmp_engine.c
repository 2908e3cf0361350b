/* SPDX-License-Identifier: BSD-2-Clause */
/* Matching, reassembly, credit and death: engines and ports over a network that cuts and reorders,
 * against what the model of matching says each receive has to get. */
#include "mmp_kit.h"

#include "cmocka_all.h"

#include <errno.h>

#define OPS 400

/* Messages of a pair by number: tag, length; their bytes follow from these. */
struct sent {
	int32_t tag;
	uint64_t n;
	uint8_t *buf;
	uint32_t request;
	bool taken;
};
struct got {
	int32_t from, tag;
	uint64_t cap;
	uint8_t *buf;
	uint32_t request;
	bool done;
};
struct world {
	struct kit kit;
	struct sent sent[KIT_SIZE_MAX][KIT_SIZE_MAX][OPS];
	uint32_t sends[KIT_SIZE_MAX][KIT_SIZE_MAX];
	struct got got[KIT_SIZE_MAX][OPS * KIT_SIZE_MAX];
	uint32_t gots[KIT_SIZE_MAX];
};

static uint8_t
byte_of(uint32_t from, uint32_t to, uint32_t number, uint64_t at)
{
	return (uint8_t)(from * 7 + to * 31 + number * 131 + at * 17 + (at >> 8));
}

static void
do_send(struct world *w, uint32_t from, uint32_t to, int32_t tag, uint64_t n)
{
	uint32_t i = w->sends[from][to]++;
	struct sent *s = &w->sent[from][to][i];
	*s = (struct sent){.tag = tag, .n = n, .buf = malloc(n + 1)};
	for (uint64_t k = 0; k < n; k++)
		s->buf[k] = byte_of(from, to, i, k);
	s->request = mmp_port_send(w->kit.proc[from].port, to, 0, tag, s->buf, n);
	assert_int_not_equal(s->request, MMP_NONE);
}

static void
do_receive(struct world *w, uint32_t at, int32_t from, int32_t tag, uint64_t cap)
{
	struct got *g = &w->got[at][w->gots[at]++];
	*g = (struct got){.from = from, .tag = tag, .cap = cap, .buf = calloc(1, cap + 1)};
	g->buf[cap] = 0xa5;
	g->request = mmp_port_receive(w->kit.proc[at].port, from, 0, tag, g->buf, cap);
	assert_int_not_equal(g->request, MMP_NONE);
}

/* A receive is done: it has the first message of its sender and tag that none has. */
static void
check_got(struct world *w, uint32_t at, struct got *g, const struct mmp_result *r)
{
	uint32_t from = r->rank, i = 0;
	if (g->from >= 0)
		assert_int_equal(from, g->from);
	if (g->tag >= 0)
		assert_int_equal(r->tag, g->tag);
	while (i < w->sends[from][at] &&
	       (w->sent[from][at][i].taken || w->sent[from][at][i].tag != r->tag))
		i++;
	assert_true(i < w->sends[from][at]);
	struct sent *s = &w->sent[from][at][i];
	s->taken = true;
	assert_int_equal(r->bytes, s->n);
	assert_int_equal(r->error, s->n > g->cap ? EMSGSIZE : 0);
	for (uint64_t k = 0; k < s->n && k < g->cap; k++)
		assert_int_equal(g->buf[k], byte_of(from, at, i, k));
	assert_int_equal(g->buf[g->cap], 0xa5);
	g->done = true;
}

/* Receives are checked in the order of posting: those of one sender and tag end in any order,
 * but what each got must be in that of sending. */
static bool
all_done(struct world *w)
{
	for (uint32_t at = 0; at < w->kit.size; at++) {
		struct mmp_result r;
		for (uint32_t i = 0; i < w->gots[at]; i++)
			if (!mmp_port_done(w->kit.proc[at].port, w->got[at][i].request, &r))
				return false;
	}
	return true;
}

static void
run(struct world *w, uint64_t most)
{
	while (most-- && !all_done(w))
		kit_step(&w->kit);
	assert_true(all_done(w));
	for (uint32_t at = 0; at < w->kit.size; at++) {
		struct mmp_result r;
		for (uint32_t i = 0; i < w->gots[at]; i++) {
			assert_true(mmp_port_done(w->kit.proc[at].port, w->got[at][i].request, &r));
			check_got(w, at, &w->got[at][i], &r);
		}
	}
	assert_int_equal(w->kit.bad, 0);
}

/* Everything that was held has been given back. */
static void
settle(struct world *w)
{
	for (int i = 0; i < 200000; i++)
		kit_step(&w->kit);
	for (uint32_t i = 0; i < w->kit.size; i++) {
		struct kit_proc *p = &w->kit.proc[i];
		assert_int_equal(mmp_engine_area(p->engine)->used, 0);
		assert_int_equal(mmp_port_area(p->port)->used, 0);
		assert_true(mmp_area_check(mmp_engine_area(p->engine)));
		assert_true(mmp_area_check(mmp_port_area(p->port)));
		assert_int_equal(mmp_engine_unsent(p->engine), 0);
	}
}

static void
world_free(struct world *w)
{
	for (uint32_t a = 0; a < w->kit.size; a++) {
		for (uint32_t b = 0; b < w->kit.size; b++)
			for (uint32_t i = 0; i < w->sends[a][b]; i++)
				free(w->sent[a][b][i].buf);
		for (uint32_t i = 0; i < w->gots[a]; i++)
			free(w->got[a][i].buf);
	}
	kit_fini(&w->kit);
	free(w);
}

static struct world *
world(uint32_t size, bool near, uint64_t half, uint64_t fragment, uint64_t seed)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	kit_init(&w->kit, size, near, half, fragment, seed);
	return w;
}

static uint64_t
some_length(struct base_prng *r, uint64_t half)
{
	switch (base_prng_below(r, 6)) {
	case 0:
		return 0;
	case 1:
		return base_prng_below(r, MMP_INLINE + 2);
	case 2:
		return half / 2 + base_prng_below(r, half * 2); /* long: more than half the half */
	default:
		return base_prng_below(r, half / 16);
	}
}

/* Sends and receives at random, from named senders with named tags, so that the model knows
 * which message is whose; posted before, between and after. */
static void
random_world(uint32_t size, bool near, uint64_t half, uint64_t fragment, uint64_t seed)
{
	struct world *w = world(size, near, half, fragment, seed);
	struct base_prng *r = &w->kit.rng;
	uint32_t posted[KIT_SIZE_MAX][KIT_SIZE_MAX] = {0};
	for (int op = 0; op < 120; op++) {
		uint32_t a = (uint32_t)base_prng_below(r, size);
		uint32_t b = (uint32_t)base_prng_below(r, size);
		do_send(w, a, b, (int32_t)base_prng_below(r, 3), some_length(r, half));
		/* The receiver asks for what is sent, in another order of tags. */
		uint32_t c = (uint32_t)base_prng_below(r, size);
		if (posted[c][b] < w->sends[c][b] && base_prng_below(r, 2)) {
			struct sent *s = &w->sent[c][b][posted[c][b]++];
			do_receive(w, b, (int32_t)c, s->tag,
				   s->n + (base_prng_below(r, 8) ? 0 : 1) -
					   (s->n && !base_prng_below(r, 8)));
		}
		for (uint64_t n = base_prng_below(r, 30); n; n--)
			kit_step(&w->kit);
	}
	/* The last sent is received first. */
	for (uint32_t a = 0; a < size; a++)
		for (uint32_t b = 0; b < size; b++)
			while (posted[a][b] < w->sends[a][b]) {
				struct sent *s = &w->sent[a][b][posted[a][b]++];
				do_receive(w, b, (int32_t)a, s->tag, s->n);
			}
	/* Truncated receives know their message only where order is by tag: take any length. */
	run(w, 4000000);
	settle(w);
	world_free(w);
}

static void
far_in_any_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		random_world(3, false, 1u << 16, 1000 + seed * 333, seed);
}

static void
near_in_any_mix(void **state)
{
	(void)state;
	for (uint64_t seed = 100; seed <= 112; seed++)
		random_world(4, true, 1u << 16, 1000 + seed * 33, seed);
}

/* Receives of anybody and any tag get each message once, those of a sender in order. */
static void
any_source(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct world *w = world(4, seed % 2, 1u << 16, 2000, seed);
		uint32_t next[KIT_SIZE_MAX] = {0}, left = 60;
		for (int i = 0; i < 60; i++) {
			uint32_t from = (uint32_t)base_prng_below(&w->kit.rng, 4);
			do_send(w, from, 0, (int32_t)base_prng_below(&w->kit.rng, 5),
				base_prng_below(&w->kit.rng, 5000));
			if (i % 3)
				do_receive(w, 0, -1, -1, 5000);
			for (int k = 0; k < 20; k++)
				kit_step(&w->kit);
		}
		while (w->gots[0] < 60)
			do_receive(w, 0, -1, -1, 5000);
		for (uint64_t most = 2000000; most && !all_done(w); most--)
			kit_step(&w->kit);
		for (uint32_t i = 0; i < 60; i++) {
			struct got *g = &w->got[0][i];
			struct mmp_result r;
			assert_true(mmp_port_done(w->kit.proc[0].port, g->request, &r));
			struct sent *s = &w->sent[r.rank][0][next[r.rank]];
			assert_int_equal(r.tag, s->tag);
			assert_int_equal(r.bytes, s->n);
			for (uint64_t k = 0; k < s->n; k++)
				assert_int_equal(g->buf[k], byte_of(r.rank, 0, next[r.rank], k));
			next[r.rank]++;
			left--;
		}
		assert_int_equal(left, 0);
		settle(w);
		world_free(w);
	}
}

/* Of receives that fit, the first posted takes the message, whether it names the sender or not. */
static void
first_posted_takes_it(void **state)
{
	(void)state;
	for (int any_first = 0; any_first < 2; any_first++) {
		struct world *w = world(2, true, 1u << 16, 1000, 7);
		struct mmp_result r;
		do_receive(w, 0, any_first ? -1 : 1, any_first ? -1 : 4, 100);
		do_receive(w, 0, any_first ? 1 : -1, any_first ? 4 : -1, 100);
		for (int i = 0; i < 1000; i++)
			kit_step(&w->kit);
		do_send(w, 1, 0, 4, 50);
		for (int i = 0; i < 10000; i++)
			kit_step(&w->kit);
		assert_true(mmp_port_done(w->kit.proc[0].port, w->got[0][0].request, &r));
		assert_false(mmp_port_done(w->kit.proc[0].port, w->got[0][1].request, &r));
		world_free(w);
	}
}

/* Two senders fill all they may of an area nobody reads from; a receive that is posted for the
 * last message ends all the same, then all others do. */
static void
full_area_keeps_and_loses_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world *w = world(3, false, 1u << 15, 512, seed);
		for (uint32_t from = 1; from < 3; from++) {
			for (int i = 0; i < 30; i++)
				do_send(w, from, 0, 1, 700);
			do_send(w, from, 0, 2, 3000);
			do_send(w, from, 0, 3, 0);
		}
		for (int i = 0; i < 100000; i++)
			kit_step(&w->kit);
		struct kit_proc *p = &w->kit.proc[0];
		assert_true(mmp_engine_area(p->engine)->used_max <= 1u << 15);
		assert_true(mmp_engine_area(p->engine)->used > 0);
		assert_true(mmp_engine_counters(w->kit.proc[1].engine)->stalls > 0);
		do_receive(w, 0, 2, 3, 0);
		do_receive(w, 0, 1, 2, 3000);
		for (int i = 0; i < 100000; i++)
			kit_step(&w->kit);
		struct mmp_result r;
		assert_true(mmp_port_done(p->port, w->got[0][0].request, &r));
		assert_true(mmp_port_done(p->port, w->got[0][1].request, &r));
		for (uint32_t from = 1; from < 3; from++) {
			for (int i = 0; i < 30; i++)
				do_receive(w, 0, (int32_t)from, 1, 700);
			do_receive(w, 0, from == 1 ? 1 : 2, from == 1 ? 3 : 2, 3000);
		}
		run(w, 2000000);
		assert_true(mmp_engine_counters(p->engine)->wants > 0);
		settle(w);
		world_free(w);
	}
}

/* Early receives are placed straight: the area is not used. */
static void
posted_early_goes_straight(void **state)
{
	(void)state;
	struct world *w = world(2, false, 1u << 16, 4096, 5);
	for (int i = 0; i < 20; i++)
		do_receive(w, 1, 0, 0, 100000);
	for (int i = 0; i < 1000; i++)
		kit_step(&w->kit);
	for (int i = 0; i < 20; i++)
		do_send(w, 0, 1, 0, 100000);
	run(w, 4000000);
	assert_int_equal(mmp_engine_counters(w->kit.proc[1].engine)->held, 0);
	assert_int_equal(mmp_engine_area(w->kit.proc[1].engine)->used_max, 0);
	settle(w);
	world_free(w);
}

/* Of a sender that dies: what came whole can be received, waits end with an error, those of any
 * sender once; others are not disturbed. */
static void
death_ends_waits(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		bool near = seed % 2;
		struct world *w = world(3, near, 1u << 16, 1000, seed);
		struct mmp_port *p0 = w->kit.proc[0].port;
		do_send(w, 1, 0, 7, 500);
		for (int i = 0; i < 4000; i++)
			kit_step(&w->kit);
		do_send(w, 1, 0, 8, 30000);
		do_send(w, 0, 1, 1, 1 << 18);
		do_send(w, 2, 0, 9, 20000);
		do_receive(w, 0, 1, 8, 30000);
		do_receive(w, 0, 1, 99, 10);
		do_receive(w, 0, -1, 99, 10);
		for (uint64_t n = base_prng_below(&w->kit.rng, 60); n; n--)
			kit_step(&w->kit);
		kit_kill(&w->kit, 1);
		do_receive(w, 0, 1, 7, 500); /* came whole before */
		do_receive(w, 0, 1, 99, 10);
		do_receive(w, 0, 2, 9, 20000);
		do_receive(w, 0, -1, 99, 10); /* told already: may yet come from 2 */
		for (int i = 0; i < 100000; i++)
			kit_step(&w->kit);
		struct mmp_result r;
		static const int error[] = {-1, ECONNRESET, ECONNRESET, 0, ECONNRESET, 0};
		for (int i = 0; i < 6; i++) {
			assert_true(mmp_port_done(p0, w->got[0][i].request, &r));
			if (error[i] >= 0)
				assert_int_equal(r.error, error[i]);
			else
				assert_true(r.error == 0 || r.error == ECONNRESET);
		}
		assert_false(mmp_port_done(p0, w->got[0][6].request, &r));
		assert_true(mmp_port_done(p0, w->sent[0][1][0].request, &r));
		assert_int_equal(r.error, ECONNRESET);
		do_send(w, 2, 0, 99, 4);
		do_send(w, 0, 1, 99, 4); /* to the dead: at once */
		assert_true(mmp_port_done(p0, w->sent[0][1][1].request, &r));
		assert_int_equal(r.error, ECONNRESET);
		for (int i = 0; i < 100000; i++)
			kit_step(&w->kit);
		assert_true(mmp_port_done(p0, w->got[0][6].request, &r));
		assert_int_equal(r.rank, 2);
		assert_int_equal(mmp_engine_area(w->kit.proc[0].engine)->used, 0);
		assert_int_equal(mmp_port_area(p0)->used, 0);
		assert_true(mmp_area_check(mmp_engine_area(w->kit.proc[0].engine)));
		world_free(w);
	}
}

/* Heads that cannot be, and fragments without credit, are refused and counted. */
static void
hostile_heads(void **state)
{
	(void)state;
	struct world *w = world(2, false, 1u << 16, 1000, 1);
	struct mmp_engine *e = w->kit.proc[0].engine;
	struct mmp_head good = {.kind = MMP_FRAGMENT, .bytes = 10, .all = 30}, h;
	uint32_t r = mmp_engine_begin(e, 1, &good);
	assert_true(r < MMP_BAD);
	mmp_engine_data(e, r, 5, "0123456789", 10); /* beyond: ignored */
	mmp_engine_end(e, r);
	h = good;
	h.offset = 10, h.tag = 5;
	assert_int_equal(mmp_engine_begin(e, 1, &h), MMP_BAD);
	h = good;
	h.offset = 10, h.bytes = 20;
	r = mmp_engine_begin(e, 1, &h);
	assert_true(r < MMP_BAD);
	assert_int_equal(mmp_engine_begin(e, 1, &good), MMP_BAD); /* more than all */
	mmp_engine_abort(e, r);
	h = good;
	h.number = 1u << 30;
	assert_int_equal(mmp_engine_begin(e, 1, &h), MMP_BAD);
	h = (struct mmp_head){.kind = MMP_CREDIT, .all = 1};
	assert_int_equal(mmp_engine_begin(e, 1, &h), MMP_BAD);
	h = (struct mmp_head){.kind = MMP_WANT, .number = 77};
	assert_int_equal(mmp_engine_begin(e, 1, &h), MMP_NONE);
	h = (struct mmp_head){.kind = MMP_FRAGMENT,
			      .flags = MMP_EAGER,
			      .number = 1,
			      .bytes = 40000,
			      .all = 40000};
	assert_int_equal(mmp_engine_begin(e, 1, &h), MMP_BAD);
	uint32_t taken = 0;
	for (uint32_t i = 0; i < 2 * MMP_PEER_FRAGMENTS; i++) {
		h = (struct mmp_head){.kind = MMP_FRAGMENT, .number = 1 + i, .bytes = 1, .all = 1};
		r = mmp_engine_begin(e, 1, &h);
		if (r == MMP_BAD)
			continue;
		mmp_engine_end(e, r);
		taken++;
	}
	assert_true(taken < MMP_PEER_FRAGMENTS);
	const struct mmp_engine_counters *n = mmp_engine_counters(e);
	assert_true(n->drop_credit > MMP_PEER_FRAGMENTS && n->drop_mixed == 2 &&
		    n->drop_number == 1);
	world_free(w);
}

static void
heads_as_bytes(void **state)
{
	(void)state;
	struct mmp_head h = {.kind = MMP_FRAGMENT,
			     .flags = MMP_EAGER,
			     .stream = 1,
			     .tag = 0x01020304,
			     .number = 0xf0e0d0c0,
			     .bytes = 1000,
			     .all = UINT64_C(1) << 33,
			     .offset = UINT64_C(1) << 32},
			g;
	uint8_t b[MMP_HEAD_BYTES];
	const char *what = NULL;
	mmp_head_put(b, &h);
	static const uint8_t start[] = {0x11, 1, 0, 1, 1, 2, 3, 4, 0xf0, 0xe0, 0xd0, 0xc0, 0, 0, 3};
	assert_memory_equal(b, start, sizeof start);
	assert_true(mmp_head_get(b, &g, &what));
	assert_memory_equal(&g, &h, sizeof h);
	/* A single wrong byte of the fixed part is named. */
	static const struct {
		int at;
		uint8_t v;
		const char *what;
	} wrong[] = {{0, 0x21, "version"},
		     {0, 0x10, "kind"},
		     {0, 0x15, "kind"},
		     {1, 2, "flags"},
		     {3, 2, "stream"},
		     {4, 0x80, "tag"},
		     {16, 1, "length of the message"},
		     {31, 0, NULL}};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		uint8_t c[MMP_HEAD_BYTES];
		memcpy(c, b, sizeof c);
		c[wrong[i].at] = wrong[i].v;
		if (!wrong[i].what) {
			assert_true(mmp_head_get(c, &g, &what));
			continue;
		}
		assert_false(mmp_head_get(c, &g, &what));
		assert_string_equal(what, wrong[i].what);
	}
	h.offset = h.all - 999;
	mmp_head_put(b, &h);
	assert_false(mmp_head_get(b, &g, &what));
	assert_string_equal(what, "fragment beyond its message");
}

/* A program that posts receives and falls silent: the ring of notices is full, and the engine has
 * nothing to do until the program reads it, and says so. */
static void
silent_program_lets_its_engine_sleep(void **state)
{
	(void)state;
	struct world *w = calloc(1, sizeof *w);
	kit_init(&w->kit, 1, true, 65536, 1000, 1);
	struct kit_proc *p = &w->kit.proc[0];
	for (int i = 0; i < (int)OPS; i++) {
		do_receive(w, 0, 0, 0, 8);
		(void)mmp_engine_turn(p->engine);
	}
	/* All is for ourselves; what is sent is copied at once, and so told to be free. */
	for (int i = 0; i < (int)OPS; i++) {
		do_send(w, 0, 0, 0, 8);
		(void)mmp_engine_turn(p->engine);
	}
	for (int i = 0; i < 3; i++)
		(void)mmp_engine_turn(p->engine);
	assert_false(mmp_engine_turn(p->engine));
	assert_false(mmp_engine_idle(p->engine));
	assert_true(mmp_engine_waits(p->engine));
	(void)mmp_port_rang(p->port);
	assert_false(mmp_port_rang(p->port));
	/* It reads, and wakes the engine each time until nothing is left. */
	struct mmp_result r;
	int rung = 0;
	while (mmp_port_turn(p->port) && mmp_port_rang(p->port)) {
		assert_false(mmp_engine_waits(p->engine) && !mmp_engine_idle(p->engine));
		(void)mmp_engine_turn(p->engine);
		rung++;
	}
	assert_true(rung > 0);
	assert_true(mmp_engine_idle(p->engine));
	for (uint32_t i = 0; i < w->gots[0]; i++)
		assert_true(mmp_port_done(p->port, w->got[0][i].request, &r));
	for (uint32_t i = 0; i < w->gots[0]; i++)
		free(w->got[0][i].buf);
	for (uint32_t i = 0; i < w->sends[0][0]; i++)
		free(w->sent[0][0][i].buf);
	kit_fini(&w->kit);
	free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_as_bytes),
		cmocka_unit_test(hostile_heads),
		cmocka_unit_test(posted_early_goes_straight),
		cmocka_unit_test(far_in_any_order),
		cmocka_unit_test(near_in_any_mix),
		cmocka_unit_test(any_source),
		cmocka_unit_test(first_posted_takes_it),
		cmocka_unit_test(full_area_keeps_and_loses_nothing),
		cmocka_unit_test(death_ends_waits),
		cmocka_unit_test(silent_program_lets_its_engine_sleep),
	};
	return cmocka_run_group_tests_name("mmp_engine", tests, NULL, NULL);
}
