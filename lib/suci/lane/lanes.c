/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: memory, opening and closing, and the endpoint's callbacks passed on. */
#include "lane_internal.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"

#include <string.h>

#define TUNES_MAX  4096u
#define GROUPS_MAX 4096u

/* Lanes whose windows may be other than the first at once. */
static uint32_t
tunes_of(const struct suci_lane_limits *l)
{
	return l->lanes_max < TUNES_MAX ? l->lanes_max : TUNES_MAX;
}

static size_t
lay_out_lanes(const struct suci_lane_limits *l, void *mem, struct suci_lanes *ls)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof *ls);
	ls->lane = base_arena_take(&a, l->lanes_max, sizeof *ls->lane);
	ls->label = base_arena_take(&a, l->labels_max + l->buckets, sizeof *ls->label);
	ls->block = base_arena_take(&a, l->blocks_max, sizeof *ls->block);
	ls->rx_block = base_arena_take(&a, l->rx_blocks_max, sizeof *ls->rx_block);
	ls->early = base_arena_take(&a, l->held_max, sizeof *ls->early);
	ls->range = base_arena_take(&a, l->ranges_max, sizeof *ls->range);
	ls->again = base_arena_take(&a, (size_t)l->ranges_max + l->lanes_max, sizeof *ls->again);
	ls->tune = base_arena_take(&a, tunes_of(l), sizeof *ls->tune);
	ls->group = base_arena_take(&a, l->groups_max, sizeof *ls->group);
	return base_arena_bytes(&a);
}

size_t
suci_lanes_footprint(const struct suci_lane_limits *l)
{
	struct suci_lanes counting;
	const uint32_t most = 1u << 24;
	if (!l->lanes_max || l->lanes_max > 1u << 20 || !l->blocks_max || l->blocks_max > most ||
	    !l->rx_blocks_max || l->rx_blocks_max > most || l->held_max > most || !l->ranges_max ||
	    l->ranges_max > most || !l->labels_max || l->labels_max > most ||
	    l->buckets > 1u << 20 || (l->buckets & (l->buckets - 1)) || l->groups_max > GROUPS_MAX)
		return 0;
	return lay_out_lanes(l, NULL, &counting);
}

struct suci_lanes *
suci_lanes_new(void *mem, const struct suci_lanes_config *conf)
{
	const struct suci_lane_limits *l = &conf->limits;
	const struct suci_lane_ops *o = conf->ops;
	if (!suci_lanes_footprint(l) || !o || !o->block_begin || !o->block_data || !o->block_end ||
	    !o->block_done || !o->lane_down || !o->accept || !o->path_up || !o->path_down ||
	    (l->held_max && (!o->hold || !o->release)))
		return NULL;
	struct suci_lanes *ls = mem;
	memset(ls, 0, sizeof *ls);
	lay_out_lanes(l, mem, ls);
	ls->limits = *l;
	ls->ops = o;
	ls->user = conf->user;
	memset(ls->label, 0xff, (l->labels_max + l->buckets) * sizeof *ls->label);
	ls->lane_free = ls->block_free = ls->rx_block_free = ls->early_free = ls->range_free = NONE;
	ls->again_free = ls->tune_free = ls->group_free = NONE;
	for (uint32_t i = l->lanes_max; i-- > 0; ls->lane_free = i) {
		ls->lane[i].state = LANE_FREE;
		ls->lane[i].path_link.next = ls->lane_free;
	}
	for (uint32_t i = l->blocks_max; i-- > 0; ls->block_free = i)
		ls->block[i].link.next = ls->block_free;
	for (uint32_t i = l->rx_blocks_max; i-- > 0; ls->rx_block_free = i)
		ls->rx_block[i].link.next = ls->rx_block_free;
	for (uint32_t i = l->held_max; i-- > 0; ls->early_free = i)
		ls->early[i].link.next = ls->early_free;
	for (uint32_t i = l->ranges_max; i-- > 0; ls->range_free = i)
		ls->range[i].link.next = ls->range_free;
	for (uint32_t i = l->ranges_max + l->lanes_max; i-- > 0; ls->again_free = i)
		ls->again[i].link.next = ls->again_free;
	for (uint32_t i = tunes_of(l); i-- > 0; ls->tune_free = i)
		ls->tune[i].next = ls->tune_free;
	for (uint32_t i = l->groups_max; i-- > 0; ls->group_free = i) {
		ls->group[i].used = false;
		ls->group[i].next = ls->group_free;
	}
	ls->credit_left = l->held_max < l->ranges_max ? l->held_max : l->ranges_max;
	ls->ack_at_ns = ls->look_at_ns = ls->resend_at_ns = BASE_NEVER_NS;
	base_ilist_init(&ls->live);
	ls->early_left = l->held_max;
	ls->ranges_left = l->ranges_max;
	ls->rx_blocks_left = l->rx_blocks_max;
	base_ilist_init(&ls->pending);
	return ls;
}

