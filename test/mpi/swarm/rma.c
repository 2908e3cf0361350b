/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows: operations in one epoch, each on a part of a window of its own but for sums, which all
 * who take part add to the same part; and counters that all fetch and add to. */
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

enum { OPS = 12, COUNTS = 3 };

enum kind { PUT, GET, SUM, FETCH_SUM, NKINDS };
enum window { CREATED, ALLOCATED, DYNAMIC, NWINDOWS };
enum epoch { FENCE, POSTED, LOCKED, LOCKED_ALL, NEPOCHS };

struct op {
	enum kind kind;
	int origin, target;   /* ranks; a sum has every process as its origin */
	uint64_t n, key, was; /* elements; what is put or added; what is there before */
	struct sw_layout *from, *to;
	uint32_t nfrom, nto;
	size_t at; /* where its target layout begins in the window */
	struct sw_buf buf, result;
	bool mine;
	MPI_Request q;
};

static struct op ops[OPS];
static int nops;
static size_t used[64]; /* bytes of each process's window */
static const struct sw_comm *c;
static MPI_Win win;
static unsigned char *mem, *want;
static MPI_Aint address[64]; /* of dynamic windows, else 0 */
static int unit;	     /* of displacements */
static bool asserted;	     /* what may be said of fences is said: by all, or none */

/* ---- plans ---- */

static size_t
take_room(int target, const struct sw_layout *l, uint32_t count)
{
	ptrdiff_t low, high;

	sw_span(l, count, &low, &high);
	size_t at = (used[target] + 15) / 16 * 16 + (size_t)((-low + 15) / 16 * 16);
	used[target] = at + (size_t)high;
	return at;
}

static void
plan_op(struct op *o)
{
	static const uint32_t bound[] = {4, 60, 1000, 12000};
	MPI_Datatype basic;

	*o = (struct op){.kind = sw_draw(NKINDS),
			 .origin = (int)sw_draw((uint32_t)c->n[0]),
			 .target = (int)sw_draw((uint32_t)c->n[0]),
			 .n = sw_draw(bound[sw_draw(4)]),
			 .was = sw_key(),
			 .key = sw_key(),
			 .q = MPI_REQUEST_NULL};
	for (int i = 0; i < 64; i++)
		(void)sw_key();
	basic = o->kind >= SUM ? MPI_INT : sw_basic();
	o->from = sw_layout_for(basic, o->n, &o->nfrom);
	o->to = sw_layout_for(basic, o->n, &o->nto);
	o->at = take_room(o->target, o->to, o->nto);
	o->mine = o->kind >= SUM ? c->me >= 0 : c->me == o->origin;
}

/* What process r adds. */
static uint64_t
key_of(const struct op *o, int r)
{
	return o->kind >= SUM ? o->key + ((uint64_t)r << 20) : o->key;
}

static unsigned char *
element_at(unsigned char *base, const struct sw_layout *l, uint64_t e)
{
	return base + (ptrdiff_t)(e / l->n) * l->extent + l->at[e % l->n];
}

static void
add_sums(const struct op *o)
{
	for (int r = 0; r < c->n[0]; r++) {
		for (uint64_t e = 0; e < o->n; e++) {
			uint32_t x, y;
			unsigned char *p = element_at(want + o->at, o->to, e);
			sw_stream((unsigned char *)&y, 4, 1, key_of(o, r), e);
			memcpy(&x, p, 4);
			x += y;
			memcpy(p, &x, 4);
		}
	}
}

