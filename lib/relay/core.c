/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's memory, clockwork and queries. */
#include "door_internal.h"

#include <string.h>

static uint32_t
pages_max(const struct relay_core_limits *l)
{
	return l->procs_max / RELAY_LABEL_PAGE;
}

static bool
limits_good(const struct relay_core_limits *l)
{
	return !(l->jobs_max < 1 || l->jobs_max > 4096 || l->procs_max < RELAY_LABEL_PAGE ||
		 l->procs_max > 1u << 22 || l->hosts_max < 1 || l->hosts_max > 65535 ||
		 l->trunks_max < 1 || l->trunks_max > 4096 || l->paths_max < 1 ||
		 l->paths_max > 1u << 20 || l->strays_max > 1u << 24 || l->primaries_max < 1 ||
		 l->primaries_max > RELAY_RELAYS_MAX ||
		 (l->doors_max && l->doors_max < RELAY_LABEL_PAGE) ||
		 l->doors_max > 1u << DOOR_SPACE_BITS || l->holds_max > 1u << 22);
}

static size_t
lay_out(const struct relay_core_limits *l, void *mem, struct relay_core *c)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof *c);
	c->map = base_arena_take(&a, (size_t)l->primaries_max * RELAY_LABEL_PAGES_MAX,
				 sizeof *c->map);
	c->page = base_arena_take(&a, pages_max(l), sizeof *c->page);
	c->proc = base_arena_take(&a, (size_t)pages_max(l) * RELAY_LABEL_PAGE, sizeof *c->proc);
	c->job = base_arena_take(&a, l->jobs_max, sizeof *c->job);
	c->host = base_arena_take(&a, (size_t)l->jobs_max * l->hosts_max, sizeof *c->host);
	c->group = base_arena_take(&a, (size_t)l->jobs_max * RELAY_CLIENTS_MAX, sizeof *c->group);
	c->stray = base_arena_take(&a, l->strays_max, sizeof *c->stray);
	c->trunk_clients =
		base_arena_take(&a, (size_t)l->jobs_max * l->trunks_max, sizeof *c->trunk_clients);
	c->trunk = base_arena_take(&a, l->trunks_max, sizeof *c->trunk);
	c->untold = base_arena_take(&a, (size_t)l->trunks_max * UNTOLD_MAX, sizeof *c->untold);
	c->path = base_arena_take(&a, l->paths_max, sizeof *c->path);
	relay_door_lay_out(l, &a, &c->doors);
	return base_arena_bytes(&a);
}

size_t
relay_core_footprint(const struct relay_core_limits *limits)
{
	struct relay_core counting;
	return limits_good(limits) ? lay_out(limits, NULL, &counting) : 0;
}

static void
init_tables(struct relay_core *c)
{
	const struct relay_core_limits *l = &c->conf.limits;
	lay_out(l, c, c);
	c->pages_max = c->pages_free = pages_max(l);
	for (uint32_t g = 0; g < RELAY_RELAYS_MAX; g++)
		c->gateway[g].path = NONE;
	for (uint32_t i = 0; i < RELAY_LIGHTS_MAX; i++)
		c->light[i].path = NONE;
	for (uint32_t i = 0; i < l->primaries_max * RELAY_LABEL_PAGES_MAX; i++)
		c->map[i] = NONE;
	for (uint32_t i = 0; i < c->pages_max; i++)
		c->page[i] = (struct page){.job = NONE,
					   .next_free = i + 1 < c->pages_max ? i + 1 : NONE};
	for (uint32_t i = 0; i < l->jobs_max; i++) {
		c->job[i] = (struct job){
			.host = c->host + (size_t)i * l->hosts_max,
			.group = c->group + (size_t)i * RELAY_CLIENTS_MAX,
			.trunk_clients = c->trunk_clients + (size_t)i * l->trunks_max,
		};
		memset(c->job[i].trunk_clients, 0, l->trunks_max * sizeof(uint32_t));
	}
	c->free_stray = l->strays_max ? 0 : NONE;
	for (uint32_t i = 0; i < l->strays_max; i++)
		c->stray[i].next = i + 1 < l->strays_max ? i + 1 : NONE;
	memset(c->trunk, 0, l->trunks_max * sizeof *c->trunk);
	memset(c->untold, 0, (size_t)l->trunks_max * UNTOLD_MAX * sizeof *c->untold);
	for (uint32_t i = 0; i < l->paths_max; i++)
		c->path[i] = (struct path){.job = NONE,
					   .trunk = NONE,
					   .close_ns = BASE_NEVER_NS,
					   .doors = NONE,
					   .holds = NONE};
	relay_door_init(c);
}

