/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of agents, in a controller with a switch that does what it is asked: whatever they say,
 * nothing contradicts itself.  The same bytes to an agent.
 *
 * Input    u8 who | frame, again and again: who & 3 is the agent that says it (3: the controller,
 *          to the agent), who >> 2 ms go by before. */
#include "light/agent.h"
#include "light/controller.h"

#include "../easy_switch.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AGENTS 3

/* ---- what the two say */

struct world {
	struct easy easy;
	struct light_controller *c;
	struct light_agent *a;
	uint64_t now_ns;
	struct {
		uint32_t link;
		uint8_t slot, agent;
		bool down;
	} said[16];
	uint32_t nsaid;
};

static bool
send_to(void *user, uint32_t agent, const struct light_frame *f)
{
	struct world *w = user;
	uint8_t out[LIGHT_FRAME_MAX];
	struct light_frame back;
	size_t len = light_frame_encode(f, out);
	BASE_ASSERT(agent < AGENTS && light_frame_decode(out, len, &back) == (long)len);
	bool link = f->type == LIGHT_FRAME_LINK_UP || f->type == LIGHT_FRAME_LINK_DOWN;
	if (link && w->nsaid < 16) {
		w->said[w->nsaid].link = f->link;
		w->said[w->nsaid].slot = f->slot;
		w->said[w->nsaid].agent = (uint8_t)agent;
		w->said[w->nsaid++].down = f->type == LIGHT_FRAME_LINK_DOWN;
	}
	return true;
}

static void
hang_up(void *user, uint32_t agent)
{
	(void)user;
	BASE_ASSERT(agent < AGENTS);
}

static const struct light_controller_ops controller_ops = {send_to, hang_up, NULL};

/* Well-behaved ends: they find each other, they let go. */
static void
answer(struct world *w)
{
	for (uint32_t i = 0; i < w->nsaid; i++) {
		struct light_frame f = {.type = LIGHT_FRAME_LINK,
					.link = w->said[i].link,
					.slot = w->said[i].slot,
					.state = w->said[i].down ? BASE_LIGHTPATH_DRAINED
								 : BASE_LIGHTPATH_OPEN};
		(void)light_controller_heard(w->c, w->said[i].agent, &f, w->now_ns);
	}
	w->nsaid = 0;
}

static bool
agent_send(void *user, const struct light_frame *f)
{
	uint8_t out[LIGHT_FRAME_MAX];
	struct light_frame back;
	size_t len = light_frame_encode(f, out);
	(void)user;
	BASE_ASSERT(light_frame_decode(out, len, &back) == (long)len);
	return true;
}

static void
agent_note(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note, size_t len)
{
	(void)user, (void)label_base, (void)rank, (void)note;
	BASE_ASSERT(len >= LIGHT_NOTE_HEAD);
}

static void
agent_light(void *user, uint32_t slot, struct light_addr relay, struct light_addr light)
{
	(void)relay, (void)light;
	light_agent_state(((struct world *)user)->a, slot, BASE_LIGHTPATH_OPEN);
}

static void
agent_dark(void *user, uint32_t slot)
{
	light_agent_state(((struct world *)user)->a, slot, BASE_LIGHTPATH_DRAINED);
}

static uint32_t
client_of(void *user, uint32_t label_base, uint32_t rank)
{
	(void)user, (void)label_base;
	return rank % 40;
}

static const struct light_agent_ops agent_ops = {agent_send, agent_note, agent_light,
						 agent_dark, client_of,	 NULL};

static void
to_agent(struct world *w, const struct light_frame *f)
{
	(void)light_agent_heard(w->a, f);
	if (f->type == LIGHT_FRAME_NOTE)
		light_agent_note(w->a, 64, f->rank, f->note, f->note_len);
}

static void
step(struct world *w, uint8_t who, const struct light_frame *f)
{
	w->now_ns += (who >> 2) * BASE_MS_NS;
	if ((who & 3) == 3)
		to_agent(w, f);
	else if (!light_controller_heard(w->c, who & 3, f, w->now_ns))
		light_controller_gone(w->c, who & 3, w->now_ns);
	for (int i = 0; i < 3; i++) {
		light_controller_turn(w->c, w->now_ns);
		if (!(who & 64))
			answer(w);
	}
	w->nsaid = 0;
	const char *why = light_controller_check(w->c);
	BASE_ASSERT(!why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;
	memset(&w, 0, sizeof w);
	w.now_ns = BASE_S_NS;
	easy_init(&w.easy);
	struct ocs_control_config oc = {
		.ports = EASY_PORTS, .batch = 4, .gamma_guess_ns = 10 * BASE_MS_NS};
	void *control = malloc(ocs_control_footprint(&oc));
	struct light_controller_config cfg = {.ports = EASY_PORTS,
					      .agents = AGENTS,
					      .jobs = 2,
					      .comms = 3,
					      .calls = 4,
					      .ranks = 12,
					      .call_bytes = 1 << 19,
					      .links_max = 2,
					      .costs = {1e-4, 1e-8, 1e-2, 1e-3, 1e-7, 1e-6, 1e-9},
					      .ops = &controller_ops,
					      .user = &w,
					      .control = ocs_control_new(control, &oc, &w.easy.sw)};
	void *controller = malloc(light_controller_footprint(&cfg));
	w.c = light_controller_new(controller, &cfg);
	struct light_agent_config ac = {
		.hello = {.relay = {1, 1}, .n = 2}, .jobs = 2, .ops = &agent_ops, .user = &w};
	void *agent = malloc(light_agent_footprint(&ac));
	w.a = light_agent_new(agent, &ac);
	light_agent_connected(w.a);
	light_agent_job(w.a, 7, 64, 1);
	light_controller_turn(w.c, w.now_ns);
	for (size_t at = 0; at < size;) {
		struct light_frame f;
		long n = light_frame_decode(data + at + 1, size - at - 1, &f);
		if (n <= 0)
			break;
		step(&w, data[at], &f);
		at += 1 + (size_t)n;
	}
	light_agent_lost(w.a);
	free(agent);
	free(controller);
	free(control);
	return 0;
}
