/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/sp's node of this unit: what it asks for. */
#include "daemon.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_NS (500 * BASE_MS_NS) /* before a voter whose disk failed tries again */

static void *node_mem;
static uint64_t retry_disk_ns;

/* ---- what lib/sp asks for ---- */

static void
mail_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	static uint8_t *bytes;
	static size_t room;

	(void)user;
	if (room < len + 1) {
		free(bytes);
		room = 2 * len + 64;
		bytes = malloc(room);
	}
	if (!bytes) {
		room = 0;
		return;
	}
	bytes[0] = SPD_NOTE_SP;
	memcpy(bytes + 1, frame, len);
	spd_net_send(spd.group.unit[to], bytes, len + 1);
}

static void
note_view(void *user, const struct sp_view *v)
{
	(void)user, (void)v;
	spd.view_is_new = true;
}

static void
hold_all(void *user, bool on)
{
	(void)user;
	spd.fenced = on;
	spd_proc_signal(on ? SIGSTOP : SIGCONT);
}

static void
kill_hanging(void *user, uint32_t slot)
{
	struct spd_proc *p = spd_proc_of_slot(slot);

	(void)user;
	if (!p)
		return;
	spd_log("%s gave no sign of life; it is ended", spd_proc_name(p));
	spd_proc_kill(p);
}

static void
start_spare(void *user, uint32_t token, uint8_t pool)
{
	(void)user;
	(void)spd_proc_start(SP_NONE, token, pool, spd_now_ns());
}

static const char *
unit_name(uint32_t unit)
{
	return spd.conf->unit[spd.group.unit[unit]].name;
}

static void
say_failing(uint32_t pool, uint32_t ms)
{
	bool io = spd.group.pipeline && pool == SPX_POOL(spd.conf->unit[spd.me].cluster, true);

	spd_say("%s of %s on unit %s: %u or more ended within a second, one after the other; the "
		"next one is started in %u.%u s.  Fix: its program, as what it says shows; or "
		"stop-after in severity.process ends all",
		io ? "I/O processes" : "processes", spd.cluster->name, spd.conf->unit[spd.me].name,
		SP_FALLS, ms / 1000, ms % 1000 / 100);
}

static void
log_event(void *user, const struct sp_event *e)
{
	static const char *const text[] = {
#define X(id, what) what,
		SP_EVENTS(X)
#undef X
	};

	(void)user;
	switch (e->kind) {
	case SP_EVENT_LEAD:
		if (spd.group.pipeline)
			spd_log("this daemon is master of the pipeline");
		else
			spd_log("this daemon is master of cluster %s", spd.cluster->name);
		break;
	case SP_EVENT_NO_SPARE:
		spd_log("%s waits for a spare", spd_role_name(e->a));
		break;
	case SP_EVENT_GONE:
		spd_log("%s has no spare: the others go on without it", spd_role_name(e->a));
		break;
	case SP_EVENT_FULL:
		spd_log("a process of unit %s cannot join: the table of slots is full "
			"(universe.slots_max)",
			unit_name(e->a));
		break;
	case SP_EVENT_CLOCK:
		spd_log("the clock of unit %s is %u thousandths off", unit_name(e->a), e->b);
		break;
	case SP_EVENT_OWN_CLOCK:
		spd_log("the clock of this node is %u thousandths off, as most others show: no "
			"lease that it gives is worth anything, so this daemon ends; fix: the "
			"node's clock source, then start it again",
			e->b);
		spd_end(1, SP_WHY_CLOCK, sp_why_text(SP_WHY_CLOCK));
		spd_proc_signal(SIGKILL); /* others wait for their ranks */
		break;
	case SP_EVENT_FAILING:
		say_failing(e->a, e->b);
		break;
	case SP_EVENT_PATH:
		spd_log("slot %u cannot reach slot %u", e->a, e->b);
		break;
	case SP_EVENT_DISK:
		spd_log("the journal in %s cannot be written (%s): this voter does not vote",
			spd.conf->state, strerror(errno));
		spd.disk_failed = true;
		break;
	case SP_EVENT_FOLLOW:
	case SP_EVENT_LEASE:
	case SP_EVENT_FENCED:
	case SP_EVENT_COUNT:
		spd_log("%s", text[e->kind]);
		break;
	}
}

static const struct sp_node_ops ops = {.send = mail_frame,
				       .view = note_view,
				       .fence = hold_all,
				       .kill = kill_hanging,
				       .start = start_spare,
				       .event = log_event,
				       .fits = spd_pipeline_fits,
				       .write = spd_journal_append,
				       .replace = spd_journal_replace};

/* ---- begin ---- */

/* Who takes a rank of a program of PMIx over would not be let in by the others. */
static void
forbid_takeover(struct sp_node_conf *n)
{
	for (unsigned fault = SP_FAULT_PROCESS; fault <= SP_FAULT_NODE; fault++) {
		struct sp_measures *m = &n->severity.of[fault];
		m->set = m->set & SP_CONTINUE ? SP_CONTINUE : SP_STOP;
	}
	n->none_left = SP_NONE_LEFT_STOP;
	n->refill = false;
}

