/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/attr.h - attribute keys and values on communicators and datatypes.
 *
 * Threads  the lock is held; user callbacks run with it held (it is recursive). */
#ifndef LMPI_ATTR_H
#define LMPI_ATTR_H

#include <stdbool.h>

#include "mpi.h"

enum lmpi_attr_kind { LMPI_ATTR_COMM, LMPI_ATTR_TYPE, LMPI_ATTR_WIN };

/* One value set on an object; a list per object, newest first. */
struct lmpi_attr {
	struct lmpi_attr *next;
	int keyval;
	void *value;
};

/* A key, its callbacks as they were given. */
int lmpi_keyval_create(enum lmpi_attr_kind kind, void (*copy)(void), void (*del)(void),
		       void *extra_state, int *keyval);
int lmpi_keyval_free(enum lmpi_attr_kind kind, int *keyval);

int lmpi_attr_set(enum lmpi_attr_kind kind, void *handle, struct lmpi_attr **list, int keyval,
		  void *value);
int lmpi_attr_get(enum lmpi_attr_kind kind, const struct lmpi_attr *list, int keyval, void *value,
		  int *flag);
int lmpi_attr_delete(enum lmpi_attr_kind kind, void *handle, struct lmpi_attr **list, int keyval);
/* Run the copy callbacks for a duplicate of the object; on an error the values
 * copied so far stay in *to, for lmpi_attr_delete_all(). */
int lmpi_attr_copy_all(enum lmpi_attr_kind kind, void *handle, const struct lmpi_attr *from,
		       struct lmpi_attr **to);
/* Run the delete callbacks; stops at the first that fails and returns its code. */
int lmpi_attr_delete_all(enum lmpi_attr_kind kind, void *handle, struct lmpi_attr **list);

#endif
