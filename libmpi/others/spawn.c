/* SPDX-License-Identifier: BSD-2-Clause */
/* What the launcher does for connecting jobs: names of ports, starting programs. */
#include "ports.h"

#include "boot.h"
#include "internal.h"
#include "transports.h"

#include "base/assert.h"
#include "driver/names.h"
#include "launch/order.h"
#include "lmpi/launch.h"

#include <pmix.h>
#include <pthread.h>
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

/* Slurm has neither names nor programs for a job that runs. */
static bool
is_not_done(pmix_status_t rc)
{
	return rc == PMIX_ERR_NOT_SUPPORTED || rc == PMIX_ERR_NOT_AVAILABLE;
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
	if (is_not_done(rc))
		return of_folder(names_publish(service, port, getpid(), why));
	if (rc == PMIX_ERR_DUPLICATE_KEY || rc == PMIX_ERR_EXISTS)
		return name_is_taken(service, why);
	snprintf(why, LMPI_WHY, "the launcher does not keep the name \"%.80s\": %s", service,
		 PMIx_Error_string(rc));
	return ERR_SERVICE;
}

static int
unpublish_here(const char *service, char why[LMPI_WHY])
{
	return names_unpublish(service, getpid(), why) == NAMES_OK ? LMPI_OK : ERR_SERVICE;
}

