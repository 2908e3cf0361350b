/* SPDX-License-Identifier: BSD-2-Clause */
/* boot.h - how a process learns who else is in the job.
 *
 *   pmix.c     the launcher: size, rank, node, exchange of contacts, abort
 *   blob.c     the bytes processes publish through it
 *   addr.c     which of this node's addresses to use
 *   peers.c    which clients are foreign, and how they want to be spoken to
 *   join.c     rank 0's conversation with the impi server or relay
 *   hosts.c    which IMPI hosts this client is
 *   socket.c   TCP sockets of either family
 *   host_handshake.c  TCP connections to the hosts of foreign clients
 *   control.c  the thread that watches the server channel while ranks compute
 *
 * With no launcher the job has one process. */
#ifndef LMPI_BOOT_H
#define LMPI_BOOT_H

#include "engine.h"
#include "others.h"

#include "base/prefix.h"
#include "door/address.h"
#include "impi/switches.h"
#include "suci/addr.h"

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
/* Who starts processes in place of a launcher that speaks PMIx: these are called by the functions
 * of the same names then. */
struct lmpi_launcher {
	int (*init)(struct lmpi_boot *b);
	int (*put)(const char *key, const void *data, size_t len);
	int (*fence)(bool collect, void (*progress)(void));
	int (*get)(uint32_t rank, const char *key, void **data, size_t *len);
	void (*node_of)(uint32_t rank, char name[64]);
	void (*abort)(int code, const char *why);
	void (*fini)(void);
};
extern const struct lmpi_launcher *lmpi_launcher; /* NULL: PMIx */
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
/* From now on report() is told of dying processes, in a thread of the launcher's library.  rank:
 * of this job, or one of these. */
#define LMPI_RANK_ELSEWHERE (UINT32_MAX - 1) /* a process of another job */
#define LMPI_RANK_UNKNOWN   UINT32_MAX
void lmpi_boot_watch(void (*report)(const char *text, uint32_t rank));
/* Tell the launcher, if it is our mpirun, that all processes of the client know each other, and who
 * started them (lmpi/launch.h). */
void lmpi_boot_tell_met(void);
/* Whose name complaints begin with; libmmp uses these functions, too. */
void lmpi_boot_as(const char *library);
void lmpi_boot_abort(int code, const char *why);
/* There is a launcher, and it can be talked to. */
bool lmpi_boot_launched(void);
void lmpi_boot_fini(void);
pthread_t lmpi_boot_main_thread(void);

/* --- blob.c */
/* What each process tells the others of its client. */
struct lmpi_contact {
	uint64_t token; /* the job's, as chosen by rank 0; others 0 */
	struct suci_addr at;
	uint16_t tcp_port;	 /* IMPI channels; 0: none */
	uint16_t stream_port;	 /* data of long messages (TCP); 0: none */
	int32_t shm_pid, shm_fd; /* fd -1: none */
	uint64_t shm_bytes;
	char bell[32];
	uint32_t bcast_piece, alltoall_piece; /* those of rank 0 are the client's */
};
#define LMPI_CONTACT_BYTES 106
#define LMPI_CONTACT_WHY   80
void lmpi_contact_encode(const struct lmpi_contact *c, uint8_t out[LMPI_CONTACT_BYTES]);
/* False, and who wrote it: another libmpi than this one.  Processes of a cluster choose algorithms
 * and share memory by what the code says, so they are of one version to the letter. */
bool lmpi_contact_decode(const uint8_t *in, size_t len, struct lmpi_contact *c,
			 char why[LMPI_CONTACT_WHY]);

/* Where those of other jobs on this machine find its hall (transport/hall.h). */
struct lmpi_hall_place {
	int32_t pid, fd; /* pid 0: it has none */
	uint64_t key;
};

/* What a process tells those of other jobs (engine/others.h). */
struct lmpi_card {
	uint64_t job;	 /* name of its job */
	uint64_t token;	 /* of its job in its cluster, which proves who opens a path */
	uint32_t number; /* its rank there */
	struct suci_addr at;
	char node[64]; /* NUL-terminated; "" unknown */
	bool has_door;
	struct door_address door; /* at a relay of its cluster */
	struct lmpi_hall_place hall;
};
void lmpi_card_encode(const struct lmpi_card *c, uint8_t out[LMPI_CARD_BYTES]);
bool lmpi_card_decode(const uint8_t in[LMPI_CARD_BYTES], struct lmpi_card *c);

