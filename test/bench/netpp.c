/* SPDX-License-Identifier: BSD-2-Clause */
/* netpp - ping-pong over plain kernel sockets: the peer our benches compare with.
 *
 *   netpp server tcp|udp ADDR PORT
 *   netpp client tcp|udp ADDR PORT --busy|--block --budget-ms MS BYTES...
 *   netpp client tcp|udp ADDR PORT --busy|--block --turns BYTES
 *
 * Bounces messages of each size (UDP: only sizes that fit a datagram) and
 * prints one JSON object with the median and minimum half round trip.  --busy
 * polls without blocking, as MPI libraries do; --block sleeps in the kernel.
 * --turns: prints "ready", then an object for each line "MS" of standard input.
 * TCP_NODELAY is set; socket buffers are left to the kernel's own tuning. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX  (16u << 20)
#define ROUNDS_MAX 20000

static uint8_t buf[BYTES_MAX];

static _Noreturn void
die(const char *what)
{
	perror(what);
	exit(1);
}

static double
now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sockaddr_in
address(const char *ip, const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	a.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1) {
		fprintf(stderr, "netpp: '%s' is not an IPv4 address\n", ip);
		exit(2);
	}
	return a;
}

static bool
again(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* A whole TCP message or one datagram; false at end of stream. */
static bool
get(int fd, bool tcp, size_t n, int flags)
{
	for (size_t have = 0; have < n || !tcp;) {
		ssize_t r = recv(fd, buf + have, tcp ? n - have : BYTES_MAX, flags);
		if (r < 0 && again())
			continue;
		if (r < 0)
			die("recv");
		if (!tcp)
			return true;
		if (r == 0)
			return false;
		have += (size_t)r;
	}
	return true;
}

static void
put(int fd, size_t n, int flags)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = send(fd, buf + done, n - done, flags | MSG_NOSIGNAL);
		if (r < 0 && again())
			continue;
		if (r < 0)
			die("send");
		done += (size_t)r;
	}
}

/* Sizes come as 8-byte announcements: "now messages of n bytes, k of them". */
struct announce {
	uint32_t bytes, rounds;
	uint32_t busy, pad;
};

static int
serve(bool tcp, const struct sockaddr_in *a)
{
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0), one = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)a, sizeof *a))
		die("bind");
	if (tcp) {
		if (listen(fd, 1))
			die("listen");
		int c = accept(fd, NULL, NULL);
		if (c < 0)
			die("accept");
		close(fd);
		fd = c;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	} else {
		struct sockaddr_in from;
		socklen_t len = sizeof from;
		if (recvfrom(fd, buf, sizeof buf, MSG_PEEK, (struct sockaddr *)&from, &len) < 0)
			die("recvfrom");
		if (connect(fd, (struct sockaddr *)&from, sizeof from))
			die("connect");
	}
	for (;;) {
		struct announce an;
		if (!get(fd, tcp, sizeof an, 0))
			return 0;
		memcpy(&an, buf, sizeof an);
		if (!an.rounds)
			return 0;
		if (an.bytes > BYTES_MAX)
			return 1;
		put(fd, 1, 0); /* ready */
		int flags = an.busy ? MSG_DONTWAIT : 0;
		for (uint32_t i = 0; i < an.rounds; i++) {
			if (!get(fd, tcp, an.bytes, flags))
				return 1;
			put(fd, an.bytes, flags);
		}
	}
}

static int
by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static void
say(int fd, bool tcp, uint32_t bytes, uint32_t rounds, bool busy)
{
	struct announce an = {bytes, rounds, busy, 0};
	memcpy(buf, &an, sizeof an);
	put(fd, sizeof an, 0);
	if (rounds)
		get(fd, tcp, 1, 0);
}

static double
bounce(int fd, bool tcp, size_t n, int flags)
{
	double t0 = now_s();
	put(fd, n, flags);
	get(fd, tcp, n, flags);
	return (now_s() - t0) / 2;
}

static void
measure(int fd, bool tcp, bool busy, size_t n, double budget_s)
{
	static double half[ROUNDS_MAX];
	int flags = busy ? MSG_DONTWAIT : 0;
	say(fd, tcp, (uint32_t)n, 4, busy);
	double warm = 0;
	for (int i = 0; i < 4; i++) /* the first ones open TCP's window */
		warm = bounce(fd, tcp, n, flags);
	double fit = budget_s / (2 * (warm > 1e-7 ? warm : 1e-7));
	uint32_t rounds = fit > ROUNDS_MAX ? ROUNDS_MAX : fit < 5 ? 5 : (uint32_t)fit;
	say(fd, tcp, (uint32_t)n, rounds, busy);
	for (uint32_t i = 0; i < rounds; i++)
		half[i] = bounce(fd, tcp, n, flags) * 1e6;
	qsort(half, rounds, sizeof *half, by_value);
	printf("{\"bytes\": %zu, \"rounds\": %u, \"half_us_median\": %.3f, \"half_us_min\": %.3f, "
	       "\"mb_per_s\": %.3f}",
	       n, rounds, half[rounds / 2], half[0], (double)n / half[rounds / 2]);
}

static void
turns(int fd, bool tcp, bool busy, size_t n)
{
	char line[32];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		measure(fd, tcp, busy, n, strtod(line, NULL) / 1e3);
		puts("");
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	if (argc < 5 || (strcmp(argv[2], "tcp") && strcmp(argv[2], "udp"))) {
		fprintf(stderr, "usage: netpp server|client tcp|udp ADDR PORT [--busy|--block] "
				"[--budget-ms MS] BYTES...\n");
		return 2;
	}
	bool tcp = !strcmp(argv[2], "tcp"), busy = true;
	struct sockaddr_in a = address(argv[3], argv[4]);
	if (!strcmp(argv[1], "server"))
		return serve(tcp, &a);
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0), one = 1;
	for (int i = 0; connect(fd, (struct sockaddr *)&a, sizeof a); i++) {
		if (i == 100)
			die("connect");
		usleep(20000);
		close(fd);
		fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
	}
	if (tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	double budget_s = 1;
	if (argc == 8 && !strcmp(argv[6], "--turns")) {
		turns(fd, tcp, !strcmp(argv[5], "--busy"), strtoull(argv[7], NULL, 10));
		say(fd, tcp, 0, 0, busy);
		return 0;
	}
	bool first = true;
	printf("{\"peer\": \"%s\", \"rows\": [", argv[2]);
	for (int i = 5; i < argc; i++) {
		if (!strcmp(argv[i], "--busy"))
			busy = true;
		else if (!strcmp(argv[i], "--block"))
			busy = false;
		else if (!strcmp(argv[i], "--budget-ms") && i + 1 < argc)
			budget_s = strtod(argv[++i], NULL) / 1e3;
		else {
			printf("%s", first ? "" : ", ");
			first = false;
			measure(fd, tcp, busy, strtoull(argv[i], NULL, 10), budget_s);
		}
	}
	printf("]}\n");
	say(fd, tcp, 0, 0, busy);
	return 0;
}
