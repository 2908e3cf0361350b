/* SPDX-License-Identifier: BSD-2-Clause */
/* sp/node.h - a daemon of a cluster that goes on: unit master, voter, cluster master.
 *
 * A cluster is units (nodes), each with one daemon; the daemon starts and watches its processes.
 * The first `voters` units agree on views (quorum/quorum.h); who leads them is cluster master.
 *
 *     unit   --BEAT: I live, I have view n, this died, that is ready-->  master
 *     unit   <--ACK: I heard you, changes after n--			  master
 *     master --change: dead, role -> spare--> voters, agreed --> all units, within their ACKs
 *
 * Lease    An ACK that answers a beat lets the unit go on for lease_ns from when it *sent* that
 *	    beat, if it has the master's view and is up in it.  A master declares a unit dead
 *	    after detect_ns = beat_ns * missed of silence, so the unit's lease has run out by then:
 *	    lease_ns < detect_ns.  A master acks only while a majority stands behind it
 *	    (quorum_lease_ns()), and who becomes master counts silence from then on.  So: a view is
 *	    in force everywhere lease_ns after it was agreed on, or the unit stands still.
 * Fence    sp_node_may_act() is false without a lease; ops.fence() says so when time passes.
 *	    Processes are to be stopped (not ended): most leases come back.  Whoever is dead in a
 *	    view is to be ended.
 * Time	    of each daemon is its own, and never runs backwards; rates may differ by 3 %, who is
 *	    further off is put down as SP_WHY_CLOCK.  Only time in which a master looked counts as
 *	    silence of others: a master that was stopped does not find the others dead.
 * Restart  A daemon has an incarnation, larger each time it starts.  When a unit comes with a new
 *	    one, all its processes of before are dead.
 * Spares   A unit keeps as many processes as view 1 gives it, if severity says
 *	    restart-as-spare: ops.start(), then sp_node_ready(), then a slot in a view.
 *	    It waits restart_ns; longer where SP_FALLS in a row ended within SP_FALL_NS of their
 *	    beginning or of their role: twice as long each time, up to SP_AGAIN_NS.
 *	    With `refill` a spare that was used is made up for on another unit: so many wait, and
 *	    for each role that nobody plays one more is started, where fewest of that pool live.
 * Pools    A unit starts processes of a pool that is turned on as spares; roles go to them.
 * Later    Roles kept in SP_POOL_LATER get a pool while all runs (SP_OP_ROLES); units say then how
 *	    many processes of it they start (sp_node_want()).
 * Disk	    With late_disk ops.write() and ops.replace() only begin; sp_node_written() follows for
 *	    each, in their order.  What a voter sends meanwhile is held until all that was begun
 *	    before is durable, but for beats, which promise nothing: a slow disk costs a voter its
 *	    say, not its unit.  Whoever answers for what the view shows waits for
 *	    sp_node_is_durable().
 * Asking   Any unit may ask for facts and pools (sp_node_ask()).  The master proposes what is
 *	    asked for, if ops.fits() agrees; who asked goes on until a view shows it, or gives up.
 * Reports  go with every beat until the view shows them, so no master has to remember them.
 * Memory   the caller's, sp_node_footprint(); of voters also lib/quorum's.
 * Units    ns; units, slots and roles are numbers of one cluster.
 * Threads  one owner.  ops are called from inside and must not call back. */
#ifndef SP_NODE_H
#define SP_NODE_H

#include "quorum/quorum.h"
#include "sp/severity.h"
#include "sp/view.h"

#define SP_STARTS_MAX 64u /* processes of a unit that have no slot yet */
#define SP_PATHS_MAX  16u /* reports of paths, each for SP_PATH_NS */
#define SP_PATH_NS    UINT64_C(10000000000)
#define SP_FALLS      4u
#define SP_FALL_NS    UINT64_C(1000000000)
#define SP_AGAIN_NS   UINT64_C(60000000000)
#define SP_ASKS_MAX   128u
#define SP_ASK_NS     UINT64_C(3000000000) /* until an ask is given up */

