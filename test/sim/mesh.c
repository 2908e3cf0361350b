/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes and links of the mesh. */
#include "pieces.h"
#include "mesh.h"

#include "base/assert.h"
#include "relay/addr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TX_BURST_MAX 400000
#define RETRY_NS     (10 * BASE_MS_NS)
#define ZEROS	     (5ull << 30) /* blocks nobody looks at are sent from these */
#define INSIDE	     0
#define BETWEEN	     1

void
mesh_conf_default(struct mesh_conf *c)
{
	*c = (struct mesh_conf){
		.ends = 1,
		.hops = 2,
		.nic = {.rate_bps = 1250000000,
			.delay_ns = 5 * BASE_US_NS,
			.overhead_bytes = SIM_UDP_OVERHEAD},
		.trunk = {.delay_ns = BASE_MS_NS},
		.window = 64,
		.window_max = 16384,
		.mtu = 9000 - SIM_IP_UDP,
		.grace_ns = 5 * BASE_S_NS,
		.weight = {1, 1, 1, 1, 1, 1, 1, 1},
	};
	c->end = (struct suci_config){
		.limits = {.paths_max = 16,
			   .segments_max = 32768,
			   .queue_max = 4096,
			   .window_max = 8192},
		.cc = SUCI_CC_CUBIC,
		.handshake_ns = BASE_S_NS,
	};
	c->hop = c->end;
	c->lanes = (struct suci_lane_limits){.blocks_max = 4096,
					     .rx_blocks_max = 4096,
					     .held_max = 16384,
					     .ranges_max = 16384,
					     .groups_max = 1};
}

static uint32_t
peer_node(const struct mesh *m, const struct suci_addr *a)
{
	uint32_t ip = (uint32_t)a->ip[12] << 24 | (uint32_t)a->ip[13] << 16 |
		      (uint32_t)a->ip[14] << 8 | a->ip[15];
	for (uint32_t i = 0; i < m->nnode; i++)
		if (m->node[i].ipv4[a->leg & 1] == ip)
			return i;
	return NONE_U32;
}

static struct suci_addr
addr(const struct mesh *m, uint32_t node, uint8_t leg)
{
	return relay_addr_v4(m->node[node].ipv4[leg], UDP_PORT, (enum relay_leg)leg);
}

/* ---- paths ---- */

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	const struct mesh_node *n = user;
	(void)hello;
	(void)len;
	(void)why;
	return peer_node(n->m, from) == NONE_U32;
}

static void
on_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	   bool incoming)
{
	struct mesh_node *n = user;
	uint32_t i = peer_node(n->m, peer);
	(void)hello;
	(void)len;
	(void)incoming;
	n->path[i] = path;
	sim_log(n->m->s, "node %u: path %u up to node %u", n->index, path, i);
	if (n->hop || !n->m->node[i].hop)
		return;
	uint32_t weight = n->m->conf.weight[(i - 2 * n->m->conf.ends) % n->m->conf.hops];
	int err = suci_group_add(n->lanes, n->group, path, weight, n->m->s->now_ns);
	SIM_CHECK(n->m->s, !err, "node %u: suci_group_add: %s", n->index, suci_strerror(err));
}

static void
on_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct mesh_node *n = user;
	for (uint32_t i = 0; i < n->m->nnode; i++)
		if (n->path[i] == path) {
			n->path[i] = NONE_U32;
			sim_log(n->m->s, "node %u: path %u to node %u down (%d): %s", n->index,
				path, i, (int)why, text ? text : "");
		}
}

/* ---- hops ---- */

