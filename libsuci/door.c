/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors: ids for addresses of others, and the relay that carries them (doc/job-setup.md, Doors). */
#include "datagram_internal.h"

#include "base/bytes.h"
#include "base/prefix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define OWN	 0u /* its place at the client */
#define LOOK_NS	 BASE_S_NS
#define CLAIM_NS (200 * BASE_MS_NS) /* until who has our address is asked again */
_Static_assert(DOOR_TEXT_MAX <= DATAGRAM_ADDRESS_MAX, "as the header says");

static void
wake_door(struct datagram_sock *s, uint64_t at_ns)
{
	s->door.due_ns = base_min_ns(s->door.due_ns, at_ns);
}

/* ---- set-up ---- */

static const struct door_client_ops libsuci_door_ops;

int
datagram_door_init(struct datagram_sock *s, const struct datagram_conf *conf)
{
	struct door_client_conf c = {.ops = &libsuci_door_ops, .user = s};
	struct door_address *me = &s->door.at;
	struct suci_addr relay[DOOR_CLIENT_SITES];
	uint32_t relays = conf->relay ? door_sites_parse(conf->relay, relay) : 0;
	door_sites_init(&s->door.sites, &s->door.client, NULL);
	s->door.sites.dirty = &s->dirty;
	s->door.sites.on_demand = true;
	for (uint32_t k = 0; k < relays; k++)
		door_sites_add(&s->door.sites, &relay[k]);
	s->door.due_ns = BASE_NEVER_NS;
	*me = (struct door_address){.realm = conf->realm, .n = PRIOS, .nrelays = 1};
	if (!conf->doors)
		return 0;
	if (getrandom(&me->token, sizeof me->token, 0) != (ssize_t)sizeof me->token ||
	    getrandom(c.secret, sizeof c.secret, 0) != (ssize_t)sizeof c.secret) {
		datagram_fail_open(errno, "no random numbers from the kernel");
		return -1;
	}
	s->door.via = conf->relay != NULL;
	door_client_init(&s->door.client, &c, s->door.own, 1, NULL, 0);
	bool good = !conf->relay || relays;
	if (relays && datagram_out_of_reach(s, &relay[0]))
		datagram_fail_open(EINVAL,
				   "relay %.60s and conf.ip: one is an IPv4 address, one of IPv6",
				   conf->relay);
	else if (good)
		return datagram_claim_read(s, conf) ? 0 : -1;
	else
		datagram_fail_open(EINVAL,
				   "relay is \"%.60s\" and has to be an address and a port, like "
				   "10.0.0.254:7812 or [fd00::fe]:7812, or two of one kind with a "
				   "comma between",
				   conf->relay);
	return -1;
}

/* ---- places ---- */

bool
datagram_door_unused(const struct peer *p)
{
	return !p->known && p->path == NONE && !p->head && !p->unread_blocks && !p->error;
}

static struct peer *
find_free_place(const struct datagram_sock *s)
{
	for (uint32_t k = 0; k < s->conf.doors; k++) {
		struct peer *p = &s->peer[s->npeers + (s->place_next + k) % s->conf.doors];
		if (datagram_door_unused(p) && p != s->dest && !p->pending)
			return p;
	}
	return NULL;
}

bool
datagram_door_free(const struct datagram_sock *s)
{
	return find_free_place(s) != NULL;
}

struct peer *
datagram_door_place(struct datagram_sock *s)
{
	struct peer *p = find_free_place(s);
	if (!p)
		return NULL;
	uint32_t id = p->id;
	if (p->relayed && suci_life_newer(p->life, s->door.life))
		s->door.life = p->life;
	if (p->taken) /* somebody had it */
		id = id > UINT32_MAX - s->conf.doors
			     ? DATAGRAM_DOOR_ID + (uint32_t)(p - s->peer) - s->npeers
			     : id + s->conf.doors;
	datagram_peer_init(s, p, id);
	p->door = p->taken = true;
	p->own = p->label = DOOR_LABEL;
	s->place_next = (uint32_t)(p - s->peer) - s->npeers + 1;
	return p;
}

/* ---- directly ---- */

