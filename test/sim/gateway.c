/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios with gateways: foreign hosts inside and outside of clusters behind relays. */
#include "gworld.h"
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
pick(struct base_prng *p, const uint64_t *of, size_t n)
{
	return of[base_prng_below(p, n)];
}
#define PICK(p, ...)                             \
	pick(p, (const uint64_t[]){__VA_ARGS__}, \
	     sizeof(const uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))

static struct gconf
defaults(void)
{
	return (struct gconf){.datalen = 4096,
			      .ackmark = 10,
			      .hiwater = 20,
			      .packets = 20,
			      .empty_percent = 30,
			      .packet_bytes = 8u << 20,
			      .wan_delay_ns = 2 * BASE_MS_NS,
			      .lan_delay_ns = 5 * BASE_US_NS,
			      .wan_rate_bps = 125000000,
			      .lan_rate_bps = 1250000000,
			      .private_mtu = 8972,
			      .global_mtu = 1472,
			      .tcp_window = 65536,
			      .tcp_rate_bps = 1250000000,
			      .lane_window = 1024};
}

static void
set(struct gconf *c, uint32_t i, enum gkind kind, uint32_t ranks, uint32_t relays, uint32_t hosts)
{
	c->client[i].kind = kind;
	c->client[i].ranks = ranks;
	c->client[i].relays = relays;
	c->client[i].hosts = hosts;
	if (c->nclients <= i)
		c->nclients = i + 1;
}

static bool
all_quiet(void *world)
{
	const struct gworld *w = world;
	for (uint32_t a = 0; a < w->nrank; a++)
		for (uint32_t b = 0; b < w->nrank; b++)
			if (w->pair[a][b].acks || w->pair[a][b].credit >= w->conf.ackmark)
				return false;
	for (uint32_t i = 0; i < w->nconn; i++)
		if (!w->conn[i].up)
			return false;
	for (uint32_t c = 0; c < w->conf.nclients; c++)
		for (uint32_t i = 0; i < w->client[c].relays; i++)
			if (gw_held_bytes(w->client[c].relay[i].gw))
				return false;
	return true;
}

/* Where packets are, for the log of one run. */
static void
dump(const struct gworld *w)
{
	struct gw_channel_info f;
	for (uint32_t i = 0; i < w->nconn; i++) {
		const struct gconn *c = &w->conn[i];
		if (!gw_channel(c->relay->gw, c->chan, &f))
			continue;
		sim_log(w->s,
			"conn %u: relay %u.%u host %u.%u chan %u up %d fini %d/%d: in "
			"%llu/%llu/%llu "
			"out %llu/%llu/%llu queued %llu held %llu paused %d, host has %u of %u, "
			"got %u",
			i, c->relay->client, c->relay->index, c->host->client, c->host->first,
			c->chan, f.up, f.fini_rx, f.fini_tx, (unsigned long long)c->in.written,
			(unsigned long long)c->in.arrived, (unsigned long long)c->in.consumed,
			(unsigned long long)c->out.written, (unsigned long long)c->out.arrived,
			(unsigned long long)c->out.consumed, (unsigned long long)f.queued_bytes,
			(unsigned long long)f.held_bytes, f.paused, c->pending_at, c->pending_len,
			c->got);
	}
	for (uint32_t a = 0; a < w->nrank; a++)
		for (uint32_t b = 0; b < w->nrank; b++) {
			const struct gpair *p = &w->pair[a][b];
			if (p->got < p->total)
				sim_log(w->s, "%u->%u: got %u of %u, sent %u, credit %u, acks %u",
					a, b, p->got, p->total, p->sent, p->credit, p->acks);
		}
}

