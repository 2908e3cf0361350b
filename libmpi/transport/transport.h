/* SPDX-License-Identifier: BSD-2-Clause */
/* transport.h - the transports, for each other and for start and end; what the loop asks of them is
 * engine/transports.h.
 *
 *   shm.c      processes of my node: byte rings in shared memory
 *   hall.c     those of other jobs on this machine: where their rings are
 *   net.c      everybody else: Suci over one UDP socket
 *   doors.c    processes of other jobs in other clusters: lanes between doors, over net.c
 *   streams.c  data of long messages to other nodes, over TCP where that costs less
 *   tcp.c      processes of foreign clients that no relay leads to: IMPI over TCP
 *   tcp_switch.c  between several processes of one IMPI host and its channels
 *   light.c    light paths: notes to and from the relay that offers them
 *   bell.c     waking a process that sleeps, from another one of its node
 *
 * A transport tells the engine of arrivals with lmpi_arrive(), lmpi_sink_data(),
 * lmpi_sink_end(), with lmpi_eng.in_transport set around them. */
#ifndef LMPI_TRANSPORT_H
#define LMPI_TRANSPORT_H

#include "boot.h"
#include "transports.h"

/* --- dispatch.c */
/* peer is reached so: its table of functions, and what the engine has to know of them. */
void lmpi_reach_by(struct lmpi_peer *peer, enum lmpi_reach reach);
extern const struct lmpi_transport lmpi_shm_transport, lmpi_direct_transport, lmpi_relay_transport,
	lmpi_tcp_transport;
/* --- shm.c */
struct lmpi_shm_place { /* where to find a process's segment */
	int32_t pid;
	int32_t fd;
	uint64_t bytes;
};
/* Make my segment for node_size processes.  0 or an error class (said). */
int lmpi_shm_make(uint32_t node_size, struct lmpi_shm_place *place);
/* Attach that of node index i, process rank of my client.  0 or an error class
 * (said). */
int lmpi_shm_attach(uint32_t i, uint32_t rank, const struct lmpi_shm_place *place);
/* Everybody has attached: give up what names the segment. */
void lmpi_shm_seal(void);
void lmpi_shm_close(void);
bool lmpi_shm_poll(void);
/* Look at its ring no more. */
void lmpi_shm_shun(const struct lmpi_peer *peer);
bool lmpi_shm_in_use(void);
/* How many CPUs the processes of this node may use, all together. */
int lmpi_shm_cores(void);
/* I am about to sleep: peers ring the bell from now on.  False if something
 * has come meanwhile: do not sleep. */
bool lmpi_shm_doze(void);
void lmpi_shm_awake(void);
/* The longest message that goes to a process of this node through its ring, once all are attached.
 * With two processes a node and a CPU for each, rings are wide and what is copied twice stays in
 * the caches: two or three times as fast as the system call that reads the sender's memory.
 * With more processes messages of 16 KiB and more were up to ten times slower so, and with one CPU
 * for two a stream of them three times.  These are what holds where nothing was measured. */
#define LMPI_SHM_EAGER_MAX	(12u << 10)
#define LMPI_SHM_EAGER_WIDE_MAX (40u << 10)
uint64_t lmpi_shm_eager_max(void);
/* The user or a tool has set it: it holds, however far the CPUs are (distance.h). */
void lmpi_shm_by_hand(void);
/* Shorter ones are not worth telling the sender to help. */
#define LMPI_SHARE_MIN (40u << 10)

/* --- hall.c: processes of other jobs of this machine (hall.h) */
struct lmpi_hall_place;
/* Make mine, if this process uses shared memory; free seats of the dead.  Any number of times. */
void lmpi_hall_open(void);
/* For the card; zeros: there is none. */
void lmpi_hall_where(struct lmpi_hall_place *p);
/* World is new, and its card says that its hall is there: take a seat.  Whatever else is there, and
 * whoever else's: nothing happens. */
