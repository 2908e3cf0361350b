/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/doors.h - doors in virtual time: clusters of one or two relays, real lib/relay on real
 * lib/suci, and processes that register doors, import others', and ask each other over them.
 *
 *     process --+                                   +-- process
 *     process --+-- relay ===== wide area ===== relay --+-- process
 *
 * What a process says to its relay is said by lib/door/client, but for what an evil one invents.
 * A process that is asked answers.  Every question names both doors, so it is seen where it comes
 * out.  What must hold is checked as it happens, and by doors_settle() and doors_end(). */
#ifndef SIM_DOORS_H
#define SIM_DOORS_H

#include "door_guest.h"
#include "invariants.h"
#include "scenario.h"

#include "door/client.h"
#include "relay/core.h"
#include "relayproto/door.h"

#define DOORS_CLUSTERS 4u
#define DOORS_RELAYS   (DOORS_CLUSTERS * DOOR_CLIENT_SITES)
#define DOORS_NONE     UINT32_MAX
#define DOORS_PEERS    512u
#define DOORS_OWN      1024u /* of one process; ports and imports, refused ones included */
#define DOORS_IMPORTS  1024u
#define DOORS_WAN      99u /* network of the global legs */

struct doors_conf {
	uint32_t nclusters, relays, procs; /* of each cluster */
	uint64_t lan_ns, wan_ns;	   /* one way, all links of it together */
	uint64_t slow_ns;		   /* of process 0, beyond lan_ns */
	uint32_t loss_ppb;		   /* of the wide area */
	uint64_t wan_bytes_s;		   /* from each relay to each; 0: no limit */
	uint32_t doors_max, imports_max, per_proc_max, asks_per_s;
	uint32_t most; /* doors and imports there may ever be */
	uint64_t lost_ns;
	bool claims; /* some doors have addresses that were known before; with one relay each */
};

enum door_state { DOOR_STATE_ASKED, DOOR_STATE_OPEN, DOOR_STATE_REFUSED, DOOR_STATE_GONE };

struct doors_door {
	uint32_t proc, life; /* of the process */
	uint32_t place;	     /* at its client */
	uint8_t state;	     /* enum door_state */
	uint16_t n;
	uint64_t realm;
	uint64_t asked_ns, first_ns; /* REGISTER said; first question came */
	uint64_t gone_ns;
	uint8_t address[DOOR_ADDRESS_MAX];
	uint8_t len;
	struct door_address at;
};

enum import_state { IMPORT_ASKED, IMPORT_HELD, IMPORT_REFUSED, IMPORT_GONE, IMPORT_DROPPED };

struct doors_import {
	uint32_t proc, life;
	uint32_t own, target; /* doors; target NONE: forged */
	uint32_t place;	      /* at its process's client */
	uint8_t state;	      /* enum import_state */
	bool named;	      /* ASKED: it may be written to */
	uint32_t by;	      /* relay by which its door is found; 0: not known */
	uint32_t label;
	uint32_t asked, answered;	      /* questions */
	uint64_t since_ns, asked_ns, wait_ns; /* of the state; of the question; longest */
};

/* A door that asked us and that we did not import. */
struct doors_peer {
	uint32_t site, label, door;
	uint32_t by; /* relay by which it asks */
	bool told;   /* it is gone */
};

struct doors_relay {
	struct doors *w;
	uint32_t index, cluster,
		incarnation; /* index: the first ones of all clusters, the second ones */
	bool alive;
	uint32_t port[2], ipv4[2];
	void *ep_mem, *core_mem;
	struct suci *ep;
	struct relay_core *core;
	uint64_t wake_ns;
};

struct doors_proc {
	struct door_guest g;
	struct doors *w;
	uint32_t index, life;
	bool alive, up, evil; /* up: one of its paths */
	struct door_client client;
	struct door_client_own own[DOORS_OWN];
	struct door_client_import import[DOORS_IMPORTS];
	struct doors_peer peer[DOORS_PEERS];
	uint32_t npeers;
};

struct doors {
	struct sim *s;
	struct doors_conf conf;
	struct base_prng prng;
	struct doors_relay relay[DOORS_RELAYS];
	uint32_t nrelays;
	struct doors_proc *proc;
	uint32_t nprocs;
	struct doors_door *door;
	struct doors_import *import;
	uint32_t ndoors, nimports;
	uint32_t wan[DOORS_RELAYS][DOORS_RELAYS]; /* links */
	struct doors_rogue *rogue;		  /* or NULL */
	uint32_t claims, given;			  /* addresses that were known before */
	uint64_t resets, told, refused, questions, answers, forged_segments;
};

void doors_conf_default(struct doors_conf *c);
struct doors *doors_new(uint64_t seed, bool verbose, const struct doors_conf *c);
/* Check what concerns everybody, take the figures, free. */
void doors_finish(struct doors *w, struct outcome *o);

/* From a process whose path is up; the new door or import, or NONE. */
uint32_t doors_register(struct doors_proc *p, uint16_t n, uint64_t realm);
/* target: whose address it is, NONE if it is nobody's. */
uint32_t doors_import(struct doors_proc *p, uint32_t own, uint32_t target,
		      const struct door_address *at);
void doors_leave(struct doors *w, uint32_t door);
void doors_drop(struct doors *w, uint32_t import);
void doors_ask(struct doors *w, uint32_t import);
/* Whatever labels: who must not get through. */
void doors_ask_labels(struct doors_proc *p, uint32_t dst, uint32_t src);
void doors_note(struct doors_proc *p, const void *note, size_t len);
bool doors_owns(const struct doors *w, const struct doors_proc *p, uint32_t door);

/* Somebody in the wide area who says that he is a relay. */
struct doors_rogue;
struct doors_rogue *doors_rogue_new(struct doors *w);
/* Something that he may do, drawn. */
void doors_rogue_act(struct doors_rogue *g);
/* It opens a path by what it knows of a door, and says nothing; is it up? */
bool doors_rogue_come(struct doors_rogue *g, uint32_t door);
/* Of a door that it would carry. */
void doors_rogue_address(const struct doors_rogue *g, uint32_t label, struct door_address *a);
/* From now on he is silent, and what he opened is closed. */
void doors_rogue_stop(struct doors_rogue *g);
void doors_rogue_free(struct doors_rogue *g);

void doors_kill_proc(struct doors_proc *p);
void doors_start_proc(struct doors_proc *p);
void doors_kill_relay(struct doors_relay *r);
void doors_drive_relay(struct doors_relay *r);
void doors_deliver_relay(struct sim *s, void *who, uint64_t b);
/* What relays and processes have in common. */
struct suci_config doors_endpoint_conf(const struct doors *w, uint32_t paths, uint32_t ipv4,
				       uint32_t life);
void *doors_memory(size_t len);
uint32_t doors_ipv4_to(const struct suci_out *o);
void doors_start_relay(struct doors_relay *r);
/* A door of the process: its place at the client. */
uint32_t doors_open(struct doors_proc *p, uint16_t n, uint64_t realm, uint32_t door);
/* The wide area between two clusters. */
void doors_cut(struct doors *w, uint32_t a, uint32_t b, bool down);
/* So many of 1e9 packets of the wide area are lost. */
void doors_lose(struct doors *w, uint32_t loss_ppb);
void doors_pass(struct doors *w, uint64_t ns);
/* Tables of the relays, their bounds. */
void doors_check(struct doors *w);
/* All is up: every import that is held is answered, what is gone has been told. */
void doors_settle(struct doors *w);
/* All leave and drop: nothing is left in any relay. */
void doors_empty(struct doors *w);

#endif
