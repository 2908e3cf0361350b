/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that survives deaths: lib/ft with messages of the engine, and who tells it. */
#include "boot.h"
#include "epoch.h"
#include "transport.h"
#include "transports.h"

#include "base/clock.h"
#include "driver/suci_udp.h"
#include "ft/ft.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define eng lmpi_eng

#define LAST_TURNS 16 /* of reading what the dead have sent; each reads some dozen messages */

/* What is sent keeps its bytes until it is done. */
struct parcel {
	struct lmpi_req req; /* first */
	uint8_t frame[];
};

/* An agreement that somebody here waits for; without then: its result has come before. */
struct waiter {
	struct waiter *next;
	uint64_t ctx;
	uint32_t seq;
	void (*then)(void *arg, const struct ft_result *r);
	void *arg;
};

static struct {
	struct ft *ft;
	const struct lmpi_comms *comms;
	_Atomic bool *gone; /* [slots_max] somebody says so */
	uint32_t *failure;  /* [slots_max] in their order */
	uint32_t failures;
	/* Lost, but a collective call may need what they have sent: hold_loss(). */
	uint32_t *held; /* [slots_max] */
	uint32_t held_n;
	uint64_t held_ns; /* until then; of the first of them */
	struct waiter *waiters;
	/* Of the agreement that is being begun: its result may come at once. */
	struct waiter *begun;
	bool begun_ended;
} g;

bool (*lmpi_outlive)(uint32_t world);

/* ---- what lib/ft asks for ---- */

static void *
allot_memory(void *user, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	(void)user;
	if (!p)
		lmpi_engine_abort(LMPI_ERR_NO_MEM, "out of memory for what survivors tell");
	return p;
}

static void
return_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

static void
drop_parcel(struct lmpi_req *req)
{
	free(req);
}

static void
post_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	struct parcel *p = allot_memory(user, sizeof *p + len);

	memset(&p->req, 0, sizeof p->req);
	p->req.on_done = drop_parcel;
	memcpy(p->frame, frame, len);
	lmpi_engine_isend(&eng, &p->req, p->frame, len, to, (int)lmpi_world.rank, 0, LMPI_CID_FT,
			  LMPI_STANDARD);
}

static struct ft_name
tell_card_name(void *user, uint32_t rank)
{
	const struct lmpi_proc *p = &lmpi_world.proc[rank];

	(void)user;
	return (struct ft_name){p->job, p->number};
}

static uint32_t
find_process(void *user, struct ft_name name)
{
	(void)user;
	return lmpi_proc_find(name.job, name.number);
}

/* Its job survives deaths, this one does not. */
static void
end_with_stranger(uint32_t rank)
{
	char why[96];

	if (!lmpi_net_wanted || !lmpi_net_wanted(rank))
		return;
	snprintf(why, sizeof why, "process %u of a job that this one is connected to has failed",
		 lmpi_world.proc[rank].number);
	lmpi_engine_abort(1, why);
}

static void
lose_now(uint32_t rank)
{
	g.failure[g.failures++] = rank;
	lmpi_engine_lost(&eng, &eng.peer[rank]);
	lmpi_tp_shun(rank);
	if (g.comms)
		g.comms->lost(rank);
}

/* Who is through with a collective call may die at once, and the others hear of that before they
 * are through: what it and the living sent is still under way, or one of them is not scheduled.
 * Such a call is to end well where it can.  So that loss counts when the call is over, at the
 * latest after a while.  lib/ft knows at once, and tells the others. */
static bool
hold_loss(uint32_t rank)
{
	uint64_t most = lmpi_knob_number(LMPI_KNOB_LAST_WORDS) * BASE_MS_NS;

	if (most == 0 || lmpi_sp() || !g.comms || !g.comms->meets(rank))
		return false;
	if (g.held_n == 0)
		lmpi_loop.look_ns = g.held_ns = suci_udp_now_ns() + most;
	g.held[g.held_n++] = rank;
	return true;
}

static bool
waits_for_call(uint32_t rank)
{
	for (uint32_t i = 0; i < g.held_n; i++)
		if (g.held[i] == rank)
			return true;
	return false;
}

/* Of those who are held: all, or whom no call needs. */
static void
lose_held(bool all)
{
	uint32_t n = g.held_n, left = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = g.held[i];
		if (!all && g.comms->meets(rank)) {
			g.held[left++] = rank;
			continue;
		}
		g.held_n = left; /* not held while it is lost */
		lose_now(rank);
	}
	g.held_n = left;
	lmpi_loop.look_ns = left > 0 ? g.held_ns : 0;
}

static void
lose_rank(void *user, uint32_t rank)
{
	(void)user;
	if (rank == lmpi_world.rank)
		lmpi_engine_abort(1, "the others take this process for dead");
	if (!eng.tolerant) {
		end_with_stranger(rank);
		return;
	}
	if (!hold_loss(rank))
		lose_now(rank);
}

