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

/* A request that is under way, or a persistent one. */
struct under_way {
	MPI_Request request;
	bool used, persistent, receives, message;
	bool cancelled;	 /* is to be */
	bool freed;	 /* when it is over */
	uint64_t number; /* 0: not started */
	uint64_t comm;
	struct trace_part part; /* of a persistent one */
};

/* One request of the array that a completing call got. */
struct trace_watch {
	uint64_t number; /* 0: not noted */
	bool over, receives, message;
	struct trace_had had;
	MPI_Request request;
};

static struct {
	pthread_mutex_t lock;
	int fd;
	bool on;
	uint64_t last_ns; /* end of the last call */
	uint64_t ncomms;
	int keyval; /* on a communicator: its number */
	uint64_t nrequests;
	struct under_way *open;	 /* by hash of the request */
	size_t nopen, open_room; /* a power of two, at least twice as many */
	size_t n;
	uint8_t buf[ROOM];
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* A call made inside another's wrapper, by the library or a callback, is part of it. */
static _Thread_local int depth;
/* What the kernel says of this thread: -1 not asked yet, -2 it does not say. */
static _Thread_local int sched_fd = -1;
static _Thread_local uint64_t waited_ns; /* when its last call ended */
static pthread_key_t sched_key;
static pthread_once_t sched_once = PTHREAD_ONCE_INIT;

static uint64_t
trace_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
sched_close(void *fd)
{
	close((int)(intptr_t)fd - 1);
}

static void
sched_make_key(void)
{
	(void)pthread_key_create(&sched_key, sched_close);
}

/* How long this thread has waited for a processor in all. */
static uint64_t
trace_waited_ns(void)
{
	char text[80], *end;

	if (sched_fd == -1) {
		pthread_once(&sched_once, sched_make_key);
		sched_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
		if (sched_fd < 0)
			sched_fd = -2;
		else
			pthread_setspecific(sched_key, (void *)(intptr_t)(sched_fd + 1));
	}
	ssize_t n = sched_fd < 0 ? 0 : pread(sched_fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = 0;
	(void)strtoull(text, &end, 10); /* time on a processor */
	return strtoull(end, NULL, 10);
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

/* ---- begin and end ----------------------------------------------------------------- */

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
	(void)trace_number_of(MPI_COMM_WORLD);
	g.last_ns = trace_now_ns(CLOCK_MONOTONIC);
	g.on = true;
}

void
trace_close(void)
{
	pthread_mutex_lock(&g.lock);
	if (g.on) {
		uint64_t idle = trace_now_ns(CLOCK_MONOTONIC) - g.last_ns;
		uint64_t waited = trace_waited_ns() - waited_ns;

		put_trace(TRACE_END);
		put_trace(idle);
		put_trace(waited < idle ? waited : idle);
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

/* ---- requests -------------------------------------------------------------------------- */

static size_t
trace_home_of(MPI_Request request)
{
	uint64_t h = (uint64_t)(uintptr_t)request * 0x9e3779b97f4a7c15u;

	return (size_t)(h >> 20) & (g.open_room - 1);
}

/* Its place, or the free one where it would be. */
static struct under_way *
trace_slot_of(MPI_Request request)
{
	size_t at = trace_home_of(request);

	while (g.open[at].used && g.open[at].request != request)
		at = (at + 1) & (g.open_room - 1);
	return &g.open[at];
}

static struct under_way *
trace_open_of(MPI_Request request)
{
	struct under_way *u;

	if (request == MPI_REQUEST_NULL || !g.nopen)
		return NULL;
	u = trace_slot_of(request);
	return u->used ? u : NULL;
}

static struct under_way *
trace_free_slot(MPI_Request request)
{
	size_t at = trace_home_of(request);

	while (g.open[at].used)
		at = (at + 1) & (g.open_room - 1);
	return &g.open[at];
}

static bool
grow_trace(void)
{
	struct under_way *old = g.open;
	size_t room = g.open_room;
	struct under_way *more = calloc(room ? 2 * room : 64, sizeof *more);

	if (!more)
		return false;
	g.open = more;
	g.open_room = room ? 2 * room : 64;
	for (size_t i = 0; i < room; i++)
		if (old[i].used)
			*trace_free_slot(old[i].request) = old[i];
	free(old);
	return true;
}

/* A handle that comes again: its last request was completed where nobody looked.  But sends that
 * are over at once may share one. */
static struct under_way *
trace_new(MPI_Request request, bool sends)
{
	struct under_way *u;

	if (2 * g.nopen >= g.open_room && !grow_trace())
		return NULL;
	u = trace_slot_of(request);
	if (sends && u->used && u->message && !u->receives && !u->persistent)
		u = trace_free_slot(request);
	g.nopen += !u->used;
	*u = (struct under_way){.request = request, .used = true};
	return u;
}

static void
trace_remove(struct under_way *u)
{
	size_t at = (size_t)(u - g.open), mask = g.open_room - 1;

	/* what stands behind it because its own place was taken moves up */
	for (size_t i = (at + 1) & mask; g.open[i].used; i = (i + 1) & mask) {
		size_t home = trace_home_of(g.open[i].request);

		if (((i - home) & mask) < ((i - at) & mask))
			continue;
		g.open[at] = g.open[i];
		at = i;
	}
	g.open[at].used = false;
	g.nopen--;
}

static void
put_part(const struct trace_part *p, uint64_t comm, uint64_t number)
{
	put_trace(p->receives ? TRACE_RECV : TRACE_SEND);
	put_trace(number);
	put_trace(comm);
	if (p->receives)
		put_signed(p->peer);
	else
		put_trace((uint64_t)p->peer);
	put_signed(p->tag);
	put_trace(p->bytes);
	if (!p->receives)
		put_trace(p->how);
}

static void
put_trace_had(const struct trace_had *h, uint64_t number)
{
	if (!h->known)
		return;
	put_trace(TRACE_HAD);
	put_trace(number);
	put_signed(h->peer);
	put_signed(h->tag);
	put_signed(h->bytes);
}

static void
put_start(struct under_way *u)
{
	u->number = ++g.nrequests;
	put_trace(TRACE_START);
	put_trace(u->number);
}

/* A request of this call, with its messages; none: that of a collective. */
static void
put_began(const struct trace_call *c, uint64_t comm)
{
	struct under_way *u = trace_new(c->began, c->parts == 1 && !c->part[0].receives);

	if (!u)
		return;
	put_start(u);
	u->message = c->parts > 0;
	for (int i = 0; i < c->parts; i++) {
		u->receives |= c->part[i].receives;
		put_part(&c->part[i], comm, u->number);
	}
}

static void
put_started(const struct trace_call *c)
{
	for (int i = 0; i < c->nstarted; i++) {
		struct under_way *u = trace_open_of(c->started[i]);

		if (!u || !u->persistent)
			continue;
		put_start(u);
		put_part(&u->part, u->comm, u->number);
	}
}

static void
put_done(const struct trace_watch *w)
{
	struct under_way *u = trace_open_of(w->request);

	if (!u || (u->number != w->number && (u->receives || u->persistent)))
		return;
	uint64_t number = u->number;

	u->cancelled = false;
	if (u->persistent && !u->freed)
		u->number = 0;
	else
		trace_remove(u);
	put_trace(TRACE_DONE);
	put_trace(number);
	put_trace_had(&w->had, number);
}

void
trace_watch(struct trace_call *c, int n, const MPI_Request request[])
{
	if (depth > 1 || n <= 0)
		return;
	pthread_mutex_lock(&g.lock);
	if (g.nopen > 0)
		c->watch = calloc((size_t)n, sizeof *c->watch);
	for (int i = 0; c->watch && i < n; i++) {
		const struct under_way *u = trace_open_of(request[i]);

		c->watched = i + 1;
		if (u)
			c->watch[i] = (struct trace_watch){.number = u->number,
							   .receives = u->receives,
							   .message = u->message,
							   .request = request[i]};
	}
	pthread_mutex_unlock(&g.lock);
}

MPI_Status *
trace_statuses(const struct trace_call *c, MPI_Status *given, MPI_Status **own)
{
	*own = NULL;
	if (given != MPI_STATUS_IGNORE && given != MPI_STATUSES_IGNORE)
		return given;
	if (c->watched)
		*own = calloc((size_t)c->watched, sizeof **own);
	return *own ? *own : given;
}

static struct trace_had
had_of(const MPI_Status *status)
{
	struct trace_had h = {true, status->MPI_SOURCE, status->MPI_TAG, -1};
	MPI_Count n = 0;

	if (PMPI_Get_count_c(status, MPI_BYTE, &n) == MPI_SUCCESS && n >= 0)
		h.bytes = n;
	return h;
}

void
trace_over(struct trace_call *c, int at, const MPI_Status *status)
{
	int cancelled = 0;

	if (at < 0 || at >= c->watched)
		return;
	struct trace_watch *w = &c->watch[at];

	w->over = w->number != 0;
	if (!w->over || !w->message || !status)
		return;
	PMPI_Test_cancelled(status, &cancelled);
	if (cancelled)
		w->had = (struct trace_had){true, -1, -1, -1};
	else if (w->receives)
		w->had = had_of(status);
}

static int
class_of(int rc)
{
	int class = rc;

	return PMPI_Error_class(rc, &class) == MPI_SUCCESS ? class : rc;
}

bool
trace_received(int rc)
{
	return rc == MPI_SUCCESS || class_of(rc) == MPI_ERR_TRUNCATE;
}

void
trace_over_failed(struct trace_call *c, const MPI_Request request[], const MPI_Status status[],
		  int rc)
{
	bool each = class_of(rc) == MPI_ERR_IN_STATUS;

	for (int i = 0; i < c->watched; i++)
		if (request[i] == MPI_REQUEST_NULL) {
			bool told = status && trace_received(each ? status[i].MPI_ERROR : rc);

			trace_over(c, i, told ? &status[i] : NULL);
		}
}

MPI_Request
trace_message(MPI_Message message)
{
	if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC)
		return MPI_REQUEST_NULL;
	return (MPI_Request)(uintptr_t)message;
}

void
trace_renamed(MPI_Request from, MPI_Request to)
{
	pthread_mutex_lock(&g.lock);
	struct under_way *u = trace_open_of(from);

	if (u && to != MPI_REQUEST_NULL) {
		struct under_way was = *u, *now;

		trace_remove(u);
		now = trace_new(to, false);
		if (now)
			*now = was;
		if (now)
			now->request = to;
	}
	pthread_mutex_unlock(&g.lock);
}

void
trace_cancels(MPI_Request request)
{
	pthread_mutex_lock(&g.lock);
	struct under_way *u = trace_open_of(request);

	if (u)
		u->cancelled = u->number != 0;
	pthread_mutex_unlock(&g.lock);
}

/* It goes; true: what becomes of it is to be seen first. */
static bool
trace_frees(MPI_Request request)
{
	pthread_mutex_lock(&g.lock);
	struct under_way *u = trace_open_of(request);
	bool waits = u && u->cancelled && u->message;

	if (waits)
		u->freed = true;
	else if (u)
		trace_remove(u);
	pthread_mutex_unlock(&g.lock);
	return waits;
}

int
trace_request_free(struct trace_call *c, MPI_Request *request)
{
	MPI_Status status;

	if (depth > 1)
		return PMPI_Request_free(request);
	trace_watch(c, 1, request);
	if (!trace_frees(*request))
		return PMPI_Request_free(request);
	int rc = PMPI_Wait(request, &status);

	if (rc == MPI_SUCCESS)
		trace_over(c, 0, &status);
	else
		trace_over(c, 0, NULL);
	return *request == MPI_REQUEST_NULL ? rc : PMPI_Request_free(request);
}

/* ---- messages -------------------------------------------------------------------------- */

static void
add_part(struct trace_call *c, struct trace_part p)
{
	if (p.peer != MPI_PROC_NULL && c->parts < 2)
		c->part[c->parts++] = p;
}

void
trace_sends(struct trace_call *c, enum trace_how how, int dest, int tag)
{
	add_part(c, (struct trace_part){false, how, dest, tag, c->out});
}

void
trace_receives(struct trace_call *c, int source, int tag)
{
	add_part(c, (struct trace_part){.receives = true,
					.peer = source == MPI_ANY_SOURCE ? -1 : source,
					.tag = tag == MPI_ANY_TAG ? -1 : tag,
					.bytes = c->in});
}

/* Of a call that was over with its receive. */
void
trace_took(struct trace_call *c, const MPI_Status *status)
{
	if (c->parts && c->part[c->parts - 1].receives)
		c->had = had_of(status);
}

/* A message is found and taken out of the queue: its receive has begun. */
void
trace_probed(struct trace_call *c, MPI_Message message, const MPI_Status *status)
{
	c->began = trace_message(message);
	if (c->began == MPI_REQUEST_NULL)
		return;
	struct trace_had h = had_of(status);

	c->in = h.bytes < 0 ? 0 : (uint64_t)h.bytes;
	trace_receives(c, h.peer, h.tag);
}

/* ---- calls ----------------------------------------------------------------------------- */

void
trace_begin(struct trace_call *c, int name)
{
	*c = (struct trace_call){.name = name,
				 .comm = MPI_COMM_NULL,
				 .peer = -1,
				 .tag = -1,
				 .made = MPI_COMM_NULL,
				 .began = MPI_REQUEST_NULL,
				 .persistent = MPI_REQUEST_NULL};
	c->begin_ns = c->inside_from_ns = trace_now_ns(CLOCK_MONOTONIC);
	if (++depth > 1)
		return;
	uint64_t waited = trace_waited_ns();

	c->waited_ns = waited - waited_ns;
	waited_ns = waited;
	c->inside_from_ns = trace_now_ns(CLOCK_MONOTONIC);
}

static void
put_messages(const struct trace_call *c, uint64_t comm)
{
	if (c->began != MPI_REQUEST_NULL) {
		put_began(c, comm);
	} else if (c->persistent != MPI_REQUEST_NULL) {
		struct under_way *u = c->parts ? trace_new(c->persistent, false) : NULL;

		if (u) {
			u->persistent = u->message = true;
			u->receives = c->part[0].receives;
			u->part = c->part[0];
			u->comm = comm;
		}
	} else {
		for (int i = 0; i < c->parts; i++)
			put_part(&c->part[i], comm, 0);
		put_trace_had(&c->had, 0);
	}
	put_started(c);
}

static void
put_trace_call(const struct trace_call *c, uint64_t end_ns)
{
	uint64_t comm = trace_number_of(c->comm);
	/* of several threads only what nobody else was inside is computing */
	uint64_t idle = c->begin_ns > g.last_ns ? c->begin_ns - g.last_ns : 0;
	uint64_t inside = end_ns - c->inside_from_ns;

	put_trace(TRACE_CALL);
	put_trace((uint64_t)c->name);
	put_trace(idle);
	put_trace(inside);
	put_trace(comm);
	put_signed(c->peer);
	put_signed(c->tag);
	put_trace(c->out);
	put_trace(c->in);
	put_trace(c->waited_ns < idle ? c->waited_ns : idle);
	put_trace(c->inside_waited_ns < inside ? c->inside_waited_ns : inside);
	put_messages(c, comm);
	for (int i = 0; i < c->watched; i++)
		if (c->watch[i].over)
			put_done(&c->watch[i]);
	if (c->made != MPI_COMM_NULL)
		(void)trace_number_of(c->made);
	g.last_ns = trace_now_ns(CLOCK_MONOTONIC);
}

void
trace_end(struct trace_call *c)
{
	uint64_t end = trace_now_ns(CLOCK_MONOTONIC);

	if (--depth == 0 && g.on) {
		uint64_t waited = trace_waited_ns();

		c->inside_waited_ns = waited - waited_ns;
		waited_ns = waited;
		pthread_mutex_lock(&g.lock);
		if (g.on)
			put_trace_call(c, end);
		pthread_mutex_unlock(&g.lock);
	}
	free(c->watch);
}
