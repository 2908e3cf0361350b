/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of what is done to a part of a window, and the queue of its lock. */
#include "mpi/window.h"

#include "canary.h"
#include "mpi/lock_word.h"

#include <string.h>

/* One that has to wait: for its own bulk data, or for what came before it. */
struct lmpi_later {
	struct lmpi_req req; /* first: of the bulk data */
	struct lmpi_later *next;
	struct lmpi_job job;
	uint64_t turn; /* of the last bulk put before it */
	uint64_t weight;
	bool ready;
	bool lost;  /* who sent it has failed before its bulk data came */
	bool piece; /* bulk is one of lmpi_bulks */
	void *bulk;
	_Alignas(16) char copy[];
};

/* One that came while its origin waited for the lock. */
struct lmpi_kept {
	struct lmpi_kept *next;
	struct lmpi_job job;
	_Alignas(16) char copy[];
};

/* A bulk put that is arriving. */
struct lmpi_filling {
	struct lmpi_req req; /* first */
	struct lmpi_filling *prev, *next;
	uint64_t turn, weight;
	struct lmpi_job job;
	void *temp; /* packed, to be stored then; NULL: it goes to the window by itself */
	_Alignas(16) char copy[];
};

_Static_assert(sizeof(struct lmpi_later) <= RMA_ENTRY && sizeof(struct lmpi_filling) <= RMA_ENTRY,
	       "an entry weighs what it takes");

struct lmpi_waiter {
	struct lmpi_waiter *next;
	int rank;
	bool exclusive;
};

static void *
take_room(const struct lmpi_exposed *x, uint64_t bytes)
{
	return x->memory.get(x->memory.user, bytes > 0 ? bytes : 1);
}

static void
give_room(const struct lmpi_exposed *x, void *p)
{
	if (p != NULL)
		x->memory.put(x->memory.user, p);
}

static void *
take_bulk(const struct lmpi_exposed *x, uint64_t bytes, bool *piece)
{
	struct lmpi_bulks *b = x->bulks;

	*piece = bytes <= RMA_PIECE && (b->n > 0 || b->made < LMPI_BULKS_MAX);
	if (!*piece)
		return take_room(x, bytes);
	if (b->n > 0)
		return b->spare[--b->n];
	b->made++;
	return take_room(x, RMA_PIECE);
}

static void
give_bulk(const struct lmpi_exposed *x, void *bulk, bool piece)
{
	if (piece)
		x->bulks->spare[x->bulks->n++] = bulk;
	else
		give_room(x, bulk);
}

static struct lmpi_origin *
origin_of(const struct lmpi_job *j)
{
	return &j->x->origin[j->origin];
}

/* ---- what waits */

/* data: has it no other place than beside its packet? */
static uint64_t
weigh_job(const struct lmpi_job *j, bool data)
{
	uint64_t bytes = sizeof(j->p) + rma_padded(j->p.layout) + RMA_ENTRY;
	uint64_t most = j->x->room.behind;

	if (j->p.data_tag == 0)
		bytes += j->bytes;
	else if (data)
		bytes += j->p.bytes; /* INT64_MAX at most */
	return bytes < most ? bytes : most;
}

/* Whoever lets more wait than its FLUSH allows would fill this process's memory. */
static uint64_t
take_place(const struct lmpi_job *j, bool data)
{
	struct lmpi_origin *o = origin_of(j);
	uint64_t weight = weigh_job(j, data);

	if (o->behind + weight > RMA_BEHIND_MOST(&j->x->room) && !LMPI_BUG(WIN_FULL))
		j->x->ops->malformed(j, "more waits than a target has room for");
	o->behind += weight;
	return weight;
}

/* ---- bulk data */

static void
post_bulk(const struct lmpi_job *j, struct lmpi_req *req, void *into, uint64_t cap)
{
	j->x->coming++;
	j->x->ops->receive(j->x, req, into, cap, j->origin, j->p.data_tag);
}

