/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/lines.h"

#include "canary.h"

#include <string.h>

_Static_assert(MEET_FROM_BYTES >= MEET_WORD_BYTES + DOOR_ADDRESS_MAX, "a word, an address");

static struct meet_piece nowhere;

void
meet_lines_init(struct meet_lines *l, struct door_client *client, struct suci_lanes *lanes,
		const struct meet_lines_ops *ops, void *user, uint64_t wait_ns)
{
	*l = (struct meet_lines){.client = client,
				 .lanes = lanes,
				 .ops = ops,
				 .user = user,
				 .rests = {.wait_ns = wait_ns}};
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
	/* Whether who calls moves is not known before it has said so. */
	c.moves = t->called || t->moves;
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

static void
drop_line_import(struct meet_lines *l, struct meet_line *t)
{
	if (t->import != MEET_LINE_NONE)
		door_client_drop(l->client, t->import);
	t->import = MEET_LINE_NONE;
}

/* The place is free; its two labels are given back. */
static void
free_line(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	close_line_lane(l, t, now_ns);
	drop_pieces(l, t, true);
	meet_rest_end(&l->rests, &t->rest);
	if (!MEET_BUG(KEPT_LINE)) {
		drop_line_import(l, t);
		if (!t->called && t->door != MEET_LINE_NONE)
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
		if (t->state == MEET_LINE_ENDS && t->called &&
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
	*t = (struct meet_line){.door = MEET_LINE_NONE,
				.import = MEET_LINE_NONE,
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

static enum suci_verdict
seat_caller(struct meet_lines *l, uint32_t site, uint32_t door, uint32_t label, uint64_t now_ns)
{
	struct meet_line *t = seat_line(l, now_ns);

	if (!t)
		return SUCI_REFUSED;
	t->called = true;
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

/* ---- moving ---- */

static struct meet_line *
line_of_import(struct meet_lines *l, uint32_t import)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->state != MEET_LINE_FREE && t->import == import)
			return t;
	return NULL;
}

/* Nothing comes any more, and nothing goes. */
static void
end_line(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	t->over = true;
	close_line_lane(l, t, now_ns);
	meet_rest_end(&l->rests, &t->rest);
	if (t->state == MEET_LINE_KNOCKS)
		free_line(l, t, now_ns);
	/* Who has hung up waits for acks that do not come. */
	l->ops->wake(l->user);
}

static void
rest_line(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	if (t->over)
		return;
	if (meet_rest_begin(&l->rests, &t->rest, now_ns))
		l->ops->wake(l->user);
	if (t->has_lane)
		suci_lane_rest(l->lanes, t->lane, now_ns);
}

/* The other door is reached.  false: not by its labels yet. */
static bool
resume_line(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	const struct door_client_import *m = &l->client->import[t->import];
	struct suci_lane_conf c;

	if (!t->has_lane)
		return false;
	l->ops->lane(l->user, m->site, t->door, m->label, &c);
	int err = suci_lane_move(l->lanes, t->lane, c.path, m->label, m->label, now_ns);
	if (err == SUCI_ERR_TOOBIG) {
		end_line(l, t, now_ns);
		return false;
	}
	if (err) {
		rest_line(l, t, now_ns);
		return false;
	}
	l->moved++;
	t->left = false;
	t->site = m->site;
	t->label = m->label;
	meet_rest_go_on(&l->rests, &t->rest, m);
	return true;
}

/* The first block of who calls: where it calls from.  false: it does not say so. */
static bool
take_from(struct meet_lines *l, struct meet_line *t, const struct meet_piece *p)
{
	if (p->len <= MEET_WORD_BYTES || p->len > MEET_FROM_BYTES ||
	    door_address_decode(p->data + MEET_WORD_BYTES, (size_t)p->len - MEET_WORD_BYTES,
				&t->at) ||
	    !meet_word_is(p->data, MEET_FROM, t->at.token))
		return false;
	t->import = l->ops->import(l->user, &t->at, t->door);
	t->moves = t->import != MEET_LINE_NONE;
	return true;
}

static void
say_from(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	const struct door_address *mine = &l->client->own[t->door].at;
	uint8_t from[MEET_FROM_BYTES];
	size_t len = door_address_encode(mine, from + MEET_WORD_BYTES);

	meet_word_write(from, MEET_FROM, mine->token);
	t->moves =
		meet_lines_say(l, (uint32_t)(t - l->line), from, MEET_WORD_BYTES + len, now_ns) > 0;
	if (t->moves)
		door_client_stay(l->client, t->door);
}

/* Of a line that is there already, by labels that it has now; or it may be of one. */
static bool
is_of_line(struct meet_lines *l, uint32_t site, uint32_t door, uint32_t label, uint64_t now_ns,
	   enum suci_verdict *verdict)
{
	bool more, here = false, other = false, rests = false;
	uint32_t import = door_client_called(l->client, site, door, label, &more);
	struct meet_line *is = import == DOOR_CLIENT_NONE ? NULL : line_of_import(l, import);

	if (is && is->moves) {
		*verdict = is->rest.rests && resume_line(l, is, now_ns) ? SUCI_TAKEN : SUCI_DROPPED;
		return true;
	}
	for (const struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		bool on = t->state != MEET_LINE_FREE && t->door == door;
		here |= on && !t->called;
		rests |= on && t->rest.rests;
		other |= on && t->moves && !says_nothing(t, now_ns) &&
			 (t->rest.rests || t->site != site);
	}
	/* What is refused comes again at once, what is dropped after a while.  Many may knock, and
	 * one that does not rest may be in doubt for long. */
	*verdict = rests ? SUCI_REFUSED : SUCI_DROPPED;
	return here || more || other;
}

enum suci_verdict
meet_lines_came(struct meet_lines *l, uint32_t site, uint32_t door, uint32_t label, uint64_t now_ns)
{
	enum suci_verdict verdict;

	if (is_of_line(l, site, door, label, now_ns, &verdict))
		return verdict;
	return door_closes(l, door) ? SUCI_DROPPED : seat_caller(l, site, door, label, now_ns);
}

void
meet_lines_reached(struct meet_lines *l, uint32_t import, uint64_t now_ns)
{
	const struct door_client_import *m = &l->client->import[import];
	struct meet_line *t = line_of_import(l, import);

	if (!t || !t->moves || t->state == MEET_LINE_CALLS)
		return;
	t->rest.met = true;
	bool unsure = meet_rest_is_unsure(m);
	if (t->rest.rests || t->rest.unsure || t->site != m->site || t->label != m->label)
		(void)resume_line(l, t, now_ns);
	else
		meet_rest_granted(&l->rests, &t->rest, m);
	t->rest.unsure = unsure;
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
		if (t->state == MEET_LINE_ON && t->called && t->door == door)
			return t;
	return NULL;
}

/* Nothing is imported from there any more. */
static void
close_port_door(struct meet_lines *l, uint32_t door, uint64_t now_ns)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		if (t->state == MEET_LINE_FREE || !t->called || t->door != door || !t->moves)
			continue;
		drop_line_import(l, t);
		t->moves = false;
		if (t->rest.rests)
			end_line(l, t, now_ns);
		meet_rest_end(&l->rests, &t->rest);
	}
	door_client_close(l->client, door);
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
		close_port_door(l, door, now_ns);
}

/* A conversation is over: is its door the one of a port that is closed? */
static void
close_behind(struct meet_lines *l, struct meet_line *t, uint64_t now_ns)
{
	if (!t->closes)
		return;
	struct meet_line *other = find_caller_on(l, t->door);
	t->closes = false;
	if (other)
		other->closes = true;
	else
		close_port_door(l, t->door, now_ns);
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

	const struct door_address *mine = &l->client->own[t->door].at;

	t->site = m->site;
	t->label = m->label;
	t->at = m->at;
	t->moves = (m->at.nrelays > 1 || mine->nrelays > 1) && !MEET_BUG(LINE_STAYS);
	if (!door_client_reaches(m) || !open_line_lane(l, t, now_ns))
		return false;
	t->state = MEET_LINE_ON;
	t->rest.unsure = t->moves && meet_rest_is_unsure(m);
	if (t->moves)
		say_from(l, t, now_ns);
	return true;
}

/* ---- ending ---- */

void
meet_lines_gone(struct meet_lines *l, uint32_t site, uint32_t label, uint64_t now_ns)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		if (t->state == MEET_LINE_FREE || !t->called || t->site != site ||
		    t->label != label)
			continue;
		/* By that relay; the import tells more. */
		t->left = true;
		if (t->moves && !t->over)
			continue;
		t->over = true;
		close_line_lane(l, t, now_ns);
		if (t->state != MEET_LINE_ON)
			free_line(l, t, now_ns);
	}
}

