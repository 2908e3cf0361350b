/* SPDX-License-Identifier: BSD-2-Clause */
/* Roots and what they stand on: sim/meet.h.  Lanes, doors and lines are told of each other as in
 * libmpi/transport (net_ops.c, doors.c, doors_talk.c). */
#include "meet.h"

#include "pieces.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"

#include <stdio.h>
#include <stdlib.h>

#define IPV4	 0x0a000001u
#define HURRY_NS BASE_S_NS

/* ---- memory, lanes ---- */

static void *
take_memory(void *user, size_t bytes)
{
	struct mt_node *n = user;
	void *mem = malloc(bytes);
	BASE_ASSERT(mem);
	n->taken++;
	return mem;
}

static void
give_memory(void *user, void *mem)
{
	((struct mt_node *)user)->taken--;
	free(mem);
}

static void
lane_of_line(void *user, uint32_t site, uint32_t own, uint32_t label, struct suci_lane_conf *c)
{
	const struct mt_node *n = user;
	uint32_t mss = n->mss[site];
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		if (n->mss[k] && n->mss[k] < mss)
			mss = n->mss[k];
	*c = (struct suci_lane_conf){.path = n->path[site],
				     .tx_dst_label = label,
				     .tx_src_label = n->own[own].at.label,
				     .rx_dst_label = n->own[own].at.label,
				     .rx_src_label = label,
				     .crc = true,
				     .mss = mss,
				     .window = 64};
}

static void
note_lane(void *user, uint32_t lane, uint32_t line)
{
	((struct mt_node *)user)->line_of[lane] = line;
}

static void
wake_soon(void *user)
{
	((struct mt_node *)user)->say_ns = 0;
}

static uint32_t
import_for_root(void *user, const struct door_address *at, uint32_t own)
{
	return door_client_import(&((struct mt_node *)user)->client, at, own, DOORS_NONE);
}

static const struct meet_lines_ops lines_ops_of_root = {.take = take_memory,
							.give = give_memory,
							.lane = lane_of_line,
							.opened = note_lane,
							.import = import_for_root,
							.wake = wake_soon};

static void *
begin_block(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now_ns)
{
	struct mt_node *n = user;
	(void)first, (void)first_len, (void)now_ns;
	return meet_lines_block_begin(&n->lines, n->line_of[lane], bytes);
}

static void
place_block(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
	    size_t len)
{
	(void)user, (void)lane;
	meet_lines_block_data(block, offset, data, len);
}

static void
end_block(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct mt_node *n = user;
	(void)now_ns;
	meet_lines_block_end(&n->lines, n->line_of[lane], block);
}

static void
give_block(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct mt_node *n = user;
	(void)ok, (void)now_ns;
	meet_lines_block_done(&n->lines, n->line_of[lane], cookie);
}

static void
lose_lane(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct mt_node *n = user;
	(void)why, (void)text;
	meet_lines_lane_down(&n->lines, n->line_of[lane]);
}

static uint32_t
site_of_root(const struct mt_node *n, uint32_t path)
{
	for (uint32_t k = 0; k < n->w->d->conf.relays; k++)
		if (n->path[k] == path && path != MT_NONE)
			return k;
	return MT_NONE;
}

static enum suci_verdict
meet_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct mt_node *n = user;
	uint32_t own = door_client_mine(&n->client, dst);
	if (own == DOOR_CLIENT_NONE || own == n->mine)
		return SUCI_DROPPED;
	return meet_lines_came(&n->lines, site_of_root(n, path), own, src, n->w->s->now_ns);
}

static void
hold_for_root(void *user, uint64_t cookie)
{
	sim_hold(((struct mt_node *)user)->w->s, cookie);
}

static void
release_for_root(void *user, uint64_t cookie)
{
	sim_release(((struct mt_node *)user)->w->s, cookie);
}

/* ---- its relays ---- */

static void
come_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	size_t hello_len, bool incoming)
{
	struct mt_node *n = user;
	struct suci_path_info info;
	uint32_t mtu = 0, site = site_of_root(n, path);
	(void)peer, (void)incoming;
	BASE_ASSERT(door_client_is_relay(hello, hello_len, &mtu));
	BASE_ASSERT(suci_path_info(n->ep, path, &info));
	n->mss[site] = door_client_mss(info.mss, mtu);
	n->hurry_ns = n->w->s->now_ns + HURRY_NS;
	door_client_up(&n->client, site);
	if (n->mine == DOOR_CLIENT_NONE)
		n->mine = door_client_open(&n->client, 0, 1, MT_REALM, 0);
	n->say_ns = 0;
}

