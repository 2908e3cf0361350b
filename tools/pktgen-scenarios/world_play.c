/* SPDX-License-Identifier: BSD-2-Clause */
/* Playing a world: templates instead of endpoints where only the rate counts.  Labels, numbers
 * and process ids of each segment are made and judged by the same code as an endpoint's; only
 * the path below is a player (player.h). */
#include "sealed.h"
#include "world.h"
#include "world_internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#define HEADERS	    (SUCI_PATH_HDR + SUCI_LANE_HDR + SUCI_FIRST_EXT)
#define TX_TURN	    PG_RX_BURST /* segments of one path in a turn */
#define ACK_WAIT_NS (20 * BASE_US_NS)

_Static_assert(PG_FRAMES > 2 * PG_TX_MAX, "both sides may be full and a turn goes on");

bool
pg_play_sealed(const struct pg_station *s)
{
	return s->relay && s->w->seal.aead;
}

/* Bytes that sealing adds to each of its datagrams. */
static uint32_t
tag_len(const struct pg_station *s)
{
	return pg_play_sealed(s) ? SUCI_SEAL_TAG : 0;
}

void
pg_play_new(const struct pg_world *w, struct pg_flow *f, struct pg_play *play, uint8_t side,
	    void *mem)
{
	/* An endpoint acknowledges once in a burst, too. */
	bool relay = side == 1 && !w->load->series;
	struct pg_player_conf conf = {.sealed = relay && w->seal.aead,
				      .window = w->load->window,
				      .credit = w->credit[side],
				      .ack_every = PG_RX_BURST,
				      .ack_wait_ns = ACK_WAIT_NS};
	play->player = pg_player_new(mem, &conf);
	f->play = play;
}

void
pg_play_free(struct pg_world *w)
{
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < PG_FRAMES; i++)
			rte_pktmbuf_free(w->frame[side][i]);
	memset(w->frame, 0, sizeof w->frame);
}

/* ---- looking on, and taking over ------------------------------------------------------- */

void
pg_play_saw(struct pg_station *s, const struct suci_out *o)
{
	uint8_t fi = o->path < PG_PATHS_MAX ? s->flow_of[o->path] : 255;
	if (fi != 255)
		pg_player_saw(s->flow[fi].play->player, o->head, o->head_len);
}

/* All paths of the station that are up can be played. */
static bool
world_play_is_ready(const struct pg_station *s)
{
	for (uint32_t f = 0; f < s->nflows; f++)
		if (s->flow[f].path == UINT32_MAX || !pg_player_ready(s->flow[f].play->player))
			return false;
	return true;
}

bool
pg_world_playable(const struct pg_world *w)
{
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++)
			if (pg_station_sends(&w->station[side][i]) &&
			    !world_play_is_ready(&w->station[side][i]))
				return false;
	return true;
}

static bool
make_side_frames(struct pg_world *w, int side)
{
	uint32_t bytes = w->load->size[0].bytes, tag = tag_len(&w->station[side][0]);
	uint32_t front = pg_front(w->net->side[side].conf);
	for (uint32_t i = 0; i < PG_FRAMES; i++) {
		struct rte_mbuf *m = w->frame[side][i] = rte_pktmbuf_alloc(w->net->pool);
		uint16_t len = (uint16_t)(front + HEADERS + bytes + tag);
		char *at = m ? rte_pktmbuf_append(m, len) : NULL;
		if (!at)
			return false;
		memset(at, 0, front + HEADERS + PG_HEAD_MAX);
		memcpy(at + front + HEADERS + PG_HEAD_MAX, w->pattern, bytes - PG_HEAD_MAX);
	}
	return true;
}

static bool
make_frames(struct pg_world *w)
{
	uint32_t bytes = w->load->size[0].bytes;
	for (int side = 0; side < PG_SIDES; side++)
		if (!make_side_frames(w, side))
			return false;
	w->pattern_sum = rd_cksum_add(0, w->pattern, bytes - PG_HEAD_MAX);
	return true;
}

