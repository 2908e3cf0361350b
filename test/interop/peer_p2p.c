/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts of scripts.py: point to point. */
#include "peer.h"

void
peer_pingpong(void)
{
	static const int n[] = {0, 1, 8, 100, 1024};
	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		if (peer_rank == 0) {
			peer_send(n[i], 1, peer_size - 1, 11, 0);
			peer_recv(n[i], 1, peer_size - 1, 12);
		} else if (peer_rank == peer_size - 1) {
			peer_recv(n[i], 1, 0, 11);
			peer_send(n[i], 1, 0, 12, 0);
		}
	}
}

static void
one_size(int n, int sync, int posted, int sender, int other)
{
	MPI_Status st;
	if (peer_rank == sender) {
		if (posted)
			peer_recv(0, 0, other, 90);
		peer_send(n, n, other, 21, sync);
		return;
	}
	if (!posted) {
		int count;
		MPI_Probe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &count);
		CHECK(st.MPI_TAG == 21 && count == n);
		peer_recv(n, n, MPI_ANY_SOURCE, MPI_ANY_TAG);
		return;
	}
	unsigned char *p = peer_room((size_t)n);
	MPI_Request req;
	MPI_Irecv(p, n, MPI_BYTE, other, 21, MPI_COMM_WORLD, &req);
	peer_send(0, 0, other, 90, 0);
	MPI_Wait(&req, &st);
	peer_check_bytes(p, n, n);
	free(p);
}

void
peer_sizes(void)
{
	const int d = peer_args.datalen, other = peer_other_end();
	const int n[] = {0, 1, d - 1, d, d + 1, 2 * d, 2 * d + 1, 10 * d + 1};
	int last = -1;
	for (size_t i = 0; i < sizeof n / sizeof *n && other >= 0; i++) {
		if (n[i] <= last)
			continue; /* the script sends each size once, ascending */
		last = n[i];
		for (int k = 0; k < 8; k++)
			one_size(n[i], k >> 2, k >> 1 & 1, k & 1 ? peer_size - 1 : 0, other);
	}
}

