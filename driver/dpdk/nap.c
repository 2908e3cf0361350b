/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "driver/idle.h"
#include "driver/nap.h"
#include "nap_private.h"

/* A packet socket with a ring of version 2 on that interface: of the driver.  Nobody else in
 * the process makes such. */
static bool
is_ring(int fd, unsigned ifindex)
{
	struct sockaddr_ll at = {0};
	socklen_t len = sizeof at;
	int version = 0;
	socklen_t version_len = sizeof version;
	return getsockname(fd, (struct sockaddr *)&at, &len) == 0 && at.sll_family == AF_PACKET &&
	       at.sll_ifindex == (int)ifindex &&
	       getsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, &version_len) == 0 &&
	       version == TPACKET_V2;
}

static int
by_nap_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The driver keeps its sockets to itself, and makes them queue by queue: the lowest is that of
 * queue 0. */
void
rd_port_find_wakes(struct rd_port *p)
{
	static const char key[] = "iface=";
	char name[IF_NAMESIZE] = "";
	const char *at = strstr(p->device, key);
	uint32_t n = 0;
	p->n_wakes = 0;
	if (strcmp(p->driver, "net_af_packet") != 0 || !at)
		return;
	at += sizeof key - 1;
	size_t len = strcspn(at, ",");
	if (len >= sizeof name)
		return;
	memcpy(name, at, len);
	unsigned ifindex = if_nametoindex(name);
	DIR *d = opendir("/proc/self/fd");
	for (const struct dirent *e; d && ifindex && (e = readdir(d)) != NULL;) {
		int fd = (int)strtol(e->d_name, NULL, 10);
		if (*e->d_name == '.' || n == RD_PORT_WAKES_MAX || !is_ring(fd, ifindex))
			continue;
		p->wake_fd[n++] = fd;
	}
	if (d)
		closedir(d);
	qsort(p->wake_fd, n, sizeof *p->wake_fd, by_nap_number);
	p->n_wakes = n >= p->n_rxq ? n : 0;
}

void
rd_nap_init(struct rd_nap *n, int fd)
{
	memset(n, 0, sizeof *n);
	n->fd[n->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

void
rd_nap_add(struct rd_nap *n, const struct rd_port *p, uint16_t rxq)
{
	if (rxq >= p->n_wakes || n->n > RD_NAP_FDS) {
		n->deaf = true;
		return;
	}
	n->fd[n->n++] = (struct pollfd){.fd = p->wake_fd[rxq], .events = POLLIN};
}

uint32_t
rd_nap_max_ns(const struct rd_nap *n)
{
	return n->deaf ? RD_IDLE_SLEEP_MAX_NS : RD_NAP_WOKEN_MAX_NS;
}

void
rd_nap(struct rd_nap *n, uint32_t ns)
{
	struct timespec t = {.tv_nsec = (long)ns};
	bool listens = ns > RD_IDLE_SLEEP_MAX_NS && !n->deaf;
	if (ppoll(n->fd, listens ? n->n : 1, &t, NULL) <= 0 || !listens)
		return;
	/* An interface that went down says so once, and must not keep us awake. */
	for (uint32_t i = 1; i < n->n; i++) {
		int err;
		socklen_t len = sizeof err;
		if (n->fd[i].revents & POLLERR)
			(void)getsockopt(n->fd[i].fd, SOL_SOCKET, SO_ERROR, &err, &len);
	}
}
