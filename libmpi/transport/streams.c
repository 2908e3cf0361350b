/* SPDX-License-Identifier: BSD-2-Clause */
#include "streams.h"

#include "boot.h"
#include "net_internal.h"

#include "base/clock.h"
#include "base/lobby.h"
#include "driver/udp_name.h"
#include "mpi/stream.h"
#include "relayproto/hello.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#define eng lmpi_eng

#define HELLO_NS  (10 * BASE_S_NS)
#define BROKEN_NS (2 * BASE_S_NS)
#define WAITING	  16u		    /* connections that have not said who they are */
#define GRACE_NS  (10 * BASE_MS_NS) /* to say it before somebody else gets the place */
#define QUIET_NS  (200 * BASE_US_NS)
#define ASKED_NS  (20 * BASE_US_NS) /* while one of ours is being made */
#define EVENTS	  16
#define ROUNDS	  8	      /* reads of one connection in a turn */
#define SCRATCH	  (64u << 10) /* data that nobody wants */
#define AHEAD	  4096u	      /* what is read together with the rest of a frame */
#define LISTENER  UINT32_MAX  /* its number among events */
#define BACKLOG	  1024

struct conn {
	int fd; /* -1: free, or broken */
	struct lmpi_stream s;
	bool up;	 /* it counts as such */
	bool wants_out;	 /* EPOLLOUT is asked for */
	int seat;	 /* CAME: in the lobby; else -1 */
	uint64_t due_ns; /* until then it has to be UP; broken: then it is told */
	char why[80];	 /* it broke */
};
_Static_assert(RELAY_HELLO_LEN == LMPI_STREAM_HELLO, "a stream begins with a path's hello");

static struct {
	struct conn *conn;  /* [max] */
	uint32_t max, most; /* of which so many lead to a process */
	struct base_lobby lobby;
	uint32_t there, up, busy; /* that have a socket; that are UP; that have bytes to send */
	uint32_t asked;		  /* that we have begun, and that are not UP */
	uint64_t look_ns;	  /* at all of them, then */
	struct lmpi_stream_habit habit;
	int listener, ep;
	struct suci_addr at;
	uint8_t *scratch;
	uint64_t due_ns; /* the earliest of all */
} net_streams = {.listener = -1, .ep = -1, .due_ns = BASE_NEVER_NS};
#define st net_streams

struct lmpi_stream_counts lmpi_stream_counts;
#define count lmpi_stream_counts

/* --- connections ---------------------------------------------------------- */

static struct conn *
stream_conn(uint32_t world)
{
	uint32_t at = lmpi_route[world].stream;

	return at ? &st.conn[at - 1] : NULL;
}

static uint32_t
conn_index(const struct conn *c)
{
	return (uint32_t)(c - st.conn);
}

static void
set_conn_due(struct conn *c, uint64_t ns)
{
	c->due_ns = ns;
	st.due_ns = base_min_ns(st.due_ns, ns);
}

static bool
is_conn_free(const struct conn *c)
{
	return c->fd < 0 && !c->why[0];
}

/* Room for them, when the first one is there. */
static bool
make_conns(void)
{
	uint32_t max = (uint32_t)lmpi_knob_number(LMPI_KNOB_STREAMS_MAX);

	if (st.conn)
		return true;
	st.conn = calloc(max + WAITING, sizeof *st.conn);
	st.scratch = malloc(SCRATCH);
	if (!st.conn || !st.scratch)
		return false;
	for (uint32_t i = 0; i < max + WAITING; i++)
		st.conn[i].fd = -1;
	st.max = max + WAITING;
	st.most = max;
	base_lobby_init(&st.lobby, WAITING, GRACE_NS);
	return true;
}

static struct conn *
new_conn(int fd, uint32_t events)
{
	for (uint32_t i = 0; i < st.max; i++) {
		struct epoll_event ev = {.events = events, .data.u32 = i};
		struct conn *c = &st.conn[i];
		if (!is_conn_free(c))
			continue;
		if (epoll_ctl(st.ep, EPOLL_CTL_ADD, fd, &ev) < 0)
			return NULL;
		*c = (struct conn){.fd = fd, .seat = -1, .wants_out = events & EPOLLOUT};
		set_conn_due(c, suci_udp_now_ns() + HELLO_NS);
		st.there++;
		return c;
	}
	return NULL;
}