void
peer_all_pairs(void)
{
	for (int r = 0; r < peer_size; r++) {
		int v = peer_rank * 1000 + r;
		if (r != peer_rank)
			MPI_Send(&v, 1, MPI_INT, r, 30, MPI_COMM_WORLD);
	}
	for (int r = 0; r < peer_size; r++) {
		int v = 0;
		if (r == peer_rank)
			continue;
		MPI_Recv(&v, 1, MPI_INT, r, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(v == r * 1000 + peer_rank);
	}
}

void
peer_saturate(void)
{
	const int n = peer_args.messages;
	MPI_Request *req = peer_room((size_t)(n * peer_size) * sizeof *req);
	int(*v)[5] = peer_room((size_t)n * sizeof *v);
	int reqs = 0;

	for (int k = 0; k < n; k++) {
		for (int i = 0; i < 5; i++)
			v[k][i] = k;
		for (int r = 0; r < peer_size; r++)
			if (peer_client_of(r) != peer_client_of(peer_rank))
				MPI_Isend(v[k], 1 + k % 5, MPI_INT, r, 9, MPI_COMM_WORLD,
					  &req[reqs++]);
	}
	for (int k = 0; k < n; k++)
		for (int r = 0; r < peer_size; r++) {
			int got[5], count;
			MPI_Status st;
			if (peer_client_of(r) == peer_client_of(peer_rank))
				continue;
			MPI_Recv(got, 5, MPI_INT, r, 9, MPI_COMM_WORLD, &st);
			MPI_Get_count(&st, MPI_INT, &count);
			CHECK(count == 1 + k % 5);
			for (int i = 0; i < count; i++)
				CHECK(got[i] == k);
		}
	MPI_Waitall(reqs, req, MPI_STATUSES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	free(req);
	free(v);
}

/* The receiver, rank 2, which gives no credit, is foreign; this is 0 and 1. */
void
peer_stalled_receiver(void)
{
	enum { EXTRA = 5, ROUNDS = 40, FLOOD = 256 };
	static int value[FLOOD];
	MPI_Request req[FLOOD];
	int n = peer_args.hiwater + EXTRA, reqs = 0;

	CHECK(peer_rank < 2 && n <= FLOOD);
	peer_recv(0, 0, 2, 1);
	for (int k = 0; peer_rank == 0 && k < n; k++) {
		value[k] = k;
		MPI_Isend(&value[k], 1, MPI_INT, 2, 5, MPI_COMM_WORLD, &req[reqs++]);
	}
	for (int k = 0; k < ROUNDS; k++) {
		int got = -1;
		MPI_Send(&k, 1, MPI_INT, 3, 6, MPI_COMM_WORLD);
		MPI_Recv(&got, 1, MPI_INT, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(got == k + peer_rank);
	}
	MPI_Waitall(reqs, req, MPI_STATUSES_IGNORE);
}

void
peer_reverse_answers(void)
{
	const int d = peer_args.datalen, other = peer_other_end();
	const int n[3] = {3 * d + 3, 2 * d + 3, 4 * d + 3};
	unsigned char *p[3];
	MPI_Request req[3];

	if (other < 0)
		return;
	if (peer_rank == 0) {
		for (int t = 0; t < 3; t++) {
			p[t] = peer_pattern(n[t], t);
			MPI_Isend(p[t], n[t], MPI_BYTE, other, t, MPI_COMM_WORLD, &req[t]);
		}
		MPI_Send("short", 5, MPI_BYTE, other, 50, MPI_COMM_WORLD);
		MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
	} else {
		char got[5];
		MPI_Recv(got, 5, MPI_BYTE, other, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(memcmp(got, "short", 5) == 0);
		for (int t = 2; t >= 0; t--) {
			p[t] = peer_room((size_t)n[t]);
			MPI_Irecv(p[t], n[t], MPI_BYTE, other, t, MPI_COMM_WORLD, &req[t]);
		}
		MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
		for (int t = 0; t < 3; t++)
			peer_check_bytes(p[t], n[t], t);
	}
	for (int t = 0; t < 3; t++)
		free(p[t]);
}

void
peer_overtaking(void)
{
	const int d = peer_args.datalen, other = peer_other_end();
	const int n[5] = {5, 4 * d, 1, 2 * d + 1, 0};
	unsigned char *p[5];
	MPI_Request req[5];

	for (int k = 0; k < 5 && peer_rank == 0; k++) {
		p[k] = peer_pattern(n[k], k);
		MPI_Isend(p[k], n[k], MPI_BYTE, other, 3, MPI_COMM_WORLD, &req[k]);
	}
	if (peer_rank == 0)
		MPI_Waitall(5, req, MPI_STATUSES_IGNORE);
	for (int k = 0; k < 5; k++) {
		if (peer_rank == 0)
			free(p[k]);
		else if (other == 0)
			peer_recv(n[k], k, MPI_ANY_SOURCE, 3);
	}
}

void
peer_probe(void)
{
	const int n = 3 * peer_args.datalen + 1, other = peer_other_end();
	MPI_Status st;
	int flag, count;

	if (peer_rank == 0) {
		unsigned char *p = peer_pattern(n, 0);
		MPI_Request req;
		MPI_Iprobe(other, 5, MPI_COMM_WORLD, &flag, &st);
		CHECK(!flag);
		MPI_Send("ab", 2, MPI_BYTE, other, 4, MPI_COMM_WORLD);
		MPI_Isend(p, n, MPI_BYTE, other, 5, MPI_COMM_WORLD, &req);
		peer_recv(0, 0, other, 6);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		free(p);
	} else if (other == 0) {
		char got[2];
		MPI_Probe(0, 5, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &count);
		CHECK(st.MPI_SOURCE == 0 && st.MPI_TAG == 5 && count == n);
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
		MPI_Get_count(&st, MPI_BYTE, &count);
		CHECK(flag && st.MPI_SOURCE == 0 && st.MPI_TAG == 4 && count == 2);
		peer_send(0, 0, 0, 6, 0);
		MPI_Recv(got, 2, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(memcmp(got, "ab", 2) == 0);
		peer_recv(n, 0, 0, 5);
	}
}

static int
cancelled(MPI_Request *req)
{
	MPI_Status st;
	int yes;
	MPI_Wait(req, &st);
	MPI_Test_cancelled(&st, &yes);
	return yes;
}

static void
cancel_sender(int n, int tag, int sync, int b)
{
	unsigned char *p = peer_pattern(n, tag);
	MPI_Request req;

	(sync ? MPI_Issend : MPI_Isend)(p, n, MPI_BYTE, b, tag, MPI_COMM_WORLD, &req);
	peer_recv(0, 0, b, 60); /* it is there, and nobody has taken it */
	MPI_Cancel(&req);
	/* The foreign peer asks and waits in one call, and takes nothing until told. */
	if (!peer_args.always_no) {
		CHECK(cancelled(&req));
		peer_send(0, 0, b, 61, 0);
	} else {
		peer_send(0, 0, b, 61, 0);
		CHECK(!cancelled(&req));
	}
	(sync ? MPI_Issend : MPI_Isend)(p, n, MPI_BYTE, b, tag + 10, MPI_COMM_WORLD, &req);
	peer_recv(0, 0, b, 62); /* it has been taken, or is being taken */
	MPI_Cancel(&req);
	CHECK(!cancelled(&req));
	free(p);
}

static void
cancel_receiver(int n, int tag, int a)
{
	unsigned char *p = peer_room((size_t)n);
	MPI_Status st;
	MPI_Request req;
	int flag;

	MPI_Probe(a, tag, MPI_COMM_WORLD, &st);
	peer_send(0, 0, a, 60, 0);
	peer_recv(0, 0, a, 61);
	if (peer_args.always_no)
		peer_recv(n, tag, a, tag);
	MPI_Iprobe(a, tag, MPI_COMM_WORLD, &flag, &st);
	CHECK(!flag);
	MPI_Probe(a, tag + 10, MPI_COMM_WORLD, &st);
	MPI_Irecv(p, n, MPI_BYTE, a, tag + 10, MPI_COMM_WORLD, &req);
	peer_send(0, 0, a, 62, 0);
	MPI_Wait(&req, &st);
	peer_check_bytes(p, n, tag);
	free(p);
}

void
peer_cancel(void)
{
	const int d = peer_args.datalen, other = peer_other_end();
	const struct {
		int n, sync;
	} cases[] = {{10, 1}, {2 * d + 1, 0}, {3 * d, 1}};

	for (int tag = 0; tag < 3 && other >= 0; tag++) {
		if (peer_rank == 0)
			cancel_sender(cases[tag].n, tag, cases[tag].sync, other);
		else
			cancel_receiver(cases[tag].n, tag, 0);
	}
}

/* The sender, which gives two messages one request id, is foreign; this is the last rank. */
void
peer_cancel_same_id(void)
{
	int got = 0, flag;
	MPI_Status st;

	CHECK(peer_rank == peer_size - 1);
	peer_recv(0, 0, 0, 4);
	peer_send(0, 0, 0, 2, 0);
	peer_recv(0, 0, 0, 3);
	MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(got == 1);
	MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, &st);
	CHECK(!flag);
}

void
peer_cancel_receive(void)
{
	const int other = peer_other_end();
	int v = 5;

	if (other == 0) {
		MPI_Request req;
		MPI_Irecv(&v, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &req);
		MPI_Cancel(&req);
		CHECK(cancelled(&req));
		peer_send(0, 0, 0, 2, 0);
		v = 0;
		MPI_Recv(&v, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(v == 5);
	} else if (peer_rank == 0) {
		peer_recv(0, 0, other, 2);
		MPI_Send(&v, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
	}
}

void
peer_last_minute(void)
{
	enum { N = 20 };
	static int value[N];
	MPI_Request *req = peer_room((size_t)(N * peer_size) * sizeof *req);
	int reqs = 0;

	for (int k = 0; k < N; k++) {
		value[k] = k;
		for (int r = 0; r < peer_size; r++)
			if (r != peer_rank)
				MPI_Isend(&value[k], 1, MPI_INT, r, 8, MPI_COMM_WORLD,
					  &req[reqs++]);
	}
	for (int r = 0; r < peer_size; r++)
		for (int k = 0; k < N && r != peer_rank; k++) {
			int got = -1;
			MPI_Recv(&got, 1, MPI_INT, r, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(got == k);
		}
	MPI_Waitall(reqs, req, MPI_STATUSES_IGNORE);
	free(req);
}

/* Foreign ranks of client 0 come to their end late; ours have FINI of others by then. */
void
peer_late_rank(void)
{
	int v = 1;
	if (peer_rank == 0)
		MPI_Send(&v, 1, MPI_INT, peer_size - 1, 1, MPI_COMM_WORLD);
	if (peer_rank == peer_size - 1)
		MPI_Recv(&v, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void
peer_endless(void)
{
	const int most = 3 * peer_args.datalen;
	int *v = peer_room((size_t)most * sizeof *v), *got = peer_room((size_t)most * sizeof *got);
	MPI_Request *req = peer_room((size_t)peer_size * sizeof *req);

	for (int i = 0; i < most; i++)
		v[i] = 1 + i % 3;
	for (int k = 0;; k = (k + 1) % 20) {
		/* long=1: long and synchronous ones among them */
		const int n = peer_args.long_ones && k % 4 == 0 ? most : 3;
		const int sync = peer_args.long_ones && k % 5 == 0;
		int reqs = 0;
		for (int r = 0; r < peer_size; r++)
			if (r != peer_rank)
				(sync ? MPI_Issend : MPI_Isend)(v, n, MPI_INT, r, 1, MPI_COMM_WORLD,
								&req[reqs++]);
		for (int r = 0; r < peer_size; r++) {
			if (r == peer_rank)
				continue;
			MPI_Recv(got, n, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(memcmp(got, v, (size_t)n * sizeof *v) == 0);
		}
		MPI_Waitall(reqs, req, MPI_STATUSES_IGNORE);
	}
}
