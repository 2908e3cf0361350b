/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP sockets at addresses of either family. */
#include "boot.h"

#include "driver/udp_name.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static socklen_t
name_socket(const struct suci_addr *at, uint16_t port, union udp_name *name)
{
	struct suci_addr a = *at;

	a.port = port;
	return suci_udp_name(&a, at->family == 6 ? AF_INET6 : AF_INET, name);
}

static int
open_stream(const union udp_name *name)
{
	return socket(name->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int
lmpi_tcp_listen(const struct suci_addr *at, int backlog, uint16_t *port)
{
	union udp_name name;
	socklen_t len = name_socket(at, 0, &name);
	int fd = open_stream(&name);

	if (fd < 0)
		return -1;
	if (bind(fd, &name.any, len) < 0 || listen(fd, backlog) < 0 ||
	    getsockname(fd, &name.any, &len) < 0) {
		int err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	*port = suci_udp_from(&name).port;
	return fd;
}

int
lmpi_tcp_begin(const struct suci_addr *at, uint16_t port, const struct suci_addr *own, int *err)
{
	union udp_name to, from;
	socklen_t len = name_socket(at, port, &to);
	int fd = open_stream(&to), r = 0;

	*err = errno;
	if (fd < 0)
		return -1;
	if (own && own->family == at->family) {
		socklen_t n = name_socket(own, 0, &from);
		r = bind(fd, &from.any, n);
	}
	if (r == 0)
		r = connect(fd, &to.any, len);
	*err = r < 0 ? errno : 0;
	if (*err == 0 || *err == EINPROGRESS)
		return fd;
	close(fd);
	return -1;
}
