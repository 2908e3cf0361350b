/* SPDX-License-Identifier: BSD-2-Clause */
/* Daemons of lib/sp in memory, one frame after the other: what they do about which fault. */
#include "cmocka_all.h"
#include "sp/node.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS = 3, ROLES = 3, SLOTS = 5, QUEUE = 4096, DEAD_MAX = 64 };

struct parcel {
	uint32_t from, to;
	size_t len;
	uint8_t *bytes;
};

struct daemon {
	uint32_t me, life;
	struct sp_node *n;
	void *mem;
	uint8_t *journal;
	size_t len;
	uint32_t started[DEAD_MAX], nstarted; /* tokens */
	uint8_t started_pool;
	uint32_t killed, events[SP_EVENT_COUNT], event_a[SP_EVENT_COUNT];
	bool fenced, cut;
	uint64_t views;
	double rate; /* of its clock */
};

static struct world {
	struct sp_node_conf conf;
	struct daemon d[UNITS];
	struct parcel queue[QUEUE];
	uint32_t first, last;
	uint64_t now_ns;
} w;

static const uint16_t unit_of[SLOTS] = {0, 1, 2, 1, 2};

static uint64_t
time_of(const struct daemon *d)
{
	return BASE_S_NS + (uint64_t)((double)w.now_ns * d->rate);
}

static void
queue_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	const struct daemon *d = user;
	struct parcel *p = &w.queue[w.last++ % QUEUE];

	assert_in_range(w.last - w.first, 0, QUEUE);
	*p = (struct parcel){d->me, to, len, malloc(len)};
	memcpy(p->bytes, frame, len);
}

static void
take_view(void *user, const struct sp_view *v)
{
	struct daemon *d = user;
	const char *what;

	assert_true(sp_view_check(v, &what));
	assert_true(v->number > d->views);
	d->views = v->number;
}

static void
take_fence(void *user, bool on)
{
	((struct daemon *)user)->fenced = on;
}

static void
take_kill(void *user, uint32_t slot)
{
	((struct daemon *)user)->killed = slot + 1;
}

static void
take_start(void *user, uint32_t token, uint8_t pool)
{
	struct daemon *d = user;

	d->started_pool = pool;
	assert_true(d->nstarted < DEAD_MAX);
	d->started[d->nstarted++] = token;
}

static void
count_event(void *user, const struct sp_event *e)
{
	struct daemon *d = user;

	d->events[e->kind]++;
	d->event_a[e->kind] = e->a;
}

/* A planned view in which fact 1 is 13 does not fit. */
static bool
judge_plan(void *user, const struct sp_view *plan)
{
	(void)user;
	return plan->fact[1].a != 13;
}

static bool
write_store(void *user, const void *bytes, size_t len)
{
	struct daemon *d = user;

	d->journal = realloc(d->journal, d->len + len + 1);
	memcpy(d->journal + d->len, bytes, len);
	d->len += len;
	return true;
}

static bool
replace_store(void *user, const void *bytes, size_t len)
{
	((struct daemon *)user)->len = 0;
	return write_store(user, bytes, len);
}

static const struct sp_node_ops ops = {.send = queue_frame,
				       .view = take_view,
				       .fence = take_fence,
				       .kill = take_kill,
				       .start = take_start,
				       .event = count_event,
				       .fits = judge_plan,
				       .write = write_store,
				       .replace = replace_store};

static void
start_daemon(struct daemon *d)
{
	struct sp_node_conf c = w.conf;
	char why[QUORUM_WHY_MAX];

	c.me = d->me;
	c.incarnation = ++d->life;
	c.seed = d->me + 10 * d->life;
	size_t size = sp_node_footprint(&c);
	d->mem = aligned_alloc(64, size);
	d->views = 0;
	d->nstarted = 0;
	d->fenced = true;
	d->n = sp_node_new(&c, &ops, d, d->mem, d->journal, d->len, time_of(d), why);
	assert_non_null(d->n);
}

static void
stop_daemon(struct daemon *d)
{
	sp_node_free(d->n);
	free(d->mem);
	d->n = NULL;
	d->mem = NULL;
}