void
meet_lines_lost(struct meet_lines *l, uint32_t import, enum door_client_lost why, uint64_t now_ns)
{
	struct meet_line *t = line_of_import(l, import);

	if (!t || (t->state == MEET_LINE_CALLS && why == DOOR_CLIENT_RESET))
		return; /* it is asked for anew */
	if (!t->moves) {
		t->over = true;
		t->refused = why == DOOR_CLIENT_REFUSED;
		l->ops->wake(l->user);
	} else if (why == DOOR_CLIENT_RESET) {
		rest_line(l, t, now_ns);
	} else if (why == DOOR_CLIENT_RELAY || (why == DOOR_CLIENT_REFUSED && t->rest.met)) {
		/* A relay that was started again does not know the door yet. */
		rest_line(l, t, now_ns);
		drop_line_import(l, t);
		t->rest.again_ns = now_ns + MEET_REST_LOOK_NS;
	} else if (t->called && !t->rest.met && !t->rest.rests && !t->left) {
		/* A relay may have no room for it: then it lasts as long as its relay. */
		drop_line_import(l, t);
		t->moves = false;
		meet_rest_end(&l->rests, &t->rest);
	} else {
		end_line(l, t, now_ns);
	}
}

void
meet_lines_over(struct meet_lines *l, uint32_t site, bool for_good, uint64_t now_ns)
{
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		/* What is being asked for may be granted by another relay. */
		if (t->state == MEET_LINE_FREE || t->state == MEET_LINE_CALLS || t->site != site)
			continue;
		if (t->moves && !t->over && !for_good) {
			rest_line(l, t, now_ns);
			continue;
		}
		t->over = true;
		close_line_lane(l, t, now_ns);
		meet_rest_end(&l->rests, &t->rest);
		if (t->state == MEET_LINE_KNOCKS || t->state == MEET_LINE_ENDS)
			free_line(l, t, now_ns);
	}
}

