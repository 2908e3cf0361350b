/* Bytes that processes publish through the launcher; IMPI_SERVER's syntax. */
#include "boot.h"
#include "idtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void
contact_round_trip(void **state)
{
	struct lmpi_contact a = {.token = 0x0123456789abcdefull,
				 .ip = {10, 0, 0, 7},
				 .port = 40001,
				 .shm_pid = 4242,
				 .shm_fd = -1,
				 .shm_bytes = 1 << 20,
				 .bell = "lmpi-0011223344556677"},
			    b;
	uint8_t bytes[LMPI_CONTACT_BYTES + 1];

	(void)state;
	lmpi_contact_encode(&a, bytes);
	assert_true(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b));
	assert_memory_equal(&a, &b, sizeof a);
	for (size_t n = 0; n < LMPI_CONTACT_BYTES; n++)
		assert_false(lmpi_contact_decode(bytes, n, &b));
	assert_false(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES + 1, &b));
	bytes[0] ^= 1;
	assert_false(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b));
}

static void
job_round_trip(void **state)
{
	struct lmpi_job_host host[] = {{0, 2}, {1, 1}, {1, 0}};
	uint8_t proc[3][24];
	struct lmpi_job a = {.client = 1,
			     .nclients = 2,
			     .nhosts = 3,
			     .nprocs = 3,
			     .datalen = 65536,
			     .ackmark = 10,
			     .hiwater = 20,
			     .tag_ub = 32767,
			     .host = host,
			     .proc = proc},
			b;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof proc; i++)
		((uint8_t *)proc)[i] = (uint8_t)i;
	uint8_t *bytes = lmpi_job_encode(&a, &len);
	assert_non_null(bytes);
	assert_true(lmpi_job_decode(bytes, len, &b));
	assert_int_equal(b.client, 1);
	assert_int_equal(b.datalen, 65536);
	assert_int_equal(b.ackmark, 10);
	assert_int_equal(b.hiwater, 20);
	assert_int_equal(b.tag_ub, 32767);
	assert_memory_equal(b.host, host, sizeof host);
	assert_memory_equal(b.proc, proc, sizeof proc);
	lmpi_job_free(&b);
	for (size_t n = 0; n < len; n++)
		assert_false(lmpi_job_decode(bytes, n, &b));
	bytes[40 + 7] = 9; /* host 0 claims nine processes of three */
	assert_false(lmpi_job_decode(bytes, len, &b));
	free(bytes);
}

static const struct {
	const char *in, *host, *port; /* host NULL: refused */
} server_cases[] = {
	{"relay1:7000", "relay1", "7000"},
	{"10.0.0.9:1", "10.0.0.9", "1"},
	{"[fd00::1]:65535", "fd00::1", "65535"},
	{"relay1", NULL, NULL},
	{":7000", NULL, NULL},
	{"relay1:", NULL, NULL},
	{"relay1:x", NULL, NULL},
	{"relay1:0", NULL, NULL},
	{"relay1:65536", NULL, NULL},
	{"[]:1", NULL, NULL},
	{"relay1:99999999999999999999", NULL, NULL},
};

static void
server_syntax(void **state)
{
	char host[256], port[16];

	(void)state;
	for (size_t i = 0; i < sizeof server_cases / sizeof server_cases[0]; i++) {
		printf("  '%s'\n", server_cases[i].in);
		bool ok = lmpi_split_server(server_cases[i].in, host, port);
		assert_int_equal(ok, server_cases[i].host != NULL);
		if (ok) {
			assert_string_equal(host, server_cases[i].host);
			assert_string_equal(port, server_cases[i].port);
		}
	}
}

static void
ids(void **state)
{
	struct lmpi_idtab t = {0};
	uint64_t id[1000];
	int object[1000];

	(void)state;
	assert_null(lmpi_id_find(&t, 0));
	assert_null(lmpi_id_find(&t, 1));
	for (int i = 0; i < 1000; i++) {
		id[i] = lmpi_id_new(&t, &object[i]);
		assert_true(id[i] != 0);
	}
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(lmpi_id_find(&t, id[i]), &object[i]);
	lmpi_id_drop(&t, id[5]);
	lmpi_id_drop(&t, id[5]);
	assert_null(lmpi_id_find(&t, id[5]));
	uint64_t again = lmpi_id_new(&t, &object[7]);
	assert_true(again != id[5]); /* the same place, another generation */
	assert_null(lmpi_id_find(&t, id[5]));
	assert_int_equal(t.used, 1000);
	assert_null(lmpi_id_find(&t, UINT64_MAX));
	free(t.slot);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contact_round_trip),
		cmocka_unit_test(job_round_trip),
		cmocka_unit_test(server_syntax),
		cmocka_unit_test(ids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
