/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/tables.h"

#include "base/arena.h"
#include "base/assert.h"

/* Indices of IMPI_LABEL_LIST: where have, mask and elements keep a label. */
enum label_index {
#define LABEL_INDEX(name, value, bytes, per) IX_##name,
	IMPI_LABEL_LIST(LABEL_INDEX)
#undef LABEL_INDEX
};

static size_t
lay_out_tables(const struct impi_limits *l, void *mem, struct impi_tables *t)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof *t);
	t->host = base_arena_take(&a, l->hosts_max, sizeof *t->host);
	t->proc = base_arena_take(&a, l->procs_max, sizeof *t->proc);
	t->proc_host = base_arena_take(&a, l->procs_max, sizeof *t->proc_host);
	t->proc_order = base_arena_take(&a, l->procs_max, sizeof *t->proc_order);
	return base_arena_bytes(&a);
}

size_t
impi_tables_footprint(const struct impi_limits *limits)
{
	struct impi_tables counting;
	if (limits->hosts_max == 0 || limits->hosts_max > IMPI_HOSTS_MAX ||
	    limits->procs_max == 0 || limits->procs_max > IMPI_PROCS_MAX)
		return 0;
	return lay_out_tables(limits, NULL, &counting);
}

struct impi_tables *
impi_tables_new(void *mem, const struct impi_limits *limits)
{
	if (!mem || !impi_tables_footprint(limits))
		return NULL;
	struct impi_tables *t = mem;
	*t = (struct impi_tables){.limits = *limits};
	lay_out_tables(limits, mem, t);
	return t;
}

static uint32_t
all_mask(const struct impi_tables *t)
{
	return t->nclients == 32 ? UINT32_MAX : (1u << t->nclients) - 1;
}

enum impi_err
impi_tables_begin(struct impi_tables *t, uint32_t nclients, struct impi_error *err)
{
	if (nclients < 1 || nclients > IMPI_CLIENTS_MAX)
		return impi_error_set(err, IMPI_ERR_VALUE, "a job of %u clients, not 1..%u",
				      nclients, IMPI_CLIENTS_MAX);
	if (t->nclients)
		return impi_error_set(err, IMPI_ERR_STATE, "number of clients given twice");
	t->nclients = nclients;
	return IMPI_ERR_OK;
}

/* The client whose contribution is the k-th in a reply with this mask. */
static uint32_t
client_of_part(uint32_t mask, uint32_t k)
{
	for (uint32_t c = 0; c < IMPI_CLIENTS_MAX; c++)
		if (mask & (1u << c) && k-- == 0)
			return c;
	return IMPI_CLIENTS_MAX;
}

/* --- one label ---------------------------------------------------------- */

static bool
is_zero_version(const uint8_t *p)
{
	return be64_load(p) == 0;
}

/* Every list begins with 0.0 and ascends, so 0.0 tells where the next begins. */
static enum impi_err
take_versions(struct impi_tables *t, uint32_t mask, const uint8_t *data, uint32_t n,
	      struct impi_error *err)
{
	uint32_t lists = 0, c = 0;
	struct impi_version last = {0, 0};

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *p = data + (size_t)i * IMPI_VERSION_BYTES;
		struct impi_version v = {be32_load(p), be32_load(p + 4)};
		if (is_zero_version(p)) {
			c = client_of_part(mask, lists++);
			if (c == IMPI_CLIENTS_MAX)
				break;
			t->client[c].nversions = 0;
		} else if (i == 0) {
			return impi_error_set(err, IMPI_ERR_TABLE,
					      "client %u does not list version 0.0 first",
					      client_of_part(mask, 0));
		} else if (v.major < last.major ||
			   (v.major == last.major && v.minor <= last.minor)) {
			return impi_error_set(err, IMPI_ERR_TABLE,
					      "versions of client %u do not ascend", c);
		}
		last = v;
		struct impi_client_entry *client = &t->client[c];
		if (client->nversions < IMPI_VERSIONS_MAX)
			client->version[client->nversions++] = v;
	}
	if (lists != (uint32_t)__builtin_popcount(mask))
		return impi_error_set(err, IMPI_ERR_TABLE, "%u lists of versions from %d clients",
				      lists, __builtin_popcount(mask));
	return IMPI_ERR_OK;
}

