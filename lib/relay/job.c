/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay/job.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "suci/addr.h"

#define HEAD_LEN    52u
#define HOST_LEN    32u
#define LOCAL_LEN   28u
#define IDS_LEN	    (2u * RELAY_PROC_ID_LEN)
#define FOREIGN_LEN 34u
#define GATE_LEN    27u
#define SIX_LEN	    16u

/* The table and what it may hold. */
struct table {
	struct relay_job job;
	struct relay_job_limits limits;
};

static bool
limits_ok(const struct relay_job_limits *l)
{
	return l->nworld_max >= 1 && l->nworld_max <= 1u << 20 && l->nhosts_max >= 1 &&
	       l->nhosts_max <= 1u << 16;
}

static size_t
lay_out(const struct relay_job_limits *l, void *mem, struct table *t)
{
	struct base_arena a = base_arena(mem);
	struct relay_job *j = &t->job;
	base_arena_take(&a, 1, sizeof *t);
	j->local = base_arena_take(&a, l->nworld_max, sizeof *j->local);
	j->host = base_arena_take(&a, l->nhosts_max, sizeof *j->host);
	j->foreign = base_arena_take(&a, l->nhosts_max, sizeof *j->foreign);
	j->gate = base_arena_take(&a, RELAY_GATES_MAX, sizeof *j->gate);
	j->global_id = base_arena_take(&a, l->nworld_max, RELAY_PROC_ID_LEN);
	j->private_id = base_arena_take(&a, l->nworld_max, RELAY_PROC_ID_LEN);
	return base_arena_bytes(&a);
}

size_t
relay_job_footprint(const struct relay_job_limits *l)
{
	struct table counting;
	return limits_ok(l) ? lay_out(l, NULL, &counting) : 0;
}

struct relay_job *
relay_job_new(void *mem, const struct relay_job_limits *l)
{
	if (!mem || !limits_ok(l))
		return NULL;
	struct table *t = mem;
	*t = (struct table){.limits = *l};
	lay_out(l, mem, t);
	return &t->job;
}

static bool
is_foreign(const uint8_t id[IMPI_HOSTID_BYTES])
{
	struct impi_hostid h;
	return impi_hostid_decode(id, &h) != IMPI_HOSTID_SUCI;
}

enum impi_hostid_result
relay_local_decode(const struct relay_local *local, struct impi_hostid *out)
{
	return impi_hostid_decode_at(local->id, local->at, out);
}

static bool
is_foreign_local(const struct relay_local *local)
{
	struct impi_hostid h;
	return relay_local_decode(local, &h) != IMPI_HOSTID_SUCI;
}

static uint32_t
count_sixes(const struct relay_job *j)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < j->nlocal; i++)
		n += impi_hostid_is_at_host(j->local[i].id);
	return n;
}

bool
relay_job_has_six(const struct relay_job *job)
{
	return count_sixes(job) > 0;
}

/* ---- consistency --------------------------------------------------------------- */

static const char *
fault_in_hosts(const struct relay_job *j)
{
	uint32_t next = 0, client = 0, locals = 0;
	for (uint32_t h = 0; h < j->nhosts; h++) {
		const struct relay_host *x = &j->host[h];
		if (x->client >= RELAY_CLIENTS_MAX || x->client < client)
			return "hosts are not in the order of their clients";
		if (x->first_rank != next || x->nprocs == 0 || x->nprocs > j->nworld - next)
			return "hosts do not cover the ranks without gaps";
		if (x->label_base > UINT32_MAX - (1u << 20))
			return "a host's labels would wrap";
		if (x->client == j->my_client) {
			if (is_foreign(x->id))
				return "own processes are announced as another implementation's";
			if (locals == 0 && x->first_rank != j->first_local)
				return "the own client's ranks begin elsewhere";
			locals += x->nprocs;
		}
		client = x->client;
		next += x->nprocs;
	}
	if (next != j->nworld)
		return "hosts do not cover the ranks without gaps";
	if (locals != j->nlocal || locals == 0)
		return "the number of local processes contradicts the hosts";
	return NULL;
}

