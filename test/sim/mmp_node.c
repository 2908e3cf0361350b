/* SPDX-License-Identifier: BSD-2-Clause */
/* A process: paths to the others, a lane on each, an engine on top; as libmmp/net.c has it. */
#include "mmp.h"

#include "pieces.h"

#include "base/bytes.h"
#include "relay/addr.h"

#include <errno.h>
#include <stdlib.h>

#define CALL_NS	    (MMP_CALL_MS * BASE_MS_NS)
#define START_NS    (MMP_START_S * BASE_S_NS)
#define HELLO_BYTES 12u
#define AGAIN_NS    (200 * BASE_US_NS)
#define BELL_NS	    (5 * BASE_US_NS) /* to the one who sleeps beside us */
#define CREDIT	    192u
#define TX_MAX	    100000u
#define IPV4	    0x0a000001u

static struct suci_addr
addr_of(uint32_t rank)
{
	return relay_addr_v4(IPV4 + rank, UDP_PORT, (enum relay_leg)0);
}

static uint32_t
rank_at(const struct mw *w, const struct suci_addr *a)
{
	for (uint32_t i = 0; i < w->size; i++) {
		struct suci_addr of = addr_of(i);
		if (!memcmp(&of, a, sizeof of))
			return i;
	}
	return MW_NONE;
}

/* ---- peers ---- */

static bool
share_node(const struct mw *w, uint32_t a, uint32_t b)
{
	return w->paired && a != b && a < 2 && b < 2;
}

/* Memory of both that both have. */
static void
attach_pair(struct mw_node *n, uint32_t peer)
{
	struct mw_node *of = &n->w->node[peer];
	mmp_pair_init(&n->pair, of->pair_ring, n->pair_ring, n->half[0], of->half[0], MW_HALF);
	n->peer[peer].near = true;
}

static void
down(struct mw_node *n, uint32_t peer, const char *why)
{
	struct mw *w = n->w;
	struct mw_peer *p = &n->peer[peer];
	if (p->over)
		return;
	p->over = true;
	p->up = false;
	if (p->near) {
		while (mmp_pair_turn(&n->pair, n->engine, peer) > 0)
			;
		mmp_pair_down(&n->pair, n->engine);
	}
	INVARIANT(w->s, REASON, w->closing || peer == w->dead,
		  "rank %u: rank %u is alive and was given up: %s", n->rank, peer, why);
	mmp_far_down(n->lanes.far, peer, ECONNRESET);
	p->gone = ECONNRESET;
}

/* What the calls of lanes have as their user. */
static struct mw_node *
node_of_lanes(void *user)
{
	return ((struct mmp_lanes *)user)->user;
}

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	struct mw_node *n = node_of_lanes(user);
	uint32_t i = rank_at(n->w, from);
	(void)hello, (void)why;
	return len != HELLO_BYTES || i == MW_NONE || n->peer[i].up || n->peer[i].over;
}

static void
on_path_up(void *user, uint32_t path, const struct suci_addr *from, const void *hello, size_t len,
	   bool incoming)
{
	struct mw_node *n = node_of_lanes(user);
	uint32_t i = rank_at(n->w, from);
	(void)len, (void)incoming;
	if (i == MW_NONE || n->peer[i].up || be32_load(hello) != i) {
		suci_path_close(n->ep, path, "that rank is here", n->w->s->now_ns);
		return;
	}
	n->lanes.path_peer[path] = i;
	n->peer[i].path = path;
	if (share_node(n->w, n->rank, i)) {
		attach_pair(n, i);
	} else {
		int err = mmp_lanes_open(&n->lanes, i, path, n->w->window, &n->peer[i].lane,
					 n->w->s->now_ns);
		SIM_CHECK(n->w->s, !err, "suci_lane_open: %s", suci_strerror(err));
		if (err)
			return;
	}
	n->peer[i].up = true;
	sim_log(n->w->s, "rank %u: rank %u is up", n->rank, i);
	mmp_engine_up(n->engine, i, n->peer[i].near, be64_load((const uint8_t *)hello + 4));
}

