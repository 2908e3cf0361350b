/* Bytes published through the launcher.  Big-endian, bounds-checked: they come
 * from other processes. */
#include "boot.h"

#include "base/bytes.h"

#include <stdlib.h>

#define CONTACT_MAGIC 0x4c4d4331u /* "LMC1" */
#define JOB_MAGIC     0x4c4d4a31u /* "LMJ1" */
#define JOB_HEAD      40u

void
lmpi_contact_encode(const struct lmpi_contact *c, uint8_t out[LMPI_CONTACT_BYTES])
{
	struct base_writer w = base_writer(out, LMPI_CONTACT_BYTES);
	base_write_be32(&w, CONTACT_MAGIC);
	base_write_be64(&w, c->token);
	base_write_bytes(&w, c->ip, 4);
	base_write_be16(&w, c->port);
	base_write_be16(&w, 0);
	base_write_be32(&w, (uint32_t)c->shm_pid);
	base_write_be32(&w, (uint32_t)c->shm_fd);
	base_write_be64(&w, c->shm_bytes);
	base_write_bytes(&w, c->bell, 32);
}

bool
lmpi_contact_decode(const uint8_t *in, size_t len, struct lmpi_contact *c)
{
	struct base_reader r = base_reader(in, len);
	const uint8_t *p;

	*c = (struct lmpi_contact){0};
	if (base_read_be32(&r) != CONTACT_MAGIC)
		return false;
	c->token = base_read_be64(&r);
	if ((p = base_read_bytes(&r, 4)))
		memcpy(c->ip, p, 4);
	c->port = base_read_be16(&r);
	(void)base_read_be16(&r);
	c->shm_pid = (int32_t)base_read_be32(&r);
	c->shm_fd = (int32_t)base_read_be32(&r);
	c->shm_bytes = base_read_be64(&r);
	if ((p = base_read_bytes(&r, 32)))
		memcpy(c->bell, p, 31);
	return base_reader_ok(&r) && base_reader_left(&r) == 0;
}

void *
lmpi_job_encode(const struct lmpi_job *j, size_t *len)
{
	size_t n = JOB_HEAD + 8ull * j->nhosts + 24ull * j->nprocs;
	void *out = malloc(n);
	if (!out)
		return NULL;
	struct base_writer w = base_writer(out, n);
	base_write_be32(&w, JOB_MAGIC);
	base_write_be32(&w, j->client);
	base_write_be32(&w, j->nclients);
	base_write_be32(&w, j->nhosts);
	base_write_be32(&w, j->nprocs);
	base_write_be32(&w, j->datalen);
	base_write_be32(&w, j->ackmark);
	base_write_be32(&w, j->hiwater);
	base_write_be32(&w, j->tag_ub);
	base_write_be32(&w, 0);
	for (uint32_t i = 0; i < j->nhosts; i++) {
		base_write_be32(&w, j->host[i].client);
		base_write_be32(&w, j->host[i].nprocs);
	}
	base_write_bytes(&w, j->proc, 24ull * j->nprocs);
	*len = base_writer_len(&w);
	return out;
}

bool
lmpi_job_decode(const void *in, size_t len, struct lmpi_job *j)
{
	struct base_reader r = base_reader(in, len);

	*j = (struct lmpi_job){0};
	if (base_read_be32(&r) != JOB_MAGIC)
		return false;
	j->client = base_read_be32(&r);
	j->nclients = base_read_be32(&r);
	j->nhosts = base_read_be32(&r);
	j->nprocs = base_read_be32(&r);
	j->datalen = base_read_be32(&r);
	j->ackmark = base_read_be32(&r);
	j->hiwater = base_read_be32(&r);
	j->tag_ub = base_read_be32(&r);
	(void)base_read_be32(&r);
	if (!base_reader_ok(&r) || j->nclients == 0 || j->client >= j->nclients ||
	    base_reader_left(&r) != 8ull * j->nhosts + 24ull * j->nprocs)
		return false;
	j->host = calloc(j->nhosts ? j->nhosts : 1, sizeof *j->host);
	j->proc = calloc(j->nprocs ? j->nprocs : 1, sizeof *j->proc);
	if (!j->host || !j->proc) {
		lmpi_job_free(j);
		return false;
	}
	uint64_t procs = 0;
	bool ok = true;
	for (uint32_t i = 0; i < j->nhosts; i++) {
		j->host[i].client = base_read_be32(&r);
		j->host[i].nprocs = base_read_be32(&r);
		procs += j->host[i].nprocs;
		ok = ok && j->host[i].client < j->nclients;
	}
	const uint8_t *p = base_read_bytes(&r, 24ull * j->nprocs);
	if (p && j->nprocs)
		memcpy(j->proc, p, 24ull * j->nprocs);
	if (!ok || procs != j->nprocs || !base_reader_ok(&r)) {
		lmpi_job_free(j);
		return false;
	}
	return true;
}

void
lmpi_job_free(struct lmpi_job *j)
{
	free(j->host);
	free(j->proc);
	*j = (struct lmpi_job){0};
}
