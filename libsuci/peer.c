/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths and lanes to peers: opened when there is something to write, tried again while
 * nobody answers, given up after connect_ms.  Blocks are handed to a lane only when
 * its path is up, so what a lane loses is what a living peer may have lost. */
#include "datagram_internal.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC	     0x53554349u /* "SUCI" */
#define VERSION	     1u
#define GAP_NS	     (10 * BASE_MS_NS)
#define GAP_NS_MAX   (500 * BASE_MS_NS)
#define SILENCE_MAX  240
#define WINDOW	     4096u /* segments of a lane a peer may have outstanding */
#define WINDOW_FIRST 256u  /* at first, over relays */

enum { NOTE_LEAVE = 1, NOTE_LEFT = 2 };
#define NOTE_BYTES 20

void
datagram_peer_name(const struct peer *p, char out[SUCI_ADDR_TEXT_MAX])
{
	if (p->relayed && p->known)
		snprintf(out, SUCI_ADDR_TEXT_MAX, "door of cluster %u", p->at.cluster);
	else if (p->relayed)
		snprintf(out, SUCI_ADDR_TEXT_MAX, "a door");
	else if (p->addr.port)
		suci_addr_text(&p->addr, out);
	else
		snprintf(out, SUCI_ADDR_TEXT_MAX, "of no address yet");
}

bool
datagram_out_of_reach(const struct datagram_sock *s, const struct suci_addr *to)
{
	struct suci_addr me = suci_udp_local(s->udp);
	return me.family != to->family && (me.family == 4 || !suci_addr_is_any(&me));
}

void
datagram_peer_init(const struct datagram_sock *s, struct peer *p, uint32_t id)
{
	*p = (struct peer){.id = id,
			   .path = NONE,
			   .import = NONE,
			   .life = 1,
			   .prio = (uint8_t)s->conf.priority,
			   .pace = s->conf.slow_write};
	for (unsigned k = 0; k < PRIOS; k++)
		p->lane[k] = NONE;
}

void
datagram_hello_put(uint8_t out[HELLO_BYTES], const struct datagram_conf *me, uint32_t to)
{
	be32_store(out, MAGIC);
	be32_store(out + 4, VERSION << 16 | (me->flags & DATAGRAM_CRC));
	be32_store(out + 8, me->id);
	be32_store(out + 12, to);
}

static bool
peer_hello_get(const uint8_t *b, size_t len, uint32_t *flags, uint32_t *from, uint32_t *to)
{
	if (len != HELLO_BYTES || be32_load(b) != MAGIC || be32_load(b + 4) >> 16 != VERSION)
		return false;
	*flags = be32_load(b + 4) & 0xffff;
	*from = be32_load(b + 8);
	*to = be32_load(b + 12);
	return true;
}

/* ---- waiting for a path ---- */

void
datagram_peer_pend(struct datagram_sock *s, struct peer *p, uint64_t at_ns)
{
	if (!p->pending) {
		p->pending = true;
		p->pending_next = s->pending;
		s->pending = p;
		p->pend_at_ns = at_ns;
	}
	p->pend_at_ns = base_min_ns(p->pend_at_ns, at_ns);
	s->pending_at_ns = base_min_ns(s->pending_at_ns, at_ns);
}

bool
datagram_peer_open_lane(struct datagram_sock *s, struct peer *p, unsigned prio, uint32_t path)
{
	uint32_t from = p->own + prio, to = p->label + prio, lane;
	uint32_t site = p->relayed ? door_sites_at(&s->door.sites, path) : NONE;
	struct suci_lane_conf c = {
		.path = path,
		.tx_dst_label = to,
		.tx_src_label = from,
		.rx_dst_label = from,
		.rx_src_label = to,
		.direct = !p->relayed,
		.crc = s->conf.flags & DATAGRAM_CRC,
		.prio = (uint8_t)prio,
		.mss = site != NONE ? door_sites_mss(&s->door.sites, site) : 0,
		.window = p->relayed ? WINDOW_FIRST : WINDOW,
		.window_max = WINDOW,
		.life = p->relayed ? p->life : 0,
	};
	if (!p->door) { /* doors do not know what the other calls them */
		c.tx_salt = (uint64_t)from << 32 | to;
		c.rx_salt = (uint64_t)to << 32 | from;
	}
	if (suci_lane_open(s->lanes, &c, &lane, s->now_ns))
		return false;
	s->lane[lane] = (struct lane_state){.peer = p, .prio = (uint8_t)prio};
	p->lane[prio] = lane;
	return true;
}

