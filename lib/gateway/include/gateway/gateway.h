/* SPDX-License-Identifier: BSD-2-Clause */
/* gateway/gateway.h - IMPI over TCP on one side, Suci lanes on the other.
 *
 * Stands for foreign processes: hosts of an MPI that speaks IMPI 0.0 over TCP and no
 * Suci.  Bytes of TCP channels go in and out here, datagrams of one Suci endpoint go in
 * and out there; between them whole IMPI packets, each taken from one side, given the
 * process ids the other side knows, and queued per ordered pair of processes:
 *
 *     foreign host ==TCP== channel --+                +-- lane == Suci path == relay core
 *     foreign host ==TCP== channel --+--   gateway  --+-- lane == Suci path == relay core
 *                                 \_______________/                  of any relay of the
 *                          channel to channel without a lane         cluster
 *
 * Where a packet from src to dst goes (relay/job.h: foreign hosts, gates):
 *
 *     dst reached by Suci             a lane to the own relay core
 *     dst foreign, relay_job_gateway(src, dst) is this relay
 *                                     the channel (gate that stands for src, dst's host)
 *     dst foreign, another relay      a lane to the own relay core, which forwards it
 *                                     to that relay's gateway
 *
 * To the relay cores it is a local process and a remote relay in one.  Cores open the
 * paths: each core of the cluster that needs this gateway for a job, and the own one always,
 * with the hello of a relay; the gateway accepts them from conf.core first, then from any relay of
 * conf.peer, and answers with a hello of kind RELAY_HELLO_GATEWAY (relayproto/hello.h).  Until
 * the own core has come the others are refused; they try again.  Labels here =
 * relay_gateway_base(label_base) + world rank, there label_base + world rank.  Lanes send
 * over the path of conf.core, whatever core the other direction comes from.
 *
 * Flow control.  IMPI's (ackmark, hiwater) runs end to end between the processes and
 * bounds what a pair may have on its way; the gateway enforces it (a host that sends
 * more has failed) and adds
 *     TCP -> lane   packets wait in a queue per pair; when the memory of the gateway, or
 *                   the share of one channel, is used up, that channel is not read;
 *     lane -> TCP   a lane's window is hiwater packets at most; a channel whose socket is full
 *                   stops its own lanes, nobody else's.  PROTOACK goes before data.
 * So one slow host slows nobody else, and memory has a bound.  A channel's share is as much
 * as is left when it has taken it: of n hosts that take nothing each comes to hold
 * 1/(n+1) of the memory, and as much is left for the others.  What comes from channels and what
 * comes from lanes has half of the memory each, so that gateways never wait for each other.
 *
 * Room: with packet_bytes less than hiwater * (datalen + 512) for every pair that is busy at a
 * time a host may be made to wait although the process it sends to reads; and two hosts that
 * write before they read (LAM/MPI does, 9.1 of the reference) may then wait for each other.
 *
 * Ends.  FINI from a foreign host is answered with FINI once everything for it has left
 * (gw_job_finish() asks without waiting for the host's).  A host is done when it has sent, its
 * processes' peers may not have it yet: a job that finishes goes when they have acknowledged all;
 * or when the core has had all for deliver_ns, for who has left acknowledges nothing; or after
 * linger_ns.  A channel that ends without FINI,
 * a packet that contradicts the protocol or names a process that does not belong to
 * the channel: the job fails with a text that names host, client and address.
 *
 * Store and forward.  A packet is taken in whole before it is given on, so that a host that
 * trickles cannot hold a channel in the middle of a packet.  Channel to channel it is one
 * straight call: gw_channel_rx -> ops->writable -> gw_channel_tx, from one buffer, with 48
 * bytes rewritten.
 *
 * Units    bytes, nanoseconds of the caller's clock, host byte order unless said.
 * Threads  one owner at a time, that of the endpoint.
 * Limits   struct gw_limits.
 * Errors   0 or enum gw_err; what happens to packets is in struct gw_counters. */
#ifndef GATEWAY_H
#define GATEWAY_H

#include "relay/job.h"
#include "relayproto/note.h"
#include "suci/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* X(name, value, text) */
#define GW_ERRORS(X)                                                 \
	X(OK, 0, "success")                                          \
	X(INVAL, -1, "argument out of its documented range")         \
	X(NOMEM, -2, "a limit of the gateway is reached")            \
	X(EXISTS, -3, "there is already a job with that label base") \
	X(NOTFOUND, -4, "no such job or channel")                    \
	X(ADDRESS, -5, "a foreign host to connect to has no IPv4 address")
enum gw_err {
#define X(n, v, t) GW_ERR_##n = v,
	GW_ERRORS(X)
#undef X
};
const char *gw_strerror(int err);

