/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/ft/internal.h - what the parts know of each other.
 *
 *   ft.c      the object, failures, floods
 *   agree.c   agreements
 *   wire.c    frames */
#ifndef FT_INTERNAL_H
#define FT_INTERNAL_H

#include "ft/ft.h"

#define FT_CONTEXT_BINS 256

/* What is agreed on; bits by member. */
struct ft_value {
	uint64_t and_of[2], max_of;
	uint8_t *failed, *acked; /* [ft_bytes(n)] */
};

enum ft_type { FT_FAILED = 1, FT_REVOKE, FT_STATE, FT_PROPOSE, FT_ACK, FT_DECIDE };

/* A frame of an agreement. */
struct ft_msg {
	enum ft_type type;
	bool decided, adopted; /* STATE: value is the result, or what leader proposed */
	uint64_t ctx;
	uint32_t seq, n;
	uint32_t leader;       /* member that proposed the value */
	uint32_t floor;	       /* STATE: the sender has the results of all agreements before it;
				* PROPOSE, DECIDE: all living members have */
	struct ft_value value; /* but ACK; as received: points into the frame */
};

/* A frame for an agreement in which this process does not take part yet. */
struct ft_held {
	struct ft_held *next;
	uint32_t from;
	size_t len;
	uint8_t frame[];
};

struct ft_agreement {
	struct ft_agreement *next; /* of its context, the newest first */
	uint32_t seq;
	bool begun, decided, told, adopted, proposed;
	uint32_t n, me, leader, proposer; /* indexes of members; proposer: of what was adopted */
	uint32_t floor;
	uint32_t *member;
	uint8_t *got, *acks;	/* bits by member */
	struct ft_value offers; /* of all that are known here, together */
	struct ft_value value;	/* adopted, later decided */
	struct ft_held *held, **held_end;
};

struct ft_context {
	struct ft_context *next;
	uint64_t ctx;
	uint32_t seq;	/* of the next agreement that begins here */
	uint32_t floor; /* results of those before are not kept any more */
	struct ft_agreement *first;
};

struct ft_revocation {
	struct ft_revocation *next; /* the newest first */
	uint64_t ctx;
	uint32_t n;
	uint32_t member[];
};

struct ft_group {
	struct ft_group *next;
	uint64_t ctx;
	uint32_t n;
	uint32_t member[];
};

struct ft {
	uint32_t rank, own, size; /* own: of this job */
	const struct ft_ops *ops;
	void *user;
	struct ft_memory memory;
	uint8_t *failed; /* bits */
	uint32_t failures;
	struct ft_context *bin[FT_CONTEXT_BINS];
	struct ft_group *groups;
	struct ft_revocation *revoked;
	uint32_t revocations;
	uint64_t *revoked_ctx; /* all there were, sorted by nothing */
	uint32_t revoked_n, revoked_room;
	uint8_t *frame; /* to be sent */
	size_t frame_room;
	bool telling;
	uint32_t untold; /* results that ops.agreed() has not got */
	struct ft_counts count;
};

static inline size_t
ft_bytes(uint32_t n)
{
	return (n + 7) / 8;
}

static inline bool
ft_bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static inline void
ft_bit_set(uint8_t *bits, uint32_t i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

/* --- ft.c */
void *ft_get(struct ft *f, size_t bytes); /* zeros */
void ft_put(struct ft *f, void *p);
/* The frame in f->frame, unless that process has failed. */
void ft_send(struct ft *f, uint32_t to, size_t len);

/* --- wire.c.  Those that write do so to f->frame, and return its length. */
/* names: it goes to other jobs, too. */
size_t ft_write_list(struct ft *f, enum ft_type type, uint64_t ctx, const uint32_t *rank,
		     uint32_t n, bool names);
size_t ft_write_msg(struct ft *f, const struct ft_msg *m);
/* 0: malformed. */
enum ft_type ft_read_type(const uint8_t *frame, size_t len);
/* rank: [len / 4]; those that are known. */
bool ft_read_list(const struct ft *f, uint32_t from, const uint8_t *frame, size_t len,
		  uint64_t *ctx, uint32_t *rank, uint32_t *n);
bool ft_read_msg(const struct ft *f, const uint8_t *frame, size_t len, struct ft_msg *m);

/* --- agree.c */
/* Known failures have changed. */
void ft_agreements_review(struct ft *f);
bool ft_agreement_frame(struct ft *f, uint32_t from, const uint8_t *frame, size_t len);
void ft_agreements_free(struct ft *f);
/* Tell of results. */
void ft_tell(struct ft *f);

#endif