static enum impi_err
take_count(struct impi_tables *t, int ix, const uint8_t *data, struct impi_error *err)
{
	bool hosts = ix == IX_C_NHOSTS;
	uint32_t max = hosts ? t->limits.hosts_max : t->limits.procs_max;
	uint32_t sum = 0;

	for (uint32_t c = 0; c < t->nclients; c++) {
		uint32_t v = be32_load(data + 4 * (size_t)c);
		if (v < 1 || v > INT32_MAX)
			return impi_error_set(err, IMPI_ERR_VALUE, "client %u has %u %s", c, v,
					      hosts ? "hosts" : "procs");
		if (v > max - sum)
			return impi_error_set(err, IMPI_ERR_LIMIT,
					      "the job has more than %u %s, this process was "
					      "set up for no more",
					      max, hosts ? "hosts" : "procs");
		if (hosts) {
			t->client[c].nhosts = v;
			t->client[c].first_host = sum;
		} else {
			t->client[c].nprocs = v;
			t->client[c].first_rank = sum;
		}
		sum += v;
	}
	*(hosts ? &t->nhosts : &t->nprocs) = sum;
	return IMPI_ERR_OK;
}

/* The smallest of n values, each within [min, max]. */
static enum impi_err
take_minimum(uint32_t *out, uint32_t label, uint32_t min, uint32_t max, const uint8_t *data,
	     uint32_t n, struct impi_error *err)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = be32_load(data + 4 * (size_t)i);
		if (v < min || v > max)
			return impi_error_set(err, IMPI_ERR_VALUE, "%s: entry %u is %u, not %u..%u",
					      impi_label_name(label), i, v, min, max);
		if (v < least)
			least = v;
	}
	*out = least;
	return IMPI_ERR_OK;
}

static enum impi_err
take_equal(uint32_t *out, uint32_t label, uint32_t dflt, uint32_t mask, const uint8_t *data,
	   uint32_t n, struct impi_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = be32_load(data + 4 * (size_t)i);
		if (v == UINT32_MAX)
			v = dflt;
		if (v > INT32_MAX)
			return impi_error_set(err, IMPI_ERR_VALUE, "%s of client %u is negative",
					      impi_label_name(label), client_of_part(mask, i));
		if (i > 0 && v != *out)
			return impi_error_set(err, IMPI_ERR_TABLE,
					      "%s must be the same in all clients: %u in client "
					      "%u, %u in client %u",
					      impi_label_name(label), *out, client_of_part(mask, 0),
					      v, client_of_part(mask, i));
		*out = v;
	}
	return IMPI_ERR_OK;
}

static enum impi_err
take_host_label(struct impi_tables *t, int ix, const uint8_t *data, uint32_t n,
		struct impi_error *err)
{
	uint32_t label = impi_label_at((unsigned int)ix);
	uint32_t elem = impi_label_elem_bytes(label);

	if (n > t->limits.hosts_max)
		return impi_error_set(err, IMPI_ERR_LIMIT,
				      "%s has %u entries, this process was set up for %u hosts",
				      impi_label_name(label), n, t->limits.hosts_max);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *p = data + (size_t)i * elem;
		struct impi_host *h = &t->host[i];
		switch (ix) {
		case IX_H_IPV6:
			memcpy(h->addr, p, sizeof h->addr);
			break;
		case IX_H_PORT:
			h->port = be32_load(p);
			if (h->port < 1 || h->port > 65535)
				return impi_error_set(err, IMPI_ERR_VALUE, "port of host %u is %u",
						      i, h->port);
			break;
		case IX_H_NPROCS:
			h->nprocs = be32_load(p);
			break;
		case IX_H_ACKMARK:
			h->ackmark = be32_load(p);
			break;
		default:
			h->hiwater = be32_load(p);
			break;
		}
	}
	if (ix == IX_H_ACKMARK)
		return take_minimum(&t->ackmark, label, 1, UINT32_MAX, data, n, err);
	if (ix == IX_H_HIWATER)
		return take_minimum(&t->hiwater, label, 1, UINT32_MAX, data, n, err);
	return IMPI_ERR_OK;
}

