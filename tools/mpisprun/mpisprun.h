/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpisprun/mpisprun.h - a pipeline of clusters on one machine: what the files share.
 *
 *   mpisprun.c  options, the loop, the end
 *   plan.c      lines of a plan: units, clusters, I/O processes, chains, commands
 *   agree.c     lib/sp's node, which decides who plays which role; what it asks for
 *   procs.c     processes: starting them, what they say, their death
 *   views.c     views for them
 *
 * Roles, spares, takeovers and chains are decided by lib/sp, as under mpispd: here by a master
 * that is its only voter and keeps no journal, so the death of this process ends the pipeline.
 * All roles are kept for later at first, and clusters get theirs as the plan names them.  A unit
 * of the plan is where processes run, not one of lib/sp.
 *
 * Threads  one. */
#ifndef MPISPRUN_H
#define MPISPRUN_H

#include <stdio.h>
#include <sys/types.h>

#include "spx/agreed.h"
#include "spx/feed.h"

enum { WORDS_MAX = 64, UNITS_MAX = 64, ROLES_MAX = 1024, MEMBERS_MAX = SPX_PROCS_MAX };

/* A line as words. */
struct words {
	char *word[WORDS_MAX + 1];
	int n;
	char text[2048];
};

/* Where processes run: an address, and a command that leads there. */
struct unit {
	char name[SPX_NAME_MAX];
	char ip[SPX_ADDRESS_MAX];
	struct words prefix;
	bool lost; /* nothing is started there */
};

struct cluster {
	uint32_t want[2]; /* processes of the program; of I/O */
	struct words program;
	uint32_t unit[UNITS_MAX], nunit; /* in turn */
	uint32_t next_unit;
};

/* A process. */
struct member {
	uint32_t token;
	uint32_t slot; /* SP_NONE: it has none yet */
	uint32_t role; /* of lib/sp; SP_NONE: a spare */
	uint8_t pool;
	pid_t pid;
	int feed;		  /* -1: closed */
	bool alive, ready, fresh; /* fresh: to be announced */
	uint32_t unit;
	char address[SPX_ADDRESS_MAX];
	uint8_t *in;
	size_t in_len;
};

struct run {
	struct spx_conf conf; /* for SETUP */
	uint32_t deaths_max;
	const char *io_program;
	struct unit unit[UNITS_MAX];
	uint32_t nunit;
	struct cluster *cluster; /* [SPX_POOLED_MAX], beside planned */
	struct spx_view view;	 /* as agreed */
	struct sp_node *node;
	struct spx_agreed agreed;
	struct spx_cluster *planned; /* [SPX_POOLED_MAX] name, compute */
	struct spx_role *role;	     /* [ROLES_MAX] */
	uint32_t nrole;
	bool *left;	       /* [slots] it has made and seen committed what it wanted */
	struct member *member; /* [MEMBERS_MAX] */
	uint32_t nmember;
	uint64_t realm, start_ns;
	bool changed; /* a new view is due */
	bool over, failed;
	uint32_t deaths;
};

/* --- plan.c.  false: why. */
bool plan_line(struct run *r, const char *line, char why[SPX_TEXT_MAX]);
bool plan_read(struct run *r, const char *file, char why[SPX_TEXT_MAX]);
bool plan_say(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- agree.c */
bool agree_begin(struct run *r, char why[SPX_TEXT_MAX]);
void agree_end(struct run *r);
/* So many roles more of a pool: what they are.  false: why. */
bool agree_roles(struct run *r, const struct spx_role *role, uint32_t n, uint8_t pool,
		 char why[SPX_TEXT_MAX]);
bool agree_chains(struct run *r, const char *ops, size_t len, char why[SPX_TEXT_MAX]);
/* As many processes as clusters want. */
void agree_wants(struct run *r);
/* What is due; processes are started and views noted. */
void agree_turn(struct run *r);
/* ms until it is to be called again, for poll(). */
int agree_wait_ms(const struct run *r);
/* All is over: why (sp/view.h). */
void agree_stop(struct run *r, enum sp_why why);

/* --- procs.c */
void procs_start(struct run *r, uint32_t token, uint8_t pool);
/* They have the slots and roles that the view gives them. */
void procs_follow(struct run *r, const struct sp_view *v);
void procs_hear(struct run *r, struct member *m);
/* Who has ended. */
void procs_reap(struct run *r);
void procs_tell(struct member *m, const struct spx_feed *f);
struct member *procs_of_role(struct run *r, uint32_t role);
uint32_t procs_alive(const struct run *r);
void procs_end(const struct member *m);
/* "process 3, rank 1 of filter". */
void procs_name(const struct run *r, const struct member *m, char text[SPX_TEXT_MAX]);
/* All of a unit. */
void procs_end_unit(struct run *r, uint32_t unit);
void procs_kill_all(struct run *r);

/* --- views.c */
void views_show(struct run *r);

/* --- mpisprun.c */
uint64_t run_now_ns(void);
/* "seconds text", as an event. */
void tell_line(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
