/* SPDX-License-Identifier: BSD-2-Clause */
/* Special ranks on every call that knows them, and refusals of those that do not.  Not a row: the
 * smoke scenario pipeline runs it as `stages front` and `stages back` under mpisprun, and as
 * `stages lazy`, which never begins a frame. */
#include "check.h"

#include <mpisp.h>
#include <time.h>

enum { FRAMES = 20, MANY = 100 };

static void
send_all(int64_t frame)
{
	MPI_Comm w = MPI_COMM_WORLD;
	MPI_Request r[3];
	MPI_Datatype every_second;
	int n = (int)MPISP_FRAME_NUMBER(frame), row[2 * MANY];

	for (int i = 0; i < 2 * MANY; i++)
		row[i] = n + i;
	MPI_Type_vector(MANY, 1, 2, MPI_INT, &every_second);
	MPI_Type_commit(&every_second);
	WANT(MPI_SUCCESS, MPI_Send(&n, 1, MPI_INT, MPISP_CLUSTER_OUT, 1, w));
	WANT(MPI_SUCCESS, MPI_Send(row, 1, every_second, MPISP_CLUSTER_OUT, 2, w));
	WANT(MPI_SUCCESS, MPI_Ssend(NULL, 0, MPI_INT, MPISP_CLUSTER_OUT, 3, w));
	WANT(MPI_SUCCESS, MPI_Bsend(&n, 1, MPI_INT, MPISP_CLUSTER_OUT, 3, w));
	WANT(MPI_SUCCESS, MPI_Isend(&n, 1, MPI_INT, MPISP_CLUSTER_OUT, 4, w, &r[0]));
	WANT(MPI_SUCCESS, MPI_Issend(row, 2, MPI_INT, MPISP_CLUSTER_OUT, 4, w, &r[1]));
	WANT(MPI_SUCCESS, MPI_Send_init(row, 3, MPI_INT, MPISP_CLUSTER_OUT, 4, w, &r[2]));
	WANT(MPI_SUCCESS, MPI_Start(&r[2]));
	WANT(MPI_SUCCESS, MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
	MPI_Request_free(&r[2]);
	WANT(MPI_SUCCESS, MPI_Sendrecv(&n, 1, MPI_INT, MPISP_CLUSTER_OUT, 5, &row[1], 1, MPI_INT,
				       MPI_PROC_NULL, 0, w, MPI_STATUS_IGNORE));
	MPI_Type_free(&every_second);
}

static void
recv_all(int64_t frame)
{
	MPI_Comm w = MPI_COMM_WORLD;
	MPI_Request r[2];
	MPI_Status s;
	int n = (int)MPISP_FRAME_NUMBER(frame), got[2 * MANY] = {0}, flag, count;

	WANT(MPI_SUCCESS, MPI_Iprobe(MPISP_CLUSTER_IN, 9, w, &flag, &s));
	CHECK(!flag);
	WANT(MPI_SUCCESS, MPI_Probe(MPISP_CLUSTER_IN, MPI_ANY_TAG, w, &s));
	CHECK(s.MPI_TAG == 1 && s.MPI_SOURCE == MPISP_CLUSTER_IN);
	/* Whatever the order of tags, messages of one tag come in order. */
	WANT(MPI_SUCCESS, MPI_Irecv(got, 1, MPI_INT, MPISP_CLUSTER_IN, 4, w, &r[0]));
	WANT(MPI_SUCCESS, MPI_Recv_init(got + 1, 3, MPI_INT, MPISP_CLUSTER_IN, 4, w, &r[1]));
	WANT(MPI_SUCCESS, MPI_Start(&r[1]));
	WANT(MPI_SUCCESS, MPI_Wait(&r[1], &s));
	MPI_Get_count(&s, MPI_INT, &count);
	CHECK(count == 2 && s.MPI_TAG == 4 && s.MPI_SOURCE == MPISP_CLUSTER_IN);
	WANT(MPI_SUCCESS, MPI_Wait(&r[0], MPI_STATUS_IGNORE));
	MPI_Request_free(&r[1]);
	CHECK(got[0] == n && got[1] == n && got[2] == n + 1);
	WANT(MPI_ERR_TRUNCATE, MPI_Recv(got, 2, MPI_INT, MPISP_CLUSTER_IN, 4, w, &s));
	WANT(MPI_SUCCESS, MPI_Recv(got, MANY, MPI_INT, MPISP_CLUSTER_IN, 2, w, &s));
	for (int i = 0; i < MANY; i++)
		CHECK(got[i] == n + 2 * i);
	WANT(MPI_SUCCESS, MPI_Recv(got, 1, MPI_INT, MPISP_CLUSTER_IN, 3, w, &s));
	MPI_Get_count(&s, MPI_INT, &count);
	CHECK(count == 0);
	WANT(MPI_SUCCESS, MPI_Sendrecv(&n, 1, MPI_INT, MPI_PROC_NULL, 0, got, 1, MPI_INT,
				       MPISP_CLUSTER_IN, 3, w, &s));
	CHECK(got[0] == n);
	WANT(MPI_SUCCESS, MPI_Recv(got, 1, MPI_INT, MPISP_CLUSTER_IN, MPI_ANY_TAG, w, &s));
	CHECK(s.MPI_TAG == 1 && got[0] == n);
	WANT(MPI_SUCCESS, MPI_Recv(got, 1, MPI_INT, MPISP_CLUSTER_IN, MPI_ANY_TAG, w, &s));
	CHECK(s.MPI_TAG == 5);
	WANT(MPI_ERR_RANK, MPI_Recv(got, 1, MPI_INT, MPISP_CLUSTER_IN, MPI_ANY_TAG, w, &s));
	WANT(MPI_ERR_RANK, MPI_Probe(MPISP_CLUSTER_IN, 1, w, &s));
	WANT(MPI_ERR_RANK, MPI_Send(got, 1, MPI_INT, MPISP_CLUSTER_OUT, 1, w)); /* the last one */
}

/* What no stage may do, in or out of a frame. */
static void
refuse_all(void)
{
	MPI_Comm w = MPI_COMM_WORLD;
	MPI_Message m;
	MPI_Request r;
	int x = 0, flag;

	WANT(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, MPISP_CLUSTER_IN, 1, w));
	WANT(MPI_ERR_RANK, MPI_Recv(&x, 1, MPI_INT, MPISP_CLUSTER_OUT, 1, w, MPI_STATUS_IGNORE));
	WANT(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, MPISP_CLUSTER_OUT, -5, w));
	WANT(MPI_ERR_COUNT, MPI_Send(&x, -1, MPI_INT, MPISP_CLUSTER_OUT, 1, w));
	WANT(MPI_ERR_UNSUPPORTED_OPERATION,
	     MPI_Improbe(MPISP_CLUSTER_IN, 1, w, &flag, &m, MPI_STATUS_IGNORE));
	WANT(MPI_ERR_UNSUPPORTED_OPERATION,
	     MPI_Isendrecv(&x, 1, MPI_INT, MPISP_CLUSTER_OUT, 1, &x, 1, MPI_INT, 0, 1, w, &r));
	WANT(MPI_ERR_UNSUPPORTED_OPERATION, MPISP_World_use(MPISP_WORLD_PREV));
	WANT(MPI_ERR_ARG, MPISP_World_use(7));
	WANT(MPI_ERR_ARG, MPISP_Chain("add front nowhere"));
	WANT(MPI_ERR_ARG, MPISP_Chain("add back front"));
}

