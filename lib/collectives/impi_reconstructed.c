/* SPDX-License-Identifier: BSD-2-Clause */
/* [R] The profile impi-0.0: what its text says about the operations here was not found;
 * these are this project's rules (coll/impi.h, reference 7.7), in one place so that they
 * can be replaced. */
#include "impi_view.h"

static struct place
recv_block(const struct coll_args *a, uint32_t i)
{
	return (struct place){COLL_RECV, coll_block_off(a, i), coll_block_len(a, i)};
}

/* What I contribute to a gather. */
static struct place
own_block(const struct coll_args *a)
{
	if (a->in_place)
		return recv_block(a, a->rank);
	return (struct place){COLL_SEND, 0, coll_block_len(a, a->rank)};
}

static void
keep_own_block(struct view *v)
{
	if (!v->a->in_place)
		copy(v, own_block(v->a), COLL_RECV, coll_block_off(v->a, v->a->rank));
}

/* [R] Gather long, and Gatherv: everybody to the root. */
static void
gather_direct(struct view *v, uint32_t root, uint32_t tag)
{
	const struct coll_args *a = v->a;

	if (a->rank != root) {
		put_raw(v, root, tag, own_block(a));
		return;
	}
	keep_own_block(v);
	for (uint32_t k = 1; k < a->size; k++) {
		uint32_t i = (root + k) % a->size;
		get_raw(v, i, tag, recv_block(a, i));
	}
}

/* Bytes of the blocks of the clients with virtual numbers [w, end). */
static uint64_t
bytes_of_clients(const struct view *v, uint32_t root, uint32_t w, uint32_t end)
{
	uint64_t members = 0;

	for (; w < end; w++)
		members += v->members[(w + v->lnum[root]) % v->n];
	return members * v->a->bytes;
}

/* Receive from the participant w what it holds of the clients [w, end); returns where
 * that ends. */
static uint64_t
gather_subtree(struct view *v, uint32_t root, uint32_t w, uint32_t end, uint64_t at)
{
	struct place t = {COLL_TMP, at, bytes_of_clients(v, root, w, end)};

	get_raw(v, rank_of_virtual(v, root, w), COLL_IMPI_GATHER, t);
	return at + t.len;
}

/* At the root: what came from the clients [w, end), each client's blocks in ascending
 * rank, goes to its places. */
static void
unshuffle(struct view *v, uint32_t root, uint32_t w, uint32_t end, struct place t)
{
	const struct coll_args *a = v->a;
	uint64_t at = t.off;

	for (; w < end; w++)
		for (uint32_t r = 0; r < a->size; r++) {
			if (v->lnum[r] != (w + v->lnum[root]) % v->n)
				continue;
			copy(v, (struct place){t.buf, at, a->bytes}, COLL_RECV,
			     coll_block_off(a, r));
			at += a->bytes;
		}
}

static void
gather_short_root(struct view *v)
{
	uint32_t root = v->a->rank, n = v->n, step;
	struct place all = scratch(v, bytes_of_clients(v, root, 1, n));
	uint64_t at = all.off;

	keep_own_block(v);
	for (uint32_t l = 0; l < v->nlocal; l++)
		if (v->local[l] != root)
			get_raw(v, v->local[l], 0, recv_block(v->a, v->local[l]));
	for (uint32_t w = 1; w < n; w += step) {
		/* in the tree, w = 2^i holds the clients [2^i, 2^(i+1)) */
		step = linear(v) ? 1 : w;
		at = gather_subtree(v, root, w, w + step < n ? w + step : n, at);
	}
	gate(v);
	unshuffle(v, root, 1, n, all);
}

static void
gather_short_master(struct view *v, uint32_t root)
{
	const struct coll_args *a = v->a;
	uint32_t n = v->n, w = virtual_of(v, root), low = w & (0 - w);
	uint32_t end = linear(v) ? w + 1 : w + low < n ? w + low : n;
	struct place all = scratch(v, bytes_of_clients(v, root, w, end));
	uint64_t at = all.off;

	copy(v, own_block(a), all.buf, at);
	for (uint32_t l = 0; l < v->nlocal; l++, at += a->bytes)
		if (v->local[l] != a->rank)
			get_raw(v, v->local[l], 0, (struct place){all.buf, at, a->bytes});
	for (uint32_t i = 1; !linear(v) && i < low && w + i < n; i <<= 1) {
		uint32_t cend = w + 2 * i < n ? w + 2 * i : n;
		at = gather_subtree(v, root, w + i, cend, at);
	}
	gate(v);
	put_raw(v, linear(v) ? root : rank_of_virtual(v, root, w - low), COLL_IMPI_GATHER, all);
}

