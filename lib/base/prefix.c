/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/prefix.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_AT 12 /* bytes in front of an IPv4 address */

void
base_prefix_v4(uint32_t ipv4, uint8_t addr[16])
{
	memset(addr, 0, 10);
	addr[10] = addr[11] = 0xff;
	be32_store(addr + 12, ipv4);
}

/* Decimal, at most three digits, nothing else; -1 if it is not. */
static int
small_number(const char *text)
{
	int n = 0, digits = 0;
	for (; *text >= '0' && *text <= '9' && digits < 3; text++, digits++)
		n = 10 * n + (*text - '0');
	return digits && !*text ? n : -1;
}

bool
base_prefix_parse(const char *text, size_t len, struct base_prefix *out)
{
	char word[64];
	uint32_t v4;
	if (len >= sizeof word || memchr(text, 0, len))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	char *slash = strchr(word, '/');
	if (slash)
		*slash++ = '\0';
	bool is_v4 = inet_pton(AF_INET, word, &v4) == 1;
	int bits = is_v4 ? 32 : 128, n = slash ? small_number(slash) : bits;
	if ((!is_v4 && inet_pton(AF_INET6, word, out->addr) != 1) || n < 0 || n > bits)
		return false;
	if (is_v4)
		base_prefix_v4(ntohl(v4), out->addr);
	out->len = (uint32_t)(n + 128 - bits);
	return true;
}

bool
base_prefix_exact(const struct base_prefix *p)
{
	for (uint32_t i = p->len; i < 128; i++)
		if (p->addr[i / 8] >> (7 - i % 8) & 1)
			return false;
	return true;
}

static bool
is_v4(const uint8_t addr[16])
{
	static const uint8_t mapped[V4_AT] = {[10] = 0xff, [11] = 0xff};
	return memcmp(addr, mapped, sizeof mapped) == 0;
}

bool
base_prefix_covers(const struct base_prefix *p, const uint8_t addr[16])
{
	uint32_t bytes = p->len / 8, bits = p->len % 8;
	if (p->len < 8 * V4_AT && is_v4(addr))
		return false;
	if (memcmp(p->addr, addr, bytes) != 0)
		return false;
	return !bits || ((p->addr[bytes] ^ addr[bytes]) >> (8 - bits)) == 0;
}

bool
base_prefixes_add(struct base_prefixes *out, const char *text)
{
	static const char between[] = ", \t";
	struct base_prefixes p = *out;
	for (text += strspn(text, between); *text; text += strspn(text, between)) {
		size_t len = strcspn(text, between);
		if (p.n == BASE_PREFIXES_MAX || !base_prefix_parse(text, len, &p.at[p.n++]))
			return false;
		text += len;
	}
	*out = p;
	return true;
}

bool
base_prefixes_have(const struct base_prefixes *p, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < p->n; i++)
		if (base_prefix_covers(&p->at[i], addr))
			return true;
	return false;
}
