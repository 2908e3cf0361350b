/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_suci_pair.h - two endpoints with one lane between them, in virtual
 * time, for the fuzz targets.  Checks what must hold whatever happens: a byte
 * is placed at most once and inside its block, blocks begin in order, every
 * cookie and every held buffer comes back. */
#ifndef FUZZ_SUCI_PAIR_H
#define FUZZ_SUCI_PAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "../unit/block_pool.h"
#include "suci/lane.h"

#define PAIR_WIRE_MAX  64
#define PAIR_BLOCKS    64
#define PAIR_BLOCK_MAX 4096
#define PAIR_LIVES     8
#define PAIR_MTU       1400
#define MUST(x)                  \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

/* Set before pair_new(): its paths are sealed. */
static const struct seal_crypto *pair_aead;
/* And with identities: both are of the same site. */
static bool pair_identities;
/* Set before pair_new(): that side looks for its path MTU. */
static bool pair_probes_mtu[2];
/* Set before pair_new(): segments are as large as the path's datagrams, which may shrink. */
static bool pair_large;

struct pair_dgram {
	uint32_t holds;
	int from;
	size_t len;
	uint8_t bytes[1500];
};

struct pair_rx {
	uint64_t bytes, got;
	bool ended;
	uint8_t seen[PAIR_BLOCK_MAX];
};

struct pair_host {
	struct pair *pair;
	struct suci_lanes *ls;
	struct suci *ep;
	struct suci_addr addr;
	uint32_t path, lane, sent, done, begun, ended;
	/* Of the data it sends, and of those that come over its lane: after a crash both begin
	 * anew.  UINT32_MAX: nothing came over it yet. */
	uint32_t life, peer_life;
	uint64_t incarnation;
	bool up, lane_up;
	void *mem_ls, *mem_ep;
	struct pair_rx rx[PAIR_BLOCKS];
};

struct pair {
	struct pair_host h[2];
	struct pair_dgram *wire[PAIR_WIRE_MAX];
	uint32_t n;
	uint32_t most; /* bytes of a datagram that passes */
	uint32_t holds;
	uint64_t now_ns;
	bool direct;
	bool trusting;	/* nothing was forged or corrupted: contents are checked too */
	uint32_t lives; /* crashes */
	uint64_t incarnation[2][PAIR_LIVES]; /* of a side when it sent data of that life */
	uint8_t payload[PAIR_LIVES][PAIR_BLOCK_MAX];
};

static inline uint64_t
pair_block_bytes(uint32_t i)
{
	return (uint64_t)i * i * 7 % PAIR_BLOCK_MAX;
}

static inline int
pair_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	    char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)hello_len, (void)why;
	return 0;
}

static inline void
pair_open_lane(struct pair_host *h)
{
	unsigned side = (unsigned)(h - h->pair->h);
	struct suci_lane_conf c = {
		.path = h->path,
		.tx_dst_label = !side,
		.tx_src_label = side,
		.rx_dst_label = side,
		.rx_src_label = !side,
		.direct = h->pair->direct,
		.crc = true,
		.tx_salt = side,
		.rx_salt = !side,
		.mss = pair_large ? 0 : 100,
		.window = 64,
		.window_max = 200,
	};
	h->lane_up = suci_lane_open(h->ls, &c, &h->lane, h->pair->now_ns) == 0;
	h->peer_life = UINT32_MAX;
}

static inline void
pair_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	size_t hello_len, bool incoming)
{
	struct pair_host *h = user;
	(void)hello, (void)hello_len, (void)incoming;
	if (peer->port > 2)
		return; /* a stranger that guessed a cookie */
	h->path = path;
	h->up = true;
	if (!h->lane_up)
		pair_open_lane(h);
}

/* What comes over the next path is the first block again, and other bytes. */
static inline void
pair_begin_anew(struct pair_host *h)
{
	if (h->pair->trusting)
		MUST(h->done == h->sent);
	h->sent = h->done = h->begun = h->ended = 0;
	memset(h->rx, 0, sizeof h->rx);
	h->life = h->pair->lives;
}

/* Data of one life of the peer only, of the one the path is to.  Which life that is, only
 * the data can tell: the path may come up by what an earlier one sent. */
static inline void
pair_check_life(struct pair_host *h, uint64_t offset, const uint8_t *data, size_t len)
{
	struct pair *p = h->pair;
	uint32_t k = 0;
	while (k < PAIR_LIVES && memcmp(data, p->payload[k] + offset, len) != 0)
		k++;
	MUST(k <= p->lives);
	MUST(h->peer_life == UINT32_MAX || h->peer_life == k);
	h->peer_life = k;
	struct suci_path_info i;
	MUST(suci_path_info(h->ep, h->path, &i));
	MUST(i.peer_incarnation == p->incarnation[h == p->h][k]);
}

