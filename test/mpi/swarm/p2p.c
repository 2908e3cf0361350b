/* SPDX-License-Identifier: BSD-2-Clause */
/* A step of point-to-point messages in one communicator: all are under way together. */
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES 24
#define PARTS	 6

enum send_mode { STANDARD, SYNCHRONOUS, BUFFERED, READY, PERSISTENT, PARTITIONED, NSEND };
enum recv_mode { EXACT, ANY_SOURCE, ANY_TAG, ANYTHING, PROBED, NRECV };

struct message {
	int from, to, tag; /* ranks in their groups */
	enum send_mode mode;
	uint64_t key, elements, room; /* of the stream; of the receiver's buffer */
	struct sw_layout *out, *in;
	uint32_t out_count, in_count, parts_out, parts_in;
	struct sw_buf sends, recvs;
	MPI_Request send, recv;
	bool sending, receiving, got;
	MPI_Status status;
};

static struct message all[MESSAGES];
static int nall;
static const struct sw_comm *comm;
static enum recv_mode how;

/* ---- plans ---- */

static uint64_t
draw_elements(void)
{
	static const uint32_t bound[] = {4, 40, 400, 2000, 20000, 90000};

	return sw_draw(bound[sw_draw(sizeof bound / sizeof *bound)]);
}

static void
plan_partitions(struct message *m)
{
	uint64_t each = 1 + sw_draw(50);

	m->parts_out = 1 + sw_draw(PARTS);
	m->parts_in = 1 + sw_draw(PARTS);
	m->elements = each * m->parts_out * m->parts_in;
	m->room = m->elements;
}

static void
plan_message(struct message *m, MPI_Datatype basic, bool any)
{
	int to_side = comm->inter ? (int)sw_draw(2) : 0, from_side = to_side ^ (int)comm->inter;

	*m = (struct message){.from = (int)sw_draw((uint32_t)comm->n[from_side]),
			      .to = (int)sw_draw((uint32_t)comm->n[to_side]),
			      .tag = (int)sw_draw(3),
			      .mode = sw_draw(any ? PARTITIONED : NSEND),
			      .key = sw_key(),
			      .elements = draw_elements()};
	m->room = m->elements + (sw_one_in(3) ? sw_draw(50) : 0);
	if (m->mode == PARTITIONED) {
		m->tag = 3; /* these match apart, but a probe would not */
		plan_partitions(m);
	}
	m->sending = comm->me == m->from && comm->side == from_side;
	m->receiving = comm->me == m->to && comm->side == to_side;
	m->out = sw_layout_for(basic, m->elements, &m->out_count);
	m->in = sw_layout_for(basic, m->room, &m->in_count);
	if (m->mode == PARTITIONED) {
		sw_layout_free(m->out);
		sw_layout_free(m->in);
		m->out = sw_layout_for(basic, m->elements / m->parts_out, &m->out_count);
		m->in = sw_layout_for(basic, m->elements / m->parts_in, &m->in_count);
		if (!sw_fits(m->out, m->out_count * m->parts_out) ||
		    !sw_fits(m->in, m->in_count * m->parts_in)) {
			m->mode = STANDARD;
			m->elements = (uint64_t)m->out->n * m->out_count;
			m->room = (uint64_t)m->in->n * m->in_count;
			if (m->room < m->elements) {
				sw_layout_free(m->in);
				m->in = sw_layout_for(basic, m->room = m->elements, &m->in_count);
			}
		}
	}
	bool parts = m->mode == PARTITIONED;
	if (m->sending) {
		sw_buf_new(&m->sends, m->out, m->out_count * (parts ? m->parts_out : 1));
		sw_fill(&m->sends, 0, m->elements, m->key, 0);
	}
	if (m->receiving)
		sw_buf_new(&m->recvs, m->in, m->in_count * (parts ? m->parts_in : 1));
}

