/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversations of two roots over a pair of doors: see doors.h.
 *
 * Who calls has a door and an import for the conversation, and gives up both when all that it said
 * has arrived.  Who is called keeps the lane until it hears that the other door is gone: what comes
 * late is then still of this conversation. */
#include "doors.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define eng   lmpi_eng
#define net   lmpi_net
#define doors lmpi_doors

#define BLOCK_BYTES 65536u	 /* of what is said at a time */
#define TALK_BYTES  (256u << 20) /* what is kept until it is read */

enum talk_state { TALK_FREE, TALK_KNOCKS, TALK_ON, TALK_ENDS };

/* What came, in the order of sending. */
struct piece {
	struct piece *next;
	uint64_t len, at;
	bool whole;
	uint8_t data[];
};

static struct talk {
	enum talk_state state;
	bool has_lane;
	bool over; /* the other end is gone, or says nonsense */
	bool refused;
	uint32_t lane;
	uint32_t door;	  /* ours: of the port, or of this conversation */
	uint32_t import;  /* of the port; DOOR_NONE: we were called */
	uint32_t label;	  /* what our relay calls the other door */
	uint32_t unacked; /* blocks */
	uint64_t kept;
	struct piece *first, **last;
} talks[LMPI_TALKS_MAX];

static struct piece nowhere;

/* ---- beginning ---- */

/* The labels of both sides are others at the other side: only that it is a conversation is in it.
 */
#define TALK_SALT 0x74616c6b74616c6bu

static bool
open_talk_lane(struct talk *t)
{
	struct suci_lane_conf c;

	lmpi_doors_lane(doors.client.own[t->door].at.label, t->label, &c);
	c.tx_salt = c.rx_salt = TALK_SALT;
	if (suci_lane_open(net.lanes, &c, &t->lane, eng.now_ns))
		return false;
	t->has_lane = true;
	net.lane_rank[t->lane] = LANE_TALK | (uint32_t)(t - talks);
	return true;
}

