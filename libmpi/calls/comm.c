/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that look at a communicator, name it, hang something on it, or free it. */
#include <stdio.h>

#include "attr.h"
#include "bsend.h"
#include "call.h"
#include "comm.h"
#include "dyn.h"
#include "engine.h"
#include "errors.h"
#include "impi_attr.h"
#include "impl.h"
#include "info.h"

#include "mpi-ext.h"

/* ---- looking at one */

int
impl_Comm_size(MPI_Comm comm, int *size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*size = c->size;
	return rc;
}

int
impl_Comm_rank(MPI_Comm comm, int *rank)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*rank = c->rank;
	return rc;
}

int
impl_Comm_remote_size(MPI_Comm comm, int *size)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (c->remote == NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is not an inter-communicator");
	*size = c->remote->size;
	return MPI_SUCCESS;
}

int
impl_Comm_test_inter(MPI_Comm comm, int *flag)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*flag = c->remote != NULL;
	return rc;
}

int
impl_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	lmpi_group_ref(c->group);
	*group = lmpi_group_handle(c->group);
	return MPI_SUCCESS;
}

int
impl_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (c->remote == NULL)
		return lmpi_error(MPI_ERR_COMM, "the communicator is not an inter-communicator");
	lmpi_group_ref(c->remote);
	*group = lmpi_group_handle(c->remote);
	return MPI_SUCCESS;
}

int
impl_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
	struct lmpi_comm *a, *b;
	int rc = lmpi_comm_get(comm1, &a), remote;

	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_get(comm2, &b);
	if (rc)
		return rc;
	if (a == b) {
		*result = MPI_IDENT;
		return MPI_SUCCESS;
	}
	if ((a->remote == NULL) != (b->remote == NULL)) {
		*result = MPI_UNEQUAL;
		return MPI_SUCCESS;
	}
	*result = lmpi_group_compare(a->group, b->group);
	if (a->remote != NULL && *result != MPI_UNEQUAL) {
		remote = lmpi_group_compare(a->remote, b->remote);
		if (remote != MPI_IDENT)
			*result = remote;
	}
	if (*result == MPI_IDENT)
		*result = MPI_CONGRUENT;
	return MPI_SUCCESS;
}

int
impl_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		lmpi_comm_rename(c, comm_name);
	return rc;
}

int
impl_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
	struct lmpi_comm *c;
	int rc;

	if (comm == MPI_COMM_NULL) {
		*resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "MPI_COMM_NULL");
		return MPI_SUCCESS;
	}
	rc = lmpi_comm_get(comm, &c);
	if (rc == MPI_SUCCESS)
		*resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", c->name);
	return rc;
}

int
impl_Comm_free(MPI_Comm *comm)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(*comm, &c);

	if (rc)
		return rc;
	if (c == lmpi_comm_world || c == lmpi_comm_self)
		return lmpi_error(MPI_ERR_COMM, "%s cannot be freed", c->name);
	rc = lmpi_attr_delete_all(LMPI_ATTR_COMM, c->handle, &c->attrs);
	if (rc)
		return rc;
	lmpi_bsend_end(&c->bsend); /* the memory is the program's again, once this returns */
	c->user_freed = true;	   /* pending requests may still hold it */
	lmpi_comm_unref(c);
	*comm = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

int
impl_Comm_disconnect(MPI_Comm *comm)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(*comm, &c);

	if (rc)
		return rc;
	if (!lmpi_comm_mixed(c)) /* what is under way is the caller's to complete */
		return impl_Comm_free(comm);
	rc = lmpi_link_leave(c);
	if (rc)
		return rc;
	rc = impl_Comm_free(comm);
	lmpi_link_drop(c);
	return rc;
}

/* ---- hints */

int
impl_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
	struct lmpi_comm *c;
	struct lmpi_info *from, *copy;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		rc = lmpi_info_arg(info, &from);
	if (rc || from == NULL)
		return rc;
	copy = lmpi_info_copy(from);
	if (copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (c->info != NULL)
		lmpi_info_delete(c->info);
	c->info = copy;
	return MPI_SUCCESS;
}

