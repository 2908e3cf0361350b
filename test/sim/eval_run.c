/* SPDX-License-Identifier: BSD-2-Clause */
/* All-to-all calls of all processes, or the phases of a kernel, by Suci (real lib/suci, lib/relay)
 * or by TCP. */
#include "eval.h"

#include "away.h"

#include "base/assert.h"
#include "impi/wire.h"
#include "mpi/far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MAX   4096u /* LMPI_HELD_MAX */
#define DIRECT_HDR 64u	 /* sizeof(struct lmpi_hdr) */
#define EVENTS_MAX 2000000000ull

/* What a blocking call leaves behind, see libmpi/transport/net.c. */
struct caller {
	uint64_t rx_mark, tx_mark;
	struct lmpi_away away;
	bool next; /* the next call begins at once */
};

struct run {
	const struct eval_conf *c;
	struct eval_app app;
	struct eval_net net;
	struct sim *s;
	struct world *w;
	struct tcp_net *tcp;
	uint64_t begun_ns, sum_ns, worst_ns, last_ns;
	uint64_t timeouts, lost, retransmits; /* when measuring began */
	bool over;
	struct caller caller[EVAL_RANKS];
};

void
eval_conf_default(struct eval_conf *c)
{
	*c = (struct eval_conf){.clusters = 2,
				.ranks = 16,
				.cc = SUCI_CC_CUBIC,
				.bytes = 1024,
				.datalen = 65536,
				.eager = 65536,
				.eager_relayed = 1u << 20,
				.warm = 3,
				.iterations = 4,
				.seed = 0x5eed};
}

bool
eval_costs_read(const char *file, struct eval_costs *c, const char **why)
{
	char line[200], name[64];
	unsigned ns;
	FILE *f = fopen(file, "r");
	*c = (struct eval_costs){0};
	*why = "cannot be opened";
	if (!f)
		return false;
	*why = NULL;
	while (!*why && fgets(line, sizeof line, f)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%63s %u", name, &ns) != 2)
			*why = "a line is not \"name ns\"";
		else if (!strcmp(name, "node"))
			c->node_ns = ns;
		else if (!strcmp(name, "relay"))
			c->relay_ns = ns;
		else
			*why = "unknown name";
	}
	fclose(f);
	if (!*why && (!c->node_ns || !c->relay_ns))
		*why = "names node and relay are needed";
	return !*why;
}

/* ---- what is counted ---- */

struct sums {
	uint64_t timeouts, lost, retransmits;
};

static void
add(struct sums *n, const struct suci *ep)
{
	const struct suci_counters *k = suci_counters(ep);
	n->timeouts += k->tx_probes;
	n->retransmits += k->tx_retransmits;
}

static struct sums
sums(const struct run *r)
{
	struct sums n = {0};
	for (uint32_t i = 0; i < r->s->nlink; i++)
		n.lost += r->s->link[i].n.drop_queue + r->s->link[i].n.drop_loss;
	if (r->tcp) {
		struct tcp_counters t = tcp_counters(r->tcp);
		n.timeouts = t.timeouts;
		n.retransmits = t.retransmits;
		return n;
	}
	for (uint32_t i = 0; i < r->w->nend; i++)
		add(&n, r->w->end[i].ep);
	for (uint32_t i = 0; i < r->w->nrelay; i++)
		add(&n, r->w->relay[i].ep);
	return n;
}

/* ---- calls ---- */

static void
drive(struct run *r, uint32_t rank)
{
	if (r->w)
		end_drive(&r->w->end[rank]);
}

static void
begin_all(struct sim *s, void *who, uint64_t arg)
{
	struct run *r = who;
	(void)arg;
	r->begun_ns = s->now_ns;
	for (uint32_t i = 0; i < r->app.n; i++) {
		lmpi_away_back(&r->caller[i].away, s->now_ns);
		eval_app_begin(&r->app, i);
		drive(r, i);
	}
}

/* As lmpi_net_flush(). */
static void
leave(struct run *r, uint32_t rank)
{
	struct caller *l = &r->caller[rank];
	struct end *e = &r->w->end[rank];
	const struct suci_counters *n = suci_counters(e->ep);
	uint64_t rx = n->rx_datagrams - l->rx_mark, tx = n->tx_datagrams - l->tx_mark;
	bool soon = lmpi_away_soon(&l->away);
	if (rx > tx + 1) {
		if (!soon)
			suci_lanes_flush(e->lanes, r->s->now_ns);
		suci_flush_acks(e->ep);
		end_drive(e);
	}
	lmpi_away_left(&l->away, r->s->now_ns, soon && suci_lanes_owing(e->lanes));
	l->rx_mark = n->rx_datagrams;
	l->tx_mark = n->tx_datagrams;
}

