/* SPDX-License-Identifier: BSD-2-Clause */
#include "label.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpirun.h"

#define LINE_MAX_BYTES 4096 /* a longer line is cut into several */

struct stream {
	int fd;
	uint32_t rank;
	bool err;
	bool plain; /* no rank before the lines, no end of line that was not there */
	size_t n;
	char *line;
};

static struct stream *streams;
static uint32_t nstreams;
static bool unread; /* writing our output failed */

static bool
label_line(uint32_t rank, bool err, bool plain, int *out)
{
	int ends[2];
	char *line = malloc(LINE_MAX_BYTES);
	struct stream *more = reallocarray(streams, nstreams + 1, sizeof *more);

	if (more)
		streams = more;
	if (!more || !line || nstreams == MPIRUN_LABEL_FDS || pipe2(ends, O_CLOEXEC) != 0) {
		mpirun_say("rank %u: no pipe for its output: %s", rank, strerror(errno));
		free(line);
		return false;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	streams[nstreams++] = (struct stream){ends[0], rank, err, plain, 0, line};
	*out = ends[1];
	return true;
}

bool
mpirun_label_open(uint32_t rank, int out[2])
{
	return label_line(rank, false, false, &out[0]) && label_line(rank, true, false, &out[1]);
}

bool
mpirun_lines_open(uint32_t rank, int *out)
{
	return label_line(rank, false, true, out);
}

bool
mpirun_label_busy(void)
{
	for (uint32_t i = 0; i < nstreams; i++)
		if (streams[i].fd >= 0)
			return true;
	return false;
}

nfds_t
mpirun_label_fds(struct pollfd *fds)
{
	nfds_t n = 0;

	for (uint32_t i = 0; i < nstreams; i++)
		if (streams[i].fd >= 0)
			fds[n++] = (struct pollfd){streams[i].fd, POLLIN, 0};
	return n;
}

static void
print_label(struct stream *s, size_t n)
{
	FILE *to = s->err ? stderr : stdout;

	if (s->plain)
		fwrite(s->line, 1, n, to);
	else
		fprintf(to, "[%u] %.*s\n", s->rank, (int)n, s->line);
	if (fflush(to) != 0)
		unread = true;
}

/* The first n bytes are out, and gap behind them goes. */
static void
drop_mpirun_label(struct stream *s, size_t n, size_t gap)
{
	s->n -= n + gap;
	memmove(s->line, s->line + n + gap, s->n);
}

static void
print_lines(struct stream *s)
{
	char *end;

	if (s->plain) {
		end = memrchr(s->line, '\n', s->n);
		if (end) {
			size_t len = (size_t)(end - s->line) + 1;
			print_label(s, len);
			drop_mpirun_label(s, len, 0);
		}
		return;
	}
	while ((end = memchr(s->line, '\n', s->n))) {
		size_t len = (size_t)(end - s->line);
		print_label(s, len);
		drop_mpirun_label(s, len, 1);
	}
}

static void
take_mpirun_label(struct stream *s)
{
	ssize_t got = read(s->fd, s->line + s->n, LINE_MAX_BYTES - s->n);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		if (s->n)
			print_label(s, s->n);
		close(s->fd);
		s->fd = -1;
		return;
	}
	s->n += (size_t)got;
	print_lines(s);
	if (s->n == LINE_MAX_BYTES) {
		print_label(s, s->n);
		s->n = 0;
	}
}

bool
mpirun_label_pass(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t k = 0; k < n; k++)
		for (uint32_t i = 0; fds[k].revents && i < nstreams; i++)
			if (streams[i].fd == fds[k].fd)
				take_mpirun_label(&streams[i]);
	return !unread;
}
