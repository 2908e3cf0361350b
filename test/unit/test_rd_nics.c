/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver says that its port has to be reset: the workers leave it alone, it is reset and works
 * again; one that cannot be had is tried again until it can.  A link that changes is seen at the
 * next tick where its driver has an interrupt for it, or tells; else within a second. */
#include "cmocka_all.h"

#include "nics.h"

#include "base/clock.h"
#include "driver/eal.h"
#include "driver/pool.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 2

/* What a driver calls.  Exported, but in no header that is installed. */
extern char rte_eth_devices[];
int rte_eth_dev_callback_process(void *dev, enum rte_eth_event_type event, void *ret);

static struct rte_mempool *pool;
static struct rd_mailbox *box[WORKERS];
static struct rd_post post = {.nworkers = WORKERS, .waker.fd = -1};
static struct rd_nics nics;
static struct rd_port port;
static struct rd_port_conf conf = {
	.device = "net_null0,size=60", .mtu = 1500, .n_rxq = 1, .n_txq = 1};
static bool off[WORKERS];
static uint32_t told;
static uint64_t now_ns;

static int
group_setup(void **state)
{
	struct rd_eal_opts o = {.prog = "test", .main_lcore = -1, .mem_mb = 32};
	struct rd_pool_plan plan = {.count = 2048, .room_bytes = 2048 + RTE_PKTMBUF_HEADROOM};
	char err[256];
	(void)state;
	for (uint32_t i = 0; i < WORKERS; i++) {
		box[i] = aligned_alloc(64, (sizeof **box + 63) & ~(size_t)63);
		if (!box[i] || rd_mailbox_init(box[i], &post.waker))
			return -1;
		post.box[i] = box[i];
	}
	if (rd_eal_start(&o, err, sizeof err) ||
	    rd_pool_create(&pool, "frames", &plan, 0, err, sizeof err)) {
		print_message("%s\n", err);
		return -1;
	}
	conf.pool = pool;
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	uint32_t left = rd_pool_free(pool);
	rd_eal_stop();
	for (uint32_t i = 0; i < WORKERS; i++) {
		rd_mailbox_fini(box[i]);
		free(box[i]);
	}
	return left ? -1 : 0;
}

static int
setup(void **state)
{
	char err[256];
	(void)state;
	memset(&nics, 0, sizeof nics);
	memset(off, 0, sizeof off);
	told = 0;
	now_ns = BASE_S_NS;
	if (rd_port_open(&port, &conf, err, sizeof err))
		return -1;
	rd_nics_init(&nics, &port, &conf, 1, &post);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rd_nics_fini(&nics);
	rd_port_close(&port);
	return 0;
}

/* Worker i reads its mail. */
static void
work(uint32_t i)
{
	struct rd_mail *mail;
	while ((mail = base_ring_pop(&box[i]->to_worker))) {
		assert_int_equal(mail->type, RD_MAIL_LEG);
		assert_int_equal(mail->port.leg, 0);
		off[i] = mail->port.off;
		told++;
		mail->result = 0;
		mail->gateway = false;
		assert_true(base_ring_push(&box[i]->replies, mail));
	}
}

static void
control(uint64_t after_ns)
{
	now_ns += after_ns;
	rd_post_read(&post);
	rd_nics_tick(&nics, now_ns);
}

static void
say_reset(void)
{
	assert_int_equal(port.id, 0);
	rte_eth_dev_callback_process(rte_eth_devices, RTE_ETH_EVENT_INTR_RESET, NULL);
}

/* Until the thread has ended; it takes real time. */
static void
wait_for_reset(void)
{
	while (nics.reset.phase == RD_NIC_RESETS) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		control(0);
	}
}

