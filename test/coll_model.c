/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll_model.h"

#include "base/assert.h"
#include "base/prng.h"

#include <string.h>

#define ELEM COLL_MODEL_ELEM

/* The graph of neighbor: to each of these offsets an edge, twice to the same process, to
 * the process itself, and one to nobody. */
static const uint32_t edge_to[COLL_MODEL_EDGES] = {1, 1, 0, 5, COLL_NO_RANK};

/* ---- elements */

void
coll_model_combine(const uint8_t *l, const uint8_t *r, uint8_t *out, bool commutative)
{
	uint32_t x[4], y[4], z[4];
	memcpy(x, l, ELEM);
	memcpy(y, r, ELEM);
	if (commutative) {
		for (int i = 0; i < 4; i++)
			z[i] = x[i] + y[i];
	} else {
		z[0] = x[0] * y[0] + x[1] * y[2];
		z[1] = x[0] * y[1] + x[1] * y[3];
		z[2] = x[2] * y[0] + x[3] * y[2];
		z[3] = x[2] * y[1] + x[3] * y[3];
	}
	memcpy(out, z, ELEM);
}

void
coll_model_compute(const struct coll_args *a, const struct coll_step *st, uint8_t *const buf[3])
{
	uint8_t *from = buf[st->from.buf] + st->from.off, *into = buf[st->into.buf] + st->into.off;
	if (st->kind == COLL_STEP_COPY) {
		memmove(into, from, st->from.len);
		return;
	}
	BASE_ASSERT(st->from.len % ELEM == 0);
	for (uint64_t o = 0; o < st->from.len; o += ELEM)
		coll_model_combine(st->left ? from + o : into + o, st->left ? into + o : from + o,
				   into + o, a->commutative);
}

/* Element e of what rank r contributes towards block b. */
static void
make_element(uint8_t *out, uint64_t salt, uint32_t r, uint32_t b, uint64_t e)
{
	uint64_t x = ((uint64_t)r << 40) ^ ((uint64_t)b << 20) ^ e ^ 0x5bd1e995 ^ salt << 48;
	for (int i = 0; i < 2; i++) {
		uint64_t v = base_prng_splitmix(&x) | 1;
		memcpy(out + 8 * i, &v, 8);
	}
}

void
coll_model_contribute(uint8_t *at, uint64_t len, uint64_t salt, uint32_t r, uint32_t b)
{
	for (uint64_t e = 0; e * ELEM < len; e++)
		make_element(at + e * ELEM, salt, r, b, e);
}

void
coll_model_reduce(uint8_t *out, uint64_t salt, uint32_t first, uint32_t end, uint32_t b,
		  uint64_t len, bool commutative)
{
	uint8_t t[ELEM];
	for (uint64_t e = 0; e * ELEM < len; e++) {
		make_element(out + e * ELEM, salt, first, b, e);
		for (uint32_t r = first + 1; r < end; r++) {
			make_element(t, salt, r, b, e);
			coll_model_combine(out + e * ELEM, t, out + e * ELEM, commutative);
		}
	}
}

/* ---- buffers */

bool
coll_model_takes_uneven(enum coll_op op)
{
	return op == COLL_GATHER || op == COLL_ALLGATHER || op == COLL_SCATTER ||
	       op == COLL_ALLTOALL || op == COLL_REDUCE_SCATTER;
}

bool
coll_model_takes_in_place(const struct coll_args *a)
{
	switch (a->op) {
	case COLL_BARRIER:
	case COLL_BCAST:
	case COLL_NEIGHBOR:
		return false;
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_SCATTER:
		return a->rank == a->root;
	default:
		return true;
	}
}

/* Blocks arrive elsewhere than they left, so that edges are told apart. */
static void
connect_edges(struct coll_model *m)
{
	struct coll_args *a = &m->a;
	for (uint32_t k = 0; k < COLL_MODEL_EDGES; k++) {
		bool none = edge_to[k] == COLL_NO_RANK;
		uint32_t off = none ? 0 : edge_to[k] % a->size;
		m->out[k] = (struct coll_edge){none ? COLL_NO_RANK : (a->rank + off) % a->size, k};
		m->in[k] = (struct coll_edge){none ? COLL_NO_RANK
						   : (a->rank + a->size - off) % a->size,
					      2 * k % COLL_MODEL_EDGES};
	}
	a->sources = m->in;
	a->destinations = m->out;
	a->indegree = a->outdegree = COLL_MODEL_EDGES;
}

static uint64_t
uneven_bytes(uint32_t i, uint64_t bytes)
{
	return i % 3 * (bytes * 2 / 5 / ELEM * ELEM);
}

void
coll_model_lay_out(struct coll_model *m, bool uneven)
{
	struct coll_args *a = &m->a;
	uint64_t off = 0, soff = 0;
	if (a->op == COLL_NEIGHBOR)
		connect_edges(m);
	if (!uneven)
		return;
	for (uint32_t i = 0; i < a->size; i++) {
		/* alltoall: what i sends to j is what j expects from i */
		uint32_t kind = a->op == COLL_ALLTOALL ? i + a->rank : i;
		m->bytes_of[i] = m->send_bytes[i] = uneven_bytes(kind, a->bytes);
		m->displ[i] = off;
		off += m->bytes_of[i] + (a->op == COLL_REDUCE_SCATTER ? 0 : ELEM);
		m->send_displ[i] = soff;
		soff += m->send_bytes[i] + ELEM;
	}
	a->bytes_of = m->bytes_of;
	a->displ = m->displ;
	if (a->op == COLL_ALLTOALL) {
		a->send_bytes = m->send_bytes;
		a->send_displ = m->send_displ;
	}
}

