/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: which trunk a segment goes over, and what it means when there is none. */
#include "core_internal.h"

#include "canary.h"

#include "base/bytes.h"

#include <stdio.h>

#define RATE_NS	    BASE_MS_NS /* a trunk's rate is looked up that often */
#define RATE_MIN    1u
#define HALF_LEAST  (RELAY_WEIGHT_MAX / 16) /* what is below it is as good as nothing */
#define HALF_MAX_NS (500 * BASE_MS_NS)

enum standing { NO_WAY, STANDBY, GOOD, LIGHT };

/* ---- members --------------------------------------------------------------- */

struct way *
relay_group_find(struct group *g, uint32_t trunk)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->way[k].trunk == trunk)
			return &g->way[k];
	return NULL;
}

bool
relay_group_add(struct relay_core *c, struct job *j, uint32_t client, const struct way *w)
{
	struct group *g = &j->group[client];
	struct way *old = relay_group_find(g, w->trunk);
	if (old)
		return old->label_base == w->label_base;
	if (g->n == RELAY_GROUP_MAX) {
		c->n.members_refused++;
		return false;
	}
	g->way[g->n++] = *w;
	g->policy = (uint8_t)relay_group_policy(c, g);
	relay_trunk_use(c, j, w->trunk, client);
	return true;
}

bool
relay_group_left(const struct group *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->way[k].left)
			return true;
	return false;
}

/* ---- picking --------------------------------------------------------------- */

static enum standing
standing(const struct relay_core *c, const struct way *w)
{
	const struct trunk *k = &c->trunk[w->trunk];
	bool good = k->weight && !w->lost_by;
	if (k->lit)
		return good ? LIGHT : STANDBY;
	if (!k->up)
		return NO_WAY;
	return good && c->now_ns >= k->usable_ns ? GOOD : STANDBY;
}

/* The same, for ways of which some have been tried. */
static enum standing
standing_now(const struct relay_core *c, const struct group *g, uint32_t way, uint64_t tried)
{
	const struct trunk *k = &c->trunk[g->way[way].trunk];
	if (k->lit && !(tried & TRIED_LIGHT(way)))
		return standing(c, &g->way[way]);
	if (!k->up || tried & TRIED_TRUNK(way))
		return NO_WAY;
	enum standing is = standing(c, &g->way[way]);
	return is == LIGHT ? GOOD : is;
}

/* As congestion control measures it: what it paces by, or its window in a round trip. */
static uint32_t
rate_of(struct relay_core *c, struct trunk *k)
{
	struct suci_path_info i;
	if (k->rate && c->now_ns - k->rate_ns < RATE_NS)
		return k->rate;
	k->rate_ns = c->now_ns;
	k->rate = RATE_MIN;
	if (!suci_path_info(c->ep, k->path, &i))
		return k->rate;
	uint64_t rtt_us = i.rtt_ns / BASE_US_NS + 1;
	uint64_t rate = i.rate_bps ? i.rate_bps / 1000 : (uint64_t)i.cwnd * i.mtu * 1000 / rtt_us;
	k->rate = rate < RATE_MIN ? RATE_MIN : rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
	return k->rate;
}

/* How long one more segment would take; no unit.  Segments are of one size, nearly. */
static uint64_t
delay(struct relay_core *c, const struct way *w)
{
	struct trunk *k = &c->trunk[w->trunk];
	const struct path *p = &c->path[k->path];
	uint64_t held = p->tx_segments - p->tx_acked - p->tx_abandoned + 1;
	uint64_t rate = (uint64_t)rate_of(c, k) * (k->weight ? k->weight : 1);
	return (held << 32) / rate;
}