static void
run_daemons(uint32_t ms)
{
	for (; ms; ms--) {
		w.now_ns += BASE_MS_NS;
		for (uint32_t i = 0; i < UNITS; i++) {
			struct daemon *d = &w.d[i];
			if (d->n && sp_node_expiry_ns(d->n) <= time_of(d))
				sp_node_turn(d->n, time_of(d));
		}
		while (w.first != w.last) {
			struct parcel p = w.queue[w.first++ % QUEUE];
			struct daemon *d = &w.d[p.to];
			assert_true(p.bytes[0] == 0x71 || sp_frame_read(p.bytes, p.len));
			if (d->n && !d->cut && !w.d[p.from].cut)
				assert_true(
					sp_node_on_frame(d->n, p.from, p.bytes, p.len, time_of(d)));
			free(p.bytes);
		}
	}
}

static struct daemon *
master(void)
{
	for (uint32_t i = 0; i < UNITS; i++)
		if (w.d[i].n && !w.d[i].cut && sp_node_leads(w.d[i].n))
			return &w.d[i];
	fail();
	return NULL;
}

static const struct sp_view *
view_of_master(void)
{
	return sp_node_view(master()->n);
}

static int
begin_daemons(void **state)
{
	(void)state;
	memset(&w, 0, sizeof w);
	w.conf = (struct sp_node_conf){.cluster = 4,
				       .voters = 3,
				       .limits = {ROLES, 12, UNITS, 0},
				       .unit_of = unit_of,
				       .slots = SLOTS,
				       .beat_ns = 20 * BASE_MS_NS,
				       .missed = 5,
				       .restart_ns = 50 * BASE_MS_NS,
				       .election_ms = 30,
				       .heartbeat_ms = 10,
				       .snapshot_every = 8,
				       .severity = sp_severity_default()};
	for (uint32_t i = 0; i < UNITS; i++)
		w.d[i] = (struct daemon){.me = i, .rate = 1};
	return 0;
}

/* After what a test has changed in w.conf. */
static void
start_world(void)
{
	for (uint32_t i = 0; i < UNITS; i++)
		start_daemon(&w.d[i]);
	run_daemons(300);
	for (uint32_t i = 0; i < UNITS; i++) {
		assert_true(sp_node_joined(w.d[i].n));
		assert_true(sp_node_may_act(w.d[i].n, time_of(&w.d[i])));
		assert_false(w.d[i].fenced);
	}
}

static int
end_daemons(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < UNITS; i++) {
		if (w.d[i].n)
			stop_daemon(&w.d[i]);
		free(w.d[i].journal);
	}
	for (; w.first != w.last; w.first++)
		free(w.queue[w.first % QUEUE].bytes);
	return 0;
}

static void
end_slot(uint32_t unit, uint32_t slot)
{
	sp_node_died(w.d[unit].n, slot, SP_WHY_EXIT, time_of(&w.d[unit]));
	run_daemons(20);
}

/* ---- tests ---- */

static void
a_death_gives_the_role_to_a_spare(void **state)
{
	(void)state;
	start_world();
	end_slot(0, 0);
	assert_int_equal(view_of_master()->role[0], 3);
	assert_int_equal(view_of_master()->epoch, 1);
	assert_int_equal(view_of_master()->slot[0].why, SP_WHY_EXIT);
	for (uint32_t i = 0; i < UNITS; i++)
		assert_int_equal(w.d[i].views, view_of_master()->number);
	/* What died is started again, and waits as a spare. */
	run_daemons(60);
	assert_int_equal(w.d[0].nstarted, 1);
	sp_node_ready(w.d[0].n, w.d[0].started[0], time_of(&w.d[0]));
	run_daemons(20);
	assert_int_equal(view_of_master()->slots, 6);
	assert_int_equal(view_of_master()->slot[5].state, SP_SLOT_SPARE);
	assert_int_equal(view_of_master()->slot[5].unit, 0);
}

