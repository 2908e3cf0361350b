/* SPDX-License-Identifier: BSD-2-Clause */
/* test/coll_model.h - what a collective operation is to give: inputs of one process of it, and
 * the result by definition of the operation, whatever the algorithm.
 *
 * Processes contribute numbered elements of 16 bytes that differ by process, block and place:
 * integers to be added, or matrices to be multiplied in rank order.
 *
 * Shape    as coll/schedule.h lays buffers out; what nobody may write is COLL_MODEL_NONE.
 * Threads  no state. */
#ifndef TEST_COLL_MODEL_H
#define TEST_COLL_MODEL_H

#include "coll/schedule.h"

#define COLL_MODEL_PROCS 64
#define COLL_MODEL_ELEM	 16 /* a 2x2 matrix of uint32_t, or four uint32_t */
#define COLL_MODEL_EDGES 5
#define COLL_MODEL_NONE	 0xee

/* One process in one call. */
struct coll_model {
	struct coll_args a;
	uint64_t salt; /* elements of calls with different ones differ */
	uint64_t bytes_of[COLL_MODEL_PROCS], displ[COLL_MODEL_PROCS];
	uint64_t send_bytes[COLL_MODEL_PROCS], send_displ[COLL_MODEL_PROCS];
	struct coll_edge in[COLL_MODEL_EDGES], out[COLL_MODEL_EDGES];
};

bool coll_model_takes_uneven(enum coll_op op);
/* Of this process, which knows its rank and root. */
bool coll_model_takes_in_place(const struct coll_args *a);
/* Tables and edges; m->a is set but for them, m stays where it is. */
void coll_model_lay_out(struct coll_model *m, bool uneven);
/* So many bytes of a buffer suffice. */
size_t coll_model_room(const struct coll_args *a);
/* Both buffers, of room bytes each, before the call. */
void coll_model_fill(const struct coll_model *m, uint8_t *send, uint8_t *recv, size_t room);
/* Is recv the result?  want, of room bytes, is scratch. */
bool coll_model_is_right(const struct coll_model *m, const uint8_t *recv, uint8_t *want,
			 size_t room);
/* l op r of one element; out may be either. */
void coll_model_combine(const uint8_t *l, const uint8_t *r, uint8_t *out, bool commutative);
/* A step that is no message, in the buffers of the process. */
void coll_model_compute(const struct coll_args *a, const struct coll_step *st,
			uint8_t *const buf[3]);
/* What process r gives towards block b: len bytes. */
void coll_model_contribute(uint8_t *at, uint64_t len, uint64_t salt, uint32_t r, uint32_t b);
/* The contributions of processes first .. end - 1 towards block b, combined. */
void coll_model_reduce(uint8_t *out, uint64_t salt, uint32_t first, uint32_t end, uint32_t b,
		       uint64_t len, bool commutative);

#endif
