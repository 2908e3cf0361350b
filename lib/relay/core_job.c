/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs: into the tables and out of them. */
#include "core_internal.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

static uint32_t
pages_of(uint32_t nprocs)
{
	return nprocs / RELAY_LABEL_PAGE + (nprocs % RELAY_LABEL_PAGE != 0);
}

struct job *
relay_job_by_base(const struct relay_core *c, uint32_t label_base)
{
	const uint32_t *slot = map_slot(c, label_base);
	if (!slot || *slot == NONE)
		return NULL;
	struct job *j = &c->job[c->page[*slot].job];
	return j->label_base == label_base ? j : NULL;
}

/* ---- adding --------------------------------------------------------------- */

/* Is the range inside what this relay serves, and free? */
static int
check_range(const struct relay_core *c, const struct relay_job *job)
{
	uint32_t pages = pages_of(job->nworld);
	for (uint32_t i = 0; i < pages; i++) {
		uint32_t label = job->label_base + i * RELAY_LABEL_PAGE;
		const uint32_t *slot = map_slot(c, label);
		if (!slot || label >> 24 != job->label_base >> 24)
			return RELAY_ERR_LABELS;
		if (*slot != NONE)
			return RELAY_ERR_EXISTS;
	}
	return pages <= c->pages_free ? RELAY_ERR_OK : RELAY_ERR_NOMEM;
}

/* Where a remote host's endpoint is; false if it is foreign. */
static bool
host_addr(const struct relay_core *c, const struct relay_host *h, struct suci_addr *addr,
	  struct impi_hostid *id)
{
	if (impi_hostid_decode(h->id, id) != IMPI_HOSTID_SUCI)
		return false;
	*addr = relay_place_of(c, id->ipv4, id->port);
	return true;
}

static bool
is_self(const struct relay_core *c, const struct relay_host *h)
{
	struct suci_addr addr;
	struct impi_hostid id;
	return host_addr(c, h, &addr, &id) && id.port == c->conf.self_global.port &&
	       memcmp(addr.ip, c->conf.self_global.ip, sizeof addr.ip) == 0;
}

/* Does this shard own a process of the job?  If not, no other cluster knows it
 * for this job: its trunks would be refused, and nobody sends to them. */
static bool
owns_any(const struct relay_core *c, const struct relay_job *job)
{
	for (uint32_t h = 0; h < job->nhosts; h++)
		if (job->host[h].client == job->my_client && is_self(c, &job->host[h]))
			return true;
	return false;
}

/* Does this shard take part in the job?  With the relays of its cluster known to others,
 * any relay carries any process. */
static bool
takes_part(const struct relay_core *c, const struct relay_job *job)
{
	return c->conf.ncluster > 1 || owns_any(c, job);
}

/* The entry of an own host in the list of the cluster's relays. */
static uint8_t
sibling_of(const struct relay_core *c, const struct relay_host *h)
{
	struct suci_addr addr;
	struct impi_hostid id;
	for (uint32_t i = 0; i < c->conf.ncluster && host_addr(c, h, &addr, &id); i++)
		if (memcmp(&c->conf.cluster[i].global, &addr, sizeof addr) == 0)
			return (uint8_t)i;
	return RELAY_LIST_NONE;
}

/* Are there trunk slots for all remote hosts? */
static bool
trunks_fit(const struct relay_core *c, const struct relay_job *job)
{
	uint32_t usable = 0, missing = 0;
	if (!takes_part(c, job))
		return true;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++)
		usable += !c->trunk[t].used || (c->trunk[t].users == 0 && !c->trunk[t].lights);
	for (uint32_t h = 0; h < job->nhosts; h++) {
		struct suci_addr addr;
		struct impi_hostid id;
		if (job->host[h].client == job->my_client ||
		    !host_addr(c, &job->host[h], &addr, &id))
			continue;
		uint32_t t = relay_trunk_find(c, &addr);
		missing += t == NONE || (c->trunk[t].users == 0 && !c->trunk[t].lights);
	}
	return missing <= usable;
}

static void
put_pages(struct relay_core *c, const struct job *j, uint32_t job)
{
	for (uint32_t r = 0; r < j->nworld; r += RELAY_LABEL_PAGE) {
		uint32_t slot = c->free_page;
		BASE_ASSERT(slot != NONE);
		struct page *pg = &c->page[slot];
		c->free_page = pg->next_free;
		c->pages_free--;
		pg->job = job;
		pg->first_rank = r;
		pg->nprocs = j->nworld - r < RELAY_LABEL_PAGE ? j->nworld - r : RELAY_LABEL_PAGE;
		*map_slot(c, j->label_base + r) = slot;
	}
}

