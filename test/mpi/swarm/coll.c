/* SPDX-License-Identifier: BSD-2-Clause */
/* A step of collective operations: some at once, on any communicators. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 5 };

static unsigned char *
copy_of(const struct sw_buf *b)
{
	unsigned char *p = NULL;

	if (b->mem) {
		p = sw_alloc(b->bytes);
		memcpy(p, b->mem, b->bytes);
	}
	return p;
}

void
coll_keep(struct coll *o)
{
	o->out_was = copy_of(&o->out);
	o->in_was = copy_of(&o->in);
}

static void
check_coll(const struct coll *o)
{
	if (o->out.mem)
		sw_verify(&o->out, o->name);
	if (o->in.mem)
		sw_verify(&o->in, o->name);
}

static void
restore(struct coll *o)
{
	if (o->out.mem)
		memcpy(o->out.mem, o->out_was, o->out.bytes);
	if (o->in.mem)
		memcpy(o->in.mem, o->in_was, o->in.bytes);
}

/* All of them, in an order of this process's own. */
static void
complete(struct coll *all, int n, bool lasting)
{
	MPI_Request q[TOGETHER];
	int which[TOGETHER], k = 0, i, flag;

	for (i = 0; i < n; i++)
		if (coll_takes_part(&all[i]) && all[i].form != BLOCKING &&
		    (!lasting || all[i].form == LASTING))
			which[k++] = i;
	sw_shuffle(which, k, sw_own);
	for (i = 0; i < k; i++)
		q[i] = all[which[i]].q;
	switch (sw_own(3)) {
	case 0:
		MPI_Waitall(k, q, MPI_STATUSES_IGNORE);
		break;
	case 1:
		for (i = 0; i < k; i++)
			MPI_Wait(&q[i], MPI_STATUS_IGNORE);
		break;
	default:
		do {
			MPI_Testany(k, q, &i, &flag, MPI_STATUS_IGNORE);
		} while (!flag || i != MPI_UNDEFINED);
	}
	for (i = 0; i < n; i++)
		if (coll_takes_part(&all[i]) && (!lasting || all[i].form == LASTING))
			check_coll(&all[i]);
}

static void
start_lasting(struct coll *all, int n)
{
	for (int i = 0; i < n; i++)
		if (coll_takes_part(&all[i]) && all[i].form == LASTING)
			MPI_Start(&all[i].q);
}

static void
end_coll(struct coll *o)
{
	if (coll_takes_part(o) && o->form == LASTING)
		MPI_Request_free(&o->q);
	sw_buf_free(&o->out);
	sw_buf_free(&o->in);
	free(o->out_was);
	free(o->in_was);
	for (int i = 0; i < 4; i++) {
		if (o->layout[i])
			sw_layout_free(o->layout[i]);
		free(o->ints[i]);
	}
	free(o->types[0]);
	free(o->types[1]);
	if (o->own_type != MPI_DATATYPE_NULL)
		MPI_Type_free(&o->own_type);
}

void
sw_step_coll(void)
{
	struct coll all[TOGETHER];
	int n = (int)sw_few(TOGETHER);

	for (int i = 0; i < n; i++) {
		all[i] = (struct coll){.c = sw_any_comm(),
				       .form = sw_draw(NFORMS),
				       .q = MPI_REQUEST_NULL,
				       .own_type = MPI_DATATYPE_NULL};
		if (sw_one_in(3))
			coll_reduce(&all[i]);
		else
			coll_move(&all[i]);
		if (coll_takes_part(&all[i]) && all[i].form == LASTING)
			MPI_Start(&all[i].q);
	}
	complete(all, n, false);
	for (int i = 0; i < n; i++)
		if (all[i].form == LASTING)
			restore(&all[i]);
	start_lasting(all, n);
	complete(all, n, true);
	for (int i = 0; i < n; i++)
		end_coll(&all[i]);
}
