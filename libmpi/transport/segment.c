/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory shared by processes of a node, for windows; the same way shm.c makes its rings. */
#include "transport.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
lmpi_segment_make(struct lmpi_segment *s, uint64_t bytes)
{
	*s = (struct lmpi_segment){.bytes = bytes, .pid = getpid(), .fd = -1};
	s->fd = memfd_create("libmpi-window", MFD_CLOEXEC);
	if (s->fd < 0)
		return LMPI_ERR_NO_MEM;
	if (bytes > INT64_MAX || ftruncate(s->fd, (off_t)bytes) < 0)
		goto fail;
	s->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->base == MAP_FAILED)
		goto fail;
	return LMPI_OK;
fail:
	s->base = NULL;
	lmpi_segment_seal(s);
	return LMPI_ERR_NO_MEM;
}

int
lmpi_segment_map(struct lmpi_segment *s, int pid, int fd, uint64_t bytes)
{
	char path[64];
	struct stat st;

	*s = (struct lmpi_segment){.bytes = bytes, .pid = pid, .fd = -1};
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	int own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		return LMPI_ERR_OTHER;
	if (fstat(own, &st) == 0 && (uint64_t)st.st_size == bytes)
		s->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	close(own);
	if (s->base == MAP_FAILED)
		s->base = NULL;
	return s->base ? LMPI_OK : LMPI_ERR_OTHER;
}

void
lmpi_segment_seal(struct lmpi_segment *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void
lmpi_segment_unmap(struct lmpi_segment *s)
{
	lmpi_segment_seal(s);
	if (s->base)
		munmap(s->base, s->bytes);
	s->base = NULL;
}
