/* boot.h - how a process learns who else is in the job.
 *
 *   pmix.c     the launcher: size, rank, node, exchange of contacts, abort
 *   blob.c     the bytes processes publish through it
 *   addr.c     which of this node's addresses to use
 *   join.c     rank 0's conversation with the impi server or relay
 *   control.c  the thread that watches the server channel while ranks compute
 *
 * With no launcher the job has one process. */
#ifndef LMPI_BOOT_H
#define LMPI_BOOT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- pmix.c; functions return 0 or an MPI error class after saying why. */
struct lmpi_boot {
	bool launched;	     /* there is a launcher */
	uint32_t rank, size; /* in my client */
	uint32_t node_rank, node_size;
	uint32_t *node_peer;	   /* [node_size] client ranks of my node, ascending */
	int universe_size, appnum; /* -1 unknown */
	char node_name[256];
};
int lmpi_boot_init(struct lmpi_boot *b);
/* Publish bytes under key; visible to others after the next fence. */
int lmpi_boot_put(const char *key, const void *data, size_t len);
/* Fence with exchange of what was put.  progress: called again and again
 * meanwhile, may be NULL. */
int lmpi_boot_fence(bool collect, void (*progress)(void));
/* Value of key of a process; *data is malloc'd. */
int lmpi_boot_get(uint32_t rank, const char *key, void **data, size_t *len);
/* Name of the node of a process, "" if unknown. */
void lmpi_boot_node_of(uint32_t rank, char name[64]);
/* Reports of dying processes end the job from now on. */
void lmpi_boot_watch(void);
void lmpi_boot_abort(int code, const char *why);
void lmpi_boot_fini(void);
pthread_t lmpi_boot_main_thread(void);

/* --- blob.c */
/* What each process tells the others of its client. */
struct lmpi_contact {
	uint64_t token; /* the job's, as chosen by rank 0; others 0 */
	uint8_t ip[4];
	uint16_t port;
	int32_t shm_pid, shm_fd; /* fd -1: none */
	uint64_t shm_bytes;
	char bell[32];
};
#define LMPI_CONTACT_BYTES 68
void lmpi_contact_encode(const struct lmpi_contact *c, uint8_t out[LMPI_CONTACT_BYTES]);
bool lmpi_contact_decode(const uint8_t *in, size_t len, struct lmpi_contact *c);

/* The IMPI job as the server channel gave it. */
struct lmpi_job {
	uint32_t client, nclients, nhosts, nprocs;
	uint32_t datalen, ackmark, hiwater, tag_ub;
	struct lmpi_job_host {
		uint32_t client, nprocs;
	} * host;	     /* [nhosts] */
	uint8_t (*proc)[24]; /* [nprocs] host id and pid, by world rank */
};
void *lmpi_job_encode(const struct lmpi_job *j, size_t *len); /* malloc'd, NULL: no memory */
bool lmpi_job_decode(const void *in, size_t len, struct lmpi_job *j);
void lmpi_job_free(struct lmpi_job *j);

/* --- addr.c */
/* The address of this node others reach it at: LIBMPI_IFACE's, else the one
 * that routes to server ("host:port", may be NULL), else the first of an
 * interface that is up, else 127.0.0.1. */
int lmpi_choose_address(const char *server, uint8_t ip[4]);
/* Split "host:port" or "[v6]:port"; false if it is neither. */
bool lmpi_split_server(const char *server, char host[256], char port[16]);

/* --- join.c, rank 0 only */
struct lmpi_join {
	const char *server; /* host:port as the user gave it */
	uint32_t client;
	uint32_t nprocs;
	const struct lmpi_contact *contact; /* [nprocs] */
	uint8_t ip[4];
	uint32_t token;
};
/* Blocks until the whole job has met (at most LIBMPI_JOIN_TIMEOUT_S, default 300).
 * The connection stays open, see lmpi_join_fd. */
int lmpi_join(const struct lmpi_join *how, struct lmpi_job *job);
int lmpi_join_fd(void);
/* Say that this client has finished, and close. */
void lmpi_join_fini(void);

/* --- control.c */
int lmpi_control_start(void);
/* From any thread, PMIx callbacks included: end the job with that text. */
void lmpi_control_report(const char *text);
void lmpi_control_stop(void);

#endif
