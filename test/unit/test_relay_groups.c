/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of trunks: which one carries a segment, what becomes of custody when one goes
 * down, what processes and relays are told, when a job ends for want of a way. */
#include "relay_core_kit.h"

#include <stdio.h>

#define BASE	  0x01000040u
#define PARTITION (5 * BASE_S_NS)

static struct relay *
new_relay(enum relay_policy policy)
{
	struct relay_core_conf conf = relay_conf_of_two(policy, 6, PARTITION);
	return relay_new_conf(&conf);
}

static void
tick(struct relay *r)
{
	relay_core_tick(r->c, r->ep.now);
	check(r);
}

/* The last note of that type on the path, or NULL; *len its length. */
static const uint8_t *
last_note(const struct relay *r, uint32_t path, uint8_t type, size_t *len)
{
	const struct fake_path *f = &r->ep.path[path];
	for (uint32_t i = f->nnotes; i-- > 0;)
		if (f->note[i][0] == type) {
			*len = f->note_len[i];
			return f->note[i];
		}
	return NULL;
}

static void
ways_are(const struct relay *r, uint32_t path, uint32_t ways, uint32_t resend)
{
	struct relay_note n;
	size_t len = 0;
	const uint8_t *note = last_note(r, path, RELAY_NOTE_WAYS, &len);
	assert_non_null(note);
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	assert_int_equal(n.ways, ways);
	assert_int_equal(n.resend, resend);
}

/* All of it arrives: what were abandoned instead would wait for other trunks. */
static void
finish(struct relay *r)
{
	for (uint32_t p = 0; p < FAKE_PATHS; p++)
		if (r->ep.path[p].used)
			fake_give_back(&r->ep, p, SUCI_FATE_ACKED);
	relay_free(r);
}

static uint32_t
send_to(struct relay *r, uint32_t p, uint64_t cookie, uint32_t rank)
{
	struct suci_segment s = make_segment(r, cookie, BASE + rank, BASE, 0);
	return (uint32_t)feed(r, p, &s);
}

static void
policies_pick(void **state)
{
	(void)state;
	for (uint32_t policy = RELAY_POLICY_DEST; policy <= RELAY_POLICY_STRIPE; policy++) {
		struct relay *r = new_relay((enum relay_policy)policy);
		add_job(r, spec_one);
		uint32_t p = connect_proc(r, &spec_one, 0, 0);
		uint32_t t[2] = {connect_trunk(r, 1, 0), connect_trunk(r, 1, 1)};
		for (uint32_t i = 0; i < 8; i++)
			assert_int_equal(send_to(r, p, i, 1), SUCI_TAKEN); /* of relay 0 there */
		bool stripe = policy == RELAY_POLICY_STRIPE;
		assert_int_equal(r->ep.path[t[0]].nsent, stripe ? 4 : 8);
		assert_int_equal(r->ep.path[t[1]].nsent, stripe ? 4 : 0);
		/* By rank 3's owner, unless that is down. */
		assert_int_equal(send_to(r, p, 8, 4), SUCI_TAKEN);
		assert_int_equal(r->ep.path[t[1]].nsent + r->ep.path[t[0]].nsent, 9);
		if (!stripe)
			assert_int_equal(r->ep.path[t[1]].nsent, 1);
		finish(r);
	}
}

/* What was on its way over a trunk that goes down goes over the other, and the process is
 * told to send again. */
