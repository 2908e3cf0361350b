/* SPDX-License-Identifier: BSD-2-Clause */
/* Relays, our door, and the ranks behind others: as mmp/away.h says. */
#include "away_internal.h"

#include "base/carve.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define NONE	     MMP_NONE
#define LOOK_NS	     BASE_S_NS
#define RELAY_LIVES  (10 * BASE_S_NS) /* it answers always */
#define AGAINS	     5u /* so often is our address asked for; a relay keeps labels 2 s back */
#define UNHEARD_NS   (2 * BASE_S_NS)
#define RANK_LIVES   (70 * BASE_S_NS) /* one whose engine is a thread takes something meanwhile */
#define WINDOW_FIRST 256u
#define WINDOW_LEAST 64u
#define WINDOW_SUM   2048u
#define WINDOW_MAX   4096u

/* ---- words ---- */

const char *
mmp_away_word(const struct mmp_away *a, enum door_client_lost why, char *out)
{
	char relay[SUCI_ADDR_TEXT_MAX];
	static const char *const words[] = {
		[DOOR_CLIENT_REFUSED] = "is not at its door (any more), or a relay is full",
		[DOOR_CLIENT_GONE] = "is gone",
		[DOOR_CLIENT_RESET] = "is out of reach: a path between relays broke",
	};
	if (why != DOOR_CLIENT_RELAY)
		snprintf(out, MMP_AWAY_WHY, "%s", words[why]);
	else
		snprintf(out, MMP_AWAY_WHY, "is out of reach: our relay %s is gone",
			 suci_addr_text(&a->sites.site[0].relay, relay));
	return out;
}

/* ---- ranks ---- */

static void
close_lane(struct mmp_away *a, uint32_t rank)
{
	uint32_t lane = a->rank[rank].lane;
	if (lane == NONE)
		return;
	a->rank[rank].lane = NONE;
	a->conf.lanes->lane_peer[lane] = NONE;
	suci_lane_close(a->conf.lanes->lanes, lane, a->now_ns);
	a->dirty = true;
}

/* Its door is not ours to use any more. */
void
mmp_away_forget(struct mmp_away *a, uint32_t rank)
{
	struct mmp_away_rank *r = &a->rank[rank];
	uint32_t import = r->import;
	if (r->talk != NONE)
		mmp_away_hush(a, r->talk);
	r->import = NONE;
	if (import != NONE)
		door_client_drop(&a->client, import);
}

void
mmp_away_drop(struct mmp_away *a, uint32_t rank)
{
	a->rank[rank].over = true;
	a->rank[rank].waits = false;
	close_lane(a, rank);
	mmp_away_forget(a, rank);
}

void
mmp_away_lose(struct mmp_away *a, uint32_t rank, const char *why)
{
	char word[MMP_AWAY_WHY];
	if (a->rank[rank].over)
		return;
	snprintf(word, sizeof word, "%s", why);
	mmp_away_drop(a, rank);
	a->conf.ops->lost(a->conf.user, rank, word);
}

void
mmp_away_pause(struct mmp_away *a, uint32_t rank, const char *why)
{
	struct mmp_away_rank *r = &a->rank[rank];
	if (r->over)
		return;
	if (!a->conf.wait_ns) {
		mmp_away_lose(a, rank, why);
		return;
	}
	close_lane(a, rank);
	if (r->up)
		mmp_far_pause(a->conf.lanes->far, rank);
	a->breaks += !r->waits;
	if (!r->waits)
		r->waited_ns = 0;
	r->waits = true;
	snprintf(r->why, sizeof r->why, "%s", why);
	a->conf.ops->paused(a->conf.user, rank, r->why);
}

static struct mmp_link *
link_to(const struct mmp_away *a, uint32_t rank)
{
	return a->conf.lanes->far->peer[rank].link;
}

/* The first label of a door is that of turns 0 mod 8, the meeting's is behind it. */
static uint32_t
offset_of_slot(uint32_t slot)
{
	return slot + (slot >= MMP_AWAY_MEETING);
}

