/* SPDX-License-Identifier: BSD-2-Clause */
/* suci/endpoint.h - paths: reliable datagram hops between endpoints.
 *
 * An endpoint is one UDP socket (or one worker's port of a DPDK leg) with any
 * number of peers.  A path is one hop to one peer endpoint: packet numbers,
 * acknowledgement ranges, loss detection, round-trip time, congestion control,
 * pacing, credit, liveness.  What travels are segments; an acknowledged
 * segment is in the custody of the peer endpoint.  Who the processes at the
 * two ends of a lane are is not known here: lanes sit on top (lane.h) in end
 * hosts, the relay core (relay/core.h) sits on top in a relay.
 *
 * The endpoint reads no clock and no socket, starts no thread and allocates
 * nothing after suci_new().  The driver calls
 *
 *      suci_rx(datagram, now)   for each datagram that came in (suci_rx_ecn() if the
 *                               driver sees its ECN bits)
 *      suci_tx(out, now)        until it returns 0: datagrams to send
 *      suci_tick(now)           when now >= suci_expiry_ns()
 *
 * in any order; each may call back through struct suci_ops.  Callbacks may
 * call suci_path_send/_note/_close/_wake/_info/_set_pace and nothing else of this header.
 * A path closed in a callback goes down when the outermost call returns.
 *
 *                  suci_path_open
 *      FREE ------------------------> CONNECTING --ACCEPT--> UP
 *        \--OPEN with good cookie, ops->accept says yes----> UP
 *      UP --suci_path_close / CLOSE / RESET / silence / peer restarted--> FREE
 *
 * Simultaneous opens meet in one path: each side answers the other's OPEN with
 * the tag it already chose; both may then be told "incoming".  ops->path_down
 * is the last call for a path; every segment it still held has been given back
 * before it.
 *
 * Path MTU (RFC 8899), only with mtu_min.  A path starts with mtu_min and sends, with
 * the handshake's last datagram, a padded probe of the size both ends announced: one
 * round trip later that size is in use, or smaller ones are tried, and again after 10
 * minutes.  Lost probes are no sign of congestion.  When packets above mtu_min cease to
 * get through while smaller ones do, the path shrinks to mtu_min and searches again.
 * A segment in custody that is larger then travels in parts, which the peer puts together
 * (limits.parts_max here, wholes_max there; both said so in the handshake), and such a path may
 * shrink to SUCI_MTU_SAFE.  With a peer that does not, the path goes down (SUCI_DOWN_MTU) if
 * one in custody is larger, or ops->pull gives such a one; it comes up again with mtu_min.
 *
 * Moving, only with migrate.  A datagram with a path's tag and a new, highest packet
 * number from another address is dropped and that address challenged with a token it
 * cannot guess, and so is the old one; when the answer comes from there and the old address is
 * silent for three probe timeouts, the path has moved: round trip and congestion control begin
 * anew.  Until then only the old address is used.  A side that may move needs keepalive_ns, else a
 * pure receiver is not heard from after it moved.  Without sealing who sees the tag on the wire can
 * take the path over.
 *
 * ECN (RFC 3168, RFC 9000 section 13.4), only with ecn: see suci_config.
 *
 * Units    bytes, nanoseconds of the caller's clock, packets.
 * Threads  one owner at a time.
 * Limits   struct suci_limits.  Paths are named by index < paths_max.
 * Errors   enum suci_err; drops are counted by reason in struct suci_counters.
 * Source   Suci paper for segments, window, Ack; RFC 9002 and RFC 8985 (RACK)
 *          for loss detection; RFC 9438 for cubic; draft-ietf-ccwg-bbr for bbr. */
#ifndef SUCI_ENDPOINT_H
#define SUCI_ENDPOINT_H

#include "suci/addr.h"
#include "suci/seal.h"
#include "suci/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, value, text) - grouped by what has to be torn down. */
#define SUCI_ERRORS(X)                                              \
	X(OK, 0, "success")                                         \
	X(INVAL, -1, "argument out of its documented range")        \
	X(NOMEM, -2, "a limit given at suci_new() is reached")      \
	X(FULL, -3, "the queue is full, try again after some acks") \
	X(DOWN, -4, "the path is not up")                           \
	X(TOOBIG, -5, "does not fit the path's MTU")                \
	X(EXISTS, -6, "there is already a path to that address")
