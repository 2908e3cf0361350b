/* SPDX-License-Identifier: BSD-2-Clause */
/* The store of measured settings: any bytes are rows within their bounds, which print to what reads
 * the same, or refused with a line. */
#include "tune/store.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tune_store s, again;
	static char text[TUNE_STORE_BYTES + 1];
	char why[TUNE_WHY] = "";
	bool ok = tune_store_parse((const char *)data, size, &s, why);
	if (ok == (*why != 0) || (!ok && (s.n || strncmp(why, "line ", 5))))
		abort();
	size_t len = tune_store_print(&s, text, sizeof text);
	if (!len || !tune_store_parse(text, len, &again, why) || memcmp(&s, &again, sizeof s))
		abort();
	for (uint32_t i = 0; i < s.n; i++)
		if (!tune_key_ok(&s.entry[i].key) ||
		    tune_store_find(&s, &s.entry[i].key) != &s.entry[i].values ||
		    !tune_store_put(&again, &s.entry[i].key, &s.entry[i].values) || again.n != s.n)
			abort();
	return 0;
}
