/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536 /* bytes kept before they are written */

/* A non-blocking collective that is under way. */
struct under_way {
	MPI_Request request;
	uint64_t number;
};

/* One of them, in the array that a completing call got. */
struct trace_watch {
	int at;
	bool over;
	uint64_t number;
};

static struct {
	pthread_mutex_t lock;
	int fd;
	bool on;
	uint64_t last_ns; /* end of the last call */
	uint64_t ncomms;
	int keyval; /* on a communicator: its number */
	uint64_t nrequests;
	struct under_way *open;
	size_t nopen, open_room;
	size_t n;
	uint8_t buf[ROOM];
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* A call made inside another's wrapper, by the library or a callback, is part of it. */
static _Thread_local int depth;

static uint64_t
trace_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the file ------------------------------------------------------------------ */

static void
flush_trace(void)
{
	size_t done = 0;

	while (done < g.n) {
		ssize_t n = write(g.fd, g.buf + done, g.n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fprintf(stderr, "libmpitrace: %s; the trace ends here\n", strerror(errno));
			g.on = false;
			break;
		}
		done += (size_t)n;
	}
	g.n = 0;
}

static void
put_bytes(const void *data, size_t len)
{
	if (g.n + len > ROOM)
		flush_trace();
	if (len > ROOM)
		return; /* nothing we write is so long */
	memcpy(g.buf + g.n, data, len);
	g.n += len;
}

static void
put_trace(uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	do {
		b[n] = v & 0x7f;
		v >>= 7;
		b[n++] |= v ? 0x80 : 0;
	} while (v);
	put_bytes(b, n);
}

static void
put_signed(int64_t v)
{
	put_trace(((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void
trace_open(void)
{
	const char *dir = getenv("LIBMPI_TRACE");
	char path[4096];
	int rank, size;

	if (!dir || !*dir)
		dir = "mpitrace";
	if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) || PMPI_Comm_size(MPI_COMM_WORLD, &size) ||
	    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &g.keyval,
				    NULL))
		return;
	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		fprintf(stderr, "libmpitrace: %s: %s\n", dir, strerror(errno));
	snprintf(path, sizeof path, "%s/%d", dir, rank);
	g.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (g.fd < 0) {
		fprintf(stderr, "libmpitrace: %s: %s; rank %d is not traced\n", path,
			strerror(errno), rank);
		return;
	}
	put_bytes(TRACE_MAGIC, 8);
	put_trace((uint64_t)rank);
	put_trace((uint64_t)size);
	put_trace(trace_now_ns(CLOCK_REALTIME));
	put_trace((uint64_t)trace_nnames);
	for (int i = 0; i < trace_nnames; i++) {
		put_trace(strlen(trace_names[i]));
		put_bytes(trace_names[i], strlen(trace_names[i]));
	}
	g.last_ns = trace_now_ns(CLOCK_MONOTONIC);
	g.on = true;
}

void
trace_close(void)
{
	pthread_mutex_lock(&g.lock);
	if (g.on) {
		put_trace(TRACE_END);
		put_trace(trace_now_ns(CLOCK_MONOTONIC) - g.last_ns);
		flush_trace();
		close(g.fd);
	}
	g.on = false;
	pthread_mutex_unlock(&g.lock);
	free(g.open);
	g.open = NULL;
	g.nopen = g.open_room = 0;
	if (g.fd >= 0)
		PMPI_Comm_free_keyval(&g.keyval);
	g.fd = -1;
}

/* ---- communicators ----------------------------------------------------------------- */

static void
put_trace_group(MPI_Group group)
{
	MPI_Group world;
	int n = 0;

	PMPI_Group_size(group, &n);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	put_trace((uint64_t)n);
	for (int i = 0; i < n; i++) {
		int r = 0;

		PMPI_Group_translate_ranks(group, 1, &i, world, &r);
		put_trace((uint64_t)(r < 0 ? 0 : r));
	}
	PMPI_Group_free(&world);
}

static void
put_comm(MPI_Comm comm, uint64_t number)
{
	MPI_Group group;
	int inter = 0;

	put_trace(TRACE_COMM);
	put_trace(number);
	PMPI_Comm_group(comm, &group);
	put_trace_group(group);
	PMPI_Group_free(&group);
	PMPI_Comm_test_inter(comm, &inter);
	if (!inter) {
		put_trace(0);
		return;
	}
	PMPI_Comm_remote_group(comm, &group);
	put_trace_group(group);
	PMPI_Group_free(&group);
}

/* A freed communicator takes its number along: a new one under its handle is new. */
static uint64_t
trace_number_of(MPI_Comm comm)
{
	void *v = NULL;
	int flag = 0;

	if (comm == MPI_COMM_NULL)
		return TRACE_NO_COMM;
	if (PMPI_Comm_get_attr(comm, g.keyval, &v, &flag) == MPI_SUCCESS && flag)
		return (uint64_t)(uintptr_t)v;
	uint64_t number = ++g.ncomms;
	PMPI_Comm_set_attr(comm, g.keyval, (void *)(uintptr_t)number);
	put_comm(comm, number);
	return number;
}

/* ---- non-blocking collectives ---------------------------------------------------------- */

static struct under_way *
trace_open_of(MPI_Request request)
{
	for (size_t i = 0; i < g.nopen; i++)
		if (g.open[i].request == request)
			return &g.open[i];
	return NULL;
}

static void
put_start(MPI_Request request)
{
	struct under_way *u = trace_open_of(request);

	/* A handle that comes again: its last request was completed where nobody looked. */
	if (!u) {
		if (g.nopen == g.open_room) {
			size_t room = g.open_room ? 2 * g.open_room : 16;
			struct under_way *more = realloc(g.open, room * sizeof *more);

			if (!more)
				return;
			g.open = more;
			g.open_room = room;
		}
		u = &g.open[g.nopen++];
	}
	*u = (struct under_way){request, ++g.nrequests};
	put_trace(TRACE_START);
	put_trace(u->number);
}

static void
put_done(uint64_t number)
{
	for (size_t i = 0; i < g.nopen; i++) {
		if (g.open[i].number != number)
			continue;
		g.open[i] = g.open[--g.nopen];
		put_trace(TRACE_DONE);
		put_trace(number);
		return;
	}
}

void
trace_watch(struct trace_call *c, int n, const MPI_Request request[])
{
	if (depth > 1 || n <= 0)
		return;
	pthread_mutex_lock(&g.lock);
	if (g.nopen > 0)
		c->watch = malloc((size_t)n * sizeof *c->watch);
	for (int i = 0; c->watch && i < n; i++) {
		const struct under_way *u =
			request[i] == MPI_REQUEST_NULL ? NULL : trace_open_of(request[i]);

		if (u)
			c->watch[c->watched++] = (struct trace_watch){i, false, u->number};
	}
	pthread_mutex_unlock(&g.lock);
}

void
trace_completed(struct trace_call *c, const MPI_Request request[])
{
	for (int i = 0; i < c->watched; i++)
		c->watch[i].over = request[c->watch[i].at] == MPI_REQUEST_NULL;
}

/* ---- calls ----------------------------------------------------------------------------- */

void
trace_begin(struct trace_call *c, int name)
{
	*c = (struct trace_call){.name = name,
				 .comm = MPI_COMM_NULL,
				 .peer = -1,
				 .tag = -1,
				 .began = MPI_REQUEST_NULL};
	depth++;
	c->begin_ns = trace_now_ns(CLOCK_MONOTONIC);
}

static void
put_trace_call(const struct trace_call *c, uint64_t end_ns)
{
	uint64_t comm = trace_number_of(c->comm);
	/* of several threads only what nobody else was inside is computing */
	uint64_t idle = c->begin_ns > g.last_ns ? c->begin_ns - g.last_ns : 0;

	put_trace(TRACE_CALL);
	put_trace((uint64_t)c->name);
	put_trace(idle);
	put_trace(end_ns - c->begin_ns);
	put_trace(comm);
	put_signed(c->peer);
	put_signed(c->tag);
	put_trace(c->out);
	put_trace(c->in);
	if (c->began != MPI_REQUEST_NULL)
		put_start(c->began);
	for (int i = 0; i < c->watched; i++)
		if (c->watch[i].over)
			put_done(c->watch[i].number);
	g.last_ns = trace_now_ns(CLOCK_MONOTONIC);
}

void
trace_end(struct trace_call *c)
{
	uint64_t end = trace_now_ns(CLOCK_MONOTONIC);

	if (--depth == 0 && g.on) {
		pthread_mutex_lock(&g.lock);
		if (g.on)
			put_trace_call(c, end);
		pthread_mutex_unlock(&g.lock);
	}
	free(c->watch);
}

/* ---- sizes -------------------------------------------------------------------------------- */

uint64_t
trace_bytes(MPI_Count count, MPI_Datatype type)
{
	MPI_Count size = 0;

	if (count <= 0 || type == MPI_DATATYPE_NULL ||
	    PMPI_Type_size_c(type, &size) != MPI_SUCCESS || size < 0)
		return 0;
	return (uint64_t)count * (uint64_t)size;
}

static int
width(MPI_Comm comm)
{
	int inter = 0, n = 0;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &n);
	else
		PMPI_Comm_size(comm, &n);
	return n;
}

uint64_t
trace_bytes_v(const int counts[], MPI_Datatype type, MPI_Comm comm)
{
	MPI_Count sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += counts[i];
	return trace_bytes(sum, type);
}

uint64_t
trace_bytes_vc(const MPI_Count counts[], MPI_Datatype type, MPI_Comm comm)
{
	MPI_Count sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += counts[i];
	return trace_bytes(sum, type);
}

uint64_t
trace_bytes_w(const int counts[], const MPI_Datatype types[], MPI_Comm comm)
{
	uint64_t sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += trace_bytes(counts[i], types[i]);
	return sum;
}

uint64_t
trace_bytes_wc(const MPI_Count counts[], const MPI_Datatype types[], MPI_Comm comm)
{
	uint64_t sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += trace_bytes(counts[i], types[i]);
	return sum;
}

bool
trace_is_root(int root, MPI_Comm comm)
{
	int inter = 0, rank = -1;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		return root == MPI_ROOT;
	PMPI_Comm_rank(comm, &rank);
	return rank == root;
}
