/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs of processes, and the lane of those that are not both behind our channels. */
#include "gateway_internal.h"

#include "relayproto/pair.h"

#include <stdio.h>
#include <string.h>

_Static_assert(RELAY_PAIR_SKIP_OFF == IMPI_PACKET_OFF_SRC &&
		       RELAY_PAIR_SKIP_LEN == 2 * RELAY_PROC_ID_LEN,
	       "where a packet has its two process ids");

/* Handles of blocks that are not kept. */
static uint8_t sink_malformed, sink_late;

/* ---- packets ---- */

uint32_t
gw_packet_new(struct gw *g, uint32_t half, uint32_t in_chan, uint32_t len)
{
	uint32_t p =
		gw_pool_take(&g->pool, in_chan == GW_NONE ? GW_FROM_LANE : GW_FROM_CHANNEL, len);
	if (p == GW_NONE)
		return GW_NONE;
	struct gw_packet *k = &g->pool.packet[p];
	k->half = half;
	k->in_chan = in_chan;
	if (in_chan != GW_NONE) {
		g->chan[in_chan].held_mem += k->mem;
		g->chan[in_chan].held_bytes += IMPI_PACKET_BYTES + (uint64_t)len;
	} else {
		g->chan[gw_half(g, half)->out_chan].lane_mem += k->mem;
	}
	return p;
}

void
gw_packet_free(struct gw *g, uint32_t packet)
{
	struct gw_packet *k = &g->pool.packet[packet];
	if (k->in_chan != GW_NONE) {
		g->chan[k->in_chan].held_mem -= k->mem;
		g->chan[k->in_chan].held_bytes -= IMPI_PACKET_BYTES + (uint64_t)k->len;
	} else {
		g->chan[gw_half(g, k->half)->out_chan].lane_mem -= k->mem;
	}
	gw_pool_give(&g->pool, packet);
	g->freed = true;
}

/* ---- pairs ---- */

static uint32_t *
pair_bucket(const struct gw *g, uint32_t job, uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * g->key[0] ^ (job + 1) * g->key[1];
	h ^= h >> 32;
	return &g->pair_hash[(h * g->key[2] >> 20) & (g->npair_hash - 1)];
}

static uint32_t
pair_find(const struct gw *g, uint32_t job, uint32_t a, uint32_t b)
{
	uint32_t i = *pair_bucket(g, job, a, b);
	while (i != GW_NONE && (g->pair[i].job != job || g->pair[i].half[0].from != a ||
				g->pair[i].half[0].to != b))
		i = g->pair[i].hash_next;
	return i;
}

static struct base_ilinks
job_links(const struct gw *g)
{
	return BASE_ILINKS(g->pair, job_link);
}

static struct base_ilinks
waiting_links(const struct gw *g)
{
	return BASE_ILINKS(g->pair, waiting_link);
}

/* a is behind chan; b behind chan_b, or reached by a lane. */
static uint32_t
pair_new(struct gw *g, struct gw_job *j, uint32_t a, uint32_t b, uint32_t chan, uint32_t chan_b)
{
	uint32_t i = g->pair_free, job = (uint32_t)(j - g->job);
	if (i == GW_NONE)
		return GW_NONE;
	struct gw_pair *p = &g->pair[i];
	g->pair_free = p->hash_next;
	*p = (struct gw_pair){.used = true,
			      .job = job,
			      .lane = GW_NONE,
			      .half = {{.from = a, .to = b, .in_chan = chan, .out_chan = chan_b},
				       {.from = b, .to = a, .in_chan = chan_b, .out_chan = chan}}};
	gw_queue_init(&p->half[0].queue);
	gw_queue_init(&p->half[1].queue);
	gw_queue_init(&p->arriving);
	uint32_t *at = pair_bucket(g, job, a, b);
	p->hash_next = *at;
	*at = i;
	base_ichain_push(&j->pairs, job_links(g), i);
	return i;
}

