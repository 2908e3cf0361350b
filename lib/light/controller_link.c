/* SPDX-License-Identifier: BSD-2-Clause */
/* Links between two optical ports: what their relays are told, and what they say. */
#include "controller_internal.h"

#include "base/clock.h"
#include "canary.h"

#ifdef SUCI_CANARY
enum light_bug light_canary;
#endif

static struct link *
light_link_at(struct light_controller *c, uint32_t port)
{
	return c->link_of[port] == CIRC_NONE ? NULL : &c->link[c->link_of[port]];
}

uint64_t
light_controller_key_of(const struct light_controller *c, uint32_t port)
{
	struct ocs_circuit k = ocs_at(c->m, port);
	for (uint32_t i = 0; i < c->cfg.jobs; i++)
		if (c->job[i].used && c->job[i].owner == k.owner)
			return c->job[i].key;
	return 0;
}

bool
light_controller_link_stands(const struct light_controller *c, uint32_t port)
{
	return port < c->cfg.ports && c->link_of[port] != CIRC_NONE &&
	       base_lightpath_stands(c->link[c->link_of[port]].state);
}

static struct light_addr
relay_at(const struct light_controller *c, uint32_t port)
{
	uint32_t a = c->node_of[port];
	return a == NO_AGENT ? (struct light_addr){0} : c->agent[a].hello.relay;
}

static void
light_link_event(struct light_controller *c, enum light_event_kind kind, const struct link *l,
		 uint64_t from_ns, uint64_t now_ns)
{
	light_controller_event(c, (struct light_event){.kind = kind,
						       .at_ns = now_ns,
						       .from_ns = from_ns,
						       .x = l->x,
						       .y = l->y,
						       .a = relay_at(c, l->x),
						       .b = relay_at(c, l->y),
						       .key = l->key});
}

static void
enter_light_link(struct link *l, enum base_lightpath state, uint64_t now_ns)
{
	l->state = state;
	l->since_ns = now_ns;
}

static bool
tell_light_link(struct light_controller *c, const struct link *l, int end, bool up)
{
	uint32_t own = end ? l->y : l->x, other = end ? l->x : l->y;
	uint32_t a = c->node_of[own], b = c->node_of[other];
	if (a == NO_AGENT || (up && b == NO_AGENT))
		return false;
	struct light_frame f = {.type = up ? LIGHT_FRAME_LINK_UP : LIGHT_FRAME_LINK_DOWN,
				.link = l->id,
				.slot = (uint8_t)c->slot_of[own]};
	if (up) {
		f.peer = c->agent[b].hello.relay;
		f.light = c->agent[b].hello.port[c->slot_of[other]].addr;
	}
	return light_controller_send(c, a, &f);
}

/* Both are to let go of it; who cannot be told has. */
static void
close_link(struct light_controller *c, struct link *l, enum base_lightpath state, uint64_t now_ns)
{
	bool was_up = l->state == BASE_LIGHTPATH_OPEN;
	enter_light_link(l, state, now_ns);
	l->missed = state == BASE_LIGHTPATH_FAILED && !was_up;
	for (int end = 0; end < 2; end++)
		l->drained[end] = !tell_light_link(c, l, end, false) || l->drained[end];
	if (state == BASE_LIGHTPATH_FAILED)
		c->count.links_failed++;
	light_link_event(c, state == BASE_LIGHTPATH_FAILED ? LIGHT_EVENT_FAILED : LIGHT_EVENT_DOWN,
			 l, was_up ? l->up_ns : now_ns, now_ns);
}

static bool
lit(const struct light_controller *c, uint32_t in, uint32_t out)
{
	struct ocs_circuit k = ocs_at(c->m, in);
	return k.state == OCS_LIT && k.out == out;
}

/* The circuit of a broken link goes with it, or the next call would wait for the same again.  Where
 * both relays are there and have not found each other, it is the ports' fault; one that is gone or
 * late says nothing about them. */
static void
give_up_light_link(struct light_controller *c, const struct link *l, uint64_t now_ns)
{
	const uint32_t end[2] = {l->x, l->y};
	if (light_controller_key_of(c, l->x) != l->key &&
	    light_controller_key_of(c, l->y) != l->key)
		return;
	for (int i = 0; i < 2; i++) {
		if (!lit(c, end[i], end[1 - i]))
			continue;
		if (l->missed && l->answered[0] && l->answered[1])
			(void)ocs_ends(c->m, end[i], end[1 - i], false, now_ns);
		else
			(void)ocs_release(c->m, end[i], now_ns);
	}
}

