/* SPDX-License-Identifier: BSD-2-Clause */
/* Our door has another address: each rank elsewhere is told on a lane of its own, and answers. */
#include "away_internal.h"

#include <string.h>

#define NONE   MMP_NONE
#define WINDOW 64u

static bool
open_moved_lane(struct mmp_away *a, uint32_t site, uint32_t own, uint32_t label, uint32_t *lane)
{
	struct suci_lane_conf c = door_sites_lane(&a->sites, site, own, label);
	c.window = WINDOW;
	if (suci_lane_open(a->conf.lanes->lanes, &c, lane, a->now_ns))
		return false;
	a->talk[*lane] = (struct mmp_away_talk){.used = true, .site = site};
	return true;
}

static void
say_on_lane(struct mmp_away *a, uint32_t lane, const uint8_t *words, size_t n)
{
	(void)suci_lane_send(a->conf.lanes->lanes, lane, words, n, NULL, 0, true, MMP_FAR_WORD,
			     a->now_ns);
	a->dirty = true;
}

/* Its place is nobody's; the lane is closed by the caller, or is gone. */
static void
end_talk(struct mmp_away *a, uint32_t lane)
{
	struct mmp_away_talk t = a->talk[lane];
	a->talk[lane].used = false;
	if (t.out)
		a->rank[t.rank].talk = NONE;
	else if (a->client.site[t.site].up)
		(void)door_client_unhold(&a->client, t.site, t.label);
}

void
mmp_away_hush(struct mmp_away *a, uint32_t lane)
{
	end_talk(a, lane);
	suci_lane_close(a->conf.lanes->lanes, lane, a->now_ns);
}

void
mmp_away_talk_down(struct mmp_away *a, uint32_t lane)
{
	end_talk(a, lane);
}

void
mmp_away_left(struct mmp_away *a, uint32_t site, uint32_t label)
{
	for (uint32_t i = 0; i < a->conf.lanes_max; i++)
		if (a->talk[i].used && !a->talk[i].out && a->talk[i].site == site &&
		    a->talk[i].label == label)
			mmp_away_hush(a, i);
}

void
mmp_away_say(struct mmp_away *a, uint32_t rank)
{
	struct mmp_away_rank *r = &a->rank[rank];
	const struct door_client_import *m = &a->client.import[r->import];
	struct mmp_here h = {
		.rank = a->conf.rank, .size = a->conf.size, .job = a->conf.job, .card = a->conf.me};
	uint8_t b[MMP_MOVED_BYTES];
	uint32_t lane;
	if (r->talk != NONE)
		mmp_away_hush(a, r->talk);
	if (!open_moved_lane(a, m->site, a->own[MMP_AWAY_OWN].at.label + MMP_AWAY_MEETING,
			     m->label + MMP_AWAY_MEETING, &lane))
		return; /* the rank is lost in time */
	a->talk[lane].out = true;
	a->talk[lane].rank = rank;
	r->talk = lane;
	r->saying = a->door_turn;
	h.card.ndoor = (uint8_t)door_address_encode(&a->own[MMP_AWAY_OWN].at, h.card.door);
	mmp_moved_put(b, &h, a->rank[a->conf.rank].origin);
	say_on_lane(a, lane, b, sizeof b);
	a->moves++;
}

/* Somebody at our door's meeting. */
enum suci_verdict
mmp_away_hear(struct mmp_away *a, uint32_t site, uint32_t dst, uint32_t src)
{
	uint32_t lane;
	if (!door_client_hold(&a->client, site, src - MMP_AWAY_MEETING))
		return SUCI_DROPPED;
	if (!open_moved_lane(a, site, dst, src, &lane))
		return SUCI_DROPPED;
	a->talk[lane].label = src - MMP_AWAY_MEETING;
	return SUCI_TAKEN;
}

/* ---- blocks ---- */

void *
mmp_away_talk_begin(struct mmp_away *a, uint32_t lane, uint64_t bytes)
{
	a->talk[lane].bytes = bytes;
	return &a->talk[lane];
}

void
mmp_away_talk_data(struct mmp_away *a, uint32_t lane, uint64_t off, const uint8_t *data, size_t len)
{
	struct mmp_away_talk *t = &a->talk[lane];
	if (off <= sizeof t->in && len <= sizeof t->in - off)
		memcpy(t->in + off, data, len);
}

/* NULL: that rank is at that door now. */
static const char *
take_moved(struct mmp_away *a, const struct mmp_away_talk *t)
{
	struct mmp_here h;
	uint64_t proof;
	const char *why = mmp_moved_get(t->in, t->bytes <= sizeof t->in ? t->bytes : 0, &h, &proof);
	if (why)
		return why;
	if (h.job != a->conf.job || h.size != a->conf.size || h.rank >= h.size ||
	    !a->rank[h.rank].elsewhere || proof != a->rank[h.rank].origin)
		return "of another job";
	struct mmp_away_rank *r = &a->rank[h.rank];
	if (r->over || !a->conf.wait_ns)
		return "it was given up: LIBMMP_RELAY_S is shorter than that";
	if (h.card.share != r->card.share)
		return "what it says cannot be";
	r->card = h.card;
	mmp_away_forget(a, h.rank);
	mmp_away_pause(a, h.rank, "is out of reach: its relay was replaced");
	struct door_address at;
	int err = door_address_decode(r->card.door, r->card.ndoor, &at);
	if (err || at.n != MMP_AWAY_LABELS)
		return "its door cannot be";
	(void)mmp_away_import(a, h.rank, &at);
	return NULL;
}

static void
answer_moved(struct mmp_away *a, uint32_t lane)
{
	uint8_t b[MMP_NO_MAX];
	size_t n = MMP_YES_BYTES;
	const struct mmp_away_talk *t = &a->talk[lane];
	if (a->conf.ops->asked && t->bytes <= sizeof t->in &&
	    a->conf.ops->asked(a->conf.user, lane, t->in, t->bytes))
		return;
	const char *why = take_moved(a, t);
	if (why)
		n = mmp_meet_no(b, why);
	else
		mmp_yes_put(b);
	say_on_lane(a, lane, b, n);
}

static void
hear_answer(struct mmp_away *a, uint32_t lane)
{
	struct mmp_away_talk t = a->talk[lane];
	struct mmp_away_rank *r = &a->rank[t.rank];
	char why[MMP_MEET_WHY];
	if (!mmp_yes_get(t.in, t.bytes <= sizeof t.in ? t.bytes : 0, why)) {
		mmp_away_lose(a, t.rank, why);
		return;
	}
	r->told = r->saying;
	mmp_away_hush(a, lane);
	if (r->told == a->door_turn)
		mmp_away_open(a, t.rank);
}

void
mmp_away_talk_end(struct mmp_away *a, uint32_t lane)
{
	if (a->talk[lane].out)
		hear_answer(a, lane);
	else
		answer_moved(a, lane);
}

/* What was said has come there: an answer is the last word. */
void
mmp_away_talk_done(struct mmp_away *a, uint32_t lane)
{
	if (!a->talk[lane].out)
		mmp_away_hush(a, lane);
}