/* What was announced has come.  False: its sender has failed.  Whoever sends less or more than it
 * has announced would have the rest taken from memory that holds something else. */
static bool
has_come(const struct lmpi_job *j, const struct lmpi_req *req, int error)
{
	j->x->coming--;
	if (req->error == LMPI_ERR_PROC_FAILED)
		return LMPI_BUG(WIN_GARBAGE);
	if (req->error != error || req->bytes != j->p.bytes)
		j->x->ops->malformed(j, "bulk data of another length than was announced");
	return true;
}

/* ---- the order of what must keep it */

/* Only what was granted to it: the lock may be somebody else's. */
static void
return_granted(const struct lmpi_job *j)
{
	struct lmpi_origin *o = origin_of(j);
	bool exclusive = j->p.flags & RMA_EXCLUSIVE;

	if (exclusive ? !o->exclusive : o->shared == 0)
		j->x->ops->malformed(j, "a lock is given back that was not granted");
	if (exclusive)
		o->exclusive = false;
	else
		o->shared--;
	lmpi_exposed_return(j->x, exclusive);
}

static void
execute_job(const struct lmpi_job *j)
{
	struct lmpi_origin *o = origin_of(j);
	int rc;

	switch (j->p.kind) {
	case RMA_GET:
	case RMA_ACC:
	case RMA_GET_ACC:
	case RMA_CAS:
		rc = j->x->ops->perform(j);
		if (rc)
			o->fault = rc;
		break;
	case RMA_FLUSH:
		rc = o->fault;
		o->fault = LMPI_OK;
		j->x->ops->note(j->x, j->origin, RMA_ACK, rc);
		break;
	case RMA_UNLOCK:
		return_granted(j);
		break;
	case RMA_COMPLETE:
		o->completed++;
		break;
	default:
		j->x->ops->malformed(j, "of a kind that there is not");
	}
}

/* Has each bulk put up to that turn arrived?  Those that began later are not waited for. */
static bool
has_filled(const struct lmpi_origin *o, uint64_t turn)
{
	return o->filling_first == NULL || o->filling_first->turn > turn || LMPI_BUG(WIN_HASTY);
}

static bool
has_result(const struct lmpi_job *j)
{
	return j->p.kind == RMA_GET || j->p.kind == RMA_GET_ACC || j->p.kind == RMA_CAS;
}

/* Its result would lie beside too many that the origin has not taken. */
static bool
owes_much(const struct lmpi_job *j)
{
	return origin_of(j)->owing > j->x->room.results && has_result(j) && !LMPI_BUG(WIN_RESULTS);
}

static void
drain_later(struct lmpi_origin *o)
{
	struct lmpi_later *l;

	o->held = false;
	while ((l = o->later_first) != NULL && l->ready && has_filled(o, l->turn)) {
		struct lmpi_exposed *x = l->job.x;

		if (owes_much(&l->job)) {
			o->held = true;
			return;
		}
		o->later_first = l->next;
		if (l->next == NULL)
			o->later_last = NULL;
		o->behind -= l->weight;
		if (!l->lost)
			execute_job(&l->job);
		give_bulk(x, l->bulk, l->piece);
		give_room(x, l);
	}
}

static void
end_bulk(struct lmpi_req *req)
{
	struct lmpi_later *l = (struct lmpi_later *)(void *)req;

	l->lost = !has_come(&l->job, req, l->job.outside ? LMPI_ERR_TRUNCATE : LMPI_OK);
	l->ready = true;
	drain_later(origin_of(&l->job));
}

/* A copy of what the packet holds, for the memory it came in goes. */
static void
copy_job(struct lmpi_job *j, char *copy)
{
	if (j->p.layout > 0)
		memcpy(copy, j->layout, j->p.layout);
	if (j->bytes > 0)
		memcpy(copy + rma_padded(j->p.layout), j->data, j->bytes);
	j->layout = copy;
	j->data = copy + rma_padded(j->p.layout);
}

