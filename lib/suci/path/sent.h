/* sent.h - records of segments and the lists they are in.  The end of path_internal.h, whose
 * structs it needs; what each datagram passes is inline. */
#ifndef SUCI_SENT_H
#define SUCI_SENT_H

#include "path_internal.h"

void suci_list_init(struct suci_list *l);
static inline void
suci_list_append(struct suci *ep, struct suci_list *l, uint32_t i)
{
	struct suci_rec *r = &ep->rec[i];
	r->next = NONE;
	r->prev = l->tail;
	if (l->tail == NONE)
		l->head = i;
	else
		ep->rec[l->tail].next = i;
	l->tail = i;
}

static inline void
suci_list_unlink(struct suci *ep, struct suci_list *l, uint32_t i)
{
	struct suci_rec *r = &ep->rec[i];
	if (r->prev == NONE)
		l->head = r->next;
	else
		ep->rec[r->prev].next = r->next;
	if (r->next == NONE)
		l->tail = r->prev;
	else
		ep->rec[r->next].prev = r->prev;
}

uint32_t suci_rec_take(struct suci *ep, enum rec_kind kind, uint32_t path);
void suci_rec_give(struct suci *ep, uint32_t i);
static inline void
suci_list_prepend(struct suci *ep, struct suci_list *l, uint32_t i)
{
	struct suci_rec *r = &ep->rec[i];
	r->prev = NONE;
	r->next = l->head;
	if (l->head == NONE)
		l->tail = i;
	else
		ep->rec[l->head].prev = i;
	l->head = i;
}

/* Take i out of its queue. */
static inline void
suci_rec_unqueue(struct suci *ep, struct suci_path *p, uint32_t i)
{
	suci_list_unlink(ep, &p->queue[ep->rec[i].prio], i);
	p->queued--;
	ep->rec[i].where = WHERE_DONE;
}

/* It is in flight no more. */
static inline void
suci_rec_land(struct suci *ep, struct suci_path *p, uint32_t i)
{
	suci_list_unlink(ep, &p->flight, i);
	if (!--p->in_flight && p->crowds) {
		p->crowds = false;
		ep->crowd--;
	}
	ep->rec[i].where = WHERE_DONE;
}

/* Take i out of whatever list it is in. */
void suci_rec_detach(struct suci *ep, struct suci_path *p, uint32_t i);
/* Tell the owner and free the record; i is in no list. */
void suci_rec_release(struct suci *ep, uint32_t i, enum suci_fate fate, uint64_t now_ns);
void suci_rec_fill(struct suci_rec *r, const struct suci_segment *seg);
/* What the endpoint itself looks at in the flags. */
static inline void
suci_rec_mark(struct suci_rec *r, const struct suci_segment *seg)
{
	r->ask = seg->flags & SUCI_SF_ASK;
	r->prio = (uint8_t)((seg->flags & SUCI_SF_PRIO_MASK) >> SUCI_SF_PRIO_SHIFT);
}
/* May the path have one more record for a segment, and leave keep to others? */
static inline bool
suci_rec_room(const struct suci *ep, const struct suci_path *p, uint32_t keep)
{
	uint32_t most = ep->conf.limits.segments_max;
	if (SUCI_BUG(RECORDS))
		return ep->rec_free != NONE;
	if (p->recs < ep->path_min)
		return ep->segs_used < most; /* guarded for it */
	return ep->segs_used + ep->guard + keep < most;
}
/* The path comes up or, with no record left, goes down: it has its minimum. */
void suci_rec_guard(struct suci *ep, const struct suci_path *p, bool up);
/* Segments of a path for which match() says true are given up: not sent again,
 * released as ABANDONED, their data not touched any more. */
void suci_path_purge(struct suci *ep, uint32_t path, bool (*match)(void *arg, uint64_t cookie),
		     void *arg, uint64_t now_ns);

#endif
