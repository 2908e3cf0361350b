/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/neigh.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

#define NONE UINT32_MAX
#define CONTEST_TRIES                                                                   \
	4      /* questions that the known station leaves unanswered before it is moved \
		*/
#define HOLD 4 /* retry times between two claims, or two suspicions, that are looked into */

enum state { FREE = 0, RESOLVING, REACHABLE, PROBING, CONTESTED, FIXED };

struct entry {
	uint32_t ip;
	uint32_t next;	       /* in its bucket, or in the free list */
	uint32_t older, newer; /* strangers, in the order in which they came */
	uint8_t mac[6], claim[6];
	uint8_t state;
	uint8_t tries; /* requests sent in this state */
	bool peer, claim_answers;
	bool wanted;	  /* RESOLVING, and nothing has ever waited */
	uint32_t waiting; /* packets in slot[] */
	uint64_t due_ns;  /* REACHABLE: when it is old; else: next request; FIXED: never */
	uint64_t used_ns;
	uint64_t seen_ns; /* a stranger's used_ns when it came to its place in the order */
	uint64_t hold_ns; /* no claim and no suspicion before */
};

struct rd_neigh {
	struct rd_neigh_conf conf;
	struct rd_neigh_counters count;
	uint64_t next_ns;
	uint64_t scan_ns; /* no search for an idle peer before */
	uint32_t nbuckets, free, used, waiting;
	uint32_t strangers, share, oldest, newest, wanted;
	struct entry *entry;
	uint32_t *bucket;
	void **slot; /* [entries * pending] */
};

static uint32_t
buckets_for(uint32_t entries)
{
	uint32_t n = 1;
	while (n < entries)
		n *= 2;
	return n;
}

static bool
conf_ok(const struct rd_neigh_conf *c)
{
	return c->entries >= 1 && c->entries <= 65536 && c->pending >= 1 && c->pending <= 64 &&
	       c->tries >= 1 && c->tries <= 100 && c->retry_ns && c->expiry_ns &&
	       c->strangers <= c->entries;
}

static size_t
round64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

size_t
rd_neigh_footprint(const struct rd_neigh_conf *c)
{
	if (!conf_ok(c))
		return 0;
	return round64(sizeof(struct rd_neigh)) + round64(c->entries * sizeof(struct entry)) +
	       round64((size_t)c->entries * c->pending * sizeof(void *)) +
	       round64(buckets_for(c->entries) * sizeof(uint32_t));
}

struct rd_neigh *
rd_neigh_new(void *mem, const struct rd_neigh_conf *c)
{
	size_t total = rd_neigh_footprint(c);
	if (!mem || !total || !c->ops)
		return NULL;
	memset(mem, 0, total);
	struct rd_neigh *n = mem;
	char *at = (char *)mem + round64(sizeof *n);
	n->conf = *c;
	n->entry = (void *)at;
	at += round64(c->entries * sizeof(struct entry));
	n->slot = (void *)at;
	at += round64((size_t)c->entries * c->pending * sizeof(void *));
	n->bucket = (void *)at;
	n->nbuckets = buckets_for(c->entries);
	n->next_ns = BASE_NEVER_NS;
	n->oldest = n->newest = NONE;
	n->share = c->strangers ? c->strangers : (c->entries + 3) / 4;
	for (uint32_t i = 0; i < n->nbuckets; i++)
		n->bucket[i] = NONE;
	for (uint32_t i = 0; i < c->entries; i++)
		n->entry[i].next = i + 1 < c->entries ? i + 1 : NONE;
	return n;
}

static uint32_t *
bucket_of(struct rd_neigh *n, uint32_t ip)
{
	uint32_t h = ip * 0x9e3779b1u;
	return &n->bucket[(h ^ h >> 16) & (n->nbuckets - 1)];
}

static uint32_t
find_neigh(struct rd_neigh *n, uint32_t ip)
{
	uint32_t i = *bucket_of(n, ip);
	while (i != NONE && n->entry[i].ip != ip)
		i = n->entry[i].next;
	return i;
}

