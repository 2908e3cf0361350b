/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are what somebody says who has come to a port, or who stands for the other root: by the
 * first one, how the conversation began, then lengths and bytes. */
#include "meet/port.h"
#include "meet/talk.h"

#include "base/assert.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN 0x0102030405060708u
#define SWAP  (8 * BASE_S_NS)

struct bytes {
	const uint8_t *at;
	size_t left;
};

static uint8_t
next_byte(struct bytes *b)
{
	if (!b->left)
		return 0;
	b->left--;
	return *b->at++;
}

/* ---- guests of a port: each byte is who says how much, or comes, or that time passes ---- */

static void
say_as_guest(struct meet_port *p, int seat, struct bytes *b, bool *goes)
{
	uint8_t *at, n = next_byte(b);
	size_t room = meet_port_room(p, seat, &at);
	bool taken = p->guest[seat].state == MEET_GUEST_TAKEN;

	BASE_ASSERT(room > 0 && room <= MEET_WORD_BYTES);
	n = (uint8_t)(n % 16 < room ? n % 16 : room);
	n = (uint8_t)(n < b->left ? n : b->left);
	memcpy(at, b->at, n);
	b->at += n;
	b->left -= n;
	enum meet_heard heard = meet_port_heard(p, seat, n);
	BASE_ASSERT(heard != MEET_HEARD_GO || taken);
	BASE_ASSERT(meet_port_seated(p, seat) == (heard == MEET_HEARD_PART));
	*goes |= heard == MEET_HEARD_GO;
}

static void
pass_time(struct meet_port *p, uint64_t *now)
{
	*now += BASE_S_NS / 4;
	for (int i = 0; i < (int)MEET_GUESTS_MAX; i++)
		if (meet_port_seated(p, i) && meet_port_silent(p, i, *now))
			meet_port_leave(p, i);
}

static void
play_guests(struct bytes b)
{
	static struct meet_port p;
	uint8_t word[MEET_WORD_BYTES];
	uint64_t now = BASE_S_NS, knocks = 0;

	meet_port_init(&p, TOKEN);
	while (b.left) {
		uint8_t what = next_byte(&b);
		int seat = what % 8;
		bool goes = false;
		if (what >= 224)
			pass_time(&p, &now);
		else if (what >= 192 && meet_port_open(&p, now)) {
			int victim = meet_port_victim(&p, what % 3, now);
			if (victim >= 0)
				meet_port_leave(&p, victim);
			BASE_ASSERT(meet_port_enter(&p, what % 3, now) >= 0);
		} else if (meet_port_seated(&p, seat)) {
			say_as_guest(&p, seat, &b, &goes);
		}
		int first;
		if (!goes &&
		    meet_port_turn(&p, what & 16, now, now, &first, word) == MEET_TURN_NEAR)
			BASE_ASSERT(meet_port_any_taken(&p) && p.knocks > knocks++);
	}
}

/* ---- the other root ---- */

static uint8_t knock[MEET_KNOCK_BYTES], greeting[MEET_GREETING_BYTES], first[256], got[64];

static void
begin_talk(struct meet_talk *t, uint8_t how, uint64_t now)
{
	meet_talk_init(t, how % 4 < 2, TOKEN, SWAP, SWAP / 2);
	if (how % 4 == 0)
		meet_talk_take(t, knock, greeting, now);
	else if (how % 4 == 3)
		meet_talk_greet(t, knock, greeting, now);
	else
		meet_talk_knock(t, got, greeting, first, how, knock, now + SWAP);
}

static void
play_talk(struct bytes b)
{
	uint8_t how = next_byte(&b), *to;
	const uint8_t *from;
	uint64_t now = BASE_S_NS;
	struct meet_talk t;
	size_t size = b.left;
	uint32_t swaps = 0;

	begin_talk(&t, how, now);
	for (uint32_t turn = 0;; turn++) {
		BASE_ASSERT(turn < 300 + size); /* it has an end */
		uint8_t n = next_byte(&b);
		size_t room = meet_talk_hears(&t, &to), says = meet_talk_says(&t, &from);
		if (says)
			meet_talk_said(&t, how & 64 ? (n % says) + 1 : says, now);
		room = meet_talk_hears(&t, &to);
		size_t len = n % 64u < room ? n % 64u : room;
		len = len < b.left ? len : b.left;
		if (len) {
			memcpy(to, b.at, len);
			b.at += len;
			b.left -= len;
			meet_talk_heard(&t, len, now);
		}
		if (!b.left && how & 32)
			meet_talk_broke(&t);
		now += n >= 192 || !b.left ? BASE_S_NS : 0;
		if (!meet_talk_over(&t, now))
			continue;
		if (t.state != MEET_DONE || ++swaps > 4)
			return;
		if (n & 1)
			meet_talk_swap(&t, knock, n, got, n % sizeof got, now);
		else
			meet_talk_decide(&t, n & 2, now);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	play_guests((struct bytes){data, size});
	play_talk((struct bytes){data, size});
	return 0;
}
