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
#define SEEK_NS	  (20 * BASE_MS_NS)
#define WAIT_NS	  (10 * BASE_S_NS) /* without LIBMPI_PARTITION_TIMEOUT_S; as relays have it */
#define ERR_OTHER LMPI_ERR_OTHER

struct lmpi_doors lmpi_doors = {.due_ns = BASE_NEVER_NS};

static void
wake_doors(uint64_t at_ns)
{
	doors.due_ns = base_min_ns(doors.due_ns, at_ns);
}

/* ---- the relays ---- */

/* Of the relays of this job those with the lowest addresses: all its processes in this cluster find
 * the same ones, while all are up. */
static void
relays_of_job(void)
{
	struct suci_addr least[DOOR_CLIENT_SITES];
	struct relayset_info r;
	uint32_t n = 0;

	for (uint32_t i = 0; i < relayset_count(net.relays); i++) {
		relayset_info(net.relays, i, &r);
		uint32_t at = n;
		while (at > 0 && memcmp(&r.relay.addr, &least[at - 1], sizeof r.relay.addr) < 0)
			at--;
		if (!r.up || at == DOOR_CLIENT_SITES)
			continue;
		if (n < DOOR_CLIENT_SITES)
			n++;
		for (uint32_t k = n - 1; k > at; k--)
			least[k] = least[k - 1];
		least[at] = r.relay.addr;
	}
	for (uint32_t k = 0; k < n; k++)
		door_sites_add(&doors.sites, &least[k]);
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
	for (uint32_t k = 0; doors.on && k < doors.sites.n; k++) {
		if (k)
			strlcat(name, ",", LMPI_RELAY_NAME);
		strlcat(name, suci_addr_text(&doors.sites.site[k].relay, text), LMPI_RELAY_NAME);
	}
}

static uint64_t
own_realm(void)
{
	static const uint8_t key[16] = "realm";
	const char *text = lmpi_knob_text(LMPI_KNOB_REALM);

	return text ? base_siphash(key, text, strlen(text)) : 0;
}

static int
knob_relays(char why[LMPI_WHY])
{
	const char *text = lmpi_knob_text(LMPI_KNOB_RELAY);
	struct suci_addr relay[DOOR_CLIENT_SITES];
	uint32_t n = door_sites_parse(text, relay);

	for (uint32_t k = 0; k < n; k++) {
		door_sites_add(&doors.sites, &relay[k]);
		if (!lmpi_addr_meets(&lmpi_route[lmpi_world.rank].at, "the relay of LIBMPI_RELAY",
				     &relay[k], why))
			return ERR_OTHER;
	}
	if (n)
		return LMPI_OK;
	snprintf(why, LMPI_WHY,
		 "LIBMPI_RELAY=%.80s is not the address and the port of a relay, as "
		 "10.0.0.254:7812 or [fd00::fe]:7812, nor of two of one kind with a comma between "
		 "them",
		 text);
	return ERR_OTHER;
}

static void
note_relay_up(void)
{
	doors.looked_ns = eng.now_ns;
	wake_doors(0);
}

static void
mark_paths(void)
{
	for (uint32_t k = 0; k < doors.sites.n; k++)
		if (doors.sites.site[k].path != DOOR_NONE)
			net.path_use[doors.sites.site[k].path] = USE_DOOR;
}

/* The job's relay of that site is up (again). */
static void
seek_relay(uint32_t site)
{
	uint32_t i = relayset_find(net.relays, &doors.sites.site[site].relay);
	struct relayset_info r;

	if (i == RELAYSET_NONE)
		return;
	relayset_info(net.relays, i, &r);
	if (!r.up)
		return;
	door_sites_enter(&doors.sites, site, r.path, r.mtu, eng.now_ns);
	note_relay_up();
}