/* Rendezvous hashing (Thaler, Ravishankar 1998): when a way goes, only its pairs move. */
static uint64_t
hash(uint32_t src, uint32_t dst, uint32_t trunk)
{
	uint64_t x = ((uint64_t)src << 32 | dst) * 0x9e3779b97f4a7c15ull ^ trunk;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static bool
take_way(const struct relay_core *c, const struct group *g, uint32_t way, uint64_t tried,
	 struct pick *out)
{
	const struct trunk *k = &c->trunk[g->way[way].trunk];
	out->way = way;
	out->light = k->lit && !(tried & TRIED_LIGHT(way));
	out->path = out->light ? relay_light_pick(c, k) : k->path;
	return true;
}

bool
relay_group_choose(struct relay_core *c, struct group *g, uint32_t own, uint32_t src, uint32_t dst,
		   uint64_t tried, struct pick *out)
{
	bool stripe = g->policy == RELAY_POLICY_STRIPE;
	if (!stripe && own != NONE && c->nlit && standing_now(c, g, own, tried) == LIGHT)
		return take_way(c, g, own, tried, out);
	uint32_t best = NONE, first = g->n ? (uint32_t)(++g->turn % g->n) : 0;
	enum standing best_is = NO_WAY;
	uint64_t best_cost = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t k = first + i < g->n ? first + i : first + i - g->n;
		const struct way *w = &g->way[k];
		enum standing is = standing_now(c, g, k, tried);
		if (is == NO_WAY || is < best_is)
			continue;
		/* Light is a line for ourselves: one is as good as another. */
		bool measured = stripe && is != LIGHT && c->trunk[w->trunk].up;
		uint64_t cost = measured ? delay(c, w) : k == own ? 0 : hash(src, dst, w->trunk);
		if (best != NONE && is == best_is && cost >= best_cost)
			continue;
		best = k;
		best_is = is;
		best_cost = cost;
	}
	return best != NONE && take_way(c, g, best, tried, out);
}

/* ---- policies -------------------------------------------------------------- */

static uint32_t
mask_of(const struct relay_policy_rule *r)
{
	return r->prefix_len ? ~0u << (32 - r->prefix_len) : 0;
}

/* 198.51.100.21/24 is 198.51.100.0/24. */
static bool
same_range(const struct relay_policy_rule *a, const struct relay_policy_rule *b)
{
	return a->prefix_len == b->prefix_len && !((a->ipv4 ^ b->ipv4) & mask_of(a));
}

uint32_t
relay_group_policy(const struct relay_core *c, const struct group *g)
{
	uint32_t policy = RELAY_POLICY_DEST, longest = 0;
	uint32_t ip = g->n ? relay_name_of(c, &c->trunk[g->way[0].trunk].addr) : 0;
	for (uint32_t i = 0; i < c->conf.nrules; i++) {
		const struct relay_policy_rule *r = &c->conf.rule[i];
		if (r->prefix_len < longest || (r->ipv4 ^ ip) & mask_of(r))
			continue;
		policy = r->policy;
		longest = r->prefix_len;
	}
	return policy;
}

/* Other rules: all groups of all jobs follow, and the processes are told. */
static void
deal_anew(struct relay_core *c)
{
	for (uint32_t n = 0; n < c->conf.limits.jobs_max; n++) {
		struct job *j = &c->job[n];
		for (uint32_t k = 0; j->used && k < j->nclients; k++)
			j->group[k].policy = (uint8_t)relay_group_policy(c, &j->group[k]);
		if (j->used)
			relay_tell_procs(c, j, PROC_TELL_RELAYS);
	}
}

int
relay_core_set_policy(struct relay_core *c, const struct relay_policy_rule *rule, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	if (rule->prefix_len > 32 || rule->policy > RELAY_POLICY_STRIPE)
		return RELAY_ERR_INVAL;
	uint32_t i = 0;
	while (i < c->conf.nrules && !same_range(&c->conf.rule[i], rule))
		i++;
	if (i == RELAY_RULES_MAX)
		return RELAY_ERR_NOMEM;
	c->conf.rule[i] = *rule;
	c->conf.nrules += i == c->conf.nrules;
	deal_anew(c);
	return RELAY_ERR_OK;
}

int
relay_core_set_policies(struct relay_core *c, const struct relay_policy_rule *rule, uint32_t n,
			uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	if (n > RELAY_RULES_MAX)
		return RELAY_ERR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (rule[i].prefix_len > 32 || rule[i].policy > RELAY_POLICY_STRIPE)
			return RELAY_ERR_INVAL;
	memcpy(c->conf.rule, rule, n * sizeof *rule);
	c->conf.nrules = n;
	deal_anew(c);
	return RELAY_ERR_OK;
}

/* ---- our own share --------------------------------------------------------- */

/* What deals by measured rates sends a trunk little that measured little, and that one's window
 * may be no larger than for this, if it learns it: our whole share at once would wait there for a
 * round trip.  Taken away by halves it makes the others carry at most twice as much from one to the
 * next, and slow start does as much in the two round trips between. */
static bool
goes_by_halves(const struct relay_core *c)
{
	for (uint32_t n = 0; n < c->conf.limits.jobs_max; n++) {
		const struct job *j = &c->job[n];
		for (uint32_t k = 0; j->used && k < j->nclients; k++)
			if (j->group[k].n && j->group[k].policy == RELAY_POLICY_STRIPE)
				return true;
	}
	return false;
}

