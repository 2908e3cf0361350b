/* net_private.h - state of the Suci transport, shared by its files:
 *   net.c       packets and lanes, turns
 *   net_ops.c   what Suci tells us
 *   net_setup.c socket, endpoint, closing
 *   relays.c    the relays of my cluster and the groups of lanes over them */
#ifndef LMPI_NET_PRIVATE_H
#define LMPI_NET_PRIVATE_H

#include "away.h"
#include "transport.h"

#include "driver/suci_udp.h"
#include "relayproto/hello.h"
#include "relayproto/note.h"
#include "suci/lane.h"

/* What a path leads to. */
/* Segments received before their block's first one, over all lanes: see relay_window().
 * Buffers that never held anything cost no memory. */
#define LMPI_HELD_MAX 4096u

#define USE_NONE	UINT32_MAX
#define USE_RELAY	0x80000000u		 /* | index of the relay; else a world rank */
#define USE_OTHER_RELAY (USE_RELAY | 0x7ffffffe) /* one that came to us unasked */

/* Relays that are known only after start-up. */
#define LMPI_RELAYS_MORE 32u

/* A relay of my cluster: one of its worker shards. */
struct relay_state {
	struct lmpi_relay conf;
	struct suci_addr addr;
	char name[32]; /* ip:port */
	uint32_t path;
	uint32_t mtu; /* UDP payload its trunks take; 0 unknown */
	bool up;
	bool spoke;			   /* weight is its own word, not another relay's */
	bool small_said;		   /* its datagrams are too small, and the user knows */
	uint32_t weight;		   /* its share; 0: it drains */
	uint32_t ways;			   /* clients it has a way to */
	uint32_t ways_number, list_number; /* of the notes that said so last, suci_note_is_news() */
	uint64_t heard_ns;		   /* when something came from it */
	uint64_t deaf_ns;		   /* how long we have listened since then */
	uint64_t ping_ns;		   /* last time we asked whether it is there */
	uint64_t retry_ns;		   /* not up: try again then */
	uint64_t pause_ns;		   /* and after that again */
	uint64_t up_ns;			   /* since when */
	uint32_t ups, downs;
	char why[96]; /* why it is not up */
};

/* Lanes to processes of one client that one relay is named for. */
struct relay_group {
	uint32_t id; /* lib/suci's */
	uint32_t client, relay;
};

struct lmpi_net_state {
	struct suci_udp *udp;
	struct suci *ep;
	struct suci_lanes *lanes;
	void *ep_mem, *lanes_mem;
	struct relay_state *relay; /* [relays_max] */
	uint32_t nrelays, relays_max;
	bool relays_outside;		  /* they are other clusters: the own one has none */
	char public_key[2 * SEAL_DH + 1]; /* of our identity; "": none */
	bool sealing;			  /* towards other clusters, with keys of LIBMPI_KEY_FILE */
	struct relay_group *group;	  /* [groups_max] */
	uint32_t ngroups, groups_max;
	uint8_t policy[RELAY_LIST_POLICIES]; /* towards each client; enum relay_policy */
	uint32_t own;		     /* the relay that owns this process; USE_NONE: unknown */
	uint32_t resend;	     /* clients whose groups send again at the next turn */
	uint32_t mss_given;	     /* largest mss of a relayed lane */
	bool unsettled;		     /* members or weights of groups must change */
	bool connected;		     /* start-up is over */
	bool partition_said;	     /* by the user; relays' word does not count */
	uint64_t partition_ns;	     /* how long without any relay, before the job ends */
	uint64_t none_ns;	     /* so long there has been none */
	uint64_t silence_ns;	     /* of a relay, before it counts as gone; 0: never */
	uint64_t look_ns, looked_ns; /* after the relays: next and last time */
	uint32_t paths_max, lanes_max;
	uint32_t *path_use;	   /* [paths_max] */
	uint32_t *lane_rank;	   /* [lanes_max] */
	bool dirty;		   /* handed over since the last send */
	uint64_t rx_mark, tx_mark; /* datagrams, at the last flush */
	struct lmpi_away away;
};
extern struct lmpi_net_state lmpi_net;

extern const struct suci_lane_ops lmpi_net_ops;
/* Open the lane pair to peer unless it is there, over path, or to a remote process over the
 * relays.  false: job failing. */
bool lmpi_net_open_lane(struct lmpi_peer *peer, uint32_t path);

/* --- relays.c */
/* Those that start-up named.  -1: no memory. */
int lmpi_relays_start(const struct lmpi_relay *relay, uint32_t n);
/* Open a path to relay i.  0 or enum suci_err. */
int lmpi_relays_open(uint32_t i, uint64_t now_ns);
bool lmpi_relays_any_up(void);
/* The group for lanes to a remote process; 0: none can be made. */
uint32_t lmpi_relays_group(const struct lmpi_peer *peer);
/* The weight that relay i should have in g, or: */
#define LMPI_NOT_A_MEMBER (-1)
#define LMPI_DRAINS	  (-2) /* weight 0, and no acks of their own */
int lmpi_relays_weight(const struct relay_group *g, uint32_t i);
/* Payload of a segment that all relays take that are up now; 0: none is up. */
uint32_t lmpi_relays_mss(void);
/* A path to or from a relay; false: there is no room for one more relay. */
bool lmpi_relays_path_up(uint32_t path, const struct suci_addr *addr, uint32_t mtu);
void lmpi_relays_path_down(uint32_t i, enum suci_down why, const char *word, const char *text);
/* Notes of the relay at the other end of path. */
void lmpi_relays_told(uint32_t path, const struct relay_list *n);
void lmpi_relays_ways(uint32_t path, uint32_t ways, uint32_t resend);
/* False: it is not up, or takes none now. */
bool lmpi_relays_note(struct relay_state *r, const struct relay_note *n);
/* Once a turn of the loop, outside Suci's callbacks. */
void lmpi_relays_turn(uint64_t now_ns);
void lmpi_relays_print_stats(void);
/* "10.0.0.1:4711" */
void lmpi_net_name(const uint8_t ip[4], uint16_t port, char out[32]);

#endif
