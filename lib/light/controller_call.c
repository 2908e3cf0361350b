/* SPDX-License-Identifier: BSD-2-Clause */
/* A call from its schedules to CLEAR_TO_SEND and RECEIVED. */
#include "controller_internal.h"

#include "base/clock.h"
#include "canary.h"

#include <string.h>

/* Messages of a call: more are not thought about, and not planned; some ms each. */
#define PREDICT_MAX  1024u
#define MESSAGES_MAX 4096u
#define LINKS_TRIED  3u /* of a pair: one, two, as many as may be */
#define GATHER	     LIGHT_NOTE_COUNTS
#define BYTES_MAX    (1ull << 40) /* of a block: sums of them fit 64 bits */

/* ---- schedules ---- */

/* NULL, or what is wrong with it. */
static const char *
algorithm_of(const struct light_call *call, const char **name)
{
	const struct coll_algorithm *a = coll_algorithm_by_id(call->algorithm);
	if (!a || a->op != (enum coll_op)call->op)
		return "its algorithm is not known here; fix: update this relay";
	if (a->version != call->algorithm_version)
		return "its algorithm has another version here; fix: one release of relayd and "
		       "libmpi";
	*name = a->name;
	return NULL;
}

static const char *
make_call(struct doing *d, const struct call *k, const struct comm *m, struct base_space *s)
{
	const struct light_call *call = &k->call;
	struct circ_call_spec spec = {.args = {.op = (enum coll_op)call->op,
					       .size = m->p,
					       .root = call->root,
					       .bytes = call->bytes,
					       .elem = call->elem,
					       .commutative = !(call->flags & LIGHT_CALL_ORDERED),
					       .cluster_of = m->client,
					       .near = m->near,
					       .reversed = call->flags & LIGHT_CALL_REVERSED,
					       .degree = call->degree},
				      .node_of = m->client};
	const char *why = algorithm_of(call, &spec.algorithm);
	if (why)
		return why;
	if (call->op == COLL_NEIGHBOR)
		return "calls between neighbours are not planned";
	if (call->bytes > BYTES_MAX)
		return "it is too large";
	int rc = circ_call_make(&d->made, &spec, s);
	return rc == COLL_ERR_OK ? NULL : coll_strerror(rc);
}

/* Which messages cross clusters, and which of its pair each is. */
static bool
call_number(struct doing *d, const struct comm *m, struct base_space *s)
{
	const struct coll_message *g = d->made.message;
	uint32_t n = d->made.messages;
	d->flag = base_take(s, n);
	d->ordinal = base_take(s, (size_t)n * 4);
	d->first = base_take(s, ((size_t)m->p + 1) * 4);
	d->stop = base_take(s, (size_t)m->p * 4);
	if (!d->flag || !d->ordinal || !d->first || !d->stop)
		return false;
	uint32_t i = 0;
	d->between = 0;
	for (uint32_t r = 0; r < m->p; r++) {
		memset(d->stop, 0, (size_t)m->p * 4);
		d->first[r] = i;
		for (; i < n && g[i].from == r; i++) {
			bool between = m->client[r] != m->client[g[i].to];
			d->ordinal[i] = ++d->stop[g[i].to];
			d->flag[i] = between ? FLAG_BETWEEN : FLAG_OVER;
			d->between += between;
		}
	}
	d->first[m->p] = i;
	return i == n;
}

/* ---- which mode ---- */

static struct circ_call_mode
how(enum circ_mode mode, const struct circ_costs *costs)
{
	bool judges = mode == CIRC_MODE_HYBRID;
	return (struct circ_call_mode){.mode = mode,
				       .light_from = judges ? circ_switch_point(costs) : 0};
}

