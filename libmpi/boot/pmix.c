/* SPDX-License-Identifier: BSD-2-Clause */
/* The launcher, through PMIx. */
#include "boot.h"

#include "base/clock.h"
#include "lmpi/launch.h"

#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ERR_OTHER 16 /* MPI_ERR_OTHER */

static struct {
	bool init, watching;
	pmix_proc_t self;
	pthread_t main_thread;
	size_t handler;
	void (*report)(const char *text, uint32_t rank);
	const char *as;
} g = {.as = "libmpi"};
const struct lmpi_launcher *lmpi_launcher;

void
lmpi_boot_as(const char *library)
{
	g.as = library;
}

pthread_t
lmpi_boot_main_thread(void)
{
	return g.main_thread;
}

static int
complain_launcher(const char *what, pmix_status_t rc)
{
	fprintf(stderr, "%s: launcher (PMIx): %s: %s\n", g.as, what, PMIx_Error_string(rc));
	return ERR_OTHER;
}

/* A number of the job (rank PMIX_RANK_WILDCARD) or of a process. */
static bool
get_u32(pmix_rank_t rank, const char *key, uint32_t *out)
{
	pmix_proc_t p;
	pmix_value_t *v = NULL;
	bool ok = true;

	PMIX_LOAD_PROCID(&p, g.self.nspace, rank);
	if (PMIx_Get(&p, key, NULL, 0, &v) != PMIX_SUCCESS || !v)
		return false;
	switch (v->type) {
	case PMIX_UINT32:
		*out = v->data.uint32;
		break;
	case PMIX_UINT16:
		*out = v->data.uint16;
		break;
	case PMIX_INT:
		*out = (uint32_t)v->data.integer;
		break;
	case PMIX_UINT:
		*out = v->data.uint;
		break;
	case PMIX_INT32:
		*out = (uint32_t)v->data.int32;
		break;
	case PMIX_PROC_RANK:
		*out = v->data.rank;
		break;
	default:
		ok = false;
	}
	PMIX_VALUE_RELEASE(v);
	return ok;
}

/* A malloc'd string or NULL. */
static char *
get_string(pmix_rank_t rank, const char *key)
{
	pmix_proc_t p;
	pmix_value_t *v = NULL;
	char *s = NULL;

	PMIX_LOAD_PROCID(&p, g.self.nspace, rank);
	if (PMIx_Get(&p, key, NULL, 0, &v) != PMIX_SUCCESS || !v)
		return NULL;
	if (v->type == PMIX_STRING && v->data.string)
		s = strdup(v->data.string);
	PMIX_VALUE_RELEASE(v);
	return s;
}

void
lmpi_boot_node_of(uint32_t rank, char name[64])
{
	if (lmpi_launcher) {
		lmpi_launcher->node_of(rank, name);
		return;
	}
	char *s = g.init ? get_string(rank, PMIX_HOSTNAME) : NULL;
	snprintf(name, 64, "%s", s ? s : "");
	free(s);
}

static int
compare_u32(const void *a, const void *b)
{
	uint32_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

/* Who shares my node: the launcher's word, not a comparison of host names. */
static int
find_node(struct lmpi_boot *b)
{
	char *list = get_string(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS), *save = NULL;
	uint32_t n = 0;

	b->node_peer = calloc(b->size, sizeof *b->node_peer);
	if (!b->node_peer) {
		free(list);
		return 39; /* MPI_ERR_NO_MEM */
	}
	for (char *t = list ? strtok_r(list, ",", &save) : NULL; t && n < b->size;
	     t = strtok_r(NULL, ",", &save)) {
		unsigned long r = strtoul(t, NULL, 10);
		if (r < b->size)
			b->node_peer[n++] = (uint32_t)r;
	}
	free(list);
	qsort(b->node_peer, n, sizeof *b->node_peer, compare_u32);
	b->node_rank = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++) {
		if (b->node_peer[i] == b->rank)
			b->node_rank = i;
	}
	if (b->node_rank == UINT32_MAX) {
		b->node_peer[0] = b->rank;
		b->node_rank = 0;
		n = 1;
	}
	b->node_size = n;
	return 0;
}

