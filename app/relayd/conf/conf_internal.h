/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of this folder only. */
#ifndef RD_CONF_INTERNAL_H
#define RD_CONF_INTERNAL_H

#include "rd/conf.h"

/* What rules between keys look at, and where they tell: text may be NULL, then faults carry no
 * line. */
struct rd_rules {
	struct rd_conf *conf;
	const char *text;
	size_t len;
	struct rd_faults *faults;
};
#define RD_RULE_FAULT(r, pointer, ...)     \
	rd_fault_add((r)->faults, pointer, \
		     (r)->text ? rd_conf_locate((r)->text, (r)->len, pointer) : 0, __VA_ARGS__)

/* Rules between keys, after each key was found good by itself.  text may be
 * NULL: then faults carry no line. */
void rd_conf_cross_check(struct rd_conf *conf, const char *text, size_t len,
			 struct rd_faults *faults);
/* eal.lcores is EAL's syntax, and names enough of them.  A fault's line is looked for in text. */
void rd_conf_check_lcores(const struct rd_conf *conf, const char *text, size_t len,
			  struct rd_faults *faults);
/* An IPv6 address, len bytes of text, that others can reach.  NULL, or why not. */
const char *rd_conf_read_six(const char *text, size_t len, uint8_t ip[16]);
/* The IPv6 addresses of the legs out of their texts; and the rules of IPv6, likewise. */
void rd_conf_read_sixes(struct rd_conf *conf, const char *text, size_t len,
			struct rd_faults *faults);
void rd_conf_check_six(struct rd_conf *conf, const char *text, size_t len,
		       struct rd_faults *faults);

/* Those of each leg, of the two at one port, and of light ports, which take what is common to them.
 */
void rd_conf_check_legs(struct rd_conf *conf, const char *text, size_t len,
			struct rd_faults *faults);
/* Where the leg is in the file. */
void rd_leg_pointer(char ptr[64], uint32_t leg, const char *key);

static inline uint32_t
rd_prefix_mask(uint32_t prefix_len)
{
	return ~0u << (32 - prefix_len);
}

#define RD_KEYS_MAX 192u /* that the table may have */

#endif
