/* SPDX-License-Identifier: BSD-2-Clause */
/* The type of addresses: one form for one place, in bytes and in text. */
#include "suci/addr.h"

#include "cmocka_all.h"

#include <string.h>

static void
texts(void **state)
{
	static const struct {
		const char *text, *again; /* again NULL: it is none */
	} table[] = {
		{"192.0.2.7:7000", "192.0.2.7:7000"},
		{"[2001:db8::7]:7000", "[2001:db8::7]:7000"},
		{"[2001:DB8:0:0::7]:1", "[2001:db8::7]:1"},
		{"[::]:65535", "[::]:65535"},
		{"[::ffff:192.0.2.7]:7000", "192.0.2.7:7000"}, /* one place, one form */
		{"[::ffff:c000:207]:7000", "192.0.2.7:7000"},
		{"[192.0.2.7]:7000", "192.0.2.7:7000"},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
		 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
		{"", NULL},
		{":", NULL},
		{":7", NULL},
		{"7000", NULL},
		{"192.0.2.7", NULL},
		{"192.0.2.7:", NULL},
		{"192.0.2.7:0", NULL},
		{"192.0.2.7:07", NULL},
		{"192.0.2.7:65536", NULL},
		{"192.0.2.7:100000", NULL},
		{"192.0.2.7:-1", NULL},
		{"192.0.2.7:7 ", NULL},
		{" 192.0.2.7:7", NULL},
		{"192.0.2:7", NULL},
		{"192.0.2.7.1:7", NULL},
		{"2001:db8::7:7000", NULL}, /* the last part may be a port or not */
		{"::1:7", NULL},
		{"[2001:db8::7]7000", NULL},
		{"[2001:db8::7:7000", NULL},
		{"2001:db8::7]:7000", NULL},
		{"[]:7000", NULL},
		{"[[::1]]:7", NULL},
		{"[fe80::1%eth0]:7", NULL},
		{"name.example:7", NULL},
	};
	char text[SUCI_ADDR_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct suci_addr a = {.leg = 77};
		bool good = suci_addr_parse(table[i].text, strlen(table[i].text), &a);
		if (good != (table[i].again != NULL))
			fail_msg("%s", table[i].text);
		if (!good) {
			assert_int_equal(a.leg, 77);
			continue;
		}
		assert_string_equal(suci_addr_text(&a, text), table[i].again);
		assert_int_equal(a.leg, 0);
	}
}

static void
texts_without_port(void **state)
{
	struct suci_addr a, b;
	char text[SUCI_ADDR_TEXT_MAX];

	(void)state;
	assert_true(suci_addr_parse_ip("10.1.2.3", 8, &a));
	assert_true(a.family == 4 && a.port == 0 && a.ip[12] == 10 && a.ip[15] == 3);
	assert_string_equal(suci_addr_ip_text(&a, text), "10.1.2.3");
	assert_true(suci_addr_parse_ip("::ffff:10.1.2.3", 15, &b));
	assert_memory_equal(&a, &b, sizeof a);
	assert_true(suci_addr_parse_ip("fd00::1/64", 7, &b)); /* len bytes of it */
	assert_string_equal(suci_addr_ip_text(&b, text), "fd00::1");
	assert_false(suci_addr_parse_ip("fd00::1/64", 10, &b));
	assert_false(suci_addr_parse_ip("10.1.2.3\0", 9, &b));
	assert_false(suci_addr_parse_ip("", 0, &b));
	assert_false(suci_addr_parse_ip("[fd00::1]", 9, &b));
	assert_false(suci_addr_parse_ip("1111:2222:3333:4444:5555:6666:123.123.123.1234", 46, &b));
}

static void
bytes(void **state)
{
	static const uint8_t six[16] = {0x20, 1, 0xd, 0xb8, [15] = 9};
	uint8_t back[16];

	(void)state;
	struct suci_addr a = suci_addr_of(six, 7);
	assert_true(a.family == 6 && a.port == 7);
	suci_addr_16(&a, back);
	assert_memory_equal(back, six, 16);
	struct suci_addr b = suci_addr_v4((const uint8_t[]){192, 0, 2, 7}, 8);
	suci_addr_16(&b, back);
	assert_true(back[10] == 0xff && back[11] == 0xff && back[15] == 7 && !back[9]);
	struct suci_addr c = suci_addr_of(back, 8);
	assert_memory_equal(&b, &c, sizeof b);
	/* ::192.0.2.7 is an address of IPv6. */
	back[10] = back[11] = 0;
	assert_int_equal(suci_addr_of(back, 8).family, 6);
}

static void
faults(void **state)
{
	static const struct {
		const char *ip, *why; /* a part of it; NULL: none */
	} table[] = {
		{"10.0.0.1", NULL},
		{"127.0.0.1", NULL},
		{"::1", NULL},
		{"fd00::1", NULL},
		{"2001:db8::1", NULL},
		{"0.0.0.0", "no host"},
		{"0.1.2.3", "no host"},
		{"::", "no host"},
		{"224.0.0.1", "multicast"},
		{"239.255.255.255", "multicast"},
		{"240.0.0.1", "reserved"},
		{"255.255.255.255", "broadcast"},
		{"ff02::1", "multicast"},
		{"fe80::1", "link-local"},
		{"febf::1", "link-local"},
		{"::ffff:224.0.0.1", "multicast"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct suci_addr a;
		assert_true(suci_addr_parse_ip(table[i].ip, strlen(table[i].ip), &a));
		const char *why = suci_addr_fault(&a);
		if (!table[i].why ? why != NULL : !why || !strstr(why, table[i].why))
			fail_msg("%s: %s", table[i].ip, why ? why : "no fault");
	}
	struct suci_addr none = {0};
	assert_non_null(suci_addr_fault(&none));
	assert_true(suci_addr_is_any(&none));
	none.ip[15] = 1;
	assert_false(suci_addr_is_any(&none));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(texts_without_port),
		cmocka_unit_test(bytes),
		cmocka_unit_test(faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
