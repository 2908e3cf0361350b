/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/switches.h - how to speak with clients that are not libmpi: what the user
 * says per client, and what can be known from the values they offer at start-up.
 *
 *     SWITCHES := ENTRY { ";" ENTRY }      ENTRY := CLIENT ":" WORD { "," WORD }
 *     CLIENT   := 0..31 | "*"              (* = every foreign client without an entry)
 *
 *     native-payload            data as in this machine's memory, not external32
 *     external32                data as IMPI 0.0 says: big-endian, MPI_LONG 4 bytes
 *     long8                     external32, but MPI_LONG has 8 bytes
 *     reduce-on-pt2pt-context   MPI_Reduce's messages stand on the pt2pt context
 *     auto                      what impi_offered_is_lam() tells, before the other words
 *
 * A client without an entry (and without "*") is `auto`.  Entries of one client add
 * up.  Source of the deviations: IMPI reference 9.1, items 3 and 8 (LAM/MPI 7.1.4).
 *
 * Threads  pure functions of their arguments. */
#ifndef IMPI_SWITCHES_H
#define IMPI_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/error.h"
#include "impi/wire.h"

enum impi_payload {
	IMPI_PAYLOAD_UNSAID,
	IMPI_PAYLOAD_NATIVE,
	IMPI_PAYLOAD_EXTERNAL32,
	IMPI_PAYLOAD_LONG8,
};

struct impi_switches {
	bool said;  /* there is an entry */
	bool guess; /* `auto` */
	enum impi_payload payload;
	bool reduce_on_pt2pt;
};

struct impi_switch_table {
	struct impi_switches client[IMPI_CLIENTS_MAX];
	struct impi_switches others; /* "*" */
};

/* NULL or empty text: an empty table.  IMPI_ERR_VALUE: err->text names the entry
 * and what is wrong with it; *out is then incomplete. */
enum impi_err impi_switches_parse(const char *text, struct impi_switch_table *out,
				  struct impi_error *err);
/* What holds for a foreign client, with guess resolved by is_lam; payload is never
 * UNSAID in the result. */
struct impi_switches impi_switches_for(const struct impi_switch_table *t, uint32_t client,
				       bool is_lam);

/* --- what a client offered ------------------------------------------------ */

/* The values of one client as it sent them, before they are combined. */
struct impi_offered {
	uint32_t have; /* bit i: impi_label_at(i) was offered */
	uint32_t datalen, tagub, xsize, maxlinear;
	uint32_t ackmark, hiwater; /* the caller's: of all its hosts; 0 if they differ */
};

/* Note the reply of the server to a label; others than those above are ignored. */
void impi_offered_label(struct impi_offered offered[IMPI_CLIENTS_MAX], uint32_t label,
			uint32_t mask, const uint8_t *data, size_t len);
/* Exactly the values LAM/MPI 7.1.4 always offers (IMPI reference 3.5.1). */
bool impi_offered_is_lam(const struct impi_offered *o);

#endif