static void
write_headers(struct pg_world *w, struct pg_station *s)
{
	struct pg_side *side = &w->net->side[s->side];
	for (uint32_t f = 0; f < s->nflows; f++)
		pg_write_front(side, s->flow[f].play->header, &s->self,
			       (uint16_t)(side->conf->udp_port + s->shard + f), 0,
			       HEADERS + w->load->size[0].bytes + tag_len(s), 0);
}

const char *
pg_world_play(struct pg_world *w)
{
	if (!pg_world_playable(w))
		return "the paths did not become quiet, so no template can be played";
	if (!make_frames(w))
		return "no packet buffers for templates";
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			struct pg_station *s = &w->station[side][i];
			s->played = world_play_is_ready(s); /* others go on with their endpoint */
			for (uint32_t f = 0; s->played && f < s->nflows; f++)
				pg_player_begin(s->flow[f].play->player);
			write_headers(w, s);
		}
	if (w->resent) /* what endpoints sent again, being refused, came later */
		w->reordered = 0;
	w->playing = true;
	return NULL;
}

/* ---- in ---------------------------------------------------------------------------------- */

/* Over which of its paths did it come? */
static struct pg_flow *
find_flow(struct pg_station *s, const struct suci_addr *from)
{
	uint16_t first = s->w->net->side[s->side].conf->udp_port;
	uint32_t fi = s->relay ? (uint32_t)(from->port - first) : 0;
	return fi < s->nflows ? &s->flow[fi] : NULL;
}

void
pg_play_through(struct pg_station *s, const struct suci_addr *from, uint8_t *payload, size_t len,
		uint8_t ecn)
{
	uint64_t now = s->w->net->now_ns;
	struct pg_flow *f = find_flow(s, from);
	struct suci_segment seg;
	len = pg_sealed_through(s->ep, from, payload, len, ecn, now);
	if (len && f)
		(void)pg_player_rx(f->play->player, payload, len, now, &seg);
}

bool
pg_play_rx(struct pg_station *s, const struct suci_addr *from, uint8_t *payload, size_t len)
{
	uint64_t now = s->w->net->now_ns;
	struct pg_flow *f = find_flow(s, from);
	struct suci_segment seg;
	if (!f)
		return false;
	struct pg_player *p = f->play->player;
	if (!s->w->playing || !s->played) {
		if (!pg_play_sealed(s))
			(void)pg_player_rx(p, payload, len, now, &seg);
		return false;
	}
	if (!pg_player_mine(p, payload, len))
		return false; /* CLOSE */
	if (pg_play_sealed(s))
		len = pg_sealed_open(s->ep, f->path, payload, len);
	if (!len)
		return true; /* the endpoint has counted it */
	if (pg_player_rx(p, payload, len, now, &seg))
		(void)pg_world_take(s, f->path, &seg, now);
	return true;
}

/* ---- out --------------------------------------------------------------------------------- */

/* One that no port has any more; the last one that was sent is still in the cache. */
static struct rte_mbuf *
free_frame(struct pg_world *w, uint8_t side)
{
	while (w->next_frame[side] < PG_FRAMES) {
		struct rte_mbuf *m = w->frame[side][w->next_frame[side]++];
		if (rte_mbuf_refcnt_read(m) == 1)
			return m;
	}
	return NULL;
}