static bool
open_at_turn(struct mmp_away *a, uint32_t rank)
{
	struct mmp_away_rank *r = &a->rank[rank];
	const struct door_client_import *m = &a->client.import[r->import];
	const struct mmp_link *l = link_to(a, rank);
	uint32_t window = WINDOW_SUM / a->fars, slot = offset_of_slot(mmp_link_slot(l));
	struct suci_lane_conf c = door_sites_lane(
		&a->sites, m->site, a->own[MMP_AWAY_OWN].at.label + slot, m->label + slot);
	c.window = window > WINDOW_FIRST   ? WINDOW_FIRST
		   : window < WINDOW_LEAST ? WINDOW_LEAST
					   : window;
	c.window_max = WINDOW_MAX;
	if (mmp_lanes_open_doors(a->conf.lanes, rank, &c, l->turn, &r->lane, a->now_ns)) {
		r->lane = NONE;
		mmp_away_lose(a, rank, "has no lane");
		return false;
	}
	r->acked_ns = r->unheard_ns = 0;
	if (!r->up) {
		r->up = true;
		a->conf.ops->up(a->conf.user, rank);
	}
	a->unpushed |= !mmp_lanes_push(a->conf.lanes, rank, r->lane, a->now_ns);
	mmp_engine_up(a->conf.engine, rank, false, r->card.share);
	a->dirty = true;
	return true;
}

void
mmp_away_open(struct mmp_away *a, uint32_t rank)
{
	struct mmp_away_rank *r = &a->rank[rank];
	if (r->over || r->lane != NONE || r->import == NONE ||
	    !door_client_reaches(&a->client.import[r->import]))
		return;
	if (!mmp_link_open(link_to(a, rank)))
		mmp_away_lose(a, rank, "is out of reach: the way to it broke again and again");
	else
		(void)open_at_turn(a, rank);
}

bool
mmp_away_import(struct mmp_away *a, uint32_t rank, const struct door_address *at)
{
	struct mmp_away_rank *r = &a->rank[rank];
	if (r->import == NONE)
		r->import = door_client_import(&a->client, at, MMP_AWAY_OWN, rank);
	return r->import != NONE;
}

/* By what its card says. */
static void
import_rank(struct mmp_away *a, uint32_t rank)
{
	struct mmp_away_rank *r = &a->rank[rank];
	struct door_address at;
	int err = door_address_decode(r->card.door, r->card.ndoor, &at);
	if (err || at.n != MMP_AWAY_LABELS || !mmp_away_import(a, rank, &at))
		mmp_away_lose(a, rank,
			      err ? door_strerror(err) : "has a door that is none of libmmp's");
}

void
mmp_away_know(struct mmp_away *a, const struct mmp_card *card)
{
	const struct door_client_own *me = &a->own[MMP_AWAY_OWN];
	a->known = true;
	a->look_ns = a->looked_ns = a->now_ns;
	(void)door_address_decode(card[a->conf.rank].door, card[a->conf.rank].ndoor, &a->told);
	/* It moved since they were told. */
	a->door_turn = me->state == DOOR_CLIENT_HAVE && !door_address_same(&me->at, &a->told);
	for (uint32_t i = 0; i < a->conf.size; i++) {
		struct mmp_away_rank *r = &a->rank[i];
		struct door_address at;
		r->card = card[i];
		if (!door_address_decode(r->card.door, r->card.ndoor, &at))
			r->origin = door_proof(&at);
		if (!r->elsewhere || r->over)
			continue;
		import_rank(a, i);
		mmp_away_open(a, i);
	}
}

/* ---- what the client of doors wants ---- */

static bool
say_note(void *user, uint32_t site, const void *note, size_t len)
{
	struct mmp_away *a = user;
	return door_sites_say(&a->sites, site, note, len, a->now_ns);
}

static void
wake_away(void *user)
{
	((struct mmp_away *)user)->due_ns = 0;
}

static void
hear_door(void *user, uint32_t own)
{
	struct mmp_away *a = user;
	const struct door_client_own *me = &a->own[own];
	a->again = me->state != DOOR_CLIENT_HAVE && (a->known || me->back);
	a->again_ns = a->now_ns + LOOK_NS;
	if (a->again)
		return;
	a->agains = 0;
	if (!a->known) {
		a->conf.ops->opened(a->conf.user);
		return;
	}
	if (!door_address_same(&me->at, &a->told)) {
		a->told = me->at;
		a->door_turn++;
	}
	a->conf.ops->opened(a->conf.user);
	for (uint32_t i = 0; i < a->conf.size; i++)
		if (a->rank[i].elsewhere && !a->rank[i].over && a->rank[i].import == NONE)
			import_rank(a, i);
}

