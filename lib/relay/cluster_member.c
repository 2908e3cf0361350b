/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs that other relays of the cluster gave to this one: it is a member. */
#include "cluster_internal.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

/* ---- a table comes -------------------------------------------------------------------- */

/* The label base is the third word of the table; without it nobody can tell which job, and the
 * primary ends it with the channel. */
void
relay_member_refuse(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f,
		    const char *why)
{
	if (f->body_len >= 12)
		relay_cluster_send(c, i, RELAY_PEER_REFUSE, be32_load(f->body + 8), why);
}

/* Does the table name workers that this relay does not have?  Then its primary counts
 * wrongly. */
static bool
names_others(const struct relay_cluster *c, const struct relay_job *table)
{
	const struct relay_member *self = &c->conf.member[c->conf.self];
	struct impi_hostid id;
	for (uint32_t h = 0; h < table->nhosts; h++) {
		if (table->host[h].client != table->my_client ||
		    impi_hostid_decode(table->host[h].id, &id) != IMPI_HOSTID_SUCI ||
		    id.ipv4 != self->ipv4_global)
			continue;
		uint32_t w = 0;
		while (w < self->nshards && self->port_global[w] != id.port)
			w++;
		if (w == self->nshards)
			return true;
	}
	return false;
}

/* NULL: it can be installed; else what is wrong. */
static const char *
fault_of(struct relay_cluster *c, const struct relay_job *table, struct cluster_job *there)
{
	if (relay_cluster_serves(table, c->conf.self) && !c->conf.gateway)
		return "this relay runs no gateway (gateway.enable)";
	if (names_others(c, table))
		return "it names workers that this relay does not have: cluster.relays[].workers, "
		       "workers or udp_port differ between the relays";
	if (there && there->table->token != table->token)
		return "another job that is not over here has its labels";
	return NULL;
}

/* Its primary need not have reached all, and those asked for tables when this one was not ours to
 * give: without a primary it goes to all who have not spoken of it. */
static void
offer(struct relay_cluster *c, struct cluster_job *j)
{
	for (uint32_t i = 0; i < c->conf.nrelays && !RELAY_BUG(NOT_GIVEN); i++)
		if (i != c->conf.self && i != j->primary && !(j->seen & relay_bit(i)))
			j->asked |= relay_bit(i);
	relay_cluster_give(c, j);
}

/* A table that comes again, after the channel was cut: what it says is here already. */
static void
again(struct relay_cluster *c, struct cluster_job *j, uint32_t i)
{
	if (j->owner)
		return; /* an orphan's, which hears from us that it is none */
	j->asked &= ~relay_bit(i);
	j->seen |= relay_bit(i);
	if (!j->orphan && j->primary != i)
		return; /* an orphan's, and our channel to its primary is up */
	j->primary = i;
	j->orphan = j->widowed || i != label_owner(j->label_base);
	if (!j->adds && !j->refused)
		relay_cluster_send(c, i, RELAY_PEER_OK, j->label_base, "");
}

/* It ended here while the channel to who gives it was down: true, and he is told. */
static bool
has_ended(struct relay_cluster *c, uint32_t i, const struct relay_job *table)
{
	for (uint32_t k = 0; k < ENDED_KEPT; k++) {
		const struct ended_job *e = &c->ended[k];
		if (!e->label_base || e->label_base != table->label_base ||
		    e->token != table->token)
			continue;
		relay_cluster_send(c, i, RELAY_PEER_END, e->label_base,
				   e->ok ? "" : "the job has ended meanwhile");
		return true;
	}
	return false;
}

static void
start(struct relay_cluster *c, struct cluster_job *j, uint32_t i, struct relay_job *table,
      void *mem)
{
	*j = (struct cluster_job){
		.used = true,
		.table = table,
		.mem = mem,
		.label_base = table->label_base,
		.primary = i,
		.orphan = i != label_owner(table->label_base),
		.seen = relay_bit(i),
	};
	/* Of our own space: an earlier run of this relay was its primary. */
	j->took_labels = label_owner(j->label_base) == c->conf.self &&
			 relay_labels_take(c->conf.labels, j->label_base, table->nworld);
	relay_cluster_say(c, RELAY_CLUSTER_INFO, j, "%u processes, labels from %u", table->nworld,
			  j->label_base);
	relay_cluster_install(c, j);
	if (j->orphan)
		offer(c, j); /* once it is installed */
}

