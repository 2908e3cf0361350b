/* SPDX-License-Identifier: BSD-2-Clause */
/* A process: one endpoint with lanes, driven as libmpi's UDP driver would. */
#include "pieces.h"
#include "world.h"

#include "base/assert.h"
#include "relayproto/hello.h"
#include "relayproto/note.h"
#include "relayproto/pair.h"
#include "relayset/relayset.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TX_BURST_MAX 200000 /* datagrams at one instant; more means it never stops */

static struct suci_addr
addr_of(const struct end *e, uint32_t ipv4)
{
	return world_inside(e->w, e->client, ipv4);
}

static uint64_t
now(const struct end *e)
{
	return node_now(&e->clock, e->w->s->now_ns);
}

void
end_over(struct end *e, const char *fmt, ...)
{
	if (e->ended || e->quitting)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->why, sizeof e->why, fmt, ap);
	va_end(ap);
	e->ended = true;
	e->ended_ns = e->w->s->now_ns;
	sim_log(e->w->s, "rank %u: the job is over: %s", e->rank, e->why);
	INVARIANT(e->w->s, REASON, e->w->conf.die_ok, "rank %u: job over: %s", e->rank, e->why);
}

static void
held(struct end *e)
{
	uint32_t limit = e->lane_limits.held_max + e->limits.wholes_max + e->limits.paths_max;
	e->holding++;
	INVARIANT(e->w->s, MEMORY, e->holding <= limit,
		  "rank %u: holds %u receive buffers, its limit is %u", e->rank, e->holding, limit);
}

static void
hold(void *user, uint64_t cookie)
{
	struct end *e = user;
	sim_hold(e->w->s, cookie);
	held(e);
}

static uint8_t *
buffer(void *user, uint32_t len, uint64_t *cookie)
{
	struct end *e = user;
	*cookie = sim_buffer(e->w->s, len);
	held(e);
	return e->w->s->buf[*cookie].data;
}

static void
release(void *user, uint64_t cookie)
{
	struct end *e = user;
	struct sim *s = e->w->s;
	INVARIANT(s, OWNER, e->holding && cookie < s->nbuf && s->buf[cookie].refs,
		  "rank %u: releases a receive buffer that it does not hold", e->rank);
	if (s->failed)
		return;
	e->holding--;
	sim_release(s, cookie);
}

/* What MPI_Abort does: tell the relays, so that the job ends everywhere. */
static void
tell_relays(struct sim *s, void *who, uint64_t arg)
{
	struct end *e = who;
	const struct world *w = e->w;
	(void)s;
	(void)arg;
	if (!e->alive)
		return;
	struct relay_note n = {.type = RELAY_NOTE_ABORT, .label_base = w->label_base[e->client]};
	uint8_t buf[RELAY_NOTE_MAX];
	snprintf(n.text, sizeof n.text, "process %u: %.150s", e->rank, e->why);
	size_t len = relay_note_encode(&n, buf);
	for (uint32_t i = 0; i < w->conf.cluster[e->client].relays; i++) {
		const struct rnode *r = &w->relay[w->first_relay[e->client] + i];
		struct suci_addr to = addr_of(e, r->ipv4[RELAY_LEG_PRIVATE]);
		uint32_t path = suci_path_find(e->ep, &to);
		if (path != NONE_U32)
			suci_path_note(e->ep, path, buf, len, now(e));
	}
	end_drive(e);
}

static bool
outlives(const struct end *e)
{
	return e->w->conf.app && e->w->conf.app->lost;
}

static void
lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct end *e = user;
	uint32_t r = end_of_lane(e, lane);
	if (r < e->w->nend)
		e->lane[r] = NONE_U32;
	/* Its path goes down, too. */
	if (outlives(e) && r < e->w->nend && world_same_cluster(e->w, e->rank, r))
		return;
	if (e->w->conf.tolerant) {
		if (r < e->w->nend && !e->quitting)
			e->w->conf.app->lost(e, r);
		return;
	}
	end_over(e, "lane down (%d): %s", (int)why, text ? text : "");
	sim_at(e->w->s, e->w->s->now_ns, tell_relays, e, 0);
}

