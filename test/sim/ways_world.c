/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that have met, and what they stand on: sim/ways.h.  Ways, doors and lanes are told of
 * each other as in libmpi/transport (net_ops.c, doors.c). */
#include "ways.h"

#include "draw.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define HEAD	 12u /* from, to, number */
#define LONGEST	 60000u
#define PATTERNS 251u

static uint8_t pattern[LONGEST + PATTERNS];

/* ---- blocks ---- */

struct wy_block {
	struct wy_block *next;
	uint32_t from, number;
	uint64_t left;
};

/* As long as its sender drew it, which its number tells. */
static uint64_t
way_bytes(const struct wy *w, uint32_t number)
{
	uint64_t h = (number + 1) * 0x9e3779b97f4a7c15u ^ w->s->seed;
	bool is_long = (h >> 32) % 100 < w->long_percent;
	return HEAD + (is_long ? h % LONGEST : h % 900);
}

static void *
begin_way_block(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
		uint64_t now_ns)
{
	struct wy_node *n = user;
	struct sim *s = n->w->s;
	struct wy_block *b = calloc(1, sizeof *b);
	(void)now_ns;
	BASE_ASSERT(b);
	b->next = n->block;
	n->block = b;
	b->from = n->peer_of[lane];
	b->left = bytes;
	struct wy_peer *p = &n->peer[b->from];
	b->number = p->began++;
	p->whole[b->number % WY_WINDOW] = false;
	INVARIANT(s, BYTES, first_len >= HEAD && bytes >= HEAD, "a block has no head");
	if (s->failed)
		return b;
	uint32_t from = be32_load(first), number = be32_load(first + 8);
	INVARIANT(s, REACH, from == b->from && be32_load(first + 4) == n->index,
		  "process %u: a block of %u for %u came from %u", n->index, from,
		  be32_load(first + 4), b->from);
	INVARIANT(s, ONCE, number >= b->number, "process %u: block %u of %u comes again", n->index,
		  number, from);
	INVARIANT(s, ORDER, number == b->number, "process %u: block %u of %u comes before %u",
		  n->index, number, from, b->number);
	INVARIANT(s, BYTES, bytes == way_bytes(n->w, number), "block %u has %llu bytes", number,
		  (unsigned long long)bytes);
	return b;
}

static void
place_way_block(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
		size_t len)
{
	struct wy_block *b = block;
	struct wy_node *n = user;
	(void)lane;
	INVARIANT(n->w->s, ONCE, len <= b->left, "more bytes than the block has");
	b->left -= len;
	while (len && offset < HEAD) {
		offset++;
		data++;
		len--;
	}
	const uint8_t *want = pattern + b->number % PATTERNS + (offset - HEAD);
	INVARIANT(n->w->s, BYTES, !len || memcmp(data, want, len) == 0,
		  "block %u of %u: wrong bytes at %llu", b->number, b->from,
		  (unsigned long long)offset);
}

static void
end_way_block(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct wy_node *n = user;
	struct wy_block *b = block;
	struct wy_peer *p = &n->peer[b->from];
	(void)lane;
	INVARIANT(n->w->s, BYTES, !b->left, "a block ends without some of its bytes");
	p->ended++;
	p->whole[b->number % WY_WINDOW] = true;
	p->gap_ns = base_max_ns(p->gap_ns, now_ns - p->heard_ns);
	p->heard_ns = now_ns;
	struct wy_block **at = &n->block;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	free(b);
}

static void
give_way_block(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct wy_node *n = user;
	uint32_t to = (uint32_t)(cookie >> 32), number = (uint32_t)cookie;
	struct wy_peer *p = &n->peer[to];
	const struct wy_node *it = &n->w->node[to];
	(void)lane, (void)now_ns;
	p->done++;
	INVARIANT(n->w->s, PLACED,
		  !ok || !it->alive || it->peer[n->index].lost ||
			  it->peer[n->index].whole[number % WY_WINDOW],
		  "block %u from %u to %u is done and never came", number, n->index, to);
}

/* ---- lanes, ways ---- */

static void
conf_way_lane(void *user, uint32_t whose, struct suci_lane_conf *c)
{
	const struct wy_node *n = user;
	c->window = 64;
	c->tx_salt = (uint64_t)n->index << 32 | whose;
	c->rx_salt = (uint64_t)whose << 32 | n->index;
}

static void
note_way_lane(void *user, uint32_t whose, uint32_t lane)
{
	((struct wy_node *)user)->peer_of[lane] = whose;
}

static void
lose_peer(void *user, uint32_t whose, enum door_client_lost why, const char *words)
{
	struct wy_node *n = user;
	(void)words;
	sim_log(n->w->s, "process %u: process %u is lost (%d)", n->index, whose, why);
	n->peer[whose].lost = true;
}

static const struct meet_ways_ops ways_ops = {
	.lane = conf_way_lane, .opened = note_way_lane, .lost = lose_peer, .wake = door_guest_wake};

