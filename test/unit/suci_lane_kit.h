/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints with a lane pair between them, in virtual time; what every lane suite needs. */
#ifndef TEST_SUCI_LANE_KIT_H
#define TEST_SUCI_LANE_KIT_H

#include "test_suci_link.h"

#include "lane_internal.h"

#include "base/serial.h"

#define BLOCKS_MAX 4096

struct block {
	uint64_t bytes, got;
	uint8_t *data; /* what the lane sends from; freed when done */
	uint8_t *ref;
	uint8_t *seen;
	bool begun, ended;
};

struct host {
	struct world *w;
	struct suci_lanes *ls;
	uint32_t path, lane;
	bool up, lane_up;
	/* sent by this host */
	uint32_t sent, done_ok, done_bad;
	struct block tx[BLOCKS_MAX];
	/* received by this host, compared with the other's tx */
	uint32_t begun, ended;
	bool downed;
	char text[SUCI_TEXT_MAX];
	enum suci_down why;
	uint64_t got;
	uint32_t crc_to_break;
	uint32_t room; /* blocks that may begin */
	uint32_t group;
	uint32_t leg_path[LINK_LEGS]; /* NONE: down */
};

struct world {
	struct link l;
	bool fake; /* one huge block of zeros: only counted */
	uint32_t mtu;
	bool late; /* who accepts opens no lane by itself: on_unknown() says when */
	enum suci_verdict unknown;
	struct host h[2];
	struct suci_lane_conf conf;
	struct suci_lane_limits limits;
	uint32_t paths_up;
	/* Not 0: the lane goes over a group of so many paths, one per leg of the link. */
	uint32_t legs;
	uint32_t weight[LINK_LEGS];
	uint64_t grace_ns, liveness_ns;
	uint32_t leg_mtu[LINK_LEGS];
};

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user;
	(void)from;
	(void)why;
	assert_int_equal(hello_len, 7);
	assert_memory_equal(hello, "hello-a", 7);
	return 0;
}

static int
side_of(const struct host *h)
{
	return (int)(h - h->w->h);
}

static void
open_lane(struct host *h)
{
	int side = side_of(h);
	struct suci_lane_conf c = h->w->conf;
	c.path = h->path;
	c.group = h->group;
	c.tx_dst_label = c.rx_src_label = 16u + !side;
	c.tx_src_label = c.rx_dst_label = 16u + (unsigned)side;
	c.tx_salt = (uint64_t)side << 32 | !side;
	c.rx_salt = (uint64_t)!side << 32 | (unsigned)side;
	assert_int_equal(suci_lane_open(h->ls, &c, &h->lane, h->w->l.now_ns), 0);
	h->lane_up = true;
}

static void
on_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	   size_t hello_len, bool incoming)
{
	struct host *h = user;
	(void)hello;
	(void)hello_len;
	h->path = path;
	h->up = true;
	if (h->group) {
		h->leg_path[peer->leg] = path;
		assert_int_equal(suci_group_add(h->ls, h->group, path, h->w->weight[peer->leg],
						h->w->l.now_ns),
				 0);
		return;
	}
	if (incoming && !h->w->late)
		open_lane(h);
}

static enum suci_verdict
on_unknown(void *user, uint32_t path, uint32_t dst_label, uint32_t src_label)
{
	struct host *h = user;
	(void)path;
	assert_int_equal(dst_label, 16 + side_of(h));
	assert_int_equal(src_label, 16 + !side_of(h));
	if (h->w->unknown == SUCI_TAKEN)
		open_lane(h);
	return h->w->unknown;
}

static void
on_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct host *h = user;
	(void)why;
	(void)text;
	h->up = false;
	for (uint32_t leg = 0; leg < LINK_LEGS; leg++)
		if (h->leg_path[leg] == path)
			h->leg_path[leg] = NONE;
}