static int
accept_path(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	    char why[SUCI_TEXT_MAX])
{
	struct end *e = user;
	struct relay_hello h;
	(void)from;
	if (relay_hello_decode(hello, hello_len, &h)) {
		snprintf(why, SUCI_TEXT_MAX, "bad hello");
		return -1;
	}
	/* Its token is another. */
	if (e->reborn && h.kind == RELAY_HELLO_RELAY) {
		snprintf(why, SUCI_TEXT_MAX, "token is not mine");
		return -1;
	}
	if (h.kind == RELAY_HELLO_PROCESS && h.label != LABEL_BASE + e->rank) {
		snprintf(why, SUCI_TEXT_MAX, "label %u is not mine", h.label);
		return -1;
	}
	if (h.kind == RELAY_HELLO_PROCESS && outlives(e) && e->shunned >> h.rank & 1) {
		snprintf(why, SUCI_TEXT_MAX, "rank %u is lost", h.rank);
		return -1;
	}
	return 0;
}

static bool
is_at(const struct end *e, uint32_t rank, const struct suci_addr *addr)
{
	struct suci_addr at = addr_of(e, e->w->end[rank].ipv4);

	return !memcmp(at.ip, addr->ip, sizeof at.ip);
}

static void
path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	size_t hello_len, bool incoming)
{
	struct end *e = user;
	struct relay_hello h;
	bool relay = !relay_hello_decode(hello, hello_len, &h) && h.kind == RELAY_HELLO_RELAY;
	e->met_relay = e->met_relay || relay;
	for (uint32_t r = 0; !relay && outlives(e) && r < e->w->nend; r++)
		if (world_same_cluster(e->w, e->rank, r) && is_at(e, r, peer))
			e->path[r] = path;
	if (relay && e->relays)
		end_relays_up(e, path, peer, h.mtu);
	sim_log(e->w->s, "rank %u: path %u up to ..%u (%s)", e->rank, path, peer->ip[15],
		incoming ? "incoming" : "opened");
}

static void
path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct end *e = user;
	if (e->relays && end_relays_down(e, path, why, text)) {
		sim_log(e->w->s, "rank %u: path %u to a relay is down: %s", e->rank, path,
			text ? text : "");
		return;
	}
	for (uint32_t r = 0; outlives(e) && r < e->w->nend; r++) {
		if (e->path[r] != path)
			continue;
		e->path[r] = NONE_U32;
		sim_log(e->w->s, "rank %u: the path to rank %u is down (%d): %s", e->rank, r,
			(int)why, text ? text : "");
		if (!e->quitting)
			e->w->conf.app->lost(e, r);
		return;
	}
	if (e->w->conf.tolerant) /* of nobody */
		return;
	end_over(e, "path %u down (%d): %s", path, (int)why, text ? text : "");
	sim_at(e->w->s, e->w->s->now_ns, tell_relays, e, 0);
}

static void
note(void *user, uint32_t path, const void *bytes, size_t len, uint64_t now_ns)
{
	struct end *e = user;
	struct relay_note n;
	(void)now_ns;
	if (relay_note_decode(bytes, len, &n)) {
		invariant_broken(e->w->s, INV_HONEST, "rank %u: malformed note", e->rank);
		return;
	}
	INVARIANT(e->w->s, BYTES, n.label_base == LABEL_BASE, "rank %u: note for label base %u",
		  e->rank, n.label_base);
	if (e->leaving)
		return;
	if (n.type == RELAY_NOTE_ABORT)
		end_over(e, "ABORT: %s", n.text);
	else if (e->relays)
		end_relays_note(e, path, &n, bytes, len);
}

/* The address to which this process sends what is for rank r. */
static uint32_t
next_hop(const struct end *e, uint32_t r)
{
	const struct world *w = e->w;
	if (world_same_cluster(w, e->rank, r))
		return w->end[r].ipv4;
	if (w->conf.cluster[e->client].relays)
		return w->relay[world_relay_for(w, e->client, r)].ipv4[RELAY_LEG_PRIVATE];
	return w->relay[world_relay_for(w, w->end[r].client, r)].ipv4[RELAY_LEG_GLOBAL];
}

