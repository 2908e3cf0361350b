/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between workers: on real mbufs of pools of their own, without lcores. */
#include "cmocka_all.h"

#include "driver/eal.h"
#include "driver/pool.h"
#include "worker.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>

#define N 3

static struct rte_mempool *pool[N];
static struct rd_steer steer;
static struct rd_port port[RD_LEGS];
static struct rd_worker *worker[N];

/* What rd_steer_in does with frames: the last one, and how many. */
static struct {
	struct rte_mbuf *m;
	struct rd_leg *leg;
	uint32_t n;
} taken, pushed;

void
rd_leg_push(struct rd_leg *leg, struct rte_mbuf *m)
{
	rte_pktmbuf_free(pushed.m);
	pushed.m = m;
	pushed.leg = leg;
	pushed.n++;
}

static void
take(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m)
{
	(void)w;
	rte_pktmbuf_free(taken.m);
	taken.m = m;
	taken.leg = leg;
	taken.n++;
}

static int
group_setup(void **state)
{
	struct rd_eal_opts o = {.prog = "test", .main_lcore = -1, .mem_mb = 64};
	struct rd_pool_plan plan = {.count = 2 * RD_STEER_RING,
				    .room_bytes = 2048 + RTE_PKTMBUF_HEADROOM};
	char err[256], name[16];
	(void)state;
	if (rd_eal_start(&o, err, sizeof err))
		return -1;
	for (uint32_t i = 0; i < N; i++) {
		snprintf(name, sizeof name, "pool%u", i);
		if (rd_pool_create(&pool[i], name, &plan, 0, err, sizeof err)) {
			print_message("%s\n", err);
			return -1;
		}
		worker[i] = aligned_alloc(64, (sizeof **worker + 63) & ~(size_t)63);
		if (!worker[i])
			return -1;
	}
	return 0;
}

static int
group_teardown(void **state)
{
	uint32_t left = 0;
	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		left += rd_pool_free(pool[i]);
		free(worker[i]);
	}
	rd_eal_stop();
	return left ? -1 : 0;
}

static int
setup(void **state)
{
	(void)state;
	port[RD_LEG_PRIVATE].id = 4;
	port[RD_LEG_GLOBAL].id = 7;
	for (uint32_t i = 0; i < N; i++) {
		struct rd_worker *w = worker[i];
		memset(w, 0, sizeof *w);
		w->index = i;
		w->nworkers = N;
		w->nlegs = RD_LEGS;
		w->steer = &steer;
		w->pool = pool[i];
		for (int leg = 0; leg < RD_LEGS; leg++) {
			w->leg[leg].index = (uint8_t)leg;
			w->leg[leg].port = &port[leg];
		}
	}
	return rd_steer_init(&steer, N);
}

static int
teardown(void **state)
{
	uint32_t in_use = 0;
	(void)state;
	rd_steer_fini(&steer);
	rte_pktmbuf_free(taken.m);
	rte_pktmbuf_free(pushed.m);
	memset(&taken, 0, sizeof taken);
	memset(&pushed, 0, sizeof pushed);
	for (uint32_t i = 0; i < N; i++)
		in_use += rd_pool_in_use(pool[i]);
	return in_use ? -1 : 0; /* one leaked mbuf fails the test */
}

static struct rte_mbuf *
frame(uint32_t of, int leg, uint8_t fill, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool[of]);
	assert_non_null(m);
	memset(rte_pktmbuf_append(m, len), fill, len);
	m->port = (uint16_t)leg;
	return m;
}

static void
handed_over_is_a_copy_of_the_takers(void **state)
{
	(void)state;
	for (int leg = 0; leg < RD_LEGS; leg++) {
		struct rd_worker *from = worker[2], *to = worker[1];
		uint8_t want[1200];
		memset(want, 0x40 + leg, sizeof want);
		rd_steer_hand(from, &from->leg[leg], frame(2, leg, want[0], sizeof want), 1);
		assert_int_equal(from->leg[leg].count.steered, 1);
		assert_int_equal(from->wake_workers, 1u << 1);
		assert_true(rd_steer_waiting(to));
		assert_false(rd_steer_waiting(worker[0]));
		assert_false(rd_steer_waiting(from));
		assert_int_equal(rd_steer_in(worker[0], take), 0);
		assert_int_equal(rd_steer_in(to, take), 1);
		assert_ptr_equal(taken.leg, &to->leg[leg]);
		assert_ptr_equal(taken.m->pool, pool[1]);
		assert_int_equal(taken.m->pkt_len, sizeof want);
		assert_memory_equal(rte_pktmbuf_mtod(taken.m, void *), want, sizeof want);
		assert_int_equal(rd_pool_in_use(pool[2]), 0); /* the receiver's is back */
		assert_false(rd_steer_waiting(to));
	}
}