/* One that has been let go of is forgotten.  True: there is none (any more). */
static bool
settled(struct light_controller *c, struct link *l, uint64_t now_ns)
{
	if (!l)
		return true;
	if (l->state != BASE_LIGHTPATH_CLOSING && l->state != BASE_LIGHTPATH_FAILED)
		return false;
	if (!(l->drained[0] && l->drained[1]) && now_ns - l->since_ns < c->cfg.drain_ns)
		return false;
	if (l->state == BASE_LIGHTPATH_FAILED)
		give_up_light_link(c, l, now_ns);
	c->link_of[l->x] = c->link_of[l->y] = CIRC_NONE;
	l->used = false;
	return true;
}

static void
open_link(struct light_controller *c, uint32_t x, uint32_t y, uint64_t now_ns)
{
	uint32_t low = x < y ? x : y;
	struct link *l = &c->link[low];
	*l = (struct link){.used = true,
			   .id = ++c->links,
			   .x = low,
			   .y = x < y ? y : x,
			   .key = light_controller_key_of(c, x)};
	c->link_of[x] = c->link_of[y] = low;
	enter_light_link(l, BASE_LIGHTPATH_OPENING, now_ns);
	bool told = tell_light_link(c, l, 0, true);
	if (!tell_light_link(c, l, 1, true) || !told)
		close_link(c, l, BASE_LIGHTPATH_FAILED, now_ns);
}

static int
light_link_up(void *user, uint32_t x, uint32_t y, uint64_t now_ns)
{
	struct light_controller *c = user;
	if (!LIGHT_BUG(STILL_LIT) && (c->away[x] || c->away[y]))
		return -1;
	struct link *l = light_link_at(c, x), *other = light_link_at(c, y);
	bool broken = l && l->state == BASE_LIGHTPATH_FAILED && l == other;
	if (l == other && l && l->state == BASE_LIGHTPATH_OPEN)
		return 1;
	if (l == other && l && l->state == BASE_LIGHTPATH_OPENING)
		return 0;
	bool free_x = settled(c, l, now_ns);
	bool free_y = other == l ? free_x : settled(c, other, now_ns);
	if (broken)
		return -1;
	if (free_x && free_y)
		open_link(c, x, y, now_ns);
	else if (l != other) { /* the circuit of an earlier one has gone without a word */
		if (!free_x && base_lightpath_stands(l->state))
			close_link(c, l, BASE_LIGHTPATH_CLOSING, now_ns);
		if (!free_y && base_lightpath_stands(other->state))
			close_link(c, other, BASE_LIGHTPATH_CLOSING, now_ns);
	}
	return 0;
}

static bool
light_link_down(void *user, uint32_t port, uint64_t now_ns)
{
	struct light_controller *c = user;
	struct link *l = light_link_at(c, port);
	if (l && base_lightpath_stands(l->state))
		close_link(c, l, BASE_LIGHTPATH_CLOSING, now_ns);
	return settled(c, l, now_ns);
}

const struct circ_fabric_ends light_controller_ends = {.up = light_link_up,
						       .down = light_link_down};

/* ---- maintenance ---- */

static bool
circuit_stands(const struct light_controller *c, uint32_t in)
{
	enum ocs_state s = in == OCS_NO_PORT ? OCS_FREE : ocs_at(c->m, in).state;
	return s != OCS_FREE && s != OCS_FOREIGN;
}

static bool
port_is_dark(const struct light_controller *c, uint32_t port)
{
	return !circuit_stands(c, port) && !circuit_stands(c, ocs_user_of(c->m, port)) &&
	       c->link_of[port] == CIRC_NONE;
}

bool
light_controller_withdraw(struct light_controller *c, uint32_t port, bool away, uint64_t now_ns)
{
	if (port >= c->cfg.ports)
		return false;
	if (c->away[port] == away)
		return true;
	c->away[port] = away;
	(void)ocs_port_dark(c->m, true, port, away);
	(void)ocs_port_dark(c->m, false, port, away);
	light_controller_event(
		c, (struct light_event){.kind = away ? LIGHT_EVENT_WITHDRAWN : LIGHT_EVENT_RESTORED,
					.at_ns = now_ns,
					.x = port,
					.y = port,
					.a = relay_at(c, port)});
	return true;
}

bool
light_controller_links_withdraw(struct light_controller *c, uint64_t now_ns)
{
	bool left = false;
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		if (!c->away[p] || port_is_dark(c, p))
			continue;
		left = true;
		uint32_t from = ocs_user_of(c->m, p);
		if (LIGHT_BUG(STILL_LIT) || !light_link_down(c, p, now_ns))
			continue;
		if (circuit_stands(c, p))
			(void)ocs_release(c->m, p, now_ns);
		if (circuit_stands(c, from))
			(void)ocs_release(c->m, from, now_ns);
	}
	return left;
}

