/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows on real engines of lib/mpi: each process has a part, an object of mpi/window.h, and does
 * things to the parts of all, its own among them, over real relays (sim/trouble.h).
 *
 *     part of a process   tickets | guarded | sums | a slice of each process
 *
 * tickets  are drawn by GET_ACC: none twice, none left out.
 * guarded  is read and written under an exclusive lock: nobody else is there meanwhile, no
 *	    increment is lost; who reads it twice under a shared lock reads the same.
 * sums	    are added to by all, in one packet or beside it: at the end they are what was added.
 * slices   are written by PUT, short and long, and read back: who reads sees what it wrote before;
 *	    after a fence everything is there. */
#include "draw.h"
#include "trouble.h"

#include "mpi/window.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CID	  16u
#define SUMS	  2000u /* beyond RMA_INLINE_MAX */
#define SLICE	  20000u
#define ROUNDS	  3u
#define ACTS_MAX  30u /* of a process in a round */
#define ADD	  1u  /* rma_packet.op */
#define TAG_REPLY 0x20000000u

struct layout {
	uint64_t tickets, guarded, sums[SUMS];
	uint8_t slice[ENODES_MAX][SLICE];
};
#define AT(field) offsetof(struct layout, field)

enum deed { IDLE, WRITES, DRAWS, ADDS, GUARDS, READS, FLUSHES, MEETS, DONE };

struct user {
	struct enode *n;
	struct lmpi_exposed x;
	struct lmpi_origin origin[ENODES_MAX];
	struct lmpi_bulks bulks;
	_Atomic uint32_t lock;
	struct layout *mem;	    /* what others do things to */
	uint8_t (*wrote)[SLICE];    /* [target] what its slice there must hold */
	struct lmpi_req result_req; /* of a result beside its reply */
	uint8_t result[SLICE];
	enum deed deed;
	uint32_t target, step; /* of the deed */
	uint64_t from, len;    /* of WRITES, in the slice */
	uint64_t seen;	       /* GUARDS, READS */
	bool waits;	       /* for a result */
	bool granted;	       /* the lock that it has asked for */
	uint32_t acks;
	uint32_t dirty; /* bits of targets */
	uint32_t acts, round;
	uint32_t tag;
};

struct windows {
	struct trouble t;				   /* first */
	struct user *user;				   /* [ENODES_MAX] */
	uint32_t acts;					   /* of each process in a round */
	uint64_t tickets[ENODES_MAX], guarded[ENODES_MAX]; /* what the parts are to hold */
	uint64_t sums[ENODES_MAX][SUMS];
	uint64_t drawn[ENODES_MAX][ROUNDS * ACTS_MAX * ENODES_MAX / 64 + 1]; /* bits of tickets */
	uint32_t inside[ENODES_MAX]; /* who holds the lock exclusively, + 1 */
	uint32_t met[2 * ROUNDS];    /* how many have come to each meeting */
	uint32_t deeds;
};

/* Handlers of the library's own messages are not told who they are. */
static struct windows *running;

static struct user *
user_of(const struct enode *n)
{
	return &((struct windows *)(void *)n->all)->user[n->end->rank];
}

static struct user *
exposes(const struct lmpi_exposed *x)
{
	return (struct user *)(void *)((char *)(uintptr_t)x - offsetof(struct user, x));
}

static struct sim *
sim_of(const struct user *u)
{
	return u->n->end->w->s;
}

static void *
own_memory(void *user, size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	(void)user;
	BASE_ASSERT(p);
	return p;
}

static void
free_own_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

/* ---- sending ---- */

struct parcel {
	struct lmpi_req req; /* first */
	uint64_t len;
	_Alignas(16) uint8_t bytes[];
};

static void
burn_parcel(struct lmpi_req *req)
{
	free(req);
}

static void hear_packet(struct user *u, uint32_t from, const void *data, uint64_t len);

/* A copy of data on that context, behind a header if there is one. */
static void
mail(struct user *u, uint32_t to, uint64_t cid, uint32_t tag, const struct rma_packet *p,
     const void *data, uint64_t len)
{
	uint64_t head = p ? sizeof *p : 0;
	struct parcel *out = own_memory(NULL, sizeof *out + head + len);

	if (p)
		memcpy(out->bytes, p, head);
	if (len)
		memcpy(out->bytes + head, data, len);
	out->len = head + len;
	if (p && to == u->n->end->rank) {
		hear_packet(u, to, out->bytes, out->len);
		free(out);
		return;
	}
	out->req = (struct lmpi_req){.on_done = burn_parcel};
	lmpi_engine_isend(&u->n->e, &out->req, out->bytes, out->len, to, (int)u->n->end->rank,
			  (int)tag, cid, LMPI_STANDARD);
}

