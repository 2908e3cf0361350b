/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of ours, and relays: a core and a gateway each, driven as relayd does. */
#include "pieces.h"
#include "gworld.h"

#include "base/assert.h"
#include "relayproto/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TX_BURST_MAX 200000
#define BLOCKS_MAX   12 /* a process has on its way */

static uint32_t
ip_of(const struct suci_addr *a)
{
	return (uint32_t)a->ip[12] << 24 | (uint32_t)a->ip[13] << 16 | (uint32_t)a->ip[14] << 8 |
	       a->ip[15];
}

/* Send all there is; which port: by leg. */
static bool
send_all(struct sim *s, struct suci *ep, const uint32_t *port)
{
	static struct suci_out out;
	uint32_t sent = 0;
	while (!s->failed && suci_tx(ep, &out, s->now_ns)) {
		struct sim_piece p[3];
		sim_pieces(ep, &out, p);
		sim_send(s, port[out.to.leg & 1], ip_of(&out.to), p, 3);
		if (++sent > TX_BURST_MAX)
			sim_fail(s, "suci_tx never ends");
	}
	return sent > 0;
}

static void *
mem_new(size_t len)
{
	BASE_ASSERT(len);
	void *p = aligned_alloc(64, (len + 63) & ~(size_t)63);
	BASE_ASSERT(p);
	return p;
}

static void
secret(uint8_t out[16], uint64_t seed)
{
	for (unsigned int i = 0; i < 16; i++)
		out[i] = (uint8_t)(seed >> (i % 8) ^ (5 * i));
}

/* ---- processes ---- */

struct rxb {
	uint32_t src;
	uint64_t len, got;
	bool whole;
	struct rxb *next;
	uint8_t bytes[];
};

/* Blocks begin in order and may end in another: handed on in order. */
static struct rxb *rx_head[G_RANKS_MAX][G_RANKS_MAX], **rx_tail[G_RANKS_MAX][G_RANKS_MAX];

static uint32_t
lane_src(const struct gproc *p, uint32_t lane)
{
	for (uint32_t r = 0; r < p->w->nrank; r++)
		if (p->lane[r] == lane)
			return r;
	return G_NONE;
}

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now_ns)
{
	struct gproc *p = user;
	uint32_t src = lane_src(p, lane);
	(void)first, (void)first_len, (void)now_ns;
	BASE_ASSERT(src != G_NONE);
	struct rxb *b = malloc(sizeof *b + bytes);
	BASE_ASSERT(b);
	*b = (struct rxb){.src = src, .len = bytes};
	if (!rx_head[p->rank][src])
		rx_tail[p->rank][src] = &rx_head[p->rank][src];
	*rx_tail[p->rank][src] = b;
	rx_tail[p->rank][src] = &b->next;
	return b;
}

static void
block_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	struct rxb *b = block;
	(void)user, (void)lane;
	BASE_ASSERT(off + len <= b->len);
	memcpy(b->bytes + off, data, len);
	b->got += len;
}

static void
block_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct gproc *p = user;
	struct rxb *b = block, *next;
	(void)lane, (void)now_ns;
	b->whole = true;
	SIM_CHECK(p->w->s, b->got == b->len, "process %u: a block of %llu bytes got %llu", p->rank,
		  (unsigned long long)b->len, (unsigned long long)b->got);
	struct rxb **at = &rx_head[p->rank][b->src];
	for (b = *at; b && b->whole; b = next) {
		next = b->next;
		*at = next;
		gworld_arrived(p->w, p->client, b->src, p->rank, b->bytes, (uint32_t)b->len);
		free(b);
	}
	gproc_kick(p);
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct gproc *p = user;
	(void)lane, (void)now_ns;
	SIM_CHECK(p->w->s, ok || p->quitting, "process %u: a block was not delivered", p->rank);
	free((void *)(uintptr_t)cookie);
	p->blocks--;
	gproc_kick(p);
}

static void
hold(void *user, uint64_t cookie)
{
	sim_hold(((struct gproc *)user)->w->s, cookie);
}

static void
release(void *user, uint64_t cookie)
{
	sim_release(((struct gproc *)user)->w->s, cookie);
}

