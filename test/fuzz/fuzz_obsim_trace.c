/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of obsim: any text, and any libmpitrace file, is read or refused with a reason. */
#include "trace.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the replayer relies on. */
static void
check(const struct obs_trace *t)
{
	uint32_t starts = 0;
	for (size_t i = 0; i < t->steps; i++) {
		const struct obs_step *s = &t->step[i];
		bool one = s->kind == OBS_COMPUTE || s->kind == OBS_WAIT;
		uint32_t who = s->members ? s->members : t->ranks;
		if (one ? s->rank != OBS_EVERY && s->rank >= t->ranks
			: s->root >= who || s->op >= COLL_OP_COUNT)
			abort();
		if (s->members > t->nmembers || s->first_member > t->nmembers - s->members)
			abort();
		for (uint32_t k = 0; k < s->members; k++)
			if (t->member[s->first_member + k] >= t->ranks)
				abort();
		if (s->kind == OBS_START && s->number != starts++)
			abort();
		if (s->kind == OBS_WAIT && s->number >= starts)
			abort();
	}
	if (starts != t->starts)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct obs_trace t;
	bool ok = obs_trace_text(&t, (const char *)data, size);
	if (ok == (*t.why != 0) || (ok && !t.ranks))
		abort();
	if (ok)
		check(&t);
	obs_trace_free(&t);
	const void *file[] = {data};
	ok = obs_trace_mpi(&t, file, &size, 1);
	if (ok == (*t.why != 0))
		abort();
	if (ok)
		check(&t);
	obs_trace_free(&t);
	return 0;
}