static void
close_socket(struct conn *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	base_lobby_leave(&st.lobby, c->seat);
	c->seat = c->fd = -1;
	st.there--;
	st.asked -= c->s.state == LMPI_STREAM_ASKED;
	st.up -= c->up;
	c->up = false;
}

/* The connection goes, and nobody is told. */
static void
drop_conn(struct conn *c)
{
	struct lmpi_peer *peer = c->s.peer;

	close_socket(c);
	st.busy -= lmpi_stream_has_out(&c->s);
	if (peer && stream_conn(peer->world) == c)
		lmpi_route[peer->world].stream = 0;
	lmpi_stream_end(&eng, &c->s);
	*c = (struct conn){.fd = -1};
}

/* Suci has what goes there from now on. */
static void
give_conn_up(struct conn *c)
{
	if (c->s.peer)
		lmpi_route[c->s.peer->world].stream_port = 0;
	count.refused++;
	drop_conn(c);
}

/* The socket is no good any more. */
static void
break_conn(struct conn *c, const char *why)
{
	bool quiet = eng.closing || eng.ending || !c->s.peer || c->s.peer->lost;

	if (c->s.state != LMPI_STREAM_UP && c->s.state != LMPI_STREAM_OVER) {
		give_conn_up(c);
		return;
	}
	/* Who takes leave has got everything, and has nothing more to say. */
	if (quiet || (!why && lmpi_stream_at_rest(&c->s))) {
		if (c->s.peer)
			lmpi_route[c->s.peer->world].stream_port = 0;
		drop_conn(c);
		return;
	}
	close_socket(c);
	count.broken++;
	snprintf(c->why, sizeof c->why, "%s", why ? why : "closed amid a message");
	set_conn_due(c, suci_udp_now_ns() + BROKEN_NS);
}

/* Nobody else has said what has become of the process. */
static void
tell_broken(struct conn *c)
{
	uint32_t world = c->s.peer->world;
	char name[SUCI_ADDR_TEXT_MAX];

	if (!eng.closing && !c->s.peer->lost && !(lmpi_outlive && lmpi_outlive(world)))
		lmpi_fail("the TCP connection with rank %u%s%s (%s) broke: %s; fix: let TCP "
			  "through between the nodes, or set LIBMPI_STREAM=0",
			  world, lmpi_world.proc[world].node[0] ? " on " : "",
			  lmpi_world.proc[world].node,
			  suci_addr_ip_text(&lmpi_route[world].at, name), c->why);
	drop_conn(c);
}

/* --- going out ------------------------------------------------------------ */

