/* SPDX-License-Identifier: BSD-2-Clause */
/* The PMIx server of a unit: spd/pmix.h. */
#include "spd/pmix.h"

#include "place.h"
#include "pmix_job.h"

#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spd_pmix_ticket {
	pmix_modex_cbfunc_t done;
	void *arg;
};

static struct {
	bool runs;
	pmix_nspace_t nspace;
	uint32_t ranks;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	char folder[64]; /* of its sockets */
	int wake[2];
	pthread_mutex_t lock; /* of what follows */
	struct spd_pmix_event *first, **last;
	uint32_t waiting;
	uint64_t refused;
} g = {.wake = {-1, -1}, .lock = PTHREAD_MUTEX_INITIALIZER, .last = &g.first};

/* ---- events, in PMIx's thread ---- */

void
spd_pmix_free(struct spd_pmix_event *e)
{
	if (!e)
		return;
	free(e->takes);
	free(e->data);
	free(e);
}

/* NULL: no memory. */
static struct spd_pmix_event *
new_event(int kind, uint32_t rank)
{
	struct spd_pmix_event *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->kind = kind;
	e->rank = rank;
	return e;
}

/* false: there is no room; e is freed.  The end of a process is never refused. */
static bool
post_event(struct spd_pmix_event *e)
{
	pthread_mutex_lock(&g.lock);
	bool ok = e && (g.waiting < SPD_PMIX_EVENTS || e->kind <= SPD_PMIX_ABORT);
	g.refused += !ok;
	if (ok) {
		*g.last = e;
		g.last = &e->next;
		g.waiting++;
	}
	pthread_mutex_unlock(&g.lock);
	if (!ok)
		spd_pmix_free(e);
	else if (write(g.wake[1], "", 1) < 0) {
		/* full: it is readable already */
	}
	return ok;
}

static bool
is_rank_served(const pmix_proc_t *proc)
{
	return PMIX_CHECK_NSPACE(proc->nspace, g.nspace) && proc->rank < g.ranks;
}

