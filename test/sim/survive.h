/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/survive.h - jobs over relays that survive deaths: engines of lib/mpi with lib/ft,
 * lib/relayset and lib/relay, and who dies when.
 *
 * What a process does:
 *
 *     start      agreement 0
 *     run        a message to and from each other process, twice; agreements 1 and 2 after them.
 *		  One process revokes a context in between.  Then it waits until it has been told
 *		  of all who are dead.
 *     end        agreement 3, what it has sent is acknowledged, its cluster meets, LEAVE, gone
 *
 * Kills    name a node and an event of that node: a datagram that it has read, or a timer.
 * Checked  nobody is taken or told for dead who lives, has not left, and can be reached; notes
 *	    DEATH are those of doc/wire.md; all waiting ends; a message that is received is the one
 *	    that was sent, and operations with the living do not fail; agreements (sim/member.h);
 *	    relays tell every process of every death; when all have gone no relay has the job. */
#ifndef SIM_SURVIVE_H
#define SIM_SURVIVE_H

#include "scenario.h"

#define SURVIVE_KILLS 6u
#define SURVIVE_NODES (16u + 16u)

enum survive_phase { SURVIVE_START, SURVIVE_RUN, SURVIVE_AGREE, SURVIVE_END, SURVIVE_PHASES };

/* Of an engine's world. */
enum kill_what { KILL_NONE, KILL_NODE, KILL_RELAYS, KILL_CLUSTER };

struct kill {
	enum kill_what what; /* RELAYS, CLUSTER: of the node's cluster */
	uint32_t node;	     /* a rank, or the number of ranks and a relay's number */
	uint64_t event;	     /* after so many */
	uint64_t gone_ns;    /* relays come back after that; 0: never */
};

struct survive_conf {
	uint64_t seed;
	bool verbose, two_by_two; /* 2 clusters of 3 processes and 2 relays, nothing lost */
	bool silent_launcher;	  /* nobody but relays and paths tells of deaths */
	bool adversary, rogue;
	bool deaf; /* much of what is short gets lost for a while after each kill */
	struct kill kill[SURVIVE_KILLS];
};

/* Events of each node, and in which phase they were: of the process, for a relay of all. */
struct survive_events {
	uint32_t nodes;
	uint64_t n[SURVIVE_NODES];
	uint8_t *phase[SURVIVE_NODES]; /* [n], to be freed */
};

struct survive_counts {
	uint32_t ranks, relays, died, relays_died;
	uint64_t told_ns; /* longest from a death until the last one knew */
};

/* Scenario "deaths": seed % DEATHS_SLICES says which of all (node, event) are tried. */
#define DEATHS_SLICES 400u
struct deaths_sum {
	uint64_t done[SURVIVE_PHASES], all[SURVIVE_PHASES], pairs;
};
/* Several processes add to shared from now on. */
void deaths_count(struct deaths_sum *shared);

/* events: NULL, nobody asks. */
void survive_once(const struct survive_conf *c, struct survive_events *events,
		  struct survive_counts *counts, struct outcome *o);

#endif