int
impl_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
	struct lmpi_comm *c;
	struct lmpi_info *copy;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	copy = c->info ? lmpi_info_copy(c->info) : lmpi_info_new();
	if (copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*info_used = (MPI_Info)copy;
	return MPI_SUCCESS;
}

/* ---- attributes */

/* Values of the predefined keys; pointers to int, as the ABI says. */
static int *
builtin_attr(int keyval)
{
	static int wtime_is_global, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, survives;

	switch (keyval) {
	case MPI_TAG_UB:
		return &lmpi_world.tag_ub;
	case MPI_HOST:
		return &host;
	case MPI_IO:
		return &io;
	case MPI_WTIME_IS_GLOBAL:
		return &wtime_is_global;
	case MPI_UNIVERSE_SIZE:
		return lmpi_world.universe_size > 0 ? &lmpi_world.universe_size : NULL;
	case MPI_APPNUM:
		return lmpi_world.appnum >= 0 ? &lmpi_world.appnum : NULL;
	case MPI_LASTUSEDCODE:
		return &lmpi_last_used_code;
	case MPIX_FT:
		survives = lmpi_survives();
		return &survives;
	default:
		return NULL;
	}
}

static bool
is_builtin(int keyval)
{
	return (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) || lmpi_is_impi_attr(keyval) ||
	       keyval == MPIX_FT;
}

int
impl_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (is_builtin(comm_keyval)) {
		int *value;

		rc = lmpi_impi_attr(c, comm_keyval, &value);
		if (rc)
			return rc;
		/* Of these a communicator of a session has but one (MPI 5.0, 9.1.2). */
		if (value == NULL && (comm_keyval == MPI_TAG_UB || c->group->session == 0))
			value = builtin_attr(comm_keyval);
		*flag = value != NULL;
		if (value != NULL)
			*(int **)attribute_val = value;
		return MPI_SUCCESS;
	}
	return lmpi_attr_get(LMPI_ATTR_COMM, c->attrs, comm_keyval, attribute_val, flag);
}

int
impl_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (is_builtin(comm_keyval))
		return lmpi_error(MPI_ERR_KEYVAL, "attribute key %d is predefined", comm_keyval);
	return lmpi_attr_set(LMPI_ATTR_COMM, c->handle, &c->attrs, comm_keyval, attribute_val);
}

int
impl_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	if (is_builtin(comm_keyval))
		return lmpi_error(MPI_ERR_KEYVAL, "attribute key %d is predefined", comm_keyval);
	return lmpi_attr_delete(LMPI_ATTR_COMM, c->handle, &c->attrs, comm_keyval);
}

int
impl_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
			MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval,
			void *extra_state)
{
	return lmpi_keyval_create(LMPI_ATTR_COMM, (void (*)(void))comm_copy_attr_fn,
				  (void (*)(void))comm_delete_attr_fn, extra_state, comm_keyval);
}

int
impl_Comm_free_keyval(int *comm_keyval)
{
	return lmpi_keyval_free(LMPI_ATTR_COMM, comm_keyval);
}

/* The MPI-1 names of the same. */

int
impl_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
	return impl_Comm_get_attr(comm, keyval, attribute_val, flag);
}

int
impl_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
	return impl_Comm_set_attr(comm, keyval, attribute_val);
}

int
impl_Attr_delete(MPI_Comm comm, int keyval)
{
	return impl_Comm_delete_attr(comm, keyval);
}

int
impl_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
		   void *extra_state)
{
	return lmpi_keyval_create(LMPI_ATTR_COMM, (void (*)(void))copy_fn,
				  (void (*)(void))delete_fn, extra_state, keyval);
}

int
impl_Keyval_free(int *keyval)
{
	return lmpi_keyval_free(LMPI_ATTR_COMM, keyval);
}
