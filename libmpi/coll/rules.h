/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/rules.h - which algorithm for which collective call, from a file (JSON):
 *
 *     [ { "op": "bcast", "bytes_max": 8192, "size_max": 64, "algorithm": "binomial" }, ... ]
 *
 * The first rule that holds and whose algorithm takes the call wins; bytes_max and size_max may be
 * left out; what no rule takes, the library chooses.  Bytes are those of coll_args
 * (coll/schedule.h). All processes of a job need the same rules.  LIBMPI_COLL_RULES names the file
 * for libmpi; obsim --rules reads the same. */
#ifndef LMPI_COLL_RULES_H
#define LMPI_COLL_RULES_H

#include "coll/schedule.h"

#define LMPI_RULES_MAX 256

/* False: why says what is wrong and where.  Strings have no escapes. */
bool lmpi_rules_parse(const char *text, size_t len, struct coll_rule rule[LMPI_RULES_MAX],
		      uint32_t *count, char why[160]);
/* Those of the environment, read once; NULL: none. */
const struct coll_rules *lmpi_rules(void);

#endif
