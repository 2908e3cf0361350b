/* SPDX-License-Identifier: BSD-2-Clause */
#include "object.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Objects are carved from slabs, so that a burst of them costs one malloc. */
#define SLAB_OBJECTS 32
#define OBJECT_ALIGN 16

static size_t
stride_of(const struct lmpi_pool *pool)
{
	return (pool->size + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
}

static struct lmpi_obj *
object_header(const struct lmpi_pool *pool, void *object)
{
	return (struct lmpi_obj *)(void *)((char *)object + pool->offset);
}

static bool
grow_object(struct lmpi_pool *pool)
{
	size_t stride = stride_of(pool);
	char *slab = calloc(SLAB_OBJECTS, stride);

	if (slab == NULL)
		return false;
	for (size_t i = SLAB_OBJECTS; i-- > 0;) {
		struct lmpi_obj *obj = object_header(pool, slab + i * stride);

		obj->next_free = pool->free;
		pool->free = obj;
	}
	return true;
}

void *
lmpi_object_new(struct lmpi_pool *pool)
{
	struct lmpi_obj *obj;
	void *object;

	if (pool->free == NULL && !grow_object(pool))
		return NULL;
	obj = pool->free;
	pool->free = obj->next_free;
	object = (char *)obj - pool->offset;
	memset(object, 0, pool->size);
	obj->magic = pool->magic;
	obj->refs = 1;
	pool->live++;
	return object;
}

void
lmpi_object_delete(struct lmpi_pool *pool, void *object)
{
	struct lmpi_obj *obj = object_header(pool, object);

	if (obj->number != 0)
		pool->numbered[obj->number - LMPI_PREDEFINED_MAX - 1] = NULL;
	obj->magic = 0;
	obj->number = 0;
	obj->next_free = pool->free;
	pool->free = obj;
	pool->live--;
}

int
lmpi_object_number(struct lmpi_pool *pool, void *object)
{
	struct lmpi_obj *obj = object_header(pool, object);
	int i;

	if (obj->number != 0)
		return obj->number;
	for (i = 0; i < pool->numbered_max; i++)
		if (pool->numbered[i] == NULL)
			break;
	if (i == pool->numbered_max) {
		int more = pool->numbered_max == 0 ? 64 : pool->numbered_max * 2;
		void **wider;

		if (more > INT_MAX / 2)
			return -1;
		wider = realloc(pool->numbered, (size_t)more * sizeof(void *));
		if (wider == NULL)
			return -1;
		memset(wider + pool->numbered_max, 0,
		       (size_t)(more - pool->numbered_max) * sizeof(void *));
		pool->numbered = wider;
		pool->numbered_max = more;
	}
	pool->numbered[i] = object;
	obj->number = i + LMPI_PREDEFINED_MAX + 1;
	return obj->number;
}

void *
lmpi_object_numbered(const struct lmpi_pool *pool, int number)
{
	int i = number - LMPI_PREDEFINED_MAX - 1;

	return i >= 0 && i < pool->numbered_max ? pool->numbered[i] : NULL;
}
