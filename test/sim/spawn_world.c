/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of sim/spawn.h and their messages; what they do as libmpi/dyn/spawn.c, meet.c and
 * libmpi/others/spawn.c have it. */
#include "spawn.h"

#include "draw.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERR_SPAWN  53
#define ERR_FAILED 75 /* MPIX_ERR_PROC_FAILED */

/* ---- messages ---- */

static void hear_word(struct sw_proc *p, uint32_t from, enum sw_word what, uint64_t arg);

/* arg: what, from, to, and its own. */
static void
arrive_word(struct sim *s, void *who, uint64_t arg)
{
	struct sw *w = who;
	uint32_t what = arg & 0xff, from = arg >> 8 & 0xff, to = arg >> 16 & 0xff;
	(void)s;
	if (to == SW_LAUNCHER)
		sw_launcher_hears(w, from, what, arg >> 24);
	else if (w->proc[to].alive)
		hear_word(&w->proc[to], from, (enum sw_word)what, arg >> 24);
}

void
sw_post(struct sw *w, uint32_t from, uint32_t to, enum sw_word what, uint64_t arg)
{
	uint64_t *last = &w->last_ns[from][to];
	uint64_t at = w->s->now_ns + between(&w->prng, 20 * BASE_US_NS, w->slow_ns);
	/* The launcher's answers and its notices are of different kinds, and may pass each other.
	 */
	bool any_order = what == SW_UNMET || what == SW_ENDED || what == SW_ANSWER;
	if (!any_order)
		at = *last = base_max_ns(at, *last + 1);
	sim_at(w->s, at, arrive_word, w, what | from << 8 | to << 16 | arg << 24);
}

static void
post_to_members(struct sw_proc *root, enum sw_word what, uint64_t arg)
{
	struct sw *w = root->w;
	const struct sw_ask *a = &w->ask[root->ask];
	uint32_t first = root->child ? w->job[a->job].first : a->first;
	uint32_t n = root->child ? w->job[a->job].n : a->n;
	for (uint32_t p = first; p < first + n; p++)
		if (p != root->index)
			sw_post(w, root->index, p, what, arg);
}

static uint32_t
count_members(const struct sw_proc *root)
{
	const struct sw_ask *a = &root->w->ask[root->ask];
	return (root->child ? root->w->job[a->job].n : a->n) - 1;
}

/* ---- deaths ---- */

/* Of its communicator. */
static bool
is_fellow(const struct sw_proc *p, uint32_t q)
{
	const struct sw_ask *a = &p->w->ask[p->ask];
	if (p->child)
		return p->w->launched[q].job == a->job;
	return q >= a->first && q < a->first + a->n;
}

static bool
any_fellow_dead(const struct sw_proc *p)
{
	for (uint32_t q = 0; q < p->w->jobs.nprocs; q++)
		if (p->dead[q] && is_fellow(p, q))
			return true;
	return false;
}

static void end_spawn(struct sw_proc *p, int rc);
static void give_up_child(struct sw_proc *p);

static uint32_t
find_root(const struct sw_proc *p)
{
	const struct sw_ask *a = &p->w->ask[p->ask];
	return p->child ? p->w->job[a->job].first : a->root;
}

static void
end_collecting(struct sw_proc *root, bool well)
{
	struct sw_ask *a = &root->w->ask[root->ask];
	bool *waits = root->child ? &a->child_waits : &a->waits;
	if (!*waits)
		return;
	*waits = false;
	mt_collected(root->node, !well);
}

/* arg: who, and who is dead. */
static void
see_death(struct sim *s, void *who, uint64_t arg)
{
	struct sw *w = who;
	uint32_t dead = (uint32_t)(arg >> 8);
	struct sw_proc *p = &w->proc[arg & 0xff];
	(void)s;
	if (!p->alive)
		return;
	p->dead[dead] = true;
	if (!w->jobs.keep_going && w->launched[dead].job == w->launched[p->index].job &&
	    p->stage != SW_COMES && p->stage != SW_FENCED && !w->finishing) {
		sw_die(w, p->index, (struct launch_end){false, 1}); /* its library ends it */
		return;
	}
	if (!is_fellow(p, dead))
		return;
	if (p->stage == SW_AWAITS || p->stage == SW_CALLS)
		end_collecting(p, false);
	else if (p->stage == SW_HEARS && dead == find_root(p))
		p->child ? give_up_child(p) : end_spawn(p, ERR_FAILED);
}

static void
reap_later(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	sw_launcher_reaps(who, arg & 0xff, (struct launch_end){arg >> 8 & 1, (int)(arg >> 16)});
}

