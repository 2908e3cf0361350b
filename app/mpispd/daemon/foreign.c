/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of programs that know PMIx: who has come and left, their fences over all units, what
 * those of other units have put.  A rank of view 1 is its slot, and nobody takes it over. */
#include "daemon.h"

#include "spd/fence.h"
#include "spd/pmix.h"

#include "base/clock.h"
#include "base/siphash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_NS   (300 * BASE_MS_NS) /* until what has not come is asked for again */
#define ASKS_MAX   256u
#define SERVES_MAX 1024u

static struct {
	bool runs;
	struct spd_fences *fences;
	bool *takes; /* [units] */
	bool *gone;  /* [ranks] told */
	uint32_t ids;
	uint64_t again_ns;
	struct ask {
		struct spd_pmix_ticket *ticket; /* NULL: free */
		uint32_t rank, id;
	} ask[ASKS_MAX];
	struct serve { /* what PMIx is asked for another unit */
		bool used;
		uint32_t unit, id;
	} serve[SERVES_MAX];
} f = {.again_ns = BASE_NEVER_NS};

static uint32_t
unit_of_rank(uint32_t rank)
{
	return spd.cluster->unit_of[rank];
}

static bool
is_rank_gone(uint32_t rank)
{
	const struct sp_view *v = spd_view();

	return v && v->slot[rank].state == SP_SLOT_DEAD;
}

/* ---- begin and end ---- */

/* Units that have ranks are the job's nodes. */
static bool
serve_ranks(void)
{
	const struct spd_cluster *k = spd.cluster;
	const char **name = calloc(k->units, sizeof *name);
	uint16_t *node_of = calloc(k->compute, sizeof *node_of);
	char nspace[SP_NAME_MAX + SPX_NAME_MAX + 16];
	struct spd_pmix_conf c = {.nspace = nspace, .ranks = k->compute, .say = spd_log};
	bool ok = name && node_of;

	snprintf(nspace, sizeof nspace, "mpispd-%s-%s", spd.conf->name, k->name);
	for (uint32_t u = 0; ok && u < k->units; u++) {
		bool any = false;
		for (uint32_t r = 0; r < k->compute; r++)
			if (unit_of_rank(r) == u) {
				node_of[r] = (uint16_t)c.nodes;
				any = true;
			}
		if (u == spd.unit)
			c.here = c.nodes;
		if (any)
			name[c.nodes++] = spd.conf->unit[k->first + u].name;
	}
	c.node = name;
	c.node_of = node_of;
	ok = ok && spd_pmix_start(&c);
	free(name);
	free(node_of);
	return ok;
}

bool
spd_foreign_begin(void)
{
	const struct spd_cluster *k = spd.cluster;
	bool any = false;

	for (uint32_t r = 0; r < k->compute; r++)
		any |= unit_of_rank(r) == spd.unit;
	if (!k->pmix || !any)
		return true;
	f.fences = spd_fences_new(k->units, spd.unit);
	f.takes = calloc(k->units, sizeof *f.takes);
	f.gone = calloc(k->compute, sizeof *f.gone);
	f.runs = f.fences && f.takes && f.gone && serve_ranks();
	return f.runs;
}

bool
spd_foreign_end(void)
{
	bool whole = true;

	for (uint32_t i = 0; i < spd.nproc; i++)
		whole &= spd.proc[i].left;
	if (f.runs)
		spd_pmix_stop(whole);
	whole |= !f.runs;
	f.runs = false;
	spd_fences_free(f.fences);
	free(f.takes);
	free(f.gone);
	return whole;
}

char **
spd_foreign_env(uint32_t rank)
{
	return f.runs ? spd_pmix_env(rank, environ) : NULL;
}

const struct spd_fence_counts *
spd_foreign_fences(void)
{
	return f.fences ? spd_fences_counters(f.fences) : NULL;
}

int
spd_foreign_fd(void)
{
	return f.runs ? spd_pmix_fd() : -1;
}

/* ---- fences ---- */

static void
answer_fences(void)
{
	struct spd_fence_done done;

	while (spd_fences_done(f.fences, &done)) {
		if (!done.ok)
			spd_log("the processes of a fence have put more than %zu bytes: they get "
				"an error",
				SPD_FENCE_MOST);
		spd_pmix_answer(done.ticket, done.ok ? SPD_PMIX_YES : SPD_PMIX_NO_ROOM, done.data,
				done.len);
	}
}

