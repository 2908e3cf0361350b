/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving past the kernel's IP and UDP: an XDP program on the interface hands the datagrams
 * for our address and port to an AF_XDP socket, everything else goes on to the kernel. */
#ifndef UDP_XDP_H
#define UDP_XDP_H

#include "driver/suci_udp.h"

#include <linux/if_xdp.h>
#include <netinet/in.h>

#define XDP_RING 2048u
/* The socket is looked at after so many turns with frames, so much time without. */
#define XDP_TURNS     64u
#define XDP_SOCKET_NS 4000u
/* So many frames in one turn are load, for so many turns that read the socket. */
#define XDP_LOAD       4u
#define XDP_LOAD_TURNS 32u
/* Descriptors a veth pair holds between its ends; a NIC's ring is rarely shorter. */
#define XDP_DEVICE_RING 256u

struct udp_xdp {
	int fd, map_fd, prog_fd, link_fd, epoll_fd;
	bool on; /* the program hands over */
	bool watching_out;
	uint8_t tries;
	uint32_t turns, load;
	uint64_t socket_ns;
	uint32_t chunk, frames; /* bytes of a frame's place, places */
	uint8_t *umem;
	size_t umem_bytes;
	uint32_t *refs; /* of each frame */
	void *rx_map, *fill_map;
	size_t rx_bytes, fill_bytes;
	uint32_t *rx_prod, *rx_cons, *fill_prod, *fill_flags;
	struct xdp_desc *rx_desc;
	uint64_t *fill_addr;
	uint32_t rx_at, fill_at;
};

/* xdp_prog.c: the program for one address and port on the interface, its map of sockets still
 * empty.  0, or -errno and why. */
int suci_udp_xdp_attach(struct udp_xdp *x, unsigned ifindex, const struct suci_addr *at,
			const char **why);
/* From here on the program hands frames to x->fd; 0 or -errno. */
int suci_udp_xdp_start(struct udp_xdp *x);

#endif