uint32_t
gw_pair_half(struct gw *g, struct gw_job *j, uint32_t chan, uint32_t from, uint32_t to)
{
	uint32_t job = (uint32_t)(j - g->job), i = pair_find(g, job, from, to);
	if (i != GW_NONE)
		return 2 * i;
	i = pair_find(g, job, to, from);
	if (i != GW_NONE)
		return 2 * i + 1;
	i = pair_new(g, j, from, to, chan, gw_job_channel(g, j, to, from));
	return i == GW_NONE ? GW_NONE : 2 * i;
}

static void
unwait(struct gw *g, uint32_t pair)
{
	struct gw_pair *p = &g->pair[pair];
	if (!p->waiting)
		return;
	base_ichain_unlink(&g->waiting, waiting_links(g), pair);
	p->waiting = false;
}

static void
unstall(struct gw *g, uint32_t pair)
{
	uint32_t *at = &g->stalled;
	if (!g->pair[pair].stalled)
		return;
	while (*at != GW_NONE && *at != pair)
		at = &g->pair[*at].stalled_next;
	if (*at == pair)
		*at = g->pair[pair].stalled_next;
	g->pair[pair].stalled = false;
}

void
gw_pair_free(struct gw *g, uint32_t pair, uint64_t *counter)
{
	struct gw_pair *p = &g->pair[pair];
	struct gw_job *j = &g->job[p->job];
	uint32_t k;
	unwait(g, pair);
	unstall(g, pair);
	if (p->lane != GW_NONE) {
		uint32_t lane = p->lane;
		p->lane = GW_NONE;
		suci_lane_close(g->lanes, lane, g->now_ns); /* block_done for what it has */
		g->lane_pair[lane] = GW_NONE;
	}
	while ((k = gw_queue_pop(g, &p->arriving)) != GW_NONE) {
		if (g->pool.packet[k].whole) {
			++*counter;
			g->whole--;
		}
		gw_packet_free(g, k);
	}
	for (int d = 0; d < 2; d++)
		while ((k = gw_queue_pop(g, &p->half[d].queue)) != GW_NONE) {
			++*counter;
			g->whole--;
			j->undelivered -= p->half[d].out_chan == GW_NONE;
			gw_packet_free(g, k);
		}
	uint32_t *at = pair_bucket(g, p->job, p->half[0].from, p->half[0].to);
	while (*at != pair)
		at = &g->pair[*at].hash_next;
	*at = p->hash_next;
	base_ichain_unlink(&j->pairs, job_links(g), pair);
	p->used = false;
	p->hash_next = g->pair_free;
	g->pair_free = pair;
}

/* ---- the lane of a pair ---- */

static bool
lane_open(struct gw *g, uint32_t pair)
{
	struct gw_pair *p = &g->pair[pair];
	const struct gw_job *j = &g->job[p->job];
	uint32_t a = p->half[0].from, b = p->half[0].to, mtu = g->core_mtu, lane;
	struct suci_path_info info;
	if (g->core_path == GW_NONE || !suci_path_info(g->ep, g->core_path, &info))
		return false;
	mtu = mtu < info.mtu ? mtu : info.mtu;
	uint32_t mss = mtu - SUCI_OVERHEAD;
	uint64_t window = ((uint64_t)j->datalen + IMPI_PACKET_BYTES + mss - 1) / mss *
			  (j->hiwater < GW_WINDOW_PACKETS ? j->hiwater : GW_WINDOW_PACKETS);
	window = window < 64 ? 64 : window > GW_WINDOW_MAX ? GW_WINDOW_MAX : window;
	struct suci_lane_conf c = relay_pair_lane(a, b, j->label_base, j->base);
	c.path = g->core_path;
	c.mss = mss;
	c.window = (uint32_t)window;
	if (suci_lane_open(g->lanes, &c, &lane, g->now_ns) != SUCI_ERR_OK)
		return false;
	p->lane = lane;
	g->lane_pair[lane] = pair;
	return true;
}

static bool
lane_send(struct gw *g, const struct gw_pair *p, uint32_t packet)
{
	const struct gw_packet *k = &g->pool.packet[packet];
	return suci_lane_send(g->lanes, p->lane, k->head, IMPI_PACKET_BYTES, k->payload, k->len,
			      false, packet, g->now_ns) == SUCI_ERR_OK;
}

