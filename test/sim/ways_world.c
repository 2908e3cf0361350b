/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that have met, and what they stand on: sim/ways.h.  Ways, doors and lanes are told of
 * each other as in libmpi/transport (net_ops.c, doors.c). */
#include "ways.h"

#include "draw.h"
#include "pieces.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IPV4	 0x0a000001u
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

static void
wake_ways(void *user)
{
	((struct wy_node *)user)->say_ns = 0;
}

static const struct meet_ways_ops ways_ops = {
	.lane = conf_way_lane, .opened = note_way_lane, .lost = lose_peer, .wake = wake_ways};

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

static uint32_t
site_of_path(const struct wy_node *n, uint32_t path)
{
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		if (n->path[k] == path && path != WY_NONE)
			return k;
	return WY_NONE;
}

static enum suci_verdict
way_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct wy_node *n = user;
	if (door_client_mine(&n->client, dst) == DOOR_CLIENT_NONE)
		return SUCI_DROPPED;
	return meet_ways_came(&n->ways, site_of_path(n, path), src, n->w->s->now_ns);
}

static void
hold_for_way(void *user, uint64_t cookie)
{
	sim_hold(((struct wy_node *)user)->w->s, cookie);
}

static void
release_for_way(void *user, uint64_t cookie)
{
	sim_release(((struct wy_node *)user)->w->s, cookie);
}

/* ---- its relays ---- */

static void
site_came(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	  size_t hello_len, bool incoming)
{
	struct wy_node *n = user;
	struct suci_path_info info;
	uint32_t mtu = 0, site = site_of_path(n, path);
	(void)peer, (void)incoming;
	BASE_ASSERT(door_client_is_relay(hello, hello_len, &mtu));
	BASE_ASSERT(suci_path_info(n->ep, path, &info));
	meet_ways_up(&n->ways, site, path, door_client_mss(info.mss, mtu));
	door_client_up(&n->client, site);
}

static void
site_went(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct wy_node *n = user;
	uint32_t site = site_of_path(n, path);
	(void)text;
	if (!n->alive)
		return;
	sim_log(n->w->s, "process %u: its relay %u is gone (%d)", n->index, site, why);
	n->path[site] = WY_NONE;
	meet_ways_down(&n->ways, site);
	door_client_down(&n->client, site, true, n->w->s->now_ns);
	n->say_ns = 0;
}

static void
take_site_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct wy_node *n = user;
	(void)now_ns;
	door_client_note(&n->client, site_of_path(n, path), note, len);
}

static int
refuse_way_paths(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
		 char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)hello_len;
	snprintf(why, SUCI_TEXT_MAX, "nobody opens paths to a process");
	return -1;
}

static const struct suci_lane_ops lane_ops_of_way = {.block_begin = begin_way_block,
						     .block_data = place_way_block,
						     .block_end = end_way_block,
						     .block_done = give_way_block,
						     .hold = hold_for_way,
						     .release = release_for_way,
						     .lane_down = end_way_lane,
						     .lane_unknown = way_unknown,
						     .accept = refuse_way_paths,
						     .path_up = site_came,
						     .path_down = site_went,
						     .note = take_site_note};

/* ---- what the client of doors tells ---- */

static bool
say_to_site(void *user, uint32_t site, const void *note, size_t len)
{
	struct wy_node *n = user;
	return !suci_path_note(n->ep, n->path[site], note, len, n->w->s->now_ns);
}

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

static const struct door_client_ops client_ops_of_way = {.say = say_to_site,
							 .wake = wake_ways,
							 .opened = way_door_opened,
							 .reached = way_reached,
							 .lost = way_lost,
							 .left = way_caller_left};

/* ---- turns ---- */

static sim_fn wake_way;

static struct doors_relay *
relay_of_site(const struct wy_node *n, uint32_t site)
{
	return &n->w->d->relay[n->cluster + site * n->w->d->conf.nclusters];
}

static void
call_relays(struct wy_node *n)
{
	uint64_t now = n->w->s->now_ns;
	uint8_t hello[RELAY_HELLO_LEN];
	door_client_hello(hello);
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		if (n->path[k] != WY_NONE)
			continue;
		uint64_t retry = n->client.site[k].retry_ns;
		struct suci_addr to = relay_addr_v4(relay_of_site(n, k)->ipv4[RELAY_LEG_PRIVATE],
						    UDP_PORT, RELAY_LEG_PRIVATE);
		if (now >= retry &&
		    !suci_path_open(n->ep, &to, hello, sizeof hello, &n->path[k], now))
			door_client_coming(&n->client, k);
		else
			n->say_ns = base_min_ns(n->say_ns, base_max_ns(retry, now + BASE_MS_NS));
	}
}

