/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi/match.h"

#include "canary.h"

#include "base/assert.h"

static uint32_t
bin_of(uint64_t cid, int source)
{
	uint64_t h = (cid * 0x9e3779b97f4a7c15ull) ^
		     ((uint64_t)(uint32_t)source * 0xff51afd7ed558ccdull);
	return (uint32_t)(h >> 32) % LMPI_MATCH_BINS;
}

static bool
tag_fits(int wanted, int tag)
{
	return wanted == LMPI_ANY_TAG || wanted == tag;
}

static void
list_add(struct lmpi_req_list *l, struct lmpi_req *req)
{
	req->next = NULL;
	req->prev = l->last;
	if (l->last)
		l->last->next = req;
	else
		l->first = req;
	l->last = req;
}

static void
list_remove(struct lmpi_req_list *l, struct lmpi_req *req)
{
	if (req->prev)
		req->prev->next = req->next;
	else
		l->first = req->next;
	if (req->next)
		req->next->prev = req->prev;
	else
		l->last = req->prev;
	req->next = req->prev = NULL;
}

static struct lmpi_req_list *
list_of(struct lmpi_match *m, const struct lmpi_req *req)
{
	return req->source == LMPI_ANY_SOURCE ? &m->posted_any
					      : &m->posted[bin_of(req->cid, req->source)];
}

void
lmpi_match_init(struct lmpi_match *m)
{
	*m = (struct lmpi_match){.number = 1};
	for (int i = 0; i < LMPI_MATCH_BINS; i++)
		TAILQ_INIT(&m->bin[i]);
	TAILQ_INIT(&m->all);
}

void
lmpi_match_post(struct lmpi_match *m, struct lmpi_req *req)
{
	req->number = m->number++;
	list_add(list_of(m, req), req);
	m->posted_n++;
}

struct lmpi_req *
lmpi_match_arrive(struct lmpi_match *m, uint64_t cid, int source, int tag)
{
	struct lmpi_req_list *bin = &m->posted[bin_of(cid, source)];
	struct lmpi_req *exact, *any;

	for (exact = bin->first; exact; exact = exact->next) {
		m->searched++;
		if (exact->cid == cid && exact->source == source && tag_fits(exact->tag, tag))
			break;
	}
	for (any = m->posted_any.first; any; any = any->next) {
		m->searched++;
		if (exact && (any->number > exact->number || LMPI_BUG(POSTED))) {
			any = NULL;
			break;
		}
		if (any->cid == cid && tag_fits(any->tag, tag))
			break;
	}
	if (any)
		list_remove(&m->posted_any, any);
	else if (exact)
		list_remove(bin, exact);
	else
		return NULL;
	m->posted_n--;
	return any ? any : exact;
}

bool
lmpi_match_unpost(struct lmpi_match *m, struct lmpi_req *req)
{
	struct lmpi_req_list *l = list_of(m, req);
	for (struct lmpi_req *r = l->first; r; r = r->next) {
		if (r == req) {
			list_remove(l, req);
			m->posted_n--;
			return true;
		}
	}
	return false;
}

void
lmpi_match_visit(struct lmpi_match *m, void (*visit)(void *arg, struct lmpi_req *req), void *arg)
{
	for (int i = 0; i <= LMPI_MATCH_BINS; i++) {
		struct lmpi_req *r = i < LMPI_MATCH_BINS ? m->posted[i].first : m->posted_any.first;
		while (r) {
			struct lmpi_req *next = r->next;
			visit(arg, r);
			r = next;
		}
	}
}

void
lmpi_match_keep(struct lmpi_match *m, struct lmpi_msg *msg)
{
	BASE_ASSERT(!msg->queued);
	TAILQ_INSERT_TAIL(&m->bin[bin_of(msg->cid, msg->source)], msg, in_bin);
	TAILQ_INSERT_TAIL(&m->all, msg, in_all);
	msg->queued = true;
	m->unexpected++;
}

struct lmpi_msg *
lmpi_match_find(struct lmpi_match *m, uint64_t cid, int source, int tag)
{
	struct lmpi_msg *msg;

	if (source == LMPI_ANY_SOURCE) {
		TAILQ_FOREACH(msg, &m->all, in_all)
		{
			m->searched++;
			if (msg->cid == cid && tag_fits(tag, msg->tag))
				return msg;
		}
		return NULL;
	}
	TAILQ_FOREACH(msg, &m->bin[bin_of(cid, source)], in_bin)
	{
		m->searched++;
		if (msg->cid == cid && msg->source == source && tag_fits(tag, msg->tag))
			return msg;
	}
	return NULL;
}

void
lmpi_match_take(struct lmpi_match *m, struct lmpi_msg *msg)
{
	BASE_ASSERT(msg->queued);
	TAILQ_REMOVE(&m->bin[bin_of(msg->cid, msg->source)], msg, in_bin);
	TAILQ_REMOVE(&m->all, msg, in_all);
	msg->queued = false;
	m->unexpected--;
}
