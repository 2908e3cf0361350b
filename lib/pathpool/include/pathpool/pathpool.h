/* SPDX-License-Identifier: BSD-2-Clause */
/* pathpool/pathpool.h - the direct paths of a process, no more than so many at a time.
 *
 * A process of a large job talks to few others at a time.  Its paths are kept while it uses them;
 * the one that was used least recently goes when another needs its place, and comes back on demand.
 *
 *     pathpool_may_send(peer)     yes: use its path; no: keep it until ops->ready(peer)
 *     pathpool_up, _down, _told   what the transport hears of the path
 *     pathpool_may_come(peer)     the peer opens one: is there room?
 *     pathpool_turn               asks, tries again; by pathpool_expiry() at the latest
 *
 * A path is put to rest by agreement, or what is under way would be lost:
 *
 *   1. One end has nothing under way and nothing to send: it asks (PATHPOOL_MAY_REST) and keeps
 *      back what it has for the peer from then on.
 *   2. The other end, if it has nothing either, closes the path with the text PATHPOOL_RESTS.
 *      Else it answers PATHPOOL_NOT_NOW, and the path stays.
 *
 * All that the asking end sent was acknowledged before, and what the other one sent was so when it
 * closed: nothing is lost and nothing comes twice.  Both may ask; both may close.  A question has a
 * number, which the answer repeats.  One that is not answered is put again after PATHPOOL_AGAIN_NS:
 * if the CLOSE was lost, the peer knows no such path, and says so.
 *
 * Who has no answer after PATHPOOL_PATIENCE_NS asks another peer as well: one that computes answers
 * nobody.  If all paths are busy for as long, that which was used least recently gets nothing more
 * to send until it has been put to rest.  An open for which there is no room is not answered; the
 * opener repeats it after 1, 2, 4 .. 64 ms, and meanwhile the other end makes room.  It is never
 * refused: a refusal that is late could meet the next open of the same pair.
 *
 * At most half of the paths are such as open.  The others come, or rest and make room for some that
 * come: so of many that open to each other in a circle none waits for ever.
 *
 * Units    nanoseconds.  Peers are the caller's numbers, below peers_max.
 * Threads  one owner; ops are called from within calls, and may not call back but for
 *          pathpool_down() out of close.
 * Time     a turn costs by paths, not by peers: those that wait for one are not looked at.
 * Limits   paths_max 2 or more.  Never more paths than that: those that open or ask count.
 * Errors   none of its own: a path that goes down and was not at rest is the caller's affair. */
#ifndef PATHPOOL_PATHPOOL_H
#define PATHPOOL_PATHPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATHPOOL_RESTS	     "at rest"
#define PATHPOOL_PATIENCE_NS 1000000ull
#define PATHPOOL_AGAIN_NS    250000000ull

enum pathpool_say { PATHPOOL_MAY_REST, PATHPOOL_NOT_NOW };

struct pathpool_ops {
	/* Begin to open the path to peer.  false: it cannot be, and the caller has seen to it. */
	bool (*open)(void *user, uint32_t peer, uint64_t now_ns);
	/* Say again at once that it is to open. */
	void (*nudge)(void *user, uint32_t peer, uint64_t now_ns);
	void (*close)(void *user, uint32_t peer, const char *text, uint64_t now_ns);
	/* Is something for that peer under way on its path? */
	bool (*busy)(void *user, uint32_t peer);
	/* Does something for it wait for pathpool_may_send()? */
	bool (*waits)(void *user, uint32_t peer);
	/* pathpool_may_send() has said no, and may say something else now. */
	void (*ready)(void *user, uint32_t peer);
	/* Tell it.  false: not now, ask me again. */
	bool (*say)(void *user, uint32_t peer, enum pathpool_say say, uint32_t number,
		    uint64_t now_ns);
};

#define PATHPOOL_COUNTERS(X)                                    \
	X(opened, "paths that were opened")                     \
	X(rested, "paths that made room for others")            \
	X(put_off, "paths of others that had to wait")          \
	X(asked, "times a peer was asked whether one may rest") \
	X(not_now, "times it said not now")                     \
	X(most, "paths at a time, at most")
struct pathpool_counters {
#define X(n, h) uint64_t n;
	PATHPOOL_COUNTERS(X)
#undef X
};

struct pathpool;

size_t pathpool_footprint(uint32_t peers_max);
/* mem: that many bytes, aligned for anything. */
struct pathpool *pathpool_new(void *mem, uint32_t peers_max, uint32_t paths_max,
			      const struct pathpool_ops *ops, void *user);

/* May something be sent to peer now?  Its path is then the one used last.  Else ops->ready tells
 * when to ask again. */
bool pathpool_may_send(struct pathpool *p, uint32_t peer, uint64_t now_ns);
/* Something came from it. */
void pathpool_heard(struct pathpool *p, uint32_t peer);

/* May a path that peer opens come up?  false: not now, do not answer (SUCI_LATER). */
bool pathpool_may_come(struct pathpool *p, uint32_t peer, uint64_t now_ns);
void pathpool_up(struct pathpool *p, uint32_t peer);
/* closed: by the peer, or it knows no such path (SUCI_DOWN_CLOSED, _RESET).  true: it was to go;
 * nothing has failed. */
bool pathpool_down(struct pathpool *p, uint32_t peer, bool closed, uint64_t now_ns);
/* The peer says so. */
void pathpool_told(struct pathpool *p, uint32_t peer, enum pathpool_say say, uint32_t number,
		   uint64_t now_ns);

void pathpool_turn(struct pathpool *p, uint64_t now_ns);
uint64_t pathpool_expiry(const struct pathpool *p);

const struct pathpool_counters *pathpool_counters(const struct pathpool *p);
/* For tests: do lists and counts agree?  Walks everything; *what names the rule that does not hold.
 */
bool pathpool_check(const struct pathpool *p, const char **what);

#endif
