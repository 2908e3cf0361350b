/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes published through the launcher.  Big-endian, bounds-checked: they come
 * from other processes. */
#include "boot.h"

#include "base/bytes.h"
#include "base/version.h"
#include "impi/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTACT_MAGIC 0x4c4d4336u /* "LMC6": the version is next, always */
#define VERSION_BYTES 16u
#define CARD_MAGIC    0x4c4d4435u /* "LMD5" */
#define CARD_DOOR     52u
/* The end of its field for the node's name has the hall, if the name is short enough: libmpi 0.9.0
 * reads no further than the name. */
#define CARD_NODE  64u
#define CARD_HALL  16u
#define JOB_MAGIC  0x4c4d4a33u /* "LMJ3" */
#define JOB_HEAD   48u
#define JOB_CLIENT 4u
#define JOB_HOST   28u

static void
write_place(struct base_writer *w, const struct suci_addr *at)
{
	uint8_t ip[16];

	suci_addr_16(at, ip);
	base_write_bytes(w, ip, sizeof ip);
	base_write_be16(w, at->port);
}

static struct suci_addr
read_place(struct base_reader *r)
{
	const uint8_t *p = base_read_bytes(r, 16);
	uint16_t port = base_read_be16(r);

	return p ? suci_addr_of(p, port) : (struct suci_addr){0};
}

void
lmpi_contact_encode(const struct lmpi_contact *c, uint8_t out[LMPI_CONTACT_BYTES])
{
	struct base_writer w = base_writer(out, LMPI_CONTACT_BYTES);
	uint8_t version[VERSION_BYTES] = BASE_VERSION;
	base_write_be32(&w, CONTACT_MAGIC);
	base_write_bytes(&w, version, sizeof version);
	base_write_be64(&w, c->token);
	write_place(&w, &c->at);
	base_write_be16(&w, c->tcp_port);
	base_write_be16(&w, c->stream_port);
	base_write_be32(&w, (uint32_t)c->shm_pid);
	base_write_be32(&w, (uint32_t)c->shm_fd);
	base_write_be64(&w, c->shm_bytes);
	base_write_bytes(&w, c->bell, 32);
	base_write_be32(&w, c->bcast_piece);
	base_write_be32(&w, c->alltoall_piece);
}

_Static_assert(sizeof BASE_VERSION <= VERSION_BYTES, "its end, too");

bool
lmpi_contact_decode(const uint8_t *in, size_t len, struct lmpi_contact *c,
		    char why[LMPI_CONTACT_WHY])
{
	struct base_reader r = base_reader(in, len);
	uint8_t own[VERSION_BYTES] = BASE_VERSION;
	const uint8_t *p;

	*c = (struct lmpi_contact){0};
	snprintf(why, LMPI_CONTACT_WHY, "another version of libmpi than " BASE_VERSION);
	if (base_read_be32(&r) != CONTACT_MAGIC || !(p = base_read_bytes(&r, VERSION_BYTES)))
		return false;
	if (memcmp(p, own, sizeof own) != 0) {
		snprintf(why, LMPI_CONTACT_WHY, "libmpi %.*s, this one is " BASE_VERSION,
			 (int)strnlen((const char *)p, VERSION_BYTES), (const char *)p);
		return false;
	}
	c->token = base_read_be64(&r);
	c->at = read_place(&r);
	c->tcp_port = base_read_be16(&r);
	c->stream_port = base_read_be16(&r);
	c->shm_pid = (int32_t)base_read_be32(&r);
	c->shm_fd = (int32_t)base_read_be32(&r);
	c->shm_bytes = base_read_be64(&r);
	if ((p = base_read_bytes(&r, 32)))
		memcpy(c->bell, p, 31);
	c->bcast_piece = base_read_be32(&r);
	c->alltoall_piece = base_read_be32(&r);
	return base_reader_ok(&r) && base_reader_left(&r) == 0;
}

static void
write_node_field(struct base_writer *w, const struct lmpi_card *c)
{
	uint8_t field[CARD_NODE] = {0};
	size_t n = strnlen(c->node, sizeof field - 1);
	struct base_writer hall = base_writer(field + CARD_NODE - CARD_HALL, CARD_HALL);

	memcpy(field, c->node, n);
	if (n < CARD_NODE - CARD_HALL) {
		base_write_be32(&hall, (uint32_t)c->hall.pid);
		base_write_be32(&hall, (uint32_t)c->hall.fd);
		base_write_be64(&hall, c->hall.key);
	}
	base_write_bytes(w, field, sizeof field);
}

static void
read_node_field(const uint8_t field[CARD_NODE], struct lmpi_card *c)
{
	size_t n = strnlen((const char *)field, CARD_NODE - 1);
	struct base_reader hall = base_reader(field + CARD_NODE - CARD_HALL, CARD_HALL);
	struct lmpi_hall_place at;

	memcpy(c->node, field, n);
	at.pid = (int32_t)base_read_be32(&hall);
	at.fd = (int32_t)base_read_be32(&hall);
	at.key = base_read_be64(&hall);
	if (n < CARD_NODE - CARD_HALL && at.pid > 0 && at.fd >= 0 && at.key != 0)
		c->hall = at;
}

void
lmpi_card_encode(const struct lmpi_card *c, uint8_t out[LMPI_CARD_BYTES])
{
	struct base_writer w = base_writer(out, LMPI_CARD_BYTES);
	uint8_t door[CARD_DOOR] = {0};
	base_write_be32(&w, CARD_MAGIC);
	base_write_be64(&w, c->job);
	base_write_be64(&w, c->token);
	base_write_be32(&w, c->number);
	write_place(&w, &c->at);
	base_write_be16(&w, c->has_door ? (uint16_t)door_address_encode(&c->door, door) : 0);
	write_node_field(&w, c);
	base_write_bytes(&w, door, sizeof door);
}

