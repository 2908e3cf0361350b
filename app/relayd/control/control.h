/* control.h - the main lcore: sockets, TAPs, signals, jobs coming and going.
 *
 * One epoll loop; nothing in it blocks.  It owns every job on this relay, which
 *
 *   relay/cluster.h  installs, finishes and takes out, here and at the other relays of
 *                    the cluster
 *   a session        connects to its client, if that one called us: a relay_startup
 *                    machine between two TCP connections
 *
 * and speaks to the workers and to the gateway's thread by mail (mail.h).
 *
 * Stopping is a state machine:
 *
 *   RUN --SIGTERM--> DRAIN (no new jobs; until all ended or drain_ms; if other relays of the
 *                           cluster are there their jobs are left to them: until nothing
 *                           comes here any more)
 *       --> END (abort what is left, wait until custody is empty, 1 s)
 *       --> CLOSE (connections to the other relays; a tick for their FIN)
 *       --> STOP (the workers leave their loops) --> rd_control_run returns
 *
 * Threads  all of it on the main lcore. */
#ifndef RD_CONTROL_H
#define RD_CONTROL_H

#include "gateway.h"
#include "light.h"
#include "lights.h"
#include "link.h"
#include "listen.h"
#include "log.h"
#include "mail.h"
#include "rd/conf.h"
#include "relay/cluster.h"
#include "relay/startup.h"
#include "sock.h"
#include "watch.h"
#include "worker.h"

#include "base/lobby.h"

#include <bsd/sys/queue.h>

#define RD_CONTROL_TICK_MS 50
#define RD_SLOTS_MAX	   1024 /* = the largest limits.jobs */

struct rd_control;

#define RD_PEER_LINKS 4
struct rd_peer {
	struct rd_control *ctl;
	uint32_t index;
	/* At most one is the channel.  The others are of who says to be this relay: one that has
	 * shown the keys is held, and takes the channel's place if that does not answer. */
	struct rd_link link[RD_PEER_LINKS];
	struct rd_link *live, *heir; /* NULL: none */
	uint64_t dial_ns, probe_ns;
	bool gone; /* was up, and is not */
};

struct rd_session;

enum rd_phase { RD_PHASE_RUN, RD_PHASE_DRAIN, RD_PHASE_END, RD_PHASE_CLOSE, RD_PHASE_STOP };

struct rd_control {
	const struct rd_conf *conf;
	uint32_t nworkers;
	struct rd_worker *worker[RD_WORKERS_MAX];
	struct rd_mailbox *box[RD_WORKERS_MAX];
	struct rd_wake waker;	    /* what all boxes wake */
	struct rd_gateway *gateway; /* NULL: none; set before the loop runs */
	int epoll;
	struct rd_watch wake, signals, tap[RD_LEGS];
	struct rd_listener listen_peer;
	struct rd_listener listen_impi[RD_IMPI_PORTS_MAX]; /* [i]: port impi.listen_port + i */
	struct rd_taps taps; /* of tap[]; the gateway's thread has them if there is one */
	char tap_name[RD_LEGS][16];
	uint32_t server_ip; /* of conf->impi.server, resolved */
	uint64_t now_ns;

	LIST_HEAD(, rd_session) sessions;
	uint32_t nsessions;	 /* with a rank: jobs */
	uint32_t nlisted;	 /* all that are in the list */
	struct base_lobby lobby; /* clients without a rank */
	uint32_t next_job_id;
	struct relay_cluster *cluster; /* all jobs of this relay, jobs.c */
	struct rd_peer peer[RD_RELAYS_MAX];
	struct relay_member member[RD_RELAYS_MAX];
	struct relay_labels labels;
	/* Ports of gates, by job of this relay: slot self * limits.jobs + i. */
	bool slot_used[RD_SLOTS_MAX];
	uint32_t slot_next;
	struct impi_auth auth;
	/* Of the channels between relays; nkeys 0: nothing is sealed, nor are they. */
	struct seal_link_conf peer_keys, light_keys;
	/* To the IMPI server; nkeys 0: in clear. */
	struct seal_link_conf server_keys;

