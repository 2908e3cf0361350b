/* SPDX-License-Identifier: BSD-2-Clause */
/* launch/order.h - what a process asks its launcher to start (MPI_Comm_spawn), and what it hears of
 * that.
 *
 * An order has commands, each so many times.  If there is no room for all, fewer of a command will
 * do, as its list `soft` says: "a,b:c,d:e:f" (MPI-4 11.8.4).  Each process that was wanted has an
 * error code, those of a command beside each other.
 *
 * Awaited are jobs of which the launcher tells by name: that it has started one, and that one does
 * not come, or has ended.  The second may be heard before the first; LAUNCH_EARLY_MAX such words
 * are kept as long as an answer is outstanding.
 *
 * Sans-I/O.  Memory  the owner's: an await stays until it is forgotten.  Threads  one at a time.
 * Errors   false.  Limits  LAUNCH_NAME, LAUNCH_WHY: longer texts are cut. */
#ifndef LAUNCH_ORDER_H
#define LAUNCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_NAME	 256u
#define LAUNCH_WHY	 256u
#define LAUNCH_EARLY_MAX 8u

/* Of a command; as it is told to the other processes that call. */
struct launch_count {
	uint64_t wanted, n;
};

/* There is no room for all of them.  True: fewer of one will do, ask again.  soft[i]: or NULL. */
bool launch_order_fewer(struct launch_count *c, const char *const *soft, uint32_t commands);
/* codes[]: as many as are wanted.  failed: of all, or 0; unstarted: of who was left out. */
void launch_order_codes(const struct launch_count *c, uint32_t commands, int failed, int unstarted,
			int *codes);

struct launch_await {
	struct launch_await *next;
	const char *port;	/* where it is to come; NULL: nobody waits for it any more */
	char name[LAUNCH_NAME]; /* empty: the launcher has not answered yet */
	bool refused;
	bool unmet; /* it does not come */
	char why[LAUNCH_WHY];
};

struct launch_early {
	char name[LAUNCH_NAME]; /* empty: none */
	char why[LAUNCH_WHY];
	bool ended; /* well, if it had come: no news of any other job */
};

struct launch_awaited {
	struct launch_await *first;
	uint32_t next_early;
	struct launch_early early[LAUNCH_EARLY_MAX];
};

/* An order is on its way to the launcher; the job is to come to that port. */
void launch_await(struct launch_awaited *l, struct launch_await *a, const char *port);
/* It was started as that; NULL: it was not. */
void launch_await_answer(struct launch_awaited *l, struct launch_await *a, const char *name);
/* The job of that name does not come.  False: nobody waits for it, or nobody any more. */
bool launch_await_unmet(struct launch_awaited *l, const char *name, const char *why);
/* That job is over, as each is in the end: it does not come, if it is awaited still. */
bool launch_await_ended(struct launch_awaited *l, const char *name, const char *why);
/* Words that were of no job that is awaited; false: none, or an answer is outstanding. */
bool launch_await_stray(struct launch_awaited *l, struct launch_early *e);
/* Why nobody comes to that port; NULL: somebody may. */
const char *launch_await_why(const struct launch_awaited *l, const char *port);
/* Who has not come to that port by now is not waited for, and its end is no news. */
void launch_await_give_up(struct launch_awaited *l, const char *port);
/* One that was to come to that port is no more in the list; NULL: there is none. */
struct launch_await *launch_await_forget(struct launch_awaited *l, const char *port);

#endif