static void
lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct gproc *p = user;
	(void)lane, (void)why;
	SIM_CHECK(p->w->s, p->quitting, "process %u: lane down: %s", p->rank, text);
}

static int
accept_any(void *user, const struct suci_addr *from, const void *hello, size_t len, char *why)
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	bool incoming)
{
	(void)user, (void)path, (void)peer, (void)hello, (void)len, (void)incoming;
}

static void
path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct gproc *p = user;
	(void)path, (void)why;
	SIM_CHECK(p->w->s, p->quitting, "process %u: path down: %s", p->rank, text);
}

static uint32_t
lane_to(struct gproc *p, uint32_t r)
{
	struct gworld *w = p->w;
	const struct gclient *c = &w->client[p->client];
	const struct grelay *y = &c->relay[gworld_relay_for(w, p->client, r)];
	struct suci_addr to = relay_addr_v4(y->ipv4[RELAY_LEG_PRIVATE], G_PORT, RELAY_LEG_PRIVATE);
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = c->token,
				.label = c->label_base + p->rank,
				.rank = p->rank};
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t path = suci_path_find(p->ep, &to);
	if (p->lane[r] != G_NONE)
		return p->lane[r];
	relay_hello_encode(&h, hello);
	if (path == G_NONE && suci_path_open(p->ep, &to, hello, sizeof hello, &path, w->s->now_ns))
		return G_NONE;
	uint32_t mtu =
		w->conf.private_mtu < w->conf.global_mtu ? w->conf.private_mtu : w->conf.global_mtu;
	struct suci_lane_conf lc = relay_pair_lane(p->rank, r, c->label_base, G_LB);
	lc.path = path;
	lc.mss = mtu - SUCI_OVERHEAD;
	lc.window = w->conf.lane_window;
	int err = suci_lane_open(p->lanes, &lc, &p->lane[r], w->s->now_ns);
	SIM_CHECK(w->s, !err, "process %u: suci_lane_open: %s", p->rank, suci_strerror(err));
	return p->lane[r];
}

static enum suci_verdict
lane_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct gproc *p = user;
	(void)path;
	bool opened = dst == G_LB + p->rank && src - G_LB < p->w->nrank &&
		      p->lane[src - G_LB] == G_NONE && !p->quitting &&
		      lane_to(p, src - G_LB) != G_NONE;
	return opened ? SUCI_TAKEN : SUCI_DROPPED;
}

static const struct suci_lane_ops lane_ops = {.block_begin = block_begin,
					      .block_data = block_data,
					      .block_end = block_end,
					      .block_done = block_done,
					      .hold = hold,
					      .release = release,
					      .lane_down = lane_down,
					      .lane_unknown = lane_unknown,
					      .accept = accept_any,
					      .path_up = path_up,
					      .path_down = path_down};

static void
proc_sends(struct gproc *p)
{
	struct gworld *w = p->w;
	for (bool any = true; any && p->blocks < BLOCKS_MAX && !w->s->failed;) {
		any = false;
		for (uint32_t r = 0; r < w->nrank && p->blocks < BLOCKS_MAX; r++) {
			if (w->client_of[r] == p->client)
				continue;
			uint8_t *b = malloc(IMPI_PACKET_BYTES + w->conf.datalen);
			BASE_ASSERT(b);
			uint32_t len = gworld_next(w, p->rank, r, b);
			if (!len) {
				free(b);
				continue;
			}
			int err = suci_lane_send(p->lanes, lane_to(p, r), NULL, 0, b, len, false,
						 (uintptr_t)b, w->s->now_ns);
			SIM_CHECK(w->s, !err, "process %u: suci_lane_send: %s", p->rank,
				  suci_strerror(err));
			p->blocks++;
			any = true;
		}
	}
}

static void
proc_wake(struct sim *s, void *who, uint64_t at)
{
	struct gproc *p = who;
	if (!p->ep || at != p->wake_ns)
		return;
	p->wake_ns = BASE_NEVER_NS;
	suci_tick(p->ep, s->now_ns);
	gproc_drive(p);
}

