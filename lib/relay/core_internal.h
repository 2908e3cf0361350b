/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of the forwarding core; shared by core*.c only. */
#ifndef RELAY_CORE_INTERNAL_H
#define RELAY_CORE_INTERNAL_H

#include "relay/core.h"

#include "base/assert.h"
#include "base/clock.h"

#define NONE	    UINT32_MAX
#define COOKIE_NONE UINT64_MAX /* a segment without payload: no buffer is held */
/* Above a cookie, of which the two highest bits are free: a segment of a door over a trunk, in the
 * first or the second era of its path (struct path, way). */
#define COOKIE_BITS	    62u
#define COOKIE_DOOR(second) ((uint64_t)((second) ? 2 : 1) << COOKIE_BITS)
#define LINGER_NS	    (2 * BASE_S_NS) /* a path whose job is over is closed after that */
#define IDS_OFF		    8u		    /* pk_src and pk_dest in an IMPI packet header */
#define IDS_LEN		    (2u * RELAY_PROC_ID_LEN)
_Static_assert(SUCI_LANE_HDR + SUCI_FIRST_EXT + IDS_OFF + IDS_LEN == RELAY_WRITES_MAX,
	       "labels in the header, and what rewrite_ids() writes");
#define TEXT_IDLE     "idle" /* a trunk nobody uses makes room for another */
#define NO_GATEWAY    0xffu
#define UNTOLD_MAX    8u	       /* ends of jobs kept per trunk */
#define UNTOLD_NS     (60 * BASE_S_NS) /* and for how long */
#define FLAP_NS	      (10 * BASE_S_NS) /* a trunk that lives shorter flaps */
#define HOLD_NS	      (5 * BASE_S_NS)  /* longest pause of one that does */
#define PROC_AGAIN_NS BASE_S_NS	       /* a process that is not reached is tried again */
#define STRAY_NS      BASE_MS_NS       /* strays that found no room try again */

enum proc_flag {
	PROC_LOCAL = 1,	  /* of this cluster */
	PROC_FOREIGN = 2, /* not reached by Suci */
	PROC_OWNED = 4,	  /* local, and remote relays send its segments here */
	PROC_LEFT = 8,	  /* local, finished normally */
	PROC_WANTED = 16, /* local, to be connected to by the next tick */
	PROC_NEEDED = 32, /* local, and somebody has sent to it */
	PROC_TELL_RELAYS = 64,
	PROC_TELL_WAYS = 128, /* local, to be told by the next tick */
	PROC_TELL_DEAD = 256,
	PROC_TELL_ALL = PROC_TELL_RELAYS | PROC_TELL_WAYS | PROC_TELL_DEAD,
	PROC_DEAD = 512,    /* it has failed, and its job goes on: also PROC_LEFT */
	PROC_SAID = 1024,   /* a relay says so, and no process yet that the job survives that */
	PROC_ABSENT = 2048, /* local, has not come in time, and nothing listens where it was */
};

#define GUESS_SOURCES_LOG 6
#define GUESS_ASKERS_LOG  8
/* core_guess.c: wrong tokens that are not forgiven yet. */
struct guesses {
	uint32_t at; /* in the time in which one is forgiven */
	uint16_t wrong;
};

/* One process of one job.  label = base of the page's job + rank. */
struct proc {
	uint32_t path;	       /* local: the way to it, or NONE */
	uint32_t label_base;   /* local: in its own space */
	uint32_t host;	       /* entry of the job's host table */
	uint64_t token;	       /* local: that it announced */
	struct suci_addr addr; /* local: where it is */
	uint16_t flags;	       /* enum proc_flag */
	uint8_t client;
	uint8_t gateway; /* takes what it sends to foreign processes; or NO_GATEWAY */
	uint8_t global_id[RELAY_PROC_ID_LEN];
	uint8_t private_id[RELAY_PROC_ID_LEN];
	struct guesses guesses; /* from where it is said to be */
};

/* RELAY_LABEL_PAGE processes in a row; slot i of the pool has procs
 * i * RELAY_LABEL_PAGE and following. */
struct page {
	uint32_t job; /* index, NONE: free */
	uint32_t first_rank;
	uint32_t nprocs;
	uint32_t next_free;
};

