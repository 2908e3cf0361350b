/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts that change chains: whatever comes, the table is consistent, or was left alone. */
#include "spx/view.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spx_cluster cluster[4] = {
		{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
	struct spx_chain chain[SPX_CHAINS_MAX] = {
		{.from = 0, .to = 1, .state = SPX_CHAIN_ACTIVE, .window = 8},
		{.from = 1, .to = 2, .state = SPX_CHAIN_DRAINING, .window = 8}};
	struct spx_chain before[SPX_CHAINS_MAX];
	struct spx_view v = {.number = 1, .ncluster = 4, .cluster = cluster, .chain = chain};
	uint32_t n = 2;
	char why[SPX_TEXT_MAX] = "";

	memcpy(before, chain, sizeof chain);
	bool ok = spx_chain_ops(&v, chain, &n, (const char *)data, size, why);
	v.nchain = n;
	if (!ok)
		BASE_ASSERT(n == 2 && why[0] && !memcmp(before, chain, sizeof chain));
	BASE_ASSERT(spx_view_check(&v, why));
	return 0;
}