static void
queue_job(const struct lmpi_job *j)
{
	struct lmpi_origin *o = origin_of(j);
	struct lmpi_later *l;

	if ((o->later_first == NULL && j->p.data_tag == 0 && has_filled(o, o->turn) &&
	     !owes_much(j)) ||
	    (LMPI_BUG(WIN_COMPLETE) && j->p.kind == RMA_COMPLETE)) {
		execute_job(j);
		return;
	}
	uint64_t weight = take_place(j, true);
	l = take_room(j->x, sizeof(*l) + rma_padded(j->p.layout) + j->bytes);
	*l = (struct lmpi_later){
		.job = *j, .turn = o->turn, .weight = weight, .ready = j->p.data_tag == 0};
	copy_job(&l->job, l->copy);
	if (o->later_last != NULL)
		o->later_last->next = l;
	else
		o->later_first = l;
	o->later_last = l;
	if (l->ready) {
		if (o->later_first == l)
			drain_later(o);
		return;
	}
	/* Whatever length it says: what goes nowhere takes no memory, and stays outside. */
	void *into;
	l->job.outside = j->x->ops->place(j, &into) != LMPI_OK;
	uint64_t cap = l->job.outside ? 0 : j->p.bytes;
	l->bulk = l->job.outside ? NULL : take_bulk(j->x, cap, &l->piece);
	l->job.data = l->bulk;
	l->job.bytes = j->p.bytes;
	l->req.on_done = end_bulk;
	post_bulk(j, &l->req, l->bulk, cap);
}

/* ---- puts */

static void
end_filling(struct lmpi_req *req)
{
	struct lmpi_filling *f = (struct lmpi_filling *)(void *)req;
	struct lmpi_origin *o = origin_of(&f->job);
	const struct lmpi_exposed *x = f->job.x;

	if (has_come(&f->job, req, f->job.outside ? LMPI_ERR_TRUNCATE : LMPI_OK) && f->temp != NULL)
		(void)x->ops->put(&f->job, f->temp);
	*(f->prev ? &f->prev->next : &o->filling_first) = f->next;
	*(f->next ? &f->next->prev : &o->filling_last) = f->prev;
	o->behind -= f->weight;
	give_room(x, f->temp);
	give_room(x, f);
	drain_later(o);
}

static void
fill_put(const struct lmpi_job *j)
{
	struct lmpi_origin *o = origin_of(j);
	void *into = NULL;
	int rc = j->x->ops->place(j, &into);
	uint64_t weight = take_place(j, rc == LMPI_OK && into == NULL);
	struct lmpi_filling *f = take_room(j->x, sizeof(*f) + rma_padded(j->p.layout));

	*f = (struct lmpi_filling){
		.job = *j, .prev = o->filling_last, .turn = ++o->turn, .weight = weight};
	f->job.outside = rc != LMPI_OK;
	copy_job(&f->job, f->copy);
	if (rc)
		o->fault = rc;
	else if (into == NULL)
		into = f->temp = take_room(j->x, j->p.bytes);
	f->req.on_done = end_filling;
	*(f->prev ? &f->prev->next : &o->filling_first) = f;
	o->filling_last = f;
	post_bulk(j, &f->req, into, rc ? 0 : j->p.bytes);
}

static void
do_put(const struct lmpi_job *j)
{
	int rc;

	if (j->p.data_tag != 0) {
		fill_put(j);
		return;
	}
	if (j->bytes != j->p.bytes)
		j->x->ops->malformed(j, "data of another length than it says");
	rc = j->x->ops->put(j, j->data);
	if (rc)
		origin_of(j)->fault = rc;
}

/* ---- arrival */