void
datagram_peer_outlive(const struct datagram_sock *s, struct peer *p, uint32_t lane)
{
	struct suci_lane_info l;
	if (suci_lane_info(s->lanes, lane, &l) && !suci_life_newer(p->life, l.life))
		p->life = suci_life_next(l.life);
}

bool
datagram_peer_give(struct datagram_sock *s, struct peer *p, struct out *o)
{
	if (!p->up ||
	    (p->lane[o->prio] == NONE && !datagram_peer_open_lane(s, p, o->prio, p->path)))
		return false;
	if (suci_lane_send(s->lanes, p->lane[o->prio], NULL, 0, o->data, o->bytes, o->end != NULL,
			   (uint64_t)(uintptr_t)o, s->now_ns))
		return false;
	o->given = true;
	p->given[o->prio]++;
	s->dirty = true;
	return true;
}

void
datagram_peer_lose(struct datagram_sock *s, struct peer *p, int err)
{
	if (!p->head)
		return;
	p->lost_now += p->queue_blocks;
	p->error = err;
	datagram_outs_lose(s, p);
}

/* When the peer is to be looked at again: NEVER, not before something happens. */
static uint64_t
try_peer(struct datagram_sock *s, struct peer *p)
{
	if (p->up || !p->give) {
		p->try_since_ns = 0;
		return BASE_NEVER_NS;
	}
	if (p->door && !p->known) { /* it came by itself, and is gone */
		datagram_peer_lose(s, p, ECONNRESET);
		return BASE_NEVER_NS;
	}
	if (!p->try_since_ns) {
		p->try_since_ns = p->try_at_ns = s->now_ns;
		p->try_gap_ns = GAP_NS;
		p->why[0] = 0;
	}
	uint64_t end = s->conf.connect_ms
			       ? p->try_since_ns + s->conf.connect_ms * (uint64_t)BASE_MS_NS
			       : BASE_NEVER_NS;
	if (s->now_ns >= end) {
		p->try_since_ns = 0;
		datagram_door_why(s, p);
		datagram_peer_lose(s, p, ETIMEDOUT);
		if (p->path != NONE)
			suci_path_close(s->ep, p->path, "gave up", s->now_ns);
		return BASE_NEVER_NS;
	}
	if (p->relayed)
		return datagram_door_import(s, p, end);
	if (p->path != NONE || !p->addr.port)
		return end;
	if (s->now_ns < p->try_at_ns)
		return base_min_ns(end, p->try_at_ns);
	uint8_t hello[DOOR_HELLO_LEN];
	uint32_t path;
	datagram_hello_put(hello, &s->conf, p->id);
	if (p->door)
		datagram_door_hello(s, p, hello);
	int err = suci_path_open(s->ep, &p->addr, hello, p->door ? DOOR_HELLO_LEN : HELLO_BYTES,
				 &path, s->now_ns);
	if (err && err != SUCI_ERR_EXISTS)
		return base_min_ns(end, s->now_ns + BASE_MS_NS); /* one is just going down */
	p->path = path;
	s->path_peer[path] = p;
	s->dirty = true;
	return end;
}

void
datagram_peers_pump(struct datagram_sock *s)
{
	struct peer *list = s->pending, *p;
	s->pending = NULL;
	s->pending_at_ns = BASE_NEVER_NS;
	while ((p = list)) {
		list = p->pending_next;
		p->pending = false;
		if (s->now_ns < p->pend_at_ns) {
			datagram_peer_pend(s, p, p->pend_at_ns);
			continue;
		}
		while (p->give && datagram_peer_give(s, p, p->give))
			p->give = p->give->next;
		/* A lane that is full for the moment is looked at after each turn. */
		uint64_t at = p->up && p->give ? s->now_ns : try_peer(s, p);
		if (p->give)
			datagram_peer_pend(s, p, at);
	}
}

/* One who is refused for who he is hears nothing, so that nobody learns who is known: each end says
 * what it can see itself, and what to look at. */
