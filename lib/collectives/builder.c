/* SPDX-License-Identifier: BSD-2-Clause */
#include "builder.h"

#include <string.h>

/* The schedule's arrays grow from both ends of the arena: steps from the
 * front, dependencies from the back half.  steps_max = 0 marks the sticky
 * error (coll_build() always gives at least one slot). */
uint32_t
coll_step_add(struct coll_schedule *s, struct coll_step step)
{
	if (s->steps >= s->steps_max) {
		s->steps_max = 0;
		return UINT32_MAX;
	}
	step.dep_first = s->deps;
	step.dep_count = 0;
	s->step[s->steps] = step;
	return s->steps++;
}

void
coll_after(struct coll_schedule *s, uint32_t on)
{
	if (on == UINT32_MAX || !s->steps_max)
		return;
	if (s->deps >= s->deps_max) {
		s->steps_max = 0;
		return;
	}
	struct coll_step *st = &s->step[s->steps - 1];
	for (uint32_t i = 0; i < st->dep_count; i++)
		if (s->dep[st->dep_first + i] == on)
			return;
	s->dep[s->deps++] = on;
	st->dep_count++;
}

void
coll_after_all(struct coll_schedule *s, uint32_t first)
{
	for (uint32_t i = first; i + 1 < s->steps; i++)
		coll_after(s, i);
}

static bool
overlap(const struct coll_range *a, const struct coll_range *b)
{
	return a->len && b->len && a->buf == b->buf && a->off < b->off + b->len &&
	       b->off < a->off + a->len;
}

static bool
reads(const struct coll_step *st)
{
	return st->kind != COLL_STEP_RECV;
}

static bool
writes(const struct coll_step *st)
{
	return st->kind != COLL_STEP_SEND;
}

static bool
covers(const struct coll_range *a, const struct coll_range *b)
{
	return a->buf == b->buf && a->off <= b->off && b->off + b->len <= a->off + a->len;
}

/* What wrote all of a range waits for all that touched it before, so looking back ends there:
 * else each of p - 1 sends of a sum would name the p - 1 steps that made it. */
static uint32_t
add_auto(struct coll_schedule *s, struct coll_step step)
{
	uint32_t at = coll_step_add(s, step);
	if (at == UINT32_MAX)
		return at;
	bool from = reads(&step) && step.from.len, into = writes(&step) && step.into.len;
	for (uint32_t i = at; i-- > 0 && (from || into) && s->steps_max;) {
		const struct coll_step *was = &s->step[i];
		bool wrote = writes(was);
		if ((from && wrote && overlap(&was->into, &step.from)) ||
		    (into && wrote && overlap(&was->into, &step.into)) ||
		    (into && reads(was) && overlap(&was->from, &step.into)))
			coll_after(s, i);
		from = from && !(wrote && covers(&was->into, &step.from));
		into = into && !(wrote && covers(&was->into, &step.into));
	}
	return at;
}

uint32_t
coll_send(struct coll_schedule *s, uint32_t peer, enum coll_buf buf, uint64_t off, uint64_t len)
{
	return add_auto(s, (struct coll_step){
				   .kind = COLL_STEP_SEND, .peer = peer, .from = {buf, off, len}});
}

uint32_t
coll_recv(struct coll_schedule *s, uint32_t peer, enum coll_buf buf, uint64_t off, uint64_t len)
{
	return add_auto(s, (struct coll_step){
				   .kind = COLL_STEP_RECV, .peer = peer, .into = {buf, off, len}});
}

uint32_t
coll_reduce(struct coll_schedule *s, enum coll_buf from, uint64_t from_off, enum coll_buf into,
	    uint64_t into_off, uint64_t len, bool left)
{
	if (!len)
		return UINT32_MAX;
	return add_auto(s, (struct coll_step){.kind = COLL_STEP_REDUCE,
					      .from = {from, from_off, len},
					      .into = {into, into_off, len},
					      .left = left});
}

uint32_t
coll_copy(struct coll_schedule *s, enum coll_buf from, uint64_t from_off, enum coll_buf into,
	  uint64_t into_off, uint64_t len)
{
	if (!len)
		return UINT32_MAX;
	return add_auto(s, (struct coll_step){.kind = COLL_STEP_COPY,
					      .from = {from, from_off, len},
					      .into = {into, into_off, len}});
}

uint64_t
coll_tmp(struct coll_schedule *s, uint64_t len)
{
	uint64_t off = s->tmp_bytes;
	s->tmp_bytes += (len + 63) & ~63ull;
	return off;
}

void
coll_own_into_recv(struct coll_schedule *s, const struct coll_args *a)
{
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, 0, a->bytes);
}

struct coll_part
coll_part(uint64_t bytes, uint64_t elem, uint32_t n, uint32_t i)
{
	uint64_t count = bytes / elem, each = count / n, more = count % n;
	uint64_t first = i * each + (i < more ? i : more);
	return (struct coll_part){first * elem, (each + (i < more)) * elem};
}

struct coll_fold
coll_fold(uint32_t p, uint32_t me)
{
	struct coll_fold f = {.pow2 = 1};
	while (f.pow2 * 2 <= p)
		f.pow2 *= 2;
	f.extra = p - f.pow2;
	f.out = me < 2 * f.extra && !(me & 1);
	f.pair = me < 2 * f.extra && (me & 1);
	f.v = me < 2 * f.extra ? me / 2 : me - f.extra;
	return f;
}

uint32_t *
coll_numbers(struct coll_schedule *s, uint32_t n)
{
	if (s->deps_max < s->deps + n) {
		s->steps_max = 0;
		return NULL;
	}
	s->deps_max -= n;
	return s->dep + s->deps_max;
}

uint64_t *
coll_offsets(struct coll_schedule *s, uint32_t n)
{
	/* one more for the alignment: the array of dependencies has that of its elements */
	uint32_t *at = coll_numbers(s, 2 * n + 1);
	if (at == NULL)
		return NULL;
	uintptr_t even = ((uintptr_t)at + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
	return (uint64_t *)even;
}

bool
coll_many_places(const struct coll_args *a)
{
	const uint32_t *of = a->cluster_of ? a->cluster_of : a->near.of;
	for (uint32_t r = 1; of && r < a->size; r++)
		if (of[r] != of[0])
			return true;
	return false;
}

bool
coll_hier_find(struct coll_schedule *s, const struct coll_args *a, struct coll_hier *h)
{
	struct coll_domains d;
	const uint32_t *of = a->cluster_of ? a->cluster_of : a->near.of;
	uint32_t *masters = coll_numbers(s, a->size);
	if (!masters || !coll_domains_find(s, of, a->size, a->rank, &d))
		return false;
	bool rooted = a->op == COLL_BCAST || a->op == COLL_REDUCE;
	const uint32_t *local = d.rank + d.first[d.mine];
	*h = (struct coll_hier){
		.of = d.number,
		.local = {local, d.first[d.mine + 1] - d.first[d.mine], d.me, false},
		.masters = {masters, d.count, d.mine, false},
		.root_master = rooted ? d.number[a->root] : 0};
	for (uint32_t m = 0; m < d.count; m++)
		masters[m] = d.rank[d.first[m]];
	if (rooted)
		masters[h->root_master] = a->root;
	h->is_master = masters[d.mine] == a->rank;
	while (local[h->master_local] != masters[d.mine])
		h->master_local++;
	return true;
}
