/* tools/obsim/rules.h - selection rules from a JSON file:
 *
 *     [ { "op": "bcast", "bytes_max": 8192, "size_max": 64, "algorithm": "binomial" }, ... ]
 *
 * bytes_max and size_max may be left out.  First match wins; what no rule takes, the library
 * chooses. */
#ifndef OBSIM_RULES_H
#define OBSIM_RULES_H

#include "coll/schedule.h"

/* NULL: *why says it.  free() the array in the end. */
struct coll_rule *obs_rules_read(const char *text, size_t len, uint32_t *count, char why[160]);

#endif
