/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between the worker's rings and a TAP, for which a packet socket pair stands in:
 * one read, one frame. */
#include "cmocka_all.h"

#include "driver/eal.h"
#include "driver/pool.h"
#include "rd/packet.h"
#include "tap.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFERS 1024

static struct rte_mempool *pool;
static struct rd_mailbox *box;
static struct rd_wake wake = {.fd = -1};
static struct rd_taps taps;
static int kernel; /* the other end of the global leg's TAP */

static int
group_setup(void **state)
{
	struct rd_eal_opts o = {.prog = "test", .main_lcore = -1, .mem_mb = 32};
	struct rd_pool_plan plan = {
		.count = BUFFERS, .room_bytes = 2048 + RTE_PKTMBUF_HEADROOM, .bytes = 0};
	char err[256];
	(void)state;
	box = aligned_alloc(64, (sizeof *box + 63) & ~(size_t)63);
	if (!box || rd_mailbox_init(box, &wake) || rd_eal_start(&o, err, sizeof err) ||
	    rd_pool_create(&pool, "frames", &plan, 0, err, sizeof err)) {
		print_message("no mailbox or no pool\n");
		return -1;
	}
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	uint32_t left = rd_pool_free(pool);
	rd_eal_stop();
	rd_mailbox_fini(box);
	free(box);
	return left ? -1 : 0;
}

static int
setup(void **state)
{
	int pair[2];
	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		return -1;
	taps = (struct rd_taps){.box = box, .pool = pool, .fd = {-1, -1}};
	taps.fd[RD_LEG_GLOBAL] = pair[0];
	kernel = pair[1];
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	close(taps.fd[RD_LEG_GLOBAL]);
	close(kernel);
	return rd_pool_in_use(pool) ? -1 : 0; /* one leaked mbuf fails the test */
}

/* A socket pair holds fewer packets than a TAP: n of them in several goes. */
static void
kernel_sends(uint8_t first, uint32_t n, size_t len)
{
	uint8_t frame[2048];
	for (uint32_t i = 0; i < n; i++) {
		memset(frame, (uint8_t)(first + i), len);
		assert_int_equal(send(kernel, frame, len, 0), (ssize_t)len);
	}
}

static struct rte_mbuf *
for_worker(int leg)
{
	return base_ring_pop(&box->from_tap[leg]);
}

static void
worker_sends(int leg, uint8_t fill, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	assert_non_null(m);
	void *frame = rte_pktmbuf_append(m, len);
	assert_non_null(frame);
	memset(frame, fill, len);
	assert_true(base_ring_push(&box->to_tap[leg], m));
}

static void
frames_of_the_kernel_in_order(void **state)
{
	(void)state;
	kernel_sends(1, 3, 60);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, RD_TAP_FRAMES), 3);
	for (uint8_t i = 1; i <= 3; i++) {
		struct rte_mbuf *m = for_worker(RD_LEG_GLOBAL);
		assert_non_null(m);
		assert_int_equal(m->data_len, 60);
		assert_int_equal(m->pkt_len, 60);
		assert_int_equal(*rte_pktmbuf_mtod(m, uint8_t *), i);
		rte_pktmbuf_free(m);
	}
	assert_null(for_worker(RD_LEG_GLOBAL));
	assert_null(for_worker(RD_LEG_PRIVATE));
	assert_int_equal(taps.count.from_kernel, 3);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, RD_TAP_FRAMES), 0);
}

/* Whatever waits: a turn takes its share and leaves the rest where it was. */
static void
a_turn_is_bounded(void **state)
{
	uint8_t got[64];
	(void)state;
	kernel_sends(1, 6, 60);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, 4), 4);
	assert_int_equal(base_ring_count(&box->from_tap[RD_LEG_GLOBAL]), 4);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, 4), 2);
	for (int i = 0; i < 6; i++)
		rte_pktmbuf_free(for_worker(RD_LEG_GLOBAL));
	for (uint8_t i = 0; i < 6; i++)
		worker_sends(RD_LEG_GLOBAL, i, 60);
	assert_int_equal(rd_tap_write(&taps, RD_LEG_GLOBAL, 4), 4);
	assert_int_equal(base_ring_count(&box->to_tap[RD_LEG_GLOBAL]), 2);
	assert_int_equal(rd_tap_write(&taps, RD_LEG_GLOBAL, 4), 2);
	assert_int_equal(rd_tap_write(&taps, RD_LEG_GLOBAL, 4), 0);
	for (uint8_t i = 0; i < 6; i++) {
		assert_int_equal(recv(kernel, got, sizeof got, 0), 60);
		assert_int_equal(got[0], i);
	}
	assert_int_equal(taps.count.to_kernel, 6);
}

/* Nothing a frame could be; bounded all the same. */
static void
runts_are_thrown_away(void **state)
{
	(void)state;
	kernel_sends(1, 3, RD_ETH_HDR - 1);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, 2), 2);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, 2), 1);
	assert_int_equal(base_ring_count(&box->from_tap[RD_LEG_GLOBAL]), 0);
	assert_int_equal(taps.count.from_kernel, 0);
}

static void
worker_is_late(void **state)
{
	(void)state;
	for (uint32_t done = 0; done < RD_TAP_RING; done += 8) {
		kernel_sends(0, 8, 60);
		assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, RD_TAP_FRAMES), 8);
	}
	kernel_sends(0, 2, 60);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, RD_TAP_FRAMES), 2);
	assert_int_equal(taps.count.from_kernel, RD_TAP_RING);
	assert_int_equal(taps.count.drop_full, 2);
	struct rte_mbuf *m;
	while ((m = for_worker(RD_LEG_GLOBAL)))
		rte_pktmbuf_free(m);
}

/* With the pool empty a frame is lost and counted, and the next is not cut in two. */
static void
pool_is_empty(void **state)
{
	struct rte_mbuf *all[BUFFERS], *m;
	uint32_t n = 0;
	(void)state;
	while (n < BUFFERS && (all[n] = rte_pktmbuf_alloc(pool)))
		n++;
	kernel_sends(1, 2, 200);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, 1), 1);
	assert_int_equal(taps.count.drop_no_buffer, 1);
	while (n)
		rte_pktmbuf_free(all[--n]);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_GLOBAL, 1), 1);
	m = for_worker(RD_LEG_GLOBAL);
	assert_non_null(m);
	assert_int_equal(m->data_len, 200);
	assert_int_equal(*rte_pktmbuf_mtod(m, uint8_t *), 2);
	rte_pktmbuf_free(m);
}

static void
a_tap_that_takes_nothing(void **state)
{
	(void)state;
	worker_sends(RD_LEG_PRIVATE, 1, 60); /* not open */
	assert_int_equal(rd_tap_write(&taps, RD_LEG_PRIVATE, 4), 1);
	assert_int_equal(rd_tap_read(&taps, RD_LEG_PRIVATE, 4), 0);
	assert_int_equal(taps.count.drop_write, 1);
	assert_int_equal(taps.count.to_kernel, 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(frames_of_the_kernel_in_order),
		T(a_turn_is_bounded),
		T(runts_are_thrown_away),
		T(worker_is_late),
		T(pool_is_empty),
		T(a_tap_that_takes_nothing),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
