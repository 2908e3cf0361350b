/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_spinlock.h>

#include "driver/idle.h"
#include "driver/nap.h"
#include "nap_internal.h"

/* Drivers change registers that all queues of a port share. */
static rte_spinlock_t interrupt_locks[RTE_MAX_ETHPORTS];

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

static int
switch_interrupt(uint16_t port, uint16_t queue, bool on)
{
	rte_spinlock_lock(&interrupt_locks[port]);
	int r = on ? rte_eth_dev_rx_intr_enable(port, queue)
		   : rte_eth_dev_rx_intr_disable(port, queue);
	rte_spinlock_unlock(&interrupt_locks[port]);
	return r;
}

/* They were asked for, and drivers that have none take that silently.  net_tap has them always on,
 * and no switch; of the others only those with a switch are asked for descriptors, for DPDK logs
 * each failure. */
void
rd_port_find_interrupts(struct rd_port *p)
{
	int r = switch_interrupt(p->id, 0, true);
	p->rx_intr = r == 0 || (r == -ENOTSUP && strcmp(p->driver, "net_tap") == 0);
	if (r == 0)
		(void)switch_interrupt(p->id, 0, false);
	for (uint16_t q = 0; p->rx_intr && q < p->n_rxq; q++)
		p->rx_intr = rte_eth_dev_rx_intr_ctl_q_get_fd(p->id, q) >= 0;
}

const char *
rd_port_woken_by(const struct rd_port *p)
{
	return p->rx_intr ? "interrupts" : p->n_wakes ? "sockets" : "nothing";
}

static void
switch_interrupts(struct rd_nap *n, bool on)
{
	for (uint32_t i = 0; i < n->n_intr; i++)
		(void)switch_interrupt(n->intr[i].port, n->intr[i].queue, on);
	n->armed = on;
}

void
rd_nap_init(struct rd_nap *n, int fd)
{
	*n = (struct rd_nap){.woken = n->woken};
	n->fd[n->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

void
rd_nap_fini(struct rd_nap *n)
{
	switch_interrupts(n, false);
	for (uint32_t i = 0; i < n->n_intr; i++)
		(void)rte_eth_dev_rx_intr_ctl_q(n->intr[i].port, n->intr[i].queue, n->epfd,
						RTE_INTR_EVENT_DEL, NULL);
	if (n->n_intr)
		close(n->epfd);
	*n = (struct rd_nap){.woken = n->woken};
}

/* False: it has none after all. */
static bool
add_interrupt(struct rd_nap *n, uint16_t port, uint16_t queue)
{
	int epfd = n->n_intr ? n->epfd : epoll_create1(EPOLL_CLOEXEC);
	if (epfd < 0)
		return false;
	if (n->n_intr == RD_NAP_FDS ||
	    rte_eth_dev_rx_intr_ctl_q(port, queue, epfd, RTE_INTR_EVENT_ADD, NULL) != 0) {
		if (!n->n_intr)
			close(epfd);
		return false;
	}
	if (!n->n_intr)
		n->fd[n->n++] = (struct pollfd){.fd = epfd, .events = POLLIN};
	n->epfd = epfd;
	n->intr[n->n_intr].port = port;
	n->intr[n->n_intr++].queue = queue;
	return true;
}

void
rd_nap_add(struct rd_nap *n, const struct rd_port *p, uint16_t rxq)
{
	if (n->n > RD_NAP_FDS)
		n->deaf = true;
	else if (p->rx_intr)
		n->deaf |= !add_interrupt(n, p->id, rxq);
	else if (rxq >= p->n_wakes)
		n->deaf = true;
	else
		n->fd[n->n++] = (struct pollfd){.fd = p->wake_fd[rxq], .events = POLLIN};
}

uint32_t
rd_nap_max_ns(const struct rd_nap *n)
{
	return n->deaf ? RD_IDLE_SLEEP_MAX_NS : RD_NAP_WOKEN_MAX_NS;
}

/* What has happened has been seen. */
static void
take_interrupts(struct rd_nap *n)
{
	struct rte_epoll_event seen[RD_NAP_FDS];
	(void)rte_epoll_wait(n->epfd, seen, (int)n->n_intr, 0);
	switch_interrupts(n, false);
}

void
rd_nap(struct rd_nap *n, uint32_t ns)
{
	struct timespec t = {.tv_nsec = (long)ns};
	bool listens = ns > RD_IDLE_SLEEP_MAX_NS && !n->deaf;
	if (listens && n->n_intr && !n->armed) {
		switch_interrupts(n, true);
		return;
	}
	int r = ppoll(n->fd, listens ? n->n : 1, &t, NULL);
	n->woken += listens && r > 0;
	if (listens && n->n_intr)
		take_interrupts(n);
	if (r <= 0 || !listens)
		return;
	/* An interface that went down says so once, and must not keep us awake. */
	for (uint32_t i = 1; i < n->n; i++) {
		int err;
		socklen_t len = sizeof err;
		if (n->fd[i].revents & POLLERR)
			(void)getsockopt(n->fd[i].fd, SOL_SOCKET, SO_ERROR, &err, &len);
	}
}
