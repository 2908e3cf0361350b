/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors of a relay; shared by door_*.c and what of the core calls them.
 *
 * One table of entries.  An entry's place says its label: index of this relay << DOOR_SPACE_BITS |
 * place, so labels of doors are below those of jobs.  A door with n labels takes n places in a row,
 * the first is its entry, the others are PART.
 *
 *     OWN      a door of a process of this cluster
 *     NAME     a label that an OWN door has by another relay of the cluster, which gave it, or that
 *              it claims (DOOR_CLAIMS)
 *     IMPORT   a door of another cluster, as our processes know it
 *     EXPORT   an OWN door, as one trunk's relay knows it; its label is that relay's
 *     DYING    gone; stays until it is told and late segments are over
 *
 * Over a trunk both labels are the sender's: its IMPORT's as destination, its OWN's as source.  The
 * receiver has for each trunk a tree of four levels of 64 (struct door_node) from such labels to
 * its EXPORT and IMPORT entries.  What is not in the tree was not proved, and does not pass.
 *
 * A door may be at two relays of its cluster, under the label that the first one gave it.  At the
 * second one it takes n places behind its entry, each the NAME of one of its labels: nobody else
 * has such a label there, until its place is free again.  Over a trunk it is as unique as the
 * others.
 *
 * EXPORTs live as long as the trunk's path; who imports asks again when there is another. */
#ifndef RELAY_DOOR_INTERNAL_H
#define RELAY_DOOR_INTERNAL_H

#include "canary.h"
#include "core_internal.h"

#include "base/arena.h"
#include "base/ilist.h"
#include "door/address.h"
#include "relayproto/door.h"

enum door_kind { DOOR_FREE, DOOR_PART, DOOR_OWN, DOOR_IMPORT, DOOR_EXPORT, DOOR_DYING, DOOR_NAME };

enum door_flag {
	DOOR_TELL = 1,	  /* OWN: ADDRESS found no room */
	DOOR_SECOND = 2,  /* OWN, DYING: NAMEs are behind it */
	DOOR_WAITED = 1,  /* DYING: counted as one that waits for trunks */
	DOOR_PROVED = 7,  /* IMPORT: a bit for each relay of its cluster that knows it from us */
	DOOR_OFFERED = 8, /* IMPORT: its relay gave it with an ASK; EXPORT: we gave it */
	DOOR_ASKED = 16,  /* IMPORT: we asked for it; EXPORT: the other relay did */
	DOOR_HOPED = 32,  /* IMPORT: this bit and two above it, as PROVED: asked, not answered */
};

struct door {
	union {
		struct { /* OWN, IMPORT */
			uint64_t realm, token;
		};
		struct { /* EXPORT: in the list of its OWN */
			struct base_ilink of_link;
			uint64_t unused;
		};
		struct { /* DYING */
			uint64_t free_ns;
			uint32_t tell[2]; /* trunks that are to hear, or NONE */
		};
	};
	/* IMPORT, EXPORT: number of the last note that offered it or asked for it: what was said
	 * before that and comes later is old. */
	uint32_t seen;
	union {
		uint32_t died;		 /* DYING: the how manyeth; compared modulo 2^32 */
		struct {		 /* OWN, IMPORT; all counted from 1, 0: none */
			uint8_t with;	 /* OWN: the other relay, of conf.cluster */
			uint8_t use;	 /* IMPORT: relay of its cluster that it goes by */
			uint8_t offerer; /* IMPORT: relay that offered it last */
			bool moved;	 /* IMPORT: it began anew while somebody used it */
		};
	};
	uint32_t here;	/* OWN, IMPORT: its label; EXPORT: of its OWN; DYING: of the note */
	uint32_t there; /* OWN: request, while its ADDRESS is to be said; IMPORT: its label at home;
			   EXPORT: what the trunk's relay calls it; DYING: request; NAME: the label
			 */
	uint32_t at;	/* OWN: path; IMPORT: cluster; EXPORT: trunk; DYING: third to tell;
			   NAME: NONE */
	uint32_t of;	/* OWN: first EXPORT; IMPORT: first hold; EXPORT, NAME: its OWN;
			   DYING: op */
	struct base_ilink link; /* of the path, the cluster, the trunk; DYING: next */
	uint16_t n;
	uint8_t kind;  /* enum door_kind */
	uint8_t flags; /* enum door_flag */
	union {
		struct { /* OWN */
			uint16_t exports, importers_max;
		};
		uint32_t hash_next; /* IMPORT, NAME */
	};
};
_Static_assert(sizeof(struct door) == 56, "with its share of trees and buckets at most 64");

