/* The relays of my cluster: paths to all of them, groups of lanes over these paths, and
 * what happens when relays go and come back (doc/job-setup.md, Several relays).
 *
 * Lanes to other clusters stand in groups, one for each pair of a client and the relay
 * that start-up named for a process of it.  The groups of a client differ by which relay
 * is preferred (policy dest) or are all alike (source, stripe):
 *
 *      settle()   what relays are up, carry the client, drain  ->  members and weights
 *
 * runs in the turn of the loop after anything of that changed, not in Suci's callbacks.
 * A relay that cannot be reached is tried again for as long as the job runs.  Only when
 * there is none at all for the partition timeout the job ends. */
#include "net_private.h"

#include "../engine/light.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define eng lmpi_eng
#define net lmpi_net

#define LOOK_MIN_NS  (10 * BASE_MS_NS)
#define LOOK_MAX_NS  (200 * BASE_MS_NS)
#define PAUSE_MIN_NS (50 * BASE_MS_NS) /* before a relay is tried again; doubled */
#define PAUSE_MAX_NS (2 * BASE_S_NS)
#define STEADY_NS    (5 * BASE_S_NS)	 /* who was up so long gets a short pause again */
#define GRACE_NS     (86400 * BASE_S_NS) /* of groups: look() ends the job long before */

_Atomic uint32_t lmpi_relays_known;
_Atomic uint32_t lmpi_relays_looks;
_Atomic bool lmpi_relays_draining;

/* --- who carries what ----------------------------------------------------- */

static bool
drains(const struct relay_state *r)
{
	return r->weight == 0;
}

static bool
fits(const struct relay_state *r)
{
	return r->mtu == 0 || net.mss_given == 0 || r->mtu >= net.mss_given + SUCI_OVERHEAD;
}

static bool
carries(const struct relay_state *r, uint32_t client)
{
	return r->up && (r->ways >> client & 1) && fits(r);
}

/* The relay that all of g goes over while it can; USE_NONE: they share. */
static uint32_t
preferred(const struct relay_group *g)
{
	switch ((enum relay_policy)net.policy[g->client]) {
	case RELAY_POLICY_STRIPE:
		return USE_NONE;
	case RELAY_POLICY_SOURCE:
		return net.own != USE_NONE ? net.own : g->relay;
	case RELAY_POLICY_DEST:
		break;
	}
	return g->relay;
}

/* What all members of a group have to know of each other. */
struct view {
	bool some_way;	/* a relay has a way to the client */
	bool preferred; /* the preferred one is to be used */
	uint32_t choice;
};

static struct view
view_of(const struct relay_group *g)
{
	struct view v = {.choice = preferred(g)};

	for (uint32_t i = 0; i < net.nrelays; i++) {
		const struct relay_state *r = &net.relay[i];
		v.some_way |= carries(r, g->client);
		if (i == v.choice)
			v.preferred = carries(r, g->client) && !drains(r);
	}
	return v;
}

static int
weight_in(const struct relay_group *g, const struct view *v, uint32_t i)
{
	const struct relay_state *r = &net.relay[i];

	if (!r->up || !fits(r))
		return LMPI_NOT_A_MEMBER;
	if (!carries(r, g->client))
		return v->some_way ? LMPI_NOT_A_MEMBER : 0; /* they wait for a way */
	if (drains(r))
		return LMPI_DRAINS;
	if (v->preferred && i != v->choice)
		return 0;
	return (int)r->weight;
}

int
lmpi_relays_weight(const struct relay_group *g, uint32_t i)
{
	struct view v = view_of(g);

	return weight_in(g, &v, i);
}

/* As Suci's groups know it. */
static uint32_t
suci_weight(int weight)
{
	return weight == LMPI_DRAINS ? SUCI_WEIGHT_DRAINS : (uint32_t)weight;
}

static void
add_member(const struct relay_group *g, uint32_t i, int weight, uint64_t now_ns)
{
	struct relay_state *r = &net.relay[i];
	struct suci_group_info info;
	int err = suci_group_add(net.lanes, g->id, r->path, suci_weight(weight), now_ns);

	/* Full: one that is only in reserve makes room. */
	if (err == SUCI_ERR_NOMEM && weight > 0 && suci_group_info(net.lanes, g->id, &info)) {
		for (uint32_t k = 0; k < info.npaths; k++) {
			if (info.path[k].weight > 0 && info.path[k].weight != SUCI_WEIGHT_DRAINS)
				continue;
			suci_group_remove(net.lanes, g->id, info.path[k].path, now_ns);
			err = suci_group_add(net.lanes, g->id, r->path, suci_weight(weight),
					     now_ns);
			break;
		}
	}
	if (err == SUCI_ERR_TOOBIG && !r->small_said) {
		r->small_said = true;
		fprintf(stderr,
			"libmpi: [%u] relay %s takes smaller datagrams than the others; it is not "
			"used\n",
			lmpi_world.rank, r->name);
	}
}

