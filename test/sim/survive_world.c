/* SPDX-License-Identifier: BSD-2-Clause */
/* A job over relays that survives deaths: what its processes do, and what is done to it. */
#include "adversary.h"
#include "draw.h"
#include "member.h"
#include "survive.h"

#include "base/assert.h"
#include "relayproto/note.h"
#include "relayset/relayset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS	     2u
#define CID	     20u /* and the round */
#define REVOKED	     9u
#define LEN_MAX	     20000u
#define DETECT_NS    BASE_S_NS
#define PARTITION_NS (5 * BASE_S_NS)
/* Until everybody is told: a trunk that never came up has 10 s. */
#define TOLD_NS	    (30 * BASE_S_NS)
#define COMPLETE_NS (120 * BASE_S_NS)
#define FORGET_NS   (30 * BASE_S_NS)
#define LOOK_NS	    (5 * BASE_MS_NS)

struct survivor;

/* One message. */
struct trade {
	struct lmpi_req req; /* first */
	struct survivor *of;
	uint32_t peer;
	bool receives;
	uint8_t *bytes;
};

enum state { AGREES, TRADES, LINGERS, DRAINS, MEETS, DRAINS_AGAIN, LEAVES, GONE };

struct survivor {
	struct enode *n;
	enum state state;
	enum survive_phase phase;
	uint32_t round, open; /* trades that are not done */
	uint64_t since_ns;    /* it lingers */
	struct trade trade[2][ENODES_MAX];
};

struct crew {
	struct members members; /* first */
	struct survivor survivor[ENODES_MAX];
	struct survive_conf conf;
	struct survive_events *events;
	struct survive_counts *counts;
	struct adversary *adversary;
	struct base_prng prng;
	uint32_t revoker;
	uint64_t late_ns; /* the launcher tells of a death within this time */
	uint64_t deaf_ns; /* short datagrams get lost until then */
};

static struct crew *
crew_of(const struct enode *n)
{
	return (struct crew *)(void *)n->all;
}

static struct survivor *
survivor_of(const struct enode *n)
{
	return &crew_of(n)->survivor[n->end->rank];
}

/* ---- messages ---- */

static uint32_t
trade_len(uint32_t from, uint32_t to, uint32_t round)
{
	return (from + 2 * to + round) % 3 == 0 ? LEN_MAX : 50 + 10 * from + to;
}

static uint8_t
trade_byte(uint32_t from, uint32_t to, uint32_t round)
{
	return (uint8_t)(1 + from * 31 + to * 7 + round * 3);
}

static void
check_trade(const struct trade *t)
{
	const struct enode *n = t->of->n;
	struct sim *s = n->end->w->s;
	uint32_t me = n->end->rank, len = trade_len(t->peer, me, t->of->round);
	uint8_t want = trade_byte(t->peer, me, t->of->round);

	INVARIANT(s, MATCH, !t->req.error || enode_may_miss(n, t->peer),
		  "rank %u: a message %s rank %u, which is alive, ends with 0x%x", me,
		  t->receives ? "from" : "to", t->peer, (unsigned)t->req.error);
	INVARIANT(s, MATCH, !t->req.error || t->req.error == LMPI_ERR_PROC_FAILED,
		  "rank %u: a message ends with 0x%x", me, (unsigned)t->req.error);
	if (t->req.error || !t->receives)
		return;
	INVARIANT(s, MATCH, t->req.bytes == len, "rank %u: %llu bytes of rank %u instead of %u", me,
		  (unsigned long long)t->req.bytes, t->peer, len);
	for (uint32_t i = 0; i < len && !s->failed; i++)
		INVARIANT(s, MATCH, t->bytes[i] == want, "rank %u: byte %u of rank %u is wrong", me,
			  i, t->peer);
}

static void
enter_agreement(struct survivor *v, enum survive_phase phase)
{
	v->state = AGREES;
	v->phase = phase;
	member_agree(v->n);
}