struct sp_node_conf {
	uint32_t cluster, me;
	uint32_t voters; /* units 0 .. voters - 1 */
	struct sp_limits limits;
	const uint16_t *unit_of; /* of slots of view 1: roles, then spares; kept */
	uint32_t slots;		 /* of view 1 */
	const uint8_t *pool_of;	 /* of those slots; kept; NULL: 0 */
	uint64_t off;		 /* bits of pools that are off in view 1 */
	uint64_t cold;		 /* bits of pools that need no spare: who is started again comes */
	const struct sp_fact *fact; /* of view 1, limits.facts of them; kept */
	uint32_t incarnation;	    /* from 1 */
	uint64_t beat_ns;
	uint32_t missed;
	uint64_t lease_ns;   /* 0: 9/10 of beat_ns * missed */
	uint64_t hang_ns;    /* 0: processes need not give signs of life */
	uint64_t restart_ns; /* before a process is started again, at least */
	uint32_t election_ms, heartbeat_ms, snapshot_every;
	struct sp_severity severity;
	enum sp_none_left none_left;
	bool refill, late_disk;
	uint64_t seed;
};

/* X(id, what): a, b, why as it says. */
#define SP_EVENTS(X)                                                                     \
	X(LEAD, "this daemon is cluster master; a: views so far")                        \
	X(FOLLOW, "it is not any more")                                                  \
	X(LEASE, "this unit goes on: it has a lease again")                              \
	X(FENCED, "this unit stands still: its lease has run out")                       \
	X(NO_SPARE, "master: role a waits for a spare")                                  \
	X(GONE, "master: role a has no spare: the others go on without it")              \
	X(FULL, "master: a process of unit a cannot join, the table of slots is full")   \
	X(CLOCK, "master: the clock of unit a is b thousandths off")                     \
	X(OWN_CLOCK, "master: its own clock is b thousandths off: end this daemon")      \
	X(PATH, "master: slot a cannot reach slot b")                                    \
	X(FAILING, "processes of pool a end soon, again and again: b ms until the next") \
	X(DISK, "voter: the journal cannot be written; this voter does not vote")

enum sp_event_kind {
#define X(id, what) SP_EVENT_##id,
	SP_EVENTS(X)
#undef X
		SP_EVENT_COUNT
};

struct sp_event {
	enum sp_event_kind kind;
	uint32_t a, b;
};

struct sp_node_ops {
	void (*send)(void *user, uint32_t to, const void *frame, size_t len);
	/* A newer view holds on this unit.  Its own slots: those dead are to be ended; those that
	 * have a role now take it; those of view 1 that have no process yet are to be started. */
	void (*view)(void *user, const struct sp_view *v);
	void (*fence)(void *user, bool on);
	/* End the process of this slot, which gave no sign of life; then sp_node_died(). */
	void (*kill)(void *user, uint32_t slot);
	/* Start a process to be a spare; then sp_node_ready() or sp_node_gone(). */
	void (*start)(void *user, uint32_t token, uint8_t pool);
	void (*event)(void *user, const struct sp_event *e);
	/* Of the master: facts and pools may become so; NULL: all may. */
	bool (*fits)(void *user, const struct sp_view *plan);
	/* The journal of a voter; quorum/quorum.h. */
	bool (*write)(void *user, const void *bytes, size_t len);
	bool (*replace)(void *user, const void *bytes, size_t len);
};

/* X(name, help): what a node counts. */
#define SP_NODE_COUNTERS(X)                                       \
	X(sent, "frames to other units")                          \
	X(bytes_sent, "their bytes")                              \
	X(received, "frames of other units")                      \
	X(malformed, "those that are none, dropped")              \
	X(beats, "beats sent to the master")                      \
	X(acks, "answers to beats, as the master")                \
	X(stale, "frames of a master of before, dropped")         \
	X(held, "frames that waited for the disk")                \
	X(overheld, "those for which there was no room, dropped") \
	X(views, "views that came into force here")               \
	X(proposals, "views proposed as the master")              \
	X(refused, "those that others had overtaken")             \
	X(fenced, "times that the lease ran out and processes were stopped")

/* Only grow. */
struct sp_node_counts {
#define X(n, help) uint64_t n;
	SP_NODE_COUNTERS(X)
#undef X
};

struct sp_node;

