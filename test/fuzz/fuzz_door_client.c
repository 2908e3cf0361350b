/* SPDX-License-Identifier: BSD-2-Clause */
/* A process with doors (lib/door/client) and a relay that says whatever it likes: calls and notes
 * as the input says.  What the object keeps must agree after each. */
#include "door/client.h"

#include "base/assert.h"

#include <string.h>

#define PLACES 6u
#define REALM  7u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct rig {
	struct door_client c;
	struct door_client_own own[PLACES];
	struct door_client_import import[PLACES];
	uint32_t room;
	bool drop_lost;
};

static bool
rig_say(void *user, uint32_t site, const void *note, size_t len)
{
	struct rig *r = user;
	struct relay_door_note n;
	BASE_ASSERT(r->c.site[site].up);
	BASE_ASSERT(relay_door_decode(note, len, &n) == 0);
	r->room -= r->room > 0;
	return r->room > 0;
}

static void
rig_wake(void *user)
{
	(void)user;
}

static void
rig_opened(void *user, uint32_t own)
{
	const struct rig *r = user;
	BASE_ASSERT(r->own[own].state == DOOR_CLIENT_HAVE || r->own[own].state == DOOR_CLIENT_OVER);
}

static void
rig_reached(void *user, uint32_t import)
{
	BASE_ASSERT(door_client_reaches(&((const struct rig *)user)->import[import]));
}

static void
rig_lost(void *user, uint32_t import, enum door_client_lost why)
{
	struct rig *r = user;
	uint8_t state = r->import[import].state;
	bool anew = state == DOOR_CLIENT_HAVE || state == DOOR_CLIENT_WANTED;
	BASE_ASSERT(why == DOOR_CLIENT_RESET ? anew : state == DOOR_CLIENT_OVER);
	if (r->drop_lost)
		door_client_drop(&r->c, import);
}

static void
rig_left(void *user, uint32_t site, uint32_t label)
{
	(void)user, (void)site, (void)label;
}

static const struct door_client_ops rig_ops = {.say = rig_say,
					       .wake = rig_wake,
					       .opened = rig_opened,
					       .reached = rig_reached,
					       .lost = rig_lost,
					       .left = rig_left};

/* What a relay might really say of place k, by what the place has asked; else the input's bytes. */
static size_t
write_note(const struct rig *r, uint32_t site, uint8_t op, uint8_t k, uint8_t label, uint8_t *out)
{
	uint8_t bytes[DOOR_ADDRESS_MAX];
	struct door_address a = r->own[k].at;
	struct relay_door_note n = {.op = op, .label = label, .turn = label & 3};
	/* One that knows of doors at two relays says the label and both. */
	a.nrelays = a.label && label & 2 ? 2 : 1;
	a.label = a.label && label & 4 ? a.label : label + 1u;
	a.relay[0] = (struct door_relay){1 + (a.nrelays == 1 && site), 1};
	a.relay[1] = (struct door_relay){2, 1};
	n.request = op == RELAY_DOOR_ADDRESS || label & 1 ? r->own[k].request[site]
							  : r->import[k].request;
	if (op == RELAY_DOOR_GONE && label & 2)
		n.request = 0;
	if (op == RELAY_DOOR_ADDRESS)
		n.address =
			(struct relay_door_bytes){bytes, (uint8_t)door_address_encode(&a, bytes)};
	return relay_door_encode(&n, out);
}

static void
act(struct rig *r, uint8_t what, uint8_t arg)
{
	static const uint8_t ops[] = {RELAY_DOOR_ADDRESS, RELAY_DOOR_IMPORTED, RELAY_DOOR_REFUSED,
				      RELAY_DOOR_GONE, RELAY_DOOR_NAMED};
	static const struct door_address far = {
		.realm = REALM, .token = 1, .label = 9, .n = 1, .nrelays = 1, .relay = {{2, 2}}};
	uint8_t note[RELAY_DOOR_NOTE_MAX], k = arg % PLACES;
	uint32_t site = what >> 6 & 1;
	what &= 0x3f;
	switch (what % 14) {
	case 0:
		if (arg & 0x20) {
			struct door_address a = {.realm = REALM,
						 .token = 1,
						 .label = DOOR_CLAIMS + 8u * k,
						 .n = (uint16_t)(1 + k),
						 .nrelays = arg & 0x80 ? 2 : 1,
						 .relay = {{1, 1}, {2, 1}}};
			(void)door_client_claim(&r->c, k, &a, k);
			break;
		}
		if (door_client_open(&r->c, k, (uint16_t)(1 + k), REALM, k) == k && arg & 0x40)
			(arg & 0x80 ? door_client_stay : door_client_keep)(&r->c, k);
		break;
	case 1:
		door_client_close(&r->c, k);
		break;
	case 2:
		(void)door_client_import(&r->c, &far, k, k);
		break;
	case 3:
		door_client_drop(&r->c, k);
		break;
	case 4:
		if (r->c.site[site].up)
			door_client_down(&r->c, site, arg & 1, arg);
		else if (arg & 2)
			door_client_coming(&r->c, site);
		else
			door_client_up(&r->c, site);
		break;
	case 5:
		r->room = arg & 0x80 ? UINT32_MAX : arg;
		(void)door_client_turn(&r->c);
		break;
	case 6:
		(void)door_client_hold(&r->c, site, arg);
		break;
	case 7:
		(void)door_client_unhold(&r->c, site, arg);
		break;
	case 8:
		if (arg & 1)
			(void)door_client_again(&r->c, k);
		else
			door_client_hurry(&r->c);
		break;
	default:
		door_client_note(&r->c, site, note,
				 write_note(r, site, ops[what % 14 - 9], k, arg / PLACES, note));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rig r;
	struct door_client_conf conf = {.not_label = 3, .ops = &rig_ops, .user = &r};
	memset(&r, 0, sizeof r);
	r.room = UINT32_MAX;
	door_client_init(&r.c, &conf, r.own, PLACES, r.import, PLACES);
	for (size_t at = 0; at + 2 <= size; at += 2) {
		r.drop_lost = data[at] & 0x80;
		if ((data[at] & 0x7f) == 0x7f) { /* the rest is a note as it is */
			door_client_note(&r.c, 0, data + at + 1, size - at - 1);
			at = size - 2;
		} else {
			act(&r, data[at] & 0x7f, data[at + 1]);
		}
		BASE_ASSERT(!door_client_check(&r.c));
	}
	return 0;
}
