/* SPDX-License-Identifier: BSD-2-Clause */
/* grants.h - asks and grants for what was refused: grants.c. */
#ifndef SUCI_GRANTS_H
#define SUCI_GRANTS_H

#include "base/ilist.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_grants {
	/* What the peer said of our asks. */
	uint32_t seen;	   /* granted by it, ever */
	uint32_t ask_told; /* refused as last told */
	/* What it asks of us. */
	struct base_ilink link; /* in its class's askers */
	uint16_t ask;		/* packets it has waiting for room here */
	uint8_t ask_prio;
	bool due;		/* a grant not told yet */
	uint32_t used, granted; /* serial: granted - used are out */
	uint64_t granted_ns;
};

struct suci;
struct suci_path;
struct suci_ack;

void suci_grants_init(struct suci *ep);
/* The ask and the grant in an ack block of the peer. */
void suci_grants_heard(struct suci *ep, struct suci_path *p, const struct suci_ack *a,
		       uint64_t now_ns);
/* Has the path something to ask or grant that its next ack block should tell? */
bool suci_grants_due(const struct suci_path *p);
void suci_grants_put(struct suci *ep, struct suci_path *p, struct suci_ack *a);
/* Grant what there is room for, if anybody waits. */
void suci_grants_share(struct suci *ep);
void suci_grants_down(struct suci *ep, struct suci_path *p);

#endif
