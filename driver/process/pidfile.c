/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/pidfile.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 10

__attribute__((format(printf, 4, 5))) static int
say_wrong_pidfile(struct process_pidfile *p, char *err, size_t err_max, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(err, err_max, "pidfile %.100s: %s", p->path, text);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	return -1;
}

/* What is behind the descriptor, which cannot be exchanged any more. */
static int
look_pidfile(struct process_pidfile *p, char *err, size_t err_max)
{
	struct stat st;
	if (fstat(p->fd, &st))
		return say_wrong_pidfile(p, err, err_max, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return say_wrong_pidfile(p, err, err_max, "is no regular file; remove it");
	if (st.st_uid != geteuid() || st.st_nlink > 1)
		return say_wrong_pidfile(
			p, err, err_max, "%s; remove it, and keep others out of its folder",
			st.st_nlink > 1 ? "has a second name" : "belongs to another user");
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	return 0;
}

static int
pidfile_held(struct process_pidfile *p, char *err, size_t err_max)
{
	char text[24] = "";
	int why = errno;
	ssize_t n = why == EWOULDBLOCK ? pread(p->fd, text, sizeof text - 1, 0) : 0;
	if (why != EWOULDBLOCK)
		return say_wrong_pidfile(p, err, err_max, "%s", strerror(why));
	return say_wrong_pidfile(p, err, err_max, "%s is running already, process %ld",
				 program_invocation_short_name, n > 0 ? strtol(text, NULL, 10) : 0);
}

static bool
named(const struct process_pidfile *p)
{
	struct stat st;
	return lstat(p->path, &st) == 0 && st.st_dev == p->dev && st.st_ino == p->ino;
}

static int
put_pidfile(struct process_pidfile *p, char *err, size_t err_max)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (ftruncate(p->fd, 0) == 0 && pwrite(p->fd, text, (size_t)n, 0) == n)
		return 0;
	int why = errno;
	process_pidfile_remove(p);
	return say_wrong_pidfile(p, err, err_max, "%s", strerror(why));
}

int
process_pidfile_open(struct process_pidfile *p, const char *path, char *err, size_t err_max)
{
	p->fd = -1;
	if (strlcpy(p->path, path, sizeof p->path) >= sizeof p->path)
		return say_wrong_pidfile(p, err, err_max, "is too long a name");
	for (int i = 0; i < TRIES; i++) {
		/* O_NONBLOCK: a FIFO is not waited for. */
		p->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
		if (p->fd < 0 && errno == ELOOP)
			return say_wrong_pidfile(p, err, err_max, "is a symbolic link; remove it");
		if (p->fd < 0)
			return say_wrong_pidfile(p, err, err_max, "%s", strerror(errno));
		if (look_pidfile(p, err, err_max))
			return -1;
		if (flock(p->fd, LOCK_EX | LOCK_NB))
			return pidfile_held(p, err, err_max);
		/* Its owner may have removed it between our open() and our lock. */
		if (named(p))
			return put_pidfile(p, err, err_max);
		close(p->fd);
		p->fd = -1;
	}
	return say_wrong_pidfile(p, err, err_max, "somebody removes it again and again");
}

void
process_pidfile_remove(struct process_pidfile *p)
{
	if (p->fd < 0)
		return;
	if (named(p))
		(void)unlink(p->path);
	close(p->fd);
	p->fd = -1;
}
