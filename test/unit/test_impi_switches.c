/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches for foreign clients: syntax, combination, recognising LAM/MPI. */
#include "cmocka_all.h"
#include "impi/switches.h"

#include <stdio.h>

static const struct {
	const char *text, *says; /* says: part of the error, NULL: fine */
} syntax_cases[] = {
	{NULL, NULL},
	{"", NULL},
	{"1:auto", NULL},
	{"0:native-payload,reduce-on-pt2pt-context;2:long8;*:external32", NULL},
	{"1:long8,external32;", NULL},
	{"1:long8;1:reduce-on-pt2pt-context", NULL},
	{"31:long8", NULL},
	{"1", "is not CLIENT:word"},
	{";", "is not CLIENT:word"},
	{"1:", "unknown word ''"},
	{"1:long8,", "unknown word ''"},
	{"1:long", "unknown word 'long'"},
	{"1:long88", "unknown word 'long88'"},
	{"1: long8", "unknown word ' long8'"},
	{"32:long8", "a client is 0..31"},
	{"132:long8", "a client is 0..31"},
	{"-1:long8", "a client is 0..31"},
	{":long8", "a client is 0..31"},
	{"**:long8", "a client is 0..31"},
	{"1:native-payload,long8", "contradicts"},
	{"1:external32;1:native-payload", "contradicts"},
};

static void
syntax(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof syntax_cases / sizeof *syntax_cases; i++) {
		const char *text = syntax_cases[i].text, *says = syntax_cases[i].says;
		struct impi_switch_table t;
		struct impi_error err = {0};
		enum impi_err rc = impi_switches_parse(text, &t, &err);
		printf("  '%s'\n", text ? text : "(none)");
		assert_int_equal(rc, says ? IMPI_ERR_VALUE : IMPI_ERR_OK);
		if (says)
			assert_non_null(strstr(err.text, says));
	}
}

static struct impi_switches
of(const char *text, uint32_t client, bool is_lam)
{
	struct impi_switch_table t;
	struct impi_error err = {0};

	assert_int_equal(impi_switches_parse(text, &t, &err), IMPI_ERR_OK);
	return impi_switches_for(&t, client, is_lam);
}

static void
combination(void **state)
{
	static const struct {
		const char *text;
		uint32_t client;
		bool is_lam;
		enum impi_payload payload;
		bool reduce;
	} c[] = {
		{NULL, 1, false, IMPI_PAYLOAD_EXTERNAL32, false},
		{NULL, 1, true, IMPI_PAYLOAD_NATIVE, true},
		{"1:auto", 1, true, IMPI_PAYLOAD_NATIVE, true},
		/* words without auto are all that holds */
		{"1:external32", 1, true, IMPI_PAYLOAD_EXTERNAL32, false},
		{"1:reduce-on-pt2pt-context", 1, true, IMPI_PAYLOAD_EXTERNAL32, true},
		{"1:auto,long8", 1, true, IMPI_PAYLOAD_LONG8, true},
		{"1:external32,long8", 1, false, IMPI_PAYLOAD_LONG8, false},
		{"1:long8,external32", 1, false, IMPI_PAYLOAD_LONG8, false},
		{"1:long8;1:reduce-on-pt2pt-context", 1, false, IMPI_PAYLOAD_LONG8, true},
		/* the star is for those without an entry */
		{"2:long8;*:native-payload", 2, false, IMPI_PAYLOAD_LONG8, false},
		{"2:long8;*:native-payload", 1, false, IMPI_PAYLOAD_NATIVE, false},
		{"2:auto;*:native-payload", 2, false, IMPI_PAYLOAD_EXTERNAL32, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		struct impi_switches s = of(c[i].text, c[i].client, c[i].is_lam);
		printf("  '%s' client %u lam %d\n", c[i].text ? c[i].text : "(none)", c[i].client,
		       c[i].is_lam);
		assert_int_equal(s.payload, c[i].payload);
		assert_int_equal(s.reduce_on_pt2pt, c[i].reduce);
	}
}

static void
offer(struct impi_offered *o, uint32_t mask, uint32_t label, const uint32_t *v, size_t n)
{
	uint8_t data[4 * 4];

	for (size_t i = 0; i < n; i++)
		be32_store(data + 4 * i, v[i]);
	impi_offered_label(o, label, mask, data, 4 * n);
}

static void
lam_by_its_values(void **state)
{
	struct impi_offered o[IMPI_CLIENTS_MAX] = {0};

	(void)state;
	/* Client 0 as the foreign peer "strict" of test/interop offers, 2 as LAM, 3 as LAM
	 * but for TAGUB; client 1 is not there. */
	offer(o, 0xd, IMPI_C_DATALEN, (uint32_t[]){16384, 65536, 65536}, 3);
	offer(o, 0xd, IMPI_C_TAGUB, (uint32_t[]){0x3fffffff, INT32_MAX, 32767}, 3);
	offer(o, 0xd, IMPI_C_COLL_XSIZE, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX}, 3);
	offer(o, 0xd, IMPI_C_COLL_MAXLINEAR, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX}, 3);
	offer(o, 0xd, IMPI_C_NHOSTS, (uint32_t[]){9, 9, 9}, 3); /* not looked at */
	for (int i = 0; i < 4; i++) {
		o[i].ackmark = 10;
		o[i].hiwater = 20;
	}
	assert_false(impi_offered_is_lam(&o[0]));
	assert_false(impi_offered_is_lam(&o[1]));
	assert_true(impi_offered_is_lam(&o[2]));
	assert_false(impi_offered_is_lam(&o[3]));
	o[2].hiwater = 21;
	assert_false(impi_offered_is_lam(&o[2]));
	o[2].hiwater = 20;
	o[2].xsize = 1024; /* the same value in effect, but said */
	assert_false(impi_offered_is_lam(&o[2]));
	/* A reply that is cut short gives nothing to the clients it does not reach. */
	struct impi_offered cut[IMPI_CLIENTS_MAX] = {0};
	offer(cut, 0x3, IMPI_C_DATALEN, (uint32_t[]){1}, 1);
	assert_int_equal(cut[0].datalen, 1);
	assert_int_equal(cut[1].have, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(syntax),
		cmocka_unit_test(combination),
		cmocka_unit_test(lam_by_its_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