struct gw_limits {
	uint32_t jobs_max;     /* 1 .. 1024 */
	uint32_t channels_max; /* over all jobs, 1 .. 65536; GW_STAGE_BYTES each */
	uint32_t procs_max;    /* processes of all jobs, each rounded up to RELAY_LABEL_PAGE */
	uint32_t lanes_max;    /* pairs of processes that talk, 1 .. 1<<20 */
	uint32_t relays;       /* of the cluster: RELAY_RELAYS_MAX at most */
	/* Memory for packets under way, half for each direction: GW_PACKET_BYTES_MIN .. 64 GiB.
	 * A payload takes the next power of two, 1 KiB at least, a packet 256 bytes more. */
	uint64_t packet_bytes;
};
#define GW_PACKET_BYTES_MIN (256u << 10)
#define GW_STAGE_BYTES	    16384u /* read at a time behind what is being waited for */
/* Datagrams of the endpoint that may be held (ops->hold) at a time. */
#define GW_HELD_MAX 4096u

/* A channel: gate of ours, foreign host. */
struct gw_channel_info {
	uint32_t job;	  /* label base */
	uint32_t gate;	  /* index into job->gate */
	uint32_t foreign; /* index into job->foreign */
	bool connects;	  /* we connect, bound to gate address; else we listen */
	uint32_t local_ip, remote_ip;
	uint16_t local_port, remote_port; /* local: where the gate listens */
	bool up;			  /* identified: packets flow */
	bool over;			  /* closed; kept for display until the job ends */
	bool fini_tx, fini_rx;
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t queued_bytes; /* packets waiting for this socket */
	uint64_t held_bytes;   /* packets taken from it that have not left */
	bool paused;	       /* not being read: memory */
};

/* Called from any gw_* function and from suci_rx and suci_tick on the endpoint.  writable
 * may call gw_channel_tx and gw_channel_txed (write at once: that is the short way); open
 * may call gw_channel_connect_failed; otherwise they note what is to be done and return. */
struct gw_ops {
	/* Start to connect (channel_info says where) or to listen; gw_channel_up() when
	 * the connection is there.  Called from gw_job_add and, after a failed
	 * connect, again from gw_tick. */
	void (*open)(void *user, uint32_t channel);
	/* The channel is over: flush nothing, close the socket, forget the number.  May come
	 * from a call for that very channel: FINI has left, or the job failed.  Called
	 * for every channel that was opened, connected or not. */
	void (*close)(void *user, uint32_t channel);
	/* There is something to send, or reading may go on: gw_channel_tx, _rx_space. */
	void (*writable)(void *user, uint32_t channel);
	void (*readable)(void *user, uint32_t channel);
	/* The job failed here: text for people.  Called once; the gateway has
	 * closed its channels.  The caller ends the job in the relay cores. */
	void (*job_failed)(void *user, uint32_t label_base, const char *why);
	/* gw_job_finish() is complete (or was given up: why not empty): forgotten. */
	void (*job_finished)(void *user, uint32_t label_base, const char *why);
	/* Suci: passed through for the driver. */
	void (*hold)(void *user, uint64_t rx_cookie);
	void (*release)(void *user, uint64_t rx_cookie);
};

#define GW_PEERS_MAX 256
struct gw_config {
	struct gw_limits limits;
	uint32_t my_relay;     /* index in the cluster's list */
	struct suci_addr self; /* this gateway's Suci address (private leg) */
	struct suci_addr core; /* the own relay core's */
	uint64_t incarnation;  /* as in suci_config */
	uint8_t cookie_secret[16];
	uint64_t seed;
	uint32_t mtu;			     /* largest UDP payload towards the relay cores */
	struct suci_addr peer[GW_PEERS_MAX]; /* whose paths are accepted besides core's */
	uint32_t npeers;		     /* 0: any relay's */
	uint32_t fixed_window; /* packets in flight per path, unpaced; 0: congestion control */
	uint64_t liveness_ns;  /* as in suci_config; default 5 s */
	uint64_t keepalive_ns; /* default 1 s */
	uint64_t connect_ns;   /* give up connecting or waiting for a host; default 60 s */
	uint64_t retry_ns;     /* pause between connects; default 100 ms */
	uint64_t linger_ns;    /* gw_job_finish: longest wait for the hosts' FINI; default 30 s */
	uint64_t deliver_ns;   /* and for acks once the core has all that hosts sent; default 1 s */
	const struct gw_ops *ops;
	void *user;
};

