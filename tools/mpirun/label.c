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
	size_t n;
	char *line;
};

static struct stream *streams;
static uint32_t nstreams;

static bool
add(uint32_t rank, bool err, int *out)
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
	streams[nstreams++] = (struct stream){ends[0], rank, err, 0, line};
	*out = ends[1];
	return true;
}

bool
mpirun_label_open(uint32_t rank, int out[2])
{
	return add(rank, false, &out[0]) && add(rank, true, &out[1]);
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
print(struct stream *s, size_t n)
{
	FILE *to = s->err ? stderr : stdout;

	fprintf(to, "[%u] %.*s\n", s->rank, (int)n, s->line);
	fflush(to);
}

static void
take(struct stream *s)
{
	ssize_t got = read(s->fd, s->line + s->n, LINE_MAX_BYTES - s->n);
	char *end;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		if (s->n)
			print(s, s->n);
		close(s->fd);
		s->fd = -1;
		return;
	}
	s->n += (size_t)got;
	while ((end = memchr(s->line, '\n', s->n))) {
		size_t len = (size_t)(end - s->line);
		print(s, len);
		s->n -= len + 1;
		memmove(s->line, end + 1, s->n);
	}
	if (s->n == LINE_MAX_BYTES) {
		print(s, s->n);
		s->n = 0;
	}
}

void
mpirun_label_pass(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t k = 0; k < n; k++)
		for (uint32_t i = 0; fds[k].revents && i < nstreams; i++)
			if (streams[i].fd == fds[k].fd)
				take(&streams[i]);
}
