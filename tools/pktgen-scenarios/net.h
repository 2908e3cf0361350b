/* SPDX-License-Identifier: BSD-2-Clause */
/* net.h - the generator's two ports: frames of emulated stations to and from relayd,
 * and a TAP each for the kernel's TCP in the name of the primary relay.
 *
 * Station i of a side has the address first + i and a MAC made of side and i; its ARP
 * is answered here.  Everything goes to relayd, whose MAC is asked for once.  The TAPs
 * live in a network namespace of the process's own, so that no route, address or
 * interface of the machine is touched, and relayd may run on the same one.
 *
 * Threads  one; pg_net_open moves the calling thread into the new namespace.
 * Errors   0 or -1 and one line in err. */
#ifndef PKTGEN_NET_H
#define PKTGEN_NET_H

#include "driver/clock.h"
#include "driver/pool.h"
#include "driver/port.h"
#include "pktgen/lab.h"
#include "rd/packet6.h"
#include "suci/endpoint.h"

#include <sched.h>

#define PG_TX_MAX     64
#define PG_RX_BURST   32
#define PG_NET_FRAMES 160  /* buffers a world may keep for itself, for each side */
#define PG_KEPT_MAX   64   /* datagrams of a side that can be replayed */
#define PG_KEPT_LEN   2048 /* longer ones are not kept */

struct pg_net;

struct pg_side_count {
	uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;
	uint64_t rx_bad, rx_stray, rx_cut, tx_cut, rx_arp, no_buffer, tx_waits;
};

struct pg_side {
	const struct pg_side_conf *conf;
	uint8_t index;
	struct rd_port port;
	/* As many queues each way as relayd has workers, if the lab says so: what is for a worker
	 * goes into its queue. */
	uint16_t nqueues;
	struct pg_queue {
		struct rte_mbuf *tx[PG_TX_MAX];
		uint16_t ntx;
	} queue[PG_SHARDS_MAX];
	uint8_t relay_mac[6];
	bool relay_known;
	bool rx_cut, tx_cut; /* frames vanish: the scenario cut the line */
	uint32_t loss_ppm;
	int tap;
	uint8_t tap_mac[6];
	uint32_t stations;    /* how many exist */
	struct rd_six spoken; /* with six: of the station that is worked for just now */
	/* The first datagrams since pg_net_forget, as they left. */
	struct {
		uint8_t frame[PG_KEPT_LEN];
		uint16_t len;
	} kept[PG_KEPT_MAX];
	uint32_t nkept, replay;
	struct pg_side_count count;
};

struct pg_net {
	const struct pg_lab *lab;
	struct pg_side side[PG_SIDES];
	struct rte_mempool *pool;
	struct rd_pool_plan plan;
	struct rd_clock clock;
	uint64_t now_ns, prng;
	cpu_set_t given, pinned; /* CPUs of the process, and the one EAL put us on */
	/* A datagram for station i of a side, valid and for its Suci port.  NULL: no world is
	 * played; relayd may still send to one that has been. */
	void (*datagram)(void *user, uint8_t side, uint32_t station, const struct suci_addr *from,
			 uint8_t *payload, size_t len, uint8_t ecn);
	void *user;
};

/* Starts EAL, opens the ports and the TAPs of sides with a primary. */
int pg_net_open(struct pg_net *n, const struct pg_lab *lab, const char *prog, char *err,
		size_t err_max);
/* -1: packet buffers were lost, and how many is printed. */
int pg_net_close(struct pg_net *n);

/* Wait until both links are up and relayd has answered ARP: 0, or -1 after wait_ms. */
int pg_net_ready(struct pg_net *n, uint32_t wait_ms, char *err, size_t err_max);

/* relayd was started anew: ask for its MAC again; a memif, which dials but once, does it
 * again. */
void pg_net_relink(struct pg_net *n);

/* On our own CPU (EAL's), or on all that the process was given: for children. */
void pg_net_pin(struct pg_net *n, bool on);

/* What the stations are called. */
void pg_station(const struct pg_net *n, uint8_t side, uint32_t i, struct rd_station *out);

/* Headers in front of a datagram of that side, and UDP payload of the largest one. */
static inline uint32_t
pg_front(const struct pg_side_conf *c)
{
	return c->six ? RD_FRAME6_HDR : RD_FRAME_HDR;
}
static inline uint16_t
pg_room(const struct pg_side_conf *c)
{
	return (uint16_t)(c->mtu + RD_ETH_HDR - pg_front(c));
}
/* Write those headers, of a datagram from a station to one of relayd's ports, and fill in the
 * checksum; `here` and rest as of rd_udp_checksum(). */
void pg_write_front(struct pg_side *s, uint8_t *at, struct rd_station *from, uint16_t port,
		    uint16_t ip_id, uint32_t udp, uint8_t ecn);
void pg_write_sum(const struct pg_side *s, uint8_t *at, size_t here, uint64_t rest);

/* Receive and hand on; returns the number of frames. */
uint32_t pg_net_poll(struct pg_net *n);
/* Frames of the kernel's TCP; a system call, so not every turn. */
void pg_net_poll_taps(struct pg_net *n);
/* Is there room for a burst on that side? */
static inline bool
pg_net_room(const struct pg_net *n, uint8_t side)
{
	const struct pg_side *s = &n->side[side];
	for (uint16_t q = 0; q < s->nqueues; q++)
		if (s->queue[q].ntx >= PG_TX_MAX - PG_RX_BURST)
			return false;
	return true;
}
/* A datagram of a station's endpoint; false: no buffer or no room. */
bool pg_net_send(struct pg_net *n, uint8_t side, struct rd_station *from, uint16_t *ip_id,
		 struct suci *ep, const struct suci_out *o);
/* A frame as it is. */
bool pg_net_raw(struct pg_net *n, uint8_t side, const void *frame, size_t len);
/* A buffer of the caller's with a whole frame; there is room. */
void pg_net_push(struct pg_net *n, uint8_t side, struct rte_mbuf *m);
void pg_net_flush(struct pg_net *n);
/* The next of the side's first datagrams once more; false: there is none, or no room. */
bool pg_net_replay(struct pg_net *n, uint8_t side);
/* Keep other ones from now on. */
void pg_net_forget(struct pg_net *n);

#endif
