/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "meet": roots of jobs open ports, accept and connect, in one cluster and over relays;
 * they die, relays die, clusters are cut off, datagrams are lost, doubled, late; ports are closed
 * while somebody knocks; one who has all addresses floods the ports.  Then all heals: who met is
 * connected at both sides or at none, nobody waits, and who comes anew is let in.
 * "meet-kills": one root connects to another one, and after each event of the simulator each of
 * them, another root, or a relay dies.
 * "meet-two", "meet-two-kills": the same with two relays in each cluster. */
#include "meet.h"

#include "draw.h"

#include <stdio.h>
#include <string.h>

/* ---- what must hold ---- */

static bool
still_there(const struct mt *w, uint32_t node, uint32_t life)
{
	return w->node[node].alive && w->node[node].life == life;
}

/* In the end: who believes that he is connected is so with one who believes it, or knows that the
 * other one is out of reach. */
void
mt_check_together(struct mt *w)
{
	for (uint32_t i = 0; i < w->ntries && !w->s->failed; i++) {
		const struct mt_try *t = &w->try[i];
		bool from = t->connector == MT_CONNECTED && !t->connector_told &&
			    still_there(w, t->from, t->from_life);
		bool to = t->acceptor == MT_CONNECTED && !t->acceptor_told &&
			  still_there(w, t->to, t->to_life);
		INVARIANT(w->s, TOGETHER, !from || t->acceptor == MT_CONNECTED,
			  "connect %u: root %u is connected with root %u, which gave up", i,
			  t->from, t->to);
		INVARIANT(w->s, TOGETHER, !to || t->connector == MT_CONNECTED,
			  "connect %u: root %u accepted root %u, which gave up", i, t->to, t->from);
		INVARIANT(w->s, TOGETHER,
			  t->connector != MT_CONNECTED || t->acceptor != MT_CONNECTED ||
				  t->cid_connector == t->cid_acceptor,
			  "connect %u: each side is connected by another accept", i);
		INVARIANT(w->s, TOLD, !from || still_there(w, t->to, t->to_life),
			  "connect %u: root %u was not told that root %u is gone", i, t->from,
			  t->to);
		INVARIANT(w->s, TOLD, !to || still_there(w, t->from, t->from_life),
			  "connect %u: root %u was not told that root %u is gone", i, t->to,
			  t->from);
	}
}

static void
check_now(struct mt *w)
{
	for (uint32_t i = 0; i < w->nnodes && !w->s->failed; i++) {
		const struct mt_node *n = &w->node[i];
		const char *what;
		if (!n->alive)
			continue;
		what = meet_lines_check(&n->lines);
		INVARIANT(w->s, TABLES, !what, "root %u: %s", i, what);
		what = door_client_check(&n->client);
		INVARIANT(w->s, TABLES, !what, "root %u: %s", i, what);
		INVARIANT(w->s, COMPLETE,
			  n->root.act != MT_TALK || n->root.stage == MT_COLLECT ||
				  w->s->now_ns <= base_min_ns(meet_talk_due(&n->root.talk),
							      BASE_NEVER_NS - BASE_S_NS) +
							  BASE_S_NS,
			  "root %u: a step of a conversation does not end", i);
		uint64_t kept = 0;
		for (uint32_t k = 0; k < MEET_LINES_MAX; k++)
			kept += n->lines.line[k].kept;
		INVARIANT(w->s, MEMORY,
			  kept <= MEET_LINES_MAX * (uint64_t)MEET_KNOCK_BYTES + MT_CARDS,
			  "root %u: keeps %llu bytes of others", i, (unsigned long long)kept);
	}
	doors_check(w->d);
}

/* All roots rest: nothing of their conversations is left. */
static void
check_rest(struct mt *w)
{
	for (uint32_t i = 0; i < w->nnodes && !w->s->failed; i++) {
		const struct mt_node *n = &w->node[i];
		uint32_t doors = 0;
		INVARIANT(w->s, COMPLETE, n->root.act == MT_REST, "root %u: is still at it (%d)", i,
			  n->root.act);
		for (uint32_t k = 0; k < n->client.owns; k++)
			doors += n->own[k].state != DOOR_CLIENT_FREE;
		INVARIANT(w->s, EMPTY, n->evil || doors <= 2,
			  "root %u: %u doors are left, its own and that of its port may be", i,
			  doors);
	}
}

