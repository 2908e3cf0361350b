/* SPDX-License-Identifier: BSD-2-Clause */
/* Of a job that does not survive deaths: for tests of the surface without an engine. */
#ifndef LMPI_NO_SURVIVORS_H
#define LMPI_NO_SURVIVORS_H

#include "engine.h"

void
lmpi_survive(const struct lmpi_comms *comms)
{
	(void)comms;
}

bool
lmpi_survives(void)
{
	return false;
}

void
lmpi_last_words_over(void)
{
}

void
lmpi_last_words_review(bool all)
{
	(void)all;
}

uint32_t
lmpi_failures(const uint32_t **world)
{
	(void)world;
	return 0;
}

void
lmpi_failures_join(uint64_t cid, const uint32_t *member, uint32_t n)
{
	(void)cid, (void)member, (void)n;
}

void
lmpi_failures_leave(uint64_t cid)
{
	(void)cid;
}

void
lmpi_acked(void)
{
}

bool
lmpi_pending(const struct lmpi_req *req)
{
	(void)req;
	return false;
}

bool
lmpi_revoked(uint64_t cid)
{
	(void)cid;
	return false;
}

void
lmpi_revoke(uint64_t cid, const uint32_t *member, uint32_t n)
{
	(void)cid, (void)member, (void)n;
}

void
lmpi_agree(uint64_t cid, const uint32_t *member, uint32_t n, const struct ft_offer *offer,
	   void (*then)(void *arg, const struct ft_result *r), void *arg)
{
	(void)cid, (void)member, (void)n, (void)offer, (void)then, (void)arg;
}

void
lmpi_wait_recv(struct lmpi_req *req)
{
	lmpi_wait(&req->done);
}

uint64_t
lmpi_meet(uint64_t mine)
{
	return mine;
}

bool
lmpi_meet_members(uint64_t cid, const uint32_t *member, uint32_t n)
{
	(void)cid, (void)member, (void)n;
	return false;
}

bool
lmpi_has_failed(uint32_t world)
{
	(void)world;
	return false;
}

bool
lmpi_is_gone(uint32_t world)
{
	(void)world;
	return false;
}

void
lmpi_void(uint64_t cid)
{
	(void)cid;
}

int
lmpi_probe_error(int source, uint64_t cid)
{
	(void)source, (void)cid;
	return 0;
}

#endif
