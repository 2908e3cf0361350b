/* SPDX-License-Identifier: BSD-2-Clause */
/* relayset_internal.h - state of a set, shared by its files:
 *   relayset.c   the list of relays, how they go and come, turns
 *   deaths.c     what relays are told, and tell, of processes that have failed
 *   weights.c    which relay carries what: members and weights of groups */
#ifndef RELAYSET_INTERNAL_H
#define RELAYSET_INTERNAL_H

#include "canary.h"

#include "relayproto/silence.h"
#include "relayset/relayset.h"

struct relay {
	struct relayset_relay conf;
	char name[RELAYSET_NAME_MAX];
	uint32_t path;
	uint32_t mtu; /* UDP payload its trunks take; 0 unknown */
	bool up;
	bool spoke;			   /* weight is its own word, not another relay's */
	bool untold;			   /* of deaths, all that there are */
	bool small_said;		   /* its datagrams are too small, and the owner knows */
	uint32_t weight;		   /* its share; 0: it drains */
	uint32_t ways, lit;		   /* clients it has a way to, it has light to */
	uint32_t ways_number, list_number; /* of the notes that said so last */
	struct relay_silence silence;
	uint64_t retry_ns; /* not up: try again then */
	uint64_t pause_ns; /* and after that again */
	uint64_t up_ns;	   /* since when */
	uint32_t ups, downs;
	char why[96]; /* why it is not up */
};

/* Lanes to processes of one client that one relay is named for. */
struct group {
	uint32_t id; /* lib/suci's */
	uint32_t client, relay;
};

struct relayset {
	struct relayset_conf conf;
	struct suci *ep;
	struct suci_lanes *lanes;
	struct relay *relay; /* [relays_max] */
	struct group *group; /* [groups_max] */
	uint32_t nrelays, ngroups;
	uint8_t policy[RELAY_LIST_POLICIES]; /* towards each client; enum relay_policy */
	uint32_t own;			     /* the relay that owns this process; NONE: unknown */
	uint32_t resend;		     /* clients whose groups send again at the next turn */
	uint32_t mss_given;		     /* largest mss of a relayed lane */
	uint32_t looks;
	bool unsettled; /* members or weights of groups must change */
	bool dirty;	/* something was handed to the endpoint */
	bool connected, closing;
	bool survives, untold;		     /* untold: a relay is */
	struct relayset_survivors survivors; /* if it survives */
	uint64_t none_ns;		     /* so long there has been no relay */
	uint64_t look_ns, looked_ns;	     /* after the relays: next and last time */
};

/* The weight that relay i should have in g, or: */
#define NOT_A_MEMBER (-1)
#define DRAINS	     (-2) /* weight 0, and no acks of their own */
int relayset_weight(const struct relayset *rs, const struct group *g, uint32_t i);
void relayset_settle(struct relayset *rs, uint64_t now_ns);

/* --- deaths.c */
/* A relay is up: it knows of no death. */
void relayset_meet_relay(struct relayset *rs, uint32_t i, uint64_t now_ns);
void relayset_tell_deaths(struct relayset *rs, uint64_t now_ns);

static inline bool
relay_drains(const struct relay *r)
{
	return r->weight == 0;
}

#endif
