/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/core.h - the forwarding core of one worker shard of a relay.
 *
 * Sits on one struct suci whose ops it provides.  Each segment that comes in
 * over a path is checked, gets the labels of the next hop, on a block's first
 * segment the 48 bytes of pk_src and pk_dest, and leaves over another path in
 * the same call: cut-through, any order, nothing reassembled, nothing copied.
 *
 *     local process --path--+               +--trunk--> relay of another cluster
 *     local process --path--+-- relay core -+--trunk--> relay of another cluster
 *           gateway --path--+     |         +--path---> gateway
 *                                 |
 *                            job table: label -> page -> process -> way out
 *
 * Custody: when a segment is taken, its receive buffer is held by cookie
 * (ops->hold) until the next endpoint has acknowledged it (ops->release).  If
 * the way out has no room the segment is refused, and the endpoint it came from
 * sends it again; nothing waits here.
 *
 * Set-up
 *
 *     core = relay_core_new(mem, &conf)
 *     relay_core_hello(core, sc.hello)   sc.hello_len = RELAY_HELLO_LEN
 *     sc.ops = relay_ops(), sc.user = core
 *     relay_bind(core, suci_new(mem2, &sc, now))
 *     ...  suci_rx, suci_tx, suci_tick as endpoint.h says; and
 *     relay_core_tick(core, now) when now >= relay_core_expiry_ns(core)
 *     ...
 *     suci_fini(ep); relay_core_fini(core)
 *
 * Jobs come with relay_job_add(): trunks to the remote hosts that have no path
 * yet, and paths to the local processes this shard carries, are opened; both
 * are tried again for connect_ns.  A shard that owns no process of the job (no
 * host entry of the own client is self_global) opens nothing: no other cluster
 * knows it.  With conf.cluster, processes that have not come for connect_ns are looked
 * for while none is here: they may have gone before this relay had the job.  A job ends by
 * relay_job_end(), by an ABORT note, by the death of a local process or of a trunk it uses: then
 * ABORT goes to everybody else once, ops->job_ended is called once, and the job is gone. What
 * cannot be told because a trunk still connects or is down is told when it is up, for 60 s and the
 * 8 newest ends of each trunk.
 *
 * Several relays (relayproto/policy.h).  With conf.cluster the core knows the relays of its own
 * cluster and tells them to processes and to other clusters' relays, which tell theirs; it
 * opens trunks to all of them and takes what is for any process.  Then the death of a trunk
 * is no end:
 *
 *     trunk down    what was in custody for it goes over the others (strays); processes
 *                   are told to send again end to end, for the relay behind it may have
 *                   died with what it had
 *     flapping      after each life shorter than 10 s the pause before the next try
 *                   doubles, up to 5 s, and for as long it is only a standby when up
 *     none left     ops->job_state tells the caller, who knows whether other relays of the
 *                   cluster have a way (relay_job_elsewhere()); if nobody has for
 *                   partition_ns, the job ends
 *
 * Foreign processes (relay/job.h) of the own cluster and of others are behind the
 * gateways of this cluster's relays:
 *
 *     from               to                                way out
 *     any of the left    local process                     its path
 *     own cluster        remote process reached by Suci    trunk, by its host
 *     own cluster        remote foreign process            gateway of the relay that
 *     other cluster      local foreign process               stands for the source there
 *
 * The source may be foreign itself: then the segment came over a gateway's path, and
 * does not go back to that gateway.  Process ids are rewritten for all but
 * gateways, which go by the labels.  A path to each gateway that has a gate with
 * processes is opened with the first job that has foreign processes, tried again as
 * trunks are, and kept; its end ends the jobs that use it.  Foreign processes of the
 * own cluster have no path, count as connected, and never leave: their job ends by
 * relay_job_end().  Gateways are not told; who ends a job ends it there too.
 *
 * Light (relay/light.h).  Beside the trunk to another relay there may be light paths to it, over
 * legs of their own, for as long as a circuit is set up:
 *
 *     DARK --relay_core_light()--> OPENING --handshake--> LIT --relay_core_dark()--> DRAINING
 *     FAILED: OPENING and no answer for light_open_ns, LIT and the light went out: DARK again
 *     DRAINED: nothing sent over it is unacknowledged; what is for dark_drain_ns goes over trunks
 *
 * A lit path that the peer closes is opened again, unless that fails, too.
 * While LIT it takes all segments of all jobs, also later ones, towards the clients that its relay
 * is a way to, before any trunk; a full one makes them wait.  It brings the segments that the
 * trunk to that relay may bring.  Both relays open it, as soon as they are told to; the answer
 * proves that there is light, and its address whose.  After DRAINED what the peer still sends
 * is taken until it is through as well.  In a cluster of several relays its processes are told
 * (WAYS) to which clients the relay has light, and hand what is for those to it.
 *
 * Notes of type RELAY_NOTE_LIGHT are none of the core's business: it carries them between the
 * processes of its jobs and the caller (ops->note_other, relay_core_note()).
 *
 * Doors (relayproto/door.h, door/address.h; limits.doors_max).  A process registers doors:
 * endpoints with an address, over the path that it has as one of a job, or over one that it opens
 * with a hello of kind DOOR.  Who holds an address imports it: this relay opens a trunk to the
 * address's relays and asks, with the token as proof; both keep one entry.  Then segments pass as
 * those of jobs do, but no ids are rewritten.
 *
 *     process --REGISTER--> relay --ADDRESS--> process     ... hands the address to somebody ...
 *     process --IMPORT--> relay --ASK--> its relay --ANSWER--> relay --IMPORTED--> process
 *
 * With an import goes the door it is made for, so that the other side may answer.  A process that
 * answers a label it did not import says HOLD, and hears when it is gone or begins anew.  A door is
 * gone when its process says LEAVE, or its path ends; all importers are told, by trunk and then by
 * process.
 * Imports that nobody holds are dropped at both ends.  Segments pass between doors of one realm
 * only, so who guesses a label of another tenant has nothing.  While no trunk to its relays is up
 * an import stays for lost_ns, and is asked for again as soon as one is: labels stay.  Nothing is
 * kept for who does not prove; who proves too often wrong, or asks too often, is refused for a
 * while; whatever the reason, REFUSED says none: it is in the counters.
 *
 * Paths.  suci_addr.leg is RELAY_LEG_PRIVATE towards the cluster, RELAY_LEG_GLOBAL
 * between clusters, RELAY_LEG_LIGHT + slot over light; the driver must hand them in that way.
 *
 * Units    bytes, nanoseconds of the caller's clock.
 * Threads  one owner at a time, that of the endpoint.
 * Limits   struct relay_core_limits.
 * Errors   enum relay_err; what happens to segments is in struct relay_counters. */
