/* SPDX-License-Identifier: BSD-2-Clause */
/* app/mpispd/daemon/daemon.h - the daemon of a unit: what its files share.
 *
 * Each file calls those below it, and none above:
 *
 *   main.c     options, the loop
 *   hear.c     what other daemons say, to whom it is for
 *   ctl.c	the control socket: JSON-RPC for mpispctl; figures.c: what was counted
 *   begin.c    daemons begin together
 *   node.c	lib/sp's node of this unit: views, leases
 *   watch.c    processes of this unit: started, watched, ended
 *   foreign.c  processes of programs that know PMIx (spd/pmix.h)
 *   talk.c	what processes say and are told (sp/client.h); cards of the cluster
 *   feed.c	the same of processes of a pipeline (spx/feed.h); their addresses
 *   pipeline.c what is agreed on as a view of lib/spx, and changes of it
 *   program.c  whether processes run the same program
 *   procs.c	processes of this unit: found, named, signalled
 *   end.c	whether all is over
 *   journal.c  what must not be forgotten, written by a thread
 *   net.c	blocks to and from the other daemons (libsuci)
 *   sites.c	those of other sites, by doors of relays
 *   log.c	what is said, and kept for mpispctl
 *   state.c    what the daemon is and knows
 *
 * One thread, one that writes the journal, and PMIx's if a cluster asks for it.  lib/sp calls back
 * from inside and must not be called then: its news are noted, and seen to when it has returned
 * (follow_view() of main.c). Units    ns of CLOCK_MONOTONIC. */
#ifndef SPD_DAEMON_H
#define SPD_DAEMON_H

#include "spd/conf.h"
#include "spd/wire.h"

#include "sp/node.h"
#include "spx/feed.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <suci.h>
#include <sys/types.h>

#define SPD_PROCS_MAX 1024u

/* A process of this unit. */
struct spd_proc {
	pid_t pid;     /* 0: no such process */
	int pidfd, fd; /* fd: our end of its socket, -1: closed */
	uint32_t token;
	uint32_t slot; /* SP_NONE: it has none yet */
	bool hello, left, killed;
	uint64_t epoch_told;
	uint32_t role_told;
	uint64_t begun_ns;
	uint8_t pool;
	uint64_t program; /* hash of what it runs; 0: not known */
	/* Of a pipeline: fd is a stream of spx/feed.h.  fresh: it is to be announced; behind: it
	 * has not got the newest view. */
	bool feed, fresh, told_id, behind;
	uint8_t *in;
	size_t in_len;
};

/* Facts that all agree on, beside those of spx/agreed.h. */
enum {
	SPD_FACT_PROGRAM = SPX_FACT_FREE, /* + pool: the hash of what it began with */
	SPD_FACTS = SPD_FACT_PROGRAM + SP_POOLS_MAX
};
_Static_assert(SPD_FACTS <= SP_FACTS_MAX, "an index has 8 bits");

/* Where who plays a role can be reached in an epoch. */
struct spd_card {
	uint64_t epoch;
	uint32_t slot;
	uint32_t n;
	uint8_t bytes[SP_CARD_MAX];
};

struct spd_peer {	     /* another unit, of any cluster */
	uint8_t here;	     /* enum spd_here */
	bool heard, refused; /* refused: it is not as we are, and we said so */
	uint64_t dropped;    /* blocks for which there was no room */
	uint64_t malformed;  /* blocks of it that are none of spd/wire.h */
};

struct spd {
	struct spd_conf *conf;
	const char *file;
	uint32_t me; /* number of the unit */
	const struct spd_cluster *cluster;
	struct spd_group group;
	uint32_t unit; /* its number in the group */
	char socket[108];
	bool anew;

	struct datagram_sock *net;
	struct spd_peer peer[SPD_UNITS_MAX];
	uint64_t far_malformed;	    /* blocks by doors that are none of spd/far.h */
	uint32_t ip[SPD_UNITS_MAX]; /* IPv4 of each of our site */

	struct sp_node *node; /* NULL: waits for the others */
	struct sp_node_conf node_conf;
	bool view_is_new, disk_failed;
	bool fenced;

	struct spd_proc proc[SPD_PROCS_MAX];
	uint32_t nproc;		       /* places in use, with holes */
	uint32_t early;		       /* processes in a row that ended before MPI_Init */
	bool *started;		       /* [slots of view 1] */
	bool *left;		       /* [slots_max] finished */
	struct spd_card *card;	       /* [roles] */
	char (*door)[SPX_ADDRESS_MAX]; /* [slots_max] of processes of a pipeline; "": not known */