static void
is_reset(void **state)
{
	struct rte_mbuf *m[8];
	(void)state;
	say_reset();
	control(2 * BASE_S_NS); /* sees the event */
	control(0);
	work(0);
	control(0);
	/* One worker has not said that it leaves the port alone. */
	assert_true(off[0] && port.open);
	assert_int_equal(nics.reset.phase, RD_NIC_STOPS);
	assert_false(rd_nics_reset(&nics, 0));
	work(1);
	control(0);
	wait_for_reset();
	assert_true(port.open);
	assert_int_equal(nics.nic[0].resets_done, 1);
	work(0);
	work(1);
	control(0);
	assert_int_equal(nics.reset.phase, RD_NIC_WORKS);
	assert_false(off[0] || off[1]);
	assert_int_equal(told, 4);
	uint16_t n = rte_eth_rx_burst(port.id, 0, m, 8);
	assert_int_equal(n, 8);
	rte_pktmbuf_free_bulk(m, n);
	/* The events of the port that it is now are heard, too. */
	say_reset();
	assert_int_equal(atomic_load(&nics.nic[0].resets), 2);
}

static void
is_tried_again(void **state)
{
	(void)state;
	conf.device = "nosuch0";
	assert_true(rd_nics_reset(&nics, 0));
	control(0);
	work(0);
	work(1);
	control(0);
	wait_for_reset();
	assert_false(port.open);
	assert_int_equal(nics.reset.phase, RD_NIC_STOPS);
	assert_string_not_equal(nics.reset.why, "");
	conf.device = "net_null0,size=60";
	control(BASE_S_NS / 2);
	assert_int_equal(nics.reset.phase, RD_NIC_STOPS);
	control(BASE_S_NS);
	wait_for_reset();
	assert_true(port.open);
	assert_int_equal(nics.nic[0].resets_done, 1);
	work(0);
	work(1);
	control(0);
	assert_int_equal(nics.reset.phase, RD_NIC_WORKS);
}

/* The relay ends in the middle of it: all is closed, and nothing is left. */
static void
ends_meanwhile(void **state)
{
	(void)state;
	assert_true(rd_nics_reset(&nics, 0));
	control(0);
	work(0);
	work(1);
	control(0);
	assert_int_equal(nics.reset.phase, RD_NIC_RESETS);
	rd_nics_fini(&nics);
	assert_true(port.open);
}

static void
set_link(bool up)
{
	assert_int_equal(up ? rte_eth_dev_set_link_up(port.id) : rte_eth_dev_set_link_down(port.id),
			 0);
}

static void
say_link(bool up)
{
	set_link(up);
	rte_eth_dev_callback_process(rte_eth_devices, RTE_ETH_EVENT_INTR_LSC, NULL);
}

static void
link_is_seen(void **state)
{
	const struct rd_nic *nic = &nics.nic[0];
	const uint64_t tick_ns = 50 * BASE_MS_NS;
	(void)state;
	control(2 * BASE_S_NS);
	assert_true(nic->up);
	/* Nobody tells, and looking may cost. */
	set_link(false);
	control(tick_ns);
	assert_true(nic->up);
	control(BASE_S_NS);
	assert_false(nic->up);
	assert_int_equal(nic->link_changes, 1);
	/* The driver has it in its memory. */
	port.link_intr = true;
	set_link(true);
	control(tick_ns);
	assert_true(nic->up);
	assert_int_equal(nic->link_changes, 2);
	/* It tells. */
	port.link_intr = false;
	say_link(false);
	control(tick_ns);
	assert_false(nic->up);
	/* Twice, and as it was: both are counted.  Drivers say so also where nothing changed. */
	say_link(true);
	say_link(false);
	control(tick_ns);
	assert_false(nic->up);
	assert_int_equal(nic->link_changes, 5);
	say_link(false);
	say_link(false);
	control(tick_ns);
	assert_int_equal(nic->link_changes, 5);
	/* Removal, too, is told at the next tick. */
	rte_eth_dev_callback_process(rte_eth_devices, RTE_ETH_EVENT_INTR_RMV, NULL);
	assert_int_equal(nic->removed_told, 0);
	control(tick_ns);
	assert_int_equal(nic->removed_told, 1);
}

static int
setup_ring(void **state)
{
	conf.device = "net_ring0";
	return setup(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(is_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(link_is_seen, setup_ring, teardown),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