#ifndef RELAY_CORE_H
#define RELAY_CORE_H

#include "relay/addr.h"
#include "relay/error.h"
#include "relayproto/policy.h"
#include "relayproto/hello.h"
#include "relay/job.h"
#include "relay/light.h"
#include "relayproto/note.h"
#include "suci/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_core_limits {
	uint32_t jobs_max;	/* 1 .. 4096 */
	uint32_t procs_max;	/* processes of all jobs (world sizes, each rounded up to
				 * RELAY_LABEL_PAGE), 64 .. 1<<22 */
	uint32_t hosts_max;	/* host entries of one job, 1 .. 65535 */
	uint32_t trunks_max;	/* 1 .. 4096 */
	uint32_t paths_max;	/* that of the endpoint's suci_limits */
	uint32_t primaries_max; /* relays of this cluster, 1 .. RELAY_RELAYS_MAX */
	/* Segments kept for other trunks when one goes down, 0 .. 1<<24; the rest is left to the
	 * end-to-end protocol.  They are held beside what the endpoint may hold (segments_max). */
	uint32_t strays_max;
	/* Doors: entries of all kinds, 0 (there are none here) or 64 .. 1<<18; processes' uses of
	 * imports, at most 1<<22. */
	uint32_t doors_max, holds_max;
};

/* One relay (worker shard) of the own cluster. */
struct relay_sibling {
	struct suci_addr global, private; /* IPv4: by these it is called */
	uint8_t private6[16];		  /* where processes with IPv6 alone find it; or zeros */
	uint8_t weight;			  /* 1 .. RELAY_WEIGHT_MAX */
};

/* Policy towards clusters whose relays have addresses in ipv4/prefix_len; the longest
 * prefix counts. */
