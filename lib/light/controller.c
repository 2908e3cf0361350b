/* SPDX-License-Identifier: BSD-2-Clause */
/* Agents and their frames, communicators, calls as they are announced. */
#include "controller_internal.h"

#include "base/clock.h"
#include "canary.h"

#include <string.h>

static uint64_t
or_else(uint64_t given, uint64_t ms)
{
	return given ? given : ms * BASE_MS_NS;
}

static bool
controller_limits_ok(const struct light_controller_config *cfg)
{
	return cfg->ports && cfg->ports <= OCS_PORTS_MAX && cfg->agents && cfg->jobs &&
	       cfg->agents <= LIGHT_AGENTS_MAX && cfg->comms && cfg->calls && cfg->ranks &&
	       cfg->call_bytes && cfg->groups <= LIGHT_GROUPS_MAX;
}

static size_t
leases_bytes(const struct light_controller_config *cfg)
{
	return ocs_leases_footprint(cfg->ports, cfg->jobs, cfg->agents);
}

size_t
light_controller_footprint(const struct light_controller_config *cfg)
{
	if (!controller_limits_ok(cfg))
		return 0;
	return base_carved(sizeof(struct light_controller)) + base_carved(leases_bytes(cfg)) +
	       base_carved(cfg->agents * sizeof(struct agent)) +
	       base_carved(cfg->jobs * sizeof(struct job)) +
	       cfg->jobs * (base_carved(cfg->call_bytes) + base_carved(cfg->agents)) +
	       base_carved(cfg->comms * sizeof(struct comm)) +
	       2 * cfg->comms * base_carved((size_t)cfg->ranks * 4) +
	       cfg->comms * base_carved((size_t)cfg->ranks * 8) +
	       base_carved(cfg->calls * sizeof(struct call)) +
	       base_carved(cfg->ports * sizeof(struct link)) +
	       3 * base_carved((size_t)cfg->ports * 4) + base_carved(cfg->ports) + BASE_CARVE_ALIGN;
}

struct light_controller *
light_controller_new(void *mem, const struct light_controller_config *cfg)
{
	uint8_t *to = base_carve_from(mem);
	struct light_controller *c = base_carve(&to, sizeof *c);
	*c = (struct light_controller){.cfg = *cfg};
	struct light_controller_config *g = &c->cfg;
	g->patience_ns = or_else(g->patience_ns, 300);
	g->link_ns = or_else(g->link_ns, 250);
	g->drain_ns = or_else(g->drain_ns, 50);
	g->stall_ns = or_else(g->stall_ns, 500);
	g->slice_ns = or_else(g->slice_ns, 200);
	c->m = ocs_control_matrix(cfg->control);
	ocs_try_costs(c->m, g->patience_ns);
	void *leases = base_carve(&to, leases_bytes(cfg));
	c->agent = base_carve(&to, cfg->agents * sizeof *c->agent);
	c->job = base_carve(&to, cfg->jobs * sizeof *c->job);
	c->comm = base_carve(&to, cfg->comms * sizeof *c->comm);
	c->call = base_carve(&to, cfg->calls * sizeof *c->call);
	c->link = base_carve(&to, cfg->ports * sizeof *c->link);
	c->poll_ns = BASE_NEVER_NS;
	c->link_of = base_carve(&to, (size_t)cfg->ports * 4);
	c->node_of = base_carve(&to, (size_t)cfg->ports * 4);
	c->slot_of = base_carve(&to, (size_t)cfg->ports * 4);
	c->away = base_carve(&to, cfg->ports);
	memset(c->away, 0, cfg->ports);
	memset(c->agent, 0, cfg->agents * sizeof *c->agent);
	memset(c->comm, 0, cfg->comms * sizeof *c->comm);
	memset(c->call, 0, cfg->calls * sizeof *c->call);
	memset(c->link, 0, cfg->ports * sizeof *c->link);
	memset(c->link_of, 0xff, (size_t)cfg->ports * 4);
	memset(c->node_of, 0xff, (size_t)cfg->ports * 4);
	for (uint32_t i = 0; i < cfg->comms; i++) {
		c->comm[i].world = base_carve(&to, (size_t)cfg->ranks * 4);
		c->comm[i].client = base_carve(&to, (size_t)cfg->ranks * 4);
		c->comm[i].domain = base_carve(&to, (size_t)cfg->ranks * 8);
	}
	for (uint32_t i = 0; i < cfg->jobs; i++)
		c->job[i] = (struct job){.mem = base_carve(&to, cfg->call_bytes),
					 .client = base_carve(&to, cfg->agents)};
	c->leases = ocs_leases_new(leases, cfg->ports, c->node_of, cfg->jobs, cfg->agents);
	return c;
}

