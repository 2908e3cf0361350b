/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenFlow sessions; bytes are written from the specification, not by our encoder. */
#include "ocsproto_kit.h"

#include "base/bytes.h"

#define COOKIE 0x6f637300u

/* "05 0000 10": hex digits, blanks ignored. */
static size_t
unhex(uint8_t *to, const char *hex)
{
	size_t n = 0;
	unsigned int byte;
	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		to[n++] = (uint8_t)byte;
		hex++;
	}
	return n;
}

static void
say(struct kit *k, const char *hex)
{
	uint8_t b[512];
	kit_bytes(k, b, unhex(b, hex));
}

/* A message whose xid is that of the last message the session sent. */
static void
answer(struct kit *k, const char *hex)
{
	uint8_t b[2048];
	size_t n = unhex(b, hex), at = 0, last = 0, before = k->len;
	kit_out(k);
	if (k->len == 0) /* it was looked at already */
		k->len = before;
	assert_true(k->len >= 8);
	for (; at < k->len; at += be16_load(k->out + at + 2))
		last = at;
	memcpy(b + 4, k->out + last + 4, 4);
	be16_store(b + 2, (uint16_t)n);
	kit_bytes(k, b, n);
}

/* What the session sent, message by message, but for their xids. */
static void
sent(struct kit *k, const char *hex)
{
	uint8_t b[1024];
	size_t n = unhex(b, hex), begin = 0;
	kit_out(k);
	assert_int_equal(k->len, n);
	for (size_t i = 0; i < n; i++) {
		if (i == begin + be16_load(b + begin + 2))
			begin = i;
		bool within = b[begin + 1] == 0x22 && i >= begin + 20 && i < begin + 24;
		if ((i < begin + 4 || i >= begin + 8) && !within)
			assert_int_equal(k->out[i], b[i]);
	}
}

/* The xid of the nth message the session sent last. */
static uint32_t
xid_of(const struct kit *k, uint32_t nth)
{
	size_t at = 0;
	while (nth-- > 0)
		at += be16_load(k->out + at + 2);
	return be32_load(k->out + at + 4);
}

static void
say_with(struct kit *k, const char *hex, uint32_t xid)
{
	uint8_t b[512];
	size_t n = unhex(b, hex);
	be32_store(b + 4, xid);
	kit_bytes(k, b, n);
}

/* A port description of 1.4 without properties. */
#define PORT14(n)    \
	"0000000" #n \
	" 0028 0000 020000000001 0000 65746830000000000000000000000000 00000000 00000000"

static struct kit
session(uint8_t version)
{
	struct kit k = kit_new((struct ocsproto_config){
		.kind = OCSPROTO_OPENFLOW, .ports = 8, .batch = 8, .cookie = COOKIE});
	uint8_t desc[16 + 1056] = {version, 19};
	k.sw->ops->connected(k.sw, k.now);
	sent(&k, "05 00 0010 00000001 0001 0008 00000030");
	if (version == 5)
		say(&k, "06 00 0010 00000001 0001 0008 00000070"); /* 1.3, 1.4, 1.5 */
	else
		say(&k, "04 00 0008 00000001");
	answer(&k, version == 5 ? "05 06 0020 00000000 0000000000000001 00000000 fe 00 0000 "
				  "00000000 00000000"
				: "04 06 0020 00000000 0000000000000001 00000000 fe 00 0000 "
				  "00000000 00000000");
	if (version == 5)
		answer(&k, "05 13 0000 00000000 000d 0000 00000000" PORT14(1) PORT14(4) PORT14(9));
	else
		answer(&k,
		       "04 13 0000 00000000 000d 0000 00000000"
		       "00000004 00000000 020000000001 0000 65746830000000000000000000000000"
		       "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
	kit_out(&k);
	assert_int_equal(k.len, 16);
	memcpy(desc + 4, k.out + 4, 4);
	be16_store(desc + 2, sizeof desc);
	snprintf((char *)desc + 16, 256, "Nicira, Inc.");
	snprintf((char *)desc + 16 + 256, 256, "Open vSwitch");
	snprintf((char *)desc + 16 + 512, 256, "3.1.0");
	kit_bytes(&k, desc, sizeof desc);
	kit_event(&k, OCS_EVENT_UP);
	kit_quiet(&k);
	return k;
}

/* A flow entry of a multipart answer: in_port -> output. */
#define FLOW(in, out)                                               \
	"0058 00 00 00000001 00000000 8000 0000 0000 0000 00000000" \
	"000000006f637300 0000000000000000 0000000000000000"        \
	"0001 000c 80000004 0000000" #in " 00000000"                \
	"0004 0018 00000000 0000 0010 0000000" #out " ffff 000000000000"
/* The same with two match fields: no circuit. */
#define ODD_FLOW(in, out)                                           \
	"0058 00 00 00000001 00000000 8000 0000 0000 0000 00000000" \
	"0000000000000000 0000000000000000 0000000000000000"        \
	"0001 0010 80000004 0000000" #in " 80000a00"                \
	"0004 0018 00000000 0000 0010 0000000" #out " ffff 000000000000"

static void
test_identity(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 5; version++) {
		struct kit k = session(version);
		k.sw->ops->identify(k.sw, 1, k.now);
		struct ocs_event ev = kit_event(&k, OCS_EVENT_IDENTITY);
		assert_string_equal(ev.identity->model, "Open vSwitch");
		assert_int_equal(ev.identity->ingress, 4);
		assert_int_equal(!!(ev.identity->caps & OCS_CAP_ATOMIC_BATCH), version == 5);
		kit_done(&k, 1, OCS_ERR_OK);
		kit_free(&k);
	}
}