struct relay_policy_rule {
	uint32_t ipv4; /* host order */
	uint8_t prefix_len;
	uint8_t policy; /* enum relay_policy */
};
#define RELAY_RULES_MAX 32

/* Of a segment, lane header and payload as they came in, the core writes at most so many bytes, the
 * first. */
#define RELAY_WRITES_MAX 96u

struct relay_core_ops {
	/* May the payload of this receive buffer be changed, and the lane header in front of it?
	 * Returns where the payload is to be written, normally (uint8_t *)(uintptr_t)data, or
	 * NULL: a first segment is refused then, others are sent with another header. */
	uint8_t *(*writable)(void *user, uint64_t rx_cookie, const uint8_t *data, size_t len);
	/* Keep and give back a receive buffer; calls nest per segment in custody. */
	void (*hold)(void *user, uint64_t rx_cookie); /* a cookie is less than 2^62 */
	void (*release)(void *user, uint64_t rx_cookie);
	/* A receive buffer for a segment of len bytes that comes over that path in parts, held
	 * once; NULL: there is none now.  NULL without suci_limits.wholes_max. */
	uint8_t *(*buffer)(void *user, uint32_t path, uint32_t len, uint64_t *rx_cookie);
	/* A job was aborted, and not by relay_job_end(): everybody this core knows
	 * has been told, the job is gone from it.  why is for people.  The caller
	 * ends it in the other shards and relays and on the server channel. */
	void (*job_ended)(void *user, uint32_t label_base, const char *why);
	/* For display and logs; may be NULL.  what: "process 3 of job 7", "trunk". */
	void (*path_up)(void *user, uint32_t path, const struct suci_addr *peer, const char *what);
	void (*path_down)(void *user, uint32_t path, const struct suci_addr *peer, const char *what,
			  const char *why);
	/* A site is refused for its identity: suci_ops.stranger.  May be NULL. */
	void (*stranger)(void *user, const struct suci_addr *from, const uint8_t *public_key,
			 const struct seal_peer *known);
	/* ways: bit per client that can be reached over a trunk of this core now, the own
	 * client's bit included.  left: all local processes connected here have finished, and
	 * at least one has; or none has come for connect_ns, and their hosts say that they are
	 * not there.  tolerant: it survives deaths.  From relay_core_tick(), when one of
	 * them has changed; may be NULL. */
	void (*job_state)(void *user, uint32_t label_base, uint32_t ways, bool left, bool tolerant);
	/* The light of a slot has come up, failed, or drained: see relay_core_light() and
	 * relay_core_dark(), which may call it themselves.  May be NULL. */
	void (*light_state)(void *user, uint32_t slot, enum base_lightpath state);
	/* A local process is connected: it can be told something. May be NULL. */
	void (*proc_up)(void *user, uint32_t label_base, uint32_t rank);
	/* A note of type RELAY_NOTE_LIGHT from process rank of the job, whole; valid during the
	 * call.  NULL: such notes are bad ones. */
	void (*note_other)(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note,
			   size_t len);
};

/* What doors may cost (Doors, below). */
struct relay_door_conf {
	uint32_t cluster;	/* in addresses, for people */
	uint16_t importers_max; /* relays that may have one door at once; default 1024 */
	uint32_t imports_max;	/* doors that one other relay may have; default doors_max / 4 */
	uint32_t asks_per_s;	/* and ask for in a second; default 1000 */
	uint32_t per_proc_max;	/* doors of a process, and imports it uses; default 1024 each */
	uint64_t lost_ns; /* its relays are out of reach so long: a door is gone; default 10 s */
	uint32_t begin;	  /* random: where labels begin, so a relay that is started anew gives away
			     others than before, which doors may still have at a second relay */
};

#define RELAY_PEERS_MAX 64
/* A relay of another cluster that is reached at an IPv6 address.  Job tables, notes, doors and
 * policies go on calling it by its IPv4 one. */
struct relay_place {
	uint32_t ipv4;
	uint8_t ipv6[16];
};
#define RELAY_PLACES_MAX 64

