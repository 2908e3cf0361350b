/* SPDX-License-Identifier: BSD-2-Clause */
/* Two jobs on one circuit switch with faults (optical.h): their collectives, planned in
 * every mode, complete with the right data whatever the switch does; no circuit is left
 * behind, and nobody else's is touched. */
#include "optical.h"
#include "scenario.h"

#include "call.h"
#include "ocs/control.h"
#include "circ/fabric.h"
#include "ocs/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES	   8
#define NODE_PORTS 4 /* switch ports n * 4 .. n * 4 + 3 lead to node n */
#define CALLS_MAX  6
#define MS	   BASE_MS_NS
#define GIVE_UP_MS 60000 /* of virtual time */

enum phase { ASKING, COMPUTING, CALLING, DRAINING, OVER };

struct message {
	enum { IDLE, READY, BY_LIGHT, BY_PACKET, GONE } state;
	uint64_t end_ns;
	bool passed;	     /* there was light when it started */
	uint64_t changed[2]; /* the mirrors' histories then */
	uint32_t x, y;
};

struct job {
	struct world_of_light *w;
	uint64_t id, until_ns;
	enum phase phase;
	bool shrinks; /* a port is to go once nothing is lit over it */
	uint32_t p, node[NODES], calls, call;
	struct circ_slots slots;
	struct circ_slot slot[NODES * NODE_PORTS];
	uint32_t ports[NODES], port_of[NODES * NODE_PORTS];
	uint32_t group[NODES], waves[2]; /* wavelengths */
	uint32_t links_max;		 /* of two nodes at once */
	struct circ_fabric fabric;
	/* the call */
	struct obs_args args;
	struct obs_call made;
	struct obs_plan plan;
	void *fabric_mem;
	struct message *message;
	struct opt_data data;
	uint32_t fallbacks;
};

struct world_of_light {
	struct osw sw;
	struct base_prng rng;
	struct ocs_control *control;
	struct ocs_matrix *m;
	struct ocs_leases *leases;
	bool away[OSW_PORTS]; /* withdrawn by the operator */
	uint32_t node_of[OSW_PORTS];
	bool own[OSW_PORTS];
	struct job job[2];
	uint64_t now_ns, light, beside, packets, moved; /* beside: by extra links */
	char why[300];
};

static bool
wrong(struct world_of_light *w, const struct job *j, const char *what)
{
	snprintf(w->why, sizeof w->why, "job %u, call %u, %s %s of %u: %s", (unsigned)j->id,
		 j->call, coll_op_name(j->args.op),
		 j->made.algorithm ? j->made.algorithm : "chosen", j->p, what);
	return false;
}

/* ---- a call */

static bool
begin_call(struct world_of_light *w, struct job *j)
{
	struct base_prng *r = &w->rng;
	opt_data_draw(&j->data, r, &j->args, j->p);
	if (obs_call_make(&j->made, &j->args, j->node) != 0)
		return wrong(w, j, "no schedule");
	opt_data_begin(&j->data, j->made.schedule);
	struct circ_call_mode m = {.mode = (enum circ_mode)(1 + base_prng_below(r, 4))};
	m.light_from = base_prng_below(r, 3) ? 0 : base_prng_below(r, 200);
	m.links = 1 + (uint32_t)base_prng_below(r, j->links_max);
	obs_call_plan(&j->made, &m, &j->slots, &j->plan);
	j->fabric_mem = malloc(circ_fabric_footprint(&j->plan.of.plan));
	circ_fabric_start(&j->fabric, &j->plan.of.run, w->now_ns, j->fabric_mem);
	j->message = calloc(j->made.messages + 1, sizeof *j->message);
	coll_play_rewind(j->made.play); /* with data this time */
	j->phase = CALLING;
	return true;
}

static void
free_call(struct job *j)
{
	opt_data_free(&j->data);
	free(j->message);
	free(j->fabric_mem);
	j->message = NULL;
	j->fabric_mem = NULL;
	obs_plan_free(&j->plan);
	obs_call_free(&j->made);
}