static enum impi_err
take_proc_label(struct impi_tables *t, int ix, const uint8_t *data, uint32_t n,
		struct impi_error *err)
{
	uint32_t label = impi_label_at((unsigned int)ix);
	if (n > t->limits.procs_max)
		return impi_error_set(err, IMPI_ERR_LIMIT,
				      "%s has %u entries, this process was set up for %u procs",
				      impi_label_name(label), n, t->limits.procs_max);
	for (uint32_t i = 0; i < n; i++) {
		if (ix == IX_P_IPV6)
			memcpy(t->proc[i].hostid, data + 16 * (size_t)i, 16);
		else
			t->proc[i].pid = be64_load(data + 8 * (size_t)i);
	}
	return IMPI_ERR_OK;
}

/* Labels that describe hosts and procs must come from every client. */
static bool
needs_all(int ix)
{
	return ix == IX_C_NHOSTS || ix == IX_C_NPROCS || ix == IX_H_IPV6 || ix == IX_H_PORT ||
	       ix == IX_H_NPROCS || ix == IX_P_IPV6 || ix == IX_P_PID;
}

static enum impi_err
check_shape(const struct impi_tables *t, int ix, uint32_t mask, size_t len, struct impi_error *err)
{
	uint32_t label = impi_label_at((unsigned int)ix);
	const char *name = impi_label_name(label);

	if (!t->nclients || t->finished)
		return impi_error_set(err, IMPI_ERR_STATE, "%s outside of start-up", name);
	if (t->have & (1u << ix))
		return impi_error_set(err, IMPI_ERR_LABEL, "%s answered twice", name);
	if (mask == 0 || mask & ~all_mask(t))
		return impi_error_set(err, IMPI_ERR_VALUE,
				      "%s with client mask 0x%x in a job of %u clients", name, mask,
				      t->nclients);
	if (needs_all(ix) && mask != all_mask(t))
		return impi_error_set(err, IMPI_ERR_TABLE, "client %u did not send %s",
				      (uint32_t)__builtin_ctz(~mask), name);
	if (len == 0 || len % impi_label_elem_bytes(label) != 0)
		return impi_error_set(err, IMPI_ERR_LENGTH,
				      "%s with %zu bytes, not a multiple of %u", name, len,
				      impi_label_elem_bytes(label));
	if (label >= IMPI_C_NHOSTS && label < IMPI_H_IPV6 &&
	    len / 4 != (uint32_t)__builtin_popcount(mask))
		return impi_error_set(err, IMPI_ERR_LENGTH, "%s with %zu values from %d clients",
				      name, len / 4, __builtin_popcount(mask));
	return IMPI_ERR_OK;
}

enum impi_err
impi_tables_label(struct impi_tables *t, uint32_t label, uint32_t mask, const uint8_t *data,
		  size_t len, struct impi_error *err)
{
	int ix = impi_label_index(label);
	if (ix < 0)
		return IMPI_ERR_OK;
	enum impi_err e = check_shape(t, ix, mask, len, err);
	if (e != IMPI_ERR_OK)
		return e;
	uint32_t n = (uint32_t)(len / impi_label_elem_bytes(label));
	switch (ix) {
	case IX_C_VERSION:
		e = take_versions(t, mask, data, n, err);
		break;
	case IX_C_NHOSTS:
	case IX_C_NPROCS:
		e = take_count(t, ix, data, err);
		break;
	case IX_C_DATALEN:
		e = take_minimum(&t->datalen, label, 1, UINT32_MAX, data, n, err);
		break;
	case IX_C_TAGUB:
		e = take_minimum(&t->tagub, label, IMPI_TAGUB_MIN, INT32_MAX, data, n, err);
		break;
	case IX_C_COLL_XSIZE:
		e = take_equal(&t->xsize, label, IMPI_COLL_XSIZE_DEFAULT, mask, data, n, err);
		break;
	case IX_C_COLL_MAXLINEAR:
		e = take_equal(&t->maxlinear, label, IMPI_COLL_MAXLINEAR_DEFAULT, mask, data, n,
			       err);
		break;
	case IX_P_IPV6:
	case IX_P_PID:
		e = take_proc_label(t, ix, data, n, err);
		break;
	default:
		e = take_host_label(t, ix, data, n, err);
		break;
	}
	if (e == IMPI_ERR_OK) {
		t->have |= 1u << ix;
		t->mask[ix] = mask;
		t->elements[ix] = n;
	}
	return e;
}