size_t sp_node_footprint(const struct sp_node_conf *conf);
/* NULL: the journal cannot be used; why says so.  journal: NULL but for voters. */
struct sp_node *sp_node_new(const struct sp_node_conf *conf, const struct sp_node_ops *ops,
			    void *user, void *mem, const void *journal, size_t len, uint64_t now_ns,
			    char why[QUORUM_WHY_MAX]);
void sp_node_free(struct sp_node *n); /* not mem */

/* The oldest write that was begun is over; false: it failed (SP_EVENT_DISK follows).  Writes that
 * are still under way then are not to be told any more. */
void sp_node_written(struct sp_node *n, bool ok, uint64_t now_ns);
/* All that was begun is durable. */
bool sp_node_is_durable(const struct sp_node *n);
/* After SP_EVENT_DISK, when no write is under way: vote again, with what the disk has. */
bool sp_node_vote_again(struct sp_node *n, const void *journal, size_t len, uint64_t now_ns,
			char why[QUORUM_WHY_MAX]);

/* false: malformed; counted. */
bool sp_node_on_frame(struct sp_node *n, uint32_t from, const void *frame, size_t len,
		      uint64_t now_ns);
void sp_node_turn(struct sp_node *n, uint64_t now_ns);
uint64_t sp_node_expiry_ns(const struct sp_node *n);

/* What the driver sees of its processes. */
void sp_node_died(struct sp_node *n, uint32_t slot, enum sp_why why, uint64_t now_ns);
void sp_node_alive(struct sp_node *n, uint32_t slot, uint64_t now_ns);
void sp_node_ready(struct sp_node *n, uint32_t token, uint64_t now_ns);
void sp_node_gone(struct sp_node *n, uint32_t token, uint64_t now_ns);
/* The process of this slot can be reached: view.slot[].ready follows. */
void sp_node_reached(struct sp_node *n, uint32_t slot, uint64_t now_ns);
/* A process of that pool is of no use here: none is started again. */
void sp_node_forgo(struct sp_node *n, uint8_t pool);
/* How many processes of that pool this unit starts, and starts again.  Only grows. */
void sp_node_want(struct sp_node *n, uint8_t pool, uint32_t count, uint64_t now_ns);
/* SP_OP_FACT, _CLAIM, _POOL, _ROLES, as sp/view.h says; index: why of the operation.  What is
 * asked in one turn is agreed on together.  false: SP_ASKS_MAX are under way. */
bool sp_node_ask(struct sp_node *n, enum sp_op_kind kind, uint8_t index, uint32_t a, uint32_t b,
		 uint64_t now_ns);
/* How many are under way, and how many were given up so far. */
uint32_t sp_node_asks(const struct sp_node *n, uint64_t *given_up);
/* A process here (slot) cannot reach another. */
void sp_node_path_down(struct sp_node *n, uint32_t slot, uint32_t other, uint64_t now_ns);
/* An operator, at any unit: all is to stop, or this unit is to be emptied. */
void sp_node_stop(struct sp_node *n, enum sp_why why, uint64_t now_ns);
void sp_node_drain(struct sp_node *n, bool on, uint64_t now_ns);

const struct sp_view *sp_node_view(const struct sp_node *n); /* that holds here */
bool sp_node_joined(const struct sp_node *n);		     /* this unit is up in it */
bool sp_node_may_act(const struct sp_node *n, uint64_t now_ns);
bool sp_node_leads(const struct sp_node *n);
/* It leads, and nobody else can: it may grant leases. */
bool sp_node_reigns(const struct sp_node *n, uint64_t now_ns);
uint32_t sp_node_master(const struct sp_node *n); /* SP_NONE: not known */
/* Of a master: what it knows of a unit.  false: it is not master, or there is no such unit. */
struct sp_unit_info {
	bool heard;	    /* in this master's time */
	uint64_t silent_ns; /* of time in which it looked */
	uint64_t view;	    /* that the unit has */
	uint32_t incarnation;
};
bool sp_node_unit(const struct sp_node *n, uint32_t unit, struct sp_unit_info *info);
const struct sp_node_counts *sp_node_counters(const struct sp_node *n);
/* NULL: it is no voter, or does not vote now. */
const struct quorum_counts *sp_node_quorum(const struct sp_node *n);
bool sp_node_check(const struct sp_node *n, const char **what);
/* A frame is well-formed: for tools and tests. */
bool sp_frame_read(const void *frame, size_t len);

#endif
