/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/job.h - the table of one job, as every relay of a cluster has it.
 *
 * Made by the primary's relay/startup.h out of what passes between its client
 * and the server, pushed to the other relays of the cluster (relay/peer.h),
 * and given to relay_job_add() of every worker shard.
 *
 * A job is known in the cluster by its label base: `label = label_base +
 * world rank` in the label space shared by the cluster's relays.
 *
 *     space of labels   0 .. 2^24 - 1                 never a relayed process
 *                       (i+1) << 24 .. + 2^24 - 1     handed out by primary i
 *
 * The arrays of struct relay_job belong to its memory (relay_job_new); copying
 * the struct copies the pointers.
 *
 * Threads  plain data; one owner while it is written, readers share. */
#ifndef RELAY_JOB_H
#define RELAY_JOB_H

#include "relay/error.h"
#include "impi/hostid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_CLIENTS_MAX 32
#define RELAY_PROC_ID_LEN 24 /* IMPI_Proc: 16 B host id, 8 B pid big-endian */
#define RELAY_RELAYS_MAX  64 /* relays of one cluster */

/* A run of processes that one Suci endpoint carries: a worker shard of a
 * relay, or a process with a global address that carries itself. */
struct relay_host {
	uint8_t id[IMPI_HOSTID_BYTES]; /* global Suci host id; may be foreign */
	uint32_t client;
	uint32_t first_rank;
	uint32_t nprocs;
	uint32_t label_base; /* label there = label_base + world rank */
};

/* One process of this cluster, as it announced itself. */
struct relay_local {
	uint8_t id[IMPI_HOSTID_BYTES]; /* private Suci host id; may be foreign */
	uint64_t pid;		       /* its label in its own space, if it is ours */
	uint32_t relay;		       /* index of the relay that carries it */
	uint8_t at[16];		       /* its IPv6 address if id is of version 2; else zeros */
};
/* What it is: as impi_hostid_decode(), and version 2 is one of ours. */
enum impi_hostid_result relay_local_decode(const struct relay_local *local,
					   struct impi_hostid *out);

/* An IMPI host that speaks TCP and no Suci: what the gateways of this cluster
 * open channels to.  A host without processes has channels like the others. */
struct relay_foreign {
	uint32_t client;
	uint32_t rank; /* its IMPI host rank in the mapping in which it meets our gates:
			* the private one if it is of the own client, else the global one */
	uint32_t first_rank, nprocs;	 /* the processes it carries */
	uint8_t addr[IMPI_HOSTID_BYTES]; /* IMPI_H_IPV6 as it announced it */
	uint16_t port;
};

/* What foreign hosts see as an IMPI host and is a gateway of ours.
 *
 *   GLOBAL   one per relay of this cluster: carries the own processes dealt to it;
 *            remote foreign hosts have channels to it
 *   PRIVATE  one per remote client and relay: carries the processes of that client
 *            dealt to it; the own client's foreign hosts have channels to it
 *
 * (gate, foreign host) is a channel if the host sees the gate: side GLOBAL and the
 * host of another client, or side PRIVATE and the host of the own client.  The
 * higher rank connects (IMPI reference 4), bound to the gate's address.  A gate
 * that carries no process (more relays than processes) is a host all the same:
 * its channels see nothing but FINI. */
enum relay_side_of_gate { RELAY_GATE_PRIVATE = 0, RELAY_GATE_GLOBAL = 1 };
struct relay_gate {
	uint8_t side;	/* enum relay_side_of_gate */
	uint32_t relay; /* index of the relay of this cluster whose gateway it is */
	uint32_t client;
	uint32_t rank; /* IMPI host rank in that mapping */
	uint32_t first_rank, nprocs;
	uint32_t ipv4; /* host order; what IMPI_H_IPV6 says and connecting sockets are bound to */
	uint16_t port; /* TCP, listens from the moment the table is installed */
};

struct relay_job {
	uint32_t id;	     /* the primary's number of it, for people */
	uint32_t token;	     /* of the relays' host ids in this job */
	uint32_t label_base; /* multiple of RELAY_LABEL_PAGE */
	uint32_t my_client;
	uint32_t nworld;
	uint32_t nhosts;
	uint32_t first_local; /* world rank of local[0] */
	uint32_t nlocal;
	uint32_t nforeign, ngates;		  /* both 0 if every process is reached by Suci */
	uint32_t nhosts_private, nhosts_global;	  /* IMPI hosts in the two mappings */
	uint32_t datalen, ackmark, hiwater;	  /* as combined over all clients */
	struct relay_host *host;		  /* [nhosts], by first_rank, without gaps */
	struct relay_local *local;		  /* [nlocal] */
	uint8_t (*global_id)[RELAY_PROC_ID_LEN];  /* [nworld], as remote clusters see them */
	uint8_t (*private_id)[RELAY_PROC_ID_LEN]; /* [nworld], as our own processes see them */
	struct relay_foreign *foreign; /* [nforeign], own client's and remote ones, by first_rank */
	struct relay_gate *gate;       /* [ngates], by side, then rank */
};

