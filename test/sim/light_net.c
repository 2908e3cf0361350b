/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions and notes with delays, losses, deaths; the two ends of a light path. */
#include "light.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_NS	 (60 * LW_MS)
#define DRAIN_NS (30 * LW_MS)

uint32_t
lw_port(uint32_t relay, uint32_t slot)
{
	return relay * LW_PORTS + slot;
}

struct lw_slot *
lw_slot_at(struct light_world *w, uint32_t port)
{
	return &w->relay[port / LW_PORTS].slot[port % LW_PORTS];
}

/* ---- what is said ---- */

void
lw_post(struct light_world *w, struct lw_post p, const void *bytes, uint64_t most_ms)
{
	struct lw_post *n = malloc(sizeof *n), **at = &w->posts;
	struct lw_relay *k = &w->relay[p.relay];
	*n = p;
	n->at_ns = w->now_ns + base_prng_below(&w->rng, most_ms * LW_MS + 1);
	if (p.way <= LW_TO_AGENT) { /* in order */
		n->at_ns = base_max_ns(n->at_ns, k->last_ns[p.way]);
		k->last_ns[p.way] = n->at_ns;
	}
	if (p.len)
		memcpy(n->bytes, bytes, p.len);
	while (*at && (*at)->at_ns <= n->at_ns)
		at = &(*at)->next;
	n->next = *at;
	*at = n;
}

static bool
agent_send(void *user, const struct light_frame *f)
{
	struct lw_relay *k = user;
	uint8_t bytes[LIGHT_FRAME_MAX];
	struct lw_post p = {.way = LW_TO_CONTROLLER, .relay = k->n, .epoch = k->epoch};
	p.len = light_frame_encode(f, bytes);
	lw_post(k->w, p, bytes, 3);
	return true;
}

/* What light at every relay of a cluster costs: the word goes to each. */
static void
count_go(struct light_world *w, uint32_t relay, const struct light_frame *f, size_t len)
{
	struct light_note n;
	w->said_bytes += len;
	if (f->type != LIGHT_FRAME_NOTE || light_note_decode(f->note, f->note_len, &n) ||
	    n.kind != LIGHT_NOTE_CLEAR_TO_SEND)
		return;
	bool beside = relay > 0 && w->relay[relay - 1].cluster == w->relay[relay].cluster;
	w->gos++;
	w->go_bytes += len;
	w->gos_beside += beside;
	w->go_bytes_beside += beside ? len : 0;
}

static bool
controller_send(void *user, uint32_t agent, const struct light_frame *f)
{
	struct light_world *w = user;
	uint8_t bytes[LIGHT_FRAME_MAX];
	struct lw_post p = {.way = LW_TO_AGENT, .relay = agent, .epoch = w->relay[agent].epoch};
	p.len = light_frame_encode(f, bytes);
	count_go(w, agent, f, p.len);
	lw_post(w, p, bytes, 3);
	return true;
}

static void
agent_note(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note, size_t len)
{
	struct lw_relay *k = user;
	struct lw_job *j = &k->w->job[label_base / 1000 - 1];
	for (uint32_t r = 0; r < j->p; r++) {
		struct lw_post p = {.way = LW_DOWN, .job = j->n, .rank = r, .epoch = k->life};
		if (j->cluster[r] != k->cluster || (rank != LIGHT_ANY && rank != r))
			continue;
		p.relay = k->n;
		p.len = len;
		lw_post(k->w, p, note, 2);
		if (base_prng_below(&k->w->rng, 20) == 0)
			lw_post(k->w, p, note, 9); /* it comes twice */
	}
}

static uint32_t
client_of(void *user, uint32_t label_base, uint32_t rank)
{
	struct lw_relay *k = user;
	struct lw_job *j = &k->w->job[label_base / 1000 - 1];
	return rank < j->p ? j->cluster[rank] : LIGHT_CLIENTS;
}

/* ---- light ---- */

