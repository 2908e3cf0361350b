/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp_internal.h - what the files of libmmp share.
 *
 *      api.c     MP_*: the program's side
 *      start.c   who is in the job: launcher, hosts file, environment
 *      share.c   memory: the area, the page and rings others of the node map
 *      net.c     the Suci endpoint: paths, lanes, peers that come and go
 *      sites.c   ranks of other sites: the relays, and what lib/mmp/away says of the ranks
 *      meeting.c how the sites' processes learn each other's doors
 *      turn.c    the engine's turn, its thread, sleeping and waking
 *      stored.c  settings of the store, and the watch over them
 *      tune.c    MP_tune: measuring them
 *      error.c   what MP_error() says
 *
 * Engine and program meet in the four rings of mmp/slots.h.  Beside them there are three words: the
 * engine sleeps, the program sleeps, a peer is gone. */
#ifndef LIBMMP_INTERNAL_H
#define LIBMMP_INTERNAL_H

#include "mmp.h"

#include "base/clock.h"
#include "door/sites.h"
#include "driver/suci_udp.h"
#include "mmp/away.h"
#include "mmp/lanes.h"
#include "mmp/meet.h"
#include "mmp/pair.h"
#include "mmp/port.h"
#include "tune/store.h"
#include "tune/watch.h"

#include <pthread.h>
#include <stdbool.h>

#define NONE	  UINT32_MAX
#define RANKS_MAX 4096u
#define TEXT_MAX  400
#define WHY_MAX	  120

/* ---- error.c ---- */
/* Set errno and the text; returns -1. */
int mmp_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- start.c ---- */
struct mmp_place {
	struct suci_addr at; /* in its site; with a launcher those of other sites have none */
	uint16_t site;
};
_Static_assert(sizeof(struct mmp_place) == sizeof(struct suci_addr) + 2, "no padding: is hashed");
struct mmp_job {
	uint32_t rank, size;
	uint32_t first, ours; /* with a launcher: the ranks it started */
	uint32_t sites;
	struct mmp_place *place; /* [size]; with a launcher after mmp_job_meet() */
	uint64_t meet_id;	 /* the same in all sites, and hardly in other jobs */
	uint64_t id; /* of our site: the same in all its processes, and hardly in others */
	bool launched;
};
struct mmp_env {
	uint64_t area_bytes, fragment, fragment_near;
	uint64_t start_s, silence_s, relay_s, spin_ns;
	int thread;	      /* 1, 0; -1: as there are CPUs */
	bool share;	      /* memory within a node */
	bool huge;	      /* reserved huge pages, if there are */
	bool by_hand;	      /* the fragment is the environment's */
	uint32_t mtu;	      /* 0: of the interface */
	const char *key_file; /* NULL: nothing is sealed */
	/* Of a job of several sites. */
	const char *relay, *meet, *realm;
};
int mmp_env_read(struct mmp_env *e);
/* LIBMMP_RELAY: one relay, or two of one kind with a comma between; how many, 0: that is none. */
#define MMP_RELAY_WANTED                                                                           \
	"the IP address and port of this site's relay, as 10.0.0.254:7812 or [fd00::fe]:7812, or " \
	"two of one kind with a comma between"
static inline uint32_t
mmp_env_relays(const struct mmp_env *e, struct suci_addr relay[DOOR_CLIENT_SITES])
{
	return door_sites_parse(e->relay ? e->relay : "", relay);
}
int mmp_job_begin(struct mmp_job *j, const struct mmp_env *e, const char *hosts);
/* Our port is known: with a launcher, tell the others and hear theirs. */
int mmp_job_meet(struct mmp_job *j, uint16_t port);
void mmp_job_end(struct mmp_job *j);
static inline bool
mmp_job_same_node(const struct mmp_job *j, uint32_t a, uint32_t b)
{
	const struct mmp_place *x = &j->place[a], *y = &j->place[b];
	return x->site == y->site && x->at.family == y->at.family &&
	       memcmp(x->at.ip, y->at.ip, sizeof x->at.ip) == 0;
}
/* Who a rank is, for people. */
#define MMP_PLACE_TEXT SUCI_ADDR_TEXT_MAX
const char *mmp_job_place(const struct mmp_job *j, uint32_t rank, char out[MMP_PLACE_TEXT]);

