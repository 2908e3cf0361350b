/* SPDX-License-Identifier: BSD-2-Clause */
/* Forms of file access that the other programs here do not use: what is written in one is
 * read in another. */
#include "check.h"

#include <unistd.h>

static char path[200];
static int n, rank, out[4], in[4 * 16];
static MPI_File f;

/* Ints of rank k in the round. */
static void
fill_in(int round)
{
	for (int i = 0; i < 4; i++)
		out[i] = round * 1000 + rank * 10 + i;
	memset(in, 255, sizeof(in));
}

/* in holds the four of rank k. */
static int
those_of(int k, int round)
{
	for (int i = 0; i < 4; i++)
		if (in[i] != round * 1000 + k * 10 + i)
			return 0;
	return 1;
}

static MPI_Offset
place(int k)
{
	return k * 4 * (MPI_Offset)sizeof(int);
}

static void
done(MPI_Request *r, const char *what)
{
	MPI_Status s;
	int count;

	MPI_Wait(r, &s);
	MPI_Get_count(&s, MPI_INT, &count);
	CHECKF(count == 4, "%s: %d", what, count);
}

static void
sync_all(void)
{
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_sync(f);
}

/* By the individual pointer and at offsets. */
static void
individual(void)
{
	int other = (rank + 1) % n;
	MPI_Request r;
	MPI_Status s;

	fill_in(1);
	MPI_File_iwrite_at_c(f, place(rank), out, 4, MPI_INT, &r);
	done(&r, "MPI_File_iwrite_at_c");
	sync_all();
	MPI_File_seek(f, place(other), MPI_SEEK_SET);
	MPI_File_iread_c(f, in, 4, MPI_INT, &r);
	done(&r, "MPI_File_iread_c");
	CHECK(those_of(other, 1));
	sync_all();
	fill_in(2);
	MPI_File_seek(f, place(rank), MPI_SEEK_SET);
	MPI_File_iwrite_c(f, out, 4, MPI_INT, &r);
	done(&r, "MPI_File_iwrite_c");
	sync_all();
	MPI_File_iread_at_all_c(f, place(other), in, 4, MPI_INT, &r);
	done(&r, "MPI_File_iread_at_all_c");
	CHECK(those_of(other, 2));
	sync_all();
	fill_in(3);
	MPI_File_seek(f, place(rank), MPI_SEEK_SET);
	MPI_File_write_c(f, out, 4, MPI_INT, &s);
	sync_all();
	MPI_File_seek(f, place(other), MPI_SEEK_SET);
	MPI_File_read_all_c(f, in, 4, MPI_INT, &s);
	CHECK(those_of(other, 3));
	sync_all();
}

static void
collective(void)
{
	int other = (rank + 1) % n;
	MPI_Request r;
	MPI_Status s;

	fill_in(4);
	MPI_File_write_at_all_c(f, place(rank), out, 4, MPI_INT, &s);
	sync_all();
	MPI_File_seek(f, place(other), MPI_SEEK_SET);
	MPI_File_iread_all_c(f, in, 4, MPI_INT, &r);
	done(&r, "MPI_File_iread_all_c");
	CHECK(those_of(other, 4));
	sync_all();
	fill_in(5);
	MPI_File_iwrite_at_all_c(f, place(rank), out, 4, MPI_INT, &r);
	done(&r, "MPI_File_iwrite_at_all_c");
	sync_all();
	MPI_File_read_at_all_begin(f, place(other), in, 4, MPI_INT);
	MPI_File_read_at_all_end(f, in, &s);
	CHECK(those_of(other, 5));
	sync_all();
	fill_in(6);
	MPI_File_seek(f, place(rank), MPI_SEEK_SET);
	MPI_File_write_all_begin(f, out, 4, MPI_INT);
	MPI_File_write_all_end(f, out, &s);
	sync_all();
	MPI_File_seek(f, place(other), MPI_SEEK_SET);
	MPI_File_read_all_begin_c(f, in, 4, MPI_INT);
	MPI_File_read_all_end(f, in, &s);
	CHECK(those_of(other, 6));
	sync_all();
	fill_in(7);
	MPI_File_write_at_all_begin_c(f, place(rank), out, 4, MPI_INT);
	MPI_File_write_at_all_end(f, out, &s);
	sync_all();
	MPI_File_read_at(f, place(other), in, 4, MPI_INT, &s);
	CHECK(those_of(other, 7));
	sync_all();
}

/* By the shared pointer: ordered ones by rank, others somehow, each once. */
static void
shared(void)
{
	int mine, theirs[16] = {0};
	MPI_Request r;
	MPI_Status s;

	fill_in(8);
	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_write_ordered_c(f, out, 4, MPI_INT, &s);
	sync_all();
	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_read_ordered_begin(f, in, 4, MPI_INT);
	MPI_File_read_ordered_end(f, in, &s);
	CHECK(those_of(rank, 8));
	sync_all();
	fill_in(9);
	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_write_ordered_begin_c(f, out, 4, MPI_INT);
	MPI_File_write_ordered_end(f, out, &s);
	sync_all();
	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_read_ordered_c(f, in, 4, MPI_INT, &s);
	CHECK(those_of(rank, 9));
	for (int way = 0; way < 2; way++) {
		sync_all();
		fill_in(10 + way);
		MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
		if (way == 0) {
			MPI_File_write_shared(f, out, 4, MPI_INT, &s);
		} else {
			MPI_File_iwrite_shared_c(f, out, 4, MPI_INT, &r);
			done(&r, "MPI_File_iwrite_shared_c");
		}
		sync_all();
		MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
		if (way == 0) {
			MPI_File_read_shared_c(f, in, 4, MPI_INT, &s);
		} else {
			MPI_File_iread_shared_c(f, in, 4, MPI_INT, &r);
			done(&r, "MPI_File_iread_shared_c");
		}
		mine = in[0] / 10 % 100;
		CHECK(mine >= 0 && mine < n && those_of(mine, 10 + way));
		MPI_Allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD);
		for (int k = 0, seen; k < n; k++) {
			seen = 0;
			for (int i = 0; i < n; i++)
				seen += theirs[i] == k;
			CHECK(seen == 1);
		}
	}
}

/* Every process has a file of its own at the same time: their shared pointers have
 * nothing to do with each other, though their communicators have one context id. */
static void
own_files(void)
{
	char own[220];
	MPI_Offset at;
	MPI_File mine;

	snprintf(own, sizeof(own), "%s.of%d", path, rank);
	MPI_File_open(MPI_COMM_SELF, own,
		      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		      &mine);
	fill_in(50);
	for (int k = 0; k < 3; k++) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_File_write_shared(mine, out, 4, MPI_INT, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_File_get_position_shared(mine, &at);
		CHECKF(at == place(k + 1), "%lld", (long long)at);
		MPI_File_read_at(mine, place(k), in, 4, MPI_INT, MPI_STATUS_IGNORE);
		CHECK(those_of(rank, 50));
	}
	MPI_File_close(&mine);
}

int
main(int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");

	start(&argc, &argv);
	n = check_size;
	rank = check_rank;
	snprintf(path, sizeof(path), "%s/libmpi-io-forms-%d", dir ? dir : "/tmp", (int)getpid());
	MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
	CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			    &f) == MPI_SUCCESS);
	individual();
	collective();
	shared();
	own_files();
	MPI_File_close(&f);
	if (rank == 0)
		MPI_File_delete(path, MPI_INFO_NULL);
	return finish();
}