static bool
lane_make(struct end *e, uint32_t r, uint32_t path)
{
	const struct world *w = e->w;
	bool direct = world_same_cluster(w, e->rank, r);
	bool self_carried = !direct && !w->conf.cluster[e->client].relays;
	uint32_t peer_base = direct	    ? LABEL_BASE
			     : self_carried ? w->label_base[w->end[r].client]
					    : w->label_base[e->client];
	struct suci_lane_conf c = relay_pair_lane(e->rank, r, peer_base, LABEL_BASE);
	c.path = path;
	c.direct = direct;
	c.window = w->conf.lane_window;
	c.window_max = w->conf.lane_window_max;
	if (direct) {
		c.crc = w->conf.direct_crc;
		c.skip_len = 0;
	} else {
		c.mss = (w->conf.private_mtu < w->conf.global_mtu ? w->conf.private_mtu
								  : w->conf.global_mtu) -
			SUCI_OVERHEAD;
	}
	if (direct && w->conf.direct_window) {
		c.window = w->conf.direct_window;
		c.window_max = 0;
	}
	if (direct && outlives(e))
		e->path[r] = path;
	if (!direct && e->relays) {
		c.group = end_relays_group(e, r);
		c.mss = relayset_mss(e->relays);
	}
	int err = suci_lane_open(e->lanes, &c, &e->lane[r], now(e));
	if (err) {
		e->lane[r] = NONE_U32;
		SIM_CHECK(w->s, w->conf.die_ok, "rank %u: suci_lane_open to %u: %s", e->rank, r,
			  suci_strerror(err));
	}
	return !err;
}

/* A lane to r over the path to its next hop; opens that path if nobody has. */
static void
lane_want(struct end *e, uint32_t r)
{
	const struct world *w = e->w;
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS, .rank = e->rank};
	bool direct = world_same_cluster(w, e->rank, r);
	h.label = direct ? LABEL_BASE + r : w->label_base[e->client] + e->rank;
	h.token = direct ? 0x7070 : relay_hello_token(w->token[e->client], h.label);
	if (!direct && e->relays) {
		if (end_relays_ready(e))
			lane_make(e, r, NONE_U32);
		return;
	}
	struct suci_addr to = addr_of(e, next_hop(e, r));
	uint8_t hello[RELAY_HELLO_LEN];
	relay_hello_encode(&h, hello);
	uint32_t path = suci_path_find(e->ep, &to);
	if (path == NONE_U32) {
		/* A relay opens the path to a process that carries itself. */
		if (!direct && !w->conf.cluster[e->client].relays)
			return;
		int err = suci_path_open(e->ep, &to, hello, sizeof hello, &path, now(e));
		if (err && err != SUCI_ERR_EXISTS) {
			SIM_CHECK(w->s, w->conf.die_ok, "rank %u: suci_path_open: %s", e->rank,
				  suci_strerror(err));
			return;
		}
	}
	lane_make(e, r, path);
}

static enum suci_verdict
lane_unknown(void *user, uint32_t path, uint32_t dst_label, uint32_t src_label)
{
	struct end *e = user;
	if (dst_label != LABEL_BASE + e->rank || src_label < LABEL_BASE ||
	    src_label - LABEL_BASE >= e->w->nend)
		return SUCI_DROPPED;
	uint32_t r = src_label - LABEL_BASE;
	if (outlives(e) && e->shunned >> r & 1)
		return SUCI_DROPPED;
	if (e->lane[r] != NONE_U32 || r == e->rank || e->ended)
		return SUCI_DROPPED;
	if (e->relays && !world_same_cluster(e->w, e->rank, r) && !end_relays_ready(e))
		return SUCI_REFUSED;
	/* The way back is not always the way it came: with several relays, what is for
	 * r leaves over the relay that answers for r. */
	struct suci_addr to = addr_of(e, next_hop(e, r));
	uint32_t back = suci_path_find(e->ep, &to);
	return lane_make(e, r, back == NONE_U32 ? path : back) ? SUCI_TAKEN : SUCI_DROPPED;
}

void
end_shun(struct end *e, uint32_t rank)
{
	bool again = e->shunned >> rank & 1;
	e->shunned |= UINT64_C(1) << rank;
	if (e->w->conf.tolerant && !again) {
		if (e->relays)
			relayset_failed(e->relays, rank, now(e));
		if (e->lane[rank] != NONE_U32 && !world_same_cluster(e->w, e->rank, rank)) {
			suci_lane_close(e->lanes, e->lane[rank], now(e));
			e->lane[rank] = NONE_U32;
		}
	}
	if (e->path[rank] != NONE_U32)
		suci_path_close(e->ep, e->path[rank], "you are lost", now(e));
}

bool
end_lane(struct end *e, uint32_t rank)
{
	if (e->lane[rank] == NONE_U32)
		lane_want(e, rank);
	return e->lane[rank] != NONE_U32;
}

uint32_t
end_of_lane(const struct end *e, uint32_t lane)
{
	uint32_t r = 0;

	while (r < e->w->nend && e->lane[r] != lane)
		r++;
	return r;
}