/* The trunk to a remote host. */
static void
put_trunk(struct relay_core *c, struct job *j, struct job_host *x, const struct suci_addr *addr,
	  const struct impi_hostid *id, uint64_t pid)
{
	uint32_t t = relay_trunk_get(c, addr);
	BASE_ASSERT(t != NONE);
	x->trunk = t;
	x->process = id->kind == IMPI_HOSTID_LIBMPI;
	if (x->process) {
		/* It is in this job: one that ended before was another process. */
		relay_untold_forget(c, t);
		c->trunk[t].hello_token = impi_token_of(id->token, pid);
		c->trunk[t].hello_label = x->label_base + x->first_rank;
		relay_trunk_use(c, j, t, x->client);
		return;
	}
	struct group *g = &j->group[x->client];
	struct way w = {.trunk = t, .label_base = x->label_base, .token = id->token};
	if (relay_group_add(c, j, x->client, &w))
		x->way = (uint32_t)(relay_group_find(g, t) - g->way);
	else
		x->trunk = NONE; /* RELAY_GROUP_MAX: others of the group take its segments */
}

static void
put_hosts(struct relay_core *c, struct job *j, const struct relay_job *job)
{
	bool part = takes_part(c, job);
	for (uint32_t k = 0; k < RELAY_CLIENTS_MAX; k++)
		j->group[k] = (struct group){
			.lost_ns = BASE_NEVER_NS, .last = NONE, .stray = NONE, .stray_tail = NONE};
	for (uint32_t h = 0; h < job->nhosts; h++) {
		const struct relay_host *in = &job->host[h];
		struct job_host *x = &j->host[h];
		struct suci_addr addr;
		struct impi_hostid id;

		*x = (struct job_host){
			.client = in->client,
			.first_rank = in->first_rank,
			.nprocs = in->nprocs,
			.label_base = in->label_base,
			.trunk = NONE,
			.way = NONE,
			.sibling = RELAY_LIST_NONE,
		};
		if (in->client >= j->nclients)
			j->nclients = in->client + 1;
		if (in->client == job->my_client)
			x->sibling = sibling_of(c, in);
		else if (host_addr(c, in, &addr, &id)) {
			j->group[in->client].relays |= id.kind != IMPI_HOSTID_LIBMPI;
			if (part)
				put_trunk(c, j, x, &addr, &id,
					  be64_load(job->global_id[in->first_rank] + 16));
		}
	}
}

/* The gateways of the job: those with a gate that carries somebody, for what passes
 * through here may have to go to any of them.  A shard that owns no process gets
 * nothing to pass on. */
static void
put_gateways(struct relay_core *c, struct job *j, const struct relay_job *job)
{
	j->gateway_base = relay_gateway_base(job->label_base);
	if (!c->conf.ngateways || !takes_part(c, job))
		return;
	for (uint32_t i = 0; i < job->ngates; i++)
		if (job->gate[i].nprocs)
			j->gateways |= 1ull << job->gate[i].relay;
	for (uint32_t g = 0; g < c->conf.ngateways; g++)
		c->gateway[g].users += uses_gateway(j, g);
}

/* All gates on relays that have a gateway? */
static bool
gateways_known(const struct relay_core *c, const struct relay_job *job)
{
	for (uint32_t i = 0; c->conf.ngateways && i < job->ngates; i++)
		if (job->gate[i].relay >= c->conf.ngateways)
			return false;
	return true;
}

static uint8_t
gateway_for(const struct relay_job *job, bool local, uint32_t rank)
{
	const struct relay_gate *g =
		relay_job_gate_of(job, local ? RELAY_GATE_GLOBAL : RELAY_GATE_PRIVATE, rank);
	return g ? (uint8_t)g->relay : NO_GATEWAY;
}

/* The upper half of what we announce is in the ids of all processes that we stand for. */
static uint64_t
hello_token(const struct relay_job *job)
{
	const uint8_t *own = job->global_id[job->first_local];
	return impi_token_of(job->token, be64_load(own + 16) & IMPI_TOKEN_MASK);
}

