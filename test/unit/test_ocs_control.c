/* SPDX-License-Identifier: BSD-2-Clause */
/* A matrix and a driver joined: batches, refusals, light that comes late, reconnects. */
#include "cmocka_all.h"

#include "base/clock.h"
#include "base/prng.h"
#include "ocs/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS 8u
#define NONE  UINT32_MAX
#define MS    BASE_MS_NS

/* A switch that is an array. */
struct fake {
	struct ocs_switch sw; /* first */
	uint32_t out_of[PORTS];
	uint64_t lit_at[PORTS];
	bool dark[PORTS]; /* no light from this ingress */
	bool up, open;	  /* open: a request has not been answered yet */
	uint32_t caps;
	int refuse_with; /* the next addition */
	uint32_t refusals;
	bool mute; /* requests are taken, and lost with the session */
	uint64_t now;
	struct ocs_event ev[64];
	uint32_t nev, at;
	struct ocs_identity id;
	uint32_t applied, request; /* request: the latest change */
};

static struct fake *
fake_of(struct ocs_switch *sw)
{
	return (struct fake *)(void *)sw;
}

static struct ocs_event *
put(struct fake *f, enum ocs_event_kind kind, uint32_t id)
{
	if (f->at == f->nev)
		f->at = f->nev = 0;
	assert_true(f->nev < 64);
	f->ev[f->nev] = (struct ocs_event){.kind = kind, .id = id, .done_ns = f->now};
	return &f->ev[f->nev++];
}

static uint32_t
user_of(const struct fake *f, uint32_t out)
{
	for (uint32_t p = 0; p < PORTS; p++)
		if (f->out_of[p] == out)
			return p;
	return NONE;
}

static int
fake_identify(struct ocs_switch *sw, uint32_t id, uint64_t now)
{
	struct fake *f = fake_of(sw);
	if (!f->up)
		return OCS_ERR_OFFLINE;
	(void)now;
	f->id = (struct ocs_identity){
		.ingress = PORTS, .egress = PORTS, .caps = f->caps, .max_batch = 6};
	put(f, OCS_EVENT_IDENTITY, id)->identity = &f->id;
	put(f, OCS_EVENT_DONE, id);
	return OCS_ERR_OK;
}

static int
fake_read(struct ocs_switch *sw, uint32_t id, uint64_t now)
{
	struct fake *f = fake_of(sw);
	if (!f->up)
		return OCS_ERR_OFFLINE;
	for (uint32_t p = 0; p < PORTS; p++) {
		if (f->out_of[p] == NONE)
			continue;
		struct ocs_event *e = put(f, OCS_EVENT_CIRCUIT, id);
		e->in = p;
		e->out = f->out_of[p];
		e->shown = f->dark[p]		 ? OCS_SHOWN_DARK
			   : now >= f->lit_at[p] ? OCS_SHOWN_STEADY
						 : OCS_SHOWN_SETTLING;
	}
	put(f, OCS_EVENT_DONE, id);
	return OCS_ERR_OK;
}

static int
add_one(struct fake *f, const struct ocs_circuit *k)
{
	if (f->out_of[k->in] == k->out)
		return OCS_ERR_OK;
	if (f->out_of[k->in] != NONE || user_of(f, k->out) != NONE)
		return OCS_ERR_BUSY;
	if (f->refusals > 0) {
		f->refusals--;
		return f->refuse_with;
	}
	f->out_of[k->in] = k->out;
	f->lit_at[k->in] = f->now + 5 * MS;
	return OCS_ERR_OK;
}

