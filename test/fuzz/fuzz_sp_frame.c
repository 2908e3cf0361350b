/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between daemons of lib/sp: bytes from anybody who has the key, to a unit that is no voter
 * and to a master.  Input: records of a choice, a sender, a length and so many bytes. */
#include "sp/node.h"

#include "base/assert.h"
#include "base/clock.h"

#include <stdlib.h>

enum { UNITS = 3, SLOTS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	(void)user;
	BASE_ASSERT(to < UNITS && len > 0);
	BASE_ASSERT(*(const uint8_t *)frame == 0x71 || sp_frame_read(frame, len));
}

static void
on_view(void *user, const struct sp_view *v)
{
	const char *what;

	(void)user;
	BASE_ASSERT(sp_view_check(v, &what));
}

static void
ignore_fence(void *user, bool on)
{
	(void)user, (void)on;
}

static void
on_number(void *user, uint32_t number)
{
	(void)user, (void)number;
}

static void
check_event(void *user, const struct sp_event *e)
{
	(void)user;
	BASE_ASSERT(e->kind < SP_EVENT_COUNT);
}

static bool
keep_nothing(void *user, const void *bytes, size_t len)
{
	(void)user, (void)bytes, (void)len;
	return true;
}

static void
on_start(void *user, uint32_t token, uint8_t pool)
{
	(void)user, (void)token;
	BASE_ASSERT(pool < 2);
}

static bool
judge_fuzzed_plan(void *user, const struct sp_view *plan)
{
	const char *what;

	(void)user;
	BASE_ASSERT(sp_view_check(plan, &what));
	return plan->fact[1].b != 1;
}

static const struct sp_node_ops ops = {.send = check_frame,
				       .view = on_view,
				       .fence = ignore_fence,
				       .kill = on_number,
				       .start = on_start,
				       .event = check_event,
				       .fits = judge_fuzzed_plan,
				       .write = keep_nothing,
				       .replace = keep_nothing};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t unit_of[SLOTS] = {0, 1, 2, 1};
	static const uint8_t pool_of[SLOTS] = {0, 1, 0, 0};
	static const struct sp_fact fact[] = {{1, 2}, {0, 0}};
	struct sp_node_conf c = {.cluster = 1,
				 .me = size && data[0] & 1 ? 0 : 2, /* the only voter, or none */
				 .voters = 1,
				 .limits = {3, 8, UNITS, 2},
				 .pool_of = pool_of,
				 .off = 2,
				 .fact = fact,
				 .unit_of = unit_of,
				 .slots = SLOTS,
				 .incarnation = 1,
				 .beat_ns = 20 * BASE_MS_NS,
				 .missed = 5,
				 .restart_ns = BASE_MS_NS,
				 .election_ms = 30,
				 .heartbeat_ms = 10,
				 .snapshot_every = 8,
				 .severity = sp_severity_default(),
				 .seed = 1};
	uint64_t now_ns = BASE_S_NS;
	char why[QUORUM_WHY_MAX];
	const char *what;

	void *mem = malloc(sp_node_footprint(&c));
	struct sp_node *n = sp_node_new(&c, &ops, NULL, mem, NULL, 0, now_ns, why);
	BASE_ASSERT(n);
	while (size >= 3) {
		uint32_t choice = data[0] % 4, from = data[1] % (UNITS + 1);
		size_t len = data[2] < size - 3 ? data[2] : size - 3;
		const uint8_t *p = data + 3;
		now_ns += data[1] * BASE_MS_NS / 8;
		/* Not to libraft: see fuzz_quorum_frame.c. */
		if (choice == 0)
			sp_node_turn(n, now_ns);
		else if (choice == 1)
			sp_node_died(n, data[1] % 8, SP_WHY_EXIT, now_ns);
		else if (len == 0 || p[0] != 0x71)
			(void)sp_node_on_frame(n, from, p, len, now_ns);
		BASE_ASSERT(sp_node_check(n, &what));
		data += 3 + len;
		size -= 3 + len;
	}
	sp_node_free(n);
	free(mem);
	return 0;
}
