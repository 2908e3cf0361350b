#include "internal.h"

#include <bsd/stdlib.h>
#include <stdio.h>

uint64_t
lmpi_env_u64(const char *name, uint64_t fallback, uint64_t max)
{
	const char *s = getenv(name), *wrong = NULL;

	if (!s || !*s)
		return fallback;
	if (max > INT64_MAX)
		max = INT64_MAX;
	long long v = strtonum(s, 0, (long long)max, &wrong);
	if (wrong) {
		fprintf(stderr, "libmpi: %s=%s is %s (a number from 0 to %llu); using %llu\n", name,
			s, wrong, (unsigned long long)max, (unsigned long long)fallback);
		return fallback;
	}
	return (uint64_t)v;
}
