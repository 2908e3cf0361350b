/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that take whole ranges, locks, and what errno means to MPI. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "io.h"

#define ONE_CALL (INT64_C(1) << 30) /* Linux moves at most 2 GiB at a time */

int
lmpi_io_pread(int fd, void *buf, int64_t len, int64_t offset, int64_t *moved)
{
	*moved = 0;
	while (*moved < len) {
		int64_t want = len - *moved < ONE_CALL ? len - *moved : ONE_CALL;
		ssize_t n = pread(fd, (char *)buf + *moved, (size_t)want, offset + *moved);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		*moved += n;
	}
	return 0;
}

int
lmpi_io_pwrite(int fd, const void *buf, int64_t len, int64_t offset, int64_t *moved)
{
	*moved = 0;
	while (*moved < len) {
		int64_t want = len - *moved < ONE_CALL ? len - *moved : ONE_CALL;
		ssize_t n = pwrite(fd, (const char *)buf + *moved, (size_t)want, offset + *moved);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*moved += n;
	}
	return 0;
}

/* Locks belong to the open file, so that two handles of one process exclude each other;
 * where the kernel or the file system does not know such locks, to the process. */
static int
set_lock(int fd, short type, int64_t offset, int64_t len)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = len};
	int rc;

	do
		rc = fcntl(fd, F_OFD_SETLKW, &l);
	while (rc < 0 && errno == EINTR);
	if (rc < 0 && errno == EINVAL)
		do
			rc = fcntl(fd, F_SETLKW, &l);
		while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

int
lmpi_io_lock(int fd, enum lmpi_io_lock how, int64_t offset, int64_t len)
{
	return set_lock(fd, how == LMPI_IO_SHARED ? F_RDLCK : F_WRLCK, offset, len);
}

void
lmpi_io_unlock(int fd, int64_t offset, int64_t len)
{
	(void)set_lock(fd, F_UNLCK, offset, len);
}

int
lmpi_io_class(int err)
{
	switch (err) {
	case 0:
		return MPI_SUCCESS;
	case ENOENT:
		return MPI_ERR_NO_SUCH_FILE;
	case EACCES:
	case EPERM:
		return MPI_ERR_ACCESS;
	case EROFS:
		return MPI_ERR_READ_ONLY;
	case EEXIST:
		return MPI_ERR_FILE_EXISTS;
	case ENOSPC:
		return MPI_ERR_NO_SPACE;
	case EDQUOT:
		return MPI_ERR_QUOTA;
	case ETXTBSY:
	case EBUSY:
		return MPI_ERR_FILE_IN_USE;
	case ENAMETOOLONG:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
		return MPI_ERR_BAD_FILE;
	case ENOMEM:
		return MPI_ERR_NO_MEM;
	default:
		return MPI_ERR_IO;
	}
}

int
lmpi_io_error(int err, const char *what, const char *name)
{
	return lmpi_error(lmpi_io_class(err), "%s %s: %s", what, name, strerror(err));
}
