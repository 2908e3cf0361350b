/* SPDX-License-Identifier: BSD-2-Clause */
/* The jobs of a relay among the relays of its cluster: where a job is, how it is put there and
 * taken out, and what the other relays' frames mean.  See relay/cluster.h. */
#include "cluster_internal.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

#ifdef SUCI_CANARY
enum relay_bug relay_canary;
#endif

/* ---- the object -------------------------------------------------------------------- */

static bool
in_range(const struct relay_cluster_conf *conf)
{
	return conf->nrelays && conf->nrelays <= RELAY_RELAYS_MAX && conf->self < conf->nrelays &&
	       conf->jobs_max && conf->jobs_max < RELAY_CLUSTER_NOBODY && conf->member &&
	       conf->member[conf->self].nshards &&
	       conf->member[conf->self].nshards <= RELAY_SHARDS_MAX && conf->labels && conf->name &&
	       conf->ops && relay_job_footprint(&conf->limits);
}

size_t
relay_cluster_footprint(const struct relay_cluster_conf *conf)
{
	if (!in_range(conf))
		return 0;
	return sizeof(struct relay_cluster) + conf->jobs_max * sizeof(struct cluster_job);
}

struct relay_cluster *
relay_cluster_new(void *mem, const struct relay_cluster_conf *conf)
{
	struct relay_cluster *c = mem;
	size_t len = relay_cluster_footprint(conf);
	if (!len)
		return NULL;
	memset(mem, 0, len);
	c->conf = *conf;
	c->nworkers = conf->member[conf->self].nshards;
	return c;
}

static void
free_job(struct relay_cluster *c, struct cluster_job *j)
{
	if (j->took_labels)
		relay_labels_free(c->conf.labels, j->label_base, j->table->nworld);
	if (j->mem)
		c->conf.ops->give_back(c->conf.user, j->mem);
	j->used = false;
}

void
relay_cluster_fini(struct relay_cluster *c)
{
	for (uint32_t i = 0; i < c->conf.jobs_max; i++)
		if (c->job[i].used)
			free_job(c, &c->job[i]);
}

struct cluster_job *
relay_cluster_find(struct relay_cluster *c, uint32_t label_base)
{
	for (uint32_t i = 0; i < c->conf.jobs_max; i++)
		if (c->job[i].used && c->job[i].label_base == label_base && c->job[i].state != OVER)
			return &c->job[i];
	return NULL;
}

struct cluster_job *
relay_cluster_place(struct relay_cluster *c)
{
	for (uint32_t i = 0; i < c->conf.jobs_max; i++)
		if (!c->job[i].used)
			return &c->job[i];
	return NULL;
}

void
relay_cluster_free_if_done(struct relay_cluster *c, struct cluster_job *j)
{
	if (j->used && j->state == OVER && !j->orders && !j->owner)
		free_job(c, j);
}

/* ---- what goes out ------------------------------------------------------------------- */

void
relay_cluster_order(struct relay_cluster *c, struct cluster_job *j,
		    enum relay_cluster_order_type type, uint32_t place, const char *text)
{
	struct relay_cluster_order o = {
		.type = type,
		.place = place,
		.job = (uint32_t)(j - c->job),
		.label_base = j->label_base,
		.table = j->table,
		.text = text,
	};
	j->orders++;
	c->conf.ops->order(c->conf.user, &o);
}

void
relay_cluster_send(struct relay_cluster *c, uint32_t i, enum relay_peer_type type, uint32_t job,
		   const char *text)
{
	struct relay_peer_frame f = {.type = (uint8_t)type, .job = job};
	snprintf(f.text, sizeof f.text, "%s", text);
	(void)c->conf.ops->send(c->conf.user, i, &f); /* a lost channel says so itself */
}