static void
a_start_that_fails_is_tried_again(void **state)
{
	(void)state;
	start_world();
	end_slot(0, 0);
	run_daemons(60);
	assert_int_equal(w.d[0].nstarted, 1);
	sp_node_gone(w.d[0].n, w.d[0].started[0], time_of(&w.d[0]));
	run_daemons(20);
	assert_int_equal(w.d[0].nstarted, 1); /* not before restart_ns */
	run_daemons(60);
	assert_int_equal(w.d[0].nstarted, 2);
	assert_int_not_equal(w.d[0].started[0], w.d[0].started[1]);
}

static void
a_silent_node_is_given_up(void **state)
{
	(void)state;
	start_world();
	struct daemon *lost = master()->me == 2 ? &w.d[1] : &w.d[2];
	uint64_t from = w.now_ns;
	lost->cut = true;
	while (!view_of_master()->unit[lost->me].down) {
		assert_true(w.now_ns - from < 150 * BASE_MS_NS);
		/* It stands still before others act. */
		run_daemons(1);
		assert_true(!view_of_master()->unit[lost->me].down || lost->fenced);
	}
	assert_int_equal(view_of_master()->slot[lost->me].why, SP_WHY_NODE);
	lost->cut = false;
	run_daemons(100);
	assert_false(view_of_master()->unit[lost->me].down);
	assert_true(sp_node_joined(lost->n));
	assert_false(lost->fenced);
	assert_true(lost->nstarted > 0); /* what it had is dead */
}

static void
a_minority_stands_still_and_goes_on(void **state)
{
	(void)state;
	start_world();
	struct daemon *old = master();
	old->cut = true;
	/* It granted a lease last when its own ended, election_ms later. */
	run_daemons(125);
	assert_true(old->fenced);
	assert_false(sp_node_may_act(old->n, time_of(old)));
	assert_false(sp_node_reigns(old->n, time_of(old)));
	old->cut = false;
	run_daemons(200);
	assert_false(old->fenced);
}

static void
a_new_life_of_a_daemon_ends_its_processes(void **state)
{
	(void)state;
	start_world();
	struct daemon *d = master()->me == 1 ? &w.d[2] : &w.d[1];
	stop_daemon(d);
	start_daemon(d);
	run_daemons(60);
	assert_int_equal(view_of_master()->slot[d->me].why, SP_WHY_RESTART);
	assert_int_equal(view_of_master()->unit[d->me].incarnation, 2);
	assert_true(sp_node_joined(d->n));
	for (uint32_t r = 0; r < ROLES; r++)
		assert_int_not_equal(view_of_master()->slot[view_of_master()->role[r]].unit, d->me);
}

static void
all_daemons_come_back_from_their_disks(void **state)
{
	(void)state;
	start_world();
	end_slot(0, 0);
	end_slot(1, 1);
	uint64_t number = view_of_master()->number;
	for (uint32_t i = 0; i < UNITS; i++)
		stop_daemon(&w.d[i]);
	for (uint32_t i = 0; i < UNITS; i++)
		start_daemon(&w.d[i]);
	run_daemons(400);
	assert_true(view_of_master()->number > number);
	assert_int_equal(view_of_master()->slot[0].why, SP_WHY_EXIT);
}

static void
who_gives_no_sign_is_ended(void **state)
{
	(void)state;
	w.conf.hang_ns = 100 * BASE_MS_NS;
	start_world();
	for (uint32_t i = 0; i < UNITS; i++)
		assert_int_not_equal(w.d[i].killed, 0);
	assert_int_equal(view_of_master()->slot[0].why,
			 SP_WHY_NONE); /* it is dead when it is ended */
	end_slot(0, 0);
	assert_int_equal(view_of_master()->slot[0].why, SP_WHY_HANG);
}

static void
too_many_deaths_stop_all(void **state)
{
	char why[100];

	(void)state;
	assert_true(sp_severity_add(&w.conf.severity, SP_FAULT_PROCESS, "stop-after 3/1s", why,
				    sizeof why));
	start_world();
	end_slot(0, 0);
	run_daemons(1100);
	end_slot(1, 1);
	end_slot(2, 2);
	assert_int_equal(view_of_master()->over, SP_WHY_NONE);
	end_slot(1, 3);
	assert_int_equal(view_of_master()->over, SP_WHY_FAULTS);
	for (uint32_t i = 0; i < UNITS; i++)
		assert_false(sp_node_may_act(w.d[i].n, time_of(&w.d[i])));
}

