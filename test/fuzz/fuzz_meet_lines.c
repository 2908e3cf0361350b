/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of two processes, on real lanes and clients of doors (test/unit/meet_lines_kit.h).  Each
 * byte is what one of them does or what befalls it; some take another byte.  Whatever that is, what
 * is heard is what was said, in its order, and nothing is left of it in the end. */
#include "../unit/block_pool.h"

#define LINK_TAKE(n) block_take(n)
#define LINK_GIVE(p) block_give(p)
#define LINK_WINDOW  256
#include "../unit/meet_lines_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPS 12u /* of one input */

/* What is said on a line of the end that calls is of the line's door, so that a byte tells whose it
 * is and where it was. */
static uint8_t words[MEET_LINE_SAY_BYTES + 256 + 64];
static struct base_reader in;

struct place {
	uint32_t turn, said, heard; /* bytes of that conversation */
};

static struct place place[2][MEET_LINES_MAX];

/* What the place remembers is of this conversation. */
static struct place *
place_of(struct kit *k, int side, uint32_t line)
{
	struct place *p = &place[side][line];
	uint32_t turn = (uint32_t)k->end[side].lines.line[line].turn + 1;

	if (p->turn != turn)
		*p = (struct place){.turn = turn};
	return p;
}

/* A line of the end that is in that state, the input says which. */
static uint32_t
pick_line(const struct kit_end *e, enum meet_line_state state)
{
	uint32_t from = base_read_u8(&in);

	for (uint32_t i = 0; i < MEET_LINES_MAX; i++) {
		uint32_t line = (from + i) % MEET_LINES_MAX;
		if (e->lines.line[line].state == state)
			return line;
	}
	return MEET_LINE_NONE;
}

static void
say_some(struct kit *k, int side)
{
	struct kit_end *e = &k->end[side];
	uint32_t line = pick_line(e, MEET_LINE_ON), len = base_read_u8(&in);

	len = len < 200 ? len + 1 : (len - 199) * 1100;
	if (line == MEET_LINE_NONE)
		return;
	struct place *p = place_of(k, side, line);
	int64_t n = meet_lines_say(&e->lines, line, words + p->said % 256, len, k->l.now_ns);
	assert_true(n <= (int64_t)MEET_LINE_SAY_BYTES && n <= len);
	p->said += n > 0 ? (uint32_t)n : 0;
}

static void
hear_some(struct kit *k, int side)
{
	static uint8_t got[100000];
	struct kit_end *e = &k->end[side];
	uint32_t line = pick_line(e, MEET_LINE_ON), len = base_read_u8(&in) * 300u + 1;

	if (line == MEET_LINE_NONE)
		return;
	struct place *p = place_of(k, side, line);
	bool heard = meet_lines_heard(&e->lines, line);
	int64_t n = meet_lines_hear(&e->lines, line, got, len);
	assert_true(n <= len && heard == (n != 0));
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(got[i], (uint8_t)p->heard++);
}

static void
end_some(struct kit *k, int side)
{
	struct kit_end *e = &k->end[side];
	uint32_t what = base_read_u8(&in);

	if (what % 4 < 2) {
		uint32_t line = pick_line(e, what & 4 ? MEET_LINE_CALLS : MEET_LINE_ON);
		if (line != MEET_LINE_NONE)
			meet_lines_hang_up(&e->lines, line, k->l.now_ns);
	} else if (what % 4 == 2 && e->port != DOOR_CLIENT_NONE) {
		meet_lines_close(&e->lines, e->port, k->l.now_ns);
		e->port = DOOR_CLIENT_NONE;
	} else if (what % 4 == 3) {
		kit_relay_gone(e);
		for (uint32_t i = 0; i < MEET_LINES_MAX; i++)
			if (e->lines.line[i].state != MEET_LINE_FREE)
				meet_lines_hang_up(&e->lines, i, k->l.now_ns);
		if (e->port != DOOR_CLIENT_NONE)
			door_client_close(&e->client, e->port);
		e->port = DOOR_CLIENT_NONE;
		door_client_up(&e->client, 0);
	}
}

static void
pass_some(struct kit *k)
{
	uint32_t ms = base_read_u8(&in);

	kit_pass(k, (ms < 200 ? ms : (ms - 199) * 1000ull) * BASE_MS_NS);
}

static void
act_once(struct kit *k, uint8_t op)
{
	int side = op >> 7;
	struct kit_end *e = &k->end[side];

	switch (op % OPS) {
	case 0:
	case 1:
		(void)kit_call(e);
		break;
	case 2:
	case 3:
	case 4:
		say_some(k, side);
		break;
	case 5:
		hear_some(k, side);
		break;
	case 6:
		if (e->port != DOOR_CLIENT_NONE)
			(void)meet_lines_knock(&e->lines, e->port);
		break;
	case 7:
		end_some(k, side);
		break;
	case 8:
		if (e->port == DOOR_CLIENT_NONE)
			e->port = kit_open_door(e);
		else if (op & 64)
			kit_turn(k);
		else
			meet_lines_over(&e->lines, 0, false, k->l.now_ns);
		break;
	case 9:
		e->poor = !e->poor && op & 64;
		break;
	case 10:
		k->l.cut = !k->l.cut && op & 64;
		k->l.loss_ppb = op & 32 ? 200000000 : 0;
		break;
	default:
		pass_some(k);
		break;
	}
	kit_check(k);
}

/* All hang up, and time passes: what nobody needs is given back, over relays that live. */
static void
end_all(struct kit *k)
{
	k->l.cut = false;
	k->l.loss_ppb = 0;
	for (int i = 0; i < 2; i++) {
		struct kit_end *e = &k->end[i];
		e->poor = false;
		for (uint32_t t = 0; t < MEET_LINES_MAX; t++)
			if (e->lines.line[t].state == MEET_LINE_ON ||
			    e->lines.line[t].state == MEET_LINE_CALLS)
				meet_lines_hang_up(&e->lines, t, k->l.now_ns);
	}
	for (int i = 0; i < 8; i++) /* those that rest have turns */
		kit_pass(k, MEET_LINE_LINGER_NS / 4);
	for (int i = 0; i < 2; i++) {
		struct kit_end *e = &k->end[i];
		assert_int_equal(kit_lines(e, MEET_LINE_FREE), MEET_LINES_MAX);
		assert_int_equal(kit_doors(e), e->port != DOOR_CLIENT_NONE);
		assert_int_equal(e->taken, 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kit_two = size & 1; /* lines move, or not */
	struct kit *k = kit_new();

	in = base_reader(data, size);
	memset(place, 0, sizeof place);
	for (size_t i = 0; i < sizeof words; i++)
		words[i] = (uint8_t)i;
	while (base_reader_left(&in))
		act_once(k, base_read_u8(&in));
	end_all(k);
	kit_free(k);
	return 0;
}
