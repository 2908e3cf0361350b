/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole start-ups of several clusters in memory, for tests: clients as libmpi's
 * representative is, relays, and lib/impi's server, with the streams cut at a chunk
 * size; and what must hold when all run. */
#ifndef TEST_RELAY_STARTUP_WORLD_H
#define TEST_RELAY_STARTUP_WORLD_H

#include "block_pool.h"
#include "cmocka_all.h"

#include "base/bytes.h"
#include "base/prng.h"
#include "impi/client.h"
#include "impi/hostid.h"
#include "impi/server.h"
#include "relay/core.h"
#include "relay/startup.h"

#include <stdio.h>
#include <stdlib.h>

#define CLUSTERS_MAX 32
#define HOSTS_MAX    128 /* of a job */
#define PROCS_MAX    128
#define PROC_BASE    16u
#define SLOT	     3u /* of the gateway ports */

enum order { LOCKSTEP, PIPELINED, SHUFFLED };

struct cluster {
	/* set-up */
	uint32_t nprocs, nhosts, nrelays, nshards;
	enum order order;
	bool direct;	       /* no relay: a cluster with global addresses */
	bool six;	       /* its processes have IPv6 alone */
	bool relays_six;       /* and its relays are there for them */
	bool foreign;	       /* another implementation's process ids */
	bool own_ids;	       /* foreign: each process has a host id of its own */
	uint32_t ngates;       /* foreign: gate addresses per relay; 0: as many as needed */
	bool via_host;	       /* the private address is none of them */
	bool no_pid;	       /* says DONE without P_PID */
	bool no_marks;	       /* knows no flow control: neither H_ACKMARK nor H_HIWATER */
	struct impi_auth auth; /* of the client */
	/* state */
	struct relay_member member[8];
	bool some_down; /* every other one of the cluster's list takes no part */
	uint8_t index[8];
	struct relay_labels labels;
	struct relay_startup *rs;
	struct impi_client *cl;
	struct relay_job *copy;
	int conn;
	bool up_open, table_seen, running, ended, cl_started, cl_failed, cl_done, hold_table;
	char cl_why[200];
	uint32_t todo[IMPI_NLABELS], ntodo, at;
	bool waiting;
	void *room;
	struct impi_host host[16];
	struct impi_proc proc[32];
};

struct world {
	struct cluster c[CLUSTERS_MAX];
	uint32_t n;
	struct impi_server *server;
	bool server_closed[CLUSTERS_MAX];
	size_t chunk;
	struct base_prng prng;
	struct impi_auth server_auth, relay_up_auth, relay_down_auth;
	bool gateway;
	bool complete, failed;
	uint32_t nworld_max;
	uint64_t step_timeout_ns;
};

static const struct impi_auth auth_none = {.mask = IMPI_AUTH_MASK_NONE};

static inline void *
zalloc(size_t n)
{
	assert_true(n > 0);
	void *p = block_take(n);
	memset(p, 0, n);
	return p;
}

/* ---- a client as libmpi's representative is --------------------------------- */

static inline void
client_labels(struct world *w, struct cluster *k)
{
	for (uint32_t i = 0; i < IMPI_NLABELS; i++) {
		uint32_t label = impi_label_at(i);
		bool mark = label == IMPI_H_ACKMARK || label == IMPI_H_HIWATER;
		if (!(k->no_pid && label == IMPI_P_PID) && !(k->no_marks && mark))
			k->todo[k->ntodo++] = label;
	}
	if (k->order != SHUFFLED)
		return;
	for (uint32_t i = k->ntodo - 1; i > 0; i--) {
		uint32_t j = (uint32_t)base_prng_below(&w->prng, i + 1), t = k->todo[i];
		k->todo[i] = k->todo[j];
		k->todo[j] = t;
	}
}

