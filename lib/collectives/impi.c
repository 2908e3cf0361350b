/* SPDX-License-Identifier: BSD-2-Clause */
/* The profile impi-0.0: Barrier, Bcast, Reduce and Allreduce, whose rules are known
 * (coll/impi.h, reference 7.3 to 7.6). */
#include "impi_view.h"

/* ---- local phases, binomial: private */

static uint32_t
local_index(const struct view *v, uint32_t rank)
{
	uint32_t i = 0;

	while (v->local[i] != rank)
		i++;
	return i;
}

/* Reduce within my client to root, or with no bytes: meet at root. */
static void
fold_impi(struct view *v, uint32_t root, struct place acc)
{
	uint32_t n = v->nlocal, shift = local_index(v, root), me = (v->lme + n - shift) % n;

	for (uint32_t mask = 1; mask < n; mask <<= 1) {
		if (me & mask) {
			if (acc.len == 0)
				gate(v);
			put(v, v->local[((me & ~mask) + shift) % n], 0, acc);
			return;
		}
		if (me + mask < n)
			combine(v, v->local[(me + mask + shift) % n], 0, acc);
	}
}

/* Broadcast within my client from root, where data is complete once the gate is open
 * and step `got` is done. */
static void
spread_impi(struct view *v, uint32_t root, struct place data, uint32_t got)
{
	uint32_t n = v->nlocal, shift = local_index(v, root), me = (v->lme + n - shift) % n;
	uint32_t mask = 1;

	while (mask < n && !(me & mask))
		mask <<= 1;
	if (me)
		got = get(v, v->local[((me & ~mask) + shift) % n], 0, data);
	for (mask >>= 1; mask; mask >>= 1) {
		if (me + mask >= n)
			continue;
		put_raw(v, v->local[(me + mask + shift) % n], 0, data);
		coll_after(v->s, got);
	}
}

/* ---- Barrier, reference 7.3 */

static const struct place nothing = {COLL_RECV, 0, 0};

/* Tell peer that all below me are here, then hear from it that all are. */
static void
meet_impi(struct view *v, uint32_t peer)
{
	uint32_t told = put(v, peer, COLL_IMPI_BARRIER, nothing);

	get(v, peer, COLL_IMPI_BARRIER, nothing);
	coll_after(v->s, told);
}

static void
barrier_global(struct view *v)
{
	uint32_t m = v->mine, n = v->n;

	if (linear(v)) {
		if (m != 0) {
			meet_impi(v, v->mrank[0]);
			return;
		}
		for (uint32_t k = 1; k < n; k++)
			get(v, v->mrank[k], COLL_IMPI_BARRIER, nothing);
		gate(v);
		for (uint32_t k = 1; k < n; k++)
			put(v, v->mrank[k], COLL_IMPI_BARRIER, nothing);
		return;
	}
	int d = (int)cubedim(n), h = hibit(m);
	for (int i = d - 1; i > h; i--)
		if ((m | 1u << i) < n)
			get(v, v->mrank[m | 1u << i], COLL_IMPI_BARRIER, nothing);
	gate(v);
	if (m > 0) {
		meet_impi(v, v->mrank[m & ~(1u << h)]);
		gate(v);
	}
	for (int i = h + 1; i < d; i++)
		if ((m | 1u << i) < n)
			put(v, v->mrank[m | 1u << i], COLL_IMPI_BARRIER, nothing);
}

static int
build_impi_barrier(struct coll_schedule *s, const struct coll_args *a)
{
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	fold_impi(&v, v.mrank[v.mine], nothing);
	if (a->rank == v.mrank[v.mine]) {
		gate(&v);
		barrier_global(&v);
		gate(&v);
	}
	spread_impi(&v, v.mrank[v.mine], nothing, UINT32_MAX);
	return COLL_ERR_OK;
}

/* ---- Bcast, reference 7.4 */

static uint32_t
bcast_global(struct view *v, uint32_t root, struct place data)
{
	uint32_t n = v->n, w = virtual_of(v, root), got = UINT32_MAX;

	if (linear(v)) {
		if (w != 0)
			return get(v, root, COLL_IMPI_BCAST, data);
		for (uint32_t k = 0; k < n; k++)
			if (k != v->mine)
				put_raw(v, v->mrank[k], COLL_IMPI_BCAST, data);
		return got;
	}
	int d = (int)cubedim(n), h = hibit(w);
	if (w > 0)
		got = get(v, rank_of_virtual(v, root, w & ~(1u << h)), COLL_IMPI_BCAST, data);
	for (int i = h + 1; i < d; i++) {
		if ((w | 1u << i) >= n)
			continue;
		put_raw(v, rank_of_virtual(v, root, w | 1u << i), COLL_IMPI_BCAST, data);
		coll_after(v->s, got);
	}
	return got;
}

void
coll_impi_bcast(struct view *v, uint32_t root, struct place data)
{
	uint32_t got = UINT32_MAX;

	if (v->s->steps > 0)
		gate(v);
	if (v->a->rank == speaker(v, root))
		got = bcast_global(v, root, data);
	spread_impi(v, speaker(v, root), data, got);
}

