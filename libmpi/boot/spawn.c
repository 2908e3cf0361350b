/* SPDX-License-Identifier: BSD-2-Clause */
/* What the launcher does for connecting jobs: names of ports, starting programs. */
#include "boot.h"

#include "internal.h"
#include "transports.h"

#include "driver/names.h"

#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERR_NAME    38 /* MPI_ERR_NAME, _SERVICE, _SPAWN */
#define ERR_SERVICE 51
#define ERR_SPAWN   53
/* A program may use PMIx for itself; so our keys begin alike. */
#define KEY_PREFIX "mpi-port:"

/* ---- names ---- */

static int
of_folder(enum names_result r)
{
	return r == NAMES_OK ? LMPI_OK : r == NAMES_UNKNOWN ? ERR_NAME : ERR_SERVICE;
}

static bool
make_key(const char *service, pmix_key_t key, char why[LMPI_WHY])
{
	int n = snprintf(key, sizeof(pmix_key_t), KEY_PREFIX "%s", service);

	if (n > 0 && (size_t)n < sizeof(pmix_key_t))
		return true;
	snprintf(why, LMPI_WHY, "the name has %zu bytes, more than the launcher keeps",
		 strlen(service));
	return false;
}

/* A name that another job is to find, also when this one's launcher asks others. */
static void
load_range(pmix_info_t *info)
{
	pmix_data_range_t range = PMIX_RANGE_SESSION;

	PMIX_INFO_LOAD(info, PMIX_RANGE, &range, PMIX_DATA_RANGE);
}

static int
name_is_taken(const char *service, char why[LMPI_WHY])
{
	snprintf(why, LMPI_WHY, "the name \"%.100s\" is published already", service);
	return ERR_SERVICE;
}

int
lmpi_name_publish(const char *service, const char *port, char why[LMPI_WHY])
{
	char found[NAMES_PORT_MAX];
	pmix_info_t info[2];
	pmix_key_t key;

	if (!lmpi_boot_launched())
		return of_folder(names_publish(service, port, getpid(), why));
	if (!make_key(service, key, why))
		return ERR_SERVICE;
	/* Not all launchers look. */
	if (lmpi_name_lookup(service, found, sizeof found, why) == LMPI_OK)
		return name_is_taken(service, why);
	PMIX_INFO_LOAD(&info[0], key, port, PMIX_STRING);
	load_range(&info[1]);
	pmix_status_t rc = PMIx_Publish(info, 2);
	PMIX_INFO_DESTRUCT(&info[0]);
	PMIX_INFO_DESTRUCT(&info[1]);
	if (rc == PMIX_SUCCESS)
		return LMPI_OK;
	if (rc == PMIX_ERR_DUPLICATE_KEY || rc == PMIX_ERR_EXISTS)
		return name_is_taken(service, why);
	snprintf(why, LMPI_WHY, "the launcher does not keep the name \"%.80s\": %s", service,
		 PMIx_Error_string(rc));
	return ERR_SERVICE;
}

