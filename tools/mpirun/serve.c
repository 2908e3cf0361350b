/* SPDX-License-Identifier: BSD-2-Clause */
/* What ranks ask for while they run: names of ports, and jobs to be started.
 *
 * PMIx's thread calls.  Names are looked after here; a job is started by the main thread, as the
 * ranks are to die with it. */
#include "serve.h"

#include "mpirun.h"

#include "driver/names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_PREFIX "mpi-port:" /* libmpi/others/spawn.c */

/* ---- names ---- */

/* The name that a key means; NULL: it is a directive, or another library's. */
static const char *
name_of_key(const char *key)
{
	size_t n = sizeof KEY_PREFIX - 1;

	return strncmp(key, KEY_PREFIX, n) == 0 ? key + n : NULL;
}

pmix_status_t
mpirun_on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
		  pmix_op_cbfunc_t done, void *arg)
{
	pmix_status_t rc = PMIX_ERR_NOT_SUPPORTED;
	char why[NAMES_WHY];

	(void)proc, (void)done, (void)arg;
	for (size_t i = 0; i < ninfo; i++) {
		const char *name = name_of_key(info[i].key);
		if (!name || info[i].value.type != PMIX_STRING)
			continue;
		switch (names_publish(name, info[i].value.data.string, getpid(), why)) {
		case NAMES_OK:
			rc = PMIX_OPERATION_SUCCEEDED;
			continue;
		case NAMES_TAKEN:
			return PMIX_ERR_DUPLICATE_KEY;
		case NAMES_UNKNOWN:
		case NAMES_BROKEN:
			mpirun_say("%s", why);
			return PMIX_ERR_BAD_PARAM;
		}
	}
	return rc;
}

pmix_status_t
mpirun_on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t ninfo,
		 pmix_lookup_cbfunc_t done, void *arg)
{
	char port[NAMES_PORT_MAX], why[NAMES_WHY];
	const char *name = keys && keys[0] ? name_of_key(keys[0]) : NULL;
	pmix_pdata_t data;

	(void)info, (void)ninfo;
	if (!name || names_lookup(name, port, why) != NAMES_OK)
		return PMIX_ERR_NOT_FOUND;
	PMIX_PDATA_CONSTRUCT(&data);
	data.proc = *proc;
	PMIX_LOAD_KEY(data.key, keys[0]);
	data.value.type = PMIX_STRING;
	data.value.data.string = port;
	done(PMIX_SUCCESS, &data, 1, arg); /* it copies */
	return PMIX_SUCCESS;
}

pmix_status_t
mpirun_on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t ninfo,
		    pmix_op_cbfunc_t done, void *arg)
{
	char why[NAMES_WHY];

	(void)proc, (void)info, (void)ninfo, (void)done, (void)arg;
	for (char **k = keys; k && *k; k++) {
		const char *name = name_of_key(*k);
		if (name && names_unpublish(name, getpid(), why) != NAMES_OK)
			return PMIX_ERR_NOT_FOUND;
	}
	return PMIX_OPERATION_SUCCEEDED;
}

/* ---- jobs ---- */

struct mpirun_spawn {
	struct mpirun_spawn *next;
	struct mpirun_app *app;
	uint32_t napps, n, asker;
	bool elsewhere;
	pmix_spawn_cbfunc_t done;
	void *arg;
};

static struct {
	pthread_mutex_t lock;
	struct mpirun_spawn *first, **last;
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &asked.first};

/* A list of its own; NULL: no memory. */
static char **
copy_words(char **words)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	char **copy = calloc(n + 1, sizeof *copy);
	for (size_t i = 0; copy && i < n; i++)
		copy[i] = strdup(words[i]);
	return copy;
}

/* False: no memory. */
static bool
copy_app(const pmix_app_t *from, struct mpirun_app *to, bool *elsewhere)
{
	*to = (struct mpirun_app){.n = (uint32_t)from->maxprocs,
				  .argv = copy_words(from->argv),
				  .env = copy_words(from->env)};
	if (from->cwd)
		to->wdir = strdup(from->cwd);
	for (size_t i = 0; i < from->ninfo; i++)
		if (PMIX_CHECK_KEY(&from->info[i], PMIX_HOST) &&
		    from->info[i].value.type == PMIX_STRING)
			*elsewhere |= !mpirun_hosts_here(from->info[i].value.data.string);
	if (to->argv && !to->argv[0] && from->cmd) {
		free(to->argv);
		char *only[] = {from->cmd, NULL};
		to->argv = copy_words(only);
	}
	return to->argv && to->argv[0] && to->env && (!from->cwd || to->wdir);
}

pmix_status_t
mpirun_on_spawn(const pmix_proc_t *proc, const pmix_info_t job_info[], size_t ninfo,
		const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t done, void *arg)
{
	struct mpirun_spawn *s = calloc(1, sizeof *s);
	bool ok = s && napps > 0 && (s->app = calloc(napps, sizeof *s->app)) != NULL;

	(void)job_info, (void)ninfo;
	for (size_t a = 0; ok && a < napps; a++) {
		ok = apps[a].maxprocs >= 0 && apps[a].maxprocs <= MPIRUN_RANKS_MAX &&
		     copy_app(&apps[a], &s->app[a], &s->elsewhere);
		s->n += s->app[a].n;
	}
	if (!ok) {
		free(s ? s->app : NULL);
		free(s);
		return PMIX_ERR_BAD_PARAM;
	}
	s->napps = (uint32_t)napps;
	s->asker = mpirun_rank_of(proc);
	s->done = done;
	s->arg = arg;
	pthread_mutex_lock(&asked.lock);
	*asked.last = s;
	asked.last = &s->next;
	pthread_mutex_unlock(&asked.lock);
	mpirun_pmix_wake();
	return PMIX_SUCCESS;
}

struct mpirun_spawn *
mpirun_spawn_next(void)
{
	pthread_mutex_lock(&asked.lock);
	struct mpirun_spawn *s = asked.first;
	if (s) {
		asked.first = s->next;
		if (!s->next)
			asked.last = &asked.first;
	}
	pthread_mutex_unlock(&asked.lock);
	return s;
}

struct mpirun_app *
mpirun_spawn_apps(const struct mpirun_spawn *s, uint32_t *napps, uint32_t *n)
{
	*napps = s->napps;
	*n = s->n;
	return s->app;
}

uint32_t
mpirun_spawn_asker(const struct mpirun_spawn *s)
{
	return s->asker;
}

bool
mpirun_spawn_here(const struct mpirun_spawn *s)
{
	return !s->elsewhere;
}

void
mpirun_spawn_answer(struct mpirun_spawn *s, enum mpirun_spawned what, const char *nspace)
{
	static const pmix_status_t status[] = {
		[MPIRUN_SPAWNED] = PMIX_SUCCESS,
		[MPIRUN_NO_PROGRAM] = PMIX_ERR_JOB_APP_NOT_EXECUTABLE,
		[MPIRUN_NO_ROOM] = PMIX_ERR_OUT_OF_RESOURCE,
		[MPIRUN_NO_HOST] = PMIX_ERR_UNREACH,
		[MPIRUN_NO] = PMIX_ERR_JOB_FAILED_TO_LAUNCH,
	};
	pmix_nspace_t name;

	PMIX_LOAD_NSPACE(name, what == MPIRUN_SPAWNED ? nspace : NULL);
	s->done(status[what], name, s->arg);
	free(s);
}
