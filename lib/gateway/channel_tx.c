/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending on a channel: PROTOACK first, then the pairs in turn, then FINI. */
#include "gateway_internal.h"

void
gw_chan_note_tx(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	if (c->kicked || c->state != GW_CHAN_UP)
		return;
	c->kicked = true;
	c->kick_next = g->kicks;
	g->kicks = chan;
}

/* ---- the ring of halves that have something for the channel ---- */

static void
ring_add(struct gw *g, struct gw_chan *c, uint32_t half)
{
	struct gw_half *h = gw_half(g, half);
	if (c->ring == GW_NONE) {
		h->ring_next = h->ring_prev = half;
		c->ring = half;
		return;
	}
	struct gw_half *at = gw_half(g, c->ring);
	h->ring_next = c->ring;
	h->ring_prev = at->ring_prev;
	gw_half(g, at->ring_prev)->ring_next = half;
	at->ring_prev = half;
}

static void
ring_cut(struct gw *g, struct gw_chan *c, uint32_t half)
{
	struct gw_half *h = gw_half(g, half);
	if (h->ring_next == half) {
		c->ring = GW_NONE;
		return;
	}
	gw_half(g, h->ring_prev)->ring_next = h->ring_next;
	gw_half(g, h->ring_next)->ring_prev = h->ring_prev;
	if (c->ring == half)
		c->ring = h->ring_next;
}

static uint64_t
bytes_left(const struct gw_packet *k)
{
	return (uint64_t)IMPI_PACKET_BYTES + k->len - k->sent;
}

void
gw_chan_enqueue(struct gw *g, uint32_t packet)
{
	struct gw_packet *k = &g->pool.packet[packet];
	struct gw_half *h = gw_half(g, k->half);
	struct gw_chan *c = &g->chan[h->out_chan];
	if (c->state == GW_CHAN_OVER || c->fini_tx) {
		g->n.drop_after_fini++;
		g->whole--;
		gw_packet_free(g, packet);
		return;
	}
	k->queued = true;
	c->nqueued++;
	c->queued_bytes += bytes_left(k);
	if (be32_load(k->head) == IMPI_PK_PROTOACK) {
		gw_queue_put(g, &c->acks, packet);
	} else {
		gw_queue_put(g, &h->queue, packet);
		if (h->queue.n == 1)
			ring_add(g, c, k->half);
	}
	if (c->nqueued == 1)
		gw_chan_note_tx(g, h->out_chan);
}

/* Put packets in order: PROTOACK behind the packet that is partly sent, then one of
 * each half in turn. */
static void
line_up(struct gw *g, struct gw_chan *c)
{
	uint32_t after = GW_NONE, p;
	if (c->out.l.head != GW_NONE && g->pool.packet[c->out.l.head].sent)
		after = c->out.l.head;
	while ((p = gw_queue_pop(g, &c->acks)) != GW_NONE) {
		gw_queue_put_after(g, &c->out, after, p);
		c->out_bytes += bytes_left(&g->pool.packet[p]);
		after = p;
	}
	while (c->ring != GW_NONE && c->out.n < GW_IOV_MAX / 2 && c->out_bytes < GW_BATCH_BYTES) {
		uint32_t half = c->ring;
		struct gw_half *h = gw_half(g, half);
		p = gw_queue_pop(g, &h->queue);
		c->ring = h->ring_next;
		if (h->queue.n == 0)
			ring_cut(g, c, half);
		gw_queue_put(g, &c->out, p);
		c->out_bytes += bytes_left(&g->pool.packet[p]);
	}
}

static size_t
channel_tx_piece(struct iovec *iov, uint8_t *base, uint32_t len, uint32_t *skip)
{
	if (*skip >= len) {
		*skip -= len;
		return 0;
	}
	*iov = (struct iovec){.iov_base = base + *skip, .iov_len = len - *skip};
	*skip = 0;
	return iov->iov_len;
}

