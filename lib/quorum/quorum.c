/* SPDX-License-Identifier: BSD-2-Clause */
/* The object: time, frames, proposals, the lease. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* Clocks may run 3 % apart. */
#define LEASE_SHARE(ns) ((ns) - (ns) / 32)

/* Ticks without a leader for one with it: some for a turn of each voter. */
#define TICKS_OF_TURNS 8u

static uint64_t
promise_ns(const struct quorum *q)
{
	return q->conf.election_ms * BASE_MS_NS;
}

int
quorum_configure(const struct quorum *q, struct raft_configuration *c)
{
	raft_configuration_init(c);
	for (uint32_t v = 0; v < q->conf.voters; v++) {
		int rv = raft_configuration_add(c, quorum_id_of(v), q->address[v], RAFT_VOTER);
		if (rv) {
			raft_configuration_close(c);
			return rv;
		}
	}
	return 0;
}

/* --- commands and states --------------------------------------------------- */

static int
fsm_apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **result)
{
	struct quorum *q = fsm->data;

	*result = NULL;
	q->ops.apply(q->user, buf->base, buf->len);
	return 0;
}

static int
fsm_snapshot(struct raft_fsm *fsm, struct raft_buffer *bufs[], unsigned *n_bufs)
{
	struct quorum *q = fsm->data;
	size_t len = q->ops.save(q->user, NULL, 0);

	*bufs = raft_malloc(sizeof **bufs);
	void *base = raft_malloc(len ? len : 1);
	if (!*bufs || !base || len > QUORUM_STATE_MAX) {
		raft_free(*bufs);
		raft_free(base);
		return RAFT_NOMEM;
	}
	BASE_ASSERT(q->ops.save(q->user, base, len) == len);
	(*bufs)[0] = (struct raft_buffer){base, len};
	*n_bufs = 1;
	return 0;
}

static int
fsm_restore(struct raft_fsm *fsm, struct raft_buffer *buf)
{
	struct quorum *q = fsm->data;

	if (!q->ops.restore(q->user, buf->base, buf->len))
		return RAFT_MALFORMED;
	raft_free(buf->base);
	return 0;
}

/* --- leading --------------------------------------------------------------- */

static void
end_barrier(struct raft_barrier *req, int status)
{
	struct quorum *q = req->data;

	q->barred = false;
	/* Told when libraft is not on the stack. */
	q->led_term = status == 0 ? q->raft.current_term : 0;
}

/* Any leader of before had a majority, and one of those who voted now was in it: who led, or had
 * promised.  So it can not have led after the time since which a majority of now is idle. */
static uint64_t
find_vacancy(const struct quorum *q)
{
	uint64_t of[QUORUM_VOTERS_MAX] = {0};
	uint64_t own = q->idle_ns + (QUORUM_BUG(VACANT) ? promise_ns(q) : 0);
	uint32_t n = 0;

	for (uint32_t v = 0; v < q->conf.voters; v++) {
		const struct quorum_grant *g = &q->grant[v];
		bool voted = g->term == q->raft.current_term && g->at_ns <= q->idle_ns;
		uint64_t t = voted ? g->idle_ns + own - g->at_ns : 0;
		if (v == q->conf.me)
			continue;
		uint32_t i = n++;
		for (; i > 0 && of[i - 1] < t; i--)
			of[i] = of[i - 1];
		of[i] = t;
	}
	uint32_t others = q->conf.voters / 2;
	return LEASE_SHARE(others ? base_min_ns(own, of[others - 1]) : own);
}

