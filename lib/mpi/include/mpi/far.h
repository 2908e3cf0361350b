/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/far.h - how long a message may be that goes to a far process without asking.
 *
 * Asking costs a round trip.  Not asking costs a copy here, so that the program may go on, and
 * another there if the message comes before its receive.  In a cluster a fixed limit weighs the
 * two.  Over a long path a copy is nothing beside a round trip: there the limit is what is under
 * way to the peer anyway, rate times round trip, which is the window of congestion control.
 *
 * Memory   as before: the sender keeps at most LMPI_PEER_COPIES_MAX of copies for a peer (and
 *	    copied_bytes_max for all); beyond that the message waits where it is.  The receiver
 *	    keeps unexpected_bytes_max and what is under way when it says EAGER_OFF: at most
 *	    LMPI_PEER_COPIES_MAX from a peer.
 * Units    bytes, ns. */
#ifndef MPI_FAR_H
#define MPI_FAR_H

#include <stdint.h>

/* Copies kept for one peer: what a receiver that has asked us to ask first may still have to
 * take. */
#define LMPI_PEER_COPIES_MAX (1u << 20)
/* A shorter round trip costs less than copying long messages. */
#define LMPI_FAR_RTT_NS 1000000u

/* near: the limit in a cluster; rtt_ns: the shortest round trip that was seen, 0: none yet;
 * window: what congestion control lets be under way. */
static inline uint64_t
lmpi_far_eager(uint64_t near, uint64_t rtt_ns, uint64_t window)
{
	uint64_t far = window < LMPI_PEER_COPIES_MAX ? window : LMPI_PEER_COPIES_MAX;

	return rtt_ns >= LMPI_FAR_RTT_NS && far > near ? far : near;
}

#endif
