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
	struct relay_host *host;		  /* [nhosts], by first_rank, without gaps */
	struct relay_local *local;		  /* [nlocal] */
	uint8_t (*global_id)[RELAY_PROC_ID_LEN];  /* [nworld], as remote clusters see them */
	uint8_t (*private_id)[RELAY_PROC_ID_LEN]; /* [nworld], as our own processes see them */
};

struct relay_job_limits {
	uint32_t nworld_max; /* 1 .. 1<<20 */
	uint32_t nhosts_max; /* 1 .. 1<<16 */
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
void relay_labels_free(struct relay_labels *l, uint32_t first, uint32_t n);

#endif
