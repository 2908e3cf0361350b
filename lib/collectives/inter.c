/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations between two groups (MPI's inter-communicators; MPI 5.0, 6.2.3): what one
 * group gives the other one gets.  Whole vectors cross once each way, between the two
 * first processes or to and from the root; blocks go straight from process to process.
 *
 * Cost, n and m being the two groups: barrier 2 max(n, m) alpha; bcast
 * (1 + log2 m)(alpha + b beta); reductions n (alpha + b beta + b gamma) + what follows;
 * the others max(n, m)(alpha + b beta). */
#include "builder.h"

static uint32_t
other(const struct coll_args *a, uint32_t r)
{
	return a->size + r;
}

static struct coll_group
own_group(const struct coll_args *a)
{
	return coll_flat(a);
}

/* Steps whose ranges are apart from all others by construction. */
static void
give_inter(struct coll_schedule *s, uint32_t peer, uint64_t off, uint64_t len)
{
	coll_step_add(s, (struct coll_step){.kind = COLL_STEP_SEND,
					    .peer = peer,
					    .from = {COLL_SEND, off, len}});
}

static void
get_inter(struct coll_schedule *s, uint32_t peer, uint64_t off, uint64_t len)
{
	coll_step_add(s, (struct coll_step){.kind = COLL_STEP_RECV,
					    .peer = peer,
					    .into = {COLL_RECV, off, len}});
}

static int
build_inter_barrier(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->rank) {
		give_inter(s, 0, 0, 0);
		get_inter(s, 0, 0, 0);
		return COLL_ERR_OK;
	}
	for (uint32_t i = 1; i < a->size; i++)
		get_inter(s, i, 0, 0);
	give_inter(s, other(a, 0), 0, 0);
	coll_after_all(s, 0);
	get_inter(s, other(a, 0), 0, 0);
	uint32_t met = s->steps - 1;
	for (uint32_t i = 1; i < a->size; i++) {
		give_inter(s, i, 0, 0);
		coll_after(s, met);
	}
	return COLL_ERR_OK;
}

static int
build_inter_bcast(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->role == COLL_ROOT)
		coll_send(s, other(a, 0), COLL_RECV, 0, a->bytes);
	if (a->role != COLL_LEAF)
		return COLL_ERR_OK;
	struct coll_group g = own_group(a);
	if (!a->rank)
		coll_recv(s, other(a, a->root), COLL_RECV, 0, a->bytes);
	coll_bcast_group(s, &g, 0, coll_vector(a->bytes));
	return COLL_ERR_OK;
}

/* The group's vectors combined in rank order at its first process; there the offset of
 * the result in COLL_TMP.  Two places for what comes in, used in turn. */
static uint64_t
combine_inter(struct coll_schedule *s, const struct coll_args *a, uint64_t bytes)
{
	if (a->rank) {
		coll_send(s, 0, COLL_SEND, 0, bytes);
		return 0;
	}
	uint64_t sum = coll_tmp(s, bytes), place[2] = {coll_tmp(s, bytes), coll_tmp(s, bytes)};
	for (uint32_t i = a->size; i-- > 0;) {
		enum coll_buf buf = i ? COLL_TMP : COLL_SEND;
		uint64_t at = i ? place[i % 2] : 0;
		if (i)
			coll_recv(s, i, COLL_TMP, at, bytes);
		if (i + 1 == a->size)
			coll_copy(s, buf, at, COLL_TMP, sum, bytes);
		else
			coll_reduce(s, buf, at, COLL_TMP, sum, bytes, true);
	}
	return sum;
}

static int
build_inter_reduce(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->role == COLL_ROOT)
		coll_recv(s, other(a, 0), COLL_RECV, 0, a->bytes);
	if (a->role != COLL_LEAF)
		return COLL_ERR_OK;
	uint64_t sum = combine_inter(s, a, a->bytes);
	if (!a->rank)
		coll_send(s, other(a, a->root), COLL_TMP, sum, a->bytes);
	return COLL_ERR_OK;
}