size_t
coll_model_room(const struct coll_args *a)
{
	uint32_t blocks = a->op == COLL_NEIGHBOR ? COLL_MODEL_EDGES : a->size;
	return blocks * (a->bytes + ELEM);
}

static uint64_t
offset_of(const struct coll_args *a, uint32_t i)
{
	return a->displ ? a->displ[i] : i * a->bytes;
}

static uint64_t
bytes_of(const struct coll_args *a, uint32_t i)
{
	return a->bytes_of ? a->bytes_of[i] : a->bytes;
}

void
coll_model_fill(const struct coll_model *m, uint8_t *send, uint8_t *recv, size_t room)
{
	const struct coll_args *a = &m->a;
	uint32_t r = a->rank;
	memset(send, COLL_MODEL_NONE, room);
	memset(recv, COLL_MODEL_NONE, room);
	uint8_t *in = a->in_place ? recv : send;
	switch (a->op) {
	case COLL_BCAST:
		if (r == a->root)
			coll_model_contribute(recv, a->bytes, m->salt, r, 0);
		break;
	case COLL_GATHER:
	case COLL_ALLGATHER:
		if (a->in_place)
			in += offset_of(a, r);
		coll_model_contribute(in, bytes_of(a, r), m->salt, r, 0);
		break;
	case COLL_SCATTER:
		if (r != a->root)
			break;
		for (uint32_t i = 0; i < a->size; i++)
			coll_model_contribute(send + offset_of(a, i), bytes_of(a, i), m->salt, r,
					      i);
		if (a->in_place) /* its own block is not moved */
			coll_model_contribute(recv, bytes_of(a, r), m->salt, r, r);
		break;
	case COLL_ALLTOALL:
		for (uint32_t i = 0; i < a->size; i++) {
			bool own = !a->in_place && a->send_displ;
			coll_model_contribute(in + (own ? a->send_displ[i] : offset_of(a, i)),
					      a->bytes_of ? a->send_bytes[i] : a->bytes, m->salt, r,
					      i);
		}
		break;
	case COLL_REDUCE_SCATTER:
		for (uint32_t i = 0; i < a->size; i++)
			coll_model_contribute(in + offset_of(a, i), bytes_of(a, i), m->salt, r, i);
		break;
	case COLL_NEIGHBOR:
		for (uint32_t k = 0; k < COLL_MODEL_EDGES; k++)
			coll_model_contribute(in + k * a->bytes, a->bytes, m->salt, r, k);
		break;
	default:
		coll_model_contribute(in, a->bytes, m->salt, r, 0);
	}
}

/* ---- results */

/* False: this process gets nothing that is defined. */
static bool
expect_result(const struct coll_model *m, uint8_t *want)
{
	const struct coll_args *a = &m->a;
	uint32_t r = a->rank, p = a->size;
	switch (a->op) {
	case COLL_BCAST:
		coll_model_contribute(want, a->bytes, m->salt, a->root, 0);
		return true;
	case COLL_REDUCE:
	case COLL_ALLREDUCE:
		coll_model_reduce(want, m->salt, 0, p, 0, a->bytes, a->commutative);
		return a->op == COLL_ALLREDUCE || r == a->root;
	case COLL_SCAN:
		coll_model_reduce(want, m->salt, 0, r + 1, 0, a->bytes, a->commutative);
		return true;
	case COLL_EXSCAN:
		if (r)
			coll_model_reduce(want, m->salt, 0, r, 0, a->bytes, a->commutative);
		return r > 0;
	case COLL_GATHER:
	case COLL_ALLGATHER:
		for (uint32_t i = 0; i < p; i++)
			coll_model_contribute(want + offset_of(a, i), bytes_of(a, i), m->salt, i,
					      0);
		return a->op == COLL_ALLGATHER || r == a->root;
	case COLL_SCATTER:
		coll_model_contribute(want, bytes_of(a, r), m->salt, a->root, r);
		return true;
	case COLL_ALLTOALL:
		for (uint32_t i = 0; i < p; i++)
			coll_model_contribute(want + offset_of(a, i), bytes_of(a, i), m->salt, i,
					      r);
		return true;
	case COLL_REDUCE_SCATTER:
		coll_model_reduce(want, m->salt, 0, p, r, bytes_of(a, r), a->commutative);
		return true;
	case COLL_NEIGHBOR:
		for (uint32_t k = 0; k < COLL_MODEL_EDGES - 1; k++)
			coll_model_contribute(want + a->sources[k].block * a->bytes, a->bytes,
					      m->salt, a->sources[k].rank, k);
		return true;
	default:
		return false;
	}
}

bool
coll_model_is_right(const struct coll_model *m, const uint8_t *recv, uint8_t *want, size_t room)
{
	const struct coll_args *a = &m->a;
	memset(want, COLL_MODEL_NONE, room);
	if (!expect_result(m, want))
		return true;
	bool rest = !a->in_place || a->op != COLL_REDUCE_SCATTER; /* the input may be used up */
	return !memcmp(want, recv, rest ? room : bytes_of(a, a->rank));
}
