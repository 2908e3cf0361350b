/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/channel.h - the server's end of one client's connection.
 *
 * Parses what a client sends, in any splitting, keeps the label values it
 * submitted until they are released, and queues what is to be sent.  It does
 * not know other clients: server.h makes a rendezvous server of many of these;
 * a relay is a one-client server over one of these, with replies it composes.
 *
 *   WAIT_AUTH --AUTH--> [WAIT_KEY --key ok-->] WAIT_RANK --IMPI: event RANK-->
 *   RANKED --impi_channel_join()--> COLLECTING --COLL: event LABEL--> ...
 *   COLLECTING --DONE: event DONE--> DONE_SEEN --impi_channel_done()-->
 *   RUNNING --FINI: event FINI--> FINISHED
 *   WAIT_RANK --GONE--> WAIT_RANK; ch->gone then says so, at the latest at the event RANK
 *   any --violation--> FAILED: event FAILED, err says why; close the connection
 *
 * In COLLECTING and DONE_SEEN the owner calls impi_channel_size() once and
 * impi_channel_reply() once per submitted label, in any order.
 *
 * Loop of the owner:
 *
 *     while (len > 0) {
 *             size_t n = impi_channel_rx(ch, p, len, &ev);
 *             p += n, len -= n;
 *             ... look at ev.type, IMPI_CH_NONE included ...
 *     }
 *     while ((n = impi_channel_tx(ch, buf, sizeof buf)) > 0) send(buf, n);
 *
 * Memory   the struct, plus two buffers of the caller: tx and (from join on)
 *          the store of label values.  Nothing else.
 * Threads  one owner. */
#ifndef IMPI_CHANNEL_H
#define IMPI_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/auth.h"
#include "impi/error.h"
#include "impi/gone.h"
#include "impi/queue.h"
#include "impi/wire.h"

#define IMPI_CHANNEL_LABELS_MAX	  64 /* labels a client may submit in a job */
#define IMPI_CHANNEL_TX_BYTES_MIN 64

enum impi_channel_state {
	IMPI_CHS_WAIT_AUTH,
	IMPI_CHS_WAIT_KEY,
	IMPI_CHS_WAIT_RANK,
	IMPI_CHS_RANKED,
	IMPI_CHS_COLLECTING,
	IMPI_CHS_DONE_SEEN,
	IMPI_CHS_RUNNING,
	IMPI_CHS_FINISHED,
	IMPI_CHS_FAILED,
};

enum impi_channel_event_type {
	IMPI_CH_NONE,	/* all bytes taken, nothing to tell */
	IMPI_CH_RANK,	/* rank: authenticated and has named itself; join or fail it */
	IMPI_CH_LABEL,	/* label, data, len: valid until impi_channel_release() */
	IMPI_CH_DONE,	/* will submit no more */
	IMPI_CH_FINI,	/* finished normally; further bytes are ignored */
	IMPI_CH_FAILED, /* ch->err; told once, further bytes are ignored */
};

struct impi_channel_event {
	enum impi_channel_event_type type;
	int32_t rank;
	uint32_t label;
	const uint8_t *data;
	uint32_t len;
};

/* Private, exposed so that it can be embedded.  Read state, err, rank, gone freely. */
struct impi_channel {
	enum impi_channel_state state;
	int32_t rank;	       /* from RANKED on */
	struct impi_gone gone; /* said: the client of that rank will not come (impi/gone.h) */
	struct impi_error err;
	struct impi_auth auth;
	bool size_sent;
	/* receiving */
	/* header, then fixed payload, of the command coming in */
	uint8_t head[IMPI_CMD_HDR_BYTES + IMPI_GONE_BYTES_MAX];
	uint32_t head_len;  /* bytes of it that are here */
	uint32_t head_want; /* bytes of it that are needed to go on */
	uint32_t data_want; /* bytes of COLL data still to come */
	bool in_data;
	/* label values: store[0, store_len), in order of arrival; entry n-1 may be growing */
	uint8_t *store;
	size_t store_cap, store_len;
	struct impi_channel_entry {
		uint32_t label;
		uint32_t off, len;
		bool answered, released;
	} entry[IMPI_CHANNEL_LABELS_MAX];
	uint32_t nentries; /* complete ones */
	/* sending */
	struct impi_queue tx;
	uint32_t reply_left; /* bytes of a begun reply still to be given */
};

