/* SPDX-License-Identifier: BSD-2-Clause */
/* Light paths: opened by both, taken before trunks by all jobs, drained, failed, and what becomes
 * of what they hold; notes of processes about light. */
#include "relay_core_kit.h"

#include "base/bytes.h"

#define BASE 0x01000040u
#define MS   BASE_MS_NS

struct light_relay {
	struct relay *r;
	uint32_t proc, trunk[2];
};

static struct light_relay
new_relay(enum relay_policy policy)
{
	struct relay_core_conf conf = relay_conf_of_two(policy, 3, 5 * BASE_S_NS);
	conf.nlights = 2;
	struct light_relay x = {.r = relay_new_conf(&conf)};
	add_job(x.r, spec_one);
	x.proc = connect_proc(x.r, &spec_one, 0, 0);
	x.trunk[0] = connect_trunk(x.r, 1, 0);
	x.trunk[1] = connect_trunk(x.r, 1, 1);
	return x;
}

static void
tick(struct relay *r, uint64_t ns)
{
	r->ep.now += ns;
	relay_core_tick(r->c, r->ep.now);
	check(r);
}

static void
finish(struct light_relay *x)
{
	for (uint32_t p = 0; p < FAKE_PATHS; p++)
		if (x->r->ep.path[p].used)
			fake_give_back(&x->r->ep, p, SUCI_FATE_ACKED);
	relay_free(x->r);
}

/* To relay m of client 1, from our slot. */
static struct relay_light
light_to(uint32_t slot, uint32_t m)
{
	struct relay_light l = {.peer = maker_relay_addr(1, m),
				.addr = relay_addr_v4(0x0a320010 + m, 7000, RELAY_LEG_GLOBAL)};
	l.addr.leg = (uint8_t)(RELAY_LEG_LIGHT + slot);
	return l;
}

static uint32_t
light_path(const struct relay *r, uint32_t slot)
{
	struct relay_light_info i;
	assert_true(relay_core_light_info(r->c, slot, &i));
	return i.path;
}

static enum base_lightpath
phase(const struct relay *r, uint32_t slot)
{
	struct relay_light_info i;
	assert_true(relay_core_light_info(r->c, slot, &i));
	return i.phase;
}

static void
told(const struct relay *r, uint32_t slot, uint32_t times, enum base_lightpath last)
{
	assert_int_equal(r->light[slot].told, times);
	if (times)
		assert_int_equal(r->light[slot].last, last);
}

static const struct relay_hello relay_hello = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};

static uint32_t
lit(struct relay *r, uint32_t slot, uint32_t m)
{
	struct relay_light l = light_to(slot, m);
	uint32_t was = r->light[slot].told;
	assert_int_equal(relay_core_light(r->c, slot, &l, r->ep.now), 0);
	uint32_t path = light_path(r, slot);
	assert_int_not_equal(path, UINT32_MAX);
	assert_int_equal(phase(r, slot), BASE_LIGHTPATH_OPENING);
	fake_accepted(&r->ep, path, &relay_hello);
	check(r);
	told(r, slot, was + 1, BASE_LIGHTPATH_OPEN);
	return path;
}

static uint32_t
send_to(struct light_relay *x, uint64_t cookie, uint32_t rank)
{
	struct suci_segment s = make_segment(x->r, cookie, BASE + rank, BASE, 0);
	return (uint32_t)feed(x->r, x->proc, &s);
}

/* What the process was told last. */
static void
process_knows(const struct light_relay *x, uint32_t clients)
{
	const struct fake_path *f = &x->r->ep.path[x->proc];
	struct relay_note n = {.type = 0};
	for (uint32_t i = f->nnotes; i-- > 0 && n.type != RELAY_NOTE_WAYS;)
		assert_int_equal(relay_note_decode(f->note[i], f->note_len[i], &n), 0);
	assert_int_equal(n.type, RELAY_NOTE_WAYS);
	assert_int_equal(n.ways, 3);
	assert_int_equal(n.lit, clients);
	assert_int_equal(n.resend, 0);
}

