/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's IMPI protocols against processes of another MPI that keep every rule, count
 * credit for themselves and hold the engine to it: cutting, rendezvous, credit, cancel. */
#include "lmpi_tcp_kit.h"

#include "base/clock.h"
#include "base/prng.h"

#define MSGS	256
#define LEN_MAX 10016
#define QUEUE	2048
#define SRQ	0x100u /* of their messages, + index */
#define DRQ	0x5000u
#define ACKMARK 10u
#define HIWATER 20u

/* The tag is its index in msg[]. */
struct msg {
	struct lmpi_req req; /* the engine's send or receive */
	uint32_t proc, len;
	bool ours, sync; /* ours: the engine sends it */
	bool posted;	 /* theirs: its receive is there */
	bool arrived, answered;
	uint32_t got;
	uint64_t srq; /* ours */
	uint8_t buf[LEN_MAX];
};

struct item {
	struct impi_packet packet;
	uint32_t msg, off;
};

/* Processes 1 and 2. */
static struct foreign {
	uint32_t sent, got; /* counted packets, not acknowledged */
	bool stalled;	    /* short of memory: no PROTOACK */
	struct item q[QUEUE];
	uint32_t head, tail;
} foreign[3];

static struct msg msg[MSGS];
static uint32_t nmsgs, datalen, ackmark, hiwater;
static uint64_t seen[IMPI_PK_TYPES]; /* packets in both directions */
static bool at_once;		     /* they answer a DATASYNC when it comes */

static void
begin(uint32_t d, uint32_t a, uint32_t h)
{
	memset(foreign, 0, sizeof foreign);
	memset(msg, 0, nmsgs * sizeof *msg);
	memset(seen, 0, sizeof seen);
	nmsgs = 0;
	at_once = false;
	datalen = d;
	ackmark = a;
	hiwater = h;
	assert_int_equal(start(d, a, h), 0);
}

static void
finish(void)
{
	assert_true(lmpi_eng.outs == 0 && lmpi_eng.sends == 0 && lmpi_eng.cancels == 0);
	assert_true(lmpi_eng.filling == 0);
	assert_true(lmpi_eng.send_ids.used == 0 && lmpi_eng.recv_ids.used == 0);
	(void)tear_down(NULL);
}

static uint8_t
byte_of(const struct msg *m, uint32_t off)
{
	return (uint8_t)((m - msg) * 31 + off);
}

static bool
is_long(const struct msg *m)
{
	return m->len > datalen;
}

/* --- the foreign processes ---------------------------------------------------- */

static void
write_packet(const struct impi_packet *p, const struct msg *m, uint32_t off)
{
	uint8_t b[IMPI_PACKET_BYTES + LEN_MAX];
	uint32_t n = impi_packet_payload_bytes(p);

	impi_packet_encode(p, b);
	for (uint32_t i = 0; i < n; i++)
		b[IMPI_PACKET_BYTES + i] = byte_of(m, off + i);
	assert_int_equal(send(wire, b, IMPI_PACKET_BYTES + n, MSG_DONTWAIT), IMPI_PACKET_BYTES + n);
	seen[p->type]++;
}

static void
enqueue(uint32_t proc, const struct impi_packet *p, uint32_t i, uint32_t off)
{
	struct foreign *f = &foreign[proc];

	assert_true(f->tail - f->head < QUEUE);
	f->q[f->tail++ % QUEUE] = (struct item){*p, i, off};
}

/* Send what credit allows; true if anything went. */
static bool
pump(void)
{
	bool any = false;

	for (uint32_t proc = 1; proc < 3; proc++) {
		struct foreign *f = &foreign[proc];
		while (f->head != f->tail && f->sent < hiwater) {
			struct item *it = &f->q[f->head++ % QUEUE];
			f->sent++;
			write_packet(&it->packet, &msg[it->msg], it->off);
			any = true;
		}
	}
	return any;
}

static void
pay_acks(uint32_t proc)
{
	struct foreign *f = &foreign[proc];

	for (; !f->stalled && f->got >= ackmark; f->got -= ackmark) {
		struct impi_packet p = packet(IMPI_PK_PROTOACK, proc, 0, 0);
		write_packet(&p, NULL, 0);
	}
}