static void
close_trade(struct lmpi_req *req)
{
	struct trade *t = (struct trade *)(void *)req;
	struct survivor *v = t->of;

	if (!v->n->all->over)
		check_trade(t);
	free(t->bytes);
	t->bytes = NULL;
	if (--v->open || v->n->all->over)
		return;
	v->round++;
	enter_agreement(v, SURVIVE_AGREE);
}

static void
open_trade(struct survivor *v, uint32_t peer, bool receives)
{
	struct trade *t = &v->trade[receives][peer];
	uint32_t me = v->n->end->rank, len = receives ? LEN_MAX : trade_len(me, peer, v->round);

	*t = (struct trade){.of = v, .peer = peer, .receives = receives};
	t->req.on_done = close_trade;
	t->bytes = malloc(len);
	BASE_ASSERT(t->bytes);
	memset(t->bytes, receives ? 0 : trade_byte(me, peer, v->round), len);
	if (receives)
		lmpi_engine_irecv(&v->n->e, &t->req, t->bytes, len, (int)peer, 0, CID + v->round);
	else
		lmpi_engine_isend(&v->n->e, &t->req, t->bytes, len, peer, (int)me, 0,
				  CID + v->round, LMPI_STANDARD);
}

static void
begin_round(struct survivor *v)
{
	uint32_t size = v->n->e.size;

	v->state = TRADES;
	v->phase = SURVIVE_RUN;
	v->open = 2 * (size - 1);
	for (uint32_t i = 1; i < size; i++) {
		uint32_t peer = (v->n->end->rank + i) % size;
		open_trade(v, peer, true);
		open_trade(v, peer, false);
	}
}

/* ---- being told ---- */

static bool
has_relay(const struct world *w, uint32_t client)
{
	for (uint32_t i = 0; i < w->nrelay; i++)
		if (w->relay[i].client == client && w->relay[i].alive && w->relay[i].has_job)
			return true;
	return false;
}

/* It knows of all the dead, and has heard it from a relay. */
static bool
knows_the_dead(const struct survivor *v)
{
	const struct enode *n = v->n;
	uint32_t dead = n->all->dead;

	if (dead & ~member_of(n)->knows)
		return false;
	return !has_relay(n->end->w, n->end->client) ||
	       !(dead & ~n->all->apart[n->end->rank] & ~(uint32_t)n->end->told);
}

static void
look_for_news(struct sim *s, void *who, uint64_t arg)
{
	struct survivor *v = who;
	const struct crew *c = crew_of(v->n);

	if (!v->n->end->alive || v->state != LINGERS)
		return;
	if (!knows_the_dead(v)) {
		INVARIANT(s, TOLD, s->now_ns - v->since_ns < TOLD_NS,
			  "rank %u knows of 0x%x, was told of 0x%llx; dead are 0x%x",
			  v->n->end->rank, member_of(v->n)->knows,
			  (unsigned long long)v->n->end->told, c->members.nodes.dead);
		sim_at(s, s->now_ns + LOOK_NS, look_for_news, v, arg);
		return;
	}
	v->n->all->current = v->n;
	enter_agreement(v, SURVIVE_END);
	end_drive(v->n->end);
}

static void
linger(struct survivor *v)
{
	struct sim *s = v->n->end->w->s;

	v->state = LINGERS;
	v->phase = SURVIVE_RUN;
	v->since_ns = s->now_ns;
	sim_at(s, s->now_ns, look_for_news, v, 0);
}

/* ---- agreements, the end ---- */

static void
after_agreement(struct enode *n, uint32_t k)
{
	struct survivor *v = survivor_of(n);

	if (k == 1 && n->end->rank == crew_of(n)->revoker)
		member_revoke(n, REVOKED);
	if (k < ROUNDS)
		begin_round(v);
	else if (k == ROUNDS)
		linger(v);
	else
		v->state = DRAINS;
}

