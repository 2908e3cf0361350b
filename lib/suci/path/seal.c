/* SPDX-License-Identifier: BSD-2-Clause */
/* Sealed paths: secrets, epochs, datagrams.  The handshake is in seal_hs.c, the keys of the
 * AEAD in keys.c. */
#include "path_internal.h"

#include "base/bytes.h"
#include "base/copy.h"
#include "base/siphash.h"

#include <string.h>

#define NONCE_HALF  (SEAL_NONCE / 2)
#define EPOCH_SHIFT 5 /* of SUCI_PF_EPOCH */
/* Opens without a pre-shared key that are computed: about 100 us each, a tenth of a worker. */
#define CURVES_PER_S 1000
#define CURVES_BURST 64

void
suci_seal_no_psk(struct suci_seal_conf *c)
{
	if (c->nkeys)
		return;
	memset(c->key, 0, sizeof c->key);
	c->nkeys = 1;
}

void
suci_seal_init(struct suci *ep)
{
	ep->seal_free = NONE;
	for (uint32_t i = ep->conf.limits.sealed_max; i-- > 0;) {
		ep->seal[i].next_free = ep->seal_free;
		ep->seal_free = i;
	}
	suci_keys_init(ep);
	struct suci_seal_conf *c = &ep->conf.seal;
	if (!c->epoch)
		c->epoch = SUCI_SEAL_EPOCH;
	if (!c->packets_max)
		c->packets_max = SUCI_SEAL_PACKETS;
	if (!c->forgeries_max)
		c->forgeries_max = SUCI_SEAL_FORGERIES;
	if (!c->aead)
		return;
	suci_seal_no_psk(c);
	seal_source_init(c->aead, &ep->source, c->seed);
	explicit_bzero(c->seed, sizeof c->seed);
	int err = suci_pacer_init(&ep->curve_pacer, CURVES_PER_S, CURVES_BURST, ep->now_ns);
	BASE_ASSERT(!err);
}

bool
suci_seal_good(const struct suci_config *c)
{
	const struct suci_seal_conf *s = &c->seal;
	static const uint8_t none[SEAL_HASH];
	if (!s->aead)
		return true;
	if (!memcmp(s->seed, none, sizeof none) || (s->me && (!s->peer || !s->npeers)))
		return false;
	for (uint32_t i = 0; i < s->nkeys && i < SEAL_PSK_MAX; i++)
		for (uint32_t k = 0; k < i; k++)
			if (s->key[i].id == s->key[k].id)
				return false;
	return (s->nkeys || s->me) && s->nkeys <= SEAL_PSK_MAX && c->limits.sealed_max &&
	       s->aead->key_bytes <= SEAL_KEY_MAX && s->epoch != 1;
}

bool
suci_seal_wanted(const struct suci *ep, const struct suci_addr *peer)
{
	if (ep->conf.seal.wanted)
		return ep->conf.seal.wanted(ep->conf.seal.user, peer);
	return peer->leg < 32 && ep->conf.seal.legs >> peer->leg & 1;
}

/* The second half of our nonces is a keyed hash of the first, so that we know them again
 * when somebody sends our own OPEN back to us. */
static uint64_t
nonce_check(const struct suci *ep, const uint8_t nonce[NONCE_HALF])
{
	uint8_t in[4 + NONCE_HALF] = "seal";
	memcpy(in + 4, nonce, NONCE_HALF);
	return base_siphash(ep->conf.cookie_secret, in, sizeof in);
}

static void
make_own_nonce(const struct suci *ep, const struct suci_path *p, struct suci_seal *s)
{
	uint8_t seed[32], out[SEAL_HASH];
	be64_store(seed, ep->conf.incarnation);
	be64_store(seed + 8, s->serial);
	be64_store(seed + 16, ep->now_ns);
	be32_store(seed + 24, p->rx_tag);
	be32_store(seed + 28, s->attempt);
	seal_hmac(ep->conf.seal.aead, ep->conf.cookie_secret, sizeof ep->conf.cookie_secret, seed,
		  sizeof seed, out);
	memcpy(s->nonce, out, NONCE_HALF);
	be64_store(s->nonce + NONCE_HALF, nonce_check(ep, s->nonce));
}

struct suci_seal *
suci_seal_new(struct suci *ep, const struct suci_path *p)
{
	uint32_t i = ep->seal_free;
	if (i == NONE || !ep->conf.seal.aead)
		return NULL;
	struct suci_seal *s = &ep->seal[i];
	ep->seal_free = s->next_free;
	memset(s, 0, sizeof *s);
	s->slot[0] = s->slot[1] = NO_KEY;
	s->serial = ++ep->seal_serial;
	make_own_nonce(ep, p, s);
	return s;
}

void
suci_seal_retry(struct suci *ep, struct suci_path *p)
{
	struct suci_seal *s = p->seal;
	if (ep->conf.seal.nkeys == 1)
		return;
	s->psk = (uint8_t)((s->psk + 1u) % ep->conf.seal.nkeys);
	s->attempt++;
	s->begun = false;
	make_own_nonce(ep, p, s);
}