void
datagram_door_hello(const struct datagram_sock *s, const struct peer *p,
		    uint8_t out[DOOR_HELLO_LEN])
{
	struct door_hello h = door_hello_to(&p->at, s->conf.flags & DATAGRAM_CRC);
	door_hello_write(&h, out);
}

bool
datagram_door_is_hello(const void *hello, size_t len)
{
	struct door_hello h;
	return door_hello_read(hello, len, &h);
}

int
datagram_door_accept(struct datagram_sock *s, const void *hello, size_t len,
		     char why[SUCI_TEXT_MAX])
{
	struct door_hello h;
	/* What is no door and what is another one sound alike. */
	bool proves = s->door.have && door_hello_read(hello, len, &h) &&
		      door_hello_proves(&h, &s->door.at);
	if (s->closing)
		snprintf(why, SUCI_TEXT_MAX, "it is leaving");
	else if (!proves)
		snprintf(why, SUCI_TEXT_MAX, "nobody here has that address (now)");
	else if (h.flags != (s->conf.flags & DATAGRAM_CRC))
		snprintf(why, SUCI_TEXT_MAX, "CRC is %s there",
			 s->conf.flags & DATAGRAM_CRC ? "on" : "off");
	else if (!datagram_door_free(s))
		snprintf(why, SUCI_TEXT_MAX, "it has as many doors as it may (conf.doors)");
	else
		return 0;
	return -1;
}

static struct peer *
find_there(struct datagram_sock *s, const struct suci_addr *at)
{
	for (uint32_t i = 0; i < s->nplaces; i++) {
		struct peer *p = &s->peer[i];
		if (!p->relayed && (p->door ? !datagram_door_unused(p) : !p->anywhere) &&
		    !memcmp(&p->addr, at, sizeof *at))
			return p;
	}
	return NULL;
}

struct peer *
datagram_door_came(struct datagram_sock *s, const struct suci_addr *from)
{
	struct peer *p = find_there(s, from);
	if (p)
		return p;
	p = datagram_door_place(s);
	if (p)
		p->addr = *from;
	return p;
}

/* ---- the relay ---- */

void
datagram_door_want(struct datagram_sock *s)
{
	struct door_client *c = &s->door.client;
	if (s->door.own[OWN].state == DOOR_CLIENT_OVER && s->now_ns < s->door.claim_ns)
		return;
	if (s->door.own[OWN].state == DOOR_CLIENT_OVER)
		door_client_close(c, OWN);
	if (s->door.own[OWN].state == DOOR_CLIENT_FREE && s->door.claims)
		(void)door_client_claim(c, OWN, &s->door.claim, 0);
	else if (s->door.own[OWN].state == DOOR_CLIENT_FREE)
		(void)door_client_open(c, OWN, PRIOS, s->conf.realm, 0);
	wake_door(s, 0);
}

/* Nothing need be written for it, and who has it may leave. */
static void
claim_door(struct datagram_sock *s)
{
	enum door_client_state state = (enum door_client_state)s->door.own[OWN].state;
	if (!s->door.claims)
		return;
	if (state == DOOR_CLIENT_HAVE && s->now_ns >= s->door.claim_ns &&
	    door_client_again(&s->door.client, OWN))
		s->door.claim_ns = s->now_ns + LOOK_NS;
	if (state != DOOR_CLIENT_OVER && state != DOOR_CLIENT_FREE)
		return;
	if (s->now_ns >= s->door.claim_ns)
		datagram_door_want(s);
	else
		wake_door(s, s->door.claim_ns);
}

/* No more to be reached, and why. */
static void
end_reached(struct datagram_sock *s, struct peer *p, int err, const char *why)
{
	uint32_t site =
		door_sites_at(&s->door.sites, p->path); /* NONE: and they are gone with it */
	for (unsigned i = 0; i < PRIOS; i++) {
		if (p->lane[i] == NONE)
			continue;
		datagram_peer_outlive(s, p, p->lane[i]);
		if (site != NONE && s->door.client.site[site].up)
			suci_lane_close(s->lanes, p->lane[i], s->now_ns);
	}
	datagram_peer_forget(s, p);
	if (p->import != NONE)
		door_client_drop(&s->door.client, p->import);
	p->import = NONE;
	p->try_since_ns = 0;
	if (p->resting) { /* and with it is what was kept for it */
		datagram_outs_lose(s, p);
		p->known = p->resting = false;
		p->lost_now = 0;
		return;
	}
	snprintf(p->why, sizeof p->why, "%s", why);
	if (p->head)
		datagram_peer_lose(s, p, err);
	p->error = p->lost_now ? err : p->error;
}

