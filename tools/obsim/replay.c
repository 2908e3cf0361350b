/* SPDX-License-Identifier: BSD-2-Clause */
#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
	struct obs_args args;
	uint64_t light_from;
	bool afresh;	/* pipelined: what is lit is let go */
	uint32_t links; /* of two nodes, at most */
	int ahead; /* order in which the next call is expected: -1 not looked at, 0, 1 reversed */
};

/* Of one algorithm: two orders, three points from which on light is taken, with what is lit or
 * without, three ways to look ahead, three numbers of links. */
#define VARIANTS       108
#define ALGORITHMS_MAX 256 /* each torus and number of segments counted */
#define CANDIDATES_MAX (VARIANTS * ALGORITHMS_MAX)
#define TORUS_DIMS     4
#define SEGMENTS_MAX   256u

/* What [OC] takes for the operation, and for the rest what is nearest. */
static const char *
customary(enum coll_op op, uint32_t p)
{
	bool power = !(p & (p - 1));
	switch (op) {
	case COLL_BARRIER:
	case COLL_ALLREDUCE:
	case COLL_ALLGATHER:
		return "recursive_doubling";
	case COLL_BCAST:
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_SCATTER:
		return "binomial";
	case COLL_ALLTOALL:
		return power ? "recursive_doubling" : "pairs";
	default:
		return NULL;
	}
}

/* What keeps to the circuits of one fixed graph, and hops. */
static const struct {
	enum coll_op op;
	const char *name;
} on_graph[] = {
	{COLL_BCAST, "graph"},	  {COLL_REDUCE, "graph"},   {COLL_ALLREDUCE, "graph"},
	{COLL_ALLREDUCE, "ring"}, {COLL_ALLGATHER, "ring"}, {COLL_ALLTOALL, "ring"},
};

static bool
has_torus(const char *name)
{
	return strncmp(name, "torus", 5) == 0;
}

static bool
has_orders(const struct candidate *c)
{
	const char *name = c->args.algorithm;
	return !name || (!has_torus(name) && strcmp(name, "pipeline") != 0);
}

static uint32_t
replay_orders(const struct replayer *p, struct candidate *c, uint32_t n)
{
	uint32_t m = n;
	/* Ranks do not see what others have lit but by the plan they share: all reverse or none. */
	if (p->s->strategy < OBS_CACHED || p->s->strategy == OBS_PACKETS)
		return n;
	for (uint32_t i = 0; i < n; i++)
		if (has_orders(&c[i])) {
			c[m] = c[i];
			c[m++].args.reversed = true;
		}
	return m;
}

struct algorithms {
	struct candidate *c;
	uint32_t n;
};

static struct candidate *
add_algorithm(struct algorithms *l, const struct obs_args *a, const char *name)
{
	if (l->n == ALGORITHMS_MAX)
		return NULL;
	struct candidate *c = &l->c[l->n++];
	*c = (struct candidate){.args = *a, .ahead = -1};
	c->args.algorithm = name;
	return c;
}

/* Whole, and cut in 2, 4, ... segments. */
static void
add_segments(struct algorithms *l, const struct obs_args *a, const char *name, uint64_t dims)
{
	for (uint32_t m = 1; m <= SEGMENTS_MAX && (m == 1 || m <= a->bytes); m *= 2) {
		struct candidate *c = add_algorithm(l, a, name);
		if (!c)
			return;
		c->args.dims = dims;
		c->args.segment = a->bytes ? (a->bytes + m - 1) / m : 0;
		if (a->op != COLL_BCAST ||
		    dims >> 16) /* a root of many neighbours feeds them in turn */
			return;
	}
}

/* Every torus of `left` processes more, behind the dimensions that are told. */
static void
add_tori(struct algorithms *l, const struct obs_args *a, const char *name, uint64_t dims,
	 uint32_t n, uint32_t left)
{
	for (uint32_t d = 2; left > 1 && n < TORUS_DIMS && d <= left && d < 256; d++)
		if (left % d == 0)
			add_tori(l, a, name, dims | (uint64_t)d << 8 * n, n + 1, left / d);
	if (left == 1)
		add_segments(l, a, name, dims);
}

