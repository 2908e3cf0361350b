/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths: who may open one, what it carries, what its end means. */
#include "door_internal.h"

#include "canary.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int __attribute__((format(printf, 3, 4)))
refuse(uint64_t *counter, char why[SUCI_TEXT_MAX], const char *fmt, ...)
{
	va_list ap;
	++*counter;
	va_start(ap, fmt);
	vsnprintf(why, SUCI_TEXT_MAX, fmt, ap);
	va_end(ap);
	return -1;
}

uint32_t
relay_trunk_find(const struct relay_core *c, const struct suci_addr *addr)
{
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++)
		if (c->trunk[t].used && same_addr(&c->trunk[t].addr, addr))
			return t;
	return NONE;
}

uint32_t
relay_trunk_get(struct relay_core *c, const struct suci_addr *addr)
{
	uint32_t t = relay_trunk_find(c, addr), idle = NONE, path;
	if (t != NONE)
		return t;
	for (t = 0; t < c->conf.limits.trunks_max && c->trunk[t].used; t++)
		if (c->trunk[t].users == 0 && !c->trunk[t].lights &&
		    (idle == NONE || !c->trunk[t].nuntold))
			idle = t;
	if (t == c->conf.limits.trunks_max) {
		if (idle == NONE)
			return NONE;
		t = idle;
		path = c->trunk[t].path;
		if (path != NONE) {
			c->path[path].kind = RELAY_PATH_NONE;
			suci_path_close(c->ep, path, TEXT_IDLE, c->now_ns);
		}
		relay_untold_forget(c, t);
	}
	c->trunk[t] = (struct trunk){.used = true,
				     .addr = *addr,
				     .path = NONE,
				     .weight = RELAY_WEIGHT_MAX,
				     .door_root = NONE,
				     .exports = NONE};
	return t;
}

void
relay_trunk_rest(struct relay_core *c, uint32_t t)
{
	struct trunk *k = &c->trunk[t];
	if (k->users == 0 && k->path == NONE)
		k->used = k->nuntold || k->lights;
}

/* ---- who may come in ----------------------------------------------------- */

static bool
is_configured_peer(const struct relay_core *c, const struct suci_addr *from)
{
	for (uint32_t i = 0; i < c->conf.npeers; i++)
		if (same_addr(&c->conf.peer[i], from))
			return true;
	return false;
}

static int
accept_trunk(struct relay_core *c, const struct suci_addr *from, const struct relay_hello *h,
	     char why[SUCI_TEXT_MAX])
{
	char text[SUCI_ADDR_TEXT_MAX];
	if (from->family == 6 && !relay_name_of(c, from))
		return refuse(&c->n.accept_relay, why,
			      "%s is the IPv6 address of no relay in trunks.ipv6 here",
			      suci_addr_text(from, text));
	if (relay_trunk_find(c, from) == NONE) {
		if (!is_configured_peer(c, from) && !relay_door_proves(c, h))
			return refuse(&c->n.accept_relay, why,
				      "%s is named by no current job and no configuration here",
				      suci_addr_text(from, text));
		if (relay_trunk_get(c, from) == NONE)
			return refuse(&c->n.accept_full, why, "no trunk slot left here");
	}
	return 0;
}

/* It is what that label says, and no other. */
static bool
says_right(const struct job *j, const struct relay_hello *h)
{
	for (uint32_t r = 0; RELAY_BUG(SIBLING) && r < j->nworld; r++)
		if (relay_hello_token(j->hello_token, j->label_base + r) == h->token)
			return true;
	return relay_hello_token(j->hello_token, h->label) == h->token;
}

