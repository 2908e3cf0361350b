/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process of lib/spx says to messages that are none. */
#include "cmocka_all.h"
#include "spx/spx.h"

#include "base/clock.h"

#include <stdlib.h>

enum { SOURCE = 1, IO_A };

static struct spx *x;

static void
ignore_message(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
	       size_t len)
{
	(void)user, (void)to, (void)head, (void)head_len, (void)frame, (void)len;
}

static void *
take_memory(void *user, size_t bytes)
{
	(void)user;
	return malloc(bytes);
}

static void
give_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

static void
malformed_messages(void **state)
{
	static const struct row {
		const char *name;
		size_t at, len;
		uint8_t byte;
		bool ok;
	} rows[] = {
		{"whole", 0, SPX_HEAD, 0xf6, true},
		{"short", 0, SPX_HEAD - 1, 0xf6, false},
		{"long", 0, SPX_HEAD + 1, 0xf6, false},
		{"version", 0, SPX_HEAD, 0xf4, false},
		{"type 0", 1, SPX_HEAD, 0, false},
		{"type 22", 1, SPX_HEAD, 22, false},
		{"bits", 2, SPX_HEAD, 16, false},
		{"zero", 3, SPX_HEAD, 1, false},
		{"number", 16, SPX_HEAD, 0x80, false},
		{"floor", 24, SPX_HEAD, 0x80, false},
		{"length", 47, SPX_HEAD, 1, false},
		{"rest", 55, SPX_HEAD, 1, false},
		{"frame beyond its window", 23, SPX_HEAD, 16, false},
		{"frame within its window", 23, SPX_HEAD, 15, true},
		{"state without bits", 1, SPX_HEAD, 15, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t m[SPX_HEAD + 1] = {0xf6, 1};
		m[rows[i].at] = rows[i].byte;
		bool ok = spx_on_message(x, SOURCE, m, rows[i].len, BASE_S_NS);
		if (ok != rows[i].ok)
			fail_msg("%s: %s", rows[i].name, ok ? "taken" : "refused");
	}
	uint8_t big[SPX_HEAD + 65] = {0xf6, 1};
	big[47] = 65;
	assert_false(spx_on_message(x, SOURCE, big, sizeof big, BASE_S_NS));
	big[47] = 0;
	assert_false(spx_on_message(x, IO_A, big, SPX_HEAD, BASE_S_NS)); /* from itself */
}

int
main(void)
{
	static const struct spx_ops ops = {.send = ignore_message};
	static const struct spx_memory memory = {take_memory, give_memory, NULL};
	static const struct spx_conf conf = {.id = IO_A,
					     .procs_max = 2,
					     .origins_max = 2,
					     .window_max = 16,
					     .room = 4,
					     .ahead = 1,
					     .frame_max = 64,
					     .retry_ns = BASE_MS_NS,
					     .retry_max_ns = BASE_MS_NS,
					     .poll_ns = BASE_MS_NS};
	const struct CMUnitTest tests[] = {cmocka_unit_test(malformed_messages)};
	void *mem = malloc(spx_bytes(&conf));

	x = spx_new(mem, &conf, &ops, NULL, &memory, BASE_S_NS);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	spx_end(x);
	free(mem);
	return failed;
}
