/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/ways.h"

#include "canary.h"

#include <string.h>

#define NONE	MEET_WAY_NONE
#define SEEK_NS BASE_S_NS /* a relay keeps the labels of who is gone 2 s back */

void
meet_ways_init(struct meet_ways *w, struct door_client *client, const struct door_sites *sites,
	       struct suci_lanes *lanes, const struct meet_ways_ops *ops, void *user,
	       struct meet_way *way, uint32_t max, uint64_t wait_ns)
{
	*w = (struct meet_ways){.sites = sites,
				.client = client,
				.lanes = lanes,
				.ops = ops,
				.user = user,
				.mine = NONE,
				.rests = {.wait_ns = wait_ns},
				.way = way,
				.max = max};
}

void
meet_ways_grow(struct meet_ways *w, struct meet_way *way, uint32_t max)
{
	memset(way + w->n, 0, (max - w->n) * sizeof *way);
	w->way = way;
	w->max = max;
}

void
meet_ways_from(struct meet_ways *w, uint32_t own)
{
	w->mine = own;
	w->seeks = false;
	w->told = w->client->own[own].at;
	door_client_keep(w->client, own);
}

/* ---- resting, going on ---- */

static void
drop_import(struct meet_ways *w, struct meet_way *y)
{
	uint32_t import = y->import;
	y->import = NONE;
	if (import != NONE)
		door_client_drop(w->client, import);
}

void
meet_ways_drop(struct meet_ways *w, uint32_t way, uint64_t now_ns)
{
	struct meet_way *y = &w->way[way];
	uint32_t lane = y->lane;
	meet_rest_end(&w->rests, &y->rest);
	drop_import(w, y);
	y->used = false;
	y->lane = NONE;
	if (lane != NONE)
		suci_lane_close(w->lanes, lane, now_ns);
}

static void
lose_way(struct meet_ways *w, struct meet_way *y, enum door_client_lost why, uint64_t now_ns)
{
	uint32_t whose = y->whose;
	w->losses++;
	meet_ways_drop(w, (uint32_t)(y - w->way), now_ns);
	w->ops->lost(w->user, whose, why, w->client->words);
}

static void
rest_way(struct meet_ways *w, struct meet_way *y, enum door_client_lost why, uint64_t now_ns)
{
	y->why = (uint8_t)why;
	if (meet_rest_begin(&w->rests, &y->rest, now_ns))
		w->ops->wake(w->user);
	if (y->lane != NONE)
		suci_lane_rest(w->lanes, y->lane, now_ns);
}

static bool
open_way(struct meet_ways *w, struct meet_way *y, uint64_t now_ns)
{
	const struct door_client_import *m = &w->client->import[y->import];
	uint32_t own = w->client->own[m->own].at.label;
	struct suci_lane_conf c = door_sites_lane(w->sites, m->site, own, m->label);
	w->ops->lane(w->user, y->whose, &c);
	c.moves = true;
	if (suci_lane_open(w->lanes, &c, &y->lane, now_ns)) {
		y->lane = NONE;
		return false;
	}
	w->ops->opened(w->user, y->whose, y->lane);
	return true;
}

/* Its door is reached.  false: there is no room for its labels yet. */
static bool
resume_way(struct meet_ways *w, struct meet_way *y, uint64_t now_ns)
{
	const struct door_client_import *m = &w->client->import[y->import];
	y->rest.met = true;
	if (y->lane == NONE) {
		meet_rest_go_on(&w->rests, &y->rest, m);
		return true;
	}
	if (MEET_BUG(WAY_STAYS))
		return true;
	if (MEET_BUG(WAY_ANEW)) {
		suci_lane_close(w->lanes, y->lane, now_ns);
		meet_rest_go_on(&w->rests, &y->rest, m);
		return open_way(w, y, now_ns);
	}
	int err = suci_lane_move(w->lanes, y->lane, w->sites->site[m->site].path, m->label,
				 m->label, now_ns);
	if (err == SUCI_ERR_TOOBIG) {
		lose_way(w, y, DOOR_CLIENT_RELAY, now_ns);
		return false;
	}
	if (err) {
		rest_way(w, y, DOOR_CLIENT_RESET, now_ns);
		return false;
	}
	w->moves++;
	meet_rest_go_on(&w->rests, &y->rest, m);
	return true;
}

/* ---- ways ---- */

static bool
import_way(struct meet_ways *w, struct meet_way *y)
{
	uint32_t i = (uint32_t)(y - w->way);
	y->import = door_client_import(w->client, &y->at, w->mine, i);
	return y->import != NONE;
}

uint32_t
meet_ways_to(struct meet_ways *w, uint32_t whose, const struct door_address *at, uint64_t now_ns)
{
	uint32_t i = 0;
	while (i < w->n && w->way[i].used)
		i++;
	if (i == w->max || w->mine == NONE)
		return NONE;
	struct meet_way *y = &w->way[i];
	*y = (struct meet_way){
		.used = true, .whose = whose, .import = NONE, .lane = NONE, .at = *at};
	w->n = i < w->n ? w->n : i + 1;
	if (import_way(w, y))
		return i;
	meet_ways_drop(w, i, now_ns);
	return NONE;
}

uint32_t
meet_ways_of(const struct meet_ways *w, uint32_t whose)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->way[i].used && w->way[i].whose == whose)
			return i;
	return NONE;
}

bool
meet_ways_open(struct meet_ways *w, uint32_t way, uint64_t now_ns)
{
	struct meet_way *y = &w->way[way];
	if (y->lane != NONE)
		return true;
	return y->import != NONE && door_client_reaches(&w->client->import[y->import]) &&
	       open_way(w, y, now_ns);
}

/* ---- our door ---- */