/* The state of libraft may be another now. */
static void
review_lead(struct quorum *q)
{
	bool leader = raft_state(&q->raft) == RAFT_LEADER && !q->down;

	if (!leader || q->led_term != q->raft.current_term) {
		if (q->leads) {
			q->leads = false;
			q->idle_ns = 0;
			q->ops.follow(q->user);
		}
		q->led_term = 0;
	}
	if (leader && !q->barred && !q->led_term) {
		memset(q->supported, 0, sizeof q->supported);
		q->barred = true;
		q->barrier.data = q;
		if (raft_barrier(&q->raft, &q->barrier, end_barrier))
			q->barred = false;
		quorum_flush(q);
	}
	if (q->led_term && !q->leads && !q->down && raft_state(&q->raft) == RAFT_LEADER &&
	    q->led_term == q->raft.current_term) {
		q->vacant_ns = find_vacancy(q);
		q->leads = true;
		q->count.led++;
		q->ops.lead(q->user, q->led_term);
		quorum_flush(q);
	}
}

static void
settle_raft(struct quorum *q)
{
	q->settling = true;
	quorum_flush(q);
	review_lead(q);
	q->settling = false;
}

/* --- make and free --------------------------------------------------------- */

static bool
start_raft(struct quorum *q, bool empty)
{
	struct raft_configuration c;
	int rv = quorum_configure(q, &c);

	if (rv)
		return false;
	if (empty)
		rv = raft_bootstrap(&q->raft, &c);
	raft_configuration_close(&c);
	if (rv)
		return false;
	raft_set_election_timeout(&q->raft, q->conf.election_ms);
	raft_set_heartbeat_timeout(&q->raft, q->conf.heartbeat_ms);
	raft_set_install_snapshot_timeout(&q->raft, 4 * q->conf.election_ms);
	raft_set_snapshot_threshold(&q->raft, q->conf.snapshot_every);
	raft_set_snapshot_trailing(&q->raft, q->conf.snapshot_every / 2 + 1);
	raft_set_pre_vote(&q->raft, true);
#ifdef RAFT_VERSION_NUMBER
	raft_set_capacity_threshold(&q->raft, 0); /* frames do not say what a disk has left */
#endif
	return raft_start(&q->raft) == 0;
}

struct quorum *
quorum_new(const struct quorum_conf *conf, const struct quorum_ops *ops, void *user,
	   const void *journal, size_t len, uint64_t now_ns, char why[QUORUM_WHY_MAX])
{
	BASE_ASSERT(conf->voters >= 1 && conf->voters <= QUORUM_VOTERS_MAX &&
		    conf->me < conf->voters && conf->heartbeat_ms >= 1 &&
		    conf->election_ms > conf->heartbeat_ms && conf->snapshot_every >= 1);
	struct quorum *q = raft_calloc(1, sizeof *q);
	size_t used = 0;

	snprintf(why, QUORUM_WHY_MAX, "no memory");
	if (!q)
		return NULL;
	q->conf = *conf;
	q->ops = *ops;
	q->user = user;
	q->prng = base_prng_seed(conf->seed);
	q->followed = QUORUM_NOBODY;
	q->now_ns = q->tick_ns = now_ns;
	/* What it promised before it stopped holds. */
	q->promised_ns = len ? now_ns + promise_ns(q) : 0;
	for (uint32_t v = 0; v < conf->voters; v++)
		snprintf(q->address[v], sizeof q->address[v], "%u", v % 100);
	if (!quorum_image_read(&q->image, journal, len, &used, why)) {
		raft_free(q);
		return NULL;
	}
	q->unknown_end = used != len;
	q->fsm = (struct raft_fsm){.version = 1,
				   .data = q,
				   .apply = fsm_apply,
				   .snapshot = fsm_snapshot,
				   .restore = fsm_restore};
	quorum_io_init(q);
	if (raft_init(&q->raft, &q->io, &q->fsm, quorum_id_of(conf->me), q->address[conf->me])) {
		quorum_image_free(&q->image);
		raft_free(q);
		return NULL;
	}
	q->running = true;
	if (!start_raft(q, q->image.term == 0)) {
		snprintf(why, QUORUM_WHY_MAX, "libraft does not start: %.100s",
			 *raft_errmsg(&q->raft) ? raft_errmsg(&q->raft) : "the disk failed");
		quorum_free(q);
		return NULL;
	}
	settle_raft(q);
	return q;
}

