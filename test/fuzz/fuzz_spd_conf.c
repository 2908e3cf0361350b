/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration of mpispd: whatever is in the file, a configuration that holds together or a
 * text. */
#include "spd/conf.h"

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[SPD_WHY] = "";
	struct spd_conf *c = spd_conf_parse("fuzz.json", (const char *)data, size, why);

	if (!c) {
		BASE_ASSERT(why[0]);
		return 0;
	}
	for (uint32_t i = 0; i < c->nclusters; i++) {
		const struct spd_cluster *k = &c->cluster[i];
		BASE_ASSERT(k->units && k->program[0] && spd_roles(k) <= SP_ROLES_MAX);
		for (uint32_t s = 0; s < spd_roles(k) + k->spares; s++)
			BASE_ASSERT(k->unit_of[s] < k->units);
	}
	for (uint32_t n = 0; spd_conf_warning(c, n, why); n++)
		BASE_ASSERT(n < 256);
	spd_conf_free(c);
	return 0;
}