bool
lmpi_card_decode(const uint8_t in[LMPI_CARD_BYTES], struct lmpi_card *c)
{
	struct base_reader r = base_reader(in, LMPI_CARD_BYTES);
	uint32_t magic = base_read_be32(&r);
	const uint8_t *p;

	*c = (struct lmpi_card){0};
	c->job = base_read_be64(&r);
	c->token = base_read_be64(&r);
	c->number = base_read_be32(&r);
	c->at = read_place(&r);
	uint16_t door = base_read_be16(&r);
	if ((p = base_read_bytes(&r, CARD_NODE)))
		read_node_field(p, c);
	p = base_read_bytes(&r, CARD_DOOR);
	c->has_door = door > 0;
	if (door > CARD_DOOR || (door > 0 && (!p || door_address_decode(p, door, &c->door) ||
					      (c->door.flags & DOOR_FLAG_PROCESS))))
		return false;
	return magic == CARD_MAGIC && c->at.port != 0 && c->number < LMPI_CARD_NUMBERS;
}

bool
lmpi_job_count(struct lmpi_job *j)
{
	uint64_t procs = 0;
	uint32_t last = 0;

	for (uint32_t c = 0; c < j->nclients; c++)
		j->peer[c].nhosts = j->peer[c].nprocs = j->peer[c].first_rank = 0;
	for (uint32_t i = 0; i < j->nhosts; i++) {
		uint32_t c = j->host[i].client;
		if (c >= j->nclients || c < last)
			return false;
		last = c;
		if (j->peer[c].nhosts++ == 0)
			j->peer[c].first_rank = (uint32_t)procs;
		j->peer[c].nprocs += j->host[i].nprocs;
		procs += j->host[i].nprocs;
	}
	return procs == j->nprocs;
}

static uint64_t
job_bytes(const struct lmpi_job *j)
{
	return (uint64_t)JOB_CLIENT * j->nclients + (uint64_t)JOB_HOST * j->nhosts +
	       24ull * j->nprocs;
}

void *
lmpi_job_encode(const struct lmpi_job *j, size_t *len)
{
	size_t n = JOB_HEAD + job_bytes(j);
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
	base_write_be32(&w, j->coll_xsize);
	base_write_be32(&w, j->coll_maxlinear);
	base_write_be32(&w, j->server_ipv4);
	for (uint32_t i = 0; i < j->nclients; i++) {
		base_write_u8(&w, j->peer[i].foreign);
		base_write_u8(&w, (uint8_t)j->peer[i].rep);
		base_write_u8(&w, j->peer[i].reduce_on_pt2pt);
		base_write_u8(&w, 0);
	}
	for (uint32_t i = 0; i < j->nhosts; i++) {
		base_write_be32(&w, j->host[i].client);
		base_write_be32(&w, j->host[i].nprocs);
		base_write_bytes(&w, j->host[i].addr, 16);
		base_write_be16(&w, j->host[i].port);
		base_write_be16(&w, 0);
	}
	base_write_bytes(&w, j->proc, 24ull * j->nprocs);
	*len = base_writer_len(&w);
	return out;
}

static bool
read_clients(struct base_reader *r, struct lmpi_job *j)
{
	for (uint32_t i = 0; i < j->nclients; i++) {
		uint8_t foreign = base_read_u8(r), rep = base_read_u8(r), red = base_read_u8(r);
		if (foreign > 1 || rep >= LMPI_REPS || red > 1 || base_read_u8(r) != 0)
			return false;
		j->peer[i] = (struct lmpi_client){
			.foreign = foreign, .rep = (enum lmpi_rep)rep, .reduce_on_pt2pt = red};
	}
	return true;
}

static void
read_blob_hosts(struct base_reader *r, struct lmpi_job *j)
{
	for (uint32_t i = 0; i < j->nhosts; i++) {
		struct lmpi_job_host *h = &j->host[i];
		h->client = base_read_be32(r);
		h->nprocs = base_read_be32(r);
		const uint8_t *p = base_read_bytes(r, 16);
		if (p)
			memcpy(h->addr, p, 16);
		h->port = base_read_be16(r);
		(void)base_read_be16(r);
	}
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
	j->coll_xsize = base_read_be32(&r);
	j->coll_maxlinear = base_read_be32(&r);
	j->server_ipv4 = base_read_be32(&r);
	if (!base_reader_ok(&r) || j->nclients == 0 || j->nclients > IMPI_CLIENTS_MAX ||
	    j->client >= j->nclients || base_reader_left(&r) != job_bytes(j))
		return false;
	j->peer = calloc(j->nclients, sizeof *j->peer);
	j->host = calloc(j->nhosts ? j->nhosts : 1, sizeof *j->host);
	j->proc = calloc(j->nprocs ? j->nprocs : 1, sizeof *j->proc);
	if (!j->peer || !j->host || !j->proc)
		goto bad;
	if (!read_clients(&r, j))
		goto bad;
	read_blob_hosts(&r, j);
	const uint8_t *p = base_read_bytes(&r, 24ull * j->nprocs);
	if (p && j->nprocs)
		memcpy(j->proc, p, 24ull * j->nprocs);
	if (base_reader_ok(&r) && lmpi_job_count(j))
		return true;
bad:
	lmpi_job_free(j);
	return false;
}

void
lmpi_job_free(struct lmpi_job *j)
{
	free(j->peer);
	free(j->host);
	free(j->proc);
	*j = (struct lmpi_job){0};
}