static void
say_silence(const struct datagram_sock *s, const struct peer *p, char out[SILENCE_MAX])
{
	static const char *const refused[] = {
		[STRANGER_BARE] = "one of us has an identity_file, the other none",
		[STRANGER_ELSEWHERE] = "its site's prefixes in our peers_file do not cover it",
		[STRANGER_UNKNOWN] = "its public key is not in our peers_file",
	};
	char key[2 * SEAL_DH + 1];

	if (!p->relayed && p->addr.port && datagram_out_of_reach(s, &p->addr)) {
		snprintf(out, SILENCE_MAX, "cannot be reached: its address is IPv%u, ours is not",
			 p->addr.family);
	} else if (p->stranger) {
		snprintf(out, SILENCE_MAX, "is refused by us: %s", refused[p->stranger]);
	} else if (s->ring) {
		seal_hex(s->ring->me.public_key, key);
		snprintf(out, SILENCE_MAX,
			 "does not answer, or refuses us: does its peers_file have our public key "
			 "%s for this address, and does ours have its key",
			 key);
	} else {
		snprintf(out, SILENCE_MAX, "does not answer%s",
			 s->sealed ? ", or refuses us: does it have a key of our psk_file" : "");
	}
}

static void
note_stranger(void *user, const struct suci_addr *from, const uint8_t *public_key,
	      const struct seal_peer *known)
{
	struct datagram_sock *s = user;

	for (size_t i = 0; i < s->nplaces; i++)
		if (!s->peer[i].relayed && !memcmp(&s->peer[i].addr, from, sizeof *from))
			s->peer[i].stranger = !public_key ? STRANGER_BARE
					      : known	  ? STRANGER_ELSEWHERE
							  : STRANGER_UNKNOWN;
}

int
datagram_peer_error(struct datagram_sock *s, struct peer *p)
{
	char name[SUCI_ADDR_TEXT_MAX], silence[SILENCE_MAX];
	if (!p->error)
		return 0;
	int err = p->error;
	unsigned long long lost = p->lost_now;
	p->error = 0;
	p->lost_now = 0;
	datagram_peer_name(p, name);
	say_silence(s, p, silence);
	return datagram_fail(s, err, "id %u (%s) %s: %llu %s to it lost", p->id, name,
			     p->why[0] ? p->why : silence, lost, lost == 1 ? "block" : "blocks");
}

/* ---- leaving ---- */

static bool
send_peer_note(struct datagram_sock *s, struct peer *p, uint32_t type)
{
	uint8_t b[NOTE_BYTES];
	be32_store(b, type);
	for (unsigned i = 0; i < PRIOS; i++)
		be32_store(b + 4 + 4 * i, p->given[i]);
	s->dirty = true;
	return suci_path_note(s->ep, p->path, b, sizeof b, s->now_ns) == SUCI_ERR_OK;
}

static bool
any_given(const struct peer *p)
{
	return p->given[0] | p->given[1] | p->given[2] | p->given[3];
}

bool
datagram_peers_left(struct datagram_sock *s)
{
	bool all = true;
	for (uint32_t i = 0; i < s->nplaces; i++) {
		struct peer *p = &s->peer[i];
		if (!p->up || !any_given(p) || p->leave_done || p->relayed)
			continue;
		all = false;
		if (!p->leave_sent)
			p->leave_sent = send_peer_note(s, p, NOTE_LEAVE);
	}
	return all;
}

void
datagram_peers_answer(struct datagram_sock *s)
{
	s->notes = false;
	for (uint32_t i = 0; i < s->nplaces; i++) {
		struct peer *p = &s->peer[i];
		if (!p->leave_asked || !p->up || memcmp(p->got, p->leave_at, sizeof p->got))
			continue;
		p->leave_asked = !send_peer_note(s, p, NOTE_LEFT);
		s->notes |= p->leave_asked;
	}
}

static void
on_peer_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct datagram_sock *s = user;
	struct peer *p = s->path_peer[path];
	const uint8_t *b = note;
	(void)now_ns;
	uint32_t site = door_sites_at(&s->door.sites, path);
	if (site != NONE)
		datagram_door_note(s, site, note, len);
	if (!p || p->path != path || len != NOTE_BYTES)
		return;
	if (be32_load(b) == NOTE_LEAVE) {
		for (unsigned i = 0; i < PRIOS; i++)
			p->leave_at[i] = be32_load(b + 4 + 4 * i);
		p->leave_asked = s->notes = true;
	} else if (be32_load(b) == NOTE_LEFT) {
		p->leave_done = p->leave_sent;
	}
}

/* ---- what Suci tells us ---- */

