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

	*f = (struct ft){.rank = rank, .size = size, .ops = ops, .user = user, .memory = *memory};
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

uint32_t
ft_failures(const struct ft *f)
{
	return f->failures;
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

/* To who has come next in the ring of all, as the one before it has failed: all that are known. */
static void
pass_failures(struct ft *f, uint32_t to)
{
	uint32_t *rank = ft_get(f, (f->failures + 1) * sizeof *rank), n = 0;

	for (uint32_t r = 0; r < f->size; r++)
		if (ft_has_failed(f, r))
			rank[n++] = r;
	ft_send(f, to, ft_write_list(f, FT_FAILED, 0, rank, n));
	ft_put(f, rank);
}

static void
pass_revocations(struct ft *f, uint32_t failed)
{
	for (const struct ft_revocation *v = f->revoked; v && !FT_BUG(PASSED); v = v->next) {
		struct ring r;
		if (!make_ring(f, v->member, v->n, &r))
			continue;
		/* Who has failed counts as living here: was it the next one? */
		uint32_t i = 1;
		while (i < r.n && rank_at(&r, r.me + i) != failed &&
		       ft_has_failed(f, rank_at(&r, r.me + i)))
			i++;
		if (i == r.n || rank_at(&r, r.me + i) != failed)
			continue;
		ft_send(f, next_living(f, &r, 1),
			ft_write_list(f, FT_REVOKE, v->ctx, v->member, v->n));
	}
}

void
ft_failed(struct ft *f, uint32_t rank)
{
	struct ring all = {NULL, f->size, f->rank};

	if (ft_has_failed(f, rank))
		return;
	bool next = next_living(f, &all, 1) == rank;
	ft_bit_set(f->failed, rank);
	f->failures++;
	f->count.failures++;
	f->ops->failed(f->user, rank);
	if (rank == f->rank)
		return;
	if (next)
		pass_failures(f, next_living(f, &all, 1));
	pass_on(f, &all, ft_write_list(f, FT_FAILED, 0, &rank, 1));
	pass_revocations(f, rank);
	ft_agreements_review(f);
	ft_tell(f);
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
	pass_on(f, &r, ft_write_list(f, FT_REVOKE, ctx, member, n));
	f->ops->revoked(f->user, ctx);
}

/* --- frames ---------------------------------------------------------------- */

static bool
take_list(struct ft *f, enum ft_type type, const uint8_t *frame, size_t len)
{
	uint32_t *rank = ft_get(f, f->size * sizeof *rank), n = 0;
	uint64_t ctx;
	bool ok = ft_read_list(f, frame, len, &ctx, rank, &n);

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
		ok = take_list(f, type, frame, len);
	else if (type != 0)
		ok = ft_agreement_frame(f, from, frame, len);
	if (!ok)
		f->count.malformed++;
	ft_tell(f);
	return ok;
}
