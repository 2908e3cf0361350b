/* SPDX-License-Identifier: BSD-2-Clause */
/* Agreements: see ft/ft.h. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"

#include <string.h>

#define AHEAD_MAX 4096u /* numbers of agreements that others may be ahead */

/* --- what there is --------------------------------------------------------- */

static struct ft_context *
find_context(struct ft *f, uint64_t ctx, bool make)
{
	uint64_t h = ctx * UINT64_C(0x9e3779b97f4a7c15);
	struct ft_context **bin = &f->bin[h >> 56], *c = *bin;

	while (c && c->ctx != ctx)
		c = c->next;
	if (c || !make)
		return c;
	c = ft_get(f, sizeof *c);
	c->ctx = ctx;
	c->next = *bin;
	*bin = c;
	return c;
}

static struct ft_agreement *
find_agreement(struct ft *f, struct ft_context *c, uint32_t seq, bool make)
{
	struct ft_agreement *a = c->first;

	while (a && a->seq != seq)
		a = a->next;
	if (a || !make)
		return a;
	a = ft_get(f, sizeof *a);
	a->seq = seq;
	a->held_end = &a->held;
	a->next = c->first;
	c->first = a;
	return a;
}

static void
new_value(struct ft *f, struct ft_value *v, uint32_t n)
{
	v->failed = ft_get(f, ft_bytes(n));
	v->acked = ft_get(f, ft_bytes(n));
}

static void
copy_value(struct ft_value *to, const struct ft_value *from, uint32_t n)
{
	to->and_of[0] = from->and_of[0];
	to->and_of[1] = from->and_of[1];
	to->max_of = from->max_of;
	memcpy(to->failed, from->failed, ft_bytes(n));
	memcpy(to->acked, from->acked, ft_bytes(n));
}

static void
free_agreement(struct ft *f, struct ft_agreement *a)
{
	while (a->held) {
		struct ft_held *h = a->held;
		a->held = h->next;
		ft_put(f, h);
	}
	ft_put(f, a->offers.failed);
	ft_put(f, a->offers.acked);
	ft_put(f, a->value.failed);
	ft_put(f, a->value.acked);
	ft_put(f, a->got);
	ft_put(f, a->acks);
	ft_put(f, a->member);
	ft_put(f, a);
}

void
ft_agreements_free(struct ft *f)
{
	for (int i = 0; i < FT_CONTEXT_BINS; i++) {
		while (f->bin[i]) {
			struct ft_context *c = f->bin[i];
			f->bin[i] = c->next;
			while (c->first) {
				struct ft_agreement *a = c->first;
				c->first = a->next;
				free_agreement(f, a);
			}
			ft_put(f, c);
		}
	}
}

/* All living members have the results of those before c->floor. */
static void
drop_results(struct ft *f, struct ft_context *c)
{
	struct ft_agreement **at = &c->first;

	while (*at) {
		struct ft_agreement *a = *at;
		if (a->seq >= c->floor || !a->told) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		free_agreement(f, a);
	}
}

/* This process has the results of all agreements before that. */
static uint32_t
first_open(const struct ft_context *c)
{
	uint32_t seq = c->seq;

	for (const struct ft_agreement *a = c->first; a; a = a->next)
		if (a->begun && !a->decided && a->seq < seq)
			seq = a->seq;
	return seq;
}

/* --- frames out ------------------------------------------------------------ */

static struct ft_msg
msg_of(const struct ft_context *c, const struct ft_agreement *a, enum ft_type type)
{
	return (struct ft_msg){.type = type,
			       .ctx = c->ctx,
			       .seq = a->seq,
			       .n = a->n,
			       .leader = a->me,
			       .floor = a->floor,
			       .value = a->value};
}

static void
send_all(struct ft *f, const struct ft_agreement *a, const struct ft_msg *m)
{
	size_t len = ft_write_msg(f, m);

	for (uint32_t i = 0; i < a->n; i++)
		ft_send(f, a->member[i], len);
}