/* --- the whole ---------------------------------------------------------- */

/* Values of clients that sent a host label, packed at the front, go to the
 * hosts they belong to; hosts of the others get 0.  Backwards, so that nothing
 * is overwritten before it has moved. */
static enum impi_err
spread_marks(struct impi_tables *t, int ix, struct impi_error *err)
{
	uint32_t have_n = t->elements[ix], want_n = 0;
	for (uint32_t c = 0; c < t->nclients; c++)
		if (t->mask[ix] & (1u << c))
			want_n += t->client[c].nhosts;
	if (have_n != want_n)
		return impi_error_set(err, IMPI_ERR_TABLE, "%s has %u entries for %u hosts",
				      impi_label_name(impi_label_at((unsigned int)ix)), have_n,
				      want_n);
	for (uint32_t h = t->nhosts; h-- > 0;) {
		bool sent = t->mask[ix] & (1u << impi_tables_client_of_host(t, h));
		uint32_t from = sent ? --have_n : 0;
		if (ix == IX_H_ACKMARK)
			t->host[h].ackmark = sent ? t->host[from].ackmark : 0;
		else
			t->host[h].hiwater = sent ? t->host[from].hiwater : 0;
	}
	return IMPI_ERR_OK;
}

static enum impi_err
check_complete(const struct impi_tables *t, struct impi_error *err)
{
	for (int ix = 0; ix < IMPI_NLABELS; ix++) {
		uint32_t label = impi_label_at((unsigned int)ix);
		uint32_t want_n = 0;
		bool has_default = ix == IX_C_VERSION || ix == IX_C_TAGUB ||
				   ix == IX_C_COLL_XSIZE || ix == IX_C_COLL_MAXLINEAR;
		if (!(t->have & (1u << ix)) && !has_default)
			return impi_error_set(err, IMPI_ERR_TABLE, "no client sent %s",
					      impi_label_name(label));
		if (ix == IX_H_IPV6 || ix == IX_H_PORT || ix == IX_H_NPROCS)
			want_n = t->nhosts;
		else if (ix == IX_P_IPV6 || ix == IX_P_PID)
			want_n = t->nprocs;
		if (want_n && t->elements[ix] != want_n)
			return impi_error_set(err, IMPI_ERR_TABLE,
					      "%s has %u entries, the clients announced %u",
					      impi_label_name(label), t->elements[ix], want_n);
	}
	return IMPI_ERR_OK;
}

static enum impi_err
fill_owners(struct impi_tables *t, struct impi_error *err)
{
	for (uint32_t c = 0; c < t->nclients; c++) {
		const struct impi_client_entry *client = &t->client[c];
		uint64_t rank = client->first_rank;
		uint64_t end = rank + client->nprocs;
		for (uint32_t i = 0; i < client->nhosts; i++) {
			uint32_t h = client->first_host + i;
			struct impi_host *host = &t->host[h];
			host->client = c;
			host->first_rank = (uint32_t)rank;
			if (host->nprocs > end - rank)
				return impi_error_set(err, IMPI_ERR_TABLE,
						      "hosts of client %u have more procs than "
						      "the %u the client announced",
						      c, client->nprocs);
			for (uint32_t k = 0; k < host->nprocs; k++)
				t->proc_host[rank + k] = h;
			rank += host->nprocs;
		}
		if (rank != end)
			return impi_error_set(err, IMPI_ERR_TABLE,
					      "hosts of client %u have %u procs, the client "
					      "announced %u",
					      c, (uint32_t)(rank - client->first_rank),
					      client->nprocs);
	}
	return IMPI_ERR_OK;
}

