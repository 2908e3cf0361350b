/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/client.h - a client's end of the server channel: joins the job, submits
 * label values when the caller has them, collects the tables.
 *
 *   AUTH_SENT --choice--> RANK_SENT --size: event SIZE--> COLLECTING
 *   COLLECTING: impi_client_submit() per label; event LABEL per reply
 *   COLLECTING --impi_client_done()--> DONE_SENT --DONE: event STARTED--> RUNNING
 *   RUNNING --impi_client_fini()--> FINISHED (send what _tx() has, close)
 *   any --violation, EOF--> FAILED: event FAILED, impi_client_error() says why
 *
 * Values may be computed late: P_PID of a process needs its world rank, which
 * is known when NPROCS has been answered.  The server answers a label when all
 * clients have submitted it, so submit early what is known early, in the order
 * of IMPI_LABEL_LIST (impi_client_next_label()).
 *
 *     c = impi_client_new(mem, &limits, &cfg);
 *     loop: send what impi_client_tx() gives; read bytes;
 *           n = impi_client_rx(c, p, len, &ev) until all is taken and ev is NONE
 *           on SIZE:    submit C_* and H_* labels, P_IPV6
 *           on LABEL C_NPROCS: submit P_PID
 *           all answered (impi_client_unanswered() is 0): impi_client_done(), not before,
 *           for some servers drop what is not answered when the last DONE comes
 *           on STARTED: impi_client_tables(c) is complete
 *     at the end: impi_client_fini(c), send the rest of _tx(), close
 *
 * A server of ours that ends the waiting because another client will not come says which one
 * and why (impi/gone.h): FAILED, and the text is in impi_client_error().
 *
 * Replies are taken in any order.  Replies to labels this client did not submit
 * are skipped.
 *
 * Memory   impi_client_footprint() bytes of the caller, nothing after new.
 * Threads  one owner. */
#ifndef IMPI_CLIENT_H
#define IMPI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/auth.h"
#include "impi/error.h"
#include "impi/tables.h"

#define IMPI_CLIENT_LABELS_MAX 64 /* labels a client may submit */

struct impi_client_config {
	struct impi_auth auth; /* mask must not be 0 */
	uint32_t rank;	       /* client rank, < IMPI_CLIENTS_MAX */
	/* Bytes for values submitted and not yet taken by _tx(), besides those of
	 * the standard labels (for which there is room); 0 if no others are sent. */
	uint32_t extra_tx_bytes;
	/* Not NULL: this is its launcher, who says by impi_client_say_gone() that the client will
	 * not come, and why; kept by the caller. */
	const char *gone;
};

enum impi_client_state {
	IMPI_CLS_AUTH_SENT,
	IMPI_CLS_RANK_SENT,
	IMPI_CLS_COLLECTING,
	IMPI_CLS_DONE_SENT,
	IMPI_CLS_RUNNING,
	IMPI_CLS_FINISHED,
	IMPI_CLS_FAILED,
};

enum impi_client_event_type {
	IMPI_CL_NONE,	 /* all bytes taken, nothing to tell */
	IMPI_CL_SIZE,	 /* nclients */
	IMPI_CL_LABEL,	 /* label, mask, data, len: valid until the next impi_client_rx() */
	IMPI_CL_STARTED, /* the server said DONE; tables are finished */
	IMPI_CL_FAILED,	 /* told once; further bytes are ignored */
};

struct impi_client_event {
	enum impi_client_event_type type;
	uint32_t nclients;
	uint32_t label;
	uint32_t mask;
	const uint8_t *data;
	uint32_t len;
};

struct impi_client;

/* 0 if limits or config are invalid. */
size_t impi_client_footprint(const struct impi_limits *limits,
			     const struct impi_client_config *cfg);
/* mem: footprint bytes, aligned to 64.  Queues AUTH at once. */
struct impi_client *impi_client_new(void *mem, const struct impi_limits *limits,
				    const struct impi_client_config *cfg);
/* Forget everything, key included; NULL is fine.  The memory is the caller's again. */
void impi_client_end(struct impi_client *c);

/* Take bytes from the server, up to the first event; returns how many. */
size_t impi_client_rx(struct impi_client *c, const void *bytes, size_t len,
		      struct impi_client_event *ev);
/* The server closed or reset the connection.  FAILED (returns true) unless
 * FINISHED. */
bool impi_client_eof(struct impi_client *c);
/* Take at most cap bytes for the server; 0 if there are none. */
size_t impi_client_tx(struct impi_client *c, void *buf, size_t cap);
bool impi_client_tx_pending(const struct impi_client *c);

/* May label be submitted now (size known, not submitted, DONE not sent)? */
bool impi_client_wants(const struct impi_client *c, uint32_t label);
/* First standard label, in the recommended order, that impi_client_wants();
 * IMPI_NO_LABEL if none. */
uint32_t impi_client_next_label(const struct impi_client *c);
/* Queue a label value.  IMPI_ERR_STATE unless wanted, IMPI_ERR_FULL if there
 * is no room now, IMPI_ERR_OVERSIZE above IMPI_CMD_BYTES_MAX; these change
 * nothing. */
enum impi_err impi_client_submit(struct impi_client *c, uint32_t label, const void *data,
				 uint32_t len);
/* The same with the value of an offer (tables.h), standard labels only. */
enum impi_err impi_client_submit_offer(struct impi_client *c, uint32_t label,
				       const struct impi_offer *offer);
/* No more labels: queue DONE.  IMPI_ERR_STATE unless COLLECTING. */
enum impi_err impi_client_done(struct impi_client *c);
/* cfg.gone: say so, age_ns being how long ago the launcher began, counted now.  IMPI_ERR_STATE
 * until the server has answered AUTH, which is why age is not told before (impi/gone.h), and
 * after it was said.  The server closes then. */
enum impi_err impi_client_say_gone(struct impi_client *c, uint64_t age_ns);
/* All procs of this client have finished: queue FINI.  IMPI_ERR_STATE unless
 * RUNNING. */
enum impi_err impi_client_fini(struct impi_client *c);

enum impi_client_state impi_client_state(const struct impi_client *c);
/* code IMPI_ERR_OK unless FAILED. */
const struct impi_error *impi_client_error(const struct impi_client *c);
/* FAILED because the server said that another client will not come: which one, and why.  NULL
 * otherwise. */
const char *impi_client_missing(const struct impi_client *c, uint32_t *rank);
/* Filled label by label, complete from STARTED on, constant then. */
const struct impi_tables *impi_client_tables(const struct impi_client *c);
/* Labels submitted here and not answered yet. */
uint32_t impi_client_unanswered(const struct impi_client *c);

#endif
