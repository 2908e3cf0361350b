/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between a process and who manages it, and the messages of a frame: what is written is
 * read, and what is cut or changed is refused with a text. */
#include "cmocka_all.h"
#include "spx/feed.h"
#include "spx/record.h"

#include "base/bytes.h"

#include <string.h>

static const struct spx_conf conf = {.id = 7,
				     .procs_max = 64,
				     .origins_max = 4,
				     .window_max = 16,
				     .room = 8,
				     .ahead = 2,
				     .frame_max = 65536,
				     .retry_ns = 1000000,
				     .retry_max_ns = 8000000,
				     .poll_ns = 2000000,
				     .stall_ns = 3,
				     .start_ns = 4};

static void
expect_text(struct spx_feed_text t, const char *text)
{
	assert_int_equal(t.len, strlen(text));
	assert_memory_equal(t.at, text, t.len);
}

static void
what_is_written_is_read(void **state)
{
	(void)state;
	char why[SPX_TEXT_MAX];
	uint8_t b[2048];
	struct spx_feed f = {.type = SPX_FEED_SETUP,
			     .conf = conf,
			     .realm = 99,
			     .ip = {"10.0.0.1", 8},
			     .relay = {"", 0}},
			got;

	size_t n = spx_feed_write(b, sizeof b, &f);
	assert_int_equal(spx_feed_length(b), n);
	assert_true(spx_feed_read(&got, b, n, why));
	uint8_t again[sizeof b];
	assert_int_equal(spx_feed_write(again, sizeof again, &got), n);
	assert_memory_equal(again, b, n);
	assert_true(got.realm == 99 && got.conf.frame_max == 65536 && got.conf.start_ns == 4);
	expect_text(got.ip, "10.0.0.1");
	for (size_t cut = 0; cut < n; cut++)
		assert_false(spx_feed_read(&got, b, cut, why));
	assert_int_equal(spx_feed_write(b, n - 1, &f), 0);

	f = (struct spx_feed){
		.type = SPX_FEED_ANSWER, .number = 5, .ok = false, .text = {"no such chain", 13}};
	n = spx_feed_write(b, sizeof b, &f);
	assert_true(spx_feed_read(&got, b, n, why));
	assert_int_equal(got.number, 5);
	assert_false(got.ok);
	expect_text(got.text, "no such chain");
	b[13] = 0; /* a NUL in the text */
	b[14] = 0;
	assert_false(spx_feed_read(&got, b, n, why));

	f = (struct spx_feed){.type = SPX_FEED_EVENT,
			      .event = {.kind = SPX_EVENT_HOARDED, .proc = 3, .number = 9},
			      .text = {"it hoards", 9}};
	n = spx_feed_write(b, sizeof b, &f);
	assert_true(spx_feed_read(&got, b, n, why));
	assert_int_equal(got.event.kind, SPX_EVENT_HOARDED);
	assert_int_equal(got.event.number, 9);
	b[8] = 200; /* kind */
	assert_false(spx_feed_read(&got, b, n, why));
	b[4] = 1; /* version */
	assert_false(spx_feed_read(&got, b, n, why));
	assert_non_null(strstr(why, "one release"));
}

static void
views_are_read_as_they_were(void **state)
{
	(void)state;
	struct spx_proc proc[2] = {{.id = 1, .kind = SPX_COMPUTE, .ready = true, .takeovers = 2},
				   {.id = 4, .kind = SPX_IO, .state = SPX_DEAD, .chains = 1}},
			proc2[2];
	struct spx_cluster cluster[2] = {{.name = "a", .compute = 1, .started = true},
					 {.name = "filter", .compute = 4, .lost = true}},
			   cluster2[SPX_CLUSTERS_MAX];
	struct spx_chain chain[1] = {{.from = 0,
				      .to = 1,
				      .state = SPX_CHAIN_DRAINING,
				      .ordered = true,
				      .window = 16,
				      .policy = SPX_LEAST,
				      .on_lost = SPX_BYPASS}},
			 chain2[SPX_CHAINS_MAX];
	struct spx_view v = {3, 2, 2, 1, proc, cluster, chain},
			got = {.proc = proc2, .cluster = cluster2, .chain = chain2};
	const char *at[2] = {"door:somewhere", NULL};
	char address[2][SPX_ADDRESS_MAX], why[SPX_TEXT_MAX];
	uint8_t b[1024];

	size_t n = spx_feed_write_view(b, sizeof b, &v, at);
	assert_true(n && n <= spx_feed_view_bytes(&v));
	assert_true(spx_feed_read_view(&got, address, 2, b, n, why));
	uint8_t again[sizeof b];
	assert_int_equal(spx_feed_write_view(again, sizeof again, &got, at), n);
	assert_memory_equal(again, b, n);
	assert_int_equal(got.number, 3);
	assert_true(proc2[0].takeovers == 2 && proc2[1].state == SPX_DEAD && proc2[1].chains == 1);
	assert_true(cluster2[1].lost && !cluster2[1].started && cluster2[0].started);
	assert_true(chain2[0].ordered && chain2[0].on_lost == SPX_BYPASS);
	assert_string_equal(address[0], "door:somewhere");
	assert_string_equal(address[1], "");
	assert_false(spx_feed_read_view(&got, address, 1, b, n, why));
	assert_non_null(strstr(why, "more processes"));
	be32_store(b, (uint32_t)n - 5);
	assert_false(spx_feed_read_view(&got, address, 2, b, n - 1, why));
	assert_non_null(strstr(why, "malformed"));
}

static void
records_are_walked_in_order(void **state)
{
	(void)state;
	uint8_t frame[128];
	struct spx_record r;
	size_t at = 0, n = 0;

	memcpy(spx_record_write(frame, 5, 3), "abc", 3);
	n += spx_record_bytes(3);
	(void)spx_record_write(frame + n, 0, 0);
	n += spx_record_bytes(0);
	assert_int_equal(n, 24 + 16);
	assert_true(spx_records_check(frame, n));
	assert_true(spx_record_next(frame, n, &at, &r));
	assert_true(r.tag == 5 && r.len == 3 && !memcmp(r.bytes, "abc", 3));
	assert_true(spx_record_next(frame, n, &at, &r));
	assert_true(r.tag == 0 && r.len == 0);
	assert_false(spx_record_next(frame, n, &at, &r));
	assert_false(spx_records_check(frame, n - 1));
	be64_store(frame + 8, UINT64_MAX - 3);
	assert_false(spx_records_check(frame, n));
	assert_true(spx_records_check(frame, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(views_are_read_as_they_were),
		cmocka_unit_test(records_are_walked_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