int
gw_channel_tx(struct gw *g, uint32_t chan, struct iovec *iov, int max)
{
	struct gw_chan *c = &g->chan[chan];
	int n = 0;
	size_t bytes = 0, len;
	uint32_t skip = 0;
	if (chan >= g->conf.limits.channels_max || c->state != GW_CHAN_UP || max < 2)
		return 0;
	c->offered_tx = 0;
	if (c->ident_left) {
		skip = 4 - c->ident_left;
		bytes += channel_tx_piece(&iov[n++], c->ident, 4, &skip);
	}
	line_up(g, c);
	uint32_t p = c->out.l.head;
	for (; p != GW_NONE && n + 2 <= max; p = g->pool.packet[p].link.next) {
		struct gw_packet *k = &g->pool.packet[p];
		skip = k->sent;
		len = channel_tx_piece(&iov[n], k->head, IMPI_PACKET_BYTES, &skip);
		n += len > 0;
		bytes += len;
		len = channel_tx_piece(&iov[n], k->payload, k->len, &skip);
		n += len > 0;
		bytes += len;
	}
	if (c->fini_due && c->nqueued == 0)
		c->fini_tx = true;
	if (c->fini_tx && c->fini_left && p == GW_NONE && n < max) {
		skip = IMPI_PACKET_BYTES - c->fini_left;
		bytes += channel_tx_piece(&iov[n++], c->fini, IMPI_PACKET_BYTES, &skip);
	}
	c->offered_tx = bytes;
	return n;
}

static void
packet_sent(struct gw *g, struct gw_chan *c, uint32_t packet)
{
	struct gw_packet *k = &g->pool.packet[packet];
	uint64_t bytes = (uint64_t)IMPI_PACKET_BYTES + k->len;
	gw_queue_cut(g, &c->out, packet);
	c->nqueued--;
	c->tx_packets++;
	g->n.tx_tcp++;
	g->n.tx_tcp_bytes += bytes;
	g->n.direct += k->in_chan != GW_NONE;
	g->whole--;
	gw_packet_free(g, packet);
}

void
gw_channel_txed(struct gw *g, uint32_t chan, size_t n, uint64_t now_ns)
{
	struct gw_chan *c = &g->chan[chan];
	gw_see_time(g, now_ns);
	if (chan >= g->conf.limits.channels_max || c->state != GW_CHAN_UP)
		return;
	BASE_ASSERT(n <= c->offered_tx);
	c->offered_tx = 0;
	c->tx_bytes += n;
	size_t part = n < c->ident_left ? n : c->ident_left;
	c->ident_left = (uint8_t)(c->ident_left - part);
	n -= part;
	while (n && c->out.l.head != GW_NONE) {
		uint32_t p = c->out.l.head;
		struct gw_packet *k = &g->pool.packet[p];
		uint64_t left = bytes_left(k);
		part = n < left ? n : (size_t)left;
		k->sent += (uint32_t)part;
		c->out_bytes -= part;
		c->queued_bytes -= part;
		n -= part;
		if (part == left)
			packet_sent(g, c, p);
	}
	if (c->fini_due && !c->fini_tx && c->nqueued == 0)
		gw_chan_note_tx(g, chan);
	if (n) {
		c->fini_left = (uint8_t)(c->fini_left - n);
		if (c->fini_left == 0) {
			g->n.fini_tx++;
			gw_chan_maybe_over(g, chan);
		}
	}
	gw_settle(g);
	gw_kick(g);
}

void
gw_chan_fini(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	c->fini_due = true;
	if (c->nqueued == 0)
		gw_chan_note_tx(g, chan);
}

static void
drop_channel_tx(struct gw *g, struct gw_chan *c, uint32_t packet, uint64_t *counter)
{
	c->nqueued--;
	++*counter;
	g->whole--;
	gw_packet_free(g, packet);
}

void
gw_chan_drop_queued(struct gw *g, uint32_t chan, uint64_t *counter)
{
	struct gw_chan *c = &g->chan[chan];
	uint32_t p;
	while ((p = gw_queue_pop(g, &c->out)) != GW_NONE)
		drop_channel_tx(g, c, p, counter);
	while ((p = gw_queue_pop(g, &c->acks)) != GW_NONE)
		drop_channel_tx(g, c, p, counter);
	while (c->ring != GW_NONE) {
		uint32_t half = c->ring;
		struct gw_half *h = gw_half(g, half);
		while ((p = gw_queue_pop(g, &h->queue)) != GW_NONE)
			drop_channel_tx(g, c, p, counter);
		ring_cut(g, c, half);
	}
	c->queued_bytes = c->out_bytes = 0;
}
