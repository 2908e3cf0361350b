/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs: what they lease, the queue of their calls. */
#include "controller_internal.h"

#include "base/clock.h"
#include "canary.h"

#include <string.h>

#define HOLD_NS	  BASE_S_NS
#define UNTOLD_NS (100 * BASE_MS_NS) /* for the communicator of a call to be told */
#define QUEUED_NS (400 * BASE_MS_NS) /* for those before a call to be over */

void
light_controller_job_init(struct light_controller *c, struct job *j, uint64_t key)
{
	void *mem = j->mem;
	uint8_t *client = j->client;
	memset(j, 0, sizeof *j);
	j->mem = mem;
	j->client = client;
	j->used = true;
	j->key = key;
	j->owner = ++c->owners;
	memset(j->client, AWAY, c->cfg.agents);
	memset(j->port_of, 0xff, sizeof j->port_of);
	j->slots = (struct circ_slots){.nodes = LIGHT_CLIENTS,
				       .stride = LIGHT_SLOTS_MAX,
				       .ports = j->ports,
				       .slot = j->slot};
	circ_slots_clear(&j->slots);
	j->fabric = (struct circ_fabric){.m = c->m,
					 .slots = &j->slots,
					 .port_of = j->port_of,
					 .owner = j->owner,
					 .patience_ns = c->cfg.patience_ns,
					 .ends = &light_controller_ends,
					 .user = c};
}

/* ---- wavelengths ---- */

static uint32_t
less_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What other jobs leave of lit_max. */
static uint32_t
left_of_all(const struct light_controller *c, const struct job *j)
{
	uint32_t left = c->cfg.lit_max;
	for (uint32_t i = 0; i < c->cfg.jobs; i++)
		if (&c->job[i] != j && c->job[i].used && !LIGHT_BUG(UNSHARED))
			left -= c->job[i].share;
	return left;
}

static uint32_t
left_of_group(const struct light_controller *c, const struct job *j, uint32_t g)
{
	uint32_t left = c->cfg.waves[g];
	for (uint32_t i = 0; i < c->cfg.jobs; i++)
		if (&c->job[i] != j && c->job[i].used && !LIGHT_BUG(UNSHARED))
			left -= c->job[i].waves[g];
	return left;
}

/* The groups' part of at most so many links.  False: it has ports where nothing is left. */
static bool
take_waves(struct light_controller *c, struct job *j, uint32_t most)
{
	uint32_t in[LIGHT_GROUPS_MAX + 1] = {0}, able = 0;
	bool all = true;
	for (uint32_t n = 0; n < LIGHT_CLIENTS; n++)
		in[j->group[n]] += j->granted[n];
	for (uint32_t g = 0; g < c->cfg.groups; g++) {
		j->waves[g] = less_of(less_of(in[g], most), left_of_group(c, j, g));
		all &= !in[g] || j->waves[g];
	}
	j->waves[c->cfg.groups] = UINT32_MAX;
	for (uint32_t n = 0; n < LIGHT_CLIENTS; n++)
		able += j->ports[n] && j->waves[j->group[n]];
	j->slots.groups = c->cfg.groups + 1;
	j->slots.group = j->group;
	j->slots.waves = j->waves;
	j->dark |= able < 2;
	return all;
}

/* What a job may light at once: all it has ports for, or what others leave of lit_max and of the
 * groups of its ports.  It keeps that until it leaves its ports. */
static void
take_share(struct light_controller *c, struct job *j)
{
	uint32_t ports = 0;
	for (uint32_t n = 0; n < LIGHT_CLIENTS; n++)
		ports += j->granted[n];
	j->share = ports / 2;
	if (c->cfg.lit_max)
		j->slots.lit_max = j->share = less_of(j->share, left_of_all(c, j));
	j->dark = j->share == 0;
	bool all = !j->dark;
	if (c->cfg.groups)
		all = take_waves(c, j, j->share) && all;
	if (all)
		j->scarce = 0;
	else if (!j->scarce)
		j->scarce = ++c->orders;
}