static void
settle_group(const struct relay_group *g, uint64_t now_ns)
{
	struct suci_group_info info;
	struct view v = view_of(g);
	bool in[SUCI_GROUP_PATHS] = {false};

	if (!suci_group_info(net.lanes, g->id, &info))
		return;
	/* New ones first, so that lanes are never without a path. */
	for (uint32_t k = 0; k < net.nrelays; k++) {
		/* The preferred one first: a group has SUCI_GROUP_PATHS at most. */
		uint32_t first = v.choice != USE_NONE ? v.choice : lmpi_world.rank;
		uint32_t i = (first + k) % net.nrelays;
		int want = weight_in(g, &v, i);
		uint32_t at = 0;
		while (at < info.npaths && info.path[at].path != net.relay[i].path)
			at++;
		if (at == info.npaths) {
			if (want != LMPI_NOT_A_MEMBER)
				add_member(g, i, want, now_ns);
			continue;
		}
		in[at] = want != LMPI_NOT_A_MEMBER;
		if (in[at] && suci_weight(want) != info.path[at].weight)
			suci_group_set_weight(net.lanes, g->id, info.path[at].path,
					      suci_weight(want));
	}
	for (uint32_t at = 0; at < info.npaths; at++)
		if (!in[at])
			suci_group_remove(net.lanes, g->id, info.path[at].path, now_ns);
}

static void
settle(uint64_t now_ns)
{
	net.unsettled = false;
	for (uint32_t k = 0; k < net.ngroups; k++)
		settle_group(&net.group[k], now_ns);
	for (uint32_t k = 0; k < net.ngroups; k++)
		if (net.resend >> net.group[k].client & 1)
			suci_group_resend(net.lanes, net.group[k].id, now_ns);
	net.resend = 0;
	net.dirty = true;
}

uint32_t
lmpi_relays_group(const struct lmpi_peer *peer)
{
	uint32_t client = lmpi_world.proc[peer->world].client, k;
	uint32_t relay = lmpi_route[peer->world].relay;

	for (k = 0; k < net.ngroups; k++)
		if (net.group[k].client == client && net.group[k].relay == relay)
			return net.group[k].id;
	struct relay_group *g = &net.group[k];
	if (k == net.groups_max || suci_group_new(net.lanes, GRACE_NS, &g->id) != 0) {
		/* More relays and clients than groups: any one of the client will do. */
		for (k = 0; k < net.ngroups; k++)
			if (net.group[k].client == client)
				return net.group[k].id;
		return 0;
	}
	g->client = client;
	g->relay = relay;
	net.ngroups++;
	settle_group(g, eng.now_ns);
	return g->id;
}

uint32_t
lmpi_relays_mss(void)
{
	struct suci_path_info info;
	uint32_t least = 0;

	for (uint32_t i = 0; i < net.nrelays; i++) {
		const struct relay_state *r = &net.relay[i];
		if (!r->up || !suci_path_info(net.ep, r->path, &info))
			continue;
		uint32_t mss = info.mss;
		if (r->mtu > SUCI_OVERHEAD && r->mtu - SUCI_OVERHEAD < mss)
			mss = r->mtu - SUCI_OVERHEAD;
		if (least == 0 || mss < least)
			least = mss;
	}
	if (least > net.mss_given)
		net.mss_given = least;
	return least;
}

bool
lmpi_relays_any_up(void)
{
	for (uint32_t i = 0; i < net.nrelays; i++)
		if (net.relay[i].up)
			return true;
	return false;
}

/* --- the list of them ----------------------------------------------------- */

static uint32_t
find(const uint8_t ip[4], uint16_t port)
{
	for (uint32_t i = 0; i < net.nrelays; i++)
		if (net.relay[i].conf.port == port && !memcmp(net.relay[i].conf.ip, ip, 4))
			return i;
	return USE_NONE;
}

