/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/predict.h"

#include "base/carve.h"

#include <string.h>

/* Sums of the same costs in another order differ by less than this. */
#define SAME_S 1e-12

enum kind { MESSAGE_OVER, CIRCUIT_LIT, CIRCUIT_MAY, MESSAGE_MAY };

struct event {
	double at_s;
	uint32_t kind, what;
};

struct predictor {
	struct circ_prediction *q;
	const struct coll_message *message;
	struct event *heap;
	uint32_t heaped;
	uint32_t *waiting; /* messages both ends have come to, by step of the sender */
	uint32_t waits;
	uint8_t *sends, *receives; /* [ranks] */
	double now_s, gamma_at_s;
};

uint64_t
circ_switch_point(const struct circ_costs *c)
{
	double per_byte = c->packet_beta_s_per_byte - c->beta_s_per_byte;
	double fixed = c->gamma_s + c->alpha_s - c->packet_alpha_s;
	if (fixed <= 0)
		return 0;
	return per_byte <= 0 ? UINT64_MAX : (uint64_t)(fixed / per_byte);
}

size_t
circ_predict_footprint(uint32_t ranks, uint32_t messages, uint32_t setups)
{
	return base_carved((2 * (size_t)messages + 2 * (size_t)setups) * sizeof(struct event)) +
	       base_carved((size_t)messages * 4) + 2 * base_carved(ranks) + BASE_CARVE_ALIGN;
}

static void
push_predict(struct predictor *k, double at_s, enum kind kind, uint32_t what)
{
	uint32_t i = k->heaped++;
	for (; i && k->heap[(i - 1) / 2].at_s > at_s; i = (i - 1) / 2)
		k->heap[i] = k->heap[(i - 1) / 2];
	k->heap[i] = (struct event){at_s, kind, what};
}

static struct event
pop_predict(struct predictor *k)
{
	struct event top = k->heap[0], last = k->heap[--k->heaped];
	uint32_t i = 0;
	for (uint32_t c; (c = 2 * i + 1) < k->heaped; i = c) {
		if (c + 1 < k->heaped && k->heap[c + 1].at_s < k->heap[c].at_s)
			c++;
		if (k->heap[c].at_s >= last.at_s)
			break;
		k->heap[i] = k->heap[c];
	}
	k->heap[i] = last;
	return top;
}

static void
note_predict(struct predictor *k, enum circ_event h, uint32_t what)
{
	if (k->q->log)
		k->q->log(k->q->arg, k->now_s, h, what);
}

static void
order_predict(struct predictor *k, uint32_t j)
{
	struct circ_prediction *q = k->q;
	if (!q->orders || k->now_s - k->gamma_at_s > SAME_S) {
		q->gammas++;
		k->gamma_at_s = k->now_s;
	}
	q->orders++;
	note_predict(k, CIRC_EVENT_ORDERED, j);
	push_predict(k, k->now_s + q->costs->gamma_s, CIRCUIT_LIT, j);
}

static void
predict_orders(struct predictor *k)
{
	for (uint32_t j; (j = circ_run_order(k->q->run)) != CIRC_NONE;) {
		const struct circ_setup *u = &k->q->run->plan->setup[j];
		double a = k->q->announce_s[u->a], b = k->q->announce_s[u->b];
		double may = a > b ? a : b;
		if (may > k->now_s + SAME_S)
			push_predict(k, may, CIRCUIT_MAY, j);
		else
			order_predict(k, j);
	}
}

static void
queue_up(struct predictor *k, uint32_t m)
{
	uint32_t i = k->waits++;
	for (; i && k->message[k->waiting[i - 1]].send > k->message[m].send; i--)
		k->waiting[i] = k->waiting[i - 1];
	k->waiting[i] = m;
}

static void
arrivals(struct predictor *k)
{
	for (uint32_t m; (m = coll_play_next(k->q->play)) != COLL_NO_MESSAGE;) {
		double a = k->q->start_s[k->message[m].from], b = k->q->start_s[k->message[m].to];
		double may = a > b ? a : b;
		if (may > k->now_s + SAME_S)
			push_predict(k, may, MESSAGE_MAY, m);
		else
			queue_up(k, m);
	}
}

