/* SPDX-License-Identifier: BSD-2-Clause */
#include "sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

static int
bound_socket(const char *device, uint32_t ip, uint32_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int one = 1;
	struct sockaddr_in sin = sock_address_of(ip, port);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    (device &&
	     setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device))) ||
	    bind(fd, (struct sockaddr *)&sin, sizeof sin)) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* A flood of connections fills a short queue, and the kernel drops the SYN of who comes then: it
 * is sent again after 1 s and 3 s.  Behind so many he waits less than that. */
#define BACKLOG 1024

int
rd_sock_listen(const char *device, uint32_t ip, uint32_t port)
{
	int fd = bound_socket(device, ip, port);
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
rd_sock_connect(const char *device, uint32_t from_ip, uint32_t ip, uint32_t port, bool impatient)
{
	int fd = bound_socket(device, from_ip, 0);
	if (fd < 0)
		return fd;
	struct sockaddr_in sin = sock_address_of(ip, port);
	rd_sock_tune(fd, impatient);
	if (connect(fd, (struct sockaddr *)&sin, sizeof sin) && errno != EINPROGRESS) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
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
