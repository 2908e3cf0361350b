/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "jobs": the job coordinators of a cluster (relay/cluster.h) with workers and gateways
 * that only count: jobs begin and end, relays die and come back, cables between them are cut, at
 * any step.  What must hold:
 *
 *     each event   a worker gets a job once and is told once that it is over; it never loses one
 * that nothing happened to; cores keep a job until its gateways have finished; the coordinator's
 * tables agree at the end   all that is up and connected has what still runs, and knows who reaches
 * whom; when all jobs have ended nobody has anything of them */
#include "channels.h"
#include "scenario.h"

#include "../unit/relay_job_maker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS	  4
#define WORKERS	  3
#define PLACES	  (WORKERS + 1) /* the last one is the gateway */
#define SETTLE_NS (30 * BASE_S_NS)
#define NOBODY_NS (3 * BASE_S_NS)
#define STEP_NS	  (50 * BASE_MS_NS)

/* Where a job is at a worker or gateway. */
struct place {
	bool here, finishing, left;
	bool refused; /* and nobody may know yet */
	uint64_t since_ns;
	uint32_t elsewhere;
	uint64_t at_ns; /* replies come in order */
};

struct truth;

struct node {
	struct play *play;
	uint32_t index;
	bool alive, gateway;
	uint64_t life;
	struct relay_cluster *cluster;
	struct relay_labels labels;
	void *mem;
	uint32_t rooms; /* tables of members */
	struct place place[JOBS][PLACES];
};

/* A job as its client sees it. */
struct truth {
	struct play *play;
	struct job_spec spec;
	struct relay_job *table;
	uint32_t primary;
	uint64_t life; /* the primary's */
	uint64_t begin_ns, run_ns;
	uint32_t handle; /* RELAY_CLUSTER_NONE: none (any more) */
	bool begun, installed, ended, ok;
	bool excused; /* something was done to it: it may end with a text */
	bool over;    /* no process is left */
	uint64_t over_ns;
};

struct play {
	struct sim *s;
	struct channels *channels;
	struct base_prng prng;
	uint32_t n;
	struct relay_member member[CHANNELS_MAX];
	struct node node[CHANNELS_MAX];
	struct truth job[JOBS];
	uint32_t njobs;
	uint32_t deaths, cuts, aborts, refusals;
	bool healed;
};

static uint64_t
draw(struct play *p, uint64_t n)
{
	return base_prng_next(&p->prng) % n;
}

static struct truth *
job_of(struct play *p, uint32_t label_base)
{
	for (uint32_t i = p->njobs; i-- > 0;)
		if (p->job[i].table && p->job[i].table->label_base == label_base)
			return &p->job[i];
	return NULL;
}

static bool
foreign(const struct truth *j)
{
	return j->table && j->table->nforeign;
}

/* ---- a worker, a gateway ------------------------------------------------------------ */

struct reply {
	struct node *node;
	uint64_t life;
	struct relay_cluster_order o;
	bool refused;
};

static void
check(struct play *p, uint32_t i)
{
	const char *what;
	struct node *n = &p->node[i];
	if (n->cluster)
		INVARIANT(p->s, TABLES, relay_cluster_check(n->cluster, &what), "relay %u: %s", i,
			  what);
}

static uint32_t
slot_of(const struct relay_cluster_order *o)
{
	return o->place == RELAY_CLUSTER_GATEWAY ? WORKERS : o->place;
}

static void
finished(struct sim *s, void *who, uint64_t arg)
{
	struct truth *j = who;
	struct node *n = &j->play->node[arg & 0xff];
	struct place *at = &n->place[j - j->play->job][WORKERS];
	(void)s;
	if (n->life != arg >> 8 || !at->here || !at->finishing)
		return;
	at->here = false;
	relay_cluster_finished(n->cluster, j->table->label_base, "");
	check(j->play, n->index);
}

