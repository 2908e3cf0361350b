/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "frame.h"
#include "relay/addr.h"
#include "worker.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <bsd/string.h>

#define RETRY_FULL_NS (50 * BASE_US_NS) /* the worker's ring is full: look again */

/* ---- events, mail ------------------------------------------------------------ */

struct rd_event *
rd_gw_event(struct rd_gateway *g, bool important)
{
	if (!important && base_ring_count(&g->box->event_free) <= RD_GW_EVENTS_SPARE) {
		g->count.events_lost++;
		return NULL;
	}
	struct rd_event *e = base_ring_pop(&g->box->event_free);
	if (!e)
		g->count.events_lost++;
	return e;
}

void
rd_gw_push_event(struct rd_gateway *g, struct rd_event *e)
{
	if (!base_ring_push(&g->box->events, e)) /* as many slots as events */
		g->count.events_lost++;
	g->wake_control = true;
}

void
rd_gw_text(struct rd_gateway *g, const char *fmt, ...)
{
	struct rd_event *e = rd_gw_event(g, false);
	if (!e)
		return;
	va_list ap;
	e->type = RD_EVENT_CHANNEL;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	rd_gw_push_event(g, e);
}

static void
end_event(struct rd_gateway *g, enum rd_event_type type, uint32_t label_base, const char *why)
{
	struct rd_event *e = rd_gw_event(g, true);
	if (!e)
		return;
	e->type = type;
	e->job.label_base = label_base;
	strlcpy(e->text, why ? why : "", sizeof e->text);
	rd_gw_push_event(g, e);
}

/* A gate that cannot listen refuses the job. */
static void
add_gateway_job(struct rd_gateway *g, struct rd_mail *mail)
{
	*g->listen_error = '\0';
	mail->result = gw_job_add(g->gw, mail->job.table, g->now_ns);
	if (mail->result) {
		snprintf(mail->text, sizeof mail->text, "gateway: %s", gw_strerror(mail->result));
	} else if (*g->listen_error) {
		mail->result = GW_ERR_INVAL;
		strlcpy(mail->text, g->listen_error, sizeof mail->text);
		(void)gw_job_abort(g->gw, mail->job.table->label_base, g->listen_error, g->now_ns);
	}
}

static uint32_t
read_gateway_mail(struct rd_gateway *g)
{
	uint32_t n = 0;
	struct rd_mail *mail;
	/* A snapshot that is not whole holds back what came after it, for some turns. */
	while ((mail = g->looks ? g->looks : base_ring_pop(&g->box->mails))) {
		n++;
		mail->result = 0;
		mail->gateway = true;
		switch (mail->type) {
		case RD_MAIL_JOB_ADD:
			add_gateway_job(g, mail);
			break;
		case RD_MAIL_JOB_END:
			mail->result =
				gw_job_abort(g->gw, mail->job.label_base, mail->text, g->now_ns);
			break;
		case RD_MAIL_JOB_FINISH:
			mail->result = gw_job_finish(g->gw, mail->job.label_base, g->now_ns);
			break;
		case RD_MAIL_SNAPSHOT:
			if (!rd_gateway_look(g, mail))
				return n;
			break;
		case RD_MAIL_ELSEWHERE: /* the worker's */
		case RD_MAIL_POLICY:
		case RD_MAIL_POLICIES:
		case RD_MAIL_KEYS:
		case RD_MAIL_SUCI:
		case RD_MAIL_LEG:
		case RD_MAIL_TURN:
		case RD_MAIL_WEIGHT:
		case RD_MAIL_LIGHT:
		case RD_MAIL_DARK:
		case RD_MAIL_NOTE:
		case RD_MAIL_LANES:
		case RD_MAIL_SNIFF:
		case RD_MAIL_IDLE:
		case RD_MAIL_END_ALL:
		case RD_MAIL_LEAVE:
		case RD_MAIL_STOP:
			break;
		}
		bool pushed = base_ring_push(&g->box->replies, mail);
		BASE_ASSERT(pushed); /* as many slots as mails */
		g->wake_control = true;
	}
	return n;
}

/* ---- ops of lib/gateway ---------------------------------------------------------- */

static void
op_open(void *user, uint32_t channel)
{
	rd_gw_io_open(user, channel);
}

static void
op_close(void *user, uint32_t channel)
{
	rd_gw_io_close(user, channel);
}

static void
op_writable(void *user, uint32_t channel)
{
	rd_gw_io_writable(user, channel);
}

static void
op_readable(void *user, uint32_t channel)
{
	rd_gw_io_readable(user, channel);
}