struct relay_core_conf {
	struct relay_core_limits limits;
	struct suci_addr self_global; /* this shard as other clusters see it */
	uint16_t trunk_mtu;	      /* largest UDP payload on the global leg */
	/* Less, if trunks begin with less and probe (suci_config.mtu_min_leg): what
	 * processes are told until all trunks are up and know better.  0: trunk_mtu. */
	uint16_t trunk_mtu_start;
	uint32_t workers;	     /* cores of this relay: they share allowances; 0: 1 */
	uint64_t connect_ns;	     /* try to reach a trunk for so long; default 10 s */
	uint64_t retry_ns;	     /* pause between tries; default 50 ms */
	uint64_t local_keepalive_ns; /* probe idle local processes that often, so that
				      * their node can say they are gone; default 1 s */
	/* Gateways of the cluster's relays, in the order of the configured list: Suci
	 * endpoints (lib/gateway) on the private leg that stand for foreign processes
	 * of both sides.  Segments for a foreign process go to the one that
	 * relay_job_gateway() names; what comes from them may name any foreign process
	 * of the job as its source.  A gateway sends to the first shard of its own relay.
	 * ngateways 0: foreign processes cannot be reached; else a job whose table names
	 * a relay beyond the list is INVAL. */
	struct suci_addr gateway[RELAY_RELAYS_MAX];
	uint32_t ngateways;
	/* The relays of the own cluster, the same list in each of them; self is this one.
	 * ncluster 0: nobody is told of relays, and a shard that owns no process of a job has
	 * no trunks for it. */
	struct relay_sibling cluster[RELAY_GROUP_MAX];
	uint32_t ncluster, self;
	/* The first one that matches as a whole has prefix_len 0; without it DEST. */
	struct relay_policy_rule rule[RELAY_RULES_MAX];
	uint32_t nrules;
	/* How long a cluster may be out of reach before its jobs end. */
	uint64_t partition_ns;
	/* Relays whose paths are accepted without a job naming them. */
	struct suci_addr peer[RELAY_PEERS_MAX];
	uint32_t npeers;
	/* No IPv4 and no IPv6 address twice.  Who comes from an IPv6 address that is not there is
	 * refused: nothing would say which relay it is. */
	struct relay_place place[RELAY_PLACES_MAX];
	uint32_t nplaces;
	struct relay_door_conf doors;
	uint32_t nlights; /* slots, 0 .. RELAY_LIGHTS_MAX */
	/* No light after so long: it has failed; default 300 ms.  Silence that ends a light path
	 * while something is unanswered: default 200 ms; an idle one is asked four times as
	 * often.  What is on its way when a path is to be dark has so long: default 40 ms. */
	uint64_t light_open_ns, light_liveness_ns, dark_drain_ns;
	const struct relay_core_ops *ops;
	void *user;
};

/* X(name, help).  Every segment the endpoint offers ends in exactly one of
 * tx_acked, drop_*, refused_*, or is held: relay_core_check(). */