/* ---- opening ------------------------------------------------------------------- */

static void
bad_orders(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	struct relay_light l = light_to(0, 0), wrong = l;
	wrong.addr.leg = RELAY_LEG_LIGHT + 1;
	assert_int_equal(relay_core_light(x.r->c, 0, &wrong, 0), RELAY_ERR_INVAL);
	wrong = l;
	wrong.peer.leg = RELAY_LEG_PRIVATE;
	assert_int_equal(relay_core_light(x.r->c, 0, &wrong, 0), RELAY_ERR_INVAL);
	wrong = light_to(2, 0);
	assert_int_equal(relay_core_light(x.r->c, 2, &wrong, 0), RELAY_ERR_INVAL);
	assert_int_equal(relay_core_dark(x.r->c, 2, 0), RELAY_ERR_INVAL);
	struct relay_light_info info;
	assert_false(relay_core_light_info(x.r->c, 2, &info));
	/* The job has two of three trunk slots, the third goes to a relay it does not know; another
	 * such one finds none, until the first is dark. */
	l.peer = maker_relay_addr(2, 0);
	assert_int_equal(relay_core_light(x.r->c, 0, &l, x.r->ep.now), 0);
	check(x.r);
	struct relay_light o = light_to(1, 0);
	o.peer = maker_relay_addr(2, 1);
	assert_int_equal(relay_core_light(x.r->c, 1, &o, x.r->ep.now), RELAY_ERR_NOMEM);
	assert_int_equal(phase(x.r, 1), BASE_LIGHTPATH_DARK);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	told(x.r, 0, 1, BASE_LIGHTPATH_DRAINED);
	assert_int_equal(relay_core_light(x.r->c, 1, &o, x.r->ep.now), 0);
	check(x.r);
	finish(&x);
}

/* Processes hand what is for a cluster to the relay that has light to it. */
static void
processes_are_told(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	tick(x.r, MS);
	process_knows(&x, 0);
	lit(x.r, 0, 0);
	tick(x.r, MS);
	process_knows(&x, 2);
	lit(x.r, 1, 1);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	tick(x.r, MS);
	process_knows(&x, 2);
	assert_int_equal(relay_core_dark(x.r->c, 1, x.r->ep.now), 0);
	tick(x.r, MS);
	process_knows(&x, 0);
	finish(&x);
}

/* Said again after 0.5, 1 and then every 2 ms, by each opening anew. */
static void
says_it_again(void **state)
{
	static const uint32_t pauses[] = {1, 2, 4, 4, 4}; /* of half a ms */
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	struct relay_light l = light_to(0, 0);
	for (uint32_t round = 0; round < 2; round++) {
		uint32_t nudged = x.r->ep.nudged;
		assert_int_equal(relay_core_light(x.r->c, 0, &l, x.r->ep.now), 0);
		for (uint32_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
			tick(x.r, pauses[i] * MS / 2 - 1);
			assert_int_equal(x.r->ep.nudged, nudged + i);
			tick(x.r, 1);
			assert_int_equal(x.r->ep.nudged, nudged + i + 1);
		}
		assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	}
	finish(&x);
}

/* Refused, opened anew; not at all, failed. */
static void
comes_or_fails(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	struct relay_light l = light_to(0, 0);
	uint32_t opened = x.r->ep.opened;
	assert_int_equal(relay_core_light(x.r->c, 0, &l, x.r->ep.now), 0);
	assert_int_equal(x.r->ep.opened, opened + 1);
	tick(x.r, 2 * MS);
	tick(x.r, 2 * MS);
	assert_int_equal(x.r->ep.nudged, 2);
	/* They have not been told yet. */
	fake_down(&x.r->ep, light_path(x.r, 0), SUCI_DOWN_REFUSED,
		  "no light is to come from there");
	check(x.r);
	assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_OPENING);
	told(x.r, 0, 0, BASE_LIGHTPATH_OPEN);
	tick(x.r, 2 * MS);
	assert_int_equal(x.r->ep.opened, opened + 2);
	/* The same again is nothing new. */
	assert_int_equal(relay_core_light(x.r->c, 0, &l, x.r->ep.now), 0);
	assert_int_equal(x.r->ep.opened, opened + 2);
	tick(x.r, 300 * MS);
	told(x.r, 0, 1, BASE_LIGHTPATH_FAILED);
	assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_DARK);
	assert_int_equal(relay_core_counters(x.r->c)->lights_failed, 1);
	uint32_t path = lit(x.r, 0, 0);
	assert_int_equal(relay_core_light(x.r->c, 0, &l, x.r->ep.now), 0);
	told(x.r, 0, 3, BASE_LIGHTPATH_OPEN);
	assert_int_equal(light_path(x.r, 0), path);
	finish(&x);
}

