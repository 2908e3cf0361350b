/* SPDX-License-Identifier: BSD-2-Clause */
/* The relays that are known, how they go and come, turns. */
#include "relayset_internal.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MIN_NS  (10 * BASE_MS_NS)
#define LOOK_MAX_NS  (200 * BASE_MS_NS)
#define PAUSE_MIN_NS (50 * BASE_MS_NS) /* before a relay is tried again; doubled */
#define PAUSE_MAX_NS (2 * BASE_S_NS)
#define STEADY_NS    (5 * BASE_S_NS) /* who was up so long gets a short pause again */

#ifdef SUCI_CANARY
enum relayset_bug relayset_canary;
#endif

static size_t
lay_out_relayset(const struct relayset_limits *l, void *mem, struct relayset *rs)
{
	struct base_arena a = base_arena(mem);

	base_arena_take(&a, 1, sizeof *rs);
	rs->relay = base_arena_take(&a, l->relays_max, sizeof *rs->relay);
	rs->group = base_arena_take(&a, l->groups_max + 1, sizeof *rs->group);
	return base_arena_bytes(&a);
}

size_t
relayset_footprint(const struct relayset_limits *limits)
{
	struct relayset counting;

	return lay_out_relayset(limits, NULL, &counting);
}

struct relayset *
relayset_new(void *mem, const struct relayset_conf *conf)
{
	struct relayset *rs = mem;

	memset(mem, 0, relayset_footprint(&conf->limits));
	lay_out_relayset(&conf->limits, mem, rs);
	rs->conf = *conf;
	rs->own = RELAYSET_NONE;
	return rs;
}

void
relayset_bind(struct relayset *rs, struct suci *ep, struct suci_lanes *lanes)
{
	rs->ep = ep;
	rs->lanes = lanes;
}

/* --- the list of them ----------------------------------------------------- */

uint32_t
relayset_count(const struct relayset *rs)
{
	return rs->nrelays;
}

uint32_t
relayset_find(const struct relayset *rs, const struct suci_addr *addr)
{
	for (uint32_t i = 0; i < rs->nrelays; i++) {
		const struct suci_addr *a = &rs->relay[i].conf.addr;
		if (a->port == addr->port && a->family == addr->family &&
		    !memcmp(a->ip, addr->ip, sizeof a->ip))
			return i;
	}
	return RELAYSET_NONE;
}

uint32_t
relayset_on_path(const struct relayset *rs, uint32_t path)
{
	for (uint32_t i = 0; i < rs->nrelays; i++)
		if (rs->relay[i].path == path)
			return i;
	return RELAYSET_NONE;
}

static uint32_t
put_relay(struct relayset *rs, const struct relayset_relay *relay)
{
	if (rs->nrelays == rs->conf.limits.relays_max)
		return RELAYSET_NONE;
	struct relay *r = &rs->relay[rs->nrelays];
	*r = (struct relay){.conf = *relay,
			    .path = RELAYSET_NONE,
			    .weight = 1,
			    .ways = UINT32_MAX,
			    .pause_ns = PAUSE_MIN_NS};
	suci_addr_text(&relay->addr, r->name);
	snprintf(r->why, sizeof r->why, "has not answered yet");
	return rs->nrelays++;
}

uint32_t
relayset_add(struct relayset *rs, const struct relayset_relay *relay)
{
	struct relayset_relay r = *relay;

	/* What the others of the job would say is not kept. */
	r.token = relay_hello_token(relay->token, relay->base + rs->conf.rank);
	return put_relay(rs, &r);
}

/* One that nobody named at start-up: labels and token are the same at all relays of a cluster in
 * one job.  How many relays have paths is bounded by what a group holds. */
static uint32_t
add_another(struct relayset *rs, const struct suci_addr *addr, uint32_t ipv4)
{
	uint32_t most = rs->nrelays > SUCI_GROUP_PATHS ? rs->nrelays : SUCI_GROUP_PATHS;

	if (rs->nrelays == 0 || rs->nrelays >= most)
		return RELAYSET_NONE;
	struct relayset_relay relay = rs->relay[0].conf;
	relay.addr = *addr;
	relay.addr.leg = rs->relay[0].conf.addr.leg;
	relay.ipv4 = ipv4;
	return put_relay(rs, &relay);
}

