/* SPDX-License-Identifier: BSD-2-Clause */
/* test/mpi/swarm/coll.h - a collective operation under way: what it was given, what is to come of
 * it. */
#ifndef SWARM_COLL_H
#define SWARM_COLL_H

#include "swarm.h"

enum coll_form { BLOCKING, NONBLOCKING, LASTING, NFORMS };

struct coll {
	const struct sw_comm *c;
	const char *name;
	enum coll_form form;
	MPI_Request q;
	/* Of this process, if it takes part; a buffer that has no memory is not there. */
	struct sw_buf out, in;
	unsigned char *out_was, *in_was; /* what is in them before */
	struct sw_layout *layout[4];	 /* to free, as is the rest */
	int *ints[4];
	MPI_Datatype *types[2];
	MPI_Datatype own_type; /* MPI_DATATYPE_NULL: none */
};

/* MPI_Bcast(...), MPI_Ibcast(..., &q) or MPI_Bcast_init(..., MPI_INFO_NULL, &q). */
#define COLL_CALL(o, Name, name, ...)                                           \
	do {                                                                    \
		if ((o)->form == BLOCKING)                                      \
			MPI_##Name(__VA_ARGS__);                                \
		else if ((o)->form == NONBLOCKING)                              \
			MPI_I##name(__VA_ARGS__, &(o)->q);                      \
		else                                                            \
			MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &(o)->q); \
	} while (0)

/* Before its call, when buffers are filled: for another round of one that lasts. */
void coll_keep(struct coll *o);
static inline bool
coll_takes_part(const struct coll *o)
{
	return o->c->me >= 0;
}
/* The processes that this one hears, and how many these are. */
static inline int
coll_senders(const struct sw_comm *c, int side)
{
	return c->n[c->inter ? !side : side];
}

/* Draw, fill and call one on o->c. */
void coll_move(struct coll *o);	  /* moves data */
void coll_reduce(struct coll *o); /* computes */

#endif
