/* SPDX-License-Identifier: BSD-2-Clause */
/* print.h - JSON for people: tables, pairs, numbers with units.
 *
 * A table that goes to a terminal fits it: columns are given up in the order that their rows say,
 * sentences are folded, and a line tells how many columns are missing.  With --wide, or where the
 * output is no terminal, all is there, however long the lines get.
 *
 * Control characters in what a relay says of others are shown as \x1b in a table. */
#ifndef RELAYCTL_PRINT_H
#define RELAYCTL_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRINT_COLUMNS_MAX 32

/* A column: where its value is in the row, and what stands above it; NULL: key.  A title has the
 * unit, unless what is counted is in its name. */
struct column {
	const char *key, *title;
	/* When a terminal is too narrow: 1 goes first, of several the rightmost; 0 stays, as what
	 * tells which row it is has to. */
	uint8_t goes;
	bool si;      /* "12.3M", but with --bytes all digits */
	bool prose;   /* sentences: the last column, folded rather than given up */
	double scale; /* what is shown is value * scale, with one digit behind the point; 0: 1 */
};

struct options;

/* Pretty, keys sorted. */
void print_json(json_t *v);
/* Numbers to the right; nothing if there are no rows.  The list, of at most PRINT_COLUMNS_MAX
 * columns, ends with key NULL. */
void print_table(json_t *rows, const struct column *columns, const struct options *o);
/* Name and value of each member that is neither array nor object. */
void print_pairs(json_t *v);
/* "12.3M"; units of 1000. */
const char *print_si(double v, char *buf, size_t max);
#define PRINT_SI_MAX 16

#endif