static int
stage_setup(MPI_Comm world, void *arg)
{
	char name[64];
	int n, kind, takeovers;
	MPI_Comm w;

	(void)arg;
	WANT(MPI_SUCCESS, MPISP_Self(&kind, &takeovers, name));
	CHECK(kind == MPISP_COMPUTE && takeovers == 0 && name[0]);
	WANT(MPI_SUCCESS, MPISP_World_count(&n));
	CHECK(n == 1);
	WANT(MPI_SUCCESS, MPISP_World(0, &w, NULL));
	CHECK(w == world);
	WANT(MPI_ERR_ARG, MPISP_World(1, &w, NULL));
	/* Outside of a frame. */
	WANT(MPI_ERR_RANK, MPI_Send(&n, 1, MPI_INT, MPISP_CLUSTER_OUT, 1, world));
	WANT(MPI_ERR_RANK, MPI_Recv(&n, 1, MPI_INT, MPISP_CLUSTER_IN, 1, world, MPI_STATUS_IGNORE));
	WANT(MPI_ERR_OTHER, MPISP_Frame_end(world, 0));
	refuse_all();
	return MPI_SUCCESS;
}

static int
back_frame(int64_t frame, int again, void *arg)
{
	int64_t other;

	CHECK(!again && MPISP_FRAME_RANK(frame) == 0 && MPISP_FRAME_CLUSTER(frame) == 0);
	WANT(MPI_ERR_OTHER, MPISP_Frame_begin(MPI_COMM_WORLD, &other, &again));
	WANT(MPI_ERR_ARG, MPISP_Frame_end(MPI_COMM_WORLD, frame + 1));
	recv_all(frame);
	++*(int *)arg;
	return MPI_SUCCESS;
}

static void
run_front(void)
{
	int64_t frame;
	int again;

	stage_setup(MPI_COMM_WORLD, NULL);
	for (int i = 0; i < FRAMES; i++) {
		WANT(MPI_SUCCESS, MPISP_Frame_begin(MPI_COMM_WORLD, &frame, &again));
		CHECK(MPISP_FRAME_NUMBER(frame) == i && !again);
		WANT(MPI_ERR_RANK, MPI_Recv(&again, 1, MPI_INT, MPISP_CLUSTER_IN, 1, MPI_COMM_WORLD,
					    MPI_STATUS_IGNORE));
		send_all(frame);
		WANT(MPI_SUCCESS, MPISP_Frame_end(MPI_COMM_WORLD, frame));
		WANT(MPI_SUCCESS, MPISP_Alive());
	}
}

int
main(int argc, char **argv)
{
	const char *stage = argc > 1 ? argv[1] : "";
	int frames = 0;

	start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	if (!strcmp(stage, "lazy")) {
		for (;;)
			nanosleep(&(struct timespec){1, 0}, NULL);
	}
	if (!strcmp(stage, "front")) {
		run_front();
	} else {
		WANT(MPI_SUCCESS, MPISP_Run(MPI_COMM_WORLD, stage_setup, back_frame, &frames));
		CHECKF(frames == FRAMES, "%d frames", frames);
	}
	return finish();
}