struct job_host {
	uint32_t client;
	uint32_t first_rank, nprocs;
	uint32_t label_base;
	uint32_t trunk;	 /* NONE: of the own client, foreign, or there are no trunks here */
	uint32_t way;	 /* in the client's group; NONE: a process */
	uint8_t sibling; /* own client: its entry of conf.cluster, or RELAY_LIST_NONE */
	bool process;	 /* with a global address: carries itself, in one job only */
	bool left;	 /* the process took leave */
};

/* One relay of a remote client: a member of the group. */
struct way {
	uint32_t trunk;
	uint32_t label_base;
	uint32_t token;	 /* of the relay's host id in this job */
	uint8_t lost_by; /* 1 + way of the relay that says its processes cannot reach it */
	bool left;	 /* it said that its cluster finished normally */
	bool heard;	 /* RELAYS has come from it for this job */
	uint32_t list_number, list_ups; /* the last of those, and in which life of the trunk */
};

/* The group of a job towards one remote client that has relays. */
struct group {
	uint8_t policy; /* enum relay_policy */
	uint8_t n, turn;
	bool relays;	  /* the client has some in the table */
	bool was_up;	  /* there has been a way */
	bool dead;	  /* out of reach for good, in a job that goes on */
	uint64_t lost_ns; /* since when there is none here nor elsewhere; NEVER: there is */
	uint32_t last;	  /* trunk that went down last */
	uint32_t stray, stray_tail, nstrays;
	struct way way[RELAY_GROUP_MAX];
};

struct job {
	bool used;
	bool tell, state; /* processes are to be told; ops->job_state is to be called */
	bool left;	  /* as told */
	bool tolerant;	  /* it survives deaths: a process of it said so */
	bool sought;	  /* open_until_ns has come: who is not here is looked for */
	uint32_t id, token, label_base;
	uint32_t my_client, nclients;
	uint32_t nworld, nhosts, nlocal, first_local;
	uint32_t ways, elsewhere; /* bit per client */
	uint32_t lit;		  /* bit per client that is reached by light */
	uint32_t resend;	  /* to be told with the next WAYS */
	uint32_t lost;		  /* bit per sibling that processes say they cannot reach */
	uint32_t gateway_base;	  /* as label_base, in the spaces of the gateways */
	uint64_t gateways;	  /* bit per gateway it uses */
	uint32_t wanted;	  /* local processes with PROC_WANTED */
	uint64_t open_at_ns;	  /* when to open paths to them */
	uint64_t open_until_ns;	  /* and how long to try */
	uint64_t hello_token;	  /* whose lower half is token */
	uint64_t since_ns;
	uint64_t rx_segments, rx_bytes;
	struct guesses guesses;	 /* from elsewhere */
	struct job_host *host;	 /* [hosts_max] */
	struct group *group;	 /* [RELAY_CLIENTS_MAX] */
	uint32_t *trunk_clients; /* [trunks_max]: clients this trunk may speak for */
};

/* A segment in custody that has no path any more. */
struct stray {
	struct suci_segment seg; /* labels are those of the job here */
	uint32_t dst_rank, src_rank;
	uint32_t next;
};

struct trunk {
	bool used, up;
	uint8_t lights; /* slots of light to the same relay, in any phase but DARK */
	uint8_t lit;	/* bit each: those that are lit */
	struct suci_addr addr;
	uint32_t path;	/* NONE while not even connecting */
	uint32_t users; /* jobs */
	uint64_t retry_ns;
	uint64_t until_ns; /* give up connecting */
	uint64_t up_ns;
	uint64_t usable_ns; /* flapped: a standby until then */
	uint64_t rate_ns;   /* when the rate was looked up */
	uint32_t rate;	    /* bytes per ms; 0: not known */
	uint8_t weight;	    /* its relay's own share, RELAY_WEIGHT_MAX until it says so */
	uint8_t flaps;
	bool tell;	      /* RELAYS, by the next tick */
	uint32_t list_number; /* of the last RELAYS from it, whatever the job */
	uint32_t ups;
	char why[64]; /* it went down */
	/* Hello to open with: a process with a global address wants to see its own
	 * token and label, a relay takes zeros. */
	uint64_t hello_token;
	uint32_t hello_label;
	uint32_t nuntold; /* of its UNTOLD_MAX in relay_core.untold */
	/* Doors: tree of its labels, EXPORTs over it, those of them its relay
	 * asked for, clusters it is of. */
	uint32_t door_root, exports, nexports, nasked, nclusters;
	/* When ASKs that came over it, and that went, are over at their rate. */
	uint64_t ask_ns, asked_ns;
	struct guesses guesses; /* of tokens of doors */
};