/* A receive of theirs takes one of our messages. */
static void
match(uint32_t i)
{
	struct msg *m = &msg[i];
	struct impi_packet p = packet(IMPI_PK_SYNCACK, m->proc, 0, 0);

	assert_true(m->ours && m->arrived && !m->answered);
	m->answered = true;
	p.srqid = m->srq;
	p.drqid = is_long(m) ? DRQ + i : 0;
	enqueue(m->proc, &p, i, 0);
}

static void
take_bytes(struct msg *m, const struct impi_packet *p, const uint8_t *b)
{
	uint32_t left = m->len - m->got;

	assert_int_equal(p->len, left < datalen ? left : datalen);
	assert_int_equal(p->msglen, m->len);
	for (uint32_t i = 0; i < p->len; i++)
		assert_int_equal(b[i], byte_of(m, m->got + i));
	m->got += p->len;
}

static void
take_data(const struct impi_packet *p, const uint8_t *b)
{
	struct msg *m = &msg[p->tag];

	assert_true(p->tag >= 0 && (uint32_t)p->tag < nmsgs && m->ours);
	if (m->arrived) {
		assert_true(m->answered && m->got < m->len);
		assert_int_equal(p->type, IMPI_PK_DATA);
		assert_int_equal(p->drqid, DRQ + (uint32_t)(m - msg));
		take_bytes(m, p, b);
		return;
	}
	m->arrived = true;
	m->srq = p->srqid;
	assert_int_equal(p->type, m->sync || is_long(m) ? IMPI_PK_DATASYNC : IMPI_PK_DATA);
	take_bytes(m, p, b);
	if (p->type == IMPI_PK_DATASYNC && at_once)
		match((uint32_t)(m - msg));
}

/* The engine's receive has taken one of theirs: the rest. */
static void
take_syncack(const struct impi_packet *p)
{
	uint32_t i = (uint32_t)(p->srqid - SRQ);
	struct msg *m = &msg[i];

	assert_true(i < nmsgs && !m->ours && !m->answered && (m->sync || is_long(m)));
	m->answered = true;
	assert_int_equal(p->drqid != 0, is_long(m));
	for (uint32_t off = datalen; off < m->len; off += datalen) {
		uint32_t n = m->len - off < datalen ? m->len - off : datalen;
		struct impi_packet q = packet(IMPI_PK_DATA, m->proc, n, m->len);
		q.drqid = p->drqid;
		q.tag = (int32_t)i;
		enqueue(m->proc, &q, i, off);
	}
}

/* One packet of the engine; false: there is none. */
static bool
take(void)
{
	uint8_t b[LEN_MAX];
	struct impi_packet p = get(b);

	if (p.type == UINT32_MAX)
		return false;
	uint32_t proc = p.dest.hostid[0] - 0x10u;
	assert_true(proc == 1 || proc == 2);
	seen[p.type]++;
	if (p.type == IMPI_PK_PROTOACK) {
		assert_true(foreign[proc].sent >= ackmark);
		foreign[proc].sent -= ackmark;
		return true;
	}
	assert_true(++foreign[proc].got <= hiwater);
	pay_acks(proc);
	if (p.type == IMPI_PK_SYNCACK)
		take_syncack(&p);
	else if (p.type == IMPI_PK_DATA || p.type == IMPI_PK_DATASYNC)
		take_data(&p, b);
	return true;
}

/* Until nothing moves any more. */
static void
settle(void)
{
	for (bool any = true; any;) {
		any = pump();
		any |= take();
		assert_false(lmpi_failing());
	}
}

/* --- messages ----------------------------------------------------------------- */

static uint32_t
send_ours(uint32_t proc, uint32_t len, bool sync)
{
	uint32_t i = nmsgs++;
	struct msg *m = &msg[i];

	assert_true(i < MSGS && len <= LEN_MAX);
	*m = (struct msg){.proc = proc, .len = len, .ours = true, .sync = sync};
	for (uint32_t k = 0; k < len; k++)
		m->buf[k] = byte_of(m, k);
	lmpi_isend(&m->req, m->buf, len, proc, 0, (int)i, 0, sync ? LMPI_SYNC : LMPI_STANDARD);
	return i;
}

