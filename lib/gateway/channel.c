/* SPDX-License-Identifier: BSD-2-Clause */
/* Channels: identification, beginning and end, memory shares, what can be asked. */
#include "gateway_internal.h"

#include <string.h>

void
gw_chan_init(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	const struct gw_job *j = &g->job[c->job];
	c->connects = c->gate.rank > c->host.rank;
	c->state = GW_CHAN_OPENING;
	c->deadline_ns = base_add_ns(g->now_ns, g->conf.connect_ns);
	c->rx_packet = c->rx_half = c->last_half = c->ring = GW_NONE;
	c->fini_left = IMPI_PACKET_BYTES;
	c->ident_left = c->connects ? 4 : 0;
	be32_store(c->ident, c->gate.rank);
	impi_addr_classify(c->host.addr, &c->remote_ip);
	impi_stream_init(&c->in, j->datalen);
	gw_queue_init(&c->out);
	gw_queue_init(&c->acks);
	struct impi_packet fini = {.type = IMPI_PK_FINI};
	impi_packet_encode(&fini, c->fini);
	gw_wake_at(g, c->deadline_ns);
}

static struct gw_chan *
chan_get(struct gw *g, uint32_t chan)
{
	if (chan >= g->conf.limits.channels_max || g->chan[chan].state == GW_CHAN_FREE ||
	    g->chan[chan].state == GW_CHAN_OVER)
		return NULL;
	return &g->chan[chan];
}

bool
gw_channel(const struct gw *g, uint32_t chan, struct gw_channel_info *out)
{
	if (chan >= g->conf.limits.channels_max || g->chan[chan].state == GW_CHAN_FREE)
		return false;
	const struct gw_chan *c = &g->chan[chan];
	*out = (struct gw_channel_info){
		.job = g->job[c->job].label_base,
		.gate = c->gate_index,
		.foreign = c->foreign_index,
		.connects = c->connects,
		.local_ip = c->gate.ipv4,
		.remote_ip = c->remote_ip,
		.local_port = c->gate.port,
		.remote_port = c->host.port,
		.up = c->state == GW_CHAN_UP,
		.over = c->state == GW_CHAN_OVER,
		.fini_tx = c->fini_tx && !c->fini_left,
		.fini_rx = c->fini_rx,
		.rx_packets = c->rx_packets,
		.rx_bytes = c->rx_bytes,
		.tx_packets = c->tx_packets,
		.tx_bytes = c->tx_bytes,
		.queued_bytes = c->queued_bytes,
		.held_bytes = c->held_bytes,
		.paused = c->paused,
	};
	return true;
}

/* ---- beginning ---- */

static void
chan_up(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	c->state = GW_CHAN_UP;
	c->deadline_ns = BASE_NEVER_NS;
	if (c->nqueued || c->ident_left)
		gw_chan_note_tx(g, chan);
	gw_kick(g);
}

void
gw_channel_connected(struct gw *g, uint32_t chan, uint64_t now_ns)
{
	struct gw_chan *c = chan_get(g, chan);
	gw_see_time(g, now_ns);
	if (c && c->connects && c->state == GW_CHAN_OPENING)
		chan_up(g, chan);
}

void
gw_channel_connect_failed(struct gw *g, uint32_t chan, const char *text, uint64_t now_ns)
{
	struct gw_chan *c = chan_get(g, chan);
	gw_see_time(g, now_ns);
	if (!c || c->state != GW_CHAN_OPENING)
		return;
	size_t n = strnlen(text, sizeof c->fault - 1);
	memcpy(c->fault, text, n);
	c->fault[n] = '\0';
	c->state = GW_CHAN_RETRY;
	c->retry_ns = base_add_ns(g->now_ns, g->conf.retry_ns);
	gw_wake_at(g, base_min_ns(c->retry_ns, c->deadline_ns));
}

uint32_t
gw_accept(struct gw *g, uint32_t local_ip, uint16_t local_port, uint32_t remote_ip,
	  const uint8_t identification[4], uint64_t now_ns)
{
	uint32_t rank = be32_load(identification);
	gw_see_time(g, now_ns);
	for (uint32_t i = 0; i < g->conf.limits.channels_max; i++) {
		struct gw_chan *c = &g->chan[i];
		if (c->state != GW_CHAN_OPENING || c->connects || c->gate.ipv4 != local_ip ||
		    c->gate.port != local_port || c->host.rank != rank)
			continue;
		c->remote_ip = remote_ip; /* for texts: where it really came from */
		chan_up(g, i);
		return i;
	}
	g->n.strangers++;
	return GW_NONE;
}