/* ---- what is said ---- */

bool
light_controller_send(struct light_controller *c, uint32_t agent, const struct light_frame *f)
{
	return c->agent[agent].here && c->cfg.ops->send(c->cfg.user, agent, f);
}

void
light_controller_event(struct light_controller *c, struct light_event e)
{
	if (c->cfg.ops->event)
		c->cfg.ops->event(c->cfg.user, &e);
}

static struct light_offer
offer_for(const struct light_controller *c, const struct agent *a)
{
	struct light_offer o = {.on = c->online && a->hello.n > 0,
				.ports = a->hello.n,
				.mode = (uint8_t)c->cfg.mode,
				.version = LIGHT_VERSION};
	/* Circuits that lie already pay for less than one that has to be set up. */
	if (c->cfg.mode == CIRC_MODE_AUTO || c->cfg.mode == CIRC_MODE_HYBRID)
		o.light_from = circ_switch_point(&c->cfg.costs) / 8;
	return o;
}

static void
offer_controller(struct light_controller *c, uint32_t i)
{
	struct agent *a = &c->agent[i];
	struct light_offer o = offer_for(c, a);
	if (!a->here || (a->told && o.on == a->offer.on))
		return;
	a->told = true;
	a->offer = o;
	struct light_frame f = {.type = LIGHT_FRAME_OFFER, .offer = o};
	light_controller_send(c, i, &f);
}

static void
go_any_at(struct light_controller *c, uint64_t key, uint32_t agent, const struct light_call *call)
{
	struct light_note n = {.kind = LIGHT_NOTE_CLEAR_TO_SEND, .counts = 1};
	uint8_t bytes[LIGHT_NOTE_MAX];
	n.u.count[0] = (struct light_count){call->comm, call->leader, call->seq,
					    LIGHT_ANY,	LIGHT_ANY,    UINT32_MAX};
	struct light_frame f = {.type = LIGHT_FRAME_NOTE,
				.key = key,
				.rank = LIGHT_ANY,
				.note = bytes,
				.note_len = (uint16_t)light_note_encode(&n, bytes)};
	light_controller_send(c, agent, &f);
}

void
light_controller_go_any(struct light_controller *c, const struct job *j,
			const struct light_call *call)
{
	for (uint32_t i = 0; i < c->cfg.agents; i++)
		if (j->client[i] != AWAY)
			go_any_at(c, j->key, i, call);
}

/* ---- agents ---- */

static bool
same_addr(struct light_addr a, struct light_addr b)
{
	return a.ipv4 == b.ipv4 && a.port == b.port;
}

static bool
hello_ok(const struct light_controller *c, uint32_t agent, const struct light_hello *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t p = h->port[i].switch_port;
		if (p < c->cfg.ports && c->node_of[p] != NO_AGENT && c->node_of[p] != agent)
			return false; /* another relay says that it is wired there */
		for (uint32_t k = 0; k < i; k++)
			if (h->port[k].switch_port == p)
				return false;
	}
	return true;
}

/* NULL, and the group of its ports; or why none of them is planned with. */
static const char *
agent_placed(const struct light_controller *c, struct agent *a)
{
	a->group = c->cfg.groups;
	for (uint32_t i = 0; i < a->hello.n; i++)
		if (a->hello.port[i].switch_port >= c->cfg.ports)
			return LIGHT_TEXT_BEYOND;
	for (uint32_t i = 0; c->cfg.groups && i < a->hello.n; i++) {
		uint32_t g = c->cfg.group_of[a->hello.port[i].switch_port];
		if (i && g != a->group)
			return LIGHT_TEXT_GROUPS;
		a->group = g;
	}
	return NULL;
}

