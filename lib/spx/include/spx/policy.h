/* SPDX-License-Identifier: BSD-2-Clause */
/* spx/policy.h - which of several I/O processes: the policies as one pure function.
 *
 * A process that has a frame chooses one of those that can take it; one that wants a frame chooses
 * one of those that have data.  `amount` is how much of that each has, `mine` what this process
 * has under way with it.
 *
 *     SPX_RR	    the next one by id after the last
 *     SPX_LEAST    the largest amount; of equal ones the fewest mine; of equal ones the next
 *     SPX_WEIGHT   in proportion to weights, evenly in time
 *     SPX_STICKY   the last one, as long as it is a candidate; else the next
 *     SPX_USER	    what a function of the user says; an index that is none counts as SPX_RR
 *
 * Threads  pure, but for what the caller keeps in struct spx_picker and candidates' `turn`. */
#ifndef SPX_POLICY_H
#define SPX_POLICY_H

#include "spx/view.h"

struct spx_candidate {
	uint32_t id;
	uint32_t amount, mine;
	uint16_t weight; /* 0 is 1 */
	int64_t turn;	 /* kept from pick to pick, for SPX_WEIGHT; begins with 0 */
};

/* Returns an index of c[0 .. n - 1].  out: for a frame that leaves, else for one that is wanted. */
typedef uint32_t spx_pick_fn(void *user, const struct spx_candidate *c, uint32_t n, bool out);

struct spx_picker {
	uint32_t last; /* id; SPX_NONE: none yet */
	spx_pick_fn *fn;
	void *user;
	bool out;
};

/* An index of c, which rise by id; n is not 0. */
uint32_t spx_pick(enum spx_policy policy, struct spx_picker *p, struct spx_candidate *c,
		  uint32_t n);

#endif
