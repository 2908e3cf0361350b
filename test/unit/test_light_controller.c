/* SPDX-License-Identifier: BSD-2-Clause */
/* The controller over a switch without faults, five relays of two ports each, and an agent. */
#include "cmocka_all.h"

#include "light_controller_kit.h"

/* ---- */

static void
go_is_said_when_both_ends_are_up(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	assert_int_equal(k.offers, AGENTS);
	k.ends_answer = false;
	call(&k, 0, KEY, 1, CIRC_MODE_PIPELINED, 1000);
	turns(&k, 5);
	assert_int_equal(k.ups, 4); /* two links, two ends */
	assert_int_equal(k.go[0][1] + k.go[0][2] + k.any, 0);
	k.ends_answer = true;
	turns(&k, 1);
	assert_int_equal(k.go[0][1], 1);
	assert_int_equal(k.go[0][2], 1);
	assert_int_equal(counters(&k)->by_light, 2);
	assert_int_equal(counters(&k)->misses, 2);
	over(&k, KEY, 1, 0, 1);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 5);
	assert_int_equal(k.downs, 4); /* pipelined keeps nothing */
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		assert_int_equal(k.easy.out_of[p], OCS_NO_PORT);
	assert_int_equal(k.any, 0);
	finish(&k);
}

/* One port at each relay: the second message's circuit comes when the first one is over and its
 * link let go of. */
static void
ports_move_on(void **state)
{
	struct kit k;
	(void)state;
	begin_with(&k, 1, 10);
	call(&k, 1, KEY, 1, CIRC_MODE_PIPELINED, 1000);
	turns(&k, 5);
	assert_int_equal(k.go[0][1] + k.go[0][2], 1);
	uint32_t first = k.go[0][1] ? 1 : 2;
	assert_int_equal(k.easy.out_of[0], first * 2);
	k.ends_answer = false;
	over(&k, KEY, 1, 0, first);
	turns(&k, 5);
	assert_int_equal(k.downs, 2);
	assert_int_equal(k.easy.out_of[0], first * 2); /* not drained yet */
	k.ends_answer = true;
	turns(&k, 5);
	assert_int_equal(k.go[0][3 - first], 1);
	assert_int_equal(k.easy.out_of[0], (3 - first) * 2);
	finish(&k);
}

/* Whose ends never say UP is done without. */
static void
failed_links_go_by_packets(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	k.ends_answer = false;
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 400);
	assert_int_equal(k.go[0][1], 1);
	assert_int_equal(k.go[0][2], 1);
	assert_int_equal(counters(&k)->by_packets, 2);
	assert_int_equal(counters(&k)->by_light, 0);
	assert_int_equal(counters(&k)->links_failed, 2);
	finish(&k);
}

/* What the switch calls lit and no relay finds is given up; the second time in a row its ports are
 * left alone, and calls do not wait for them.  Relays that say nothing make no port dark. */
static void
blind_ports_are_left_alone(void **state)
{
	struct kit k;
	(void)state;
	for (int present = 0; present < 2; present++) {
		begin(&k);
		k.ends_answer = present;
		k.ends_miss = true;
		for (uint32_t seq = 1; seq <= 3; seq++) {
			uint64_t from_ns = k.now_ns;
			memset(k.go, 0, sizeof k.go);
			call(&k, 0, KEY, seq, CIRC_MODE_CACHED, 1000);
			while (!k.go[0][1] && !k.any && k.now_ns < from_ns + 2 * BASE_S_NS)
				turns(&k, 0);
			uint64_t waited = (k.now_ns - from_ns) / MS;
			if (seq == 3 && present)
				assert_in_range(waited, 0, 20);
			else
				assert_in_range(waited, 200, 500);
			over(&k, KEY, seq, 0, 1);
			over(&k, KEY, seq, 0, 2);
			turns(&k, 150);
			for (uint32_t p = 0; p < EASY_PORTS; p++)
				assert_int_equal(k.easy.out_of[p], OCS_NO_PORT);
		}
		assert_int_equal(counters(&k)->links_failed, present ? 4 : 6);
		/* The fibre is mended, and the pause over. */
		k.ends_answer = true;
		k.ends_miss = false;
		turns(&k, 2000);
		uint64_t before = counters(&k)->by_light;
		call(&k, 0, KEY, 4, CIRC_MODE_CACHED, 1000);
		turns(&k, 5);
		assert_int_equal(counters(&k)->by_light, before + 2);
		finish(&k);
	}
}