/* One more relay; USE_NONE: there is no room. */
static uint32_t
add_relay(const struct lmpi_relay *conf)
{
	if (net.nrelays == net.relays_max)
		return USE_NONE;
	struct relay_state *r = &net.relay[net.nrelays];
	*r = (struct relay_state){.conf = *conf,
				  .path = UINT32_MAX,
				  .addr = suci_udp_addr(conf->ip, conf->port),
				  .weight = 1,
				  .ways = UINT32_MAX,
				  .pause_ns = PAUSE_MIN_NS};
	lmpi_net_name(conf->ip, conf->port, r->name);
	snprintf(r->why, sizeof r->why, "has not answered yet");
	atomic_store(&lmpi_relays_known, net.nrelays + 1);
	return net.nrelays++;
}

/* Labels and token are the same at all relays of a cluster in one job. */
static struct lmpi_relay
another(const uint8_t ip[4], uint16_t port)
{
	struct lmpi_relay conf = net.relay[0].conf;

	memcpy(conf.ip, ip, 4);
	conf.port = port;
	return conf;
}

int
lmpi_relays_start(const struct lmpi_relay *relay, uint32_t n)
{
	uint32_t remote = lmpi_world.nclients > 1 ? lmpi_world.nclients - 1 : 1;

	net.relays_max = n ? n + LMPI_RELAYS_MORE : 0;
	net.groups_max = n ? remote * n : 0;
	if (net.groups_max > 4096)
		net.groups_max = 4096;
	net.own = USE_NONE;
	net.relay = calloc(net.relays_max + 1, sizeof *net.relay);
	net.group = calloc(net.groups_max + 1, sizeof *net.group);
	if (!net.relay || !net.group)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		add_relay(&relay[i]);
	net.silence_ns = lmpi_knob_number(LMPI_KNOB_LIVENESS) * BASE_MS_NS;
	net.partition_said = lmpi_knob_text(LMPI_KNOB_PARTITION_TIMEOUT) != NULL;
	net.partition_ns = lmpi_knob_number(LMPI_KNOB_PARTITION_TIMEOUT) * BASE_S_NS;
	return 0;
}

int
lmpi_relays_open(uint32_t i, uint64_t now_ns)
{
	struct relay_state *r = &net.relay[i];
	uint8_t hello[RELAY_HELLO_LEN];

	relay_hello_encode(&(struct relay_hello){.kind = RELAY_HELLO_PROCESS,
						 .token = r->conf.token,
						 .label = r->conf.base + lmpi_world.rank,
						 .rank = lmpi_world.rank},
			   hello);
	int err = suci_path_open(net.ep, &r->addr, hello, sizeof hello, &r->path, now_ns);
	if (err && err != SUCI_ERR_EXISTS) {
		r->path = UINT32_MAX;
		return err;
	}
	net.path_use[r->path] = USE_RELAY | i;
	net.dirty = true;
	return 0;
}

/* --- notes ---------------------------------------------------------------- */

static bool
send_bytes(const struct relay_state *r, const void *note, size_t len)
{
	if (!r->up)
		return false;
	/* A full path does not take the note, one that dies loses it. */
	bool taken = suci_path_note(net.ep, r->path, note, len, eng.now_ns) == 0;
	net.dirty = true;
	return taken;
}

bool
lmpi_relays_note(struct relay_state *r, const struct relay_note *n)
{
	uint8_t bytes[RELAY_NOTE_MAX];

	return send_bytes(r, bytes, relay_note_encode(n, bytes));
}

bool
lmpi_net_tell_relay(uint32_t i, const void *note, size_t len)
{
	return i < net.nrelays && send_bytes(&net.relay[i], note, len);
}

uint32_t
lmpi_net_relay_base(uint32_t i)
{
	return net.relay[i].conf.base;
}

/* The others should know whom I do not reach: they may reach it and send through it. */
static void
tell_lost(const struct relay_state *gone, bool lost)
{
	struct relay_note n = {.type = RELAY_NOTE_LOST,
			       .ipv4 = be32_load(gone->conf.ip),
			       .port = gone->conf.port,
			       .lost = lost};

	for (uint32_t i = 0; i < net.nrelays; i++) {
		struct relay_state *r = &net.relay[i];
		if (r == gone || !r->up)
			continue;
		n.label_base = r->conf.base;
		lmpi_relays_note(r, &n);
	}
}