static uint32_t
way_out(struct mesh_node *n, uint32_t label)
{
	const struct mesh *m = n->m;
	uint32_t s = (label - MESH_LABEL) / 2;
	if (label < MESH_LABEL || s >= m->nstream)
		return NONE_U32;
	uint32_t dst = label & 1 ? m->stream[s].dst : m->stream[s].src;
	if (m->node[dst].side == n->side)
		return n->path[dst];
	uint32_t first = 2 * m->conf.ends + (1 - n->side) * m->conf.hops;
	uint32_t mine = (n->index - 2 * m->conf.ends) % m->conf.hops;
	for (uint32_t k = 0; k < m->conf.hops; k++) {
		uint32_t path = n->path[first + (mine + k) % m->conf.hops];
		if (path != NONE_U32)
			return path;
	}
	return NONE_U32;
}

static enum suci_verdict
hop_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct mesh_node *n = user;
	uint32_t out = way_out(n, seg->dst_label);
	if (out == NONE_U32)
		return SUCI_REFUSED;
	n->blocked[path] = out;
	sim_hold(n->m->s, seg->cookie);
	int err = suci_path_send(n->ep, out, seg, now_ns);
	if (!err)
		return SUCI_TAKEN;
	sim_release(n->m->s, seg->cookie);
	SIM_CHECK(n->m->s, err != SUCI_ERR_TOOBIG, "node %u: too big", n->index);
	return SUCI_REFUSED;
}

static uint32_t
hop_room(void *user, uint32_t path)
{
	struct mesh_node *n = user;
	return suci_path_room(n->ep, n->blocked[path]);
}

static void
hop_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct mesh_node *n = user;
	(void)path;
	(void)now_ns;
	n->lost += fate == SUCI_FATE_ABANDONED;
	sim_release(n->m->s, cookie);
}

static const struct suci_ops hop_ops = {
	.accept = on_accept,
	.path_up = on_path_up,
	.path_down = on_path_down,
	.segment = hop_segment,
	.room = hop_room,
	.released = hop_released,
};

/* ---- ends ---- */

static void *
on_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	 uint64_t now_ns)
{
	struct mesh_node *n = user;
	struct mesh_stream *st = &n->m->stream[n->stream[lane]];
	(void)first;
	(void)first_len;
	(void)now_ns;
	if (st->begun >= st->sent || &n->m->node[st->dst] != n) {
		sim_fail(n->m->s, "node %u: a block begins that nobody sent", n->index);
		return NULL;
	}
	struct mesh_block *b = &st->block[st->begun++];
	SIM_CHECK(n->m->s, b->bytes == bytes, "node %u: a block of another length", n->index);
	b->begun = true;
	if (!n->m->conf.fake)
		b->seen = calloc(1, bytes + 1);
	return b;
}

static void
on_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	struct mesh_node *n = user;
	struct mesh_block *b = block;
	if (!b)
		return;
	SIM_CHECK(n->m->s, offset <= b->bytes && len <= b->bytes - offset && !b->placed,
		  "node %u: data outside its block or time", n->index);
	b->got += len;
	n->m->placed += len;
	n->m->stream[n->stream[lane]].bytes += len;
	if (n->m->conf.fake || n->m->s->failed)
		return;
	SIM_CHECK(n->m->s, !memchr(b->seen + offset, 1, len), "node %u: a byte came twice",
		  n->index);
	memset(b->seen + offset, 1, len);
	SIM_CHECK(n->m->s, !memcmp(data, pool_bytes() + b->pool_off + offset, len),
		  "node %u: wrong bytes", n->index);
}

static void
stream_moved(struct mesh *m, struct mesh_stream *st)
{
	if (st->done == st->n && st->placed == st->n) {
		m->open--;
		st->last_ns = m->s->now_ns;
	}
}

static void
on_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct mesh_node *n = user;
	struct mesh_block *b = block;
	struct mesh_stream *st = &n->m->stream[n->stream[lane]];
	(void)now_ns;
	if (!b)
		return;
	SIM_CHECK(n->m->s, b->got == b->bytes && !b->placed, "node %u: a block ends with a hole",
		  n->index);
	b->placed = true;
	free(b->seen);
	b->seen = NULL;
	st->placed++;
	stream_moved(n->m, st);
}

