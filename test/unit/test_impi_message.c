/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of messages and credit as lib/impi states them.  Whether an MPI process keeps them is
 * asked of the engine, which runs them (test_lmpi_tcp, test_lmpi_protocol). */
#include "impi/flow.h"
#include "impi/message.h"

#include "cmocka_all.h"

static void
messages_are_cut_by_the_rule(void **state)
{
	(void)state;
	static const uint32_t datalens[] = {1, 2, 7, 1024};
	for (size_t k = 0; k < sizeof datalens / sizeof *datalens; k++)
		for (uint64_t len = 0; len < 5000; len++) {
			uint32_t datalen = datalens[k];
			uint64_t n = impi_message_packets(len, datalen), sum = 0;
			assert_int_equal(n, len ? (len + datalen - 1) / datalen : 1);
			for (uint64_t i = 0; i < n; i++) {
				struct impi_piece x = impi_message_piece(len, datalen, i);
				assert_int_equal(x.off, sum);
				assert_true(x.len == datalen || i == n - 1);
				sum += x.len;
			}
			assert_int_equal(sum, len);
		}
	/* no overflow at the far end */
	assert_true(impi_message_packets(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(impi_message_packets(UINT64_MAX, 65536) == (1ull << 48));
	struct impi_piece x = impi_message_piece(UINT64_MAX, 65536, (1ull << 48) - 1);
	assert_true(x.len == 65535 && x.off == UINT64_MAX - 65535);
}

static void
packets_that_open_a_message(void **state)
{
	(void)state;
	static const struct {
		uint32_t type, len;
		uint64_t msglen;
		bool opens;
	} cases[] = {
		{IMPI_PK_DATA, 0, 0, true},	{IMPI_PK_DATA, 8, 8, true},
		{IMPI_PK_DATA, 8, 9, false},	{IMPI_PK_DATA, 0, 9, false},
		{IMPI_PK_DATASYNC, 0, 0, true}, {IMPI_PK_DATASYNC, 8, 8, true},
		{IMPI_PK_DATASYNC, 0, 1, true}, {IMPI_PK_DATASYNC, 8, 1ull << 40, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct impi_packet p = {
			.type = cases[i].type, .len = cases[i].len, .msglen = cases[i].msglen};
		assert_int_equal(impi_packet_check(&p, 65536), IMPI_PACKET_OK);
		assert_int_equal(impi_packet_opens(&p), cases[i].opens);
	}
}

/* Every state and event, so that no cell of the table is anybody's guess. */
static void
answers_to_a_send(void **state)
{
	(void)state;
	enum {
		SETTLED = IMPI_SEND_SETTLED,
		WAITS = IMPI_SEND_WAITS,
		ASKED = IMPI_SEND_ASKED,
		REFUSED = IMPI_SEND_REFUSED,
		MATCHED = IMPI_SEND_MATCHED,
		GONE = IMPI_SEND_CANCELLED,
		BAD = IMPI_SEND_BAD
	};
	/* the only answers a peer may give */
	static const struct {
		int state, ev, next;
	} good[] = {
		{WAITS, IMPI_SEND_EV_SYNCACK, SETTLED},	  {ASKED, IMPI_SEND_EV_SYNCACK, MATCHED},
		{ASKED, IMPI_SEND_EV_CANCELYES, GONE},	  {ASKED, IMPI_SEND_EV_CANCELNO, REFUSED},
		{REFUSED, IMPI_SEND_EV_SYNCACK, SETTLED}, {MATCHED, IMPI_SEND_EV_CANCELNO, SETTLED},
	};
	for (int s = 0; s < IMPI_SEND_STATES; s++) {
		/* a program may ask at any time */
		assert_int_equal(impi_send_next((enum impi_send_state)s, IMPI_SEND_EV_CANCEL),
				 s == WAITS ? ASKED : s);
		for (int ev = 0; ev < IMPI_SEND_EVENTS; ev++) {
			int want = BAD;
			for (size_t i = 0; i < sizeof good / sizeof *good; i++)
				if (good[i].state == s && good[i].ev == ev)
					want = good[i].next;
			if (ev != IMPI_SEND_EV_CANCEL)
				assert_int_equal(impi_send_next((enum impi_send_state)s,
								(enum impi_send_event)ev),
						 want);
		}
	}
}

static void
credit_is_counted_by_type(void **state)
{
	(void)state;
	struct impi_flow f = {0};
	for (uint32_t type = 0; type < IMPI_PK_TYPES; type++) {
		bool counts = type != IMPI_PK_PROTOACK && type != IMPI_PK_FINI;
		assert_int_equal(impi_flow_counts(type), counts);
		f = (struct impi_flow){.sent = 3};
		assert_int_equal(impi_flow_may_send(&f, 3, type), !counts);
		assert_true(impi_flow_may_send(&f, 4, type));
		impi_flow_on_sent(&f, type);
		impi_flow_on_taken(&f, type);
		assert_int_equal(f.sent, 3 + counts);
		assert_int_equal(f.received, counts);
	}
	f = (struct impi_flow){.sent = 2, .received = 5};
	assert_false(impi_flow_on_protoack(&f, 3)); /* more than was sent */
	assert_int_equal(f.sent, 2);
	assert_true(impi_flow_on_protoack(&f, 2));
	assert_int_equal(f.sent, 0);
	assert_true(impi_flow_is_overrun(&f, 4));
	assert_false(impi_flow_is_overrun(&f, 5));
	assert_true(impi_flow_ack_due(&f, 2));
	assert_true(impi_flow_ack_due(&f, 2));
	assert_false(impi_flow_ack_due(&f, 2));
	assert_int_equal(f.received, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_cut_by_the_rule),
		cmocka_unit_test(packets_that_open_a_message),
		cmocka_unit_test(answers_to_a_send),
		cmocka_unit_test(credit_is_counted_by_type),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