enum suci_err {
#define X(n, v, t) SUCI_ERR_##n = v,
	SUCI_ERRORS(X)
#undef X
};
const char *suci_strerror(int err);

/* One segment as it is handed over: lane header fields and payload. */
struct suci_segment {
	uint32_t dst_label, src_label;
	uint32_t seq, block;
	uint32_t ack;
	uint16_t window;
	uint16_t flags; /* SUCI_SF_* */
	uint16_t mss;
	uint8_t credit_shift;
	uint8_t life; /* of the lane, see lane.h; 0: it does not say */
	uint32_t crc32c;
	uint64_t block_bytes; /* FIRST only */
	/* Payload in up to two pieces.  head is small (a message header) and may
	 * be NULL; a segment from the wire has everything in data. */
	const uint8_t *head;
	const uint8_t *data;
	uint16_t head_len;
	uint16_t data_len;
	/* Names the payload's owner.  A received segment carries the cookie that
	 * was given to suci_rx(); a sent one any value, given back in
	 * ops->released. */
	uint64_t cookie;
};

/* What became of a segment that was given to suci_path_send(). */
enum suci_fate {
	SUCI_FATE_ACKED,     /* the peer endpoint has custody */
	SUCI_FATE_ABANDONED, /* the path went down first */
};

/* Why a path went down: X(name, value, what the peer does or is).
 * LOCAL: suci_path_close().  CLOSED, REFUSED: see ops->path_down's text.  SILENT: nothing heard for
 * liveness_ns although something was due, or nothing acknowledged for twice as long; also that the
 * peer says so of us.  RESET: the peer does not know the path.  RESTARTED: it came back with
 * another incarnation.  UNREACHABLE: suci_path_unreachable(), port or host gone.  TIMEOUT: no
 * answer to the handshake in handshake_ns.  MTU: the path shrank below segments already cut, and
 * the peer takes no parts; see Path MTU.  STALE: the peer lives and has not, or no more, the open
 * that made this path: it gave it up, or refused a copy of it.  Opening again helps. */
#define SUCI_DOWNS(X)                                             \
	X(LOCAL, 0, "was left")                                   \
	X(CLOSED, 1, "closed the path")                           \
	X(SILENT, 2, "is silent")                                 \
	X(RESET, 3, "was restarted")                              \
	X(RESTARTED, 4, "was restarted")                          \
	X(REFUSED, 5, "refuses us")                               \
	X(UNREACHABLE, 6, "is not there")                         \
	X(TIMEOUT, 7, "does not answer")                          \
	X(MTU, 8, "is behind a link whose packets are too small") \
	X(STALE, 9, "has no such path")
enum suci_down {
#define X(n, v, t) SUCI_DOWN_##n = v,
	SUCI_DOWNS(X)
#undef X
};
/* For people, after the peer's name ("is silent"), and alone ("it is silent"). */
const char *suci_down_does(enum suci_down why);
const char *suci_down_text(enum suci_down why);

/* Verdict of ops->segment. */
enum suci_verdict {
	SUCI_TAKEN, /* in custody here: will be acknowledged */
	/* No room now: not acknowledged, the peer keeps it and sends it again when
	 * ops->room lets it, or now and then. */
	SUCI_REFUSED,
	SUCI_DROPPED, /* bad: acknowledged so that it is not sent again; the callee has counted it
		       */
};

