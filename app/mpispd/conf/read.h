/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading JSON with the path of what is wrong: read.c. */
#ifndef SPD_READ_H
#define SPD_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "spd/conf.h"

/* Where we are, and the first thing that was wrong. */
struct reading {
	char *why;
	bool failed;
};

void spd_reading_failed(struct reading *r, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Only these keys may be there: words with spaces between them. */
void spd_keys_are(struct reading *r, const json_t *object, const char *path, const char *keys);
/* A number of object within bounds; otherwise what it is if the key is missing, which must not be
 * below least for that. */
uint32_t spd_number_of(struct reading *r, const json_t *object, const char *path, const char *key,
		       uint32_t least, uint32_t most, uint32_t otherwise);
/* A text, copied; NULL: there is none, an error if needed. */
char *spd_text_of(struct reading *r, const json_t *object, const char *path, const char *key,
		  bool needed);
bool spd_truth_of(struct reading *r, const json_t *object, const char *path, const char *key,
		  bool otherwise);
/* Letters, digits, '-', '_', '.'; fits into room. */
bool spd_name_is_good(struct reading *r, const char *name, const char *path, size_t room);
/* IPv4:PORT, shorter than SP_NAME_MAX. */
bool spd_is_relay(const char *text);
/* One, or two that differ with a comma between. */
bool spd_are_relays(const char *text);

#endif
