/* SPDX-License-Identifier: BSD-2-Clause */
/* doors.h - doors of this process at a relay of its cluster: what the files about them share.
 *
 *   doors.c       the path to the relay; what the client of doors (door/client.h) wants, and tells
 *   doors_talk.c  lines of conversations (meet/lines.h) over a pair of doors
 * What others ask of them is engine/others.h.
 *
 * A job that relays connect to other clusters uses the paths that it has to two of them; any other
 * opens paths of its own to the one or two relays of LIBMPI_RELAY.  Messages to a process of
 * another job go from the one door of this process to the one of that process, by ways that outlive
 * a relay (meet/ways.h).  A conversation has a door for itself, so no two have the same pair of
 * labels; it outlives a relay as well.
 *
 * Without any relay for LIBMPI_PARTITION_TIMEOUT_S all doors and ways are lost; the next one who
 * wants some asks again.
 *
 * Threads  the lock is held. */
#ifndef LMPI_DOORS_H
#define LMPI_DOORS_H

#include "net_internal.h"

#include "door/sites.h"
#include "meet/ways.h"

#define DOOR_NONE DOOR_CLIENT_NONE

struct lmpi_doors {
	bool on;     /* relays are asked */
	bool shared; /* by the paths of this job, which others look after */
	struct door_sites sites;
	char why[160];		   /* what became of the relay that was lost last */
	struct door_client client; /* whose: a way; DOOR_NONE: of a line */
	struct meet_ways ways;	   /* whose: the process */
	uint64_t due_ns, looked_ns;
	uint64_t seek_ns;  /* then doors of ports are asked for again */
	uint64_t alone_ns; /* so long no relay was up */
};
extern struct lmpi_doors lmpi_doors;

/* A door that this process HAS, for whatever; waits for the relay. */
int lmpi_doors_await(uint32_t *door, char why[LMPI_WHY]);
/* The client of doors has room for one more import.  false: no memory. */
bool lmpi_imports_room(void);
/* A lane over the relay of that site between two doors; the salts are the caller's. */
void lmpi_doors_lane(uint32_t site, uint32_t own, uint32_t label, struct suci_lane_conf *c);

/* --- doors_talk.c */
/* There is a client of doors. */
void lmpi_talks_begin(void);
/* A first segment for one of our ports. */
enum suci_verdict lmpi_talk_came(uint32_t site, uint32_t door, uint32_t label);
void lmpi_talk_gone(uint32_t site, uint32_t label);
void lmpi_talk_reached(uint32_t import);
void lmpi_talk_lost(uint32_t import, enum door_client_lost why);
void lmpi_talks_close(uint32_t door);
/* When the next one is due. */
uint64_t lmpi_talks_turn(void);
/* The relay of that site is gone; for good: nobody waits for one any more. */
void lmpi_talks_over(uint32_t site, bool for_good);

#endif