int
lmpi_name_unpublish(const char *service, char why[LMPI_WHY])
{
	pmix_key_t key;
	char *keys[] = {key, NULL};
	pmix_info_t info;

	if (!lmpi_boot_launched())
		return names_unpublish(service, getpid(), why) == NAMES_OK ? LMPI_OK : ERR_SERVICE;
	if (!make_key(service, key, why))
		return ERR_SERVICE;
	load_range(&info);
	pmix_status_t rc = PMIx_Unpublish(keys, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	if (rc == PMIX_SUCCESS)
		return LMPI_OK;
	snprintf(why, LMPI_WHY, "this job has not published the name \"%.80s\": %s", service,
		 PMIx_Error_string(rc));
	return ERR_SERVICE;
}

int
lmpi_name_lookup(const char *service, char *port, size_t room, char why[LMPI_WHY])
{
	char found[NAMES_PORT_MAX];
	pmix_key_t key;
	pmix_info_t info;
	pmix_pdata_t data;

	if (!lmpi_boot_launched()) {
		int err = of_folder(names_lookup(service, found, why));
		if (!err)
			snprintf(port, room, "%s", found);
		return err;
	}
	if (!make_key(service, key, why))
		return ERR_NAME;
	PMIX_PDATA_CONSTRUCT(&data);
	PMIX_LOAD_KEY(data.key, key);
	load_range(&info);
	pmix_status_t rc = PMIx_Lookup(&data, 1, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	bool ok = rc == PMIX_SUCCESS && data.value.type == PMIX_STRING && data.value.data.string;
	if (ok)
		snprintf(port, room, "%s", data.value.data.string);
	else
		snprintf(why, LMPI_WHY, "nobody has published the name \"%.100s\"", service);
	PMIX_PDATA_DESTRUCT(&data);
	return ok ? LMPI_OK : ERR_NAME;
}

/* ---- programs ---- */

/* What PMIx says in its own thread. */
struct outcome {
	_Atomic int state; /* 0: nothing yet */
	pmix_status_t status;
};

static void
note_spawned(pmix_status_t status, pmix_nspace_t nspace, void *arg)
{
	struct outcome *o = arg;

	(void)nspace;
	o->status = status;
	atomic_store(&o->state, 1);
	lmpi_tp_wake();
}

static bool
is_out(void *arg)
{
	return atomic_load(&((struct outcome *)arg)->state) != 0;
}

static bool
append_word(char ***words, const char *word)
{
	pmix_status_t rc;

	PMIX_ARGV_APPEND(rc, *words, word);
	return rc == PMIX_SUCCESS;
}

static bool
add_setting(pmix_app_t *app, enum lmpi_knob knob, const char *value)
{
	char *setting;

	if (asprintf(&setting, "%s=%s", lmpi_knob_rows[knob].name, value) < 0)
		return false;
	bool ok = append_word(&app->env, setting);
	free(setting);
	return ok;
}

static bool
describe_program(pmix_app_t *app, const struct lmpi_program *p, const char *port,
		 const char *errhandler)
{
	const char *realm = lmpi_knob_text(LMPI_KNOB_REALM);
	char relay[LMPI_RELAY_NAME];

	app->cmd = strdup(p->command);
	app->maxprocs = (int)p->n;
	bool ok = app->cmd && append_word(&app->argv, p->command);
	for (char **a = p->argv; ok && a && *a; a++)
		ok = append_word(&app->argv, *a);
	ok = ok && add_setting(app, LMPI_KNOB_PARENT_PORT, port);
	lmpi_doors_relay(relay);
	if (ok && relay[0])
		ok = add_setting(app, LMPI_KNOB_RELAY, relay);
	if (ok && realm)
		ok = add_setting(app, LMPI_KNOB_REALM, realm);
	if (ok && errhandler)
		ok = add_setting(app, LMPI_KNOB_ERRHANDLER, errhandler);
	if (ok && p->wdir) {
		app->cwd = strdup(p->wdir);
		ok = app->cwd != NULL;
	}
	if (ok && p->host) {
		PMIX_INFO_CREATE(app->info, 1);
		app->ninfo = 1;
		PMIX_INFO_LOAD(&app->info[0], PMIX_HOST, p->host, PMIX_STRING);
	}
	return ok;
}

static int
why_not_spawned(pmix_status_t status, const struct lmpi_program *p, bool *full, char why[LMPI_WHY])
{
	*full = status == PMIX_ERR_OUT_OF_RESOURCE || status == PMIX_ERR_JOB_FAILED_TO_MAP ||
		status == PMIX_ERR_JOB_ALLOC_FAILED;
	if (status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_NOT_AVAILABLE)
		snprintf(why, LMPI_WHY,
			 "the launcher starts no programs of a running job: use mpirun of libmpi, "
			 "prterun or Open MPI's mpirun");
	else if (*full)
		snprintf(why, LMPI_WHY,
			 "there is no room for so many processes (%s): ask the launcher for more, "
			 "as by mpirun --usize, or say with info key \"soft\" that fewer will do",
			 PMIx_Error_string(status));
	else
		snprintf(why, LMPI_WHY, "the launcher could not start %.100s%s: %s", p->command,
			 strchr(p->command, '/') ? "" : " of its PATH", PMIx_Error_string(status));
	return ERR_SPAWN;
}

int
lmpi_spawn(const struct lmpi_program *program, uint32_t n, const char *port, const char *errhandler,
	   bool *full, char why[LMPI_WHY])
{
	struct outcome *o;
	pmix_app_t *app;
	bool ok = true;

	*full = false;
	if (!lmpi_boot_launched()) {
		snprintf(why, LMPI_WHY,
			 "there is no launcher that could start programs: start this one by "
			 "mpirun, as mpirun -n 1 PROGRAM");
		return ERR_SPAWN;
	}
	o = calloc(1, sizeof *o);
	PMIX_APP_CREATE(app, n);
	for (uint32_t i = 0; ok && i < n; i++)
		ok = describe_program(&app[i], &program[i], port, errhandler);
	if (!o || !ok) {
		free(o);
		PMIX_APP_FREE(app, n);
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	pmix_status_t rc = PMIx_Spawn_nb(NULL, 0, app, n, note_spawned, o);
	if (rc == PMIX_SUCCESS) {
		lmpi_wait_for(is_out, o);
		rc = o->status;
	}
	PMIX_APP_FREE(app, n);
	free(o);
	return rc == PMIX_SUCCESS ? LMPI_OK : why_not_spawned(rc, &program[0], full, why);
}