static bool
hello(struct light_controller *c, uint32_t agent, const struct light_hello *h, uint64_t now_ns)
{
	struct agent *a = &c->agent[agent];
	for (uint32_t i = 0; i < c->cfg.agents; i++)
		if (i != agent && c->agent[i].here &&
		    same_addr(c->agent[i].hello.relay, h->relay)) {
			light_controller_gone(c, i, now_ns);
			c->cfg.ops->hang_up(c->cfg.user, i);
		}
	if (a->here || !hello_ok(c, agent, h))
		return false;
	*a = (struct agent){.here = true, .hello = *h};
	const char *why = agent_placed(c, a);
	if (why)
		a->hello.n = 0;
	for (uint32_t i = 0; i < a->hello.n; i++) {
		c->node_of[h->port[i].switch_port] = agent;
		c->slot_of[h->port[i].switch_port] = i;
	}
	light_controller_event(
		c, (struct light_event){
			   .kind = LIGHT_EVENT_AGENT, .at_ns = now_ns, .a = h->relay, .text = why});
	offer_controller(c, agent);
	return true;
}

/* Processes of the job are not at that agent any more. */
static void
job_leaves(struct light_controller *c, struct job *j, uint32_t agent, uint64_t now_ns)
{
	uint32_t left = 0;
	if (!j->used || j->client[agent] == AWAY)
		return;
	j->client[agent] = AWAY;
	for (uint32_t i = 0; i < c->cfg.agents; i++)
		left += j->client[i] != AWAY;
	j->ended |= left == 0;
	light_controller_job_renew(c, j, now_ns);
}

void
light_controller_gone(struct light_controller *c, uint32_t agent, uint64_t now_ns)
{
	struct agent *a = &c->agent[agent];
	if (!a->here)
		return;
	a->here = false;
	light_controller_event(c, (struct light_event){.kind = LIGHT_EVENT_AGENT_GONE,
						       .at_ns = now_ns,
						       .a = a->hello.relay});
	light_controller_links_gone(c, agent, now_ns);
	for (uint32_t i = 0; i < c->cfg.jobs; i++)
		job_leaves(c, &c->job[i], agent, now_ns);
}

/* ---- jobs and communicators ---- */

static struct job *
controller_job_of(struct light_controller *c, uint64_t key)
{
	for (uint32_t i = 0; i < c->cfg.jobs; i++)
		if (c->job[i].used && c->job[i].key == key)
			return &c->job[i];
	return NULL;
}

/* A node of a plan is in one group of wavelengths. */
static bool
stands_apart(const struct light_controller *c, const struct job *j, uint32_t agent)
{
	const struct agent *a = &c->agent[agent];
	for (uint32_t i = 0; i < c->cfg.agents; i++)
		if (j->client[i] == j->client[agent] && a->hello.n && c->agent[i].hello.n &&
		    c->agent[i].group != a->group)
			return true;
	return false;
}

static void
job_here(struct light_controller *c, uint32_t agent, const struct light_frame *f, uint64_t now_ns)
{
	struct job *j = controller_job_of(c, f->key);
	for (uint32_t i = 0; i < c->cfg.jobs && !j; i++)
		if (!c->job[i].used) {
			j = &c->job[i];
			light_controller_job_init(c, j, f->key);
		}
	if (!j)
		return; /* full: all of it by packets, CALL is answered so */
	j->ended = false;
	if (j->client[agent] == f->client)
		return;
	for (uint32_t i = 0; LIGHT_BUG(ONE_RELAY) && i < c->cfg.agents; i++)
		j->client[i] = j->client[i] == f->client ? AWAY : j->client[i];
	j->client[agent] = f->client;
	if (stands_apart(c, j, agent))
		light_controller_event(c, (struct light_event){.kind = LIGHT_EVENT_AGENT,
							       .at_ns = now_ns,
							       .a = c->agent[agent].hello.relay,
							       .text = LIGHT_TEXT_APART});
	light_controller_job_renew(c, j, now_ns);
}

