/* SPDX-License-Identifier: BSD-2-Clause */
/* Cartesian topologies. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "comm.h"
#include "comm_create.h"
#include "impl.h"
#include "topo.h"

static int
get_cart(MPI_Comm handle, struct lmpi_comm **c)
{
	int rc = lmpi_comm_get(handle, c);

	if (rc == MPI_SUCCESS && ((*c)->topo == NULL || (*c)->topo->kind != MPI_CART))
		return lmpi_error(MPI_ERR_TOPOLOGY, "the communicator has no Cartesian topology");
	return rc;
}

/* Coordinates of a rank: the last dimension varies fastest. */
static void
coords_of(const struct lmpi_topology *t, int rank, int *coords)
{
	for (int d = t->ndims - 1; d >= 0; d--) {
		coords[d] = rank % t->dims[d];
		rank /= t->dims[d];
	}
}

static struct lmpi_topology *
new_cart(int ndims, const int *dims, const int *periods, int rank)
{
	struct lmpi_topology *t = calloc(1, sizeof(*t));
	size_t bytes = (size_t)ndims * sizeof(int) + 1;

	if (t == NULL)
		return NULL;
	t->kind = MPI_CART;
	t->ndims = ndims;
	t->dims = malloc(bytes);
	t->periods = malloc(bytes);
	t->coords = malloc(bytes);
	if (!t->dims || !t->periods || !t->coords) {
		lmpi_topology_free(t);
		return NULL;
	}
	for (int d = 0; d < ndims; d++) {
		t->dims[d] = dims[d];
		t->periods[d] = periods[d] != 0;
	}
	coords_of(t, rank, t->coords);
	return t;
}

/* Number of processes of the grid. */
static int
grid_size(const struct lmpi_comm *c, int ndims, const int *dims, const int *periods, int64_t *size)
{
	*size = 1;
	if (ndims < 0)
		return lmpi_error(MPI_ERR_DIMS, "ndims is %d", ndims);
	if (ndims > 0 && (dims == NULL || periods == NULL))
		return lmpi_error(MPI_ERR_ARG, "dims or periods is a null pointer");
	for (int d = 0; d < ndims; d++) {
		if (dims[d] <= 0)
			return lmpi_error(MPI_ERR_DIMS, "dims[%d] is %d", d, dims[d]);
		*size *= dims[d];
		if (*size > c->size)
			return lmpi_error(MPI_ERR_DIMS,
					  "the grid needs more processes than the %d "
					  "of the communicator",
					  c->size);
	}
	return MPI_SUCCESS;
}

int
impl_Topo_test(MPI_Comm comm, int *status)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*status = c->topo ? c->topo->kind : MPI_UNDEFINED;
	return rc;
}

int
impl_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
		 MPI_Comm *comm_cart)
{
	struct lmpi_comm *c, *made = NULL;
	int64_t size;
	int rc = lmpi_comm_get_intra(comm_old, &c);

	(void)reorder; /* ranks stay: allowed, and as good as any order here */
	*comm_cart = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = grid_size(c, ndims, dims, periods, &size);
	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_split(c, c->rank < size ? 0 : MPI_UNDEFINED, c->rank, &made);
	if (rc || made == NULL)
		return rc;
	made->topo = new_cart(ndims, dims, periods, made->rank);
	if (made->topo == NULL) {
		lmpi_comm_unref(made);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	*comm_cart = made->handle;
	return MPI_SUCCESS;
}

int
impl_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank)
{
	struct lmpi_comm *c;
	int64_t size;
	int rc = lmpi_comm_get_intra(comm, &c);

	if (rc == MPI_SUCCESS)
		rc = grid_size(c, ndims, dims, periods, &size);
	if (rc == MPI_SUCCESS)
		*newrank = c->rank < size ? c->rank : MPI_UNDEFINED;
	return rc;
}

int
impl_Cartdim_get(MPI_Comm comm, int *ndims)
{
	struct lmpi_comm *c;
	int rc = get_cart(comm, &c);

	if (rc == MPI_SUCCESS)
		*ndims = c->topo->ndims;
	return rc;
}

