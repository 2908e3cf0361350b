/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between a process and its daemon. */
#include "cmocka_all.h"
#include "sp/client.h"

#include <string.h>

static uint8_t bytes[SP_CLIENT_MAX];

static struct sp_client_msg
pass_client(const struct sp_client_msg *m, const struct sp_role *roles)
{
	struct sp_client_msg got;
	size_t n = sp_client_write(m, roles, bytes);

	assert_true(n > 0);
	assert_true(sp_client_read(&got, bytes, n));
	assert_int_equal(got.type, m->type);
	for (size_t cut = 0; cut < n; cut++) {
		struct sp_client_msg less;
		/* Bytes at the end of these are as many as there are. */
		if (sp_client_read(&less, bytes, cut))
			assert_int_equal(m->type, SP_CLIENT_CARD);
	}
	return got;
}

static void
messages_come_back(void **state)
{
	static const uint8_t card[5] = "card";
	struct sp_client_msg m = {.type = SP_CLIENT_WELCOME,
				  .compute = 4,
				  .in_flight = 2,
				  .token = 77,
				  .text = "filter",
				  .unit = "n1"};

	(void)state;
	struct sp_client_msg got = pass_client(&m, NULL);
	assert_int_equal(got.compute, 4);
	assert_int_equal(got.in_flight, SP_IN_FLIGHT_DROP);
	assert_int_equal(got.token, 77);
	assert_string_equal(got.text, "filter");
	assert_string_equal(got.unit, "n1");

	m = (struct sp_client_msg){.type = SP_CLIENT_CARD,
				   .epoch = UINT64_C(1) << 40,
				   .role = 3,
				   .body = card,
				   .n = sizeof card};
	got = pass_client(&m, NULL);
	assert_true(got.epoch == m.epoch && got.role == 3 && got.n == sizeof card);
	assert_memory_equal(got.body, card, sizeof card);

	m = (struct sp_client_msg){.type = SP_CLIENT_ABORT, .number = 3, .text = "no more"};
	got = pass_client(&m, NULL);
	assert_int_equal(got.number, 3);
	assert_string_equal(got.text, "no more");
	m = (struct sp_client_msg){.type = SP_CLIENT_LEFT};
	(void)pass_client(&m, NULL);
}

static void
an_epoch_has_roles(void **state)
{
	struct sp_role role[2] = {{.slot = 5, .takeovers = 1, .unit = 2}, {.slot = SP_CLIENT_NONE}};
	struct sp_client_msg m = {
		.type = SP_CLIENT_EPOCH, .epoch = 1, .view = 8, .role = 1, .n = 2};

	(void)state;
	struct sp_client_msg got = pass_client(&m, role);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.role, 1);
	struct sp_role r = sp_client_role(&got, 0);
	assert_true(r.slot == 5 && r.takeovers == 1 && r.unit == 2);
	assert_int_equal(sp_client_role(&got, 1).slot, SP_CLIENT_NONE);
	/* A role that is none. */
	m.role = 2;
	size_t n = sp_client_write(&m, role, bytes);
	assert_false(sp_client_read(&got, bytes, n));
}

static void
wrong_bytes_are_refused(void **state)
{
	struct sp_client_msg m = {.type = SP_CLIENT_ABORT, .text = "add a b"}, got;
	size_t n = sp_client_write(&m, NULL, bytes);

	(void)state;
	assert_true(sp_client_read(&got, bytes, n));
	bytes[0]++;
	assert_false(sp_client_read(&got, bytes, n)); /* version */
	bytes[0]--;
	bytes[1] = 99;
	assert_false(sp_client_read(&got, bytes, n)); /* type */
	bytes[1] = SP_CLIENT_ABORT;
	bytes[n - 1] = '\0';
	assert_false(sp_client_read(&got, bytes, n)); /* a NUL inside */
	bytes[n - 1] = 'b';
	assert_false(sp_client_read(&got, bytes, n + 1));
	assert_int_equal(sp_in_flight_of("drop"), SP_IN_FLIGHT_DROP);
	assert_int_equal(sp_in_flight_of("dropp"), SP_IN_FLIGHT_COUNT);
	assert_string_equal(sp_in_flight_name(SP_IN_FLIGHT_ULFM), "ulfm");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_back),
		cmocka_unit_test(an_epoch_has_roles),
		cmocka_unit_test(wrong_bytes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
