/* SPDX-License-Identifier: BSD-2-Clause */
/* Revoking, acknowledging, agreeing, shrinking. */
#include <stdlib.h>
#include <string.h>

#include "ft/ft.h"

#include "call.h"
#include "coll.h"
#include "comm.h"
#include "comm_create.h"
#include "engine.h"
#include "meet.h"
#include "others.h"
#include "request.h"
#include "survive.h"

#include "mpi-ext.h"

_Static_assert(MPIX_ERR_PROC_FAILED == LMPI_ERR_PROC_FAILED &&
		       MPIX_ERR_PROC_FAILED_PENDING == LMPI_ERR_PROC_FAILED_PENDING &&
		       MPIX_ERR_REVOKED == LMPI_ERR_REVOKED,
	       "one number for the engine and for programs");

static int
lack_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for a call of mpi-ext.h");
}

/* ---- who belongs to a communicator ---- */

/* The first `most` of its members that have failed, in the order of their failures: *group may be
 * NULL.  Their number. */
static int
count_failed(const struct lmpi_comm *c, int most, struct lmpi_group *group)
{
	const uint32_t *world;
	uint32_t all = lmpi_failures(&world);
	int n = 0;

	for (uint32_t i = 0; i < all && n < most; i++) {
		if (!lmpi_comm_has_member(c, world[i]))
			continue;
		if (group)
			group->world[n] = world[i];
		n++;
	}
	return n;
}

static int
failed_group(const struct lmpi_comm *c, int most, MPI_Group *group)
{
	int n = count_failed(c, most, NULL);
	struct lmpi_group *g = lmpi_group_new(n);

	if (g == NULL)
		return lack_memory();
	(void)count_failed(c, n, g);
	lmpi_group_ready(g);
	*group = lmpi_group_handle(g);
	return MPI_SUCCESS;
}

/* ---- what the engine asks ---- */

static uint32_t
find_member(uint64_t cid, int source)
{
	const struct lmpi_comm *c = lmpi_comm_of_cid(cid);

	if (c == NULL || source < 0 || source >= lmpi_comm_peers(c))
		return UINT32_MAX;
	return lmpi_comm_world_rank(c, source);
}

static bool
has_new_failure(uint64_t cid)
{
	const struct lmpi_comm *c = lmpi_comm_of_cid(cid);

	return c != NULL && count_failed(c, INT32_MAX, NULL) > c->acked;
}

/* Messages inside one side of an inter-communicator have a context of their own. */
static uint64_t
goes_with(uint64_t cid)
{
	const struct lmpi_comm *c = lmpi_comm_of_cid(cid);

	return c != NULL && c->local != NULL ? c->local->cid : cid;
}

static void
lose_member(uint32_t world)
{
	lmpi_comm_lose(world);
	lmpi_coll_lose();
}

void
lmpi_ft_init(void)
{
	static const struct lmpi_comms comms = {find_member, has_new_failure, goes_with,
						lose_member, lmpi_coll_meets};

	lmpi_survive(&comms);
}

/* ---- local calls ---- */

static int
revoke_comm(MPI_Comm comm)
{
	struct lmpi_comm *c;
	uint32_t n = 0, *member;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	member = lmpi_comm_members(c, &n);
	if (member == NULL)
		return lack_memory();
	lmpi_revoke(c->cid, member, n);
	free(member);
	return MPI_SUCCESS;
}

static int
ask_revoked(MPI_Comm comm, int *flag)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*flag = lmpi_revoked(c->cid);
	return rc;
}

static int
ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc)
		return rc;
	int n = count_failed(c, num_to_ack < 0 ? 0 : num_to_ack, NULL);
	if (n > c->acked) {
		c->acked = n;
		lmpi_acked();
	}
	*num_acked = c->acked;
	return MPI_SUCCESS;
}

static int
get_failed(MPI_Comm comm, MPI_Group *group)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		lmpi_poke(); /* who asks again and again hears of what is new */
	return rc ? rc : failed_group(c, INT32_MAX, group);
}

static int
get_acked(MPI_Comm comm, MPI_Group *group)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : failed_group(c, c->acked, group);
}

/* ---- agreements ---- */

