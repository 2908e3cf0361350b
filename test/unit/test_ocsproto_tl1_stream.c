/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages in what TL1 agents send: banners, prompts, echo, Telnet, cuts. */
#include "cmocka_all.h"

#include "tl1_stream.h"

#include <stdio.h>
#include <string.h>

#define HEAD "\r\n\n   OSW-A 26-11-21 09:00:01\r\n"

/* What a stream comes to, as text. */
static void
split(const char *bytes, size_t len, size_t chunk, char *told, size_t room)
{
	struct tl1_stream s;
	struct tl1_event ev;
	size_t n = 0;
	ocsproto_tl1_stream_init(&s);
	told[0] = 0;
	for (size_t at = 0; at < len;) {
		size_t piece = len - at < chunk ? len - at : chunk;
		const uint8_t *p = (const uint8_t *)bytes + at;
		at += piece;
		while (piece > 0) {
			size_t took = ocsproto_tl1_rx(&s, p, piece, &ev);
			p += took;
			piece -= took;
			if (ev.kind == TL1_RECORD)
				n += (size_t)snprintf(told + n, room - n, "[%s]", ev.text);
			else if (ev.kind == TL1_ACK)
				n += (size_t)snprintf(told + n, room - n, "%s %u.", ev.text,
						      ev.ctag);
			else if (ev.kind == TL1_TELNET)
				n += (size_t)snprintf(told + n, room - n, "telnet %u %u.",
						      ev.reply[1], ev.reply[2]);
			else if (ev.kind == TL1_END && s.msg.autonomous)
				n += (size_t)snprintf(told + n, room - n, "%c %s.", s.msg.alarm,
						      s.msg.verb);
			else if (ev.kind == TL1_END)
				n += (size_t)snprintf(told + n, room - n, "%u %d%s(%s)(%s)(%s).",
						      s.msg.ctag, s.msg.completion,
						      ev.more ? "+" : "", s.msg.sid, s.msg.code,
						      s.msg.note);
		}
	}
}

