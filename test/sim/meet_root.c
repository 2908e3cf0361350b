/* SPDX-License-Identifier: BSD-2-Clause */
/* What a root does in MPI_Comm_accept and MPI_Comm_connect: pumps, as libmpi/others/port.c and
 * libmpi/dyn/meet.c have them; all that is decided is lib/meet's. */
#include "meet.h"

#include "draw.h"

#include <string.h>

#define POLL_NS (5 * BASE_MS_NS) /* libmpi looks each millisecond */
#define MARK	0x6d61726bu	 /* an honest root's greeting */

/* ---- the end of a conversation ---- */

static void
hang_up(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	if (r->pipe != MT_NONE)
		mt_pipe_close(n->w, r->pipe, n);
	if (r->line != MT_NONE)
		meet_lines_hang_up(&n->lines, r->line, n->w->s->now_ns);
	r->pipe = r->line = MT_NONE;
	n->g.say_ns = 0;
}

static void
end_as(struct mt_node *n, enum mt_end end)
{
	struct mt_root *r = &n->root;
	struct mt_try *t = r->try == MT_NONE ? NULL : &n->w->try[r->try];
	if (t && r->accepts) {
		INVARIANT(n->w->s, TOGETHER, t->acceptor == MT_OPEN || end != MT_CONNECTED,
			  "root %u: connect %u is accepted twice", n->index, r->try);
		t->acceptor = end;
		t->cid_acceptor = r->mine[0];
	} else if (t) {
		t->connector = end;
		t->cid_connector = r->theirs[0];
	}
	sim_log(n->w->s, "root %u: %s %d: %s (%d %d)", n->index, r->accepts ? "accept" : "connect",
		(int)r->try, end == MT_CONNECTED ? "connected" : "failed", r->talk.state,
		r->talk.phase);
	if (r->accepts && end == MT_CONNECTED)
		r->accepts_made++;
	else if (r->accepts)
		r->accepts_failed++;
	r->act = MT_REST;
	hang_up(n);
	if (n->w->ops)
		n->w->ops->ended(n, end == MT_CONNECTED);
}

void
mt_root_end(struct mt_node *n)
{
	n->root.act = MT_REST;
}

/* Those who are connected keep an eye on each other, as the processes of their jobs do. */
static void
watch_other(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	struct mt_try *t = &n->w->try[r->try];
	struct door_address at;
	if (!t->far)
		return;
	bool ok = !door_address_decode(r->their_cards + 1, r->their_cards[0], &at);
	INVARIANT(n->w->s, BYTES, ok, "root %u: the cards are not those that were said", n->index);
	if (ok && (n->mine == DOOR_CLIENT_NONE ||
		   door_client_import(&n->client, &at, n->mine, r->try) == DOOR_CLIENT_NONE))
		mt_root_told(n, r->try);
}

/* ---- steps ---- */

static void
begin_cards(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	uint64_t now = n->w->s->now_ns;
	uint64_t id = r->theirs[0];
	if (r->accepts) {
		bool known = r->theirs[2] == MARK && id < n->w->ntries;
		INVARIANT(n->w->s, PROOF, known || r->talk.far == false,
			  "root %u: somebody without the port's token is accepted", n->index);
		if (known)
			r->try = (uint32_t)id;
	}
	if (r->theirs[1] < MT_CARD_MIN || r->theirs[1] > MT_CARDS || n->w->s->failed) {
		end_as(n, MT_FAILED);
		return;
	}
	r->stage = MT_SWAP;
	bool said = !r->accepts && r->talk.ahead;
	meet_talk_swap(&r->talk, r->cards, said ? 0 : (size_t)r->mine[1], r->their_cards,
		       (size_t)r->theirs[1], now);
}

static void
wake_collected(struct sim *s, void *who, uint64_t life)
{
	struct mt_node *n = who;
	(void)s;
	if (n->alive && n->life == life)
		mt_drive(n);
}

/* All processes of the job hear of it, and take the cards. */
static void
begin_collect(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	struct base_prng *g = &n->w->prng;
	r->stage = MT_COLLECT;
	if (n->w->ops) {
		r->after_ns = BASE_NEVER_NS;
		n->w->ops->collect(n);
		return;
	}
	r->verdict = coin(g, n->w->fail_percent);
	r->after_ns = n->w->s->now_ns + (coin(g, n->w->slow_percent)
						 ? base_prng_below(g, 2 * MT_SWAP_NS)
						 : base_prng_below(g, 5 * BASE_MS_NS));
	r->act = MT_TALK;
}