static void
cached_hits(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	for (uint32_t seq = 1; seq <= 3; seq++) {
		call(&k, 0, KEY, seq, CIRC_MODE_CACHED, 1000);
		turns(&k, 5);
		over(&k, KEY, seq, 0, 1);
		over(&k, KEY, seq, 0, 2);
		turns(&k, 1);
	}
	assert_int_equal(counters(&k)->calls, 3);
	assert_int_equal(counters(&k)->misses, 2);
	assert_int_equal(counters(&k)->hits, 4);
	assert_int_equal(k.downs, 0);
	/* The job ends: all of it is given back. */
	for (uint32_t i = 0; i < AGENTS; i++)
		heard(&k, i, (struct light_frame){.type = LIGHT_FRAME_JOB_END, .key = KEY});
	turns(&k, 5);
	assert_int_equal(light_controller_busy(k.c), 0);
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		assert_int_equal(k.easy.out_of[p], OCS_NO_PORT);
	finish(&k);
}

/* Two broadcasts to four others over two ports; what of the second may go at once. */
static void
twice(struct kit *k, uint8_t flags)
{
	struct light_note n = {.kind = LIGHT_NOTE_COMM,
			       .u.piece = {.comm = 1, .p = 5, .n = 5, .rank = {0, 1, 2, 3, 4}}};
	begin(k);
	note(k, 0, KEY, &(struct light_note){.kind = LIGHT_NOTE_FREE, .comm = 1});
	note(k, 0, KEY, &n);
	call(k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	for (uint32_t to = 1; to < 5; to++) {
		turns(k, 50);
		assert_int_equal(k->go[0][to], 1);
		over(k, KEY, 1, 0, to);
	}
	turns(k, 50);
	assert_int_equal(counters(k)->misses, 4);
	memset(k->go, 0, sizeof k->go);
	announce(k, 0, KEY, 2, CIRC_MODE_CACHED, 1000, flags);
	turns(k, 50);
	assert_int_equal(k->chosen, CIRC_MODE_CACHED);
}

/* The other way round it begins with what is lit. */
static void
cached_meets_what_is_lit(void **state)
{
	struct kit k;
	(void)state;
	twice(&k, LIGHT_CALL_REVERSED);
	assert_int_equal(k.go[0][4] + k.go[0][3], 2);
	assert_int_equal(k.go[0][2] + k.go[0][1], 0);
	assert_int_equal(counters(&k)->hits, 2);
	assert_int_equal(counters(&k)->misses, 6);
	finish(&k);
}

/* In the same order the lit ones come last; to keep one would leave one port for all others, which
 * then wait for each other. */
static void
cached_gives_up_what_costs(void **state)
{
	struct kit k;
	(void)state;
	twice(&k, 0);
	assert_int_equal(k.go[0][1] + k.go[0][2], 2);
	assert_int_equal(k.go[0][3] + k.go[0][4], 0);
	assert_int_equal(counters(&k)->misses, 8);
	finish(&k);
}

/* Whatever is not planned is let go, with a reason. */
static void
the_rest_goes_by_packets(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1ull << 50);
	turns(&k, 0);
	assert_int_equal(k.any, AGENTS);
	assert_string_equal(k.text, "it is too large");
	call(&k, 1, KEY, 1, CIRC_MODE_CACHED, 1000); /* the same call, later: to who asks */
	assert_int_equal(k.any, AGENTS + 1);
	k.any = 0;
	call(&k, 0, KEY, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 600); /* nobody says RECEIVED */
	assert_int_equal(k.any, AGENTS);
	assert_string_equal(k.text, "nothing has happened for long");
	k.any = 0;
	call(&k, 0, KEY, 3, CIRC_MODE_CACHED, 1000);
	turns(&k, 2);
	light_controller_gone(k.c, 2, k.now_ns);
	assert_int_equal(k.any, AGENTS - 1);
	turns(&k, 60);
	k.any = 0;
	struct light_note n = {.kind = LIGHT_NOTE_CALL,
			       .u.call = {.comm = 9, .seq = 1, .op = COLL_BCAST, .elem = 1}};
	note(&k, 0, KEY, &n);
	turns(&k, 50);
	assert_int_equal(k.any, 0);
	turns(&k, 60);
	assert_string_equal(k.text, "its communicator is not known");
	assert_true(k.any > 0);
	finish(&k);
}