#define SUCI_LATER 1000 /* no truth value, no errno */
struct suci_ops {
	/* An OPEN with a valid cookie came in.  Return 0 to accept, SUCI_LATER to say nothing (the
	 * peer repeats it), else the peer gets CLOSE with the text written to why
	 * (NUL-terminated). */
	int (*accept)(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
		      char why[SUCI_TEXT_MAX]);
	/* hello is the peer's hello data: in OPEN or in ACCEPT. */
	void (*path_up)(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
			size_t hello_len, bool incoming);
	void (*path_down)(void *user, uint32_t path, enum suci_down why, const char *text);
	/* A segment arrived.  data is valid during the call, and the lane header it came with in
	 * front of it; whoever keeps them must hold the receive buffer by seg->cookie. */
	enum suci_verdict (*segment)(void *user, uint32_t path, const struct suci_segment *seg,
				     uint64_t now_ns);
	/* A path goes down and its peer has not acknowledged this segment, which is as it was
	 * given to suci_path_send(); released(ABANDONED) follows at once.  Whoever keeps a
	 * copy, to send it over another path, must see to its buffer then.  May be NULL. */
	void (*abandoned)(void *user, uint32_t path, const struct suci_segment *seg,
			  uint64_t now_ns);
	/* A sent segment is no longer held.  cookie as given; called exactly once
	 * per suci_path_send() that returned 0 and per segment from ops->pull. */
	void (*released)(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate,
			 uint64_t now_ns);
	/* The path could send now and has nothing queued: fill *seg and return
	 * true, or return false (then suci_path_wake() when there is something).
	 * May be NULL. */
	bool (*pull)(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns);
	/* How many segments of those it refused would it take from that path now?  Asked
	 * while peers wait to send what was refused; they get that many grants.  May be
	 * NULL: nothing is granted, they try again now and then. */
	uint32_t (*room)(void *user, uint32_t path);
	/* About how many segments ops->pull has for that path, as far as that is quickly
	 * known.  The receiver is told when it has to share out its credit.  May be NULL. */
	uint32_t (*backlog)(void *user, uint32_t path);
	/* Only with limits.wholes_max.  A receive buffer of len bytes for a segment that comes
	 * in parts, which is then offered in it with that cookie, as one that was given to
	 * suci_rx(): whoever keeps the segment holds it.  unbuffer gives ours back, at the latest
	 * when the path goes down.  NULL: there is none now, the part is refused. */
	uint8_t *(*buffer)(void *user, uint32_t path, uint32_t len, uint64_t *cookie);
	void (*unbuffer)(void *user, uint64_t cookie);
	/* The peer's address changed from old to now, which was validated.  May be NULL. */
	void (*path_moved)(void *user, uint32_t path, const struct suci_addr *old,
			   const struct suci_addr *now);
	/* A sealed OPEN was refused for who it is of, counted as drop_identity; its address is
	 * validated.  public_key, 32 bytes, is the one it has shown; known: the peer that has it,
	 * who may not call from there, or NULL.  public_key NULL: one of the two ends has
	 * identities, the other has none.  May be NULL. */
	void (*stranger)(void *user, const struct suci_addr *from, const uint8_t *public_key,
			 const struct seal_peer *known);
	/* A note to this endpoint itself (see suci_path_note). May be NULL. */
	void (*note)(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns);
};

struct suci_limits {
	uint32_t paths_max; /* 1 .. 1<<20 */
	/* Queued and in flight over all paths, 16 .. 1<<24.  Each path that is up is sure
	 * of min(16, segments_max / (2 * paths_max)) of them, whatever others have. */
	uint32_t segments_max;
	/* Queued (not yet in flight) per path, 1 .. segments_max.  With what is in
	 * flight, lost or refused a path has at most queue_max + window_max. */
	uint32_t queue_max;
	uint32_t window_max; /* in flight per path, packets, 1 .. 65535 */
	/* Paths that may be sealed at once, 0 .. paths_max.  One that is idle takes 4 KB with
	 * everything. */
	uint32_t sealed_max;
	/* Keys that are ready for use, 1 KB each, one per path and direction that is busy:
	 * 2 .. SUCI_KEYS_MAX; 0 = 512.  With more busy paths than there are keys for, keys are made
	 * anew (about 1 us) as their turns come; the counter keys_made tells. */
	uint32_t keys_max;
	/* Parts under way, over all paths (a path has at most a quarter), of segments that are
	 * larger than the datagrams of their path: 0, then there are none, or SUCI_PARTS_MIN ..
	 * SUCI_PARTS_MAX, about 200 bytes each. */
	uint32_t parts_max;
	/* Segments that peers sent in parts and that are not whole yet, each in a buffer of
	 * ops->buffer: beside one for each path so many over all of them (of a path at most a
	 * quarter), 0 .. SUCI_WHOLES_MAX.  0: peers are to send none. */
	uint32_t wholes_max;
};
#define SUCI_KEYS_MAX	65535
#define SUCI_PARTS_MIN	256
#define SUCI_PARTS_MAX	65536
#define SUCI_WHOLES_MAX 32767

