/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of obsim: any text, and any libmpitrace file, is read or refused with a reason. */
#include "replay.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the replayer relies on. */
static void
check_call(const struct obs_trace *t, const struct obs_trace_call *c)
{
	uint32_t who = c->members ? c->members : t->ranks;
	if (c->bytes > OBS_BYTES_MAX || (c->next != OBS_NO_CALL && c->next >= t->calls))
		abort();
	if (c->message ? c->from >= t->ranks || c->to >= t->ranks || c->start
		       : c->root >= who || c->op >= COLL_OP_COUNT)
		abort();
	if (c->members > t->nmembers || c->first_member > t->nmembers - c->members)
		abort();
	for (uint32_t k = 0; k < c->members; k++)
		if (t->member[c->first_member + k] >= t->ranks)
			abort();
}

static void
check(const struct obs_trace *t)
{
	uint32_t starts = 0;
	for (uint32_t i = 0; i < t->calls; i++) {
		check_call(t, &t->call[i]);
		starts += t->call[i].start;
	}
	if (starts != t->starts)
		abort();
	for (size_t i = 0; i < t->steps; i++) {
		const struct obs_step *s = &t->step[i];
		if (s->rank != OBS_EVERY && s->rank >= t->ranks)
			abort();
		if (s->kind != OBS_COMPUTE && s->call >= t->calls)
			abort();
	}
	for (uint32_t r = 0; t->first && r < t->ranks; r++)
		if (t->first[r] > t->first[r + 1] || t->first[r + 1] > t->steps)
			abort();
}

#define FILES 4

/* What was read is played to its end, or refused with a reason. */
static void
play_to_end(const struct obs_trace *t)
{
	struct obs_setting s = {
		.strategy = OBS_CACHED, .k = 1, .costs = {1e-3, 1e-6, .01, 2e-3, 1e-5, 0, 0}};
	struct obs_report r;
	for (uint32_t i = 0; i < t->calls; i++)
		if (!t->call[i].message && t->call[i].op == COLL_NEIGHBOR)
			abort();
	if (obs_replay(t, &s, &r) == (*r.why != 0))
		abort();
	obs_report_free(&r);
}

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
	if (ok && t.steps < 200)
		play_to_end(&t);
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
