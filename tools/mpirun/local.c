/* SPDX-License-Identifier: BSD-2-Clause */
/* All ranks on this machine: start them, wait for them, end them.
 *
 * One that fails before it has left MPI ends the others: SIGTERM, and SIGKILL GRACE_S later.  They
 * die with us whatever ends us (PR_SET_PDEATHSIG). */
#include "mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "label.h"
#include "driver/names.h"
#include "place.h"

#define GRACE_S 2.0

extern char **environ;

struct rank {
	pid_t pid; /* 0: over */
	const struct mpirun_app *app;
	uint32_t number, job; /* in its job; job 0 is the one of our command line */
	int wait_status;      /* if it is over */
	double over_s;	      /* when, since the job began */
	bool given_up;	      /* its job was spawned, and does not come: it ends alone */
};

static struct {
	const struct mpirun_options *o;
	struct rank *rank; /* [MPIRUN_RANKS_MAX] */
	uint32_t nranks, njobs, alive;
	sigset_t mask; /* of the ranks */
	int signals;   /* signalfd */
	int status;    /* what we will say */
	bool ending;
	bool by_abort;	   /* a rank asked for the end */
	bool unmet;	   /* end_if_unmet() has said so */
	bool torn;	   /* a rank ended inside PMIx */
	bool ended_well;   /* keep_going: a rank did */
	int first_bad;	   /* the first status of one that did not */
	bool lines;	   /* stdout of the ranks comes through us, whole lines at a time */
	double deadline_s; /* of the grace, or of the job; 0: none */
	double given_up_s; /* when those that are given up get this signal; 0: never */
	int given_up_signal;
	double begun_s;
	char folder[64];
} g;

static double
now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
kill_all(int sig)
{
	for (uint32_t r = 0; r < g.nranks; r++)
		if (g.rank[r].pid)
			kill(g.rank[r].pid, sig);
}

/* The job is over with this status, unless it was already. */
static void
end_local_job(int status)
{
	if (g.ending)
		return;
	g.ending = true;
	if (g.status == 0)
		g.status = status;
	kill_all(SIGTERM);
	g.deadline_s = now_s() + GRACE_S;
}

/* ---- a rank ------------------------------------------------------------------ */

/* "rank 3 (./a.out)"; good until the next call. */
static const char *
name_rank(uint32_t r)
{
	static char text[PATH_MAX];
	const struct rank *k = &g.rank[r];

	if (k->job == 0)
		snprintf(text, sizeof text, "rank %u (%s)", k->number, k->app->argv[0]);
	else
		snprintf(text, sizeof text, "rank %u of job %u, which was spawned (%s)", k->number,
			 k->job, k->app->argv[0]);
	return text;
}