/* The relays of the own cluster and the policies. */
static bool
cluster_ok(const struct relay_core_conf *conf)
{
	if (conf->ncluster > RELAY_GROUP_MAX || conf->nrules > RELAY_RULES_MAX ||
	    (conf->ncluster && conf->self >= conf->ncluster))
		return false;
	for (uint32_t i = 0; i < conf->ncluster; i++)
		if (conf->cluster[i].weight > RELAY_WEIGHT_MAX)
			return false;
	for (uint32_t i = 0; i < conf->nrules; i++)
		if (conf->rule[i].prefix_len > 32 || conf->rule[i].policy > RELAY_POLICY_STRIPE)
			return false;
	return true;
}

struct relay_core *
relay_core_new(void *mem, const struct relay_core_conf *conf)
{
	if (!mem || !limits_good(&conf->limits) || !conf->ops || !conf->ops->writable ||
	    !conf->ops->hold || !conf->ops->release || !conf->ops->job_ended ||
	    conf->npeers > RELAY_PEERS_MAX || conf->nplaces > RELAY_PLACES_MAX ||
	    conf->ngateways > RELAY_RELAYS_MAX || conf->nlights > RELAY_LIGHTS_MAX ||
	    !cluster_ok(conf))
		return NULL;
	struct relay_core *c = mem;
	*c = (struct relay_core){.conf = *conf,
				 .expiry_ns = BASE_NEVER_NS,
				 .half_ns = BASE_NEVER_NS,
				 .generation = 1};
	if (!c->conf.workers)
		c->conf.workers = 1;
	if (!c->conf.connect_ns)
		c->conf.connect_ns = 10 * BASE_S_NS;
	if (!c->conf.retry_ns)
		c->conf.retry_ns = 50 * BASE_MS_NS;
	if (!c->conf.local_keepalive_ns)
		c->conf.local_keepalive_ns = BASE_S_NS;
	if (!c->conf.light_open_ns)
		c->conf.light_open_ns = 300 * BASE_MS_NS;
	if (!c->conf.light_liveness_ns)
		c->conf.light_liveness_ns = 200 * BASE_MS_NS;
	if (!c->conf.dark_drain_ns)
		c->conf.dark_drain_ns = 40 * BASE_MS_NS;
	init_tables(c);
	return c;
}

void *
relay_core_fini(struct relay_core *c)
{
	if (!c)
		return NULL;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max && c->nstrays; i++)
		if (c->job[i].used)
			relay_stray_forget(c, &c->job[i]);
	memset(c, 0, sizeof *c);
	return c;
}

void
relay_bind(struct relay_core *c, struct suci *ep)
{
	c->ep = ep;
}

void
relay_new_era(struct relay_core *c)
{
	if (++c->generation)
		return;
	c->generation = 1; /* what is left of the first round through all numbers must not hold */
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++)
		c->path[i].recent.generation = 0;
}

