/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory, the endpoint, queues of packets, and telling the driver. */
#include "gateway_internal.h"

#include "base/arena.h"

#include <string.h>

#define SEGMENTS_MIN 8192u
#define SEGMENTS_MAX 65536u
#define QUEUE	     4096u
#define WINDOW	     8192u
#define LIVENESS_NS  (5 * BASE_S_NS)
#define KEEPALIVE_NS BASE_S_NS

const char *
gw_strerror(int err)
{
	switch (err) {
#define X(n, v, t)       \
	case GW_ERR_##n: \
		return t;
		GW_ERRORS(X)
#undef X
	}
	return "unknown error";
}

static uint32_t
pow2_at_least(uint32_t n)
{
	uint32_t p = 16;
	while (p < n)
		p *= 2;
	return p;
}

/* relay_gateway_base() leaves the first page out; lanes take labels below 2^24. */
static uint32_t
label_pages(const struct gw_limits *l)
{
	uint32_t n = l->relays * RELAY_LABEL_PAGES_MAX + 1, most = (1u << 24) / RELAY_LABEL_PAGE;
	return n < most ? n : most;
}

static struct suci_lane_limits
lane_limits(const struct gw_limits *l)
{
	uint32_t npackets, nblocks;
	gw_pool_sizes(l->packet_bytes, &npackets, &nblocks);
	/* Holes in blocks that come, 65536 with 8 MiB of packets and more. */
	uint32_t ranges = (uint32_t)(l->packet_bytes < 8u << 20 ? l->packet_bytes >> 7 : 65536);
	return (struct suci_lane_limits){
		.lanes_max = l->lanes_max,
		.blocks_max = npackets,
		.rx_blocks_max = npackets,
		.held_max = GW_HELD_MAX,
		.ranges_max = ranges + l->lanes_max,
		.labels_max = label_pages(l) * RELAY_LABEL_PAGE,
	};
}

static struct suci_limits
path_limits(const struct gw_limits *l)
{
	uint64_t segments = (uint64_t)l->lanes_max * 64;
	segments = segments < SEGMENTS_MIN ? SEGMENTS_MIN : segments;
	segments = segments > SEGMENTS_MAX ? SEGMENTS_MAX : segments;
	return (struct suci_limits){.paths_max = l->relays * GW_PATHS_PER_RELAY,
				    .segments_max = (uint32_t)segments,
				    .queue_max = QUEUE,
				    .window_max = WINDOW};
}

static bool
gateway_limits_good(const struct gw_limits *l)
{
	return l->jobs_max >= 1 && l->jobs_max <= 1024 && l->channels_max >= 1 &&
	       l->channels_max <= 65536 && l->procs_max >= RELAY_LABEL_PAGE &&
	       l->procs_max <= 1u << 22 && l->lanes_max >= 1 && l->lanes_max <= 1u << 20 &&
	       l->relays >= 1 && l->relays <= RELAY_RELAYS_MAX &&
	       l->packet_bytes >= GW_PACKET_BYTES_MIN && l->packet_bytes <= 1ull << 36;
}

static size_t
lay_out_gateway(const struct gw_limits *l, void *mem, struct gw *g)
{
	struct base_arena a = base_arena(mem);
	uint32_t npackets, nblocks;
	gw_pool_sizes(l->packet_bytes, &npackets, &nblocks);
	struct suci_lane_limits ll = lane_limits(l);
	struct suci_limits pl = path_limits(l);
	base_arena_take(&a, 1, sizeof *g);
	g->npages = l->procs_max / RELAY_LABEL_PAGE;
	g->nmap = label_pages(l);
	g->npair_hash = pow2_at_least(l->lanes_max);
	g->nproc_hash = pow2_at_least(l->procs_max) * 2;
	g->job = base_arena_take(&a, l->jobs_max, sizeof *g->job);
	g->chan = base_arena_take(&a, l->channels_max, sizeof *g->chan);
	uint8_t *stage = base_arena_take(&a, l->channels_max, GW_STAGE_BYTES);
	g->pair = base_arena_take(&a, l->lanes_max, sizeof *g->pair);
	g->pair_hash = base_arena_take(&a, g->npair_hash, sizeof *g->pair_hash);
	g->lane_pair = base_arena_take(&a, l->lanes_max, sizeof *g->lane_pair);
	g->proc = base_arena_take(&a, (size_t)g->npages * RELAY_LABEL_PAGE, sizeof *g->proc);
	g->page_next = base_arena_take(&a, g->npages, sizeof *g->page_next);
	g->map = base_arena_take(&a, g->nmap, sizeof *g->map);
	g->proc_hash = base_arena_take(&a, g->nproc_hash, sizeof *g->proc_hash);
	g->pool.packet = base_arena_take(&a, npackets, sizeof *g->pool.packet);
	for (int d = 0; d < 2; d++) {
		g->pool.arena[d].state = base_arena_take(&a, nblocks, 1);
		g->pool.arena[d].base = base_arena_take(&a, nblocks, 1024);
	}
	g->lanes_mem = base_arena_take(&a, suci_lanes_footprint(&ll), 1);
	g->ep_mem = base_arena_take(&a, suci_footprint(&pl), 1);
	if (mem)
		for (uint32_t i = 0; i < l->channels_max; i++)
			g->chan[i].stage = stage + (size_t)i * GW_STAGE_BYTES;
	return base_arena_bytes(&a);
}