static uint32_t
send_theirs(uint32_t proc, uint32_t len, bool sync)
{
	uint32_t i = nmsgs++;
	struct msg *m = &msg[i];
	bool asks = sync || len > datalen;
	uint32_t n = len < datalen ? len : datalen;

	assert_true(i < MSGS && len <= LEN_MAX);
	*m = (struct msg){.proc = proc, .len = len, .sync = sync};
	struct impi_packet p = packet(asks ? IMPI_PK_DATASYNC : IMPI_PK_DATA, proc, n, len);
	p.srqid = SRQ + i;
	p.tag = (int32_t)i;
	enqueue(proc, &p, i, 0);
	return i;
}

static void
post(uint32_t i)
{
	struct msg *m = &msg[i];

	m->posted = true;
	lmpi_irecv(&m->req, m->buf, m->len, (int)m->proc, (int)i, 0);
}

static void
assert_complete(uint32_t i)
{
	struct msg *m = &msg[i];

	assert_true(m->req.done && !m->req.cancelled);
	assert_int_equal(m->req.error, 0);
	assert_int_equal(m->answered, m->sync || is_long(m));
	if (m->ours) {
		assert_true(m->arrived);
		assert_int_equal(m->got, m->len);
		return;
	}
	assert_int_equal(m->req.bytes, m->len);
	for (uint32_t k = 0; k < m->len; k++)
		assert_int_equal(m->buf[k], byte_of(m, k));
}

/* What the first packet alone has done. */
static void
assert_first_only(uint32_t i)
{
	struct msg *m = &msg[i];
	bool asks = m->sync || is_long(m);
	struct lmpi_probed found;

	assert_int_equal(seen[IMPI_PK_SYNCACK], 0);
	assert_int_equal(seen[IMPI_PK_DATA] + seen[IMPI_PK_DATASYNC], 1);
	if (m->ours) {
		assert_int_equal(m->req.done, !asks);
		return;
	}
	assert_true(lmpi_iprobe(LMPI_ANY_SOURCE, LMPI_ANY_TAG, 0, false, &found));
	assert_int_equal(found.bytes, m->len);
}

static void
one_message(uint32_t d, uint32_t len, bool ours, bool sync, bool expected)
{
	begin(d, ACKMARK, HIWATER);
	at_once = expected;
	uint32_t i = ours ? send_ours(1, len, sync) : send_theirs(1, len, sync);
	if (expected && !ours)
		post(i);
	settle();
	if (!expected) {
		assert_first_only(i);
		if (!ours)
			post(i);
		else if (sync || len > d)
			match(i);
		settle();
	}
	assert_complete(i);
	bool asks = sync || len > d;
	assert_int_equal(seen[IMPI_PK_DATASYNC], asks);
	assert_int_equal(seen[IMPI_PK_DATA], (len ? (len + d - 1) / d : 1) - asks);
	assert_int_equal(seen[IMPI_PK_SYNCACK], asks);
	finish();
}

/* --- the points of the reference's section 13 ---------------------------------- */

static void
conformance_13_5_message_sizes(void **state)
{
	static const uint32_t datalens[] = {1, 16, 1000};

	(void)state;
	for (size_t k = 0; k < sizeof datalens / sizeof *datalens; k++) {
		uint32_t d = datalens[k];
		const uint32_t sizes[] = {0, 1, d - 1, d, d + 1, 2 * d, 10 * d + 1};
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			for (int how = 0; how < 8; how++)
				one_message(d, sizes[i], how & 1, how & 2, how & 4);
		}
	}
}