/* With wildcards any message may meet any receive: these have room for each of them. */
static void
level_room(MPI_Datatype basic)
{
	uint64_t most = 0;

	for (int i = 0; i < nall; i++)
		most = SW_MAX(most, all[i].elements);
	for (int i = 0; i < nall; i++) {
		struct message *m = &all[i];
		if (m->room >= most)
			continue;
		m->room = most;
		sw_layout_free(m->in);
		m->in = sw_layout_for(basic, most, &m->in_count);
		if (m->receiving) {
			sw_buf_free(&m->recvs);
			sw_buf_new(&m->recvs, m->in, m->in_count);
		}
	}
}

/* ---- sends ---- */

static void
send_partitions(struct message *m)
{
	int order[PARTS], n = (int)m->parts_out;

	for (int i = 0; i < n; i++)
		order[i] = i;
	sw_shuffle(order, n, sw_own);
	for (int i = 0; i < n; i++)
		MPI_Pready(order[i], m->send);
}

static void
begin_send(struct message *m)
{
	const void *buf = m->sends.base;
	int n = (int)m->out_count;
	MPI_Datatype t = m->out->type;
	MPI_Comm c = comm->comm;

	switch (m->mode) {
	case SYNCHRONOUS:
		MPI_Issend(buf, n, t, m->to, m->tag, c, &m->send);
		break;
	case BUFFERED:
		MPI_Ibsend(buf, n, t, m->to, m->tag, c, &m->send);
		break;
	case READY:
		MPI_Irsend(buf, n, t, m->to, m->tag, c, &m->send);
		break;
	case PERSISTENT:
		MPI_Send_init(buf, n, t, m->to, m->tag, c, &m->send);
		MPI_Start(&m->send);
		break;
	case PARTITIONED:
		MPI_Psend_init(buf, (int)m->parts_out, n, t, m->to, m->tag, c, MPI_INFO_NULL,
			       &m->send);
		MPI_Start(&m->send);
		send_partitions(m);
		break;
	default:
		MPI_Isend(buf, n, t, m->to, m->tag, c, &m->send);
	}
}

/* ---- receives ---- */

static void
begin_recv(struct message *m)
{
	int from = how == ANY_SOURCE || how == ANYTHING ? MPI_ANY_SOURCE : m->from;
	int tag = how == ANY_TAG || how == ANYTHING ? MPI_ANY_TAG : m->tag;
	int n = (int)m->in_count;

	if (m->mode == PARTITIONED) {
		MPI_Precv_init(m->recvs.base, (int)m->parts_in, n, m->in->type, m->from, m->tag,
			       comm->comm, MPI_INFO_NULL, &m->recv);
		MPI_Start(&m->recv);
	} else if (m->key >> 20 & 1 && m->mode == PERSISTENT) {
		MPI_Recv_init(m->recvs.base, n, m->in->type, from, tag, comm->comm, &m->recv);
		MPI_Start(&m->recv);
	} else {
		MPI_Irecv(m->recvs.base, n, m->in->type, from, tag, comm->comm, &m->recv);
	}
}

/* What it is that receive m got: the first that is not taken yet of those it matches. */
static struct message *
find_message(const struct message *m, const MPI_Status *s)
{
	for (int i = 0; i < nall; i++) {
		struct message *o = &all[i];
		if (o->receiving && !o->got && o->from == s->MPI_SOURCE && o->tag == s->MPI_TAG &&
		    o->mode != PARTITIONED)
			return o;
	}
	sw_fail("message of %d, tag %d, came to a receive of %d, tag %d; nobody sent it",
		s->MPI_SOURCE, s->MPI_TAG, m->from, m->tag);
}

static void
check_recv(struct message *m)
{
	struct message *o = m->mode == PARTITIONED ? m : find_message(m, &m->status);
	MPI_Count elements;
	int count, cancelled;

	o->got = true;
	sw_expect(&m->recvs, 0, o->elements, o->key, 0);
	sw_verify(&m->recvs, "receive");
	MPI_Get_elements_x(&m->status, m->in->type, &elements);
	MPI_Get_count(&m->status, m->in->type, &count);
	MPI_Test_cancelled(&m->status, &cancelled);
	if (elements != (MPI_Count)o->elements || cancelled ||
	    count != (o->elements % m->in->n ? MPI_UNDEFINED : (int)(o->elements / m->in->n)))
		sw_fail("status of %llu elements has %lld, count %d of %u, cancelled %d",
			(unsigned long long)o->elements, (long long)elements, count, m->in->n,
			cancelled);
}

