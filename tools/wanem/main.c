/* SPDX-License-Identifier: BSD-2-Clause */
/* wanem - the DPDK shell around wanem_core: two ports, one thread, both directions. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <jansson.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/clock.h"
#include "base/hist.h"
#include "driver/clock.h"
#include "driver/eal.h"
#include "driver/idle.h"
#include "driver/nap.h"
#include "driver/poller.h"
#include "driver/pool.h"
#include "driver/port.h"
#include "options.h"

#define BURST	      64
#define DESCRIPTORS   1024
#define TX_TRY_NS     BASE_MS_NS	/* how long a full port may keep a frame waiting */
#define IDLE_SLACK_NS (30 * BASE_US_NS) /* lateness for fewer wake-ups, idle sleep only */
#define CLOCK_TURNS   256		/* housekeeping every so many turns */

struct lane {
	const char *name;
	struct rd_port *in, *out;
	struct wan_dir *core;
	void *mem;
	struct rte_mbuf *wait[BURST]; /* due frames the port has not taken yet */
	uint16_t n_wait;
	uint64_t wait_since_ns;
	struct base_hist late; /* how long after its time a frame left, ns */
};

struct wanem {
	struct wan_opts o;
	struct rd_port port[2];
	struct lane lane[2];
	struct rte_mempool *pool;
	struct rd_pool_plan plan;
	struct rd_clock clock;
	struct rd_idle idle;
	struct rd_nap naps;
	uint64_t start_ns;
};

static volatile sig_atomic_t stop_asked, stats_asked;

static void
on_wanem_signal(int sig)
{
	if (sig == SIGUSR1)
		stats_asked = 1;
	else
		stop_asked = 1;
}

static void
catch_wanem_signals(void)
{
	struct sigaction sa = {.sa_handler = on_wanem_signal};
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* rx: everything the port has goes into the core. */
static unsigned
receive_wanem(struct lane *l, uint64_t now_ns)
{
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(l->in->id, 0, m, BURST);
	for (uint16_t i = 0; i < n; i++)
		if (wan_in(l->core, m[i], m[i]->pkt_len, now_ns) != WAN_HELD)
			rte_pktmbuf_free(m[i]);
	return n;
}

/* A duplicate is a frame of its own: two descriptors must not share an mbuf that a
 * driver may still write to. */
static struct rte_mbuf *
wanem_again(struct wanem *w, struct rte_mbuf *m)
{
	return rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
}

static void
give_up_wanem(struct lane *l)
{
	for (uint16_t i = 0; i < l->n_wait; i++)
		wan_tx_refused(l->core, l->wait[i]->pkt_len);
	rte_pktmbuf_free_bulk(l->wait, l->n_wait);
	l->n_wait = 0;
}

/* tx: due frames leave; what the port refuses waits TX_TRY_NS, then is dropped. */
static unsigned
transmit_wanem(struct wanem *w, struct lane *l, uint64_t now_ns)
{
	struct wan_frame f;
	uint16_t fresh = l->n_wait;

	while (l->n_wait < BURST && wan_out(l->core, now_ns, &f)) {
		struct rte_mbuf *m = f.cookie;
		if (f.again && (m = wanem_again(w, m)) == NULL) {
			wan_tx_refused(l->core, f.len_bytes);
			continue;
		}
		base_hist_add(&l->late, now_ns - f.due_ns);
		l->wait[l->n_wait++] = m;
	}
	if (l->n_wait == 0)
		return 0;
	if (fresh == 0)
		l->wait_since_ns = now_ns;
	uint16_t sent = rte_eth_tx_burst(l->out->id, 0, l->wait, l->n_wait);
	if (sent) {
		l->n_wait = (uint16_t)(l->n_wait - sent);
		memmove(l->wait, l->wait + sent, l->n_wait * sizeof l->wait[0]);
		l->wait_since_ns = now_ns;
	} else if (now_ns - l->wait_since_ns > TX_TRY_NS) {
		give_up_wanem(l);
	}
	return sent;
}

static json_t *
lane_json(const struct lane *l)
{
	const struct wan_stats *s = wan_stats(l->core);
	return json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,"
		"s:{s:I,s:I,s:I}}",
		"rx", (json_int_t)s->rx, "rx_bytes", (json_int_t)s->rx_bytes, "tx",
		(json_int_t)s->tx, "tx_bytes", (json_int_t)s->tx_bytes, "dup", (json_int_t)s->dup,
		"reorder", (json_int_t)s->reorder, "drop_queue", (json_int_t)s->drop_queue,
		"drop_loss", (json_int_t)s->drop_loss, "drop_hold", (json_int_t)s->drop_hold,
		"drop_tx", (json_int_t)s->drop_tx, "held", (json_int_t)s->held, "held_max",
		(json_int_t)s->held_max, "queue_bytes_max", (json_int_t)s->queue_bytes_max,
		"books_ok", wan_books_ok(l->core), "late_ns", "p50",
		(json_int_t)base_hist_quantile(&l->late, 500000), "p99",
		(json_int_t)base_hist_quantile(&l->late, 990000), "max", (json_int_t)l->late.max);
}