void
mt_collected(struct mt_node *n, uint64_t verdict)
{
	n->root.verdict = verdict;
	n->root.after_ns = n->w->s->now_ns;
	sim_at(n->w->s, n->w->s->now_ns, wake_collected, n, n->life);
}

static void
begin_accept(struct mt_node *n)
{
	n->root.act = MT_ACCEPT;
	n->root.try = n->root.pipe = n->root.line = MT_NONE;
}

static void
next_stage(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	struct sim *s = n->w->s;
	if (r->talk.state == MEET_GONE && r->talk.unsure) {
		/* As if nobody had come.  What was said to a conversation that is over may come
		 * once more by another relay, and is nobody, too. */
		if (r->try != MT_NONE && n->w->try[r->try].acceptor == MT_OPEN)
			n->w->try[r->try].acceptor = MT_FAILED;
		hang_up(n);
		begin_accept(n);
		return;
	}
	INVARIANT(s, REASON, !r->accepts || !r->talk.far || r->talk.state != MEET_GONE,
		  "root %u: an accept ends because of somebody who has gone", n->index);
	if (r->talk.state != MEET_DONE) {
		end_as(n, MT_FAILED);
		return;
	}
	switch (r->stage) {
	case MT_GREET:
		begin_cards(n);
		break;
	case MT_SWAP:
		begin_collect(n);
		break;
	case MT_COLLECT:
		break;
	case MT_DECIDE:
		if (!r->verdict && !r->talk.outcome)
			watch_other(n);
		end_as(n, !r->verdict && !r->talk.outcome ? MT_CONNECTED : MT_FAILED);
		break;
	}
}

/* ---- pumping ---- */

static int64_t
push_some(struct mt_node *n, const void *data, size_t len)
{
	struct mt_root *r = &n->root;
	return r->line == MT_NONE ? mt_pipe_say(n->w, r->pipe, n, data, len)
				  : meet_lines_say(&n->lines, r->line, data, len, n->w->s->now_ns);
}

static int64_t
pull_some(struct mt_node *n, void *data, size_t len)
{
	struct mt_root *r = &n->root;
	return r->line == MT_NONE ? mt_pipe_hear(n->w, r->pipe, n, data, len)
				  : meet_lines_hear(&n->lines, r->line, data, len);
}

static void
say_step(struct mt_node *n)
{
	struct meet_talk *t = &n->root.talk;
	const uint8_t *at;
	size_t len;
	while ((len = meet_talk_says(t, &at)) > 0) {
		int64_t k = push_some(n, at, len);
		if (k < 0)
			meet_talk_broke(t);
		if (k <= 0)
			return;
		meet_talk_said(t, (size_t)k, n->w->s->now_ns);
	}
}

static bool
play_step(struct mt_node *n)
{
	struct meet_talk *t = &n->root.talk;
	uint8_t *at;
	size_t len;
	say_step(n);
	while ((len = meet_talk_hears(t, &at)) > 0) {
		int64_t k = pull_some(n, at, len);
		if (k < 0)
			meet_talk_broke(t);
		if (k <= 0)
			break;
		meet_talk_heard(t, (size_t)k, n->w->s->now_ns);
		say_step(n);
	}
	return meet_talk_over(t, n->w->s->now_ns);
}

static bool
turn_talk(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	if (r->stage == MT_COLLECT) {
		if (n->w->s->now_ns < r->after_ns)
			return false;
		r->stage = MT_DECIDE;
		meet_talk_decide(&r->talk, r->verdict, n->w->s->now_ns);
	}
	if (!play_step(n))
		return false;
	next_stage(n);
	return true;
}

static void
draw_cards(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	struct base_prng *g = &n->w->prng;
	uint64_t len = coin(g, 80) ? between(g, MT_CARD_MIN, 400) : between(g, 15000, MT_CARDS);
	memset(r->cards, (int)n->index, len);
	r->cards[0] = 0;
	if (n->mine != DOOR_CLIENT_NONE && n->own[n->mine].state == DOOR_CLIENT_HAVE)
		r->cards[0] = (uint8_t)door_address_encode(&n->own[n->mine].at, r->cards + 1);
	r->mine[1] = len;
	r->mine[2] = MARK;
	r->stage = MT_GREET;
	r->act = MT_TALK;
}