/* Not known here, another version, a place in a list: by packets at once, and it says why. */
static void
strange_algorithms(void **state)
{
	const struct coll_algorithm *linear = coll_algorithm_of(COLL_BCAST, "linear"),
				    *ring = coll_algorithm_of(COLL_ALLREDUCE, "ring");
	const char *unknown = "its algorithm is not known here; fix: update this relay";
	const struct {
		uint8_t kind, version;
		uint16_t id;
		const char *text;
	} cases[] = {
		{LIGHT_NOTE_CALL, 1, 60000, unknown},
		{LIGHT_NOTE_CALL, 1, ring->id, unknown},
		{LIGHT_NOTE_CALL, (uint8_t)(linear->version + 1), linear->id,
		 "its algorithm has another version here; fix: one release of relayd and libmpi"},
		{LIGHT_NOTE_CALL_BY_INDEX, 0, 0, LIGHT_TEXT_BY_INDEX},
	};
	struct kit k;
	(void)state;
	begin(&k);
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct light_note n = {.kind = cases[i].kind,
				       .u.call = {.comm = 1,
						  .seq = i + 1,
						  .op = COLL_BCAST,
						  .algorithm = cases[i].id,
						  .algorithm_version = cases[i].version,
						  .mode = CIRC_MODE_CACHED,
						  .bytes = 1000,
						  .elem = 1}};
		note(&k, 0, KEY, &n);
		turns(&k, 0);
		assert_string_equal(k.text, cases[i].text);
		assert_true(k.any > i);
	}
	finish(&k);
}

/* What will come is lit beforehand, waits for as long as it takes, and makes room for what is
 * there. */
static void
forecasts(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	announce(&k, 0, KEY, 7, CIRC_MODE_CACHED, 1000, LIGHT_CALL_FORECAST);
	turns(&k, 3000);
	assert_int_equal(k.go[0][1] + k.go[0][2], 2);
	assert_int_equal(counters(&k)->misses, 2);
	assert_int_equal(k.any, 0);
	call(&k, 0, KEY, 2, CIRC_MODE_CACHED, 1000); /* another one */
	turns(&k, 2);
	over(&k, KEY, 2, 0, 1);
	over(&k, KEY, 2, 0, 2);
	turns(&k, 2);
	call(&k, 0, KEY, 7, CIRC_MODE_CACHED, 1000);
	turns(&k, 2);
	over(&k, KEY, 7, 0, 1);
	over(&k, KEY, 7, 0, 2);
	turns(&k, 2);
	assert_int_equal(k.any, 0);
	assert_int_equal(counters(&k)->calls_by_packets, 0);
	assert_int_equal(counters(&k)->misses, 2); /* lit once, for all three */
	announce(&k, 0, KEY, 7, CIRC_MODE_CACHED, 1000, LIGHT_CALL_FORECAST); /* too late */
	turns(&k, 2);
	assert_int_equal(counters(&k)->calls, 3);
	finish(&k);
}

static void
auto_reckons_with_gamma(void **state)
{
	static const struct {
		const char *name;
		uint64_t bytes, gamma_ms;
		bool light;
	} cases[] = {
		{"short: packets", 1000, 10, false},
		{"long: light", 16 << 20, 10, true},
		{"long, and a switch that takes ten seconds: packets", 16 << 20, 10000, false},
		{"short, and a switch that takes nothing: light", 1000, 0, true},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct kit k;
		print_message("%s\n", cases[i].name);
		begin_with(&k, 2, cases[i].gamma_ms);
		call(&k, 0, KEY, 1, CIRC_MODE_AUTO, cases[i].bytes);
		turns(&k, 2);
		assert_int_equal(counters(&k)->calls, 1);
		assert_int_equal(k.setups > 0, cases[i].light);
		assert_int_equal(k.go[0][1], 1);
		assert_int_equal(counters(&k)->by_light, cases[i].light ? 2 : 0);
		finish(&k);
	}
}

