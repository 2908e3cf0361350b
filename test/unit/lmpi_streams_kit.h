/* SPDX-License-Identifier: BSD-2-Clause */
/* The streams of one process, world rank 1, and what is at their other ends: sockets of the test,
 * whose bytes it writes and reads.  What does not go over a stream is kept to be looked at.
 *
 *	0 2 4	libmpi on other nodes, lower and higher than us		1	us
 *	3	a process of our node					5	of another client
 *
 * Time is the test's: a turn is told what it is. */
#ifndef TEST_LMPI_STREAMS_KIT_H
#define TEST_LMPI_STREAMS_KIT_H

#include "cmocka_all.h"
#include "net_internal.h"
#include "streams.h"

#include "base/clock.h"
#include "mpi/stream.h"
#include "relayproto/hello.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ME = 1, PROCS = 6, TAG = 9, CID = 3, HDR = sizeof(struct lmpi_hdr) };
#define TOKEN 0x1122334455667788ull
#define MANY  200000 /* turns until what has to come must have come */

static struct lmpi_peer peers[PROCS];
static struct lmpi_route routes[PROCS];
static struct lmpi_proc procs[PROCS];
static struct lmpi_client clients[2] = {{.nprocs = PROCS - 1}, {.nprocs = 1}};
static uint16_t port;		  /* of our streams */
static uint64_t ahead_ns;	  /* of the clock: what the test lets pass */
static uint64_t still_ns;	  /* the time that it is; 0: it passes */
static struct lmpi_hdr last;	  /* packet that the engine sent */
static int elsewhere;		  /* DATA packets that did not go over a stream */
static struct lmpi_req open_recv; /* so that DATA is for streams */

static inline bool
send_or_keep(struct lmpi_engine *e, struct lmpi_peer *to, struct lmpi_out *out)
{
	last = out->hdr;
	if (out->hdr.type == LMPI_T_DATA && lmpi_streams_send(e, to, out))
		return true;
	elsewhere += out->hdr.type == LMPI_T_DATA;
	lmpi_out_done(e, out, true);
	return true;
}

static inline bool
refuse_short(struct lmpi_engine *e, struct lmpi_peer *to, const struct lmpi_hdr *h,
	     const void *data, uint64_t len)
{
	(void)e, (void)to, (void)h, (void)data, (void)len;
	return false;
}

static const struct lmpi_transport kit_transport = {.send = send_or_keep,
						    .try_short = refuse_short};

static inline struct suci_addr
loopback(void)
{
	struct suci_addr at;

	assert_true(suci_addr_parse("127.0.0.1:1", 11, &at));
	at.port = 0;
	return at;
}

static inline void
begin_world(void)
{
	static const enum lmpi_reach reach[PROCS] = {LMPI_REACH_DIRECT, LMPI_REACH_SELF,
						     LMPI_REACH_DIRECT, LMPI_REACH_SHM,
						     LMPI_REACH_DIRECT, LMPI_REACH_DIRECT};

	memset(peers, 0, sizeof peers);
	memset(routes, 0, sizeof routes);
	memset(&lmpi_eng, 0, sizeof lmpi_eng);
	lmpi_world = (struct lmpi_world){.rank = ME,
					 .size = PROCS,
					 .slots = PROCS,
					 .nclients = 2,
					 .client_size = PROCS - 1,
					 .clients = clients,
					 .proc = procs};
	lmpi_loop.token = TOKEN;
	lmpi_eng.rank = ME;
	lmpi_eng.size = PROCS;
	lmpi_eng.peer = peers;
	lmpi_eng.unexpected_bytes_max = lmpi_eng.copied_bytes_max = 1 << 20;
	lmpi_route = routes;
	lmpi_make_engine();
	for (uint32_t r = 0; r < PROCS; r++) {
		peers[r].world = r;
		lmpi_reach_by(&peers[r], reach[r]);
		if (r != ME)
			peers[r].tp = &kit_transport;
		peers[r].eager_max = 10;
		routes[r].label = LMPI_LABEL_BASE + r;
		routes[r].token = TOKEN;
		routes[r].at = loopback();
	}
}

