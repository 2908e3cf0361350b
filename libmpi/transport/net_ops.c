/* SPDX-License-Identifier: BSD-2-Clause */
/* What Suci tells us: paths, blocks, notes. */
#include "net_internal.h"

#include "mpi/lanes.h"

#include "light.h"

#include "base/clock.h"
#include "relayproto/door.h"

#include <stdio.h>
#include <string.h>

#define eng lmpi_eng
#define net lmpi_net

#define STRANGERS_TOLD 4
#define LEAVE_NS       (2 * BASE_S_NS)
/* No launcher tells of the death of another job's process: its closed port does, when asked.  One
 * that computes answers nobody, so silence says nothing. */
#define STRANGER_BEAT_NS (100 * BASE_MS_NS)

/* --- blocks -------------------------------------------------------------- */

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now_ns)
{
	uint32_t rank = net.lane_rank[lane];

	(void)user, (void)now_ns;
	if (__builtin_expect(rank & LANE_TALK, 0))
		return lmpi_talk_block_begin(lane, bytes);
	if (net.pool)
		pathpool_heard(net.pool, rank);
	return lmpi_lanes_begin(&eng, &eng.peer[rank], bytes, first, first_len);
}

static void
block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	(void)user;
	if (__builtin_expect(net.lane_rank[lane] & LANE_TALK, 0))
		lmpi_talk_block_data(block, offset, data, len);
	else
		lmpi_lanes_data(block, offset, data, len);
}

static void
block_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	(void)user, (void)now_ns;
	if (__builtin_expect(net.lane_rank[lane] & LANE_TALK, 0))
		lmpi_talk_block_end(lane, block);
	else
		lmpi_lanes_end(&eng, block);
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	(void)user, (void)now_ns;
	if (__builtin_expect(net.lane_rank[lane] & LANE_TALK, 0))
		lmpi_talk_block_done(lane, cookie);
	else
		lmpi_lanes_done(&eng, cookie, ok);
}

static void
hold_event(void *user, uint64_t rx_cookie)
{
	(void)user;
	suci_udp_hold(net.udp, rx_cookie);
}

static void
release_event(void *user, uint64_t rx_cookie)
{
	(void)user;
	suci_udp_release(net.udp, rx_cookie);
}

/* --- lanes and paths ----------------------------------------------------- */

static void
lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	uint32_t rank = net.lane_rank[lane];

	(void)user;
	if (rank & LANE_TALK) {
		lmpi_talk_lane_down(lane);
		return;
	}
	struct lmpi_peer *peer = &eng.peer[rank];
	lmpi_route[peer->world].has_lane = false;
	if (lmpi_route[peer->world].door) {
		lmpi_doors_lane_down(peer->world, text);
		return;
	}
	/* A direct path's end is reported too, and says more. */
	if (lmpi_speaks_impi(peer) && lmpi_outlive && lmpi_outlive(peer->world))
		return;
	if (lmpi_speaks_impi(peer) && !eng.closing)
		lmpi_fail("the connection with rank %u over the relays %s%s%s", peer->world,
			  why == SUCI_DOWN_LOCAL ? "cannot go on" : suci_down_does(why),
			  text && *text ? ": " : "", text ? text : "");
}

bool (*lmpi_net_wanted)(uint32_t world);

static void
fail_of_stranger(uint32_t world, enum suci_down why, const char *text)
{
	const struct lmpi_proc *p = &lmpi_world.proc[world];
	char name[SUCI_ADDR_TEXT_MAX];

	suci_addr_text(&lmpi_route[world].at, name);
	if (lmpi_route[world].door && why == SUCI_DOWN_CLOSED) {
		lmpi_fail_as(
			text && *text ? relay_text_status(text) : 1,
			"process %u of a job that this one is connected to (%s in its cluster) "
			"is gone%s%s",
			p->number, name, text && *text ? ": " : "", text ? text : "");
		return;
	}
	lmpi_fail_as(text ? relay_text_status(text) : 1,
		     "process %u of a job that this one is connected to (%s%s%s) %s%s%s", p->number,
		     name, p->node[0] ? " on " : "", p->node, suci_down_does(why),
		     text && *text ? ": " : "", text ? text : "");
}

/* A process of another job has gone.  Who takes leave has met this one before, but this one may be
 * about to hear so: it gets the time for that. */