static void
tell_all(struct mt_node *n)
{
	for (uint32_t i = 0; i < n->client.imports; i++)
		if (n->import[i].state != DOOR_CLIENT_FREE && n->import[i].whose != DOORS_NONE)
			mt_root_told(n, n->import[i].whose);
}

/* No relay is left: a root opens another path then, and another port. */
static void
go_down_alone(struct mt_node *n, uint32_t site)
{
	tell_all(n);
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		meet_lines_over(&n->lines, k, true, n->w->s->now_ns);
	door_client_down(&n->client, site, false, n->w->s->now_ns);
	if (n->mine != DOOR_CLIENT_NONE)
		door_client_close(&n->client, n->mine);
	n->mine = DOOR_CLIENT_NONE;
	for (uint32_t i = 0; i < n->client.imports; i++)
		if (n->import[i].whose != DOORS_NONE)
			door_client_drop(&n->client, i);
}

/* As lmpi_doors_path_down(). */
static void
go_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct mt_node *n = user;
	uint32_t site = site_of_root(n, path);
	(void)text;
	if (!n->alive)
		return;
	sim_log(n->w->s, "root %u: its relay %u is gone (%u)", n->index, site, (unsigned)why);
	n->path[site] = MT_NONE;
	if (!n->client.site[1 - site].up) {
		go_down_alone(n, site);
	} else {
		meet_lines_over(&n->lines, site, false, n->w->s->now_ns);
		door_client_down(&n->client, site, true, n->w->s->now_ns);
	}
	n->say_ns = 0;
}

static void
take_notes(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct mt_node *n = user;
	(void)now_ns;
	door_client_note(&n->client, site_of_root(n, path), note, len);
}

static int
refuse_paths(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	     char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)hello_len;
	snprintf(why, SUCI_TEXT_MAX, "nobody opens paths to a root");
	return -1;
}

static const struct suci_lane_ops lane_ops_of_root = {.block_begin = begin_block,
						      .block_data = place_block,
						      .block_end = end_block,
						      .block_done = give_block,
						      .hold = hold_for_root,
						      .release = release_for_root,
						      .lane_down = lose_lane,
						      .lane_unknown = meet_unknown,
						      .accept = refuse_paths,
						      .path_up = come_up,
						      .path_down = go_down,
						      .note = take_notes};

/* ---- what the client of doors tells ---- */

static bool
say_to_relay(void *user, uint32_t site, const void *note, size_t len)
{
	struct mt_node *n = user;
	return !suci_path_note(n->ep, n->path[site], note, len, n->w->s->now_ns);
}

static void
hear_nothing(void *user, uint32_t which)
{
	(void)user, (void)which;
}

static void
reach_import(void *user, uint32_t import)
{
	struct mt_node *n = user;
	if (n->import[import].whose == DOORS_NONE)
		meet_lines_reached(&n->lines, import, n->w->s->now_ns);
}

static void
lose_import(void *user, uint32_t import, enum door_client_lost why)
{
	struct mt_node *n = user;
	uint32_t whose = n->import[import].whose;
	if (whose == DOORS_NONE) {
		meet_lines_lost(&n->lines, import, why, n->w->s->now_ns);
		return;
	}
	/* With two relays it is asked for anew, there or here, before anybody is told. */
	if (why == DOOR_CLIENT_RESET && n->w->d->conf.relays > 1)
		return;
	mt_root_told(n, whose);
	door_client_drop(&n->client, import);
}

static void
hear_gone(void *user, uint32_t site, uint32_t label)
{
	struct mt_node *n = user;
	meet_lines_gone(&n->lines, site, label, n->w->s->now_ns);
}

static const struct door_client_ops client_ops_of_root = {.say = say_to_relay,
							  .wake = wake_soon,
							  .opened = hear_nothing,
							  .reached = reach_import,
							  .lost = lose_import,
							  .left = hear_gone};

/* ---- turns ---- */

static sim_fn wake_root;

static struct doors_relay *
relay_of(const struct mt_node *n, uint32_t site)
{
	return &n->w->d->relay[n->cluster + site * n->w->d->conf.nclusters];
}

static void
open_relay_path(struct mt_node *n, uint32_t site)
{
	uint8_t hello[RELAY_HELLO_LEN];
	struct suci_addr to = relay_addr_v4(relay_of(n, site)->ipv4[RELAY_LEG_PRIVATE], UDP_PORT,
					    RELAY_LEG_PRIVATE);
	door_client_hello(hello);
	if (suci_path_open(n->ep, &to, hello, sizeof hello, &n->path[site], n->w->s->now_ns))
		n->path[site] = MT_NONE;
	else
		door_client_coming(&n->client, site);
}

