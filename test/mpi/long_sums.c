/* SPDX-License-Identifier: BSD-2-Clause */
/* Allreduce and Reduce of vectors that are cut into parts and pieces: types of several sizes,
 * operations that do and do not commute, in place and not, lengths that nothing divides. */
#include "check.h"

#include <stdbool.h>

#define MOST 170011 /* elements */

static const int counts[] = {9001, 65537, MOST};

struct call {
	const void *in; /* what this rank gives, also the result's first content if in place */
	size_t bytes;
	int n;
	MPI_Datatype type;
	MPI_Op op;
};

static void
reduce(const struct call *c, void *out, int root, bool in_place)
{
	bool here = root < 0 || root == check_rank;
	const void *from = in_place && here ? MPI_IN_PLACE : c->in;

	memset(out, 0x5a, c->bytes);
	if (in_place && here)
		memcpy(out, c->in, c->bytes);
	if (root < 0)
		MPI_Allreduce(from, out, c->n, c->type, c->op, MPI_COMM_WORLD);
	else
		MPI_Reduce(from, here ? out : NULL, c->n, c->type, c->op, root, MPI_COMM_WORLD);
}

/* To all and to some roots; and the same without blocking, twice at a time. */
static void
every_form(const struct call *c, const void *want, const char *what)
{
	char *out = malloc(c->bytes), *again = malloc(c->bytes);
	MPI_Request req[2];

	for (int in_place = 0; in_place < 2; in_place++)
		for (int root = -1; root < check_size; root += 1 + check_size / 3) {
			reduce(c, out, root, in_place);
			if (root < 0 || root == check_rank)
				CHECKF(memcmp(out, want, c->bytes) == 0,
				       "%s, %d elements, root %d, in place %d", what, c->n, root,
				       in_place);
		}
	memset(out, 0, c->bytes);
	memcpy(again, c->in, c->bytes);
	MPI_Iallreduce(c->in, out, c->n, c->type, c->op, MPI_COMM_WORLD, &req[0]);
	MPI_Iallreduce(MPI_IN_PLACE, again, c->n, c->type, c->op, MPI_COMM_WORLD, &req[1]);
	MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
	CHECKF(memcmp(out, want, c->bytes) == 0, "%s, %d elements, Iallreduce", what, c->n);
	CHECKF(memcmp(again, want, c->bytes) == 0, "%s, %d elements, in place", what, c->n);
	free(out);
	free(again);
}

#define PREDEFINED(TYPE, MTYPE, MOP, A, EXPR)                                                  \
	do {                                                                                   \
		TYPE *in_ = malloc(MOST * sizeof(TYPE)), *want_ = malloc(MOST * sizeof(TYPE)); \
                                                                                               \
		for (int i = 0; i < MOST; i++) {                                               \
			TYPE acc_ = 0;                                                         \
			for (int rank = 0; rank < check_size; rank++) {                        \
				TYPE a = acc_, b = (TYPE)(A);                                  \
				acc_ = rank == 0 ? b : (TYPE)(EXPR);                           \
				if (rank == check_rank)                                        \
					in_[i] = b;                                            \
			}                                                                      \
			want_[i] = acc_;                                                       \
		}                                                                              \
		for (size_t k_ = 0; k_ < sizeof counts / sizeof counts[0]; k_++)               \
			every_form(&(struct call){in_, (size_t)counts[k_] * sizeof(TYPE),      \
						  counts[k_], MTYPE, MOP},                     \
				   want_, #MOP " of " #MTYPE);                                 \
		free(in_);                                                                     \
		free(want_);                                                                   \
	} while (0)

/* Maps x -> m x + a, one after the other: associative, and their order matters. */
struct map {
	uint32_t m, a, unused;
};

static void
then(void *in, void *inout, int *n, MPI_Datatype *type)
{
	const struct map *first = in;
	struct map *both = inout;

	(void)type;
	for (int i = 0; i < *n; i++) {
		both[i].a += both[i].m * first[i].a;
		both[i].m *= first[i].m;
	}
}

/* with_gap: the type has 12 bytes of which 8 travel. */
static void
in_order(bool with_gap)
{
	struct map *in = malloc(MOST * sizeof *in), *want = malloc(MOST * sizeof *want);
	MPI_Datatype plain, type;
	MPI_Op op;

	for (int i = 0; i < MOST; i++)
		for (int rank = 0; rank < check_size; rank++) {
			struct map own = {(uint32_t)(rank * 2654435761u + (uint32_t)i * 2 + 1) | 1,
					  (uint32_t)(rank + i), 0x5a5a5a5au};
			int one = 1;

			if (rank == check_rank)
				in[i] = own;
			if (rank > 0)
				then(&want[i], &own, &one, NULL);
			want[i] = own;
		}
	MPI_Type_contiguous(with_gap ? 2 : 3, MPI_UINT32_T, &plain);
	MPI_Type_create_resized(plain, 0, sizeof *in, &type);
	MPI_Type_commit(&type);
	MPI_Op_create(then, 0, &op);
	for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
		struct call c = {in, (size_t)counts[k] * sizeof *in, counts[k], type, op};
		char *out = malloc(c.bytes);

		for (int form = 0; form < 4; form++) {
			int root = form & 2 ? check_size / 2 : -1;
			reduce(&c, out, root, form & 1);
			if (root < 0 || root == check_rank)
				CHECKF(memcmp(out, want, c.bytes) == 0,
				       "maps, %d elements, root %d, form %d, gap %d", counts[k],
				       root, form, with_gap);
		}
		free(out);
	}
	MPI_Op_free(&op);
	MPI_Type_free(&plain);
	MPI_Type_free(&type);
	free(in);
	free(want);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	PREDEFINED(int, MPI_INT, MPI_SUM, (rank + 1) * (i % 1000), a + b);
	PREDEFINED(double, MPI_DOUBLE, MPI_MAX, (rank * 7 + i) % 50 - 20, a > b ? a : b);
	PREDEFINED(uint8_t, MPI_UINT8_T, MPI_BXOR, rank * 5 + i, a ^ b);
	PREDEFINED(uint16_t, MPI_UINT16_T, MPI_BAND, 0xff7f - (1 << (rank + i) % 7), a & b);
	PREDEFINED(int64_t, MPI_INT64_T, MPI_MIN, (rank * 3 + i * 5) % 77 - 30, a < b ? a : b);
	in_order(false);
	in_order(true);
	return finish();
}
