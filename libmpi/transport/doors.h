/* SPDX-License-Identifier: BSD-2-Clause */
/* doors.h - doors of this process at a relay of its cluster: what the files about them share.
 *
 *   doors.c       the path to the relay; what the client of doors (door/client.h) wants, and tells
 *   doors_talk.c  lines of conversations (meet/lines.h) over a pair of doors
 * What others ask of them is engine/others.h.
 *
 * A job that relays connect to other clusters uses the path that it has to one of them; any other
 * opens a path of its own to the relay of LIBMPI_RELAY.  Messages to a process of another job go
 * from the one door of this process to the one of that process.  A conversation has a door for
 * itself, so no two have the same pair of labels.
 *
 * Threads  the lock is held. */
#ifndef LMPI_DOORS_H
#define LMPI_DOORS_H

#include "net_private.h"

#include "door/client.h"

#define DOOR_NONE DOOR_CLIENT_NONE

struct lmpi_doors {
	uint32_t path; /* DOOR_NONE: no relay carries doors for us now */
	bool shared;   /* it is the path of this job, which others look after */
	struct suci_addr relay;
	char why[160]; /* why there is no relay */
	uint32_t mss;
	uint32_t mine;		   /* the door of this process */
	struct door_client client; /* whose: the process behind an import; DOOR_NONE: a port */
	uint64_t due_ns;
	/* The relay's silence, while somebody listened. */
	uint64_t looked_ns, heard_ns, silent_ns;
};
extern struct lmpi_doors lmpi_doors;

/* The door behind an address, to be asked for with one of ours.  DOOR_NONE: no memory. */
uint32_t lmpi_import_new(const struct door_address *at, uint32_t door, uint32_t world);
/* A lane over the relay between two doors; the salts are the caller's. */
void lmpi_doors_lane(uint32_t own, uint32_t label, struct suci_lane_conf *c);

/* --- doors_talk.c */
/* There is a client of doors. */
void lmpi_talks_begin(void);
/* A first segment for one of our ports. */
enum suci_verdict lmpi_talk_came(uint32_t door, uint32_t label);
void lmpi_talk_gone(uint32_t label);
void lmpi_talk_lost(uint32_t import, bool refused);
void lmpi_talks_close(uint32_t door);
/* When the next one is due. */
uint64_t lmpi_talks_turn(void);
/* The relay is gone, and all with it. */
void lmpi_talks_over(void);

#endif
