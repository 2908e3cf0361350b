/* SPDX-License-Identifier: BSD-2-Clause */
/* suci_seal_kit.h - two endpoints with sealed paths on one link, and a tape of what they said. */
#ifndef SUCI_SEAL_KIT_H
#define SUCI_SEAL_KIT_H

#include "test_suci_link.h"

#include "base/bytes.h"
#include "driver/aead.h"

#define SEGS	  2000
#define TAPES_MAX 6000

struct tape {
	int from;
	size_t len;
	uint8_t *bytes;
};

struct side {
	uint32_t strangers;
	struct suci_addr stranger_at;
	const struct seal_peer *stranger_known;
	bool stranger_shows;
	uint8_t stranger_key[SEAL_DH];
	struct world *w;
	uint32_t path, ups, downs;
	bool up, refuse;
	enum suci_down why;
	char text[SUCI_TEXT_MAX], hello[SUCI_HELLO_MAX + 1];
	uint32_t seen[SEGS], segments, acked, abandoned;
};

struct world {
	struct link l;
	struct side s[2];
	struct suci_config conf[2];
	struct seal_identity id[2];
	struct seal_peer peer[2][2];
	uint8_t payload[1400];
	uint32_t want;
	struct tape tape[TAPES_MAX];
	uint32_t ntapes;
	bool lose;
	bool record, hold; /* hold: what is sent goes to the tape only */
};

static inline int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	  char why[SUCI_TEXT_MAX])
{
	struct side *s = user;
	(void)from, (void)hello, (void)hello_len;
	if (s->refuse)
		snprintf(why, SUCI_TEXT_MAX, "job 7 is unknown");
	return s->refuse;
}

static inline void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t hello_len,
      bool incoming)
{
	struct side *s = user;
	(void)peer, (void)incoming;
	s->path = path;
	s->up = true;
	s->ups++;
	memcpy(s->hello, hello, hello_len);
	s->hello[hello_len] = 0;
}

static inline void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct side *s = user;
	(void)path;
	s->up = false;
	s->downs++;
	s->why = why;
	snprintf(s->text, sizeof s->text, "%s", text);
}

static inline enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct side *s = user;
	(void)path, (void)now_ns;
	assert_true(seg->seq < SEGS);
	assert_memory_equal(seg->data, s->w->payload, seg->data_len);
	s->seen[seg->seq]++;
	s->segments++;
	return SUCI_TAKEN;
}

static inline void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct side *s = user;
	(void)path, (void)cookie, (void)now_ns;
	s->acked += fate == SUCI_FATE_ACKED;
	s->abandoned += fate == SUCI_FATE_ABANDONED;
}

static inline void
on_stranger(void *user, const struct suci_addr *from, const uint8_t *public_key,
	    const struct seal_peer *known)
{
	struct side *s = user;
	s->strangers++;
	s->stranger_at = *from;
	s->stranger_known = known;
	s->stranger_shows = public_key != NULL;
	if (public_key)
		memcpy(s->stranger_key, public_key, SEAL_DH);
}

static const struct suci_ops ops = {
	.accept = on_accept,
	.stranger = on_stranger,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
};

static inline bool
recorder(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	if (w->lose && base_prng_chance(&l->prng, 10000000))
		return true; /* not on the tape: who sends it later is no replayer but late */
	if (w->record) {
		assert_true(w->ntapes < TAPES_MAX);
		struct tape *t = &w->tape[w->ntapes++];
		*t = (struct tape){.from = from, .len = len, .bytes = malloc(len)};
		assert_non_null(t->bytes);
		memcpy(t->bytes, bytes, len);
	}
	return w->hold;
}

static inline struct world *
world_new(uint64_t seed)
{
	static struct world w;
	memset(&w, 0, sizeof w);
	link_init(&w.l, seed, 100 * BASE_US_NS);
	w.l.filter = recorder;
	w.l.arg = &w;
	for (size_t i = 0; i < sizeof w.payload; i++)
		w.payload[i] = (uint8_t)(i * 13 + 5);
	for (int side = 0; side < 2; side++) {
		struct suci_config c = link_config(side);
		c.ops = &ops;
		c.user = &w.s[side];
		c.limits.sealed_max = c.limits.paths_max;
		c.handshake_ns = 3 * BASE_S_NS;
		c.seal = (struct suci_seal_conf){
			.aead = seal_aes256gcm(),
			.key = {{.id = 11, .secret = {1, 2, 3}}},
			.nkeys = 1,
			.legs = 1,
			.seed = {7, (uint8_t)side, (uint8_t)seed},
		};
		w.s[side].w = &w;
		w.conf[side] = c;
	}
	return &w;
}

/* Both ends get identities, and know each other by address. */
static inline void
identities(struct world *w, bool with_psk)
{
	const struct seal_crypto *c = seal_aes256gcm();
	char why[SEAL_TEXT];
	for (int side = 0; side < 2; side++) {
		memset(w->id[side].secret, 40 + side, SEAL_DH);
		c->dh_public(w->id[side].secret, w->id[side].public_key);
	}
	for (int side = 0; side < 2; side++) {
		struct seal_peer *p = &w->peer[side][0];
		memset(p, 0, 2 * sizeof *p);
		memcpy(p->public_key, w->id[!side].public_key, SEAL_DH);
		base_prefix_v4(be32_load(w->l.addr[!side].ip + 12), p->prefix[0].addr);
		p->prefix[0].len = 128;
		p->nprefixes = 1;
		assert_true(seal_peers_agree(c, &w->id[side], p, 1, why));
		struct suci_seal_conf *s = &w->conf[side].seal;
		s->me = &w->id[side];
		s->peer = p;
		s->npeers = 1;
		s->nkeys = with_psk ? s->nkeys : 0;
	}
}

