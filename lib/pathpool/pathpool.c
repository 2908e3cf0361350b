/* SPDX-License-Identifier: BSD-2-Clause */
#include "pathpool/pathpool.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/ilist.h"
#include "base/serial.h"

#define LOOK_NS	  100000ull /* between two looks for one that could rest */
#define TRIES_MAX 6u	    /* 1 ms << this is the longest pause */
#define TRY_NS	  1000000ull
#define DEMAND_NS (2 * (TRY_NS << TRIES_MAX)) /* who was refused comes again within this */

/* A peer has a path in the states behind NONE. */
enum state { NONE, OPENING, UP, HELD, ASKED };

struct row {
	struct base_ilink link;
	uint8_t state, tries;
	bool wants;		   /* then state is NONE, and it is in the list of those */
	bool refused;		   /* its last question; that one is never answered otherwise */
	bool owes;		   /* that answer */
	bool kept;		   /* something waits until I say ready */
	uint32_t question, number; /* the peer's last one that was refused, and mine */
	/* OPENING: not nudged before; UP: not asked before; ASKED: not asked again before. */
	uint64_t due_ns;
};

struct pathpool {
	const struct pathpool_ops *ops;
	void *user;
	struct row *row;
	uint32_t peers_max, paths_max, count, nopening, owing;
	/* OPENING; UP, the one used least recently first; HELD; ASKED; those that want a path. */
	struct base_ilist opening, used, held, asked, wants;
	bool came; /* the last place went to a comer */
	uint64_t asked_ns, short_ns, demand_ns, next_ns;
	struct pathpool_counters counters;
};

static size_t
lay_out_pool(void *mem, uint32_t peers_max, struct row **row)
{
	struct base_arena a = base_arena(mem);

	base_arena_take(&a, 1, sizeof(struct pathpool));
	*row = base_arena_take(&a, peers_max, sizeof **row);
	return base_arena_bytes(&a);
}

size_t
pathpool_footprint(uint32_t peers_max)
{
	struct row *row;
	return lay_out_pool(NULL, peers_max, &row);
}

struct pathpool *
pathpool_new(void *mem, uint32_t peers_max, uint32_t paths_max, const struct pathpool_ops *ops,
	     void *user)
{
	struct pathpool *p = mem;
	struct row *row;

	lay_out_pool(mem, peers_max, &row);
	*p = (struct pathpool){.ops = ops,
			       .user = user,
			       .row = row,
			       .peers_max = peers_max,
			       .paths_max = paths_max,
			       .short_ns = BASE_NEVER_NS,
			       .next_ns = BASE_NEVER_NS};
	base_ilist_init(&p->opening);
	base_ilist_init(&p->used);
	base_ilist_init(&p->held);
	base_ilist_init(&p->asked);
	base_ilist_init(&p->wants);
	for (uint32_t i = 0; i < peers_max; i++)
		row[i] = (struct row){.state = NONE};
	return p;
}

/* ---- states ---- */

static struct base_ilinks
links_of(const struct pathpool *p)
{
	return BASE_ILINKS(p->row, link);
}

/* NULL: it has no path and wants none. */
static struct base_ilist *
row_list(struct pathpool *p, const struct row *r)
{
	switch ((enum state)r->state) {
	case OPENING:
		return &p->opening;
	case UP:
		return &p->used;
	case HELD:
		return &p->held;
	case ASKED:
		return &p->asked;
	case NONE:
		return r->wants ? &p->wants : NULL;
	}
	return NULL;
}

static void
set_state(struct pathpool *p, uint32_t peer, enum state state, bool wants)
{
	struct row *r = &p->row[peer];
	struct base_ilist *from = row_list(p, r), *to;

	if (from)
		base_ilist_unlink(from, links_of(p), peer);
	p->count += state != NONE;
	p->count -= r->state != NONE;
	p->nopening += state == OPENING;
	p->nopening -= r->state == OPENING;
	r->state = (uint8_t)state;
	r->wants = wants;
	to = row_list(p, r);
	if (to)
		base_ilist_append(to, links_of(p), peer);
	if (p->count > p->counters.most)
		p->counters.most = p->count;
	if (r->kept && (state == UP || (state == NONE && !wants))) {
		r->kept = false;
		p->ops->ready(p->user, peer);
	}
}

static void
wake_pool(struct pathpool *p, uint64_t at_ns)
{
	if (at_ns < p->next_ns)
		p->next_ns = at_ns;
}

static void
forget_debt(struct pathpool *p, struct row *r)
{
	p->owing -= r->owes;
	r->owes = false;
}

/* The path is no more. */
static void
leave_path(struct pathpool *p, uint32_t peer, bool wants, uint64_t now_ns)
{
	forget_debt(p, &p->row[peer]);
	p->row[peer].refused = false;
	set_state(p, peer, NONE, wants);
	p->short_ns = BASE_NEVER_NS;
	wake_pool(p, now_ns);
}

/* ---- room ---- */

static void
pause_opening(struct row *r, uint64_t now_ns)
{
	r->due_ns = now_ns + (TRY_NS << r->tries);
	if (r->tries < TRIES_MAX)
		r->tries++;
}

