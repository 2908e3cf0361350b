/* SPDX-License-Identifier: BSD-2-Clause */
/* door/sites.h - the paths of a process to the relays that carry its doors: the sites of its client
 * of doors (door/client.h), which relay is called when, and what a relay is.
 *
 *     no path --door_sites_seek()--> called --its hello--> up --closed, silent--> no path
 *
 * A relay that cannot be called, or is gone, is called again when client->site[].retry_ns says so.
 * Who answers and is no relay is hung up on, and left alone.  When one relay is up the other one is
 * waited for DOOR_SITES_HURRY_NS, of which only time counts in which the owner had its turns; then
 * doors are opened without it.
 *
 * The owner has the endpoint.  It tells what becomes of paths that door_sites_at() knows, has
 * ops->say() of its client say door_sites_say(), and calls door_sites_seek() and
 * door_sites_turn() when the client wakes it, and at the times that they return.  Who has paths to
 * these relays anyway calls door_sites_enter() in place of door_sites_seek(), door_sites_up().
 *
 * Sans-I/O.  Memory  the owner's: the object.  Units  nanoseconds, bytes.
 * Threads  the client's owner.  Callbacks of Suci may call any function.
 * Limits   DOOR_CLIENT_SITES.  Errors  DOOR_CLIENT_NONE, enum suci_err. */
#ifndef DOOR_SITES_H
#define DOOR_SITES_H

#include "base/clock.h"
#include "door/client.h"
#include "relayproto/silence.h"
#include "suci/endpoint.h"
#include "suci/lane.h"

#define DOOR_SITES_HURRY_NS BASE_S_NS
#define DOOR_SITES_LOOK_NS  (100 * BASE_MS_NS) /* a turn each so many, until then */
#define DOOR_SITES_AGAIN_NS (100 * BASE_MS_NS) /* after a call for which there was no room */

struct door_site {
	struct suci_addr relay;
	uint32_t path; /* DOOR_CLIENT_NONE: none, and it is not called */
	uint32_t mss;  /* of segments over it; 0: it was never up */
	bool is_none;  /* who is there is no relay */
	struct relay_silence silence;
};

struct door_sites {
	struct door_client *client;
	struct suci *ep;
	bool *dirty;	/* set when there is something to send; or NULL */
	bool on_demand; /* a relay is called only if the client has something to say there */
	uint32_t n;
	struct door_site site[DOOR_CLIENT_SITES];
	/* Its own: for how long the other relay is still waited for, or never; the last turn. */
	uint64_t hurry_ns, turned_ns;
};

/* Relays as a person names them: one address with its port, or two of one family with a comma
 * between.  How many; 0: it is not that. */
uint32_t door_sites_parse(const char *text, struct suci_addr relay[DOOR_CLIENT_SITES]);

void door_sites_init(struct door_sites *s, struct door_client *client, struct suci *ep);
/* One more; the order is that of the sites. */
void door_sites_add(struct door_sites *s, const struct suci_addr *relay);

/* The site of that path; NONE. */
uint32_t door_sites_at(const struct door_sites *s, uint32_t path);
/* The site of the relay at that address; NONE. */
uint32_t door_sites_of(const struct door_sites *s, const struct suci_addr *relay);
/* No relay is there, and none is called. */
bool door_sites_alone(const struct door_sites *s);
/* Of segments that fit whatever relay they may go by. */
uint32_t door_sites_mss(const struct door_sites *s, uint32_t site);
/* A lane between two doors by that relay, whose labels these are there; the rest is zero. */
struct suci_lane_conf door_sites_lane(const struct door_sites *s, uint32_t site, uint32_t own,
				      uint32_t label);
/* All hang up: the process leaves. */
void door_sites_close(const struct door_sites *s, const char *text, uint64_t now_ns);

/* Call it, whatever the time. */
int door_sites_call(struct door_sites *s, uint32_t site, uint64_t now_ns);
/* Call those whose time it is.  The next time; never, if none waits for it. */
uint64_t door_sites_seek(struct door_sites *s, uint64_t now_ns);

/* The other end of the path said that hello.  false: it is no relay, and the path is closed. */
bool door_sites_up(struct door_sites *s, uint32_t path, const void *hello, size_t len,
		   uint64_t now_ns);
/* That is its path; mtu is what its trunks take. */
void door_sites_enter(struct door_sites *s, uint32_t site, uint32_t path, uint32_t mtu,
		      uint64_t now_ns);
/* Its path is gone; again: as in door_client_down(). */
void door_sites_down(struct door_sites *s, uint32_t site, bool again, uint64_t now_ns);

bool door_sites_say(struct door_sites *s, uint32_t site, const void *note, size_t len,
		    uint64_t now_ns);
/* Time has passed in which the owner listened: relays that are silent for so long count as gone. */
void door_sites_listen(struct door_sites *s, uint64_t gap_ns, uint64_t limit_ns, uint64_t now_ns);
/* What is to be done when it is time, and said.  The next time; never, if nothing waits for it. */
uint64_t door_sites_turn(struct door_sites *s, uint64_t now_ns);

#endif