/* Take the waiting packets out before anybody is called: ops may look up again. */
static uint32_t
take_waiting(struct rd_neigh *n, uint32_t i, void *out[64])
{
	struct entry *e = &n->entry[i];
	uint32_t w = e->waiting;
	memcpy(out, &n->slot[(size_t)i * n->conf.pending], w * sizeof(void *));
	e->waiting = 0;
	n->waiting -= w;
	return w;
}

/* Somebody waits for it, it is there, or it goes. */
static void
settle_wanted(struct rd_neigh *n, struct entry *e)
{
	n->wanted -= e->wanted;
	e->wanted = false;
}

/* ---- who has an entry --------------------------------------------------------------- */

static void
order_append(struct rd_neigh *n, uint32_t i)
{
	struct entry *e = &n->entry[i];
	e->older = n->newest;
	e->newer = NONE;
	e->seen_ns = e->used_ns;
	*(n->newest == NONE ? &n->oldest : &n->entry[n->newest].newer) = i;
	n->newest = i;
	n->strangers++;
}

static void
order_remove(struct rd_neigh *n, uint32_t i)
{
	const struct entry *e = &n->entry[i];
	*(e->older == NONE ? &n->oldest : &n->entry[e->older].newer) = e->newer;
	*(e->newer == NONE ? &n->newest : &n->entry[e->newer].older) = e->older;
	n->strangers--;
}

static void
release_entry(struct rd_neigh *n, uint32_t i)
{
	struct entry *e = &n->entry[i];
	uint32_t *link = bucket_of(n, e->ip);
	BASE_ASSERT(e->state != FREE && e->waiting == 0);
	settle_wanted(n, e);
	while (*link != i)
		link = &n->entry[*link].next;
	*link = e->next;
	if (!e->peer)
		order_remove(n, i);
	e->state = FREE;
	e->next = n->free;
	n->free = i;
	n->used--;
}

static void
evict(struct rd_neigh *n, uint32_t i)
{
	void *packet[64];
	uint32_t w = take_waiting(n, i, packet);
	release_entry(n, i);
	n->count.evicted++;
	n->count.drop_evicted += w;
	for (uint32_t k = 0; k < w; k++)
		n->conf.ops->drop(n->conf.user, packet[k]);
}

/* Those used since they came to their place go to the end first. */
static uint32_t
oldest_stranger(struct rd_neigh *n)
{
	for (uint32_t looks = n->strangers; looks > 0; looks--) {
		uint32_t i = n->oldest;
		if (n->entry[i].used_ns == n->entry[i].seen_ns)
			return i;
		order_remove(n, i);
		order_append(n, i);
	}
	return n->oldest;
}

/* One that nobody used for long.  It takes a look at all, so a table full of live ones is not
 * searched for each packet. */
static uint32_t
idle_peer(struct rd_neigh *n, uint64_t now_ns)
{
	uint32_t best = NONE;
	if (now_ns < n->scan_ns)
		return NONE;
	for (uint32_t i = 0; i < n->conf.entries; i++) {
		const struct entry *e = &n->entry[i];
		if (e->state != FREE && e->state != FIXED && e->peer && e->waiting == 0 &&
		    now_ns - e->used_ns >= n->conf.expiry_ns &&
		    (best == NONE || e->used_ns < n->entry[best].used_ns))
			best = i;
	}
	if (best == NONE)
		n->scan_ns = base_add_ns(now_ns, n->conf.retry_ns);
	return best;
}