/* [R] Gather short: one message for each client, in a tree with those of others. */
static void
gather_short(struct view *v, uint32_t root)
{
	uint32_t head = speaker(v, root);

	if (v->a->rank == root)
		gather_short_root(v);
	else if (v->a->rank == head)
		gather_short_master(v, root);
	else
		put_raw(v, head, 0, own_block(v->a));
}

static void
gather_to(struct view *v, uint32_t root)
{
	if (v->a->vector)
		gather_direct(v, root, COLL_IMPI_GATHERV);
	else if (v->a->wire_bytes >= v->a->xsize)
		gather_direct(v, root, COLL_IMPI_GATHER);
	else
		gather_short(v, root);
}

static int
build_impi_gather(struct coll_schedule *s, const struct coll_args *a)
{
	struct view v;
	int rc = look(&v, s, a);

	if (rc == COLL_ERR_OK)
		gather_to(&v, a->root);
	return rc;
}

/* [R] Scatter long, and Scatterv: the root to everybody.  from: block 0 of a vector
 * without gaps, or with len 0: the blocks of COLL_SEND. */
static void
scatter_direct(struct view *v, uint32_t root, uint32_t tag, struct place from)
{
	const struct coll_args *a = v->a;
	uint64_t at = from.off, len;

	if (a->rank != root) {
		len = coll_block_len(a, a->rank);
		get(v, root, tag, (struct place){COLL_RECV, 0, len});
		return;
	}
	for (uint32_t r = 0; r < a->size; r++, at += len) {
		len = coll_block_len(a, r);
		struct place block = {from.buf, at, len};
		if (!from.len)
			block = (struct place){COLL_SEND, coll_block_off(a, r), len};
		if (r != root)
			put_raw(v, r, tag, block);
		else if (from.len || !a->in_place)
			copy(v, block, COLL_RECV, 0);
	}
}

/* One message to the master of each other client, directly to those of my own. */
static void
scatter_short_root(struct view *v)
{
	const struct coll_args *a = v->a;

	for (uint32_t k = 0; k < v->n; k++) {
		if (k == v->mine)
			continue;
		struct place t = scratch(v, v->members[k] * a->bytes);
		uint64_t at = t.off;
		for (uint32_t r = 0; r < a->size; r++) {
			if (v->lnum[r] != k)
				continue;
			copy(v, (struct place){COLL_SEND, coll_block_off(a, r), a->bytes}, t.buf,
			     at);
			at += a->bytes;
		}
		put(v, v->mrank[k], COLL_IMPI_SCATTER, t);
	}
	for (uint32_t l = 0; l < v->nlocal; l++) {
		struct place block = {COLL_SEND, coll_block_off(a, v->local[l]), a->bytes};
		if (v->local[l] != a->rank)
			put_raw(v, v->local[l], 0, block);
		else if (!a->in_place)
			copy(v, block, COLL_RECV, 0);
	}
}

/* [R] Scatter short: linear only. */
static void
scatter_short(struct view *v, uint32_t root)
{
	const struct coll_args *a = v->a;
	uint32_t head = speaker(v, root);

	if (a->rank == root) {
		scatter_short_root(v);
	} else if (a->rank != head) {
		get(v, head, 0, (struct place){COLL_RECV, 0, a->bytes});
	} else {
		struct place t = scratch(v, v->nlocal * a->bytes);
		uint32_t got = get(v, root, COLL_IMPI_SCATTER, t);
		for (uint32_t l = 0; l < v->nlocal; l++) {
			struct place block = {t.buf, t.off + l * a->bytes, a->bytes};
			if (v->local[l] == a->rank) {
				copy(v, block, COLL_RECV, 0);
			} else {
				put_raw(v, v->local[l], 0, block);
				coll_after(v->s, got);
			}
		}
	}
}

static int
build_impi_scatter(struct coll_schedule *s, const struct coll_args *a)
{
	const struct place user = {COLL_SEND, 0, 0};
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	if (a->vector)
		scatter_direct(&v, a->root, COLL_IMPI_SCATTERV, user);
	else if (a->wire_bytes >= a->xsize)
		scatter_direct(&v, a->root, COLL_IMPI_SCATTER, user);
	else
		scatter_short(&v, a->root);
	return COLL_ERR_OK;
}