void
quorum_free(struct quorum *q)
{
	if (!q)
		return;
	q->running = false;
	raft_close(&q->raft, NULL);
	quorum_image_free(&q->image);
	raft_free(q->out.p);
	raft_free(q->done);
	raft_free(q);
}

/* --- frames and time ------------------------------------------------------- */

static uint64_t
tick_every_ns(const struct quorum *q)
{
	return base_max_ns(q->conf.heartbeat_ms * BASE_MS_NS / 2, BASE_MS_NS);
}

/* A promise lasts for time in which this voter looked: a clock may step, and who was stopped has
 * to hear first what happened. */
static void
pass_voter_time(struct quorum *q, uint64_t now_ns)
{
	uint64_t most = tick_every_ns(q) + BASE_MS_NS;

	if (now_ns <= q->now_ns)
		return;
	uint64_t dt = base_min_ns(now_ns - q->now_ns, most);
	bool promised = q->promised_ns > q->now_ns;
	if (promised)
		q->promised_ns += now_ns - q->now_ns - dt;
	if (!promised)
		q->idle_ns += dt;
	else if (now_ns > q->promised_ns)
		q->idle_ns = now_ns - q->promised_ns;
	q->now_ns = now_ns;
}

uint64_t
quorum_idle_ns(const struct quorum *q)
{
	bool busy = q->leads || q->promised_ns > q->now_ns;

	return busy ? 0 : q->idle_ns;
}

/* Stamps of a frame that libraft has had. */
static void
note_stamps(struct quorum *q, uint32_t from, unsigned type, uint64_t term,
	    const struct quorum_stamps *s)
{
	if (term != q->raft.current_term)
		return;
	if (type == RAFT_IO_APPEND_ENTRIES || type == RAFT_IO_INSTALL_SNAPSHOT) {
		if (quorum_leader(q) != from)
			return;
		q->heard[from] = s->stamp;
		q->followed = from;
		q->promised_ns = base_max_ns(q->promised_ns, q->now_ns + promise_ns(q));
		q->idle_ns = 0;
	} else if (type == RAFT_IO_APPEND_ENTRIES_RESULT && s->echo <= q->now_ns) {
		q->supported[from] = base_max_ns(q->supported[from], s->echo);
	}
}

static bool
keeps_promise(const struct quorum *q)
{
	return q->now_ns < q->promised_ns && !QUORUM_BUG(PROMISE);
}

bool
quorum_on_frame(struct quorum *q, uint32_t from, const void *frame, size_t len, uint64_t now_ns)
{
	struct raft_message m;
	struct quorum_stamps s;

	pass_voter_time(q, now_ns);
	if (q->down)
		return true;
	q->count.received++;
	if (from >= q->conf.voters || from == q->conf.me ||
	    !quorum_frame_parse(frame, len, &m, &s)) {
		q->count.malformed++;
		return false;
	}
	unsigned type = m.type;
	uint64_t term = quorum_frame_term(&m);
	if (type == RAFT_IO_REQUEST_VOTE_RESULT && m.request_vote_result.vote_granted &&
	    m.request_vote_result.pre_vote != raft_tribool_true)
		q->grant[from] = (struct quorum_grant){term, s.idle_ns, q->idle_ns};
	if (type == RAFT_IO_REQUEST_VOTE && keeps_promise(q)) {
		q->count.promised++;
		return true;
	}
	m.server_id = quorum_id_of(from);
	m.server_address = q->address[from];
	if (type == RAFT_IO_APPEND_ENTRIES || type == RAFT_IO_INSTALL_SNAPSHOT) {
		/* The answer echoes this frame, and the promise holds when it is sent. */
		uint64_t before = q->heard[from];
		if (term >= q->raft.current_term)
			q->heard[from] = s.stamp;
		if (type == RAFT_IO_INSTALL_SNAPSHOT &&
		    quorum_configure(q, &m.install_snapshot.conf)) {
			quorum_frame_drop(&m);
			return true;
		}
		q->recv(&q->io, &m);
		if (quorum_leader(q) != from)
			q->heard[from] = before;
	} else {
		q->recv(&q->io, &m);
	}
	note_stamps(q, from, type, term, &s);
	settle_raft(q);
	return true;
}