#define RELAY_COUNTERS(X)                                                                      \
	X(rx_segments, "segments offered by the endpoint")                                     \
	X(rx_bytes, "their payload bytes")                                                     \
	X(rx_from_trunks, "of them from other clusters")                                       \
	X(rx_from_light, "of them from other clusters over light")                             \
	X(rx_from_gateways, "of them from foreign processes behind gateways")                  \
	X(tx_segments, "segments taken and queued on their way out")                           \
	X(tx_bytes, "their payload bytes")                                                     \
	X(tx_light, "of them over light")                                                      \
	X(tx_light_bytes, "their payload bytes")                                               \
	X(tx_acked, "segments the next endpoint has custody of")                               \
	X(rewritten, "first segments whose process ids were rewritten")                        \
	X(drop_path, "came over a path that carries no process and no trunk")                  \
	X(drop_label, "destination label names no process of a current job")                   \
	X(drop_source_label, "source label names no process of that job")                      \
	X(drop_source, "source is not behind the path it came from")                           \
	X(drop_destination, "destination is not on the other side, or not through this shard") \
	X(drop_malformed, "first segment too short for the process ids")                       \
	X(drop_toobig, "does not fit the MTU of the way out")                                  \
	X(drop_foreign, "destination is not reached by Suci, and there are no gateways")       \
	X(drop_left, "destination process has finished")                                       \
	X(drop_door_way, "came from a door by another relay than the one it is reached by")    \
	X(drop_door_untold, "from a door that began anew: that is to be heard first")          \
	X(drop_realm, "between doors of two realms")                                           \
	X(drop_abandoned, "in custody when the way out went down")                             \
	X(refused_full, "way out has no room")                                                 \
	X(refused_nomem, "endpoint has no segment slot left")                                  \
	X(refused_trunk, "trunk is not connected")                                             \
	X(refused_proc, "destination process is not connected")                                \
	X(refused_gateway, "gateway is not connected")                                         \
	X(refused_readonly, "receive buffer cannot be changed")                                \
	X(notes_rx, "notes read")                                                              \
	X(notes_tx, "notes sent")                                                              \
	X(notes_bad, "notes malformed, or from a path that has no say in the job")             \
	X(notes_late, "notes about a job that is over")                                        \
	X(notes_stale, "notes about an earlier job of the same labels, or overtaken")          \
	X(notes_kept, "ends of jobs kept until a trunk is up")                                 \
	X(notes_forgotten, "of them never told: the trunk came late, or too many ended")       \
	X(notes_unsent, "notes that could not be queued")                                      \
	X(accepted, "paths accepted")                                                          \
	X(accept_hello, "refused: hello malformed")                                            \
	X(accept_label, "refused: label of no current job")                                    \
	X(accept_token, "refused: wrong token")                                                \
	X(accept_guesses, "refused: too many wrong tokens were said for that job or process")  \
	X(accept_rank, "refused: rank is not of this cluster, or does not fit the label")      \
	X(accept_relay, "refused: relay not named by a job or the configuration")              \
	X(accept_full, "refused: no trunk slot left")                                          \
	X(accept_leaving, "refused: this relay goes away")                                     \
	X(accept_doors, "refused: a process with doors, and there are none here")              \
	X(accept_light, "refused: over light that is not to be, or not from there")            \
	X(doors_registered, "doors registered by processes")                                   \
	X(doors_gone, "doors that left, or whose process is gone")                             \
	X(doors_imported, "doors of other clusters that came into the table")                  \
	X(doors_dropped, "of them that went: unused, gone, or out of reach")                   \
	X(door_asks, "imports that other relays asked for")                                    \
	X(door_answers, "of them granted")                                                     \
	X(door_malformed, "refused: note about doors malformed, or not from who may say it")   \
	X(door_unknown, "refused: no door here has that label")                                \
	X(door_realm, "refused: door of another realm")                                        \
	X(door_token, "refused: wrong token of a door")                                        \
	X(door_guesses, "refused: too many wrong tokens were said over that trunk")            \
	X(door_guesses_own, "refused: too many wrong tokens were said from that address here") \
	X(door_rate, "refused: over that trunk come more imports a second than may")           \
	X(door_importers, "refused: the door has as many importers as it allows")              \
	X(door_trunk_full, "refused: over that trunk as many doors are known as may be")       \
	X(door_full, "refused: no entry, or no place for labels, left")                        \
	X(door_proc_full, "refused: the process has as many doors or imports as may be")       \
	X(door_fellow, "refused: door at a relay that is not of this cluster's list")          \
	X(door_named, "refused: the label that a door has by another relay is another's")      \
	X(door_here, "refused: address of this relay, or of a process itself")                 \
	X(door_lost, "refused or gone: its relays are out of reach")                           \
	X(door_moved, "doors that are reached by another relay of their cluster than before")  \
	X(door_places_kept, "labels of doors kept on, for something was on its way there")     \
	X(jobs_added, "jobs begun")                                                            \
	X(jobs_finished, "jobs ended normally")                                                \
	X(jobs_aborted, "jobs ended otherwise")                                                \
	X(procs_dead, "processes that failed or left, in jobs that survive it")                \
	X(trunk_retries, "trunks opened again after a refusal or silence")                     \
	X(strays_kept, "segments in custody whose trunk went down, kept for others")           \
	X(strays_sent, "of them sent over another trunk")                                      \
	X(members_refused, "relays that others told of and for which there is no place")       \
	X(gateway_retries, "trunk_retries of paths to gateways")                               \
	X(lights_up, "light paths that came up")                                               \
	X(lights_failed, "of those ordered, that did not come up or went down")                \
	X(lights_drained, "light paths emptied and closed")                                    \
	X(lights_cut, "of them with segments that had to go over trunks")
