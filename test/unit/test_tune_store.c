/* SPDX-License-Identifier: BSD-2-Clause */
/* The store's text and table: what is written is read again, what is wrong is named. */
#include "tune/store.h"

#include "base/prng.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

static struct tune_store s, s2;
static char text[TUNE_STORE_BYTES], why[TUNE_WHY];

static struct tune_key
key(uint32_t mtu)
{
	struct tune_key k;
	memset(&k, 0, sizeof k);
	tune_word(k.driver, sizeof k.driver, "udp");
	tune_word(k.offloads, sizeof k.offloads, "gso+gro");
	tune_word(k.cpu, sizeof k.cpu, "A CPU (R) @ 2.4GHz");
	tune_word(k.kernel, sizeof k.kernel, "6.1.0-13-amd64");
	tune_word(k.mode, sizeof k.mode, "suci");
	tune_word(k.version, sizeof k.version, "1.0");
	tune_word(k.shares, sizeof k.shares, "L3");
	k.mtu = mtu;
	k.speed = 10000;
	k.rtt = 5;
	return k;
}

#define KEY                                                                         \
	"driver=udp offloads=gso+gro cpu=A_CPU_(R)_@_2.4GHz kernel=6.1.0-13-amd64 " \
	"mode=suci version=1.0 shares=L3 mtu=1500 speed=10000 rtt=5"

static void
what_is_printed_is_read(void **state)
{
	(void)state;
	struct base_prng p = base_prng_seed(1);
	for (int round = 0; round < 200; round++) {
		memset(&s, 0, sizeof s);
		uint32_t n = (uint32_t)base_prng_below(&p, TUNE_ENTRIES + 1);
		for (uint32_t i = 0; i < n; i++) {
			struct tune_key k = key(i);
			struct tune_values v = {0};
			/* The longest there can be, too. */
			if (round == 0)
				memset(k.cpu, 'x', sizeof k.cpu - 1);
			for (enum tune_value x = 0; x < TUNE_NVALUES; x++)
				if (x == TUNE_RUN || base_prng_below(&p, 2))
					(void)tune_value_set(&v, x, base_prng_below(&p, 1u << 20));
			(void)tune_value_set(&v, TUNE_RUN, 1 + i % 64);
			assert_true(tune_store_put(&s, &k, &v));
		}
		size_t len = tune_store_print(&s, text, sizeof text);
		assert_true(len > 0);
		if (!tune_store_parse(text, len, &s2, why))
			fail_msg("%s", why);
		assert_memory_equal(&s, &s2, sizeof s);
	}
}

/* The longest store fits the bound that readers have. */
static void
the_longest_fits(void **state)
{
	(void)state;
	memset(&s, 0, sizeof s);
	for (uint32_t i = 0; i < TUNE_ENTRIES; i++) {
		struct tune_key k = key(65000);
		struct tune_values v = {0};
#define X(name, size) memset(k.name, '@', (size)-1);
		TUNE_KEY_WORDS(X)
#undef X
		k.speed = 100000000 - i;
#define X(id, name, least, most) assert_true(tune_value_set(&v, TUNE_##id, most));
		TUNE_VALUES(X)
#undef X
		assert_true(tune_store_put(&s, &k, &v));
	}
	size_t len = tune_store_print(&s, text, sizeof text);
	assert_true(len > 0 && len < sizeof text);
	assert_true(tune_store_parse(text, len, &s2, why));
	assert_memory_equal(&s, &s2, sizeof s);
	for (size_t size = 0; size <= len; size += 97)
		assert_true(tune_store_print(&s, text, size) == 0);
}