/* The process a hello speaks for, or NULL with the reason in why. */
static struct proc *
hello_proc(struct relay_core *c, const struct suci_addr *from, const struct relay_hello *h,
	   char why[SUCI_TEXT_MAX], uint32_t *job, uint32_t *rank)
{
	/* The same text for all three: who guesses learns nothing from one of them. */
	static const char text[] = "no current job here has that label and token";
	struct proc *p = find_proc(c, h->label, job, rank);
	if (!p) {
		refuse(&c->n.accept_label, why, "%s", text);
		return NULL;
	}
	if (relay_guess_bound(c, &c->job[*job], p, from)) {
		refuse(&c->n.accept_guesses, why, "%s", text);
		return NULL;
	}
	if (!says_right(&c->job[*job], h)) {
		relay_guess_wrong(c, &c->job[*job], p, from);
		refuse(&c->n.accept_token, why, "%s", text);
		return NULL;
	}
	if (*rank != h->rank || (p->flags & PROC_FOREIGN) ||
	    ((p->flags & PROC_LOCAL) != 0) != (from->leg == RELAY_LEG_PRIVATE)) {
		refuse(&c->n.accept_rank, why,
		       "process %u is not one that may come in there (label says %u)", h->rank,
		       *rank);
		return NULL;
	}
	return p;
}

/* A process that wants to register doors. */
static int
accept_doors(struct relay_core *c, const struct suci_addr *from, char why[SUCI_TEXT_MAX])
{
	if (!c->conf.limits.doors_max || from->leg != RELAY_LEG_PRIVATE)
		return refuse(&c->n.accept_doors, why, "there are no doors here");
	/* Jobs have the other half. */
	if (c->doors.npaths >= (c->conf.limits.paths_max + 1) / 2)
		return refuse(&c->n.accept_full, why, "no path for processes with doors left here");
	return 0;
}

int
relay_path_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
		  char why[SUCI_TEXT_MAX])
{
	struct relay_core *c = user;
	struct relay_hello h;
	uint32_t job, rank;
	int err;

	relay_new_era(c);
	if (relay_hello_decode(hello, hello_len, &h))
		return refuse(&c->n.accept_hello, why,
			      "not a Suci hello of version %d; fix: one release of relayd and "
			      "libmpi at all sites",
			      RELAY_HELLO_VERSION);
	if (c->leaving)
		return refuse(&c->n.accept_leaving, why, "this relay goes away");
	if (h.kind == RELAY_HELLO_GATEWAY)
		return refuse(&c->n.accept_hello, why, "a gateway opens no paths");
	if (from->leg >= RELAY_LEG_LIGHT) {
		if (h.kind != RELAY_HELLO_RELAY || relay_light_expected(c, from) == NONE)
			return refuse(&c->n.accept_light, why, "no light is to come from there");
		err = 0;
	} else if (h.kind == RELAY_HELLO_RELAY) {
		err = accept_trunk(c, from, &h, why);
	} else if (h.kind == RELAY_HELLO_DOOR) {
		err = accept_doors(c, from, why);
	} else {
		const struct proc *p = hello_proc(c, from, &h, why, &job, &rank);
		if (!p)
			return -1;
		/* A process with a global address carries itself: a trunk. */
		err = p->flags & PROC_LOCAL ? 0 : accept_trunk(c, from, &h, why);
	}
	c->n.accepted += err == 0;
	if (!err && c->conf.trunk_mtu_start) {
		uint8_t own[RELAY_HELLO_LEN];
		relay_core_hello(c, own);
		(void)suci_set_hello(c->ep, own, sizeof own);
	}
	return err;
}

/* ---- up ------------------------------------------------------------------- */

static const char *
describe(const struct relay_core *c, const struct path *p, char out[64])
{
	if (p->kind == RELAY_PATH_TRUNK)
		snprintf(out, 64, "trunk");
	else if (p->kind == RELAY_PATH_GATEWAY)
		snprintf(out, 64, "gateway of relay %u", p->trunk);
	else if (p->kind == RELAY_PATH_LIGHT)
		snprintf(out, 64, "light of port %u", p->trunk);
	else if (p->kind == RELAY_PATH_DOOR)
		snprintf(out, 64, "process with doors");
	else if (p->kind == RELAY_PATH_PROC && p->job != NONE)
		snprintf(out, 64, "process %u of job %u", p->rank, c->job[p->job].id);
	else
		snprintf(out, 64, "path of a job that is over");
	return out;
}

/* Before it is tried again. */
static uint64_t
trunk_pause(const struct relay_core *c, const struct trunk *k)
{
	uint32_t doubled = k->flaps > 1 ? k->flaps - 1u : 0;
	uint64_t pause = doubled < 16 ? c->conf.retry_ns << doubled : HOLD_NS;
	return pause > HOLD_NS ? base_max_ns(HOLD_NS, c->conf.retry_ns) : pause;
}

