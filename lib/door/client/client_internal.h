/* SPDX-License-Identifier: BSD-2-Clause */
/* What client.c, imports and what is said, and own.c, own doors, have in common. */
#ifndef DOOR_CLIENT_INTERNAL_H
#define DOOR_CLIENT_INTERNAL_H

#include "door/client.h"

#include "canary.h"

/* A request says which table and place it is of, and which use of the place: what comes late means
 * nobody. */
#define REQUEST_IMPORT (1u << 31)
#define REQUEST_SHIFT  20
#define REQUEST_USES   (1u << 11)
_Static_assert(DOOR_CLIENT_PLACES == 1u << REQUEST_SHIFT, "the place, counted from 1, below");

/* client.c */
uint32_t door_client_number(struct door_client *c, uint32_t table, uint32_t place);
/* false: no room now, or that relay is not up. */
bool door_client_say(struct door_client *c, uint32_t site, const struct relay_door_note *n);
/* In the order of saying; false: too many wait. */
bool door_client_letter(struct door_client *c, uint32_t site, uint8_t op, uint32_t label,
			uint32_t request);

/* own.c */
/* Say what is to be said about it.  false: no room. */
bool door_client_serve_own(struct door_client *c, uint32_t own);
void door_client_learn_own(struct door_client *c, uint32_t site, const struct relay_door_note *n);
void door_client_refused_own(struct door_client *c, uint32_t site, const struct relay_door_note *n);
/* That relay is gone. */
void door_client_down_own(struct door_client *c, uint32_t own, uint32_t site, bool again);
/* NULL, or what does not agree. */
const char *door_client_check_own(const struct door_client *c, uint32_t own);

#endif