static inline void
pair_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct pair_host *h = user;
	(void)why;
	MUST(strlen(text) < SUCI_TEXT_MAX);
	if (path != h->path || !h->up)
		return;
	h->up = false;
	pair_begin_anew(h);
}

static inline void *
pair_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	   uint64_t now_ns)
{
	struct pair_host *h = user;
	static struct pair_rx spare;
	(void)lane, (void)first, (void)now_ns;
	MUST(first_len <= bytes);
	if (h->begun >= PAIR_BLOCKS || bytes > PAIR_BLOCK_MAX) {
		MUST(!h->pair->trusting);
		memset(&spare, 0, sizeof spare);
		return NULL;
	}
	struct pair_rx *b = &h->rx[h->begun];
	if (h->pair->trusting)
		MUST(bytes == pair_block_bytes(h->begun));
	h->begun++;
	b->bytes = bytes;
	return b;
}

static inline void
pair_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	struct pair_host *h = user;
	struct pair_rx *b = block;
	(void)lane;
	if (!b)
		return;
	MUST(!b->ended && len && offset + len <= b->bytes);
	if (h->pair->trusting)
		pair_check_life(h, offset, data, len);
	for (size_t i = 0; i < len; i++)
		MUST(!b->seen[offset + i]++);
	b->got += len;
}

static inline void
pair_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct pair_host *h = user;
	struct pair_rx *b = block;
	(void)lane, (void)now_ns;
	h->ended++;
	if (!b)
		return;
	MUST(!b->ended && b->got == b->bytes);
	b->ended = true;
}

static inline void
pair_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct pair_host *h = user;
	(void)lane, (void)ok, (void)now_ns;
	MUST(cookie < h->sent);
	h->done++;
}

static inline void
pair_hold(void *user, uint64_t cookie)
{
	((struct pair_dgram *)(uintptr_t)cookie)->holds++;
	((struct pair_host *)user)->pair->holds++;
}

static inline void
pair_unhold(struct pair *p, struct pair_dgram *d)
{
	MUST(d->holds > 0);
	p->holds--;
	if (!--d->holds)
		free(d);
}

static inline uint8_t *
pair_buffer(void *user, uint32_t len, uint64_t *cookie)
{
	struct pair_dgram *d = calloc(1, sizeof *d + len);
	MUST(d);
	d->holds = 1;
	((struct pair_host *)user)->pair->holds++;
	*cookie = (uintptr_t)d;
	return d->bytes;
}

static inline void
pair_release(void *user, uint64_t cookie)
{
	pair_unhold(((struct pair_host *)user)->pair, (struct pair_dgram *)(uintptr_t)cookie);
}

static inline void
pair_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct pair_host *h = user;
	(void)why, (void)text;
	if (lane == h->lane)
		h->lane_up = false;
}

static const struct suci_lane_ops pair_ops = {
	.block_begin = pair_begin,
	.block_data = pair_data,
	.block_end = pair_end,
	.block_done = pair_done,
	.hold = pair_hold,
	.release = pair_release,
	.buffer = pair_buffer,
	.lane_down = pair_lane_down,
	.accept = pair_accept,
	.path_up = pair_up,
	.path_down = pair_down,
};

static inline void
pair_identify(struct suci_seal_conf *c)
{
	static struct seal_identity site = {.secret = {0x77}};
	static struct seal_peer peer = {
		.name = "site", .nprefixes = 2, .prefix = {{{[10] = 0xff, [11] = 0xff}, 96}}};
	char why[SEAL_TEXT];
	c->aead->dh_public(site.secret, site.public_key);
	memcpy(peer.public_key, site.public_key, sizeof peer.public_key);
	MUST(seal_peers_agree(c->aead, &site, &peer, 1, why));
	c->me = &site;
	c->peer = &peer;
	c->npeers = 1;
}

