/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes of a node, each with a thread for its program and one for its engine, joined by
 * a pair of rings: `make check` runs it under ThreadSanitizer.  And slots that cannot be. */
#include "mmp/pair.h"
#include "mmp/port.h"

#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define HALF	 (1u << 16)
#define MESSAGES 300

struct proc {
	uint32_t rank;
	struct mmp_engine *engine;
	struct mmp_port *port;
	struct mmp_pair pair;
	void *ring[4], *in, *mem[2];
	uint8_t *half[2];
	_Atomic int stop;
	int wrong, broken;
};

static void *
zeros(size_t n)
{
	void *p = aligned_alloc(64, (n + 63) / 64 * 64);
	assert_non_null(p);
	memset(p, 0, (n + 63) / 64 * 64);
	return p;
}

static bool
pair_send(void *user, uint32_t peer, const struct mmp_head *h, const void *data, uint32_t name)
{
	struct proc *p = user;
	(void)peer;
	return mmp_pair_send(&p->pair, p->engine, h, data, name);
}

static void
pair_release(void *user, uint32_t peer, uint32_t cookie)
{
	(void)peer;
	mmp_pair_release(&((struct proc *)user)->pair, cookie);
}

static void
make(struct proc *p, uint32_t rank)
{
	static const struct mmp_engine_ops ops = {.send = pair_send, .release = pair_release};
	memset(p, 0, sizeof *p);
	p->rank = rank;
	for (int i = 0; i < 4; i++)
		p->ring[i] = zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	p->in = zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	p->half[0] = zeros(HALF);
	p->half[1] = zeros(HALF);
	struct mmp_rings rings = {p->ring[0], p->ring[1], p->ring[2], p->ring[3]};
	struct mmp_engine_config e = {.rank = rank,
				      .size = 2,
				      .rings = rings,
				      .send_half = p->half[0],
				      .recv_half = p->half[1],
				      .recv_bytes = HALF,
				      .ops = &ops,
				      .user = p};
	struct mmp_port_config c = {.rank = rank,
				    .size = 2,
				    .rings = rings,
				    .send_half = p->half[0],
				    .send_bytes = HALF,
				    .fragment = 1500};
	p->mem[0] = zeros(mmp_engine_footprint(2));
	p->mem[1] = zeros(mmp_port_footprint(2));
	p->engine = mmp_engine_new(p->mem[0], &e);
	p->port = mmp_port_new(p->mem[1], &c);
	mmp_engine_up(p->engine, !rank, true, 0);
}

static void
join(struct proc p[2])
{
	for (int i = 0; i < 2; i++)
		mmp_pair_init(&p[i].pair, p[!i].in, p[i].in, p[i].half[0], p[!i].half[0], HALF);
}

static void
unmake(struct proc *p)
{
	void *all[] = {p->ring[0], p->ring[1], p->ring[2], p->ring[3], p->in,
		       p->mem[0],  p->mem[1],  p->half[0], p->half[1]};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]);
}

static uint64_t
length(uint32_t from, uint32_t i)
{
	static const uint64_t some[] = {0, 7, 20, 21, 1500, 1501, 9000, 60000};
	return some[(from * 3 + i * 5) % 8];
}

static void *
engine_thread(void *arg)
{
	struct proc *p = arg;
	while (!atomic_load(&p->stop)) {
		int r = mmp_pair_turn(&p->pair, p->engine, !p->rank);
		p->broken |= r < 0;
		if (!mmp_engine_turn(p->engine) && !r)
			sched_yield();
	}
	return NULL;
}

static void
await(struct proc *p, uint32_t request, struct mmp_result *r)
{
	while (!mmp_port_done(p->port, request, r))
		if (!mmp_port_turn(p->port))
			sched_yield();
	mmp_port_forget(p->port, request);
}