uint16_t
relay_trunks_mtu(const struct relay_core *c)
{
	uint32_t most = c->conf.trunk_mtu, up = 0;
	if (!c->conf.trunk_mtu_start)
		return c->conf.trunk_mtu;
	for (uint32_t t = 0; c->ep && t < c->conf.limits.trunks_max; t++) {
		const struct trunk *k = &c->trunk[t];
		struct suci_path_info info;
		if (!k->used || !k->users)
			continue;
		if (k->path == NONE || !suci_path_info(c->ep, k->path, &info) || !info.up)
			return c->conf.trunk_mtu_start;
		most = info.mtu < most ? info.mtu : most;
		up++;
	}
	return up ? (uint16_t)most : c->conf.trunk_mtu_start;
}

void
relay_core_hello(const struct relay_core *c, uint8_t out[RELAY_HELLO_LEN])
{
	struct relay_hello h = {
		.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE, .mtu = relay_trunks_mtu(c)};
	relay_hello_encode(&h, out);
}

/* ---- clockwork ------------------------------------------------------------ */

static void
tick_trunks(struct relay_core *c)
{
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		struct trunk *k = &c->trunk[t];
		if (!k->used || k->users == 0 || k->path != NONE)
			continue;
		if (c->now_ns >= k->retry_ns) {
			c->n.trunk_retries++;
			relay_door_trunk_hello(c, t);
			relay_trunk_open(c, t);
		} else {
			wake_at(c, k->retry_ns);
		}
	}
}

static void
tick_gateways(struct relay_core *c)
{
	for (uint32_t g = 0; g < c->conf.ngateways; g++) {
		struct gateway *w = &c->gateway[g];
		if (w->users == 0 || w->path != NONE)
			continue;
		if (c->now_ns >= w->retry_ns) {
			c->n.gateway_retries++;
			relay_gateway_open(c, g);
		} else {
			wake_at(c, w->retry_ns);
		}
	}
}

static void
tick_job(struct relay_core *c, uint32_t i)
{
	struct job *j = &c->job[i];
	if (!j->used || j->wanted == 0)
		return;
	if (c->now_ns < j->open_at_ns) {
		wake_at(c, j->open_at_ns);
		return;
	}
	j->open_at_ns = BASE_NEVER_NS;
	for (uint32_t r = j->first_local; r < j->first_local + j->nlocal && j->wanted; r++)
		if (job_proc(c, j, r)->flags & PROC_WANTED)
			relay_proc_open(c, i, r);
	if (j->wanted) {
		j->open_at_ns = base_add_ns(c->now_ns, c->conf.retry_ns);
		wake_at(c, j->open_at_ns);
	}
}

static void
tick_paths(struct relay_core *c)
{
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++) {
		struct path *p = &c->path[i];
		if (p->close_ns == BASE_NEVER_NS)
			continue;
		if (c->now_ns < p->close_ns) {
			wake_at(c, p->close_ns);
			continue;
		}
		p->close_ns = BASE_NEVER_NS;
		suci_path_close(c->ep, i, "", c->now_ns);
	}
}

void
relay_core_tick(struct relay_core *c, uint64_t now_ns)
{
	see_time(c, now_ns);
	if (c->now_ns < c->expiry_ns)
		return;
	c->expiry_ns = BASE_NEVER_NS;
	relay_new_era(c);
	if (c->leaving)
		return;
	tick_trunks(c);
	tick_gateways(c);
	relay_light_tick(c);
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
		tick_job(c, i);
	tick_paths(c);
	relay_untold_tick(c);
	relay_group_tick(c);
	relay_group_drain(c);
	relay_tell_tick(c);
	relay_stray_send(c);
	relay_door_tick(c);
}

uint64_t
relay_core_expiry_ns(const struct relay_core *c)
{
	return c->expiry_ns;
}

/* ---- queries -------------------------------------------------------------- */

const struct relay_counters *
relay_core_counters(const struct relay_core *c)
{
	return &c->n;
}

uint64_t
relay_core_held(const struct relay_core *c)
{
	return c->held;
}

