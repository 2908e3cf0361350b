/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpitrace/read.h - the trace file of a rank (libmpi/trace/trace.h), from memory.
 *
 * Files come from anywhere: whatever does not hold is an error that says where. */
#ifndef MPITRACE_READ_H
#define MPITRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MPITRACE_RANKS_MAX (1u << 24)
#define MPITRACE_NAMES_MAX 4096
#define MPITRACE_NAME_MAX  64

struct mpitrace {
	uint32_t version; /* 1 to 3 (libmpi/trace/trace.h) */
	uint32_t rank, size;
	uint64_t start_ns; /* since 1970 */
	uint32_t nnames;
	char (*name)[MPITRACE_NAME_MAX];
	/* private */
	const uint8_t *at, *begin, *end;
	uint64_t ncomms, nrequests;
	bool ended, called; /* called: a call, and what belongs to it, is what was read last */
};

enum mpitrace_type {
	MPITRACE_CALL = 1,
	MPITRACE_COMM = 2,
	MPITRACE_END = 3,
	MPITRACE_START = 4, /* the call before has begun this request */
	MPITRACE_DONE = 5,  /* and this one has completed it */
	MPITRACE_SEND = 6,  /* from version 2 on: messages of the call or request before */
	MPITRACE_RECV = 7,
	MPITRACE_HAD = 8, /* what a receive really had */
};
#define MPITRACE_BUFFERED    1 /* how a SEND went */
#define MPITRACE_SYNCHRONOUS 2

struct mpitrace_record {
	enum mpitrace_type type;
	uint64_t compute_ns, inside_ns; /* END: compute only */
	/* Of these it waited for a processor; from version 3 on, else 0. */
	uint64_t compute_waited_ns, inside_waited_ns;
	const char *name;
	uint64_t comm;	   /* 0: none */
	int64_t peer, tag; /* RECV: -1 is any; HAD: nothing */
	uint64_t out, in;
	uint64_t nlocal, nremote; /* COMM */
	const uint8_t *local;	  /* for mpitrace_local() */
	const uint8_t *remote;	  /* for mpitrace_remote() */
	uint64_t request; /* START, DONE: from 1 on; SEND, RECV, HAD: 0 is the call itself */
	uint64_t how;	  /* SEND */
	int64_t had;	  /* HAD: bytes, or -1 */
};

/* The head of a file.  NULL, or what is wrong with it.  mpitrace_done() frees names. */
const char *mpitrace_open(struct mpitrace *t, const void *data, size_t len);
/* The next record: 1; 0 behind END, or where a trace without END stops; -1: *why, at byte *at. */
int mpitrace_next(struct mpitrace *t, struct mpitrace_record *r, const char **why, size_t *at);
/* The world ranks of a COMM's own group in its order: rank[nlocal]. */
void mpitrace_local(const struct mpitrace *t, const struct mpitrace_record *r, uint32_t *rank);
void mpitrace_remote(const struct mpitrace *t, const struct mpitrace_record *r, uint32_t *rank);
/* Did it end as it should? */
bool mpitrace_whole(const struct mpitrace *t);
void mpitrace_done(struct mpitrace *t);

#endif
