/* Counting basic elements in packed bytes, by the type signature. */
#include "type.h"

/* Bytes of the value in a value-index pair. */
static int64_t
pair_value_size(const struct lmpi_type *t)
{
	switch (t->basic) {
	case LMPI_BASIC_F64_INT:
	case LMPI_BASIC_I64_INT:
	case LMPI_BASIC_F64_F64:
		return 8;
	case LMPI_BASIC_F80_INT:
		return 16;
	case LMPI_BASIC_I16_INT:
		return 2;
	default:
		return 4;
	}
}

int64_t
lmpi_type_elements(const struct lmpi_type *t, int64_t bytes, int64_t *left_over)
{
	int64_t n, whole;

	*left_over = bytes;
	if (t->size == 0)
		return 0;
	if (t->element_size > 0) {
		*left_over = bytes % t->element_size;
		return bytes / t->element_size;
	}
	whole = bytes / t->size;
	n = whole * t->elements;
	bytes -= whole * t->size;
	*left_over = bytes;
	if (bytes == 0)
		return n;
	if (t->basic != LMPI_BASIC_NONE) {
		if (bytes >= pair_value_size(t)) {
			*left_over = bytes - pair_value_size(t);
			n++;
		}
		return n;
	}
	for (int64_t i = 0; i < t->sigs; i++) {
		const struct lmpi_sig *s = &t->sig[i];
		int64_t all = s->n * s->child->size;

		if (bytes < all)
			return n + lmpi_type_elements(s->child, bytes, left_over);
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
	if (t->element_size > 0)
		return n * t->element_size;
	whole = n / t->elements;
	bytes = whole * t->size;
	n -= whole * t->elements;
	if (n == 0)
		return bytes;
	if (t->basic != LMPI_BASIC_NONE)
		return bytes + pair_value_size(t);
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
