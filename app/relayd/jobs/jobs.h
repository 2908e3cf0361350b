/* SPDX-License-Identifier: BSD-2-Clause */
/* jobs.h - jobs that come and go on this relay.
 *
 *   relay/cluster.h  installs, finishes and takes out, here and at the other relays of the
 *                    cluster
 *   a session        connects to its client, if that one called us: a relay_startup machine
 *                    between two TCP connections
 *   a peer           the channel to another relay of the cluster
 *
 * Threads  control. */
#ifndef RD_JOBS_H
#define RD_JOBS_H

#include "light.h"
#include "link.h"
#include "listen.h"
#include "loop.h"
#include "post.h"

#include "base/lobby.h"
#include "rd/conf.h"
#include "relay/cluster.h"
#include "relay/startup.h"
#include "suci/addr.h"

#include <bsd/sys/queue.h>

#define RD_SLOTS_MAX  1024 /* = the largest limits.jobs */
#define RD_PEER_LINKS 4

struct rd_jobs;
struct rd_session;

struct rd_peer {
	struct rd_jobs *jobs;
	uint32_t index;
	/* At most one is the channel.  The others are of who says to be this relay: one that has
	 * shown the keys is held, and takes the channel's place if that does not answer. */
	struct rd_link link[RD_PEER_LINKS];
	struct rd_link *live, *heir; /* NULL: none */
	uint64_t dial_ns, probe_ns;
	bool gone;	  /* was up, and is not */
	char version[32]; /* that it has told; "": it tells none, or was never there */
};

struct rd_jobs {
	/* Set before rd_jobs_init(); light may come later, and go earlier. */
	const struct rd_conf *conf;
	struct rd_loop *loop;
	struct rd_post *post;
	struct rd_light *light;
	const char (*tap_name)[16]; /* [RD_LEGS] devices that its sockets are bound to */
	struct suci_addr server;    /* of conf->impi.server, resolved; without a port */
	struct impi_auth auth;
	/* Of the channels between relays; nkeys 0: nothing is sealed, nor are they. */
	struct seal_link_conf peer_keys;
	/* To the IMPI server; nkeys 0: in clear. */
	struct seal_link_conf server_keys;

	/* [i]: port impi.listen_port + i, and behind all of these the same by IPv6. */
	struct rd_listener listen_impi[2 * RD_IMPI_PORTS_MAX];
	struct rd_listener listen_peer;
	uint64_t began_ns;
	LIST_HEAD(, rd_session) sessions;
	uint32_t nsessions;	 /* with a rank: jobs */
	uint32_t nlisted;	 /* all that are in the list */
	struct base_lobby lobby; /* clients without a rank */
	/* When a client of that rank came last: later than its launcher began, and it has joined.
	 */
	uint64_t joined_ns[RD_IMPI_PORTS_MAX][IMPI_CLIENTS_MAX];
	uint32_t next_job_id;
	struct relay_cluster *cluster; /* all jobs of this relay, jobs.c */
	struct rd_peer peer[RD_RELAYS_MAX];
	struct relay_member member[RD_RELAYS_MAX];
	struct relay_labels labels;
	/* Ports of gates, by job of this relay: slot self * limits.jobs + i. */
	bool slot_used[RD_SLOTS_MAX];
	uint32_t slot_next;
	struct rd_log_limit limit_stranger, limit_allow, limit_peer; /* what anybody can cause */
};

/* No socket is open, nothing listens: for rd_jobs_fini() of one that was not initialized. */
void rd_jobs_zero(struct rd_jobs *j);
/* The cluster, its listeners.  0, or -1 and err; then rd_jobs_fini(). */
int rd_jobs_init(struct rd_jobs *j, char *err, size_t err_max);
/* Sockets only: the workers are gone. */
void rd_jobs_fini(struct rd_jobs *j);
/* Now and then.  dials: look for the other relays, too. */
void rd_jobs_tick(struct rd_jobs *j, bool dials);
/* RD_EVENT_JOB_ENDED, _FAILED, _FINISHED, _JOB_STATE. */
void rd_jobs_event(struct rd_jobs *j, const struct rd_event *e);

/* ---- those that start ------------------------------------------------------------- */

/* A client has called this relay, and its job does not run yet. */
struct rd_start {
	uint32_t job;	  /* its number here, as the log has it; RD_START_NO_JOB: it has none */
	uint32_t port;	  /* of ours, that the client came to */
	int32_t rank;	  /* of the client; -1: it has not said it */
	uint32_t clients; /* of the job; 0: not known yet */
	const char *from; /* where the client is, ADDRESS:PORT */
	uint64_t age_ns;
	const char *waits; /* for what, a noun for people */
};
#define RD_START_NO_JOB UINT32_MAX

/* Row by row, from the one that came last to the first.  Its texts are valid in the call only. */
void rd_jobs_starts(const struct rd_jobs *j, void (*row)(void *user, const struct rd_start *s),
		    void *user);

/* ---- the end ---------------------------------------------------------------------- */

uint32_t rd_jobs_running(const struct rd_jobs *j);
/* Another relay of the cluster is there. */
bool rd_jobs_others_there(const struct rd_jobs *j);
/* No client may come any more.  leaving: jobs go on over the other relays. */
void rd_jobs_drain(struct rd_jobs *j, bool leaving);
/* How many jobs need this relay still, while it leaves. */
uint32_t rd_jobs_bound(const struct rd_jobs *j);
/* End what is left; leaving: give it to the other relays first. */
void rd_jobs_end_all(struct rd_jobs *j, bool leaving, const char *why);
/* Say good-bye to the other relays. */
void rd_jobs_close_peers(struct rd_jobs *j);

/* Bytes that clients without a rank take at most, all of them. */
size_t rd_jobs_strangers_bytes(void);

#endif