static void
after_meeting(struct enode *n)
{
	survivor_of(n)->state = DRAINS_AGAIN;
}

static void
go(struct sim *s, void *who, uint64_t arg)
{
	struct survivor *v = who;

	(void)s, (void)arg;
	end_kill(v->n->end);
}

static bool
has_drained(const struct enode *n)
{
	struct end *e = n->end;

	suci_lanes_flush(e->lanes, enode_now(n));
	suci_flush_acks(e->ep);
	return n->e.sends == 0 && n->e.outs == 0 && n->e.cancels == 0 &&
	       suci_lanes_pending(e->lanes) == 0 && suci_held(e->ep) == 0;
}

/* As lmpi_engine_fini(). */
static void
finalize_turn(struct enode *n)
{
	struct survivor *v = survivor_of(n);
	const struct world *w = n->end->w;
	uint32_t client = n->end->client;

	if (v->state == DRAINS && has_drained(n)) {
		v->state = MEETS;
		member_meet(n, w->first_rank[client], w->conf.cluster[client].ranks);
	}
	if (v->state == DRAINS_AGAIN && has_drained(n)) {
		v->state = LEAVES;
		/* It is no fault any more to take it for dead. */
		n->all->left |= 1u << n->end->rank;
		end_leave(n->end);
	}
}

/* ---- deaths ---- */

static void
die_here(struct crew *c, uint32_t rank)
{
	struct enodes *all = &c->members.nodes;
	struct world *w = all->w;

	if (!w->end[rank].alive)
		return;
	/* Who has begun to leave is missed by nobody. */
	all->dead |= (1u << rank) & ~all->left;
	end_kill(&w->end[rank]);
	c->counts->died++;
}

static void
launcher_tells(struct crew *c, uint32_t rank)
{
	struct world *w = c->members.nodes.w;

	for (uint32_t r = 0; r < w->nend && !c->conf.silent_launcher; r++)
		if (w->end[r].alive && world_same_cluster(w, r, rank))
			enode_hear(&c->members.nodes.node[r], rank,
				   base_prng_below(&c->prng, 1 + c->late_ns));
}

/* No way leads from that cluster to others any more, nor from them to it. */
static void
part_cluster(struct crew *c, uint32_t client)
{
	struct enodes *all = &c->members.nodes;
	uint32_t in = 0, every = (1u << all->w->nend) - 1;

	for (uint32_t r = 0; r < all->w->nend; r++)
		if (all->w->end[r].client == client)
			in |= 1u << r;
	for (uint32_t r = 0; r < all->w->nend; r++)
		all->apart[r] |= in >> r & 1 ? every & ~in : in;
}

/* The processes of a cluster have all been in the job together: start-up is over for them. */
static bool
has_begun(const struct crew *c, uint32_t client)
{
	const struct world *w = c->members.nodes.w;

	for (uint32_t r = 0; r < w->nend; r++)
		if (w->end[r].client == client && w->end[r].alive && !c->members.member[r].ended)
			return false;
	return true;
}

/* Some relays are named by nobody until one that is has told of them; without it no others are
 * known. */
static bool
are_all_known(const struct crew *c)
{
	bool all = c->conf.two_by_two; /* all are named there */

	for (uint32_t i = 0; !all && i < c->members.nodes.w->conf.nclusters; i++)
		if (!has_begun(c, i))
			return false;
	return true;
}

static void
die_relay(struct crew *c, struct rnode *r, uint64_t gone_ns)
{
	if (!r->alive)
		return;
	if (r->has_job && !rnode_is_spare(r)) {
		if (!has_begun(c, r->client))
			return;
		part_cluster(c, r->client);
		gone_ns = 0;
	}
	c->counts->relays_died++;
	if (gone_ns)
		rnode_kill_for(r, gone_ns);
	else
		rnode_kill(r);
}

/* Somebody of its cluster gets to tell the relays that the job survives it, and its launcher sees
 * it die, if no relay can have met it. */