static void
op_job_failed(void *user, uint32_t label_base, const char *why)
{
	end_event(user, RD_EVENT_FAILED, label_base, why);
}

static void
op_job_finished(void *user, uint32_t label_base, const char *why)
{
	end_event(user, RD_EVENT_FINISHED, label_base, why);
}

/* Cookies are mbufs that came from the worker; they are this thread's alone. */
static void
op_hold(void *user, uint64_t cookie)
{
	(void)user;
	rte_mbuf_refcnt_update((struct rte_mbuf *)(uintptr_t)cookie, 1);
}

static void
op_release(void *user, uint64_t cookie)
{
	(void)user;
	rte_pktmbuf_free((struct rte_mbuf *)(uintptr_t)cookie);
}

const struct gw_ops *
rd_gw_ops(void)
{
	static const struct gw_ops ops = {
		.open = op_open,
		.close = op_close,
		.writable = op_writable,
		.readable = op_readable,
		.job_failed = op_job_failed,
		.job_finished = op_job_finished,
		.hold = op_hold,
		.release = op_release,
	};
	return &ops;
}

/* ---- frames ------------------------------------------------------------------------ */

/* The worker has parsed what came over the wire, and built the rest itself. */
static uint32_t
from_worker(struct rd_gateway *g, uint32_t worker)
{
	uint32_t n = 0;
	struct rte_mbuf *m;
	while (n < RD_GW_FRAMES && (m = base_ring_pop(&g->box->to_gateway[worker]))) {
		uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *) + RD_ETH_HDR;
		uint8_t *udp = ip + (ip[0] & 15u) * 4u;
		struct suci_addr from =
			relay_addr_v4(be32_load(ip + 12), be16_load(udp), RELAY_LEG_PRIVATE);
		n++;
		g->count.rx_frames++;
		suci_rx(gw_endpoint(g->gw), &from, udp + RD_UDP_HDR,
			(size_t)be16_load(udp + 4) - RD_UDP_HDR, (uint64_t)(uintptr_t)m, g->now_ns);
		rte_pktmbuf_free(m); /* whoever keeps the segment holds a reference of his own */
	}
	return n;
}

static bool
workers_have_room(struct rd_gateway *g)
{
	for (uint32_t i = 0; i < g->conf->workers; i++)
		if (base_ring_count(&g->box->to_worker[i]) >= RD_GW_RING)
			return false;
	return true;
}

/* Who gets a frame of ours: the worker of our relay that it is addressed to, or worker 0,
 * which puts it on the wire. */
static uint32_t
worker_of(const struct rd_gateway *g, const struct suci_addr *to)
{
	uint32_t i = (uint32_t)to->port - g->leg.self.udp_first;
	bool ours = be32_load(to->ip + 12) == g->leg.self.address;
	return ours && i < g->conf->workers ? i : 0;
}

static uint32_t
to_workers(struct rd_gateway *g)
{
	uint32_t n = 0;
	g->worker_full = false;
	for (; n < RD_GW_FRAMES; n++) {
		if (!workers_have_room(g)) {
			g->count.tx_full++;
			g->worker_full = true;
			break;
		}
		if (!suci_tx(gw_endpoint(g->gw), &g->out, g->now_ns))
			break;
		struct rte_mbuf *m = rd_frame_build(&g->leg, gw_endpoint(g->gw), &g->out, NULL);
		if (!m)
			continue; /* counted in leg; as if the wire had lost it */
		g->count.tx_frames++;
		uint32_t worker = worker_of(g, &g->out.to);
		(void)base_ring_push(&g->box->to_worker[worker], m); /* there was room */
		g->wake_workers |= 1u << worker;
	}
	return n;
}

/* What the kernel answers to these frames, or has for our sockets, is there at once. */
static uint32_t
to_taps(struct rd_gateway *g)
{
	uint32_t work = 0;
	for (int leg = 0; leg < RD_LEGS; leg++) {
		uint32_t n = rd_tap_write(g->taps, leg, RD_TAP_FRAMES);
		g->tap_ready[leg] |= n > 0;
		work += n;
	}
	return work;
}

static uint32_t
from_taps(struct rd_gateway *g)
{
	uint32_t work = 0;
	for (int leg = 0; leg < RD_LEGS; leg++) {
		if (!g->tap_ready[leg])
			continue;
		g->tap_ready[leg] = false;
		work += rd_tap_read(g->taps, leg, RD_TAP_FRAMES);
	}
	g->wake_workers |= work > 0;
	return work;
}