static void
tell(struct user *u, uint32_t to, struct rma_packet p, const void *data, uint64_t len)
{
	p.win = CID;
	p.rank = u->n->end->rank;
	mail(u, to, LMPI_CID_SERVICE, 0, &p, data, len);
}

static uint32_t
next_tag(struct user *u)
{
	return ++u->tag;
}

static void end_wait(struct lmpi_req *req);

/* An operation on the target of the deed. */
static void
operate(struct user *u, enum rma_kind kind, uint64_t at, const void *data, uint64_t len)
{
	struct rma_packet p = {.kind = (uint8_t)kind, .op = ADD, .at = at, .bytes = len};
	bool beside = data && len > RMA_INLINE_MAX;

	u->dirty |= 1u << u->target;
	if (beside)
		p.data_tag = next_tag(u);
	if (kind == RMA_GET || kind == RMA_GET_ACC) {
		u->waits = true;
		if (len > RMA_INLINE_MAX) {
			p.reply_tag = next_tag(u) | TAG_REPLY;
			u->result_req = (struct lmpi_req){.on_done = end_wait};
			lmpi_engine_irecv(&u->n->e, &u->result_req, u->result, len, (int)u->target,
					  (int)p.reply_tag, LMPI_CID_BULK);
		}
	}
	tell(u, u->target, p, data, beside || !data ? 0 : len);
	if (beside)
		mail(u, u->target, LMPI_CID_BULK, p.data_tag, NULL, data, len);
}

static void
flush_all(struct user *u)
{
	for (uint32_t r = 0; r < u->n->e.size; r++)
		if (u->dirty >> r & 1) {
			u->acks++;
			tell(u, r, (struct rma_packet){.kind = RMA_FLUSH}, NULL, 0);
		}
	u->dirty = 0;
}

/* ---- what a part of a window asks for ---- */

static int
place_of(const struct lmpi_job *j, void **at)
{
	bool inside =
		j->p.at <= sizeof(struct layout) && j->p.bytes <= sizeof(struct layout) - j->p.at;

	*at = inside ? (uint8_t *)exposes(j->x)->mem + j->p.at : NULL;
	INVARIANT(sim_of(exposes(j->x)), RESULT, inside, "something is done outside of a window");
	return inside ? LMPI_OK : LMPI_ERR_OTHER;
}

static int
store_put(const struct lmpi_job *j, const void *data)
{
	void *at;
	int rc = place_of(j, &at);

	if (!rc)
		memcpy(at, data, j->p.bytes);
	return rc;
}

static int
perform_job(const struct lmpi_job *j)
{
	struct user *u = exposes(j->x);
	uint8_t old[SLICE];
	void *at;
	int rc = place_of(j, &at);

	BASE_ASSERT(!rc && j->p.bytes <= sizeof old);
	memcpy(old, at, j->p.bytes);
	for (uint64_t i = 0; j->p.kind != RMA_GET && i + 8 <= j->p.bytes; i += 8) {
		uint64_t is, add;
		memcpy(&is, (uint8_t *)at + i, 8);
		memcpy(&add, j->data + i, 8);
		is += add;
		memcpy((uint8_t *)at + i, &is, 8);
	}
	if (j->p.kind == RMA_ACC)
		return LMPI_OK;
	if (j->p.reply_tag)
		mail(u, (uint32_t)j->origin, LMPI_CID_BULK, j->p.reply_tag, NULL, old, j->p.bytes);
	else
		tell(u, (uint32_t)j->origin, (struct rma_packet){.kind = RMA_REPLY}, old,
		     j->p.bytes);
	return LMPI_OK;
}

static void
end_wait(struct lmpi_req *req)
{
	struct user *u = (struct user *)(void *)((char *)req - offsetof(struct user, result_req));

	u->waits = false;
}