bool
light_controller_away(const struct light_controller *c, uint32_t i, struct light_away_row *row)
{
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		if (!c->away[p] || i--)
			continue;
		*row = (struct light_away_row){p, relay_at(c, p), port_is_dark(c, p)};
		return true;
	}
	return false;
}

void
light_controller_link_heard(struct light_controller *c, uint32_t agent, const struct light_frame *f,
			    uint64_t now_ns)
{
	uint32_t port = CIRC_NONE;
	if (f->slot < c->agent[agent].hello.n)
		port = c->agent[agent].hello.port[f->slot].switch_port;
	struct link *l = port < c->cfg.ports ? light_link_at(c, port) : NULL;
	if (!l || l->id != f->link)
		return; /* of one that is forgotten */
	int end = port == l->y;
	if (f->state == BASE_LIGHTPATH_OPEN && l->state == BASE_LIGHTPATH_OPENING) {
		l->up[end] = true;
		if (l->up[0] && l->up[1]) {
			light_link_event(c, LIGHT_EVENT_UP, l, l->since_ns, now_ns);
			enter_light_link(l, BASE_LIGHTPATH_OPEN, now_ns);
			l->up_ns = now_ns;
			c->count.links_up++;
			(void)ocs_ends(c->m, l->x, l->y, true, now_ns);
			(void)ocs_ends(c->m, l->y, l->x, true, now_ns);
		}
	} else if (f->state == BASE_LIGHTPATH_FAILED) {
		l->drained[end] = l->answered[end] = true;
		if (base_lightpath_stands(l->state))
			close_link(c, l, BASE_LIGHTPATH_FAILED, now_ns);
	} else if (f->state == BASE_LIGHTPATH_DRAINED && !base_lightpath_stands(l->state)) {
		l->drained[end] = l->answered[end] = true;
	}
}

void
light_controller_links_gone(struct light_controller *c, uint32_t agent, uint64_t now_ns)
{
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		struct link *l = light_link_at(c, p);
		if (c->node_of[p] != agent)
			continue;
		if (l) {
			l->drained[p == l->y] = true;
			if (base_lightpath_stands(l->state))
				close_link(c, l, BASE_LIGHTPATH_FAILED, now_ns);
		}
		c->node_of[p] = NO_AGENT;
	}
}

void
light_controller_links_tick(struct light_controller *c, uint64_t now_ns)
{
	for (uint32_t i = 0; i < c->cfg.ports; i++) {
		struct link *l = &c->link[i];
		if (!l->used)
			continue;
		bool dark = !lit(c, l->x, l->y) && !lit(c, l->y, l->x);
		bool late = l->state == BASE_LIGHTPATH_OPENING &&
			    now_ns - l->since_ns >= c->cfg.link_ns;
		if (base_lightpath_stands(l->state) && (dark || late))
			close_link(c, l, BASE_LIGHTPATH_FAILED, now_ns);
		if (!base_lightpath_stands(l->state) && now_ns - l->since_ns >= c->cfg.drain_ns)
			l->drained[0] = l->drained[1] = true;
		/* What nobody asks for any more; whoever waits for one that broke hears of that
		 * first. */
		bool heard = l->state == BASE_LIGHTPATH_FAILED && now_ns > l->since_ns;
		if ((!base_lightpath_stands(l->state) && dark) || heard)
			(void)settled(c, l, now_ns);
	}
}

uint64_t
light_controller_links_expiry_ns(const struct light_controller *c)
{
	uint64_t at_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < c->cfg.ports; i++) {
		const struct link *l = &c->link[i];
		if (l->used && l->state == BASE_LIGHTPATH_OPENING)
			at_ns = base_min_ns(at_ns, base_add_ns(l->since_ns, c->cfg.link_ns));
		else if (l->used && !base_lightpath_stands(l->state) &&
			 (!l->drained[0] || !l->drained[1]))
			at_ns = base_min_ns(at_ns, base_add_ns(l->since_ns, c->cfg.drain_ns));
	}
	return at_ns;
}

bool
light_controller_link(const struct light_controller *c, uint32_t i, struct light_link_row *row)
{
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		const struct link *l = &c->link[p];
		if (!l->used || i--)
			continue;
		*row = (struct light_link_row){.x = l->x,
					       .y = l->y,
					       .a = relay_at(c, l->x),
					       .b = relay_at(c, l->y),
					       .state = l->state,
					       .since_ns = l->since_ns,
					       .key = l->key};
		return true;
	}
	return false;
}
