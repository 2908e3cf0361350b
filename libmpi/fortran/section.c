/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections of arrays as datatypes. */
#include "section.h"
#include "staged.h"

#include <limits.h>
#include <string.h>

/* ---- descriptors ------------------------------------------------------------------- */

bool
f_has_gaps(const CFI_cdesc_t *d)
{
	ptrdiff_t next = (ptrdiff_t)d->elem_len; /* from one element to the next without a gap */
	bool gaps = false;

	/* An assumed-size array has no last extent, and no gaps. */
	if (d->rank == 0 || d->base_addr == NULL || d->elem_len == 0 ||
	    d->dim[d->rank - 1].extent < 0)
		return false;
	for (int i = 0; i < d->rank; i++) {
		if (d->dim[i].extent == 0)
			return false;
		if (d->dim[i].extent == 1)
			continue;
		gaps |= d->dim[i].sm != next;
		next *= d->dim[i].extent;
	}
	return gaps;
}

struct f_section
f_section_of(const CFI_cdesc_t *d)
{
	struct f_section s = {.base = d->base_addr, .element = d->elem_len, .elements = 1};

	for (int i = 0; i < d->rank; i++) {
		s.elements *= d->dim[i].extent;
		if (d->dim[i].extent == 1)
			continue;
		s.dim[s.rank].extent = d->dim[i].extent;
		s.dim[s.rank++].step = d->dim[i].sm;
	}
	return s;
}

MPI_Count
f_offset_of(const struct f_section *s, MPI_Count i)
{
	MPI_Count at = 0;

	for (int d = 0; d < s->rank; d++) {
		at += i % s->dim[d].extent * s->dim[d].step;
		i /= s->dim[d].extent;
	}
	return at;
}

/* ---- of a basic datatype that fits an element ---------------------------------------- */

/* A step further: *type is freed, and is `made` from now on if rc says that this was made. */
static int
step(MPI_Datatype *type, MPI_Datatype made, int rc)
{
	PMPI_Type_free(type);
	*type = rc ? MPI_DATATYPE_NULL : made;
	return rc;
}

/* The first n elements of the first `dims` dimensions, each an `of`. */
static int
first_elements(const struct f_section *s, int dims, MPI_Count n, MPI_Datatype of, MPI_Datatype *out)
{
	MPI_Count below = 1, ones[2] = {1, 1}, at[2] = {0, 0};
	MPI_Datatype parts[2], made = MPI_DATATYPE_NULL;
	int rc;

	if (dims == 0)
		return PMPI_Type_dup(of, out);
	for (int d = 0; d < dims - 1; d++)
		below *= s->dim[d].extent;
	at[1] = n / below * s->dim[dims - 1].step;
	rc = first_elements(s, dims - 1, below, of, out);
	if (rc)
		return rc;
	rc = PMPI_Type_create_hvector_c(n / below, 1, s->dim[dims - 1].step, *out, &made);
	rc = step(out, made, rc);
	if (rc || n % below == 0)
		return rc;
	parts[0] = *out;
	rc = first_elements(s, dims - 1, n % below, of, &parts[1]);
	if (rc)
		return rc;
	rc = PMPI_Type_create_struct_c(2, ones, at, parts, &made);
	PMPI_Type_free(&parts[1]);
	return step(out, made, rc);
}

static int
of_basic(const struct f_section *s, MPI_Count elements, MPI_Datatype basic, MPI_Count size,
	 MPI_Datatype *out)
{
	MPI_Datatype element = MPI_DATATYPE_NULL;
	int rc = PMPI_Type_contiguous_c((MPI_Count)s->element / size, basic, &element);

	if (!rc) {
		rc = first_elements(s, s->rank, elements, element, out);
		PMPI_Type_free(&element);
	}
	return rc;
}

/* ---- of any datatype ------------------------------------------------------------------ */

/* Where in memory each byte of one `type` comes from, counted from its true lower bound:
 * what MPI_Pack makes of bytes that hold their own position, 8 bits of it at a time. */