/* ---- completion, in an order of its own in each process ---- */

static int
collect(MPI_Request *q, struct message **of)
{
	int n = 0;

	for (int i = 0; i < nall; i++) {
		struct message *m = &all[i];
		if (m->sending)
			of[n] = m, q[n++] = m->send;
		if (m->receiving && how != PROBED)
			of[n] = m, q[n++] = m->recv;
	}
	return n;
}

static void
store(struct message *m, const MPI_Request *was, const MPI_Status *s)
{
	if (m->receiving && *was == m->recv)
		m->status = *s;
}

static void
complete_any(MPI_Request *q, const MPI_Request *was, struct message **of, int n)
{
	MPI_Status s;
	int i, flag = 1;
	bool test = sw_own(2);

	for (;;) {
		if (test)
			MPI_Testany(n, q, &i, &flag, &s);
		else
			MPI_Waitany(n, q, &i, &s);
		if (flag && i == MPI_UNDEFINED)
			return;
		if (flag)
			store(of[i], &was[i], &s);
	}
}

static void
complete_some(MPI_Request *q, const MPI_Request *was, struct message **of, int n)
{
	MPI_Status s[2 * MESSAGES];
	int at[2 * MESSAGES], done;
	bool test = sw_own(2);

	for (;;) {
		if (test)
			MPI_Testsome(n, q, &done, at, s);
		else
			MPI_Waitsome(n, q, &done, at, s);
		if (done == MPI_UNDEFINED)
			return;
		for (int i = 0; i < done; i++)
			store(of[at[i]], &was[at[i]], &s[i]);
	}
}

static void
complete_all(MPI_Request *q, const MPI_Request *was, struct message **of, int n)
{
	MPI_Status s[2 * MESSAGES];
	int flag = 0;

	if (sw_own(2)) {
		while (!flag)
			MPI_Testall(n, q, &flag, s);
	} else {
		MPI_Waitall(n, q, s);
	}
	for (int i = 0; i < n; i++)
		store(of[i], &was[i], &s[i]);
}

static void
complete_each(MPI_Request *q, const MPI_Request *was, struct message **of, int n)
{
	int order[2 * MESSAGES];
	MPI_Status s;

	for (int i = 0; i < n; i++)
		order[i] = i;
	sw_shuffle(order, n, sw_own);
	for (int k = 0; k < n; k++) {
		int i = order[k], flag = 0;
		if (sw_own(3)) {
			MPI_Wait(&q[i], &s);
		} else {
			while (!flag)
				MPI_Test(&q[i], &flag, &s);
		}
		store(of[i], &was[i], &s);
	}
}

static void
complete(void)
{
	MPI_Request q[2 * MESSAGES], was[2 * MESSAGES];
	struct message *of[2 * MESSAGES];
	int n = collect(q, of);
	bool lasting = false;

	for (int i = 0; i < n; i++)
		lasting |= of[i]->mode == PERSISTENT || of[i]->mode == PARTITIONED;
	memcpy(was, q, sizeof q);
	/* The calls of any and some end when nothing is active: lasting requests stay. */
	switch (sw_own(4)) {
	case 0:
		complete_any(q, was, of, n);
		break;
	case 1:
		complete_some(q, was, of, n);
		break;
	case 2:
		complete_all(q, was, of, n);
		break;
	default:
		complete_each(q, was, of, n);
	}
	for (int i = 0; i < n; i++) {
		if (q[i] != MPI_REQUEST_NULL) {
			SW_CHECK(lasting);
			MPI_Request_free(&q[i]);
		}
	}
}