void lmpi_hall_enter(uint32_t world, const struct lmpi_hall_place *p);
/* Both sides have adopted each other: is it reached through shared memory from now on? */
void lmpi_hall_met(uint32_t world);
void lmpi_hall_close(void);
/* --- shm.c for hall.c */
struct lmpi_shm_head;
struct lmpi_ring;
struct lmpi_share;
struct lmpi_shm_guest {
	struct lmpi_shm_head *head; /* of its hall, bytes long; shm.c's to unmap */
	uint64_t bytes, ring_bytes;
	struct lmpi_ring *ring_to, *ring_from;
	struct lmpi_share *from_me, *to_me;
	uint32_t world;
	int32_t pid;
	uint64_t key, key_at; /* what is to be found where in its memory */
	char bell[32];
};
/* This process dozes there, too, and so many guests may come.  False: no memory. */
bool lmpi_shm_open_hall(struct lmpi_shm_head *head, uint32_t seats);
/* Returns its number for peer->at. */
uint32_t lmpi_shm_guest(uint32_t seat, const struct lmpi_shm_guest *g);
/* Who has that seat is dead.  False: it is still needed. */
bool lmpi_shm_drop(uint32_t seat);

/* --- bell.c */
/* Make my doorbell; its name goes into name (NUL-terminated).  0 or -errno. */
int lmpi_bell_make(char name[32]);
void lmpi_bell_close(void);
int lmpi_bell_fd(void);
/* What its name is made of: the descriptor and the inode.  False: there is none. */
bool lmpi_bell_tell(int32_t *fd, uint32_t *inode);
/* Wake the process whose bell has that name; *kept is -1 before the first time, and belongs
 * to this bell until lmpi_bell_drop(). */
void lmpi_bell_ring(const char *name, int *kept);
void lmpi_bell_drop(int *kept);
void lmpi_bell_ring_me(void); /* any thread */
void lmpi_bell_hush(void);
/* World rank and bell of node index i. */
void lmpi_shm_set_world(uint32_t i, uint32_t world);
void lmpi_shm_set_bell(uint32_t i, const char *name);

/* --- net.c */
/* Bind the socket to that address.  0 or an error class (said). */
int lmpi_net_open(const struct suci_addr *at);
uint16_t lmpi_net_port(void);
uint32_t lmpi_net_mtu(void); /* of its datagrams */
/* Datagrams of a run (driver/suci_udp.h), now and from now on. */
uint64_t lmpi_net_run(void);
void lmpi_net_run_to(uint64_t datagrams);
/* Packets between two acks. */
uint64_t lmpi_net_ack(void);
void lmpi_net_ack_to(uint64_t packets);
/* The address of the socket, as a number; 0: there is none, or it is of IPv6. */
uint32_t lmpi_net_ipv4(void);
/* The processes are known: build endpoint and lanes, connect to the relays
 * (waits for them).  0 or an error class (said). */
struct lmpi_relay {
	struct suci_addr at;
	uint32_t ipv4; /* by which relays call it */
	uint64_t token;
	uint32_t base; /* the relay's label of world rank 0 */
	bool placed;   /* LIBMPI_PLACES says where it is */
};
/* server_ipv4: whom rank 0 joined the job at.  Where that is one of the relays, they are the own
 * cluster's; else they are those of other clusters, reached over the wide-area network, as all
 * that are placed. */
int lmpi_net_start(const struct lmpi_relay *relay, uint32_t nrelays, uint32_t server_ipv4);
int lmpi_net_connect_relays(void);
void lmpi_net_survive(void);
bool lmpi_net_is_open(void);
/* There is a path to that process, or will be; false: the job fails. */
bool lmpi_net_reach(uint32_t world);
/* Relays lead from here to other clusters of the job. */
bool lmpi_net_has_relays(void);
/* There are processes from now on that were not known at start-up.  0 or -errno. */
int lmpi_net_more(void);
/* Asked of a process of another job that is gone; NULL: nobody cares. */
extern bool (*lmpi_net_wanted)(uint32_t world);
bool lmpi_net_poll(uint64_t now_ns);
/* Close the path to that process. */
void lmpi_net_shun(uint32_t world);
bool lmpi_net_in_use(void);
void lmpi_net_kick(void);
void lmpi_net_flush(void);
/* Since when something waits for credit of its receiver, the one that ran out last; 0: nothing. */
uint64_t lmpi_net_short_since_ns(void);
bool lmpi_net_drained(void);
int lmpi_net_fd(short *events);
uint64_t lmpi_net_expiry_ns(void);
/* While the engine waits: is each relay alive?  since_ns: when waiting began. */
void lmpi_net_watch(uint64_t since_ns, uint64_t now_ns);
/* Tell the relays, and with ABORT the processes that are reached without one: the job is over
 * (ABORT), or this process has finished (LEAVE); tries for at most so long. */