static void *
on_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	 uint64_t now_ns)
{
	struct host *h = user;
	(void)lane;
	(void)first;
	(void)now_ns;
	if (h->w->fake) {
		(void)bytes;
		h->begun++;
		return h;
	}
	struct block *b = &h->w->h[!side_of(h)].tx[h->begun++];
	assert_false(b->begun);
	assert_int_equal(b->bytes, bytes);
	assert_true(first_len <= bytes);
	b->begun = true;
	return b;
}

static void
on_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	struct block *b = block;
	struct host *h = user;
	(void)lane;
	h->got += len;
	if (h->w->fake)
		return;
	assert_true(b->begun && !b->ended && len > 0);
	assert_true(offset + len <= b->bytes);
	assert_memory_equal(b->ref + offset, data, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(b->seen[offset + i]++, 0);
	b->got += len;
}

static void
on_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct host *h = user;
	struct block *b = block;
	(void)lane;
	(void)now_ns;
	if (h->w->fake) {
		h->ended++;
		return;
	}
	assert_false(b->ended);
	assert_int_equal(b->got, b->bytes);
	b->ended = true;
	h->ended++;
}

static void
on_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct host *h = user;
	(void)lane;
	(void)now_ns;
	struct block *b = &h->tx[cookie];
	if (h->w->fake) {
		h->done_ok += ok;
		return;
	}
	if (ok) {
		/* Nothing acked end to end that was not placed; on a direct lane the
		 * receiver may still hold a segment that came early. */
		assert_true(b->ended || h->w->conf.direct);
		h->done_ok++;
	} else {
		h->done_bad++;
	}
	free(b->data); /* the memory is ours again: use after this is caught by asan */
	b->data = NULL;
}

static void
on_hold(void *user, uint64_t cookie)
{
	link_hold(&((struct host *)user)->w->l, cookie);
}

static void
on_release(void *user, uint64_t cookie)
{
	link_release(&((struct host *)user)->w->l, cookie);
}

static void
on_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct host *h = user;
	(void)lane;
	h->downed = true;
	h->lane_up = false;
	h->why = why;
	snprintf(h->text, sizeof h->text, "%s", text);
}

static bool
on_room(void *user, uint32_t lane, uint64_t bytes)
{
	struct host *h = user;
	(void)lane;
	if (!h->w->fake)
		assert_int_equal(bytes, h->w->h[!side_of(h)].tx[h->begun].bytes);
	if (h->room == 0)
		return false;
	h->room--;
	return true;
}

static const struct suci_lane_ops lane_ops = {
	.block_begin = on_begin,
	.block_data = on_data,
	.block_end = on_end,
	.block_done = on_done,
	.hold = on_hold,
	.release = on_release,
	.lane_down = on_lane_down,
	.lane_unknown = on_unknown,
	.accept = on_accept,
	.path_up = on_path_up,
	.path_down = on_path_down,
	.block_room = on_room,
};

static void
world_endpoint(struct world *w, int side)
{
	struct host *h = &w->h[side];
	h->w = w;
	h->room = UINT32_MAX;
	struct suci_lanes_config lc = {.limits = w->limits, .ops = &lane_ops, .user = h};
	size_t n = suci_lanes_footprint(&lc.limits);
	assert_true(n > 0);
	h->ls = suci_lanes_new(LINK_TAKE(n), &lc);
	assert_non_null(h->ls);
	struct suci_config c = link_config(side);
	if (w->mtu)
		c.mtu_max = w->mtu;
	memcpy(c.mtu_leg, w->leg_mtu, sizeof w->leg_mtu);
	c.liveness_ns = c.keepalive_ns = w->liveness_ns;
	c.ops = suci_lanes_ops();
	c.user = h->ls;
	w->l.ep[side] = link_endpoint(&c, w->l.now_ns);
	suci_lanes_bind(h->ls, w->l.ep[side]);
	memset(h->leg_path, 0xff, sizeof h->leg_path);
	if (w->legs)
		assert_int_equal(suci_group_new(h->ls, w->grace_ns, &h->group), 0);
}

