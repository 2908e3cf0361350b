/* SPDX-License-Identifier: BSD-2-Clause */
/* meet_lines_kit.h - two processes with lines (meet/lines.h) on lanes and clients of doors, in
 * virtual time, and the relay that carries the doors of both: it answers notes, and tells who is
 * held or imported that the other door has left.  Segments go over a path of their own. */
#ifndef MEET_LINES_KIT_H
#define MEET_LINES_KIT_H

#include "test_suci_link.h"

#include "meet/lines.h"
#include "suci/lane.h"

#define KIT_REALM  7u
#define KIT_LABEL0 64u
#define KIT_OWNS   (2 * MEET_LINES_MAX + 8)
#define KIT_LANES  (2 * MEET_LINES_MAX)
#define KIT_LABELS 4096u

struct kit_end {
	struct kit *k;
	struct suci_lanes *lanes;
	uint32_t path;
	struct door_client client;
	struct door_client_own own[KIT_OWNS];
	struct door_client_import import[KIT_OWNS];
	struct meet_lines lines;
	uint32_t line_of[KIT_LANES];
	uint32_t port; /* its door; NONE: closed */
	uint32_t taken, wakes, opened;
	bool poor; /* there is no memory */
	enum suci_verdict verdict;
	/* What the relay knows. */
	uint32_t held[KIT_LABELS]; /* times HOLD */
	struct {
		uint32_t label, request; /* request 0: none */
	} called[2 * KIT_OWNS];
};

struct kit_note {
	struct kit_note *next;
	struct kit_end *to;
	size_t len;
	uint8_t bytes[RELAY_DOOR_NOTE_MAX];
};

struct kit {
	struct link l;
	struct kit_end end[2];
	struct kit_end *whose[KIT_LABELS]; /* which has that door now */
	uint32_t labels, turns;
	struct kit_note *first, **last;
};

static bool kit_two; /* doors are at two relays, as their addresses say */

/* ---- the relay ---- */

static inline void
kit_answer(struct kit_end *to, const struct relay_door_note *n)
{
	struct kit_note *a = calloc(1, sizeof *a);

	assert_non_null(a);
	a->to = to;
	a->len = relay_door_encode(n, a->bytes);
	*to->k->last = a;
	to->k->last = &a->next;
}

static inline void
kit_register(struct kit_end *e, const struct relay_door_note *n)
{
	struct kit *k = e->k;
	struct door_address at = {.realm = n->realm,
				  .token = n->token,
				  .label = KIT_LABEL0 + k->labels++ % (KIT_LABELS - KIT_LABEL0),
				  .n = 1,
				  .nrelays = 1,
				  .relay = {{0xc0000201, 7812}}};
	uint8_t bytes[DOOR_ADDRESS_MAX];
	struct relay_door_note a = {
		.op = RELAY_DOOR_ADDRESS, .request = n->request, .label = at.label, .n = 1};

	if (kit_two) {
		at.nrelays = 2;
		at.relay[1] = (struct door_relay){0xc0000202, 7812};
	}
	k->whose[at.label] = e;
	a.address = (struct relay_door_bytes){bytes, (uint8_t)door_address_encode(&at, bytes)};
	assert_true(a.address.len > 0);
	kit_answer(e, &a);
}

/* A door is there no more: who is called from there, or calls there, hears of it. */
static inline void
kit_leave(struct kit *k, uint32_t label)
{
	k->whose[label] = NULL;
	for (int i = 0; i < 2; i++) {
		struct kit_end *e = &k->end[i];
		struct relay_door_note gone = {.op = RELAY_DOOR_GONE, .label = label};
		if (e->held[label])
			kit_answer(e, &gone);
		e->held[label] = 0;
		for (uint32_t c = 0; c < 2 * KIT_OWNS; c++) {
			gone.request = e->called[c].request;
			if (!gone.request || e->called[c].label != label)
				continue;
			kit_answer(e, &gone);
			e->called[c].request = 0;
		}
	}
}

static inline void
kit_grant(struct kit_end *e, const struct relay_door_note *n)
{
	struct door_address at;
	uint32_t c = 0;

	assert_int_equal(door_address_decode(n->address.at, n->address.len, &at), 0);
	bool there = e->k->whose[at.label];
	while (there && e->called[c].request)
		assert_true(++c < 2 * KIT_OWNS);
	if (there) {
		e->called[c].label = at.label;
		e->called[c].request = n->request;
	}
	kit_answer(e,
		   &(struct relay_door_note){.op = there ? RELAY_DOOR_IMPORTED : RELAY_DOOR_REFUSED,
					     .request = n->request,
					     .label = there ? at.label : 0,
					     .n = 1});
}

