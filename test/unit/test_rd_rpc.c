/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include "rd/rpc.h"

#include <stdlib.h>
#include <string.h>

enum { ECHO, LATER, SET };
static const struct rd_rpc_param echo_params[] = {
	{.name = "number", .type = RD_RPC_UINT, .min = 2, .max = 9, .help = "n"},
	{.name = "text", .type = RD_RPC_STRING, .max = 8, .help = "t"},
};
static const struct rd_rpc_param set_params[] = {
	{.name = "level",
	 .type = RD_RPC_WORD,
	 .required = true,
	 .words = "error|info",
	 .help = "l"},
	{.name = "on", .type = RD_RPC_BOOL, .help = "o"},
};
static const struct rd_rpc_method methods[] = {
	{.name = "echo", .param = echo_params, .nparams = 2, .id = ECHO, .help = "e"},
	{.name = "later", .id = LATER, .help = "answers when told"},
	{.name = "set", .param = set_params, .nparams = 2, .id = SET, .help = "s"},
};

static uint32_t called;
static void
on_call(void *user, struct rd_rpc_conn *c, const struct rd_rpc_call *call)
{
	(void)user;
	called++;
	if (call->method->id == ECHO)
		rd_rpc_result(c, json_pack("[i,s]", (int)call->number[0],
					   call->given[1] ? call->text[1] : ""));
	else if (call->method->id == SET)
		rd_rpc_result(c, json_pack("[i,b]", (int)call->number[0], (int)call->number[1]));
}
static const struct rd_rpc_api api = {methods, 3, on_call};

static struct rd_rpc_conn *
conn_new(void)
{
	struct rd_rpc_conn *c = malloc(sizeof *c);
	rd_rpc_init(c, &api, NULL);
	called = 0;
	return c;
}

static void
conn_free(struct rd_rpc_conn *c)
{
	rd_rpc_fini(c);
	free(c);
}

/* As much of text as it takes now; how much that was. */
static size_t
feed(struct rd_rpc_conn *c, const char *text, size_t len)
{
	size_t room, done = 0;
	while (done < len) {
		char *at = rd_rpc_room(c, &room);
		if (!room)
			break;
		size_t n = len - done < room ? len - done : room;
		memcpy(at, text + done, n);
		rd_rpc_input(c, n);
		done += n;
	}
	return done;
}

/* All output, up to three bytes at a time. */
static char *
drain(struct rd_rpc_conn *c)
{
	static char all[200000];
	size_t at = 0, len;
	const char *out;
	while ((out = rd_rpc_output(c, &len))) {
		size_t n = len < 3 ? len : 3;
		assert_true(at + n < sizeof all);
		memcpy(all + at, out, n);
		at += n;
		rd_rpc_sent(c, n);
	}
	all[at] = '\0';
	return all;
}

