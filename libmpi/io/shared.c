/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared file pointer: a number in a hidden file, changed under a lock.
 *
 * Why not in a process: whoever wants the pointer would depend on the program of that
 * process calling MPI, and MPI demands progress of independent accesses without that.
 * Why not in shared memory: the processes may be on several nodes.  A lock, a read, a
 * write and an unlock cost some microseconds where the file is in memory, which it is
 * when all processes are on one node.
 *
 * The hidden file is made by who first moves the pointer; until then, and while it is
 * empty, the pointer is at shared_start. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll.h"
#include "io.h"

static int
shared_pointer_failed(const struct lmpi_file *f, int err)
{
	return lmpi_io_error(err, "cannot keep the shared file pointer in", f->hidden);
}

/* Its place may be a folder of everybody (/dev/shm, /tmp): what is found there may be a trap. */
static const char *
trap_in(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "that is no regular file; remove it";
	if (st.st_uid != geteuid())
		return "that belongs to another user; have it removed";
	if (st.st_nlink != 1 || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return "that has a second name, or others may write it; remove it";
	return NULL;
}

int
lmpi_shared_open(const char *name, const char **why)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = -1;

	/* ENOENT: it was there, and somebody took it away. */
	for (int tries = 0; tries < 10 && fd < 0; tries++) {
		fd = open(name, flags | O_CREAT | O_EXCL, 0600);
		if (fd >= 0)
			return fd;
		if (errno == EEXIST)
			fd = open(name, flags);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	if (fd < 0) {
		*why = errno == ELOOP ? "that is a symbolic link; remove it" : strerror(errno);
		return -1;
	}
	*why = trap_in(fd);
	if (!*why)
		return fd;
	close(fd);
	return -1;
}

static int
open_hidden(struct lmpi_file *f)
{
	const char *why;

	if (f->hidden_fd >= 0)
		return MPI_SUCCESS;
	f->hidden_fd = lmpi_shared_open(f->hidden, &why);
	if (f->hidden_fd >= 0)
		return MPI_SUCCESS;
	return lmpi_error(MPI_ERR_IO, "cannot keep the shared file pointer in %s: %s", f->hidden,
			  why);
}

int
lmpi_shared_add(struct lmpi_file *f, int64_t add, int64_t *old)
{
	int64_t now, moved;
	int rc = open_hidden(f), err;

	if (rc)
		return rc;
	err = lmpi_io_lock(f->hidden_fd, LMPI_IO_EXCLUSIVE, 0, sizeof(now));
	if (err)
		return shared_pointer_failed(f, -err);
	err = lmpi_io_pread(f->hidden_fd, &now, sizeof(now), 0, &moved);
	if (err == 0 && moved < (int64_t)sizeof(now))
		now = f->shared_start;
	if (err == 0) {
		*old = now;
		now += add;
		if (add != 0)
			err = lmpi_io_pwrite(f->hidden_fd, &now, sizeof(now), 0, &moved);
	}
	lmpi_io_unlock(f->hidden_fd, 0, sizeof(now));
	return err ? shared_pointer_failed(f, -err) : MPI_SUCCESS;
}

int
lmpi_shared_set(struct lmpi_file *f, int64_t to)
{
	int rc = lmpi_coll_barrier(f->comm); /* nobody is still using the old one */
	int err = 0;

	f->shared_start = to;
	if (f->comm->rank == 0) {
		if (rc == MPI_SUCCESS)
			rc = open_hidden(f);
		if (f->hidden_fd >= 0 && ftruncate(f->hidden_fd, 0) != 0)
			err = errno;
	}
	if (rc == MPI_SUCCESS && err)
		rc = shared_pointer_failed(f, err);
	return lmpi_file_agree(f, rc, "moving the shared file pointer");
}

void
lmpi_shared_remove(struct lmpi_file *f)
{
	(void)unlink(f->hidden);
}
