/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_mmp_rank.h - rank 0 of a job: its engine, its port and what they lie in. */
#ifndef FUZZ_MMP_RANK_H
#define FUZZ_MMP_RANK_H

#include "base/assert.h"
#include "mmp/engine.h"
#include "mmp/port.h"

#include <stdlib.h>
#include <string.h>

#define HALF  (1u << 14)
#define POSTS 16

struct rank {
	struct mmp_engine *e;
	struct mmp_port *p;
	void *ring[4], *mem[2];
	uint8_t *send, *recv, *buf[POSTS];
	uint32_t size, posts;
};

static void *
rank_zeros(size_t n)
{
	void *p = aligned_alloc(64, (n + 63) / 64 * 64);
	memset(p, 0, (n + 63) / 64 * 64);
	return p;
}

static void
rank_make(struct rank *r, uint32_t size, const struct mmp_engine_ops *ops, void *user)
{
	for (int i = 0; i < 4; i++)
		r->ring[i] = rank_zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	r->send = rank_zeros(HALF);
	r->recv = rank_zeros(HALF);
	r->size = size;
	struct mmp_rings rings = {r->ring[0], r->ring[1], r->ring[2], r->ring[3]};
	struct mmp_engine_config e = {.size = size,
				      .rings = rings,
				      .send_half = r->send,
				      .recv_half = r->recv,
				      .recv_bytes = HALF,
				      .ops = ops,
				      .user = user};
	struct mmp_port_config p = {.size = size,
				    .rings = rings,
				    .send_half = r->send,
				    .send_bytes = HALF,
				    .fragment = 512};
	r->mem[0] = calloc(1, mmp_engine_footprint(size));
	r->mem[1] = calloc(1, mmp_port_footprint(size));
	r->e = mmp_engine_new(r->mem[0], &e);
	r->p = mmp_port_new(r->mem[1], &p);
}

/* A receive: of anybody or of one rank, of any tag or of 0. */
static void
rank_post(struct rank *r, uint8_t what)
{
	int from = (what & 3) - 1;
	if (r->posts == POSTS)
		return;
	size_t n = (size_t)(what >> 3) * 40;
	r->buf[r->posts] = malloc(n + 1);
	(void)mmp_port_receive(r->p, from < (int)r->size ? from : (int)r->size - 1, 0,
			       what & 4 ? -1 : 0, r->buf[r->posts], n);
	r->posts++;
}

static void
rank_free(struct rank *r)
{
	BASE_ASSERT(mmp_area_check(mmp_engine_area(r->e)) && mmp_area_check(mmp_port_area(r->p)));
	for (uint32_t i = 0; i < r->posts; i++)
		free(r->buf[i]);
	for (int i = 0; i < 4; i++)
		free(r->ring[i]);
	free(r->mem[0]);
	free(r->mem[1]);
	free(r->send);
	free(r->recv);
}

#endif
