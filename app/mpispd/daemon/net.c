/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks to and from the other daemons, by libsuci: each unit is an id of its address database. */
#include "daemon.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX  256		     /* blocks for a unit that does not take any */
#define HELLO_NS   (50 * BASE_MS_NS) /* between two words to those that have not answered */
#define BLOCK_ROOM (1u << 20)

static uint8_t *block; /* BLOCK_ROOM */

/* It is known when it has written to us. */
static bool
is_anywhere(uint32_t unit)
{
	return strcmp(spd.conf->unit[unit].host, SPD_ANYWHERE) == 0;
}

static bool
resolve_units(char why[SPD_WHY])
{
	const struct spd_conf *c = spd.conf;

	for (uint32_t u = 0; u < c->nunits; u++) {
		struct addrinfo hints = {.ai_family = AF_INET}, *found = NULL;
		if (is_anywhere(u) && u != spd.me)
			continue;
		if (is_anywhere(u)) {
			snprintf(why, SPD_WHY,
				 "units.%s: \"" SPD_ANYWHERE "\" is for other nodes; the file of "
				 "this one has to say where it is",
				 c->unit[u].name);
			return false;
		}
		int e = getaddrinfo(c->unit[u].host, NULL, &hints, &found);
		if (e || !found) {
			snprintf(why, SPD_WHY, "unit %s: %s: %s; say where it is in \"units\"",
				 c->unit[u].name, c->unit[u].host, gai_strerror(e));
			return false;
		}
		const struct sockaddr_in *in = (const void *)found->ai_addr;
		spd.ip[u] = ntohl(in->sin_addr.s_addr);
		freeaddrinfo(found);
	}
	return true;
}

static struct datagram_db *
database(void)
{
	struct datagram_db *db = datagram_db_new();
	char ip[INET_ADDRSTRLEN];

	for (uint32_t u = 0; db && u < spd.conf->nunits; u++) {
		struct in_addr a = {htonl(spd.ip[u])};
		inet_ntop(AF_INET, &a, ip, sizeof ip);
		if (datagram_db_add(db, u, is_anywhere(u) ? NULL : ip, spd.conf->unit[u].port)) {
			datagram_db_free(db);
			return NULL;
		}
	}
	return db;
}

bool
spd_net_open(char why[SPD_WHY])
{
	struct datagram_conf c;

	if (!resolve_units(why))
		return false;
	block = malloc(BLOCK_ROOM);
	struct datagram_db *db = block ? database() : NULL;
	if (!db) {
		snprintf(why, SPD_WHY, "two units have one address and port, or out of memory");
		return false;
	}
	datagram_conf_init(&c);
	c.id = spd.me;
	c.db = db;
	c.read_bytes = 8u << 20;
	c.write_bytes = 8u << 20;
	c.sockbuf_bytes = 1u << 20;
	c.connect_ms = 2000;
	c.liveness_ms = (uint32_t)(20ull * spd.conf->beat_ms * spd.conf->missed);
	if (c.liveness_ms < 2000)
		c.liveness_ms = 2000;
	c.close_ms = 500;
	c.psk_file = spd.conf->psk_file;
	spd.net = datagram_open_with(&c);
	datagram_db_free(db);
	if (!spd.net)
		snprintf(why, SPD_WHY, "%s", datagram_error(NULL));
	return spd.net != NULL;
}

bool
spd_net_rekey(char why[SPD_WHY])
{
	if (datagram_rekey(spd.net) == 0)
		return true;
	snprintf(why, SPD_WHY, "%s", datagram_error(spd.net));
	return false;
}

void
spd_net_close(void)
{
	(void)datagram_close(spd.net);
	spd.net = NULL;
	free(block);
}

/* ---- sending ---- */

void
spd_net_send(uint32_t unit, const void *bytes, size_t len)
{
	/* An error of the peer is told once, and then it may be written to again. */
	for (int i = 0; i < 2; i++) {
		if (datagram_queue_length(spd.net, unit) < QUEUE_MAX &&
		    datagram_destination(spd.net, unit) == 0 &&
		    datagram_write0(spd.net, bytes, len) >= 0)
			return;
		if (errno == EAGAIN)
			break;
	}
	spd.peer[unit].dropped++;
}

void
spd_net_note(uint32_t unit, const struct spd_note *n)
{
	static uint8_t bytes[SPD_HEAD + SPD_BODY_MAX];
	size_t len = spd_note_write(n, bytes, sizeof bytes);

	if (len)
		spd_net_send(unit, bytes, len);
}

void
spd_net_cluster(const struct spd_note *n)
{
	for (uint32_t u = 0; u < spd.group.units; u++)
		if (spd.group.unit[u] != spd.me)
			spd_net_note(spd.group.unit[u], n);
}

/* ---- beginning together ---- */

/* The others wait for it, unless its cluster starts later. */
static bool
is_needed(uint32_t unit)
{
	return !spd.conf->cluster[spd.conf->unit[unit].cluster].later;
}

static enum spd_here
state_of_start(void)
{
	if (spd.node)
		return SPD_HERE_RUNS;
	for (uint32_t u = 0; u < spd.conf->nunits; u++)
		if (u != spd.me && is_needed(u) && !spd.peer[u].heard)
			return SPD_HERE_WAITS;
	return SPD_HERE_ALL;
}

static void
tell_here(uint32_t unit)
{
	spd_net_note(unit, &(struct spd_note){.type = SPD_NOTE_HERE,
					      .version = SPD_WIRE_VERSION,
					      .state = (uint8_t)state_of_start(),
					      .hash = spd.conf->hash,
					      .own = spd.cluster->own});
}