static inline int
set_up(void **state)
{
	struct suci_addr at = loopback();

	(void)state;
	setenv("LIBMPI_STREAMS_MAX", "3", 1);
	begin_world();
	ahead_ns = still_ns = 0;
	elsewhere = 0;
	memset(&lmpi_stream_counts, 0, sizeof lmpi_stream_counts);
	lmpi_stream_to(100);
	port = lmpi_streams_open(&at);
	assert_int_not_equal(port, 0);
	memset(&open_recv, 0, sizeof open_recv);
	return 0;
}

static inline int
tear_down(void **state)
{
	(void)state;
	lmpi_streams_close();
	if (!open_recv.done && open_recv.buf)
		assert_true(lmpi_engine_cancel_recv(&lmpi_eng, &open_recv));
	lmpi_engine_drop(&lmpi_eng);
	lmpi_fail_forget();
	unsetenv("LIBMPI_STREAMS_MAX");
	return 0;
}

/* --- our side --------------------------------------------------------------- */

static inline uint64_t
now_ns(void)
{
	return (still_ns ? still_ns : suci_udp_now_ns()) + ahead_ns;
}

static inline void
turn(void)
{
	lmpi_streams_hear();
	lmpi_eng.in_transport = true;
	(void)lmpi_streams_poll(now_ns());
	lmpi_eng.in_transport = false;
	if (lmpi_eng.pending)
		(void)lmpi_pump(&lmpi_eng);
	lmpi_run_done(&lmpi_eng);
}

/* Turns until it is so. */
#define TURNS_UNTIL(what)                                                 \
	do {                                                              \
		int turns_left = MANY;                                    \
		while (!(what))                                           \
			if (turns_left-- > 0)                             \
				turn();                                   \
			else                                              \
				fail_msg("line %d: %s", __LINE__, #what); \
	} while (0)

/* The text with which the job ends now. */
static inline void
expect_failure(const char *words)
{
	char text[1024] = "";
	int fd[2];
	size_t n = 0;

	assert_true(lmpi_failing());
	assert_int_equal(pipe(fd), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fd[1], STDERR_FILENO);
		lmpi_loop.up = false;
		lmpi_check_fail();
		_exit(0);
	}
	close(fd[1]);
	for (ssize_t r; (r = read(fd[0], text + n, sizeof text - 1 - n)) > 0;)
		n += (size_t)r;
	close(fd[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in \"%s\"", words, text);
	lmpi_fail_forget();
}

/* A message of rank `from` is announced and has that receive; the header of its data. */
static inline struct lmpi_hdr
announce(uint32_t from, struct lmpi_req *req, void *buf, uint64_t len)
{
	struct lmpi_hdr rts = {.magic = LMPI_HDR_MAGIC,
			       .type = LMPI_T_RTS,
			       .src = from,
			       .tag = TAG,
			       .cid = CID,
			       .msglen = len,
			       .srq = 77};

	lmpi_engine_irecv(&lmpi_eng, req, buf, len, LMPI_ANY_SOURCE, TAG, CID);
	assert_null(lmpi_arrive(&lmpi_eng, &peers[from], &rts, 0));
	lmpi_pump(&lmpi_eng);
	assert_int_equal(last.type, LMPI_T_CTS);
	return (struct lmpi_hdr){.magic = LMPI_HDR_MAGIC,
				 .type = LMPI_T_DATA,
				 .src = from,
				 .msglen = last.msglen,
				 .drq = last.drq};
}

/* Send so much, as far as the data, which the receiver asks for at once. */
static inline void
post_data(uint32_t to, struct lmpi_req *req, const void *data, uint64_t len, uint64_t drq)
{
	if (!open_recv.buf)
		lmpi_engine_irecv(&lmpi_eng, &open_recv, &open_recv, 0, 0, TAG + 1, CID);
	*req = (struct lmpi_req){0};
	lmpi_engine_isend(&lmpi_eng, req, data, len, to, ME, TAG, CID, LMPI_STANDARD);
	lmpi_pump(&lmpi_eng);
	assert_int_equal(last.type, LMPI_T_RTS);
	struct lmpi_hdr cts = {.magic = LMPI_HDR_MAGIC,
			       .type = LMPI_T_CTS,
			       .src = to,
			       .msglen = len,
			       .srq = last.srq,
			       .drq = drq};
	assert_null(lmpi_arrive(&lmpi_eng, &peers[to], &cts, 0));
	lmpi_pump(&lmpi_eng);
	lmpi_run_done(&lmpi_eng);
}

/* --- the other side --------------------------------------------------------- */

/* What that process says to rank `to`. */
static inline void
hello_of(uint32_t from, uint32_t to, uint8_t out[LMPI_STREAM_HELLO])
{
	uint32_t label = LMPI_LABEL_BASE + to;

	relay_hello_encode(&(struct relay_hello){.kind = RELAY_HELLO_PROCESS,
						 .token = relay_hello_token(TOKEN, label),
						 .label = label,
						 .rank = from},
			   out);
}

static inline struct sockaddr_in
ipv4_at(const char *ip, uint16_t at_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(at_port)};

	assert_int_equal(inet_pton(AF_INET, ip, &a.sin_addr), 1);
	return a;
}