static void
act_job(const struct lmpi_job *j)
{
	switch (j->p.kind) {
	case RMA_PUT:
		do_put(j);
		break;
	case RMA_REPLY:
	case RMA_ACK:
	case RMA_GRANT:
	case RMA_POST:
		j->x->ops->hear(j);
		break;
	case RMA_LOCK:
		lmpi_exposed_ask(j->x, j->origin, j->p.flags & RMA_EXCLUSIVE);
		break;
	case RMA_KICK:
		lmpi_exposed_serve(j->x);
		break;
	default:
		queue_job(j);
	}
}

/* Operations, and what begins and ends epochs: in the order they were sent. */
static bool
is_behind_lock(const struct lmpi_job *j)
{
	const struct lmpi_origin *o = origin_of(j);

	switch (j->p.kind) {
	case RMA_REPLY:
	case RMA_ACK:
	case RMA_GRANT:
	case RMA_KICK:
	case RMA_POST:
		return false;
	default:
		return (o->waits && !LMPI_BUG(WIN_UNLOCKED)) || o->kept_first != NULL;
	}
}

static bool
is_operation(const struct lmpi_job *j)
{
	switch (j->p.kind) {
	case RMA_PUT:
	case RMA_GET:
	case RMA_ACC:
	case RMA_GET_ACC:
	case RMA_CAS:
		return true;
	default:
		return false;
	}
}

/* While it waits for the lock an origin sends operations, up to room.early, and a FLUSH behind
 * some of them.  Whoever sends more would fill this process's memory. */
static bool
may_be_kept(const struct lmpi_origin *o, const struct lmpi_job *j)
{
	if (!o->waits)
		return true;
	if (is_operation(j))
		return o->early <= j->x->room.early;
	return j->p.kind == RMA_FLUSH &&
	       (o->kept_last == NULL || o->kept_last->job.p.kind != RMA_FLUSH);
}

static void
keep_job(const struct lmpi_job *j)
{
	struct lmpi_origin *o = origin_of(j);
	uint64_t tail = rma_padded(j->p.layout) + j->bytes;
	struct lmpi_kept *k;

	if (!may_be_kept(o, j))
		j->x->ops->malformed(j, "more behind a LOCK than an origin sends before it has it");
	if (is_operation(j))
		o->early += sizeof(j->p) + tail;
	k = take_room(j->x, sizeof(*k) + tail);
	*k = (struct lmpi_kept){.job = *j};
	copy_job(&k->job, k->copy);
	*(o->kept_last ? &o->kept_last->next : &o->kept_first) = k;
	o->kept_last = k;
}

static void
do_kept(struct lmpi_exposed *x, int origin)
{
	struct lmpi_origin *o = &x->origin[origin];
	struct lmpi_kept *k;

	/* It stays the first while it is done, so that nothing passes it; it may be another
	 * LOCK. */
	while (!o->waits && (k = o->kept_first) != NULL) {
		act_job(&k->job);
		o->kept_first = k->next;
		if (k->next == NULL)
			o->kept_last = NULL;
		give_room(x, k);
	}
}

/* Data goes beside a packet only if it has none, and a result if it does not fit into its REPLY. */
static bool
are_tags_right(const struct lmpi_job *j)
{
	bool get = j->p.kind == RMA_GET || j->p.kind == RMA_GET_ACC;
	bool take = j->p.kind == RMA_PUT || j->p.kind == RMA_ACC || j->p.kind == RMA_GET_ACC;

	return (j->p.data_tag == 0 || (take && j->bytes == 0)) &&
	       (j->p.reply_tag != 0) == (get && j->p.bytes > RMA_INLINE_MAX);
}