static pmix_status_t
post_proc(const pmix_proc_t *proc, int kind, pmix_op_cbfunc_t done, void *arg)
{
	struct spd_pmix_event *e = is_rank_served(proc) ? new_event(kind, proc->rank) : NULL;

	(void)post_event(e);
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static pmix_status_t
on_client_came(const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t ninfo,
	       pmix_op_cbfunc_t done, void *arg)
{
	(void)object, (void)info, (void)ninfo;
	return post_proc(proc, SPD_PMIX_CAME, done, arg);
}

static pmix_status_t
on_client_left(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
	(void)object;
	return post_proc(proc, SPD_PMIX_LEFT, done, arg);
}

static pmix_status_t
on_client_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
		pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t done, void *arg)
{
	struct spd_pmix_event *e =
		is_rank_served(proc) ? new_event(SPD_PMIX_ABORT, proc->rank) : NULL;

	(void)object, (void)procs, (void)nprocs;
	if (e) {
		e->status = status;
		snprintf(e->text, sizeof e->text, "%s", text ? text : "");
		for (char *c = e->text; *c; c++) /* it goes into logs */
			if ((unsigned char)*c < ' ')
				*c = ' ';
	}
	(void)post_event(e);
	if (done)
		done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static struct spd_pmix_ticket *
new_ticket(pmix_modex_cbfunc_t done, void *arg)
{
	struct spd_pmix_ticket *t = malloc(sizeof *t);

	if (t)
		*t = (struct spd_pmix_ticket){done, arg};
	return t;
}

/* It is ours to answer; otherwise what PMIx is to say. */
static pmix_status_t
post_asking(struct spd_pmix_event *e, pmix_modex_cbfunc_t done, void *arg)
{
	struct spd_pmix_ticket *t = e ? new_ticket(done, arg) : NULL;

	if (!t) {
		spd_pmix_free(e);
		return PMIX_ERR_NOMEM;
	}
	e->ticket = t;
	if (post_event(e))
		return PMIX_SUCCESS;
	free(t);
	return PMIX_ERR_OUT_OF_RESOURCE;
}

/* Who takes part, and a copy of what those here have put.  0: it can be done. */
static pmix_status_t
fill_fence(struct spd_pmix_event *e, const pmix_proc_t procs[], size_t nprocs, const char *data,
	   size_t ndata)
{
	e->takes = calloc(g.ranks, sizeof *e->takes);
	e->data = ndata ? malloc(ndata) : NULL;
	if (!e->takes || (ndata && !e->data))
		return PMIX_ERR_NOMEM;
	if (ndata)
		memcpy(e->data, data, ndata);
	e->len = ndata;
	for (size_t i = 0; i < nprocs; i++) {
		if (!PMIX_CHECK_NSPACE(procs[i].nspace, g.nspace))
			return PMIX_ERR_NOT_SUPPORTED;
		if (procs[i].rank != PMIX_RANK_WILDCARD && procs[i].rank >= g.ranks)
			return PMIX_ERR_BAD_PARAM;
		for (uint32_t r = 0; r < g.ranks; r++)
			e->takes[r] |= procs[i].rank == PMIX_RANK_WILDCARD || procs[i].rank == r;
	}
	return PMIX_SUCCESS;
}

static pmix_status_t
on_clients_met(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
	       char *data, size_t ndata, pmix_modex_cbfunc_t done, void *arg)
{
	struct spd_pmix_event *e = new_event(SPD_PMIX_FENCE, 0);
	pmix_status_t rc = e ? fill_fence(e, procs, nprocs, data, ndata) : PMIX_ERR_NOMEM;

	(void)info, (void)ninfo;
	if (rc != PMIX_SUCCESS) {
		spd_pmix_free(e);
		return rc;
	}
	return post_asking(e, done, arg);
}

static pmix_status_t
on_other_unit(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
	      pmix_modex_cbfunc_t done, void *arg)
{
	(void)info, (void)ninfo;
	if (!is_rank_served(proc))
		return PMIX_ERR_NOT_FOUND;
	return post_asking(new_event(SPD_PMIX_GET, proc->rank), done, arg);
}

static pmix_status_t
on_codes(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[], size_t ninfo,
	 pmix_op_cbfunc_t done, void *arg)
{
	(void)codes, (void)ncodes, (void)info, (void)ninfo, (void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t module = {
	.client_finalized = on_client_left,
	.abort = on_client_abort,
	.fence_nb = on_clients_met,
	.direct_modex = on_other_unit,
	.register_events = on_codes,
	.client_connected2 = on_client_came,
};

/* ---- the daemon's thread ---- */

struct spd_pmix_event *
spd_pmix_next(void)
{
	char bytes[256];

	while (g.runs && read(g.wake[0], bytes, sizeof bytes) > 0)
		;
	pthread_mutex_lock(&g.lock);
	struct spd_pmix_event *e = g.first;
	if (e) {
		g.first = e->next;
		g.waiting--;
		if (!g.first)
			g.last = &g.first;
	}
	pthread_mutex_unlock(&g.lock);
	return e;
}

int
spd_pmix_fd(void)
{
	return g.wake[0];
}

uint64_t
spd_pmix_refused(void)
{
	pthread_mutex_lock(&g.lock);
	uint64_t n = g.refused;
	pthread_mutex_unlock(&g.lock);
	return n;
}

char **
spd_pmix_env(uint32_t rank, char *const *own)
{
	return launch_pmix_env(g.nspace, rank, own);
}

void
spd_pmix_answer(struct spd_pmix_ticket *t, enum spd_pmix_answer what, uint8_t *data, size_t len)
{
	static const pmix_status_t status[] = {
		[SPD_PMIX_YES] = PMIX_SUCCESS,
		[SPD_PMIX_NOT_FOUND] = PMIX_ERR_NOT_FOUND,
		[SPD_PMIX_NO_ROOM] = PMIX_ERR_OUT_OF_RESOURCE,
		[SPD_PMIX_NO] = PMIX_ERR_NOT_SUPPORTED,
	};

	t->done(status[what], (const char *)data, len, t->arg, free, data);
	free(t);
}

/* In PMIx's thread. */
static void
got_data(pmix_status_t status, char *data, size_t len, void *arg)
{
	struct spd_pmix_event *e = arg;

	e->ok = status == PMIX_SUCCESS;
	e->data = e->ok && len ? malloc(len) : NULL;
	e->ok = e->ok && (e->data || !len);
	if (e->data)
		memcpy(e->data, data, len);
	e->len = e->ok ? len : 0;
	(void)post_event(e);
}

bool
spd_pmix_get(uint32_t rank, uint32_t unit, uint32_t id)
{
	struct spd_pmix_event *e = g.runs ? new_event(SPD_PMIX_GOT, rank) : NULL;
	pmix_proc_t proc;

	if (!e)
		return false;
	e->unit = unit;
	e->id = id;
	PMIX_LOAD_PROCID(&proc, g.nspace, rank);
	if (PMIx_server_dmodex_request(&proc, got_data, e) == PMIX_SUCCESS)
		return true;
	spd_pmix_free(e);
	return false;
}

static void
ignore_told(pmix_status_t status, void *arg)
{
	(void)status, (void)arg;
}

void
spd_pmix_tell_gone(uint32_t rank)
{
	pmix_proc_t proc;

	if (!g.runs)
		return;
	PMIX_LOAD_PROCID(&proc, g.nspace, rank);
	pmix_status_t rc = PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &proc, PMIX_RANGE_NAMESPACE,
					     NULL, 0, ignore_told, NULL);
	if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
		g.say("PMIx: telling of the end of a rank: %s", PMIx_Error_string(rc));
}

/* ---- begin and end ---- */

static bool
make_server_room(void)
{
	if (launch_make_folder("mpispd", g.folder, sizeof g.folder) &&
	    pipe2(g.wake, O_CLOEXEC | O_NONBLOCK) == 0)
		return true;
	g.say("PMIx server: %s: %s", g.folder, strerror(errno));
	return false;
}

static bool
serve_unit(const struct spd_pmix_conf *c)
{
	pmix_info_t info[3];
	const uint32_t all[] = {c->ranks};

	PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, g.folder, PMIX_STRING);
	PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, g.folder, PMIX_STRING);
	/* Nodes are units; a host may have several. */
	PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, c->node[c->here], PMIX_STRING);
	pmix_status_t rc = PMIx_server_init(&module, info, 3);
	for (int i = 0; i < 3; i++)
		PMIX_INFO_DESTRUCT(&info[i]);
	if (rc != PMIX_SUCCESS) {
		c->say("PMIx server: %s", PMIx_Error_string(rc));
		return false;
	}
	g.runs = true;
	return launch_pmix_describe(&(struct launch_pmix_job){.nspace = g.nspace,
							      .ranks = c->ranks,
							      .napps = 1,
							      .app_ranks = all,
							      .nodes = c->nodes,
							      .here = c->here,
							      .node = c->node,
							      .node_of = c->node_of,
							      .say = c->say});
}

bool
spd_pmix_start(const struct spd_pmix_conf *c)
{
	PMIX_LOAD_NSPACE(g.nspace, c->nspace);
	g.ranks = c->ranks;
	g.say = c->say;
	return make_server_room() && serve_unit(c);
}

void
spd_pmix_stop(bool whole)
{
	struct spd_pmix_event *e;

	if (g.runs && whole)
		PMIx_server_finalize();
	while ((e = spd_pmix_next())) {
		free(e->ticket);
		spd_pmix_free(e);
	}
	g.runs = false;
	if (g.folder[0])
		launch_remove_folder(g.folder);
}
