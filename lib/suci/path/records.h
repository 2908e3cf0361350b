/* SPDX-License-Identifier: BSD-2-Clause */
/* records.h - records of segments and the lists they are in.  The end of path_internal.h, whose
 * structs it needs; what each datagram passes is inline. */
#ifndef SUCI_RECORDS_H
#define SUCI_RECORDS_H

#include "path_internal.h"

static inline struct base_ilinks
rec_links(const struct suci *ep)
{
	return BASE_ILINKS(ep->rec, link);
}

uint32_t suci_rec_take(struct suci *ep, enum rec_kind kind, uint32_t path);
void suci_rec_give(struct suci *ep, uint32_t i);
/* Take i out of its queue. */
static inline void
suci_rec_unqueue(struct suci *ep, struct suci_path *p, uint32_t i)
{
	base_ilist_unlink(&p->sent.queue[ep->rec[i].prio], rec_links(ep), i);
	p->sent.queued--;
	ep->rec[i].where = WHERE_DONE;
}

/* It is in flight no more. */
static inline void
suci_rec_land(struct suci *ep, struct suci_path *p, uint32_t i)
{
	base_ilist_unlink(&p->sent.flight, rec_links(ep), i);
	if (!--p->sent.in_flight && p->shares_link) {
		p->shares_link = false;
		ep->sharers--;
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
	if (p->sent.recs < ep->path_min)
		return ep->segs_used < most; /* guarded for it */
	return ep->segs_used + ep->guard + keep < most;
}
/* The path comes up or, with no record left, goes down: it has its minimum. */
void suci_rec_guard(struct suci *ep, const struct suci_path *p, bool up);
/* credit.c: to be told with the next packet, more wait than may go? */
static inline bool
suci_credit_more(struct suci *ep, struct suci_path *p)
{
	bool far = p->sent.next_pn < p->credit_tx.more_from && p->credit_tx.limit > SUCI_TELL_MORE;
	return !far && suci_credit_short(ep, p);
}
/* The key of the current epoch, valid until the next call for any path. */
static inline const uint8_t *
suci_keys_ready(struct suci *ep, struct suci_seal *s, bool rx)
{
	uint32_t i = s->slot[rx];
	if (i == NO_KEY)
		return suci_keys_make(ep, s, rx);
	ep->keys[i].used = true;
	return ep->key_mem + (size_t)i * SEAL_KEY_MAX;
}

static inline struct suci_frags *
frags_of(const struct suci *ep, const struct suci_path *p)
{
	return &ep->frags[path_index(ep, p)];
}

/* Larger than the path's datagrams, may it leave in parts? */
static inline bool
suci_frag_fits(const struct suci_path *p, const struct suci_rec *r)
{
	return p->frag.on && suci_rec_len(p, r) <= p->mtu_max;
}

#endif