static double
takes_s(const struct predictor *k, uint32_t at, enum circ_way way)
{
	const struct coll_message *m = &k->message[at];
	const struct circ_costs *c = k->q->costs;
	const uint32_t *of = k->q->node_of;
	double n = (double)m->bytes;
	if (of && of[m->from] == of[m->to])
		return c->local_alpha_s + n * c->local_beta_s_per_byte;
	if (way == CIRC_WAY_PACKET)
		return c->packet_alpha_s + n * c->packet_beta_s_per_byte;
	return c->alpha_s + n * c->beta_s_per_byte / circ_run_links(k->q->run, at);
}

static void
starts(struct predictor *k)
{
	uint32_t keep = 0;
	for (uint32_t i = 0; i < k->waits; i++) {
		uint32_t m = k->waiting[i];
		const struct coll_message *msg = &k->message[m];
		enum circ_way way = CIRC_WAY_WAIT;
		if (!k->sends[msg->from] && !k->receives[msg->to])
			way = circ_run_way(k->q->run, m);
		if (way == CIRC_WAY_WAIT) {
			k->waiting[keep++] = m;
			continue;
		}
		k->sends[msg->from] = k->receives[msg->to] = 1;
		note_predict(k, CIRC_EVENT_STARTED, m);
		push_predict(k, k->now_s + takes_s(k, m, way), MESSAGE_OVER, m);
	}
	k->waits = keep;
}

static void
happen(struct predictor *k, struct event e)
{
	const struct coll_message *m = &k->message[e.what];
	switch ((enum kind)e.kind) {
	case CIRCUIT_MAY:
		order_predict(k, e.what);
		break;
	case CIRCUIT_LIT:
		note_predict(k, CIRC_EVENT_LIT, e.what);
		circ_run_lit(k->q->run, e.what);
		break;
	case MESSAGE_MAY:
		queue_up(k, e.what);
		break;
	case MESSAGE_OVER:
		note_predict(k, CIRC_EVENT_ENDED, e.what);
		k->sends[m->from] = k->receives[m->to] = 0;
		coll_play_over(k->q->play, e.what);
		circ_run_over(k->q->run, e.what);
		for (int end = 0; end < 2; end++) {
			uint32_t r = end ? m->to : m->from;
			if (k->q->finish_s[r] < k->now_s)
				k->q->finish_s[r] = k->now_s;
		}
		break;
	}
}

double
circ_predict_s(struct circ_prediction *q, void *mem)
{
	uint32_t n, setups = q->run->plan->setups;
	struct predictor k = {.q = q, .message = coll_play_messages(q->play, &n)};
	uint8_t *at = base_carve_from(mem);
	k.heap = base_carve(&at, (2 * (size_t)n + 2 * (size_t)setups) * sizeof(struct event));
	k.waiting = base_carve(&at, (size_t)n * 4);
	k.sends = base_carve(&at, q->ranks);
	k.receives = base_carve(&at, q->ranks);
	memset(k.sends, 0, q->ranks);
	memset(k.receives, 0, q->ranks);
	q->orders = q->gammas = 0;
	double first = q->announce_s[0], last = 0;
	for (uint32_t r = 0; r < q->ranks; r++) {
		q->finish_s[r] = q->start_s[r];
		uint32_t node = q->node_of ? q->node_of[r] : r;
		first = q->announce_s[node] < first ? q->announce_s[node] : first;
		first = q->start_s[r] < first ? q->start_s[r] : first;
	}
	k.now_s = first;
	for (;;) {
		predict_orders(&k);
		arrivals(&k);
		starts(&k);
		if (!k.heaped)
			break;
		struct event e = pop_predict(&k);
		k.now_s = e.at_s;
		happen(&k, e);
		while (k.heaped && k.heap[0].at_s <= k.now_s + SAME_S)
			happen(&k, pop_predict(&k));
	}
	for (uint32_t r = 0; r < q->ranks; r++)
		last = q->finish_s[r] > last ? q->finish_s[r] : last;
	return coll_play_left(q->play) || k.waits ? -1 : last;
}
