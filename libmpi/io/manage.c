/* SPDX-License-Identifier: BSD-2-Clause */
/* Views, pointers, sizes, consistency: everything about a file but its data. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll.h"
#include "errhandler.h"
#include "impl.h"
#include "info.h"
#include "io.h"

/* ---- views */

struct proposal {
	int rc;
	int esize[2];
	int holes;
	char rep[MPI_MAX_DATAREP_STRING];
};

static int
propose_hints(const struct lmpi_file *f, MPI_Datatype etype, MPI_Datatype filetype,
	      const char *datarep, int64_t disp, struct lmpi_view *v)
{
	const struct lmpi_datarep *rep;
	struct lmpi_type *e, *t;
	int rc = lmpi_check_type(etype, &e);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(filetype, &t);
	if (rc)
		return rc;
	if (disp < 0)
		return lmpi_error(MPI_ERR_DISP, "disp is %lld", (long long)disp);
	rep = datarep ? lmpi_datarep_find(datarep) : NULL;
	if (rep == NULL)
		return lmpi_error(MPI_ERR_UNSUPPORTED_DATAREP,
				  "there is no data representation \"%s\"", datarep ? datarep : "");
	return lmpi_view_make(v, disp, e, t, rep, !(f->amode & MPI_MODE_RDONLY));
}

/* Collective: do all processes take their views?  Sets whether writers have to lock. */
static int
agree_on_view(struct lmpi_file *f, const struct lmpi_view *v, int rc)
{
	struct proposal mine = {.rc = rc, .holes = rc == MPI_SUCCESS && !v->dense};
	struct proposal *all = calloc((size_t)f->comm->size, sizeof(*all));
	bool holes = false;
	int rc2;

	if (all == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (rc == MPI_SUCCESS) {
		memcpy(mine.esize, &v->esize, sizeof(mine.esize));
		memcpy(mine.rep, v->rep->name, sizeof(mine.rep));
	}
	rc2 = lmpi_coll_allgather_ints(f->comm, (int *)&mine, (int *)all,
				       sizeof(mine) / sizeof(int));
	for (int i = 0; rc2 == MPI_SUCCESS && rc == MPI_SUCCESS && i < f->comm->size; i++) {
		holes |= all[i].holes != 0;
		if (all[i].rc != MPI_SUCCESS)
			rc = lmpi_error(all[i].rc, "the view of rank %d is not valid", i);
		else if (memcmp(all[i].esize, all[0].esize, sizeof(mine.esize)) != 0)
			rc = lmpi_error(MPI_ERR_NOT_SAME,
					"the etypes of ranks 0 and %d differ in extent", i);
		else if (memcmp(all[i].rep, all[0].rep, sizeof(mine.rep)) != 0)
			rc = lmpi_error(MPI_ERR_NOT_SAME,
					"ranks 0 and %d name different data representations", i);
	}
	free(all);
	if (rc == MPI_SUCCESS && rc2 == MPI_SUCCESS)
		f->locking = holes;
	return rc ? rc : rc2;
}

/* MPI_DISPLACEMENT_CURRENT: the place of the shared pointer, in bytes. */
static int
current(struct lmpi_file *f, MPI_Offset *disp)
{
	int64_t at;
	int rc;

	if (!(f->amode & MPI_MODE_SEQUENTIAL))
		return lmpi_error(MPI_ERR_DISP, "MPI_DISPLACEMENT_CURRENT needs a file opened with "
						"MPI_MODE_SEQUENTIAL");
	rc = lmpi_shared_add(f, 0, &at);
	*disp = lmpi_view_offset(&f->view, at * f->view.esize);
	return rc;
}

int
impl_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
		   const char *datarep, MPI_Info info)
{
	struct lmpi_io_hints h;
	struct lmpi_view v = {0};
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	lmpi_file_drain(f);
	if (f->amode & MPI_MODE_SEQUENTIAL && disp != MPI_DISPLACEMENT_CURRENT)
		rc = lmpi_error(MPI_ERR_DISP, "a file opened with MPI_MODE_SEQUENTIAL takes only "
					      "MPI_DISPLACEMENT_CURRENT");
	else if (disp == MPI_DISPLACEMENT_CURRENT)
		rc = current(f, &disp);
	if (rc == MPI_SUCCESS)
		rc = propose_hints(f, etype, filetype, datarep, disp, &v);
	rc = agree_on_view(f, &v, rc);
	if (rc) {
		lmpi_view_drop(&v);
		return rc;
	}
	lmpi_view_drop(&f->view);
	f->view = v;
	f->pos = 0;
	h = f->hints;
	lmpi_io_hints_take(&h, lmpi_info_find(info));
	rc = lmpi_coll_bcast_bytes(f->comm, &h, sizeof(h), 0);
	if (rc)
		return rc;
	f->hints = h;
	rc = lmpi_file_choose_aggregators(f);
	return rc ? rc : lmpi_shared_set(f, 0);
}

