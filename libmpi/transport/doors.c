/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors of this process, and doors of other clusters: see doors.h. */
#include "doors.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/siphash.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define eng   lmpi_eng
#define net   lmpi_net
#define doors lmpi_doors

#define DOORS_MAX 512u /* ports, conversations, this process */
#define READY_NS  (10 * BASE_S_NS)
#define LOOK_NS	  BASE_S_NS
#define ERR_OTHER LMPI_ERR_OTHER

struct lmpi_doors lmpi_doors = {.path = DOOR_NONE, .mine = DOOR_NONE, .due_ns = BASE_NEVER_NS};

static void
wake_doors(uint64_t at_ns)
{
	doors.due_ns = base_min_ns(doors.due_ns, at_ns);
}

/* ---- the relay ---- */

/* Of the relays of this job the one with the lowest address: all its processes in this cluster find
 * the same one, while all are up. */
static uint32_t
relay_of_job(struct relayset_info *out)
{
	uint32_t best = DOOR_NONE;
	struct relayset_info r;

	if (!net.relays || net.relays_outside)
		return DOOR_NONE;
	for (uint32_t i = 0; i < relayset_count(net.relays); i++) {
		relayset_info(net.relays, i, &r);
		if (!r.up || (best != DOOR_NONE &&
			      memcmp(&r.relay.addr, &out->relay.addr, sizeof r.relay.addr) > 0))
			continue;
		best = i;
		*out = r;
	}
	return best;
}

bool
lmpi_doors_wanted(void)
{
	if (lmpi_net_has_relays())
		return !net.relays_outside;
	return lmpi_knob_text(LMPI_KNOB_RELAY) != NULL;
}

void
lmpi_doors_relay(char name[LMPI_RELAY_NAME])
{
	char text[SUCI_ADDR_TEXT_MAX];

	name[0] = '\0';
	if (doors.path != DOOR_NONE)
		strlcpy(name, suci_addr_text(&doors.relay, text), LMPI_RELAY_NAME);
}

static uint64_t
own_realm(void)
{
	static const uint8_t key[16] = "realm";
	const char *text = lmpi_knob_text(LMPI_KNOB_REALM);

	return text ? base_siphash(key, text, strlen(text)) : 0;
}

static bool
knob_relay(struct suci_addr *at, char why[LMPI_WHY])
{
	const char *text = lmpi_knob_text(LMPI_KNOB_RELAY);

	if (suci_addr_parse(text, strlen(text), at) && !suci_addr_fault(at))
		return true;
	snprintf(why, LMPI_WHY,
		 "LIBMPI_RELAY=%.80s is not the address and the port of a relay, as "
		 "10.0.0.254:7812 or [fd00::fe]:7812",
		 text);
	return false;
}

static void
choose_relay(uint32_t path, bool shared, const struct suci_addr *at)
{
	doors.path = path;
	doors.shared = shared;
	doors.relay = *at;
	doors.why[0] = '\0';
}

static void
set_up_relay(uint32_t mtu)
{
	struct suci_path_info info = {0};

	(void)suci_path_info(net.ep, doors.path, &info);
	doors.mss = door_client_mss(info.mss, mtu);
	doors.looked_ns = eng.now_ns;
	doors.silent_ns = 0;
	door_client_up(&doors.client, 0);
	if (!doors.shared)
		wake_doors(eng.now_ns + LOOK_NS);
}

static int
open_relay(char why[LMPI_WHY])
{
	uint8_t hello[RELAY_HELLO_LEN];
	struct relayset_info r;
	struct suci_addr at;
	uint32_t path;

	if (lmpi_net_has_relays()) {
		if (relay_of_job(&r) == DOOR_NONE) {
			snprintf(why, LMPI_WHY, "no relay of this job is up");
			return ERR_OTHER;
		}
		choose_relay(r.path, true, &r.relay.addr);
		set_up_relay(r.mtu);
		return LMPI_OK;
	}
	if (!knob_relay(&at, why) || !lmpi_addr_meets(&lmpi_route[lmpi_world.rank].at,
						      "the relay of LIBMPI_RELAY", &at, why))
		return ERR_OTHER;
	int err = lmpi_net_more(); /* the kernel may know only one other process */
	door_client_hello(hello);
	choose_relay(DOOR_NONE, false, &at);
	if (!err)
		err = suci_path_open(net.ep, &at, hello, sizeof hello, &path, suci_udp_now_ns());
	if (err) {
		snprintf(why, LMPI_WHY, "no path to the relay of LIBMPI_RELAY: %s",
			 suci_strerror(err));
		return ERR_OTHER;
	}
	net.path_use[path] = USE_DOOR;
	net.dirty = true;
	doors.path = path;
	return LMPI_OK;
}