static void
drop_pieces(struct talk *t)
{
	for (struct piece *p = t->first, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	t->first = NULL;
	t->last = &t->first;
	t->kept = 0;
}

static void
close_talk_lane(struct talk *t)
{
	if (t->has_lane)
		suci_lane_close(net.lanes, t->lane, eng.now_ns);
	t->has_lane = false;
	/* What had begun and cannot end. */
	for (struct piece **at = &t->first; *at;) {
		struct piece *p = *at;
		if (p->whole) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		t->kept -= p->len;
		free(p);
	}
	t->last = &t->first;
	while (*t->last)
		t->last = &(*t->last)->next;
}

/* The place is free; its two labels are given back. */
static void
free_talk(struct talk *t)
{
	close_talk_lane(t);
	drop_pieces(t);
	if (t->import != DOOR_NONE) {
		door_client_drop(&doors.client, t->import);
		lmpi_doors_close(t->door);
	}
	t->state = TALK_FREE;
}

static struct talk *
take_talk(void)
{
	struct talk *best = NULL;

	for (uint32_t i = 0; i < LMPI_TALKS_MAX; i++) {
		struct talk *t = &talks[i];
		/* Who is still there though all is said has to go if there is no other place. */
		if (t->state == TALK_FREE ||
		    (!best && t->state == TALK_ENDS && !t->unacked && t->import == DOOR_NONE))
			best = t;
		if (t->state == TALK_FREE)
			break;
	}
	if (!best)
		return NULL;
	if (best->state != TALK_FREE) {
		(void)door_client_unhold(&doors.client, 0, best->label);
		free_talk(best);
	}
	*best = (struct talk){.import = DOOR_NONE, .last = &best->first};
	return best;
}

enum suci_verdict
lmpi_talk_came(uint32_t door, uint32_t label)
{
	struct talk *t = take_talk();

	if (!t)
		return SUCI_REFUSED;
	t->door = door;
	t->label = label;
	if (!open_talk_lane(t))
		return SUCI_REFUSED;
	if (!door_client_hold(&doors.client, 0, label)) {
		close_talk_lane(t);
		return SUCI_REFUSED;
	}
	t->state = TALK_KNOCKS;
	return SUCI_TAKEN;
}

static uint32_t
find_knock(uint32_t door)
{
	for (uint32_t i = 0; i < LMPI_TALKS_MAX; i++) {
		const struct talk *t = &talks[i];
		if (t->state == TALK_KNOCKS && t->door == door && t->first && t->first->whole)
			return i;
	}
	return DOOR_NONE;
}

bool
lmpi_doors_knocks(uint32_t door)
{
	return find_knock(door) != DOOR_NONE;
}

uint32_t
lmpi_doors_knock(uint32_t door)
{
	uint32_t i = find_knock(door);

	if (i != DOOR_NONE)
		talks[i].state = TALK_ON;
	return i;
}

static bool
import_settled(void *arg)
{
	const struct door_client_import *m = &doors.client.import[*(const uint32_t *)arg];

	return doors.path == DOOR_NONE || door_client_reaches(m) || m->state == DOOR_CLIENT_OVER;
}

static int
why_not_called(const struct door_address *a, const struct door_client_import *m, char why[LMPI_WHY])
{
	uint32_t ip = a->relay[0].ipv4;

	if (doors.path == DOOR_NONE)
		snprintf(why, LMPI_WHY, "%s", doors.why);
	else if (m->state == DOOR_CLIENT_OVER)
		snprintf(why, LMPI_WHY,
			 "nobody has that port open behind the relay %u.%u.%u.%u:%u now, or one of "
			 "the relays takes no more doors",
			 ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255, a->relay[0].port);
	else
		snprintf(
			why, LMPI_WHY,
			"the relay %u.%u.%u.%u:%u of the port does not answer ours: is it running, "
			"and does it carry doors?",
			ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255, a->relay[0].port);
	return LMPI_ERR_PORT;
}

int
lmpi_doors_call(const struct door_address *to, uint64_t deadline_ns, uint32_t *talk,
		char why[LMPI_WHY])
{
	struct door_address at;
	struct talk *t;
	int err;

	if (to->realm != doors.client.own[doors.mine].at.realm) {
		snprintf(why, LMPI_WHY,
			 "the port is of another realm than this job: LIBMPI_REALM has to be the "
			 "same in both");
		return LMPI_ERR_PORT;
	}
	t = take_talk();
	if (!t) {
		snprintf(why, LMPI_WHY, "%u others are being connected already", LMPI_TALKS_MAX);
		return LMPI_ERR_OTHER;
	}
	t->state = TALK_ON;
	err = lmpi_doors_open(&t->door, &at, why);
	if (err) {
		t->state = TALK_FREE;
		return err;
	}
	uint32_t import = lmpi_import_new(to, t->door, DOOR_NONE);
	if (import == DOOR_NONE) {
		lmpi_doors_close(t->door);
		t->state = TALK_FREE;
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	t->import = import;
	(void)lmpi_wait_until(import_settled, &import, deadline_ns);
	t->label = doors.client.import[import].label;
	if (doors.path == DOOR_NONE || !door_client_reaches(&doors.client.import[import]) ||
	    !open_talk_lane(t)) {
		err = why_not_called(to, &doors.client.import[import], why);
		free_talk(t);
		return err;
	}
	*talk = (uint32_t)(t - talks);
	return LMPI_OK;
}

bool
lmpi_doors_refused(uint32_t talk, char why[LMPI_WHY])
{
	const struct talk *t = &talks[talk];

	if (!t->refused)
		return false;
	(void)why_not_called(&doors.client.import[t->import].at, &doors.client.import[t->import],
			     why);
	return true;
}

/* ---- ending ---- */

void
lmpi_talk_gone(uint32_t label)
{
	for (uint32_t i = 0; i < LMPI_TALKS_MAX; i++) {
		struct talk *t = &talks[i];
		if (t->state == TALK_FREE || t->import != DOOR_NONE || t->label != label)
			continue;
		t->over = true;
		close_talk_lane(t);
		if (t->state != TALK_ON)
			free_talk(t);
	}
}

void
lmpi_talk_lost(uint32_t import, bool refused)
{
	for (uint32_t i = 0; i < LMPI_TALKS_MAX; i++)
		if (talks[i].state != TALK_FREE && talks[i].import == import) {
			talks[i].over = true;
			talks[i].refused = refused;
			doors.due_ns = 0; /* who has hung up waits for acks that do not come */
		}
}

void
lmpi_talks_over(void)
{
	for (uint32_t i = 0; i < LMPI_TALKS_MAX; i++) {
		struct talk *t = &talks[i];
		t->over = true;
		close_talk_lane(t);
		if (t->state == TALK_KNOCKS || t->state == TALK_ENDS)
			free_talk(t);
	}
}

void
lmpi_talks_turn(void)
{
	for (uint32_t i = 0; i < LMPI_TALKS_MAX; i++) {
		struct talk *t = &talks[i];
		bool gone = t->over || (t->import != DOOR_NONE && !t->unacked);
		if (t->state == TALK_ENDS && gone)
			free_talk(t);
	}
}

void
lmpi_doors_hang_up(uint32_t talk)
{
	talks[talk].state = TALK_ENDS;
	lmpi_talks_turn();
}

/* ---- saying, hearing ---- */

int64_t
lmpi_doors_say(uint32_t talk, const void *data, size_t len)
{
	struct talk *t = &talks[talk];
	size_t n = len < BLOCK_BYTES ? len : BLOCK_BYTES;
	uint8_t *copy;

	if (t->over || !t->has_lane)
		return -1;
	copy = malloc(n);
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	int err = suci_lane_send(net.lanes, t->lane, NULL, 0, copy, n, true,
				 (uint64_t)(uintptr_t)copy, suci_udp_now_ns());
	if (err) {
		free(copy);
		return err == SUCI_ERR_NOMEM ? 0 : -1;
	}
	t->unacked++;
	net.dirty = true;
	return (int64_t)n;
}

int64_t
lmpi_doors_hear(uint32_t talk, void *data, size_t len)
{
	struct talk *t = &talks[talk];
	struct piece *p = t->first;

	if (!p || !p->whole)
		return t->over ? -1 : 0;
	size_t n = p->len - p->at < len ? (size_t)(p->len - p->at) : len;
	memcpy(data, p->data + p->at, n);
	p->at += n;
	if (p->at < p->len)
		return (int64_t)n;
	t->first = p->next;
	if (!t->first)
		t->last = &t->first;
	t->kept -= p->len;
	free(p);
	return (int64_t)n;
}

bool
lmpi_doors_heard(uint32_t talk)
{
	const struct talk *t = &talks[talk];

	return t->over || (t->first && t->first->whole);
}

/* ---- blocks ---- */

void *
lmpi_talk_block_begin(uint32_t lane, uint64_t bytes)
{
	struct talk *t = &talks[net.lane_rank[lane] & ~LANE_TALK];
	uint64_t most = t->state == TALK_KNOCKS ? LMPI_KNOCK_BYTES : TALK_BYTES;
	struct piece *p = NULL;

	if (bytes > 0 && bytes <= most - t->kept)
		p = malloc(sizeof *p + (size_t)bytes);
	if (!p) {
		t->over = true;
		return &nowhere;
	}
	*p = (struct piece){.len = bytes};
	*t->last = p;
	t->last = &p->next;
	t->kept += bytes;
	return p;
}

void
lmpi_talk_block_data(void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	struct piece *p = block;

	if (p != &nowhere)
		memcpy(p->data + offset, data, len);
}

void
lmpi_talk_block_end(void *block)
{
	((struct piece *)block)->whole = true;
}

void
lmpi_talk_block_done(uint32_t lane, uint64_t cookie)
{
	struct talk *t = &talks[net.lane_rank[lane] & ~LANE_TALK];

	free((void *)(uintptr_t)cookie);
	t->unacked--;
	doors.due_ns = 0;
}

void
lmpi_talk_lane_down(uint32_t lane)
{
	struct talk *t = &talks[net.lane_rank[lane] & ~LANE_TALK];

	t->has_lane = false;
	t->over = true;
	doors.due_ns = 0;
}
