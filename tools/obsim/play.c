/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rank does what when: each goes through its steps until it waits, and events of all of them
 * are taken in the order of their time. */
#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME_S 1e-12
#define NONE   UINT32_MAX

enum event_kind { RANK_GOES, MESSAGE_OVER, LOOK };

struct event {
	double at_s;
	uint64_t order; /* among those of one time */
	enum event_kind kind;
	uint32_t what;
};

/* A call, or message, that somebody has come to. */
struct state {
	uint32_t came; /* how many; of a message SENDER, RECEIVER */
	bool known;    /* when it is over */
	bool held;     /* a message had no port when its lines were free */
	double over_s; /* of a message; before that, when it may begin */
	double look_s; /* of a message: there is an event then, to look at it */
	double *at_s;  /* [of its ranks] came, then over */
	uint32_t left; /* of its ranks, to wait for it yet */
};

enum { SENDER = 1, RECEIVER = 2 };

/* What a rank sends, or receives, now. */
struct line {
	uint32_t call; /* NONE: nothing */
	bool light;
	double lit_s, free_s;
};

struct player {
	struct replayer *p;
	const struct obs_trace *t;
	struct state *state; /* [calls] */
	size_t *at, *end;    /* [ranks] steps */
	double *now_s;	     /* [ranks] */
	uint32_t *waits_for; /* [ranks] a call, or NONE */
	struct line *out, *in;
	struct event *heap;
	size_t heaped, heap_room;
	uint64_t order;
	uint32_t *ready; /* messages that may begin but for their lines, in the order they came */
	uint32_t nready, ready_room, lit; /* lit: messages under way by light */
	double at_time_s;
	bool failed;
};

static bool
earlier_play(const struct event *a, const struct event *b)
{
	return a->at_s < b->at_s || (a->at_s <= b->at_s && a->order < b->order);
}