static bool
may_die(const struct crew *c, uint32_t rank)
{
	const struct world *w = c->members.nodes.w;
	bool may = c->members.member[rank].ended;

	for (uint32_t r = 0; !c->conf.silent_launcher && r < w->nend; r++)
		may |= r != rank && w->end[r].alive && world_same_cluster(w, r, rank);
	return may;
}

static uint32_t
client_of_node(const struct world *w, uint32_t node)
{
	return node < w->nend ? w->end[node].client : w->relay[node - w->nend].client;
}

static void
strike_node(struct sim *s, void *who, uint64_t i)
{
	struct crew *c = who;
	struct world *w = c->members.nodes.w;
	const struct kill *k = &c->conf.kill[i];
	uint32_t client = client_of_node(w, k->node);

	if (c->members.nodes.over)
		return;
	c->deaf_ns = s->now_ns + 50 * BASE_MS_NS;
	if (k->what == KILL_NODE && k->node < w->nend && !may_die(c, k->node))
		return;
	if (k->what == KILL_NODE && k->node < w->nend) {
		die_here(c, k->node);
		launcher_tells(c, k->node);
		return;
	}
	if (k->what != KILL_CLUSTER && !are_all_known(c))
		return;
	if (k->what == KILL_NODE) {
		die_relay(c, &w->relay[k->node - w->nend], k->gone_ns);
		return;
	}
	for (uint32_t r = 0; k->what == KILL_CLUSTER && r < w->nend; r++)
		if (w->end[r].client == client)
			die_here(c, r);
	for (uint32_t r = 0; r < w->nrelay; r++)
		if (w->relay[r].client == client)
			die_relay(c, &w->relay[r], 0);
}

static void
note_event_of(struct world *w, uint32_t node)
{
	struct crew *c = w->scenario;
	uint64_t at = node < w->nend ? w->end[node].events : w->relay[node - w->nend].events;
	struct survive_events *e = c->events;

	for (uint32_t i = 0; i < SURVIVE_KILLS; i++)
		if (c->conf.kill[i].what && c->conf.kill[i].node == node &&
		    c->conf.kill[i].event == at)
			sim_at(w->s, w->s->now_ns, strike_node, c, i);
	if (!e)
		return;
	uint8_t phase = SURVIVE_START;
	for (uint32_t r = 0; r < w->nend; r++)
		if (node == r ||
		    (node >= w->nend && w->end[r].alive && c->survivor[r].phase > phase))
			phase = (uint8_t)c->survivor[r].phase;
	e->phase[node] = realloc(e->phase[node], at);
	BASE_ASSERT(e->phase[node] && e->n[node] == at - 1);
	e->phase[node][at - 1] = phase;
	e->n[node] = at;
}

/* ---- hostility ---- */

/* What is told of a death is short. */
static bool
drop_short(void *who, const struct sim_buf *b)
{
	struct crew *c = who;

	return c->members.nodes.w->s->now_ns < c->deaf_ns && b->len < 160 &&
	       base_prng_below(&c->prng, 3) == 0;
}

/* A process says what it has no say in. */
static void
lie(struct sim *s, void *who, uint64_t left)
{
	struct crew *c = who;
	struct world *w = c->members.nodes.w;
	struct base_prng *p = &c->prng;
	struct end *e = &w->end[base_prng_below(p, w->nend)];
	uint32_t other = (uint32_t)base_prng_below(p, w->nend);
	struct relay_note n = {.type = RELAY_NOTE_DEATH,
			       .label_base = w->label_base[e->client],
			       .token = OWN_TOKEN + e->rank,
			       .first = other,
			       .count = 1};
	uint8_t bytes[RELAY_NOTE_MAX];

	if (c->members.nodes.over)
		return;
	switch (base_prng_below(p, 4)) {
	case 0:
		n.label_base += RELAY_LABEL_PAGE;
		break;
	case 1:
		n.first = w->nend - 1;
		n.count = 2;
		break;
	case 2:
		n.first = 0;
		n.count = w->nend;
		break;
	default:
		if (w->end[other].client == e->client)
			n.first = n.count = 0;
		break;
	}
	if (e->alive && e->relays && !e->leaving) {
		for (uint32_t i = 0; i < relayset_count(e->relays); i++)
			(void)relayset_tell(e->relays, i, bytes, relay_note_encode(&n, bytes),
					    node_now(&e->clock, s->now_ns));
		end_drive(e);
	}
	if (left)
		sim_at(s, s->now_ns + base_prng_below(p, 20 * BASE_MS_NS), lie, c, left - 1);
}

