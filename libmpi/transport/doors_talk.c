/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of this process (meet/lines.h) on its lanes, and what their roots ask of them: see doors.h.
 */
#include "doors.h"

#include "meet/lines.h"

#include <stdio.h>
#include <stdlib.h>

#define eng   lmpi_eng
#define net   lmpi_net
#define doors lmpi_doors

_Static_assert(MEET_LINES_MAX == LMPI_TALKS_MAX, "lanes for all lines");

static struct meet_lines lines;

/* ---- what lines ask for ---- */

static void *
take_memory(void *user, size_t bytes)
{
	(void)user;
	return malloc(bytes);
}

static void
give_memory(void *user, void *mem)
{
	(void)user;
	free(mem);
}

static void
line_lane(void *user, uint32_t site, uint32_t own, uint32_t label, struct suci_lane_conf *c)
{
	(void)user;
	lmpi_doors_lane(site, doors.client.own[own].at.label, label, c);
}

static void
line_opened(void *user, uint32_t lane, uint32_t line)
{
	(void)user;
	net.lane_rank[lane] = LANE_TALK | line;
}

static uint32_t
import_caller(void *user, const struct door_address *at, uint32_t own)
{
	(void)user;
	return lmpi_imports_room() ? door_client_import(&doors.client, at, own, DOOR_NONE)
				   : DOOR_NONE;
}

static void
wake_lines(void *user)
{
	(void)user;
	doors.due_ns = 0;
}

static const struct meet_lines_ops lines_ops = {.take = take_memory,
						.give = give_memory,
						.lane = line_lane,
						.opened = line_opened,
						.import = import_caller,
						.wake = wake_lines};

void
lmpi_talks_begin(void)
{
	/* Longer than ways: see meet/lines.h. */
	meet_lines_init(&lines, &doors.client, net.lanes, &lines_ops, NULL,
			2 * doors.ways.rests.wait_ns);
}

uint64_t
lmpi_doors_outage_ns(void)
{
	return base_add_ns(lines.rests.wait_ns, doors.ways.rests.wait_ns);
}

/* ---- beginning ---- */

enum suci_verdict
lmpi_talk_came(uint32_t site, uint32_t door, uint32_t label)
{
	return meet_lines_came(&lines, site, door, label, eng.now_ns);
}

bool
lmpi_doors_knocks(uint32_t door)
{
	return meet_lines_knocks(&lines, door) != MEET_LINE_NONE;
}

uint32_t
lmpi_doors_knock(uint32_t door)
{
	return meet_lines_knock(&lines, door);
}

bool
lmpi_doors_lead(const struct door_address *to)
{
	return doors.client.own && meet_lines_lead(&lines, doors.ways.mine, to);
}

static bool
import_settled(void *arg)
{
	const struct door_client_import *m = &doors.client.import[*(const uint32_t *)arg];

	return !doors.on || door_client_reaches(m) || m->state == DOOR_CLIENT_OVER;
}

static int
why_not_called(const struct door_address *a, const struct door_client_import *m, char why[LMPI_WHY])
{
	uint32_t ip = a->relay[0].ipv4;

	if (!doors.on || !doors.client.up)
		snprintf(why, LMPI_WHY, "%s", doors.why);
	else if (m->state == DOOR_CLIENT_OVER)
		snprintf(why, LMPI_WHY,
			 "nobody has that port open behind the relay %u.%u.%u.%u:%u now, or one of "
			 "the relays takes no more doors",
			 ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255, a->relay[0].port);
	else
		snprintf(
			why, LMPI_WHY,
			"the relay %u.%u.%u.%u:%u of the port does not answer ours: is it running, "
			"and does it carry doors?",
			ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255, a->relay[0].port);
	return LMPI_ERR_PORT;
}

