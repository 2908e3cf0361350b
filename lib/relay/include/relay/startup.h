/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/startup.h - relayed IMPI start-up of one job, for one client.
 *
 * The primary relay is the server of its own cluster's client and a client of
 * the real server.  This machine sits between the two TCP connections: bytes of
 * both go in, bytes for both come out, and the label values that go by are
 * rewritten: global mapping upwards, private mapping downwards
 * (doc/job-setup.md).
 *
 *      client                relay_startup                    server
 *        | AUTH, IMPI rank ->   |                               |
 *        |                      | event CONNECT                 |
 *        |                      |   AUTH, IMPI rank ->          |
 *        |          <- IMPI n   |             <- IMPI n         |
 *        | COLL labels ->       |   COLL, global mapping ->     |
 *        |  <- private mapping  |             <- COLL           |
 *        |                      | event TABLE: all ids known    |
 *        |                      |   (control installs it, pushes it to the other
 *        |                      |    relays, relay_startup_table_done())
 *        |  <- last P label     |                               |
 *        | DONE ->              |   DONE ->                     |
 *        |             <- DONE  |             <- DONE           |
 *        |                      | event RUNNING                 |
 *        | FINI ->              |   FINI ->                     |
 *        |                      | event ENDED (ok)              |
 *
 * Anything else - a connection that ends early, a wrong key, labels that
 * contradict each other, a foreign process without a gateway or with too few gate
 * addresses - is ENDED with ok = false and a text.  After ENDED control sends what
 * relay_startup_tx() still has and closes both connections.
 *
 * Streams may be split and joined in any way.  Labels may come one by one in
 * the order of the standard or many at once in any order; a label whose mapping
 * needs the number of processes waits for IMPI_C_NPROCS.  TABLE comes when all
 * labels of IMPI 0.0 that describe hosts and processes have been answered.
 *
 * The client, and any other one, may be another implementation's: the table then
 * lists its hosts and the gates they meet (relay/job.h), and the ids of relays that
 * stand for its processes have kind IMPI_HOSTID_RELAY_FOREIGN in both mappings.
 *
 * Units    bytes.
 * Threads  one owner at a time.
 * Limits   struct relay_startup_limits; a job over them ends with a text. */
#ifndef RELAY_STARTUP_H
#define RELAY_STARTUP_H

#include "impi/auth.h"
#include "relay/job.h"
#include "relayproto/note.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_SHARDS_MAX 16

/* One relay of this cluster, in the order of the configured list (the same on
 * all of them).  Its processes are dealt to its shards in contiguous blocks. */
struct relay_member {
	uint32_t ipv4_global, ipv4_private; /* host order */
	/* Where processes with IPv6 alone find it, all zero: nowhere.  To them PRIVATE gates are
	 * announced there. */
	uint8_t six_private[16];
	/* Where foreign hosts reach this relay's gateway (IMPI over TCP; announced as
	 * IMPI_H_IPV6 and IMPI_H_PORT whether or not there is a gateway).  A job uses the
	 * ports + gateway_slot.  Remote foreign hosts meet one gate per relay, at
	 * gate_global (0: ipv4_global).  Own foreign hosts meet one per relay and remote
	 * client and want each at an address of its own (LAM/MPI checks it): the n-th
	 * remote client, in ascending order and the own one skipped, is at
	 * gate_private[n % ngate_private] (ngate_private 0: at ipv4_private).  If a
	 * relay has fewer of them than there are remote clients and the own client is
	 * foreign, the job is refused. */
	uint32_t gate_global;
	uint32_t gate_private[RELAY_CLIENTS_MAX]; /* all different; usually begins with ipv4_private
						   */
	uint32_t ngate_private;			  /* <= RELAY_CLIENTS_MAX */
	uint16_t gateway_port_global;		  /* first of the range; not 0 */
	uint16_t gateway_port_private;
	uint16_t nshards;			/* 1 .. RELAY_SHARDS_MAX */
	uint16_t port_global[RELAY_SHARDS_MAX]; /* UDP, of each shard */
	uint16_t port_private[RELAY_SHARDS_MAX];
};

struct relay_startup_limits {
	uint32_t nworld_max; /* 1 .. 1<<18 */
	uint32_t nhosts_max; /* IMPI hosts of the whole job, 1 .. 1<<16 */
};