int
impl_File_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype,
		   char *datarep)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	*disp = f->view.disp;
	lmpi_type_ref(f->view.etype); /* the caller frees derived ones */
	lmpi_type_ref(f->view.filetype);
	*etype = f->view.etype->handle;
	*filetype = f->view.filetype->handle;
	memcpy(datarep, f->view.rep->name, strlen(f->view.rep->name) + 1);
	return MPI_SUCCESS;
}

int
impl_File_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent)
{
	struct lmpi_type *t, *form = NULL;
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	if (rc == MPI_SUCCESS)
		rc = lmpi_datarep_form(f->view.rep, t, &form);
	if (rc)
		return rc;
	*extent = lmpi_type_extent(form);
	lmpi_type_unref(form);
	return MPI_SUCCESS;
}

/* ---- pointers */

static int
file_size(struct lmpi_file *f, int64_t *size)
{
	struct stat st;

	if (fstat(f->fd, &st) != 0)
		return lmpi_io_error(errno, "cannot look at", f->name);
	*size = st.st_size;
	return MPI_SUCCESS;
}

static int
no_sequential(const struct lmpi_file *f)
{
	if (f->amode & MPI_MODE_SEQUENTIAL)
		return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
				  "%s was opened with MPI_MODE_SEQUENTIAL", f->name);
	return MPI_SUCCESS;
}

/* Where `offset` etypes from whence is, in etypes; at: the pointer. */
static int
seek(struct lmpi_file *f, int64_t offset, int whence, int64_t at, int64_t *to)
{
	const struct lmpi_view *v = &f->view;
	int64_t size = 0;
	int rc;

	switch (whence) {
	case MPI_SEEK_SET:
		*to = offset;
		break;
	case MPI_SEEK_CUR:
		*to = at + offset;
		break;
	case MPI_SEEK_END:
		rc = file_size(f, &size);
		if (rc)
			return rc;
		/* the first etype that begins at or behind the end */
		*to = offset +
		      (v->esize ? (lmpi_view_below(v, size) + v->esize - 1) / v->esize : 0);
		break;
	default:
		return lmpi_error(MPI_ERR_ARG, "whence is %d", whence);
	}
	if (*to < 0)
		return lmpi_error(MPI_ERR_ARG, "the pointer would be at %lld", (long long)*to);
	return MPI_SUCCESS;
}

int
impl_File_seek(MPI_File fh, MPI_Offset offset, int whence)
{
	struct lmpi_file *f;
	int64_t to;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		rc = no_sequential(f);
	if (rc)
		return rc;
	rc = seek(f, offset, whence, f->view.esize ? f->pos / f->view.esize : 0, &to);
	if (rc == MPI_SUCCESS)
		f->pos = to * f->view.esize;
	return rc;
}

int
impl_File_get_position(MPI_File fh, MPI_Offset *offset)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		rc = no_sequential(f);
	if (rc == MPI_SUCCESS)
		*offset = f->view.esize ? f->pos / f->view.esize : 0;
	return rc;
}

int
impl_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset *disp)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		rc = no_sequential(f);
	if (rc)
		return rc;
	if (offset < 0)
		return lmpi_error(MPI_ERR_ARG, "offset is %lld", (long long)offset);
	*disp = lmpi_view_offset(&f->view, offset * f->view.esize);
	return MPI_SUCCESS;
}

int
impl_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
	struct lmpi_file *f;
	int64_t at = 0, to = 0, ends[2];
	int rc = lmpi_file_get(fh, &f), rc2;

	if (rc)
		return rc;
	lmpi_file_drain(f);
	rc = lmpi_shared_add(f, 0, &at);
	if (rc == MPI_SUCCESS)
		rc = seek(f, offset, whence, at, &to);
	/* nobody moves the pointer before all have looked */
	rc = lmpi_file_agree(f, rc, "MPI_File_seek_shared");
	if (rc)
		return rc;
	ends[0] = to;
	ends[1] = whence;
	rc2 = lmpi_coll_bcast_bytes(f->comm, ends, sizeof(ends), 0);
	if (rc2 == MPI_SUCCESS && (ends[0] != to || ends[1] != whence))
		rc = lmpi_error(MPI_ERR_NOT_SAME, "rank 0 seeks to %lld, this process to %lld",
				(long long)ends[0], (long long)to);
	rc = lmpi_file_agree(f, rc ? rc : rc2, "MPI_File_seek_shared");
	return rc ? rc : lmpi_shared_set(f, to);
}

int
impl_File_get_position_shared(MPI_File fh, MPI_Offset *offset)
{
	struct lmpi_file *f;
	int64_t at;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		rc = lmpi_shared_add(f, 0, &at);
	if (rc == MPI_SUCCESS)
		*offset = at;
	return rc;
}

/* ---- sizes */

int
impl_File_get_size(MPI_File fh, MPI_Offset *size)
{
	struct lmpi_file *f;
	int64_t bytes = 0;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		rc = file_size(f, &bytes);
	if (rc == MPI_SUCCESS)
		*size = bytes;
	return rc;
}