static void
push_play(struct player *g, double at_s, enum event_kind kind, uint32_t what)
{
	if (g->heaped == g->heap_room) {
		g->heap_room = g->heap_room ? 2 * g->heap_room : 256;
		g->heap = realloc(g->heap, g->heap_room * sizeof *g->heap);
		if (!g->heap)
			abort();
	}
	struct event e = {at_s, g->order++, kind, what};
	size_t i = g->heaped++;
	for (; i && earlier_play(&e, &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = e;
}

static struct event
pop_play(struct player *g)
{
	struct event top = g->heap[0], last = g->heap[--g->heaped];
	size_t i = 0;
	for (size_t c; (c = 2 * i + 1) < g->heaped; i = c) {
		if (c + 1 < g->heaped && earlier_play(&g->heap[c + 1], &g->heap[c]))
			c++;
		if (!earlier_play(&g->heap[c], &last))
			break;
		g->heap[i] = g->heap[c];
	}
	g->heap[i] = last;
	g->p->r->events++;
	return top;
}

/* Its place among those that make the call; NONE: it does not. */
static uint32_t
place_in_call(const struct player *g, const struct obs_trace_call *c, uint32_t rank)
{
	if (c->message)
		return rank == c->from ? 0 : rank == c->to ? 1 : NONE;
	const uint32_t *member = obs_callers(g->p, c);
	if (!member)
		return rank;
	for (uint32_t i = 0; i < c->members; i++)
		if (member[i] == rank)
			return i;
	return NONE;
}

static uint32_t
player_of(const struct player *g, const struct obs_trace_call *c, uint32_t place)
{
	if (c->message)
		return place ? c->to : c->from;
	return c->members ? g->t->member[c->first_member + place] : place;
}

static uint32_t
callers_play(const struct player *g, const struct obs_trace_call *c)
{
	return c->message ? 2 : obs_size(g->p, c);
}

static double
over_at(const struct state *s, const struct obs_trace_call *c, uint32_t place)
{
	return c->message ? s->over_s : s->at_s[place];
}

/* It is known when the call is over: who waits for it goes on then. */
static void
wake_play(struct player *g, uint32_t call)
{
	const struct obs_trace_call *c = &g->t->call[call];
	g->state[call].known = true;
	for (uint32_t i = 0; i < callers_play(g, c); i++) {
		uint32_t r = player_of(g, c, i);
		double over = over_at(&g->state[call], c, i);
		if (g->waits_for[r] != call)
			continue;
		g->waits_for[r] = NONE;
		push_play(g, over > g->now_s[r] ? over : g->now_s[r], RANK_GOES, r);
	}
}

/* ---- collectives ---- */

static void
come_to_collective(struct player *g, uint32_t call, uint32_t rank)
{
	const struct obs_trace_call *c = &g->t->call[call];
	struct state *s = &g->state[call];
	uint32_t n = obs_size(g->p, c), place = place_in_call(g, c, rank);
	if (!s->at_s)
		s->at_s = obs_take(n, sizeof *s->at_s);
	/* what is under way here comes before it */
	double in = g->now_s[rank];
	in = g->out[rank].free_s > in ? g->out[rank].free_s : in;
	s->at_s[place] = g->in[rank].free_s > in ? g->in[rank].free_s : in;
	if (++s->came < n)
		return;
	s->left = n;
	if (!obs_collective(g->p, c, s->at_s)) {
		g->failed = true;
		return;
	}
	wake_play(g, call);
	push_play(g, g->at_time_s, LOOK, 0);
}

/* ---- messages ---- */

static bool
is_eager(const struct player *g, const struct obs_trace_call *c)
{
	return !c->synchronous && (c->buffered || c->bytes <= g->p->s->eager);
}

static void
come_to_message(struct player *g, uint32_t call, uint32_t rank, bool sends)
{
	const struct obs_trace_call *c = &g->t->call[call];
	struct state *s = &g->state[call];
	uint32_t had = s->came, may = is_eager(g, c) ? SENDER : SENDER | RECEIVER;
	s->came |= sends ? SENDER : RECEIVER;
	if ((s->came & may) != may || (had & may) == may)
		return;
	/* to itself, no line is taken */
	s->over_s = g->now_s[rank];
	if (c->from == c->to) {
		s->over_s += g->p->s->costs.local_alpha_s +
			     (double)c->bytes * g->p->s->costs.local_beta_s_per_byte;
		wake_play(g, call);
		return;
	}
	if (g->nready == g->ready_room) {
		g->ready_room = g->ready_room ? 2 * g->ready_room : 256;
		g->ready = realloc(g->ready, g->ready_room * sizeof *g->ready);
		if (!g->ready)
			abort();
	}
	g->ready[g->nready++] = call;
}

/* Circuits in use at a rank, but for one to that peer. */
static uint32_t
circuits_at(const struct player *g, uint32_t rank, uint32_t but)
{
	uint32_t to = NONE, from = NONE;
	if (g->out[rank].call != NONE && g->out[rank].light)
		to = g->t->call[g->out[rank].call].to;
	if (g->in[rank].call != NONE && g->in[rank].light)
		from = g->t->call[g->in[rank].call].from;
	uint32_t sent = to != NONE && to != but;
	return sent + (from != NONE && from != but && from != to);
}

static bool
has_port(const struct player *g, uint32_t rank, uint32_t peer)
{
	uint32_t ports = g->p->ports[rank];
	return !ports || circuits_at(g, rank, peer) < ports;
}

/* The planner takes what was not used for long: not what is in use. */
static void
touch(struct player *g, uint32_t rank, const struct line *line, bool out)
{
	struct circ_slots *s = &g->p->slots;
	if (line->call == NONE || !line->light)
		return;
	const struct obs_trace_call *c = &g->t->call[line->call];
	uint32_t peer = out ? c->to : c->from;
	struct circ_slot *at = s->slot + (size_t)rank * s->stride;
	for (uint32_t i = 0; i < s->ports[rank]; i++)
		if (at[i].peer == peer) {
			at[i].used = ++s->clock;
			s->slot[(size_t)peer * s->stride + at[i].peer_slot].used = s->clock;
		}
}

/* The first of its circuits in use there is free, or 0: it has a port now. */
static double
port_free_s(const struct player *g, uint32_t rank, uint32_t peer)
{
	if (has_port(g, rank, peer))
		return 0;
	const struct line *out = &g->out[rank], *in = &g->in[rank];
	if (out->call == NONE || !out->light)
		return in->free_s;
	if (in->call == NONE || !in->light)
		return out->free_s;
	return out->free_s < in->free_s ? out->free_s : in->free_s;
}

/* There is no port for it now: is light sooner all the same? */
static bool
waits_for_port(const struct player *g, const struct obs_trace_call *c, double at_s)
{
	const struct circ_costs *k = &g->p->s->costs;
	double a = port_free_s(g, c->from, c->to), b = port_free_s(g, c->to, c->from);
	double n = (double)c->bytes, at = a > b ? a : b;
	return at > at_s && at + k->gamma_s + k->alpha_s + n * k->beta_s_per_byte <
				    at_s + k->packet_alpha_s + n * k->packet_beta_s_per_byte;
}

static bool
begin_message(struct player *g, uint32_t call, double at_s)
{
	const struct obs_trace_call *c = &g->t->call[call];
	struct state *s = &g->state[call];
	struct line *back = &g->out[c->to];
	bool light = has_port(g, c->from, c->to) && has_port(g, c->to, c->from) &&
		     (!g->p->s->lit_max || g->lit < g->p->s->lit_max);
	if (!light && g->p->s->strategy != OBS_PACKETS && waits_for_port(g, c, at_s))
		return false;
	for (int end = 0; end < 2; end++) {
		uint32_t r = end ? c->to : c->from;
		touch(g, r, &g->out[r], true);
		touch(g, r, &g->in[r], false);
	}
	struct obs_result r = obs_message(g->p, c, at_s, light);
	if (r.end_s < 0)
		return false;
	double lit_s = r.orders ? at_s + g->p->s->costs.gamma_s : at_s, over_s = r.end_s;
	/* the circuit of one that comes the other way is not lit yet */
	bool shared = back->call != NONE && back->light && g->t->call[back->call].to == c->from;
	if (shared && r.by_light && !r.orders && back->lit_s > lit_s) {
		over_s += back->lit_s - lit_s;
		lit_s = back->lit_s;
	}
	s->over_s = over_s + obs_extra_s(g->p);
	struct line used = {call, r.by_light > 0, lit_s, s->over_s};
	g->out[c->from] = g->in[c->to] = used;
	g->lit += used.light;
	push_play(g, s->over_s, MESSAGE_OVER, call);
	return true;
}

/* When its lines are free; NONE of them: -1. */
static double
may_begin_s(const struct player *g, uint32_t call)
{
	const struct obs_trace_call *c = &g->t->call[call];
	const struct line *out = &g->out[c->from], *in = &g->in[c->to];
	double at = g->state[call].over_s, left;
	if (out->call != NONE || in->call != NONE)
		return -1;
	at = g->state[call].held && g->at_time_s > at ? g->at_time_s : at;
	at = out->free_s > at ? out->free_s : at;
	at = in->free_s > at ? in->free_s : at;
	left = g->p->left_s[c->from];
	at = left > at ? left : at;
	left = g->p->left_s[c->to];
	return left > at ? left : at;
}

/* It may begin then: once is enough, however often it is looked at until then. */
static void
look_later(struct player *g, struct state *s, double at_s)
{
	if (at_s <= s->look_s && at_s >= s->look_s)
		return;
	s->look_s = at_s;
	push_play(g, at_s, LOOK, 0);
}

static void
replay_messages(struct player *g)
{
	uint32_t keep = 0;
	for (uint32_t i = 0; i < g->nready; i++) {
		uint32_t call = g->ready[i];
		double at = may_begin_s(g, call);
		if (at > g->at_time_s + SAME_S)
			look_later(g, &g->state[call], at);
		else if (at >= 0 && begin_message(g, call, at))
			continue;
		else if (at >= 0)
			g->state[call].held = true;
		g->ready[keep++] = call;
	}
	g->nready = keep;
}

static void
replay_message_over(struct player *g, uint32_t call)
{
	const struct obs_trace_call *c = &g->t->call[call];
	g->lit -= g->out[c->from].light;
	g->out[c->from].call = g->in[c->to].call = NONE;
	wake_play(g, call);
}

/* ---- ranks ---- */

/* A rank's next step, or NULL. */
static const struct obs_step *
step_of(struct player *g, uint32_t rank)
{
	for (; g->at[rank] < g->end[rank]; g->at[rank]++) {
		const struct obs_step *s = &g->t->step[g->at[rank]];
		if (s->rank == rank)
			return s;
		if (s->rank == OBS_EVERY && (s->kind == OBS_COMPUTE ||
					     place_in_call(g, &g->t->call[s->call], rank) != NONE))
			return s;
	}
	return NULL;
}

static void
come_to_call(struct player *g, uint32_t call, uint32_t rank)
{
	const struct obs_trace_call *c = &g->t->call[call];
	if (!c->message) {
		come_to_collective(g, call, rank);
		return;
	}
	if (rank == c->from && !(c->from == c->to && g->state[call].came & SENDER))
		come_to_message(g, call, rank, true);
	else
		come_to_message(g, call, rank, false);
}

/* False: it waits. */
static bool
wait_for_call(struct player *g, uint32_t call, uint32_t rank, bool last)
{
	const struct obs_trace_call *c = &g->t->call[call];
	struct state *s = &g->state[call];
	if (!s->known) {
		g->waits_for[rank] = call;
		return false;
	}
	double over = s->at_s || c->message ? over_at(s, c, place_in_call(g, c, rank)) : 0;
	if (last && !c->message && s->left && --s->left == 0) {
		free(s->at_s);
		s->at_s = NULL;
	}
	if (over > g->now_s[rank])
		g->now_s[rank] = over;
	return true;
}

/* On to where it waits, or to a later time. */
static void
rank_goes(struct player *g, uint32_t rank)
{
	const struct obs_step *s;
	while (!g->failed && (s = step_of(g, rank)) != NULL) {
		double was = g->now_s[rank];
		bool blocking = false;
		if (s->kind == OBS_COMPUTE) {
			g->now_s[rank] += s->s;
			g->p->computed_s[rank] += s->s;
		} else if (s->kind == OBS_WAIT) {
			if (!wait_for_call(g, s->call, rank, true))
				return;
		} else {
			come_to_call(g, s->call, rank);
			const struct obs_trace_call *c = &g->t->call[s->call];
			blocking = c->start && g->p->s->blocking;
		}
		g->at[rank]++;
		if (blocking && !wait_for_call(g, s->call, rank, false))
			return;
		if (g->now_s[rank] > was) {
			push_play(g, g->now_s[rank], RANK_GOES, rank);
			return;
		}
	}
}

static void
happen_play(struct player *g, struct event e)
{
	switch (e.kind) {
	case RANK_GOES:
		if (g->now_s[e.what] < e.at_s)
			g->now_s[e.what] = e.at_s;
		rank_goes(g, e.what);
		break;
	case MESSAGE_OVER:
		replay_message_over(g, e.what);
		break;
	case LOOK:
		break;
	}
}

/* Nothing happens any more: have all come to their ends? */
static bool
replay_is_over(struct player *g)
{
	for (uint32_t r = 0; r < g->t->ranks; r++) {
		uint32_t call = g->waits_for[r];
		if (call == NONE)
			continue;
		const struct obs_trace_call *c = &g->t->call[call];
		char *why = g->p->r->why;
		size_t room = sizeof g->p->r->why;
		if (c->message)
			snprintf(why, room,
				 "rank %u waits for ever for a message of %llu bytes from rank %u "
				 "to %u: "
				 "--eager %llu lets it go before both have come to it",
				 r, (unsigned long long)c->bytes, c->from, c->to,
				 (unsigned long long)c->bytes);
		else
			snprintf(why, room,
				 "rank %u waits for ever for a %s to which %u of %u come", r,
				 coll_op_name(c->op), g->state[call].came, callers_play(g, c));
		return false;
	}
	return true;
}

static void
sum_up(struct player *g)
{
	struct obs_report *r = g->p->r;
	for (uint32_t i = 0; i < g->t->ranks; i++) {
		/* also what nobody has waited for comes to its end */
		const double ends[] = {g->now_s[i], g->p->left_s[i], g->in[i].free_s};
		for (int k = 0; k < 3; k++)
			r->total_s = ends[k] > r->total_s ? ends[k] : r->total_s;
		if (g->p->computed_s[i] > r->compute_s)
			r->compute_s = g->p->computed_s[i];
	}
}

static void
replay_events(struct player *g)
{
	for (uint32_t r = 0; r < g->t->ranks; r++) {
		g->at[r] = g->t->first ? g->t->first[r] : 0;
		g->end[r] = g->t->first ? g->t->first[r + 1] : g->t->steps;
		g->waits_for[r] = g->out[r].call = g->in[r].call = NONE;
		push_play(g, 0, RANK_GOES, r);
	}
	while (g->heaped && !g->failed) {
		struct event e = pop_play(g);
		g->at_time_s = e.at_s;
		happen_play(g, e);
		while (g->heaped && !g->failed && g->heap[0].at_s <= g->at_time_s + SAME_S)
			happen_play(g, pop_play(g));
		replay_messages(g);
	}
}

bool
obs_play(struct replayer *p)
{
	uint32_t n = p->t->ranks;
	struct player g = {.p = p, .t = p->t};
	g.state = obs_take(p->t->calls, sizeof *g.state);
	g.at = obs_take(n, sizeof *g.at);
	g.end = obs_take(n, sizeof *g.end);
	g.now_s = obs_take(n, sizeof *g.now_s);
	g.waits_for = obs_take(n, sizeof *g.waits_for);
	g.out = obs_take(n, sizeof *g.out);
	g.in = obs_take(n, sizeof *g.in);
	replay_events(&g);
	bool ok = !g.failed && replay_is_over(&g);
	if (ok)
		sum_up(&g);
	for (uint32_t i = 0; i < p->t->calls; i++)
		free(g.state[i].at_s);
	free(g.state);
	free(g.at);
	free(g.end);
	free(g.now_s);
	free(g.waits_for);
	free(g.out);
	free(g.in);
	free(g.heap);
	free(g.ready);
	return ok;
}