size_t
gw_footprint(const struct gw_limits *limits)
{
	struct gw counting;
	if (!gateway_limits_good(limits))
		return 0;
	struct suci_lane_limits ll = lane_limits(limits);
	struct suci_limits pl = path_limits(limits);
	if (!suci_lanes_footprint(&ll) || !suci_footprint(&pl))
		return 0;
	return lay_out_gateway(limits, NULL, &counting);
}

static void
defaults(struct gw_config *c)
{
	c->connect_ns = c->connect_ns ? c->connect_ns : 60 * BASE_S_NS;
	c->retry_ns = c->retry_ns ? c->retry_ns : 100 * BASE_MS_NS;
	c->linger_ns = c->linger_ns ? c->linger_ns : 30 * BASE_S_NS;
	c->deliver_ns = c->deliver_ns ? c->deliver_ns : BASE_S_NS;
	c->liveness_ns = c->liveness_ns ? c->liveness_ns : LIVENESS_NS;
	c->keepalive_ns = c->keepalive_ns ? c->keepalive_ns : KEEPALIVE_NS;
}

static void
init_lists(struct gw *g)
{
	const struct gw_limits *l = &g->conf.limits;
	g->core_path = g->paused = g->paused_tail = g->kicks = g->stalled = GW_NONE;
	g->waiting.head = GW_NONE;
	g->chan_free = g->pair_free = g->page_free = GW_NONE;
	g->expiry_ns = BASE_NEVER_NS;
	for (uint32_t i = l->jobs_max; i-- > 0;)
		g->job[i].used = false;
	for (uint32_t i = l->channels_max; i-- > 0; g->chan_free = i) {
		g->chan[i].state = GW_CHAN_FREE;
		g->chan[i].next = g->chan_free;
	}
	for (uint32_t i = l->lanes_max; i-- > 0; g->pair_free = i) {
		g->pair[i].used = false;
		g->pair[i].hash_next = g->pair_free;
		g->lane_pair[i] = GW_NONE;
	}
	for (uint32_t i = g->npages; i-- > 0; g->page_free = i)
		g->page_next[i] = g->page_free;
	g->pages_free = g->npages;
	memset(g->map, 0xff, g->nmap * sizeof *g->map);
	memset(g->pair_hash, 0xff, g->npair_hash * sizeof *g->pair_hash);
	memset(g->proc_hash, 0xff, g->nproc_hash * sizeof *g->proc_hash);
	gw_pool_init(&g->pool, l->packet_bytes);
}

static bool
make_endpoint(struct gw *g, uint64_t now_ns)
{
	const struct gw_config *c = &g->conf;
	struct suci_lanes_config lc = {
		.limits = lane_limits(&c->limits), .ops = gw_lane_ops(), .user = g};
	struct suci_config sc = {
		.limits = path_limits(&c->limits),
		.incarnation = c->incarnation,
		.seed = c->seed,
		.mtu_max = c->mtu,
		.cc = c->fixed_window ? SUCI_CC_FIXED : SUCI_CC_CUBIC,
		.fixed_window = c->fixed_window,
		.liveness_ns = c->liveness_ns,
		.keepalive_ns = c->keepalive_ns,
		.hello_len = RELAY_HELLO_LEN,
		.ops = suci_lanes_ops(),
	};
	struct relay_hello h = {
		.kind = RELAY_HELLO_GATEWAY, .rank = RELAY_RANK_NONE, .mtu = (uint16_t)c->mtu};
	memcpy(sc.cookie_secret, c->cookie_secret, sizeof sc.cookie_secret);
	relay_hello_encode(&h, sc.hello);
	g->lanes = suci_lanes_new(g->lanes_mem, &lc);
	if (!g->lanes)
		return false;
	sc.user = g->lanes;
	g->ep = suci_new(g->ep_mem, &sc, now_ns);
	if (!g->ep)
		return false;
	suci_lanes_bind(g->lanes, g->ep);
	return true;
}