static void
path_reset(struct path *p, const struct suci_addr *peer)
{
	*p = (struct path){.job = NONE,
			   .trunk = NONE,
			   .close_ns = BASE_NEVER_NS,
			   .peer = *peer,
			   .doors = NONE,
			   .holds = NONE};
}

/* What an incoming path carries, by its hello. */
static bool
bind_incoming(struct relay_core *c, uint32_t path, const struct suci_addr *peer, const void *hello,
	      size_t hello_len)
{
	struct path *p = &c->path[path];
	struct relay_hello h;
	char why[SUCI_TEXT_MAX];
	uint32_t job, rank;

	if (relay_hello_decode(hello, hello_len, &h))
		return false;
	if (peer->leg >= RELAY_LEG_LIGHT) {
		uint32_t slot = relay_light_expected(c, peer);
		path_reset(p, peer);
		p->kind = slot == NONE ? RELAY_PATH_NONE : RELAY_PATH_LIGHT;
		p->trunk = slot;
		return slot != NONE;
	}
	const struct proc *proc = NULL;
	if (h.kind == RELAY_HELLO_PROCESS) {
		proc = hello_proc(c, peer, &h, why, &job, &rank);
		if (!proc)
			return false;
	}
	path_reset(p, peer);
	if (h.kind == RELAY_HELLO_DOOR) {
		p->kind = RELAY_PATH_DOOR;
		return true;
	}
	if (proc && (proc->flags & PROC_LOCAL)) {
		p->kind = RELAY_PATH_PROC;
		p->job = job;
		p->rank = rank;
		return true;
	}
	uint32_t t = relay_trunk_find(c, peer);
	if (t == NONE)
		return false;
	p->kind = RELAY_PATH_TRUNK;
	p->trunk = t;
	c->trunk[t].path = path;
	return true;
}

static bool
is_gateway(const void *hello, size_t hello_len)
{
	struct relay_hello h;
	return relay_hello_decode(hello, hello_len, &h) == 0 && h.kind == RELAY_HELLO_GATEWAY;
}

/* After a life shorter than FLAP_NS it is a standby for as long as it waited. */
static void
trunk_up(struct relay_core *c, uint32_t t)
{
	struct trunk *k = &c->trunk[t];
	k->up = true;
	k->up_ns = c->now_ns;
	k->ups++;
	k->list_number = 0;
	k->usable_ns = k->flaps > 1 ? base_add_ns(c->now_ns, trunk_pause(c, k)) : 0;
	k->rate = 0;
	k->tell = true;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
		if (c->job[i].used && c->job[i].trunk_clients[t])
			relay_group_look(c, &c->job[i]);
	relay_door_trunk_up(c, t);
	if (k->nuntold || c->conf.ncluster || c->nstrays)
		wake_at(c, c->now_ns);
}