void
lmpi_net_stranger_down(uint32_t world, enum suci_down why, const char *text)
{
	if (!lmpi_net_wanted || !lmpi_net_wanted(world))
		return;
	if (why != SUCI_DOWN_CLOSED && lmpi_outlive && lmpi_outlive(world))
		return;
	if (text && *text && why == SUCI_DOWN_CLOSED && strcmp(text, LMPI_FINISHED) != 0) {
		if (!lmpi_outlive || !lmpi_outlive(world))
			fail_of_stranger(world, why, text);
		return;
	}
	lmpi_route[world].gone = (uint8_t)(why + 1);
	if (net.strangers_due_ns == BASE_NEVER_NS)
		net.strangers_due_ns = eng.now_ns + LEAVE_NS;
}

void
lmpi_net_miss_strangers(void)
{
	net.strangers_due_ns = BASE_NEVER_NS;
	for (uint32_t r = lmpi_world.size; r < lmpi_world.slots; r++) {
		uint8_t gone = lmpi_route[r].gone;
		lmpi_route[r].gone = 0;
		if (gone && lmpi_route[r].path == UINT32_MAX && lmpi_net_wanted &&
		    lmpi_net_wanted(r) && (!lmpi_outlive || !lmpi_outlive(r)))
			fail_of_stranger(r, (enum suci_down)(gone - 1), NULL);
	}
}

static void
event_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	uint32_t use = net.path_use[path];
	char name[SUCI_ADDR_TEXT_MAX];

	(void)user;
	net.path_use[path] = USE_NONE;
	lmpi_doors_path_down(path, suci_down_does(why), text);
	if (use == USE_DOOR)
		return;
	if (lmpi_relays_path_down(path, why, suci_down_does(why), text))
		return;
	if (use == USE_NONE || use == USE_OTHER_RELAY)
		return;
	const char *sep = text && *text ? ": " : "";
	struct lmpi_route *r = &lmpi_route[use];
	r->path = UINT32_MAX;
	if (lmpi_pool_down(use, why))
		return;
	/* Nobody takes leave before all have met to end the job, so who does has got
	 * all that was sent, our last message included, acknowledged or not. */
	if (eng.closing || (eng.ending && why == SUCI_DOWN_CLOSED && !lmpi_outlive))
		return;
	if (use >= lmpi_world.size) {
		lmpi_net_stranger_down(use, why, text);
		return;
	}
	if (lmpi_outlive && lmpi_outlive(use))
		return;
	suci_addr_text(&r->at, name);
	lmpi_fail_as(text ? relay_text_status(text) : 1, "rank %u%s%s (%s) %s%s%s", use,
		     lmpi_world.proc[use].node[0] ? " on " : "", lmpi_world.proc[use].node, name,
		     suci_down_does(why), sep, text ? text : "");
}

/* Who sends with that label over a path of that use; UINT32_MAX: nobody that is known. */
static uint32_t
sender_of(uint32_t label, uint32_t use)
{
	if (label == LMPI_LABEL_STRANGER)
		return use >= lmpi_world.size && use < lmpi_world.slots ? use : UINT32_MAX;
	return label >= LMPI_LABEL_BASE && label - LMPI_LABEL_BASE < lmpi_world.size
		       ? label - LMPI_LABEL_BASE
		       : UINT32_MAX;
}

/* A segment for a pair of labels without a lane: the other side was first. */
static enum suci_verdict
lane_unknown(void *user, uint32_t path, uint32_t dst_label, uint32_t src_label)
{
	uint32_t use = net.path_use[path], rank = sender_of(src_label, use);

	(void)user;
	if (dst_label != LMPI_LABEL_BASE + lmpi_world.rank)
		return lmpi_doors_unknown(path, dst_label, src_label);
	if (rank == UINT32_MAX || use == USE_NONE)
		return SUCI_DROPPED;
	struct lmpi_peer *peer = &eng.peer[rank];
	enum lmpi_reach reach = lmpi_route[rank].reach;
	if (peer->lost)
		return SUCI_DROPPED;
	if (reach == LMPI_REACH_RELAY && (use & USE_RELAY)) {
		/* Answers go over the relays as everything does, whichever brought this.  Before
		 * all that start-up named are there, how large segments may be is not known. */
		if (!net.connected || !relayset_any_up(net.relays))
			return SUCI_REFUSED;
	} else if (reach != LMPI_REACH_DIRECT || use != rank) {
		return SUCI_DROPPED;
	}
	return lmpi_net_open_lane(peer, path) ? SUCI_TAKEN : SUCI_DROPPED;
}