/* Congestion control of a path.
 *      FIXED  window and rate as configured, loss or not: a reserved path
 *      CUBIC  RFC 9438: fair beside TCP; over 2 ms and more, loss without a queue (up to 2 %)
 *             costs only what was lost
 *      BBR    paced by the measured delivery rate: loss at random (up to about 2 %)
 *             costs only what was lost, and queues stay short; draft-ietf-ccwg-bbr */
enum suci_cc_kind { SUCI_CC_FIXED = 0, SUCI_CC_CUBIC = 1, SUCI_CC_BBR = 2 };

/* UDP payload that any path takes: an IPv6 packet of 1280 bytes. */
#define SUCI_MTU_SAFE 1232
#define SUCI_LEGS_MAX 10 /* suci_addr.leg below this may have an mtu_leg */

struct suci_config {
	struct suci_limits limits;
	uint64_t incarnation; /* differs between runs of the same endpoint; not 0 */
	/* Random, and another one in every run: with that of its former run an endpoint would
	 * take an OPEN meant for it, and the opener mistake the two for one. */
	uint8_t cookie_secret[16];
	uint64_t seed;	  /* for tags */
	uint32_t mtu_max; /* largest UDP payload the driver can send, 1200 .. 65000 */
	/* The same for paths over one leg (suci_addr.leg), where a leg takes less;
	 * 0 = mtu_max. */
	uint32_t mtu_leg[SUCI_LEGS_MAX];
	/* 0: the size both ends announced is trusted and used at once.  Else a path starts
	 * with datagrams of at most this size, known to be good (SUCI_MTU_SAFE if nothing
	 * better is), 1200 .. mtu_max, and probes up to what both announced: see Path MTU.
	 * mtu_max: it starts with all of it, and may shrink if the peer puts parts together. */
	uint32_t mtu_min;
	uint32_t mtu_min_leg[SUCI_LEGS_MAX]; /* of paths over that leg; 0 = mtu_min */
	/* The driver sets suci_out.ecn and tells what came with suci_rx_ecn(): mark what
	 * is sent ECT(0) and obey CE.  Marks of the peer are echoed in any case. */
	bool ecn;
	bool ecn_off_leg[SUCI_LEGS_MAX]; /* but not over that leg */
	/* A peer may change its address: see Moving.  false: such datagrams are dropped. */
	bool migrate;
	enum suci_cc_kind cc;	 /* default of a path */
	uint64_t fixed_rate_bps; /* cc fixed: bytes per second; 0 = unpaced */
	uint32_t fixed_window;	 /* cc fixed: packets in flight */
	uint32_t initial_window; /* cubic, bbr: packets, 10 if 0 */
	/* Packets we let each peer have on its way to us, with credit_total only those that
	 * are far; default window_max. */
	uint32_t credit;
	/* Packets all peers of one leg (of those below SUCI_LEGS_MAX) within a round trip of
	 * 1 ms may have on their way to us together: what the socket, the NIC or the last switch
	 * can queue, so that however many send at once nothing of it is lost.  Shared by priority,
	 * then evenly; with fewer than peers, in turns of one packet, and who begins asks first
	 * unless its datagram has at most 160 bytes.  At least what the wire holds in a round trip,
	 * else it is idle at times.  0 = each may have credit.  At most 32767. */
	uint32_t credit_total;
	uint64_t ack_delay_ns; /* longest wait before an ack; default 1 ms */
	uint32_t ack_every;    /* ack at once after so many packets; default 8 */
	/* Not at once but after that time, or twice as many packets: what came last may have
	 * been the end of a message, and the ack goes with the answer.  For drivers where a
	 * datagram alone costs as much as several of a burst; 0 = at once. */
	uint64_t ack_ride_ns;
	/* Silence that kills a path while an answer is due; 0 = never.  Three probe timeouts
	 * if that is longer, 1 s before the round trip is known.  So a peer that dies is
	 * noticed within liveness_ns of what is sent next, at the latest a keepalive. */
	uint64_t liveness_ns;
	uint64_t keepalive_ns; /* probe an idle path that often; 0 = never */
	uint64_t handshake_ns; /* give up connecting; default 10 s */
	/* Bytes that may leave back to back on a paced path: what the driver hands over in
	 * one go (UDP GSO: a run of 64 KB; DPDK: a burst of 32 frames), so that pacing does
	 * not cut its batches; at most SUCI_PACER_BURST_MAX. */
	uint32_t burst_bytes;
	uint32_t burst_packets; /* the same in datagrams of the path; the larger counts */
	struct suci_seal_conf seal;
	/* Hello data sent in OPEN and ACCEPT of every path of this endpoint; may be
	 * overridden in suci_path_open(). */
	uint8_t hello[SUCI_HELLO_MAX];
	uint16_t hello_len;
	const struct suci_ops *ops;
	void *user;
};

