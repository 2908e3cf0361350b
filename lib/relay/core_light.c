/* SPDX-License-Identifier: BSD-2-Clause */
/* Light paths: opened, drained and closed as circuits come and go (relay/core.h, Light). */
#include "core_internal.h"

#include "base/bytes.h"

#include <string.h>

/* The handshake is said again, each pause twice as long: the first ones may come before the mirrors
 * have settled, but what is on its way need not be said ten times. */
#define OPEN_RETRY_NS (500 * BASE_US_NS)
#define OPEN_DOUBLED  2
#define PEER_NS	      (50 * BASE_MS_NS) /* drained, and the peer may not be */
#define KEEPALIVES    4			/* of an idle path in its liveness */
#define TEXT_DARK     "dark"

static void
tell(struct relay_core *c, uint32_t slot, enum base_lightpath state)
{
	c->n.lights_up += state == BASE_LIGHTPATH_OPEN;
	c->n.lights_failed += state == BASE_LIGHTPATH_FAILED;
	if (c->conf.ops->light_state)
		c->conf.ops->light_state(c->conf.user, slot, state);
}

/* Is it taken from now on, or not any more?  The groups of all jobs look at the trunk. */
static void
set_lit(struct relay_core *c, uint32_t slot, bool lit)
{
	struct trunk *k = &c->trunk[c->light[slot].peer];
	uint32_t bit = 1u << slot;
	if (((k->lit & bit) != 0) == lit)
		return;
	k->lit ^= (uint8_t)bit;
	c->nlit += lit ? 1 : -1u;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
		if (c->job[i].used && c->job[i].trunk_clients[k - c->trunk])
			relay_group_look(c, &c->job[i]);
	if (c->nstrays)
		wake_at(c, c->now_ns);
	/* Who waited for room there waits for the trunk's. */
	for (uint32_t i = 0; !lit && i < c->conf.limits.paths_max; i++)
		if (c->path[i].blocked == c->light[slot].path && k->path != NONE)
			c->path[i].blocked = k->path;
}

/* Dark: its trunk's slot is needed no more. */
static void
forget(struct relay_core *c, uint32_t slot)
{
	struct light *l = &c->light[slot];
	set_lit(c, slot, false);
	l->phase = BASE_LIGHTPATH_DARK;
	l->path = NONE;
	c->trunk[l->peer].lights--;
	relay_trunk_rest(c, l->peer);
}

static void
phase(struct relay_core *c, uint32_t slot, enum base_lightpath to, uint64_t ns)
{
	struct light *l = &c->light[slot];
	l->phase = (uint8_t)to;
	l->until_ns = base_add_ns(c->now_ns, ns);
	wake_at(c, l->until_ns);
}

static uint64_t
held(const struct relay_core *c, const struct light *l)
{
	const struct path *p = &c->path[l->path];
	return p->tx_segments - p->tx_acked - p->tx_abandoned;
}

/* The path is closed without a word to anybody but its peer. */
static void
shut(struct relay_core *c, uint32_t slot)
{
	uint32_t path = c->light[slot].path;
	forget(c, slot);
	if (path != NONE)
		suci_path_close(c->ep, path, TEXT_DARK, c->now_ns);
}

static void
open_path(struct relay_core *c, uint32_t slot)
{
	struct light *l = &c->light[slot];
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t path = NONE;
	l->retry_ns = base_add_ns(c->now_ns, OPEN_RETRY_NS << l->nudges);
	if (l->nudges < OPEN_DOUBLED)
		l->nudges++;
	wake_at(c, l->retry_ns);
	if (l->path != NONE) {
		(void)suci_path_nudge(c->ep, l->path, c->now_ns);
		return;
	}
	relay_core_hello(c, hello);
	if (suci_path_open(c->ep, &l->to.addr, hello, sizeof hello, &path, c->now_ns))
		return; /* they opened it, or a former one goes down just now */
	c->path[path] = (struct path){.kind = RELAY_PATH_LIGHT,
				      .job = NONE,
				      .trunk = slot,
				      .close_ns = BASE_NEVER_NS,
				      .peer = l->to.addr,
				      .doors = NONE,
				      .holds = NONE};
	l->path = path;
}

/* ---- from outside ------------------------------------------------------------ */

int
relay_core_light(struct relay_core *c, uint32_t slot, const struct relay_light *light,
		 uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	if (slot >= c->conf.nlights || light->addr.leg != RELAY_LEG_LIGHT + slot ||
	    light->peer.leg != RELAY_LEG_GLOBAL)
		return RELAY_ERR_INVAL;
	struct light *l = &c->light[slot];
	bool same = memcmp(&l->to, light, sizeof *light) == 0;
	if (same && l->phase == BASE_LIGHTPATH_OPENING)
		return RELAY_ERR_OK;
	if (same && l->phase == BASE_LIGHTPATH_OPEN) {
		tell(c, slot, BASE_LIGHTPATH_OPEN);
		return RELAY_ERR_OK;
	}
	if (l->phase != BASE_LIGHTPATH_DARK)
		shut(c, slot);
	struct suci_addr peer = relay_place_of(c, relay_name_of(c, &light->peer), light->peer.port);
	uint32_t t = relay_trunk_get(c, &peer);
	if (t == NONE)
		return RELAY_ERR_NOMEM;
	c->trunk[t].lights++;
	l->to = *light;
	l->peer = t;
	l->ordered_ns = c->now_ns;
	l->told = false;
	l->nudges = 0;
	phase(c, slot, BASE_LIGHTPATH_OPENING, c->conf.light_open_ns);
	open_path(c, slot);
	return RELAY_ERR_OK;
}