static inline void
pair_host_init(struct pair *p, int side)
{
	struct pair_host *h = &p->h[side];
	h->pair = p;
	h->addr = (struct suci_addr){.port = (uint16_t)(1 + side), .family = 4};
	struct suci_lanes_config lc = {
		.limits = {.lanes_max = 2,
			   .blocks_max = 32,
			   .rx_blocks_max = 4,
			   .held_max = 8,
			   .ranges_max = 12,
			   .labels_max = 4},
		.ops = &pair_ops,
		.user = h,
	};
	h->mem_ls = block_take(suci_lanes_footprint(&lc.limits));
	h->ls = suci_lanes_new(h->mem_ls, &lc);
	struct suci_config c = {
		.limits = {.paths_max = 2,
			   .segments_max = 64,
			   .queue_max = 32,
			   .window_max = 40,
			   .parts_max = SUCI_PARTS_MIN,
			   .wholes_max = 8},
		.incarnation = 1 + (uint64_t)side + 2 * p->lives,
		.seed = 3 + p->lives,
		.mtu_max = PAIR_MTU,
		.mtu_min = pair_probes_mtu[side] ? 1200
			   : pair_large		 ? PAIR_MTU
						 : 0,
		.ecn = true,
		.migrate = true,
		.cc = side ? SUCI_CC_BBR : SUCI_CC_CUBIC,
		.ops = suci_lanes_ops(),
		.user = h->ls,
		.liveness_ns = 60 * BASE_S_NS,
	};
	/* Another one in every run, as suci_config wants it: with the old one it would take an
	 * OPEN that was meant for its former self. */
	c.cookie_secret[1] = (uint8_t)p->lives;
	h->incarnation = c.incarnation;
	if (pair_aead) {
		c.cookie_secret[0] = (uint8_t)side;
		c.limits.sealed_max = 2;
		c.seal = (struct suci_seal_conf){.aead = pair_aead,
						 .key = {{.id = 7}, {.id = 8}},
						 .nkeys = 2,
						 .legs = 1,
						 .seed = {4, (uint8_t)side, (uint8_t)p->lives},
						 .epoch = 5};
		if (pair_identities)
			pair_identify(&c.seal);
	}
	h->mem_ep = block_take(suci_footprint(&c.limits));
	h->ep = suci_new(h->mem_ep, &c, p->now_ns);
	MUST(h->ls && h->ep);
	suci_lanes_bind(h->ls, h->ep);
}

/* Put what the endpoints have to say on the wire; beyond its size it is lost.  Who says by its
 * expiry that there is nothing now is believed, as drivers do. */
static inline void
pair_collect(struct pair *p)
{
	struct suci_out o;
	for (int side = 0; side < 2; side++) {
		if (suci_expiry_ns(p->h[side].ep) > p->now_ns)
			continue;
		for (uint32_t spin = 0; suci_tx(p->h[side].ep, &o, p->now_ns); spin++) {
			MUST(spin < 100000);
			size_t n = suci_out_len(&o);
			MUST(n <= PAIR_MTU);
			if (p->n == PAIR_WIRE_MAX || n > p->most ||
			    memcmp(&o.to, &p->h[!side].addr, sizeof o.to))
				continue;
			struct pair_dgram *d = malloc(sizeof *d);
			*d = (struct pair_dgram){.from = side, .len = n};
			memcpy(d->bytes, o.head, o.head_len);
			if (o.seg_head_len)
				memcpy(d->bytes + o.head_len, o.seg_head, o.seg_head_len);
			if (o.data_len)
				memcpy(d->bytes + o.head_len + o.seg_head_len, o.data, o.data_len);
			if (o.sealed)
				MUST(suci_seal(p->h[side].ep, &o, d->bytes, sizeof d->bytes) == n);
			p->wire[p->n++] = d;
		}
	}
}

static inline struct pair_dgram *
pair_take(struct pair *p, uint32_t i)
{
	struct pair_dgram *d = p->wire[i];
	memmove(&p->wire[i], &p->wire[i + 1], (p->n - i - 1) * sizeof d);
	p->n--;
	return d;
}

static inline void
pair_give(struct pair *p, struct pair_dgram *d)
{
	/* An allocation of exactly its size, so that reading past it is seen. */
	struct pair_dgram *x = malloc(offsetof(struct pair_dgram, bytes) + d->len);
	memcpy(x, d, offsetof(struct pair_dgram, bytes) + d->len);
	x->holds = 1;
	p->holds++;
	/* Marks as they come, most of them impossible. */
	suci_rx_ecn(p->h[!d->from].ep, &p->h[d->from].addr, x->bytes, x->len, x->len & 3,
		    (uintptr_t)x, p->now_ns);
	pair_unhold(p, x);
}

static inline void
pair_advance(struct pair *p, uint64_t ns)
{
	p->now_ns += ns;
	for (int side = 0; side < 2; side++)
		if (suci_expiry_ns(p->h[side].ep) <= p->now_ns)
			suci_tick(p->h[side].ep, p->now_ns);
	pair_collect(p);
}