/* A frame of the flow with the next segment. */
static void
fill_frame(struct pg_station *s, struct pg_flow *f, uint8_t *at, uint64_t now)
{
	struct pg_world *w = s->w;
	struct pg_player *p = f->play->player;
	struct suci_segment seg;
	const struct pg_side *side = &w->net->side[s->side];
	uint8_t *udp = at + pg_front(side->conf);
	uint32_t held = pg_player_held(p);
	bool sealed = pg_play_sealed(s);
	memcpy(at, f->play->header, pg_front(side->conf));
	if (sealed) /* what was sealed here last time */
		memset(udp + HEADERS, 0, PG_HEAD_MAX);
	pg_world_make(s, f, udp + HEADERS, &seg);
	size_t len = pg_player_head(p, &seg, udp, now) + PG_HEAD_MAX;
	if (sealed) {
		memcpy(udp + len, w->pattern, seg.data_len);
		len = pg_sealed_close(s->ep, f->path, udp, len + seg.data_len, held);
	}
	pg_write_sum(side, at, len, sealed ? 0 : w->pattern_sum);
}

static uint32_t
send_segments(struct pg_station *s, struct pg_flow *f, uint64_t now)
{
	struct pg_world *w = s->w;
	uint32_t n = 0, may = pg_player_may(f->play->player);
	/* As windows of lanes do: what is on the way between the ends is bounded, too. */
	uint64_t most = 2ull * w->load->window * w->nsenders;
	while (n < may && n < TX_TURN && pg_net_room(w->net, s->side) &&
	       w->sent.segments < w->received.segments + w->written_off + most) {
		struct rte_mbuf *m = pg_world_token(s, f, now) ? free_frame(w, s->side) : NULL;
		if (!m)
			break;
		fill_frame(s, f, rte_pktmbuf_mtod(m, uint8_t *), now);
		rte_mbuf_refcnt_update(m, 1); /* the port gives one back */
		pg_net_push(w->net, s->side, m);
		n++;
	}
	return n;
}

static uint32_t
send_ack(struct pg_station *s, uint32_t fi, uint64_t now)
{
	struct pg_world *w = s->w;
	struct pg_side *side = &w->net->side[s->side];
	struct pg_player *p = s->flow[fi].play->player;
	uint8_t frame[RD_FRAME6_HDR + PG_PLAYER_ACK_MAX + SUCI_SEAL_TAG];
	uint32_t front = pg_front(side->conf);
	if (!pg_net_room(w->net, s->side))
		return 0;
	size_t len = pg_player_ack(p, frame + front, now);
	if (len && pg_play_sealed(s))
		len = pg_sealed_close(s->ep, s->flow[fi].path, frame + front, len,
				      pg_player_held(p));
	if (!len)
		return 0;
	pg_write_front(side, frame, &s->self, (uint16_t)(side->conf->udp_port + s->shard + fi), 0,
		       (uint32_t)len, 0);
	pg_write_sum(side, frame, len, 0);
	(void)pg_net_raw(w->net, s->side, frame, front + len); /* the next one says more */
	return 1;
}

uint32_t
pg_play_turn(struct pg_world *w)
{
	uint32_t n = 0;
	uint64_t now = w->net->now_ns;
	memset(w->next_frame, 0, sizeof w->next_frame);
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			struct pg_station *s = &w->station[side][i];
			if (!s->played)
				n += pg_world_serve(s);
			for (uint32_t f = 0; s->played && f < s->nflows; f++) {
				if (s->flow[f].path == UINT32_MAX)
					continue;
				n += send_ack(s, f, now);
				if (w->sending && s->flow[f].n)
					n += send_segments(s, &s->flow[f], now);
			}
		}
	return n;
}

uint64_t
pg_play_held(const struct pg_world *w)
{
	uint64_t n = 0;
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			const struct pg_station *s = &w->station[side][i];
			for (uint32_t f = 0; s->played && f < s->nflows; f++)
				n += pg_player_held(s->flow[f].play->player);
		}
	return n;
}

void
pg_world_write_off(struct pg_world *w)
{
	w->written_off = w->sent.segments - w->received.segments;
	for (int side = 0; w->playing && side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			const struct pg_station *s = &w->station[side][i];
			for (uint32_t f = 0; s->played && f < s->nflows; f++)
				pg_player_begin(s->flow[f].play->player);
		}
}