/* Light has come free: it is theirs who have waited for it, longest first, before others ask; for a
 * slice, though nobody calls. */
static void
give_shares(struct light_controller *c, uint64_t now_ns)
{
	for (uint64_t done = 0;;) {
		struct job *first = NULL;
		for (uint32_t i = 0; i < c->cfg.jobs; i++) {
			struct job *j = &c->job[i];
			if (j->used && j->lease == LEASE_GRANTED && j->scarce > done &&
			    (!first || j->scarce < first->scarce))
				first = j;
		}
		if (!first)
			return;
		done = first->scarce;
		take_share(c, first);
		first->granted_ns = now_ns;
	}
}

static void
end_lease(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	ocs_lease_release(c->leases, j->owner, now_ns);
	j->lease = LEASE_NONE;
	j->share = 0;
	memset(j->waves, 0, sizeof j->waves);
	j->dark = false;
	j->scarce = 0;
	give_shares(c, now_ns);
}

/* ---- leases ---- */

static void
leave_light_job(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	if (j->lease == LEASE_GRANTED) {
		circ_fabric_clear(&j->fabric, now_ns);
		j->lease = LEASE_LEAVING;
	} else if (j->lease == LEASE_WAITING) {
		end_lease(c, j, now_ns);
	}
}

void
light_controller_job_renew(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	light_controller_call_drop(c, j, "a relay of the job came or went", now_ns);
	leave_light_job(c, j, now_ns);
}

static void
map_ports(struct light_controller *c, struct job *j)
{
	memset(j->port_of, 0xff, sizeof j->port_of);
	memset(j->granted, 0, sizeof j->granted);
	for (uint32_t n = 0; n < LIGHT_CLIENTS; n++)
		j->group[n] = c->cfg.groups;
	for (uint32_t i = 0; i < c->cfg.agents; i++) {
		uint32_t n = j->client[i], p;
		if (n == AWAY)
			continue;
		for (uint32_t k = 0; j->granted[n] < LIGHT_SLOTS_MAX; k++) {
			p = ocs_lease_port(c->leases, j->owner, i, k);
			if (p == OCS_NO_PORT)
				break;
			j->port_of[n * LIGHT_SLOTS_MAX + j->granted[n]++] = p;
			j->group[n] = c->agent[i].group;
		}
	}
	memcpy(j->ports, j->granted, sizeof j->ports);
	circ_slots_clear(&j->slots);
}

/* A call is planned with the ports that can be used now: not withdrawn, not dark. */
static void
usable_ports(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	for (uint32_t n = 0; n < LIGHT_CLIENTS; n++) {
		uint32_t *at = &j->port_of[n * LIGHT_SLOTS_MAX], k = 0;
		for (uint32_t i = 0; i < j->granted[n]; i++) {
			if (!ocs_port_usable(c->m, at[i], now_ns))
				continue;
			if (i != k) {
				uint32_t was = at[k];
				at[k] = at[i];
				at[i] = was;
				circ_slots_swap(&j->slots, n, i, k);
			}
			k++;
		}
		j->ports[n] = k;
	}
}

static void
ask_light_job(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	struct ocs_ask a[LIGHT_AGENTS_MAX];
	uint32_t n = 0, clients = 0, group[LIGHT_CLIENTS], ports[LIGHT_CLIENTS] = {0};
	for (uint32_t i = 0; i < c->cfg.agents; i++) {
		uint32_t k = j->client[i], has = k == AWAY ? 0 : c->agent[i].hello.n;
		/* A node of a plan is in one group of wavelengths: that of its first relay. */
		if (!has || ports[k] == LIGHT_SLOTS_MAX ||
		    (ports[k] && group[k] != c->agent[i].group))
			continue;
		clients += !ports[k];
		group[k] = c->agent[i].group;
		a[n] = (struct ocs_ask){i, 1, less_of(has, LIGHT_SLOTS_MAX - ports[k])};
		ports[k] += a[n++].want;
	}
	if (clients >= 2 && ocs_lease_ask(c->leases, j->owner, a, n, HOLD_NS, now_ns))
		j->lease = LEASE_WAITING;
}