static void
reply(struct sim *s, void *who, uint64_t arg)
{
	struct reply *r = who;
	struct node *n = r->node;
	(void)s;
	(void)arg;
	if (n->life == r->life) {
		struct truth *j = job_of(n->play, r->o.label_base);
		bool finish = r->o.type == RELAY_CLUSTER_FINISH;
		relay_cluster_answer(n->cluster, r->o.job, r->o.type, r->o.place,
				     r->refused ? "it has no room" : NULL);
		if (finish && !r->refused)
			sim_at(s, s->now_ns + draw(n->play, 300 * BASE_MS_NS), finished, j,
			       n->life << 8 | n->index);
		check(n->play, n->index);
	}
	free(r);
}

/* Nobody but the coordinator takes a job away, and that only once. */
static bool
obey(struct node *n, struct truth *j, const struct relay_cluster_order *o)
{
	struct play *p = n->play;
	struct place *at = &n->place[j - p->job][slot_of(o)];
	switch (o->type) {
	case RELAY_CLUSTER_ADD:
		INVARIANT(p->s, ONCE, !at->here, "relay %u.%u gets job %u twice", n->index,
			  slot_of(o), o->label_base);
		if (draw(p, 200) == 0) {
			p->refusals++;
			j->excused = true;
			at->refused = true;
			return false;
		}
		*at = (struct place){.here = true, .since_ns = p->s->now_ns, .at_ns = at->at_ns};
		return true;
	case RELAY_CLUSTER_END:
		INVARIANT(p->s, OWNER, at->here || at->refused,
			  "relay %u.%u: END of job %u, which it has not", n->index, slot_of(o),
			  o->label_base);
		INVARIANT(p->s, REASON, !*o->text || j->excused || foreign(j) || j->over,
			  "relay %u: job %u, to which nothing happened, ends: %s", n->index,
			  o->label_base, o->text);
		for (uint32_t i = 0; !*o->text && i < p->n; i++)
			INVARIANT(p->s, ORDER,
				  !p->node[i].place[j - p->job][WORKERS].here || j->excused,
				  "relay %u forgets job %u while the gateway of %u finishes",
				  n->index, o->label_base, i);
		at->here = false;
		return true;
	case RELAY_CLUSTER_FINISH:
		if (!at->here)
			return false;
		at->finishing = true;
		return true;
	case RELAY_CLUSTER_ELSEWHERE:
		at->elsewhere = o->ways;
		return true;
	}
	return true;
}

static void
order(void *user, const struct relay_cluster_order *o)
{
	struct node *n = user;
	struct play *p = n->play;
	struct truth *j = job_of(p, o->label_base);
	SIM_CHECK(p->s, j, "relay %u: an order about job %u, which nobody has", n->index,
		  o->label_base);
	if (!j)
		return;
	bool done = obey(n, j, o);
	if (o->type == RELAY_CLUSTER_ELSEWHERE)
		return;
	struct place *at = &n->place[j - p->job][slot_of(o)];
	struct reply *r = malloc(sizeof *r);
	if (!r)
		abort();
	*r = (struct reply){n, n->life, *o, !done};
	at->at_ns = base_max_ns(at->at_ns + 1, p->s->now_ns + draw(p, 3 * BASE_MS_NS));
	sim_at(p->s, at->at_ns, reply, r, 0);
}

/* ---- what the coordinator wants ------------------------------------------------------- */

static bool
send_frame(void *user, uint32_t i, const struct relay_peer_frame *f)
{
	struct node *n = user;
	return channels_send(n->play->channels, n->index, i, f);
}

static bool
send_job(void *user, uint32_t i, const struct relay_job *table)
{
	struct node *n = user;
	return channels_send_job(n->play->channels, n->index, i, table);
}

static void *
room(void *user, size_t len)
{
	struct node *n = user;
	n->rooms++;
	return malloc(len);
}

static void
give_back(void *user, void *mem)
{
	struct node *n = user;
	n->rooms--;
	free(mem);
}

