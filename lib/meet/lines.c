/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/lines.h"

#include "canary.h"

#include <string.h>

static struct meet_piece nowhere;

void
meet_lines_init(struct meet_lines *l, struct door_client *client, struct suci_lanes *lanes,
		const struct meet_lines_ops *ops, void *user)
{
	*l = (struct meet_lines){.client = client, .lanes = lanes, .ops = ops, .user = user};
}

bool
meet_lines_lead(const struct meet_lines *l, uint32_t own, const struct door_address *to)
{
	return to->n && own != MEET_LINE_NONE && !door_client_near(l->client, own, to);
}

/* ---- beginning ---- */

/* The labels of both sides are others at the other side: only that it is a conversation is in it.
 */
#define TALK_SALT 0x74616c6b74616c6bu

static bool
open_line_lane(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	struct suci_lane_conf c;

	l->ops->lane(l->user, t->site, t->door, t->label, &c);
	c.tx_salt = c.rx_salt = TALK_SALT;
	if (suci_lane_open(l->lanes, &c, &t->lane, now_ns))
		return false;
	t->has_lane = true;
	l->ops->opened(l->user, t->lane, (uint32_t)(t - l->line));
	return true;
}

/* Pieces that are whole, or those that are not. */
static void
drop_pieces(struct meet_lines *l, struct meet_line *t, bool whole)
{
	struct meet_piece **at = &t->first;

	while (*at) {
		struct meet_piece *p = *at;
		if (p->whole != whole) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		t->kept -= p->len;
		l->ops->give(l->user, p);
	}
	t->last = at;
}

static void
close_line_lane(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	if (t->has_lane)
		suci_lane_close(l->lanes, t->lane, now_ns);
	t->has_lane = false;
	/* What had begun cannot end. */
	drop_pieces(l, t, false);
}

/* The place is free; its two labels are given back. */
static void
free_line(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	close_line_lane(l, t, now_ns);
	drop_pieces(l, t, true);
	if (t->import != MEET_LINE_NONE && !MEET_BUG(KEPT_LINE)) {
		door_client_drop(l->client, t->import);
		door_client_close(l->client, t->door);
	}
	t->state = MEET_LINE_FREE;
}

/* It is called, and whoever calls is forgotten. */
static void
shut_line(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	(void)door_client_unhold(l->client, t->site, t->label);
	free_line(l, t, now_ns);
}

static bool
says_nothing(const struct meet_line *t, uint64_t now_ns)
{
	return t->state == MEET_LINE_KNOCKS && (!t->first || !t->first->whole) &&
	       now_ns - t->since_ns >= MEET_LINE_SILENT_NS && !MEET_BUG(HOGGED);
}

static bool
has_lingered(const struct meet_line *t, uint64_t now_ns)
{
	return t->since_ns + MEET_LINE_LINGER_NS <= now_ns && !MEET_BUG(LINGERS);
}

/* Who makes room, if there is no free place. */
static struct meet_line *
find_victim(struct meet_lines *l, uint64_t now_ns)
{
	struct meet_line *silent = NULL;

	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		/* Who is still there though all is said, or though it does not hear that. */
		if (t->state == MEET_LINE_ENDS && t->import == MEET_LINE_NONE &&
		    (!t->unacked || has_lingered(t, now_ns)))
			return t;
		if (says_nothing(t, now_ns) && (!silent || t->turn < silent->turn))
			silent = t;
	}
	return silent;
}

static struct meet_line *
seat_line(struct meet_lines *l, uint64_t now_ns)
{
	struct meet_line *t = l->line;

	while (t < l->line + MEET_LINES_MAX && t->state != MEET_LINE_FREE)
		t++;
	if (t == l->line + MEET_LINES_MAX) {
		t = find_victim(l, now_ns);
		if (!t)
			return NULL;
		shut_line(l, t, now_ns);
	}
	*t = (struct meet_line){.import = MEET_LINE_NONE,
				.last = &t->first,
				.since_ns = now_ns,
				.turn = l->turns++};
	return t;
}

static bool
door_closes(const struct meet_lines *l, uint32_t door)
{
	for (const struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->closes && t->door == door)
			return true;
	return false;
}

enum suci_verdict
meet_lines_came(struct meet_lines *l, uint32_t site, uint32_t door, uint32_t label, uint64_t now_ns)
{
	if (door_closes(l, door))
		return SUCI_DROPPED;
	struct meet_line *t = seat_line(l, now_ns);

	if (!t)
		return SUCI_REFUSED;
	t->door = door;
	t->site = site;
	t->label = label;
	if (!open_line_lane(l, t, now_ns))
		return SUCI_REFUSED;
	if (!door_client_hold(l->client, site, label)) {
		close_line_lane(l, t, now_ns);
		return SUCI_REFUSED;
	}
	t->state = MEET_LINE_KNOCKS;
	return SUCI_TAKEN;
}