static struct sp_node_conf
describe_node(uint32_t life)
{
	const struct spd_conf *c = spd.conf;
	const struct spd_group *g = &spd.group;
	uint64_t seed = 1;

	(void)getrandom(&seed, sizeof seed, 0);
	uint32_t heartbeat = c->beat_ms / 2 ? c->beat_ms / 2 : 1;
	return (struct sp_node_conf){
		.cluster = g->cluster[0] + 1u,
		.me = spd.unit,
		.voters = g->voters,
		.limits = {g->roles, c->slots_max, g->units, SPD_FACTS},
		.unit_of = g->unit_of,
		.slots = g->slots,
		.pool_of = g->pool_of,
		.off = g->off,
		.cold = g->cold,
		.fact = spd_pipeline_facts(),
		.incarnation = life,
		.beat_ns = c->beat_ms * BASE_MS_NS,
		.missed = c->missed,
		.hang_ns = c->hang_s * BASE_S_NS,
		.restart_ns = c->restart_ms * BASE_MS_NS,
		.election_ms = 3 * heartbeat,
		.heartbeat_ms = heartbeat,
		.snapshot_every = 64,
		.severity = c->severity,
		.none_left = c->none_left,
		.refill = c->refill,
		.late_disk = true,
		.seed = seed,
	};
}

static bool
make_node(const void *journal, size_t len, uint64_t now_ns, char why[SPD_WHY])
{
	char text[QUORUM_WHY_MAX] = "";

	node_mem = calloc(1, sp_node_footprint(&spd.node_conf));
	if (node_mem)
		spd.node = sp_node_new(&spd.node_conf, &ops, NULL, node_mem, journal, len, now_ns,
				       text);
	if (!spd.node)
		snprintf(why, SPD_WHY, "%s", text[0] ? text : "out of memory");
	return spd.node != NULL;
}

bool
spd_node_begin(uint64_t now_ns, char why[SPD_WHY])
{
	size_t len = 0;

	if (mkdir(spd.conf->state, 0700) != 0 && errno != EEXIST) {
		snprintf(why, SPD_WHY, "universe.state: %s: %s", spd.conf->state, strerror(errno));
		return false;
	}
	if (spd.anew)
		spd_journal_forget();
	uint32_t life = spd_journal_life();
	if (!life) {
		snprintf(why, SPD_WHY, "universe.state: %s cannot be written: %s", spd.conf->state,
			 strerror(errno));
		return false;
	}
	spd.node_conf = describe_node(life);
	if (spd.cluster->pmix)
		forbid_takeover(&spd.node_conf);
	spd.started = calloc(spd.node_conf.slots, sizeof *spd.started);
	spd.left = calloc(spd.conf->slots_max, sizeof *spd.left);
	spd.card = calloc(spd.group.roles, sizeof *spd.card);
	spd.door = calloc(spd.conf->slots_max, sizeof *spd.door);
	bool voter = spd.unit < spd.node_conf.voters;
	void *journal = voter ? spd_journal_read(&len) : NULL;
	if (!spd.started || !spd.left || !spd.card || !spd.door || (voter && !journal)) {
		snprintf(why, SPD_WHY, "the journal in %s cannot be read: %s", spd.conf->state,
			 strerror(errno));
		free(journal);
		return false;
	}
	if (len)
		spd_log("goes on from its journal (%zu bytes); --new begins anew", len);
	bool ok = make_node(journal, len, now_ns, why);
	free(journal);
	if (ok && !spd_foreign_begin()) {
		snprintf(why, SPD_WHY, "the PMIx server does not start; see above");
		return false;
	}
	if (ok)
		spd_log("life %u of unit %s of cluster %s; %s", life, spd.conf->unit[spd.me].name,
			spd.cluster->name, voter ? "votes" : "does not vote");
	return ok;
}

/* ---- driving ---- */

void
spd_node_frame(uint32_t unit, const void *frame, size_t len, uint64_t now_ns)
{
	if (!sp_node_on_frame(spd.node, unit, frame, len, now_ns))
		spd_log("a malformed frame of unit %s", unit_name(unit));
}

static void
vote_again(uint64_t now_ns)
{
	char why[QUORUM_WHY_MAX] = "";
	size_t len;
	void *journal = spd_journal_read(&len);

	retry_disk_ns = now_ns + RETRY_NS;
	if (journal && sp_node_vote_again(spd.node, journal, len, now_ns, why)) {
		spd.disk_failed = false;
		spd_log("the journal can be written again; this voter votes");
	}
	free(journal);
}

void
spd_node_turn(uint64_t now_ns)
{
	/* Who is stopped gives no signs of life, and who knows PMIx never does. */
	for (uint32_t i = 0; (spd.fenced || spd.cluster->pmix) && spd.node && i < spd.nproc; i++)
		if (spd.proc[i].pid && spd.proc[i].slot != SP_NONE)
			sp_node_alive(spd.node, spd.proc[i].slot, now_ns);
	if (spd.node && !spd.ending)
		sp_node_turn(spd.node, now_ns);
	if (spd.disk_failed && now_ns >= retry_disk_ns)
		vote_again(now_ns);
}

uint64_t
spd_node_expiry_ns(void)
{
	uint64_t at = spd.node && !spd.ending ? sp_node_expiry_ns(spd.node) : BASE_NEVER_NS;

	return spd.disk_failed ? base_min_ns(at, retry_disk_ns) : at;
}

void
spd_node_end(bool forget)
{
	sp_node_free(spd.node);
	spd.node = NULL;
	free(node_mem);
	free(spd.started);
	free(spd.left);
	free(spd.card);
	free(spd.door);
	spd_journal_close();
	if (forget)
		spd_journal_forget();
}
