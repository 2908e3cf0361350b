/* SPDX-License-Identifier: BSD-2-Clause */
/* ocsproto/core.h - what protocol engines share (those here, and the one for NETCONF in
 * driver/ocs/netconf): one request at a time, the circuits of it, the matrix as it was read
 * last, events, the bytes that wait to be sent.
 *
 * An engine is a table of functions.  apply() goes through stages, each of them one
 * call of the engine that ends with ocsproto_core_stage_done():
 *
 *   LOOK    read()           what is there succeeds, what is in the way is BUSY
 *   REMOVE  change(removal)
 *   ADD     change(addition)
 *   VERIFY  read()           only if ocsproto_core_verify() was called: the matrix decides
 *
 * or LOOK, then SWAP for an atomic batch. */
#ifndef OCSPROTO_CORE_H
#define OCSPROTO_CORE_H

#include "base/clock.h"
#include "ocsproto/ocsproto.h"

#define CORE_NONE  UINT32_MAX	    /* out_of, in_of: free */
#define CORE_OTHER (UINT32_MAX - 1) /* taken by something that is no circuit of ours to name */
#define CORE_RING  16u

struct core;

struct core_ops {
	const char *name;
	uint16_t tcp_port;
	uint32_t caps;
	size_t (*footprint)(const struct ocsproto_config *cfg);
	void (*start)(struct core *c); /* connected: log in, identify, then ocsproto_core_up() */
	void (*rx)(struct core *c, const uint8_t *p, size_t len);
	void (*read)(
		struct core *c); /* ocsproto_core_have() each, then ocsproto_core_stage_done() */
	void (*change)(struct core *c, bool removal);
	void (*swap)(struct core *c);  /* NULL: no atomic batches */
	void (*power)(struct core *c); /* NULL: cannot; like the next two */
	void (*lock)(struct core *c, bool on);
	void (*confirm)(struct core *c);
	void (*keepalive)(struct core *c);
};

enum core_session { CORE_CLOSED, CORE_OPENING, CORE_UP, CORE_BROKEN };
enum core_request {
	CORE_IDLE,
	CORE_IDENTIFY,
	CORE_APPLY,
	CORE_READ,
	CORE_POWER,
	CORE_LOCK,
	CORE_CONFIRM,
};
enum core_stage { CORE_NO_STAGE, CORE_LOOK, CORE_REMOVE, CORE_ADD, CORE_SWAP, CORE_VERIFY };

struct core_item {
	uint32_t in, out;
	bool removal;
	bool decided; /* err says how it ended */
	bool single;  /* engine: not to be grouped again */
	uint8_t step; /* engine */
	uint32_t tag; /* engine */
	int err;
	uint64_t done_ns;
	char text[OCS_TEXT_MAX];
};

struct core_power {
	struct ocs_port_name port;
	int32_t dbm_hundredths;
};

struct core {
	struct ocs_switch sw; /* first */
	struct ocs_switch_ops ops;
	const struct core_ops *proto;
	struct ocsproto_config cfg;
	struct ocs_identity id;
	enum core_session session;
	uint64_t now;

	enum core_request request;
	enum core_stage stage;
	uint32_t request_id;
	bool over; /* the request has ended; next() tells what came of it */
	bool atomic, verify;
	uint64_t revert_after_ns;
	int err;
	uint64_t done_ns;
	char text[OCS_TEXT_MAX];
	uint32_t told; /* of its events */
	struct core_item *items;
	uint32_t nitems;
	struct core_power *powers;
	uint32_t npowers;

	uint32_t *out_of; /* by ingress */
	uint32_t *in_of;  /* by egress */
	uint8_t *shown;	  /* by ingress: enum ocs_shown */

	uint64_t answer_by; /* an answer is due; BASE_NEVER_NS: none is */
	uint64_t keep_at;
	uint64_t again_at; /* engine asked to be called again: wake() */
	void (*again)(struct core *c);

	uint8_t *tx;
	size_t tx_at, tx_len, tx_room;

	struct ocs_event ring[CORE_RING];
	uint32_t ring_head, ring_tail;
	int down_err;
	char down_text[OCS_TEXT_MAX];
	void *engine;
};

/* ---- for engines ---- */
/* As ocsproto_new(), for an engine that is none of its kinds. */
size_t ocsproto_core_footprint(const struct ocsproto_config *cfg, const struct core_ops *proto);
struct ocs_switch *ocsproto_core_new(void *mem, const struct ocsproto_config *cfg,
				     const struct core_ops *proto);
void ocsproto_core_up(struct core *c);
/* The session is of no use any more. */
void ocsproto_core_fail(struct core *c, int err, const char *text);
/* Bytes to send; false, and the session fails, if they do not fit. */
bool ocsproto_core_send(struct core *c, const void *p, size_t len);
size_t ocsproto_core_tx_left(const struct core *c);
/* An answer is due from now on; all are here. */
void ocsproto_core_expect(struct core *c);
void ocsproto_core_settled(struct core *c);

/* read(): forget, then tell; ports out of range are ignored. */
void ocsproto_core_have_none(struct core *c);
void ocsproto_core_have(struct core *c, uint32_t in, uint32_t out, enum ocs_shown shown);
void ocsproto_core_power_is(struct core *c, bool ingress, uint32_t port, int32_t dbm_hundredths);

/* change(): the next undecided item of this kind at or after i, or NULL. */
struct core_item *ocsproto_core_item(struct core *c, bool removal, uint32_t *i);
void ocsproto_core_decide(struct core *c, struct core_item *it, int err, const char *text);
/* The matrix decides, not the answers. */
void ocsproto_core_verify(struct core *c);
/* read(), change(), swap(), power() are through; err ends the whole request. */
void ocsproto_core_stage_done(struct core *c, int err, const char *text);

/* Events that belong to no request. */
void ocsproto_core_changed(struct core *c);
void ocsproto_core_alarm(struct core *c, bool ingress, uint32_t port, int err, const char *text);

/* Printable ASCII only, cut at the room there is. */
void ocsproto_core_text(char *to, size_t room, const char *from, size_t len);
/* -3.42 -> -342; false if it is no number within +-300. */
bool ocsproto_core_dbm(const char *s, size_t len, int32_t *hundredths);

extern const struct core_ops ocsproto_polatis, ocsproto_calient, ocsproto_glimmerglass,
	ocsproto_scpi, ocsproto_openflow;

#endif
