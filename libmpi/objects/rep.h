/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/rep.h - which representation a message has, and moving data into and
 * out of it with MPI's errors.
 *
 * A message has the representation of the client at its other end (struct
 * lmpi_client in engine.h): NATIVE between our own clients, what the peer switches
 * say with a foreign one.  The sender packs in it, the receiver decodes by the
 * datatype of its receive and the source of the message: nothing on the wire tells.
 *
 * For who sends bytes of a datatype outside MPI_Send and MPI_Recv (collectives):
 *
 *	n = count * type->rep[rep].size		bytes of the packed form
 *	lmpi_rep_pack(type, buf, count, rep, out)
 *	lmpi_rep_unpack(type, buf, count, rep, in, len)
 *
 * with rep = lmpi_rep_of(world rank of the peer), or lmpi_comm_rep().  Packed blocks
 * may be joined and cut at block boundaries without decoding them.
 *
 * In a job without foreign clients all of this is one test of lmpi_world.any_foreign.
 *
 * Threads  the lock is held. */
#ifndef LMPI_REP_H
#define LMPI_REP_H

#include "comm.h"
#include "engine.h"
#include "external32.h"

/* Of messages between this process and a process of MPI_COMM_WORLD. */
static inline enum lmpi_rep
lmpi_rep_of(uint32_t world)
{
	if (__builtin_expect(!lmpi_world.any_foreign, 1))
		return LMPI_REP_NATIVE;
	return lmpi_world.clients[lmpi_world.proc[world].client].rep;
}
/* Of messages with a rank as MPI calls name it (of the remote group of an
 * inter-communicator); NATIVE for MPI_PROC_NULL and MPI_ANY_SOURCE. */
static inline enum lmpi_rep
lmpi_comm_rep(const struct lmpi_comm *comm, int rank)
{
	if (__builtin_expect(!lmpi_world.any_foreign, 1) || rank < 0)
		return LMPI_REP_NATIVE;
	return lmpi_rep_of(lmpi_comm_world_rank(comm, rank));
}

/* A set of representations: bit 1 << rep. */
#define LMPI_REP_BIT(rep) (1u << (rep))
/* Those of the foreign clients that have members in the group; 0: none has. */
unsigned lmpi_group_reps(struct lmpi_group *group);

/* Pack count elements at buf into out, count * type->rep[rep].size bytes.
 * MPI_ERR_CONVERSION, with a text that names the value and what to do, if one does
 * not fit: then what is in out may not be sent. */
int lmpi_rep_pack_foreign(const struct lmpi_type *type, const void *buf, int64_t count,
			  enum lmpi_rep rep, void *out);
static inline int
lmpi_rep_pack(const struct lmpi_type *type, const void *buf, int64_t count, enum lmpi_rep rep,
	      void *out)
{
	if (__builtin_expect(rep != LMPI_REP_NATIVE, 0))
		return lmpi_rep_pack_foreign(type, buf, count, rep, out);
	lmpi_type_pack(type, buf, count, out, 0, count * type->size);
	return MPI_SUCCESS;
}
/* Unpack the first len bytes of the packed form: see lmpi_external32_unpack(), also
 * for working in place.  len <= count * type->rep[rep].size. */
static inline void
lmpi_rep_unpack(const struct lmpi_type *type, void *buf, int64_t count, enum lmpi_rep rep,
		const void *in, int64_t len)
{
	if (__builtin_expect(rep != LMPI_REP_NATIVE, 0))
		lmpi_external32_unpack(type, buf, count, rep, in, len);
	else
		lmpi_type_unpack(type, buf, count, in, 0, len);
}

/* The representation of MPI_Pack and MPI_Unpack on a communicator.  A packed buffer is
 * bytes to the transport, so it has to be what all foreign members understand: their
 * representation, if there are any (IMPI reference 2.2, inferred there).  An error code
 * if they want different bytes for this type. */
int lmpi_comm_pack_rep(const struct lmpi_comm *comm, const struct lmpi_type *type,
		       enum lmpi_rep *rep);

#endif
