/* SPDX-License-Identifier: BSD-2-Clause */
/* The PMIx server of a job whose ranks are all on this machine.
 *
 * Every process is local, so a fence is over when PMIx has seen all of them: what it
 * collected goes back as it is.  PMIx calls us from a thread of its own; what it tells
 * is kept in atomics, and a byte in a pipe wakes the main thread. */
#include "mpirun.h"

#include "pmix_job.h"
#include "serve.h"

#include "lmpi/launch.h"

#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD_INFOS 2

/* A job: the first one, or one that a rank asked for. */
struct job {
	struct job *next;
	pmix_nspace_t nspace;
	uint32_t first, n;
	uint32_t asker; /* MPIRUN_RANKS_MAX: nobody, it is the first */
	const struct mpirun_app *app;
	uint32_t napps;
	_Atomic bool met; /* a rank says so */
};

static struct {
	_Atomic(struct job *) jobs; /* the newest first; only the main thread adds */
	uint32_t njobs, nranks;
	uint32_t universe; /* 0: nobody has bounded it */
	char host[256];
	_Atomic int state[MPIRUN_RANKS_MAX]; /* enum launch_state by rank */
	int wake[2];
	pthread_mutex_t lock;
	bool aborted;
	uint32_t abort_rank;
	int abort_status;
	char abort_text[256];
} g = {.wake = {-1, -1}, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- jobs -------------------------------------------------------------------- */

/* The job of that process; NULL: it is none of ours. */
static struct job *
job_of_proc(const pmix_proc_t *proc)
{
	struct job *j = atomic_load(&g.jobs);

	while (j && !(PMIX_CHECK_NSPACE(proc->nspace, j->nspace) && proc->rank < j->n))
		j = j->next;
	return j;
}

uint32_t
mpirun_rank_of(const pmix_proc_t *proc)
{
	const struct job *j = job_of_proc(proc);

	return j ? j->first + proc->rank : MPIRUN_RANKS_MAX;
}

static struct job *
job_of_rank(uint32_t rank)
{
	struct job *j = atomic_load(&g.jobs);

	while (rank < j->first)
		j = j->next;
	return j;
}

static void
proc_of_rank(uint32_t rank, pmix_proc_t *proc)
{
	const struct job *j = job_of_rank(rank);

	PMIX_LOAD_PROCID(proc, j->nspace, rank - j->first);
}

/* ---- what PMIx asks -------------------------------------------------------- */

static void
note_state(const pmix_proc_t *proc, enum launch_state state)
{
	uint32_t rank = mpirun_rank_of(proc);

	if (rank < MPIRUN_RANKS_MAX)
		atomic_store(&g.state[rank], state);
}

static pmix_status_t
on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t ninfo,
	     pmix_op_cbfunc_t done, void *arg)
{
	(void)object, (void)info, (void)ninfo;
	note_state(proc, LAUNCH_INSIDE);
	mpirun_pmix_wake();
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static pmix_status_t
on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
	(void)object;
	note_state(proc, LAUNCH_OUT);
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static pmix_status_t
on_pmix_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
	      pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t done, void *arg)
{
	const struct job *j = job_of_proc(proc);
	bool all =
		launch_abort_ends_all(j && j->asker < MPIRUN_RANKS_MAX, j && atomic_load(&j->met));

	(void)object, (void)procs, (void)nprocs;
	pthread_mutex_lock(&g.lock);
	if (!g.aborted && all) {
		g.aborted = true;
		g.abort_rank = mpirun_rank_of(proc);
		g.abort_status = status;
		snprintf(g.abort_text, sizeof g.abort_text, "%s", text ? text : "");
	}
	pthread_mutex_unlock(&g.lock);
	mpirun_pmix_wake();
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static pmix_status_t
on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
	 char *data, size_t ndata, pmix_modex_cbfunc_t done, void *arg)
{
	(void)procs, (void)nprocs, (void)info, (void)ninfo;
	if (done)
		done(PMIX_SUCCESS, data, ndata, arg, NULL, NULL);
	return PMIX_SUCCESS;
}