void
relay_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	      size_t hello_len, bool incoming)
{
	struct relay_core *c = user;
	struct path *p = &c->path[path];
	struct relay_hello h;
	char what[64];

	relay_new_era(c);
	BASE_ASSERT(path < c->conf.limits.paths_max);
	/* A path we opened ourselves is bound already, whoever's OPEN won. */
	if (p->kind == RELAY_PATH_NONE &&
	    (!incoming || !bind_incoming(c, path, peer, hello, hello_len))) {
		suci_path_close(c->ep, path, "not expected here", c->now_ns);
		return;
	}
	if (p->kind == RELAY_PATH_GATEWAY && !is_gateway(hello, hello_len)) {
		suci_path_close(c->ep, path, "it is not a gateway", c->now_ns);
		return;
	}
	p->up = true;
	if (p->kind == RELAY_PATH_TRUNK) {
		trunk_up(c, p->trunk);
	} else if (p->kind == RELAY_PATH_GATEWAY) {
		c->gateway[p->trunk].up = true;
	} else if (p->kind == RELAY_PATH_LIGHT) {
		relay_light_up(c, path);
	} else if (p->kind == RELAY_PATH_DOOR) {
		c->doors.npaths++;
		/* As below: it answers only while it is inside the library. */
		suci_path_set_liveness(c->ep, path, 0, c->conf.local_keepalive_ns);
	} else if (p->job != NONE) {
		struct job *j = &c->job[p->job];
		struct proc *proc = job_proc(c, j, p->rank);
		proc->path = path;
		j->state = j->state || proc->flags & PROC_ABSENT;
		proc->flags &= (uint16_t)~PROC_ABSENT;
		memset(p->lost_number, 0, sizeof p->lost_number);
		relay_proc_unwant(j, proc);
		if (c->conf.ncluster) {
			proc->flags |= PROC_TELL_RELAYS | PROC_TELL_WAYS;
			j->tell = true;
		}
		if (relay_hello_decode(hello, hello_len, &h) == 0 && h.survives)
			relay_job_tolerates(c, j);
		if (j->tolerant) {
			proc->flags |= PROC_TELL_DEAD;
			j->tell = true;
		}
		if (c->conf.ncluster || c->nstrays || j->tolerant || j->state)
			wake_at(c, c->now_ns);
		/* A process answers only while it is inside the library: silence means
		 * it computes.  That it is gone says its node (port unreachable, no
		 * ARP answer) or its cluster's launcher. */
		suci_path_set_liveness(c->ep, path, 0, c->conf.local_keepalive_ns);
		if (c->conf.ops->proc_up)
			c->conf.ops->proc_up(c->conf.user, j->label_base, p->rank);
	}
	if (c->conf.ops->path_up)
		c->conf.ops->path_up(c->conf.user, path, peer, describe(c, p, what));
}

/* ---- down ----------------------------------------------------------------- */

static const char *
down_text(enum suci_down why, const char *text)
{
	return text && text[0] ? text : suci_down_text(why);
}

/* Another path of the same process that is up, or NONE. */
static uint32_t
other_path(const struct relay_core *c, const struct path *p)
{
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++) {
		const struct path *o = &c->path[i];
		if (o != p && o->kind == RELAY_PATH_PROC && o->up && o->job == p->job &&
		    o->rank == p->rank)
			return i;
	}
	return NONE;
}

/* Does that say that the process is gone, and not only the way to it, or a try to open one? */
static bool
is_death(enum suci_down why)
{
	return why == SUCI_DOWN_UNREACHABLE || why == SUCI_DOWN_CLOSED;
}

/* The other side lives, and nothing we had in custody went with the path. */
static bool
is_stale(const struct path *p, enum suci_down why)
{
	return why == SUCI_DOWN_STALE && !p->tx_abandoned;
}

static void
proc_down(struct relay_core *c, const struct path *p, uint32_t path, enum suci_down why,
	  const char *text)
{
	struct job *j = &c->job[p->job];
	struct proc *proc = job_proc(c, j, p->rank);
	char at[SUCI_ADDR_TEXT_MAX], msg[RELAY_WHY_MAX];
	bool bound = proc->path == path;

	if (bound)
		proc->path = other_path(c, p);
	if (p->up && why == SUCI_DOWN_CLOSED && !(text && text[0]))
		proc->flags |= PROC_LEFT;
	if (proc->flags & PROC_LEFT && j->tolerant)
		relay_bury(c, j, p->rank, 1);
	if (p->up) {
		j->state = true;
		wake_at(c, c->now_ns);
	}
	if ((proc->flags & PROC_LEFT) || proc->path != NONE || why == SUCI_DOWN_LOCAL)
		return;
	/* The way between us was cut: it goes over other relays meanwhile, and will be back.
	 * What it was owed goes again end to end. */
	if (c->conf.ncluster > 1 && !is_death(why)) {
		relay_proc_want(c, j, proc, c->now_ns + PROC_AGAIN_NS);
		return;
	}
	if (is_stale(p, why)) {
		relay_proc_want(c, j, proc, c->now_ns + c->conf.retry_ns);
		return;
	}
	/* Never connected and nothing lost: it may not be ready yet. */
	if (!p->up && !p->tx_abandoned &&
	    (c->now_ns < j->open_until_ns || !(proc->flags & PROC_NEEDED))) {
		if (c->now_ns < j->open_until_ns)
			relay_proc_want(c, j, proc, c->now_ns + c->conf.retry_ns);
		else if (why == SUCI_DOWN_UNREACHABLE)
			relay_miss(c, j, p->rank);
		return;
	}
	if (j->tolerant) {
		relay_bury(c, j, p->rank, 1);
		return;
	}
	relay_text_set(msg, "process %u (%s, client %u) is gone: %s", p->rank,
		       suci_addr_text(&p->peer, at), j->my_client, down_text(why, text));
	relay_job_abort(c, j, path, msg);
}