static void
begin_talk(struct mt_node *n, bool far, uint64_t token)
{
	draw_cards(n);
	meet_talk_init(&n->root.talk, far, token, MT_SWAP_NS, MT_TALK_NS / 2);
}

/* ---- accepting ---- */

static void
hear_guests(struct mt_node *n, uint32_t *goes)
{
	for (int i = 0; i < (int)MEET_GUESTS_MAX && *goes == MT_NONE; i++) {
		uint8_t *at;
		if (!meet_port_seated(&n->guests, i))
			continue;
		size_t room = meet_port_room(&n->guests, i, &at);
		int64_t k = mt_pipe_hear(n->w, n->guest[i], n, at, room);
		enum meet_heard h =
			k > 0 ? meet_port_heard(&n->guests, i, (size_t)k) : MEET_HEARD_PART;
		bool leaves = k < 0 || (!k && meet_port_silent(&n->guests, i, n->w->s->now_ns));
		if (h == MEET_HEARD_GO)
			*goes = n->guest[i];
		if (h == MEET_HEARD_WRONG || leaves)
			mt_pipe_close(n->w, n->guest[i], n);
		if (leaves)
			meet_port_leave(&n->guests, i);
	}
}

static void
let_guests_in(struct mt_node *n)
{
	uint64_t now = n->w->s->now_ns;
	for (uint32_t k = 0;
	     k < MEET_GUESTS_A_TURN && n->nbacklog && meet_port_open(&n->guests, now); k++) {
		uint32_t pipe = n->backlog[0];
		uint64_t source = n->w->pipe[pipe].end[0]->index + 1;
		memmove(n->backlog, n->backlog + 1, --n->nbacklog * sizeof *n->backlog);
		int victim = meet_port_victim(&n->guests, source, now);
		if (victim >= 0) {
			mt_pipe_close(n->w, n->guest[victim], n);
			meet_port_leave(&n->guests, victim);
		}
		n->guest[meet_port_enter(&n->guests, source, now)] = pipe;
	}
}

/* Nobody who came before that one is passed by. */
static void
check_order(const struct mt_node *n, uint32_t line)
{
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++) {
		const struct meet_line *t = &n->lines.line[i];
		bool knocks = t->state == MEET_LINE_KNOCKS && t->first && t->first->whole;
		INVARIANT(n->w->s, TURN,
			  !knocks || t->door != n->port_door ||
				  t->since_ns >= n->lines.line[line].since_ns,
			  "root %u: who came at %llu us is taken, and who came at %llu us waits",
			  n->index, (unsigned long long)n->lines.line[line].since_ns / 1000,
			  (unsigned long long)t->since_ns / 1000);
	}
}

static bool
turn_far(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	r->line = meet_lines_knock(&n->lines, n->port_door);
	check_order(n, r->line);
	begin_talk(n, true, n->own[n->port_door].at.token);
	meet_talk_take(&r->talk, (const uint8_t *)r->mine, (uint8_t *)r->theirs, n->w->s->now_ns);
	if (!play_step(n) || r->talk.state != MEET_DONE) {
		hang_up(n);
		begin_accept(n);
	} else {
		next_stage(n);
	}
	return true;
}

