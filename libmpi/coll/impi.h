/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/impi.h - collectives with foreign MPIs: when the profile impi-0.0 runs,
 * and what its messages look like.
 *
 * When: on a communicator with processes of a foreign client (comm->foreign >= 0) every
 * collective call follows the profile, whose messages lib/collectives writes down
 * (coll/impi.h): with it all clients agree on who sends what to whom.  Calls for which
 * IMPI 0.0 has no form - MPI_Exscan, MPI_Alltoallw, MPI_Reduce_scatter_block, everything
 * non-blocking or persistent - return MPI_ERR_UNSUPPORTED_OPERATION there; a
 * communicator of our own processes only (MPI_Comm_split with IMPI_CLIENT_COLOR, or
 * MPI_Comm_create_group) has them all.
 * Between our own clients the private algorithms run, unless
 *
 *	LIBMPI_COLL_PROFILE=impi-0.0	in the environment of every process of the job
 *
 * forces the profile on communicators that span clients; what IMPI 0.0 has no form for
 * stays private then.
 *
 * Context and tag of a message: between clients on the collective context c + 1 with the
 * tag of the profile; messages of a Reduce (tag 190, so those of MPI_Allreduce and
 * MPI_Reduce_scatter, too) on the point-to-point context c if the client at the other end
 * is said to want that (reduce-on-pt2pt-context: LAM/MPI).  Inside a client on c + 1 with
 * a tag from LMPI_COLL_TAG_FIRST on.
 *
 * Representation of a message, the rule: it is the one of the pair of processes, native
 * if both are ours, else the foreign one's (lmpi_rep_of()).  In memory everything is
 * packed and native, at every process and every stage; conversion happens at the edge,
 * once for each message.  So who hands on (a master, an inner node of a tree) needs no
 * rule of its own: it decodes what comes in by the pair it came over and encodes by the
 * pair it goes out over, in one communicator possibly different ones.  The datatype
 * to convert with is known everywhere: a range in the send or receive buffer has the
 * datatype of that argument, and in scratch space lie blocks of the same type signature,
 * because MPI demands the same signature of all processes for them.
 * A value that does not fit the representation is not sent: the call returns
 * MPI_ERR_CONVERSION, and the other side waits.  A message from a foreign process that
 * has another length than its place is an error, too: most likely the switches do not
 * say what the peer does.
 *
 * Threads  the lock is held. */
#ifndef LMPI_COLL_IMPI_H
#define LMPI_COLL_IMPI_H

#include "coll.h"
#include "rep.h"

/* Decide for a call that is filled in; sets c->algorithm and the profile's arguments. */
int lmpi_impi_choose(struct lmpi_coll *c, enum lmpi_coll_how how);
/* MPI_ERR_UNSUPPORTED_OPERATION, naming the call under way and the client, if the
 * communicator has foreign members. */
int lmpi_impi_refuse(const struct lmpi_comm *comm);
/* The same if the group has. */
int lmpi_impi_refuse_group(const struct lmpi_group *group);

/* A message between clients under way. */
struct lmpi_wire {
	void *copy;	/* to be freed when the message is done, or NULL */
	void *at;	/* the bytes to send, or room to receive */
	uint64_t bytes; /* of them */
	uint64_t cid;
	int tag;
};
/* Describe the message of a step whose native packed bytes lie at `memory`, and encode
 * it if it is sent.  An error code: nothing is to be sent. */
int lmpi_impi_wire(struct lmpi_coll *c, const struct coll_step *step, void *memory,
		   struct lmpi_wire *w);
/* After receiving `bytes` from a foreign process: decode to `memory`. */
int lmpi_impi_received(struct lmpi_coll *c, const struct coll_step *step, void *memory,
		       const struct lmpi_wire *w, uint64_t bytes);

#endif
