/* SPDX-License-Identifier: BSD-2-Clause */
/* The control plane of a relay of the world: its cluster's job coordinator (relay/cluster.h), whose
 * orders the core obeys as relayd's worker does, and channels to the other relays. */
#include "channels.h"
#include "world.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAIL_NS (20 * BASE_US_NS) /* between control and a worker */
#define TICK_NS (50 * BASE_MS_NS)

struct mail {
	struct rnode *r;
	uint64_t incarnation;
	struct relay_cluster_order o;
	/* Reports. */
	bool ended, left, tolerant;
	uint32_t ways;
	char text[RELAY_WHY_MAX];
};

static uint64_t
now(const struct rnode *r)
{
	return node_now(&r->clock, r->w->s->now_ns);
}

static uint64_t
mail_ns(const struct rnode *r)
{
	return r->w->s->now_ns + (r->w->started ? MAIL_NS : 0);
}

static struct mail *
new_mail(struct rnode *r, const char *text)
{
	struct mail *m = calloc(1, sizeof *m);
	BASE_ASSERT(m);
	m->r = r;
	m->incarnation = r->incarnation;
	snprintf(m->text, sizeof m->text, "%s", text);
	return m;
}

/* ---- orders ----------------------------------------------------------------------- */

static const char *
obey(struct rnode *r, const struct mail *m)
{
	const struct relay_cluster_order *o = &m->o;
	int err = 0;
	switch (o->type) {
	case RELAY_CLUSTER_ADD:
		err = relay_job_add(r->core, o->table, now(r));
		SIM_CHECK(r->w->s, !err || r->w->conf.die_ok, "relay %u.%u: relay_job_add: %s",
			  r->client, r->index, relay_strerror(err));
		r->has_job = !err;
		break;
	case RELAY_CLUSTER_END:
		(void)relay_job_end(r->core, o->label_base, m->text, now(r));
		r->has_job = false;
		r->job_ended = true;
		break;
	case RELAY_CLUSTER_ELSEWHERE:
		(void)relay_job_elsewhere(r->core, o->label_base, o->ways, now(r));
		break;
	case RELAY_CLUSTER_FINISH:
		break;
	}
	return err ? relay_strerror(err) : NULL;
}

static void
mail_comes(struct sim *s, void *who, uint64_t arg)
{
	struct mail *m = who;
	struct rnode *r = m->r;
	(void)s;
	(void)arg;
	if (r->alive && r->incarnation == m->incarnation) {
		const char *refusal = obey(r, m);
		if (m->o.type != RELAY_CLUSTER_ELSEWHERE)
			relay_cluster_answer(r->jobs, m->o.job, m->o.type, m->o.place, refusal);
		rnode_drive(r);
	}
	free(m);
}

static void
order(void *user, const struct relay_cluster_order *o)
{
	struct rnode *r = user;
	struct mail *m = new_mail(r, o->text);
	m->o = *o;
	sim_at(r->w->s, mail_ns(r), mail_comes, m, 0);
}

/* ---- reports of the core ------------------------------------------------------------ */

static void
report_comes(struct sim *s, void *who, uint64_t base)
{
	struct mail *m = who;
	struct rnode *r = m->r;
	if (r->alive && r->incarnation == m->incarnation) {
		if (m->ended)
			relay_cluster_ended(r->jobs, (uint32_t)base, 0, m->text);
		else
			relay_cluster_state(r->jobs, (uint32_t)base, 0, m->ways, m->left,
					    s->now_ns);
		if (m->tolerant)
			relay_cluster_tolerate(r->jobs, (uint32_t)base);
	}
	free(m);
}

void
rnode_jobs_ended(struct rnode *r, uint32_t base, const char *why)
{
	struct mail *m = new_mail(r, why);
	m->ended = true;
	sim_at(r->w->s, mail_ns(r), report_comes, m, base);
}

void
rnode_jobs_state(struct rnode *r, uint32_t base, uint32_t ways, bool left, bool tolerant)
{
	struct mail *m = new_mail(r, "");
	m->ways = ways;
	m->left = left;
	m->tolerant = tolerant;
	sim_at(r->w->s, mail_ns(r), report_comes, m, base);
}

/* ---- what else it wants -------------------------------------------------------------- */

static bool
send_frame(void *user, uint32_t i, const struct relay_peer_frame *f)
{
	struct rnode *r = user;
	return channels_send(r->w->channels[r->client], r->index, i, f);
}

static bool
send_job(void *user, uint32_t i, const struct relay_job *table)
{
	struct rnode *r = user;
	return channels_send_job(r->w->channels[r->client], r->index, i, table);
}

static void *
room(void *user, size_t len)
{
	(void)user;
	return aligned_alloc(64, (len + 63) & ~(size_t)63);
}

