/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/impi/rules.h - the server's rules where IMPI 0.0 is silent or was lost.
 *
 * Each is the project's own reading; a better source may replace a function
 * here without touching anything else. */
#ifndef IMPI_RULES_H
#define IMPI_RULES_H

#include <stdint.h>

/* AUTH: which of the methods both sides allow; -1 if there is none.  KEY goes
 * before NONE. */
int impi_rule_auth_choose(uint32_t server_mask, uint32_t client_mask);
/* COLL: is a label complete, given who submitted it, who has said DONE, and
 * all clients (bit masks)?  When everybody has done one or the other. */
int impi_rule_label_complete(uint32_t submitted, uint32_t done, uint32_t all);
/* COLL: who gets the reply.  Only who submitted: one that did not has sent DONE
 * and expects nothing but DONE (LAM aborts on anything else). */
uint32_t impi_rule_reply_to(uint32_t submitted, uint32_t all);
/* A client was lost before its FINI: is the job over for the others at once?  In
 * start-up yes, for none can start without it.  Later they are served on, so that
 * those about to end can do so; the owner says for how long. */
int impi_rule_loss_ends_job(int started);

#endif
