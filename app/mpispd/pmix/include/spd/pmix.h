/* SPDX-License-Identifier: BSD-2-Clause */
/* spd/pmix.h - the PMIx server of a unit: programs that know PMIx and not libmpi find their rank,
 * the others, and what these have put.
 *
 * PMIx calls in a thread of its own.  What it asks for is kept as events; spd_pmix_fd() is readable
 * then, and the daemon's thread takes them (spd_pmix_next()).  One server in a process.
 *
 * Job	    The ranks of one cluster; a node of it is a unit.  Ranks here connect as this user.
 * Ticket   of a FENCE or GET: somebody waits until spd_pmix_answer().
 * Limits   SPD_PMIX_EVENTS that nobody has taken yet; what comes then is refused with
 *	    PMIX_ERR_OUT_OF_RESOURCE, and counted.  Fences of other jobs' processes, spawn, names,
 *	    and groups are not served: PMIX_ERR_NOT_SUPPORTED.
 * Errors   false or NULL; why says what.
 * Memory   malloc.  Source: PMIx 4, pmix_server.h. */
#ifndef SPD_PMIX_H
#define SPD_PMIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPD_PMIX_EVENTS 4096u
#define SPD_PMIX_TEXT	256u

struct spd_pmix_conf {
	const char *nspace;
	uint32_t ranks, nodes, here;
	const char *const *node; /* [nodes] names, each with a rank */
	const uint16_t *node_of; /* [ranks] */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct spd_pmix_ticket;

struct spd_pmix_event {
	struct spd_pmix_event *next;
	enum {
		SPD_PMIX_CAME,	/* rank: PMIx_Init */
		SPD_PMIX_LEFT,	/* rank: PMIx_Finalize */
		SPD_PMIX_ABORT, /* rank: the job is to end: status, text */
		SPD_PMIX_FENCE, /* those of `takes` that are here have met: data; ticket */
		SPD_PMIX_GET,	/* what that rank, which is elsewhere, has put; ticket */
		SPD_PMIX_GOT	/* of spd_pmix_get(): rank, unit, id; ok, data */
	} kind;
	uint32_t rank, unit, id;
	int status;
	bool ok;
	bool *takes; /* [ranks] */
	uint8_t *data;
	size_t len;
	struct spd_pmix_ticket *ticket;
	char text[SPD_PMIX_TEXT];
};

enum spd_pmix_answer { SPD_PMIX_YES, SPD_PMIX_NOT_FOUND, SPD_PMIX_NO_ROOM, SPD_PMIX_NO };

/* Names, and where they are, are needed until spd_pmix_start() has returned.  false: why was
 * said. */
bool spd_pmix_start(const struct spd_pmix_conf *c);
/* whole: with its thread.  PMIx 4.2 may stop for ever over a process that was ended while it shook
 * hands (a mutex stays taken), so who ends some leaves that to _exit(). */
void spd_pmix_stop(bool whole);
int spd_pmix_fd(void);
/* The oldest; NULL: there is none.  Then spd_pmix_free(). */
struct spd_pmix_event *spd_pmix_next(void);
void spd_pmix_free(struct spd_pmix_event *e);
/* Environment of a rank; malloc'd, as its words. */
char **spd_pmix_env(uint32_t rank, char *const *own);
/* data: malloc'd, or NULL; it is the server's then. */
void spd_pmix_answer(struct spd_pmix_ticket *t, enum spd_pmix_answer what, uint8_t *data,
		     size_t len);
/* What a rank that is here has put, as soon as it has: SPD_PMIX_GOT follows.  false: it does
 * not. */
bool spd_pmix_get(uint32_t rank, uint32_t unit, uint32_t id);
/* The others are told that a rank is no more. */
void spd_pmix_tell_gone(uint32_t rank);
uint64_t spd_pmix_refused(void);

#endif