/* Who comes in over light must be expected there. */
static void
comes_in(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	struct relay_light l = light_to(0, 0), other = light_to(0, 1);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	relay_hello_encode(&relay_hello, hello);
	assert_int_equal(fake_incoming(&x.r->ep, &l.addr, hello, sizeof hello, why), UINT32_MAX);
	assert_int_equal(relay_core_light(x.r->c, 0, &l, x.r->ep.now), 0);
	assert_int_equal(fake_incoming(&x.r->ep, &other.addr, hello, sizeof hello, why),
			 UINT32_MAX);
	struct suci_addr leg = l.addr;
	leg.leg++;
	assert_int_equal(fake_incoming(&x.r->ep, &leg, hello, sizeof hello, why), UINT32_MAX);
	leg.leg = RELAY_LEG_LIGHT + RELAY_LIGHTS_MAX;
	assert_int_equal(fake_incoming(&x.r->ep, &leg, hello, sizeof hello, why), UINT32_MAX);
	struct relay_hello proc = {
		.kind = RELAY_HELLO_PROCESS, .token = spec_one.token, .label = BASE + 1, .rank = 1};
	uint8_t bad[RELAY_HELLO_LEN];
	relay_hello_encode(&proc, bad);
	assert_int_equal(fake_incoming(&x.r->ep, &l.addr, bad, sizeof bad, why), UINT32_MAX);
	assert_int_equal(relay_core_counters(x.r->c)->accept_light, 5);
	assert_int_not_equal(fake_incoming(&x.r->ep, &l.addr, hello, sizeof hello, why),
			     UINT32_MAX);
	told(x.r, 0, 1, BASE_LIGHTPATH_OPEN);
	/* Refused once by us, so that our own path is gone: theirs does. */
	l = light_to(1, 1);
	assert_int_equal(relay_core_light(x.r->c, 1, &l, x.r->ep.now), 0);
	fake_down(&x.r->ep, light_path(x.r, 1), SUCI_DOWN_REFUSED, "");
	assert_int_not_equal(fake_incoming(&x.r->ep, &l.addr, hello, sizeof hello, why),
			     UINT32_MAX);
	told(x.r, 1, 1, BASE_LIGHTPATH_OPEN);
	check(x.r);
	finish(&x);
}

/* ---- carrying ------------------------------------------------------------------ */

