/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/port.h"

#include "base/assert.h"

void
meet_port_init(struct meet_port *p, uint64_t token)
{
	*p = (struct meet_port){.token = token};
	base_lobby_init(&p->lobby, MEET_GUESTS_MAX, MEET_GUEST_NS);
}

static uint32_t
count_guests(const struct meet_port *p, enum meet_guest_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MEET_GUESTS_MAX; i++)
		n += p->guest[i].state == state;
	return n;
}

bool
meet_port_any_taken(const struct meet_port *p)
{
	return count_guests(p, MEET_GUEST_TAKEN) != 0;
}

/* ---- coming, going ---- */

bool
meet_port_open(const struct meet_port *p, uint64_t now_ns)
{
	return !count_guests(p, MEET_GUEST_TAKEN) && !count_guests(p, MEET_GUEST_KNOCKED) &&
	       base_lobby_room_ns(&p->lobby) <= now_ns;
}

int
meet_port_victim(const struct meet_port *p, uint64_t source, uint64_t now_ns)
{
	return base_lobby_victim(&p->lobby, source, now_ns);
}

int
meet_port_enter(struct meet_port *p, uint64_t source, uint64_t now_ns)
{
	int seat = base_lobby_enter(&p->lobby, source, now_ns);

	BASE_ASSERT(seat >= 0);
	p->guest[seat] =
		(struct meet_guest){.state = MEET_GUEST_SILENT, .until_ns = now_ns + MEET_GUEST_NS};
	return seat;
}

void
meet_port_leave(struct meet_port *p, int seat)
{
	base_lobby_leave(&p->lobby, seat);
	p->guest[seat].state = MEET_GUEST_NONE;
}

int
meet_port_oldest(const struct meet_port *p)
{
	int oldest = -1;

	for (int i = 0; i < (int)MEET_GUESTS_MAX; i++)
		if (p->guest[i].state == MEET_GUEST_SILENT &&
		    (oldest < 0 || p->guest[i].until_ns < p->guest[oldest].until_ns))
			oldest = i;
	return oldest;
}

/* ---- hearing, saying ---- */

size_t
meet_port_room(struct meet_port *p, int seat, uint8_t **at)
{
	struct meet_guest *g = &p->guest[seat];

	*at = g->word + g->have;
	return sizeof g->word - g->have;
}

enum meet_heard
meet_port_heard(struct meet_port *p, int seat, size_t n)
{
	struct meet_guest *g = &p->guest[seat];

	BASE_ASSERT(n <= sizeof g->word - g->have);
	g->have += (uint32_t)n;
	if (g->have < sizeof g->word)
		return MEET_HEARD_PART;
	g->have = 0;
	if (g->state == MEET_GUEST_SILENT && meet_word_is(g->word, MEET_KNOCK, p->token)) {
		g->state = MEET_GUEST_KNOCKED;
		g->turn = p->knocks++;
		return MEET_HEARD_PART;
	}
	bool goes = g->state == MEET_GUEST_TAKEN && meet_word_is(g->word, MEET_GO, p->token);
	meet_port_leave(p, seat);
	return goes ? MEET_HEARD_GO : MEET_HEARD_WRONG;
}

bool
meet_port_silent(const struct meet_port *p, int seat, uint64_t now_ns)
{
	const struct meet_guest *g = &p->guest[seat];

	return g->state != MEET_GUEST_KNOCKED && now_ns >= g->until_ns;
}

static int
first_knock(const struct meet_port *p)
{
	int first = -1;

	for (int i = 0; i < (int)MEET_GUESTS_MAX; i++)
		if (p->guest[i].state == MEET_GUEST_KNOCKED &&
		    (first < 0 || p->guest[i].turn < p->guest[first].turn))
			first = i;
	return first;
}

enum meet_turn
meet_port_turn(struct meet_port *p, bool far, uint64_t now_ns, uint64_t due_ns, int *seat,
	       uint8_t word[MEET_WORD_BYTES])
{
	int first = first_knock(p);

	if (far && !p->far_waits)
		p->far_turn = p->knocks++;
	p->far_waits = far;
	/* Who was taken may believe that the conversation has begun. */
	if (meet_port_any_taken(p))
		return MEET_TURN_WAIT;
	if (far && (first < 0 || p->far_turn < p->guest[first].turn)) {
		p->far_waits = false;
		return MEET_TURN_FAR;
	}
	if (first < 0)
		return now_ns >= due_ns ? MEET_TURN_LATE : MEET_TURN_WAIT;
	p->guest[first].state = MEET_GUEST_TAKEN;
	p->guest[first].until_ns = now_ns + MEET_GUEST_NS;
	meet_word_write(word, MEET_TAKEN, p->token);
	*seat = first;
	return MEET_TURN_NEAR;
}
