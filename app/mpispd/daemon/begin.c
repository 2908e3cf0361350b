/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemons of a universe begin together: each says that it is up until all have answered. */
#include "daemon.h"

#include "base/clock.h"

#include <stdio.h>

#define HELLO_NS (50 * BASE_MS_NS) /* between two words to those that have not answered */

static uint64_t hello_ns;    /* when to say again that we are up */
static uint64_t deadline_ns; /* of the start */

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

void
spd_begin_heard(uint32_t from, const struct spd_note *n, uint64_t now_ns)
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
spd_begin_turn(uint64_t now_ns)
{
	bool all = true;

	if (spd.node || spd.ending)
		return BASE_NEVER_NS;
	if (!deadline_ns)
		deadline_ns = now_ns + spd.conf->start_timeout_s * BASE_S_NS;
	if (now_ns < hello_ns)
		return hello_ns;
	for (uint32_t u = 0; u < spd.conf->nunits; u++)
		all &= u == spd.me || !is_needed(u) ||
		       (spd.peer[u].heard && spd.peer[u].here >= SPD_HERE_ALL);
	if (all) {
		begin_now(now_ns);
		return BASE_NEVER_NS;
	}
	if (now_ns >= deadline_ns) {
		name_missing();
		spd_end(1, SP_WHY_OPERATOR, "some units did not come");
		return BASE_NEVER_NS;
	}
	hello_ns = now_ns + HELLO_NS;
	tell_here_all();
	return hello_ns;
}