static void
severity_says_stop_or_continue(void **state)
{
	(void)state;
	w.conf.severity.of[SP_FAULT_PROCESS].set = SP_CONTINUE;
	w.conf.severity.of[SP_FAULT_NODE].set = SP_STOP;
	start_world();
	end_slot(0, 0);
	assert_int_equal(view_of_master()->role[0], SP_NONE);
	assert_int_equal(view_of_master()->epoch, 0);
	struct daemon *lost = master()->me == 2 ? &w.d[1] : &w.d[2];
	lost->cut = true;
	run_daemons(150);
	assert_int_equal(view_of_master()->over, SP_WHY_SEVERITY);
}

static void
the_loss_of_a_master_may_stop_all(void **state)
{
	(void)state;
	w.conf.severity.of[SP_FAULT_MASTER].set = SP_STOP;
	start_world();
	assert_int_equal(view_of_master()->over, SP_WHY_NONE);
	stop_daemon(master());
	run_daemons(200);
	assert_int_equal(view_of_master()->over, SP_WHY_SEVERITY);
}

/* Slots 0, 1, 3: pool 0; 2, 4: pool 1. */
static const uint8_t pool_of[SLOTS] = {0, 0, 1, 0, 1};
static const struct sp_fact facts[2] = {{7, 8}, {0, 0}};

static void
begin_pools(uint64_t off)
{
	w.conf.limits.facts = 2;
	w.conf.pool_of = pool_of;
	w.conf.fact = facts;
	w.conf.off = off;
	start_world();
}

static void
a_spare_plays_roles_of_its_pool(void **state)
{
	(void)state;
	begin_pools(0);
	end_slot(1, 3); /* the spare of pool 0 */
	end_slot(0, 0);
	assert_int_equal(view_of_master()->role[0], SP_NONE);
	end_slot(2, 2);
	assert_int_equal(view_of_master()->role[2], 4);
	/* What is started again is of the pool that lacks it. */
	run_daemons(60);
	assert_int_equal(w.d[0].nstarted, 1);
	assert_int_equal(w.d[0].started_pool, 0);
	assert_int_equal(w.d[2].started_pool, 1);
	sp_node_ready(w.d[0].n, w.d[0].started[0], time_of(&w.d[0]));
	run_daemons(20);
	assert_int_equal(view_of_master()->slot[view_of_master()->role[0]].unit, 0);
}

static void
a_spare_that_is_ready_comes_first(void **state)
{
	(void)state;
	w.conf.limits.facts = 2;
	w.conf.fact = facts;
	start_world();
	sp_node_reached(w.d[2].n, 4, time_of(&w.d[2]));
	run_daemons(20);
	assert_true(view_of_master()->slot[4].ready);
	assert_false(view_of_master()->slot[3].ready);
	end_slot(0, 0);
	assert_int_equal(view_of_master()->role[0], 4);
}

static void
a_pool_is_turned_on_and_off(void **state)
{
	uint64_t given_up;

	(void)state;
	begin_pools(2);
	assert_int_equal(view_of_master()->role[2], SP_NONE);
	assert_int_equal(w.d[2].nstarted, 0);
	assert_true(sp_node_ask(w.d[0].n, SP_OP_POOL, 0, 1, 1, time_of(&w.d[0])));
	run_daemons(40);
	assert_int_equal(sp_node_asks(w.d[0].n, &given_up), 0);
	assert_int_equal(w.d[2].nstarted, 2); /* a rank and a spare, as view 1 would have had */
	sp_node_ready(w.d[2].n, w.d[2].started[0], time_of(&w.d[2]));
	run_daemons(20);
	uint32_t slot = view_of_master()->role[2];
	assert_int_equal(slot, 5);
	assert_true(sp_node_ask(w.d[1].n, SP_OP_POOL, 0, 1, 0, time_of(&w.d[1])));
	run_daemons(40);
	assert_int_equal(view_of_master()->role[2], SP_NONE);
	assert_int_equal(view_of_master()->slot[slot].why, SP_WHY_OPERATOR);
	run_daemons(200);
	assert_int_equal(w.d[2].nstarted, 2);
	assert_int_equal(given_up, 0);
}