/* Written beside and renamed, so that a reader never sees half a file. */
static void
write_stats(const struct wanem *w, uint64_t now_ns)
{
	char tmp[4096];
	struct rte_eth_stats a = {0}, b = {0};

	if (!w->o.stats_file)
		return;
	(void)rte_eth_stats_get(w->port[0].id, &a);
	(void)rte_eth_stats_get(w->port[1].id, &b);
	uint64_t ran = now_ns - w->start_ns;
	json_t *j = json_pack("{s:f,s:f,s:o,s:o,s:{s:I,s:I},s:I,s:I}", "seconds", (double)ran / 1e9,
			      "asleep", ran ? (double)w->idle.slept_ns / (double)ran : 0.0,
			      "a_to_b", lane_json(&w->lane[0]), "b_to_a", lane_json(&w->lane[1]),
			      "rx_missed", "a", (json_int_t)a.imissed + (json_int_t)a.rx_nombuf,
			      "b", (json_int_t)b.imissed + (json_int_t)b.rx_nombuf, "pool_mbufs",
			      (json_int_t)w->plan.count, "pool_in_use",
			      (json_int_t)rd_pool_in_use(w->pool));
	if (!j || snprintf(tmp, sizeof tmp, "%s.tmp", w->o.stats_file) >= (int)sizeof tmp ||
	    json_dump_file(j, tmp, JSON_INDENT(2)) != 0 || rename(tmp, w->o.stats_file) != 0)
		fprintf(stderr, "wanem: cannot write %s: %s\n", w->o.stats_file, strerror(errno));
	json_decref(j);
}

static void
print_wanem_stats(const struct wanem *w, uint64_t now_ns)
{
	printf("%8.1f s", (double)(now_ns - w->start_ns) / 1e9);
	for (int i = 0; i < 2; i++) {
		const struct wan_stats *s = wan_stats(w->lane[i].core);
		printf("  %s rx %" PRIu64 " tx %" PRIu64 " held %" PRIu64
		       " drop queue/loss/hold/tx "
		       "%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64,
		       w->lane[i].name, s->rx, s->tx, s->held, s->drop_queue, s->drop_loss,
		       s->drop_hold, s->drop_tx);
	}
	printf("\n");
	fflush(stdout);
}

static void
nap_wanem(void *user, uint32_t ns)
{
	rd_nap(user, ns);
}

static void
start_wanem_idle(struct wanem *w)
{
	rd_nap_init(&w->naps, -1);
	rd_nap_add(&w->naps, &w->port[0], 0);
	rd_nap_add(&w->naps, &w->port[1], 0);
	rd_idle_init(&w->idle, w->o.idle, rd_nap_max_ns(&w->naps));
	w->idle.nap = nap_wanem;
	w->idle.user = &w->naps;
	w->idle.slack_ns = IDLE_SLACK_NS;
}

static void
run_wanem(struct wanem *w)
{
	uint64_t now = rd_clock_ns(&w->clock);
	uint64_t line_ns = w->o.stats_s * BASE_S_NS;
	uint64_t next_line = line_ns ? now + line_ns : BASE_NEVER_NS;
	unsigned turns = 0;
	struct rd_poller *poller = rd_poller_new();

	while (!stop_asked) {
		rd_poll_begin(poller);
		now = rd_clock_ns(&w->clock);
		unsigned work = receive_wanem(&w->lane[0], now) + receive_wanem(&w->lane[1], now);
		work += transmit_wanem(w, &w->lane[0], now) + transmit_wanem(w, &w->lane[1], now);
		if (stats_asked) {
			stats_asked = 0;
			write_stats(w, now);
		}
		if (now >= next_line) {
			print_wanem_stats(w, now);
			next_line = now + line_ns;
		}
		/* Sent buffers come back from hardware only when asked. */
		if (++turns % CLOCK_TURNS == 0) {
			(void)rte_eth_tx_done_cleanup(w->port[0].id, 0, 0);
			(void)rte_eth_tx_done_cleanup(w->port[1].id, 0, 0);
		}
		rd_poll_end(poller);
		uint64_t next =
			base_min_ns(wan_next_ns(w->lane[0].core), wan_next_ns(w->lane[1].core));
		if (w->lane[0].n_wait || w->lane[1].n_wait)
			next = base_min_ns(next, now + 20 * BASE_US_NS);
		rd_idle_turn(&w->idle, work, now, next);
	}
}

