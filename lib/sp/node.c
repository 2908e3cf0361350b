/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon as one object: memory, frames, what lib/quorum asks for. */
#include "internal.h"

#include "canary.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

#define QUORUM_VERSION 0x71

void
sp_send(struct sp_node *n, uint32_t to, size_t len)
{
	n->count.sent++;
	n->count.bytes_sent += len;
	sp_post(n, to, n->frame, len);
}

void
sp_send_beat(struct sp_node *n, uint32_t to, size_t len)
{
	n->count.sent++;
	n->count.bytes_sent += len;
	n->ops.send(n->user, to, n->frame, len);
}

void
sp_tell(struct sp_node *n, enum sp_event_kind kind, uint32_t a, uint32_t b)
{
	struct sp_event e = {kind, a, b};

	n->ops.event(n->user, &e);
}

bool
sp_is_voter(const struct sp_node *n)
{
	return n->conf.me < n->conf.voters;
}

/* --- what lib/quorum asks for ---------------------------------------------- */

static void
mail_voter(void *user, uint32_t to, const void *frame, size_t len)
{
	struct sp_node *n = user;

	n->count.sent++;
	n->count.bytes_sent += len;
	sp_post(n, to, frame, len);
}

static bool
append_disk_journal(void *user, const void *bytes, size_t len)
{
	struct sp_node *n = user;

	bool ok = n->ops.write(n->user, bytes, len);
	n->hold.begun += ok && n->conf.late_disk;
	return ok;
}

static bool
replace_disk_journal(void *user, const void *bytes, size_t len)
{
	struct sp_node *n = user;

	bool ok = n->ops.replace(n->user, bytes, len);
	n->hold.begun += ok && n->conf.late_disk;
	return ok;
}

static void
apply_change(void *user, const void *bytes, size_t len)
{
	struct sp_node *n = user;
	struct sp_change c;
	uint64_t base = n->agreed->number;

	if (sp_change_read(&c, bytes, len) && c.proposer == n->conf.me && c.term == n->master.term)
		n->resolved++;
	if (sp_view_apply(n->agreed, n->scratch, bytes, len) != SP_APPLIED) {
		n->refused++;
		return;
	}
	n->applied++;
	struct sp_kept *k = &n->kept[base % SP_CHANGES_KEPT];
	*k = (struct sp_kept){.base = base};
	if (len <= SP_CHANGE_KEPT) {
		k->len = (uint32_t)len;
		memcpy(k->bytes, bytes, len);
	}
}

static size_t
save_view(void *user, void *bytes, size_t room)
{
	const struct sp_node *n = user;

	return sp_view_write(n->agreed, bytes, room);
}

static bool
restore_view(void *user, const void *bytes, size_t len)
{
	struct sp_node *n = user;

	return sp_view_read(n->agreed, n->scratch, bytes, len);
}

static void
note_lead(void *user, uint64_t term)
{
	struct sp_node *n = user;

	n->lead_term = term;
}

static void
note_follow(void *user)
{
	struct sp_node *n = user;

	n->lead_term = 0;
}

/* What came about while lib/quorum was on the stack. */
static void
settle_quorum(struct sp_node *n)
{
	bool applied = n->applied > 0, heard = applied || n->refused > 0;

	if (!n->quorum)
		return;
	n->count.refused += n->refused;
	n->master.pending -= n->resolved < n->master.pending ? n->resolved : n->master.pending;
	n->applied = n->refused = n->resolved = 0;
	if (applied && !n->master.waiting)
		n->master.dirty = true;
	if (n->master.leads && n->lead_term != n->master.term)
		sp_master_follow(n);
	if (!n->master.leads && n->lead_term)
		sp_master_lead(n, n->lead_term);
	else if (n->master.leads && heard)
		sp_master_applied(n, applied);
	sp_unit_follow(n);
	if (quorum_is_down(n->quorum) && !n->disk_told) {
		n->disk_told = true;
		sp_tell(n, SP_EVENT_DISK, 0, 0);
	}
}