/* auth is copied; its mask must not be 0.  tx: tx_cap bytes, at least
 * IMPI_CHANNEL_TX_BYTES_MIN, kept by the channel. */
enum impi_err impi_channel_init(struct impi_channel *ch, const struct impi_auth *auth, void *tx,
				size_t tx_cap);
/* Forget everything, key included. */
void impi_channel_fini(struct impi_channel *ch);

/* Take bytes from the client, up to the first event; returns how many were
 * taken (0 only if len is 0 or a join is awaited).  Call again with the rest.
 * In RANKED nothing is taken until the owner has joined or failed it. */
size_t impi_channel_rx(struct impi_channel *ch, const void *bytes, size_t len,
		       struct impi_channel_event *ev);
/* The connection was closed or reset by the other side.  FAILED unless
 * FINISHED.  Returns true if that was an early end (err is set). */
bool impi_channel_eof(struct impi_channel *ch);
/* Inside a command (or not joined yet), so a time limit makes sense. */
bool impi_channel_is_midway(const struct impi_channel *ch);
/* The owner rejects the client: FAILED with this reason (unless failed or
 * finished before); no event. */
void impi_channel_fail(struct impi_channel *ch, enum impi_err code, const char *why);

/* Send from other memory from now on, at least as much; what is queued goes along. */
void impi_channel_move_tx(struct impi_channel *ch, void *tx, size_t tx_cap);
/* RANKED: accept the rank; label values go to store (kept by the channel until
 * fini).  A client whose values do not fit store_cap fails with OVERSIZE. */
enum impi_err impi_channel_join(struct impi_channel *ch, void *store, size_t store_cap);
/* The value the client submitted; false if it has not (or it was released). */
bool impi_channel_label(const struct impi_channel *ch, uint32_t label, const uint8_t **data,
			uint32_t *len);
/* Its bytes are not needed any more.  Moves other values: pointers from events
 * and impi_channel_label() are stale afterwards. */
void impi_channel_release(struct impi_channel *ch, uint32_t label);

/* Queue {IMPI, 4, nclients}.  IMPI_ERR_STATE if not joined or told before. */
enum impi_err impi_channel_size(struct impi_channel *ch, uint32_t nclients);
/* Queue a whole label reply, or nothing: IMPI_ERR_FULL if tx has no room for
 * 16 + len bytes now, IMPI_ERR_STATE if the client did not submit the label,
 * has its answer already, or was not told the size. */
enum impi_err impi_channel_reply(struct impi_channel *ch, uint32_t label, uint32_t mask,
				 const void *data, uint32_t len);
/* The same in pieces, for replies larger than tx: begin queues the header
 * (errors as above, FULL if 16 bytes do not fit); give returns how many bytes
 * were queued.  Nothing else can be queued until all len bytes were given. */
enum impi_err impi_channel_reply_begin(struct impi_channel *ch, uint32_t label, uint32_t mask,
				       uint32_t len);
size_t impi_channel_reply_give(struct impi_channel *ch, const void *data, size_t len);
/* Queue DONE: start-up is over for this client; RUNNING.  IMPI_ERR_STATE
 * unless DONE_SEEN with every submitted label answered; IMPI_ERR_FULL. */
enum impi_err impi_channel_done(struct impi_channel *ch);

/* Queue {GONE, rank, text}, if the client waits for the size; else nothing.  The owner sends what
 * is queued and closes. */
void impi_channel_tell_gone(struct impi_channel *ch, uint32_t rank, const char *text);

/* Take at most cap queued bytes; 0 if there are none. */
size_t impi_channel_tx(struct impi_channel *ch, void *buf, size_t cap);
static inline bool
impi_channel_tx_pending(const struct impi_channel *ch)
{
	return ch->tx.len > 0;
}

#endif
