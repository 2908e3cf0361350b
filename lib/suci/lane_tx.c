/* The sending half of lanes: blocks wait in their lane, lanes with something
 * to send stand in a ring of their path, segments are cut when the path asks. */
#include "lane_private.h"

#include "base/assert.h"
#include "base/serial.h"

#include <string.h>

#define MSS_MIN	  (1200 - SUCI_OVERHEAD)
#define NSEGS_MAX ((1u << 31) - (1u << 21)) /* serial numbers and a full window apart */
#define BLOCK_MAX (1ull << 42)

static bool
sendable(const struct lane *l)
{
	if (l->current == NONE)
		return false;
	uint32_t out = l->conf.direct ? l->outstanding : l->next_seq - l->acked_seq;
	return out < l->tx_window;
}

void
lane_ready(struct suci_lanes *ls, struct lane *l)
{
	if (l->ready || l->state != LANE_OPEN || !sendable(l))
		return;
	uint32_t i = lane_index(ls, l);
	uint32_t *last = &ls->ep->path[l->conf.path].lane_ready[l->conf.prio];
	if (*last == NONE) {
		l->ready_next = l->ready_prev = i;
	} else {
		l->ready_prev = *last;
		l->ready_next = ls->lane[*last].ready_next;
		ls->lane[l->ready_next].ready_prev = i;
		ls->lane[l->ready_prev].ready_next = i;
	}
	*last = i;
	l->ready = true;
	suci_path_wake(ls->ep, l->conf.path);
}

void
lane_unready(struct suci_lanes *ls, struct lane *l)
{
	if (!l->ready)
		return;
	uint32_t i = lane_index(ls, l);
	uint32_t *last = &ls->ep->path[l->conf.path].lane_ready[l->conf.prio];
	if (l->ready_next == i) {
		*last = NONE;
	} else {
		ls->lane[l->ready_prev].ready_next = l->ready_next;
		ls->lane[l->ready_next].ready_prev = l->ready_prev;
		if (*last == i)
			*last = l->ready_prev;
	}
	l->ready = false;
}

void
lane_fill_ack(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	seg->ack = l->rx_next;
	seg->window = (uint16_t)(l->conf.window >> l->credit_shift);
	seg->credit_shift = l->credit_shift;
	l->told = l->rx_next;
	lane_ack_unpend(ls, l);
}

static void
start_block(struct lane *l, struct tx_block *b, uint32_t path_mss)
{
	b->mss = l->conf.mss && l->conf.mss < path_mss ? l->conf.mss : path_mss;
	b->first_seq = l->next_seq;
	uint64_t n = b->bytes ? (b->bytes - 1) / b->mss + 1 : 1;
	BASE_ASSERT(n <= NSEGS_MAX); /* suci_lane_send() checked with a smaller mss */
	b->nsegs = (uint32_t)n;
}

static void
cut(struct suci_lanes *ls, struct lane *l, struct suci_segment *seg)
{
	struct tx_block *b = &ls->block[l->current];
	if (!b->sent)
		start_block(l, b, suci_path_mss(ls->ep, l->conf.path));
	uint64_t off = (uint64_t)b->sent * b->mss;
	uint64_t left = b->bytes - off;
	uint32_t len = left < b->mss ? (uint32_t)left : b->mss;
	uint32_t from_head = 0;
	if (off < b->head_len) {
		from_head = b->head_len - (uint32_t)off;
		from_head = from_head < len ? from_head : len;
	}
	*seg = (struct suci_segment){
		.dst_label = l->conf.tx_dst_label,
		.src_label = l->conf.tx_src_label,
		.seq = l->next_seq++,
		.block = b->first_seq,
		.flags = (uint16_t)(l->conf.prio << SUCI_SF_PRIO_SHIFT),
		.mss = (uint16_t)b->mss,
		.head = from_head ? b->head + off : NULL,
		.head_len = (uint16_t)from_head,
		.data_len = (uint16_t)(len - from_head),
		.cookie = l->current,
	};
	if (seg->data_len)
		seg->data = b->data + (off + from_head - b->head_len);
	bool first = b->sent == 0, last = b->sent + 1 == b->nsegs;
	if (first) {
		seg->flags |= SUCI_SF_FIRST;
		seg->block_bytes = b->bytes;
	}
	if (last)
		seg->flags |= SUCI_SF_LAST;
	b->sent++;
	b->held++;
	l->outstanding++;
	/* Someone waits for the end of the block, or the lane stops here until
	 * the receiver has spoken. */
	if ((last && b->wait) || (!l->conf.direct && l->next_seq - l->acked_seq == l->tx_window))
		seg->flags |= SUCI_SF_ASK;
	lane_fill_ack(ls, l, seg);
	if (l->conf.crc) {
		seg->flags |= SUCI_SF_CRC;
		seg->crc32c = lane_crc(l->conf.tx_salt, seg, l->conf.skip_off, l->conf.skip_len);
	}
	if (last) {
		l->current = b->next;
		ls->count.tx_blocks++;
	}
}