/* How many relays I keep paths to. */
static uint32_t
wanted_most(void)
{
	return net.nrelays > SUCI_GROUP_PATHS ? net.nrelays : SUCI_GROUP_PATHS;
}

static void
learn(const struct relay_list *n, uint32_t k)
{
	uint8_t ip[4];

	be32_store(ip, n->relay[k].ipv4);
	uint32_t i = find(ip, n->relay[k].port);

	if (i == USE_NONE && net.nrelays < wanted_most()) {
		struct lmpi_relay conf = another(ip, n->relay[k].port);
		i = add_relay(&conf);
		if (i != USE_NONE)
			net.relay[i].weight = n->relay[k].weight;
	}
	if (i == USE_NONE)
		return;
	struct relay_state *r = &net.relay[i];
	if (k == n->own)
		net.own = i;
	/* Each speaks for itself. */
	if (k == n->self || !r->spoke)
		r->weight = n->relay[k].weight;
	r->spoke |= k == n->self;
}

/* Whom the path leads to; NULL: no relay of mine. */
static struct relay_state *
relay_on(uint32_t path)
{
	uint32_t use = net.path_use[path];

	if (use == USE_NONE || !(use & USE_RELAY) || use == USE_OTHER_RELAY)
		return NULL;
	return &net.relay[use & ~USE_RELAY];
}

void
lmpi_relays_told(uint32_t path, const struct relay_list *n)
{
	struct relay_state *from = relay_on(path);
	bool drain = false;

	if (from && !suci_note_is_news(net.ep, &from->list_number))
		return;
	/* Its own first, then from somewhere else in every process: there may be more than
	 * a group holds. */
	if (n->own < n->n)
		learn(n, n->own);
	for (uint32_t k = 0; k < n->n; k++)
		learn(n, (lmpi_world.rank + k) % n->n);
	for (uint32_t k = 0; k < n->npolicies; k++)
		net.policy[n->policy[k].client] = n->policy[k].policy;
	if (!net.partition_said)
		net.partition_ns = n->partition_s * BASE_S_NS;
	for (uint32_t i = 0; i < net.nrelays; i++)
		drain |= drains(&net.relay[i]);
	atomic_store(&lmpi_relays_draining, drain);
	net.unsettled = true;
	net.look_ns = 0;
}

void
lmpi_relays_ways(uint32_t path, uint32_t ways, uint32_t resend)
{
	struct relay_state *r = relay_on(path);

	if (!r)
		return;
	if (suci_note_is_news(net.ep, &r->ways_number))
		r->ways = ways;
	net.resend |= resend; /* whenever it was said */
	net.unsettled = true;
}

/* --- they go and come ----------------------------------------------------- */

bool
lmpi_relays_path_up(uint32_t path, const struct suci_addr *addr, uint32_t mtu)
{
	uint32_t use = net.path_use[path], i = use & ~USE_RELAY;

	if (use == USE_OTHER_RELAY)
		return false;
	if (use == USE_NONE) { /* it was first */
		i = find(addr->ip + 12, addr->port);
		if (i == USE_NONE && net.nrelays > 0 && net.nrelays < wanted_most()) {
			struct lmpi_relay conf = another(addr->ip + 12, addr->port);
			i = add_relay(&conf);
		}
		if (i == USE_NONE)
			return false;
		net.path_use[path] = USE_RELAY | i;
	}
	struct relay_state *r = &net.relay[i];
	bool again = r->ups > 0;
	r->path = path;
	r->up = true;
	r->mtu = mtu;
	r->ways = UINT32_MAX;
	r->ways_number = r->list_number = 0;
	r->ups++;
	r->deaf_ns = 0;
	r->up_ns = eng.now_ns;
	net.none_ns = 0;
	net.unsettled = true;
	if (again)
		tell_lost(r, false);
	return true;
}

void
lmpi_relays_path_down(uint32_t i, enum suci_down why, const char *word, const char *text)
{
	struct relay_state *r = &net.relay[i];
	uint64_t now = eng.now_ns;
	bool was_up = r->up;

	r->up = false;
	r->path = UINT32_MAX;
	lmpi_light_relay_gone(i);
	snprintf(r->why, sizeof r->why, "%s%s%s", word, text && *text ? ": " : "",
		 text ? text : "");
	net.unsettled = true;
	if (eng.closing)
		return;
	if (was_up && now - r->up_ns > STEADY_NS)
		r->pause_ns = PAUSE_MIN_NS;
	r->retry_ns = now + r->pause_ns;
	r->pause_ns = base_min_ns(2 * r->pause_ns, PAUSE_MAX_NS);
	net.look_ns = 0;
	if (!was_up)
		return;
	r->downs++;
	if (why != SUCI_DOWN_REFUSED && why != SUCI_DOWN_CLOSED && why != SUCI_DOWN_STALE)
		tell_lost(r, true);
}

