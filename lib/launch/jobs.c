/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/jobs.h"

#include "canary.h"

#include <stddef.h>

#ifdef SUCI_CANARY
enum launch_bug launch_canary;
#endif

void
launch_jobs_init(struct launch_jobs *j)
{
	j->nprocs = j->njobs = j->alive = 0;
	j->ending = j->by_abort = j->missed = j->ended_well = false;
	j->status = j->first_bad = 0;
	j->kill_ns = BASE_NEVER_NS;
}

int
launch_status(const struct launch_end *e)
{
	return e->by_signal ? 128 + e->code : e->code;
}

static enum launch_state
launch_state_of(const struct launch_jobs *j, uint32_t p)
{
	return j->ops->state(j->user, p);
}

static bool
has_met(const struct launch_jobs *j, uint32_t job)
{
	return j->ops->met(j->user, job);
}

/* ---- the end of all ---- */

static void
end_running(struct launch_jobs *j, uint32_t first, uint32_t n, enum launch_signal how)
{
	for (uint32_t p = first; p < first + n; p++)
		if (j->proc[p].runs)
			j->ops->end(j->user, p, how);
}

void
launch_jobs_end(struct launch_jobs *j, int status, uint64_t now_ns)
{
	if (j->ending)
		return;
	j->ending = true;
	if (j->status == 0)
		j->status = status;
	end_running(j, 0, j->nprocs, LAUNCH_TERM);
	j->kill_ns = now_ns + LAUNCH_GRACE_NS;
}

/* Who asked for the end has said why. */
static bool
heed_abort(struct launch_jobs *j, uint64_t now_ns)
{
	int status = 0;

	if (j->ending || !j->ops->aborted(j->user, &status))
		return false;
	j->by_abort = true;
	launch_jobs_end(j, status & 0xff ? status & 0xff : 1, now_ns);
	return true;
}

/* ---- job 0 has not met ---- */

/* p is over, and a better reason for the end of the job than q: it was ended from outside, or is
 * the earlier one. */
static bool
explains_better(const struct launch_jobs *j, uint32_t p, uint32_t q)
{
	bool from_outside = j->proc[p].end.by_signal;

	if (q == LAUNCH_NOBODY || from_outside != j->proc[q].end.by_signal)
		return q == LAUNCH_NOBODY || from_outside;
	return j->proc[p].over_ns < j->proc[q].over_ns;
}

/* keep_going: a process that is over before all have met in MPI_Init, or NOBODY.  Those that are
 * in it would wait for ever; programs that never call it may end as they like. */
static uint32_t
find_missed(const struct launch_jobs *j)
{
	uint32_t first = LAUNCH_NOBODY;
	bool any_inside = false;

	if (!j->keep_going || j->missed || (j->ending && !j->by_abort) || has_met(j, 0))
		return LAUNCH_NOBODY;
	for (uint32_t p = 0; p < j->job[0].n; p++) {
		any_inside |= launch_state_of(j, p) != LAUNCH_NEVER;
		if (j->proc[p].over && explains_better(j, p, first))
			first = p;
	}
	return any_inside ? first : LAUNCH_NOBODY;
}

static void
end_if_missed(struct launch_jobs *j, uint64_t now_ns)
{
	uint32_t p = find_missed(j);

	if (p == LAUNCH_NOBODY)
		return;
	j->missed = true;
	j->ops->say(j->user, LAUNCH_SAYS_MISSED, p);
	int status = launch_status(&j->proc[p].end);
	launch_jobs_end(j, status ? status : 1, now_ns);
}

/* ---- one is over ---- */

/* keep_going: perhaps the last one. */
static void
settle_status(struct launch_jobs *j)
{
	if (j->keep_going && j->alive == 0)
		j->status = j->ended_well ? 0 : j->first_bad;
}

/* The others go on without it, however it ended. */
static void
outlive(struct launch_jobs *j, uint32_t p)
{
	int status = launch_status(&j->proc[p].end);
	bool inside = launch_state_of(j, p) == LAUNCH_INSIDE;

	if (find_missed(j) != LAUNCH_NOBODY)
		return; /* end_if_missed() will say it, when all that is known is known */
	if (status || inside)
		j->ops->say(j->user, LAUNCH_SAYS_OUTLIVED, p);
	if (status == 0 && !inside)
		j->ended_well = true;
	else if (j->first_bad == 0)
		j->first_bad = status ? status : 1;
	settle_status(j);
	if (j->alive)
		j->ops->tell_gone(j->user, p);
}