/* Nobody tells that one who is connected does not take anything: no path is down then. */
static void
give_up_stuck(struct datagram_sock *s)
{
	uint64_t limit = s->conf.liveness_ms * (uint64_t)BASE_MS_NS;
	for (uint32_t i = s->npeers; limit && i < s->nplaces; i++) {
		struct peer *p = &s->peer[i];
		uint32_t acked = 0;
		if (!p->relayed || !p->up || !p->head) {
			p->acked_ns = 0;
			continue;
		}
		for (unsigned k = 0; k < PRIOS; k++) {
			struct suci_lane_info l;
			if (p->lane[k] != NONE && suci_lane_info(s->lanes, p->lane[k], &l))
				acked += l.tx_acked_seq;
		}
		if (!p->acked_ns || acked != p->acked)
			p->acked_ns = s->now_ns;
		p->acked = acked;
		if (s->now_ns - p->acked_ns < limit)
			continue;
		if (p->import == NONE)
			(void)door_client_unhold(&s->door.client,
						 door_sites_at(&s->door.sites, p->path), p->label);
		end_reached(s, p, ETIMEDOUT, "takes nothing");
	}
	s->door.look_ns = s->now_ns + LOOK_NS;
}

void
datagram_door_turn(struct datagram_sock *s)
{
	struct door_client *c = &s->door.client;
	s->door.due_ns = BASE_NEVER_NS;
	if (!s->door.via || s->closing)
		return;
	claim_door(s);
	wake_door(s, door_sites_seek(&s->door.sites, s->now_ns));
	if (!c->up)
		return;
	wake_door(s, door_sites_turn(&s->door.sites, s->now_ns));
	if (s->now_ns >= s->door.look_ns)
		give_up_stuck(s);
	wake_door(s, s->door.look_ns);
}

/* ---- what the client of doors wants ---- */

static bool
say_to_our_relay(void *user, uint32_t site, const void *note, size_t len)
{
	struct datagram_sock *s = user;
	return door_sites_say(&s->door.sites, site, note, len, s->now_ns);
}

static void
wake_for_client(void *user)
{
	wake_door(user, 0);
}

/* The relay took our door, or has no room for it. */
static void
own_opened(void *user, uint32_t own)
{
	struct datagram_sock *s = user;
	const struct door_client_own *d = &s->door.own[own];
	s->door.have = d->state == DOOR_CLIENT_HAVE;
	if (s->door.have) {
		s->door.changes += s->door.was.n && !door_address_same(&d->at, &s->door.was);
		s->door.at = s->door.was = d->at;
		return;
	}
	if (s->door.claims) {
		s->door.claim_ns = s->now_ns + CLAIM_NS;
		wake_door(s, s->door.claim_ns);
		return;
	}
	snprintf(s->door.why, sizeof s->door.why, "the relay has no room for a door");
	s->door.error = ECONNREFUSED;
	for (uint32_t i = s->npeers; i < s->nplaces; i++)
		if (s->peer[i].relayed && s->peer[i].known)
			end_reached(s, &s->peer[i], ECONNREFUSED, s->door.why);
}

/* Who that relay calls so. */
static struct peer *
find_called(struct datagram_sock *s, uint32_t site, uint32_t label)
{
	for (uint32_t i = s->npeers; i < s->nplaces; i++) {
		struct peer *p = &s->peer[i];
		if (p->relayed && p->up && p->label == label &&
		    p->path == s->door.sites.site[site].path)
			return p;
	}
	return NULL;
}