/* ---- somebody who has all addresses ---- */

static void
call_evilly(struct mt_node *n, const struct mt_node *to)
{
	if (!n->client.up || !to->open || to->port_door == DOOR_CLIENT_NONE ||
	    n->mine == DOOR_CLIENT_NONE || n->own[n->mine].state != DOOR_CLIENT_HAVE)
		return;
	uint32_t line = meet_lines_keep(&n->lines, n->w->s->now_ns);
	if (line == MEET_LINE_NONE)
		return;
	uint32_t door = door_client_open(&n->client, 0, 1, MT_REALM, 0);
	uint32_t import = door == DOOR_CLIENT_NONE
				  ? DOOR_CLIENT_NONE
				  : door_client_import(&n->client, &to->own[to->port_door].at, door,
						       DOORS_NONE);
	if (import == DOOR_CLIENT_NONE) {
		meet_lines_hang_up(&n->lines, line, n->w->s->now_ns);
		if (door != DOOR_CLIENT_NONE)
			door_client_close(&n->client, door);
		return;
	}
	meet_lines_call(&n->lines, line, door, import);
}

/* Something that is no knock, or one with another token. */
static void
say_evilly(struct mt_node *n, uint32_t line)
{
	static uint8_t words[60000];
	struct base_prng *g = &n->w->prng;
	size_t len = MEET_FAR_BYTES;
	uint64_t token = base_prng_next(g);
	enum meet_word what = (enum meet_word)between(g, 1, MEET_FROM);
	memset(words, 0, MEET_FROM_BYTES); /* nothing of another run */
	if (what == MEET_FROM && n->mine != DOOR_CLIENT_NONE && coin(g, 70)) {
		/* Somebody else's door, or his own: there they do not hear of this line. */
		const struct door_address *at = &n->own[n->mine].at;
		token = at->token;
		len = MEET_WORD_BYTES + door_address_encode(at, words + MEET_WORD_BYTES);
		words[MEET_WORD_BYTES + base_prng_below(g, 12)] ^= (uint8_t)coin(g, 50);
	}
	meet_word_write(words, what, token);
	if (coin(g, 30))
		len = between(g, 1, MEET_FAR_BYTES - 1);
	if (what != MEET_FROM && coin(g, 60))
		len = sizeof words; /* nothing of it is kept, and the place is taken */
	(void)meet_lines_say(&n->lines, line, words, len, n->w->s->now_ns);
}

static void
dial_evilly(struct mt_node *n, struct mt_node *to)
{
	struct mt *w = n->w;
	uint8_t word[MEET_WORD_BYTES];
	struct base_prng *g = &w->prng;
	uint32_t pipe = mt_pipe_dial(n, to);
	if (pipe == MT_NONE)
		return;
	uint64_t token = coin(g, 80) ? base_prng_next(g) : to->token;
	meet_word_write(word, (enum meet_word)between(g, 1, 4), token);
	if (coin(g, 60))
		(void)mt_pipe_say(w, pipe, n, word, between(g, 1, sizeof word));
	if (coin(g, 20))
		mt_pipe_close(w, pipe, n);
}

static void
act_evilly(struct mt_node *n)
{
	struct mt *w = n->w;
	struct mt_node *to = &w->node[base_prng_below(&w->prng, w->nnodes)];
	if (!n->alive || to == n)
		return;
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++) {
		struct meet_line *t = &n->lines.line[i];
		if (t->state == MEET_LINE_CALLS && t->import != MEET_LINE_NONE &&
		    door_client_reaches(&n->import[t->import]) &&
		    meet_lines_go(&n->lines, i, w->s->now_ns))
			say_evilly(n, i);
		if ((t->state == MEET_LINE_CALLS && t->over) ||
		    (t->state == MEET_LINE_ON && t->over) ||
		    (t->state == MEET_LINE_ON && coin(&w->prng, 1)))
			meet_lines_hang_up(&n->lines, i, w->s->now_ns);
	}
	for (uint32_t i = 0; i < 8; i++)
		call_evilly(n, to);
	if (coin(&w->prng, 30))
		dial_evilly(n, to);
	mt_drive(n);
}