void
relay_cluster_say(struct relay_cluster *c, enum relay_cluster_level level,
		  const struct cluster_job *j, const char *fmt, ...)
{
	char text[2 * RELAY_WHY_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	c->conf.ops->say(c->conf.user, level, j->owner, j->table ? j->table->id : 0, j->primary,
			 text);
}

size_t
relay_cluster_relay_text(const struct relay_cluster *c, uint32_t i, char why[RELAY_WHY_MAX])
{
	uint32_t a = c->conf.member[i].ipv4_private;
	int n = snprintf(why, RELAY_WHY_MAX, "relay %u.%u.%u.%u of cluster %.60s", a >> 24,
			 a >> 16 & 255, a >> 8 & 255, a & 255, c->conf.name);
	return (size_t)n;
}

/* ---- put there, taken out -------------------------------------------------------------- */

bool
relay_cluster_serves(const struct relay_job *table, uint32_t i)
{
	if (!table->nforeign)
		return false;
	for (uint32_t g = 0; g < table->ngates; g++)
		if (table->gate[g].relay == i)
			return true;
	return false;
}

void
relay_cluster_install(struct relay_cluster *c, struct cluster_job *j)
{
	bool gateway = c->conf.gateway && relay_cluster_serves(j->table, c->conf.self);
	j->in_cores = (1ull << c->nworkers) - 1;
	j->in_gateway = gateway;
	j->adds = c->nworkers + gateway;
	for (uint32_t w = 0; w < c->nworkers; w++)
		relay_cluster_order(c, j, RELAY_CLUSTER_ADD, w, "");
	if (gateway)
		relay_cluster_order(c, j, RELAY_CLUSTER_ADD, RELAY_CLUSTER_GATEWAY, "");
	if (c->conf.ops->table)
		c->conf.ops->table(c->conf.user, j->table, true);
}

void
relay_cluster_note_ended(struct relay_cluster *c, const struct cluster_job *j, bool ok)
{
	c->ended[c->ended_next++ % ENDED_KEPT] = (struct ended_job){
		.label_base = j->label_base,
		.token = j->table->token,
		.ok = ok,
	};
}

void
relay_cluster_remove(struct relay_cluster *c, struct cluster_job *j, const char *why)
{
	uint64_t cores = j->in_cores, told = j->told;
	bool gateway = j->in_gateway;
	j->state = OVER;
	j->in_cores = j->wanted = j->unanswered = j->told = j->unfinished = 0;
	j->in_gateway = false;
	if (gateway)
		relay_cluster_order(c, j, RELAY_CLUSTER_END, RELAY_CLUSTER_GATEWAY, why);
	for (uint32_t w = 0; w < c->nworkers; w++)
		if (cores >> w & 1)
			relay_cluster_order(c, j, RELAY_CLUSTER_END, w, why);
	for (uint32_t i = 0; i < c->conf.nrelays; i++)
		if (told & relay_bit(i))
			relay_cluster_send(c, i, RELAY_PEER_END, j->label_base, why);
	if (c->conf.ops->table)
		c->conf.ops->table(c->conf.user, j->table, false);
	relay_cluster_free_if_done(c, j);
}

/* ---- answers and reports ------------------------------------------------------------------ */

static void
forget_place(struct cluster_job *j, uint32_t place)
{
	if (place == RELAY_CLUSTER_GATEWAY)
		j->in_gateway = false;
	else if (place < RELAY_SHARDS_MAX)
		j->in_cores &= ~(1ull << place);
}

void
relay_cluster_answer(struct relay_cluster *c, uint32_t job, enum relay_cluster_order_type type,
		     uint32_t place, const char *refusal)
{
	struct cluster_job *j = &c->job[job];
	BASE_ASSERT(job < c->conf.jobs_max && j->used && j->orders);
	j->orders--;
	if (type == RELAY_CLUSTER_ADD) {
		j->adds--;
		if (refusal)
			forget_place(j, place);
		if (j->owner)
			relay_primary_added(c, j, refusal);
		else
			relay_member_added(c, j, refusal);
	} else if (type == RELAY_CLUSTER_FINISH && refusal && j->state == FINISHING &&
		   j->in_gateway) {
		/* It has forgotten it: it failed a moment ago, the report is under way. */
		relay_cluster_finished(c, j->label_base, "");
	}
	relay_cluster_free_if_done(c, j);
}

void
relay_cluster_ended(struct relay_cluster *c, uint32_t label_base, uint32_t place, const char *why)
{
	struct cluster_job *j = relay_cluster_find(c, label_base);
	if (!j)
		return;
	forget_place(j, place);
	if (j->owner)
		relay_primary_stop(c, j, why);
	else
		relay_member_ended(c, j, why);
}

void
relay_cluster_finished(struct relay_cluster *c, uint32_t label_base, const char *why)
{
	struct cluster_job *j = relay_cluster_find(c, label_base);
	if (!j)
		return;
	j->in_gateway = false;
	if (j->owner)
		relay_primary_finished(c, j, c->conf.self, why);
	else
		relay_member_finished(c, j, why);
}

void
relay_cluster_state(struct relay_cluster *c, uint32_t label_base, uint32_t worker, uint32_t ways,
		    bool left, uint64_t now_ns)
{
	struct cluster_job *j = relay_cluster_find(c, label_base);
	if (!j || worker >= c->nworkers)
		return;
	j->ways.worker[worker] = ways;
	relay_ways_share(c, j);
	if (left && !j->left_ns) {
		j->left_ns = now_ns ? now_ns : 1;
		j->left_by = worker;
	} else if (!left && j->left_by == worker) {
		j->left_ns = 0; /* one that was taken for absent has come */
	}
}

void
relay_cluster_tolerate(struct relay_cluster *c, uint32_t label_base)
{
	struct cluster_job *j = relay_cluster_find(c, label_base);
	if (j)
		j->tolerant = true;
}

bool
relay_cluster_tolerates(const struct relay_cluster *c, uint32_t job)
{
	return c->job[job].tolerant;
}

bool
relay_cluster_left(const struct relay_cluster *c, uint32_t job, uint64_t now_ns)
{
	const struct cluster_job *j = &c->job[job];
	/* In a job that survives deaths all of the cluster's have: nobody needs the time. */
	return j->left_ns && (j->tolerant || now_ns - j->left_ns > RELAY_CLUSTER_ORPHAN_NS);
}

/* ---- the other relays ------------------------------------------------------------------------ */

void
relay_cluster_up(struct relay_cluster *c, uint32_t i)
{
	/* It may have been started anew: its jobs, and ours for it. */
	relay_cluster_send(c, i, RELAY_PEER_GIVE, 0, "");
	for (uint32_t k = 0; k < c->conf.jobs_max; k++)
		if (c->job[k].used && c->job[k].state != OVER)
			relay_ways_tell(c, &c->job[k], i);
}

void
relay_cluster_down(struct relay_cluster *c, uint32_t i, const char *why)
{
	char text[RELAY_WHY_MAX];
	/* Other clusters read it too, and may have the same private addresses. */
	size_t n = relay_cluster_relay_text(c, i, text);
	snprintf(text + n, sizeof text - n, " is gone: %s", why);
	for (uint32_t k = 0; k < c->conf.jobs_max; k++) {
		struct cluster_job *j = &c->job[k];
		if (!j->used || j->state == OVER)
			continue;
		j->asked &= ~relay_bit(i);
		j->seen &= ~relay_bit(i);
		j->ways.relay[i] = 0;
		relay_ways_share(c, j);
		if (j->owner)
			relay_primary_relay_down(c, j, i, text);
		else
			relay_member_relay_down(c, j, i, text);
	}
}

/* A job of our earlier life looks as if we were its primary: that we say OK, too, tells that we are
 * a member like him. */
static void
give_orphan(struct relay_cluster *c, const struct cluster_job *j, uint32_t i)
{
	if (c->conf.ops->send_job(c->conf.user, i, j->table) &&
	    label_owner(j->label_base) == c->conf.self)
		relay_cluster_send(c, i, RELAY_PEER_OK, j->label_base, "");
}

static void
give_own(struct relay_cluster *c, struct cluster_job *j, uint32_t i)
{
	if (!((j->told | j->wanted) & relay_bit(i)) &&
	    c->conf.ops->send_job(c->conf.user, i, j->table))
		j->told |= relay_bit(i);
}

void
relay_cluster_give(struct relay_cluster *c, struct cluster_job *j)
{
	if (j->adds || j->state == FINISHING || j->state == OVER || !(j->owner || j->orphan)) {
		if (RELAY_BUG(NOT_GIVEN))
			j->asked = 0;
		return;
	}
	for (uint32_t i = 0; i < c->conf.nrelays; i++)
		if (!(j->asked & relay_bit(i)))
			continue;
		else if (j->owner)
			give_own(c, j, i);
		else
			give_orphan(c, j, i);
	j->asked = 0;
}

/* Relay i asks what we have: our jobs, and those whose primary is gone. */
static void
on_give(struct relay_cluster *c, uint32_t i)
{
	for (uint32_t k = 0; k < c->conf.jobs_max; k++) {
		struct cluster_job *j = &c->job[k];
		if (!j->used || j->state == OVER)
			continue;
		j->asked |= relay_bit(i);
		relay_cluster_give(c, j);
		relay_ways_tell(c, j, i);
	}
}

static void
on_answer(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f, const char *why)
{
	struct cluster_job *j = relay_cluster_find(c, f->job);
	if (j && j->owner)
		relay_primary_answered(c, j, i, why);
	else if (j && !why && i == label_owner(f->job) && !RELAY_BUG(WIDOW))
		/* Who was its primary has been started anew, and is a member like us. */
		j->widowed = j->orphan = true;
}

static void
on_end(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f)
{
	struct cluster_job *j = relay_cluster_find(c, f->job);
	if (!j)
		return;
	if (j->owner && *f->text)
		relay_primary_stop(c, j, f->text);
	else if (j->owner)
		relay_primary_finished(c, j, i, "");
	else if ((j->primary == i || j->orphan) && *f->text)
		relay_member_over(c, j, f->text);
	else if (j->primary == i || j->orphan)
		relay_member_finish(c, j);
}

static void
on_ways(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f)
{
	struct cluster_job *j = relay_cluster_find(c, f->job);
	if (!j)
		return;
	j->seen |= relay_bit(i);
	j->ways.relay[i] = f->ways;
	relay_ways_share(c, j);
}

void
relay_cluster_frame(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f)
{
	if (i >= c->conf.nrelays || i == c->conf.self)
		return;
	switch ((enum relay_peer_type)f->type) {
	case RELAY_PEER_JOB:
		if (c->draining && !c->handing_over)
			relay_member_refuse(c, i, f, "the relay stops");
		else
			relay_member_begin(c, i, f);
		break;
	case RELAY_PEER_OK:
		on_answer(c, i, f, NULL);
		break;
	case RELAY_PEER_REFUSE:
		on_answer(c, i, f, f->text);
		break;
	case RELAY_PEER_END:
		on_end(c, i, f);
		break;
	case RELAY_PEER_PING:
		relay_cluster_send(c, i, RELAY_PEER_PONG, 0, "");
		break;
	case RELAY_PEER_PONG:
		break;
	case RELAY_PEER_GIVE:
		on_give(c, i);
		break;
	case RELAY_PEER_WAYS:
		on_ways(c, i, f);
		break;
	}
}

/* ---- time, and the end --------------------------------------------------------------------------
 */

void
relay_cluster_tick(struct relay_cluster *c, uint64_t now_ns)
{
	for (uint32_t k = 0; k < c->conf.jobs_max; k++) {
		struct cluster_job *j = &c->job[k];
		if (!j->used || j->state == OVER)
			continue;
		if (j->owner)
			relay_primary_tick(c, j, now_ns);
		else
			relay_member_tick(c, j, now_ns);
	}
}

void
relay_cluster_drain(struct relay_cluster *c, bool handing_over)
{
	c->draining = true;
	c->handing_over = handing_over;
}

void
relay_cluster_end_all(struct relay_cluster *c, const char *why)
{
	for (uint32_t k = 0; k < c->conf.jobs_max; k++) {
		struct cluster_job *j = &c->job[k];
		if (!j->used || j->state == OVER)
			continue;
		if (j->owner)
			relay_primary_stop(c, j, why);
		else {
			relay_cluster_send(c, j->primary, RELAY_PEER_END, j->label_base, why);
			relay_member_over(c, j, why);
		}
	}
}

/* Can the job do without this relay? */
static bool
leavable(const struct cluster_job *j)
{
	if (j->owner)
		return j->running && j->state == INSTALLED && !j->table->nforeign;
	return relay_member_leavable(j);
}

void
relay_cluster_hand_over(struct relay_cluster *c)
{
	for (uint32_t k = 0; k < c->conf.jobs_max; k++) {
		struct cluster_job *j = &c->job[k];
		if (!j->used || j->state == OVER || !leavable(j))
			continue;
		relay_cluster_say(c, RELAY_CLUSTER_INFO, j, "left to the other relays");
		j->state = OVER;
		j->in_cores = j->told = 0;
		if (j->owner)
			c->conf.ops->handed_over(c->conf.user, j->owner);
		relay_cluster_free_if_done(c, j);
	}
}

uint32_t
relay_cluster_bound(const struct relay_cluster *c)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < c->conf.jobs_max; k++)
		n += c->job[k].used && !leavable(&c->job[k]) &&
		     !(c->job[k].owner && c->job[k].state == OVER);
	return n;
}

