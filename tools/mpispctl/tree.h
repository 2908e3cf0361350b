/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpispctl/tree.h - what mpispd answers, for people: on stdout. */
#ifndef MPISPCTL_TREE_H
#define MPISPCTL_TREE_H

#include <jansson.h>

void tree_print(const json_t *status);
void chain_print(const json_t *chain);
void line_print(const json_t *line);

#endif