struct relay_counters {
#define X(n, h) uint64_t n;
	RELAY_COUNTERS(X)
#undef X
};

struct relay_core; /* opaque */

/* Bytes for these limits, 64-byte aligned; 0 if one is out of range. */
size_t relay_core_footprint(const struct relay_core_limits *limits);
/* NULL if the configuration is out of range. */
struct relay_core *relay_core_new(void *mem, const struct relay_core_conf *conf);
/* After suci_fini().  Accepts NULL.  Returns the memory. */
void *relay_core_fini(struct relay_core *c);
/* The ops for suci_config (user = the core), and the endpoint made with them. */
const struct suci_ops *relay_ops(void);
void relay_bind(struct relay_core *c, struct suci *ep);
/* The hello data of this relay, for suci_config.hello. */
void relay_core_hello(const struct relay_core *c, uint8_t out[RELAY_HELLO_LEN]);

/* Install a job; the table is copied.  0, or EXISTS, NOMEM, LABELS, INVAL
 * (inconsistent table, or my_client has no process): nothing is changed. */
int relay_job_add(struct relay_core *c, const struct relay_job *job, uint64_t now_ns);
/* End a job: why NULL or "" = finished normally (LEAVE to the trunks), else
 * ABORT with the text to all local processes and remote relays.  ops->job_ended
 * is not called.  0 or NOTFOUND. */
int relay_job_end(struct relay_core *c, uint32_t label_base, const char *why, uint64_t now_ns);
/* End all jobs (the relay stops): why as above, not NULL. */
void relay_core_end_all(struct relay_core *c, const char *why, uint64_t now_ns);

/* The policy towards clusters with relays in ipv4/prefix_len from now on, for all jobs.
 * 0, INVAL, or NOMEM (RELAY_RULES_MAX). */
int relay_core_set_policy(struct relay_core *c, const struct relay_policy_rule *rule,
			  uint64_t now_ns);
/* All rules in place of those that are.  0, INVAL, or NOMEM: nothing is changed. */
int relay_core_set_policies(struct relay_core *c, const struct relay_policy_rule *rule, uint32_t n,
			    uint64_t now_ns);
/* The share of this relay, 0 .. RELAY_WEIGHT_MAX.  0: it drains, and is used only where
 * there is no other; processes and the other clusters' relays are told.  Where a job stripes, 0 is
 * reached by halves, two round trips of the trunks apart, so that the others' windows grow with
 * what they take over.  0 or INVAL. */
int relay_core_set_weight(struct relay_core *c, uint32_t weight, uint64_t now_ns);
/* For how long it has been empty: nothing in custody, and no segment has come; 0: not, or its
 * weight is still on its way to 0. */
uint64_t relay_core_quiet_ns(const struct relay_core *c, uint64_t now_ns);
/* Close all paths and open and accept no more: this relay goes away, its jobs go on over the
 * others of its cluster.  Nothing is lost if it has drained first.  Only relay_core_tick(),
 * queries and relay_core_fini() follow; held segments stay so until then. */
void relay_core_leave(struct relay_core *c, const char *why, uint64_t now_ns);
/* Clients that other cores of this cluster can reach, a bit each: while one of them can,
 * the job does not end for want of a way.  0 or NOTFOUND. */
int relay_job_elsewhere(struct relay_core *c, uint32_t label_base, uint32_t ways, uint64_t now_ns);

/* Open a light path in that slot; who has one there loses it at once (what it held goes over
 * trunks), unless it is the same.  ops->light_state follows: UP (at once if it is the same and is
 * up) or FAILED.  0, or INVAL (no such slot; light.addr not on its leg), NOMEM (no trunk slot). */
int relay_core_light(struct relay_core *c, uint32_t slot, const struct relay_light *light,
		     uint64_t now_ns);
/* The circuit is to go: nothing new is sent over it; DRAINED follows within dark_drain_ns, at once
 * if there is no path.  0 or INVAL. */
int relay_core_dark(struct relay_core *c, uint32_t slot, uint64_t now_ns);
/* A note of type RELAY_NOTE_LIGHT to local process rank, or to all of the job that are connected
 * (RELAY_RANK_NONE).  Its label base, bytes 1 to 4, is put in.  0, NOTFOUND (no such job or no
 * such process), INVAL (not such a note), NOMEM: not all of those meant could be told, say it
 * again. */