/* TRUNK: no hold at all, but a note that found no room in a trunk. */
enum hold_state { HOLD_WAITS, HOLD_HOLDS, HOLD_REFUSED, HOLD_GONE, HOLD_TRUNK };

/* A process uses an IMPORT.  Nothing of it is known beyond this relay. */
struct door_hold {
	uint32_t import, path;
	uint32_t own; /* label of the door it is offered with, or 0; TRUNK: which */
	uint32_t request;
	uint32_t label, called, offered; /* GONE, TRUNK: of the note */
	uint32_t number;		 /* TRUNK: of the note, from when it was decided */
	struct base_ilink of_import, of_path;
	struct base_ilink of_pair; /* while there are both import and path */
	uint32_t queue_next;
	/* GONE of that relay, while its answer is to come: notes overtake each other, and one that
	 * was said before is none any more. */
	uint32_t gone[DOOR_RELAYS_MAX];
	uint8_t state;			 /* enum hold_state */
	uint8_t ask;			 /* bit per relay of the cluster: to be asked */
	uint8_t wait;			 /* and whose answer is to come */
	uint8_t reserved;		 /* and for which of these a place is kept */
	uint8_t has;			 /* and who granted it to this one */
	uint8_t op;			 /* TRUNK */
	uint16_t turn;			 /* how often it began anew */
	uint16_t asks_made;		 /* counted on by who has its place next */
	uint16_t asked[DOOR_RELAYS_MAX]; /* the how manyeth of them that relay heard last */
	bool asks;			 /* by IMPORT: it keeps the import; by HOLD it does not */
	bool queued, ok;
	bool tell;	/* IMPORTED is still to be said; by HOLD: GONE, and it holds on */
	bool anew;	/* it was said before; what was offered there has another label now */
	bool dropped;	/* once all answers are here */
	bool named;	/* its process knows the label before the answer is here */
	bool unreached; /* a relay that it is to ask has just not been reached */
	bool paid;	/* WAITS: by its asker, as if it were a wrong guess */
	uint16_t asker; /* asks: relay_guess_asker() */
};

/* The relays that addresses name; other relays are another cluster, also if they say the same. */
struct door_cluster {
	bool used;
	uint8_t n;
	struct door_relay relay[DOOR_RELAYS_MAX];
	uint32_t trunk[DOOR_RELAYS_MAX];
	struct base_ichain imports;
	uint32_t nimports;
	uint64_t lost_ns;  /* given up then; BASE_NEVER_NS: a trunk is up */
	uint64_t sweep_ns; /* what its relays offered before, and not since, goes then */
};

/* door_table.c */
size_t relay_door_lay_out(const struct relay_core_limits *l, struct base_arena *a, struct doors *d);
void relay_door_init(struct relay_core *c);
const char *relay_door_check(const struct relay_core *c);
/* n places in a row, the first of them zeroed, of that kind; NONE. */
uint32_t relay_door_take(struct relay_core *c, uint32_t n, enum door_kind kind);
/* An OWN door of those n labels, that it has by another relay: or by this one, as it was before.
 * NONE: no room, or one of them is another's. */
uint32_t relay_door_take_label(struct relay_core *c, uint32_t label, uint32_t n);
void relay_door_free(struct relay_core *c, uint32_t i);
/* To be freed once the note is told over the trunks tell[], and late segments are over.  The entry
 * is in no list any more. */
void relay_door_dying(struct relay_core *c, uint32_t i, const struct relay_door_note *n,
		      const uint32_t tell[DOOR_RELAYS_MAX]);
/* Keep a place for an EXPORT; false: there is none. */
bool relay_door_reserve(struct relay_core *c, uint32_t asker);
uint32_t relay_door_label(const struct relay_core *c, uint32_t i);
/* The entry of that kind that has the label, perhaps not as its first; NONE. */
uint32_t relay_door_at(const struct relay_core *c, uint32_t label, enum door_kind kind);
_Static_assert(DOOR_CLAIMS % (1u << DOOR_SPACE_BITS) == 0 &&
		       DOOR_CLAIMS >> DOOR_SPACE_BITS >= RELAY_GROUP_MAX,
	       "no relay gives a label that is claimed");