static void
drained(struct relay_core *c, uint32_t slot)
{
	struct light *l = &c->light[slot];
	l->drained_ns = c->now_ns - l->ordered_ns;
	c->n.lights_drained++;
	tell(c, slot, BASE_LIGHTPATH_DRAINED);
}

static void
empty(struct relay_core *c, uint32_t slot)
{
	phase(c, slot, BASE_LIGHTPATH_DRAINED, PEER_NS);
	drained(c, slot);
}

int
relay_core_dark(struct relay_core *c, uint32_t slot, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	if (slot >= c->conf.nlights)
		return RELAY_ERR_INVAL;
	struct light *l = &c->light[slot];
	switch ((enum base_lightpath)l->phase) {
	case BASE_LIGHTPATH_CLOSING:
		return RELAY_ERR_OK;
	case BASE_LIGHTPATH_OPENING:
		shut(c, slot);
		break;
	case BASE_LIGHTPATH_DARK:
	case BASE_LIGHTPATH_FAILED: /* reported, never kept */
	case BASE_LIGHTPATH_DRAINED:
		break;
	case BASE_LIGHTPATH_OPEN:
		set_lit(c, slot, false);
		l->ordered_ns = c->now_ns;
		phase(c, slot, BASE_LIGHTPATH_CLOSING, c->conf.dark_drain_ns);
		suci_path_ack(c->ep, l->path, c->now_ns); /* the peer drains as well */
		if (!held(c, l))
			empty(c, slot);
		return RELAY_ERR_OK;
	}
	tell(c, slot, BASE_LIGHTPATH_DRAINED);
	return RELAY_ERR_OK;
}

int
relay_core_note(struct relay_core *c, uint32_t label_base, uint32_t rank, const void *note,
		size_t len, uint64_t now_ns)
{
	uint8_t buf[RELAY_NOTE_LIGHT_MAX];
	see_time(c, now_ns);
	relay_new_era(c);
	struct job *j = relay_job_by_base(c, label_base);
	if (len < 5 || len > sizeof buf || *(const uint8_t *)note != RELAY_NOTE_LIGHT)
		return RELAY_ERR_INVAL;
	uint32_t first = rank == RELAY_RANK_NONE && j ? j->first_local : rank;
	uint32_t n = rank == RELAY_RANK_NONE && j ? j->nlocal : 1;
	if (!j || first < j->first_local || first - j->first_local + n > j->nlocal)
		return RELAY_ERR_NOTFOUND;
	int err = RELAY_ERR_OK;
	memcpy(buf, note, len);
	for (uint32_t r = first; r < first + n; r++) {
		const struct proc *p = job_proc(c, j, r);
		be32_store(buf + 1, p->label_base);
		if (p->path == NONE || !c->path[p->path].up) {
			err = rank == RELAY_RANK_NONE ? err : RELAY_ERR_NOMEM;
		} else if (suci_path_note(c->ep, p->path, buf, len, c->now_ns)) {
			c->n.notes_unsent++;
			err = RELAY_ERR_NOMEM;
		} else {
			c->n.notes_tx++;
		}
	}
	return err;
}

bool
relay_core_light_info(const struct relay_core *c, uint32_t slot, struct relay_light_info *out)
{
	if (slot >= c->conf.nlights)
		return false;
	const struct light *l = &c->light[slot];
	*out = (struct relay_light_info){.phase = (enum base_lightpath)l->phase,
					 .path = l->phase == BASE_LIGHTPATH_DARK ? NONE : l->path,
					 .opened_ns = l->opened_ns,
					 .drained_ns = l->drained_ns};
	if (l->phase != BASE_LIGHTPATH_DARK)
		out->light = l->to;
	return true;
}

/* ---- what paths say ---------------------------------------------------------- */

uint32_t
relay_light_expected(const struct relay_core *c, const struct suci_addr *from)
{
	uint32_t slot = from->leg - (uint32_t)RELAY_LEG_LIGHT;
	if (slot >= c->conf.nlights)
		return NONE;
	const struct light *l = &c->light[slot];
	return l->phase == BASE_LIGHTPATH_OPENING && memcmp(&l->to.addr, from, sizeof *from) == 0
		       ? slot
		       : NONE;
}

