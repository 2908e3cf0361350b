/* SPDX-License-Identifier: BSD-2-Clause */
#include "play.h"

#include "base/clock.h"
#include "driver/clock.h"
#include "driver/eal.h"
#include "driver/idle.h"
#include "driver/pool.h"
#include "pktgen/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define DESCRIPTORS 256
#define STUCK_NS    (2 * BASE_S_NS) /* a port that takes nothing for so long is dead */
#define LATE_MAX_NS (5 * BASE_MS_NS)
#define SETTLE_US   20000 /* for the driver to hand its last frames on before close */

struct player {
	const struct pg_play *p;
	struct pg_gen *g;
	struct rd_port port;
	struct rte_mempool *pool;
	struct rd_pool_plan plan;
	uint64_t sent;
};

static struct rte_mbuf *
build_play(struct player *y)
{
	enum pg_kind kind;
	struct rte_mbuf *m = rte_pktmbuf_alloc(y->pool);
	if (!m)
		return NULL;
	size_t len = pg_next(y->g, rte_pktmbuf_mtod(m, uint8_t *), &kind);
	m->data_len = (uint16_t)len;
	m->pkt_len = (uint32_t)len;
	return m;
}

/* All n frames, or what the port took before it was stuck. */
static uint16_t
send_all_play(struct player *y, struct rte_mbuf **m, uint16_t n, struct rd_clock *clock)
{
	uint64_t since = rd_clock_ns(clock);
	uint16_t done = 0;
	while (done < n && !*y->p->stop) {
		uint16_t k = rte_eth_tx_burst(y->port.id, 0, m + done, (uint16_t)(n - done));
		uint64_t now = rd_clock_ns(clock);
		done = (uint16_t)(done + k);
		if (k)
			since = now;
		else if (now - since > STUCK_NS)
			break;
		else
			(void)rte_eth_tx_done_cleanup(y->port.id, 0, 0);
	}
	if (done < n)
		rte_pktmbuf_free_bulk(m + done, n - done);
	return done;
}

/* Replies are not looked at, but must not pile up. */
static unsigned
discard_play(struct player *y)
{
	struct rte_mbuf *m[PG_BURST];
	uint16_t n = rte_eth_rx_burst(y->port.id, 0, m, PG_BURST);
	if (n)
		rte_pktmbuf_free_bulk(m, n);
	return n;
}

static int
run_play(struct player *y)
{
	struct rd_clock clock;
	struct rd_idle idle;
	const struct pg_play *p = y->p;
	rd_clock_init(&clock);
	rd_idle_init(&idle, RD_IDLE_SLEEP, 0);
	uint64_t start = rd_clock_ns(&clock), base = 0; /* frame number base is due at start */
	while (y->sent < p->count && !*p->stop) {
		uint64_t now = rd_clock_ns(&clock);
		double gap_ns = 1e9 / (double)p->rate_pps;
		uint64_t due = base + (uint64_t)((double)(now - start) / gap_ns) + 1;
		uint64_t next = start + (uint64_t)((double)(y->sent - base) * gap_ns);
		if (now > next + LATE_MAX_NS) {
			start = now;
			base = y->sent;
			due = base + 1;
		}
		unsigned work = discard_play(y);
		if (due > y->sent) {
			struct rte_mbuf *m[PG_BURST];
			uint16_t n = 0;
			uint64_t want = due < p->count ? due - y->sent : p->count - y->sent;
			while (n < PG_BURST && n < want && (m[n] = build_play(y)))
				n++;
			uint16_t k = send_all_play(y, m, n, &clock);
			y->sent += k;
			work += k;
			if (k < n || n == 0)
				break;
			next = start + (uint64_t)((double)(y->sent - base) * gap_ns);
		}
		rd_idle_turn(&idle, work, now, next);
	}
	(void)rte_eth_tx_done_cleanup(y->port.id, 0, 0);
	usleep(SETTLE_US);
	struct rte_eth_stats st = {0};
	(void)rte_eth_stats_get(y->port.id, &st);
	if (y->sent == p->count && st.oerrors == 0)
		return 0;
	fprintf(stderr,
		"relay-pktgen: %s: %" PRIu64 " of %" PRIu64 " frames sent, %" PRIu64
		" refused by the driver%s\n",
		y->port.name, y->sent, p->count, st.oerrors, *p->stop ? " (stopped)" : "");
	return -1;
}

static int
open_play_port(struct player *y, char *err, size_t err_max)
{
	const struct pg_play *p = y->p;
	y->plan = rd_pool_plan((uint16_t)(p->mtu + PG_OVER_MAX), 2 * DESCRIPTORS, 2 * PG_BURST, 1);
	struct rd_eal_opts eo = {
		.prog = p->prog,
		.file_prefix = p->file_prefix,
		.lcores = p->lcores,
		.main_lcore = -1,
		.mem_mb = rd_pool_mem_mb(y->plan.bytes),
	};
	/* A NIC reads our memory by DMA: it needs hugepages. */
	if (rd_dev_is_pci(p->device)) {
		eo.pci_allow[eo.n_pci_allow++] = p->device;
		eo.huge = true;
	}
	int r = rd_eal_start(&eo, err, err_max);
	if (r == 0)
		r = rd_pool_create(&y->pool, "pktgen", &y->plan, 0, err, err_max);
	struct rd_port_conf pc = {
		.device = p->device,
		.pmd = p->pmd,
		.mtu = p->mtu,
		.n_rxq = 1,
		.n_txq = 1,
		.n_rxd = DESCRIPTORS,
		.n_txd = DESCRIPTORS,
		.pool = y->pool,
	};
	return r ? r : rd_port_open(&y->port, &pc, err, err_max);
}

int
pg_play(const struct pg_play *p, struct pg_gen *g)
{
	struct player y = {.p = p, .g = g};
	char err[512] = "";
	int r = open_play_port(&y, err, sizeof err);
	if (r)
		fprintf(stderr, "relay-pktgen: %s\n", err);
	else
		r = run_play(&y);
	rd_port_close(&y.port);
	uint32_t lost = rd_pool_free(y.pool);
	if (lost) {
		fprintf(stderr, "relay-pktgen: %u of %u buffers did not come back\n", lost,
			y.plan.count);
		r = -1;
	}
	rd_eal_stop();
	return r ? -1 : 0;
}