int
relayset_open(struct relayset *rs, uint32_t i, uint64_t now_ns)
{
	struct relay *r = &rs->relay[i];
	uint8_t hello[RELAY_HELLO_LEN];

	relay_hello_encode(&(struct relay_hello){.kind = RELAY_HELLO_PROCESS,
						 .token = r->conf.token,
						 .label = r->conf.base + rs->conf.rank,
						 .rank = rs->conf.rank,
						 .survives = rs->survives && !RELAYSET_BUG(HUSHED)},
			   hello);
	int err = suci_path_open(rs->ep, &r->conf.addr, hello, sizeof hello, &r->path, now_ns);
	if (err && err != SUCI_ERR_EXISTS) {
		r->path = RELAYSET_NONE;
		return err;
	}
	rs->dirty = true;
	return 0;
}

bool
relayset_all_up(const struct relayset *rs, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < rs->nrelays; i++)
		if (!rs->relay[i].up)
			return false;
	return true;
}

bool
relayset_any_up(const struct relayset *rs)
{
	for (uint32_t i = 0; i < rs->nrelays; i++)
		if (rs->relay[i].up)
			return true;
	return false;
}

void
relayset_connected(struct relayset *rs)
{
	rs->connected = true;
}

void
relayset_closing(struct relayset *rs)
{
	rs->closing = true;
}

void
relayset_info(const struct relayset *rs, uint32_t i, struct relayset_info *out)
{
	const struct relay *r = &rs->relay[i];
	struct suci_group_info info;

	*out = (struct relayset_info){.relay = r->conf,
				      .name = r->name,
				      .why = r->why,
				      .path = r->path,
				      .mtu = r->mtu,
				      .weight = r->weight,
				      .lit = r->lit,
				      .downs = r->downs,
				      .up = r->up};
	for (uint32_t k = 0; k < rs->ngroups; k++) {
		if (!suci_group_info(rs->lanes, rs->group[k].id, &info))
			continue;
		for (uint32_t m = 0; m < info.npaths; m++) {
			if (info.path[m].path != r->path)
				continue;
			out->segments += info.path[m].segments;
			out->bytes += info.path[m].bytes;
		}
	}
}

bool
relayset_draining(const struct relayset *rs)
{
	for (uint32_t i = 0; i < rs->nrelays; i++)
		if (relay_drains(&rs->relay[i]))
			return true;
	return false;
}

uint32_t
relayset_looks(const struct relayset *rs)
{
	return rs->looks;
}

/* --- notes ---------------------------------------------------------------- */

bool
relayset_tell(struct relayset *rs, uint32_t i, const void *note, size_t len, uint64_t now_ns)
{
	if (i >= rs->nrelays || !rs->relay[i].up)
		return false;
	/* A full path does not take the note, one that dies loses it. */
	bool taken = suci_path_note(rs->ep, rs->relay[i].path, note, len, now_ns) == 0;
	rs->dirty = true;
	return taken;
}

static uint32_t
called_by(const struct relayset_relay *r)
{
	return r->addr.family == 4 ? be32_load(r->addr.ip + 12) : r->ipv4;
}

/* The others should know whom I do not reach: they may reach it and send through it. */
static void
tell_lost(struct relayset *rs, uint32_t gone, bool lost, uint64_t now_ns)
{
	const struct relayset_relay *conf = &rs->relay[gone].conf;
	struct relay_note n = {.type = RELAY_NOTE_LOST,
			       .label_base = conf->base,
			       .ipv4 = called_by(conf),
			       .port = conf->addr.port,
			       .lost = lost};
	uint8_t bytes[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&n, bytes);

	for (uint32_t i = 0; i < rs->nrelays && n.ipv4; i++)
		if (i != gone)
			(void)relayset_tell(rs, i, bytes, len, now_ns);
}