static void
end_way_lane(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct wy_node *n = user;
	if (!n->alive)
		return;
	INVARIANT(n->w->s, HONEST, false, "process %u: a lane is unusable (%d): %s", n->index, why,
		  text);
	meet_ways_lane_down(&n->ways, n->peer_of[lane], n->w->s->now_ns);
}

static enum suci_verdict
way_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct wy_node *n = user;
	if (door_client_mine(&n->client, dst) == DOOR_CLIENT_NONE)
		return SUCI_DROPPED;
	return meet_ways_came(&n->ways, door_sites_at(&n->g.sites, path), src, n->w->s->now_ns);
}

/* ---- its relays ---- */

static void
site_came(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	  size_t hello_len, bool incoming)
{
	struct wy_node *n = user;
	uint64_t now = n->w->s->now_ns;
	(void)peer, (void)incoming;
	SIM_CHECK(n->w->s, door_sites_up(&n->g.sites, path, hello, hello_len, now), "no relay");
}

static void
site_went(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct wy_node *n = user;
	uint32_t site = door_sites_at(&n->g.sites, path);
	(void)text;
	if (!n->alive)
		return;
	sim_log(n->w->s, "process %u: its relay %u is gone (%d)", n->index, site, why);
	door_sites_down(&n->g.sites, site, true, n->w->s->now_ns);
	n->g.say_ns = 0;
}

static void
take_site_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct wy_node *n = user;
	(void)now_ns;
	door_client_note(&n->client, door_sites_at(&n->g.sites, path), note, len);
}

static const struct suci_lane_ops lane_ops_of_way = {.block_begin = begin_way_block,
						     .block_data = place_way_block,
						     .block_end = end_way_block,
						     .block_done = give_way_block,
						     .hold = door_guest_hold,
						     .release = door_guest_release,
						     .lane_down = end_way_lane,
						     .lane_unknown = way_unknown,
						     .accept = door_guest_refuse,
						     .path_up = site_came,
						     .path_down = site_went,
						     .note = take_site_note};

/* ---- what the client of doors tells ---- */

static void
way_door_opened(void *user, uint32_t own)
{
	struct wy_node *n = user;
	if (n->ways.mine != MEET_WAY_NONE)
		meet_ways_opened(&n->ways, n->w->s->now_ns);
	else if (n->own[own].state == DOOR_CLIENT_HAVE)
		meet_ways_from(&n->ways, own);
}

static void
way_reached(void *user, uint32_t import)
{
	struct wy_node *n = user;
	meet_ways_reached(&n->ways, import, n->w->s->now_ns);
}

static void
way_lost(void *user, uint32_t import, enum door_client_lost why)
{
	struct wy_node *n = user;
	meet_ways_lost(&n->ways, import, why, n->w->s->now_ns);
}

static void
way_caller_left(void *user, uint32_t site, uint32_t label)
{
	(void)user, (void)site, (void)label;
}

static const struct door_client_ops client_ops_of_way = {.say = door_guest_say,
							 .wake = door_guest_wake,
							 .opened = way_door_opened,
							 .reached = way_reached,
							 .lost = way_lost,
							 .left = way_caller_left};

/* ---- turns ---- */

static sim_fn wake_way;

static void
turn_ways(struct wy_node *n)
{
	uint64_t now = n->w->s->now_ns;
	if (now < n->g.say_ns)
		return;
	n->g.say_ns = BASE_NEVER_NS;
	meet_ways_turn(&n->ways, now);
	door_guest_turn(&n->g);
	n->g.say_ns = base_min_ns(n->g.say_ns, meet_ways_due(&n->ways));
}

static void
say_block(struct wy_node *n, uint32_t to)
{
	struct wy_peer *p = &n->peer[to];
	uint32_t way = meet_ways_of(&n->ways, to), number = p->said;
	uint8_t head[HEAD];
	if (way == MEET_WAY_NONE || !meet_ways_open(&n->ways, way, n->w->s->now_ns))
		return;
	be32_store(head, n->index);
	be32_store(head + 4, to);
	be32_store(head + 8, number);
	if (!suci_lane_send(n->g.lanes, n->way[way].lane, head, HEAD, pattern + number % PATTERNS,
			    way_bytes(n->w, number) - HEAD, number % 3 == 0,
			    (uint64_t)to << 32 | number, n->w->s->now_ns))
		p->said++;
}

static void
say_blocks(struct wy_node *n)
{
	struct wy *w = n->w;
	bool more = false;
	if (w->s->now_ns < n->send_ns)
		return;
	for (uint32_t i = 0; i < w->nnodes; i++) {
		struct wy_peer *p = &n->peer[i];
		if (!p->known || p->lost || p->said >= w->blocks)
			continue;
		more = true;
		if (p->said - p->done < WY_AHEAD)
			say_block(n, i);
	}
	n->send_ns =
		more ? w->s->now_ns + 1 + base_prng_below(&w->prng, w->pause_ns) : BASE_NEVER_NS;
}

