/* SPDX-License-Identifier: BSD-2-Clause */
/* What the table and its text share. */
#ifndef TUNE_ROW_H
#define TUNE_ROW_H

#include "tune/store.h"

struct tune_bounds {
	const char *name;
	uint64_t least, most;
};
extern const struct tune_bounds tune_bounds[TUNE_NVALUES];

bool tune_word_ok(const char *w, size_t size);

#endif
