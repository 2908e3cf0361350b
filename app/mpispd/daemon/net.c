/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks to and from the other daemons, by libsuci: each unit of our site is an id of its address
 * database. */
#include "daemon.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX  256 /* blocks for a unit that does not take any */
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
		if (!spd_unit_is_near(c, u, spd.me) || (is_anywhere(u) && u != spd.me))
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
		if (!spd_unit_is_near(spd.conf, u, spd.me))
			continue;
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
	return spd.net && spd_sites_open(why);
}

bool
spd_net_rekey(char why[SPD_WHY])
{
	if (datagram_rekey(spd.net) == 0)
		return spd_sites_rekey(why);
	snprintf(why, SPD_WHY, "%s", datagram_error(spd.net));
	return false;
}

void
spd_net_close(void)
{
	spd_sites_close();
	(void)datagram_close(spd.net);
	spd.net = NULL;
	free(block);
}

/* ---- sending ---- */

void
spd_net_send(uint32_t unit, const void *bytes, size_t len)
{
	if (!spd_unit_is_near(spd.conf, unit, spd.me)) {
		spd.peer[unit].dropped += !spd_sites_send(unit, bytes, len);
		return;
	}
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

void
spd_say(const char *fmt, ...)
{
	struct spd_note n = {.type = SPD_NOTE_SAID, .cluster = spd.conf->unit[spd.me].cluster};
	va_list ap;

	va_start(ap, fmt);
	snprintf(n.text, sizeof n.text, "%s", spd_log_va(fmt, ap));
	va_end(ap);
	spd_net_cluster(&n);
}

/* ---- receiving ---- */

void
spd_net_read(spd_hear_fn *hear, uint64_t now_ns)
{
	spd_sites_read(hear, now_ns);
	(void)datagram_progress(spd.net);
	for (;;) {
		int64_t n = datagram_read0(spd.net, block, BLOCK_ROOM);
		if (n < 0)
			return;
		int64_t from = datagram_source(spd.net);
		hear((uint32_t)from, block, (size_t)n, now_ns);
	}
}