/* Two of the longest round trips: one until all deal by the new weight, one for windows to grow. */
static uint64_t
half_ns(const struct relay_core *c)
{
	uint64_t most = 0;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		const struct trunk *k = &c->trunk[t];
		struct suci_path_info i;
		if (k->used && k->up && suci_path_info(c->ep, k->path, &i))
			most = base_max_ns(most, i.rtt_ns);
	}
	return base_min_ns(2 * most + BASE_MS_NS, HALF_MAX_NS);
}

static void
tell_weight(struct relay_core *c, uint32_t weight)
{
	c->conf.cluster[c->conf.self].weight = (uint8_t)weight;
	for (uint32_t n = 0; n < c->conf.limits.jobs_max; n++) {
		if (!c->job[n].used)
			continue;
		relay_tell_procs(c, &c->job[n], PROC_TELL_RELAYS);
		relay_tell_trunks_relays(c, &c->job[n]);
	}
}

void
relay_group_drain(struct relay_core *c)
{
	if (c->half_ns == BASE_NEVER_NS)
		return;
	if (c->now_ns >= c->half_ns) {
		uint32_t half = c->conf.cluster[c->conf.self].weight / 2u;
		bool last = half < HALF_LEAST;
		tell_weight(c, last ? 0 : half);
		c->half_ns = last ? BASE_NEVER_NS : base_add_ns(c->now_ns, half_ns(c));
	}
	if (c->half_ns != BASE_NEVER_NS)
		wake_at(c, c->half_ns);
}

int
relay_core_set_weight(struct relay_core *c, uint32_t weight, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	if (weight > RELAY_WEIGHT_MAX || !c->conf.ncluster)
		return RELAY_ERR_INVAL;
	if (!weight && c->half_ns != BASE_NEVER_NS)
		return RELAY_ERR_OK; /* it does */
	c->half_ns = BASE_NEVER_NS;
	if (!weight && goes_by_halves(c)) {
		c->half_ns = c->now_ns;
		relay_group_drain(c);
	} else {
		tell_weight(c, weight);
	}
	return RELAY_ERR_OK;
}

void
relay_core_leave(struct relay_core *c, const char *why, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	c->leaving = true;
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++)
		if (c->path[i].kind != RELAY_PATH_NONE)
			suci_path_close(c->ep, i, why, c->now_ns);
}

uint64_t
relay_core_quiet_ns(const struct relay_core *c, uint64_t now_ns)
{
	bool not_yet = c->held || c->half_ns != BASE_NEVER_NS || now_ns < c->last_seg_ns;
	return not_yet ? 0 : now_ns - c->last_seg_ns;
}

/* ---- out of reach ------------------------------------------------------------ */

static bool
reachable(const struct relay_core *c, const struct job *j, uint32_t client)
{
	const struct group *g = &j->group[client];
	if (!g->n) /* the own one, or without relays: each process or gateway is for itself */
		return !g->relays;
	for (uint32_t k = 0; k < g->n; k++)
		if (standing(c, &g->way[k]) != NO_WAY)
			return true;
	return false;
}

static void
look_client(struct relay_core *c, struct job *j, uint32_t client, bool up)
{
	struct group *g = &j->group[client];
	g->was_up = g->was_up || (up && g->n);
	if (up || j->elsewhere >> client & 1)
		g->lost_ns = BASE_NEVER_NS;
	else if (g->lost_ns == BASE_NEVER_NS)
		g->lost_ns = c->now_ns;
	if (g->lost_ns != BASE_NEVER_NS && g->was_up)
		wake_at(c, base_add_ns(g->lost_ns, c->conf.partition_ns));
}

static bool
reached_by_light(const struct relay_core *c, const struct group *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (standing(c, &g->way[k]) == LIGHT)
			return true;
	return false;
}

void
relay_group_look(struct relay_core *c, struct job *j)
{
	uint32_t ways = 0, lit = 0;
	for (uint32_t k = 0; k < j->nclients; k++) {
		bool up = reachable(c, j, k);
		ways |= (uint32_t)up << k;
		lit |= (uint32_t)(c->nlit && reached_by_light(c, &j->group[k])) << k;
		look_client(c, j, k, up);
	}
	/* Processes that have one relay send everything over it anyway. */
	if (lit != j->lit && c->conf.ncluster > 1)
		relay_tell_procs(c, j, PROC_TELL_WAYS);
	j->lit = lit;
	if (ways == j->ways)
		return;
	j->ways = ways;
	j->state = true;
	relay_tell_procs(c, j, PROC_TELL_WAYS);
	wake_at(c, c->now_ns);
}