/* Run to the end of the job; the figures into note. */
static void
run(struct sim *s, struct gworld *w, uint64_t limit_ns, struct outcome *o)
{
	gworld_start(w);
	uint64_t end = s->now_ns + limit_ns;
	while (!s->failed && w->left && s->now_ns < end) {
		sim_run(s, base_min_ns(end, s->now_ns + 5 * BASE_MS_NS), gworld_all_arrived, w);
		gworld_check(w);
	}
	uint64_t took = s->now_ns;
	if (w->left)
		dump(w);
	for (uint32_t a = 0; a < w->nrank; a++)
		for (uint32_t b = 0; b < w->nrank; b++)
			SIM_CHECK(s, w->pair[a][b].got == w->pair[a][b].total,
				  "%u->%u: %u of %u packets arrived, %u sent, %u unacknowledged", a,
				  b, w->pair[a][b].got, w->pair[a][b].total, w->pair[a][b].sent,
				  w->pair[a][b].credit);
	if (!s->failed) {
		/* Time for the last PROTOACK and lane acks. */
		sim_run(s, s->now_ns + 30 * BASE_S_NS, all_quiet, w);
		gworld_fini_time(w);
		sim_run(s, s->now_ns + 5 * BASE_S_NS, gworld_all_finished, w);
		SIM_CHECK(s, gworld_all_finished(w), "not all gateways have finished the job");
	}
	uint64_t direct = 0, lanes = 0, refused = 0, pauses = 0;
	for (uint32_t c = 0; c < w->conf.nclients; c++)
		for (uint32_t i = 0; i < w->client[c].relays; i++) {
			const struct gw_counters *n = gw_counters(w->client[c].relay[i].gw);
			SIM_CHECK(s, s->failed || gw_held_bytes(w->client[c].relay[i].gw) == 0,
				  "gateway %u.%u holds memory after the job", c, i);
			SIM_CHECK(s, s->failed || n->drop_after_fini + n->drop_job_over == 0,
				  "gateway %u.%u dropped packets", c, i);
			direct += n->direct;
			lanes += n->rx_lane + n->tx_lane;
			refused += n->refused_lane_memory;
			pauses += n->pauses;
		}
	gworld_check(w);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u channels, %llu direct, %llu over lanes, %llu refused, %llu pauses, "
		 "%llu KB at most, %llu ms",
		 w->nrank, w->nconn, (unsigned long long)direct, (unsigned long long)lanes,
		 (unsigned long long)refused, (unsigned long long)pauses,
		 (unsigned long long)w->mem_max / 1024, (unsigned long long)(took / BASE_MS_NS));
}

static void
finish(struct sim *s, struct gworld *w, struct outcome *o)
{
	gworld_free(w);
	o->ok = !s->failed;
	o->hash = s->hash;
	o->events = s->events;
	o->virtual_ns = s->now_ns;
	memcpy(o->why, s->why, sizeof o->why);
	sim_free(s);
}

static void
wake_deaf(struct sim *s, void *who, uint64_t arg)
{
	(void)s, (void)arg;
	ghost_drive(who);
}

static void
draw_clients(struct base_prng *p, struct gconf *c)
{
	uint32_t n = 2 + (uint32_t)base_prng_below(p, 3), ranks = 0;
	bool behind = false;
	for (uint32_t i = 0; i < n; i++) {
		enum gkind kind = (enum gkind)base_prng_below(p, 3);
		if (i == n - 1 && !behind)
			kind = G_FOREIGN; /* somebody needs a gateway */
		uint32_t most = kind == G_OURS ? 4 : 6;
		uint32_t r = 1 + (uint32_t)base_prng_below(p, most);
		uint32_t relays = 1 + (uint32_t)base_prng_below(p, n == 4 ? 2 : G_RELAYS_MAX);
		uint32_t hosts = 1 + (uint32_t)base_prng_below(p, r < 3 ? r : 3);
		if (ranks + r > 14)
			r = hosts = 1;
		set(c, i, kind, r, kind == G_OUTSIDE ? 0 : relays, kind == G_OURS ? 0 : hosts);
		behind |= kind != G_OUTSIDE;
		ranks += r;
	}
}

/* Everything by seed: 2-4 clients of all kinds, 1-4 relays each, sizes, marks, memory,
 * windows, loss. */
