/* SPDX-License-Identifier: BSD-2-Clause */
/* What other daemons say, to whom it is for. */
#include "daemon.h"

void
spd_hear(uint32_t from, const uint8_t *bytes, size_t len, uint64_t now_ns)
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
		spd_begin_heard(from, &n, now_ns);
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
