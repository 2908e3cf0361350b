/* SPDX-License-Identifier: BSD-2-Clause */
/* The Suci endpoint: a path to every peer - in the node, too, where it carries who is there and who
 * has gone, while fragments go through shared memory -, and a lane on it to far ones. */
#include "mmp_internal.h"

#include "base/bytes.h"
#include "driver/aead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC	     0x4d4d5031u /* "MMP1" */
#define HELLO_BYTES  96u
#define MTU_MAX	     32752u
#define RETRY_NS     (MMP_CALL_MS * BASE_MS_NS)
#define KEEPALIVE    BASE_S_NS
#define THREAD_LIVES (60 * BASE_S_NS) /* a peer whose engine is a thread answers */
#define WINDOW	     4096u
#define BUFS	     1024u
#define SITES_BUFS   4096u /* lanes over relays have a wide area's windows */
#define SITES_LABELS 64u
#define NEAR_UDP_NS  (100 * BASE_US_NS)

/* Rings of a page: those of the node's other processes, by rank. */
static uint32_t
ring_index(const struct mmp *m, uint32_t of, uint32_t sender)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < sender; i++)
		n += i != of && mmp_job_same_node(&m->job, of, i);
	return n;
}

/* ---- hello: who we are, and what of us may be mapped ---- */

struct hello {
	uint32_t from, to, size, flags; /* 1: shares memory, 2: thread */
	uint64_t job, share;
	struct mmp_contact c;
};
#define ANY_RANK UINT32_MAX

static void
hello_put(const struct mmp *m, uint8_t b[HELLO_BYTES], uint32_t to)
{
	struct mmp_contact c;
	mmp_share_contact(&m->share, &c);
	memset(b, 0, HELLO_BYTES);
	be32_store(b, MAGIC);
	be32_store(b + 4, (m->env.share ? 1u : 0u) | (m->threaded ? 2u : 0u));
	be32_store(b + 8, m->job.rank);
	be32_store(b + 12, to);
	be32_store(b + 16, m->job.size);
	be64_store(b + 20, m->job.id);
	be64_store(b + 28, mmp_engine_share(m->engine));
	be32_store(b + 36, (uint32_t)c.pid);
	be32_store(b + 40, (uint32_t)c.page_fd);
	be32_store(b + 44, (uint32_t)c.area_fd);
	be32_store(b + 48, (uint32_t)c.bell_fd);
	be64_store(b + 52, c.token);
	be64_store(b + 60, c.page_bytes);
	be64_store(b + 68, c.half);
}

static bool
hello_get(const uint8_t *b, size_t len, struct hello *h)
{
	if (len != HELLO_BYTES || be32_load(b) != MAGIC)
		return false;
	*h = (struct hello){.flags = be32_load(b + 4),
			    .from = be32_load(b + 8),
			    .to = be32_load(b + 12),
			    .size = be32_load(b + 16),
			    .job = be64_load(b + 20),
			    .share = be64_load(b + 28),
			    .c = {.pid = (int32_t)be32_load(b + 36),
				  .page_fd = (int32_t)be32_load(b + 40),
				  .area_fd = (int32_t)be32_load(b + 44),
				  .bell_fd = (int32_t)be32_load(b + 48),
				  .token = be64_load(b + 52),
				  .page_bytes = be64_load(b + 60),
				  .half = be64_load(b + 68)}};
	return true;
}

/* Why that process is none of ours; NULL: it is. */
static const char *
wrong_hello(const struct mmp *m, const uint8_t *b, size_t len, struct hello *h)
{
	if (!hello_get(b, len, h))
		return "not a process of libmmp";
	if (h->job != m->job.id || h->size != m->job.size)
		return "of another job";
	if (h->from >= m->job.size || h->from == m->job.rank || m->peer[h->from].elsewhere ||
	    (h->to != ANY_RANK && h->to != m->job.rank))
		return "another rank is here";
	if ((h->flags & 1) != (m->env.share ? 1u : 0u))
		return "LIBMMP_SHM is not the same";
	return NULL;
}