void
relay_light_up(struct relay_core *c, uint32_t path)
{
	uint32_t slot = c->path[path].trunk;
	struct light *l = &c->light[slot];
	struct suci_path_info i;
	if (suci_path_info(c->ep, path, &i))
		see_time(c, i.last_rx_ns); /* nobody tells it with relay_path_up */
	l->path = path;
	l->phase = BASE_LIGHTPATH_OPEN;
	l->opened_ns = c->now_ns - l->ordered_ns;
	(void)suci_path_set_liveness(c->ep, path, c->conf.light_liveness_ns,
				     c->conf.light_liveness_ns / KEEPALIVES);
	set_lit(c, slot, true);
	if (!l->told)
		tell(c, slot, BASE_LIGHTPATH_OPEN);
	l->told = true;
}

/* Opens that cross with a refusal may meet in a path that one side has given up; a relay that
 * started anew knows none.  There is light, or was a moment ago. */
static bool
worth_another(enum suci_down why)
{
	return why == SUCI_DOWN_CLOSED || why == SUCI_DOWN_STALE || why == SUCI_DOWN_RESET ||
	       why == SUCI_DOWN_RESTARTED;
}

void
relay_light_down(struct relay_core *c, const struct path *p, uint32_t path, enum suci_down why)
{
	uint32_t slot = p->trunk;
	struct light *l = &c->light[slot];
	if (l->path != path || l->phase == BASE_LIGHTPATH_DARK)
		return; /* a former one */
	l->path = NONE;
	switch ((enum base_lightpath)l->phase) {
	case BASE_LIGHTPATH_OPENING: /* they have not been told yet */
		wake_at(c, l->retry_ns);
		return;
	case BASE_LIGHTPATH_CLOSING:
		c->n.lights_cut += p->tx_abandoned != 0;
		forget(c, slot);
		drained(c, slot);
		return;
	case BASE_LIGHTPATH_OPEN:
		if (worth_another(why)) {
			set_lit(c, slot, false);
			phase(c, slot, BASE_LIGHTPATH_OPENING, c->conf.light_open_ns);
			l->retry_ns = c->now_ns;
			l->nudges = 0;
			wake_at(c, c->now_ns);
			return;
		}
		forget(c, slot);
		tell(c, slot, BASE_LIGHTPATH_FAILED);
		return;
	case BASE_LIGHTPATH_DRAINED:
	case BASE_LIGHTPATH_FAILED: /* reported, never kept */
	case BASE_LIGHTPATH_DARK:
		break;
	}
	forget(c, slot);
}

void
relay_light_acked(struct relay_core *c, const struct path *p)
{
	uint32_t slot = p->trunk;
	struct light *l = &c->light[slot];
	if (l->phase == BASE_LIGHTPATH_CLOSING && &c->path[l->path] == p && !held(c, l))
		empty(c, slot);
}

static void
tick_slot(struct relay_core *c, uint32_t slot)
{
	struct light *l = &c->light[slot];
	uint64_t next = l->until_ns;
	if (l->phase == BASE_LIGHTPATH_DARK || l->phase == BASE_LIGHTPATH_OPEN)
		return;
	if (c->now_ns >= l->until_ns) {
		bool failed = l->phase == BASE_LIGHTPATH_OPENING;
		bool late = l->phase == BASE_LIGHTPATH_CLOSING;
		if (late) /* what it holds becomes strays, and relay_light_down() tells */
			suci_path_close(c->ep, l->path, TEXT_DARK, c->now_ns);
		else
			shut(c, slot);
		if (failed)
			tell(c, slot, BASE_LIGHTPATH_FAILED);
		return;
	}
	if (l->phase == BASE_LIGHTPATH_OPENING) {
		if (c->now_ns >= l->retry_ns)
			open_path(c, slot);
		next = base_min_ns(next, l->retry_ns);
	}
	wake_at(c, next);
}

void
relay_light_tick(struct relay_core *c)
{
	for (uint32_t i = 0; i < c->conf.nlights; i++)
		tick_slot(c, i);
}

/* ---- where segments go -------------------------------------------------------- */

uint32_t
relay_light_pick(const struct relay_core *c, const struct trunk *k)
{
	uint32_t best = NONE;
	uint64_t least = 0;
	for (uint32_t lit = k->lit; lit; lit &= lit - 1) {
		const struct light *l = &c->light[__builtin_ctz(lit)];
		uint64_t has = held(c, l);
		if (best != NONE && has >= least)
			continue;
		best = l->path;
		least = has;
	}
	return best;
}

const char *
relay_light_check(const struct relay_core *c)
{
	uint32_t lit = 0, lights = 0;
	for (uint32_t i = 0; i < c->conf.nlights; i++) {
		const struct light *l = &c->light[i];
		if (l->phase == BASE_LIGHTPATH_DARK)
			continue;
		bool is = c->trunk[l->peer].lit >> i & 1;
		if (is != (l->phase == BASE_LIGHTPATH_OPEN))
			return "a slot is lit = its trunk says so";
		if (is && (l->path == NONE || !c->path[l->path].up))
			return "a lit slot has a path that is up";
		if (l->path != NONE &&
		    (c->path[l->path].kind != RELAY_PATH_LIGHT || c->path[l->path].trunk != i))
			return "a slot and its path name each other";
		lit += is;
		lights++;
	}
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++)
		lights -= c->trunk[t].lights;
	if (lights || lit != c->nlit)
		return "slots in use = those of all trunks";
	return NULL;
}
