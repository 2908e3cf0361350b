/* SPDX-License-Identifier: BSD-2-Clause */
/* light_controller_kit.h - a controller over a switch without faults, for tests: five relays of two
 * ports, a job over them, a linear broadcast in it. */
#ifndef LIGHT_CONTROLLER_KIT_H
#define LIGHT_CONTROLLER_KIT_H

#include "light/agent.h"
#include "light/controller.h"

#include "../easy_switch.h"
#include "coll/schedule.h"

#include <stdlib.h>

#define AGENTS 5
#define RANKS  5 /* of the largest communicator here */
#define KEY    0x77
#define MS     BASE_MS_NS

struct kit {
	struct easy easy;
	struct ocs_control *control;
	struct light_controller *c;
	uint64_t now_ns;
	bool ends_answer;
	bool ends_miss;		   /* the relays do not find each other, but say that they let go */
	uint32_t go[RANKS][RANKS]; /* from, to */
	uint32_t any;		   /* CLEAR_TO_SEND for all, how often said */
	uint32_t ups, downs, notes;
	uint32_t said[64][3], nsaid; /* link, slot, agent and 256 if it is down */
	uint32_t offers;
	enum circ_mode chosen;
	uint32_t setups;
	const char *text, *agent_text;
};

static inline bool
send_to(void *user, uint32_t agent, const struct light_frame *f)
{
	struct kit *k = user;
	struct light_note n;
	if (f->type == LIGHT_FRAME_OFFER)
		k->offers += f->offer.on;
	if (f->type == LIGHT_FRAME_NOTE) {
		assert_int_equal(light_note_decode(f->note, f->note_len, &n), 0);
		assert_int_equal(n.kind, LIGHT_NOTE_CLEAR_TO_SEND);
		k->notes += n.u.count[0].from != LIGHT_ANY;
		for (uint32_t i = 0; i < n.counts; i++)
			if (n.u.count[i].from == LIGHT_ANY) {
				k->any++;
			} else {
				assert_in_range(n.u.count[i].from, 0, RANKS - 1);
				assert_in_range(n.u.count[i].to, 0, RANKS - 1);
				k->go[n.u.count[i].from][n.u.count[i].to] = n.u.count[i].count;
			}
	}
	if (f->type == LIGHT_FRAME_LINK_UP || f->type == LIGHT_FRAME_LINK_DOWN) {
		bool down = f->type == LIGHT_FRAME_LINK_DOWN;
		*(down ? &k->downs : &k->ups) += 1;
		k->said[k->nsaid][0] = f->link;
		k->said[k->nsaid][1] = f->slot;
		k->said[k->nsaid++][2] = agent | (down ? 256u : 0);
	}
	return true;
}

static inline void
hang_up(void *user, uint32_t agent)
{
	(void)user;
	(void)agent;
	fail();
}

static inline void
event(void *user, const struct light_event *e)
{
	struct kit *k = user;
	if (e->kind == LIGHT_EVENT_CALL) {
		k->chosen = e->mode;
		k->setups = e->setups;
	}
	if (e->kind == LIGHT_EVENT_AGENT && e->text)
		k->agent_text = e->text;
	if (e->kind == LIGHT_EVENT_PACKETS)
		k->text = e->text;
}

static const struct light_controller_ops ops = {send_to, hang_up, event};

static inline void
answer(struct kit *k)
{
	uint32_t n = k->nsaid;
	k->nsaid = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool down = k->said[i][2] & 256;
		if (k->ends_miss && !down)
			continue;
		struct light_frame f = {.type = LIGHT_FRAME_LINK,
					.link = k->said[i][0],
					.slot = (uint8_t)k->said[i][1],
					.state = down ? BASE_LIGHTPATH_DRAINED
						      : BASE_LIGHTPATH_OPEN};
		assert_true(light_controller_heard(k->c, k->said[i][2] & 255, &f, k->now_ns));
	}
}

static inline void
turns(struct kit *k, uint32_t ms)
{
	for (uint32_t i = 0; i <= ms; i++) {
		for (int again = 0; again < 4; again++) {
			light_controller_turn(k->c, k->now_ns);
			if (k->ends_answer)
				answer(k);
		}
		assert_null(light_controller_check(k->c));
		k->now_ns += MS;
	}
}

static inline void
heard(struct kit *k, uint32_t agent, struct light_frame f)
{
	assert_true(light_controller_heard(k->c, agent, &f, k->now_ns));
}

static inline void
job(struct kit *k, uint32_t agent, uint64_t key)
{
	heard(k, agent,
	      (struct light_frame){.type = LIGHT_FRAME_JOB, .key = key, .client = (uint8_t)agent});
}

static inline void
note(struct kit *k, uint32_t agent, uint64_t key, const struct light_note *n)
{
	static const uint8_t clients[AGENTS] = {0, 1, 2, 3, 4};
	uint8_t bytes[LIGHT_NOTE_MAX];
	bool comm = n->kind == LIGHT_NOTE_COMM;
	heard(k, agent,
	      (struct light_frame){.type = LIGHT_FRAME_NOTE,
				   .key = key,
				   .note = bytes,
				   .note_len = (uint16_t)light_note_encode(n, bytes),
				   .clients = comm ? clients : NULL,
				   .nclients = comm ? AGENTS : 0});
}