/* ---- the loop -------------------------------------------------------------------- */

static uint64_t
gateway_due(const struct rd_gateway *g)
{
	uint64_t next = base_min_ns(suci_expiry_ns(gw_endpoint(g->gw)), gw_expiry_ns(g->gw));
	next = base_min_ns(next, rd_gw_io_expiry_ns(g));
	return g->worker_full ? base_min_ns(next, g->now_ns + RETRY_FULL_NS) : next;
}

static int
wait_events(struct rd_gateway *g, struct epoll_event *ready, int max, uint64_t wait_ns)
{
	if (wait_ns == 0)
		return epoll_wait(g->epoll, ready, max, 0);
	if (!g->no_pwait2) {
		struct timespec ts = {.tv_sec = (time_t)(wait_ns / BASE_S_NS),
				      .tv_nsec = (long)(wait_ns % BASE_S_NS)};
		int n = epoll_pwait2(g->epoll, ready, max, wait_ns == BASE_NEVER_NS ? NULL : &ts,
				     NULL);
		if (n >= 0 || errno != ENOSYS)
			return n;
		g->no_pwait2 = true;
	}
	uint64_t ms = wait_ns / BASE_MS_NS + 1;
	return epoll_wait(g->epoll, ready, max, ms > 1000 ? 1000 : (int)ms);
}

static bool
frames_wait(struct rd_gateway *g)
{
	for (uint32_t i = 0; i < g->conf->workers; i++)
		if (base_ring_count(&g->box->to_gateway[i]))
			return true;
	return false;
}

/* Sleep only if nothing was to do for poll_us, and nothing came between the last look
 * and the announcement that we sleep. */
static uint32_t
sockets(struct rd_gateway *g)
{
	struct epoll_event ready[64];
	uint64_t wait = 0, now = g->now_ns;
	bool sleeps = now - g->worked_ns >= g->conf->gateway.poll_us * BASE_US_NS;
	if (sleeps) {
		uint64_t due = gateway_due(g);
		wait = due == BASE_NEVER_NS ? due : due > now ? due - now : 0;
		rd_wake_sleep(&g->box->wake);
		if (g->looks || frames_wait(g) || base_ring_count(&g->box->mails) ||
		    base_ring_count(&g->taps_box->to_tap[RD_LEG_PRIVATE]) ||
		    base_ring_count(&g->taps_box->to_tap[RD_LEG_GLOBAL]) ||
		    atomic_load_explicit(&g->box->stop, memory_order_relaxed))
			wait = 0;
		g->count.sleeps += wait > 0;
	}
	int n = wait_events(g, ready, 64, wait);
	if (sleeps) {
		rd_wake_awake(&g->box->wake);
		g->now_ns = rd_clock_ns(&g->clock);
	}
	for (int i = 0; i < n; i++)
		rd_gw_ready(g, ready[i].data.u64, ready[i].events);
	return n > 0 ? (uint32_t)n : 0;
}

static uint32_t
turn_gateway(struct rd_gateway *g)
{
	uint32_t work = to_taps(g);
	work += sockets(g);
	for (uint32_t i = 0; i < g->conf->workers; i++)
		work += from_worker(g, i);
	work += read_gateway_mail(g);
	if (g->now_ns >= suci_expiry_ns(gw_endpoint(g->gw)))
		suci_tick(gw_endpoint(g->gw), g->now_ns);
	if (g->now_ns >= gw_expiry_ns(g->gw))
		gw_tick(g->gw, g->now_ns);
	rd_gw_io_tick(g);
	work += to_workers(g);
	uint32_t wrote = rd_gw_flush(g);
	for (int leg = 0; wrote && leg < RD_LEGS; leg++)
		g->tap_ready[leg] = true;
	work += wrote + from_taps(g);
	for (; g->wake_workers; g->wake_workers &= g->wake_workers - 1)
		rd_wake_up(&g->workers[__builtin_ctz(g->wake_workers)]->wake_worker);
	if (g->wake_control) {
		g->wake_control = false;
		rd_wake_up(g->taps_box->wake);
	}
	return work;
}

static void *
run_gateway(void *arg)
{
	struct rd_gateway *g = arg;
	(void)pthread_setname_np(pthread_self(), "relayd-gateway");
	(void)prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
	/* A buffer cache of its own; without one the pool is only slower. */
	bool registered = rte_thread_register() == 0;
	rd_clock_init(&g->clock);
	while (!atomic_load_explicit(&g->box->stop, memory_order_acquire)) {
		g->now_ns = rd_clock_ns(&g->clock);
		uint32_t work = turn_gateway(g);
		g->count.turns++;
		if (work) {
			g->count.busy_turns++;
			g->worked_ns = g->now_ns;
		}
	}
	if (registered)
		rte_thread_unregister();
	return NULL;
}

