/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/away.h - ranks of other sites: our door at one relay of this site or at two, lanes to the
 * doors of those ranks, and how a job goes on when a way breaks (doc/mmp.md, Sites).
 *
 * The owner has the endpoint, its clock, and the ranks of its own site.  It hands in what happens
 * on paths, lanes and notes that are of here (mmp_away_at, mmp_away_has_talk), and calls
 * mmp_away_turn() with each of its turns, at the latest at mmp_away_expiry_ns().
 *
 *     before mmp_away_know()  the door is registered; how the ranks learn each other's is the
 *                             owner's (meet.h)
 *     after it                each rank is imported and has a lane, until it is lost for good
 *
 * A way breaks when a relay ends, is started anew, or a trunk is lost for long.  Then the rank's
 * lane is closed, nothing more is sent to it, and its blocks are kept (link.h).  If our door is at
 * another relay, too, or the way comes back, it is reached anew as before.  Our door is asked for
 * again by the address that it had.  So ranks that lose their doors at the same time find each
 * other where they were.  If no relay gives it back, it gets another one: each rank elsewhere is
 * told (MOVED), at the address of its own that we know, and answers before the lane is opened.
 *
 * conf.wait_ns  so long a broken way is waited for, while this process has its turns; then the rank
 *               is lost.  0: a broken way is the end, as if the rank had died.
 * Threads       one owner, the engine's.  Memory  fixed when it is made. */
#ifndef MMP_AWAY_H
#define MMP_AWAY_H

#include "door/sites.h"
#include "mmp/lanes.h"
#include "mmp/meet.h"

#define MMP_AWAY_WHY	 120
#define MMP_AWAY_MEETING 1u /* label of a door; the others are of turns */
#define MMP_AWAY_LABELS	 (MMP_LINK_SLOTS + 1u)
#define MMP_AWAY_OWN	 0u /* our door's place at the client */
/* Bounds for the owner's tables: lanes to the ranks, being told by and telling each. */
#define MMP_AWAY_LANES(n) (3u * (n))

struct mmp_away_ops {
	/* Our door is there, at first or anew; or none can be had (client.own state). */
	void (*opened)(void *user);
	/* It has its first lane. */
	void (*up)(void *user, uint32_t rank);
	/* Its way broke; it is waited for. */
	void (*paused)(void *user, uint32_t rank, const char *why);
	/* For good; whatever it had here is closed. */
	void (*lost)(void *user, uint32_t rank, const char *why);
	/* Before the ranks are known: rank 0's door is reached, or is not (any more). */
	void (*met)(void *user, uint32_t label);
	void (*missed)(void *user, const char *why);
	/* And somebody speaks to ours. */
	enum suci_verdict (*called)(void *user, uint32_t path, uint32_t dst, uint32_t src);
	/* NULL, or: once the ranks are known, what somebody said at our meeting.  true: it is not
	 * that he moved, and was answered on that lane. */
	bool (*asked)(void *user, uint32_t lane, const uint8_t *in, size_t len);
	/* NULL, or: who called us by that label has gone, or calls by another relay now.  Then what
	 * he says is of a new lane. */
	void (*left)(void *user, uint32_t site, uint32_t label);
};

struct mmp_away_conf {
	uint32_t rank, size, lanes_max;
	const bool *elsewhere; /* [size]; not kept */
	uint64_t job, realm;
	struct mmp_card me; /* without the door */
	uint32_t relays;
	struct suci_addr relay[DOOR_CLIENT_SITES];
	uint64_t live_ns; /* a path to a relay that is silent so long is gone, also if we compute */
	uint64_t silence_ns; /* the same, of a rank that computes inline */
	uint64_t wait_ns;
	uint8_t secret[DOOR_CLIENT_SECRET];
	struct suci *ep;
	struct mmp_lanes *lanes;
	struct mmp_engine *engine;
	const struct mmp_away_ops *ops;
	void *user;
};

