/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows on real engines of lib/mpi: each process has a part, an object of mpi/window.h, and does
 * things to the parts of all, its own among them, over real relays (sim/trouble.h).
 *
 *     part of a process   tickets | guarded | sums | a slice of each process
 *
 * tickets  are drawn by GET_ACC: none twice, none left out.
 * guarded  is read and written under an exclusive lock: nobody else is there meanwhile, no
 *	    increment is lost; who reads it twice under a shared lock reads the same.
 * sums	    are added to by all, in one packet or beside it: at the end they are what was added.
 * slices   are written by PUT, short and long, and read back: who reads sees what it wrote before;
 *	    after a fence everything is there, and what came before a COMPLETE when that is.
 *
 * Then all meet, and their parts go.  A job of one cluster may lose processes.  Who hears of it
 * has a void window: it gives back the lock that it has, waits for what is under way, and meets
 * those that live.  What is done to a part is always what was asked: sums have marks. */
#include "windows.h"

#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- deeds: one at a time, a step whenever what it waits for is there ---- */

static uint64_t
read_word(const struct user *u)
{
	uint64_t v;

	memcpy(&v, u->result, sizeof v);
	return v;
}

static void
do_writes(struct user *u)
{
	struct windows *all = windows_running;
	struct base_prng *p = &all->t.prng;
	uint8_t *wrote = u->wrote[u->target];
	uint64_t at = AT(slice) + (uint64_t)u->n->end->rank * SLICE;

	if (u->step++ == 0) {
		/* Some that do not overlap, none of them waited for. */
		uint64_t most = PICK(p, 100, RMA_INLINE_MAX, SLICE / 2);
		u->from = base_prng_below(p, SLICE / 2);
		u->len = 0;
		for (uint64_t n = between(p, 1, 3); n > 0; n--) {
			uint64_t begin = u->from + u->len;
			uint64_t len = base_prng_below(p, most);
			if (begin + len > SLICE)
				break;
			for (uint64_t i = 0; i < len; i++)
				wrote[begin + i] = (uint8_t)base_prng_next(p);
			windows_operate(u, RMA_PUT, at + begin, wrote + begin, len);
			u->len += len;
		}
		if (u->len == 0)
			u->deed = IDLE;
		else if (coin(p, 60))
			windows_operate(u, RMA_GET, at + u->from, NULL, u->len);
		else
			u->deed = FLUSHES; /* before the next put that may overlap */
		return;
	}
	INVARIANT(windows_sim(u), RESULT, !memcmp(u->result, wrote + u->from, u->len),
		  "rank %u does not read what it wrote to rank %u", u->n->end->rank, u->target);
	u->deed = IDLE;
}

static void
do_draws(struct user *u)
{
	struct windows *all = windows_running;
	uint64_t one = 1;

	if (u->step++ == 0) {
		windows_operate(u, RMA_GET_ACC, AT(tickets), &one, sizeof one);
		all->tickets[u->target]++;
		return;
	}
	uint64_t got = read_word(u), *bits = all->drawn[u->target];
	INVARIANT(windows_sim(u), RESULT,
		  got < all->tickets[u->target] && !(bits[got / 64] >> got % 64 & 1),
		  "rank %u draws ticket %llu of rank %u", u->n->end->rank, (unsigned long long)got,
		  u->target);
	if (!windows_sim(u)->failed)
		bits[got / 64] |= UINT64_C(1) << got % 64;
	u->deed = IDLE;
}

static void
do_adds(struct user *u)
{
	struct windows *all = windows_running;
	struct base_prng *p = &all->t.prng;
	uint64_t add[SUMS], n = coin(p, 50) ? between(p, 1, 20) : between(p, 1, SUMS);

	u->adds++;

	for (uint64_t i = 0; i < n; i++) {
		add[i] = windows_mark(u->n->end->rank, u->adds) | (uint32_t)base_prng_next(p);
		all->sums[u->target][i] += add[i];
	}
	windows_operate(u, RMA_ACC, AT(sums), add, n * sizeof *add);
	u->deed = IDLE;
}

/* More than a target has room for, and nothing of it is waited for but room. */
static void
do_pours(struct user *u)
{
	struct base_prng *p = &windows_running->t.prng;

	if (u->step++ == 0)
		u->pours = (uint32_t)between(p, 3, 15);
	while (u->pours > 0 && windows_has_room(u)) {
		u->pours--;
		do_adds(u);
		u->deed = POURS;
	}
	if (u->pours == 0)
		u->deed = IDLE;
}

