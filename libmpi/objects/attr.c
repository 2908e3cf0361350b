/* SPDX-License-Identifier: BSD-2-Clause */
#include "attr.h"

#include <stdlib.h>

#include "call.h"

/* A key lives until it was freed by the user and the last value under it is gone. */
struct keyval {
	int refs;
	bool freed;
	enum lmpi_attr_kind kind;
	void (*copy)(void);
	void (*del)(void);
	void *extra_state;
};

/* Predefined keys are below 1000. */
#define KEYVAL_FIRST 1000

static struct keyval *keyvals;
static int keyvals_n;

/* The callback constants of the ABI are addresses 0 and 1. */
#define CALLBACK_NULL ((void (*)(void))0)
#define CALLBACK_DUP  ((void (*)(void))1)

static struct keyval *
any_keyval(int keyval)
{
	int i = keyval - KEYVAL_FIRST;

	return i >= 0 && i < keyvals_n && keyvals[i].refs > 0 ? &keyvals[i] : NULL;
}

/* Freed keys can be read, deleted under and freed again while values are left under
 * them: callbacks of programs rely on it. */
static int
get_attr(enum lmpi_attr_kind kind, int keyval, struct keyval **k)
{
	*k = any_keyval(keyval);
	if (*k == NULL || (*k)->kind != kind)
		return lmpi_error(MPI_ERR_KEYVAL,
				  "%d is not an attribute key for this kind of "
				  "object",
				  keyval);
	return MPI_SUCCESS;
}

int
lmpi_keyval_create(enum lmpi_attr_kind kind, void (*copy)(void), void (*del)(void),
		   void *extra_state, int *keyval)
{
	int i;

	if (keyval == NULL)
		return lmpi_error(MPI_ERR_ARG, "keyval is a null pointer");
	for (i = 0; i < keyvals_n && keyvals[i].refs > 0; i++)
		;
	if (i == keyvals_n) {
		struct keyval *more = realloc(keyvals, (size_t)(keyvals_n + 1) * sizeof(*more));

		if (more == NULL)
			return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
		keyvals = more;
		keyvals_n++;
	}
	keyvals[i] = (struct keyval){1, false, kind, copy, del, extra_state};
	*keyval = KEYVAL_FIRST + i;
	return MPI_SUCCESS;
}

int
lmpi_keyval_free(enum lmpi_attr_kind kind, int *keyval)
{
	struct keyval *k;
	int rc = get_attr(kind, *keyval, &k);

	if (rc)
		return rc;
	if (!k->freed)
		k->refs--;
	k->freed = true;
	*keyval = MPI_KEYVAL_INVALID;
	return MPI_SUCCESS;
}

static struct lmpi_attr *
find_attr(const struct lmpi_attr *list, int keyval)
{
	while (list != NULL && list->keyval != keyval)
		list = list->next;
	return (struct lmpi_attr *)(uintptr_t)list;
}

/* The callbacks of the three kinds have the same shape; only the handle's type differs. */
static int
call_delete(const struct keyval *k, void *handle, int keyval, void *value)
{
	if (k->del == CALLBACK_NULL)
		return MPI_SUCCESS;
	switch (k->kind) {
	case LMPI_ATTR_COMM:
		return ((MPI_Comm_delete_attr_function *)k->del)(handle, keyval, value,
								 k->extra_state);
	case LMPI_ATTR_TYPE:
		return ((MPI_Type_delete_attr_function *)k->del)(handle, keyval, value,
								 k->extra_state);
	default:
		return ((MPI_Win_delete_attr_function *)k->del)(handle, keyval, value,
								k->extra_state);
	}
}

static int
call_copy(const struct keyval *k, void *handle, int keyval, void *value, void *out, int *flag)
{
	*flag = 0;
	if (k->copy == CALLBACK_NULL)
		return MPI_SUCCESS;
	if (k->copy == CALLBACK_DUP) {
		*(void **)out = value;
		*flag = 1;
		return MPI_SUCCESS;
	}
	switch (k->kind) {
	case LMPI_ATTR_COMM:
		return ((MPI_Comm_copy_attr_function *)k->copy)(handle, keyval, k->extra_state,
								value, out, flag);
	case LMPI_ATTR_TYPE:
		return ((MPI_Type_copy_attr_function *)k->copy)(handle, keyval, k->extra_state,
								value, out, flag);
	default:
		return ((MPI_Win_copy_attr_function *)k->copy)(handle, keyval, k->extra_state,
							       value, out, flag);
	}
}