static void
custody_goes_over_the_other(void **state)
{
	(void)state;
	struct relay *r = new_relay(RELAY_POLICY_DEST);
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0);
	uint32_t t0 = connect_trunk(r, 1, 0), t1 = connect_trunk(r, 1, 1);
	tick(r);
	ways_are(r, p, 3, 0);
	for (uint32_t i = 0; i < 5; i++)
		send_to(r, p, i, 1);
	r->ep.now += 20 * BASE_S_NS;
	fake_down(&r->ep, t0, SUCI_DOWN_SILENT, "");
	check(r);
	assert_int_equal(relay_core_held(r->c), 5);
	assert_int_equal(r->refs[0], 1);
	/* Nothing new overtakes them. */
	assert_int_equal(send_to(r, p, 9, 1), SUCI_REFUSED);
	tick(r);
	assert_int_equal(r->ep.path[t1].nsent, 5);
	assert_int_equal(r->ep.path[t1].sent[0].dst_label, spec_one.label_base[1] + 1);
	assert_int_equal(relay_core_counters(r->c)->strays_sent, 5);
	ways_are(r, p, 3, 2);
	assert_int_equal(send_to(r, p, 9, 1), SUCI_TAKEN);
	fake_give_back(&r->ep, t1, SUCI_FATE_ACKED);
	check(r);
	assert_int_equal(relay_core_held(r->c), 0);
	assert_int_equal(r->ended, 0);
	finish(r);
}

/* What was on its way to a process whose path is cut goes over its next one; when it has left,
 * to nobody. */
static void
custody_goes_to_the_process(void **state)
{
	/* Whatever ends a path but the process. */
	static const enum suci_down why[] = {SUCI_DOWN_RESET, SUCI_DOWN_SILENT, SUCI_DOWN_STALE};
	(void)state;
	for (int i = 0; i < 6; i++) {
		bool left = i & 1;
		struct relay *r = new_relay(RELAY_POLICY_DEST);
		add_job(r, spec_one);
		uint32_t p = connect_proc(r, &spec_one, 0, 0), t = connect_trunk(r, 1, 0);
		tick(r);
		for (uint32_t seq = 0; seq < 5; seq++) {
			struct suci_segment s = make_segment(r, seq, BASE, BASE + 1, 0);
			assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
		}
		assert_int_equal(r->ep.path[p].nsent, 5);
		fake_down(&r->ep, p, why[i / 2], "");
		check(r);
		tick(r);
		assert_int_equal(relay_core_held(r->c), 5);
		assert_int_equal(relay_core_counters(r->c)->strays_kept, 5);
		p = connect_proc(r, &spec_one, 0, 0);
		if (left) { /* before the next tick */
			struct relay_note n = {.type = RELAY_NOTE_LEAVE, .label_base = BASE};
			uint8_t out[RELAY_NOTE_MAX];
			relay_ops()->note(r->c, p, out, relay_note_encode(&n, out), r->ep.now);
			fake_down(&r->ep, p, SUCI_DOWN_CLOSED, "");
			tick(r);
			assert_int_equal(relay_core_held(r->c), 0);
			assert_int_equal(relay_core_counters(r->c)->drop_abandoned, 5);
		} else {
			tick(r);
			assert_int_equal(r->ep.path[p].nsent, 5);
			assert_int_equal(r->ep.path[p].sent[4].dst_label, MAKER_PROC_BASE);
			assert_int_equal(relay_core_counters(r->c)->strays_sent, 5);
		}
		assert_int_equal(r->ended, 0);
		finish(r);
	}
}

/* The last way: segments wait, then the job ends with a text; not while others have one. */
static void
partition(void **state)
{
	(void)state;
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct relay *r = new_relay(RELAY_POLICY_STRIPE);
		add_job(r, spec_one);
		uint32_t p = connect_proc(r, &spec_one, 0, 0);
		uint32_t t0 = connect_trunk(r, 1, 0), t1 = connect_trunk(r, 1, 1);
		tick(r);
		assert_int_equal(r->ways, 3);
		send_to(r, p, 0, 1);
		send_to(r, p, 1, 1);
		fake_down(&r->ep, t0, SUCI_DOWN_SILENT, "");
		fake_down(&r->ep, t1, SUCI_DOWN_SILENT, "");
		tick(r);
		assert_int_equal(r->ways, 1);
		ways_are(r, p, 1, 2);
		assert_int_equal(relay_core_held(r->c), 2);
		if (elsewhere)
			assert_int_equal(relay_job_elsewhere(r->c, BASE, 2, r->ep.now), 0);
		r->ep.now += PARTITION - 1;
		tick(r);
		assert_int_equal(r->ended, 0);
		r->ep.now += 1;
		tick(r);
		assert_int_equal(r->ended, !elsewhere);
		if (!elsewhere) {
			assert_non_null(strstr(r->why, "no relay of client 1"));
			assert_int_equal(relay_core_held(r->c), 0);
		} else { /* nor there any more: from now on */
			assert_int_equal(relay_job_elsewhere(r->c, BASE, 0, r->ep.now), 0);
			r->ep.now += PARTITION;
			tick(r);
			assert_int_equal(r->ended, 1);
		}
		finish(r);
	}
}

