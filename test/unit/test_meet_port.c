/* SPDX-License-Identifier: BSD-2-Clause */
/* Who comes to a port (meet/port.h), without sockets; test_lmpi_guests has them. */
#include "meet/port.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#define TOKEN 0x1122334455667788u
#define NOW   BASE_S_NS

static struct meet_port port;

static int
enter_from(uint64_t source, uint64_t now_ns)
{
	int victim = meet_port_victim(&port, source, now_ns);

	if (victim >= 0)
		meet_port_leave(&port, victim);
	return meet_port_enter(&port, source, now_ns);
}

/* n bytes of a word. */
static enum meet_heard
say_to(int seat, enum meet_word what, uint64_t token, size_t n)
{
	uint8_t word[MEET_WORD_BYTES], *at;

	meet_word_write(word, what, token);
	assert_true(meet_port_room(&port, seat, &at) >= n);
	memcpy(at, word + MEET_WORD_BYTES - meet_port_room(&port, seat, &at), n);
	return meet_port_heard(&port, seat, n);
}

static int
take_one(uint64_t now_ns)
{
	uint8_t word[MEET_WORD_BYTES];
	int seat;

	if (meet_port_turn(&port, false, now_ns, BASE_NEVER_NS, &seat, word) != MEET_TURN_NEAR)
		return -1;
	assert_true(meet_word_is(word, MEET_TAKEN, TOKEN));
	return seat;
}

static void
words_of_a_guest(void **state)
{
	static const struct {
		const char *row;
		bool taken; /* it has knocked, and was told */
		enum meet_word word;
		uint64_t token;
		size_t n;
		enum meet_heard heard;
		bool stays;
	} rows[] = {
		{"half a knock", false, MEET_KNOCK, TOKEN, 8, MEET_HEARD_PART, true},
		{"a knock", false, MEET_KNOCK, TOKEN, 16, MEET_HEARD_PART, true},
		{"a knock of another token", false, MEET_KNOCK, TOKEN ^ 1, 16, MEET_HEARD_WRONG,
		 false},
		{"goes before it is taken", false, MEET_GO, TOKEN, 16, MEET_HEARD_WRONG, false},
		{"a knock of doors", false, MEET_KNOCK_FAR, TOKEN, 16, MEET_HEARD_WRONG, false},
		{"goes", true, MEET_GO, TOKEN, 16, MEET_HEARD_GO, false},
		{"goes with another token", true, MEET_GO, TOKEN ^ 1, 16, MEET_HEARD_WRONG, false},
		{"knocks again", true, MEET_KNOCK, TOKEN, 16, MEET_HEARD_WRONG, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("  %s\n", rows[i].row);
		meet_port_init(&port, TOKEN);
		int seat = enter_from(1, NOW);
		if (rows[i].taken) {
			assert_int_equal(say_to(seat, MEET_KNOCK, TOKEN, 16), MEET_HEARD_PART);
			assert_int_equal(take_one(NOW), seat);
			assert_true(meet_port_any_taken(&port));
		}
		assert_int_equal(say_to(seat, rows[i].word, rows[i].token, rows[i].n),
				 rows[i].heard);
		assert_int_equal(meet_port_seated(&port, seat), rows[i].stays);
		assert_int_equal(meet_port_any_taken(&port), rows[i].taken && rows[i].stays);
	}
}

/* Places are given anew, so the order of knocks is not that of seats. */
static void
first_come_first_taken(void **state)
{
	int a, c, d;

	(void)state;
	meet_port_init(&port, TOKEN);
	a = enter_from(1, NOW);
	c = enter_from(2, NOW);
	d = enter_from(3, NOW);
	assert_true(meet_port_open(&port, NOW));
	(void)say_to(d, MEET_KNOCK, TOKEN, 16);
	assert_false(meet_port_open(&port, NOW)); /* who comes now waits outside */
	(void)say_to(a, MEET_KNOCK, TOKEN, 16);
	(void)say_to(c, MEET_KNOCK, TOKEN, 16);
	assert_int_equal(take_one(NOW), d);
	assert_int_equal(take_one(NOW), -1); /* one by one */
	assert_false(meet_port_silent(&port, d, NOW + MEET_GUEST_NS - 1));
	assert_true(meet_port_silent(&port, d, NOW + MEET_GUEST_NS));
	assert_false(meet_port_silent(&port, a, NOW + 100 * MEET_GUEST_NS));
	meet_port_leave(&port, d);
	assert_int_equal(take_one(NOW), a);
	assert_int_equal(say_to(a, MEET_GO, TOKEN, 16), MEET_HEARD_GO);
	assert_int_equal(take_one(NOW), c);
}

/* Over a socket and at the door they take turns, and nobody is taken while another may begin. */
static void
doors_take_their_turn(void **state)
{
	uint8_t word[MEET_WORD_BYTES];
	int seat, a, c;

	(void)state;
	meet_port_init(&port, TOKEN);
	a = enter_from(1, NOW);
	c = enter_from(2, NOW);
	assert_int_equal(meet_port_turn(&port, false, NOW, NOW + 1, &seat, word), MEET_TURN_WAIT);
	assert_int_equal(meet_port_turn(&port, false, NOW, NOW, &seat, word), MEET_TURN_LATE);
	(void)say_to(a, MEET_KNOCK, TOKEN, 16);
	assert_int_equal(meet_port_turn(&port, true, NOW, NOW, &seat, word), MEET_TURN_NEAR);
	assert_int_equal(seat, a);
	/* It may have said GO. */
	(void)say_to(c, MEET_KNOCK, TOKEN, 16);
	assert_int_equal(meet_port_turn(&port, true, NOW, NOW, &seat, word), MEET_TURN_WAIT);
	assert_int_equal(say_to(a, MEET_GO, TOKEN, 16), MEET_HEARD_GO);
	/* Who is at the door was there before c knocked. */
	assert_int_equal(meet_port_turn(&port, true, NOW, NOW, &seat, word), MEET_TURN_FAR);
	assert_int_equal(meet_port_turn(&port, true, NOW, NOW, &seat, word), MEET_TURN_NEAR);
	assert_int_equal(seat, c);
	meet_port_leave(&port, c);
	assert_int_equal(meet_port_turn(&port, true, NOW, NOW, &seat, word), MEET_TURN_FAR);
}

static void
seats_are_few(void **state)
{
	int seats = 0;

	(void)state;
	meet_port_init(&port, TOKEN);
	assert_int_equal(meet_port_oldest(&port), -1);
	for (uint32_t i = 0; i < 500; i++)
		(void)enter_from(66, NOW + i);
	assert_true(meet_port_open(&port, NOW + 500));
	int honest = enter_from(1, NOW + 500);
	for (int i = 0; i < (int)MEET_GUESTS_MAX; i++)
		seats += meet_port_seated(&port, i);
	assert_int_equal(seats, MEET_GUESTS_MAX);
	/* One more of the many makes room for itself. */
	(void)enter_from(66, NOW + 501);
	assert_int_equal(port.lobby.seat[honest].source, 1);
	int oldest = meet_port_oldest(&port);
	assert_int_equal(port.lobby.seat[oldest].source, 66);
	for (int i = 0; i < (int)MEET_GUESTS_MAX; i++)
		assert_true(port.guest[oldest].until_ns <= port.guest[i].until_ns);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_a_guest),
		cmocka_unit_test(first_come_first_taken),
		cmocka_unit_test(doors_take_their_turn),
		cmocka_unit_test(seats_are_few),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