static void
end_job(struct truth *j, const char *why)
{
	struct node *n = &j->play->node[j->primary];
	if (j->ended)
		return;
	j->ended = true;
	j->ok = !why;
	sim_log(j->play->s, "job %u ends: %s", j->table->label_base, why ? why : "well");
	relay_cluster_end(n->cluster, j->handle, why);
}

static sim_fn client_ends;

static void
installed(void *user, void *owner, const char *refusal)
{
	struct truth *j = owner;
	struct node *n = user;
	struct play *p = j->play;
	INVARIANT(p->s, REASON, !refusal || j->excused || foreign(j), "job %u is refused: %s",
		  j->table->label_base, refusal);
	if (refusal) {
		end_job(j, refusal);
		return;
	}
	INVARIANT(p->s, ONCE, !j->installed, "job %u is installed twice", j->table->label_base);
	j->installed = true;
	relay_cluster_running(n->cluster, j->handle);
}

static void
aborted(void *user, void *owner, const char *why)
{
	struct truth *j = owner;
	(void)user;
	INVARIANT(j->play->s, REASON, j->excused || foreign(j) || j->over,
		  "job %u, to which nothing happened, is aborted: %s", j->table->label_base, why);
	end_job(j, why);
}

static void
handed_over(void *user, void *owner)
{
	struct truth *j = owner;
	(void)user;
	j->ended = true;
}

static void
say(void *user, enum relay_cluster_level level, void *owner, uint32_t id, uint32_t primary,
    const char *text)
{
	struct node *n = user;
	(void)level;
	(void)owner;
	(void)id;
	sim_log(n->play->s, "relay %u: job of %u: %s", n->index, primary, text);
}

static const struct relay_cluster_ops ops = {
	.order = order,
	.send = send_frame,
	.send_job = send_job,
	.room = room,
	.give_back = give_back,
	.installed = installed,
	.aborted = aborted,
	.handed_over = handed_over,
	.say = say,
};

/* ---- relays ----------------------------------------------------------------------------- */

static void
tick(struct sim *s, void *who, uint64_t life)
{
	struct node *n = who;
	if (n->life != life)
		return;
	relay_cluster_tick(n->cluster, s->now_ns);
	check(n->play, n->index);
	sim_at(s, s->now_ns + STEP_NS, tick, n, life);
}

static void
start(struct play *p, uint32_t i)
{
	struct node *n = &p->node[i];
	struct relay_cluster_conf conf = {
		.self = i,
		.nrelays = p->n,
		.member = p->member,
		.name = "a",
		.gateway = true,
		.jobs_max = 2 * JOBS,
		.limits = {.nworld_max = 64, .nhosts_max = 64},
		.labels = &n->labels,
		.ops = &ops,
		.user = n,
	};
	relay_labels_init(&n->labels, i);
	n->labels.next = (uint32_t)draw(p, 2); /* an earlier run's labels are met */
	n->mem = malloc(relay_cluster_footprint(&conf));
	n->cluster = relay_cluster_new(n->mem, &conf);
	n->life++;
	n->alive = true;
	channels_join(p->channels, i, n->cluster);
	sim_at(p->s, p->s->now_ns + draw(p, STEP_NS), tick, n, n->life);
}

/* A job that only had this one is over, and one with foreign hosts. */
static void
kill_relay(struct play *p, uint32_t i)
{
	struct node *n = &p->node[i];
	if (!n->alive)
		return;
	sim_log(p->s, "relay %u dies", i);
	p->deaths++;
	channels_kill(p->channels, i, draw(p, 2));
	for (uint32_t k = 0; k < p->njobs; k++) {
		struct truth *j = &p->job[k];
		if (j->begun && j->primary == i && j->life == n->life) {
			j->handle = RELAY_CLUSTER_NONE;
			j->excused |= !j->installed; /* start-up needs its primary */
		}
		if (foreign(j))
			j->excused = true;
	}
	relay_cluster_fini(n->cluster);
	INVARIANT(p->s, EMPTY, !n->rooms, "relay %u: %u tables are not given back", i, n->rooms);
	free(n->mem);
	n->cluster = NULL;
	n->alive = false;
	n->life++;
	memset(n->place, 0, sizeof n->place);
}

