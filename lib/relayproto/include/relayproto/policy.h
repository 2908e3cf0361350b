/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/policy.h - path groups: over which of several relays a segment goes.
 *
 * A group is what one job uses towards the relays of one remote cluster: the trunks to
 * all of them, those of the job's table and those their relays tell of (relayproto/note.h,
 * RELAYS).  Label spaces are per cluster, so any of them takes any process's segments.
 *
 *     DEST    the relay that carries the destination in the global mapping: what IMPI
 *             start-up says (Takano et al., destination-based).  A process hands what is
 *             for remote rank d to the relay that stands for d.
 *     SOURCE  the same trunk, but a process hands everything to the relay that carries
 *             itself: both directions of a pair take the same two relays.
 *     STRIPE  per segment: the trunk with the shortest expected delay, which is what it
 *             holds over the rate congestion control has measured; full ones are passed
 *             over.  So shares follow the rates, a slow trunk gets little, and one pair
 *             gets the bandwidth of all.  A process deals to all relays by weight.
 *
 * Under DEST and SOURCE another trunk takes over while the one that is meant is down,
 * drains, or has flapped; under all a trunk that drains or flaps is used only while there
 * is no better one. */
#ifndef RELAYPROTO_POLICY_H
#define RELAYPROTO_POLICY_H

#include <stdint.h>

/* Relays (worker shards) of one cluster that may be in a group. */
#define RELAY_GROUP_MAX 32

enum relay_policy { RELAY_POLICY_DEST = 0, RELAY_POLICY_SOURCE = 1, RELAY_POLICY_STRIPE = 2 };

#define RELAY_WEIGHT_MAX 100

#endif