static _Noreturn void
become_rank(uint32_t r, char **env, const int out[2], const sigset_t *mask)
{
	const struct mpirun_app *app = g.rank[r].app;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (g.rank[r].job == 0)
		mpirun_bind_me(r);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (r != 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (null >= 0)
			dup2(null, STDIN_FILENO);
	}
	if (out[0] >= 0)
		dup2(out[0], STDOUT_FILENO);
	if (out[1] >= 0)
		dup2(out[1], STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL); /* ignored by us, not by them */
	environ = env;
	for (char **e = app->env; e && *e; e++)
		putenv(*e);
	if (app->wdir && chdir(app->wdir) != 0) {
		mpirun_say("%s: -wdir %s: %s", name_rank(r), app->wdir, strerror(errno));
		_exit(126);
	}
	execvp(app->argv[0], app->argv);
	int err = errno;
	if (err == ENOENT && !strchr(app->argv[0], '/') && launch_is_program(app->argv[0])) {
		execv(app->argv[0], app->argv); /* of this folder, as Open MPI's does */
		err = errno;
	}
	mpirun_say("rank %u: %s: %s", g.rank[r].number, app->argv[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

static bool
start_rank(uint32_t r)
{
	char **env = mpirun_pmix_env(r, environ);
	int out[2] = {-1, -1};
	uint32_t number = g.rank[r].number;

	if (!env || (g.o->label && !mpirun_label_open(number, out)) ||
	    (g.lines && !mpirun_lines_open(number, &out[0])))
		return false;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		become_rank(r, env, out, &g.mask);
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
	if (pid < 0) {
		mpirun_say("rank %u: %s", r, strerror(errno));
		return false;
	}
	g.rank[r].pid = pid;
	g.alive++;
	return true;
}

/* ---- what happens -------------------------------------------------------------- */

/* How rank r, which is over, ended: "was ended by signal 9, Killed". */
static void
end_text(uint32_t r, char *text, size_t cap)
{
	int status = g.rank[r].wait_status;

	if (WIFSIGNALED(status))
		snprintf(text, cap, "was ended by signal %d, %s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, cap, "ended with status %d%s", WEXITSTATUS(status),
			 mpirun_pmix_state(r) == MPIRUN_INSIDE ? " without MPI_Finalize" : "");
}

static int
end_code(uint32_t r)
{
	int status = g.rank[r].wait_status;

	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Rank r is over, and a better reason for the end of the job than rank than: one that was ended
 * from outside, or the earlier one. */
static bool
explains_better(uint32_t r, uint32_t than)
{
	bool from_outside = WIFSIGNALED(g.rank[r].wait_status);

	if (than == UINT32_MAX || from_outside != WIFSIGNALED(g.rank[than].wait_status))
		return than == UINT32_MAX || from_outside;
	return g.rank[r].over_s < g.rank[than].over_s;
}

/* keep_going: a rank that is over before all have met in MPI_Init, or UINT32_MAX.  Those that are
 * in it would wait for ever; programs that never call it may end as they like. */
static uint32_t
find_missed(void)
{
	uint32_t first = UINT32_MAX;
	bool any_inside = false;

	if (!g.o->keep_going || g.unmet || (g.ending && !g.by_abort) || mpirun_pmix_met(0))
		return UINT32_MAX;
	for (uint32_t r = 0; r < g.o->nranks; r++) { /* not of those that ranks started */
		any_inside |= mpirun_pmix_state(r) != MPIRUN_NEVER;
		if (g.rank[r].pid == 0 && g.rank[r].over_s > 0 && explains_better(r, first))
			first = r;
	}
	return any_inside ? first : UINT32_MAX;
}

static void
end_if_unmet(void)
{
	uint32_t r = find_missed();
	char how[128];

	if (r == UINT32_MAX)
		return;
	g.unmet = true;
	end_text(r, how, sizeof how);
	mpirun_say("%s %s, %.3f s after the start, before MPI_Init had returned everywhere: the "
		   "others cannot go on without it; ending the job",
		   name_rank(r), how, g.rank[r].over_s);
	end_local_job(end_code(r) ? end_code(r) : 1);
}

/* keep_going: the last one is over. */
static void
settle_status(void)
{
	if (g.alive == 0)
		g.status = g.ended_well ? 0 : g.first_bad;
}

/* ---- a job that was spawned, and does not come ---- */

/* Rank r is over, and was of a spawned job that has not met who asked for it. */
static bool
leaves_unmet(uint32_t r)
{
	return g.rank[r].job != 0 && (g.rank[r].given_up || !mpirun_pmix_met(r));
}

/* The first one takes the others of its job with it; the last one's end is told to who asked.  They
 * get time to shake hands: PMIx's server (4.2) may stop for ever over one that ends meanwhile. */
static void
give_job_up(uint32_t r)
{
	bool begins = !g.rank[r].given_up;
	uint32_t left = 0, first = r;
	char how[128], text[256];

	for (uint32_t k = 0; k < g.nranks; k++) {
		if (g.rank[k].job != g.rank[r].job)
			continue;
		left += g.rank[k].pid != 0;
		g.rank[k].given_up = true;
		if (g.rank[k].pid == 0 && g.rank[k].over_s < g.rank[first].over_s)
			first = k;
	}
	end_text(first, how, sizeof how);
	if (begins) {
		mpirun_say("%s %s before its job had met who started it; the job is given up",
			   name_rank(r), how);
		g.given_up_s = now_s() + GRACE_S;
		g.given_up_signal = SIGTERM;
	}
	if (left == 0) {
		snprintf(text, sizeof text, "%s %s", name_rank(first), how);
		mpirun_pmix_tell_unmet(first, text);
	}
	if (g.o->keep_going)
		settle_status();
}

static void
kill_given_up(void)
{
	for (uint32_t k = 0; k < g.nranks; k++)
		if (g.rank[k].given_up && g.rank[k].pid)
			kill(g.rank[k].pid, g.given_up_signal);
	g.given_up_s = g.given_up_signal == SIGTERM ? now_s() + GRACE_S : 0;
	g.given_up_signal = SIGKILL;
}

/* The others go on without it, however it ended. */
static void
outlive(uint32_t r, enum mpirun_state state)
{
	char how[128];
	int code = end_code(r);

	if (find_missed() != UINT32_MAX)
		return; /* end_if_unmet() will say it, when all that is known is known */
	end_text(r, how, sizeof how);
	if (code || state == MPIRUN_INSIDE)
		mpirun_say("%s %s; the others go on", name_rank(r), how);
	if (code == 0 && state != MPIRUN_INSIDE)
		g.ended_well = true;
	else if (g.first_bad == 0)
		g.first_bad = code ? code : 1;
	settle_status();
	if (g.alive)
		mpirun_pmix_tell_gone(r);
}

static void
rank_over(uint32_t r, int wait_status)
{
	enum mpirun_state state = mpirun_pmix_state(r);
	uint32_t who;
	int code, status;
	char text[256];

	g.rank[r].pid = 0;
	g.rank[r].wait_status = wait_status;
	g.rank[r].over_s = now_s() - g.begun_s;
	g.alive--;
	g.torn |= WIFSIGNALED(wait_status) || state == MPIRUN_INSIDE;
	if (g.ending)
		return;
	/* Whoever called MPI_Abort has said why. */
	if (mpirun_pmix_aborted(&who, &status, text)) {
		g.by_abort = true;
		end_local_job(status & 0xff ? status & 0xff : 1);
		return;
	}
	if (leaves_unmet(r)) {
		give_job_up(r);
		return;
	}
	if (g.o->keep_going) {
		outlive(r, state);
		return;
	}
	if (WIFSIGNALED(wait_status)) {
		code = 128 + WTERMSIG(wait_status);
		mpirun_say("%s was ended by signal %d, %s%s", name_rank(r), WTERMSIG(wait_status),
			   strsignal(WTERMSIG(wait_status)),
			   WCOREDUMP(wait_status) ? " (core dumped)" : "");
		end_local_job(code);
		return;
	}
	code = WEXITSTATUS(wait_status);
	if (code) {
		mpirun_say("%s ended with status %d", name_rank(r), code);
		/* After MPI_Finalize nobody waits for it, and the others have output to write. */
		if (state != MPIRUN_OUT)
			end_local_job(code);
		else if (g.status == 0)
			g.status = code;
	} else if (state == MPIRUN_INSIDE) {
		mpirun_say("%s ended without MPI_Finalize", name_rank(r));
		end_local_job(1);
	}
}

static void
reap_local(void)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
		for (uint32_t r = 0; r < g.nranks; r++)
			if (g.rank[r].pid == pid)
				rank_over(r, wait_status);
}

static void
on_signals(void)
{
	struct signalfd_siginfo s;

	while (read(g.signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGCHLD) {
			reap_local();
		} else if (g.ending) { /* asked twice */
			kill_all(SIGKILL);
		} else {
			mpirun_say("%s", strsignal((int)s.ssi_signo));
			end_local_job(128 + (int)s.ssi_signo);
		}
	}
}

static void
on_deadline(void)
{
	if (g.ending) {
		kill_all(SIGKILL);
		g.deadline_s = 0;
		return;
	}
	mpirun_say("the job did not end within %g s", g.o->timeout_s);
	end_local_job(MPIRUN_EXIT_TIMEOUT);
}

static void
on_abort(void)
{
	uint32_t who;
	int status;
	char text[256];

	if (!mpirun_pmix_aborted(&who, &status, text) || g.ending)
		return;
	if (g.o->verbose)
		mpirun_say("%s called MPI_Abort: %s", who < g.nranks ? name_rank(who) : "somebody",
			   text);
	g.by_abort = true;
	end_local_job(status & 0xff ? status & 0xff : 1);
}

/* ---- jobs that ranks start ---------------------------------------------------- */

/* n more ranks of these programs, which are not started yet; the first one's number. */
static uint32_t
add_ranks(const struct mpirun_app *app, uint32_t napps)
{
	uint32_t first = g.nranks;

	for (uint32_t a = 0; a < napps; a++)
		for (uint32_t k = 0; k < app[a].n; k++, g.nranks++)
			g.rank[g.nranks] = (struct rank){
				.app = &app[a], .number = g.nranks - first, .job = g.njobs};
	g.njobs++;
	return first;
}

/* Would exec find it?  Here nobody says so but the rank that asked. */
static bool
program_there(const struct mpirun_app *app)
{
	const char *name = app->argv[0];
	char path[PATH_MAX];

	if (!strchr(name, '/') && launch_find(name, path, sizeof path))
		return true;
	if (name[0] == '/' || !app->wdir)
		return launch_is_program(name);
	int n = snprintf(path, sizeof path, "%s/%s", app->wdir, name);
	return n > 0 && (size_t)n < sizeof path && launch_is_program(path);
}

static enum mpirun_spawned
start_spawn(const struct mpirun_spawn *s, char nspace[256])
{
	uint32_t napps, n, first;
	struct mpirun_app *app = mpirun_spawn_apps(s, &napps, &n);

	if (!mpirun_spawn_here(s))
		return MPIRUN_NO_HOST;
	for (uint32_t a = 0; a < napps; a++)
		if (!program_there(&app[a]))
			return MPIRUN_NO_PROGRAM;
	if (n > MPIRUN_RANKS_MAX - g.nranks || (g.o->usize && g.alive + n > g.o->usize))
		return MPIRUN_NO_ROOM;
	first = add_ranks(app, napps);
	if (!mpirun_pmix_add(app, napps, n, mpirun_spawn_asker(s), nspace))
		return MPIRUN_NO;
	for (uint32_t r = first; r < first + n; r++) {
		if (start_rank(r))
			continue;
		end_local_job(1); /* some of them run already */
		return MPIRUN_NO;
	}
	return MPIRUN_SPAWNED;
}

static void
start_spawns(void)
{
	struct mpirun_spawn *s;
	char nspace[256] = "";

	while ((s = mpirun_spawn_next()) != NULL)
		mpirun_spawn_answer(s, g.ending ? MPIRUN_NO : start_spawn(s, nspace), nspace);
}

/* What ranks printed, on its way out; nobody takes it: the job ends as a program would. */
static void
pass_output(const struct pollfd *fds, nfds_t n)
{
	if (!mpirun_label_pass(fds, n))
		end_local_job(128 + SIGPIPE);
}

/* 0: none. */
static double
next_deadline(void)
{
	if (g.given_up_s > 0 && (g.deadline_s == 0 || g.given_up_s < g.deadline_s))
		return g.given_up_s;
	return g.deadline_s;
}

/* Until every rank is over and what they printed is out; what a rank left running may keep
 * its output open, but not us. */
static void
attend(void)
{
	bool piped = g.o->label || g.lines;

	while (g.alive || (piped && mpirun_label_busy())) {
		struct pollfd fds[2 + MPIRUN_LABEL_FDS];
		nfds_t n = 2;
		int wait_ms = -1;

		fds[0] = (struct pollfd){g.signals, POLLIN, 0};
		fds[1] = (struct pollfd){mpirun_pmix_fd(), POLLIN, 0};
		if (piped)
			n += mpirun_label_fds(fds + 2);
		if (!g.alive && !g.ending)
			end_local_job(g.status);
		double until_s = next_deadline();
		if (until_s > 0) {
			double left = until_s - now_s();
			wait_ms = left > 0 ? (int)(left * 1e3) + 1 : 0;
		}
		int ready = poll(fds, n, wait_ms);
		if (ready < 0 && errno != EINTR)
			return;
		if (ready > 0) {
			on_signals();
			on_abort();
			end_if_unmet();
			start_spawns();
			if (piped)
				pass_output(fds + 2, n - 2);
		}
		if (g.given_up_s > 0 && now_s() >= g.given_up_s)
			kill_given_up();
		if (g.deadline_s > 0 && now_s() >= g.deadline_s) {
			if (!g.alive)
				return;
			on_deadline();
		}
	}
}

/* ---- begin and end ---------------------------------------------------------------- */

static void
watch_signals(sigset_t *old)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, old);
	signal(SIGPIPE, SIG_IGN);
	g.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g.signals < 0)
		mpirun_fail("signalfd: %s", strerror(errno));
}