static void
put_procs(struct relay_core *c, struct job *j, const struct relay_job *job)
{
	for (uint32_t h = 0; h < job->nhosts; h++) {
		const struct relay_host *x = &job->host[h];
		struct impi_hostid id;
		bool local = x->client == job->my_client, self = local && is_self(c, x);
		bool foreign = !local && impi_hostid_decode(x->id, &id) != IMPI_HOSTID_SUCI;
		for (uint32_t r = x->first_rank; r < x->first_rank + x->nprocs; r++) {
			struct proc *p = job_proc(c, j, r);
			*p = (struct proc){.path = NONE,
					   .host = h,
					   .client = (uint8_t)x->client,
					   .gateway = gateway_for(job, local, r)};
			p->flags = (uint16_t)((local ? PROC_LOCAL : 0) | (self ? PROC_OWNED : 0) |
					      (foreign ? PROC_FOREIGN : 0));
			memcpy(p->global_id, job->global_id[r], RELAY_PROC_ID_LEN);
			memcpy(p->private_id, job->private_id[r], RELAY_PROC_ID_LEN);
		}
	}
	for (uint32_t i = 0; i < job->nlocal; i++) {
		uint32_t rank = job->first_local + i;
		struct proc *p = job_proc(c, j, rank);
		struct impi_hostid id;
		if (relay_local_decode(&job->local[i], &id) != IMPI_HOSTID_SUCI) {
			p->flags |= PROC_FOREIGN;
			continue;
		}
		p->token = impi_token_of(id.token, job->local[i].pid);
		p->addr = id.ipv4 ? relay_addr_v4(id.ipv4, id.port, RELAY_LEG_PRIVATE)
				  : suci_addr_of(job->local[i].at, id.port);
		p->addr.leg = RELAY_LEG_PRIVATE;
		p->label_base = (uint32_t)job->local[i].pid - rank;
	}
}

/* Connect what the job needs and what is not connected. */
static void
open_all(struct relay_core *c, struct job *j)
{
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		if (!j->trunk_clients[t] || c->trunk[t].up)
			continue;
		c->trunk[t].until_ns = base_add_ns(c->now_ns, c->conf.connect_ns);
		relay_trunk_open(c, t);
	}
	for (uint32_t g = 0; g < c->conf.ngateways; g++) {
		if (!uses_gateway(j, g) || c->gateway[g].up)
			continue;
		c->gateway[g].until_ns = base_add_ns(c->now_ns, c->conf.connect_ns);
		relay_gateway_open(c, g);
	}
	for (uint32_t i = 0; i < j->nlocal; i++) {
		struct proc *p = job_proc(c, j, j->first_local + i);
		if ((p->flags & PROC_OWNED) && !(p->flags & PROC_FOREIGN)) {
			relay_proc_want(c, j, p, c->now_ns);
			relay_proc_open(c, (uint32_t)(j - c->job), j->first_local + i);
		}
	}
}

int
relay_job_add(struct relay_core *c, const struct relay_job *job, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	if (relay_job_validate(job, NULL) || !gateways_known(c, job))
		return RELAY_ERR_INVAL;
	if (job->nhosts > c->conf.limits.hosts_max || !trunks_fit(c, job))
		return RELAY_ERR_NOMEM;
	int err = check_range(c, job);
	if (err)
		return err;
	uint32_t i = 0;
	while (i < c->conf.limits.jobs_max && c->job[i].used)
		i++;
	if (i == c->conf.limits.jobs_max)
		return RELAY_ERR_NOMEM;

	struct job *j = &c->job[i];
	*j = (struct job){
		.used = true,
		.id = job->id,
		.token = job->token,
		.hello_token = hello_token(job),
		.label_base = job->label_base,
		.my_client = job->my_client,
		.nworld = job->nworld,
		.nhosts = job->nhosts,
		.nlocal = job->nlocal,
		.first_local = job->first_local,
		.since_ns = c->now_ns,
		.open_at_ns = BASE_NEVER_NS,
		.open_until_ns = base_add_ns(c->now_ns, c->conf.connect_ns),
		.host = j->host,
		.group = j->group,
		.trunk_clients = j->trunk_clients,
	};
	memset(j->trunk_clients, 0, c->conf.limits.trunks_max * sizeof *j->trunk_clients);
	put_pages(c, j, i);
	put_hosts(c, j, job);
	put_procs(c, j, job);
	put_gateways(c, j, job);
	open_all(c, j);
	relay_group_look(c, j);
	relay_tell_trunks_relays(c, j);
	c->n.jobs_added++;
	return RELAY_ERR_OK;
}

/* ---- ending --------------------------------------------------------------- */

static void
tell_proc(struct relay_core *c, uint32_t path, uint32_t base, const char *why)
{
	struct relay_note n = {.type = RELAY_NOTE_ABORT, .label_base = base};
	uint8_t buf[RELAY_NOTE_MAX];
	relay_text_set(n.text, "%s", why);
	size_t len = relay_note_encode(&n, buf);
	if (suci_path_note(c->ep, path, buf, len, c->now_ns))
		c->n.notes_unsent++;
	else
		c->n.notes_tx++;
}