void
gproc_drive(struct gproc *p)
{
	struct sim *s = p->w->s;
	uint32_t port[2] = {p->port, p->port};
	if (!p->ep || p->quitting)
		return;
	proc_sends(p);
	send_all(s, p->ep, port);
	uint64_t at = suci_expiry_ns(p->ep);
	if (at != p->wake_ns && at != BASE_NEVER_NS)
		sim_at(s, at, proc_wake, p, at);
	p->wake_ns = at;
}

static void
proc_later(struct sim *s, void *who, uint64_t arg)
{
	struct gproc *p = who;
	(void)s, (void)arg;
	p->kicked = false;
	gproc_drive(p);
}

void
gproc_kick(struct gproc *p)
{
	if (p->kicked || p->quitting)
		return;
	p->kicked = true;
	sim_at(p->w->s, p->w->s->now_ns, proc_later, p, 0);
}

static void
proc_deliver(struct sim *s, void *who, uint64_t b)
{
	struct gproc *p = who;
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, G_PORT, RELAY_LEG_PRIVATE);
	if (!p->ep)
		return;
	suci_rx(p->ep, &from, buf->data, buf->len, b, s->now_ns);
	gproc_drive(p);
}

void
gproc_new(struct gproc *p)
{
	struct gworld *w = p->w;
	struct suci_lanes_config lc = {.limits = {.lanes_max = G_RANKS_MAX,
						  .blocks_max = 64,
						  .rx_blocks_max = 256,
						  .held_max = 2048,
						  .ranges_max = 4096,
						  .labels_max = G_LB + G_RANKS_MAX},
				       .ops = &lane_ops,
				       .user = p};
	struct suci_config c = {.limits = {.paths_max = 16,
					   .segments_max = 8192,
					   .queue_max = 4096,
					   .window_max = 4096},
				.incarnation = 100 + p->rank,
				.seed = w->s->seed * 31 + p->rank,
				.mtu_max = w->conf.private_mtu,
				.cc = SUCI_CC_CUBIC,
				.hello_len = RELAY_HELLO_LEN,
				.ops = suci_lanes_ops()};
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = w->client[p->client].token,
				.label = w->client[p->client].label_base + p->rank,
				.rank = p->rank};
	relay_hello_encode(&h, c.hello);
	secret(c.cookie_secret, c.seed);
	memset(p->lane, 0xff, sizeof p->lane);
	p->lanes_mem = mem_new(suci_lanes_footprint(&lc.limits));
	p->lanes = suci_lanes_new(p->lanes_mem, &lc);
	BASE_ASSERT(p->lanes);
	c.user = p->lanes;
	p->ep_mem = mem_new(suci_footprint(&c.limits));
	p->ep = suci_new(p->ep_mem, &c, w->s->now_ns);
	BASE_ASSERT(p->ep);
	suci_lanes_bind(p->lanes, p->ep);
	p->wake_ns = BASE_NEVER_NS;
	p->port = sim_add_port(w->s, p, proc_deliver, p->client, p->ipv4);
}

void
gproc_free(struct gproc *p)
{
	if (!p->ep)
		return;
	p->quitting = true;
	suci_fini(p->ep, p->w->s->now_ns);
	free(p->ep_mem);
	free(p->lanes_mem);
	p->ep = NULL;
	for (uint32_t r = 0; r < G_RANKS_MAX; r++)
		for (struct rxb *b = rx_head[p->rank][r], *next; b; b = next) {
			next = b->next;
			free(b);
		}
	memset(rx_head[p->rank], 0, sizeof rx_head[p->rank]);
}

/* ---- the core of a relay ---- */

static uint8_t *
core_writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	const struct sim_buf *b = &((struct grelay *)user)->w->s->buf[cookie];
	(void)len;
	return b->data + (data - b->data);
}

static void
r_hold(void *user, uint64_t cookie)
{
	sim_hold(((struct grelay *)user)->w->s, cookie);
}

static void
r_release(void *user, uint64_t cookie)
{
	sim_release(((struct grelay *)user)->w->s, cookie);
}

static void
core_job_ended(void *user, uint32_t base, const char *why)
{
	struct grelay *r = user;
	(void)base;
	SIM_CHECK(r->w->s, r->w->quitting, "relay %u.%u: the job is over: %s", r->client, r->index,
		  why);
}