/* Of a tree from labels to entries (door_internal.h): nodes, at the last level entries. */
#define DOOR_SPACE_BITS 18u
struct door_node {
	uint32_t child[64];
	uint32_t used;
	uint32_t next_free;
};

struct door;
struct door_hold;
struct door_cluster;
/* door_internal.h */
struct doors {
	struct door *door;	      /* [doors_max] */
	uint64_t *map;		      /* a bit per place, taken */
	uint32_t *bucket;	      /* [doors_max / 2 + 1]: IMPORTs by cluster and label there */
	struct door_node *node;	      /* [nodes_max] */
	struct door_hold *hold;	      /* [holds_max] */
	struct base_ichain *pair;     /* [holds_max / 2 + 1]: holds by import and path */
	struct door_cluster *cluster; /* [trunks_max] */
	uint32_t places_free, next;   /* where to look first */
	uint32_t nodes_max, nodes_free, free_node;
	uint32_t nholds, free_hold;
	uint32_t nown, nimports, nexports, nclusters, npaths;
	/* Places, and nodes, kept for what has been offered and is not answered yet: else who is
	 * asked would know a door that nobody can answer to. */
	uint32_t reserved;
	uint16_t kept[1u << GUESS_ASKERS_LOG]; /* of them, by who asks which cluster */
	uint32_t nuntold;		       /* OWN doors whose ADDRESS found no room */
	/* Holds.  What is to be said waits for none of what is to be asked, which may be much. */
	struct door_queue {
		uint32_t head, tail;
	} says, asks;
	/* Entries to be freed, in that order; the first that is still to be told. */
	uint32_t dying_head, dying_tail, dying_tell;
	uint32_t ndying;
	uint32_t deaths;			      /* so many began to die; wraps */
	struct guesses guesses;			      /* by those that open trunks */
	struct guesses asker[1u << GUESS_ASKERS_LOG]; /* of ours, by address and cluster asked */
};

/* The end of a job that could not be told over a trunk: it still connects, or is
 * down.  Told once it is up. */
struct untold {
	bool used;
	uint64_t until_ns;
	struct relay_note note;
};

/* The way to conf.gateway[i]. */
struct gateway {
	bool up;
	uint32_t path;	/* NONE while not even connecting */
	uint32_t users; /* jobs */
	uint64_t retry_ns;
	uint64_t until_ns; /* give up connecting */
};

/* A slot of light (relay/core.h, Light). */
struct light {
	uint8_t phase;	   /* enum base_lightpath */
	bool told;	   /* UP, since it was ordered */
	uint8_t nudges;	   /* OPENING: how often it was said again */
	uint32_t path;	   /* NONE: none yet */
	uint32_t peer;	   /* unless DARK: trunk to the same relay, kept in its place */
	uint64_t retry_ns; /* OPENING */
	uint64_t until_ns; /* all but LIT: end of the phase */
	uint64_t ordered_ns;
	uint64_t opened_ns, drained_ns; /* how long it took */
	struct relay_light to;
};

enum exit_kind { EXIT_PROC, EXIT_TRUNK, EXIT_GATEWAY };

/* Where the segment before went: the next one of a path mostly goes there, too. */
struct recent {
	uint32_t dst_label, src_label;
	uint32_t generation; /* holds while this is relay_core's; 0: never */
	uint32_t dst_rank, src_rank;
	uint32_t out, out_base; /* the only way that is to be taken now, or NONE */
	uint8_t exit;		/* enum exit_kind */
	struct job *job;	/* NULL: of a door, and the ranks are the labels there */
	struct proc *dst, *src;
};

struct path {
	uint8_t kind; /* enum relay_path_kind */
	bool up;
	uint32_t job;	/* PROC: index, NONE once the job is gone */
	uint32_t rank;	/* PROC */
	uint32_t trunk; /* TRUNK; GATEWAY, LIGHT: index of it */
	struct suci_addr peer;
	uint32_t blocked;  /* the way out that last had no room for what came in here */
	uint64_t close_ns; /* BASE_NEVER_NS unless lingering */
	struct recent recent;
	uint64_t rx_segments, rx_bytes, rx_taken, rx_dropped, rx_refused;
	uint64_t tx_segments, tx_bytes, tx_acked, tx_abandoned;
	uint32_t lost_number[RELAY_GROUP_MAX]; /* PROC: of its last LOST about each sibling */
	uint32_t doors, holds, ndoors, nholds; /* DOOR: its OWN entries, its holds */
	/* TRUNK: what doors have in custody here, by eras, of which there are two at a time.  Of
	 * deaths of doors: how many there had been when the era before this one ended; up to
	 * which one nothing is on its way any more. */
	uint32_t way[2], ended, clear;
	bool second; /* the era is the second of the two */
};