static void
hear_job(const struct lmpi_job *j)
{
	struct user *u = exposes(j->x);

	switch (j->p.kind) {
	case RMA_REPLY:
		BASE_ASSERT(u->waits && j->bytes <= sizeof u->result);
		memcpy(u->result, j->data, j->bytes);
		u->waits = false;
		break;
	case RMA_ACK:
		INVARIANT(sim_of(u), RESULT, u->acks > 0 && !j->p.error,
			  "rank %u: a flush is answered with error %u", u->n->end->rank,
			  j->p.error);
		u->acks--;
		break;
	case RMA_GRANT:
		u->granted = true;
		break;
	default:
		sim_fail(sim_of(u), "rank %u hears packet %u", u->n->end->rank, j->p.kind);
	}
}

static void
note_job(struct lmpi_exposed *x, int origin, enum rma_kind kind, int error)
{
	tell(exposes(x), (uint32_t)origin,
	     (struct rma_packet){.kind = (uint8_t)kind, .error = (uint32_t)error}, NULL, 0);
}

static void
grant_own(struct lmpi_exposed *x)
{
	exposes(x)->granted = true;
}

static void
receive_bulk(struct lmpi_exposed *x, struct lmpi_req *req, void *into, uint64_t cap, int origin,
	     uint32_t tag)
{
	lmpi_engine_irecv(&exposes(x)->n->e, req, into, cap, origin, (int)tag, LMPI_CID_BULK);
}

static bool
is_never_void(const struct lmpi_exposed *x)
{
	(void)x;
	return false;
}

static __attribute__((noreturn)) void
is_malformed(void)
{
	abort();
}

static const struct lmpi_exposed_ops exposed_ops = {.place = place_of,
						    .put = store_put,
						    .perform = perform_job,
						    .hear = hear_job,
						    .note = note_job,
						    .granted = grant_own,
						    .receive = receive_bulk,
						    .is_void = is_never_void,
						    .malformed = is_malformed};

static void
hear_packet(struct user *u, uint32_t from, const void *data, uint64_t len)
{
	struct lmpi_job j;
	bool good = lmpi_job_read(&j, data, len);

	BASE_ASSERT(good && j.p.win == CID && j.p.rank == from);
	j.x = &u->x;
	j.origin = (int)from;
	lmpi_exposed_arrive(&j);
}

static void
open_packet(uint32_t from, const void *data, uint64_t len)
{
	hear_packet(user_of(running->t.nodes.current), from, data, len);
}

/* ---- deeds: one at a time, a step whenever what it waits for is there ---- */

static uint64_t
read_word(const struct user *u)
{
	uint64_t v;

	memcpy(&v, u->result, sizeof v);
	return v;
}

static void
do_writes(struct user *u)
{
	struct windows *all = running;
	struct base_prng *p = &all->t.prng;
	uint8_t *wrote = u->wrote[u->target];
	uint64_t at = AT(slice) + (uint64_t)u->n->end->rank * SLICE;

	if (u->step++ == 0) {
		/* Some that do not overlap, none of them waited for. */
		uint64_t most = PICK(p, 100, RMA_INLINE_MAX, SLICE / 2);
		u->from = base_prng_below(p, SLICE / 2);
		u->len = 0;
		for (uint64_t n = between(p, 1, 3); n > 0; n--) {
			uint64_t begin = u->from + u->len;
			uint64_t len = base_prng_below(p, most);
			if (begin + len > SLICE)
				break;
			for (uint64_t i = 0; i < len; i++)
				wrote[begin + i] = (uint8_t)base_prng_next(p);
			operate(u, RMA_PUT, at + begin, wrote + begin, len);
			u->len += len;
		}
		if (u->len == 0)
			u->deed = IDLE;
		else if (coin(p, 60))
			operate(u, RMA_GET, at + u->from, NULL, u->len);
		else
			u->deed = FLUSHES; /* before the next put that may overlap */
		return;
	}
	INVARIANT(sim_of(u), RESULT, !memcmp(u->result, wrote + u->from, u->len),
		  "rank %u does not read what it wrote to rank %u", u->n->end->rank, u->target);
	u->deed = IDLE;
}

static void
do_draws(struct user *u)
{
	struct windows *all = running;
	uint64_t one = 1;

	if (u->step++ == 0) {
		operate(u, RMA_GET_ACC, AT(tickets), &one, sizeof one);
		all->tickets[u->target]++;
		return;
	}
	uint64_t got = read_word(u), *bits = all->drawn[u->target];
	INVARIANT(sim_of(u), RESULT,
		  got < all->tickets[u->target] && !(bits[got / 64] >> got % 64 & 1),
		  "rank %u draws ticket %llu of rank %u", u->n->end->rank, (unsigned long long)got,
		  u->target);
	if (!sim_of(u)->failed)
		bits[got / 64] |= UINT64_C(1) << got % 64;
	u->deed = IDLE;
}