/* What that relay calls so may be a door that we had lanes with, and have forgotten. */
static uint8_t
find_life(const struct datagram_sock *s, uint32_t site, uint32_t label)
{
	uint8_t life = s->door.life;
	for (uint32_t i = s->npeers; i < s->nplaces; i++) {
		const struct peer *q = &s->peer[i];
		if (q->relayed && q->site == site && q->label == label && datagram_door_unused(q) &&
		    suci_life_newer(q->life, life))
			life = q->life;
	}
	return life;
}

static void
set_reached(struct datagram_sock *s, struct peer *p, uint32_t site, uint32_t label)
{
	uint8_t life = find_life(s, site, label);
	p->life = suci_life_newer(life, p->life) ? life : p->life;
	p->site = (uint8_t)site;
	p->label = label;
	p->own = s->door.at.label;
	p->path = s->door.sites.site[site].path;
	p->up = true;
	p->try_since_ns = 0;
	if (p->give)
		datagram_peer_pend(s, p, 0);
}

/* It had written to us before we opened its address: from now on its blocks come from that id. */
static void
merge_peer(struct datagram_sock *s, struct peer *p, struct peer *q)
{
	p->life = suci_life_newer(q->life, p->life) ? q->life : p->life;
	for (unsigned i = 0; i < PRIOS; i++) {
		uint32_t lane = q->lane[i];
		p->given[i] = q->given[i];
		p->got[i] = q->got[i];
		p->lane[i] = lane;
		q->lane[i] = NONE;
		if (lane == NONE)
			continue;
		s->lane[lane].peer = p;
		for (struct in *b = s->lane[lane].coming.head; b; b = b->next)
			b->peer = p;
	}
	for (struct out *o = q->head; o; o = o->next)
		o->peer = p;
	if (q->head) {
		q->tail->next = p->head;
		if (p->head)
			p->head->prev = q->tail;
		else
			p->tail = q->tail;
		p->head = q->head;
		p->give = q->give ? q->give : p->give;
		p->queue_blocks += q->queue_blocks;
		p->queue_bytes += q->queue_bytes;
	}
	q->head = q->tail = q->give = NULL;
	q->queue_blocks = q->queue_bytes = 0;
	(void)door_client_unhold(&s->door.client, door_sites_at(&s->door.sites, q->path), q->label);
	datagram_peer_forget(s, q);
}

static void
far_peer_reached(void *user, uint32_t import)
{
	struct datagram_sock *s = user;
	const struct door_client_import *m = &s->door.import[import];
	struct peer *p = &s->peer[m->whose], *q = find_called(s, m->site, m->label);
	set_reached(s, p, m->site, m->label);
	if (q && q != p && !q->known)
		merge_peer(s, p, q);
}

static void
end_gone(struct datagram_sock *s, struct peer *p)
{
	const char *words = s->door.client.words;
	char why[sizeof p->why];
	snprintf(why, sizeof why, "is gone%s%.*s", *words ? ": " : "",
		 (int)sizeof why - (int)sizeof "is gone: ", words);
	end_reached(s, p, ECONNRESET, why);
}

static void
far_peer_lost(void *user, uint32_t import, enum door_client_lost why)
{
	struct datagram_sock *s = user;
	struct peer *p = &s->peer[s->door.import[import].whose];
	switch (why) {
	case DOOR_CLIENT_REFUSED:
		end_reached(s, p, ECONNREFUSED,
			    "is refused: nobody has that address now, or a relay is full");
		break;
	case DOOR_CLIENT_GONE:
		end_gone(s, p);
		break;
	case DOOR_CLIENT_RELAY:
		break; /* datagram_door_down() says so to all */
	case DOOR_CLIENT_RESET:
		p->import = NONE;
		end_reached(s, p, ECONNRESET, "is reached anew: a path between relays broke");
		if (p->known)
			p->import = import;
		else
			door_client_drop(&s->door.client, import);
	}
}

static void
far_peer_left(void *user, uint32_t site, uint32_t label)
{
	struct datagram_sock *s = user;
	struct peer *p = find_called(s, site, label);
	if (p && p->import == NONE)
		end_gone(s, p);
}

static const struct door_client_ops libsuci_door_ops = {.say = say_to_our_relay,
							.wake = wake_for_client,
							.opened = own_opened,
							.reached = far_peer_reached,
							.lost = far_peer_lost,
							.left = far_peer_left};