uint32_t
meet_lines_knocks(const struct meet_lines *l, uint32_t door)
{
	uint32_t best = MEET_LINE_NONE;

	for (uint32_t i = 0; i < MEET_LINES_MAX; i++) {
		const struct meet_line *t = &l->line[i];
		if (t->state == MEET_LINE_KNOCKS && t->door == door && t->first &&
		    t->first->whole &&
		    (best == MEET_LINE_NONE ||
		     (t->turn < l->line[best].turn && !MEET_BUG(ANY_ORDER))))
			best = i;
	}
	return best;
}

uint32_t
meet_lines_knock(struct meet_lines *l, uint32_t door)
{
	uint32_t i = meet_lines_knocks(l, door);

	if (i != MEET_LINE_NONE)
		l->line[i].state = MEET_LINE_ON;
	return i;
}

/* A conversation that somebody began by calling at that door, or NULL. */
static struct meet_line *
find_caller_on(struct meet_lines *l, uint32_t door)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->state == MEET_LINE_ON && t->import == MEET_LINE_NONE && t->door == door)
			return t;
	return NULL;
}

void
meet_lines_close(struct meet_lines *l, uint32_t door, uint64_t now_ns)
{
	struct meet_line *called = find_caller_on(l, door);

	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->state == MEET_LINE_KNOCKS && t->door == door)
			shut_line(l, t, now_ns);
	if (called && !MEET_BUG(SLAMMED))
		called->closes = true;
	else
		door_client_close(l->client, door);
}

/* A conversation is over: is its door the one of a port that is closed? */
static void
close_behind(struct meet_lines *l, struct meet_line *t)
{
	if (!t->closes)
		return;
	struct meet_line *other = find_caller_on(l, t->door);
	t->closes = false;
	if (other)
		other->closes = true;
	else
		door_client_close(l->client, t->door);
}

uint32_t
meet_lines_keep(struct meet_lines *l, uint64_t now_ns)
{
	struct meet_line *t = seat_line(l, now_ns);

	if (!t)
		return MEET_LINE_NONE;
	t->state = MEET_LINE_CALLS;
	return (uint32_t)(t - l->line);
}

void
meet_lines_call(struct meet_lines *l, uint32_t line, uint32_t door, uint32_t import)
{
	struct meet_line *t = &l->line[line];

	t->door = door;
	t->import = import;
}

bool
meet_lines_go(struct meet_lines *l, uint32_t line, uint64_t now_ns)
{
	struct meet_line *t = &l->line[line];
	const struct door_client_import *m = &l->client->import[t->import];

	t->site = m->site;
	t->label = m->label;
	if (!door_client_reaches(m) || !open_line_lane(l, t, now_ns))
		return false;
	t->state = MEET_LINE_ON;
	return true;
}

/* ---- ending ---- */

void
meet_lines_gone(struct meet_lines *l, uint32_t site, uint32_t label, uint64_t now_ns)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		if (t->state == MEET_LINE_FREE || t->state == MEET_LINE_CALLS ||
		    t->import != MEET_LINE_NONE || t->site != site || t->label != label)
			continue;
		t->over = true;
		close_line_lane(l, t, now_ns);
		if (t->state != MEET_LINE_ON)
			free_line(l, t, now_ns);
	}
}

void
meet_lines_lost(struct meet_lines *l, uint32_t import, bool refused)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->state != MEET_LINE_FREE && t->import == import) {
			t->over = true;
			t->refused = refused;
			/* Who has hung up waits for acks that do not come. */
			l->ops->wake(l->user);
		}
}

void
meet_lines_over(struct meet_lines *l, uint32_t site, uint64_t now_ns)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		/* What is being asked for may be granted by another relay. */
		if (t->state == MEET_LINE_FREE || t->state == MEET_LINE_CALLS || t->site != site)
			continue;
		t->over = true;
		close_line_lane(l, t, now_ns);
		if (t->state == MEET_LINE_KNOCKS || t->state == MEET_LINE_ENDS)
			free_line(l, t, now_ns);
	}
}

void
meet_lines_turn(struct meet_lines *l, uint64_t now_ns)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		bool late = has_lingered(t, now_ns);
		bool gone = t->over || (t->import != MEET_LINE_NONE && (!t->unacked || late));
		if (t->state == MEET_LINE_ENDS && gone)
			free_line(l, t, now_ns);
	}
}

