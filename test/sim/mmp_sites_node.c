/* SPDX-License-Identifier: BSD-2-Clause */
/* A rank of a job over sites: lib/mmp/away and lanes over an endpoint, as libmmp has them. */
#include "mmp_sites.h"
#include "pieces.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF	  32768u
#define AGAIN_NS  (200 * BASE_US_NS)
#define CREDIT	  512u
#define WAIT_NS	  (30 * BASE_S_NS)
#define SILENT_NS (60 * BASE_S_NS)

/* ---- what lib/mmp/away tells ---- */

static void
know_cards(struct sim *s, void *who, uint64_t arg)
{
	struct town *n = who;
	(void)arg;
	if (!n->alive)
		return;
	n->knows = true;
	mmp_away_now(n->away, s->now_ns);
	mmp_away_know(n->away, n->w->card);
	mmp_sites_turn(n);
}

static void
tell_door(void *user)
{
	struct town *n = user;
	struct country *w = n->w;
	struct mmp_card *c = &w->card[n->rank];
	if (n->knows || c->ndoor)
		return;
	*c = (struct mmp_card){.share = mmp_engine_share(n->engine), .threaded = w->threaded};
	c->ndoor = (uint8_t)door_address_encode(&n->away->own[0].at, c->door);
	if (++w->have < w->size)
		return;
	/* They hear the table one after the other. */
	for (uint32_t i = 0; i < w->size; i++)
		sim_at(w->s, w->s->now_ns + base_prng_below(&n->prng, 50 * BASE_MS_NS), know_cards,
		       &w->town[i], 0);
}

static void
first_lane(void *user, uint32_t rank)
{
	(void)user, (void)rank;
}

static void
way_broke(void *user, uint32_t rank, const char *why)
{
	struct town *n = user;
	sim_log(n->w->s, "rank %u: way to rank %u: %s", n->rank, rank, why);
}

static void
give_up(void *user, uint32_t rank, const char *why)
{
	struct town *n = user;
	const struct country *w = n->w;
	sim_log(w->s, "rank %u: rank %u is lost: %s", n->rank, rank, why);
	INVARIANT(w->s, REASON, w->storm || (rank == w->dead && w->dies),
		  "rank %u: rank %u lives, and its relay came back in time: %s", n->rank, rank,
		  why);
	mmp_far_down(n->lanes.far, rank, ECONNRESET);
	n->lost[rank] = ECONNRESET;
}

static void
meet_label(void *user, uint32_t label)
{
	(void)user, (void)label;
}

static void
miss_rank_0(void *user, const char *why)
{
	(void)user, (void)why;
}

static enum suci_verdict
call_early(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	(void)user, (void)path, (void)dst, (void)src;
	return SUCI_REFUSED;
}

static const struct mmp_away_ops town_away_ops = {.opened = tell_door,
						  .up = first_lane,
						  .paused = way_broke,
						  .lost = give_up,
						  .met = meet_label,
						  .missed = miss_rank_0,
						  .called = call_early};

/* ---- lanes, as libmmp/net.c has them ---- */

static struct town *
town_of(void *user)
{
	return ((struct mmp_lanes *)user)->user;
}

static void *
town_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	   uint64_t now_ns)
{
	struct mmp_away *a = town_of(user)->away;
	return mmp_away_has_talk(a, lane)
		       ? mmp_away_talk_begin(a, lane, bytes)
		       : mmp_lanes_begin(user, lane, bytes, first, first_len, now_ns);
}

static void
town_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	struct mmp_away *a = town_of(user)->away;
	if (mmp_away_has_talk(a, lane))
		mmp_away_talk_data(a, lane, off, data, len);
	else
		mmp_lanes_data(user, lane, block, off, data, len);
}

static void
town_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct mmp_away *a = town_of(user)->away;
	if (mmp_away_has_talk(a, lane))
		mmp_away_talk_end(a, lane);
	else
		mmp_lanes_end(user, lane, block, now_ns);
}

static void
town_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct mmp_away *a = town_of(user)->away;
	if (mmp_away_has_talk(a, lane))
		mmp_away_talk_done(a, lane);
	else
		mmp_lanes_done(user, lane, cookie, ok, now_ns);
}

static void
town_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct town *n = town_of(user);
	uint32_t rank = n->lanes.lane_peer[lane];
	n->lanes.lane_peer[lane] = MMP_NONE;
	if (n->w->closing || !n->alive)
		return;
	if (mmp_away_has_talk(n->away, lane))
		mmp_away_talk_down(n->away, lane);
	if (rank != MMP_NONE)
		mmp_away_lane_down(n->away, rank, why, text);
}

