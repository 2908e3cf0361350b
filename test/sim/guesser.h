/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/guesser.h - hosts of a cluster's network that would be a process of somebody's job.
 *
 * Each is a real endpoint without a key, which opens paths to relays all the time: with a label of
 * the job and a token that is none, with what another process of the job says for itself, with
 * labels of no job.  There are several of them in each network, so that none is alone. */
#ifndef SIM_GUESSER_H
#define SIM_GUESSER_H

#include "world.h"

#define GUESSER_HOST 0xfb /* last byte of the first one's address; the others follow */
#define GUESSERS     3	  /* in each network */
#define GUESSERS_MAX 9

struct guesser {
	struct world *w;
	struct base_prng prng;
	uint64_t since_ns, said, refused,
		up;		  /* opens; answers that refused them; paths that came */
	char told[SUCI_TEXT_MAX]; /* the one text that he may hear */
	uint32_t n;
	struct guesser_host {
		struct guesser *g;
		uint32_t client, port;
		void *mem;
		struct suci *ep;
		uint64_t wake_ns;
	} host[GUESSERS_MAX];
};

/* In all networks with relays whose paths are not sealed, before the simulation runs. */
void guesser_attach(struct guesser *g, struct world *w, uint64_t seed);
/* No path is up with one of them; wrong tokens were few. */
void guesser_check(const struct guesser *g);
void guesser_end(struct guesser *g);

#endif