static void
prepare(struct op *o)
{
	if (c->me == o->target) {
		sw_put(mem + o->at, o->to, 0, o->n, o->was, 0);
		sw_put(want + o->at, o->to, 0, o->n, o->was, 0);
		if (o->kind == PUT)
			sw_put(want + o->at, o->to, 0, o->n, o->key, 0);
		else if (o->kind >= SUM)
			add_sums(o);
	}
	if (!o->mine)
		return;
	sw_buf_new(&o->buf, o->from, o->nfrom);
	if (o->kind == GET)
		sw_expect(&o->buf, 0, o->n, o->was, 0);
	else
		sw_fill(&o->buf, 0, o->n, key_of(o, c->me), 0);
	if (o->kind == FETCH_SUM)
		sw_buf_new(&o->result, o->from, o->nfrom);
}

/* ---- the epoch ---- */

static void
begin(struct op *o, bool request)
{
	MPI_Aint at = (address[o->target] + (MPI_Aint)o->at) / unit;
	const struct sw_buf *b = &o->buf;
	int nf = (int)o->nfrom, nt = (int)o->nto;
	MPI_Datatype f = o->from->type, t = o->to->type;

	if (o->kind == PUT && request)
		MPI_Rput(b->base, nf, f, o->target, at, nt, t, win, &o->q);
	else if (o->kind == PUT)
		MPI_Put(b->base, nf, f, o->target, at, nt, t, win);
	else if (o->kind == GET && request)
		MPI_Rget(b->base, nf, f, o->target, at, nt, t, win, &o->q);
	else if (o->kind == GET)
		MPI_Get(b->base, nf, f, o->target, at, nt, t, win);
	else if (o->kind == SUM && request)
		MPI_Raccumulate(b->base, nf, f, o->target, at, nt, t, MPI_SUM, win, &o->q);
	else if (o->kind == SUM)
		MPI_Accumulate(b->base, nf, f, o->target, at, nt, t, MPI_SUM, win);
	else
		MPI_Get_accumulate(b->base, nf, f, o->result.base, nf, f, o->target, at, nt, t,
				   MPI_SUM, win);
}

static void
run_fence(void)
{
	MPI_Win_fence(asserted ? MPI_MODE_NOPRECEDE : 0, win);
	for (int i = 0; i < nops; i++)
		if (ops[i].mine)
			begin(&ops[i], false);
	MPI_Win_fence(asserted ? MPI_MODE_NOSUCCEED : 0, win);
}

static void
run_posted(void)
{
	MPI_Group g;

	MPI_Comm_group(c->comm, &g);
	MPI_Win_post(g, 0, win);
	MPI_Win_start(g, 0, win);
	for (int i = 0; i < nops; i++)
		if (ops[i].mine)
			begin(&ops[i], false);
	MPI_Win_complete(win);
	if (sw_own(2)) {
		MPI_Win_wait(win);
	} else {
		for (int flag = 0; !flag;)
			MPI_Win_test(win, &flag);
	}
	MPI_Group_free(&g);
}

static void
run_locked(void)
{
	for (int i = 0; i < nops; i++) {
		struct op *o = &ops[i];
		if (!o->mine)
			continue;
		MPI_Win_lock(o->kind < SUM && sw_own(2) ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED,
			     o->target, 0, win);
		begin(o, sw_own(2));
		if (sw_own(2))
			MPI_Wait(&o->q, MPI_STATUS_IGNORE);
		MPI_Win_unlock(o->target, win);
		MPI_Wait(&o->q, MPI_STATUS_IGNORE);
	}
}

static void
run_locked_all(void)
{
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < nops; i++) {
		struct op *o = &ops[i];
		if (!o->mine)
			continue;
		begin(o, sw_own(2));
		switch (sw_own(5)) {
		case 0:
			MPI_Win_flush(o->target, win);
			break;
		case 1:
			MPI_Win_flush_local(o->target, win);
			break;
		case 2:
			MPI_Win_flush_all(win);
			break;
		default:
			break;
		}
	}
	for (int i = 0; i < nops; i++)
		if (ops[i].mine)
			MPI_Wait(&ops[i].q, MPI_STATUS_IGNORE);
	MPI_Win_unlock_all(win);
}

/* ---- counters: the first word of every window ---- */