/* ---- what the relay says ---- */

void
datagram_door_note(struct datagram_sock *s, uint32_t site, const void *note, size_t len)
{
	door_client_note(&s->door.client, site, note, len);
}

void
datagram_door_up(struct datagram_sock *s, uint32_t site, const void *hello, size_t len)
{
	uint32_t path = s->door.sites.site[site].path;
	if (!door_sites_up(&s->door.sites, path, hello, len, s->now_ns))
		return;
	if (s->conf.relay_ms)
		(void)suci_path_set_liveness(s->ep, path, s->conf.relay_ms * (uint64_t)BASE_MS_NS,
					     s->conf.relay_ms * (uint64_t)BASE_MS_NS / 4);
}

void
datagram_door_down(struct datagram_sock *s, uint32_t site, enum suci_down why, const char *text)
{
	struct door_client *c = &s->door.client;
	struct door_site *at = &s->door.sites.site[site];
	uint32_t path = at->path;
	bool refused = why == SUCI_DOWN_REFUSED, was_up = c->site[site].up;
	snprintf(s->door.why, sizeof s->door.why, "our relay %s%.70s",
		 refused       ? "refuses us: "
		 : at->is_none ? "is not a relay"
		 : was_up      ? "is gone"
			       : "does not answer",
		 refused && text ? text : "");
	at->path = NONE;
	at->is_none = false; /* it may be one when it is called again */
	refused = refused && door_sites_alone(&s->door.sites);
	if (refused)
		s->door.error = ECONNREFUSED;
	door_sites_down(&s->door.sites, site, !refused, s->now_ns);
	s->door.have = s->door.own[OWN].state == DOOR_CLIENT_HAVE;
	for (uint32_t i = s->npeers; i < s->nplaces; i++) {
		struct peer *p = &s->peer[i];
		if (p->relayed && ((p->up && p->path == path) || (refused && p->known)))
			end_reached(s, p, refused ? ECONNREFUSED : ECONNRESET, s->door.why);
	}
	wake_door(s, c->site[site].retry_ns);
}

enum suci_verdict
datagram_door_unknown(struct datagram_sock *s, uint32_t site, uint32_t dst, uint32_t src)
{
	uint32_t prio = dst - s->door.at.label;
	if (!s->door.have || prio >= PRIOS || src < prio || s->closing)
		return SUCI_DROPPED;
	struct peer *p = find_called(s, site, src - prio);
	if (!p) {
		p = datagram_door_place(s);
		if (!p || !door_client_hold(&s->door.client, site, src - prio))
			return SUCI_DROPPED; /* it sends again, and there may be one then */
		p->relayed = true;
		set_reached(s, p, site, src - prio);
	}
	if (p->lane[prio] != NONE)
		return SUCI_DROPPED;
	return datagram_peer_open_lane(s, p, prio, p->path) ? SUCI_TAKEN : SUCI_REFUSED;
}

/* ---- reaching others ---- */

uint64_t
datagram_door_import(struct datagram_sock *s, struct peer *p, uint64_t end_ns)
{
	if (p->import != NONE)
		return end_ns;
	datagram_door_want(s);
	p->import = door_client_import(&s->door.client, &p->at, OWN, (uint32_t)(p - s->peer));
	return p->import != NONE ? end_ns : base_min_ns(end_ns, s->now_ns + DOOR_CLIENT_SOON_NS);
}

void
datagram_door_why(struct datagram_sock *s, struct peer *p)
{
	if (!p->relayed)
		return;
	bool asked = p->import != NONE && s->door.import[p->import].state == DOOR_CLIENT_ASKED;
	const char *why = asked ? "is out of reach: its relays do not answer ours"
			  : s->door.client.up
				  ? "cannot be asked for: our relay has given us no address"
				  : s->door.why;
	snprintf(p->why, sizeof p->why, "%s",
		 *why ? why : "cannot be asked for: our relay does not answer");
}