/* Ranks [first, first + n) of client's? */
static bool
is_range_of(const struct relay_job *j, uint32_t client, uint32_t first, uint32_t n)
{
	if (n == 0)
		return first <= j->nworld;
	if (first >= j->nworld || n > j->nworld - first)
		return false;
	/* Clients ascend with the ranks, so its ends say it all. */
	return j->host[relay_job_host_of(j, first)].client == client &&
	       j->host[relay_job_host_of(j, first + n - 1)].client == client;
}

static bool
is_foreign_rank(const struct relay_job *j, uint32_t rank)
{
	if (rank - j->first_local < j->nlocal)
		return is_foreign_local(&j->local[rank - j->first_local]);
	return is_foreign(j->host[relay_job_host_of(j, rank)].id);
}

static uint32_t
count_foreign(const struct relay_job *j)
{
	uint32_t n = 0;
	for (uint32_t h = 0; h < j->nhosts; h++)
		n += j->host[h].client != j->my_client && is_foreign(j->host[h].id)
			     ? j->host[h].nprocs
			     : 0;
	for (uint32_t i = 0; i < j->nlocal; i++)
		n += is_foreign_local(&j->local[i]);
	return n;
}

static const char *
fault_in_foreign(const struct relay_job *j)
{
	uint32_t next = 0, n = 0, next_rank[2] = {0, 0};
	const uint32_t nhosts[2] = {j->nhosts_private, j->nhosts_global};
	for (uint32_t i = 0; i < j->nforeign; i++) {
		const struct relay_foreign *f = &j->foreign[i];
		int side = f->client == j->my_client ? RELAY_GATE_PRIVATE : RELAY_GATE_GLOBAL;
		if (f->client >= RELAY_CLIENTS_MAX || f->first_rank < next ||
		    !is_range_of(j, f->client, f->first_rank, f->nprocs))
			return "foreign hosts are not in the order of their processes";
		if (f->rank < next_rank[side] || f->rank >= nhosts[side])
			return "a foreign host's rank contradicts the mapping";
		if (f->port == 0)
			return "a foreign host has no port";
		for (uint32_t r = f->first_rank; r < f->first_rank + f->nprocs; r++)
			if (!is_foreign_rank(j, r))
				return "a foreign host carries a process that is reached by Suci";
		next = f->first_rank + f->nprocs;
		next_rank[side] = f->rank + 1;
		n += f->nprocs;
	}
	return n == count_foreign(j) ? NULL : "a foreign process has no host";
}

static const char *
fault_in_gates(const struct relay_job *j)
{
	uint32_t next[2] = {0, 0}, next_rank[2] = {0, 0}, n[2] = {0, 0}, side = 0;
	const uint32_t nhosts[2] = {j->nhosts_private, j->nhosts_global};
	bool needed[2] = {false, false};

	for (uint32_t i = 0; i < j->nforeign; i++)
		needed[j->foreign[i].client == j->my_client ? RELAY_GATE_PRIVATE
							    : RELAY_GATE_GLOBAL] = true;
	for (uint32_t i = 0; i < j->ngates; i++) {
		const struct relay_gate *g = &j->gate[i];
		if (g->side > RELAY_GATE_GLOBAL || g->side < side || !needed[g->side])
			return "a gate on a side that needs none, or out of order";
		side = g->side;
		if (g->relay >= RELAY_RELAYS_MAX || g->client >= RELAY_CLIENTS_MAX ||
		    (g->client == j->my_client) != (side == RELAY_GATE_GLOBAL))
			return "a gate for the wrong client or relay";
		if (g->first_rank < next[side] ||
		    !is_range_of(j, g->client, g->first_rank, g->nprocs) ||
		    g->rank < next_rank[side] || g->rank >= nhosts[side])
			return "gates are not in the order of their processes";
		if (g->ipv4 == 0 || g->port == 0)
			return "a gate has no address";
		next[side] = g->first_rank + g->nprocs;
		next_rank[side] = g->rank + 1;
		n[side] += g->nprocs;
	}
	/* Whoever a foreign host may talk to is behind a gate. */
	if ((needed[RELAY_GATE_PRIVATE] && n[RELAY_GATE_PRIVATE] != j->nworld - j->nlocal) ||
	    (needed[RELAY_GATE_GLOBAL] && n[RELAY_GATE_GLOBAL] != j->nlocal))
		return "a process has no gate";
	return NULL;
}

