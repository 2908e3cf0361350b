/* SPDX-License-Identifier: BSD-2-Clause */
/* A job table for tests of lib/relay: nclients clients, each with nprocs[c]
 * processes behind nrelays[c] relays.  Relay m of client c is 192.0.2.(10c+m+1):
 * 7000, process i of client c 10.0.0.(i+1):6000+i.
 *
 * foreign[c] != 0: a client of another implementation with so many hosts, behind
 * nrelays[c] relays, or with global addresses if that is 0.  Host h of client c is
 * 198.51.100.(16c+h+1):40000+h.  Gates: 10.0.1.(32*relay+client), 192.0.2.(...) of the
 * relay, ports 9100 and 9000. */
#ifndef TEST_RELAY_JOB_MAKER_H
#define TEST_RELAY_JOB_MAKER_H

#include "relay/core.h"

#include "base/bytes.h"

#include <stdlib.h>

struct job_spec {
	uint32_t nclients, my_client;
	uint32_t nprocs[RELAY_CLIENTS_MAX], nrelays[RELAY_CLIENTS_MAX];
	uint32_t label_base[RELAY_CLIENTS_MAX];
	uint32_t foreign[RELAY_CLIENTS_MAX]; /* hosts of a foreign client */
	uint32_t token;
	uint32_t token_of[RELAY_CLIENTS_MAX]; /* of that client's relays; 0: token */
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

static inline uint32_t
maker_relay_token(const struct job_spec *s, uint32_t client)
{
	return s->token_of[client] ? s->token_of[client] : s->token;
}

static inline uint32_t
maker_foreign_ip(uint32_t client, uint32_t host)
{
	return 0xc6336400u + 16 * client + host + 1;
}

/* n things over k takers, the first n mod k get one more: who gets thing i, and which
 * is the first of taker m. */
static inline uint32_t
maker_owner(uint32_t n, uint32_t k, uint32_t i)
{
	uint32_t q = n / k, more = n % k;
	return i < more * (q + 1) ? i / (q + 1) : more + (i - more * (q + 1)) / q;
}

static inline uint32_t
maker_first(uint32_t n, uint32_t k, uint32_t m)
{
	return m * (n / k) + (m < n % k ? m : n % k);
}

static inline bool
maker_is_direct(const struct job_spec *s, uint32_t client)
{
	return s->foreign[client] && s->nrelays[client] == 0;
}

/* What the process of another implementation announces. */
static inline void
maker_foreign_id(const struct job_spec *s, uint32_t client, uint32_t i, uint8_t out[16])
{
	uint32_t h = maker_owner(s->nprocs[client], s->foreign[client], i);
	memset(out, 0, 16);
	be32_store(out + 12, maker_foreign_ip(client, h));
}

static inline void
maker_ids(struct relay_job *j, const struct job_spec *s, uint32_t rank, uint32_t client, uint32_t i)
{
	uint8_t kind = s->foreign[client] ? IMPI_HOSTID_RELAY_FOREIGN : IMPI_HOSTID_RELAY;
	struct impi_hostid g = {.token = maker_relay_token(s, client),
				.kind = kind,
				.port = 7000,
				.ipv4 = maker_relay_ip(client, 0)};
	impi_hostid_encode(&g, j->global_id[rank]);
	be64_store(j->global_id[rank] + 16, (uint64_t)s->label_base[client] + rank);
	if (maker_is_direct(s, client)) {
		maker_foreign_id(s, client, i, j->global_id[rank]);
		be64_store(j->global_id[rank] + 16, 1000 + i);
	}
	struct impi_hostid p = {.token = s->token, .kind = kind, .port = 7001, .ipv4 = 0x0a0000feu};
	uint64_t pid = s->label_base[s->my_client] + rank;
	if (client == s->my_client) {
		p = (struct impi_hostid){.token = maker_proc_token(i),
					 .kind = IMPI_HOSTID_LIBMPI,
					 .port = (uint16_t)(6000 + i),
					 .ipv4 = 0x0a000001u + i};
		pid = s->foreign[client] ? 1000 + i : MAKER_PROC_BASE + rank;
	}
	impi_hostid_encode(&p, j->private_id[rank]);
	if (client == s->my_client && s->foreign[client])
		maker_foreign_id(s, client, i, j->private_id[rank]);
	be64_store(j->private_id[rank] + 16, pid);
}

static inline void
maker_gates(struct relay_job *j, const struct job_spec *s, enum relay_side_of_gate side,
	    uint32_t client, uint32_t first_rank, uint32_t host_rank)
{
	uint32_t k = s->nrelays[s->my_client], n = s->nprocs[client];
	/* Remote ones are dealt over relays that own a local process. */
	uint32_t used = s->nprocs[s->my_client] < k ? s->nprocs[s->my_client] : k;
	for (uint32_t m = 0; m < k; m++) {
		struct relay_gate *g = &j->gate[j->ngates++];
		*g = (struct relay_gate){
			.side = (uint8_t)side,
			.relay = m,
			.client = client,
			.rank = host_rank + m,
			.first_rank = first_rank + (m < used ? maker_first(n, used, m) : n),
			.nprocs = m < used ? n / used + (m < n % used) : 0,
			.ipv4 = side ? maker_relay_ip(client, m) : 0x0a000100u + 32 * m + client,
			.port = side ? 9000 : 9100,
		};
	}
}

/* Foreign hosts and gates, once the processes are there. */
static inline void
maker_foreign(struct relay_job *j, const struct job_spec *s)
{
	uint32_t rank = 0, host_private = 0, host_global = 0, k = s->nrelays[s->my_client];
	bool own = s->foreign[s->my_client], remote = false;
	for (uint32_t c = 0; c < s->nclients; c++) {
		bool mine = c == s->my_client, direct = maker_is_direct(s, c);
		for (uint32_t h = 0; (mine || direct) && h < s->foreign[c]; h++) {
			uint32_t n = s->nprocs[c], nh = s->foreign[c];
			struct relay_foreign *f = &j->foreign[j->nforeign++];
			*f = (struct relay_foreign){
				.client = c,
				.rank = (mine ? host_private : host_global) + h,
				.first_rank = rank + maker_first(n, nh, h),
				.nprocs = n / nh + (h < n % nh),
				.port = (uint16_t)(40000 + h),
			};
			be32_store(f->addr + 12, maker_foreign_ip(c, h));
		}
		remote |= !mine && direct;
		if (!mine && own)
			maker_gates(j, s, RELAY_GATE_PRIVATE, c, rank, host_private);
		host_private += mine ? (own ? s->foreign[c] : s->nprocs[c]) : k;
		host_global += direct ? s->foreign[c] : s->nrelays[c];
		rank += s->nprocs[c];
	}
	j->nhosts_private = host_private;
	j->nhosts_global = host_global;
	host_global = 0;
	for (uint32_t c = 0; c < s->my_client; c++)
		host_global += maker_is_direct(s, c) ? s->foreign[c] : s->nrelays[c];
	if (remote)
		maker_gates(j, s, RELAY_GATE_GLOBAL, s->my_client, j->first_local, host_global);
	j->datalen = 65536;
	j->ackmark = 10;
	j->hiwater = 20;
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
			bool direct = maker_is_direct(s, c);
			uint32_t m = direct ? 0 : maker_owner(s->nprocs[c], s->nrelays[c], i);
			struct impi_hostid id = {.token = maker_relay_token(s, c),
						 .kind = s->foreign[c] ? IMPI_HOSTID_RELAY_FOREIGN
								       : IMPI_HOSTID_RELAY,
						 .port = 7000,
						 .ipv4 = maker_relay_ip(c, m)};
			struct relay_host *h = &j->host[j->nhosts ? j->nhosts - 1 : 0];
			uint8_t bytes[16];
			impi_hostid_encode(&id, bytes);
			if (direct)
				maker_foreign_id(s, c, i, bytes);
			if (j->nhosts == 0 || h->client != c || memcmp(h->id, bytes, 16) != 0) {
				h = &j->host[j->nhosts++];
				*h = (struct relay_host){.client = c,
							 .first_rank = rank,
							 .label_base =
								 direct ? 0 : s->label_base[c]};
				memcpy(h->id, bytes, 16);
			}
			h->nprocs++;
			maker_ids(j, s, rank, c, i);
			if (c == s->my_client) {
				memset(&j->local[i], 0, sizeof j->local[i]);
				memcpy(j->local[i].id, j->private_id[rank], 16);
				j->local[i].pid = s->foreign[c] ? 1000 + i : MAKER_PROC_BASE + rank;
				j->local[i].relay = m;
			}
			rank++;
		}
	}
	j->nworld = rank;
	maker_foreign(j, s);
	return j;
}

#endif