static int
accept_peer(void *user, const struct suci_addr *from, const void *hello, size_t len,
	    char why[SUCI_TEXT_MAX])
{
	struct mmp *m = mmp_of_lanes(user);
	struct hello h;
	const char *wrong = wrong_hello(m, hello, len, &h);
	if (!wrong && m->closing)
		wrong = "it leaves";
	if (!wrong && (m->peer[h.from].up || m->peer[h.from].over))
		wrong = "that rank has been here";
	if (!wrong && memcmp(&m->peer[h.from].addr, from, sizeof *from))
		wrong = "that rank has another address";
	if (!wrong)
		return 0;
	snprintf(why, SUCI_TEXT_MAX, "%s", wrong);
	return -1;
}

/* ---- peers ---- */

/* What has come is taken first: it may have been complete. */
void
mmp_net_down(struct mmp *m, uint32_t peer, int err, const char *why)
{
	struct mmp_peer *p = &m->peer[peer];
	if (p->over || !p->up)
		return;
	p->over = true;
	if (p->near) {
		while (!p->broken && mmp_pair_turn(&p->near->pair, m->engine, peer) > 0)
			;
		mmp_pair_down(&p->near->pair, m->engine);
	}
	p->up = false;
	m->ups--;
	mmp_far_down(m->lanes.far, peer, err);
	snprintf(p->why, sizeof p->why, "%s", why);
	atomic_store(&p->gone, err);
	atomic_fetch_add(&m->deaths, 1);
}

static void
on_path_up(void *user, uint32_t path, const struct suci_addr *from, const void *hello, size_t len,
	   bool incoming)
{
	struct mmp *m = mmp_of_lanes(user);
	struct hello h;
	(void)incoming;
	if (mmp_sites_has(m, path)) {
		mmp_sites_path_up(m, path, hello, len);
		return;
	}
	const char *wrong = wrong_hello(m, hello, len, &h);
	if (wrong || m->peer[h.from].up || memcmp(from, &m->peer[h.from].addr, sizeof *from)) {
		suci_path_close(m->ep, path, wrong ? wrong : "that rank is here", m->now_ns);
		return;
	}
	struct mmp_peer *p = &m->peer[h.from];
	m->lanes.path_peer[path] = h.from;
	p->path = path;
	if (p->is_near) {
		p->near = mmp_near_attach(&m->share, &h.c, ring_index(m, m->job.rank, h.from),
					  ring_index(m, h.from, m->job.rank), p->why);
		if (!p->near) {
			suci_path_close(m->ep, path, p->why, m->now_ns);
			return;
		}
	} else if (mmp_lanes_open(&m->lanes, h.from, path, WINDOW, &p->lane, m->now_ns)) {
		p->lane = NONE;
		suci_path_close(m->ep, path, "no lane", m->now_ns);
		return;
	}
	(void)suci_path_set_liveness(
		m->ep, path, h.flags & 2 ? THREAD_LIVES : m->env.silence_s * BASE_S_NS, KEEPALIVE);
	p->up = true;
	m->ups++;
	p->why[0] = 0;
	mmp_engine_up(m->engine, h.from, p->is_near, h.share);
	if (m->sites && h.from == 0)
		mmp_meeting_at_path(m, path);
}

static void
on_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct mmp *m = mmp_of_lanes(user);
	uint32_t peer = m->lanes.path_peer[path];
	char word[WHY_MAX];
	if (mmp_sites_has(m, path)) {
		mmp_sites_path_down(m, path, why, text);
		return;
	}
	m->lanes.path_peer[path] = NONE;
	if (peer == NONE || m->peer[peer].path != path)
		return;
	struct mmp_peer *p = &m->peer[peer];
	p->path = NONE;
	snprintf(word, sizeof word, "%s%s%.80s", suci_down_does(why), text && *text ? ": " : "",
		 text ? text : "");
	if (p->up)
		mmp_net_down(m, peer, ECONNRESET, word);
	else if (!p->near && !(p->why[0] && why == SUCI_DOWN_LOCAL))
		snprintf(p->why, sizeof p->why, "%s", word);
}