/* Collective: rank 0 does it. */
static int
resize_file(MPI_File fh, MPI_Offset size, bool preallocate, const char *what)
{
	struct lmpi_file *f;
	int64_t first = size;
	int rc = lmpi_file_get(fh, &f), err = 0;

	if (rc)
		return rc;
	lmpi_file_drain(f);
	rc = lmpi_coll_bcast_bytes(f->comm, &first, sizeof(first), 0);
	if (rc == MPI_SUCCESS && size < 0)
		rc = lmpi_error(MPI_ERR_ARG, "size is %lld", (long long)size);
	if (rc == MPI_SUCCESS && (f->amode & MPI_MODE_RDONLY))
		rc = lmpi_error(MPI_ERR_READ_ONLY, "%s was opened with MPI_MODE_RDONLY", f->name);
	if (rc == MPI_SUCCESS && first != size)
		rc = lmpi_error(MPI_ERR_NOT_SAME, "rank 0 says %lld, this process %lld",
				(long long)first, (long long)size);
	rc = lmpi_file_agree(f, rc, what);
	if (rc == MPI_SUCCESS && f->comm->rank == 0) {
		if (!preallocate)
			err = ftruncate(f->fd, size) != 0 ? errno : 0;
		else if (size > 0)
			err = posix_fallocate(f->fd, 0, size);
		if (err)
			rc = lmpi_io_error(err, "cannot change the size of", f->name);
	}
	return lmpi_file_agree(f, rc, what);
}

int
impl_File_set_size(MPI_File fh, MPI_Offset size)
{
	return resize_file(fh, size, false, "MPI_File_set_size");
}

int
impl_File_preallocate(MPI_File fh, MPI_Offset size)
{
	return resize_file(fh, size, true, "MPI_File_preallocate");
}

/* ---- consistency */

int
impl_File_sync(MPI_File fh)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	lmpi_file_drain(f);
	if (!(f->amode & MPI_MODE_RDONLY) && fsync(f->fd) != 0 && errno != EINVAL)
		rc = lmpi_io_error(errno, "cannot sync", f->name);
	return lmpi_file_agree(f, rc, "MPI_File_sync");
}

int
impl_File_set_atomicity(MPI_File fh, int flag)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f), err = 0;
	int first;

	if (rc)
		return rc;
	lmpi_file_drain(f);
	first = flag != 0;
	rc = lmpi_coll_bcast_bytes(f->comm, &first, sizeof(first), 0);
	if (rc == MPI_SUCCESS && first != (flag != 0))
		rc = lmpi_error(MPI_ERR_NOT_SAME, "rank 0 says %d, this process %d", first, flag);
	if (rc == MPI_SUCCESS && flag) { /* does the file system lock at all? */
		err = lmpi_io_lock(f->fd,
				   f->amode & MPI_MODE_RDONLY ? LMPI_IO_SHARED : LMPI_IO_EXCLUSIVE,
				   INT64_MAX - 1, 1);
		if (err == 0)
			lmpi_io_unlock(f->fd, INT64_MAX - 1, 1);
		else
			rc = lmpi_io_error(-err, "cannot lock", f->name);
	}
	rc = lmpi_file_agree(f, rc, "MPI_File_set_atomicity");
	if (rc == MPI_SUCCESS)
		f->atomic = flag != 0;
	return rc;
}

int
impl_File_get_atomicity(MPI_File fh, int *flag)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		*flag = f->atomic;
	return rc;
}

/* ---- queries, error handlers */

int
impl_File_get_amode(MPI_File fh, int *amode)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS)
		*amode = f->amode;
	return rc;
}

int
impl_File_get_group(MPI_File fh, MPI_Group *group)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	lmpi_group_ref(f->comm->group);
	*group = lmpi_group_handle(f->comm->group);
	return MPI_SUCCESS;
}

static MPI_Errhandler *
handler_slot(MPI_File file)
{
	struct lmpi_file *f = lmpi_file_find(file);

	if (file == MPI_FILE_NULL)
		return &lmpi_file_null_handler;
	return f ? &f->errhandler : NULL;
}

static int
bad_handle(MPI_File file)
{
	return lmpi_error(MPI_ERR_FILE, "the file handle %p is not a valid one", (void *)file);
}

int
impl_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
	MPI_Errhandler *slot = handler_slot(file);

	return slot ? lmpi_errhandler_set(slot, LMPI_ON_FILE, errhandler) : bad_handle(file);
}

int
impl_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
	MPI_Errhandler *slot = handler_slot(file);

	return slot ? lmpi_errhandler_get(*slot, errhandler) : bad_handle(file);
}

int
impl_File_call_errhandler(MPI_File fh, int errorcode)
{
	MPI_Errhandler *slot = handler_slot(fh);

	if (slot == NULL)
		return bad_handle(fh);
	lmpi_errhandler_call(*slot, LMPI_ON_FILE, fh, errorcode, "MPI_File_call_errhandler");
	return MPI_SUCCESS;
}