bool
relay_group_given_up(const struct relay_core *c, const struct job *j, uint32_t client)
{
	const struct group *g = &j->group[client];
	return !g->dead && g->was_up && g->lost_ns != BASE_NEVER_NS && !relay_group_left(g) &&
	       c->now_ns >= base_add_ns(g->lost_ns, c->conf.partition_ns);
}

int
relay_job_elsewhere(struct relay_core *c, uint32_t label_base, uint32_t ways, uint64_t now_ns)
{
	see_time(c, now_ns);
	relay_new_era(c);
	struct job *j = relay_job_by_base(c, label_base);
	if (!j)
		return RELAY_ERR_NOTFOUND;
	j->elsewhere = ways;
	relay_group_look(c, j);
	return RELAY_ERR_OK;
}

void
relay_clients_text(uint32_t mask, char *out, size_t room)
{
	size_t n = (size_t)snprintf(out, room, "client%s", mask & (mask - 1) ? "s" : "");
	const char *sep = " ";
	for (unsigned int i = 0; i < RELAY_CLIENTS_MAX && n < room; i++) {
		if (mask >> i & 1) {
			n += (size_t)snprintf(out + n, room - n, "%s%u", sep, i);
			sep = ", ";
		}
	}
}

/* Nobody of this cluster has had a way to that client for too long. */
static void
give_up(struct relay_core *c, struct job *j, uint32_t client)
{
	const struct group *g = &j->group[client];
	char at[SUCI_ADDR_TEXT_MAX], msg[RELAY_WHY_MAX];
	if (j->tolerant) {
		relay_bury_client(c, j, client);
		return;
	}
	const struct trunk *k = &c->trunk[g->last != NONE ? g->last : g->way[0].trunk];
	relay_text_set(msg, "no relay of client %u has been reachable for %llu s; the last, %s: %s",
		       client, (unsigned long long)(c->conf.partition_ns / BASE_S_NS),
		       suci_addr_text(&k->addr, at), k->why[0] ? k->why : "it never was");
	relay_job_abort(c, j, NONE, msg);
}

static bool
is_here(const struct relay_core *c, const struct proc *p)
{
	return p->path != NONE && c->path[p->path].up;
}

static bool
all_left(const struct relay_core *c, const struct job *j)
{
	bool any = false, absent = true;
	for (uint32_t r = j->first_local; r < j->first_local + j->nlocal; r++) {
		const struct proc *p = job_proc(c, j, r);
		if (p->flags & PROC_LEFT)
			any = true;
		else if (j->tolerant || is_here(c, p))
			return false;
		else
			absent = absent && p->flags & PROC_ABSENT;
	}
	return (any || absent) && !(j->tolerant && RELAY_BUG(DEATH_KEPT));
}

/* Nobody of ours is here any more, or has come in time, and not all have left: they may have gone
 * while this relay was not there to hear it, and nobody else is left that did.  Who is gone for
 * sure is said by where it was. */
static void
seek_absent(struct relay_core *c, struct job *j)
{
	uint32_t end = j->first_local + j->nlocal;
	for (uint32_t r = j->first_local; r < end; r++)
		if (is_here(c, job_proc(c, j, r)))
			return;
	for (uint32_t r = j->first_local; r < end; r++) {
		struct proc *p = job_proc(c, j, r);
		if (p->path == NONE &&
		    !(p->flags & (PROC_LEFT | PROC_ABSENT | PROC_WANTED | PROC_FOREIGN)))
			relay_proc_want(c, j, p, c->now_ns);
	}
}

static void
tick_job(struct relay_core *c, struct job *j)
{
	for (uint32_t k = 0; k < j->nclients; k++) {
		if (relay_group_given_up(c, j, k)) {
			give_up(c, j, k);
			if (!j->used)
				return;
		}
		const struct group *g = &j->group[k];
		if (!g->dead && g->was_up && g->lost_ns != BASE_NEVER_NS && !relay_group_left(g))
			wake_at(c, base_add_ns(g->lost_ns, c->conf.partition_ns));
	}
	if (c->conf.ncluster > 1 && !j->sought) {
		if (c->now_ns >= j->open_until_ns)
			j->sought = j->state = true;
		else
			wake_at(c, j->open_until_ns);
	}
	if (!j->state)
		return;
	j->state = false;
	j->left = all_left(c, j);
	if (j->sought && !j->left)
		seek_absent(c, j);
	if (c->conf.ops->job_state)
		c->conf.ops->job_state(c->conf.user, j->label_base, j->ways, j->left, j->tolerant);
}

void
relay_group_tick(struct relay_core *c)
{
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
		if (c->job[i].used)
			tick_job(c, &c->job[i]);
}