static int
fake_apply(struct ocs_switch *sw, uint32_t id, const struct ocs_change *ch, uint64_t now)
{
	struct fake *f = fake_of(sw);
	if (!f->up)
		return OCS_ERR_OFFLINE;
	assert_true(ch->removals + ch->additions <= 6);
	f->now = now;
	f->applied++;
	f->request = id;
	for (uint32_t i = 0; i < ch->removals + ch->additions; i++) {
		bool removal = i < ch->removals;
		const struct ocs_circuit *k = removal ? &ch->remove[i] : &ch->add[i - ch->removals];
		int err = OCS_ERR_OK;
		if (!removal)
			err = add_one(f, k);
		else if (f->out_of[k->in] == k->out)
			f->out_of[k->in] = NONE;
		if (f->mute)
			continue;
		struct ocs_event *e = put(f, OCS_EVENT_CIRCUIT, id);
		e->in = k->in;
		e->out = k->out;
		e->removal = removal;
		e->err = err;
	}
	if (!f->mute)
		put(f, OCS_EVENT_DONE, id);
	f->open = f->mute;
	return OCS_ERR_OK;
}

static bool
fake_next(struct ocs_switch *sw, struct ocs_event *ev)
{
	struct fake *f = fake_of(sw);
	if (f->at == f->nev)
		return false;
	*ev = f->ev[f->at++];
	return true;
}

static const struct ocs_switch_ops fake_ops = {.name = "fake",
					       .identify = fake_identify,
					       .apply = fake_apply,
					       .read_all = fake_read,
					       .next = fake_next};

struct rig {
	struct fake f;
	struct ocs_control *c;
	struct ocs_matrix *m;
	uint64_t now;
	bool own_in[PORTS], own_out[PORTS];
};

static struct rig *
rig(uint32_t caps, uint64_t extra_ns)
{
	struct rig *r = calloc(1, sizeof *r);
	r->f.sw.ops = &fake_ops;
	r->f.caps = caps;
	for (uint32_t p = 0; p < PORTS; p++) {
		r->f.out_of[p] = NONE;
		r->own_in[p] = r->own_out[p] = p < 6; /* 6, 7 are somebody else's */
	}
	struct ocs_control_config cfg = {.ports = PORTS,
					 .batch = 6,
					 .gamma_guess_ns = 10 * MS,
					 .extra_ns = extra_ns,
					 .own_in = r->own_in,
					 .own_out = r->own_out};
	r->c = ocs_control_new(malloc(ocs_control_footprint(&cfg)), &cfg, &r->f.sw);
	r->m = ocs_control_matrix(r->c);
	r->now = MS;
	return r;
}

static void
rig_free(struct rig *r)
{
	free(r->c);
	free(r);
}

static void
run(struct rig *r, uint64_t for_ns)
{
	for (uint64_t end = r->now + for_ns; r->now < end; r->now += MS) {
		r->f.now = r->now;
		ocs_control_turn(r->c, r->now);
		assert_null(ocs_check(r->m));
	}
}

static void
up(struct rig *r)
{
	r->f.up = true;
	put(&r->f, OCS_EVENT_UP, 0);
}

static void
down(struct rig *r)
{
	r->f.up = r->f.open = false;
	r->f.at = r->f.nev = 0;
	put(&r->f, OCS_EVENT_DOWN, 0)->err = OCS_ERR_OFFLINE;
}

static uint32_t
notices(struct rig *r, enum ocs_notice_kind kind)
{
	struct ocs_notice n;
	uint32_t count = 0;
	while (ocs_control_next(r->c, &n))
		count += n.kind == kind;
	return count;
}

static void
test_lights_and_leaves(void **state)
{
	(void)state;
	struct rig *r = rig(0, 0);
	run(r, 3 * MS);
	assert_false(ocs_control_is_online(r->c));
	up(r);
	run(r, 3 * MS);
	assert_true(ocs_control_is_online(r->c));
	assert_int_equal(ocs_request(r->m, 1, 2, 77, r->now), OCS_ERR_OK);
	run(r, 2 * MS);
	assert_int_equal(r->f.out_of[1], 2);
	assert_int_equal(ocs_at(r->m, 1).state, OCS_LIT);
	assert_true(ocs_control_is_settled(r->c));
	assert_int_equal(notices(r, OCS_NOTICE_LIT), 1);
	ocs_release(r->m, 1, r->now);
	run(r, 2 * MS);
	assert_int_equal(r->f.out_of[1], NONE);
	assert_int_equal(notices(r, OCS_NOTICE_GONE), 1);
	rig_free(r);
}