static const struct relay_core_ops core_ops = {.writable = core_writable,
					       .hold = r_hold,
					       .release = r_release,
					       .job_ended = core_job_ended};

/* ---- its gateway ---- */

static struct gconn *
conn_of(struct grelay *r, uint32_t chan)
{
	struct gworld *w = r->w;
	struct gw_channel_info info;
	for (uint32_t i = 0; i < w->nconn; i++)
		if (w->conn[i].relay == r && w->conn[i].chan == chan)
			return &w->conn[i];
	if (!gw_channel(r->gw, chan, &info))
		return NULL;
	for (uint32_t i = 0; i < w->nconn; i++)
		if (w->conn[i].relay == r && w->conn[i].gate == info.gate &&
		    w->conn[i].host == w->client[r->client].foreign_host[info.foreign])
			return &w->conn[i];
	return NULL;
}

static void
connect_done(struct sim *s, void *who, uint64_t arg)
{
	struct gconn *c = who;
	(void)arg;
	if (c->failures) {
		c->failures--;
		gw_channel_connect_failed(c->relay->gw, c->chan, "Connection refused", s->now_ns);
	} else {
		c->up = true;
		gw_channel_connected(c->relay->gw, c->chan, s->now_ns);
	}
	grelay_drive(c->relay);
}

static void
op_open(void *user, uint32_t chan)
{
	struct grelay *r = user;
	struct gw_channel_info info;
	struct gconn *c = conn_of(r, chan);
	BASE_ASSERT(c && gw_channel(r->gw, chan, &info));
	c->chan = chan;
	SIM_CHECK(r->w->s, info.connects == !c->host_connects, "gate %u: who connects?",
		  c->gate_rank);
	if (info.connects)
		sim_at(r->w->s, r->w->s->now_ns + 2 * c->in.delay_ns, connect_done, c, 0);
}

static void
op_close(void *user, uint32_t chan)
{
	struct gconn *c = conn_of(user, chan);
	BASE_ASSERT(c && !c->closed);
	c->closed = true;
}

static void
op_writable(void *user, uint32_t chan)
{
	struct grelay *r = user;
	struct gconn *c = conn_of(r, chan);
	struct iovec iov[GW_IOV_MAX];
	int n;
	bool full = false;
	BASE_ASSERT(c);
	while (!full && !c->closed && (n = gw_channel_tx(r->gw, chan, iov, GW_IOV_MAX)) > 0) {
		size_t took = 0;
		for (int i = 0; i < n && !full; i++) {
			uint32_t k = gpipe_write(&c->out, iov[i].iov_base, iov[i].iov_len);
			took += k;
			full = k < iov[i].iov_len;
		}
		gw_channel_txed(r->gw, chan, took, r->w->s->now_ns);
	}
}

static void
op_readable(void *user, uint32_t chan)
{
	(void)chan;
	grelay_kick(user);
}

static void
op_failed(void *user, uint32_t base, const char *why)
{
	struct grelay *r = user;
	(void)base;
	SIM_CHECK(r->w->s, r->w->quitting, "gateway %u.%u: the job failed: %s", r->client, r->index,
		  why);
}

static void
op_finished(void *user, uint32_t base, const char *why)
{
	struct grelay *r = user;
	(void)base;
	SIM_CHECK(r->w->s, !why[0], "gateway %u.%u: finished, but %s", r->client, r->index, why);
	r->finished = true;
}

static const struct gw_ops gw_sim_ops = {.open = op_open,
					 .close = op_close,
					 .writable = op_writable,
					 .readable = op_readable,
					 .job_failed = op_failed,
					 .job_finished = op_finished,
					 .hold = r_hold,
					 .release = r_release};