/* The second job gets the ports when the first has had its time. */
static void
jobs_take_turns(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	for (uint32_t i = 0; i < AGENTS; i++)
		job(&k, i, KEY + 1);
	comm(&k, KEY + 1);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 3);
	call(&k, 0, KEY + 1, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 1);
	assert_int_equal(counters(&k)->calls, 1);
	assert_int_equal(k.any, AGENTS);
	assert_string_equal(k.text, "the ports are not ours now");
	over(&k, KEY, 1, 0, 1);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 250);
	call(&k, 0, KEY + 1, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 3);
	assert_int_equal(counters(&k)->calls, 2);
	finish(&k);
}

/* Two ranks in each of two clusters: the schedule goes by places, and is planned all the same. */
static void
ranks_share_places(void **state)
{
	static const uint8_t clients[4] = {0, 0, 1, 1};
	struct kit k;
	uint8_t bytes[LIGHT_NOTE_MAX];
	struct light_note n = {.kind = LIGHT_NOTE_COMM,
			       .u.piece = {.comm = 2, .p = 4, .n = 4, .rank = {0, 1, 2, 3}}};
	(void)state;
	begin(&k);
	heard(&k, 0,
	      (struct light_frame){.type = LIGHT_FRAME_NOTE,
				   .key = KEY,
				   .note = bytes,
				   .note_len = (uint16_t)light_note_encode(&n, bytes),
				   .clients = clients,
				   .nclients = 4});
	n = (struct light_note){
		.kind = LIGHT_NOTE_CALL,
		.u.call = {.comm = 2,
			   .seq = 1,
			   .op = COLL_ALLREDUCE,
			   .algorithm = coll_algorithm_of(COLL_ALLREDUCE, "places")->id,
			   .algorithm_version = 1,
			   .mode = CIRC_MODE_PIPELINED,
			   .bytes = 1000,
			   .elem = 1}};
	note(&k, 0, KEY, &n);
	turns(&k, 5);
	assert_int_equal(counters(&k)->calls, 1);
	assert_int_equal(counters(&k)->calls_by_packets, 0);
	finish(&k);
}

/* A relay of a port that the switch has not got has no light, is told so, and may stay. */
static void
a_port_beyond_the_switch(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	uint32_t offers = k.offers;
	light_controller_gone(k.c, 2, k.now_ns);
	heard(&k, 2,
	      (struct light_frame){.type = LIGHT_FRAME_HELLO,
				   .hello = {.relay = {3, 7812},
					     .n = 2,
					     .port = {{4, {1, 1}}, {EASY_PORTS, {1, 1}}}}});
	assert_string_equal(k.agent_text, LIGHT_TEXT_BEYOND);
	job(&k, 2, KEY);
	turns(&k, 5);
	assert_int_equal(k.offers, offers);
	assert_null(light_controller_check(k.c));
	finish(&k);
}

static void
nonsense_is_hung_up_on(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	struct light_frame stolen = {.type = LIGHT_FRAME_HELLO,
				     .hello = {.relay = {9, 9}, .n = 1, .port = {{0, {1, 1}}}}};
	light_controller_gone(k.c, 2, k.now_ns);
	assert_false(light_controller_heard(k.c, 2, &stolen, k.now_ns)); /* relay 1's port */
	stolen.hello.n = 2; /* both its ports at one of the switch */
	stolen.hello.port[0].switch_port = stolen.hello.port[1].switch_port = 4;
	assert_false(light_controller_heard(k.c, 2, &stolen, k.now_ns));
	struct light_frame early = {.type = LIGHT_FRAME_JOB, .key = 1};
	assert_false(light_controller_heard(k.c, 2, &early, k.now_ns));
	struct light_frame down = {.type = LIGHT_FRAME_LINK_DOWN};
	assert_false(light_controller_heard(k.c, 0, &down, k.now_ns));
	finish(&k);
}

/* Two relays of one cluster, a port each: a broadcast from there has light twice at once, while
 * both are there.  What is lit by the second one is told to it, and CLEAR_TO_SEND to both. */