int
lmpi_name_unpublish(const char *service, char why[LMPI_WHY])
{
	pmix_key_t key;
	char *keys[] = {key, NULL};
	pmix_info_t info;

	if (!lmpi_boot_launched())
		return unpublish_here(service, why);
	if (!make_key(service, key, why))
		return ERR_SERVICE;
	load_range(&info);
	pmix_status_t rc = PMIx_Unpublish(keys, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	if (rc == PMIX_SUCCESS)
		return LMPI_OK;
	if (is_not_done(rc))
		return unpublish_here(service, why);
	snprintf(why, LMPI_WHY, "this job has not published the name \"%.80s\": %s", service,
		 PMIx_Error_string(rc));
	return ERR_SERVICE;
}

static int
look_up_here(const char *service, char *port, size_t room, char why[LMPI_WHY])
{
	char found[NAMES_PORT_MAX];
	int err = of_folder(names_lookup(service, found, why));

	if (!err)
		snprintf(port, room, "%s", found);
	return err;
}

int
lmpi_name_lookup(const char *service, char *port, size_t room, char why[LMPI_WHY])
{
	pmix_key_t key;
	pmix_info_t info;
	pmix_pdata_t data;

	if (!lmpi_boot_launched())
		return look_up_here(service, port, room, why);
	if (!make_key(service, key, why))
		return ERR_NAME;
	PMIX_PDATA_CONSTRUCT(&data);
	PMIX_LOAD_KEY(data.key, key);
	load_range(&info);
	pmix_status_t rc = PMIx_Lookup(&data, 1, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	if (is_not_done(rc)) {
		PMIX_PDATA_DESTRUCT(&data);
		return look_up_here(service, port, room, why);
	}
	bool ok = rc == PMIX_SUCCESS && data.value.type == PMIX_STRING && data.value.data.string;
	if (ok)
		snprintf(port, room, "%s", data.value.data.string);
	else
		snprintf(why, LMPI_WHY, "nobody has published the name \"%.100s\"", service);
	PMIX_PDATA_DESTRUCT(&data);
	return ok ? LMPI_OK : ERR_NAME;
}

/* ---- who is expected ---- */

/* A job that was asked for, until the port is closed where it is to come.  PMIx's thread writes
 * what it hears, with the lock. */
struct expected {
	struct launch_await await; /* first */
	_Atomic int state;	   /* 0: the launcher has not answered yet */
	pmix_status_t status;
	char port[];
};

static struct {
	pthread_mutex_t lock;
	struct launch_awaited jobs;
	_Atomic int watching; /* 1: being registered, 3: both are */
} expected_here = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define jobs_expected (&expected_here.jobs)

static void
lock_expected(void)
{
	pthread_mutex_lock(&expected_here.lock);
}

static void
unlock_expected(void)
{
	pthread_mutex_unlock(&expected_here.lock);
}

/* It had met this one just before: its death is one like any other. */
static void
report_stray(void)
{
	struct launch_early e;

	lock_expected();
	while (launch_await_stray(jobs_expected, &e)) {
		unlock_expected();
		lmpi_control_report(e.why, LMPI_RANK_ELSEWHERE);
		lock_expected();
	}
	unlock_expected();
}

static void
note_spawned(pmix_status_t status, pmix_nspace_t nspace, void *arg)
{
	struct expected *o = arg;

	lock_expected();
	o->status = status;
	launch_await_answer(jobs_expected, &o->await, status == PMIX_SUCCESS ? nspace : NULL);
	unlock_expected();
	report_stray();
	atomic_store(&o->state, 1);
	lmpi_tp_wake();
}

static bool
is_out(void *arg)
{
	return atomic_load(&((struct expected *)arg)->state) != 0;
}

static void
on_unmet(size_t handler, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
	 size_t ninfo, pmix_info_t *results, size_t nresults,
	 pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	const char *why = "a process of it has ended";

	(void)handler, (void)status, (void)results, (void)nresults;
	for (size_t i = 0; i < ninfo; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE) &&
		    info[i].value.type == PMIX_STRING && info[i].value.data.string)
			why = info[i].value.data.string;
	lock_expected();
	bool awaited = source && launch_await_unmet(jobs_expected, source->nspace, why);
	unlock_expected();
	if (awaited)
		lmpi_tp_wake();
	else if (source)
		lmpi_control_report(why, LMPI_RANK_ELSEWHERE);
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

/* PRRTE says it of each job that was started from here, however it has ended. */
static void
on_job_end(size_t handler, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
	   size_t ninfo, pmix_info_t *results, size_t nresults,
	   pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	const char *job = source ? source->nspace : NULL;

	(void)handler, (void)status, (void)results, (void)nresults;
	for (size_t i = 0; i < ninfo; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) &&
		    info[i].value.type == PMIX_PROC && info[i].value.data.proc)
			job = info[i].value.data.proc->nspace;
	lock_expected();
	bool awaited = job && launch_await_ended(jobs_expected, job, "they have ended");
	unlock_expected();
	if (awaited)
		lmpi_tp_wake();
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static void
note_watching(pmix_status_t status, size_t id, void *arg)
{
	(void)status, (void)id, (void)arg;
	atomic_fetch_add(&expected_here.watching, 1);
	lmpi_tp_wake();
}

static bool
is_watching(void *arg)
{
	(void)arg;
	return atomic_load(&expected_here.watching) == 3;
}

/* Before anybody is started, so that nothing is missed. */
static void
watch_for_unmet(void)
{
	static pmix_status_t unmet = LMPI_LAUNCH_UNMET, end = PMIX_EVENT_JOB_END;
	int no = 0;

	if (atomic_compare_exchange_strong(&expected_here.watching, &no, 1)) {
		PMIx_Register_event_handler(&unmet, 1, NULL, 0, on_unmet, note_watching, NULL);
		PMIx_Register_event_handler(&end, 1, NULL, 0, on_job_end, note_watching, NULL);
	}
	lmpi_wait_for(is_watching, NULL);
}

/* NULL: no memory. */
static struct expected *
expect_job(const char *port)
{
	size_t room = strlen(port) + 1;
	struct expected *o = calloc(1, sizeof *o + room);

	if (!o)
		return NULL;
	memcpy(o->port, port, room);
	lock_expected();
	launch_await(jobs_expected, &o->await, o->port);
	unlock_expected();
	return o;
}

bool
lmpi_spawn_unmet(const char *port, char why[LMPI_WHY])
{
	lock_expected();
	const char *text = launch_await_why(jobs_expected, port);
	if (text)
		snprintf(why, LMPI_WHY, "%s", text);
	unlock_expected();
	return text != NULL;
}

void
lmpi_spawn_give_up(const char *port)
{
	lock_expected();
	launch_await_give_up(jobs_expected, port);
	unlock_expected();
}

void
lmpi_spawn_forget(const char *port)
{
	struct launch_await *a;

	lock_expected();
	while ((a = launch_await_forget(jobs_expected, port)) != NULL)
		free(a);
	unlock_expected();
}

void
lmpi_spawn_ended(const char *name, const char *why)
{
	lock_expected();
	bool awaited = launch_await_ended(jobs_expected, name, why);
	unlock_expected();
	if (awaited)
		lmpi_tp_wake();
}

void
lmpi_spawn_met(void)
{
	lmpi_boot_tell_met();
}

/* ---- programs ---- */

static bool
append_word(char ***words, const char *word)
{
	pmix_status_t rc;

	PMIX_ARGV_APPEND(rc, *words, word);
	return rc == PMIX_SUCCESS;
}

static void
note_setting(struct lmpi_settings *s, enum lmpi_knob knob, const char *value)
{
	BASE_ASSERT(s->n < LMPI_SETTINGS_MAX);
	s->name[s->n] = lmpi_knob_rows[knob].name;
	s->value[s->n++] = value;
}

static void
make_settings(struct lmpi_settings *s, const char *port, const char *errhandler)
{
	const char *realm = lmpi_knob_text(LMPI_KNOB_REALM);

	s->n = 0;
	note_setting(s, LMPI_KNOB_PARENT_PORT, port);
	lmpi_doors_relay(s->relay);
	if (s->relay[0])
		note_setting(s, LMPI_KNOB_RELAY, s->relay);
	if (realm)
		note_setting(s, LMPI_KNOB_REALM, realm);
	if (errhandler)
		note_setting(s, LMPI_KNOB_ERRHANDLER, errhandler);
}

static bool
add_setting(pmix_app_t *app, const char *name, const char *value)
{
	char *setting;

	if (asprintf(&setting, "%s=%s", name, value) < 0)
		return false;
	bool ok = append_word(&app->env, setting);
	free(setting);
	return ok;
}

static bool
describe_program(pmix_app_t *app, const struct lmpi_program *p, const struct lmpi_settings *s)
{
	app->cmd = strdup(p->command);
	app->maxprocs = (int)p->n;
	bool ok = app->cmd && append_word(&app->argv, p->command);
	for (char **a = p->argv; ok && a && *a; a++)
		ok = append_word(&app->argv, *a);
	for (uint32_t i = 0; ok && i < s->n; i++)
		ok = add_setting(app, s->name[i], s->value[i]);
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
	if (*full)
		snprintf(why, LMPI_WHY,
			 "there is no room for so many processes (%s): ask the launcher for more, "
			 "as by mpirun --usize, or say with info key \"soft\" that fewer will do",
			 PMIx_Error_string(status));
	else
		snprintf(why, LMPI_WHY, "the launcher could not start %.100s%s: %s", p->command,
			 strchr(p->command, '/') ? "" : " of its PATH", PMIx_Error_string(status));
	return ERR_SPAWN;
}

/* Without a launcher that does it the answer is that we have started one, under a name of ours. */
static int
spawn_alone(const struct lmpi_program *program, uint32_t n, const struct lmpi_settings *s,
	    const char *port, char why[LMPI_WHY])
{
	static _Atomic uint32_t started;
	struct expected *o = expect_job(port);
	char name[LAUNCH_NAME];

	if (!o) {
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	snprintf(name, sizeof name, "alone-%u", atomic_fetch_add(&started, 1));
	bool ok = lmpi_alone_start(program, n, s, name, why);
	lock_expected();
	launch_await_answer(jobs_expected, &o->await, ok ? name : NULL);
	unlock_expected();
	return ok ? LMPI_OK : ERR_SPAWN;
}

static int
spawn_by_launcher(const struct lmpi_program *program, uint32_t n, const struct lmpi_settings *s,
		  const char *port, bool *full, char why[LMPI_WHY])
{
	struct expected *o;
	pmix_info_t by_slot;
	pmix_app_t *app;
	bool ok = true;

	watch_for_unmet();
	o = expect_job(port);
	PMIX_APP_CREATE(app, n);
	for (uint32_t i = 0; ok && i < n; i++)
		ok = describe_program(&app[i], &program[i], s);
	if (!o || !ok) {
		PMIX_APP_FREE(app, n);
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	/* A command's processes have ranks beside each other (MPI-4.1, 11.8.3), which PRRTE 3 keeps
	 * to when it is told so alone. */
	PMIX_INFO_LOAD(&by_slot, PMIX_RANKBY, "slot", PMIX_STRING);
	pmix_status_t rc = PMIx_Spawn_nb(&by_slot, 1, app, n, note_spawned, o);
	if (rc == PMIX_SUCCESS) {
		lmpi_wait_for(is_out, o);
		rc = o->status;
	}
	PMIX_APP_FREE(app, n);
	PMIX_INFO_DESTRUCT(&by_slot);
	if (is_not_done(rc)) {
		lmpi_spawn_forget(port);
		return spawn_alone(program, n, s, port, why);
	}
	return rc == PMIX_SUCCESS ? LMPI_OK : why_not_spawned(rc, &program[0], full, why);
}

int
lmpi_spawn(const struct lmpi_program *program, uint32_t n, const char *port, const char *errhandler,
	   bool *full, char why[LMPI_WHY])
{
	struct lmpi_settings s;

	*full = false;
	lmpi_spawn_forget(port); /* more of them, that were not started */
	make_settings(&s, port, errhandler);
	return lmpi_boot_launched() ? spawn_by_launcher(program, n, &s, port, full, why)
				    : spawn_alone(program, n, &s, port, why);
}