/* All imports begin anew, as after another relay of theirs has died. */
static inline void
kit_turn(struct kit *k)
{
	k->turns++;
	for (int i = 0; i < 2; i++)
		for (uint32_t c = 0; c < 2 * KIT_OWNS; c++)
			if (k->end[i].called[c].request)
				kit_answer(&k->end[i],
					   &(struct relay_door_note){
						   .op = RELAY_DOOR_IMPORTED,
						   .request = k->end[i].called[c].request,
						   .label = k->end[i].called[c].label,
						   .n = 1,
						   .turn = (uint16_t)k->turns});
}

/* Of an import, or of who is held. */
static inline void
kit_drop(struct kit_end *e, const struct relay_door_note *n)
{
	if (!n->request)
		e->held[n->label] = 0;
	for (uint32_t c = 0; n->request && c < 2 * KIT_OWNS; c++)
		if (e->called[c].request == n->request)
			e->called[c].request = 0;
}

static inline bool
kit_say(void *user, uint32_t site, const void *note, size_t len)
{
	struct kit_end *e = user;
	struct relay_door_note n;

	assert_int_equal(site, 0);
	assert_int_equal(relay_door_decode(note, len, &n), 0);
	if (n.op == RELAY_DOOR_REGISTER)
		kit_register(e, &n);
	if (n.op == RELAY_DOOR_LEAVE)
		kit_leave(e->k, n.label);
	if (n.op == RELAY_DOOR_HOLD && e->k->whose[n.label])
		e->held[n.label]++;
	else if (n.op == RELAY_DOOR_HOLD)
		kit_answer(e, &(struct relay_door_note){.op = RELAY_DOOR_GONE, .label = n.label});
	if (n.op == RELAY_DOOR_DROP)
		kit_drop(e, &n);
	if (n.op == RELAY_DOOR_IMPORT)
		kit_grant(e, &n);
	return true;
}

/* ---- memory, lanes ---- */

static inline void *
kit_take(void *user, size_t bytes)
{
	struct kit_end *e = user;
	void *mem = e->poor ? NULL : malloc(bytes);

	e->taken += mem != NULL;
	return mem;
}

static inline void
kit_give(void *user, void *mem)
{
	((struct kit_end *)user)->taken--;
	free(mem);
}

static inline void
kit_lane(void *user, uint32_t site, uint32_t own, uint32_t label, struct suci_lane_conf *c)
{
	const struct kit_end *e = user;
	uint32_t mine = e->own[own].at.label;
	(void)site;

	*c = (struct suci_lane_conf){.path = e->path,
				     .tx_dst_label = label,
				     .tx_src_label = mine,
				     .rx_dst_label = mine,
				     .rx_src_label = label,
				     .crc = true,
				     .window = 64};
}

static inline void
kit_opened(void *user, uint32_t lane, uint32_t line)
{
	struct kit_end *e = user;

	e->opened++;
	e->line_of[lane] = line;
}

static inline void
kit_wake(void *user)
{
	((struct kit_end *)user)->wakes++;
}

static inline uint32_t
kit_import(void *user, const struct door_address *at, uint32_t own)
{
	struct kit_end *e = user;
	return e->poor ? DOOR_CLIENT_NONE : door_client_import(&e->client, at, own, 0);
}

static const struct meet_lines_ops kit_lines_ops = {.take = kit_take,
						    .give = kit_give,
						    .lane = kit_lane,
						    .opened = kit_opened,
						    .import = kit_import,
						    .wake = kit_wake};

static inline void *
kit_block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
		uint64_t now_ns)
{
	struct kit_end *e = user;
	(void)first, (void)first_len, (void)now_ns;
	return meet_lines_block_begin(&e->lines, e->line_of[lane], bytes);
}

static inline void
kit_block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
	       size_t len)
{
	(void)user, (void)lane;
	meet_lines_block_data(block, offset, data, len);
}

static inline void
kit_block_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct kit_end *e = user;
	(void)now_ns;
	meet_lines_block_end(&e->lines, e->line_of[lane], block);
}

static inline void
kit_block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct kit_end *e = user;
	(void)ok, (void)now_ns;
	meet_lines_block_done(&e->lines, e->line_of[lane], cookie);
}

static inline void
kit_hold(void *user, uint64_t cookie)
{
	link_hold(&((struct kit_end *)user)->k->l, cookie);
}