static const char *
fault_in(const struct relay_job *j)
{
	if (j->nworld == 0 || j->nworld > 1u << 20)
		return "the job has no processes, or too many";
	if (j->label_base % RELAY_LABEL_PAGE != 0 || j->label_base < 1u << 24 ||
	    j->label_base > UINT32_MAX - (1u << 20))
		return "the label base is not one a relay hands out";
	if (j->my_client >= RELAY_CLIENTS_MAX)
		return "client number over 31";
	const char *fault = fault_in_hosts(j);
	if (fault)
		return fault;
	for (uint32_t i = 0; i < j->nlocal; i++) {
		const struct relay_local *l = &j->local[i];
		if (l->relay >= RELAY_RELAYS_MAX)
			return "relay index out of range";
		if (!impi_hostid_is_at_host(l->id))
			continue;
		const struct suci_addr at = suci_addr_of(l->at, 0);
		if (at.family != 6 || suci_addr_fault(&at))
			return "a local process has an IPv6 address that nobody can have";
	}
	fault = fault_in_foreign(j);
	return fault ? fault : fault_in_gates(j);
}

int
relay_job_validate(const struct relay_job *job, const char **what)
{
	const char *fault = fault_in(job);
	if (what)
		*what = fault;
	return fault ? RELAY_ERR_MALFORMED : RELAY_ERR_OK;
}

/* ---- queries --------------------------------------------------------------------- */

uint32_t
relay_job_host_of(const struct relay_job *job, uint32_t rank)
{
	uint32_t lo = 0, hi = job->nhosts;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct relay_host *h = &job->host[mid];
		if (rank < h->first_rank)
			hi = mid;
		else if (rank - h->first_rank >= h->nprocs)
			lo = mid + 1;
		else
			return mid;
	}
	return job->nhosts;
}

bool
relay_job_has_foreign(const struct relay_job *job, uint32_t *rank)
{
	for (uint32_t h = 0; h < job->nhosts; h++) {
		if (is_foreign(job->host[h].id)) {
			*rank = job->host[h].first_rank;
			return true;
		}
	}
	for (uint32_t i = 0; i < job->nlocal; i++) {
		if (is_foreign_local(&job->local[i])) {
			*rank = job->first_local + i;
			return true;
		}
	}
	return false;
}