/* ---- the world ---- */

static void
draw_clusters(struct crew *c, struct world_conf *w)
{
	struct base_prng *p = &c->prng;

	w->nclusters = 2;
	w->cluster[0] = w->cluster[1] = (struct cluster_conf){3, 2};
	w->trunk.delay_ns = BASE_MS_NS;
	if (c->conf.two_by_two)
		return;
	w->nclusters = (uint32_t)between(p, 2, 3);
	for (uint32_t i = 0; i < w->nclusters; i++) {
		w->cluster[i].ranks = (uint32_t)between(p, 1, 4);
		w->cluster[i].relays = (uint32_t)between(p, 1, 3);
	}
	w->policy = (uint8_t)base_prng_below(p, 3);
	w->trunk.delay_ns = PICK(p, 50000, 1000000, 10000000);
	for (int i = 0; i < 2; i++) {
		struct sim_link_conf *l = i ? &w->trunk : &w->private_nic;
		if (coin(p, 50))
			l->loss_ppb = (uint32_t)PICK(p, 1000000, 10000000);
		if (coin(p, 30))
			l->dup_ppb = (uint32_t)PICK(p, 10000000, 200000000);
		if (coin(p, 50))
			l->reorder_ppb = (uint32_t)PICK(p, 10000000, 300000000);
		l->reorder_ns = PICK(p, 50000, 1000000, 20000000);
	}
}

static void
conf_world(struct crew *c, struct world_conf *w)
{
	world_conf_default(w);
	w->app = &enode_app;
	w->several = w->tolerant = true;
	w->partition_ns = PARTITION_NS;
	w->end.liveness_ns = w->relay.liveness_ns = DETECT_NS;
	w->end.keepalive_ns = w->relay.keepalive_ns = DETECT_NS / 4;
	draw_clusters(c, w);
	if (!c->conf.adversary)
		return;
	w->seal_global = w->forged = true;
	w->seal_private = coin(&c->prng, 50);
	w->end.migrate = w->relay.migrate = true;
}

static void
start_survivor(struct sim *s, void *who, uint64_t arg)
{
	struct survivor *v = who;

	(void)s, (void)arg;
	if (!v->n->end->alive)
		return;
	v->n->all->current = v->n;
	enter_agreement(v, SURVIVE_START);
	end_drive(v->n->end);
}

static bool
have_all_gone(void *who)
{
	struct crew *c = who;
	struct world *w = c->members.nodes.w;
	bool all = true;

	for (uint32_t r = 0; r < w->nend; r++) {
		struct survivor *v = &c->survivor[r];
		if (!w->end[r].alive)
			continue;
		all = false;
		if (v->state != LEAVES || !end_has_left(&w->end[r]))
			continue;
		v->state = GONE;
		sim_at(w->s, w->s->now_ns, go, v, 0);
	}
	return all;
}

static bool
have_forgotten(void *who)
{
	const struct world *w = who;

	for (uint32_t i = 0; i < w->nrelay; i++)
		if (w->relay[i].alive && w->relay[i].has_job)
			return false;
	return true;
}