static void
on_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct mesh_node *n = user;
	struct mesh_stream *st = &n->m->stream[n->stream[lane]];
	struct mesh_block *b = &st->block[cookie];
	(void)now_ns;
	if (!n->alive)
		return;
	SIM_CHECK(n->m->s, ok, "node %u: a block failed", n->index);
	SIM_CHECK(n->m->s, !b->done, "node %u: a block is done twice", n->index);
	SIM_CHECK(n->m->s, b->placed || !n->m->conf.hops, "node %u: done, and not placed",
		  n->index);
	b->done = true;
	st->done++;
	stream_moved(n->m, st);
}

static void
on_hold(void *user, uint64_t cookie)
{
	sim_hold(((struct mesh_node *)user)->m->s, cookie);
}

static void
on_release(void *user, uint64_t cookie)
{
	sim_release(((struct mesh_node *)user)->m->s, cookie);
}

static void
on_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct mesh_node *n = user;
	(void)why;
	if (!n->alive)
		return;
	sim_fail(n->m->s, "node %u: lane %u is down: %s", n->index, lane, text);
}

static const struct suci_lane_ops end_ops = {
	.accept = on_accept,
	.path_up = on_path_up,
	.path_down = on_path_down,
	.block_begin = on_begin,
	.block_data = on_data,
	.block_end = on_end,
	.block_done = on_done,
	.hold = on_hold,
	.release = on_release,
	.lane_down = on_lane_down,
};

static bool
push(struct mesh_node *n, struct mesh_stream *st, uint32_t id)
{
	bool any = false;
	while (st->lane[0] != NONE_U32 && st->sent < st->n && st->sent - st->done < st->ahead) {
		struct mesh_block *b = &st->block[st->sent];
		const uint8_t *data = n->m->conf.fake ? n->m->zeros : pool_bytes() + b->pool_off;
		int err = suci_lane_send(n->lanes, st->lane[0], NULL, 0, data, b->bytes, false,
					 st->sent, n->m->s->now_ns);
		if (err == SUCI_ERR_NOMEM)
			return any;
		SIM_CHECK(n->m->s, !err, "stream %u: suci_lane_send: %s", id, suci_strerror(err));
		if (err)
			return false;
		st->sent++;
		any = true;
	}
	return any;
}

/* ---- driving ---- */