static void
is_taken_first(void **state)
{
	(void)state;
	for (uint32_t policy = RELAY_POLICY_DEST; policy <= RELAY_POLICY_STRIPE; policy++) {
		struct light_relay x = new_relay((enum relay_policy)policy);
		/* To the relay that is not rank 1's own. */
		uint32_t p = lit(x.r, 0, 1);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(send_to(&x, i, 1 + i), SUCI_TAKEN);
		assert_int_equal(x.r->ep.path[p].nsent, 4);
		assert_int_equal(x.r->ep.path[p].sent[0].dst_label, spec_one.label_base[1] + 1);
		assert_int_equal(relay_core_counters(x.r->c)->tx_light, 4);
		/* A job that comes later, too. */
		struct job_spec later = spec_one;
		later.id = 8;
		later.label_base[0] = 0x01000080;
		later.label_base[1] = 0x020000c0;
		add_job(x.r, later);
		uint32_t q = connect_proc(x.r, &later, 0, 1);
		struct suci_segment s =
			make_segment(x.r, 9, later.label_base[0] + 2, later.label_base[0], 0);
		assert_int_equal(feed(x.r, q, &s), SUCI_TAKEN);
		assert_int_equal(x.r->ep.path[p].nsent, 5);
		assert_int_equal(x.r->ep.path[p].sent[4].dst_label, later.label_base[1] + 2);
		/* Full: who sends waits, whatever the trunks have. */
		while (x.r->ep.path[p].nsent < FAKE_SENT)
			x.r->ep.path[p].sent[x.r->ep.path[p].nsent++] = x.r->ep.path[p].sent[0];
		assert_int_equal(send_to(&x, 10, 1), SUCI_REFUSED);
		assert_int_equal(relay_core_counters(x.r->c)->refused_full, 1);
		assert_int_equal(relay_ops()->room(x.r->c, x.proc), 0);
		x.r->ep.path[p].nsent = 5;
		assert_int_equal(relay_ops()->room(x.r->c, x.proc), FAKE_SENT - 5);
		/* Dark: over trunks, and room is theirs. */
		assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
		assert_int_equal(send_to(&x, 10, 1), SUCI_TAKEN);
		assert_int_equal(x.r->ep.path[p].nsent, 5);
		finish(&x);
	}
}

/* Two circuits to one relay share; two relays lit: the destination's own. */
static void
several_lights(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	struct relay_light second = light_to(1, 0);
	second.addr.ip[15]++;
	assert_int_equal(relay_core_light(x.r->c, 1, &second, x.r->ep.now), 0);
	uint32_t q = light_path(x.r, 1);
	fake_accepted(&x.r->ep, q, &relay_hello);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(send_to(&x, i, 1), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[p].nsent, 4);
	assert_int_equal(x.r->ep.path[q].nsent, 4);
	/* Slot 1 to the other relay, at once: what it held goes over slot 0. */
	uint32_t path = lit(x.r, 1, 1);
	assert_int_equal(x.r->ep.path[q].used, path == q);
	tick(x.r, 0);
	assert_int_equal(x.r->ep.path[p].nsent + x.r->ep.path[path].nsent, 8);
	uint32_t before = x.r->ep.path[p].nsent;
	assert_int_equal(send_to(&x, 9, 1), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[p].nsent, before + 1); /* 1 and 2 are of relay 0 there */
	before = x.r->ep.path[path].nsent;
	assert_int_equal(send_to(&x, 10, 4), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[path].nsent, before + 1);
	finish(&x);
}