/* Each receive by a probe that takes the message out; partitions are none. */
static void
receive_probed(void)
{
	for (int i = 0; i < nall; i++) {
		struct message *m = &all[i];
		MPI_Message taken;
		MPI_Status s;
		int flag = 0, count;

		if (!m->receiving)
			continue;
		int from = sw_own(2) ? MPI_ANY_SOURCE : m->from;
		int tag = sw_own(2) ? MPI_ANY_TAG : m->tag;
		bool left = false; /* what m names may have been taken by another */
		for (int k = 0; k < nall; k++)
			left |= all[k].receiving && !all[k].got && all[k].from == m->from &&
				all[k].tag == m->tag;
		if (!left)
			from = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
		if (sw_own(2)) {
			MPI_Mprobe(from, tag, comm->comm, &taken, &s);
		} else {
			while (!flag)
				MPI_Improbe(from, tag, comm->comm, &flag, &taken, &s);
		}
		MPI_Get_count(&s, m->in->basic, &count);
		const struct message *o = find_message(m, &s);
		if (count != (int)o->elements)
			sw_fail("a probe says %d elements, not %llu", count,
				(unsigned long long)o->elements);
		MPI_Mrecv(m->recvs.base, (int)m->in_count, m->in->type, &taken, &m->status);
		SW_CHECK(m->status.MPI_SOURCE == s.MPI_SOURCE && m->status.MPI_TAG == s.MPI_TAG);
		check_recv(m);
	}
}

/* A receive that nothing matches can be cancelled. */
static void
cancel_one(void)
{
	MPI_Request q;
	MPI_Status s;
	int flag, x = 5;

	MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 77, comm->comm, &q);
	MPI_Cancel(&q);
	MPI_Wait(&q, &s);
	MPI_Test_cancelled(&s, &flag);
	SW_CHECK(flag && x == 5);
}

static void
end_message(struct message *m)
{
	if (m->sending) {
		sw_verify(&m->sends, "what was sent");
		sw_buf_free(&m->sends);
	}
	if (m->receiving)
		sw_buf_free(&m->recvs);
	sw_layout_free(m->out);
	sw_layout_free(m->in);
}

static void
attach_buffer(void **room)
{
	size_t bytes = MPI_BSEND_OVERHEAD;

	for (int i = 0; i < nall; i++)
		if (all[i].sending && all[i].mode == BUFFERED)
			bytes += all[i].elements * all[i].out->width + MPI_BSEND_OVERHEAD + 64;
	*room = sw_alloc(bytes);
	MPI_Buffer_attach(*room, (int)bytes);
}

void
sw_step_p2p(void)
{
	MPI_Datatype basic = sw_basic();
	bool ready = false;
	void *room;
	int size;

	comm = sw_any_comm();
	how = sw_draw(NRECV);
	nall = (int)sw_few(MESSAGES);
	for (int i = 0; i < nall; i++) {
		plan_message(&all[i], basic, how != EXACT);
		if (how == PROBED && all[i].mode == READY)
			all[i].mode = STANDARD;
		ready |= all[i].mode == READY;
	}
	if (how != EXACT)
		level_room(basic);
	if (comm->me < 0) {
		for (int i = 0; i < nall; i++)
			end_message(&all[i]);
		return;
	}
	attach_buffer(&room);
	bool late = !ready && sw_own(2); /* receives come behind the sends */
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < nall; i++) {
			if (all[i].receiving && how != PROBED && pass == late)
				begin_recv(&all[i]);
			if (all[i].sending && pass == !late)
				begin_send(&all[i]);
		}
		if (ready && pass == 0)
			MPI_Barrier(comm->comm);
	}
	if (sw_own(4) == 0)
		cancel_one();
	if (how == PROBED)
		receive_probed();
	complete();
	for (int i = 0; i < nall && how != PROBED; i++)
		if (all[i].receiving)
			check_recv(&all[i]);
	if (how != EXACT)
		MPI_Barrier(comm->comm); /* a message of the next step would do as well */
	MPI_Buffer_detach(&room, &size);
	free(room);
	for (int i = 0; i < nall; i++)
		end_message(&all[i]);
}