static int64_t
open_place(struct datagram_sock *s, const struct door_address *a, const struct suci_addr *direct)
{
	struct peer *p = direct ? find_there(s, direct) : NULL;
	for (uint32_t i = s->npeers; i < s->nplaces && !p; i++)
		if (s->peer[i].known && door_address_same(&s->peer[i].at, a))
			p = &s->peer[i];
	if (p && p->resting) {
		p->resting = false;
		return p->id;
	}
	if (p && !p->door)
		return p->id; /* of the database */
	/* Another process that had the port before is not who is meant. */
	if (p && p->known && !door_address_same(&p->at, a))
		return datagram_fail(s, EADDRINUSE,
				     "id %u is another address at the same place; close it first",
				     p->id);
	p = p ? p : datagram_door_place(s);
	if (!p)
		return datagram_fail(s, ENOBUFS, "all %u ids of doors are in use (conf.doors)",
				     s->conf.doors);
	p->known = true;
	p->at = *a;
	p->relayed = !direct;
	if (direct)
		p->addr = *direct;
	return p->id;
}

/* Behind a relay of ours: it carries nothing within its cluster.  That it died, and our door with
 * it, changes nothing. */
static bool
is_near(const struct datagram_sock *s, const struct door_address *a)
{
	return a->near.port && door_address_near(&s->door.was, a);
}

static int64_t
open_without_relay(struct datagram_sock *s, const struct door_address *a, const uint8_t ip[16],
		   uint16_t port)
{
	struct suci_addr to = suci_addr_of(ip, port);
	if (datagram_out_of_reach(s, &to))
		return datagram_fail(s, EAFNOSUPPORT,
				     "the address is IPv%u, and conf.ip is IPv%u: set it to :: to "
				     "have both",
				     to.family, suci_udp_local(s->udp).family);
	return open_place(s, a, &to);
}

int64_t
datagram_open_at(struct datagram_sock *s, const char *address)
{
	struct door_address a;
	uint8_t ip[16];
	if (datagram_enter(s))
		return -1;
	if (!s->conf.doors)
		return datagram_fail(s, EINVAL, "conf.doors is 0: no ids for addresses");
	int err = door_address_parse(address, &a);
	if (err)
		return datagram_fail(s, EINVAL, "%s", door_strerror(err));
	if (a.realm != s->conf.realm)
		return datagram_fail(s, EACCES, "the address is of another realm than conf.realm");
	if (s->door.have && door_address_same(&a, &s->door.at))
		return s->me->id;
	if (a.n < PRIOS)
		return datagram_fail(s, EINVAL,
				     "the address has %u labels and not %d: it is not "
				     "one of this library",
				     a.n, PRIOS);
	if (a.flags & DOOR_FLAG_PROCESS) {
		door_address_place(&a, ip);
		return open_without_relay(s, &a, ip, a.relay[0].port);
	}
	if (!s->door.via)
		return datagram_fail(s, EHOSTUNREACH,
				     "the address is behind a relay: set conf.relay to our own");
	base_prefix_v4(a.near.ipv4, ip);
	bool near = is_near(s, &a);
	uint16_t port = a.near.port;
	a.near = (struct door_relay){0};
	return near ? open_without_relay(s, &a, ip, port) : open_place(s, &a, NULL);
}

int
datagram_close_at(struct datagram_sock *s, uint32_t id)
{
	struct peer *p =
		datagram_enter(s) || id < DATAGRAM_DOOR_ID ? NULL : datagram_peer_find(s, id);
	if (!p)
		return datagram_fail(s, ENOENT, "id %u is not a door now", id);
	uint32_t path = p->path;
	s->now_ns = suci_udp_now_ns();
	p->resting = p->relayed && p->up;
	if (p->relayed && !p->up)
		end_reached(s, p, 0, "");
	/* What its lanes have comes back as they end; then what they did not get. */
	if (!p->relayed && path != NONE)
		suci_path_close(s->ep, path, "", s->now_ns);
	if (!p->relayed)
		datagram_outs_lose(s, p);
	if (!p->resting)
		p->known = false;
	p->error = 0;
	p->lost_now = 0;
	if (s->dest == p)
		s->dest = NULL;
	datagram_kick(s);
	return 0;
}