static uint32_t
create_entry(struct rd_neigh *n, uint32_t ip, bool peer, uint64_t now_ns)
{
	uint32_t victim = NONE;
	if (!peer && n->strangers >= n->share) {
		victim = oldest_stranger(n);
	} else if (n->free == NONE) {
		victim = oldest_stranger(n);
		if (victim == NONE && peer)
			victim = idle_peer(n, now_ns);
		if (victim == NONE)
			return NONE;
	}
	if (victim != NONE)
		evict(n, victim);
	/* The drop of what waited may have looked up again. */
	if (n->free == NONE || find_neigh(n, ip) != NONE)
		return find_neigh(n, ip);
	uint32_t i = n->free, *head = bucket_of(n, ip);
	struct entry *e = &n->entry[i];
	n->free = e->next;
	*e = (struct entry){
		.ip = ip, .next = *head, .state = RESOLVING, .used_ns = now_ns, .peer = peer};
	*head = i;
	n->used++;
	if (!peer)
		order_append(n, i);
	return i;
}

static void
use_neigh(struct rd_neigh *n, uint32_t i, bool peer, uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	e->used_ns = now_ns;
	if (peer && !e->peer) {
		order_remove(n, i);
		e->peer = true;
	}
}

/* ---- questions ------------------------------------------------------------------------ */

static void
ask_arp(struct rd_neigh *n, uint32_t ip, const uint8_t *mac)
{
	n->count.requests++;
	n->conf.ops->request(n->conf.user, ip, mac);
}

static void
request_mac(struct rd_neigh *n, uint32_t i, uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	uint32_t ip = e->ip;
	e->tries++;
	e->due_ns = base_add_ns(now_ns, n->conf.retry_ns);
	n->next_ns = base_min_ns(n->next_ns, e->due_ns);
	if (e->state == CONTESTED) {
		uint8_t claim[6];
		memcpy(claim, e->claim, 6);
		ask_arp(n, ip, e->mac);
		ask_arp(n, ip, claim);
		return;
	}
	/* A probe first asks the known station; if it is silent, everybody. */
	ask_arp(n, ip, e->state == PROBING && e->tries <= 2 ? e->mac : NULL);
}

bool
rd_neigh_lookup(struct rd_neigh *n, uint32_t ip, enum rd_neigh_use why, uint8_t mac[6],
		void *packet, uint64_t now_ns)
{
	bool peer = why == RD_NEIGH_PEER;
	uint32_t i = find_neigh(n, ip);
	if (i != NONE && n->entry[i].state != RESOLVING) {
		use_neigh(n, i, peer, now_ns);
		memcpy(mac, n->entry[i].mac, 6);
		return true;
	}
	bool fresh = i == NONE;
	if (fresh)
		i = create_entry(n, ip, peer, now_ns);
	if (i == NONE) {
		n->count.drop_full++;
		n->conf.ops->drop(n->conf.user, packet);
		return false;
	}
	struct entry *e = &n->entry[i];
	settle_wanted(n, e);
	use_neigh(n, i, peer, now_ns);
	if (e->waiting == n->conf.pending) {
		n->count.drop_pending++;
		n->conf.ops->drop(n->conf.user, packet);
		return false;
	}
	n->slot[(size_t)i * n->conf.pending + e->waiting++] = packet;
	n->waiting++;
	if (fresh)
		request_mac(n, i, now_ns);
	return false;
}

void
rd_neigh_want(struct rd_neigh *n, uint32_t ip, uint64_t now_ns)
{
	if (n->wanted == RD_NEIGH_WANTED || n->free == NONE || n->strangers >= n->share ||
	    find_neigh(n, ip) != NONE)
		return;
	uint32_t i = create_entry(n, ip, false, now_ns);
	n->entry[i].wanted = true;
	n->wanted++;
	n->count.wanted++;
	request_mac(n, i, now_ns);
}

/* ---- what others say -------------------------------------------------------------------- */

