/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/comms/introduce.h - two groups of processes that have no world ranks in common.
 *
 * World ranks are each job's own (engine/others.h).  All of both groups come to this call; their
 * leaders have a way to tell each other something.  Each side's cards go to the other side, and
 * become world ranks there.  When it returns well, everybody of both sides may send to everybody.
 *
 * A round trip between the sides is saved if one of them has its cards before the leaders meet, and
 * its leader says them along with its first words.
 *
 * Threads  the lock is held.  Errors  an error code, the same on both sides; said. */
#ifndef LMPI_INTRODUCE_H
#define LMPI_INTRODUCE_H

#include "comm.h"

/* Both leaders say len bytes and hear their_len.  phase: what that is, for texts. */
typedef int lmpi_swap_fn(void *arg, const char *phase, const void *mine, size_t len, void *theirs,
			 size_t their_len);

/* The last that they say: what came of it at either side, 0 if all went well. */
typedef int lmpi_decide_fn(void *arg, const char *phase, uint64_t mine, uint64_t *theirs);
/* How two leaders reach each other. */
struct lmpi_leaders {
	lmpi_swap_fn *swap;
	lmpi_decide_fn *decide;
	void *arg;
};

/* swap() or decide() says that the other leader has gone, and that this is no error:
 * lmpi_introduce() returns it in all processes of this side, and says nothing. */
#define LMPI_INTRODUCE_GONE (-1)

/* The cards of one side: what its leader says first. */
struct lmpi_cards {
	uint8_t *words; /* malloc'd; NULL: not gathered yet */
	size_t len;
	bool said; /* at the leader: the other one has them */
};
/* Collective.  An error code, the same in all; said. */
int lmpi_cards_gather(struct lmpi_comm *c, struct lmpi_cards *cards);
void lmpi_cards_free(struct lmpi_cards *cards);

/* n: processes of the other side.  How counts at the leader.  *remote: a reference.  cards:
 * gathered here if they were not before. */
int lmpi_introduce(struct lmpi_comm *c, int leader, const struct lmpi_leaders *how, uint32_t n,
		   struct lmpi_cards *cards, struct lmpi_group **remote);

#endif