static void
learn_relay(struct relayset *rs, const struct relay_list *l, uint32_t k)
{
	struct suci_addr addr = {.port = l->relay[k].port, .family = 4};

	be32_store(addr.ip + 12, l->relay[k].ipv4);
	if (l->places)
		addr = suci_addr_of(l->place[k], addr.port);
	if (l->places && (addr.family != 6 || suci_addr_fault(&addr))) /* nowhere for us */
		return;
	uint32_t i = relayset_find(rs, &addr);
	if (i == RELAYSET_NONE)
		i = add_another(rs, &addr, l->relay[k].ipv4);
	if (i == RELAYSET_NONE)
		return;
	struct relay *r = &rs->relay[i];
	r->conf.ipv4 = l->relay[k].ipv4;
	if (k == l->own)
		rs->own = i;
	/* Each speaks for itself. */
	if (k == l->self || !r->spoke)
		r->weight = l->relay[k].weight;
	r->spoke |= k == l->self;
}

void
relayset_list(struct relayset *rs, uint32_t path, const struct relay_list *l)
{
	uint32_t from = relayset_on_path(rs, path);

	if (from != RELAYSET_NONE && !suci_note_is_news(rs->ep, &rs->relay[from].list_number))
		return;
	/* Its own first, then from somewhere else in every process: there may be more than
	 * a group holds. */
	if (l->own < l->n)
		learn_relay(rs, l, l->own);
	for (uint32_t k = 0; k < l->n; k++)
		learn_relay(rs, l, (rs->conf.rank + k) % l->n);
	for (uint32_t k = 0; k < l->npolicies; k++)
		rs->policy[l->policy[k].client] = l->policy[k].policy;
	if (!rs->conf.partition_fixed)
		rs->conf.partition_ns = l->partition_s * BASE_S_NS;
	rs->unsettled = true;
	rs->look_ns = 0;
}

void
relayset_ways(struct relayset *rs, uint32_t path, uint32_t ways, uint32_t resend, uint32_t lit)
{
	uint32_t i = relayset_on_path(rs, path);

	if (i == RELAYSET_NONE)
		return;
	if (suci_note_is_news(rs->ep, &rs->relay[i].ways_number)) {
		rs->relay[i].ways = ways;
		rs->relay[i].lit = lit;
	}
	rs->resend |= resend; /* whenever it was said */
	rs->unsettled = true;
}

/* --- they go and come ----------------------------------------------------- */

bool
relayset_path_up(struct relayset *rs, uint32_t path, const struct suci_addr *addr, uint32_t mtu,
		 uint64_t now_ns)
{
	uint32_t i = relayset_on_path(rs, path);

	if (i == RELAYSET_NONE) /* it was first */
		i = relayset_find(rs, addr);
	if (i == RELAYSET_NONE)
		i = add_another(rs, addr, 0);
	if (i == RELAYSET_NONE)
		return false;
	struct relay *r = &rs->relay[i];
	bool again = r->ups > 0;
	r->path = path;
	r->up = true;
	r->mtu = mtu;
	r->ways = UINT32_MAX;
	r->lit = 0;
	r->ways_number = r->list_number = 0;
	r->ups++;
	r->silence = (struct relay_silence){0};
	r->up_ns = now_ns;
	rs->none_ns = 0;
	rs->unsettled = true;
	if (again)
		tell_lost(rs, i, false, now_ns);
	if (rs->survives)
		relayset_meet_relay(rs, i, now_ns);
	return true;
}

bool
relayset_path_down(struct relayset *rs, uint32_t path, enum suci_down why, const char *what,
		   uint64_t now_ns)
{
	uint32_t i = relayset_on_path(rs, path);

	if (i == RELAYSET_NONE)
		return false;
	struct relay *r = &rs->relay[i];
	bool was_up = r->up;
	r->up = false;
	r->path = RELAYSET_NONE;
	snprintf(r->why, sizeof r->why, "%s", what);
	rs->unsettled = true;
	if (rs->conf.ops->relay_down)
		rs->conf.ops->relay_down(rs->conf.user, i);
	if (rs->closing)
		return true;
	if (was_up && now_ns - r->up_ns > STEADY_NS)
		r->pause_ns = PAUSE_MIN_NS;
	r->retry_ns = now_ns + r->pause_ns;
	r->pause_ns = base_min_ns(2 * r->pause_ns, PAUSE_MAX_NS);
	rs->look_ns = 0;
	if (!was_up)
		return true;
	r->downs++;
	if (why != SUCI_DOWN_REFUSED && why != SUCI_DOWN_CLOSED && why != SUCI_DOWN_STALE)
		tell_lost(rs, i, true, now_ns);
	return true;
}

