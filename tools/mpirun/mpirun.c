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

/* Ours first, then what the launcher wants said differently, then the user's words. */
void
mpirun_become(const struct mpirun_options *o, const char *path)
{
	char **argv = calloc((size_t)o->nwords + 8, sizeof *argv);
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
		if (o->timeout_s > 0) {
			snprintf(limit, sizeof limit, "--time=%.0f", ceil(o->timeout_s / 60));
			argv[n++] = limit;
		}
	}
	for (int i = 0; i < o->nwords; i++) {
		char *w = o->words[i];
		argv[n++] = is_srun(path) && strcmp(w, "-np") == 0 ? (char *)(uintptr_t) "-n" : w;
	}
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
		mpirun_become(&o, path);
	}
	return mpirun_local(&o);
}
