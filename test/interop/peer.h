/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.h - the MPI side of interoperation jobs: scripts of test/interop/scripts.py once
 * more, as MPI programs, for jobs between libmpi and a foreign client.  A script and its
 * namesake there are two halves of one test: same messages, tags, values, order.
 *
 *   peer.c        the program, small scripts
 *   peer_p2p.c    point to point
 *   peer_types.c  all basic datatypes
 *   peer_coll.c   collectives, communicators, attributes */
#ifndef INTEROP_PEER_H
#define INTEROP_PEER_H

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                             \
	do {                                                 \
		if (!(x))                                    \
			peer_failed(__FILE__, __LINE__, #x); \
	} while (0)

extern int peer_rank, peer_size;
/* NAME=VALUE of the command line.  datalen, hiwater and xsize are the job's. */
extern struct peer_args {
	int datalen, hiwater, xsize, messages, times;
	int world_only, always_no, long_ones;
	int client[32], nclients; /* procs of each client */
	char dir[256];
} peer_args;

_Noreturn void peer_failed(const char *file, int line, const char *what);
/* malloc that does not fail; room for n bytes, never NULL. */
void *peer_room(size_t n);
/* pattern() of scripts.py, malloc'd. */
unsigned char *peer_pattern(int n, int seed);
void peer_send(int n, int seed, int dest, int tag, int sync);
/* Exactly that message. */
void peer_recv(int n, int seed, int src, int tag);
void peer_check_bytes(const unsigned char *got, int n, int seed);
/* First and last rank talk; -1 at the others. */
int peer_other_end(void);
/* Of a world rank. */
int peer_client_of(int rank);
int peer_first_rank_of_client(int client);

/* peer_p2p.c */
void peer_pingpong(void);
void peer_sizes(void);
void peer_all_pairs(void);
void peer_saturate(void);
void peer_stalled_receiver(void);
void peer_reverse_answers(void);
void peer_overtaking(void);
void peer_probe(void);
void peer_cancel(void);
void peer_cancel_same_id(void);
void peer_cancel_receive(void);
void peer_last_minute(void);
void peer_late_rank(void);
void peer_endless(void);
/* peer_types.c */
void peer_types(void);
void peer_all_types(void);
/* peer_coll.c */
void peer_collectives(void);
void peer_profile(void);
void peer_barriers(void);
void peer_attributes(void);

#endif