/* X(name, help): every count of an endpoint; drops have the prefix drop_. */
#define SUCI_COUNTERS(X)                                                        \
	X(rx_datagrams, "datagrams given to suci_rx")                           \
	X(rx_bytes, "their bytes, UDP payload")                                 \
	X(rx_segments, "segments offered to the upper layer")                   \
	X(rx_acks, "ack blocks read")                                           \
	X(tx_datagrams, "datagrams built")                                      \
	X(tx_bytes, "their bytes, UDP payload")                                 \
	X(tx_segments, "segments sent, first time")                             \
	X(tx_retransmits, "segments sent again")                                \
	X(tx_spurious, "retransmits whose original was acknowledged after all") \
	X(tx_pure_acks, "datagrams with an ack block and nothing else")         \
	X(tx_refused, "packets the peer had no room for")                       \
	X(tx_asks, "ack blocks that ask for room")                              \
	X(tx_grants, "refused packets that peers were allowed to send again")   \
	X(tx_credits, "turns of peers that waited for credit of ours")          \
	X(tx_probes, "probe timeouts fired")                                    \
	X(tx_cut, "segments too large for their path, sent in parts")           \
	X(tx_parts, "these parts, first time")                                  \
	X(rx_parts, "parts of segments that came")                              \
	X(rx_joined, "segments put together from parts")                        \
	X(tx_mtu_probes, "padded datagrams that try a larger MTU")              \
	X(tx_challenges, "new addresses of peers asked to prove themselves")    \
	X(tx_ce, "packets the peer got marked CE, congestion experienced")      \
	X(persistent, "losses of all that was sent for 3 probe timeouts")       \
	X(mtu_shrunk, "paths whose full-size packets ceased to get through")    \
	X(ecn_failed, "paths that stopped marking: the marks do not add up")    \
	X(paths_moved, "paths whose peer changed its address")                  \
	X(drop_short, "shorter than its headers say")                           \
	X(drop_version, "other version")                                        \
	X(drop_type, "unknown type")                                            \
	X(drop_malformed, "field out of range")                                 \
	X(tx_rekeys, "keys of sealed paths replaced by the next one")           \
	X(keys_made, "keys of sealed paths made ready for use")                 \
	X(drop_sealed, "sealed, on a path that is not to be")                   \
	X(drop_unsealed, "not sealed, on a path that is to be")                 \
	X(drop_psk, "sealed under a pre-shared key we do not have")             \
	X(drop_seal, "sealed, and not authentic: forged, damaged, or old keys") \
	X(drop_identity, "sealed OPEN of a site that is no peer, or not there") \
	X(drop_curve, "OPEN beyond what is computed for the unproven")          \
	X(drop_reflected, "sealed OPEN or RESET of our own, sent back to us")   \
	X(drop_unknown_tag, "no path has that tag (old run, or closed)")        \
	X(drop_address, "tag is right but came from another address")           \
	X(drop_quote, "ICMP error that does not quote what we sent there")      \
	X(moves_denied, "not made: the old address answers, too")               \
	X(drop_response, "answer to no challenge of ours, or from elsewhere")   \
	X(drop_state, "type does not fit the path's state")                     \
	X(drop_cookie, "OPEN with a wrong or expired cookie")                   \
	X(drop_incarnation, "ACCEPT for another incarnation of ours")           \
	X(drop_duplicate_pn, "packet number seen before (replay or duplicate)") \
	X(drop_old_pn, "packet number below the window of kept ranges")         \
	X(drop_bad_ack, "acknowledges a packet never sent")                     \
	X(drop_refused, "upper layer had no room")                              \
	X(drop_part, "part of a segment, out of range or of another length")    \
	X(drop_part_room, "part of a segment, and no place or buffer for it")   \
	X(drop_rejected, "upper layer found the segment bad")                   \
	X(drop_later, "OPEN that is to come again")                             \
	X(drop_paths, "OPEN, and all paths are in use")                         \
	X(paths_opened, "paths that came up")                                   \
	X(paths_closed, "paths that went down")