uint32_t
relay_cluster_members(const struct relay_cluster *c)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < c->conf.jobs_max; k++)
		n += c->job[k].used && !c->job[k].owner;
	return n;
}

/* ---- for people and tests
 * -------------------------------------------------------------------------- */

bool
relay_cluster_job(const struct relay_cluster *c, uint32_t i, struct relay_cluster_info *out)
{
	if (i >= c->conf.jobs_max || !c->job[i].used)
		return false;
	const struct cluster_job *j = &c->job[i];
	*out = (struct relay_cluster_info){
		.label_base = j->label_base,
		.primary = j->primary,
		.ours = j->owner,
		.orphan = j->orphan,
		.over = j->state == OVER,
		.finishing = j->state == FINISHING,
		.orders = j->orders,
		.cores = j->in_cores,
		.gateway = j->in_gateway,
		.told = j->told,
	};
	return true;
}

bool
relay_cluster_check(const struct relay_cluster *c, const char **what)
{
	for (uint32_t i = 0; i < c->conf.jobs_max; i++) {
		const struct cluster_job *j = &c->job[i];
		if (!j->used)
			continue;
		for (uint32_t k = 0; k < i; k++)
			if (c->job[k].used && c->job[k].state != OVER && j->state != OVER &&
			    c->job[k].label_base == j->label_base) {
				*what = "two jobs have the same labels";
				return false;
			}
		*what = j->adds > j->orders ? "more ADD than orders"
			: j->state == OVER && (j->in_cores | j->told)
				? "a job that is over is somewhere"
			: (j->wanted & j->told) ? "a relay is told of a job it still has to get"
			: (j->unanswered & ~j->told) ? "a relay answers for a job it has not got"
						     : NULL;
		if (*what)
			return false;
	}
	return true;
}
