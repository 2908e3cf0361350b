/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between a process and its daemon: what is read is written again as the same bytes. */
#include "sp/client.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_client_msg m;

	if (!sp_client_read(&m, data, size))
		return 0;
	uint8_t *bytes = malloc(SP_CLIENT_MAX);
	struct sp_role *roles = malloc((m.n + 1) * sizeof *roles);
	BASE_ASSERT(bytes && roles);
	for (uint32_t i = 0; m.type == SP_CLIENT_EPOCH && i < m.n; i++)
		roles[i] = sp_client_role(&m, i);
	BASE_ASSERT(sp_client_write(&m, roles, bytes) == size);
	BASE_ASSERT(memcmp(bytes, data, size) == 0);
	free(roles);
	free(bytes);
	return 0;
}