static void
void_context(void *user, uint64_t ctx)
{
	uint64_t with = g.comms ? g.comms->goes_with(ctx) : ctx;

	(void)user;
	lmpi_engine_revoke(&eng, ctx);
	lmpi_engine_revoke(&eng, ctx + 1);
	if (with == ctx)
		return;
	lmpi_engine_revoke(&eng, with);
	lmpi_engine_revoke(&eng, with + 1);
}

static void
end_waiter(void *user, uint64_t ctx, uint32_t seq, const struct ft_result *r)
{
	struct waiter **at = &g.waiters, *w;

	(void)user;
	while ((w = *at) != NULL && (w->ctx != ctx || w->seq != seq))
		at = &w->next;
	if (w == NULL) { /* the one that is being begun */
		g.begun_ended = true;
		g.begun->then(g.begun->arg, r);
		return;
	}
	*at = w->next;
	w->then(w->arg, r);
	free(w);
}

static void
hear_frame(uint32_t from, const void *data, uint64_t len)
{
	if (!ft_on_frame(g.ft, from, data, (size_t)len))
		lmpi_fail("rank %u sent a malformed frame of lib/ft", from);
}

/* ---- what the engine asks for ---- */

static uint32_t
find_world(const struct lmpi_engine *e, uint64_t cid, int source)
{
	if (cid > LMPI_CID_PART) /* MPI_COMM_SELF */
		return lmpi_world.rank;
	if (cid >= LMPI_CID_FT || !g.comms) /* the library's own: world ranks */
		return (uint32_t)source < e->size ? (uint32_t)source : UINT32_MAX;
	return g.comms->world_of(cid, source);
}

static bool
ask_unacked(const struct lmpi_engine *e, uint64_t cid)
{
	(void)e;
	return cid < LMPI_CID_FT && g.comms && g.comms->unacked(cid);
}

static bool
note_lost_rank(uint32_t world)
{
	if (!g.ft || world >= lmpi_world.slots || world == lmpi_world.rank)
		return false;
	atomic_store(&g.gone[world], true);
	atomic_store(&lmpi_loop.news, true);
	lmpi_tp_wake();
	return true;
}

static void
note_lost_peer(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	(void)e;
	note_lost_rank(peer->world);
}

static const struct lmpi_contexts contexts = {find_world, ask_unacked, note_lost_peer};

/* All that waits for others ends. */
void
lmpi_end_epoch(void)
{
	lmpi_engine_epoch(&eng, 1);
	for (uint32_t r = 0; r < lmpi_world.size; r++)
		if (r != lmpi_world.rank)
			lmpi_engine_lost(&eng, &eng.peer[r]);
	for (uint32_t r = 0; r < lmpi_world.size; r++)
		if (r != lmpi_world.rank)
			ft_failed(g.ft, r);
}

/* What the dead have sent may be here, unread. */
static void
hear_the_dead(void)
{
	for (int i = 0; i < LAST_TURNS && lmpi_loop.up; i++)
		if (!lmpi_tp_poll())
			return;
}

static void
take_death_news(void)
{
	if (eng.in_transport || eng.in_done || !g.ft)
		return;
	if (atomic_exchange(&lmpi_loop.news, false))
		hear_the_dead();
	if (lmpi_sp_over())
		lmpi_end_epoch();
	for (uint32_t r = 0; r < lmpi_world.slots; r++)
		if (atomic_load_explicit(&g.gone[r], memory_order_relaxed))
			ft_failed(g.ft, r);
	lose_held(g.held_n > 0 && suci_udp_now_ns() >= g.held_ns);
	if (eng.pending)
		lmpi_pump(&eng);
	lmpi_tp_kick();
	lmpi_run_done(&eng);
}

/* ---- for start and surface ---- */

static void
push_frames(void)
{
	if (eng.pending)
		lmpi_pump(&eng);
	lmpi_tp_kick();
	lmpi_run_done(&eng);
}

int
lmpi_survive_start(void)
{
	static const struct ft_ops ops = {post_frame, lose_rank,      void_context,
					  end_waiter, tell_card_name, find_process};
	static const struct ft_memory memory = {allot_memory, return_memory, NULL};

	uint32_t most = eng.slots_max > eng.size ? eng.slots_max : eng.size;

	g.gone = calloc(most, sizeof *g.gone);
	g.failure = calloc(most, sizeof *g.failure);
	g.held = calloc(most, sizeof *g.held);
	if (!g.gone || !g.failure || !g.held)
		return LMPI_ERR_NO_MEM;
	g.ft = ft_new(lmpi_world.rank, eng.size, &ops, NULL, &memory);
	eng.ft_handler = hear_frame;
	if (!lmpi_knob_number(LMPI_KNOB_KEEP_GOING) && !lmpi_sp())
		return LMPI_OK;
	if (lmpi_world.any_foreign) {
		if (lmpi_world.rank == 0)
			fprintf(stderr, "libmpi: LIBMPI_KEEP_GOING: a job with another MPI does "
					"not survive deaths; it is not heeded\n");
		return LMPI_OK;
	}
	eng.tolerant = &contexts;
	lmpi_loop.take_news = take_death_news;
	lmpi_outlive = note_lost_rank;
	lmpi_tp_survive();
	return LMPI_OK;
}