int
impl_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
	struct lmpi_comm *c;
	int rc = get_cart(comm, &c);

	for (int d = 0; rc == MPI_SUCCESS && d < maxdims && d < c->topo->ndims; d++) {
		dims[d] = c->topo->dims[d];
		periods[d] = c->topo->periods[d];
		coords[d] = c->topo->coords[d];
	}
	return rc;
}

static int
cart_rank_of(const struct lmpi_topology *t, const int *coords, int *rank)
{
	int r = 0;

	for (int d = 0; d < t->ndims; d++) {
		int x = coords[d];

		if (t->periods[d]) {
			x %= t->dims[d];
			if (x < 0)
				x += t->dims[d];
		} else if (x < 0 || x >= t->dims[d]) {
			return lmpi_error(MPI_ERR_ARG,
					  "coords[%d] is %d, the dimension has %d "
					  "processes and is not periodic",
					  d, x, t->dims[d]);
		}
		r = r * t->dims[d] + x;
	}
	*rank = r;
	return MPI_SUCCESS;
}

int
impl_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
	struct lmpi_comm *c;
	int rc = get_cart(comm, &c);

	return rc ? rc : cart_rank_of(c->topo, coords, rank);
}

int
impl_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
	struct lmpi_comm *c;
	int *all, rc = get_cart(comm, &c);

	if (rc)
		return rc;
	if (rank < 0 || rank >= c->size)
		return lmpi_error(MPI_ERR_RANK, "rank %d is not one of the communicator", rank);
	all = malloc((size_t)c->topo->ndims * sizeof(*all) + 1);
	if (all == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	coords_of(c->topo, rank, all);
	for (int d = 0; d < maxdims && d < c->topo->ndims; d++)
		coords[d] = all[d];
	free(all);
	return MPI_SUCCESS;
}

int
impl_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
	struct lmpi_comm *c;
	int rc = get_cart(comm, &c);

	if (rc)
		return rc;
	if (direction < 0 || direction >= c->topo->ndims)
		return lmpi_error(MPI_ERR_ARG, "direction %d, the topology has %d dimensions",
				  direction, c->topo->ndims);
	if (disp == INT32_MIN)
		return lmpi_error(MPI_ERR_ARG, "disp %d is too far", disp);
	*rank_source = lmpi_cart_neighbor(c->topo, direction, -disp);
	*rank_dest = lmpi_cart_neighbor(c->topo, direction, disp);
	return MPI_SUCCESS;
}

int
impl_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
	struct lmpi_comm *c, *made;
	const struct lmpi_topology *t;
	int *dims, *periods, n = 0, color = 0, key = 0, rc = get_cart(comm, &c);

	*newcomm = MPI_COMM_NULL;
	if (rc)
		return rc;
	t = c->topo;
	dims = malloc((size_t)t->ndims * sizeof(*dims) + 1);
	periods = malloc((size_t)t->ndims * sizeof(*periods) + 1);
	if (dims == NULL || periods == NULL) {
		free(dims);
		free(periods);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	for (int d = 0; d < t->ndims; d++) {
		if (remain_dims[d]) {
			key = key * t->dims[d] + t->coords[d];
			dims[n] = t->dims[d];
			periods[n++] = t->periods[d];
		} else {
			color = color * t->dims[d] + t->coords[d];
		}
	}
	/* No dimension is left: like a grid made without any it has one process. */
	if (n == 0 && c->rank != 0)
		color = MPI_UNDEFINED;
	rc = lmpi_comm_split(c, color, key, &made);
	if (rc == MPI_SUCCESS && made != NULL) {
		made->topo = new_cart(n, dims, periods, made->rank);
		if (made->topo == NULL) {
			lmpi_comm_unref(made);
			rc = lmpi_error(MPI_ERR_NO_MEM, "out of memory");
		} else {
			*newcomm = made->handle;
		}
	}
	free(dims);
	free(periods);
	return rc;
}

/* ---- MPI_Dims_create: as even as the divisors allow */

/* Balanced means: the largest and the smallest factor are as close as can be; of several
 * such the one with the larger smallest factor, then the larger second smallest, ... */
struct search {
	int divisors[2048]; /* of the whole, ascending; no int has more than 1536 */
	int n;
	int *try, *best; /* factors, descending */
	int last;	 /* of best */
};