static void
ask_lock(struct user *u, bool exclusive)
{
	if (!lmpi_target_ask(&u->targets[u->target], exclusive, u->lost >> u->target & 1))
		return;
	if (u->target == u->n->end->rank)
		lmpi_exposed_ask(&u->x, (int)u->target, exclusive);
	else
		windows_tell(u, u->target,
			     (struct rma_packet){.kind = RMA_LOCK,
						 .flags = exclusive ? RMA_EXCLUSIVE : 0},
			     NULL, 0);
}

static void
return_lock(struct user *u)
{
	struct lmpi_target *t = &u->targets[u->target];
	bool real = t->held == LMPI_LOCK_HELD;

	t->held = LMPI_LOCK_FREE;
	u->deed = IDLE;
	if (!real)
		return;
	if (u->target == u->n->end->rank)
		lmpi_exposed_return(&u->x, t->exclusive);
	else
		windows_tell(u, u->target,
			     (struct rma_packet){.kind = RMA_UNLOCK,
						 .flags = t->exclusive ? RMA_EXCLUSIVE : 0},
			     NULL, 0);
}

static bool
is_asked(const struct user *u)
{
	return u->targets[u->target].held == LMPI_LOCK_ASKED;
}

/* The own lock is waited for; behind that of another process operations follow at once. */
static bool
is_own_asked(const struct user *u)
{
	return u->target == u->n->end->rank && is_asked(u);
}

/* Who waits for a lock of a window that is void has it, whoever else has it. */
static bool
is_void_there(const struct user *u)
{
	return windows_running->user[u->target].lost != 0 || u->lost;
}

static void
do_guards(struct user *u)
{
	struct windows *all = windows_running;
	uint32_t *inside = &all->inside[u->target];

	switch (u->step) {
	case 0:
		ask_lock(u, true);
		break;
	case 1:
		if (is_own_asked(u))
			return;
		windows_operate(u, RMA_GET, AT(guarded), NULL, sizeof u->seen);
		break;
	case 2:
		if (is_asked(u))
			return;
		INVARIANT(windows_sim(u), RESULT, *inside == 0 || is_void_there(u),
			  "ranks %u and %u hold the lock of rank %u", u->n->end->rank, *inside - 1,
			  u->target);
		*inside = u->n->end->rank + 1;
		u->seen = read_word(u) + 1;
		windows_operate(u, RMA_PUT, AT(guarded), &u->seen, sizeof u->seen);
		all->guarded[u->target]++;
		windows_flush(u);
		break;
	default:
		*inside = 0;
		return_lock(u);
	}
	u->step++;
}

/* Nothing at all may be done under a lock. */
#define STEP_NO_READ 4

static void
do_reads(struct user *u)
{
	switch (u->step) {
	case 0:
		ask_lock(u, false);
		break;
	case 1:
		if (is_own_asked(u))
			return;
		if (coin(&windows_running->t.prng, 30)) {
			u->step = STEP_NO_READ;
			return;
		}
		windows_operate(u, RMA_GET, AT(guarded), NULL, sizeof u->seen);
		break;
	case 2:
		u->seen = read_word(u);
		windows_operate(u, RMA_GET, AT(guarded), NULL, sizeof u->seen);
		break;
	default:
		if (is_asked(u))
			return;
		INVARIANT(windows_sim(u), RESULT,
			  u->step == STEP_NO_READ || u->seen == read_word(u) || is_void_there(u),
			  "rank %u: what a shared lock guards changes from %llu to %llu",
			  u->n->end->rank, (unsigned long long)u->seen,
			  (unsigned long long)read_word(u));
		return_lock(u);
	}
	u->step++;
}

static void
check_slices(const struct user *u)
{
	const struct windows *all = windows_running;

	for (uint32_t r = 0; r < u->n->e.size; r++)
		INVARIANT(windows_sim(u), RESULT,
			  !memcmp(u->mem->slice[r], all->user[r].wrote[u->n->end->rank], SLICE),
			  "rank %u: after a fence something of rank %u is missing", u->n->end->rank,
			  r);
}

/* An epoch with each neighbour: this process exposes its part to the one before it, and writes to
 * the one behind it, long and short. */