void
relay_member_begin(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f)
{
	const char *what = "out of memory";
	void *mem = c->conf.ops->room(c->conf.user, relay_job_footprint(&c->conf.limits));
	struct relay_job *table = mem ? relay_job_new(mem, &c->conf.limits) : NULL;
	struct cluster_job from = {.primary = i};
	if (!table || relay_job_decode(table, f->body, f->body_len, &what)) {
		relay_cluster_say(c, RELAY_CLUSTER_ERROR, &from, "its table cannot be used: %s",
				  what);
		goto err_refuse;
	}
	struct cluster_job *there = relay_cluster_find(c, table->label_base);
	if (RELAY_BUG(OWN_TABLE) && there && there->owner)
		there = NULL;
	what = fault_of(c, table, there);
	if (what)
		goto err_refuse;
	if (there || has_ended(c, i, table)) {
		if (there)
			again(c, there, i);
		c->conf.ops->give_back(c->conf.user, mem);
		return;
	}
	struct cluster_job *j = relay_cluster_place(c);
	if (j) {
		start(c, j, i, table, mem);
		return;
	}
	what = "this relay has as many jobs as it can (limits.jobs)";
err_refuse:
	relay_member_refuse(c, i, f, what);
	if (mem)
		c->conf.ops->give_back(c->conf.user, mem);
}

void
relay_member_added(struct relay_cluster *c, struct cluster_job *j, const char *refusal)
{
	if (j->state == OVER)
		return;
	if (refusal && !j->refused) {
		j->refused = true;
		relay_cluster_send(c, j->primary, RELAY_PEER_REFUSE, j->label_base, refusal);
	}
	if (j->adds)
		return;
	if (j->refused) {
		relay_cluster_remove(c, j, "the job was refused");
		return;
	}
	if (j->state == INSTALLING)
		j->state = INSTALLED;
	relay_cluster_send(c, j->primary, RELAY_PEER_OK, j->label_base, "");
	relay_cluster_give(c, j);
}

/* ---- it ends ------------------------------------------------------------------------------ */

/* why empty: finished normally. */
void
relay_member_over(struct relay_cluster *c, struct cluster_job *j, const char *why)
{
	if (*why)
		relay_cluster_say(c, RELAY_CLUSTER_ERROR, j, "ended: %s", why);
	else
		relay_cluster_say(c, RELAY_CLUSTER_INFO, j, "finished");
	relay_cluster_note_ended(c, j, !*why);
	relay_cluster_remove(c, j, why);
}

/* Without a primary it is over when our processes have left, and the others of the cluster had
 * time to.  In a job that survives deaths that means all of the cluster's: one of our relays that
 * got the job after they had gone hears it from us, for no process will tell it. */
void
relay_member_tick(struct relay_cluster *c, struct cluster_job *j, uint64_t now_ns)
{
	if (!j->orphan || !j->left_ns || now_ns - j->left_ns <= RELAY_CLUSTER_ORPHAN_NS)
		return;
	for (uint32_t i = 0; i < c->conf.nrelays && j->tolerant; i++)
		if (i != c->conf.self)
			relay_cluster_send(c, i, RELAY_PEER_END, j->label_base, "");
	relay_member_over(c, j, "");
}

/* The primary says that the job finished. */
void
relay_member_finish(struct relay_cluster *c, struct cluster_job *j)
{
	if (!j->table->nforeign || j->state == FINISHING) { /* nothing to wait for, or done */
		relay_member_over(c, j, "");
		return;
	}
	j->state = FINISHING;
	if (j->in_gateway)
		relay_cluster_order(c, j, RELAY_CLUSTER_FINISH, RELAY_CLUSTER_GATEWAY, "");
	else
		relay_cluster_send(c, j->primary, RELAY_PEER_END, j->label_base, "");
}

void
relay_member_finished(struct relay_cluster *c, struct cluster_job *j, const char *why)
{
	if (*why)
		relay_cluster_say(c, RELAY_CLUSTER_WARNING, j,
				  "finished, but not everything was delivered: %s", why);
	relay_cluster_send(c, j->primary, RELAY_PEER_END, j->label_base, "");
}

/* A core or the gateway of ours has ended it.  Without a primary all that are left are told. */
void
relay_member_ended(struct relay_cluster *c, struct cluster_job *j, const char *why)
{
	for (uint32_t i = 0; i < c->conf.nrelays; i++)
		if (i == j->primary || (j->orphan && i != c->conf.self))
			relay_cluster_send(c, i, RELAY_PEER_END, j->label_base, why);
	relay_member_over(c, j, why);
}

void
relay_member_relay_down(struct relay_cluster *c, struct cluster_job *j, uint32_t i, const char *why)
{
	if (j->primary != i)
		return;
	/* What foreign hosts had there is lost with its TCP channels. */
	if (j->table->nforeign) {
		relay_cluster_say(c, RELAY_CLUSTER_ERROR, j, "ended: %s", why);
		relay_cluster_remove(c, j, why);
	} else {
		j->orphan = true;
		offer(c, j);
	}
}

bool
relay_member_leavable(const struct cluster_job *j)
{
	return j->state == INSTALLED && !j->refused && !j->table->nforeign;
}