/* What comes over light is checked as what comes over the trunk of that relay. */
static void
source_is_checked(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	struct suci_segment s = make_segment(x.r, 1, BASE, BASE + 3, 0);
	assert_int_equal(feed(x.r, p, &s), SUCI_TAKEN);
	assert_int_equal(relay_core_counters(x.r->c)->rx_from_light, 1);
	s.src_label = BASE; /* ours */
	assert_int_equal(feed(x.r, p, &s), SUCI_DROPPED);
	/* A relay that no job knows. */
	struct relay_light l = light_to(1, 0);
	l.peer = maker_relay_addr(2, 0);
	assert_int_equal(relay_core_light(x.r->c, 1, &l, x.r->ep.now), 0);
	fake_accepted(&x.r->ep, light_path(x.r, 1), &relay_hello);
	s.src_label = BASE + 3;
	assert_int_equal(feed(x.r, light_path(x.r, 1), &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(x.r->c)->drop_source, 2);
	finish(&x);
}

/* The relay behind it drains, or its processes cannot reach it: a standby, as its trunk. */
static void
standby(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	struct relay_list l = {.label_base = BASE,
			       .token = spec_one.token,
			       .client = 1,
			       .own = RELAY_LIST_NONE,
			       .n = 1,
			       .relay = {{.ipv4 = 1, .port = 7000, .weight = 0}}};
	uint8_t buf[RELAY_LIST_MAX];
	relay_ops()->note(x.r->c, x.trunk[0], buf, relay_list_encode(&l, buf), x.r->ep.now);
	assert_int_equal(send_to(&x, 1, 1), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[p].nsent, 0);
	assert_int_equal(x.r->ep.path[x.trunk[1]].nsent, 1);
	fake_down(&x.r->ep, x.trunk[1], SUCI_DOWN_SILENT, "");
	tick(x.r, 0);
	assert_int_equal(x.r->ep.path[p].nsent, 1); /* there is no other */
	finish(&x);
}

/* Light alone is a way: without trunks the job goes on. */
static void
light_without_trunks(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	for (int i = 0; i < 2; i++)
		fake_down(&x.r->ep, x.trunk[i], SUCI_DOWN_SILENT, "");
	tick(x.r, 20 * BASE_S_NS);
	assert_int_equal(x.r->ended, 0);
	assert_int_equal(send_to(&x, 1, 1), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[p].nsent, 1);
	fake_down(&x.r->ep, p, SUCI_DOWN_SILENT, "");
	assert_int_equal(relay_core_held(x.r->c), 1);
	tick(x.r, 6 * BASE_S_NS);
	assert_int_equal(x.r->ended, 1);
	finish(&x);
}

/* Takes less than the trunks do: they get what does not fit. */
static void
too_big_for_light(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	x.r->ep.path[p].small = true;
	assert_int_equal(send_to(&x, 1, 1), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[p].nsent, 0);
	assert_int_equal(x.r->ep.path[x.trunk[0]].nsent, 1);
	assert_int_equal(x.r->ended, 0);
	finish(&x);
}

/* ---- going --------------------------------------------------------------------- */

static void
drains(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	for (uint32_t i = 0; i < 3; i++)
		send_to(&x, i, 1);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	told(x.r, 0, 1, BASE_LIGHTPATH_OPEN);
	assert_int_equal(x.r->ep.acked, 1); /* the peer's drain does not wait for our acks */
	assert_int_equal(send_to(&x, 5, 1), SUCI_TAKEN);
	assert_int_equal(x.r->ep.path[x.trunk[0]].nsent, 1);
	fake_give_back(&x.r->ep, p, SUCI_FATE_ACKED);
	told(x.r, 0, 2, BASE_LIGHTPATH_DRAINED);
	/* The peer is not through: what it sends is taken until it closes, or for a while. */
	assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_DRAINED);
	struct suci_segment s = make_segment(x.r, 7, BASE, BASE + 3, 0);
	assert_int_equal(feed(x.r, p, &s), SUCI_TAKEN);
	tick(x.r, 20 * MS);
	assert_true(x.r->ep.path[p].used);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	told(x.r, 0, 3, BASE_LIGHTPATH_DRAINED);
	tick(x.r, 40 * MS);
	assert_false(x.r->ep.path[p].used);
	assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_DARK);
	told(x.r, 0, 3, BASE_LIGHTPATH_DRAINED);
	/* Closed by the peer. */
	p = lit(x.r, 0, 0);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	told(x.r, 0, 5, BASE_LIGHTPATH_DRAINED);
	fake_down(&x.r->ep, p, SUCI_DOWN_CLOSED, "dark");
	assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_DARK);
	/* Lit again while the old path lingers. */
	p = lit(x.r, 0, 0);
	assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
	uint32_t closed = x.r->ep.closed;
	p = lit(x.r, 0, 1);
	assert_int_equal(x.r->ep.closed, closed + 1);
	assert_int_equal(relay_core_counters(x.r->c)->lights_drained, 3);
	assert_int_equal(relay_core_counters(x.r->c)->lights_cut, 0);
	/* Not up yet: dark at once. */
	struct relay_light l = light_to(1, 0);
	assert_int_equal(relay_core_light(x.r->c, 1, &l, x.r->ep.now), 0);
	assert_int_equal(relay_core_dark(x.r->c, 1, x.r->ep.now), 0);
	told(x.r, 1, 1, BASE_LIGHTPATH_DRAINED);
	assert_int_equal(phase(x.r, 1), BASE_LIGHTPATH_DARK);
	finish(&x);
}