void
gateway_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct sim *s = sim_new(seed);
	struct base_prng p = base_prng_seed(seed);
	struct gconf c = defaults();
	s->verbose = verbose;
	draw_clients(&p, &c);
	c.datalen = (uint32_t)PICK(&p, 1, 100, 1024, 4096, 16384, 65536);
	c.hiwater = (uint32_t)PICK(&p, 1, 2, 7, 20);
	c.ackmark = 1 + (uint32_t)base_prng_below(&p, c.hiwater);
	c.packets = (uint32_t)PICK(&p, 3, 12, 25);
	c.empty_percent = (uint32_t)PICK(&p, 0, 30, 90);
	c.packet_bytes = PICK(&p, GW_PACKET_BYTES_MIN, GW_PACKET_BYTES_MIN * 2, 8u << 20);
	c.wan_delay_ns = PICK(&p, 10000, 1000000, 20000000);
	c.wan_loss_ppb = (uint32_t)PICK(&p, 0, 0, 1000000, 50000000);
	c.private_mtu = (uint32_t)PICK(&p, 1472, 8972);
	c.tcp_window = (uint32_t)PICK(&p, 200, 4096, 65536, 300000);
	if (c.tcp_window == 200) /* a round trip for 200 bytes */
		c.wan_delay_ns = c.datalen > 4096 ? 10000 : base_min_ns(c.wan_delay_ns, BASE_MS_NS);
	c.tcp_rate_bps = PICK(&p, 12500000, 1250000000);
	c.lane_window = (uint32_t)PICK(&p, 64, 1024);
	struct gworld *w = gworld_new(s, &c);
	for (uint32_t i = 0; i < w->conf.nclients; i++)
		for (uint32_t k = 0; k < w->client[i].nhosts; k++)
			if (base_prng_chance(&p, 150000000))
				w->client[i].host[k].deaf_until_ns = base_prng_below(&p, BASE_S_NS);
	/* Long for a world with windows of 4 KB and 20 ms: its channels bring 100 KB/s and wait
	 * for each other's packets in the gateway's memory. */
	run(s, w, 900 * BASE_S_NS, o);
	finish(s, w, o);
}

/* When the pairs without that host were done, after the start; 0: they are not. */
static uint64_t
others_done(const struct gworld *w, const struct ghost *h, uint64_t start_ns)
{
	uint64_t last = start_ns;
	for (uint32_t a = 0; a < w->nrank; a++)
		for (uint32_t b = 0; b < w->nrank; b++) {
			const struct gpair *p = &w->pair[a][b];
			if (w->host_of[a] == h || w->host_of[b] == h)
				continue;
			if (p->got < p->total)
				return 0;
			last = p->done_ns > last ? p->done_ns : last;
		}
	return last - start_ns;
}

static uint64_t
slow_one(uint64_t seed, bool deaf, struct outcome *o)
{
	struct sim *s = sim_new(seed);
	struct gconf c = defaults();
	set(&c, 0, G_FOREIGN, 4, 1, 2);
	set(&c, 1, G_OURS, 3, 1, 0);
	set(&c, 2, G_OUTSIDE, 2, 0, 1);
	c.packets = 60;
	/* hiwater packets of each pair that ends at that host find room, twice. */
	c.packet_bytes = 12u << 20;
	c.datalen = 16384;
	struct gworld *w = gworld_new(s, &c);
	struct ghost *h = &w->client[0].host[1];
	uint64_t start = s->now_ns, wake = start + 2 * BASE_S_NS;
	if (deaf)
		h->deaf_until_ns = wake;
	sim_at(s, wake, wake_deaf, h, 0);
	run(s, w, 60 * BASE_S_NS, o);
	uint64_t done = others_done(w, h, start);
	SIM_CHECK(s, !deaf || start + done < wake, "others waited for the host that read nothing");
	finish(s, w, o);
	return done;
}

/* A host that reads nothing for 2 s costs the others nothing (a fifth is for the order in
 * which connections come). */
void
gateway_slow_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct outcome with = {0}, without = {0};
	(void)verbose;
	uint64_t a = slow_one(seed, false, &without), b = slow_one(seed, true, &with);
	*o = with;
	if (o->ok && !without.ok)
		*o = without;
	if (o->ok && b > a + a / 5) {
		o->ok = false;
		snprintf(o->why, sizeof o->why,
			 "the others need %llu us beside a host that reads nothing, else %llu",
			 (unsigned long long)b / 1000, (unsigned long long)a / 1000);
	}
	snprintf(o->note, sizeof o->note,
		 "others done after %llu us beside a host that reads nothing, else %llu us",
		 (unsigned long long)b / 1000, (unsigned long long)a / 1000);
}
