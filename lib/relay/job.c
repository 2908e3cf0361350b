#include "relay/job.h"

#include "base/bytes.h"

#define HEAD_LEN  24u
#define HOST_LEN  32u
#define LOCAL_LEN 28u
#define IDS_LEN	  (2u * RELAY_PROC_ID_LEN)

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
round8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t
relay_job_footprint(const struct relay_job_limits *l)
{
	if (!limits_ok(l))
		return 0;
	return round8(sizeof(struct table)) + l->nhosts_max * sizeof(struct relay_host) +
	       l->nworld_max * (sizeof(struct relay_local) + IDS_LEN) + 8;
}

struct relay_job *
relay_job_new(void *mem, const struct relay_job_limits *l)
{
	if (!mem || !limits_ok(l))
		return NULL;
	struct table *t = mem;
	*t = (struct table){.limits = *l};
	/* In order of falling alignment. */
	uint8_t *p = (uint8_t *)mem + round8(sizeof *t);
	t->job.local = (void *)p;
	p += l->nworld_max * sizeof(struct relay_local);
	t->job.host = (void *)p;
	p += l->nhosts_max * sizeof(struct relay_host);
	t->job.global_id = (void *)p;
	p += (size_t)l->nworld_max * RELAY_PROC_ID_LEN;
	t->job.private_id = (void *)p;
	return &t->job;
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
	for (uint32_t i = 0; i < j->nlocal; i++)
		if (j->local[i].relay >= RELAY_RELAYS_MAX)
			return "relay index out of range";
	return NULL;
}

int
relay_job_validate(const struct relay_job *job, const char **what)
{
	const char *fault = fault_in(job);
	if (what)
		*what = fault;
	return fault ? RELAY_ERR_MALFORMED : RELAY_ERR_OK;
}

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

static bool
is_foreign(const uint8_t id[IMPI_HOSTID_BYTES])
{
	struct impi_hostid h;
	return impi_hostid_decode(id, &h) != IMPI_HOSTID_SUCI;
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
		if (is_foreign(job->local[i].id)) {
			*rank = job->first_local + i;
			return true;
		}
	}
	return false;
}

size_t
relay_job_encoded_len(const struct relay_job *j)
{
	return HEAD_LEN + (size_t)j->nhosts * HOST_LEN + (size_t)j->nlocal * LOCAL_LEN +
	       (size_t)j->nworld * IDS_LEN;
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

int
relay_job_decode(struct relay_job *job, const void *in, size_t len, const char **what)
{
	struct table *t = (struct table *)(void *)job;
	struct base_reader r = base_reader(in, len);
	const char *fault = "shorter than its counts say";
	int err = RELAY_ERR_MALFORMED;

	job->id = base_read_be32(&r);
	job->token = base_read_be32(&r);
	job->label_base = base_read_be32(&r);
	job->my_client = base_read_be32(&r);
	job->nworld = base_read_be32(&r);
	job->nhosts = base_read_be32(&r);
	job->first_local = job->nlocal = 0;
	if (!base_reader_ok(&r))
		goto bad;
	if (job->nworld > t->limits.nworld_max || job->nhosts > t->limits.nhosts_max) {
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
	job->nworld = job->nhosts = job->nlocal = 0;
	if (what)
		*what = fault;
	return err;
}
