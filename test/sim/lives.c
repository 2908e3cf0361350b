/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "lives": two processes with a relayed lane between them, and what is on its way waits,
 * overtakes and gets lost as it does in relays.  Either end begins anew whenever it likes, and the
 * other one hears that from the lane alone (suci/lane.h, Lives).  What arrives is of one life: in
 * order, whole, once; and when both have calmed down all that is sent arrives. */
#include "draw.h"
#include "invariants.h"
#include "pieces.h"
#include "scenario.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"
#include "suci/lane.h"

#include <stdio.h>
#include <stdlib.h>

#define NETWORK	  7u
#define PORT	  7700u
#define LABEL	  (1u << 20)
#define BLOCKS	  8192u
#define BYTES_MAX 6000u
#define STORM_NS  (4 * BASE_S_NS)
#define CALM_NS	  (2 * BASE_S_NS)  /* and still new blocks */
#define LAST_NS	  (40 * BASE_S_NS) /* for what was sent: a lane asks itself after 1, 2 .. 16 s */

struct letter {
	uint32_t bytes, got;
	bool begun, placed, done, ok;
	uint8_t *data; /* until it is done */
};

struct living {
	struct lives *w;
	uint32_t index, ipv4, port;
	void *ep_mem, *lanes_mem;
	struct suci *ep;
	struct suci_lanes *lanes;
	uint32_t path, lane; /* lane UINT32_MAX: none */
	uint8_t life;
	bool up;
	bool over; /* all is closed */
	uint64_t wake_ns;
	uint32_t sent, last; /* last: of the other one's, that began here */
	struct letter letter[BLOCKS];
};

struct lives {
	struct sim *s;
	struct base_prng prng;
	struct living at[2];
	uint32_t restart, lose, slow; /* percent; of acts, of segments */
	uint64_t slow_ns, end_ns, quiet_ns;
	uint32_t anew, lost, late; /* of lanes; of segments */
};

/* Callbacks of the endpoint are told of the lanes only. */
static struct lives *world;

static struct living *
of_lanes(const void *lanes)
{
	return &world->at[world->at[1].lanes == lanes];
}

static struct living *
other(struct living *n)
{
	return &n->w->at[!n->index];
}

/* ---- the lane ---- */

static void
open_lane_anew(struct living *n)
{
	uint32_t mine = LABEL + n->index, its = LABEL + !n->index;
	struct suci_lane_conf c = {.path = n->path,
				   .tx_dst_label = its,
				   .tx_src_label = mine,
				   .rx_dst_label = mine,
				   .rx_src_label = its,
				   .window = 64,
				   .window_max = 512,
				   .life = n->life};
	int err = suci_lane_open(n->lanes, &c, &n->lane, n->w->s->now_ns);
	BASE_ASSERT(!err);
}

static void
outlive_lane(struct living *n, uint32_t lane)
{
	struct suci_lane_info l;
	bool known = suci_lane_info(n->lanes, lane, &l);
	BASE_ASSERT(known);
	if (!suci_life_newer(n->life, l.life))
		n->life = suci_life_next(l.life);
}

static void
drop_own_lane(struct living *n)
{
	if (n->lane == UINT32_MAX)
		return;
	uint32_t lane = n->lane;
	n->lane = UINT32_MAX;
	n->w->anew++;
	outlive_lane(n, lane);
	suci_lane_close(n->lanes, lane, n->w->s->now_ns);
}

static void
write_letter(struct living *n)
{
	if (n->sent == BLOCKS || !n->up)
		return;
	if (n->lane == UINT32_MAX)
		open_lane_anew(n);
	struct letter *b = &n->letter[n->sent];
	b->bytes = (uint32_t)between(&n->w->prng, 4, coin(&n->w->prng, 20) ? BYTES_MAX : 100);
	b->data = malloc(b->bytes);
	BASE_ASSERT(b->data);
	be32_store(b->data, n->sent);
	for (uint32_t i = 4; i < b->bytes; i++)
		b->data[i] = (uint8_t)(n->sent * 31 + i);
	int err = suci_lane_send(n->lanes, n->lane, NULL, 0, b->data, b->bytes, false, n->sent,
				 n->w->s->now_ns);
	BASE_ASSERT(!err);
	n->sent++;
}