/* Time that I listened and it said nothing. */
static void
listen_to(struct relay_state *r, uint64_t gap_ns, uint64_t now_ns)
{
	struct suci_path_info info;
	uint64_t ask = base_min_ns(BASE_S_NS, net.silence_ns / 4);

	if (!suci_path_info(net.ep, r->path, &info))
		return;
	if (info.last_rx_ns != r->heard_ns) {
		r->heard_ns = info.last_rx_ns;
		r->deaf_ns = 0;
		return;
	}
	r->deaf_ns += gap_ns;
	if (r->deaf_ns >= net.silence_ns) {
		suci_path_silent(net.ep, r->path, now_ns);
		net.dirty = true;
	} else if (r->deaf_ns >= ask && now_ns - r->ping_ns >= ask) {
		r->ping_ns = now_ns;
		lmpi_relays_note(r, &(struct relay_note){.type = RELAY_NOTE_PING});
	}
}

static void
fail_partition(void)
{
	char text[360];
	size_t n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < net.nrelays && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%srelay %s %s", i ? ", " : "",
				      net.relay[i].name, net.relay[i].why);
	if (net.partition_ns == 0)
		lmpi_fail("%s", text);
	else
		lmpi_fail("no relay of cluster %u (this one) has been reachable for %llu s: %s",
			  lmpi_world.client, (unsigned long long)(net.partition_ns / BASE_S_NS),
			  text);
}

static void
look(uint64_t now_ns)
{
	uint64_t next = net.silence_ns ? net.silence_ns / 8 : LOOK_MAX_NS, gap;
	bool up = false;

	next = base_max_ns(base_min_ns(next, LOOK_MAX_NS), LOOK_MIN_NS);
	/* In a longer gap nobody listened: the program computed. */
	gap = net.looked_ns ? base_min_ns(now_ns - net.looked_ns, 2 * next) : 0;
	net.looked_ns = now_ns;
	net.look_ns = now_ns + next;
	atomic_fetch_add_explicit(&lmpi_relays_looks, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < net.nrelays; i++) {
		struct relay_state *r = &net.relay[i];
		if (r->up && net.silence_ns)
			listen_to(r, gap, now_ns);
		up |= r->up;
		if (r->path != UINT32_MAX || eng.closing)
			continue;
		if (now_ns >= r->retry_ns && lmpi_relays_open(i, now_ns) != 0)
			r->retry_ns = now_ns + PAUSE_MAX_NS;
		if (r->path == UINT32_MAX)
			net.look_ns = base_min_ns(net.look_ns, r->retry_ns);
	}
	if (up || !net.connected || eng.closing)
		return;
	/* As with silence: while the program computes nobody could come. */
	net.none_ns += gap;
	if (net.none_ns >= net.partition_ns)
		fail_partition();
}

void
lmpi_relays_turn(uint64_t now_ns)
{
	if (net.nrelays == 0)
		return;
	/* Until the end: others may still wait for our acknowledgements. */
	if (now_ns >= net.look_ns)
		look(now_ns);
	if (net.unsettled)
		settle(now_ns);
}

void
lmpi_relays_print_stats(void)
{
	for (uint32_t i = 0; i < net.nrelays; i++) {
		const struct relay_state *r = &net.relay[i];
		uint64_t segments = 0, bytes = 0;
		for (uint32_t k = 0; k < net.ngroups; k++) {
			struct suci_group_info info;
			if (!suci_group_info(net.lanes, net.group[k].id, &info))
				continue;
			for (uint32_t m = 0; m < info.npaths; m++) {
				if (info.path[m].path != r->path)
					continue;
				segments += info.path[m].segments;
				bytes += info.path[m].bytes;
			}
		}
		fprintf(stderr,
			"libmpi: [%u] relay %s %s, lost %u times, since then %llu segments "
			"(%llu bytes)\n",
			lmpi_world.rank, r->name, r->up ? "up" : r->why, r->downs,
			(unsigned long long)segments, (unsigned long long)bytes);
	}
}
