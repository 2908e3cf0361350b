/* SPDX-License-Identifier: BSD-2-Clause */
/* Far processes get longer messages without asking: by how much, and that the engine inquires when
 * a message is too long, and only then. */
#include "cmocka_all.h"
#include "lmpi_heap.h"

#include "mpi/engine.h"
#include "mpi/far.h"

#include <stdlib.h>

enum { NEAR = 65536, MS = 1000000 };

static void
test_limit(void **state)
{
	(void)state;
	/* Near, or nobody knows yet. */
	assert_int_equal(lmpi_far_eager(NEAR, 0, 1u << 19), NEAR);
	assert_int_equal(lmpi_far_eager(NEAR, 100000, 1u << 19), NEAR);
	assert_int_equal(lmpi_far_eager(NEAR, MS - 1, 1u << 19), NEAR);
	/* Far: what may be under way, never less than near, never more than is copied. */
	assert_int_equal(lmpi_far_eager(NEAR, MS, 1u << 19), 1u << 19);
	assert_int_equal(lmpi_far_eager(NEAR, 20 * MS, 1000), NEAR);
	assert_int_equal(lmpi_far_eager(NEAR, 20 * MS, 1u << 30), LMPI_PEER_COPIES_MAX);
	assert_int_equal(lmpi_far_eager(2 * LMPI_PEER_COPIES_MAX, 20 * MS, 1u << 30),
			 2 * LMPI_PEER_COPIES_MAX);
}

/* ---- one engine that sends to one process ---- */

static struct lmpi_engine engine;
static struct lmpi_peer peers[2];
static uint8_t data[5000];
static uint8_t type; /* of what left last */
static uint32_t inquiries;
static uint64_t limit;

static bool
send_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	(void)peer;
	type = out->hdr.type;
	lmpi_out_done(e, out, true);
	return true;
}

static bool
try_short(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	  const void *bytes, uint64_t len)
{
	(void)e, (void)peer, (void)bytes;
	type = len ? type : h->type;
	return len == 0;
}

static uint64_t
find_eager(struct lmpi_engine *e, const struct lmpi_peer *peer)
{
	(void)e, (void)peer;
	inquiries++;
	return limit;
}

static void
fail_test(struct lmpi_engine *e, const char *text)
{
	(void)e;
	fail_msg("%s", text);
}

static const struct lmpi_transport far = {
	.send = send_packet, .try_short = try_short, .eager = find_eager};

/* What left first for a message of so many bytes. */
static uint8_t
sent(uint64_t len)
{
	static struct lmpi_req req[8];
	static uint32_t n;

	type = LMPI_T_MAX;
	lmpi_engine_isend(&engine, &req[n++ % 8], data, len, 1, 0, 7, 1, LMPI_STANDARD);
	return type;
}

static void
test_inquiry(void **state)
{
	(void)state;
	engine = (struct lmpi_engine){.size = 2,
				      .peer = peers,
				      .memory = lmpi_heap,
				      .fail = fail_test,
				      .copied_bytes_max = 1u << 20,
				      .unexpected_bytes_max = 1u << 20};
	lmpi_engine_reset(&engine);
	peers[0].caps = LMPI_CAP_SELF;
	peers[1] = (struct lmpi_peer){.world = 1, .tp = &far, .eager_max = 1000};
	limit = 1000;
	assert_int_equal(sent(1000), LMPI_T_EAGER);
	assert_int_equal(inquiries, 0);
	assert_int_equal(sent(1001), LMPI_T_RTS);
	assert_int_equal(inquiries, 1);
	limit = 4000;
	assert_int_equal(sent(4000), LMPI_T_EAGER);
	assert_int_equal(inquiries, 2);
	assert_int_equal(sent(3999), LMPI_T_EAGER);
	assert_int_equal(inquiries, 2);
	assert_int_equal(sent(4001), LMPI_T_RTS);
	/* A receiver short of memory is asked whatever the limit is. */
	peers[1].eager_off = true;
	assert_int_equal(sent(4000), LMPI_T_RTS);
	lmpi_engine_drop(&engine);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_inquiry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
