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

#define FILES 4

static void
read_files(const uint8_t *data[], const size_t size[], uint32_t n)
{
	const void *file[FILES];
	struct obs_trace t;
	for (uint32_t i = 0; i < n; i++)
		file[i] = data[i];
	bool ok = obs_trace_mpi(&t, file, size, n);
	if (ok == (*t.why != 0))
		abort();
	if (ok)
		check(&t);
	obs_trace_free(&t);
}

/* Of several ranks: how many less one, two bytes of length of each but the last, the files. */
static void
read_several(const uint8_t *data, size_t size)
{
	const uint8_t *file[FILES];
	size_t len[FILES];
	uint32_t n = 1 + data[0] % FILES;
	const uint8_t *head = data + 1, *at = data + 1 + 2 * (n - 1);
	for (uint32_t i = 0; i < n; i++) {
		size_t left = (size_t)(data + size - at);
		size_t wanted = i + 1 < n ? (size_t)head[2 * i] << 8 | head[2 * i + 1] : left;
		file[i] = at;
		len[i] = wanted < left ? wanted : left;
		at += len[i];
	}
	read_files(file, len, n);
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
	read_files(&data, &size, 1);
	if (size > 2 * FILES)
		read_several(data, size);
	return 0;
}