static void
facts_are_agreed_on(void **state)
{
	uint64_t given_up;

	(void)state;
	begin_pools(0);
	assert_int_equal(view_of_master()->fact[0].b, 8);
	assert_true(sp_node_ask(w.d[2].n, SP_OP_FACT, 0, 1, 2, time_of(&w.d[2])));
	assert_true(sp_node_ask(w.d[2].n, SP_OP_CLAIM, 1, 3, 4, time_of(&w.d[2])));
	run_daemons(40);
	assert_int_equal(sp_node_asks(w.d[2].n, &given_up), 0);
	for (uint32_t i = 0; i < UNITS; i++) {
		assert_int_equal(sp_node_view(w.d[i].n)->fact[0].a, 1);
		assert_int_equal(sp_node_view(w.d[i].n)->fact[1].b, 4);
	}
	/* Who comes second has no claim, and knows it. */
	assert_true(sp_node_ask(w.d[1].n, SP_OP_CLAIM, 1, 5, 6, time_of(&w.d[1])));
	run_daemons(40);
	assert_int_equal(sp_node_asks(w.d[1].n, &given_up), 0);
	assert_int_equal(view_of_master()->fact[1].a, 3);
	/* What does not fit is given up, also what was asked for with it. */
	assert_true(sp_node_ask(w.d[1].n, SP_OP_FACT, 1, 13, 0, time_of(&w.d[1])));
	assert_true(sp_node_ask(w.d[1].n, SP_OP_FACT, 0, 9, 9, time_of(&w.d[1])));
	run_daemons(100);
	assert_int_equal(sp_node_asks(w.d[1].n, &given_up), 2);
	assert_int_equal(view_of_master()->fact[0].a, 1);
	run_daemons(3200);
	assert_int_equal(sp_node_asks(w.d[1].n, &given_up), 0);
	assert_int_equal(given_up, 2);
}

static void
without_a_spare_a_role_waits(void **state)
{
	(void)state;
	start_world();
	end_slot(0, 0);
	end_slot(1, 1);
	end_slot(2, 2);
	assert_int_equal(view_of_master()->role[2], SP_NONE);
	assert_int_equal(master()->events[SP_EVENT_NO_SPARE], 1);
	assert_int_equal(master()->event_a[SP_EVENT_NO_SPARE], 2);
	run_daemons(60);
	assert_int_equal(w.d[0].nstarted, 1);
	sp_node_ready(w.d[0].n, w.d[0].started[0], time_of(&w.d[0]));
	run_daemons(20);
	assert_int_equal(view_of_master()->role[2], 5);
}

static void
without_a_spare_all_may_stop(void **state)
{
	(void)state;
	w.conf.none_left = SP_NONE_LEFT_STOP;
	start_world();
	end_slot(0, 0);
	end_slot(1, 1);
	assert_int_equal(view_of_master()->over, SP_WHY_NONE);
	end_slot(2, 2);
	assert_int_equal(view_of_master()->over, SP_WHY_NO_SPARE);
}

static void
without_a_spare_the_others_go_on(void **state)
{
	(void)state;
	w.conf.none_left = SP_NONE_LEFT_SHRINK;
	start_world();
	end_slot(0, 0);
	end_slot(1, 1);
	end_slot(2, 2);
	assert_true(view_of_master()->gone[2]);
	assert_int_equal(view_of_master()->epoch, 3);
	assert_int_equal(master()->events[SP_EVENT_GONE], 1);
	/* What is started again is a spare for the others, not for it. */
	run_daemons(60);
	sp_node_ready(w.d[0].n, w.d[0].started[0], time_of(&w.d[0]));
	run_daemons(20);
	assert_int_equal(view_of_master()->role[2], SP_NONE);
	assert_int_equal(view_of_master()->slot[5].state, SP_SLOT_SPARE);
	end_slot(1, 3);
	assert_int_equal(view_of_master()->role[0], 5);
	/* The last one ends all. */
	end_slot(2, 4);
	assert_true(view_of_master()->gone[1]);
	end_slot(0, 5);
	assert_int_equal(view_of_master()->over, SP_WHY_NO_SPARE);
}