static void
revive(struct sim *s, void *who, uint64_t i)
{
	struct play *p = who;
	(void)s;
	if (p->node[i].alive)
		return;
	sim_log(p->s, "relay %u is back", (uint32_t)i);
	start(p, (uint32_t)i);
}

/* ---- a job's life -------------------------------------------------------------------------- */

static sim_fn leave;

/* Its processes end: all of them, wherever they are connected. */
static void
all_leave(struct truth *j)
{
	struct play *p = j->play;
	if (j->over)
		return;
	j->over = true;
	j->over_ns = p->s->now_ns;
	for (uint32_t i = 0; i < p->n; i++)
		sim_at(p->s, p->s->now_ns + draw(p, 400 * BASE_MS_NS), leave, j, i);
}

/* At one relay.  Where none of them was connected nobody leaves, and the core ends the job for want
 * of anybody. */
static void
leave(struct sim *s, void *who, uint64_t i)
{
	struct truth *j = who;
	struct play *p = j->play;
	struct node *n = &p->node[i];
	struct place *at = n->place[j - p->job];
	bool any = false;
	for (uint32_t w = 0; w < WORKERS; w++) {
		if (!n->alive || !at[w].here)
			continue;
		any = true;
		if (at[w].since_ns < j->over_ns && !at[w].left) {
			at[w].left = true;
			relay_cluster_state(n->cluster, j->table->label_base, w, 3, true,
					    s->now_ns);
		} else if (!at[w].left && s->now_ns - at[w].since_ns > NOBODY_NS) {
			at[w].here = false;
			relay_cluster_ended(n->cluster, j->table->label_base, w,
					    "nobody has a way to client 1");
		}
		check(p, n->index);
	}
	if (any || !p->healed || s->now_ns < j->over_ns + 60 * BASE_S_NS)
		sim_at(s, s->now_ns + BASE_S_NS, leave, j, i);
}

static void
client_ends(struct sim *s, void *who, uint64_t arg)
{
	struct truth *j = who;
	struct node *n = &j->play->node[j->primary];
	(void)arg;
	if (!j->begun)
		return;
	bool lives = n->alive && n->life == j->life;
	if (lives && !j->ended && !j->installed) { /* it takes longer than usual */
		sim_at(s, s->now_ns + BASE_S_NS, client_ends, j, 0);
		return;
	}
	all_leave(j);
	if (j->ended || !lives)
		return;
	end_job(j, NULL);
	check(j->play, n->index);
}

/* Something goes wrong in a core or gateway that has it. */
static void
abort_job(struct sim *s, void *who, uint64_t arg)
{
	struct truth *j = who;
	struct play *p = j->play;
	struct node *n = &p->node[arg % p->n];
	uint32_t w = (uint32_t)(arg / p->n % PLACES);
	(void)s;
	if (!j->begun || !n->alive)
		return;
	struct place *at = &n->place[j - p->job][w];
	if (!at->here)
		return;
	sim_log(p->s, "relay %u.%u aborts job %u", n->index, w, j->table->label_base);
	j->excused = true;
	p->aborts++;
	at->here = false;
	all_leave(j);
	relay_cluster_ended(n->cluster, j->table->label_base,
			    w == WORKERS ? RELAY_CLUSTER_GATEWAY : w, "a process died");
	check(p, n->index);
}

static void
begin(struct sim *s, void *who, uint64_t arg)
{
	struct truth *j = who;
	struct play *p = j->play;
	struct node *n = &p->node[j->primary];
	uint64_t members = 0;
	(void)arg;
	if (!n->alive)
		return;
	j->spec.label_base[0] = relay_labels_alloc(&n->labels, 8);
	for (uint32_t k = 0; k < p->njobs; k++)
		if (&p->job[k] != j && p->job[k].table &&
		    p->job[k].table->label_base == j->spec.label_base[0])
			return; /* one at a time: the places are by label */
	for (uint32_t i = 0; i < p->n; i++)
		if (i == n->index || channels_up(p->channels, n->index, i) || draw(p, 4) == 0)
			members |= 1ull << i;
	j->table = make_job(&j->spec);
	j->life = n->life;
	j->begun = true;
	sim_log(s, "relay %u begins job %u, members 0x%llx%s", n->index, j->table->label_base,
		(unsigned long long)members, j->table->nforeign ? ", foreign hosts" : "");
	j->handle = relay_cluster_begin(n->cluster, j, j->table, members, s->now_ns);
	check(p, n->index);
	sim_at(s, s->now_ns + j->run_ns, client_ends, j, 0);
}

