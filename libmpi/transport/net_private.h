/* net_private.h - state of the Suci transport, shared by its files:
 *   net.c       packets and lanes, turns
 *   net_ops.c   what Suci tells us
 *   net_setup.c socket, endpoint, relays, closing */
#ifndef LMPI_NET_PRIVATE_H
#define LMPI_NET_PRIVATE_H

#include "transport.h"

#include "driver/suci_udp.h"
#include "suci/lane.h"

/* What a path leads to. */
/* Segments received before their block's first one, over all lanes: see relay_window().
 * Buffers that never held anything cost no memory. */
#define LMPI_HELD_MAX	4096u

#define USE_NONE	UINT32_MAX
#define USE_RELAY	0x80000000u		 /* | index of the relay; else a world rank */
#define USE_OTHER_RELAY (USE_RELAY | 0x7ffffffe) /* one that came to us unasked */

struct relay_state {
	struct lmpi_relay conf;
	struct suci_addr addr;
	char name[32]; /* ip:port */
	uint32_t path;
	uint32_t mtu; /* UDP payload its trunks take; 0 unknown */
	bool up;
	uint64_t ping_ns; /* last time we asked whether it is there */
};

struct lmpi_net_state {
	struct suci_udp *udp;
	struct suci *ep;
	struct suci_lanes *lanes;
	void *ep_mem, *lanes_mem;
	struct relay_state *relay;
	uint32_t nrelays;
	uint32_t paths_max, lanes_max;
	uint32_t *path_use;	   /* [paths_max] */
	uint32_t *lane_rank;	   /* [lanes_max] */
	bool dirty;		   /* handed over since the last send */
	uint64_t rx_mark, tx_mark; /* datagrams, at the last flush */
};
extern struct lmpi_net_state lmpi_net;

extern const struct suci_lane_ops lmpi_net_ops;
/* Open the lane pair to peer over path unless it is there.  false: job failing. */
bool lmpi_net_open_lane(struct lmpi_peer *peer, uint32_t path);
/* "10.0.0.1:4711" */
void lmpi_net_name(const uint8_t ip[4], uint16_t port, char out[32]);

#endif