struct agreement {
	struct lmpi_comm *comm;
	struct lmpi_request *request; /* NULL: a blocking call waits for done */
	bool done;
	int rc;
	int *flag;	   /* agree_now */
	MPI_Comm *newcomm; /* shrink */
};

static uint32_t
lowest_of(const struct lmpi_group *g)
{
	uint32_t first = g->world[0];

	for (int i = 1; i < g->size; i++)
		if (lmpi_proc_before(g->world[i], first))
			first = g->world[i];
	return first;
}

/* 0 or 1: which side of an inter-communicator this is, the same in all its processes. */
static int
own_side(const struct lmpi_comm *c)
{
	return c->remote != NULL && lmpi_proc_before(lowest_of(c->remote), lowest_of(c->group));
}

/* Those of g that have not failed; NULL: no memory. */
static struct lmpi_group *
living(const struct lmpi_group *g, const struct ft_result *r)
{
	struct lmpi_group *left = lmpi_group_new(g->size);
	int n = 0;

	if (left == NULL)
		return NULL;
	for (int i = 0; i < g->size; i++) {
		const uint32_t *at =
			bsearch(&g->world[i], r->member, r->n, sizeof(*r->member), lmpi_proc_order);
		if (at && !ft_result_has_failed(r, (uint32_t)(at - r->member)))
			left->world[n++] = g->world[i];
	}
	left->size = n;
	lmpi_group_ready(left);
	return left;
}

static int
make_shrunk(const struct lmpi_comm *c, const struct ft_result *r, MPI_Comm *newcomm)
{
	uint64_t cid[2];
	int rc = lmpi_cid_take_two(r->max_of, cid);
	struct lmpi_group *own = rc ? NULL : living(c->group, r);
	struct lmpi_group *other = own && c->remote ? living(c->remote, r) : NULL;
	struct lmpi_comm *made = NULL;

	if (rc)
		return rc;
	if (own == NULL || (c->remote && other == NULL)) {
		lmpi_group_unref(own);
		return lack_memory();
	}
	if (c->remote) {
		rc = lmpi_comm_new_inter(own, other, cid, c, &made);
	} else {
		made = lmpi_comm_new(own, cid[0], c);
		if (made == NULL) {
			lmpi_group_unref(own);
			rc = lack_memory();
		}
	}
	if (rc == MPI_SUCCESS)
		*newcomm = made->handle;
	return rc;
}

static void
end_agreement(void *arg, const struct ft_result *r)
{
	struct agreement *a = arg;

	if (a->newcomm) {
		a->rc = make_shrunk(a->comm, r, a->newcomm);
	} else {
		int side = own_side(a->comm);
		*a->flag = (int)(uint32_t)r->and_of[a->comm->remote ? 1 - side : 0];
		a->rc = r->unacked ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
	}
	a->done = true;
	if (a->request == NULL)
		return;
	a->request->e.error = a->rc;
	lmpi_comm_unref(a->comm);
	lmpi_request_complete(a->request);
	free(a);
}

static int
begin_agreement(struct agreement *a)
{
	struct lmpi_comm *c = a->comm;
	int side = own_side(c), acked_n = 0;
	uint32_t n = 0, *member = lmpi_comm_members(c, &n);
	bool *acked = member ? calloc(n, sizeof(*acked)) : NULL;
	struct ft_offer o = {.and_of = {UINT64_MAX, UINT64_MAX}, .acked = acked};
	const uint32_t *world;
	uint32_t all = lmpi_failures(&world);

	if (acked == NULL) {
		free(member);
		return lack_memory();
	}
	for (uint32_t i = 0; i < all && acked_n < c->acked; i++) {
		const uint32_t *at =
			bsearch(&world[i], member, n, sizeof(*member), lmpi_proc_order);
		if (at) {
			acked[at - member] = true;
			acked_n++;
		}
	}
	if (a->flag)
		o.and_of[side] = (uint32_t)*a->flag;
	else
		o.max_of = lmpi_cid_offer_two();
	lmpi_agree(c->cid, member, n, &o, end_agreement, a);
	free(acked);
	free(member);
	return MPI_SUCCESS;
}