static void
send_part(uint32_t unit, uint64_t set, uint64_t number)
{
	size_t len;
	const void *own = spd_fences_own(f.fences, set, number, &len);

	if (own)
		spd_net_note(spd.group.unit[unit],
			     &(struct spd_note){.type = SPD_NOTE_PART,
						.cluster = spd.conf->unit[spd.me].cluster,
						.set = set,
						.number = number,
						.body = own,
						.n = (uint32_t)len});
}

/* It could not reach the others, who would wait for it. */
static void
give_up_fence(struct spd_pmix_event *e)
{
	char text[SPD_WHY];

	snprintf(text, sizeof text,
		 "the processes of unit %s have put %zu bytes for one fence; a unit may have %u",
		 spd.conf->unit[spd.me].name, e->len, SPD_BODY_MAX);
	spd_pmix_answer(e->ticket, SPD_PMIX_NO_ROOM, NULL, 0);
	spd_abort_all(1, text);
}

static void
begin_fence(struct spd_pmix_event *e, uint64_t now_ns)
{
	static const uint8_t key[16] = "who meets whom";
	const struct spd_cluster *k = spd.cluster;
	uint64_t set = base_siphash(key, e->takes, k->compute * sizeof *e->takes);

	if (e->len > SPD_BODY_MAX) {
		give_up_fence(e);
		return;
	}
	memset(f.takes, 0, k->units * sizeof *f.takes);
	for (uint32_t r = 0; r < k->compute; r++)
		if (e->takes[r])
			f.takes[unit_of_rank(r)] = true;
	uint64_t number = spd_fences_begin(f.fences, set, f.takes, e->data, e->len, e->ticket);
	if (!number) {
		spd_log("a fence is refused: the same processes are in one already, or there are "
			"more than %u sets of processes",
			SPD_FENCE_SETS);
		spd_pmix_answer(e->ticket, SPD_PMIX_NO, NULL, 0);
		return;
	}
	for (uint32_t u = 0; u < k->units; u++)
		if (f.takes[u] && u != spd.unit)
			send_part(u, set, number);
	f.again_ns = base_min_ns(f.again_ns, now_ns + AGAIN_NS);
	answer_fences();
}

/* ---- what processes of other units have put ---- */

static void
send_get(const struct ask *a)
{
	spd_net_note(spd.group.unit[unit_of_rank(a->rank)],
		     &(struct spd_note){.type = SPD_NOTE_GET,
					.cluster = spd.conf->unit[spd.me].cluster,
					.role = a->rank,
					.id = a->id});
}

static void
begin_get(struct spd_pmix_event *e, uint64_t now_ns)
{
	struct ask *a = f.ask;

	while (a < f.ask + ASKS_MAX && a->ticket)
		a++;
	if (a == f.ask + ASKS_MAX || unit_of_rank(e->rank) == spd.unit || is_rank_gone(e->rank)) {
		spd_pmix_answer(e->ticket,
				a == f.ask + ASKS_MAX ? SPD_PMIX_NO_ROOM : SPD_PMIX_NOT_FOUND, NULL,
				0);
		return;
	}
	*a = (struct ask){e->ticket, e->rank, ++f.ids};
	send_get(a);
	f.again_ns = base_min_ns(f.again_ns, now_ns + AGAIN_NS);
}

static void
answer_get(uint32_t unit, const struct spd_note *n)
{
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		struct ask *a = &f.ask[i];
		if (!a->ticket || a->id != n->id || a->rank != n->role ||
		    unit_of_rank(a->rank) != unit)
			continue;
		uint8_t *data = n->n ? malloc(n->n) : NULL;
		if (data)
			memcpy(data, n->body, n->n);
		spd_pmix_answer(a->ticket,
				n->status	? SPD_PMIX_NOT_FOUND
				: data || !n->n ? SPD_PMIX_YES
						: SPD_PMIX_NO_ROOM,
				data, n->n);
		a->ticket = NULL;
		return;
	}
}

static void
send_got(uint32_t unit, uint32_t rank, uint32_t id, const struct spd_pmix_event *e)
{
	bool ok = e && e->ok && e->len <= SPD_BODY_MAX;

	spd_net_note(spd.group.unit[unit],
		     &(struct spd_note){.type = SPD_NOTE_GOT,
					.cluster = spd.conf->unit[spd.me].cluster,
					.role = rank,
					.id = id,
					.status = !ok,
					.body = ok ? e->data : NULL,
					.n = ok ? (uint32_t)e->len : 0});
}

/* PMIx answers when that process has put what it has; who asks again meanwhile is asking for the
 * same. */