/* Workers see trunks. */
static void
see(struct sim *s, void *who, uint64_t arg)
{
	struct play *p = who;
	struct node *n = &p->node[draw(p, p->n)];
	(void)arg;
	for (uint32_t k = 0; k < p->njobs && n->alive; k++)
		for (uint32_t w = 0; w < WORKERS; w++)
			if (n->place[k][w].here)
				relay_cluster_state(n->cluster, p->job[k].table->label_base, w,
						    (uint32_t)draw(p, 4), n->place[k][w].left,
						    s->now_ns);
	if (!p->healed)
		sim_at(s, s->now_ns + draw(p, BASE_S_NS), see, p, 0);
}

/* ---- faults ------------------------------------------------------------------------------------
 */

static void
fault(struct sim *s, void *who, uint64_t arg)
{
	struct play *p = who;
	uint32_t i = (uint32_t)draw(p, p->n), k = (uint32_t)draw(p, p->n);
	(void)arg;
	if (p->healed)
		return;
	switch (draw(p, 6)) {
	case 0:
	case 1:
		kill_relay(p, i);
		sim_at(s, s->now_ns + draw(p, 6 * BASE_S_NS), revive, p, i);
		break;
	case 2:
		if (i != k)
			channels_break(p->channels, i, k);
		break;
	case 3:
		if (i != k)
			channels_heal(p->channels, i, k);
		break;
	default:
		if (i == k)
			break;
		sim_log(s, "cable %u-%u is cut", i, k);
		p->cuts++;
		channels_cut(p->channels, i, k);
	}
	for (uint32_t m = 0; m < p->njobs; m++) /* start-up, and foreign hosts, need channels */
		if (!p->job[m].installed || foreign(&p->job[m]))
			p->job[m].excused |= foreign(&p->job[m]);
	sim_at(s, s->now_ns + draw(p, 2 * BASE_S_NS), fault, p, 0);
}

static void
heal(struct play *p)
{
	p->healed = true;
	sim_log(p->s, "all is well again");
	for (uint32_t i = 0; i < p->n; i++) {
		revive(p->s, p, i);
		for (uint32_t k = i + 1; k < p->n; k++)
			channels_heal(p->channels, i, k);
	}
}

/* ---- the end
 * ------------------------------------------------------------------------------------- */

/* What a job's relays know of it, once all are connected. */
static void
check_running(struct play *p, const struct truth *j)
{
	size_t k = (size_t)(j - p->job);
	bool somewhere = false;
	for (uint32_t i = 0; i < p->n; i++)
		somewhere |= p->node[i].place[k][0].here;
	if (!somewhere || j->over || j->ended || !j->installed || foreign(j))
		return;
	for (uint32_t i = 0; i < p->n; i++)
		INVARIANT(p->s, COMPLETE, p->node[i].place[k][0].here || j->excused,
			  "relay %u has not got job %u, which others have", i,
			  j->table->label_base);
}

