#include "base/prefix.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <string.h>

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

static bool
parse_one(char *word, struct base_prefix *out)
{
	char *slash = strchr(word, '/');
	uint32_t v4;
	if (slash)
		*slash++ = '\0';
	bool is_v4 = inet_pton(AF_INET, word, &v4) == 1;
	int bits = is_v4 ? 32 : 128, len = slash ? small_number(slash) : bits;
	if ((!is_v4 && inet_pton(AF_INET6, word, out->addr) != 1) || len < 0 || len > bits)
		return false;
	if (is_v4)
		base_prefix_v4(ntohl(v4), out->addr);
	out->len = (uint32_t)(len + 128 - bits);
	return true;
}

bool
base_prefixes_add(struct base_prefixes *out, const char *text)
{
	static const char between[] = ", \t";
	struct base_prefixes p = *out;
	for (text += strspn(text, between); *text; text += strspn(text, between)) {
		char word[64];
		size_t len = strcspn(text, between);
		if (p.n == BASE_PREFIXES_MAX || len >= sizeof word)
			return false;
		memcpy(word, text, len);
		word[len] = '\0';
		if (!parse_one(word, &p.at[p.n++]))
			return false;
		text += len;
	}
	*out = p;
	return true;
}

static bool
covers(const struct base_prefix *p, const uint8_t addr[16])
{
	uint32_t bytes = p->len / 8, bits = p->len % 8;
	if (memcmp(p->addr, addr, bytes) != 0)
		return false;
	return !bits || ((p->addr[bytes] ^ addr[bytes]) >> (8 - bits)) == 0;
}

bool
base_prefixes_have(const struct base_prefixes *p, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < p->n; i++)
		if (covers(&p->at[i], addr))
			return true;
	return false;
}
