/* SPDX-License-Identifier: BSD-2-Clause */
/* Everybody sends its vector to everybody and combines all of them in rank order, so every
 * process computes the same bits.  One round where memory is shared: for short vectors of
 * processes that wait for each other longer than they work.
 * Cost: alpha + (p-1)(n beta + n gamma), p-1 messages in flight. */
#include "builder.h"

static int
build_allreduce_linear(struct coll_schedule *s, const struct coll_args *a)
{
	enum coll_buf own = COLL_SEND;
	uint64_t own_off = 0, in = coll_tmp(s, a->bytes * a->size);
	uint32_t first, last = UINT32_MAX;

	if (a->in_place) {
		own = COLL_TMP;
		own_off = in + a->rank * a->bytes;
		coll_copy(s, COLL_RECV, 0, own, own_off, a->bytes);
	}
	for (uint32_t d = 1; d < a->size; d++)
		coll_send(s, (a->rank + d) % a->size, own, own_off, a->bytes);
	first = s->steps;
	for (uint32_t i = 0; i < a->size; i++)
		if (i != a->rank)
			coll_recv(s, i, COLL_TMP, in + i * a->bytes, a->bytes);
	for (uint32_t i = 0; a->bytes && i < a->size; i++) {
		bool mine = i == a->rank;
		struct coll_range from = {mine ? own : COLL_TMP, mine ? own_off : in + i * a->bytes,
					  a->bytes};
		uint32_t step = coll_step_add(
			s, (struct coll_step){.kind = i ? COLL_STEP_REDUCE : COLL_STEP_COPY,
					      .from = from,
					      .into = {COLL_RECV, 0, a->bytes}});
		if (mine)
			coll_after(s, a->in_place ? 0 : last);
		else
			coll_after(s, first + i - (i > a->rank));
		coll_after(s, last);
		last = step;
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allreduce_linear = {
	COLL_ALLREDUCE, "linear", "alpha + (p-1)(n beta + n gamma)", NULL, build_allreduce_linear};