static void
read_conn(struct grelay *r, struct gconn *c)
{
	struct gworld *w = r->w;
	struct iovec iov[2];
	if (!c->up) {
		uint8_t id[4];
		if (!c->host_connects || c->in.arrived < 4)
			return;
		gpipe_read(&c->in, id, 4);
		uint32_t chan =
			gw_accept(r->gw, c->at.ipv4, c->at.port, c->host->ipv4, id, w->s->now_ns);
		SIM_CHECK(w->s, chan == c->chan, "gate %u: host %u is a stranger", c->gate_rank,
			  be32_load(id));
		c->up = true;
	}
	while (!c->closed && c->in.arrived > c->in.consumed && !w->s->failed) {
		int n = gw_channel_rx_space(r->gw, c->chan, iov);
		size_t took = 0, most = 1 + base_prng_below(&w->prng, 100000);
		for (int i = 0; i < n && took < most; i++) {
			size_t len = iov[i].iov_len < most - took ? iov[i].iov_len : most - took;
			uint32_t k = gpipe_read(&c->in, iov[i].iov_base, len);
			took += k;
			if (k < len)
				break;
		}
		if (!took)
			return;
		gw_channel_rx(r->gw, c->chan, took, w->s->now_ns);
	}
}

static void
relay_wake(struct sim *s, void *who, uint64_t at)
{
	struct grelay *r = who;
	if (!r->ep || at != r->wake_ns)
		return;
	r->wake_ns = BASE_NEVER_NS;
	suci_tick(r->ep, s->now_ns);
	relay_core_tick(r->core, s->now_ns);
	suci_tick(gw_endpoint(r->gw), s->now_ns);
	gw_tick(r->gw, s->now_ns);
	grelay_drive(r);
}

void
grelay_drive(struct grelay *r)
{
	struct gworld *w = r->w;
	struct sim *s = w->s;
	uint32_t gw_port[2] = {r->gw_port, r->gw_port};
	if (!r->ep || w->quitting)
		return;
	for (uint32_t i = 0; i < w->nconn; i++)
		if (w->conn[i].relay == r)
			read_conn(r, &w->conn[i]);
	for (bool any = true; any;) {
		any = send_all(s, r->ep, r->port);
		any |= send_all(s, gw_endpoint(r->gw), gw_port);
	}
	uint64_t held = gw_held_bytes(r->gw);
	w->mem_max = held > w->mem_max ? held : w->mem_max;
	SIM_CHECK(s, held <= w->conf.packet_bytes, "gateway %u.%u: memory over its bound",
		  r->client, r->index);
	uint64_t at = base_min_ns(suci_expiry_ns(r->ep), relay_core_expiry_ns(r->core));
	at = base_min_ns(at, base_min_ns(suci_expiry_ns(gw_endpoint(r->gw)), gw_expiry_ns(r->gw)));
	at = base_max_ns(at, s->now_ns);
	if (at != r->wake_ns && at != BASE_NEVER_NS)
		sim_at(s, at, relay_wake, r, at);
	r->wake_ns = at;
}

static void
relay_later(struct sim *s, void *who, uint64_t arg)
{
	struct grelay *r = who;
	(void)s, (void)arg;
	r->kicked = false;
	grelay_drive(r);
}

void
grelay_kick(struct grelay *r)
{
	if (r->kicked || r->w->quitting)
		return;
	r->kicked = true;
	sim_at(r->w->s, r->w->s->now_ns, relay_later, r, 0);
}

void
gconn_ready(struct sim *s, void *who, uint64_t arg)
{
	struct gconn *c = who;
	(void)s, (void)arg;
	if (!c->relay->gw || c->relay->w->quitting)
		return;
	if (c->up && !c->closed)
		op_writable(c->relay, c->chan);
	grelay_drive(c->relay);
}

static void
relay_deliver(struct sim *s, void *who, uint64_t b)
{
	struct grelay *r = who;
	const struct sim_buf *buf = &s->buf[b];
	bool global = s->port[buf->to].network == G_NET_GLOBAL;
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, G_PORT,
					      global ? RELAY_LEG_GLOBAL : RELAY_LEG_PRIVATE);
	if (!r->ep || r->w->quitting)
		return;
	if (buf->to == r->gw_port)
		suci_rx(gw_endpoint(r->gw), &from, buf->data, buf->len, b, s->now_ns);
	else
		suci_rx(r->ep, &from, buf->data, buf->len, b, s->now_ns);
	grelay_drive(r);
}