void
sw_die(struct sw *w, uint32_t index, struct launch_end e)
{
	struct sw_proc *p = &w->proc[index];
	if (!p->alive)
		return;
	sim_log(w->s, "process %u of job %u dies (%s %d)", index, w->launched[index].job,
		e.by_signal ? "signal" : "status", e.code);
	p->alive = false;
	p->died_ns = w->s->now_ns;
	if (p->node)
		mt_kill(p->node);
	sim_at(w->s, w->s->now_ns + between(&w->prng, 10 * BASE_US_NS, w->slow_ns), reap_later, w,
	       index | (uint64_t)e.by_signal << 8 | (uint64_t)e.code << 16);
	for (uint32_t q = 0; q < w->jobs.nprocs; q++)
		if (w->proc[q].alive)
			sim_at(w->s, w->s->now_ns + between(&w->prng, 10 * BASE_US_NS, w->slow_ns),
			       see_death, w, q | index << 8);
}

void
sw_kill(struct sw *w, uint32_t who)
{
	if (who >= SW_RELAY) {
		doors_kill_relay(&w->m->d->relay[who - SW_RELAY]);
		return;
	}
	if (who < w->jobs.nprocs) {
		sw_die(w, who, (struct launch_end){true, 9});
		return;
	}
	/* All are its children, and die with it. */
	w->launcher_alive = false;
	for (uint32_t p = 0; p < w->jobs.nprocs; p++)
		sw_die(w, p, (struct launch_end){true, 9});
}

/* ---- a call ends ---- */

static void
end_spawn(struct sw_proc *p, int rc)
{
	struct sw *w = p->w;
	struct sw_ask *a = &w->ask[p->ask];
	p->result.over = true;
	p->result.rc = rc;
	p->stage = SW_IDLE;
	if (p->result.knows)
		launch_order_codes(p->count, a->commands, rc, ERR_SPAWN, p->result.codes);
	sim_log(w->s, "process %u: its call ends with %d", p->index, rc);
	if (p->index != a->root)
		return;
	a->ended_ns = w->s->now_ns;
	a->connected = rc == 0;
	mt_close_port(p->node);
	while (launch_await_forget(&p->awaited, a->port))
		;
}

/* ---- doors, if there are relays ---- */

static bool
has_door(const struct mt_node *n, uint32_t own)
{
	return own != DOOR_CLIENT_NONE && n->own[own].state == DOOR_CLIENT_HAVE;
}

static void order_programs(struct sw_proc *root);
static void connect_to_parent(struct sw_proc *p);

/* A root's process has its door, and whose port is to be called that of its port, too. */
static void
look_at_doors(struct sim *s, void *who, uint64_t arg)
{
	struct sw *w = who;
	struct sw_proc *p = &w->proc[arg];
	if (!p->alive || p->stage != SW_READY)
		return;
	struct mt_node *n = p->node;
	bool ready = has_door(n, n->mine);
	if (ready && !p->child) {
		mt_open_port(n);
		ready = n->open && has_door(n, n->port_door);
	}
	if (ready) {
		p->child ? connect_to_parent(p) : order_programs(p);
	} else if (s->now_ns < p->ready_ns) {
		sim_at(s, s->now_ns + BASE_MS_NS, look_at_doors, w, arg);
	} else if (p->child) {
		give_up_child(p);
	} else {
		post_to_members(p, SW_OUTCOME_OF_ORDER, ERR_SPAWN);
		end_spawn(p, ERR_SPAWN);
	}
}

static void
await_doors(struct sw_proc *p)
{
	p->stage = SW_READY;
	p->ready_ns = p->w->s->now_ns + SW_READY_NS;
	sim_at(p->w->s, p->w->s->now_ns, look_at_doors, p->w, p->index);
}

/* They have met: a process of theirs in the other cluster is known by its door. */
static void
know_far(struct sw_proc *p)
{
	struct sw *w = p->w;
	struct sw_ask *a = &w->ask[p->ask];
	struct mt_node *far = &w->m->node[SW_FAR], *child = &w->m->node[a->node + SW_CHILD];
	struct mt_node *n = p->child ? child : far, *it = p->child ? far : child;
	if (!w->relays || p->ask > 0 || !it->alive || !has_door(it, it->mine))
		return;
	a->imports[p->child] =
		door_client_import(&n->client, &it->own[it->mine].at, n->mine, DOORS_NONE);
	mt_drive(n);
}

/* ---- the root of those who call ---- */

