/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a world: what goes out, what comes in. */
#include "turns.h"
#include "world.h"
#include "world_internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "relayproto/note.h"

#include <string.h>

#include <bsd/string.h>

#define IDS_OFF	  8u /* pk_src and pk_dest in a message header, as relays rewrite them */
#define STAMP	  56u
#define TX_TURN	  32u		     /* datagrams of one station in a turn */
#define SOON_NS	  (200 * BASE_US_NS) /* stations with something due that soon are looked at */
#define COLD_TURN 16u		     /* of the others, in each turn */

_Static_assert(STAMP + 8 == PG_PAYLOAD_MIN && PG_HEAD_MAX == PG_PAYLOAD_MIN,
	       "ids and time stamp are the smallest payload");

static void
heat(struct pg_station *s)
{
	struct pg_world *w = s->w;
	if (!s->hot) {
		s->hot = true;
		w->hot[w->nhot++] = s;
	}
}

static uint64_t
mix(uint32_t job, uint32_t src, uint32_t dst, uint32_t seq)
{
	uint64_t x = (uint64_t)src << 32 | dst;
	x = (x ^ (uint64_t)job << 20) * 0x9e3779b97f4a7c15ull + seq;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 27;
}

/* ---- out ----------------------------------------------------------------------------- */

static uint32_t
draw_size(struct pg_world *w)
{
	const struct pg_size *s = w->load->size;
	if (w->load->nsizes == 1)
		return s->bytes;
	uint64_t pick = base_prng_below(&w->prng, w->weights);
	while (pick >= s->weight)
		pick -= s++->weight;
	return s->bytes;
}

static const uint8_t *
world_id_of(const struct pg_world *w, uint32_t job, uint32_t rank, uint8_t side, bool relay)
{
	const struct pg_job *j = &w->job[job];
	const struct relay_job *t = j->table[j->table[1] ? side : 0];
	return relay ? t->global_id[rank] : t->private_id[rank];
}

bool
pg_world_token(struct pg_station *s, struct pg_flow *f, uint64_t now_ns)
{
	struct pg_world *w = s->w;
	if (!w->gap_ns)
		return true;
	if (s->pace_ns > now_ns) {
		f->starved = true;
		return false;
	}
	if (now_ns - s->pace_ns > w->behind * w->gap_ns)
		s->pace_ns = now_ns - w->behind * w->gap_ns;
	s->pace_ns += w->gap_ns;
	return true;
}

/* In turn: to nobody; from nobody; from a process that is elsewhere; to one on the own
 * side, which relays do not stand before. */
static void
mislabel(const struct pg_world *w, const struct pg_lane *l, struct suci_segment *seg)
{
	uint32_t nworld = w->load->hosts + w->load->relays * w->load->procs_per_relay;
	uint32_t base = seg->dst_label - l->dst, nobody = base + nworld;
	switch (w->mislabelled % 4) {
	case 0:
		seg->dst_label = nobody;
		break;
	case 1:
		seg->src_label = nobody;
		break;
	case 2:
		seg->src_label = base + l->dst;
		break;
	default:
		seg->dst_label = base + l->src;
		break;
	}
}

/* A segment of lane l that is none of it: nobody may receive it. */
static void
pull_wrong(struct pg_station *s, const struct pg_lane *l, uint32_t slot, struct suci_segment *seg)
{
	struct pg_world *w = s->w;
	uint32_t base = w->job[l->job].base[s->relay ? 0 : s->side];
	*seg = (struct suci_segment){.dst_label = base + l->dst,
				     .src_label = base + l->src,
				     .seq = l->seq,
				     .block = l->seq,
				     .block_bytes = PG_HEAD_MAX,
				     .flags = SUCI_SF_FIRST,
				     .window = 1024,
				     .mss = PG_HEAD_MAX,
				     .cookie = slot,
				     .head = s->slot[slot],
				     .head_len = PG_HEAD_MAX};
	mislabel(w, l, seg);
	memset(s->slot[slot], 0xff, PG_HEAD_MAX); /* a lane that there is not */
	w->mislabelled++;
}