/* The frames that must fit, printed; -ENOMEM if the machine or --mem-mb is short. */
static int
plan_memory(struct wanem *w)
{
	struct wan_conf *c[2] = {&w->o.ab, &w->o.ba};
	uint64_t held = 0;

	for (int i = 0; i < 2; i++) {
		uint32_t need = wan_frames_needed(c[i]);
		if (c[i]->frames_max && c[i]->frames_max < need)
			fprintf(stderr,
				"wanem: warning: --frames %u may be too few for the delay, rate "
				"and "
				"queue asked (%u computed): look at drop_hold\n",
				c[i]->frames_max, need);
		if (!c[i]->frames_max)
			c[i]->frames_max = need;
		held += c[i]->frames_max;
	}
	uint32_t slots = w->o.pmd == RD_PMD_AF_XDP ? 2 * RD_AF_XDP_SLOTS : 4 * DESCRIPTORS;
	w->plan = rd_pool_plan(w->o.mtu, slots, (uint32_t)held, 1);
	uint32_t need_mb = rd_pool_mem_mb(w->plan.bytes);
	printf("wanem: %u + %u frames held at most; %u buffers of %u bytes: %u MB\n",
	       c[0]->frames_max, c[1]->frames_max, w->plan.count, w->plan.room_bytes, need_mb);
	if (w->o.mem_mb && w->o.mem_mb < need_mb) {
		fprintf(stderr,
			"wanem: --mem-mb %u is too little: %u MB are needed to hold these frames; "
			"raise it, or lower delay, rate, queue or --frames\n",
			w->o.mem_mb, need_mb);
		return -ENOMEM;
	}
	if (!w->o.mem_mb)
		w->o.mem_mb = need_mb;
	struct sysinfo si;
	if (!w->o.huge && sysinfo(&si) == 0) {
		uint64_t mb = ((uint64_t)si.freeram + si.bufferram) * si.mem_unit >> 20;
		if (mb < w->o.mem_mb)
			fprintf(stderr,
				"wanem: warning: %u MB are needed, %" PRIu64 " MB are free\n",
				w->o.mem_mb, mb);
	}
	return 0;
}

