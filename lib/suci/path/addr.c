/* SPDX-License-Identifier: BSD-2-Clause */
#include "suci/addr.h"

#include "base/bytes.h"
#include "base/prefix.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define V4_AT	    12 /* where IPv4 is in 16 bytes */
#define TEXT_DIGITS 5  /* of a port */

struct suci_addr
suci_addr_v4(const uint8_t ip[4], uint16_t port)
{
	struct suci_addr a = {.port = port, .family = 4};
	memcpy(a.ip + V4_AT, ip, 4);
	return a;
}

struct suci_addr
suci_addr_of(const uint8_t ip[16], uint16_t port)
{
	static const uint8_t mapped[V4_AT] = {[10] = 0xff, [11] = 0xff};
	struct suci_addr a = {.port = port, .family = 6};
	if (memcmp(ip, mapped, sizeof mapped) == 0)
		return suci_addr_v4(ip + V4_AT, port);
	memcpy(a.ip, ip, sizeof a.ip);
	return a;
}

void
suci_addr_16(const struct suci_addr *a, uint8_t ip[16])
{
	if (a->family == 6)
		memcpy(ip, a->ip, sizeof a->ip);
	else
		base_prefix_v4(be32_load(a->ip + V4_AT), ip);
}

const char *
suci_addr_ip_text(const struct suci_addr *a, char out[SUCI_ADDR_TEXT_MAX])
{
	const char *s = a->family == 6 ? inet_ntop(AF_INET6, a->ip, out, SUCI_ADDR_TEXT_MAX)
				       : inet_ntop(AF_INET, a->ip + V4_AT, out, SUCI_ADDR_TEXT_MAX);
	return s ? s : "?";
}

const char *
suci_addr_text(const struct suci_addr *a, char out[SUCI_ADDR_TEXT_MAX])
{
	char ip[SUCI_ADDR_TEXT_MAX];
	snprintf(out, SUCI_ADDR_TEXT_MAX, a->family == 6 ? "[%.45s]:%u" : "%.45s:%u",
		 suci_addr_ip_text(a, ip), a->port);
	return out;
}

bool
suci_addr_parse_ip(const char *text, size_t len, struct suci_addr *out)
{
	char word[INET6_ADDRSTRLEN];
	uint8_t ip[16];
	if (len >= sizeof word || memchr(text, 0, len))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	if (inet_pton(AF_INET, word, ip) == 1)
		*out = suci_addr_v4(ip, 0);
	else if (inet_pton(AF_INET6, word, ip) == 1)
		*out = suci_addr_of(ip, 0);
	else
		return false;
	return true;
}

/* Decimal, 1 .. 65535, no zero in front; 0: it is none. */
static uint16_t
parse_port(const char *text, size_t len)
{
	uint32_t port = 0;
	if (len == 0 || len > TEXT_DIGITS || text[0] == '0')
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = 10 * port + (uint32_t)(text[i] - '0');
	}
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

bool
suci_addr_parse(const char *text, size_t len, struct suci_addr *out)
{
	size_t colon = len;
	while (colon > 0 && text[colon - 1] != ':')
		colon--;
	uint16_t port = parse_port(text + colon, len - colon);
	if (colon == 0 || port == 0)
		return false;
	size_t ip = colon - 1;
	bool bracketed = ip >= 2 && text[0] == '[' && text[ip - 1] == ']';
	struct suci_addr a;
	/* Without brackets the last part of an IPv6 address would be taken for a port. */
	if (bracketed ? !suci_addr_parse_ip(text + 1, ip - 2, &a)
		      : memchr(text, ':', ip) || !suci_addr_parse_ip(text, ip, &a))
		return false;
	a.port = port;
	*out = a;
	return true;
}

bool
suci_addr_is_any(const struct suci_addr *a)
{
	static const uint8_t none[sizeof a->ip];
	return memcmp(a->ip, none, sizeof none) == 0;
}

static const char *
fault_of_v4(uint32_t ip)
{
	if (ip >> 24 == 0)
		return "is no host's address";
	if (ip == UINT32_MAX)
		return "is the broadcast address";
	if (ip >> 28 == 14)
		return "is a multicast address";
	return ip >> 28 == 15 ? "is reserved" : NULL;
}

const char *
suci_addr_fault(const struct suci_addr *a)
{
	if (a->family == 4)
		return fault_of_v4(be32_load(a->ip + V4_AT));
	if (a->family != 6 || suci_addr_is_any(a))
		return "is no host's address";
	if (a->ip[0] == 0xff)
		return "is a multicast address";
	if (a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80)
		return "is link-local, which means nothing on other links: give a global or unique "
		       "local one";
	return NULL;
}