static void
a_spare_that_was_used_is_made_up_for(void **state)
{
	(void)state;
	w.conf.refill = true;
	w.conf.severity.of[SP_FAULT_PROCESS].set = SP_TAKEOVER;
	start_world();
	end_slot(0, 0);
	assert_int_equal(view_of_master()->role[0], 3);
	/* Unit 0 has none any more, so it starts the next one: once. */
	assert_int_equal(w.d[0].nstarted, 0);
	run_daemons(60);
	assert_int_equal(w.d[0].nstarted, 1);
	assert_int_equal(w.d[1].nstarted + w.d[2].nstarted, 0);
	sp_node_ready(w.d[0].n, w.d[0].started[0], time_of(&w.d[0]));
	run_daemons(100);
	assert_int_equal(view_of_master()->slot[5].state, SP_SLOT_SPARE);
	assert_int_equal(w.d[0].nstarted, 1);
	/* A node that is gone is made up for by the others. */
	struct daemon *lost = master()->me == 2 ? &w.d[1] : &w.d[2];
	lost->cut = true;
	run_daemons(300);
	assert_true(view_of_master()->unit[lost->me].down);
	uint32_t n = 0;
	for (uint32_t i = 0; i < UNITS; i++)
		n += i == lost->me ? 0 : w.d[i].nstarted;
	assert_int_equal(n, 3); /* one before; it had a role and a spare */
}

/* Roles 1 and 2 are kept for later; pool 1 gets them, on unit 1. */
static void
roles_come_while_all_runs(void **state)
{
	static const uint8_t kept[SLOTS] = {0, SP_POOL_LATER, SP_POOL_LATER, 0, 0};

	(void)state;
	w.conf.pool_of = kept;
	w.conf.off = UINT64_C(1) << SP_POOL_LATER | 2;
	start_world();
	run_daemons(100);
	assert_int_equal(master()->events[SP_EVENT_NO_SPARE], 0);
	assert_true(sp_node_ask(w.d[0].n, SP_OP_ROLES, 1, 1, 2, time_of(&w.d[0])));
	assert_true(sp_node_ask(w.d[0].n, SP_OP_POOL, 0, 1, 1, time_of(&w.d[0])));
	sp_node_want(w.d[1].n, 1, 3, time_of(&w.d[1]));
	run_daemons(100);
	assert_int_equal(sp_role_pool(view_of_master(), 2), 1);
	assert_int_equal(w.d[1].nstarted, 3);
	assert_int_equal(w.d[1].started_pool, 1);
	for (uint32_t i = 0; i < 3; i++)
		sp_node_ready(w.d[1].n, w.d[1].started[i], time_of(&w.d[1]));
	run_daemons(60);
	for (uint32_t r = 1; r < 3; r++) {
		assert_int_not_equal(view_of_master()->role[r], SP_NONE);
		assert_int_equal(view_of_master()->slot[view_of_master()->role[r]].unit, 1);
	}
	uint64_t given_up;
	assert_int_equal(sp_node_asks(w.d[0].n, &given_up), 0);
	assert_int_equal(given_up, 0);
}

static void
a_full_table_is_told(void **state)
{
	(void)state;
	w.conf.limits.slots_max = SLOTS;
	start_world();
	end_slot(0, 0);
	run_daemons(100);
	assert_int_equal(w.d[0].nstarted, 0); /* there is no slot for it */
	assert_int_equal(view_of_master()->slots, SLOTS);
}

static void
an_operator_stops_all(void **state)
{
	(void)state;
	start_world();
	sp_node_stop(w.d[1].n, SP_WHY_OPERATOR, time_of(&w.d[1]));
	run_daemons(20);
	for (uint32_t i = 0; i < UNITS; i++)
		assert_int_equal(sp_node_view(w.d[i].n)->over, SP_WHY_OPERATOR);
}

