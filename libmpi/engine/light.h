/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/engine/light.h - light paths to other clusters: light/client.h with a relay, a clock and
 * turns (doc/optical.md); ../transport/light.c.
 *
 * LIBMPI_OPTICAL=auto|off|naive|batched|pipelined|cached|hybrid: what is announced; auto: as
 * the relays are configured.
 *
 * Threads  the lock is held. */
#ifndef LMPI_LIGHT_H
#define LMPI_LIGHT_H

#include "light/client.h"

/* NULL until a relay of this cluster offers light for the first time: the one test that
 * everybody else pays. */
extern struct light_client *lmpi_light;

/* Read the environment.  0, or an error class (said). */
int lmpi_light_init(void);
/* LIBMPI_OPTICAL=cached: the same answer at all processes, light or not. */
bool lmpi_light_cached(void);
void lmpi_light_fini(void);
void lmpi_light_print_stats(void);
/* Counters, NULL while nobody has offered light. */
const void *lmpi_light_counters(void);

/* A note of type 7 of relay i; that relay went down. */
void lmpi_light_note(uint32_t i, const void *bytes, size_t len);
void lmpi_light_relay_gone(uint32_t i);

/* Report and announce what is to be, let messages go that may.  True: one went.  Not inside a
 * transport. */
bool lmpi_light_turn(void);
/* What was reported or announced leaves now. */
void lmpi_light_flush(void);
uint64_t lmpi_light_expiry_ns(void);
/* light_client_wait() at this moment. */
void lmpi_light_wait(struct light_wait *w);

#endif