static bool
turn_accept(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	uint8_t word[MEET_WORD_BYTES];
	uint32_t goes = MT_NONE;
	int seat;
	if (!n->open || (n->w->ops && n->w->ops->nobody_comes(n))) {
		end_as(n, MT_FAILED);
		return true;
	}
	r->mine[0] = ++n->w->cids;
	hear_guests(n, &goes);
	if (goes == MT_NONE) {
		let_guests_in(n);
		hear_guests(n, &goes);
	}
	if (goes != MT_NONE) {
		r->pipe = goes;
		begin_talk(n, false, n->token);
		meet_talk_greet(&r->talk, (const uint8_t *)r->mine, (uint8_t *)r->theirs,
				n->w->s->now_ns);
		return true;
	}
	bool far = n->port_door != DOOR_CLIENT_NONE &&
		   meet_lines_knocks(&n->lines, n->port_door) != MEET_LINE_NONE;
	enum meet_turn turn =
		meet_port_turn(&n->guests, far, n->w->s->now_ns, r->due_ns, &seat, word);
	if (turn == MEET_TURN_FAR)
		return turn_far(n);
	if (turn == MEET_TURN_NEAR && mt_pipe_say(n->w, n->guest[seat], n, word, sizeof word) < 0) {
		mt_pipe_close(n->w, n->guest[seat], n);
		meet_port_leave(&n->guests, seat);
	}
	if (turn == MEET_TURN_LATE)
		end_as(n, MT_FAILED);
	return turn == MEET_TURN_LATE;
}

/* ---- connecting ---- */

static void
knock(struct mt_node *n, bool far, uint64_t token)
{
	struct mt_root *r = &n->root;
	begin_talk(n, far, token);
	meet_talk_knock(&r->talk, (const uint8_t *)r->mine, (uint8_t *)r->theirs, r->cards,
			(size_t)r->mine[1], r->knock, r->due_ns);
}

static bool
turn_connect(struct mt_node *n)
{
	struct mt_root *r = &n->root;
	const struct mt_node *to = &n->w->node[n->w->try[r->try].to];
	uint64_t now = n->w->s->now_ns;
	bool over = now >= r->due_ns || !n->client.up || n->own[r->door].state == DOOR_CLIENT_OVER;
	if (r->act == MT_DOOR && !over && n->own[r->door].state == DOOR_CLIENT_HAVE) {
		r->import = to->open && to->port_door != DOOR_CLIENT_NONE
				    ? door_client_import(&n->client, &to->own[to->port_door].at,
							 r->door, DOORS_NONE)
				    : DOOR_CLIENT_NONE;
		over = r->import == DOOR_CLIENT_NONE;
		n->w->try[r->try].to_life = to->life; /* of the port that is called */
		if (!over)
			meet_lines_call(&n->lines, r->line, r->door, r->import);
		r->act = MT_IMPORT;
	}
	if (r->act == MT_IMPORT && !over && door_client_reaches(&n->import[r->import])) {
		if (meet_lines_go(&n->lines, r->line, now)) {
			knock(n, true, n->import[r->import].at.token);
			return true;
		}
		over = true;
	}
	over = over || (r->act == MT_IMPORT && n->import[r->import].state == DOOR_CLIENT_OVER);
	if (!over)
		return false;
	if (r->act == MT_DOOR || r->import == DOOR_CLIENT_NONE)
		door_client_close(&n->client, r->door);
	end_as(n, MT_FAILED);
	return true;
}

static uint32_t
door_if_had(const struct mt_node *n, uint32_t own)
{
	return own != DOOR_CLIENT_NONE && n->own[own].state == DOOR_CLIENT_HAVE ? own
										: DOOR_CLIENT_NONE;
}

/* What a port's name says behind the direct address. */
static const struct door_address *
name_behind(const struct mt_node *n)
{
	static const struct door_address none;
	uint32_t own = door_if_had(n, n->port_door);
	return own == DOOR_CLIENT_NONE ? &none : &n->own[own].at;
}

void
mt_connect(struct mt_node *n, struct mt_node *to, uint64_t limit_ns)
{
	if (n->client.up)
		mt_connect_by(n, to, to->token, limit_ns);
}

void
mt_connect_by(struct mt_node *n, struct mt_node *to, uint64_t token, uint64_t limit_ns)
{
	struct mt *w = n->w;
	struct mt_root *r = &n->root;
	if (r->act != MT_REST || w->ntries == MT_TRIES || !to->open)
		return;
	bool far = meet_lines_lead(&n->lines, door_if_had(n, n->mine), name_behind(to));
	r->try = w->ntries++;
	w->try[r->try] = (struct mt_try){.from = n->index,
					 .from_life = n->life,
					 .to = to->index,
					 .to_life = to->life,
					 .far = far};
	r->accepts = false;
	r->due_ns = w->s->now_ns + limit_ns;
	r->mine[0] = r->try;
	r->pipe = r->line = MT_NONE;
	r->import = DOOR_CLIENT_NONE;
	if (!far) {
		r->pipe = mt_pipe_dial(n, to);
		if (r->pipe != MT_NONE)
			knock(n, false, token);
		else
			end_as(n, MT_FAILED);
	} else {
		r->line = meet_lines_keep(&n->lines, w->s->now_ns);
		r->door = door_client_open(&n->client, 0, 1, MT_REALM, 0);
		r->act = MT_DOOR;
		if (r->line == MEET_LINE_NONE || r->door == DOOR_CLIENT_NONE)
			end_as(n, MT_FAILED);
	}
	mt_drive(n);
}