/* It is there, and has that MAC. */
static void
settle_mac(struct rd_neigh *n, uint32_t i, const uint8_t mac[6], uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	bool moved = e->state != RESOLVING && memcmp(e->mac, mac, 6) != 0;
	uint32_t ip = e->ip;
	memmove(e->mac, mac, 6);
	settle_wanted(n, e);
	e->state = REACHABLE;
	e->tries = 0;
	e->claim_answers = false;
	e->due_ns = base_add_ns(now_ns, n->conf.expiry_ns);
	n->next_ns = base_min_ns(n->next_ns, e->due_ns);
	void *packet[64];
	uint8_t now_at[6];
	uint32_t w = take_waiting(n, i, packet);
	memcpy(now_at, e->mac, 6);
	for (uint32_t k = 0; k < w; k++)
		n->conf.ops->send(n->conf.user, packet[k], now_at);
	n->count.moved += moved;
	if (moved && n->conf.ops->moved)
		n->conf.ops->moved(n->conf.user, ip, now_at);
}

static void
contest(struct rd_neigh *n, uint32_t i, const uint8_t mac[6], uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	bool all_asked = e->state == PROBING && e->tries > 2; /* the known one was silent */
	if (now_ns < e->hold_ns && !all_asked)
		return;
	e->hold_ns = base_add_ns(now_ns, HOLD * n->conf.retry_ns);
	n->count.contested++;
	if (n->conf.ops->contested)
		n->conf.ops->contested(n->conf.user, e->ip, e->mac, mac);
	if (e->state == FIXED)
		return;
	e->tries = e->state == PROBING ? e->tries : 0; /* these it left unanswered, too */
	e->state = CONTESTED;
	e->claim_answers = false;
	memcpy(e->claim, mac, 6);
	request_mac(n, i, now_ns);
}

static void
learn_known(struct rd_neigh *n, uint32_t i, enum rd_neigh_word word, uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	if (e->state == CONTESTED && word != RD_NEIGH_ANSWERS)
		return;
	n->count.refuted += e->state == CONTESTED;
	settle_mac(n, i, e->mac, now_ns);
}

static void
learn_other(struct rd_neigh *n, uint32_t i, const uint8_t mac[6], enum rd_neigh_word word,
	    uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	if (n->conf.trusting && e->state != FIXED)
		settle_mac(n, i, mac, now_ns);
	else if (e->state != CONTESTED)
		contest(n, i, mac, now_ns);
	else if (memcmp(e->claim, mac, 6) == 0)
		e->claim_answers |= word == RD_NEIGH_ANSWERS;
	else if (!e->claim_answers && word == RD_NEIGH_ANSWERS)
		memcpy(e->claim, mac, 6); /* asked next time */
}

void
rd_neigh_learn(struct rd_neigh *n, uint32_t ip, const uint8_t mac[6], enum rd_neigh_word word,
	       uint64_t now_ns)
{
	uint32_t i = find_neigh(n, ip);
	if (i == NONE && n->conf.trusting && word == RD_NEIGH_ASKS)
		i = create_entry(n, ip, false, now_ns);
	if (i == NONE)
		return;
	struct entry *e = &n->entry[i];
	bool resolving = e->state == RESOLVING, same = memcmp(e->mac, mac, 6) == 0;
	/* What is said to everybody unasked decides nothing, and only raises a doubt. */
	if (word == RD_NEIGH_ANNOUNCES && !n->conf.trusting && (resolving || same))
		return;
	n->count.learned++;
	if (resolving)
		settle_mac(n, i, mac, now_ns);
	else if (!same)
		learn_other(n, i, mac, word, now_ns);
	else if (e->state != FIXED)
		learn_known(n, i, word, now_ns);
}

bool
rd_neigh_fix(struct rd_neigh *n, uint32_t ip, const uint8_t mac[6])
{
	uint32_t i = find_neigh(n, ip);
	if (i == NONE)
		i = create_entry(n, ip, true, 0);
	if (i == NONE)
		return false;
	use_neigh(n, i, true, n->entry[i].used_ns);
	settle_mac(n, i, mac, n->entry[i].used_ns);
	n->entry[i].state = FIXED;
	n->entry[i].due_ns = BASE_NEVER_NS;
	return true;
}

