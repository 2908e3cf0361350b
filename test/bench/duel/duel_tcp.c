/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel TCP: NODELAY, buffers of 8 MB or whatever the administrator allows if that is
 * less than the kernel's own tuning reaches. */
#include "duel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

const char duel_name[] = "tcp";
static int fd;

void
duel_open(int server, const char *ip, size_t most)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(duel_port)};
	int one = 1;
	(void)most;
	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		duel_die(ip);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (server) {
		if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 1))
			duel_die("bind");
		duel_ready();
		int c = accept(fd, NULL, NULL);
		if (c < 0)
			duel_die("accept");
		close(fd);
		fd = c;
	} else {
		for (int i = 0; connect(fd, (struct sockaddr *)&a, sizeof a); i++) {
			if (i == 200)
				duel_die("connect");
			close(fd);
			usleep(20000);
			fd = socket(AF_INET, SOCK_STREAM, 0);
		}
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void
duel_send(const void *bytes, size_t n)
{
	const char *p = bytes;
	uint64_t since = 0;
	while (n) {
		ssize_t r = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r > 0) {
			p += r;
			n -= (size_t)r;
			since = 0;
		} else if (errno == EAGAIN) {
			duel_nap(fd, POLLOUT, &since, -1);
		} else {
			duel_die("send");
		}
	}
}

const void *
duel_recv(void *buf, size_t n)
{
	uint64_t since = 0;
	for (size_t have = 0; have < n;) {
		ssize_t r = recv(fd, (char *)buf + have, n - have, MSG_DONTWAIT);
		if (r > 0) {
			have += (size_t)r;
			since = 0;
		} else if (r < 0 && errno == EAGAIN) {
			duel_nap(fd, POLLIN, &since, -1);
		} else {
			duel_die("recv");
		}
	}
	return buf;
}

void
duel_idle(int until)
{
	struct pollfd p = {until, POLLIN, 0};

	(void)poll(&p, 1, -1);
}

void
duel_close(void)
{
	close(fd);
}
