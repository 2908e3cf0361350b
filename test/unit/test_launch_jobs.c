/* SPDX-License-Identifier: BSD-2-Clause */
/* Who of a launcher's processes ends with whom, and what is told; the simulator's scenario "spawn"
 * has the rest. */
#include "launch/jobs.h"

#include "cmocka_all.h"

#include <string.h>

#define MOST 16u

static struct {
	struct launch_jobs jobs;
	struct launch_proc proc[MOST];
	struct launch_job job[MOST];
	enum launch_state state[MOST];
	bool met[MOST], aborted;
	uint32_t terms[MOST], kills[MOST], gone, unmet, unmet_asker;
} t;

static enum launch_state
tell_its_state(void *user, uint32_t p)
{
	(void)user;
	return t.state[p];
}

static bool
tell_it_met(void *user, uint32_t job)
{
	(void)user;
	return t.met[job];
}

static bool
say_aborted(void *user, int *status)
{
	(void)user;
	*status = 0x105;
	return t.aborted;
}

static void
count_end(void *user, uint32_t p, enum launch_signal how)
{
	(void)user;
	assert_true(t.proc[p].runs);
	(how == LAUNCH_TERM ? t.terms : t.kills)[p]++;
}

static void
count_gone(void *user, uint32_t p)
{
	(void)user, (void)p;
	t.gone++;
}

static void
count_unmet(void *user, uint32_t asker, uint32_t p)
{
	(void)user, (void)p;
	t.unmet++;
	t.unmet_asker = asker;
}

static void
hush(void *user, enum launch_word what, uint32_t p)
{
	(void)user, (void)what, (void)p;
}

static void
begin_launch(uint32_t n, bool keep_going)
{
	static const struct launch_ops ops = {tell_its_state, tell_it_met, say_aborted, count_end,
					      count_gone,     count_unmet, hush};

	memset(&t, 0, sizeof t);
	t.jobs = (struct launch_jobs){.proc = t.proc,
				      .job = t.job,
				      .procs_max = MOST,
				      .keep_going = keep_going,
				      .late_ns = BASE_NEVER_NS,
				      .ops = &ops};
	launch_jobs_init(&t.jobs);
	assert_int_equal(launch_jobs_add(&t.jobs, LAUNCH_NOBODY, n), 0);
	for (uint32_t p = 0; p < n; p++) {
		launch_jobs_started(&t.jobs, p);
		t.state[p] = LAUNCH_INSIDE;
	}
	t.met[0] = true;
}

/* n more for process asker; the job. */
static uint32_t
spawn_job(uint32_t asker, uint32_t n)
{
	assert_int_equal(launch_jobs_may(&t.jobs, asker, n), LAUNCH_YES);
	uint32_t job = launch_jobs_add(&t.jobs, asker, n);

	for (uint32_t k = 0; k < n; k++)
		launch_jobs_started(&t.jobs, t.job[job].first + k);
	return job;
}

static void
end_one(uint32_t p, bool by_signal, int code, uint64_t now)
{
	launch_jobs_over(&t.jobs, p, (struct launch_end){by_signal, code}, now);
	assert_null(launch_jobs_check(&t.jobs));
}

static void
a_failure_ends_all(void **state)
{
	(void)state;
	begin_launch(3, false);
	end_one(1, true, 9, 100);
	assert_true(t.jobs.ending && t.jobs.status == 137);
	assert_true(t.terms[0] == 1 && t.terms[1] == 0 && t.terms[2] == 1);
	assert_true(launch_jobs_due(&t.jobs) == 100 + LAUNCH_GRACE_NS);
	launch_jobs_turn(&t.jobs, 100 + LAUNCH_GRACE_NS);
	assert_true(t.kills[0] == 1 && t.kills[2] == 1);
	assert_true(launch_jobs_due(&t.jobs) == BASE_NEVER_NS);
	assert_int_equal(launch_jobs_may(&t.jobs, 0, 1), LAUNCH_NO);
}

static void
exit_statuses(void **state)
{
	(void)state;
	/* After MPI_Finalize the others have output to write. */
	begin_launch(2, false);
	t.state[0] = LAUNCH_OUT;
	end_one(0, false, 3, 1);
	assert_true(!t.jobs.ending && t.jobs.status == 3);
	begin_launch(2, false);
	end_one(0, false, 0, 1);
	assert_true(t.jobs.ending && t.jobs.status == 1);
	begin_launch(2, true);
	end_one(0, false, 7, 1);
	assert_true(!t.jobs.ending && t.gone == 1);
	end_one(1, true, 6, 2);
	assert_true(t.jobs.status == 7);
	begin_launch(2, true);
	end_one(0, true, 6, 2);
	t.state[1] = LAUNCH_OUT;
	end_one(1, false, 0, 2);
	assert_true(t.jobs.status == 0);
	begin_launch(2, false);
	t.aborted = true;
	launch_jobs_turn(&t.jobs, 5);
	assert_true(t.jobs.ending && t.jobs.status == 5);
}