static struct lw_slot *
other_end(struct light_world *w, uint32_t relay, const struct lw_slot *s)
{
	struct lw_slot *o = &w->relay[s->peer].slot[s->peer_slot];
	bool here = w->relay[s->peer].alive && o->phase != BASE_LIGHTPATH_DARK && o->peer == relay;
	return here && &w->relay[relay].slot[o->peer_slot] == s ? o : NULL;
}

bool
lw_passes(const struct light_world *w, uint32_t from, uint32_t to)
{
	return osw_passes(&w->sw, w->fibre[from], w->fibre[to], w->now_ns);
}

static bool
passes(const struct light_world *w, uint32_t relay, uint32_t slot)
{
	const struct lw_slot *s = &w->relay[relay].slot[slot];
	uint32_t here = lw_port(relay, slot), there = lw_port(s->peer, s->peer_slot);
	return lw_passes(w, here, there) && lw_passes(w, there, here);
}

static void
open_light(void *user, uint32_t slot, struct light_addr relay, struct light_addr light)
{
	struct lw_relay *k = user;
	BASE_ASSERT(slot < k->ports && relay.ipv4 < k->w->relays);
	k->slot[slot] = (struct lw_slot){.phase = BASE_LIGHTPATH_OPENING,
					 .peer = relay.ipv4,
					 .peer_slot = light.port,
					 .since_ns = k->w->now_ns};
	BASE_ASSERT(light.ipv4 == relay.ipv4);
}

static void
close_light(void *user, uint32_t slot)
{
	struct lw_relay *k = user;
	struct lw_slot *s = &k->slot[slot];
	if (s->phase == BASE_LIGHTPATH_DARK) {
		light_agent_state(k->agent, slot, BASE_LIGHTPATH_DRAINED);
		return;
	}
	s->phase = BASE_LIGHTPATH_CLOSING;
	s->since_ns = k->w->now_ns;
}

static void
slot_step(struct lw_relay *k, uint32_t i)
{
	struct light_world *w = k->w;
	struct lw_slot *s = &k->slot[i];
	uint64_t for_ns = w->now_ns - s->since_ns;
	bool open = s->phase != BASE_LIGHTPATH_DARK && other_end(w, k->n, s) && passes(w, k->n, i);
	switch (s->phase) {
	case BASE_LIGHTPATH_DARK:
	case BASE_LIGHTPATH_FAILED: /* both are told, and are dark here */
	case BASE_LIGHTPATH_DRAINED:
		return;
	case BASE_LIGHTPATH_OPENING:
		if (open && for_ns >= LW_MS) {
			s->phase = BASE_LIGHTPATH_OPEN;
			s->dark_ns = 0;
			w->missed[lw_port(k->n, i)] = 0; /* two crossed ones, joined */
			light_agent_state(k->agent, i, BASE_LIGHTPATH_OPEN);
		} else if (for_ns >= OPEN_NS) {
			s->phase = BASE_LIGHTPATH_DARK;
			w->missed[lw_port(k->n, i)]++;
			light_agent_state(k->agent, i, BASE_LIGHTPATH_FAILED);
		}
		return;
	case BASE_LIGHTPATH_OPEN:
		s->dark_ns = open ? 0 : s->dark_ns + LW_MS;
		if (s->dark_ns >= 10 * LW_MS) {
			s->phase = BASE_LIGHTPATH_DARK;
			light_agent_state(k->agent, i, BASE_LIGHTPATH_FAILED);
		}
		return;
	case BASE_LIGHTPATH_CLOSING:
		if (s->flights && for_ns < DRAIN_NS)
			return;
		s->phase = BASE_LIGHTPATH_DARK;
		light_agent_state(k->agent, i, BASE_LIGHTPATH_DRAINED);
		return;
	}
}

static uint32_t
ways(const struct light_world *w, uint32_t from, uint32_t to, uint32_t *best)
{
	uint32_t n = 0, least = UINT32_MAX;
	for (uint32_t r = 0; r < w->relays; r++)
		for (uint32_t i = 0; w->relay[r].cluster == from && i < LW_PORTS; i++) {
			const struct lw_slot *s = &w->relay[r].slot[i];
			if (s->phase != BASE_LIGHTPATH_OPEN || w->relay[s->peer].cluster != to)
				continue;
			n++;
			if (s->flights < least) {
				least = s->flights;
				*best = lw_port(r, i);
			}
		}
	return n;
}