static void
do_exposes(struct user *u)
{
	struct windows *all = windows_running;
	uint32_t me = u->n->end->rank, before = (me + u->n->e.size - 1) % u->n->e.size;
	struct lmpi_target *t;
	struct lmpi_origin *o = &u->origin[before];

	u->target = (me + 1) % u->n->e.size;
	t = &u->targets[u->target];
	switch (u->step) {
	case 0: /* MPI_Win_post */
		windows_tell(u, before, (struct rma_packet){.kind = RMA_POST}, NULL, 0);
		break;
	case 1: /* MPI_Win_start */
		if (t->posted == 0)
			return;
		t->posted--;
		u->len = coin(&all->t.prng, 50) ? SLICE : between(&all->t.prng, 1, SLICE);
		for (uint64_t i = 0; i < u->len; i++)
			u->wrote[u->target][i] ^= 0x5a;
		windows_operate(u, RMA_PUT, AT(slice) + (uint64_t)me * SLICE, u->wrote[u->target],
				u->len);
		break;
	case 2: /* MPI_Win_complete */
		lmpi_target_complete(&u->acting, t);
		windows_tell(u, u->target, (struct rma_packet){.kind = RMA_COMPLETE}, NULL, 0);
		break;
	default: /* MPI_Win_wait */
		if (o->completed == 0)
			return;
		o->completed--;
		INVARIANT(windows_sim(u), RESULT,
			  !memcmp(u->mem->slice[before], all->user[before].wrote[me], SLICE),
			  "rank %u: rank %u has completed, and something of it is missing", me,
			  before);
		all->met[2 * u->round + 1]++;
		u->deed = MEETS;
		u->step = 3;
		return;
	}
	u->step++;
}

/* MPI_Win_fence: all is flushed, then all meet; then an epoch with the neighbours, and they meet a
 * second time, so that nobody writes before others have looked.  Not behind the last one: what
 * nobody waits for is then under way when their parts go. */
static void
do_meets(struct user *u)
{
	struct windows *all = windows_running;
	uint32_t *met = &all->met[2 * u->round];

	switch (u->step) {
	case 0:
		windows_flush(u);
		break;
	case 1:
		met[0]++;
		break;
	case 2:
		if (met[0] < u->n->e.size)
			return;
		check_slices(u);
		if (u->round + 1 < ROUNDS) {
			u->deed = EXPOSES;
			u->step = 0;
			return;
		}
		met[1]++;
		break;
	default:
		if (met[1] < u->n->e.size)
			return;
		u->acts = 0;
		u->deed = ++u->round == ROUNDS ? LEAVES : IDLE;
		u->step = 0;
		return;
	}
	u->step++;
}

/* MPI_Win_free. */
static void
do_leaves(struct user *u)
{
	const struct windows *all = windows_running;

	switch (u->step) {
	case 0:
		if (is_asked(u))
			return;
		if (windows_running->inside[u->target] == u->n->end->rank + 1)
			windows_running->inside[u->target] = 0;
		return_lock(u);
		u->deed = LEAVES;
		for (uint32_t r = 0; r < u->n->e.size; r++)
			lmpi_target_leave(&u->targets[r]);
		windows_flush(u);
		break;
	case 1:
		if (!windows_is_still(u))
			return;
		u->met = true;
		break;
	default:
		if (all->t.nodes.news > 0 || u->x.owing > 0)
			return;
		for (uint32_t r = 0; r < u->n->e.size; r++)
			if (all->t.nodes.w->end[r].alive && !all->user[r].met)
				return;
		INVARIANT(windows_sim(u), RESULT, u->x.coming == 0 && u->acting.results == 0,
			  "rank %u: a window goes with %u receives and %u results to come",
			  u->n->end->rank, u->x.coming, u->acting.results);
		u->deed = GONE;
		return;
	}
	u->step++;
}

static void
begin_deed(struct user *u)
{
	struct windows *all = windows_running;
	struct base_prng *p = &all->t.prng;

	u->step = 0;
	u->target = (uint32_t)base_prng_below(p, u->n->e.size);
	u->deed = u->acts++ == all->acts ? MEETS : (enum deed)between(p, WRITES, READS);
	if (u->hostile && u->acts > all->acts / 2)
		u->deed = FLOODS;
	all->deeds++;
}

static void
act_user(struct enode *n)
{
	struct user *u = windows_user(n);

	n->all->current = n;
	if (u->deed == GONE)
		return;
	if (u->lost && u->deed != LEAVES) {
		u->deed = LEAVES;
		u->step = 0;
	}
	if (u->deed != LEAVES && u->deed != POURS && u->deed != FLOODS &&
	    (u->waits || !windows_is_still(u)))
		return;
	if (u->deed == IDLE)
		begin_deed(u);
	if (u->deed <= READS && u->step == 0 && !windows_has_room(u))
		return;
	switch (u->deed) {
	case WRITES:
		do_writes(u);
		break;
	case DRAWS:
		do_draws(u);
		break;
	case ADDS:
		do_adds(u);
		break;
	case GUARDS:
		do_guards(u);
		break;
	case POURS:
		do_pours(u);
		break;
	case FLOODS:
		windows_do_floods(u);
		break;
	case READS:
		do_reads(u);
		break;
	case FLUSHES:
		windows_flush(u);
		u->deed = IDLE;
		break;
	case EXPOSES:
		do_exposes(u);
		break;
	case LEAVES:
		do_leaves(u);
		break;
	default:
		do_meets(u);
	}
}