static void
call_over(struct sim *s, void *who, uint64_t rank)
{
	struct run *r = who;
	leave(r, (uint32_t)rank);
	/* Between calls it waits for the others in the library, unless it computes. */
	if (!r->c->pause_ns)
		lmpi_away_back(&r->caller[rank].away, s->now_ns);
	if (!r->caller[rank].next)
		return;
	eval_app_begin(&r->app, (uint32_t)rank);
	drive(r, (uint32_t)rank);
}

static void
take_time(struct run *r, uint32_t iteration)
{
	uint64_t now = r->s->now_ns, took = now - r->begun_ns;
	if (iteration + 1 == r->c->warm) {
		struct sums n = sums(r);
		r->timeouts = n.timeouts;
		r->lost = n.lost;
		r->retransmits = n.retransmits;
		r->net.measuring = true;
	} else if (iteration >= r->c->warm) {
		r->sum_ns += took;
		r->worst_ns = base_max_ns(r->worst_ns, took);
	}
	r->begun_ns = now;
	r->over = iteration + 1 == r->app.iterations;
}

static void
ended(void *user, uint32_t rank, uint32_t iteration, bool last)
{
	struct run *r = user;
	if (last) {
		take_time(r, iteration);
		/* Between calls nothing has to be on the wire. */
		for (uint32_t i = 0;
		     i < r->net.nwatch && (r->c->pause_ns || iteration < r->c->warm); i++)
			r->net.watch[i].busy_until_ns = 0;
	}
	/* What is measured begins at all processes at once. */
	bool end = iteration + 1 == r->app.iterations;
	bool next = !end && !r->c->pause_ns && iteration + 1 != r->c->warm;
	if (r->w) {
		r->caller[rank].next = next;
		sim_at(r->s, r->s->now_ns, call_over, r, rank);
	} else if (next) {
		eval_app_begin(&r->app, rank);
	}
	if (!end && !next && last)
		sim_at(r->s, r->s->now_ns + base_max_ns(r->c->pause_ns, BASE_MS_NS), begin_all, r,
		       0);
}

static bool
over(void *who)
{
	return ((const struct run *)who)->over;
}

static void
computed(struct sim *s, void *who, uint64_t rank)
{
	struct run *r = who;

	if (r->w)
		lmpi_away_back(&r->caller[rank].away, s->now_ns);
	eval_app_computed(&r->app, (uint32_t)rank);
	drive(r, (uint32_t)rank);
}

/* Not from inside a call of lib/suci. */
static void
go_away(struct sim *s, void *who, uint64_t rank)
{
	(void)s;
	if (((struct run *)who)->w)
		leave(who, (uint32_t)rank);
}

static void
compute(void *user, uint32_t rank, uint64_t ns)
{
	struct run *r = user;

	sim_at(r->s, r->s->now_ns, go_away, r, rank);
	sim_at(r->s, r->s->now_ns + ns, computed, r, rank);
}

/* Mean b, each pair up to vary_pc more or less. */
static void
draw_bytes(const struct run *r, uint64_t bytes[EVAL_RANKS][EVAL_RANKS])
{
	struct base_prng p = base_prng_seed(r->c->seed ^ 0xa11);
	uint64_t span = r->c->bytes * r->c->vary_pc / 100;
	for (uint32_t a = 0; a < r->app.n; a++)
		for (uint32_t b = 0; b < r->app.n; b++)
			bytes[a][b] = r->c->bytes - span + base_prng_below(&p, 2 * span + 1);
}

/* ---- over Suci ---- */

static void
suci_send(void *user, uint32_t src, uint32_t dst, uint64_t bytes)
{
	(void)bytes; /* the stream knows */
	struct run *r = user;
	struct stream *st = stream_of(r->w, src, dst);
	struct end *e = &r->w->end[src];
	stream_allow(st, st->allowed + 1);
	/* In the schedule's order, as libmpi does; without a lane end_drive() opens one. */
	if (e->lane[dst] != NONE_U32)
		stream_push(e, st);
}

/* As libmpi/transport/net.c asks for a process that is reached directly. */
static uint64_t
suci_eager(void *user, uint32_t src, uint32_t dst)
{
	const struct run *r = user;
	const struct end *e = &r->w->end[src];
	struct suci_lane_info lane;
	struct suci_path_info path;

	if (!world_same_cluster(r->w, src, dst))
		return r->c->eager_relayed;
	if (e->lane[dst] == NONE_U32 || !suci_lane_info(e->lanes, e->lane[dst], &lane) ||
	    !suci_path_info(e->ep, lane.path, &path))
		return r->c->eager;
	return lmpi_far_eager(r->c->eager, path.rtt_ns_min, (uint64_t)path.cwnd * path.mss);
}

/* write() returns when the socket's buffer has it. */
static uint64_t
kernel_eager(void *user, uint32_t src, uint32_t dst)
{
	(void)user, (void)src, (void)dst;
	return UINT64_MAX;
}

