/* SPDX-License-Identifier: BSD-2-Clause */
#include "blast.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hist.h"
#include "net.h"
#include "turns.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WARM_NS	 (200 * BASE_MS_NS)
#define DRAIN_NS (100 * BASE_MS_NS)
#define QUIET_NS (2 * BASE_MS_NS) /* more than full rings take */
#define WAIT_MS	 10000u

struct blast {
	struct pg_net net;
	uint8_t frame[RD_FRAME_HDR + 9000];
	uint32_t len;
	bool measuring;
	uint64_t sent, received;
	struct base_hist latency;
};

static void
blast_received(void *user, uint8_t side, uint32_t station, const struct suci_addr *from,
	       uint8_t *payload, size_t len, uint8_t ecn)
{
	struct blast *b = user;
	uint64_t tsc;
	(void)station;
	(void)from;
	(void)ecn;
	if (side != 1 || len < sizeof tsc || !b->measuring)
		return;
	b->received++;
	memcpy(&tsc, payload, sizeof tsc);
	uint64_t ns = (uint64_t)((__extension__(unsigned __int128)(rd_clock_tsc() - tsc) *
				  b->net.clock.slope) >>
				 32);
	base_hist_add(&b->latency, ns);
	pg_turn_sample(ns);
}

static void
make_frame(struct blast *b, const struct pg_blast_args *a)
{
	struct rd_station from, to;
	pg_station(&b->net, 0, 0, &from);
	pg_station(&b->net, 1, 0, &to);
	memcpy(from.mac, to.mac, 6); /* macswap turns it into the destination */
	rd_write_udp(b->frame, &from, a->router ? b->net.side[0].relay_mac : to.mac, to.address,
		     to.udp_port, 1, a->bytes, 0);
	b->len = RD_FRAME_HDR + a->bytes; /* UDP checksum 0: none */
}

static void
run_blast(struct blast *b, const struct pg_blast_args *a, uint64_t ns, bool send)
{
	struct pg_net *n = &b->net;
	uint64_t start = rd_clock_ns(&n->clock), sent = 0;
	while ((n->now_ns = rd_clock_ns(&n->clock)) - start < ns && !*a->stop) {
		uint64_t due = UINT64_MAX;
		(void)pg_net_poll(n);
		if (a->rate_pps)
			due = (uint64_t)((double)(n->now_ns - start) * (double)a->rate_pps / 1e9);
		for (int i = 0; send && i < PG_RX_BURST && sent < due && pg_net_room(n, 0); i++) {
			uint64_t tsc = rd_clock_tsc();
			memcpy(b->frame + RD_FRAME_HDR, &tsc, sizeof tsc);
			if (!pg_net_raw(n, 0, b->frame, b->len))
				break;
			sent++;
		}
		pg_net_flush(n);
	}
	b->sent += sent;
}

/* Until the first frame has come through. */
static bool
is_through(struct blast *b, const struct pg_blast_args *a)
{
	b->measuring = true;
	for (uint32_t ms = 0; ms < WAIT_MS && !b->received && !*a->stop; ms += 10) {
		bool up = rd_port_link_up(&b->net.side[0].port) &&
			  rd_port_link_up(&b->net.side[1].port);
		struct pg_blast_args slow = *a;
		slow.rate_pps = 1000;
		run_blast(b, &slow, 10 * BASE_MS_NS, up);
	}
	b->measuring = false;
	return b->received > 0;
}

static void
measure_turns(struct blast *b, const struct pg_blast_args *a)
{
	uint32_t ms;
	pg_turn_ready();
	while (!*a->stop && pg_turn_next(&ms)) {
		run_blast(b, a, PG_TURN_LEAD_MS * BASE_MS_NS, true);
		base_hist_init(&b->latency);
		pg_turn_begin();
		b->received = 0;
		b->measuring = true;
		uint64_t t0 = rd_clock_ns(&b->net.clock);
		run_blast(b, a, ms * BASE_MS_NS, true);
		b->measuring = false;
		struct pg_turn t = {.ns = (double)(rd_clock_ns(&b->net.clock) - t0),
				    .segments = b->received,
				    .bytes = b->received * a->bytes,
				    .latency = &b->latency};
		run_blast(b, a, QUIET_NS, false);
		pg_turn_print(&t);
	}
}

static int
measure_blast(struct blast *b, const struct pg_blast_args *a)
{
	if (!is_through(b, a)) {
		fprintf(stderr, "relay-pktgen: nothing comes through\n");
		return -1;
	}
	run_blast(b, a, WARM_NS, true);
	if (a->turns) {
		run_blast(b, a, QUIET_NS, false);
		measure_turns(b, a);
		return 0;
	}
	base_hist_init(&b->latency);
	b->sent = b->received = 0;
	b->measuring = true;
	uint64_t t0 = rd_clock_ns(&b->net.clock);
	run_blast(b, a, a->seconds_ms * BASE_MS_NS, true);
	double ns = (double)(rd_clock_ns(&b->net.clock) - t0);
	double mpps = (double)b->received * 1e3 / ns;
	if (a->rate_pps) /* at full rate rings overflow: what is lost is no loss */
		run_blast(b, a, DRAIN_NS, false);
	printf("{\"bytes\": %u, \"mpps\": %.4f, \"gbps\": %.3f, \"sent\": %llu, \"received\": "
	       "%llu, \"p50_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f, \"max_us\": %.1f}\n",
	       a->bytes, mpps, mpps * a->bytes * 8 / 1e3, (unsigned long long)b->sent,
	       (unsigned long long)b->received,
	       (double)base_hist_quantile(&b->latency, 500000) / 1e3,
	       (double)base_hist_quantile(&b->latency, 990000) / 1e3,
	       (double)base_hist_quantile(&b->latency, 999000) / 1e3, (double)b->latency.max / 1e3);
	return 0;
}

int
pg_blast_main(const struct pg_blast_args *a)
{
	static struct blast b;
	static struct pg_lab lab;
	char err[512] = "";
	if (pg_lab_load(&lab, a->lab, err, sizeof err)) {
		fprintf(stderr, "relay-pktgen: %s: %s\n", a->lab, err);
		return 2;
	}
	lab.side[0].primary = lab.side[1].primary = 0; /* no TCP here */
	base_hist_init(&b.latency);
	b.net.datagram = blast_received;
	b.net.user = &b;
	int r = pg_net_open(&b.net, &lab, a->prog, err, sizeof err);
	b.net.side[0].stations = b.net.side[1].stations = 1;
	if (r == 0 && a->router) {
		b.net.side[1].relay_known = true; /* nobody is asked there */
		r = pg_net_ready(&b.net, WAIT_MS, err, sizeof err);
	}
	if (r == 0) {
		make_frame(&b, a);
		r = measure_blast(&b, a);
	} else {
		fprintf(stderr, "relay-pktgen: %s\n", err);
	}
	return pg_net_close(&b.net) || r;
}