/* ---- share.c ---- */
/* The page a process shows the others of its node; then a ring for each of them to us. */
struct mmp_page {
	uint64_t token;
	_Atomic uint32_t asleep; /* the engine is, or is about to be: ring its bell */
};
struct mmp_share {
	int page_fd, area_fd, bell[2];
	uint64_t page_bytes, half; /* of the area, each */
	struct mmp_page *page;
	uint8_t *area;
	uint64_t token;
	bool huge;
};
/* What a peer of the node has to know. */
struct mmp_contact {
	int32_t pid, page_fd, area_fd, bell_fd;
	uint64_t token, page_bytes, half;
};
struct mmp_near {
	struct mmp_pair pair;
	struct mmp_page *page;
	const uint8_t *half;
	uint64_t page_bytes, half_bytes;
	int bell;
};
/* nears: processes of the node but us. */
int mmp_share_make(struct mmp_share *s, const struct mmp_env *env, uint32_t nears);
void mmp_share_free(struct mmp_share *s);
void mmp_share_contact(const struct mmp_share *s, struct mmp_contact *c);
/* Its ring to us is the in-th of ours, ours to it the out-th of its.  NULL, and why. */
struct mmp_near *mmp_near_attach(const struct mmp_share *s, const struct mmp_contact *c,
				 uint32_t in, uint32_t out, char why[WHY_MAX]);
void mmp_near_free(struct mmp_near *n);
/* Behind what was pushed: if it sleeps, wake it (turn.c, sleeping). */
void mmp_near_wake(struct mmp_near *n);

/* ---- net.c ---- */
struct mmp_peer {
	struct suci_addr addr;
	uint32_t path, lane;
	bool is_near, up, over, broken;
	bool elsewhere; /* in another site: its path and lane are those of mmp/away.h */
	uint64_t try_at_ns;
	struct mmp_near *near;
	uint64_t stored; /* fragment of the store; 0: none, or set by hand since */
	uint64_t bare_bps, own_bps;
	char why[WHY_MAX]; /* written before gone */
	_Atomic int gone;  /* engine to program: errno */
};

struct mmp {
	struct mmp_env env;
	struct mmp_job job;
	struct mmp_share share;
	struct mmp_engine *engine;
	struct mmp_port *port;
	void *ring[4], *engine_mem, *port_mem;
	struct mmp_peer *peer;
	uint32_t nears, fars, ups;
	struct mmp_sites *sites; /* NULL: there is one */
	/* net.c */
	struct suci_udp *udp;
	struct suci *ep;
	struct mmp_lanes lanes;
	void *ep_mem, *lanes_mem;
	void *far_mem;
	uint32_t *near_rank;
	uint32_t lanes_max, paths_max;
	bool dirty, closing;
	bool broken; /* some peer is */
	uint64_t now_ns, udp_at_ns;
	/* turn.c */
	bool threaded, thread_runs;
	pthread_t thread;
	_Atomic uint32_t program_sleeps; /* futex */
	_Atomic uint32_t leave;		 /* program to thread: 1: flush and end */
	_Atomic uint32_t deaths;
	uint32_t deaths_seen;
	uint64_t barriers;
	/* stored.c: the program's, but for run, which the engine takes over */
	_Atomic uint32_t run; /* datagrams; 0: the driver's default */
	uint32_t stored_run;  /* of the store; 0: none, or MP_tune found one since */
	uint32_t run_now;     /* the engine's */
	bool watched, watch_stored;
	struct tune_watch watch;
	uint64_t turn_at_ns, turn_pushed, turn_used, looked;
};
extern struct mmp *mmp_g;

int mmp_net_open(struct mmp *m);  /* the socket: our port is known then */
int mmp_net_start(struct mmp *m); /* the endpoint */
/* Open paths that are missing; time of the next try. */
uint64_t mmp_net_connect(struct mmp *m);
bool mmp_net_turn(struct mmp *m);
void mmp_net_down(struct mmp *m, uint32_t peer, int err, const char *why);
void mmp_net_close(struct mmp *m);
extern const struct mmp_engine_ops mmp_net_ops;
/* What the calls of lanes have as their user. */
static inline struct mmp *
mmp_of_lanes(void *user)
{
	return ((struct mmp_lanes *)user)->user;
}

