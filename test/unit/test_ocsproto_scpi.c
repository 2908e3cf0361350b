/* SPDX-License-Identifier: BSD-2-Clause */
/* SCPI sessions. */
#include "ocsproto_kit.h"

static struct kit
scpi(const char *model)
{
	struct kit k =
		kit_new((struct ocsproto_config){.kind = OCSPROTO_SCPI, .ports = 16, .batch = 16});
	char idn[96];
	k.sw->ops->connected(k.sw, k.now);
	kit_sent(&k, "*IDN?\n");
	snprintf(idn, sizeof idn, "Polatis,%s,0815,6.7.0\r\n", model);
	kit_say(&k, idn);
	kit_sent(&k, ":OXC:SWIT:SIZE?\n");
	kit_say(&k, "16,16\n");
	kit_event(&k, OCS_EVENT_UP);
	return k;
}

static void
test_apply(void **state)
{
	(void)state;
	struct kit k = scpi("N-OST-16x16");
	struct ocs_circuit off = {.in = 0, .out = 0};
	struct ocs_circuit on[] = {{.in = 1, .out = 1}, {.in = 2, .out = 2}, {.in = 3, .out = 4}};
	assert_int_equal(kit_apply(&k, &off, 1, on, 3, false), OCS_ERR_OK);
	kit_sent(&k, ":OXC:SWIT:CONN:STAT?\n");
	kit_say(&k, "(@1,9),(@17,21)\n"); /* 21 = egress 4 is somebody's */
	kit_sent(&k, "*CLS;:OXC:SWIT:CONN:SUB (@1),(@17);*OPC?\n");
	kit_say(&k, "1\n");
	kit_sent(&k, ":SYST:ERR?\n");
	kit_say(&k, "0,\"No error\"\n");
	kit_sent(&k, "*CLS;:OXC:SWIT:CONN:ADD (@2,3),(@18,19);*OPC?\n");
	kit_say(&k, "1\n");
	kit_sent(&k, ":SYST:ERR?\n");
	kit_say(&k, "-222,\"Data out of range\"\n");
	kit_sent(&k, "*CLS;:OXC:SWIT:CONN:ADD (@2),(@18);*OPC?\n");
	kit_say(&k, "1\n");
	kit_sent(&k, ":SYST:ERR?\n");
	kit_say(&k, "0,\"No error\"\n");
	kit_sent(&k, "*CLS;:OXC:SWIT:CONN:ADD (@3),(@19);*OPC?\n");
	kit_say(&k, "1\n");
	kit_sent(&k, ":SYST:ERR?\n");
	kit_say(&k, "-222,\"Data out of range\"\n");
	kit_sent(&k, ":OXC:SWIT:CONN:STAT?\n");
	kit_say(&k, "(@2,9),(@18,21)\n");
	kit_circuit(&k, 0, 0, OCS_ERR_OK);
	kit_circuit(&k, 1, 1, OCS_ERR_OK);
	kit_circuit(&k, 2, 2, OCS_ERR_REFUSED);
	kit_circuit(&k, 3, 4, OCS_ERR_BUSY);
	kit_event(&k, OCS_EVENT_DONE);
	kit_quiet(&k);
	kit_free(&k);
}

static void
test_states(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		int circuits; /* -1: nonsense */
	} cases[] = {
		{"(@),(@)\n", 0},	  {"(@1,2),(@18,17)\n", 2}, {"(@1, 2), (@18, 17)\r\n", 2},
		{"(@1,2),(@18)\n", -1},	  {"(@1),(@18,17)\n", -1},  {"(@1),(@1)\n", -1},
		{"(@0),(@17)\n", -1},	  {"nothing\n", -1},	    {"(@1,x),(@17,18)\n", -1},
		{"(@1,2,(@17,18)\n", -1}, {"(@16),(@32)\n", 1},	    {"(@17),(@33)\n", 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct kit k = scpi("N-OST");
		printf("  %s", cases[i].line);
		assert_int_equal(k.sw->ops->read_all(k.sw, 4, k.now), OCS_ERR_OK);
		kit_out(&k);
		kit_say(&k, cases[i].line);
		assert_int_equal(ocsproto_is_broken(k.sw), cases[i].circuits < 0);
		for (int n = 0; n < cases[i].circuits; n++)
			kit_event(&k, OCS_EVENT_CIRCUIT);
		if (cases[i].circuits >= 0)
			kit_done(&k, 4, OCS_ERR_OK);
		kit_free(&k);
	}
}

static void
test_power(void **state)
{
	(void)state;
	struct ocs_port_name ports[] = {{0, true}, {1, false}, {5, true}};
	static const int32_t want[] = {-1234, 50, OCS_NO_POWER};
	struct kit k = scpi("N-OST");
	assert_int_equal(k.sw->ops->power(k.sw, 4, ports, 3, k.now), OCS_ERR_OK);
	kit_sent(&k, ":PMON:POW? (@1,18,6)\n");
	kit_say(&k, "(-12.345,.5,*)\n");
	for (int i = 0; i < 3; i++)
		assert_int_equal(kit_event(&k, OCS_EVENT_POWER).dbm_hundredths, want[i]);
	kit_done(&k, 4, OCS_ERR_OK);
	kit_free(&k);
	k = scpi("I-OST"); /* has no photodetectors */
	assert_int_equal(k.sw->ops->power(k.sw, 4, ports, 3, k.now), OCS_ERR_UNSUPPORTED);
	kit_free(&k);
}

/* A request that meets a keep-alive's answer on its way does not take it for its own. */
static void
test_keepalive(void **state)
{
	(void)state;
	struct kit k = scpi("N-OST");
	k.now = k.sw->ops->expiry_ns(k.sw);
	k.sw->ops->tick(k.sw, k.now);
	kit_sent(&k, "*OPC?\n");
	k.sw->ops->read_all(k.sw, 4, k.now);
	kit_sent(&k, ":OXC:SWIT:CONN:STAT?\n");
	kit_say(&k, "1\n(@3),(@19)\n");
	kit_shown(&k, 2, 2, OCS_SHOWN_STEADY);
	kit_done(&k, 4, OCS_ERR_OK);
	kit_free(&k);
}

static void
test_nonsense(void **state)
{
	(void)state;
	struct kit k = scpi("N-OST");
	kit_say(&k, "unasked\n");
	assert_true(ocsproto_is_broken(k.sw));
	kit_free(&k);
	k = scpi("N-OST");
	for (int i = 0; i < 2000; i++)
		kit_say(&k, "xxxxxxxx");
	k.sw->ops->read_all(k.sw, 4, k.now);
	kit_say(&k, "\n");
	assert_true(ocsproto_is_broken(k.sw));
	kit_free(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply),	 cmocka_unit_test(test_states),
		cmocka_unit_test(test_power),	 cmocka_unit_test(test_keepalive),
		cmocka_unit_test(test_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