/* The mirrors settle after the answer; then a port from which no light comes. */
static void
test_light_comes_late(void **state)
{
	(void)state;
	struct rig *r = rig(OCS_CAP_ASYNC_COMPLETE, 0);
	up(r);
	run(r, 3 * MS);
	ocs_request(r->m, 1, 2, 77, r->now);
	run(r, 3 * MS);
	assert_int_equal(ocs_at(r->m, 1).state, OCS_REPORTED);
	run(r, 8 * MS);
	assert_int_equal(ocs_at(r->m, 1).state, OCS_LIT);
	r->f.dark[3] = true;
	ocs_request(r->m, 3, 3, 78, r->now);
	run(r, 100 * MS);
	assert_int_equal(ocs_at(r->m, 3).state, OCS_FREE);
	assert_int_equal(r->f.out_of[3], NONE);
	assert_int_equal(ocs_request(r->m, 3, 3, 78, r->now), OCS_ERR_DARK);
	assert_int_equal(notices(r, OCS_NOTICE_REFUSED), 1);
	/* Later it is tried once more; and has been mended when it is tried after that. */
	for (int mended = 0; mended < 2; mended++) {
		r->now += 4000 * MS;
		r->f.dark[3] = !mended;
		assert_int_equal(ocs_request(r->m, 3, 3, 78, r->now), OCS_ERR_OK);
		run(r, 100 * MS);
		assert_int_equal(ocs_at(r->m, 3).state, mended ? OCS_LIT : OCS_FREE);
		assert_int_equal(notices(r, OCS_NOTICE_REFUSED), !mended);
	}
	rig_free(r);
}

static void
test_extra_time_is_dark(void **state)
{
	(void)state;
	struct rig *r = rig(0, 10 * MS);
	up(r);
	run(r, 3 * MS);
	ocs_request(r->m, 0, 1, 1, r->now);
	run(r, 5 * MS);
	ocs_request(r->m, 1, 0, 1, r->now);
	run(r, 4 * MS);
	assert_int_equal(r->f.out_of[0], NONE);
	run(r, 3 * MS);
	assert_int_equal(r->f.out_of[0], 1);
	assert_int_equal(r->f.out_of[1], NONE); /* its own ten milliseconds */
	run(r, 5 * MS);
	assert_int_equal(r->f.out_of[1], 0);
	assert_true(ocs_gamma_ns(r->m) >= 10 * MS);
	rig_free(r);
}

/* A removal takes the switch 4 ms; who wants the port in the turn that hears of it has waited for
 * one change, who comes later orders another. */
static void
test_extra_time_of_one_change(void **state)
{
	(void)state;
	static const struct {
		uint64_t later_ms, dark_ms; /* behind the report; behind the order of the removal */
	} cases[] = {{0, 10}, {1, 15}, {20, 34}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig *r = rig(0, 10 * MS);
		printf("  case %zu\n", i);
		up(r);
		ocs_request(r->m, 0, 1, 1, r->now);
		run(r, 15 * MS);
		assert_int_equal(r->f.out_of[0], 1);
		uint64_t ordered_ns = r->now;
		ocs_release(r->m, 0, r->now);
		r->f.mute = true;
		run(r, 4 * MS);
		assert_int_equal(r->f.out_of[0], NONE);
		r->f.mute = r->f.open = false;
		struct ocs_event *e = put(&r->f, OCS_EVENT_CIRCUIT, r->f.request);
		e->in = 0;
		e->out = 1;
		e->removal = true;
		put(&r->f, OCS_EVENT_DONE, r->f.request);
		ocs_control_turn(r->c, r->now);
		run(r, cases[i].later_ms * MS);
		assert_int_equal(ocs_request(r->m, 0, 2, 1, r->now), OCS_ERR_OK);
		while (r->f.out_of[0] == NONE)
			run(r, MS);
		assert_int_equal((r->now - MS - ordered_ns) / MS, cases[i].dark_ms);
		rig_free(r);
	}
}