static void
show_local(const struct mpirun_options *o)
{
	for (uint32_t a = 0, first = 0; a < o->napps; first += o->app[a++].n) {
		printf("ranks %u to %u, here:", first, first + o->app[a].n - 1);
		for (char **w = o->app[a].argv; *w; w++)
			printf(" %s", *w);
		putchar('\n');
	}
}

/* Ranks that write into one file or pipe fill it by blocks, which end inside lines; to a
 * terminal they write line by line.  Not where pipes would use up our descriptors. */
static bool
wants_lines(const struct mpirun_options *o)
{
	struct rlimit most;

	return !o->label && o->nranks > 1 && !isatty(STDOUT_FILENO) &&
	       getrlimit(RLIMIT_NOFILE, &most) == 0 && o->nranks < most.rlim_cur / 4;
}

static bool
sets_path(const struct mpirun_app *app)
{
	for (char **e = app->env; e && *e; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			return true;
	return false;
}

/* Said once, before any rank is there to say it.  0, or the status a shell would give. */
static int
programs_missing(const struct mpirun_options *o)
{
	char path[PATH_MAX];

	for (uint32_t a = 0; a < o->napps; a++) {
		const struct mpirun_app *app = &o->app[a];
		const char *name = app->argv[0];
		bool plain = !strchr(name, '/');
		struct stat st;

		/* What is found depends on what the rank does first. */
		if ((app->wdir && name[0] != '/') || sets_path(app) ||
		    launch_find(name, path, sizeof path) || launch_is_program(name))
			continue;
		if (plain)
			mpirun_say("%s: neither in PATH nor a program of this folder", name);
		else if (stat(name, &st) != 0)
			mpirun_say("%s: %s", name, strerror(errno));
		else
			mpirun_say("%s: not a program (%s)", name,
				   S_ISDIR(st.st_mode) ? "a folder" : "it cannot be executed");
		return plain || stat(name, &st) != 0 ? 127 : 126;
	}
	return 0;
}

int
mpirun_local(const struct mpirun_options *o)
{

	if (o->show) {
		show_local(o);
		return 0;
	}
	int missing = programs_missing(o);
	if (missing)
		return missing;
	if (!mpirun_bind_plan(o))
		return 1;
	g.o = o;
	g.lines = wants_lines(o);
	g.rank = calloc(MPIRUN_RANKS_MAX, sizeof *g.rank);
	if (!g.rank)
		mpirun_fail("out of memory");
	(void)add_ranks(o->app, o->napps);
	if (!launch_make_folder("mpirun", g.folder, sizeof g.folder))
		mpirun_fail("%s: %s", g.folder, strerror(errno));
	watch_signals(&g.mask); /* before PMIx's threads, which inherit the mask */
	g.begun_s = now_s();
	if (o->timeout_s > 0)
		g.deadline_s = g.begun_s + o->timeout_s;
	bool ok = mpirun_pmix_start(o, g.folder);
	for (uint32_t r = 0; ok && r < o->nranks && !g.ending; r++)
		if (!start_rank(r))
			end_local_job(1);
	if (ok) {
		attend();
		/* PMIx's server (4.2) may stop for ever over a rank that was ended while it
		 * shook hands: a mutex stays taken.  Then it ends with us. */
		if (g.status == 0 && !g.torn)
			mpirun_pmix_stop();
	}
	names_drop(getpid());
	launch_remove_folder(g.folder);
	free(g.rank);
	if (ok && (g.status != 0 || g.torn)) { /* the server's threads are still there */
		fflush(NULL);
		_exit(g.status);
	}
	return ok ? 0 : 1;
}