static void
found_only_by_its_key(void **state)
{
	(void)state;
	struct tune_key k = key(1500), other;
	struct tune_values v = {0};
	memset(&s, 0, sizeof s);
	assert_null(tune_store_find(&s, &k));
	assert_false(tune_store_put(&s, &k, &v)); /* no value */
	assert_true(tune_value_set(&v, TUNE_RUN, 44));
	assert_true(tune_store_put(&s, &k, &v));
	assert_true(tune_value_or(tune_store_find(&s, &k), TUNE_RUN, 30) == 44);
	assert_true(tune_value_or(tune_store_find(&s, &k), TUNE_ACK, 32) == 32);
#define X(name, size)        \
	other = k;           \
	other.name[0] = 'Z'; \
	assert_null(tune_store_find(&s, &other));
	TUNE_KEY_WORDS(X)
#undef X
#define X(name, most) \
	other = k;    \
	other.name++; \
	assert_null(tune_store_find(&s, &other));
	TUNE_KEY_NUMBERS(X)
#undef X
	/* The nearest of several. */
	for (uint32_t rtt = 9; rtt >= 7; rtt--) {
		other = key(9000);
		other.rtt = rtt;
		assert_true(tune_value_set(&v, TUNE_RUN, rtt));
		assert_true(tune_store_put(&s, &other, &v));
	}
	other.rtt = TUNE_RTT_ANY;
	assert_true(tune_value_or(tune_store_find(&s, &other), TUNE_RUN, 30) == 7);
	assert_false(tune_store_put(&s, &other, &v)); /* that is no key of a row */
}

static void
replaced_and_bounded(void **state)
{
	(void)state;
	struct tune_values v = {0};
	memset(&s, 0, sizeof s);
	for (uint32_t i = 0; i < TUNE_ENTRIES; i++) {
		struct tune_key k = key(i);
		assert_true(tune_value_set(&v, TUNE_RUN, 1 + i % 64));
		assert_true(tune_store_put(&s, &k, &v));
	}
	/* Written again, the first is the youngest; the second goes for a new one. */
	struct tune_key first = key(0), second = key(1), new = key(9999);
	assert_true(tune_value_set(&v, TUNE_RUN, 64));
	assert_true(tune_store_put(&s, &first, &v) && s.n == TUNE_ENTRIES);
	assert_true(tune_value_or(tune_store_find(&s, &first), TUNE_RUN, 0) == 64);
	assert_true(tune_store_put(&s, &new, &v) && s.n == TUNE_ENTRIES);
	assert_non_null(tune_store_find(&s, &first));
	assert_non_null(tune_store_find(&s, &new));
	assert_null(tune_store_find(&s, &second));
}

