/* SPDX-License-Identifier: BSD-2-Clause */
/* Suci: direct lanes to processes on other nodes of my cluster, lanes over
 * relays to those of other clusters.  One packet is one block. */
#include "net_internal.h"

#include "mpi/lanes.h"

#include "base/clock.h"
#include "mpi/far.h"
#include "relayproto/pair.h"

#include <stdio.h>
#include <string.h>

#define eng lmpi_eng
#define net lmpi_net

struct lmpi_net_state lmpi_net = {.strangers_due_ns = BASE_NEVER_NS};

#define DIRECT_WINDOW 1024 /* segments a peer may have outstanding towards us */

/* --- lanes --------------------------------------------------------------- */

/* The window of every relayed lane of the job, the same at both ends.  When a block's
 * first segment is lost, all that follows is held until it comes again; should all
 * remote processes be in that state at once, what they may send still fits, so nothing
 * is refused and relays never fill with what cannot move.  Half of the room is dealt out like
 * this; a lane whose way needs more grows into what there is. */
uint32_t
lmpi_net_relay_window(void)
{
	uint32_t w = LMPI_HELD_MAX / 2 / lmpi_world.size;
	return w < 64 ? 64 : w > 1024 ? 1024 : w;
}

static void
open_conf(const struct lmpi_peer *peer, uint32_t path, struct suci_lane_conf *c)
{
	const struct lmpi_route *to = &lmpi_route[peer->world];

	*c = relay_pair_lane(lmpi_world.rank, peer->world, to->label - peer->world,
			     LMPI_LABEL_BASE);
	if (peer->world >= lmpi_world.size)
		c->tx_src_label = c->rx_src_label = LMPI_LABEL_STRANGER;
	c->path = path;
	if (lmpi_speaks_impi(peer)) {
		c->group = relayset_group(net.relays, lmpi_world.proc[peer->world].client,
					  to->relay, eng.now_ns);
		c->window = lmpi_net_relay_window();
		c->window_max = LMPI_HELD_MAX;
		c->mss = relayset_mss(net.relays);
	} else {
		c->direct = true;
		c->crc = false;
		c->window = DIRECT_WINDOW;
	}
}

bool
lmpi_net_open_lane(struct lmpi_peer *peer, uint32_t path)
{
	struct lmpi_route *to = &lmpi_route[peer->world];
	struct suci_lane_conf c;

	if (to->has_lane)
		return true;
	if (to->door)
		return lmpi_doors_open_lane(peer->world);
	open_conf(peer, path, &c);
	int err = suci_lane_open(net.lanes, &c, &to->lane, suci_udp_now_ns());
	if (err) {
		lmpi_fail("cannot open a lane to rank %u: %s", peer->world, suci_strerror(err));
		return false;
	}
	net.lane_rank[to->lane] = peer->world;
	to->has_lane = true;
	return true;
}

/* Processes of two jobs prove to know both. */
uint64_t
lmpi_net_hello_token(uint32_t world, uint32_t label)
{
	uint64_t token = lmpi_route[world].token;

	if (world >= lmpi_world.size)
		token ^= lmpi_loop.token;
	return relay_hello_token(token, label);
}

void
lmpi_net_hello_to(uint32_t world, uint8_t out[RELAY_HELLO_LEN])
{
	uint32_t label = lmpi_route[world].label;

	relay_hello_encode(&(struct relay_hello){.kind = RELAY_HELLO_PROCESS,
						 .token = lmpi_net_hello_token(world, label),
						 .label = label,
						 .rank = lmpi_world.rank},
			   out);
}

int
lmpi_net_open_path(uint32_t world)
{
	struct lmpi_route *r = &lmpi_route[world];
	struct suci_addr to = r->at;
	uint8_t hello[RELAY_HELLO_LEN];

	if (r->path != UINT32_MAX)
		return 0;
	lmpi_net_hello_to(world, hello);
	int err = suci_path_open(net.ep, &to, hello, sizeof hello, &r->path, suci_udp_now_ns());
	if (err && err != SUCI_ERR_EXISTS) {
		r->path = UINT32_MAX;
		return err;
	}
	net.path_use[r->path] = world;
	net.dirty = true;
	return 0;
}

bool
lmpi_net_reach(uint32_t world)
{
	int err = lmpi_net_open_path(world);

	if (err)
		lmpi_fail("cannot open a path to rank %u: %s", world, suci_strerror(err));
	return err == 0;
}

/* The path and the lane to a process of my cluster or a directly reachable one. */
static bool
open_direct(struct lmpi_peer *peer)
{
	if (lmpi_route[peer->world].door)
		return lmpi_net_open_lane(peer, UINT32_MAX);
	if (net.pool)
		return lmpi_pool_may_send(peer) &&
		       lmpi_net_open_lane(peer, lmpi_route[peer->world].path);
	return lmpi_net_reach(peer->world) &&
	       lmpi_net_open_lane(peer, lmpi_route[peer->world].path);
}

static bool
lane_ready(struct lmpi_peer *peer)
{
	if (lmpi_route[peer->world].has_lane && !net.pool)
		return true;
	if (!lmpi_speaks_impi(peer))
		return open_direct(peer);
	/* Its segments are cut for the relays that are there: one must be. */
	return lmpi_route[peer->world].has_lane ||
	       (relayset_any_up(net.relays) && lmpi_net_open_lane(peer, UINT32_MAX));
}

bool
lmpi_net_lane_at(uint32_t world, uint32_t *next, uint32_t *acked, uint32_t *mss)
{
	const struct lmpi_route *to = &lmpi_route[world];
	struct suci_lane_info info;

	if (!to->has_lane || !suci_lane_info(net.lanes, to->lane, &info))
		return false;
	*next = info.tx_next_seq;
	*acked = info.tx_acked_seq;
	*mss = info.tx_mss;
	return true;
}