static inline void
kit_release(void *user, uint64_t cookie)
{
	link_release(&((struct kit_end *)user)->k->l, cookie);
}

static inline void
kit_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct kit_end *e = user;
	(void)why, (void)text;
	meet_lines_lane_down(&e->lines, e->line_of[lane]);
}

static inline enum suci_verdict
kit_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct kit_end *e = user;
	uint32_t own = door_client_mine(&e->client, dst);
	(void)path;
	if (own == DOOR_CLIENT_NONE || own != e->port)
		return SUCI_DROPPED;
	e->verdict = meet_lines_came(&e->lines, 0, own, src, e->k->l.now_ns);
	return e->verdict;
}

static inline void
kit_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	    size_t hello_len, bool incoming)
{
	(void)peer, (void)hello, (void)hello_len, (void)incoming;
	((struct kit_end *)user)->path = path;
}

static inline void
kit_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why, (void)text;
}

static const struct suci_lane_ops kit_lane_ops = {.block_begin = kit_block_begin,
						  .block_data = kit_block_data,
						  .block_end = kit_block_end,
						  .block_done = kit_block_done,
						  .hold = kit_hold,
						  .release = kit_release,
						  .lane_down = kit_lane_down,
						  .lane_unknown = kit_unknown,
						  .accept = link_accept,
						  .path_up = kit_path_up,
						  .path_down = kit_path_down};

/* ---- doors ---- */

static inline void
kit_nothing(void *user, uint32_t which)
{
	(void)user, (void)which;
}

static inline void
kit_reached(void *user, uint32_t import)
{
	struct kit_end *e = user;
	meet_lines_reached(&e->lines, import, e->k->l.now_ns);
}

static inline void
kit_lost(void *user, uint32_t import, enum door_client_lost why)
{
	struct kit_end *e = user;
	meet_lines_lost(&e->lines, import, why, e->k->l.now_ns);
}

static inline void
kit_left(void *user, uint32_t site, uint32_t label)
{
	struct kit_end *e = user;
	meet_lines_gone(&e->lines, site, label, e->k->l.now_ns);
}

static const struct door_client_ops kit_client_ops = {.say = kit_say,
						      .wake = kit_wake,
						      .opened = kit_nothing,
						      .reached = kit_reached,
						      .lost = kit_lost,
						      .left = kit_left};

/* ---- turns ---- */

/* What agrees at each end after whatever happened. */
static inline void
kit_check(struct kit *k)
{
	const char *what;

	for (int i = 0; i < 2; i++) {
		struct kit_end *e = &k->end[i];
		assert_null(meet_lines_check(&e->lines));
		assert_null(door_client_check(&e->client));
		assert_true(suci_lanes_check(e->lanes, &what));
	}
}

/* Until neither has anything to say to the relay, nor that to them. */
static inline void
kit_notes(struct kit *k)
{
	struct kit_note *a;

	do {
		for (int i = 0; i < 2; i++)
			if (k->end[i].client.up)
				assert_true(door_client_turn(&k->end[i].client));
		a = k->first;
		if (!a)
			break;
		k->first = a->next;
		k->last = k->first ? k->last : &k->first;
		if (a->to->client.up)
			door_client_note(&a->to->client, 0, a->bytes, a->len);
		free(a);
	} while (true);
}

static inline void
kit_pass(struct kit *k, uint64_t ns)
{
	kit_notes(k);
	(void)link_run(&k->l, k->l.now_ns + ns, NULL, NULL);
	for (int i = 0; i < 2; i++)
		meet_lines_turn(&k->end[i].lines, k->l.now_ns);
	kit_notes(k);
	kit_check(k);
}

static inline uint32_t
kit_open_door(struct kit_end *e)
{
	uint32_t door = door_client_open(&e->client, 0, 1, KIT_REALM, 0);

	kit_notes(e->k);
	return door;
}

/* A call to the other one's port, as far as it comes at once; the line. */
static inline uint32_t
kit_call(struct kit_end *e)
{
	struct kit_end *to = &e->k->end[e == e->k->end];
	uint32_t line = meet_lines_keep(&e->lines, e->k->l.now_ns);
	struct door_address at = {.realm = KIT_REALM, .label = 9, .n = 1, .nrelays = 1};

	at.relay[0] = (struct door_relay){0xc0000201, 7812};
	if (line == MEET_LINE_NONE)
		return line;
	uint32_t door = kit_open_door(e);
	assert_true(door != DOOR_CLIENT_NONE);
	if (to->port != DOOR_CLIENT_NONE)
		at = to->own[to->port].at;
	uint32_t import = door_client_import(&e->client, &at, door, UINT32_MAX);
	assert_true(import != DOOR_CLIENT_NONE);
	meet_lines_call(&e->lines, line, door, import);
	kit_notes(e->k);
	if (!meet_lines_go(&e->lines, line, e->k->l.now_ns)) {
		meet_lines_hang_up(&e->lines, line, e->k->l.now_ns);
		return MEET_LINE_NONE;
	}
	return line;
}

