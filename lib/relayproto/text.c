/* SPDX-License-Identifier: BSD-2-Clause */
#include "relayproto/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char abort_begin[] = "MPI_Abort(", abort_sep[] = ", ", abort_by[] = ") called by ";

void
relay_text_set(char out[RELAY_WHY_MAX], const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(out, RELAY_WHY_MAX, fmt, ap);
	va_end(ap);
}

void
relay_text_copy(char out[RELAY_WHY_MAX], const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t n = len < RELAY_WHY_MAX - 1 ? len : RELAY_WHY_MAX - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '?';
	out[n] = '\0';
}

void
relay_text_abort(char out[RELAY_WHY_MAX], const char *name, int code, const char *by)
{
	/* A name of MPI_MAX_OBJECT_NAME bytes leaves room for the code. */
	relay_text_set(out, "%s%.128s%s%d%s%s", abort_begin, name, abort_sep, code, abort_by, by);
}

int
relay_text_status(const char *text)
{
	const char *end = strstr(text, abort_by), *comma = NULL;

	if (strncmp(text, abort_begin, sizeof abort_begin - 1) != 0 || !end)
		return 1;
	/* The communicator's name may have such words, too: the last ones count. */
	for (const char *p = end; p; p = strstr(p + 1, abort_by))
		end = p;
	for (const char *p = strstr(text, abort_sep); p && p < end; p = strstr(p + 1, abort_sep))
		comma = p;
	if (!comma)
		return 1;
	const char *number = comma + sizeof abort_sep - 1;
	char *stop;
	errno = 0;
	long code = strtol(number, &stop, 10);
	if (stop != end || stop == number || errno || code < INT_MIN || code > INT_MAX)
		return 1;
	return (int)code;
}