/* A callback may create keys and so move the table: work on a copy of the key. */
static int
delete_value(void *handle, const struct lmpi_attr *a)
{
	struct keyval k = *any_keyval(a->keyval);
	int rc = call_delete(&k, handle, a->keyval, a->value);

	if (rc)
		return lmpi_error(rc, "the delete callback of attribute key %d returned %d",
				  a->keyval, rc);
	return MPI_SUCCESS;
}

static void
unlink_value(struct lmpi_attr **list, struct lmpi_attr *a)
{
	while (*list != a)
		list = &(*list)->next;
	*list = a->next;
	any_keyval(a->keyval)->refs--;
	free(a);
}

static int
add_attr(struct lmpi_attr **list, int keyval, void *value)
{
	struct lmpi_attr *a = malloc(sizeof(*a));

	if (a == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*a = (struct lmpi_attr){*list, keyval, value};
	*list = a;
	any_keyval(keyval)->refs++;
	return MPI_SUCCESS;
}

int
lmpi_attr_set(enum lmpi_attr_kind kind, void *handle, struct lmpi_attr **list, int keyval,
	      void *value)
{
	struct keyval *k;
	struct lmpi_attr *a;
	int rc = get_attr(kind, keyval, &k);

	if (rc)
		return rc;
	a = find_attr(*list, keyval);
	if (a == NULL)
		return add_attr(list, keyval, value);
	rc = delete_value(handle, a);
	if (rc == MPI_SUCCESS)
		a->value = value;
	return rc;
}

int
lmpi_attr_get(enum lmpi_attr_kind kind, const struct lmpi_attr *list, int keyval, void *value,
	      int *flag)
{
	struct keyval *k;
	const struct lmpi_attr *a;
	int rc = get_attr(kind, keyval, &k);

	if (rc)
		return rc;
	a = find_attr(list, keyval);
	*flag = a != NULL;
	if (a != NULL)
		*(void **)value = a->value;
	return MPI_SUCCESS;
}

int
lmpi_attr_delete(enum lmpi_attr_kind kind, void *handle, struct lmpi_attr **list, int keyval)
{
	struct keyval *k;
	struct lmpi_attr *a;
	int rc = get_attr(kind, keyval, &k);

	if (rc)
		return rc;
	a = find_attr(*list, keyval);
	if (a == NULL)
		return lmpi_error(MPI_ERR_KEYVAL, "no attribute is set under key %d", keyval);
	rc = delete_value(handle, a);
	if (rc == MPI_SUCCESS)
		unlink_value(list, a);
	return rc;
}

int
lmpi_attr_copy_all(enum lmpi_attr_kind kind, void *handle, const struct lmpi_attr *from,
		   struct lmpi_attr **to)
{
	int rc = MPI_SUCCESS;

	(void)kind;
	if (from == NULL)
		return MPI_SUCCESS;
	/* oldest first, so that both lists have the same order */
	rc = lmpi_attr_copy_all(kind, handle, from->next, to);
	if (rc == MPI_SUCCESS) {
		struct keyval k = *any_keyval(from->keyval);
		void *value = NULL;
		int flag = 0;

		rc = call_copy(&k, handle, from->keyval, from->value, &value, &flag);
		if (rc)
			return lmpi_error(rc, "the copy callback of attribute key %d returned %d",
					  from->keyval, rc);
		if (flag)
			rc = add_attr(to, from->keyval, value);
	}
	return rc;
}

int
lmpi_attr_delete_all(enum lmpi_attr_kind kind, void *handle, struct lmpi_attr **list)
{
	(void)kind;
	while (*list != NULL) { /* newest first, as the standard asks for at finalize */
		struct lmpi_attr *a = *list;
		int rc = delete_value(handle, a);

		if (rc)
			return rc;
		unlink_value(list, a);
	}
	return MPI_SUCCESS;
}
