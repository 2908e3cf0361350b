/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments that are larger than the datagrams of their path leave in parts.
 *
 * A segment is never made into two: end to end its number stands for its place, and its CRC for
 * all of it.  So its bytes, lane header included, travel in parts over this hop, each a packet
 * with a number of its own, and the peer puts them together (reasm.c).  Its record waits in the
 * list cut until all parts are acknowledged; a part is a record of its own that points into
 * it and is otherwise sent, lost and sent again like any other.  One segment after the other is
 * cut, as the path may send: so the parts of one are on their way together, and the peer has few
 * that are not whole.
 *
 *      lost, refused, queue, pull --too large--> cut_rec --last part sent--> waits
 *      all parts acknowledged -> released        a part refused -> refused, as a whole
 *      datagrams shrink -> lost, to be cut anew
 *
 * Each cut has a number, higher than all before.  A refused part says that the peer keeps nothing
 * of that cut; the segment is cut anew later, and parts of the cut before are orphans: whatever
 * becomes of them, they are only given back.  With each part goes the lowest number of a cut that
 * is not over, so that the peer can forget the rest.
 *
 * A peer has places for few that are not whole, and the layer above it may want another one than
 * those that came first into them: of the same ones in the same order those behind would never have
 * a place.  So once one was refused they are tried one at a time, until one comes through.
 *
 * Records of parts are a pool of their own, limits.parts_max, of which a path has at most a
 * quarter.  They come back with acknowledgements, whatever becomes of their segments, so waiting
 * for one always ends. */
#include "path_internal.h"

#include "base/assert.h"

/* Room that a part leaves in its datagram: as a full segment does, see SUCI_OVERHEAD. */
#define PART_SPARE (SUCI_SEAL_TAG + SUCI_FIRST_EXT)
/* Of the lane header, in the part's own record. */
#define PART_INLINE (SEG_HDR_MAX - SUCI_PART_HDR)

static uint32_t
bytes_of(const struct suci_rec *r)
{
	return (uint32_t)r->hdr_len + r->head_len + r->data_len;
}

static void
cut_begin(struct suci *ep, struct suci_path *p, uint32_t rec)
{
	struct suci_frags *q = frags_of(ep, p);
	struct suci_rec *r = &ep->rec[rec];
	BASE_ASSERT(p->frag.rec == NONE && r->kind == REC_SEGMENT);
	r->where = WHERE_FRAGMENTED;
	r->pn = ++q->id;
	r->frags = 0;
	base_ilist_append(&q->sent, rec_links(ep), rec);
	p->frag.rec = rec;
	q->off = 0;
	ep->count.tx_cut++;
}

/* Point part r to the bytes of w from off, at most len of them; how many.  They are in up to
 * three pieces, and a record has place for two beside what it copies of the first: should that
 * not do, the part is shorter. */
static uint32_t
point(struct suci_rec *r, const struct suci_rec *w, uint32_t off, uint32_t len)
{
	const uint8_t *piece[] = {w->hdr, w->head, w->data};
	const uint32_t piece_len[] = {w->hdr_len, w->head_len, w->data_len};
	uint32_t done = 0, at = off;
	r->hdr_len = SUCI_PART_HDR;
	for (uint32_t k = 0; k < 3 && done < len; k++) {
		if (at >= piece_len[k]) {
			at -= piece_len[k];
			continue;
		}
		uint32_t n = piece_len[k] - at < len - done ? piece_len[k] - at : len - done;
		if (!k) {
			uint32_t in = n < PART_INLINE ? n : PART_INLINE;
			memcpy(r->hdr + SUCI_PART_HDR, piece[0] + at, in);
			r->hdr_len = (uint8_t)(SUCI_PART_HDR + in);
			done += in;
			at += in;
			n -= in;
		}
		if (n && r->head_len && r->data_len)
			return done;
		if (n && (k == 2 || r->head_len)) {
			r->data = piece[k] + at;
			r->data_len = (uint16_t)n;
		} else if (n) {
			r->head = piece[k] + at;
			r->head_len = (uint16_t)n;
		}
		done += n;
		at = 0;
	}
	return done;
}

