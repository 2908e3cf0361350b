/* SPDX-License-Identifier: BSD-2-Clause */
/* Which receive takes which message: the first posted of those that fit, the first begun. */
#include "engine_internal.h"

#include <errno.h>

static bool
fits(const struct post *p, const struct msg *g)
{
	return p->tag < 0 || p->tag == g->tag;
}

/* ---- lists ---- */

static struct list *
posts_of(struct mmp_engine *e, const struct post *p)
{
	return p->from < 0 ? &e->any_posts[p->stream]
			   : &e->source[(uint32_t)p->from * MMP_STREAMS + p->stream].posts;
}

static void
add_post(struct mmp_engine *e, uint32_t i)
{
	struct post *p = &e->post[i];
	struct list *l = posts_of(e, p);
	p->prev = l->tail;
	p->next = MMP_NONE;
	if (l->tail != MMP_NONE)
		e->post[l->tail].next = i;
	else
		l->head = i;
	l->tail = i;
}

static void
remove_post(struct mmp_engine *e, uint32_t i)
{
	struct post *p = &e->post[i];
	struct list *l = posts_of(e, p);
	if (p->prev != MMP_NONE)
		e->post[p->prev].next = p->next;
	else
		l->head = p->next;
	if (p->next != MMP_NONE)
		e->post[p->next].prev = p->prev;
	else
		l->tail = p->prev;
}

static void
add_msg(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	struct list *l = &e->source[g->source].msgs, *a = &e->any_msgs[g->source % MMP_STREAMS];
	g->prev = l->tail;
	g->aprev = a->tail;
	g->next = g->anext = MMP_NONE;
	if (l->tail != MMP_NONE)
		e->msg[l->tail].next = m;
	else
		l->head = m;
	if (a->tail != MMP_NONE)
		e->msg[a->tail].anext = m;
	else
		a->head = m;
	l->tail = a->tail = m;
}

void
mmp_match_forget_msg(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	struct list *l = &e->source[g->source].msgs, *a = &e->any_msgs[g->source % MMP_STREAMS];
	*(g->prev != MMP_NONE ? &e->msg[g->prev].next : &l->head) = g->next;
	*(g->next != MMP_NONE ? &e->msg[g->next].prev : &l->tail) = g->prev;
	*(g->aprev != MMP_NONE ? &e->msg[g->aprev].anext : &a->head) = g->anext;
	*(g->anext != MMP_NONE ? &e->msg[g->anext].aprev : &a->tail) = g->aprev;
}

/* ---- matching ---- */

static uint32_t
first_post(const struct mmp_engine *e, const struct list *l, const struct msg *g)
{
	uint32_t i = l->head;
	while (i != MMP_NONE && !fits(&e->post[i], g))
		i = e->post[i].next;
	return i;
}

void
mmp_match_begun(struct mmp_engine *e, uint32_t m)
{
	struct msg *g = &e->msg[m];
	uint32_t own = first_post(e, &e->source[g->source].posts, g);
	uint32_t any = first_post(e, &e->any_posts[g->source % MMP_STREAMS], g);
	uint32_t i = own;
	if (own == MMP_NONE || (any != MMP_NONE && e->post[any].serial < e->post[own].serial))
		i = any;
	if (i == MMP_NONE) {
		add_msg(e, m);
		return;
	}
	remove_post(e, i);
	g->post = i;
	mmp_rx_matched(e, m);
}

static uint32_t
first_msg(const struct mmp_engine *e, const struct post *p)
{
	uint32_t m;
	if (p->from < 0) {
		m = e->any_msgs[p->stream].head;
		while (m != MMP_NONE && !fits(p, &e->msg[m]))
			m = e->msg[m].anext;
		return m;
	}
	m = e->source[(uint32_t)p->from * MMP_STREAMS + p->stream].msgs.head;
	while (m != MMP_NONE && !fits(p, &e->msg[m]))
		m = e->msg[m].next;
	for (uint32_t k = m; MMP_BUG(NEWEST) && k != MMP_NONE; k = e->msg[k].next)
		m = fits(p, &e->msg[k]) ? k : m;
	return m;
}

/* A peer that is gone and that nobody was told of yet, or, if all are gone, any; MMP_NONE: go on.
 */
static uint32_t
gone_for(const struct mmp_engine *e, int32_t from)
{
	uint32_t gone = 0, last = MMP_NONE;
	if (from >= 0)
		return e->peer[from].down ? (uint32_t)from : MMP_NONE;
	for (uint32_t i = 0; i < e->c.size; i++) {
		if (!e->peer[i].down)
			continue;
		if (!e->peer[i].told)
			return i;
		gone++;
		last = i;
	}
	return gone && gone == e->c.size - 1 ? last : MMP_NONE;
}

void
mmp_match_end_post(struct mmp_engine *e, uint32_t i, int error)
{
	struct post *p = &e->post[i];
	p->error = error;
	p->next = MMP_NONE;
	if (e->ended.tail != MMP_NONE)
		e->post[e->ended.tail].next = i;
	else
		e->ended.head = i;
	e->ended.tail = i;
}

static void
end_for(struct mmp_engine *e, uint32_t i, uint32_t peer)
{
	struct post *p = &e->post[i];
	p->rank = peer;
	p->got_tag = p->tag;
	p->all = 0;
	e->peer[peer].told |= p->from < 0;
	mmp_match_end_post(e, i, e->peer[peer].error);
}

void
mmp_match_post(struct mmp_engine *e, const struct mmp_receive_reply *r)
{
	uint32_t i = mmp_pool_take(&e->posts); /* the program has no more than there are */
	struct post *p = &e->post[i];
	*p = (struct post){.receive = r->post.receive,
			   .from = r->post.from,
			   .tag = r->post.tag,
			   .stream = r->post.stream,
			   .buf = (uint8_t *)(uintptr_t)r->post.buf,
			   .bytes = r->post.bytes,
			   .serial = e->serial++};
	uint32_t m = first_msg(e, p), gone;
	if (m != MMP_NONE) {
		mmp_match_forget_msg(e, m);
		e->msg[m].post = i;
		mmp_rx_matched(e, m);
	} else if ((gone = gone_for(e, p->from)) != MMP_NONE) {
		end_for(e, i, gone);
	} else {
		add_post(e, i);
	}
}

static void
end_all(struct mmp_engine *e, struct list *l, uint32_t peer)
{
	while (l->head != MMP_NONE) {
		uint32_t i = l->head;
		remove_post(e, i);
		end_for(e, i, peer);
	}
}

void
mmp_match_down(struct mmp_engine *e, uint32_t peer)
{
	for (uint32_t s = 0; s < MMP_STREAMS && !MMP_BUG(UNTOLD); s++) {
		end_all(e, &e->source[peer * MMP_STREAMS + s].posts, peer);
		end_all(e, &e->any_posts[s], peer);
	}
}
