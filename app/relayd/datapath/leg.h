/* SPDX-License-Identifier: BSD-2-Clause */
/* leg.h - one leg of the relay on the worker: a DPDK port with its address,
 * its neighbours and its transmit burst.
 *
 * Frames leave in bursts: rd_leg_push collects, rd_leg_flush hands over.  What
 * the driver refuses is offered again a bounded number of times, then dropped
 * and counted.  Frames whose neighbour is unknown wait in the neighbour table.
 *
 * Threads  the worker, except where a field says otherwise. */
#ifndef RD_LEG_H
#define RD_LEG_H

#include "driver/port.h"
#include "rd/hops.h"
#include "rd/neigh.h"
#include "rd/packet.h"
#include "suci/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

/* A turn of the worker costs about a microsecond besides what it does for each frame. */
#define RD_BURST      64
#define RD_TX_RETRIES 8 /* offers of a refused tail before it is dropped */
#define RD_NO_QUEUE   UINT16_MAX

/* X(name, help): counts of a leg besides RD_RX_DROPS; drop_* lost something. */
#define RD_LEG_COUNTERS(X)                                                                 \
	X(rx_frames, "frames received")                                                    \
	X(rx_bytes, "their bytes")                                                         \
	X(rx_suci, "datagrams for the Suci endpoint")                                      \
	X(rx_known, "of them those whose checksum the port had found good")                \
	X(rx_completed, "frames that came with a checksum left to a port")                 \
	X(rx_gateway, "datagrams for the gateway, from the wire or from the own core")     \
	X(rx_arp, "ARP requests and neighbour solicitations answered")                     \
	X(rx_echo, "ICMP echo requests answered")                                          \
	X(tx_arp_defence, "own addresses announced, for another station claimed them")     \
	X(tx_arp_kernel, "neighbours told to the kernel")                                  \
	X(tx_back, "answers to unproven senders, sent to where they came from")            \
	X(rx_unreachable, "ICMP errors about datagrams of ours")                           \
	X(rx_tap, "frames handed to the kernel")                                           \
	X(tx_frames, "frames the driver took")                                             \
	X(tx_bytes, "their bytes")                                                         \
	X(tx_tap, "frames from the kernel")                                                \
	X(tx_gateway, "frames from the gateway, for the wire or for the own core")         \
	X(tx_in_place, "segments sent from their receive buffer")                          \
	X(tx_chained, "segments sent with a header buffer in front")                       \
	X(tx_copied, "datagrams copied into a buffer of their own")                        \
	X(tx_sealed, "datagrams sealed into a buffer of their own")                        \
	X(steered, "frames of other workers that came to our queue and were handed over")  \
	X(rx_steered, "frames that other workers handed over, or told us neighbours with") \
	X(steer_told, "ARP frames copied for another worker to learn from")                \
	X(tx_steered, "frames sent through another worker's queue")                        \
	X(tx_retries, "bursts of which the driver refused a part")                         \
	X(drop_tx_refused, "frames the driver did not take")                               \
	X(drop_reset, "frames to a port that is being reset")                              \
	X(drop_no_buffer, "datagrams lost because the pool was empty")                     \
	X(drop_no_route, "datagrams to addresses behind no gateway")                       \
	X(drop_toobig, "datagrams longer than the leg's MTU")                              \
	X(drop_segments, "received frames in several buffers that could not be joined")    \
	X(drop_steer_full, "frames for another worker lost because it was late")           \
	X(drop_tap_full, "frames for the kernel lost because control was late")            \
	X(drop_echo, "ICMP echo requests beyond the rate that is answered")                \
	X(drop_no_tap, "frames for the kernel on a light port, where it is not")           \
	X(drop_gateway_full, "datagrams for the gateway lost because it was late")         \
	X(drop_tap_frame,                                                                  \
	  "frames from the kernel that are neither IP of ours nor ask for a neighbour")
struct rd_leg_counters {
#define X(n, h) uint64_t n;
	RD_LEG_COUNTERS(X)
#undef X
	uint64_t rx_drop[RD_RX_DROPS_COUNT];
};

struct rte_mbuf;
struct rte_mempool;

#define RD_SENDERS 128 /* two bursts; a power of two */

