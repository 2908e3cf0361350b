/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between processes of a pipeline, as blocks of libsuci: u32 id of the sender, then what
 * lib/spx made.  A message that finds no room is dropped: lib/spx sends it again. */
#include "spxrun_internal.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FROM = 4,
	DOORS_MAX = 1024,
	CONNECT_MS = 5000,
	LIVENESS_MS = 10000,	/* the thread answers, whatever the program does */
	FAR_LIVENESS_MS = 3000, /* over relays, with what waits there */
	RELAY_MS = 500,		/* so long no frame goes when our relay dies */
	CLOSE_MS = 200,
	SOCKBUF = 4 << 20,
};

static uint64_t
at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The manager tells it to the others. */
static bool
tell_own_address(struct spxrun *r, char *why)
{
	char address[SPX_ADDRESS_MAX];

	_Static_assert(DATAGRAM_ADDRESS_MAX <= SPX_ADDRESS_MAX, "an address fits");
	r->changes = datagram_address_changes(r->sock);
	if (datagram_address(r->sock, address) != 0)
		return spx_say(why, "no address: %s", datagram_error(r->sock));
	struct spx_feed hello = {.type = SPX_FEED_HELLO,
				 .text = {address, (uint32_t)strlen(address)}};
	return spxrun_tell(r, &hello) || spx_say(why, "the manager is gone");
}

bool
spxrun_net_open(struct spxrun *r, const struct spx_feed *setup, char *why)
{
	char ip[SPX_ADDRESS_MAX] = "", relay[SPX_ADDRESS_MAX] = "";
	struct datagram_conf c;

	memcpy(ip, setup->ip.at, setup->ip.len);
	memcpy(relay, setup->relay.at, setup->relay.len);
	r->out_room = FROM + SPX_MESSAGE_MAX + (size_t)r->conf.frame_max;
	r->block_room = r->out_room;
	r->out = malloc(r->out_room);
	r->block = malloc(r->block_room);
	r->peer = calloc(r->conf.procs_max, sizeof *r->peer);
	r->peer_old = calloc(r->conf.procs_max, sizeof *r->peer_old);
	if (!r->out || !r->block || !r->peer || !r->peer_old)
		return spx_say(why, "no memory for messages of %zu bytes", r->out_room);
	datagram_conf_init(&c);
	/* Who has a relay is where that sees it: the daemons' net may be another one. */
	c.relay = relay[0] ? relay : NULL;
	c.ip = c.relay ? NULL : ip[0] ? ip : "127.0.0.1";
	c.realm = setup->realm;
	c.doors = DOORS_MAX;
	c.connect_ms = CONNECT_MS;
	c.liveness_ms = c.relay ? FAR_LIVENESS_MS : LIVENESS_MS;
	c.relay_ms = c.relay ? RELAY_MS : 0;
	c.close_ms = CLOSE_MS;
	c.sockbuf_bytes = SOCKBUF;
	c.spin_us = 0;
	c.read_bytes = at_least(c.read_bytes, 4 * r->out_room);
	c.write_bytes = at_least(c.write_bytes, 4 * r->out_room);
	c.packets = 4096;
	c.early_packets = 128;
	r->sock = datagram_open_with(&c);
	if (!r->sock)
		return spx_say(why, "no socket for messages at %s: %s", c.ip ? c.ip : "any address",
			       datagram_error(NULL));
	return tell_own_address(r, why);
}

void
spxrun_net_close(struct spxrun *r)
{
	if (r->sock)
		(void)datagram_close(r->sock);
	free(r->out);
	free(r->block);
	free(r->peer);
	free(r->peer_old);
}

static void
close_door(struct spxrun *r, struct spxrun_peer *p)
{
	if (p->door >= 0)
		(void)datagram_close_at(r->sock, (uint32_t)p->door);
	p->door = -1;
}

/* A view has come: doors of who is dead, or elsewhere now, are closed. */
void
spxrun_net_view(struct spxrun *r)
{
	const struct spx_view *v = &r->view;
	struct spxrun_peer *old = r->peer;
	uint32_t k = 0, had = r->npeer;

	r->peer = r->peer_old;
	r->peer_old = old;
	r->npeer = v->nproc;
	for (uint32_t i = 0; i < v->nproc; i++) {
		struct spxrun_peer *p = &r->peer[i];
		for (; k < had && old[k].id < v->proc[i].id; k++)
			close_door(r, &old[k]);
		bool known = k < had && old[k].id == v->proc[i].id;
		*p = known ? old[k++] : (struct spxrun_peer){.id = v->proc[i].id, .door = -1};
		if (v->proc[i].state == SPX_DEAD || strcmp(p->address, r->where[i]) != 0)
			close_door(r, p);
		memcpy(p->address, r->where[i], sizeof p->address);
	}
	for (; k < had; k++)
		close_door(r, &old[k]);
}

static struct spxrun_peer *
find_peer(struct spxrun *r, uint32_t id)
{
	uint32_t lo = 0, hi = r->npeer;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (r->peer[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->npeer && r->peer[lo].id == id ? &r->peer[lo] : NULL;
}

void
spxrun_net_send(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
		size_t len)
{
	struct spxrun *r = user;
	struct spxrun_peer *p = find_peer(r, to);

	if (p && p->door < 0 && p->address[0])
		p->door = datagram_open_at(r->sock, p->address);
	if (!p || p->door < 0 || FROM + head_len + len > r->out_room) {
		r->count.unsent++;
		return;
	}
	be32_store(r->out, r->conf.id);
	memcpy(r->out + FROM, head, head_len);
	if (len)
		memcpy(r->out + FROM + head_len, frame, len);
	if (datagram_destination(r->sock, (uint32_t)p->door) != 0 ||
	    datagram_write0(r->sock, r->out, FROM + head_len + len) < 0) {
		r->count.unsent++;
		/* ENOENT: its id was given up with it; the next message opens it anew. */
		if (errno == ENOENT)
			p->door = -1;
	}
}

/* Reads and forgets a block that nobody of ours sends. */
static void
drop_block(struct spxrun *r, uint32_t door, uint64_t size)
{
	void *p = size < (UINT64_C(1) << 30) ? malloc((size_t)size) : NULL;

	r->count.oversized++;
	if (p)
		(void)datagram_read0(r->sock, p, (size_t)size);
	else
		(void)datagram_close_at(r->sock, door);
	free(p);
}

bool
spxrun_net_turn(struct spxrun *r)
{
	uint32_t door;
	uint64_t size;
	bool any = false;
	char why[SPX_TEXT_MAX];

	(void)datagram_progress(r->sock);
	/* The only relay of our site has died and is there again. */
	if (datagram_address_changes(r->sock) != r->changes)
		(void)tell_own_address(r, why);
	while (datagram_peek(r->sock, &door, &size) == 1) {
		any = true;
		if (size > r->block_room) {
			drop_block(r, door, size);
			continue;
		}
		int64_t n = datagram_read0(r->sock, r->block, r->block_room);
		if (n < 0)
			break;
		if (n >= FROM)
			(void)spx_on_message(r->x, be32_load(r->block), r->block + FROM,
					     (size_t)n - FROM, spxrun_now_ns());
	}
	return any;
}
