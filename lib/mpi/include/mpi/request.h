/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/request.h - sends and receives as who posts them sees them.
 *
 * A request is the caller's memory, usually the first member of something larger.  It is filled
 * in by the call that posts it (mpi/engine.h) and belongs to the engine until done.
 *
 * Errors   MPI error classes as plain ints (0 = MPI_SUCCESS), never handles.
 * Source   MPI 4.1, chapter 3. */
#ifndef MPI_REQUEST_H
#define MPI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMPI_ANY_SOURCE (-1) /* = MPI_ANY_SOURCE */
#define LMPI_ANY_TAG	(-2) /* = MPI_ANY_TAG */

/* MPI error classes (libmpi/abi has them all; these are what the engine says). */
enum {
	LMPI_OK = 0,
	LMPI_ERR_TRUNCATE = 15,
	LMPI_ERR_OTHER = 16,
	LMPI_ERR_INTERN = 17,
	LMPI_ERR_NO_MEM = 39,
	LMPI_ERR_RMA_RANGE = 48,
	/* libmpi's own, beyond those of the ABI: MPIX_ERR_* of mpi-ext.h. */
	LMPI_ERR_PROC_FAILED = 0x3f01,
	LMPI_ERR_PROC_FAILED_PENDING,
	LMPI_ERR_REVOKED,
	LMPI_ERR_AGAIN /* MPISP_ERR_AGAIN: the epoch is over (libmpi/engine/epoch.h) */
};

struct lmpi_req;
/* A send or receive in progress; embedded first in the surface's request. */
struct lmpi_req {
	struct lmpi_req *next, *prev; /* engine's queues */
	/* Called once, from progress or from the posting call, when done has just
	 * become true.  May be NULL.  May post further sends and receives. */
	void (*on_done)(struct lmpi_req *req);
	volatile bool done;
	bool cancelled;
	uint8_t kind; /* engine private: enum lmpi_kind */
	uint8_t mode; /* enum lmpi_mode */
	int error;    /* MPI error class; MPI_ERR_TRUNCATE with bytes = sent length kept */
	int source;   /* receive: rank of the source in the communicator */
	int tag;
	uint64_t bytes; /* receive: bytes of the message (not more than capacity) */
	/* engine private */
	uint64_t cid;
	void *buf;
	uint64_t cap;
	uint64_t placed;
	uint32_t peer;	 /* world rank */
	uint64_t srq;	 /* send: its name while the receiver is to say that it matched, 0 else */
	uint8_t answers; /* send: enum impi_send_state (impi/message.h), native packets too */
	bool pending;	 /* mpi/lost.h: see lmpi_is_pending() */
	bool both;	 /* send that was announced: a receive was open then, or one was coming */
	uint64_t number; /* receive: in the order of posting; send: its number in a cancel, or 0 */
};

/* ON_RECEIPT: done when the other side has all of it, not when a copy of it is kept, unless it is
 * shorter than LMPI_ON_RECEIPT_BYTES.  CANCELLABLE: as STANDARD, but a cancel may be asked for when
 * it is done (req zeroed before). */
enum lmpi_mode { LMPI_STANDARD, LMPI_SYNC, LMPI_READY, LMPI_ON_RECEIPT, LMPI_CANCELLABLE };
#define LMPI_ON_RECEIPT_BYTES 16384

/* A message found by probing.  take: it is removed from matching and must be
 * given to a matched receive (MPI_Mprobe). */
struct lmpi_probed {
	int source, tag;
	uint64_t bytes;
	void *message; /* with take */
};

/* Messages of the library to itself: what is sent on this context id meets no receive but
 * goes, whole and in sending order, to a handler, inside any call that makes progress.  All
 * ids are above those of communicators.  The second is for bulk data that such
 * messages announce: ordinary matching, source = world rank. */
#define LMPI_CID_FT	 UINT64_C(18446744073709551601) /* likewise, to ft_handler */
#define LMPI_CID_SERVICE UINT64_C(18446744073709551602)
#define LMPI_CID_BULK	 UINT64_C(18446744073709551603)
#define LMPI_CID_PART	 UINT64_C(18446744073709551604) /* partitions, likewise */
/* What one process may have of them begun and not handled, each LMPI_SERVICE_ENTRY and its bytes,
 * of which at most LMPI_SERVICE_ENTRY_MAX count; and the longest of them. */
#define LMPI_SERVICE_ENTRY     UINT64_C(384)
#define LMPI_SERVICE_ENTRY_MAX (UINT64_C(16) << 20)
#define LMPI_SERVICE_ROOM      (5 * LMPI_SERVICE_ENTRY_MAX)
#define LMPI_SERVICE_MAX       ((UINT64_C(256) << 20) + 16384)
/* data is valid during the call, which may send and receive but not wait. */
typedef void lmpi_service_fn(uint32_t from_world, const void *data, uint64_t len);

#endif
