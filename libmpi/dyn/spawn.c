/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting programs, and who has started this one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "coll.h"
#include "dyn.h"
#include "engine.h"
#include "impl.h"
#include "info.h"
#include "others.h"

#include "launch/order.h"

#define PATH_BYTES 4096
/* Who is started has come to MPI_Init by then, or does not come. */
#define START_S 300.0

static struct lmpi_comm *parent;

/* ---- what is to be started ---- */

struct order {
	int n; /* commands */
	struct launch_count *count;
	struct lmpi_program *program;
	const char **soft;
	char **found; /* paths that were looked up, or NULL */
	const char *errhandler;
	double seconds; /* until they have come to MPI_Init */
};

static void
free_order(struct order *o)
{
	for (int i = 0; o->found != NULL && i < o->n; i++)
		free(o->found[i]);
	free(o->found);
	free(o->soft);
	free(o->program);
	free(o->count);
}

static bool
is_program(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* In folders with colons between them; malloc'd, or NULL. */
static char *
find_in_path(const char *command, const char *path)
{
	char *file = malloc(PATH_BYTES);

	while (file != NULL && *path != '\0') {
		size_t n = strcspn(path, ":");
		int len = snprintf(file, PATH_BYTES, "%.*s/%s", (int)n, path, command);

		if (len > 0 && len < PATH_BYTES && is_program(file))
			return file;
		path += n + (path[n] == ':');
	}
	free(file);
	return NULL;
}

/* It is not where it should be: file. */
static int
say_no_program(const struct lmpi_program *p, const char *file)
{
	if (access(file, F_OK) == 0)
		return lmpi_error(MPI_ERR_SPAWN, "%s is no program: %s", file,
				  access(file, X_OK) == 0 ? "it is not a file"
							  : "it may not be executed");
	if (strchr(p->command, '/') == NULL)
		return lmpi_error(MPI_ERR_SPAWN,
				  "there is no program %s, neither in PATH nor in %s", p->command,
				  p->wdir != NULL ? p->wdir : "this folder");
	return lmpi_error(MPI_ERR_SPAWN, "there is no program %s", file);
}

/* Some launchers end the job over a program that is not there; so we look first, unless it is to
 * run on hosts that this one need not be like.  As launchers do, we look for a name without a
 * slash in PATH, then in the folder where it is to run. */
static int
look_for_program(const struct lmpi_program *p)
{
	const char *path = getenv("PATH"), *folder = p->wdir != NULL ? p->wdir : ".";
	char file[PATH_BYTES], *found = NULL;
	struct stat st;
	int len;

	if (p->host != NULL)
		return MPI_SUCCESS;
	if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
		return lmpi_error(MPI_ERR_SPAWN, "info key \"wdir\" is \"%s\": no such folder",
				  folder);
	if (strchr(p->command, '/') == NULL)
		found = find_in_path(p->command, path != NULL ? path : "");
	if (p->command[0] == '/' || p->wdir == NULL)
		len = snprintf(file, sizeof(file), "%s", p->command);
	else
		len = snprintf(file, sizeof(file), "%s/%s", folder, p->command);
	if (found == NULL && (len < 0 || len >= PATH_BYTES || !is_program(file)))
		return say_no_program(p, file);
	free(found);
	return MPI_SUCCESS;
}

/* What info says of command i. */
static int
read_info(struct order *o, int i, MPI_Info handle)
{
	struct lmpi_program *p = &o->program[i];
	struct lmpi_info *info;
	int rc = lmpi_info_arg(handle, &info);
	const char *path;

	if (rc == MPI_SUCCESS)
		rc = lmpi_meet_limit(handle, &o->seconds);
	if (rc || info == NULL)
		return rc;
	p->host = lmpi_info_value(info, "host");
	p->wdir = lmpi_info_value(info, "wdir");
	o->soft[i] = lmpi_info_value(info, "soft");
	path = lmpi_info_value(info, "path");
	if (path != NULL && strchr(p->command, '/') == NULL) {
		o->found[i] = find_in_path(p->command, path);
		if (o->found[i] != NULL)
			p->command = o->found[i];
	}
	if (lmpi_info_value(info, "mpi_initial_errhandler") != NULL)
		o->errhandler = lmpi_info_value(info, "mpi_initial_errhandler");
	return MPI_SUCCESS;
}

static int
make_order(struct order *o, int n, char *const *command, char **const *argv, const int *maxprocs,
	   const MPI_Info *info)
{
	int rc = MPI_SUCCESS;

	if (n < 1)
		return lmpi_error(MPI_ERR_COUNT, "count is %d", n);
	*o = (struct order){.n = n,
			    .seconds = START_S,
			    .count = calloc((size_t)n, sizeof(*o->count)),
			    .program = calloc((size_t)n, sizeof(*o->program)),
			    .soft = calloc((size_t)n, sizeof(*o->soft)),
			    .found = calloc((size_t)n, sizeof(*o->found))};
	if (o->count == NULL || o->program == NULL || o->soft == NULL || o->found == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for %d commands", n);
	for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
		if (command[i] == NULL || command[i][0] == '\0')
			return lmpi_error(MPI_ERR_ARG, "command %d is empty", i);
		if (maxprocs[i] < 0)
			return lmpi_error(MPI_ERR_ARG, "maxprocs of command %d is %d", i,
					  maxprocs[i]);
		o->count[i] = (struct launch_count){(uint64_t)maxprocs[i], (uint64_t)maxprocs[i]};
		o->program[i] = (struct lmpi_program){.command = command[i],
						      .argv = argv != NULL ? argv[i] : NULL,
						      .n = (uint32_t)maxprocs[i]};
		rc = read_info(o, i, info[i]);
	}
	return rc;
}

/* Start as many as there is room for (info key soft). */
static int
start_order(struct order *o, const char *port, char why[LMPI_WHY])
{
	for (;;) {
		bool full;
		int rc = lmpi_spawn(o->program, (uint32_t)o->n, port, o->errhandler, &full, why);

		if (rc == MPI_SUCCESS || !full ||
		    !launch_order_fewer(o->count, o->soft, (uint32_t)o->n))
			return rc;
		for (int i = 0; i < o->n; i++)
			o->program[i].n = (uint32_t)o->count[i].n;
	}
}

/* ---- the calls ---- */

static int
start_at_root(struct order *o, char port[MPI_MAX_PORT_NAME])
{
	uint64_t wanted = 0;
	char why[LMPI_WHY];
	int rc;

	for (int i = 0; i < o->n; i++)
		wanted += o->count[i].wanted;
	if (wanted == 0)
		return lmpi_error(MPI_ERR_SPAWN, "no process is to be started");
	rc = lmpi_meet_ready(why);
	if (rc)
		return lmpi_error(rc, "%s", why);
	for (int i = 0; i < o->n && rc == MPI_SUCCESS; i++)
		rc = look_for_program(&o->program[i]);
	if (rc)
		return rc;
	rc = lmpi_port_open(port, MPI_MAX_PORT_NAME, why);
	if (rc == MPI_SUCCESS)
		rc = start_order(o, port, why);
	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}

/* What the root tells the others. */
struct started {
	int64_t rc, commands;
	struct launch_count first;
};

/* How many were wanted and started of each command is known to the root, and then to all. */
static int
share_outcome(struct lmpi_comm *c, int root, struct order *o, struct started *s)
{
	if (c->rank == root && o->count != NULL) {
		s->commands = o->n;
		s->first = o->count[0];
	}
	int rc = lmpi_coll_bcast_bytes(c, s, sizeof(*s), root);
	if (rc || s->commands == 0)
		return rc;
	if (c->rank != root) {
		o->n = (int)s->commands;
		o->count = calloc((size_t)o->n, sizeof(*o->count));
		if (o->count == NULL)
			lmpi_engine_abort(MPI_ERR_NO_MEM, "out of memory for what was started");
		o->count[0] = s->first;
	}
	return o->n > 1 ? lmpi_coll_bcast_bytes(c, o->count, (size_t)o->n * sizeof(*o->count), root)
			: MPI_SUCCESS;
}

/* Of all that were wanted, as far as is known here: who is not the root learns it from there. */
static void
fill_codes(int *codes, const struct order *o, int rc)
{
	if (codes != MPI_ERRCODES_IGNORE && codes != NULL && o->count != NULL)
		launch_order_codes(o->count, (uint32_t)o->n, rc, MPI_ERR_SPAWN, codes);
}

/* They were started, and the call fails nevertheless. */
static int
say_unmet(int meets, double seconds, const char *port, const char *command)
{
	char text[MPI_MAX_ERROR_STRING], why[LMPI_WHY];

	snprintf(text, sizeof(text), "%s", lmpi_error_text(meets));
	/* The launcher knows of none that has ended: it is a matter of time. */
	if (port[0] != '\0' && meets == MPI_ERR_PORT && !lmpi_spawn_unmet(port, why)) {
		lmpi_spawn_give_up(port);
		return lmpi_error(MPI_ERR_SPAWN,
				  "the programs were started, and none has ended that the launcher "
				  "told of, but they did not come to MPI_Init within %g s: does %s "
				  "call it? Info key \"timeout\" says how long to wait",
				  seconds, command);
	}
	return lmpi_error(MPI_ERR_SPAWN,
			  "the programs were started, but did not come to MPI_Init: %s", text);
}

/* All call; the root has the order.  *made: NULL if it fails. */
static int
spawn_order(struct lmpi_comm *c, int root, struct order *o, int64_t order_rc,
	    struct lmpi_comm **made)
{
	char port[MPI_MAX_PORT_NAME] = "", why[LMPI_WHY];
	struct started s = {.rc = order_rc};
	double seconds = START_S;
	int rc, meets;

	if (c->rank == root) {
		if (s.rc == MPI_SUCCESS)
			s.rc = start_at_root(o, port);
		seconds = o->seconds;
	}
	rc = share_outcome(c, root, o, &s);
	if (rc == MPI_SUCCESS && s.rc) {
		rc = (int)s.rc;
		if (c->rank != root)
			(void)lmpi_error(rc, "the root, rank %d, could not start the programs",
					 root);
	}
	if (rc == MPI_SUCCESS) {
		meets = lmpi_meet_others(c, root, LMPI_MEET_ACCEPT, port, seconds, made);
		if (meets)
			rc = say_unmet(meets, seconds, port,
				       c->rank == root ? o->program[0].command : "");
	}
	if (port[0] != '\0')
		(void)lmpi_port_close(port, why);
	return rc;
}

/* command, argv, maxprocs and info count at root. */
static int
spawn(int n, char *const *command, char **const *argv, const int *maxprocs, const MPI_Info *info,
      int root, MPI_Comm comm, MPI_Comm *intercomm, int *codes)
{
	struct lmpi_comm *c, *made = NULL;
	struct order o = {0};
	int rc = lmpi_comm_get_intra(comm, &c), order_rc = MPI_SUCCESS;

	*intercomm = MPI_COMM_NULL;
	if (rc)
		return rc;
	if (root < 0 || root >= c->size)
		return lmpi_error(MPI_ERR_ROOT, "root %d is not a rank of the communicator", root);
	lmpi_last_words_review(false);
	if (c->rank == root)
		order_rc = make_order(&o, n, command, argv, maxprocs, info);
	if (c->lost > 0)
		rc = lmpi_error(LMPI_ERR_PROC_FAILED, "a process of the communicator has failed");
	else
		rc = spawn_order(c, root, &o, order_rc, &made);
	fill_codes(codes, &o, rc);
	free_order(&o);
	if (rc == MPI_SUCCESS)
		*intercomm = made->handle;
	return rc;
}

int
impl_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
		MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[])
{
	char *one = (char *)(uintptr_t)command;

	return spawn(1, &one, &argv, &maxprocs, &info, root, comm, intercomm, array_of_errcodes);
}

int
impl_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
			 const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
			 MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[])
{
	return spawn(count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info,
		     root, comm, intercomm, array_of_errcodes);
}

/* ---- the parent ---- */

int
lmpi_parent_meet(void)
{
	const char *port = lmpi_knob_text(LMPI_KNOB_PARENT_PORT);
	int rc;

	if (port == NULL)
		return MPI_SUCCESS;
	rc = lmpi_meet_others(lmpi_comm_world, 0, LMPI_MEET_CONNECT, port, START_S, &parent);
	if (rc)
		return lmpi_error(rc,
				  "who has started this job (LIBMPI_PARENT_PORT) is not there: "
				  "%s",
				  lmpi_error_text(rc));
	lmpi_spawn_met();
	snprintf(parent->name, sizeof(parent->name), "MPI_COMM_PARENT");
	return MPI_SUCCESS;
}

void
lmpi_parent_forget(const struct lmpi_comm *comm)
{
	if (parent == comm)
		parent = NULL;
}

int
impl_Comm_get_parent(MPI_Comm *parent_out)
{
	*parent_out = parent != NULL && !parent->user_freed ? parent->handle : MPI_COMM_NULL;
	return MPI_SUCCESS;
}