static uint32_t
algorithms(const struct replayer *p, const struct obs_args *a, bool open, struct candidate *c)
{
	size_t count;
	const struct coll_algorithm *alg = coll_algorithms(&count);
	struct algorithms l = {c, 0};
	if (p->s->strategy != OBS_BEST || a->algorithm) {
		add_algorithm(&l, a, a->algorithm);
		bool hops = p->s->strategy == OBS_STATIC && open;
		for (size_t i = 0; hops && i < sizeof on_graph / sizeof on_graph[0]; i++)
			if (on_graph[i].op == a->op)
				add_algorithm(&l, a, on_graph[i].name);
		return l.n;
	}
	for (size_t i = 0; i < count; i++) {
		if (alg[i].op != a->op || !strcmp(alg[i].name, "inter") ||
		    !strcmp(alg[i].name, "impi") || !strcmp(alg[i].name, "hier"))
			continue;
		if (has_torus(alg[i].name))
			add_tori(&l, a, alg[i].name, 0, 0, a->p);
		else if (!strcmp(alg[i].name, "pipeline"))
			add_segments(&l, a, alg[i].name, 0);
		else
			add_algorithm(&l, a, alg[i].name);
	}
	return l.n;
}

static bool
keeps(enum obs_strategy m)
{
	return m == OBS_CACHED || m == OBS_HYBRID || m == OBS_BEST;
}

/* One link, two, or as many as there may be. */
static uint32_t
replay_links(const struct replayer *p, struct candidate *c, uint32_t n)
{
	uint32_t most = p->s->links ? p->s->links : 1, m = n;
	bool all = p->s->strategy == OBS_IDEAL || p->s->strategy == OBS_BATCHED;
	for (uint32_t i = 0; i < n; i++)
		c[i].links = all ? most : 1;
	if (all || p->s->strategy == OBS_NAIVE || p->s->strategy == OBS_PACKETS)
		return n;
	for (uint32_t w = 2; w <= most; w = w < most ? most : w + 1)
		for (uint32_t i = 0; i < n; i++) {
			c[m] = c[i];
			c[m++].links = w;
		}
	return m;
}

static uint32_t
candidates(const struct replayer *p, const struct obs_args *a, bool open, bool has_next,
	   struct candidate *c)
{
	uint32_t n = replay_orders(p, c, algorithms(p, a, open, c)), m = n;
	bool packets = p->s->strategy == OBS_HYBRID || p->s->strategy == OBS_BEST;
	if (p->s->strategy == OBS_PACKETS)
		c[0].light_from = UINT64_MAX;
	uint64_t from = circ_switch_point(&p->s->costs);
	for (uint32_t i = 0; packets && i < n; i++) {
		if (from != 0 && from != UINT64_MAX) {
			c[m] = c[i];
			c[m++].light_from = from;
		}
		c[m] = c[i];
		c[m++].light_from = UINT64_MAX;
	}
	/* A circuit that waits for its message takes a port from those before it. */
	for (uint32_t i = 0; keeps(p->s->strategy) && i < n; i++) {
		c[m] = c[i];
		c[m++].afresh = true;
	}
	n = m;
	for (uint32_t i = 0; p->s->foresight && has_next && i < n; i++)
		for (int order = 0; order < 2; order++) {
			c[m] = c[i];
			c[m++].ahead = order;
		}
	return replay_links(p, c, m);
}

static enum circ_mode
plan_mode(enum obs_strategy s)
{
	static const enum circ_mode mode[] = {
#define X(n, mode, text, t) CIRC_MODE_##mode,
		OBS_STRATEGIES(X)
#undef X
	};
	return mode[s];
}

/* Who makes the call: the ranks, by its own; NULL: all, as they are. */
const uint32_t *
obs_callers(const struct replayer *p, const struct obs_trace_call *s)
{
	return s->members ? p->t->member + s->first_member : NULL;
}

uint32_t
obs_size(const struct replayer *p, const struct obs_trace_call *s)
{
	return s->members ? s->members : p->t->ranks;
}

static struct obs_args
args_of(const struct replayer *p, const struct obs_trace_call *s)
{
	struct obs_args a = {.op = s->op,
			     .algorithm = customary(s->op, obs_size(p, s)),
			     .bytes = s->bytes,
			     .p = obs_size(p, s),
			     .root = s->root,
			     .degree = p->s->k,
			     .rules = p->s->rules};
	if (p->s->strategy == OBS_BEST || p->s->rules)
		a.algorithm = NULL;
	if (*s->algorithm)
		a.algorithm = s->algorithm;
	return a;
}

