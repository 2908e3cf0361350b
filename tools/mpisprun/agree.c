/* SPDX-License-Identifier: BSD-2-Clause */
/* Who plays which role: lib/sp's node, its own master and only voter.  What it decides is carried
 * out here and in procs.c. */
#include "mpisprun.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS_MAX    (ROLES_MAX + MEMBERS_MAX)
#define POOLS_OFF    UINT64_MAX
#define BEAT_NS	     (200 * BASE_MS_NS)
#define HEARTBEAT_MS 100u

/* ---- what lib/sp asks for ---- */

static void
mail_nobody(void *user, uint32_t to, const void *frame, size_t len)
{
	(void)user, (void)to, (void)frame, (void)len;
}

static void
note_agreed_view(void *user, const struct sp_view *v)
{
	struct run *r = user;

	(void)v;
	r->changed = true;
}

/* There is nobody else who could act for its roles. */
static void
hold_nobody(void *user, bool on)
{
	(void)user, (void)on;
}

/* Processes need not give signs of life here. */
static void
spare_hanging(void *user, uint32_t slot)
{
	(void)user, (void)slot;
}

static void
start_agreed_process(void *user, uint32_t token, uint8_t pool)
{
	procs_start(user, token, pool);
}

static void
hear_agree_event(void *user, const struct sp_event *e)
{
	if (e->kind == SP_EVENT_FULL)
		tell_line(user, "more than %d processes were started", MEMBERS_MAX);
	else if (e->kind == SP_EVENT_FAILING)
		tell_line(user,
			  "processes of %s end soon after they begin: the next one is started in "
			  "%u.%u s",
			  ((struct run *)user)->planned[e->a / 2].name, e->b / 1000,
			  e->b % 1000 / 100);
}

/* What is agreed on lives as long as this process: nothing is kept. */
static bool
keep_nothing(void *user, const void *bytes, size_t len)
{
	(void)user, (void)bytes, (void)len;
	return true;
}

static const struct sp_node_ops ops = {.send = mail_nobody,
				       .view = note_agreed_view,
				       .fence = hold_nobody,
				       .kill = spare_hanging,
				       .start = start_agreed_process,
				       .event = hear_agree_event,
				       .write = keep_nothing,
				       .replace = keep_nothing};

/* ---- begin ---- */

bool
agree_begin(struct run *r, char why[SPX_TEXT_MAX])
{
	static uint16_t unit_of[ROLES_MAX];
	static uint8_t pool_of[ROLES_MAX];
	static struct sp_fact fact[SPX_FACT_FREE];
	char text[QUORUM_WHY_MAX] = "";

	memset(pool_of, SP_POOL_LATER, sizeof pool_of);
	struct sp_node_conf c = {.cluster = 1,
				 .voters = 1,
				 .limits = {ROLES_MAX, SLOTS_MAX, 1, SPX_FACT_FREE},
				 .unit_of = unit_of,
				 .slots = ROLES_MAX,
				 .pool_of = pool_of,
				 .off = POOLS_OFF,
				 .fact = fact,
				 .incarnation = 1,
				 .beat_ns = BEAT_NS,
				 .missed = 5,
				 .election_ms = 3 * HEARTBEAT_MS,
				 .heartbeat_ms = HEARTBEAT_MS,
				 .snapshot_every = 64,
				 .severity = sp_severity_default(),
				 .seed = r->realm};
	r->role = calloc(ROLES_MAX, sizeof *r->role);
	r->left = calloc(SLOTS_MAX, sizeof *r->left);
	r->agreed = (struct spx_agreed){.role = r->role,
					.cluster = r->planned,
					.first = ROLES_MAX,
					.played = calloc(ROLES_MAX, sizeof *r->agreed.played)};
	void *mem = calloc(1, sp_node_footprint(&c));
	if (!r->role || !r->left || !r->agreed.played || !mem) {
		free(mem);
		return spx_say(why, "no memory");
	}
	r->node = sp_node_new(&c, &ops, r, mem, NULL, 0, run_now_ns(), text);
	if (!r->node)
		free(mem);
	return r->node || spx_say(why, "%s", text);
}

void
agree_end(struct run *r)
{
	sp_node_free(r->node);
	free(r->node);
	free(r->role);
	free(r->left);
	free(r->agreed.played);
}

/* ---- driving ---- */

int
agree_wait_ms(const struct run *r)
{
	uint64_t now = run_now_ns(), at = sp_node_expiry_ns(r->node);

	if (r->over)
		return -1;
	return at <= now ? 0 : (int)(base_min_ns(at - now, BASE_S_NS) / BASE_MS_NS) + 1;
}

void
agree_turn(struct run *r)
{
	const struct sp_view *v = sp_node_view(r->node);

	if (r->over) /* nobody is replaced any more */
		return;
	sp_node_turn(r->node, run_now_ns());
	/* They join before they have said anything: their slots name them. */
	for (uint32_t i = 0; i < r->nmember; i++)
		if (r->member[i].fresh) {
			r->member[i].fresh = false;
			sp_node_ready(r->node, r->member[i].token, run_now_ns());
		}
	if (r->changed)
		procs_follow(r, v);
	if (!v->over || r->over)
		return;
	r->over = r->failed = true;
	procs_kill_all(r);
}

/* Until all that was asked for is agreed on, or given up: the master is in this process, so it
 * takes a turn or two. */
static bool
settle_asks(struct run *r, uint64_t given_up, char why[SPX_TEXT_MAX])
{
	uint64_t now_given_up;

	while (sp_node_asks(r->node, &now_given_up) && !r->over) {
		uint64_t now = run_now_ns(), at = sp_node_expiry_ns(r->node);
		if (at > now) {
			struct timespec t = {.tv_nsec = (long)base_min_ns(at - now, BEAT_NS)};
			nanosleep(&t, NULL);
		}
		agree_turn(r);
	}
	spx_agreed_view(&r->agreed, sp_node_view(r->node), 0, &r->view);
	return now_given_up == given_up || spx_say(why, "it was not agreed on");
}

bool
agree_roles(struct run *r, const struct spx_role *role, uint32_t n, uint8_t pool,
	    char why[SPX_TEXT_MAX])
{
	uint64_t given_up, now = run_now_ns();

	if (n > ROLES_MAX - r->nrole)
		return spx_say(why, "more than %d ranks and I/O processes", ROLES_MAX);
	(void)sp_node_asks(r->node, &given_up);
	memcpy(&r->role[r->nrole], role, n * sizeof *role);
	(void)sp_node_ask(r->node, SP_OP_ROLES, pool, r->nrole, n, now);
	(void)sp_node_ask(r->node, SP_OP_POOL, 0, pool, 1, now);
	if (!settle_asks(r, given_up, why))
		return false;
	r->nrole += n;
	return true;
}

bool
agree_chains(struct run *r, const char *text, size_t len, char why[SPX_TEXT_MAX])
{
	uint64_t given_up;

	(void)sp_node_asks(r->node, &given_up);
	(void)settle_asks(r, given_up, why);
	(void)sp_node_asks(r->node, &given_up);
	return spx_agreed_ask(r->node, &r->view, text, len, why, run_now_ns()) &&
	       settle_asks(r, given_up, why);
}

void
agree_wants(struct run *r)
{
	for (uint32_t k = 0; k < r->agreed.clusters && !r->over; k++)
		for (uint32_t io = 0; io < 2; io++)
			sp_node_want(r->node, (uint8_t)SPX_POOL(k, io), r->cluster[k].want[io],
				     run_now_ns());
}

void
agree_stop(struct run *r, enum sp_why why)
{
	sp_node_stop(r->node, why, run_now_ns());
}