struct suci_counters {
#define X(n, h) uint64_t n;
	SUCI_COUNTERS(X)
#undef X
};

struct suci; /* opaque */

/* Bytes of memory suci_new() needs for these limits, 64-byte aligned; 0 if a
 * limit is out of range. */
size_t suci_footprint(const struct suci_limits *limits);
/* Build an endpoint in mem.  NULL if the configuration is out of range. */
struct suci *suci_new(void *mem, const struct suci_config *conf, uint64_t now_ns);
/* Close all paths without sending anything; every held cookie is released with
 * ABANDONED.  Accepts NULL.  Returns the memory. */
void *suci_fini(struct suci *ep, uint64_t now_ns);

/* Begin the handshake with to.  hello NULL: the configured one.
 * 0 and *path, or EXISTS (with *path), NOMEM, INVAL. */
int suci_path_open(struct suci *ep, const struct suci_addr *to, const void *hello, size_t hello_len,
		   uint32_t *path, uint64_t now_ns);
/* A path that connects: say at once again what was said last, for the way may have come up only
 * now.  0, or DOWN: it is not connecting. */
int suci_path_nudge(struct suci *ep, uint32_t path, uint64_t now_ns);
/* Acknowledge at once what has come, and from now on whatever comes: the path is about to end, and
 * the peer waits for it. */
void suci_path_ack(struct suci *ep, uint32_t path, uint64_t now_ns);
/* Send CLOSE (a few times, best effort) with text and drop the path now. */
void suci_path_close(struct suci *ep, uint32_t path, const char *text, uint64_t now_ns);
/* As when liveness_ns is over: the peer has been silent by the caller's own measure.  The path
 * goes down with SILENT; so does the peer's end, should it hear us. */
void suci_path_silent(struct suci *ep, uint32_t path, uint64_t now_ns);
/* The driver learned by an ICMP error that nobody is at that address.  quote is the beginning of
 * the UDP payload that the error quotes; with less than 20 bytes of it, or with tags that are not
 * the path's, it is dropped.  Else the path goes down when the peer leaves two probes unanswered,
 * too. */
void suci_path_unreachable(struct suci *ep, const struct suci_addr *to, const void *quote,
			   size_t len, uint64_t now_ns);
/* Queue a segment.  0: taken, ops->released will be called with seg->cookie.
 * FULL, NOMEM, DOWN, TOOBIG: nothing kept.  head and data must stay valid and
 * unchanged until released. */
int suci_path_send(struct suci *ep, uint32_t path, const struct suci_segment *seg, uint64_t now_ns);
/* The same for a segment that came in, in ops->segment or held since: it goes on as it lies in its
 * receive buffer, where payload is its data and the lane header is right in front, with these two
 * labels, which are written there if it is taken.  Both must stay until released. */
int suci_path_forward(struct suci *ep, uint32_t path, const struct suci_segment *seg,
		      uint8_t *payload, uint32_t dst_label, uint32_t src_label, uint64_t now_ns);
/* Queue a note (<= 1024 bytes, copied) for the peer endpoint itself; reliable,
 * unordered.  Used by relays and libmpi to tell each other why a job ends. */
int suci_path_note(struct suci *ep, uint32_t path, const void *note, size_t len, uint64_t now_ns);
/* Notes overtake each other, so one that tells a state may be old news.  In ops->note: did the
 * peer queue this one after that with the number *latest (0: there was none; begin with 0 when a
 * path comes up)?  If so *latest is now its.  True if the peer does not number its notes. */
bool suci_note_is_news(const struct suci *ep, uint32_t *latest);
/* The number of a note for which there may be no room yet: it tells what is so now, and is no news
 * to who has heard what was queued meanwhile. */