static int
build_impi_bcast(struct coll_schedule *s, const struct coll_args *a)
{
	struct view v;
	int rc = look(&v, s, a);

	if (rc == COLL_ERR_OK)
		coll_impi_bcast(&v, a->root, (struct place){COLL_RECV, 0, a->bytes});
	return rc;
}

/* ---- Reduce, reference 7.5 */

static void
reduce_global(struct view *v, uint32_t root, struct place acc)
{
	uint32_t n = v->n, w = virtual_of(v, root), d = cubedim(n);

	if (linear(v)) {
		if (w != 0)
			put(v, root, COLL_IMPI_REDUCE, acc);
		for (uint32_t k = 0; k < n && w == 0; k++)
			if (k != v->mine)
				combine(v, v->mrank[k], COLL_IMPI_REDUCE, acc);
		return;
	}
	for (uint32_t i = 0; i < d; i++) {
		if (w & 1u << i) {
			put(v, rank_of_virtual(v, root, w & ~(1u << i)), COLL_IMPI_REDUCE, acc);
			return;
		}
		if ((w | 1u << i) < n)
			combine(v, rank_of_virtual(v, root, w | 1u << i), COLL_IMPI_REDUCE, acc);
	}
}

/* acc = d op acc, after the steps a and b. */
static uint32_t
combine_after(struct view *v, struct place d, struct place acc, uint32_t a, uint32_t b)
{
	struct coll_step step = {.kind = COLL_STEP_REDUCE,
				 .from = {d.buf, d.off, d.len},
				 .into = {acc.buf, acc.off, acc.len},
				 .left = true};
	uint32_t at = coll_step_add(v->s, step);

	coll_after(v->s, a);
	coll_after(v->s, b);
	return at;
}

/* Everybody sends to the root, which combines d0 op (d1 op (... op dn-1)).  A few slots
 * for what arrives bound the memory; dependencies are named, because looking for them in
 * chains as long as this one finds too many. */
#define SLOTS 8
static void
reduce_in_order(struct view *v, uint32_t root, struct place acc)
{
	struct place mine = own_vector(v->a, acc.len), kept, slot[SLOTS];
	uint32_t used[SLOTS], last, got;

	if (v->a->rank != root) {
		put(v, root, COLL_IMPI_REDUCE, mine);
		return;
	}
	kept = scratch(v, acc.len);
	copy(v, mine, kept.buf, kept.off); /* acc may be where it lies */
	gate(v);
	last = v->gate;
	for (uint32_t i = 0; i < SLOTS; i++) {
		slot[i] = scratch(v, acc.len);
		used[i] = UINT32_MAX;
	}
	for (uint32_t i = v->a->size; i-- > 0;) {
		struct place d = i == root ? kept : slot[i % SLOTS];
		got = UINT32_MAX;
		if (i != root) {
			got = get_raw(v, i, COLL_IMPI_REDUCE, d);
			coll_after(v->s, used[i % SLOTS]);
		}
		if (acc.len == 0)
			continue;
		if (i + 1 == v->a->size) {
			last = coll_step_add(
				v->s, (struct coll_step){.kind = COLL_STEP_COPY,
							 .from = {d.buf, d.off, d.len},
							 .into = {acc.buf, acc.off, acc.len}});
			coll_after(v->s, got);
			coll_after(v->s, v->gate);
		} else {
			last = combine_after(v, d, acc, got, last);
		}
		if (i != root)
			used[i % SLOTS] = last;
	}
}

void
coll_impi_reduce(struct view *v, uint32_t root, struct place acc)
{
	struct place mine = own_vector(v->a, acc.len);

	if (!v->a->commutative) {
		reduce_in_order(v, root, acc);
		return;
	}
	if (mine.buf != acc.buf || mine.off != acc.off)
		copy(v, mine, acc.buf, acc.off);
	fold_impi(v, speaker(v, root), acc);
	if (v->a->rank == speaker(v, root))
		reduce_global(v, root, acc);
}

static int
build_impi_reduce(struct coll_schedule *s, const struct coll_args *a)
{
	struct view v;
	int rc = look(&v, s, a);

	if (rc == COLL_ERR_OK)
		coll_impi_reduce(&v, a->root, (struct place){COLL_RECV, 0, a->bytes});
	return rc;
}

/* ---- Allreduce, reference 7.6 */

static int
build_impi_allreduce(struct coll_schedule *s, const struct coll_args *a)
{
	const struct place acc = {COLL_RECV, 0, a->bytes};
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	coll_impi_reduce(&v, 0, acc);
	coll_impi_bcast(&v, 0, acc);
	return COLL_ERR_OK;
}

COLL_IMPI_ALGORITHM(COLL_BARRIER, barrier)
COLL_IMPI_ALGORITHM(COLL_BCAST, bcast)
COLL_IMPI_ALGORITHM(COLL_REDUCE, reduce)
COLL_IMPI_ALGORITHM(COLL_ALLREDUCE, allreduce)