	enum rd_phase phase;
	uint64_t phase_end_ns, began_ns;
	bool leaving;		      /* DRAIN and later: jobs go on over the other relays */
	bool snapshot_out;	      /* control's snapshot is with the workers */
	bool write_stats;	      /* SIGUSR1 came */
	struct rd_snapshot *snapshot; /* control's own */
	/* From conf, then by the control socket. */
	uint32_t drain_ms, idle, policy;
	struct rd_light_user light_user;
	struct rd_light *light;	   /* light.h; NULL: no controller is configured */
	struct rd_rpc_server *rpc; /* the control socket; NULL: none */
	struct rd_log_limit limit_neigh, limit_path, limit_channel;
	struct rd_log_limit limit_stranger, limit_allow, limit_peer, limit_site,
		limit_pause; /* what anybody can cause */
	struct rd_control_counters count;
};

/* Everything but the loop.  conf, workers, boxes, waker, server_ip and auth are set; the TAPs
 * are opened here.  0, or -1 and err with everything undone. */
int rd_control_init(struct rd_control *c, char *err, size_t err_max);
/* The loop; returns when the workers have been told to stop. */
/* Before any thread is there: signals that end or are for us are read by control alone, the others
 * that would end a process are ignored. */
void rd_control_block_signals(void);
void rd_control_run(struct rd_control *c);
/* After the workers have ended.  Accepts a half-built one. */
void rd_control_fini(struct rd_control *c);

/* ---- for the parts of control --------------------------------------------- */

/* A mail for a worker (for the gateway: 0) to fill and post; never NULL (there are more
 * than can be outstanding). */
struct rd_mail *rd_control_mail(struct rd_control *c, uint32_t worker, enum rd_mail_type type);
void rd_control_post(struct rd_control *c, struct rd_mail *mail);
/* To the gateway, which must be there; of worker 0's mails. */
void rd_control_post_gateway(struct rd_control *c, struct rd_mail *mail);
/* A snapshot of each worker and then of the gateway into s, and their sums; then done. */
void rd_control_snapshot(struct rd_control *c, struct rd_snapshot *s,
			 void (*done)(struct rd_mail *mail), void *owner);

/* session.c.  l: one of listen_impi; its index leads to the server's port. */
void rd_session_accept(struct rd_listener *l);
/* Bytes that clients without a rank take at most, all of them. */
size_t rd_session_strangers_bytes(const struct rd_conf *conf);
/* End those that are no job of the cluster yet. */
void rd_session_end_all(struct rd_control *c, const char *why);
/* How many of them are, or have ended and are not gone. */
uint32_t rd_session_bound(const struct rd_control *c);
void rd_session_tick(struct rd_control *c);
/* Sockets only: the workers are gone. */
void rd_session_fini(struct rd_control *c);

/* peer.c */
void rd_peer_init(struct rd_control *c);
void rd_peer_accept(struct rd_listener *l);
void rd_peer_tick(struct rd_control *c);
bool rd_peer_up(const struct rd_control *c, uint32_t index);
/* False: there is no channel, or it takes no more. */
bool rd_peer_send(struct rd_control *c, uint32_t index, const struct relay_peer_frame *frame);
bool rd_peer_send_job(struct rd_control *c, uint32_t index, const struct relay_job *job);
/* Say good-bye to the other relays. */
void rd_peer_close(struct rd_control *c);
void rd_peer_fini(struct rd_control *c);

/* jobs.c: c->cluster.  0, or -1 and err. */
int rd_jobs_init(struct rd_control *c, char *err, size_t err_max);
void rd_jobs_fini(struct rd_control *c);

/* tap.c */
int rd_tap_open(struct rd_control *c, int leg, char *err, size_t err_max);
/* Frames from worker 0 to the kernel, if no gateway does that. */
void rd_tap_drain(struct rd_control *c);

#endif