static int
town_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	    char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len;
	snprintf(why, SUCI_TEXT_MAX, "nobody calls a town");
	return -1;
}

static void
town_path_up(void *user, uint32_t path, const struct suci_addr *from, const void *hello, size_t len,
	     bool incoming)
{
	struct town *n = town_of(user);
	(void)from, (void)incoming;
	SIM_CHECK(n->w->s, mmp_away_path_up(n->away, path, hello, len), "it is no relay");
}

static void
town_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct town *n = town_of(user);
	(void)why, (void)text;
	if (n->alive && !n->w->closing && mmp_away_at(n->away, path) != MMP_NONE)
		mmp_away_path_down(n->away, path);
}

static void
town_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	(void)now_ns;
	mmp_away_note(town_of(user)->away, path, note, len);
}

static enum suci_verdict
town_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	return mmp_away_came(town_of(user)->away, path, dst, src);
}

static bool
town_path_room(void *user, uint32_t path)
{
	(void)user, (void)path;
	return true;
}

static void
town_hold(void *user, uint64_t cookie)
{
	sim_hold(town_of(user)->w->s, cookie);
}

static void
town_release(void *user, uint64_t cookie)
{
	sim_release(town_of(user)->w->s, cookie);
}

static const struct suci_lane_ops town_lane_ops = {
	.block_begin = town_begin,
	.block_data = town_data,
	.block_end = town_end,
	.block_done = town_done,
	.block_room = mmp_lanes_room,
	.room = town_path_room,
	.lane_unknown = town_unknown,
	.note = town_note,
	.hold = town_hold,
	.release = town_release,
	.lane_down = town_lane_down,
	.accept = town_accept,
	.path_up = town_path_up,
	.path_down = town_path_down,
};

static bool
town_send(void *user, uint32_t rank, const struct mmp_head *h, const void *data, uint32_t name)
{
	return mmp_away_send(((struct town *)user)->away, rank, h, data, name);
}

static void
town_lent(void *user, uint32_t rank, uint32_t cookie)
{
	(void)rank, (void)cookie;
	sim_fail(((struct town *)user)->w->s, "released what was not lent");
}

static const struct mmp_engine_ops town_engine_ops = {.send = town_send, .release = town_lent};

/* ---- turns ---- */