bool
lmpi_job_read(struct lmpi_job *j, const void *data, uint64_t len)
{
	*j = (struct lmpi_job){0};
	if (len < sizeof(j->p))
		return false;
	memcpy(&j->p, data, sizeof(j->p));
	len -= sizeof(j->p);
	if (j->p.kind == 0 || j->p.kind >= RMA_KINDS || j->p.bytes > INT64_MAX ||
	    rma_padded(j->p.layout) > len || j->p.layout % sizeof(uint64_t) != 0 ||
	    j->p.data_tag > INT32_MAX || j->p.reply_tag > INT32_MAX)
		return false;
	j->layout = (const char *)data + sizeof(j->p);
	j->data = j->layout + rma_padded(j->p.layout);
	j->bytes = len - rma_padded(j->p.layout);
	return are_tags_right(j);
}

void
lmpi_exposed_arrive(const struct lmpi_job *j)
{
	if (is_behind_lock(j))
		keep_job(j);
	else
		act_job(j);
}

void
lmpi_exposed_paid(struct lmpi_exposed *x, int origin, uint64_t bytes)
{
	struct lmpi_origin *o = &x->origin[origin];

	o->owing -= bytes;
	x->owing -= bytes;
	if (o->held && o->owing <= x->room.results)
		drain_later(o);
}

/* ---- the lock */

static void
grant_lock(struct lmpi_exposed *x, int rank, bool exclusive)
{
	struct lmpi_origin *o = &x->origin[rank];

	if (rank == x->me) {
		x->ops->granted(x);
		return;
	}
	o->waits = false;
	if (exclusive)
		o->exclusive = true;
	else
		o->shared++;
	x->ops->note(x, rank, RMA_GRANT, LMPI_OK);
	do_kept(x, rank);
}

void
lmpi_exposed_serve(struct lmpi_exposed *x)
{
	struct lmpi_waiter *w;

	if (x->serving || x->waiters == NULL)
		return; /* what was kept gave the lock back: the loop below sees it */
	x->serving = true;
	while ((w = x->waiters) != NULL &&
	       (lock_word_try(x->lock, w->exclusive && !LMPI_BUG(WIN_SHARED), true) ||
		x->ops->is_void(x))) {
		struct lmpi_waiter first = *w;

		x->waiters = first.next;
		if (first.next == NULL) {
			x->waiters_last = NULL;
			lock_word_nobody_waits(x->lock);
		}
		give_room(x, w);
		grant_lock(x, first.rank, first.exclusive);
	}
	x->serving = false;
}

void
lmpi_exposed_ask(struct lmpi_exposed *x, int rank, bool exclusive)
{
	struct lmpi_waiter *w = take_room(x, sizeof(*w));

	*w = (struct lmpi_waiter){NULL, rank, exclusive};
	*(x->waiters_last ? &x->waiters_last->next : &x->waiters) = w;
	x->waiters_last = w;
	x->origin[rank].waits = rank != x->me;
	x->origin[rank].early = 0;
	/* The holder that gives it up from now on tells me; one that did so just before has
	 * left it free. */
	lock_word_wait(x->lock);
	lmpi_exposed_serve(x);
}

void
lmpi_exposed_return(struct lmpi_exposed *x, bool exclusive)
{
	if (lock_word_drop(x->lock, exclusive && !LMPI_BUG(WIN_SHARED)))
		lmpi_exposed_serve(x);
}

static void
drop_kept(const struct lmpi_exposed *x, struct lmpi_origin *o)
{
	struct lmpi_kept *k;

	while ((k = o->kept_first) != NULL) {
		o->kept_first = k->next;
		give_room(x, k);
	}
	o->kept_last = NULL;
}

void
lmpi_exposed_drop(struct lmpi_exposed *x)
{
	if (x->coming > 0) /* into memory that is somebody else's then */
		x->ops->malformed(NULL, "bulk data was announced and has not come");
	for (struct lmpi_waiter *w = x->waiters, *next; w != NULL; w = next) {
		next = w->next; /* whoever still asks for a lock is at fault */
		drop_kept(x, &x->origin[w->rank]);
		give_room(x, w);
	}
	x->waiters = x->waiters_last = NULL;
}