static void
send_state(struct ft *f, const struct ft_context *c, const struct ft_agreement *a)
{
	struct ft_msg m = msg_of(c, a, FT_STATE);

	m.decided = a->decided;
	m.adopted = a->adopted;
	m.leader = m.adopted ? a->proposer : a->me;
	m.floor = first_open(c) < a->seq ? first_open(c) : a->seq;
	if (!m.decided && !m.adopted)
		m.value = a->offers;
	ft_send(f, a->member[a->leader], ft_write_msg(f, &m));
}

static void
send_result(struct ft *f, const struct ft_context *c, const struct ft_agreement *a, uint32_t to)
{
	struct ft_msg m = msg_of(c, a, FT_DECIDE);

	ft_send(f, to, ft_write_msg(f, &m));
}

/* --- leading --------------------------------------------------------------- */

/* All members have it, or have failed. */
static bool
have_all(const struct ft *f, const struct ft_agreement *a, const uint8_t *bits)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (!ft_bit(bits, i) && !ft_has_failed(f, a->member[i]))
			return false;
	return true;
}

static void
propose(struct ft *f, struct ft_context *c, struct ft_agreement *a)
{
	if (!a->adopted || FT_BUG(FORGETFUL)) {
		copy_value(&a->value, &a->offers, a->n);
		/* Who has failed took part, or not: it cannot have failed later than now. */
		for (uint32_t i = 0; i < a->n; i++)
			if (ft_has_failed(f, a->member[i]))
				ft_bit_set(a->value.failed, i);
		if (FT_BUG(INVENTED))
			a->value.and_of[0] ^= 1;
	}
	a->adopted = a->proposed = true;
	a->proposer = a->me;
	memset(a->acks, 0, ft_bytes(a->n));
	ft_bit_set(a->acks, a->me);
	if (a->floor > c->floor)
		c->floor = a->floor;
	struct ft_msg m = msg_of(c, a, FT_PROPOSE);
	send_all(f, a, &m);
}

static void
decide(struct ft *f, struct ft_context *c, struct ft_agreement *a)
{
	f->untold += !a->decided;
	f->count.agreements += !a->decided;
	a->decided = true;
	if (a->leader != a->me)
		return;
	struct ft_msg m = msg_of(c, a, FT_DECIDE);
	send_all(f, a, &m);
}

/* What follows from what is known. */
static void
review(struct ft *f, struct ft_context *c, struct ft_agreement *a)
{
	uint32_t leader = a->leader;

	if (!a->begun)
		return;
	while (ft_has_failed(f, a->member[leader]))
		leader++; /* this process lives */
	if (leader != a->leader && !(FT_BUG(WIDOWED) && leader != a->me)) {
		a->leader = leader;
		if (leader != a->me) {
			send_state(f, c, a);
		} else {
			f->count.leaders++;
			if (a->decided)
				decide(f, c, a);
		}
	}
	if (a->decided || a->leader != a->me)
		return;
	if (!a->proposed && have_all(f, a, a->got))
		propose(f, c, a);
	if (a->proposed && (have_all(f, a, a->acks) || FT_BUG(HASTY)))
		decide(f, c, a);
}

void
ft_agreements_review(struct ft *f)
{
	for (int i = 0; i < FT_CONTEXT_BINS; i++)
		for (struct ft_context *c = f->bin[i]; c; c = c->next)
			for (struct ft_agreement *a = c->first, *next; a; a = next) {
				next = a->next;
				review(f, c, a);
			}
}

/* --- frames in ------------------------------------------------------------- */

static void
take_result(struct ft *f, struct ft_context *c, struct ft_agreement *a, const struct ft_value *v)
{
	if (a->decided)
		return;
	copy_value(&a->value, v, a->n);
	a->adopted = true;
	decide(f, c, a);
}