uint32_t
lw_way(const struct light_world *w, uint32_t from, uint32_t to)
{
	uint32_t best = LW_NO_PORT;
	(void)ways(w, from, to, &best);
	return best;
}

uint32_t
lw_links(const struct light_world *w, uint32_t from, uint32_t to)
{
	uint32_t best;
	return ways(w, from, to, &best);
}

void
lw_broken(struct light_world *w, uint32_t port)
{
	struct lw_slot *s = lw_slot_at(w, port);
	if (s->phase != BASE_LIGHTPATH_OPEN)
		return;
	s->phase = BASE_LIGHTPATH_DARK;
	light_agent_state(w->relay[port / LW_PORTS].agent, port % LW_PORTS, BASE_LIGHTPATH_FAILED);
}

/* ---- who is there ---- */

static void
hang_up(void *user, uint32_t agent)
{
	struct light_world *w = user;
	(void)agent;
	snprintf(w->why, sizeof w->why, "two sessions of one agent");
}

static const struct light_agent_ops agent_ops = {agent_send,  agent_note, open_light,
						 close_light, client_of,  NULL};
static void
event(void *user, const struct light_event *e)
{
	struct light_world *w = user;
	if (w->verbose)
		printf("%6.1f %-10s job %u, %u-%u, comm %u seq %u %s: %u messages, %u set-ups %s\n",
		       (double)e->at_ns / 1e6, light_event_name(e->kind), (unsigned)e->key, e->x,
		       e->y, e->call.comm, e->call.seq, circ_mode_name(e->mode), e->messages,
		       e->setups, e->text ? e->text : "");
}

static const struct light_controller_ops controller_ops = {controller_send, hang_up, event};

static void
agent_begin(struct lw_relay *k)
{
	struct light_agent_config cfg = {.hello = {.relay = {k->n, 1}, .n = (uint8_t)k->ports},
					 .jobs = LW_JOBS,
					 .ops = &agent_ops,
					 .user = k};
	for (uint32_t i = 0; i < k->ports; i++)
		cfg.hello.port[i] =
			(struct light_port){(uint16_t)lw_port(k->n, i), {k->n, (uint16_t)i}};
	k->agent = light_agent_new(malloc(light_agent_footprint(&cfg)), &cfg);
	k->alive = true;
	k->life++;
	memset(k->slot, 0, sizeof k->slot);
}

static void
session_lost(struct lw_relay *k, uint64_t back_ms)
{
	if (!k->session)
		return;
	k->session = false;
	k->epoch++;
	k->back_ns = k->w->now_ns + back_ms * LW_MS;
	if (k->w->controller)
		light_controller_gone(k->w->controller, k->n, k->w->now_ns);
	for (uint32_t i = 0; i < LW_JOBS; i++)
		k->w->told[i][k->n] = false;
	if (k->alive)
		light_agent_lost(k->agent);
}

/* The relay dies: what it knew is gone, and its processes hear nothing for a while. */
static void
die(struct lw_relay *k)
{
	struct light_world *w = k->w;
	uint64_t back = 20 + base_prng_below(&w->rng, 200);
	w->deaths++;
	k->alive = false;
	session_lost(k, back);
	k->back_ns = w->now_ns + back * LW_MS;
	free(k->agent);
	k->agent = NULL;
	memset(k->slot, 0, sizeof k->slot);
	for (uint32_t i = 0; i < LW_JOBS; i++)
		for (uint32_t r = 0; r < w->job[i].p; r++)
			if (w->job[i].cluster[r] == k->cluster)
				light_client_dark(w->job[i].client[r], k->n);
}