static inline void
client_identities(struct cluster *k, uint32_t index)
{
	for (uint32_t h = 0; h < k->nhosts; h++) {
		uint32_t ip = k->direct ? 0xc6336400u + 8 * index + h : 0x0a000001u + h;
		impi_addr_from_ipv4(k->host[h].addr, ip);
		if (k->foreign) /* as LAM/MPI writes it */
			memset(k->host[h].addr, 0, 12);
		if (k->six)
			memcpy(k->host[h].addr, (uint8_t[]){0x20, 1, 0xd, 0xb8}, 4);
		k->host[h].port = 40000 + h;
		k->host[h].nprocs = k->nprocs / k->nhosts + (h < k->nprocs % k->nhosts);
		k->host[h].ackmark = 10 + h;
		k->host[h].hiwater = 20 + index;
	}
	for (uint32_t i = 0; i < k->nprocs; i++) {
		struct impi_hostid id = {
			.token = 0x100 * index + i,
			.kind = IMPI_HOSTID_LIBMPI,
			.port = (uint16_t)(6000 + i),
			.ipv4 = k->six	    ? 0
				: k->direct ? 0xcb007100u + 16 * index + i
					    : 0x0a000001u + i,
			.major = (uint8_t)index & IMPI_MAJOR_MAX,
			.minor = 9,
		};
		impi_hostid_encode(&id, k->proc[i].hostid);
		if (k->foreign) {
			memset(k->proc[i].hostid, 0, 16);
			be32_store(k->proc[i].hostid + 12, k->own_ids ? i : 0x0a000001u);
			k->proc[i].pid = 0x100u * index + 1000 + i;
		}
	}
}

/* Processes of every other cluster show labels alone, as older ones do; to those and to foreign
 * ones a relay announces 32 bits, too. */
static inline uint64_t
proc_token(uint32_t index)
{
	return index % 2 ? 0x7123456700000000u + index : 0;
}

static inline uint64_t
relay_token(uint32_t index)
{
	return 0xe66600005eed0000u + index; /* the highest bit is not announced */
}

static inline uint64_t
announced_token(const struct cluster *k, uint32_t index)
{
	return relay_token(index) &
	       (k->foreign || !proc_token(index) ? UINT32_MAX : IMPI_TOKEN_MASK);
}

/* Submit what may be submitted now. */
static inline bool
client_step(struct cluster *k)
{
	bool moved = false;
	if (!k->cl || impi_client_state(k->cl) != IMPI_CLS_COLLECTING || k->waiting)
		return false;
	const struct impi_tables *t = impi_client_tables(k->cl);
	for (uint32_t i = 0; i < k->ntodo; i++) {
		uint32_t label = k->todo[i];
		if (!impi_client_wants(k->cl, label))
			continue;
		if (label == IMPI_P_PID && !k->foreign) {
			if (!impi_tables_have(t, IMPI_C_NPROCS))
				continue;
			uint32_t me = (uint32_t)(k->at);
			for (uint32_t p = 0; p < k->nprocs; p++)
				k->proc[p].pid = impi_pid_of(
					proc_token(me), PROC_BASE + t->client[me].first_rank + p);
		}
		struct impi_offer o = {k->nhosts, k->nprocs, 65536,   0x7fffffff,
				       -1,	  -1,	     k->host, k->proc};
		assert_int_equal(impi_client_submit_offer(k->cl, label, &o), IMPI_ERR_OK);
		moved = true;
		if (k->order == LOCKSTEP) {
			k->waiting = true;
			return true;
		}
	}
	for (uint32_t i = 0; i < k->ntodo; i++)
		if (impi_client_wants(k->cl, k->todo[i]))
			return moved;
	if (!k->cl_done) {
		assert_int_equal(impi_client_done(k->cl), IMPI_ERR_OK);
		k->cl_done = true;
		moved = true;
	}
	return moved;
}

static inline void
client_rx(struct cluster *k, const uint8_t *p, size_t len)
{
	while (len > 0) {
		struct impi_client_event ev;
		size_t n = impi_client_rx(k->cl, p, len, &ev);
		p += n;
		len -= n;
		if (ev.type == IMPI_CL_LABEL) {
			const struct impi_tables *t = impi_client_tables(k->cl);
			k->waiting = false;
			/* Who knows all ids may send: the table is installed then. */
			if (impi_tables_have(t, IMPI_P_IPV6) && impi_tables_have(t, IMPI_P_PID))
				assert_true(k->direct || k->table_seen);
		} else if (ev.type == IMPI_CL_STARTED)
			k->cl_started = true;
		else if (ev.type == IMPI_CL_FAILED) {
			k->cl_failed = true;
			snprintf(k->cl_why, sizeof k->cl_why, "%s", impi_client_error(k->cl)->text);
		}
	}
}