bool
lmpi_doors_is_relay(const struct suci_addr *at)
{
	return doors.relay.port != 0 && memcmp(&doors.relay, at, sizeof *at) == 0;
}

void
lmpi_doors_path_up(uint32_t path, uint32_t mtu, bool is_relay)
{
	if (!is_relay)
		suci_path_close(net.ep, path, "not a relay", eng.now_ns);
	else if (path == doors.path)
		set_up_relay(mtu);
}

/* The process behind it is gone, or the way to it. */
static void
lose_process(uint32_t import, enum door_client_lost why)
{
	static const struct {
		enum suci_down down;
		const char *text;
	} lost[] = {
		[DOOR_CLIENT_REFUSED] = {SUCI_DOWN_REFUSED,
					 "its relay knows no such door, or one is full"},
		[DOOR_CLIENT_GONE] = {SUCI_DOWN_CLOSED, doors.client.words},
		[DOOR_CLIENT_RESET] = {SUCI_DOWN_RESET, "a path between relays broke"},
		[DOOR_CLIENT_RELAY] = {SUCI_DOWN_SILENT, doors.why},
	};
	uint32_t world = doors.client.import[import].whose;
	struct lmpi_route *r = &lmpi_route[world];

	if (r->has_lane)
		suci_lane_close(net.lanes, r->lane, eng.now_ns);
	r->has_lane = false;
	door_client_drop(&doors.client, import);
	lmpi_net_stranger_down(world, lost[why].down, lost[why].text);
}

void
lmpi_doors_path_down(uint32_t path, enum suci_down why, const char *what, const char *text)
{
	char name[LMPI_RELAY_NAME];

	if (path != doors.path)
		return;
	lmpi_doors_relay(name);
	snprintf(doors.why, sizeof doors.why, "the relay %s %s%s%.80s", name,
		 why == SUCI_DOWN_LOCAL ? "is not a relay" : what, text && *text ? ": " : "",
		 text ? text : "");
	doors.path = DOOR_NONE;
	door_client_down(&doors.client, 0, false, eng.now_ns);
	if (doors.mine != DOOR_NONE)
		door_client_close(&doors.client, doors.mine);
	doors.mine = DOOR_NONE;
	lmpi_talks_over();
}

/* ---- what the client of doors wants ---- */

static bool
say_to_relay(void *user, uint32_t site, const void *note, size_t len)
{
	(void)user, (void)site;
	if (suci_path_note(net.ep, doors.path, note, len, suci_udp_now_ns()) != SUCI_ERR_OK)
		return false;
	net.dirty = true;
	return true;
}

static void
wake_soon(void *user)
{
	(void)user;
	wake_doors(0);
}

static void
door_opened(void *user, uint32_t own)
{
	(void)user, (void)own;
}

static void
import_reached(void *user, uint32_t import)
{
	(void)user, (void)import;
}

static void
import_lost(void *user, uint32_t import, enum door_client_lost why)
{
	(void)user;
	if (doors.client.import[import].whose == DOOR_NONE)
		lmpi_talk_lost(import, why == DOOR_CLIENT_REFUSED);
	else
		lose_process(import, why);
}

static void
caller_left(void *user, uint32_t site, uint32_t label)
{
	(void)user, (void)site;
	lmpi_talk_gone(label);
}

static const struct door_client_ops client_ops = {.say = say_to_relay,
						  .wake = wake_soon,
						  .opened = door_opened,
						  .reached = import_reached,
						  .lost = import_lost,
						  .left = caller_left};

