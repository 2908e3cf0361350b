/* control.h - the main lcore: sockets, TAPs, signals, jobs coming and going.
 *
 * One epoll loop; nothing in it blocks.  It owns every job on this relay:
 *
 *   session   a job whose client connected to us (we are its primary): a
 *             relay_startup machine between two TCP connections
 *   foreign   a job that another relay of the cluster pushed to us
 *
 * and speaks to the worker by mail (mail.h).  Stopping is a state machine:
 *
 *   RUN --SIGTERM--> DRAIN (no new jobs; until all ended or drain_ms)
 *       --> END (abort what is left, wait until custody is empty, 1 s)
 *       --> CLOSE (connections to the other relays; a tick for their FIN)
 *       --> STOP (the worker leaves its loop) --> rd_control_run returns
 *
 * Threads  all of it on the main lcore. */
#ifndef RD_CONTROL_H
#define RD_CONTROL_H

#include "log.h"
#include "mail.h"
#include "rd/conf.h"
#include "relay/peer.h"
#include "relay/startup.h"
#include "worker.h"

#include <bsd/sys/queue.h>
#include <sys/epoll.h>

#define RD_CONTROL_TICK_MS 50

struct rd_control;

/* A file descriptor in the epoll set. */
struct rd_watch {
	int fd; /* -1: none */
	uint32_t events;
	void (*fn)(struct rd_watch *w, uint32_t events);
	void *owner;
};

struct rd_foreign {
	LIST_ENTRY(rd_foreign) link;
	struct rd_control *ctl;
	uint32_t label_base;
	uint32_t peer;	/* index of the primary */
	uint32_t mails; /* outstanding at the worker */
	bool installed, over;
	struct relay_job *job;
	void *mem; /* of job, malloc */
};

struct rd_peer {
	struct rd_control *ctl;
	uint32_t index;
	struct rd_watch watch;
	bool connecting;
	uint64_t heard_ns, pinged_ns, dial_ns;
	uint8_t *in, *out; /* malloc, grown as frames need */
	size_t in_len, in_max, out_off, out_len, out_max;
	bool was_up;
};

struct rd_session;

enum rd_phase { RD_PHASE_RUN, RD_PHASE_DRAIN, RD_PHASE_END, RD_PHASE_CLOSE, RD_PHASE_STOP };

struct rd_control_counters {
	uint64_t sessions, sessions_refused;
	uint64_t tap_to_kernel, tap_from_kernel, drop_tap_write, drop_tap_full, drop_tap_no_buffer;
};

struct rd_control {
	const struct rd_conf *conf;
	struct rd_worker *worker;
	struct rd_mailbox *box;
	int epoll;
	struct rd_watch wake, signals, tap[RD_LEGS], listen_impi, listen_peer;
	char tap_name[RD_LEGS][16];
	uint32_t server_ip; /* of conf->impi.server, resolved */
	uint64_t now_ns;

	LIST_HEAD(, rd_session) sessions;
	uint32_t nsessions;
	uint32_t next_job_id;
	LIST_HEAD(, rd_foreign) foreigns;
	struct rd_peer peer[RD_RELAYS_MAX];
	struct relay_member member[RD_RELAYS_MAX];
	struct relay_labels labels;
	struct impi_auth auth;

	struct rd_mail *free_mail[RD_MAILS];
	uint32_t nfree_mail;

	enum rd_phase phase;
	uint64_t phase_end_ns;
	bool snapshot_out;	      /* control's snapshot is with the worker */
	bool write_stats;	      /* SIGUSR1 came */
	struct rd_snapshot *snapshot; /* control's own */
	struct rd_log_limit limit_neigh, limit_path;
	struct rd_control_counters count;
};

/* Everything but the loop.  conf, worker, box, server_ip and auth are set; the TAPs
 * are opened here.  0, or -1 and err with everything undone. */
int rd_control_init(struct rd_control *c, char *err, size_t err_max);
/* The loop; returns when the worker has been told to stop. */
void rd_control_run(struct rd_control *c);
/* After the worker has ended.  Accepts a half-built one. */
void rd_control_fini(struct rd_control *c);

/* ---- for the parts of control --------------------------------------------- */

/* Begin watching fd (owner and fn are set in w); 0 or -errno. */
int rd_watch_add(struct rd_control *c, struct rd_watch *w, int fd, uint32_t events);
void rd_watch_events(struct rd_control *c, struct rd_watch *w, uint32_t events);
/* Stop watching and close. */
void rd_watch_close(struct rd_control *c, struct rd_watch *w);

/* A mail to fill and post; never NULL (there are more than can be outstanding). */
struct rd_mail *rd_control_mail(struct rd_control *c, enum rd_mail_type type);
void rd_control_post(struct rd_control *c, struct rd_mail *mail);

/* session.c */
void rd_session_accept(struct rd_watch *w, uint32_t events);
/* Peer relay index has answered for a job: refusal NULL = installed. */
void rd_session_peer_answer(struct rd_control *c, uint32_t index, uint32_t label_base,
			    const char *refusal);
/* End the job if it is a session's; false if it is not.  from_core: the worker has
 * forgotten it already. */
bool rd_session_end(struct rd_control *c, uint32_t label_base, const char *why, bool from_core);
/* End all sessions' jobs; with_peer >= 0: only those that use that relay. */
void rd_session_end_all(struct rd_control *c, const char *why, int with_peer);
void rd_session_tick(struct rd_control *c);
/* Sockets only: the worker is gone. */
void rd_session_fini(struct rd_control *c);

/* peer.c */
void rd_peer_init(struct rd_control *c);
void rd_peer_accept(struct rd_watch *w, uint32_t events);
void rd_peer_tick(struct rd_control *c);
bool rd_peer_up(const struct rd_control *c, uint32_t index);
bool rd_peer_send_job(struct rd_control *c, uint32_t index, const struct relay_job *job);
/* text empty: finished normally. */
void rd_peer_send_end(struct rd_control *c, uint32_t index, uint32_t label_base, const char *text);
/* A job ended in the worker's core; false if it is not a foreign one. */
bool rd_foreign_ended(struct rd_control *c, uint32_t label_base, const char *why);
void rd_foreign_end_all(struct rd_control *c, const char *why);
/* Say good-bye to the other relays. */
void rd_peer_close(struct rd_control *c);
void rd_peer_fini(struct rd_control *c);

/* tap.c */
int rd_tap_open(struct rd_control *c, int leg, char *err, size_t err_max);
/* Frames from the worker to the kernel. */
void rd_tap_drain(struct rd_control *c);

/* sock.c: all non-blocking, bound to the leg's TAP.  fd or -errno. */
int rd_sock_listen(struct rd_control *c, int leg, uint32_t port);
int rd_sock_connect(struct rd_control *c, int leg, uint32_t ip, uint32_t port);
/* The pending error of a connecting socket: 0 or -errno. */
int rd_sock_error(int fd);
/* Detect dead peers in about 8 s; no delay. */
void rd_sock_tune(int fd);

#endif
