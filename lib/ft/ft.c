/* SPDX-License-Identifier: BSD-2-Clause */
/* The object, failures that are known, and what floods. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"

#include <string.h>

#ifdef SUCI_CANARY
enum ft_bug ft_canary;
#endif

void *
ft_get(struct ft *f, size_t bytes)
{
	void *p = f->memory.get(f->memory.user, bytes);

	memset(p, 0, bytes);
	return p;
}

void
ft_put(struct ft *f, void *p)
{
	f->memory.put(f->memory.user, p);
}

void
ft_send(struct ft *f, uint32_t to, size_t len)
{
	if (to == f->rank || ft_has_failed(f, to))
		return;
	f->count.sent++;
	f->ops->send(f->user, to, f->frame, len);
}

struct ft *
ft_new(uint32_t rank, uint32_t size, const struct ft_ops *ops, void *user,
       const struct ft_memory *memory)
{
	BASE_ASSERT(rank < size && size <= FT_SIZE_MAX);
	struct ft *f = memory->get(memory->user, sizeof *f);

	*f = (struct ft){.rank = rank,
			 .own = size,
			 .size = size,
			 .ops = ops,
			 .user = user,
			 .memory = *memory};
	f->failed = ft_get(f, ft_bytes(size));
	return f;
}

void
ft_free(struct ft *f)
{
	ft_agreements_free(f);
	while (f->revoked) {
		struct ft_revocation *r = f->revoked;
		f->revoked = r->next;
		ft_put(f, r);
	}
	while (f->groups)
		ft_leave(f, f->groups->ctx);
	ft_put(f, f->revoked_ctx);
	ft_put(f, f->frame);
	ft_put(f, f->failed);
	f->memory.put(f->memory.user, f);
}

bool
ft_has_failed(const struct ft *f, uint32_t rank)
{
	return ft_bit(f->failed, rank);
}

const struct ft_counts *
ft_counters(const struct ft *f)
{
	return &f->count;
}

/* --- floods ---------------------------------------------------------------- */

/* A ring of n processes, by place; member NULL: of all. */
struct ring {
	const uint32_t *member;
	uint32_t n, me;
};

static uint32_t
rank_at(const struct ring *r, uint32_t place)
{
	return r->member ? r->member[place % r->n] : place % r->n;
}

/* The first living one at least so many places on; this process: there is none. */
static uint32_t
next_living(const struct ft *f, const struct ring *r, uint32_t places)
{
	for (uint32_t i = places; i < r->n; i++) {
		uint32_t rank = rank_at(r, r->me + i);
		if (!ft_has_failed(f, rank))
			return rank;
	}
	return f->rank;
}

/* The frame of len bytes to the ring. */
static void
pass_on(struct ft *f, const struct ring *r, size_t len)
{
	uint32_t last = f->rank;

	for (uint32_t places = 1; places < r->n; places *= 2) {
		uint32_t to = next_living(f, r, places);
		if (to != last)
			ft_send(f, to, len);
		last = to;
	}
}

static bool
has_strangers(const struct ft *f, const uint32_t *member, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (member[i] >= f->own)
			return true;
	return false;
}

/* This process is one of the n. */
static bool
make_ring(const struct ft *f, const uint32_t *member, uint32_t n, struct ring *r)
{
	*r = (struct ring){member, n, 0};
	while (r->me < n && member[r->me] != f->rank)
		r->me++;
	return r->me < n;
}

/* --- failures -------------------------------------------------------------- */

/* Who has failed counts as living here: was it the next one? */
static bool
was_next(const struct ft *f, const struct ring *r, uint32_t failed)
{
	uint32_t i = 1;

	while (i < r->n && rank_at(r, r->me + i) != failed &&
	       ft_has_failed(f, rank_at(r, r->me + i)))
		i++;
	return i < r->n && rank_at(r, r->me + i) == failed;
}

/* A frame of all of the ring that are known to have failed; its length, *n: how many. */
static size_t
list_failures(struct ft *f, const struct ring *r, uint32_t *n)
{
	uint32_t *rank = ft_get(f, (f->failures + 1) * sizeof *rank);

	*n = 0;
	for (uint32_t i = 0; i < r->n; i++)
		if (ft_has_failed(f, rank_at(r, i)))
			rank[(*n)++] = rank_at(r, i);
	size_t len = ft_write_list(f, FT_FAILED, 0, rank, *n, r->member != NULL);
	ft_put(f, rank);
	return len;
}

/* To all of the ring; all that are known to who has come next, as the one before it has failed. */
static void
pass_failure(struct ft *f, const struct ring *r, uint32_t rank)
{
	uint32_t n;

	if (was_next(f, r, rank))
		ft_send(f, next_living(f, r, 1), list_failures(f, r, &n));
	pass_on(f, r, ft_write_list(f, FT_FAILED, 0, &rank, 1, r->member != NULL));
}

static void
pass_to_groups(struct ft *f, uint32_t rank)
{
	struct ring r;

	for (const struct ft_group *g = f->groups; g; g = g->next)
		for (uint32_t i = 0; i < g->n; i++)
			if (g->member[i] == rank && make_ring(f, g->member, g->n, &r))
				pass_failure(f, &r, rank);
}