#define V "\"jsonrpc\":\"2.0\""
static const struct {
	const char *in, *out;
} row[] = {
	/* the specification's own shapes */
	{"{" V ",\"method\":\"echo\",\"id\":1}", "{" V ",\"result\":[0,\"\"],\"id\":1}\n"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"text\":\"a\",\"number\":9},\"id\":\"x\"}\r",
	 "{" V ",\"result\":[9,\"a\"],\"id\":\"x\"}\n"},
	{"{" V ",\"method\":\"set\",\"params\":{\"level\":\"info\",\"on\":true},\"id\":null}",
	 "{" V ",\"result\":[1,true],\"id\":null}\n"},
	{"{" V ",\"method\":\"echo\"}", ""}, /* a notification */
	{"", ""},
	{"  \t\r", ""},
	/* errors */
	{"{", "{" V ",\"error\":{\"code\":-32700,"},
	{"nonsense", "{" V ",\"error\":{\"code\":-32700,"},
	{"{" V ",\"method\":\"echo\",\"id\":1,\"id\":2}", "{" V ",\"error\":{\"code\":-32700,"},
	{"7", "{" V ",\"error\":{\"code\":-32600,"},
	{"[]", "{" V ",\"error\":{\"code\":-32600,"},
	{"{\"method\":\"echo\",\"id\":1}", "{" V ",\"error\":{\"code\":-32600,"},
	{"{\"jsonrpc\":\"1.0\",\"method\":\"echo\",\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32600,"},
	{"{" V ",\"id\":1}", "{" V ",\"error\":{\"code\":-32600,"},
	{"{" V ",\"method\":5,\"id\":1}", "{" V ",\"error\":{\"code\":-32600,"},
	{"{" V ",\"method\":\"echo\",\"id\":[1]}", "{" V ",\"error\":{\"code\":-32600,"},
	{"{" V ",\"method\":\"none\",\"id\":1}", "{" V ",\"error\":{\"code\":-32601,"},
	{"{" V ",\"method\":\"echo\",\"params\":[1],\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"number\":1},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,\"message\":\"number must be an integer from 2 to "
	 "9\"},\"id\":1}\n"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"number\":10},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"number\":-3},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"number\":2.5},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"number\":99999999999999999999},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32700,"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"text\":\"123456789\"},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,"},
	{"{" V ",\"method\":\"echo\",\"params\":{\"other\":1},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,\"message\":\"echo has no parameter other\"}"},
	{"{" V ",\"method\":\"set\",\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,\"message\":\"set needs the parameter level\"}"},
	{"{" V ",\"method\":\"set\",\"params\":{\"level\":\"inf\"},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,\"message\":\"level must be one of error|info\"}"},
	{"{" V ",\"method\":\"set\",\"params\":{\"level\":\"info\",\"on\":1},\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32602,"},
	/* a text that is quoted cannot spoil the answer */
	{"{" V ",\"method\":\"\\u001b[2J\\u00e9\",\"id\":1}",
	 "{" V ",\"error\":{\"code\":-32601,\"message\":\"no method ?[2J??;"},
	/* batches */
	{"[{" V ",\"method\":\"echo\",\"id\":1},{" V ",\"method\":\"echo\"},3,{" V
	 ",\"method\":\"none\",\"id\":2}]",
	 "[{" V ",\"result\":[0,\"\"],\"id\":1},{" V ",\"error\":{\"code\":-32600,"},
	{"[{" V ",\"method\":\"echo\"}]", ""},
};

static void
requests_and_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		/* at once, and byte by byte */
		for (int by_byte = 0; by_byte < 2; by_byte++) {
			struct rd_rpc_conn *c = conn_new();
			size_t len = strlen(row[i].in);
			for (size_t k = 0; k < len; k += by_byte ? 1 : len)
				assert_int_not_equal(feed(c, row[i].in + k, by_byte ? 1 : len), 0);
			assert_int_equal(feed(c, "\n", 1), 1);
			const char *out = drain(c);
			if (strncmp(out, row[i].out, strlen(row[i].out)) != 0 ||
			    !*row[i].out != !*out)
				fail_msg("%s gave %s", row[i].in, out);
			assert_false(rd_rpc_closing(c));
			/* and the next request is served */
			feed(c, "{" V ",\"method\":\"echo\",\"id\":77}\n", 42);
			conn_free(c);
		}
	}
}

static void
many_lines_at_once(void **state)
{
	struct rd_rpc_conn *c = conn_new();
	char in[60 * 100] = "", *out;
	uint32_t answers = 0;
	size_t done = 0, room;
	(void)state;
	for (int i = 0; i < 100; i++) {
		char line[64];
		snprintf(line, sizeof line, "{" V ",\"method\":\"echo\",\"id\":%d}\n", i);
		strncat(in, line, sizeof in - strlen(in) - 1);
	}
	done = feed(c, in, strlen(in));
	assert_int_equal(done, strlen(in)); /* fits the buffer */
	/* The first answer waits: nothing else has been done. */
	assert_int_equal(called, 1);
	rd_rpc_room(c, &room);
	assert_int_equal(room, 0);
	out = drain(c);
	for (char *at = out; (at = strchr(at, '\n')); at++)
		answers++;
	assert_int_equal(answers, 100);
	assert_int_equal(called, 100);
	assert_non_null(strstr(out, "\"id\":99}"));
	conn_free(c);
}