static void
conformance_13_6_both_directions_saturated(void **state)
{
	static const uint32_t marks[][2] = {{1, 1}, {7, 7}, {1, 20}, {10, 20}, {3, 4}};

	(void)state;
	for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
		for (uint64_t seed = 1; seed <= 10; seed++) {
			struct base_prng rnd = base_prng_seed(seed);
			begin(16, marks[k][0], marks[k][1]);
			at_once = seed & 1;
			while (nmsgs < MSGS) {
				uint32_t proc = 1 + (uint32_t)base_prng_below(&rnd, 2);
				uint32_t len = (uint32_t)base_prng_below(&rnd, 100);
				bool sync = base_prng_below(&rnd, 4) == 0;
				if (base_prng_below(&rnd, 2) == 0)
					send_ours(proc, len, sync);
				else if (send_theirs(proc, len, sync), seed & 2)
					post(nmsgs - 1);
			}
			settle();
			for (uint32_t i = 0; i < nmsgs; i++) {
				struct msg *m = &msg[i];
				if (!m->ours && !m->posted)
					post(i);
				settle();
			}
			for (bool more = true; more; settle()) {
				more = false;
				for (uint32_t i = nmsgs; i-- > 0;) {
					struct msg *m = &msg[i];
					bool asks = m->sync || is_long(m);
					if (!m->ours || !m->arrived || m->answered || !asks)
						continue;
					match(i);
					more = true;
				}
			}
			for (uint32_t i = 0; i < nmsgs; i++)
				assert_complete(i);
			for (uint32_t proc = 1; proc < 3; proc++)
				assert_true(foreign[proc].sent < ackmark &&
					    foreign[proc].got < ackmark);
			finish();
		}
	}
}

static void
conformance_13_6_one_stalled_receiver(void **state)
{
	static const uint32_t marks[] = {1, 7};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		uint32_t arrived = 0;
		begin(16, marks[k], marks[k]);
		foreign[1].stalled = true;
		for (int n = 0; n < 50; n++) {
			send_ours(1, 10, false);
			send_ours(2, 10, false);
		}
		settle();
		for (uint32_t i = 0; i < nmsgs; i++) {
			if (msg[i].proc == 2)
				assert_complete(i);
			else
				arrived += msg[i].arrived;
		}
		assert_int_equal(arrived, marks[k]);
		foreign[1].stalled = false;
		pay_acks(1);
		settle();
		for (uint32_t i = 0; i < nmsgs; i++)
			assert_complete(i);
		finish();
	}
}

/* The engine itself is short of memory: it holds its PROTOACKs back, and then owes several. */
static void
conformance_13_6_unexpected_messages_fill_the_memory(void **state)
{
	(void)state;
	begin(16, 3, 20);
	lmpi_eng.unexpected_bytes_max = 100;
	lmpi_loop.over_ns = BASE_NEVER_NS; /* however slow this machine is */
	for (int n = 0; n < 60; n++)
		send_theirs(1, 16, false);
	settle();
	assert_true(lmpi_eng.over);
	assert_int_equal(foreign[1].sent, hiwater);
	assert_int_equal(foreign[1].tail - foreign[1].head, 60 - 2 * ackmark - hiwater);
	for (uint32_t i = 0; i < nmsgs; i++) {
		post(i);
		settle();
	}
	for (uint32_t i = 0; i < nmsgs; i++)
		assert_complete(i);
	assert_true(!lmpi_eng.over && foreign[1].sent < ackmark);
	finish();
}

/* The receive that would free memory may be for what is not taken yet: when nothing moves for long
 * enough, more is taken although memory is short. */
static void
conformance_13_6_more_is_taken_when_nothing_moves(void **state)
{
	(void)state;
	begin(16, 3, 20);
	lmpi_eng.unexpected_bytes_max = 100;
	lmpi_loop.over_ns = BASE_NEVER_NS;
	for (int n = 0; n < 60; n++)
		send_theirs(1, 16, false);
	settle();
	uint32_t held_back = foreign[1].tail - foreign[1].head;
	assert_true(lmpi_eng.over && held_back > 0);
	lmpi_loop.over_ns = 0; /* that was long enough */
	settle();
	assert_true(lmpi_eng.over);
	assert_int_equal(foreign[1].tail - foreign[1].head, 0);
	for (uint32_t i = 0; i < nmsgs; i++)
		post(i);
	settle();
	for (uint32_t i = 0; i < nmsgs; i++)
		assert_complete(i);
	finish();
}

