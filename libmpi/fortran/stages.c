/* SPDX-License-Identifier: BSD-2-Clause */
/* mpisp.h from Fortran: what modules mpisp and mpisp_f08 declare.  What C gives a callback as its
 * last argument, programs have in variables. */
#include "section.h"

#include <mpisp.h>
#include <string.h>

#pragma weak MPISP_Init
#pragma weak MPISP_Self
#pragma weak MPISP_World_count
#pragma weak MPISP_World
#pragma weak MPISP_World_use
#pragma weak MPISP_Frame_begin
#pragma weak MPISP_Frame_end
#pragma weak MPISP_Run
#pragma weak MPISP_Comm_repair
#pragma weak MPISP_Policy
#pragma weak MPISP_On_event
#pragma weak MPISP_Chain
#pragma weak MPISP_Alive

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define CALL(name, ...) F_IF_THERE(MPISP_##name, __VA_ARGS__)
#define ALSO_08(name)                                          \
	extern __typeof__(mpisp_##name##_) mpisp_##name##_f08_ \
		__attribute__((alias("mpisp_" #name "_")))

/* ---- a place in the pipeline ---- */

void
mpisp_init_(int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(Init, NULL, NULL, NULL);
}
ALSO_08(init);

void
mpisp_self_(int *kind, int *takeovers, char *cluster, int *ierror, size_t len)
{
	F_OPTIONAL(ierror);
	char name[64] = "";

	*ierror = CALL(Self, kind, takeovers, name);
	if (!*ierror)
		f_put(cluster, len, name);
}
ALSO_08(self);

void
mpisp_world_count_(int *n, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(World_count, n);
}
ALSO_08(world_count);

void
mpisp_world_(int *i, int *world, char *name, int *ierror, size_t len)
{
	F_OPTIONAL(ierror);
	MPI_Comm comm = MPI_COMM_NULL;
	char text[64] = "";

	*ierror = CALL(World, *i, &comm, text);
	if (*ierror)
		return;
	*world = MPI_Comm_toint(comm);
	f_put(name, len, text);
}
ALSO_08(world);

void
mpisp_world_use_(int *which, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(World_use, *which);
}
ALSO_08(world_use);

void
mpisp_comm_repair_(int *broken, int *same_size, int *i_am_new, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Comm same = MPI_COMM_NULL;

	*ierror = CALL(Comm_repair, MPI_Comm_fromint(*broken), &same, i_am_new);
	if (!*ierror)
		*same_size = MPI_Comm_toint(same);
}
ALSO_08(comm_repair);

/* ---- frames ---- */

void
mpisp_frame_begin_(int *world, int64_t *frame, int *again, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(Frame_begin, MPI_Comm_fromint(*world), frame, again);
}
ALSO_08(frame_begin);

void
mpisp_frame_end_(int *world, int64_t *frame, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(Frame_end, MPI_Comm_fromint(*world), *frame);
}
ALSO_08(frame_end);

int64_t
mpisp_frame_number_(const int64_t *frame)
{
	return MPISP_FRAME_NUMBER(*frame);
}

int
mpisp_frame_rank_(const int64_t *frame)
{
	return MPISP_FRAME_RANK(*frame);
}

int
mpisp_frame_cluster_(const int64_t *frame)
{
	return MPISP_FRAME_CLUSTER(*frame);
}

struct stage {
	void (*setup)(int *world, int *ierror);
	void (*frame)(int64_t *frame, int *again, int *ierror);
};

static int
call_setup(MPI_Comm world, void *arg)
{
	const struct stage *s = arg;
	int w = MPI_Comm_toint(world), rc = MPI_SUCCESS;

	s->setup(&w, &rc);
	return rc;
}

static int
call_frame(int64_t frame, int again, void *arg)
{
	const struct stage *s = arg;
	int rc = MPI_SUCCESS;

	s->frame(&frame, &again, &rc);
	return rc;
}

void
mpisp_run_(int *world, void (*setup)(int *, int *), void (*frame)(int64_t *, int *, int *),
	   int *ierror)
{
	F_OPTIONAL(ierror);
	struct stage s = {setup, frame};

	*ierror = CALL(Run, MPI_Comm_fromint(*world), setup ? call_setup : NULL,
		       frame ? call_frame : NULL, &s);
}
ALSO_08(run);

/* ---- what the program is asked and told ---- */

/* MPISP_Candidate of the modules. */
_Static_assert(sizeof(struct MPISP_candidate) == 4 * sizeof(int), "four INTEGERs");
typedef void f_pick(const struct MPISP_candidate *c, int *n, int *out, int64_t *bytes, int *tag,
		    int *picked);
typedef void f_event(int *kind, int64_t *frame, const char *text, size_t len);

static f_pick *_Atomic pick_fn;
static f_event *_Atomic event_fn;

/* Fortran counts from 1; 0 picks nobody. */
static int
call_pick(const struct MPISP_candidate *c, int n, int out, MPI_Count bytes, int tag, void *arg)
{
	int64_t size = bytes;
	int picked = 0;

	(void)arg;
	pick_fn(c, &n, &out, &size, &tag, &picked);
	return picked - 1;
}

static void
call_event(int kind, int64_t frame, const char *text, void *arg)
{
	(void)arg;
	event_fn(&kind, &frame, text, strlen(text));
}

void
mpisp_policy_(int *world, f_pick *pick, int *ierror)
{
	F_OPTIONAL(ierror);
	if (pick)
		pick_fn = pick;
	*ierror = CALL(Policy, MPI_Comm_fromint(*world), pick ? call_pick : NULL, NULL);
}
ALSO_08(policy);

void
mpisp_on_event_(f_event *fn, int *ierror)
{
	F_OPTIONAL(ierror);
	if (fn)
		event_fn = fn;
	*ierror = CALL(On_event, fn ? call_event : NULL, NULL);
}
ALSO_08(on_event);

void
mpisp_chain_(const char *ops, int *ierror, size_t len)
{
	F_OPTIONAL(ierror);
	char *text = f_string(ops, len);

	*ierror = text ? CALL(Chain, text) : f_fail(MPI_ERR_NO_MEM);
	free(text);
}
ALSO_08(chain);

void
mpisp_alive_(int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = MPISP_Alive ? MPISP_Alive() : f_fail(MPI_ERR_UNSUPPORTED_OPERATION);
}
ALSO_08(alive);
