/* SPDX-License-Identifier: BSD-2-Clause */
/* All ranks on this machine: start them, wait for them, end them.
 *
 * Who ends with whom is lib/launch's to say.  They die with us whatever ends us
 * (PR_SET_PDEATHSIG). */
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

#include "launch/jobs.h"

extern char **environ;

/* What lib/launch does not know of a process. */
struct rank {
	pid_t pid; /* 0: over */
	const struct mpirun_app *app;
	bool core_dumped;
};

static struct {
	const struct mpirun_options *o;
	struct launch_jobs jobs;
	struct rank *rank; /* [MPIRUN_RANKS_MAX] */
	sigset_t mask;	   /* of the ranks */
	int signals;	   /* signalfd */
	bool torn;	   /* a rank ended inside PMIx */
	bool lines;	   /* stdout of the ranks comes through us, whole lines at a time */
	uint64_t begun_ns;
	char folder[64];
} g;

static uint64_t
clock_of_mpirun(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

static void
end_local_job(int status)
{
	launch_jobs_end(&g.jobs, status, clock_of_mpirun());
}

/* ---- a rank ------------------------------------------------------------------ */

/* "rank 3 (./a.out)"; good until the next call. */
static const char *
name_rank(uint32_t r)
{
	static char text[PATH_MAX];
	const struct launch_proc *k = &g.jobs.proc[r];
	const char *program = g.rank[r].app->argv[0];

	if (k->job == 0)
		snprintf(text, sizeof text, "rank %u (%s)", k->number, program);
	else
		snprintf(text, sizeof text, "rank %u of job %u, which was spawned (%s)", k->number,
			 k->job, program);
	return text;
}

static _Noreturn void
become_rank(uint32_t r, char **env, const int out[2], const sigset_t *mask)
{
	const struct mpirun_app *app = g.rank[r].app;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (g.jobs.proc[r].job == 0)
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
	mpirun_say("rank %u: %s: %s", g.jobs.proc[r].number, app->argv[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

static bool
start_rank(uint32_t r)
{
	char **env = mpirun_pmix_env(r, environ);
	int out[2] = {-1, -1};
	uint32_t number = g.jobs.proc[r].number;

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
	launch_jobs_started(&g.jobs, r);
	return true;
}

/* ---- what lib/launch asks for, and says ------------------------------------- */

static enum launch_state
state_of_rank(void *user, uint32_t r)
{
	(void)user;
	return mpirun_pmix_state(r);
}

static bool
met_job(void *user, uint32_t job)
{
	(void)user;
	return mpirun_pmix_met(g.jobs.job[job].first);
}

static bool
is_aborted(void *user, int *status)
{
	uint32_t who;
	char text[256];

	(void)user;
	if (!mpirun_pmix_aborted(&who, status, text))
		return false;
	if (g.o->verbose)
		mpirun_say("%s called MPI_Abort: %s",
			   who < g.jobs.nprocs ? name_rank(who) : "somebody", text);
	return true;
}

static void
end_rank(void *user, uint32_t r, enum launch_signal how)
{
	(void)user;
	if (g.rank[r].pid)
		kill(g.rank[r].pid, how == LAUNCH_TERM ? SIGTERM : SIGKILL);
}

static void
tell_rank_gone(void *user, uint32_t r)
{
	(void)user;
	mpirun_pmix_tell_gone(r);
}

/* How rank r, which is over, ended: "was ended by signal 9, Killed". */
static void
end_text(uint32_t r, char *text, size_t cap)
{
	const struct launch_end *e = &g.jobs.proc[r].end;

	if (e->by_signal)
		snprintf(text, cap, "was ended by signal %d, %s%s", e->code, strsignal(e->code),
			 g.rank[r].core_dumped ? " (core dumped)" : "");
	else
		snprintf(text, cap, "ended with status %d%s", e->code,
			 mpirun_pmix_state(r) == LAUNCH_INSIDE ? " without MPI_Finalize" : "");
}

static void
tell_job_unmet(void *user, uint32_t asker, uint32_t r)
{
	char how[128], text[256];

	(void)user;
	end_text(r, how, sizeof how);
	snprintf(text, sizeof text, "%s %s", name_rank(r), how);
	mpirun_pmix_tell_unmet(asker, r, text);
}

static void
say_of_rank(void *user, enum launch_word what, uint32_t r)
{
	static const char *const then[] = {
		[LAUNCH_SAYS_FAILED] = "",
		[LAUNCH_SAYS_STATUS] = "",
		[LAUNCH_SAYS_OUTLIVED] = "; the others go on",
		[LAUNCH_SAYS_GIVEN_UP] =
			" before its job had met who started it; the job is given up",
		[LAUNCH_SAYS_ORPHANED] = "; the job that it was starting is given up",
		[LAUNCH_SAYS_MET_AFTER] = " when its job had met who started it; the job goes on",
	};
	char how[128];

	(void)user;
	if (what == LAUNCH_SAYS_LATE) {
		mpirun_say("the job did not end within %g s", g.o->timeout_s);
		return;
	}
	end_text(r, how, sizeof how);
	if (what == LAUNCH_SAYS_MISSED)
		mpirun_say("%s %s, %.3f s after the start, before MPI_Init had returned "
			   "everywhere: the others cannot go on without it; ending the job",
			   name_rank(r), how, (double)(g.jobs.proc[r].over_ns - g.begun_ns) * 1e-9);
	else
		mpirun_say("%s %s%s", name_rank(r), how, then[what]);
}

static const struct launch_ops launch_ops_here = {.state = state_of_rank,
						  .met = met_job,
						  .aborted = is_aborted,
						  .end = end_rank,
						  .tell_gone = tell_rank_gone,
						  .tell_unmet = tell_job_unmet,
						  .say = say_of_rank};

/* ---- what happens -------------------------------------------------------------- */

static void
rank_over(uint32_t r, int wait_status)
{
	struct launch_end e = {WIFSIGNALED(wait_status), WIFSIGNALED(wait_status)
								 ? WTERMSIG(wait_status)
								 : WEXITSTATUS(wait_status)};

	g.rank[r].pid = 0;
	g.rank[r].core_dumped = e.by_signal && WCOREDUMP(wait_status);
	g.torn |= e.by_signal || mpirun_pmix_state(r) == LAUNCH_INSIDE;
	launch_jobs_over(&g.jobs, r, e, clock_of_mpirun());
}

static void
reap_local(void)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
		for (uint32_t r = 0; r < g.jobs.nprocs; r++)
			if (g.rank[r].pid == pid)
				rank_over(r, wait_status);
}

static void
kill_all(void)
{
	for (uint32_t r = 0; r < g.jobs.nprocs; r++)
		end_rank(NULL, r, LAUNCH_KILL);
}

static void
on_signals(void)
{
	struct signalfd_siginfo s;

	while (read(g.signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGCHLD) {
			reap_local();
		} else if (g.jobs.ending) { /* asked twice */
			kill_all();
		} else {
			mpirun_say("%s", strsignal((int)s.ssi_signo));
			end_local_job(128 + (int)s.ssi_signo);
		}
	}
}

/* ---- jobs that ranks start ---------------------------------------------------- */

/* One more job, of n ranks of these programs; its number. */
static uint32_t
add_ranks(const struct mpirun_app *app, uint32_t napps, uint32_t n, uint32_t asker)
{
	uint32_t r = g.jobs.nprocs;

	for (uint32_t a = 0; a < napps; a++)
		for (uint32_t k = 0; k < app[a].n; k++)
			g.rank[r++] = (struct rank){.app = &app[a]};
	return launch_jobs_add(&g.jobs, asker, n);
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
	enum launch_answer may = launch_jobs_may(&g.jobs, mpirun_spawn_asker(s), n);
	if (may != LAUNCH_YES)
		return may == LAUNCH_NO_ROOM ? MPIRUN_NO_ROOM : MPIRUN_NO;
	uint32_t job = add_ranks(app, napps, n, mpirun_spawn_asker(s));
	first = g.jobs.job[job].first;
	bool ok = mpirun_pmix_add(app, napps, n, mpirun_spawn_asker(s), nspace);
	for (uint32_t r = first; ok && r < first + n; r++)
		ok = start_rank(r);
	if (!ok)
		launch_jobs_unstarted(&g.jobs, job, clock_of_mpirun());
	return ok ? MPIRUN_SPAWNED : MPIRUN_NO;
}

static void
start_spawns(void)
{
	struct mpirun_spawn *s;
	char nspace[256] = "";

	while ((s = mpirun_spawn_next()) != NULL)
		mpirun_spawn_answer(s, start_spawn(s, nspace), nspace);
}

/* What ranks printed, on its way out; nobody takes it: the job ends as a program would. */
static void
pass_output(const struct pollfd *fds, nfds_t n)
{
	if (!mpirun_label_pass(fds, n))
		end_local_job(128 + SIGPIPE);
}

/* Milliseconds until then, for poll(). */
static int
left_ms(uint64_t due)
{
	uint64_t now = clock_of_mpirun();

	if (due == BASE_NEVER_NS)
		return -1;
	return due > now ? (int)base_min_ns((due - now) / BASE_MS_NS + 1, INT_MAX) : 0;
}

/* Until every rank is over and what they printed is out; what a rank left running may keep
 * its output open, but not us. */
static void
attend(void)
{
	bool piped = g.o->label || g.lines;
	uint64_t over_ns = BASE_NEVER_NS;

	while (g.jobs.alive || (piped && mpirun_label_busy())) {
		struct pollfd fds[2 + MPIRUN_LABEL_FDS];
		nfds_t n = 2;

		fds[0] = (struct pollfd){g.signals, POLLIN, 0};
		fds[1] = (struct pollfd){mpirun_pmix_fd(), POLLIN, 0};
		if (piped)
			n += mpirun_label_fds(fds + 2);
		if (!g.jobs.alive && over_ns == BASE_NEVER_NS) {
			end_local_job(g.jobs.status);
			over_ns = clock_of_mpirun() + LAUNCH_GRACE_NS;
		}
		int ready = poll(fds, n, left_ms(base_min_ns(launch_jobs_due(&g.jobs), over_ns)));
		if (ready < 0 && errno != EINTR)
			return;
		if (ready > 0) {
			on_signals();
			mpirun_pmix_heard();
		}
		if (clock_of_mpirun() >= over_ns)
			return;
		launch_jobs_turn(&g.jobs, clock_of_mpirun());
		if (ready > 0) {
			start_spawns();
			if (piped)
				pass_output(fds + 2, n - 2);
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

static void
make_launch(const struct mpirun_options *o)
{
	g.rank = calloc(MPIRUN_RANKS_MAX, sizeof *g.rank);
	g.jobs = (struct launch_jobs){.proc = calloc(MPIRUN_RANKS_MAX, sizeof *g.jobs.proc),
				      .job = calloc(MPIRUN_RANKS_MAX, sizeof *g.jobs.job),
				      .procs_max = MPIRUN_RANKS_MAX,
				      .usize = o->usize,
				      .keep_going = o->keep_going,
				      .late_ns = BASE_NEVER_NS,
				      .late_status = MPIRUN_EXIT_TIMEOUT,
				      .ops = &launch_ops_here};
	if (!g.rank || !g.jobs.proc || !g.jobs.job)
		mpirun_fail("out of memory");
	launch_jobs_init(&g.jobs);
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
	make_launch(o);
	(void)add_ranks(o->app, o->napps, o->nranks, LAUNCH_NOBODY);
	if (!launch_make_folder("mpirun", g.folder, sizeof g.folder))
		mpirun_fail("%s: %s", g.folder, strerror(errno));
	watch_signals(&g.mask); /* before PMIx's threads, which inherit the mask */
	g.begun_ns = clock_of_mpirun();
	if (o->timeout_s > 0)
		g.jobs.late_ns = g.begun_ns + (uint64_t)(o->timeout_s * (double)BASE_S_NS);
	bool ok = mpirun_pmix_start(o, g.folder);
	for (uint32_t r = 0; ok && r < o->nranks && !g.jobs.ending; r++)
		if (!start_rank(r))
			launch_jobs_unstarted(&g.jobs, 0, clock_of_mpirun());
	if (ok) {
		attend();
		/* PMIx's server (4.2) may stop for ever over a rank that was ended while it
		 * shook hands: a mutex stays taken.  Then it ends with us. */
		if (g.jobs.status == 0 && !g.torn)
			mpirun_pmix_stop();
	}
	names_drop(getpid());
	launch_remove_folder(g.folder);
	int status = g.jobs.status;
	if (ok && (status != 0 || g.torn)) { /* the server's threads are still there */
		fflush(NULL);
		_exit(status);
	}
	free(g.rank);
	free(g.jobs.proc);
	free(g.jobs.job);
	return ok ? 0 : 1;
}