/* The relay of one end is gone, and comes again, or not. */
static inline void
kit_relay_gone(struct kit_end *e)
{
	door_client_down(&e->client, 0, false, e->k->l.now_ns);
	memset(e->called, 0, sizeof e->called);
	for (uint32_t i = 0; i < KIT_LABELS; i++) {
		e->held[i] = 0;
		if (e->k->whose[i] == e)
			kit_leave(e->k, i);
	}
	meet_lines_over(&e->lines, 0, true, e->k->l.now_ns);
}

static inline uint32_t
kit_doors(const struct kit_end *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->client.owns; i++)
		n += e->own[i].state != DOOR_CLIENT_FREE;
	return n;
}

static inline uint32_t
kit_lines(const struct kit_end *e, enum meet_line_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MEET_LINES_MAX; i++)
		n += e->lines.line[i].state == state;
	return n;
}

/* ---- beginning, ending ---- */

static inline void
kit_begin_end(struct kit *k, int side)
{
	struct kit_end *e = &k->end[side];
	struct suci_lanes_config lc = {.limits = {.lanes_max = KIT_LANES,
						  .blocks_max = 512,
						  .rx_blocks_max = 64,
						  .held_max = 256,
						  .ranges_max = 256,
						  .labels_max = 1,
						  .buckets = 64},
				       .ops = &kit_lane_ops,
				       .user = e};
	struct door_client_conf dc = {
		.secret = "sixteen letters", .ops = &kit_client_ops, .user = e};
	struct suci_config c = link_config(side);

	e->k = k;
	e->port = DOOR_CLIENT_NONE;
	dc.secret[0] = (uint8_t)side;
	e->lanes = suci_lanes_new(LINK_TAKE(suci_lanes_footprint(&lc.limits)), &lc);
	assert_non_null(e->lanes);
	c.ops = suci_lanes_ops();
	c.user = e->lanes;
	k->l.ep[side] = link_endpoint(&c, k->l.now_ns);
	suci_lanes_bind(e->lanes, k->l.ep[side]);
	door_client_init(&e->client, &dc, e->own, KIT_OWNS, e->import, KIT_OWNS);
	door_client_up(&e->client, 0);
	meet_lines_init(&e->lines, &e->client, e->lanes, &kit_lines_ops, e, BASE_S_NS);
}

static inline struct kit *
kit_new(void)
{
	struct kit *k = memset(LINK_TAKE(sizeof *k), 0, sizeof *k);

	k->last = &k->first;
	link_init(&k->l, 5, BASE_MS_NS);
	kit_begin_end(k, 0);
	kit_begin_end(k, 1);
	assert_int_equal(
		suci_path_open(k->l.ep[0], &k->l.addr[1], NULL, 0, &k->end[0].path, k->l.now_ns),
		0);
	kit_pass(k, 100 * BASE_MS_NS);
	k->end[1].port = kit_open_door(&k->end[1]);
	return k;
}

/* Both hang up: nothing is left of what anybody said or kept. */
static inline void
kit_free(struct kit *k)
{
	for (int i = 0; i < 2; i++) {
		struct kit_end *e = &k->end[i];
		kit_relay_gone(e);
		for (uint32_t t = 0; t < MEET_LINES_MAX; t++)
			if (e->lines.line[t].state != MEET_LINE_FREE)
				meet_lines_hang_up(&e->lines, t, k->l.now_ns);
		assert_int_equal(kit_lines(e, MEET_LINE_FREE), MEET_LINES_MAX);
		assert_int_equal(e->taken, 0);
		LINK_GIVE(suci_fini(k->l.ep[i], k->l.now_ns));
		LINK_GIVE(suci_lanes_fini(e->lanes));
	}
	while (k->first) {
		struct kit_note *a = k->first;
		k->first = a->next;
		free(a);
	}
	link_drop_wire(&k->l);
	assert_int_equal(k->l.held, 0);
	LINK_GIVE(k);
}

#endif