/* How long the call would take; below 0: no space to tell. */
static double
predicted_s(const struct doing *d, const struct job *j, const struct comm *m,
	    const struct circ_call_mode *w, const struct circ_costs *costs, struct base_space s,
	    bool *spares)
{
	struct circ_slots slots = j->slots;
	struct circ_call_plan plan;
	size_t bytes = sizeof j->slot;
	double *zero = base_take(&s, (LIGHT_CLIENTS + 2 * (size_t)m->p) * sizeof *zero);
	slots.slot = base_take(&s, bytes);
	if (!zero || !slots.slot)
		return -1;
	memcpy(slots.slot, j->slot, bytes);
	memset(zero, 0, (LIGHT_CLIENTS + 2 * (size_t)m->p) * sizeof *zero);
	if (!circ_call_plan(&d->made, w, &slots, &plan, &s))
		return -1;
	struct circ_prediction q = {.play = d->made.play,
				    .run = &plan.run,
				    .costs = costs,
				    .ranks = m->p,
				    .node_of = m->client,
				    .announce_s = zero,
				    .start_s = zero + LIGHT_CLIENTS,
				    .finish_s = zero + LIGHT_CLIENTS + m->p};
	void *mem = base_take(&s, circ_predict_footprint(m->p, d->made.messages, plan.plan.setups));
	if (!mem)
		return -1;
	*spares = plan.plan.moved == 0;
	coll_play_rewind(d->made.play);
	return circ_predict_s(&q, mem);
}

/* The one the call takes least with; the first, unless another is sooner, or takes as long and
 * leaves more links lit for the calls behind, over ports that were dark. */
static struct circ_call_mode
least(const struct job *j, const struct comm *m, const struct circ_costs *costs,
      const struct base_space *s, const struct circ_call_mode *all, size_t n)
{
	const struct doing *d = &j->now;
	struct circ_call_mode best = all[0];
	double least_s = -1;
	if (d->made.messages > PREDICT_MAX)
		return best;
	for (size_t i = 0; i < n; i++) {
		bool spares = false;
		double t = predicted_s(d, j, m, &all[i], costs, *s, &spares);
		bool leaves = spares && circ_mode_keeps(all[i].mode) && all[i].mode == best.mode &&
			      all[i].links > best.links && t <= least_s;
		if (t >= 0 && (least_s < 0 || t < least_s * 0.999 || leaves)) {
			least_s = t;
			best = all[i];
		}
	}
	return best;
}

/* Those pairs of nodes that have most ports could have so many links. */
static uint32_t
most_links(const struct light_controller *c, const struct job *j)
{
	for (uint32_t w = c->cfg.links_max; w > 1; w--) {
		uint32_t able = 0;
		for (uint32_t n = 0; n < LIGHT_CLIENTS; n++)
			able += j->ports[n] >= w;
		if (able >= 2)
			return w;
	}
	return 1;
}

/* Behind n ways to plan the call the same with two links of a pair, and with as many as may be. How
 * many there are then. */
static size_t
add_links(const struct light_controller *c, const struct job *j, struct circ_call_mode *all,
	  size_t n)
{
	uint32_t most = most_links(c, j);
	size_t m = n;
	for (uint32_t w = 2; w <= most; w = w < most ? most : w + 1)
		for (size_t i = 0; i < n; i++) {
			all[m] = all[i];
			all[m++].links = w;
		}
	/* too long to think about: as many messages are played as without */
	return j->now.made.messages > PREDICT_MAX * n / m ? n : m;
}

/* The configured way, with the number of links that is best. */
static struct circ_call_mode
that_mode(const struct light_controller *c, const struct job *j, const struct comm *m,
	  enum circ_mode mode, const struct circ_costs *costs, const struct base_space *s)
{
	struct circ_call_mode all[LINKS_TRIED] = {how(mode, costs)};
	size_t n = mode == CIRC_MODE_NAIVE ? 1 : add_links(c, j, all, 1);
	return n == 1 ? all[0] : least(j, m, costs, s, all, n);
}