static void
wait_for_path(struct gw *g, uint32_t pair, uint32_t packet)
{
	struct gw_pair *p = &g->pair[pair];
	struct gw_job *j = &g->job[p->job];
	gw_queue_put(g, &p->half[0].queue, packet);
	if (p->waiting)
		return;
	p->waiting = true;
	base_ichain_push(&g->waiting, waiting_links(g), pair);
	if (j->path_wait_ns == BASE_NEVER_NS && !j->finishing)
		j->path_wait_ns = base_add_ns(g->now_ns, g->conf.connect_ns);
	gw_wake_at(g, j->path_wait_ns);
}

void
gw_forward(struct gw *g, uint32_t packet)
{
	struct gw_packet *k = &g->pool.packet[packet];
	struct gw_half *h = gw_half(g, k->half);
	uint32_t pair = k->half / 2;
	struct gw_pair *p = &g->pair[pair];
	if (h->out_chan != GW_NONE) {
		struct gw_job *j = &g->job[p->job];
		uint8_t view = g->chan[h->out_chan].view;
		memcpy(k->head + IMPI_PACKET_OFF_SRC, gw_job_proc(g, j, h->from)->id[view],
		       RELAY_PROC_ID_LEN);
		memcpy(k->head + IMPI_PACKET_OFF_DEST, gw_job_proc(g, j, h->to)->id[view],
		       RELAY_PROC_ID_LEN);
		gw_chan_enqueue(g, packet);
		return;
	}
	g->job[p->job].undelivered++;
	if (p->waiting || (p->lane == GW_NONE && !lane_open(g, pair)) || !lane_send(g, p, packet))
		wait_for_path(g, pair, packet);
}

static void
path_ready(struct gw *g)
{
	uint32_t i = g->waiting.head, k;
	for (uint32_t j = 0; j < g->conf.limits.jobs_max; j++)
		g->job[j].path_wait_ns = BASE_NEVER_NS;
	for (uint32_t next; i != GW_NONE; i = next) {
		struct gw_pair *p = &g->pair[i];
		next = p->waiting_link.next;
		if (p->lane == GW_NONE && !lane_open(g, i))
			continue;
		unwait(g, i);
		while ((k = gw_queue_pop(g, &p->half[0].queue)) != GW_NONE)
			BASE_ASSERT(lane_send(g, p, k)); /* blocks_max is the number of packets */
	}
}

/* ---- callbacks of the lanes ---- */

static struct gw_pair *
pair_of(struct gw *g, uint32_t lane)
{
	uint32_t i = g->lane_pair[lane];
	return i == GW_NONE ? NULL : &g->pair[i];
}

/* How much payload a block has that may be a packet of the job; false: none can. */
static bool
payload_of(const struct gw_job *j, uint64_t bytes, uint32_t *len)
{
	if (bytes < IMPI_PACKET_BYTES || bytes - IMPI_PACKET_BYTES > j->datalen)
		return false;
	*len = (uint32_t)(bytes - IMPI_PACKET_BYTES);
	return true;
}

static bool
is_closed(const struct gw_chan *c)
{
	return c->state == GW_CHAN_OVER || c->fini_tx;
}

static bool
on_block_room(void *user, uint32_t lane, uint64_t bytes)
{
	struct gw *g = user;
	struct gw_pair *p = pair_of(g, lane);
	uint32_t len;
	if (!p || !payload_of(&g->job[p->job], bytes, &len))
		return true;
	const struct gw_chan *c = &g->chan[p->half[1].out_chan];
	if (is_closed(c))
		return true;
	bool share = len <= GW_SMALL_BYTES || c->lane_mem == 0 ||
		     !gw_over_share(&g->pool, GW_FROM_LANE, c->lane_mem);
	if (share && gw_pool_fits(&g->pool, GW_FROM_LANE, len))
		return true;
	g->n.refused_lane_memory++;
	if (!p->stalled) {
		p->stalled = true;
		p->stalled_next = g->stalled;
		g->stalled = (uint32_t)(p - g->pair);
	}
	return false;
}