void
lmpi_survive_stop(void)
{
	lmpi_outlive = NULL;
	atomic_store(&lmpi_loop.news, false);
	if (g.ft)
		ft_free(g.ft);
	g.ft = NULL;
	free((void *)(uintptr_t)g.gone);
	free(g.failure);
	free(g.held);
	g.gone = NULL;
	g.failure = NULL;
	g.held = NULL;
	g.held_n = 0;
	lmpi_loop.look_ns = 0;
	g.failures = 0;
}

const struct ft_counts *
lmpi_survive_counts(void)
{
	return g.ft ? ft_counters(g.ft) : NULL;
}

void
lmpi_survive_grow(void)
{
	ft_grow(g.ft, lmpi_world.slots);
}

void
lmpi_failures_join(uint64_t cid, const uint32_t *member, uint32_t n)
{
	ft_join(g.ft, cid, member, n);
	push_frames();
}

void
lmpi_failures_leave(uint64_t cid)
{
	if (g.ft)
		ft_leave(g.ft, cid);
}

void
lmpi_survive(const struct lmpi_comms *comms)
{
	g.comms = comms;
}

uint32_t
lmpi_failures(const uint32_t **world)
{
	*world = g.failure;
	return g.failures;
}

bool
lmpi_has_failed(uint32_t world)
{
	return g.ft && world < lmpi_world.slots && ft_has_failed(g.ft, world) &&
	       !waits_for_call(world);
}

void
lmpi_last_words_over(void)
{
	if (g.held_n > 0)
		lmpi_loop.look_ns = 1;
}

void
lmpi_last_words_review(bool all)
{
	if (g.held_n == 0 || eng.in_transport || eng.in_done)
		return;
	lose_held(all);
	push_frames();
}

void
lmpi_acked(void)
{
	if (eng.troubled)
		lmpi_engine_acked(&eng);
}

bool
lmpi_pending(const struct lmpi_req *req)
{
	return lmpi_is_pending(&eng, req);
}

void
lmpi_revoke(uint64_t cid, const uint32_t *member, uint32_t n)
{
	ft_revoke(g.ft, cid, member, n);
	push_frames();
}

bool
lmpi_revoked(uint64_t cid)
{
	return eng.troubled && lmpi_is_void(&eng, cid);
}

void
lmpi_void(uint64_t cid)
{
	lmpi_engine_revoke(&eng, cid);
	lmpi_engine_revoke(&eng, cid + 1);
}

bool
lmpi_is_gone(uint32_t world)
{
	return g.gone && atomic_load_explicit(&g.gone[world], memory_order_relaxed);
}

void
lmpi_agree(uint64_t cid, const uint32_t *member, uint32_t n, const struct ft_offer *offer,
	   void (*then)(void *arg, const struct ft_result *r), void *arg)
{
	struct waiter *w = allot_memory(NULL, sizeof *w);

	*w = (struct waiter){.ctx = cid, .then = then, .arg = arg};
	g.begun = w;
	g.begun_ended = false;
	w->seq = ft_agree(g.ft, cid, member, n, offer);
	if (g.begun_ended) {
		free(w);
	} else {
		w->next = g.waiters;
		g.waiters = w;
	}
	push_frames();
}

struct meeting {
	bool over, failed;
	uint64_t most;
};

static void
note_met(void *arg, const struct ft_result *r)
{
	struct meeting *m = arg;

	for (uint32_t i = 0; i < r->n; i++)
		m->failed |= ft_result_has_failed(r, i);
	m->most = r->max_of;
	m->over = true;
}

static struct meeting
hold_meeting(uint64_t cid, const uint32_t *member, uint32_t n, uint64_t mine)
{
	struct ft_offer o = {.max_of = mine};
	struct meeting m = {0};

	lmpi_agree(cid, member, n, &o, note_met, &m);
	lmpi_wait((const volatile bool *)&m.over);
	return m;
}

bool
lmpi_meet_members(uint64_t cid, const uint32_t *member, uint32_t n)
{
	return hold_meeting(cid, member, n, 0).failed;
}

static uint64_t
meet_range(uint64_t ctx, uint32_t first, uint32_t n, uint64_t mine)
{
	uint32_t *all = allot_memory(NULL, n * sizeof *all);

	for (uint32_t r = 0; r < n; r++)
		all[r] = first + r;
	uint64_t most = hold_meeting(ctx, all, n, mine).most;
	free(all);
	return most;
}

uint64_t
lmpi_meet(uint64_t mine)
{
	return meet_range(LMPI_CID_FT, 0, lmpi_world.size, mine);
}

void
lmpi_meet_client(void)
{
	meet_range(LMPI_CID_SERVICE, lmpi_world.client_first, lmpi_world.client_size, 0);
}
