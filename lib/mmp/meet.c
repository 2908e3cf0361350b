/* SPDX-License-Identifier: BSD-2-Clause */
/* The meeting of a job's sites, as mmp/meet.h says. */
#include "mmp/meet.h"

#include "base/bytes.h"
#include "base/carve.h"

#include <stdio.h>
#include <string.h>

#define HERE	   0x4d4d5048u /* "MMPH" */
#define TABLE	   0x4d4d5054u
#define NO	   0x4d4d504eu
#define MOVED	   0x4d4d504du
#define YES	   0x4d4d5059u
#define VERSION	   2u
#define THREADED   1u
#define HEAD_BYTES 16u
#define CARD_BYTES 80u

/* ---- bytes ---- */

void
mmp_here_put(uint8_t out[MMP_HERE_BYTES], const struct mmp_here *h)
{
	memset(out, 0, MMP_HERE_BYTES);
	be32_store(out, HERE);
	out[4] = VERSION;
	out[5] = h->card.threaded ? THREADED : 0;
	out[6] = h->card.ndoor;
	be32_store(out + 8, h->rank);
	be32_store(out + 12, h->size);
	be64_store(out + 16, h->job);
	be64_store(out + 24, h->card.share);
	memcpy(out + 32, h->card.door, h->card.ndoor);
}

static bool
read_card(uint8_t flags, uint8_t ndoor, const uint8_t *share_and_door, struct mmp_card *c)
{
	*c = (struct mmp_card){
		.share = be64_load(share_and_door), .threaded = flags & THREADED, .ndoor = ndoor};
	if (flags & ~THREADED || !c->share || !ndoor || ndoor > MMP_MEET_DOOR)
		return false;
	memcpy(c->door, share_and_door + 8, ndoor);
	return true;
}

/* ---- rank 0 ---- */

size_t
mmp_meet_footprint(uint32_t size)
{
	struct mmp_meet m;
	uint8_t *at = (uint8_t *)base_carved(sizeof m);
	m.card = base_carve(&at, size * sizeof *m.card);
	return (size_t)at + BASE_CARVE_ALIGN;
}

struct mmp_meet *
mmp_meet_new(void *mem, uint32_t size, uint64_t job, const struct mmp_card *me)
{
	uint8_t *at = base_carve_from(mem);
	struct mmp_meet *m = base_carve(&at, sizeof *m);
	m->card = base_carve(&at, size * sizeof *m->card);
	m->size = size;
	m->job = job;
	m->card[0] = *me;
	m->there = 1;
	return m;
}

static bool
same_card(const struct mmp_card *a, const struct mmp_card *b)
{
	return a->share == b->share && a->threaded == b->threaded && a->ndoor == b->ndoor &&
	       !memcmp(a->door, b->door, a->ndoor);
}

const char *
mmp_meet_take(struct mmp_meet *m, const uint8_t *in, size_t len, uint32_t *rank)
{
	struct mmp_card c;
	if (len != MMP_HERE_BYTES || be32_load(in) != HERE)
		return "not a process of libmmp";
	if (in[4] != VERSION)
		return "another version of libmmp is at rank 0";
	if (!read_card(in[5], in[6], in + 24, &c))
		return "what it says cannot be";
	uint32_t r = be32_load(in + 8), size = be32_load(in + 12);
	if (be64_load(in + 16) != m->job || size != m->size)
		return "it is of another job: are hosts file or LIBMMP_SITES the same as at rank "
		       "0?";
	if (!r || r >= m->size)
		return "there is no such rank";
	/* Said again: over another relay, perhaps. */
	if (m->card[r].share && same_card(&m->card[r], &c)) {
		*rank = r;
		return NULL;
	}
	if (m->card[r].share)
		return "that rank is there: does each process have its own LIBMMP_RANK or "
		       "LIBMMP_SITE?";
	m->card[r] = c;
	m->there++;
	*rank = r;
	return NULL;
}

