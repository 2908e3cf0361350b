/* SPDX-License-Identifier: BSD-2-Clause */
/* Topology and tables of jobs with foreign hosts, and the packets they exchange. */
#include "gworld.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/deal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only relays that own a process carry for others. */
static uint32_t
carriers(const struct gworld *w, uint32_t client)
{
	const struct gclient *c = &w->client[client];
	return relay_deal_takers(c->ranks, c->relays);
}

uint32_t
gworld_relay_for(const struct gworld *w, uint32_t client, uint32_t rank)
{
	const struct gclient *of = &w->client[w->client_of[rank]];
	return relay_deal_owner(of->ranks, carriers(w, client), rank - of->first);
}

const uint8_t *
gworld_id(const struct gworld *w, uint32_t view, uint32_t rank)
{
	return w->client[view].kind == G_OUTSIDE ? w->global_id[rank] : w->private_id[view][rank];
}

static void
suci_id(uint8_t out[RELAY_PROC_ID_LEN], uint32_t token, uint8_t kind, uint32_t ipv4, uint64_t label)
{
	struct impi_hostid id = {.token = token, .kind = kind, .port = G_PORT, .ipv4 = ipv4};
	impi_hostid_encode(&id, out);
	be64_store(out + 16, label);
}

/* As LAM does: the daemon's address, the process's pid. */
static void
foreign_id(uint8_t out[RELAY_PROC_ID_LEN], uint32_t ipv4, uint64_t pid)
{
	memset(out, 0, 16);
	be32_store(out + 12, ipv4);
	be64_store(out + 16, pid);
}

static void
make_ids(struct gworld *w)
{
	for (uint32_t r = 0; r < w->nrank; r++) {
		uint32_t c = w->client_of[r];
		const struct gclient *k = &w->client[c];
		uint8_t far = k->kind == G_OURS ? IMPI_HOSTID_RELAY : IMPI_HOSTID_RELAY_FOREIGN;
		if (k->kind == G_OUTSIDE)
			foreign_id(w->global_id[r], w->host_of[r]->ipv4, 5000 + r);
		else
			suci_id(w->global_id[r], k->token, far,
				k->relay[gworld_relay_for(w, c, r)].ipv4[1], k->label_base + r);
		for (uint32_t v = 0; v < w->conf.nclients; v++) {
			const struct gclient *o = &w->client[v];
			uint8_t *id = w->private_id[v][r];
			uint8_t kind =
				k->kind == G_OURS ? IMPI_HOSTID_RELAY : IMPI_HOSTID_RELAY_FOREIGN;
			if (o->kind == G_OUTSIDE)
				continue;
			if (v != c)
				suci_id(id, o->token, kind,
					o->relay[gworld_relay_for(w, v, r)].ipv4[0],
					o->label_base + r);
			else if (k->kind == G_OURS)
				suci_id(id, 0x4000 + r, IMPI_HOSTID_LIBMPI, w->proc[r].ipv4,
					G_LB + r);
			else
				foreign_id(id, w->host_of[r]->ipv4, 5000 + r);
		}
	}
}

/* ---- the job's table in cluster v ---- */

static void
add_hosts(const struct gworld *w, uint32_t v, struct relay_job *j, uint32_t c)
{
	const struct gclient *k = &w->client[c];
	(void)v;
	uint32_t n = k->kind == G_OUTSIDE ? k->nhosts : carriers(w, c);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = relay_deal_first(k->ranks, n, i);
		uint32_t nprocs = relay_deal_count(k->ranks, n, i);
		if (nprocs == 0)
			continue;
		struct relay_host *h = &j->host[j->nhosts++];
		*h = (struct relay_host){.client = c,
					 .first_rank = k->first + first,
					 .nprocs = nprocs,
					 .label_base = k->kind == G_OUTSIDE ? 0 : k->label_base};
		memcpy(h->id, w->global_id[k->first + first], IMPI_HOSTID_BYTES);
	}
}