static int
alone(struct lmpi_boot *b)
{
	b->size = b->node_size = 1;
	b->node_peer = calloc(1, sizeof *b->node_peer);
	gethostname(b->node_name, sizeof b->node_name - 1);
	return b->node_peer ? 0 : 39;
}

/* srun without PMIx starts n programs that do not know of each other. */
static void
warn_of_step(void)
{
	const char *tasks = getenv("SLURM_STEP_NUM_TASKS"), *task = getenv("SLURM_PROCID");

	if (!tasks || strtoul(tasks, NULL, 10) < 2 || !task || strcmp(task, "0") != 0)
		return;
	fprintf(stderr,
		"%s: this job step has %s tasks, but srun tells them nothing of each other: "
		"each "
		"is a job of one process; use srun --mpi=pmix\n",
		g.as, tasks);
}

int
lmpi_boot_init(struct lmpi_boot *b)
{
	uint32_t v;
	pmix_status_t rc;

	g.main_thread = pthread_self();
	*b = (struct lmpi_boot){.universe_size = -1, .appnum = -1};
	if (lmpi_launcher)
		return lmpi_launcher->init(b);
	/* Without a launcher's marks PMIx would look for one on the machine. */
	if (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK")) {
		warn_of_step();
		return alone(b);
	}
	rc = PMIx_Init(&g.self, NULL, 0);
	if (rc != PMIX_SUCCESS)
		return complain_launcher(
			"PMIx_Init (started outside its launcher with its environment?)", rc);
	g.init = true;
	b->launched = true;
	b->rank = g.self.rank;
	if (!get_u32(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &b->size) || b->rank >= b->size)
		return complain_launcher("the job's size is not known", PMIX_ERR_NOT_FOUND);
	if (get_u32(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, &v))
		b->universe_size = (int)v;
	if (get_u32(b->rank, PMIX_APPNUM, &v))
		b->appnum = (int)v;
	char name[64];
	lmpi_boot_node_of(b->rank, name);
	if (name[0])
		snprintf(b->node_name, sizeof b->node_name, "%s", name);
	else
		gethostname(b->node_name, sizeof b->node_name - 1);
	return find_node(b);
}

int
lmpi_boot_put(const char *key, const void *data, size_t len)
{
	pmix_value_t v;
	pmix_status_t rc;

	if (lmpi_launcher)
		return lmpi_launcher->put(key, data, len);
	if (!g.init)
		return 0;
	memset(&v, 0, sizeof v);
	v.type = PMIX_BYTE_OBJECT;
	v.data.bo.bytes = (char *)(uintptr_t)data; /* copied by PMIx_Put */
	v.data.bo.size = len;
	rc = PMIx_Put(PMIX_GLOBAL, key, &v);
	if (rc == PMIX_SUCCESS)
		rc = PMIx_Commit();
	return rc == PMIX_SUCCESS ? 0 : complain_launcher("publishing contacts", rc);
}

static void
fence_done(pmix_status_t status, void *arg)
{
	_Atomic int *state = arg;
	atomic_store(state, status == PMIX_SUCCESS ? 1 : 2);
}

int
lmpi_boot_fence(bool collect, void (*progress)(void))
{
	static _Atomic int state; /* outlives a fence that never ends */
	struct timespec nap = {.tv_nsec = 20000};
	pmix_info_t info;
	bool yes = true;
	pmix_status_t rc;

	if (lmpi_launcher)
		return lmpi_launcher->fence(collect, progress);
	if (!g.init)
		return 0;
	atomic_store(&state, 0);
	PMIX_INFO_CONSTRUCT(&info);
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
	rc = PMIx_Fence_nb(NULL, 0, collect ? &info : NULL, collect ? 1 : 0, fence_done, &state);
	if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
		return complain_launcher("fence", rc);
	while (rc == PMIX_SUCCESS && atomic_load(&state) == 0) {
		if (progress)
			progress();
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 1000000)
			nap.tv_nsec += nap.tv_nsec / 4;
	}
	PMIX_INFO_DESTRUCT(&info);
	return atomic_load(&state) == 2 ? complain_launcher("fence", PMIX_ERROR) : 0;
}