void
sw_begin(struct sw *w, uint32_t ask)
{
	struct sw_ask *a = &w->ask[ask];
	struct sw_proc *root = &w->proc[a->root];
	a->begun = true;
	for (uint32_t p = a->first; p < a->first + a->n; p++) {
		w->proc[p].ask = ask;
		w->proc[p].result = (struct sw_result){0};
	}
	for (uint32_t p = a->first; p < a->first + a->n; p++) {
		bool knows = any_fellow_dead(&w->proc[p]);
		if (!w->proc[p].alive || p == a->root)
			continue;
		w->proc[p].stage = SW_HEARS;
		if (knows)
			end_spawn(&w->proc[p], ERR_FAILED);
	}
	if (!root->alive)
		return;
	memcpy(root->count, a->count, sizeof root->count);
	root->result.knows = true;
	if (any_fellow_dead(root)) {
		end_spawn(root, ERR_FAILED);
		return;
	}
	if (w->relays)
		await_doors(root);
	else
		order_programs(root);
}

static void
order_programs(struct sw_proc *root)
{
	struct sw *w = root->w;
	struct sw_ask *a = &w->ask[root->ask];
	mt_open_port(root->node);
	a->token = root->node->token;
	snprintf(a->port, sizeof a->port, "port %u", root->ask);
	launch_await(&root->awaited, &root->await, a->port);
	root->stage = SW_ORDERS;
	sw_post(w, root->index, SW_LAUNCHER, SW_ASK, 0);
}

static void
hear_of_order(struct sw_proc *p, uint64_t answer)
{
	struct sw *w = p->w;
	struct sw_ask *a = &w->ask[p->ask];
	char name[LAUNCH_NAME];
	if (p->stage != SW_ORDERS)
		return;
	if (answer == LAUNCH_NO_ROOM && launch_order_fewer(a->count, a->soft, a->commands)) {
		a->tries++;
		INVARIANT(w->s, SPIN, a->tries < 64, "process %u asks again and again", p->index);
		sw_post(w, p->index, SW_LAUNCHER, SW_ASK, 0);
		return;
	}
	snprintf(name, sizeof name, "job.%u", (unsigned)(answer - SW_STARTED));
	launch_await_answer(&p->awaited, &p->await, answer >= SW_STARTED ? name : NULL);
	memcpy(p->count, a->count, sizeof p->count);
	post_to_members(p, SW_OUTCOME_OF_ORDER, answer >= SW_STARTED ? 0 : ERR_SPAWN);
	if (answer < SW_STARTED) {
		end_spawn(p, ERR_SPAWN);
		return;
	}
	p->stage = SW_AWAITS;
	mt_accept(p->node, SW_LIMIT_NS);
}

static void
hear_unmet(struct sw_proc *p, enum sw_word what, uint64_t job)
{
	char name[LAUNCH_NAME];
	snprintf(name, sizeof name, "job.%u", (unsigned)job);
	if (what == SW_ENDED)
		(void)launch_await_ended(&p->awaited, name, "they have ended");
	else
		(void)launch_await_unmet(&p->awaited, name, "a process of it has ended");
}

/* ---- roots talk (sim/meet.h) ---- */

static struct sw_proc *
proc_of_node(struct mt_node *n)
{
	struct sw *w = n->w->user;
	for (uint32_t p = 0; p < w->jobs.nprocs; p++)
		if (w->proc[p].node == n && w->proc[p].alive)
			return &w->proc[p];
	return NULL;
}

static void
begin_to_collect(struct mt_node *n)
{
	struct sw_proc *p = proc_of_node(n);
	struct sw_ask *a = &p->w->ask[p->ask];
	*(p->child ? &a->child_acks : &a->acks) = 0;
	*(p->child ? &a->child_waits : &a->waits) = true;
	if (any_fellow_dead(p)) {
		end_collecting(p, false);
	} else if (count_members(p) == 0) {
		end_collecting(p, true);
	} else {
		post_to_members(p, SW_CARDS, 0);
	}
}

static bool
nobody_comes(struct mt_node *n)
{
	struct sw_proc *p = proc_of_node(n);
	return launch_await_why(&p->awaited, p->w->ask[p->ask].port) != NULL;
}

static void
tell_launcher(struct sw_proc *p)
{
	p->stage = SW_TELLS;
	p->parent = p->w->ask[p->ask].token;
	sw_post(p->w, p->index, SW_LAUNCHER, SW_MET, 0);
}