/* test_lmpi_tcp has the other direction. */
static void
conformance_13_7_long_messages_answered_in_reverse(void **state)
{
	(void)state;
	begin(16, 1, 1);
	uint32_t a = send_ours(1, 500, false), b = send_ours(1, 300, true);
	settle();
	assert_true(msg[a].got == 16 && msg[b].got == 16);
	match(b);
	settle();
	assert_complete(b);
	assert_true(!msg[a].req.done && msg[a].got == 16);
	match(a);
	settle();
	assert_complete(a);
	finish();
}

static void
answer(uint32_t i, uint32_t type)
{
	struct impi_packet p = packet(type, msg[i].proc, 0, 0);

	p.srqid = msg[i].srq;
	enqueue(msg[i].proc, &p, i, 0);
	settle();
}

/* CANCELNO before the SYNCACK that made it so, and after; asking again asks nobody. */
static void
conformance_13_9_refused(void **state)
{
	(void)state;
	for (int first = 0; first < 4; first++) {
		begin(16, ACKMARK, HIWATER);
		uint32_t i = send_ours(2, first & 2 ? 100 : 10, true);
		settle();
		lmpi_cancel_send(&msg[i].req);
		settle();
		if (first & 1)
			answer(i, IMPI_PK_CANCELNO);
		lmpi_cancel_send(&msg[i].req);
		match(i);
		settle();
		assert_complete(i);
		if (!(first & 1))
			answer(i, IMPI_PK_CANCELNO);
		assert_int_equal(seen[IMPI_PK_CANCEL], 1);
		finish();
	}
}

static void
conformance_13_9_partly_received(void **state)
{
	(void)state;
	begin(16, ACKMARK, HIWATER);
	uint32_t i = send_theirs(1, 3000, false);
	post(i);
	struct impi_packet c = packet(IMPI_PK_CANCEL, 1, 0, 0);
	c.srqid = SRQ + i;
	for (int turn = 0; turn < 8; turn++) {
		pump();
		(void)take();
	}
	assert_true(msg[i].answered && !msg[i].req.done && foreign[1].head != foreign[1].tail);
	/* ahead of the rest of its message, which waits for credit */
	struct foreign *f = &foreign[1];
	f->q[--f->head % QUEUE] = (struct item){.packet = c, .msg = i};
	settle();
	assert_complete(i);
	assert_true(seen[IMPI_PK_CANCELNO] == 1 && seen[IMPI_PK_CANCELYES] == 0);
	finish();
}

/* Who was asked for one message and answers for another has broken the protocol. */
static void
answers_for_what_was_not_asked(void **state)
{
	static const uint32_t types[] = {IMPI_PK_CANCELYES, IMPI_PK_CANCELNO};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		begin(16, ACKMARK, HIWATER);
		uint32_t i[2] = {send_ours(1, 10, true), send_ours(1, 10, true)};
		settle();
		lmpi_cancel_send(&msg[i[0]].req);
		settle();
		struct impi_packet p = packet(types[k], 1, 0, 0);
		p.srqid = msg[i[1]].srq;
		write_packet(&p, NULL, 0);
		lmpi_eng.in_transport = true;
		lmpi_tcp_poll();
		lmpi_eng.in_transport = false;
		assert_true(lmpi_failing());
		lmpi_fail_forget();
		(void)tear_down(NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conformance_13_5_message_sizes),
		cmocka_unit_test(conformance_13_6_both_directions_saturated),
		cmocka_unit_test(conformance_13_6_one_stalled_receiver),
		cmocka_unit_test(conformance_13_6_unexpected_messages_fill_the_memory),
		cmocka_unit_test(conformance_13_6_more_is_taken_when_nothing_moves),
		cmocka_unit_test(conformance_13_7_long_messages_answered_in_reverse),
		cmocka_unit_test(conformance_13_9_refused),
		cmocka_unit_test(conformance_13_9_partly_received),
		cmocka_unit_test(answers_for_what_was_not_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