/* Does one want a path that may open now, if there is a place? */
static bool
may_open(const struct pathpool *p)
{
	return p->wants.head != BASE_INONE && p->nopening < p->paths_max / 2;
}

static void
open_wanted(struct pathpool *p, uint64_t now_ns)
{
	while (p->count < p->paths_max && may_open(p)) {
		uint32_t i = p->wants.head;
		set_state(p, i, OPENING, false);
		p->row[i].tries = 0;
		pause_opening(&p->row[i], now_ns);
		p->came = false;
		if (p->ops->open(p->user, i, now_ns))
			p->counters.opened++;
		else if (p->row[i].state == OPENING)
			leave_path(p, i, false, now_ns);
	}
}

static bool
ask_peer(struct pathpool *p, uint32_t peer, uint64_t now_ns)
{
	struct row *r = &p->row[peer];

	if (!p->ops->say(p->user, peer, PATHPOOL_MAY_REST, r->number + 1, now_ns))
		return false;
	r->number++;
	r->due_ns = now_ns + PATHPOOL_AGAIN_NS;
	set_state(p, peer, ASKED, false);
	p->asked_ns = now_ns;
	p->counters.asked++;
	return true;
}

/* The one used least recently that could rest, or BASE_INONE. */
static uint32_t
find_quiet(const struct pathpool *p, uint64_t now_ns)
{
	uint32_t i = p->used.head;

	while (i != BASE_INONE &&
	       (p->row[i].due_ns > now_ns || p->ops->busy(p->user, i) || p->ops->waits(p->user, i)))
		i = p->row[i].link.next;
	return i;
}

/* All are in use: one gets nothing more, until it can rest. */
static void
hold_oldest(struct pathpool *p, uint64_t now_ns)
{
	uint32_t i = p->held.head;

	if (i == BASE_INONE && p->short_ns == BASE_NEVER_NS) {
		p->short_ns = now_ns;
	} else if (i == BASE_INONE && now_ns - p->short_ns >= PATHPOOL_PATIENCE_NS) {
		i = p->used.head;
		if (i != BASE_INONE)
			set_state(p, i, HELD, false);
	}
	if (i != BASE_INONE && !p->ops->busy(p->user, i))
		(void)ask_peer(p, i, now_ns);
}

static void
clear_place(struct pathpool *p, uint64_t now_ns)
{
	uint32_t i;

	/* One that was held is not forgotten, though another place came free. */
	if (p->asked.head != BASE_INONE && now_ns - p->asked_ns < PATHPOOL_PATIENCE_NS)
		return;
	i = find_quiet(p, now_ns);
	if (i == BASE_INONE || !ask_peer(p, i, now_ns))
		hold_oldest(p, now_ns);
}

static void
pay_list(struct pathpool *p, const struct base_ilist *l, uint64_t now_ns)
{
	for (uint32_t i = l->head; i != BASE_INONE && p->owing; i = p->row[i].link.next) {
		struct row *r = &p->row[i];
		if (r->owes && p->ops->say(p->user, i, PATHPOOL_NOT_NOW, r->question, now_ns))
			forget_debt(p, r);
	}
}

/* The same question once more to those that have not answered for long. */
static void
ask_again(struct pathpool *p, uint64_t now_ns)
{
	for (uint32_t i = p->asked.head; i != BASE_INONE; i = p->row[i].link.next) {
		struct row *r = &p->row[i];
		if (r->due_ns <= now_ns &&
		    p->ops->say(p->user, i, PATHPOOL_MAY_REST, r->number, now_ns))
			r->due_ns = now_ns + PATHPOOL_AGAIN_NS;
		wake_pool(p, r->due_ns > now_ns ? r->due_ns : now_ns + TRY_NS);
	}
}

/* Their peers may have been full. */
static void
nudge_opening(struct pathpool *p, uint64_t now_ns)
{
	for (uint32_t i = p->opening.head; i != BASE_INONE; i = p->row[i].link.next) {
		struct row *r = &p->row[i];
		if (r->due_ns <= now_ns) {
			p->ops->nudge(p->user, i, now_ns);
			pause_opening(r, now_ns);
		}
		wake_pool(p, r->due_ns);
	}
}

void
pathpool_turn(struct pathpool *p, uint64_t now_ns)
{
	bool demanded, wanted;

	if (now_ns < p->next_ns)
		return;
	p->next_ns = BASE_NEVER_NS;
	pay_list(p, &p->used, now_ns);
	pay_list(p, &p->held, now_ns);
	open_wanted(p, now_ns);
	wanted = may_open(p);
	demanded = now_ns < p->demand_ns;
	ask_again(p, now_ns);
	nudge_opening(p, now_ns);
	if (p->owing || (demanded && !wanted))
		wake_pool(p, now_ns + TRY_NS);
	if (p->count >= p->paths_max && (wanted || demanded)) {
		clear_place(p, now_ns);
		wake_pool(p, now_ns + LOOK_NS);
		return;
	}
	/* Nobody is short any more: who was held goes on. */
	while (p->held.head != BASE_INONE)
		set_state(p, p->held.head, UP, false);
	p->short_ns = BASE_NEVER_NS;
}