static void
by_light(struct world_of_light *w, struct job *j, uint32_t m)
{
	struct message *g = &j->message[m];
	uint32_t links = circ_run_links(&j->plan.of.run, m);
	uint32_t link = (uint32_t)base_prng_below(&w->rng, links);
	const struct circ_setup *u =
		&j->plan.of.plan.setup[circ_run_link(&j->plan.of.run, m, link)];
	uint32_t a = j->port_of[u->a * NODE_PORTS + u->slot_a];
	uint32_t b = j->port_of[u->b * NODE_PORTS + u->slot_b];
	bool forth = j->node[j->made.message[m].from] == u->a;
	g->x = forth ? a : b;
	g->y = forth ? b : a;
	g->passed = osw_passes(&w->sw, g->x, g->y, w->now_ns);
	g->changed[0] = w->sw.changed[g->x];
	g->state = BY_LIGHT;
	g->end_ns = w->now_ns + (1 + base_prng_below(&w->rng, 5)) * MS;
	w->light++;
	w->beside += u->first != CIRC_NONE;
}

static void
by_packet(struct world_of_light *w, struct job *j, uint32_t m, uint64_t wait_ns)
{
	j->message[m].state = BY_PACKET;
	j->message[m].end_ns = w->now_ns + wait_ns + (2 + base_prng_below(&w->rng, 10)) * MS;
	w->packets++;
}

static void
arrive(struct world_of_light *w, struct job *j, uint32_t m)
{
	struct message *g = &j->message[m];
	const struct coll_message *c = &j->made.message[m];
	const struct coll_step *s = &j->made.schedule[c->from].step[c->send];
	const struct coll_step *r = &j->made.schedule[c->to].step[c->recv];
	if (g->state == BY_LIGHT && (!g->passed || g->changed[0] != w->sw.changed[g->x])) {
		/* The transport notices and sends it again over the packet network; the matrix
		 * hears that there was no light. */
		struct ocs_circuit at = ocs_at(w->m, g->x);
		if (at.state == OCS_LIT && at.out == g->y)
			ocs_light(w->m, g->x, false, w->now_ns);
		j->fallbacks++;
		by_packet(w, j, m, 3 * MS);
		return;
	}
	opt_data_move(&j->data, c->from, s, c->to, r);
	g->state = GONE;
	w->moved++;
	circ_run_over(&j->plan.of.run, m);
	coll_play_over(j->made.play, m);
}

static bool
go_on(struct world_of_light *w, struct job *j)
{
	bool more = true;
	while (more) {
		more = circ_fabric_step(&j->fabric, w->now_ns);
		for (uint32_t m; (m = coll_play_next(j->made.play)) != COLL_NO_MESSAGE;)
			j->message[m].state = READY;
		for (uint32_t m = 0; m < j->made.messages; m++) {
			struct message *g = &j->message[m];
			if (g->state == READY) {
				enum circ_way way = circ_run_way(&j->plan.of.run, m);
				if (way == CIRC_WAY_LIGHT)
					by_light(w, j, m);
				else if (way == CIRC_WAY_PACKET)
					by_packet(w, j, m, 0);
			} else if ((g->state == BY_LIGHT || g->state == BY_PACKET) &&
				   g->end_ns <= w->now_ns) {
				arrive(w, j, m);
				more = true;
			}
		}
	}
	if (coll_play_left(j->made.play))
		return true;
	circ_fabric_end(&j->fabric, w->now_ns);
	bool ok = opt_data_right(&j->data) || wrong(w, j, "wrong data");
	free_call(j);
	j->call++;
	j->phase = j->call < j->calls ? COMPUTING : DRAINING;
	j->until_ns = w->now_ns + base_prng_below(&w->rng, 20) * MS;
	if (j->phase == DRAINING)
		circ_fabric_clear(&j->fabric, w->now_ns);
	return ok;
}

/* ---- a job */

/* Which port each slot is, by the lease as it is now. */
static void
map_ports(struct world_of_light *w, struct job *j)
{
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t *at = &j->port_of[n * NODE_PORTS];
		j->ports[n] = 0;
		for (uint32_t i = 0; i < NODE_PORTS; i++)
			at[i] = OCS_NO_PORT;
		for (uint32_t i = 0; i < NODE_PORTS; i++) {
			uint32_t p = ocs_lease_port(w->leases, j->id, n, i);
			if (p != OCS_NO_PORT && !w->away[p])
				at[j->ports[n]++] = p;
		}
	}
}

static void
ask(struct world_of_light *w, struct job *j)
{
	struct ocs_ask a[NODES];
	for (uint32_t i = 0; i < j->p; i++) {
		uint32_t min = (uint32_t)base_prng_below(&w->rng, 3);
		a[i] = (struct ocs_ask){j->node[i], min,
					min + (uint32_t)base_prng_below(&w->rng, 3)};
	}
	if (ocs_lease_state(w->leases, j->id) == OCS_LEASE_NONE &&
	    !ocs_lease_ask(w->leases, j->id, a, j->p, 50 * MS, w->now_ns))
		wrong(w, j, "the lease is not taken");
	/* Some confirm too late and have to ask again. */
	if (ocs_lease_state(w->leases, j->id) != OCS_LEASE_HELD || base_prng_below(&w->rng, 30))
		return;
	ocs_lease_confirm(w->leases, j->id);
	map_ports(w, j);
	j->phase = COMPUTING;
}