static void
add_gates(const struct gworld *w, uint32_t v, struct relay_job *j, enum relay_side_of_gate side,
	  uint32_t client, uint32_t *rank)
{
	const struct gclient *o = &w->client[v], *k = &w->client[client];
	for (uint32_t m = 0; m < o->relays; m++, ++*rank) {
		uint32_t first = k->ranks, n = 0;
		if (m < carriers(w, v)) {
			first = relay_deal_first(k->ranks, carriers(w, v), m);
			n = relay_deal_count(k->ranks, carriers(w, v), m);
		}
		j->gate[j->ngates++] =
			(struct relay_gate){.side = (uint8_t)side,
					    .relay = m,
					    .client = client,
					    .rank = *rank,
					    .first_rank = k->first + first,
					    .nprocs = n,
					    .ipv4 = o->relay[m].ipv4[side] + 256 * (client + 1),
					    .port = 5000};
	}
}

static void
add_foreign(struct gworld *w, uint32_t v, struct relay_job *j, uint32_t client, uint32_t *rank)
{
	struct gclient *k = &w->client[client];
	for (uint32_t i = 0; i < k->nhosts; i++, ++*rank) {
		struct ghost *h = &k->host[i];
		struct relay_foreign *f = &j->foreign[j->nforeign];
		*f = (struct relay_foreign){.client = client,
					    .rank = *rank,
					    .first_rank = h->first,
					    .nprocs = h->n,
					    .port = 4000};
		impi_addr_from_ipv4(f->addr, h->ipv4);
		h->rank[v] = *rank;
		w->client[v].foreign_host[j->nforeign++] = h;
	}
}

static void
add_foreigners(struct gworld *w, uint32_t v, struct relay_job *j)
{
	bool outside = false;
	/* Ranks in the two mappings, client by client. */
	uint32_t priv[G_CLIENTS_MAX + 1] = {0}, glob[G_CLIENTS_MAX + 1] = {0};
	for (uint32_t c = 0; c < w->conf.nclients; c++) {
		const struct gclient *k = &w->client[c];
		priv[c + 1] = priv[c] + (c == v ? (k->kind == G_FOREIGN ? k->nhosts : k->ranks)
						: w->client[v].relays);
		glob[c + 1] = glob[c] + (k->kind == G_OUTSIDE ? k->nhosts : k->relays);
		outside |= k->kind == G_OUTSIDE;
	}
	j->nhosts_private = priv[w->conf.nclients];
	j->nhosts_global = glob[w->conf.nclients];
	for (uint32_t c = 0; c < w->conf.nclients; c++) {
		if (c == v && w->client[c].kind == G_FOREIGN)
			add_foreign(w, v, j, c, &priv[c]);
		else if (w->client[c].kind == G_OUTSIDE)
			add_foreign(w, v, j, c, &glob[c]);
		else if (c != v)
			continue;
	}
	for (uint32_t c = 0; c < w->conf.nclients && w->client[v].kind == G_FOREIGN; c++)
		if (c != v)
			add_gates(w, v, j, RELAY_GATE_PRIVATE, c, &priv[c]);
	if (outside)
		add_gates(w, v, j, RELAY_GATE_GLOBAL, v, &glob[v]);
}

static void
make_table(struct gworld *w, uint32_t v)
{
	struct gclient *k = &w->client[v];
	struct relay_job_limits l = {.nworld_max = G_RANKS_MAX, .nhosts_max = G_RANKS_MAX};
	void *mem = aligned_alloc(64, (relay_job_footprint(&l) + 63) & ~(size_t)63);
	BASE_ASSERT(mem);
	struct relay_job *j = k->job = relay_job_new(mem, &l);
	j->id = 1;
	j->token = k->token;
	j->label_base = k->label_base;
	j->my_client = v;
	j->nworld = w->nrank;
	j->first_local = k->first;
	j->nlocal = k->ranks;
	j->datalen = w->conf.datalen;
	j->ackmark = w->conf.ackmark;
	j->hiwater = w->conf.hiwater;
	for (uint32_t c = 0; c < w->conf.nclients; c++)
		add_hosts(w, v, j, c);
	for (uint32_t i = 0; i < k->ranks; i++) {
		const uint8_t *id = w->private_id[v][k->first + i];
		memcpy(j->local[i].id, id, IMPI_HOSTID_BYTES);
		j->local[i].pid = be64_load(id + 16);
		j->local[i].relay = gworld_relay_for(w, v, k->first + i);
	}
	memcpy(j->global_id, w->global_id, w->nrank * (size_t)RELAY_PROC_ID_LEN);
	memcpy(j->private_id, w->private_id[v], w->nrank * (size_t)RELAY_PROC_ID_LEN);
	add_foreigners(w, v, j);
	const char *what = NULL;
	if (relay_job_validate(j, &what))
		sim_fail(w->s, "table of cluster %u: %s", v, what);
}

