/* SPDX-License-Identifier: BSD-2-Clause */
/* TL1 sessions with switches of three vendors. */
#include "ocsproto_kit.h"

#define HEAD		 "\r\n\n   OSW 26-11-21 09:00:00\r\n"
#define OK(ctag)	 HEAD "M  " ctag " COMPLD\r\n;"
#define OK_WITH(ctag, r) HEAD "M  " ctag " COMPLD\r\n" r ";"
#define NO(ctag, code)	 HEAD "M  " ctag " DENY\r\n   " code "\r\n;"
#define REC(r)		 "   \"" r "\"\r\n"

static struct kit
polatis(void)
{
	struct kit k = kit_new((struct ocsproto_config){.kind = OCSPROTO_TL1_POLATIS,
							.ports = 16,
							.batch = 16,
							.user = "mpi",
							.password = "a\"b;c"});
	k.sw->ops->connected(k.sw, k.now);
	kit_sent(&k, "ACT-USER::mpi:1::\"a\\\"b;c\";");
	kit_say(&k, OK("1"));
	kit_sent(&k, "RTRV-NETYPE:::2:;");
	kit_say(&k, OK_WITH("2", REC("Polatis,OST-16x16,OXC,6.7")));
	kit_sent(&k, "RTRV-EQPT::SYSTEM:3:::PARAMETER=SIZE;");
	kit_say(&k, OK_WITH("3", REC("SYSTEM:SIZE=16x16")));
	kit_event(&k, OCS_EVENT_UP);
	kit_quiet(&k);
	return k;
}

static void
test_identify(void **state)
{
	(void)state;
	struct kit k = polatis();
	assert_int_equal(k.sw->ops->identify(k.sw, 5, k.now), OCS_ERR_OK);
	assert_int_equal(k.sw->ops->identify(k.sw, 6, k.now), OCS_ERR_BUSY);
	struct ocs_event ev = kit_event(&k, OCS_EVENT_IDENTITY);
	assert_string_equal(ev.identity->vendor, "Polatis");
	assert_string_equal(ev.identity->model, "OST-16x16");
	assert_string_equal(ev.identity->version, "6.7");
	assert_int_equal(ev.identity->ingress, 16);
	assert_int_equal(ev.identity->egress, 16);
	kit_done(&k, 5, OCS_ERR_OK);
	kit_free(&k);
}

static void
test_apply(void **state)
{
	(void)state;
	struct kit k = polatis();
	struct ocs_circuit off[] = {{.in = 0, .out = 1}, {.in = 5, .out = 5}};
	struct ocs_circuit on[] = {
		{.in = 2, .out = 2}, {.in = 3, .out = 3}, {.in = 6, .out = 4}, {.in = 7, .out = 7}};
	assert_int_equal(kit_apply(&k, off, 2, on, 4, false), OCS_ERR_OK);
	kit_sent(&k, "RTRV-PATCH:::4:;");
	/* Ours is there, 5 -> 5 is not; 7 -> 7 is already; 20 is taken. */
	kit_say(&k, OK_WITH("4", REC("1,18") REC("9,21") REC("8,24")));
	kit_sent(&k, "DLT-PATCH::1:5:;");
	kit_say(&k, OK("5"));
	kit_sent(&k, "ENT-PATCH::3,19:6:;ENT-PATCH::4,20:7:;");
	kit_say(&k, OK("7"));
	kit_say(&k, HEAD "** 118 REPT ALM PORT\r\n" REC("19:MJ,LOS,SA") ";" NO("6", "SROF"));
	kit_sent(&k, "RTRV-PATCH:::8:;"); /* a refusal: the matrix decides */
	kit_say(&k, OK_WITH("8", REC("4,20") REC("9,21") REC("8,24")));
	kit_circuit(&k, 0, 1, OCS_ERR_OK);
	kit_circuit(&k, 5, 5, OCS_ERR_OK);
	kit_circuit(&k, 2, 2, OCS_ERR_REFUSED);
	kit_circuit(&k, 3, 3, OCS_ERR_OK);
	kit_circuit(&k, 6, 4, OCS_ERR_BUSY);
	kit_circuit(&k, 7, 7, OCS_ERR_OK);
	struct ocs_event ev = kit_event(&k, OCS_EVENT_DONE);
	assert_int_equal(ev.id, 9);
	ev = kit_event(&k, OCS_EVENT_ALARM);
	assert_false(ev.ingress);
	assert_int_equal(ev.port, 2);
	assert_int_equal(ev.err, OCS_ERR_DARK);
	kit_quiet(&k);
	kit_free(&k);
}