/* ---- the world ---------------------------------------------------------------- */

static inline void *
world_room(void *user, size_t bytes, const char **why)
{
	struct cluster *k = user;
	(void)why;
	assert_int_equal(relay_startup_rank(k->rs), k->at);
	assert_null(k->room);
	return k->room = zalloc(bytes);
}

static inline void
make_relay(struct world *w, struct cluster *k, uint32_t index)
{
	for (uint32_t m = 0; m < k->nrelays; m++) {
		struct relay_member *r = &k->member[m];
		k->index[m] = (uint8_t)(2 * m + 1);
		*r = (struct relay_member){
			.ipv4_global = 0xc0000200u + 16 * index + m,
			.ipv4_private = 0x0a0000f0u + m,
			.gateway_port_global = (uint16_t)(9000 + m),
			.gateway_port_private = (uint16_t)(9100 + m),
			.nshards = (uint16_t)k->nshards,
		};
		if (k->relays_six)
			memcpy(r->six_private, (uint8_t[16]){0xfd, [15] = (uint8_t)(m + 1)}, 16);
		if (w->n > 1 && k->foreign) {
			r->gate_global = 0xc0000280u + 16 * index + m;
			r->ngate_private = k->ngates ? k->ngates : w->n - 1;
			for (uint32_t g = 0; g < r->ngate_private; g++)
				r->gate_private[g] = g || k->via_host ? 0x0a000100u + 64 * m + g
								      : r->ipv4_private;
		}
		for (uint16_t s = 0; s < k->nshards; s++) {
			r->port_global[s] = (uint16_t)(7000 + s);
			r->port_private[s] = (uint16_t)(7100 + s);
		}
	}
	relay_labels_init(&k->labels, index);
	struct relay_startup_conf conf = {
		.limits = {w->nworld_max ? w->nworld_max : PROCS_MAX, HOSTS_MAX},
		.member = k->member,
		.nmembers = k->nrelays,
		.member_index = k->some_down ? k->index : NULL,
		.client_auth = w->relay_down_auth,
		.server_auth = w->relay_up_auth,
		.labels = &k->labels,
		.job_id = 40 + index,
		.token = relay_token(index),
		.step_timeout_ns = w->step_timeout_ns,
		.gateway = w->gateway,
		.gateway_slot = SLOT,
	};
	if (index % 2) { /* with half of them when it is due */
		conf.room = world_room;
		conf.user = k;
	}
	k->rs = relay_startup_new(zalloc(conf.room ? relay_startup_seat_bytes()
						   : relay_startup_footprint(&conf.limits)),
				  &conf);
	assert_non_null(k->rs);
}

static inline void
world_start(struct world *w)
{
	if (!w->server_auth.mask)
		w->server_auth = auth_none;
	if (!w->relay_up_auth.mask)
		w->relay_up_auth = auth_none;
	if (!w->relay_down_auth.mask)
		w->relay_down_auth = auth_none;
	w->prng = base_prng_seed(w->chunk + 77);
	struct impi_server_config sc = {.nclients = w->n,
					.auth = w->server_auth,
					.join_timeout_ns = 1000000000ull,
					.store_bytes = 65536,
					.tx_bytes = 65536};
	w->server = impi_server_new(zalloc(impi_server_footprint(&sc)), &sc);
	assert_non_null(w->server);
	for (uint32_t i = 0; i < w->n; i++) {
		struct cluster *k = &w->c[i];
		struct impi_limits il = {1024, PROCS_MAX};
		struct impi_client_config cc = {.auth = k->auth.mask ? k->auth : auth_none,
						.rank = i};
		k->nshards = k->nshards ? k->nshards : 1;
		k->nhosts = k->nhosts ? k->nhosts : 1;
		k->at = i;
		k->conn = -1;
		client_identities(k, i);
		client_labels(w, k);
		k->cl = impi_client_new(zalloc(impi_client_footprint(&il, &cc)), &il, &cc);
		assert_non_null(k->cl);
		if (!k->direct) {
			make_relay(w, k, i);
		} else {
			k->conn = impi_server_open_from(w->server, 0, "", 0);
			k->up_open = true;
		}
	}
}