	struct spx_view *told; /* of a pipeline: the view as told to processes; NULL: none yet */

	bool ending;
	int status;
	uint32_t end_why; /* enum sp_why */
	char end_text[SP_TEXT_MAX];
	uint64_t end_ns; /* then what is left is killed */
};
extern struct spd spd;

/* --- state.c */
uint64_t spd_now_ns(void);
const struct sp_view *spd_view(void); /* NULL: has not begun */

/* --- log.c */
#define SPD_LOG_LINES 512u
#define SPD_LOG_TEXT  240u
struct spd_line {
	uint64_t number, at_ms; /* at_ms: of CLOCK_REALTIME */
	char text[SPD_LOG_TEXT];
};
void spd_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The line as it is kept. */
const char *spd_log_va(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
/* Line `number`, counted from 1; NULL: not kept any more, or not there yet. */
const struct spd_line *spd_log_line(uint64_t number);
uint64_t spd_log_last(void);

/* --- net.c */
bool spd_net_open(char why[SPD_WHY]);
void spd_net_close(void);
/* The file of keys again; false: they stay as they are, and why. */
bool spd_net_rekey(char why[SPD_WHY]);
typedef void spd_hear_fn(uint32_t from, const uint8_t *bytes, size_t len, uint64_t now_ns);
/* Each block that has come. */
void spd_net_read(spd_hear_fn *hear, uint64_t now_ns);
/* To a unit of any cluster; a block that finds no room is dropped, and counted. */
void spd_net_send(uint32_t unit, const void *bytes, size_t len);
void spd_net_note(uint32_t unit, const struct spd_note *n);
/* To all other units of the group. */
void spd_net_cluster(const struct spd_note *n);
/* As spd_log(), and all units of the group say it, too. */
void spd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- sites.c: nothing happens unless there are two */
bool spd_sites_open(char why[SPD_WHY]);
void spd_sites_close(void);
bool spd_sites_rekey(char why[SPD_WHY]);
struct datagram_sock *spd_sites_net(void); /* NULL: there is none */
/* To a unit of another site; false: no room. */
bool spd_sites_send(uint32_t unit, const void *bytes, size_t len);
void spd_sites_read(spd_hear_fn *hear, uint64_t now_ns);
/* Says when the others do not reach us.  When to call again. */
uint64_t spd_sites_turn(uint64_t now_ns);
/* NULL, or why they do not. */
const char *spd_sites_why(void);

/* --- hear.c */
spd_hear_fn spd_hear;

/* --- begin.c */
/* Says that we are up; begins when all are.  When to call again. */
uint64_t spd_begin_turn(uint64_t now_ns);
/* A unit says that it is up. */
void spd_begin_heard(uint32_t from, const struct spd_note *n, uint64_t now_ns);

/* --- node.c */
bool spd_node_begin(uint64_t now_ns, char why[SPD_WHY]);
void spd_node_frame(uint32_t unit, const void *frame, size_t len, uint64_t now_ns);
void spd_node_turn(uint64_t now_ns);
uint64_t spd_node_expiry_ns(void);
void spd_node_end(bool forget);

/* --- journal.c */
/* ops of sp/node.h with late_disk. */
bool spd_journal_append(void *user, const void *bytes, size_t len);
bool spd_journal_replace(void *user, const void *bytes, size_t len);
/* -1, or to be polled: then spd_journal_turn(). */
int spd_journal_fd(void);
void spd_journal_turn(uint64_t now_ns);
/* malloc'd; NULL and errno: it cannot be read.  Waits for what is being written. */
void *spd_journal_read(size_t *len);
/* 0 and errno: it cannot be written. */
uint32_t spd_journal_life(void);
void spd_journal_forget(void);
void spd_journal_close(void);

/* --- procs.c */
struct spd_proc *spd_proc_of_slot(uint32_t slot);
/* "rank 2 (slot 5)"; good until the next call. */
const char *spd_proc_name(const struct spd_proc *p);
/* "rank 2 of filter", "I/O process 0 behind filter"; likewise. */
const char *spd_role_name(uint32_t role);
void spd_proc_signal(int sig); /* all of them */
void spd_proc_kill(struct spd_proc *p);
/* It has finished: the cluster is told. */
void spd_proc_has_left(struct spd_proc *p);
bool spd_procs_left(void);

/* --- watch.c */
/* For a slot of view 1, or as a spare (slot SP_NONE).  false: said why. */
bool spd_proc_start(uint32_t slot, uint32_t token, uint8_t pool, uint64_t now_ns);
/* If all is over: they are told, once, and have until spd.end_ns. */
void spd_procs_end(void);
/* Processes as the view wants them. */
void spd_procs_follow(const struct sp_view *v, uint64_t now_ns);
/* pollfds of all: two each.  Their number. */
nfds_t spd_procs_fds(struct pollfd *fd);
void spd_procs_poll(const struct pollfd *fd, nfds_t n, uint64_t now_ns);

/* --- talk.c */
void spd_talk_read(struct spd_proc *p, uint64_t now_ns);
/* What is new goes to all processes that are in MPI_Init or behind it. */
void spd_talk_follow(const struct sp_view *v, uint64_t now_ns);
void spd_talk_end(struct spd_proc *p, uint32_t why, const char *text);
void spd_card_came(const struct spd_note *n, uint64_t now_ns);
void spd_card_wanted(uint32_t unit, uint64_t epoch);
/* Cards that have not come are asked for.  When to call again. */
uint64_t spd_card_turn(uint64_t now_ns);

/* A process ends the cluster, or what it does has to: all units are told. */
void spd_abort_all(uint32_t status, const char *text);

/* --- foreign.c: nothing happens unless the cluster has "pmix" */
/* false: said why. */
bool spd_foreign_begin(void);
/* false: PMIx's thread is still there; leave by _exit(). */
bool spd_foreign_end(void);
/* Of a rank's process; malloc'd; NULL: no memory. */
char **spd_foreign_env(uint32_t rank);
/* NULL: there are none. */
const struct spd_fence_counts *spd_foreign_fences(void);
int spd_foreign_fd(void); /* -1, or to be polled: then spd_foreign_poll() */
void spd_foreign_poll(uint64_t now_ns);
void spd_foreign_hear(uint32_t unit, const struct spd_note *n, uint64_t now_ns);
void spd_foreign_follow(void);
/* When to call again. */
uint64_t spd_foreign_turn(uint64_t now_ns);

/* --- feed.c */
/* Who it is, as soon as it has a slot. */
void spd_feed_begin(struct spd_proc *p);
void spd_feed_end(struct spd_proc *p);
void spd_feed_read(struct spd_proc *p, uint64_t now_ns);
void spd_feed_follow(const struct sp_view *v, uint64_t now_ns);
void spd_door_came(uint32_t slot, const char *text);
void spd_doors_wanted(uint32_t unit);
/* When to call again. */
uint64_t spd_feed_turn(uint64_t now_ns);
/* What was asked for is agreed on, or not: why. */
typedef void spd_asked_fn(bool ok, const char *why);
/* An operator's: chains as spx_chain_ops() says, or a cluster on or off.  true: asked() follows. */
bool spd_feed_ask(const char *what, bool on, bool cluster, spd_asked_fn *asked,
		  char why[SPX_TEXT_MAX], uint64_t now_ns);

/* --- pipeline.c */
const struct sp_fact *spd_pipeline_facts(void);
struct spx_view *spd_pipeline_tables(void); /* NULL: out of memory */
void spd_pipeline_view(const struct sp_view *v, struct spx_view *x);
bool spd_pipeline_fits(void *user, const struct sp_view *plan);
bool spd_pipeline_chain(const char *ops, size_t len, char why[SPX_TEXT_MAX], uint64_t now_ns);
bool spd_pipeline_cluster(const char *name, bool on, char why[SPX_TEXT_MAX], uint64_t now_ns);
/* If this daemon is master: who is complete, who is lost. */
void spd_pipeline_lead(const struct sp_view *v, const struct spx_view *x, uint64_t now_ns);

/* --- program.c */
/* false: it is refused and ended. */
bool spd_program_fits(struct spd_proc *p, uint64_t now_ns);

/* --- end.c */
/* All is over here: processes end, then the daemon. */
void spd_end(int status, uint32_t why, const char *text);
/* A process of this cluster has finished, here or elsewhere. */
void spd_slot_left(uint32_t slot);
/* Ends all, if all is done. */
void spd_end_if_done(void);
/* Who takes a rank over now would wait for those that have left MPI: then all ends. */
bool spd_left_too_early(const struct sp_view *v);

/* --- ctl.c */
/* Take over what can be of files that have changed, and log it; false: nothing, and why. */
bool spd_reload(char why[SPD_WHY]);
bool spd_ctl_open(char why[SPD_WHY]);
void spd_ctl_close(void);
/* *until_ns: no later than when the listener is watched again. */
nfds_t spd_ctl_fds(struct pollfd *fd, uint64_t now_ns, uint64_t *until_ns);
void spd_ctl_poll(const struct pollfd *fd, nfds_t n, uint64_t now_ns);

/* --- figures.c */
/* Counters by group and name; a new object. */
struct json_t *spd_figures(void);

#endif
