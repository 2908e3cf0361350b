/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp.h - messages between the processes of a parallel program, received while they compute.
 *
 * A process has a rank, 0 .. MP_size() - 1.  It sends messages of any length to ranks and
 * receives from them; no call but MP_wait, MP_waitall and MP_barrier is there to wait.  A long
 * message is cut into fragments of a length found by measuring, so that copying, the wire and the
 * receiver's copying overlap.
 *
 *      if (MP_init(NULL) < 0)
 *              errx(1, "%s", MP_error());
 *      mp_handle in = MP_receive(left, ghost, n);
 *      mp_handle out = MP_send(right, edge, n);
 *      compute_inside();
 *      MP_wait(in, NULL);
 *      MP_wait(out, NULL);
 *      MP_finalize();
 *
 * Engine     Fragments lie in an area of memory, reserved at start (LIBMMP_AREA bytes, 32 MiB; half
 *            of it for sending).  An engine places what comes: straight into the buffer of a
 *            receive that was posted before, else into the area, where it waits for one.
 *            LIBMMP_PROGRESS=thread: the engine is a thread of its own, so messages come and
 *            go while the program computes.  =inline: whoever calls MP_* takes the engine's
 *            turn.  Without it: thread, if the node has twice as many CPUs as processes.
 * Buffers    MP_send copies into the area: when it returns, buf may be used again.  If the area has
 *            no room at the moment, MP_send waits until earlier messages have left it; what
 *            comes is received meanwhile.  Of a message longer than half the area's send half
 *            (MP_KEPT says which) buf is the library's until MP_wait.  So programs that
 *            exchange more than the area holds post their receives before they send.
 *            The buffer of MP_receive is the library's until MP_wait.
 * Order      Messages of one rank to another match receives in the order of sending, as far as tag
 *            and rank fit.  A receive of MP_ANY takes what came first.
 * Memory     Never more than the area, plus at most 1024 short records per peer.  When the
 *            receiver's area is full, senders keep what they have: nothing is lost.
 * Errors     -1 and errno; MP_error() is a sentence that says what and where.
 *            ECONNRESET: a peer died or left.  Waits for it end with that, and every receive of
 *            MP_ANY that is posted then, or the next one if none is; whatever it sent whole
 *            before can still be received.
 *            EMSGSIZE: a message was longer than its receive; the rest of it is dropped.
 *            ENOBUFS: 16384 sends and receives have not been waited for.
 * Threads    One thread of the program calls MP_*.
 * fork       The library stays with the parent.
 * Limits     4096 ranks; messages of 0 .. 2^40 bytes; IPv4 or IPv6, all of a site the same one, to
 *            other sites IPv4; tags 0 .. 2^31 - 1.
 *
 * Source: MP_init, MP_send, MP_receive, MP_wait and MP_barrier are those of "MMP, a
 * message-passing library on the Maestro PC cluster"; what goes beyond is marked [+]. */
#ifndef MMP_H
#define MMP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MP_ANY (-1) /* as from: of any rank; as tag [+]: of any tag */
#define MP_KEPT                                                                           \
	((int64_t)1 << 62) /* [+] bit of a handle of MP_send: buf is in use until MP_wait \
			    */

/* Names a send or receive until it has been waited for; -1: an error. */
typedef int64_t mp_handle;

/* [+] What a receive got; of a send, to whom and how much. */
struct mp_status {
	int rank, tag;
	uint64_t bytes; /* of the message, also if the buffer was shorter */
	int error;	/* 0, ECONNRESET, EMSGSIZE */
};

/* Meet the other processes.  hosts NULL: the launcher (mpirun, srun: PMIx) says who they are; with
 * no launcher there is one process.  Else a file with a line "ADDRESS PORT" for each rank, in
 * order; LIBMMP_RANK is this process's line, from 0.  Processes of one address are on one node and
 * share memory.  In a job of several sites lines are "ADDRESS PORT SITE", or the launcher of each
 * site has LIBMMP_SITES and LIBMMP_SITE; LIBMMP_RELAY and LIBMMP_MEET say how they meet
 * (doc/mmp.md, Sites).  Returns when all have met, at most LIBMMP_START_S (30) seconds later.  0,
 * -1. */
int MP_init(const char *hosts);
int MP_rank(void), MP_size(void);
/* Everybody has called it, and what was sent has left.  0; -1: a peer died meanwhile, or it was
 * called without MP_init.  The library may not be used again. */
int MP_finalize(void);

/* Send n bytes to rank to (which may be this one).  See Buffers. */
mp_handle MP_send(int to, const void *buf, uint64_t n);
/* Receive at most n bytes of a message from that rank, or MP_ANY. */
mp_handle MP_receive(int from, void *buf, uint64_t n);
/* Until the send or receive is done.  Bytes received or sent, or -1.  status may be NULL.  The
 * handle is over, also after an error. */
int64_t MP_wait(mp_handle handle, struct mp_status *status);
/* Until all ranks have called it.  0, -1: one died. */
int MP_barrier(void);

/* [+] The same with a tag: a receive takes messages of that tag only, or of MP_ANY.
 * MP_send sends tag 0; MP_receive takes tag 0. */
mp_handle MP_send_tag(int to, int tag, const void *buf, uint64_t n);
mp_handle MP_receive_tag(int from, int tag, void *buf, uint64_t n);
/* [+] 1: done, and the handle is over, as after MP_wait; 0: not yet; -1: done with an error. */
int MP_test(mp_handle handle, struct mp_status *status);
/* [+] All of them; status NULL or n of them.  0, or -1 if one or more ended with an error. */
int MP_waitall(int n, const mp_handle *handle, struct mp_status *status);

/* [+] What is known of the way to a rank. */
struct mp_path {
	uint64_t fragment;   /* bytes of a full one */
	uint64_t run;	     /* bytes the driver hands the kernel in one go; 0 in a node */
	uint64_t area_bytes; /* halves of the area, each */
	uint64_t send_used, send_used_max; /* of the send half, now and at most, all peers */
	uint64_t recv_used, recv_used_max; /* of the receive half */
	uint64_t stalls;		   /* times a fragment waited for room with the peer */
	uint64_t straight, held; /* fragments placed in a posted buffer; kept in the area first */
	uint64_t sent_bytes, received_bytes; /* messages of and to this peer */
	uint64_t rtt_ns;		     /* smallest seen; 0 in a node */
	uint64_t own_bps, bare_bps; /* of the last MP_tune, bytes/s: with this fragment; and without
				     * copying into the area.  0: it was not called */
	int shared;		    /* 1: in this node, through shared memory */
	int up;
};
int MP_path(int peer, struct mp_path *path);
/* [+] Fragment length to that rank, 256 .. a quarter of the send half (clipped); 0: the default. */
int MP_set_fragment(int peer, uint64_t bytes);
/* [+] Find the fragment length that moves most, by measuring for at most so many seconds (5 .. 600;
 * 20 are enough, few prove less); over a network also the run of datagrams, one for all peers. Both
 * ranks call it, each with the other; nothing else may be under way between them.  The result is
 * used from then on, and kept in the store (doc/tuning.md), where later MP_inits find it.  0;
 * -1: also if the store could not be written; the result is in use then, too. */
int MP_tune(int peer, double seconds);
/* [+] To measure what copying costs: as MP_send, but sends what lies in the area by chance. */
mp_handle MP_send_bare(int to, uint64_t n);

/* [+] What the last call that failed has to say; "" if none has. */
const char *MP_error(void);

#ifdef __cplusplus
}
#endif
#endif