/* All blocks of COLL_RECV, without gaps, from rank 0 to everybody. */
static void
bcast_blocks(struct view *v)
{
	const struct coll_args *a = v->a;
	uint64_t total = 0;
	bool gaps = false;

	for (uint32_t i = 0; i < a->size; i++) {
		gaps |= coll_block_len(a, i) && coll_block_off(a, i) != total;
		total += coll_block_len(a, i);
	}
	if (!gaps) {
		coll_impi_bcast(v, 0, (struct place){COLL_RECV, 0, total});
		return;
	}
	struct place t = scratch(v, total);
	uint64_t at = t.off, len;
	for (uint32_t i = 0; i < a->size && a->rank == 0; i++, at += len) {
		len = coll_block_len(a, i);
		copy(v, recv_block(a, i), t.buf, at);
	}
	coll_impi_bcast(v, 0, t);
	at = t.off;
	for (uint32_t i = 0; i < a->size && a->rank != 0; i++, at += len) {
		len = coll_block_len(a, i);
		copy(v, (struct place){t.buf, at, len}, COLL_RECV, coll_block_off(a, i));
	}
}

/* [R] Allgather: Gather to rank 0, Bcast of all.  Allgatherv: the same with Gatherv. */
static int
build_impi_allgather(struct coll_schedule *s, const struct coll_args *a)
{
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	gather_to(&v, 0);
	bcast_blocks(&v);
	return COLL_ERR_OK;
}

/* [R] Reduce_scatter: Reduce of the whole vector to rank 0, Scatterv from there. */
static int
build_impi_reduce_scatter(struct coll_schedule *s, const struct coll_args *a)
{
	struct place acc;
	uint64_t total = 0;
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < a->size; i++)
		total += coll_block_len(a, i);
	acc = scratch(&v, total);
	coll_impi_reduce(&v, 0, acc);
	gate(&v);
	scatter_direct(&v, 0, COLL_IMPI_SCATTERV, acc);
	return COLL_ERR_OK;
}

/* [R] Alltoall, Alltoallv: one message for each ordered pair, zero bytes included. */
static int
build_impi_alltoall(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, me = a->rank;
	uint32_t tag = a->vector ? COLL_IMPI_ALLTOALLV : COLL_IMPI_ALLTOALL;
	struct place kept = {COLL_TMP, 0, 0};
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < p && a->in_place; i++) { /* RECV is what is sent, too */
		struct place b = recv_block(a, i);
		kept.len = b.off + b.len > kept.len ? b.off + b.len : kept.len;
	}
	if (a->in_place) {
		kept = scratch(&v, kept.len);
		copy(&v, (struct place){COLL_RECV, 0, kept.len}, kept.buf, kept.off);
		gate(&v);
	} else {
		copy(&v, (struct place){COLL_SEND, coll_send_off(a, me), coll_send_len(a, me)},
		     COLL_RECV, coll_block_off(a, me));
	}
	for (uint32_t k = 1; k < p; k++)
		get_raw(&v, (me + p - k) % p, tag, recv_block(a, (me + p - k) % p));
	for (uint32_t k = 1; k < p; k++) {
		uint32_t to = (me + k) % p;
		struct place b = {COLL_SEND, coll_send_off(a, to), coll_send_len(a, to)};
		if (a->in_place) {
			b = recv_block(a, to);
			b.buf = kept.buf;
			b.off += kept.off;
		}
		put_raw(&v, to, tag, b);
	}
	return COLL_ERR_OK;
}

/* [R] Scan: a chain. */
static int
build_impi_scan(struct coll_schedule *s, const struct coll_args *a)
{
	const struct place acc = {COLL_RECV, 0, a->bytes};
	struct view v;
	int rc = look(&v, s, a);

	if (rc)
		return rc;
	if (!a->in_place)
		copy(&v, own_vector(a, a->bytes), acc.buf, acc.off);
	if (a->rank > 0)
		combine(&v, a->rank - 1, COLL_IMPI_SCAN, acc);
	if (a->rank + 1 < a->size)
		put(&v, a->rank + 1, COLL_IMPI_SCAN, acc);
	return COLL_ERR_OK;
}

COLL_IMPI_ALGORITHM(COLL_GATHER, gather)
COLL_IMPI_ALGORITHM(COLL_SCATTER, scatter)
COLL_IMPI_ALGORITHM(COLL_ALLGATHER, allgather)
COLL_IMPI_ALGORITHM(COLL_ALLTOALL, alltoall)
COLL_IMPI_ALGORITHM(COLL_REDUCE_SCATTER, reduce_scatter)
COLL_IMPI_ALGORITHM(COLL_SCAN, scan)
