/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs whose client called this relay: it is their primary. */
#include "cluster_internal.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* ---- beginning ------------------------------------------------------------------------ */

static void
installed(struct relay_cluster *c, const struct cluster_job *j, const char *refusal)
{
	c->conf.ops->installed(c->conf.user, j->owner, refusal);
}

static void
all_installed(struct relay_cluster *c, struct cluster_job *j)
{
	if (j->state != INSTALLING || j->adds || j->unanswered || j->wanted)
		return;
	j->state = INSTALLED;
	installed(c, j, NULL);
}

/* Relays that went before they had the table.  Its processes wait for them for a while and go
 * on; to foreign hosts they are all there is. */
static void
without(struct relay_cluster *c, struct cluster_job *j, uint64_t relays, const char *what)
{
	char why[RELAY_WHY_MAX];
	size_t n = relay_cluster_relay_text(c, (uint32_t)__builtin_ctzll(relays), why);
	snprintf(why + n, sizeof why - n, " is %s", what);
	j->wanted &= ~relays;
	j->unanswered &= ~relays;
	j->told &= ~relays;
	if (j->table->nforeign) {
		installed(c, j, why);
		return;
	}
	relay_cluster_say(c, RELAY_CLUSTER_WARNING, j, "%s; it begins without it", why);
	all_installed(c, j);
}

/* To those whose channel is up; the tick tries the others again, for a relay may have been
 * started a moment ago. */
static void
send_tables(struct relay_cluster *c, struct cluster_job *j)
{
	for (uint32_t i = 0; i < c->conf.nrelays; i++) {
		if (!(j->wanted & relay_bit(i)) ||
		    !c->conf.ops->send_job(c->conf.user, i, j->table))
			continue;
		j->wanted &= ~relay_bit(i);
		j->unanswered |= relay_bit(i);
		j->told |= relay_bit(i);
	}
}

uint32_t
relay_cluster_begin(struct relay_cluster *c, void *owner, const struct relay_job *table,
		    uint64_t members, uint64_t now_ns)
{
	struct cluster_job *j = relay_cluster_place(c);
	if (!j)
		return RELAY_CLUSTER_NONE;
	*j = (struct cluster_job){
		.used = true,
		.owner = owner,
		.table = table,
		.label_base = table->label_base,
		.primary = c->conf.self,
		.wanted = members & ~relay_bit(c->conf.self),
		/* Those that came since members were counted asked before it was here. */
		.asked = ~members & ~relay_bit(c->conf.self),
		.begun_ns = now_ns,
	};
	send_tables(c, j);
	relay_cluster_install(c, j);
	return (uint32_t)(j - c->job);
}

void
relay_primary_added(struct relay_cluster *c, struct cluster_job *j, const char *refusal)
{
	char why[RELAY_WHY_MAX];
	if (j->state == OVER)
		return;
	if (!refusal) {
		relay_cluster_give(c, j);
		all_installed(c, j);
		return;
	}
	snprintf(why, sizeof why, "relay refuses the job: %.160s", refusal);
	installed(c, j, why);
}

void
relay_primary_answered(struct relay_cluster *c, struct cluster_job *j, uint32_t i,
		       const char *refusal)
{
	char why[RELAY_WHY_MAX];
	bool asked = j->unanswered & relay_bit(i);
	j->unanswered &= ~relay_bit(i);
	if (refusal)
		j->told &= ~relay_bit(i);
	if (!asked) /* it came later: the job goes on without it */
		return;
	if (!refusal) {
		all_installed(c, j);
		return;
	}
	size_t n = relay_cluster_relay_text(c, i, why);
	snprintf(why + n, sizeof why - n, " refuses the job: %.80s%s", refusal,
		 relay_job_has_six(j->table)
			 ? " (older ones know no processes with IPv6 alone; fix: update it)"
			 : "");
	installed(c, j, why);
}