static int
make_door_client(char why[LMPI_WHY])
{
	struct door_client_conf conf = {.not_label = LMPI_LABEL_BASE + lmpi_world.rank,
					.ops = &client_ops};
	struct door_client_own *own = calloc(DOORS_MAX, sizeof *own);

	if (!own) {
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	if (getrandom(conf.secret, sizeof conf.secret, 0) != (ssize_t)sizeof conf.secret) {
		free(own);
		snprintf(why, LMPI_WHY, "no random numbers from the kernel");
		return ERR_OTHER;
	}
	door_client_init(&doors.client, &conf, own, DOORS_MAX, NULL, 0);
	lmpi_talks_begin();
	return LMPI_OK;
}

/* ---- own doors ---- */

static bool
door_settled(void *arg)
{
	const struct door_client_own *d = &doors.client.own[*(const uint32_t *)arg];

	return doors.path == DOOR_NONE || d->state == DOOR_CLIENT_HAVE ||
	       d->state == DOOR_CLIENT_OVER;
}

/* Ask for a door and wait for it. */
static int
await_door(uint32_t *door, char why[LMPI_WHY])
{
	char name[LMPI_RELAY_NAME];
	uint32_t i = door_client_open(&doors.client, 0, 1, own_realm(), 0);

	if (i == DOOR_NONE) {
		snprintf(why, LMPI_WHY, "%u doors are in use: close some ports", DOORS_MAX);
		return ERR_OTHER;
	}
	bool in_time = lmpi_wait_until(door_settled, &i, suci_udp_now_ns() + READY_NS);
	if (doors.path != DOOR_NONE && doors.client.own[i].state == DOOR_CLIENT_HAVE) {
		*door = i;
		return LMPI_OK;
	}
	lmpi_doors_relay(name);
	if (doors.path == DOOR_NONE)
		snprintf(why, LMPI_WHY, "%s", doors.why);
	else if (in_time)
		snprintf(
			why, LMPI_WHY,
			"the relay %s has no room for a door: is doors.max in its configuration 0, "
			"or doors.per_process reached?",
			name);
	else
		snprintf(why, LMPI_WHY,
			 "the relay %s does not answer on UDP within %llu s: is relayd running "
			 "there?",
			 name, READY_NS / BASE_S_NS);
	door_client_close(&doors.client, i);
	return ERR_OTHER;
}

int
lmpi_doors_ready(char why[LMPI_WHY])
{
	int err = LMPI_OK;

	if (!lmpi_doors_wanted())
		return LMPI_OK;
	if (!doors.client.own)
		err = make_door_client(why);
	if (!err && doors.path == DOOR_NONE)
		err = open_relay(why);
	if (!err && doors.mine == DOOR_NONE)
		err = await_door(&doors.mine, why);
	if (!err)
		lmpi_world.hides_nodes = true;
	return err;
}

bool
lmpi_doors_mine(struct door_address *a)
{
	if (doors.mine == DOOR_NONE)
		return false;
	*a = doors.client.own[doors.mine].at;
	return true;
}

int
lmpi_doors_open(uint32_t *door, struct door_address *at, char why[LMPI_WHY])
{
	int err = await_door(door, why);

	if (!err)
		*at = doors.client.own[*door].at;
	return err;
}

void
lmpi_doors_close(uint32_t door)
{
	lmpi_talks_close(door);
}

/* ---- doors of others ---- */

uint32_t
lmpi_import_new(const struct door_address *at, uint32_t door, uint32_t world)
{
	struct door_client *c = &doors.client;
	uint32_t i = door_client_import(c, at, door, world), most = 2 * c->imports_max + 16;

	if (i != DOOR_NONE || most >= DOOR_CLIENT_PLACES)
		return i;
	struct door_client_import *more = realloc(c->import, most * sizeof *more);
	if (!more)
		return DOOR_NONE;
	door_client_grow(c, more, most);
	return door_client_import(c, at, door, world);
}

bool
lmpi_doors_import(uint32_t world, const struct door_address *at)
{
	return lmpi_import_new(at, doors.mine, world) != DOOR_NONE;
}

/* ---- lanes ---- */

void
lmpi_doors_lane(uint32_t own, uint32_t label, struct suci_lane_conf *c)
{
	*c = (struct suci_lane_conf){.path = doors.path,
				     .tx_dst_label = label,
				     .tx_src_label = own,
				     .rx_dst_label = own,
				     .rx_src_label = label,
				     .crc = true,
				     .mss = doors.mss,
				     .window = lmpi_net_relay_window(),
				     .window_max = LMPI_HELD_MAX};
}

static uint64_t
salt_of(const struct lmpi_proc *from, const struct lmpi_proc *to)
{
	return (from->job ^ from->number) * 0x9e3779b97f4a7c15u + (to->job ^ to->number);
}

bool
lmpi_doors_lane_to(uint32_t world, struct suci_lane_conf *c)
{
	const struct lmpi_proc *me = &lmpi_world.proc[lmpi_world.rank];
	const struct lmpi_proc *it = &lmpi_world.proc[world];

	for (uint32_t i = 0; doors.client.up && i < doors.client.imports; i++) {
		const struct door_client_import *m = &doors.client.import[i];
		if (m->whose != world || !door_client_reaches(m))
			continue;
		lmpi_doors_lane(doors.client.own[m->own].at.label, m->label, c);
		c->tx_salt = salt_of(me, it);
		c->rx_salt = salt_of(it, me);
		return true;
	}
	return false;
}

enum suci_verdict
lmpi_doors_unknown(uint32_t path, uint32_t dst, uint32_t src)
{
	bool more;

	if (path != doors.path || !doors.client.up)
		return SUCI_DROPPED;
	uint32_t own = door_client_mine(&doors.client, dst);
	if (own == DOOR_NONE)
		return SUCI_DROPPED;
	if (own != doors.mine)
		return lmpi_talk_came(own, src);
	uint32_t m = door_client_called(&doors.client, 0, own, src, &more);
	if (m == DOOR_NONE)
		return more ? SUCI_REFUSED : SUCI_DROPPED;
	struct lmpi_peer *peer = &eng.peer[doors.client.import[m].whose];
	return lmpi_net_open_lane(peer, path) ? SUCI_TAKEN : SUCI_DROPPED;
}

void
lmpi_doors_note(uint32_t path, const void *note, size_t len)
{
	if (path == doors.path)
		door_client_note(&doors.client, 0, note, len);
}

/* ---- turns ---- */

/* Only time in which this process listened counts: programs compute. */
static void
watch_silence(uint64_t now_ns)
{
	uint64_t limit = lmpi_knob_number(LMPI_KNOB_LIVENESS) * BASE_MS_NS;
	uint64_t step = base_min_ns(now_ns - doors.looked_ns, 2 * LOOK_NS);
	uint8_t ping[RELAY_NOTE_MAX];
	struct suci_path_info info;

	if (!suci_path_info(net.ep, doors.path, &info))
		return;
	doors.silent_ns = info.last_rx_ns == doors.heard_ns ? doors.silent_ns + step : 0;
	doors.heard_ns = info.last_rx_ns;
	doors.looked_ns = now_ns;
	if (limit && doors.silent_ns > limit) {
		suci_path_silent(net.ep, doors.path, now_ns);
	} else if (doors.silent_ns >= LOOK_NS) {
		size_t len = relay_note_encode(&(struct relay_note){.type = RELAY_NOTE_PING}, ping);
		(void)suci_path_note(net.ep, doors.path, ping, len, now_ns);
		net.dirty = true;
	}
}

void
lmpi_doors_turn(uint64_t now_ns)
{
	if (now_ns < doors.due_ns)
		return;
	doors.due_ns = BASE_NEVER_NS;
	if (!doors.client.up)
		return;
	if (!door_client_turn(&doors.client))
		wake_doors(now_ns + DOOR_CLIENT_SOON_NS);
	wake_doors(lmpi_talks_turn());
	if (doors.shared || eng.closing)
		return;
	if (now_ns - doors.looked_ns >= LOOK_NS)
		watch_silence(now_ns);
	wake_doors(doors.looked_ns + LOOK_NS);
}

uint64_t
lmpi_doors_expiry_ns(void)
{
	return doors.due_ns;
}

void
lmpi_doors_leave(const char *text)
{
	if (doors.path != DOOR_NONE && !doors.shared)
		suci_path_close(net.ep, doors.path, text, suci_udp_now_ns());
}

void
lmpi_doors_fini(void)
{
	free(doors.client.own);
	free(doors.client.import);
	doors = (struct lmpi_doors){.path = DOOR_NONE, .mine = DOOR_NONE, .due_ns = BASE_NEVER_NS};
}
