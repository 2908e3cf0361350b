/* SPDX-License-Identifier: BSD-2-Clause */
/* Advice on trunks, table by table; the table of lanes that it is made of. */
#include "cmocka_all.h"

#include "rd/advise.h"
#include "rd/lanes.h"

#include <stdlib.h>
#include <string.h>

#define S  1000000000ull
#define MS 1000000ull

/* A trunk, measured over one second with ten samples. */
struct row {
	uint32_t mbps, busy_pct, loss_ppm, rtt_ms, rtt_min_ms, full, full_credit, pace_mbps,
		growing, cubic;
};
struct scene {
	const char *name;
	struct row trunk[4]; /* mbps 0: end; each on a worker of its own */
	uint32_t link_mbps;
	enum rd_advise_policy policy;
	uint32_t pairs, senders, receivers, most_pct;
	/* wanted */
	enum rd_limit limit;
	uint32_t active, useful;
	bool at_least, shared, by_pairs;
	const char *text; /* in one of the reasons */
};

static void
set_scene(const struct scene *s, struct rd_advise_input *in)
{
	memset(in, 0, sizeof *in);
	in->duration_ns = S;
	in->link_bps = s->link_mbps * 1000000ull;
	in->policy = s->policy;
	in->pairs = s->pairs;
	in->senders = s->senders;
	in->receivers = s->receivers;
	in->pair_bytes = 1000000;
	in->pair_bytes_most = s->most_pct * 10000ull;
	for (; in->ntrunks < 4 && s->trunk[in->ntrunks].rtt_ms; in->ntrunks++) {
		const struct row *r = &s->trunk[in->ntrunks];
		uint64_t bytes = r->mbps * 125000ull, segments = bytes / 1400;
		in->worker[in->ntrunks].busy_ns = r->busy_pct * S / 100;
		in->trunk[in->ntrunks] = (struct rd_advise_trunk){
			.worker = in->ntrunks,
			.tx_bytes = bytes,
			.tx_segments = segments,
			.retransmits = segments * r->loss_ppm / (1000000 - r->loss_ppm),
			.rtt_ns = r->rtt_ms * MS,
			.rtt_min_ns = r->rtt_min_ms * MS,
			.pace_bps = r->pace_mbps * 1000000ull,
			.mss = 1400,
			.window_max = 2048,
			.samples = 10,
			.full = r->full,
			.full_credit = r->full_credit,
			.full_window = r->growing ? 0 : r->full,
			.cubic = r->cubic,
		};
	}
	in->nworkers = in->ntrunks;
}