/* The IMPI job as the server channel gave it. */
struct lmpi_job {
	uint32_t client, nclients, nhosts, nprocs;
	uint32_t datalen, ackmark, hiwater, tag_ub;
	uint32_t coll_xsize, coll_maxlinear; /* defaults filled in */
	uint32_t server_ipv4;	  /* where rank 0 joined: server or own relay; 0: over IPv6 */
	struct lmpi_client *peer; /* [nclients] */
	struct lmpi_job_host {
		uint32_t client, nprocs;
		uint8_t addr[16]; /* IMPI_H_IPV6 */
		uint16_t port;
	} * host;	     /* [nhosts] */
	uint8_t (*proc)[24]; /* [nprocs] host id and pid, by world rank */
};
/* Count the hosts and processes of each client into peer[] from host[], which must
 * list clients in ascending order and as many processes as nprocs; false if not. */
bool lmpi_job_count(struct lmpi_job *j);
/* As bytes, malloc'd; NULL: no memory. */
void *lmpi_job_encode(const struct lmpi_job *j, size_t *len);
bool lmpi_job_decode(const void *in, size_t len, struct lmpi_job *j);
void lmpi_job_free(struct lmpi_job *j);

/* --- peers.c */
struct impi_hostid;
/* Put MAJOR and MINOR of a version of libmpi into a host id. */
void lmpi_peers_sign(const char *version, struct impi_hostid *id);
/* May libmpis with these two be clusters of one job?  Until 1.0 MINOR has to be the same, from then
 * on MAJOR (doc/compatibility.md). */
bool lmpi_peers_fit(const struct impi_hostid *a, const struct impi_hostid *b);
/* Fill foreign, rep and reduce_on_pt2pt of job->peer (counted) from the processes' host
 * ids, from text (the syntax of impi/switches.h; NULL: none) and from what the clients
 * offered.  0 or an error class (said). */
int lmpi_peers_settle(struct lmpi_job *job, const char *text,
		      const struct impi_offered offered[IMPI_CLIENTS_MAX]);

/* --- addr.c */
/* Networks to use and, behind a "!", not to use: "10.0.0.0/24,!172.17.0.0/16". */
#define LMPI_NETS_MAX 32
#define LMPI_NETS_WHY 128
struct lmpi_nets {
	struct lmpi_net_rule {
		struct base_prefix net;
		bool not ;
	} rule[LMPI_NETS_MAX];
	uint32_t n;
};
/* NULL and "" name none, which allows all.  False, and why. */
bool lmpi_nets_parse(const char *text, struct lmpi_nets *nets, char why[LMPI_NETS_WHY]);
bool lmpi_nets_allow(const struct lmpi_nets *nets, const struct suci_addr *at);

/* One address of an interface that is up. */
struct lmpi_addr {
	char iface[16];
	struct suci_addr at; /* port 0 */
	bool carrier, loopback, bridge;
};
/* Is it of that interface (NULL: of any but loopback) and of an allowed network? */
bool lmpi_addr_usable(const struct lmpi_addr *a, const char *iface, const struct lmpi_nets *nets);
/* Of those that are usable and of that family (4, 6) the one the kernel routes from (NULL:
 * unknown), else the first with a carrier that is no bridge, else with a carrier, else the first;
 * NULL: none. */
const struct lmpi_addr *lmpi_addr_pick(const struct lmpi_addr *list, uint32_t n, uint8_t family,
				       const char *iface, const struct lmpi_nets *nets,
				       const struct suci_addr *routed);
/* The same place but for the port? */
bool lmpi_addr_same(const struct suci_addr *a, const struct suci_addr *b);

/* The address of this node others reach it at, of LIBMPI_IFACE and LIBMPI_NET if they are
 * set: the one that routes to server ("host:port", may be NULL), else to other_node (a name;
 * may be NULL), else by default, else as lmpi_addr_pick() says, else 127.0.0.1.  IPv6 only if it
 * may be (ipv6) and the server has no other, or this node has none that is usable. */
int lmpi_choose_address(const char *server, const char *other_node, bool ipv6,
			struct suci_addr *at);
/* A socket at an IPv4 address sends to none of IPv6, nor the other way about.  False, and why: who
 * ("rank 3") is there, and what helps. */
bool lmpi_addr_meets(const struct suci_addr *own, const char *who, const struct suci_addr *there,
		     char why[LMPI_WHY]);
/* Split "host:port" or "[v6]:port"; false if it is neither. */
bool lmpi_split_server(const char *server, char host[256], char port[16]);