static void
hear_reached(void *user, uint32_t import)
{
	struct mmp_away *a = user;
	const struct door_client_import *m = &a->client.import[import];
	/* A turn is not spent on what may be refused.  And of a door at two relays either may be
	 * the one to carry it: what is said before that is settled may be lost. */
	if (m->state == DOOR_CLIENT_NAMED &&
	    (m->at.nrelays > 1 || (a->known && link_to(a, m->whose)->turn)))
		return;
	if (!a->known)
		a->conf.ops->met(a->conf.user, m->label);
	else if (a->rank[m->whose].told != a->door_turn)
		mmp_away_say(a, m->whose);
	else
		mmp_away_open(a, m->whose);
}

static void
hear_lost(void *user, uint32_t import, enum door_client_lost why)
{
	struct mmp_away *a = user;
	uint32_t rank = a->client.import[import].whose;
	char word[MMP_AWAY_WHY];
	(void)mmp_away_word(a, why, word);
	if (!a->known) {
		mmp_away_forget(a, rank);
		a->conf.ops->missed(a->conf.user, word);
	} else if (why == DOOR_CLIENT_GONE && a->client.ended) {
		mmp_away_lose(a, rank, word);
	} else {
		if (a->rank[rank].talk != NONE)
			mmp_away_hush(a, a->rank[rank].talk);
		if (why != DOOR_CLIENT_RESET)
			mmp_away_forget(a, rank);
		mmp_away_pause(a, rank, word);
	}
}

static void
hear_left(void *user, uint32_t site, uint32_t label)
{
	struct mmp_away *a = user;
	mmp_away_left(a, site, label);
	if (a->conf.ops->left)
		a->conf.ops->left(a->conf.user, site, label);
}

static const struct door_client_ops away_ops = {.say = say_note,
						.wake = wake_away,
						.opened = hear_door,
						.reached = hear_reached,
						.lost = hear_lost,
						.left = hear_left};

/* ---- the relays ---- */

uint32_t
mmp_away_at(const struct mmp_away *a, uint32_t path)
{
	return door_sites_at(&a->sites, path);
}

bool
mmp_away_path_up(struct mmp_away *a, uint32_t path, const void *hello, size_t len)
{
	if (!door_sites_up(&a->sites, path, hello, len, a->now_ns))
		return false;
	(void)suci_path_set_liveness(a->conf.ep, path, a->conf.live_ns, BASE_S_NS);
	return true;
}

/* A relay that is gone is called again. */
static bool
may_call(const struct mmp_away *a)
{
	return !a->stopped && (!a->known || a->conf.wait_ns);
}

void
mmp_away_path_down(struct mmp_away *a, uint32_t path)
{
	door_sites_down(&a->sites, mmp_away_at(a, path), may_call(a), a->now_ns);
	a->due_ns = 0;
}

void
mmp_away_note(struct mmp_away *a, uint32_t path, const void *note, size_t len)
{
	door_client_note(&a->client, mmp_away_at(a, path), note, len);
}

/* ---- lanes ---- */

enum suci_verdict
mmp_away_came(struct mmp_away *a, uint32_t path, uint32_t dst, uint32_t src)
{
	const struct door_client_own *me = &a->own[MMP_AWAY_OWN];
	uint32_t site = mmp_away_at(a, path), off = dst - me->at.label;
	bool more;
	if (a->stopped || me->state != DOOR_CLIENT_HAVE || off >= MMP_AWAY_LABELS)
		return SUCI_DROPPED;
	if (off == MMP_AWAY_MEETING)
		return a->known ? mmp_away_hear(a, site, dst, src)
				: a->conf.ops->called(a->conf.user, path, dst, src);
	/* Its import of us came first. */
	if (!a->known)
		return SUCI_REFUSED;
	uint32_t i = door_client_called(&a->client, site, MMP_AWAY_OWN, src - off, &more);
	/* Who comes by our other relay knows before us that the first is gone, and is known soon.
	 */
	if (i == DOOR_CLIENT_NONE)
		return more || site != me->home ? SUCI_REFUSED : SUCI_DROPPED;
	uint32_t rank = a->client.import[i].whose;
	struct mmp_away_rank *r = &a->rank[rank];
	if (r->over || !mmp_link_follow(link_to(a, rank), off - (off > MMP_AWAY_MEETING)))
		return SUCI_DROPPED;
	close_lane(a, rank);
	if (r->up)
		mmp_far_pause(a->conf.lanes->far, rank);
	return open_at_turn(a, rank) ? SUCI_TAKEN : SUCI_DROPPED;
}