static pmix_status_t
on_direct_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
		pmix_modex_cbfunc_t done, void *arg)
{
	(void)proc, (void)info, (void)ninfo, (void)done, (void)arg;
	return PMIX_ERR_NOT_FOUND; /* nobody is elsewhere */
}

static pmix_status_t
on_register_events(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[], size_t ninfo,
		   pmix_op_cbfunc_t done, void *arg)
{
	(void)codes, (void)ncodes, (void)info, (void)ninfo;
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

/* A rank's word for its launcher; the server passes on what is for other ranks by itself. */
static pmix_status_t
on_notice(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
	  pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done, void *arg)
{
	struct job *j = code == LMPI_LAUNCH_MET ? job_of_proc(source) : NULL;

	(void)range, (void)info, (void)ninfo, (void)done, (void)arg;
	if (j) {
		atomic_store(&j->met, true);
		mpirun_pmix_wake();
	}
	/* done() would wait for a lock that our caller holds (PMIx 4.2). */
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t module = {
	.client_finalized = on_finalized,
	.abort = on_pmix_abort,
	.fence_nb = on_fence,
	.direct_modex = on_direct_modex,
	.register_events = on_register_events,
	.notify_event = on_notice,
	.publish = mpirun_on_publish,
	.lookup = mpirun_on_lookup,
	.unpublish = mpirun_on_unpublish,
	.spawn = mpirun_on_spawn,
	.client_connected2 = on_connected,
};

/* ---- jobs are told of, and started -------------------------------------------- */

static bool
describe_local_job(const struct job *j)
{
	const char *host = g.host;
	uint32_t *ranks = calloc(j->napps, sizeof *ranks);

	for (uint32_t a = 0; ranks && a < j->napps; a++)
		ranks[a] = j->app[a].n;
	if (!ranks)
		mpirun_say("out of memory");
	bool ok = ranks && launch_pmix_describe(&(struct launch_pmix_job){.nspace = j->nspace,
									  .ranks = j->n,
									  .universe = g.universe,
									  .first = j->first,
									  .napps = j->napps,
									  .app_ranks = ranks,
									  .nodes = 1,
									  .node = &host,
									  .say = mpirun_say});
	free(ranks);
	return ok;
}

static bool
add_pmix_job(const struct mpirun_app *app, uint32_t napps, uint32_t n, uint32_t asker)
{
	struct job *j = calloc(1, sizeof *j);

	if (!j) {
		mpirun_say("out of memory");
		return false;
	}
	*j = (struct job){.next = atomic_load(&g.jobs),
			  .first = g.nranks,
			  .n = n,
			  .asker = asker,
			  .app = app,
			  .napps = napps};
	if (g.njobs == 0)
		snprintf(j->nspace, sizeof j->nspace, LMPI_LAUNCH_NSPACE "%d", (int)getpid());
	else
		snprintf(j->nspace, sizeof j->nspace, LMPI_LAUNCH_NSPACE "%d.%u", (int)getpid(),
			 g.njobs);
	g.njobs++;
	g.nranks += n;
	atomic_store(&g.jobs, j);
	return describe_local_job(j);
}

bool
mpirun_pmix_add(const struct mpirun_app *app, uint32_t napps, uint32_t n, uint32_t asker,
		char *nspace)
{
	bool ok = add_pmix_job(app, napps, n, asker);

	snprintf(nspace, sizeof(pmix_nspace_t), "%s", atomic_load(&g.jobs)->nspace);
	return ok;
}

bool
mpirun_pmix_start(const struct mpirun_options *o, const char *folder)
{
	pmix_info_t info[2];
	pmix_status_t rc;

	g.universe = o->usize;
	if (pipe2(g.wake, O_CLOEXEC | O_NONBLOCK) != 0) {
		mpirun_say("out of memory or file descriptors");
		return false;
	}
	if (gethostname(g.host, sizeof g.host - 1) != 0)
		snprintf(g.host, sizeof g.host, "localhost");
	PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, folder, PMIX_STRING);
	PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, folder, PMIX_STRING);
	rc = PMIx_server_init(&module, info, 2);
	PMIX_INFO_DESTRUCT(&info[0]);
	PMIX_INFO_DESTRUCT(&info[1]);
	if (rc != PMIX_SUCCESS) {
		mpirun_say("PMIx server: %s", PMIx_Error_string(rc));
		return false;
	}
	return add_pmix_job(o->app, o->napps, o->nranks, MPIRUN_RANKS_MAX);
}

