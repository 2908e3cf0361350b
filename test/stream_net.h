/* SPDX-License-Identifier: BSD-2-Clause */
/* test/stream_net.h - streams of lib/mpi between engines, whose bytes are in memory.
 *
 * Any two processes have a connection at most, whoever begins it; bytes of it move when the test
 * says so, in pieces of any size, in order.  What a process does with its connections is what
 * libmpi/transport/streams.c does.
 *
 *     transport's send()	stream_net_send(); false: the packet goes the test's other way
 *     now and then		stream_net_step() for two processes
 *     one of them is lost	stream_net_cut(), before its engine hears of it
 *
 * Threads  one test at a time. */
#ifndef TEST_STREAM_NET_H
#define TEST_STREAM_NET_H

#include "mpi/stream.h"

#include "base/prng.h"

struct stream_net;

/* engine: [procs], which outlive it.  always: each DATA packet goes by a stream if there is one;
 * else those of a process that sends and receives at a time, as in libmpi. */
struct stream_net *stream_net_new(uint32_t procs, struct lmpi_engine *const *engine, uint64_t seed,
				  bool always);
void stream_net_free(struct stream_net *n);
bool stream_net_send(struct stream_net *n, struct lmpi_engine *e, struct lmpi_peer *peer,
		     struct lmpi_out *out);
/* Some bytes go from one process and some arrive at the other; false: there are none. */
bool stream_net_step(struct stream_net *n, uint32_t from, uint32_t to);
/* Is there anything for a step? */
bool stream_net_moves(const struct stream_net *n, uint32_t from, uint32_t to);
/* Nothing goes between them any more.  What has left is gone. */
void stream_net_cut(struct stream_net *n, uint32_t a, uint32_t b);

struct stream_net_counts {
	uint64_t packets, bytes; /* DATA packets and all bytes that went */
	uint64_t crossed;	 /* both had begun a connection */
};
struct stream_net_counts stream_net_counts(const struct stream_net *n);

#endif
