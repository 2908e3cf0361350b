/* Pre-shared keys from text. */
#include "seal/keys.h"

#include <stdio.h>
#include <string.h>

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* One line without its end; NULL or what is wrong with it. */
static const char *
parse_line(const char *s, size_t len, struct seal_psk *k)
{
	size_t i = 0;
	uint64_t id = 0;
	while (i < len && s[i] >= '0' && s[i] <= '9' && id <= UINT32_MAX)
		id = id * 10 + (uint64_t)(s[i++] - '0');
	if (!id || id > UINT32_MAX || i == len || !blank(s[i]))
		return "must begin with the number of the key, from 1 to 4294967295";
	while (i < len && blank(s[i]))
		i++;
	size_t end = len;
	while (end > i && blank(s[end - 1]))
		end--;
	if (end - i != 2 * sizeof k->secret)
		return "the key must have 64 hexadecimal digits";
	for (size_t n = 0; n < sizeof k->secret; n++, i += 2) {
		int hi = digit(s[i]), lo = digit(s[i + 1]);
		if (hi < 0 || lo < 0)
			return "the key must have 64 hexadecimal digits";
		k->secret[n] = (uint8_t)(hi << 4 | lo);
	}
	k->id = (uint32_t)id;
	return NULL;
}

static int
parse_all(const char *text, size_t len, struct seal_psk key[SEAL_PSK_MAX], char why[SEAL_TEXT])
{
	int n = 0;
	for (unsigned line = 1; len; line++) {
		const char *nl = memchr(text, '\n', len);
		size_t here = nl ? (size_t)(nl - text) : len, skip = 0;
		while (skip < here && blank(text[skip]))
			skip++;
		if (skip < here && text[skip] != '#') {
			struct seal_psk k;
			const char *wrong = n == SEAL_PSK_MAX
						    ? "too many keys"
						    : parse_line(text + skip, here - skip, &k);
			for (int i = 0; !wrong && i < n; i++)
				if (key[i].id == k.id)
					wrong = "the number of this key was there before";
			if (wrong) {
				explicit_bzero(&k, sizeof k);
				snprintf(why, SEAL_TEXT, "line %u: %s", line, wrong);
				return -1;
			}
			key[n++] = k;
			explicit_bzero(&k, sizeof k);
		}
		here += nl != NULL;
		text += here;
		len -= here;
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
