/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: opening, closing, and what all processes of one agree on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll.h"
#include "errhandler.h"
#include "impl.h"
#include "info.h"
#include "io.h"
#include "meet.h"

/* Aggregators on a single node, if nobody asks for another number: more than one core
 * moves data, and the file system is the same for all. */
#define ONE_NODE_AGGS 4

int
lmpi_file_get(MPI_File handle, struct lmpi_file **f)
{
	*f = lmpi_file_find(handle);
	if (*f == NULL)
		return lmpi_error(MPI_ERR_FILE, "%s",
				  handle == MPI_FILE_NULL ? "the file is MPI_FILE_NULL"
							  : "the file is not a valid one");
	return MPI_SUCCESS;
}

static bool
idle(void *arg)
{
	return ((struct lmpi_file *)arg)->queue == NULL;
}

void
lmpi_file_drain(struct lmpi_file *f)
{
	lmpi_wait_for(idle, f);
}

/* ---- agreeing */

struct verdict {
	int rc, rank;
};

int
lmpi_file_agree(struct lmpi_file *f, int rc, const char *what)
{
	struct verdict mine = {rc, f->comm->rank}, *all;
	int bad = -1, rc2;

	all = calloc((size_t)f->comm->size, sizeof(*all));
	if (all == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	rc2 = lmpi_coll_allgather_ints(f->comm, (int *)&mine, (int *)all, 2);
	for (int i = 0; i < f->comm->size && bad < 0; i++)
		if (all[i].rc != MPI_SUCCESS)
			bad = i;
	if (rc2 == MPI_SUCCESS && rc == MPI_SUCCESS && bad >= 0) {
		uint32_t w = f->comm->group->world[bad];

		rc = lmpi_error(all[bad].rc, "%s failed at rank %d%s%s", what, bad,
				lmpi_world.proc[w].node[0] ? " on " : "", lmpi_world.proc[w].node);
	}
	free(all);
	return rc ? rc : rc2;
}

/* ---- who does the I/O */

/* A number for the node of this process.  What lmpi_world says of nodes depends on the
 * cluster one looks from, so processes tell each other. */
static uint64_t
my_node(void)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ lmpi_world.client; /* FNV-1a */

	for (const char *c = lmpi_world.node_name; *c != '\0'; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	return h;
}

/* Collective: the nodes of all, and a number no other job has, which is rank 0's. */
static int
meet_file(struct lmpi_file *f)
{
	uint64_t mine[2] = {my_node(), lmpi_job_token()}, *all;
	size_t n = (size_t)f->comm->size;
	int rc;

	all = calloc(n, sizeof(mine));
	f->node = calloc(n, sizeof(*f->node));
	if (all == NULL || f->node == NULL) {
		free(all);
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a file");
	}
	rc = lmpi_coll_allgather_ints(f->comm, (int *)mine, (int *)all, 4);
	for (size_t i = 0; i < n; i++)
		f->node[i] = all[2 * i];
	f->token = all[1];
	free(all);
	return rc;
}

/* at[i]: how many ranks before i are on its node; the number of nodes. */
static int
place_ranks(const struct lmpi_file *f, int *at)
{
	int nodes = 0;

	for (int i = 0; i < f->comm->size; i++) {
		int before = i - 1;

		while (before >= 0 && f->node[before] != f->node[i])
			before--;
		at[i] = before < 0 ? 0 : at[before] + 1;
		nodes += before < 0;
	}
	return nodes;
}

int
lmpi_file_choose_aggregators(struct lmpi_file *f)
{
	const struct lmpi_group *g = f->comm->group;
	int *at = calloc(2 * (size_t)g->size, sizeof(*at)), *agg, nodes, n = 0;
	int64_t want = f->hints.cb_nodes, per_node = f->hints.per_node;

	if (at == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	agg = at + g->size;
	nodes = place_ranks(f, at);
	if (want == 0)
		want = per_node != 0 ? per_node * nodes : nodes > 1 ? nodes : ONE_NODE_AGGS;
	if (per_node == 0)
		per_node = INT32_MAX;
	/* the first of every node, then the second, ... */
	for (int turn = 0; n < want && n < g->size && turn < per_node && turn < g->size; turn++)
		for (int i = 0; i < g->size && n < want; i++)
			if (at[i] == turn)
				agg[n++] = i;
	free(f->agg);
	f->agg = calloc((size_t)n + 1, sizeof(*f->agg));
	f->aggs = n;
	if (f->agg != NULL)
		memcpy(f->agg, agg, (size_t)n * sizeof(*agg));
	free(at);
	return f->agg ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

/* ---- opening */

static int
check_amode(int amode)
{
	int rw = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
	const int known = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR | MPI_MODE_CREATE |
			  MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN |
			  MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND;

	if (rw != MPI_MODE_RDONLY && rw != MPI_MODE_WRONLY && rw != MPI_MODE_RDWR)
		return lmpi_error(MPI_ERR_AMODE, "amode must have exactly one of MPI_MODE_RDONLY, "
						 "MPI_MODE_WRONLY, MPI_MODE_RDWR");
	if ((amode & MPI_MODE_RDONLY) && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
		return lmpi_error(MPI_ERR_AMODE, "MPI_MODE_RDONLY goes with neither "
						 "MPI_MODE_CREATE nor MPI_MODE_EXCL");
	if ((amode & MPI_MODE_RDWR) && (amode & MPI_MODE_SEQUENTIAL))
		return lmpi_error(MPI_ERR_AMODE,
				  "MPI_MODE_RDWR does not go with MPI_MODE_SEQUENTIAL");
	if (amode & ~known)
		return lmpi_error(MPI_ERR_AMODE, "amode has the unknown bits %#x",
				  (unsigned)(amode & ~known));
	return MPI_SUCCESS;
}

static int
check_arguments(const char *filename, int amode, MPI_Info info)
{
	struct lmpi_info *hints;
	int rc;

	if (filename == NULL || filename[0] == '\0')
		return lmpi_error(MPI_ERR_BAD_FILE, "the file name is empty");
	rc = lmpi_info_arg(info, &hints);
	return rc ? rc : check_amode(amode);
}

/* ROMIO's names of file systems in front of a path are accepted, and mean nothing. */
static const char *
without_prefix(const char *name)
{
	static const char *const prefixes[] = {
		"ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return name + strlen(prefixes[i]);
	return name;
}

/* A file for writing only is opened for both where that is allowed: sieving and
 * aggregators with holes read what they do not change. */
static int
open_fd(struct lmpi_file *f, int extra)
{
	int flags = f->amode & MPI_MODE_RDONLY ? O_RDONLY : O_RDWR;

	f->readable = true;
	f->fd = open(f->name, flags | extra | O_CLOEXEC, (mode_t)f->hints.perm);
	if (f->fd < 0 && errno == EACCES && (f->amode & MPI_MODE_WRONLY)) {
		f->readable = false;
		f->fd = open(f->name, O_WRONLY | extra | O_CLOEXEC, (mode_t)f->hints.perm);
	}
	return f->fd < 0 ? errno : 0;
}

/* Rank 0: open, and create if need be; *created says whether it did. */
static int
open_first(struct lmpi_file *f, bool *created)
{
	int err = ENOENT;

	*created = false;
	if (!(f->amode & MPI_MODE_CREATE))
		return open_fd(f, 0);
	for (int tries = 0; tries < 10 && err == ENOENT; tries++) {
		err = open_fd(f, O_CREAT | O_EXCL);
		*created = err == 0;
		if (err != EEXIST || (f->amode & MPI_MODE_EXCL))
			return err;
		err = open_fd(f, 0); /* ENOENT: somebody took it away in between */
	}
	return err;
}

/* What every process has to say about the file. */
struct opened {
	int rc, amode;
	int ino[2], size[2];
	int cluster;
};

static void
describe_file(const struct lmpi_file *f, int rc, struct opened *o)
{
	struct stat st;

	memset(o, 0, sizeof(*o));
	o->rc = rc;
	o->amode = f->amode;
	o->cluster = (int)lmpi_world.client;
	if (rc == MPI_SUCCESS && fstat(f->fd, &st) == 0) {
		memcpy(o->ino, &st.st_ino, sizeof(o->ino));
		memcpy(o->size, &st.st_size, sizeof(o->size));
	}
}

/* The error that this process reports, from what all say. */
static int
judge_file(struct lmpi_file *f, int rc, const struct opened *all)
{
	const struct opened *first = &all[0];

	for (int i = 0; rc == MPI_SUCCESS && i < f->comm->size; i++) {
		const struct opened *o = &all[i];
		const char *node = lmpi_world.proc[f->comm->group->world[i]].node;

		if (o->amode != first->amode)
			return lmpi_error(MPI_ERR_NOT_SAME,
					  "rank %d opens %s with the access mode %#x, rank 0 with "
					  "%#x",
					  i, f->name, (unsigned)o->amode, (unsigned)first->amode);
		if (o->rc != MPI_SUCCESS)
			return lmpi_error(o->rc, "rank %d%s%s in cluster %d cannot open %s%s", i,
					  node[0] ? " on " : "", node, o->cluster, f->name,
					  first->rc == MPI_SUCCESS && i != 0
						  ? ": rank 0 can; do they share a file system?"
						  : "");
		/* Within a cluster the file system is taken for shared: inode numbers of some
		 * network file systems differ from node to node. */
		if (o->cluster != first->cluster && memcmp(o->ino, first->ino, sizeof(o->ino)) != 0)
			return lmpi_error(
				MPI_ERR_NOT_SAME,
				"%s of rank %d in cluster %d is not the file of rank 0 in cluster "
				"%d: the clusters do not share this file system",
				f->name, i, o->cluster, first->cluster);
	}
	return rc;
}

/* Collective: open the file at all processes, or at none. */
static int
open_everywhere(struct lmpi_file *f)
{
	struct opened mine, *all = calloc((size_t)f->comm->size, sizeof(*all));
	int rc = MPI_SUCCESS, rc2, err;
	int told[2] = {0}; /* how rank 0 fared; whether it created the file */
	bool created = false;

	if (f->comm->rank == 0) {
		err = open_first(f, &created);
		if (err)
			rc = lmpi_io_error(err, "cannot open", f->name);
		told[0] = rc;
		told[1] = created;
	}
	rc2 = lmpi_coll_bcast_bytes(f->comm, told, sizeof(told), 0);
	if (rc2 == MPI_SUCCESS && f->comm->rank != 0) {
		err = told[0] == MPI_SUCCESS ? open_fd(f, 0) : 0;
		if (err)
			rc = lmpi_io_error(err,
					   told[1] ? "rank 0 created, but this process "
						     "cannot see or open"
						   : "cannot open",
					   f->name);
	}
	describe_file(f, rc, &mine);
	if (all == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (rc2 == MPI_SUCCESS)
		rc2 = lmpi_coll_allgather_ints(f->comm, (int *)&mine, (int *)all,
					       sizeof(mine) / sizeof(int));
	if (rc2 == MPI_SUCCESS)
		rc = judge_file(f, rc, all);
	else
		rc = rc2;
	if (rc == MPI_SUCCESS && (f->amode & MPI_MODE_APPEND)) {
		int64_t size;

		memcpy(&size, all[0].size, sizeof(size));
		f->pos = f->shared_start = size;
	}
	free(all);
	if (rc != MPI_SUCCESS && created)
		(void)unlink(f->name);
	return rc;
}

static int
own_comm(struct lmpi_comm *from, struct lmpi_comm **comm)
{
	uint64_t cid;
	int rc = lmpi_cid_agree(from, &cid);

	if (rc)
		return rc;
	lmpi_group_ref(from->group);
	*comm = lmpi_comm_new(from->group, cid, from);
	if (*comm == NULL) {
		lmpi_group_unref(from->group);
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a file");
	}
	lmpi_comm_make_whole(*comm, NULL);
	return MPI_SUCCESS;
}

static void
discard_file(struct lmpi_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->hidden_fd >= 0)
		close(f->hidden_fd);
	lmpi_view_drop(&f->view);
	free(f->name);
	free(f->hidden);
	free(f->agg);
	free(f->node);
	lmpi_errhandler_unref(f->errhandler);
	if (f->comm != NULL)
		lmpi_comm_unref(f->comm);
	lmpi_object_delete(&lmpi_file_pool, f);
}

/* On one node in memory, so that the file's folder may be read-only; else beside it.
 * Communicators without a common process may have the same context id: rank 0's number
 * tells them apart. */
static char *
hidden_name(const struct lmpi_file *f)
{
	const char *base = strrchr(f->name, '/');
	unsigned long long token = f->token, cid = f->comm->cid;
	uint32_t first = f->comm->group->world[0];
	bool one_node = true;
	char *name = NULL;
	int n;

	for (int i = 1; i < f->comm->size; i++)
		one_node &= f->node[0] == f->node[i];
	if (one_node)
		n = asprintf(&name, "/dev/shm/libmpi-%016llx-%u-%llu-file", token, first, cid);
	else
		n = asprintf(&name, "%.*s.%s.%016llx-%u-%llu.shared",
			     base ? (int)(base + 1 - f->name) : 0, f->name,
			     base ? base + 1 : f->name, token, first, cid);
	return n < 0 ? NULL : name;
}

static int
name_it(struct lmpi_file *f, const char *filename)
{
	f->name = strdup(without_prefix(filename));
	f->hidden = f->name ? hidden_name(f) : NULL;
	return f->hidden ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "no memory for a file");
}

static int
make_file(struct lmpi_comm *comm, const char *filename, int amode, MPI_Info info,
	  struct lmpi_file **file)
{
	struct lmpi_file *f = lmpi_object_new(&lmpi_file_pool);
	struct lmpi_type *byte = lmpi_type_find(MPI_BYTE);
	int rc;

	if (f == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a file");
	f->handle = (MPI_File)f;
	f->fd = f->hidden_fd = -1;
	f->amode = amode;
	f->errhandler = lmpi_file_null_handler;
	lmpi_errhandler_ref(f->errhandler);
	rc = own_comm(comm, &f->comm);
	if (rc == MPI_SUCCESS)
		rc = meet_file(f);
	if (rc == MPI_SUCCESS) {
		/* one process with bad arguments must not leave the others waiting */
		rc = check_arguments(filename, amode, info);
		if (rc == MPI_SUCCESS)
			rc = name_it(f, filename);
		lmpi_io_hints_default(&f->hints);
		lmpi_io_hints_take(&f->hints, lmpi_info_find(info));
		rc = lmpi_file_agree(f, rc, "MPI_File_open");
	}
	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_bcast_bytes(f->comm, &f->hints, sizeof(f->hints), 0);
	if (rc == MPI_SUCCESS)
		rc = lmpi_file_choose_aggregators(f);
	if (rc == MPI_SUCCESS)
		rc = open_everywhere(f);
	if (rc == MPI_SUCCESS)
		rc = lmpi_view_make(&f->view, 0, byte, byte, lmpi_datarep_find("native"), false);
	if (rc == LMPI_ERR_REVOKED && f->comm != NULL && lmpi_revoked(f->comm->cid))
		rc = lmpi_error(LMPI_ERR_PROC_FAILED, "a process that opens it has failed");
	if (rc)
		discard_file(f);
	else
		*file = f;
	return rc;
}

int
impl_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
	struct lmpi_file *f = NULL;
	struct lmpi_comm *c;
	int rc = lmpi_comm_get_intra(comm, &c);

	*fh = MPI_FILE_NULL;
	if (rc)
		return rc;
	if (c->foreign >= 0)
		return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
				  "the communicator has members that run another MPI: there are "
				  "no files on it");
	rc = make_file(c, filename, amode, info, &f);
	if (rc == MPI_SUCCESS)
		*fh = f->handle;
	return rc;
}

int
impl_File_close(MPI_File *fh)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(*fh, &f), err = 0;

	if (rc)
		return rc;
	if (f->split != NULL)
		return lmpi_error(MPI_ERR_OTHER, "%s was not ended", f->split_fn);
	lmpi_file_drain(f);
	rc = lmpi_comm_meet(f->comm); /* nobody uses the shared pointer any more */
	if (close(f->fd) != 0)
		err = errno;
	f->fd = -1;
	if (f->comm->rank == 0)
		lmpi_shared_remove(f);
	if ((f->amode & MPI_MODE_DELETE_ON_CLOSE) && f->comm->rank == 0 && unlink(f->name) != 0 &&
	    err == 0)
		err = errno;
	if (err)
		rc = lmpi_io_error(err, "cannot close", f->name);
	if (f->amode & MPI_MODE_DELETE_ON_CLOSE) /* it is gone when anybody returns */
		rc = lmpi_file_agree(f, rc, "MPI_File_close");
	discard_file(f);
	*fh = MPI_FILE_NULL;
	return rc;
}

int
impl_File_delete(const char *filename, MPI_Info info)
{
	(void)info;
	if (filename == NULL || filename[0] == '\0')
		return lmpi_error(MPI_ERR_BAD_FILE, "the file name is empty");
	filename = without_prefix(filename);
	if (unlink(filename) != 0)
		return lmpi_io_error(errno, "cannot delete", filename);
	return MPI_SUCCESS;
}