static bool
start_quorum(struct sp_node *n, const void *journal, size_t len, char why[QUORUM_WHY_MAX])
{
	static const struct quorum_ops ops = {.send = mail_voter,
					      .write = append_disk_journal,
					      .replace = replace_disk_journal,
					      .apply = apply_change,
					      .save = save_view,
					      .restore = restore_view,
					      .lead = note_lead,
					      .follow = note_follow};
	struct quorum_conf c = {.me = n->conf.me,
				.voters = n->conf.voters,
				.election_ms = n->conf.election_ms,
				.heartbeat_ms = n->conf.heartbeat_ms,
				.snapshot_every = n->conf.snapshot_every,
				.seed = n->conf.seed};

	n->agreed->number = 0;
	sp_view_begin(n->agreed, n->conf.unit_of, n->conf.slots);
	sp_view_begin_pools(n->agreed, n->conf.pool_of, n->conf.off, n->conf.fact);
	n->quorum = quorum_new(&c, &ops, n, journal, len, n->now_ns, why);
	return n->quorum != NULL;
}

/* --- make and free --------------------------------------------------------- */

static size_t
frame_room(const struct sp_limits *l)
{
	size_t view = 64 + 8 * SP_FAULTS_MAX + 4 * (size_t)l->roles + 14 * (size_t)l->slots_max +
		      5 * (size_t)l->units + 8 * (size_t)l->facts;
	size_t beat = SP_FRAME_HEAD + SP_BEAT_BYTES +
		      SP_REPORT_BYTES * (2 * (size_t)l->slots_max + SP_STARTS_MAX + SP_PATHS_MAX +
					 SP_ASKS_MAX + 2);
	size_t ack = SP_FRAME_HEAD + SP_ACK_BYTES + SP_CHANGES_KEPT * (4 + SP_CHANGE_KEPT);
	size_t most = view > beat ? view : beat;

	return 64 + (most > ack ? most : ack);
}

static uint32_t
ops_max(const struct sp_limits *l)
{
	uint32_t most = 3 * l->slots_max + 2 * l->units + SP_ASKS_MAX + 8;

	return most > UINT16_MAX ? UINT16_MAX : most;
}

static size_t
lay_out_node(const struct sp_node_conf *c, void *mem, struct sp_node *n)
{
	const struct sp_limits *l = &c->limits;
	struct base_arena a = base_arena(mem);
	bool voter = c->me < c->voters;
	uint32_t v = voter ? 1 : 0;
	void *view[4];

	base_arena_take(&a, 1, sizeof *n);
	for (int i = 0; i < 4; i++)
		view[i] = base_arena_take(&a, i < 2 || voter ? 1 : 0, sp_view_footprint(l));
	n->unit.view = view[0];
	n->scratch = view[1];
	n->agreed = voter ? view[2] : NULL;
	n->master.plan = voter ? view[3] : NULL;
	n->unit.alive = base_arena_take(&a, l->slots_max, sizeof *n->unit.alive);
	n->unit.why = base_arena_take(&a, l->slots_max, sizeof *n->unit.why);
	n->unit.sign_ns = base_arena_take(&a, l->slots_max, sizeof *n->unit.sign_ns);
	n->unit.since_ns = base_arena_take(&a, l->slots_max, sizeof *n->unit.since_ns);
	n->unit.was = base_arena_take(&a, l->slots_max, sizeof *n->unit.was);
	n->unit.reached = base_arena_take(&a, l->slots_max, sizeof *n->unit.reached);
	n->kept = base_arena_take(&a, v * SP_CHANGES_KEPT, sizeof *n->kept);
	n->master.heard = base_arena_take(&a, v * l->units, sizeof *n->master.heard);
	n->master.called_ns = base_arena_take(&a, (size_t)v * l->units, sizeof(uint64_t));
	n->master.mark =
		base_arena_take(&a, (size_t)v * l->units * l->units, sizeof *n->master.mark);
	n->master.reported = base_arena_take(&a, v * l->slots_max, sizeof *n->master.reported);
	n->master.waits = base_arena_take(&a, v * l->roles, sizeof *n->master.waits);
	n->master.reached = base_arena_take(&a, v * l->slots_max, sizeof *n->master.reached);
	n->master.op_max = ops_max(l);
	n->master.op = base_arena_take(&a, v * n->master.op_max, sizeof *n->master.op);
	n->master.change = base_arena_take(&a, v, sp_change_bytes(n->master.op_max));
	n->frame_room = frame_room(l);
	n->frame = base_arena_take(&a, 1, n->frame_room);
	n->hold.room = voter && c->late_disk ? 4 * n->frame_room : 0;
	n->hold.bytes = base_arena_take(&a, 1, n->hold.room);
	return base_arena_bytes(&a);
}

