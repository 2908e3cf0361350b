/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/lanes.h - the engine's packets on Suci lanes: one packet is one block.
 *
 *     packet    header (struct lmpi_hdr; over relays an IMPI packet's), then the data
 *     block     the same bytes; the data is sent from where it is, and the packet is the lane's
 *		 until lmpi_lanes_done()
 *
 * Whose lanes, when they are opened, over which relays, and what time it is are the driver's:
 * its struct suci_lane_ops call the functions below with in_transport set, its struct
 * lmpi_transport are lmpi_lanes_send() and lmpi_lanes_try() with a lane and a time.
 *
 * Threads  those of the engine.
 * Errors   a block that makes no sense fails the job (e->fail) and is thrown away. */
#ifndef MPI_LANES_H
#define MPI_LANES_H

#include "mpi/engine.h"

#include "suci/lane.h"

/* Of struct lmpi_transport.caps. */
#define LMPI_LANES_DIRECT_CAPS	(LMPI_CAP_ASKS_OFF | LMPI_CAP_RECALLS)
#define LMPI_LANES_RELAYED_CAPS (LMPI_CAP_IMPI | LMPI_CAP_RECALLS)

/* Hand a packet to the lane.  0: out is the lane's, and may be done already; SUCI_ERR_NOMEM: not
 * now; else enum suci_err, and nothing has happened. */
int lmpi_lanes_send(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out,
		    struct suci_lanes *lanes, uint32_t lane, uint64_t now_ns);
/* Can such a packet go without keeping its data? */
bool lmpi_lanes_fits(const struct lmpi_engine *e, const struct lmpi_peer *peer,
		     const struct lmpi_hdr *h, uint64_t len);
/* Send one that fits, likewise. */
int lmpi_lanes_try(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
		   const void *data, uint64_t len, struct suci_lanes *lanes, uint32_t lane,
		   uint64_t now_ns);

/* suci_lane_ops.block_*: of a lane from peer. */
void *lmpi_lanes_begin(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t bytes,
		       const uint8_t *first, size_t first_len);
void lmpi_lanes_data(void *block, uint64_t offset, const uint8_t *data, size_t len);
void lmpi_lanes_end(struct lmpi_engine *e, void *block);
void lmpi_lanes_done(struct lmpi_engine *e, uint64_t cookie, bool ok);

#endif
