/* SPDX-License-Identifier: BSD-2-Clause */
/* MPISP_ calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "comm_create.h"
#include "engine.h"
#include "epoch.h"
#include "impl.h"
#include "lmpi/knobs.h"
#include "pipeline.h"
#include "sp.h"
#include "spx.h"

struct lmpi_pipeline lmpi_pipeline;

_Static_assert(SPX_EVENT_MISSING == MPISP_EVENT_MISSING && SPX_EVENT_ASIDE == MPISP_EVENT_ASIDE,
	       "one number here and there");

int
lmpi_pipeline_get(void)
{
	return lmpi_pipeline.run ? MPI_SUCCESS
				 : lmpi_error(MPI_ERR_OTHER,
					      "there is no pipeline: nobody manages this process; "
					      "start it by mpisprun");
}

void
lmpi_pipeline_events(void)
{
	struct spxrun_event e;

	while (lmpi_pipeline.on_event && spxrun_event(lmpi_pipeline.run, &e)) {
		int64_t frame = (int64_t)e.e.number;
		lmpi_pipeline.on_event((int)e.e.kind, frame, e.text, lmpi_pipeline.event_arg);
	}
}

/* ---- beginning and end ---- */

int
lmpi_spx_begin(void)
{
	uint64_t fd = lmpi_knob_number(LMPI_KNOB_SPX_FEED);
	char why[SPX_TEXT_MAX];

	if (fd == 0 || lmpi_pipeline.run)
		return MPI_SUCCESS;
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return lmpi_error(MPI_ERR_OTHER,
				  "LIBMPI_SPX_FEED is descriptor %llu, which is not open: only "
				  "who manages the pipeline can set it",
				  (unsigned long long)fd);
	lmpi_pipeline.run = spxrun_open((int)fd, why);
	if (lmpi_pipeline.run == NULL)
		return lmpi_error(MPI_ERR_OTHER, "no place in the pipeline: %s", why);
	/* A spare waits until it takes a rank over. */
	if (spxrun_self(lmpi_pipeline.run, &lmpi_pipeline.self, -1))
		return MPI_SUCCESS;
	snprintf(why, sizeof(why), "%s", spxrun_over(lmpi_pipeline.run));
	if (why[0])
		return lmpi_error(MPI_ERR_OTHER, "no place in the pipeline: %s", why);
	return MPI_SUCCESS; /* it is over, and the spare was not needed */
}

static void
print_pipeline_stats(void)
{
	struct spx_counts c;
	struct spxrun_counts own;

	spxrun_counters(lmpi_pipeline.run, &c, &own);
#define X(n, help)                                                                      \
	if (c.n)                                                                        \
		fprintf(stderr, "libmpi: [%u] pipeline %s %llu\n", lmpi_world.rank, #n, \
			(unsigned long long)c.n);
	SPX_COUNTERS(X)
#undef X
}

int
lmpi_spx_finish(void)
{
	char why[SPX_TEXT_MAX];
	bool ok;

	if (lmpi_pipeline.run == NULL)
		return MPI_SUCCESS;
	lmpi_frame_abandon();
	unsigned depth = lmpi_lock_drop();
	ok = spxrun_finish(lmpi_pipeline.run, -1, why);
	lmpi_lock_retake(depth);
	lmpi_pipeline_events();
	if (lmpi_knob_number(LMPI_KNOB_STATS))
		print_pipeline_stats();
	spxrun_free(lmpi_pipeline.run);
	lmpi_pipeline.run = NULL;
	return ok ? MPI_SUCCESS : lmpi_error(MPI_ERR_OTHER, "the pipeline: %s", why);
}

/* ---- calls ---- */

/* mpispd has started it, with no pipeline. */
static int
tell_self_of_daemon(int *kind, int *takeovers, char *cluster)
{
	const struct lmpi_sp_self *self = lmpi_sp_self();

	if (kind)
		*kind = self->role < self->compute ? MPISP_COMPUTE : MPISP_IO;
	if (takeovers)
		*takeovers = (int)self->takeovers;
	if (cluster)
		memcpy(cluster, self->cluster, sizeof(self->cluster));
	return MPI_SUCCESS;
}

static int
tell_self(int *kind, int *takeovers, char *cluster)
{
	struct lmpi_pipeline *p = &lmpi_pipeline;

	if (!p->run && lmpi_sp())
		return tell_self_of_daemon(kind, takeovers, cluster);
	if (p->run)
		(void)spxrun_self(p->run, &p->self, 0);
	if (kind)
		*kind = p->run == NULL		 ? MPISP_ALONE
			: p->self.kind == SPX_IO ? MPISP_IO
						 : MPISP_COMPUTE;
	if (takeovers)
		*takeovers = p->run ? p->self.takeovers : 0;
	if (cluster) {
		memset(cluster, 0, 64);
		memcpy(cluster, p->self.cluster, sizeof(p->self.cluster));
	}
	return MPI_SUCCESS;
}