static int
on_peer_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	       char why[SUCI_TEXT_MAX])
{
	struct datagram_sock *s = user;
	uint32_t flags, id, to;
	if (datagram_door_is_hello(hello, len))
		return datagram_door_accept(s, hello, len, why);
	if (!peer_hello_get(hello, len, &flags, &id, &to)) {
		snprintf(why, SUCI_TEXT_MAX, "%s",
			 len >= 8 && be32_load(hello) == MAGIC
				 ? "a process of another version of libsuci: update one of them"
				 : "not a process of this library");
		return -1;
	}
	struct peer *p = datagram_peer_find(s, id);
	if (s->closing)
		snprintf(why, SUCI_TEXT_MAX, "id %u is leaving", s->me->id);
	else if (to != s->me->id)
		snprintf(why, SUCI_TEXT_MAX, "id %u is here, not id %u", s->me->id, to);
	else if (flags != (s->conf.flags & DATAGRAM_CRC))
		snprintf(why, SUCI_TEXT_MAX, "CRC is %s here", flags ? "off" : "on");
	else if (!p || p == s->me)
		snprintf(why, SUCI_TEXT_MAX, "id %u is not in the address database here", id);
	else if (!p->anywhere && memcmp(&p->addr, from, sizeof *from))
		snprintf(why, SUCI_TEXT_MAX,
			 "id %u has another address in the address database here", id);
	else
		return 0;
	return -1;
}

/* The path that was there is none any more. */
void
datagram_peer_forget(struct datagram_sock *s, struct peer *p)
{
	for (unsigned i = 0; i < PRIOS; i++) {
		uint32_t lane = p->lane[i];
		if (lane == NONE)
			continue;
		p->lane[i] = NONE;
		datagram_in_lane_end(s, lane);
	}
	p->path = NONE;
	p->up = p->leave_asked = p->leave_sent = p->leave_done = false;
	memset(p->given, 0, sizeof p->given);
	memset(p->got, 0, sizeof p->got);
}

static void
on_peer_path_up(void *user, uint32_t path, const struct suci_addr *from, const void *hello,
		size_t len, bool incoming)
{
	struct datagram_sock *s = user;
	uint32_t flags, id, to;
	struct peer *p = s->path_peer[path];
	uint32_t site = door_sites_at(&s->door.sites, path);
	if (site != NONE) {
		datagram_door_up(s, site, hello, len);
		return;
	}
	if (incoming && datagram_door_is_hello(hello, len))
		p = datagram_door_came(s, from);
	else if (incoming && peer_hello_get(hello, len, &flags, &id, &to))
		p = datagram_peer_find(s, id); /* accept saw to it that it is there */
	if (!p) {
		suci_path_close(s->ep, path, "nobody wants this path", s->now_ns);
		return;
	}
	if (p->path != NONE && p->path != path) {
		/* Whoever came as this id before is replaced. */
		uint32_t old = p->path;
		s->path_peer[old] = NULL;
		for (unsigned i = 0; i < PRIOS; i++)
			if (p->lane[i] != NONE)
				suci_lane_close(s->lanes, p->lane[i], s->now_ns);
		datagram_peer_forget(s, p);
		suci_path_close(s->ep, old, "another process has that id now", s->now_ns);
		snprintf(p->why, sizeof p->why, "was replaced by another process");
		datagram_peer_lose(s, p, ECONNRESET);
		p->error = p->lost_now ? ECONNRESET : p->error;
	}
	s->path_peer[path] = p;
	p->path = path;
	p->up = true;
	p->stranger = STRANGER_NONE;
	p->try_since_ns = 0;
	if (p->anywhere)
		p->addr = *from;
	datagram_peer_pace(s, p);
	if (p->give)
		datagram_peer_pend(s, p, 0);
}

void
datagram_peer_pace(struct datagram_sock *s, struct peer *p)
{
	if (!p->up)
		return;
	(void)suci_path_set_pace(s->ep, p->path, p->pace);
	(void)suci_path_set_window(s->ep, p->path, p->window);
}