static void
seek_relays(uint64_t now_ns)
{
	if (!doors.shared) {
		wake_doors(door_sites_seek(&doors.sites, now_ns));
		mark_paths();
		return;
	}
	for (uint32_t k = 0; k < doors.sites.n; k++) {
		if (doors.sites.site[k].path == DOOR_NONE)
			seek_relay(k);
		if (doors.sites.site[k].path == DOOR_NONE)
			wake_doors(now_ns + SEEK_NS);
	}
}

static int
choose_relays(char why[LMPI_WHY])
{
	doors.shared = lmpi_net_has_relays();
	door_sites_init(&doors.sites, &doors.client, net.ep);
	doors.sites.dirty = &net.dirty;
	if (!doors.shared)
		return knob_relays(why);
	relays_of_job();
	if (doors.sites.n)
		return LMPI_OK;
	snprintf(why, LMPI_WHY, "no relay of this job is up");
	return ERR_OTHER;
}

static int
begin_relays(char why[LMPI_WHY])
{
	int err = choose_relays(why);

	if (err)
		return err;
	doors.on = true;
	doors.why[0] = '\0';
	doors.alone_ns = 0;
	doors.looked_ns = eng.now_ns;
	doors.seek_ns = BASE_NEVER_NS;
	wake_doors(eng.now_ns + LOOK_NS);
	if (doors.shared) {
		seek_relays(eng.now_ns);
		return LMPI_OK;
	}
	err = lmpi_net_more(); /* the kernel may know only one other process */
	for (uint32_t k = 0; !err && k < doors.sites.n; k++)
		err = door_sites_call(&doors.sites, k, suci_udp_now_ns());
	mark_paths();
	if (err)
		snprintf(why, LMPI_WHY, "no path to the relay of LIBMPI_RELAY: %s",
			 suci_strerror(err));
	return err ? ERR_OTHER : LMPI_OK;
}

/* Nobody waits for a relay any more. */
static void
give_doors_up(void)
{
	doors.on = false;
	for (uint32_t k = 0; k < doors.sites.n; k++) {
		uint32_t path = doors.sites.site[k].path;
		doors.sites.site[k].path = DOOR_NONE;
		if (path != DOOR_NONE && !doors.shared) {
			net.path_use[path] = USE_NONE;
			suci_path_close(net.ep, path, LMPI_FINISHED, eng.now_ns);
			net.dirty = true;
		}
		lmpi_talks_over(k, true);
		door_sites_down(&doors.sites, k, false, eng.now_ns);
	}
	meet_ways_over(&doors.ways, eng.now_ns);
}

bool
lmpi_doors_is_relay(const struct suci_addr *at)
{
	return door_sites_of(&doors.sites, at) != DOOR_NONE;
}

void
lmpi_doors_path_up(uint32_t path, const void *hello, size_t len)
{
	uint32_t site = door_sites_at(&doors.sites, path);

	if (site == DOOR_NONE)
		suci_path_close(net.ep, path, "not needed any more", eng.now_ns);
	else if (door_sites_up(&doors.sites, path, hello, len, eng.now_ns))
		note_relay_up();
}

void
lmpi_doors_relay_up(void)
{
	if (doors.on)
		wake_doors(0);
}

void
lmpi_doors_path_down(uint32_t path, const char *what, const char *text)
{
	char name[SUCI_ADDR_TEXT_MAX];
	uint32_t site = door_sites_at(&doors.sites, path);

	if (site == DOOR_NONE)
		return;
	const struct door_site *s = &doors.sites.site[site];
	suci_addr_text(&s->relay, name);
	snprintf(doors.why, sizeof doors.why, "the relay %s %s%s%.80s", name,
		 s->is_none ? "is not a relay" : what, text && *text ? ": " : "", text ? text : "");
	lmpi_talks_over(site, false);
	door_sites_down(&doors.sites, site, doors.on && !eng.closing, eng.now_ns);
	wake_doors(0);
}

/* ---- processes of other jobs ---- */