size_t
sp_node_footprint(const struct sp_node_conf *conf)
{
	struct sp_node counting;

	return lay_out_node(conf, NULL, &counting);
}

struct sp_node *
sp_node_new(const struct sp_node_conf *conf, const struct sp_node_ops *ops, void *user, void *mem,
	    const void *journal, size_t len, uint64_t now_ns, char why[QUORUM_WHY_MAX])
{
	struct sp_node *n = mem;

	BASE_ASSERT(conf->voters >= 1 && conf->voters <= QUORUM_VOTERS_MAX &&
		    conf->voters <= conf->limits.units && conf->me < conf->limits.units &&
		    conf->incarnation >= 1 && conf->beat_ns && conf->missed >= 2);
	memset(mem, 0, sp_node_footprint(conf));
	lay_out_node(conf, mem, n);
	n->conf = *conf;
	n->ops = *ops;
	n->user = user;
	n->now_ns = now_ns;
	n->detect_ns = conf->beat_ns * conf->missed;
	if (!n->conf.lease_ns)
		n->conf.lease_ns = n->detect_ns / 10 * 9;
	BASE_ASSERT(n->conf.lease_ns < n->detect_ns);
	sp_view_new(&conf->limits, n->unit.view);
	sp_view_new(&conf->limits, n->scratch);
	sp_unit_new(n);
	if (!sp_is_voter(n))
		return n;
	sp_view_new(&conf->limits, n->agreed);
	sp_view_new(&conf->limits, n->master.plan);
	if (!start_quorum(n, journal, len, why))
		return NULL;
	settle_quorum(n);
	return n;
}

void
sp_node_free(struct sp_node *n)
{
	if (n)
		quorum_free(n->quorum);
}

bool
sp_node_vote_again(struct sp_node *n, const void *journal, size_t len, uint64_t now_ns,
		   char why[QUORUM_WHY_MAX])
{
	n->now_ns = base_max_ns(n->now_ns, now_ns);
	quorum_free(n->quorum);
	n->quorum = NULL;
	n->disk_told = false;
	sp_hold_forget(n);
	n->lead_term = 0;
	if (n->master.leads)
		sp_master_follow(n);
	sp_view_new(&n->conf.limits, n->agreed);
	memset(n->kept, 0, SP_CHANGES_KEPT * sizeof *n->kept);
	if (!start_quorum(n, journal, len, why))
		return false;
	settle_quorum(n);
	return true;
}

void
sp_node_written(struct sp_node *n, bool ok, uint64_t now_ns)
{
	n->now_ns = base_max_ns(n->now_ns, now_ns);
	BASE_ASSERT(n->hold.begun > n->hold.done);
	if (ok) {
		sp_hold_release(n);
		return;
	}
	sp_hold_forget(n);
	quorum_fail(n->quorum);
	settle_quorum(n);
}

bool
sp_node_is_durable(const struct sp_node *n)
{
	return n->hold.begun == n->hold.done;
}

/* --- frames and time ------------------------------------------------------- */

/* A beat for who does not lead: say who does. */
static void
redirect_beat(struct sp_node *n, uint32_t to)
{
	uint32_t leader = n->quorum ? quorum_leader(n->quorum) : QUORUM_NOBODY;
	struct base_writer w = base_writer(n->frame, n->frame_room);
	struct sp_frame f = {.type = SP_FRAME_HINT, .cluster = n->conf.cluster, .master = leader};

	n->master.called_ns[to] = n->now_ns;
	if (leader == QUORUM_NOBODY || leader == n->conf.me)
		return;
	f.term = quorum_term(n->quorum);
	sp_frame_begin(&w, &f);
	sp_send(n, to, base_writer_len(&w));
}