static void
settle_end(struct launch_jobs *j, uint32_t p, uint64_t now_ns)
{
	const struct launch_end *e = &j->proc[p].end;
	enum launch_state state = launch_state_of(j, p);

	j->proc[p].settled = true;
	if (j->keep_going) {
		outlive(j, p);
	} else if (e->by_signal || (e->code != 0 && state != LAUNCH_OUT) ||
		   state == LAUNCH_INSIDE) {
		int status = launch_status(e);
		j->ops->say(j->user, LAUNCH_SAYS_FAILED, p);
		launch_jobs_end(j, status ? status : 1, now_ns);
	} else if (e->code != 0) {
		/* After MPI_Finalize nobody waits for it, and the others have output to write. */
		j->ops->say(j->user, LAUNCH_SAYS_STATUS, p);
		if (j->status == 0)
			j->status = e->code;
	}
}

/* ---- a job that does not come ---- */

static uint32_t
first_over(const struct launch_jobs *j, const struct launch_job *b)
{
	uint32_t first = LAUNCH_NOBODY;

	for (uint32_t p = b->first; p < b->first + b->n; p++)
		if (j->proc[p].over &&
		    (first == LAUNCH_NOBODY || j->proc[p].over_ns < j->proc[first].over_ns))
			first = p;
	return first;
}

static void
begin_giving_up(struct launch_job *b, uint64_t now_ns)
{
	b->given_up = true;
	b->next = LAUNCH_TERM;
	b->next_ns = LAUNCH_BUG(SPARED) ? BASE_NEVER_NS : now_ns + LAUNCH_GRACE_NS;
}

/* Is nothing of it left?  Its asker waits for that. */
static void
close_given_up(struct launch_jobs *j, struct launch_job *b)
{
	uint32_t p = first_over(j, b);

	if (b->left > 0)
		return;
	b->next_ns = BASE_NEVER_NS;
	if (!b->unstarted && p != LAUNCH_NOBODY && !j->proc[b->asker].over && !LAUNCH_BUG(NO_WORD))
		j->ops->tell_unmet(j->user, b->asker, p);
	settle_status(j);
}

static void
give_up_with(struct launch_jobs *j, uint32_t p, uint64_t now_ns)
{
	struct launch_job *b = &j->job[j->proc[p].job];

	if (!b->given_up) {
		j->ops->say(j->user, LAUNCH_SAYS_GIVEN_UP, p);
		begin_giving_up(b, now_ns);
	}
	close_given_up(j, b);
}

/* Who has left MPI has ended its call before: whom it started may do without it. */
static void
give_up_orphans(struct launch_jobs *j, uint32_t asker, uint64_t now_ns)
{
	if (launch_state_of(j, asker) == LAUNCH_OUT || LAUNCH_BUG(ORPHANED))
		return;
	for (uint32_t i = 1; i < j->njobs; i++) {
		struct launch_job *b = &j->job[i];
		if (b->asker != asker || b->given_up || b->left == 0 || has_met(j, i))
			continue;
		j->ops->say(j->user, LAUNCH_SAYS_ORPHANED, asker);
		begin_giving_up(b, now_ns);
	}
}

/* Its word that it had met its asker came after the end of one of them. */
static void
stop_giving_up(struct launch_jobs *j, struct launch_job *b, uint64_t now_ns)
{
	b->given_up = false;
	b->next_ns = BASE_NEVER_NS;
	for (uint32_t p = b->first; p < b->first + b->n; p++) {
		if (!j->proc[p].over || j->proc[p].settled || j->ending)
			continue;
		j->ops->say(j->user, LAUNCH_SAYS_MET_AFTER, p);
		settle_end(j, p, now_ns);
	}
}

static void
turn_given_up(struct launch_jobs *j, uint64_t now_ns)
{
	for (uint32_t i = 1; i < j->njobs && !j->ending; i++) {
		struct launch_job *b = &j->job[i];
		if (!b->given_up || b->left == 0)
			continue;
		if (b->next == LAUNCH_TERM && !b->unstarted && has_met(j, i) &&
		    !LAUNCH_BUG(UNHEEDED)) {
			stop_giving_up(j, b, now_ns);
		} else if (now_ns >= b->next_ns) {
			enum launch_signal how = b->next;
			b->next = LAUNCH_KILL;
			b->next_ns = how == LAUNCH_TERM ? now_ns + LAUNCH_GRACE_NS : BASE_NEVER_NS;
			end_running(j, b->first, b->n, how);
		}
	}
}

