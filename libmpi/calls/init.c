/* SPDX-License-Identifier: BSD-2-Clause */
/* Beginning and end of a job, and what can be asked about it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "relayproto/text.h"

#include "call.h"
#include "coll.h"
#include "comm.h"
#include "dyn.h"
#include "engine.h"
#include "impl.h"
#include "session.h"
#include "sp.h"
#include "spx.h"
#include "survive.h"
#include "type.h"

#define VERSION_TEXT "libmpi " BASE_VERSION ", MPI 5.0 with the standard ABI 1.0"

static int thread_level = MPI_THREAD_SINGLE;
static pthread_t main_thread;

static int users; /* MPI_COMM_WORLD and sessions */
static bool up, ended;
static enum { WORLD_NOT_YET, WORLD_THERE, WORLD_GONE } world;

static int
bring_up(void)
{
	int rc;

	if (ended)
		return lmpi_error(MPI_ERR_OTHER, "MPI is finalised already, and the job with it");
	main_thread = pthread_self();
	lmpi_types_init();
	rc = lmpi_engine_init();
	if (rc)
		return lmpi_error(rc, "the job could not be set up, see above");
	rc = lmpi_comm_init();
	if (rc)
		return lmpi_error(rc, "out of memory");
	lmpi_ft_init();
	lmpi_sp_init();
	up = true;
	rc = lmpi_job_name();
	if (rc == MPI_SUCCESS)
		rc = lmpi_parent_meet();
	return rc ? rc : lmpi_spx_begin();
}

static int
take_down(void)
{
	int rc = lmpi_spx_finish();

	if (rc)
		return rc;
	lmpi_background_stop();
	lmpi_links_end();
	up = false;
	ended = true;
	/* A process that leaves no longer acknowledges anything, so nobody may leave
	 * before all have got all they were sent.  IMPI wants this barrier too. */
	lmpi_engine_quiesce();
	if (lmpi_survives())
		(void)lmpi_meet(0);
	else
		rc = lmpi_coll_barrier(lmpi_comm_world);
	if (rc)
		return lmpi_error(rc, "the processes could not meet to end the job");
	rc = lmpi_engine_fini();
	if (rc)
		return lmpi_error(rc, "the job could not be ended properly");
	lmpi_state = LMPI_FINALIZED;
	lmpi_comm_fini();
	return MPI_SUCCESS;
}

/* A process that only had sessions leaves. */
static void
at_exit(void)
{
	struct lmpi_call call;

	if (!up || users > 0)
		return;
	lmpi_enter(&call, "exit", LMPI_ON_NONE, NULL);
	(void)take_down();
	(void)lmpi_leave(&call, MPI_SUCCESS);
}

/* From now on other threads may come: those of the program, or our own. */
static void
share_lock(void)
{
	static bool asked;
	bool thread = !asked && lmpi_background_wanted();

	asked = true;
	if (!lmpi_lock_shared && (thread || thread_level == MPI_THREAD_MULTIPLE)) {
		lmpi_lock_shared = true;
		lmpi_lock(); /* of the call we are in, which gives it up at its end */
	}
	if (thread)
		lmpi_background_start();
}

int
lmpi_runtime_use(int level)
{
	int rc = up ? MPI_SUCCESS : bring_up();

	if (rc)
		return rc;
	if (level > thread_level)
		thread_level = level;
	users++;
	lmpi_state = LMPI_RUNNING;
	share_lock();
	return MPI_SUCCESS;
}

int
lmpi_runtime_drop(void)
{
	static bool registered;

	if (--users > 0)
		return MPI_SUCCESS;
	if (world == WORLD_GONE)
		return take_down();
	if (!registered)
		registered = atexit(at_exit) == 0;
	lmpi_state = LMPI_BEFORE_INIT;
	return MPI_SUCCESS;
}

/* The ABI's constants of the levels rise with what they allow, but others may be asked
 * for: the next one below. */
static int
level_of(int required)
{
	if (required >= MPI_THREAD_MULTIPLE)
		return MPI_THREAD_MULTIPLE;
	if (required >= MPI_THREAD_SERIALIZED)
		return MPI_THREAD_SERIALIZED;
	return required >= MPI_THREAD_FUNNELED ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
}

static int
init_runtime(int required, int *provided)
{
	int rc;

	if (world != WORLD_NOT_YET)
		return lmpi_error(MPI_ERR_OTHER, "MPI is %s",
				  world == WORLD_THERE ? "initialised already"
						       : "finalised already");
	rc = lmpi_runtime_use(level_of(required));
	if (rc)
		return rc;
	world = WORLD_THERE;
	if (provided != NULL)
		*provided = thread_level;
	return MPI_SUCCESS;
}