static void
bounds(void **state)
{
	(void)state;
	struct tune_values v = {0};
#define X(id, name, least, most)                                           \
	assert_false(tune_value_set(&v, TUNE_##id, (uint64_t)(least)-1));  \
	assert_false(tune_value_set(&v, TUNE_##id, (uint64_t)(most) + 1)); \
	assert_true(!(v.set >> TUNE_##id & 1));                            \
	assert_true(tune_value_set(&v, TUNE_##id, least));                 \
	assert_true(tune_value_set(&v, TUNE_##id, most));                  \
	assert_string_equal(tune_value_name(TUNE_##id), name);
	TUNE_VALUES(X)
#undef X
	assert_true(tune_rtt_bucket(0) == 0 && tune_rtt_bucket(999) == 0);
	assert_true(tune_rtt_bucket(1000) == 1 && tune_rtt_bucket(2000) == 2);
	assert_true(tune_rtt_bucket(63999) == 6 && tune_rtt_bucket(64000) == 7);
	assert_true(tune_rtt_bucket(UINT64_MAX) <= 64);
	char w[8];
	tune_word(w, sizeof w, "a b=c\n:dddd");
	assert_string_equal(w, "a_b_c__");
	tune_word(w, sizeof w, "");
	assert_string_equal(w, "none");
}

#define HEAD "tune-store 1\n"
#define ROW  HEAD "entry " KEY

static void
malformed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "line 1: empty"},
		{"tune-store 2\n", "line 1: not"},
		{"tune-store 1", "line 1: has no end"},
		{"\n" HEAD, "line 1: not"},
		{HEAD "entry", "line 2: has no end"},
		{HEAD "entry\n", "line 2: 0 of the 10"},
		{HEAD "entries " KEY " : run=4\n", "line 2: does not begin"},
		{HEAD " \n", "line 2: does not begin"},
		{HEAD "\n# x\nentry=1\n", "line 4: does not begin"},
		{ROW "\n", "line 2: no value"},
		{ROW " :\n", "line 2: no value"},
		{ROW " run=4\n", "line 2: run is no field"},
		{ROW " : run\n", "line 2: \"run\" is no NAME=VALUE"},
		{ROW " : : run=4\n", "line 2: \":\" is no NAME=VALUE"},
		{ROW " : =4\n", "line 2:  is no value"},
		{ROW " : walk=4\n", "line 2: walk is no value"},
		{ROW " : run=4 run=4\n", "line 2: run is there twice"},
		{ROW " : run=\n", "line 2: run is no number from 1 to 64"},
		{ROW " : run=0\n", "line 2: run is no number from 1 to 64"},
		{ROW " : run=65\n", "line 2: run is no number"},
		{ROW " : run=04\n", "line 2: run is no number"},
		{ROW " : run=+4\n", "line 2: run is no number"},
		{ROW " : run=-4\n", "line 2: run is no number"},
		{ROW " : run=4.0\n", "line 2: run is no number"},
		{ROW " : run=0x4\n", "line 2: run is no number"},
		{ROW " : run=18446744073709551620\n", "line 2: run is no number"},
		{ROW " : run=4\r\n", "line 2: byte 0x0d"},
		{ROW " : run=4\n\x80\n", "line 3: byte 0x80"},
		{ROW "\t: run=4\n", "line 2: byte 0x09"},
		{ROW " : run=4\nentry " KEY " : run=4\n", "line 3: the same key as entry 1"},
		{ROW " mtu=1500 : run=4\n", "line 2: mtu is there twice"},
		{ROW " colour=red : run=4\n", "line 2: colour is no field"},
		{HEAD "entry mtu=65537 : run=4\n", "line 2: mtu is no number"},
		{HEAD "entry cpu= : run=4\n", "line 2: cpu is not 1 to 63"},
		{HEAD "entry cpu=a=b : run=4\n", "line 2: cpu is not"},
		{HEAD "entry driver=0123456789abcdef : run=4\n", "line 2: driver is not 1 to 15"},
		{HEAD "entry mtu=1500 : run=4\n", "line 2: 1 of the 10"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(&s, 0xff, sizeof s);
		assert_false(tune_store_parse(bad[i].text, strlen(bad[i].text), &s, why));
		if (strncmp(why, bad[i].says, strlen(bad[i].says)) != 0)
			fail_msg("%s\nsays: %s", bad[i].text, why);
		assert_non_null(strstr(why + 7, i < 2 ? "" : "; ")); /* and what to do */
		assert_true(s.n == 0);
	}
	assert_false(tune_store_parse(HEAD "\0\n", sizeof HEAD + 1, &s, why));
	const char *good = ROW " : run=4\n\n# a remark\n";
	assert_true(tune_store_parse(good, strlen(good), &s, why) && s.n == 1 && !why[0]);
}

static void
too_much(void **state)
{
	(void)state;
	memset(text, 'x', sizeof text);
	memcpy(text, HEAD "#", sizeof HEAD);
	text[sizeof HEAD + TUNE_LINE] = '\n';
	assert_false(tune_store_parse(text, sizeof HEAD + TUNE_LINE + 1, &s, why));
	assert_non_null(strstr(why, "line 2: more than 1023 bytes"));
	assert_false(tune_store_parse(text, TUNE_STORE_BYTES + 1, &s, why));
	assert_non_null(strstr(why, "line 1: more than"));
	int n = snprintf(text, sizeof text, HEAD);
	for (int i = 0; i <= TUNE_ENTRIES; i++)
		n += snprintf(text + n, sizeof text - (size_t)n,
			      "entry driver=d offloads=o cpu=c kernel=k mode=m version=v "
			      "shares=s mtu=%d speed=0 rtt=0 : run=1\n",
			      i);
	assert_false(tune_store_parse(text, (size_t)n, &s, why));
	assert_non_null(strstr(why, "line 66: more than 64 entries"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_is_read),
		cmocka_unit_test(the_longest_fits),
		cmocka_unit_test(found_only_by_its_key),
		cmocka_unit_test(replaced_and_bounded),
		cmocka_unit_test(bounds),
		cmocka_unit_test(malformed),
		cmocka_unit_test(too_much),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