uint64_t
meet_lines_due(const struct meet_lines *l)
{
	uint64_t due = BASE_NEVER_NS;

	for (const struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->state == MEET_LINE_ENDS && t->import != MEET_LINE_NONE && !MEET_BUG(LINGERS))
			due = base_min_ns(due, t->since_ns + MEET_LINE_LINGER_NS);
	return due;
}

void
meet_lines_hang_up(struct meet_lines *l, uint32_t line, uint64_t now_ns)
{
	struct meet_line *t = &l->line[line];

	if (t->state == MEET_LINE_CALLS && t->import == MEET_LINE_NONE) {
		t->state = MEET_LINE_FREE; /* it never called */
		return;
	}
	t->state = MEET_LINE_ENDS;
	t->since_ns = now_ns;
	drop_pieces(l, t, true);
	close_behind(l, t);
	meet_lines_turn(l, now_ns);
}

/* ---- saying, hearing ---- */

int64_t
meet_lines_say(struct meet_lines *l, uint32_t line, const void *data, size_t len, uint64_t now_ns)
{
	struct meet_line *t = &l->line[line];
	size_t n = len < MEET_LINE_SAY_BYTES ? len : MEET_LINE_SAY_BYTES;
	uint8_t *copy;

	if (t->over || !t->has_lane)
		return -1;
	copy = l->ops->take(l->user, n);
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	int err = suci_lane_send(l->lanes, t->lane, NULL, 0, copy, n, true,
				 (uint64_t)(uintptr_t)copy, now_ns);
	if (err) {
		l->ops->give(l->user, copy);
		return err == SUCI_ERR_NOMEM ? 0 : -1;
	}
	t->unacked++;
	return (int64_t)n;
}

int64_t
meet_lines_hear(struct meet_lines *l, uint32_t line, void *data, size_t len)
{
	struct meet_line *t = &l->line[line];
	struct meet_piece *p = t->first;

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
	l->ops->give(l->user, p);
	return (int64_t)n;
}

bool
meet_lines_heard(const struct meet_lines *l, uint32_t line)
{
	const struct meet_line *t = &l->line[line];

	return t->over || (t->first && t->first->whole);
}

/* ---- blocks ---- */

void *
meet_lines_block_begin(struct meet_lines *l, uint32_t line, uint64_t bytes)
{
	struct meet_line *t = &l->line[line];
	uint64_t most = t->state == MEET_LINE_KNOCKS ? MEET_KNOCK_BYTES : MEET_LINE_BYTES;
	struct meet_piece *p = NULL;

	if (t->state == MEET_LINE_ENDS)
		return &nowhere; /* nobody hears it */
	if (bytes > 0 && t->kept <= most && bytes <= most - t->kept)
		p = l->ops->take(l->user, sizeof *p + (size_t)bytes);
	if (!p) {
		t->over = true;
		return &nowhere;
	}
	*p = (struct meet_piece){.len = bytes};
	*t->last = p;
	t->last = &p->next;
	t->kept += bytes;
	return p;
}

void
meet_lines_block_data(void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	struct meet_piece *p = block;

	if (p != &nowhere)
		memcpy(p->data + offset, data, len);
}

void
meet_lines_block_end(void *block)
{
	struct meet_piece *p = block;

	if (p != &nowhere)
		p->whole = true;
}

void
meet_lines_block_done(struct meet_lines *l, uint32_t line, uint64_t cookie)
{
	l->ops->give(l->user, (void *)(uintptr_t)cookie);
	l->line[line].unacked--;
	l->ops->wake(l->user);
}

void
meet_lines_lane_down(struct meet_lines *l, uint32_t line)
{
	struct meet_line *t = &l->line[line];

	t->has_lane = false;
	t->over = true;
	l->ops->wake(l->user);
}

const char *
meet_lines_check(const struct meet_lines *l)
{
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++) {
		const struct meet_line *t = &l->line[i];
		uint64_t kept = 0;
		if (t->state == MEET_LINE_FREE && (t->has_lane || t->first))
			return "a free line has a lane, or keeps something";
		for (const struct meet_piece *p = t->first; p; p = p->next)
			kept += p->len;
		if (t->state != MEET_LINE_FREE && kept != t->kept)
			return "what a line keeps is not what it counts";
		if (t->state == MEET_LINE_KNOCKS && kept > MEET_KNOCK_BYTES)
			return "who knocks has more kept than it may";
	}
	return NULL;
}