static void
controller_begin(struct light_world *w)
{
	static bool own[OSW_PORTS];
	for (uint32_t p = 0; p < OSW_PORTS; p++)
		own[p] = p < w->sw.foreign_from;
	struct ocs_control_config oc = {.ports = OSW_PORTS,
					.batch = OSW_PORTS,
					.gamma_guess_ns = 10 * LW_MS,
					.settle_ns = 30 * LW_MS,
					.retry_ns = 5 * LW_MS,
					.own_in = own,
					.own_out = own};
	w->control = ocs_control_new(malloc(ocs_control_footprint(&oc)), &oc, &w->sw.base);
	struct light_controller_config cfg = {
		.ports = OSW_PORTS,
		.agents = LW_RELAYS,
		.jobs = LW_JOBS,
		.comms = LW_JOBS * LW_STREAMS,
		.calls = 8,
		.ranks = LW_RANKS,
		.call_bytes = 1 << 20,
		.mode = (enum circ_mode)base_prng_below(&w->rng, CIRC_MODE_COUNT),
		.costs = {1e-4, 1e-3, 1e-2, 1e-3, 1e-2, 1e-6, 1e-9},
		.ops = &controller_ops,
		.user = w,
		.control = w->control,
		.links_max = w->links_max,
		.lit_max = w->lit_max,
		.groups = w->groups,
		.group_of = w->group_of,
		.waves = w->waves};
	memset(w->away, 0, sizeof w->away); /* a new one knows of none */
	w->controller = light_controller_new(malloc(light_controller_footprint(&cfg)), &cfg);
}

static void
controller_dies(struct light_world *w)
{
	w->restarts++;
	w->planned += light_controller_counters(w->controller)->calls;
	free(w->controller);
	free(w->control);
	w->controller = NULL;
	w->control = NULL;
	for (uint32_t i = 0; i < w->relays; i++)
		session_lost(&w->relay[i], 0);
	w->controller_back_ns = w->now_ns + (10 + base_prng_below(&w->rng, 300)) * LW_MS;
	/* the switch sees a session end; whatever was asked of it is done or not */
	w->sw.what = 0;
	w->sw.up = false;
	w->sw.head = w->sw.tail;
	w->sw.up_ns = w->controller_back_ns + 2 * LW_MS;
}

void
lw_tell_jobs(struct lw_relay *k)
{
	struct light_world *w = k->w;
	for (uint32_t i = 0; i < LW_JOBS && k->alive; i++) {
		struct lw_job *j = &w->job[i];
		bool here = false;
		for (uint32_t r = 0; r < j->p; r++)
			here |= j->cluster[r] == k->cluster;
		if (!j->begun || j->over || !here)
			continue;
		light_agent_job(k->agent, LW_KEY + i, (i + 1) * 1000, k->cluster);
		for (uint32_t r = 0; r < j->p; r++)
			if (j->cluster[r] == k->cluster)
				lw_post(w,
					(struct lw_post){.way = LW_PROC,
							 .relay = k->n,
							 .job = i,
							 .rank = r,
							 .epoch = k->life},
					NULL, 10);
	}
}

static void
come_and_go(struct lw_relay *k, bool heal)
{
	struct light_world *w = k->w;
	if (!k->alive && w->now_ns >= k->back_ns) {
		agent_begin(k);
		lw_tell_jobs(k);
	}
	if (k->alive && !k->session && w->controller && w->now_ns >= k->back_ns) {
		k->session = true;
		k->epoch++;
		light_agent_connected(k->agent);
	}
	if (heal || !k->alive)
		return;
	if (base_prng_chance(&w->rng, w->session_ms)) {
		w->sessions_lost += k->session;
		session_lost(k, base_prng_below(&w->rng, 100));
	}
	if (base_prng_chance(&w->rng, w->death_ms))
		die(k);
}

/* ---- steps ---- */

