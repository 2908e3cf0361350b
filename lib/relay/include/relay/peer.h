/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/peer.h - frames of the channel between the relays of one cluster.
 *
 *     u32 length of the rest | u8 type | body          (big-endian, TCP)
 *     1 JOB     table (relay/job.h)
 *     2 OK      u32 job                   the table is installed
 *     3 REFUSE  u32 job | u16 len | text  it is not, and why
 *     4 END     u32 job | u16 len | text  over; empty text = finished normally
 *     5 PING    6 PONG
 *     7 GIVE    (no body)                send me the tables of the jobs you have
 *     8 WAYS    u32 job | u32 ways       clients that the sender can reach, a bit each
 *
 * `job` is the job's label base, which is unique in the cluster and not 0.  A REFUSE of job 0 says
 * the sender's version as its text: relays from before that ignore what is of no job they have.
 * PING goes out every RELAY_PEER_PING_NS; RELAY_PEER_DEAD_NS of silence is a dead peer: jobs
 * without foreign hosts go on over the others (doc/job-setup.md, Several relays in one cluster). */
#ifndef RELAY_PEER_H
#define RELAY_PEER_H

#include "relay/job.h"
#include "relayproto/note.h"

#define RELAY_PEER_PING_NS   1000000000ull
#define RELAY_PEER_DEAD_NS   3000000000ull
#define RELAY_PEER_FRAME_MAX (64u << 20)
#define RELAY_PEER_HEAD	     5
#define RELAY_PEER_PURPOSE   "relayd peer" /* of the sealed stream the frames go over */

#define RELAY_PEER_NO_JOB 0u

enum relay_peer_type {
	RELAY_PEER_JOB = 1,
	RELAY_PEER_OK = 2,
	RELAY_PEER_REFUSE = 3,
	RELAY_PEER_END = 4,
	RELAY_PEER_PING = 5,
	RELAY_PEER_PONG = 6,
	RELAY_PEER_GIVE = 7,
	RELAY_PEER_WAYS = 8,
};

struct relay_peer_frame {
	uint8_t type;		  /* enum relay_peer_type */
	uint32_t job;		  /* OK, REFUSE, END, WAYS */
	uint32_t ways;		  /* WAYS */
	char text[RELAY_WHY_MAX]; /* REFUSE, END */
	const uint8_t *body;	  /* JOB: give it to relay_job_decode() */
	size_t body_len;
};

/* The first frame in in[0..len).  Returns the bytes it takes (> 0), SHORT (*need,
 * if not NULL, says how many bytes the frame has, 0 if not yet known), or
 * MALFORMED: close the channel. */
long relay_peer_decode(const void *in, size_t len, struct relay_peer_frame *f, size_t *need);
/* Write a frame other than JOB; returns its length (<= RELAY_PEER_SMALL_MAX). */
#define RELAY_PEER_SMALL_MAX (RELAY_PEER_HEAD + 4 + 2 + RELAY_WHY_MAX)
size_t relay_peer_encode(const struct relay_peer_frame *f, uint8_t out[RELAY_PEER_SMALL_MAX]);
/* Write a JOB frame: its length, or 0 if room is too small. */
size_t relay_peer_job_len(const struct relay_job *job);
size_t relay_peer_encode_job(const struct relay_job *job, void *out, size_t room);

#endif
