/* SPDX-License-Identifier: BSD-2-Clause */
/* ocs/switch.h - the contract between light paths and the driver of one switch.
 *
 * A driver speaks one switch's protocol (NETCONF, OpenFlow, TL1, SCPI, or the
 * simulator's).  It carries out what it is asked, one request after the other,
 * and reports; it decides nothing: no retry, no reading back by itself, no
 * circuit it was not asked for.  Who asks is ocs/control.h, which joins a
 * matrix (ocs/matrix.h) to a switch; a planner is above that.
 *
 *    planner -- request, release --> matrix -- batches --> control -- requests --> driver
 *            <- lit, refused ---        <- reports ---         <- events -----
 *
 * A driver is sans-I/O where the protocol is ours to parse: bytes go in by
 * rx(), come out by tx(), time comes with every call.  One that rests on a
 * library with sockets of its own (libnetconf2) leaves rx and tx NULL, lives in
 * driver/ocs/netconf and does its work in tick(), which must not block longer than the
 * caller's loop may.
 *
 * Requests  identify, apply, read_all, power, lock, confirm.  Each takes an id
 *           the caller chose and returns at once: OCS_ERR_OK means taken, and
 *           exactly one OCS_EVENT_DONE with this id ends it, after all its
 *           other events; any other value means nothing happened and no event
 *           comes.  One request is outstanding at a time (OCS_ERR_BUSY), so
 *           a driver needs no queue.  When the session ends the open request is
 *           ended with OCS_ERR_OFFLINE *before* OCS_EVENT_DOWN: whether
 *           the switch has carried it out is then unknown, and reading back tells.
 * apply     Removals first, then additions, so that a port freed in a batch
 *           can be used again in the next one.  One OCS_EVENT_CIRCUIT for every
 *           circuit of the batch, in any order, with its own result.  With
 *           `atomic` all succeed or none; a driver without OCS_CAP_ATOMIC_BATCH
 *           answers OCS_ERR_UNSUPPORTED.  A removal of what is not there and
 *           an addition of what is there already are successes.  A driver never
 *           displaces a circuit to make room, whether or not its switch would:
 *           OCS_CAP_IMPLICIT_DISPLACE says that the switch moves silently, so
 *           the driver has to look first.
 *           Success is the switch's word, not light: with OCS_CAP_ASYNC_COMPLETE
 *           even the mirrors may still be moving, and the state of read_all()
 *           says when they are not.
 * Times     done_ns of an event is when the switch said so, from the now_ns of
 *           the call that brought the bytes: gamma is learnt from it.
 * Ports     0 .. ingress-1 and 0 .. egress-1, apart; how the switch numbers
 *           them on the wire (egress from N+1, dotted, 10000+n) is the driver's.
 * Secrets   a driver gets credentials from whoever makes it, and never puts them,
 *           or a line that holds them, into `text`.
 * Threads   one owner.
 * Source    driver contract of the optical control digest, section 1. */
#ifndef OCS_SWITCH_H
#define OCS_SWITCH_H

#include "ocs/matrix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a switch, by its protocol, can do. */
#define OCS_CAPS(X)                                                                               \
	X(ATOMIC_BATCH, 0, "atomic_batch", "a batch is done as a whole or not at all")            \
	X(IMPLICIT_DISPLACE, 1, "implicit_displace",                                              \
	  "setting a circuit tears down another that is in its way")                              \
	X(ASYNC_COMPLETE, 2, "async_complete", "success is said before the mirrors have settled") \
	X(POWER, 3, "power", "light can be measured at a port")                                   \
	X(LOCK, 4, "lock", "the matrix can be locked against others")                             \
	X(DEADMAN_ROLLBACK, 5, "deadman_rollback", "unconfirmed changes revert by themselves")    \
	X(EVENTS, 6, "events", "changes by others are told, not only found by reading back")      \
	X(BIDIRECTIONAL, 7, "bidirectional", "one circuit carries light both ways")
enum ocs_cap {
#define X(n, bit, name, t) OCS_CAP_##n = 1u << bit,
	OCS_CAPS(X)
#undef X
};
/* "power", ...; NULL for what is not exactly one known bit. */
const char *ocs_cap_name(uint32_t cap);

#define OCS_TEXT_MAX 96

struct ocs_identity {
	char vendor[32], model[32], version[32];
	uint32_t ingress, egress; /* how many ports there are, <= OCS_PORTS_MAX */
	uint32_t caps;		  /* enum ocs_cap */
	uint32_t max_batch;	  /* circuits in one apply(), at least 1 */
};

