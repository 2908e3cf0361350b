/* SPDX-License-Identifier: BSD-2-Clause */
/* impi-server's door: sealed or in clear, by the first four bytes, however they come. */
#include "../../app/impi-server/door.h"
#include "cmocka_all.h"

#include "driver/aead.h"

#include <string.h>

static struct seal_link relay; /* who dials */
static uint8_t heard[64 * 1024], answered[64 * 1024];
static size_t nheard, nanswered;

static void
hear(void *user, const uint8_t *bytes, size_t len)
{
	(void)user;
	assert_true(nheard + len <= sizeof heard);
	memcpy(heard + nheard, bytes, len);
	nheard += len;
}

static void
answer(void *user, const uint8_t *bytes, size_t len)
{
	(void)user;
	assert_true(nanswered + len <= sizeof answered);
	memcpy(answered + nanswered, bytes, len);
	nanswered += len;
}

static struct door_conf
conf_with(uint8_t key)
{
	struct door_conf c = {.keys = {.crypto = seal_aes256gcm(), .purpose = SEAL_LINK_IMPI}};

	assert_non_null(c.keys.crypto);
	c.keys.nkeys = key ? 1 : 0;
	c.keys.key[0].id = 1;
	memset(c.keys.key[0].secret, key, SEAL_SECRET);
	nheard = nanswered = 0;
	return c;
}

static void
dial(const struct seal_link_conf *keys)
{
	static const uint8_t once[SEAL_DH] = {1, 2, 3, 4};

	seal_link_init(&relay, keys, SEAL_LINK_DIALS, once, NULL);
}

/* All that the relay has to say, step bytes at a time; false: the door closes. */
static bool
relay_says(struct door *d, const struct door_conf *conf, const uint8_t *bytes, size_t len,
	   size_t step)
{
	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;
		if (!door_rx(d, conf, bytes + at, n, hear, NULL))
			return false;
	}
	return true;
}

static bool
relay_greets(struct door *d, const struct door_conf *conf, size_t step)
{
	uint8_t out[SEAL_LINK_GREETING];
	return relay_says(d, conf, out, seal_link_out(&relay, out), step);
}

static void
sealed_however_it_is_cut(void **state)
{
	(void)state;
	for (size_t step = 1; step < 200; step += step < 20 ? 1 : 37) {
		struct door_conf conf = conf_with(7);
		struct door d = {0};
		uint8_t out[DOOR_OUT], text[DOOR_TEXT];

		dial(&conf.keys);
		assert_true(relay_greets(&d, &conf, step));
		assert_true(door_pending(&d) && !door_open(&d));
		size_t n = door_tx(&d, NULL, 0, out);
		assert_true(n > 0 && !door_pending(&d));
		assert_true(seal_link_rx(&relay, out, n, answer, NULL));
		assert_true(relay_greets(&d, &conf, step)); /* it has the key */
		assert_true(door_open(&d) && nheard == 0);
		n = seal_link_tx(&relay, (const uint8_t *)"AUTH", 4, out);
		assert_true(relay_says(&d, &conf, out, n, step));
		assert_int_equal(nheard, 4);
		assert_memory_equal(heard, "AUTH", 4);
		memset(text, 'x', sizeof text);
		n = door_tx(&d, text, sizeof text, out);
		assert_true(n > sizeof text && n <= sizeof out);
		assert_true(seal_link_rx(&relay, out, n, answer, NULL));
		assert_int_equal(nanswered, sizeof text);
		assert_memory_equal(answered, text, sizeof text);
		/* A byte that was changed is the end. */
		n = seal_link_tx(&relay, (const uint8_t *)"DONE", 4, out);
		out[n - 1] ^= 1;
		assert_false(relay_says(&d, &conf, out, n, step));
		assert_non_null(strstr(d.why, "not authentic"));
		door_close(&d);
		seal_link_wipe(&relay);
	}
}

static void
who_is_not_let_in(void **state)
{
	struct door_conf conf = conf_with(7), other = conf_with(8), none = conf_with(0);
	struct door d = {0};

	(void)state;
	dial(&other.keys);
	assert_false(relay_greets(&d, &conf, 5));
	assert_non_null(strstr(d.why, "another pre-shared key"));
	assert_false(door_open(&d));
	door_close(&d);
	dial(&conf.keys);
	assert_false(relay_greets(&d, &none, 5));
	assert_non_null(strstr(d.why, "--key-file"));
	door_close(&d);
	/* Nothing of what is in clear gets behind the door. */
	assert_false(relay_says(&d, &conf, (const uint8_t *)"AUTHxxxx", 8, 3));
	assert_non_null(strstr(d.why, "speaks in clear"));
	assert_true(nheard == 0 && !door_open(&d));
	door_close(&d);
	assert_true(relay_says(&d, &conf, (const uint8_t *)"SLK", 3, 1));
	assert_true(!door_open(&d) && !door_pending(&d));
	door_close(&d);
}

static void
in_clear(void **state)
{
	struct door_conf conf[2] = {conf_with(0), conf_with(7)};

	(void)state;
	conf[1].clear_too = true;
	for (size_t i = 0; i < 2; i++) {
		for (size_t step = 1; step < 12; step++) {
			struct door d = {0};
			uint8_t out[DOOR_OUT];
			nheard = 0;
			assert_true(
				relay_says(&d, &conf[i], (const uint8_t *)"AUTH1234567", 11, step));
			assert_true(door_open(&d) && !door_pending(&d));
			assert_int_equal(nheard, 11);
			assert_memory_equal(heard, "AUTH1234567", 11);
			assert_int_equal(door_tx(&d, (const uint8_t *)"yes", 3, out), 3);
			assert_memory_equal(out, "yes", 3);
			door_close(&d);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_however_it_is_cut),
		cmocka_unit_test(who_is_not_let_in),
		cmocka_unit_test(in_clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