/* Do all that the job reaches over this trunk say they have finished? */
static bool
trunk_left(const struct job *j, uint32_t t)
{
	for (uint32_t h = 0; h < j->nhosts; h++)
		if (j->host[h].process && j->host[h].trunk == t && !j->host[h].left)
			return false;
	for (uint32_t mask = j->trunk_clients[t]; mask; mask &= mask - 1) {
		const struct way *w =
			relay_group_find((struct group *)&j->group[__builtin_ctz(mask)], t);
		if (w && !w->left)
			return false;
	}
	return true;
}

/* Is anything of the job out of reach now that this trunk is down, for good?  late: it has
 * not come up for connect_ns. */
static bool
job_lost(const struct relay_core *c, const struct job *j, uint32_t t, bool late)
{
	for (uint32_t mask = j->trunk_clients[t]; mask; mask &= mask - 1) {
		uint32_t client = (uint32_t)__builtin_ctz(mask);
		const struct group *g = &j->group[client];
		if (!relay_group_find((struct group *)g, t)) /* a process */
			return true;
		if (relay_out_of_reach(c, j, client, late))
			return true;
	}
	return false;
}

/* What the relay behind the trunk said of others is void, and what it had in custody may be
 * lost. */
static void
trunk_gone(struct relay_core *c, struct job *j, uint32_t t, bool resend)
{
	for (uint32_t mask = j->trunk_clients[t]; mask; mask &= mask - 1) {
		uint32_t client = (uint32_t)__builtin_ctz(mask);
		struct group *g = &j->group[client];
		const struct way *w = relay_group_find(g, t);
		if (!w)
			continue;
		g->last = t;
		for (uint32_t k = 0; k < g->n; k++)
			if (g->way[k].lost_by == 1 + (w - g->way))
				g->way[k].lost_by = 0;
		if (resend) {
			j->resend |= 1u << client;
			relay_tell_procs(c, j, PROC_TELL_WAYS);
		}
	}
	relay_group_look(c, j);
}

/* late: connecting has failed for connect_ns; down: it was up, or had something in custody. */
static void
trunk_jobs(struct relay_core *c, uint32_t t, uint32_t path, bool down, bool late)
{
	char at[SUCI_ADDR_TEXT_MAX], who[128], msg[RELAY_WHY_MAX];
	suci_addr_text(&c->trunk[t].addr, at);
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		struct job *j = &c->job[i];
		if (!j->used || !j->trunk_clients[t])
			continue;
		trunk_gone(c, j, t, down);
		if (!(down || late) || trunk_left(j, t) || !job_lost(c, j, t, late))
			continue;
		if (j->tolerant) {
			relay_bury_lost(c, j, t, late);
			continue;
		}
		relay_clients_text(j->trunk_clients[t], who, sizeof who);
		relay_text_set(msg, "relay %s of %s is gone: %s", at, who, c->trunk[t].why);
		relay_job_abort(c, j, path, msg);
	}
}

/* Would another try begin after until?  A handshake that nobody answers may last connect_ns itself,
 * by our clock, which is the last turn's, a moment less: one more would double the wait. */
static bool
too_late(const struct relay_core *c, uint64_t until_ns)
{
	return base_add_ns(c->now_ns, c->conf.retry_ns) > until_ns;
}

/* Its jobs find it quiet, not gone: it is opened again and has connect_ns for it. */
static void
trunk_idle(struct relay_core *c, uint32_t t)
{
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		struct job *j = &c->job[i];
		uint32_t mask = j->used ? j->trunk_clients[t] : 0;
		for (; mask; mask &= mask - 1)
			j->group[__builtin_ctz(mask)].was_up = false;
	}
}

