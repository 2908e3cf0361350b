/* SPDX-License-Identifier: BSD-2-Clause */
#include "sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in
sock_address_of(uint32_t ip, uint32_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(ip),
	};
}

static struct sockaddr_in6
sock_address6_of(const uint8_t ip[16], uint32_t port)
{
	struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	memcpy(sin6.sin6_addr.s6_addr, ip, 16);
	return sin6;
}

static int
bound_socket(const char *device, const void *address, socklen_t len)
{
	sa_family_t family;
	memcpy(&family, (const char *)address + offsetof(struct sockaddr, sa_family),
	       sizeof family);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int one = 1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    (device &&
	     setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device))) ||
	    bind(fd, address, len)) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* A flood of connections fills a short queue, and the kernel drops the SYN of who comes then: it
 * is sent again after 1 s and 3 s.  Behind so many he waits less than that. */
#define BACKLOG 1024

static int
listen_sock(const char *device, const void *address, socklen_t len)
{
	int fd = bound_socket(device, address, len);
	if (fd < 0)
		return fd;
	if (listen(fd, BACKLOG)) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
rd_sock_listen(const char *device, uint32_t ip, uint32_t port)
{
	struct sockaddr_in sin = sock_address_of(ip, port);
	return listen_sock(device, &sin, sizeof sin);
}

int
rd_sock_listen6(const char *device, const uint8_t ip[16], uint32_t port)
{
	struct sockaddr_in6 sin6 = sock_address6_of(ip, port);
	return listen_sock(device, &sin6, sizeof sin6);
}

/* Both of the same family. */
static int
connect_between(const char *device, const void *from, const void *to, socklen_t len, bool impatient)
{
	int fd = bound_socket(device, from, len);
	if (fd < 0)
		return fd;
	rd_sock_tune(fd, impatient);
	if (connect(fd, to, len) && errno != EINPROGRESS) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
rd_sock_connect(const char *device, uint32_t from_ip, uint32_t ip, uint32_t port, bool impatient)
{
	struct sockaddr_in from = sock_address_of(from_ip, 0), to = sock_address_of(ip, port);
	return connect_between(device, &from, &to, sizeof to, impatient);
}

int
rd_sock_connect6(const char *device, const uint8_t from_ip[16], const uint8_t ip[16], uint32_t port,
		 bool impatient)
{
	struct sockaddr_in6 from = sock_address6_of(from_ip, 0), to = sock_address6_of(ip, port);
	return connect_between(device, &from, &to, sizeof to, impatient);
}

int
rd_sock_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof err;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	return -err;
}

void
rd_sock_tune(int fd, bool impatient)
{
	int one = 1, idle_s = 2, interval_s = 1, probes = 6, timeout_ms = 8000;
	/* Best effort: without them a dead peer is noticed later. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	if (impatient)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

void
rd_sock_quick_ack(int fd)
{
	int one = 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
}

bool
rd_sock_dead(int fd, uint32_t silent_ms)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	/* Both count what was sent again or asked and has had no answer yet. */
	return (info.tcpi_retransmits > 1 || info.tcpi_probes > 3) &&
	       info.tcpi_last_ack_recv > silent_ms;
}
