/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/adversary.h - somebody without keys on every link of a world.
 *
 * He reads what is sent over networks whose paths are sealed, keeps some of it, and sends from any
 * address: replays, reflections, the same to others and from others, heads with the bodies of
 * others, changed and made-up headers, datagrams that draw an answer, whose answers he uses at
 * once, and ICMP errors.  He is faster than the links.  He has an address of his own in each
 * network. Where nothing is sealed he sees nothing and only guesses tags.  He takes nothing away.
 */
#ifndef SIM_ADVERSARY_H
#define SIM_ADVERSARY_H

#include "world.h"

#define ADV_KEPT     256
#define ADV_NETWORKS 40
#define ADV_LATER    512 /* on their way */
#define ADV_BYTES    1600

struct guesser;

struct adversary {
	struct world *w;
	struct guesser *guesser; /* the scenario's */
	struct base_prng prng;
	uint32_t chance_ppb; /* to act on a datagram that is sent */
	uint64_t most;	     /* acts; 0: no limit */
	uint64_t acts, answers;
	struct adv_dgram {
		uint16_t from, to; /* ports */
		uint32_t len;
		uint8_t bytes[ADV_BYTES];
	} kept[ADV_KEPT], later[ADV_LATER];
	uint32_t nkept, nlater;
	uint32_t network[ADV_NETWORKS], port[ADV_NETWORKS], nports;
};

/* From now on, and until the simulation is over. */
void adversary_attach(struct adversary *a, struct world *w, uint64_t seed);
/* Paths of honest nodes that went down or moved: 0 as long as nobody closes one. */
void adversary_check(const struct adversary *a);

#endif