/* ---- memory shares ---- */

void
gw_chan_pause(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	if (c->paused)
		return;
	c->paused = true;
	c->paused_next = GW_NONE;
	if (g->paused == GW_NONE)
		g->paused = chan;
	else
		g->chan[g->paused_tail].paused_next = chan;
	g->paused_tail = chan;
	g->npaused++;
}

bool
gw_chan_may_resume(const struct gw *g, const struct gw_chan *c)
{
	uint32_t len = 0;
	if (c->stalled && !c->stalled_whole)
		len = c->in.payload_left;
	/* Half of what made it stop, so that it does not go on and off by the packet. */
	return gw_pool_fits(&g->pool, GW_FROM_CHANNEL, len) &&
	       (c->held_mem == 0 || !gw_over_share(&g->pool, GW_FROM_CHANNEL, 2 * c->held_mem));
}

void
gw_chan_unpause(struct gw *g, uint32_t chan)
{
	uint32_t prev = GW_NONE, i = g->paused;
	if (!g->chan[chan].paused)
		return;
	while (i != chan) {
		prev = i;
		i = g->chan[i].paused_next;
	}
	if (prev == GW_NONE)
		g->paused = g->chan[i].paused_next;
	else
		g->chan[prev].paused_next = g->chan[i].paused_next;
	if (g->paused_tail == chan)
		g->paused_tail = prev;
	g->npaused--;
	g->chan[chan].paused = false;
}

static void
unlist_kicked(struct gw *g, uint32_t chan)
{
	uint32_t *at = &g->kicks;
	while (*at != GW_NONE && *at != chan)
		at = &g->chan[*at].kick_next;
	if (*at == chan)
		*at = g->chan[chan].kick_next;
}

/* ---- end ---- */

void
gw_chan_over(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	struct gw_job *j = &g->job[c->job];
	bool clean = c->fini_rx && c->fini_tx;
	if (c->rx_packet != GW_NONE) {
		gw_packet_free(g, c->rx_packet);
		c->rx_packet = GW_NONE;
	}
	gw_chan_unpause(g, chan);
	if (c->kicked)
		unlist_kicked(g, chan);
	c->kicked = c->stalled = false;
	c->state = GW_CHAN_OVER;
	j->open_channels--;
	gw_chan_drop_queued(g, chan, clean ? &g->n.drop_after_fini : &g->n.drop_job_over);
	g->freed = true;
	g->conf.ops->close(g->conf.user, chan);
}

void
gw_chan_maybe_over(struct gw *g, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	if (c->state != GW_CHAN_UP || !c->fini_rx || !c->fini_tx || c->fini_left)
		return;
	gw_chan_over(g, chan);
	gw_job_maybe_finished(g, &g->job[c->job]);
}

void
gw_channel_eof(struct gw *g, uint32_t chan, const char *text, uint64_t now_ns)
{
	struct gw_chan *c = chan_get(g, chan);
	char who[GW_HOST_TEXT_MAX];
	gw_see_time(g, now_ns);
	if (!c)
		return;
	if (c->state != GW_CHAN_UP) {
		gw_channel_connect_failed(g, chan, text ? text : "closed at once", now_ns);
		return;
	}
	struct gw_job *j = &g->job[c->job];
	if (c->fini_rx) {
		/* It wants nothing any more: what still waits for it is late. */
		c->fini_tx = true;
		gw_chan_over(g, chan);
		gw_job_maybe_finished(g, j);
	} else if (text) {
		gw_job_fail(g, j, &g->n.failed_eof, "connection to %s lost: %s",
			    gw_host_text(c, who), text);
	} else {
		gw_job_fail(g, j, &g->n.failed_eof, "%s closed its channel without FINI%s",
			    gw_host_text(c, who),
			    impi_stream_is_midway(&c->in) ? ", inside a packet" : "");
	}
	gw_settle(g);
	gw_kick(g);
}