bool
relay_core_job(const struct relay_core *c, uint32_t i, struct relay_job_info *out)
{
	if (i >= c->conf.limits.jobs_max || !c->job[i].used)
		return false;
	const struct job *j = &c->job[i];
	*out = (struct relay_job_info){
		.id = j->id,
		.label_base = j->label_base,
		.my_client = j->my_client,
		.nclients = j->nclients,
		.nworld = j->nworld,
		.nlocal = j->nlocal,
		.first_local = j->first_local,
		.nhosts = j->nhosts,
		.ways = j->ways,
		.rx_segments = j->rx_segments,
		.rx_bytes = j->rx_bytes,
		.since_ns = j->since_ns,
	};
	for (uint32_t r = j->first_local; r < j->first_local + j->nlocal; r++) {
		const struct proc *p = job_proc(c, j, r);
		out->local_up +=
			(p->flags & PROC_FOREIGN) || (p->path != NONE && c->path[p->path].up);
		out->local_left += (p->flags & PROC_LEFT) != 0;
	}
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		out->trunks += j->trunk_clients[t] != 0;
		out->trunks_up += j->trunk_clients[t] != 0 && c->trunk[t].up;
	}
	for (uint32_t g = 0; g < c->conf.ngateways; g++) {
		out->gateways += uses_gateway(j, g);
		out->gateways_up += uses_gateway(j, g) && c->gateway[g].up;
	}
	return true;
}

bool
relay_core_path(const struct relay_core *c, uint32_t path, struct relay_path_info *out)
{
	if (path >= c->conf.limits.paths_max || c->path[path].kind == RELAY_PATH_NONE)
		return false;
	const struct path *p = &c->path[path];
	*out = (struct relay_path_info){
		.kind = (enum relay_path_kind)p->kind,
		.up = p->up,
		.peer = p->peer,
		.rank = p->rank,
		.rx_segments = p->rx_segments,
		.rx_bytes = p->rx_bytes,
		.tx_segments = p->tx_segments,
		.tx_bytes = p->tx_bytes,
		.dropped = p->rx_dropped,
		.refused = p->rx_refused,
		.held = p->tx_segments - p->tx_acked - p->tx_abandoned,
	};
	if (p->kind == RELAY_PATH_PROC && p->job != NONE)
		out->job = c->job[p->job].label_base;
	if (p->kind == RELAY_PATH_TRUNK) {
		const struct trunk *t = &c->trunk[p->trunk];
		out->jobs = t->users;
		out->weight = t->weight;
		out->standby = c->now_ns < t->usable_ns;
		out->rate = t->rate;
	}
	if (p->kind == RELAY_PATH_LIGHT) {
		out->rank = p->trunk;
		out->jobs = c->trunk[c->light[p->trunk].peer].users;
	}
	if (p->kind == RELAY_PATH_GATEWAY) {
		out->rank = p->trunk;
		out->jobs = c->gateway[p->trunk].users;
	}
	return true;
}