uint32_t suci_note_number(struct suci *ep);
int suci_path_note_as(struct suci *ep, uint32_t path, uint32_t number, const void *note, size_t len,
		      uint64_t now_ns);
/* Other hello data in what is sent from now on, where suci_path_open() gave none of its own;
 * may be called from ops->accept.  0 or INVAL. */
int suci_set_hello(struct suci *ep, const void *hello, size_t len);
/* How many segments suci_path_send() would take now. */
uint32_t suci_path_room(const struct suci *ep, uint32_t path);
/* ops->pull would return something for this path now. */
void suci_path_wake(struct suci *ep, uint32_t path);
/* Replace congestion control and MTU of one path (policy of the caller). */
int suci_path_set_cc(struct suci *ep, uint32_t path, enum suci_cc_kind cc, uint64_t rate_bps,
		     uint32_t window);
/* Slow write: no more than limit_bps bytes per second over this path, whatever congestion
 * control says; 0: no limit.  suci_path_set_cc() takes it away.  0 or DOWN. */
int suci_path_set_pace(struct suci *ep, uint32_t path, uint64_t limit_bps);
/* No more than so many packets in flight over this path, whatever congestion control says; 0:
 * limits.window_max, the most in any case.  What is in flight beyond it stays.
 * suci_path_set_cc() takes it away.  0 or DOWN. */
int suci_path_set_window(struct suci *ep, uint32_t path, uint32_t packets);
/* Replace the configured liveness_ns and keepalive_ns of one path that is up (in
 * ops->path_up at the earliest): a process that computes answers nobody for
 * minutes and lives, a relay does not.  0 or DOWN. */
int suci_path_set_liveness(struct suci *ep, uint32_t path, uint64_t liveness_ns,
			   uint64_t keepalive_ns);
/* Other keys and peers from now on (of keys: key, nkeys, me, peer, npeers; what it points to lives
 * as long as the endpoint, or until the next of these calls).  Paths that are up stay up under what
 * they agreed upon, but for those to peers that are not in the list any more: these go down with
 * SUCI_DOWN_REFUSED.  What is being opened begins again with the new ones.  0; or INVAL, and
 * nothing is changed: bad keys, identities where there were none or the reverse, an endpoint that
 * seals nothing. */
int suci_rekey(struct suci *ep, const struct suci_seal_conf *keys, uint64_t now_ns);
/* Other settings from now on, of conf: ack_delay_ns and migrate for all paths; liveness_ns and
 * keepalive_ns for those too that are up and have what was configured (suci_path_set_liveness());
 * cc, fixed_rate_bps, fixed_window, initial_window, ecn and handshake_ns for paths that are opened
 * or come up later: suci_path_set_cc() is for one that is up.  0; or INVAL, and nothing is changed:
 * out of range. */
int suci_retune(struct suci *ep, const struct suci_config *conf, uint64_t now_ns);
/* Send an ack now if one is pending (leaving a progress loop). */
void suci_flush_acks(struct suci *ep);
/* Another ack_every, from the next packet on; 0 changes nothing. */
void suci_set_ack_every(struct suci *ep, uint32_t packets);

/* A datagram (UDP payload) came in.  The bytes are valid during the call; if they are
 * sealed they are opened in place.
 * cookie goes to ops->segment. */
void suci_rx(struct suci *ep, const struct suci_addr *from, void *dgram, size_t len,
	     uint64_t cookie, uint64_t now_ns);
/* The same from a driver that sees the two ECN bits of the IP header (RFC 3168). */
void suci_rx_ecn(struct suci *ep, const struct suci_addr *from, void *dgram, size_t len,
		 uint8_t ecn, uint64_t cookie, uint64_t now_ns);
enum suci_ecn { SUCI_ECN_NOT = 0, SUCI_ECN_ECT1 = 1, SUCI_ECN_ECT0 = 2, SUCI_ECN_CE = 3 };

/* One datagram to send: head, then seg_head, then data.  If sealed is true, what is to be
 * sent is not this but what suci_seal() makes of it. */