/* The process behind it is gone, or the way to it. */
static void
lose_process(void *user, uint32_t world, enum door_client_lost why, const char *words)
{
	static const enum suci_down down[] = {[DOOR_CLIENT_REFUSED] = SUCI_DOWN_REFUSED,
					      [DOOR_CLIENT_GONE] = SUCI_DOWN_CLOSED,
					      [DOOR_CLIENT_RESET] = SUCI_DOWN_RESET,
					      [DOOR_CLIENT_RELAY] = SUCI_DOWN_SILENT};
	const char *text = doors.why;

	(void)user;
	if (why == DOOR_CLIENT_REFUSED)
		text = "its relay knows no such door, or one is full";
	else if (why == DOOR_CLIENT_GONE)
		text = words;
	else if (why == DOOR_CLIENT_RESET)
		text = "a path between relays broke, and did not come back";
	lmpi_route[world].has_lane = false;
	lmpi_net_stranger_down(world, down[why], text);
}

static uint64_t
salt_of(const struct lmpi_proc *from, const struct lmpi_proc *to)
{
	return (from->job ^ from->number) * 0x9e3779b97f4a7c15u + (to->job ^ to->number);
}

static void
conf_of_way(void *user, uint32_t world, struct suci_lane_conf *c)
{
	const struct lmpi_proc *me = &lmpi_world.proc[lmpi_world.rank];
	const struct lmpi_proc *it = &lmpi_world.proc[world];

	(void)user;
	c->window = lmpi_net_relay_window();
	c->window_max = LMPI_HELD_MAX;
	c->tx_salt = salt_of(me, it);
	c->rx_salt = salt_of(it, me);
}

static void
way_opened(void *user, uint32_t world, uint32_t lane)
{
	(void)user;
	net.lane_rank[lane] = world;
	lmpi_route[world].lane = lane;
	lmpi_route[world].has_lane = true;
}

static void
wake_soon(void *user)
{
	(void)user;
	wake_doors(0);
}

static const struct meet_ways_ops ways_ops = {
	.lane = conf_of_way, .opened = way_opened, .lost = lose_process, .wake = wake_soon};

bool
lmpi_doors_import(uint32_t world, const struct door_address *at)
{
	struct meet_ways *w = &doors.ways;
	uint32_t most = 2 * w->max + 16;

	if (w->n == w->max) {
		struct meet_way *more = realloc(w->way, most * sizeof *more);
		if (!more)
			return false;
		meet_ways_grow(w, more, most);
	}
	return lmpi_imports_room() && meet_ways_to(w, world, at, eng.now_ns) != MEET_WAY_NONE;
}

bool
lmpi_doors_open_lane(uint32_t world)
{
	uint32_t way = meet_ways_of(&doors.ways, world);

	return way != MEET_WAY_NONE && meet_ways_open(&doors.ways, way, eng.now_ns);
}

void
lmpi_doors_forget(uint32_t world)
{
	uint32_t way = meet_ways_of(&doors.ways, world);

	lmpi_route[world].has_lane = false;
	if (way != MEET_WAY_NONE)
		meet_ways_drop(&doors.ways, way, eng.now_ns);
}

void
lmpi_doors_lane_down(uint32_t world, const char *text)
{
	meet_ways_lane_down(&doors.ways, world, eng.now_ns);
	lmpi_net_stranger_down(world, SUCI_DOWN_LOCAL, text);
}

/* ---- what the client of doors wants ---- */

static bool
say_to_relay(void *user, uint32_t site, const void *note, size_t len)
{
	(void)user;
	return door_sites_say(&doors.sites, site, note, len, suci_udp_now_ns());
}

static void
door_opened(void *user, uint32_t own)
{
	const struct door_client_own *d = &doors.client.own[own];

	(void)user;
	if (own == doors.ways.mine)
		meet_ways_opened(&doors.ways, eng.now_ns);
	else if (d->state == DOOR_CLIENT_OVER && d->back)
		doors.seek_ns = eng.now_ns + LOOK_NS; /* a port's was not given back */
	wake_doors(doors.seek_ns);
}

static bool
is_of_talk(uint32_t import)
{
	return doors.client.import[import].whose == DOOR_NONE;
}

