/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells: a pipe per process, which others of its node open through /proc/PID/fd, as they
 * do with its segment: no socket, no name that could stay behind.  A ring means nothing but
 * "look again". */
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many bells of others stay open; on a node with more processes than that the others are
 * opened for each ring. */
#define OPEN_MAX_BELLS 64

static int bell[2] = {-1, -1}; /* to read, to write */
static uint32_t opened;

int
lmpi_bell_make(char name[32])
{
	struct stat st;

	if (pipe2(bell, O_NONBLOCK | O_CLOEXEC) < 0)
		return -errno;
	if (fstat(bell[1], &st) < 0) {
		int err = errno;
		lmpi_bell_close();
		return -err;
	}
	/* The number of the inode tells it from a pipe of a later process with that pid. */
	snprintf(name, 32, "%d/fd/%d %08x", getpid(), bell[1], (unsigned)st.st_ino);
	return 0;
}

void
lmpi_bell_close(void)
{
	for (int i = 0; i < 2; i++) {
		if (bell[i] >= 0)
			close(bell[i]);
		bell[i] = -1;
	}
}

bool
lmpi_bell_tell(int32_t *fd, uint32_t *inode)
{
	struct stat st;

	if (bell[1] < 0 || fstat(bell[1], &st) < 0)
		return false;
	*fd = bell[1];
	*inode = (uint32_t)st.st_ino;
	return true;
}

int
lmpi_bell_fd(void)
{
	return bell[0];
}

/* For reading too: then writing never fails for want of a reader, which would be a signal. */
static int
open_bell(const char *name)
{
	char path[48];
	struct stat st;
	size_t end = strcspn(name, " ");

	snprintf(path, sizeof path, "/proc/%.*s", (int)end, name);
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) ||
			(unsigned)st.st_ino != strtoul(name + end, NULL, 16))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void
strike(int fd)
{
	/* A full pipe means it has been rung already. */
	if (write(fd, "", 1) < 0)
		return;
}

void
lmpi_bell_ring(const char *name, int *kept)
{
	int fd = *kept >= 0 ? *kept : open_bell(name);

	if (fd < 0)
		return; /* the process is gone, which shows elsewhere */
	strike(fd);
	if (fd == *kept)
		return;
	if (opened < OPEN_MAX_BELLS) {
		opened++;
		*kept = fd;
	} else {
		close(fd);
	}
}

void
lmpi_bell_drop(int *kept)
{
	if (*kept < 0)
		return;
	close(*kept);
	*kept = -1;
	opened--;
}

void
lmpi_bell_ring_me(void)
{
	if (bell[1] >= 0)
		strike(bell[1]);
}

void
lmpi_bell_hush(void)
{
	char drop[64];
	while (read(bell[0], drop, sizeof drop) > 0)
		;
}
