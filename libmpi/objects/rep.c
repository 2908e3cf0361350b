/* SPDX-License-Identifier: BSD-2-Clause */
#include "rep.h"

#include <string.h>

#include "call.h"

/* In struct lmpi_group: the set has been found out. */
#define KNOWN 0x80u
_Static_assert(LMPI_REP_BIT(LMPI_REPS) <= KNOWN, "the bit is free");

unsigned
lmpi_group_reps(struct lmpi_group *group)
{
	if (!lmpi_world.any_foreign)
		return 0;
	if (group->reps == 0) {
		unsigned set = KNOWN;

		for (int i = 0; i < group->size; i++) {
			const struct lmpi_client *c =
				&lmpi_world.clients[lmpi_world.proc[group->world[i]].client];

			if (c->foreign)
				set |= LMPI_REP_BIT(c->rep);
		}
		group->reps = (uint8_t)set;
	}
	return group->reps & ~KNOWN;
}

/* What to do about it; the switch is for what goes to another MPI, not for files and buffers. */
static const char *
advice(const struct lmpi_unfit *u)
{
	const struct lmpi_call *call = lmpi_call_top;
	bool stays = call != NULL && (call->kind == LMPI_ON_FILE ||
				      strncmp(call->fn, "MPI_Pack", strlen("MPI_Pack")) == 0);

	if (u->bytes != 4)
		return "";
	if (u->is_unsigned)
		return stays ? "; use MPI_UNSIGNED_LONG_LONG"
			     : "; use MPI_UNSIGNED_LONG_LONG, or the peer switch long8 if the "
			       "other MPI can do it";
	return stays ? "; use MPI_LONG_LONG"
		     : "; use MPI_LONG_LONG, or the peer switch long8 if the other MPI can do it";
}

int
lmpi_rep_pack_foreign(const struct lmpi_type *type, const void *buf, int64_t count,
		      enum lmpi_rep rep, void *out)
{
	struct lmpi_unfit u;

	if (lmpi_external32_pack(type, buf, count, rep, out, &u))
		return MPI_SUCCESS;
	if (u.is_unsigned)
		return lmpi_error(MPI_ERR_CONVERSION,
				  "the %s value %llu does not fit the %d bytes external32 has for "
				  "it%s",
				  u.type, (unsigned long long)u.value, u.bytes, advice(&u));
	return lmpi_error(MPI_ERR_CONVERSION,
			  "the %s value %lld does not fit the %d bytes external32 has for it%s",
			  u.type, (long long)(int64_t)u.value, u.bytes, advice(&u));
}

/* Two representations give the same bytes for a type. */
static bool
same_form(const struct lmpi_type *t, enum lmpi_rep a, enum lmpi_rep b)
{
	if (a == b || (lmpi_external32_as_is(t, a) && lmpi_external32_as_is(t, b)))
		return true;
	return a != LMPI_REP_NATIVE && b != LMPI_REP_NATIVE && t->rep[a].size == t->rep[b].size;
}

int
lmpi_comm_pack_rep(const struct lmpi_comm *comm, const struct lmpi_type *type, enum lmpi_rep *rep)
{
	unsigned set;
	bool any = false;

	*rep = LMPI_REP_NATIVE;
	if (__builtin_expect(!lmpi_world.any_foreign, 1))
		return MPI_SUCCESS;
	set = lmpi_group_reps(comm->group);
	if (comm->remote != NULL)
		set |= lmpi_group_reps(comm->remote);
	for (enum lmpi_rep r = 0; r < LMPI_REPS; r++) {
		if (!(set & LMPI_REP_BIT(r)))
			continue;
		if (any && !same_form(type, *rep, r))
			return lmpi_error(
				MPI_ERR_UNSUPPORTED_DATAREP,
				"the foreign MPIs of this communicator differ in the peer "
				"switches native-payload and long8: there is no packed form "
				"of %s for all of them; pack on a communicator with one of "
				"them, or with MPI_Pack_external",
				type->name[0] ? type->name : "a derived datatype");
		*rep = r;
		any = true;
	}
	return MPI_SUCCESS;
}