void
pg_world_make(struct pg_station *s, struct pg_flow *f, uint8_t *head, struct suci_segment *seg)
{
	struct pg_world *w = s->w;
	struct pg_lane *l = &w->lane[f->first + f->cursor];
	f->cursor = f->cursor + 1 == f->n ? 0 : f->cursor + 1;
	uint32_t mss = draw_size(w), base = w->job[l->job].base[s->relay ? 0 : s->side];
	bool first = l->left == 0;
	*seg = (struct suci_segment){.dst_label = base + l->dst,
				     .src_label = base + l->src,
				     .seq = l->seq++,
				     .window = 1024,
				     .mss = (uint16_t)mss};
	if (first) {
		l->block = seg->seq;
		l->left = w->load->message > mss ? w->load->message : mss;
		seg->flags = SUCI_SF_FIRST;
		seg->block_bytes = l->left;
		/* What relayd has to replace. */
		memcpy(head + IDS_OFF, world_id_of(w, l->job, l->src, s->side, s->relay), 24);
		memcpy(head + IDS_OFF + 24, world_id_of(w, l->job, l->dst, s->side, s->relay), 24);
	}
	uint32_t bytes = l->left < mss ? l->left : mss;
	if (bytes < PG_PAYLOAD_MIN)
		bytes = PG_PAYLOAD_MIN; /* a short rest of a message: room for its stamp */
	l->left -= l->left < bytes ? l->left : bytes;
	seg->block = l->block;
	uint64_t tsc = rd_clock_tsc();
	uint32_t index = (uint32_t)(l - w->lane);
	memcpy(head, &index, sizeof index);
	memcpy(head + STAMP, &tsc, 8);
	seg->head = head;
	seg->head_len = PG_HEAD_MAX;
	seg->data = bytes > PG_HEAD_MAX ? w->pattern : NULL;
	seg->data_len = (uint16_t)(bytes - PG_HEAD_MAX);
	s->sent++;
	w->sent.segments++;
	w->sent.bytes += bytes;
	w->sent.hash += mix(l->job, l->src, l->dst, seg->seq);
}

static bool
pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns)
{
	struct pg_station *s = user;
	struct pg_world *w = s->w;
	uint8_t fi = path < PG_PATHS_MAX ? s->flow_of[path] : 255;
	if (!w->sending || fi == 255 || !s->flow[fi].n)
		return false;
	struct pg_flow *f = &s->flow[fi];
	if (!s->nfree) {
		f->starved = true;
		return false;
	}
	if (!pg_world_token(s, f, now_ns))
		return false;
	uint32_t slot = s->free_slot[--s->nfree];
	s->wrong = w->wrong_labels && !s->wrong;
	if (s->wrong)
		pull_wrong(s, &w->lane[f->first + f->cursor], slot, seg);
	else
		pg_world_make(s, f, s->slot[slot], seg);
	seg->cookie = slot;
	return true;
}

static void
world_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct pg_station *s = user;
	(void)now_ns;
	s->w->abandoned += fate == SUCI_FATE_ABANDONED;
	s->free_slot[s->nfree++] = (uint16_t)cookie;
	uint8_t fi = path < PG_PATHS_MAX ? s->flow_of[path] : 255;
	if (fi != 255 && s->flow[fi].starved && !s->w->gap_ns) {
		s->flow[fi].starved = false;
		suci_path_wake(s->ep, path);
	}
}

static uint32_t
world_backlog(void *user, uint32_t path)
{
	struct pg_station *s = user;
	uint8_t fi = path < PG_PATHS_MAX ? s->flow_of[path] : 255;
	return s->w->sending && fi != 255 && s->flow[fi].n ? s->w->load->window : 0;
}

/* ---- in ------------------------------------------------------------------------------ */

/* Which job a label is of; the jobs of one world are in the order of their labels but
 * where the allocator began anew, so look near the last one. */
static bool
world_job_of(struct pg_world *w, const struct pg_station *s, uint32_t label, uint32_t *job,
	     uint32_t *rank)
{
	const struct pg_load *l = w->load;
	uint32_t nworld = l->hosts + l->relays * l->procs_per_relay;
	uint8_t side = s->relay ? 0 : s->side;
	uint32_t step = (nworld + RELAY_LABEL_PAGE - 1) / RELAY_LABEL_PAGE * RELAY_LABEL_PAGE;
	if (!s->relay) {
		*job = s->job;
	} else {
		*job = (label - w->job[0].base[side]) / step;
		if (*job >= l->jobs || label - w->job[*job].base[side] >= nworld)
			for (*job = 0; *job < l->jobs; ++*job)
				if (label - w->job[*job].base[side] < nworld)
					break;
	}
	if (*job >= l->jobs)
		return false;
	*rank = label - w->job[*job].base[side];
	return *rank < nworld;
}