static void
relays_of_a_cluster(void **state)
{
	struct kit k;
	(void)state;
	for (uint32_t seq = 1; seq <= 3; seq++) {
		if (seq == 1) {
			begin_with(&k, 1, 10);
			heard(&k, 3, (struct light_frame){.type = LIGHT_FRAME_JOB, .key = KEY});
		} else if (seq == 2) {
			light_controller_gone(k.c, 0, k.now_ns);
		} else { /* it comes back */
			struct light_frame f = {
				.type = LIGHT_FRAME_HELLO,
				.hello = {.relay = {1, 7812}, .n = 1, .port = {{0, {100, 7812}}}}};
			heard(&k, 0, f);
			heard(&k, 0, (struct light_frame){.type = LIGHT_FRAME_JOB, .key = KEY});
		}
		turns(&k, 100);
		memset(k.go, 0, sizeof k.go);
		k.notes = 0;
		call(&k, 3, KEY, seq, CIRC_MODE_PIPELINED, 1000);
		turns(&k, 5);
		uint32_t relays = seq == 2 ? 1 : 2;
		assert_int_equal(k.go[0][1] + k.go[0][2], relays);
		assert_int_equal(k.notes, relays); /* each has it */
		assert_int_equal(k.easy.out_of[0] != OCS_NO_PORT, seq != 2);
		assert_int_not_equal(k.easy.out_of[6], OCS_NO_PORT);
		over(&k, KEY, seq, 0, 1);
		turns(&k, 5);
		over(&k, KEY, seq, 0, 2);
		turns(&k, 5);
		assert_int_equal(k.any, 0);
		assert_int_equal(counters(&k)->by_light, 2 * seq);
	}
	finish(&k);
}

/* A node of a plan is in one group of wavelengths: a second relay in another one has no part. */
static void
relays_in_two_groups(void **state)
{
	static const uint32_t waves[] = {8, 8};
	uint32_t group_of[EASY_PORTS] = {0};
	struct kit k;
	(void)state;
	for (uint32_t apart = 0; apart < 2; apart++) {
		group_of[6] = group_of[7] = apart;
		begin_under(&k, 1, 10,
			    &(struct kit_limits){.groups = 2, .group_of = group_of, .waves = waves},
			    AGENTS);
		heard(&k, 3, (struct light_frame){.type = LIGHT_FRAME_JOB, .key = KEY});
		turns(&k, 100);
		call(&k, 0, KEY, 1, CIRC_MODE_PIPELINED, 1000);
		turns(&k, 5);
		assert_int_equal(k.go[0][1] + k.go[0][2], apart ? 1 : 2);
		assert_int_equal(k.easy.out_of[6] == OCS_NO_PORT, apart);
		assert_int_equal(k.agent_text != NULL, apart);
		finish(&k);
	}
}

/* ---- the agent */

struct end {
	struct light_agent *a;
	struct light_frame last;
	uint32_t frames, notes, lights, darks;
	struct light_note note;
	uint32_t rank;
};

static bool
agent_send(void *user, const struct light_frame *f)
{
	struct end *e = user;
	e->last = *f;
	e->frames++;
	return true;
}

static void
agent_note(void *user, uint32_t label_base, uint32_t rank, const uint8_t *bytes, size_t len)
{
	struct end *e = user;
	assert_int_equal(label_base, 64);
	assert_int_equal(light_note_decode(bytes, len, &e->note), 0);
	e->rank = rank;
	e->notes++;
}

static void
agent_light(void *user, uint32_t slot, struct light_addr relay, struct light_addr light)
{
	struct end *e = user;
	assert_int_equal(slot, 1);
	assert_int_equal(relay.ipv4 + light.ipv4, 7);
	e->lights++;
}

static void
agent_dark(void *user, uint32_t slot)
{
	assert_int_equal(slot, 1);
	((struct end *)user)->darks++;
}

static uint32_t
client_of(void *user, uint32_t label_base, uint32_t rank)
{
	(void)user;
	(void)label_base;
	return rank < 2 ? rank : LIGHT_CLIENTS;
}

static void
agent_refused(void *user, uint32_t label_base, uint32_t rank, const char *why)
{
	(void)user;
	assert_int_equal(label_base, 64);
	assert_int_equal(rank, 1);
	assert_string_equal(why, LIGHT_TEXT_BY_INDEX);
}