static const char *
check_counts(const struct relay_core *c)
{
	const struct relay_counters *n = &c->n;
	uint64_t dropped = 0, refused = 0;
#define X(name, help)                           \
	if (strncmp(#name, "drop_", 5) == 0)    \
		dropped += n->name;             \
	if (strncmp(#name, "refused_", 8) == 0) \
		refused += n->name;
	RELAY_COUNTERS(X)
#undef X
	if (n->rx_segments != n->tx_acked + c->held + dropped + refused)
		return "segments in = acked + held + dropped + refused";
	uint64_t held = c->nstrays;
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++) {
		const struct path *p = &c->path[i];
		held += p->tx_segments - p->tx_acked - p->tx_abandoned;
		if (p->rx_segments != p->rx_taken + p->rx_dropped + p->rx_refused)
			return "a path's segments in = taken + dropped + refused";
	}
	return held == c->held ? NULL : "held over all paths + strays = held";
}

static const char *
check_job(const struct relay_core *c, uint32_t i)
{
	const struct job *j = &c->job[i];
	uint32_t wanted = 0;
	for (uint32_t r = 0; r < j->nworld; r++) {
		uint32_t job, rank;
		const struct proc *p = find_proc(c, j->label_base + r, &job, &rank);
		if (!p || job != i || rank != r)
			return "every label of a job leads to its process";
		wanted += (p->flags & PROC_WANTED) != 0;
		if (p->path == NONE)
			continue;
		const struct path *q = &c->path[p->path];
		if (q->kind != RELAY_PATH_PROC || q->job != i || q->rank != r)
			return "a process and its path name each other";
	}
	return wanted == j->wanted ? NULL : "processes to be connected = their number";
}

/* Members are trunks in use, and strays are in the lists of their groups. */
static const char *
check_groups(const struct relay_core *c)
{
	uint32_t strays = 0, idle = 0;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		const struct job *j = &c->job[i];
		for (uint32_t k = 0; j->used && k < j->nclients; k++) {
			const struct group *g = &j->group[k];
			strays += g->nstrays;
			for (uint32_t m = 0; m < g->n; m++)
				if (!(j->trunk_clients[g->way[m].trunk] >> k & 1))
					return "a way's trunk speaks for its client";
		}
	}
	for (uint32_t i = c->free_stray; i != NONE && idle <= c->conf.limits.strays_max;
	     i = c->stray[i].next)
		idle++;
	if (strays != c->nstrays || strays + idle != c->conf.limits.strays_max)
		return "strays in groups + free = all";
	return NULL;
}

static const char *
check_gateways(const struct relay_core *c)
{
	for (uint32_t g = 0; g < RELAY_RELAYS_MAX; g++) {
		const struct gateway *w = &c->gateway[g];
		uint32_t users = 0;
		for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
			users += c->job[i].used && uses_gateway(&c->job[i], g);
		if (users != w->users)
			return "a gateway's users = jobs that use it";
		if (w->path != NONE &&
		    (c->path[w->path].kind != RELAY_PATH_GATEWAY || c->path[w->path].trunk != g ||
		     c->path[w->path].up != w->up))
			return "a gateway and its path name each other";
	}
	return NULL;
}

static const char *
check_tables(const struct relay_core *c)
{
	uint32_t pages = 0;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		if (!c->job[i].used)
			continue;
		const char *fault = check_job(c, i);
		if (fault)
			return fault;
		pages += (c->job[i].nworld + RELAY_LABEL_PAGE - 1) / RELAY_LABEL_PAGE;
	}
	if (pages + c->pages_free != c->pages_max)
		return "pages in use + free = all";
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		const struct trunk *k = &c->trunk[t];
		uint32_t users = 0;
		for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
			users += c->job[i].used && c->job[i].trunk_clients[t];
		users += k->nclusters + (k->nexports != 0);
		if (k->used ? users != k->users : users)
			return "a trunk's users = jobs, clusters of doors and exports that use it";
		if (k->used && k->path != NONE &&
		    (c->path[k->path].kind != RELAY_PATH_TRUNK || c->path[k->path].trunk != t))
			return "a trunk and its path name each other";
		uint32_t untold = 0;
		for (uint32_t i = 0; i < UNTOLD_MAX; i++)
			untold += c->untold[(size_t)t * UNTOLD_MAX + i].used;
		if (untold != k->nuntold || (untold && !k->used))
			return "a trunk's untold ends = their number";
	}
	const char *fault = check_groups(c);
	if (!fault)
		fault = check_gateways(c);
	if (!fault)
		fault = relay_light_check(c);
	if (!fault)
		fault = relay_door_check(c);
	return fault ? fault : relay_forward_check(c);
}

bool
relay_core_check(const struct relay_core *c, const char **what)
{
	const char *fault = check_counts(c);
	if (!fault)
		fault = check_tables(c);
	if (what)
		*what = fault;
	return !fault;
}