static void
test_refusals(void **state)
{
	(void)state;
	static const struct {
		int err;
		uint32_t times;
		bool lit;
	} cases[] = {
		{OCS_ERR_RETRY, 3, true},
		{OCS_ERR_RETRY, 50, false},
		{OCS_ERR_REFUSED, 1, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig *r = rig(0, 0);
		printf("  case %zu\n", i);
		up(r);
		run(r, 3 * MS);
		r->f.refuse_with = cases[i].err;
		r->f.refusals = cases[i].times;
		ocs_request(r->m, 0, 1, 5, r->now);
		run(r, 300 * MS);
		assert_int_equal(ocs_at(r->m, 0).state, cases[i].lit ? OCS_LIT : OCS_FREE);
		assert_int_equal(notices(r, OCS_NOTICE_REFUSED), !cases[i].lit);
		assert_true(r->f.applied < 10); /* asked again, but not without end */
		rig_free(r);
	}
}

static void
test_others_circuits(void **state)
{
	(void)state;
	struct rig *r = rig(0, 0);
	r->f.out_of[7] = 6; /* theirs */
	r->f.out_of[2] = 7; /* one end is theirs: theirs */
	r->f.out_of[0] = 3; /* ours: left by a process before us */
	up(r);
	run(r, 10 * MS);
	assert_int_equal(r->f.out_of[7], 6);
	assert_int_equal(r->f.out_of[2], 7);
	assert_int_equal(r->f.out_of[0], NONE);
	assert_int_equal(ocs_control_counters(r->c)->leftovers, 1);
	assert_int_equal(ocs_at(r->m, 7).state, OCS_FOREIGN);
	assert_int_equal(ocs_request(r->m, 2, 1, 1, r->now), OCS_ERR_FOREIGN);
	/* One that comes later and is told. */
	r->f.out_of[6] = 5;
	put(&r->f, OCS_EVENT_CHANGED, 0);
	run(r, 3 * MS);
	assert_int_equal(ocs_request(r->m, 1, 5, 1, r->now), OCS_ERR_FOREIGN);
	/* And one nobody told of: the switch refuses, and then it is known. */
	r->f.out_of[2] = NONE;
	r->f.out_of[6] = 4;
	ocs_request(r->m, 1, 4, 1, r->now);
	run(r, 3 * MS);
	assert_int_equal(notices(r, OCS_NOTICE_REFUSED), 1);
	assert_int_equal(ocs_at(r->m, 6).state, OCS_FOREIGN);
	assert_int_equal(ocs_at(r->m, 6).out, 4);
	rig_free(r);
}

/* Lost in mid-batch: the switch has done some of it, and loses some of what was lit. */
static void
test_reconnect(void **state)
{
	(void)state;
	struct rig *r = rig(0, 0);
	up(r);
	run(r, 3 * MS);
	for (uint32_t p = 0; p < 4; p++)
		ocs_request(r->m, p, p, 9, r->now);
	run(r, 3 * MS);
	assert_int_equal(notices(r, OCS_NOTICE_LIT), 4);
	r->f.mute = true;
	ocs_release(r->m, 0, r->now);
	ocs_request(r->m, 4, 5, 9, r->now);
	run(r, 2 * MS);
	assert_true(r->f.open);
	down(r);
	r->f.mute = false;
	run(r, 2 * MS);
	assert_false(ocs_control_is_online(r->c));
	assert_int_equal(notices(r, OCS_NOTICE_OFFLINE), 1);
	r->f.out_of[1] = NONE; /* forgotten */
	r->f.out_of[4] = NONE;
	ocs_release(r->m, 2, r->now); /* wanted no more while nobody could be told */
	up(r);
	run(r, 10 * MS);
	static const uint32_t want[PORTS] = {NONE, 1, NONE, 3, 5, NONE, NONE, NONE};
	for (uint32_t p = 0; p < PORTS; p++)
		assert_int_equal(r->f.out_of[p], want[p]);
	assert_true(ocs_control_is_settled(r->c));
	rig_free(r);
}

/* Wanted before there is a session, and left just so by a process before us: set anew. */
static void
test_found_as_wanted(void **state)
{
	(void)state;
	struct rig *r = rig(0, 0);
	r->f.out_of[1] = 2;
	assert_int_equal(ocs_request(r->m, 1, 2, 7, r->now), OCS_ERR_OK);
	run(r, 2 * MS);
	up(r);
	run(r, 3 * MS);
	assert_int_equal(ocs_at(r->m, 1).state, OCS_LIT);
	assert_int_equal(notices(r, OCS_NOTICE_LIT), 1);
	assert_int_equal(ocs_control_counters(r->c)->leftovers, 1);
	rig_free(r);
}

/* Anything in any order; when all is quiet the switch has what is wanted, and what is
 * theirs is as it was. */
static void
test_soak(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rig *r = rig(seed & 1 ? OCS_CAP_ASYNC_COMPLETE : 0, seed & 2 ? 3 * MS : 0);
		struct base_prng g = base_prng_seed(seed);
		uint32_t want[PORTS];
		memset(want, 0xff, sizeof want);
		r->f.out_of[6] = 7;
		up(r);
		for (int step = 0; step < 200; step++) {
			uint32_t p = (uint32_t)base_prng_below(&g, 6),
				 q = (uint32_t)base_prng_below(&g, 6);
			switch (base_prng_below(&g, 12)) {
			case 0:
				if (r->f.up)
					down(r);
				break;
			case 1:
				if (r->f.up)
					r->f.mute = true;
				break;
			case 2:
				r->f.out_of[p] = NONE; /* it loses one */
				if (r->f.up)
					put(&r->f, OCS_EVENT_CHANGED, 0);
				break;
			case 3:
				r->f.refuse_with = OCS_ERR_RETRY;
				r->f.refusals = 2;
				break;
			case 4:
			case 5:
			case 6:
				if (ocs_request(r->m, p, q, seed, r->now) == OCS_ERR_OK)
					want[p] = q;
				break;
			case 7:
			case 8:
				if (ocs_release(r->m, p, r->now) == OCS_ERR_OK)
					want[p] = NONE;
				break;
			default:
				if (!r->f.up) {
					r->f.mute = false;
					up(r);
				}
				run(r, 2 * MS);
			}
		}
		if (r->f.up)
			down(r);
		r->f.mute = false;
		r->f.refusals = 0;
		up(r);
		run(r, 400 * MS);
		if (!ocs_control_is_settled(r->c))
			printf("seed %lu\n", (unsigned long)seed);
		assert_true(ocs_control_is_settled(r->c));
		for (uint32_t p = 0; p < 6; p++) {
			struct ocs_circuit k = ocs_at(r->m, p);
			assert_int_equal(r->f.out_of[p], k.state == OCS_LIT ? k.out : NONE);
			if (k.state == OCS_LIT) /* nothing is lit that was not wanted */
				assert_int_equal(want[p], k.out);
		}
		assert_int_equal(r->f.out_of[6], 7);
		rig_free(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lights_and_leaves),
		cmocka_unit_test(test_light_comes_late),
		cmocka_unit_test(test_extra_time_is_dark),
		cmocka_unit_test(test_extra_time_of_one_change),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_others_circuits),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_soak),
		cmocka_unit_test(test_found_as_wanted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