int relay_core_note(struct relay_core *c, uint32_t label_base, uint32_t rank, const void *note,
		    size_t len, uint64_t now_ns);

/* Retries and lingering paths; opens what a callback found missing. */
void relay_core_tick(struct relay_core *c, uint64_t now_ns);
/* When tick has to be called next; BASE_NEVER_NS if nothing is pending. */
uint64_t relay_core_expiry_ns(const struct relay_core *c);

/* ---- measuring --------------------------------------------------------- */

/* A segment on its way: taken over in_path, queued towards dst_rank. */
struct relay_seen {
	uint32_t job; /* label base */
	uint32_t src_rank, dst_rank;
	uint32_t in_path;
	uint32_t bytes;	 /* of its payload */
	uint64_t cookie; /* of its receive buffer; nothing is held if bytes is 0 */
};
/* From now on fn sees each segment that is taken, right after it was; NULL: nobody does,
 * which costs one test a segment. */
void relay_core_watch(struct relay_core *c, void (*fn)(void *user, const struct relay_seen *s),
		      void *user);

/* ---- queries ----------------------------------------------------------- */

const struct relay_counters *relay_core_counters(const struct relay_core *c);
/* Segments in custody. */
uint64_t relay_core_held(const struct relay_core *c);
/* rx = acked + held + drops + refusals, in total and per path, and the tables
 * agree with each other.  False: *what names the first that does not. */
bool relay_core_check(const struct relay_core *c, const char **what);

struct relay_job_info {
	uint32_t id, label_base;
	uint32_t my_client, nclients;
	uint32_t nworld, nlocal, first_local;
	uint32_t nhosts;
	uint32_t local_up, local_left; /* local processes connected here; gone normally */
	uint32_t trunks, trunks_up;    /* used by the job */
	uint32_t ways;		       /* as ops->job_state tells */
	uint32_t gateways, gateways_up;
	uint64_t rx_segments, rx_bytes;
	uint64_t since_ns;
};
/* i < jobs_max; false if there is none at i. */
bool relay_core_job(const struct relay_core *c, uint32_t i, struct relay_job_info *out);

enum relay_path_kind {
	RELAY_PATH_NONE,
	RELAY_PATH_PROC,
	RELAY_PATH_TRUNK,
	RELAY_PATH_GATEWAY,
	RELAY_PATH_LIGHT,
	RELAY_PATH_DOOR, /* a process that registers doors */
};
struct relay_path_info {
	enum relay_path_kind kind;
	bool up;
	struct suci_addr peer;
	uint32_t job;  /* PROC: its label base, 0 once the job is gone */
	uint32_t rank; /* PROC; GATEWAY: index of its relay; LIGHT: slot */
	uint32_t jobs; /* TRUNK, GATEWAY, LIGHT: jobs that use it */
	uint64_t rx_segments, rx_bytes, tx_segments, tx_bytes;
	uint64_t dropped, refused; /* of what came in over it */
	uint64_t held;		   /* waiting for its acknowledgement */
	/* TRUNK: what its relay says its share is; only a standby, for it has flapped; as
	 * measured, bytes per ms, 0 unknown. */
	uint32_t weight;
	bool standby;
	uint32_t rate;
};
/* path < paths_max; false if the core does not know it. */
bool relay_core_path(const struct relay_core *c, uint32_t path, struct relay_path_info *out);

struct relay_door_info {
	uint32_t own, imports, exports; /* entries of each kind */
	uint32_t dying;			/* gone, until late segments are over */
	uint32_t places_free;
	uint32_t holds, clusters, processes;
};
void relay_core_doors(const struct relay_core *c, struct relay_door_info *out);

struct relay_light_info {
	enum base_lightpath phase;
	struct relay_light light; /* unless DARK */
	uint32_t path;		  /* UINT32_MAX: none */
	/* From order to UP, and to DRAINED, the last time; 0: not yet. */
	uint64_t opened_ns, drained_ns;
};
/* slot < nlights. */
bool relay_core_light_info(const struct relay_core *c, uint32_t slot, struct relay_light_info *out);

#endif