static struct obs_result
attempt(struct replayer *p, const struct candidate *c, const uint32_t *node_of,
	const struct obs_trace_call *next)
{
	struct obs_call call, behind = {0};
	struct obs_result r = {.end_s = -1};
	struct circ_costs costs = p->s->costs;
	if (obs_call_make(&call, &c->args, node_of) != 0)
		return r;
	struct circ_call_mode m = {.mode = c->afresh ? CIRC_MODE_PIPELINED
						     : plan_mode(p->s->strategy),
				   .light_from = c->light_from,
				   .links = c->links};
	if (c->ahead >= 0) {
		struct obs_args a = args_of(p, next);
		a.reversed = c->ahead;
		if (obs_call_make(&behind, &a, obs_callers(p, next)) == 0) {
			m.ahead = behind.demand;
			m.aheads = behind.messages;
		}
	}
	if (p->s->strategy == OBS_IDEAL)
		costs.gamma_s = 0;
	struct circ_slots slots = p->slots;
	slots.slot = p->spare;
	memcpy(p->spare, p->slots.slot, (size_t)slots.nodes * slots.stride * sizeof *p->spare);
	struct obs_when w = {
		.announce_s = p->announce_s, .start_s = p->begin_s, .finish_s = p->try_s};
	r = obs_call_run(&call, &m, &slots, &costs, node_of, &w);
	p->slots.clock = slots.clock;
	obs_call_free(&behind);
	obs_call_free(&call);
	return r;
}

static void
keep_replay_best(struct replayer *p)
{
	struct circ_slot *slot = p->best;
	double *s = p->best_s;
	p->best = p->spare;
	p->spare = slot;
	p->best_s = p->try_s;
	p->try_s = s;
}

static bool
replay_better(const struct obs_result *a, const struct obs_result *b)
{
	if (a->end_s < 0 || b->end_s < 0)
		return a->end_s >= 0;
	if (a->end_s < b->end_s - 1e-9 || a->end_s > b->end_s + 1e-9)
		return a->end_s < b->end_s;
	return a->orders < b->orders;
}

/* "torus 8x8 / 4": its dimensions, and segments. */
static void
say_algorithm(const struct obs_args *a, char *out, size_t room)
{
	size_t at = (size_t)snprintf(out, room, "%s", a->algorithm ? a->algorithm : "chosen");
	for (uint64_t d = a->dims; d && at < room; d >>= 8)
		at += (size_t)snprintf(out + at, room - at, "%c%u", d == a->dims ? ' ' : 'x',
				       (unsigned)(d & 0xff));
	if (a->segment && a->segment < a->bytes && at < room)
		snprintf(out + at, room - at, " / %llu",
			 (unsigned long long)((a->bytes + a->segment - 1) / a->segment));
}

/* What the best attempt has lit is lit. */
static void
keep_lit(struct replayer *p, const struct obs_result *r)
{
	struct circ_slot *slot = p->slots.slot;
	p->slots.slot = p->best;
	p->best = slot;
	p->r->orders += r->orders;
	p->r->hits += r->hits;
	p->r->by_light += r->by_light;
	p->r->packets += r->packets;
}

double
obs_extra_s(const struct replayer *p)
{
	return p->s->paper && p->s->strategy != OBS_IDEAL ? p->s->costs.gamma_s : 0;
}

static void
try_all(struct replayer *p, const struct obs_trace_call *s, struct obs_call_line *line)
{
	static struct candidate c[CANDIDATES_MAX];
	const struct obs_trace_call *next = s->next == OBS_NO_CALL ? NULL : &p->t->call[s->next];
	struct obs_args a = args_of(p, s);
	uint32_t n = candidates(p, &a, !*s->algorithm && !p->s->rules, next != NULL, c), won = 0;
	line->r.end_s = -1;
	for (uint32_t i = 0; i < n; i++) {
		struct obs_result r = attempt(p, &c[i], obs_callers(p, s), next);
		if (replay_better(&r, &line->r)) {
			line->r = r;
			won = i;
			keep_replay_best(p);
		}
	}
	line->reversed = c[won].args.reversed;
	say_algorithm(&c[won].args, line->algorithm, sizeof line->algorithm);
}

