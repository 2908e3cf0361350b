/* SPDX-License-Identifier: BSD-2-Clause */
/* Journals of lib/quorum: what a disk may have.  What was read is written and read again. */
#include "quorum/quorum.h"

#include "base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct quorum_journal_info info, again;
	char why[QUORUM_WHY_MAX] = "";

	if (!quorum_journal_read(data, size, &info, why)) {
		BASE_ASSERT(*why);
		return 0;
	}
	BASE_ASSERT(info.used <= size && info.first <= info.last);
	BASE_ASSERT(quorum_journal_read(data, info.used, &again, why));
	BASE_ASSERT(!memcmp(&info, &again, sizeof info));
	return 0;
}
