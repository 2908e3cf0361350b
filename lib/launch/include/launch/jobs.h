/* SPDX-License-Identifier: BSD-2-Clause */
/* launch/jobs.h - the jobs of a launcher: which of them are started, who ends with whom, what is
 * told to those who go on.
 *
 *	job 0		what the launcher was called for
 *	others		a process, the asker, wants them started (MPI_Comm_spawn).  Such a
 *			job has met its asker, or is given up
 *
 * Who fails ends all, unless keep_going: then the others are told, and go on.  A job is given up
 * that has not met its asker when one of its processes ends, or when its asker dies: its processes
 * are ended, LAUNCH_GRACE_NS later, so that they may do it themselves.  If it turns out within that
 * time that it had met its asker before, its dead are like any others, and it goes on.  The asker
 * is told when nothing of the job is left.
 *
 * Processes are numbered over all jobs: those of job 0 from 0, and so on; no number is used again.
 *
 * The owner starts, watches and ends processes.  It tells what happens, answers what ops ask, and
 * calls launch_jobs_turn() when it was woken, at launch_jobs_due() at the latest.
 *
 * Sans-I/O.  Memory  the owner's: procs_max of either array.  Units  nanoseconds.
 * Threads  one owner at a time; ops are called from within.
 * Errors   enum launch_answer.  Limits  procs_max. */
#ifndef LAUNCH_JOBS_H
#define LAUNCH_JOBS_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_NOBODY	UINT32_MAX
#define LAUNCH_GRACE_NS (2 * BASE_S_NS)

/* Between MPI_Init and MPI_Finalize, as their library tells. */
enum launch_state { LAUNCH_NEVER, LAUNCH_INSIDE, LAUNCH_OUT };

enum launch_signal { LAUNCH_TERM, LAUNCH_KILL };

/* How a process ended: by that signal, or with that status. */
struct launch_end {
	bool by_signal;
	int code;
};

/* What a user is to read of process p. */
enum launch_word {
	LAUNCH_SAYS_FAILED,    /* the job ends over it */
	LAUNCH_SAYS_STATUS,    /* it ended badly when it had left MPI */
	LAUNCH_SAYS_OUTLIVED,  /* the others go on */
	LAUNCH_SAYS_MISSED,    /* keep_going: before all of job 0 had met */
	LAUNCH_SAYS_GIVEN_UP,  /* before its job had met who asked for it: the job is given up */
	LAUNCH_SAYS_ORPHANED,  /* p has asked for a job and died: the job is given up */
	LAUNCH_SAYS_MET_AFTER, /* p died when its job had just met who asked for it: it goes on */
	LAUNCH_SAYS_LATE,      /* the job did not end in time; p: nobody */
};

struct launch_ops {
	enum launch_state (*state)(void *user, uint32_t p);
	/* Have all processes of that job told each other where they are, and met the asker? */
	bool (*met)(void *user, uint32_t job);
	/* Did a process ask for the end of all?  Its status. */
	bool (*aborted)(void *user, int *status);
	/* End it; it runs. */
	void (*end)(void *user, uint32_t p, enum launch_signal how);
	/* Tell the others of its job that p is no more. */
	void (*tell_gone)(void *user, uint32_t p);
	/* Tell its asker that nobody comes of the job of p, which was the first to end. */
	void (*tell_unmet)(void *user, uint32_t asker, uint32_t p);
	void (*say)(void *user, enum launch_word what, uint32_t p);
};

struct launch_proc {
	uint32_t job, number; /* in its job */
	bool runs, over;
	bool settled; /* what its end means has been decided */
	struct launch_end end;
	uint64_t over_ns;
};

struct launch_job {
	uint32_t first, n, asker; /* job 0: NOBODY */
	uint32_t left;		  /* that run */
	bool unstarted;		  /* not all could be: the asker knows */
	bool given_up;
	enum launch_signal next; /* given up: what those that are left get */
	uint64_t next_ns;	 /* then; never: nothing more */
};

enum launch_answer {
	LAUNCH_YES,
	LAUNCH_NO_ROOM,
	LAUNCH_NO, /* all ends, nobody was asked for, or nobody asks any more */
};

struct launch_jobs {
	/* The owner's to set before launch_jobs_init(). */
	struct launch_proc *proc;
	struct launch_job *job;
	uint32_t procs_max; /* of either */
	uint32_t usize;	    /* processes there may be at once; 0: not bounded */
	bool keep_going;
	uint64_t late_ns; /* when the job has to be over; never, if there is no such time */
	int late_status;
	const struct launch_ops *ops;
	void *user;
	/* To read. */
	uint32_t nprocs, njobs, alive;
	bool ending;
	int status;
	/* Its own. */
	bool by_abort, missed, ended_well;
	int first_bad;
	uint64_t kill_ns;
};

void launch_jobs_init(struct launch_jobs *j);
/* May a job of n processes be started for that asker? */
enum launch_answer launch_jobs_may(const struct launch_jobs *j, uint32_t asker, uint32_t n);
/* One more job, of which nothing runs yet; its number.  asker: NOBODY for job 0 alone. */
uint32_t launch_jobs_add(struct launch_jobs *j, uint32_t asker, uint32_t n);
void launch_jobs_started(struct launch_jobs *j, uint32_t p);
/* A process of that job cannot be started: no more of it are, and those that run end.  Who asked
 * hears it as the answer. */
void launch_jobs_unstarted(struct launch_jobs *j, uint32_t job, uint64_t now_ns);
void launch_jobs_over(struct launch_jobs *j, uint32_t p, struct launch_end end, uint64_t now_ns);
/* All is to end, with that status unless it had another one. */
void launch_jobs_end(struct launch_jobs *j, int status, uint64_t now_ns);
/* States, met, aborted may have changed, or it is time. */
void launch_jobs_turn(struct launch_jobs *j, uint64_t now_ns);
/* When the next turn is due; never, if nothing waits for the clock. */
uint64_t launch_jobs_due(const struct launch_jobs *j);
/* For the shell: that of a program that ended so. */
int launch_status(const struct launch_end *e);
/* A process asks for the end of all (MPI_Abort): of a job that has not met its asker it is the end
 * of that job alone, which its asker is to hear of. */
static inline bool
launch_abort_ends_all(bool asked_for, bool met)
{
	return !asked_for || met;
}

/* For tests: NULL, or what does not agree. */
const char *launch_jobs_check(const struct launch_jobs *j);

#endif