static void
job_left(struct light_controller *c, uint32_t agent, uint64_t key, uint64_t now_ns)
{
	struct job *j = controller_job_of(c, key);
	if (j)
		job_leaves(c, j, agent, now_ns);
}

struct comm *
light_controller_comm(struct light_controller *c, uint32_t job, uint32_t comm, uint32_t leader)
{
	for (uint32_t i = 0; i < c->cfg.comms; i++) {
		struct comm *m = &c->comm[i];
		if (m->used && m->job == job && m->comm == comm && m->leader == leader)
			return m;
	}
	return NULL;
}

static struct comm *
comm_begin(struct light_controller *c, uint32_t job, uint32_t comm, uint32_t leader)
{
	struct comm *m = light_controller_comm(c, job, comm, leader);
	for (uint32_t i = 0; i < c->cfg.comms && !m; i++)
		if (!c->comm[i].used) {
			m = &c->comm[i];
			uint32_t *world = m->world, *client = m->client, *domain = m->domain;
			*m = (struct comm){.used = true,
					   .job = job,
					   .comm = comm,
					   .leader = leader,
					   .world = world,
					   .client = client,
					   .domain = domain};
		}
	return m;
}

/* The same name stands for another communicator now. */
static bool
is_another(const struct comm *m, const struct light_comm *p, uint8_t client)
{
	if (m->p != p->p || (m->freed & 1u << client))
		return true;
	for (uint32_t i = 0; i < p->n; i++)
		if (m->client[p->at + i] != CLIENT_NONE && m->world[p->at + i] != p->rank[i])
			return true;
	return false;
}

static bool
comm_piece(struct light_controller *c, struct job *j, uint32_t agent, const struct light_comm *p,
	   const struct light_frame *f)
{
	uint8_t sender = j->client[agent];
	if (f->nclients < p->n)
		return false;
	if (sender == AWAY) /* it came when there was no room for the job */
		return true;
	for (uint32_t i = 0; i < p->n; i++)
		if (f->clients[i] >= LIGHT_CLIENTS)
			return false;
	struct comm *m = comm_begin(c, job_index(c, j), p->comm, p->leader);
	bool busy = m && j->now.call && j->now.comm == m;
	if (!m || busy)
		return true;
	if (!m->p || p->p > c->cfg.ranks || is_another(m, p, sender)) {
		m->p = p->p;
		m->whole = false;
		m->freed = 0;
		m->dones = 0;
		if (p->p <= c->cfg.ranks) /* else its calls go by packets */
			memset(m->client, 0xff, (size_t)p->p * 4);
	}
	if (m->whole || p->p > c->cfg.ranks)
		return true;
	for (uint32_t i = 0; i < p->n; i++) {
		m->world[p->at + i] = p->rank[i];
		m->client[p->at + i] = f->clients[i];
	}
	for (uint32_t i = 0; i < p->p; i++)
		if (m->client[i] == CLIENT_NONE)
			return true;
	m->whole = true;
	m->told = ++c->orders;
	m->members = 0;
	for (uint32_t i = 0; i < m->p; i++)
		m->members |= 1u << m->client[i];
	m->near = coll_locality_of(m->client, m->p, m->domain, m->domain + c->cfg.ranks);
	return true;
}

/* ---- calls ---- */

bool
light_controller_is_done(const struct comm *m, uint32_t seq)
{
	for (uint32_t i = 0; i < m->dones && i < DONE_KEPT; i++)
		if (m->done[i] == seq)
			return true;
	return false;
}

void
light_controller_done(struct light_controller *c, struct call *k)
{
	struct comm *m = light_controller_comm(c, k->job, k->call.comm, k->call.leader);
	k->used = false;
	if (!m || k->forecast) /* it will come, and be planned then */
		return;
	if (!light_controller_is_done(m, k->call.seq))
		m->done[m->dones++ % DONE_KEPT] = k->call.seq;
	light_controller_comm_tidy(c, m);
}