static void
end_meeting(struct mt_node *n, bool well)
{
	struct sw_proc *p = proc_of_node(n);
	if (!p || p->w->s->failed)
		return;
	if (well)
		know_far(p);
	post_to_members(p, SW_OUTCOME, well ? 0 : ERR_SPAWN);
	if (!p->child)
		end_spawn(p, well ? 0 : ERR_SPAWN);
	else if (well)
		tell_launcher(p);
	else
		give_up_child(p);
}

static const struct mt_ops meet_ops_of_spawn = {
	.collect = begin_to_collect, .nobody_comes = nobody_comes, .ended = end_meeting};

/* ---- children ---- */

/* An error in MPI_Init is the end. */
static void
die_later(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	sw_die(who, (uint32_t)arg, (struct launch_end){false, 1});
}

static void
give_up_child(struct sw_proc *p)
{
	p->stage = SW_IDLE;
	sim_at(p->w->s, p->w->s->now_ns + p->w->slow_ns, die_later, p->w, p->index);
}

static void
come_to_init(struct sim *s, void *who, uint64_t arg)
{
	struct sw *w = who;
	struct sw_proc *p = &w->proc[arg];
	(void)s;
	if (!p->alive)
		return;
	if (w->ask[p->ask].sleeps || w->ask[p->ask].ends) {
		sw_die(w, p->index, (struct launch_end){false, 0});
		return;
	}
	p->stage = SW_FENCED;
	sw_post(w, p->index, SW_LAUNCHER, SW_INSIDE, 0);
	sw_post(w, p->index, SW_LAUNCHER, SW_FENCE, 0);
}

void
sw_child_begins(struct sw *w, uint32_t index, uint32_t ask)
{
	struct sw_proc *p = &w->proc[index];
	*p = (struct sw_proc){.w = w,
			      .index = index,
			      .ask = ask,
			      .alive = true,
			      .child = true,
			      .stage = SW_COMES};
	uint64_t ns = between(&w->prng, 1, 20) * BASE_MS_NS;
	ns = w->ask[ask].sleeps ? SW_SLEEP_NS : w->ask[ask].ends ? 10 * BASE_US_NS : ns;
	sim_at(w->s, w->s->now_ns + ns, come_to_init, w, index);
}

static void
call_parent(struct sw_proc *p)
{
	struct sw *w = p->w;
	struct sw_ask *a = &w->ask[p->ask];
	if (w->launched[p->index].number != 0) {
		p->stage = SW_HEARS;
		for (uint32_t i = 0; i < p->nearly; i++)
			hear_word(p, find_root(p), (enum sw_word)p->early[i], p->early_arg[i]);
		if (p->stage == SW_HEARS && p->dead[find_root(p)])
			give_up_child(p);
		return;
	}
	p->node = &w->m->node[a->node + SW_CHILD];
	mt_start(p->node);
	if (w->relays)
		await_doors(p);
	else
		connect_to_parent(p);
}

static void
connect_to_parent(struct sw_proc *p)
{
	struct sw *w = p->w;
	struct sw_ask *a = &w->ask[p->ask];
	p->stage = SW_CALLS;
	uint32_t tries = w->m->ntries;
	mt_connect_by(p->node, &w->m->node[a->node], a->token, 10 * SW_LIMIT_NS);
	if (w->m->ntries == tries)
		give_up_child(p);
}

/* ---- what is heard ---- */

static void
hear_outcome(struct sw_proc *p, uint64_t rc)
{
	if (p->stage != SW_HEARS)
		return;
	if (!p->child)
		end_spawn(p, (int)rc);
	else if (rc == 0)
		tell_launcher(p);
	else
		give_up_child(p);
}

static void
count_ack(struct sw_proc *root)
{
	struct sw_ask *a = &root->w->ask[root->ask];
	uint32_t *acks = root->child ? &a->child_acks : &a->acks;
	if (++*acks == count_members(root))
		end_collecting(root, true);
}

static void
hear_launcher(struct sw_proc *p, enum sw_word what, uint64_t arg)
{
	if (what == SW_ANSWER) {
		hear_of_order(p, arg);
	} else if (what == SW_UNMET || what == SW_ENDED) {
		hear_unmet(p, what, arg);
	} else if (what == SW_RELEASE) {
		call_parent(p);
	} else if (p->stage == SW_TELLS) {
		p->stage = SW_IDLE;
		p->returned = true;
	} else {
		sw_die(p->w, p->index, (struct launch_end){false, 0}); /* it has left MPI */
	}
}