/* The relay that gave the label, as conf.self is. */
static inline uint32_t
relay_door_giver(uint32_t label)
{
	return label >> DOOR_SPACE_BITS;
}
/* Labels label .. + n - 1 of the trunk's relay lead to entry i; false: no room, or one leads
 * elsewhere. */
bool relay_door_map(struct relay_core *c, uint32_t *root, uint32_t label, uint32_t n, uint32_t i);
void relay_door_unmap(struct relay_core *c, uint32_t *root, uint32_t label, uint32_t n);
void relay_door_unmap_all(struct relay_core *c, uint32_t *root);
/* By cluster, label there; NONE. */
uint32_t relay_door_imported(const struct relay_core *c, uint32_t cluster, uint32_t there,
			     uint64_t realm, uint64_t token);
void relay_door_hash(struct relay_core *c, uint32_t i, bool in);
/* The record of the address's relays, made if need be; NONE. */
uint32_t relay_door_cluster(struct relay_core *c, const struct door_address *a);
/* Nobody imports from it any more: it is forgotten. */
void relay_door_cluster_rest(struct relay_core *c, uint32_t cluster);

/* door_hold.c */
void relay_door_lay_out_holds(const struct relay_core_limits *l, struct base_arena *a,
			      struct doors *d);
void relay_door_init_holds(struct relay_core *c);
const char *relay_door_check_holds(const struct relay_core *c);
/* import, path: NONE for none. */
uint32_t relay_door_hold(struct relay_core *c, uint32_t import, uint32_t path);
void relay_door_unhold(struct relay_core *c, uint32_t h);
/* Its import or its path is about to be NONE. */
void relay_door_unpair(struct relay_core *c, uint32_t h);
/* The next hold of both, behind that one: NONE, the first; NONE.  An import has as many holds as
 * processes make, a process per_proc_max: neither list is walked for a segment. */
uint32_t relay_door_held(const struct relay_core *c, uint32_t import, uint32_t path,
			 uint32_t after);
/* The OWN door that is offered with it.  NONE: there is none, or it left; its label may be another
 * process's by now. */
uint32_t relay_door_along(const struct relay_core *c, const struct door_hold *h);
/* The request of an ASK to relay r, another one each time: an ANSWER may come twice, and then the
 * place of the hold be another's, of the same import. */
uint32_t relay_door_ask_request(struct relay_core *c, uint32_t h, uint32_t r);
/* The hold that made the request, if it is still there, and has not asked relay r again; NONE. */
uint32_t relay_door_ask_hold(const struct relay_core *c, uint32_t request, uint32_t r);
/* Places kept for the answers of these relays are free. */
void relay_door_unreserve(struct relay_core *c, struct door_hold *x, uint8_t relays);

/* door_import.c */
/* What found no room. */
void relay_door_tell_addresses(struct relay_core *c);
uint32_t relay_door_import_new(struct relay_core *c, uint32_t cluster,
			       const struct door_address *a);
/* It is to be asked for, or its process to be told, by the tick. */
void relay_door_queue(struct relay_core *c, uint32_t h);
/* The IMPORT is no more: its processes are told, with its last words; and the trunks, if drop and
 * we asked for it.  said: NULL, or GONE with its words, as long as there is room at once. */
void relay_door_import_gone(struct relay_core *c, uint32_t i, bool drop,
			    const struct relay_door_note *said);
/* If nobody asks for it: what of it can go goes. */
void relay_door_import_rest(struct relay_core *c, uint32_t i);
/* The process of that hold uses it no more. */
void relay_door_drop_hold(struct relay_core *c, uint32_t h);
/* Its process hears REFUSED, or GONE; others may have the import. */
void relay_door_refuse_hold(struct relay_core *c, uint32_t h);
void relay_door_from_proc(struct relay_core *c, uint32_t path, const void *note, size_t len);
/* words: the last ones of its process, or "". */
void relay_door_path_down(struct relay_core *c, const struct path *p, uint32_t path,
			  const char *words, bool ended);
