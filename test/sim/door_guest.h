/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/door_guest.h - a process that stands on lanes and doors: its endpoint, and its paths to the
 * relays of its cluster, which are those of sim/doors.h.
 *
 * It is the first member of what is the user of its lanes and of its client of doors, so that
 * hold, release, say and wake can be theirs. */
#ifndef SIM_DOOR_GUEST_H
#define SIM_DOOR_GUEST_H

#include "doors.h"

#include "suci/lane.h"

struct door_guest {
	struct doors *d;
	uint32_t cluster, port, ipv4;
	uint32_t
		path[DOOR_CLIENT_SITES]; /* to each relay; DOORS_NONE: none, and it is not called */
	void *ep_mem, *lanes_mem;
	struct suci *ep;
	struct suci_lanes *lanes;
	uint64_t wake_ns, say_ns; /* say_ns: its client or its lanes have something to say */
};

/* The i-th of all clusters: its links.  deliver gets user. */
void door_guest_place(struct door_guest *g, struct doors *d, uint32_t i, sim_fn *deliver,
		      void *user);
/* A new life of it, whose user is g. */
void door_guest_start(struct door_guest *g, uint32_t life, uint32_t lanes,
		      const struct suci_lane_ops *ops);
/* After suci_fini(). */
void door_guest_end(struct door_guest *g);

/* Of which relay the path is; DOORS_NONE: of none. */
uint32_t door_guest_site(const struct door_guest *g, uint32_t path);
/* Such a path is up: payload of a segment that goes to other processes. */
uint32_t door_guest_mss(const struct door_guest *g, uint32_t path, const void *hello, size_t len);
/* Calls the relays whose turn it is. */
void door_guest_seek(struct door_guest *g, struct door_client *c);
void door_guest_send(struct door_guest *g);
/* It is woken when that time has come, unless it is told another one before. */
void door_guest_sleep(struct door_guest *g, uint64_t until_ns, sim_fn *wake, void *user);
bool door_guest_wakes(struct door_guest *g, uint64_t at);
void door_guest_take(struct door_guest *g, uint64_t buf);
/* Nobody is there: its node says so. */
void door_guest_bounce(const struct door_guest *g, uint64_t buf);

/* --- ops; user: g */
void door_guest_hold(void *user, uint64_t cookie);
void door_guest_release(void *user, uint64_t cookie);
int door_guest_refuse(void *user, const struct suci_addr *from, const void *hello, size_t len,
		      char why[SUCI_TEXT_MAX]);
bool door_guest_say(void *user, uint32_t site, const void *note, size_t len);
void door_guest_wake(void *user);

#endif