struct suci_out {
	struct suci_addr to;
	uint16_t head_len;
	uint16_t seg_head_len;
	uint16_t data_len;
	const uint8_t *seg_head; /* second piece, may be NULL */
	const uint8_t *data;	 /* third piece, may be NULL */
	uint64_t cookie;	 /* of the segment; valid if has_segment */
	bool has_segment;
	bool retransmit;
	uint8_t ecn; /* SUCI_ECN_NOT or, only with suci_config.ecn, SUCI_ECN_ECT0 */
	bool sealed;
	uint32_t path;
	uint64_t pn, seal_serial; /* for suci_seal() */
	uint8_t head[SUCI_HEAD_MAX + SUCI_BODY_HDR + SUCI_HELLO_MAX];
};

/* Bytes of the datagram as it is sent. */
static inline uint32_t
suci_out_len(const struct suci_out *o)
{
	return (uint32_t)o->head_len + o->seg_head_len + o->data_len +
	       (o->sealed ? SUCI_SEAL_TAG : 0u);
}
/* 1: *out is to be sent now.  0: nothing now; see suci_expiry_ns().  seg_head and
 * data stay valid over further suci_tx() calls with the same now_ns, so a driver may gather a
 * batch; suci_rx(), suci_tick(), a close or a flush may release them, and so may suci_tx() with a
 * later time: it does what suci_tick() does, and a path may go down. */
int suci_tx(struct suci *ep, struct suci_out *out, uint64_t now_ns);
/* Write the sealed datagram to dst, cap >= suci_out_len(out) bytes of the caller that are
 * none of the pieces.  Once for each sealed one, in the order in which suci_tx() gave them,
 * and before any other call than suci_tx().  Its length; 0: not to be sent, its path has
 * gone down meanwhile or cap is too small. */
size_t suci_seal(struct suci *ep, const struct suci_out *out, uint8_t *dst, size_t cap);
/* Timers whose time has come. */
void suci_tick(struct suci *ep, uint64_t now_ns);
/* When suci_tick() or suci_tx() has to be called next without further input:
 * BASE_NEVER_NS if nothing is pending. */
uint64_t suci_expiry_ns(const struct suci *ep);

struct suci_path_info {
	struct suci_addr peer;
	bool up;
	bool incoming;
	uint32_t mtu;	  /* largest UDP payload sent now */
	uint32_t mtu_max; /* that both ends take: mtu grows up to it by probing */
	uint32_t mss;	  /* mtu - SUCI_OVERHEAD */
	bool ecn;	  /* marks are used and have proved good so far */
	uint32_t tx_ce;	  /* packets the peer got marked CE, modulo 2^32 */
	uint32_t moves;	  /* how often the peer changed its address */
	uint64_t rtt_ns, rtt_ns_min, rtt_ns_var;
	uint32_t cwnd, in_flight, queued, peer_credit; /* packets */
	uint32_t refused; /* of queued: by the peer, waiting to be sent again */
	/* Of what the peer sends: its last packet number, and how many up to it did not come or
	 * were refused, both modulo 2^32.  Packets it may still send; it stands in line for more.
	 */
	uint32_t rx_last, rx_missing, rx_credit;
	bool rx_waits;
	uint64_t rate_bps; /* pacing rate, bytes per second; 0 = unpaced */
	uint64_t tx_segments, tx_retransmits, rx_segments, tx_bytes, rx_bytes;
	uint64_t last_rx_ns;
	uint64_t peer_incarnation;
	bool sealed;
	uint32_t key_id; /* of the pre-shared key, if sealed */
	enum suci_cc_kind cc;
};
/* false if path is not in use. */
bool suci_path_info(const struct suci *ep, uint32_t path, struct suci_path_info *out);
/* The path to that address, or UINT32_MAX. */
uint32_t suci_path_find(const struct suci *ep, const struct suci_addr *to);
const struct suci_counters *suci_counters(const struct suci *ep);
/* Segments queued or in flight over all paths: 0 when everything is delivered. */
uint32_t suci_held(const struct suci *ep);
/* Since when the path that ran out of its peer's credit last has something to send; 0 when it has
 * got more.  What waits for that goes only while datagrams are read: an owner about to stop reading
 * for long may look here first. */
uint64_t suci_short_since_ns(const struct suci *ep);
/* For tests: do all lists, counts and limits agree?  Walks everything.  false: *what
 * names the rule that does not hold. */
bool suci_check(const struct suci *ep, const char **what);

#endif
