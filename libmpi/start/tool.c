/* SPDX-License-Identifier: BSD-2-Clause */
/* What a tool may look at and set: tables behind MPI_T. */
#include "internal.h"
#include "light.h"

#include "base/clock.h"
#include "ft/ft.h"
#include "suci/endpoint.h"
#include "suci/lane.h"
#include "driver/suci_udp.h"
#include "streams.h"
#include "transport.h"

#include <stdlib.h>

#define eng lmpi_eng
#define MB  20
/* Who sleeps and would free memory has been woken by then, on virtual machines, too. */
#define OVER_NS (50 * BASE_US_NS)

/* ---- gauges ----------------------------------------------------------------- */

static uint64_t
tool_at(const void *base, size_t offset)
{
	return base ? *(const uint64_t *)(const void *)((const char *)base + offset) : 0;
}

static uint64_t
of_stats(const struct lmpi_gauge *g)
{
	return tool_at(&lmpi_stats, g->at);
}

static uint64_t
of_suci(const struct lmpi_gauge *g)
{
	return tool_at(lmpi_net_counters(LMPI_NET_SUCI), g->at);
}

static uint64_t
of_lanes(const struct lmpi_gauge *g)
{
	return tool_at(lmpi_net_counters(LMPI_NET_LANES), g->at);
}

static uint64_t
of_udp(const struct lmpi_gauge *g)
{
	return tool_at(lmpi_net_counters(LMPI_NET_UDP), g->at);
}

static uint64_t
of_ft(const struct lmpi_gauge *g)
{
	return tool_at(lmpi_survive_counts(), g->at);
}

static uint64_t
of_streams(const struct lmpi_gauge *g)
{
	return tool_at(&lmpi_stream_counts, g->at);
}

static uint64_t
of_light(const struct lmpi_gauge *g)
{
	return tool_at(lmpi_light_counters(), g->at);
}

static uint64_t
unexpected_length(const struct lmpi_gauge *g)
{
	const struct lmpi_msg *m;
	uint64_t n = 0;

	(void)g;
	if (lmpi_loop.up)
		TAILQ_FOREACH(m, &eng.match.all, in_all)
	n++;
	return n;
}

static uint64_t
posted_in(const struct lmpi_req_list *list)
{
	uint64_t n = 0;
	for (const struct lmpi_req *r = list->first; r; r = r->next)
		n++;
	return n;
}

static uint64_t
posted_length(const struct lmpi_gauge *g)
{
	uint64_t n = 0;

	(void)g;
	for (int i = 0; lmpi_loop.up && i < LMPI_MATCH_BINS; i++)
		n += posted_in(&eng.match.posted[i]);
	return lmpi_loop.up ? n + posted_in(&eng.match.posted_any) : 0;
}

static uint64_t
of_engine(const struct lmpi_gauge *g)
{
	return tool_at(&eng, g->at);
}

static uint64_t
of_engine_u32(const struct lmpi_gauge *g)
{
	return *(const uint32_t *)(const void *)((const char *)&eng + g->at);
}

static uint64_t
ipv4(const struct lmpi_gauge *g)
{
	(void)g;
	return lmpi_net_ipv4();
}

#define REACH(name, i)                                                                              \
	{"sends_" name, "messages sent, " name,                                                     \
	 "messages",	LMPI_COUNTER,                                                               \
	 of_engine,	offsetof(struct lmpi_engine, n.sends) + (i) * sizeof(uint64_t)},            \
		{"receives_" name, "messages received, " name,                                      \
		 "messages",	   LMPI_COUNTER,                                                    \
		 of_engine,	   offsetof(struct lmpi_engine, n.recvs) + (i) * sizeof(uint64_t)}, \
		{"bytes_sent_" name,                                                                \
		 "bytes of messages sent, " name,                                                   \
		 "messages",                                                                        \
		 LMPI_COUNTER,                                                                      \
		 of_engine,                                                                         \
		 offsetof(struct lmpi_engine, n.bytes_sent) + (i) * sizeof(uint64_t)},

