/* SPDX-License-Identifier: BSD-2-Clause */
/* print.h - JSON for people: tables, pairs, numbers with units. */
#ifndef RELAYCTL_PRINT_H
#define RELAYCTL_PRINT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A column: where its value is in the row, and what stands above it; NULL: key. */
struct column {
	const char *key, *title;
};

/* Pretty, keys sorted. */
void print_json(json_t *v);
/* As wide as their widest value; numbers to the right.  The list ends with key NULL. */
void print_table(json_t *rows, const struct column *columns);
/* Name and value of each member that is neither array nor object. */
void print_pairs(json_t *v);
/* "12.3M"; units of 1000. */
const char *print_si(double v, char *buf, size_t max);
#define PRINT_SI_MAX 16

#endif
