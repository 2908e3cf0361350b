/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/impi_packet.h - struct lmpi_hdr <-> IMPI packet header, for peers that speak IMPI.
 *
 * Shape    128 bytes as IMPI reference 5 has them (impi/wire.h); payload follows.
 * Credit   asked for with lmpi_pkt_may_go(), used up with lmpi_pkt_gone(); what arrives is
 *	    counted by lmpi_arrive().
 * Errors   a text that says what is wrong with a packet. */
#ifndef MPI_IMPI_PACKET_H
#define MPI_IMPI_PACKET_H

#include "mpi/engine.h"

#include "impi/wire.h"

#define LMPI_PKT_BYTES 128

/* What h is in IMPI. */
enum impi_pk_type lmpi_pkt_type(const struct lmpi_hdr *h);
/* Is there credit for a packet with this header? */
bool lmpi_pkt_may_go(const struct lmpi_engine *e, const struct lmpi_peer *peer,
		     const struct lmpi_hdr *h);
/* It has gone. */
void lmpi_pkt_gone(struct lmpi_peer *peer, const struct lmpi_hdr *h);
void lmpi_pkt_encode(const struct lmpi_engine *e, const struct lmpi_peer *peer,
		     const struct lmpi_hdr *h, uint64_t len, uint8_t out[LMPI_PKT_BYTES]);
/* payload: bytes that follow it in its block.  NULL, or what is wrong. */
const char *lmpi_pkt_decode(const struct lmpi_engine *e, const struct lmpi_peer *peer,
			    const uint8_t in[LMPI_PKT_BYTES], uint64_t payload, struct lmpi_hdr *h);
/* Fail the job for a packet that lmpi_pkt_decode() does not take. */
void lmpi_pkt_fail(struct lmpi_engine *e, const struct lmpi_peer *peer,
		   const uint8_t in[LMPI_PKT_BYTES], const char *wrong);

#endif