static void
suci_placed(struct stream *st, uint32_t i)
{
	struct run *r = st->w->scenario;
	(void)i;
	r->app.placed[st->src][st->dst]++;
	eval_app_progress(&r->app, st->dst);
}

static void
suci_done(struct stream *st, uint32_t i)
{
	struct run *r = st->w->scenario;
	(void)i;
	eval_app_acked(&r->app, st->src, st->dst);
}

void
eval_world_conf(const struct eval_conf *c, struct world_conf *wc)
{
	uint32_t n = eval_ranks(c);
	world_conf_default(wc);
	wc->nclusters = c->relays ? c->clusters : 1;
	for (uint32_t k = 0; k < c->clusters; k++)
		wc->cluster[k] = (struct cluster_conf){eval_ranks_of(c, k), eval_relays_of(c, k)};
	if (c->one_side)
		wc->cluster[1].relays = 0;
	if (!c->relays)
		wc->cluster[0] = (struct cluster_conf){n, 0};
	wc->policy = (uint8_t)c->policy;
	wc->several = !c->fixed_map;
	wc->hosts_max = EVAL_RANKS;
	wc->private_mtu = wc->global_mtu = 1500 - SIM_IP_UDP;
	/* libmpi/transport/net_setup.c, net.c */
	wc->end.limits = (struct suci_limits){.paths_max = n + c->relays + 8,
					      .segments_max = 16384,
					      .queue_max = 2048,
					      .window_max = 1024};
	wc->end.cc = wc->relay.cc = c->cc;
	wc->end.initial_window = 64;
	wc->end.ack_every = 32;
	wc->end.ack_ride_ns = 50 * BASE_US_NS;
	wc->end.burst_bytes = 65536;
	wc->end.credit_total = c->credit;
	wc->lane_window = HELD_MAX / 2 / n < 64	    ? 64
			  : HELD_MAX / 2 / n > 1024 ? 1024
						    : HELD_MAX / 2 / n;
	wc->lane_window_max = HELD_MAX;
	wc->direct_window = 1024;
	wc->lanes = (struct suci_lane_limits){.lanes_max = n,
					      .blocks_max = 8192,
					      .rx_blocks_max = 4096,
					      .held_max = HELD_MAX,
					      .ranges_max = 16384,
					      .labels_max = LABEL_BASE + RANKS_MAX};
	/* app/relayd: doc/configuration.md */
	wc->relay.limits = (struct suci_limits){.paths_max = 2 * EVAL_RANKS + 8,
						.segments_max = 8192,
						.queue_max = 2048,
						.window_max = 2048};
	wc->relay.initial_window = 32;
	wc->relay.burst_packets = 32;
	wc->relay.credit_total = c->credit;
}

struct sizes {
	const struct eval_pair *pair;
	uint64_t header;
};

static uint64_t
size_of(void *arg, uint32_t i)
{
	const struct sizes *s = arg;
	return s->pair->bytes[i % s->pair->n] + s->header;
}

static bool
has_lent(const struct eval_pair *p, uint64_t eager)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->bytes[i] > eager)
			return true;
	return false;
}

static void
make_streams(struct run *r)
{
	for (uint32_t a = 0; a < r->app.n; a++)
		for (uint32_t b = 0; b < r->app.n; b++) {
			const struct eval_pair *pair = &r->app.pair[a][b];
			if (!pair->n)
				continue;
			bool direct = world_same_cluster(r->w, a, b);
			struct sizes x = {pair, direct ? DIRECT_HDR : IMPI_PACKET_BYTES};
			struct stream *st =
				world_stream(r->w, a, b, r->app.iterations * pair->n, size_of, &x);
			st->outstanding_max = UINT32_MAX;
			/* Its sender waits. */
			st->wait = has_lent(pair, direct ? r->c->eager : r->c->eager_relayed);
			st->manual = true;
		}
}

static void
finish(struct run *r, struct eval_result *o)
{
	struct sums n = sums(r);
	o->call_ns = r->c->iterations ? r->sum_ns / r->c->iterations : 0;
	o->worst_ns = r->worst_ns;
	o->bound_ns = eval_bound(r->c, &r->app);
	o->rtt_ns = eval_rtt(r->c);
	o->timeouts = n.timeouts - r->timeouts;
	o->lost = n.lost - r->lost;
	o->retransmits = n.retransmits - r->retransmits;
	for (uint32_t i = 0; i < r->net.nwatch; i++)
		o->idle_ns = base_max_ns(o->idle_ns, r->net.watch[i].idle_ns);
	r->net.measuring = false;
}