void
suci_seal_again(struct suci *ep, struct suci_path *p)
{
	p->seal->psk = 0;
	p->seal->attempt++;
	p->seal->begun = false;
	make_own_nonce(ep, p, p->seal);
}

bool
suci_seal_own_nonce(const struct suci *ep, const uint8_t nonce[SEAL_NONCE])
{
	return be64_load(nonce + NONCE_HALF) == nonce_check(ep, nonce);
}

void
suci_seal_give(struct suci *ep, struct suci_seal *s)
{
	suci_keys_forget(ep, s);
	explicit_bzero(s, sizeof *s);
	s->next_free = ep->seal_free;
	ep->seal_free = (uint32_t)(s - ep->seal);
}

void
suci_seal_next_secret(const struct suci *ep, const uint8_t secret[SEAL_HASH],
		      uint8_t out[SEAL_HASH])
{
	uint8_t next[SEAL_HASH];
	seal_hkdf_expand(ep->conf.seal.aead, secret, "suci next", 9, next, sizeof next);
	memcpy(out, next, sizeof next);
	explicit_bzero(next, sizeof next);
}

struct side {
	const uint8_t *nonce;
	uint64_t incarnation;
	uint32_t tag;
};

/* The secret of what one end sends; the two differ in who is named first, and no two
 * ends have the same nonce. */
static void
secret_of(const struct suci *ep, const uint8_t prk[SEAL_HASH], const struct side side[2],
	  int sender, uint8_t out[SEAL_HASH])
{
	uint8_t info[9 + 2 * (SEAL_NONCE + 12)] = "suci path", *at = info + 9;
	for (int i = 0; i < 2; i++, at += SEAL_NONCE + 12) {
		const struct side *e = &side[i ^ sender];
		memcpy(at, e->nonce, SEAL_NONCE);
		be64_store(at + SEAL_NONCE, e->incarnation);
		be32_store(at + SEAL_NONCE + 8, e->tag);
	}
	seal_hkdf_expand(ep->conf.seal.aead, prk, info, sizeof info, out, SEAL_HASH);
}

void
suci_seal_keys(struct suci *ep, struct suci_path *p, const struct suci_body *b)
{
	struct suci_seal *s = p->seal;
	memcpy(s->peer_nonce, b->nonce, SEAL_NONCE);
	s->psk = (uint8_t)b->psk;
	s->key_id = ep->conf.seal.key[b->psk].id;
	s->who = p->incoming ? b->who : s->who;
	s->attempt = b->attempt;
	s->begun = false;
	const struct side side[2] = {{s->nonce, ep->conf.incarnation, p->rx_tag},
				     {s->peer_nonce, b->incarnation, b->tag}};
	secret_of(ep, b->ck_accept, side, 0, s->tx_secret); /* where the opener's private key was */
	secret_of(ep, b->ck_accept, side, 1, s->rx_secret);
	/* To say ACCEPT, and to say it again, until the opener is heard. */
	explicit_bzero(s->ck, sizeof s->ck);
	if (p->incoming) {
		memcpy(s->ck, b->ck_accept, sizeof s->ck);
		memcpy(s->once, b->once, sizeof s->once);
	}
	s->tx_epoch = s->rx_epoch = 0;
	s->epoch_pn = 0; /* both have it from the handshake */
	s->sent = 0;
	s->heard = false;
	suci_keys_forget(ep, s);
}

static void
make_nonce(uint8_t out[SEAL_AEAD_NONCE], bool bare, uint64_t pn)
{
	be32_store(out, bare);
	be64_store(out + 4, pn);
}

static void
advance_tx(struct suci *ep, struct suci_seal *s)
{
	suci_seal_next_secret(ep, s->tx_secret, s->tx_secret);
	suci_keys_drop(ep, s, false);
	s->tx_epoch++;
	s->sent = 0;
	s->epoch_pn = UINT64_MAX;
	ep->count.tx_rekeys++;
}

/* Not before the peer has shown that it has the key of this epoch, and has received
 * something under it: it may be the one who began the epoch and has heard nothing of
 * ours since.  So the two are never more than one epoch apart. */
static void
next_epoch(struct suci *ep, struct suci_path *p, struct suci_seal *s)
{
	if (s->heard && s->rx_epoch == s->tx_epoch && p->loss.largest_acked >= s->epoch_pn)
		advance_tx(ep, s);
	else if (s->sent >= ep->conf.seal.packets_max)
		suci_path_fail(ep, p, SUCI_DOWN_STALE, "the key has been used up");
}

