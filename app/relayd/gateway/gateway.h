/* SPDX-License-Identifier: BSD-2-Clause */
/* gateway.h - the gateway's thread: TCP of foreign hosts, and frames to and from the worker.
 *
 *     foreign hosts == sockets == +------------------+ == frames == worker == private leg
 *            (kernel: TAP or      | gateway's thread |                | own relay core
 *             own interfaces)     |  struct gw       | == mail, events == control
 *                                 +------------------+
 *
 * lib/gateway decides; here are its sockets, its clock and its thread.  A turn:
 *
 *     frames of the worker -> TAPs           sockets that epoll names -> gw_channel_rx
 *     frames of the worker -> suci_rx
 *     mail of control                        timers
 *     suci_tx -> frames for the worker       gw_channel_tx -> sockets
 *     TAPs -> frames for the worker
 *
 * After work it polls for gateway.poll_us, then sleeps in epoll.  What one socket may
 * do in a turn is bounded, so that a busy host does not keep the others waiting; so are
 * the frames of the TAPs, which it serves for control too (tap.h).
 *
 * Datagrams travel as whole Ethernet/IPv4/UDP frames, one per mbuf, as on a wire: to the
 * worker those of this gateway (the worker knows which are for its own core), from the
 * worker those for (private address, gateway.udp_port).  An mbuf belongs to one of
 * the two threads at a time and is never shared: what the core has in custody is copied.
 *
 * Connections that have not yet said who they are (4 bytes) are guests: RD_GUESTS_MAX of
 * them, for GUEST_NS each; one more takes the place of the oldest.
 *
 * Threads  start, stop and fini by control's thread; the rest is the gateway's own,
 *          rings apart: mails and replies with control, frames with the worker.
 * Errors   what a host does wrong is lib/gateway's business; a socket that fails is
 *          told to it with a text. */
#ifndef RD_GATEWAY_H
#define RD_GATEWAY_H

#include "driver/clock.h"
#include "leg.h"
#include "mail.h"
#include "tap.h"
#include "wake.h"

#include "gateway/gateway.h"

#include <pthread.h>

#define RD_GUESTS_MAX	  256
#define RD_GW_READ_BYTES  (256u << 10) /* of one socket in a turn */
#define RD_GW_WRITE_BYTES (256u << 10)
#define RD_GW_FRAMES	  128 /* each way in a turn */

/* X(name, help): what the driver counts; packets are in GW_COUNTERS. */
#define RD_GATEWAY_COUNTERS(X)                                                        \
	X(turns, "turns of the loop")                                                 \
	X(busy_turns, "of them with work")                                            \
	X(sleeps, "times it went to sleep")                                           \
	X(rx_frames, "frames from the worker")                                        \
	X(tx_frames, "frames to the worker")                                          \
	X(tx_full, "turns in which the worker's ring had no room")                    \
	X(accepted, "connections accepted")                                           \
	X(connects, "connects begun")                                                 \
	X(connect_errors, "connects that failed")                                     \
	X(read_calls, "reads from sockets")                                           \
	X(write_calls, "writes to sockets")                                           \
	X(drop_guest_late, "connections closed: said nothing in time")                \
	X(drop_guest_full, "connections closed: too many that said nothing")          \
	X(drop_guest_eof, "connections that ended before they identified themselves") \
	X(drop_accept, "connections not accepted: no descriptors or memory")          \
	X(drop_no_buffer, "datagrams lost because the pool was empty")                \
	X(drop_toobig, "datagrams longer than the private leg's MTU")                 \
	X(events_lost, "log events dropped because control was late")
struct rd_gateway_counters {
#define X(n, h) uint64_t n;
	RD_GATEWAY_COUNTERS(X)
#undef X
};

/* A channel's socket; [gateway.channels]. */
struct rd_gw_sock {
	int fd; /* -1: none yet, or a listening channel that nobody has connected to */
	uint32_t gen;
	uint32_t events;   /* in the epoll set */
	uint32_t listener; /* index or UINT32_MAX */
	int error;	   /* of open, to be told to lib/gateway: errno */
	bool open;	   /* between ops->open and ops->close */
	bool connecting, in_epoll, dirty, failed;
};

/* A gate's address and port while a channel listens there. */
struct rd_gw_listener {
	int fd; /* -1: free */
	uint32_t gen;
	uint32_t ip, users;
	uint16_t port;
	bool paused; /* no descriptors left: not polled for a while */
};

struct rd_gw_guest {
	int fd; /* -1: free */
	uint32_t gen;
	uint32_t listener, remote_ip;
	uint64_t until_ns;
	uint8_t said[4], nsaid;
};