static void
test_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *answer, *there;
		int err;
	} cases[] = {
		{NO("5", "SROU"), REC("3,19"), OCS_ERR_OK}, /* already so, and it is */
		{NO("5", "SROU"), "", OCS_ERR_REFUSED},
		{NO("5", "SARB"), "", OCS_ERR_RETRY},
		{NO("5", "IIAC"), "", OCS_ERR_INVAL},
		{NO("5", "IICM"), "", OCS_ERR_UNSUPPORTED},
		{NO("0", "IPNV"), "", OCS_ERR_INVAL},
		{HEAD "M  5 PRTL\r\n;", REC("3,19"), OCS_ERR_OK},
		{HEAD "M  5 PRTL\r\n;", "", OCS_ERR_REFUSED},
		{"RL 5\r\n<", "", OCS_ERR_RETRY},
		{"NG 5\r\n<", "", OCS_ERR_REFUSED},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct kit k = polatis();
		struct ocs_circuit on = {.in = 2, .out = 2};
		char text[256];
		printf("  case %zu\n", i);
		kit_apply(&k, NULL, 0, &on, 1, false);
		kit_sent(&k, "RTRV-PATCH:::4:;");
		kit_say(&k, OK("4"));
		kit_sent(&k, "ENT-PATCH::3,19:5:;");
		kit_say(&k, cases[i].answer);
		kit_sent(&k, "RTRV-PATCH:::6:;");
		snprintf(text, sizeof text, OK_WITH("6", "%s"), cases[i].there);
		kit_say(&k, text);
		kit_circuit(&k, 2, 2, cases[i].err);
		kit_event(&k, OCS_EVENT_DONE);
		kit_free(&k);
	}
}

/* An answer that takes long is announced; time counts anew from there. */
static void
test_time_limits(void **state)
{
	(void)state;
	struct kit k = polatis();
	k.sw->ops->read_all(k.sw, 3, k.now);
	kit_out(&k);
	k.now += 4 * BASE_S_NS;
	kit_say(&k, "IP 4\r\n<");
	k.now += 4 * BASE_S_NS;
	k.sw->ops->tick(k.sw, k.now);
	assert_false(ocsproto_is_broken(k.sw));
	k.now += 2 * BASE_S_NS;
	assert_true(k.sw->ops->expiry_ns(k.sw) <= k.now);
	k.sw->ops->tick(k.sw, k.now);
	assert_true(ocsproto_is_broken(k.sw));
	k.sw->ops->disconnected(k.sw, k.now);
	kit_event(&k, OCS_EVENT_DONE);
	assert_int_equal(kit_event(&k, OCS_EVENT_DOWN).err, OCS_ERR_TIMEOUT);
	kit_quiet(&k);
	kit_free(&k);
}

static void
test_keepalive(void **state)
{
	(void)state;
	struct kit k = polatis();
	k.now = k.sw->ops->expiry_ns(k.sw);
	k.sw->ops->tick(k.sw, k.now);
	kit_sent(&k, "RTRV-HDR:::4;");
	kit_say(&k, OK("4"));
	assert_true(k.sw->ops->expiry_ns(k.sw) > k.now);
	/* The answer that says "log in again" ends the session. */
	k.now = k.sw->ops->expiry_ns(k.sw);
	k.sw->ops->tick(k.sw, k.now);
	kit_out(&k);
	kit_say(&k, NO("5", "PLNA"));
	assert_true(ocsproto_is_broken(k.sw));
	kit_free(&k);
}

