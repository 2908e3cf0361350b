/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpirun/mpirun.h - what the parts of mpirun share. */
#ifndef MPIRUN_H
#define MPIRUN_H

#include "launch/jobs.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MPIRUN_EXIT_USAGE   2
#define MPIRUN_EXIT_TIMEOUT 124 /* as timeout(1) */
#define MPIRUN_RANKS_MAX    4096

/* One program of the job and how often it runs. */
struct mpirun_app {
	uint32_t n;
	uint32_t per_node; /* 0: not said */
	bool n_default;	   /* n is per_node or 1, nobody said it */
	const char *wdir;  /* NULL: here */
	char **argv;
	char **env; /* NAME=VALUE beside ours; NULL-terminated */
};

struct mpirun_options {
	struct mpirun_app *app;
	uint32_t napps;
	uint32_t nranks;      /* of all of them */
	double timeout_s;     /* 0: none */
	const char *launcher; /* NULL: choose */
	bool show;	      /* print what would be done */
	bool label;	      /* [rank] before every line of output */
	bool verbose;
	bool keep_going; /* a rank that dies does not end the others */
	uint32_t usize;	 /* ranks there may be at once, with those that ranks start; 0: not said */
	enum {
		MPIRUN_BIND_AUTO,
		MPIRUN_BIND_CORE,
		MPIRUN_BIND_NONE,
		MPIRUN_BIND_L3,
		MPIRUN_BIND_NUMA,
		MPIRUN_BIND_SOCKET,
	} bind;
	bool report;	 /* say which CPUs each rank has */
	bool hosts;	 /* other machines are named: not for us */
	const char *who; /* -host, or -hostfile; NULL: not said */
	bool who_is_file;
	char **words; /* what another launcher is to get, NULL-terminated */
	int nwords;
};

/* Words of the command line; ends the program with a message if they are wrong. */
void mpirun_parse(struct mpirun_options *o, int argc, char **argv);
_Noreturn void mpirun_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mpirun_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- where to run (hosts.c) ------------------------------------------------- */

/* Do the names of -host, with commas between them and ":slots" behind them, all mean this
 * machine; do those of a file, one a line, with or without slots?  A file that cannot be
 * read ends the program. */
bool mpirun_hosts_here(const char *list);
bool mpirun_hostfile_here(const char *path);
/* A name of -host or of a file that nobody here can resolve ends the program; launcher: the one
 * that would have been asked, and may be named if it knows more. */
void mpirun_hosts_check(const char *list, const char *launcher);
void mpirun_hostfile_check(const char *path, const char *launcher);

/* Become the other launcher. */
_Noreturn void mpirun_become(const struct mpirun_options *o, const char *path);
/* All ranks on this machine, ours to start, to wait for and to end; exit status. */
int mpirun_local(const struct mpirun_options *o);

/* ---- which core each rank has (bind.c) ------------------------------------- */

/* Decide for the ranks of o; verbose says it.  False: said why it cannot be as asked. */
bool mpirun_bind_plan(const struct mpirun_options *o);
/* In the rank's own process, before it becomes the program. */
void mpirun_bind_me(uint32_t rank);

/* ---- PMIx for local ranks (pmix.c) ---------------------------------------- */

/* Ranks are numbered over all jobs: those of the first one from 0, and so on.
 *
 * Serve a job of o->nranks; folder is for its sockets.  False: said why. */
bool mpirun_pmix_start(const struct mpirun_options *o, const char *folder);
/* One more job, that the rank `asker` has asked for: n ranks of these programs, which stay.
 * nspace[256] is its name.  False: said why. */
bool mpirun_pmix_add(const struct mpirun_app *app, uint32_t napps, uint32_t n, uint32_t asker,
		     char *nspace);
/* Environment of a rank: the program's own with what PMIx adds; NULL: said why. */
char **mpirun_pmix_env(uint32_t rank, char **own);
enum launch_state mpirun_pmix_state(uint32_t rank);
/* Have all ranks of its job told each other where they are, and met who asked for the job?  Before,
 * none of them can do without another. */
bool mpirun_pmix_met(uint32_t rank);
/* Did a rank ask for the end of the job?  Its status and text. */
bool mpirun_pmix_aborted(uint32_t *rank, int *status, char text[256]);
/* Tell the others that this rank is no more. */
void mpirun_pmix_tell_gone(uint32_t rank);
/* Tell the asker that nobody comes of the job of this rank, since it ended; text: how. */
void mpirun_pmix_tell_unmet(uint32_t asker, uint32_t rank, const char *text);
/* Readable when a rank asks for something, has come, or has met; until it was heard. */
int mpirun_pmix_fd(void);
void mpirun_pmix_heard(void);
void mpirun_pmix_wake(void);
void mpirun_pmix_stop(void);

/* ---- what ranks ask for beside that (serve.c) ------------------------------ */

/* A job that a rank wants started. */
struct mpirun_spawn;
struct mpirun_spawn *mpirun_spawn_next(void); /* NULL: nothing is asked for */
/* Its programs, which stay when the answer has been given; *n ranks in all. */
struct mpirun_app *mpirun_spawn_apps(const struct mpirun_spawn *s, uint32_t *napps, uint32_t *n);
/* The rank that asks. */
uint32_t mpirun_spawn_asker(const struct mpirun_spawn *s);
/* Only hosts that are this machine are named. */
bool mpirun_spawn_here(const struct mpirun_spawn *s);
enum mpirun_spawned {
	MPIRUN_SPAWNED,
	MPIRUN_NO_PROGRAM,
	MPIRUN_NO_ROOM,
	MPIRUN_NO_HOST,
	MPIRUN_NO
};
void mpirun_spawn_answer(struct mpirun_spawn *s, enum mpirun_spawned what, const char *nspace);

#endif