static void *
on_block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	       uint64_t now_ns)
{
	struct gw *g = user;
	struct gw_pair *p = pair_of(g, lane);
	uint32_t len;
	(void)first, (void)first_len;
	gw_see_time(g, now_ns);
	if (!p || !payload_of(&g->job[p->job], bytes, &len))
		return &sink_malformed;
	if (is_closed(&g->chan[p->half[1].out_chan]))
		return &sink_late;
	uint32_t k = gw_packet_new(g, 2 * (uint32_t)(p - g->pair) + 1, GW_NONE, len);
	BASE_ASSERT(k != GW_NONE); /* on_block_room() has just said so */
	gw_queue_put(g, &p->arriving, k);
	return &g->pool.packet[k];
}

static void
on_block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
	      size_t len)
{
	struct gw_packet *k = block;
	(void)user, (void)lane;
	if (block == &sink_malformed || block == &sink_late)
		return;
	size_t head = 0;
	if (offset < IMPI_PACKET_BYTES) {
		head = IMPI_PACKET_BYTES - (size_t)offset;
		head = head < len ? head : len;
		memcpy(k->head + offset, data, head);
	}
	if (len > head)
		memcpy(k->payload + (offset + head - IMPI_PACKET_BYTES), data + head, len - head);
}

/* Is it a packet that may travel, and does its flow control make sense? */
static bool
packet_good(struct gw *g, struct gw_pair *p, const struct gw_packet *k)
{
	const struct gw_job *j = &g->job[p->job];
	struct impi_packet h = impi_packet_decode(k->head);
	if (impi_packet_check(&h, j->datalen) != IMPI_PACKET_OK || h.type == IMPI_PK_FINI ||
	    impi_packet_payload_bytes(&h) != k->len)
		return false;
	if (h.type == IMPI_PK_PROTOACK)
		return impi_flow_on_protoack(&p->half[0].flow, j->ackmark);
	if (p->half[1].flow.sent < UINT32_MAX)
		impi_flow_on_sent(&p->half[1].flow, h.type);
	return true;
}

static void
on_block_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct gw *g = user;
	struct gw_pair *p = pair_of(g, lane);
	uint32_t i;
	gw_see_time(g, now_ns);
	if (block == &sink_malformed || block == &sink_late) {
		g->n.rx_lane++;
		g->n.drop_lane_malformed += block == &sink_malformed;
		g->n.drop_after_fini += block == &sink_late;
		return;
	}
	if (!p)
		return; /* the job is gone, and the packet with it */
	struct gw_packet *k = block;
	k->whole = true;
	g->n.rx_lane++;
	g->n.rx_lane_bytes += IMPI_PACKET_BYTES + (uint64_t)k->len;
	g->whole++;
	/* A later block may be whole earlier; they leave in the order of sending. */
	while ((i = p->arriving.l.head) != GW_NONE && g->pool.packet[i].whole) {
		gw_queue_cut(g, &p->arriving, i);
		if (packet_good(g, p, &g->pool.packet[i])) {
			gw_forward(g, i);
		} else {
			g->n.drop_lane_malformed++;
			g->whole--;
			gw_packet_free(g, i);
		}
	}
	g->in_lane++;
	gw_kick(g);
	gw_settle(g);
	g->in_lane--;
}

static void
on_block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct gw *g = user;
	uint32_t k = (uint32_t)cookie;
	struct gw_job *j = &g->job[g->pair[g->pool.packet[k].half / 2].job];
	(void)lane;
	gw_see_time(g, now_ns);
	j->undelivered--;
	g->n.tx_lane += ok;
	g->n.drop_job_over += !ok;
	g->whole--;
	gw_packet_free(g, k);
	g->in_lane++;
	gw_job_maybe_finished(g, j);
	gw_settle(g);
	g->in_lane--;
}

static void
on_pair_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct gw *g = user;
	struct gw_pair *p = pair_of(g, lane);
	(void)why;
	g->lane_pair[lane] = GW_NONE;
	if (!p)
		return;
	struct gw_job *j = &g->job[p->job];
	p->lane = GW_NONE;
	if (j->finishing)
		return; /* the core has forgotten the job already */
	g->in_lane++;
	gw_job_fail(g, j, &g->n.failed_path, "lane of processes %u and %u to the relay core: %s",
		    p->half[0].from, p->half[0].to, text && text[0] ? text : "lost");
	g->in_lane--;
}