/* For ports, or for wavelengths. */
static bool
somebody_waits(const struct light_controller *c, const struct job *j, bool waves)
{
	for (uint32_t i = 0; i < c->cfg.jobs; i++) {
		const struct job *o = &c->job[i];
		if (o != j && o->used && (waves ? o->scarce != 0 : o->lease == LEASE_WAITING))
			return true;
	}
	return false;
}

static bool
has_calls(const struct light_controller *c, const struct job *j)
{
	for (uint32_t i = 0; i < c->cfg.calls; i++)
		if (c->call[i].used && c->call[i].job == job_index(c, j))
			return true;
	return false;
}

static void
lease_turn(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	switch (j->lease) {
	case LEASE_NONE:
		if (!j->ended && has_calls(c, j))
			ask_light_job(c, j, now_ns);
		if (j->lease == LEASE_NONE)
			break;
		/* fall through */
	case LEASE_WAITING:
		if (ocs_lease_state(c->leases, j->owner) == OCS_LEASE_NONE)
			j->lease = LEASE_NONE;
		if (ocs_lease_confirm(c->leases, j->owner)) {
			j->lease = LEASE_GRANTED;
			j->granted_ns = now_ns;
			map_ports(c, j);
		}
		break;
	case LEASE_GRANTED:
		if (j->now.call)
			break;
		bool over = now_ns - j->granted_ns >= c->cfg.slice_ns;
		if ((somebody_waits(c, j, false) && (over || !has_calls(c, j))) ||
		    (somebody_waits(c, j, true) && over))
			leave_light_job(c, j, now_ns);
		break;
	case LEASE_LEAVING:
		circ_fabric_clear(&j->fabric, now_ns);
		if (circ_fabric_empty(&j->fabric)) {
			end_lease(c, j, now_ns);
		}
		break;
	}
}

/* ---- calls ---- */

static struct call *
first_call(struct light_controller *c, const struct job *j)
{
	struct call *first = NULL;
	for (uint32_t i = 0; i < c->cfg.calls; i++) {
		struct call *k = &c->call[i];
		bool mine = k->used && k->job == job_index(c, j) && k != j->now.call;
		/* what is there goes before what will come */
		if (mine && (!first || first->forecast > k->forecast ||
			     (first->forecast == k->forecast && k->order < first->order)))
			first = k;
	}
	return first;
}

static void
by_packets(struct light_controller *c, struct job *j, struct call *k, const char *why,
	   uint64_t now_ns)
{
	if (!k->forecast)
		light_controller_go_any(c, j, &k->call);
	c->count.calls_by_packets++;
	light_controller_event(c, (struct light_event){.kind = LIGHT_EVENT_PACKETS,
						       .at_ns = now_ns,
						       .key = j->key,
						       .call = k->call,
						       .text = why});
	light_controller_done(c, k);
}

/* There is no room for it, or it is too large. */
static bool
hopeless(const struct light_controller *c, const struct comm *m)
{
	if (m)
		return m->p > c->cfg.ranks;
	for (uint32_t i = 0; i < c->cfg.comms; i++)
		if (!c->comm[i].used)
			return false;
	return true;
}

/* Those that cannot be planned, and those that have waited for long. */
static void
let_go_light_job(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	for (uint32_t i = 0; i < c->cfg.calls; i++) {
		struct call *k = &c->call[i];
		if (!k->used || k->job != job_index(c, j) || k == j->now.call)
			continue;
		struct comm *m = light_controller_comm(c, k->job, k->call.comm, k->call.leader);
		uint64_t waited = now_ns - k->since_ns;
		if (!c->online)
			by_packets(c, j, k, "the switch is offline", now_ns);
		else if (j->lease != LEASE_GRANTED)
			by_packets(c, j, k, "the ports are not ours now", now_ns);
		else if ((!m || !m->whole) && (waited >= UNTOLD_NS || hopeless(c, m)))
			by_packets(c, j, k, "its communicator is not known", now_ns);
		else if (waited >= QUEUED_NS)
			by_packets(c, j, k, "others were under way for too long", now_ns);
	}
}

