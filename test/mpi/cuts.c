/* SPDX-License-Identifier: BSD-2-Clause */
/* Bcast and Alltoall of long vectors, which may be cut in pieces between nodes: every byte, from
 * every root, in place and not, blocks of several lengths, and on communicators made while others
 * are there.  With words, NUMBER NUMBER: the pieces that all ranks have to have, whatever their own
 * stores say. */
#include "check.h"

#define MOST 1300021 /* bytes; nothing divides it */

static const int lengths[] = {0, 4097, 65537, 262144, MOST};
#define LENGTHS (sizeof lengths / sizeof *lengths)

static unsigned char
byte_of(int from, int to, int i)
{
	return (unsigned char)((unsigned)i * 2654435761u >> 13 ^ (unsigned)(from * 31 + to));
}

static void
fill_block(unsigned char *at, int n, int from, int to)
{
	for (int i = 0; i < n; i++)
		at[i] = byte_of(from, to, i);
}

static int
right(const unsigned char *at, int n, int from, int to)
{
	for (int i = 0; i < n; i++)
		if (at[i] != byte_of(from, to, i))
			return 0;
	return 1;
}

static void
spread(MPI_Comm c)
{
	unsigned char *buf = malloc(MOST), *again = malloc(MOST);
	MPI_Request r[2];

	for (size_t k = 0; k < LENGTHS; k++)
		for (int root = 0; root < check_size; root++) {
			memset(buf, 0, MOST);
			memset(again, 0, MOST);
			if (check_rank == root) {
				fill_block(buf, lengths[k], root, 0);
				fill_block(again, lengths[k], root, 1);
			}
			MPI_Bcast(buf, lengths[k], MPI_BYTE, root, c);
			CHECKF(right(buf, lengths[k], root, 0), "Bcast of %d from %d", lengths[k],
			       root);
			MPI_Ibcast(buf, lengths[k], MPI_BYTE, root, c, &r[0]);
			MPI_Ibcast(again, lengths[k], MPI_BYTE, root, c, &r[1]);
			MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
			CHECKF(right(again, lengths[k], root, 1), "Ibcast of %d from %d",
			       lengths[k], root);
		}
	free(buf);
	free(again);
}

/* Block of from for to: that long, or in the v form as long as that says. */
static int
length_of(int n, int v, int from, int to)
{
	return v ? n * ((from + 2 * to) % 3) / 3 : n;
}

static void
exchange(MPI_Comm c, int n, int v)
{
	size_t room = (size_t)n * (size_t)check_size + 1;
	unsigned char *out = malloc(room), *in = malloc(room);
	int at[2][64], len[2][64];

	for (int r = 0; r < check_size; r++) {
		len[0][r] = length_of(n, v, check_rank, r);
		len[1][r] = length_of(n, v, r, check_rank);
		at[0][r] = at[1][r] = r * n;
		fill_block(out + at[0][r], len[0][r], check_rank, r);
	}
	memset(in, 0, room);
	if (v)
		MPI_Alltoallv(out, len[0], at[0], MPI_BYTE, in, len[1], at[1], MPI_BYTE, c);
	else
		MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
	for (int r = 0; r < check_size; r++)
		CHECKF(right(in + at[1][r], len[1][r], r, check_rank), "%d from %d, v %d", n, r, v);
	if (!v) {
		MPI_Alltoall(MPI_IN_PLACE, n, MPI_BYTE, out, n, MPI_BYTE, c);
		for (int r = 0; r < check_size; r++)
			CHECKF(right(out + r * n, n, r, check_rank), "%d from %d, in place", n, r);
	}
	free(out);
	free(in);
}

static unsigned long long
variable(const char *name)
{
	MPI_T_cvar_handle h;
	unsigned long long v = 0;
	int i, count;

	if (MPI_T_cvar_get_index(name, &i) || MPI_T_cvar_handle_alloc(i, NULL, &h, &count))
		return 0;
	MPI_T_cvar_read(h, &v);
	MPI_T_cvar_handle_free(&h);
	return v;
}

int
main(int argc, char **argv)
{
	MPI_Comm c;
	int provided;

	MPI_Init(&argc, &argv);
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	if (argc == 3) {
		CHECKF(variable("LIBMPI_BCAST_PIECE") == strtoull(argv[1], NULL, 10),
		       "Bcast in pieces of %llu", variable("LIBMPI_BCAST_PIECE"));
		CHECKF(variable("LIBMPI_ALLTOALL_PIECE") == strtoull(argv[2], NULL, 10),
		       "Alltoall in pieces of %llu", variable("LIBMPI_ALLTOALL_PIECE"));
	}
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	for (int twice = 0; twice < 2; twice++) {
		spread(twice ? c : MPI_COMM_WORLD);
		for (size_t k = 0; k < LENGTHS; k++)
			for (int v = 0; v < 2; v++)
				exchange(twice ? c : MPI_COMM_WORLD, lengths[k], v);
	}
	MPI_Comm_free(&c);
	MPI_T_finalize();
	return finish();
}
