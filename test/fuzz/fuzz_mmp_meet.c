/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are what a stranger says to rank 0 of a job of three, and what a false rank 0 answers. */
#include "mmp/meet.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE 3u
#define JOB  UINT64_C(0x0102030405060708)

static void
say_to_rank_0(const uint8_t *data, size_t size)
{
	struct mmp_card me = {.share = 4096, .ndoor = 3, .door = "me"};
	uint8_t table[MMP_TABLE_BYTES(SIZE)], here[MMP_HERE_BYTES];
	struct mmp_card card[SIZE];
	char why[MMP_MEET_WHY];
	uint32_t rank = 0, other;
	void *mem = calloc(1, mmp_meet_footprint(SIZE));
	BASE_ASSERT(mem);
	struct mmp_meet *m = mmp_meet_new(mem, SIZE, JOB, &me);
	if (!mmp_meet_take(m, data, size, &rank)) {
		BASE_ASSERT(rank && rank < SIZE && m->there == 2);
		/* Said again it is the same one, and there is no other. */
		BASE_ASSERT(!mmp_meet_take(m, data, size, &other) && other == rank &&
			    m->there == 2);
		/* The same, told by the encoder; then all are there, and the table is as said. */
		struct mmp_here h = {
			.rank = 3 - rank, .size = SIZE, .job = JOB, .card = m->card[rank]};
		mmp_here_put(here, &h);
		BASE_ASSERT(!mmp_meet_take(m, here, sizeof here, &other) && other == 3 - rank);
		BASE_ASSERT(mmp_meet_missing(m) == SIZE);
		mmp_meet_table(m, table);
		BASE_ASSERT(mmp_answer_get(table, sizeof table, SIZE, card, why) && !*why);
		BASE_ASSERT(!memcmp(&card[1].door, &card[2].door, MMP_MEET_DOOR) &&
			    card[1].share == card[2].share && card[0].share == 4096);
	}
	free(mem);
}

/* A rank that says that it moved, and what answers one that did. */
static void
say_later(const uint8_t *data, size_t size)
{
	uint8_t again[MMP_MOVED_BYTES];
	struct mmp_here h;
	char why[MMP_MEET_WHY];
	uint64_t proof;
	bool yes = mmp_yes_get(data, size, why);
	BASE_ASSERT(memchr(why, 0, sizeof why) != NULL && yes == !*why);
	if (mmp_moved_get(data, size, &h, &proof))
		return;
	BASE_ASSERT(h.card.share && h.card.ndoor && h.card.ndoor <= MMP_MEET_DOOR);
	mmp_moved_put(again, &h, proof);
	BASE_ASSERT(!memcmp(again, data, 7) && !memcmp(again + 8, data + 8, 24));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mmp_card card[SIZE];
	char why[MMP_MEET_WHY];
	bool good = mmp_answer_get(data, size, SIZE, card, why);
	BASE_ASSERT(memchr(why, 0, sizeof why) != NULL && good == !*why);
	for (uint32_t i = 0; good && i < SIZE; i++)
		BASE_ASSERT(card[i].share && card[i].ndoor && card[i].ndoor <= MMP_MEET_DOOR);
	say_to_rank_0(data, size);
	say_later(data, size);
	return 0;
}
