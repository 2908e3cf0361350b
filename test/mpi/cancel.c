/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_Cancel of sends: what no receive has taken is called back, what one has
 * taken arrives whole, and the order of the others stays. */
#include "check.h"

#define LONG_BYTES 3000000
#define MANY	   120

static unsigned char big[LONG_BYTES], in[LONG_BYTES];

static int
wait_cancelled(MPI_Request *r)
{
	MPI_Status st;
	int flag = -1;

	MPI_Wait(r, &st);
	MPI_Test_cancelled(&st, &flag);
	return flag;
}

static int
anything_there(void)
{
	int flag = 0;

	for (int i = 0; i < 20 && !flag; i++)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	return flag;
}

/* Nobody receives: a synchronous or a long send is always called back. */
static void
unmatched(int bytes, int sync)
{
	MPI_Request r;

	if (check_rank == 0) {
		if (sync)
			MPI_Issend(big, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r);
		else
			MPI_Isend(big, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r);
		MPI_Cancel(&r);
		CHECKF(wait_cancelled(&r) == 1, "%d bytes, sync %d: not cancelled", bytes, sync);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	CHECKF(!anything_there(), "%d bytes, sync %d: still there", bytes, sync);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The receive is posted already: whatever MPI_Cancel says must be true. */
static void
matched(int bytes)
{
	MPI_Request r;

	if (check_rank == 1) {
		memset(in, 0, (size_t)bytes);
		MPI_Irecv(in, bytes, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &r);
		MPI_Send(NULL, 0, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		CHECK(wrong(in, (size_t)bytes, 1) == -1);
	} else if (check_rank == 0) {
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Issend(big, bytes, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &r);
		MPI_Cancel(&r);
		if (wait_cancelled(&r))
			MPI_Send(big, bytes, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Some of many, of all lengths: the others arrive, in order, and nothing else. */
static void
some_of_many(void)
{
	static MPI_Request r[MANY];
	static int gone[MANY];
	int bytes, next = 0;
	MPI_Status st;

	if (check_rank == 0) {
		for (int i = 0; i < MANY; i++) {
			bytes = (int)(mix((uint32_t)i) % (i % 9 == 0 ? 200000 : 3000)) + 4;
			memcpy(big, &i, sizeof i);
			if (i % 3)
				MPI_Issend(&big[i], bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &r[i]);
			else
				MPI_Isend(&big[i], bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &r[i]);
			if (mix((uint32_t)i + 7) % 2)
				MPI_Cancel(&r[i]);
			else
				gone[i] = -1;
		}
		for (int i = 0; i < MANY; i++)
			if (gone[i] == 0)
				gone[i] = wait_cancelled(&r[i]);
	}
	MPI_Bcast(gone, MANY, MPI_INT, 0, MPI_COMM_WORLD);
	if (check_rank == 1) {
		for (int i = 0; i < MANY; i++) {
			if (gone[i] == 1)
				continue;
			CHECKF(i % 3 == 0 || gone[i] == -1, "synchronous send %d not cancelled", i);
			MPI_Recv(in, LONG_BYTES, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
			CHECKF(st.MPI_TAG == i, "tag %d instead of %d", st.MPI_TAG, i);
			next++;
		}
		CHECK(next >= MANY / 4);
		CHECK(!anything_there());
	}
	for (int i = 0; check_rank == 0 && i < MANY; i++)
		if (gone[i] == -1)
			CHECK(wait_cancelled(&r[i]) == 0);
	fill(big, sizeof big, 1);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* What a probe has taken is matched, although no byte has been asked for. */
static void
probed(void)
{
	MPI_Request r;
	MPI_Message m;

	if (check_rank == 1) {
		MPI_Mprobe(0, 8, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
		MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		memset(in, 0, sizeof in);
		MPI_Mrecv(in, LONG_BYTES, MPI_BYTE, &m, MPI_STATUS_IGNORE);
		CHECK(wrong(in, LONG_BYTES, 1) == -1);
	} else if (check_rank == 0) {
		MPI_Isend(big, LONG_BYTES, MPI_BYTE, 1, 8, MPI_COMM_WORLD, &r);
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Cancel(&r);
		MPI_Send(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
		CHECK(wait_cancelled(&r) == 0);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void
persistent_and_freed(int peer)
{
	MPI_Request r, again;
	int v = 42;

	MPI_Ssend_init(&v, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &r);
	MPI_Start(&r);
	MPI_Cancel(&r);
	CHECK(wait_cancelled(&r) == 1);
	MPI_Start(&r);
	if (peer == check_rank) {
		MPI_Recv(&v, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(v == 42);
	}
	if (peer != check_rank)
		MPI_Send(NULL, 0, MPI_BYTE, peer, 10, MPI_COMM_WORLD);
	CHECK(wait_cancelled(&r) == 0);
	MPI_Request_free(&r);
	MPI_Issend(&v, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &again);
	MPI_Cancel(&again);
	MPI_Request_free(&again);
}

/* Ranks 0 and 1 on different nodes, or as if: what goes without asking has a name there. */
static int
far_apart(void)
{
	const char *transport = getenv("LIBMPI_TRANSPORT");
	MPI_Comm node;
	int lead = check_rank, leads[2];

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Bcast(&lead, 1, MPI_INT, 0, node);
	MPI_Comm_free(&node);
	leads[0] = leads[1] = lead;
	MPI_Bcast(&leads[0], 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Bcast(&leads[1], 1, MPI_INT, 1, MPI_COMM_WORLD);
	return leads[0] != leads[1] || (transport && strcmp(transport, "udp") == 0);
}

/* Nobody receives a send that is done at once, a copy of it being kept or on its way: it is
 * called back, or, on one node, must be received. */
typedef int sender(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
		   MPI_Request *request);

static void
done_at_once(sender *send, int bytes, int persistent, int far)
{
	static char room[4 * (LONG_BYTES / 10 + MPI_BSEND_OVERHEAD)];
	MPI_Request r;
	void *was_at;
	int gone = 0, size;

	MPI_Buffer_attach(room, sizeof room);
	if (check_rank == 0) {
		send(big, bytes, MPI_BYTE, 1, 11, MPI_COMM_WORLD, &r);
		for (int i = 0; i < (persistent ? 3 : 1); i++) {
			if (persistent)
				MPI_Start(&r);
			MPI_Cancel(&r);
			MPI_Cancel(&r);
			int was = wait_cancelled(&r);
			gone += was;
			CHECKF(was || !far, "%d bytes: not cancelled", bytes);
		}
		if (persistent)
			MPI_Request_free(&r);
	}
	MPI_Bcast(&gone, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = gone; check_rank == 1 && i < (persistent ? 3 : 1); i++) {
		MPI_Recv(in, LONG_BYTES, MPI_BYTE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(wrong(in, (size_t)bytes, 1) == -1);
	}
	MPI_Buffer_detach(&was_at, &size);
	CHECKF(!anything_there(), "%d bytes: still there", bytes);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Three messages that look the same but in their bytes, the second called back; and one that
 * was received is not. */
static void
the_one_meant(int bytes, int far)
{
	MPI_Request r[3];
	int gone = 0;

	if (check_rank == 0) {
		for (int i = 0; i < 3; i++)
			MPI_Isend(big + i, bytes, MPI_BYTE, 1, 12, MPI_COMM_WORLD, &r[i]);
		MPI_Cancel(&r[1]);
		gone = wait_cancelled(&r[1]);
		CHECKF(gone || !far, "%d bytes: not cancelled", bytes);
	}
	MPI_Bcast(&gone, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; check_rank == 1 && i < 3; i++) {
		if (i == 1 && gone)
			continue;
		MPI_Recv(in, LONG_BYTES, MPI_BYTE, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECKF(memcmp(in, big + i, (size_t)bytes) == 0, "not message %d", i);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; check_rank == 0 && i < 3; i += 2) {
		MPI_Cancel(&r[i]);
		CHECKF(wait_cancelled(&r[i]) == 0, "%d bytes: cancelled after the receive", bytes);
	}
	CHECK(!anything_there());
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Called back and forgotten: the request goes when the answer comes, the end of the job waits
 * for it.  It would wait for ever for a buffered one that has to be asked for. */
static void
forgotten(void)
{
	static char room[MANY * (300 + MPI_BSEND_OVERHEAD)];
	MPI_Request r;

	MPI_Buffer_attach(room, sizeof room);
	for (int i = 0; check_rank == 0 && i < MANY; i++) {
		if (i % 2 || getenv("LIBMPI_EAGER"))
			MPI_Isend(big, 300, MPI_BYTE, 1, 13, MPI_COMM_WORLD, &r);
		else
			MPI_Ibsend(big, 300, MPI_BYTE, 1, 13, MPI_COMM_WORLD, &r);
		MPI_Cancel(&r);
		MPI_Request_free(&r);
	}
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	fill(big, sizeof big, 1);
	persistent_and_freed(check_rank);
	CHECK(!anything_there());
	MPI_Barrier(MPI_COMM_WORLD); /* or the next one's messages may be there before its CANCEL */
	if (check_size > 1) {
		unmatched(0, 1);
		unmatched(1, 1);
		unmatched(5000, 1);
		unmatched(60000, 1);
		unmatched(LONG_BYTES, 0);
		unmatched(LONG_BYTES, 1);
		matched(0);
		matched(3000);
		matched(LONG_BYTES);
		probed();
		some_of_many();
		int far = far_apart();
		for (int bytes = 0; bytes <= 250000; bytes = 5 * bytes + 2) {
			/* A buffered one that has to be asked for is the library's own. */
			int eager = far && !getenv("LIBMPI_EAGER") && bytes < 50000;
			done_at_once(MPI_Isend, bytes, 0, far);
			done_at_once(MPI_Ibsend, bytes, 0, eager);
			done_at_once(MPI_Send_init, bytes, 1, far);
			done_at_once(MPI_Bsend_init, bytes, 1, eager);
			the_one_meant(bytes < 2 ? 2 : bytes, far);
		}
		if (check_rank == 0)
			persistent_and_freed(1);
		int v = 0;
		if (check_rank == 1) { /* not before the first one was called back */
			MPI_Recv(NULL, 0, MPI_BYTE, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Recv(&v, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(v == 42);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		CHECK(!anything_there());
		MPI_Barrier(MPI_COMM_WORLD);
		forgotten();
	}
	return finish();
}