static struct circ_call_mode
choose(struct light_controller *c, struct job *j, const struct comm *m, enum circ_mode *mode,
       const struct base_space *s)
{
	struct circ_costs costs = c->cfg.costs;
	struct doing *d = &j->now;
	uint64_t learnt_ns = ocs_gamma_ns(c->m);
	if (learnt_ns)
		costs.gamma_s = (double)learnt_ns / 1e9;
	if (*mode == CIRC_MODE_AUTO)
		*mode = c->cfg.mode;
	const struct circ_call_mode cached = how(CIRC_MODE_CACHED, &costs);
	const struct circ_call_mode pipelined = how(CIRC_MODE_PIPELINED, &costs);
	if (*mode == CIRC_MODE_CACHED) {
		/* A circuit that waits for its message holds a port that others could be set up
		 * on: what is lit is left where that costs more than it saves. */
		struct circ_call_mode all[2 * LINKS_TRIED] = {cached, pipelined};
		return least(j, m, &costs, s, all, add_links(c, j, all, 2));
	}
	if (*mode != CIRC_MODE_AUTO)
		return that_mode(c, j, m, *mode, &costs, s);
	struct circ_call_mode all[4 * LINKS_TRIED] = {
		/* what lies there is used, nothing set up */
		{.mode = CIRC_MODE_AUTO, .light_from = UINT64_MAX},
		how(CIRC_MODE_HYBRID, &costs),
		cached,
		pipelined,
	};
	/* too long to think about: hybrid */
	struct circ_call_mode best = d->made.messages > PREDICT_MAX
					     ? all[1]
					     : least(j, m, &costs, s, all, add_links(c, j, all, 4));
	*mode = best.mode;
	return best;
}

/* ---- begin ---- */

static uint64_t
stall_ns(const struct light_controller *c, const struct doing *d)
{
	uint64_t largest = 0;
	for (uint32_t i = 0; i < d->made.messages; i++)
		if (d->made.message[i].bytes > largest)
			largest = d->made.message[i].bytes;
	double s = (double)largest *
		   (c->cfg.costs.packet_beta_s_per_byte + c->cfg.costs.beta_s_per_byte);
	return c->cfg.stall_ns + (uint64_t)(4 * s * 1e9);
}

static bool
call_same(const struct light_call *a, const struct light_call *b)
{
	uint8_t differ = a->flags ^ b->flags;
	return a->op == b->op && a->algorithm == b->algorithm &&
	       a->algorithm_version == b->algorithm_version && a->root == b->root &&
	       a->elem == b->elem && a->degree == b->degree && a->bytes == b->bytes &&
	       !(differ & ~LIGHT_CALL_FORECAST);
}

/* Schedules and messages of the call; s: what is left of the memory behind them. */
static const char *
prepare_call(struct light_controller *c, struct job *j, const struct call *k, const struct comm *m,
	     struct base_space *s)
{
	struct doing *d = &j->now;
	if (j->last.told == m->told && call_same(&j->last.call, &k->call)) {
		*d = j->last.made;
		*s = j->last.rest;
		for (uint32_t i = 0; i < d->made.messages; i++)
			d->flag[i] = d->flag[i] & FLAG_BETWEEN ? FLAG_BETWEEN : FLAG_OVER;
		return NULL;
	}
	*s = base_space(j->mem, c->cfg.call_bytes);
	j->last.told = 0;
	memset(d, 0, sizeof *d);
	const char *why = make_call(d, k, m, s);
	if (why)
		return why;
	if (d->made.messages > MESSAGES_MAX || !call_number(d, m, s))
		return "it is too large";
	j->last.told = m->told;
	j->last.call = k->call;
	j->last.made = *d;
	j->last.rest = *s;
	return NULL;
}

const char *
light_controller_call_begin(struct light_controller *c, struct job *j, struct call *k,
			    struct comm *m, uint64_t now_ns)
{
	struct doing *d = &j->now;
	struct base_space s;
	for (uint32_t r = 0; r < m->p; r++)
		if (m->client[r] >= LIGHT_CLIENTS)
			return "its communicator is not known";
	const char *why = prepare_call(c, j, k, m, &s);
	if (why)
		return why;
	d->mode = k->call.mode;
	struct circ_call_mode w = choose(c, j, m, &d->mode, &s);
	if (!circ_call_plan(&d->made, &w, &j->slots, &d->plan, &s))
		return "it is too large";
	d->fresh = base_take(&s, d->plan.plan.setups);
	void *fabric = base_take(&s, circ_fabric_footprint(&d->plan.plan));
	if (!fabric || !d->fresh) {
		circ_fabric_clear(&j->fabric, now_ns);
		return "it is too large";
	}
	for (uint32_t i = 0; i < d->plan.plan.setups; i++)
		d->fresh[i] = !d->plan.plan.setup[i].kept;
	j->fabric.both_ways = ocs_control_identity(c->cfg.control)->caps & OCS_CAP_BIDIRECTIONAL;
	circ_fabric_start(&j->fabric, &d->plan.run, now_ns, fabric);
	d->call = k;
	d->comm = m;
	d->left = d->between;
	d->planned_ns = d->progress_ns = now_ns;
	d->stall_ns = stall_ns(c, d);
	d->changed = true;
	for (uint32_t i = 0; i < d->made.messages; i++)
		if (!(d->flag[i] & FLAG_BETWEEN))
			circ_run_over(&d->plan.run, i);
	c->count.calls++;
	c->count.misses += d->plan.plan.ordered;
	c->count.extra_links += d->plan.plan.extras;
	light_controller_event(c, (struct light_event){.kind = LIGHT_EVENT_CALL,
						       .at_ns = now_ns,
						       .key = j->key,
						       .call = k->call,
						       .mode = d->mode,
						       .messages = d->between,
						       .setups = d->plan.plan.ordered});
	return NULL;
}