void
mmp_away_lane_down(struct mmp_away *a, uint32_t rank, enum suci_down why, const char *text)
{
	char word[MMP_AWAY_WHY];
	a->rank[rank].lane = NONE;
	if (why == SUCI_DOWN_LOCAL)
		mmp_away_lose(a, rank, text && *text ? text : "has no lane any more");
	else
		mmp_away_pause(a, rank, mmp_away_word(a, DOOR_CLIENT_RELAY, word));
}

bool
mmp_away_send(struct mmp_away *a, uint32_t rank, const struct mmp_head *h, const void *data,
	      uint32_t name)
{
	a->dirty = true;
	return mmp_lanes_send_linked(a->conf.lanes, rank, a->rank[rank].lane, h, data, name,
				     a->now_ns);
}

/* ---- turns ---- */

/* Its relay tells who has died, but not whose node fell silent: nothing of what waits for it is
 * acknowledged then. */
static bool
is_stuck(struct mmp_away *a, struct mmp_away_rank *r)
{
	struct suci_lane_info l;
	if (r->lane == NONE || !suci_lane_info(a->conf.lanes->lanes, r->lane, &l))
		return false;
	if (!l.tx_blocks_queued || l.tx_acked_seq != r->acked || !r->acked_ns)
		r->acked_ns = a->now_ns;
	r->acked = l.tx_acked_seq;
	return a->now_ns - r->acked_ns > (r->card.threaded ? RANK_LIVES : a->conf.silence_ns);
}

/* What is said on a lane may be lost with a relay, and nobody says so.  The last turn is kept for
 * a way that is known to have broken. */
static void
try_again(struct mmp_away *a, uint32_t rank)
{
	struct mmp_away_rank *r = &a->rank[rank];
	const struct mmp_link *l = link_to(a, rank);
	uint32_t unheard = l->turn - l->heard;
	if (unheard >= MMP_LINK_AHEAD - 1 || r->unheard_ns < UNHEARD_NS << unheard)
		return;
	close_lane(a, rank);
	mmp_far_pause(a->conf.lanes->far, rank);
	mmp_away_open(a, rank);
}

/* Only time in which we had our turns counts: programs compute. */
static void
look_at_rank(struct mmp_away *a, uint32_t rank, uint64_t step_ns)
{
	struct mmp_away_rank *r = &a->rank[rank];
	if (r->waits && r->lane != NONE && mmp_link_is_heard(link_to(a, rank)))
		r->waits = false;
	r->unheard_ns += step_ns;
	r->waited_ns += r->waits ? step_ns : 0;
	if (!r->waits && is_stuck(a, r))
		mmp_away_lose(a, rank, "takes nothing");
	else if (r->waits && r->waited_ns > a->conf.wait_ns)
		mmp_away_lose(a, rank, r->why);
	else if (r->lane != NONE && !mmp_link_is_heard(link_to(a, rank)))
		try_again(a, rank);
	else if (r->import == NONE && a->own[MMP_AWAY_OWN].state == DOOR_CLIENT_HAVE)
		import_rank(a, rank);
}

static void
look_at_ranks(struct mmp_away *a)
{
	uint64_t step = base_min_ns(a->now_ns - a->looked_ns, 2 * LOOK_NS);
	a->looked_ns = a->now_ns;
	a->look_ns = a->now_ns + LOOK_NS;
	/* The paths are given up late, for we may compute and not listen. */
	door_sites_listen(&a->sites, step, RELAY_LIVES, a->now_ns);
	for (uint32_t i = 0; i < a->conf.size; i++)
		if (a->rank[i].elsewhere && !a->rank[i].over)
			look_at_rank(a, i, step);
}

static bool
open_own_door(struct mmp_away *a)
{
	if (door_client_open(&a->client, MMP_AWAY_OWN, MMP_AWAY_LABELS, a->conf.realm, 0) ==
	    DOOR_CLIENT_NONE)
		return false;
	door_client_keep(&a->client, MMP_AWAY_OWN);
	return true;
}