static int
agree_now(MPI_Comm comm, int *flag, MPI_Comm *newcomm)
{
	struct agreement a = {.flag = flag, .newcomm = newcomm};
	int rc = lmpi_comm_get(comm, &a.comm);

	if (rc == MPI_SUCCESS)
		rc = begin_agreement(&a);
	if (rc)
		return rc;
	lmpi_wait((const volatile bool *)&a.done);
	if (a.rc == MPIX_ERR_PROC_FAILED)
		return lmpi_error(a.rc, "a process of the communicator has failed, and not all "
					"have acknowledged that");
	return a.rc;
}

static int
no_start(struct lmpi_request *r)
{
	(void)r;
	return MPI_SUCCESS;
}

static void
no_release(struct lmpi_request *r)
{
	(void)r;
}

static int
agree_later(MPI_Comm comm, int *flag, MPI_Comm *newcomm, MPI_Request *request)
{
	static const struct lmpi_request_ops ops = {no_start, no_release};
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);
	struct agreement *a = rc ? NULL : calloc(1, sizeof(*a));
	struct lmpi_request *r = a ? lmpi_request_new(LMPI_RQ_COLL, c, NULL) : NULL;

	if (rc)
		return rc;
	if (r == NULL) {
		free(a);
		return lack_memory();
	}
	*a = (struct agreement){.comm = c, .flag = flag, .newcomm = newcomm, .request = r};
	r->ops = &ops;
	r->active = true;
	lmpi_comm_ref(c);
	*request = lmpi_request_handle(r);
	rc = begin_agreement(a);
	if (rc) {
		lmpi_comm_unref(c);
		lmpi_request_free(r);
		free(a);
		*request = MPI_REQUEST_NULL;
	}
	return rc;
}

/* ---- entry points ---- */

#define ENTRY(name, params, call_)                                    \
	LMPI_EXPORT int P##name params                                \
	{                                                             \
		struct lmpi_call call;                                \
		lmpi_enter(&call, #name, LMPI_ON_COMM, comm);         \
		if (!lmpi_running())                                  \
			return lmpi_leave(&call, lmpi_not_running()); \
		lmpi_last_words_review(true);                         \
		return lmpi_leave(&call, call_);                      \
	}                                                             \
	LMPI_EXPORT int name params LMPI_ALIAS("P" #name);

ENTRY(MPIX_Comm_revoke, (MPI_Comm comm), revoke_comm(comm))
ENTRY(MPIX_Comm_is_revoked, (MPI_Comm comm, int *flag), ask_revoked(comm, flag))
ENTRY(MPIX_Comm_get_failed, (MPI_Comm comm, MPI_Group *failedgrp), get_failed(comm, failedgrp))
ENTRY(MPIX_Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int *num_acked),
      ack_failed(comm, num_to_ack, num_acked))
ENTRY(MPIX_Comm_agree, (MPI_Comm comm, int *flag), agree_now(comm, flag, NULL))
ENTRY(MPIX_Comm_iagree, (MPI_Comm comm, int *flag, MPI_Request *request),
      agree_later(comm, flag, NULL, request))
ENTRY(MPIX_Comm_shrink, (MPI_Comm comm, MPI_Comm *newcomm), agree_now(comm, NULL, newcomm))
ENTRY(MPIX_Comm_ishrink, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request),
      agree_later(comm, NULL, newcomm, request))
ENTRY(MPIX_Comm_failure_ack, (MPI_Comm comm), ack_failed(comm, INT32_MAX, &(int){0}))
ENTRY(MPIX_Comm_failure_get_acked, (MPI_Comm comm, MPI_Group *failedgrp),
      get_acked(comm, failedgrp))
ENTRY(MPI_Comm_revoke, (MPI_Comm comm), revoke_comm(comm))
ENTRY(MPI_Comm_is_revoked, (MPI_Comm comm, int *flag), ask_revoked(comm, flag))
ENTRY(MPI_Comm_get_failed, (MPI_Comm comm, MPI_Group *failedgrp), get_failed(comm, failedgrp))
ENTRY(MPI_Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int *num_acked),
      ack_failed(comm, num_to_ack, num_acked))