int
impl_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return init_runtime(MPI_THREAD_SINGLE, NULL);
}

int
impl_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	(void)argc;
	(void)argv;
	return init_runtime(required, provided);
}

int
impl_Initialized(int *flag)
{
	*flag = world != WORLD_NOT_YET;
	return MPI_SUCCESS;
}

int
impl_Finalized(int *flag)
{
	*flag = world == WORLD_GONE;
	return MPI_SUCCESS;
}

int
impl_Finalize(void)
{
	int rc;

	if (world != WORLD_THERE)
		return lmpi_error(MPI_ERR_OTHER, "MPI_Finalize without MPI_Init");
	/* The standard: attributes of MPI_COMM_SELF go first, their callbacks may
	 * still use MPI. */
	rc = lmpi_attr_delete_all(LMPI_ATTR_COMM, MPI_COMM_SELF, &lmpi_comm_self->attrs);
	if (rc == MPI_SUCCESS)
		rc = lmpi_attr_delete_all(LMPI_ATTR_COMM, MPI_COMM_WORLD, &lmpi_comm_world->attrs);
	if (rc)
		return rc;
	impl_Buffer_flush();
	world = WORLD_GONE;
	return lmpi_runtime_drop();
}

/* Of gfortran's library: writes out one unit of Fortran, or all if unit is NULL. */
extern void _gfortran_flush_i4(int *unit) __attribute__((weak));

/* What the program printed last says why it ends: stdout is a file or a pipe in a job, so
 * that is still in its buffer.  Not by exit(): other threads may be anywhere. */
static void
flush_output(void)
{
	if (ftrylockfile(stdout) == 0) {
		fflush(stdout);
		funlockfile(stdout);
	}
	if (_gfortran_flush_i4 != NULL)
		_gfortran_flush_i4(NULL);
}

int
impl_Abort(MPI_Comm comm, int errorcode)
{
	struct lmpi_comm *c = lmpi_comm_find(comm);
	char why[RELAY_WHY_MAX], by[RELAY_WHY_MAX];

	relay_text_set(by, "rank %u of MPI_COMM_WORLD on %s", lmpi_world.rank,
		       lmpi_world.node_name);
	/* Other sites take their status from this text. */
	relay_text_abort(why,
			 c == NULL    ? "invalid communicator"
			 : c->name[0] ? c->name
				      : "unnamed communicator",
			 errorcode, by);
	flush_output();
	lmpi_engine_abort(errorcode, why);
}

int
impl_Query_thread(int *provided)
{
	*provided = thread_level;
	return MPI_SUCCESS;
}

int
impl_Is_thread_main(int *flag)
{
	*flag = lmpi_state != LMPI_BEFORE_INIT && pthread_equal(main_thread, pthread_self());
	return MPI_SUCCESS;
}

int
impl_Get_version(int *version, int *subversion)
{
	*version = MPI_VERSION;
	*subversion = MPI_SUBVERSION;
	return MPI_SUCCESS;
}

int
impl_Get_library_version(char *version, int *resultlen)
{
	*resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", VERSION_TEXT);
	return MPI_SUCCESS;
}

int
impl_Get_processor_name(char *name, int *resultlen)
{
	*resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", lmpi_world.node_name);
	if (*resultlen >= MPI_MAX_PROCESSOR_NAME)
		*resultlen = MPI_MAX_PROCESSOR_NAME - 1;
	return MPI_SUCCESS;
}

double
impl_Wtime(void)
{
	return lmpi_wtime();
}

double
impl_Wtick(void)
{
	return lmpi_wtick();
}

/* For profiling libraries in front of this one: nothing to do here. */
int
impl_Pcontrol(const int level, ...)
{
	(void)level;
	return MPI_SUCCESS;
}

MPI_Aint
impl_Aint_add(MPI_Aint base, MPI_Aint disp)
{
	return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint
impl_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
	return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

int
impl_Get_address(const void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
}

int
impl_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
	void *p;

	(void)info;
	if (size < 0)
		return lmpi_error(MPI_ERR_ARG, "size is %td", size);
	if (posix_memalign(&p, 64, size > 0 ? (size_t)size : 1) != 0)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for %td bytes", size);
	*(void **)baseptr = p;
	return MPI_SUCCESS;
}

int
impl_Free_mem(void *base)
{
	free(base);
	return MPI_SUCCESS;
}

int
impl_Get_hw_resource_info(MPI_Info *hw_info)
{
	return impl_Info_create(hw_info); /* nothing is known below the node */
}