bool
lane_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	struct suci_path *p = &ls->ep->path[path];
	(void)now_ns;
	for (uint32_t prio = PRIOS; prio-- > 0;) {
		while (p->lane_ready[prio] != NONE) {
			struct lane *l = &ls->lane[ls->lane[p->lane_ready[prio]].ready_next];
			if (!sendable(l)) {
				lane_unready(ls, l);
				continue;
			}
			cut(ls, l, seg);
			if (sendable(l))
				p->lane_ready[prio] = lane_index(ls, l); /* to the end */
			else
				lane_unready(ls, l);
			return true;
		}
	}
	return false;
}

static void
unlink_block(struct suci_lanes *ls, struct lane *l, struct tx_block *b)
{
	if (b->prev == NONE)
		l->blocks.head = b->next;
	else
		ls->block[b->prev].next = b->next;
	if (b->next == NONE)
		l->blocks.tail = b->prev;
	else
		ls->block[b->next].prev = b->prev;
	l->blocks_queued--;
}

static void
free_block(struct suci_lanes *ls, struct tx_block *b)
{
	b->next = ls->block_free;
	ls->block_free = (uint32_t)(b - ls->block);
}

static void
finish(struct suci_lanes *ls, struct lane *l, struct tx_block *b, bool ok, uint64_t now_ns)
{
	uint64_t cookie = b->cookie;
	unlink_block(ls, l, b);
	ls->pending_blocks--;
	b->lane = NONE;
	if (!b->held)
		free_block(ls, b);
	ls->ops->block_done(ls->user, lane_index(ls, l), cookie, ok, now_ns);
}

/* Relayed: blocks that are placed and no longer held by the path. */
static void
retire(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	while (l->state == LANE_OPEN && l->blocks.head != NONE) {
		struct tx_block *b = &ls->block[l->blocks.head];
		if (b->held || !b->sent || b->sent < b->nsegs ||
		    serial_gt(b->first_seq + b->nsegs, l->acked_seq))
			return;
		finish(ls, l, b, true, now_ns);
	}
}

void
lane_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	(void)path;
	if (cookie == COOKIE_ACK)
		return;
	struct tx_block *b = &ls->block[cookie];
	b->held--;
	if (b->lane == NONE) {
		if (!b->held)
			free_block(ls, b);
		return;
	}
	struct lane *l = &ls->lane[b->lane];
	l->outstanding--;
	if (fate == SUCI_FATE_ABANDONED)
		return; /* the path or the lane ends; that deals with the blocks */
	b->acked++;
	if (l->conf.direct) {
		if (b->acked == b->nsegs)
			finish(ls, l, b, true, now_ns);
	} else {
		retire(ls, l, now_ns);
	}
	lane_ready(ls, l);
}

void
lane_heard(struct suci_lanes *ls, struct lane *l, const struct suci_segment *seg, uint64_t now_ns)
{
	uint32_t window = seg->credit_shift < 16 ? (uint32_t)seg->window << seg->credit_shift : 0;
	bool sane = serial_le(seg->ack, l->next_seq);
	if (!sane || serial_lt(seg->ack, l->acked_seq))
		return;
	l->acked_seq = seg->ack;
	if (window)
		l->tx_window = window < 1u << 20 ? window : 1u << 20;
	if (!l->conf.direct)
		retire(ls, l, now_ns);
	lane_ready(ls, l);
}

void
lane_tx_end(struct suci_lanes *ls, struct lane *l, uint64_t now_ns)
{
	l->current = NONE;
	while (l->blocks.head != NONE)
		finish(ls, l, &ls->block[l->blocks.head], false, now_ns);
}

int
suci_lane_send(struct suci_lanes *ls, uint32_t lane, const void *head, size_t head_len,
	       const void *data, uint64_t data_len, bool wait, uint64_t cookie, uint64_t now_ns)
{
	struct lane *l = lane_get(ls, lane);
	(void)now_ns;
	if (head_len > SUCI_BLOCK_HEAD_MAX || data_len > BLOCK_MAX - SUCI_BLOCK_HEAD_MAX)
		return SUCI_ERR_INVAL;
	if (!l || l->close_wanted || l->broken)
		return SUCI_ERR_DOWN;
	uint32_t mss = suci_path_mss(ls->ep, l->conf.path);
	mss = mss ? mss : MSS_MIN;
	mss = l->conf.mss && l->conf.mss < mss ? l->conf.mss : mss;
	if ((head_len + data_len) / mss >= NSEGS_MAX)
		return SUCI_ERR_INVAL;
	if (ls->block_free == NONE)
		return SUCI_ERR_NOMEM;
	uint32_t i = ls->block_free;
	struct tx_block *b = &ls->block[i];
	ls->block_free = b->next;
	b->lane = lane;
	b->nsegs = b->sent = b->held = b->acked = 0;
	b->wait = wait;
	b->head_len = (uint8_t)head_len;
	b->data = data;
	b->bytes = head_len + data_len;
	b->cookie = cookie;
	if (head_len)
		memcpy(b->head, head, head_len);
	b->next = NONE;
	b->prev = l->blocks.tail;
	if (b->prev == NONE)
		l->blocks.head = i;
	else
		ls->block[b->prev].next = i;
	l->blocks.tail = i;
	if (l->current == NONE)
		l->current = i;
	l->blocks_queued++;
	ls->pending_blocks++;
	lane_ready(ls, l);
	return SUCI_ERR_OK;
}