static bool
world_is_here(const struct pg_world *w, const struct pg_station *s, uint32_t rank)
{
	const struct pg_load *l = w->load;
	if (!s->relay)
		return rank == s->rank;
	uint32_t i = (uint32_t)(s - w->station[1]);
	return rank >= l->hosts && (rank - l->hosts) / l->procs_per_relay == i;
}

/* Does this receiver, which is slow by the scenario, take one more? */
static bool
world_has_room(struct pg_station *s, uint64_t now_ns)
{
	struct pg_world *w = s->w;
	if (w->no_room)
		return false;
	if (!w->take_gap_ns)
		return true;
	if (s->take_ns > now_ns)
		return false;
	if (now_ns - s->take_ns > PG_BEHIND * w->take_gap_ns)
		s->take_ns = now_ns - PG_BEHIND * w->take_gap_ns;
	s->take_ns += w->take_gap_ns;
	return true;
}

static uint32_t
world_room(void *user, uint32_t path)
{
	struct pg_station *s = user;
	uint64_t now = s->w->net->now_ns;
	(void)path;
	if (s->w->no_room)
		return 0;
	if (!s->w->take_gap_ns)
		return s->w->load->window;
	if (s->take_ns > now)
		return 0;
	uint64_t n = (now - s->take_ns) / s->w->take_gap_ns + 1;
	return n < PG_BEHIND ? (uint32_t)n : PG_BEHIND;
}

/* The lane that the segment says it is of, if the labels agree. */
static struct pg_lane *
lane_of(struct pg_world *w, const uint8_t *data, uint32_t job, uint32_t src, uint32_t dst)
{
	uint32_t i;
	memcpy(&i, data, sizeof i);
	if (i >= w->nlanes || w->lane[i].job != job || w->lane[i].src != src ||
	    w->lane[i].dst != dst)
		return NULL;
	return &w->lane[i];
}

/* Did it not come before?  What is further behind than the map reaches counts as lost. */
static bool
world_is_new(struct pg_world *w, struct pg_lane *l, uint32_t seq)
{
	uint32_t mask = w->rx_bits - 1;
	uint64_t *map = w->seen + (size_t)(l - w->lane) * (w->rx_bits / 64);
	if ((int32_t)(seq - l->rx_base) < 0)
		return false;
#define BIT(s)	(1ull << ((s)&63))
#define WORD(s) map[((s)&mask) / 64]
	while (seq - l->rx_base >= w->rx_bits) {
		WORD(l->rx_base) &= ~BIT(l->rx_base);
		l->rx_base++;
	}
	if (WORD(seq) & BIT(seq))
		return false;
	WORD(seq) |= BIT(seq);
	if ((int32_t)(seq - l->rx_next) < 0)
		w->reordered++;
	else
		l->rx_next = seq + 1;
	while (WORD(l->rx_base) & BIT(l->rx_base)) {
		WORD(l->rx_base) &= ~BIT(l->rx_base);
		l->rx_base++;
	}
#undef BIT
#undef WORD
	return true;
}

static void
world_account(struct pg_world *w, const uint8_t *data, uint64_t now_ns)
{
	if (w->measuring) {
		uint64_t tsc, ticks;
		memcpy(&tsc, data + STAMP, 8);
		ticks = rd_clock_tsc() - tsc;
		uint64_t ns =
			(uint64_t)((__extension__(unsigned __int128) ticks * w->net->clock.slope) >>
				   32);
		base_hist_add(&w->latency, ns);
		pg_turn_sample(ns);
		if (w->last_rx_ns && now_ns - w->last_rx_ns > w->stall_ns)
			w->stall_ns = now_ns - w->last_rx_ns;
	}
	w->last_rx_ns = now_ns;
}

enum suci_verdict
pg_world_take(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct pg_station *s = user;
	struct pg_world *w = s->w;
	uint32_t job, src, src_job, dst;
	struct pg_lane *lane;
	(void)path;
	if (!world_has_room(s, now_ns))
		return SUCI_REFUSED;
	if (seg->data_len < PG_PAYLOAD_MIN || !world_job_of(w, s, seg->dst_label, &job, &dst) ||
	    !world_is_here(w, s, dst) || !world_job_of(w, s, seg->src_label, &src_job, &src) ||
	    src_job != job || !(lane = lane_of(w, seg->data, job, src, dst))) {
		w->strays++;
		return SUCI_DROPPED;
	}
	if (!world_is_new(w, lane, seg->seq)) {
		w->copies++;
		return SUCI_TAKEN;
	}
	if ((seg->flags & SUCI_SF_FIRST) &&
	    (memcmp(seg->data + IDS_OFF, world_id_of(w, job, src, s->side, s->relay), 24) ||
	     memcmp(seg->data + IDS_OFF + 24, world_id_of(w, job, dst, s->side, s->relay), 24)))
		w->wrong_ids++;
	world_account(w, seg->data, now_ns);
	s->received++;
	w->received.segments++;
	w->received.bytes += seg->data_len;
	w->received.hash += mix(job, src, dst, seg->seq);
	return SUCI_TAKEN;
}

