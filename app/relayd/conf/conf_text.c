/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts: faults, addresses.  The other files stand on this one. */
#include "rd/conf.h"

#include "conf_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

void
rd_fault_add(struct rd_faults *faults, const char *pointer, uint32_t line, const char *fmt, ...)
{
	if (faults->count++ >= RD_FAULTS_MAX)
		return;
	struct rd_fault *f = &faults->fault[faults->count - 1];
	strlcpy(f->pointer, pointer, sizeof f->pointer);
	f->line = line;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
}

bool
rd_ipv4_parse(const char *text, uint32_t *out)
{
	uint32_t address = 0;
	for (int part = 0; part < 4; part++) {
		if (part && *text++ != '.')
			return false;
		uint32_t v = 0, digits = 0;
		for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
			v = v * 10 + (uint32_t)(*text - '0');
		if (digits == 0 || digits > 3 || v > 255)
			return false;
		address = address << 8 | v;
	}
	if (*text)
		return false;
	*out = address;
	return true;
}

const char *
rd_ipv4_text(uint32_t address, char buf[RD_IPV4_TEXT])
{
	snprintf(buf, RD_IPV4_TEXT, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
		 address >> 8 & 255, address & 255);
	return buf;
}
