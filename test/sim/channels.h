/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/channels.h - the channels between the relays of a cluster (relay/peer.h) in virtual time.
 *
 * A channel is one TCP connection: frames arrive whole, in order, or the connection ends, and each
 * end learns that at a time of its own.  While a cable is cut frames wait; silence of
 * RELAY_PEER_DEAD_NS ends the channel at that end.  What was under way then is lost.  It is dialled
 * again for as long as both relays live.
 *
 * Frames pass as the bytes that relayd would send: encoded here, decoded at the other end. */
#ifndef SIM_CHANNELS_H
#define SIM_CHANNELS_H

#include "sim.h"

#include "relay/cluster.h"

#define CHANNELS_MAX 8 /* relays */

struct channels;

/* after: relay i has been told something.  In the moment this is called there are no delays, so
 * that who begins with a job has it everywhere when the run begins. */
struct channels *channels_new(struct sim *s, uint32_t n, void (*after)(void *user, uint32_t i),
			      void *user, uint64_t seed);
void channels_free(struct channels *c);
/* Relay i lives from now on. */
void channels_join(struct channels *c, uint32_t i, struct relay_cluster *cluster);
/* It is dead: the others learn at once (its kernel says so) or from its silence. */
void channels_kill(struct channels *c, uint32_t i, bool silent);
bool channels_send(struct channels *c, uint32_t from, uint32_t to,
		   const struct relay_peer_frame *f);
bool channels_send_job(struct channels *c, uint32_t from, uint32_t to,
		       const struct relay_job *table);
/* The cable between two relays; a connection that breaks, and comes again. */
void channels_cut(struct channels *c, uint32_t i, uint32_t k);
void channels_heal(struct channels *c, uint32_t i, uint32_t k);
void channels_break(struct channels *c, uint32_t i, uint32_t k);
/* Both ends say that it is there. */
bool channels_up(const struct channels *c, uint32_t i, uint32_t k);

#endif