/* ---- paths --------------------------------------------------------------------------- */

static int
accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
       char why[SUCI_TEXT_MAX])
{
	const struct pg_station *s = user;
	const struct pg_side_conf *c = s->w->net->side[s->side].conf;
	(void)hello;
	(void)len;
	if (be32_load(from->ip + 12) == c->relay && from->port - c->udp_port < (int)c->nshards)
		return 0;
	snprintf(why, SUCI_TEXT_MAX, "not the relay under test");
	return -1;
}

static void
world_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	      size_t len, bool incoming)
{
	struct pg_station *s = user;
	const struct pg_side_conf *c = s->w->net->side[s->side].conf;
	uint32_t fi = s->relay ? (uint32_t)(peer->port - c->udp_port) : 0;
	(void)hello;
	(void)len;
	(void)incoming;
	if (path >= PG_PATHS_MAX || fi >= s->nflows)
		return;
	if (s->flow[fi].path == UINT32_MAX)
		s->up++;
	s->flow[fi].path = path;
	s->flow_of[path] = (uint8_t)fi;
	suci_path_wake(s->ep, path);
	heat(s);
}

static void
world_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct pg_station *s = user;
	(void)why;
	(void)text;
	uint8_t fi = path < PG_PATHS_MAX ? s->flow_of[path] : 255;
	if (fi == 255)
		return;
	s->flow_of[path] = 255;
	if (s->flow[fi].path == path) {
		s->flow[fi].path = UINT32_MAX;
		s->up--;
	}
}

static void
note_world(void *user, uint32_t path, const void *bytes, size_t len, uint64_t now_ns)
{
	struct pg_station *s = user;
	struct pg_world *w = s->w;
	struct relay_note n;
	(void)path;
	if (relay_note_decode(bytes, len, &n) || n.type != RELAY_NOTE_ABORT)
		return;
	for (uint32_t j = 0; j < w->load->jobs; j++) {
		struct pg_job *job = &w->job[j];
		if (n.label_base != job->base[s->relay ? 0 : s->side])
			continue;
		if (!s->relay && !s->told) {
			s->told = true;
			job->told++;
			w->told_ns = now_ns;
		}
		if (!job->aborted)
			strlcpy(job->why, n.text, sizeof job->why);
		job->aborted = true;
	}
}

const struct suci_ops *
pg_world_ops(void)
{
	static const struct suci_ops ops = {
		.accept = accept,
		.path_up = world_path_up,
		.path_down = world_path_down,
		.segment = pg_world_take,
		.released = world_released,
		.pull = pull,
		.room = world_room,
		.backlog = world_backlog,
		.note = note_world,
	};
	return &ops;
}

/* ---- the loop -------------------------------------------------------------------------- */

void
pg_world_datagram(void *user, uint8_t side, uint32_t i, const struct suci_addr *from,
		  uint8_t *payload, size_t len, uint8_t ecn)
{
	struct pg_world *w = user;
	if (i >= w->nstations[side] || w->station[side][i].killed)
		return;
	struct pg_station *s = &w->station[side][i];
	if (w->load->from_template && pg_play_rx(s, from, payload, len))
		return;
	heat(s);
	if (w->load->from_template && pg_play_sealed(s))
		pg_play_through(s, from, payload, len, ecn);
	else
		suci_rx_ecn(s->ep, from, payload, len, ecn, 0, w->net->now_ns);
}

/* A paced sender whose time has come. */
static void
feed(struct pg_station *s)
{
	struct pg_world *w = s->w;
	if (!w->gap_ns || s->pace_ns > w->net->now_ns)
		return;
	for (uint32_t f = 0; f < s->nflows; f++)
		if (s->flow[f].starved && s->flow[f].path != UINT32_MAX) {
			s->flow[f].starved = false;
			suci_path_wake(s->ep, s->flow[f].path);
		}
}