/* A door and an import for the line. */
static int
begin_call(uint32_t line, const struct door_address *to, uint32_t *import, char why[LMPI_WHY])
{
	uint32_t door;
	int err = lmpi_doors_await(&door, why);

	if (err)
		return err;
	*import = lmpi_imports_room() ? door_client_import(&doors.client, to, door, DOOR_NONE)
				      : DOOR_NONE;
	if (*import == DOOR_NONE) {
		lmpi_doors_close(door);
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	meet_lines_call(&lines, line, door, *import);
	return LMPI_OK;
}

int
lmpi_doors_call(const struct door_address *to, uint64_t deadline_ns, uint32_t *talk,
		char why[LMPI_WHY])
{
	uint32_t line, import = DOOR_NONE;
	int err;

	if (to->realm != doors.client.own[doors.ways.mine].at.realm) {
		snprintf(why, LMPI_WHY,
			 "the port is of another realm than this job: LIBMPI_REALM has to be the "
			 "same in both");
		return LMPI_ERR_PORT;
	}
	line = meet_lines_keep(&lines, eng.now_ns);
	if (line == MEET_LINE_NONE) {
		snprintf(why, LMPI_WHY, "%u others are being connected already", MEET_LINES_MAX);
		return LMPI_ERR_OTHER;
	}
	err = begin_call(line, to, &import, why);
	if (!err) {
		(void)lmpi_wait_until(import_settled, &import, deadline_ns);
		if (!doors.on || !meet_lines_go(&lines, line, eng.now_ns))
			err = why_not_called(to, &doors.client.import[import], why);
	}
	if (err)
		meet_lines_hang_up(&lines, line, eng.now_ns);
	*talk = line;
	return err;
}

bool
lmpi_doors_refused(uint32_t talk, char why[LMPI_WHY])
{
	const struct meet_line *t = &lines.line[talk];

	if (!t->refused)
		return false;
	(void)why_not_called(&doors.client.import[t->import].at, &doors.client.import[t->import],
			     why);
	return true;
}

/* ---- saying, hearing ---- */

int64_t
lmpi_doors_say(uint32_t talk, const void *data, size_t len)
{
	int64_t n = meet_lines_say(&lines, talk, data, len, suci_udp_now_ns());

	net.dirty |= n > 0;
	return n;
}

int64_t
lmpi_doors_hear(uint32_t talk, void *data, size_t len)
{
	return meet_lines_hear(&lines, talk, data, len);
}

bool
lmpi_doors_heard(uint32_t talk)
{
	return meet_lines_heard(&lines, talk);
}

void
lmpi_doors_hang_up(uint32_t talk)
{
	meet_lines_hang_up(&lines, talk, eng.now_ns);
	doors.due_ns = 0;
}

/* ---- what doors and lanes tell ---- */

void
lmpi_talk_gone(uint32_t site, uint32_t label)
{
	meet_lines_gone(&lines, site, label, eng.now_ns);
}

void
lmpi_talk_reached(uint32_t import)
{
	meet_lines_reached(&lines, import, eng.now_ns);
}

void
lmpi_talk_lost(uint32_t import, enum door_client_lost why)
{
	meet_lines_lost(&lines, import, why, eng.now_ns);
}

void
lmpi_talks_close(uint32_t door)
{
	meet_lines_close(&lines, door, eng.now_ns);
}

void
lmpi_talks_over(uint32_t site, bool for_good)
{
	meet_lines_over(&lines, site, for_good, eng.now_ns);
}

uint64_t
lmpi_talks_turn(void)
{
	meet_lines_turn(&lines, eng.now_ns);
	return meet_lines_due(&lines);
}

void *
lmpi_talk_block_begin(uint32_t lane, uint64_t bytes)
{
	return meet_lines_block_begin(&lines, net.lane_rank[lane] & ~LANE_TALK, bytes);
}

void
lmpi_talk_block_data(void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	meet_lines_block_data(block, offset, data, len);
}

void
lmpi_talk_block_end(uint32_t lane, void *block)
{
	meet_lines_block_end(&lines, net.lane_rank[lane] & ~LANE_TALK, block);
}

void
lmpi_talk_block_done(uint32_t lane, uint64_t cookie)
{
	meet_lines_block_done(&lines, net.lane_rank[lane] & ~LANE_TALK, cookie);
}

void
lmpi_talk_lane_down(uint32_t lane)
{
	meet_lines_lane_down(&lines, net.lane_rank[lane] & ~LANE_TALK);
}