/* ---- set-up, end ------------------------------------------------------------------- */

static struct gw_limits
limits_of(const struct rd_conf *conf)
{
	return (struct gw_limits){
		.jobs_max = conf->limits.jobs,
		.channels_max = conf->gateway.channels,
		.procs_max = conf->limits.procs,
		.lanes_max = conf->gateway.lanes,
		.relays = conf->cluster.nrelays,
		.packet_bytes = (uint64_t)conf->gateway.memory_mb << 20,
	};
}

size_t
rd_gateway_footprint(const struct rd_conf *conf)
{
	struct gw_limits l = limits_of(conf);
	size_t n = gw_footprint(&l);
	return n ? n + sizeof(struct rd_gateway) + sizeof(struct rd_gateway_box) +
			       conf->gateway.channels * (sizeof(struct rd_gw_sock) +
							 sizeof(struct rd_gw_listener) + 16)
		 : 0;
}

static int
make_gw(struct rd_gateway *g, char *err, size_t err_max)
{
	const struct rd_conf *conf = g->conf;
	const struct rd_conf_port *port = &conf->port[RD_LEG_PRIVATE];
	struct gw_config gc = {
		.limits = limits_of(conf),
		.my_relay = conf->cluster.self,
		.self = relay_addr_v4(port->address, (uint16_t)conf->gateway.udp_port,
				      RELAY_LEG_PRIVATE),
		.core = relay_addr_v4(port->address, (uint16_t)port->udp_port, RELAY_LEG_PRIVATE),
		.mtu = port->mtu - RD_IPV4_HDR - RD_UDP_HDR,
		.ops = rd_gw_ops(),
		.user = g,
	};
	if (getrandom(gc.cookie_secret, sizeof gc.cookie_secret, 0) < 0 ||
	    getrandom(&gc.seed, sizeof gc.seed, 0) < 0 ||
	    getrandom(&gc.incarnation, sizeof gc.incarnation, 0) < 0) {
		snprintf(err, err_max, "no random numbers from the kernel");
		return -1;
	}
	gc.incarnation |= 1; /* not 0 */
	g->mem_len = gw_footprint(&gc.limits);
	/* Not DPDK's: these bytes never see a NIC.  Untouched pages cost nothing. */
	void *mem =
		mmap(NULL, g->mem_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		snprintf(err, err_max,
			 "no memory for the gateway (%zu MiB); lower gateway.memory_mb",
			 g->mem_len >> 20);
		return -1;
	}
	g->mem = mem;
	/* Tables, which are written now, come in huge pages where the kernel gives them: ten
	 * thousand faults less.  Packets later come in small ones, so that memory follows need. */
	(void)madvise(mem, g->mem_len, MADV_HUGEPAGE);
	g->gw = gw_new(g->mem, &gc, g->now_ns);
	(void)madvise(mem, g->mem_len, MADV_NOHUGEPAGE);
	if (g->gw)
		return 0;
	snprintf(err, err_max, "lib/gateway refused its configuration");
	return -1;
}

static int
make_box(struct rd_gateway *g)
{
	g->box = aligned_alloc(64, (sizeof *g->box + 63) & ~(size_t)63);
	return g->box ? rd_gateway_box_init(g->box) : -ENOMEM;
}

static int
make_tables(struct rd_gateway *g, char *err, size_t err_max)
{
	uint32_t n = g->nsocks = g->conf->gateway.channels;
	g->sock = calloc(n, sizeof *g->sock);
	g->listener = calloc(n, sizeof *g->listener);
	g->dirty = calloc(2 * (size_t)n, sizeof *g->dirty);
	g->failed = calloc(2 * (size_t)n, sizeof *g->failed);
	if (!g->sock || !g->listener || !g->dirty || !g->failed) {
		snprintf(err, err_max, "no memory for gateway.channels %u", n);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		g->sock[i].fd = g->listener[i].fd = -1;
		g->sock[i].listener = UINT32_MAX;
	}
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = 0};
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (g->epoll < 0 || epoll_ctl(g->epoll, EPOLL_CTL_ADD, g->box->wake.fd, &e)) {
		snprintf(err, err_max, "gateway: epoll: %s", strerror(errno));
		return -1;
	}
	for (int leg = 0; leg < RD_LEGS; leg++) {
		int r = rd_gw_watch_tap(g, leg);
		if (r) {
			snprintf(err, err_max, "gateway: TAP %s: epoll: %s", g->tap[leg],
				 strerror(-r));
			return -1;
		}
	}
	return 0;
}