struct relay_core {
	struct relay_core_conf conf;
	struct suci *ep;
	uint64_t now_ns; /* latest time anybody told us */
	uint64_t expiry_ns;
	uint64_t held; /* in paths and strays */
	uint64_t last_seg_ns;
	uint64_t half_ns; /* our weight, on its way to 0, is halved; BASE_NEVER_NS: it is not */
	uint32_t nstrays, free_stray;
	uint32_t nlit;	    /* slots that are lit */
	bool kept;	    /* the segment that is released next has become a stray */
	bool leaving;	    /* relay_core_leave() */
	uint32_t free_page; /* list head */
	uint32_t pages_free, pages_max;
	uint32_t generation; /* since anything but segments came or went */
	struct relay_counters n;
	void (*watch)(void *user, const struct relay_seen *s);
	void *watch_user;
	struct guesses source[1u << GUESS_SOURCES_LOG]; /* by address, over all jobs */
	struct gateway gateway[RELAY_RELAYS_MAX];
	struct light light[RELAY_LIGHTS_MAX];
	uint32_t *map;		 /* [primaries_max][RELAY_LABEL_PAGES_MAX]: page slot or NONE */
	struct page *page;	 /* [pages_max] */
	struct proc *proc;	 /* [pages_max * RELAY_LABEL_PAGE] */
	struct job *job;	 /* [jobs_max] */
	struct job_host *host;	 /* [jobs_max * hosts_max] */
	struct group *group;	 /* [jobs_max * RELAY_CLIENTS_MAX] */
	struct stray *stray;	 /* [strays_max] */
	uint32_t *trunk_clients; /* [jobs_max * trunks_max] */
	struct trunk *trunk;	 /* [trunks_max] */
	struct untold *untold;	 /* [trunks_max * UNTOLD_MAX] */
	struct path *path;	 /* [paths_max] */
	struct doors doors;
};

/* Where a label's page is kept; NULL if no relay of this cluster owns it. */
static inline uint32_t *
map_slot(const struct relay_core *c, uint32_t label)
{
	uint32_t primary = label >> 24, index = (label & 0xffffffu) / RELAY_LABEL_PAGE;
	if (primary == 0 || primary > c->conf.limits.primaries_max ||
	    index >= RELAY_LABEL_PAGES_MAX)
		return NULL;
	return &c->map[(primary - 1) * RELAY_LABEL_PAGES_MAX + index];
}

/* The process a label names: NULL, or it and its job and rank. */
static inline struct proc *
find_proc(const struct relay_core *c, uint32_t label, uint32_t *job, uint32_t *rank)
{
	const uint32_t *slot = map_slot(c, label);
	if (!slot || *slot == NONE)
		return NULL;
	const struct page *pg = &c->page[*slot];
	uint32_t i = label % RELAY_LABEL_PAGE;
	if (i >= pg->nprocs)
		return NULL;
	*job = pg->job;
	*rank = pg->first_rank + i;
	return &c->proc[*slot * RELAY_LABEL_PAGE + i];
}

static inline struct proc *
job_proc(const struct relay_core *c, const struct job *j, uint32_t rank)
{
	uint32_t job, r;
	struct proc *p = find_proc(c, j->label_base + rank, &job, &r);
	BASE_ASSERT(p && r == rank);
	return p;
}

static inline bool
uses_gateway(const struct job *j, uint32_t g)
{
	return (j->gateways >> g & 1) != 0;
}

static inline void
see_time(struct relay_core *c, uint64_t now_ns)
{
	if (now_ns > c->now_ns)
		c->now_ns = now_ns;
}

static inline void
wake_at(struct relay_core *c, uint64_t at_ns)
{
	c->expiry_ns = base_min_ns(c->expiry_ns, at_ns);
}

/* Whatever decides where segments go may have changed: what was looked up before says nothing any
 * more.  All that is called from outside and is not about a segment begins with it. */
void relay_new_era(struct relay_core *c);

/* core_forward.c: what was looked up in this generation still holds; NULL, or what does not. */
const char *relay_forward_check(const struct relay_core *c);

