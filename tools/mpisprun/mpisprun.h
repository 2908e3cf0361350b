/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpisprun/mpisprun.h - a pipeline of clusters on one machine: what the files share.
 *
 *   mpisprun.c  options, the loop, the end
 *   plan.c      lines of a plan: units, clusters, I/O processes, chains, commands
 *   procs.c     processes: starting them, what they say, their death
 *   views.c     views for them
 *
 * Who decides is this one process: there is no agreement, and its death ends the pipeline.
 *
 * Threads  one. */
#ifndef MPISPRUN_H
#define MPISPRUN_H

#include <stdio.h>
#include <sys/types.h>

#include "spx/feed.h"

enum { WORDS_MAX = 64, UNITS_MAX = 64, MEMBERS_MAX = SPX_PROCS_MAX };

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
	uint32_t spares, io; /* wanted */
	struct words program;
	uint32_t unit[UNITS_MAX], nunit; /* in turn */
	uint32_t next_unit;
	uint16_t takeovers[SPX_PROCS_MAX];
};

enum member_role { MEMBER_SPARE, MEMBER_RANK, MEMBER_IO };

/* A process. */
struct member {
	uint32_t id;
	enum member_role role;
	uint16_t cluster, rank; /* I/O: the cluster that the chains lead from */
	uint64_t serves;
	pid_t pid;
	int feed; /* -1: closed */
	bool alive, ready, done;
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
	struct cluster *cluster; /* [SPX_CLUSTERS_MAX], beside view.cluster */
	struct spx_view view;	 /* cluster, chain as planned; proc made anew */
	struct member *member;	 /* [MEMBERS_MAX] */
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

/* --- procs.c */
/* Processes that are planned and not there. */
void procs_fill(struct run *r);
void procs_hear(struct run *r, struct member *m);
/* Who has ended. */
void procs_reap(struct run *r);
void procs_tell(struct member *m, const struct spx_feed *f);
struct member *procs_of_role(struct run *r, uint16_t cluster, uint16_t rank);
uint32_t procs_alive(const struct run *r);
void procs_end(const struct member *m);
/* All of a unit. */
void procs_end_unit(struct run *r, uint32_t unit);
void procs_kill_all(struct run *r);

/* --- views.c */
void views_show(struct run *r);

/* --- mpisprun.c: "seconds text", as an event. */
void tell_line(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
