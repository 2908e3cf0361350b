/* TCP over the TAPs.  Sockets are bound to the TAP of their leg, so that neither
 * the machine's own routes nor equal private subnets elsewhere matter. */
#include "control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int
bound_socket(struct rd_control *c, int leg, uint32_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int one = 1;
	const char *tap = c->tap_name[leg];
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(c->conf->port[leg].address),
	};
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, tap, (socklen_t)strlen(tap)) ||
	    bind(fd, (struct sockaddr *)&sin, sizeof sin)) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
rd_sock_listen(struct rd_control *c, int leg, uint32_t port)
{
	int fd = bound_socket(c, leg, port);
	if (fd < 0)
		return fd;
	if (listen(fd, 64)) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
rd_sock_connect(struct rd_control *c, int leg, uint32_t ip, uint32_t port)
{
	int fd = bound_socket(c, leg, 0);
	if (fd < 0)
		return fd;
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(ip),
	};
	rd_sock_tune(fd);
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
rd_sock_tune(int fd)
{
	int one = 1, idle_s = 2, interval_s = 1, probes = 6, timeout_ms = 8000;
	/* Best effort: without them a dead peer is noticed later. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}