int
lmpi_boot_get(uint32_t rank, const char *key, void **data, size_t *len)
{
	pmix_proc_t p;
	pmix_value_t *v = NULL;
	pmix_status_t rc;

	if (lmpi_launcher)
		return lmpi_launcher->get(rank, key, data, len);
	PMIX_LOAD_PROCID(&p, g.self.nspace, rank);
	rc = PMIx_Get(&p, key, NULL, 0, &v);
	if (rc != PMIX_SUCCESS)
		return complain_launcher("reading another process's contact", rc);
	if (v->type != PMIX_BYTE_OBJECT || !(*data = malloc(v->data.bo.size + 1))) {
		PMIX_VALUE_RELEASE(v);
		return complain_launcher("reading another process's contact",
					 PMIX_ERR_TYPE_MISMATCH);
	}
	memcpy(*data, v->data.bo.bytes, v->data.bo.size);
	*len = v->data.bo.size;
	PMIX_VALUE_RELEASE(v);
	return 0;
}

/* Runs in PMIx's thread: only passes the word on. */
static void
on_launcher_event(size_t handler, pmix_status_t status, const pmix_proc_t *source,
		  pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
		  pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	char text[400];
	bool named = source && source->rank <= PMIX_RANK_VALID;
	uint32_t rank = named && PMIX_CHECK_NSPACE(source->nspace, g.self.nspace)
				? source->rank
				: LMPI_RANK_UNKNOWN;

	(void)handler, (void)info, (void)ninfo, (void)results, (void)nresults;
	if (named && rank == LMPI_RANK_UNKNOWN && status == PMIX_ERR_PROC_ABORTED)
		rank = LMPI_RANK_ELSEWHERE;
	if (named)
		snprintf(text, sizeof text, "the launcher reports rank %u of %s: %s", source->rank,
			 source->nspace, PMIx_Error_string(status));
	else
		snprintf(text, sizeof text, "the launcher reports: %s", PMIx_Error_string(status));
	g.report(text, rank);
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static void
on_registered(pmix_status_t status, size_t id, void *arg)
{
	(void)arg;
	if (status == PMIX_SUCCESS)
		g.handler = id;
}

void
lmpi_boot_watch(void (*report)(const char *text, uint32_t rank))
{
	static pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_LOST_CONNECTION,
					PMIX_ERR_PROC_TERM_WO_SYNC};
	if (!g.init)
		return;
	g.watching = true;
	g.report = report;
	PMIx_Register_event_handler(codes, sizeof codes / sizeof codes[0], NULL, 0,
				    on_launcher_event, on_registered, NULL);
}

void
lmpi_boot_tell_met(void)
{
	const size_t n = sizeof LMPI_LAUNCH_NSPACE - 1;
	static _Atomic int state;
	struct timespec nap = {.tv_nsec = 20000};

	if (!g.init || strncmp(g.self.nspace, LMPI_LAUNCH_NSPACE, n) != 0)
		return;
	/* PMIx sends in a thread of its own, and this process may die at once. */
	atomic_store(&state, 0);
	pmix_status_t rc = PMIx_Notify_event(LMPI_LAUNCH_MET, &g.self, PMIX_RANGE_SESSION, NULL, 0,
					     fence_done, &state);
	while (rc == PMIX_SUCCESS && atomic_load(&state) == 0)
		nanosleep(&nap, NULL);
}

void
lmpi_boot_abort(int code, const char *why)
{
	if (lmpi_launcher)
		lmpi_launcher->abort(code, why);
	if (!g.init)
		return;
	/* The launcher may be gone: do not wait for its answer for ever. */
	alarm(5);
	PMIx_Abort(code, why, NULL, 0);
}

bool
lmpi_boot_launched(void)
{
	return g.init;
}

void
lmpi_boot_fini(void)
{
	if (lmpi_launcher)
		lmpi_launcher->fini();
	if (!g.init)
		return;
	g.init = false;
	PMIx_Finalize(NULL, 0);
}
