/* SPDX-License-Identifier: BSD-2-Clause */
/* Roots and what they stand on: sim/meet.h.  Lanes, doors and lines are told of each other as in
 * libmpi/transport (net_ops.c, doors.c, doors_talk.c). */
#include "meet.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>

#define SEEK_NS BASE_S_NS

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
	*c = door_sites_lane(&n->g.sites, site, n->own[own].at.label, label);
	c->window = 64;
}

static void
note_lane(void *user, uint32_t lane, uint32_t line)
{
	((struct mt_node *)user)->line_of[lane] = line;
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
							.wake = door_guest_wake};

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

static enum suci_verdict
meet_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct mt_node *n = user;
	uint32_t own = door_client_mine(&n->client, dst);
	if (own == DOOR_CLIENT_NONE || own == n->mine)
		return SUCI_DROPPED;
	return meet_lines_came(&n->lines, door_sites_at(&n->g.sites, path), own, src,
			       n->w->s->now_ns);
}

/* ---- its relays ---- */

static void
come_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	size_t hello_len, bool incoming)
{
	struct mt_node *n = user;
	uint64_t now = n->w->s->now_ns;
	(void)peer, (void)incoming;
	SIM_CHECK(n->w->s, door_sites_up(&n->g.sites, path, hello, hello_len, now), "no relay");
	if (n->mine == DOOR_CLIENT_NONE)
		n->mine = door_client_open(&n->client, 0, 1, MT_REALM, 0);
	n->g.say_ns = 0;
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
	door_sites_down(&n->g.sites, site, false, n->w->s->now_ns);
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
	uint32_t site = door_sites_at(&n->g.sites, path);
	(void)text;
	if (!n->alive)
		return;
	sim_log(n->w->s, "root %u: its relay %u is gone (%u)", n->index, site, (unsigned)why);
	if (!n->client.site[1 - site].up) {
		go_down_alone(n, site);
	} else {
		meet_lines_over(&n->lines, site, false, n->w->s->now_ns);
		door_sites_down(&n->g.sites, site, true, n->w->s->now_ns);
	}
	n->g.say_ns = 0;
}

static void
take_notes(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct mt_node *n = user;
	(void)now_ns;
	door_client_note(&n->client, door_sites_at(&n->g.sites, path), note, len);
}

static const struct suci_lane_ops lane_ops_of_root = {.block_begin = begin_block,
						      .block_data = place_block,
						      .block_end = end_block,
						      .block_done = give_block,
						      .hold = door_guest_hold,
						      .release = door_guest_release,
						      .lane_down = lose_lane,
						      .lane_unknown = meet_unknown,
						      .accept = door_guest_refuse,
						      .path_up = come_up,
						      .path_down = go_down,
						      .note = take_notes};

/* ---- what the client of doors tells ---- */

/* As door_opened() of libmpi/transport/doors.c: who had that address may not be forgotten yet. */
static void
hear_opened(void *user, uint32_t own)
{
	struct mt_node *n = user;
	if (n->own[own].state == DOOR_CLIENT_HAVE || own == n->mine || !n->own[own].keeps)
		return;
	n->seek_ns = n->w->s->now_ns + SEEK_NS;
	n->g.say_ns = 0;
}

static void
seek_doors(struct mt_node *n)
{
	n->seek_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < n->client.owns; i++)
		if (i != n->mine)
			(void)door_client_again(&n->client, i);
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

static const struct door_client_ops client_ops_of_root = {.say = door_guest_say,
							  .wake = door_guest_wake,
							  .opened = hear_opened,
							  .reached = reach_import,
							  .lost = lose_import,
							  .left = hear_gone};

/* ---- turns ---- */

static sim_fn wake_root;

static void
turn_doors(struct mt_node *n)
{
	uint64_t now = n->w->s->now_ns;
	if (now < n->g.say_ns)
		return;
	n->g.say_ns = BASE_NEVER_NS;
	if (now >= n->seek_ns && n->client.up)
		seek_doors(n);
	meet_lines_turn(&n->lines, now);
	door_guest_turn(&n->g);
	n->g.say_ns = base_min_ns(n->g.say_ns, meet_lines_due(&n->lines));
	if (n->client.up)
		n->g.say_ns = base_min_ns(n->g.say_ns, n->seek_ns);
}

void
mt_drive(struct mt_node *n)
{
	struct sim *s = n->w->s;
	for (uint32_t i = 0; n->alive && i < 4; i++) {
		mt_root_turn(n);
		turn_doors(n);
		door_guest_send(&n->g);
		if (n->g.say_ns > s->now_ns)
			break;
	}
	if (!n->alive)
		return;
	door_guest_sleep(&n->g, mt_root_due(n), wake_root, n);
}

static void
wake_root(struct sim *s, void *who, uint64_t at)
{
	struct mt_node *n = who;
	(void)s;
	if (n->alive && door_guest_wakes(&n->g, at))
		mt_drive(n);
}

static void
deliver_root(struct sim *s, void *who, uint64_t b)
{
	struct mt_node *n = who;
	(void)s;
	if (!n->alive) {
		door_guest_bounce(&n->g, b);
		return;
	}
	door_guest_take(&n->g, b);
	mt_drive(n);
}

/* ---- beginning, ending ---- */

void
mt_start(struct mt_node *n)
{
	struct door_client_conf conf = {.ops = &client_ops_of_root, .user = n};
	door_guest_start(&n->g, &n->client, ++n->life, MT_LANES, &lane_ops_of_root);
	be64_store(conf.secret, base_prng_next(&n->w->prng));
	memset(n->own, 0, sizeof n->own);
	memset(n->import, 0, sizeof n->import);
	door_client_init(&n->client, &conf, n->own, MT_OWNS, n->import, MT_IMPORTS);
	meet_lines_init(&n->lines, &n->client, n->g.lanes, &lines_ops_of_root, n, MT_WAIT_NS);
	n->alive = true;
	n->open = false;
	n->mine = n->port_door = DOOR_CLIENT_NONE;
	n->nbacklog = 0;
	n->seek_ns = BASE_NEVER_NS;
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
	suci_fini(n->g.ep, n->w->s->now_ns);
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		meet_lines_over(&n->lines, k, true, n->w->s->now_ns);
	for (uint32_t i = 0; i < MEET_LINES_MAX; i++)
		if (n->lines.line[i].state != MEET_LINE_FREE) {
			n->lines.line[i].unacked = 0;
			meet_lines_hang_up(&n->lines, i, n->w->s->now_ns);
		}
	INVARIANT(n->w->s, EMPTY, !n->taken, "root %u: %llu pieces of memory are left", n->index,
		  (unsigned long long)n->taken);
	door_guest_end(&n->g);
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
		n->w = w;
		n->index = i;
		door_guest_place(&n->g, w->d, i, deliver_root, n);
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