/* core_job.c */
struct job *relay_job_by_base(const struct relay_core *c, uint32_t label_base);
/* Tell everybody but the endpoint behind path `from` (NONE: everybody), forget
 * the job, call ops->job_ended. */
/* core_death.c: n processes from first on have failed; the job goes on, and all that live are
 * told.  Again: nothing happens. */
void relay_bury(struct relay_core *c, struct job *j, uint32_t first, uint32_t n);
void relay_bury_client(struct relay_core *c, struct job *j, uint32_t client);
/* For good, now that a trunk to it is down; late: that has not come up for connect_ns. */
bool relay_out_of_reach(const struct relay_core *c, const struct job *j, uint32_t client,
			bool late);
/* Who was reached over that trunk, and is out of reach for good, has failed. */
void relay_bury_lost(struct relay_core *c, struct job *j, uint32_t t, bool late);
/* A process says that the job survives deaths. */
void relay_job_tolerates(struct relay_core *c, struct job *j);
/* That process of ours has not come in time, and its host says that nothing listens there. */
void relay_miss(struct relay_core *c, struct job *j, uint32_t rank);
/* Runs of processes that have failed, from rank at on: the first, and how many; 0: no more. */
uint32_t relay_next_dead(struct relay_core *c, const struct job *j, uint32_t at, bool local,
			 uint32_t *first);
void relay_job_abort(struct relay_core *c, struct job *j, uint32_t from, const char *why);

/* core_group.c */
/* The relays behind this group; NULL: the client has none. */
struct way *relay_group_find(struct group *g, uint32_t trunk);
/* A relay of that client: its trunk becomes a member.  False: there is no room. */
bool relay_group_add(struct relay_core *c, struct job *j, uint32_t client, const struct way *w);
/* A way that a segment may take: over the trunk to that relay, or over light to it. */
struct pick {
	uint32_t way, path;
	bool light;
};
#define TRIED_TRUNK(way) (1ull << (way))
#define TRIED_LIGHT(way) (1ull << (RELAY_GROUP_MAX + (way)))
/* Which way from src to dst; own: that of the relay that carries dst, or NONE; tried: what not
 * to take.  False: none is up. */
bool relay_group_choose(struct relay_core *c, struct group *g, uint32_t own, uint32_t src,
			uint32_t dst, uint64_t tried, struct pick *out);
/* Without light, and with the trunk that start-up named as it should be: nearly always. */
static inline bool
own_trunk_good(const struct relay_core *c, const struct group *g, uint32_t own, uint64_t tried)
{
	if (c->nlit || own == NONE || tried & TRIED_TRUNK(own))
		return false;
	const struct trunk *k = &c->trunk[g->way[own].trunk];
	return k->up && k->weight && !g->way[own].lost_by && c->now_ns >= k->usable_ns;
}

static inline bool
group_pick(struct relay_core *c, struct group *g, uint32_t own, uint32_t src, uint32_t dst,
	   uint64_t tried, struct pick *out)
{
	if (g->policy == RELAY_POLICY_STRIPE || !own_trunk_good(c, g, own, tried))
		return relay_group_choose(c, g, own, src, dst, tried, out);
	out->way = own;
	out->path = c->trunk[g->way[own].trunk].path;
	out->light = false;
	return true;
}
/* Our weight, if it is on its way to 0. */
void relay_group_drain(struct relay_core *c);
/* Has anything changed in which clients the job can reach?  Notes it, for the next tick. */
void relay_group_look(struct relay_core *c, struct job *j);
/* Is the client of the group out of reach for so long that the job is to end? */
bool relay_group_given_up(const struct relay_core *c, const struct job *j, uint32_t client);
/* May the job go on without that client: its relays have said that they finished? */
bool relay_group_left(const struct group *g);
uint32_t relay_group_policy(const struct relay_core *c, const struct group *g);
void relay_group_tick(struct relay_core *c);
/* "client 1", "clients 1, 3" */
void relay_clients_text(uint32_t mask, char *out, size_t room);

/* core_light.c */
/* The slot that is being opened to that address, or NONE. */
uint32_t relay_light_expected(const struct relay_core *c, const struct suci_addr *from);
void relay_light_up(struct relay_core *c, uint32_t path);
/* p: what the path was. */
void relay_light_down(struct relay_core *c, const struct path *p, uint32_t path,
		      enum suci_down why);