static const struct suci_lane_ops ops = {
	.block_begin = app_block_begin,
	.block_data = app_block_data,
	.block_end = app_block_end,
	.block_done = app_block_done,
	.block_room = app_block_room,
	.hold = hold,
	.release = release,
	.buffer = buffer,
	.lane_down = lane_down,
	.lane_unknown = lane_unknown,
	.accept = accept_path,
	.path_up = path_up,
	.path_down = path_down,
	.note = note,
};

static void
count_end_event(struct end *e)
{
	if (!e->w->on_event)
		return;
	e->events++;
	e->w->on_event(e->w, e->rank);
}

static void
wake(struct sim *s, void *who, uint64_t at)
{
	struct end *e = who;
	(void)s;
	if (!e->alive || at != e->wake_ns)
		return;
	if (s->now_ns < e->paused_ns) {
		sim_at(s, e->paused_ns, wake, e, at);
		return;
	}
	e->wake_ns = BASE_NEVER_NS;
	check_wake(e->w, &e->wakes, "rank", e->rank);
	suci_tick(e->ep, now(e));
	end_drive(e);
	count_end_event(e);
}

void
end_clock_step(struct end *e, uint64_t ns)
{
	e->clock.step_ns += ns;
	sim_log(e->w->s, "rank %u: its clock steps by %llu us", e->rank,
		(unsigned long long)ns / 1000);
	if (!e->alive)
		return;
	e->wake_ns = BASE_NEVER_NS;
	suci_tick(e->ep, now(e));
	end_drive(e);
}

static void
resume(struct sim *s, void *who, uint64_t arg)
{
	struct end *e = who;
	(void)arg;
	if (e->alive && s->now_ns >= e->paused_ns)
		end_drive(e);
}

void
end_pause(struct end *e, uint64_t ns)
{
	struct sim *s = e->w->s;
	sim_log(s, "rank %u stops for %llu us", e->rank, (unsigned long long)ns / 1000);
	e->paused_ns = base_max_ns(e->paused_ns, s->now_ns + ns);
	sim_at(s, e->paused_ns, resume, e, 0);
}

static void
tx_again(struct sim *s, void *who, uint64_t arg)
{
	struct end *e = who;
	(void)s;
	(void)arg;
	e->tx_waits = false;
	if (e->alive)
		end_drive(e);
}

/* The driver's queue is full: what there is to send waits in the endpoint. */
static bool
tx_full(struct end *e)
{
	struct world *w = e->w;
	uint64_t ns = w->tx_wait ? w->tx_wait(w, e->port) : 0;
	if (ns && !e->tx_waits) {
		e->tx_waits = true;
		sim_at(w->s, w->s->now_ns + ns, tx_again, e, 0);
	}
	return ns != 0;
}

/* What MPI_Finalize does at last: LEAVE to all relays, a second at most for that to be
 * acknowledged, then all paths are closed with a word. */
static void
say_farewell_of(struct end *e)
{
	struct suci_path_info info;

	if (!e->leaving || e->left || (suci_held(e->ep) && now(e) < e->leave_ns))
		return;
	for (uint32_t p = 0; p < e->limits.paths_max; p++)
		if (suci_path_info(e->ep, p, &info))
			suci_path_close(e->ep, p, "finished", now(e));
	e->left = true;
}

void
end_leave(struct end *e)
{
	struct relay_note n = {.type = RELAY_NOTE_LEAVE, .label_base = e->w->label_base[e->client]};
	uint8_t bytes[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&n, bytes);

	if (e->leaving)
		return;
	e->leaving = e->quitting = true;
	e->leave_ns = now(e) + BASE_S_NS;
	if (e->relays)
		relayset_closing(e->relays);
	for (uint32_t i = 0; e->relays && i < relayset_count(e->relays); i++)
		(void)relayset_tell(e->relays, i, bytes, len, now(e));
}

bool
end_has_left(const struct end *e)
{
	return e->left;
}

static bool
push_streams(struct end *e)
{
	bool more = false;

	for (struct stream *st = e->first; st; st = st->next)
		if (st->sent < st->n && end_lane(e, st->dst))
			more |= stream_push(e, st);
	return more;
}

