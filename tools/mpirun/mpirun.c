/* SPDX-License-Identifier: BSD-2-Clause */
/* mpirun, mpiexec - start the ranks of an MPI program.
 *
 * Ranks find each other through PMIx.  On one machine mpirun serves it by itself;
 * over several a launcher of the site does, and mpirun becomes it (exec), so that
 * signals, terminal and exit status are its own.
 *
 * Exit status: of the first rank that failed (128 + signal if one ended it), 124
 * after --timeout, 2 for wrong arguments. */
#include "mpirun.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

#define HOW_TO_GET                                                                               \
	"ranks on several machines need a launcher that speaks PMIx: srun of Slurm, prterun of " \
	"PRRTE, or Open MPI's mpirun (Debian: slurm-client or openmpi-bin); --launcher names one"

static const char *
base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool
is_srun(const char *path)
{
	return strcmp(base_of(path), "srun") == 0;
}

/* One word out of two, that stays. */
static char *
mpirun_joined(const char *option, const char *value)
{
	char *word = NULL;
	if (asprintf(&word, "%s%s", option, value) < 0)
		mpirun_fail("out of memory");
	return word;
}

/* srun has its own names for what one program is to get, and other meanings for ours (-x, -N):
 * all of it is said anew.  Environment: srun passes on its own. */
static int
words_for_srun(const struct mpirun_options *o, char **argv)
{
	const struct mpirun_app *app = &o->app[0];
	char number[16];
	int n = 0;

	if (app->n && !app->n_default) {
		snprintf(number, sizeof number, "%u", app->n);
		argv[n++] = mpirun_joined("-n", "");
		argv[n++] = mpirun_joined(number, "");
	}
	if (app->per_node) {
		snprintf(number, sizeof number, "%u", app->per_node);
		argv[n++] = mpirun_joined("--ntasks-per-node=", number);
	}
	if (app->wdir)
		argv[n++] = mpirun_joined("--chdir=", app->wdir);
	/* srun has no word for a cache: its local domains are the nodes of memory. */
	static const char *const parts[] = {"", "cores", "none", "none", "ldoms", "sockets"};
	char bind[32];
	snprintf(bind, sizeof bind, "%s%s%s", o->report ? "verbose" : "",
		 o->report && *parts[o->bind] ? "," : "", parts[o->bind]);
	if (*bind)
		argv[n++] = mpirun_joined("--cpu-bind=", bind);
	if (o->label)
		argv[n++] = mpirun_joined("--label", "");
	if (o->who)
		argv[n++] = mpirun_joined(o->who_is_file ? "--nodefile=" : "--nodelist=", o->who);
	for (char **e = app->env; e && *e; e++)
		putenv(*e);
	for (char **w = app->argv; *w; w++)
		argv[n++] = *w;
	return n;
}

/* Ours first, then what the launcher wants said differently, then the user's words. */
void
mpirun_become(const struct mpirun_options *o, const char *path)
{
	char **argv = calloc((size_t)o->nwords + 16, sizeof *argv);
	char limit[32];
	int n = 0;

	if (!argv)
		mpirun_fail("out of memory");
	if (o->timeout_s > 0 && !is_srun(path)) {
		argv[n++] = (char *)(uintptr_t) "timeout";
		snprintf(limit, sizeof limit, "%.3f", o->timeout_s);
		argv[n++] = limit;
	}
	argv[n++] = (char *)(uintptr_t)path;
	if (is_srun(path)) {
		argv[n++] = (char *)(uintptr_t) "--mpi=pmix";
		if (o->keep_going) {
			argv[n++] = (char *)(uintptr_t) "--kill-on-bad-exit=0";
			argv[n++] = (char *)(uintptr_t) "--no-kill"; /* a node may fail, too */
			mpirun_say("--keep-going: Slurm's PMIx plugin ends the step with the first "
				   "rank that dies; fix: on one node say --launcher local");
		}
		if (o->timeout_s > 0) {
			snprintf(limit, sizeof limit, "--time=%.0f", ceil(o->timeout_s / 60));
			argv[n++] = limit;
		}
	} else if (o->keep_going) {
		/* PRRTE 3 has no option of the old name; Open MPI's mpirun 4 has no other one. */
		if (strcmp(base_of(path), "prterun") == 0) {
			argv[n++] = (char *)(uintptr_t) "--runtime-options";
			argv[n++] = (char *)(uintptr_t) "recoverable";
		} else {
			argv[n++] = (char *)(uintptr_t) "--enable-recovery";
		}
		argv[n++] = (char *)(uintptr_t) "-x"; /* on other machines, too */
		argv[n++] = (char *)(uintptr_t) "LIBMPI_KEEP_GOING";
	}
	if (is_srun(path) && o->napps == 1)
		n += words_for_srun(o, argv + n);
	else
		for (int i = 0; i < o->nwords; i++)
			argv[n++] = o->words[i];
	argv[n] = NULL;
	if (o->show) {
		for (int i = 0; i < n; i++)
			printf("%s%s", i ? " " : "", argv[i]);
		putchar('\n');
		exit(0);
	}
	/* Open MPI asks root to say that it means it; inside a container root is all there is. */
	if (getuid() == 0) {
		setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
		setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
		setenv("PRTE_ALLOW_RUN_AS_ROOT", "1", 0);
		setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
	}
	execvp(argv[0], argv);
	mpirun_fail("%s: %s", argv[0], strerror(errno));
}

static bool
find_other(char *path, size_t cap)
{
	static const char *const names[] = {"prterun", "mpirun.openmpi", "mpirun", "orterun"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (launch_find(names[i], path, cap))
			return true;
	return false;
}

int
main(int argc, char **argv)
{
	struct mpirun_options o;
	char path[PATH_MAX];

	mpirun_parse(&o, argc, argv);
	if (!launch_add_libraries())
		mpirun_fail("out of memory");
	if (o.launcher && strcmp(o.launcher, "fork") == 0) /* MPICH's word */
		o.launcher = "local";
	if (o.launcher && (strcmp(o.launcher, "ssh") == 0 || strcmp(o.launcher, "rsh") == 0))
		mpirun_fail("--launcher %s: %s", o.launcher, HOW_TO_GET);
	if (o.launcher && strcmp(o.launcher, "local") != 0) {
		if (!launch_find(o.launcher, path, sizeof path))
			mpirun_fail("--launcher %s: not found%s; %s", o.launcher,
				    strchr(o.launcher, '/') ? "" : " in PATH", HOW_TO_GET);
		mpirun_become(&o, path);
	}
	if (o.launcher)
		return mpirun_local(&o);
	if (getenv("SLURM_JOB_ID") && launch_find("srun", path, sizeof path))
		mpirun_become(&o, path);
	if (o.hosts) {
		if (!find_other(path, sizeof path))
			mpirun_fail("%s", HOW_TO_GET);
		if (o.who && !o.show)
			(o.who_is_file ? mpirun_hostfile_check : mpirun_hosts_check)(o.who, path);
		mpirun_become(&o, path);
	}
	return mpirun_local(&o);
}