static void
on_peer_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct datagram_sock *s = user;
	struct peer *p = s->path_peer[path];
	uint32_t site = door_sites_at(&s->door.sites, path);
	s->path_peer[path] = NULL;
	if (site != NONE)
		datagram_door_down(s, site, why, text);
	if (!p || p->path != path)
		return;
	bool was_up = p->up;
	bool says = text && *text &&
		    (why == SUCI_DOWN_CLOSED || why == SUCI_DOWN_REFUSED ||
		     why == SUCI_DOWN_UNREACHABLE);
	if (why == SUCI_DOWN_TIMEOUT || why == SUCI_DOWN_LOCAL)
		p->why[0] = 0; /* see say_silence() */
	else
		snprintf(p->why, sizeof p->why, "%s%s%.70s", suci_down_does(why), says ? ": " : "",
			 says ? text : "");
	datagram_peer_forget(s, p);
	if (was_up) {
		/* Those that were given are counted already. */
		p->lost_now += p->queue_blocks;
		datagram_outs_lose(s, p);
		p->error = p->lost_now ? ECONNRESET : p->error;
	} else if (p->give && p->door && why == SUCI_DOWN_REFUSED) {
		datagram_peer_lose(s, p, ECONNREFUSED);
	} else if (p->give) {
		p->try_at_ns = s->now_ns + p->try_gap_ns;
		p->try_gap_ns = base_min_ns(2 * p->try_gap_ns, GAP_NS_MAX);
		datagram_peer_pend(s, p, p->try_at_ns);
	}
}

static enum suci_verdict
on_unknown(void *user, uint32_t path, uint32_t dst_label, uint32_t src_label)
{
	struct datagram_sock *s = user;
	struct peer *p = s->path_peer[path];
	uint32_t prio = dst_label % PRIOS, site = door_sites_at(&s->door.sites, path);
	if (site != NONE)
		return datagram_door_unknown(s, site, dst_label, src_label);
	if (!p || p->path != path || src_label != p->label + prio || dst_label != p->own + prio ||
	    p->lane[prio] != NONE)
		return SUCI_DROPPED;
	return datagram_peer_open_lane(s, p, prio, path) ? SUCI_TAKEN : SUCI_REFUSED;
}

static void
on_peer_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct datagram_sock *s = user;
	struct lane_state *l = &s->lane[lane];
	(void)text;
	if (!l->peer)
		return;
	struct peer *p = l->peer;
	p->lane[l->prio] = NONE;
	datagram_peer_outlive(s, p, lane);
	datagram_in_lane_end(s, lane);
	if (why == SUCI_DOWN_RESTARTED && p->relayed && !p->resting && p->lost_now) {
		snprintf(p->why, sizeof p->why, "begins anew");
		p->error = ECONNRESET;
	}
	if (why == SUCI_DOWN_RESTARTED && p->relayed && p->give)
		datagram_peer_pend(s, p, 0);
	/* The CRC failed again and again: the path is of no use, either. */
	if (why == SUCI_DOWN_LOCAL && p->path != NONE && !s->closing && !p->relayed)
		suci_path_close(s->ep, p->path, "damaged data", s->now_ns);
}

static void *
on_peer_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	      uint64_t now_ns)
{
	(void)first, (void)first_len, (void)now_ns;
	return datagram_in_begin(user, lane, bytes);
}

static void
on_peer_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	(void)lane;
	datagram_in_data(user, block, off, data, len);
}

static void
on_peer_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	(void)now_ns;
	datagram_in_end(user, lane, block);
}

static void
on_peer_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct out *o = (struct out *)(uintptr_t)cookie;
	(void)lane, (void)now_ns;
	if (!ok)
		o->peer->lost_now++;
	datagram_out_done(user, o, ok);
}

static void
on_peer_hold(void *user, uint64_t cookie)
{
	suci_udp_hold(((struct datagram_sock *)user)->udp, cookie);
}

static void
on_peer_release(void *user, uint64_t cookie)
{
	suci_udp_release(((struct datagram_sock *)user)->udp, cookie);
}

static bool
on_peer_room(void *user, uint32_t lane, uint64_t bytes)
{
	return datagram_in_room(user, lane, bytes);
}

static bool
on_peer_path_room(void *user, uint32_t path)
{
	const struct datagram_sock *s = user;
	const struct peer *p = s->path_peer[path];
	return !p || p->path != path || datagram_in_promise(s, p);
}

const struct suci_lane_ops datagram_libsuci_ops = {
	.block_begin = on_peer_begin,
	.block_data = on_peer_data,
	.block_end = on_peer_end,
	.block_done = on_peer_done,
	.hold = on_peer_hold,
	.release = on_peer_release,
	.lane_down = on_peer_lane_down,
	.lane_unknown = on_unknown,
	.accept = on_peer_accept,
	.path_up = on_peer_path_up,
	.path_down = on_peer_path_down,
	.note = on_peer_note,
	.block_room = on_peer_room,
	.room = on_peer_path_room,
	.stranger = note_stranger,
};
