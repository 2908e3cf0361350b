/* SPDX-License-Identifier: BSD-2-Clause */
/* test/mpi/swarm/swarm.h - MPI programs that nobody wrote: steps of a seed, each checked to the
 * last byte, also of what lies between and around what is received.
 *
 * All processes draw the same numbers, so each of them knows what the others do, and what has to
 * come.  sw_own() is for what may differ: in which order a process completes what it has begun.
 *
 * Layouts  datatypes with a model of their own: where each element lies, in the order of the type
 *	    map.  All elements of a layout have one basic type, so that sender and receiver can
 *	    differ in everything else.
 * Buffers  so many of a layout, beside what is expected in them.
 * Comms    communicators with the ranks in MPI_COMM_WORLD of both their groups.
 * Errors   the first one is told with seed and step, and ends the program. */
#ifndef SWARM_H
#define SWARM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern int sw_rank, sw_size; /* in MPI_COMM_WORLD */

#define SW_MIN(a, b) ((a) < (b) ? (a) : (b))
#define SW_MAX(a, b) ((a) > (b) ? (a) : (b))

/* ---- numbers ---- */
uint32_t sw_draw(uint32_t n);  /* 0 to n - 1, the same everywhere */
uint32_t sw_own(uint32_t n);   /* 0 to n - 1, of this process */
bool sw_one_in(uint32_t n);    /* by sw_draw() */
uint32_t sw_few(uint32_t max); /* 1 to max, small ones more often */
uint64_t sw_key(void);	       /* what a message or a result is filled by: never twice */
void sw_shuffle(int *list, int n, uint32_t (*draw)(uint32_t));
_Noreturn __attribute__((format(printf, 1, 2))) void sw_fail(const char *fmt, ...);
#define SW_CHECK(cond)                                                           \
	do {                                                                     \
		if (!(cond))                                                     \
			sw_fail("%s:%d: not so: %s", __FILE__, __LINE__, #cond); \
	} while (0)
void *sw_alloc(size_t bytes); /* zero */

/* ---- layouts ---- */
struct sw_layout {
	MPI_Datatype type;
	MPI_Datatype basic;
	uint32_t width; /* bytes of an element */
	uint32_t n;	/* elements of one */
	ptrdiff_t *at;	/* bytes from its beginning, of each */
	ptrdiff_t lb, extent;
	bool named;  /* type is the basic one */
	bool bounds; /* lb and extent were said, not found */
};
/* A random one; draws. */
struct sw_layout *sw_layout_new(MPI_Datatype basic);
struct sw_layout *sw_layout_plain(MPI_Datatype basic); /* of one element */
MPI_Datatype sw_basic(void);
void sw_layout_free(struct sw_layout *l);

/* ---- buffers ---- */
struct sw_buf {
	const struct sw_layout *l;
	uint32_t count;
	size_t bytes;	     /* of mem and want */
	unsigned char *mem;  /* with a margin on both sides */
	unsigned char *want; /* what is expected in mem */
	unsigned char *base; /* what MPI is told */
};
/* Count of l fit: nothing overlaps, and the memory is bounded. */
bool sw_fits(const struct sw_layout *l, uint32_t count);
/* From where to where count of l reach, with 0 between them. */
void sw_span(const struct sw_layout *l, uint32_t count, ptrdiff_t *low, ptrdiff_t *high);
void sw_buf_new(struct sw_buf *b, const struct sw_layout *l, uint32_t count);
/* n elements from first on become, or are expected to become, elements from on of what key says. */
void sw_fill(struct sw_buf *b, uint64_t first, uint64_t n, uint64_t key, uint64_t from);
void sw_expect(struct sw_buf *b, uint64_t first, uint64_t n, uint64_t key, uint64_t from);
/* The same in any memory. */
void sw_put(unsigned char *base, const struct sw_layout *l, uint64_t first, uint64_t n,
	    uint64_t key, uint64_t from);
void sw_stream(unsigned char *out, uint32_t width, uint64_t n, uint64_t key, uint64_t from);
void sw_verify(const struct sw_buf *b, const char *what);
void sw_buf_free(struct sw_buf *b);
static inline uint64_t
sw_elements(const struct sw_buf *b)
{
	return (uint64_t)b->l->n * b->count;
}
/* A layout of the basic type, and how many of it make up n elements; draws. */
struct sw_layout *sw_layout_for(MPI_Datatype basic, uint64_t n, uint32_t *count);

/* ---- communicators ---- */
struct sw_comm {
	MPI_Comm comm;
	bool inter;
	int n[2];     /* processes of each group; n[1] is 0 of an intracommunicator */
	int *of[2];   /* their ranks in the world */
	int side, me; /* group and rank of this process; me < 0: it is not in there */
};
const struct sw_comm *sw_any_comm(void);
const struct sw_comm *sw_intra_comm(void);
void sw_comms_init(void);
void sw_comms_end(void);
/* A new communicator out of one of these, or one less. */
void sw_step_comm(void);

/* ---- steps ---- */
void sw_step_p2p(void);
void sw_step_coll(void);
void sw_step_neighbor(void);
void sw_step_rma(void);
void sw_step_pack(void);
void sw_step_io(void);

#endif
