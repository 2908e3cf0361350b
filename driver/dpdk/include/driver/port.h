/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/port.h - opens an Ethernet port by what an administrator calls it, reads
 * what the driver really offers, and closes it again.
 *
 * A device is named by
 *   an interface      "eth1", "if:eth1"    -> net_af_packet or net_af_xdp vdev
 *   a vdev string     "net_memif0,role=server,..."     used as it is
 *   a PCI address     "0000:3b:00.0" or "3b:00.0"      must be in pci_allow of EAL
 *
 * Threads  open and close by the control thread; rx/tx bursts by the owner of
 *          the queue, with rte_eth_rx_burst/tx_burst on port->id.
 * Errors   0 or a negative errno and one line in err; a failed open leaves no
 *          port behind. */
#ifndef DRIVER_PORT_H
#define DRIVER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_DEV_NAME_MAX	  256
#define RD_PORT_WAKES_MAX 16

struct rte_mbuf;
struct rte_mempool;

enum rd_pmd { RD_PMD_AF_PACKET, RD_PMD_AF_XDP };

/* "af_packet" or "af_xdp" -> *out; -EINVAL otherwise. */
int rd_pmd_parse(const char *name, enum rd_pmd *out);

/* True if device looks like a PCI address (for pci_allow). */
bool rd_dev_is_pci(const char *device);

/* How datagrams come into the queue of their UDP port. */
enum rd_sort {
	RD_SORT_NONE, /* they do not: as the driver likes */
	RD_SORT_FLOW, /* by rte_flow rules, those to addresses in rd_port.sort_ruled */
	RD_SORT_RSS,  /* by RSS with a key that leaves of all that is hashed the port */
};

/* Datagrams for one address of a port, in one VLAN (0: untagged). */
#define RD_SORT_MAX	  4
#define RD_SORT_PORTS_MAX 16
struct rd_sort_to {
	bool six;
	uint32_t ipv4;	  /* host order */
	uint8_t ipv6[16]; /* with six */
	uint16_t port, vlan;
};

struct rd_port_conf {
	const char *device; /* see above */
	enum rd_pmd pmd;    /* for devices given as an interface */
	uint32_t index;	    /* unique number of the port in this process */
	uint16_t mtu;	    /* L2 payload: 1500, 9000 */
	uint16_t n_rxq, n_txq;
	bool fewer_queues;	    /* take what the device has, if it has fewer */
	uint16_t n_rxd, n_txd;	    /* wished ring sizes; adjusted to the driver's limits */
	struct rte_mempool *pool;   /* rx buffers; pool.h says how large they must be */
	struct rte_mempool **pools; /* one per rx queue; NULL: pool for all */
	/* UDP port sort[k].port + i of each of these nsort addresses to queue i modulo queues; 1 to
	 * RD_SORT_PORTS_MAX ports, 0: not wanted.  What could be had is in rd_port.sort; other
	 * frames come to any queue.  RSS knows the ports of sort[0] alone. */
	struct rd_sort_to sort[RD_SORT_MAX];
	uint16_t nsort, sort_ports;
	bool vlans;   /* tagged frames come and go, too */
	bool promisc; /* all frames, not only ours */
	bool allmulti;
	bool rx_intr;  /* receive interrupts, where the driver has them: see nap.h */
	bool rx_cksum; /* the owner of the queues reads what frames say of their checksums */
};

/* Turn c->device into what EAL probes.  index makes the vdev name unique in this
 * process ("net_af_packet3").  For af_packet the ring geometry follows mtu:
 * its default frame of 2048 bytes silently drops anything longer.
 * -ENODEV if there is no such interface in this network namespace, -ENETDOWN if it
 * is down, -EMSGSIZE if its MTU is below c->mtu, -ENAMETOOLONG if out is short. */
int rd_dev_string(const struct rd_port_conf *c, char *out, size_t out_max, char *err,
		  size_t err_max);

struct rd_port {
	uint16_t id; /* DPDK port id */
	bool open;
	uint16_t mtu;
	uint16_t n_rxq, n_txq;
	uint16_t n_rxd, n_txd; /* what the driver made of it */
	uint8_t mac[6];
	bool tx_multi_seg; /* chained mbufs may be sent (negotiated) */
	bool tx_cksum;	   /* IPv4 + UDP checksum offload (negotiated) */
	/* Checksums that it looks at as frames come, and marks mbufs with (RTE_MBUF_F_RX_IP_CKSUM_*
	 * and L4_CKSUM_*), as wished and offered.  Frames of which L4_CKSUM_NONE is said may be of
	 * the same machine, and incomplete. */
	bool rx_ip_cksum, rx_udp_cksum;
	enum rd_sort sort;
	uint32_t sort_ruled;	  /* bit k: there are flow rules for sort[k] */
	bool sort_rss, sort_rss6; /* what has no rules is sorted by RSS, IPv6, too */
	/* Why the device takes no flow rules for some address, the first such, in its driver's
	 * words; "" if it takes them for all or none is wanted. */
	char sort_refused[192];
	int socket;		      /* NUMA node, 0 if unknown */
	char device[RD_DEV_NAME_MAX]; /* as probed */
	char name[64];		      /* EAL's name */
	char driver[32];
	/* Of queues 0 .. n_wakes - 1: poll() shows them readable while a frame waits in the queue.
	 * They are the driver's.  None but af_packet has some. */
	int wake_fd[RD_PORT_WAKES_MAX];
	uint32_t n_wakes;
	bool rx_intr;	/* asked for, and the driver has them */
	bool link_intr; /* the driver keeps the state of the link by interrupts: a look is free */
};

/* What ends a long nap at this port (nap.h): "interrupts", "sockets" or "nothing". */
const char *rd_port_woken_by(const struct rd_port *p);

int rd_port_open(struct rd_port *p, const struct rd_port_conf *c, char *err, size_t err_max);

/* Stop, close, detach; accepts a port that was never opened. */
void rd_port_close(struct rd_port *p);

/* At the end of the process: closes what a bond was made of, and whatever else nobody opened here.
 * A bond that is closed leaves its parts open, with buffers in their rings. */
void rd_ports_end(void);

/* Its driver says that it has to be reset (a VF whose PF was), or it hangs: a PCI device is reset
 * and set up anew, any other one and one that takes no reset is closed and opened again.  c: of
 * rd_port_open().  Nobody may use the port meanwhile, and it may take seconds.  All of *p may be
 * another then, its id, too.  On an error it is closed; a further call opens it. */
int rd_port_reset(struct rd_port *p, const struct rd_port_conf *c, char *err, size_t err_max);

/* Link up?  Reads the driver's last state, does not wait. */
bool rd_port_link_up(const struct rd_port *p);

#endif