static void
want_stream_out(struct conn *c, bool yes)
{
	struct epoll_event ev = {.events = EPOLLIN | (yes ? EPOLLOUT : 0),
				 .data.u32 = conn_index(c)};

	if (c->wants_out == yes)
		return;
	c->wants_out = yes;
	if (epoll_ctl(st.ep, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		lmpi_fail("epoll: %s", strerror(errno));
}

/* Write what the socket takes; true if bytes went. */
static bool
write_conn(struct conn *c)
{
	struct lmpi_stream_bytes piece[2];
	bool moved = false, had = lmpi_stream_has_out(&c->s);

	for (int n; (n = lmpi_stream_out(&c->s, piece)) > 0;) {
		struct iovec v[2];
		for (int i = 0; i < n; i++)
			v[i] = (struct iovec){(void *)(uintptr_t)piece[i].at, piece[i].n};
		struct msghdr m = {.msg_iov = v, .msg_iovlen = (size_t)n};
		ssize_t r = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno != EAGAIN) {
			break_conn(c, strerror(errno));
			return true;
		}
		if (r < 0)
			break;
		count.bytes_sent += (uint64_t)r;
		lmpi_stream_sent(&eng, &c->s, (size_t)r);
		moved = true;
	}
	bool has = lmpi_stream_has_out(&c->s);
	st.busy -= had && !has;
	want_stream_out(c, has);
	return moved;
}

/* --- beginning ------------------------------------------------------------ */

/* Small frames do not wait for acknowledgements of others. */
static int
without_delay(int fd)
{
	int one = 1;

	if (fd >= 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static void
become_up(struct conn *c, struct lmpi_peer *peer, const uint8_t answer[LMPI_STREAM_HELLO])
{
	bool had = lmpi_stream_has_out(&c->s);

	st.asked -= c->s.state == LMPI_STREAM_ASKED;
	lmpi_stream_meet(&c->s, peer, answer);
	base_lobby_leave(&st.lobby, c->seat);
	c->seat = -1;
	st.busy += answer && !had;
	c->up = true;
	st.up++;
	c->due_ns = BASE_NEVER_NS;
	lmpi_route[peer->world].stream = (uint16_t)(conn_index(c) + 1);
	count.opened++;
}

/* Begin a connection to that process, for what is sent there later. */
static void
ask_stream(struct lmpi_peer *peer)
{
	struct lmpi_route *to = &lmpi_route[peer->world];
	uint8_t hello[LMPI_STREAM_HELLO];
	int err, fd = -1;

	if (make_conns() && st.up + st.asked < st.most)
		fd = without_delay(lmpi_tcp_begin(&to->at, to->stream_port, &st.at, &err));
	struct conn *c = fd < 0 ? NULL : new_conn(fd, EPOLLIN | EPOLLOUT);
	if (!c) {
		if (fd >= 0)
			close(fd);
		to->stream_port = 0;
		count.refused++;
		return;
	}
	lmpi_net_hello_to(peer->world, hello);
	lmpi_stream_ask(&c->s, peer, hello);
	st.busy++;
	st.asked++;
	st.look_ns = 0;
	to->stream = (uint16_t)(conn_index(c) + 1);
}

/* Without descriptors it would be told of who comes again and again. */
static void
stop_listening(void)
{
	close(st.listener);
	st.listener = -1;
}

static struct conn *
find_seat(int seat)
{
	for (uint32_t i = 0; i < st.max && seat >= 0; i++)
		if (st.conn[i].fd >= 0 && st.conn[i].seat == seat)
			return &st.conn[i];
	return NULL;
}

/* Those who came last have had time to say who they are. */
static bool
has_lobby_room(uint64_t now_ns)
{
	uint64_t oldest = now_ns;

	for (uint32_t i = 0; i < WAITING; i++) {
		if (!st.lobby.seat[i].taken)
			return true;
		oldest = base_min_ns(oldest, st.lobby.seat[i].since_ns);
	}
	return now_ns - oldest >= GRACE_NS;
}

/* Somebody is there: a place in the lobby, which another one may have to leave. */
static void
seat_conn(int fd, const union udp_name *name, uint64_t now_ns)
{
	struct suci_addr from = suci_udp_from(name);
	uint8_t addr[16];

	suci_addr_16(&from, addr);
	uint64_t source = base_lobby_source(addr);
	struct conn *other = find_seat(base_lobby_victim(&st.lobby, source, now_ns));
	if (other)
		give_conn_up(other);
	int seat = base_lobby_enter(&st.lobby, source, now_ns);
	struct conn *c = seat < 0 ? NULL : new_conn(fd, EPOLLIN);
	if (!c) {
		base_lobby_leave(&st.lobby, seat);
		close(fd);
		count.refused++;
		return;
	}
	(void)without_delay(fd);
	lmpi_stream_expect(&c->s);
	c->seat = seat;
}

/* Whoever comes says who it is. */
static void
accept_streams(uint64_t now_ns)
{
	if (!make_conns()) {
		stop_listening();
		return;
	}
	while (has_lobby_room(now_ns)) {
		union udp_name name = {0};
		socklen_t len = sizeof name;
		int fd = accept4(st.listener, &name.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			seat_conn(fd, &name, now_ns);
		} else if (errno != EINTR && errno != ECONNABORTED) {
			if (errno != EAGAIN)
				stop_listening();
			return;
		}
	}
}

/* Processes of this client on other nodes. */
static bool
may_have_stream(uint32_t world)
{
	return world - lmpi_world.client_first < lmpi_world.client_size &&
	       lmpi_route[world].reach == LMPI_REACH_DIRECT && !eng.peer[world].lost;
}

/* HELLO is there. */
static void
judge_hello(struct conn *c)
{
	uint32_t world = lmpi_net_hello_from(c->s.head, LMPI_STREAM_HELLO);
	uint8_t answer[LMPI_STREAM_HELLO];

	if (c->s.state == LMPI_STREAM_ASKED) {
		if (world == c->s.peer->world)
			become_up(c, c->s.peer, NULL);
		else
			give_conn_up(c);
		return;
	}
	struct conn *mine = may_have_stream(world) ? stream_conn(world) : NULL;
	if (!may_have_stream(world) || (!mine && st.up + st.asked >= st.most) ||
	    !lmpi_stream_takes_other(mine ? mine->s.state : LMPI_STREAM_NONE, lmpi_world.rank,
				     world)) {
		count.refused++;
		drop_conn(c);
		return;
	}
	if (mine)
		drop_conn(mine);
	lmpi_net_hello_to(world, answer);
	become_up(c, &eng.peer[world], answer);
	(void)write_conn(c);
}

/* --- coming in ------------------------------------------------------------ */

/* n bytes that are in the scratch place; false: the connection has gone. */
static bool
take_scratch(struct conn *c, size_t n)
{
	for (size_t done = 0; done < n && !lmpi_failing();) {
		done += lmpi_stream_in(&eng, &c->s, st.scratch + done, n - done);
		if (c->s.state == LMPI_STREAM_OVER) {
			drop_conn(c);
			return false;
		}
		if (lmpi_stream_has_hello(&c->s))
			judge_hello(c);
		if (c->fd < 0)
			return false;
	}
	return true;
}

/* Of n bytes that came, those that were put where they belong; false as above. */
static bool
take_read(struct conn *c, size_t n, size_t room)
{
	size_t placed = n < room ? n : room;

	count.bytes_received += n;
	if (placed > 0)
		lmpi_stream_came(&eng, &c->s, placed);
	return take_scratch(c, n - placed);
}

static bool
read_conn(struct conn *c)
{
	for (int i = 0; i < ROUNDS && !lmpi_failing(); i++) {
		size_t room, more = c->s.sink ? SCRATCH : AHEAD;
		uint8_t *to = lmpi_stream_into(&c->s, &room);
		struct iovec v[2] = {{to, room}, {st.scratch, to ? AHEAD : more}};
		struct msghdr m = {.msg_iov = to ? v : v + 1, .msg_iovlen = to ? 2 : 1};
		ssize_t r = recvmsg(c->fd, &m, MSG_DONTWAIT);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN)
			return i > 0;
		if (r <= 0) {
			break_conn(c, r < 0 ? strerror(errno) : NULL);
			return true;
		}
		if (!take_read(c, (size_t)r, room) || (size_t)r < room)
			return true;
	}
	return true;
}

/* --- turns ---------------------------------------------------------------- */

/* The earliest time at which something is due. */
static void
look_at_deadlines(uint64_t now_ns)
{
	st.due_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < st.max; i++) {
		struct conn *c = &st.conn[i];
		if (is_conn_free(c))
			continue;
		if (c->due_ns <= now_ns && c->why[0])
			tell_broken(c);
		else if (c->due_ns <= now_ns)
			give_conn_up(c);
		else
			st.due_ns = base_min_ns(st.due_ns, c->due_ns);
	}
}

static bool
serve_conn(struct conn *c, uint32_t events)
{
	bool moved = false;

	if (events & EPOLLOUT)
		moved = write_conn(c);
	if (c->fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		moved |= read_conn(c);
	return moved;
}

static bool
look_at_conns(uint64_t now_ns)
{
	struct epoll_event ev[EVENTS];
	bool moved = false, comes = false;
	int n = epoll_wait(st.ep, ev, EVENTS, 0);

	st.look_ns = now_ns + (st.asked > 0 ? ASKED_NS : QUIET_NS);
	for (int i = 0; i < n; i++) {
		uint32_t at = ev[i].data.u32;
		if (at == LISTENER)
			comes = true;
		else if (st.conn[at].fd >= 0)
			moved |= serve_conn(&st.conn[at], ev[i].events);
	}
	/* When those who are there have been heard. */
	if (comes)
		accept_streams(now_ns);
	return moved || comes;
}

static struct conn *
find_sole(void)
{
	uint32_t i = 0;

	while (st.conn[i].fd < 0)
		i++;
	return &st.conn[i];
}

/* No need to ask which; who comes besides is seen later. */
static bool
look_at_sole(struct conn *c)
{
	bool moved = st.busy > 0 && write_conn(c);

	return (c->fd >= 0 && eng.filling > 0 && read_conn(c)) || moved;
}

bool
lmpi_streams_poll(uint64_t now_ns)
{
	bool moved = false;

	if (st.ep < 0)
		return false;
	if (now_ns >= st.due_ns)
		look_at_deadlines(now_ns);
	if (st.up > 0 && (eng.filling > 0 || st.busy > 0))
		moved = st.there == 1 ? look_at_sole(find_sole()) : look_at_conns(now_ns);
	if (now_ns >= st.look_ns)
		moved |= look_at_conns(now_ns);
	return moved;
}

bool
lmpi_streams_send(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	struct conn *c;

	(void)e;
	if (out->len < lmpi_stream_least() || !lmpi_stream_carries(out) ||
	    !lmpi_stream_wanted(&st.habit, out))
		return false;
	c = stream_conn(peer->world);
	if (!c && st.ep >= 0 && lmpi_route[peer->world].stream_port != 0)
		ask_stream(peer);
	if (!c || c->fd < 0 || c->s.state != LMPI_STREAM_UP)
		return false;
	bool alone = !lmpi_stream_has_out(&c->s);
	st.busy += alone;
	lmpi_stream_send(&c->s, out);
	if (alone) {
		eng.in_transport = true;
		(void)write_conn(c);
		eng.in_transport = false;
	}
	return true;
}

void
lmpi_streams_hear(void)
{
	st.look_ns = 0;
}

int
lmpi_streams_fd(void)
{
	return st.ep;
}

uint64_t
lmpi_streams_expiry_ns(void)
{
	return st.due_ns;
}

bool
lmpi_streams_drained(void)
{
	return st.busy == 0;
}

/* --- start and end -------------------------------------------------------- */

static bool
listen_there(const struct suci_addr *at, uint16_t *port)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = LISTENER};

	st.at = *at;
	st.listener = lmpi_tcp_listen(at, BACKLOG, port);
	st.ep = epoll_create1(EPOLL_CLOEXEC);
	return st.listener >= 0 && st.ep >= 0 &&
	       epoll_ctl(st.ep, EPOLL_CTL_ADD, st.listener, &ev) == 0;
}

