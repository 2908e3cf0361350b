/* SPDX-License-Identifier: BSD-2-Clause */
/* ft/ft.h - what survivors of a failure tell each other: failures, revoking, agreement.
 *
 * One object is one process of a job of `size` processes, 0 .. size - 1.  Processes of other jobs
 * have numbers behind them (ft_grow()), which are this process's alone; frames name them.
 *
 *     detector, launcher --ft_failed()-->         --ops.failed()-->   driver: slot is lost
 *     MPIX_Comm_revoke --ft_revoke()-->   object  --ops.revoked()-->  driver: context is void
 *     MPIX_Comm_agree --ft_agree()-->             --ops.agreed()-->   driver: call is done
 *     frames of others --ft_on_frame()-->         --ops.send()-->     frames to others
 *
 * Failures are final and never false: who is told of as failed sends nothing any more that this
 *	    process gets.  Every living process comes to know every failure, from its own detector
 *	    or from a frame.  A process that is itself told of as failed has to end.
 * Floods   A failure or a revocation goes to the next living process of a ring, and to those 2, 4,
 *	    8, ... places on.  When the next one fails, the one behind it gets all of them again:
 *	    so all the living get them, whoever dies and when.  Processes of several jobs are a
 *	    ring, too (ft_join()); each says something to the next one, so that its silence will
 *	    be noticed.
 * Agreement is uniform: no two processes end the same one with different results, also if one of
 *	    them dies at once; and it ends when all living members take part, whatever number of
 *	    others dies.  The lowest living member leads: it collects what each has (STATE),
 *	    PROPOSEs, and when all living ones have adopted that (ACK), DECIDEs.  When the leader
 *	    dies, the next one collects again and proposes what the highest leader before it has
 *	    proposed, if anybody has adopted that.  Messages: 4 n; n more for each leader that dies.
 * Result   the bitwise AND of two numbers and the largest of a third, over the members that took
 *	    part; who of the members had failed; whether one had not acknowledged that.
 * Kept     the result of the last agreement of each context, as who has heard of it may die before
 *	    others have; and the members of the last FT_REVOKED_MAX revocations.
 * Frames   ft_on_frame() takes any bytes; big-endian, see wire.c.
 * Order    of frames between two processes: as sent.  They are not lost, unless one of both fails.
 * Memory   by ft_memory, whose get() does not fail.
 * Threads  one owner.  ops are called from inside; ops.send() must not call back, ops.agreed()
 *	    may call ft_agree(). */
#ifndef FT_FT_H
#define FT_FT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FT_REVOKED_MAX 256
#define FT_SIZE_MAX    (1u << 20)

struct ft;

/* What all jobs call a process. */
struct ft_name {
	uint64_t job;
	uint32_t number;
};

struct ft_memory {
	void *(*get)(void *user, size_t bytes);
	void (*put)(void *user, void *p); /* NULL: nothing */
	void *user;
};

/* What a member brings to an agreement. */
struct ft_offer {
	uint64_t and_of[2]; /* with the complement of nothing: all ones */
	uint64_t max_of;
	/* By member: this process has acknowledged its failure.  NULL: all are. */
	const bool *acked;
};

struct ft_result {
	uint64_t and_of[2];
	uint64_t max_of;
	bool unacked; /* a member had failed, and not all who took part had acknowledged it */
	uint32_t n;
	const uint32_t *member; /* [n] */
	const uint8_t *failed;	/* bit i % 8 of byte i / 8: member i had failed */
};

struct ft_ops {
	/* frame is valid during the call; to has not failed. */
	void (*send)(void *user, uint32_t to, const void *frame, size_t len);
	/* Once for each process; it may be this one (see above). */
	void (*failed)(void *user, uint32_t rank);
	/* Once for each context. */
	void (*revoked)(void *user, uint64_t ctx);
	/* The agreement that ft_agree() called seq; r is valid during the call. */
	void (*agreed)(void *user, uint64_t ctx, uint32_t seq, const struct ft_result *r);
	/* The name of a process, and the number here of one, UINT32_MAX: nobody that is known.
	 * Both NULL: there are no other jobs. */
	struct ft_name (*name_of)(void *user, uint32_t rank);
	uint32_t (*find)(void *user, struct ft_name name);
};

/* X(name, help): what a process counts. */
#define FT_COUNTERS(X)                                              \
	X(sent, "frames about failures sent")                       \
	X(received, "frames about failures received")               \
	X(malformed, "those that are none, dropped")                \
	X(failures, "processes that this one knows to have failed") \
	X(revocations, "communicators that were revoked")           \
	X(agreements, "agreements that are over")                   \
	X(leaders, "times that this process became the leader of one")

/* Only grow. */
struct ft_counts {
#define X(n, help) uint64_t n;
	FT_COUNTERS(X)
#undef X
};

struct ft *ft_new(uint32_t rank, uint32_t size, const struct ft_ops *ops, void *user,
		  const struct ft_memory *memory);
void ft_free(struct ft *f);

/* The detector says so.  Again: nothing happens. */
void ft_failed(struct ft *f, uint32_t rank);
bool ft_has_failed(const struct ft *f, uint32_t rank);
/* Processes of other jobs got the numbers up to size.  It never shrinks. */
void ft_grow(struct ft *f, uint32_t size);
/* The members tell each other of their failures from now on, those known by now too: n different
 * processes by rising names, this one and some of other jobs among them.  ctx: what to call it in
 * ft_leave(), which does nothing if there is none. */
void ft_join(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n);
void ft_leave(struct ft *f, uint64_t ctx);
/* Context ctx is revoked, for these members: n different processes by rising names, this one
 * among them; in one job that is by rising ranks.  Again: nothing happens. */
void ft_revoke(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n);
/* This process takes part in the next agreement of ctx; all members call it equally often.
 * member: as above, the same at each call.  Returns its number, which ops.agreed() gets,
 * perhaps before this returns. */
uint32_t ft_agree(struct ft *f, uint64_t ctx, const uint32_t *member, uint32_t n,
		  const struct ft_offer *offer);
/* false: malformed; counted, and nothing has happened. */
bool ft_on_frame(struct ft *f, uint32_t from, const void *frame, size_t len);
const struct ft_counts *ft_counters(const struct ft *f);
/* Lists and limits agree; *what says which do not. */
bool ft_check(const struct ft *f, const char **what);

static inline bool
ft_result_has_failed(const struct ft_result *r, uint32_t i)
{
	return r->failed[i / 8] >> i % 8 & 1;
}

#endif