static void
test_login_refused(void **state)
{
	(void)state;
	struct kit k = kit_new((struct ocsproto_config){.kind = OCSPROTO_TL1_POLATIS,
							.ports = 4,
							.batch = 4,
							.user = "u",
							.password = "secret"});
	k.sw->ops->connected(k.sw, k.now);
	kit_out(&k);
	kit_say(&k, HEAD "M  1 DENY\r\n   PIUI\r\n   /* ACT-USER::u:1::secret */\r\n;");
	assert_true(ocsproto_is_broken(k.sw));
	k.sw->ops->disconnected(k.sw, k.now);
	struct ocs_event ev = kit_event(&k, OCS_EVENT_DOWN);
	assert_int_equal(ev.err, OCS_ERR_AUTH);
	assert_null(strstr(ev.text, "secret"));
	kit_free(&k);
}

static void
test_lost_in_mid_batch(void **state)
{
	(void)state;
	struct kit k = polatis();
	struct ocs_circuit on[] = {{.in = 2, .out = 2}, {.in = 3, .out = 3}};
	kit_apply(&k, NULL, 0, on, 2, false);
	kit_out(&k);
	kit_say(&k, OK("4"));
	kit_out(&k);
	kit_say(&k, OK("5"));
	k.sw->ops->disconnected(k.sw, k.now);
	kit_circuit(&k, 2, 2, OCS_ERR_OK);
	kit_circuit(&k, 3, 3, OCS_ERR_OFFLINE);
	assert_int_equal(kit_event(&k, OCS_EVENT_DONE).err, OCS_ERR_OFFLINE);
	kit_event(&k, OCS_EVENT_DOWN);
	kit_quiet(&k);
	assert_int_equal(k.sw->ops->read_all(k.sw, 1, k.now), OCS_ERR_OFFLINE);
	/* The next session begins from nothing. */
	k.sw->ops->connected(k.sw, k.now);
	kit_out(&k);
	assert_non_null(strstr((const char *)k.out, "ACT-USER"));
	kit_free(&k);
}

static void
test_power(void **state)
{
	(void)state;
	struct kit k = polatis();
	struct ocs_port_name ports[] = {{2, false}, {0, true}};
	assert_int_equal(k.sw->ops->power(k.sw, 7, ports, 2, k.now), OCS_ERR_OK);
	kit_sent(&k, "RTRV-PORT-POWER::19&1:4:;");
	kit_say(&k, OK_WITH("4", REC("19:-3.42") REC("1:NONE")));
	struct ocs_event ev = kit_event(&k, OCS_EVENT_POWER);
	assert_int_equal(ev.port, 2);
	assert_false(ev.ingress);
	assert_int_equal(ev.dbm_hundredths, -342);
	assert_int_equal(kit_event(&k, OCS_EVENT_POWER).dbm_hundredths, OCS_NO_POWER);
	kit_done(&k, 7, OCS_ERR_OK);
	kit_free(&k);
}

/* More commands than may be outstanding: the rest follows the answers. */
static void
test_window(void **state)
{
	(void)state;
	struct kit k = polatis();
	struct ocs_circuit on[16];
	uint32_t sent = 0;
	for (uint32_t i = 0; i < 16; i++)
		on[i] = (struct ocs_circuit){.in = i, .out = 15 - i};
	kit_apply(&k, NULL, 0, on, 16, false);
	kit_out(&k);
	kit_say(&k, OK("4"));
	for (uint32_t ctag = 5; ctag < 21; ctag++) {
		char text[96];
		kit_out(&k);
		for (const char *p = (const char *)k.out; (p = strstr(p, "ENT-PATCH")); p++)
			sent++;
		assert_true(sent - (ctag - 5) <= 8);
		snprintf(text, sizeof text, HEAD "M  %u COMPLD\r\n;", ctag);
		kit_say(&k, text);
	}
	assert_int_equal(sent, 16);
	for (uint32_t i = 0; i < 16; i++)
		kit_circuit(&k, i, 15 - i, OCS_ERR_OK);
	kit_done(&k, 9, OCS_ERR_OK);
	kit_free(&k);
}