/* Who says that hello, as its path's other end; UINT32_MAX: nobody that is known. */
static uint32_t
slot_of_hello(const struct relay_hello *h)
{
	if (h->token == relay_hello_token(lmpi_loop.token, h->label))
		return h->rank < lmpi_world.size ? h->rank : UINT32_MAX;
	for (uint32_t r = lmpi_world.size; r < lmpi_world.slots; r++)
		if (lmpi_world.proc[r].number == h->rank && lmpi_world.proc[r].job &&
		    h->token == lmpi_net_hello_token(r, h->label))
			return r;
	return UINT32_MAX;
}

/* A gateway has no business with processes. */
static bool
hello_known(const void *hello, size_t len, struct relay_hello *h)
{
	return relay_hello_decode(hello, len, h) == 0 && h->kind != RELAY_HELLO_GATEWAY;
}

uint32_t
lmpi_net_hello_from(const void *hello, size_t len)
{
	struct relay_hello h;

	return hello_known(hello, len, &h) && h.kind == RELAY_HELLO_PROCESS &&
			       h.label == LMPI_LABEL_BASE + lmpi_world.rank
		       ? slot_of_hello(&h)
		       : UINT32_MAX;
}

/* NULL: that process may come. */
static const char *
why_not_accept(const struct relay_hello *h, const char *not_mine)
{
	uint32_t slot = slot_of_hello(h);

	if (slot == UINT32_MAX)
		return h->token == relay_hello_token(lmpi_loop.token, h->label) ? "no such rank"
										: not_mine;
	/* With a guest of this machine only messages go another way. */
	if (lmpi_route[slot].reach != LMPI_REACH_DIRECT &&
	    (lmpi_route[slot].reach != LMPI_REACH_SHM || slot < lmpi_world.size))
		return "no such rank";
	return eng.peer[slot].lost ? "this job goes on without you" : NULL;
}

static int
accept_path(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	    char why[SUCI_TEXT_MAX])
{
	/* Who guesses the token does not hear whether the label was right. */
	static const char not_mine[] = "another job, or another process lives here";
	struct relay_hello h;
	const char *wrong = NULL;

	(void)user, (void)from;
	if (!hello_known(hello, hello_len, &h))
		wrong = "not a hello this libmpi knows";
	else if (h.label != LMPI_LABEL_BASE + lmpi_world.rank)
		wrong = not_mine;
	else if (h.kind == RELAY_HELLO_PROCESS)
		wrong = why_not_accept(&h, not_mine);
	else if (h.token != relay_hello_token(lmpi_loop.token, h.label))
		wrong = not_mine;
	if (wrong)
		snprintf(why, SUCI_TEXT_MAX, "%s", wrong);
	else if (net.pool && h.kind == RELAY_HELLO_PROCESS &&
		 !pathpool_may_come(net.pool, slot_of_hello(&h), eng.now_ns))
		return SUCI_LATER;
	return wrong ? -1 : 0;
}

/* One other process, and no relay that may come from wherever it likes: the kernel may know
 * it (driver/suci_udp.h).  If it does not want to, nothing is lost but time. */
static void
connect_sole(const struct suci_addr *addr)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < lmpi_world.size && n < 2; r++)
		n += lmpi_route[r].reach == LMPI_REACH_DIRECT;
	if (n == 1 && lmpi_world.slots == lmpi_world.size && relayset_count(net.relays) == 0)
		(void)suci_udp_connect(net.udp, addr);
}

static void
event_path_up(void *user, uint32_t path, const struct suci_addr *addr, const void *hello,
	      size_t hello_len, bool incoming)
{
	struct relay_hello h = {0};
	uint32_t use = net.path_use[path];
	bool known = hello_known(hello, hello_len, &h);

	(void)user;
	if (use == USE_DOOR) {
		lmpi_doors_path_up(path, hello, hello_len);
		return;
	}
	if (known && h.kind == RELAY_HELLO_PROCESS)
		connect_sole(addr);
	/* One that we opened counts as a relay whatever it says. */
	if (relayset_on_path(net.relays, path) != RELAYSET_NONE ||
	    (use == USE_NONE && known && h.kind == RELAY_HELLO_RELAY)) {
		bool taken =
			relayset_path_up(net.relays, path, addr, known ? h.mtu : 0, eng.now_ns);
		net.path_use[path] = taken ? USE_RELAY : USE_OTHER_RELAY;
		net.dirty |= taken;
		if (taken)
			lmpi_doors_relay_up();
		return;
	}
	uint32_t slot = use;
	if (use == USE_NONE) {
		/* accept_path() has checked it. */
		bool process = incoming && known && h.kind == RELAY_HELLO_PROCESS;
		slot = process ? slot_of_hello(&h) : UINT32_MAX;
		if (slot == UINT32_MAX || eng.peer[slot].lost)
			return;
		net.path_use[path] = slot;
		lmpi_route[slot].path = path;
	}
	if (slot >= lmpi_world.size && slot < lmpi_world.slots)
		suci_path_set_liveness(net.ep, path, 0, STRANGER_BEAT_NS);
	if (net.pool && slot < lmpi_world.slots)
		pathpool_up(net.pool, slot);
}

