/* SPDX-License-Identifier: BSD-2-Clause */
/* impipp - ping-pong and streaming of IMPI packets between two hosts of one process
 * each: what `make bench` measures a gateway with, and what it measures beside it.
 *
 *   impipp join SERVER:PORT CLIENT ADDRESS [--budget-ms MS] [BYTES...]
 *       a whole IMPI client: joins through SERVER (an impi-server or a relay), meets
 *       the other client's host, client 0 measures, client 1 answers
 *   impipp listen ADDRESS PORT
 *   impipp connect ADDRESS PORT [--budget-ms MS] [BYTES...]
 *       the same packets on a bare connection: no server, for hosts that reach each
 *       other directly or through a TCP proxy; who connects measures
 *
 * Who measures prints JSON: rows (median half round trip) and stream (microseconds
 * per packet one way, flow control as agreed).  Receives block in the kernel. */
#include "impi/client.h"
#include "impi/flow.h"
#include "impi/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define DATALEN	   65536u
#define ACKMARK	   16u
#define HIWATER	   64u
#define ROUNDS_MAX 20000
#define LIMIT_NS   (30ull * 1000000000ull)

enum { TAG_ECHO, TAG_STREAM, TAG_STREAM_END, TAG_STOP };

static struct peer {
	int fd;
	struct impi_stream in;
	bool finished; /* their FINI is here */
	struct impi_flow flow;
	uint32_t ackmark, hiwater;
	struct impi_proc me, other;
	uint8_t payload[DATALEN];
} g = {.fd = -1, .ackmark = ACKMARK, .hiwater = HIWATER};

static _Noreturn void
die(const char *what)
{
	fprintf(stderr, "impipp: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(1);
}

static uint64_t
now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static struct sockaddr_in
address(const char *ip, unsigned long port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1) {
		fprintf(stderr, "impipp: '%s' is not an IPv4 address\n", ip);
		exit(2);
	}
	return a;
}

static int
tcp_socket(const struct sockaddr_in *bind_to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (bind_to && bind(fd, (const struct sockaddr *)bind_to, sizeof *bind_to) < 0)
		die("bind");
	return fd;
}