static void
test_streams(void **state)
{
	(void)state;
	static const struct {
		const char *name, *bytes, *told;
	} cases[] = {
		{"plain", HEAD "M  3 COMPLD\r\n;", "3 1(OSW-A)()()."},
		{"records", HEAD "M  4 COMPLD\r\n   \"3,19\"\r\n   \"7,20\"\r\n;",
		 "[3,19][7,20]4 1(OSW-A)()()."},
		{"refusal", HEAD "M  3 DENY\r\n   SROF\r\n   /* port 20 in use */\r\n;",
		 "3 2(OSW-A)(SROF)(port 20 in use)."},
		{"semicolon in text", HEAD "M  3 DENY\r\n   IIAC\r\n   /* a; b\r\n; c\r\n*/\r\n;",
		 "3 2(OSW-A)(IIAC)(a; b ; c)."},
		{"semicolon in a record", HEAD "M  3 COMPLD\r\n   \"1:LABEL=\\\"a;b\\\"\"\r\n;",
		 "[1:LABEL=\"a;b\"]3 1(OSW-A)()()."},
		{"parts", HEAD "M  3 COMPLD\r\n   \"1\"\r\n>" HEAD "M  3 COMPLD\r\n   \"2\"\r\n;",
		 "[1]3 1+(OSW-A)()().[2]3 1(OSW-A)()()."},
		{"acknowledged", "IP 12\r\n<" HEAD "M  12 COMPLD\r\n;", "IP 12.12 1(OSW-A)()()."},
		{"prompt", "agent>" HEAD "M  2 COMPLD\r\n;agent>", "2 1(OSW-A)()()."},
		{"prompt before the head",
		 "agent>   ( nil ) 2026-11-21 09:00:01\r\nM  2 COMPLD\r\n;", "2 1(( nil ))()()."},
		{"echo", "RTRV-HDR:::7;" HEAD "M  7 COMPLD\r\n;", "7 1(OSW-A)()()."},
		{"banner", "\r\nWelcome; authorised use only.\r\n>\r\n" HEAD "M  1 COMPLD\r\n;",
		 "1 1(OSW-A)()()."},
		{"reset", "\033c\033[2J\033[H" HEAD "M  1 COMPLD\r\n;", "1 1(OSW-A)()()."},
		{"autonomous glued on",
		 HEAD "M  1 COMPLD\r\n;" HEAD "** 118 REPT ALM PORT\r\n   \"19:MJ,LOS,SA\"\r\n;",
		 "1 1(OSW-A)()().[19:MJ,LOS,SA]* REPT ALM PORT."},
		{"alarm codes",
		 HEAD "*C 1 REPT ALM X\r\n;" HEAD "*^ 2 REPT ALM X\r\n;" HEAD
		      "*  3 REPT ALM X\r\n;" HEAD "A  4 REPT EVT X\r\n;",
		 "C REPT ALM X.^ REPT ALM X.^ REPT ALM X.A REPT EVT X."},
		{"ctag 0", HEAD "M  0 DENY\r\n   IICT\r\n;", "0 2(OSW-A)(IICT)()."},
		{"ctag of letters", HEAD "M  abc DENY\r\n   IICT\r\n;", "0 2(OSW-A)(IICT)()."},
		{"telnet",
		 "\377\375\001\377\373\003\377\372\030\001\377\360" HEAD "M  1 COMPLD\r\n;",
		 "telnet 252 1.telnet 254 3.1 1(OSW-A)()()."},
		{"no head", "M  1 COMPLD\r\n;", "1 1()()()."},
		{"end lost", HEAD "M  1 DENY\r\n" HEAD "M  2 COMPLD\r\n;", "2 1(OSW-A)()()."},
		{"other completions",
		 HEAD "M  1 PRTL\r\n;" HEAD "M  2 DELAY\r\n;" HEAD "M  3 RTRV\r\n>",
		 "1 3(OSW-A)()().2 4(OSW-A)()().3 5+(OSW-A)()()."},
		{"nothing but noise", "hello\r\nM\r\nM 1\r\n;;;>><<", ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char whole[512], bytewise[512];
		size_t len = strlen(cases[i].bytes);
		printf("  %s\n", cases[i].name);
		split(cases[i].bytes, len, len, whole, sizeof whole);
		split(cases[i].bytes, len, 1, bytewise, sizeof bytewise);
		assert_string_equal(whole, cases[i].told);
		assert_string_equal(bytewise, cases[i].told);
	}
}

static void
test_long_line_is_cut(void **state)
{
	(void)state;
	static char bytes[8192], told[8192];
	size_t n = (size_t)snprintf(bytes, sizeof bytes, HEAD "M  3 COMPLD\r\n   \"");
	memset(bytes + n, 'x', 5000);
	snprintf(bytes + n + 5000, sizeof bytes - n - 5000, "\"\r\n;");
	split(bytes, strlen(bytes), 7, told, sizeof told);
	assert_int_equal(strspn(told + 1, "x"), TL1_LINE_MAX - 4);
	assert_string_equal(strchr(told, ']'), "]3 1(OSW-A)()().");
}

static void
test_fields(void **state)
{
	(void)state;
	char v[8];
	assert_true(ocsproto_tl1_field("SYSTEM:SIZE=16x16", "SIZE", v, sizeof v));
	assert_string_equal(v, "16x16");
	assert_true(ocsproto_tl1_field("GGN:A=1,OPORTID=20009,B=2", "oportid", v, sizeof v));
	assert_string_equal(v, "20009");
	assert_true(ocsproto_tl1_field("X:LABEL=\"a,b\",Y=1", "LABEL", v, sizeof v));
	assert_string_equal(v, "a,b");
	assert_true(ocsproto_tl1_field("OS=IS,AS=longer-than-room", "AS", v, sizeof v));
	assert_string_equal(v, "longer-");
	assert_false(ocsproto_tl1_field("XAS=1", "AS", v, sizeof v));
	assert_false(ocsproto_tl1_field("AS", "AS", v, sizeof v));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_long_line_is_cut),
		cmocka_unit_test(test_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