const struct relay_foreign *
relay_job_foreign_of(const struct relay_job *job, uint32_t rank)
{
	uint32_t lo = 0, hi = job->nforeign;
	while (lo < hi) { /* the first that begins after rank */
		uint32_t mid = lo + (hi - lo) / 2;
		if (job->foreign[mid].first_rank <= rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Of those that begin at one rank only the last has processes. */
	const struct relay_foreign *f = lo ? &job->foreign[lo - 1] : NULL;
	return f && rank - f->first_rank < f->nprocs ? f : NULL;
}

const struct relay_gate *
relay_job_gate_of(const struct relay_job *job, enum relay_side_of_gate side, uint32_t rank)
{
	uint32_t lo = 0, hi = job->ngates;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct relay_gate *g = &job->gate[mid];
		if (g->side < (uint8_t)side || (g->side == side && g->first_rank <= rank))
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct relay_gate *g = lo ? &job->gate[lo - 1] : NULL;
	return g && g->side == side && rank - g->first_rank < g->nprocs ? g : NULL;
}

uint32_t
relay_job_gateway(const struct relay_job *job, uint32_t src, uint32_t dst)
{
	const struct relay_foreign *f = relay_job_foreign_of(job, dst);
	if (!f)
		return UINT32_MAX;
	const struct relay_gate *g = relay_job_gate_of(
		job, f->client == job->my_client ? RELAY_GATE_PRIVATE : RELAY_GATE_GLOBAL, src);
	return g ? g->relay : UINT32_MAX;
}

/* ---- body of the JOB frame -------------------------------------------------------- */

size_t
relay_job_encoded_len(const struct relay_job *j)
{
	return HEAD_LEN + (size_t)j->nhosts * HOST_LEN + (size_t)j->nlocal * LOCAL_LEN +
	       (size_t)j->nworld * IDS_LEN + (size_t)j->nforeign * FOREIGN_LEN +
	       (size_t)j->ngates * GATE_LEN + (size_t)count_sixes(j) * SIX_LEN;
}

/* Where local processes of version 2 are, and nothing where there is none. */
static void
encode_sixes(const struct relay_job *j, struct base_writer *w)
{
	for (uint32_t i = 0; i < j->nlocal; i++)
		if (impi_hostid_is_at_host(j->local[i].id))
			base_write_bytes(w, j->local[i].at, SIX_LEN);
}

static void
encode_foreign(const struct relay_job *j, struct base_writer *w)
{
	for (uint32_t i = 0; i < j->nforeign; i++) {
		const struct relay_foreign *f = &j->foreign[i];
		base_write_be32(w, f->client);
		base_write_be32(w, f->rank);
		base_write_be32(w, f->first_rank);
		base_write_be32(w, f->nprocs);
		base_write_bytes(w, f->addr, IMPI_HOSTID_BYTES);
		base_write_be16(w, f->port);
	}
	for (uint32_t i = 0; i < j->ngates; i++) {
		const struct relay_gate *g = &j->gate[i];
		base_write_u8(w, g->side);
		base_write_be32(w, g->relay);
		base_write_be32(w, g->client);
		base_write_be32(w, g->rank);
		base_write_be32(w, g->first_rank);
		base_write_be32(w, g->nprocs);
		base_write_be32(w, g->ipv4);
		base_write_be16(w, g->port);
	}
}

size_t
relay_job_encode(const struct relay_job *j, void *out, size_t room)
{
	struct base_writer w = base_writer(out, room);
	base_write_be32(&w, j->id);
	base_write_be32(&w, j->token);
	base_write_be32(&w, j->label_base);
	base_write_be32(&w, j->my_client);
	base_write_be32(&w, j->nworld);
	base_write_be32(&w, j->nhosts);
	base_write_be32(&w, j->nforeign);
	base_write_be32(&w, j->ngates);
	base_write_be32(&w, j->nhosts_private);
	base_write_be32(&w, j->nhosts_global);
	base_write_be32(&w, j->datalen);
	base_write_be32(&w, j->ackmark);
	base_write_be32(&w, j->hiwater);
	for (uint32_t h = 0; h < j->nhosts; h++) {
		base_write_bytes(&w, j->host[h].id, IMPI_HOSTID_BYTES);
		base_write_be32(&w, j->host[h].client);
		base_write_be32(&w, j->host[h].first_rank);
		base_write_be32(&w, j->host[h].nprocs);
		base_write_be32(&w, j->host[h].label_base);
	}
	for (uint32_t i = 0; i < j->nlocal; i++) {
		base_write_bytes(&w, j->local[i].id, IMPI_HOSTID_BYTES);
		base_write_be64(&w, j->local[i].pid);
		base_write_be32(&w, j->local[i].relay);
	}
	for (uint32_t r = 0; r < j->nworld; r++) {
		base_write_bytes(&w, j->global_id[r], RELAY_PROC_ID_LEN);
		base_write_bytes(&w, j->private_id[r], RELAY_PROC_ID_LEN);
	}
	encode_foreign(j, &w);
	encode_sixes(j, &w);
	return base_writer_ok(&w) ? base_writer_len(&w) : 0;
}

static void
read_into(struct base_reader *r, void *out, size_t len)
{
	const uint8_t *p = base_read_bytes(r, len);
	if (p)
		memcpy(out, p, len);
}

/* Hosts, and from them which processes are local. */
static void
decode_hosts(struct relay_job *j, struct base_reader *r)
{
	uint64_t locals = 0;
	bool seen = false;
	for (uint32_t h = 0; h < j->nhosts; h++) {
		struct relay_host *x = &j->host[h];
		read_into(r, x->id, IMPI_HOSTID_BYTES);
		x->client = base_read_be32(r);
		x->first_rank = base_read_be32(r);
		x->nprocs = base_read_be32(r);
		x->label_base = base_read_be32(r);
		if (x->client == j->my_client) {
			if (!seen)
				j->first_local = x->first_rank;
			seen = true;
			locals += x->nprocs;
		}
	}
	j->nlocal = locals <= j->nworld ? (uint32_t)locals : 0;
}

static void
decode_foreign(struct relay_job *j, struct base_reader *r)
{
	for (uint32_t i = 0; i < j->nforeign; i++) {
		struct relay_foreign *f = &j->foreign[i];
		f->client = base_read_be32(r);
		f->rank = base_read_be32(r);
		f->first_rank = base_read_be32(r);
		f->nprocs = base_read_be32(r);
		read_into(r, f->addr, IMPI_HOSTID_BYTES);
		f->port = base_read_be16(r);
	}
	for (uint32_t i = 0; i < j->ngates; i++) {
		struct relay_gate *g = &j->gate[i];
		g->side = base_read_u8(r);
		g->relay = base_read_be32(r);
		g->client = base_read_be32(r);
		g->rank = base_read_be32(r);
		g->first_rank = base_read_be32(r);
		g->nprocs = base_read_be32(r);
		g->ipv4 = base_read_be32(r);
		g->port = base_read_be16(r);
	}
}

static void
decode_sixes(struct relay_job *j, struct base_reader *r)
{
	for (uint32_t i = 0; i < j->nlocal; i++) {
		memset(j->local[i].at, 0, SIX_LEN);
		if (impi_hostid_is_at_host(j->local[i].id))
			read_into(r, j->local[i].at, SIX_LEN);
	}
}

static void
decode_head(struct relay_job *job, struct base_reader *r)
{
	job->id = base_read_be32(r);
	job->token = base_read_be32(r);
	job->label_base = base_read_be32(r);
	job->my_client = base_read_be32(r);
	job->nworld = base_read_be32(r);
	job->nhosts = base_read_be32(r);
	job->nforeign = base_read_be32(r);
	job->ngates = base_read_be32(r);
	job->nhosts_private = base_read_be32(r);
	job->nhosts_global = base_read_be32(r);
	job->datalen = base_read_be32(r);
	job->ackmark = base_read_be32(r);
	job->hiwater = base_read_be32(r);
	job->first_local = job->nlocal = 0;
}

int
relay_job_decode(struct relay_job *job, const void *in, size_t len, const char **what)
{
	struct table *t = (struct table *)(void *)job;
	struct base_reader r = base_reader(in, len);
	const char *fault = "shorter than its counts say";
	int err = RELAY_ERR_MALFORMED;

	decode_head(job, &r);
	if (!base_reader_ok(&r))
		goto bad;
	if (job->nworld > t->limits.nworld_max || job->nhosts > t->limits.nhosts_max ||
	    job->nforeign > t->limits.nhosts_max || job->ngates > RELAY_GATES_MAX) {
		fault = "more processes or hosts than this relay is configured for";
		err = RELAY_ERR_NOMEM;
		goto bad;
	}
	if (base_reader_left(&r) / HOST_LEN < job->nhosts)
		goto bad;
	decode_hosts(job, &r);
	for (uint32_t i = 0; i < job->nlocal; i++) {
		read_into(&r, job->local[i].id, IMPI_HOSTID_BYTES);
		job->local[i].pid = base_read_be64(&r);
		job->local[i].relay = base_read_be32(&r);
	}
	for (uint32_t n = 0; n < job->nworld; n++) {
		read_into(&r, job->global_id[n], RELAY_PROC_ID_LEN);
		read_into(&r, job->private_id[n], RELAY_PROC_ID_LEN);
	}
	decode_foreign(job, &r);
	decode_sixes(job, &r);
	if (!base_reader_ok(&r))
		goto bad;
	if (base_reader_left(&r) != 0) {
		fault = "longer than its counts say";
		goto bad;
	}
	fault = fault_in(job);
	if (!fault) {
		if (what)
			*what = NULL;
		return RELAY_ERR_OK;
	}
bad:
	job->nworld = job->nhosts = job->nlocal = job->nforeign = job->ngates = 0;
	if (what)
		*what = fault;
	return err;
}