static bool
route_frame(struct sp_node *n, uint32_t from, const void *frame, size_t len)
{
	const uint8_t *p = frame;
	struct sp_frame f;

	if (len && p[0] == QUORUM_VERSION) {
		if (!n->quorum || from >= n->conf.voters ||
		    !quorum_on_frame(n->quorum, from, frame, len, n->now_ns))
			return false;
		settle_quorum(n);
		return true;
	}
	if (from >= n->conf.limits.units || from == n->conf.me || !sp_frame_parse(&f, frame, len) ||
	    f.cluster != n->conf.cluster)
		return false;
	if (f.type != SP_FRAME_BEAT && from >= n->conf.voters)
		return false;
	if (f.type == SP_FRAME_ACK)
		sp_unit_ack(n, from, &f);
	else if (f.type == SP_FRAME_VIEW)
		sp_unit_whole_view(n, from, &f);
	else if (f.type == SP_FRAME_HINT)
		sp_unit_hint(n, &f);
	else if (n->master.leads)
		sp_master_beat(n, from, &f);
	else if (sp_is_voter(n))
		redirect_beat(n, from);
	return true;
}

bool
sp_node_on_frame(struct sp_node *n, uint32_t from, const void *frame, size_t len, uint64_t now_ns)
{
	n->now_ns = base_max_ns(n->now_ns, now_ns);
	n->count.received++;
	if (!route_frame(n, from, frame, len)) {
		n->count.malformed++;
		return false;
	}
	sp_node_turn(n, now_ns);
	return true;
}

void
sp_node_turn(struct sp_node *n, uint64_t now_ns)
{
	n->now_ns = base_max_ns(n->now_ns, now_ns);
	/* Who waits for its disk calls no election: the others may wait for theirs. */
	if (n->quorum && sp_node_is_durable(n)) {
		quorum_turn(n->quorum, n->now_ns);
		settle_quorum(n);
	}
	sp_unit_turn(n);
	sp_master_turn(n);
	settle_quorum(n);
}

uint64_t
sp_node_expiry_ns(const struct sp_node *n)
{
	uint64_t at = base_min_ns(sp_unit_expiry_ns(n), sp_master_expiry_ns(n));

	return n->quorum && sp_node_is_durable(n) ? base_min_ns(at, quorum_expiry_ns(n->quorum))
						  : at;
}

/* --- what is asked --------------------------------------------------------- */

const struct sp_view *
sp_node_view(const struct sp_node *n)
{
	return n->unit.view;
}

bool
sp_node_joined(const struct sp_node *n)
{
	return n->unit.joined;
}

bool
sp_node_may_act(const struct sp_node *n, uint64_t now_ns)
{
	return n->unit.joined && !n->unit.view->over &&
	       (now_ns < n->unit.lease_ns || (SP_BUG(UNFENCED) && n->unit.lease_ns));
}

bool
sp_node_leads(const struct sp_node *n)
{
	return n->master.leads;
}

bool
sp_node_reigns(const struct sp_node *n, uint64_t now_ns)
{
	return n->master.leads && quorum_lease_ns(n->quorum) > now_ns;
}

uint32_t
sp_node_master(const struct sp_node *n)
{
	return n->master.leads ? n->conf.me : n->unit.master;
}

bool
sp_node_unit(const struct sp_node *n, uint32_t unit, struct sp_unit_info *info)
{
	if (!n->master.leads || unit >= n->conf.limits.units)
		return false;
	const struct sp_heard *h = &n->master.heard[unit];
	*info = (struct sp_unit_info){.heard = h->incarnation != 0,
				      .silent_ns = n->master.listen_ns - h->listen_ns,
				      .view = h->view,
				      .incarnation = h->incarnation};
	return true;
}

const struct sp_node_counts *
sp_node_counters(const struct sp_node *n)
{
	return &n->count;
}

const struct quorum_counts *
sp_node_quorum(const struct sp_node *n)
{
	return n->quorum ? quorum_counters(n->quorum) : NULL;
}

bool
sp_node_check(const struct sp_node *n, const char **what)
{
	const struct sp_unit *u = &n->unit;

	if (!sp_view_check(u->view, what) || (n->quorum && !sp_view_check(n->agreed, what)))
		return false;
	*what = "more processes without a slot than there may be";
	if (u->nstart > SP_STARTS_MAX || u->npath > SP_PATHS_MAX)
		return false;
	*what = "a unit waits and has no timer";
	return sp_node_expiry_ns(n) != BASE_NEVER_NS;
}