void
suci_lane_arm(struct suci_lanes *ls)
{
	uint64_t at = base_min_ns(base_min_ns(ls->ack_at_ns, ls->look_at_ns), ls->resend_at_ns);
	suci_upper_arm(ls->ep, at);
}

static void
tick(void *user, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	if (now_ns >= ls->ack_at_ns)
		suci_lane_acks_due(ls, now_ns);
	if (now_ns >= ls->look_at_ns)
		suci_lane_look(ls, now_ns);
	if (now_ns >= ls->resend_at_ns)
		suci_lane_group_resends(ls, now_ns);
	suci_lane_arm(ls);
}

void
suci_lanes_bind(struct suci_lanes *ls, struct suci *ep)
{
	static const struct suci_upper_ops ops = {.tick = tick, .blocked = suci_lane_group_blocked};
	const struct suci_limits *l = suci_upper_limits(ep);
	ls->ep = ep;
	/* A receiver that sends as much as it can must still find room for its acks. */
	ls->hops = suci_upper_bind(ep, &ops, l->segments_max / 16);
	for (uint32_t i = 0; i < l->paths_max; i++)
		*lane_hop(ls, i) = (struct lane_hop){.lanes = BASE_ICHAIN_EMPTY,
						     .groups = NONE,
						     .ready = {NONE, NONE, NONE, NONE}};
}

void *
suci_lanes_fini(struct suci_lanes *ls)
{
	for (uint32_t i = 0; i < ls->limits.lanes_max; i++)
		if (ls->lane[i].state == LANE_OPEN)
			suci_lane_rx_end(ls, &ls->lane[i]);
	return ls;
}

struct lane *
suci_lane_get(struct suci_lanes *ls, uint32_t lane)
{
	if (lane >= ls->limits.lanes_max || ls->lane[lane].state != LANE_OPEN)
		return NULL;
	return &ls->lane[lane];
}

/* Where the chain of lanes begins that such a label is in; labels beyond the array: of that path.
 */
static uint32_t *
lane_chain(struct suci_lanes *ls, uint32_t path, uint32_t src)
{
	uint32_t max = ls->limits.labels_max;
	if (src < max)
		return &ls->label[src];
	uint32_t h = (src ^ path * 0x85ebca6bu) * 0x9e3779b1u;
	return &ls->label[max + ((h ^ h >> 15) & (ls->limits.buckets - 1))];
}

uint32_t
suci_lane_find(struct suci_lanes *ls, uint32_t path, uint32_t src, uint32_t dst)
{
	bool array = src < ls->limits.labels_max;
	if (!array && !ls->limits.buckets)
		return NONE;
	uint32_t i = *lane_chain(ls, path, src);
	for (; i != NONE; i = ls->lane[i].label_next) {
		const struct lane_conf *c = &ls->lane[i].conf;
		if (c->rx_dst_label == dst && c->rx_src_label == src && (array || c->path == path))
			return i;
	}
	return NONE;
}