static void
pass_revocations(struct ft *f, uint32_t failed)
{
	for (const struct ft_revocation *v = f->revoked; v && !FT_BUG(PASSED); v = v->next) {
		struct ring r;
		if (!make_ring(f, v->member, v->n, &r) || !was_next(f, &r, failed))
			continue;
		ft_send(f, next_living(f, &r, 1),
			ft_write_list(f, FT_REVOKE, v->ctx, v->member, v->n,
				      has_strangers(f, v->member, v->n)));
	}
}

void
ft_failed(struct ft *f, uint32_t rank)
{
	struct ring all = {NULL, f->own, f->rank};

	if (ft_has_failed(f, rank))
		return;
	ft_bit_set(f->failed, rank);
	f->failures++;
	f->count.failures++;
	f->ops->failed(f->user, rank);
	if (rank == f->rank)
		return;
	if (rank < f->own)
		pass_failure(f, &all, rank);
	pass_to_groups(f, rank);
	pass_revocations(f, rank);
	ft_agreements_review(f);
	ft_tell(f);
}

void
ft_grow(struct ft *f, uint32_t size)
{
	BASE_ASSERT(size >= f->size && size <= FT_SIZE_MAX);
	uint8_t *more = ft_get(f, ft_bytes(size));

	memcpy(more, f->failed, ft_bytes(f->size));
	ft_put(f, f->failed);
	f->failed = more;
	f->size = size;
}

void
ft_join(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n)
{
	struct ft_group *g = ft_get(f, sizeof *g + n * sizeof *member);
	struct ring r;
	uint32_t failures;

	g->ctx = ctx;
	g->n = n;
	memcpy(g->member, member, n * sizeof *member);
	g->next = f->groups;
	f->groups = g;
	if (!make_ring(f, g->member, n, &r))
		return;
	size_t len = list_failures(f, &r, &failures);
	if (failures)
		pass_on(f, &r, len);
	else
		ft_send(f, next_living(f, &r, 1), len);
}

void
ft_leave(struct ft *f, uint64_t ctx)
{
	struct ft_group **at = &f->groups, *g;

	while ((g = *at) != NULL && g->ctx != ctx)
		at = &g->next;
	if (!g)
		return;
	*at = g->next;
	ft_put(f, g);
}

/* --- revoking -------------------------------------------------------------- */

static bool
is_known_revoked(const struct ft *f, uint64_t ctx)
{
	for (uint32_t i = f->revoked_n; i-- > 0;)
		if (f->revoked_ctx[i] == ctx)
			return true;
	return false;
}

static void
note_revoked(struct ft *f, uint64_t ctx)
{
	if (f->revoked_n == f->revoked_room) {
		uint32_t room = f->revoked_room ? 2 * f->revoked_room : 16;
		uint64_t *more = ft_get(f, room * sizeof *more);
		if (f->revoked_n)
			memcpy(more, f->revoked_ctx, f->revoked_n * sizeof *more);
		ft_put(f, f->revoked_ctx);
		f->revoked_ctx = more;
		f->revoked_room = room;
	}
	f->revoked_ctx[f->revoked_n++] = ctx;
}

static void
keep_revocation(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n)
{
	struct ft_revocation *r = ft_get(f, sizeof *r + n * sizeof *member), **last = &f->revoked;

	r->ctx = ctx;
	r->n = n;
	memcpy(r->member, member, n * sizeof *member);
	r->next = f->revoked;
	f->revoked = r;
	if (++f->revocations <= FT_REVOKED_MAX)
		return;
	while ((*last)->next)
		last = &(*last)->next;
	ft_put(f, *last);
	*last = NULL;
	f->revocations--;
}

void
ft_revoke(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n)
{
	struct ring r;

	if (is_known_revoked(f, ctx) || !make_ring(f, member, n, &r))
		return;
	note_revoked(f, ctx);
	keep_revocation(f, ctx, member, n);
	f->count.revocations++;
	pass_on(f, &r, ft_write_list(f, FT_REVOKE, ctx, member, n, has_strangers(f, member, n)));
	f->ops->revoked(f->user, ctx);
}

/* --- frames ---------------------------------------------------------------- */

static bool
take_list(struct ft *f, enum ft_type type, uint32_t from, const uint8_t *frame, size_t len)
{
	uint32_t *rank = ft_get(f, len), n = 0;
	uint64_t ctx;
	bool ok = ft_read_list(f, from, frame, len, &ctx, rank, &n);

	if (ok && type == FT_REVOKE)
		ft_revoke(f, ctx, rank, n);
	for (uint32_t i = 0; ok && type == FT_FAILED && i < n; i++)
		ft_failed(f, rank[i]);
	ft_put(f, rank);
	return ok;
}

bool
ft_on_frame(struct ft *f, uint32_t from, const void *frame, size_t len)
{
	enum ft_type type = ft_read_type(frame, len);
	bool ok = false;

	f->count.received++;
	if (from >= f->size || from == f->rank)
		type = 0;
	else if (ft_has_failed(f, from))
		return true; /* late */
	if (type == FT_FAILED || type == FT_REVOKE)
		ok = take_list(f, type, from, frame, len);
	else if (type != 0)
		ok = ft_agreement_frame(f, from, frame, len);
	if (!ok)
		f->count.malformed++;
	ft_tell(f);
	return ok;
}