static struct call *
call_of(struct light_controller *c, uint32_t job, uint32_t comm, uint32_t leader, uint32_t seq)
{
	for (uint32_t i = 0; i < c->cfg.calls; i++) {
		struct call *k = &c->call[i];
		if (k->used && k->job == job && k->call.comm == comm && k->call.leader == leader &&
		    k->call.seq == seq)
			return k;
	}
	return NULL;
}

static void
call_announced(struct light_controller *c, uint32_t agent, struct job *j,
	       const struct light_call *call, uint64_t now_ns)
{
	uint32_t job = job_index(c, j);
	struct comm *m = light_controller_comm(c, job, call->comm, call->leader);
	struct call *k = call_of(c, job, call->comm, call->leader, call->seq);
	bool forecast = call->flags & LIGHT_CALL_FORECAST;
	if (k) { /* the one that was to come has */
		if (k->forecast && !forecast) {
			k->since_ns = now_ns;
			j->now.progress_ns = k == j->now.call ? now_ns : j->now.progress_ns;
		}
		k->forecast = k->forecast && forecast;
		return;
	}
	for (uint32_t i = 0; i < c->cfg.calls && !k; i++)
		if (!c->call[i].used)
			k = &c->call[i];
	if ((m && light_controller_is_done(m, call->seq)) || !k) {
		if (!forecast)
			go_any_at(c, j->key, agent, call);
		return;
	}
	*k = (struct call){.used = true,
			   .job = job,
			   .call = *call,
			   .order = c->orders++,
			   .since_ns = now_ns,
			   .forecast = forecast};
}

void
light_controller_comm_tidy(struct light_controller *c, struct comm *m)
{
	const struct doing *d = &c->job[m->job].now;
	if ((m->freed & m->members) == m->members && m->freed && !(d->call && d->comm == m))
		m->used = false;
}

static void
comm_free(struct light_controller *c, struct job *j, uint32_t agent, uint32_t comm, uint32_t leader)
{
	struct comm *m = light_controller_comm(c, job_index(c, j), comm, leader);
	if (!m || j->client[agent] == AWAY)
		return;
	m->freed |= 1u << j->client[agent];
	light_controller_comm_tidy(c, m);
}

static bool
note_controller(struct light_controller *c, uint32_t agent, const struct light_frame *f,
		uint64_t now_ns)
{
	struct job *j = controller_job_of(c, f->key);
	struct light_note n;
	if (light_note_decode(f->note, f->note_len, &n))
		return false;
	if (!j) { /* there was no room for it */
		if (n.kind == LIGHT_NOTE_CALL || n.kind == LIGHT_NOTE_CALL_BY_INDEX)
			go_any_at(c, f->key, agent, &n.u.call);
		return true;
	}
	switch ((enum light_note_kind)n.kind) {
	case LIGHT_NOTE_COMM:
		return comm_piece(c, j, agent, &n.u.piece, f);
	case LIGHT_NOTE_CALL:
		call_announced(c, agent, j, &n.u.call, now_ns);
		return true;
	case LIGHT_NOTE_RECEIVED:
		for (uint32_t i = 0; i < n.counts; i++)
			light_controller_call_over(c, j, &n.u.count[i], now_ns);
		return true;
	case LIGHT_NOTE_FREE:
		comm_free(c, j, agent, n.comm, n.leader);
		return true;
	case LIGHT_NOTE_CALL_BY_INDEX: /* its agent is as old as the process */
		light_controller_event(c, (struct light_event){.kind = LIGHT_EVENT_PACKETS,
							       .at_ns = now_ns,
							       .key = j->key,
							       .call = n.u.call,
							       .text = LIGHT_TEXT_BY_INDEX});
		go_any_at(c, j->key, agent, &n.u.call);
		return true;
	case LIGHT_NOTE_OFFER:
	case LIGHT_NOTE_CLEAR_TO_SEND:
		break; /* not said upwards */
	}
	return false;
}

