/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void
base_assert_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: internal error, this must hold: %s\n", file, line, what);
	abort();
}