/* ---- what the owner tells ---- */

enum launch_answer
launch_jobs_may(const struct launch_jobs *j, uint32_t asker, uint32_t n)
{
	if (j->ending || n == 0 || asker >= j->nprocs || j->proc[asker].over)
		return LAUNCH_NO;
	if (n > j->procs_max - j->nprocs)
		return LAUNCH_NO_ROOM;
	if (j->usize && !LAUNCH_BUG(CROWDED) && (n > j->usize || j->alive > j->usize - n))
		return LAUNCH_NO_ROOM;
	return LAUNCH_YES;
}

uint32_t
launch_jobs_add(struct launch_jobs *j, uint32_t asker, uint32_t n)
{
	uint32_t job = j->njobs++;

	j->job[job] = (struct launch_job){
		.first = j->nprocs, .n = n, .asker = asker, .next_ns = BASE_NEVER_NS};
	for (uint32_t k = 0; k < n; k++)
		j->proc[j->nprocs++] = (struct launch_proc){.job = job, .number = k};
	return job;
}

void
launch_jobs_started(struct launch_jobs *j, uint32_t p)
{
	j->proc[p].runs = true;
	j->job[j->proc[p].job].left++;
	j->alive++;
}

void
launch_jobs_unstarted(struct launch_jobs *j, uint32_t job, uint64_t now_ns)
{
	struct launch_job *b = &j->job[job];

	b->unstarted = true;
	if (job == 0) {
		launch_jobs_end(j, 1, now_ns);
		return;
	}
	begin_giving_up(b, now_ns);
	close_given_up(j, b);
}

void
launch_jobs_over(struct launch_jobs *j, uint32_t p, struct launch_end end, uint64_t now_ns)
{
	struct launch_proc *k = &j->proc[p];
	struct launch_job *b = &j->job[k->job];

	k->runs = false;
	k->over = true;
	k->end = end;
	k->over_ns = now_ns;
	b->left--;
	j->alive--;
	if (j->ending || heed_abort(j, now_ns))
		return;
	if (k->job != 0 && (b->given_up || !has_met(j, k->job)))
		give_up_with(j, p, now_ns);
	else
		settle_end(j, p, now_ns);
	if (!j->ending)
		give_up_orphans(j, p, now_ns);
}

void
launch_jobs_turn(struct launch_jobs *j, uint64_t now_ns)
{
	(void)heed_abort(j, now_ns);
	end_if_missed(j, now_ns);
	turn_given_up(j, now_ns);
	if (!j->ending && now_ns >= j->late_ns) {
		j->ops->say(j->user, LAUNCH_SAYS_LATE, LAUNCH_NOBODY);
		launch_jobs_end(j, j->late_status, now_ns);
	}
	if (j->ending && now_ns >= j->kill_ns) {
		j->kill_ns = BASE_NEVER_NS;
		end_running(j, 0, j->nprocs, LAUNCH_KILL);
	}
}

uint64_t
launch_jobs_due(const struct launch_jobs *j)
{
	uint64_t due = j->ending ? j->kill_ns : j->late_ns;

	for (uint32_t i = 1; i < j->njobs && !j->ending; i++)
		if (j->job[i].given_up)
			due = base_min_ns(due, j->job[i].next_ns);
	return due;
}

const char *
launch_jobs_check(const struct launch_jobs *j)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < j->njobs; i++) {
		const struct launch_job *b = &j->job[i];
		uint32_t left = 0;
		for (uint32_t p = b->first; p < b->first + b->n; p++)
			left += j->proc[p].runs;
		alive += left;
		if (left != b->left)
			return "a job counts others than those that run";
		if (b->given_up && b->left > 0 && b->next_ns == BASE_NEVER_NS &&
		    b->next != LAUNCH_KILL && !j->ending)
			return "a job is given up, and nobody ends it";
	}
	if (alive != j->alive)
		return "more or fewer are alive than jobs have";
	if (j->usize && j->njobs > 1 && j->alive > j->usize && j->alive > j->job[0].n)
		return "more run at once than there may be";
	return NULL;
}
