/* SPDX-License-Identifier: BSD-2-Clause */
/* suci_check(): every table of an endpoint against every other.  For tests; walks
 * everything, and believes nothing that it could count. */
#include "path_internal.h"

#ifdef SUCI_CANARY
enum suci_bug suci_canary;
#endif

struct sums {
	uint32_t recs, segments, held, guard, grants, askers, paths, waiting, frags, reasms,
		reasm_paths;
	uint32_t sharers, promised[SUCI_LEGS_MAX], pool_paths[SUCI_LEGS_MAX];
};

/* Records in a list, UINT32_MAX if it is no list of such records of that path. */
static uint32_t
count_path(const struct suci *ep, const struct suci_path *p, const struct base_ilist *l,
	   enum rec_where where, uint32_t *segments, struct sums *s)
{
	uint32_t n = 0, prev = NONE, most = suci_recs_of(&ep->conf.limits);
	uint64_t pn = 0;
	for (uint32_t i = l->head; i != NONE; prev = i, i = ep->rec[i].link.next) {
		const struct suci_rec *r = &ep->rec[i];
		if (r->where != where || r->link.prev != prev || r->path != path_index(ep, p) ||
		    n > most)
			return UINT32_MAX;
		if (where == WHERE_FLIGHT && r->pn <= pn)
			return UINT32_MAX; /* in flight: in the order of sending */
		pn = r->pn;
		*segments += r->kind == REC_SEGMENT || r->kind == REC_PURGED;
		s->held += r->kind == REC_SEGMENT || r->kind == REC_NOTE;
		s->frags += r->kind == REC_FRAG;
		n++;
	}
	return l->tail == prev ? n : UINT32_MAX;
}

/* Each has its place in the segment's order, and a path no more than its share. */
static const char *
check_reasms(const struct suci *ep, const struct suci_path *p, struct sums *s)
{
	uint32_t n = 0, most = suci_reasms_of(&ep->conf.limits);
	for (uint32_t i = frags_of(ep, p)->reasms; i != NO_REASM && n <= most;
	     i = ep->reasm[i].next, n++) {
		const struct suci_reasm *w = &ep->reasm[i];
		for (uint32_t k = 0; k < w->n; k++)
			if (w->got[k].lo >= w->got[k].end || w->got[k].end > w->total ||
			    (k && w->got[k].lo <= w->got[k - 1].end))
				return "bytes of a segment that are here are ranges in order";
	}
	if (n != frags_of(ep, p)->n_reasms || n > 1 + ep->conf.limits.wholes_max / 4)
		return "a path's unfinished segments = their number, within its share";
	s->reasms += n;
	s->reasm_paths += n != 0;
	return NULL;
}

static const char *
check_path(const struct suci *ep, const struct suci_path *p, struct sums *s)
{
	const struct suci_limits *l = &ep->conf.limits;
	uint32_t queued = 0, refused = 0, segments = 0;
	for (uint32_t q = 0; q < PRIOS; q++) {
		uint32_t n = count_path(ep, p, &p->sent.queue[q], WHERE_QUEUED, &segments, s);
		if (n == UINT32_MAX)
			return "a queue is a list of queued records";
		queued += n;
	}
	for (uint32_t k = 0; k < REFUSED_LISTS; k++) {
		uint32_t n = count_path(ep, p, &p->refused.list[k], WHERE_REFUSED, &segments, s);
		if (n == UINT32_MAX)
			return "what the peer refused is a list of refused records";
		refused += n;
	}
	uint32_t lost = count_path(ep, p, &p->sent.lost, WHERE_LOST, &segments, s);
	uint32_t flight = count_path(ep, p, &p->sent.flight, WHERE_FLIGHT, &segments, s);
	if (flight == UINT32_MAX || lost == UINT32_MAX)
		return "flight is a list in the order of sending, lost a list";
	if (queued != p->sent.queued || refused != p->refused.n || lost != p->sent.n_lost ||
	    flight != p->sent.in_flight)
		return "a path's lists are as long as its counts say";
	const struct suci_frags *q = frags_of(ep, p);
	uint32_t cut = count_path(ep, p, &q->sent, WHERE_FRAGMENTED, &segments, s);
	if (cut == UINT32_MAX || (p->frag.rec != NONE && p->frag.rec != q->sent.tail))
		return "what is cut is a list, its last one is being cut";
	const char *fault = check_reasms(ep, p, s);
	if (fault)
		return fault;
	if (segments != p->sent.recs)
		return "a path's records = segments in its lists";
	if (p->refused.granted > p->refused.n)
		return "no more grants than there is refused";
	if (p->state == PATH_UP && outstanding(p) && p->on_list != ON_READY && !p->going_down &&
	    !base_timer_armed(&p->timer.t))
		return "a path with something outstanding has a timer or is ready";
	if (queued + outstanding(p) >
	    l->queue_max + l->window_max + l->parts_max / 4 + ep->notes_max + 2)
		return "queued and outstanding within queue_max + window_max";
	s->recs += queued + refused + lost + flight + cut;
	s->segments += segments;
	s->grants += p->grants.granted - p->grants.used;
	s->askers += p->grants.ask != 0;
	s->waiting += p->credit_rx.waits;
	if (p->shares_link && !p->sent.in_flight)
		return "who shares a link has something in flight";
	s->sharers += p->shares_link;
	if (p->credit_rx.near)
		s->promised[p->credit_rx.pool] += suci_credit_promised(&p->credit_rx);
	if (p->credit_rx.waits && (!p->credit_rx.near || !p->credit_rx.wait_amount))
		return "who waits for credit is near and wants some";
	if (p->credit_tx.blocked_ns && p->credit_tx.ask_at_ns == BASE_NEVER_NS)
		return "who is held back for credit asks again";
	if (p->state == PATH_UP && segments < ep->path_min)
		s->guard += ep->path_min - segments;
	return NULL;
}

