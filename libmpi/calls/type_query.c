/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be asked about datatypes: sizes, contents, names, attributes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "request.h"
#include "type.h"

static int
get_type(MPI_Datatype handle, struct lmpi_type **t)
{
	*t = lmpi_type_find(handle);
	if (*t == NULL)
		return lmpi_error(MPI_ERR_TYPE, "%s (%p)",
				  handle == MPI_DATATYPE_NULL ? "the datatype is MPI_DATATYPE_NULL"
							      : "the datatype is not a valid one",
				  (void *)handle);
	return MPI_SUCCESS;
}

int
impl_Type_size(MPI_Datatype datatype, MPI_Count *size)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	if (rc == MPI_SUCCESS)
		*size = t->size;
	return rc;
}

int
impl_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
	return impl_Type_size(datatype, size);
}

int
impl_Type_get_extent(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	if (rc)
		return rc;
	*lb = t->lb;
	*extent = lmpi_type_extent(t);
	return MPI_SUCCESS;
}

int
impl_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
	return impl_Type_get_extent(datatype, lb, extent);
}

int
impl_Type_get_true_extent(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	if (rc)
		return rc;
	*true_lb = t->true_lb;
	*true_extent = t->true_ub - t->true_lb;
	return MPI_SUCCESS;
}

int
impl_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
	return impl_Type_get_true_extent(datatype, true_lb, true_extent);
}

int
impl_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses,
		       int *num_datatypes, int *combiner)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	if (rc)
		return rc;
	if (t->contents.ncounts != 0)
		return lmpi_error(MPI_ERR_TYPE, "the datatype was made with large counts: use the "
						"_c form");
	*num_integers = (int)t->contents.nints;
	*num_addresses = (int)t->contents.naddrs;
	*num_datatypes = (int)t->contents.ntypes;
	*combiner = t->contents.combiner;
	return MPI_SUCCESS;
}

int
impl_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers, MPI_Count *num_addresses,
			 MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	if (rc)
		return rc;
	*num_integers = t->contents.nints;
	*num_addresses = t->contents.naddrs;
	*num_large_counts = t->contents.ncounts;
	*num_datatypes = t->contents.ntypes;
	*combiner = t->contents.combiner;
	return MPI_SUCCESS;
}

int
impl_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
			 MPI_Count max_large_counts, MPI_Count max_datatypes,
			 int array_of_integers[], MPI_Aint array_of_addresses[],
			 MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
	struct lmpi_type *t;
	const struct lmpi_contents *c;
	int rc = get_type(datatype, &t);

	if (rc)
		return rc;
	c = &t->contents;
	if (c->combiner == MPI_COMBINER_NAMED)
		return lmpi_error(MPI_ERR_TYPE, "%s is predefined: it has no contents", t->name);
	if (max_integers < c->nints || max_addresses < c->naddrs || max_large_counts < c->ncounts ||
	    max_datatypes < c->ntypes)
		return lmpi_error(MPI_ERR_ARG,
				  "the contents are %lld integers, %lld addresses, "
				  "%lld large counts, %lld datatypes: too many for the "
				  "arrays",
				  (long long)c->nints, (long long)c->naddrs, (long long)c->ncounts,
				  (long long)c->ntypes);
	for (int64_t i = 0; i < c->nints; i++)
		array_of_integers[i] = c->ints[i];
	for (int64_t i = 0; i < c->naddrs; i++)
		array_of_addresses[i] = c->addrs[i];
	for (int64_t i = 0; i < c->ncounts; i++)
		array_of_large_counts[i] = c->counts[i];
	for (int64_t i = 0; i < c->ntypes; i++) { /* the caller frees the derived ones */
		array_of_datatypes[i] = c->types[i]->handle;
		lmpi_type_ref(c->types[i]);
	}
	return MPI_SUCCESS;
}

int
impl_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
		       int max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
		       MPI_Datatype array_of_datatypes[])
{
	return impl_Type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes,
					array_of_integers, array_of_addresses, NULL,
					array_of_datatypes);
}

int
impl_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	if (rc == MPI_SUCCESS)
		snprintf(t->name, sizeof(t->name), "%s", type_name);
	return rc;
}

int
impl_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
	struct lmpi_type *t;
	int rc;

	if (datatype == MPI_DATATYPE_NULL) {
		*resultlen = snprintf(type_name, MPI_MAX_OBJECT_NAME, "MPI_DATATYPE_NULL");
		return MPI_SUCCESS;
	}
	rc = get_type(datatype, &t);
	if (rc == MPI_SUCCESS)
		*resultlen = snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", t->name);
	return rc;
}

/* ---- attributes */

int
impl_Type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
			MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval,
			void *extra_state)
{
	return lmpi_keyval_create(LMPI_ATTR_TYPE, (void (*)(void))type_copy_attr_fn,
				  (void (*)(void))type_delete_attr_fn, extra_state, type_keyval);
}

int
impl_Type_free_keyval(int *type_keyval)
{
	return lmpi_keyval_free(LMPI_ATTR_TYPE, type_keyval);
}

int
impl_Type_set_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	return rc ? rc
		  : lmpi_attr_set(LMPI_ATTR_TYPE, t->handle, &t->attrs, type_keyval, attribute_val);
}

int
impl_Type_get_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	return rc ? rc : lmpi_attr_get(LMPI_ATTR_TYPE, t->attrs, type_keyval, attribute_val, flag);
}

int
impl_Type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
	struct lmpi_type *t;
	int rc = get_type(datatype, &t);

	return rc ? rc : lmpi_attr_delete(LMPI_ATTR_TYPE, t->handle, &t->attrs, type_keyval);
}

/* ---- matching */

int
impl_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
	static const struct {
		int typeclass, size;
		MPI_Datatype type;
	} table[] = {
		{MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
		{MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
		{MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
		{MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
		{MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16},
		{MPI_TYPECLASS_REAL, 2, MPI_REAL2},
		{MPI_TYPECLASS_REAL, 4, MPI_REAL4},
		{MPI_TYPECLASS_REAL, 8, MPI_REAL8},
		{MPI_TYPECLASS_REAL, 16, MPI_REAL16},
		{MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
		{MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
		{MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
		{MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
		{MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
		{MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},
		{MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
		{MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},
		{MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].typeclass == typeclass && table[i].size == size) {
			*datatype = table[i].type;
			return MPI_SUCCESS;
		}
	return lmpi_error(MPI_ERR_ARG, "no datatype of class %d has %d bytes", typeclass, size);
}

int
impl_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype *pair_type)
{
	static const struct {
		MPI_Datatype value, index, pair;
	} table[] = {
		{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
		{MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
		{MPI_LONG, MPI_INT, MPI_LONG_INT},
		{MPI_INT, MPI_INT, MPI_2INT},
		{MPI_SHORT, MPI_INT, MPI_SHORT_INT},
		{MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
		{MPI_REAL, MPI_REAL, MPI_2REAL},
		{MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
		{MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
	};
	struct lmpi_type *t;
	int rc;

	*pair_type = MPI_DATATYPE_NULL; /* the answer for pairs that do not exist */
	rc = get_type(value_type, &t);
	if (rc == MPI_SUCCESS)
		rc = get_type(index_type, &t);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].value == value_type && table[i].index == index_type)
			*pair_type = table[i].pair;
	return MPI_SUCCESS;
}
