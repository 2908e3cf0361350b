/* SPDX-License-Identifier: BSD-2-Clause */
/* base/prefix.h - address prefixes, IPv4 and IPv6, and lists of them: who is allowed something.
 *
 * Addresses are 16 bytes; those of IPv4 are ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).  The two kinds
 * do not mix: ::/0 covers no IPv4 address.
 *
 * Threads  pure functions. */
#ifndef BASE_PREFIX_H
#define BASE_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE_PREFIXES_MAX 32

struct base_prefix {
	uint8_t addr[16];
	uint32_t len; /* bits, 0 .. 128; of IPv4 96 more than what stands behind the slash */
};

struct base_prefixes {
	uint32_t n;
	struct base_prefix at[BASE_PREFIXES_MAX];
};

/* "10.1.0.0/16" or "192.0.2.7" or "2001:db8::/32", len bytes of it and nothing else.  Bits behind
 * the length may be set; false: it is no such text. */
bool base_prefix_parse(const char *text, size_t len, struct base_prefix *out);
/* No bit is set behind the length. */
bool base_prefix_exact(const struct base_prefix *p);
bool base_prefix_covers(const struct base_prefix *p, const uint8_t addr[16]);

/* Add "10.1.0.0/16, 192.0.2.7, 2001:db8::/32" to the list; without a length: one address.
 * False, with out as it was, if it is not such a text or there are too many. */
bool base_prefixes_add(struct base_prefixes *out, const char *text);
bool base_prefixes_have(const struct base_prefixes *p, const uint8_t addr[16]);
void base_prefix_v4(uint32_t ipv4, uint8_t addr[16]); /* host order */

#endif