/* The next part of the one that is being cut; NONE if there is none, or no room for it. */
static uint32_t
cut_next(struct suci *ep, struct suci_path *p)
{
	struct suci_frags *q = frags_of(ep, p);
	const uint32_t most = p->mtu - SUCI_PATH_HDR - SUCI_PART_HDR - PART_SPARE;
	if (p->frag.rec == NONE)
		return NONE;
	if (ep->frags_used >= ep->conf.limits.parts_max ||
	    q->n_frags >= ep->conf.limits.parts_max / 4) {
		suci_path_starve(ep, p);
		return NONE;
	}
	struct suci_rec *w = &ep->rec[p->frag.rec];
	uint32_t left = bytes_of(w) - q->off, n = (left + most - 1) / most;
	uint32_t i = suci_rec_take(ep, REC_FRAG, path_index(ep, p));
	struct suci_rec *r = &ep->rec[i];
	r->prio = w->prio;
	r->cookie = p->frag.rec;
	uint32_t len = point(r, w, q->off, (left + n - 1) / n);
	struct suci_part t = {
		.id = (uint32_t)w->pn,
		.low = (uint32_t)ep->rec[q->sent.head].pn,
		.off = q->off,
		.total = (uint16_t)bytes_of(w),
	};
	suci_part_encode(&t, r->hdr);
	w->frags++;
	q->off = (uint16_t)(q->off + len);
	if (q->off == t.total) {
		r->ask = w->ask;
		r->refusals = w->refusals;
		p->frag.rec = NONE;
	}
	ep->count.tx_parts++;
	return i;
}

bool
suci_frag_orphan(const struct suci *ep, uint32_t part)
{
	const struct suci_rec *r = &ep->rec[part];
	if (r->kind != REC_FRAG)
		return false;
	const struct suci_rec *w = &ep->rec[r->cookie];
	return w->where != WHERE_FRAGMENTED || w->path != r->path || w->pn != be32_load(r->hdr);
}

uint32_t
suci_frag_fit(struct suci *ep, struct suci_path *p, uint32_t rec)
{
	if (suci_rec_len(p, &ep->rec[rec]) <= p->mtu)
		return rec;
	cut_begin(ep, p, rec);
	return cut_next(ep, p);
}

uint32_t
suci_frag_lost(struct suci *ep, struct suci_path *p)
{
	uint32_t i;
	while ((i = p->sent.lost.head) != NONE && suci_frag_orphan(ep, i)) {
		suci_rec_detach(ep, p, i);
		suci_rec_give(ep, i);
	}
	/* Parts are lost to the front of the list, so none waits behind what is to be cut. */
	bool fits = i != NONE && suci_rec_len(p, &ep->rec[i]) <= p->mtu;
	if (!fits && p->frag.rec != NONE)
		return cut_next(ep, p);
	if (i == NONE)
		return NONE;
	suci_rec_detach(ep, p, i);
	return suci_frag_fit(ep, p, i);
}

void
suci_frag_acked(struct suci *ep, struct suci_path *p, uint32_t whole, uint32_t id, uint64_t now_ns)
{
	struct suci_rec *w = &ep->rec[whole];
	if (w->where != WHERE_FRAGMENTED || w->path != path_index(ep, p) || w->pn != id)
		return;
	if ((--w->frags || p->frag.rec == whole) && !SUCI_BUG(PART_DONE))
		return;
	frags_of(ep, p)->careful = 0;
	suci_rec_detach(ep, p, whole);
	suci_rec_release(ep, whole, SUCI_FATE_ACKED, now_ns);
}

void
suci_frag_refused(struct suci *ep, struct suci_path *p, uint32_t part, uint64_t now_ns)
{
	uint32_t whole = (uint32_t)ep->rec[part].cookie;
	bool orphan = suci_frag_orphan(ep, part);
	suci_rec_give(ep, part);
	if (orphan)
		return;
	frags_of(ep, p)->careful = 1;
	suci_rec_detach(ep, p, whole);
	suci_refused_put(ep, p, whole, now_ns);
}

bool
suci_frag_alone(const struct suci *ep, const struct suci_path *p)
{
	const struct suci_frags *q = frags_of(ep, p);
	return q->careful && q->sent.head != NONE;
}

void
suci_frag_shrunk(struct suci *ep, struct suci_path *p)
{
	for (uint32_t i = p->sent.flight.head, next; i != NONE; i = next) {
		struct suci_rec *r = &ep->rec[i];
		next = r->link.next;
		if (r->kind != REC_SEGMENT || suci_rec_len(p, r) <= p->mtu)
			continue;
		suci_rec_land(ep, p, i);
		suci_loss_mark_lost(ep, p, i, false);
		r->where = WHERE_LOST;
		base_ilist_append(&p->sent.lost, rec_links(ep), i);
		p->sent.n_lost++;
	}
	const struct base_ilist *cut = &frags_of(ep, p)->sent;
	while (cut->head != NONE) {
		uint32_t i = cut->head;
		suci_rec_detach(ep, p, i);
		ep->rec[i].where = WHERE_LOST;
		ep->rec[i].pn = 0; /* it was in no packet */
		base_ilist_append(&p->sent.lost, rec_links(ep), i);
		p->sent.n_lost++;
	}
}
