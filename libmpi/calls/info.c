/* SPDX-License-Identifier: BSD-2-Clause */
/* The MPI_Info_* calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "info.h"

static int
get_info(MPI_Info handle, struct lmpi_info **info)
{
	*info = lmpi_info_find(handle);
	if (*info == NULL)
		return lmpi_error(MPI_ERR_INFO, "%s",
				  handle == MPI_INFO_NULL ? "info is MPI_INFO_NULL"
							  : "info is not a valid info object");
	return MPI_SUCCESS;
}

static int
check_info_key(const char *key)
{
	if (key == NULL || key[0] == '\0' || strlen(key) >= MPI_MAX_INFO_KEY)
		return lmpi_error(MPI_ERR_INFO_KEY, "the key is %s",
				  key == NULL || key[0] == '\0' ? "empty" : "too long");
	return MPI_SUCCESS;
}

static int
get_with_key(MPI_Info handle, const char *key, struct lmpi_info **info)
{
	int rc = get_info(handle, info);

	return rc ? rc : check_info_key(key);
}

static int
hand_out_info(struct lmpi_info *info, MPI_Info *handle)
{
	if (info == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*handle = (MPI_Info)info;
	return MPI_SUCCESS;
}

int
impl_Info_create(MPI_Info *info)
{
	return hand_out_info(lmpi_info_new(), info);
}

int
impl_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
	struct lmpi_info *copy = lmpi_info_copy(lmpi_info_find(MPI_INFO_ENV));

	if (copy != NULL && argc > 0 && argv != NULL && argv[0] != NULL &&
	    strlen(argv[0]) < MPI_MAX_INFO_VAL)
		lmpi_info_put(copy, "command", argv[0]);
	return hand_out_info(copy, info);
}

int
impl_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
	struct lmpi_info *i;
	int rc = get_info(info, &i);

	return rc ? rc : hand_out_info(lmpi_info_copy(i), newinfo);
}

int
impl_Info_free(MPI_Info *info)
{
	struct lmpi_info *i;
	int rc = get_info(*info, &i);

	if (rc)
		return rc;
	if (*info == MPI_INFO_ENV)
		return lmpi_error(MPI_ERR_INFO, "MPI_INFO_ENV cannot be freed");
	lmpi_info_delete(i);
	*info = MPI_INFO_NULL;
	return MPI_SUCCESS;
}

int
impl_Info_set(MPI_Info info, const char *key, const char *value)
{
	struct lmpi_info *i;
	int rc = get_with_key(info, key, &i);

	if (rc)
		return rc;
	if (value == NULL || strlen(value) >= MPI_MAX_INFO_VAL)
		return lmpi_error(MPI_ERR_INFO_VALUE, "the value of %s is too long or missing",
				  key);
	if (!lmpi_info_put(i, key, value))
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	return MPI_SUCCESS;
}

int
impl_Info_delete(MPI_Info info, const char *key)
{
	struct lmpi_info *i;
	struct lmpi_info_pair *p;
	int rc = get_with_key(info, key, &i);

	if (rc)
		return rc;
	p = lmpi_info_pair_of(i, key);
	if (p == NULL)
		return lmpi_error(MPI_ERR_INFO_NOKEY, "the info object has no key %s", key);
	free(p->key);
	free(p->value);
	memmove(p, p + 1, (size_t)(i->pairs + i->n - p - 1) * sizeof(*p));
	i->n--;
	return MPI_SUCCESS;
}

int
impl_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
	struct lmpi_info *i;
	const char *v;
	int rc = get_with_key(info, key, &i);

	if (rc)
		return rc;
	if (valuelen < 0)
		return lmpi_error(MPI_ERR_ARG, "valuelen is %d", valuelen);
	v = lmpi_info_value(i, key);
	*flag = v != NULL;
	if (v != NULL) /* valuelen does not count the terminating NUL */
		snprintf(value, (size_t)valuelen + 1, "%s", v);
	return MPI_SUCCESS;
}

int
impl_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
	struct lmpi_info *i;
	const char *v;
	int rc = get_with_key(info, key, &i);

	if (rc)
		return rc;
	v = lmpi_info_value(i, key);
	*flag = v != NULL;
	if (v != NULL) { /* buflen counts the NUL, here */
		if (*buflen > 0)
			snprintf(value, (size_t)*buflen, "%s", v);
		*buflen = (int)strlen(v) + 1;
	}
	return MPI_SUCCESS;
}

int
impl_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
	struct lmpi_info *i;
	const char *v;
	int rc = get_with_key(info, key, &i);

	if (rc)
		return rc;
	v = lmpi_info_value(i, key);
	*flag = v != NULL;
	if (v != NULL)
		*valuelen = (int)strlen(v);
	return MPI_SUCCESS;
}

int
impl_Info_get_nkeys(MPI_Info info, int *nkeys)
{
	struct lmpi_info *i;
	int rc = get_info(info, &i);

	if (rc == MPI_SUCCESS)
		*nkeys = i->n;
	return rc;
}

int
impl_Info_get_nthkey(MPI_Info info, int n, char *key)
{
	struct lmpi_info *i;
	int rc = get_info(info, &i);

	if (rc)
		return rc;
	if (n < 0 || n >= i->n)
		return lmpi_error(MPI_ERR_ARG, "n is %d, the info object has %d keys", n, i->n);
	snprintf(key, MPI_MAX_INFO_KEY, "%s", i->pairs[n].key);
	return MPI_SUCCESS;
}