/* ---- CLEAR_TO_SEND ---- */

static void
send_go(struct light_controller *c, const struct job *j, uint32_t from, struct light_note *n)
{
	const struct comm *m = j->now.comm;
	uint8_t bytes[LIGHT_NOTE_MAX];
	if (!n->counts)
		return;
	struct light_frame f = {.type = LIGHT_FRAME_NOTE,
				.key = j->key,
				.rank = m->world[from],
				.note = bytes,
				.note_len = (uint16_t)light_note_encode(n, bytes)};
	/* Which of them it listens to is its own affair. */
	for (uint32_t i = 0; i < c->cfg.agents; i++)
		if (j->client[i] == m->client[from])
			light_controller_send(c, i, &f);
	n->counts = 0;
}

/* The message may go: note how. */
static void
allow(struct light_controller *c, struct doing *d, uint32_t i, enum circ_way way)
{
	uint32_t setup = d->plan.plan.by[i];
	d->flag[i] |= FLAG_MAY;
	if (way != CIRC_WAY_LIGHT) {
		c->count.by_packets++;
		return;
	}
	d->flag[i] |= FLAG_LIGHT;
	c->count.by_light++;
	c->count.hits += !d->fresh[setup];
	d->fresh[setup] = 0;
}

/* Links of its pair that the message could be spread over. */
static uint32_t
links_to_come(const struct circ_plan *p, uint32_t i)
{
	uint32_t n = p->by[i] != CIRC_NONE;
	for (uint32_t x = n ? p->setup[p->by[i]].more : CIRC_NONE; x != CIRC_NONE;
	     x = p->setup[x].more)
		n += p->nth[i] >= p->setup[x].from && p->nth[i] < p->setup[x].until;
	return n;
}

/* Nobody waits for more than the first link of a pair. */
static enum circ_way
way_of(const struct doing *d, uint32_t i)
{
	enum circ_way way = circ_run_way(&d->plan.run, i);
	if (LIGHT_BUG(SECOND_WAITED) && way == CIRC_WAY_LIGHT &&
	    circ_run_links(&d->plan.run, i) < links_to_come(&d->plan.plan, i))
		return CIRC_WAY_WAIT;
	return way;
}

/* What the process of this rank may send now. */
static void
go_of(struct light_controller *c, struct job *j, uint32_t from)
{
	struct doing *d = &j->now;
	struct light_note n = {.kind = LIGHT_NOTE_CLEAR_TO_SEND};
	uint32_t stamp = from + 1;
	for (uint32_t i = d->first[from]; i < d->first[from + 1]; i++) {
		uint32_t to = d->made.message[i].to;
		if (!(d->flag[i] & FLAG_BETWEEN) || (d->flag[i] & FLAG_MAY) || d->stop[to] == stamp)
			continue;
		enum circ_way way = way_of(d, i);
		if (way == CIRC_WAY_WAIT) {
			d->stop[to] = stamp;
			continue;
		}
		allow(c, d, i, way);
		uint32_t at = 0;
		while (at < n.counts && n.u.count[at].to != to)
			at++;
		if (at == GATHER) {
			send_go(c, j, from, &n);
			at = 0;
		}
		const struct light_call *call = &d->call->call;
		n.u.count[at] = (struct light_count){call->comm, call->leader, call->seq,
						     from,	 to,	       d->ordinal[i]};
		n.counts = at == n.counts ? at + 1 : n.counts;
	}
	send_go(c, j, from, &n);
}