bool
pg_station_sends(const struct pg_station *s)
{
	for (uint32_t f = 0; f < s->nflows; f++)
		if (s->flow[f].n)
			return true;
	return false;
}

uint32_t
pg_world_serve(struct pg_station *s)
{
	struct pg_world *w = s->w;
	struct suci_out o;
	uint32_t n = 0;
	uint64_t now = w->net->now_ns;
	feed(s);
	if (suci_expiry_ns(s->ep) <= now)
		suci_tick(s->ep, now);
	while (n < TX_TURN && pg_net_room(w->net, s->side) && suci_tx(s->ep, &o, now)) {
		n++;
		w->resent += o.retransmit;
		if (w->load->from_template)
			pg_play_saw(s, &o);
		if (!s->killed)
			(void)pg_net_send(w->net, s->side, &s->self, &s->ip_id, s->ep, &o);
	}
	return n;
}

uint32_t
pg_world_turn(struct pg_world *w)
{
	uint32_t n = 0, total = w->nstations[0] + w->nstations[1];
	uint64_t soon = w->net->now_ns + SOON_NS;
	if (w->playing)
		return pg_play_turn(w);
	for (uint32_t i = 0; i < COLD_TURN && i < total; i++) {
		uint32_t k = w->cold_cursor;
		w->cold_cursor = k + 1 == total ? 0 : k + 1;
		struct pg_station *s = k < w->nstations[0] ? &w->station[0][k]
							   : &w->station[1][k - w->nstations[0]];
		if (!s->hot && suci_expiry_ns(s->ep) <= soon)
			heat(s);
	}
	for (uint32_t i = 0; i < w->nhot;) {
		struct pg_station *s = w->hot[i];
		uint32_t k = pg_world_serve(s);
		n += k;
		if (k || suci_expiry_ns(s->ep) <= soon ||
		    (w->sending && w->gap_ns && pg_station_sends(s))) {
			i++;
			continue;
		}
		s->hot = false;
		w->hot[i] = w->hot[--w->nhot];
	}
	return n;
}

void
pg_world_send(struct pg_world *w, bool on)
{
	w->sending = on;
	for (int side = 0; on && side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			struct pg_station *s = &w->station[side][i];
			/* Not all in the same moment. */
			s->pace_ns = w->net->now_ns + base_prng_below(&w->prng, w->gap_ns + 1);
			s->take_ns = w->net->now_ns;
			for (uint32_t f = 0; f < s->nflows; f++) {
				s->flow[f].starved = w->gap_ns != 0;
				if (s->flow[f].path != UINT32_MAX)
					suci_path_wake(s->ep, s->flow[f].path);
			}
			heat(s);
		}
}

bool
pg_world_connected(const struct pg_world *w)
{
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			/* A worker that owns no process opens no trunk. */
			const struct pg_station *s = &w->station[side][i];
			uint32_t need = s->nflows < w->load->hosts ? s->nflows : w->load->hosts;
			if (s->up < need)
				return false;
		}
	return true;
}

uint64_t
pg_world_held(const struct pg_world *w)
{
	uint64_t n = w->playing ? pg_play_held(w) : 0;
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++)
			if (!w->station[side][i].killed)
				n += suci_held(w->station[side][i].ep);
	return n;
}

void
pg_world_restart(struct pg_world *w, uint8_t side, uint32_t i)
{
	struct pg_station *s = &w->station[side][i];
	(void)pg_station_start(w, s, suci_fini(s->ep, w->net->now_ns));
	heat(s);
}

void
pg_world_note(struct pg_world *w, uint32_t job, const char *text)
{
	const struct pg_station *s = &w->station[0][(size_t)job * w->load->hosts];
	struct relay_note n = {.type = RELAY_NOTE_ABORT, .label_base = w->job[job].base[0]};
	uint8_t bytes[RELAY_NOTE_MAX];
	strlcpy(n.text, text, sizeof n.text);
	if (s->flow[0].path != UINT32_MAX)
		(void)suci_path_note(s->ep, s->flow[0].path, bytes, relay_note_encode(&n, bytes),
				     w->net->now_ns);
}

void
pg_world_close(struct pg_world *w)
{
	w->playing = false; /* CLOSE is the endpoints' */
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			struct pg_station *s = &w->station[side][i];
			for (uint32_t f = 0; f < s->nflows; f++)
				if (s->flow[f].path != UINT32_MAX)
					suci_path_close(s->ep, s->flow[f].path, "", w->net->now_ns);
			heat(s);
		}
}