static int
origins(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count span, MPI_Count *from)
{
	unsigned char *memory = malloc((size_t)span), *packed = malloc((size_t)size);
	int rc = memory && packed ? MPI_SUCCESS : MPI_ERR_NO_MEM;

	memset(from, 0, (size_t)size * sizeof(*from));
	for (int shift = 0; !rc && shift < 63 && (span - 1) >> shift; shift += 8) {
		MPI_Count at = 0;

		for (MPI_Count i = 0; i < span; i++)
			memory[i] = (unsigned char)(i >> shift);
		rc = PMPI_Pack_c(memory - lb, 1, type, packed, size, &at, MPI_COMM_SELF);
		for (MPI_Count i = 0; !rc && i < size; i++)
			from[i] |= (MPI_Count)packed[i] << shift;
	}
	free(memory);
	free(packed);
	return rc;
}

/* The one basic datatype in `type`: *basic stays MPI_DATATYPE_NULL if there is none, and is
 * MPI_BYTE if there are several.  A derived `type` is freed if it is `owned`. */
static int
basic_of(MPI_Datatype type, bool owned, MPI_Datatype *basic)
{
	MPI_Count ints_n, addresses_n, counts_n, types_n;
	int combiner, rc;
	void *room; /* all of it in units of 8 bytes */
	MPI_Datatype *types;
	MPI_Aint *addresses;
	MPI_Count *counts;

	rc = PMPI_Type_get_envelope_c(type, &ints_n, &addresses_n, &counts_n, &types_n, &combiner);
	if (rc)
		return rc;
	if (types_n == 0) {
		*basic = *basic == MPI_DATATYPE_NULL || *basic == type ? type : MPI_BYTE;
		return MPI_SUCCESS;
	}
	room = calloc((size_t)(types_n + addresses_n + counts_n + ints_n), 8);
	if (room == NULL)
		return MPI_ERR_NO_MEM;
	types = room;
	addresses = (MPI_Aint *)(types + types_n);
	counts = (MPI_Count *)(addresses + addresses_n);
	rc = PMPI_Type_get_contents_c(type, ints_n, addresses_n, counts_n, types_n,
				      (int *)(counts + counts_n), addresses, counts, types);
	for (MPI_Count i = 0; !rc && i < types_n; i++)
		rc = basic_of(types[i], true, basic);
	free(room);
	if (owned)
		PMPI_Type_free(&type);
	return rc;
}

/* Runs of bytes in memory, in the order in which they are packed. */
struct runs {
	MPI_Count n, room, *at, *length;
};

static int
add_byte(struct runs *r, MPI_Count at)
{
	if (r->n > 0 && r->at[r->n - 1] + r->length[r->n - 1] == at) {
		r->length[r->n - 1]++;
		return MPI_SUCCESS;
	}
	if (r->n == r->room) {
		MPI_Count room = r->room ? 2 * r->room : 64;
		MPI_Count *more_at = realloc(r->at, (size_t)room * sizeof(MPI_Count));
		MPI_Count *more_length;

		if (more_at == NULL)
			return MPI_ERR_NO_MEM;
		r->at = more_at;
		more_length = realloc(r->length, (size_t)room * sizeof(MPI_Count));
		if (more_length == NULL)
			return MPI_ERR_NO_MEM;
		r->length = more_length;
		r->room = room;
	}
	r->at[r->n] = at;
	r->length[r->n++] = 1;
	return MPI_SUCCESS;
}

struct shape {
	MPI_Count size, extent, lb, span; /* bytes; lb and span are the true ones */
};

/* `count` of a datatype whose bytes come `from` there. */
static int
find_runs(const struct f_section *s, MPI_Count count, const struct shape *t, const MPI_Count *from,
	  struct runs *runs)
{
	MPI_Count element = (MPI_Count)s->element, end = s->elements * element;

	for (MPI_Count i = 0; i < count; i++)
		for (MPI_Count j = 0; j < t->size; j++) {
			MPI_Count flat = i * t->extent + t->lb + from[j];
			int rc = flat < 0 || flat >= end
					 ? MPI_ERR_BUFFER
					 : add_byte(runs, f_offset_of(s, flat / element) +
								  flat % element);

			if (rc)
				return rc;
		}
	return MPI_SUCCESS;
}

/* The datatype of all runs: of `basic` if they consist of it. */
static int
join_section(struct runs *r, MPI_Datatype basic, MPI_Datatype *out)
{
	int size = 1;
	bool fits = true;

	if (basic != MPI_BYTE)
		PMPI_Type_size(basic, &size);
	for (MPI_Count i = 0; i < r->n; i++)
		fits &= r->length[i] % size == 0;
	for (MPI_Count i = 0; fits && i < r->n; i++)
		r->length[i] /= size;
	return PMPI_Type_create_hindexed_c(r->n, r->length, r->at, fits ? basic : MPI_BYTE, out);
}