/* A connection to us from that address. */
static inline int
call_us(const char *ip)
{
	struct sockaddr_in from = ipv4_at(ip, 0), to = ipv4_at("127.0.0.1", port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static inline void
write_all(int fd, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t done = 0; done < n;) {
		ssize_t r = send(fd, p + done, n - done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r < 0 && errno != EAGAIN)
			fail_msg("send: %s", strerror(errno));
		done += r > 0 ? (size_t)r : 0;
		turn();
	}
}

/* n bytes that we write there. */
static inline void
read_all(int fd, void *to, size_t n)
{
	uint8_t *p = to;
	int left = MANY;

	for (size_t done = 0; done < n && left-- > 0;) {
		ssize_t r = recv(fd, p + done, n - done, MSG_DONTWAIT);
		if (r == 0 || (r < 0 && errno != EAGAIN))
			fail_msg("after %zu of %zu bytes: %s", done, n,
				 r ? strerror(errno) : "closed");
		done += r > 0 ? (size_t)r : 0;
		left = r > 0 ? MANY : left;
		turn();
	}
	assert_true(left > 0);
}

/* Has it been closed at our end? */
static inline bool
is_closed(int fd)
{
	char b;
	ssize_t r = recv(fd, &b, 1, MSG_DONTWAIT | MSG_PEEK);

	return r == 0 || (r < 0 && errno != EAGAIN);
}

/* That process has begun a stream, and it is up. */
static inline int
stream_from(uint32_t rank)
{
	uint8_t hello[LMPI_STREAM_HELLO], answer[LMPI_STREAM_HELLO], mine[LMPI_STREAM_HELLO];
	int fd = call_us("127.0.0.1");

	hello_of(rank, ME, hello);
	write_all(fd, hello, sizeof hello);
	TURNS_UNTIL(routes[rank].stream != 0);
	read_all(fd, answer, sizeof answer);
	hello_of(ME, rank, mine);
	assert_memory_equal(answer, mine, sizeof mine);
	return fd;
}

/* A port at which that process takes streams. */
static inline int
listen_as(uint32_t rank)
{
	struct sockaddr_in at = ipv4_at("127.0.0.1", 0);
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	routes[rank].stream_port = ntohs(at.sin_port);
	return fd;
}

/* The one that we have begun there, when it has said who we are. */
static inline int
accept_ours(int listener, uint32_t rank)
{
	uint8_t hello[LMPI_STREAM_HELLO], mine[LMPI_STREAM_HELLO];
	int fd = -1;

	TURNS_UNTIL((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0);
	read_all(fd, hello, sizeof hello);
	hello_of(ME, rank, mine);
	assert_memory_equal(hello, mine, sizeof mine);
	return fd;
}

#endif