/* What is not acknowledged in time goes over trunks, and the circuit is free. */
static void
drains_late(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	for (int how = 0; how < 2; how++) {
		uint32_t p = lit(x.r, 0, 0), was = x.r->light[0].told;
		for (uint32_t i = 0; i < 3; i++)
			send_to(&x, i, 1);
		assert_int_equal(relay_core_dark(x.r->c, 0, x.r->ep.now), 0);
		told(x.r, 0, was, BASE_LIGHTPATH_OPEN);
		if (how == 0)
			tick(x.r, 40 * MS);
		else /* the light goes out meanwhile */
			fake_down(&x.r->ep, p, SUCI_DOWN_SILENT, "");
		told(x.r, 0, was + 1, BASE_LIGHTPATH_DRAINED);
		assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_DARK);
		tick(x.r, 0);
		assert_int_equal(x.r->ep.path[x.trunk[0]].nsent, 3);
		assert_int_equal(relay_core_counters(x.r->c)->lights_cut, how + 1);
		fake_give_back(&x.r->ep, x.trunk[0], SUCI_FATE_ACKED);
	}
	finish(&x);
}

/* Unannounced: strays, nobody sends end to end again, no job ends. */
static void
dies(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	tick(x.r, 0);
	uint32_t p = lit(x.r, 0, 0);
	for (uint32_t i = 0; i < 5; i++)
		send_to(&x, i, 1);
	fake_down(&x.r->ep, p, SUCI_DOWN_SILENT, "");
	check(x.r);
	told(x.r, 0, 2, BASE_LIGHTPATH_FAILED);
	assert_int_equal(relay_core_held(x.r->c), 5);
	assert_int_equal(send_to(&x, 9, 1), SUCI_REFUSED); /* nothing overtakes them */
	tick(x.r, 0);
	assert_int_equal(x.r->ep.path[x.trunk[0]].nsent, 5);
	assert_int_equal(send_to(&x, 9, 1), SUCI_TAKEN);
	process_knows(&x, 0); /* of that, and nothing is to be sent again */
	assert_int_equal(x.r->ended, 0);
	/* Its trunk's slot is not kept for it. */
	assert_int_equal(relay_job_end(x.r->c, BASE, "", x.r->ep.now), 0);
	check(x.r);
	finish(&x);
}

/* Closed by the peer, which knows it no more: opened again, and nobody hears of that. */
static void
opened_again(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint32_t p = lit(x.r, 0, 0);
	send_to(&x, 1, 1);
	fake_down(&x.r->ep, p, SUCI_DOWN_STALE, "its opener has given up that open");
	check(x.r);
	tick(x.r, 0);
	assert_int_equal(x.r->ep.path[x.trunk[0]].nsent, 1);
	assert_int_equal(phase(x.r, 0), BASE_LIGHTPATH_OPENING);
	p = light_path(x.r, 0);
	assert_int_not_equal(p, UINT32_MAX);
	fake_accepted(&x.r->ep, p, &relay_hello);
	told(x.r, 0, 1, BASE_LIGHTPATH_OPEN);
	send_to(&x, 2, 1);
	assert_int_equal(x.r->ep.path[p].nsent, 1);
	fake_give_back(&x.r->ep, p, SUCI_FATE_ACKED);
	/* And not a second time: it has failed. */
	fake_down(&x.r->ep, p, SUCI_DOWN_RESET, "");
	tick(x.r, 0);
	tick(x.r, 300 * MS);
	told(x.r, 0, 2, BASE_LIGHTPATH_FAILED);
	finish(&x);
}

/* ---- notes --------------------------------------------------------------------- */

