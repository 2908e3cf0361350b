/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster_internal.h - between the files of relay/cluster.h: cluster.c installs and removes, for
 * both roles; cluster_primary.c has our clients' jobs, cluster_member.c those of other relays,
 * cluster_ways.c who reaches whom. */
#ifndef RELAY_CLUSTER_INTERNAL_H
#define RELAY_CLUSTER_INTERNAL_H

#include "canary.h"
#include "relay/cluster.h"

#include <stdarg.h>

#define ENDED_KEPT 64u /* jobs that ended here, to tell who still gives them */

enum job_state { INSTALLING, INSTALLED, FINISHING, OVER };

struct cluster_job {
	bool used;
	enum job_state state;
	void *owner; /* NULL: another relay is, or was, its primary */
	const struct relay_job *table;
	void *mem; /* of table, of a member */
	uint32_t label_base;
	uint32_t orders, adds; /* not answered; of them ADD */
	uint64_t in_cores;     /* bit per worker */
	bool in_gateway;

	uint64_t asked; /* bit per relay: it asked for tables when this one was not ours to give */
	uint64_t seen;	/* bit per relay: it has spoken of this job over the channel that is up */
	/* Primary.  Bit per relay: table not sent; not answered; must hear of the end; gateway not
	 * finished. */
	uint64_t wanted, unanswered, told, unfinished;
	bool running;
	uint64_t begun_ns;

	/* Member. */
	uint32_t primary; /* who gave it last */
	bool orphan;	  /* that one is not the primary, or its channel is down */
	bool tolerant;	  /* it survives deaths */
	bool widowed;	  /* the primary has forgotten that it was: an orphan to the end */
	bool refused;	  /* a worker did; it goes when all have answered */
	bool took_labels; /* of our space, an earlier run of ours was its primary */
	uint64_t left_ns; /* 0: our processes have not */
	uint32_t left_by; /* the worker that said so first */

	struct {
		uint32_t worker[RELAY_SHARDS_MAX], relay[RELAY_RELAYS_MAX];
		/* What others reach, as the worker knows it; what we do, as the relays do. */
		uint32_t told_worker[RELAY_SHARDS_MAX], told_relays;
	} ways;
};

struct ended_job {
	uint32_t label_base, token;
	bool ok;
};

struct relay_cluster {
	struct relay_cluster_conf conf;
	uint32_t nworkers;
	bool draining, handing_over;
	struct ended_job ended[ENDED_KEPT]; /* label_base 0: none */
	uint32_t ended_next;
	struct cluster_job job[]; /* [conf.jobs_max] */
};

static inline uint64_t
relay_bit(uint32_t i)
{
	return 1ull << i;
}

/* The relay that handed the label out. */
static inline uint32_t
label_owner(uint32_t label_base)
{
	return (label_base >> 24) - 1;
}

/* cluster.c.  Not over. */
struct cluster_job *relay_cluster_find(struct relay_cluster *c, uint32_t label_base);
/* Free place, or NULL. */
struct cluster_job *relay_cluster_place(struct relay_cluster *c);
void relay_cluster_order(struct relay_cluster *c, struct cluster_job *j,
			 enum relay_cluster_order_type type, uint32_t place, const char *text);
/* ADD to all workers, and to the gateway if it has a part. */
void relay_cluster_install(struct relay_cluster *c, struct cluster_job *j);
/* END to all that have it; OVER. */
void relay_cluster_remove(struct relay_cluster *c, struct cluster_job *j, const char *why);
/* It has ended in the whole cluster, whatever others believe. */
void relay_cluster_note_ended(struct relay_cluster *c, const struct cluster_job *j, bool ok);
void relay_cluster_free_if_done(struct relay_cluster *c, struct cluster_job *j);
/* The table, to those who asked, if it is ours to give by now: a primary's, an orphan's. */
void relay_cluster_give(struct relay_cluster *c, struct cluster_job *j);
void relay_cluster_send(struct relay_cluster *c, uint32_t i, enum relay_peer_type type,
			uint32_t job, const char *text);
void relay_cluster_say(struct relay_cluster *c, enum relay_cluster_level level,
		       const struct cluster_job *j, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* "relay 10.0.0.2 of cluster a"; why: its room is RELAY_WHY_MAX. */
size_t relay_cluster_relay_text(const struct relay_cluster *c, uint32_t i, char why[RELAY_WHY_MAX]);

/* cluster_primary.c */
void relay_primary_added(struct relay_cluster *c, struct cluster_job *j, const char *refusal);
void relay_primary_stop(struct relay_cluster *c, struct cluster_job *j, const char *why);
void relay_primary_finished(struct relay_cluster *c, struct cluster_job *j, uint32_t i,
			    const char *why);
void relay_primary_answered(struct relay_cluster *c, struct cluster_job *j, uint32_t i,
			    const char *refusal);
void relay_primary_relay_down(struct relay_cluster *c, struct cluster_job *j, uint32_t i,
			      const char *why);
void relay_primary_tick(struct relay_cluster *c, struct cluster_job *j, uint64_t now_ns);

/* cluster_member.c */
void relay_member_begin(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f);
void relay_member_refuse(struct relay_cluster *c, uint32_t i, const struct relay_peer_frame *f,
			 const char *why);
void relay_member_added(struct relay_cluster *c, struct cluster_job *j, const char *refusal);
void relay_member_over(struct relay_cluster *c, struct cluster_job *j, const char *why);
void relay_member_finish(struct relay_cluster *c, struct cluster_job *j);
void relay_member_finished(struct relay_cluster *c, struct cluster_job *j, const char *why);
void relay_member_ended(struct relay_cluster *c, struct cluster_job *j, const char *why);
void relay_member_relay_down(struct relay_cluster *c, struct cluster_job *j, uint32_t i,
			     const char *why);
void relay_member_tick(struct relay_cluster *c, struct cluster_job *j, uint64_t now_ns);
bool relay_member_leavable(const struct cluster_job *j);

/* cluster_ways.c */
void relay_ways_share(struct relay_cluster *c, struct cluster_job *j);
/* What we told all before, to relay i. */
void relay_ways_tell(struct relay_cluster *c, const struct cluster_job *j, uint32_t i);

#endif
