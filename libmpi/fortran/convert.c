/* SPDX-License-Identifier: BSD-2-Clause */
/* Values that cross between Fortran and C. */
#include "fortran.h"

#include <string.h>

/* The COMMON blocks of mpif.h and module mpi, and variables of mpi_f08.  The program's own
 * definition wins over these, so they are only ever compared by address, and their sizes and
 * alignments are those of the blocks or more. */
#define CELL(name, bytes) __attribute__((aligned(64))) char name[bytes]
CELL(mpif_bottom_, 4);
CELL(mpif_in_place_, 4);
CELL(mpif_buffer_automatic_, 4);
CELL(mpif_argv_null_, 1);
CELL(mpif_argvs_null_, 1);
CELL(mpif_errcodes_ignore_, 4);
CELL(mpif_status_ignore_, 32);
CELL(mpif_statuses_ignore_, 32);
CELL(mpif_unweighted_, 4);
CELL(mpif_weights_empty_, 4);

void *
f_buffer(void *buf)
{
	if (buf == mpif_bottom_)
		return MPI_BOTTOM;
	if (buf == mpif_in_place_)
		return MPI_IN_PLACE;
	return buf == mpif_buffer_automatic_ ? MPI_BUFFER_AUTOMATIC : buf;
}

bool
f_in_place(const void *buf)
{
	return buf == mpif_in_place_;
}

MPI_Status *
f_status(int *status)
{
	void *at = status;

	if (at == mpif_status_ignore_ || at == mpif_statuses_ignore_)
		return MPI_STATUS_IGNORE;
	return at;
}

const int *
f_weights(const int *weights)
{
	const void *at = weights;

	if (at == mpif_unweighted_)
		return MPI_UNWEIGHTED;
	return at == mpif_weights_empty_ ? MPI_WEIGHTS_EMPTY : weights;
}

int *
f_errcodes(int *codes)
{
	return (void *)codes == mpif_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : codes;
}

void *
f_room(void *few, MPI_Count n, size_t size)
{
	return n <= F_FEW ? few : malloc((size_t)n * size);
}

void
f_done(void *room, void *few)
{
	if (room != few)
		free(room);
}

char *
f_string(const char *s, size_t len)
{
	char *c;

	while (len > 0 && s[len - 1] == ' ')
		len--;
	while (len > 0 && *s == ' ') {
		s++;
		len--;
	}
	c = malloc(len + 1);
	if (c == NULL)
		return NULL;
	memcpy(c, s, len);
	c[len] = '\0';
	return c;
}

static bool
is_blank(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] != ' ')
			return false;
	return true;
}

static char **
take_words(const char *s, size_t len, size_t apart, size_t n)
{
	char **words = calloc(n + 1, sizeof(*words));

	for (size_t i = 0; words != NULL && i < n; i++) {
		words[i] = f_string(s + i * apart, len);
		if (words[i] == NULL) {
			f_words_free(words);
			return NULL;
		}
	}
	return words;
}

char **
f_words(const char *s, size_t len, size_t apart)
{
	size_t n = 0;

	while (s != mpif_argv_null_ && !is_blank(s + n * apart, len))
		n++;
	return take_words(s, len, apart, n);
}

char **
f_commands(const char *s, size_t len, int count)
{
	return take_words(s, len, len, count > 0 ? (size_t)count : 0);
}

void
f_words_free(char **words)
{
	for (char **w = words; w != NULL && *w != NULL; w++)
		free(*w);
	free(words);
}

char ***
f_argvs(const char *s, size_t len, int count)
{
	size_t n = count > 0 ? (size_t)count : 0;
	char ***argvs = calloc(n + 1, sizeof(*argvs));

	for (size_t i = 0; argvs != NULL && i < n; i++) {
		argvs[i] = s == mpif_argvs_null_ ? take_words(s, 0, 0, 0)
						 : f_words(s + i * len, len, n * len);
		if (argvs[i] == NULL) {
			f_argvs_free(argvs, count);
			return NULL;
		}
	}
	return argvs;
}

void
f_argvs_free(char ***argvs, int count)
{
	for (int i = 0; argvs != NULL && i < count; i++)
		f_words_free(argvs[i]);
	free(argvs);
}

void
f_put(char *to, size_t len, const char *from)
{
	size_t n = strnlen(from, len);

	memcpy(to, from, n);
	memset(to + n, ' ', len - n);
}

int
f_width(MPI_Comm comm)
{
	int inter = 0, n = 0;

	if (PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter)
		PMPI_Comm_remote_size(comm, &n);
	else
		PMPI_Comm_size(comm, &n);
	return n;
}

int
f_neighbors(MPI_Comm comm, bool out)
{
	int topo = MPI_UNDEFINED, n = 0, in_n = 0, out_n = 0, weighted, rank;

	PMPI_Topo_test(comm, &topo);
	switch (topo) {
	case MPI_CART:
		PMPI_Cartdim_get(comm, &n);
		return 2 * n;
	case MPI_GRAPH:
		PMPI_Comm_rank(comm, &rank);
		PMPI_Graph_neighbors_count(comm, rank, &n);
		return n;
	case MPI_DIST_GRAPH:
		PMPI_Dist_graph_neighbors_count(comm, &in_n, &out_n, &weighted);
		return out ? out_n : in_n;
	default: /* the call itself complains */
		return 0;
	}
}