static void
give_back(void *user, void *mem)
{
	(void)user;
	free(mem);
}

static void
installed(void *user, void *owner, const char *refusal)
{
	struct rnode *r = user;
	(void)owner;
	SIM_CHECK(r->w->s, !refusal || r->w->conf.die_ok, "relay %u.%u: the job is refused: %s",
		  r->client, r->index, refusal);
	if (refusal) {
		r->begun = false;
		relay_cluster_end(r->jobs, r->own_job, refusal);
	} else
		relay_cluster_running(r->jobs, r->own_job);
}

static void
aborted(void *user, void *owner, const char *why)
{
	struct rnode *r = user;
	(void)owner;
	r->begun = false;
	relay_cluster_end(r->jobs, r->own_job, why);
}

static void
say(void *user, enum relay_cluster_level level, void *owner, uint32_t id, uint32_t primary,
    const char *text)
{
	struct rnode *r = user;
	(void)level;
	(void)owner;
	(void)id;
	sim_log(r->w->s, "relay %u.%u: job of relay %u: %s", r->client, r->index, primary, text);
}

static const struct relay_cluster_ops ops = {
	.order = order,
	.send = send_frame,
	.send_job = send_job,
	.room = room,
	.give_back = give_back,
	.installed = installed,
	.aborted = aborted,
	.say = say,
};

/* ---- a relay's life --------------------------------------------------------------------- */

static void
tick(struct sim *s, void *who, uint64_t incarnation)
{
	struct rnode *r = who;
	const char *what;
	if (!r->alive || r->incarnation != incarnation)
		return;
	/* As relayd's session says FINI for a client that is gone. */
	if (r->begun && relay_cluster_tolerates(r->jobs, r->own_job) &&
	    relay_cluster_left(r->jobs, r->own_job, s->now_ns)) {
		r->begun = false;
		relay_cluster_end(r->jobs, r->own_job, NULL);
	}
	relay_cluster_tick(r->jobs, s->now_ns);
	INVARIANT(s, TABLES, relay_cluster_check(r->jobs, &what), "relay %u.%u: %s", r->client,
		  r->index, what);
	sim_at(s, s->now_ns + TICK_NS, tick, r, incarnation);
}

static void
told(void *user, uint32_t i)
{
	struct channels_of *of = user;
	struct rnode *r = &of->w->relay[of->w->first_relay[of->client] + i];
	if (r->alive && r->ep)
		rnode_drive(r);
}

void
rnode_jobs_new(struct rnode *r)
{
	struct world *w = r->w;
	uint32_t n = w->conf.cluster[r->client].relays;
	struct channels_of *of = &w->channels_of[r->client];
	if (!w->channels[r->client]) {
		*of = (struct channels_of){w, r->client};
		w->channels[r->client] =
			channels_new(w->s, n, told, of, w->s->seed * 31 + r->client);
	}
	for (uint32_t i = 0; i < n; i++)
		w->member[r->client][i] = (struct relay_member){
			.ipv4_global = w->relay[w->first_relay[r->client] + i].ipv4[1],
			.ipv4_private = w->relay[w->first_relay[r->client] + i].ipv4[0],
			.nshards = 1,
			.port_global = {UDP_PORT},
			.port_private = {UDP_PORT},
		};
	struct relay_cluster_conf conf = {
		.self = r->index,
		.nrelays = n,
		.member = w->member[r->client],
		.name = "of the simulator",
		.jobs_max = 4,
		.limits = {.nworld_max = w->conf.hosts_max, .nhosts_max = w->conf.hosts_max},
		.labels = &r->labels,
		.ops = &ops,
		.user = r,
	};
	relay_labels_init(&r->labels, r->index);
	r->jobs_mem = malloc(relay_cluster_footprint(&conf));
	BASE_ASSERT(r->jobs_mem);
	r->jobs = relay_cluster_new(r->jobs_mem, &conf);
	BASE_ASSERT(r->jobs);
	channels_join(w->channels[r->client], r->index, r->jobs);
	sim_at(w->s, w->s->now_ns + TICK_NS, tick, r, r->incarnation);
}

void
rnode_jobs_begin(struct rnode *r, const struct relay_job *table)
{
	uint64_t all = (1ull << r->w->conf.cluster[r->client].relays) - 1;
	r->begun = true;
	r->own_job = relay_cluster_begin(r->jobs, r, table, all, r->w->s->now_ns);
}

void
rnode_jobs_kill(struct rnode *r)
{
	if (!r->jobs)
		return;
	channels_kill(r->w->channels[r->client], r->index, true);
	relay_cluster_fini(r->jobs);
	free(r->jobs_mem);
	r->jobs = NULL;
	r->begun = false;
}