size_t
suci_seal_data(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len, uint64_t pn)
{
	struct suci_seal *s = p->seal;
	uint8_t nonce[SEAL_AEAD_NONCE];
	if (s->sent >= ep->conf.seal.epoch)
		next_epoch(ep, p, s);
	s->sent++;
	if (!(dgram[1] & SUCI_PF_BARE) && pn < s->epoch_pn)
		s->epoch_pn = pn;
	dgram[1] = (uint8_t)(dgram[1] | (s->tx_epoch << EPOCH_SHIFT & SUCI_PF_EPOCH));
	bool bare = dgram[1] & SUCI_PF_BARE;
	make_nonce(nonce, bare, pn);
	ep->conf.seal.aead->seal(suci_keys_ready(ep, s, false), nonce, dgram, SUCI_PATH_HDR,
				 dgram + SUCI_PATH_HDR, len - SUCI_PATH_HDR);
	if (s->want_challenge && !bare && len + SUCI_SEAL_TAG >= SUCI_RESET_SEALED) {
		s->want_challenge = false;
		s->challenged = true;
		s->challenged_ns = ep->now_ns;
		memcpy(s->challenge, dgram + len + SUCI_SEAL_TAG - sizeof s->challenge,
		       sizeof s->challenge);
	}
	return len + SUCI_SEAL_TAG;
}

size_t
suci_seal(struct suci *ep, const struct suci_out *o, uint8_t *dst, size_t cap)
{
	size_t len = (size_t)o->head_len + o->seg_head_len + o->data_len;
	struct suci_path *p = o->path < ep->conf.limits.paths_max ? &ep->path[o->path] : NULL;
	if (!o->sealed || !p || !p->seal || p->seal->serial != o->seal_serial ||
	    cap < len + SUCI_SEAL_TAG)
		return 0;
	memcpy(dst, o->head, o->head_len);
	uint8_t *at = dst + o->head_len;
	if (o->seg_head_len)
		memcpy(at, o->seg_head, o->seg_head_len);
	at += o->seg_head_len;
	if (o->data_len)
		base_copy(at, o->data, o->data_len);
	return suci_seal_data(ep, p, dst, len, o->pn);
}

void
suci_seal_forged(struct suci *ep, struct suci_path *p)
{
	ep->count.drop_seal++;
	if (++p->seal->forged >= ep->conf.seal.forgeries_max)
		suci_path_fail(ep, p, SUCI_DOWN_STALE, "too many forged datagrams for its keys");
}

/* The 64-bit number nearest to the highest so far. */
static uint64_t
whole_pn(uint64_t highest, uint32_t pn)
{
	int64_t d = (int32_t)(pn - (uint32_t)highest);
	return highest + (uint64_t)d;
}

/* Bare datagrams are acknowledged by nobody, so they have a window of their own. */
static bool
bare_is_new(struct suci *ep, const struct suci_seal *s, uint64_t pn)
{
	if (pn > s->rx_bare)
		return true;
	uint64_t back = s->rx_bare - pn;
	if (back >= 64) {
		ep->count.drop_old_pn++;
		return false;
	}
	if (s->bare_seen >> back & 1) {
		ep->count.drop_duplicate_pn++;
		return false;
	}
	return true;
}

static void
bare_note(struct suci_seal *s, uint64_t pn)
{
	if (pn > s->rx_bare) {
		uint64_t up = pn - s->rx_bare;
		s->bare_seen = up < 64 ? s->bare_seen << up : 0;
		s->rx_bare = pn;
	}
	s->bare_seen |= 1ull << (s->rx_bare - pn);
}

/* The peer sent authentically in the next epoch. */
static void
advance_rx(struct suci *ep, struct suci_seal *s)
{
	suci_keys_follow(ep, s);
	if (s->tx_epoch != s->rx_epoch)
		advance_tx(ep, s);
}

bool
suci_seal_open(struct suci *ep, struct suci_path *p, const struct suci_path_hdr *h, uint8_t *dgram,
	       size_t len)
{
	struct suci_seal *s = p->seal;
	bool bare = h->flags & SUCI_PF_BARE;
	if (len < SUCI_PATH_HDR + SUCI_SEAL_TAG) {
		ep->count.drop_short++;
		return false;
	}
	uint64_t pn = whole_pn(bare ? s->rx_bare : s->rx_pn, h->pn);
	/* What was here before costs no decryption. */
	if (bare && !bare_is_new(ep, s, pn))
		return false;
	if (!bare && !suci_rx_is_new(ep, p, h->pn))
		return false;
	uint32_t ahead = (((h->flags & (uint32_t)SUCI_PF_EPOCH) >> EPOCH_SHIFT) - s->rx_epoch) & 3;
	const uint8_t *key = !ahead	  ? suci_keys_ready(ep, s, true)
			     : ahead == 2 ? NULL
			     : ahead == 1 ? suci_keys_beside(ep, s, s->rx_epoch + 1)
					  : suci_keys_beside(ep, s, s->rx_epoch - 1);
	uint8_t nonce[SEAL_AEAD_NONCE];
	make_nonce(nonce, bare, pn);
	if (!key ||
	    !ep->conf.seal.aead->open(key, nonce, dgram, SUCI_PATH_HDR, dgram + SUCI_PATH_HDR,
				      len - SUCI_PATH_HDR - SUCI_SEAL_TAG)) {
		suci_seal_forged(ep, p);
		return false;
	}
	if (ahead == 1)
		advance_rx(ep, s);
	if (ahead != 3 && !s->heard) {
		s->heard = true;
		explicit_bzero(s->ck, sizeof s->ck);
	}
	if (bare)
		bare_note(s, pn);
	else if (pn > s->rx_pn)
		s->rx_pn = pn;
	return true;
}