/* Time that I listened and it said nothing. */
static void
listen_to(struct relayset *rs, uint32_t i, uint64_t gap_ns, uint64_t now_ns)
{
	struct relay *r = &rs->relay[i];
	struct suci_path_info info;
	uint8_t ping[RELAY_NOTE_MAX];

	if (!suci_path_info(rs->ep, r->path, &info))
		return;
	switch (relay_silence_look(&r->silence, info.last_rx_ns, gap_ns, rs->conf.silence_ns,
				   now_ns)) {
	case RELAY_SILENCE_NONE:
		break;
	case RELAY_SILENCE_ASK:
		(void)relayset_tell(
			rs, i, ping,
			relay_note_encode(&(struct relay_note){.type = RELAY_NOTE_PING}, ping),
			now_ns);
		break;
	case RELAY_SILENCE_OVER:
		if (RELAYSET_BUG(DEAF))
			break;
		suci_path_silent(rs->ep, r->path, now_ns);
		rs->dirty = true;
	}
}

static void
say_nobody_left(struct relayset *rs)
{
	char text[480];
	size_t n = 0;

	text[0] = 0;
	if (rs->conf.partition_ns)
		n = (size_t)snprintf(text, sizeof text,
				     "no relay of cluster %u (this one) has been reachable for "
				     "%llu s: ",
				     rs->conf.client,
				     (unsigned long long)(rs->conf.partition_ns / BASE_S_NS));
	for (uint32_t i = 0; i < rs->nrelays && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%srelay %s %s", i ? ", " : "",
				      rs->relay[i].name, rs->relay[i].why);
	rs->conf.ops->nobody_left(rs->conf.user, text);
}

/* After one relay; true: it is up. */
static bool
look_after(struct relayset *rs, uint32_t i, uint64_t gap_ns, uint64_t now_ns)
{
	struct relay *r = &rs->relay[i];

	if (r->up && rs->conf.silence_ns)
		listen_to(rs, i, gap_ns, now_ns);
	bool up = r->up;
	if (r->path != RELAYSET_NONE || rs->closing)
		return up;
	if (now_ns >= r->retry_ns && relayset_open(rs, i, now_ns) != 0)
		r->retry_ns = now_ns + PAUSE_MAX_NS;
	if (r->path == RELAYSET_NONE)
		rs->look_ns = base_min_ns(rs->look_ns, r->retry_ns);
	return up;
}

static void
look_after_all(struct relayset *rs, uint64_t now_ns)
{
	uint64_t next = rs->conf.silence_ns ? rs->conf.silence_ns / 8 : LOOK_MAX_NS, gap;
	bool any = false, all = true;

	next = base_max_ns(base_min_ns(next, LOOK_MAX_NS), LOOK_MIN_NS);
	/* In a longer gap nobody listened: the program computed. */
	gap = rs->looked_ns ? base_min_ns(now_ns - rs->looked_ns, 2 * next) : 0;
	rs->looked_ns = now_ns;
	rs->look_ns = now_ns + next;
	rs->looks++;
	for (uint32_t i = 0; i < rs->nrelays; i++) {
		bool up = look_after(rs, i, gap, now_ns);
		any |= up;
		all &= up;
	}
	if (RELAYSET_BUG(ALONE) ? all : any)
		return;
	if (!rs->connected || rs->closing)
		return;
	/* As with silence: while the program computes nobody could come. */
	rs->none_ns += gap;
	if (rs->none_ns >= rs->conf.partition_ns || RELAYSET_BUG(ALONE))
		say_nobody_left(rs);
}

bool
relayset_turn(struct relayset *rs, uint64_t now_ns)
{
	if (rs->nrelays == 0)
		return false;
	/* Until the end: others may still wait for our acknowledgements. */
	if (now_ns >= rs->look_ns)
		look_after_all(rs, now_ns);
	if (rs->unsettled)
		relayset_settle(rs, now_ns);
	if (rs->untold)
		relayset_tell_deaths(rs, now_ns);
	bool dirty = rs->dirty;
	rs->dirty = false;
	return dirty;
}

uint64_t
relayset_expiry_ns(const struct relayset *rs)
{
	if (rs->nrelays == 0)
		return BASE_NEVER_NS;
	return rs->unsettled ? 0 : rs->look_ns;
}
