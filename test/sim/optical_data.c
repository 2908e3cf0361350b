/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of collective calls over circuits: drawn, moved, checked. */
#include "optical.h"

#include <stdlib.h>
#include <string.h>

static uint8_t
value(uint32_t rank, size_t at)
{
	return (uint8_t)(rank * 37 + at * 11 + at / 251 + 5);
}

static void
local(void *arg, uint32_t rank, const struct coll_step *st)
{
	struct opt_data *d = arg;
	if (!d->buf[rank][0])
		return; /* it is played for its rounds, before there is data */
	uint8_t *from = d->buf[rank][st->from.buf] + st->from.off;
	uint8_t *into = d->buf[rank][st->into.buf] + st->into.off;
	if (st->kind == COLL_STEP_COPY)
		memmove(into, from, st->from.len);
	for (uint64_t i = 0; st->kind == COLL_STEP_REDUCE && i < st->from.len; i++)
		into[i] = (uint8_t)(into[i] + from[i]);
}

static uint8_t
expected(const struct opt_data *d, uint32_t rank, size_t at)
{
	const struct obs_args *a = d->args;
	uint8_t sum = 0;
	switch (a->op) {
	case COLL_BCAST:
		return value(a->root, at);
	case COLL_ALLGATHER:
		return value((uint32_t)(at / a->bytes), at % a->bytes);
	case COLL_ALLTOALL:
		return value((uint32_t)(at / a->bytes), rank * a->bytes + at % a->bytes);
	default:
		for (uint32_t r = 0; r < d->p; r++)
			sum = (uint8_t)(sum + value(r, at));
		return sum;
	}
}

bool
opt_data_right(const struct opt_data *d)
{
	const struct obs_args *a = d->args;
	size_t n = a->op == COLL_ALLGATHER || a->op == COLL_ALLTOALL ? d->p * a->bytes : a->bytes;
	for (uint32_t r = 0; r < d->p; r++)
		for (size_t i = 0; i < n && (a->op != COLL_REDUCE || r == a->root); i++)
			if (d->buf[r][COLL_RECV][i] != expected(d, r, i))
				return false;
	return true;
}

static const struct {
	enum coll_op op;
	const char *algorithm;
} kinds[] = {
	{COLL_BARRIER, "recursive_doubling"},
	{COLL_BCAST, "binomial"},
	{COLL_BCAST, "linear"},
	{COLL_BCAST, "graph"},
	{COLL_REDUCE, "binomial"},
	{COLL_ALLREDUCE, "recursive_doubling"},
	{COLL_ALLREDUCE, "ring"},
	{COLL_ALLREDUCE, "rabenseifner"},
	{COLL_ALLGATHER, "ring"},
	{COLL_ALLGATHER, "bruck"},
	{COLL_ALLGATHER, "recursive_doubling"},
	{COLL_ALLTOALL, "pairs"},
	{COLL_ALLTOALL, "bruck"},
	{COLL_ALLTOALL, "linear"},
};

void
opt_data_draw(struct opt_data *d, struct base_prng *r, struct obs_args *args, uint32_t p)
{
	size_t kind = base_prng_below(r, sizeof kinds / sizeof kinds[0]);
	memset(d, 0, sizeof *d);
	d->args = args;
	d->p = p;
	*args = (struct obs_args){.op = kinds[kind].op,
				  .algorithm = kinds[kind].algorithm,
				  .p = p,
				  .degree = 4,
				  .local = local,
				  .arg = d};
	args->bytes = 16 + base_prng_below(r, 64);
	args->root = (uint32_t)base_prng_below(r, p);
	args->reversed = base_prng_below(r, 2);
	if (kinds[kind].op == COLL_BARRIER)
		args->bytes = 0;
}

void
opt_data_begin(struct opt_data *d, const struct coll_schedule *s)
{
	const struct obs_args *a = d->args;
	size_t size = d->p * a->bytes + 1;
	for (uint32_t rank = 0; rank < d->p; rank++) {
		for (int b = COLL_SEND; b <= COLL_RECV; b++) {
			d->buf[rank][b] = calloc(1, size);
			for (size_t i = 0; b == COLL_SEND && i < size; i++)
				d->buf[rank][b][i] = value(rank, i);
		}
		d->buf[rank][COLL_TMP] = calloc(1, s[rank].tmp_bytes + 1);
		if (a->op == COLL_BCAST && rank == a->root)
			memcpy(d->buf[rank][COLL_RECV], d->buf[rank][COLL_SEND], a->bytes);
	}
}

void
opt_data_move(struct opt_data *d, uint32_t from, const struct coll_step *send, uint32_t to,
	      const struct coll_step *recv)
{
	memcpy(d->buf[to][recv->into.buf] + recv->into.off,
	       d->buf[from][send->from.buf] + send->from.off, send->from.len);
}

void
opt_data_free(struct opt_data *d)
{
	for (uint32_t r = 0; r < OPT_RANKS; r++)
		for (int b = 0; b < 3; b++)
			free(d->buf[r][b]);
	memset(d->buf, 0, sizeof d->buf);
}