/* He takes every place at a port over relays, and says nothing that is kept. */
static void
flood_silently(struct mt *w)
{
	static const uint8_t words[60000];
	struct mt_node *n = &w->node[w->nnodes - 1];
	if (!n->evil || n->g.cluster == w->node[0].g.cluster)
		return;
	mt_open_port(&w->node[0]);
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++)
		if (n->lines.line[i].state != MEET_LINE_FREE)
			meet_lines_hang_up(&n->lines, i, w->s->now_ns);
	mt_drive(n);
	mt_pass(w, 2 * MT_SWAP_NS);
	for (uint32_t k = 0; k < MEET_LINES_MAX; k++)
		call_evilly(n, &w->node[0]);
	mt_drive(n);
	mt_pass(w, BASE_S_NS);
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++)
		if (n->lines.line[i].state == MEET_LINE_CALLS &&
		    n->lines.line[i].import != MEET_LINE_NONE &&
		    meet_lines_go(&n->lines, i, w->s->now_ns))
			(void)meet_lines_say(&n->lines, i, words, sizeof words, w->s->now_ns);
	mt_drive(n);
	mt_pass(w, MT_SWAP_NS);
}

/* ---- what roots are asked to do, what happens to them ---- */

struct meet_weather {
	bool deaths, relay_deaths, cuts, closes;
	uint32_t died;
};

static struct mt_node *
draw_root(struct mt *w)
{
	return &w->node[base_prng_below(&w->prng, w->nnodes)];
}

static void
act_as_root(struct mt *w, const struct meet_weather *f)
{
	struct base_prng *g = &w->prng;
	struct mt_node *n = draw_root(w), *to = draw_root(w);
	if (!n->alive || n->evil || n->root.act != MT_REST)
		return;
	bool lost = n->open && n->port_door != DOOR_CLIENT_NONE &&
		    n->own[n->port_door].state == DOOR_CLIENT_OVER;
	if (lost || (f->closes && n->open && coin(g, 4)))
		mt_close_port(n);
	else if (!n->open && n->index % 3 != 2)
		mt_open_port(n);
	else if (n->open && coin(g, 60))
		mt_accept(n, between(g, 1, 30000) * BASE_MS_NS);
	else if (to != n && to->open)
		mt_connect(n, to, between(g, 1, 20000) * BASE_MS_NS);
}

static void
happen(struct mt *w, struct meet_weather *f)
{
	struct base_prng *g = &w->prng;
	struct mt_node *n = draw_root(w);
	struct doors_relay *r = &w->d->relay[base_prng_below(g, w->d->nrelays)];
	uint32_t a = (uint32_t)base_prng_below(g, w->d->conf.nclusters);
	uint32_t b = (a + 1) % w->d->conf.nclusters;
	if (f->deaths && n->alive && coin(g, 2)) {
		f->died++;
		mt_kill(n);
	} else if (!n->alive && coin(g, 30)) {
		mt_start(n);
	}
	if (f->relay_deaths && r->alive && coin(g, 1)) {
		f->died++;
		doors_kill_relay(r);
	} else if (!r->alive && coin(g, 10)) {
		doors_start_relay(r);
	}
	if (f->cuts && coin(g, 2))
		doors_cut(w->d, a, b, coin(g, 40));
	if (f->closes && n->alive && coin(g, n->root.act == MT_TALK ? 20 : 1))
		mt_close_port(n);
}

static void
set_links(struct mt *w, uint32_t loss, uint32_t dup, uint32_t late)
{
	struct doors *d = w->d;
	for (uint32_t a = 0; a < d->nrelays; a++)
		for (uint32_t b = 0; b < d->nrelays; b++) {
			if (a == b)
				continue;
			struct sim_link *l = &w->s->link[d->wan[a][b]];
			l->conf.loss_ppb = loss;
			l->conf.dup_ppb = dup;
			l->conf.reorder_ppb = late;
			l->conf.reorder_ns = d->conf.wan_ns;
			l->down = l->down && loss;
		}
}

/* Nothing more happens; who is evil stays where it is. */
static void
let_heal(struct mt *w)
{
	set_links(w, 0, 0, 0);
	for (uint32_t i = 0; i < w->d->nrelays; i++)
		if (!w->d->relay[i].alive)
			doors_start_relay(&w->d->relay[i]);
	for (uint32_t i = 0; i < w->nnodes; i++)
		if (!w->node[i].alive)
			mt_start(&w->node[i]);
	w->slow_percent = w->fail_percent = 0;
	mt_pass(w, 4 * MT_SWAP_NS);
}

