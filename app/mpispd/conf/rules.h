/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains, and what must hold for all of the configuration together. */
#ifndef SPD_RULES_H
#define SPD_RULES_H

#include "read.h"

void spd_read_chains(struct reading *r, struct spd_conf *c, const json_t *root);
void spd_check_rules(struct reading *r, struct spd_conf *c);

#endif