static void
run_suci(struct run *r, struct eval_result *o)
{
	struct world_conf wc;
	eval_world_conf(r->c, &wc);
	r->w = world_new(r->s, &wc);
	r->w->scenario = r;
	r->w->on_placed = suci_placed;
	r->w->on_done = suci_done;
	eval_wire_suci(&r->net, r->w);
	r->app.send = suci_send;
	r->app.eager = suci_eager;
	make_streams(r);
	world_start(r->w);
	sim_at(r->s, r->s->now_ns + 200 * BASE_MS_NS, begin_all, r, 0);
	sim_run(r->s, r->s->now_ns + 600 * BASE_S_NS, over, r);
	SIM_CHECK(r->s, r->over, "not complete after 600 s of virtual time");
	if (!r->s->failed)
		finish(r, o);
	/* What the last acknowledgements bring. */
	sim_run(r->s, r->s->now_ns + 60 * BASE_S_NS, world_quiet, r->w);
	struct outcome end = {0};
	scenario_end(r->w, &end);
	o->ok = end.ok;
	snprintf(o->why, sizeof o->why, "%s", end.why);
	o->hash = end.hash;
	o->events = end.events;
	o->virtual_ns = end.virtual_ns;
}

/* ---- over TCP ---- */

static void
kernel_send(void *user, uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct run *r = user;
	tcp_send(r->tcp, src, dst, bytes + IMPI_PACKET_BYTES);
}

static void
kernel_placed(void *user, uint32_t src, uint32_t dst)
{
	struct run *r = user;
	r->app.placed[src][dst]++;
	eval_app_progress(&r->app, dst);
}

static void
kernel_done(void *user, uint32_t src, uint32_t dst)
{
	struct run *r = user;
	eval_app_acked(&r->app, src, dst);
}

static void
run_tcp(struct run *r, struct eval_result *o)
{
	struct tcp_net_conf tc = {
		.nodes = r->app.n, .on_placed = kernel_placed, .on_done = kernel_done, .user = r};
	r->tcp = tcp_net_new(r->s, &tc, NET_GLOBAL, 0x0a000001);
	eval_wire_tcp(&r->net, r->tcp);
	r->app.send = kernel_send;
	r->app.eager = kernel_eager;
	r->app.copies_max = UINT64_MAX;
	sim_at(r->s, r->s->now_ns, begin_all, r, 0);
	sim_run(r->s, r->s->now_ns + 600 * BASE_S_NS, over, r);
	SIM_CHECK(r->s, r->over, "not complete after 600 s of virtual time");
	if (!r->s->failed)
		finish(r, o);
	o->ok = !r->s->failed;
	snprintf(o->why, sizeof o->why, "%s", r->s->why);
	o->hash = r->s->hash;
	o->events = r->s->events;
	o->virtual_ns = r->s->now_ns;
	tcp_net_free(r->tcp);
	sim_free(r->s);
}

static bool
make_app(struct run *r, const uint32_t *cluster_of, struct eval_result *o)
{
	static uint64_t bytes[EVAL_RANKS][EVAL_RANKS];
	const char *why = NULL;

	if (!r->c->pattern) {
		draw_bytes(r, bytes);
		eval_app_alltoall(&r->app, r->c->algorithm, r->c->vary_pc != 0, bytes, cluster_of);
	} else if (!eval_app_kernel(&r->app, r->c, cluster_of, &why)) {
		snprintf(o->why, sizeof o->why, "%s: %s", r->c->pattern, why);
		sim_free(r->s);
	}
	return !why;
}

void
eval_alltoall(const struct eval_conf *c, struct eval_result *o)
{
	uint32_t cluster_of[EVAL_RANKS];
	struct run *r = calloc(1, sizeof *r);
	BASE_ASSERT(r && c->clusters >= 1 && c->clusters <= CLUSTERS_MAX &&
		    eval_ranks(c) <= EVAL_RANKS &&
		    c->relays + (c->clusters - 1) * eval_relays_of(c, 1) <= RELAYS_MAX &&
		    c->warm + c->iterations <= EVAL_ITERS && c->warm >= 1 &&
		    !(c->relays && c->transport == EVAL_TCP));
	*o = (struct eval_result){0};
	r->c = c;
	r->s = sim_new(c->seed);
	r->s->verbose = c->verbose;
	r->s->events_max = EVENTS_MAX;
	r->net = (struct eval_net){.c = c, .s = r->s};
	r->app.n = eval_ranks(c);
	r->app.iterations = c->warm + c->iterations;
	r->app.copies_max = LMPI_PEER_COPIES_MAX;
	r->app.ended = ended;
	r->app.user = r;
	for (uint32_t i = 0; i < r->app.n; i++)
		cluster_of[i] = eval_cluster_of(c, i);
	r->app.compute = compute;
	if (!make_app(r, cluster_of, o))
		o->ok = false;
	else if (c->transport == EVAL_TCP)
		run_tcp(r, o);
	else
		run_suci(r, o);
	eval_app_free(&r->app);
	free(r);
}
