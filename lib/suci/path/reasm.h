/* SPDX-License-Identifier: BSD-2-Clause */
/* reasm.h - segments that come in fragments are put together: reasm.c. */
#ifndef SUCI_REASM_H
#define SUCI_REASM_H

#include "suci/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment of which parts have come, see reasm.c. */
#define REASM_RANGES 8
#define NO_REASM     UINT16_MAX
struct suci_reasm {
	uint32_t id;
	uint16_t next;	/* of its path, or free */
	uint16_t n;	/* ranges */
	uint8_t *bytes; /* the upper layer's buffer; NULL: it was refused, and what comes is, too */
	uint64_t cookie;
	uint16_t total;
	struct suci_reasm_range {
		uint16_t lo, end; /* end is the first not in it */
	} got[REASM_RANGES];	  /* sorted, and not touching */
};

struct suci;
struct suci_path;

/* Unfinished segments an endpoint has place for. */
static inline uint32_t
suci_reasms_of(const struct suci_limits *l)
{
	uint32_t first = l->paths_max < SUCI_WHOLES_MAX ? l->paths_max : SUCI_WHOLES_MAX;
	return l->wholes_max ? l->wholes_max + first : 0;
}
void suci_reasm_init(struct suci *ep);
/* Is it a part that fits our datagrams?  Else it is counted. */
bool suci_reasm_good(struct suci *ep, const struct suci_path *p, struct suci_segment *seg,
		     const uint8_t *bytes, size_t len);
/* A part came, in what suci_reasm_good() made of it.  False: it is refused. */
bool suci_reasm_rx(struct suci *ep, struct suci_path *p, const struct suci_segment *seg,
		   uint64_t now_ns);
void suci_reasm_down(struct suci *ep, struct suci_path *p);

#endif