uint16_t
lmpi_streams_open(const struct suci_addr *at)
{
	char text[SUCI_ADDR_TEXT_MAX];
	uint16_t port;

	if (lmpi_stream_never())
		return 0;
	if (listen_there(at, &port))
		return port;
	fprintf(stderr,
		"libmpi: cannot listen on %s (TCP): %s; data of long messages goes over UDP\n",
		suci_addr_ip_text(at, text), strerror(errno));
	lmpi_streams_close();
	return 0;
}

void
lmpi_streams_shun(uint32_t world)
{
	struct conn *c = stream_conn(world);

	if (c)
		drop_conn(c);
	lmpi_route[world].stream_port = 0;
}

void
lmpi_streams_print_stats(void)
{
	if (!count.opened && !count.refused)
		return;
	fprintf(stderr,
		"libmpi: [%u] streams opened %llu refused %llu broken %llu; sent %llu bytes, "
		"received %llu\n",
		lmpi_world.rank, (unsigned long long)count.opened,
		(unsigned long long)count.refused, (unsigned long long)count.broken,
		(unsigned long long)count.bytes_sent, (unsigned long long)count.bytes_received);
}

void
lmpi_streams_close(void)
{
	for (uint32_t i = 0; i < st.max; i++)
		if (!is_conn_free(&st.conn[i]))
			drop_conn(&st.conn[i]);
	if (st.listener >= 0)
		close(st.listener);
	if (st.ep >= 0)
		close(st.ep);
	free(st.conn);
	free(st.scratch);
	memset(&st, 0, sizeof st);
	st.listener = st.ep = -1;
	st.due_ns = BASE_NEVER_NS;
}