/* A segment sent over that path of light has been acknowledged. */
void relay_light_acked(struct relay_core *c, const struct path *p);
/* Of the paths of light to the trunk's relay, of which one is lit, that with the least under
 * way. */
uint32_t relay_light_pick(const struct relay_core *c, const struct trunk *k);
void relay_light_tick(struct relay_core *c);
const char *relay_light_check(const struct relay_core *c);

/* core_stray.c */
/* Path p goes down: keep it for another of the job; false: it is nobody's. */
bool relay_stray_keep(struct relay_core *c, const struct path *p, const struct suci_segment *seg);
/* Send what finds a way with room. */
void relay_stray_send(struct relay_core *c);
/* Give back those of a job that ends. */
void relay_stray_forget(struct relay_core *c, struct job *j);
void relay_stray_forget_client(struct relay_core *c, struct group *g);

/* core_tell.c */
void relay_tell_procs(struct relay_core *c, struct job *j, uint16_t what);
void relay_tell_trunks_relays(struct relay_core *c, const struct job *j);
void relay_tell_tick(struct relay_core *c);
void relay_list_from_trunk(struct relay_core *c, uint32_t t, const void *note, size_t len);
void relay_lost_from_proc(struct relay_core *c, struct path *p, const struct relay_note *n);

/* core_untold.c */
/* Tell it over trunk t when that is up; the oldest makes room. */
void relay_untold_keep(struct relay_core *c, uint32_t t, const struct relay_note *n);
/* Nothing of it may be told any more. */
void relay_untold_forget(struct relay_core *c, uint32_t t);
void relay_untold_tick(struct relay_core *c);

/* core_path.c: the ops */
/* Largest UDP payload that passes all trunks in use. */
uint16_t relay_trunks_mtu(const struct relay_core *c);
int relay_path_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
		      char why[SUCI_TEXT_MAX]);
void relay_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
		   size_t hello_len, bool incoming);
void relay_path_down(void *user, uint32_t path, enum suci_down why, const char *text);
void relay_path_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns);
/* The slot of a trunk to addr, made if need be; NONE if all are in use. */
/* Where the relay or process is that others call so, and how they call who is there; 0: nobody. */
struct suci_addr relay_place_of(const struct relay_core *c, uint32_t ipv4, uint16_t port);
uint32_t relay_name_of(const struct relay_core *c, const struct suci_addr *a);
uint32_t relay_trunk_get(struct relay_core *c, const struct suci_addr *addr);
uint32_t relay_trunk_find(const struct relay_core *c, const struct suci_addr *addr);
/* Its slot is free if nobody needs it. */
void relay_trunk_rest(struct relay_core *c, uint32_t t);
/* trunk is used by the job, for that client; opened by the next tick unless it is up. */
void relay_trunk_use(struct relay_core *c, struct job *j, uint32_t t, uint32_t client);
void relay_trunk_open(struct relay_core *c, uint32_t t);
void relay_gateway_open(struct relay_core *c, uint32_t g);
void relay_proc_open(struct relay_core *c, uint32_t job, uint32_t rank);
/* Have the next tick connect to a local process. */
void relay_proc_want(struct relay_core *c, struct job *j, struct proc *p, uint64_t at_ns);
void relay_proc_unwant(struct job *j, struct proc *p);

static inline bool
same_addr(const struct suci_addr *a, const struct suci_addr *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* core_guess.c.  Guesses that anybody makes; each is forgiven after a sixteenth of a second. */
bool relay_guess_shared(struct relay_core *c, struct guesses *g);
/* core_guess.c.  Has whoever comes from there guessed the token of that process too often?  A
 * guess was wrong. */
bool relay_guess_bound(struct relay_core *c, struct job *j, struct proc *p,
		       const struct suci_addr *from);
void relay_guess_wrong(struct relay_core *c, struct job *j, struct proc *p,
		       const struct suci_addr *from);
/* core_guess.c.  Who asks for doors of that cluster from there: has he an allowance left?  One that
 * guessed wrong lately pays before he is answered, or he would guess many times meanwhile. */
uint32_t relay_guess_asker(const struct suci_addr *from, uint32_t cluster);
bool relay_guess_asks(struct relay_core *c, uint32_t asker, bool *paid);
/* A wrong guess is paid for, anything else is not. */
void relay_guess_answered(struct relay_core *c, uint32_t asker, bool *paid, bool wrong);

#endif
