/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's state, shared by its source files:
 *   open.c      making and closing the socket
 *   region.c    memory of the receive buffers
 *   xdp.c       receiving past the kernel's UDP; xdp_prog.c, frame.c
 *   suci_udp.c  receiving, the error queue, turns
 *   send.c      sending, runs of datagrams
 *   run.c       how long a run is */
#ifndef UDP_INTERNAL_H
#define UDP_INTERNAL_H

#include "driver/suci_udp.h"
#include "driver/udp_name.h"
#include "tune/watch.h"

#include <sys/uio.h>

/* Two runs of datagrams for Ethernet's 1500 bytes, and a bit. */
#define TX_BATCH  96u
#define TX_PIECES 3u
/* Datagrams no longer than that are copied together before they are sent. */
#define FLAT_BYTES 2048u
/* UDP GSO: what one message to the kernel may hold.  64 segments is the limit of
 * kernels before 6.9, 65507 bytes that of an IPv4 datagram.  30, where nothing else was measured:
 * the buffers a receiver on another core of this machine is done with go back to the sender's
 * core, which is interrupted when 32 of them wait (net.core.skb_defer_max / 2) and takes them
 * between runs anyway. */
#define RUN_SEGMENTS_MAX SUCI_UDP_RUN_MAX
#define RUN_SEGMENTS	 30u
#define RUN_BYTES_MAX	 65507u
/* UDP GRO: the kernel never merges more than an IP packet can hold. */
#define MERGED_MAX 65536u
/* As many messages at once are load, and the kernel is asked to merge. */
#define MERGE_FROM 8u

/* A run's datagram size, one way or the other, and the byte with the ECN bits. */
#define CONTROL_BYTES (2 * CMSG_SPACE(sizeof(int)))
struct control {
	_Alignas(struct cmsghdr) uint8_t bytes[CONTROL_BYTES];
};

/* One datagram to send; its pieces follow those of the one before. */
struct udp_dgram {
	union udp_name to;
	uint32_t len, iov, niov;
	uint8_t ecn; /* enum suci_ecn */
};

/* A number of the store on trial. */
struct udp_run_watch {
	struct tune_watch watch;
	uint32_t stored;
	uint64_t since_ns, until_ns; /* of the turn; until 0: none has begun */
	uint64_t datagrams, again;   /* counts when it began */
};

struct suci_udp {
	int fd;
	struct suci *ep;
	uint32_t mtu;
	uint32_t rcvbuf_bytes; /* as the kernel accounts it */
	bool gso, gro, ecn;
	bool merging;	    /* gro, and the kernel has been asked to */
	bool errors_queued; /* the error queue wants to be read */
	bool connected;
	bool nameless; /* only its peer can have sent what is received: not asked who */
	bool busy_poll_preferred;
	uint8_t pages; /* enum suci_udp_pages */
	uint32_t busy_poll_us;
	union udp_name peer; /* if connected */
	struct suci_addr local;
	sa_family_t family; /* of the socket, and of all names it takes and gives */
	socklen_t name_len;
	struct suci_udp_counters count;

	/* Receive buffers: in the armed slots, free, or held (refs > 0). */
	uint32_t bufs, buf_bytes, nfree, narmed;
	uint32_t rx_want; /* slots to offer: a lone message needs no second look */
	uint8_t *buf;
	size_t region_bytes;
	uint32_t *refs, *free_buf;
	uint32_t armed[SUCI_UDP_BATCH];
	struct mmsghdr rx_msg[SUCI_UDP_BATCH];
	struct iovec rx_iov[SUCI_UDP_BATCH];
	union udp_name rx_from[SUCI_UDP_BATCH];
	struct control rx_control[SUCI_UDP_BATCH];

	struct udp_xdp *xdp; /* NULL: receives by the socket only */
	const char *xdp_why;