static void
an_agent(void **state)
{
	static const struct light_agent_ops agent_ops = {agent_send, agent_note, agent_light,
							 agent_dark, client_of,	 agent_refused};
	struct end e = {0};
	struct light_agent_config cfg = {
		.hello = {.relay = {1, 1}, .n = 2}, .jobs = 1, .ops = &agent_ops, .user = &e};
	(void)state;
	e.a = light_agent_new(malloc(light_agent_footprint(&cfg)), &cfg);
	light_agent_job(e.a, 5, 64, 1);
	assert_int_equal(e.frames, 0); /* nobody to tell */
	light_agent_connected(e.a);
	assert_int_equal(e.frames, 2); /* HELLO, JOB */
	assert_int_equal(e.last.type, LIGHT_FRAME_JOB);
	light_agent_proc(e.a, 64, 0);
	assert_int_equal(e.notes, 0); /* no light yet */
	struct light_frame f = {.type = LIGHT_FRAME_OFFER, .offer = {.on = true, .ports = 2}};
	assert_true(light_agent_heard(e.a, &f));
	assert_int_equal(e.notes, 1);
	assert_int_equal(e.rank, LIGHT_ANY);
	light_agent_proc(e.a, 64, 3);
	assert_int_equal(e.rank, 3);
	assert_true(e.note.u.offer.on);

	uint8_t bytes[LIGHT_NOTE_MAX];
	struct light_note n = {.kind = LIGHT_NOTE_COMM,
			       .u.piece = {.p = 2, .n = 2, .rank = {0, 1}}};
	light_agent_note(e.a, 64, 0, bytes, light_note_encode(&n, bytes));
	assert_int_equal(e.last.nclients, 2);
	n.u.piece.rank[1] = 2; /* of no client */
	light_agent_note(e.a, 64, 0, bytes, light_note_encode(&n, bytes));
	assert_int_equal(light_agent_counters(e.a)->bad_notes, 1);

	/* One that names its algorithm by a place in a list hears at once that it may go. */
	uint32_t frames = e.frames, notes = e.notes;
	n = (struct light_note){.kind = LIGHT_NOTE_CALL_BY_INDEX,
				.u.call = {.comm = 1, .leader = 2, .seq = 3}};
	light_agent_note(e.a, 64, 1, bytes, light_note_encode(&n, bytes));
	assert_int_equal(e.frames, frames);
	assert_int_equal(e.notes, notes + 1);
	assert_int_equal(e.note.kind, LIGHT_NOTE_CLEAR_TO_SEND);
	assert_int_equal(e.note.u.count[0].seq, 3);
	assert_int_equal(e.note.u.count[0].from, LIGHT_ANY);
	assert_int_equal(light_agent_counters(e.a)->calls_refused, 1);

	f = (struct light_frame){
		.type = LIGHT_FRAME_LINK_UP, .link = 8, .slot = 1, .peer = {3, 1}, .light = {4, 1}};
	assert_true(light_agent_heard(e.a, &f));
	light_agent_state(e.a, 1, BASE_LIGHTPATH_DRAINED); /* of an earlier one */
	assert_int_not_equal(e.last.type, LIGHT_FRAME_LINK);
	light_agent_state(e.a, 1, BASE_LIGHTPATH_OPEN);
	assert_int_equal(e.last.state, BASE_LIGHTPATH_OPEN);
	assert_int_equal(e.last.link, 8);
	f = (struct light_frame){.type = LIGHT_FRAME_LINK_DOWN, .link = 7, .slot = 1};
	assert_true(light_agent_heard(e.a, &f)); /* it has gone long ago */
	assert_int_equal(e.last.state, BASE_LIGHTPATH_DRAINED);
	assert_int_equal(e.darks, 0);
	light_agent_lost(e.a);
	assert_int_equal(e.darks, 1);
	assert_false(e.note.u.offer.on);
	f.slot = 2;
	assert_false(light_agent_heard(e.a, &f));
	free(e.a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_is_said_when_both_ends_are_up),
		cmocka_unit_test(ports_move_on),
		cmocka_unit_test(failed_links_go_by_packets),
		cmocka_unit_test(blind_ports_are_left_alone),
		cmocka_unit_test(cached_hits),
		cmocka_unit_test(cached_meets_what_is_lit),
		cmocka_unit_test(cached_gives_up_what_costs),
		cmocka_unit_test(the_rest_goes_by_packets),
		cmocka_unit_test(strange_algorithms),
		cmocka_unit_test(forecasts),
		cmocka_unit_test(auto_reckons_with_gamma),
		cmocka_unit_test(jobs_take_turns),
		cmocka_unit_test(ranks_share_places),
		cmocka_unit_test(a_port_beyond_the_switch),
		cmocka_unit_test(nonsense_is_hung_up_on),
		cmocka_unit_test(relays_of_a_cluster),
		cmocka_unit_test(relays_in_two_groups),
		cmocka_unit_test(an_agent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