static void
begin_next(struct light_controller *c, struct job *j, uint64_t now_ns)
{
	struct call *k = first_call(c, j);
	if (j->now.call && j->now.call->forecast &&
	    ((k && !k->forecast) || somebody_waits(c, j, false) || somebody_waits(c, j, true)))
		light_controller_call_drop(c, j, "another call came first", now_ns);
	while (!j->now.call && j->lease == LEASE_GRANTED && c->online && (k = first_call(c, j))) {
		struct comm *m = light_controller_comm(c, k->job, k->call.comm, k->call.leader);
		if (!m || !m->whole)
			return;
		usable_ports(c, j, now_ns);
		take_share(c, j);
		const char *why = light_controller_is_done(m, k->call.seq) ? "it came too late"
				  : j->dark				   ? "no wavelength is left"
					    : light_controller_call_begin(c, j, k, m, now_ns);
		if (why)
			by_packets(c, j, k, why, now_ns);
	}
}

static void
forget_light_job(struct light_controller *c, struct job *j)
{
	for (uint32_t i = 0; i < c->cfg.comms; i++)
		if (c->comm[i].used && c->comm[i].job == job_index(c, j))
			c->comm[i].used = false;
	for (uint32_t i = 0; i < c->cfg.calls; i++)
		if (c->call[i].used && c->call[i].job == job_index(c, j))
			c->call[i].used = false;
	j->used = false;
}

/* What may come at any time is looked at now and then. */
static uint64_t
poll_ns(const struct job *j)
{
	return j->now.call && j->now.call->forecast ? 10 * POLL_NS : POLL_NS;
}

void
light_controller_jobs_turn(struct light_controller *c, uint64_t now_ns)
{
	c->poll_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < c->cfg.jobs; i++) {
		struct job *j = &c->job[i];
		bool began;
		if (!j->used)
			continue;
		lease_turn(c, j, now_ns);
		let_go_light_job(c, j, now_ns);
		if (j->untidy && !j->now.call)
			j->untidy = !circ_fabric_end(&j->fabric, now_ns);
		do {
			begin_next(c, j, now_ns);
			began = j->now.call != NULL;
			if (began)
				light_controller_call_step(c, j, now_ns);
		} while (began && !j->now.call); /* over at once: the next one */
		if (j->ended && j->lease == LEASE_NONE)
			forget_light_job(c, j);
		else if (j->lease == LEASE_LEAVING || j->lease == LEASE_WAITING || j->untidy ||
			 has_calls(c, j))
			c->poll_ns = base_min_ns(c->poll_ns, now_ns + poll_ns(j));
	}
}

uint32_t
light_controller_busy(const struct light_controller *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->cfg.jobs; i++)
		n += c->job[i].used && (c->job[i].lease != LEASE_NONE || c->job[i].now.call);
	return n;
}

bool
light_controller_job(const struct light_controller *c, uint32_t i, struct light_job_row *row)
{
	static const char *const leases[] = {"none", "waiting", "granted", "leaving"};
	for (uint32_t n = 0; n < c->cfg.jobs; n++) {
		const struct job *j = &c->job[n];
		if (!j->used || i--)
			continue;
		*row = (struct light_job_row){.key = j->key, .lease = leases[j->lease]};
		for (uint32_t k = 0; k < c->cfg.agents; k++)
			row->agents += j->client[k] != AWAY;
		for (uint32_t k = 0; k < c->cfg.comms; k++)
			row->comms += c->comm[k].used && c->comm[k].job == n;
		for (uint32_t k = 0; k < c->cfg.calls; k++)
			row->queued += c->call[k].used && c->call[k].job == n &&
				       &c->call[k] != j->now.call;
		row->calling = j->now.call != NULL;
		if (row->calling) {
			row->call = j->now.call->call;
			row->mode = j->now.mode;
			row->messages = j->now.between;
			row->left = j->now.left;
		}
		return true;
	}
	return false;
}