void
meet_ways_over(struct meet_ways *w, uint64_t now_ns)
{
	if (w->mine != NONE)
		door_client_close(w->client, w->mine);
	w->mine = NONE;
	w->seeks = false;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->way[i].used)
			lose_way(w, &w->way[i], DOOR_CLIENT_RELAY, now_ns);
}

void
meet_ways_opened(struct meet_ways *w, uint64_t now_ns)
{
	const struct door_client_own *d = &w->client->own[w->mine];
	if (d->state == DOOR_CLIENT_HAVE) {
		w->seeks = false;
		if (!door_address_same(&d->at, &w->told))
			meet_ways_over(w, now_ns); /* nobody knows it by that */
		return;
	}
	w->seeks = true;
	w->seek_ns = now_ns + SEEK_NS;
	w->ops->wake(w->user);
}

/* ---- what is heard of doors ---- */

void
meet_ways_reached(struct meet_ways *w, uint32_t import, uint64_t now_ns)
{
	const struct door_client_import *m = &w->client->import[import];
	struct meet_way *y = &w->way[m->whose];
	bool unsure = meet_rest_is_unsure(m);
	if (!y->rest.met || y->rest.rests || y->rest.unsure)
		(void)resume_way(w, y, now_ns);
	else
		meet_rest_granted(&w->rests, &y->rest, m);
	y->rest.unsure = unsure && y->used;
}

void
meet_ways_lost(struct meet_ways *w, uint32_t import, enum door_client_lost why, uint64_t now_ns)
{
	struct meet_way *y = &w->way[w->client->import[import].whose];
	bool ended = why == DOOR_CLIENT_GONE && w->client->ended;
	if (ended || !w->rests.wait_ns || (!y->rest.met && why == DOOR_CLIENT_REFUSED)) {
		lose_way(w, y, why, now_ns);
		return;
	}
	rest_way(w, y, why, now_ns);
	if (why == DOOR_CLIENT_RESET)
		return; /* it is asked for anew by itself */
	drop_import(w, y);
	y->rest.again_ns = now_ns + MEET_REST_LOOK_NS;
}

enum suci_verdict
meet_ways_came(struct meet_ways *w, uint32_t site, uint32_t label, uint64_t now_ns)
{
	bool more;
	if (w->mine == NONE)
		return SUCI_DROPPED;
	uint32_t i = door_client_called(w->client, site, w->mine, label, &more);
	/* Who comes by our other relay knows before us that the first is gone, and is known soon.
	 */
	if (i == DOOR_CLIENT_NONE)
		return more || site != w->client->own[w->mine].home ? SUCI_REFUSED : SUCI_DROPPED;
	struct meet_way *y = &w->way[w->client->import[i].whose];
	if (y->lane == NONE)
		return open_way(w, y, now_ns) ? SUCI_TAKEN : SUCI_REFUSED;
	return y->rest.rests && resume_way(w, y, now_ns) ? SUCI_TAKEN : SUCI_DROPPED;
}

void
meet_ways_lane_down(struct meet_ways *w, uint32_t whose, uint64_t now_ns)
{
	uint32_t i = meet_ways_of(w, whose);
	if (i == NONE)
		return;
	w->way[i].lane = NONE;
	meet_ways_drop(w, i, now_ns);
}

/* ---- turns ---- */

static void
look_at_way(struct meet_ways *w, struct meet_way *y, uint64_t step_ns, uint64_t now_ns)
{
	switch (meet_rest_look(&w->rests, &y->rest, w->client, y->import, step_ns, now_ns)) {
	case MEET_REST_OVER:
		lose_way(w, y, (enum door_client_lost)y->why, now_ns);
		break;
	case MEET_REST_ASKS:
		if (w->mine != NONE)
			(void)import_way(w, y);
		break;
	case MEET_REST_GOES:
		(void)resume_way(w, y, now_ns);
		break;
	case MEET_REST_WAITS:
		break;
	}
}

/* Our door was not given back. */
static void
seek_door(struct meet_ways *w, uint64_t now_ns)
{
	w->seeks = false;
	if (w->mine != NONE && !door_client_again(w->client, w->mine))
		meet_ways_over(w, now_ns);
}

void
meet_ways_turn(struct meet_ways *w, uint64_t now_ns)
{
	if (w->seeks && now_ns >= w->seek_ns && w->client->up)
		seek_door(w, now_ns);
	uint64_t step = meet_rest_step(&w->rests, now_ns);
	for (uint32_t i = 0; step && i < w->n; i++)
		if (w->way[i].used && meet_rest_is_on(&w->way[i].rest))
			look_at_way(w, &w->way[i], step, now_ns);
}

uint64_t
meet_ways_due(const struct meet_ways *w)
{
	uint64_t at = meet_rest_due(&w->rests);
	return w->seeks && w->client->up ? base_min_ns(at, w->seek_ns) : at;
}

const char *
meet_ways_check(const struct meet_ways *w)
{
	uint32_t resting = 0;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct meet_way *y = &w->way[i];
		struct suci_lane_info info;
		resting += y->used && meet_rest_is_on(&y->rest);
		if (!y->used)
			continue;
		if (y->import != NONE && w->client->import[y->import].whose != i)
			return "the import of a way is its own";
		if (y->rest.rests && y->rest.named)
			return "a way that rests has no name to go on by";
		if (y->import == NONE && !y->rest.rests)
			return "a way without an import rests";
		if (y->lane != NONE && !suci_lane_info(w->lanes, y->lane, &info))
			return "the lane of a way is there";
		if (y->lane != NONE && !y->rest.rests && info.path == UINT32_MAX)
			return "a way whose lane goes nowhere rests";
	}
	return resting == w->rests.n ? NULL : "ways that rest = their number";
}
