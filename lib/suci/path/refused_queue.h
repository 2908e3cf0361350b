/* SPDX-License-Identifier: BSD-2-Clause */
/* refused_queue.h - what the peer refused, until it is sent again: refused_queue.c. */
#ifndef SUCI_REFUSED_QUEUE_H
#define SUCI_REFUSED_QUEUE_H

#include "base/ilist.h"

#include <stdbool.h>
#include <stdint.h>

#define REFUSED_LISTS 9 /* the pause doubles from list to list */

/* Not in the network; sent again after a pause that depends on the list. */
struct suci_refused_queue {
	struct base_ilist list[REFUSED_LISTS];
	uint32_t n;
	uint32_t granted; /* of n: the peer has room for so many */
	uint32_t tokens, earned;
	uint64_t at_ns, refill_ns, gap_ns;
	bool ready; /* something may have its turn */
	bool turn;  /* it took the last one */
};

struct suci;
struct suci_path;

/* A record in no list was refused by the peer. */
void suci_refused_put(struct suci *ep, struct suci_path *p, uint32_t rec, uint64_t now_ns);
/* The next one to send again, in no list any more; NONE if it is too soon. */
uint32_t suci_refused_take(struct suci *ep, struct suci_path *p, uint64_t now_ns);
/* So many that had been refused were taken now. */
void suci_refused_accepted(struct suci_path *p, uint32_t n);

#endif
