/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of segments (frag.c) are put together here, each where it belongs in a buffer of the upper
 * layer, which gets the segment as if it had come in one datagram.
 *
 * A part that was taken is acknowledged, so what there is of a segment is kept until it is whole:
 * as long as the sender may still send parts of it, which each part says (low).  Only two things
 * are refused, and of neither anything acknowledged is lost, for a sender that is refused one part
 * sends all of them again, as another cut:
 *
 *      no place or buffer for one that begins     nothing is kept
 *      the upper layer has no room for the whole  its bytes go, its number stays, for parts that
 *                                                 are sent again have to be refused, too
 *
 * Memory: one for each path, for what a peer left behind that has no more parts to send must not
 * stand in the way of others, and limits.wholes_max beyond that, of which a path has at most a
 * quarter; with a buffer each of at most what we announced as MTU.  A flood of parts that never
 * become whole has so many and is refused; ranges are few, and who leaves more holes is refused. */
#include "path_internal.h"

#include "base/assert.h"
#include "base/copy.h"
#include "base/serial.h"

void
suci_reasm_init(struct suci *ep)
{
	ep->reasm_free = NO_REASM;
	for (uint32_t i = suci_reasms_of(&ep->conf.limits); i-- > 0;) {
		ep->reasm[i].next = ep->reasm_free;
		ep->reasm_free = (uint16_t)i;
	}
}

/* The part goes the way of all segments, as what no segment from the wire looks like: a note with
 * a head.  So only notes pay for the question. */
bool
suci_reasm_good(struct suci *ep, const struct suci_path *p, struct suci_segment *seg,
		const uint8_t *bytes, size_t len)
{
	struct suci_part t;
	uint32_t most = suci_leg_mtu(ep, &p->peer) - SUCI_PATH_HDR;
	if (!ep->conf.limits.wholes_max || !suci_part_decode(&t, bytes, len) || t.total > most) {
		ep->count.drop_part++;
		return false;
	}
	*seg = (struct suci_segment){.flags = SUCI_SF_NOTE,
				     .head_len = SUCI_PART_HDR,
				     .head = bytes,
				     .data = t.bytes,
				     .data_len = t.len};
	return true;
}

static void
give_bytes(struct suci *ep, struct suci_reasm *w)
{
	if (w->bytes)
		ep->ops->unbuffer(ep->user, w->cookie);
	w->bytes = NULL;
}

/* The one that *at names. */
static void
forget_reasm(struct suci *ep, struct suci_path *p, uint16_t *at)
{
	uint16_t i = *at;
	struct suci_reasm *w = &ep->reasm[i];
	give_bytes(ep, w);
	*at = w->next;
	w->next = ep->reasm_free;
	ep->reasm_free = i;
	ep->reasms_used--;
	ep->reasm_paths -= !--frags_of(ep, p)->n_reasms;
}

void
suci_reasm_down(struct suci *ep, struct suci_path *p)
{
	uint16_t *first = &frags_of(ep, p)->reasms;
	while (*first != NO_REASM)
		forget_reasm(ep, p, first);
}

/* The name of that one, or of the end of the list; of others, what nothing comes for any more
 * is forgotten. */
static uint16_t *
find_reasm(struct suci *ep, struct suci_path *p, const struct suci_part *t)
{
	uint16_t *at = &frags_of(ep, p)->reasms, *found = NULL;
	while (*at != NO_REASM) {
		struct suci_reasm *w = &ep->reasm[*at];
		if (serial_lt(w->id, t->low)) {
			forget_reasm(ep, p, at);
			continue;
		}
		if (w->id == t->id)
			found = at;
		at = &w->next;
	}
	return found ? found : at;
}

/* At the end of the list; false: no place, or no buffer. */
static bool
begin_reasm(struct suci *ep, struct suci_path *p, uint16_t *end, const struct suci_part *t)
{
	uint32_t most = ep->conf.limits.wholes_max, n = frags_of(ep, p)->n_reasms;
	if (n && (ep->reasms_used - ep->reasm_paths >= most || n > most / 4))
		return false;
	uint16_t i = ep->reasm_free;
	if (i == NO_REASM)
		return false;
	struct suci_reasm *w = &ep->reasm[i];
	uint64_t cookie;
	uint8_t *bytes = ep->ops->buffer(ep->user, path_index(ep, p), t->total, &cookie);
	if (!bytes)
		return false;
	ep->reasm_free = w->next;
	*w = (struct suci_reasm){
		.next = NO_REASM, .id = t->id, .bytes = bytes, .cookie = cookie, .total = t->total};
	*end = i;
	ep->reasms_used++;
	ep->reasm_paths += !frags_of(ep, p)->n_reasms++;
	return true;
}

/* Note that these bytes are here; false: too many holes. */
static bool
add_reasm(struct suci_reasm *w, uint32_t lo, uint32_t end)
{
	uint32_t i = 0, k;
	while (i < w->n && w->got[i].end < lo)
		i++;
	for (k = i; k < w->n && w->got[k].lo <= end; k++) {
		lo = w->got[k].lo < lo ? w->got[k].lo : lo;
		end = w->got[k].end > end ? w->got[k].end : end;
	}
	/* got[i] .. got[k - 1] are in the one that comes in their place. */
	if (i == k && w->n == REASM_RANGES)
		return false;
	memmove(&w->got[i + 1], &w->got[k], (w->n - k) * sizeof w->got[0]);
	w->got[i] = (struct suci_reasm_range){(uint16_t)lo, (uint16_t)end};
	w->n = (uint16_t)(w->n + 1 + i - k);
	return true;
}

static bool
is_whole(const struct suci_reasm *w)
{
	uint32_t most = SUCI_BUG(SHORT) ? w->total / 2u : w->total;
	return w->n == 1 && !w->got[0].lo && w->got[0].end >= most;
}

/* All of it is here. */
static bool
hand_over(struct suci *ep, struct suci_path *p, uint16_t *at, uint64_t now_ns)
{
	struct suci_reasm *w = &ep->reasm[*at];
	struct suci_segment seg;
	if (!suci_segment_decode(&seg, w->bytes, w->total)) {
		ep->count.drop_part++;
		forget_reasm(ep, p, at);
		return true;
	}
	seg.cookie = w->cookie;
	ep->count.rx_joined++;
	bool taken = suci_offer(ep, p, &seg, now_ns);
	if (taken)
		forget_reasm(ep, p, at);
	else
		give_bytes(ep, w);
	return taken;
}

bool
suci_reasm_rx(struct suci *ep, struct suci_path *p, const struct suci_segment *seg, uint64_t now_ns)
{
	struct suci_part t;
	bool good = suci_part_decode(&t, seg->head, (size_t)seg->head_len + seg->data_len);
	BASE_ASSERT(good); /* suci_reasm_good() saw to it */
	uint16_t *at = find_reasm(ep, p, &t);
	ep->count.rx_parts++;
	if (*at == NO_REASM && !begin_reasm(ep, p, at, &t)) {
		ep->count.drop_part_room++;
		return false;
	}
	struct suci_reasm *w = &ep->reasm[*at];
	if (!w->bytes) {
		ep->count.drop_part_room++;
		return false;
	}
	if (w->total != t.total) {
		ep->count.drop_part++;
		return true;
	}
	if (!add_reasm(w, t.off, (uint32_t)t.off + t.len)) {
		ep->count.drop_part_room++;
		return false;
	}
	base_copy(w->bytes + t.off, t.bytes, t.len);
	return is_whole(w) ? hand_over(ep, p, at, now_ns) : true;
}