static void
count_together(void)
{
	int one = 1, last = -1, was, target = (int)sw_draw((uint32_t)c->n[0]);

	for (int i = 0; i < COUNTS && c->me >= 0; i++) {
		MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
		MPI_Fetch_and_op(&one, &was, MPI_INT, target, address[target] / unit, MPI_SUM, win);
		MPI_Win_unlock(target, win);
		SW_CHECK(was > last && was < COUNTS * c->n[0]);
		last = was;
	}
	if (c->me == target)
		*(int *)(void *)want += COUNTS * c->n[0];
}

/* ---- windows ---- */

static void
open_window(enum window w)
{
	size_t bytes = used[c->me] + 64;
	unsigned char *place = NULL;

	memset(address, 0, sizeof address);
	if (w == ALLOCATED)
		MPI_Win_allocate((MPI_Aint)bytes, unit, MPI_INFO_NULL, c->comm, &place, &win);
	else
		place = sw_alloc(bytes);
	if (w == CREATED)
		MPI_Win_create(place, (MPI_Aint)bytes, unit, MPI_INFO_NULL, c->comm, &win);
	if (w == DYNAMIC) {
		MPI_Aint mine;
		MPI_Win_create_dynamic(MPI_INFO_NULL, c->comm, &win);
		MPI_Win_attach(win, place, (MPI_Aint)bytes);
		MPI_Get_address(place, &mine);
		MPI_Allgather(&mine, 1, MPI_AINT, address, 1, MPI_AINT, c->comm);
	}
	mem = place;
	want = sw_alloc(bytes);
	for (size_t i = 0; i < bytes; i++)
		mem[i] = want[i] = (unsigned char)(i * 53 + 7);
	memset(mem, 0, 16);
	memset(want, 0, 16);
}

static void
close_window(enum window w)
{
	size_t bytes = used[c->me] + 64;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, c->me, 0, win);
	for (size_t i = 0; i < bytes; i++)
		if (mem[i] != want[i])
			sw_fail("byte %zu of %zu of a window is %02x, not %02x", i, bytes, mem[i],
				want[i]);
	MPI_Win_unlock(c->me, win);
	MPI_Barrier(c->comm);
	if (w == DYNAMIC)
		MPI_Win_detach(win, mem);
	MPI_Win_free(&win);
	if (w != ALLOCATED)
		free(mem);
	free(want);
}

static void
end_op(struct op *o)
{
	if (o->mine) {
		sw_verify(&o->buf, o->kind == GET ? "what was got" : "what was put");
		sw_buf_free(&o->buf);
		if (o->kind == FETCH_SUM)
			sw_buf_free(&o->result);
	}
	sw_layout_free(o->from);
	sw_layout_free(o->to);
}

void
sw_step_rma(void)
{
	enum window w = sw_draw(NWINDOWS);
	enum epoch e = sw_draw(NEPOCHS);

	c = sw_intra_comm();
	asserted = sw_one_in(2);
	unit = w == DYNAMIC ? 1 : 1 << sw_draw(4);
	for (int i = 0; i < c->n[0]; i++)
		used[i] = 16;
	nops = (int)sw_few(OPS);
	for (int i = 0; i < nops; i++)
		plan_op(&ops[i]);
	if (c->me >= 0)
		open_window(w);
	for (int i = 0; i < nops && c->me >= 0; i++)
		prepare(&ops[i]);
	if (c->me >= 0) {
		MPI_Barrier(c->comm);
		if (e == FENCE)
			run_fence();
		else if (e == POSTED)
			run_posted();
		else if (e == LOCKED)
			run_locked();
		else
			run_locked_all();
		MPI_Barrier(c->comm);
	}
	if (sw_one_in(2))
		count_together();
	if (c->me >= 0) {
		MPI_Barrier(c->comm);
		close_window(w);
	}
	for (int i = 0; i < nops; i++)
		end_op(&ops[i]);
}
