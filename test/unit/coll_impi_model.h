/* SPDX-License-Identifier: BSD-2-Clause */
/* A model of the profile impi-0.0, written from chapter 7 of the IMPI reference alone: it
 * works the phases of a whole job off and notes every message between clients and every
 * result.  For test_coll_impi.c, which compares. */
#ifndef COLL_IMPI_MODEL_H
#define COLL_IMPI_MODEL_H

#include "base/prng.h"
#include "coll/impi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P_MAX	 24
#define ELEM	 16 /* a 2x2 matrix of uint32_t */
#define BLOCK	 64 /* longest */
#define ROOM	 (P_MAX * BLOCK * 2)
#define MSGS_MAX 16

struct msg {
	uint32_t tag;
	uint64_t len;
	uint8_t data[P_MAX * BLOCK];
};
struct pair {
	struct msg msg[MSGS_MAX];
	uint32_t n, taken;
};

enum form { PLAIN, VECTOR };

static struct {
	uint32_t p, of[P_MAX], root, maxlinear;
	uint64_t bytes, xsize;
	enum coll_op op;
	enum form form;
	bool commutes, in_place;
	struct base_prng rng;
} job;

static struct pair (*want)[P_MAX], (*sent)[P_MAX], (*inside)[P_MAX];
static uint8_t result[P_MAX][ROOM]; /* of the model */

/* ---- data */

static void
op(const uint8_t *l, const uint8_t *r, uint8_t *out, uint64_t len)
{
	for (uint64_t o = 0; o < len; o += ELEM) {
		uint32_t x[4], y[4], z[4];

		memcpy(x, l + o, ELEM);
		memcpy(y, r + o, ELEM);
		for (int i = 0; i < 4; i++)
			z[i] = job.commutes ? x[i] + y[i]
					    : x[i & 2] * y[i & 1] + x[(i & 2) + 1] * y[(i & 1) + 2];
		memcpy(out + o, z, ELEM);
	}
}

/* Block b of what rank r contributes. */
static void
fill(uint8_t *at, uint64_t len, uint32_t r, uint32_t b)
{
	uint64_t x = (uint64_t)r << 32 | b;

	for (uint64_t i = 0; i < len; i += 8) {
		uint64_t v = base_prng_splitmix(&x);
		memcpy(at + i, &v, 8);
	}
}

/* Length of the block between a and b: unequal ones in the v forms. */
static uint64_t
len_of(uint32_t a, uint32_t b)
{
	if (job.form == PLAIN)
		return job.bytes;
	return job.op == COLL_ALLTOALL ? (a * 2 + b) % 4 * ELEM : a % 4 * ELEM;
}

/* ---- the model.  Names as in the reference. */

static uint32_t nmasters, mrank[P_MAX], lnum[P_MAX];

static void
find_masters(void)
{
	nmasters = 0;
	for (uint32_t r = 0; r < job.p; r++) {
		bool lowest = true;

		for (uint32_t s = 0; s < r; s++)
			lowest &= job.of[s] != job.of[r];
		if (lowest)
			mrank[nmasters++] = r;
	}
	for (uint32_t r = 0; r < job.p; r++)
		for (uint32_t k = 0; k < nmasters; k++)
			if (job.of[mrank[k]] == job.of[r])
				lnum[r] = k;
}

static void
emit(struct pair (*log)[P_MAX], uint32_t from, uint32_t to, uint32_t tag, const void *data,
     uint64_t len)
{
	struct pair *q = &log[from][to];
	struct msg *m = &q->msg[q->n++];

	assert_true(q->n <= MSGS_MAX && len <= sizeof m->data);
	m->tag = tag;
	m->len = len;
	memcpy(m->data, data, len);
}

static bool
tree(void)
{
	return nmasters > job.maxlinear;
}

static uint32_t
cubedim(uint32_t n)
{
	uint32_t d;

	for (d = 0; 1u << d < n; d++)
		;
	return d;
}

static uint32_t
without_highest(uint32_t v)
{
	uint32_t bit = 1;

	while (bit * 2 <= v)
		bit *= 2;
	return v - bit;
}

