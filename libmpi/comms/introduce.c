/* SPDX-License-Identifier: BSD-2-Clause */
/* Cards of all go to the other side and become slots there. */
#include "introduce.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "others.h"

#define CARD_INTS (LMPI_CARD_BYTES / sizeof(int))
_Static_assert(LMPI_CARD_BYTES % sizeof(int) == 0, "cards are gathered as numbers");

/* What each process of a side says to its own. */
struct entry {
	int rc, slots;
	int card[CARD_INTS];
};
#define ENTRY_INTS ((int)(sizeof(struct entry) / sizeof(int)))

/* What leaders say to each other, and then to their own. */
struct side {
	int64_t rc;
	uint64_t base; /* slots from there on are free in all processes */
};

static int
no_cards(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for the cards of the processes");
}

/* The cards of c's processes and what they agree on; *cards is malloc'd. */
static int
gather_cards(struct lmpi_comm *c, uint8_t **cards, struct side *mine)
{
	struct entry own = {.slots = (int)lmpi_world.slots}, *all;
	char why[LMPI_WHY];
	int rc;

	own.rc = lmpi_meet_ready(why);
	lmpi_card_mine((uint8_t *)own.card);
	all = malloc((size_t)c->size * sizeof(*all));
	*cards = malloc((size_t)c->size * LMPI_CARD_BYTES);
	if (all == NULL || *cards == NULL) {
		free(all);
		return no_cards();
	}
	rc = lmpi_coll_allgather_ints(c, (const int *)&own, (int *)all, ENTRY_INTS);
	*mine = (struct side){.rc = rc};
	for (int i = 0; rc == MPI_SUCCESS && i < c->size; i++) {
		if (all[i].rc)
			mine->rc = all[i].rc;
		if ((uint64_t)all[i].slots > mine->base)
			mine->base = (uint64_t)all[i].slots;
		memcpy(*cards + (size_t)i * LMPI_CARD_BYTES, all[i].card, LMPI_CARD_BYTES);
	}
	free(all);
	if (own.rc)
		(void)lmpi_error(own.rc, "%s", why);
	else if (mine->rc)
		(void)lmpi_error((int)mine->rc, "another process of the communicator cannot");
	return rc;
}

/* The leaders' part.  All is said at once: the other side may be far away. */
static int
swap_cards(const struct lmpi_comm *c, lmpi_swap_fn *swap, void *arg, const struct side *mine,
	   const uint8_t *cards, struct side *theirs, uint8_t *their_cards, uint32_t n)
{
	size_t len = (size_t)c->size * LMPI_CARD_BYTES, their_len = (size_t)n * LMPI_CARD_BYTES;
	uint8_t *out = malloc(sizeof(*mine) + len), *in = malloc(sizeof(*theirs) + their_len);
	int rc = out != NULL && in != NULL ? MPI_SUCCESS : no_cards();

	if (rc == MPI_SUCCESS) {
		memcpy(out, mine, sizeof(*mine));
		memcpy(out + sizeof(*mine), cards, len);
		rc = swap(arg, "the cards of all processes", out, sizeof(*mine) + len, in,
			  sizeof(*theirs) + their_len);
	}
	if (rc == MPI_SUCCESS) {
		memcpy(theirs, in, sizeof(*theirs));
		memcpy(their_cards, in + sizeof(*theirs), their_len);
	}
	free(out);
	free(in);
	if (rc || mine->rc)
		return rc ? rc : (int)mine->rc;
	if (theirs->rc)
		return lmpi_error(MPI_ERR_OTHER, "a process of the other side cannot, see there");
	return MPI_SUCCESS;
}

/* All of this side have come so far, with or without an error: what is the outcome? */
static int
agree_outcome(struct lmpi_comm *c, int leader, lmpi_swap_fn *swap, void *arg, int rc)
{
	uint64_t mine = (uint64_t)rc, theirs = 0;
	int err = lmpi_coll_max_u64(c, &mine);

	if (err == MPI_SUCCESS && c->rank == leader) {
		err = swap(arg, "what came of it", &mine, sizeof(mine), &theirs, sizeof(theirs));
		mine = err ? (uint64_t)err : theirs > mine ? theirs : mine;
		err = MPI_SUCCESS;
	}
	if (err == MPI_SUCCESS)
		err = lmpi_coll_bcast_bytes(c, &mine, sizeof(mine), leader);
	if (err || rc)
		return err ? err : rc;
	return mine ? lmpi_error((int)mine, "another process could not be connected") : MPI_SUCCESS;
}

static int
adopt_cards(const struct lmpi_comm *c, const struct side *mine, const struct side *theirs,
	    const uint8_t *cards, uint32_t n, struct lmpi_group **remote)
{
	char why[LMPI_WHY];
	int rc;

	*remote = lmpi_group_new((int)n);
	if (*remote == NULL)
		return no_cards();
	rc = lmpi_others_adopt(cards, n, (uint32_t)mine->base,
			       (uint32_t)theirs->base + (uint32_t)c->rank, (*remote)->world, why);
	if (rc)
		return lmpi_error(rc, "%s", why);
	lmpi_group_ready(*remote);
	return MPI_SUCCESS;
}

int
lmpi_introduce(struct lmpi_comm *c, int leader, lmpi_swap_fn *swap, void *arg, uint32_t n,
	       struct lmpi_group **remote)
{
	uint8_t *cards = NULL, *their_cards = malloc((size_t)n * LMPI_CARD_BYTES);
	struct side mine, theirs = {0};
	int rc = their_cards != NULL ? gather_cards(c, &cards, &mine) : no_cards();

	*remote = NULL;
	if (rc) {
		free(cards);
		free(their_cards);
		return rc;
	}
	if (c->rank == leader)
		theirs.rc = swap_cards(c, swap, arg, &mine, cards, &theirs, their_cards, n);
	rc = lmpi_coll_bcast_bytes(c, &theirs, sizeof(theirs), leader);
	if (rc == MPI_SUCCESS && theirs.rc) {
		rc = (int)theirs.rc;
		if (c->rank != leader && mine.rc == 0)
			(void)lmpi_error(rc, "the leaders could not exchange their groups");
	} else if (rc == MPI_SUCCESS) {
		rc = lmpi_coll_bcast_bytes(c, their_cards, (int64_t)n * LMPI_CARD_BYTES, leader);
		if (rc == MPI_SUCCESS)
			rc = adopt_cards(c, &mine, &theirs, their_cards, n, remote);
		rc = agree_outcome(c, leader, swap, arg, rc);
	}
	free(cards);
	free(their_cards);
	if (rc && *remote != NULL) {
		lmpi_group_unref(*remote);
		*remote = NULL;
	}
	return rc;
}