static void
on_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct mw_node *n = node_of_lanes(user);
	uint32_t i = n->lanes.path_peer[path];
	(void)why;
	n->lanes.path_peer[path] = MW_NONE;
	if (i == MW_NONE || n->peer[i].path != path)
		return;
	n->peer[i].path = MW_NONE;
	sim_log(n->w->s, "rank %u: path to rank %u is down (%d) %s", n->rank, i, (int)why,
		text ? text : "");
	if (n->peer[i].up)
		down(n, i, text && *text ? text : "its path is down");
}

static void
on_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct mw_node *n = node_of_lanes(user);
	uint32_t i = n->lanes.lane_peer[lane];
	(void)why;
	n->lanes.lane_peer[lane] = MW_NONE;
	if (i == MW_NONE)
		return;
	n->peer[i].lane = MW_NONE;
	if (n->peer[i].up)
		down(n, i, text && *text ? text : "its lane is down");
}

/* The later rank calls the earlier. */
static void
connect_missing(struct mw_node *n)
{
	uint64_t now = n->w->s->now_ns;
	uint8_t hello[HELLO_BYTES];
	be32_store(hello, n->rank);
	be64_store(hello + 4, mmp_engine_share(n->engine));
	for (uint32_t i = 0; i < n->rank; i++) {
		struct mw_peer *p = &n->peer[i];
		if (p->path != MW_NONE || p->up || p->over || now < p->try_at_ns)
			continue;
		struct suci_addr to = addr_of(i);
		if (suci_path_open(n->ep, &to, hello, sizeof hello, &p->path, now))
			p->path = MW_NONE;
		else
			n->lanes.path_peer[p->path] = i;
		p->try_at_ns = now + CALL_NS;
	}
}

/* ---- fragments ---- */

static bool
send_fragment(void *user, uint32_t peer, const struct mmp_head *h, const void *data, uint32_t name)
{
	struct mw_node *n = user;
	if (n->peer[peer].near)
		return mmp_pair_send(&n->pair, n->engine, h, data, name);
	return mmp_lanes_send(&n->lanes, n->peer[peer].lane, h, data, name, n->w->s->now_ns);
}

static void
release(void *user, uint32_t peer, uint32_t cookie)
{
	struct mw_node *n = user;
	if (n->peer[peer].near)
		mmp_pair_release(&n->pair, cookie);
	else
		sim_fail(n->w->s, "rank %u: released what it was not lent", n->rank);
}

static const struct mmp_engine_ops engine_ops = {.send = send_fragment, .release = release};

static void
on_hold(void *user, uint64_t cookie)
{
	sim_hold(node_of_lanes(user)->w->s, cookie);
}

static void
on_release(void *user, uint64_t cookie)
{
	sim_release(node_of_lanes(user)->w->s, cookie);
}

static const struct suci_lane_ops lane_ops = {
	MMP_LANES_OPS,
	.hold = on_hold,
	.release = on_release,
	.lane_down = on_lane_down,
	.accept = on_accept,
	.path_up = on_path_up,
	.path_down = on_path_down,
};

/* ---- turns ---- */

