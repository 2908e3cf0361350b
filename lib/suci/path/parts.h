/* parts.h - segments in parts: frag.c and reasm.c.  The end of path_internal.h, whose structs it
 * needs. */
#ifndef SUCI_PARTS_H
#define SUCI_PARTS_H

#include "path_internal.h"

/* Segments in parts.  Only touched where there are such. */
struct suci_frags {
	struct base_ilist sent; /* sent, see frag.c */
	uint32_t id;		/* of the last one */
	uint16_t off;		/* of the last one, if that is cut_rec: sent so far */
	uint16_t n_frags : 15;
	uint16_t careful : 1;	   /* one was refused, and none has come through since */
	uint16_t reasms, n_reasms; /* received, see reasm.c */
};

static inline struct suci_frags *
frags_of(const struct suci *ep, const struct suci_path *p)
{
	return &ep->frags[path_index(ep, p)];
}

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

/* frag.c */
/* Larger than the path's datagrams, may it leave in parts? */
static inline bool
suci_frag_fits(const struct suci_path *p, const struct suci_rec *r)
{
	return p->frag.on && suci_rec_len(p, r) <= p->mtu_max;
}
/* A record in no list is to leave.  It, if it fits; else the first part of it, or NONE: no room for
 * that now. */
uint32_t suci_frag_fit(struct suci *ep, struct suci_path *p, uint32_t rec);
/* Of what was lost, or is being cut, what goes next, in no list any more; NONE: look elsewhere,
 * or, if something is being cut, wait. */
uint32_t suci_frag_lost(struct suci *ep, struct suci_path *p);
/* A part whose segment has ended, or begun anew. */
bool suci_frag_orphan(const struct suci *ep, uint32_t part);
/* A part of segment whole, cut as number id, was acknowledged. */
void suci_frag_acked(struct suci *ep, struct suci_path *p, uint32_t whole, uint32_t id,
		     uint64_t now_ns);
/* The peer refused a part, in no list now: nothing is kept of its segment. */
void suci_frag_refused(struct suci *ep, struct suci_path *p, uint32_t part, uint64_t now_ns);
/* One is under way, and another one had better wait for its end. */
bool suci_frag_alone(const struct suci *ep, const struct suci_path *p);
/* Datagrams have become smaller: what was sent larger is lost. */
void suci_frag_shrunk(struct suci *ep, struct suci_path *p);

/* reasm.c */
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