struct relay_startup_conf {
	struct relay_startup_limits limits;
	const struct relay_member *member; /* kept: must outlive the machine */
	uint32_t nmembers;		   /* 1 .. RELAY_RELAYS_MAX */
	/* [nmembers]: their places in the cluster's list, if some of it take no part (they are
	 * down).  NULL: it is the list. */
	const uint8_t *member_index;
	struct impi_auth client_auth; /* what we ask of our client */
	struct impi_auth server_auth; /* what we offer to the server */
	struct relay_labels *labels;  /* the range is taken here and given back by fini */
	uint32_t job_id;
	uint64_t token; /* random */
	bool gateway;	/* foreign processes can be reached */
	/* A client that has its rank and whose turn it is gets on by a step (a whole label, or
	 * DONE) within this time, or the job ends.  0: it may take for ever. */
	uint64_t step_timeout_ns;
	uint64_t begun_ns; /* when the client connected */
	/* The memory for all that the client submits, relay_startup_room_bytes() aligned to 64,
	 * when it has said its rank and not before: who has proved nothing has a seat alone.  NULL
	 * and *why: there is none, and the start-up ends with that text.  It is the caller's again
	 * after relay_startup_fini().  room itself NULL: it is given with the seat. */
	void *(*room)(void *user, size_t bytes, const char **why);
	void *user;
	/* Added to gateway_port_* of every relay: differs between the jobs of all primaries
	 * of this cluster that exist at the same time. */
	uint16_t gateway_slot;
};

enum relay_side { RELAY_SIDE_CLIENT = 0, RELAY_SIDE_SERVER = 1 };

enum relay_startup_event {
	RELAY_STARTUP_NONE = 0,
	RELAY_STARTUP_CONNECT, /* connect to the server, then relay_startup_connected() */
	RELAY_STARTUP_TABLE,   /* relay_startup_job() is complete */
	RELAY_STARTUP_RUNNING, /* DONE from the server: every rank may talk */
	RELAY_STARTUP_ENDED,   /* relay_startup_ok(), relay_startup_why() */
};

struct relay_startup; /* opaque */

/* Bytes, 64-byte aligned; 0 if a limit is out of range.  All of it, which is a seat and a room. */
size_t relay_startup_footprint(const struct relay_startup_limits *limits);
size_t relay_startup_seat_bytes(void);
size_t relay_startup_room_bytes(const struct relay_startup_limits *limits);
/* mem: a seat if conf has a room(), else the footprint.  NULL if the configuration is out of range.
 */
struct relay_startup *relay_startup_new(void *mem, const struct relay_startup_conf *conf);
/* Gives the label range back: call it when the job's table is gone from every
 * core.  Accepts NULL.  Returns the memory. */
void *relay_startup_fini(struct relay_startup *s);

/* Bytes came in.  All are taken; events may follow. */
void relay_startup_rx(struct relay_startup *s, enum relay_side side, const void *data, size_t len);
/* The connection ended: text NULL for an orderly EOF, else the error.  For
 * RELAY_SIDE_SERVER also when connecting failed. */
void relay_startup_eof(struct relay_startup *s, enum relay_side side, const char *text);
/* Take at most cap bytes to send on that connection; 0 if there are none.  What
 * was taken and not sent is the caller's to keep. */
size_t relay_startup_tx(struct relay_startup *s, enum relay_side side, void *buf, size_t cap);
bool relay_startup_tx_pending(const struct relay_startup *s, enum relay_side side);

/* The next event, once each; NONE if there is nothing new. */
enum relay_startup_event relay_startup_poll(struct relay_startup *s);
/* At CONNECT, where who can connect at all is not known before its rank: what conf.job_id and
 * conf.gateway_slot say, if they are given out to jobs only.  False: the ports of that slot end
 * behind 65535. */
bool relay_startup_admit(struct relay_startup *s, uint32_t job_id, uint16_t gateway_slot);
/* Now and then: ends a start-up in which the client does not take its turn. */
void relay_startup_tick(struct relay_startup *s, uint64_t now_ns);
/* The connection to the server is there. */
void relay_startup_connected(struct relay_startup *s);
/* Answer to TABLE.  refusal NULL: installed everywhere, go on; else the job
 * ends with that text. */
void relay_startup_table_done(struct relay_startup *s, const char *refusal);
/* The job is over for another reason (a core's job_ended, a dead peer relay):
 * ENDED, not ok, no FINI to the server. */
void relay_startup_abort(struct relay_startup *s, const char *why);
/* The job has finished, and the client that would say FINI is no more: as if it had. */
void relay_startup_finish(struct relay_startup *s);

/* From CONNECT on: it is the launcher of that client, which began at this time at the latest and
 * says that it will not come (impi/gone.h).  It is told to the server by the next tick after the
 * server's answer to AUTH, and ENDED, not ok, follows.  0: it is a client. */
uint64_t relay_startup_gone_ns(const struct relay_startup *s);

/* Valid from TABLE on. */
const struct relay_job *relay_startup_job(const struct relay_startup *s);
bool relay_startup_ok(const struct relay_startup *s);
const char *relay_startup_why(const struct relay_startup *s);
/* What it is waiting for, for people: a noun ("IMPI_C_NPROCS of the other clients"). */
const char *relay_startup_waiting(const struct relay_startup *s);
/* The client's rank, once known, else -1; number of clients, else 0. */
int32_t relay_startup_rank(const struct relay_startup *s);
uint32_t relay_startup_nclients(const struct relay_startup *s);

#endif
