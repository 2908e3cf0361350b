/* SPDX-License-Identifier: BSD-2-Clause */
/* The address database: what is read, what is refused, with file and line. */
#include "suci.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const struct {
	const char *text;
	size_t want; /* ids; or */
	const char *error;
} cases[] = {
	{"", 0, NULL},
	{"# nothing\n\n  \t\r\n", 0, NULL},
	{"0 10.0.0.1 7700\n", 1, NULL},
	{"0 10.0.0.1 7700", 1, NULL},
	{"  7\t10.0.0.1   1  # with a comment\r\n65535 10.0.0.1 65535\n", 2, NULL},
	{"3 * *\n4 * *\n1 127.0.0.1 9\n", 3, NULL},
	{"3 2001:db8::7 7700\n4 fd00::1 7700\n5 ::1 7700\n6 10.0.0.1 7700\n", 4, NULL},
	{"3 2001:db8::7 7700\n4 2001:db8::7 7701\n", 2, NULL},
	{"3 2001:db8::7 7700\n4 2001:DB8:0::7 7700\n", 0,
	 "hosts:2: the address of id 4 is already in line 1"},
	{"3 10.0.0.1 7700\n4 ::ffff:10.0.0.1 7700\n", 0,
	 "hosts:2: the address of id 4 is already in line 1"},
	{"3 fe80::1 7700\n", 0,
	 "hosts:1: \"fe80::1\" is link-local, which means nothing on other links: give a global "
	 "or unique local one"},
	{"3 ff02::1 7700\n", 0, "hosts:1: \"ff02::1\" is a multicast address"},
	{"3 [2001:db8::7] 7700\n", 0,
	 "hosts:1: \"[2001:db8::7]\" is no IPv4 or IPv6 address such as 10.0.0.1 or fd00::1"},
	{"0 10.0.0.1 7700\n0 10.0.0.2 7700\n", 0, "hosts:2: id 0 is already in line 1"},
	{"0 10.0.0.1 7700\n\n9 10.0.0.1 7700\n", 0,
	 "hosts:3: the address of id 9 is already in line 1"},
	{"0 10.0.0.1\n", 0, "hosts:1: a line is: id address port"},
	{"0\n", 0, "hosts:1: a line is: id address port"},
	{"0 10.0.0.1 7700 x\n", 0, "hosts:1: a line is: id address port"},
	{"#\n65536 10.0.0.1 7700\n", 0, "hosts:2: id \"65536\" is not a number of 0 .. 65535"},
	{"-1 10.0.0.1 7700\n", 0, "hosts:1: id \"-1\" is not a number of 0 .. 65535"},
	{"99999999999999999999 10.0.0.1 7700\n", 0,
	 "hosts:1: id \"99999999999999999999\" is not a number of 0 .. 65535"},
	{"a 10.0.0.1 7700\n", 0, "hosts:1: id \"a\" is not a number of 0 .. 65535"},
	{"1 10.0.0 7700\n", 0,
	 "hosts:1: \"10.0.0\" is no IPv4 or IPv6 address such as 10.0.0.1 or fd00::1"},
	{"1 host.example 7700\n", 0,
	 "hosts:1: \"host.example\" is no IPv4 or IPv6 address such as 10.0.0.1 or fd00::1"},
	{"1 10.0.0.1 0\n", 0, "hosts:1: port \"0\" is not a number of 1 .. 65535"},
	{"1 10.0.0.1 65536\n", 0, "hosts:1: port \"65536\" is not a number of 1 .. 65535"},
	{"1 10.0.0.1 *\n", 0, "hosts:1: port \"*\" is not a number of 1 .. 65535"},
	{"1 * 5\n", 0, "hosts:1: port \"5\" for address *: it has to be * too"},
};

static void
test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char error[300] = "";
		errno = 0;
		struct datagram_db *db = datagram_db_parse(
			"hosts", cases[i].text, strlen(cases[i].text), error, sizeof error);
		if (cases[i].error) {
			assert_null(db);
			assert_int_equal(errno, EINVAL);
			assert_string_equal(error, cases[i].error);
		} else {
			print_message("%s", error);
			assert_non_null(db);
			assert_int_equal(datagram_db_count(db), cases[i].want);
		}
		datagram_db_free(db);
	}
}

