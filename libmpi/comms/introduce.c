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
	int rc;
	int card[CARD_INTS];
};
#define ENTRY_INTS ((int)(sizeof(struct entry) / sizeof(int)))

/* What leaders say to each other, and then to their own. */
struct side {
	int64_t rc;
};

static int
no_cards(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for the cards of the processes");
}

static const struct side *
side_of_cards(const struct lmpi_cards *cards)
{
	return (const struct side *)(const void *)cards->words;
}

/* The cards of c's processes, and whether all can.  An error is of the gathering itself. */
static int
gather_cards(struct lmpi_comm *c, struct lmpi_cards *cards)
{
	struct entry own = {0}, *all;
	struct side mine = {0};
	char why[LMPI_WHY];
	int rc;

	own.rc = lmpi_meet_ready(why);
	lmpi_card_mine((uint8_t *)own.card);
	all = malloc((size_t)c->size * sizeof(*all));
	cards->len = sizeof(mine) + (size_t)c->size * LMPI_CARD_BYTES;
	cards->words = malloc(cards->len);
	if (all == NULL || cards->words == NULL) {
		free(all);
		return no_cards();
	}
	rc = lmpi_coll_allgather_ints(c, (const int *)&own, (int *)all, ENTRY_INTS);
	for (int i = 0; rc == MPI_SUCCESS && i < c->size; i++) {
		if (all[i].rc)
			mine.rc = all[i].rc;
		memcpy(cards->words + sizeof(mine) + (size_t)i * LMPI_CARD_BYTES, all[i].card,
		       LMPI_CARD_BYTES);
	}
	memcpy(cards->words, &mine, sizeof(mine));
	free(all);
	if (own.rc)
		(void)lmpi_error(own.rc, "%s", why);
	else if (mine.rc)
		(void)lmpi_error((int)mine.rc, "another process of the communicator cannot");
	return rc;
}

void
lmpi_cards_free(struct lmpi_cards *cards)
{
	free(cards->words);
	*cards = (struct lmpi_cards){0};
}

int
lmpi_cards_gather(struct lmpi_comm *c, struct lmpi_cards *cards)
{
	int rc = gather_cards(c, cards);

	return rc ? rc : (int)side_of_cards(cards)->rc;
}

/* The leaders' part.  All is said at once: the other side may be far away. */
static int
swap_cards(const struct lmpi_leaders *how, const struct lmpi_cards *cards, struct side *theirs,
	   uint8_t *their_cards, uint32_t n)
{
	size_t their_len = (size_t)n * LMPI_CARD_BYTES;
	uint8_t *in = malloc(sizeof(*theirs) + their_len);
	int rc = in != NULL ? MPI_SUCCESS : no_cards();

	if (rc == MPI_SUCCESS)
		rc = how->swap(how->arg, "the cards of all processes", cards->words,
			       cards->said ? 0 : cards->len, in, sizeof(*theirs) + their_len);
	if (rc == MPI_SUCCESS) {
		memcpy(theirs, in, sizeof(*theirs));
		memcpy(their_cards, in + sizeof(*theirs), their_len);
	}
	free(in);
	if (rc || side_of_cards(cards)->rc)
		return rc ? rc : (int)side_of_cards(cards)->rc;
	if (theirs->rc)
		return lmpi_error(MPI_ERR_OTHER, "a process of the other side cannot, see there");
	return MPI_SUCCESS;
}

/* All of this side have come so far, with or without an error: what is the outcome? */
static int
agree_outcome(struct lmpi_comm *c, int leader, const struct lmpi_leaders *how, int rc)
{
	uint64_t mine = (uint64_t)rc, theirs = 0;
	int err = lmpi_coll_max_u64(c, &mine);

	if (err == MPI_SUCCESS && c->rank == leader) {
		err = how->decide(how->arg, "what came of it", mine, &theirs);
		mine = err ? (uint64_t)err : theirs > mine ? theirs : mine;
		err = MPI_SUCCESS;
	}
	if (err == MPI_SUCCESS)
		err = lmpi_coll_bcast_bytes(c, &mine, sizeof(mine), leader);
	if (err == MPI_SUCCESS && (int)mine == LMPI_INTRODUCE_GONE)
		return LMPI_INTRODUCE_GONE;
	if (err || rc)
		return err ? err : rc;
	return mine ? lmpi_error((int)mine, "another process could not be connected") : MPI_SUCCESS;
}

static int
adopt_cards(const uint8_t *cards, uint32_t n, struct lmpi_group **remote)
{
	char why[LMPI_WHY];
	int rc;

	*remote = lmpi_group_new((int)n);
	if (*remote == NULL)
		return no_cards();
	rc = lmpi_others_adopt(cards, n, (*remote)->world, why);
	if (rc)
		return lmpi_error(rc, "%s", why);
	lmpi_group_ready(*remote);
	return MPI_SUCCESS;
}

static int
exchange_groups(struct lmpi_comm *c, int leader, const struct lmpi_leaders *how, uint32_t n,
		const struct lmpi_cards *cards, uint8_t *their_cards, struct lmpi_group **remote)
{
	const struct side *mine = side_of_cards(cards);
	struct side theirs = {0};
	int rc;

	if (c->rank == leader)
		theirs.rc = swap_cards(how, cards, &theirs, their_cards, n);
	rc = lmpi_coll_bcast_bytes(c, &theirs, sizeof(theirs), leader);
	if (rc == MPI_SUCCESS && theirs.rc) {
		rc = (int)theirs.rc;
		if (c->rank != leader && mine->rc == 0 && rc != LMPI_INTRODUCE_GONE)
			(void)lmpi_error(rc, "the leaders could not exchange their groups");
		return rc;
	}
	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_bcast_bytes(c, their_cards, (int64_t)n * LMPI_CARD_BYTES, leader);
	if (rc == MPI_SUCCESS)
		rc = adopt_cards(their_cards, n, remote);
	rc = agree_outcome(c, leader, how, rc);
	if (rc == MPI_SUCCESS)
		lmpi_others_met((*remote)->world, n);
	return rc;
}

int
lmpi_introduce(struct lmpi_comm *c, int leader, const struct lmpi_leaders *how, uint32_t n,
	       struct lmpi_cards *cards, struct lmpi_group **remote)
{
	uint8_t *their_cards = malloc((size_t)n * LMPI_CARD_BYTES);
	int rc = their_cards != NULL ? MPI_SUCCESS : no_cards();

	*remote = NULL;
	if (rc == MPI_SUCCESS && cards->words == NULL)
		rc = gather_cards(c, cards);
	if (rc == MPI_SUCCESS)
		rc = exchange_groups(c, leader, how, n, cards, their_cards, remote);
	free(their_cards);
	if (rc && *remote != NULL) {
		lmpi_group_unref(*remote);
		*remote = NULL;
	}
	return rc;
}