bool
light_controller_heard(struct light_controller *c, uint32_t agent, const struct light_frame *f,
		       uint64_t now_ns)
{
	if (f->type == LIGHT_FRAME_HELLO)
		return hello(c, agent, &f->hello, now_ns);
	if (f->type == LIGHT_FRAME_PING)
		return true;
	if (!c->agent[agent].here)
		return false;
	switch ((enum light_frame_type)f->type) {
	case LIGHT_FRAME_JOB:
		job_here(c, agent, f, now_ns);
		return true;
	case LIGHT_FRAME_JOB_END:
		job_left(c, agent, f->key, now_ns);
		return true;
	case LIGHT_FRAME_NOTE:
		return note_controller(c, agent, f, now_ns);
	case LIGHT_FRAME_LINK:
		light_controller_link_heard(c, agent, f, now_ns);
		return true;
	default:
		return false;
	}
}

/* ---- turns ---- */

static void
notices(struct light_controller *c)
{
	struct ocs_notice n;
	while (ocs_control_next(c->cfg.control, &n)) {
		static const enum light_event_kind kind[] = {
			[OCS_NOTICE_ONLINE] = LIGHT_EVENT_ONLINE,
			[OCS_NOTICE_OFFLINE] = LIGHT_EVENT_OFFLINE,
			[OCS_NOTICE_LIT] = LIGHT_EVENT_LIT,
			[OCS_NOTICE_GONE] = LIGHT_EVENT_GONE,
			[OCS_NOTICE_REFUSED] = LIGHT_EVENT_REFUSED};
		struct light_event e = {
			.kind = kind[n.kind], .at_ns = n.at_ns, .x = n.in, .y = n.out};
		if (n.kind >= OCS_NOTICE_LIT && n.in < c->cfg.ports) {
			e.from_ns = ocs_at(c->m, n.in).ordered_ns;
			e.key = light_controller_key_of(c, n.in);
			e.text = n.text;
		}
		c->count.refused += n.kind == OCS_NOTICE_REFUSED;
		c->count.lost += n.kind == OCS_NOTICE_GONE && light_controller_link_stands(c, n.in);
		light_controller_event(c, e);
	}
}

void
light_controller_turn(struct light_controller *c, uint64_t now_ns)
{
	ocs_control_turn(c->cfg.control, now_ns);
	notices(c);
	c->online = ocs_control_is_online(c->cfg.control);
	for (uint32_t i = 0; i < c->cfg.agents; i++)
		offer_controller(c, i);
	light_controller_links_tick(c, now_ns);
	ocs_leases_tick(c->leases, now_ns);
	light_controller_jobs_turn(c, now_ns);
	if (light_controller_links_withdraw(c, now_ns))
		c->poll_ns = base_min_ns(c->poll_ns, now_ns + POLL_NS);
	ocs_control_turn(c->cfg.control, now_ns);
}

uint64_t
light_controller_expiry_ns(const struct light_controller *c)
{
	uint64_t at_ns = base_min_ns(ocs_control_expiry_ns(c->cfg.control),
				     light_controller_links_expiry_ns(c));
	at_ns = base_min_ns(at_ns, c->poll_ns);
	return at_ns;
}

const struct light_controller_counters *
light_controller_counters(const struct light_controller *c)
{
	return &c->count;
}

const char *
light_event_name(enum light_event_kind k)
{
	static const char *const names[] = {
		"online", "offline", "agent",	  "agent-gone", "lit",	"gone", "refused", "up",
		"down",	  "failed",  "withdrawn", "restored",	"call", "over", "packets"};
	_Static_assert(sizeof names / sizeof names[0] == LIGHT_EVENT_KINDS, "a name for each");
	return names[k];
}

bool
light_controller_agent(const struct light_controller *c, uint32_t i, struct light_agent_row *row)
{
	for (uint32_t a = 0; a < c->cfg.agents; a++) {
		const struct agent *g = &c->agent[a];
		if (!g->here || i--)
			continue;
		*row = (struct light_agent_row){g->hello.relay, g->hello.n, g->told && g->offer.on};
		return true;
	}
	return false;
}

const char *
light_controller_check(const struct light_controller *c)
{
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		if (c->link_of[p] == CIRC_NONE)
			continue;
		const struct link *l = &c->link[c->link_of[p]];
		if (!l->used || (l->x != p && l->y != p))
			return "a port is in a link that is not its";
		if (c->link_of[l->x] != c->link_of[l->y])
			return "the two ports of a link do not agree";
	}
	return NULL;
}