/* Who comes anew is let in, whatever was before. */
static void
meet_anew(struct mt *w)
{
	struct mt_node *a = &w->node[0], *b = &w->node[1];
	if (a->port_door == DOOR_CLIENT_NONE || a->own[a->port_door].state != DOOR_CLIENT_HAVE)
		mt_close_port(a);
	mt_open_port(a);
	mt_pass(w, BASE_S_NS);
	flood_silently(w);
	uint32_t made = a->root.accepts_made;
	mt_accept(a, 3 * MT_SWAP_NS);
	/* Wrong knocks that wait were said before. */
	for (uint32_t i = 0; i < 8 && a->root.accepts_made == made && !w->s->failed; i++) {
		mt_connect(b, a, MT_SWAP_NS / 4);
		mt_pass(w, MT_SWAP_NS / 4 + BASE_S_NS);
	}
	INVARIANT(w->s, COMPLETE, a->root.accepts_made == made + 1,
		  "root 1 connects to root 0, which accepts, and they do not meet");
	mt_pass(w, 4 * MT_SWAP_NS);
}

static uint32_t
count_ends(const struct mt *w, enum mt_end end)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->ntries; i++)
		n += w->try[i].connector == end;
	return n;
}

static void
conf_of_meet(struct doors_conf *c, struct base_prng *g)
{
	doors_conf_default(c);
	c->wan_ns = between(g, 1, 40) * BASE_MS_NS;
	c->doors_max = 1024;
	c->imports_max = 512;
	c->per_proc_max = 200;
}

static void
meet_with(uint32_t relays, uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng g = base_prng_seed(seed);
	struct doors_conf c;
	conf_of_meet(&c, &g);
	c.relays = relays;
	c.nclusters = (uint32_t)between(&g, 2, 3);
	uint32_t nodes = (uint32_t)between(&g, c.nclusters + 1, 2 * c.nclusters + 2);
	struct mt *w = mt_new(seed, verbose, &c, nodes);
	struct meet_weather f = {.deaths = coin(&g, 50)};
	f.relay_deaths = coin(&g, 30);
	f.cuts = coin(&g, 30);
	f.closes = coin(&g, 50);
	w->slow_percent = (uint32_t)PICK(&g, 0, 10, 30);
	w->fail_percent = 3;
	w->node[nodes - 1].evil = coin(&g, 50);
	mt_pass(w, BASE_S_NS);
	uint32_t lossy = coin(&g, 50) ? (uint32_t)PICK(&g, 1000000, 20000000, 100000000) : 0;
	uint32_t late = coin(&g, 30) ? 50000000 : 0;
	uint32_t doubled = coin(&g, 30) ? 20000000 : 0;
	set_links(w, lossy, doubled, late);
	uint32_t steps = (uint32_t)between(&g, 100, 400);
	uint64_t pause_ms = PICK(&g, 5, 50, 300);
	for (uint32_t i = 0; i < steps && !w->s->failed; i++) {
		for (uint32_t k = 0; k < 4; k++)
			act_as_root(w, &f);
		if (w->node[nodes - 1].evil && coin(&w->prng, 30))
			act_evilly(&w->node[nodes - 1]);
		happen(w, &f);
		mt_pass(w, between(&w->prng, 1, pause_ms) * BASE_MS_NS);
		if (i % 8 == 0)
			check_now(w);
	}
	let_heal(w);
	check_now(w);
	meet_anew(w);
	check_rest(w);
	mt_check_together(w);
	check_now(w);
	snprintf(o->note, sizeof o->note,
		 "%u clusters, %u roots%s: %u connects, %u connected, %u deaths", c.nclusters,
		 nodes, w->node[nodes - 1].evil ? ", one of them evil" : "", w->ntries,
		 count_ends(w, MT_CONNECTED), f.died);
	mt_finish(w, o);
}

void
meet_run(uint64_t seed, bool verbose, struct outcome *o)
{
	meet_with(1, seed, verbose, o);
}

void
meet_two_run(uint64_t seed, bool verbose, struct outcome *o)
{
	meet_with(2, seed, verbose, o);
}

/* ---- deaths at each moment ---- */

/* What a run is about: who dies, after how many events of the simulator since root 1 began to
 * connect to root 0; 0: nobody. */
struct meet_kill {
	uint64_t after;
	uint32_t what; /* a root, or the number of roots and a relay */
};