static const struct scene scenes[] = {
	{.name = "no trunk", .text = "no trunk"},
	{.name = "nobody talks",
	 .trunk = {{.mbps = 0, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .useful = 1,
	 .text = "nearly nothing"},
	{.name = "one trunk carries it easily",
	 .trunk = {{.mbps = 100, .busy_pct = 10, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_DEMAND,
	 .active = 1,
	 .useful = 1,
	 .text = "90 % of its time left"},
	{.name = "two trunks, one would do",
	 .trunk = {{.mbps = 100, .busy_pct = 10, .rtt_ms = 10, .rtt_min_ms = 10},
		   {.mbps = 100, .busy_pct = 10, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_DEMAND,
	 .active = 2,
	 .useful = 1,
	 .text = "1 of these trunks would carry it"},
	{.name = "two trunks at 60 % of their lcores are needed",
	 .trunk = {{.mbps = 600, .busy_pct = 60, .rtt_ms = 10, .rtt_min_ms = 10},
		   {.mbps = 600, .busy_pct = 60, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_DEMAND,
	 .active = 2,
	 .useful = 2},
	{.name = "the lcore has no time left",
	 .trunk = {{.mbps = 900, .busy_pct = 97, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_LCORE,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "add workers or a relay"},
	{.name = "the lcore, but there is one receiver only",
	 .trunk = {{.mbps = 900, .busy_pct = 97, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9}},
	 .policy = RD_ADVISE_DEST,
	 .pairs = 3,
	 .senders = 3,
	 .receivers = 1,
	 .limit = RD_LIMIT_LCORE,
	 .active = 1,
	 .useful = 1,
	 .by_pairs = true,
	 .text = "policy dest keeps what goes to one receiver on one trunk, and there is 1"},
	{.name = "the same under source with three senders",
	 .trunk = {{.mbps = 900, .busy_pct = 97, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9}},
	 .policy = RD_ADVISE_SOURCE,
	 .pairs = 3,
	 .senders = 3,
	 .receivers = 1,
	 .limit = RD_LIMIT_LCORE,
	 .active = 1,
	 .useful = 2,
	 .at_least = true},
	{.name = "the same under stripe with one pair",
	 .trunk = {{.mbps = 900, .busy_pct = 97, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9}},
	 .policy = RD_ADVISE_STRIPE,
	 .pairs = 1,
	 .senders = 1,
	 .receivers = 1,
	 .limit = RD_LIMIT_LCORE,
	 .active = 1,
	 .useful = 2,
	 .at_least = true},
	{.name = "the link is full",
	 .trunk = {{.mbps = 500, .busy_pct = 40, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9},
		   {.mbps = 450, .busy_pct = 40, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9}},
	 .link_mbps = 1000,
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_LINK,
	 .active = 2,
	 .useful = 3,
	 .at_least = true,
	 .text = "a link of its own"},
	{.name = "the pace is reached",
	 .trunk = {{.mbps = 95,
		    .busy_pct = 10,
		    .rtt_ms = 10,
		    .rtt_min_ms = 10,
		    .full = 0,
		    .pace_mbps = 100}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_PACE,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "suci.global_rate_mbps"},
	{.name = "the window is too small for the round trip",
	 .trunk = {{.mbps = 220, .busy_pct = 10, .rtt_ms = 101, .rtt_min_ms = 100, .full = 8}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_WINDOW,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "limits.window"},
	{.name = "the window still grows",
	 .trunk = {{.mbps = 220,
		    .busy_pct = 10,
		    .rtt_ms = 101,
		    .rtt_min_ms = 100,
		    .full = 8,
		    .growing = 1}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_RAMP,
	 .active = 1,
	 .useful = 1,
	 .at_least = true,
	 .text = "measure longer"},
	{.name = "the other relay takes no more",
	 .trunk = {{.mbps = 220,
		    .busy_pct = 10,
		    .rtt_ms = 101,
		    .rtt_min_ms = 100,
		    .full = 8,
		    .full_credit = 7}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_CREDIT,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "suci.credit"},
	{.name = "packets get lost on the only way",
	 .trunk = {{.mbps = 220,
		    .busy_pct = 10,
		    .loss_ppm = 5000,
		    .rtt_ms = 100,
		    .rtt_min_ms = 100,
		    .full = 8}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_WAY,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "measure again"},
	{.name = "cubic gives way to loss by chance",
	 .trunk = {{.mbps = 220,
		    .busy_pct = 10,
		    .loss_ppm = 1000,
		    .rtt_ms = 100,
		    .rtt_min_ms = 100,
		    .full = 8,
		    .growing = 1,
		    .cubic = 1}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_CHANCE,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "suci.global_cc bbr"},
	{.name = "cubic loses because its way is full",
	 .trunk = {{.mbps = 220,
		    .busy_pct = 10,
		    .loss_ppm = 1000,
		    .rtt_ms = 140,
		    .rtt_min_ms = 100,
		    .full = 8,
		    .growing = 1,
		    .cubic = 1}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_WAY,
	 .active = 1,
	 .useful = 2,
	 .at_least = true,
	 .text = "measure again"},
	{.name = "loss by chance, and the window is not full",
	 .trunk = {{.mbps = 220,
		    .busy_pct = 10,
		    .loss_ppm = 5000,
		    .rtt_ms = 100,
		    .rtt_min_ms = 100,
		    .full = 3}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_DEMAND,
	 .active = 1,
	 /* 2048 x 1400 bytes in 100 ms are 229 Mbit/s */
	 .useful = 2},
	{.name = "two trunks queue at the same time: a shared bottleneck",
	 .trunk = {{.mbps = 500, .busy_pct = 40, .rtt_ms = 18, .rtt_min_ms = 10, .full = 8},
		   {.mbps = 480, .busy_pct = 40, .rtt_ms = 17, .rtt_min_ms = 10, .full = 9}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_WAY,
	 .active = 2,
	 .useful = 2,
	 .shared = true,
	 .text = "share a bottleneck of about 980.0 Mbit/s"},
	{.name = "an idle trunk does not count",
	 .trunk = {{.mbps = 500, .busy_pct = 40, .rtt_ms = 18, .rtt_min_ms = 10, .full = 8},
		   {.mbps = 1, .busy_pct = 1, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_WAY,
	 .active = 1,
	 .useful = 2,
	 .at_least = true},
	{.name = "what carries most decides",
	 .trunk = {{.mbps = 900, .busy_pct = 95, .rtt_ms = 10, .rtt_min_ms = 10, .full = 9},
		   {.mbps = 300, .busy_pct = 40, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .policy = RD_ADVISE_STRIPE,
	 .limit = RD_LIMIT_LCORE,
	 .active = 2,
	 .useful = 3,
	 .at_least = true,
	 .text = "1 of 2 trunks are held up"},
	{.name = "one pair has most of it",
	 .trunk = {{.mbps = 100, .busy_pct = 10, .rtt_ms = 10, .rtt_min_ms = 10}},
	 .policy = RD_ADVISE_DEST,
	 .pairs = 8,
	 .senders = 4,
	 .receivers = 4,
	 .most_pct = 75,
	 .limit = RD_LIMIT_DEMAND,
	 .active = 1,
	 .useful = 1,
	 .text = "one of 8 pairs of processes sends 75 %"},
};

static void
advice(void **state)
{
	static struct rd_advise_input in;
	static struct rd_advice a;
	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		const struct scene *s = &scenes[i];
		bool said = !s->text;
		set_scene(s, &in);
		rd_advise(&in, &a);
		for (uint32_t k = 0; k < a.reasons.n; k++)
			said = said || strstr(a.reasons.text[k], s->text);
		if (a.limit != s->limit || a.active != s->active || a.useful != s->useful ||
		    a.at_least != s->at_least || a.shared != s->shared ||
		    a.by_pairs != s->by_pairs || !said || !a.reasons.n)
			fail_msg("%s: limit %s, active %u, useful %u%s%s%s; \"%s\" \"%s\"", s->name,
				 rd_limit_name(a.limit), a.active, a.useful,
				 a.at_least ? " at least" : "", a.shared ? " shared" : "",
				 a.by_pairs ? " by pairs" : "", a.reasons.text[0],
				 a.reasons.text[1]);
	}
}

static void
figures_of_a_trunk(void **state)
{
	static struct rd_advise_input in;
	static struct rd_advice a;
	const struct scene s = {.trunk = {{.mbps = 200,
					   .busy_pct = 25,
					   .loss_ppm = 20000,
					   .rtt_ms = 14,
					   .rtt_min_ms = 10}},
				.link_mbps = 700};
	(void)state;
	set_scene(&s, &in);
	rd_advise(&in, &a);
	assert_int_equal(a.rate_bps, 200000000);
	assert_int_equal(a.trunk[0].busy_permille, 250);
	assert_in_range(a.trunk[0].loss_ppm, 19900, 20000);
	assert_int_equal(a.trunk[0].queue_ns, 4 * MS);
	/* The lcore could 800, the window 2293, the link 700 Mbit/s. */
	assert_int_equal(a.trunk[0].could_bps, 700000000);
}

/* ---- what other relays send here -------------------------------------------------------- */

/* Trunks of which one second was measured: 1400 bytes a packet. */
struct rx_scene {
	const char *name;
	struct rx_row {
		uint32_t mbps, busy_pct, rtt_ms, loss_ppm, refused_ppm, credit, waits;
	} trunk[4]; /* rtt_ms 0: end; each on a worker of its own */
	uint32_t link_mbps, lost;
	/* wanted */
	enum rd_rx_limit limit, first; /* first: of trunk[0] */
	uint32_t active;
	const char *text; /* in one of the reasons */
};

static void
set_rx_scene(const struct rx_scene *s, struct rd_advise_input *in)
{
	memset(in, 0, sizeof *in);
	in->duration_ns = S;
	in->link_bps = s->link_mbps * 1000000ull;
	in->rx_lost = s->lost;
	for (; in->ntrunks < 4 && s->trunk[in->ntrunks].rtt_ms; in->ntrunks++) {
		const struct rx_row *r = &s->trunk[in->ntrunks];
		uint64_t bytes = r->mbps * 125000ull, packets = bytes / 1400;
		uint64_t refused = packets * r->refused_ppm / 1000000;
		in->rx_frames += packets;
		in->worker[in->ntrunks].busy_ns = r->busy_pct * S / 100;
		in->trunk[in->ntrunks] = (struct rd_advise_trunk){
			.worker = in->ntrunks,
			.samples = 10,
			.rtt_ns = r->rtt_ms * MS,
			.rx_bytes = bytes,
			.rx_packets = packets,
			.rx_missing = packets * r->loss_ppm / 1000000 + refused,
			.rx_refused = refused,
			.rx_credit = r->credit,
			.rx_waits = r->waits,
		};
	}
	in->nworkers = in->ntrunks;
}

static const struct rx_scene rx_scenes[] = {
	{.name = "no trunk"},
	{.name = "nearly nothing comes",
	 .trunk = {{.rtt_ms = 10, .credit = 2048}},
	 .text = "nearly nothing"},
	{.name = "nothing is wrong here",
	 .trunk = {{.mbps = 100, .busy_pct = 10, .rtt_ms = 10, .credit = 2048}},
	 .active = 1,
	 .text = "relayctl advise there"},
	{.name = "the lcore is late",
	 .trunk = {{.mbps = 900, .busy_pct = 95, .rtt_ms = 10, .credit = 2048}},
	 .limit = RD_RX_LCORE,
	 .first = RD_RX_LCORE,
	 .active = 1,
	 .text = "add workers"},
	{.name = "the lcore is late, so the queue is full: the cause is told",
	 .trunk = {{.mbps = 900, .busy_pct = 95, .rtt_ms = 10, .loss_ppm = 2000, .credit = 2048}},
	 .lost = 200,
	 .limit = RD_RX_LCORE,
	 .first = RD_RX_LCORE,
	 .active = 1},
	{.name = "the queue is full in bursts",
	 .trunk = {{.mbps = 900, .busy_pct = 40, .rtt_ms = 10, .loss_ppm = 2000, .credit = 2048}},
	 .lost = 160,
	 .limit = RD_RX_QUEUE,
	 .first = RD_RX_QUEUE,
	 .active = 1,
	 .text = "ports.global.rx_descriptors"},
	{.name = "one frame of a hundred thousand is no queue",
	 .trunk = {{.mbps = 1120, .busy_pct = 40, .rtt_ms = 10, .credit = 2048}},
	 .lost = 1,
	 .active = 1},
	{.name = "the link is full",
	 .trunk = {{.mbps = 500, .busy_pct = 40, .rtt_ms = 10, .credit = 2048},
		   {.mbps = 450, .busy_pct = 40, .rtt_ms = 10, .credit = 2048}},
	 .link_mbps = 1000,
	 .limit = RD_RX_LINK,
	 .first = RD_RX_LINK,
	 .active = 2,
	 .text = "950.0 of the 1000.0 Mbit/s"},
	{.name = "processes take late: what was refused is no loss of the way",
	 .trunk =
		 {{.mbps = 500, .busy_pct = 40, .rtt_ms = 10, .refused_ppm = 5000, .credit = 2048}},
	 .limit = RD_RX_ROOM,
	 .first = RD_RX_ROOM,
	 .active = 1,
	 .text = "limits.segments"},
	{.name = "the way loses",
	 .trunk = {{.mbps = 500, .busy_pct = 40, .rtt_ms = 10, .loss_ppm = 5000, .credit = 2048}},
	 .limit = RD_RX_WAY,
	 .first = RD_RX_WAY,
	 .active = 1,
	 .text = "lost on their way here"},
	{.name = "the window here is too small for the round trip",
	 /* 2048 x 1400 bytes in 100 ms are 229 Mbit/s */
	 .trunk = {{.mbps = 220, .busy_pct = 10, .rtt_ms = 100, .credit = 2048}},
	 .limit = RD_RX_CREDIT,
	 .first = RD_RX_CREDIT,
	 .active = 1,
	 .text = "limits.window"},
	{.name = "half of that window is under way",
	 .trunk = {{.mbps = 110, .busy_pct = 10, .rtt_ms = 100, .credit = 2048}},
	 .active = 1},
	{.name = "a near relay stands in line",
	 .trunk = {{.mbps = 900, .busy_pct = 40, .rtt_ms = 1, .credit = 512, .waits = 6}},
	 .limit = RD_RX_CREDIT,
	 .first = RD_RX_CREDIT,
	 .active = 1,
	 .text = "suci.credit"},
	{.name = "what brings most decides; an idle trunk does not count",
	 .trunk = {{.mbps = 100, .busy_pct = 95, .rtt_ms = 10, .credit = 2048},
		   {.mbps = 800, .busy_pct = 40, .rtt_ms = 10, .loss_ppm = 3000, .credit = 2048},
		   {.mbps = 1, .busy_pct = 95, .rtt_ms = 10, .credit = 2048}},
	 .limit = RD_RX_WAY,
	 .first = RD_RX_LCORE,
	 .active = 2,
	 .text = "1 of 2 trunks"},
};

static void
advice_on_what_comes(void **state)
{
	static struct rd_advise_input in;
	static struct rd_advice_rx a;
	(void)state;
	for (size_t i = 0; i < sizeof rx_scenes / sizeof *rx_scenes; i++) {
		const struct rx_scene *s = &rx_scenes[i];
		bool said = !s->text;
		set_rx_scene(s, &in);
		rd_advise_rx(&in, &a);
		for (uint32_t k = 0; k < a.reasons.n; k++)
			said = said || strstr(a.reasons.text[k], s->text);
		if (a.limit != s->limit || a.trunk[0].limit != s->first || a.active != s->active ||
		    !said || a.reasons.n != (in.ntrunks != 0))
			fail_msg("%s: limit %s, of the first %s, active %u; \"%s\"", s->name,
				 rd_rx_limit_name(a.limit), rd_rx_limit_name(a.trunk[0].limit),
				 a.active, a.reasons.text[0]);
	}
}

static void
figures_of_what_comes(void **state)
{
	static struct rd_advise_input in;
	static struct rd_advice_rx a;
	const struct rx_scene s = {.trunk = {{.mbps = 112,
					      .busy_pct = 25,
					      .rtt_ms = 20,
					      .loss_ppm = 20000,
					      .refused_ppm = 10000,
					      .credit = 2048}},
				   .lost = 1};
	(void)state;
	set_rx_scene(&s, &in);
	rd_advise_rx(&in, &a);
	assert_int_equal(a.rate_bps, 112000000);
	assert_int_equal(a.trunk[0].loss_ppm, 20000);
	/* 10 000 packets a second, of which 300 are missing. */
	assert_int_equal(a.trunk[0].under_way, 194);
	assert_int_equal(a.trunk[0].busy_permille, 250);
	assert_int_equal(a.lost_ppm, 99);
}

/* ---- lanes ----------------------------------------------------------------------------- */

static void
lanes_are_counted(void **state)
{
	struct rd_lanes *t = rd_lanes_new(malloc(rd_lanes_footprint(8)), 8);
	(void)state;
	for (int i = 0; i < 3; i++)
		rd_lanes_count(t, 64, 1, 2, 7, 100);
	rd_lanes_count(t, 64, 2, 1, 8, 1000);
	rd_lanes_count(t, 128, 1, 2, 9, 50);
	assert_int_equal(t->used, 3);
	assert_int_equal(rd_lanes_sort(t), 3);
	assert_int_equal(t->lane[0].bytes, 1000);
	assert_int_equal(t->lane[0].in_path, 8);
	assert_int_equal(t->lane[1].segments, 3);
	assert_int_equal(t->lane[1].bytes, 300);
	assert_int_equal(t->lane[2].job, 128);
	free(t);
}

/* More lanes than places: nothing is lost but the names. */
static void
lanes_overflow(void **state)
{
	struct rd_lanes *t = rd_lanes_new(malloc(rd_lanes_footprint(6)), 6);
	struct rd_lanes *sum = rd_lanes_new(malloc(rd_lanes_footprint(5)), 5);
	uint64_t segments = 0, bytes = 0;
	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		rd_lanes_count(t, 64, i % 100, i % 7, 0, 10);
	assert_true(t->used <= 64 && t->used > 40);
	rd_lanes_merge(sum, t);
	rd_lanes_merge(sum, t);
	assert_true(sum->used <= 32 && sum->used > 20);
	uint32_t n = rd_lanes_sort(sum);
	assert_int_equal(n, sum->used);
	for (uint32_t i = 0; i < n; i++) {
		segments += sum->lane[i].segments;
		bytes += sum->lane[i].bytes;
		assert_true(!i || sum->lane[i].bytes <= sum->lane[i - 1].bytes);
	}
	assert_int_equal(segments + sum->other_segments, 2000);
	assert_int_equal(bytes + sum->other_bytes, 20000);
	free(t);
	free(sum);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advice),
		cmocka_unit_test(figures_of_a_trunk),
		cmocka_unit_test(advice_on_what_comes),
		cmocka_unit_test(figures_of_what_comes),
		cmocka_unit_test(lanes_are_counted),
		cmocka_unit_test(lanes_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
