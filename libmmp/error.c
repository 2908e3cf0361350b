/* SPDX-License-Identifier: BSD-2-Clause */
/* What MP_error() says. */
#include "mmp_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static char text[TEXT_MAX];

int
mmp_fail(int err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	errno = err;
	return -1;
}

const char *
MP_error(void)
{
	return text;
}