void lmpi_net_tell_abort(const char *why, uint64_t limit_ns);
void lmpi_net_tell_leave(uint64_t limit_ns);
/* A note of a kind of its own for relay i; false: not now.  The label of world rank 0 there. */
bool lmpi_net_tell_relay(uint32_t i, const void *note, size_t len);
/* The lane to that process: the next segment's number, the first one that the process is not known
 * to have, bytes of one.  False: there is none. */
bool lmpi_net_lane_at(uint32_t world, uint32_t *next, uint32_t *acked, uint32_t *mss);
uint32_t lmpi_net_relay_base(uint32_t i);
void lmpi_net_close(void);
void lmpi_net_print_stats(void);
void lmpi_net_print_paths(void); /* those that are up */
/* Counters of the endpoint, of its lanes and of its socket; NULL while there are none. */
enum lmpi_net_counts { LMPI_NET_SUCI, LMPI_NET_LANES, LMPI_NET_UDP };
const void *lmpi_net_counters(enum lmpi_net_counts of);

/* --- tcp.c */
struct lmpi_tcp_conf {
	int fd;		  /* non-blocking; the transport's from now on */
	uint32_t host;	  /* host rank of the peer; UINT32_MAX: our switch */
	const char *name; /* for messages */
};
/* For a socket of another MPI's host, when it has been read empty: acknowledge at once.  Such a
 * host may write header and payload apart; its kernel holds the payload back until the header is
 * acknowledged, which ours does some 40 ms later.  The kernel falls back by itself: each time. */
void lmpi_tcp_quick_ack(int fd);
/* Channels, by the index that peer->at names.  0 or an error class (said). */
int lmpi_tcp_start(const struct lmpi_tcp_conf *conf, uint32_t n);
bool lmpi_tcp_in_use(void);
int lmpi_tcp_fd(void); /* readable when there is news; -1 */
bool lmpi_tcp_poll(void);
/* This process waits since then.  With IMPI_SILENCE_S the job fails when a channel has been
 * silent for as long in one wait: the other MPI's daemon may keep a dead rank's connection. */
void lmpi_tcp_watch(uint64_t since_ns, uint64_t now_ns);
bool lmpi_tcp_drained(void);
/* The job is over for this process: FINI on every channel once nothing is under way,
 * and the FINI of every peer (IMPI reference 8.1).  Progresses meanwhile. */
void lmpi_tcp_finish(void);
void lmpi_tcp_print_stats(void);
void lmpi_tcp_close(void);

/* --- tcp_switch.c */
struct lmpi_switch_conf {
	uint32_t nhosts;			 /* of the job */
	const int *host_fd;			 /* [nhosts] channels, -1: none; taken over */
	const char (*host_name)[LMPI_HOST_NAME]; /* [nhosts] */
	uint32_t nlocal, first_rank; /* my host's processes: world ranks from first_rank on */
	const int *local_fd;	     /* [nlocal], taken over */
	uint32_t nprocs;	     /* of the job */
	const uint8_t (*id)[24];     /* [nprocs] process ids by world rank */
	const uint32_t *host_of;     /* [nprocs] */
	uint32_t datalen, hiwater;
};
/* Start the thread that carries packets between the two sides.  It ends by itself when
 * all channels and all processes have finished.  0 or an error class (said). */
int lmpi_switch_start(const struct lmpi_switch_conf *conf);
/* Wait for that. */
void lmpi_switch_join(void);

#endif