/* Without gateway.cpus the thread inherits control's CPUs. */
static int
start_thread(struct rd_gateway *g, char *err, size_t err_max)
{
	bool cpus[CPU_SETSIZE];
	pthread_attr_t attr;
	cpu_set_t set;
	CPU_ZERO(&set);
	if (pthread_attr_init(&attr)) {
		snprintf(err, err_max, "gateway: no memory for a thread");
		return -1;
	}
	int e = 0;
	if (rd_cpus_parse(g->conf->gateway.cpus, cpus, CPU_SETSIZE)) {
		for (uint32_t i = 0; i < CPU_SETSIZE; i++)
			if (cpus[i])
				CPU_SET(i, &set);
		e = pthread_attr_setaffinity_np(&attr, sizeof set, &set);
	}
	if (e == 0)
		e = pthread_create(&g->thread, &attr, run_gateway, g);
	(void)pthread_attr_destroy(&attr);
	g->running = e == 0;
	if (e)
		snprintf(err, err_max, "gateway: cannot start its thread%s%s: %s",
			 *g->conf->gateway.cpus ? " on CPUs " : "", g->conf->gateway.cpus,
			 strerror(e));
	return e ? -1 : 0;
}

struct rd_gateway *
rd_gateway_start(const struct rd_conf *conf, const struct rd_leg *leg, const char tap[RD_LEGS][16],
		 struct rd_taps *taps, struct rd_mailbox *const *boxes, char *err, size_t err_max)
{
	struct rd_gateway *g = calloc(1, sizeof *g);
	if (!g) {
		snprintf(err, err_max, "no memory for the gateway");
		return NULL;
	}
	g->conf = conf;
	g->taps_box = boxes[0];
	g->workers = boxes;
	g->taps = taps;
	g->epoll = -1;
	g->now_ns = rd_clock_system_ns();
	g->gate_global = rd_conf_gate_global(conf, conf->cluster.self);
	memcpy(g->tap, tap, sizeof g->tap);
	g->leg.name = "gateway";
	g->leg.self = leg->self;
	g->leg.self.udp_port = (uint16_t)conf->gateway.udp_port;
	g->leg.mtu = leg->mtu;
	g->leg.port = leg->port;
	g->leg.pool = leg->pool;
	for (uint32_t i = 0; i < RD_GUESTS_MAX; i++)
		g->guest[i].fd = -1;
	int e = make_box(g);
	if (e)
		snprintf(err, err_max, "gateway: %s", strerror(-e));
	if (e || make_tables(g, err, err_max) || make_gw(g, err, err_max) ||
	    start_thread(g, err, err_max)) {
		rd_gateway_fini(g);
		return NULL;
	}
	return g;
}

void
rd_gateway_stop(struct rd_gateway *g)
{
	if (!g || !g->running)
		return;
	atomic_store_explicit(&g->box->stop, 1, memory_order_release);
	rd_wake_up(&g->box->wake);
	(void)pthread_join(g->thread, NULL);
	g->running = false;
}

static void
free_frames(struct base_ring *ring)
{
	struct rte_mbuf *m;
	while ((m = base_ring_pop(ring)))
		rte_pktmbuf_free(m);
}

void
rd_gateway_fini(struct rd_gateway *g)
{
	if (!g)
		return;
	rd_gateway_stop(g);
	if (g->sock && g->listener)
		rd_gw_io_close_all(g);
	if (g->gw)
		gw_fini(g->gw, g->now_ns);
	if (g->mem)
		(void)munmap(g->mem, g->mem_len);
	if (g->box) {
		for (uint32_t i = 0; i < RD_WORKERS_MAX; i++) {
			free_frames(&g->box->to_gateway[i]);
			free_frames(&g->box->to_worker[i]);
		}
		/* The kernel goes on sending after worker 0's last look. */
		for (int leg = 0; leg < RD_LEGS; leg++)
			free_frames(&g->taps_box->from_tap[leg]);
		rd_gateway_box_fini(g->box);
	}
	if (g->epoll >= 0)
		close(g->epoll);
	free(g->box);
	free(g->sock);
	free(g->listener);
	free(g->dirty);
	free(g->failed);
	free(g);
}