/* The process with virtual master number v: the root, or another client's master. */
static uint32_t
participant(uint32_t root, uint32_t v)
{
	uint32_t k = (v + lnum[root]) % nmasters;

	return k == lnum[root] ? root : mrank[k];
}

static void
model_barrier(void)
{
	for (uint32_t m = 1; m < nmasters; m++) {
		uint32_t up = tree() ? without_highest(m) : 0;

		emit(want, mrank[m], mrank[up], 110, "", 0);
		emit(want, mrank[up], mrank[m], 110, "", 0);
	}
}

static void
model_bcast(uint32_t root, const uint8_t *data, uint64_t len)
{
	for (uint32_t v = 1; v < nmasters; v++)
		emit(want, participant(root, tree() ? without_highest(v) : 0), participant(root, v),
		     120, data, len);
}

/* Rank r's vector: the concatenation of its blocks. */
static uint64_t
vector(uint8_t *at, uint32_t r)
{
	uint64_t len = 0;

	if (job.op != COLL_REDUCE_SCATTER) {
		fill(at, job.bytes, r, 0);
		return job.bytes;
	}
	for (uint32_t b = 0; b < job.p; b++) {
		fill(at + len, len_of(b, b), r, b);
		len += len_of(b, b);
	}
	return len;
}

static uint64_t
model_reduce(uint32_t root, uint8_t *out)
{
	static uint8_t acc[P_MAX][ROOM], own[ROOM];
	uint64_t len = vector(out, job.p - 1);

	for (uint32_t r = job.p - 1; r-- > 0;) { /* d0 op (d1 op (... op dn-1)) */
		vector(own, r);
		op(own, out, out, len);
	}
	if (!job.commutes) {
		for (uint32_t r = 0; r < job.p; r++) {
			vector(own, r);
			if (job.of[r] != job.of[root])
				emit(want, r, root, 190, own, len);
		}
		return len;
	}
	memset(acc, 0, sizeof acc); /* the operation is a sum */
	for (uint32_t r = 0; r < job.p; r++) {
		uint32_t v = (lnum[r] + nmasters - lnum[root]) % nmasters;

		vector(own, r);
		op(own, acc[v], acc[v], len);
	}
	for (uint32_t v = 1; v < nmasters && !tree(); v++)
		emit(want, participant(root, v), root, 190, acc[v], len);
	for (uint32_t i = 0; i < cubedim(nmasters) && tree(); i++)
		for (uint32_t v = 1u << i; v < nmasters; v += 2u << i) {
			emit(want, participant(root, v), participant(root, v - (1u << i)), 190,
			     acc[v], len);
			op(acc[v], acc[v - (1u << i)], acc[v - (1u << i)], len);
		}
	return len;
}

/* The blocks of the clients with virtual master numbers in [v, end) in that order, each
 * client's in ascending rank; block(at, rank) writes one. */
static uint64_t
concatenate(uint8_t *at, uint32_t root, uint32_t v, uint32_t end,
	    void (*block)(uint8_t *, uint32_t))
{
	uint64_t len = 0;

	for (; v < end; v++)
		for (uint32_t r = 0; r < job.p; r++)
			if (lnum[r] == (v + lnum[root]) % nmasters) {
				block(at + len, r);
				len += job.bytes;
			}
	return len;
}

static void
gathered(uint8_t *at, uint32_t r)
{
	fill(at, job.bytes, r, 0);
}

static void
model_gather(uint32_t root, uint32_t tag)
{
	uint8_t data[P_MAX * BLOCK];
	uint32_t n = nmasters;

	if (job.form == VECTOR || job.bytes >= job.xsize) {
		for (uint32_t r = 0; r < job.p; r++) {
			fill(data, len_of(r, r), r, 0);
			if (job.of[r] != job.of[root])
				emit(want, r, root, tag, data, len_of(r, r));
		}
		return;
	}
	for (uint32_t v = 1; v < n; v++) {
		uint32_t low = 1, end = v + 1;

		while (!(v & low))
			low *= 2;
		if (tree())
			end = v + low < n ? v + low : n;
		uint64_t len = concatenate(data, root, v, end, gathered);
		emit(want, participant(root, v), participant(root, tree() ? v - low : 0), tag, data,
		     len);
	}
}

