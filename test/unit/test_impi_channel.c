/* SPDX-License-Identifier: BSD-2-Clause */
/* The channel alone, as a relay uses it; what it shares with the server is tested
 * in test_impi_server.c. */
#include "impi/channel.h"

#include "cmocka_all.h"
#include "test_impi_golden.h"

static struct impi_channel ch;
static uint8_t tx[4096], store[4096], out[4096];
static struct impi_channel_event ev;

static const struct impi_auth none = {.mask = IMPI_AUTH_MASK_NONE};
static const uint8_t head[] = {'A', 'U', 'T', 'H', 0, 0, 0, 4, 0, 0, 0, 1,
			       'I', 'M', 'P', 'I', 0, 0, 0, 4, 0, 0, 0, 0};

static void
start(size_t tx_cap)
{
	assert_int_equal(impi_channel_init(&ch, &none, tx, tx_cap), IMPI_ERR_OK);
	assert_int_equal(impi_channel_rx(&ch, head, sizeof head, &ev), sizeof head);
	assert_int_equal(ev.type, IMPI_CH_RANK);
	assert_int_equal(ev.rank, 0);
}

static void
join(size_t store_cap)
{
	assert_int_equal(impi_channel_join(&ch, store, store_cap), IMPI_ERR_OK);
}

static void
submit(uint32_t label, uint8_t fill, uint32_t len)
{
	uint8_t cmd[12 + 256];
	be32_store(cmd, IMPI_CMD_COLL);
	be32_store(cmd + 4, 4 + len);
	be32_store(cmd + 8, label);
	memset(cmd + 12, fill, len);
	assert_int_equal(impi_channel_rx(&ch, cmd, 12 + len, &ev), 12 + len);
	assert_int_equal(ev.type, IMPI_CH_LABEL);
	assert_int_equal(ev.label, label);
	assert_int_equal(ev.len, len);
}

/* One client, answered as a relay does: its values are read, others go back. */
static void
one_client_with_composed_replies(void **state)
{
	(void)state;
	size_t at = 24, n = 0;
	start(sizeof tx);
	join(sizeof store);
	assert_int_equal(impi_channel_size(&ch, 2), IMPI_ERR_OK);
	assert_int_equal(impi_channel_size(&ch, 2), IMPI_ERR_STATE);
	while (at < sizeof golden_c2s_0) {
		at += impi_channel_rx(&ch, golden_c2s_0 + at, sizeof golden_c2s_0 - at, &ev);
		if (ev.type != IMPI_CH_LABEL)
			continue;
		const uint8_t *data;
		uint32_t len;
		assert_true(impi_channel_label(&ch, ev.label, &data, &len));
		assert_true(data == ev.data && len == ev.len);
		assert_int_equal(impi_channel_reply(&ch, ev.label, 3, "abc", 3), IMPI_ERR_OK);
		assert_int_equal(impi_channel_reply(&ch, ev.label, 3, "abc", 3), IMPI_ERR_STATE);
		n++;
	}
	assert_int_equal(n, IMPI_NLABELS);
	assert_int_equal(ev.type, IMPI_CH_DONE);
	assert_int_equal(impi_channel_done(&ch), IMPI_ERR_OK);
	assert_int_equal(ch.state, IMPI_CHS_RUNNING);
	size_t len = impi_channel_tx(&ch, out, sizeof out);
	assert_int_equal(len, 8 + 12 + IMPI_NLABELS * (16 + 3) + 8);
	static const uint8_t nhosts_reply[] = {'C',  'O', 'L', 'L', 0, 0, 0,   11,  0,	0,
					       0x11, 0,	  0,   0,   0, 3, 'a', 'b', 'c'};
	assert_memory_equal(out + 20 + 19, nhosts_reply, sizeof nhosts_reply);
	assert_int_equal(impi_channel_rx(&ch, golden_fini, sizeof golden_fini, &ev), 8);
	assert_int_equal(ev.type, IMPI_CH_FINI);
	assert_false(impi_channel_eof(&ch));
	impi_channel_fini(&ch);
}