/* Messages of a pair go in their order. */
static bool
waits_behind_another(const struct doing *d, uint32_t i)
{
	const struct coll_message *g = d->made.message;
	for (uint32_t k = d->first[g[i].from]; k < i; k++)
		if (g[k].to == g[i].to && !(d->flag[k] & FLAG_MAY))
			return true;
	return false;
}

static void
go_all(struct light_controller *c, struct job *j)
{
	struct doing *d = &j->now;
	memset(d->stop, 0, (size_t)d->comm->p * 4);
	for (uint32_t r = 0; r < d->comm->p; r++)
		go_of(c, j, r);
}

/* ---- over ---- */

static void
end_call(struct light_controller *c, struct job *j, enum light_event_kind kind, const char *why,
	 uint64_t now_ns)
{
	struct doing *d = &j->now;
	j->untidy = !circ_fabric_end(&j->fabric, now_ns);
	light_controller_event(c, (struct light_event){.kind = kind,
						       .at_ns = now_ns,
						       .from_ns = d->planned_ns,
						       .key = j->key,
						       .call = d->call->call,
						       .mode = d->mode,
						       .messages = d->between,
						       .setups = d->plan.plan.ordered,
						       .text = why});
	light_controller_done(c, d->call);
	d->call = NULL;
}

void
light_controller_call_drop(struct light_controller *c, struct job *j, const char *why,
			   uint64_t now_ns)
{
	if (!j->now.call)
		return;
	if (!j->now.call->forecast) {
		light_controller_go_any(c, j, &j->now.call->call);
		c->count.calls_by_packets++;
	}
	end_call(c, j, LIGHT_EVENT_PACKETS, why, now_ns);
}

void
light_controller_call_over(struct light_controller *c, struct job *j, const struct light_count *n,
			   uint64_t now_ns)
{
	struct doing *d = &j->now;
	(void)c;
	if (!d->call || d->call->call.comm != n->comm || d->call->call.leader != n->leader ||
	    d->call->call.seq != n->seq || n->from >= d->comm->p)
		return;
	for (uint32_t i = d->first[n->from]; i < d->first[n->from + 1]; i++) {
		if (d->made.message[i].to != n->to || !(d->flag[i] & FLAG_BETWEEN) ||
		    (d->flag[i] & FLAG_OVER) || d->ordinal[i] > n->count)
			continue;
		d->flag[i] |= FLAG_OVER | FLAG_MAY;
		d->left--;
		circ_run_over(&d->plan.run, i);
		d->progress_ns = now_ns;
		d->changed = true;
	}
}

const char *
light_controller_go_check(const struct light_controller *c)
{
	for (uint32_t n = 0; n < c->cfg.jobs; n++) {
		const struct job *j = &c->job[n];
		const struct doing *d = &j->now;
		for (uint32_t i = 0; j->used && d->call && i < d->made.messages; i++) {
			uint32_t setup = d->plan.plan.by[i];
			bool lit = setup != CIRC_NONE && j->fabric.lit[setup];
			if (!(d->flag[i] & FLAG_BETWEEN) || (d->flag[i] & FLAG_MAY) || !lit)
				continue;
			if (!waits_behind_another(d, i))
				return "a message is held, and the first link of its pair is lit";
		}
	}
	return NULL;
}

void
light_controller_call_step(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	struct doing *d = &j->now;
	bool changed = circ_fabric_step(&j->fabric, now_ns);
	if (changed || d->changed) {
		d->progress_ns = now_ns;
		d->changed = false;
		go_all(c, j);
	}
	if (!d->left)
		end_call(c, j, LIGHT_EVENT_OVER, "", now_ns);
	else if (!d->call->forecast && now_ns - d->progress_ns >= d->stall_ns)
		light_controller_call_drop(c, j, "nothing has happened for long", now_ns);
}