static int
of_any(const struct f_section *s, MPI_Count count, MPI_Datatype type, const struct shape *t,
       MPI_Datatype *out)
{
	MPI_Count *from = malloc((size_t)t->size * sizeof(*from));
	MPI_Datatype basic = MPI_DATATYPE_NULL;
	struct runs runs = {0};
	int rc = from ? origins(type, t->size, t->lb, t->span, from) : MPI_ERR_NO_MEM;

	if (!rc)
		rc = find_runs(s, count, t, from, &runs);
	if (!rc)
		rc = basic_of(type, false, &basic);
	if (!rc)
		rc = join_section(&runs, basic, out);
	free(runs.at);
	free(runs.length);
	free(from);
	return rc;
}

/* ---- what wrappers call ------------------------------------------------------------------ */

static int
made(struct f_call *call, MPI_Datatype type, int rc, struct f_piece *p)
{
	if (!rc)
		rc = PMPI_Type_commit(&type);
	if (rc)
		return rc;
	call->made[call->made_n++] = type;
	p->count = 1;
	p->datatype = PMPI_Type_toint(type);
	return MPI_SUCCESS;
}

static int
shape_of(MPI_Datatype type, struct shape *t)
{
	MPI_Count lb;
	int rc = PMPI_Type_size_c(type, &t->size);

	if (!rc)
		rc = PMPI_Type_get_extent_c(type, &lb, &t->extent);
	return rc ? rc : PMPI_Type_get_true_extent_c(type, &t->lb, &t->span);
}

/* Make one element of a new datatype of p. */
static void
of_section(struct f_call *call, const CFI_cdesc_t *d, struct f_piece *p)
{
	struct f_section s = f_section_of(d);
	MPI_Datatype type = PMPI_Type_fromint(p->datatype), out = MPI_DATATYPE_NULL;
	MPI_Count element = (MPI_Count)s.element;
	struct shape t;

	call->rc = shape_of(type, &t);
	if (call->rc || t.size == 0)
		return;
	if (F_PREDEFINED(p->datatype) && t.size == t.extent && element % t.size == 0 &&
	    p->count % (element / t.size) == 0) {
		MPI_Count elements = p->count / (element / t.size);

		call->rc = elements > s.elements ? MPI_ERR_BUFFER
						 : of_basic(&s, elements, type, t.size, &out);
	} else {
		call->rc = of_any(&s, p->count, type, &t, &out);
	}
	call->rc = made(call, out, call->rc, p);
}

struct f_piece
f_piece(struct f_call *call, const CFI_cdesc_t *d, MPI_Count count, int datatype)
{
	struct f_piece p = {d->base_addr, count, datatype};

	/* What is wrong with the arguments the call itself says. */
	if (!call->rc && f_has_gaps(d) && count > 0 &&
	    datatype != PMPI_Type_toint(MPI_DATATYPE_NULL))
		of_section(call, d, &p);
	return p;
}
struct f_piece
f_partitions(struct f_call *call, const CFI_cdesc_t *d, int datatype)
{
	struct f_piece p = {d->base_addr, 0, datatype};
	struct f_section s;
	MPI_Datatype type, out = MPI_DATATYPE_NULL;
	struct shape t;
	bool even = true;

	if (call->rc || !f_has_gaps(d))
		return p;
	s = f_section_of(d);
	type = PMPI_Type_fromint(datatype);
	for (int i = 1; i < s.rank; i++)
		even &= s.dim[i].step == s.dim[i - 1].step * s.dim[i - 1].extent;
	call->rc = shape_of(type, &t);
	if (call->rc)
		return p;
	if (!even || t.size != t.extent || t.lb != 0 || t.size != (MPI_Count)s.element)
		call->rc = MPI_ERR_BUFFER;
	else
		call->rc = PMPI_Type_create_resized_c(type, 0, s.dim[0].step, &out);
	call->rc = made(call, out, call->rc, &p);
	return p;
}

int
f_call_error(const struct f_call *call)
{
	return call->rc ? f_fail(call->rc) : MPI_SUCCESS;
}