/* To address, from bind_to; a peer that is just starting refuses for a while. */
static int
tcp_connect(const struct sockaddr_in *to, const struct sockaddr_in *bind_to)
{
	for (uint64_t end = now_ns() + LIMIT_NS; now_ns() < end;) {
		int fd = tcp_socket(bind_to);
		if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
			return fd;
		close(fd);
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	die("connect");
}

static int
tcp_accept(int listener)
{
	int fd = accept(listener, NULL, NULL), one = 1;
	if (fd < 0)
		die("accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static void
write_all(int fd, struct iovec *iov, int n)
{
	while (n > 0) {
		ssize_t r = writev(fd, iov, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			die("write");
		for (size_t left = (size_t)r; n > 0;) {
			size_t part = left < iov->iov_len ? left : iov->iov_len;
			iov->iov_base = (uint8_t *)iov->iov_base + part;
			iov->iov_len -= part;
			left -= part;
			if (iov->iov_len > 0)
				break;
			iov++, n--;
		}
	}
}

/* ---- packets --------------------------------------------------------------- */

static void
put(uint32_t type, int tag, uint32_t bytes)
{
	static uint64_t srqid;
	struct impi_packet p = {.type = type, .src = g.me, .dest = g.other, .tag = tag};
	uint8_t head[IMPI_PACKET_BYTES];

	if (type == IMPI_PK_DATA) {
		p.len = bytes;
		p.msglen = bytes;
		p.srqid = ++srqid;
	}
	impi_packet_encode(&p, head);
	struct iovec iov[2] = {{head, sizeof head}, {g.payload, bytes}};
	write_all(g.fd, iov, bytes ? 2 : 1);
	impi_flow_on_sent(&g.flow, type);
}

/* The next packet of any type; flow control is dealt with here. */
static struct impi_packet
get(void)
{
	for (;;) {
		uint8_t *where;
		uint32_t n = impi_stream_want(&g.in, &where);
		if (n == 0)
			die(impi_packet_fault_name(g.in.fault));
		ssize_t r = recv(g.fd, where ? where : g.payload + g.in.payload_off, n, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			die("the connection ended");
		unsigned int what = impi_stream_took(&g.in, (uint32_t)r);
		if (what & IMPI_STREAM_FAILED)
			die(impi_packet_fault_name(g.in.fault));
		if (what & IMPI_STREAM_END)
			break;
	}
	struct impi_packet p = impi_stream_packet(&g.in);
	g.finished = g.finished || p.type == IMPI_PK_FINI;
	if (p.type == IMPI_PK_PROTOACK && !impi_flow_on_protoack(&g.flow, g.ackmark))
		die("acknowledged what was never sent");
	impi_flow_on_taken(&g.flow, p.type);
	while (impi_flow_ack_due(&g.flow, g.ackmark))
		put(IMPI_PK_PROTOACK, 0, 0);
	return p;
}

static struct impi_packet
get_data(void)
{
	struct impi_packet p;
	do
		p = get();
	while (p.type != IMPI_PK_DATA);
	return p;
}

static void
send_data(int tag, uint32_t bytes)
{
	while (!impi_flow_may_send(&g.flow, g.hiwater, IMPI_PK_DATA))
		(void)get();
	put(IMPI_PK_DATA, tag, bytes);
}

/* ---- measuring --------------------------------------------------------------- */

static void
answer(void)
{
	for (;;) {
		struct impi_packet p = get_data();
		if (p.tag == TAG_STOP)
			return;
		if (p.tag == TAG_ECHO)
			send_data(TAG_ECHO, p.len);
		if (p.tag == TAG_STREAM_END)
			send_data(TAG_STREAM_END, 0);
	}
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void
pingpong(uint32_t bytes, uint64_t budget_ns, const char *comma)
{
	static double half[ROUNDS_MAX];
	uint32_t n = 0;
	uint64_t end = now_ns() + budget_ns;

	for (int warm = 0; warm < 20; warm++) {
		send_data(TAG_ECHO, bytes);
		(void)get_data();
	}
	while (n < ROUNDS_MAX && now_ns() < end) {
		uint64_t t = now_ns();
		send_data(TAG_ECHO, bytes);
		(void)get_data();
		half[n++] = (double)(now_ns() - t) / 2e3;
	}
	qsort(half, n, sizeof half[0], by_value);
	printf("%s{\"bytes\": %u, \"rounds\": %u, \"half_us_median\": %.3f, \"half_us_min\": %.3f}",
	       comma, bytes, n, half[n / 2], half[0]);
}

/* Microseconds per packet of bytes, one way. */
static void
stream(uint32_t bytes, uint64_t budget_ns, const char *comma)
{
	uint64_t start = now_ns(), n = 0;

	while (now_ns() < start + budget_ns) {
		for (int i = 0; i < 16; i++, n++)
			send_data(TAG_STREAM, bytes);
	}
	send_data(TAG_STREAM_END, 0);
	while (get_data().tag != TAG_STREAM_END)
		;
	double us = (double)(now_ns() - start) / 1e3 / (double)n;
	printf("%s{\"bytes\": %u, \"rounds\": %llu, \"half_us_median\": %.3f, \"half_us_min\": "
	       "%.3f}",
	       comma, bytes, (unsigned long long)n, us, us);
}

static void
measure(int argc, char **argv)
{
	uint64_t budget_ns = 1000000000ull;
	int first = 0;

	if (argc >= 2 && strcmp(argv[0], "--budget-ms") == 0) {
		budget_ns = strtoull(argv[1], NULL, 10) * 1000000ull;
		first = 2;
	}
	for (int pass = 0; pass < 2; pass++) {
		printf(pass == 0 ? "{\"rows\": [" : "], \"stream\": [");
		for (int i = first; i < argc; i++) {
			unsigned long bytes = strtoul(argv[i], NULL, 10);
			if (bytes > DATALEN)
				die("a size above 65536");
			(pass == 0 ? pingpong : stream)((uint32_t)bytes, budget_ns,
							i > first ? ", " : "");
		}
	}
	printf("]}\n");
	send_data(TAG_STOP, 0);
}

/* ---- joining a job ------------------------------------------------------------- */

static struct {
	int fd;
	struct impi_client *client;
} srv;

static void
server_send(void)
{
	uint8_t buf[4096];
	size_t n;
	while ((n = impi_client_tx(srv.client, buf, sizeof buf)) > 0)
		write_all(srv.fd, &(struct iovec){buf, n}, 1);
}

static void
submit(const struct impi_offer *offer)
{
	uint32_t label;
	while ((label = impi_client_next_label(srv.client)) != IMPI_NO_LABEL)
		if (impi_client_submit_offer(srv.client, label, offer) != IMPI_ERR_OK)
			die("submitting a label");
	if (impi_client_state(srv.client) == IMPI_CLS_COLLECTING)
		impi_client_done(srv.client);
}

/* Talk to the server until it has said DONE. */
static void
start_up(const struct impi_offer *offer)
{
	for (;;) {
		uint8_t buf[4096];
		server_send();
		ssize_t r = recv(srv.fd, buf, sizeof buf, 0);
		if (r <= 0)
			die("the server closed the connection");
		struct impi_client_event ev;
		for (size_t at = 0; at < (size_t)r || ev.type != IMPI_CL_NONE;) {
			at += impi_client_rx(srv.client, buf + at, (size_t)r - at, &ev);
			if (ev.type == IMPI_CL_FAILED)
				die(impi_client_error(srv.client)->text);
			if (ev.type == IMPI_CL_SIZE)
				submit(offer);
			if (ev.type == IMPI_CL_STARTED)
				return;
			if (ev.type == IMPI_CL_NONE)
				break;
		}
	}
}

/* Meet the other client's host (two clients of one host each). */
static void
dance(int listener, const struct sockaddr_in *self)
{
	const struct impi_tables *t = impi_client_tables(srv.client);
	uint32_t me, other;

	for (me = 0; me < t->nhosts; me++)
		if (memcmp(t->proc[t->host[me].first_rank].hostid, g.me.hostid, 16) == 0 &&
		    t->proc[t->host[me].first_rank].pid == g.me.pid)
			break;
	for (other = 0; other < t->nhosts; other++)
		if (other != me && t->host[other].nprocs > 0)
			break;
	if (me == t->nhosts || other == t->nhosts)
		die("the table does not name two hosts");
	g.other = t->proc[t->host[other].first_rank];
	g.ackmark = t->ackmark;
	g.hiwater = t->hiwater;
	uint8_t ident[IMPI_IDENT_BYTES];
	impi_stream_init(&g.in, t->datalen);
	if (impi_link_connects(me, other)) {
		struct sockaddr_in to = {.sin_family = AF_INET,
					 .sin_port = htons((uint16_t)t->host[other].port)},
				   from = *self;
		memcpy(&to.sin_addr, t->host[other].addr + 12, 4);
		from.sin_port = 0;
		g.fd = tcp_connect(&to, &from);
		be32_store(ident, me);
		write_all(g.fd, &(struct iovec){ident, sizeof ident}, 1);
	} else {
		g.fd = tcp_accept(listener);
		if (recv(g.fd, ident, sizeof ident, MSG_WAITALL) != (ssize_t)sizeof ident ||
		    be32_load(ident) != other)
			die("identification");
	}
}

static void
finish(void)
{
	uint8_t fini[IMPI_PACKET_BYTES];

	impi_link_fini_packet(fini);
	write_all(g.fd, &(struct iovec){fini, sizeof fini}, 1);
	while (!g.finished)
		(void)get();
	close(g.fd);
	impi_client_fini(srv.client);
	server_send();
	close(srv.fd);
}

static int
join(int argc, char **argv)
{
	struct impi_client_config cfg = {.rank = (uint32_t)strtoul(argv[1], NULL, 10)};
	struct impi_limits limits = {.hosts_max = 64, .procs_max = 64};
	struct impi_error err = {0};
	struct sockaddr_in self = address(argv[2], 0);
	socklen_t len = sizeof self;
	int listener = tcp_socket(&self);
	char *colon = strrchr(argv[0], ':');

	if (!colon)
		die("SERVER:PORT");
	*colon = '\0';
	if (listen(listener, 4) < 0 || getsockname(listener, (struct sockaddr *)&self, &len) < 0)
		die("listen");
	struct sockaddr_in to = address(argv[0], strtoul(colon + 1, NULL, 10));
	impi_auth_from_env(&cfg.auth, getenv("IMPI_AUTH_NONE"), getenv("IMPI_AUTH_KEY"), &err);
	size_t n = impi_client_footprint(&limits, &cfg);
	void *mem = n ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
	if (!mem || !(srv.client = impi_client_new(mem, &limits, &cfg)))
		die("set IMPI_AUTH_NONE; client");
	srv.fd = tcp_connect(&to, NULL);

	struct impi_host host = {
		.port = ntohs(self.sin_port), .nprocs = 1, .ackmark = ACKMARK, .hiwater = HIWATER};
	impi_addr_from_ipv4(host.addr, ntohl(self.sin_addr.s_addr));
	memcpy(g.me.hostid, host.addr, 16);
	g.me.pid = (uint64_t)getpid();
	struct impi_offer offer = {.nhosts = 1,
				   .nprocs = 1,
				   .datalen = DATALEN,
				   .tagub = INT32_MAX,
				   .xsize = -1,
				   .maxlinear = -1,
				   .host = &host,
				   .proc = &g.me};
	start_up(&offer);
	dance(listener, &self);
	close(listener);
	if (cfg.rank == 0)
		measure(argc - 3, argv + 3);
	else
		answer();
	finish();
	impi_client_end(srv.client);
	free(mem);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc >= 5 && strcmp(argv[1], "join") == 0)
		return join(argc - 2, argv + 2);
	if (argc >= 4 && strcmp(argv[1], "listen") == 0) {
		struct sockaddr_in a = address(argv[2], strtoul(argv[3], NULL, 10));
		int listener = tcp_socket(&a);
		if (listen(listener, 4) < 0)
			die("listen");
		g.fd = tcp_accept(listener);
		impi_stream_init(&g.in, DATALEN);
		answer();
		return 0;
	}
	if (argc >= 4 && strcmp(argv[1], "connect") == 0) {
		struct sockaddr_in a = address(argv[2], strtoul(argv[3], NULL, 10));
		g.fd = tcp_connect(&a, NULL);
		impi_stream_init(&g.in, DATALEN);
		measure(argc - 4, argv + 4);
		return 0;
	}
	fprintf(stderr,
		"usage: impipp join SERVER:PORT CLIENT ADDRESS [--budget-ms MS] [BYTES...]\n"
		"       impipp listen ADDRESS PORT\n"
		"       impipp connect ADDRESS PORT [--budget-ms MS] [BYTES...]\n");
	return 2;
}