static void
check_way_node(struct wy_node *n)
{
	if (++n->looks % 64)
		return;
	const char *what = meet_ways_check(&n->ways);
	INVARIANT(n->w->s, TABLES, !what, "process %u: %s", n->index, what);
	what = door_client_check(&n->client);
	INVARIANT(n->w->s, TABLES, !what, "process %u: %s", n->index, what);
	bool good = suci_lanes_check(n->g.lanes, &what);
	INVARIANT(n->w->s, TABLES, good, "process %u: %s", n->index, what);
}

static void
drive_way(struct wy_node *n)
{
	struct sim *s = n->w->s;
	for (uint32_t i = 0; i < 4; i++) {
		turn_ways(n);
		say_blocks(n);
		door_guest_send(&n->g);
		if (n->g.say_ns > s->now_ns)
			break;
	}
	check_way_node(n);
	door_guest_sleep(&n->g, n->send_ns, wake_way, n);
}

static void
wake_way(struct sim *s, void *who, uint64_t at)
{
	struct wy_node *n = who;
	(void)s;
	if (n->alive && door_guest_wakes(&n->g, at))
		drive_way(n);
}

static void
deliver_way(struct sim *s, void *who, uint64_t b)
{
	struct wy_node *n = who;
	(void)s;
	if (!n->alive) {
		door_guest_bounce(&n->g, b);
		return;
	}
	door_guest_take(&n->g, b);
	drive_way(n);
}

/* ---- beginning, ending ---- */

void
wy_start(struct wy_node *n)
{
	struct door_client_conf conf = {.ops = &client_ops_of_way, .user = n};
	door_guest_start(&n->g, &n->client, ++n->life, WY_LANES, &lane_ops_of_way);
	be64_store(conf.secret, base_prng_next(&n->w->prng));
	door_client_init(&n->client, &conf, n->own, 1, n->import, 4 * WY_NODES);
	meet_ways_init(&n->ways, &n->client, &n->g.sites, n->g.lanes, &ways_ops, n, n->way,
		       WY_NODES, WY_WAIT);
	n->alive = true;
	n->send_ns = BASE_NEVER_NS;
	(void)door_client_open(&n->client, 0, 1, 0x1111222233334444u, 0);
	drive_way(n);
}

void
wy_kill(struct wy_node *n)
{
	if (!n->alive)
		return;
	sim_log(n->w->s, "process %u dies", n->index);
	n->alive = false;
	suci_fini(n->g.ep, n->w->s->now_ns);
	door_guest_end(&n->g);
	while (n->block) {
		struct wy_block *b = n->block;
		n->block = b->next;
		free(b);
	}
}

void
wy_meet(struct wy_node *a, struct wy_node *b)
{
	struct wy_node *both[2] = {a, b};
	for (uint32_t k = 0; k < 2; k++) {
		struct wy_node *n = both[k], *it = both[1 - k];
		uint32_t way = meet_ways_to(&n->ways, it->index, &it->own[0].at, n->w->s->now_ns);
		BASE_ASSERT(way != MEET_WAY_NONE);
		n->peer[it->index].known = true;
		n->peer[it->index].heard_ns = n->w->s->now_ns;
		n->send_ns = 0;
	}
	drive_way(a);
	drive_way(b);
}

bool
wy_all_there(const struct wy *w)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		for (uint32_t k = 0; k < w->nnodes; k++) {
			const struct wy_peer *p = &w->node[i].peer[k];
			if (!p->known || p->lost || !w->node[i].alive || !w->node[k].alive)
				continue;
			if (p->done < p->said || w->node[k].peer[i].ended < p->said ||
			    (p->said < w->blocks && w->blocks != UINT32_MAX))
				return false;
		}
	return true;
}

struct wy *
wy_new(uint64_t seed, bool verbose, const struct doors_conf *c, uint32_t nodes)
{
	struct wy *w = calloc(1, sizeof *w);
	struct doors_conf none = *c;
	BASE_ASSERT(w && nodes <= WY_NODES && c->relays == DOOR_CLIENT_SITES);
	for (uint32_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(i * 131 + i / 251);
	none.procs = 0;
	w->d = doors_new(seed, verbose, &none);
	w->d->conf.procs = nodes;
	w->s = w->d->s;
	w->prng = base_prng_seed(seed ^ 0x77617973);
	w->nnodes = nodes;
	w->blocks = 200;
	w->pause_ns = 2 * BASE_MS_NS;
	w->node = calloc(nodes, sizeof *w->node);
	BASE_ASSERT(w->node);
	for (uint32_t i = 0; i < nodes; i++) {
		struct wy_node *n = &w->node[i];
		n->w = w;
		n->index = i;
		door_guest_place(&n->g, w->d, i, deliver_way, n);
		wy_start(n);
	}
	return w;
}

void
wy_pass(struct wy *w, uint64_t ns)
{
	doors_pass(w->d, ns);
}

void
wy_finish(struct wy *w, struct outcome *o)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		wy_kill(&w->node[i]);
	doors_finish(w->d, o);
	free(w->node);
	free(w);
}
