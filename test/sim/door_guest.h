/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/door_guest.h - a process that stands on lanes and doors: its endpoint, and its paths to the
 * relays of its cluster, which are those of sim/doors.h.
 *
 * It is the first member of what is the user of its lanes and of its client of doors, so that
 * hold, release, say and wake can be theirs. */
#ifndef SIM_DOOR_GUEST_H
#define SIM_DOOR_GUEST_H

#include "sim.h"

#include "door/sites.h"
#include "suci/lane.h"

struct doors;
struct doors_relay;

struct door_guest {
	struct doors *d;
	uint32_t cluster, port, ipv4;
	struct door_sites sites; /* its paths to the relays */
	void *ep_mem, *lanes_mem;
	struct suci *ep;
	struct suci_lanes *lanes; /* or NULL */
	uint64_t wake_ns, say_ns; /* say_ns: its client or its lanes have something to say */
};

/* The i-th of all clusters, the first one far from its relays (conf.slow_ns): its links.  deliver
 * gets user. */
void door_guest_place(struct door_guest *g, struct doors *d, uint32_t i, sim_fn *deliver,
		      void *user);
/* A new life of it, whose user is g. */
void door_guest_start(struct door_guest *g, struct door_client *client, uint32_t life,
		      uint32_t lanes, const struct suci_lane_ops *ops);
/* The same without lanes: its endpoint's calls are these. */
void door_guest_start_bare(struct door_guest *g, struct door_client *client, uint32_t life,
			   uint32_t paths, const struct suci_ops *ops);
/* After suci_fini(). */
void door_guest_end(struct door_guest *g);

/* Its relay of that site. */
struct doors_relay *door_guest_relay(const struct door_guest *g, uint32_t site);
/* Calls the relays whose turn it is, and says what its client has to say. */
void door_guest_turn(struct door_guest *g);
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
