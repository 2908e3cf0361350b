/* SPDX-License-Identifier: BSD-2-Clause */
/* Two groups of processes meet at a port. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "comm_create.h"
#include "dyn.h"
#include "engine.h"
#include "impl.h"
#include "info.h"
#include "introduce.h"
#include "others.h"

/* Context ids of communicators between jobs: drawn by the side that accepts, above those that are
 * agreed on within jobs, which count from 0. */
#define CID_DRAWN (UINT64_C(1) << 39)

/* What roots tell their own of what the other root has said. */
struct greeting {
	int64_t rc;
	struct lmpi_greeting said;
};

static uint64_t
draw_cid(void)
{
	return CID_DRAWN | (lmpi_draw() & (CID_DRAWN - 1) & ~UINT64_C(1));
}

static int
end_of_talk(int rc, const char *why)
{
	if (rc == LMPI_TALK_GONE)
		return LMPI_INTRODUCE_GONE;
	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}

static int
swap_over_talk(void *arg, const char *phase, const void *mine, size_t len, void *theirs,
	       size_t their_len)
{
	char why[LMPI_WHY];
	int rc = lmpi_talk_swap(arg, phase, mine, len, theirs, their_len, why);

	return end_of_talk(rc, why);
}

static int
decide_over_talk(void *arg, const char *phase, uint64_t mine, uint64_t *theirs)
{
	char why[LMPI_WHY];
	int rc = lmpi_talk_decide(arg, phase, mine, theirs, why);

	return end_of_talk(rc, why);
}

/* The root's part: the other root at the other end of *talk.  cards: of who connects. */
static int
greet_root(const struct lmpi_comm *c, enum lmpi_meet_how how, const char *port, double seconds,
	   struct lmpi_talk *talk, struct lmpi_cards *cards, struct lmpi_greeting *theirs)
{
	struct lmpi_greeting mine = {.size = (uint64_t)c->size, .cid = {draw_cid(), draw_cid()}};
	char why[LMPI_WHY];
	int rc = lmpi_meet_ready(why);

	if (rc == MPI_SUCCESS)
		rc = how == LMPI_MEET_ACCEPT
			     ? lmpi_port_accept(port, seconds, talk, &mine, theirs, why)
			     : lmpi_port_connect(port, seconds, talk, &mine, cards->words,
						 cards->len, theirs, why);
	if (rc) {
		lmpi_talk_end(talk);
		return lmpi_error(rc, "%s", why);
	}
	if (theirs->size == 0 || theirs->size > LMPI_CARD_NUMBERS)
		rc = lmpi_error(MPI_ERR_OTHER, "the other side tells of %llu processes",
				(unsigned long long)theirs->size);
	if (rc)
		lmpi_talk_end(talk);
	if (how == LMPI_MEET_ACCEPT)
		memcpy(theirs->cid, mine.cid, sizeof(mine.cid));
	cards->said = talk->say.ahead;
	return rc;
}

/* LMPI_INTRODUCE_GONE: who came had given up. */
static int
meet_once(struct lmpi_comm *c, int root, enum lmpi_meet_how how, const char *port, double seconds,
	  struct greeting *g, struct lmpi_group **remote)
{
	struct lmpi_cards cards = {0};
	struct lmpi_talk talk = LMPI_NO_TALK;
	int rc = MPI_SUCCESS;

	if (how == LMPI_MEET_CONNECT)
		rc = lmpi_cards_gather(c, &cards);
	if (rc == MPI_SUCCESS && c->rank == root)
		g->rc = greet_root(c, how, port, seconds, &talk, &cards, &g->said);
	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_bcast_bytes(c, g, sizeof(*g), root);
	if (rc == MPI_SUCCESS && g->rc != MPI_SUCCESS) {
		rc = (int)g->rc;
		if (c->rank != root)
			(void)lmpi_error(rc, "the root, rank %d, could not %s", root,
					 how == LMPI_MEET_ACCEPT ? "accept" : "connect");
	} else if (rc == MPI_SUCCESS) {
		rc = lmpi_introduce(c, root,
				    &(struct lmpi_leaders){swap_over_talk, decide_over_talk, &talk},
				    (uint32_t)g->said.size, &cards, remote);
	}
	lmpi_talk_end(&talk);
	lmpi_cards_free(&cards);
	return rc;
}

int
lmpi_meet_others(struct lmpi_comm *c, int root, enum lmpi_meet_how how, const char *port,
		 double seconds, struct lmpi_comm **made)
{
	struct greeting g = {0};
	struct lmpi_group *remote = NULL;
	double began = lmpi_wtime(), left = seconds;
	char why[LMPI_WHY];
	int rc;

	if (root < 0 || root >= c->size)
		return lmpi_error(MPI_ERR_ROOT, "root %d is not a rank of the communicator", root);
	/* The way to a relay takes time, and so does waiting for somebody.  Errors are said later.
	 */
	if (how == LMPI_MEET_ACCEPT)
		(void)lmpi_meet_ready(why);
	while ((rc = meet_once(c, root, how, port, left, &g, &remote)) == LMPI_INTRODUCE_GONE)
		if (seconds >= 0)
			left = lmpi_wtime() - began < seconds ? seconds - (lmpi_wtime() - began)
							      : 0;
	if (rc)
		return rc;
	lmpi_group_ref(c->group);
	rc = lmpi_comm_new_inter(c->group, remote, g.said.cid, c, made);
	if (rc == MPI_SUCCESS && !lmpi_link_add(*made))
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for what is connected");
	return rc;
}

/* ---- the calls ---- */

int
lmpi_meet_limit(MPI_Info info, double *seconds)
{
	struct lmpi_info *i;
	int rc = lmpi_info_arg(info, &i);
	const char *text = rc == MPI_SUCCESS && i != NULL ? lmpi_info_value(i, "timeout") : NULL;
	char *end;

	if (rc || text == NULL)
		return rc;
	*seconds = strtod(text, &end);
	if (end == text || *end != '\0' || !(*seconds >= 0 && *seconds <= 1e9))
		return lmpi_error(MPI_ERR_INFO_VALUE,
				  "info key \"timeout\" is \"%s\", not a number of seconds, as 2.5",
				  text);
	return MPI_SUCCESS;
}

static int
meet_by_call(const char *port, MPI_Info info, int root, MPI_Comm comm, enum lmpi_meet_how how,
	     MPI_Comm *newcomm)
{
	struct lmpi_comm *c, *made = NULL;
	double seconds = LMPI_FOR_EVER;
	int rc = lmpi_comm_get_intra(comm, &c);

	*newcomm = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS && c->rank == root)
		rc = lmpi_meet_limit(info, &seconds);
	if (rc == MPI_SUCCESS)
		rc = lmpi_meet_others(c, root, how, port, seconds, &made);
	if (rc == MPI_SUCCESS)
		*newcomm = made->handle;
	return rc;
}

int
impl_Comm_accept(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm)
{
	return meet_by_call(port_name, info, root, comm, LMPI_MEET_ACCEPT, newcomm);
}

int
impl_Comm_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm)
{
	return meet_by_call(port_name, info, root, comm, LMPI_MEET_CONNECT, newcomm);
}

int
impl_Open_port(MPI_Info info, char *port_name)
{
	char why[LMPI_WHY];
	int rc = lmpi_meet_ready(why);

	(void)info;
	if (rc == MPI_SUCCESS)
		rc = lmpi_port_open(port_name, MPI_MAX_PORT_NAME, why);
	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}

int
impl_Close_port(const char *port_name)
{
	char why[LMPI_WHY];
	int rc = lmpi_port_close(port_name, why);

	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}