static void
test_calient(void **state)
{
	(void)state;
	static const char *const names[] = {"1.1.1", "1.1.2", "1.2.3", "1.2.4"};
	struct kit k = kit_new((struct ocsproto_config){
		.kind = OCSPROTO_TL1_CALIENT, .ports = 4, .batch = 4, .names = names});
	struct ocs_circuit off = {.in = 1, .out = 2};
	struct ocs_circuit on[] = {{.in = 0, .out = 3}, {.in = 2, .out = 0}};
	k.sw->ops->connected(k.sw, k.now);
	kit_sent(&k, "RTRV-NE:::1:;");
	kit_say(&k, "agent>" OK("1") "agent>");
	kit_event(&k, OCS_EVENT_UP);
	assert_int_equal(kit_apply(&k, &off, 1, on, 2, false), OCS_ERR_OK);
	kit_sent(&k, "RTRV-CRS:::2::ALL;");
	kit_say(&k, OK_WITH("2", REC("1.1.2>1.2.3:SRCPORT=1.1.2,DSTPORT=1.2.3,AS=UMA,OS=RDY") REC(
					 "9.9.9-8.8.8:SRCPORT=9.9.9,DSTPORT=8.8.8,CONNTYPE=2WAY")));
	kit_sent(&k, "CANC-CRS::1.1.2,1.2.3:3::1.1.2>1.2.3;");
	kit_say(&k, NO("3", "SROU")); /* was not active: deleted all the same */
	kit_sent(&k, "DLT-CRS::1.1.2,1.2.3:4::,MPI,1.1.2>1.2.3;");
	kit_say(&k, OK("4"));
	kit_sent(&k, "ENT-CRS::1.1.1,1.2.4:5::MPI,1WAY;ENT-CRS::1.2.3,1.1.1:6::MPI,1WAY;");
	kit_say(&k, OK("5") OK("6"));
	kit_sent(&k, "ACT-CRS::1.1.1,1.2.4:7::1.1.1>1.2.4,MPI;"
		     "ACT-CRS::1.2.3,1.1.1:8::1.2.3>1.1.1,MPI;");
	kit_say(&k, OK("7") NO("8", "SWFA"));
	kit_sent(&k, "DLT-CRS::1.2.3,1.1.1:9::,MPI,1.2.3>1.1.1;"); /* nothing stays behind */
	kit_say(&k, OK("9"));
	kit_sent(&k, "RTRV-CRS:::10::ALL;");
	kit_say(&k, OK_WITH("10", REC("x:SRCPORT=1.1.1,DSTPORT=1.2.4,AS=IS,OS=IS,OC=OK")));
	kit_circuit(&k, 1, 2, OCS_ERR_OK);
	kit_circuit(&k, 0, 3, OCS_ERR_OK);
	kit_circuit(&k, 2, 0, OCS_ERR_REFUSED);
	kit_event(&k, OCS_EVENT_DONE);
	k.sw->ops->read_all(k.sw, 2, k.now);
	kit_out(&k);
	kit_say(&k, OK_WITH("11", REC("x:SRCPORT=1.1.1,DSTPORT=1.2.4,AS=IS,OS=IS,OC=OK") REC(
					  "y:SRCPORT=1.1.2,DSTPORT=1.2.3,AS=IS,OS=IS,OC=FAIL")
					  REC("z:SRCPORT=1.2.4,DSTPORT=1.1.2,AS=UMA,OS=RDY")));
	kit_shown(&k, 0, 3, OCS_SHOWN_STEADY);
	kit_shown(&k, 1, 2, OCS_SHOWN_DARK);
	kit_shown(&k, 3, 1, OCS_SHOWN_SETTLING);
	kit_done(&k, 2, OCS_ERR_OK);
	kit_free(&k);
}