static void
import_reached(void *user, uint32_t import)
{
	(void)user;
	if (is_of_talk(import))
		lmpi_talk_reached(import);
	else
		meet_ways_reached(&doors.ways, import, eng.now_ns);
}

static void
import_lost(void *user, uint32_t import, enum door_client_lost why)
{
	(void)user;
	if (is_of_talk(import))
		lmpi_talk_lost(import, why);
	else
		meet_ways_lost(&doors.ways, import, why, eng.now_ns);
}

static void
caller_left(void *user, uint32_t site, uint32_t label)
{
	(void)user;
	lmpi_talk_gone(site, label);
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
	uint64_t wait_ns = lmpi_knob_number(LMPI_KNOB_PARTITION_TIMEOUT) * BASE_S_NS;
	if (!lmpi_knob_text(LMPI_KNOB_PARTITION_TIMEOUT))
		wait_ns = WAIT_NS;
	door_client_init(&doors.client, &conf, own, DOORS_MAX, NULL, 0);
	meet_ways_init(&doors.ways, &doors.client, &doors.sites, net.lanes, &ways_ops, NULL, NULL,
		       0, wait_ns);
	lmpi_talks_begin();
	return LMPI_OK;
}

/* ---- own doors ---- */

static bool
door_settled(void *arg)
{
	const struct door_client_own *d = &doors.client.own[*(const uint32_t *)arg];

	return door_sites_alone(&doors.sites) || d->state == DOOR_CLIENT_HAVE ||
	       d->state == DOOR_CLIENT_OVER;
}

int
lmpi_doors_await(uint32_t *door, char why[LMPI_WHY])
{
	char name[LMPI_RELAY_NAME];
	uint32_t i = door_client_open(&doors.client, 0, 1, own_realm(), 0);

	if (i == DOOR_NONE) {
		snprintf(why, LMPI_WHY, "%u doors are in use: close some ports", DOORS_MAX);
		return ERR_OTHER;
	}
	bool in_time = lmpi_wait_until(door_settled, &i, suci_udp_now_ns() + READY_NS);
	if (doors.client.own[i].state == DOOR_CLIENT_HAVE) {
		*door = i;
		return LMPI_OK;
	}
	lmpi_doors_relay(name);
	if (door_sites_alone(&doors.sites) && doors.why[0])
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

/* The door of this process. */
static int
open_process_door(char why[LMPI_WHY])
{
	uint32_t door;
	int err = lmpi_doors_await(&door, why);

	if (!err)
		meet_ways_from(&doors.ways, door);
	else
		give_doors_up();
	return err;
}

int
lmpi_doors_ready(char why[LMPI_WHY])
{
	int err = LMPI_OK;

	if (!lmpi_doors_wanted())
		return LMPI_OK;
	if (!doors.client.own)
		err = make_door_client(why);
	if (!err && !doors.on)
		err = begin_relays(why);
	if (!err && doors.ways.mine == MEET_WAY_NONE)
		err = open_process_door(why);
	if (!err)
		lmpi_world.hides_nodes = true;
	return err;
}

bool
lmpi_doors_mine(struct door_address *a)
{
	if (!doors.client.own || doors.ways.mine == MEET_WAY_NONE)
		return false;
	*a = doors.client.own[doors.ways.mine].at;
	return true;
}

int
lmpi_doors_open(uint32_t *door, struct door_address *at, char why[LMPI_WHY])
{
	int err = lmpi_doors_await(door, why);

	if (err)
		return err;
	door_client_stay(&doors.client, *door);
	*at = doors.client.own[*door].at;
	return LMPI_OK;
}

void
lmpi_doors_close(uint32_t door)
{
	lmpi_talks_close(door);
}

/* Those of ports that were not given back: who had them may not be forgotten yet. */
static void
seek_doors(void)
{
	doors.seek_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < doors.client.owns; i++)
		if (i != doors.ways.mine)
			(void)door_client_again(&doors.client, i);
}

/* ---- doors of others ---- */