/* False: no room now. */
bool relay_door_send(struct relay_core *c, uint32_t path, const struct relay_door_note *n);
/* With that number (suci_note_number()). */
bool relay_door_send_as(struct relay_core *c, uint32_t path, uint32_t number,
			const struct relay_door_note *n);
/* The process is called by the IMPORT, and holds it by HOLD.  NONE: no room. */
uint32_t relay_door_hold_caller(struct relay_core *c, uint32_t import, uint32_t path);
/* A hold that is none: it keeps what is to be said until there is room.  NULL: none left. */
struct door_hold *relay_door_keep(struct relay_core *c, uint32_t path);
/* Its address, as others get it. */
void relay_door_address(const struct relay_core *c, uint32_t i, struct door_address *a);

/* door_way.c */
/* The relay of its cluster that the IMPORT goes by, or DOOR_RELAYS_MAX. */
uint32_t relay_door_way(const struct door *e);
/* Where the trunk stands in the cluster's relays, or DOOR_RELAYS_MAX. */
uint32_t relay_door_index(const struct door_cluster *k, uint32_t t);
/* Segments for it may go to relay r of its cluster behind the ASK: or no more, the answer is here.
 */
void relay_door_hope(struct relay_core *c, uint32_t i, uint32_t r, bool on);
/* The import is known to relay r, over trunk t.  False: its labels lead elsewhere. */
bool relay_door_proved(struct relay_core *c, uint32_t i, uint32_t r, uint32_t t);
/* Relay r offers it: its process is to be found there from now on. */
void relay_door_offered(struct relay_core *c, uint32_t i, uint32_t r);
/* Relay r says that the door is gone from it, but others of its cluster know it. */
void relay_door_left(struct relay_core *c, uint32_t i, uint32_t r);
/* The trunk to relay r is down: the import is not known there any more. */
void relay_door_unprove(struct relay_core *c, uint32_t i, uint32_t r);
/* A segment of the IMPORT is for that process.  Does it know, or is it told now, that the import
 * began anew, if it did?  False: there is no room to tell it. */
bool relay_door_knows(struct relay_core *c, uint32_t i, uint32_t path);

/* door_trunk.c */
/* Does the hello of an unknown relay prove that it was given an address of ours? */
bool relay_door_proves(struct relay_core *c, const struct relay_hello *h);
void relay_door_trunk_up(struct relay_core *c, uint32_t t);
void relay_door_trunk_down(struct relay_core *c, uint32_t t);
/* What the next OPEN of the trunk is to prove. */
void relay_door_trunk_hello(struct relay_core *c, uint32_t t);
void relay_door_from_trunk(struct relay_core *c, uint32_t t, const void *note, size_t len);
/* The OWN door is no more: all importers are told, with its last words if there is room at once. */
void relay_door_own_gone(struct relay_core *c, uint32_t i, const char *words, bool ended);
/* op: GONE or WITHDRAW, 0: nobody is told. */
void relay_door_export_gone(struct relay_core *c, uint32_t i, uint8_t op);
/* The process has no import of that cluster any more: what was offered there for it goes. */
void relay_door_withdraw(struct relay_core *c, uint32_t path, uint32_t own, uint32_t cluster);
/* Now, or when there is room. */
void relay_door_tell_trunk(struct relay_core *c, uint32_t t, const struct relay_door_note *n);
/* More than asks_per_s, or than burst_ns of them at once?  Counts this one if not. */
bool relay_door_too_fast(const struct relay_core *c, uint64_t *until_ns, uint64_t burst_ns);
/* To the process of the hold: IMPORTED, or GONE to who is only called; false: no room now. */
bool relay_door_say_held(struct relay_core *c, struct door_hold *x);

/* door_tick.c */
void relay_door_tick(struct relay_core *c);

static inline uint32_t
relay_door_find(const struct doors *d, uint32_t root, uint32_t label)
{
	uint32_t at = root;
	for (int shift = 18; shift >= 0 && at != NONE; shift -= 6)
		at = d->node[at].child[label >> shift & 63];
	return at;
}

static inline struct base_ilinks
relay_door_links(const struct relay_core *c)
{
	return BASE_ILINKS(c->doors.door, link);
}

#endif
