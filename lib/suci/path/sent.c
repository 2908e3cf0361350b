/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of segments in our custody.  Those in flight are in a list ordered
 * by packet number, which is also the order of sending: acks and loss
 * detection walk it from the oldest and stop early, so no index by packet
 * number is needed and an idle path costs nothing. */
#include "path_internal.h"

#include "base/assert.h"

#include <string.h>

void
suci_rec_guard(struct suci *ep, const struct suci_path *p, bool up)
{
	BASE_ASSERT(!p->sent.recs);
	ep->guard = up ? ep->guard + ep->path_min : ep->guard - ep->path_min;
}

uint32_t
suci_rec_take(struct suci *ep, enum rec_kind kind, uint32_t path)
{
	uint32_t i = ep->rec_free;
	BASE_ASSERT(i != NONE); /* segments, probes and notes have their own bounds */
	struct suci_rec *r = &ep->rec[i];
	ep->rec_free = r->link.next;
	r->path = path;
	r->kind = (uint8_t)kind;
	r->where = WHERE_DONE;
	r->lost_pn = 0;
	r->refusals = 0;
	r->probing = r->ask = r->again = r->ect = false;
	r->hdr_len = 0;
	r->head_len = r->data_len = 0;
	r->head = r->data = NULL;
	if (kind == REC_SEGMENT) {
		ep->segs_used++;
		ep->guard -= ep->path[path].sent.recs++ < ep->path_min;
	} else if (kind == REC_FRAG) {
		ep->frags_used++;
		ep->frags[path].n_frags++;
	}
	if (kind == REC_SEGMENT || kind == REC_NOTE)
		ep->in_custody++;
	return i;
}

static void
give_other(struct suci *ep, const struct suci_rec *r, uint32_t i)
{
	struct suci_path *p = &ep->path[r->path];
	if (r->kind == REC_NOTE)
		ep->in_custody--;
	if (r->kind == REC_PROBE && p->loss.probe_rec == i)
		p->loss.probe_rec = NONE;
	if (r->kind == REC_MTU && p->pmtu.rec == i)
		p->pmtu.rec = NONE;
	if (r->kind == REC_FRAG) {
		ep->frags_used--;
		ep->frags[r->path].n_frags--;
	}
}

void
suci_rec_give(struct suci *ep, uint32_t i)
{
	struct suci_rec *r = &ep->rec[i];
	if (r->kind == REC_SEGMENT || r->kind == REC_PURGED) {
		ep->segs_used--;
		ep->guard += --ep->path[r->path].sent.recs < ep->path_min;
	}
	if (r->kind == REC_SEGMENT)
		ep->in_custody--;
	else
		give_other(ep, r, i);
	r->where = WHERE_FREE;
	r->lost_pn = 0;
	r->link.next = ep->rec_free;
	if (!SUCI_BUG(LEAK) || i % 64 != 7)
		ep->rec_free = i;
	while (ep->starved.head != NONE) {
		struct suci_path *p = &ep->path[ep->starved.head];
		suci_path_unready(ep, p);
		suci_path_ready(ep, p);
	}
}

void
suci_rec_detach(struct suci *ep, struct suci_path *p, uint32_t i)
{
	struct suci_rec *r = &ep->rec[i];
	switch ((enum rec_where)r->where) {
	case WHERE_QUEUED:
		suci_rec_unqueue(ep, p, i);
		break;
	case WHERE_FLIGHT:
		suci_rec_land(ep, p, i);
		break;
	case WHERE_LOST:
		base_ilist_unlink(&p->sent.lost, rec_links(ep), i);
		p->sent.n_lost--;
		break;
	case WHERE_REFUSED:
		base_ilist_unlink(&p->refused.list[r->refused_in], rec_links(ep), i);
		p->refused.n--;
		if (p->refused.granted > p->refused.n)
			p->refused.granted = p->refused.n;
		if (!p->refused.n && p->grants.ask_told) {
			p->ack_tx.due = true; /* withdraws the ask */
			suci_path_ready(ep, p);
		}
		break;
	case WHERE_FRAGMENTED: /* its parts are orphans now */
		base_ilist_unlink(&frags_of(ep, p)->sent, rec_links(ep), i);
		if (p->frag.rec == i)
			p->frag.rec = NONE;
		break;
	case WHERE_FREE:
	case WHERE_DONE:
		break;
	}
	r->where = WHERE_DONE;
}

static void
release_other(struct suci *ep, uint32_t i, enum suci_fate fate, uint64_t now_ns)
{
	const struct suci_rec *r = &ep->rec[i];
	uint8_t kind = r->kind;
	uint32_t cookie = (uint32_t)r->cookie, path = r->path, id = be32_load(r->hdr);
	suci_rec_give(ep, i);
	if (kind == REC_NOTE) {
		ep->note_next[cookie] = ep->note_free;
		ep->note_free = cookie;
	} else if (kind == REC_FRAG && fate == SUCI_FATE_ACKED) {
		suci_frag_acked(ep, &ep->path[path], cookie, id, now_ns);
	}
}

void
suci_rec_release(struct suci *ep, uint32_t i, enum suci_fate fate, uint64_t now_ns)
{
	struct suci_rec *r = &ep->rec[i];
	if (r->kind != REC_SEGMENT) {
		release_other(ep, i, fate, now_ns);
		return;
	}
	uint64_t cookie = r->cookie;
	uint32_t path = r->path;
	suci_rec_give(ep, i);
	ep->ops->released(ep->user, path, cookie, fate, now_ns);
}

void
suci_rec_fill(struct suci_rec *r, const struct suci_segment *seg)
{
	r->hdr_len = (uint8_t)suci_segment_encode(seg, r->hdr);
	r->head = seg->head;
	r->data = seg->data;
	r->head_len = seg->head_len;
	r->data_len = seg->data_len;
	r->cookie = seg->cookie;
	suci_rec_mark(r, seg);
}

static void
purge_list(struct suci *ep, struct suci_path *p, struct base_ilist *l,
	   bool (*match)(void *arg, uint64_t cookie), void *arg, uint64_t now_ns)
{
	for (uint32_t i = l->head, next; i != NONE; i = next) {
		struct suci_rec *r = &ep->rec[i];
		next = r->link.next;
		if (r->kind != REC_SEGMENT || !match(arg, r->cookie))
			continue;
		if (r->where != WHERE_FLIGHT) {
			suci_rec_detach(ep, p, i);
			suci_rec_release(ep, i, SUCI_FATE_ABANDONED, now_ns);
			continue;
		}
		/* Its packet number is still out there; keep a shell for the ack. */
		r->kind = REC_PURGED;
		r->head = r->data = NULL;
		r->head_len = r->data_len = 0;
		ep->in_custody--;
		ep->ops->released(ep->user, r->path, r->cookie, SUCI_FATE_ABANDONED, now_ns);
	}
}

void
suci_path_purge(struct suci *ep, uint32_t path, bool (*match)(void *arg, uint64_t cookie),
		void *arg, uint64_t now_ns)
{
	struct suci_path *p = suci_path_get(ep, path);
	if (!p)
		return;
	for (uint32_t prio = 0; prio < PRIOS; prio++)
		purge_list(ep, p, &p->sent.queue[prio], match, arg, now_ns);
	purge_list(ep, p, &p->sent.lost, match, arg, now_ns);
	for (uint32_t k = 0; k < REFUSED_LISTS; k++)
		purge_list(ep, p, &p->refused.list[k], match, arg, now_ns);
	purge_list(ep, p, &frags_of(ep, p)->sent, match, arg, now_ns);
	purge_list(ep, p, &p->sent.flight, match, arg, now_ns);
}