static void
calls_out_of_order_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(impi_channel_init(&ch, &none, tx, 63), IMPI_ERR_INVAL);
	assert_int_equal(impi_channel_init(&ch, &(struct impi_auth){0}, tx, 64), IMPI_ERR_INVAL);
	start(64);
	assert_int_equal(impi_channel_tx(&ch, out, sizeof out), 8);
	assert_int_equal(impi_channel_size(&ch, 1), IMPI_ERR_STATE);
	assert_int_equal(impi_channel_rx(&ch, golden_fini, 8, &ev), 0); /* a join is awaited */
	join(sizeof store);
	assert_int_equal(impi_channel_join(&ch, store, sizeof store), IMPI_ERR_STATE);
	submit(7, 1, 4);
	assert_int_equal(impi_channel_reply(&ch, 7, 1, "x", 1), IMPI_ERR_STATE); /* no size yet */
	assert_int_equal(impi_channel_size(&ch, 1), IMPI_ERR_OK);
	assert_int_equal(impi_channel_reply(&ch, 8, 1, "x", 1), IMPI_ERR_STATE);
	assert_int_equal(impi_channel_reply_begin(&ch, 7, 1, IMPI_CMD_BYTES_MAX),
			 IMPI_ERR_OVERSIZE);
	assert_int_equal(impi_channel_reply(&ch, 7, 1, store, 60), IMPI_ERR_FULL);
	assert_int_equal(impi_channel_tx(&ch, out, sizeof out), 12);
	assert_int_equal(impi_channel_done(&ch), IMPI_ERR_STATE);
	assert_int_equal(impi_channel_rx(&ch, "DONE\0\0\0\0", 8, &ev), 8);
	assert_int_equal(impi_channel_done(&ch), IMPI_ERR_STATE); /* 7 is not answered */
	assert_int_equal(impi_channel_reply(&ch, 7, 1, store, 48), IMPI_ERR_OK);
	assert_int_equal(impi_channel_done(&ch), IMPI_ERR_FULL);
	assert_int_equal(impi_channel_tx(&ch, out, sizeof out), 64);
	assert_int_equal(impi_channel_done(&ch), IMPI_ERR_OK);
	assert_int_equal(impi_channel_done(&ch), IMPI_ERR_STATE);
}

static void
replies_in_pieces(void **state)
{
	(void)state;
	start(64);
	join(sizeof store);
	submit(7, 1, 4);
	submit(8, 1, 4);
	assert_int_equal(impi_channel_size(&ch, 1), IMPI_ERR_OK);
	assert_int_equal(impi_channel_reply_begin(&ch, 7, 1, 200), IMPI_ERR_OK);
	size_t given = 0, got = 0, n;
	uint8_t data[200];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)i;
	while (given < sizeof data) {
		given += impi_channel_reply_give(&ch, data + given, sizeof data - given);
		if (given < sizeof data)
			assert_int_equal(impi_channel_reply_begin(&ch, 8, 1, 1), IMPI_ERR_STATE);
		while ((n = impi_channel_tx(&ch, out + got, 13)) > 0)
			got += n;
	}
	assert_int_equal(got, 8 + 12 + 16 + 200);
	assert_memory_equal(out + 36, data, sizeof data);
	assert_int_equal(impi_channel_reply(&ch, 8, 1, data, 1), IMPI_ERR_OK);
}

/* Releasing any one of three, with a fourth half here, leaves the others whole. */
static void
releases_move_the_rest(void **state)
{
	(void)state;
	static const uint8_t growing[] = {'C', 'O', 'L', 'L', 0, 0, 0, 10, 0, 0, 0, 4, 4, 4, 4};
	for (uint32_t gone = 1; gone <= 3; gone++) {
		const uint8_t *data;
		uint32_t len;
		start(64);
		join(100 + 20 + 6);
		submit(1, 1, 100);
		submit(2, 2, 0);
		submit(3, 3, 20);
		assert_int_equal(impi_channel_rx(&ch, growing, sizeof growing, &ev),
				 sizeof growing);
		assert_int_equal(ev.type, IMPI_CH_NONE);
		assert_true(impi_channel_is_midway(&ch));
		impi_channel_release(&ch, gone);
		impi_channel_release(&ch, gone);
		impi_channel_release(&ch, 99);
		assert_int_equal(impi_channel_rx(&ch, "\4\4\4", 3, &ev), 3);
		assert_int_equal(ev.type, IMPI_CH_LABEL);
		assert_false(impi_channel_is_midway(&ch));
		static const uint32_t lens[] = {0, 100, 0, 20, 6};
		for (uint32_t l = 1; l <= 4; l++) {
			assert_int_equal(impi_channel_label(&ch, l, &data, &len), l != gone);
			if (l == gone)
				continue;
			assert_int_equal(len, lens[l]);
			for (uint32_t i = 0; i < len; i++)
				assert_int_equal(data[i], l);
		}
	}
}

static void
a_rejected_client(void **state)
{
	(void)state;
	start(64);
	impi_channel_fail(&ch, IMPI_ERR_RANK, "go away");
	assert_int_equal(ch.state, IMPI_CHS_FAILED);
	assert_string_equal(ch.err.text, "go away");
	assert_int_equal(impi_channel_rx(&ch, golden_c2s_0, 50, &ev), 50); /* ignored */
	assert_int_equal(ev.type, IMPI_CH_NONE);
	assert_false(impi_channel_eof(&ch));
	assert_int_equal(impi_channel_join(&ch, store, sizeof store), IMPI_ERR_STATE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_client_with_composed_replies),
		cmocka_unit_test(calls_out_of_order_change_nothing),
		cmocka_unit_test(replies_in_pieces),
		cmocka_unit_test(releases_move_the_rest),
		cmocka_unit_test(a_rejected_client),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
