/* SPDX-License-Identifier: BSD-2-Clause */
#include "child.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "impi/client.h"

#define TELL_S 2u

static uint64_t
gone_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* host of HOST:PORT without the brackets of IPv6, both in copy. */
static void
split_server(char *copy, char **host, char **port)
{
	*port = strrchr(copy, ':');
	*(*port)++ = '\0';
	size_t len = strlen(copy);
	*host = copy;
	if (len >= 2 && copy[0] == '[' && copy[len - 1] == ']') {
		copy[len - 1] = '\0';
		*host = copy + 1;
	}
}

static int
dial_server(const char *server)
{
	struct addrinfo hint = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
	char *copy = strdup(server), *host, *port;
	int fd = -1;

	if (!copy)
		return -1;
	split_server(copy, &host, &port);
	int e = getaddrinfo(host, port, &hint, &list);
	free(copy);
	if (e)
		return -1;
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static bool
send_queued(int fd, struct impi_client *c)
{
	uint8_t buf[256];
	size_t n;

	while ((n = impi_client_tx(c, buf, sizeof buf)) > 0)
		for (size_t at = 0; at < n;) {
			ssize_t r = send(fd, buf + at, n - at, MSG_NOSIGNAL);
			if (r <= 0)
				return false;
			at += (size_t)r;
		}
	return true;
}

static void
talk_gone(int fd, struct impi_client *c, uint64_t began_ns)
{
	struct impi_client_event ev;
	uint8_t buf[256];
	ssize_t n;

	/* Until the server closes: what it has not read would be lost with a reset. */
	while (send_queued(fd, c) && (n = recv(fd, buf, sizeof buf, 0)) > 0) {
		for (size_t at = 0; at < (size_t)n;)
			at += impi_client_rx(c, buf + at, (size_t)n - at, &ev);
		(void)impi_client_say_gone(c, gone_clock_ns() - began_ns);
	}
}

void
gone_tell(const char *server, const struct impi_auth *auth, uint32_t rank, uint64_t began_ns,
	  const char *why)
{
	/* A process of its own: names that are looked up, and connections, wait as they like. */
	pid_t pid = fork();
	if (pid != 0) {
		if (pid > 0)
			(void)waitpid(pid, NULL, 0);
		return;
	}
	alarm(TELL_S);
	const struct impi_limits limits = {.hosts_max = 1, .procs_max = 1};
	struct impi_client_config cfg = {.auth = *auth, .rank = rank, .gone = why};
	size_t n = impi_client_footprint(&limits, &cfg);
	void *mem = n ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
	struct impi_client *c = mem ? impi_client_new(mem, &limits, &cfg) : NULL;
	int fd = c ? dial_server(server) : -1;
	if (fd >= 0)
		talk_gone(fd, c, began_ns);
	impi_client_end(c);
	_exit(0);
}