static void
a_unit_is_emptied(void **state)
{
	(void)state;
	start_world();
	sp_node_drain(w.d[1].n, true, time_of(&w.d[1]));
	run_daemons(60);
	assert_int_equal(view_of_master()->slot[1].why, SP_WHY_DRAIN);
	assert_int_equal(view_of_master()->role[1], 4);
	for (uint32_t s = 0; s < view_of_master()->slots; s++)
		assert_true(view_of_master()->slot[s].unit != 1 ||
			    !sp_slot_lives(view_of_master(), s));
	run_daemons(200);
	assert_int_equal(w.d[1].nstarted, 0);
}

static void
a_path_that_is_down_is_told_or_acted_on(void **state)
{
	(void)state;
	start_world();
	sp_node_path_down(w.d[0].n, 0, 1, time_of(&w.d[0]));
	run_daemons(20);
	assert_int_equal(master()->events[SP_EVENT_PATH], 1);
	assert_int_equal(view_of_master()->role[1], 1);
	end_daemons(state);
	begin_daemons(state);
	w.conf.severity.of[SP_FAULT_PATH].set = SP_TAKEOVER;
	start_world();
	sp_node_path_down(w.d[0].n, 0, 1, time_of(&w.d[0]));
	run_daemons(60);
	assert_int_equal(view_of_master()->slot[1].why, SP_WHY_PATH);
	assert_int_equal(view_of_master()->role[1], 3);
}

static void
a_wrong_clock_is_named(void **state)
{
	(void)state;
	start_world();
	struct daemon *d = master()->me == 1 ? &w.d[2] : &w.d[1];
	d->rate = 0.9; /* a tenth too slow, from here on */
	for (uint32_t i = 0; i < 9000 && !view_of_master()->unit[d->me].down; i += 20)
		run_daemons(20);
	assert_true(view_of_master()->unit[d->me].down);
	assert_int_equal(view_of_master()->slot[d->me].why, SP_WHY_CLOCK);
	assert_int_equal(master()->events[SP_EVENT_CLOCK], 1);
	assert_int_equal(master()->event_a[SP_EVENT_CLOCK], d->me);
	run_daemons(1000);
	assert_true(view_of_master()->unit[d->me].down);
	assert_true(d->fenced);
	for (uint32_t r = 0; r < ROLES; r++)
		assert_int_not_equal(view_of_master()->slot[view_of_master()->role[r]].unit, d->me);
}

static void
bad_frames_are_counted(void **state)
{
	static const uint8_t bad[] = {0x5c, 1, 0, 0, 0, 0, 0, 4, 0};
	uint64_t now;

	(void)state;
	start_world();
	now = time_of(&w.d[0]);
	assert_false(sp_node_on_frame(w.d[0].n, 1, bad, sizeof bad, now));
	assert_false(sp_node_on_frame(w.d[0].n, 1, bad, 0, now));
	assert_false(sp_node_on_frame(w.d[0].n, 7, bad, 4, now));
	assert_int_equal(sp_node_counters(w.d[0].n)->malformed, 3);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_daemons, end_daemons)
	const struct CMUnitTest tests[] = {
		TEST(a_death_gives_the_role_to_a_spare),
		TEST(a_start_that_fails_is_tried_again),
		TEST(a_silent_node_is_given_up),
		TEST(a_minority_stands_still_and_goes_on),
		TEST(a_new_life_of_a_daemon_ends_its_processes),
		TEST(all_daemons_come_back_from_their_disks),
		TEST(who_gives_no_sign_is_ended),
		TEST(too_many_deaths_stop_all),
		TEST(severity_says_stop_or_continue),
		TEST(the_loss_of_a_master_may_stop_all),
		TEST(a_spare_plays_roles_of_its_pool),
		TEST(a_spare_that_is_ready_comes_first),
		TEST(a_pool_is_turned_on_and_off),
		TEST(facts_are_agreed_on),
		TEST(without_a_spare_a_role_waits),
		TEST(without_a_spare_all_may_stop),
		TEST(without_a_spare_the_others_go_on),
		TEST(a_spare_that_was_used_is_made_up_for),
		TEST(roles_come_while_all_runs),
		TEST(a_full_table_is_told),
		TEST(an_operator_stops_all),
		TEST(a_unit_is_emptied),
		TEST(a_path_that_is_down_is_told_or_acted_on),
		TEST(a_wrong_clock_is_named),
		TEST(bad_frames_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