static void
tell_here_all(void)
{
	for (uint32_t u = 0; u < spd.conf->nunits; u++)
		if (u != spd.me)
			tell_here(u);
}

static void
begin_now(uint64_t now_ns)
{
	char why[SPD_WHY];

	if (!spd_node_begin(now_ns, why)) {
		spd_log("%s", why);
		spd_end(1, SP_WHY_OPERATOR, why);
		return;
	}
	tell_here_all();
}

/* NULL: it is as we are. */
static const char *
difference_to(uint32_t unit, const struct spd_note *n)
{
	if (n->version != SPD_WIRE_VERSION)
		return "runs another version of mpispd: update one of them";
	if (n->hash != spd.conf->hash)
		return "has another configuration: give all units the same file";
	if (&spd.conf->cluster[spd.conf->unit[unit].cluster] == spd.cluster &&
	    n->own != spd.cluster->own)
		return "has another program, io, wdir, relay or place of a unit for the cluster "
		       "of both: give its units the same file";
	return NULL;
}

static void
hear_here(uint32_t from, const struct spd_note *n, uint64_t now_ns)
{
	const struct spd_unit *u = &spd.conf->unit[from];
	struct spd_peer *p = &spd.peer[from];
	const char *other = difference_to(from, n);
	bool first = !p->heard;

	if (other) {
		if (!p->refused)
			spd_log("unit %s %s; it does not count as here", u->name, other);
		p->refused = true;
		return;
	}
	p->heard = true;
	p->here = n->state;
	if (first)
		spd_log("unit %s is up", u->name);
	/* A cluster that runs takes back a unit without waiting for other clusters. */
	if (!spd.node && n->state == SPD_HERE_RUNS)
		begin_now(now_ns);
	else if (first || (spd.node && n->state != SPD_HERE_RUNS))
		tell_here(from);
}

static void
name_missing(void)
{
	char text[SPD_LOG_TEXT - 40] = "";
	size_t at = 0;

	for (uint32_t u = 0; u < spd.conf->nunits && at < sizeof text - 1; u++)
		if (u != spd.me && is_needed(u) && !spd.peer[u].heard)
			at += (size_t)snprintf(text + at, sizeof text - at, " %s",
					       spd.conf->unit[u].name);
	spd_log("%u s are over; these units are not up:%s (do their daemons run, at these "
		"addresses, with the same %s?)",
		spd.conf->start_timeout_s, text, spd.conf->psk_file ? "key" : "ports");
}

uint64_t
spd_net_greet(uint64_t now_ns)
{
	bool all = true;

	if (spd.node || spd.ending)
		return BASE_NEVER_NS;
	if (now_ns < spd.hello_ns)
		return spd.hello_ns;
	for (uint32_t u = 0; u < spd.conf->nunits; u++)
		all &= u == spd.me || !is_needed(u) ||
		       (spd.peer[u].heard && spd.peer[u].here >= SPD_HERE_ALL);
	if (all) {
		begin_now(now_ns);
		return BASE_NEVER_NS;
	}
	if (now_ns >= spd.deadline_ns) {
		name_missing();
		spd_end(1, SP_WHY_OPERATOR, "some units did not come");
		return BASE_NEVER_NS;
	}
	spd.hello_ns = now_ns + HELLO_NS;
	tell_here_all();
	return spd.hello_ns;
}

/* ---- receiving ---- */

static void
take_block(uint32_t from, const uint8_t *bytes, size_t len, uint64_t now_ns)
{
	const struct spd_conf *c = spd.conf;
	struct spd_note n;

	if (from >= c->nunits || !spd_note_read(&n, bytes, len)) {
		/* Once: who sends one may send many. */
		if (from < c->nunits && !spd.peer[from].malformed++)
			spd_log("a malformed block from unit %s; more are not told",
				c->unit[from].name);
		return;
	}
	if (n.type == SPD_NOTE_HERE) {
		hear_here(from, &n, now_ns);
		return;
	}
	uint32_t unit = spd_group_unit(&spd.group, from);
	if (unit == SP_NONE || !spd.node)
		return;
	switch (n.type) {
	case SPD_NOTE_SP:
		spd_node_frame(unit, n.body, n.n, now_ns);
		break;
	case SPD_NOTE_CARD:
		spd_card_came(&n, now_ns);
		break;
	case SPD_NOTE_WANT:
		if (spd.group.pipeline)
			spd_doors_wanted(from);
		else
			spd_card_wanted(from, n.epoch);
		break;
	case SPD_NOTE_DOOR:
		if (spd.group.pipeline)
			spd_door_came(n.slot, n.text);
		break;
	case SPD_NOTE_SAID:
		spd_log("%s: %s", c->unit[from].name, n.text);
		break;
	case SPD_NOTE_LEFT:
		spd_slot_left(n.slot);
		break;
	case SPD_NOTE_ABORT:
		spd_log("%s", n.text);
		spd_end((int)n.status, SP_WHY_OPERATOR, n.text);
		break;
	case SPD_NOTE_PART:
	case SPD_NOTE_PART_WANT:
	case SPD_NOTE_GET:
	case SPD_NOTE_GOT:
		spd_foreign_hear(unit, &n, now_ns);
		break;
	case SPD_NOTE_HERE:
		break;
	}
}

void
spd_net_read(uint64_t now_ns)
{
	(void)datagram_progress(spd.net);
	for (;;) {
		int64_t n = datagram_read0(spd.net, block, BLOCK_ROOM);
		if (n < 0)
			return;
		int64_t from = datagram_source(spd.net);
		take_block((uint32_t)from, block, (size_t)n, now_ns);
	}
}
