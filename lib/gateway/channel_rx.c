/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving on a channel: bytes become packets.
 *
 * Bytes are read into two pieces: where the splitter wants them (the rest of a header, or
 * the rest of a payload in the packet's own buffer) and, behind it, the channel's stage,
 * from which small packets are then copied: one recv() for many of them. */
#include "gateway_internal.h"

#include <string.h>

#define FAIL(g, c, ...) gw_job_fail(g, &(g)->job[(c)->job], &(g)->n.failed_protocol, __VA_ARGS__)

/* "process 3" or "a process it does not know", for texts. */
static bool
check_ranks(struct gw *g, const struct gw_chan *c, uint32_t src, uint32_t dst)
{
	char who[GW_HOST_TEXT_MAX];
	gw_host_text(c, who);
	if (src == GW_NONE)
		FAIL(g, c, "%s sent a packet whose source is no process of the job", who);
	else if (src - c->host.first_rank >= c->host.nprocs)
		FAIL(g, c, "%s sent a packet from process %u, which is not its own", who, src);
	else if (dst == GW_NONE)
		FAIL(g, c, "%s sent a packet from process %u to no process of the job", who, src);
	else if (dst - c->gate.first_rank >= c->gate.nprocs)
		FAIL(g, c,
		     "%s sent a packet for process %u to our gate %u, which does not carry it", who,
		     dst, c->gate.rank);
	else
		return true;
	return false;
}

/* The half the header belongs to; GW_NONE: the job has failed. */
static uint32_t
find_half(struct gw *g, struct gw_chan *c, uint32_t chan)
{
	const uint8_t *ids = c->in.head + IMPI_PACKET_OFF_SRC;
	char who[GW_HOST_TEXT_MAX];
	if (c->last_half != GW_NONE && memcmp(ids, c->last_ids, sizeof c->last_ids) == 0)
		return c->last_half;
	struct gw_job *j = &g->job[c->job];
	uint32_t src = gw_job_rank(g, j, c->view, ids);
	uint32_t dst = gw_job_rank(g, j, c->view, ids + RELAY_PROC_ID_LEN);
	if (!check_ranks(g, c, src, dst))
		return GW_NONE;
	uint32_t half = gw_pair_half(g, j, chan, src, dst);
	if (half == GW_NONE) {
		FAIL(g, c, "%s: too many pairs of processes talk at a time for this gateway",
		     gw_host_text(c, who));
		return GW_NONE;
	}
	memcpy(c->last_ids, ids, sizeof c->last_ids);
	c->last_half = half;
	return half;
}

/* Flow control between the two processes goes through; here it is only watched.
 * False: the job has failed. */
static bool
check_credit(struct gw *g, const struct gw_chan *c, uint32_t half, uint32_t type)
{
	const struct gw_job *j = &g->job[c->job];
	struct gw_half *h = gw_half(g, half), *back = gw_half(g, half ^ 1);
	char who[GW_HOST_TEXT_MAX];
	if (type == IMPI_PK_PROTOACK) {
		if (!impi_flow_on_protoack(&back->flow, j->ackmark)) {
			FAIL(g, c,
			     "%s acknowledges packets from process %u to %u that were not sent",
			     gw_host_text(c, who), h->to, h->from);
			return false;
		}
	} else if (!impi_flow_may_send(&h->flow, j->hiwater, type)) {
		FAIL(g, c,
		     "%s sent more than %u packets (HIWATER) from process %u to %u without an "
		     "acknowledgement",
		     gw_host_text(c, who), j->hiwater, h->from, h->to);
		return false;
	}
	impi_flow_on_sent(&h->flow, type);
	return true;
}

/* A header is complete.  False: the job has failed, or the channel is over. */
static bool
on_header(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	uint32_t type = be32_load(c->in.head);
	char who[GW_HOST_TEXT_MAX];
	if (c->fini_rx) {
		FAIL(g, c, "%s sent a packet after its FINI", gw_host_text(c, who));
		return false;
	}
	if (type == IMPI_PK_FINI) {
		c->fini_rx = true;
		c->rx_half = GW_NONE;
		g->n.fini_rx++;
		gw_chan_fini(g, chan);
		gw_chan_maybe_over(g, chan);
		return g->chan[chan].state == GW_CHAN_UP;
	}
	c->rx_half = find_half(g, c, chan);
	return c->rx_half != GW_NONE && check_credit(g, c, c->rx_half, type);
}

static void
deliver_channel_rx(struct gw *g, struct gw_chan *c, uint32_t packet)
{
	struct gw_packet *k = &g->pool.packet[packet];
	uint64_t bytes = (uint64_t)IMPI_PACKET_BYTES + k->len;
	c->rx_packet = GW_NONE;
	c->rx_packets++;
	g->n.rx_tcp++;
	g->n.rx_tcp_bytes += bytes;
	g->whole++;
	k->whole = true;
	gw_forward(g, packet);
}

/* The header that is complete gets its packet.  False: no memory, the channel stops. */
static bool
take_packet(struct gw *g, uint32_t chan, bool whole)
{
	struct gw_chan *c = &g->chan[chan];
	uint32_t len = c->in.payload_left, p = GW_NONE;
	if (len <= GW_SMALL_BYTES || c->held_mem == 0 ||
	    !gw_over_share(&g->pool, GW_FROM_CHANNEL, c->held_mem))
		p = gw_packet_new(g, c->rx_half, chan, len);
	if (p == GW_NONE) {
		c->stalled = true;
		c->stalled_whole = whole;
		g->n.pauses++;
		gw_chan_pause(g, chan);
		return false;
	}
	memcpy(g->pool.packet[p].head, c->in.head, IMPI_PACKET_BYTES);
	c->stalled = false;
	c->rx_packet = p;
	if (whole)
		deliver_channel_rx(g, c, p);
	return true;
}

/* What the splitter told; payload is in its place.  False: do not go on. */
static bool
on_step(struct gw *g, uint32_t chan, unsigned int what)
{
	struct gw_chan *c = &g->chan[chan];
	char who[GW_HOST_TEXT_MAX];
	if (what & IMPI_STREAM_FAILED) {
		FAIL(g, c, "%s broke the protocol: %s (type %u, length %u)", gw_host_text(c, who),
		     impi_packet_fault_name(c->in.fault), be32_load(c->in.head),
		     be32_load(c->in.head + 4));
		return false;
	}
	if (what & IMPI_STREAM_HEADER) {
		if (!on_header(g, chan))
			return false;
		return c->rx_half == GW_NONE || take_packet(g, chan, what & IMPI_STREAM_END);
	}
	if (what & IMPI_STREAM_END)
		deliver_channel_rx(g, c, c->rx_packet);
	return true;
}

/* Bytes that are in the stage. */
static void
read_stage(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	struct impi_stream_step step;
	while (c->state == GW_CHAN_UP && !c->stalled && c->stage_at < c->stage_len) {
		size_t n = impi_stream_rx(&c->in, c->stage + c->stage_at,
					  c->stage_len - c->stage_at, &step);
		c->stage_at += (uint32_t)n;
		if (step.what & IMPI_STREAM_PAYLOAD)
			memcpy(g->pool.packet[c->rx_packet].payload + step.off, step.span,
			       step.bytes);
		if (!on_step(g, chan, step.what))
			break;
	}
	if (c->stage_at == c->stage_len)
		c->stage_at = c->stage_len = 0;
}

void
gw_chan_resume(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	if (!take_packet(g, chan, c->stalled_whole))
		return;
	read_stage(g, chan);
	if (c->state == GW_CHAN_UP && !c->paused)
		g->conf.ops->readable(g->conf.user, chan);
}

int
gw_channel_rx_space(struct gw *g, uint32_t chan, struct iovec iov[2])
{
	struct gw_chan *c = &g->chan[chan];
	uint8_t *where;
	if (chan >= g->conf.limits.channels_max || c->state != GW_CHAN_UP || c->paused)
		return 0;
	uint32_t n = impi_stream_want(&c->in, &where);
	if (!where)
		where = g->pool.packet[c->rx_packet].payload + c->in.payload_off;
	iov[0] = (struct iovec){.iov_base = where, .iov_len = n};
	iov[1] = (struct iovec){.iov_base = c->stage, .iov_len = GW_STAGE_BYTES};
	c->offered_rx[0] = n;
	c->offered_rx[1] = GW_STAGE_BYTES;
	return 2;
}

void
gw_channel_rx(struct gw *g, uint32_t chan, size_t n, uint64_t now_ns)
{
	struct gw_chan *c = &g->chan[chan];
	gw_see_time(g, now_ns);
	if (chan >= g->conf.limits.channels_max || c->state != GW_CHAN_UP || n == 0)
		return;
	BASE_ASSERT(n <= c->offered_rx[0] + c->offered_rx[1]);
	size_t first = n < c->offered_rx[0] ? n : c->offered_rx[0];
	c->rx_bytes += n;
	c->stage_at = 0;
	c->stage_len = (uint32_t)(n - first);
	c->offered_rx[0] = c->offered_rx[1] = 0;
	if (on_step(g, chan, impi_stream_took(&c->in, (uint32_t)first)))
		read_stage(g, chan);
	gw_settle(g);
	gw_kick(g);
}