/* arg: NULL, or what was told with it. */
static void
note_told(pmix_status_t status, void *arg)
{
	pmix_info_t *info = arg;

	if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
		mpirun_say("PMIx: telling of the end of a rank: %s", PMIx_Error_string(status));
	if (info)
		PMIX_INFO_FREE(info, TOLD_INFOS);
}

/* Nobody waits for the answer: a rank that dies meanwhile may keep it away, and its own end could
 * not be told then. */
static void
tell_of_end(pmix_status_t what, uint32_t rank, pmix_data_range_t range, pmix_info_t *info)
{
	pmix_proc_t proc;

	proc_of_rank(rank, &proc);
	pmix_status_t rc =
		PMIx_Notify_event(what, &proc, range, info, info ? TOLD_INFOS : 0, note_told, info);
	if (rc != PMIX_SUCCESS)
		note_told(rc, info);
}

void
mpirun_pmix_tell_gone(uint32_t rank)
{
	tell_of_end(PMIX_ERR_PROC_ABORTED, rank, PMIX_RANGE_NAMESPACE, NULL);
}

void
mpirun_pmix_tell_unmet(uint32_t asker, uint32_t rank, const char *text)
{
	pmix_info_t *info = NULL;
	pmix_proc_t to;

	PMIX_INFO_CREATE(info, TOLD_INFOS);
	if (!info) {
		mpirun_say("out of memory");
		return;
	}
	proc_of_rank(asker, &to);
	PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
	PMIX_INFO_LOAD(&info[1], PMIX_EVENT_TEXT_MESSAGE, text, PMIX_STRING);
	tell_of_end(LMPI_LAUNCH_UNMET, rank, PMIX_RANGE_CUSTOM, info);
}

char **
mpirun_pmix_env(uint32_t rank, char **own)
{
	const struct job *j = job_of_rank(rank);
	char **env = launch_pmix_env(j->nspace, rank - j->first, own);

	if (!env)
		mpirun_say("no memory for the environment of a rank");
	return env;
}

enum launch_state
mpirun_pmix_state(uint32_t rank)
{
	return (enum launch_state)atomic_load(&g.state[rank]);
}

bool
mpirun_pmix_met(uint32_t rank)
{
	return atomic_load(&job_of_rank(rank)->met);
}

bool
mpirun_pmix_aborted(uint32_t *rank, int *status, char text[256])
{
	pthread_mutex_lock(&g.lock);
	bool yes = g.aborted;
	*rank = g.abort_rank;
	*status = g.abort_status;
	memcpy(text, g.abort_text, sizeof g.abort_text);
	pthread_mutex_unlock(&g.lock);
	return yes;
}

void
mpirun_pmix_wake(void)
{
	if (write(g.wake[1], "", 1) < 0) {
		/* full: the main thread will look */
	}
}

void
mpirun_pmix_heard(void)
{
	char bytes[64];

	while (read(g.wake[0], bytes, sizeof bytes) > 0)
		;
}

int
mpirun_pmix_fd(void)
{
	return g.wake[0];
}

void
mpirun_pmix_stop(void)
{
	PMIx_server_finalize();
	while (atomic_load(&g.jobs)) {
		struct job *j = atomic_load(&g.jobs);
		atomic_store(&g.jobs, j->next);
		free(j);
	}
}