static void
do_adds(struct user *u)
{
	struct windows *all = running;
	struct base_prng *p = &all->t.prng;
	uint64_t add[SUMS], n = coin(p, 50) ? between(p, 1, 20) : between(p, 1, SUMS);

	for (uint64_t i = 0; i < n; i++) {
		add[i] = base_prng_next(p);
		all->sums[u->target][i] += add[i];
	}
	operate(u, RMA_ACC, AT(sums), add, n * sizeof *add);
	u->deed = IDLE;
}

static void
ask_lock(struct user *u, bool exclusive)
{
	u->granted = false;
	if (u->target == u->n->end->rank)
		lmpi_exposed_ask(&u->x, (int)u->target, exclusive);
	else
		tell(u, u->target,
		     (struct rma_packet){.kind = RMA_LOCK, .flags = exclusive ? RMA_EXCLUSIVE : 0},
		     NULL, 0);
}

static void
return_lock(struct user *u, bool exclusive)
{
	if (u->target == u->n->end->rank)
		lmpi_exposed_return(&u->x, exclusive);
	else
		tell(u, u->target,
		     (struct rma_packet){.kind = RMA_UNLOCK,
					 .flags = exclusive ? RMA_EXCLUSIVE : 0},
		     NULL, 0);
	u->deed = IDLE;
}

/* The own lock is waited for; behind that of another process operations follow at once. */
static bool
is_own_asked(const struct user *u)
{
	return u->target == u->n->end->rank && !u->granted;
}

static void
do_guards(struct user *u)
{
	struct windows *all = running;
	uint32_t *inside = &all->inside[u->target];

	switch (u->step) {
	case 0:
		ask_lock(u, true);
		break;
	case 1:
		if (is_own_asked(u))
			return;
		operate(u, RMA_GET, AT(guarded), NULL, sizeof u->seen);
		break;
	case 2:
		if (!u->granted)
			return;
		INVARIANT(sim_of(u), RESULT, *inside == 0,
			  "ranks %u and %u hold the lock of rank %u", u->n->end->rank, *inside - 1,
			  u->target);
		*inside = u->n->end->rank + 1;
		u->seen = read_word(u) + 1;
		operate(u, RMA_PUT, AT(guarded), &u->seen, sizeof u->seen);
		all->guarded[u->target]++;
		flush_all(u);
		break;
	default:
		*inside = 0;
		return_lock(u, true);
	}
	u->step++;
}

static void
do_reads(struct user *u)
{
	switch (u->step) {
	case 0:
		ask_lock(u, false);
		break;
	case 1:
		if (is_own_asked(u))
			return;
		operate(u, RMA_GET, AT(guarded), NULL, sizeof u->seen);
		break;
	case 2:
		u->seen = read_word(u);
		operate(u, RMA_GET, AT(guarded), NULL, sizeof u->seen);
		break;
	default:
		if (!u->granted)
			return;
		INVARIANT(sim_of(u), RESULT, u->seen == read_word(u),
			  "rank %u: what a shared lock guards changes from %llu to %llu",
			  u->n->end->rank, (unsigned long long)u->seen,
			  (unsigned long long)read_word(u));
		return_lock(u, false);
	}
	u->step++;
}

static void
check_slices(const struct user *u)
{
	const struct windows *all = running;

	for (uint32_t r = 0; r < u->n->e.size; r++)
		INVARIANT(sim_of(u), RESULT,
			  !memcmp(u->mem->slice[r], all->user[r].wrote[u->n->end->rank], SLICE),
			  "rank %u: after a fence something of rank %u is missing", u->n->end->rank,
			  r);
}

/* MPI_Win_fence: all is flushed, then all meet; a second time, so that nobody writes before others
 * have looked. */
static void
do_meets(struct user *u)
{
	struct windows *all = running;
	uint32_t *met = &all->met[2 * u->round];

	switch (u->step) {
	case 0:
		flush_all(u);
		break;
	case 1:
		met[0]++;
		break;
	case 2:
		if (met[0] < u->n->e.size)
			return;
		check_slices(u);
		met[1]++;
		break;
	default:
		if (met[1] < u->n->e.size)
			return;
		u->acts = 0;
		u->deed = ++u->round == ROUNDS ? DONE : IDLE;
	}
	u->step++;
}