static void
make_conns(struct gworld *w, uint32_t v)
{
	struct gclient *k = &w->client[v];
	const struct relay_job *j = k->job;
	for (uint32_t i = 0; i < j->ngates; i++)
		for (uint32_t f = 0; f < j->nforeign; f++) {
			const struct relay_gate *g = &j->gate[i];
			bool own = j->foreign[f].client == v;
			if (own != (g->side == RELAY_GATE_PRIVATE))
				continue;
			BASE_ASSERT(w->nconn < G_CONNS_MAX);
			struct gconn *c = &w->conn[w->nconn];
			struct ghost *h = k->foreign_host[f];
			*c = (struct gconn){.relay = &k->relay[g->relay],
					    .host = h,
					    .gate = i,
					    .gate_rank = g->rank,
					    .at = *g,
					    .host_connects = j->foreign[f].rank > g->rank,
					    .chan = G_NONE};
			c->failures = (uint32_t)base_prng_below(&w->prng, 3);
			c->ident = c->host_connects ? 0 : 4;
			c->frame = malloc(IMPI_PACKET_BYTES + w->conf.datalen);
			c->pending = malloc(IMPI_PACKET_BYTES + w->conf.datalen);
			BASE_ASSERT(c->frame && c->pending);
			h->conn[h->nconns++] = w->nconn++;
		}
}

static void
host_ready(struct sim *s, void *who, uint64_t arg)
{
	(void)s, (void)arg;
	ghost_drive(((struct gconn *)who)->host);
}

static void
plumb(struct gworld *w)
{
	for (uint32_t i = 0; i < w->nconn; i++) {
		struct gconn *c = &w->conn[i];
		gpipe_init(&c->in, w);
		gpipe_init(&c->out, w);
		if (w->client[c->host->client].kind == G_OUTSIDE)
			c->in.delay_ns = c->out.delay_ns = w->conf.wan_delay_ns;
		c->in.reader = c->out.writer = gconn_ready;
		c->in.writer = c->out.reader = host_ready;
		c->in.reader_who = c->in.writer_who = c->out.reader_who = c->out.writer_who = c;
	}
}

/* A link out of and one into every port; delay and loss on the way in. */
static void
wire(struct gworld *w)
{
	struct sim *s = w->s;
	uint32_t out[SIM_PORTS_MAX], in[SIM_PORTS_MAX];
	for (uint32_t p = 0; p < s->nport; p++) {
		bool wan = s->port[p].network == G_NET_GLOBAL;
		struct sim_link_conf l = {.rate_bps =
						  wan ? w->conf.wan_rate_bps : w->conf.lan_rate_bps,
					  .overhead_bytes = SIM_UDP_OVERHEAD,
					  .mtu = wan ? w->conf.global_mtu : w->conf.private_mtu};
		out[p] = sim_add_link(s, &l);
		l.delay_ns = wan ? w->conf.wan_delay_ns : w->conf.lan_delay_ns;
		l.loss_ppb = wan ? w->conf.wan_loss_ppb : 0;
		in[p] = sim_add_link(s, &l);
	}
	for (uint32_t a = 0; a < s->nport; a++)
		for (uint32_t b = 0; b < s->nport; b++)
			if (a != b && s->port[a].network == s->port[b].network)
				sim_set_route(s, a, b, (uint32_t[]){out[a], in[b]}, 2);
}