static void
make_crew(struct crew *c)
{
	struct world *w = c->members.nodes.w;

	for (uint32_t r = 0; r < w->nend; r++) {
		member_make(&c->members, r,
			    &(struct lmpi_engine){.copied_bytes_max = 1u << 20,
						  .unexpected_bytes_max = 1u << 20,
						  .datalen = 4096,
						  .ackmark = 10,
						  .hiwater = 20});
		c->survivor[r].n = &c->members.nodes.node[r];
		sim_at(w->s, w->s->now_ns + base_prng_below(&c->prng, 2 * BASE_MS_NS),
		       start_survivor, &c->survivor[r], 0);
	}
}

static void
make_hostile(struct crew *c)
{
	struct world *w = c->members.nodes.w;

	if (c->conf.rogue)
		sim_at(w->s, w->s->now_ns + 10 * BASE_MS_NS, lie, c, 20);
	for (uint32_t i = 0; c->conf.deaf && i < w->s->nlink; i++) {
		w->s->link[i].aim = drop_short;
		w->s->link[i].aim_who = c;
	}
	if (!c->conf.adversary)
		return;
	c->adversary = calloc(1, sizeof *c->adversary);
	BASE_ASSERT(c->adversary);
	adversary_attach(c->adversary, w, c->conf.seed);
}

/* Relays count what they heard. */
static void
check_relays_heard(const struct crew *c)
{
	const struct world *w = c->members.nodes.w;

	for (uint32_t i = 0; i < w->nrelay && !c->conf.rogue; i++) {
		const struct rnode *r = &w->relay[i];
		INVARIANT(w->s, HONEST, !r->alive || !relay_core_counters(r->core)->notes_bad,
			  "relay %u.%u: %llu notes_bad", r->client, r->index,
			  (unsigned long long)relay_core_counters(r->core)->notes_bad);
	}
}

static void
finish_crew(struct crew *c, struct outcome *o)
{
	struct world *w = c->members.nodes.w;
	uint32_t nend = w->nend;

	for (uint32_t r = 0; r < nend; r++)
		member_check(&c->members.nodes.node[r]);
	check_relays_heard(c);
	c->members.nodes.over = true;
	w->on_event = NULL;
	enodes_bury(&c->members.nodes);
	scenario_end(w, o);
	for (uint32_t r = 0; r < nend; r++) {
		for (uint32_t k = 0; k < 2 * ENODES_MAX; k++)
			free(c->survivor[r].trade[k / ENODES_MAX][k % ENODES_MAX].bytes);
		member_free(&c->members, r);
	}
	free(c->adversary);
	free(c);
}

void
survive_once(const struct survive_conf *conf, struct survive_events *events,
	     struct survive_counts *counts, struct outcome *o)
{
	struct crew *c = calloc(1, sizeof *c);
	struct sim *s = sim_new(conf->seed);
	struct world_conf wc;

	BASE_ASSERT(c);
	c->conf = *conf;
	c->events = events;
	c->counts = counts;
	c->prng = base_prng_seed(conf->seed ^ 0x5c7e);
	s->verbose = conf->verbose;
	conf_world(c, &wc);
	struct world *w = c->members.nodes.w = world_new(s, &wc);
	w->scenario = c;
	w->on_event = note_event_of;
	c->members.nodes.turned = finalize_turn;
	c->members.agreed = after_agreement;
	c->members.met = after_meeting;
	c->revoker = (uint32_t)base_prng_below(&c->prng, w->nend);
	c->late_ns = PICK(&c->prng, 0, 100000, 5000000);
	counts->ranks = w->nend;
	counts->relays = w->nrelay;
	if (events)
		events->nodes = w->nend + w->nrelay;
	make_crew(c);
	make_hostile(c);
	world_start(w);
	sim_run(s, s->now_ns + COMPLETE_NS, have_all_gone, c);
	INVARIANT(s, COMPLETE, have_all_gone(c), "not all have ended");
	sim_run(s, s->now_ns + FORGET_NS, have_forgotten, w);
	INVARIANT(s, EMPTY, have_forgotten(w), "a relay has a job of which all are gone");
	finish_crew(c, o);
}