/* --- packets ------------------------------------------------------------- */

/* Was the packet taken? */
static bool
is_sent(const struct lmpi_peer *peer, int err)
{
	if (err == SUCI_ERR_NOMEM)
		return false;
	if (err) {
		lmpi_fail("sending to rank %u: %s", peer->world, suci_strerror(err));
		return false;
	}
	net.dirty = true;
	return true;
}

static bool
send_net_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	return lane_ready(peer) &&
	       is_sent(peer, lmpi_lanes_send(e, peer, out, net.lanes, lmpi_route[peer->world].lane,
					     suci_udp_now_ns()));
}

static bool
try_packet(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	   const void *data, uint64_t len)
{
	return lmpi_lanes_fits(e, peer, h, len) && lane_ready(peer) &&
	       is_sent(peer, lmpi_lanes_try(e, peer, h, data, len, net.lanes,
					    lmpi_route[peer->world].lane, suci_udp_now_ns()));
}

/* A process with a global address may be far. */
static uint64_t
find_eager(struct lmpi_engine *e, const struct lmpi_peer *peer)
{
	struct suci_path_info info;
	uint32_t path = lmpi_route[peer->world].path;

	(void)e;
	if (!lmpi_eager_free() || path == UINT32_MAX || !suci_path_info(net.ep, path, &info))
		return lmpi_eager();
	return lmpi_far_eager(lmpi_eager(), info.rtt_ns_min, (uint64_t)info.cwnd * info.mss);
}

/* Long data of a rendezvous may have a stream of its own.  A long message that goes without asking
 * does so as its process is far: it may have been silent when that was measured, so who sends one
 * looks again. */
static bool
send_direct_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	if (out->hdr.type == LMPI_T_DATA && lmpi_streams_send(e, peer, out))
		return true;
	if (out->hdr.type == LMPI_T_EAGER && out->len > lmpi_eager())
		peer->eager_max = find_eager(e, peer);
	return send_net_packet(e, peer, out);
}

const struct lmpi_transport lmpi_direct_transport = {
	.caps = LMPI_LANES_DIRECT_CAPS,
	.eager = find_eager,
	.send = send_direct_packet,
	.try_short = try_packet,
};
const struct lmpi_transport lmpi_relay_transport = {
	.caps = LMPI_LANES_RELAYED_CAPS,
	.send = send_net_packet,
	.try_short = try_packet,
};

/* --- turns --------------------------------------------------------------- */

bool
lmpi_net_poll(uint64_t now_ns)
{
	if (!net.ep)
		return false;
	net.dirty = false;
	lmpi_away_back(&net.away, now_ns);
	bool moved = suci_udp_poll(net.udp, now_ns);
	lmpi_relays_turn(now_ns);
	lmpi_doors_turn(now_ns);
	if (net.pool)
		pathpool_turn(net.pool, now_ns);
	if (now_ns >= net.strangers_due_ns)
		lmpi_net_miss_strangers();
	return moved;
}

bool
lmpi_net_in_use(void)
{
	if (!net.ep)
		return false;
	const struct suci_counters *c = suci_counters(net.ep);
	return c->paths_opened > 0 || c->tx_datagrams > 0;
}

void
lmpi_net_kick(void)
{
	if (!net.ep || !net.dirty || eng.in_transport)
		return;
	net.dirty = false;
	eng.in_transport = true;
	suci_udp_tx(net.udp, suci_udp_now_ns());
	eng.in_transport = false;
}

uint64_t
lmpi_net_short_since_ns(void)
{
	return net.ep ? suci_short_since_ns(net.ep) : 0;
}

static void
flush_now(bool lanes)
{
	uint64_t now = suci_udp_now_ns();
	if (lanes)
		suci_lanes_flush(net.lanes, now);
	suci_flush_acks(net.ep);
	eng.in_transport = true;
	suci_udp_tx(net.udp, now);
	eng.in_transport = false;
}

void
lmpi_net_flush(void)
{
	if (!net.ep)
		return;
	const struct suci_udp_counters *c = suci_udp_counters(net.udp);
	uint64_t rx = c->rx_datagrams - net.rx_mark, tx = c->tx_datagrams - net.tx_mark;
	bool soon = lmpi_away_soon(&net.away);
	/* One datagram without an answer is usually answered by what the program
	 * sends next; nobody waits for that ack, else it had been asked for. */
	if (rx > tx + 1)
		flush_now(!soon);
	lmpi_away_left(&net.away, eng.now_ns, soon && suci_lanes_owing(net.lanes));
	net.rx_mark = c->rx_datagrams;
	net.tx_mark = c->tx_datagrams;
}

bool
lmpi_net_drained(void)
{
	if (!net.ep)
		return true;
	flush_now(true);
	return suci_lanes_pending(net.lanes) == 0 && suci_held(net.ep) == 0;
}

int
lmpi_net_fd(short *events)
{
	if (!net.ep)
		return -1;
	*events = suci_udp_events(net.udp);
	return suci_udp_fd(net.udp);
}

uint64_t
lmpi_net_expiry_ns(void)
{
	if (!net.ep)
		return BASE_NEVER_NS;
	uint64_t due = base_min_ns(suci_expiry_ns(net.ep), net.strangers_due_ns);
	due = base_min_ns(due, lmpi_doors_expiry_ns());
	if (net.pool)
		due = base_min_ns(due, pathpool_expiry(net.pool));
	return base_min_ns(due, relayset_expiry_ns(net.relays));
}