struct rd_gateway {
	const struct rd_conf *conf;
	struct rd_gateway_box *box;
	struct rd_mailbox *taps_box;	   /* worker 0's, with the TAPs' rings */
	struct rd_mailbox *const *workers; /* [conf->workers], to wake them */
	struct rd_leg leg;		   /* only what rd_frame_build needs */
	char tap[RD_LEGS][16];		   /* their names */
	struct rd_taps *taps;
	bool tap_ready[RD_LEGS]; /* epoll named it, or we sent something that may be there */
	uint32_t gate_global;
	struct gw *gw;
	void *mem;
	size_t mem_len;
	uint32_t nsocks;
	struct rd_gw_sock *sock;
	struct rd_gw_listener *listener; /* [nsocks] */
	/* Channels with something to write, each once; [2 * nsocks]: while the list is worked off
	 * it grows behind. */
	uint32_t *dirty, ndirty;
	uint32_t *failed, nfailed; /* the same for opens to be answered with an error */
	struct rd_gw_guest guest[RD_GUESTS_MAX];
	uint32_t nguests;
	char listen_error[RELAY_WHY_MAX]; /* of the job being added */
	struct rd_mail *looks;		  /* a snapshot that is not whole yet; NULL: none */
	uint32_t look_at;		  /* channel to look at next for it */
	int epoll;
	uint32_t check_next; /* socket to look at first */
	uint64_t check_ns;
	bool no_pwait2; /* this kernel has no epoll_pwait2 */
	bool worker_full, wake_control;
	uint32_t wake_workers; /* bit each */
	struct rd_clock clock;
	uint64_t now_ns, worked_ns;
	struct suci_out out;
	struct rd_gateway_counters count;
	pthread_t thread;
	bool running;
};

/* Memory besides DPDK's that the configuration needs; 0 if it is out of range. */
size_t rd_gateway_footprint(const struct rd_conf *conf);
/* Packet buffers that may lie in its rings: of worker 0's pool, and of any other worker's. */
#define RD_GATEWAY_BUFFERS(workers) (((workers) + 1) * RD_GW_RING + RD_GW_FRAMES)
#define RD_GATEWAY_BUFFERS_OTHER    RD_GW_RING
/* Build it and start the thread.  leg: the private one of worker 0; tap: names of the TAPs;
 * boxes: of the workers, which outlive it.
 * taps: open, from now on served by that thread.  NULL and err if that fails. */
struct rd_gateway *rd_gateway_start(const struct rd_conf *conf, const struct rd_leg *leg,
				    const char tap[RD_LEGS][16], struct rd_taps *taps,
				    struct rd_mailbox *const *boxes, char *err, size_t err_max);
/* End the thread; its state may be looked at afterwards.  Accepts NULL. */
void rd_gateway_stop(struct rd_gateway *g);
/* Close everything, give frames back.  After the worker's loop has ended.  Accepts NULL. */
void rd_gateway_fini(struct rd_gateway *g);

/* ---- snapshots -------------------------------------------------------------------- */

struct rd_channel_row {
	uint32_t channel;
	struct gw_channel_info info;
};
struct rd_gateway_snapshot {
	bool on;
	struct gw_counters gw;
	struct rd_gateway_counters io;
	struct rd_tap_counters tap;
	struct suci_counters suci;
	uint64_t held_bytes, packet_bytes; /* memory of packets under way; its limit */
	uint32_t suci_held, guests;
	bool checked; /* by gw_check(), and so */
	bool consistent;
	const char *inconsistent;
	uint64_t look_ns; /* longest that a turn was held up by this snapshot */
	uint32_t nchannels, channels_max;
	struct rd_channel_row *channel; /* [channels_max] */
};
/* All of it at once, when the thread has ended.  check: the books, too, which takes as long as the
 * tables are large. */
void rd_gateway_snapshot(struct rd_gateway *g, struct rd_gateway_snapshot *s, bool check);

/* ---- between the files of the gateway ---------------------------------------------- */

const struct gw_ops *rd_gw_ops(void);
void rd_gw_text(struct rd_gateway *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An event to fill and push; NULL (counted) if only the reserve is left and it is not
 * important. */
struct rd_event *rd_gw_event(struct rd_gateway *g, bool important);
void rd_gw_push_event(struct rd_gateway *g, struct rd_event *e);

/* gateway_look.c.  A turn's part of the snapshot that a mail asks for; false: not whole yet. */
bool rd_gateway_look(struct rd_gateway *g, struct rd_mail *mail);

/* gateway_io.c.  Sockets that epoll names; things that are late; what is to be written. */
void rd_gw_ready(struct rd_gateway *g, uint64_t key, uint32_t events);
uint32_t rd_gw_flush(struct rd_gateway *g);
int rd_gw_watch_tap(struct rd_gateway *g, int leg); /* 0 or -errno */
void rd_gw_io_tick(struct rd_gateway *g);
uint64_t rd_gw_io_expiry_ns(const struct rd_gateway *g);
void rd_gw_io_close_all(struct rd_gateway *g);
void rd_gw_io_open(struct rd_gateway *g, uint32_t channel);
void rd_gw_io_close(struct rd_gateway *g, uint32_t channel);
void rd_gw_io_writable(struct rd_gateway *g, uint32_t channel);
void rd_gw_io_readable(struct rd_gateway *g, uint32_t channel);

#endif