static const struct lmpi_gauge gauges[] = {
	REACH("self", LMPI_REACH_SELF)	   /* to myself */
	REACH("shm", LMPI_REACH_SHM)	   /* within the node */
	REACH("direct", LMPI_REACH_DIRECT) /* Suci within the cluster */
	REACH("relay", LMPI_REACH_RELAY)   /* to other clusters */
	REACH("tcp", LMPI_REACH_TCP)	   /* to other MPIs */
	{"ipv4", "address of this process in its network, as a number; 0: it has none", "messages",
	 LMPI_LEVEL, ipv4, 0},
	{"unexpected", "messages that came before their receive", "messages", LMPI_COUNTER,
	 of_engine, offsetof(struct lmpi_engine, n.unexpected)},
	{"unexpected_queue_length", "messages that have no receive yet", "queues", LMPI_LEVEL,
	 unexpected_length, 0},
	{"unexpected_queue_bytes", "memory of messages that have no receive yet", "queues",
	 LMPI_LEVEL, of_engine, offsetof(struct lmpi_engine, unexpected_bytes)},
	{"unexpected_queue_bytes_max", "most memory of unexpected messages so far", "queues",
	 LMPI_HIGHWATER, of_engine, offsetof(struct lmpi_engine, n.unexpected_bytes_max)},
	{"posted_queue_length", "receives that have no message yet", "queues", LMPI_LEVEL,
	 posted_length, 0},
	{"sends_pending", "sends that are not complete", "queues", LMPI_LEVEL, of_engine_u32,
	 offsetof(struct lmpi_engine, sends)},
	{"packets_waiting", "packets waiting to be sent, or being sent", "queues", LMPI_LEVEL,
	 of_engine_u32, offsetof(struct lmpi_engine, outs)},
	{"copied_bytes", "data of sends kept in the library's memory", "queues", LMPI_LEVEL,
	 of_engine, offsetof(struct lmpi_engine, copied_bytes)},
	{"progress_turns", "turns of the progress loop", "progress", LMPI_COUNTER, of_stats,
	 offsetof(struct lmpi_stats, progress_turns)},
	{"sleeps", "times the progress loop slept", "progress", LMPI_COUNTER, of_stats,
	 offsetof(struct lmpi_stats, sleeps)},
	{"light_calls_announced", "collective calls announced for light paths", "light",
	 LMPI_COUNTER, of_light, offsetof(struct light_counters, announced)},
	{"light_messages_gated", "messages that asked before they went to another cluster", "light",
	 LMPI_COUNTER, of_light, offsetof(struct light_counters, gated)},
	{"light_waited_ns", "time that these waited, all together", "light", LMPI_COUNTER, of_light,
	 offsetof(struct light_counters, waited_ns)},
	{"light_without_go", "messages that went without an answer", "light", LMPI_COUNTER,
	 of_light, offsetof(struct light_counters, without_go)},
#define STREAM(n, help)                      \
	{"stream_" #n, help,	   "stream", \
	 LMPI_COUNTER, of_streams, offsetof(struct lmpi_stream_counts, n)},
	STREAM(opened, "TCP connections for data of long messages") STREAM(
		refused, "those that came to nothing: strangers, one of two that crossed, no room")
		STREAM(broken, "those that broke while data was on them")
			STREAM(bytes_sent, "bytes sent over them")
				STREAM(bytes_received, "bytes received over them")
#undef STREAM
#define X(n, help) \
	{"suci_" #n, help, "suci", LMPI_COUNTER, of_suci, offsetof(struct suci_counters, n)},
					SUCI_COUNTERS(X)
#undef X
#define X(n, help) \
	{"lane_" #n, help, "lane", LMPI_COUNTER, of_lanes, offsetof(struct suci_lane_counters, n)},
						SUCI_LANE_COUNTERS(X)
#undef X
#define X(n, help) \
	{"udp_" #n, help, "udp", LMPI_COUNTER, of_udp, offsetof(struct suci_udp_counters, n)},
							SUCI_UDP_COUNTERS(X)
#undef X
#define X(n, help) {"ft_" #n, help, "ft", LMPI_COUNTER, of_ft, offsetof(struct ft_counts, n)},
								FT_COUNTERS(X)
#undef X
};

size_t
lmpi_gauges(const struct lmpi_gauge **out)
{
	*out = gauges;
	return sizeof gauges / sizeof *gauges;
}

/* ---- knobs -------------------------------------------------------------------- */

static uint64_t copy_max = UINT64_MAX, unexpected_max = UINT64_MAX; /* MB; not known yet */

static uint64_t
get_copy(void)
{
	if (copy_max == UINT64_MAX)
		copy_max = lmpi_knob_number(LMPI_KNOB_COPY);
	return copy_max;
}

static void
set_copy(uint64_t mb)
{
	copy_max = mb;
	eng.copied_bytes_max = mb << MB;
}

static uint64_t
get_unexpected(void)
{
	if (unexpected_max == UINT64_MAX)
		unexpected_max = lmpi_knob_number(LMPI_KNOB_UNEXPECTED);
	return unexpected_max;
}

static void
set_unexpected(uint64_t mb)
{
	unexpected_max = mb;
	eng.unexpected_bytes_max = mb << MB;
}

void
lmpi_memory_limits(void)
{
	set_copy(get_copy());
	set_unexpected(get_unexpected());
	lmpi_loop.over_ns = OVER_NS;
}

/* ---- numbers that belong to the machine: mpitune sets them between turns. */

static uint64_t
get_eager_node(void)
{
	return lmpi_shm_in_use() ? lmpi_shm_eager_max() : lmpi_tuned.eager_wide;
}

static void
set_eager_node(uint64_t bytes)
{
	bytes = bytes < LMPI_TUNED_EAGER_MOST ? bytes : LMPI_TUNED_EAGER_MOST;
	lmpi_shm_by_hand();
	lmpi_tuned.eager_wide = (uint32_t)bytes;
	lmpi_tuned.eager_node = (uint32_t)(bytes < LMPI_TUNED_NARROW ? bytes : LMPI_TUNED_NARROW);
	for (uint32_t i = 0; eng.peer && i < lmpi_world.size; i++)
		if (lmpi_route[i].reach == LMPI_REACH_SHM)
			eng.peer[i].eager_max = lmpi_shm_eager_max();
}

static uint64_t
get_share(void)
{
	return lmpi_tuned.share;
}

static void
set_share(uint64_t bytes)
{
	lmpi_tuned.share = (uint32_t)bytes;
}

static uint64_t
get_piece(void)
{
	return lmpi_world.piece;
}

static void
set_piece(uint64_t bytes)
{
	lmpi_tuned.piece = lmpi_world.piece = (uint32_t)bytes;
}

static uint64_t
get_bcast_piece(void)
{
	return lmpi_world.segment;
}

static void
set_bcast_piece(uint64_t bytes)
{
	lmpi_tune_adopt_pieces((uint32_t)bytes, lmpi_world.slice);
}

static uint64_t
get_alltoall_piece(void)
{
	return lmpi_world.slice;
}

static void
set_alltoall_piece(uint64_t bytes)
{
	lmpi_tune_adopt_pieces(lmpi_world.segment, (uint32_t)bytes);
}

static uint64_t
get_stream(void)
{
	uint64_t least = lmpi_stream_least();

	return least < LMPI_KNOB_STREAM_MOST ? least : LMPI_KNOB_STREAM_MOST;
}

static uint64_t
get_tool_run(void)
{
	return lmpi_net_run();
}

static const struct lmpi_live_knob live[] = {
	{LMPI_KNOB_EAGER, lmpi_eager, lmpi_eager_to},
	{LMPI_KNOB_STREAM, get_stream, lmpi_stream_to},
	{LMPI_KNOB_EAGER_NODE, get_eager_node, set_eager_node},
	{LMPI_KNOB_SHARE, get_share, set_share},
	{LMPI_KNOB_PIECE, get_piece, set_piece},
	{LMPI_KNOB_BCAST_PIECE, get_bcast_piece, set_bcast_piece},
	{LMPI_KNOB_ALLTOALL_PIECE, get_alltoall_piece, set_alltoall_piece},
	{LMPI_KNOB_RUN, get_tool_run, lmpi_net_run_to},
	{LMPI_KNOB_ACK, lmpi_net_ack, lmpi_net_ack_to},
	{LMPI_KNOB_UNEXPECTED, get_unexpected, set_unexpected},
	{LMPI_KNOB_COPY, get_copy, set_copy},
	{LMPI_KNOB_SPIN, lmpi_spin_us, lmpi_spin_to},
};

const struct lmpi_live_knob *
lmpi_live_knob(enum lmpi_knob k)
{
	for (size_t i = 0; i < sizeof live / sizeof *live; i++)
		if (live[i].knob == k)
			return &live[i];
	return NULL;
}