static int
open_wanem_ports(struct wanem *w, char *err, size_t err_max)
{
	const char *dev[2] = {w->o.dev_a, w->o.dev_b};
	for (uint32_t i = 0; i < 2; i++) {
		struct rd_port_conf pc = {
			.device = dev[i],
			.pmd = w->o.pmd,
			.index = i,
			.mtu = w->o.mtu,
			.n_rxq = 1,
			.n_txq = 1,
			.n_rxd = DESCRIPTORS,
			.n_txd = DESCRIPTORS,
			.pool = w->pool,
			.promisc = true,
			.allmulti = true,
		};
		int r = rd_port_open(&w->port[i], &pc, err, err_max);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
open_lanes(struct wanem *w, char *err, size_t err_max)
{
	const struct wan_conf *c[2] = {&w->o.ab, &w->o.ba};
	for (int i = 0; i < 2; i++) {
		struct lane *l = &w->lane[i];
		l->name = i ? "b->a" : "a->b";
		l->in = &w->port[i];
		l->out = &w->port[1 - i];
		base_hist_init(&l->late);
		size_t size = wan_footprint(c[i]);
		l->mem = size ? malloc(size) : NULL;
		if (!l->mem) {
			snprintf(err, err_max, "%s: %zu bytes for the frame table: %s", l->name,
				 size, size ? "no memory" : "limits broken");
			return -ENOMEM;
		}
		l->core = wan_new(l->mem, c[i]);
	}
	return 0;
}

static void
close_lanes(struct wanem *w)
{
	struct wan_frame f;
	for (int i = 0; i < 2; i++) {
		struct lane *l = &w->lane[i];
		give_up_wanem(l);
		while (l->core && wan_flush(l->core, &f))
			if (!f.again)
				rte_pktmbuf_free(f.cookie);
	}
}

static int
start_wanem(struct wanem *w, const char *prog)
{
	char err[512] = "";
	int r;
	struct rd_eal_opts eo = {
		.prog = prog,
		.file_prefix = w->o.file_prefix,
		.lcores = w->o.lcores,
		.main_lcore = -1,
		.huge = w->o.huge,
		.mem_mb = w->o.mem_mb,
	};
	const char *dev[2] = {w->o.dev_a, w->o.dev_b};
	for (int i = 0; i < 2; i++)
		if (rd_dev_is_pci(dev[i]))
			eo.pci_allow[eo.n_pci_allow++] = dev[i];
	if ((r = rd_eal_start(&eo, err, sizeof err)) < 0 ||
	    (r = rd_pool_create(&w->pool, "wanem", &w->plan, 0, err, sizeof err)) < 0 ||
	    (r = open_wanem_ports(w, err, sizeof err)) < 0 ||
	    (r = open_lanes(w, err, sizeof err)) < 0)
		fprintf(stderr, "wanem: %s\n", err);
	return r;
}

static void
print_conf(const struct wanem *w)
{
	const struct wan_conf *c[2] = {&w->o.ab, &w->o.ba};
	for (int i = 0; i < 2; i++)
		printf("wanem: %s %s -> %s (%s): delay %.3f ms, rate %.4g bit/s%s, queue %" PRIu64
		       " bytes%s, loss %g, dup %g, reorder %g (+%.3f ms), seed %" PRIu64 "\n",
		       w->lane[i].name, w->lane[i].in->name, w->lane[i].out->name,
		       w->port[i].driver, (double)c[i]->delay_ns / 1e6, (double)c[i]->rate_bps,
		       c[i]->rate_bps ? "" : " (unlimited)", c[i]->queue_bytes,
		       c[i]->queue_bytes ? "" : " (unlimited)", c[i]->loss_ppb / 1e9,
		       c[i]->dup_ppb / 1e9, c[i]->reorder_ppb / 1e9,
		       (double)c[i]->reorder_extra_ns / 1e6, c[i]->seed);
	printf("wanem: forwarding, idle %s\n", rd_idle_name(w->o.idle));
	fflush(stdout);
}

static void
say_ready(const struct wanem *w)
{
	FILE *f = w->o.ready_file ? fopen(w->o.ready_file, "we") : NULL;
	if (f) {
		fprintf(f, "%ld\n", (long)getpid());
		fclose(f);
	} else if (w->o.ready_file) {
		fprintf(stderr, "wanem: cannot write %s: %s\n", w->o.ready_file, strerror(errno));
	}
}

int
main(int argc, char **argv)
{
	static struct wanem w;
	int r = wan_opts_parse(&w.o, argc, argv);
	if (r != 0)
		return r < 0 ? 2 : 0;
	catch_wanem_signals();
	if (plan_memory(&w) < 0)
		return 2;
	r = start_wanem(&w, argv[0]);
	bool ok = r == 0;
	if (ok) {
		print_conf(&w);
		rd_clock_init(&w.clock);
		start_wanem_idle(&w);
		w.start_ns = rd_clock_ns(&w.clock);
		say_ready(&w);
		run_wanem(&w);
		uint64_t now = rd_clock_ns(&w.clock);
		print_wanem_stats(&w, now);
		write_stats(&w, now);
		ok = wan_books_ok(w.lane[0].core) && wan_books_ok(w.lane[1].core);
		if (!ok)
			fprintf(stderr, "wanem: the books do not balance\n");
	}
	close_lanes(&w);
	rd_port_close(&w.port[0]);
	rd_port_close(&w.port[1]);
	uint32_t lost = rd_pool_free(w.pool);
	if (lost) {
		fprintf(stderr, "wanem: %u of %u buffers did not come back\n", lost, w.plan.count);
		ok = false;
	} else if (r == 0) {
		printf("wanem: all %u buffers back\n", w.plan.count);
	}
	rd_eal_stop();
	free(w.lane[0].mem);
	free(w.lane[1].mem);
	return ok ? 0 : 1;
}