static void
look_at_line(struct meet_lines *l, struct meet_line *t, uint64_t step_ns, uint64_t now_ns)
{
	switch (meet_rest_look(&l->rests, &t->rest, l->client, t->import, step_ns, now_ns)) {
	case MEET_REST_OVER:
		end_line(l, t, now_ns);
		break;
	case MEET_REST_ASKS:
		t->import = l->ops->import(l->user, &t->at, t->door);
		break;
	case MEET_REST_GOES:
		(void)resume_line(l, t, now_ns);
		break;
	case MEET_REST_WAITS:
		break;
	}
}

static void
look_at_resting(struct meet_lines *l, uint64_t now_ns)
{
	uint64_t step = meet_rest_step(&l->rests, now_ns);

	for (struct meet_line *t = l->line; step && t < l->line + MEET_LINES_MAX; t++)
		if (t->state != MEET_LINE_FREE && meet_rest_is_on(&t->rest))
			look_at_line(l, t, step, now_ns);
}

void
meet_lines_turn(struct meet_lines *l, uint64_t now_ns)
{
	look_at_resting(l, now_ns);
	for (struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++) {
		bool late = has_lingered(t, now_ns);
		bool gone = t->over || (!t->called && (!t->unacked || late));
		if (t->state == MEET_LINE_ENDS && gone)
			free_line(l, t, now_ns);
	}
}

uint64_t
meet_lines_due(const struct meet_lines *l)
{
	uint64_t due = meet_rest_due(&l->rests);

	for (const struct meet_line *t = l->line; t < l->line + MEET_LINES_MAX; t++)
		if (t->state == MEET_LINE_ENDS && !t->called && !MEET_BUG(LINGERS))
			due = base_min_ns(due, t->since_ns + MEET_LINE_LINGER_NS);
	return due;
}

void
meet_lines_hang_up(struct meet_lines *l, uint32_t line, uint64_t now_ns)
{
	struct meet_line *t = &l->line[line];

	if (t->state == MEET_LINE_CALLS && t->door == MEET_LINE_NONE) {
		t->state = MEET_LINE_FREE; /* it never called */
		return;
	}
	t->state = MEET_LINE_ENDS;
	t->since_ns = now_ns;
	drop_pieces(l, t, true);
	close_behind(l, t, now_ns);
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
meet_lines_block_end(struct meet_lines *l, uint32_t line, void *block)
{
	struct meet_line *t = &l->line[line];
	struct meet_piece *p = block;

	if (p == &nowhere)
		return;
	p->whole = true;
	if (!t->called || t->greeted || p != t->first)
		return;
	t->greeted = true;
	if (!take_from(l, t, p))
		return;
	t->first = p->next;
	if (!t->first)
		t->last = &t->first;
	t->kept -= p->len;
	l->ops->give(l->user, p);
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
	meet_rest_end(&l->rests, &t->rest);
	l->ops->wake(l->user);
}

const char *
meet_lines_check(const struct meet_lines *l)
{
	uint32_t resting = 0;

	for (uint32_t i = 0; i < MEET_LINES_MAX; i++) {
		const struct meet_line *t = &l->line[i];
		uint64_t kept = 0;
		resting += meet_rest_is_on(&t->rest);
		if (meet_rest_is_on(&t->rest) && (!t->moves || t->state == MEET_LINE_FREE))
			return "a line that rests moves";
		if (t->rest.rests && t->over)
			return "a line that is over does not rest";
		if (t->state == MEET_LINE_FREE && (t->has_lane || t->first))
			return "a free line has a lane, or keeps something";
		for (const struct meet_piece *p = t->first; p; p = p->next)
			kept += p->len;
		if (t->state != MEET_LINE_FREE && kept != t->kept)
			return "what a line keeps is not what it counts";
		if (t->state == MEET_LINE_KNOCKS && kept > MEET_KNOCK_BYTES)
			return "who knocks has more kept than it may";
	}
	return resting == l->rests.n ? NULL : "lines that rest = their number";
}