/* A circuit as the switch shows it. */
enum ocs_shown {
	OCS_SHOWN_SETTLING, /* provisioned, mirrors moving or state not known yet */
	OCS_SHOWN_STEADY,   /* set; as far as the switch knows light passes */
	OCS_SHOWN_DARK,	    /* set, but the switch sees no light */
};

struct ocs_change {
	const struct ocs_circuit *remove, *add; /* only in and out matter; valid during the call */
	uint32_t removals, additions;		/* together <= max_batch */
	bool atomic;
	/* With OCS_CAP_DEADMAN_ROLLBACK: revert if not confirmed within this time; 0: never. */
	uint64_t revert_after_ns;
};

enum ocs_event_kind {
	OCS_EVENT_UP,	    /* session open and logged in: requests are taken */
	OCS_EVENT_DOWN,	    /* session lost; nothing is believed until it is read back */
	OCS_EVENT_IDENTITY, /* identify: `identity` */
	OCS_EVENT_CIRCUIT,  /* apply: in, out, err; read_all: in, out, shown */
	OCS_EVENT_POWER,    /* power: port, ingress, dbm_hundredths */
	OCS_EVENT_DONE,	    /* the request with `id` is over: err */
	OCS_EVENT_CHANGED,  /* somebody else touched the matrix: read it back */
	OCS_EVENT_ALARM,    /* port, ingress: light lost (err OCS_ERR_DARK) or back (OCS_ERR_OK) */
};

struct ocs_event {
	enum ocs_event_kind kind;
	uint32_t id; /* of the request; 0 if it belongs to none */
	int err;     /* enum ocs_err */
	uint32_t in, out;
	bool removal; /* CIRCUIT of apply: it was to be removed */
	enum ocs_shown shown;
	uint32_t port;
	bool ingress;
	int32_t dbm_hundredths; /* OCS_NO_POWER: no reading */
	uint64_t done_ns;
	const struct ocs_identity *identity; /* valid until the next call */
	char text[OCS_TEXT_MAX];	     /* the switch's own words, "" if none */
};
#define OCS_NO_POWER INT32_MIN

struct ocs_port_name {
	uint32_t port;
	bool ingress;
};

struct ocs_switch; /* a driver embeds it as its first member */

struct ocs_switch_ops {
	const char *name; /* "netconf", "openflow", "tl1-polatis", "scpi", "sim", ... */

	/* -- the session: a byte stream that the caller opens, closes, opens again -- */
	void (*connected)(struct ocs_switch *sw, uint64_t now_ns);
	void (*disconnected)(struct ocs_switch *sw, uint64_t now_ns);
	/* Bytes that came in: all are consumed.  False: the peer talks nonsense, hang up. */
	bool (*rx)(struct ocs_switch *sw, const uint8_t *data, size_t len, uint64_t now_ns);
	/* Bytes to send now: how many of room were written to buf; 0: nothing. */
	size_t (*tx)(struct ocs_switch *sw, uint8_t *buf, size_t room, uint64_t now_ns);
	/* Time: keep-alives, time limits of requests.  expiry: when tick wants to be called,
	 * UINT64_MAX: not. */
	void (*tick)(struct ocs_switch *sw, uint64_t now_ns);
	uint64_t (*expiry_ns)(const struct ocs_switch *sw);

	/* -- requests; identify, apply and read_all are never NULL -- */
	int (*identify)(struct ocs_switch *sw, uint32_t id, uint64_t now_ns);
	int (*apply)(struct ocs_switch *sw, uint32_t id, const struct ocs_change *c,
		     uint64_t now_ns);
	int (*read_all)(struct ocs_switch *sw, uint32_t id, uint64_t now_ns);
	int (*power)(struct ocs_switch *sw, uint32_t id, const struct ocs_port_name *ports,
		     uint32_t count, uint64_t now_ns);
	int (*lock)(struct ocs_switch *sw, uint32_t id, bool on, uint64_t now_ns);
	/* Changes made with revert_after_ns stay; to be called again before it is over. */
	int (*confirm)(struct ocs_switch *sw, uint32_t id, uint64_t now_ns);

	/* -- what happened: false if nothing (more) has -- */
	bool (*next)(struct ocs_switch *sw, struct ocs_event *ev);
};

struct ocs_switch {
	const struct ocs_switch_ops *ops;
};

#endif
