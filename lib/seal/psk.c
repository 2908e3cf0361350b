/* SPDX-License-Identifier: BSD-2-Clause */
/* Pre-shared keys from text. */
#include "seal/keys.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

/* One line without its end; NULL or what is wrong with it. */
static const char *
parse_line(const char *s, size_t len, struct seal_psk *k)
{
	size_t i = 0;
	uint64_t id = 0;
	while (i < len && s[i] >= '0' && s[i] <= '9' && id <= UINT32_MAX)
		id = id * 10 + (uint64_t)(s[i++] - '0');
	if (!id || id > UINT32_MAX || i == len || !seal_blank(s[i]))
		return "must begin with the number of the key, from 1 to 4294967295";
	while (i < len && seal_blank(s[i]))
		i++;
	size_t end = len;
	while (end > i && seal_blank(s[end - 1]))
		end--;
	if (!seal_unhex(s + i, end - i, k->secret))
		return "the key must have 64 hexadecimal digits";
	k->id = (uint32_t)id;
	return NULL;
}

static int
parse_all(const char *text, size_t len, struct seal_psk key[SEAL_PSK_MAX], char why[SEAL_TEXT])
{
	int n = 0;
	unsigned line = 0;
	const char *at;
	size_t here;
	while (seal_next_line(&text, &len, &line, &at, &here)) {
		struct seal_psk k;
		const char *wrong = n == SEAL_PSK_MAX ? "too many keys" : parse_line(at, here, &k);
		for (int i = 0; !wrong && i < n; i++)
			if (key[i].id == k.id)
				wrong = "the number of this key was there before";
		if (!wrong)
			key[n++] = k;
		explicit_bzero(&k, sizeof k);
		if (wrong) {
			snprintf(why, SEAL_TEXT, "line %u: %s", line, wrong);
			return -1;
		}
	}
	if (!n)
		snprintf(why, SEAL_TEXT, "no key in it");
	return n ? n : -1;
}

int
seal_psk_parse(const char *text, size_t len, struct seal_psk key[SEAL_PSK_MAX], char why[SEAL_TEXT])
{
	int n = parse_all(text, len, key, why);
	if (n < 0)
		explicit_bzero(key, SEAL_PSK_MAX * sizeof *key);
	return n;
}
