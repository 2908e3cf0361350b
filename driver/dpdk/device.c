/* SPDX-License-Identifier: BSD-2-Clause */
/* Device names: what the administrator wrote -> what EAL probes. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_pci.h>

#include "driver/link.h"
#include "driver/port.h"

int
rd_pmd_parse(const char *name, enum rd_pmd *out)
{
	if (strcmp(name, "af_packet") == 0)
		*out = RD_PMD_AF_PACKET;
	else if (strcmp(name, "af_xdp") == 0)
		*out = RD_PMD_AF_XDP;
	else
		return -EINVAL;
	return 0;
}

bool
rd_dev_is_pci(const char *device)
{
	struct rte_pci_addr a;
	return rte_pci_addr_parse(device, &a) == 0;
}

/* The kernel interface is there, up, and takes frames of this size. */
static int
check_device_interface(const char *ifname, uint16_t mtu, char *err, size_t err_max)
{
	struct ifreq r = {0};
	struct rd_link_mtu has;
	int result = 0;

	if (strlen(ifname) >= sizeof r.ifr_name || if_nametoindex(ifname) == 0) {
		snprintf(err, err_max,
			 "%s: no such interface in this network namespace, and neither a vdev "
			 "string (net_...) nor a PCI address",
			 ifname);
		return -ENODEV;
	}
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		snprintf(err, err_max, "%s: socket: %s", ifname, strerror(errno));
		return -errno;
	}
	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", ifname);
	if (ioctl(fd, SIOCGIFFLAGS, &r) == 0 && !(r.ifr_flags & IFF_UP)) {
		snprintf(err, err_max, "%s is down; fix: ip link set %s up", ifname, ifname);
		result = -ENETDOWN;
	} else if (rd_link_mtu(ifname, &has) &&
		   rd_link_mtu_lacks(ifname, &has, mtu, err, err_max)) {
		result = -EMSGSIZE;
	}
	close(fd);
	return result;
}

/* Both devices make as many queues one way as the other. */
static unsigned
queue_pairs(const struct rd_port_conf *c)
{
	return c->n_rxq > c->n_txq ? c->n_rxq : c->n_txq;
}

/* A socket for each queue; more than the interface has cannot be bound. */
static unsigned
xdp_queues(const struct rd_port_conf *c, const char *ifname)
{
	unsigned want = queue_pairs(c), n = 0;
	char path[96];
	while (n < want) {
		snprintf(path, sizeof path, "/sys/class/net/%s/queues/rx-%u", ifname, n);
		if (access(path, F_OK) != 0)
			break;
		n++;
	}
	return c->fewer_queues && n > 0 ? n : want;
}

/* Ring frames hold the kernel's header and the whole frame with VLAN tag.  A block
 * is a whole number of pages and of frames. */
static int
af_packet_string(const struct rd_port_conf *c, const char *ifname, char *out, size_t out_max)
{
	unsigned framesz, blocksz;
	if (c->mtu <= 1900) {
		framesz = 2048;
		blocksz = 8192;
	} else if (c->mtu <= 9100) {
		framesz = 9216;
		blocksz = 36864;
	} else {
		framesz = 16384;
		blocksz = 16384;
	}
	return snprintf(out, out_max,
			"net_af_packet%u,iface=%s,qpairs=%u,framesz=%u,blocksz=%u,framecnt=1024",
			c->index, ifname, queue_pairs(c), framesz, blocksz);
}

int
rd_dev_string(const struct rd_port_conf *c, char *out, size_t out_max, char *err, size_t err_max)
{
	const char *device = c->device;
	int n;

	if (strncmp(device, "net_", 4) == 0 || strncmp(device, "eth_", 4) == 0) {
		n = snprintf(out, out_max, "%s", device);
	} else if (rd_dev_is_pci(device)) {
		struct rte_pci_addr a;
		(void)rte_pci_addr_parse(device, &a);
		n = snprintf(out, out_max, PCI_PRI_FMT, a.domain, a.bus, a.devid, a.function);
	} else {
		if (strncmp(device, "if:", 3) == 0)
			device += 3;
		int r = check_device_interface(device, c->mtu, err, err_max);
		if (r < 0)
			return r;
		if (c->pmd == RD_PMD_AF_XDP)
			n = snprintf(out, out_max,
				     "net_af_xdp%u,iface=%s,start_queue=0,queue_count=%u", c->index,
				     device, xdp_queues(c, device));
		else
			n = af_packet_string(c, device, out, out_max);
	}
	if (n < 0 || (size_t)n >= out_max) {
		snprintf(err, err_max, "%.64s...: device name longer than %zu bytes", device,
			 out_max - 1);
		return -ENAMETOOLONG;
	}
	return 0;
}