static void
check_gone(struct play *p)
{
	struct relay_cluster_info info;
	for (uint32_t i = 0; i < p->n; i++) {
		struct node *n = &p->node[i];
		for (uint32_t k = 0; k < p->njobs; k++) {
			struct truth *j = &p->job[k];
			for (uint32_t w = 0; w < PLACES; w++)
				INVARIANT(p->s, EMPTY, !n->place[k][w].here,
					  "relay %u.%u still has job %u", i, w,
					  j->table->label_base);
			if (j->handle != RELAY_CLUSTER_NONE && j->primary == i &&
			    j->life == n->life && j->begun) {
				INVARIANT(p->s, EMPTY, relay_cluster_over(n->cluster, j->handle),
					  "job %u is not over at its primary",
					  j->table->label_base);
				relay_cluster_forget(n->cluster, j->handle);
			}
		}
		for (uint32_t k = 0; k < 2 * JOBS; k++)
			INVARIANT(p->s, EMPTY, !relay_cluster_job(n->cluster, k, &info),
				  "relay %u: its coordinator still has job %u%s", i,
				  info.label_base, info.orphan ? ", an orphan" : "");
	}
}

static void
after(void *user, uint32_t i)
{
	check(user, i);
}

static void
cast(struct play *p)
{
	p->n = 2 + (uint32_t)draw(p, 3);
	p->channels = channels_new(p->s, p->n, after, p, p->s->seed);
	for (uint32_t i = 0; i < p->n; i++) {
		p->member[i] = (struct relay_member){
			.ipv4_global = maker_relay_ip(0, i),
			.ipv4_private = 0x0a000100u + i,
			.nshards = WORKERS,
			.port_global = {7000, 7001, 7002},
		};
		p->node[i].play = p;
		p->node[i].index = i;
		start(p, i);
	}
	p->njobs = 1 + (uint32_t)draw(p, JOBS);
	for (uint32_t k = 0; k < p->njobs; k++) {
		struct truth *j = &p->job[k];
		bool has_other = draw(p, 3);
		*j = (struct truth){
			.play = p,
			.spec = {.nclients = 2,
				 .nprocs = {4, 2},
				 .nrelays = {p->n, has_other ? 1 : 0},
				 .label_base = {0, 0x05000040},
				 .token = 0x1000 + k,
				 .id = k + 1},
			.handle = RELAY_CLUSTER_NONE,
		};
		j->primary = (uint32_t)draw(p, p->n);
		j->begin_ns = p->s->now_ns + draw(p, 8 * BASE_S_NS);
		j->run_ns = draw(p, 15 * BASE_S_NS);
		j->spec.foreign[1] = j->spec.nrelays[1] ? 0 : 1;
		sim_at(p->s, j->begin_ns, begin, j, 0);
		if (draw(p, 4) == 0) {
			uint64_t arg = draw(p, 1000);
			sim_at(p->s, j->begin_ns + draw(p, j->run_ns + 1), abort_job, j, arg);
		}
	}
}

void
jobs_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct play *p = calloc(1, sizeof *p);
	struct sim *s = sim_new(seed);
	if (!p)
		abort();
	s->verbose = verbose;
	p->s = s;
	p->prng = base_prng_seed(seed);
	cast(p);
	sim_at(s, s->now_ns + draw(p, BASE_S_NS), see, p, 0);
	if (draw(p, 8))
		sim_at(s, s->now_ns + draw(p, 4 * BASE_S_NS), fault, p, 0);
	sim_run(s, s->now_ns + 12 * BASE_S_NS, NULL, NULL);
	heal(p);
	sim_run(s, s->now_ns + 8 * BASE_S_NS, NULL, NULL);
	for (uint32_t k = 0; k < p->njobs && !s->failed; k++)
		check_running(p, &p->job[k]);
	sim_run(s, s->now_ns + SETTLE_NS, NULL, NULL);
	if (!s->failed)
		check_gone(p);
	snprintf(o->note, sizeof o->note,
		 "%u relays, %u jobs, %u deaths, %u cuts, %u aborts, %u refusals", p->n, p->njobs,
		 p->deaths, p->cuts, p->aborts, p->refusals);
	for (uint32_t i = 0; i < p->n; i++)
		kill_relay(p, i);
	channels_free(p->channels);
	for (uint32_t k = 0; k < p->njobs; k++)
		free(p->job[k].table);
	sim_outcome(s, o);
	free(p);
	sim_free(s);
}