static inline void
world_free(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct cluster *k = &w->c[i];
		impi_client_end(k->cl);
		block_give(k->cl);
		block_give(relay_startup_fini(k->rs));
		block_give(k->room);
		block_give(k->copy);
		if (!k->direct)
			assert_int_equal(k->labels.used, 0);
	}
	impi_server_end(w->server);
	block_give(w->server);
}

static inline size_t
chunk_of(struct world *w)
{
	return w->chunk ? w->chunk : 1 + (size_t)base_prng_below(&w->prng, 100);
}

static inline void
server_events(struct world *w)
{
	struct impi_server_event ev;
	while (impi_server_next(w->server, &ev)) {
		w->complete |= ev.type == IMPI_SV_COMPLETE;
		w->failed |= ev.type == IMPI_SV_FAILED;
		if (ev.type != IMPI_SV_CLOSE)
			continue;
		for (uint32_t i = 0; i < w->n; i++) {
			struct cluster *k = &w->c[i];
			if (k->conn != ev.conn)
				continue;
			k->conn = -1;
			k->up_open = false;
			if (k->direct)
				k->cl_failed |= impi_client_eof(k->cl);
			else
				relay_startup_eof(k->rs, RELAY_SIDE_SERVER, NULL);
		}
	}
}

static inline void
to_server(struct world *w, struct cluster *k, const uint8_t *p, size_t len)
{
	if (k->conn >= 0)
		impi_server_rx(w->server, k->conn, p, len, 0);
	server_events(w);
}

static inline bool
pump_cluster(struct world *w, struct cluster *k)
{
	uint8_t buf[4096];
	bool moved = client_step(k);
	size_t n = impi_client_tx(k->cl, buf, chunk_of(w));
	if (n > 0) {
		moved = true;
		if (k->direct)
			to_server(w, k, buf, n);
		else
			relay_startup_rx(k->rs, RELAY_SIDE_CLIENT, buf, n);
	}
	if (!k->direct) {
		n = relay_startup_tx(k->rs, RELAY_SIDE_CLIENT, buf, chunk_of(w));
		moved |= n > 0;
		client_rx(k, buf, n);
		n = relay_startup_tx(k->rs, RELAY_SIDE_SERVER, buf, chunk_of(w));
		moved |= n > 0;
		if (n > 0)
			to_server(w, k, buf, n);
	}
	n = k->conn >= 0 ? impi_server_tx(w->server, k->conn, buf, chunk_of(w)) : 0;
	moved |= n > 0;
	if (k->direct)
		client_rx(k, buf, n);
	else if (n > 0)
		relay_startup_rx(k->rs, RELAY_SIDE_SERVER, buf, n);
	server_events(w);
	return moved;
}

static inline bool
relay_events(struct world *w, struct cluster *k)
{
	switch (k->direct ? RELAY_STARTUP_NONE : relay_startup_poll(k->rs)) {
	case RELAY_STARTUP_NONE:
		return false;
	case RELAY_STARTUP_CONNECT:
		k->conn = impi_server_open_from(w->server, 0, "", 0);
		k->up_open = k->conn >= 0;
		if (k->up_open)
			relay_startup_connected(k->rs);
		else
			relay_startup_eof(k->rs, RELAY_SIDE_SERVER, "Connection refused");
		break;
	case RELAY_STARTUP_TABLE:
		k->table_seen = true;
		if (!k->hold_table)
			relay_startup_table_done(k->rs, NULL);
		break;
	case RELAY_STARTUP_RUNNING:
		k->running = true;
		break;
	case RELAY_STARTUP_ENDED:
		k->ended = true;
		if (!relay_startup_ok(k->rs) && k->conn >= 0) {
			int conn = k->conn;
			k->conn = -1;
			impi_server_eof(w->server, conn);
			server_events(w);
		}
		if (!relay_startup_ok(k->rs)) {
			uint8_t buf[4096];
			client_rx(k, buf,
				  relay_startup_tx(k->rs, RELAY_SIDE_CLIENT, buf, sizeof buf));
			k->cl_failed |= impi_client_eof(k->cl);
		}
		break;
	}
	return true;
}

