/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting basic elements in packed bytes, by the type signature. */
#include "external32.h"

int64_t
lmpi_type_elements_in(const struct lmpi_type *t, enum lmpi_rep rep, int64_t bytes,
		      int64_t *left_over)
{
	const struct lmpi_measure *m = &t->rep[rep];
	int64_t n, whole;

	*left_over = bytes;
	if (m->size == 0)
		return 0;
	if (m->element_size > 0) {
		*left_over = bytes % m->element_size;
		return bytes / m->element_size;
	}
	whole = bytes / m->size;
	n = whole * t->elements;
	bytes -= whole * m->size;
	*left_over = bytes;
	if (bytes == 0)
		return n;
	if (t->basic != LMPI_BASIC_NONE) {
		int64_t value = lmpi_external32_value_size(t, rep);

		if (bytes >= value) {
			*left_over = bytes - value;
			n++;
		}
		return n;
	}
	for (int64_t i = 0; i < t->sigs; i++) {
		const struct lmpi_sig *s = &t->sig[i];
		int64_t all = s->n * s->child->rep[rep].size;

		if (bytes < all)
			return n + lmpi_type_elements_in(s->child, rep, bytes, left_over);
		n += s->n * s->child->elements;
		bytes -= all;
		*left_over = bytes;
	}
	return n;
}

int64_t
lmpi_type_bytes_of(const struct lmpi_type *t, int64_t n)
{
	int64_t bytes, whole;

	if (t->elements == 0)
		return 0;
	if (t->rep[LMPI_REP_NATIVE].element_size > 0)
		return n * t->rep[LMPI_REP_NATIVE].element_size;
	whole = n / t->elements;
	bytes = whole * t->size;
	n -= whole * t->elements;
	if (n == 0)
		return bytes;
	if (t->basic != LMPI_BASIC_NONE)
		return bytes + lmpi_external32_value_size(t, LMPI_REP_NATIVE);
	for (int64_t i = 0; i < t->sigs; i++) {
		const struct lmpi_sig *s = &t->sig[i];
		int64_t all = s->n * s->child->elements;

		if (n < all)
			return bytes + lmpi_type_bytes_of(s->child, n);
		bytes += s->n * s->child->size;
		n -= all;
	}
	return bytes;
}