static void
wake(struct sim *s, void *who, uint64_t at)
{
	struct mesh_node *n = who;
	if (!n->alive || at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	suci_tick(n->ep, s->now_ns);
	mesh_drive(n);
}

void
mesh_drive(struct mesh_node *n)
{
	struct sim *s = n->m->s;
	static struct suci_out out;
	uint32_t sent = 0;
	for (bool more = true; more && !s->failed;) {
		more = false;
		for (uint32_t i = 0; !n->hop && n->m->open && i < n->m->active; i++) {
			struct mesh_stream *st = &n->m->stream[i];
			if (st->n == st->sent || n->m->s->now_ns < st->start_ns)
				continue;
			if (&n->m->node[st->src] == n)
				more |= push(n, st, i);
		}
		while (suci_tx(n->ep, &out, s->now_ns)) {
			struct sim_piece p[3];
			sim_pieces(n->ep, &out, p);
			uint32_t to = peer_node(n->m, &out.to);
			sim_send(s, n->port[out.to.leg & 1], n->m->node[to].ipv4[out.to.leg & 1], p,
				 3);
			if (++sent > TX_BURST_MAX)
				sim_fail(s, "node %u: suci_tx never ends", n->index);
			if (s->failed)
				return;
		}
	}
	uint64_t at = suci_expiry_ns(n->ep);
	if (at != n->wake_ns && at != BASE_NEVER_NS)
		sim_at(s, at, wake, n, at);
	n->wake_ns = at;
}

static void
deliver(struct sim *s, void *who, uint64_t b)
{
	struct mesh_node *n = who;
	const struct sim_buf *buf = &s->buf[b];
	if (!n->alive)
		return;
	const struct mesh *m = n->m;
	uint8_t leg = buf->to == n->port[INSIDE] ? INSIDE : BETWEEN;
	struct suci_addr from =
		relay_addr_v4(s->port[buf->from].ipv4, UDP_PORT, (enum relay_leg)leg);
	SIM_CHECK(s, peer_node(m, &from) != NONE_U32, "a datagram from nobody");
	suci_rx(n->ep, &from, buf->data, buf->len, b, s->now_ns);
	mesh_drive(n);
}

/* To whom does it open paths: processes to hops, side 0 to side 1. */
static bool
opens(const struct mesh *m, const struct mesh_node *n, const struct mesh_node *to, uint8_t *leg)
{
	*leg = n->side == to->side ? INSIDE : BETWEEN;
	if (n->side == to->side)
		return !n->hop && to->hop;
	return n->side == 0 && n->hop == to->hop && n->hop == (m->conf.hops > 0);
}

static void
check(const struct mesh_node *n)
{
	const char *what = "";
	SIM_CHECK(n->m->s, suci_check(n->ep, &what), "node %u: %s", n->index, what);
	if (!n->hop && n->m->nstream <= 100)
		SIM_CHECK(n->m->s, suci_lanes_check(n->lanes, &what), "node %u: %s", n->index,
			  what);
}

static void
connect_all(struct sim *s, void *who, uint64_t incarnation)
{
	struct mesh_node *n = who;
	struct mesh *m = n->m;
	if (!n->alive || incarnation != n->incarnation)
		return;
	if (s->now_ns / RETRY_NS % 10 == 0)
		check(n);
	for (uint32_t i = 0; i < m->nnode; i++) {
		uint8_t leg;
		if (n->path[i] != NONE_U32 || !opens(m, n, &m->node[i], &leg))
			continue;
		struct suci_addr to = addr(m, i, leg);
		uint32_t path;
		suci_path_open(n->ep, &to, NULL, 0, &path, s->now_ns);
	}
	mesh_drive(n);
	sim_at(s, s->now_ns + RETRY_NS, connect_all, n, incarnation);
}

static void
make(struct mesh_node *n)
{
	struct mesh *m = n->m;
	struct suci_config c = n->hop ? m->conf.hop : m->conf.end;
	c.incarnation = (uint64_t)(n->index + 1) << 32 | ++n->incarnation;
	c.seed = m->s->seed * 101 + n->index * 7 + n->incarnation;
	for (size_t i = 0; i < sizeof c.cookie_secret; i++)
		c.cookie_secret[i] = (uint8_t)(c.seed >> (i % 8) ^ (5 * i));
	c.mtu_max = m->conf.mtu;
	if (n->hop) {
		c.ops = &hop_ops;
		c.user = n;
	} else {
		struct suci_lanes_config lc = {.limits = m->conf.lanes, .ops = &end_ops, .user = n};
		n->lanes_mem = aligned_alloc(64, suci_lanes_footprint(&lc.limits));
		n->lanes = suci_lanes_new(n->lanes_mem, &lc);
		n->stream = calloc(lc.limits.lanes_max, sizeof *n->stream);
		BASE_ASSERT(n->lanes && n->stream);
		c.ops = suci_lanes_ops();
		c.user = n->lanes;
		int err = suci_group_new(n->lanes, m->conf.grace_ns, &n->group);
		BASE_ASSERT(!err);
	}
	n->ep_mem = aligned_alloc(64, suci_footprint(&c.limits));
	n->ep = suci_new(n->ep_mem, &c, m->s->now_ns);
	BASE_ASSERT(n->ep);
	if (!n->hop)
		suci_lanes_bind(n->lanes, n->ep);
	memset(n->path, 0xff, sizeof n->path);
	n->alive = true;
	n->wake_ns = BASE_NEVER_NS;
	sim_at(m->s, m->s->now_ns, connect_all, n, n->incarnation);
}

void
mesh_kill(struct mesh_node *n)
{
	if (!n->alive)
		return;
	n->alive = false;
	sim_log(n->m->s, "node %u dies", n->index);
	suci_fini(n->ep, n->m->s->now_ns);
	free(n->ep_mem);
	free(n->lanes_mem);
	free(n->stream);
	n->ep = NULL;
	n->lanes = NULL;
	n->lanes_mem = n->ep_mem = NULL;
	n->stream = NULL;
}

void
mesh_restart(struct mesh_node *n)
{
	if (n->alive)
		return;
	sim_log(n->m->s, "node %u is back", n->index);
	make(n);
}

/* ---- building ---- */

static void
wire(struct mesh *m)
{
	uint32_t out[SIM_PORTS_MAX], in[SIM_PORTS_MAX];
	struct sim *s = m->s;
	struct sim_link_conf egress = m->conf.nic, trunk = m->conf.trunk;
	egress.delay_ns = 0;
	egress.loss_ppb = egress.dup_ppb = egress.reorder_ppb = egress.corrupt_ppb = 0;
	for (uint32_t p = 0; p < s->nport; p++) {
		uint64_t own = s->port[p].network == NET_GLOBAL ? 0 : m->conf.inside_rate_bps;
		struct sim_link_conf ingress = m->conf.nic;
		egress.rate_bps = ingress.rate_bps = own ? own : m->conf.nic.rate_bps;
		out[p] = sim_add_link(s, &egress);
		in[p] = sim_add_link(s, &ingress);
	}
	for (uint32_t a = 0; a < s->nport; a++)
		for (uint32_t b = 0; b < s->nport; b++) {
			if (a == b || s->port[a].network != s->port[b].network)
				continue;
			bool far = s->port[a].network == NET_GLOBAL;
			uint32_t hops[3] = {out[a], far ? sim_add_link(s, &trunk) : in[b], in[b]};
			sim_set_route(s, a, b, hops, far ? 3 : 2);
		}
}

struct mesh *
mesh_new(uint64_t seed, bool verbose, const struct mesh_conf *c, uint32_t streams)
{
	struct mesh *m = calloc(1, sizeof *m);
	BASE_ASSERT(m);
	m->s = sim_new(seed);
	m->s->verbose = verbose;
	m->conf = *c;
	m->conf.lanes.lanes_max = streams;
	m->conf.lanes.labels_max = MESH_LABEL + 2 * streams;
	m->stream = calloc(streams, sizeof *m->stream);
	m->nnode = 2 * (c->ends + c->hops);
	BASE_ASSERT(m->stream && m->nnode <= MESH_NODES);
	for (uint32_t i = 0; i < m->nnode; i++) {
		struct mesh_node *n = &m->node[i];
		bool hop = i >= 2 * c->ends;
		uint32_t k = hop ? i - 2 * c->ends : i, half = hop ? c->hops : c->ends;
		*n = (struct mesh_node){.m = m,
					.index = i,
					.hop = hop,
					.side = k >= half,
					.ipv4 = {0x0a000001 + i, 0xc0000001 + i}};
		n->port[INSIDE] = sim_add_port(m->s, n, deliver, n->side, n->ipv4[INSIDE]);
		n->port[BETWEEN] = hop || !c->hops ? sim_add_port(m->s, n, deliver, NET_GLOBAL,
								  n->ipv4[BETWEEN])
						   : NONE_U32;
	}
	wire(m);
	return m;
}

struct mesh_stream *
mesh_add(struct mesh *m, uint32_t src, uint32_t dst, uint32_t nblocks,
	 uint64_t (*size)(void *arg, uint32_t i), void *arg)
{
	struct mesh_stream *st = &m->stream[m->nstream++];
	struct base_prng p = base_prng_seed(m->s->seed ^ (uint64_t)m->nstream << 32);
	*st = (struct mesh_stream){
		.src = src, .dst = dst, .n = nblocks, .ahead = 8, .lane = {NONE_U32, NONE_U32}};
	st->block = calloc(nblocks ? nblocks : 1, sizeof *st->block);
	BASE_ASSERT(st->block);
	for (uint32_t i = 0; i < nblocks; i++) {
		st->block[i].bytes = size(arg, i);
		st->block[i].pool_off = (uint32_t)base_prng_below(&p, POOL_BYTES / 2);
		BASE_ASSERT(m->conf.fake || st->block[i].bytes <= POOL_BYTES / 2);
	}
	BASE_ASSERT(!nblocks || m->active == m->nstream - 1);
	m->active += nblocks > 0;
	m->open += nblocks > 0;
	return st;
}

static void
open_lane(struct sim *s, void *who, uint64_t id)
{
	struct mesh *m = who;
	struct mesh_stream *st = &m->stream[id];
	uint32_t end[2] = {st->src, st->dst}, label = MESH_LABEL + 2 * (uint32_t)id;
	for (uint32_t k = 0; k < 2; k++) {
		struct mesh_node *n = &m->node[end[k]];
		struct suci_lane_conf c = {
			.group = m->conf.hops ? n->group : 0,
			.path = n->path[end[!k]],
			.tx_dst_label = label + !k,
			.tx_src_label = label + k,
			.rx_dst_label = label + k,
			.rx_src_label = label + !k,
			.tx_salt = id << 1 | k,
			.rx_salt = id << 1 | !k,
			.direct = !m->conf.hops,
			.crc = m->conf.hops && !m->conf.fake,
			.prio = st->prio,
			.window = m->conf.window,
			.window_max = m->conf.window_max,
		};
		int err = suci_lane_open(n->lanes, &c, &st->lane[k], s->now_ns);
		SIM_CHECK(s, !err, "suci_lane_open: %s", suci_strerror(err));
		if (err)
			return;
		n->stream[st->lane[k]] = (uint32_t)id;
	}
}

/* Lanes open when the paths are up. */
static void
open_lanes(struct sim *s, void *who, uint64_t arg)
{
	struct mesh *m = who;
	(void)arg;
	for (uint32_t i = 0; i < m->nstream && !s->failed; i++)
		open_lane(s, m, i);
	for (uint32_t i = 0; i < m->nnode && !s->failed; i++)
		if (m->node[i].alive)
			mesh_drive(&m->node[i]);
}

void
mesh_start(struct mesh *m)
{
	for (uint32_t i = 0; i < m->nnode; i++)
		make(&m->node[i]);
	m->begin_ns = m->s->now_ns + 200 * BASE_MS_NS;
	sim_at(m->s, m->begin_ns, open_lanes, m, 0);
	if (!m->conf.fake)
		return;
	void *zeros =
		mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	BASE_ASSERT(zeros != MAP_FAILED);
	m->zeros = zeros;
}

bool
mesh_complete(void *mesh)
{
	const struct mesh *m = mesh;
	return !m->open;
}

void
mesh_end(struct mesh *m, struct outcome *o)
{
	for (uint32_t i = 0; i < m->nnode; i++)
		mesh_kill(&m->node[i]);
	uint64_t inside = 0;
	for (uint32_t i = 0; i < m->s->nlink; i++)
		inside += m->s->link[i].inside;
	sim_check_links(m->s);
	SIM_CHECK(m->s, m->s->buf_live == inside, "%llu buffers are still held",
		  (unsigned long long)(m->s->buf_live - inside));
	o->ok = !m->s->failed;
	o->hash = m->s->hash;
	o->events = m->s->events;
	o->virtual_ns = m->s->now_ns;
	snprintf(o->why, sizeof o->why, "%s", m->s->why);
	for (uint32_t i = 0; i < m->nstream; i++) {
		for (uint32_t k = 0; k < m->stream[i].n; k++)
			free(m->stream[i].block[k].seen);
		free(m->stream[i].block);
	}
	free(m->stream);
	if (m->zeros)
		munmap((void *)(uintptr_t)m->zeros, ZEROS);
	sim_free(m->s);
	free(m);
}
