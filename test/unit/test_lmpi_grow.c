/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of processes grows: engines of two jobs, each of which numbers processes for itself. */
#include "cmocka_all.h"
#include "lmpi_heap.h"

#include "mpi/engine.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 12, LONG = 5000, QUEUE = 64 };

/* Processes 0 and 1 are job A's, 2 is the only one of job B, which so calls itself 0. */
enum { A0, A1, B0, PROCS };

struct packet {
	struct lmpi_hdr hdr;
	uint32_t len;
	uint8_t data[LONG];
};

static struct proc {
	struct lmpi_engine e;
	struct lmpi_peer peer[SLOTS];
	uint32_t leads_to[SLOTS]; /* slot: which process */
	struct packet queue[QUEUE];
	uint32_t from[QUEUE], n;
	bool failed;
} proc[PROCS];

static void
note_failure(struct lmpi_engine *e, const char *text)
{
	(void)text;
	((struct proc *)e->user)->failed = true;
}

static bool
send_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	struct proc *me = e->user, *to = &proc[me->leads_to[peer->world]];

	assert_true(to->n < QUEUE && out->len <= LONG);
	to->from[to->n] = (uint32_t)(me - proc);
	struct packet *p = &to->queue[to->n++];
	p->hdr = out->hdr;
	p->len = (uint32_t)out->len;
	if (out->len)
		memcpy(p->data, out->data, (size_t)out->len);
	lmpi_out_done(e, out, true);
	return true;
}

static bool
try_short(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h, const void *data,
	  uint64_t len)
{
	(void)e, (void)peer, (void)h, (void)data, (void)len;
	return false;
}

static const struct lmpi_transport native = {
	.caps = LMPI_CAP_ASKS_OFF | LMPI_CAP_RECALLS, .send = send_packet, .try_short = try_short};

static void
reach(struct proc *p, uint32_t slot, uint32_t who)
{
	p->leads_to[slot] = who;
	p->peer[slot].tp = &native;
	p->peer[slot].caps = native.caps;
	p->peer[slot].eager_max = 1000;
}

static void
begin_proc(uint32_t who, uint32_t rank, uint32_t size)
{
	struct proc *p = &proc[who];

	*p = (struct proc){.e = {.rank = rank,
				 .size = size,
				 .slots_max = SLOTS,
				 .peer = p->peer,
				 .memory = lmpi_heap,
				 .fail = note_failure,
				 .user = p,
				 .copied_bytes_max = 1u << 20,
				 .unexpected_bytes_max = 1u << 20}};
	lmpi_engine_reset(&p->e);
	for (uint32_t i = 0; i < size; i++)
		p->peer[i].world = i;
	p->peer[rank].caps = LMPI_CAP_SELF;
}

static uint32_t
slot_of(const struct proc *p, uint32_t who)
{
	for (uint32_t i = 0; i < p->e.size; i++)
		if (p->peer[i].tp && p->leads_to[i] == who)
			return i;
	fail();
	return 0;
}

static int
begin(void **state)
{
	(void)state;
	begin_proc(A0, 0, 2);
	begin_proc(A1, 1, 2);
	begin_proc(B0, 0, 1);
	reach(&proc[A0], 1, A1);
	reach(&proc[A1], 0, A0);
	/* A0 skips three slots, as its partners agreed. */
	assert_true(lmpi_engine_grow(&proc[A0].e, 5, 1));
	assert_true(lmpi_engine_grow(&proc[A1].e, 2, 1));
	assert_true(lmpi_engine_grow(&proc[B0].e, 1, 2));
	reach(&proc[A0], 5, B0);
	reach(&proc[A1], 2, B0);
	reach(&proc[B0], 1, A0);
	reach(&proc[B0], 2, A1);
	proc[A0].peer[5].apart = 5;
	proc[A1].peer[2].apart = 2;
	proc[B0].peer[1].apart = 1;
	proc[B0].peer[2].apart = 1;
	return 0;
}

static int
end(void **state)
{
	const char *what;

	(void)state;
	for (uint32_t i = 0; i < PROCS; i++) {
		assert_true(lmpi_engine_check(&proc[i].e, &what));
		lmpi_engine_drop(&proc[i].e);
	}
	return 0;
}

