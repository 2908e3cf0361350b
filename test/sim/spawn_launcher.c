/* SPDX-License-Identifier: BSD-2-Clause */
/* The launcher of sim/spawn.h: what tools/mpirun has around lib/launch. */
#include "spawn.h"

#include "draw.h"

#include <stdio.h>

static enum launch_state
tell_state_of(void *user, uint32_t p)
{
	return ((struct sw *)user)->state[p];
}

static bool
tell_met(void *user, uint32_t job)
{
	return ((struct sw *)user)->met[job];
}

/* Nobody calls MPI_Abort but those who have not met, which is the end of their job alone. */
static bool
tell_aborted(void *user, int *status)
{
	(void)user, (void)status;
	return false;
}

static void
end_of_process(void *user, uint32_t p, enum launch_signal how)
{
	struct sw *w = user;
	uint32_t job = w->launched[p].job;
	INVARIANT(w->s, ALIVE, w->jobs.ending || w->job[job].given_up,
		  "process %u of job %u is ended, and its job was not given up", p, job);
	INVARIANT(w->s, ALIVE, w->jobs.ending || how == LAUNCH_KILL || !w->met[job],
		  "job %u has met who asked for it, and is ended", job);
	INVARIANT(w->s, ALIVE, !w->jobs.ending || !w->jobs.keep_going || w->finishing,
		  "all are ended, and were to go on");
	/* One of MPI_Init dies of it. */
	sw_die(w, p, (struct launch_end){true, how == LAUNCH_TERM ? 15 : 9});
}

static void
tell_others_gone(void *user, uint32_t p)
{
	(void)user, (void)p; /* the others notice by themselves */
}

static void
tell_asker(void *user, uint32_t asker, uint32_t p)
{
	struct sw *w = user;
	INVARIANT(w->s, TOLD, w->job[w->launched[p].job].left == 0,
		  "process %u is told that nobody comes, and some are left", asker);
	sw_post(w, SW_LAUNCHER, asker, SW_UNMET, w->launched[p].job);
}

static void
log_word(void *user, enum launch_word what, uint32_t p)
{
	sim_log(((struct sw *)user)->s, "launcher: process %u: %d", p, what);
}

static const struct launch_ops launch_ops_of_sim = {.state = tell_state_of,
						    .met = tell_met,
						    .aborted = tell_aborted,
						    .end = end_of_process,
						    .tell_gone = tell_others_gone,
						    .tell_unmet = tell_asker,
						    .say = log_word};

/* ---- turns ---- */

static sim_fn wake_launcher;

static void
turn_launcher(struct sw *w)
{
	const char *what;
	if (!w->launcher_alive)
		return;
	launch_jobs_turn(&w->jobs, w->s->now_ns);
	what = launch_jobs_check(&w->jobs);
	INVARIANT(w->s, TABLES, !what, "launcher: %s", what);
	uint64_t due = launch_jobs_due(&w->jobs);
	INVARIANT(w->s, TIMER, due == BASE_NEVER_NS || due > w->s->now_ns,
		  "launcher: something was due, and is due again");
	if (due != BASE_NEVER_NS && due != w->next_turn_ns) {
		w->next_turn_ns = due;
		sim_at(w->s, due, wake_launcher, w, due);
	}
}

static void
wake_launcher(struct sim *s, void *who, uint64_t arg)
{
	struct sw *w = who;
	(void)s;
	if (arg == w->next_turn_ns)
		turn_launcher(w);
}

void
sw_launcher_new(struct sw *w, bool keep_going, uint32_t usize)
{
	w->jobs = (struct launch_jobs){.proc = w->launched,
				       .job = w->job,
				       .procs_max = SW_PROCS,
				       .usize = usize,
				       .keep_going = keep_going,
				       .late_ns = BASE_NEVER_NS,
				       .ops = &launch_ops_of_sim,
				       .user = w};
	launch_jobs_init(&w->jobs);
	w->launcher_alive = true;
	launch_jobs_add(&w->jobs, LAUNCH_NOBODY, w->ranks);
	w->met[0] = true;
	for (uint32_t p = 0; p < w->ranks; p++) {
		launch_jobs_started(&w->jobs, p);
		w->state[p] = LAUNCH_INSIDE;
	}
}

/* ---- what it hears ---- */

static uint64_t
start_job(struct sw *w, uint32_t asker)
{
	struct sw_ask *a = &w->ask[w->proc[asker].ask];
	uint64_t n = 0;
	for (uint32_t i = 0; i < a->commands; i++)
		n += a->count[i].n;
	enum launch_answer may = launch_jobs_may(&w->jobs, asker, (uint32_t)n);
	if (may != LAUNCH_YES)
		return may;
	uint32_t job = launch_jobs_add(&w->jobs, asker, (uint32_t)n);
	uint32_t first = w->job[job].first;
	a->job = job;
	w->ask_of[job] = w->proc[asker].ask;
	for (uint32_t p = first; p < first + n; p++) {
		if (p == w->refuses_at) {
			launch_jobs_unstarted(&w->jobs, job, w->s->now_ns);
			return LAUNCH_NO;
		}
		launch_jobs_started(&w->jobs, p);
		sw_child_begins(w, p, w->proc[asker].ask);
	}
	return SW_STARTED + job;
}

static void
count_fence(struct sw *w, uint32_t p)
{
	uint32_t job = w->launched[p].job;
	const struct launch_job *b = &w->job[job];
	if (++w->fenced[job] < b->n)
		return;
	for (uint32_t k = b->first; k < b->first + b->n; k++)
		sw_post(w, SW_LAUNCHER, k, SW_RELEASE, 0);
}

void
sw_launcher_hears(struct sw *w, uint32_t from, uint32_t what, uint64_t arg)
{
	(void)arg;
	if (!w->launcher_alive)
		return;
	if (what == SW_ASK) {
		sw_post(w, SW_LAUNCHER, from, SW_ANSWER, start_job(w, from));
	} else if (what == SW_INSIDE) {
		w->state[from] = LAUNCH_INSIDE;
	} else if (what == SW_FENCE) {
		count_fence(w, from);
	} else if (what == SW_MET) {
		w->met[w->launched[from].job] = true;
		sw_post(w, SW_LAUNCHER, from, SW_ACK, 0);
	} else if (what == SW_OUT) {
		w->state[from] = LAUNCH_OUT;
		sw_post(w, SW_LAUNCHER, from, SW_ACK, 0);
	}
	turn_launcher(w);
}

void
sw_launcher_reaps(struct sw *w, uint32_t p, struct launch_end e)
{
	uint32_t job = w->launched[p].job;
	if (!w->launcher_alive)
		return;
	launch_jobs_over(&w->jobs, p, e, w->s->now_ns);
	if (w->job[job].left == 0) {
		w->gone_ns[job] = w->s->now_ns;
		/* Some launchers say so of each job. */
		if (job % 2 == 1 && w->proc[w->job[job].asker].alive)
			sw_post(w, SW_LAUNCHER, w->job[job].asker, SW_ENDED, job);
	}
	turn_launcher(w);
}