static void
on_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct mmp *m = mmp_of_lanes(user);
	uint32_t peer = m->lanes.lane_peer[lane];
	char word[WHY_MAX];
	m->lanes.lane_peer[lane] = NONE;
	if (m->sites)
		mmp_meeting_lane_down(m, lane);
	if (m->sites && mmp_away_has_talk(m->sites->away, lane))
		mmp_away_talk_down(m->sites->away, lane);
	if (peer == NONE)
		return;
	if (m->peer[peer].elsewhere) {
		mmp_away_lane_down(m->sites->away, peer, why, text);
		return;
	}
	m->peer[peer].lane = NONE;
	/* The path's end says why; damaged data end the path here. */
	if (why == SUCI_DOWN_LOCAL && m->peer[peer].path != NONE && !m->closing) {
		snprintf(word, sizeof word, "%.100s", text ? text : "");
		suci_path_close(m->ep, m->peer[peer].path, word, m->now_ns);
		mmp_net_down(m, peer, ECONNRESET, word);
	} else if (m->peer[peer].up) {
		snprintf(word, sizeof word, "%s%s%.80s", suci_down_does(why),
			 text && *text ? ": " : "", text ? text : "");
		mmp_net_down(m, peer, ECONNRESET, word);
	}
}

uint64_t
mmp_net_connect(struct mmp *m)
{
	uint64_t next = BASE_NEVER_NS;
	uint8_t hello[HELLO_BYTES];
	/* The later rank calls the earlier. */
	for (uint32_t i = 0; i < m->job.rank; i++) {
		struct mmp_peer *p = &m->peer[i];
		if (p->elsewhere || p->path != NONE || p->up || p->over)
			continue;
		if (m->now_ns >= p->try_at_ns) {
			hello_put(m, hello, i);
			if (suci_path_open(m->ep, &p->addr, hello, sizeof hello, &p->path,
					   m->now_ns))
				p->path = NONE;
			else
				m->lanes.path_peer[p->path] = i;
			p->try_at_ns = m->now_ns + RETRY_NS;
			m->dirty = true;
		}
		next = base_min_ns(next, p->try_at_ns);
	}
	return next;
}

/* ---- fragments ---- */

static bool
net_send(void *user, uint32_t peer, const struct mmp_head *h, const void *data, uint32_t name)
{
	struct mmp *m = user;
	struct mmp_peer *p = &m->peer[peer];
	if (p->near)
		return mmp_pair_send(&p->near->pair, m->engine, h, data, name);
	if (p->elsewhere)
		return mmp_away_send(m->sites->away, peer, h, data, name);
	if (!mmp_lanes_send(&m->lanes, p->lane, h, data, name, m->now_ns))
		return false;
	m->dirty = true;
	return true;
}

static void
net_release(void *user, uint32_t peer, uint32_t cookie)
{
	struct mmp *m = user;
	if (m->peer[peer].near)
		mmp_pair_release(&m->peer[peer].near->pair, cookie);
}

const struct mmp_engine_ops mmp_net_ops = {.send = net_send, .release = net_release};

static void
on_hold(void *user, uint64_t cookie)
{
	suci_udp_hold(mmp_of_lanes(user)->udp, cookie);
}

static void
on_release(void *user, uint64_t cookie)
{
	suci_udp_release(mmp_of_lanes(user)->udp, cookie);
}

static const struct suci_lane_ops lane_ops = {
	MMP_LANES_OPS,
	.hold = on_hold,
	.release = on_release,
	.lane_down = on_lane_down,
	.accept = accept_peer,
	.path_up = on_path_up,
	.path_down = on_path_down,
};

/* The same, with the meeting and what is said later beside it. */
static void *
sites_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now_ns)
{
	struct mmp *m = mmp_of_lanes(user);
	if (mmp_meeting_has(m, lane))
		return mmp_meeting_block(m, lane, bytes);
	if (mmp_away_has_talk(m->sites->away, lane))
		return mmp_away_talk_begin(m->sites->away, lane, bytes);
	return mmp_lanes_begin(user, lane, bytes, first, first_len, now_ns);
}

static void
sites_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	struct mmp *m = mmp_of_lanes(user);
	if (mmp_meeting_has(m, lane))
		mmp_meeting_data(m, lane, off, data, len);
	else if (mmp_away_has_talk(m->sites->away, lane))
		mmp_away_talk_data(m->sites->away, lane, off, data, len);
	else
		mmp_lanes_data(user, lane, block, off, data, len);
}

static void
sites_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct mmp *m = mmp_of_lanes(user);
	if (mmp_meeting_has(m, lane))
		mmp_meeting_block_end(m, lane);
	else if (mmp_away_has_talk(m->sites->away, lane))
		mmp_away_talk_end(m->sites->away, lane);
	else
		mmp_lanes_end(user, lane, block, now_ns);
}