static void
test_read(void **state)
{
	(void)state;
	struct kit k = session(5);
	assert_int_equal(k.sw->ops->read_all(k.sw, 3, k.now), OCS_ERR_OK);
	sent(&k, "05 12 0038 00000000 0001 0000 00000000 ff 00 0000 ffffffff ffffffff 00000000"
		 "0000000000000000 0000000000000000 0001 0004 00000000");
	/* In two parts. */
	answer(&k, "05 13 0000 00000000 0001 0001 00000000" FLOW(1, 3));
	k.len = 0;
	uint8_t b[512];
	size_t n = unhex(b, "05 13 0000 00000000 0001 0000 00000000" FLOW(4, 2) ODD_FLOW(2, 1));
	memcpy(b + 4, k.out + 4, 4);
	be16_store(b + 2, (uint16_t)n);
	for (size_t i = 0; i < n; i++)
		kit_bytes(&k, b + i, 1);
	kit_shown(&k, 0, 2, OCS_SHOWN_STEADY);
	kit_shown(&k, 3, 1, OCS_SHOWN_STEADY);
	kit_done(&k, 3, OCS_ERR_OK);
	kit_free(&k);
}

#define DEL(in, out)                                                                 \
	"05 0e 0040 00000000 000000006f637300 0000000000000000 00 04 0000 0000 8000" \
	"ffffffff 0000000" #out " ffffffff 0000 0000"                                \
	"0001 000c 80000004 0000000" #in " 00000000"
#define ADD_BODY(in, out)                                                     \
	"000000006f637300 0000000000000000 00 00 0000 0000 8000"              \
	"ffffffff ffffffff ffffffff 0001 0000 0001 000c 80000004 0000000" #in \
	"00000000 0004 0018 00000000 0000 0010 0000000" #out " ffff 000000000000"
#define ADD(in, out) "05 0e 0058 00000000" ADD_BODY(in, out)
#define BARRIER	     "05 14 0008 00000000"
#define BARRIER_OVER "05 15 0008 00000000"

static void
test_apply(void **state)
{
	(void)state;
	struct kit k = session(5);
	struct ocs_circuit off = {.in = 0, .out = 2};
	struct ocs_circuit on[] = {
		{.in = 0, .out = 1}, {.in = 1, .out = 2}, {.in = 2, .out = 3}, {.in = 3, .out = 0}};
	assert_int_equal(kit_apply(&k, &off, 1, on, 4, false), OCS_ERR_OK);
	/* Ports 2 and 1 are taken by an entry that is no circuit. */
	answer(&k, "05 13 0000 00000000 0001 0000 00000000" FLOW(1, 3) ODD_FLOW(2, 1));
	sent(&k, DEL(1, 3) BARRIER);
	say_with(&k, BARRIER_OVER, xid_of(&k, 1));
	sent(&k, ADD(1, 2) ADD(3, 4) BARRIER);
	uint32_t barrier = xid_of(&k, 2);
	say_with(&k, "05 01 000c 00000000 0005 0001", xid_of(&k, 1)); /* table full */
	say(&k, "05 02 000c 00000077 61626364");		      /* an echo in between */
	sent(&k, "05 03 000c 00000077 61626364");
	say_with(&k, BARRIER_OVER, barrier);
	kit_circuit(&k, 0, 2, OCS_ERR_OK);
	kit_circuit(&k, 0, 1, OCS_ERR_OK);
	kit_circuit(&k, 1, 2, OCS_ERR_BUSY);
	kit_circuit(&k, 2, 3, OCS_ERR_RETRY);
	kit_circuit(&k, 3, 0, OCS_ERR_BUSY);
	kit_event(&k, OCS_EVENT_DONE);
	kit_quiet(&k);
	kit_free(&k);
}