static bool
conf_good(const struct suci_lanes *ls, const struct suci_lane_conf *c)
{
	bool any = ls->limits.buckets && !c->group;
	return (c->rx_dst_label < ls->limits.labels_max || any) &&
	       (c->rx_src_label < ls->limits.labels_max || any) && c->prio < PRIOS &&
	       c->mss <= UINT16_MAX && c->window >= 64 && c->window <= 1u << 20 &&
	       c->window_max <= 1u << 20 && c->group <= ls->limits.groups_max &&
	       c->life <= SUCI_LIFE_MAX && (!c->life || (!c->direct && !c->group)) &&
	       (!c->moves || (!c->direct && !c->group && !c->life)) &&
	       (!c->group || (!c->direct && ls->group[c->group - 1].used));
}

static struct base_ilinks
path_links(const struct suci_lanes *ls)
{
	return BASE_ILINKS(ls->lane, path_link);
}

/* The list of the lanes of its path or group. */
static struct base_ichain *
lanes_with(struct suci_lanes *ls, const struct lane *l)
{
	struct lane_group *g = lane_group_of(ls, l);
	return g ? &g->lanes : &lane_hop(ls, l->conf.path)->lanes;
}

static void
set_up(struct lane *l, const struct suci_lane_conf *c)
{
	memset(l, 0, sizeof *l);
	l->state = LANE_OPEN;
	l->conf = (struct lane_conf){
		.tx_salt = c->tx_salt,
		.rx_salt = c->rx_salt,
		.path = c->group ? NONE : c->path,
		.group = c->group ? c->group - 1 : NONE,
		.tx_dst_label = c->tx_dst_label,
		.tx_src_label = c->tx_src_label,
		.rx_dst_label = c->rx_dst_label,
		.rx_src_label = c->rx_src_label,
		.window = c->window,
		.window_max = c->window_max > c->window ? c->window_max : c->window,
		.mss = (uint16_t)c->mss,
		.skip_off = c->skip_off,
		.skip_len = c->skip_len,
		.prio = c->prio,
		.direct = c->direct,
		.crc = c->crc,
		.moves = c->moves,
	};
	l->life = c->life ? c->life | SUCI_LIFE_BEGINS : 0;
	l->tx_window = l->window = l->edge = c->window;
	l->current = l->tune = NONE;
	base_ilist_init(&l->blocks);
	base_ilist_init(&l->ranges);
	base_ilist_init(&l->rx_blocks);
	base_ilist_init(&l->early);
	base_ilist_init(&l->again);
}

void
suci_lane_link(struct suci_lanes *ls, struct lane *l)
{
	uint32_t i = lane_index(ls, l);
	uint32_t *chain = lane_chain(ls, l->conf.path, l->conf.rx_src_label);
	l->label_next = *chain;
	*chain = i;
	base_ichain_push(lanes_with(ls, l), path_links(ls), i);
	if (l->conf.group != NONE)
		ls->group[l->conf.group].nlanes++;
}

int
suci_lane_open(struct suci_lanes *ls, const struct suci_lane_conf *conf, uint32_t *lane,
	       uint64_t now_ns)
{
	(void)now_ns;
	if (!conf_good(ls, conf))
		return SUCI_ERR_INVAL;
	if (!conf->group && !suci_path_usable(ls->ep, conf->path))
		return SUCI_ERR_DOWN;
	*lane = suci_lane_find(ls, conf->path, conf->rx_src_label, conf->rx_dst_label);
	if (*lane != NONE)
		return SUCI_ERR_EXISTS;
	if (ls->lane_free == NONE)
		return SUCI_ERR_NOMEM;
	uint32_t i = ls->lane_free;
	struct lane *l = &ls->lane[i];
	ls->lane_free = l->path_link.next;
	set_up(l, conf);
	suci_lane_link(ls, l);
	*lane = i;
	return SUCI_ERR_OK;
}

