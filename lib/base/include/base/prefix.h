/* base/prefix.h - a list of address prefixes, IPv4 and IPv6: who is allowed something.
 *
 * Addresses are 16 bytes; those of IPv4 are ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
 *
 * Threads  pure functions. */
#ifndef BASE_PREFIX_H
#define BASE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#define BASE_PREFIXES_MAX    32
#define BASE_PREFIX_TEXT_MAX 1024 /* a text of as many IPv4 prefixes fits */

struct base_prefixes {
	uint32_t n;
	struct base_prefix {
		uint8_t addr[16];
		uint32_t len; /* bits, 0 .. 128 */
	} at[BASE_PREFIXES_MAX];
};

/* Add "10.1.0.0/16, 192.0.2.7, 2001:db8::/32" to the list; without a length: one address.
 * False, with out as it was, if it is not such a text or there are too many. */
bool base_prefixes_add(struct base_prefixes *out, const char *text);
bool base_prefixes_have(const struct base_prefixes *p, const uint8_t addr[16]);
void base_prefix_v4(uint32_t ipv4, uint8_t addr[16]); /* host order */

#endif
