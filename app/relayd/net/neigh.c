#include "rd/neigh.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

#define NONE UINT32_MAX

enum state { FREE = 0, RESOLVING, REACHABLE, PROBING };

struct entry {
	uint32_t ip;
	uint32_t next; /* in its bucket, or in the free list */
	uint8_t mac[6];
	uint8_t state;
	uint8_t tries;	  /* requests sent in this state */
	uint32_t waiting; /* packets in slot[] */
	uint64_t due_ns;  /* RESOLVING, PROBING: next request; REACHABLE: when it is old */
	uint64_t used_ns;
};

struct rd_neigh {
	struct rd_neigh_conf conf;
	struct rd_neigh_counters count;
	uint64_t next_ns;
	uint32_t nbuckets, free, used, waiting;
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
	       c->tries >= 1 && c->tries <= 100 && c->retry_ns && c->expiry_ns;
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
find(struct rd_neigh *n, uint32_t ip)
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

static void
release_entry(struct rd_neigh *n, uint32_t i)
{
	struct entry *e = &n->entry[i];
	uint32_t *link = bucket_of(n, e->ip);
	BASE_ASSERT(e->state != FREE && e->waiting == 0);
	while (*link != i)
		link = &n->entry[*link].next;
	*link = e->next;
	e->state = FREE;
	e->next = n->free;
	n->free = i;
	n->used--;
}

/* The least recently used entry that does not wait for an answer. */
static uint32_t
oldest(const struct rd_neigh *n)
{
	uint32_t best = NONE;
	for (uint32_t i = 0; i < n->conf.entries; i++) {
		const struct entry *e = &n->entry[i];
		if ((e->state == REACHABLE || e->state == PROBING) &&
		    (best == NONE || e->used_ns < n->entry[best].used_ns))
			best = i;
	}
	return best;
}

static uint32_t
create_entry(struct rd_neigh *n, uint32_t ip, uint64_t now_ns)
{
	if (n->free == NONE) {
		uint32_t victim = oldest(n);
		if (victim == NONE)
			return NONE;
		n->count.evicted++;
		release_entry(n, victim);
	}
	uint32_t i = n->free, *head = bucket_of(n, ip);
	struct entry *e = &n->entry[i];
	n->free = e->next;
	*e = (struct entry){.ip = ip, .next = *head, .state = RESOLVING, .used_ns = now_ns};
	*head = i;
	n->used++;
	return i;
}

static void
request(struct rd_neigh *n, uint32_t i, uint64_t now_ns)
{
	struct entry *e = &n->entry[i];
	e->tries++;
	e->due_ns = base_add_ns(now_ns, n->conf.retry_ns);
	n->next_ns = base_min_ns(n->next_ns, e->due_ns);
	n->count.requests++;
	/* A probe first asks the known station; if it is silent, everybody. */
	bool unicast = e->state == PROBING && e->tries <= 2;
	n->conf.ops->request(n->conf.user, e->ip, unicast ? e->mac : NULL);
}

bool
rd_neigh_lookup(struct rd_neigh *n, uint32_t ip, uint8_t mac[6], void *packet, uint64_t now_ns)
{
	uint32_t i = find(n, ip);
	if (i != NONE && n->entry[i].state != RESOLVING) {
		n->entry[i].used_ns = now_ns;
		memcpy(mac, n->entry[i].mac, 6);
		return true;
	}
	bool fresh = i == NONE;
	if (fresh)
		i = create_entry(n, ip, now_ns);
	if (i == NONE) {
		n->count.drop_full++;
		n->conf.ops->drop(n->conf.user, packet);
		return false;
	}
	struct entry *e = &n->entry[i];
	e->used_ns = now_ns;
	if (e->waiting == n->conf.pending) {
		n->count.drop_pending++;
		n->conf.ops->drop(n->conf.user, packet);
		return false;
	}
	n->slot[(size_t)i * n->conf.pending + e->waiting++] = packet;
	n->waiting++;
	if (fresh)
		request(n, i, now_ns);
	return false;
}

void
rd_neigh_learn(struct rd_neigh *n, uint32_t ip, const uint8_t mac[6], bool create, uint64_t now_ns)
{
	uint32_t i = find(n, ip);
	if (i == NONE && create)
		i = create_entry(n, ip, now_ns);
	if (i == NONE)
		return;
	struct entry *e = &n->entry[i];
	n->count.learned++;
	if (e->state != RESOLVING && memcmp(e->mac, mac, 6) != 0)
		n->count.moved++;
	memcpy(e->mac, mac, 6);
	e->state = REACHABLE;
	e->tries = 0;
	e->due_ns = base_add_ns(now_ns, n->conf.expiry_ns);
	n->next_ns = base_min_ns(n->next_ns, e->due_ns);
	void *packet[64];
	uint32_t w = take_waiting(n, i, packet);
	for (uint32_t k = 0; k < w; k++)
		n->conf.ops->send(n->conf.user, packet[k], mac);
}

static void
give_up(struct rd_neigh *n, uint32_t i)
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

void
rd_neigh_tick(struct rd_neigh *n, uint64_t now_ns)
{
	if (now_ns < n->next_ns)
		return;
	/* ops may look up (new requests lower next_ns) while this runs. */
	n->next_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < n->conf.entries; i++) {
		struct entry *e = &n->entry[i];
		if (e->state == FREE)
			continue;
		if (e->due_ns > now_ns) {
			n->next_ns = base_min_ns(n->next_ns, e->due_ns);
			continue;
		}
		if (e->state == REACHABLE) {
			if (now_ns - e->used_ns > 2 * n->conf.expiry_ns) {
				release_entry(n, i);
				continue;
			}
			e->state = PROBING;
			e->tries = 0;
		}
		if (e->tries >= n->conf.tries)
			give_up(n, i);
		else
			request(n, i, now_ns);
	}
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