static void
make_client(struct gworld *w, uint32_t c)
{
	struct gclient *k = &w->client[c];
	*k = (struct gclient){.kind = w->conf.client[c].kind,
			      .ranks = w->conf.client[c].ranks,
			      .relays = w->conf.client[c].relays,
			      .nhosts = w->conf.client[c].hosts,
			      .first = w->nrank,
			      .label_base = (1u << 24) + RELAY_LABEL_PAGE * (1 + c),
			      .token = 0xabc00 + c};
	BASE_ASSERT(w->nrank + k->ranks <= G_RANKS_MAX);
	for (uint32_t i = 0; i < k->ranks; i++)
		w->client_of[w->nrank + i] = c;
	for (uint32_t i = 0; i < k->relays; i++)
		k->relay[i] = (struct grelay){.w = w,
					      .client = c,
					      .index = i,
					      .ipv4 = {0x0a0000c8 + i, 0xc0000201 + 16 * c + i},
					      .gw_ipv4 = 0x0a0000e0 + i};
	for (uint32_t i = 0; i < k->nhosts && k->kind != G_OURS; i++) {
		struct ghost *h = &k->host[i];
		uint32_t first = relay_deal_first(k->ranks, k->nhosts, i);
		uint32_t n = relay_deal_count(k->ranks, k->nhosts, i);
		*h = (struct ghost){.w = w,
				    .client = c,
				    .first = k->first + first,
				    .n = n,
				    .ipv4 = (k->kind == G_OUTSIDE ? 0xcb007100u : 0x0a000100u) +
					    16 * c + i};
		for (uint32_t r = 0; r < n; r++)
			w->host_of[h->first + r] = h;
	}
	for (uint32_t i = 0; i < k->ranks && k->kind == G_OURS; i++)
		w->proc[w->nrank + i] = (struct gproc){
			.w = w, .rank = w->nrank + i, .client = c, .ipv4 = 0x0a000001 + i};
	w->nrank += k->ranks;
}

static void
make_pairs(struct gworld *w)
{
	for (uint32_t a = 0; a < w->nrank; a++)
		for (uint32_t b = 0; b < w->nrank; b++) {
			uint32_t ca = w->client_of[a], cb = w->client_of[b];
			if (ca == cb ||
			    (w->client[ca].kind == G_OUTSIDE && w->client[cb].kind == G_OUTSIDE))
				continue;
			w->pair[a][b].total = w->conf.packets;
			w->left += w->conf.packets;
		}
}

struct gworld *
gworld_new(struct sim *s, const struct gconf *conf)
{
	struct gworld *w = calloc(1, sizeof *w);
	BASE_ASSERT(w);
	w->s = s;
	w->conf = *conf;
	w->prng = base_prng_seed(s->seed ^ 0x6a7e);
	for (uint32_t c = 0; c < conf->nclients; c++)
		make_client(w, c);
	make_ids(w);
	make_pairs(w);
	for (uint32_t c = 0; c < conf->nclients; c++) {
		if (w->client[c].kind == G_OUTSIDE)
			continue;
		make_table(w, c);
		make_conns(w, c);
		for (uint32_t i = 0; i < w->client[c].relays; i++)
			grelay_new(&w->client[c].relay[i]);
	}
	for (uint32_t r = 0; r < w->nrank; r++)
		if (w->client[w->client_of[r]].kind == G_OURS)
			gproc_new(&w->proc[r]);
	plumb(w);
	wire(w);
	return w;
}

void
gworld_start(struct gworld *w)
{
	struct sim *s = w->s;
	for (uint32_t c = 0; c < w->conf.nclients && !s->failed; c++)
		for (uint32_t i = 0; i < w->client[c].relays; i++) {
			struct grelay *r = &w->client[c].relay[i];
			const struct relay_job *j = w->client[c].job;
			int err = relay_job_add(r->core, j, s->now_ns);
			SIM_CHECK(s, !err, "relay_job_add: %s", relay_strerror(err));
			err = gw_job_add(r->gw, j, s->now_ns);
			SIM_CHECK(s, !err, "gw_job_add: %s", gw_strerror(err));
			grelay_drive(r);
		}
	for (uint32_t i = 0; i < w->nconn; i++)
		if (w->conn[i].host_connects)
			sim_at(s, s->now_ns + base_prng_below(&w->prng, 20 * BASE_MS_NS),
			       ghost_connect, &w->conn[i], 0);
	for (uint32_t r = 0; r < w->nrank; r++)
		if (w->proc[r].ep)
			gproc_kick(&w->proc[r]);
}