static int
build_inter_allreduce(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = own_group(a);
	uint64_t sum = combine_inter(s, a, a->bytes);
	if (!a->rank) {
		coll_send(s, other(a, 0), COLL_TMP, sum, a->bytes);
		coll_recv(s, other(a, 0), COLL_RECV, 0, a->bytes);
		if (a->both)
			coll_reduce(s, COLL_TMP, sum, COLL_RECV, 0, a->bytes, true);
	}
	coll_bcast_group(s, &g, 0, coll_vector(a->bytes));
	return COLL_ERR_OK;
}

static int
build_inter_reduce_scatter(struct coll_schedule *s, const struct coll_args *a)
{
	uint64_t total = 0, at = 0;
	for (uint32_t i = 0; i < a->size; i++)
		total += coll_block_len(a, i);
	uint64_t sum = combine_inter(s, a, total);
	if (a->rank) {
		coll_recv(s, 0, COLL_RECV, 0, coll_block_len(a, a->rank));
		return COLL_ERR_OK;
	}
	uint64_t in = coll_tmp(s, total);
	coll_send(s, other(a, 0), COLL_TMP, sum, total);
	coll_recv(s, other(a, 0), COLL_TMP, in, total);
	for (uint32_t i = 0; i < a->size; i++) {
		uint64_t len = coll_block_len(a, i);
		if (i)
			coll_send(s, i, COLL_TMP, in + at, len);
		else
			coll_copy(s, COLL_TMP, in, COLL_RECV, 0, len);
		at += len;
	}
	return COLL_ERR_OK;
}

static int
build_inter_gather(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->role == COLL_LEAF)
		give_inter(s, other(a, a->root), 0, a->own_bytes);
	for (uint32_t r = 0; a->role == COLL_ROOT && r < a->remote; r++)
		get_inter(s, other(a, r), coll_block_off(a, r), coll_block_len(a, r));
	return COLL_ERR_OK;
}

static int
build_inter_scatter(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->role == COLL_LEAF)
		get_inter(s, other(a, a->root), 0, a->own_bytes);
	for (uint32_t r = 0; a->role == COLL_ROOT && r < a->remote; r++)
		give_inter(s, other(a, r), coll_block_off(a, r), coll_block_len(a, r));
	return COLL_ERR_OK;
}

static int
build_inter_allgather(struct coll_schedule *s, const struct coll_args *a)
{
	for (uint32_t r = 0; r < a->remote; r++)
		get_inter(s, other(a, r), coll_block_off(a, r), coll_block_len(a, r));
	for (uint32_t r = 0; r < a->remote; r++)
		give_inter(s, other(a, (r + a->rank) % a->remote), 0, a->own_bytes);
	return COLL_ERR_OK;
}

static int
build_inter_alltoall(struct coll_schedule *s, const struct coll_args *a)
{
	for (uint32_t r = 0; r < a->remote; r++)
		get_inter(s, other(a, r), coll_block_off(a, r), coll_block_len(a, r));
	for (uint32_t r = 0; r < a->remote; r++) {
		uint32_t to = (r + a->rank) % a->remote;
		if (a->send_bytes)
			give_inter(s, other(a, to), a->send_displ[to], a->send_bytes[to]);
		else
			give_inter(s, other(a, to), to * a->own_bytes, a->own_bytes);
	}
	return COLL_ERR_OK;
}

static bool
between_groups(const struct coll_args *a)
{
	return a->remote && !a->in_place;
}

#define INTER(name, op, cost)                                                                   \
	const struct coll_recipe coll_alg_inter_##name = {op, COLL_INTER, cost, between_groups, \
							  build_inter_##name}
INTER(barrier, COLL_BARRIER, "2 max(n, m) alpha");
INTER(bcast, COLL_BCAST, "(1 + log2 m)(alpha + b beta)");
INTER(reduce, COLL_REDUCE, "n (alpha + b beta + b gamma)");
INTER(allreduce, COLL_ALLREDUCE, "n (alpha + b beta + b gamma) + log2 n (alpha + b beta)");
INTER(reduce_scatter, COLL_REDUCE_SCATTER, "n (alpha + b beta + b gamma) + n alpha + b beta");
INTER(gather, COLL_GATHER, "n (alpha + b beta)");
INTER(scatter, COLL_SCATTER, "n (alpha + b beta)");
INTER(allgather, COLL_ALLGATHER, "m (alpha + b beta)");
INTER(alltoall, COLL_ALLTOALL, "m (alpha + b beta)");
