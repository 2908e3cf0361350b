/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process and who manages it tell each other: what is read is written again as the same
 * bytes.  Input: one frame. */
#include "spx/feed.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { PROCS = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try_view(const uint8_t *data, size_t size)
{
	struct spx_proc proc[PROCS];
	struct spx_cluster cluster[SPX_CLUSTERS_MAX];
	struct spx_chain chain[SPX_CHAINS_MAX];
	struct spx_view v = {.proc = proc, .cluster = cluster, .chain = chain};
	char address[PROCS][SPX_ADDRESS_MAX], why[SPX_TEXT_MAX] = "";
	const char *at[PROCS];

	if (!spx_feed_read_view(&v, address, PROCS, data, size, why)) {
		BASE_ASSERT(why[0]);
		return;
	}
	for (uint32_t i = 0; i < v.nproc; i++)
		at[i] = address[i];
	size_t room = spx_feed_view_bytes(&v);
	uint8_t *again = malloc(room);
	BASE_ASSERT(again && size <= room);
	BASE_ASSERT(spx_feed_write_view(again, room, &v, at) == size);
	BASE_ASSERT(!memcmp(again, data, size));
	free(again);
	(void)spx_view_check(&v, why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spx_feed f;
	char why[SPX_TEXT_MAX] = "";

	if (!spx_feed_read(&f, data, size, why)) {
		BASE_ASSERT(why[0]);
		return 0;
	}
	BASE_ASSERT(spx_feed_length(data) == size);
	if (f.type == SPX_FEED_VIEW) {
		try_view(data, size);
		return 0;
	}
	uint8_t *again = malloc(size);
	BASE_ASSERT(again);
	BASE_ASSERT(spx_feed_write(again, size, &f) == size && !memcmp(again, data, size));
	free(again);
	return 0;
}