/* The operator takes a port away between two calls: its circuits go first.  False: some are there.
 */
static bool
shrink(struct world_of_light *w, struct job *j)
{
	circ_fabric_clear(&j->fabric, w->now_ns);
	if (!circ_fabric_empty(&j->fabric))
		return false;
	uint32_t n = j->node[base_prng_below(&w->rng, j->p)];
	uint32_t p = j->port_of[n * NODE_PORTS];
	if (p != OCS_NO_PORT)
		w->away[p] = true;
	map_ports(w, j);
	return true;
}

static bool
job_step(struct world_of_light *w, struct job *j)
{
	switch (j->phase) {
	case ASKING:
		ask(w, j);
		return !*w->why;
	case COMPUTING:
		if (j->until_ns > w->now_ns)
			return true;
		if (!j->shrinks && base_prng_below(&w->rng, 8))
			return begin_call(w, j);
		j->shrinks = !shrink(w, j);
		j->until_ns = w->now_ns + (j->shrinks ? 1 : 40) * MS;
		return true;
	case CALLING:
		return go_on(w, j);
	case DRAINING:
		circ_fabric_clear(&j->fabric, w->now_ns);
		if (!circ_fabric_empty(&j->fabric))
			return true;
		ocs_lease_release(w->leases, j->id, w->now_ns);
		memset(w->away, 0, sizeof w->away); /* mended */
		j->phase = OVER;
		return true;
	case OVER:
		return true;
	}
	return true;
}

/* In half of the worlds wavelengths are scarcer than ports. */
static void
limit_job(struct job *j, uint64_t seed)
{
	struct base_prng r = base_prng_seed(seed ^ 0x3a5e);
	if (base_prng_below(&r, 2))
		return;
	j->slots.lit_max = (uint32_t)base_prng_below(&r, 5);
	if (base_prng_below(&r, 2))
		return;
	for (uint32_t n = 0; n < NODES; n++)
		j->group[n] = (uint32_t)base_prng_below(&r, 2);
	for (uint32_t g = 0; g < 2; g++)
		j->waves[g] = (uint32_t)base_prng_below(&r, 4);
	j->slots.groups = 2;
	j->slots.group = j->group;
	j->slots.waves = j->waves;
}

/* Is there light from p, or may there be: not dark before the switch has said so? */
static bool
shines(const struct world_of_light *w, const struct job *j, uint32_t p)
{
	struct ocs_circuit c = ocs_at(w->m, p);
	return c.owner == j->id && c.state != OCS_FREE && c.state != OCS_FOREIGN &&
	       c.state != OCS_REQUESTED;
}

/* No more links are lit, being lit or going than the limits of the job say; one way of a link is
 * as much as both. */
static bool
within_limits(struct world_of_light *w, struct job *j)
{
	uint32_t all = 0, in[2] = {0};
	for (uint32_t p = 0; p < NODES * NODE_PORTS; p++) {
		uint32_t to = ocs_at(w->m, p).out;
		if (!shines(w, j, p) || (to < p && shines(w, j, to) && ocs_at(w->m, to).out == p))
			continue;
		uint32_t a = j->group[w->node_of[p]], b = j->group[w->node_of[to]];
		all++;
		in[a]++;
		in[b] += a != b;
	}
	bool ok = !j->slots.lit_max || all <= j->slots.lit_max;
	for (uint32_t g = 0; g < 2; g++)
		ok &= !j->slots.group || in[g] <= j->waves[g];
	return ok || wrong(w, j, "more is lit than there are wavelengths");
}

