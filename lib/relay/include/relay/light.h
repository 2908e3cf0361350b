/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/light.h - light paths of a relay: what they are called (relay/core.h, Light).
 *
 * A relay with optical ports has a slot for each; a slot is a leg of its own.  A light path goes
 * from one of them to one of another relay, while a circuit joins the two. */
#ifndef RELAY_LIGHT_H
#define RELAY_LIGHT_H

#include "base/lightpath.h"
#include "relay/addr.h"
#include "suci/endpoint.h"

#define RELAY_LIGHTS_MAX 8 /* slots of one relay */
/* suci_addr.leg of slot i is RELAY_LEG_LIGHT + i. */
#define RELAY_LEG_LIGHT 2
_Static_assert(RELAY_LEG_LIGHT + RELAY_LIGHTS_MAX <= SUCI_LEGS_MAX,
	       "legs with an MTU of their own");

/* Where a circuit leads. */
struct relay_light {
	struct suci_addr peer; /* the relay as other clusters see it, on RELAY_LEG_GLOBAL */
	struct suci_addr addr; /* its port's, on the leg of our slot */
};

#endif
