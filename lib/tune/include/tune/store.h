/* SPDX-License-Identifier: BSD-2-Clause */
/* tune/store.h - what was measured, as a text: the store's rows, and how they are found again.
 *
 *      tune-store 1
 *      entry driver=udp mtu=1500 ... shares=L3 : run=44 near-copy=131072 rate=1180000000
 *
 * A row is a key, " : ", and values.  The key says on what it was measured, in full: a row whose
 * key differs in one field is another machine's, or this one's before something changed, and is not
 * found.  Every field of the key is there once, at least one value, each at most once and within
 * the bounds below; so whatever a file contains, what is found can be used as it is.  Empty lines
 * and lines that begin with # do not count.
 *
 * Threads  plain values, one owner.  Memory: the structs; a text of at most TUNE_STORE_BYTES. */
#ifndef TUNE_STORE_H
#define TUNE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TUNE_ENTRIES	 64
#define TUNE_LINE	 1024 /* bytes of a line, its end included */
#define TUNE_STORE_BYTES ((TUNE_ENTRIES + 1) * TUNE_LINE)
#define TUNE_WHY	 240

/* Words of letters, digits and . _ + - / ( ) @ , : not empty.  tune_word() makes one. */
#define TUNE_KEY_WORDS(X)                                                 \
	X(driver, 16)	/* how bytes move: udp, xdp, shm */               \
	X(offloads, 48) /* of the interface, and of the kernel for UDP */ \
	X(cpu, 64)	/* its model */                                   \
	X(kernel, 64)	/* its release */                                 \
	X(mode, 16)	/* whose settings: mpi, suci, mmp */              \
	X(version, 16)	/* of this software */                            \
	X(shares, 40)	/* the nearest cache all processors share, L1, L2, L3, none; sizes */
#define TUNE_KEY_NUMBERS(X)                                          \
	X(mtu, 65536)	    /* of the interface; 0: none is in it */ \
	X(speed, 100000000) /* Mb/s; 0: not known */                 \
	X(rtt, 64)	    /* tune_rtt_bucket() */

struct tune_key {
#define X(name, size) char name[size];
	TUNE_KEY_WORDS(X)
#undef X
#define X(name, most) uint32_t name;
	TUNE_KEY_NUMBERS(X)
#undef X
};

/* A round trip's class: 0 below 1 us, else 1 + the logarithm to base 2 of its whole us. */
uint32_t tune_rtt_bucket(uint64_t rtt_ns);
/* In a key that is looked for: the row with the shortest round trip. */
#define TUNE_RTT_ANY UINT32_MAX

/* Name, as it is written, least, most. */
#define TUNE_VALUES(X)                                                                             \
	X(FRAGMENT, "fragment", 256, 4194304)	   /* bytes of a fragment */                       \
	X(RUN, "run", 1, 64)			   /* datagrams of a segmentation run */           \
	X(REFERENCE, "reference", 256, 1073741824) /* bytes from which data stays where it came */ \
	X(ACK, "ack", 1, 256)			   /* packets between two acks */                  \
	X(NEAR_COPY, "near-copy", 1024, 16777216)  /* bytes up to which libsuci copies */          \
	X(NEAR_QUEUE, "near-queue", 65536, 67108864) /* bytes copied ahead of a near network */    \
	X(EAGER_NODE, "eager-node", 512, 12288)	     /* libmpi, in a node of many ranks */         \
	X(EAGER_WIDE, "eager-wide", 512, 49152)	     /* the same, of two */                        \
	X(EAGER_NET, "eager-net", 1024, 1048576)     /* between nodes */                           \
	X(STREAM, "stream", 4096, 1073741824)	     /* bytes from which a stream carries them */  \
	X(SHARE, "share", 16384, 4194304) /* bytes from which two ranks copy together */           \
	X(PIECE, "piece", 4096, 1048576)  /* of long reductions of two in a node */                \
	X(BCAST_PIECE, "bcast-piece", 4096, 1073741824)	      /* of long Bcasts over nodes */      \
	X(ALLTOALL_PIECE, "alltoall-piece", 4096, 1073741824) /* of a block, likewise */           \
	X(RATE, "rate", 1, 1000000000000000)		      /* bytes/s it moved */               \
	X(GAIN, "gain", 0, 1000000000)	     /* over the default, in millionths */                 \
	X(COPY_NS, "copy-ns", 1, 1000000000) /* of 64 KiB, when it was measured */                 \
	X(CALL_NS, "call-ns", 1, 1000000000) /* of a system call, likewise */

enum tune_value {
#define X(id, name, least, most) TUNE_##id,
	TUNE_VALUES(X)
#undef X
		TUNE_NVALUES
};

struct tune_values {
	uint32_t set; /* bits 1 << enum tune_value */
	uint64_t v[TUNE_NVALUES];
};

struct tune_store {
	uint32_t n;
	struct {
		struct tune_key key;
		struct tune_values values;
	} entry[TUNE_ENTRIES]; /* the last one written is the last */
};

/* Any text as a word of at most size - 1 bytes: other bytes become _; an empty one "none". */
void tune_word(char *out, size_t size, const char *text);
bool tune_key_ok(const struct tune_key *k);
bool tune_key_same(const struct tune_key *a, const struct tune_key *b);
const char *tune_value_name(enum tune_value i);
/* Sets a value that is within its bounds; else false. */
bool tune_value_set(struct tune_values *v, enum tune_value i, uint64_t x);
uint64_t tune_value_or(const struct tune_values *v, enum tune_value i, uint64_t fallback);

/* False: why says in which line what is wrong, and what to do; s is then empty. */
bool tune_store_parse(const char *text, size_t len, struct tune_store *s, char why[TUNE_WHY]);
/* The text of out[size], with a NUL, and its length; 0: it does not fit (TUNE_STORE_BYTES do). */
size_t tune_store_print(const struct tune_store *s, char *out, size_t size);

/* NULL: there is no such row. */
const struct tune_values *tune_store_find(const struct tune_store *s, const struct tune_key *k);
/* Replaces the row of that key, or adds it; the oldest one goes if there are TUNE_ENTRIES.  False:
 * key or values are none. */
bool tune_store_put(struct tune_store *s, const struct tune_key *k, const struct tune_values *v);

#endif