static void
find_divisors(struct search *s, int of)
{
	s->n = 0;
	for (int d = 1; d <= of / d; d++)
		if (of % d == 0)
			s->divisors[s->n++] = d;
	for (int i = s->n - 1; i >= 0; i--)
		if (s->divisors[i] != of / s->divisors[i])
			s->divisors[s->n++] = of / s->divisors[i];
}

/* The largest x with x to the power of k at most n. */
static int
root(int n, int k)
{
	int x = 1;

	for (int step = 1 << 30; step > 0; step >>= 1) {
		int64_t p = 1;

		for (int i = 0; i < k && p <= n; i++)
			p *= x + (int64_t)step;
		if (p <= n)
			x += step;
	}
	return x;
}

/* Is try better than best, which has the same first factor or none yet? */
static bool
cart_better(const struct search *s, int all)
{
	if (s->best[0] != s->try[0])
		return true;
	for (int i = all - 1; i > 0; i--)
		if (s->try[i] != s->best[i])
			return s->try[i] > s->best[i];
	return false;
}

/* n as k descending factors of at most top, the last one not smaller than any so far. */
static void
search_cart(struct search *s, int n, int k, int top, int at, int all)
{
	if (k == 1) {
		if (n > top || n < s->last)
			return;
		s->try[at] = s->last = n;
		if (cart_better(s, all))
			memcpy(s->best, s->try, (size_t)all * sizeof(*s->best));
		return;
	}
	for (int i = 0; i < s->n && s->divisors[i] <= top; i++) {
		int f = s->divisors[i];

		if (n % f != 0 || f < root(n, k))
			continue;
		if (root(n / f, k - 1) < s->last)
			return; /* and with larger ones it gets less */
		s->try[at] = f;
		search_cart(s, n / f, k - 1, f, at + 1, all);
	}
}

/* n as k factors into out. */
static int
split_even(int n, int k, int *out)
{
	struct search s = {.try = calloc((size_t)k, 2 * sizeof(int))};
	int spread = INT_MAX, last = 0;

	if (s.try == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	s.best = s.try + k;
	find_divisors(&s, n);
	for (int i = 0; i < s.n; i++) {
		int f = s.divisors[i];

		if (f < root(n, k))
			continue;
		if (k > 1 && f - root(n / f, k - 1) > spread)
			break;
		/* it has to have the spread at least, and then the larger last one */
		s.last = spread == INT_MAX || f <= spread ? 1 : f - spread;
		s.try[0] = f;
		s.best[0] = 0;
		if (k > 1)
			search_cart(&s, n / f, k - 1, f, 1, k);
		else if (f == n)
			s.best[0] = f;
		if (s.best[0] == f && (f - s.best[k - 1] < spread || s.best[k - 1] > last)) {
			last = s.best[k - 1];
			spread = f - last;
			memcpy(out, s.best, (size_t)k * sizeof(*out));
		}
	}
	free(s.try);
	return MPI_SUCCESS;
}

int
impl_Dims_create(int nnodes, int ndims, int dims[])
{
	int fixed = 1, freedims = 0, at = 0, rc, *best;

	if (nnodes <= 0 || ndims < 0)
		return lmpi_error(MPI_ERR_DIMS, "nnodes is %d, ndims is %d", nnodes, ndims);
	for (int d = 0; d < ndims; d++) {
		if (dims[d] < 0 || (dims[d] > 0 && nnodes / fixed < dims[d]))
			return lmpi_error(MPI_ERR_DIMS, "dims[%d] is %d for %d nodes", d, dims[d],
					  nnodes);
		if (dims[d] > 0)
			fixed *= dims[d];
		else
			freedims++;
	}
	if (nnodes % fixed != 0)
		return lmpi_error(MPI_ERR_DIMS,
				  "the fixed dimensions, %d in all, do not divide %d "
				  "nodes",
				  fixed, nnodes);
	if (freedims == 0)
		return fixed == nnodes ? MPI_SUCCESS
				       : lmpi_error(MPI_ERR_DIMS,
						    "the dimensions make %d, not %d "
						    "nodes",
						    fixed, nnodes);
	best = malloc((size_t)freedims * sizeof(*best));
	if (best == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	rc = split_even(nnodes / fixed, freedims, best);
	for (int d = 0; d < ndims && rc == MPI_SUCCESS; d++)
		if (dims[d] == 0)
			dims[d] = best[at++];
	free(best);
	return rc;
}