struct rd_leg {
	const char *name;
	uint8_t index;
	struct rd_station self;
	struct rd_six six; /* its IPv6 side, if self.six is that */
	uint32_t mtu;	   /* IP bytes */
	uint16_t vlan;	   /* 0: untagged; see edge.h */
	/* One port for two legs: the private one polls it, the global one's port is the same. */
	bool shared, shares;
	const struct rd_port *port;
	/* Of the port: NO_QUEUE, or the worker's own.  Without one to receive from, frames come
	 * from other workers alone; without one to send to they go to worker via. */
	uint16_t rxq, txq;
	bool off; /* the port is being reset: it must not be touched */
	uint32_t via;
	struct rte_mempool *pool;
	struct rd_neigh *neigh;
	struct rd_flows *flows; /* what the kernel began; with to_kernel */
	uint64_t echo_ns;	/* when the next echo request would be in time */
	uint16_t ip_id;
	uint16_t ntx;
	uint64_t now_ns; /* of this turn */
	/* When the own addresses that were claimed by others are announced (0: none was), and
	 * which: bit 0 self.address, bit 1 + i self.more[i]. */
	uint64_t defence_ns, defence;
	bool defence_6; /* the IPv6 address, too */
	/* Where the last frame went, and when the table was asked. */
	uint64_t last_ns;
	uint32_t last_ip; /* IPv6: the number of the next hop */
	uint8_t last_mac[6];
	/* Whence the last datagrams of paths that may not exist came, for answers to them. */
	struct {
		uint32_t ip;
		uint8_t mac[6];
	} sender[RD_SENDERS];
	uint32_t nsenders; /* ever */
	struct rte_mbuf *tx[RD_BURST];
	struct rd_sniffer *sniffer; /* sees what is sent; NULL: nobody */
	struct rd_leg_counters count;
	/* Nobody answered for ip. */
	void (*unreachable)(void *user, struct rd_leg *leg, uint32_t ip);
	/* Another station claims the address of a neighbour. */
	void (*contested)(void *user, struct rd_leg *leg, uint32_t ip, const uint8_t known[6],
			  const uint8_t claim[6]);
	/* Takes frames for the kernel; NULL: this worker has no part in its TAPs. */
	void (*to_kernel)(void *user, struct rd_leg *leg, struct rte_mbuf *m);
	/* Takes frames if txq is RD_NO_QUEUE. */
	void (*hand_over)(void *user, struct rd_leg *leg, struct rte_mbuf *m);
	void *user;
	struct rd_hops hops; /* IPv6 next hops, as neigh knows them */
};

/* neigh_mem: rd_neigh_footprint(neigh_conf) bytes; ops and user of neigh_conf are
 * set here.  0 or -1. */
int rd_leg_init(struct rd_leg *leg, void *neigh_mem, struct rd_neigh_conf *neigh_conf);
/* Gives every frame back. */
void rd_leg_fini(struct rd_leg *leg);

/* Queue a complete frame; flushes when the burst is full. */
void rd_leg_push(struct rd_leg *leg, struct rte_mbuf *m);
void rd_leg_flush(struct rd_leg *leg);
/* Queue an IP frame of ours, whose destination MAC is still open, to dst, a peer. */
void rd_leg_send_ip(struct rd_leg *leg, struct rte_mbuf *m, uint32_t dst);
/* The same with IPv6. */
void rd_leg_send_ip6(struct rd_leg *leg, struct rte_mbuf *m, const uint8_t dst[16]);
/* Another station claims ip, an address of ours: it is announced soon after, as often as that
 * happens. */
void rd_leg_defend(struct rd_leg *leg, uint32_t ip);
void rd_leg_defend6(struct rd_leg *leg);
/* When the next announcement is due, BASE_NEVER_NS if none is; and send what is. */
uint64_t rd_leg_defence_ns(const struct rd_leg *leg);
void rd_leg_defend_tick(struct rd_leg *leg);
/* A datagram came from ip that may need an answer though ip has proved nothing. */
void rd_leg_note_sender(struct rd_leg *leg, uint32_t ip, const uint8_t mac[6]);
/* What stands for an IPv6 address there: two that share it are mistaken for each other, which
 * sends an answer to nobody's proof to the wrong station of the link. */
uint32_t rd_leg_sender6(const uint8_t ip[16]);
/* The answer: to the station that sent it, so that neighbours nobody has seen answer are not
 * asked for in the name of whoever forges addresses. */
void rd_leg_send_back(struct rd_leg *leg, struct rte_mbuf *m, uint32_t dst);
/* With IPv6, only if it is still known which station that was. */
void rd_leg_send_back6(struct rd_leg *leg, struct rte_mbuf *m, const uint8_t dst[16]);
/* The number by which neigh knows the next hop to dst; 0: no route. */
uint32_t rd_leg_hop6(struct rd_leg *leg, const uint8_t dst[16]);
/* May this echo request be answered? */
bool rd_leg_echo(struct rd_leg *leg);
/* What the kernel sent.  Its ARP requests are answered from our table, which asks for it: the
 * kernel sees no ARP of the wire. */
void rd_leg_from_kernel(struct rd_leg *leg, struct rte_mbuf *m);
/* Let the driver give back buffers of frames long sent (idle queues). */
void rd_leg_reclaim(struct rd_leg *leg);

#endif