uint32_t
mmp_meet_missing(const struct mmp_meet *m)
{
	uint32_t i = 0;
	while (i < m->size && m->card[i].share)
		i++;
	return i;
}

void
mmp_meet_table(const struct mmp_meet *m, uint8_t *out)
{
	memset(out, 0, MMP_TABLE_BYTES(m->size));
	be32_store(out, TABLE);
	out[4] = VERSION;
	be32_store(out + 8, m->size);
	for (uint32_t i = 0; i < m->size; i++) {
		const struct mmp_card *c = &m->card[i];
		uint8_t *at = out + HEAD_BYTES + i * CARD_BYTES;
		at[0] = c->threaded ? THREADED : 0;
		at[1] = c->ndoor;
		be64_store(at + 8, c->share);
		memcpy(at + 16, c->door, c->ndoor);
	}
}

size_t
mmp_meet_no(uint8_t out[MMP_NO_MAX], const char *why)
{
	size_t n = strnlen(why, MMP_MEET_WHY - 1);
	be32_store(out, NO);
	memcpy(out + 4, why, n);
	return 4 + n;
}

/* ---- the others ---- */

static void
print_words(const uint8_t *in, size_t len, char why[MMP_MEET_WHY])
{
	size_t n = len < MMP_MEET_WHY - 1 ? len : MMP_MEET_WHY - 1;
	for (size_t i = 0; i < n; i++)
		why[i] = in[i] >= ' ' && in[i] < 127 ? (char)in[i] : '?';
	why[n] = '\0';
}

bool
mmp_answer_get(const uint8_t *in, size_t len, uint32_t size, struct mmp_card *card,
	       char why[MMP_MEET_WHY])
{
	snprintf(why, MMP_MEET_WHY, "its answer is none of libmmp");
	if (len > 4 && be32_load(in) == NO)
		print_words(in + 4, len - 4, why);
	if (len < HEAD_BYTES || be32_load(in) != TABLE)
		return false;
	if (in[4] != VERSION) {
		snprintf(why, MMP_MEET_WHY, "another version of libmmp is at rank 0");
		return false;
	}
	snprintf(why, MMP_MEET_WHY, "its table cannot be");
	if (be32_load(in + 8) != size || len != MMP_TABLE_BYTES(size))
		return false;
	for (uint32_t i = 0; i < size; i++) {
		const uint8_t *at = in + HEAD_BYTES + i * CARD_BYTES;
		if (!read_card(at[0], at[1], at + 8, &card[i]))
			return false;
	}
	why[0] = '\0';
	return true;
}

/* ---- between any two ---- */

void
mmp_moved_put(uint8_t out[MMP_MOVED_BYTES], const struct mmp_here *h, uint64_t proof)
{
	mmp_here_put(out, h);
	be32_store(out, MOVED);
	be64_store(out + MMP_HERE_BYTES, proof);
}

const char *
mmp_moved_get(const uint8_t *in, size_t len, struct mmp_here *h, uint64_t *proof)
{
	if (len != MMP_MOVED_BYTES || be32_load(in) != MOVED || in[4] != VERSION)
		return "nobody is expected here";
	if (!read_card(in[5], in[6], in + 24, &h->card))
		return "what it says cannot be";
	h->rank = be32_load(in + 8);
	h->size = be32_load(in + 12);
	h->job = be64_load(in + 16);
	*proof = be64_load(in + MMP_HERE_BYTES);
	return NULL;
}

void
mmp_yes_put(uint8_t out[MMP_YES_BYTES])
{
	memset(out, 0, MMP_YES_BYTES);
	be32_store(out, YES);
	out[4] = VERSION;
}

bool
mmp_yes_get(const uint8_t *in, size_t len, char why[MMP_MEET_WHY])
{
	snprintf(why, MMP_MEET_WHY, "its answer is none of libmmp");
	if (len > 4 && be32_load(in) == NO)
		print_words(in + 4, len - 4, why);
	if (len != MMP_YES_BYTES || be32_load(in) != YES || in[4] != VERSION)
		return false;
	why[0] = '\0';
	return true;
}