uint64_t
pathpool_expiry(const struct pathpool *p)
{
	return p->next_ns;
}

/* ---- the caller ---- */

bool
pathpool_may_send(struct pathpool *p, uint32_t peer, uint64_t now_ns)
{
	struct row *r = &p->row[peer];

	if (r->state == UP) {
		pathpool_heard(p, peer);
		return true;
	}
	r->kept = true;
	if (r->state == NONE && !r->wants) {
		set_state(p, peer, NONE, true);
		p->next_ns = now_ns;
		pathpool_turn(p, now_ns);
	}
	return false;
}

void
pathpool_heard(struct pathpool *p, uint32_t peer)
{
	if (p->row[peer].state == UP && p->used.tail != peer)
		set_state(p, peer, UP, false);
}

bool
pathpool_may_come(struct pathpool *p, uint32_t peer, uint64_t now_ns)
{
	if (p->row[peer].state != NONE)
		return true;
	/* The last place goes to comers and to our own in turns. */
	if (p->count + (p->came && may_open(p)) < p->paths_max)
		return true;
	p->demand_ns = now_ns + DEMAND_NS;
	p->counters.put_off++;
	wake_pool(p, now_ns);
	return false;
}

void
pathpool_up(struct pathpool *p, uint32_t peer)
{
	struct row *r = &p->row[peer];

	if (r->state != NONE && r->state != OPENING)
		return;
	p->came |= r->state == NONE;
	r->due_ns = 0;
	set_state(p, peer, UP, false);
	if (p->wants.head != BASE_INONE)
		p->next_ns = 0;
}

bool
pathpool_down(struct pathpool *p, uint32_t peer, bool closed, uint64_t now_ns)
{
	enum state was = (enum state)p->row[peer].state;

	if (was == NONE)
		return true;
	leave_path(p, peer, false, now_ns);
	p->counters.rested += was == ASKED && closed;
	return was == ASKED && closed;
}

/* The peer has nothing under way, and waits for the answer. */
static void
let_rest(struct pathpool *p, uint32_t peer, uint32_t number, uint64_t now_ns)
{
	struct row *r = &p->row[peer];
	bool waits = r->state == UP && p->ops->waits(p->user, peer);

	/* What is said may come twice, and late: that question has its answer. */
	if (r->refused && serial_le(number, r->question))
		return;
	if (!waits && !p->ops->busy(p->user, peer)) {
		leave_path(p, peer, false, now_ns);
		p->counters.rested++;
		p->ops->close(p->user, peer, PATHPOOL_RESTS, now_ns);
		return;
	}
	p->counters.not_now++;
	forget_debt(p, r);
	r->refused = true;
	r->question = number;
	if (p->ops->say(p->user, peer, PATHPOOL_NOT_NOW, number, now_ns))
		return;
	r->owes = true;
	p->owing++;
	wake_pool(p, now_ns + TRY_NS);
}

void
pathpool_told(struct pathpool *p, uint32_t peer, enum pathpool_say say, uint32_t number,
	      uint64_t now_ns)
{
	struct row *r = &p->row[peer];

	if (say == PATHPOOL_MAY_REST && (r->state == UP || r->state == HELD || r->state == ASKED)) {
		let_rest(p, peer, number, now_ns);
	} else if (say == PATHPOOL_NOT_NOW && r->state == ASKED && number == r->number) {
		set_state(p, peer, UP, false);
		r->due_ns = now_ns + PATHPOOL_PATIENCE_NS;
		wake_pool(p, now_ns);
	}
}

const struct pathpool_counters *
pathpool_counters(const struct pathpool *p)
{
	return &p->counters;
}

static uint32_t
count_list(const struct pathpool *p, const struct base_ilist *l, enum state state)
{
	uint32_t n = 0;
	for (uint32_t i = l->head; i != BASE_INONE && n <= p->peers_max; i = p->row[i].link.next)
		n += p->row[i].state == state ? 1 : p->peers_max + 1;
	return n;
}

bool
pathpool_check(const struct pathpool *p, const char **what)
{
	uint32_t n[ASKED + 1] = {0}, wants = 0, owing = 0;

	for (uint32_t i = 0; i < p->peers_max; i++) {
		n[p->row[i].state]++;
		wants += p->row[i].wants;
		owing += p->row[i].owes;
	}
	*what = p->count > p->paths_max				    ? "more paths than there may be"
		: p->peers_max - n[NONE] != p->count		    ? "the count of paths"
		: count_list(p, &p->opening, OPENING) != n[OPENING] ? "those that open"
		: count_list(p, &p->used, UP) != n[UP]		    ? "those in use"
		: count_list(p, &p->held, HELD) != n[HELD]	    ? "those held"
		: count_list(p, &p->asked, ASKED) != n[ASKED]	    ? "those asked"
		: count_list(p, &p->wants, NONE) != wants	    ? "those that want a path"
		: owing != p->owing				    ? "answers owed"
								    : NULL;
	return !*what;
}
