/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: each process of a communicator writes through a view of its own into its own parts of one
 * file, reads them again through another layout, and one reads the file as it is. */
#include "swarm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 7 }; /* elements that a process has in each round of the file */

static void
name_file(char *path, size_t room, uint64_t key)
{
	const char *folder = getenv("TMPDIR");

	snprintf(path, room, "%s/swarm-%ld-%llu", folder ? folder : "/tmp", (long)getppid(),
		 (unsigned long long)(key >> 20));
}

/* Rounds of one block each: me, with n processes. */
static MPI_Datatype
view_of(MPI_Datatype basic, int me, int n)
{
	int size = n * BLOCK, sub = BLOCK, from = me * BLOCK;
	MPI_Datatype t;

	MPI_Type_create_subarray(1, &size, &sub, &from, MPI_ORDER_C, basic, &t);
	MPI_Type_commit(&t);
	return t;
}

static void
read_plain(MPI_File f, MPI_Datatype basic, uint32_t width, uint64_t n, int procs, uint64_t key)
{
	uint64_t all = n * (uint64_t)procs;
	unsigned char *bytes = sw_alloc(all * width), *want = sw_alloc(all * width);
	MPI_Status s;
	int count;

	MPI_File_set_view(f, 0, basic, basic, "native", MPI_INFO_NULL);
	MPI_File_read_at(f, 0, bytes, (int)all, basic, &s);
	MPI_Get_count(&s, basic, &count);
	SW_CHECK((uint64_t)count == all);
	for (uint64_t e = 0; e < all; e++) {
		uint64_t round = e / BLOCK / (uint64_t)procs, who = e / BLOCK % (uint64_t)procs;
		sw_stream(want + e * width, width, 1, key + (who << 20), round * BLOCK + e % BLOCK);
	}
	SW_CHECK(memcmp(bytes, want, all * width) == 0);
	free(bytes);
	free(want);
}

void
sw_step_io(void)
{
	const struct sw_comm *c = sw_intra_comm();
	MPI_Datatype basic = sw_basic();
	uint64_t n = BLOCK * sw_draw(sw_one_in(2) ? 10 : 300), key = sw_key();
	uint32_t count[2], how = sw_draw(8);
	struct sw_layout *l[2] = {sw_layout_for(basic, n, &count[0]),
				  sw_layout_for(basic, n, &count[1])};
	struct sw_buf from, to;
	char path[200];
	MPI_File f;

	for (int i = 0; i < 64; i++)
		(void)sw_key();
	if (c->me >= 0) {
		uint64_t mine = key + ((uint64_t)c->me << 20);
		MPI_Datatype view = view_of(basic, c->me, c->n[0]);
		name_file(path, sizeof path, key);
		MPI_Bcast(path, sizeof path, MPI_CHAR, 0, c->comm);
		MPI_File_open(c->comm, path,
			      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
			      MPI_INFO_NULL, &f);
		sw_buf_new(&from, l[0], count[0]);
		sw_buf_new(&to, l[1], count[1]);
		sw_fill(&from, 0, n, mine, 0);
		sw_expect(&to, 0, n, mine, 0);
		MPI_File_set_view(f, 0, basic, view, "native", MPI_INFO_NULL);
		if (how & 1)
			MPI_File_write_all(f, from.base, (int)count[0], l[0]->type,
					   MPI_STATUS_IGNORE);
		else
			MPI_File_write(f, from.base, (int)count[0], l[0]->type, MPI_STATUS_IGNORE);
		MPI_File_sync(f);
		MPI_Barrier(c->comm);
		MPI_File_sync(f);
		MPI_File_seek(f, 0, MPI_SEEK_SET);
		if (how & 2)
			MPI_File_read_all(f, to.base, (int)count[1], l[1]->type, MPI_STATUS_IGNORE);
		else
			MPI_File_read_at(f, 0, to.base, (int)count[1], l[1]->type,
					 MPI_STATUS_IGNORE);
		sw_verify(&to, "read");
		if (how & 4)
			read_plain(f, basic, l[0]->width, n, c->n[0], key);
		MPI_File_close(&f);
		MPI_Type_free(&view);
		sw_buf_free(&from);
		sw_buf_free(&to);
	}
	sw_layout_free(l[0]);
	sw_layout_free(l[1]);
}