/* Each in its time, whatever happens to others meanwhile. */
static void
jobs_that_do_not_come(void **state)
{
	(void)state;
	begin_launch(2, false);
	uint32_t a = spawn_job(0, 2), b = spawn_job(1, 3);
	uint32_t pa = t.job[a].first, pb = t.job[b].first;
	end_one(pa, false, 0, 0);
	assert_true(t.job[a].given_up && !t.jobs.ending && t.unmet == 0);
	end_one(pb, true, 11, LAUNCH_GRACE_NS - 1);
	launch_jobs_turn(&t.jobs, LAUNCH_GRACE_NS);
	assert_true(t.terms[pa + 1] == 1 && t.terms[pb + 1] == 0);
	launch_jobs_turn(&t.jobs, 2 * LAUNCH_GRACE_NS);
	assert_true(t.kills[pa + 1] == 1 && t.terms[pb + 1] == 1 && t.kills[pb + 1] == 0);
	end_one(pa + 1, true, 9, 2 * LAUNCH_GRACE_NS);
	assert_true(t.unmet == 1 && t.unmet_asker == 0);
	end_one(pb + 1, true, 15, 2 * LAUNCH_GRACE_NS);
	end_one(pb + 2, true, 15, 2 * LAUNCH_GRACE_NS);
	assert_true(t.unmet == 2 && t.unmet_asker == 1 && !t.jobs.ending && t.jobs.status == 0);
	assert_true(launch_jobs_due(&t.jobs) == BASE_NEVER_NS);
}

static void
its_word_is_late(void **state)
{
	(void)state;
	begin_launch(2, true);
	uint32_t a = spawn_job(0, 2), p = t.job[a].first;
	end_one(p, true, 9, 10);
	assert_true(t.job[a].given_up);
	t.met[a] = true;
	launch_jobs_turn(&t.jobs, 20);
	assert_true(!t.job[a].given_up && t.gone == 1);
	launch_jobs_turn(&t.jobs, 10 * LAUNCH_GRACE_NS);
	assert_true(t.terms[p + 1] == 0 && t.unmet == 0);
	/* Without keep_going it is the end of all, as any death. */
	begin_launch(2, false);
	a = spawn_job(0, 2);
	end_one(t.job[a].first, true, 9, 10);
	t.met[a] = true;
	launch_jobs_turn(&t.jobs, 20);
	assert_true(t.jobs.ending && t.jobs.status == 137);
}

static void
who_asked_dies(void **state)
{
	(void)state;
	begin_launch(2, true);
	uint32_t a = spawn_job(0, 1), b = spawn_job(1, 1);
	end_one(0, true, 9, 0);
	assert_true(t.job[a].given_up && !t.job[b].given_up);
	launch_jobs_turn(&t.jobs, LAUNCH_GRACE_NS);
	assert_true(t.terms[t.job[a].first] == 1 && t.terms[t.job[b].first] == 0);
	end_one(t.job[a].first, true, 15, LAUNCH_GRACE_NS);
	assert_true(t.unmet == 0);
	assert_int_equal(launch_jobs_may(&t.jobs, 0, 1), LAUNCH_NO);
	/* It has ended its call before, and left: who was started may do without it. */
	begin_launch(2, true);
	a = spawn_job(0, 1);
	t.state[0] = LAUNCH_OUT;
	end_one(0, false, 0, 0);
	assert_true(!t.job[a].given_up);
}

static void
not_all_can_be_started(void **state)
{
	(void)state;
	begin_launch(1, false);
	t.jobs.usize = 4;
	assert_int_equal(launch_jobs_may(&t.jobs, 0, 4), LAUNCH_NO_ROOM);
	assert_int_equal(launch_jobs_may(&t.jobs, 0, UINT32_MAX), LAUNCH_NO_ROOM);
	assert_int_equal(launch_jobs_may(&t.jobs, 0, 0), LAUNCH_NO);
	assert_int_equal(launch_jobs_may(&t.jobs, 7, 1), LAUNCH_NO);
	uint32_t a = launch_jobs_add(&t.jobs, 0, 2), p = t.job[a].first;
	launch_jobs_started(&t.jobs, p);
	launch_jobs_unstarted(&t.jobs, a, 0);
	assert_true(!t.jobs.ending);
	launch_jobs_turn(&t.jobs, LAUNCH_GRACE_NS);
	assert_true(t.terms[p] == 1);
	end_one(p, true, 15, LAUNCH_GRACE_NS);
	assert_true(t.unmet == 0 && !t.jobs.ending); /* the answer has said it */
}

static void
job_0_has_not_met(void **state)
{
	(void)state;
	begin_launch(3, true);
	t.met[0] = false;
	end_one(1, false, 0, 1);
	launch_jobs_turn(&t.jobs, 2);
	assert_true(t.jobs.ending && t.jobs.status == 1);
	/* An abort by those who miss it is not what is said. */
	begin_launch(3, true);
	t.met[0] = false;
	t.aborted = true;
	end_one(2, true, 9, 1);
	launch_jobs_turn(&t.jobs, 2);
	assert_true(t.jobs.ending);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_ends_all),	 cmocka_unit_test(exit_statuses),
		cmocka_unit_test(jobs_that_do_not_come), cmocka_unit_test(its_word_is_late),
		cmocka_unit_test(who_asked_dies),	 cmocka_unit_test(not_all_can_be_started),
		cmocka_unit_test(job_0_has_not_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