static void
deliver(uint32_t who)
{
	struct proc *p = &proc[who];
	uint32_t n = p->n;

	p->e.in_transport = true;
	for (uint32_t i = 0; i < n; i++) {
		struct packet *k = &p->queue[i];
		struct lmpi_peer *from = &p->peer[slot_of(p, p->from[i])];
		struct lmpi_sink *s = lmpi_arrive(&p->e, from, &k->hdr, k->len);
		if (s) {
			lmpi_sink_data(s, 0, k->data, k->len);
			lmpi_sink_end(&p->e, s);
		}
	}
	p->e.in_transport = false;
	p->n -= n;
	memmove(p->queue, p->queue + n, p->n * sizeof *p->queue);
	memmove(p->from, p->from + n, p->n * sizeof *p->from);
	if (p->e.pending)
		lmpi_pump(&p->e);
	lmpi_run_done(&p->e);
}

static void
run(void)
{
	for (int turn = 0; turn < 8; turn++)
		for (uint32_t i = 0; i < PROCS; i++)
			deliver(i);
}

static void
pass_message(uint32_t src, uint32_t dst, int lsrank, uint32_t len)
{
	static uint8_t out[LONG], in[LONG];
	struct lmpi_req send = {0}, recv = {0};

	for (uint32_t i = 0; i < len; i++)
		out[i] = (uint8_t)(i * 7 + src);
	memset(in, 0, sizeof in);
	lmpi_engine_irecv(&proc[dst].e, &recv, in, sizeof in, LMPI_ANY_SOURCE, 9, 4242);
	lmpi_engine_isend(&proc[src].e, &send, out, len, slot_of(&proc[src], dst), lsrank, 9, 4242,
			  LMPI_SYNC);
	run();
	assert_true(send.done && recv.done);
	assert_int_equal(recv.error, LMPI_OK);
	assert_int_equal(recv.source, lsrank);
	assert_int_equal(recv.peer, slot_of(&proc[dst], src));
	assert_int_equal(recv.bytes, len);
	assert_memory_equal(in, out, len);
	assert_false(proc[src].failed || proc[dst].failed);
}

static void
messages_both_ways(void **state)
{
	(void)state;
	for (uint32_t len = 0; len <= LONG; len += 1250) { /* in one packet, and announced */
		pass_message(A0, B0, 0, len);
		pass_message(B0, A0, 3, len);
		pass_message(A1, B0, 1, len);
		pass_message(B0, A1, 3, len);
		pass_message(A0, A1, 0, len);
	}
}

static void
who_is_who(void **state)
{
	struct lmpi_hdr h = lmpi_hdr_make(&proc[A1].e, LMPI_T_EAGER);

	(void)state;
	/* A1 calls itself 1; the slot of A0 does not take that. */
	assert_null(lmpi_arrive(&proc[B0].e, &proc[B0].peer[1], &h, 0));
	assert_true(proc[B0].failed);
}

static void
bounds(void **state)
{
	struct lmpi_engine *e = &proc[A0].e;

	(void)state;
	assert_int_equal(e->size, 6);
	assert_false(lmpi_engine_grow(e, 5, 1)); /* taken */
	assert_false(lmpi_engine_grow(e, 6, SLOTS - 5));
	assert_false(lmpi_engine_grow(e, SLOTS + 1, 0));
	assert_false(lmpi_engine_grow(e, 7, UINT32_MAX));
	assert_int_equal(e->size, 6);
	assert_true(lmpi_engine_grow(e, 6, SLOTS - 6));
	assert_false(lmpi_engine_grow(e, SLOTS, 1));
	/* Slots that were skipped are nobody's. */
	for (uint32_t i = 2; i < 5; i++)
		assert_true(e->peer[i].lost && !e->peer[i].caps);
	pass_message(A0, B0, 0, 8);
	/* One that said nothing of slots_max does not grow. */
	e = &proc[A1].e;
	e->slots_max = 0;
	assert_false(lmpi_engine_grow(e, 3, 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_both_ways, begin, end),
		cmocka_unit_test_setup_teardown(who_is_who, begin, end),
		cmocka_unit_test_setup_teardown(bounds, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
