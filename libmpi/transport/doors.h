/* doors.h - doors of this process at a relay of its cluster: what the files about them share.
 *
 *   doors.c       the relay, own doors, doors of others, notes
 *   doors_talk.c  conversations of two roots over a pair of doors
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

#include "door/address.h"

#define DOOR_NONE UINT32_MAX

enum lmpi_door_state {
	LMPI_DOOR_FREE,
	LMPI_DOOR_WANTED, /* the relay is still to be asked for it */
	LMPI_DOOR_ASKED,
	LMPI_DOOR_HAVE,
	LMPI_DOOR_OVER, /* refused, or gone */
};

/* One of ours. */
struct lmpi_door {
	struct door_address at; /* what the relay says of it, once HAVE */
	uint32_t request;
	enum lmpi_door_state state;
};

/* One of another cluster. */
struct lmpi_import {
	struct door_address at;
	uint32_t request;
	uint32_t world; /* the process behind it; DOOR_NONE: a port */
	uint32_t label; /* what our relay calls it */
	uint16_t door;	/* ours that goes with it */
	uint16_t turn;
	enum lmpi_door_state state;
};

struct lmpi_doors {
	uint32_t path; /* DOOR_NONE: no relay carries doors for us now */
	bool up;
	bool shared; /* it is the path of this job, which others look after */
	struct suci_addr relay;
	char why[160]; /* why there is no relay */
	uint32_t mss;
	struct lmpi_door *door; /* [0]: of this process */
	uint32_t ndoors, serial;
	struct lmpi_import *import;
	uint32_t nimports, imports_max;
	bool says; /* some are WANTED, or letters wait */
	uint64_t due_ns;
	/* The relay's silence, while somebody listened. */
	uint64_t looked_ns, heard_ns, silent_ns;
};
extern struct lmpi_doors lmpi_doors;

/* Tell the relay; if it takes nothing now, a little later. */
void lmpi_doors_letter(uint8_t op, uint32_t label, uint32_t request);
/* The door behind an address, to be asked for with one of ours.  DOOR_NONE: no memory. */
uint32_t lmpi_import_new(const struct door_address *at, uint32_t door, uint32_t world);
/* A port's is not needed any more. */
void lmpi_import_drop(uint32_t import);
/* A lane over the relay between two doors; the salts are the caller's. */
void lmpi_doors_lane(uint32_t own, uint32_t label, struct suci_lane_conf *c);

/* --- doors_talk.c */
/* A first segment for one of our ports. */
enum suci_verdict lmpi_talk_came(uint32_t door, uint32_t label);
void lmpi_talk_gone(uint32_t label);
void lmpi_talk_lost(uint32_t import);
void lmpi_talks_turn(void);
/* The relay is gone, and all with it. */
void lmpi_talks_over(void);

#endif