/* Over a trunk, or when it is up.  Without a token the note could end a later job that
 * was given the same labels: then it is now or never. */
static void
tell_trunk(struct relay_core *c, uint32_t t, const struct way *w, const char *why)
{
	struct relay_note n = {.type = why ? RELAY_NOTE_ABORT : RELAY_NOTE_LEAVE,
			       .label_base = w->label_base,
			       .token = w->token};
	uint8_t buf[RELAY_NOTE_MAX];
	if (why)
		relay_text_set(n.text, "%s", why);
	size_t len = relay_note_encode(&n, buf);
	uint32_t path = c->trunk[t].path;
	if (path != NONE && !suci_path_note(c->ep, path, buf, len, c->now_ns))
		c->n.notes_tx++;
	else if (w->token || w->left) /* left: a process, see below */
		relay_untold_keep(c, t, &n);
	else
		c->n.notes_unsent++;
}

/* How the endpoint behind the trunk knows the job. */
static bool
end_of(const struct job *j, uint32_t t, struct way *out)
{
	for (uint32_t mask = j->trunk_clients[t]; mask; mask &= mask - 1) {
		const struct way *w = relay_group_find(&j->group[__builtin_ctz(mask)], t);
		if (!w)
			continue;
		*out = *w;
		out->left = false;
		return true;
	}
	for (uint32_t h = 0; h < j->nhosts; h++) {
		if (!j->host[h].process || j->host[h].trunk != t)
			continue;
		/* It is in one job only, and takes no token. */
		*out = (struct way){.trunk = t, .label_base = j->host[h].label_base, .left = true};
		return true;
	}
	return false;
}

static void
tell_trunks(struct relay_core *c, const struct job *j, uint32_t from, const char *why)
{
	struct way w;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++)
		if (j->trunk_clients[t] && (from == NONE || c->trunk[t].path != from) &&
		    end_of(j, t, &w))
			tell_trunk(c, t, &w, why);
}

/* Unbind the job's paths, telling the processes if it was aborted. */
static void
leave_paths(struct relay_core *c, const struct job *j, uint32_t from, const char *why)
{
	uint32_t job = (uint32_t)(j - c->job);
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++) {
		struct path *p = &c->path[i];
		if (p->kind != RELAY_PATH_PROC || p->job != job)
			continue;
		if (why && i != from)
			tell_proc(c, i, job_proc(c, j, p->rank)->label_base, why);
		p->job = NONE;
		p->close_ns = base_add_ns(c->now_ns, LINGER_NS);
		wake_at(c, p->close_ns);
	}
}

static void
free_pages(struct relay_core *c, const struct job *j)
{
	relay_new_era(c);
	for (uint32_t r = 0; r < j->nworld; r += RELAY_LABEL_PAGE) {
		uint32_t *slot = map_slot(c, j->label_base + r);
		struct page *pg = &c->page[*slot];
		pg->job = NONE;
		pg->nprocs = 0;
		pg->next_free = c->free_page;
		c->free_page = *slot;
		c->pages_free++;
		*slot = NONE;
	}
}

static void
job_remove(struct relay_core *c, struct job *j, uint32_t from, const char *why)
{
	tell_trunks(c, j, from, why);
	relay_stray_forget(c, j);
	leave_paths(c, j, from, why);
	free_pages(c, j);
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		if (!j->trunk_clients[t])
			continue;
		j->trunk_clients[t] = 0;
		c->trunk[t].users--;
		relay_trunk_rest(c, t);
	}
	/* Gateways hear of the end from whoever runs them. */
	for (uint32_t g = 0; g < c->conf.ngateways; g++)
		c->gateway[g].users -= uses_gateway(j, g);
	j->used = false;
	if (why)
		c->n.jobs_aborted++;
	else
		c->n.jobs_finished++;
}

void
relay_job_abort(struct relay_core *c, struct job *j, uint32_t from, const char *why)
{
	uint32_t base = j->label_base;
	job_remove(c, j, from, why);
	c->conf.ops->job_ended(c->conf.user, base, why);
}

int
relay_job_end(struct relay_core *c, uint32_t label_base, const char *why, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	struct job *j = relay_job_by_base(c, label_base);
	if (!j)
		return RELAY_ERR_NOTFOUND;
	job_remove(c, j, NONE, why && why[0] ? why : NULL);
	return RELAY_ERR_OK;
}

void
relay_core_end_all(struct relay_core *c, const char *why, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
		if (c->job[i].used)
			job_remove(c, &c->job[i], NONE, why);
}
