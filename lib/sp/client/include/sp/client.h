/* SPDX-License-Identifier: BSD-2-Clause */
/* sp/client.h - what a process and the daemon of its node tell each other.
 *
 * mpispd starts each process with one end of a Unix socket (SOCK_SEQPACKET); the environment
 * variable MPISPD_FD has its number.  A datagram is a message:
 *
 *	process					daemon
 *	HELLO  I am in MPI_Init		  --->
 *					  <---	WELCOME	 cluster, unit, in_flight
 *					  <---	EPOCH	 who plays which role from now on
 *	CARD   where I am in that epoch	  --->
 *					  <---	CARD	 of each rank, as they come
 *	LEFT   MPI_Finalize is over	  --->
 *
 * Spare    EPOCH says in `mine` which role this process has; a spare has SP_CLIENT_NONE and waits
 *	    in MPI_Init for an EPOCH that gives it one.
 * Epochs   A new EPOCH ends the one before: nobody may act in that any more.  The process leaves
 *	    what it is in, closes what it has open to others, and sends its CARD for the new
 *	    epoch.  When it has the cards of all ranks of the epoch nobody of them is in an older
 *	    one.  A CARD may come before its EPOCH.
 * Roles    0 .. compute - 1 are the ranks of MPI_COMM_WORLD, those behind them I/O processes:
 *	    first those named by "in" of the configuration, then those by "out".  They never
 *	    change, but for SP_CLIENT_GONE: then MPI_COMM_WORLD has the others, in their order.
 * Stop     When a daemon may not act (no lease) it stops its processes (SIGSTOP).  END: all is
 *	    over.
 * Bytes    big-endian: u8 version, u8 type, u16 0, then as SP_CLIENT_TYPES says.
 * Errors   sp_client_read() refuses what is malformed; texts are cut at their room.
 * Limits   SP_CLIENT_MAX bytes a message, SP_CARD_MAX a card.
 * Threads  pure functions. */
#ifndef SP_CLIENT_H
#define SP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_CLIENT_ENV	    "MPISPD_FD"
#define SP_CLIENT_VERSION   1u
#define SP_CLIENT_MAX	    131072u
#define SP_CLIENT_NONE	    UINT32_MAX	     /* no role, no slot: SP_NONE of sp/view.h */
#define SP_CLIENT_GONE	    (UINT32_MAX - 1) /* of a role: the others go on without it */
#define SP_CLIENT_ROLES_MAX 4096u
#define SP_CARD_MAX	    256u
#define SP_NAME_MAX	    64u	 /* of clusters and units, with the NUL */
#define SP_TEXT_MAX	    512u /* with the NUL */
#define SP_ROLE_BYTES	    16u

/* X(id, number, what follows the head, who sends it) */
#define SP_CLIENT_TYPES(X)                                                              \
	X(HELLO, 1, "u32 pid", "process: it is in MPI_Init")                            \
	X(CARD, 2, "u64 epoch, u32 role, card", "both")                                 \
	X(LEFT, 3, "", "process: MPI_Finalize is over; its end is no death")            \
	X(ABORT, 4, "u32 status, text", "process: all of its cluster are to end")       \
	X(ALIVE, 5, "", "process: a sign of life, for detect.hang_s")                   \
	X(PATH, 6, "u32 slot", "process: it cannot reach that one")                     \
	X(WELCOME, 16, "u32 compute, u8 in_flight, u8 0, u16 0, u32 token, text, text", \
	  "daemon: name of the cluster, of the unit")                                   \
	X(EPOCH, 17,                                                                    \
	  "u64 epoch, u64 view, u32 mine, u32 n, n of {u32 slot, u32 takeovers, "       \
	  "u16 unit, u16 0, u32 IPv4}",                                                 \
	  "daemon: roles 0 .. n - 1")                                                   \
	X(END, 18, "u32 why (enum sp_why), text", "daemon: all is over, the process is to end")

enum sp_client_type {
#define X(id, number, shape, who) SP_CLIENT_##id = number,
	SP_CLIENT_TYPES(X)
#undef X
};

/* What becomes of messages under way when an epoch ends. */
#define SP_IN_FLIGHTS(X)                                                             \
	X(EPOCH, "epoch", "calls end with MPISP_ERR_AGAIN, the frame is done again") \
	X(ULFM, "ulfm", "calls end with MPIX_ERR_PROC_FAILED, the program decides")  \
	X(DROP, "drop", "what was under way is lost; the program need not know of epochs")
enum sp_in_flight {
#define X(id, name, what) SP_IN_FLIGHT_##id,
	SP_IN_FLIGHTS(X)
#undef X
		SP_IN_FLIGHT_COUNT
};
const char *sp_in_flight_name(unsigned mode);
/* SP_IN_FLIGHT_COUNT: there is none of that name. */
enum sp_in_flight sp_in_flight_of(const char *name);

struct sp_role {
	uint32_t slot;	    /* SP_CLIENT_NONE: nobody plays it now; SP_CLIENT_GONE: nor will */
	uint32_t takeovers; /* how often it was taken over */
	uint16_t unit;	    /* number of the node, in its cluster */
	uint32_t ip;	    /* of the node, IPv4 */
};

struct sp_client_msg {
	enum sp_client_type type;
	uint64_t epoch, view;
	uint32_t number;   /* pid, status, slot, why */
	uint32_t role;	   /* of a CARD; `mine` of an EPOCH */
	uint32_t compute;  /* WELCOME */
	uint32_t token;	   /* WELCOME: by which the daemon knows this process */
	uint8_t in_flight; /* WELCOME: enum sp_in_flight */
	uint32_t n;	   /* roles of an EPOCH, bytes of a CARD */
	const uint8_t *body;
	char text[SP_TEXT_MAX], unit[SP_NAME_MAX];
};

/* Into room for SP_CLIENT_MAX bytes; roles: of an EPOCH, m->n, else NULL.  Bytes written; 0: more
 * than fits. */
size_t sp_client_write(const struct sp_client_msg *m, const struct sp_role *roles, void *bytes);
/* m->body points into bytes.  false: malformed. */
bool sp_client_read(struct sp_client_msg *m, const void *bytes, size_t len);
/* Role i < m->n of an EPOCH. */
struct sp_role sp_client_role(const struct sp_client_msg *m, uint32_t i);

#endif