static void
take_offer(struct ft_agreement *a, const struct ft_value *v)
{
	a->offers.and_of[0] &= v->and_of[0];
	a->offers.and_of[1] &= v->and_of[1];
	if (v->max_of > a->offers.max_of)
		a->offers.max_of = v->max_of;
	for (size_t i = 0; i < ft_bytes(a->n); i++) {
		a->offers.failed[i] |= v->failed[i];
		a->offers.acked[i] &= v->acked[i];
	}
}

/* A member took this process for the leader, which it is, or will be when it knows as much. */
static void
take_state(struct ft *f, struct ft_context *c, struct ft_agreement *a, uint32_t i,
	   const struct ft_msg *m)
{
	ft_bit_set(a->got, i);
	if (m->floor < a->floor)
		a->floor = m->floor;
	if (m->decided) {
		take_result(f, c, a, &m->value);
	} else if (a->decided) {
		send_result(f, c, a, a->member[i]);
	} else if (!m->adopted) {
		take_offer(a, &m->value);
	} else if (!a->proposed && (!a->adopted || m->leader > a->proposer)) {
		copy_value(&a->value, &m->value, a->n);
		a->adopted = true;
		a->proposer = m->leader;
	}
}

static void
take_proposal(struct ft *f, struct ft_context *c, struct ft_agreement *a, uint32_t i,
	      const struct ft_msg *m)
{
	if (a->decided) {
		send_result(f, c, a, a->member[i]);
		return;
	}
	if (i != a->leader)
		return; /* late: it has failed */
	copy_value(&a->value, &m->value, a->n);
	a->adopted = true;
	a->proposer = i;
	struct ft_msg ack = msg_of(c, a, FT_ACK);
	ft_send(f, a->member[i], ft_write_msg(f, &ack));
}

static bool
take_msg(struct ft *f, struct ft_context *c, struct ft_agreement *a, uint32_t from,
	 const struct ft_msg *m)
{
	uint32_t i = 0;

	while (i < a->n && a->member[i] != from)
		i++;
	if (i == a->n || m->n != a->n ||
	    ((m->type == FT_PROPOSE || m->type == FT_ACK) && m->leader != i))
		return false;
	if (m->type == FT_STATE) {
		take_state(f, c, a, i, m);
	} else if (m->type == FT_PROPOSE) {
		take_proposal(f, c, a, i, m);
	} else if (m->type == FT_ACK) {
		ft_bit_set(a->acks, i);
	} else {
		take_result(f, c, a, &m->value);
	}
	if ((m->type == FT_PROPOSE || m->type == FT_DECIDE) && m->floor > c->floor)
		c->floor = m->floor;
	review(f, c, a);
	return true;
}

bool
ft_agreement_frame(struct ft *f, uint32_t from, const uint8_t *frame, size_t len)
{
	struct ft_msg m;

	if (!ft_read_msg(f, frame, len, &m))
		return false;
	struct ft_context *c = find_context(f, m.ctx, true);
	if (m.seq < c->floor)
		return true; /* all have its result */
	if (m.seq >= c->seq && m.seq - c->seq > AHEAD_MAX)
		return false;
	struct ft_agreement *a = find_agreement(f, c, m.seq, true);
	if (a->begun)
		return take_msg(f, c, a, from, &m);
	/* Its members are not known here yet; and nobody can be ahead by more than a state. */
	struct ft_held *h = ft_get(f, sizeof *h + len);
	h->from = from;
	h->len = len;
	memcpy(h->frame, frame, len);
	*a->held_end = h;
	a->held_end = &h->next;
	return true;
}

/* --- taking part ----------------------------------------------------------- */