static void
begin_deed(struct user *u)
{
	struct windows *all = running;
	struct base_prng *p = &all->t.prng;

	u->step = 0;
	u->target = (uint32_t)base_prng_below(p, u->n->e.size);
	u->deed = u->acts++ == all->acts ? MEETS : (enum deed)between(p, WRITES, READS);
	all->deeds++;
}

static void
act_user(struct enode *n)
{
	struct user *u = user_of(n);

	n->all->current = n;
	if (u->waits || u->acks > 0 || u->deed == DONE)
		return;
	if (u->deed == IDLE)
		begin_deed(u);
	switch (u->deed) {
	case WRITES:
		do_writes(u);
		break;
	case DRAWS:
		do_draws(u);
		break;
	case ADDS:
		do_adds(u);
		break;
	case GUARDS:
		do_guards(u);
		break;
	case READS:
		do_reads(u);
		break;
	case FLUSHES:
		flush_all(u);
		u->deed = IDLE;
		break;
	default:
		do_meets(u);
	}
}

/* ---- a run ---- */

static bool
is_complete(const struct trouble *t, char *rest, size_t len)
{
	const struct windows *all = (const struct windows *)(const void *)t;

	for (uint32_t r = 0; r < t->nodes.w->nend; r++) {
		const struct user *u = &all->user[r];
		if (u->deed == DONE)
			continue;
		if (rest)
			snprintf(rest, len,
				 "rank %u: round %u, deed %d, step %u, %s, %u acks to come", r,
				 u->round, (int)u->deed, u->step,
				 u->waits ? "a result to come" : "no result to come", u->acks);
		return false;
	}
	return true;
}

static const struct trouble_ops ops = {.act = act_user, .complete = is_complete};

static void
make_user(struct windows *all, uint32_t rank)
{
	struct user *u = &all->user[rank];

	u->n = &all->t.nodes.node[rank];
	u->n->e.handler = open_packet;
	u->mem = own_memory(NULL, sizeof *u->mem);
	u->wrote = own_memory(NULL, sizeof *u->wrote * ENODES_MAX);
	u->x = (struct lmpi_exposed){.ops = &exposed_ops,
				     .memory = {.get = own_memory, .put = free_own_memory},
				     .bulks = &u->bulks,
				     .lock = &u->lock,
				     .me = (int)rank,
				     .origin = u->origin};
}

static void
check_parts(const struct windows *all)
{
	for (uint32_t r = 0; r < all->t.nodes.w->nend; r++) {
		const struct layout *mem = all->user[r].mem;
		INVARIANT(all->t.nodes.w->s, RESULT,
			  mem->tickets == all->tickets[r] && mem->guarded == all->guarded[r] &&
				  !memcmp(mem->sums, all->sums[r], sizeof mem->sums),
			  "part of rank %u: %llu of %llu tickets, %llu of %llu guarded, sums %s", r,
			  (unsigned long long)mem->tickets, (unsigned long long)all->tickets[r],
			  (unsigned long long)mem->guarded, (unsigned long long)all->guarded[r],
			  memcmp(mem->sums, all->sums[r], sizeof mem->sums) ? "wrong" : "right");
	}
}

static void
free_user(struct user *u)
{
	lmpi_exposed_drop(&u->x);
	while (u->bulks.n > 0)
		free(u->bulks.spare[--u->bulks.n]);
	free(u->mem);
	free(u->wrote);
}

void
windows_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct windows *all = running = own_memory(NULL, sizeof *all);

	all->user = own_memory(NULL, ENODES_MAX * sizeof *all->user);
	all->t.ops = &ops;
	all->t.immortal = true;
	trouble_begin(&all->t, seed, 0x817d, verbose, &enode_contexts);
	const struct world *w = all->t.nodes.w;
	for (uint32_t r = 0; r < w->nend; r++)
		make_user(all, r);
	all->acts = (uint32_t)between(&all->t.prng, 3, ACTS_MAX);
	trouble_plan(&all->t);
	trouble_run(&all->t);
	if (!w->s->failed)
		check_parts(all);
	snprintf(o->note, sizeof o->note, "%u ranks, %u relays, %u kills, %u deeds", w->nend,
		 w->nrelay, all->t.killed, all->deeds);
	trouble_end(&all->t, o);
	for (uint32_t r = 0; r < ENODES_MAX; r++)
		free_user(&all->user[r]);
	free(all->user);
	free(all);
}