static void
sites_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct mmp *m = mmp_of_lanes(user);
	if (!mmp_meeting_has(m, lane) && mmp_away_has_talk(m->sites->away, lane))
		mmp_away_talk_done(m->sites->away, lane);
	else
		mmp_lanes_done(user, lane, cookie, ok, now_ns);
}

static bool
sites_path_room(void *user, uint32_t path)
{
	return mmp_sites_has(mmp_of_lanes(user), path) || mmp_lanes_path_room(user, path);
}

static enum suci_verdict
sites_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	return mmp_sites_came(mmp_of_lanes(user), path, dst, src);
}

static void
hear_site_relay(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct mmp *m = mmp_of_lanes(user);
	(void)now_ns;
	if (mmp_sites_has(m, path))
		mmp_away_note(m->sites->away, path, note, len);
}

static const struct suci_lane_ops sites_ops = {
	.block_begin = sites_begin,
	.block_data = sites_data,
	.block_end = sites_end,
	.block_done = sites_done,
	.block_room = mmp_lanes_room,
	.room = sites_path_room,
	.lane_unknown = sites_unknown,
	.note = hear_site_relay,
	.hold = on_hold,
	.release = on_release,
	.lane_down = on_lane_down,
	.accept = accept_peer,
	.path_up = on_path_up,
	.path_down = on_path_down,
};

/* ---- turns ---- */

static void
resume(struct mmp *m)
{
	uint32_t i;
	while ((i = mmp_far_next(m->lanes.far)) != MMP_NONE) {
		uint32_t lane =
			m->peer[i].elsewhere ? m->sites->away->rank[i].lane : m->peer[i].lane;
		if (lane != NONE)
			suci_lane_resume(m->lanes.lanes, lane, m->now_ns);
		m->dirty = true;
	}
}

static void
close_broken(struct mmp *m)
{
	uint32_t far;
	while ((far = mmp_far_broken(m->lanes.far)) != MMP_NONE) {
		m->peer[far].broken = true;
		snprintf(m->peer[far].why, WHY_MAX, "%s", m->lanes.far->peer[far].why);
	}
	m->broken = false;
	for (uint32_t i = 0; i < m->job.size; i++) {
		struct mmp_peer *p = &m->peer[i];
		char word[WHY_MAX];
		if (!p->broken || p->over)
			continue;
		snprintf(word, sizeof word, "%s", p->why);
		uint32_t path = p->path;
		if (p->elsewhere)
			mmp_away_drop(m->sites->away, i);
		mmp_net_down(m, i, ECONNRESET, word);
		if (path != NONE)
			suci_path_close(m->ep, path, word, m->now_ns);
		m->dirty = true;
	}
}

static bool
near_turn(struct mmp *m)
{
	bool moved = false;
	for (uint32_t k = 0; k < m->nears; k++) {
		uint32_t i = m->near_rank[k];
		struct mmp_peer *p = &m->peer[i];
		if (!p->near || p->over)
			continue;
		int r = mmp_pair_turn(&p->near->pair, m->engine, i);
		moved |= r > 0;
		if (r < 0) {
			p->broken = m->broken = true;
			snprintf(p->why, WHY_MAX, "wrote a slot that cannot be");
		}
	}
	return moved;
}

/* Those whose ring we have written into and who sleep. */
static void
wake_near(struct mmp *m)
{
	for (uint32_t k = 0; k < m->nears; k++) {
		struct mmp_near *n = m->peer[m->near_rank[k]].near;
		if (!n || !n->pair.pushed)
			continue;
		n->pair.pushed = false;
		mmp_near_wake(n);
	}
}