static int
count_worlds(int *n)
{
	char name[SPX_CLUSTERS_MAX][SPX_NAME_MAX];
	int rc = lmpi_pipeline_get();

	if (rc == MPI_SUCCESS)
		*n = (int)spxrun_worlds(lmpi_pipeline.run, name);
	return rc;
}

static int
give_world(int i, MPI_Comm *world, char *name)
{
	static MPI_Comm made[SPX_CLUSTERS_MAX];
	char all[SPX_CLUSTERS_MAX][SPX_NAME_MAX];
	int rc = lmpi_pipeline_get();

	if (rc)
		return rc;
	int n = (int)spxrun_worlds(lmpi_pipeline.run, all);
	if (i < 0 || i >= n)
		return lmpi_error(MPI_ERR_ARG, "world %d of %d: they are 0 to %d", i, n, n - 1);
	if (name)
		snprintf(name, 64, "%s", all[i]);
	*world = MPI_COMM_WORLD;
	if (lmpi_pipeline.self.kind != SPX_IO)
		return MPI_SUCCESS;
	if (made[i] == NULL) {
		struct lmpi_comm *c;
		rc = impl_Comm_dup(MPI_COMM_SELF, &made[i]);
		if (rc == MPI_SUCCESS)
			rc = lmpi_comm_get(made[i], &c);
		if (rc == MPI_SUCCESS)
			lmpi_comm_rename(c, all[i]);
	}
	*world = made[i];
	return rc;
}

static int
use_world(int which)
{
	if (which < MPISP_WORLD_AUTO || which > MPISP_WORLD_NEXT)
		return lmpi_error(MPI_ERR_ARG,
				  "world %d is none of MPISP_WORLD_AUTO, _PREV and _NEXT", which);
	return which == MPISP_WORLD_AUTO
		       ? MPI_SUCCESS
		       : lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
				    "an I/O process receives in the world of the sender and sends "
				    "in that of the receiver by itself: MPISP_WORLD_AUTO");
}

static int
check_world(MPI_Comm world)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get_intra(world, &c);

	return rc ? rc : lmpi_pipeline_get();
}

static int
begin_frame_in(MPI_Comm world, int64_t *frame, int *again)
{
	int none, rc = check_world(world);

	return rc ? rc : lmpi_frame_begin(frame, again ? again : &none);
}

static int
end_frame_in(MPI_Comm world, int64_t frame)
{
	int rc = check_world(world);

	return rc ? rc : lmpi_frame_end(frame);
}

/* An I/O process has nothing to do but to hear what happens. */
static int
wait_for_end(void)
{
	struct spx_frame f;
	enum spxrun_got got = SPXRUN_NONE;

	while (got != SPXRUN_OVER) {
		unsigned depth = lmpi_lock_drop();
		got = spxrun_begin(lmpi_pipeline.run, &f, 1000);
		lmpi_lock_retake(depth);
		lmpi_pipeline_events();
	}
	return MPI_SUCCESS;
}

static int
run_stage(MPI_Comm world, int (*setup)(MPI_Comm, void *), int (*frame)(int64_t, int, void *),
	  void *arg)
{
	int64_t name = 0;
	int again, rc = check_world(world);

	if (rc == MPI_SUCCESS && lmpi_pipeline.self.kind == SPX_IO)
		return wait_for_end();
	if (rc == MPI_SUCCESS && frame == NULL)
		rc = lmpi_error(MPI_ERR_ARG, "frame is NULL, in a process that computes");
	unsigned depth = lmpi_lock_drop();
	if (rc == MPI_SUCCESS && setup)
		rc = setup(world, arg);
	lmpi_lock_retake(depth);
	while (rc == MPI_SUCCESS) {
		rc = lmpi_frame_begin(&name, &again);
		if (rc == LMPI_ERR_PROC_FAILED) /* in_flight ulfm: frame() decides, by `again` */
			rc = MPI_SUCCESS;
		if (rc || name == MPISP_FRAME_END)
			break;
		depth = lmpi_lock_drop();
		rc = frame(name, again, arg);
		lmpi_lock_retake(depth);
		if (rc == MPI_SUCCESS)
			rc = lmpi_frame_end(name);
		else
			lmpi_frame_abandon();
	}
	return rc;
}

static int
repair_comm(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new)
{
	if (lmpi_sp())
		return lmpi_sp_repair(broken, same_size, i_am_new);
	return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
			  "MPISP_Comm_repair: a rank that was taken over takes part in frames, but "
			  "has no messages with others of its world yet");
}