static const char *
check_path_sums(const struct suci *ep, const struct sums *s)
{
	uint32_t free_recs = 0, most = 0;
	const uint32_t all = suci_recs_of(&ep->conf.limits);
	for (uint32_t i = ep->rec_free; i != NONE && free_recs <= all; i = ep->rec[i].link.next) {
		if (ep->rec[i].where != WHERE_FREE)
			return "free records are free";
		free_recs++;
	}
	if (free_recs + s->recs != all)
		return "records free + in lists = all";
	if (s->segments != ep->segs_used || ep->segs_used > ep->conf.limits.segments_max)
		return "segments_max >= segments used = segments in lists";
	if (s->held != ep->in_custody)
		return "held = segments and notes in lists";
	if (s->frags != ep->frags_used || ep->frags_used > ep->conf.limits.parts_max)
		return "parts_max >= parts used = parts in lists";
	if (s->reasms != ep->reasms_used || s->reasm_paths != ep->reasm_paths ||
	    s->reasms - s->reasm_paths > ep->conf.limits.wholes_max)
		return "wholes_max >= unfinished segments but one of each path, = those of all";
	if (s->guard != ep->guard)
		return "guard = what paths lack of their minimum";
	if (s->grants != ep->grants_out)
		return "grants out = sum over paths of granted - used";
	if (s->askers != ep->nasking)
		return "paths that ask = their number";
	for (uint32_t i = 0; i < SUCI_LEGS_MAX; i++) {
		if (s->promised[i] != ep->pool[i].promised ||
		    ep->pool[i].promised > ep->conf.credit_total)
			return "credit_total >= promised = sum over near paths of a leg";
		if (s->pool_paths[i] != ep->pool[i].paths)
			return "paths of a leg = their number";
	}
	if (s->waiting != ep->nwaiting)
		return "paths that wait for credit = their number";
	if (s->sharers != ep->sharers)
		return "paths that share a link = their number";
	if (s->paths != ep->paths_used)
		return "paths in use = their number";
	for (uint32_t i = ep->note_free; i != NONE && most <= ep->notes_max; i = ep->note_next[i])
		most++;
	return most <= ep->notes_max ? NULL : "free notes are a list";
}

bool
suci_check(const struct suci *ep, const char **what)
{
	struct sums s = {0};
	const char *fault = NULL;
	for (uint32_t i = 0; i < ep->conf.limits.paths_max && !fault; i++) {
		if (ep->path[i].state == PATH_FREE)
			continue;
		s.paths++;
		s.pool_paths[ep->path[i].credit_rx.pool]++;
		fault = check_path(ep, &ep->path[i], &s);
	}
	if (!fault)
		fault = check_path_sums(ep, &s);
	*what = fault ? fault : "";
	return !fault;
}
