/* SPDX-License-Identifier: BSD-2-Clause */
/* The way that the segments of a path take is remembered: it must not outlive what decided it. Each
 * change comes between two segments of the same two processes, and nothing else happens there. */
#include "relay_core_kit.h"

#define BASE 0x01000040u

struct world {
	struct relay *r;
	uint32_t proc, trunk[2]; /* rank 0's path; those to the relays of the other client */
	uint64_t cookie;
};

static enum suci_verdict
out(struct world *w)
{
	struct suci_segment s = make_segment(w->r, w->cookie++, BASE + 1, BASE, 0);
	return feed(w->r, w->proc, &s);
}

static enum suci_verdict
in(struct world *w)
{
	struct suci_segment s = make_segment(w->r, w->cookie++, BASE, BASE + 1, 0);
	return feed(w->r, w->trunk[0], &s);
}

static uint32_t
sent(const struct world *w, uint32_t path)
{
	return w->r->ep.path[path].nsent;
}

static void
stripe(struct world *w)
{
	struct relay_policy_rule rule = {.policy = RELAY_POLICY_STRIPE};
	assert_int_equal(relay_core_set_policy(w->r->c, &rule, w->r->ep.now), 0);
	check(w->r);
	for (int i = 0; i < 4; i++)
		assert_int_equal(out(w), SUCI_TAKEN);
	assert_true(sent(w, w->trunk[1]) >= 2);
}

static void
peer_drains(struct world *w)
{
	struct relay_list l = {.label_base = BASE,
			       .token = 0xabcd,
			       .client = 1,
			       .own = RELAY_LIST_NONE,
			       .n = 2,
			       .relay = {{.weight = 0}, {.weight = 100}}};
	uint8_t note[RELAY_LIST_MAX];
	for (uint32_t i = 0; i < 2; i++) {
		struct suci_addr a = maker_relay_addr(1, i);
		l.relay[i].ipv4 = be32_load(a.ip + 12);
		l.relay[i].port = a.port;
	}
	size_t len = relay_list_encode(&l, note);
	relay_ops()->note(w->r->c, w->trunk[0], note, len, w->r->ep.now);
	check(w->r);
	assert_int_equal(out(w), SUCI_TAKEN);
	assert_int_equal(sent(w, w->trunk[1]), 1);
}

static void
trunk_ends(struct world *w)
{
	fake_give_back(&w->r->ep, w->trunk[0], SUCI_FATE_ACKED);
	fake_down(&w->r->ep, w->trunk[0], SUCI_DOWN_SILENT, "");
	check(w->r);
	assert_int_equal(out(w), SUCI_TAKEN);
	assert_int_equal(sent(w, w->trunk[1]), 1);
}

/* What was in its custody goes first. */
static void
trunk_leaves_strays(struct world *w)
{
	fake_down(&w->r->ep, w->trunk[0], SUCI_DOWN_SILENT, "");
	check(w->r);
	assert_int_equal(out(w), SUCI_REFUSED);
	relay_core_tick(w->r->c, w->r->ep.now);
	check(w->r);
	assert_int_equal(out(w), SUCI_TAKEN);
	assert_int_equal(sent(w, w->trunk[1]), 2);
}

static void
process_goes(struct world *w)
{
	assert_int_equal(in(w), SUCI_TAKEN);
	fake_give_back(&w->r->ep, w->proc, SUCI_FATE_ACKED);
	fake_down(&w->r->ep, w->proc, SUCI_DOWN_RESET, "");
	check(w->r);
	assert_int_equal(in(w), SUCI_REFUSED);
	assert_int_equal(relay_core_counters(w->r->c)->refused_proc, 1);
	w->proc = connect_proc(w->r, &spec_one, 0, 0);
	check(w->r);
	assert_int_equal(in(w), SUCI_TAKEN);
	assert_int_equal(sent(w, w->proc), 1);
}

static void
process_leaves(struct world *w)
{
	struct relay_note leave = {.type = RELAY_NOTE_LEAVE, .label_base = BASE};
	uint8_t note[RELAY_NOTE_MAX];
	assert_int_equal(in(w), SUCI_TAKEN);
	fake_give_back(&w->r->ep, w->proc, SUCI_FATE_ACKED);
	size_t len = relay_note_encode(&leave, note);
	relay_ops()->note(w->r->c, w->proc, note, len, w->r->ep.now);
	fake_down(&w->r->ep, w->proc, SUCI_DOWN_CLOSED, "");
	check(w->r);
	assert_int_equal(in(w), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(w->r->c)->drop_left, 1);
}

/* The labels are another job's then, in which rank 1 is of this cluster. */
static void
job_ends(struct world *w)
{
	struct job_spec next = spec_one;
	assert_int_equal(relay_job_end(w->r->c, BASE, NULL, w->r->ep.now), 0);
	check(w->r);
	assert_int_equal(out(w), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(w->r->c)->drop_label, 1);
	next.nprocs[0] = 2;
	next.token++;
	add_job(w->r, next);
	assert_int_equal(out(w), SUCI_DROPPED);
}

/* It may not be rewritten, but sent with a header of its own. */
static void
buffer_is_read_only(struct world *w)
{
	w->r->readonly = true;
	assert_int_equal(out(w), SUCI_TAKEN);
	struct suci_segment s = make_segment(w->r, w->cookie++, BASE + 1, BASE, SUCI_SF_FIRST);
	assert_int_equal(feed(w->r, w->proc, &s), SUCI_REFUSED);
	assert_int_equal(relay_core_counters(w->r->c)->refused_readonly, 1);
	assert_int_equal(sent(w, w->trunk[0]), 2);
	assert_int_equal(w->r->ep.path[w->trunk[0]].sent[1].dst_label, spec_one.label_base[1] + 1);
}

static void
ways_do_not_outlive(void **state)
{
	static const struct {
		const char *name;
		void (*change)(struct world *w);
	} rows[] = {
		{"stripe", stripe},
		{"peer drains", peer_drains},
		{"trunk ends", trunk_ends},
		{"trunk leaves strays", trunk_leaves_strays},
		{"process goes", process_goes},
		{"process leaves", process_leaves},
		{"job ends", job_ends},
		{"buffer is read-only", buffer_is_read_only},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct relay_core_conf conf =
			relay_conf_of_two(RELAY_POLICY_DEST, 6, 5 * BASE_S_NS);
		struct world w = {.r = relay_new_conf(&conf)};
		print_message("  %s\n", rows[i].name);
		add_job(w.r, spec_one);
		w.proc = connect_proc(w.r, &spec_one, 0, 0);
		for (uint32_t k = 0; k < 2; k++)
			w.trunk[k] = connect_trunk(w.r, 1, k);
		relay_core_tick(w.r->c, w.r->ep.now);
		assert_int_equal(out(&w), SUCI_TAKEN);
		assert_int_equal(sent(&w, w.trunk[0]), 1);
		rows[i].change(&w);
		for (uint32_t p = 0; p < FAKE_PATHS; p++)
			if (w.r->ep.path[p].used)
				fake_give_back(&w.r->ep, p, SUCI_FATE_ACKED);
		relay_free(w.r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ways_do_not_outlive)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
