/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of libmpitrace: any bytes are read to the end or refused with a place. */
#include "read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpitrace t;
	struct mpitrace_record r;
	const char *why = mpitrace_open(&t, data, size);
	size_t at = 0, before = 0;
	int more = why ? -1 : 1;

	while (more > 0 && (more = mpitrace_next(&t, &r, &why, &at)) != 0) {
		if ((more < 0) != (why != NULL) || at > size || (more > 0 && at < before))
			abort();
		before = at;
	}
	if (mpitrace_whole(&t) && more != 0)
		abort();
	mpitrace_done(&t);
	return 0;
}