bool
obs_collective(struct replayer *p, const struct obs_trace_call *s, double at_s[])
{
	struct obs_call_line *line = &p->r->line[p->r->calls + p->r->messages];
	const uint32_t *member = obs_callers(p, s);
	uint32_t n = obs_size(p, s);
	double in = 0, extra = obs_extra_s(p);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t r = member ? member[i] : i;
		p->begin_s[i] = at_s[i] > p->left_s[r] ? at_s[i] : p->left_s[r];
		p->announce_s[r] = p->s->foresight ? p->left_s[r] : p->begin_s[i];
		in = p->begin_s[i] > in ? p->begin_s[i] : in;
	}
	*line = (struct obs_call_line){.op = s->op,
				       .start = s->start && !p->s->blocking,
				       .bytes = s->bytes,
				       .start_s = in};
	try_all(p, s, line);
	if (line->r.end_s < 0) {
		snprintf(p->r->why, sizeof p->r->why, "%s of %u ranks does not come to its end",
			 coll_op_name(s->op), n);
		return false;
	}
	line->took_s = line->r.end_s + extra - in;
	p->r->calls++;
	keep_lit(p, &line->r);
	for (uint32_t i = 0; i < n; i++)
		at_s[i] = p->left_s[member ? member[i] : i] = p->best_s[i] + extra;
	return true;
}

bool
obs_has_packets(const struct replayer *p)
{
	return p->s->strategy == OBS_HYBRID || p->s->strategy == OBS_BEST ||
	       p->s->strategy == OBS_PACKETS;
}

/* A broadcast of two, by light or by packets, whichever is over first. */
struct obs_result
obs_message(struct replayer *p, const struct obs_trace_call *s, double at_s, bool light)
{
	struct candidate c = {.args = {.op = COLL_BCAST,
				       .algorithm = "linear",
				       .bytes = s->bytes,
				       .p = 2,
				       .degree = p->s->k},
			      .ahead = -1};
	const uint32_t ends[2] = {s->from, s->to};
	struct obs_result best = {.end_s = -1};
	p->begin_s[0] = p->begin_s[1] = at_s;
	p->announce_s[s->from] = p->announce_s[s->to] = at_s;
	for (int packets = 0; packets < 2; packets++) {
		if (packets ? !obs_has_packets(p) : !light || p->s->strategy == OBS_PACKETS)
			continue;
		c.light_from = packets ? UINT64_MAX : 0;
		struct obs_result r = attempt(p, &c, ends, NULL);
		if (replay_better(&r, &best)) {
			best = r;
			keep_replay_best(p);
		}
	}
	if (best.end_s < 0)
		return best;
	struct obs_call_line *line = &p->r->line[p->r->calls + p->r->messages++];
	*line = (struct obs_call_line){.op = COLL_BCAST,
				       .message = true,
				       .from = s->from,
				       .to = s->to,
				       .bytes = s->bytes,
				       .start_s = at_s,
				       .took_s = best.end_s + obs_extra_s(p) - at_s,
				       .r = best};
	keep_lit(p, &best);
	return best;
}

bool
obs_replay(const struct obs_trace *t, const struct obs_setting *s, struct obs_report *r)
{
	uint32_t stride = s->k, n = t->ranks;
	for (uint32_t i = 0; s->ports && i < n; i++)
		stride = s->ports[i] > stride ? s->ports[i] : stride;
	size_t slots = (size_t)n * stride;
	*r = (struct obs_report){.line = obs_take(t->calls, sizeof *r->line)};
	struct replayer p = {.t = t, .s = s, .r = r};
	p.ports = obs_take(n, sizeof *p.ports);
	for (uint32_t i = 0; i < n; i++)
		p.ports[i] = s->ports ? s->ports[i] : s->k;
	p.slots = (struct circ_slots){.nodes = n,
				      .stride = stride,
				      .ports = p.ports,
				      .slot = obs_take(slots, sizeof(struct circ_slot)),
				      .lit_max = s->lit_max};
	p.spare = obs_take(slots, sizeof *p.spare);
	p.best = obs_take(slots, sizeof *p.best);
	circ_slots_clear(&p.slots);
	double *times = obs_take(6 * (size_t)(n + 1), sizeof *times);
	p.announce_s = times;
	p.begin_s = times + n + 1;
	p.left_s = times + 2 * (n + 1);
	p.try_s = times + 3 * (n + 1);
	p.best_s = times + 4 * (n + 1);
	p.computed_s = times + 5 * (n + 1);
	bool ok = obs_play(&p);
	free(p.ports);
	free(p.slots.slot);
	free(p.spare);
	free(p.best);
	free(times);
	return ok;
}

void
obs_report_free(struct obs_report *r)
{
	free(r->line);
	r->line = NULL;
}