static void
core_new(struct grelay *r)
{
	struct gworld *w = r->w;
	const struct gclient *k = &w->client[r->client];
	struct suci_config c = {.limits = {.paths_max = 64,
					   .segments_max = 32768,
					   .queue_max = 8192,
					   .window_max = 8192},
				.incarnation = 1000 + r->index,
				.seed = w->s->seed * 37 + r->ipv4[1],
				.mtu_max = w->conf.private_mtu > w->conf.global_mtu
						   ? w->conf.private_mtu
						   : w->conf.global_mtu,
				.cc = SUCI_CC_CUBIC,
				.hello_len = RELAY_HELLO_LEN,
				.ops = relay_ops()};
	struct relay_core_conf rc = {.limits = {.jobs_max = 4,
						.procs_max = 4 * RELAY_LABEL_PAGE,
						.hosts_max = G_RANKS_MAX,
						.trunks_max = 32,
						.paths_max = 64,
						.primaries_max = 2},
				     .self_global =
					     relay_addr_v4(r->ipv4[1], G_PORT, RELAY_LEG_GLOBAL),
				     .trunk_mtu = (uint16_t)w->conf.global_mtu,
				     .ngateways = k->relays,
				     .ops = &core_ops,
				     .user = r};
	for (uint32_t i = 0; i < k->relays; i++)
		rc.gateway[i] = relay_addr_v4(k->relay[i].gw_ipv4, G_PORT, RELAY_LEG_PRIVATE);
	r->core_mem = mem_new(relay_core_footprint(&rc.limits));
	r->core = relay_core_new(r->core_mem, &rc);
	BASE_ASSERT(r->core);
	relay_core_hello(r->core, c.hello);
	secret(c.cookie_secret, c.seed);
	c.user = r->core;
	r->ep_mem = mem_new(suci_footprint(&c.limits));
	r->ep = suci_new(r->ep_mem, &c, w->s->now_ns);
	BASE_ASSERT(r->ep);
	relay_bind(r->core, r->ep);
}

void
grelay_new(struct grelay *r)
{
	struct gworld *w = r->w;
	struct gw_config gc = {.limits = {.jobs_max = 2,
					  .channels_max = 64,
					  .procs_max = 2 * RELAY_LABEL_PAGE,
					  .lanes_max = 512,
					  .relays = 2,
					  .packet_bytes = w->conf.packet_bytes},
			       .my_relay = r->index,
			       .self = relay_addr_v4(r->gw_ipv4, G_PORT, RELAY_LEG_PRIVATE),
			       .core = relay_addr_v4(r->ipv4[0], G_PORT, RELAY_LEG_PRIVATE),
			       .incarnation = 2000 + r->index,
			       .seed = w->s->seed * 41 + r->gw_ipv4,
			       .mtu = w->conf.private_mtu,
			       .ops = &gw_sim_ops,
			       .user = r};
	for (uint32_t i = 0; i < w->client[r->client].relays; i++)
		gc.peer[gc.npeers++] = relay_addr_v4(w->client[r->client].relay[i].ipv4[0], G_PORT,
						     RELAY_LEG_PRIVATE);
	secret(gc.cookie_secret, gc.seed);
	core_new(r);
	r->gw_mem = mem_new(gw_footprint(&gc.limits));
	r->gw = gw_new(r->gw_mem, &gc, w->s->now_ns);
	BASE_ASSERT(r->gw);
	r->wake_ns = BASE_NEVER_NS;
	r->port[0] = sim_add_port(w->s, r, relay_deliver, r->client, r->ipv4[0]);
	r->port[1] = sim_add_port(w->s, r, relay_deliver, G_NET_GLOBAL, r->ipv4[1]);
	r->gw_port = sim_add_port(w->s, r, relay_deliver, r->client, r->gw_ipv4);
}

void
grelay_free(struct grelay *r)
{
	if (!r->ep)
		return;
	suci_fini(r->ep, r->w->s->now_ns);
	relay_core_fini(r->core);
	gw_fini(r->gw, r->w->s->now_ns);
	free(r->ep_mem);
	free(r->core_mem);
	free(r->gw_mem);
	r->ep = NULL;
	r->gw = NULL;
}
