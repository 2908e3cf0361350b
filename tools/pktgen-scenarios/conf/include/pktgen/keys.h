/* SPDX-License-Identifier: BSD-2-Clause */
/* keys.h - reads a JSON object by a table of its keys: which there are, of what type, within which
 * bounds, and where each goes.  Scenario and lab files are read by it, object after object, so that
 * a fault is told in the same words everywhere: where, what, and what is wanted.
 *
 * Units    bounds are those of the key, inclusive.
 * Threads  plain functions.
 * Errors   0, or -1 and one line in err. */
#ifndef PKTGEN_KEYS_H
#define PKTGEN_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum pg_key_type {
	PG_KEY_TEXT,   /* const char *, valid as long as the object */
	PG_KEY_WHOLE,  /* json_int_t, low .. high */
	PG_KEY_NUMBER, /* double */
	PG_KEY_TRUTH,  /* bool */
	PG_KEY_OBJECT, /* json_t *, and of that type */
	PG_KEY_LIST,   /* json_t *; of low .. high elements */
	PG_KEY_ANY,    /* json_t * */
};

struct pg_key {
	const char *name;
	enum pg_key_type type;
	bool needed;
	size_t at; /* offset of its value in what out points at; what is not given stays */
	json_int_t low, high;
};

/* where: what the object is called, "" for the file.  Keys that the table lacks, or that are of
 * another type, are faults; so are needed ones that are not there. */
int pg_keys_read(const json_t *object, const char *where, const struct pg_key *key, size_t n,
		 void *out, char *err, size_t err_max);

/* A line with what jansson says of a file: e after json_load_file() and the like. */
int pg_keys_no_json(const json_error_t *e, char *err, size_t err_max);

#endif