static void
serve_get(uint32_t unit, const struct spd_note *n)
{
	struct serve *free_one = NULL;

	if (n->role >= spd.cluster->compute || unit_of_rank(n->role) != spd.unit ||
	    is_rank_gone(n->role)) {
		send_got(unit, n->role, n->id, NULL);
		return;
	}
	for (struct serve *s = f.serve; s < f.serve + SERVES_MAX; s++) {
		if (s->used && s->unit == unit && s->id == n->id)
			return;
		if (!s->used)
			free_one = s;
	}
	if (!free_one)
		return; /* it asks again */
	*free_one = (struct serve){true, unit, n->id};
	if (!spd_pmix_get(n->role, unit, n->id))
		free_one->used = false;
}

static void
finish_get(const struct spd_pmix_event *e)
{
	for (struct serve *s = f.serve; s < f.serve + SERVES_MAX; s++)
		if (s->used && s->unit == e->unit && s->id == e->id)
			s->used = false;
	send_got(e->unit, e->rank, e->id, e);
}

/* ---- what comes ---- */

static void
hear_pmix_event(struct spd_pmix_event *e, uint64_t now_ns)
{
	struct spd_proc *p = e->kind <= SPD_PMIX_ABORT ? spd_proc_of_slot(e->rank) : NULL;
	char text[SPD_WHY];

	switch (e->kind) {
	case SPD_PMIX_CAME:
		spd.early = 0;
		if (p)
			p->hello = true;
		if (p)
			(void)spd_program_fits(p, now_ns);
		break;
	case SPD_PMIX_LEFT:
		if (p && !p->left)
			spd_proc_has_left(p);
		break;
	case SPD_PMIX_ABORT:
		snprintf(text, sizeof text, "rank %u of %s ends the cluster: %s", e->rank,
			 spd.cluster->name, e->text);
		spd_abort_all((uint32_t)e->status, text);
		break;
	case SPD_PMIX_FENCE:
		begin_fence(e, now_ns);
		break;
	case SPD_PMIX_GET:
		begin_get(e, now_ns);
		break;
	case SPD_PMIX_GOT:
		finish_get(e);
		break;
	}
}

void
spd_foreign_poll(uint64_t now_ns)
{
	struct spd_pmix_event *e;

	while (f.runs && (e = spd_pmix_next())) {
		hear_pmix_event(e, now_ns);
		spd_pmix_free(e);
	}
}

void
spd_foreign_hear(uint32_t unit, const struct spd_note *n, uint64_t now_ns)
{
	(void)now_ns;
	if (!f.runs)
		return;
	switch (n->type) {
	case SPD_NOTE_PART:
		(void)spd_fences_part(f.fences, unit, n->set, n->number, n->body, n->n);
		answer_fences();
		break;
	case SPD_NOTE_PART_WANT:
		send_part(unit, n->set, n->number);
		break;
	case SPD_NOTE_GET:
		serve_get(unit, n);
		break;
	default:
		answer_get(unit, n);
	}
}

/* ---- time, views ---- */

uint64_t
spd_foreign_turn(uint64_t now_ns)
{
	uint32_t at = 0, unit;
	uint64_t set, number;
	bool any = false;

	if (!f.runs || now_ns < f.again_ns)
		return f.again_ns;
	while (spd_fences_missing(f.fences, &at, &unit, &set, &number)) {
		any = true;
		spd_net_note(spd.group.unit[unit],
			     &(struct spd_note){.type = SPD_NOTE_PART_WANT,
						.cluster = spd.conf->unit[spd.me].cluster,
						.set = set,
						.number = number});
	}
	for (struct ask *a = f.ask; a < f.ask + ASKS_MAX; a++)
		if (a->ticket) {
			any = true;
			send_get(a);
		}
	f.again_ns = any ? now_ns + AGAIN_NS : BASE_NEVER_NS;
	return f.again_ns;
}

void
spd_foreign_follow(void)
{
	for (uint32_t r = 0; f.runs && r < spd.cluster->compute; r++) {
		if (f.gone[r] || !is_rank_gone(r))
			continue;
		f.gone[r] = true;
		spd_pmix_tell_gone(r);
		for (struct ask *a = f.ask; a < f.ask + ASKS_MAX; a++)
			if (a->ticket && a->rank == r) {
				spd_pmix_answer(a->ticket, SPD_PMIX_NOT_FOUND, NULL, 0);
				a->ticket = NULL;
			}
	}
	for (uint32_t u = 0; f.runs && u < spd.cluster->units; u++) {
		bool lives = false;
		for (uint32_t r = 0; r < spd.cluster->compute; r++)
			lives |= unit_of_rank(r) == u && !f.gone[r];
		if (!lives)
			spd_fences_lost(f.fences, u);
	}
	if (f.runs)
		answer_fences();
}
