/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints around what is counted: a process that offers segments, and the relay behind. */
#ifndef COUNT_NODE_H
#define COUNT_NODE_H

#include "relay_job_maker.h"

#include "base/clock.h"
#include "relay/core.h"
#include "suci/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH	 32u
#define MTU	 1472u
#define OUTS_MAX 256u
#define BLOCK	 (64u << 10)

struct dgram {
	struct suci_addr from;
	uint32_t len;
	uint8_t bytes[MTU];
};

struct node {
	struct suci *ep;
	struct suci_lanes *lanes;
	bool up;
	uint32_t path, lane, blocks, most, bytes; /* most blocks of so many bytes at a time */
	uint32_t *todo, ntodo;			  /* -many: lanes that have nothing to send */
	uint64_t segments, got;
	struct suci_out out[OUTS_MAX];
	uint32_t nout;
};

/* Datagrams on their way to the node that is counted, and to the others. */
struct queue {
	struct dgram d[OUTS_MAX];
	uint32_t n;
};

static uint64_t now = BASE_S_NS;
static uint8_t payload[BLOCK];

static inline _Noreturn void
die(const char *what)
{
	fprintf(stderr, "count: %s\n", what);
	exit(1);
}

static inline int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static inline void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct node *n = user;
	(void)peer, (void)hello, (void)len, (void)incoming;
	n->up = true;
	n->path = path;
}

static inline void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why;
	die(text);
}

static inline enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t at)
{
	struct node *n = user;
	(void)path, (void)seg, (void)at;
	n->got++;
	return SUCI_TAKEN;
}

static inline void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t at)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)at;
}

static const struct suci_ops raw_ops = {
	.accept = on_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
};

static inline void *
memory(size_t n)
{
	void *p = n ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
	if (!p)
		die("limits");
	return p;
}

static inline struct suci *
endpoint(uint64_t incarnation, const struct suci_ops *ops, void *user, const uint8_t *hello,
	 size_t hello_len)
{
	struct suci_config c = {.limits = {.paths_max = 8,
					   .segments_max = 4096,
					   .queue_max = 1024,
					   .window_max = 1024},
				.incarnation = incarnation,
				.seed = incarnation,
				.mtu_max = MTU,
				.cc = SUCI_CC_CUBIC,
				.initial_window = 4 * BATCH,
				.ack_every = BATCH, /* as libmpi */
				.burst_bytes = 256u << 10,
				.credit = 1024,
				.hello_len = (uint16_t)hello_len,
				.ops = ops,
				.user = user};
	memcpy(c.hello, hello, hello_len);
	struct suci *ep = suci_new(memory(suci_footprint(&c.limits)), &c, now);
	if (!ep)
		die("suci_new");
	return ep;
}

static inline struct node *
raw_node(uint64_t incarnation, const struct relay_hello *h)
{
	struct node *n = calloc(1, sizeof *n);
	uint8_t hello[RELAY_HELLO_LEN];
	if (!n)
		die("memory");
	n->lane = UINT32_MAX;
	relay_hello_encode(h, hello);
	n->ep = endpoint(incarnation, &raw_ops, n, hello, sizeof hello);
	return n;
}

static const struct job_spec spec = {.nclients = 2,
				     .my_client = 0,
				     .nprocs = {1, 1},
				     .nrelays = {1, 1},
				     .label_base = {0x01000040, 0x02000080},
				     .token = 0xabcd,
				     .id = 7};

/* A batch of full segments from the process to the one behind the other relay. */
static inline void
offer(struct node *a, uint32_t *seq)
{
	uint32_t mss = MTU - SUCI_OVERHEAD, per_block = (BLOCK + SUCI_FIRST_EXT) / mss;
	for (uint32_t i = 0; i < BATCH; i++, ++*seq) {
		uint32_t k = *seq % per_block;
		struct suci_segment s = {
			.dst_label = spec.label_base[0] + 1,
			.src_label = spec.label_base[0],
			.seq = *seq,
			.block = *seq - k,
			.window = 1024,
			.flags = k ? k + 1 == per_block ? SUCI_SF_LAST : 0 : SUCI_SF_FIRST,
			.mss = (uint16_t)mss,
			.block_bytes = (uint64_t)per_block * mss - SUCI_FIRST_EXT,
			.data = payload,
			.data_len = (uint16_t)(k ? mss : mss - SUCI_FIRST_EXT),
		};
		if (suci_path_send(a->ep, a->path, &s, now) < 0)
			return;
	}
}

static inline __attribute__((always_inline)) void
node_take(struct node *n, struct queue *in)
{
	for (uint32_t i = 0; i < in->n; i++)
		suci_rx(n->ep, &in->d[i].from, in->d[i].bytes, in->d[i].len, i, now);
}

static inline __attribute__((always_inline)) void
node_make(struct node *n)
{
	uint32_t segments = 0;
	n->nout = 0;
	while (n->nout < OUTS_MAX && segments < BATCH && suci_tx(n->ep, &n->out[n->nout], now) == 1)
		segments += n->out[n->nout++].has_segment;
	n->segments += segments;
}

/* What n made goes into the queue of whoever has that address. */
static inline void
carry(const struct node *n, const struct suci_addr *to, const struct suci_addr *from,
      struct queue *q)
{
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct suci_out *o = &n->out[i];
		if (memcmp(&o->to, to, sizeof *to) != 0)
			continue;
		if (q->n == OUTS_MAX)
			die("too many datagrams at once");
		struct dgram *d = &q->d[q->n++];
		d->from = *from;
		memcpy(d->bytes, o->head, o->head_len);
		d->len = o->head_len;
		if (o->seg_head_len)
			memcpy(d->bytes + d->len, o->seg_head, o->seg_head_len);
		d->len += o->seg_head_len;
		if (o->data_len)
			memcpy(d->bytes + d->len, o->data, o->data_len);
		d->len += o->data_len;
	}
}

#endif
