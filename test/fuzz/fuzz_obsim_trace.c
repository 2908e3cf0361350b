/* Traces of obsim: any text, and any libmpitrace file, is read or refused with a reason. */
#include "trace.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct obs_trace t;
	bool ok = obs_trace_text(&t, (const char *)data, size);
	if (ok == (*t.why != 0) || (ok && !t.ranks))
		abort();
	for (size_t i = 0; ok && i < t.steps; i++)
		if (t.step[i].call ? t.step[i].root >= t.ranks || t.step[i].op >= COLL_OP_COUNT
				   : t.step[i].rank != OBS_EVERY && t.step[i].rank >= t.ranks)
			abort();
	obs_trace_free(&t);
	const void *file[] = {data};
	ok = obs_trace_mpi(&t, file, &size, 1);
	if (ok == (*t.why != 0))
		abort();
	obs_trace_free(&t);
	return 0;
}
