/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *
impi_strerror(enum impi_err code)
{
	switch (code) {
#define ERR_CASE(name, value, text) \
	case IMPI_ERR_##name:       \
		return text;
		IMPI_ERR_LIST(ERR_CASE)
#undef ERR_CASE
	}
	return "unknown error";
}

enum impi_err
impi_error_set(struct impi_error *e, enum impi_err code, const char *fmt, ...)
{
	if (!e)
		return code;
	if (e->code != IMPI_ERR_OK)
		return e->code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	e->code = code;
	return code;
}