/* Until nothing moves any more. */
static inline void
world_run(struct world *w)
{
	bool moved = true;
	for (int turn = 0; moved; turn++) {
		assert_true(turn < 1000000);
		moved = false;
		for (uint32_t i = 0; i < w->n; i++) {
			moved |= pump_cluster(w, &w->c[i]);
			moved |= relay_events(w, &w->c[i]);
		}
	}
}

/* ---- what must hold when all run ------------------------------------------------ */

/* Process i of n over k relays, from the other end: walk the blocks. */
static inline uint32_t
block_of(uint32_t n, uint32_t k, uint32_t i)
{
	for (uint32_t m = 0, first = 0; m < k; m++) {
		uint32_t size = n / k + (m < n % k ? 1 : 0);
		if (i < first + size)
			return m;
		first += size;
	}
	fail();
	return 0;
}

/* Relays of a cluster that own a process of it. */
static inline uint32_t
owning_relays(const struct cluster *k)
{
	return k->nprocs < k->nrelays ? k->nprocs : k->nrelays;
}

/* Where relay m says it can be reached for the nth remote client. */
static inline uint32_t
gate_ip(const struct cluster *k, uint32_t m, uint32_t nth)
{
	const struct relay_member *r = &k->member[m];
	return r->ngate_private ? r->gate_private[nth % r->ngate_private] : r->ipv4_private;
}

static inline void
check_view(const struct world *w, uint32_t me)
{
	const struct cluster *k = &w->c[me];
	const struct impi_tables *t = impi_client_tables(k->cl);
	uint32_t rank = 0, host = 0;

	assert_true(k->cl_started && t->finished);
	for (uint32_t c = 0; c < w->n; c++) {
		const struct cluster *o = &w->c[c];
		bool as_is = c == me || (k->direct && o->direct);
		uint32_t relays = k->direct ? o->nrelays : k->nrelays;
		assert_int_equal(t->client[c].nprocs, o->nprocs);
		assert_int_equal(t->client[c].first_rank, rank);
		assert_int_equal(t->client[c].nhosts, as_is ? o->nhosts : relays);
		for (uint32_t i = 0; i < o->nprocs; i++, rank++) {
			const struct impi_proc *p = &t->proc[rank];
			struct impi_hostid id;
			if (c == me) {
				assert_int_equal(impi_proc_cmp(p, &o->proc[i]), 0);
				continue;
			}
			if (k->direct)
				continue;
			assert_int_equal(impi_hostid_decode(p->hostid, &id), IMPI_HOSTID_SUCI);
			assert_int_equal(id.kind, o->foreign ? IMPI_HOSTID_RELAY_FOREIGN
							     : IMPI_HOSTID_RELAY);
			/* Ranks compare versions with those they cannot see. */
			assert_int_equal(id.major, o->foreign ? 0 : c & IMPI_MAJOR_MAX);
			assert_int_equal(id.minor, o->foreign ? 0 : 9);
			uint32_t m = block_of(o->nprocs, owning_relays(k), i);
			assert_int_equal(id.ipv4, k->member[m].ipv4_private);
			assert_int_equal(impi_token_of(id.token, p->pid), announced_token(k, me));
			assert_int_equal((uint32_t)p->pid, k->copy->label_base + rank);
			assert_int_equal(t->proc_host[rank], host + m);
			uint32_t ip = 0;
			if (k->six)
				assert_memory_equal(t->host[host + m].addr,
						    k->member[m].six_private, 16);
			else
				assert_int_equal(impi_addr_classify(t->host[host + m].addr, &ip),
						 IMPI_ADDR_V4);
			assert_int_equal(ip, k->six ? 0 : gate_ip(k, m, c - (c > me)));
			assert_int_equal(t->host[host + m].port, 9100 + m + SLOT);
		}
		host += t->client[c].nhosts;
	}
	assert_int_equal(t->nprocs, rank);
}