static bool
order_less(const struct impi_tables *t, uint32_t a, uint32_t b)
{
	int c = impi_proc_cmp(&t->proc[a], &t->proc[b]);
	return c < 0 || (c == 0 && a < b);
}

static void
sift_down(const struct impi_tables *t, uint32_t *v, uint32_t root, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * root + 1;
		if (child >= n)
			return;
		if (child + 1 < n && order_less(t, v[child], v[child + 1]))
			child++;
		if (!order_less(t, v[root], v[child]))
			return;
		uint32_t swap = v[root];
		v[root] = v[child];
		v[child] = swap;
		root = child;
	}
}

/* Heap sort: in place and never quadratic, whatever ids the clients choose. */
static enum impi_err
order_procs(struct impi_tables *t, struct impi_error *err)
{
	uint32_t *v = t->proc_order;
	uint32_t n = t->nprocs;

	for (uint32_t i = 0; i < n; i++)
		v[i] = i;
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(t, v, i, n);
	for (uint32_t end = n; end-- > 1;) {
		uint32_t swap = v[0];
		v[0] = v[end];
		v[end] = swap;
		sift_down(t, v, 0, end);
	}
	for (uint32_t i = 1; i < n; i++)
		if (impi_proc_cmp(&t->proc[v[i - 1]], &t->proc[v[i]]) == 0)
			return impi_error_set(err, IMPI_ERR_TABLE,
					      "world ranks %u and %u have the same process id "
					      "(pid %llu)",
					      v[i - 1], v[i],
					      (unsigned long long)t->proc[v[i]].pid);
	return IMPI_ERR_OK;
}

enum impi_err
impi_tables_finish(struct impi_tables *t, struct impi_error *err)
{
	enum impi_err e;
	if (!t->nclients || t->finished)
		return impi_error_set(err, IMPI_ERR_STATE, "tables finished outside of start-up");
	if ((e = check_complete(t, err)) != IMPI_ERR_OK ||
	    (e = spread_marks(t, IX_H_ACKMARK, err)) != IMPI_ERR_OK ||
	    (e = spread_marks(t, IX_H_HIWATER, err)) != IMPI_ERR_OK ||
	    (e = fill_owners(t, err)) != IMPI_ERR_OK || (e = order_procs(t, err)) != IMPI_ERR_OK)
		return e;
	if (t->ackmark > t->hiwater)
		return impi_error_set(err, IMPI_ERR_VALUE,
				      "smallest ACKMARK %u is above smallest HIWATER %u",
				      t->ackmark, t->hiwater);
	if (!impi_tables_have(t, IMPI_C_TAGUB))
		t->tagub = IMPI_TAGUB_MIN;
	if (!impi_tables_have(t, IMPI_C_COLL_XSIZE))
		t->xsize = IMPI_COLL_XSIZE_DEFAULT;
	if (!impi_tables_have(t, IMPI_C_COLL_MAXLINEAR))
		t->maxlinear = IMPI_COLL_MAXLINEAR_DEFAULT;
	t->finished = true;
	return IMPI_ERR_OK;
}

bool
impi_tables_have(const struct impi_tables *t, uint32_t label)
{
	int ix = impi_label_index(label);
	return ix >= 0 && t->have & (1u << ix);
}

uint32_t
impi_tables_client_of_rank(const struct impi_tables *t, uint32_t rank)
{
	BASE_ASSERT(rank < t->nprocs);
	uint32_t c = t->nclients - 1;
	while (c > 0 && rank < t->client[c].first_rank)
		c--;
	return c;
}

uint32_t
impi_tables_client_of_host(const struct impi_tables *t, uint32_t host)
{
	BASE_ASSERT(host < t->nhosts);
	uint32_t c = t->nclients - 1;
	while (c > 0 && host < t->client[c].first_host)
		c--;
	return c;
}
