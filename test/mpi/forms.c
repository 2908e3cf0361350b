/* SPDX-License-Identifier: BSD-2-Clause */
/* Every form of every collective and point-to-point call: large count, non-blocking,
 * persistent; and calls that no other program here makes.  What they move is little; whether
 * it is right has to be the same in all forms. */
#include "check.h"

#define N_MAX 16
static int n, rank, in[8 * N_MAX], out[8 * N_MAX];
static int counts[N_MAX], displs[N_MAX], bytes_at[N_MAX], ones[N_MAX];
static MPI_Count counts_c[N_MAX], ones_c[N_MAX];
static MPI_Aint displs_c[N_MAX], bytes_at_c[N_MAX];
static MPI_Datatype ints[N_MAX];
static MPI_Comm comm;

static void
clear(int bcast)
{
	for (int i = 0; i < 8 * N_MAX; i++) {
		in[i] = rank * 100 + i;
		out[i] = -1;
	}
	for (int i = 0; bcast && rank == 0 && i < 2; i++)
		out[i] = 7 + i;
}

#define OPEN(...) __VA_ARGS__
/* One collective in its five other forms; A: arguments, C: those of the large-count form. */
#define EVERY_SET(SET, NAME, INAME, OK, A, C)                                          \
	do {                                                                           \
		MPI_Request r_;                                                        \
                                                                                       \
		clear(SET);                                                            \
		CHECK(MPI_##NAME##_c(OPEN C) == MPI_SUCCESS);                          \
		CHECKF(OK, "MPI_" #NAME "_c");                                         \
		clear(SET);                                                            \
		CHECK(MPI_##INAME(OPEN A, &r_) == MPI_SUCCESS);                        \
		MPI_Wait(&r_, MPI_STATUS_IGNORE);                                      \
		CHECKF(OK, "MPI_" #INAME);                                             \
		clear(SET);                                                            \
		CHECK(MPI_##INAME##_c(OPEN C, &r_) == MPI_SUCCESS);                    \
		MPI_Wait(&r_, MPI_STATUS_IGNORE);                                      \
		CHECKF(OK, "MPI_" #INAME "_c");                                        \
		CHECK(MPI_##NAME##_init(OPEN A, MPI_INFO_NULL, &r_) == MPI_SUCCESS);   \
		for (int i_ = 0; i_ < 2; i_++) {                                       \
			clear(SET);                                                    \
			MPI_Start(&r_);                                                \
			MPI_Wait(&r_, MPI_STATUS_IGNORE);                              \
			CHECKF(OK, "MPI_" #NAME "_init");                              \
		}                                                                      \
		MPI_Request_free(&r_);                                                 \
		CHECK(MPI_##NAME##_init_c(OPEN C, MPI_INFO_NULL, &r_) == MPI_SUCCESS); \
		clear(SET);                                                            \
		MPI_Start(&r_);                                                        \
		MPI_Wait(&r_, MPI_STATUS_IGNORE);                                      \
		CHECKF(OK, "MPI_" #NAME "_init_c");                                    \
		MPI_Request_free(&r_);                                                 \
	} while (0)
#define EVERY(NAME, INAME, OK, A, C) EVERY_SET(0, NAME, INAME, OK, A, C)

/* ---- what comes out */

/* Block k is what rank k had from its element `from` on. */
static int
gathered(int at_root_only, int from)
{
	if (at_root_only && rank != 0)
		return out[0] == -1;
	for (int k = 0; k < n; k++)
		for (int i = 0; i < 2; i++)
			if (out[2 * k + i] != k * 100 + from + i)
				return 0;
	return out[2 * n] == -1;
}

static int
reduced(int first, int end, int element)
{
	int sum = 0;

	for (int k = first; k < end; k++)
		sum += k * 100 + element;
	return out[0] == sum;
}

static int
scattered(void)
{
	return out[0] == 2 * rank && out[1] == 2 * rank + 1 && out[2] == -1;
}

static int
from_neighbors(int to_left, int to_right)
{
	int left = (rank + n - 1) % n, right = (rank + 1) % n;

	return out[0] == left * 100 + to_right && out[1] == left * 100 + to_right + 1 &&
	       out[2] == right * 100 + to_left && out[3] == right * 100 + to_left + 1;
}

static void
collectives(void)
{
	MPI_Request r;

	for (int k = 0; k < n; k++) {
		counts_c[k] = counts[k] = 2;
		displs_c[k] = displs[k] = 2 * k;
		bytes_at_c[k] = bytes_at[k] = 2 * k * (int)sizeof(int);
		ones_c[k] = ones[k] = 1;
		ints[k] = MPI_INT;
	}
	EVERY(Allgather, Iallgather, gathered(0, 0), (in, 2, MPI_INT, out, 2, MPI_INT, comm),
	      (in, 2, MPI_INT, out, 2, MPI_INT, comm));
	EVERY(Allgatherv, Iallgatherv, gathered(0, 0),
	      (in, 2, MPI_INT, out, counts, displs, MPI_INT, comm),
	      (in, 2, MPI_INT, out, counts_c, displs_c, MPI_INT, comm));
	EVERY(Allreduce, Iallreduce, reduced(0, n, 0), (in, out, 2, MPI_INT, MPI_SUM, comm),
	      (in, out, 2, MPI_INT, MPI_SUM, comm));
	EVERY(Alltoall, Ialltoall, gathered(0, 2 * rank), (in, 2, MPI_INT, out, 2, MPI_INT, comm),
	      (in, 2, MPI_INT, out, 2, MPI_INT, comm));
	EVERY(Alltoallv, Ialltoallv, gathered(0, 2 * rank),
	      (in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm),
	      (in, counts_c, displs_c, MPI_INT, out, counts_c, displs_c, MPI_INT, comm));
	EVERY(Alltoallw, Ialltoallw, gathered(0, 2 * rank),
	      (in, counts, bytes_at, ints, out, counts, bytes_at, ints, comm),
	      (in, counts_c, bytes_at_c, ints, out, counts_c, bytes_at_c, ints, comm));
	EVERY_SET(1, Bcast, Ibcast, out[0] == 7 && out[1] == 8 && out[2] == -1,
		  (out, 2, MPI_INT, 0, comm), (out, 2, MPI_INT, 0, comm));
	EVERY(Exscan, Iexscan, rank == 0 || reduced(0, rank, 0),
	      (in, out, 2, MPI_INT, MPI_SUM, comm), (in, out, 2, MPI_INT, MPI_SUM, comm));
	EVERY(Scan, Iscan, reduced(0, rank + 1, 0), (in, out, 2, MPI_INT, MPI_SUM, comm),
	      (in, out, 2, MPI_INT, MPI_SUM, comm));
	EVERY(Gather, Igather, gathered(1, 0), (in, 2, MPI_INT, out, 2, MPI_INT, 0, comm),
	      (in, 2, MPI_INT, out, 2, MPI_INT, 0, comm));
	EVERY(Gatherv, Igatherv, gathered(1, 0),
	      (in, 2, MPI_INT, out, counts, displs, MPI_INT, 0, comm),
	      (in, 2, MPI_INT, out, counts_c, displs_c, MPI_INT, 0, comm));
	EVERY(Reduce, Ireduce, rank ? out[0] == -1 : reduced(0, n, 0),
	      (in, out, 2, MPI_INT, MPI_SUM, 0, comm), (in, out, 2, MPI_INT, MPI_SUM, 0, comm));
	EVERY(Reduce_scatter, Ireduce_scatter, reduced(0, n, rank),
	      (in, out, ones, MPI_INT, MPI_SUM, comm), (in, out, ones_c, MPI_INT, MPI_SUM, comm));
	EVERY(Reduce_scatter_block, Ireduce_scatter_block, reduced(0, n, rank),
	      (in, out, 1, MPI_INT, MPI_SUM, comm), (in, out, 1, MPI_INT, MPI_SUM, comm));
	EVERY(Scatter, Iscatter, scattered(), (in, 2, MPI_INT, out, 2, MPI_INT, 0, comm),
	      (in, 2, MPI_INT, out, 2, MPI_INT, 0, comm));
	EVERY(Scatterv, Iscatterv, scattered(),
	      (in, counts, displs, MPI_INT, out, 2, MPI_INT, 0, comm),
	      (in, counts_c, displs_c, MPI_INT, out, 2, MPI_INT, 0, comm));
	MPI_Barrier_init(comm, MPI_INFO_NULL, &r);
	MPI_Start(&r);
	CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	MPI_Request_free(&r);
	clear(0);
	MPI_Reduce_local_c(in, in + 2, 2, MPI_INT, MPI_SUM);
	CHECK(in[2] == 200 * rank + 2 && in[3] == 200 * rank + 4);
}

static void
neighborhoods(void)
{
	static const int cyclic = 1;
	MPI_Comm world = comm;
	int new_rank;

	MPI_Cart_create(world, 1, &n, &cyclic, 0, &comm);
	EVERY(Neighbor_allgather, Ineighbor_allgather, from_neighbors(0, 0),
	      (in, 2, MPI_INT, out, 2, MPI_INT, comm), (in, 2, MPI_INT, out, 2, MPI_INT, comm));
	counts_c[1] = counts[1] = 2; /* of two neighbours, whatever n is */
	displs_c[1] = displs[1] = 2;
	bytes_at_c[1] = bytes_at[1] = 2 * (int)sizeof(int);
	ints[1] = MPI_INT;
	EVERY(Neighbor_allgatherv, Ineighbor_allgatherv, from_neighbors(0, 0),
	      (in, 2, MPI_INT, out, counts, displs, MPI_INT, comm),
	      (in, 2, MPI_INT, out, counts_c, displs_c, MPI_INT, comm));
	EVERY(Neighbor_alltoall, Ineighbor_alltoall, from_neighbors(0, 2),
	      (in, 2, MPI_INT, out, 2, MPI_INT, comm), (in, 2, MPI_INT, out, 2, MPI_INT, comm));
	EVERY(Neighbor_alltoallv, Ineighbor_alltoallv, from_neighbors(0, 2),
	      (in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm),
	      (in, counts_c, displs_c, MPI_INT, out, counts_c, displs_c, MPI_INT, comm));
	EVERY(Neighbor_alltoallw, Ineighbor_alltoallw, from_neighbors(0, 2),
	      (in, counts, bytes_at_c, ints, out, counts, bytes_at_c, ints, comm),
	      (in, counts_c, bytes_at_c, ints, out, counts_c, bytes_at_c, ints, comm));
	MPI_Cart_map(world, 1, &n, &cyclic, &new_rank);
	CHECK(new_rank >= 0 && new_rank < n);
	MPI_Comm_free(&comm);
	comm = world;
}

/* ---- point-to-point: to myself, the receive posted before */

#define MESSAGE(WHAT, SEND)                                                       \
	do {                                                                      \
		MPI_Request to_ = MPI_REQUEST_NULL, from_;                        \
                                                                                  \
		clear(0);                                                         \
		MPI_Irecv_c(out, 4, MPI_INT, rank, 3, comm, &from_);              \
		SEND;                                                             \
		MPI_Wait(&to_, MPI_STATUS_IGNORE);                                \
		MPI_Wait(&from_, MPI_STATUS_IGNORE);                              \
		if (to_ != MPI_REQUEST_NULL)                                      \
			MPI_Request_free(&to_);                                   \
		CHECKF(out[0] == in[0] && out[3] == in[3] && out[4] == -1, WHAT); \
	} while (0)
#define SENDS(NAME)                                                                \
	MESSAGE("MPI_" #NAME "_c", MPI_##NAME##_c(in, 4, MPI_INT, rank, 3, comm)); \
	MESSAGE("MPI_" #NAME "_init", {                                            \
		MPI_##NAME##_init(in, 4, MPI_INT, rank, 3, comm, &to_);            \
		MPI_Start(&to_);                                                   \
	});                                                                        \
	MESSAGE("MPI_" #NAME "_init_c", {                                          \
		MPI_##NAME##_init_c(in, 4, MPI_INT, rank, 3, comm, &to_);          \
		MPI_Start(&to_);                                                   \
	});
#define ISENDS(NAME)                                                               \
	MESSAGE("MPI_" #NAME "", MPI_##NAME(in, 4, MPI_INT, rank, 3, comm, &to_)); \
	MESSAGE("MPI_" #NAME "_c", MPI_##NAME##_c(in, 4, MPI_INT, rank, 3, comm, &to_));

static void
messages(void)
{
	static char buffer[4096];
	MPI_Request r;
	MPI_Message m;
	MPI_Status s;

	MPI_Buffer_attach(buffer, sizeof(buffer));
	SENDS(Send)
	SENDS(Bsend)
	SENDS(Ssend)
	SENDS(Rsend)
	ISENDS(Isend)
	ISENDS(Ibsend)
	ISENDS(Issend)
	ISENDS(Irsend)
	MESSAGE("MPI_Rsend", MPI_Rsend(in, 4, MPI_INT, rank, 3, comm));
	{
		void *b;
		int size;
		MPI_Buffer_detach(&b, &size);
	}

#define ARRIVED(WHAT) CHECKF(out[0] == in[0] && out[3] == in[3] && out[4] == -1, WHAT)
	clear(0);
	MPI_Isend(in, 4, MPI_INT, rank, 1, comm, &r);
	MPI_Recv_c(out, 4, MPI_INT, rank, 1, comm, &s);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	ARRIVED("MPI_Recv_c");
	MPI_Count elements;
	MPI_Get_elements_c(&s, MPI_INT, &elements);
	CHECK(elements == 4);
	for (int i = 0; i < 2; i++) {
		MPI_Request from;

		clear(0);
		MPI_Isend(in, 4, MPI_INT, rank, 1, comm, &r);
		MPI_Mprobe(rank, 1, comm, &m, &s);
		CHECK(MPI_Message_fromint(MPI_Message_toint(m)) == m);
		if (i == 0) {
			MPI_Mrecv_c(out, 4, MPI_INT, &m, &s);
		} else {
			MPI_Imrecv_c(out, 4, MPI_INT, &m, &from);
			CHECK(MPI_Request_fromint(MPI_Request_toint(from)) == from);
			MPI_Wait(&from, &s);
		}
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		ARRIVED("matched receive");
	}
	clear(0);
	MPI_Recv_init_c(out, 4, MPI_INT, rank, 1, comm, &r);
	MPI_Start(&r);
	MPI_Send(in, 4, MPI_INT, rank, 1, comm);
	MPI_Wait(&r, &s);
	MPI_Request_free(&r);
	ARRIVED("MPI_Recv_init_c");
	clear(0);
	MPI_Sendrecv_c(in, 4, MPI_INT, rank, 1, out, 4, MPI_INT, rank, 1, comm, &s);
	ARRIVED("MPI_Sendrecv_c");
	clear(0);
	MPI_Isendrecv_c(in, 4, MPI_INT, rank, 1, out, 4, MPI_INT, rank, 1, comm, &r);
	MPI_Wait(&r, &s);
	ARRIVED("MPI_Isendrecv_c");
	int right = (rank + 1) % n, left = (rank + n - 1) % n;
	clear(0);
	MPI_Sendrecv_replace_c(in, 2, MPI_INT, right, 1, left, 1, comm, &s);
	CHECK(in[0] == left * 100 && in[1] == left * 100 + 1 && in[2] == rank * 100 + 2);
	clear(0);
	MPI_Isendrecv_replace_c(in, 2, MPI_INT, right, 1, left, 1, comm, &r);
	MPI_Wait(&r, &s);
	CHECK(in[0] == left * 100 && in[1] == left * 100 + 1 && in[2] == rank * 100 + 2);
}

static void
statuses(void)
{
	MPI_Request r[2];
	MPI_Status s[2];
	int v[2] = {5, 6}, w[2] = {0}, flag, index, which[2], got, err;

	MPI_Irecv(&w[0], 1, MPI_INT, rank, 1, comm, &r[0]);
	MPI_Irecv(&w[1], 1, MPI_INT, rank, 2, comm, &r[1]);
	MPI_Request_get_status_any(2, r, &index, &flag, s);
	CHECK(!flag);
	MPI_Send(&v[1], 1, MPI_INT, rank, 2, comm);
	for (flag = 0; !flag;)
		MPI_Request_get_status_any(2, r, &index, &flag, s);
	CHECK(index == 1 && r[1] != MPI_REQUEST_NULL);
	MPI_Request_get_status_some(2, r, &got, which, s);
	CHECK(got == 1 && which[0] == 1);
	MPI_Request_get_status_all(2, r, &flag, s);
	CHECK(!flag);
	MPI_Send(&v[0], 1, MPI_INT, rank, 1, comm);
	for (flag = 0; !flag;)
		MPI_Request_get_status_all(2, r, &flag, s);
	MPI_Status_get_source(&s[1], &got);
	CHECK(got == rank);
	MPI_Status_get_tag(&s[1], &got);
	CHECK(got == 2);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	CHECK(w[0] == 5 && w[1] == 6);
	MPI_Status_set_source(s, 9);
	MPI_Status_set_tag(s, 8);
	MPI_Status_set_error(s, MPI_ERR_TAG);
	MPI_Status_set_elements_x(s, MPI_INT, 3);
	MPI_Status_get_error(s, &err);
	MPI_Get_count(s, MPI_INT, &got);
	CHECK(s->MPI_SOURCE == 9 && s->MPI_TAG == 8 && err == MPI_ERR_TAG && got == 3);
}

/* ---- datatypes: the large-count constructor makes the same */

static void
same(MPI_Datatype a, MPI_Datatype b, const char *what)
{
	MPI_Count size_a, size_b, lb_a, lb_b, e_a, e_b;
	MPI_Aint lb, e;

	MPI_Type_size_x(a, &size_a);
	MPI_Type_size_x(b, &size_b);
	MPI_Type_get_extent_x(a, &lb_a, &e_a);
	MPI_Type_get_extent_c(b, &lb_b, &e_b);
	CHECKF(size_a == size_b && lb_a == lb_b && e_a == e_b, "%s", what);
	MPI_Type_get_true_extent_x(a, &lb_a, &e_a);
	MPI_Type_get_true_extent_c(b, &lb_b, &e_b);
	MPI_Type_get_true_extent(a, &lb, &e);
	CHECKF(lb_a == lb_b && e_a == e_b && lb == lb_a && e == e_a, "%s", what);
	MPI_Type_free(&a);
	MPI_Type_free(&b);
}

static void
large_op(void *a, void *b, MPI_Count *len, MPI_Datatype *type)
{
	(void)type;
	for (MPI_Count i = 0; i < *len; i++)
		((int *)b)[i] += ((int *)a)[i];
}

static void
datatypes(void)
{
	static const int len[3] = {1, 4, 2}, at[3] = {5, 0, 9};
	static const MPI_Aint off[3] = {40, 0, 80};
	static const MPI_Count len_c[3] = {1, 4, 2}, at_c[3] = {5, 0, 9}, off_c[3] = {40, 0, 80};
	MPI_Datatype kinds[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, a, b;
	int size, packed = 0;
	MPI_Count size_c, position = 0;
	MPI_Op op;
	char room[256];

#define PAIR(WHAT, A, B) (A, B, same(a, b, WHAT))
	PAIR("contiguous", MPI_Type_contiguous(5, MPI_INT, &a),
	     MPI_Type_contiguous_c(5, MPI_INT, &b));
	PAIR("hvector", MPI_Type_create_hvector(3, 2, 24, MPI_INT, &a),
	     MPI_Type_create_hvector_c(3, 2, 24, MPI_INT, &b));
	PAIR("indexed", MPI_Type_indexed(3, len, at, MPI_INT, &a),
	     MPI_Type_indexed_c(3, len_c, at_c, MPI_INT, &b));
	PAIR("hindexed", MPI_Type_create_hindexed(3, len, off, MPI_INT, &a),
	     MPI_Type_create_hindexed_c(3, len_c, off_c, MPI_INT, &b));
	PAIR("indexed block", MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &a),
	     MPI_Type_create_indexed_block_c(3, 2, at_c, MPI_INT, &b));
	PAIR("hindexed block", MPI_Type_create_hindexed_block(3, 2, off, MPI_INT, &a),
	     MPI_Type_create_hindexed_block_c(3, 2, off_c, MPI_INT, &b));
	PAIR("struct", MPI_Type_create_struct(3, len, off, kinds, &a),
	     MPI_Type_create_struct_c(3, len_c, off_c, kinds, &b));
	PAIR("resized", MPI_Type_create_resized(MPI_INT, -4, 20, &a),
	     MPI_Type_create_resized_c(MPI_INT, -4, 20, &b));
	PAIR("subarray",
	     MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_C,
				      MPI_INT, &a),
	     MPI_Type_create_subarray_c(2, (MPI_Count[]){4, 6}, (MPI_Count[]){2, 3},
					(MPI_Count[]){1, 2}, MPI_ORDER_C, MPI_INT, &b));
	int block[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
	int dflt[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 1};
	PAIR("darray",
	     MPI_Type_create_darray(2, 1, 2, (int[]){6, 4}, block, dflt, grid, MPI_ORDER_C, MPI_INT,
				    &a),
	     MPI_Type_create_darray_c(2, 1, 2, (MPI_Count[]){6, 4}, block, dflt, grid, MPI_ORDER_C,
				      MPI_INT, &b));
	MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &a);
	CHECK(a == MPI_DOUBLE_INT);
	MPI_Type_get_value_index(MPI_CHAR, MPI_CHAR, &a);
	CHECK(a == MPI_DATATYPE_NULL);

	clear(0);
	MPI_Pack_size(4, MPI_INT, comm, &size);
	MPI_Pack_size_c(4, MPI_INT, comm, &size_c);
	CHECK(size == size_c);
	MPI_Pack_c(in, 4, MPI_INT, room, sizeof(room), &position, comm);
	MPI_Pack(in, 4, MPI_INT, room, sizeof(room), &packed, comm);
	CHECK(position == packed);
	position = 0;
	MPI_Unpack_c(room, sizeof(room), &position, out, 4, MPI_INT, comm);
	CHECK(position == packed && out[3] == in[3] && out[4] == -1);
	MPI_Op_create_c(large_op, 1, &op);
	clear(0);
	MPI_Allreduce(in, out, 2, MPI_INT, op, comm);
	CHECK(reduced(0, n, 0));
	MPI_Op_free(&op);
}

/* ---- the rest */

static void
groups_and_comms(void)
{
	MPI_Group all, g;
	MPI_Comm c;
	MPI_Info info, back;
	MPI_Request r;
	char value[32];
	int k, flag, range[1][3] = {{0, 0, 1}}, first = 0;

	MPI_Comm_group(comm, &all);
	MPI_Group_rank(all, &k);
	CHECK(k == rank);
	MPI_Group_excl(all, 1, &first, &g);
	MPI_Group_rank(g, &k);
	CHECK(k == (rank == 0 ? MPI_UNDEFINED : rank - 1));
	if (g != MPI_GROUP_EMPTY)
		MPI_Group_free(&g);
	MPI_Group_range_excl(all, 1, range, &g);
	MPI_Group_size(g, &k);
	CHECK(k == n - 1);
	if (g != MPI_GROUP_EMPTY)
		MPI_Group_free(&g);
	MPI_Group_free(&all);

	MPI_Info_create(&info);
	MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
	MPI_Info_set(info, "gone", "1");
	CHECK(MPI_Info_delete(info, "gone") == MPI_SUCCESS);
	MPI_Info_dup(info, &back);
	MPI_Info_get_nkeys(back, &k);
	CHECK(k == 1);
	MPI_Info_free(&back);
	MPI_Comm_dup_with_info(comm, info, &c);
	MPI_Comm_get_info(c, &back);
	MPI_Info_get(back, "mpi_assert_no_any_tag", 31, value, &flag);
	CHECK(flag && strcmp(value, "true") == 0);
	MPI_Info_free(&back);
	CHECK(MPI_Comm_set_info(c, info) == MPI_SUCCESS);
	CHECK(MPI_Comm_disconnect(&c) == MPI_SUCCESS && c == MPI_COMM_NULL);
	MPI_Comm_idup_with_info(comm, info, &c, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Comm_compare(comm, c, &k);
	CHECK(k == MPI_CONGRUENT);
	MPI_Comm_free(&c);
	MPI_Info_free(&info);
	MPI_Comm_get_parent(&c);
	CHECK(c == MPI_COMM_NULL);
}

static void
odds(int argc, char **argv)
{
	MPI_Errhandler h = MPI_ERRORS_RETURN;
	MPI_Session s;
	MPI_Info info;
	int flag;
	char *p;

	CHECK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &p) == MPI_SUCCESS);
	memset(p, 1, 1000);
	CHECK(MPI_Free_mem(p) == MPI_SUCCESS);
	CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(h)) == h);
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
	CHECK(MPI_Session_fromint(MPI_Session_toint(s)) == s);
	MPI_Session_finalize(&s);
	CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
	MPI_Info_free(&info);
	CHECK(MPI_Info_create_env(argc, argv, &info) == MPI_SUCCESS);
	MPI_Info_free(&info);
	MPI_Is_thread_main(&flag);
	CHECK(flag);
	MPI_Finalized(&flag);
	CHECK(!flag);
	CHECK(MPI_Pcontrol(1) == MPI_SUCCESS);
	MPI_Info_create(&info);
	MPI_Info_set(info, "mpi_integer_size", "4");
	CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
	MPI_Info_free(&info);
	MPI_Abi_get_fortran_info(&info);
	CHECK(info != MPI_INFO_NULL);
	MPI_Info_free(&info);
}

/* There are no events, no enumerations and no sources of time: whoever asks is told. */
static void
tool(void)
{
	int provided, num, len = 0, value, list[4], bind, verbosity;
	MPI_T_enum e = MPI_T_ENUM_NULL;
	MPI_T_source_order order;
	MPI_Count ticks, most;
	MPI_T_event_registration reg;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	CHECK(MPI_T_category_get_categories(0, 4, list) == MPI_SUCCESS);
	CHECK(MPI_T_category_get_categories(9999, 4, list) == MPI_T_ERR_INVALID_INDEX);
	CHECK(MPI_T_category_get_events(0, 4, list) == MPI_SUCCESS);
	CHECK(MPI_T_enum_get_info(e, &num, NULL, &len) != MPI_SUCCESS);
	CHECK(MPI_T_enum_get_item(e, 0, &value, NULL, &len) != MPI_SUCCESS);
	CHECK(MPI_T_event_get_info(0, NULL, &len, &verbosity, NULL, NULL, &num, &e, NULL, NULL,
				   &len, &bind) == MPI_T_ERR_INVALID_INDEX);
	CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &reg) == MPI_T_ERR_INVALID_INDEX);
	CHECK(MPI_T_source_get_info(0, NULL, &len, NULL, &len, &order, &ticks, &most, NULL) ==
	      MPI_T_ERR_INVALID_INDEX);
	CHECK(MPI_T_source_get_timestamp(0, &ticks) == MPI_T_ERR_INVALID_INDEX);
	MPI_T_finalize();
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &n);
	collectives();
	neighborhoods();
	messages();
	statuses();
	datatypes();
	groups_and_comms();
	odds(argc, argv);
	tool();
	MPI_Comm_free(&comm);
	return finish();
}
