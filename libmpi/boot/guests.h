/* SPDX-License-Identifier: BSD-2-Clause */
/* guests.h - connections at a port that have not begun a conversation yet.
 *
 *	connector	acceptor
 *	KNOCK token ->			waits until somebody accepts
 *			<- TAKEN	the token proved
 *	GO ->				it has not given up meanwhile: the conversation begins
 *
 * Each word has 16 bytes: magic 32, which 32, token 64.  Whoever says anything else is hung up on.
 *
 * Anybody can connect and be silent, so all are heard side by side, in the few places of a lobby
 * (base/lobby.h): who makes room for whom goes by source.  Who has not knocked after LMPI_GUEST_NS
 * is hung up on.  Those who knocked are taken one by one, the first first; meanwhile nobody new
 * comes in, and what waits waits in the kernel.
 *
 * Units    ns of the caller's monotonic clock.
 * Threads  one owner; a turn waits for nothing.
 * Limits   LMPI_GUESTS_MAX connections at a time.
 * Counted  in lmpi_stats (engine.h): knocks_wrong, knocks_silent, knocks_evicted. */
#ifndef LMPI_GUESTS_H
#define LMPI_GUESTS_H

#include "base/clock.h"
#include "base/lobby.h"

#include <stdbool.h>
#include <stdint.h>

#define LMPI_WORD_BYTES 16u
#define LMPI_GUESTS_MAX BASE_LOBBY_SEATS_MAX
/* Who knocks has said so when it is taken out of the kernel's queue; who is taken answers. */
#define LMPI_GUEST_NS BASE_S_NS
/* So many at most come in at a turn: the words of who came before may still be on their way. */
#define LMPI_GUESTS_A_TURN 8u

/* KNOCK_FAR: over a door, where nothing is said to go on (port.c). */
enum lmpi_word { LMPI_KNOCK = 1, LMPI_TAKEN, LMPI_GO, LMPI_KNOCK_FAR };

void lmpi_word_write(uint8_t bytes[LMPI_WORD_BYTES], enum lmpi_word what, uint64_t token);
/* To a socket that has room for it; false: broken. */
bool lmpi_word_say(int fd, enum lmpi_word what, uint64_t token);
bool lmpi_word_is(const uint8_t bytes[LMPI_WORD_BYTES], enum lmpi_word what, uint64_t token);

struct lmpi_guests;

/* NULL: no memory. */
struct lmpi_guests *lmpi_guests_new(uint64_t token);
/* Hangs up on all of them; accepts NULL. */
void lmpi_guests_free(struct lmpi_guests *g);
/* Hears all and lets in who waits at the listening socket, which does not block.  *fd: the one
 * whose conversation begins, which is the caller's now, or -1.  0, or why nobody can be let in
 * (errno). */
int lmpi_guests_turn(struct lmpi_guests *g, int listening, uint64_t now_ns, int *fd);
/* Somebody was told TAKEN and may have begun to talk. */
bool lmpi_guests_any_taken(const struct lmpi_guests *g);

#endif