static bool
deliver(struct light_world *w, const struct lw_post *p)
{
	struct lw_relay *k = &w->relay[p->relay];
	struct light_frame f;
	struct light_note n;
	switch (p->way) {
	case LW_TO_CONTROLLER:
		if (!k->session || p->epoch != k->epoch || !w->controller)
			return true;
		if (light_frame_decode(p->bytes, p->len, &f) != (long)p->len)
			return false;
		if (f.type == LIGHT_FRAME_JOB || f.type == LIGHT_FRAME_JOB_END)
			w->told[f.key - LW_KEY][k->n] = f.type == LIGHT_FRAME_JOB;
		return light_controller_heard(w->controller, k->n, &f, w->now_ns);
	case LW_TO_AGENT:
		if (!k->session || p->epoch != k->epoch)
			return true;
		return light_frame_decode(p->bytes, p->len, &f) == (long)p->len &&
		       light_agent_heard(k->agent, &f);
	case LW_UP:
		if (k->alive && p->epoch == k->life)
			light_agent_note(k->agent, (p->job + 1) * 1000, p->rank, p->bytes, p->len);
		return true;
	case LW_DOWN:
		if (!k->alive || p->epoch != k->life)
			return true;
		if (light_note_decode(p->bytes, p->len, &n))
			return false;
		light_client_heard(w->job[p->job].client[p->rank], k->n, &n);
		return true;
	case LW_PROC:
		if (k->alive && p->epoch == k->life)
			light_agent_proc(k->agent, (p->job + 1) * 1000, p->rank);
		return true;
	}
	return false;
}

void
lw_deliver(struct light_world *w)
{
	while (w->posts && w->posts->at_ns <= w->now_ns) {
		struct lw_post *p = w->posts;
		w->posts = p->next;
		if (!deliver(w, p) && !*w->why)
			snprintf(w->why, sizeof w->why, "nonsense was said (way %d)", p->way);
		free(p);
	}
}

/* In a world of three somebody has patched two fibres, or four, the wrong way round. */
static void
patch(struct light_world *w, uint64_t seed)
{
	struct base_prng r = base_prng_seed(seed ^ 0x9a7c4);
	for (uint32_t p = 0; p < OSW_PORTS; p++)
		w->fibre[p] = p;
	if (base_prng_below(&r, 3))
		return;
	for (uint64_t n = 1 + base_prng_below(&r, 2); n; n--) {
		uint32_t a = (uint32_t)base_prng_below(&r, w->relays * LW_PORTS);
		uint32_t b = (uint32_t)base_prng_below(&r, w->relays * LW_PORTS);
		uint32_t end = w->fibre[a];
		w->fibre[a] = w->fibre[b];
		w->fibre[b] = end;
	}
}

/* In half of the worlds of three relays and more, clusters have two each. */
static void
pair_relays(struct light_world *w, uint64_t seed)
{
	struct base_prng r = base_prng_seed(seed ^ 0x2e1a7);
	uint32_t each = w->relays > 2 && base_prng_below(&r, 2) ? 2 : 1;
	w->clusters = (w->relays + each - 1) / each;
	for (uint32_t i = 0; i < w->relays; i++)
		w->relay[i].cluster = i / each;
}

/* In half of the worlds wavelengths are scarcer than ports; all ports of a cluster are in one
 * group. */
static void
limit_light(struct light_world *w, uint64_t seed)
{
	struct base_prng r = base_prng_seed(seed ^ 0x3a5e);
	if (base_prng_below(&r, 2))
		return;
	w->apart = w->clusters >= 4 && base_prng_below(&r, 2);
	w->lit_max = (uint32_t)base_prng_below(&r, 5);
	w->groups = (uint32_t)base_prng_below(&r, 3);
	for (uint32_t i = 0; i < LW_RELAYS; i++) {
		uint32_t g = (uint32_t)base_prng_below(&r, w->groups + 1);
		if (i % 2 && w->clusters < w->relays)
			g = w->group_of[lw_port(i - 1, 0)];
		for (uint32_t s = 0; s < LW_PORTS; s++)
			w->group_of[lw_port(i, s)] = g;
	}
	for (uint32_t p = LW_RELAYS * LW_PORTS; p < OSW_PORTS; p++)
		w->group_of[p] = w->groups;
	for (uint32_t g = 0; g < w->groups; g++)
		w->waves[g] = 1 + (uint32_t)base_prng_below(&r, 3);
}