static void
trunk_down(struct relay_core *c, const struct path *p, uint32_t path, enum suci_down why,
	   const char *text)
{
	struct trunk *t = &c->trunk[p->trunk];
	bool was_idle = (why == SUCI_DOWN_CLOSED && text && strcmp(text, TEXT_IDLE) == 0) ||
			is_stale(p, why);
	bool down = (p->up && !was_idle) || p->tx_abandoned, late = too_late(c, t->until_ns);

	if (t->path != path)
		return;
	t->path = NONE;
	t->up = false;
	relay_door_trunk_down(c, p->trunk);
	snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, down_text(why, text));
	if (p->up && !was_idle && c->now_ns - t->up_ns < FLAP_NS)
		t->flaps = t->flaps < UINT8_MAX ? (uint8_t)(t->flaps + 1) : t->flaps;
	else if (p->up)
		t->flaps = 0;
	if (was_idle)
		trunk_idle(c, p->trunk);
	if (why != SUCI_DOWN_LOCAL && t->users)
		trunk_jobs(c, p->trunk, path, down, late);
	if (t->users == 0) {
		relay_trunk_rest(c, (uint32_t)(t - c->trunk));
		return;
	}
	/* Refused or silent at first: the other side may not have the job yet. */
	if (late)
		t->until_ns = base_add_ns(c->now_ns, c->conf.connect_ns);
	t->retry_ns = base_add_ns(c->now_ns, trunk_pause(c, t));
	wake_at(c, t->retry_ns);
}

static void
gateway_down(struct relay_core *c, const struct path *p, uint32_t path, enum suci_down why,
	     const char *text)
{
	struct gateway *w = &c->gateway[p->trunk];
	char at[SUCI_ADDR_TEXT_MAX], msg[RELAY_WHY_MAX];
	bool late = too_late(c, w->until_ns);

	if (w->path != path)
		return;
	w->path = NONE;
	w->up = false;
	/* LOCAL: the endpoint goes, or it was no gateway: as if it had refused. */
	bool was_up = p->up && !is_stale(p, why);
	bool lost = why == SUCI_DOWN_LOCAL ? !p->up && late : was_up || p->tx_abandoned || late;
	relay_text_set(msg, "gateway %s of relay %u is gone: %s",
		       suci_addr_text(&c->conf.gateway[p->trunk], at), p->trunk,
		       down_text(why, text));
	for (uint32_t i = 0; lost && i < c->conf.limits.jobs_max; i++)
		if (c->job[i].used && uses_gateway(&c->job[i], p->trunk))
			relay_job_abort(c, &c->job[i], path, msg);
	if (w->users == 0)
		return;
	if (late)
		w->until_ns = base_add_ns(c->now_ns, c->conf.connect_ns);
	w->retry_ns = base_add_ns(c->now_ns, c->conf.retry_ns);
	wake_at(c, w->retry_ns);
}

void
relay_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct relay_core *c = user;
	struct path *p = &c->path[path];
	char what[64], printable[RELAY_WHY_MAX];

	relay_new_era(c);
	relay_text_copy(printable, text ? text : "", text ? strnlen(text, SUCI_TEXT_MAX) : 0);
	struct path old = *p;
	describe(c, p, what);
	/* From here on the slot is nobody's; old says what it was. */
	p->kind = RELAY_PATH_NONE;
	p->up = false;
	p->job = NONE;
	p->close_ns = BASE_NEVER_NS;
	if (c->conf.ops->path_down && old.kind != RELAY_PATH_NONE)
		c->conf.ops->path_down(c->conf.user, path, &old.peer, what,
				       down_text(why, printable));
	if (old.kind == RELAY_PATH_PROC && old.job != NONE)
		proc_down(c, &old, path, why, printable);
	else if (old.kind == RELAY_PATH_TRUNK)
		trunk_down(c, &old, path, why, printable);
	else if (old.kind == RELAY_PATH_GATEWAY)
		gateway_down(c, &old, path, why, printable);
	else if (old.kind == RELAY_PATH_LIGHT)
		relay_light_down(c, &old, path, why);
	else if (old.kind == RELAY_PATH_DOOR && old.up)
		c->doors.npaths--;
	if (old.doors != NONE || old.holds != NONE)
		relay_door_path_down(c, &old, path, why == SUCI_DOWN_CLOSED ? printable : "",
				     why == SUCI_DOWN_CLOSED || why == SUCI_DOWN_UNREACHABLE);
}