static void
seek_root_relays(struct mt_node *n)
{
	uint64_t now = n->w->s->now_ns;
	for (uint32_t k = 0; k < n->w->d->conf.relays; k++) {
		uint64_t retry = n->client.site[k].retry_ns;
		if (n->path[k] == MT_NONE && now >= retry)
			open_relay_path(n, k);
		if (n->path[k] == MT_NONE)
			n->say_ns = base_min_ns(n->say_ns,
						base_max_ns(retry, now + DOOR_CLIENT_SOON_NS));
	}
}

static void
turn_doors(struct mt_node *n)
{
	uint64_t now = n->w->s->now_ns;
	if (now < n->say_ns)
		return;
	n->say_ns = BASE_NEVER_NS;
	if (now >= n->hurry_ns) {
		n->hurry_ns = BASE_NEVER_NS;
		door_client_hurry(&n->client);
	}
	meet_lines_turn(&n->lines, now);
	if (n->client.up && !door_client_turn(&n->client))
		n->say_ns = now + DOOR_CLIENT_SOON_NS;
	n->say_ns = base_min_ns(n->say_ns, meet_lines_due(&n->lines));
	if (n->w->d->conf.relays > 1)
		n->say_ns = base_min_ns(n->say_ns, n->hurry_ns);
	seek_root_relays(n);
}

static void
send_all(struct mt_node *n)
{
	static struct suci_out out;
	while (!n->w->s->failed && suci_tx(n->ep, &out, n->w->s->now_ns)) {
		struct sim_piece piece[3];
		sim_pieces(n->ep, &out, piece);
		sim_send(n->w->s, n->port, doors_ipv4_to(&out), piece, 3);
	}
}

void
mt_drive(struct mt_node *n)
{
	struct sim *s = n->w->s;
	for (uint32_t i = 0; n->alive && i < 4; i++) {
		mt_root_turn(n);
		turn_doors(n);
		send_all(n);
		if (n->say_ns > s->now_ns)
			break;
	}
	if (!n->alive)
		return;
	uint64_t at = base_min_ns(base_min_ns(suci_expiry_ns(n->ep), n->say_ns), mt_root_due(n));
	if (at != BASE_NEVER_NS && at != n->wake_ns) {
		n->wake_ns = at;
		sim_at(s, base_max_ns(at, s->now_ns), wake_root, n, at);
	}
}