static inline void
comm(struct kit *k, uint64_t key)
{
	struct light_note n = {.kind = LIGHT_NOTE_COMM,
			       .u.piece = {.comm = 1, .p = 3, .n = 3, .rank = {0, 1, 2}}};
	note(k, 0, key, &n);
}

/* A linear broadcast from rank 0. */
static inline void
announce(struct kit *k, uint32_t agent, uint64_t key, uint32_t seq, enum circ_mode mode,
	 uint64_t bytes, uint8_t flags)
{
	const struct coll_algorithm *linear = coll_algorithm_of(COLL_BCAST, "linear");
	struct light_note n = {.kind = LIGHT_NOTE_CALL,
			       .u.call = {.comm = 1,
					  .seq = seq,
					  .op = COLL_BCAST,
					  .algorithm = linear->id,
					  .algorithm_version = linear->version,
					  .mode = (uint8_t)mode,
					  .flags = flags,
					  .bytes = bytes,
					  .elem = 1}};
	note(k, agent, key, &n);
}

static inline void
call(struct kit *k, uint32_t agent, uint64_t key, uint32_t seq, enum circ_mode mode, uint64_t bytes)
{
	announce(k, agent, key, seq, mode, bytes, 0);
}

static inline void
over(struct kit *k, uint64_t key, uint32_t seq, uint32_t from, uint32_t to)
{
	struct light_note n = {
		.kind = LIGHT_NOTE_RECEIVED, .counts = 1, .u.count = {{1, 0, seq, from, to, 1}}};
	note(k, to, key, &n);
}

/* What is lit at once: of all, and of groups of ports. */
struct kit_limits {
	uint32_t lit_max, groups;
	const uint32_t *group_of, *waves;
};
static uint32_t kit_links_max; /* of a pair of clusters, of controllers that begin now */

/* ports: of each relay; the first agents of them have the job. */
static inline void
begin_under(struct kit *k, uint32_t ports, uint64_t gamma_ms, const struct kit_limits *limits,
	    uint32_t agents)
{
	memset(k, 0, sizeof *k);
	k->now_ns = BASE_S_NS;
	k->ends_answer = true;
	easy_init(&k->easy);
	struct ocs_control_config oc = {
		.ports = EASY_PORTS, .batch = 4, .gamma_guess_ns = gamma_ms * MS};
	k->control = ocs_control_new(malloc(ocs_control_footprint(&oc)), &oc, &k->easy.sw);
	struct light_controller_config cfg = {
		.ports = EASY_PORTS,
		.agents = AGENTS,
		.jobs = 2,
		.comms = 4,
		.calls = 4,
		.ranks = RANKS,
		.call_bytes = 1 << 20,
		/* 10 Gb/s and 1 Gb/s */
		.costs = {1e-4, 8e-10, (double)gamma_ms / 1e3, 1e-3, 8e-9, 1e-6, 1e-9},
		.ops = &ops,
		.user = k,
		.control = k->control,
		.links_max = kit_links_max,
		.lit_max = limits->lit_max,
		.groups = limits->groups,
		.group_of = limits->group_of,
		.waves = limits->waves};
	k->c = light_controller_new(malloc(light_controller_footprint(&cfg)), &cfg);
	for (uint32_t i = 0; i < AGENTS; i++) {
		struct light_frame f = {.type = LIGHT_FRAME_HELLO,
					.hello = {.relay = {i + 1, 7812}, .n = (uint8_t)ports}};
		for (uint32_t s = 0; s < ports; s++)
			f.hello.port[s] =
				(struct light_port){(uint16_t)(i * 2 + s), {100 + i * 2 + s, 7812}};
		heard(k, i, f);
		if (i < agents)
			job(k, i, KEY);
	}
	comm(k, KEY);
	turns(k, 2);
}

static inline void
begin_limited(struct kit *k, uint32_t ports, uint64_t gamma_ms, uint32_t lit_max, uint32_t agents)
{
	begin_under(k, ports, gamma_ms, &(struct kit_limits){.lit_max = lit_max}, agents);
}

static inline void
begin_with(struct kit *k, uint32_t ports, uint64_t gamma_ms)
{
	begin_limited(k, ports, gamma_ms, 0, AGENTS);
}

static inline void
begin(struct kit *k)
{
	begin_with(k, 2, 10);
}

static inline void
finish(struct kit *k)
{
	free(k->c);
	free(k->control);
}

/* Links that the switch has lit: a circuit each way. */
static inline uint32_t
lit_links(const struct kit *k)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		n += k->easy.out_of[p] != OCS_NO_PORT;
	assert_int_equal(n % 2, 0);
	return n / 2;
}

static inline const struct light_controller_counters *
counters(const struct kit *k)
{
	return light_controller_counters(k->c);
}

#endif
