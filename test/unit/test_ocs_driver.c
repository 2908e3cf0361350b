/* SPDX-License-Identifier: BSD-2-Clause */
/* What driver/ocs does before there is a connection: addresses, credentials, pauses; a listener
 * without descriptors. */
#include "cmocka_all.h"

#include "driver.h"

#include "base/clock.h"
#include "ocsproto/ocsproto.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void
test_addresses(void **state)
{
	(void)state;
	static const struct {
		const char *text, *host, *port; /* host NULL: none */
	} cases[] = {
		{"10.0.0.1", "10.0.0.1", "3082"},
		{"10.0.0.1:99", "10.0.0.1", "99"},
		{"[fe80::1]:99", "fe80::1", "99"},
		{"[::1]", "::1", "3082"},
		{"switch.example", "switch.example", "3082"},
		{"", NULL, NULL},
		{":99", NULL, NULL},
		{"a:", NULL, NULL},
		{"a:x", NULL, NULL},
		{"a:123456", NULL, NULL},
		{"[::1", NULL, NULL},
		{"[::1]x", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char host[256], port[8];
		printf("  %s\n", cases[i].text);
		bool ok = ocsdrv_address_split(cases[i].text, 3082, host, port);
		assert_int_equal(ok, cases[i].host != NULL);
		if (!ok)
			continue;
		assert_string_equal(host, cases[i].host);
		assert_string_equal(port, cases[i].port);
	}
}

static void
test_secrets(void **state)
{
	(void)state;
	char longest[OCSDRV_SECRET_MAX + 8];
	memset(longest, 'x', OCSDRV_SECRET_MAX + 4);
	longest[OCSDRV_SECRET_MAX + 4] = 0;
	const struct {
		const char *text, *user, *password;
		mode_t mode;
	} cases[] = {
		{"mpi\nsecret\n", "mpi", "secret", 0600},
		{"mpi\r\nse cret", "mpi", "se cret", 0400},
		{"mpi\n\n", "mpi", "", 0600},
		{"mpi\nsecret\nmore\n", "mpi", "secret", 0600},
		{"", NULL, NULL, 0600},
		{"\nsecret\n", NULL, NULL, 0600},
		{longest, NULL, NULL, 0600},
		{"mpi\nsecret\n", NULL, NULL, 0640},
		{"mpi\nsecret\n", NULL, NULL, 0604},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[] = "/tmp/ocs-secret.XXXXXX", why[OCS_DRIVER_WHY] = "";
		struct ocsdrv_secret s;
		int fd = mkstemp(path);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, cases[i].text, strlen(cases[i].text)),
				 strlen(cases[i].text));
		assert_int_equal(fchmod(fd, cases[i].mode), 0);
		close(fd);
		printf("  case %zu\n", i);
		assert_int_equal(ocsdrv_secret_read(&s, path, why), cases[i].user != NULL);
		unlink(path);
		assert_null(strstr(why, "secret\n"));
		assert_int_equal(why[0] != 0, cases[i].user == NULL);
		assert_string_equal(s.user, cases[i].user ? cases[i].user : "");
		assert_string_equal(s.password, cases[i].user ? cases[i].password : "");
	}
}

static void
test_pauses(void **state)
{
	(void)state;
	struct ocsdrv_pause p;
	uint64_t whole = 100 * BASE_MS_NS;
	ocsdrv_pause_init(&p, &(struct ocs_driver_config){.retry_max_ns = BASE_S_NS});
	for (int i = 0; i < 20; i++) {
		uint64_t ns = ocsdrv_pause_next_ns(&p);
		assert_true(ns <= whole && ns >= whole - whole / 4);
		whole = base_min_ns(2 * whole, BASE_S_NS);
	}
	ocsdrv_pause_reset(&p);
	assert_true(ocsdrv_pause_next_ns(&p) <= 100 * BASE_MS_NS);
}

static void
test_bad_configurations(void **state)
{
	(void)state;
	static const struct ocs_driver_config cases[] = {
		{.protocol = "snmp", .address = "127.0.0.1", .ports = 4, .batch = 4},
		{.protocol = "scpi", .address = "", .ports = 4, .batch = 4},
		{.protocol = "scpi", .address = "127.0.0.1", .ports = 0, .batch = 4},
		{.protocol = "scpi", .address = "127.0.0.1", .ports = 4, .batch = 0},
		{.protocol = "tl1-calient", .address = "127.0.0.1", .ports = 4, .batch = 4},
		{.protocol = "tl1-polatis",
		 .address = "127.0.0.1",
		 .ports = 4,
		 .batch = 4,
		 .credentials = "/nonexistent"},
		{.protocol = "openflow",
		 .address = "listen:192.0.2.1:6653",
		 .ports = 4,
		 .batch = 4},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char why[OCS_DRIVER_WHY] = "";
		assert_null(ocs_driver_open(&cases[i], why));
		printf("  %s\n", why);
		assert_true(why[0]);
		if (i == 0) /* what there is instead, to the last */
			assert_non_null(strstr(why, "no protocol \"snmp\"; there are netconf, "));
		if (i == 0)
			for (enum ocsproto_kind k = 0; k < OCSPROTO_KINDS; k++)
				assert_non_null(strstr(why, ocsproto_name(k)));
	}
}

/* Linked here, as programs load it. */
static void
test_netconf_table(void **state)
{
	(void)state;
	const struct ocs_driver_config cfg = {
		.protocol = "netconf", .address = "127.0.0.1", .ports = 4, .batch = 4};
	static const uint32_t sizes[] = OCS_PLUGIN_SIZES;
	char why[OCS_DRIVER_WHY] = "";
	assert_int_equal(ocs_plugin.version, OCS_PLUGIN_VERSION);
	assert_memory_equal(ocs_plugin.sizes, sizes, sizeof sizes);
	assert_string_equal(ocs_plugin.protocol, "netconf");
	assert_null(ocs_plugin.open(&cfg, why));
	assert_non_null(strstr(why, "exec:COMMAND"));
}

/* A switch that calls while there are no descriptors has its session later; the driver does not
 * ask for a turn before. */
static void
test_pause_of_listener(void **state)
{
	(void)state;
	enum { NOW = 1000 };
	const char *const address = "listen:127.0.0.1:26653";
	const struct ocs_driver_config cfg = {
		.protocol = "openflow", .address = address, .ports = 4, .batch = 4};
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(26653),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char why[OCS_DRIVER_WHY] = "";
	struct ocs_driver *d = ocs_driver_open(&cfg, why);
	struct rlimit was, none;
	int caller = socket(AF_INET, SOCK_STREAM, 0);
	if (!d)
		fail_msg("%s", why);
	struct pollfd p = {.fd = ocs_driver_fd(d), .events = POLLIN};
	assert_int_equal(connect(caller, (const struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ocs_driver_turn(d, NOW);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_non_null(strstr(ocs_driver_trouble(d), "Too many open files"));
	assert_int_equal(poll(&p, 1, 0), 0);
	uint64_t again = ocs_driver_expiry_ns(d);
	assert_true(again > NOW && again <= NOW + BASE_S_NS);
	ocs_driver_turn(d, again - 1);
	assert_int_equal(poll(&p, 1, 0), 0);
	ocs_driver_turn(d, again);
	uint8_t hello;
	assert_int_equal(recv(caller, &hello, 1, 0), 1);
	close(caller);
	ocs_driver_close(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),     cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_pauses),	      cmocka_unit_test(test_bad_configurations),
		cmocka_unit_test(test_netconf_table), cmocka_unit_test(test_pause_of_listener),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