/* Relays that own no process become known by RELAYS; what one says of itself is its
 * weight; a relay its own processes have lost is a standby. */
static void
relays_are_told(void **state)
{
	(void)state;
	struct relay *r = new_relay(RELAY_POLICY_STRIPE);
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0);
	uint32_t t0 = connect_trunk(r, 1, 0), t1 = connect_trunk(r, 1, 1);
	struct suci_addr third = maker_relay_addr(1, 2);
	struct relay_list l = {
		.label_base = BASE,
		.token = 0xabcd,
		.client = 1,
		.own = RELAY_LIST_NONE,
		.n = 3,
		.relay = {{0, 0, 0, 0}, {0, 0, 100, RELAY_LIST_LOST}, {0, 0, 100, 0}}};
	for (uint32_t i = 0; i < 3; i++) {
		struct suci_addr a = maker_relay_addr(1, i);
		l.relay[i].ipv4 = (uint32_t)a.ip[12] << 24 | (uint32_t)a.ip[13] << 16 |
				  (uint32_t)a.ip[14] << 8 | a.ip[15];
		l.relay[i].port = a.port;
	}
	uint8_t note[RELAY_LIST_MAX];
	size_t len = relay_list_encode(&l, note);
	relay_ops()->note(r->c, p, note, len, r->ep.now); /* not from a process */
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 1);
	relay_ops()->note(r->c, t0, note, len, r->ep.now);
	check(r);
	tick(r);
	assert_int_not_equal(fake_find(&r->ep, &third), UINT32_MAX);
	uint32_t t2 = connect_trunk(r, 1, 2);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(send_to(r, p, i, 1), SUCI_TAKEN);
	assert_int_equal(r->ep.path[t0].nsent, 0); /* drains */
	assert_int_equal(r->ep.path[t1].nsent, 0); /* lost */
	assert_int_equal(r->ep.path[t2].nsent, 6);
	tick(r);
	ways_are(r, p, 3, 2); /* what relay 1 had does not arrive */
	/* Another job's token: nothing changes. */
	l.token = 1;
	l.relay[0].weight = 100;
	len = relay_list_encode(&l, note);
	relay_ops()->note(r->c, t0, note, len, r->ep.now);
	assert_int_equal(relay_core_counters(r->c)->notes_stale, 1);
	assert_int_equal(send_to(r, p, 6, 1), SUCI_TAKEN);
	assert_int_equal(r->ep.path[t0].nsent, 0);
	/* One that was overtaken says nothing, the one after it does. */
	l.token = 0xabcd;
	static const uint32_t number[] = {7, 6, 8}, weight[] = {0, 100, 100};
	for (uint32_t k = 0; k < 3; k++) {
		l.relay[0].weight = (uint8_t)weight[k];
		len = relay_list_encode(&l, note);
		r->ep.note_number = number[k];
		relay_ops()->note(r->c, t0, note, len, r->ep.now);
		assert_int_equal(relay_core_counters(r->c)->notes_stale, k ? 2 : 1);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(send_to(r, p, 7 + 4 * k + i, 1), SUCI_TAKEN);
		assert_int_equal(r->ep.path[t0].nsent > 0, k == 2);
	}
	r->ep.note_number = 0;
	finish(r);
}