/* Somebody sends to a process behind a channel of ours for the first time. */
static enum suci_verdict
on_lane_unknown(void *user, uint32_t path, uint32_t dst_label, uint32_t src_label)
{
	struct gw *g = user;
	uint32_t dst, src;
	struct gw_job *j = gw_job_of_label(g, dst_label, &dst);
	(void)path;
	if (!j || gw_job_of_label(g, src_label, &src) != j)
		return SUCI_DROPPED;
	uint32_t chan = gw_job_channel(g, j, dst, src);
	if (chan == GW_NONE || gw_job_channel(g, j, src, dst) != GW_NONE)
		return SUCI_DROPPED; /* not ours, or not by lane */
	uint32_t i = pair_find(g, (uint32_t)(j - g->job), dst, src);
	if (i == GW_NONE)
		i = pair_new(g, j, dst, src, chan, GW_NONE);
	if (i == GW_NONE ||
	    (g->pair[i].lane == GW_NONE && g->core_path != GW_NONE && !lane_open(g, i))) {
		gw_job_fail(g, j, &g->n.failed_path,
			    "too many pairs of processes talk at a time for this gateway");
		return SUCI_DROPPED;
	}
	/* Without a lane the path to the own core is not up yet. */
	return g->pair[i].lane != GW_NONE ? SUCI_TAKEN : SUCI_REFUSED;
}

static int
on_pair_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	       char why[SUCI_TEXT_MAX])
{
	struct gw *g = user;
	struct relay_hello h;
	bool known = g->conf.npeers == 0 || memcmp(from, &g->conf.core, sizeof *from) == 0;
	if (relay_hello_decode(hello, hello_len, &h) || h.kind != RELAY_HELLO_RELAY) {
		snprintf(why, SUCI_TEXT_MAX, "a gateway talks to relays only");
		return -1;
	}
	for (uint32_t i = 0; i < g->conf.npeers && !known; i++)
		known = memcmp(from, &g->conf.peer[i], sizeof *from) == 0;
	if (!known) {
		snprintf(why, SUCI_TEXT_MAX, "not a relay of this cluster");
		return -1;
	}
	/* Lanes that answer need it. */
	if (memcmp(from, &g->conf.core, sizeof *from) != 0 && g->core_path == GW_NONE) {
		snprintf(why, SUCI_TEXT_MAX, "the gateway's own relay is not connected yet");
		return -1;
	}
	return 0;
}

static void
on_pair_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
		size_t hello_len, bool incoming)
{
	struct gw *g = user;
	struct relay_hello h;
	(void)incoming;
	if (memcmp(peer, &g->conf.core, sizeof *peer) != 0 ||
	    relay_hello_decode(hello, hello_len, &h))
		return;
	g->core_path = path;
	g->core_mtu = h.mtu < GW_MTU_MIN ? g->conf.mtu : h.mtu;
	path_ready(g);
}

static void
on_pair_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct gw *g = user;
	(void)why, (void)text; /* the lanes have told */
	if (path == g->core_path)
		g->core_path = GW_NONE;
}

static void
on_pair_hold(void *user, uint64_t rx_cookie)
{
	struct gw *g = user;
	g->conf.ops->hold(g->conf.user, rx_cookie);
}

static void
on_pair_release(void *user, uint64_t rx_cookie)
{
	struct gw *g = user;
	g->conf.ops->release(g->conf.user, rx_cookie);
}

const struct suci_lane_ops *
gw_lane_ops(void)
{
	static const struct suci_lane_ops ops = {
		.block_begin = on_block_begin,
		.block_data = on_block_data,
		.block_end = on_block_end,
		.block_done = on_block_done,
		.hold = on_pair_hold,
		.release = on_pair_release,
		.lane_down = on_pair_lane_down,
		.lane_unknown = on_lane_unknown,
		.accept = on_pair_accept,
		.path_up = on_pair_path_up,
		.path_down = on_pair_path_down,
		.block_room = on_block_room,
	};
	return &ops;
}
