/* SPDX-License-Identifier: BSD-2-Clause */
/* Selection rules from a file: any bytes are rules that hold, or refused with a place. */
#include "rules.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct coll_rule rule[LMPI_RULES_MAX];
	uint32_t n;
	char why[160] = "";
	bool ok = lmpi_rules_parse((const char *)data, size, rule, &n, why);
	if (ok == (*why != 0) || n > LMPI_RULES_MAX)
		abort();
	for (uint32_t i = 0; i < n; i++)
		if (!coll_rule_ok(&rule[i]))
			abort();
	return 0;
}