/* Draining and policies at run time are told at once; LOST goes on to other clusters. */
static void
changes_are_told(void **state)
{
	(void)state;
	struct relay *r = new_relay(RELAY_POLICY_DEST);
	struct relay_list l;
	size_t len = 0;
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0), t = connect_trunk(r, 1, 0);
	tick(r);
	const uint8_t *note = last_note(r, p, RELAY_NOTE_RELAYS, &len);
	assert_non_null(note);
	assert_int_equal(relay_list_decode(note, len, &l), 0);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.own, 0);
	assert_int_equal(l.label_base, MAKER_PROC_BASE);
	assert_int_equal(l.partition_s, 5);
	assert_int_equal(l.relay[0].weight, 100);
	assert_int_equal(l.policy[0].policy, RELAY_POLICY_DEST);

	assert_int_equal(relay_core_set_weight(r->c, 0, r->ep.now), 0);
	assert_int_equal(relay_core_set_weight(r->c, 101, r->ep.now), RELAY_ERR_INVAL);
	struct relay_policy_rule rule = {.policy = RELAY_POLICY_STRIPE};
	assert_int_equal(relay_core_set_policy(r->c, &rule, r->ep.now), 0);
	tick(r);
	note = last_note(r, p, RELAY_NOTE_RELAYS, &len);
	assert_int_equal(relay_list_decode(note, len, &l), 0);
	assert_int_equal(l.relay[l.self].weight, 0);
	assert_int_equal(l.policy[0].policy, RELAY_POLICY_STRIPE);
	note = last_note(r, t, RELAY_NOTE_RELAYS, &len);
	assert_non_null(note);
	assert_int_equal(relay_list_decode(note, len, &l), 0);
	assert_int_equal(l.label_base, spec_one.label_base[1]);
	assert_int_equal(l.relay[l.self].weight, 0);
	assert_int_equal(l.relay[1].flags, 0);

	struct relay_note lost = {.type = RELAY_NOTE_LOST,
				  .label_base = BASE,
				  .ipv4 = 0x0a0000c9,
				  .port = 7000,
				  .lost = true};
	uint8_t out[RELAY_NOTE_MAX];
	relay_ops()->note(r->c, p, out, relay_note_encode(&lost, out), r->ep.now);
	tick(r);
	note = last_note(r, t, RELAY_NOTE_RELAYS, &len);
	assert_int_equal(relay_list_decode(note, len, &l), 0);
	assert_int_equal(l.relay[1].flags, RELAY_LIST_LOST);
	finish(r);
}

/* The policy towards the other cluster, whose first relay is 192.0.2.11, that p was told. */
static uint32_t
policy_told(const struct relay *r, uint32_t p)
{
	struct relay_list l;
	size_t len = 0;
	const uint8_t *note = last_note(r, p, RELAY_NOTE_RELAYS, &len);
	assert_non_null(note);
	assert_int_equal(relay_list_decode(note, len, &l), 0);
	return l.policy[0].policy;
}

/* The longest range counts, whatever came last; the last word about a range counts, and takes
 * no place of its own, however the range is written. */
static void
ranges_of_policies(void **state)
{
	(void)state;
	struct relay *r = new_relay(RELAY_POLICY_DEST);
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0);
	static const struct {
		struct relay_policy_rule rule;
		uint32_t then;
	} set[] = {
		{{0xc0000200, 24, RELAY_POLICY_SOURCE}, RELAY_POLICY_SOURCE},
		{{0, 0, RELAY_POLICY_STRIPE}, RELAY_POLICY_SOURCE},
		{{0xc0000208, 30, RELAY_POLICY_STRIPE}, RELAY_POLICY_STRIPE},
		{{0xc0000207, 24, RELAY_POLICY_DEST}, RELAY_POLICY_STRIPE},
		{{0xc000020a, 30, RELAY_POLICY_DEST}, RELAY_POLICY_DEST},
		{{0xc0000208, 30, RELAY_POLICY_SOURCE}, RELAY_POLICY_SOURCE},
	};
	uint32_t n = sizeof set / sizeof set[0];
	for (uint32_t i = 0; i < RELAY_RULES_MAX * n; i++) {
		r->ep.path[p].nnotes = 0;
		assert_int_equal(relay_core_set_policy(r->c, &set[i % n].rule, r->ep.now), 0);
		tick(r);
		assert_int_equal(policy_told(r, p), set[i % n].then);
	}
	finish(r);
}