/* ---- packets ---- */

static uint8_t
byte_at(uint32_t src, uint32_t dst, uint32_t n, uint32_t i)
{
	return (uint8_t)(i * 13 + (i >> 8) * 7 + n * 31 + src * 101 + dst * 59);
}

/* The n-th packet of a pair: type and length. */
static uint32_t
draw(const struct gworld *w, uint32_t src, uint32_t dst, uint32_t n, uint32_t *type)
{
	struct base_prng p =
		base_prng_seed(w->s->seed ^ (uint64_t)src << 40 ^ (uint64_t)dst << 48 ^ n);
	uint32_t d = w->conf.datalen;
	*type = base_prng_chance(&p, 100000000)	  ? IMPI_PK_SYNCACK
		: base_prng_chance(&p, 300000000) ? IMPI_PK_DATASYNC
						  : IMPI_PK_DATA;
	if (*type == IMPI_PK_SYNCACK || base_prng_below(&p, 100) < w->conf.empty_percent)
		return 0;
	uint64_t pick = base_prng_below(&p, 4);
	return pick == 0 ? d : pick == 1 ? 1 : (uint32_t)base_prng_below(&p, d + 1ull);
}

static uint32_t
build(const struct gworld *w, uint32_t view, uint32_t src, uint32_t dst, uint32_t type,
      uint32_t len, uint32_t n, uint8_t *out)
{
	bool data = type == IMPI_PK_DATA || type == IMPI_PK_DATASYNC;
	struct impi_packet p = {.type = type,
				.len = data ? len : 128,
				.src = impi_proc_decode(gworld_id(w, view, src)),
				.dest = impi_proc_decode(gworld_id(w, view, dst)),
				.srqid = n,
				.drqid = (uint64_t)src << 32 | dst,
				.msglen = data ? len : 128,
				.lsrank = data ? (int32_t)src : -1,
				.tag = data ? 7 : -1,
				.cid = data ? 0 : 0x4900000000000000ull,
				.seqnum = n,
				.count = data ? 0 : -1};
	impi_packet_encode(&p, out);
	for (uint32_t i = 0; data && i < len; i++)
		out[IMPI_PACKET_BYTES + i] = byte_at(src, dst, n, i);
	return IMPI_PACKET_BYTES + (data ? len : 0);
}

uint32_t
gworld_next(struct gworld *w, uint32_t src, uint32_t dst, uint8_t *out)
{
	struct gpair *p = &w->pair[src][dst], *back = &w->pair[dst][src];
	uint32_t type, view = w->client_of[src];
	if (back->acks) {
		back->acks--;
		return build(w, view, src, dst, IMPI_PK_PROTOACK, 0, 0, out);
	}
	if (p->sent == p->total || p->credit >= w->conf.hiwater)
		return 0;
	uint32_t len = draw(w, src, dst, p->sent, &type);
	p->credit++;
	return build(w, view, src, dst, type, len, p->sent++, out);
}

static void
kick(struct gworld *w, uint32_t rank)
{
	if (w->host_of[rank])
		ghost_kick(w->host_of[rank]);
	else
		gproc_kick(&w->proc[rank]);
}

