/* SPDX-License-Identifier: BSD-2-Clause */
/* The gateway's share of a snapshot.  There may be a row for each of thousands of channels, so a
 * turn of the loop makes a part of it. */
#include "gateway.h"

#include "base/clock.h"

/* How long a turn may look at channels, and how many of them between two looks at the clock. */
#define LOOK_NS	 (20 * BASE_US_NS)
#define PER_LOOK 32u

static void
begin_look(struct rd_gateway *g, struct rd_gateway_snapshot *s, bool check)
{
	s->on = true;
	s->gw = *gw_counters(g->gw);
	s->io = g->count;
	s->tap = g->taps->count;
	s->io.drop_no_buffer = g->leg.count.drop_no_buffer;
	s->io.drop_toobig = g->leg.count.drop_toobig;
	s->suci = *suci_counters(gw_endpoint(g->gw));
	s->suci_held = suci_held(gw_endpoint(g->gw));
	s->held_bytes = gw_held_bytes(g->gw);
	s->packet_bytes = (uint64_t)g->conf->gateway.memory_mb << 20;
	s->guests = g->nguests;
	s->inconsistent = NULL;
	s->checked = check;
	s->consistent = !check || gw_check(g->gw, &s->inconsistent);
	s->nchannels = 0;
	s->look_ns = 0;
}

/* Channels from *at on, so many at most; true: that was the last one. */
static bool
look_at_channels(struct rd_gateway *g, struct rd_gateway_snapshot *s, uint32_t *at, uint32_t most)
{
	for (; *at < s->channels_max && most > 0; ++*at, most--) {
		struct rd_channel_row *row = &s->channel[s->nchannels];
		if (!gw_channel(g->gw, *at, &row->info))
			continue;
		row->channel = *at;
		s->nchannels++;
	}
	return *at == s->channels_max;
}

bool
rd_gateway_look(struct rd_gateway *g, struct rd_mail *mail)
{
	struct rd_gateway_snapshot *s = mail->look.gateway;
	uint64_t began_ns = rd_clock_ns(&g->clock), took_ns;
	bool last;
	if (!g->looks) {
		g->looks = mail;
		g->look_at = 0;
		begin_look(g, s, mail->look.check);
	}
	do {
		last = look_at_channels(g, s, &g->look_at, PER_LOOK);
		took_ns = rd_clock_ns(&g->clock) - began_ns;
	} while (!last && took_ns < LOOK_NS);
	if (took_ns > s->look_ns)
		s->look_ns = took_ns;
	if (last)
		g->looks = NULL;
	return last;
}

void
rd_gateway_snapshot(struct rd_gateway *g, struct rd_gateway_snapshot *s, bool check)
{
	uint32_t at = 0;
	begin_look(g, s, check);
	(void)look_at_channels(g, s, &at, UINT32_MAX);
}