static void *
program_thread(void *arg)
{
	struct proc *p = arg;
	uint8_t *out = malloc(60000), *in = malloc(60000);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint64_t n = length(p->rank, i), want = length(!p->rank, i);
		struct mmp_result r;
		uint32_t got = MMP_NONE, sent;
		/* Every second receive is posted before. */
		if (i % 2)
			got = mmp_port_receive(p->port, !p->rank, 0, 0, in, 60000);
		memset(out, (int)(p->rank + i), n);
		sent = mmp_port_send(p->port, !p->rank, 0, 0, out, n);
		await(p, sent, &r);
		memset(out, 0xff, n);
		if (got == MMP_NONE)
			got = mmp_port_receive(p->port, -1, 0, -1, in, 60000);
		await(p, got, &r);
		p->wrong |= r.error || r.bytes != want || r.rank != !p->rank;
		for (uint64_t k = 0; k < want; k++)
			p->wrong |= in[k] != (uint8_t)(!p->rank + i);
	}
	free(out);
	free(in);
	return NULL;
}

static void
four_threads(void **state)
{
	(void)state;
	struct proc p[2];
	pthread_t engine[2], program[2];
	for (uint32_t i = 0; i < 2; i++)
		make(&p[i], i);
	join(p);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&engine[i], NULL, engine_thread, &p[i]), 0);
		assert_int_equal(pthread_create(&program[i], NULL, program_thread, &p[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(program[i], NULL);
	for (int i = 0; i < 2; i++) {
		atomic_store(&p[i].stop, 1);
		pthread_join(engine[i], NULL);
		assert_int_equal(p[i].wrong | p[i].broken, 0);
		assert_true(mmp_engine_counters(p[i].engine)->straight > 0);
		unmake(&p[i]);
	}
}

/* Slots as a process that has gone mad writes them. */
static void
slots_that_cannot_be(void **state)
{
	(void)state;
	static const struct {
		uint32_t kind, name, at;
		struct mmp_head head;
	} bad[] = {
		{1, 0, HALF - 50, {.kind = 1, .bytes = 100, .all = 100}}, /* beyond the half */
		{1, 0, 0, {.kind = 1, .bytes = 10, .all = 10}}, /* short, and not in the slot */
		{2, 0, 0, {.kind = 1, .bytes = 21, .all = 21}}, /* in the slot, and too long */
		{2, 0, 0, {.kind = 7, .bytes = 1, .all = 1}},	/* no such head */
		{2, 0, 0, {.kind = 1, .bytes = 20, .all = 10}},
		{9, 0, 0, {.kind = 1, .bytes = 1, .all = 1}},
		{3, 0, 0, {.kind = 1}}, /* a name that was not lent: one of its 1 */
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct proc p[2];
		make(&p[0], 0);
		make(&p[1], 1);
		join(p);
		uint32_t *s = mmp_ring_room(&p[1].pair.tx);
		if (!s)
			abort();
		memset(s, 0, MMP_SLOT_DATA);
		s[0] = bad[i].kind;
		memcpy(s + 1, &bad[i].head, sizeof bad[i].head);
		s[9] = bad[i].name;
		s[11] = bad[i].at;
		mmp_ring_push(&p[1].pair.tx);
		assert_int_equal(mmp_pair_turn(&p[0].pair, p[0].engine, 1), -1);
		unmake(&p[0]);
		unmake(&p[1]);
	}
}

/* What was lent is given back once. */
static void
a_name_given_back_twice(void **state)
{
	(void)state;
	struct proc p[2];
	static uint8_t data[1000];
	make(&p[0], 0);
	make(&p[1], 1);
	join(p);
	(void)mmp_port_send(p[0].port, 1, 0, 0, data, sizeof data);
	(void)mmp_engine_turn(p[0].engine);
	for (int i = 0; i < 2; i++) {
		uint32_t *s = mmp_ring_room(&p[1].pair.tx);
		if (!s)
			abort();
		memset(s, 0, MMP_SLOT_DATA);
		s[0] = 3;
		s[1] = 1; /* the name 0 */
		mmp_ring_push(&p[1].pair.tx);
		assert_int_equal(mmp_pair_turn(&p[0].pair, p[0].engine, 1), i ? -1 : 1);
	}
	unmake(&p[0]);
	unmake(&p[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_that_cannot_be),
		cmocka_unit_test(a_name_given_back_twice),
		cmocka_unit_test(four_threads),
	};
	return cmocka_run_group_tests_name("mmp_pair", tests, NULL, NULL);
}
