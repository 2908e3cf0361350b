/* SPDX-License-Identifier: BSD-2-Clause */
/* coll/impi.h - the collectives of IMPI 0.0 between clients: profile "impi-0.0".
 *
 * Where several MPI implementations share a communicator, each runs its own code
 * for its side, so the messages between processes of different clients are fixed:
 * per ordered pair of processes the same sequence of (tag, content) on both sides
 * (IMPI reference 7).  The profile is a set of schedules, each registered as the
 * algorithm COLL_IMPI of its operation:
 *
 *	coll_build(&schedule, &args, COLL_IMPI, arena, len)
 *
 * with args.cluster_of naming the clients (at least two, else COLL_ERR_RESTRICT),
 * args.vector for the v forms, and args.wire_bytes, .xsize, .maxlinear.  coll_select()
 * never picks it: it is not chosen for speed.
 *
 * A step between clients has its tag in coll_step.tag.  tag 0 marks a message inside
 * one client: the standard leaves the local phases to us, and they must run under a
 * tag of the executor's own choice that is none of those below.
 *
 * Zero-byte messages are steps like others and have to be sent.
 *
 * A step's range always is a whole number of elements of the datatype of its buffer
 * (of a whole number of blocks): the executor may convert it on its own, whatever
 * representation the peer wants.  Schedules count packed native bytes throughout.
 *
 * What is certain: Barrier, Bcast, Reduce, Allreduce (reference 7.3-7.6; masters 7.2).
 * Everything marked [R] is this project's reconstruction (reference 7.7), unproven
 * against another implementation: should the final text be found, impi_reconstructed.c
 * is the only file to correct.
 *
 * [R] XSIZE compares with one process's block in strict external32 (MPI_LONG 4 bytes),
 *     whatever representation any two clients really use, so that all callers take the
 *     same branch: args.wire_bytes.
 * [R] Gather, short form in a tree: blocks travel in ascending virtual master number,
 *     counted from the root's client.
 * MAXLINEAR: n masters <= maxlinear is linear, more is a tree (reference 3.5.1).
 *
 * Source   IMPI reference 6 and 7. */
#ifndef COLL_IMPI_H
#define COLL_IMPI_H

#include "coll/schedule.h"

#define COLL_IMPI "impi-0.0"

/* Tags on the collective context (c + 1), reference 7.1. */
enum coll_impi_tag {
	COLL_IMPI_BARRIER = 110,
	COLL_IMPI_BCAST = 120,
	COLL_IMPI_GATHER = 130,
	COLL_IMPI_GATHERV = 140,
	COLL_IMPI_SCATTER = 150,
	COLL_IMPI_SCATTERV = 160,
	COLL_IMPI_ALLTOALL = 170,
	COLL_IMPI_ALLTOALLV = 180,
	COLL_IMPI_REDUCE = 190, /* on c towards peers that do as LAM/MPI: reference 9.1.3 */
	COLL_IMPI_SCAN = 200,
	/* not used: we offer no inter-communicators, and freeing sends nothing [R] */
	COLL_IMPI_COMM_DUP = 210,
	COLL_IMPI_INTERCOMM_MERGE = 220,
	COLL_IMPI_COMM_FREE = 230
};

/* Defaults of the labels IMPI_C_COLL_XSIZE and IMPI_C_COLL_MAXLINEAR. */
#define COLL_IMPI_XSIZE	    1024
#define COLL_IMPI_MAXLINEAR 4

#endif
