/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/packet.h - headers of the packets between processes of this library.
 *
 * Native packets (within a node, direct lanes) begin with struct lmpi_hdr:
 *
 *   EAGER            the whole message follows; with SYNC the receiver answers
 *                    MATCHED when a receive took it
 *   RTS              "I have msglen bytes"; the receiver answers, once matched,
 *                    CTS (send me so many, they go to drq) -> DATA packets,
 *                    or, having read them from my memory itself, FIN
 *   HELP             the receiver is reading the announced message and a sender that has
 *                    nothing else to do may write the rest
 *   EAGER_OFF / _ON  the receiver's memory for unexpected messages is (no
 *                    longer) used up: send RTS only
 *   CANCEL           take the message srq back; answered CANCELYES (it was not
 *                    matched and is gone) or CANCELNO
 *
 * Over relays and to foreign hosts the same steps are IMPI packets (mpi/impi_packet.h; IMPI
 * reference 5.3): EAGER = DATA or DATASYNC, the first packet of a long message = DATASYNC,
 * MATCHED and CTS = SYNCACK. */
#ifndef MPI_PACKET_H
#define MPI_PACKET_H

#include <stddef.h>
#include <stdint.h>

enum lmpi_type {
	LMPI_T_EAGER = 1,
	LMPI_T_RTS,
	LMPI_T_CTS,
	LMPI_T_DATA,
	LMPI_T_FIN,
	LMPI_T_MATCHED,
	LMPI_T_EAGER_OFF,
	LMPI_T_EAGER_ON,
	LMPI_T_PROTOACK, /* IMPI only */
	LMPI_T_CANCEL,
	LMPI_T_CANCELYES,
	LMPI_T_CANCELNO,
	LMPI_T_HELP, /* LMPI_CAP_MEMORY only */
	LMPI_T_MAX
};

#define LMPI_HDR_MAGIC 0x4d4c /* "LM" */
#define LMPI_HF_SYNC   0x01

/* In the byte order of the host: both ends run this library. */
struct lmpi_hdr {
	uint16_t magic;
	uint8_t type, flags;
	uint32_t src; /* world rank of the sending process */
	int32_t lsrank;
	int32_t tag;
	uint64_t cid;
	uint64_t msglen;   /* of the whole message; CTS: bytes wanted */
	uint64_t srq, drq; /* names of the send and of the receive */
	uint64_t offset;   /* DATA: of its first byte; RTS: address in the sender's memory */
	uint64_t reserved;
};
_Static_assert(sizeof(struct lmpi_hdr) == 64, "goes over the wire");
_Static_assert(offsetof(struct lmpi_hdr, cid) == 16 && offsetof(struct lmpi_hdr, offset) == 48,
	       "goes over the wire");

#endif