/* ---- what is asked of a root ---- */

void
mt_open_port(struct mt_node *n)
{
	if (n->open || !n->client.up)
		return;
	n->token = base_prng_next(&n->w->prng);
	meet_port_init(&n->guests, n->token);
	n->nbacklog = 0;
	n->port_door = door_client_open(&n->client, 0, 1, MT_REALM, 0);
	if (n->port_door != DOOR_CLIENT_NONE)
		door_client_stay(&n->client, n->port_door);
	n->open = true;
	mt_drive(n);
}

void
mt_close_port(struct mt_node *n)
{
	if (!n->open)
		return;
	n->open = false;
	for (int i = 0; i < (int)MEET_GUESTS_MAX; i++)
		if (meet_port_seated(&n->guests, i))
			mt_pipe_close(n->w, n->guest[i], n);
	for (uint32_t i = 0; i < n->nbacklog; i++)
		mt_pipe_close(n->w, n->backlog[i], n);
	if (n->port_door != DOOR_CLIENT_NONE)
		meet_lines_close(&n->lines, n->port_door, n->w->s->now_ns);
	n->port_door = DOOR_CLIENT_NONE;
	mt_drive(n);
}

void
mt_accept(struct mt_node *n, uint64_t limit_ns)
{
	struct mt_root *r = &n->root;
	if (r->act != MT_REST || !n->open)
		return;
	r->accepts = true;
	r->due_ns = n->w->s->now_ns + limit_ns;
	begin_accept(n);
	mt_drive(n);
}

void
mt_root_turn(struct mt_node *n)
{
	bool goes = true;
	for (uint32_t i = 0; goes && !n->w->s->failed; i++) {
		enum mt_act act = n->root.act;
		goes = act == MT_TALK			    ? turn_talk(n)
		       : act == MT_ACCEPT		    ? turn_accept(n)
		       : act == MT_DOOR || act == MT_IMPORT ? turn_connect(n)
							    : false;
		INVARIANT(n->w->s, SPIN, i < 1000, "root %u: turns without end", n->index);
	}
}

uint64_t
mt_root_due(const struct mt_node *n)
{
	const struct mt_root *r = &n->root;
	uint64_t now = n->w->s->now_ns;
	/* Who was taken may still come when its time is over. */
	if (r->act == MT_ACCEPT)
		return base_min_ns(r->due_ns > now ? r->due_ns : BASE_NEVER_NS,
				   (now / POLL_NS + 1) * POLL_NS);
	if (r->act == MT_DOOR || r->act == MT_IMPORT)
		return r->due_ns;
	if (r->act != MT_TALK)
		return BASE_NEVER_NS;
	uint64_t due = r->stage == MT_COLLECT ? r->after_ns : meet_talk_due(&r->talk);
	if (n->w->ops && r->stage == MT_COLLECT && due == BASE_NEVER_NS)
		return due;
	INVARIANT(n->w->s, TIMER, due != BASE_NEVER_NS,
		  "root %u: waits, and for nothing that has an end", n->index);
	INVARIANT(n->w->s, COMPLETE, r->stage == MT_COLLECT || due > now,
		  "root %u: a step of a conversation has had its time, and does not end", n->index);
	const uint8_t *at;
	if (r->stage != MT_COLLECT && meet_talk_says(&r->talk, &at))
		due = base_min_ns(due, (now / POLL_NS + 1) * POLL_NS);
	return base_max_ns(due, now + 1);
}

void
mt_root_told(struct mt_node *n, uint32_t try)
{
	struct mt_try *t = &n->w->try[try];
	if (t->from == n->index && t->from_life == n->life)
		t->connector_told = true;
	else
		t->acceptor_told = true;
}
