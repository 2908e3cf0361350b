/* SPDX-License-Identifier: BSD-2-Clause */
/* Every place gathers its blocks at its master, the masters give them to each other, and each
 * spreads what it gets: a block enters every other place once.  Where the blocks of a place do
 * not lie side by side, all are packed by place in scratch space and put right at the end.
 * Cost: k-1 small messages and log2 k (alpha + n beta) inside a place of k, n-1 messages of a
 * place's blocks between n masters. */
#include "builder.h"

struct plan {
	struct coll_hier h;
	uint64_t *place_off, *place_len; /* [masters.n], in buf */
	uint64_t *block_off;		 /* [size] */
	enum coll_buf buf;
};

/* Places in the order of their masters, blocks in the order of ranks; false: there is a gap. */
static bool
side_by_side(const struct coll_args *a, struct plan *p)
{
	for (uint32_t m = 0; m < p->h.masters.n; m++) {
		bool first = true;
		p->place_off[m] = p->place_len[m] = 0;
		for (uint32_t r = 0; r < a->size; r++) {
			uint64_t off = coll_block_off(a, r), len = coll_block_len(a, r);
			if (p->h.of[r] != p->h.of[p->h.masters.rank[m]] || len == 0)
				continue;
			if (first)
				p->place_off[m] = off;
			else if (off != p->place_off[m] + p->place_len[m])
				return false;
			p->place_len[m] += len;
			first = false;
		}
	}
	for (uint32_t r = 0; r < a->size; r++)
		p->block_off[r] = coll_block_off(a, r);
	return true;
}

static void
pack_allgather_hier(struct coll_schedule *s, const struct coll_args *a, struct plan *p)
{
	uint64_t total = 0, at;
	for (uint32_t r = 0; r < a->size; r++)
		total += coll_block_len(a, r);
	at = coll_tmp(s, total);
	for (uint32_t m = 0; m < p->h.masters.n; m++) {
		p->place_off[m] = at;
		for (uint32_t r = 0; r < a->size; r++) {
			if (p->h.of[r] != p->h.of[p->h.masters.rank[m]])
				continue;
			p->block_off[r] = at;
			at += coll_block_len(a, r);
		}
		p->place_len[m] = at - p->place_off[m];
	}
	p->buf = COLL_TMP;
}

static bool
lay_out_allgather_hier(struct coll_schedule *s, const struct coll_args *a, struct plan *p)
{
	if (!coll_hier_find(s, a, &p->h))
		return false;
	uint32_t n = p->h.masters.n;
	p->place_off = coll_offsets(s, 2 * n + a->size);
	if (!p->place_off)
		return false;
	p->place_len = p->place_off + n;
	p->block_off = p->place_len + n;
	p->buf = COLL_RECV;
	if (!side_by_side(a, p))
		pack_allgather_hier(s, a, p);
	return true;
}

/* To the master what is ours, from the others of the place what is theirs. */
static void
gather_allgather_hier(struct coll_schedule *s, const struct coll_args *a, const struct plan *p)
{
	uint64_t len = coll_block_len(a, a->rank);
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, p->buf, p->block_off[a->rank], len);
	else if (p->buf == COLL_TMP)
		coll_copy(s, COLL_RECV, coll_block_off(a, a->rank), COLL_TMP, p->block_off[a->rank],
			  len);
	if (!p->h.is_master) {
		coll_send(s, p->h.masters.rank[p->h.masters.me], p->buf, p->block_off[a->rank],
			  len);
		return;
	}
	for (uint32_t v = 0; v < p->h.local.n; v++) {
		uint32_t r = p->h.local.rank[v];
		if (r != a->rank)
			coll_recv(s, r, p->buf, p->block_off[r], coll_block_len(a, r));
	}
}

static int
build_allgather_hier(struct coll_schedule *s, const struct coll_args *a)
{
	struct plan p;
	if (!lay_out_allgather_hier(s, a, &p))
		return COLL_ERR_NOMEM;
	gather_allgather_hier(s, a, &p);
	uint32_t n = p.h.masters.n, me = p.h.masters.me;
	for (uint32_t d = 1; d < n && p.h.is_master; d++) {
		uint32_t to = (me + d) % n, from = (me + n - d) % n;
		coll_send(s, p.h.masters.rank[to], p.buf, p.place_off[me], p.place_len[me]);
		coll_recv(s, p.h.masters.rank[from], p.buf, p.place_off[from], p.place_len[from]);
	}
	for (uint32_t d = 0; d < n; d++) {
		uint32_t m = (me + n - d) % n;
		coll_bcast_group(s, &p.h.local, p.h.master_local,
				 (struct coll_range){p.buf, p.place_off[m], p.place_len[m]});
	}
	for (uint32_t r = 0; r < a->size && p.buf == COLL_TMP; r++)
		coll_copy(s, COLL_TMP, p.block_off[r], COLL_RECV, coll_block_off(a, r),
			  coll_block_len(a, r));
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allgather_hier = {
	COLL_ALLGATHER, "hier",
	"k-1 + log2 k rounds inside a place, n-1 messages between n masters", coll_many_places,
	build_allgather_hier};