void
quorum_turn(struct quorum *q, uint64_t now_ns)
{
	pass_voter_time(q, now_ns);
	if (q->down || q->now_ns < q->tick_ns)
		return;
	uint64_t every = tick_every_ns(q);
	q->tick_ns = q->now_ns + every;
	/* A follower's tick may begin an election, in which it votes for itself. */
	if (raft_state(&q->raft) != RAFT_LEADER && keeps_promise(q))
		return;
	/* Without a leader each voter has its turn to ask for votes, and finds it only by a tick.
	 */
	if (raft_state(&q->raft) != RAFT_LEADER)
		q->tick_ns = q->now_ns + base_max_ns(every / TICKS_OF_TURNS, BASE_MS_NS);
	q->tick(&q->io);
	settle_raft(q);
}

uint64_t
quorum_expiry_ns(const struct quorum *q)
{
	return q->down ? BASE_NEVER_NS : q->tick_ns;
}

/* --- what is asked --------------------------------------------------------- */

uint64_t
quorum_lease_ns(const struct quorum *q)
{
	uint64_t of[QUORUM_VOTERS_MAX];
	uint32_t n = 0;

	if (!q->leads)
		return 0;
	/* This voter's own support, and that of others in falling order. */
	for (uint32_t v = 0; v < q->conf.voters; v++) {
		uint64_t t = v == q->conf.me ? q->now_ns : q->supported[v];
		uint32_t i = n++;
		for (; i > 0 && of[i - 1] < t; i--)
			of[i] = of[i - 1];
		of[i] = t;
	}
	uint64_t at = of[n / 2];
	return at ? at + LEASE_SHARE(promise_ns(q)) : 0;
}

uint64_t
quorum_vacant_ns(const struct quorum *q)
{
	return q->leads ? q->vacant_ns : 0;
}

uint32_t
quorum_leader(const struct quorum *q)
{
	const char *address;
	raft_id id = 0;

	/* Only reads. */
	raft_leader((struct raft *)(uintptr_t)&q->raft, &id, &address);
	return id ? (uint32_t)(id - 1) : QUORUM_NOBODY;
}

uint64_t
quorum_term(const struct quorum *q)
{
	return q->raft.current_term;
}

static void
end_proposal(struct raft_apply *req, int status, void *result)
{
	(void)status, (void)result;
	raft_free(req);
}

bool
quorum_propose(struct quorum *q, const void *command, size_t len)
{
	BASE_ASSERT(len > 0 && len <= QUORUM_COMMAND_MAX);
	if (!q->leads)
		return false;
	struct raft_apply *req = raft_malloc(sizeof *req);
	struct raft_buffer buf = {raft_malloc(len), len};
	if (!req || !buf.base) {
		raft_free(req);
		raft_free(buf.base);
		return false;
	}
	memcpy(buf.base, command, len);
	if (raft_apply(&q->raft, req, &buf, 1, end_proposal)) {
		raft_free(req);
		raft_free(buf.base);
		return false;
	}
	if (!q->settling)
		settle_raft(q);
	return true;
}

bool
quorum_is_down(const struct quorum *q)
{
	return q->down || raft_state((struct raft *)(uintptr_t)&q->raft) == RAFT_UNAVAILABLE;
}

void
quorum_fail(struct quorum *q)
{
	if (q->down)
		return;
	q->count.write_failures++;
	q->down = true;
	review_lead(q);
}

const struct quorum_counts *
quorum_counters(const struct quorum *q)
{
	return &q->count;
}