/* The weight that process and trunk were told last. */
static uint32_t
weight_told(const struct relay *r, uint32_t proc, uint32_t trunk)
{
	struct relay_list to_proc, to_trunk;
	size_t len = 0;
	const uint8_t *note = last_note(r, proc, RELAY_NOTE_RELAYS, &len);
	assert_non_null(note);
	assert_int_equal(relay_list_decode(note, len, &to_proc), 0);
	note = last_note(r, trunk, RELAY_NOTE_RELAYS, &len);
	assert_non_null(note);
	assert_int_equal(relay_list_decode(note, len, &to_trunk), 0);
	assert_int_equal(to_proc.relay[to_proc.self].weight, to_trunk.relay[to_trunk.self].weight);
	return to_proc.relay[to_proc.self].weight;
}

/* Under stripe a relay drains by halves, two round trips apart; meanwhile it is not called empty,
 * and another weight ends it.  Elsewhere it drains at once. */
static void
drains_by_halves(void **state)
{
	(void)state;
	static const uint32_t halves[] = {50, 25, 12, 6, 0, 0};
	for (int stripe = 0; stripe < 2; stripe++) {
		struct relay *r = new_relay(stripe ? RELAY_POLICY_STRIPE : RELAY_POLICY_DEST);
		add_job(r, spec_one);
		uint32_t p = connect_proc(r, &spec_one, 0, 0), t = connect_trunk(r, 1, 0);
		tick(r);
		assert_int_equal(weight_told(r, p, t), 100);
		assert_int_equal(relay_core_set_weight(r->c, 0, r->ep.now), 0);
		for (uint32_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
			uint32_t now = stripe ? halves[i] : 0;
			tick(r);
			assert_int_equal(weight_told(r, p, t), now);
			assert_int_equal(!relay_core_quiet_ns(r->c, r->ep.now + 1), now != 0);
			/* Asked again, it goes on. */
			assert_int_equal(relay_core_set_weight(r->c, 0, r->ep.now), 0);
			tick(r);
			assert_int_equal(weight_told(r, p, t), now);
			r->ep.now += BASE_S_NS;
		}
		assert_int_equal(relay_core_set_weight(r->c, 100, r->ep.now), 0);
		tick(r);
		assert_int_equal(relay_core_set_weight(r->c, 0, r->ep.now), 0);
		assert_int_equal(relay_core_set_weight(r->c, 70, r->ep.now), 0);
		r->ep.now += BASE_S_NS;
		tick(r);
		assert_int_equal(weight_told(r, p, t), 70);
		finish(r);
	}
}

/* What a process says of another relay: of two notes the later counts, whichever comes last; that
 * a relay it does not know is lost, or itself, says nothing. */
