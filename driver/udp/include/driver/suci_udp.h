/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/suci_udp.h - runs one struct suci over one kernel UDP socket.
 *
 * Opens a non-blocking UDP socket of IPv4 or IPv6, receives in batches (recvmmsg) into a
 * pool of reference-counted buffers, sends in batches (sendmmsg) - datagrams of up to
 * 2 KiB copied together, longer ones straight from the pieces suci_tx() names -,
 * and turns ICMP "port unreachable" into suci_path_unreachable().  Sealed datagrams are sealed into
 * a buffer of the driver's and sent from there.  It owns no protocol state and no thread.
 *
 *      suci_udp_open -> suci_udp_endpoint -> suci_udp_attach
 *      loop: suci_udp_poll(now);  to sleep: poll(suci_udp_fd(), suci_udp_events())
 *                                 until suci_expiry_ns()
 *      suci_udp_detach -> suci_fini -> suci_udp_close
 *
 * Where the kernel can, it is handed runs of equal datagrams to one peer as one
 * message (UDP GSO) and gives us such runs back (UDP GRO; a receive buffer is
 * then 64 KiB and shared by the datagrams in it).  It is asked for those when first many
 * datagrams came at once: before, one alone is read by a cheaper call.  A device or kernel
 * that refuses is found out at run time and served datagram by datagram.
 *
 * A socket at an IPv4 address speaks IPv4, one at an IPv6 address IPv6, one at :: both; what is for
 * a peer it cannot reach is given up (tx_errors).
 *
 * A received datagram lies in a buffer named by the cookie suci_rx() gets;
 * it is valid during the call, and longer for whoever calls suci_udp_hold()
 * with the cookie, until suci_udp_release().  When every buffer is held the
 * driver stops reading the socket (counted as stalls): size bufs above the
 * number the upper layer can hold.
 *
 * Datagrams the kernel does not take now (EAGAIN, ENOBUFS) are copied aside and
 * sent first by the next poll; nothing is asked of the endpoint before they are
 * gone.
 *
 * Waiting costs a wake-up (5 to 50 us) wherever the caller sleeps.  Three things help: the caller
 * polls for a while before it sleeps; busy_poll_us lets the kernel poll the device's queue inside a
 * read (SO_BUSY_POLL, where the device has NAPI and we have CAP_NET_ADMIN or net.core.busy_read is
 * set); and an endpoint with one peer only may connect its socket, which spares the kernel two
 * route look-ups per datagram.
 *
 * AF_XDP (xdp): an XDP program on the interface of the socket's address hands the UDP datagrams
 * for our address and port to rings shared with the kernel, and leaves everything else to it.
 * Reading them takes no system call, the kernel's IP and UDP have no part in it, and where
 * packets come in on the sender's core (veth) or in interrupts, a reader that polls takes that work
 * to its own core.  Sending stays with the socket and its runs.  It begins with the first
 * datagram the socket gets: that tells which device to poll.  It takes
 *      CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF; conf.at, an address of the interface (not ::);
 *      a driver with XDP of its own, one receive queue, an MTU of at most 3.7 KB (veth: 3.5),
 *      no other XDP program: one socket of one process for each interface;
 * else the socket receives, and suci_udp_info says why.  The program goes with its process.
 * What it takes has not passed the packet filter (netfilter).  Checksums of IP and UDP are
 * verified here; what is wrong is dropped and counted.
 *
 * The receive buffers are one region: of reserved huge pages (MAP_HUGETLB) if asked for and
 * there are enough, else of transparent ones where the kernel gives them.
 *
 * Units    bytes, nanoseconds of CLOCK_MONOTONIC.
 * Threads  one owner at a time, that of the endpoint.
 * Errors   -errno; counts in struct suci_udp_counters. */
#ifndef DRIVER_SUCI_UDP_H
#define DRIVER_SUCI_UDP_H

#include "suci/endpoint.h"

#define SUCI_UDP_BATCH	 32 /* messages received per system call */
#define SUCI_UDP_RUN_MAX 64 /* datagrams of a run the kernel cuts */

struct suci_udp;

struct suci_udp_conf {
	/* Where to be.  All zero: any IPv4 address; family 6 and zero: any of IPv6 and of IPv4;
	 * port 0: the kernel chooses. */
	struct suci_addr at;
	uint32_t mtu;		/* UDP payload; 0: from the interface that has that address */
	uint32_t mtu_max;	/* cap on that; 0: 65000 */
	uint32_t bufs;		/* receive buffers, >= 2 * SUCI_UDP_BATCH; 0: 512 */
	uint32_t sockbuf_bytes; /* wanted for each direction; 0: 8 MiB */
	bool no_gso, no_gro;	/* do not let the kernel cut and merge datagrams */
	/* Set and read the ECN bits, for suci_config.ecn; with suci_udp_ecn_works(). */
	bool ecn;
	bool huge_pages;       /* receive buffers in reserved huge pages, if there are any left */
	uint32_t busy_poll_us; /* kernel polls the device so long in a read; 0: does not */
	bool xdp;	       /* receive through AF_XDP if that can be had */
	uint32_t run;	       /* datagrams of a run, at most SUCI_UDP_RUN_MAX; 0: 30 */
	bool run_watched;      /* it is from the store: given up if 30 turn out to be better */
};

enum suci_udp_pages {
	SUCI_UDP_PAGES_SMALL,	    /* the kernel does as it likes */
	SUCI_UDP_PAGES_TRANSPARENT, /* madvise(MADV_HUGEPAGE) was taken */
	SUCI_UDP_PAGES_RESERVED,    /* MAP_HUGETLB */
};

