/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/gone.h - "this client will not come": what its launcher says when its ranks ended and
 * none of them may have joined, so that the other clients do not wait for it.
 *
 * The launcher connects to the server (or to the relay that plays it) as its client would,
 * authenticates, and says GONE before its rank:
 *
 *     {GONE, 8 + n, age (u64, ns), text[n]} {IMPI, 4, rank}
 *
 * The server believes it while not all clients have joined and none of that rank has.  If it
 * serves one job after another, others must wait, and the launcher have begun after the server's
 * job did (age: how long ago, counted when the server's answer to AUTH is here; the server
 * counts from the accept, so it takes the launcher for older than it is, never for younger).  Then
 * it tells the clients that have joined, whose connections it closes with that:
 *
 *     {GONE, 4 + n, rank, text[n]}
 *
 * Else it closes the launcher's connection, and nothing happens.  Whoever can say GONE could
 * as well take the rank and leave: it ends no job that its key could not end before.
 *
 * Threads  pure functions of their arguments. */
#ifndef IMPI_GONE_H
#define IMPI_GONE_H

#include <stdbool.h>
#include <stdint.h>

#include "impi/wire.h"

#define IMPI_GONE_TEXT	    96			     /* of a text, with its end */
#define IMPI_GONE_BYTES_MAX (8 + IMPI_GONE_TEXT - 1) /* payload, either direction */

struct impi_gone {
	bool said;
	uint64_t age_ns;	   /* of the launcher */
	char text[IMPI_GONE_TEXT]; /* printable ASCII; may be "" */
};

/* The text as it may stand in a log: cut, and what is not printable ASCII a '?'. */
void impi_gone_text(char out[IMPI_GONE_TEXT], const void *text, uint32_t len);
/* The whole command; number says age or rank, in bytes bytes (8 or 4).  Returns its length. */
uint32_t impi_gone_encode(uint8_t out[IMPI_CMD_HDR_BYTES + IMPI_GONE_BYTES_MAX], uint64_t number,
			  uint32_t bytes, const char *text);

#endif
