/* SPDX-License-Identifier: BSD-2-Clause */
/* quorum/quorum.h - a few voters agree on one sequence of commands: Raft, by libraft.
 *
 * The algorithm is libraft's core.  This room is its I/O: a table of callbacks in terms of bytes
 * and now_ns, so the same core runs over the simulator's network and disk and over a daemon's.
 *
 *     frames of voters --quorum_on_frame()-->         --ops.send()-->     frames to voters
 *     time --quorum_turn()-->                 object  --ops.write()-->    journal, durable
 *     leader --quorum_propose()-->                    --ops.apply()-->    commands, in one order
 *     journal --quorum_new()-->                       --ops.lead()-->     this voter leads
 *
 * Lead	    ops.lead() comes when all that was agreed on before has been applied here; so what
 *	    the leader proposes follows from all of it.  ops.follow() ends it.
 * Lease    quorum_lease_ns() is the time until which nobody else can lead.  Frames carry the
 *	    sender's time and echo the receiver's; a voter that hears its leader promises to vote
 *	    for nobody else for election_ms.  Clocks may be apart by anything, their rates by 3 %;
 *	    a clock that steps forward counts as one that a tick of heartbeat_ms / 2 went by on.
 * Journal  what a voter must not forget: term, vote, entries, snapshot, as records with a CRC.
 *	    ops.write() appends and returns true once all of it is durable; ops.replace() puts new
 *	    bytes in place of all, in one step.  After a failed one the object is down: it sends
 *	    and does nothing any more, and is to be made anew from what the disk has.
 *	    They may also return true before it is durable, if whoever drives holds back all that
 *	    is sent from then on until it is; a write that fails later is told by quorum_fail().
 *	    quorum_new() takes what the disk has.  A last record that is cut off was never durable
 *	    and is left out; a bad one before others is an error, as something promised is gone.
 *	    An empty journal is a voter that has never voted: who loses a journal must not come
 *	    back with an empty one while the others have theirs.
 * Frames   may be lost, late, doubled and in any order.  They are not secret and prove nothing:
 *	    the channel seals them, and who has its key is believed.
 * Memory   libraft's (raft_malloc()): it keeps entries, snapshots and requests there.  Bounded by
 *	    snapshot_every commands and one state.
 * Units    ns, ms where libraft counts in them; voters are 0 .. voters - 1.
 * Threads  one owner; ops are called from inside and must not call back, but ops.lead() and
 *	    ops.apply() may call quorum_propose(). */
#ifndef QUORUM_QUORUM_H
#define QUORUM_QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUORUM_VOTERS_MAX  7
#define QUORUM_NOBODY	   UINT32_MAX
#define QUORUM_COMMAND_MAX (1u << 20)
#define QUORUM_STATE_MAX   (16u << 20)
#define QUORUM_WHY_MAX	   160

struct quorum;

struct quorum_conf {
	uint32_t me, voters;
	uint32_t election_ms; /* silence of a leader after which others may follow it */
	uint32_t heartbeat_ms;
	uint32_t snapshot_every; /* commands */
	uint64_t seed;		 /* of what libraft draws; different in each voter */
};

struct quorum_ops {
	void (*send)(void *user, uint32_t to, const void *frame, size_t len);
	bool (*write)(void *user, const void *bytes, size_t len);
	bool (*replace)(void *user, const void *bytes, size_t len);
	void (*apply)(void *user, const void *command, size_t len);
	/* The state that all applied commands have made: its length; bytes are written if they
	 * fit into room. */
	size_t (*save)(void *user, void *bytes, size_t room);
	/* In place of the state there is; false: not such a state. */
	bool (*restore)(void *user, const void *bytes, size_t len);
	void (*lead)(void *user, uint64_t term);
	void (*follow)(void *user);
};

/* X(name, help): what a voter counts. */
#define QUORUM_COUNTERS(X)                                                  \
	X(sent, "frames to other voters")                                   \
	X(received, "frames of other voters")                               \
	X(malformed, "those that are none, dropped")                        \
	X(promised, "calls for votes not looked at, as a leader was heard") \
	X(writes, "writes behind the end of the journal")                   \
	X(replaces, "times that the journal was written anew")              \
	X(write_failures, "of both, those that the disk refused")           \
	X(led, "times that this voter became the leader")

/* Only grow. */
struct quorum_counts {
#define X(n, help) uint64_t n;
	QUORUM_COUNTERS(X)
#undef X
};

/* NULL: the journal cannot be used, or libraft refuses; why says so. */
struct quorum *quorum_new(const struct quorum_conf *conf, const struct quorum_ops *ops, void *user,
			  const void *journal, size_t len, uint64_t now_ns,
			  char why[QUORUM_WHY_MAX]);
void quorum_free(struct quorum *q);

/* false: malformed; counted. */
bool quorum_on_frame(struct quorum *q, uint32_t from, const void *frame, size_t len,
		     uint64_t now_ns);
void quorum_turn(struct quorum *q, uint64_t now_ns);
uint64_t quorum_expiry_ns(const struct quorum *q);

/* Until then nobody else leads; 0: this voter does not lead. */
uint64_t quorum_lease_ns(const struct quorum *q);
/* Of who leads: for so long nobody could lead when ops.lead() came, by what those who voted for it
 * have promised, and the time in which they looked.  Not more than that is certain. */
uint64_t quorum_vacant_ns(const struct quorum *q);
/* Who leads, as far as this voter knows. */
uint32_t quorum_leader(const struct quorum *q);
uint64_t quorum_term(const struct quorum *q);
/* false: this voter does not lead, or its journal does not take it.  true: it may come about,
 * as ops.apply(), or get lost with the leadership. */
bool quorum_propose(struct quorum *q, const void *command, size_t len);
/* The disk failed where libraft cannot go on: make the object anew from its journal. */
bool quorum_is_down(const struct quorum *q);
/* A write that ops took has failed: as if it had at once. */
void quorum_fail(struct quorum *q);
const struct quorum_counts *quorum_counters(const struct quorum *q);

/* What a journal holds, for tools and tests: false, and why, if it cannot be used. */
struct quorum_journal_info {
	uint64_t term, vote, first, last; /* entries first .. last - 1; vote: voter + 1, 0: none */
	uint64_t snapshot;		  /* index of the last command in it; 0: there is none */
	size_t used;			  /* bytes; what is behind was cut off */
};
bool quorum_journal_read(const void *journal, size_t len, struct quorum_journal_info *info,
			 char why[QUORUM_WHY_MAX]);
/* A frame as it comes from a voter: well-formed? */
bool quorum_frame_read(const void *frame, size_t len);

#endif