static void
note_list(uint32_t path, const void *bytes, size_t len)
{
	struct relay_list l;

	if (relay_list_decode(bytes, len, &l) == 0 && l.label_base == LMPI_LABEL_BASE &&
	    l.token == (uint32_t)lmpi_loop.token)
		relayset_list(net.relays, path, &l);
}

static void
note_light(uint32_t path, const void *bytes, size_t len)
{
	uint32_t relay = relayset_on_path(net.relays, path);

	if (relay != RELAYSET_NONE)
		lmpi_light_note(relay, bytes, len);
}

static void
note_event(void *user, uint32_t path, const void *bytes, size_t len, uint64_t now_ns)
{
	struct relay_note n;

	uint32_t use = net.path_use[path];

	(void)user, (void)now_ns;
	if (len > 0 && *(const uint8_t *)bytes == RELAY_NOTE_DOOR) {
		lmpi_doors_note(path, bytes, len);
		return;
	}
	if (relay_note_decode(bytes, len, &n) || (eng.closing && n.type != RELAY_NOTE_REST))
		return; /* who is still at work may need the place */
	switch ((enum relay_note_type)n.type) {
	case RELAY_NOTE_LIGHT:
		note_light(path, bytes, len);
		break;
	case RELAY_NOTE_RELAYS:
		note_list(path, bytes, len);
		break;
	case RELAY_NOTE_WAYS:
		if (n.label_base == LMPI_LABEL_BASE && n.token == (uint32_t)lmpi_loop.token)
			relayset_ways(net.relays, path, n.ways, n.resend, n.lit);
		break;
	case RELAY_NOTE_DEATH:
		(void)relayset_death(net.relays, &n);
		break;
	case RELAY_NOTE_ABORT:
		if (n.label_base == LMPI_LABEL_BASE)
			lmpi_fail_as(relay_text_status(n.text), "the job was ended: %s",
				     n.text[0] ? n.text : "no reason given");
		break;
	case RELAY_NOTE_REST:
		lmpi_pool_note(use, &n);
		break;
	case RELAY_NOTE_LEAVE:
	case RELAY_NOTE_PING:
	case RELAY_NOTE_LOST:
		break;
	}
}

/* Whoever is refused asks again and again: a few lines are enough. */
static void
event_stranger(void *user, const struct suci_addr *from, const uint8_t *public_key,
	       const struct seal_peer *known)
{
	static uint32_t told;
	char key[2 * SEAL_DH + 1] = "", name[SUCI_ADDR_TEXT_MAX];

	(void)user;
	if (told++ >= STRANGERS_TOLD)
		return;
	if (public_key)
		seal_hex(public_key, key);
	fprintf(stderr, "libmpi: %s is refused: ", suci_addr_ip_text(from, name));
	if (!public_key)
		fprintf(stderr,
			"one of us has an identity (LIBMPI_IDENTITY_FILE), the other none\n");
	else if (known)
		fprintf(stderr,
			"its public key is that of site %s, whose prefixes in LIBMPI_PEERS_FILE do "
			"not cover this address\n",
			known->name);
	else
		fprintf(stderr, "its public key %s is not in LIBMPI_PEERS_FILE\n", key);
}

const struct suci_lane_ops lmpi_net_ops = {
	.block_begin = block_begin,
	.block_data = block_data,
	.block_end = block_end,
	.block_done = block_done,
	.hold = hold_event,
	.release = release_event,
	.lane_down = lane_down,
	.lane_unknown = lane_unknown,
	.accept = accept_path,
	.path_up = event_path_up,
	.path_down = event_path_down,
	.note = note_event,
	.stranger = event_stranger,
};