bool
mmp_net_turn(struct mmp *m)
{
	bool moved = false;
	m->now_ns = suci_udp_now_ns();
	if (m->sites)
		mmp_away_now(m->sites->away, m->now_ns);
	/* Receives are posted before anything comes that they might get straight. */
	if (!mmp_engine_idle(m->engine))
		moved = mmp_engine_turn(m->engine);
	if (m->nears)
		moved |= near_turn(m);
	/* With nobody far the socket only tells who has gone. */
	if (m->fars || m->ups + 1 < m->job.size || m->now_ns >= m->udp_at_ns) {
		moved |= suci_udp_poll(m->udp, m->now_ns);
		m->udp_at_ns = m->now_ns + NEAR_UDP_NS;
	}
	if (m->lanes.far->begs)
		resume(m);
	moved |= mmp_engine_turn(m->engine);
	if (m->sites)
		mmp_sites_turn(m);
	if (m->broken || m->lanes.far->broken)
		close_broken(m);
	if (m->dirty) {
		uint32_t run = atomic_load_explicit(&m->run, memory_order_relaxed);
		if (run != m->run_now)
			suci_udp_set_run(m->udp, m->run_now = run);
		m->dirty = false;
		moved |= suci_udp_tx(m->udp, m->now_ns);
	}
	if (m->nears)
		wake_near(m);
	return moved;
}

/* ---- opening and closing ---- */

int
mmp_net_open(struct mmp *m)
{
	const struct mmp_place *me = &m->job.place[m->job.rank];
	struct suci_udp_conf u = {.at = me->at,
				  .mtu = m->env.mtu,
				  .mtu_max = MTU_MAX > m->env.mtu ? MTU_MAX : m->env.mtu,
				  .bufs = m->job.sites > 1 ? SITES_BUFS : BUFS,
				  .ecn = true};
	char at[SUCI_ADDR_TEXT_MAX];
	int err = suci_udp_open(&u, &m->udp);
	if (err)
		return mmp_fail(-err, "cannot open a UDP socket on %s: %s",
				suci_addr_text(&u.at, at), strerror(-err));
	return 0;
}

static int
make_peers(struct mmp *m)
{
	uint32_t n = m->job.size;
	m->lanes.rank = m->job.rank;
	m->lanes.user = m;
	m->lanes.path_peer = malloc(m->paths_max * sizeof *m->lanes.path_peer);
	m->lanes.lane_peer = malloc(m->lanes_max * sizeof *m->lanes.lane_peer);
	m->far_mem = calloc(1, mmp_far_footprint(n));
	m->near_rank = malloc((m->nears + 1) * sizeof *m->near_rank);
	if (!m->lanes.path_peer || !m->lanes.lane_peer || !m->far_mem || !m->near_rank)
		return -1;
	m->lanes.far = mmp_far_new(m->far_mem, m->engine, n, m->share.half);
	for (uint32_t i = 0; i < m->paths_max; i++)
		m->lanes.path_peer[i] = NONE;
	for (uint32_t i = 0; i < m->lanes_max; i++)
		m->lanes.lane_peer[i] = NONE;
	for (uint32_t i = 0, k = 0; i < n; i++) {
		struct mmp_peer *p = &m->peer[i];
		p->path = p->lane = NONE;
		p->elsewhere = m->job.place[i].site != m->job.place[m->job.rank].site;
		p->addr = m->job.place[i].at;
		p->is_near = m->env.share && i != m->job.rank &&
			     mmp_job_same_node(&m->job, i, m->job.rank);
		m->fars += i != m->job.rank && !p->is_near;
		if (p->is_near)
			m->near_rank[k++] = i;
	}
	return 0;
}

static void *
take(size_t n)
{
	return n ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
}

/* Paths to other nodes are sealed, those in the node never leave it.  Both ends say the same.  What
 * goes to other sites is sealed by the relays. */
static bool
leaves_node(void *user, const struct suci_addr *a)
{
	const struct mmp *m = user;
	if (m->sites && door_sites_of(&m->sites->away->sites, a) != NONE)
		return false;
	return memcmp(a->ip, m->job.place[m->job.rank].at.ip, sizeof a->ip) != 0;
}

/* The keys of LIBMMP_KEY_FILE, if it is set. */
static int
read_keys(struct mmp *m, struct suci_seal_conf *s)
{
	char why[SEAL_TEXT] = "";
	if (!m->env.key_file)
		return 0;
	int n = seal_psk_load(m->env.key_file, s->key, why);
	s->aead = seal_aes256gcm();
	if (n < 0)
		return mmp_fail(EINVAL, "LIBMMP_KEY_FILE=%.100s: %s", m->env.key_file, why);
	if (!s->aead)
		return mmp_fail(ENOTSUP, "LIBMMP_KEY_FILE: the AES library cannot be used on this "
					 "machine");
	s->nkeys = (uint32_t)n;
	s->wanted = leaves_node;
	s->user = m;
	return 0;
}