static void
test_glimmerglass(void **state)
{
	(void)state;
	struct kit k = kit_new((struct ocsproto_config){
		.kind = OCSPROTO_TL1_GLIMMERGLASS, .ports = 8, .batch = 8});
	struct ocs_circuit on[] = {{.in = 0, .out = 1}, {.in = 1, .out = 2}, {.in = 2, .out = 3}};
	k.sw->ops->connected(k.sw, k.now);
	kit_sent(&k, "RTRV-SYSTEM-INFO:::1:;");
	kit_say(&k, "\033cRTRV-SYSTEM-INFO:::1:;" OK_WITH(
			    "1", REC("GGN:LicensedPortMatrix=64x64,SoftwareVersion=4.1")));
	kit_event(&k, OCS_EVENT_UP);
	assert_int_equal(kit_apply(&k, NULL, 0, on, 3, false), OCS_ERR_OK);
	kit_sent(&k, "RTRV-CRS-FIBER::ALL:2:;");
	kit_say(&k, OK_WITH("2", REC("GGN:IPORTID=10001,OPORTID=0,CONNSTATE=none")));
	kit_sent(&k, "ENT-CRS-FIBER::10001&10002&10003,20002&20003&20004:3:::OPMODE=ASYNC;");
	kit_say(&k, NO("3", "SROF")); /* one of them: singly they tell which */
	kit_sent(&k, "ENT-CRS-FIBER::10001,20002:4:::OPMODE=ASYNC;"
		     "ENT-CRS-FIBER::10002,20003:5:::OPMODE=ASYNC;"
		     "ENT-CRS-FIBER::10003,20004:6:::OPMODE=ASYNC;");
	kit_say(&k, OK("4") NO("5", "SROF") OK("6"));
	kit_sent(&k, "RTRV-CRS-FIBER::ALL:7:;");
	kit_say(&k, OK_WITH("7", REC("GGN:IPORTID=10001,OPORTID=20002,CONNSTATE=steady")
					 REC("GGN:IPORTID=10003,OPORTID=20004,CONNSTATE=fault,"
					     "CONNCAUSE=initial_connection_timer_expired")));
	kit_circuit(&k, 0, 1, OCS_ERR_OK);
	kit_circuit(&k, 1, 2, OCS_ERR_REFUSED);
	kit_circuit(&k, 2, 3, OCS_ERR_OK);
	kit_event(&k, OCS_EVENT_DONE);
	kit_free(&k);
}

static void
test_arguments(void **state)
{
	(void)state;
	struct kit k = polatis();
	struct ocs_circuit bad = {.in = 16, .out = 0}, good = {.in = 0, .out = 0};
	assert_int_equal(kit_apply(&k, NULL, 0, &bad, 1, false), OCS_ERR_INVAL);
	assert_int_equal(kit_apply(&k, NULL, 0, &good, 0, false), OCS_ERR_INVAL);
	assert_int_equal(kit_apply(&k, NULL, 0, &good, 1, true), OCS_ERR_UNSUPPORTED);
	kit_free(&k);
	struct ocsproto_config none = {.kind = OCSPROTO_TL1_CALIENT, .ports = 4, .batch = 4};
	assert_int_equal(ocsproto_footprint(&none), 0); /* Calient needs names */
	assert_int_equal(ocsproto_by_name("tl1-calient"), OCSPROTO_TL1_CALIENT);
	assert_int_equal(ocsproto_by_name("tl1"), OCSPROTO_KINDS);
	assert_string_equal(ocsproto_name(OCSPROTO_TL1_GLIMMERGLASS), "tl1-glimmerglass");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identify),
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_time_limits),
		cmocka_unit_test(test_keepalive),
		cmocka_unit_test(test_login_refused),
		cmocka_unit_test(test_lost_in_mid_batch),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_calient),
		cmocka_unit_test(test_glimmerglass),
		cmocka_unit_test(test_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