static void
open_leg(struct world *w, uint32_t leg)
{
	struct suci_addr to = w->l.addr[1];
	uint32_t path;
	to.leg = (uint8_t)leg;
	assert_int_equal(suci_path_open(w->l.ep[0], &to, NULL, 0, &path, w->l.now_ns), 0);
}

static struct world *
world_new(uint64_t seed, uint64_t delay_ns)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	link_init(&w->l, seed, delay_ns);
	w->limits = (struct suci_lane_limits){.lanes_max = 4,
					      .blocks_max = BLOCKS_MAX,
					      .rx_blocks_max = 64,
					      .held_max = 512,
					      .ranges_max = 1024,
					      .labels_max = 32,
					      .groups_max = 2};
	for (uint32_t leg = 0; leg < LINK_LEGS; leg++)
		w->weight[leg] = 1;
	w->conf = (struct suci_lane_conf){
		.direct = true, .crc = true, .window = 1024, .skip_off = 8, .skip_len = 48};
	return w;
}

static void
world_open(struct world *w)
{
	world_endpoint(w, 0);
	world_endpoint(w, 1);
	for (uint32_t leg = 0; leg < w->legs; leg++)
		open_leg(w, leg);
	if (w->legs) {
		open_lane(&w->h[0]);
		open_lane(&w->h[1]);
		return;
	}
	assert_int_equal(
		suci_path_open(w->l.ep[0], &w->l.addr[1], NULL, 0, &w->h[0].path, w->l.now_ns), 0);
	open_lane(&w->h[0]); /* while connecting: sending waits */
}

static void
world_free(struct world *w)
{
	for (int side = 0; side < 2; side++) {
		LINK_GIVE(suci_fini(w->l.ep[side], w->l.now_ns));
		assert_int_equal(suci_lanes_pending(w->h[side].ls), 0);
		LINK_GIVE(suci_lanes_fini(w->h[side].ls));
		for (uint32_t i = 0; i < w->h[side].sent; i++) {
			free(w->h[side].tx[i].data);
			free(w->h[side].tx[i].ref);
			free(w->h[side].tx[i].seen);
		}
	}
	link_drop_wire(&w->l);
	assert_int_equal(w->l.held, 0);
	free(w);
}

static inline void
send_block(struct world *w, int side, size_t head_len, uint64_t data_len, bool wait)
{
	struct host *h = &w->h[side];
	struct block *b = &h->tx[h->sent];
	b->bytes = head_len + data_len;
	b->data = malloc(b->bytes + 1);
	b->seen = calloc(1, b->bytes + 1);
	b->ref = malloc(b->bytes + 1);
	assert_true(b->data && b->seen && b->ref);
	for (uint64_t i = 0; i < b->bytes; i++)
		b->data[i] = (uint8_t)(i * 7 + h->sent * 13 + (i >> 8));
	memcpy(b->ref, b->data, b->bytes);
	assert_int_equal(suci_lane_send(h->ls, h->lane, b->data, head_len, b->data + head_len,
					data_len, wait, h->sent, w->l.now_ns),
			 0);
	h->sent++;
}

static bool
all_done(void *arg)
{
	struct world *w = arg;
	return suci_lanes_pending(w->h[0].ls) == 0 && suci_lanes_pending(w->h[1].ls) == 0;
}

static inline void
expect_all(struct world *w, int from)
{
	struct host *tx = &w->h[from], *rx = &w->h[!from];
	assert_int_equal(tx->done_ok, tx->sent);
	assert_int_equal(tx->done_bad, 0);
	assert_int_equal(rx->begun, tx->sent);
	assert_int_equal(rx->ended, tx->sent);
}

static inline struct world *
world_up(uint64_t seed, bool direct, struct suci_lane_limits *limits)
{
	struct world *w = world_new(seed, 20000);
	w->conf.direct = direct;
	if (limits)
		w->limits = *limits;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
	assert_true(w->h[1].lane_up);
	return w;
}

static inline struct lane *
lane_of(struct world *w, int side)
{
	return &w->h[side].ls->lane[w->h[side].lane];
}

#endif
