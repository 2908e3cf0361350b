/* SPDX-License-Identifier: BSD-2-Clause */
/* ack_tx.h - what came and is to be acknowledged: rx.c, tx.c. */
#ifndef SUCI_ACK_TX_H
#define SUCI_ACK_TX_H

#include "acks_rx.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_ack_tx {
	struct suci_acks acks;
	uint32_t pending; /* packets that want an ack */
	bool all;	  /* every packet is acknowledged at once */
	bool refused;	  /* something since the last ack; say so */
	bool due;	  /* now */
	bool owes;	  /* in the endpoint's list of those */
	uint64_t at_ns;	  /* when it is due, NEVER if none */
	uint64_t sent_ns; /* when the last ack left */
};

#endif