static void *
letter_begins(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	      uint64_t now_ns)
{
	struct living *n = user;
	struct sim *s = n->w->s;
	uint32_t k = first_len >= 4 ? be32_load(first) : BLOCKS;
	(void)lane, (void)now_ns;
	if (k >= other(n)->sent) {
		invariant_broken(s, INV_BYTES, "process %u: a block begins that nobody sent",
				 n->index);
		return NULL;
	}
	struct letter *b = &other(n)->letter[k];
	INVARIANT(s, ONCE, !b->begun, "process %u: block %u begins again", n->index, k);
	INVARIANT(s, ORDER, k + 1 > n->last, "process %u: block %u begins behind block %u",
		  n->index, k, n->last - 1);
	INVARIANT(s, BYTES, b->bytes == bytes, "process %u: block %u has %llu bytes, not %u",
		  n->index, k, (unsigned long long)bytes, b->bytes);
	b->begun = true;
	n->last = k + 1;
	return b;
}

static void
letter_comes(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data,
	     size_t len)
{
	struct living *n = user;
	struct letter *b = block;
	(void)lane;
	if (!b)
		return;
	uint32_t k = (uint32_t)(b - other(n)->letter);
	for (size_t i = 0; i < len && !n->w->s->failed; i++)
		INVARIANT(n->w->s, BYTES,
			  offset + i < 4 || data[i] == (uint8_t)(k * 31 + offset + i),
			  "process %u: byte %llu of block %u is wrong", n->index,
			  (unsigned long long)(offset + i), k);
	b->got += (uint32_t)len;
}

static void
letter_ends(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct living *n = user;
	struct letter *b = block;
	(void)lane, (void)now_ns;
	if (!b)
		return;
	INVARIANT(n->w->s, ONCE, b->got == b->bytes, "process %u: a block ends with %u of %u bytes",
		  n->index, b->got, b->bytes);
	b->placed = true;
}

static void
letter_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct living *n = user;
	struct letter *b = &n->letter[cookie];
	(void)lane, (void)now_ns;
	INVARIANT(n->w->s, ONCE, !b->done, "process %u: block %u is done twice", n->index,
		  (uint32_t)cookie);
	INVARIANT(n->w->s, PLACED, !ok || b->placed,
		  "process %u: block %u is done and is not there", n->index, (uint32_t)cookie);
	b->done = true;
	b->ok = ok;
	free(b->data);
	b->data = NULL;
}

static void
hold_datagram(void *user, uint64_t cookie)
{
	sim_hold(((struct living *)user)->w->s, cookie);
}

static void
release_datagram(void *user, uint64_t cookie)
{
	sim_release(((struct living *)user)->w->s, cookie);
}

static void
lane_over(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct living *n = user;
	struct sim *s = n->w->s;
	INVARIANT(s, REASON, n->over || why == SUCI_DOWN_RESTARTED, "process %u: its lane ends: %s",
		  n->index, text);
	sim_log(s, "process %u: its lane is over", n->index);
	n->lane = UINT32_MAX;
	outlive_lane(n, lane);
}

static enum suci_verdict
lane_comes(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	struct living *n = user;
	BASE_ASSERT(path == n->path && dst == LABEL + n->index && src == LABEL + !n->index);
	open_lane_anew(n);
	return SUCI_TAKEN;
}

static int
accept_other(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	     char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)hello_len, (void)why;
	return 0;
}

static void
other_there(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	    size_t hello_len, bool incoming)
{
	struct living *n = user;
	(void)peer, (void)hello, (void)hello_len, (void)incoming;
	n->path = path;
	n->up = true;
}

static void
other_gone(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct living *n = user;
	(void)path;
	INVARIANT(n->w->s, REASON, n->over, "process %u: its path ends (%u): %s", n->index,
		  (unsigned)why, text ? text : "");
}

static const struct suci_lane_ops lane_calls = {.block_begin = letter_begins,
						.block_data = letter_comes,
						.block_end = letter_ends,
						.block_done = letter_done,
						.hold = hold_datagram,
						.release = release_datagram,
						.lane_down = lane_over,
						.lane_unknown = lane_comes,
						.accept = accept_other,
						.path_up = other_there,
						.path_down = other_gone};