#define MT_OUTLIVES_NS (5 * BASE_S_NS) /* until it goes on by the other relay */

struct meet_watch {
	const struct mt *w;
	uint64_t until;
	uint32_t to;
};

static bool
is_time_to_die(void *arg)
{
	const struct meet_watch *m = arg;
	return m->w->s->events >= m->until || m->w->node[m->to].root.act == MT_REST;
}

static void
kill_one(struct mt *w, uint32_t what)
{
	if (what < w->nnodes)
		mt_kill(&w->node[what]);
	else
		doors_kill_relay(&w->d->relay[what - w->nnodes]);
}

/* A relay dies, and there is another one. */
static void
check_outlives(struct mt *w)
{
	const struct mt_try *t = &w->try[0];
	mt_pass(w, MT_OUTLIVES_NS);
	INVARIANT(w->s, COMPLETE, t->connector == MT_CONNECTED && t->acceptor == MT_CONNECTED,
		  "one of two relays has died, and the connect failed (%d, %d)", t->connector,
		  t->acceptor);
	INVARIANT(w->s, ALIVE, !t->connector_told && !t->acceptor_told,
		  "one of two relays has died, and roots that are connected take each other for "
		  "dead");
}

/* The events that a connect takes. */
static uint64_t
connect_once(uint64_t seed, bool verbose, const struct doors_conf *c, struct meet_kill kill,
	     struct outcome *o)
{
	struct mt *w = mt_new(seed, verbose, c, c->nclusters + 1);
	uint32_t to = (uint32_t)(seed % 2 ? c->nclusters : 1); /* near, or far */
	mt_pass(w, BASE_S_NS);
	mt_open_port(&w->node[0]);
	mt_pass(w, BASE_S_NS);
	uint64_t first = w->s->events;
	mt_accept(&w->node[0], MT_SWAP_NS);
	mt_connect(&w->node[to], &w->node[0], MT_SWAP_NS);
	struct meet_watch m = {w, kill.after ? first + kill.after : UINT64_MAX, to};
	sim_run(w->s, w->s->now_ns + 5 * MT_SWAP_NS, is_time_to_die, &m);
	uint64_t events = w->s->events - first;
	if (kill.after)
		kill_one(w, kill.what);
	mt_pass(w, 100 * BASE_MS_NS);
	INVARIANT(w->s, COMPLETE, kill.after || w->try[0].connector == MT_CONNECTED,
		  "nobody dies, and they do not meet");
	if (kill.after && kill.what >= w->nnodes && c->relays > 1)
		check_outlives(w);
	let_heal(w);
	check_now(w);
	check_rest(w);
	mt_check_together(w);
	meet_anew(w);
	mt_finish(w, o);
	return events;
}

/* A world each so many seeds, and of each world's deaths a slice. */
static void
kill_each(uint32_t relays, uint32_t slices, uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t world = seed / slices, slice = seed % slices;
	struct base_prng g = base_prng_seed(world);
	struct doors_conf c;
	conf_of_meet(&c, &g);
	c.relays = relays;
	uint64_t events = connect_once(world, verbose, &c, (struct meet_kill){0}, o);
	uint64_t hash = o->hash, all = o->events, tried = 0;
	uint32_t whats = c.nclusters + 1 + relays * c.nclusters;
	for (uint64_t i = slice; i < events * whats && o->ok; i += slices) {
		struct meet_kill kill = {1 + i / whats, (uint32_t)(i % whats)};
		connect_once(world, verbose, &c, kill, o);
		hash = hash * 31 + o->hash;
		all += o->events;
		tried++;
		if (!o->ok)
			fprintf(stderr, "meet-kills: %u dies after event %llu of %llu\n", kill.what,
				(unsigned long long)kill.after, (unsigned long long)events);
	}
	o->hash = hash;
	o->events = all;
	snprintf(o->note, sizeof o->note, "%llu of %llu deaths, events times who",
		 (unsigned long long)tried, (unsigned long long)events * whats);
}

void
meet_kills_run(uint64_t seed, bool verbose, struct outcome *o)
{
	kill_each(1, MEET_KILLS_SLICES, seed, verbose, o);
}

void
meet_two_kills_run(uint64_t seed, bool verbose, struct outcome *o)
{
	kill_each(2, MEET_TWO_SLICES, seed, verbose, o);
}