static void
full_ring_drops_and_counts(void **state)
{
	struct rd_worker *from = worker[0], *to = worker[1];
	struct rd_leg *leg = &from->leg[RD_LEG_GLOBAL];
	(void)state;
	for (uint32_t i = 0; i < RD_STEER_RING + 5; i++)
		rd_steer_hand(from, leg, frame(0, RD_LEG_GLOBAL, 1, 60), 1);
	assert_int_equal(leg->count.steered, RD_STEER_RING);
	assert_int_equal(leg->count.drop_steer_full, 5);
	assert_int_equal(rd_pool_in_use(pool[0]), RD_STEER_RING);
	/* The others have rings of their own, also the other way. */
	rd_steer_hand(from, leg, frame(0, RD_LEG_GLOBAL, 1, 60), 2);
	rd_steer_hand(to, &to->leg[0], frame(1, 0, 1, 60), 0);
	assert_int_equal(leg->count.drop_steer_full, 5);
	/* A turn takes a burst of each other worker. */
	assert_int_equal(rd_steer_in(to, take), RD_BURST);
	assert_int_equal(rd_steer_in(worker[2], take), 1);
	assert_int_equal(rd_steer_in(from, take), 1);
}

static void
no_buffer_for_the_copy_is_counted(void **state)
{
	struct rd_worker *from = worker[0], *to = worker[1];
	struct rte_mbuf *all[2 * RD_STEER_RING];
	uint32_t n = 0;
	(void)state;
	while (n < 2 * RD_STEER_RING && (all[n] = rte_pktmbuf_alloc(pool[1])))
		n++;
	rd_steer_hand(from, &from->leg[0], frame(0, 0, 1, 60), 1);
	assert_int_equal(rd_steer_in(to, take), 1);
	assert_int_equal(taken.n, 0);
	assert_int_equal(to->leg[0].count.drop_no_buffer, 1);
	assert_int_equal(rd_pool_in_use(pool[0]), 0);
	rte_pktmbuf_free_bulk(all, n);
}

/* A frame of len bytes, of which told are passed on. */
static void
all_learn(uint32_t len, uint32_t told)
{
	struct rd_worker *from = worker[0];
	struct rte_mbuf *m = frame(0, RD_LEG_PRIVATE, 0x77, (uint16_t)len);

	rd_steer_tell(from, &from->leg[RD_LEG_PRIVATE], m);
	for (uint32_t i = 1; i < N; i++) {
		assert_int_equal(rd_steer_in(worker[i], take), 1);
		assert_int_equal(taken.m->pkt_len, told);
		assert_memory_equal(rte_pktmbuf_mtod(taken.m, void *), rte_pktmbuf_mtod(m, void *),
				    told);
		assert_ptr_equal(taken.leg, &worker[i]->leg[RD_LEG_PRIVATE]);
	}
	rte_pktmbuf_free(m);
}

static void
all_others_learn(void **state)
{
	struct rd_worker *from = worker[0];

	(void)state;
	all_learn(60, 60);
	assert_int_equal(from->leg[RD_LEG_PRIVATE].count.steer_told, N - 1);
	assert_int_equal(from->leg[RD_LEG_PRIVATE].count.steered, 0);
	assert_int_equal(from->wake_workers, 6);
	all_learn(400, 256);
}

static void
out_through_anothers_queue(void **state)
{
	struct rd_worker *from = worker[2], *to = worker[1];
	struct rd_leg *leg = &from->leg[RD_LEG_GLOBAL];
	struct rte_mbuf *m = frame(2, RD_LEG_GLOBAL, 9, 100);
	(void)state;
	leg->via = 1;
	m->port = UINT16_MAX; /* built, not received */
	rd_steer_out(from, leg, m);
	assert_int_equal(leg->count.tx_steered, 1);
	assert_int_equal(from->wake_workers, 2);
	assert_int_equal(rd_steer_in(to, take), 1);
	assert_int_equal(taken.n, 0);
	assert_int_equal(pushed.n, 1);
	assert_ptr_equal(pushed.m, m); /* as it is: nobody else holds it */
	assert_ptr_equal(pushed.leg, &to->leg[RD_LEG_GLOBAL]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handed_over_is_a_copy_of_the_takers, setup,
						teardown),
		cmocka_unit_test_setup_teardown(full_ring_drops_and_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(no_buffer_for_the_copy_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(all_others_learn, setup, teardown),
		cmocka_unit_test_setup_teardown(out_through_anothers_queue, setup, teardown),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