/* ---- what relays do to it ---- */

static sim_fn wake_living;

static void
drive_living(struct living *n)
{
	static struct suci_out out;
	struct sim *s = n->w->s;
	while (!s->failed && suci_tx(n->ep, &out, s->now_ns)) {
		struct sim_piece piece[3];
		sim_pieces(n->ep, &out, piece);
		sim_send(s, n->port, other(n)->ipv4, piece, 3);
	}
	uint64_t at = suci_expiry_ns(n->ep);
	if (at != BASE_NEVER_NS && at != n->wake_ns) {
		n->wake_ns = at;
		sim_at(s, base_max_ns(at, s->now_ns), wake_living, n, at);
	}
}

static void
wake_living(struct sim *s, void *who, uint64_t at)
{
	struct living *n = who;
	if (at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	suci_tick(n->ep, s->now_ns);
	drive_living(n);
}

struct detained {
	struct living *n;
	struct suci_segment seg;
};

static void
set_free(struct sim *s, void *who, uint64_t arg)
{
	struct detained *d = who;
	struct living *n = d->n;
	(void)arg;
	(void)suci_lanes_ops()->segment(n->lanes, n->path, &d->seg, s->now_ns);
	sim_release(s, d->seg.cookie);
	free(d);
	drive_living(n);
}

/* Custody is taken: it comes later, or it is lost with a relay. */
static enum suci_verdict
detain(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct living *n = of_lanes(user);
	struct lives *w = n->w;
	bool storm = now_ns < w->end_ns;
	if (storm && coin(&w->prng, w->lose)) {
		w->lost++;
		return SUCI_DROPPED;
	}
	if (!coin(&w->prng, w->slow))
		return suci_lanes_ops()->segment(user, path, seg, now_ns);
	struct detained *d = malloc(sizeof *d);
	BASE_ASSERT(d);
	*d = (struct detained){n, *seg};
	w->late++;
	sim_hold(w->s, seg->cookie);
	sim_at(w->s, now_ns + base_prng_below(&w->prng, w->slow_ns), set_free, d, 0);
	return SUCI_TAKEN;
}

static void
deliver_living(struct sim *s, void *who, uint64_t b)
{
	struct living *n = who;
	struct suci_addr from = relay_addr_v4(other(n)->ipv4, PORT, RELAY_LEG_PRIVATE);
	suci_rx(n->ep, &from, s->buf[b].data, s->buf[b].len, b, s->now_ns);
	drive_living(n);
}

/* ---- the world ---- */

static void
act_living(struct sim *s, void *who, uint64_t arg)
{
	struct living *n = who;
	struct lives *w = n->w;
	(void)arg;
	if (s->now_ns < w->end_ns && coin(&w->prng, w->restart))
		drop_own_lane(n);
	for (uint64_t k = base_prng_below(&w->prng, 4); k; k--)
		write_letter(n);
	drive_living(n);
	if (s->now_ns < w->quiet_ns)
		sim_at(s, s->now_ns + between(&w->prng, 1, 10) * BASE_MS_NS, act_living, n, 0);
}

static void
make_living(struct lives *w, uint32_t index)
{
	struct living *n = &w->at[index];
	struct suci_lane_limits l = {.lanes_max = 2,
				     .blocks_max = BLOCKS,
				     .rx_blocks_max = 64,
				     .held_max = 256,
				     .ranges_max = 256,
				     .labels_max = 16,
				     .buckets = 16};
	static struct suci_ops ops;
	ops = *suci_lanes_ops();
	ops.segment = detain;
	n->w = w;
	n->index = index;
	n->lane = UINT32_MAX;
	n->life = 1;
	n->wake_ns = BASE_NEVER_NS;
	n->ipv4 = 0x0a000001 + index;
	n->port = sim_add_port(w->s, n, deliver_living, NETWORK, n->ipv4);
	struct suci_lanes_config lc = {.limits = l, .ops = &lane_calls, .user = n};
	n->lanes_mem = aligned_alloc(64, (suci_lanes_footprint(&l) + 63) & ~63ul);
	BASE_ASSERT(n->lanes_mem);
	n->lanes = suci_lanes_new(n->lanes_mem, &lc);
	struct suci_config c = {.limits = {.paths_max = 2,
					   .segments_max = 2048,
					   .queue_max = 512,
					   .window_max = 512},
				.incarnation = index + 1,
				.seed = w->s->seed + index,
				.mtu_max = 1400,
				.cc = SUCI_CC_CUBIC,
				.credit = 512,
				.ops = &ops,
				.user = n->lanes};
	n->ep_mem = aligned_alloc(64, (suci_footprint(&c.limits) + 63) & ~63ul);
	BASE_ASSERT(n->lanes && n->ep_mem);
	n->ep = suci_new(n->ep_mem, &c, w->s->now_ns);
	BASE_ASSERT(n->ep);
	suci_lanes_bind(n->lanes, n->ep);
}

static bool
all_letters_came(void *who)
{
	const struct lives *w = who;
	return w->s->now_ns > w->quiet_ns && !suci_lanes_pending(w->at[0].lanes) &&
	       !suci_lanes_pending(w->at[1].lanes);
}

static void
check_living(struct living *n)
{
	const char *what = "";
	INVARIANT(n->w->s, TABLES, suci_lanes_check(n->lanes, &what), "process %u: %s", n->index,
		  what);
	for (uint32_t k = 0; k < n->sent && !n->w->s->failed; k++)
		INVARIANT(n->w->s, COMPLETE, n->letter[k].done,
			  "process %u: block %u of %u is not acknowledged", n->index, k, n->sent);
	INVARIANT(n->w->s, COMPLETE, n->w->s->failed || n->letter[n->sent - 1].ok,
		  "process %u: its last block, sent when all was calm, is lost", n->index);
}

static void
free_living(struct living *n)
{
	const struct suci_lane_counters *c = suci_lane_counters(n->lanes);
	n->w->anew += (uint32_t)c->lives;
	n->over = true;
	suci_fini(n->ep, n->w->s->now_ns);
	suci_lanes_fini(n->lanes);
	free(n->ep_mem);
	free(n->lanes_mem);
	for (uint32_t k = 0; k < n->sent; k++)
		free(n->letter[k].data);
}

void
lives_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct lives *w = calloc(1, sizeof *w);
	BASE_ASSERT(w);
	world = w;
	w->s = sim_new(seed);
	w->s->verbose = verbose;
	w->prng = base_prng_seed(seed);
	w->restart = (uint32_t)PICK(&w->prng, 1, 3, 10);
	w->lose = (uint32_t)PICK(&w->prng, 0, 1, 10);
	w->slow = (uint32_t)PICK(&w->prng, 0, 10, 50, 100);
	w->slow_ns = PICK(&w->prng, 1, 20, 300) * BASE_MS_NS;
	w->end_ns = STORM_NS;
	w->quiet_ns = STORM_NS + CALM_NS;
	struct sim_link_conf lc = {.delay_ns = between(&w->prng, 1, 20) * BASE_MS_NS / 2};
	for (uint32_t i = 0; i < 2; i++)
		make_living(w, i);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t link = sim_add_link(w->s, &lc);
		sim_set_route(w->s, w->at[i].port, w->at[!i].port, &link, 1);
		sim_at(w->s, 500 * BASE_MS_NS, act_living, &w->at[i], 0);
	}
	struct suci_addr to = relay_addr_v4(w->at[1].ipv4, PORT, RELAY_LEG_PRIVATE);
	int err = suci_path_open(w->at[0].ep, &to, NULL, 0, &w->at[0].path, w->s->now_ns);
	BASE_ASSERT(!err);
	drive_living(&w->at[0]);
	sim_run(w->s, w->quiet_ns + LAST_NS, all_letters_came, w);
	for (uint32_t i = 0; i < 2; i++)
		check_living(&w->at[i]);
	uint32_t ok = 0, sent = w->at[0].sent + w->at[1].sent;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < w->at[i].sent; k++)
			ok += w->at[i].letter[k].ok;
	for (uint32_t i = 0; i < 2; i++)
		free_living(&w->at[i]);
	snprintf(o->note, sizeof o->note,
		 "%u of %u blocks acknowledged; lanes began anew %u times, %u segments lost, %u "
		 "late",
		 ok, sent, w->anew, w->lost, w->late);
	sim_outcome(w->s, o);
	sim_free(w->s);
	free(w);
}