/* X(name, help); packets, FINI not among them.  rx = tx + held + drops. */
#define GW_COUNTERS(X)                                                             \
	X(rx_tcp, "packets taken from foreign hosts")                              \
	X(rx_tcp_bytes, "their bytes, headers included")                           \
	X(rx_lane, "packets taken from lanes")                                     \
	X(rx_lane_bytes, "their bytes")                                            \
	X(tx_tcp, "packets given to foreign hosts")                                \
	X(tx_tcp_bytes, "their bytes")                                             \
	X(tx_lane, "packets placed at the other end of their lane")                \
	X(direct, "of tx_tcp: channel to channel, without a lane")                 \
	X(fini_rx, "FINI from foreign hosts")                                      \
	X(fini_tx, "FINI to foreign hosts")                                        \
	X(drop_after_fini, "packets for a channel that has had our FINI")          \
	X(drop_job_over, "packets of a job that ended")                            \
	X(drop_lane_malformed, "lane blocks that are no IMPI packet")              \
	X(refused_lane_memory, "lane packets put off: no memory, or socket full")  \
	X(pauses, "times a channel was not read for want of memory")               \
	X(strangers, "connections that did not identify themselves as a host")     \
	X(failed_protocol, "jobs failed: a host broke the protocol")               \
	X(failed_eof, "jobs failed: a host closed without FINI")                   \
	X(failed_connect, "jobs failed: a host could not be reached")              \
	X(failed_path, "jobs failed: the path to a relay core, or too many pairs") \
	X(failed_linger, "jobs finished without the FINI of a host")
struct gw_counters {
#define X(n, h) uint64_t n;
	GW_COUNTERS(X)
#undef X
};

struct gw; /* opaque */

size_t gw_footprint(const struct gw_limits *limits); /* 64-byte aligned; 0: out of range */
struct gw *gw_new(void *mem, const struct gw_config *conf, uint64_t now_ns);
void *gw_fini(struct gw *g, uint64_t now_ns);

/* The endpoint, for the driver: suci_rx, suci_tx, suci_tick, suci_expiry_ns on it. */
struct suci *gw_endpoint(struct gw *g);

/* The table is copied.  Jobs in which this relay has no gate, or no foreign host
 * exists, need not be added.  ops->open is called for every channel. */
int gw_job_add(struct gw *g, const struct relay_job *job, uint64_t now_ns);
/* The job ended normally: FINI everywhere, then ops->job_finished. */
int gw_job_finish(struct gw *g, uint32_t label_base, uint64_t now_ns);
/* The job is over for another reason: channels close without FINI, at once. */
int gw_job_abort(struct gw *g, uint32_t label_base, const char *why, uint64_t now_ns);

/* ---- channels; numbers are < channels_max and given by ops->open ------------ */

bool gw_channel(const struct gw *g, uint32_t channel, struct gw_channel_info *out);
/* The connection we started is there / failed (tried again until connect_ns). */
void gw_channel_connected(struct gw *g, uint32_t channel, uint64_t now_ns);
void gw_channel_connect_failed(struct gw *g, uint32_t channel, const char *text, uint64_t now_ns);
/* Somebody connected to (local_ip, local_port) and has sent these 4 bytes: the channel
 * it is, or UINT32_MAX: close it (counted).  The driver keeps unidentified sockets and
 * closes them after some time. */
uint32_t gw_accept(struct gw *g, uint32_t local_ip, uint16_t local_port, uint32_t remote_ip,
		   const uint8_t identification[4], uint64_t now_ns);
/* Where the next bytes of the stream go: at most two pieces, so that recv() places the
 * payload in the packet's own buffer.  0 pieces: do not read now (ops->readable will say
 * when).  Then gw_channel_rx(n) for n bytes placed there, in order. */
int gw_channel_rx_space(struct gw *g, uint32_t channel, struct iovec iov[2]);
void gw_channel_rx(struct gw *g, uint32_t channel, size_t n, uint64_t now_ns);
/* The peer closed (text NULL) or the socket failed: recv() or send() said so, not a poll,
 * for there may be bytes to read before the end. */
void gw_channel_eof(struct gw *g, uint32_t channel, const char *text, uint64_t now_ns);
/* What to send next, in order, at most max (2 or more) pieces; returns how many, 0: nothing.
 * Stays valid until gw_channel_txed(n) says that n bytes of it have left; a further
 * gw_channel_tx() replaces the offer, what had not left is in it again.  Send until 0 comes
 * or the socket is full: ops->writable is called when something comes to an empty
 * channel, not for each packet. */
#define GW_IOV_MAX 64
int gw_channel_tx(struct gw *g, uint32_t channel, struct iovec *iov, int max);
void gw_channel_txed(struct gw *g, uint32_t channel, size_t n, uint64_t now_ns);

/* Timers of the channels (the endpoint has its own). */
void gw_tick(struct gw *g, uint64_t now_ns);
uint64_t gw_expiry_ns(const struct gw *g);

/* ---- queries -------------------------------------------------------------- */
const struct gw_counters *gw_counters(const struct gw *g);
uint64_t gw_held_bytes(const struct gw *g);
/* rx = tx + held + drops, memory adds up.  False: *what names what does not.  Looks at
 * every packet record, pair and channel: not for each turn of a loop. */
bool gw_check(struct gw *g, const char **what);

#endif