void
rd_neigh_suspect(struct rd_neigh *n, uint32_t ip, uint64_t now_ns)
{
	uint32_t i = find_neigh(n, ip);
	struct entry *e = i != NONE ? &n->entry[i] : NULL;
	if (!e || e->state != REACHABLE || now_ns < e->hold_ns)
		return;
	e->hold_ns = base_add_ns(now_ns, HOLD * n->conf.retry_ns);
	n->count.suspected++;
	e->state = PROBING;
	e->tries = 0;
	request_mac(n, i, now_ns);
}

void
rd_neigh_touch(struct rd_neigh *n, uint32_t ip, uint64_t now_ns)
{
	uint32_t i = find_neigh(n, ip);
	if (i != NONE)
		use_neigh(n, i, true, now_ns);
}

/* ---- time ------------------------------------------------------------------------------- */

static void
give_neigh_up(struct rd_neigh *n, uint32_t i)
{
	void *packet[64];
	uint32_t ip = n->entry[i].ip, w = take_waiting(n, i, packet);
	release_entry(n, i);
	n->count.unreachable++;
	n->count.drop_unreachable += w;
	for (uint32_t k = 0; k < w; k++)
		n->conf.ops->drop(n->conf.user, packet[k]);
	n->conf.ops->unreachable(n->conf.user, ip);
}

/* The known station was silent all the time. */
static void
end_contest(struct rd_neigh *n, uint32_t i, uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	uint8_t mac[6];
	if (e->claim_answers) {
		memcpy(mac, e->claim, 6);
		settle_mac(n, i, mac, now_ns);
		return;
	}
	/* Neither answers: everybody is asked, and who does is the one. */
	e->state = PROBING;
	if (e->tries >= n->conf.tries)
		give_neigh_up(n, i);
	else
		request_mac(n, i, now_ns);
}

static void
entry_due(struct rd_neigh *n, uint32_t i, uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	if (e->wanted) {
		release_entry(n, i);
		return;
	}
	if (e->state == REACHABLE) {
		if (now_ns - e->used_ns > 2 * n->conf.expiry_ns) {
			release_entry(n, i);
			return;
		}
		e->state = PROBING;
		e->tries = 0;
	}
	if (e->state == CONTESTED && e->tries >= CONTEST_TRIES)
		end_contest(n, i, now_ns);
	else if (e->state != CONTESTED && e->tries >= n->conf.tries)
		give_neigh_up(n, i);
	else
		request_mac(n, i, now_ns);
}

void
rd_neigh_tick(struct rd_neigh *n, uint64_t now_ns)
{
	if (now_ns < n->next_ns)
		return;
	/* ops may look up (new requests lower next_ns) while this runs. */
	n->next_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < n->conf.entries; i++) {
		const struct entry *e = &n->entry[i];
		if (e->state == FREE || e->state == FIXED)
			continue;
		if (e->due_ns <= now_ns)
			entry_due(n, i, now_ns);
		else
			n->next_ns = base_min_ns(n->next_ns, e->due_ns);
	}
	/* A table that fills up with questions is not walked for each of them. */
	n->next_ns = base_max_ns(n->next_ns, base_add_ns(now_ns, n->conf.retry_ns / 8));
}

uint64_t
rd_neigh_expiry_ns(const struct rd_neigh *n)
{
	return n->next_ns;
}

const struct rd_neigh_counters *
rd_neigh_counters(const struct rd_neigh *n)
{
	return &n->count;
}

uint32_t
rd_neigh_used(const struct rd_neigh *n)
{
	return n->used;
}

uint32_t
rd_neigh_waiting(const struct rd_neigh *n)
{
	return n->waiting;
}

void *
rd_neigh_fini(struct rd_neigh *n)
{
	if (!n)
		return NULL;
	for (uint32_t i = 0; i < n->conf.entries; i++) {
		void *packet[64];
		if (n->entry[i].state == FREE)
			continue;
		uint32_t w = take_waiting(n, i, packet);
		for (uint32_t k = 0; k < w; k++)
			n->conf.ops->drop(n->conf.user, packet[k]);
	}
	return n;
}