static inline void
check_table(const struct world *w, uint32_t me)
{
	const struct cluster *k = &w->c[me];
	const struct relay_job *j = k->copy;
	const char *what = NULL;
	assert_int_equal(relay_job_validate(j, &what), 0);
	assert_int_equal(j->my_client, me);
	assert_int_equal(j->nlocal, k->nprocs);
	for (uint32_t c = 0, rank = 0; c < w->n; c++) {
		const struct cluster *o = &w->c[c];
		for (uint32_t i = 0; i < o->nprocs; i++, rank++) {
			const struct relay_host *h = &j->host[relay_job_host_of(j, rank)];
			struct impi_hostid id;
			assert_int_equal(h->client, c);
			/* All relays agree on how the world is seen from outside. */
			if (o->copy)
				assert_memory_equal(j->global_id[rank], o->copy->global_id[rank],
						    24);
			/* Our own view is what our client was told. */
			uint8_t told[24];
			impi_proc_encode(&impi_client_tables(k->cl)->proc[rank], told);
			assert_memory_equal(j->private_id[rank], told, 24);
			if (o->direct)
				continue;
			assert_int_equal(impi_hostid_decode(h->id, &id), IMPI_HOSTID_SUCI);
			assert_int_equal(id.kind, o->foreign ? IMPI_HOSTID_RELAY_FOREIGN
							     : IMPI_HOSTID_RELAY);
			uint32_t m = block_of(o->nprocs, o->nrelays, i);
			assert_int_equal(id.ipv4, o->member[m].ipv4_global);
			assert_int_equal(h->label_base, o->copy->label_base);
			assert_int_equal(
				be64_load(j->global_id[rank] + 16),
				impi_pid_of(announced_token(o, c), o->copy->label_base + rank));
			if (c != me)
				continue;
			assert_int_equal(j->local[i].relay, k->some_down ? k->index[m] : m);
			/* Of version 2 it is where its host is. */
			assert_memory_equal(j->local[i].at,
					    k->six ? k->host[block_of(k->nprocs, k->nhosts, i)].addr
						   : (uint8_t[16]){0},
					    16);
		}
	}
}

/* Who is to carry a remote process is known to the other clusters: the same
 * shard, by its global address, owns a local process. */
static inline void
check_carriers(const struct world *w, uint32_t me)
{
	const struct cluster *k = &w->c[me];
	const struct relay_job *j = k->copy;
	for (uint32_t rank = 0; rank < j->nworld; rank++) {
		struct impi_hostid id, own;
		bool known = false;
		if (rank - j->first_local < j->nlocal)
			continue;
		assert_int_equal(impi_hostid_decode(j->private_id[rank], &id), IMPI_HOSTID_SUCI);
		const struct relay_member *r = &k->member[id.ipv4 - k->member[0].ipv4_private];
		for (uint32_t h = 0; h < j->nhosts; h++) {
			if (j->host[h].client != me)
				continue;
			assert_int_equal(impi_hostid_decode(j->host[h].id, &own), IMPI_HOSTID_SUCI);
			known |= own.ipv4 == r->ipv4_global &&
				 own.port - r->port_global[0] == id.port - r->port_private[0];
		}
		assert_true(known);
	}
}