static void
answers_later(void **state)
{
	struct rd_rpc_conn *c = conn_new();
	size_t room, len;
	(void)state;
	/* a plain one, a batch of two later ones, a notification */
	const char in[] =
		"{" V ",\"method\":\"later\",\"id\":1}\n[{" V ",\"method\":\"later\",\"id\":2},{" V
		",\"method\":\"later\",\"id\":3}]\n{" V ",\"method\":\"later\"}\n{" V
		",\"method\":\"echo\",\"id\":4}\n";
	feed(c, in, strlen(in));
	rd_rpc_room(c, &room);
	assert_int_equal(room, 0);
	assert_null(rd_rpc_output(c, &len));
	rd_rpc_result(c, json_integer(10));
	assert_string_equal(drain(c), "{" V ",\"result\":10,\"id\":1}\n");
	assert_int_equal(called, 2);
	rd_rpc_error(c, RD_RPC_BUSY, "no");
	assert_null(rd_rpc_output(c, &len));
	assert_int_equal(called, 3);
	rd_rpc_result(c, json_integer(11));
	assert_string_equal(drain(c),
			    "[{" V ",\"error\":{\"code\":-32000,\"message\":\"no\"},\"id\":2},{" V
			    ",\"result\":11,\"id\":3}]\n");
	rd_rpc_result(c, json_integer(12)); /* of the notification: nobody sees it */
	assert_string_equal(drain(c), "{" V ",\"result\":[0,\"\"],\"id\":4}\n");
	/* Nobody asked: dropped. */
	rd_rpc_result(c, json_integer(13));
	rd_rpc_error(c, RD_RPC_BUSY, "no");
	assert_null(rd_rpc_output(c, &len));
	conn_free(c);
}

static void
the_longest_line(void **state)
{
	static char in[RD_RPC_LINE_MAX + 2];
	struct rd_rpc_conn *c = conn_new();
	size_t room;
	(void)state;
	/* One of just that length is served. */
	memset(in, ' ', sizeof in);
	const char call[] = "{" V ",\"method\":\"echo\",\"id\":1}";
	memcpy(in, call, strlen(call));
	in[RD_RPC_LINE_MAX] = '\n';
	assert_int_equal(feed(c, in, RD_RPC_LINE_MAX + 1), RD_RPC_LINE_MAX + 1);
	assert_string_equal(drain(c), "{" V ",\"result\":[0,\"\"],\"id\":1}\n");
	/* One byte more is answered with an error, and that was it. */
	in[RD_RPC_LINE_MAX] = ' ';
	feed(c, in, sizeof in);
	assert_non_null(strstr(drain(c), "\"code\":-32600"));
	assert_true(rd_rpc_closing(c));
	rd_rpc_room(c, &room);
	assert_int_equal(room, 0);
	conn_free(c);
}

static void
a_batch_has_a_limit(void **state)
{
	struct rd_rpc_conn *c = conn_new();
	char in[2048] = "[1";
	(void)state;
	for (int i = 1; i < RD_RPC_BATCH_MAX; i++)
		strncat(in, ",1", sizeof in - strlen(in) - 1);
	size_t len = strlen(in);
	memcpy(in + len, "]\n", 3);
	feed(c, in, strlen(in));
	assert_int_equal(drain(c)[0], '[');
	memcpy(in + len, ",1]\n", 5);
	feed(c, in, strlen(in));
	assert_non_null(strstr(drain(c), "a batch has 1 to 16 requests"));
	conn_free(c);
}

/* However deep, however odd: an answer, and no crash. */
static void
deep_nesting(void **state)
{
	static char in[RD_RPC_LINE_MAX];
	struct rd_rpc_conn *c = conn_new();
	(void)state;
	memset(in, '[', sizeof in - 1);
	in[sizeof in - 1] = '\n';
	feed(c, in, sizeof in);
	assert_non_null(strstr(drain(c), "\"code\":-32700"));
	assert_false(rd_rpc_closing(c));
	conn_free(c);
}

static void
ends_in_the_middle(void **state)
{
	struct rd_rpc_conn *c = conn_new();
	(void)state;
	const char in[] =
		"[{" V ",\"method\":\"echo\",\"id\":2},{" V ",\"method\":\"later\",\"id\":3}]\n";
	feed(c, in, strlen(in));
	conn_free(c); /* the sanitizers look on */
	c = conn_new();
	feed(c, "{" V ",\"method\":\"echo\",\"id\":2}\n", 41);
	conn_free(c);
}

static void
describes_itself(void **state)
{
	(void)state;
	json_t *all = rd_rpc_describe(&api);
	assert_int_equal(json_array_size(all), 3);
	json_t *p = json_object_get(json_array_get(all, 2), "params");
	assert_string_equal(json_string_value(json_object_get(json_array_get(p, 0), "words")),
			    "error|info");
	p = json_object_get(json_array_get(all, 0), "params");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(p, 0), "max")), 9);
	json_decref(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_answers), cmocka_unit_test(many_lines_at_once),
		cmocka_unit_test(answers_later),	cmocka_unit_test(the_longest_line),
		cmocka_unit_test(a_batch_has_a_limit),	cmocka_unit_test(deep_nesting),
		cmocka_unit_test(ends_in_the_middle),	cmocka_unit_test(describes_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