void
suci_lane_unlink(struct suci_lanes *ls, struct lane *l)
{
	uint32_t i = lane_index(ls, l);
	if (lane_rests(l))
		return;
	if (l->conf.group != NONE)
		ls->group[l->conf.group].nlanes--;
	base_ichain_unlink(lanes_with(ls, l), path_links(ls), i);
	uint32_t *at = lane_chain(ls, l->conf.path, l->conf.rx_src_label);
	while (*at != i)
		at = &ls->lane[*at].label_next;
	*at = l->label_next;
}

void
suci_lane_end(struct suci_lanes *ls, struct lane *l, enum suci_down why, const char *text,
	      uint64_t now_ns)
{
	l->state = LANE_ENDING; /* from here on suci_lane_get() does not find it */
	suci_lane_unlink(ls, l);
	suci_lane_unready(ls, l);
	suci_lane_ack_unpend(ls, l);
	suci_lane_rx_end(ls, l);
	suci_lane_unlive(ls, l);
	suci_lane_tx_end(ls, l, now_ns);
	if (text)
		ls->ops->lane_down(ls->user, lane_index(ls, l), why, text);
	l->state = LANE_FREE;
	l->path_link.next = ls->lane_free;
	ls->lane_free = lane_index(ls, l);
}

static bool
of_lane(void *arg, uint64_t cookie)
{
	struct lane *l = ((void **)arg)[0];
	struct suci_lanes *ls = ((void **)arg)[1];
	return cookie != COOKIE_ACK && ls->block[cookie].lane == lane_index(ls, l);
}

void
suci_lane_abort(struct suci_lanes *ls, struct lane *l, enum suci_down why, const char *text,
		uint64_t now_ns)
{
	void *arg[2] = {l, ls};
	struct lane_group *g = lane_group_of(ls, l);
	if (!g && !lane_rests(l))
		suci_path_purge(ls->ep, l->conf.path, of_lane, arg, now_ns);
	for (uint32_t k = 0; g && k < g->n; k++)
		suci_path_purge(ls->ep, g->m[k].path, of_lane, arg, now_ns);
	suci_lane_end(ls, l, why, text, now_ns);
}

void
suci_lane_close(struct suci_lanes *ls, uint32_t lane, uint64_t now_ns)
{
	struct lane *l = suci_lane_get(ls, lane);
	if (!l)
		return;
	if (l->busy) {
		l->close_wanted = true;
		return;
	}
	suci_lane_abort(ls, l, SUCI_DOWN_LOCAL, NULL, now_ns);
}

uint32_t
suci_lane_crc(uint64_t salt, const struct suci_segment *s, uint16_t skip_off, uint16_t skip_len)
{
	uint8_t in[28];
	uint16_t flags = s->flags & (SUCI_SF_FIRST | SUCI_SF_LAST);
	size_t n = 20;
	be64_store(in, salt);
	be32_store(in + 8, s->seq);
	be32_store(in + 12, s->block);
	be16_store(in + 16, s->mss);
	be16_store(in + 18, flags);
	if (flags & SUCI_SF_FIRST) {
		be64_store(in + 20, s->block_bytes);
		n += 8;
	} else {
		skip_len = 0;
	}
	uint32_t crc = base_crc32c(0, in, n);
	/* Both pieces, without the bytes that a relay may rewrite. */
	const uint8_t *piece[2] = {s->head, s->data};
	size_t len[2] = {s->head_len, s->data_len};
	size_t skip_end = (size_t)skip_off + skip_len, at = 0;
	for (int k = 0; k < 2; at += len[k], k++) {
		if (!len[k])
			continue;
		size_t a = skip_len && skip_off > at ? skip_off - at : 0;
		size_t b = skip_end > at ? skip_end - at : 0;
		if (!skip_len || b == 0) {
			crc = base_crc32c(crc, piece[k], len[k]);
			continue;
		}
		a = a < len[k] ? a : len[k];
		b = b < len[k] ? b : len[k];
		crc = base_crc32c(crc, piece[k], a);
		crc = base_crc32c(crc, piece[k] + b, len[k] - b);
	}
	return crc;
}

