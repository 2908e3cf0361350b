/* A job table for tests of lib/relay: nclients clients, each with nprocs[c]
 * processes behind nrelays[c] relays.  Relay m of client c is 192.0.2.(10c+m+1):
 * 7000, process i of client c 10.0.0.(i+1):6000+i. */
#ifndef TEST_RELAY_JOB_MAKER_H
#define TEST_RELAY_JOB_MAKER_H

#include "relay/core.h"

#include "base/bytes.h"

#include <stdlib.h>

struct job_spec {
	uint32_t nclients, my_client;
	uint32_t nprocs[RELAY_CLIENTS_MAX], nrelays[RELAY_CLIENTS_MAX];
	uint32_t label_base[RELAY_CLIENTS_MAX];
	uint32_t token;
	uint32_t id;
};

static inline uint32_t
maker_relay_ip(uint32_t client, uint32_t relay)
{
	return 0xc0000200u + 10 * client + relay + 1;
}

static inline struct suci_addr
maker_relay_addr(uint32_t client, uint32_t relay)
{
	return relay_addr_v4(maker_relay_ip(client, relay), 7000, RELAY_LEG_GLOBAL);
}

static inline struct suci_addr
maker_proc_addr(uint32_t i)
{
	return relay_addr_v4(0x0a000001u + i, (uint16_t)(6000 + i), RELAY_LEG_PRIVATE);
}

/* Token of process i's own host id. */
static inline uint32_t
maker_proc_token(uint32_t i)
{
	return 0x77000000u + i;
}

#define MAKER_PROC_BASE 16u

static inline void
maker_ids(struct relay_job *j, const struct job_spec *s, uint32_t rank, uint32_t client, uint32_t i)
{
	struct impi_hostid g = {s->token, IMPI_HOSTID_RELAY, 7000, maker_relay_ip(client, 0)};
	impi_hostid_encode(&g, j->global_id[rank]);
	be64_store(j->global_id[rank] + 16, (uint64_t)s->label_base[client] + rank);
	struct impi_hostid p = {s->token, IMPI_HOSTID_RELAY, 7001, 0x0a0000feu};
	uint64_t pid = s->label_base[s->my_client] + rank;
	if (client == s->my_client) {
		p = (struct impi_hostid){maker_proc_token(i), IMPI_HOSTID_LIBMPI,
					 (uint16_t)(6000 + i), 0x0a000001u + i};
		pid = MAKER_PROC_BASE + rank;
	}
	impi_hostid_encode(&p, j->private_id[rank]);
	be64_store(j->private_id[rank] + 16, pid);
}

static inline struct relay_job *
make_job(const struct job_spec *s)
{
	struct relay_job_limits l = {.nworld_max = 4096, .nhosts_max = 512};
	struct relay_job *j = relay_job_new(malloc(relay_job_footprint(&l)), &l);
	uint32_t rank = 0;
	j->id = s->id;
	j->token = s->token;
	j->label_base = s->label_base[s->my_client];
	j->my_client = s->my_client;
	for (uint32_t c = 0; c < s->nclients; c++) {
		if (c == s->my_client) {
			j->first_local = rank;
			j->nlocal = s->nprocs[c];
		}
		for (uint32_t i = 0; i < s->nprocs[c]; i++) {
			uint32_t q = s->nprocs[c] / s->nrelays[c],
				 more = s->nprocs[c] % s->nrelays[c];
			uint32_t m =
				i < more * (q + 1) ? i / (q + 1) : more + (i - more * (q + 1)) / q;
			struct impi_hostid id = {s->token, IMPI_HOSTID_RELAY, 7000,
						 maker_relay_ip(c, m)};
			struct relay_host *h = &j->host[j->nhosts ? j->nhosts - 1 : 0];
			uint8_t bytes[16];
			impi_hostid_encode(&id, bytes);
			if (j->nhosts == 0 || h->client != c || memcmp(h->id, bytes, 16) != 0) {
				h = &j->host[j->nhosts++];
				*h = (struct relay_host){.client = c,
							 .first_rank = rank,
							 .label_base = s->label_base[c]};
				memcpy(h->id, bytes, 16);
			}
			h->nprocs++;
			maker_ids(j, s, rank, c, i);
			if (c == s->my_client) {
				memcpy(j->local[i].id, j->private_id[rank], 16);
				j->local[i].pid = MAKER_PROC_BASE + rank;
				j->local[i].relay = m;
			}
			rank++;
		}
	}
	j->nworld = rank;
	return j;
}

#endif