static inline void
world_start(struct world *w)
{
	for (int side = 0; side < 2; side++)
		w->l.ep[side] = link_endpoint(&w->conf[side], w->l.now_ns);
}

static inline void
world_free(struct world *w)
{
	for (int side = 0; side < 2; side++)
		if (w->l.ep[side])
			LINK_GIVE(suci_fini(w->l.ep[side], w->l.now_ns));
	link_drop_wire(&w->l);
	for (uint32_t i = 0; i < w->ntapes; i++)
		free(w->tape[i].bytes);
	assert_int_equal(w->l.held, 0);
}

static inline void
open_from(struct world *w, int side)
{
	int err = suci_path_open(w->l.ep[side], &w->l.addr[!side], NULL, 0, &w->s[side].path,
				 w->l.now_ns);
	assert_int_equal(err, 0);
}

static inline bool
both_up(void *arg)
{
	struct world *w = arg;
	return w->s[0].up && w->s[1].up;
}

static inline void
run_ms(struct world *w, uint64_t ms)
{
	link_run(&w->l, w->l.now_ns + ms * BASE_MS_NS, NULL, NULL);
}

static inline struct world *
world_up(uint64_t seed)
{
	struct world *w = world_new(seed);
	world_start(w);
	open_from(w, 0);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	run_ms(w, 5);
	return w;
}

static inline bool
all_acked(void *arg)
{
	struct world *w = arg;
	return w->s[0].acked + w->s[1].acked >= w->want;
}

static inline void
send_n(struct world *w, int side, uint32_t first, uint32_t n, uint16_t bytes)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct suci_segment seg = {
			.seq = i, .data = w->payload, .data_len = bytes, .cookie = i};
		int err = suci_path_send(w->l.ep[side], w->s[side].path, &seg, w->l.now_ns);
		assert_int_equal(err, 0);
	}
	w->want += n;
}

static inline void
deliver(struct world *w, int to, const uint8_t *bytes, size_t len)
{
	link_deliver(&w->l, link_dgram(to, &w->l.addr[!to], bytes, len));
}

static inline uint64_t
drops(const struct suci_counters *c)
{
	return c->drop_short + c->drop_version + c->drop_type + c->drop_malformed + c->drop_sealed +
	       c->drop_unsealed + c->drop_psk + c->drop_seal + c->drop_reflected +
	       c->drop_identity + c->drop_curve + c->drop_unknown_tag + c->drop_address +
	       c->drop_response + c->drop_state + c->drop_cookie + c->drop_incarnation +
	       c->drop_duplicate_pn + c->drop_old_pn + c->drop_bad_ack + c->drop_refused +
	       c->drop_rejected + c->drop_paths;
}

/* What of a side must not change. */
struct picture {
	uint64_t opened, closed, segments, acks, held, ups, downs;
	struct suci_addr peer;
	uint32_t mtu;
	uint64_t info[29]; /* the other fields, without what lies between them */
};

static inline struct picture
look(const struct world *w, int side)
{
	const struct suci_counters *c = suci_counters(w->l.ep[side]);
	struct suci_path_info i = {0};
	suci_path_info(w->l.ep[side], w->s[side].path, &i);
	return (struct picture){
		.opened = c->paths_opened,
		.closed = c->paths_closed,
		.segments = c->rx_segments,
		.acks = c->rx_acks,
		.held = suci_held(w->l.ep[side]),
		.ups = w->s[side].ups,
		.downs = w->s[side].downs,
		.peer = i.peer,
		.mtu = i.mtu,
		.info = {i.up,
			 i.incoming,
			 i.mtu_max,
			 i.mss,
			 i.ecn,
			 i.tx_ce,
			 i.moves,
			 i.rtt_ns,
			 i.rtt_ns_min,
			 i.rtt_ns_var,
			 i.cwnd,
			 i.in_flight,
			 i.queued,
			 i.peer_credit,
			 i.refused,
			 i.rx_last,
			 i.rx_missing,
			 i.rx_credit,
			 i.rx_waits,
			 i.rate_bps,
			 i.tx_segments,
			 i.tx_retransmits,
			 i.rx_segments,
			 i.tx_bytes,
			 i.rx_bytes,
			 i.last_rx_ns,
			 i.peer_incarnation,
			 i.sealed,
			 (uint64_t)i.key_id << 8 | i.cc},
	};
}
_Static_assert(sizeof(struct suci_path_info) == 192, "a new field belongs into look()");
_Static_assert(sizeof(struct picture) == 7 * 8 + 20 + 4 + 29 * 8, "compared with memcmp");

/* Hold what side sends next; returns the first datagram of that type. */
static inline struct tape *
caught(struct world *w, int from, int type)
{
	uint32_t first = w->ntapes;
	w->record = w->hold = true;
	link_pump(&w->l);
	w->record = w->hold = false;
	for (uint32_t i = first; i < w->ntapes; i++)
		if (w->tape[i].from == from && (w->tape[i].bytes[0] & 15) == type)
			return &w->tape[i];
	fail_msg("nothing of type %d was sent", type);
	return NULL;
}

#endif