/* --- places.c */
/* Relays of other clusters are called by IPv4 addresses, and so are processes without a relay in a
 * job with some.  LIBMPI_PLACES says where those are that have IPv6 alone:
 * "198.51.100.21=2001:db8::21,192.0.2.7=2001:db8::7", this process among them. */
#define LMPI_PLACES_MAX 64
#define LMPI_PLACES_WHY 192
struct lmpi_places {
	struct lmpi_place {
		uint32_t name; /* IPv4, host order, not 0 */
		uint8_t at[16];
	} place[LMPI_PLACES_MAX];
	uint32_t n;
};
/* NULL and "" name none.  False, and why. */
bool lmpi_places_parse(const char *text, struct lmpi_places *places, char why[LMPI_PLACES_WHY]);
/* Where who is called that is; false: nowhere else. */
bool lmpi_places_at(const struct lmpi_places *places, uint32_t name, uint8_t at[16]);
/* What who is there is called; 0: nothing.  places may be NULL. */
uint32_t lmpi_places_name(const struct lmpi_places *places, const struct suci_addr *at);

/* --- hosts.c */
/* The IMPI host (from 0) of each of n processes: one host per distinct address if the
 * ranks of every address are contiguous, else one for all.  Returns how many. */
uint32_t lmpi_hosts_group(const struct lmpi_contact *contact, uint32_t n, uint32_t *host_of);

/* --- socket.c: sockets do not block, and are not inherited */
/* One that listens at that address, on any port; -1 and errno. */
int lmpi_tcp_listen(const struct suci_addr *at, int backlog, uint16_t *port);
/* One that is connecting to a port there from the address own (NULL, or of another family: any),
 * *err EINPROGRESS or 0; or -1 and errno in *err. */
int lmpi_tcp_begin(const struct suci_addr *at, uint16_t port, const struct suci_addr *own,
		   int *err);

/* --- host_handshake.c (IMPI reference 4); functions return 0 or an error class (said). */
/* Listen at that address, on any port. */
int lmpi_dance_listen(const struct suci_addr *at, uint16_t *port);
void lmpi_dance_unlisten(void);
struct lmpi_dance {
	const struct lmpi_job *job; /* with peer[] and proc[] */
	uint32_t host;		    /* mine, global */
	struct suci_addr at;	    /* its address; connecting sockets have it too */
	uint64_t token;
	uint32_t nlocal; /* processes of my host that connect to me as their switch, or 0 */
	uint64_t limit_s;
};
/* Connect with every foreign host and every local process; strangers are closed.
 * host_fd[nhosts], local_fd[nlocal]: sockets, non-blocking; -1 where there is none.  Of
 * local_fd those that are not -1 before are not waited for. */
int lmpi_dance(const struct lmpi_dance *how, int *host_fd, int *local_fd);
/* Connect to the switch of my host as its process index. */
int lmpi_dance_join(const struct suci_addr *at, uint16_t port, uint64_t token, uint32_t index,
		    int *fd);
#define LMPI_HOST_NAME 96
/* "host 3 of client 1 (10.0.0.3:4711)" */
void lmpi_host_name(const struct lmpi_job_host *host, uint32_t h, char out[LMPI_HOST_NAME]);

/* --- join.c, rank 0 only */
struct lmpi_join {
	const char *server; /* host:port as the user gave it */
	uint32_t client;
	uint32_t nprocs;
	const struct lmpi_contact *contact; /* [nprocs] */
	uint32_t nhosts;
	const uint32_t *host_of;	  /* [nprocs] as lmpi_hosts_group() says */
	const struct lmpi_places *places; /* NULL: none */
	uint64_t token;
};
/* Blocks until the whole job has met (at most LIBMPI_JOIN_TIMEOUT_S, default 300).
 * The connection stays open, see lmpi_join_fd. */
int lmpi_join(const struct lmpi_join *how, struct lmpi_job *job);
int lmpi_join_fd(void);
/* Say that this client has finished, and close. */
void lmpi_join_fini(void);

/* --- control.c */
/* Before it starts: the end of process pid of this node, which is rank world, is to be noticed, so
 * that the job outlives it.  Up to 256 of them. */
void lmpi_control_watch(uint32_t world, int pid);
int lmpi_control_start(void);
/* From any thread, PMIx callbacks included: end the job with that text. */
void lmpi_control_report(const char *text, uint32_t rank);
void lmpi_control_stop(void);

#endif