static inline void
pair_deliver_all(struct pair *p)
{
	pair_collect(p);
	for (uint32_t spin = 0; p->n; spin++) {
		MUST(spin < 100000);
		struct pair_dgram *d = pair_take(p, 0);
		pair_give(p, d);
		free(d);
		pair_collect(p);
	}
}

static inline void
pair_send(struct pair *p, int side, bool wait)
{
	struct pair_host *h = &p->h[side];
	if (!h->lane_up || h->sent == PAIR_BLOCKS)
		return;
	uint64_t bytes = pair_block_bytes(h->sent);
	size_t head = bytes < 60 ? bytes : 60;
	const uint8_t *from = p->payload[h->life];
	p->incarnation[side][h->life] = h->incarnation;
	if (!suci_lane_send(h->ls, h->lane, from, head, from + head, bytes - head, wait, h->sent,
			    p->now_ns))
		h->sent++;
}

static inline struct pair *
pair_new(bool direct)
{
	struct pair *p = memset(block_take(sizeof *p), 0, sizeof *p);
	p->now_ns = BASE_S_NS;
	p->direct = direct;
	p->trusting = true;
	p->most = PAIR_MTU;
	for (uint32_t k = 0; k < PAIR_LIVES; k++)
		for (uint32_t i = 0; i < PAIR_BLOCK_MAX; i++)
			p->payload[k][i] = (uint8_t)(i * 31 + (i >> 8) + 77 * k);
	pair_host_init(p, 0);
	pair_host_init(p, 1);
	MUST(!suci_path_open(p->h[0].ep, &p->h[1].addr, NULL, 0, &p->h[0].path, p->now_ns));
	for (int i = 0; i < 4; i++)
		pair_deliver_all(p);
	MUST(p->h[0].lane_up && p->h[1].lane_up);
	return p;
}

/* From datagrams each way learn the tag that each end wants to see; then anything may come. */
static inline void
pair_learn_tags(struct pair *p, uint8_t tag[2][4])
{
	pair_collect(p);
	for (uint32_t i = 0; i < p->n; i++)
		memcpy(tag[!p->wire[i]->from], p->wire[i]->bytes + 4, 4);
	p->trusting = false;
}

/* One of them loses its memory, and opens the path again. */
static inline void
pair_crash(struct pair *p, int side)
{
	struct pair_host *h = &p->h[side];
	if (p->lives + 1 == PAIR_LIVES)
		return;
	suci_fini(h->ep, p->now_ns);
	MUST(h->done == h->sent);
	suci_lanes_fini(h->ls);
	block_give(h->mem_ep);
	block_give(h->mem_ls);
	p->lives++;
	h->up = h->lane_up = false;
	pair_begin_anew(h);
	pair_host_init(p, side);
	MUST(!suci_path_open(h->ep, &p->h[!side].addr, NULL, 0, &h->path, p->now_ns));
}

static inline void
pair_free(struct pair *p)
{
	while (p->n)
		free(pair_take(p, 0));
	for (int side = 0; side < 2; side++) {
		suci_fini(p->h[side].ep, p->now_ns);
		MUST(p->h[side].done == p->h[side].sent); /* every block was answered for */
		suci_lanes_fini(p->h[side].ls);
		block_give(p->h[side].mem_ep);
		block_give(p->h[side].mem_ls);
	}
	MUST(!p->holds);
	block_give(p);
}

/* A record: control byte, length (2), bytes.  Control bit 0 writes the right path tag into the
 * datagram, bit 1 is the endpoint it goes to. */
static inline bool
pair_next_raw(struct base_reader *r, uint8_t tag[2][4], uint8_t *ctl, struct pair_dgram *d)
{
	if (base_reader_left(r) < 3)
		return false;
	*ctl = base_read_u8(r);
	size_t len = base_read_be16(r) % 1500;
	if (len > base_reader_left(r))
		len = base_reader_left(r);
	int to = *ctl >> 1 & 1;
	*d = (struct pair_dgram){.from = !to, .len = len};
	memcpy(d->bytes, base_read_bytes(r, len), len);
	if (*ctl & 1 && len >= 8)
		memcpy(d->bytes + 4, tag[to], 4);
	return true;
}

/* Control bit 2 lets time pass, bit 3 lets the pair talk. */
static inline void
pair_give_raw(struct pair *p, uint8_t ctl, struct pair_dgram *d)
{
	pair_give(p, d);
	if (ctl & 4)
		pair_advance(p, 1ull << (ctl >> 4) * 2);
	if (ctl & 8)
		pair_deliver_all(p);
}

#endif
