/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c - words and numbers of switches; see core.h. */
#include "ocsproto/core.h"

void
ocsproto_core_text(char *to, size_t room_, const char *from, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len && from[i] && n + 1 < room_; i++)
		to[n++] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	to[n] = 0;
}

bool
ocsproto_core_dbm(const char *s, size_t len, int32_t *hundredths)
{
	size_t i = 0;
	while (i < len && s[i] == ' ')
		i++;
	bool minus = i < len && s[i] == '-';
	if (i < len && (s[i] == '-' || s[i] == '+'))
		i++;
	int32_t v = 0, digits = 0, after = -1;
	for (; i < len && after < 2; i++) {
		if (s[i] == '.' && after < 0) {
			after = 0;
			continue;
		}
		if (s[i] < '0' || s[i] > '9')
			break;
		v = v * 10 + (s[i] - '0');
		digits++;
		after += after >= 0;
		if (v > 30000)
			return false;
	}
	for (after = after < 0 ? 0 : after; after < 2; after++)
		v *= 10;
	if (digits == 0 || v > 30000)
		return false;
	*hundredths = minus ? -v : v;
	return true;
}