#define OPEN		 "05 21 0010 00000000 00000001 0000 0003"
#define COMMIT		 "05 21 0010 00000000 00000001 0004 0003"
#define DISCARD		 "05 21 0010 00000000 00000001 0006 0003"
#define COMMITTED	 "05 21 0010 00000000 00000001 0005 0003"
#define IN_BUNDLE(bytes) "05 22 00" bytes "00000000 00000001 0000 0003"

static void
test_atomic(void **state)
{
	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		struct kit k = session(5);
		struct ocs_circuit off = {.in = 0, .out = 2}, on = {.in = 0, .out = 1};
		assert_int_equal(kit_apply(&k, &off, 1, &on, 1, true), OCS_ERR_OK);
		answer(&k, "05 13 0000 00000000 0001 0000 00000000" FLOW(1, 3));
		sent(&k, OPEN IN_BUNDLE("50") DEL(1, 3) IN_BUNDLE("68") ADD(1, 2) COMMIT);
		uint32_t add = xid_of(&k, 2), commit = xid_of(&k, 3);
		if (refused) {
			say_with(&k, "05 01 000c 00000000 0002 0004", add);
			say_with(&k, "05 01 000c 00000000 0011 000c", commit);
			sent(&k, DISCARD);
			assert_string_equal(kit_event(&k, OCS_EVENT_CIRCUIT).text,
					    "the switch refused the batch");
			struct ocs_event ev = kit_event(&k, OCS_EVENT_CIRCUIT);
			assert_int_equal(ev.err, OCS_ERR_REFUSED);
			assert_string_equal(ev.text, "OpenFlow error type 2 code 4");
		} else {
			say_with(&k, COMMITTED, commit);
			kit_circuit(&k, 0, 2, OCS_ERR_OK);
			kit_circuit(&k, 0, 1, OCS_ERR_OK);
		}
		kit_event(&k, OCS_EVENT_DONE);
		kit_quiet(&k);
		kit_free(&k);
	}
}

static void
test_what_others_do(void **state)
{
	(void)state;
	struct kit k = session(5);
	/* An entry with our cookie goes, and we did not ask for it. */
	say(&k, "05 0b 0040 00000000 000000006f637300 8000 02 00 00000001 00000000 0000 0000"
		"0000000000000000 0000000000000000 0001 000c 80000004 00000001 00000000");
	kit_event(&k, OCS_EVENT_CHANGED);
	say(&k, "05 0b 0040 00000000 0000000000000001 8000 02 00 00000001 00000000 0000 0000"
		"0000000000000000 0000000000000000 0001 000c 80000004 00000001 00000000");
	kit_quiet(&k);
	say(&k, "05 0c 0038 00000000 02 00000000000000 00000004 0028 0000 020000000001 0000"
		"65746830000000000000000000000000 00000001 00000001");
	struct ocs_event ev = kit_event(&k, OCS_EVENT_ALARM);
	assert_int_equal(ev.port, 3);
	assert_int_equal(ev.err, OCS_ERR_DARK);
	kit_free(&k);
}

static void
test_nonsense(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"05 13 0004 00000000",			  /* shorter than its head */
		"05 00 0010 00000001 0001 0008 00000002", /* later: ignored, see below */
	};
	struct kit k = session(5);
	say(&k, cases[0]);
	assert_true(ocsproto_is_broken(k.sw));
	kit_free(&k);
	k = session(5);
	say(&k, cases[1]);
	assert_false(ocsproto_is_broken(k.sw));
	/* A flow entry that ends too early. */
	k.sw->ops->read_all(k.sw, 3, k.now);
	answer(&k, "05 13 0000 00000000 0001 0000 00000000 0040 00 00 00000001");
	assert_true(ocsproto_is_broken(k.sw));
	kit_free(&k);
	/* A switch that is too old. */
	k = kit_new((struct ocsproto_config){.kind = OCSPROTO_OPENFLOW, .ports = 8, .batch = 8});
	k.sw->ops->connected(k.sw, k.now);
	say(&k, "01 00 0008 00000001");
	assert_true(ocsproto_is_broken(k.sw));
	k.sw->ops->disconnected(k.sw, k.now);
	assert_int_equal(kit_event(&k, OCS_EVENT_DOWN).err, OCS_ERR_PROTOCOL);
	kit_free(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),       cmocka_unit_test(test_read),
		cmocka_unit_test(test_apply),	       cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_what_others_do), cmocka_unit_test(test_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