static void
begin(struct ft *f, struct ft_agreement *a, const uint32_t *member, uint32_t n,
      const struct ft_offer *offer)
{
	size_t bits = ft_bytes(n);

	a->n = n;
	a->member = ft_get(f, n * sizeof *member);
	memcpy(a->member, member, n * sizeof *member);
	a->got = ft_get(f, bits);
	a->acks = ft_get(f, bits);
	new_value(f, &a->offers, n);
	new_value(f, &a->value, n);
	a->offers.and_of[0] = offer->and_of[0];
	a->offers.and_of[1] = offer->and_of[1];
	a->offers.max_of = offer->max_of;
	for (uint32_t i = 0; i < n; i++) {
		if (member[i] == f->rank)
			a->me = i;
		if (ft_has_failed(f, member[i]))
			ft_bit_set(a->offers.failed, i);
		if (!offer->acked || offer->acked[i])
			ft_bit_set(a->offers.acked, i);
	}
	BASE_ASSERT(member[a->me] == f->rank);
	ft_bit_set(a->got, a->me);
	a->begun = true;
}

uint32_t
ft_agree(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n,
	 const struct ft_offer *offer)
{
	struct ft_context *c = find_context(f, ctx, true);
	uint32_t seq = c->seq++;
	struct ft_agreement *a = find_agreement(f, c, seq, true);

	drop_results(f, c);
	begin(f, a, member, n, offer);
	a->floor = first_open(c);
	while (ft_has_failed(f, a->member[a->leader]))
		a->leader++;
	if (a->leader != a->me)
		send_state(f, c, a);
	while (a->held) {
		struct ft_held *h = a->held;
		struct ft_msg m;
		a->held = h->next;
		if (!ft_read_msg(f, h->frame, h->len, &m) || !take_msg(f, c, a, h->from, &m))
			f->count.malformed++;
		ft_put(f, h);
	}
	a->held_end = &a->held;
	review(f, c, a);
	ft_tell(f);
	return seq;
}

/* --- results --------------------------------------------------------------- */

static void
tell_one(struct ft *f, struct ft_context *c, struct ft_agreement *a)
{
	struct ft_result r = {.and_of = {a->value.and_of[0], a->value.and_of[1]},
			      .max_of = a->value.max_of,
			      .n = a->n,
			      .member = a->member,
			      .failed = a->value.failed};

	for (size_t i = 0; i < ft_bytes(a->n); i++)
		r.unacked |= (a->value.failed[i] & ~a->value.acked[i]) != 0;
	a->told = true;
	f->untold--;
	/* All know of these failures now, so that what they do next is the same. */
	for (uint32_t i = 0; i < a->n; i++)
		if (ft_bit(a->value.failed, i))
			ft_failed(f, a->member[i]);
	f->ops->agreed(f->user, c->ctx, a->seq, &r);
}

static bool
tell_next(struct ft *f)
{
	for (int i = 0; i < FT_CONTEXT_BINS; i++)
		for (struct ft_context *c = f->bin[i]; c; c = c->next)
			for (struct ft_agreement *a = c->first; a; a = a->next)
				if (a->decided && !a->told) {
					tell_one(f, c, a);
					return true;
				}
	return false;
}

void
ft_tell(struct ft *f)
{
	if (f->telling)
		return;
	f->telling = true;
	while (f->untold && tell_next(f))
		;
	f->telling = false;
}

bool
ft_check(const struct ft *f, const char **what)
{
	uint32_t failed = 0, kept = 0;
	uint32_t untold = 0;

	for (uint32_t r = 0; r < f->size; r++)
		failed += ft_has_failed(f, r);
	for (const struct ft_revocation *r = f->revoked; r; r = r->next)
		kept++;
	for (int i = 0; i < FT_CONTEXT_BINS; i++)
		for (const struct ft_context *c = f->bin[i]; c; c = c->next)
			for (const struct ft_agreement *a = c->first; a; a = a->next)
				untold += a->decided && !a->told;
	*what = failed != f->failures				  ? "failures"
		: kept != f->revocations || kept > FT_REVOKED_MAX ? "revocations"
		: untold || f->untold				  ? "a result not told"
								  : NULL;
	return *what == NULL;
}