/* Of one job: one GLOBAL gate per relay, one PRIVATE per relay and remote client. */
#define RELAY_GATES_MAX (RELAY_RELAYS_MAX * RELAY_CLIENTS_MAX)

struct relay_job_limits {
	uint32_t nworld_max; /* 1 .. 1<<20 */
	uint32_t nhosts_max; /* 1 .. 1<<16, of host[] and of foreign[] */
};

/* Memory of a job table, 8-byte aligned; 0 if a limit is out of range. */
size_t relay_job_footprint(const struct relay_job_limits *limits);
/* An empty table with room for limits. */
struct relay_job *relay_job_new(void *mem, const struct relay_job_limits *limits);
/* Is the table consistent?  0 or MALFORMED, with the reason in *what (static). */
int relay_job_validate(const struct relay_job *job, const char **what);
/* Index into host[] of the host that carries rank; nhosts if none. */
uint32_t relay_job_host_of(const struct relay_job *job, uint32_t rank);
/* Does the table name a process that is not reached by Suci?  If so *rank. */
bool relay_job_has_foreign(const struct relay_job *job, uint32_t *rank);
/* The foreign host that carries rank, or NULL: reached by Suci. */
const struct relay_foreign *relay_job_foreign_of(const struct relay_job *job, uint32_t rank);
/* The gate of that side that stands for rank, or NULL. */
const struct relay_gate *relay_job_gate_of(const struct relay_job *job,
					   enum relay_side_of_gate side, uint32_t rank);
/* Which gateway (index of the relay) takes a segment from src to the foreign process
 * dst; UINT32_MAX if none.  dst of the own client: the gateway whose PRIVATE gate stands
 * for src, for dst's host expects src's packets on that channel; dst of another client: the
 * one whose GLOBAL gate stands for src. */
uint32_t relay_job_gateway(const struct relay_job *job, uint32_t src, uint32_t dst);

/* Is one of its local processes called by an IPv6 address?  Relays before that refuse the table. */
bool relay_job_has_six(const struct relay_job *job);

/* Body of the JOB frame.  Encode: bytes written or 0 if room is too small. */
size_t relay_job_encoded_len(const struct relay_job *job);
size_t relay_job_encode(const struct relay_job *job, void *out, size_t room);
/* Into a table from relay_job_new().  0, MALFORMED, or NOMEM (over its
 * limits); *what (may be NULL) names the fault. */
int relay_job_decode(struct relay_job *job, const void *in, size_t len, const char **what);

/* ---- labels: who gets which range ------------------------------------- */

#define RELAY_LABEL_PAGE      64u   /* ranges begin on and fill whole pages */
#define RELAY_LABEL_PAGES_MAX 4096u /* per primary: 262144 labels in use at once */

/* The primary's allocator.  Ranges are handed out round robin, so a label of a
 * job that ended comes back as late as possible. */
struct relay_labels {
	uint32_t base; /* (index of this relay + 1) << 24 */
	uint32_t next; /* page to try first */
	uint32_t used; /* pages */
	uint64_t map[RELAY_LABEL_PAGES_MAX / 64];
};
/* index: of this relay in the cluster's list, < RELAY_RELAYS_MAX. */
void relay_labels_init(struct relay_labels *l, uint32_t index);
/* First label of a free range of n labels, or 0 if there is none. */
uint32_t relay_labels_alloc(struct relay_labels *l, uint32_t n);
/* Take the range that an earlier run of this relay gave to a job that still lives.  false:
 * it is not of this relay's space, or not free. */
bool relay_labels_take(struct relay_labels *l, uint32_t first, uint32_t n);
void relay_labels_free(struct relay_labels *l, uint32_t first, uint32_t n);
/* The label of world rank 0 in the spaces of the cluster's gateways, which index arrays
 * by label: the 24 bits in front of a primary's ranges shrink to the pages they hold,
 * (primary's index * RELAY_LABEL_PAGES_MAX + page + 1) * RELAY_LABEL_PAGE, so that all
 * labels of a cluster of n relays are in [RELAY_LABEL_PAGE, RELAY_GATEWAY_LABELS(n)).  0 for
 * a label base that no primary hands out. */
#define RELAY_GATEWAY_LABELS(nrelays) (((nrelays)*RELAY_LABEL_PAGES_MAX + 1) * RELAY_LABEL_PAGE)
uint32_t relay_gateway_base(uint32_t label_base);

#endif