static void
lost_is_told_in_order(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t ipv4, number;
		uint16_t port;
		bool lost, want;
		uint32_t stale, bad;
	} cases[] = {
		{"down", 0x0a0000c9, 5, 7000, true, true, 0, 0},
		{"up again", 0x0a0000c9, 9, 7000, false, false, 0, 0},
		{"down, sent again meanwhile", 0x0a0000c9, 8, 7000, true, false, 1, 0},
		{"down once more", 0x0a0000c9, 10, 7000, true, true, 1, 0},
		{"another port", 0x0a0000c9, 11, 7001, false, true, 1, 1},
		{"nobody's address", 0x0a0000ee, 12, 7000, true, true, 1, 2},
		{"ourselves", 0x0a0000c8, 13, 7000, true, true, 1, 3},
		{"up", 0x0a0000c9, 14, 7000, false, false, 1, 3},
	};
	struct relay *r = new_relay(RELAY_POLICY_DEST);
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0), t = connect_trunk(r, 1, 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct relay_note n = {.type = RELAY_NOTE_LOST,
				       .label_base = BASE,
				       .ipv4 = cases[i].ipv4,
				       .port = cases[i].port,
				       .lost = cases[i].lost};
		uint8_t out[RELAY_NOTE_MAX];
		struct relay_list l;
		size_t len = 0;
		printf("%s\n", cases[i].name);
		tick(r); /* what the trunk has not been told yet */
		r->ep.note_number = cases[i].number;
		relay_ops()->note(r->c, p, out, relay_note_encode(&n, out), r->ep.now);
		r->ep.note_number = 0;
		tick(r);
		const uint8_t *note = last_note(r, t, RELAY_NOTE_RELAYS, &len);
		assert_non_null(note);
		assert_int_equal(relay_list_decode(note, len, &l), 0);
		assert_int_equal(l.relay[1].flags, cases[i].want ? RELAY_LIST_LOST : 0);
		assert_int_equal(relay_core_counters(r->c)->notes_stale, cases[i].stale);
		assert_int_equal(relay_core_counters(r->c)->notes_bad, cases[i].bad);
	}
	/* The path of its next life begins anew. */
	fake_down(&r->ep, p, SUCI_DOWN_SILENT, "");
	p = connect_proc(r, &spec_one, 0, 0);
	struct relay_note n = {.type = RELAY_NOTE_LOST,
			       .label_base = BASE,
			       .ipv4 = 0x0a0000c9,
			       .port = 7000,
			       .lost = true};
	uint8_t out[RELAY_NOTE_MAX];
	r->ep.note_number = 1;
	relay_ops()->note(r->c, p, out, relay_note_encode(&n, out), r->ep.now);
	r->ep.note_number = 0;
	assert_int_equal(relay_core_counters(r->c)->notes_stale, 1);
	finish(r);
}

/* Who leaves closes everything, tells no end, and lets nobody in again. */
static void
leaving_is_no_end(void **state)
{
	(void)state;
	struct relay *r = new_relay(RELAY_POLICY_DEST);
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0), t = connect_trunk(r, 1, 0);
	size_t len = 0;
	relay_core_leave(r->c, "gone fishing", r->ep.now);
	check(r);
	assert_false(r->ep.path[p].used);
	assert_false(r->ep.path[t].used);
	assert_null(last_note(r, t, RELAY_NOTE_ABORT, &len));
	assert_null(last_note(r, t, RELAY_NOTE_LEAVE, &len));
	assert_null(last_note(r, p, RELAY_NOTE_ABORT, &len));
	assert_int_equal(r->ended, 0);
	r->ep.now += 2 * PARTITION;
	tick(r);
	assert_int_equal(r->ended, 0);
	for (uint32_t i = 0; i < FAKE_PATHS; i++)
		assert_false(r->ep.path[i].used); /* nothing is tried again */
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	struct suci_addr from = maker_relay_addr(1, 0);
	relay_core_hello(r->c, hello);
	assert_int_equal(relay_ops()->accept(r->c, &from, hello, sizeof hello, why), -1);
	assert_int_equal(relay_core_counters(r->c)->accept_leaving, 1);
	relay_free(r);
}