void
gworld_arrived(struct gworld *w, uint32_t view, uint32_t src, uint32_t dst, const uint8_t *packet,
	       uint32_t len)
{
	static uint8_t want[IMPI_PACKET_BYTES + (1u << 20)];
	struct sim *s = w->s;
	struct impi_packet h = impi_packet_decode(packet);
	uint32_t type;
	/* By drqid, which nobody touches; ids are compared below. */
	uint32_t a = (uint32_t)(h.drqid >> 32), b = (uint32_t)h.drqid;
	bool known = a < w->nrank && b < w->nrank && (dst == G_NONE || (src == a && dst == b));
	SIM_CHECK(s, known && w->client_of[b] == view, "client %u got a packet of %u for %u", view,
		  a, b);
	if (s->failed)
		return;
	struct gpair *p = &w->pair[a][b];
	if (h.type == IMPI_PK_PROTOACK) {
		build(w, view, a, b, IMPI_PK_PROTOACK, 0, 0, want);
		SIM_CHECK(s, len == IMPI_PACKET_BYTES && !memcmp(packet, want, len),
			  "%u->%u: a PROTOACK came in other bytes", a, b);
		SIM_CHECK(s, w->pair[b][a].credit >= w->conf.ackmark,
			  "%u->%u: acknowledges too much", a, b);
		w->pair[b][a].credit -= w->conf.ackmark;
		kick(w, b);
		return;
	}
	uint32_t n = p->got++;
	SIM_CHECK(s, n < p->sent, "%u->%u: packet %u came before it was sent", a, b, n);
	uint32_t bytes = draw(w, a, b, n, &type);
	bytes = build(w, view, a, b, type, bytes, n, want);
	SIM_CHECK(s, h.seqnum == n, "%u->%u: packet %llu where %u was due", a, b,
		  (unsigned long long)h.seqnum, n);
	SIM_CHECK(s, len == bytes && !memcmp(packet, want, len),
		  "%u->%u: packet %u has wrong bytes", a, b, n);
	if (++p->taken >= w->conf.ackmark) {
		p->taken -= w->conf.ackmark;
		p->acks++;
	}
	w->left--;
	p->done_ns = s->now_ns;
	sim_mix(s, (uint64_t)a << 48 | (uint64_t)b << 32 | n);
	kick(w, b);
}

bool
gworld_all_arrived(void *world)
{
	return ((struct gworld *)world)->left == 0;
}

bool
gworld_all_finished(void *world)
{
	const struct gworld *w = world;
	for (uint32_t c = 0; c < w->conf.nclients; c++)
		for (uint32_t i = 0; i < w->client[c].relays; i++)
			if (!w->client[c].relay[i].finished)
				return false;
	return true;
}

static void
finish_job(struct sim *s, void *who, uint64_t arg)
{
	struct grelay *r = who;
	(void)arg;
	int err = gw_job_finish(r->gw, r->w->client[r->client].label_base, s->now_ns);
	SIM_CHECK(s, !err, "gw_job_finish: %s", gw_strerror(err));
	grelay_drive(r);
}

/* Hosts say FINI, gateways are told, in any order. */
void
gworld_fini_time(struct gworld *w)
{
	w->closing = true;
	for (uint32_t c = 0; c < w->conf.nclients; c++) {
		for (uint32_t i = 0; i < w->client[c].nhosts; i++)
			if (w->client[c].host[i].w)
				ghost_kick(&w->client[c].host[i]);
		for (uint32_t i = 0; i < w->client[c].relays; i++)
			sim_at(w->s, w->s->now_ns + base_prng_below(&w->prng, 5 * BASE_MS_NS),
			       finish_job, &w->client[c].relay[i], 0);
	}
}

void
gworld_check(struct gworld *w)
{
	const char *what = "";
	for (uint32_t c = 0; c < w->conf.nclients; c++)
		for (uint32_t i = 0; i < w->client[c].relays; i++) {
			struct grelay *r = &w->client[c].relay[i];
			SIM_CHECK(w->s, gw_check(r->gw, &what), "gateway %u.%u: %s", c, i, what);
			SIM_CHECK(w->s, relay_core_check(r->core, &what), "relay %u.%u: %s", c, i,
				  what);
		}
	sim_check_links(w->s);
}

void
gworld_free(struct gworld *w)
{
	w->quitting = true;
	for (uint32_t r = 0; r < w->nrank; r++)
		gproc_free(&w->proc[r]);
	for (uint32_t c = 0; c < w->conf.nclients; c++) {
		for (uint32_t i = 0; i < w->client[c].relays; i++)
			grelay_free(&w->client[c].relay[i]);
		free(w->client[c].job);
	}
	for (uint32_t i = 0; i < w->nconn; i++) {
		free(w->conn[i].in.buf);
		free(w->conn[i].out.buf);
		free(w->conn[i].frame);
		free(w->conn[i].pending);
	}
	uint64_t inside = 0;
	for (uint32_t i = 0; i < w->s->nlink; i++)
		inside += w->s->link[i].inside;
	SIM_CHECK(w->s, w->s->buf_live == inside, "%llu receive buffers are still held",
		  (unsigned long long)(w->s->buf_live - inside));
	free(w);
}