/* A gate in a table is the host somebody else's tables have at its rank. */
static inline void
check_gate(const struct relay_gate *g, const struct impi_tables *t)
{
	uint32_t ip;
	assert_in_range(g->rank, 0, t->nhosts - 1);
	const struct impi_host *h = &t->host[g->rank];
	assert_int_equal(impi_addr_classify(h->addr, &ip), IMPI_ADDR_V4);
	assert_memory_equal(h->addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	assert_int_equal(g->ipv4, ip);
	assert_int_equal(g->port, h->port);
	assert_int_equal(g->client, h->client);
	assert_int_equal(g->nprocs, h->nprocs);
	assert_int_equal(g->first_rank, h->first_rank);
}

static inline void
check_foreign_host(const struct relay_foreign *f, const struct impi_tables *t)
{
	assert_in_range(f->rank, 0, t->nhosts - 1);
	const struct impi_host *h = &t->host[f->rank];
	assert_memory_equal(f->addr, h->addr, 16);
	assert_int_equal(f->port, h->port);
	assert_int_equal(f->client, h->client);
	assert_int_equal(f->nprocs, h->nprocs);
	assert_int_equal(f->first_rank, h->first_rank);
}

/* Foreign hosts and gates are those that the foreign clients themselves know: ours
 * has the private mapping, one with global addresses the global one. */
static inline void
check_gates(const struct world *w, uint32_t me)
{
	const struct cluster *k = &w->c[me];
	const struct relay_job *j = k->copy;
	const struct impi_tables *own = impi_client_tables(k->cl);
	uint32_t want_foreign = k->foreign ? k->nhosts : 0, remote = CLUSTERS_MAX, n[2] = {0, 0};

	for (uint32_t c = 0; c < w->n; c++) {
		if (c == me || !w->c[c].foreign || !w->c[c].direct)
			continue;
		want_foreign += w->c[c].nhosts;
		remote = c;
	}
	assert_int_equal(j->nforeign, want_foreign);
	assert_int_equal(j->nhosts_private, own->nhosts);
	for (uint32_t i = 0; i < j->nforeign; i++) {
		const struct relay_foreign *f = &j->foreign[i];
		check_foreign_host(f,
				   f->client == me ? own : impi_client_tables(w->c[f->client].cl));
	}
	for (uint32_t i = 0; i < j->ngates; i++) {
		const struct relay_gate *g = &j->gate[i];
		n[g->side]++;
		assert_true(g->relay < k->nrelays);
		if (g->side == RELAY_GATE_PRIVATE) {
			check_gate(g, own);
			assert_int_equal(g->relay, g->rank - own->client[g->client].first_host);
			assert_int_equal(g->ipv4,
					 gate_ip(k, g->relay, g->client - (g->client > me)));
			continue;
		}
		const struct impi_tables *t = impi_client_tables(w->c[remote].cl);
		check_gate(g, t);
		assert_int_equal(j->nhosts_global, t->nhosts);
		assert_int_equal(g->relay, g->rank - t->client[me].first_host);
	}
	assert_int_equal(n[RELAY_GATE_PRIVATE], k->foreign ? (w->n - 1) * k->nrelays : 0);
	assert_int_equal(n[RELAY_GATE_GLOBAL], remote < CLUSTERS_MAX ? k->nrelays : 0);
	assert_int_equal(j->datalen, 65536);
	assert_int_equal(j->ackmark, own->ackmark);
	assert_int_equal(j->hiwater, own->hiwater);
	/* LAM/MPI takes who connects for the first host with that address. */
	for (uint32_t h = 0; k->foreign && h < own->nhosts; h++)
		for (uint32_t i = 0; i < h; i++)
			assert_memory_not_equal(own->host[h].addr + 12, own->host[i].addr + 12, 4);
}

static inline void
copy_tables(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct cluster *k = &w->c[i];
		if (k->direct)
			continue;
		assert_true(k->table_seen);
		struct relay_job_limits l = {PROCS_MAX, HOSTS_MAX};
		static uint8_t buf[65536];
		const char *what;
		size_t len = relay_job_encode(relay_startup_job(k->rs), buf, sizeof buf);
		assert_true(len > 0);
		k->copy = relay_job_new(zalloc(relay_job_footprint(&l)), &l);
		assert_int_equal(relay_job_decode(k->copy, buf, len, &what), 0);
	}
}

static inline void
expect_all_well(struct world *w)
{
	world_run(w);
	for (uint32_t i = 0; i < w->n; i++)
		if (!w->c[i].direct && w->c[i].ended)
			print_message("cluster %u: %s\n", i, relay_startup_why(w->c[i].rs));
	copy_tables(w);
	for (uint32_t i = 0; i < w->n; i++) {
		assert_true(w->c[i].direct || w->c[i].running);
		check_view(w, i);
		if (!w->c[i].direct) {
			check_table(w, i);
			check_carriers(w, i);
			check_gates(w, i);
		}
	}
	for (uint32_t i = 0; i < w->n; i++)
		assert_int_equal(impi_client_fini(w->c[i].cl), IMPI_ERR_OK);
	world_run(w);
	assert_true(w->complete);
	for (uint32_t i = 0; i < w->n; i++)
		if (!w->c[i].direct) {
			assert_true(w->c[i].ended);
			assert_true(relay_startup_ok(w->c[i].rs));
		}
}

#endif
