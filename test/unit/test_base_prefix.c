/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of address prefixes. */
#include "base/prefix.h"

#include "cmocka_all.h"

#include <arpa/inet.h>
#include <string.h>

static bool
has(const struct base_prefixes *p, const char *address)
{
	uint8_t a[16];
	uint32_t v4;
	if (inet_pton(AF_INET, address, &v4) == 1)
		base_prefix_v4(ntohl(v4), a);
	else
		assert_int_equal(inet_pton(AF_INET6, address, a), 1);
	return base_prefixes_have(p, a);
}

static void
prefixes_of_both_kinds(void **state)
{
	(void)state;
	struct base_prefixes p = {0};
	assert_false(has(&p, "10.0.0.1"));
	assert_true(base_prefixes_add(&p, "10.1.16.0/20, 192.0.2.7,2001:db8::/33"));
	assert_int_equal(p.n, 3);
	assert_true(has(&p, "10.1.16.0") && has(&p, "10.1.31.255"));
	assert_false(has(&p, "10.1.32.0") || has(&p, "10.1.15.255") || has(&p, "::10.1.16.0"));
	assert_true(has(&p, "192.0.2.7"));
	assert_false(has(&p, "192.0.2.6"));
	assert_true(has(&p, "2001:db8:7fff::1"));
	assert_false(has(&p, "2001:db8:8000::1"));
	assert_true(base_prefixes_add(&p, ""));
	assert_int_equal(p.n, 3);
	assert_true(base_prefixes_add(&p, "0.0.0.0/0"));
	assert_true(has(&p, "203.0.113.9"));
	assert_false(has(&p, "2001:db9::1"));
	p.n = 0;
	assert_true(base_prefixes_add(&p, "::/0"));
	assert_true(has(&p, "2001:db9::1") && has(&p, "::1"));
	assert_false(has(&p, "10.0.0.1")); /* which has a kind of its own */
}

/* One prefix, as the readers of peers files and of LIBMPI_NET take it. */
static void
one_prefix(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool exact;
		uint32_t len;
	} good[] = {{"10.1.0.0/16", true, 112},	     {"10.1.0.0/15", false, 111},
		    {"0.0.0.0/0", true, 96},	     {"1.2.3.4/0", false, 96},
		    {"192.0.2.7", true, 128},	     {"2001:db8::/32", true, 32},
		    {"2001:db8::1/127", false, 127}, {"::/0", true, 0}};
	struct base_prefix p;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_true(base_prefix_parse(good[i].text, strlen(good[i].text), &p));
		assert_int_equal(p.len, good[i].len);
		assert_int_equal(base_prefix_exact(&p), good[i].exact);
	}
	/* The length counts, not the NUL; none may be within. */
	assert_true(base_prefix_parse("10.0.0.0/16", 10, &p));
	assert_int_equal(p.len, 97);
	assert_false(base_prefix_parse("10.0.0.0\0/8", 11, &p));
	assert_false(base_prefix_parse("", 0, &p));
	char longest[200];
	memset(longest, '1', sizeof longest);
	assert_false(base_prefix_parse(longest, sizeof longest, &p));
}

static void
what_is_no_prefix_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"10.0.0.0/33", "10.0.0/8",	  "10.0.0.0/",
					  "10.0.0.0/-1", "10.0.0.0/8x",	  "x",
					  "::/129",	 "10.0.0.0/0008", "1.2.3.4/8;5.6.7.8"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct base_prefixes p = {0};
		assert_false(base_prefixes_add(&p, bad[i]));
		assert_int_equal(p.n, 0);
	}
	struct base_prefixes p = {0};
	for (uint32_t i = 0; i < BASE_PREFIXES_MAX; i++)
		assert_true(base_prefixes_add(&p, "10.0.0.0/8"));
	assert_false(base_prefixes_add(&p, "10.0.0.0/8"));
	assert_int_equal(p.n, BASE_PREFIXES_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_of_both_kinds),
		cmocka_unit_test(one_prefix),
		cmocka_unit_test(what_is_no_prefix_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