	uint32_t run_most;	     /* datagrams of a run */
	struct udp_run_watch *watch; /* NULL: that is as asked for, or given up */
	uint32_t tx_most;	     /* datagrams of a batch: whole runs of full ones */
	struct suci_out out[TX_BATCH];
	struct udp_dgram dgram[TX_BATCH];
	struct iovec tx_iov[TX_BATCH * TX_PIECES];
	/* What sendmmsg is given: datagrams or runs of them. */
	struct mmsghdr tx_msg[TX_BATCH];
	uint32_t tx_run[TX_BATCH];
	struct control tx_control[TX_BATCH];

	uint8_t flat[TX_BATCH * FLAT_BYTES];
	struct iovec tx_one[TX_BATCH];
	uint8_t *sealed; /* TX_BATCH datagrams of mtu; made when the first sealed one comes */
	/* Copies of datagrams the kernel refused: [aside_at, aside_n). */
	uint32_t aside_at, aside_n;
	uint8_t *aside;
	struct udp_dgram aside_dgram[TX_BATCH];
	struct iovec aside_iov[TX_BATCH];
};

/* Fill empty receive slots from the free buffers. */
void suci_udp_rearm(struct suci_udp *u);
/* Ask the kernel from whom each message is, or not. */
void suci_udp_name_senders(struct suci_udp *u, bool yes);
bool suci_udp_same_name(const union udp_name *a, const union udp_name *b);
/* Copies of refused datagrams still wait to be sent. */
bool suci_udp_waiting(const struct suci_udp *u);
/* Send what waits, then what the endpoint has. */
bool suci_udp_send(struct suci_udp *u, uint64_t now_ns);

/* How many of d[0..n), n >= 1, from the first on may go as one run: one
 * destination, one size, the last may be shorter, within the limits above. */
uint32_t suci_udp_run(const struct udp_dgram *d, uint32_t n);
/* The segment size the kernel named in a received message's control data; 0 if
 * the message is one datagram or the control data are not to be trusted. */
uint32_t suci_udp_merged(struct msghdr *m);
/* The ECN bits of a received message; 0 if the kernel did not tell. */
uint8_t suci_udp_ecn(struct msghdr *m);
/* Length of the datagram that starts at at < len of a message of len bytes
 * merged from datagrams of seg bytes (0: not merged). */
uint32_t suci_udp_piece(uint32_t len, uint32_t seg, uint32_t at);

/* xdp.c.  Opening: on the interface of that name and MTU, to which the socket's address belongs;
 * u->xdp, or NULL and u->xdp_why. */
void suci_udp_xdp_open(struct suci_udp *u, const char *name, uint32_t if_mtu, bool reserved);
void suci_udp_xdp_close(struct suci_udp *u);
/* After a datagram by the socket. */
void suci_udp_xdp_begin(struct suci_udp *u);
/* Hand at most so many frames to the endpoint; how many. */
uint32_t suci_udp_xdp_rx(struct suci_udp *u, uint32_t most, uint64_t now_ns);
/* Of cookies above u->bufs. */
uint32_t *suci_udp_xdp_refs(struct suci_udp *u, uint64_t cookie);
void suci_udp_xdp_release(struct suci_udp *u, uint64_t cookie);
/* The epoll descriptor looks for POLLOUT when there is something to send. */
void suci_udp_xdp_watch(struct suci_udp *u);

/* run.c: a number from the store, watched; the end of a turn of it. */
void suci_udp_watch_run(struct suci_udp *u, uint32_t stored);
void suci_udp_run_turn(struct suci_udp *u, uint64_t now_ns);
static inline void
suci_udp_run_look(struct suci_udp *u, uint64_t now_ns)
{
	if (u->watch && now_ns >= u->watch->until_ns)
		suci_udp_run_turn(u, now_ns);
}

/* region.c: memory for the receive buffers into u->buf; false if there is none. */
bool suci_udp_region_make(struct suci_udp *u, size_t bytes, bool reserved);
void suci_udp_region_free(struct suci_udp *u);

#endif