/* ---- sites.c ---- */
struct mmp_sites {
	struct mmp_away *away;
	void *away_mem;
	char why[WHY_MAX]; /* what the start waits for */
	bool failed;	   /* for good: why */
	/* meeting.c */
	struct mmp_meet *meet; /* rank 0 */
	void *meet_mem;
	struct mmp_card *card; /* [size], if known */
	bool known;
	uint8_t *table;	       /* what rank 0 says to all */
	struct mmp_talk *talk; /* by lane */
	uint32_t lane;	       /* rank 0's to us; NONE */
	uint64_t read_ns;      /* LIBMMP_MEET, again */
	bool told;	       /* rank 0: LIBMMP_MEET has it */
};
int mmp_sites_open(struct mmp *m); /* after the endpoint */
void mmp_sites_turn(struct mmp *m);
uint64_t mmp_sites_expiry_ns(const struct mmp *m);
void mmp_sites_close(struct mmp *m);
/* Is that the path to a relay of ours?  Then its events are these. */
static inline bool
mmp_sites_has(const struct mmp *m, uint32_t path)
{
	return m->sites && mmp_away_at(m->sites->away, path) != NONE;
}
void mmp_sites_path_up(struct mmp *m, uint32_t path, const void *hello, size_t len);
void mmp_sites_path_down(struct mmp *m, uint32_t path, enum suci_down why, const char *text);
/* A segment for labels that no lane has. */
enum suci_verdict mmp_sites_came(struct mmp *m, uint32_t path, uint32_t dst, uint32_t src);
/* The cards are known. */
void mmp_sites_know(struct mmp *m);
/* This cannot begin. */
void mmp_sites_fail(struct mmp *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- meeting.c ---- */
int mmp_meeting_begin(struct mmp *m);
void mmp_meeting_end(struct mmp *m);
/* Our door is there. */
void mmp_meeting_opened(struct mmp *m);
/* LIBMMP_MEET is to be read, as long as rank 0 is not known; time of the next try. */
uint64_t mmp_meeting_look(struct mmp *m);
/* Over a door, or on the direct path to rank 0: say who we are. */
void mmp_meeting_at_door(struct mmp *m, uint32_t label);
void mmp_meeting_at_path(struct mmp *m, uint32_t path);
/* The way to rank 0 is gone; it may be tried anew. */
void mmp_meeting_lost(struct mmp *m);
/* We are rank 0, all have met, and somebody has not heard so: he said again who he is. */
bool mmp_meeting_again(struct mmp *m, uint32_t lane, const uint8_t *in, size_t len);
/* Who said it there, by that label, has gone or begins anew. */
void mmp_meeting_left(struct mmp *m, uint32_t site, uint32_t label);
/* Somebody says the first word to rank 0. */
enum suci_verdict mmp_meeting_came(struct mmp *m, uint32_t path, uint32_t dst, uint32_t src);
/* Blocks of its lanes. */
bool mmp_meeting_has(const struct mmp *m, uint32_t lane);
void *mmp_meeting_block(struct mmp *m, uint32_t lane, uint64_t bytes);
void mmp_meeting_data(struct mmp *m, uint32_t lane, uint64_t off, const uint8_t *data, size_t len);
void mmp_meeting_block_end(struct mmp *m, uint32_t lane);
void mmp_meeting_lane_down(struct mmp *m, uint32_t lane);
/* What the start waits for. */
const char *mmp_meeting_waits(const struct mmp *m, char out[WHY_MAX]);

/* ---- api.c ---- */
/* The request is over, and so is its handle. */
void mmp_request_forget(uint32_t i);
/* Set errno and the text: that peer is gone.  -1. */
int mmp_gone(uint32_t peer);

/* ---- stored.c ---- */
/* The path's row; false: it has none (we ourselves, no interface). */
bool mmp_stored_key(const struct mmp *m, uint32_t peer, struct tune_key *k);
/* All peers are there: what the store says of the ways to them is used, and watched. */
void mmp_stored_read(struct mmp *m);
/* How many bytes a full fragment to that peer has if nobody says anything. */
uint64_t mmp_default_fragment(const struct mmp *m, uint32_t peer);
void mmp_watch_look(struct mmp *m);
/* Bytes between two looks at the clock. */
#define MMP_WATCH_LOOK 16384u
static inline void
mmp_watch(struct mmp *m)
{
	if (m->watched && mmp_port_pushed(m->port) - m->looked >= MMP_WATCH_LOOK)
		mmp_watch_look(m);
}

/* ---- turn.c ---- */
bool mmp_turn(struct mmp *m); /* the engine's */
/* Nothing came: sleep until something does. */
void mmp_engine_sleep(struct mmp *m, uint64_t until_ns);
int mmp_thread_start(struct mmp *m);
void mmp_thread_stop(struct mmp *m);
/* One step of a program that waits; idle_since is 0 in the beginning. */
void mmp_wait_step(struct mmp *m, uint64_t *idle_since);
/* The program's turn, and in inline mode the engine's. */
bool mmp_progress(struct mmp *m);

#endif