/* The relay had no room for our door, or did not give it back. */
static void
seek_own_door(struct mmp_away *a)
{
	a->again_ns = a->now_ns + LOOK_NS;
	if (a->agains++ < AGAINS && door_client_again(&a->client, MMP_AWAY_OWN)) {
		a->again = false;
		return;
	}
	door_client_close(&a->client, MMP_AWAY_OWN);
	a->again = !open_own_door(a);
}

static void
push_all(struct mmp_away *a)
{
	a->unpushed = false;
	for (uint32_t i = 0; i < a->conf.size; i++)
		if (a->rank[i].lane != NONE)
			a->unpushed |=
				!mmp_lanes_push(a->conf.lanes, i, a->rank[i].lane, a->now_ns);
	a->dirty = true;
}

void
mmp_away_turn(struct mmp_away *a, uint64_t now_ns)
{
	a->now_ns = now_ns;
	if (a->due_ns <= now_ns) {
		a->due_ns = may_call(a) ? door_sites_seek(&a->sites, now_ns) : BASE_NEVER_NS;
		a->due_ns = base_min_ns(a->due_ns, door_sites_turn(&a->sites, now_ns));
	}
	if (a->unpushed)
		push_all(a);
	if (a->again && a->client.up && !a->stopped && now_ns >= a->again_ns)
		seek_own_door(a);
	if (a->known && now_ns >= a->look_ns)
		look_at_ranks(a);
}

uint64_t
mmp_away_expiry_ns(const struct mmp_away *a)
{
	uint64_t at = a->due_ns;
	if (a->unpushed)
		at = base_min_ns(at, a->now_ns + BASE_MS_NS);
	if (a->again && a->client.up && !a->stopped)
		at = base_min_ns(at, a->again_ns);
	if (a->known)
		at = base_min_ns(at, a->look_ns);
	return at;
}

void
mmp_away_stop(struct mmp_away *a)
{
	a->stopped = true;
}

/* ---- making ---- */

static void
carve_away(struct mmp_away *a, uint32_t size, uint32_t fars, uint32_t lanes_max, uint8_t **at,
	   struct mmp_link **links)
{
	a->rank = base_carve(at, size * sizeof *a->rank);
	a->client.import = base_carve(at, size * sizeof *a->client.import);
	a->talk = base_carve(at, lanes_max * sizeof *a->talk);
	*links = base_carve(at, fars * sizeof **links);
}

size_t
mmp_away_footprint(uint32_t size, uint32_t fars, uint32_t lanes_max)
{
	struct mmp_away a;
	struct mmp_link *links;
	uint8_t *at = (uint8_t *)base_carved(sizeof a);
	carve_away(&a, size, fars, lanes_max, &at, &links);
	return (size_t)at + BASE_CARVE_ALIGN;
}

struct mmp_away *
mmp_away_new(void *mem, const struct mmp_away_conf *c, uint64_t now_ns)
{
	uint8_t *at = base_carve_from(mem);
	struct mmp_away *a = base_carve(&at, sizeof *a);
	struct mmp_link *links;
	struct door_client_conf dc = {.ops = &away_ops, .user = a};
	uint32_t fars = 0;
	for (uint32_t i = 0; i < c->size; i++)
		fars += c->elsewhere[i];
	carve_away(a, c->size, fars, c->lanes_max, &at, &links);
	a->conf = *c;
	a->conf.elsewhere = NULL; /* the caller's */
	a->fars = fars;
	a->now_ns = a->looked_ns = now_ns;
	for (uint32_t i = 0; i < c->size; i++) {
		struct mmp_away_rank *r = &a->rank[i];
		r->import = r->lane = r->talk = NONE;
		r->elsewhere = c->elsewhere[i];
		c->lanes->far->peer[i].link = r->elsewhere ? links++ : NULL;
	}
	memcpy(dc.secret, c->secret, sizeof dc.secret);
	door_client_init(&a->client, &dc, a->own, 1, a->client.import, c->size);
	door_sites_init(&a->sites, &a->client, c->ep);
	a->sites.dirty = &a->dirty;
	for (uint32_t k = 0; k < c->relays; k++)
		door_sites_add(&a->sites, &c->relay[k]);
	(void)open_own_door(a);
	return a;
}