uint32_t
suci_lane_path(const struct suci_lanes *ls, const struct lane *l)
{
	const struct lane_group *g = lane_group_of(ls, l);
	return !g ? l->conf.path : g->n ? g->m[0].path : NONE;
}

bool
suci_lane_info(const struct suci_lanes *ls, uint32_t lane, struct suci_lane_info *out)
{
	if (lane >= ls->limits.lanes_max || ls->lane[lane].state == LANE_FREE)
		return false;
	const struct lane *l = &ls->lane[lane];
	uint32_t blocks = 0;
	for (uint32_t b = l->blocks.head; b != NONE; b = ls->block[b].link.next)
		blocks++;
	*out = (struct suci_lane_info){
		.path = suci_lane_path(ls, l),
		.tx_next_seq = l->next_seq,
		.tx_acked_seq = l->conf.direct ? l->next_seq - l->outstanding : l->acked_seq,
		.tx_window = l->tx_window,
		.tx_mss = l->conf.mss,
		.rx_next_seq = l->rx_next,
		.rx_window = l->window,
		.tx_blocks_queued = blocks,
		.life = l->life & SUCI_LIFE_MAX,
		.direct = l->conf.direct,
	};
	return true;
}

const struct suci_lane_counters *
suci_lane_counters(const struct suci_lanes *ls)
{
	return &ls->count;
}

uint32_t
suci_lanes_pending(const struct suci_lanes *ls)
{
	return ls->pending_blocks;
}

static int
on_lanes_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
		char why[SUCI_TEXT_MAX])
{
	struct suci_lanes *ls = user;
	return ls->ops->accept(ls->user, from, hello, hello_len, why);
}

static void
on_lanes_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
		 size_t hello_len, bool incoming)
{
	struct suci_lanes *ls = user;
	ls->ops->path_up(ls->user, path, peer, hello, hello_len, incoming);
}

static void
on_lanes_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct suci_lanes *ls = user;
	struct lane_hop *h = lane_hop(ls, path);
	uint64_t now_ns = suci_upper_now(ls->ep);
	while (h->lanes.head != NONE) {
		struct lane *l = &ls->lane[h->lanes.head];
		if (l->conf.moves)
			suci_lane_take_off(ls, l, now_ns);
		else
			suci_lane_end(ls, l, why, text, now_ns);
	}
	suci_lane_group_path_down(ls, path, why, text, now_ns);
	h->group_turn = false;
	ls->ops->path_down(ls->user, path, why, text);
}

static void
on_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct suci_lanes *ls = user;
	if (ls->ops->note)
		ls->ops->note(ls->user, path, note, len, now_ns);
}

static void
on_stranger(void *user, const struct suci_addr *from, const uint8_t *public_key,
	    const struct seal_peer *known)
{
	struct suci_lanes *ls = user;
	if (ls->ops->stranger)
		ls->ops->stranger(ls->user, from, public_key, known);
}

static uint8_t *
on_buffer(void *user, uint32_t path, uint32_t len, uint64_t *cookie)
{
	struct suci_lanes *ls = user;
	(void)path;
	return ls->ops->buffer ? ls->ops->buffer(ls->user, len, cookie) : NULL;
}

static void
on_unbuffer(void *user, uint64_t cookie)
{
	struct suci_lanes *ls = user;
	ls->ops->release(ls->user, cookie);
}

const struct suci_ops *
suci_lanes_ops(void)
{
	static const struct suci_ops ops = {
		.accept = on_lanes_accept,
		.path_up = on_lanes_path_up,
		.path_down = on_lanes_path_down,
		.segment = suci_lane_segment,
		.released = suci_lane_released,
		.pull = suci_lane_pull,
		.room = suci_lane_room,
		.backlog = suci_lane_backlog,
		.note = on_note,
		.stranger = on_stranger,
		.buffer = on_buffer,
		.unbuffer = on_unbuffer,
	};
	return &ops;
}