static void
notes(void **state)
{
	(void)state;
	struct light_relay x = new_relay(RELAY_POLICY_DEST);
	uint8_t note[RELAY_NOTE_LIGHT_MAX] = {RELAY_NOTE_LIGHT};
	assert_int_equal(x.r->procs_up, 1);
	assert_int_equal(x.r->proc_up, 0);
	/* Up: from a process of that job only, as it is. */
	be32_store(note + 1, BASE);
	memset(note + 5, 0x77, sizeof note - 5);
	relay_ops()->note(x.r->c, x.proc, note, sizeof note, x.r->ep.now);
	assert_int_equal(x.r->notes, 1);
	assert_int_equal(x.r->note_base, BASE);
	assert_int_equal(x.r->note_rank, 0);
	assert_int_equal(x.r->note_len, sizeof note);
	assert_memory_equal(x.r->note, note, sizeof note);
	relay_ops()->note(x.r->c, x.trunk[0], note, sizeof note, x.r->ep.now);
	be32_store(note + 1, BASE + 64);
	relay_ops()->note(x.r->c, x.proc, note, sizeof note, x.r->ep.now);
	relay_ops()->note(x.r->c, x.proc, note, 4, x.r->ep.now);
	assert_int_equal(x.r->notes, 1);
	assert_int_equal(relay_core_counters(x.r->c)->notes_bad, 3);
	/* Down, with its label base put in. */
	struct fake_path *f = &x.r->ep.path[x.proc];
	uint32_t n = f->nnotes;
	uint8_t down[] = {RELAY_NOTE_LIGHT, 0, 0, 0, 0, 5, 1};
	struct relay_core *c = x.r->c;
	uint64_t now = x.r->ep.now;
	assert_int_equal(relay_core_note(c, BASE, 0, down, sizeof down, now), 0);
	assert_int_equal(relay_core_note(c, BASE, RELAY_RANK_NONE, down, sizeof down, now), 0);
	assert_int_equal(f->nnotes, n + 2);
	assert_int_equal(be32_load(f->note[n] + 1), MAKER_PROC_BASE);
	assert_int_equal(f->note[n][5], 5);
	assert_int_equal(relay_core_note(c, BASE, 1, down, sizeof down, now), RELAY_ERR_NOTFOUND);
	assert_int_equal(relay_core_note(c, BASE + 64, 0, down, sizeof down, now),
			 RELAY_ERR_NOTFOUND);
	assert_int_equal(relay_core_note(c, BASE, 0, down, 4, now), RELAY_ERR_INVAL);
	assert_int_equal(relay_core_note(c, BASE, 0, note, RELAY_NOTE_LIGHT_MAX + 1, now),
			 RELAY_ERR_INVAL);
	down[0] = RELAY_NOTE_ABORT;
	assert_int_equal(relay_core_note(c, BASE, 0, down, sizeof down, now), RELAY_ERR_INVAL);
	down[0] = RELAY_NOTE_LIGHT;
	f->nnotes = FAKE_NOTES;
	assert_int_equal(relay_core_note(c, BASE, 0, down, sizeof down, now), RELAY_ERR_NOMEM);
	fake_down(&x.r->ep, x.proc, SUCI_DOWN_SILENT, "");
	assert_int_equal(relay_core_note(c, BASE, 0, down, sizeof down, now), RELAY_ERR_NOMEM);
	assert_int_equal(relay_core_note(c, BASE, RELAY_RANK_NONE, down, sizeof down, now), 0);
	finish(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_orders),	     cmocka_unit_test(processes_are_told),
		cmocka_unit_test(says_it_again),     cmocka_unit_test(comes_or_fails),
		cmocka_unit_test(comes_in),	     cmocka_unit_test(is_taken_first),
		cmocka_unit_test(several_lights),    cmocka_unit_test(source_is_checked),
		cmocka_unit_test(standby),	     cmocka_unit_test(light_without_trunks),
		cmocka_unit_test(too_big_for_light), cmocka_unit_test(drains),
		cmocka_unit_test(drains_late),	     cmocka_unit_test(dies),
		cmocka_unit_test(opened_again),	     cmocka_unit_test(notes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