/* ---- opening (never from a callback) -------------------------------------- */

void
relay_proc_want(struct relay_core *c, struct job *j, struct proc *p, uint64_t at_ns)
{
	if (!(p->flags & PROC_WANTED)) {
		p->flags |= PROC_WANTED;
		j->wanted++;
	}
	j->open_at_ns = base_min_ns(j->open_at_ns, at_ns);
	wake_at(c, at_ns);
}

void
relay_proc_unwant(struct job *j, struct proc *p)
{
	if (p->flags & PROC_WANTED) {
		p->flags &= (uint16_t)~PROC_WANTED;
		j->wanted--;
	}
}

static void
open_hello(const struct relay_core *c, uint64_t token, uint32_t label, uint8_t out[RELAY_HELLO_LEN])
{
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY,
				.token = relay_hello_token(token, label),
				.label = label,
				.rank = RELAY_RANK_NONE,
				.mtu = relay_trunks_mtu(c)};
	relay_hello_encode(&h, out);
}

void
relay_trunk_use(struct relay_core *c, struct job *j, uint32_t t, uint32_t client)
{
	struct trunk *k = &c->trunk[t];
	if (!j->trunk_clients[t])
		k->users++;
	j->trunk_clients[t] |= 1u << client;
	k->tell = true;
	if (k->up || k->path != NONE)
		return;
	k->until_ns = base_add_ns(c->now_ns, c->conf.connect_ns);
	k->retry_ns = c->now_ns;
	wake_at(c, c->now_ns);
}

void
relay_trunk_open(struct relay_core *c, uint32_t t)
{
	struct trunk *k = &c->trunk[t];
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t path = NONE;

	if (k->path != NONE)
		return;
	open_hello(c, k->hello_token, k->hello_label, hello);
	int err = suci_path_open(c->ep, &k->addr, hello, sizeof hello, &path, c->now_ns);
	if (err) {
		/* EXISTS: their OPEN is on its way to us; NOMEM: paths will be freed. */
		k->retry_ns = base_add_ns(c->now_ns, c->conf.retry_ns);
		wake_at(c, k->retry_ns);
		return;
	}
	path_reset(&c->path[path], &k->addr);
	c->path[path].kind = RELAY_PATH_TRUNK;
	c->path[path].trunk = t;
	k->path = path;
}

void
relay_gateway_open(struct relay_core *c, uint32_t g)
{
	struct gateway *w = &c->gateway[g];
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t path = NONE;

	if (w->path != NONE)
		return;
	open_hello(c, 0, 0, hello);
	if (suci_path_open(c->ep, &c->conf.gateway[g], hello, sizeof hello, &path, c->now_ns)) {
		w->retry_ns = base_add_ns(c->now_ns, c->conf.retry_ns);
		wake_at(c, w->retry_ns);
		return;
	}
	path_reset(&c->path[path], &c->conf.gateway[g]);
	c->path[path].kind = RELAY_PATH_GATEWAY;
	c->path[path].trunk = g;
	w->path = path;
}

void
relay_proc_open(struct relay_core *c, uint32_t job, uint32_t rank)
{
	struct job *j = &c->job[job];
	struct proc *p = job_proc(c, j, rank);
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t path = NONE;

	if (p->path != NONE || (p->flags & PROC_LEFT)) {
		relay_proc_unwant(j, p);
		return;
	}
	open_hello(c, p->token, p->label_base + rank, hello);
	int err = suci_path_open(c->ep, &p->addr, hello, sizeof hello, &path, c->now_ns);
	if (err == SUCI_ERR_EXISTS && path < c->conf.limits.paths_max &&
	    c->path[path].kind == RELAY_PATH_PROC && c->path[path].job == NONE) {
		/* The path of a job that is over, to the same port. */
		c->path[path].kind = RELAY_PATH_NONE;
		suci_path_close(c->ep, path, "", c->now_ns);
	}
	if (err)
		return; /* still wanted */
	path_reset(&c->path[path], &p->addr);
	c->path[path].kind = RELAY_PATH_PROC;
	c->path[path].job = job;
	c->path[path].rank = rank;
	p->path = path;
	relay_proc_unwant(j, p);
}