static void
test_nul_and_long_lines(void **state)
{
	(void)state;
	char error[300], text[1000];
	assert_null(datagram_db_parse("f", "0 10.0.0.1 1\n\0", 14, error, sizeof error));
	assert_string_equal(error, "f:2: a NUL byte: not a text file");
	memset(text, ' ', sizeof text);
	assert_null(datagram_db_parse("f", text, sizeof text, error, sizeof error));
	assert_string_equal(error, "f:1: line of more than 255 bytes");
	text[0] = '#'; /* a comment may be long */
	struct datagram_db *db = datagram_db_parse("f", text, sizeof text, error, sizeof error);
	assert_non_null(db);
	datagram_db_free(db);
	/* Nobody has to want the text. */
	assert_null(datagram_db_parse("f", "x", 1, NULL, 0));
}

static void
test_sorted(void **state)
{
	(void)state;
	const char *text = "9 10.0.0.9 90\n2 * *\n5 10.0.0.5 50\n";
	struct datagram_db *db = datagram_db_parse("f", text, strlen(text), NULL, 0);
	static const struct {
		uint32_t id;
		const char *ip;
		uint16_t port;
	} want[] = {{2, "", 0}, {5, "10.0.0.5", 50}, {9, "10.0.0.9", 90}};
	assert_non_null(db);
	for (size_t i = 0; i < 3; i++) {
		uint32_t id;
		uint16_t port;
		char ip[DATAGRAM_IP_TEXT];
		assert_int_equal(datagram_db_get(db, i, &id, ip, &port), 0);
		assert_int_equal(id, want[i].id);
		assert_string_equal(ip, want[i].ip);
		assert_int_equal(port, want[i].port);
	}
	uint32_t id;
	uint16_t port;
	char ip[DATAGRAM_IP_TEXT];
	assert_int_equal(datagram_db_get(db, 3, &id, ip, &port), -1);
	datagram_db_free(db);
}

static void
test_builder(void **state)
{
	(void)state;
	static const struct {
		uint32_t id;
		const char *ip;
		uint16_t port;
		int err;
	} step[] = {
		{1, "10.0.0.1", 7, 0},
		{0, "10.0.0.1", 8, 0},
		{1, "10.0.0.2", 7, EEXIST},
		{2, "10.0.0.1", 7, EEXIST},
		{65536, "10.0.0.3", 7, EINVAL},
		{2, "10.0.0", 7, EINVAL},
		{2, "10.0.0.2", 0, EINVAL},
		{2, NULL, 0, 0},
		{3, NULL, 0, 0},
	};
	struct datagram_db *db = datagram_db_new();
	for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
		errno = 0;
		int r = datagram_db_add(db, step[i].id, step[i].ip, step[i].port);
		assert_int_equal(r, step[i].err ? -1 : 0);
		assert_int_equal(errno, step[i].err);
	}
	assert_int_equal(datagram_db_count(db), 4);
	datagram_db_free(db);
	datagram_db_free(NULL);
}

static void
test_file(void **state)
{
	(void)state;
	char name[] = "/tmp/suci-db-XXXXXX", error[300], want[300];
	int fd = mkstemp(name);
	FILE *f = fdopen(fd, "w");
	for (unsigned i = 0; i < 3000; i++)
		fprintf(f, "%u 10.0.%u.%u 7700\n", 3000 - i, i / 250, i % 250);
	fclose(f);
	struct datagram_db *db = datagram_db_read(name, error, sizeof error);
	assert_non_null(db);
	assert_int_equal(datagram_db_count(db), 3000);
	datagram_db_free(db);
	f = fopen(name, "a");
	fprintf(f, "3001 10.0.0 7700\n");
	fclose(f);
	assert_null(datagram_db_read(name, error, sizeof error));
	snprintf(want, sizeof want,
		 "%s:3001: \"10.0.0\" is no IPv4 or IPv6 address such as 10.0.0.1 or fd00::1",
		 name);
	assert_string_equal(error, want);
	unlink(name);
	errno = 0;
	assert_null(datagram_db_read(name, error, sizeof error));
	assert_int_equal(errno, ENOENT);
	snprintf(want, sizeof want, "%s: No such file or directory", name);
	assert_string_equal(error, want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),   cmocka_unit_test(test_nul_and_long_lines),
		cmocka_unit_test(test_sorted), cmocka_unit_test(test_builder),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