/* Hand over what the application has, send what there is, ask when to come again. */
void
end_drive(struct end *e)
{
	struct world *w = e->w;
	struct sim *s = w->s;
	static struct suci_out out;
	uint32_t sent = 0;
	bool more = true;
	if (s->now_ns < e->paused_ns)
		return;
	while (more && !s->failed) {
		more = false;
		end_relays_turn(e);
		say_farewell_of(e);
		if (e->started && !e->ended && !e->quitting)
			more = w->conf.app ? w->conf.app->push(e) : push_streams(e);
		while (!tx_full(e) && suci_tx(e->ep, &out, now(e))) {
			check_sent(w, e->ep, &e->limits, &out, "rank", e->rank);
			struct sim_piece p[3];
			sim_pieces(e->ep, &out, p);
			uint32_t ip = (uint32_t)out.to.ip[12] << 24 |
				      (uint32_t)out.to.ip[13] << 16 | (uint32_t)out.to.ip[14] << 8 |
				      out.to.ip[15];
			sim_send(s, e->port, ip, p, 3);
			more = true;
			if (++sent > TX_BURST_MAX) {
				invariant_broken(s, INV_SPIN, "rank %u: suci_tx never ends",
						 e->rank);
				return;
			}
		}
	}
	check_driven(w, e->ep, "rank", e->rank);
	uint64_t at = base_min_ns(suci_expiry_ns(e->ep), end_relays_next_ns(e));
	if (e->leaving && !e->left)
		at = base_min_ns(at, e->leave_ns);
	if (at == BASE_NEVER_NS || (e->tx_waits && at <= now(e))) {
		e->wake_ns = BASE_NEVER_NS;
	} else if (at != e->wake_ns) {
		e->wake_ns = at;
		sim_at(s, node_when(&e->clock, at), wake, e, at);
	}
}

/* The node of a dead process lives on and answers "port unreachable"; the sender's
 * driver passes that on. */
static void
tell_unreachable(struct world *w, const struct end *dead, const struct sim_buf *b)
{
	for (uint32_t i = 0; i < w->nend; i++) {
		struct end *e = &w->end[i];
		struct suci_addr at = addr_of(e, dead->ipv4);
		if (e->port != b->from || !e->alive)
			continue;
		suci_path_unreachable(e->ep, &at, b->data, b->len, now(e));
		end_drive(e);
	}
	for (uint32_t i = 0; i < w->nrelay; i++) {
		struct rnode *r = &w->relay[i];
		for (uint32_t leg = 0; leg < 2; leg++) {
			struct suci_addr at =
				relay_addr_v4(dead->ipv4, UDP_PORT, (enum relay_leg)leg);
			if (r->port[leg] != b->from || !r->alive)
				continue;
			if (leg == RELAY_LEG_PRIVATE)
				at = world_inside(w, r->client, dead->ipv4);
			suci_path_unreachable(r->ep, &at, b->data, b->len,
					      node_now(&r->clock, w->s->now_ns));
			rnode_drive(r);
		}
	}
}

static void
unreachable(struct sim *s, void *who, uint64_t buf)
{
	struct end *dead = who;
	struct world *w = dead->w;
	const struct sim_buf *b = &s->buf[buf];
	dead->bounced--;
	if (!dead->alive)
		tell_unreachable(w, dead, b);
	sim_release(s, buf);
}

static sim_fn read_late;

static void
deliver(struct sim *s, void *who, uint64_t b)
{
	struct end *e = who;
	if (!e->alive) {
		e->dead_rx++;
		e->bounced++;
		sim_hold(s, b);
		sim_at(s, s->now_ns + 20 * BASE_US_NS, unreachable, e, b);
		return;
	}
	if (s->now_ns < e->paused_ns) {
		e->not_read++;
		sim_hold(s, b);
		sim_at(s, e->paused_ns, read_late, e, b);
		return;
	}
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = addr_of(e, s->port[buf->from].ipv4);
	suci_rx(e->ep, &from, buf->data, buf->len, b, now(e));
	end_drive(e);
	count_end_event(e);
}

static void
read_late(struct sim *s, void *who, uint64_t b)
{
	struct end *e = who;
	e->not_read--;
	deliver(s, e, b);
	sim_release(s, b);
}