static void
wake_town(struct sim *s, void *who, uint64_t at)
{
	struct town *n = who;
	(void)s;
	if (!n->alive || at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	mmp_sites_turn(n);
}

static void
transmit_town(struct town *n)
{
	static struct suci_out out;
	struct sim *s = n->w->s;
	uint32_t sent = 0;
	while (!s->failed && suci_tx(n->ep, &out, s->now_ns)) {
		struct sim_piece p[3];
		sim_pieces(n->ep, &out, p);
		sim_send(s, n->port, doors_ipv4_to(&out), p, 3);
		INVARIANT(s, SPIN, ++sent < 100000, "rank %u: suci_tx never ends", n->rank);
	}
}

void
mmp_sites_turn(struct town *n)
{
	struct sim *s = n->w->s;
	uint64_t now = s->now_ns, at;
	uint32_t i;
	if (now >= n->busy_ns) {
		mmp_away_now(n->away, now);
		(void)mmp_engine_turn(n->engine);
		for (i = 0; i < n->in_sock; i++) {
			const struct sim_buf *b = &s->buf[n->sock[i]];
			struct suci_addr from =
				relay_addr_v4(s->port[b->from].ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
			suci_rx(n->ep, &from, b->data, b->len, n->sock[i], now);
			sim_release(s, n->sock[i]);
		}
		n->in_sock = 0;
		if (suci_expiry_ns(n->ep) <= now)
			suci_tick(n->ep, now);
		while ((i = mmp_far_next(n->lanes.far)) != MMP_NONE)
			if (n->away->rank[i].lane != MMP_NONE)
				suci_lane_resume(n->lanes.lanes, n->away->rank[i].lane, now);
		(void)mmp_engine_turn(n->engine);
		mmp_away_turn(n->away, now);
		while ((i = mmp_far_broken(n->lanes.far)) != MMP_NONE)
			INVARIANT(s, HONEST, false, "rank %u: rank %u, honest, %s", n->rank, i,
				  n->lanes.far->peer[i].why);
		mmp_sites_program(n);
		(void)mmp_engine_turn(n->engine);
		transmit_town(n);
	}
	at = base_min_ns(suci_expiry_ns(n->ep), mmp_away_expiry_ns(n->away));
	at = base_min_ns(at, n->knows ? n->post_ns : BASE_NEVER_NS);
	if (!mmp_engine_waits(n->engine) || !mmp_port_quiet(n->mp))
		at = base_min_ns(at, now + AGAIN_NS);
	at = base_max_ns(base_max_ns(at, n->busy_ns), now);
	if (at != BASE_NEVER_NS && at != n->wake_ns)
		sim_at(s, at, wake_town, n, at);
	n->wake_ns = at;
}

/* Nobody is at that port, says its node. */
static void
bounce_town(struct town *n, const struct sim_buf *b)
{
	struct suci_addr at = relay_addr_v4(n->ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	for (uint32_t i = 0; i < n->w->w->nrelays; i++) {
		struct doors_relay *r = &n->w->w->relay[i];
		if (!r->alive || r->port[RELAY_LEG_PRIVATE] != b->from)
			continue;
		suci_path_unreachable(r->ep, &at, b->data, b->len, n->w->s->now_ns);
		doors_drive_relay(r);
	}
}

static void
deliver_town(struct sim *s, void *who, uint64_t b)
{
	struct town *n = who;
	if (!n->alive) {
		bounce_town(n, &s->buf[b]);
		return;
	}
	if (n->in_sock == SOCK)
		return;
	sim_hold(s, b);
	n->sock[n->in_sock++] = b;
	if (s->now_ns >= n->busy_ns)
		mmp_sites_turn(n);
}

/* ---- making and ending ---- */

static void
make_town_suci(struct town *n)
{
	const struct country *w = n->w;
	struct suci_lanes_config l = {.limits = {.lanes_max = LANES,
						 .blocks_max = MMP_SENDS_MAX,
						 .rx_blocks_max = 300,
						 .held_max = CREDIT,
						 .ranges_max = 512,
						 .labels_max = 1,
						 .buckets = 64},
				      .ops = &town_lane_ops,
				      .user = &n->lanes};
	struct suci_config e = {.limits = {.paths_max = RANKS + 8,
					   .segments_max = 4096,
					   .queue_max = 1024,
					   .window_max = 1024},
				.incarnation = n->rank + 1,
				.seed = w->s->seed * 101 + n->rank,
				.mtu_max = 1472,
				.cc = SUCI_CC_CUBIC,
				.fixed_window = 1024,
				.initial_window = 64,
				.ack_every = 32,
				.ack_ride_ns = 50 * BASE_US_NS,
				.credit = CREDIT,
				.credit_total = 2 * CREDIT,
				.handshake_ns = 30 * BASE_S_NS,
				.liveness_ns = 20 * BASE_S_NS,
				.keepalive_ns = BASE_S_NS,
				.ops = suci_lanes_ops()};
	for (size_t i = 0; i < sizeof e.cookie_secret; i++)
		e.cookie_secret[i] = (uint8_t)(e.seed >> (i % 8) ^ (5 * i));
	n->lanes_mem = doors_memory(suci_lanes_footprint(&l.limits));
	n->lanes.lanes = suci_lanes_new(n->lanes_mem, &l);
	e.user = n->lanes.lanes;
	n->ep_mem = doors_memory(suci_footprint(&e.limits));
	n->ep = suci_new(n->ep_mem, &e, w->s->now_ns);
	BASE_ASSERT(n->lanes.lanes && n->ep);
	suci_lanes_bind(n->lanes.lanes, n->ep);
}

static void
make_town_engine(struct town *n)
{
	for (int r = 0; r < 4; r++)
		n->ring[r] = calloc(1, mmp_ring_bytes(MMP_RING_SLOTS));
	for (int h = 0; h < 2; h++)
		n->half[h] = doors_memory(HALF);
	struct mmp_rings rings = {n->ring[0], n->ring[1], n->ring[2], n->ring[3]};
	struct mmp_engine_config e = {.rank = n->rank,
				      .size = n->w->size,
				      .rings = rings,
				      .send_half = n->half[0],
				      .recv_half = n->half[1],
				      .recv_bytes = HALF,
				      .ops = &town_engine_ops,
				      .user = n};
	struct mmp_port_config c = {.rank = n->rank,
				    .size = n->w->size,
				    .rings = rings,
				    .send_half = n->half[0],
				    .send_bytes = HALF,
				    .fragment = PICK(&n->prng, 256, 1000, 4048)};
	n->engine_mem = calloc(1, mmp_engine_footprint(e.size));
	n->port_mem = calloc(1, mmp_port_footprint(e.size));
	n->far_mem = calloc(1, mmp_far_footprint(e.size));
	BASE_ASSERT(n->engine_mem && n->port_mem && n->far_mem);
	n->engine = mmp_engine_new(n->engine_mem, &e);
	n->mp = mmp_port_new(n->port_mem, &c);
	n->lanes.far = mmp_far_new(n->far_mem, n->engine, e.size, HALF);
	memset(n->path_peer, 0xff, sizeof n->path_peer);
	memset(n->lane_peer, 0xff, sizeof n->lane_peer);
	n->lanes.rank = n->rank;
	n->lanes.path_peer = n->path_peer;
	n->lanes.lane_peer = n->lane_peer;
	n->lanes.user = n;
}

static void
make_town_away(struct town *n)
{
	const struct country *w = n->w;
	bool elsewhere[RANKS] = {0};
	uint32_t fars = 0;
	for (uint32_t i = 0; i < w->size; i++)
		fars += elsewhere[i] = is_far(w, n->rank, i);
	struct mmp_away_conf c = {
		.rank = n->rank,
		.size = w->size,
		.lanes_max = LANES,
		.elsewhere = elsewhere,
		.job = w->s->seed,
		.me = {.share = mmp_engine_share(n->engine), .threaded = w->threaded},
		.relays = w->w->conf.relays,
		.live_ns = 20 * BASE_S_NS,
		.silence_ns = SILENT_NS,
		.wait_ns = WAIT_NS,
		.ep = n->ep,
		.lanes = &n->lanes,
		.engine = n->engine,
		.ops = &town_away_ops,
		.user = n};
	for (uint32_t k = 0; k < c.relays; k++) {
		const struct doors_relay *r = &w->w->relay[n->cluster + k * w->w->conf.nclusters];
		c.relay[k] = relay_addr_v4(r->ipv4[RELAY_LEG_PRIVATE], UDP_PORT, RELAY_LEG_PRIVATE);
	}
	be64_store(c.secret, base_prng_next(&n->prng));
	n->away_mem = calloc(1, mmp_away_footprint(w->size, fars, LANES));
	BASE_ASSERT(n->away_mem);
	n->away = mmp_away_new(n->away_mem, &c, w->s->now_ns);
}

static void
lay_town_links(struct town *n)
{
	struct doors *w = n->w->w;
	for (uint32_t k = 0; k < w->conf.relays; k++) {
		uint32_t to = w->relay[n->cluster + k * w->conf.nclusters].port[RELAY_LEG_PRIVATE];
		struct sim_link_conf lan = {.delay_ns = w->conf.lan_ns};
		uint32_t out = sim_add_link(w->s, &lan), in = sim_add_link(w->s, &lan);
		sim_set_route(w->s, n->port, to, &out, 1);
		sim_set_route(w->s, to, n->port, &in, 1);
	}
}

void
mmp_sites_start(struct country *w, uint32_t rank)
{
	struct town *n = &w->town[rank];
	n->prng = base_prng_seed(w->s->seed * 31 + rank);
	n->ipv4 = 0x0a000001 + rank;
	n->wake_ns = BASE_NEVER_NS;
	n->port = sim_add_port(w->s, n, deliver_town, n->cluster, n->ipv4);
	lay_town_links(n);
	make_town_engine(n);
	make_town_suci(n);
	make_town_away(n);
	n->alive = true;
	mmp_sites_turn(n);
}

void
mmp_sites_kill(struct town *n)
{
	if (!n->alive)
		return;
	n->alive = false;
	for (uint32_t i = 0; i < n->in_sock; i++)
		sim_release(n->w->s, n->sock[i]);
	n->in_sock = 0;
	suci_fini(n->ep, n->w->s->now_ns);
	suci_lanes_fini(n->lanes.lanes);
	void *mem[] = {n->ep_mem,  n->lanes_mem, n->engine_mem, n->port_mem,
		       n->far_mem, n->away_mem,	 n->ring[0],	n->ring[1],
		       n->ring[2], n->ring[3],	 n->half[0],	n->half[1]};
	for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
		free(mem[i]);
}
