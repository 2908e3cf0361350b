/* SPDX-License-Identifier: BSD-2-Clause */
#include "advise_internal.h"

#include <string.h>

const char *
rd_rx_limit_name(enum rd_rx_limit limit)
{
	static const char *const names[] = {"sender", "lcore",	"queue", "link",
					    "room",   "credit", "way"};
	return names[limit];
}

static uint32_t
ppm(uint64_t part, uint64_t whole)
{
	return whole ? (uint32_t)((double)part * 1e6 / (double)whole) : 0;
}

/* ---- each trunk ---------------------------------------------------------------------- */

static enum rd_rx_limit
rx_limit_of(const struct rd_advise_input *in, const struct rd_advise_trunk *t,
	    const struct rd_advice_rx_trunk *o, const struct rd_advice_rx *a)
{
	if (o->busy_permille >= RD_BUSY_PERMILLE)
		return RD_RX_LCORE;
	if (a->lost_ppm >= RD_CHANCE_PPM)
		return RD_RX_QUEUE;
	if (rd_permille(a->rate_bps, in->link_bps) >= RD_LINK_PERMILLE)
		return RD_RX_LINK;
	if (ppm(t->rx_refused, t->rx_packets) >= RD_LOSS_PPM)
		return RD_RX_ROOM;
	if (t->rx_waits && t->rx_waits * 2 >= t->samples)
		return RD_RX_CREDIT;
	if (o->loss_ppm >= RD_LOSS_PPM)
		return RD_RX_WAY;
	if (t->rx_credit && o->under_way >= t->rx_credit - t->rx_credit / 8)
		return RD_RX_CREDIT;
	return RD_RX_SENDER;
}

static void
judge_rx_trunks(const struct rd_advise_input *in, struct rd_advice_rx *a)
{
	double s = (double)in->duration_ns / 1e9;
	a->lost_ppm = ppm(in->rx_lost, in->rx_frames + in->rx_lost);
	for (uint32_t i = 0; i < in->ntrunks; i++) {
		const struct rd_advise_trunk *t = &in->trunk[i];
		struct rd_advice_rx_trunk *o = &a->trunk[i];
		uint64_t lost = t->rx_missing > t->rx_refused ? t->rx_missing - t->rx_refused : 0;
		uint64_t came = t->rx_packets > t->rx_missing ? t->rx_packets - t->rx_missing : 0;
		o->rate_bps = (uint64_t)((double)t->rx_bytes * 8 / s);
		o->loss_ppm = ppm(lost, t->rx_packets);
		o->under_way = (uint32_t)((double)came / s * (double)t->rtt_ns / 1e9);
		o->busy_permille = rd_permille(in->worker[t->worker].busy_ns, in->duration_ns);
		a->rate_bps += o->rate_bps;
	}
	for (uint32_t i = 0; i < in->ntrunks; i++) {
		struct rd_advice_rx_trunk *o = &a->trunk[i];
		o->idle = !o->rate_bps || rd_permille(o->rate_bps, a->rate_bps) < RD_IDLE_PERMILLE;
		o->limit = o->idle ? RD_RX_SENDER : rx_limit_of(in, &in->trunk[i], o, a);
		a->active += !o->idle;
	}
}

/* ---- all of them ----------------------------------------------------------------------- */

/* What holds most of the traffic. */
static enum rd_rx_limit
main_rx_limit(const struct rd_advise_input *in, const struct rd_advice_rx *a)
{
	uint64_t by[RD_RX_LIMITS] = {0};
	enum rd_rx_limit most = RD_RX_SENDER;
	for (uint32_t i = 0; i < in->ntrunks; i++)
		by[a->trunk[i].limit] += a->trunk[i].rate_bps;
	for (int l = 0; l < RD_RX_LIMITS; l++)
		if (by[l] > by[most])
			most = (enum rd_rx_limit)l;
	return most;
}

static void
explain_rx(const struct rd_advise_input *in, struct rd_advice_rx *a)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < in->ntrunks; i++)
		n += !a->trunk[i].idle && a->trunk[i].limit == a->limit;
	switch (a->limit) {
	case RD_RX_SENDER:
		rd_advise_say(
			&a->reasons,
			"this relay holds nothing up: the others send %.1f Mbit/s; what keeps "
			"them from more they know: relayctl advise there",
			RD_MBPS(a->rate_bps));
		break;
	case RD_RX_LCORE:
		rd_advise_say(&a->reasons,
			      "%u of %u trunks end at a worker whose lcore has no time left: add "
			      "workers here, or a relay",
			      n, a->active);
		break;
	case RD_RX_QUEUE:
		rd_advise_say(
			&a->reasons,
			"the receive queue of the global leg was full or had no buffer, for %u "
			"of a million frames: raise ports.global.rx_descriptors, lower "
			"suci.credit, or add workers",
			a->lost_ppm);
		break;
	case RD_RX_LINK:
		rd_advise_say(&a->reasons,
			      "the global leg receives %.1f of the %.1f Mbit/s of its link: more "
			      "needs a relay with a link of its own",
			      RD_MBPS(a->rate_bps), RD_MBPS(in->link_bps));
		break;
	case RD_RX_ROOM:
		rd_advise_say(
			&a->reasons,
			"this relay refuses segments of %u of %u trunks, for those before are "
			"not delivered: processes here take them late, or limits.segments is "
			"small",
			n, a->active);
		break;
	case RD_RX_CREDIT:
		rd_advise_say(&a->reasons,
			      "%u of %u trunks have all on its way here that this relay lets them: "
			      "raise limits.window (within 1 ms suci.credit and "
			      "ports.global.rx_descriptors), or add trunks",
			      n, a->active);
		break;
	case RD_RX_WAY:
		rd_advise_say(&a->reasons,
			      "packets of %u of %u trunks get lost on their way here: the way is "
			      "full, or bad%s",
			      n, a->active,
			      n > 1 ? "; if they share it, more trunks would share it, too" : "");
		break;
	case RD_RX_LIMITS:
		break;
	}
}

void
rd_advise_rx(const struct rd_advise_input *in, struct rd_advice_rx *a)
{
	memset(a, 0, sizeof *a);
	if (!in->ntrunks || !in->duration_ns)
		return; /* rd_advise() says so */
	judge_rx_trunks(in, a);
	if (a->rate_bps < RD_QUIET_BPS) {
		a->active = 0;
		rd_advise_say(&a->reasons, "nearly nothing comes over the trunks now");
		return;
	}
	a->limit = main_rx_limit(in, a);
	explain_rx(in, a);
}
