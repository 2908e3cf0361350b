/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes between languages (MPI-4.1 19.3.7): what C sets is a pointer, in Fortran the
 * integer of it; what Fortran sets is an integer, in C a pointer to it.  So integers of
 * Fortran are kept in cells, which are known by where they lie.
 *
 * A cell goes when its attribute does, if the key was made in Fortran; with a key of C's
 * nobody tells, and it stays. */
#include "fortran.h"

#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- cells ----------------------------------------------------------------------- */

struct cell {
	MPI_Aint value; /* INTEGERs as well: C reads an int here (little endian) */
	struct cell *next_free;
	bool used;
};
#define CELLS 128
struct cells {
	struct cells *next;
	struct cell cell[CELLS];
};
static struct cells *all;
static struct cell *free_cells;

static bool
more_cells(void)
{
	struct cells *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return false;
	c->next = all;
	all = c;
	for (int i = 0; i < CELLS; i++) {
		c->cell[i].next_free = free_cells;
		free_cells = &c->cell[i];
	}
	return true;
}

void *
f_cell_new(MPI_Aint value)
{
	struct cell *c = NULL;

	pthread_mutex_lock(&lock);
	if (free_cells || more_cells()) {
		c = free_cells;
		free_cells = c->next_free;
		*c = (struct cell){.value = value, .used = true};
	}
	pthread_mutex_unlock(&lock);
	return c;
}

/* The cell that this is, if it is one. */
static struct cell *
cell_at(const void *v)
{
	for (struct cells *c = all; c; c = c->next) {
		size_t at =
			(uintptr_t)v - (uintptr_t)c->cell; /* far more than there is, below them */

		if (at < sizeof(c->cell) && at % sizeof(struct cell) == 0)
			return c->cell[at / sizeof(struct cell)].used
				       ? &c->cell[at / sizeof(struct cell)]
				       : NULL;
	}
	return NULL;
}

MPI_Aint
f_cell_value(const void *v)
{
	struct cell *c;
	MPI_Aint value;

	pthread_mutex_lock(&lock);
	c = cell_at(v);
	value = c ? c->value : (MPI_Aint)v;
	pthread_mutex_unlock(&lock);
	return value;
}

void
f_cell_free(void *v)
{
	struct cell *c;

	pthread_mutex_lock(&lock);
	c = cell_at(v);
	if (c) {
		c->used = false;
		c->next_free = free_cells;
		free_cells = c;
	}
	pthread_mutex_unlock(&lock);
}

static bool
is_cell(const void *v)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = cell_at(v) != NULL;
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- callbacks of keys ---------------------------------------------------------- */

struct key {
	struct key *next;
	struct f_keyval k;
};
static struct key *keys;

static bool
attributes_same(const struct f_keyval *a, const struct f_keyval *b)
{
	return a->copy == b->copy && a->del == b->del && a->extra == b->extra && a->old == b->old;
}

void *
f_keyval_of(const struct f_keyval *k)
{
	struct key *key;

	pthread_mutex_lock(&lock);
	for (key = keys; key && !attributes_same(&key->k, k); key = key->next)
		;
	if (key == NULL && (key = malloc(sizeof(*key))) != NULL) {
		key->next = keys;
		key->k = *k;
		keys = key;
	}
	pthread_mutex_unlock(&lock);
	return key ? &key->k : NULL;
}

static int
copy_attributes(int object, int keyval, void *extra, void *in, void *out, int *flag)
{
	const struct f_keyval *k = extra;
	MPI_Aint state = k->extra, from = f_cell_value(in), to = 0;
	int ierror = MPI_SUCCESS;
	void *v;

	*flag = 0;
	if (k->old) {
		int state_old = (int)state, from_old = (int)from, to_old = 0;

		k->copy_old(&object, &keyval, &state_old, &from_old, &to_old, flag, &ierror);
		to = to_old;
	} else {
		k->copy(&object, &keyval, &state, &from, &to, flag, &ierror);
	}
	v = is_cell(in) && *flag ? f_cell_new(to) : (void *)to;
	if (v == NULL && is_cell(in) && *flag)
		return MPI_ERR_NO_MEM;
	*(void **)out = v;
	return ierror;
}

static int delete (int object, int keyval, void *value, void *extra)
{
	const struct f_keyval *k = extra;
	MPI_Aint state = k->extra, v = f_cell_value(value);
	int ierror = MPI_SUCCESS;

	if (k->old) {
		int state_old = (int)state, old = (int)v;

		k->del_old(&object, &keyval, &old, &state_old, &ierror);
	} else {
		k->del(&object, &keyval, &v, &state, &ierror);
	}
	if (!ierror)
		f_cell_free(value);
	return ierror;
}

int
f_comm_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	return copy_attributes(PMPI_Comm_toint(comm), keyval, extra, in, out, flag);
}

int
f_comm_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	return delete (PMPI_Comm_toint(comm), keyval, value, extra);
}

int
f_type_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
	return copy_attributes(PMPI_Type_toint(type), keyval, extra, in, out, flag);
}

int
f_type_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
	return delete (PMPI_Type_toint(type), keyval, value, extra);
}

int
f_win_copy(MPI_Win win, int keyval, void *extra, void *in, void *out, int *flag)
{
	return copy_attributes(PMPI_Win_toint(win), keyval, extra, in, out, flag);
}

int
f_win_delete(MPI_Win win, int keyval, void *value, void *extra)
{
	return delete (PMPI_Win_toint(win), keyval, value, extra);
}