/* Somebody works at the ports: by the controller, which drains them first, and, where things go
 * wrong, at the switch, which tells nobody. */
static void
maintain(struct light_world *w, bool heal)
{
	for (uint32_t p = 0; p < w->relays * LW_PORTS && heal; p++)
		osw_out(&w->sw, p, false);
	if (heal || !base_prng_chance(&w->hands, w->hands_ms))
		return;
	uint32_t p = 0;
	for (int tries = 0; tries < 16; tries++) { /* one that is lit, rather */
		p = (uint32_t)base_prng_below(&w->hands, w->relays * LW_PORTS);
		if (w->sw.out_of[p] != OCS_NO_PORT || w->away[p])
			break;
	}
	if (!w->calm && base_prng_below(&w->hands, 3) == 0) {
		osw_out(&w->sw, p, !w->sw.out[p]);
	} else if (w->controller) {
		w->away[p] = !w->away[p];
		w->away_ns[p] = w->now_ns;
		w->withdrawn += w->away[p];
		if (!w->away[p])
			w->missed[p] = 0; /* as good as any: whoever restores it has mended it */
		(void)light_controller_withdraw(w->controller, p, w->away[p], w->now_ns);
	}
}

void
lw_world_init(struct light_world *w, uint64_t seed)
{
	osw_init(&w->sw, seed);
	w->rng = base_prng_seed(seed ^ 0x119);
	struct base_prng *r = &w->rng;
	w->calm = base_prng_below(r, 4) == 0;
	if (w->calm)
		memset(&w->sw.faults, 0, sizeof w->sw.faults);
	for (uint32_t p = 0; w->calm && p < OSW_PORTS; p++)
		w->sw.dark[p] = false;
	uint64_t *f[] = {&w->session_ms, &w->death_ms, &w->restart_ms};
	for (size_t i = 0; i < 3; i++)
		*f[i] = !w->calm && base_prng_below(r, 2) ? base_prng_below(r, 8000000) >> i : 0;
	w->relays = 2 + (uint32_t)base_prng_below(r, LW_RELAYS - 1);
	pair_relays(w, seed);
	patch(w, seed);
	limit_light(w, seed);
	struct base_prng links = base_prng_seed(seed ^ 0x11f5);
	w->links_max = 1 + (uint32_t)base_prng_below(&links, LW_PORTS);
	w->hands = base_prng_seed(seed ^ 0x4a2d5);
	if (w->calm || base_prng_below(&w->hands, 2))
		w->hands_ms = base_prng_below(&w->hands, 20000000);
	for (uint32_t i = 0; i < w->relays; i++) {
		struct lw_relay *k = &w->relay[i];
		k->w = w;
		k->n = i;
		k->ports = 1 + (uint32_t)base_prng_below(r, LW_PORTS);
		agent_begin(k);
		k->back_ns = base_prng_below(r, 30) * LW_MS;
	}
}

void
lw_world_step(struct light_world *w, bool heal)
{
	osw_step(&w->sw, w->now_ns, heal);
	if (!w->controller && w->now_ns >= w->controller_back_ns)
		controller_begin(w);
	else if (w->controller && !heal && base_prng_chance(&w->rng, w->restart_ms))
		controller_dies(w);
	maintain(w, heal);
	for (uint32_t i = 0; i < w->relays; i++)
		come_and_go(&w->relay[i], heal);
	lw_deliver(w);
	for (uint32_t i = 0; i < w->relays; i++)
		for (uint32_t s = 0; s < LW_PORTS && w->relay[i].alive; s++)
			slot_step(&w->relay[i], s);
	if (w->controller)
		light_controller_turn(w->controller, w->now_ns);
}

void
lw_world_fini(struct light_world *w)
{
	while (w->posts) {
		struct lw_post *p = w->posts;
		w->posts = p->next;
		free(p);
	}
	for (uint32_t i = 0; i < w->relays; i++)
		free(w->relay[i].agent);
	free(w->controller);
	free(w->control);
}