/* A path to a process that was cut is opened again; a closed port is a death. */
static void
cut_is_no_death(void **state)
{
	(void)state;
	struct relay *r = new_relay(RELAY_POLICY_DEST);
	add_job(r, spec_one);
	uint32_t p = connect_proc(r, &spec_one, 0, 0);
	fake_down(&r->ep, p, SUCI_DOWN_RESET, "");
	check(r);
	assert_int_equal(r->ended, 0);
	r->ep.now += 2 * BASE_S_NS;
	tick(r);
	struct suci_addr a = maker_proc_addr(0);
	p = fake_find(&r->ep, &a);
	assert_int_not_equal(p, UINT32_MAX);
	fake_down(&r->ep, p, SUCI_DOWN_UNREACHABLE, "");
	p = connect_proc(r, &spec_one, 0, 0);
	fake_down(&r->ep, p, SUCI_DOWN_UNREACHABLE, "");
	assert_int_equal(r->ended, 1);
	finish(r);
}

/* A relay of two that gets a job late: who has gone before has told others, if anybody. */
static void
who_never_came_is_looked_for(void **state)
{
	(void)state;
	enum first { ABSENT, LEAVES, STAYS, COMES_LATE };
	static const struct {
		const char *name;
		enum first first; /* what rank 0 does; rank 1 is not there */
		bool survives;
		enum suci_down third; /* what opening to rank 2 ends with */
		bool left;
		uint64_t dead;
	} cases[] = {
		{"nobody is there", ABSENT, false, SUCI_DOWN_UNREACHABLE, true, 0},
		{"one may be", ABSENT, false, SUCI_DOWN_TIMEOUT, false, 0},
		{"one is", STAYS, false, SUCI_DOWN_UNREACHABLE, false, 0},
		{"one comes late", COMES_LATE, false, SUCI_DOWN_UNREACHABLE, false, 0},
		{"the others died", LEAVES, true, SUCI_DOWN_UNREACHABLE, true, 3},
		{"one of them may live", LEAVES, true, SUCI_DOWN_TIMEOUT, false, 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		struct relay_core_conf conf = relay_conf_of_two(RELAY_POLICY_DEST, 8, BASE_S_NS);
		struct relay *r = relay_new_conf(&conf);
		uint32_t first = UINT32_MAX;
		add_job(r, spec2);
		for (uint32_t t = 0; t <= 150; t++) {
			if (t == (cases[i].first == COMES_LATE ? 140 : 1) && cases[i].first)
				first = connect_proc(r, &spec2, 0, 0);
			if (t == 2 && cases[i].survives) {
				struct relay_note n = {.type = RELAY_NOTE_DEATH,
						       .label_base = BASE};
				uint8_t out[RELAY_NOTE_MAX];
				relay_ops()->note(r->c, first, out, relay_note_encode(&n, out),
						  r->ep.now);
			}
			if (t == 2 && cases[i].first == LEAVES) {
				fake_down(&r->ep, first, SUCI_DOWN_CLOSED, "");
				first = UINT32_MAX;
			}
			for (uint32_t p = 0; p < 3; p++) {
				struct suci_addr at = maker_proc_addr(p);
				uint32_t path = fake_find(&r->ep, &at);
				if (path != UINT32_MAX && path != first)
					fake_down(&r->ep, path,
						  p == 2 ? cases[i].third : SUCI_DOWN_UNREACHABLE,
						  "");
			}
			r->ep.now += 100 * BASE_MS_NS;
			relay_core_tick(r->c, r->ep.now);
			check(r);
			assert_false(t < 99 && r->left);
		}
		assert_int_equal(r->left, cases[i].left);
		assert_int_equal(relay_core_counters(r->c)->procs_dead, cases[i].dead);
		assert_int_equal(r->ended, 0);
		relay_free(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies_pick),     cmocka_unit_test(custody_goes_over_the_other),
		cmocka_unit_test(partition),	     cmocka_unit_test(relays_are_told),
		cmocka_unit_test(changes_are_told),  cmocka_unit_test(ranges_of_policies),
		cmocka_unit_test(drains_by_halves),  cmocka_unit_test(lost_is_told_in_order),
		cmocka_unit_test(leaving_is_no_end), cmocka_unit_test(custody_goes_to_the_process),
		cmocka_unit_test(cut_is_no_death),   cmocka_unit_test(who_never_came_is_looked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