bool
lmpi_imports_room(void)
{
	struct door_client *c = &doors.client;
	uint32_t most = 2 * c->imports_max + 16;

	for (uint32_t i = 0; i < c->imports; i++)
		if (c->import[i].state == DOOR_CLIENT_FREE)
			return true;
	if (c->imports < c->imports_max)
		return true;
	struct door_client_import *more =
		most < DOOR_CLIENT_PLACES ? realloc(c->import, most * sizeof *more) : NULL;
	if (!more)
		return false;
	door_client_grow(c, more, most);
	return true;
}

void
lmpi_doors_lane(uint32_t site, uint32_t own, uint32_t label, struct suci_lane_conf *c)
{
	*c = door_sites_lane(&doors.sites, site, own, label);
	c->window = lmpi_net_relay_window();
	c->window_max = LMPI_HELD_MAX;
}

enum suci_verdict
lmpi_doors_unknown(uint32_t path, uint32_t dst, uint32_t src)
{
	uint32_t site = door_sites_at(&doors.sites, path);

	if (site == DOOR_NONE || !doors.client.site[site].up)
		return SUCI_DROPPED;
	uint32_t own = door_client_mine(&doors.client, dst);
	if (own == DOOR_NONE)
		return SUCI_DROPPED;
	if (own != doors.ways.mine)
		return lmpi_talk_came(site, own, src);
	return meet_ways_came(&doors.ways, site, src, eng.now_ns);
}

void
lmpi_doors_note(uint32_t path, const void *note, size_t len)
{
	uint32_t site = door_sites_at(&doors.sites, path);

	if (site != DOOR_NONE)
		door_client_note(&doors.client, site, note, len);
}

/* ---- turns ---- */

static uint64_t
look_every(void)
{
	uint64_t limit = lmpi_knob_number(LMPI_KNOB_LIVENESS) * BASE_MS_NS;

	return base_max_ns(relay_silence_every(limit), 20 * BASE_MS_NS);
}

/* Only time in which this process listened counts: programs compute. */
static void
look_at_relays(uint64_t now_ns)
{
	uint64_t step = base_min_ns(now_ns - doors.looked_ns, 2 * look_every());
	uint64_t limit = lmpi_knob_number(LMPI_KNOB_LIVENESS) * BASE_MS_NS;

	doors.looked_ns = now_ns;
	if (!doors.shared)
		door_sites_listen(&doors.sites, step, limit, now_ns);
	doors.alone_ns = doors.client.up ? 0 : doors.alone_ns + step;
	if (doors.alone_ns > doors.ways.rests.wait_ns)
		give_doors_up();
}

static void
turn_client(uint64_t now_ns)
{
	if (now_ns >= doors.seek_ns)
		seek_doors();
	meet_ways_turn(&doors.ways, now_ns);
	wake_doors(door_sites_turn(&doors.sites, now_ns));
	wake_doors(doors.seek_ns);
	wake_doors(meet_ways_due(&doors.ways));
	wake_doors(lmpi_talks_turn());
}

void
lmpi_doors_turn(uint64_t now_ns)
{
	if (now_ns < doors.due_ns)
		return;
	doors.due_ns = BASE_NEVER_NS;
	if (!doors.on)
		return;
	if (!eng.closing)
		seek_relays(now_ns);
	turn_client(now_ns);
	if (eng.closing)
		return;
	if (now_ns - doors.looked_ns >= look_every())
		look_at_relays(now_ns);
	if (doors.on)
		wake_doors(doors.looked_ns + look_every());
}

uint64_t
lmpi_doors_expiry_ns(void)
{
	return doors.due_ns;
}

void
lmpi_doors_leave(const char *text)
{
	if (!doors.shared)
		door_sites_close(&doors.sites, text, suci_udp_now_ns());
}

void
lmpi_doors_fini(void)
{
	free(doors.client.own);
	free(doors.client.import);
	free(doors.ways.way);
	doors = (struct lmpi_doors){.due_ns = BASE_NEVER_NS};
}