static uint32_t
round_to_power(uint32_t least)
{
	uint32_t n = SITES_LABELS;
	while (n < least)
		n *= 2;
	return n;
}

int
mmp_net_start(struct mmp *m)
{
	uint32_t n = m->job.size, total = suci_udp_credit(m->udp, 1);
	bool sites = m->job.sites > 1;
	m->paths_max = n + 8;
	/* rank 0 meets all */
	m->lanes_max = sites ? n + MMP_AWAY_LANES(n) + 8 : n + 8;
	struct suci_lanes_config l = {
		.limits = {.lanes_max = m->lanes_max,
			   .blocks_max = MMP_SENDS_MAX + 8 * n + 64,
			   .rx_blocks_max = n * 64 + 1024,
			   .held_max = (sites ? SITES_BUFS : BUFS) - 4 * SUCI_UDP_BATCH,
			   .ranges_max = 4096,
			   /* a relay's labels may be as small as ranks */
			   .labels_max = sites ? 1 : n,
			   .buckets = sites ? round_to_power(n) : 0},
		.ops = sites ? &sites_ops : &lane_ops,
		.user = &m->lanes};
	struct suci_config e = {.limits = {.paths_max = m->paths_max,
					   .segments_max = 16384,
					   .queue_max = 2048,
					   .window_max = WINDOW},
				.cc = SUCI_CC_CUBIC,
				.fixed_window = WINDOW,
				.ack_every = 32,
				.credit = total < WINDOW ? total : WINDOW,
				.credit_total = total,
				/* Who computes inline answers nobody: an open that is given
				 * up meanwhile, and made again, ends the path that is up there. */
				.handshake_ns = m->env.start_s * BASE_S_NS,
				.liveness_ns = m->env.silence_s * BASE_S_NS,
				.keepalive_ns = KEEPALIVE,
				.hello_len = HELLO_BYTES,
				.user = NULL};
	if (read_keys(m, &e.seal)) {
		explicit_bzero(&e.seal, sizeof e.seal);
		return -1;
	}
	e.limits.sealed_max = e.seal.aead ? m->paths_max : 0;
	if (make_peers(m))
		return mmp_fail(ENOMEM, "out of memory for %u processes", n);
	hello_put(m, e.hello, ANY_RANK);
	m->now_ns = suci_udp_now_ns();
	m->lanes_mem = take(suci_lanes_footprint(&l.limits));
	m->lanes.lanes = m->lanes_mem ? suci_lanes_new(m->lanes_mem, &l) : NULL;
	e.user = m->lanes.lanes;
	m->ep = m->lanes.lanes ? suci_udp_endpoint(m->udp, &e, &m->ep_mem) : NULL;
	explicit_bzero(&e.seal, sizeof e.seal);
	if (!m->ep)
		return mmp_fail(ENOMEM, "out of memory for %u processes", n);
	suci_lanes_bind(m->lanes.lanes, m->ep);
	suci_udp_attach(m->udp, m->ep);
	return sites ? mmp_sites_open(m) : 0;
}

void
mmp_net_close(struct mmp *m)
{
	m->closing = true;
	m->now_ns = suci_udp_now_ns();
	for (uint32_t i = 0; m->ep && i < m->job.size; i++) {
		struct mmp_peer *p = &m->peer[i];
		if (p->path != NONE)
			suci_path_close(m->ep, p->path, "", m->now_ns);
	}
	if (m->sites)
		door_sites_close(&m->sites->away->sites, "", m->now_ns);
	if (m->ep) {
		suci_udp_tx(m->udp, m->now_ns);
		suci_fini(m->ep, m->now_ns);
	}
	if (m->lanes.lanes)
		suci_lanes_fini(m->lanes.lanes);
	if (m->udp && m->ep)
		suci_udp_detach(m->udp);
	suci_udp_close(m->udp);
	for (uint32_t i = 0; m->peer && i < m->job.size; i++)
		mmp_near_free(m->peer[i].near);
	mmp_sites_close(m);
	free(m->ep_mem);
	free(m->lanes_mem);
	free(m->lanes.path_peer);
	free(m->lanes.lane_peer);
	free(m->far_mem);
	free(m->near_rank);
}