/* What was granted of what the configuration asked for. */
struct suci_udp_info {
	bool gso, gro, connected, busy_poll_preferred;
	bool xdp;	     /* AF_XDP receives, as soon as the first datagram came */
	const char *xdp_why; /* if not: why not; a text that stays */
	enum suci_udp_pages pages;
	uint32_t busy_poll_us;
	uint64_t region_bytes; /* receive buffers */
	uint64_t xdp_bytes;    /* frames of AF_XDP, beside them */
	uint32_t rcvbuf_bytes; /* of the socket, as the kernel accounts it */
};

#define SUCI_UDP_COUNTERS(X)                                                    \
	X(rx_datagrams, "datagrams received")                                   \
	X(tx_datagrams, "datagrams the kernel took")                            \
	X(rx_merged, "messages the kernel merged from several datagrams")       \
	X(tx_runs, "messages the kernel cut into several datagrams")            \
	X(gso_refused, "such messages it refused, sent one by one")             \
	X(rx_calls, "recvmmsg calls")                                           \
	X(tx_calls, "sendmmsg calls")                                           \
	X(tx_again, "batches the kernel did not take whole")                    \
	X(tx_errors, "datagrams given up because sending them failed")          \
	X(rx_truncated, "datagrams longer than the MTU, dropped")               \
	X(rx_foreign, "datagrams from something else than an IP peer, dropped") \
	X(rx_stalls, "turns without reading because every buffer is held")      \
	X(xdp_datagrams, "datagrams received through AF_XDP")                   \
	X(xdp_malformed, "frames there that are no datagram, dropped")          \
	X(xdp_bad_sum, "frames there with a wrong checksum, dropped")           \
	X(run_stale, "lengths of runs from the store given up for the default") \
	X(unreachable, "ICMP port unreachable reports")
struct suci_udp_counters {
#define X(n, h) uint64_t n;
	SUCI_UDP_COUNTERS(X)
#undef X
};

/* 0 and *out, or -errno (the socket could not be made or bound). */
int suci_udp_open(const struct suci_udp_conf *conf, struct suci_udp **out);
/* Accepts NULL.  No buffer may be used afterwards. */
void suci_udp_close(struct suci_udp *u);

/* An endpoint for lanes over this socket.  conf: all but what comes from the socket (mtu_max,
 * burst_bytes, ecn), what is drawn (incarnation, seeds, secrets) and what suits programs
 * (initial_window, ack_ride_ns, ops); its keys are cleared.  *mem: to be freed after suci_fini(),
 * or if it fails (NULL: no memory, or no random numbers). */
struct suci *suci_udp_endpoint(const struct suci_udp *u, struct suci_config *conf, void **mem);
/* The endpoint to serve.  Detach before suci_fini(). */
void suci_udp_attach(struct suci_udp *u, struct suci *ep);
void suci_udp_detach(struct suci_udp *u);

/* Largest UDP payload: for suci_config.mtu_max. */
uint32_t suci_udp_mtu(const struct suci_udp *u);
/* Address and port the socket is bound to. */
struct suci_addr suci_udp_local(const struct suci_udp *u);
/* The kernel lets us see and set the ECN bits, and conf.ecn asked for it. */
bool suci_udp_ecn_works(const struct suci_udp *u);
/* Bytes it takes in one go without losing by it: for suci_config.burst_bytes.  Four runs the
 * kernel cuts itself, or 16 datagrams if it does not. */
uint32_t suci_udp_burst(const struct suci_udp *u);
/* Datagrams of a run from now on, 1 .. SUCI_UDP_RUN_MAX; 0: 30.  How many of them the kernel cuts
 * best belongs to the machine (doc/tuning.md).  A run also has at most 65507 bytes. */
void suci_udp_set_run(struct suci_udp *u, uint32_t datagrams);
uint32_t suci_udp_get_run(const struct suci_udp *u);
/* Packets each of so many peers may have in flight so that together they do not
 * overrun the socket's receive buffer: for suci_config.credit.  With peers 1: all of it, of
 * which suci_config.credit_total should leave a quarter to acks and asks.  With AF_XDP the
 * device's ring is what must not be overrun: 256. */
uint32_t suci_udp_credit(const struct suci_udp *u, uint32_t peers);

/* One turn: receive at most a few batches, run due timers, send what there is.
 * True if a datagram moved. */
bool suci_udp_poll(struct suci_udp *u, uint64_t now_ns);
/* Only the sending half of it. */
bool suci_udp_tx(struct suci_udp *u, uint64_t now_ns);

/* This endpoint has one peer only, at that address: the kernel keeps its route and drops what
 * comes from anybody else, so a peer that changes its address is lost.  May be called again with
 * another address.  0 or -errno. */
int suci_udp_connect(struct suci_udp *u, const struct suci_addr *peer);
/* There may be others again.  0 or -errno: the socket may have lost its port then. */
int suci_udp_disconnect(struct suci_udp *u);

void suci_udp_hold(struct suci_udp *u, uint64_t cookie);
void suci_udp_release(struct suci_udp *u, uint64_t cookie);

/* For poll(2): the socket and the events worth waking up for. */
int suci_udp_fd(const struct suci_udp *u);
short suci_udp_events(const struct suci_udp *u);

void suci_udp_get_info(const struct suci_udp *u, struct suci_udp_info *out);
const struct suci_udp_counters *suci_udp_counters(const struct suci_udp *u);
/* CLOCK_MONOTONIC. */
uint64_t suci_udp_now_ns(void);

#endif