static void
wake(struct sim *s, void *who, uint64_t at)
{
	struct mw_node *n = who;
	(void)s;
	if (!n->alive || at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	mw_node_turn(n);
}

/* What the other process of the node has put there. */
static void
turn_pair(struct mw_node *n)
{
	uint32_t peer = !n->rank;
	if (n->rank > 1 || !n->peer[peer].near || n->peer[peer].over)
		return;
	INVARIANT(n->w->s, HONEST, mmp_pair_turn(&n->pair, n->engine, peer) >= 0,
		  "rank %u: rank %u, honest, wrote a slot that cannot be", n->rank, peer);
}

static void
ring_bell(struct sim *s, void *who, uint64_t arg)
{
	struct mw_node *n = who;
	(void)s, (void)arg;
	if (n->alive)
		mw_node_turn(n);
}

static void
wake_pair(struct mw_node *n)
{
	if (!n->pair.pushed)
		return;
	n->pair.pushed = false;
	if (n->w->threaded)
		sim_at(n->w->s, n->w->s->now_ns + BELL_NS, ring_bell, &n->w->node[!n->rank], 0);
}

static void
transmit(struct mw_node *n)
{
	static struct suci_out out;
	struct sim *s = n->w->s;
	uint32_t sent = 0;
	while (!s->failed && suci_tx(n->ep, &out, s->now_ns)) {
		struct sim_piece p[3];
		sim_pieces(n->ep, &out, p);
		sim_send(s, n->port, IPV4 + rank_at(n->w, &out.to), p, 3);
		INVARIANT(s, SPIN, ++sent < TX_MAX, "rank %u: suci_tx never ends", n->rank);
	}
}

static void
take(struct mw_node *n, uint64_t b)
{
	struct sim *s = n->w->s;
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = addr_of(s->port[buf->from].ipv4 - IPV4);
	suci_rx(n->ep, &from, buf->data, buf->len, b, s->now_ns);
}

void
mw_node_turn(struct mw_node *n)
{
	struct sim *s = n->w->s;
	uint32_t i;
	(void)mmp_engine_turn(n->engine);
	turn_pair(n);
	for (i = 0; i < n->in_sock; i++) {
		take(n, n->sock[i]);
		sim_release(s, n->sock[i]);
	}
	n->in_sock = 0;
	if (suci_expiry_ns(n->ep) <= s->now_ns)
		suci_tick(n->ep, s->now_ns);
	connect_missing(n);
	while ((i = mmp_far_next(n->lanes.far)) != MMP_NONE)
		suci_lane_resume(n->lanes.lanes, n->peer[i].lane, s->now_ns);
	(void)mmp_engine_turn(n->engine);
	while ((i = mmp_far_broken(n->lanes.far)) != MMP_NONE)
		INVARIANT(s, HONEST, false, "rank %u: rank %u, honest, %s", n->rank, i,
			  n->lanes.far->peer[i].why);
	transmit(n);
	wake_pair(n);
	const struct mmp_area *a = mmp_engine_area(n->engine);
	INVARIANT(s, MEMORY, a->used <= a->size && mmp_engine_unsent(n->engine) <= MMP_SENDS_MAX,
		  "rank %u: %llu bytes in an area of %llu", n->rank, (unsigned long long)a->used,
		  (unsigned long long)a->size);
	/* Without a thread nobody looks at the clock while the program computes. */
	uint64_t at = suci_expiry_ns(n->ep);
	/* A thread with work left does not sleep; where a ring to the program is full, it does. */
	bool waits = mmp_engine_waits(n->engine);
	if (n->rank < 2 && n->peer[!n->rank].near && !n->peer[!n->rank].over)
		waits = waits && mmp_pair_is_empty(&n->pair);
	if (!waits)
		at = base_min_ns(at, s->now_ns + AGAIN_NS);
	if (n->w->threaded && at != n->wake_ns && at != BASE_NEVER_NS)
		sim_at(s, base_max_ns(at, s->now_ns), wake, n, at);
	n->wake_ns = at;
}

static void
deliver(struct sim *s, void *who, uint64_t b)
{
	struct mw_node *n = who;
	/* What a socket has no room for is lost. */
	if (!n->alive || n->in_sock == MW_SOCK)
		return;
	sim_hold(s, b);
	n->sock[n->in_sock++] = b;
	if (n->w->threaded)
		mw_node_turn(n);
}

/* ---- making and ending ---- */

static void
make_suci(struct mw_node *n)
{
	const struct mw *w = n->w;
	struct suci_lanes_config l = {.limits = {.lanes_max = MW_NODES + 8,
						 .blocks_max = w->blocks_max,
						 .rx_blocks_max = w->rx_blocks_max,
						 .held_max = 2 * CREDIT,
						 .ranges_max = 256,
						 .labels_max = MW_NODES},
				      .ops = &lane_ops,
				      .user = &n->lanes};
	struct suci_config e = {.limits = {.paths_max = MW_NODES + 8,
					   .segments_max = 2048,
					   .queue_max = 256,
					   .window_max = w->window},
				.incarnation = n->rank + 1,
				.seed = w->s->seed * 101 + n->rank,
				.mtu_max = w->mtu,
				.cc = SUCI_CC_CUBIC,
				.fixed_window = w->window,
				.initial_window = 64,
				.ack_every = 32,
				.ack_ride_ns = 50 * BASE_US_NS,
				/* No more than can be held, as libmmp asks its socket. */
				.credit = w->window < CREDIT ? w->window : CREDIT,
				.credit_total = CREDIT,
				.handshake_ns = START_NS,
				.liveness_ns = w->liveness_ns,
				.keepalive_ns = BASE_S_NS,
				.hello_len = HELLO_BYTES,
				.ops = suci_lanes_ops()};
	for (size_t i = 0; i < sizeof e.cookie_secret; i++)
		e.cookie_secret[i] = (uint8_t)(e.seed >> (i % 8) ^ (5 * i));
	be32_store(e.hello, n->rank);
	be64_store(e.hello + 4, mmp_engine_share(n->engine));
	n->lanes_mem = aligned_alloc(64, suci_lanes_footprint(&l.limits));
	n->lanes.lanes = suci_lanes_new(n->lanes_mem, &l);
	e.user = n->lanes.lanes;
	n->ep_mem = aligned_alloc(64, suci_footprint(&e.limits));
	n->ep = suci_new(n->ep_mem, &e, w->s->now_ns);
	BASE_ASSERT(n->lanes.lanes && n->ep);
	suci_lanes_bind(n->lanes.lanes, n->ep);
}

void
mw_node_start(struct mw *w, uint32_t rank)
{
	struct mw_node *n = &w->node[rank];
	n->w = w;
	n->rank = rank;
	for (int r = 0; r < 4; r++)
		n->ring[r] = calloc(1, mmp_ring_bytes(MMP_RING_SLOTS));
	for (int h = 0; h < 2; h++)
		n->half[h] = aligned_alloc(64, MW_HALF);
	n->pair_ring = calloc(1, mmp_ring_bytes(MMP_RING_SLOTS));
	struct mmp_rings rings = {n->ring[0], n->ring[1], n->ring[2], n->ring[3]};
	struct mmp_engine_config e = {.rank = rank,
				      .size = w->size,
				      .rings = rings,
				      .send_half = n->half[0],
				      .recv_half = n->half[1],
				      .recv_bytes = MW_HALF,
				      .ops = &engine_ops,
				      .user = n};
	struct mmp_port_config c = {.rank = rank,
				    .size = w->size,
				    .rings = rings,
				    .send_half = n->half[0],
				    .send_bytes = MW_HALF,
				    .fragment = w->fragment};
	n->engine_mem = calloc(1, mmp_engine_footprint(w->size));
	n->port_mem = calloc(1, mmp_port_footprint(w->size));
	n->far_mem = calloc(1, mmp_far_footprint(w->size));
	BASE_ASSERT(n->engine_mem && n->port_mem && n->far_mem);
	n->engine = mmp_engine_new(n->engine_mem, &e);
	n->mp = mmp_port_new(n->port_mem, &c);
	n->lanes.far = mmp_far_new(n->far_mem, n->engine, w->size, MW_HALF);
	for (uint32_t i = 0; i < MW_NODES; i++)
		n->peer[i].path = n->peer[i].lane = MW_NONE;
	memset(n->path_peer, 0xff, sizeof n->path_peer);
	memset(n->lane_peer, 0xff, sizeof n->lane_peer);
	n->lanes.rank = rank;
	n->lanes.path_peer = n->path_peer;
	n->lanes.lane_peer = n->lane_peer;
	n->lanes.user = n;
	n->port = sim_add_port(w->s, n, deliver, 0, IPV4 + rank);
	n->wake_ns = BASE_NEVER_NS;
	n->alive = true;
	make_suci(n);
}

void
mw_node_kill(struct mw_node *n)
{
	struct sim *s = n->w->s;
	bool closing = n->w->closing;
	if (!n->alive)
		return;
	n->w->closing = true;
	n->alive = false;
	for (uint32_t i = 0; i < n->in_sock; i++)
		sim_release(s, n->sock[i]);
	n->in_sock = 0;
	suci_fini(n->ep, s->now_ns);
	suci_lanes_fini(n->lanes.lanes);
	n->w->closing = closing;
	free(n->ep_mem);
	free(n->lanes_mem);
	free(n->engine_mem);
	free(n->port_mem);
	free(n->far_mem);
	for (int r = 0; r < 4; r++)
		free(n->ring[r]);
}

void
mw_node_free(struct mw_node *n)
{
	free(n->half[0]);
	free(n->half[1]);
	free(n->pair_ring);
}
