/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/secrets.h"

#include <bsd/string.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

bool
process_hide(void)
{
	static const struct rlimit none = {0, 0};
	return setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

bool
process_keep(const void *at, size_t len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), in_page = (uintptr_t)at & (page - 1);
	const char *from = (const char *)at - in_page;
	size_t whole = (len + in_page + page - 1) & ~(page - 1);
	(void)madvise((void *)(uintptr_t)from, whole, MADV_DONTDUMP);
	return mlock(from, whole) == 0;
}

bool
process_take_env(const char *name, char *text, size_t cap)
{
	char *value = getenv(name);
	text[0] = 0;
	if (!value)
		return false;
	bool fits = strlcpy(text, value, cap) < cap;
	explicit_bzero(value, strlen(value));
	unsetenv(name);
	if (!fits)
		explicit_bzero(text, cap);
	return fits;
}