static void
job_init(struct world_of_light *w, uint32_t i, uint64_t seed)
{
	struct job *j = &w->job[i];
	uint32_t order[NODES] = {0};
	j->w = w;
	j->id = i + 1;
	j->p = 2 + (uint32_t)base_prng_below(&w->rng, NODES - 1);
	j->calls = 1 + (uint32_t)base_prng_below(&w->rng, CALLS_MAX);
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t k = (uint32_t)base_prng_below(&w->rng, n + 1);
		order[n] = order[k];
		order[k] = n;
	}
	memcpy(j->node, order, sizeof order);
	j->slots = (struct circ_slots){
		.nodes = NODES, .stride = NODE_PORTS, .ports = j->ports, .slot = j->slot};
	circ_slots_clear(&j->slots);
	limit_job(j, seed ^ i);
	struct base_prng links = base_prng_seed(seed ^ i ^ 0x11f5);
	j->links_max = 1 + (uint32_t)base_prng_below(&links, NODE_PORTS);
	memset(j->port_of, 0xff, sizeof j->port_of);
	j->fabric = (struct circ_fabric){.m = w->m,
					 .slots = &j->slots,
					 .port_of = j->port_of,
					 .owner = j->id,
					 .patience_ns = 200 * MS};
}

static void
start(struct world_of_light *w, uint64_t seed)
{
	osw_init(&w->sw, seed);
	w->rng = base_prng_seed(seed ^ 0x0b5);
	for (uint32_t p = 0; p < OSW_PORTS; p++) {
		w->own[p] = p < w->sw.foreign_from;
		w->node_of[p] = p < NODES * NODE_PORTS ? p / NODE_PORTS : UINT32_MAX;
	}
	struct ocs_control_config c = {.ports = OSW_PORTS,
				       .batch = OSW_PORTS,
				       .gamma_guess_ns = 10 * MS,
				       .settle_ns = 30 * MS,
				       .retry_ns = 5 * MS,
				       .own_in = w->own,
				       .own_out = w->own};
	w->control = ocs_control_new(malloc(ocs_control_footprint(&c)), &c, &w->sw.base);
	w->m = ocs_control_matrix(w->control);
	w->leases = ocs_leases_new(malloc(ocs_leases_footprint(OSW_PORTS, 2, NODES)), OSW_PORTS,
				   w->node_of, 2, NODES);
	for (uint32_t i = 0; i < 2; i++)
		job_init(w, i, seed);
}

/* What must hold at any time, and what must when all is over. */
static bool
holds(struct world_of_light *w, bool end)
{
	const char *why = w->sw.broken ? w->sw.broken : ocs_check(w->m);
	for (uint32_t p = 0; end && p < OSW_PORTS && !why; p++)
		if (w->sw.mine[p])
			why = "a circuit is left on the switch";
	if (why && !*w->why)
		snprintf(w->why, sizeof w->why, "%s", why);
	return !*w->why;
}

void
optical_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_of_light *w = calloc(1, sizeof *w);
	struct ocs_notice n;
	uint32_t ms = 0;
	start(w, seed);
	bool ok = true, over = false;
	for (; ok && !over && ms < GIVE_UP_MS; ms++) {
		w->now_ns = (uint64_t)ms * MS;
		bool heal = w->job[0].phase >= DRAINING && w->job[1].phase >= DRAINING;
		osw_step(&w->sw, w->now_ns, heal);
		ocs_control_turn(w->control, w->now_ns);
		while (ocs_control_next(w->control, &n))
			;
		ocs_leases_tick(w->leases, w->now_ns);
		for (uint32_t i = 0; i < 2; i++)
			ok = ok && job_step(w, &w->job[i]) && within_limits(w, &w->job[i]);
		ok = ok && holds(w, false);
		over = w->job[0].phase == OVER && w->job[1].phase == OVER &&
		       ocs_control_is_settled(w->control);
	}
	if (ok && !over)
		ok = wrong(w, &w->job[w->job[0].phase == OVER], "does not come to its end");
	ok = ok && holds(w, true);
	for (uint32_t i = 0; i < 2; i++)
		free_call(&w->job[i]);
	const struct ocs_counters *c = ocs_counters(w->m);
	o->ok = ok;
	o->events = w->moved;
	o->virtual_ns = w->now_ns;
	o->hash = seed ^ (w->now_ns * 31 + w->light * 7 + w->packets * 3 + c->set_up);
	snprintf(o->why, sizeof o->why, "%s", w->why);
	snprintf(o->note, sizeof o->note,
		 "%llu messages, %llu by light first (%llu by extra links), %u sent again, %llu "
		 "circuits, %llu refused, "
		 "%llu stolen, %llu sessions lost",
		 (unsigned long long)w->moved, (unsigned long long)w->light,
		 (unsigned long long)w->beside, w->job[0].fallbacks + w->job[1].fallbacks,
		 (unsigned long long)c->set_up, (unsigned long long)w->sw.refused,
		 (unsigned long long)w->sw.stolen, (unsigned long long)w->sw.sessions_lost);
	if (verbose)
		puts(o->note);
	free(w->control);
	free(w->leases);
	free(w);
}