void
end_new(struct end *e)
{
	struct world *w = e->w;
	struct suci_config c = w->conf.end;
	struct suci_lanes_config lc = {.limits = w->conf.lanes, .ops = &e->ops, .user = e};
	const struct end_app *app = w->conf.app;
	e->ops = ops;
	if (app) {
		e->ops.block_begin = app->block_begin;
		e->ops.block_data = app->block_data;
		e->ops.block_end = app->block_end;
		e->ops.block_done = app->block_done;
		e->ops.block_room = NULL;
	}
	if (!e->lane)
		e->lane = malloc(w->nend * sizeof *e->lane);
	if (!e->path)
		e->path = malloc(w->nend * sizeof *e->path);
	BASE_ASSERT(e->lane && e->path);
	for (uint32_t r = 0; r < w->nend; r++)
		e->lane[r] = e->path[r] = NONE_U32;
	end_relays_new(e, &c);
	lc.limits.labels_max = LABEL_BASE + w->nend;
	lc.limits.groups_max = e->relays ? CLUSTERS_MAX * SUCI_GROUP_PATHS : 0;
	if (w->conf.tune)
		w->conf.tune(e->rank, &c, &lc.limits);
	bool inside = w->conf.cluster[e->client].relays || w->conf.nclusters == 1;
	sim_seal(&c, inside ? w->conf.seal_private : w->conf.seal_global, w->conf.seal_epoch,
		 w->conf.seal_identities);
	e->rx_bytes = 0;
	e->short_of_room = false;
	e->limits = c.limits;
	e->lane_limits = lc.limits;
	size_t lanes_len = suci_lanes_footprint(&lc.limits);
	size_t ep_len = suci_footprint(&c.limits);
	BASE_ASSERT(lanes_len && ep_len);
	e->lanes_mem = aligned_alloc(64, (lanes_len + 63) & ~(size_t)63);
	e->ep_mem = aligned_alloc(64, (ep_len + 63) & ~(size_t)63);
	BASE_ASSERT(e->lanes_mem && e->ep_mem);
	e->lanes = suci_lanes_new(e->lanes_mem, &lc);
	BASE_ASSERT(e->lanes);
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.label = w->label_base[e->client] + e->rank,
				.rank = e->rank,
				.survives = w->conf.tolerant};
	h.token = relay_hello_token(w->token[e->client], h.label);
	relay_hello_encode(&h, c.hello);
	c.hello_len = RELAY_HELLO_LEN;
	c.incarnation = (uint64_t)(1 + e->rank) << 32 | ++e->incarnation;
	c.seed = w->s->seed * 31 + e->rank + 1000 * e->incarnation;
	for (size_t i = 0; i < sizeof c.cookie_secret; i++)
		c.cookie_secret[i] = (uint8_t)(c.seed >> (i % 8) ^ i);
	c.mtu_max = w->conf.cluster[e->client].relays || w->conf.nclusters == 1
			    ? w->conf.private_mtu
			    : w->conf.global_mtu;
	c.ops = suci_lanes_ops();
	c.user = e->lanes;
	e->ep = suci_new(e->ep_mem, &c, now(e));
	BASE_ASSERT(e->ep);
	suci_lanes_bind(e->lanes, e->ep);
	end_relays_bind(e);
	e->alive = true;
	e->holding = e->begun_long = 0;
	e->wake_ns = BASE_NEVER_NS;
	if (e->incarnation == 1) {
		uint32_t net = w->conf.cluster[e->client].relays || w->conf.nclusters == 1
				       ? e->client
				       : NET_GLOBAL;
		e->port = sim_add_port(w->s, e, deliver, net, e->ipv4);
	}
}

void
end_start(struct sim *s, void *who, uint64_t arg)
{
	struct end *e = who;
	(void)s;
	(void)arg;
	if (!e->alive)
		return;
	e->started = true;
	end_drive(e);
}

/* Loses its memory without a word. */
void
end_kill(struct end *e)
{
	if (!e->alive)
		return;
	sim_log(e->w->s, "rank %u dies", e->rank);
	e->quitting = true;
	/* Those over relays do not end with their paths, and may hold what came early. */
	for (uint32_t r = 0; e->w->conf.tolerant && r < e->w->nend; r++)
		if (e->lane[r] != NONE_U32 && !world_same_cluster(e->w, e->rank, r))
			suci_lane_close(e->lanes, e->lane[r], now(e));
	suci_fini(e->ep, now(e));
	suci_lanes_fini(e->lanes);
	free(e->ep_mem);
	free(e->lanes_mem);
	e->ep = NULL;
	e->lanes = NULL;
	e->alive = false;
	e->started = false;
}

/* Comes back as a new process that knows nothing of the job. */
void
end_restart(struct end *e)
{
	sim_log(e->w->s, "rank %u is back", e->rank);
	end_new(e);
	e->reborn = e->ended = true; /* nothing is expected of it */
}
