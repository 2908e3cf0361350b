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

static struct {
	pthread_mutex_t lock;
	int fd;
	bool on;
	uint64_t last_ns; /* end of the last call */
	uint64_t ncomms;
	int keyval; /* on a communicator: its number */
	size_t n;
	uint8_t buf[ROOM];
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* A call made inside another's wrapper, by the library or a callback, is part of it. */
static _Thread_local int depth;

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the file ------------------------------------------------------------------ */

static void
flush(void)
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
		flush();
	if (len > ROOM)
		return; /* nothing we write is so long */
	memcpy(g.buf + g.n, data, len);
	g.n += len;
}

static void
put(uint64_t v)
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
	put(((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
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
	g.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (g.fd < 0) {
		fprintf(stderr, "libmpitrace: %s: %s; rank %d is not traced\n", path,
			strerror(errno), rank);
		return;
	}
	put_bytes(TRACE_MAGIC, 8);
	put((uint64_t)rank);
	put((uint64_t)size);
	put(now_ns(CLOCK_REALTIME));
	put((uint64_t)trace_nnames);
	for (int i = 0; i < trace_nnames; i++) {
		put(strlen(trace_names[i]));
		put_bytes(trace_names[i], strlen(trace_names[i]));
	}
	g.last_ns = now_ns(CLOCK_MONOTONIC);
	g.on = true;
}

void
trace_close(void)
{
	pthread_mutex_lock(&g.lock);
	if (g.on) {
		put(TRACE_END);
		put(now_ns(CLOCK_MONOTONIC) - g.last_ns);
		flush();
		close(g.fd);
	}
	g.on = false;
	pthread_mutex_unlock(&g.lock);
	if (g.fd >= 0)
		PMPI_Comm_free_keyval(&g.keyval);
	g.fd = -1;
}

/* ---- communicators ----------------------------------------------------------------- */

static void
put_group(MPI_Group group)
{
	MPI_Group world;
	int n = 0;

	PMPI_Group_size(group, &n);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	put((uint64_t)n);
	for (int i = 0; i < n; i++) {
		int r = 0;

		PMPI_Group_translate_ranks(group, 1, &i, world, &r);
		put((uint64_t)(r < 0 ? 0 : r));
	}
	PMPI_Group_free(&world);
}

static void
put_comm(MPI_Comm comm, uint64_t number)
{
	MPI_Group group;
	int inter = 0;

	put(TRACE_COMM);
	put(number);
	PMPI_Comm_group(comm, &group);
	put_group(group);
	PMPI_Group_free(&group);
	PMPI_Comm_test_inter(comm, &inter);
	if (!inter) {
		put(0);
		return;
	}
	PMPI_Comm_remote_group(comm, &group);
	put_group(group);
	PMPI_Group_free(&group);
}

/* A freed communicator takes its number along: a new one under its handle is new. */
static uint64_t
number_of(MPI_Comm comm)
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

/* ---- calls ----------------------------------------------------------------------------- */

void
trace_begin(struct trace_call *c, int name)
{
	*c = (struct trace_call){.name = name, .comm = MPI_COMM_NULL, .peer = -1, .tag = -1};
	depth++;
	c->begin_ns = now_ns(CLOCK_MONOTONIC);
}

void
trace_end(struct trace_call *c)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC);

	if (--depth > 0 || !g.on)
		return;
	pthread_mutex_lock(&g.lock);
	if (g.on) {
		uint64_t comm = number_of(c->comm);
		/* of several threads only what nobody else was inside is computing */
		uint64_t idle = c->begin_ns > g.last_ns ? c->begin_ns - g.last_ns : 0;

		put(TRACE_CALL);
		put((uint64_t)c->name);
		put(idle);
		put(end - c->begin_ns);
		put(comm);
		put_signed(c->peer);
		put_signed(c->tag);
		put(c->out);
		put(c->in);
		g.last_ns = now_ns(CLOCK_MONOTONIC);
	}
	pthread_mutex_unlock(&g.lock);
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