static void
scattered(uint8_t *at, uint32_t r)
{
	fill(at, job.bytes, job.root, r);
}

static void
model_scatter(uint32_t tag)
{
	uint8_t data[P_MAX * BLOCK];

	for (uint32_t v = 1; v < nmasters && job.form == PLAIN && job.bytes < job.xsize; v++) {
		uint64_t len = concatenate(data, job.root, v, v + 1, scattered);
		emit(want, job.root, participant(job.root, v), tag, data, len);
	}
	for (uint32_t r = 0; r < job.p; r++) {
		fill(data, len_of(r, r), job.root, r);
		if ((job.form == VECTOR || job.bytes >= job.xsize) && job.of[r] != job.of[job.root])
			emit(want, job.root, r, tag, data, len_of(r, r));
		memcpy(result[r], data, len_of(r, r));
	}
}

/* Everybody's blocks in rank order, without gaps. */
static uint64_t
all_blocks(uint8_t *at)
{
	uint64_t len = 0;

	for (uint32_t r = 0; r < job.p; r++) {
		fill(at + len, len_of(r, r), r, 0);
		len += len_of(r, r);
	}
	return len;
}

static void
model_reduce_scatter(void)
{
	uint8_t data[ROOM], *at = data;

	model_reduce(0, data);
	for (uint32_t r = 0; r < job.p; r++) {
		if (job.of[r] != job.of[0])
			emit(want, 0, r, 160, at, len_of(r, r));
		memcpy(result[r], at, len_of(r, r));
		at += len_of(r, r);
	}
}

static void
model_alltoall(uint32_t tag)
{
	uint8_t data[BLOCK];

	for (uint32_t r = 0; r < job.p; r++) {
		uint64_t at = 0;

		for (uint32_t s = 0; s < job.p; s++) {
			fill(data, len_of(s, r), s, r);
			if (job.of[r] != job.of[s])
				emit(want, s, r, tag, data, len_of(s, r));
			memcpy(result[r] + at, data, len_of(s, r));
			at += len_of(s, r);
		}
	}
}

static void
model_scan(void)
{
	uint8_t own[BLOCK];

	for (uint32_t r = 0; r < job.p; r++) {
		fill(own, job.bytes, r, 0);
		if (r == 0)
			memcpy(result[r], own, job.bytes);
		else
			op(result[r - 1], own, result[r], job.bytes);
		if (r + 1 < job.p && job.of[r] != job.of[r + 1])
			emit(want, r, r + 1, 200, result[r], job.bytes);
	}
}

static void
to_all(const uint8_t *data, uint64_t len)
{
	for (uint32_t r = 0; r < job.p; r++)
		memcpy(result[r], data, len);
}

static void
model(void)
{
	uint8_t data[ROOM];
	uint64_t len;

	find_masters();
	memset(result, 0xee, sizeof result);
	switch (job.op) {
	case COLL_BARRIER:
		model_barrier();
		break;
	case COLL_BCAST:
		fill(data, job.bytes, job.root, 0);
		model_bcast(job.root, data, job.bytes);
		to_all(data, job.bytes);
		break;
	case COLL_REDUCE:
		len = model_reduce(job.root, data);
		memcpy(result[job.root], data, len);
		break;
	case COLL_ALLREDUCE:
		len = model_reduce(0, data);
		model_bcast(0, data, len);
		to_all(data, len);
		break;
	case COLL_GATHER:
		model_gather(job.root, job.form == VECTOR ? 140 : 130);
		all_blocks(result[job.root]);
		break;
	case COLL_SCATTER:
		model_scatter(job.form == VECTOR ? 160 : 150);
		break;
	case COLL_ALLGATHER:
		model_gather(0, job.form == VECTOR ? 140 : 130);
		len = all_blocks(data);
		model_bcast(0, data, len);
		to_all(data, len);
		break;
	case COLL_ALLTOALL:
		model_alltoall(job.form == VECTOR ? 180 : 170);
		break;
	case COLL_REDUCE_SCATTER:
		model_reduce_scatter();
		break;
	default:
		model_scan();
	}
}

#endif