static void
forget_user(struct enode *n)
{
	(void)n;
}

/* ---- a run ---- */

static bool
is_complete(const struct trouble *t, char *rest, size_t len)
{
	const struct windows *all = (const struct windows *)(const void *)t;

	for (uint32_t r = 0; r < t->nodes.w->nend; r++) {
		const struct user *u = &all->user[r];
		if (u->deed == GONE || !t->nodes.w->end[r].alive)
			continue;
		if (rest)
			snprintf(rest, len,
				 "rank %u: round %u, deed %d, step %u, %u results to come%s", r,
				 u->round, (int)u->deed, u->step, u->acting.results,
				 windows_is_still(u) ? "" : ", answers to come");
		return false;
	}
	return true;
}

static const struct trouble_ops ops = {
	.act = act_user, .perished = forget_user, .complete = is_complete};

static void
make_user(struct windows *all, uint32_t rank)
{
	struct user *u = &all->user[rank];

	u->n = &all->t.nodes.node[rank];
	u->mem = windows_take(NULL, sizeof *u->mem);
	u->wrote = windows_take(NULL, sizeof *u->wrote * ENODES_MAX);
	windows_expose(u);
}

static void
check_parts(const struct windows *all)
{
	for (uint32_t r = 0; r < all->t.nodes.w->nend; r++) {
		const struct layout *mem = all->user[r].mem;
		INVARIANT(all->t.nodes.w->s, RESULT,
			  mem->tickets == all->tickets[r] && mem->guarded == all->guarded[r] &&
				  !memcmp(mem->sums, all->sums[r], sizeof mem->sums),
			  "part of rank %u: %llu of %llu tickets, %llu of %llu guarded, sums %s", r,
			  (unsigned long long)mem->tickets, (unsigned long long)all->tickets[r],
			  (unsigned long long)mem->guarded, (unsigned long long)all->guarded[r],
			  memcmp(mem->sums, all->sums[r], sizeof mem->sums) ? "wrong" : "right");
	}
}

static void
free_user(struct user *u)
{
	if (u->n)
		lmpi_id_clear(&u->acting.names, &u->acting.memory);
	while (u->bulks.n > 0)
		windows_give(u, u->bulks.spare[--u->bulks.n]);
	windows_give(NULL, u->mem);
	windows_give(NULL, u->wrote);
}

/* What a target has room for: little, so that it is often full. */
static struct lmpi_room
draw_room(struct base_prng *p)
{
	uint64_t behind = PICK(p, SLICE, 4 * SLICE, RMA_BEHIND_MAX);

	return (struct lmpi_room){.early = behind / 2 < RMA_EARLY_MAX ? behind / 2 : RMA_EARLY_MAX,
				  .behind = behind,
				  .results = PICK(p, 0, SLICE, RMA_RESULTS_MAX)};
}

static void
run_job(uint64_t seed, bool verbose, bool flood, struct outcome *o)
{
	struct windows *all = windows_running = windows_take(NULL, sizeof *all);
	uint32_t refused = 0;

	all->user = windows_take(NULL, ENODES_MAX * sizeof *all->user);
	all->t.ops = &ops;
	all->t.nodes.lost = windows_lose;
	all->t.one_cluster = all->t.immortal = flood;
	trouble_begin(&all->t, seed, 0x817d, verbose, &enode_contexts);
	const struct world *w = all->t.nodes.w;
	all->room = draw_room(&all->t.prng);
	if (flood)
		all->room =
			(struct lmpi_room){.early = SLICE / 2, .behind = SLICE, .results = SLICE};
	for (uint32_t r = 0; r < w->nend; r++)
		make_user(all, r);
	all->user[w->nend - 1].hostile = flood;
	all->acts = (uint32_t)between(&all->t.prng, 3, ACTS_MAX);
	trouble_plan(&all->t);
	trouble_run(&all->t);
	if (!w->s->failed && !all->t.died)
		check_parts(all);
	for (uint32_t r = 0; r < w->nend; r++)
		refused += all->user[r].refused;
	SIM_CHECK(w->s, !flood || refused > 0 || windows_flood_is_untaken(all),
		  "nobody has refused what rank %u sends", w->nend - 1);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, %u kills, %u died, %u deeds, %u packets refused", w->nend,
		 w->nrelay, all->t.killed, all->t.died, all->deeds, refused);
	trouble_end(&all->t, o);
	for (uint32_t r = 0; r < ENODES_MAX; r++)
		free_user(&all->user[r]);
	windows_give(NULL, all->user);
	windows_give(NULL, all);
}

void
windows_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run_job(seed, verbose, false, o);
}

void
windows_flood_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run_job(seed, verbose, true, o);
}