struct mmp_away_rank {
	struct mmp_card card;
	uint64_t origin; /* proof of its first door: who says that it moved knows it */
	uint32_t import, lane, talk;
	uint32_t told, saying; /* turn of our door that it knows, that talk says */
	bool elsewhere, up, over, waits;
	uint64_t waited_ns, unheard_ns; /* for its way; on this lane */
	uint32_t acked;			/* of the lane, and since when not more */
	uint64_t acked_ns;
	char why[MMP_AWAY_WHY];
};
/* A lane on which one says MOVED and the other answers. */
struct mmp_away_talk {
	bool used, out;
	uint32_t rank;	      /* out */
	uint32_t site, label; /* in: who is held */
	uint64_t bytes;
	uint8_t in[MMP_NO_MAX];
};
_Static_assert(MMP_MOVED_BYTES <= MMP_NO_MAX, "both fit");

struct mmp_away {
	struct mmp_away_conf conf;
	struct door_client client;
	struct door_client_own own[1];
	struct mmp_away_rank *rank; /* [size] */
	struct mmp_away_talk *talk; /* by lane */
	struct door_sites sites;
	uint32_t fars, door_turn; /* how often our door got another address */
	struct door_address told; /* that address, once the ranks are known */
	uint32_t agains;
	uint64_t again_ns; /* it is asked for again */
	bool known, stopped, dirty, unpushed, again;
	uint64_t now_ns, due_ns, look_ns, looked_ns;
	uint64_t breaks, moves; /* ways that broke; ranks that were told of another door */
};

size_t mmp_away_footprint(uint32_t size, uint32_t fars, uint32_t lanes_max);
/* mem: so many bytes, zeros.  The links of those elsewhere are in it, too. */
struct mmp_away *mmp_away_new(void *mem, const struct mmp_away_conf *c, uint64_t now_ns);
/* The doors of all. */
void mmp_away_know(struct mmp_away *a, const struct mmp_card *card);
/* Nothing is opened any more: we leave, or fail. */
void mmp_away_stop(struct mmp_away *a);

/* At the beginning of a turn of the owner, before anything is handed in. */
static inline void
mmp_away_now(struct mmp_away *a, uint64_t now_ns)
{
	a->now_ns = now_ns;
}
void mmp_away_turn(struct mmp_away *a, uint64_t now_ns);
uint64_t mmp_away_expiry_ns(const struct mmp_away *a);

/* The relay that path goes to; NONE. */
uint32_t mmp_away_at(const struct mmp_away *a, uint32_t path);
/* false: it is no relay, and the path is closed. */
bool mmp_away_path_up(struct mmp_away *a, uint32_t path, const void *hello, size_t len);
void mmp_away_path_down(struct mmp_away *a, uint32_t path);
void mmp_away_note(struct mmp_away *a, uint32_t path, const void *note, size_t len);
/* A segment for labels that no lane has, on such a path. */
enum suci_verdict mmp_away_came(struct mmp_away *a, uint32_t path, uint32_t dst, uint32_t src);
/* The lane of that rank ended. */
void mmp_away_lane_down(struct mmp_away *a, uint32_t rank, enum suci_down why, const char *text);

bool mmp_away_send(struct mmp_away *a, uint32_t rank, const struct mmp_head *h, const void *data,
		   uint32_t name);
/* It is over: the owner found it broken, say. */
void mmp_away_drop(struct mmp_away *a, uint32_t rank);
/* For the owner, before the ranks are known. */
bool mmp_away_import(struct mmp_away *a, uint32_t rank, const struct door_address *at);
/* Why a rank's way is gone, in words. */
const char *mmp_away_word(const struct mmp_away *a, enum door_client_lost why, char *out);

/* Lanes of talks and their blocks. */
static inline bool
mmp_away_has_talk(const struct mmp_away *a, uint32_t lane)
{
	return a->talk[lane].used;
}
void *mmp_away_talk_begin(struct mmp_away *a, uint32_t lane, uint64_t bytes);
void mmp_away_talk_data(struct mmp_away *a, uint32_t lane, uint64_t off, const uint8_t *data,
			size_t len);
void mmp_away_talk_end(struct mmp_away *a, uint32_t lane);
void mmp_away_talk_done(struct mmp_away *a, uint32_t lane);
void mmp_away_talk_down(struct mmp_away *a, uint32_t lane);

#endif