struct gw *
gw_new(void *mem, const struct gw_config *conf, uint64_t now_ns)
{
	const struct gw_ops *o = conf->ops;
	if (!gw_footprint(&conf->limits) || !o || !o->open || !o->close || !o->writable ||
	    !o->readable || !o->job_failed || !o->job_finished || !o->hold || !o->release ||
	    conf->npeers > GW_PEERS_MAX)
		return NULL;
	struct gw *g = mem;
	memset(g, 0, sizeof *g);
	lay_out_gateway(&conf->limits, mem, g);
	g->conf = *conf;
	defaults(&g->conf);
	g->now_ns = now_ns;
	uint64_t seed = conf->seed;
	for (int i = 0; i < 3; i++)
		g->key[i] = (seed = seed * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) | 1;
	init_lists(g);
	return make_endpoint(g, now_ns) ? g : NULL;
}

void *
gw_fini(struct gw *g, uint64_t now_ns)
{
	if (!g)
		return NULL;
	for (uint32_t i = 0; i < g->conf.limits.jobs_max; i++)
		if (g->job[i].used)
			gw_job_abort(g, g->job[i].label_base, "the gateway stops", now_ns);
	suci_fini(g->ep, now_ns);
	suci_lanes_fini(g->lanes);
	return g;
}

struct suci *
gw_endpoint(struct gw *g)
{
	return g->ep;
}

/* ---- queues ---- */

static struct base_ilinks
packet_links(const struct gw *g)
{
	return BASE_ILINKS(g->pool.packet, link);
}

void
gw_queue_put_after(struct gw *g, struct gw_queue *q, uint32_t after, uint32_t packet)
{
	base_ilist_insert(&q->l, packet_links(g), after, packet);
	q->n++;
}

void
gw_queue_put(struct gw *g, struct gw_queue *q, uint32_t packet)
{
	gw_queue_put_after(g, q, q->l.tail, packet);
}

void
gw_queue_cut(struct gw *g, struct gw_queue *q, uint32_t packet)
{
	struct gw_packet *k = &g->pool.packet[packet];
	base_ilist_unlink(&q->l, packet_links(g), packet);
	k->link.next = k->link.prev = GW_NONE;
	q->n--;
}

uint32_t
gw_queue_pop(struct gw *g, struct gw_queue *q)
{
	uint32_t i = q->l.head;
	if (i != GW_NONE)
		gw_queue_cut(g, q, i);
	return i;
}

/* ---- telling the driver ---- */

void
gw_kick(struct gw *g)
{
	if (g->kicking)
		return;
	g->kicking = true;
	while (g->kicks != GW_NONE) {
		uint32_t i = g->kicks;
		g->kicks = g->chan[i].kick_next;
		g->chan[i].kicked = false;
		if (g->chan[i].state == GW_CHAN_UP)
			g->conf.ops->writable(g->conf.user, i);
	}
	g->kicking = false;
}

/* Each that waits is asked once; who still may not goes to the end. */
static void
resume_channels(struct gw *g)
{
	uint32_t n = g->npaused;
	while (n-- > 0 && g->paused != GW_NONE) {
		uint32_t i = g->paused;
		gw_chan_unpause(g, i);
		if (gw_chan_may_resume(g, &g->chan[i]))
			gw_chan_resume(g, i);
		else
			gw_chan_pause(g, i);
	}
}

static void
resume_lanes(struct gw *g)
{
	uint32_t i = g->stalled, next;
	g->stalled = GW_NONE;
	for (; i != GW_NONE; i = next) {
		struct gw_pair *p = &g->pair[i];
		next = p->stalled_next;
		p->stalled = false;
		suci_lane_resume(g->lanes, p->lane, g->now_ns);
	}
}

void
gw_settle(struct gw *g)
{
	if (g->settling || !g->freed)
		return;
	if (g->paused == GW_NONE && g->stalled == GW_NONE) {
		g->freed = false;
		return;
	}
	if (g->in_lane) { /* not from a callback of the lanes */
		gw_wake_at(g, g->now_ns);
		return;
	}
	g->settling = true;
	while (g->freed) {
		g->freed = false;
		resume_channels(g);
		resume_lanes(g);
	}
	g->settling = false;
}

void
gw_tick(struct gw *g, uint64_t now_ns)
{
	gw_see_time(g, now_ns);
	if (now_ns < g->expiry_ns)
		return;
	g->expiry_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < g->conf.limits.jobs_max; i++)
		if (g->job[i].used)
			gw_job_tick(g, &g->job[i]);
	gw_settle(g);
	gw_kick(g);
}

uint64_t
gw_expiry_ns(const struct gw *g)
{
	return g->expiry_ns;
}

const struct gw_counters *
gw_counters(const struct gw *g)
{
	return &g->n;
}

uint64_t
gw_held_bytes(const struct gw *g)
{
	return gw_pool_used(&g->pool);
}