static uint32_t
ask_pick(void *user, const struct spx_candidate *c, uint32_t n, bool out)
{
	const struct lmpi_pipeline *p = user;
	struct MPISP_candidate list[256];
	uint32_t m = n < 256 ? n : 256;

	for (uint32_t i = 0; i < m; i++)
		list[i] = (struct MPISP_candidate){c[i].id, c[i].amount, c[i].mine, c[i].weight};
	int i = p->pick(list, (int)m, out, 0, 0, p->pick_arg);
	return i < 0 ? n : (uint32_t)i;
}

static int
set_policy(MPI_Comm world, MPISP_pick_fn *pick, void *arg)
{
	int rc = check_world(world);

	if (rc)
		return rc;
	spxrun_policy(lmpi_pipeline.run, NULL, NULL);
	lmpi_pipeline.pick = pick;
	lmpi_pipeline.pick_arg = arg;
	if (pick)
		spxrun_policy(lmpi_pipeline.run, ask_pick, &lmpi_pipeline);
	return MPI_SUCCESS;
}

static int
set_on_event(MPISP_event_fn *fn, void *arg)
{
	lmpi_pipeline.on_event = fn;
	lmpi_pipeline.event_arg = arg;
	return MPI_SUCCESS;
}

static int
change_stage_chains(const char *ops)
{
	char why[SPX_TEXT_MAX];
	int rc = lmpi_pipeline_get();

	if (rc)
		return rc;
	unsigned depth = lmpi_lock_drop();
	bool ok = spxrun_chain(lmpi_pipeline.run, ops, why);
	lmpi_lock_retake(depth);
	return ok ? MPI_SUCCESS : lmpi_error(MPI_ERR_ARG, "\"%s\": %s", ops, why);
}

static int
say_alive(void)
{
	/* mpispd sees by itself that a process is not stuck. */
	int rc = lmpi_sp() ? MPI_SUCCESS : lmpi_pipeline_get();

	if (rc || lmpi_pipeline.run == NULL)
		return rc;
	spxrun_alive(lmpi_pipeline.run);
	lmpi_pipeline_events();
	return MPI_SUCCESS;
}

/* ---- entry points ---- */

LMPI_EXPORT int
PMPISP_Init(int *argc, char ***argv, const char *config)
{
	(void)config;
	return MPI_Init(argc, argv);
}
LMPI_EXPORT int MPISP_Init(int *argc, char ***argv, const char *config) LMPI_ALIAS("PMPISP_Init");

#define ENTRY(name, params, kind, handle, call_)                      \
	LMPI_EXPORT int P##name params                                \
	{                                                             \
		struct lmpi_call call;                                \
		lmpi_enter(&call, #name, kind, handle);               \
		if (!lmpi_running())                                  \
			return lmpi_leave(&call, lmpi_not_running()); \
		return lmpi_leave(&call, call_);                      \
	}                                                             \
	LMPI_EXPORT int name params LMPI_ALIAS("P" #name);

ENTRY(MPISP_Self, (int *kind, int *takeovers, char cluster[64]), LMPI_ON_NONE, NULL,
      tell_self(kind, takeovers, cluster))
ENTRY(MPISP_World_count, (int *n), LMPI_ON_NONE, NULL, count_worlds(n))
ENTRY(MPISP_World, (int i, MPI_Comm *world, char name[64]), LMPI_ON_NONE, NULL,
      give_world(i, world, name))
ENTRY(MPISP_World_use, (int which), LMPI_ON_NONE, NULL, use_world(which))
ENTRY(MPISP_Frame_begin, (MPI_Comm world, int64_t *frame, int *again), LMPI_ON_COMM, world,
      begin_frame_in(world, frame, again))
ENTRY(MPISP_Frame_end, (MPI_Comm world, int64_t frame), LMPI_ON_COMM, world,
      end_frame_in(world, frame))
ENTRY(MPISP_Run,
      (MPI_Comm world, int (*setup)(MPI_Comm world, void *arg),
       int (*frame)(int64_t frame, int again, void *arg), void *arg),
      LMPI_ON_COMM, world, run_stage(world, setup, frame, arg))
ENTRY(MPISP_Comm_repair, (MPI_Comm broken, MPI_Comm *same_size, int *i_am_new), LMPI_ON_COMM,
      broken, repair_comm(broken, same_size, i_am_new))
ENTRY(MPISP_Policy, (MPI_Comm world, MPISP_pick_fn *pick, void *arg), LMPI_ON_COMM, world,
      set_policy(world, pick, arg))
ENTRY(MPISP_On_event, (MPISP_event_fn * fn, void *arg), LMPI_ON_NONE, NULL, set_on_event(fn, arg))
ENTRY(MPISP_Chain, (const char *ops), LMPI_ON_NONE, NULL, change_stage_chains(ops))
ENTRY(MPISP_Alive, (void), LMPI_ON_NONE, NULL, say_alive())