static void
turn_ways(struct wy_node *n)
{
	uint64_t now = n->w->s->now_ns;
	if (now < n->say_ns)
		return;
	n->say_ns = BASE_NEVER_NS;
	meet_ways_turn(&n->ways, now);
	if (n->client.up && !door_client_turn(&n->client))
		n->say_ns = now + DOOR_CLIENT_SOON_NS;
	n->say_ns = base_min_ns(n->say_ns, meet_ways_due(&n->ways));
	call_relays(n);
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
	if (!suci_lane_send(n->lanes, n->way[way].lane, head, HEAD, pattern + number % PATTERNS,
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
say_datagrams(struct wy_node *n)
{
	static struct suci_out out;
	while (!n->w->s->failed && suci_tx(n->ep, &out, n->w->s->now_ns)) {
		struct sim_piece piece[3];
		sim_pieces(n->ep, &out, piece);
		sim_send(n->w->s, n->port, doors_ipv4_to(&out), piece, 3);
	}
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
	bool good = suci_lanes_check(n->lanes, &what);
	INVARIANT(n->w->s, TABLES, good, "process %u: %s", n->index, what);
}

static void
drive_way(struct wy_node *n)
{
	struct sim *s = n->w->s;
	for (uint32_t i = 0; i < 4; i++) {
		turn_ways(n);
		say_blocks(n);
		say_datagrams(n);
		if (n->say_ns > s->now_ns)
			break;
	}
	check_way_node(n);
	uint64_t at = base_min_ns(base_min_ns(suci_expiry_ns(n->ep), n->say_ns), n->send_ns);
	if (at != BASE_NEVER_NS && at != n->wake_ns) {
		n->wake_ns = at;
		sim_at(s, base_max_ns(at, s->now_ns), wake_way, n, at);
	}
}

static void
wake_way(struct sim *s, void *who, uint64_t at)
{
	struct wy_node *n = who;
	if (!n->alive || at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	suci_tick(n->ep, s->now_ns);
	drive_way(n);
}

/* Nobody is there: its node says so. */
static void
bounce_way(struct wy_node *n, const struct sim_buf *buf)
{
	struct suci_addr at = relay_addr_v4(n->ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		struct doors_relay *r = relay_of_site(n, k);
		if (!r->alive || r->port[RELAY_LEG_PRIVATE] != buf->from)
			continue;
		suci_path_unreachable(r->ep, &at, buf->data, buf->len, n->w->s->now_ns);
		doors_drive_relay(r);
	}
}

static void
deliver_way(struct sim *s, void *who, uint64_t b)
{
	struct wy_node *n = who;
	const struct sim_buf *buf = &s->buf[b];
	if (!n->alive) {
		bounce_way(n, buf);
		return;
	}
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	suci_rx(n->ep, &from, buf->data, buf->len, b, s->now_ns);
	drive_way(n);
}

/* ---- beginning, ending ---- */

void
wy_start(struct wy_node *n)
{
	struct sim *s = n->w->s;
	struct suci_lanes_config l = {.limits = {.lanes_max = WY_LANES,
						 .blocks_max = 512,
						 .rx_blocks_max = 128,
						 .held_max = 1024,
						 .ranges_max = 512,
						 .labels_max = 1,
						 .buckets = 256},
				      .ops = &lane_ops_of_way,
				      .user = n};
	struct suci_config c = doors_endpoint_conf(n->w->d, 64, n->ipv4, ++n->life);
	struct door_client_conf conf = {.ops = &client_ops_of_way, .user = n};
	n->lanes_mem = doors_memory(suci_lanes_footprint(&l.limits));
	n->lanes = suci_lanes_new(n->lanes_mem, &l);
	c.ops = suci_lanes_ops();
	c.user = n->lanes;
	n->ep_mem = doors_memory(suci_footprint(&c.limits));
	n->ep = suci_new(n->ep_mem, &c, s->now_ns);
	BASE_ASSERT(n->lanes && n->ep);
	suci_lanes_bind(n->lanes, n->ep);
	be64_store(conf.secret, base_prng_next(&n->w->prng));
	door_client_init(&n->client, &conf, n->own, 1, n->import, 4 * WY_NODES);
	meet_ways_init(&n->ways, &n->client, n->lanes, &ways_ops, n, n->way, WY_NODES, WY_WAIT);
	n->path[0] = n->path[1] = WY_NONE;
	n->alive = true;
	n->wake_ns = n->send_ns = BASE_NEVER_NS;
	n->say_ns = 0;
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
	suci_fini(n->ep, n->w->s->now_ns);
	(void)suci_lanes_fini(n->lanes);
	free(n->ep_mem);
	free(n->lanes_mem);
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
		struct sim_link_conf lan = {.delay_ns = c->lan_ns};
		n->w = w;
		n->index = i;
		n->cluster = i % c->nclusters;
		n->ipv4 = IPV4 + i / c->nclusters;
		n->port = sim_add_port(w->s, n, deliver_way, n->cluster, n->ipv4);
		for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
			uint32_t out = sim_add_link(w->s, &lan), in = sim_add_link(w->s, &lan);
			uint32_t relay = relay_of_site(n, k)->port[RELAY_LEG_PRIVATE];
			sim_set_route(w->s, n->port, relay, &out, 1);
			sim_set_route(w->s, relay, n->port, &in, 1);
		}
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