static void
hear_word(struct sw_proc *p, uint32_t from, enum sw_word what, uint64_t arg)
{
	if (p->w->s->failed)
		return;
	if (from == SW_LAUNCHER) {
		hear_launcher(p, what, arg);
	} else if (p->stage == SW_FENCED) {
		BASE_ASSERT(p->nearly < 4);
		p->early[p->nearly] = what;
		p->early_arg[p->nearly++] = arg;
	} else if (what == SW_OUTCOME_OF_ORDER) {
		if (p->stage != SW_HEARS)
			return;
		memcpy(p->count, p->w->ask[p->ask].count, sizeof p->count);
		p->result.knows = true;
		if (arg)
			end_spawn(p, (int)arg);
	} else if (what == SW_CARDS) {
		if (p->stage == SW_HEARS)
			sw_post(p->w, p->index, from, SW_CARDS_TAKEN, 0);
	} else if (what == SW_CARDS_TAKEN) {
		count_ack(p);
	} else if (what == SW_OUTCOME) {
		hear_outcome(p, arg);
	}
}

/* ---- begin, end ---- */

bool
sw_calls_over(const struct sw *w)
{
	for (uint32_t p = 0; p < w->jobs.nprocs; p++)
		if (w->proc[p].alive && w->proc[p].stage != SW_IDLE)
			return false;
	return true;
}

void
sw_leave(struct sw *w)
{
	w->finishing = true;
	for (uint32_t p = 0; p < w->jobs.nprocs; p++)
		if (w->proc[p].alive && w->proc[p].stage == SW_IDLE)
			sw_post(w, p, SW_LAUNCHER, SW_OUT, 0);
}

static void
draw_ask(struct sw *w, uint32_t ask, uint32_t first, uint32_t n)
{
	static const char *const softs[] = {NULL, "1:8", "2,1", "1", "4:1:-2"};
	struct base_prng *g = &w->prng;
	struct sw_ask *a = &w->ask[ask];
	*a = (struct sw_ask){.root = first,
			     .first = first,
			     .n = n,
			     .node = ask,
			     .job = SW_NONE,
			     .imports = {SW_NONE, SW_NONE}};
	a->commands = (uint32_t)between(g, 1, SW_COMMANDS);
	for (uint32_t i = 0; i < a->commands; i++) {
		uint64_t wanted = between(g, 1, 3);
		a->count[i] = (struct launch_count){wanted, wanted};
		a->soft[i] = softs[base_prng_below(g, sizeof softs / sizeof *softs)];
	}
	w->proc[first].node = &w->m->node[ask];
}

struct sw *
sw_new(uint64_t seed, bool verbose, bool relays)
{
	struct sw *w = calloc(1, sizeof *w);
	struct doors_conf c;
	BASE_ASSERT(w);
	doors_conf_default(&c);
	c.nclusters = relays ? 2 : 1;
	c.relays = relays ? DOOR_CLIENT_SITES : 1;
	w->relays = relays;
	w->m = mt_new(seed, verbose, &c, SW_NODES);
	w->m->ops = &meet_ops_of_spawn;
	w->m->user = w;
	w->s = w->m->s;
	w->prng = base_prng_seed(seed ^ 0x737061776e);
	struct base_prng *g = &w->prng;
	w->slow_ns = PICK(g, 100, 1000, 5000) * BASE_US_NS;
	w->ranks = (uint32_t)between(g, 2, 4);
	for (uint32_t p = 0; p < w->ranks; p++)
		w->proc[p] = (struct sw_proc){.w = w, .index = p, .alive = true};
	uint32_t usize = coin(g, 50) ? w->ranks + (uint32_t)between(g, 1, 6) : 0;
	sw_launcher_new(w, coin(g, 70), usize);
	w->refuses_at = coin(g, 15) ? w->ranks + (uint32_t)between(g, 0, 3) : SW_NONE;
	/* Two jobs may be started at once, by others; the third call is by who is left. */
	uint32_t second = w->ranks > 2 && coin(g, 60) ? w->ranks - 1 : w->ranks;
	draw_ask(w, 0, 0, second);
	w->nasks = 1;
	if (second < w->ranks)
		draw_ask(w, w->nasks++, second, w->ranks - second);
	w->ask[0].sleeps = coin(g, 15);
	w->ask[0].ends = !w->ask[0].sleeps && coin(g, 15);
	for (uint32_t i = relays ? SW_FAR + 1 : SW_ASKS; i < SW_NODES; i++)
		mt_kill(&w->m->node[i]);
	mt_pass(w->m, 100 * BASE_MS_NS);
	return w;
}

void
sw_finish(struct sw *w, struct outcome *o)
{
	w->m->ops = NULL;
	mt_finish(w->m, o);
	free(w);
}