void
relay_primary_tick(struct relay_cluster *c, struct cluster_job *j, uint64_t now_ns)
{
	if (j->wanted)
		send_tables(c, j);
	if (j->wanted && now_ns - j->begun_ns >= RELAY_CLUSTER_JOIN_NS)
		without(c, j, j->wanted, "not reachable");
}

void
relay_cluster_running(struct relay_cluster *c, uint32_t job)
{
	c->job[job].running = true;
}

/* ---- ending ------------------------------------------------------------------------------ */

/* Every gateway that had a part has done it: the cores may forget the job. */
static void
finish_step(struct relay_cluster *c, struct cluster_job *j)
{
	if (j->state == FINISHING && !j->in_gateway && !j->unfinished)
		relay_cluster_remove(c, j, "");
}

static void
finish_gateways(struct relay_cluster *c, struct cluster_job *j)
{
	j->state = FINISHING;
	j->unfinished = RELAY_BUG(EARLY) ? 0 : j->told;
	if (j->in_gateway)
		relay_cluster_order(c, j, RELAY_CLUSTER_FINISH, RELAY_CLUSTER_GATEWAY, "");
	for (uint32_t i = 0; i < c->conf.nrelays; i++)
		if (j->told & relay_bit(i))
			relay_cluster_send(c, i, RELAY_PEER_END, j->label_base, "");
	finish_step(c, j);
}

void
relay_cluster_end(struct relay_cluster *c, uint32_t job, const char *why)
{
	struct cluster_job *j = &c->job[job];
	BASE_ASSERT(job < c->conf.jobs_max && j->used && j->owner);
	if (j->state == FINISHING || j->state == OVER)
		return;
	relay_cluster_note_ended(c, j, !why);
	if (!why && j->table->nforeign)
		finish_gateways(c, j);
	else /* an end without a reason would read as a normal one */
		relay_cluster_remove(c, j,
				     why && !*why ? "the job ended without a reason"
				     : why	  ? why
						  : "");
}

/* It has to end, or had ended well and something goes wrong while the gateways finish. */
void
relay_primary_stop(struct relay_cluster *c, struct cluster_job *j, const char *why)
{
	if (j->state != FINISHING) {
		c->conf.ops->aborted(c->conf.user, j->owner, why);
		return;
	}
	relay_cluster_say(c, RELAY_CLUSTER_WARNING, j,
			  "finished, but not everything was delivered: %s", why);
	relay_cluster_remove(c, j, why);
}

void
relay_primary_finished(struct relay_cluster *c, struct cluster_job *j, uint32_t i, const char *why)
{
	if (*why)
		relay_cluster_say(c, RELAY_CLUSTER_WARNING, j,
				  "finished, but not everything was delivered: %s", why);
	if (i != c->conf.self)
		j->unfinished &= ~relay_bit(i);
	if (j->unanswered & relay_bit(i)) /* it had it before, from somebody else */
		without(c, j, relay_bit(i), "through with it");
	finish_step(c, j);
}

void
relay_primary_relay_down(struct relay_cluster *c, struct cluster_job *j, uint32_t i,
			 const char *why)
{
	if (!(j->told & relay_bit(i)))
		return;
	if (j->table->nforeign) /* its hosts lose their channels */
		relay_primary_stop(c, j, why);
	else if (j->unanswered & relay_bit(i))
		without(c, j, relay_bit(i), "gone");
	else
		j->told &= ~relay_bit(i);
}

bool
relay_cluster_over(const struct relay_cluster *c, uint32_t job)
{
	return c->job[job].state == OVER && !c->job[job].orders;
}

void
relay_cluster_forget(struct relay_cluster *c, uint32_t job)
{
	struct cluster_job *j = &c->job[job];
	j->owner = NULL;
	j->state = OVER;
	j->in_cores = j->wanted = j->unanswered = j->told = j->unfinished = 0;
	j->in_gateway = false;
	relay_cluster_free_if_done(c, j);
}