static void
wake_root(struct sim *s, void *who, uint64_t at)
{
	struct mt_node *n = who;
	if (!n->alive || at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	suci_tick(n->ep, s->now_ns);
	mt_drive(n);
}

/* Nobody is there: its node says so. */
static void
bounce_to_relay(struct sim *s, void *who, uint64_t b)
{
	struct mt_node *n = who;
	struct suci_addr at = relay_addr_v4(n->ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	for (uint32_t k = 0; k < n->w->d->conf.relays; k++) {
		struct doors_relay *r = relay_of(n, k);
		if (!r->alive || r->port[RELAY_LEG_PRIVATE] != s->buf[b].from)
			continue;
		suci_path_unreachable(r->ep, &at, s->buf[b].data, s->buf[b].len, s->now_ns);
		doors_drive_relay(r);
	}
}

static void
deliver_root(struct sim *s, void *who, uint64_t b)
{
	struct mt_node *n = who;
	const struct sim_buf *buf = &s->buf[b];
	if (!n->alive) {
		bounce_to_relay(s, who, b);
		return;
	}
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	suci_rx(n->ep, &from, buf->data, buf->len, b, s->now_ns);
	mt_drive(n);
}

/* ---- beginning, ending ---- */

void
mt_start(struct mt_node *n)
{
	struct sim *s = n->w->s;
	struct suci_lanes_config l = {.limits = {.lanes_max = MT_LANES,
						 .blocks_max = 512,
						 .rx_blocks_max = 128,
						 .held_max = 1024,
						 .ranges_max = 512,
						 .labels_max = 1,
						 .buckets = 256},
				      .ops = &lane_ops_of_root,
				      .user = n};
	struct suci_config c = doors_endpoint_conf(n->w->d, 64, n->ipv4, ++n->life);
	struct door_client_conf conf = {.ops = &client_ops_of_root, .user = n};
	n->lanes_mem = doors_memory(suci_lanes_footprint(&l.limits));
	n->lanes = suci_lanes_new(n->lanes_mem, &l);
	c.ops = suci_lanes_ops();
	c.user = n->lanes;
	n->ep_mem = doors_memory(suci_footprint(&c.limits));
	n->ep = suci_new(n->ep_mem, &c, s->now_ns);
	BASE_ASSERT(n->lanes && n->ep);
	suci_lanes_bind(n->lanes, n->ep);
	be64_store(conf.secret, base_prng_next(&n->w->prng));
	memset(n->own, 0, sizeof n->own);
	memset(n->import, 0, sizeof n->import);
	door_client_init(&n->client, &conf, n->own, MT_OWNS, n->import, MT_IMPORTS);
	meet_lines_init(&n->lines, &n->client, n->lanes, &lines_ops_of_root, n, MT_WAIT_NS);
	n->alive = true;
	n->open = false;
	n->path[0] = n->path[1] = MT_NONE;
	n->mine = n->port_door = DOOR_CLIENT_NONE;
	n->nbacklog = 0;
	n->wake_ns = n->hurry_ns = BASE_NEVER_NS;
	n->say_ns = 0;
	n->root.act = MT_REST;
	mt_drive(n);
}

/* Streams are hung up by the kernel; who is connected there hears of that. */
static void
hang_up_all(struct mt_node *n)
{
	struct mt *w = n->w;
	for (uint32_t i = 0; i < MT_PIPES; i++)
		if (w->pipe[i].used && (w->pipe[i].end[0] == n || w->pipe[i].end[1] == n))
			mt_pipe_close(w, i, n);
	for (uint32_t i = 0; i < w->ntries; i++) {
		struct mt_try *t = &w->try[i];
		if (!t->far && t->to == n->index && t->to_life == n->life)
			t->connector_told = true;
		if (!t->far && t->from == n->index && t->from_life == n->life)
			t->acceptor_told = true;
	}
}

void
mt_kill(struct mt_node *n)
{
	if (!n->alive)
		return;
	sim_log(n->w->s, "root %u dies", n->index);
	n->alive = n->open = false;
	hang_up_all(n);
	mt_root_end(n);
	suci_fini(n->ep, n->w->s->now_ns);
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		meet_lines_over(&n->lines, k, true, n->w->s->now_ns);
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++)
		if (n->lines.line[i].state != MEET_LINE_FREE) {
			n->lines.line[i].unacked = 0;
			meet_lines_hang_up(&n->lines, i, n->w->s->now_ns);
		}
	INVARIANT(n->w->s, EMPTY, !n->taken, "root %u: %llu pieces of memory are left", n->index,
		  (unsigned long long)n->taken);
	(void)suci_lanes_fini(n->lanes);
	free(n->ep_mem);
	free(n->lanes_mem);
}

struct mt *
mt_new(uint64_t seed, bool verbose, const struct doors_conf *c, uint32_t nodes)
{
	struct mt *w = calloc(1, sizeof *w);
	struct doors_conf none = *c;
	BASE_ASSERT(w && nodes <= MT_NODES);
	none.procs = 0;
	w->d = doors_new(seed, verbose, &none);
	w->d->conf.procs = nodes;
	w->s = w->d->s;
	w->prng = base_prng_seed(seed ^ 0x6d656574);
	w->nnodes = nodes;
	w->node = calloc(nodes, sizeof *w->node);
	BASE_ASSERT(w->node);
	for (uint32_t i = 0; i < nodes; i++) {
		struct mt_node *n = &w->node[i];
		struct sim_link_conf lan = {.delay_ns = c->lan_ns};
		n->w = w;
		n->index = i;
		n->cluster = i % c->nclusters;
		n->ipv4 = IPV4 + i / c->nclusters;
		n->port = sim_add_port(w->s, n, deliver_root, n->cluster, n->ipv4);
		for (uint32_t k = 0; k < c->relays; k++) {
			uint32_t out = sim_add_link(w->s, &lan), in = sim_add_link(w->s, &lan);
			uint32_t relay = relay_of(n, k)->port[RELAY_LEG_PRIVATE];
			sim_set_route(w->s, n->port, relay, &out, 1);
			sim_set_route(w->s, relay, n->port, &in, 1);
		}
		mt_start(n);
	}
	return w;
}

void
mt_pass(struct mt *w, uint64_t ns)
{
	doors_pass(w->d, ns);
}

void
mt_finish(struct mt *w, struct outcome *o)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		mt_kill(&w->node[i]);
	doors_finish(w->d, o);
	mt_pipes_free(w);
	free(w->node);
	free(w);
}
