/* SPDX-License-Identifier: BSD-2-Clause */
/* Sealed OPEN and ACCEPT: the two messages of seal/handshake.h, in datagrams.
 *
 *      path header 16 | body 32 | nonce 16, key id 4, attempt 4 | public key 32, code 16 |
 *      [own public key, encrypted, 48: OPEN with identities] | hello data, encrypted | tag 16
 *
 * An opener makes its key pair with its first OPEN, keeps it for those that repeat that, and makes
 * another one for each attempt.  The listener makes its pair, takes the keys of the path, and
 * forgets it, all in one call: nothing is kept for an OPEN that comes to nothing. */
#include "path_internal.h"

#include "base/bytes.h"

#include <string.h>

#define PROTOCOL "relayd suci 2"
#define HELLO_AT ((size_t)SUCI_PATH_HDR + SUCI_BODY_HDR)
#define KEY_AT	 (HELLO_AT + SUCI_SEAL_EXT)   /* of this path, public */
#define CODE_AT	 (KEY_AT + SEAL_DH)	      /* under the pre-shared key */
#define GREET	 (CODE_AT + SEAL_TAG)	      /* what is encrypted begins */
#define OWN	 ((size_t)SEAL_DH + SEAL_TAG) /* a public key, encrypted */

_Static_assert(GREET + OWN <= SEAL_READABLE_MAX, "keys are made of all that is readable");

const uint8_t *
suci_seal_shared(const struct suci *ep, const struct suci_addr *at)
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	const struct seal_peer *peer =
		c->me ? seal_peer_at(c->peer, c->npeers, at->family, at->ip) : NULL;
	return peer ? peer->shared : NULL;
}

bool
suci_seal_knows(const struct suci *ep, const struct suci_addr *to)
{
	return !ep->conf.seal.me || suci_seal_shared(ep, to);
}

static size_t
own_len(const struct suci *ep, bool accept)
{
	return ep->conf.seal.me && !accept ? OWN : 0;
}

static void
begin_sealed(const struct suci *ep, uint32_t psk, const uint8_t e[SEAL_DH], uint8_t ck[SEAL_HASH])
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	seal_hs_begin(c->aead, ck, PROTOCOL, c->me, &c->key[psk]);
	seal_hs_mix(c->aead, ck, e, SEAL_DH);
}

static void
code_of(const struct suci *ep, uint32_t psk, bool accept, const uint8_t *dgram,
	uint8_t out[SEAL_TAG])
{
	seal_hs_code(ep->conf.seal.aead, &ep->conf.seal.key[psk], accept ? "suci co2" : "suci co1",
		     dgram, CODE_AT, out);
}

/* The opener's part of the key schedule; own public key goes where at is. */
static bool
put_own(struct suci *ep, struct suci_path *p, uint8_t *dgram, uint8_t ck[SEAL_HASH])
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	const struct seal_peer *peer = seal_peer_at(c->peer, c->npeers, p->peer.family, p->peer.ip);
	if (!peer || !seal_hs_mix_dh(c->aead, ck, p->seal->tx_secret, peer->public_key))
		return false;
	memcpy(dgram + GREET, c->me->public_key, SEAL_DH);
	seal_hs_seal(c->aead, ck, "suci own", dgram, GREET, SEAL_DH, ep->once);
	seal_hs_mix(c->aead, ck, peer->shared, SEAL_DH);
	p->seal->who = be64_load(peer->public_key);
	return true;
}

size_t
suci_seal_handshake(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	struct suci_seal *s = p->seal;
	bool accept = p->state == PATH_UP;
	size_t clear = GREET + own_len(ep, accept), hello = len - HELLO_AT;
	if (!accept && !s->begun) {
		seal_source_next(ep->conf.seal.aead, &ep->source, s->tx_secret);
		ep->conf.seal.aead->dh_public(s->tx_secret, s->once);
		s->begun = true;
	}
	dgram[1] |= SUCI_PF_SEALED;
	memmove(dgram + clear, dgram + HELLO_AT, hello);
	memcpy(dgram + HELLO_AT, s->nonce, SEAL_NONCE);
	be32_store(dgram + HELLO_AT + SEAL_NONCE, ep->conf.seal.key[s->psk].id);
	be32_store(dgram + HELLO_AT + SEAL_NONCE + 4, s->attempt);
	memcpy(dgram + KEY_AT, s->once, SEAL_DH);
	code_of(ep, s->psk, accept, dgram, dgram + CODE_AT);
	if (!accept) {
		begin_sealed(ep, s->psk, s->once, s->ck);
		if (ep->conf.seal.me && !put_own(ep, p, dgram, s->ck))
			return 0;
	}
	return suci_seal_once(ep, s->ck, accept ? "suci acc" : "suci opn", dgram, clear,
			      clear + hello);
}

static void
sealed_stranger(struct suci *ep, const struct suci_addr *from, const uint8_t *public_key)
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	ep->count.drop_identity++;
	if (ep->conf.ops->stranger)
		ep->conf.ops->stranger(ep->conf.user, from, public_key,
				       public_key ? seal_peer_with(c->peer, c->npeers, public_key)
						  : NULL);
}

/* What is readable of it, and the code.  from NULL: it is an ACCEPT. */
static bool
read_handshake(struct suci *ep, const struct suci_addr *from, const uint8_t *dgram, size_t len,
	       struct suci_body *b)
{
	bool accept = !from;
	uint8_t code[SEAL_TAG];
	if (len != GREET + own_len(ep, accept) + b->hello_len + SUCI_SEAL_TAG) {
		/* That of an end with identities where there are none, or the reverse. */
		size_t other = GREET + OWN - own_len(ep, false) + b->hello_len + SUCI_SEAL_TAG;
		if (!accept && len == other)
			sealed_stranger(ep, from, NULL);
		else
			ep->count.drop_short++;
		return false;
	}
	const struct seal_psk *k = suci_seal_psk(ep, be32_load(dgram + HELLO_AT + SEAL_NONCE));
	if (!k) {
		ep->count.drop_psk++;
		return false;
	}
	b->nonce = dgram + HELLO_AT;
	b->psk = (uint32_t)(k - ep->conf.seal.key);
	b->attempt = be32_load(dgram + HELLO_AT + SEAL_NONCE + 4);
	b->hello = dgram + GREET + own_len(ep, accept);
	code_of(ep, b->psk, accept, dgram, code);
	if (seal_same(code, dgram + CODE_AT, sizeof code))
		return true;
	ep->count.drop_seal++;
	return false;
}

bool
suci_seal_opens(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, size_t len,
		struct suci_body *b)
{
	if (!read_handshake(ep, from, dgram, len, b))
		return false;
	if (!suci_seal_own_nonce(ep, b->nonce))
		return true;
	ep->count.drop_reflected++;
	return false;
}

/* Whose is it?  With identities only; the opener's public key goes to from_key. */
static bool
read_own(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, uint8_t ck[SEAL_HASH],
	 uint8_t from_key[SEAL_DH])
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	uint8_t own[OWN]; /* what is encrypted behind it covers it as it came */
	memcpy(own, dgram + GREET, OWN);
	if (!seal_hs_mix_dh(c->aead, ck, c->me->secret, dgram + KEY_AT) ||
	    !seal_hs_open(c->aead, ck, "suci own", dgram, GREET, SEAL_DH, ep->once)) {
		ep->count.drop_seal++;
		return false;
	}
	memcpy(from_key, dgram + GREET, SEAL_DH);
	memcpy(dgram + GREET, own, OWN);
	const struct seal_peer *peer =
		seal_peer_from(c->peer, c->npeers, from_key, from->family, from->ip);
	if (!peer) {
		sealed_stranger(ep, from, from_key);
		return false;
	}
	seal_hs_mix(c->aead, ck, peer->shared, SEAL_DH);
	return true;
}

/* Without a pre-shared key anybody with an address of its own can ask for this. */
static bool
may_compute(struct suci *ep)
{
	if (ep->conf.seal.key[0].id)
		return true;
	if (suci_pacer_next_ns(&ep->curve_pacer, ep->now_ns) > ep->now_ns) {
		ep->count.drop_curve++;
		return false;
	}
	suci_pacer_sent(&ep->curve_pacer, 1, ep->now_ns);
	return true;
}

bool
suci_seal_opened(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, struct suci_body *b)
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	uint8_t once[SEAL_DH], from_key[SEAL_DH];
	size_t clear = GREET + own_len(ep, false);
	if (!may_compute(ep))
		return false;
	begin_sealed(ep, b->psk, dgram + KEY_AT, b->ck_open);
	if (c->me && !read_own(ep, from, dgram, b->ck_open, from_key))
		return false;
	b->who = c->me ? be64_load(from_key) : 0;
	if (!suci_seal_once_open(ep, b->ck_open, "suci opn", dgram, clear, clear + b->hello_len))
		return false;
	seal_source_next(c->aead, &ep->source, once);
	c->aead->dh_public(once, b->once);
	memcpy(b->ck_accept, b->ck_open, sizeof b->ck_accept);
	seal_hs_mix(c->aead, b->ck_accept, b->once, SEAL_DH);
	bool good = seal_hs_mix_dh(c->aead, b->ck_accept, once, dgram + KEY_AT) &&
		    (!c->me || seal_hs_mix_dh(c->aead, b->ck_accept, once, from_key));
	explicit_bzero(once, sizeof once);
	ep->count.drop_seal += !good;
	return good;
}

bool
suci_seal_accepted(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len,
		   struct suci_body *b)
{
	const struct suci_seal_conf *c = &ep->conf.seal;
	struct suci_seal *s = p->seal;
	if (!read_handshake(ep, NULL, dgram, len, b))
		return false;
	if (!s->begun || b->psk != s->psk) { /* the answer to an earlier attempt */
		ep->count.drop_state++;
		return false;
	}
	memcpy(b->ck_accept, s->ck, sizeof b->ck_accept);
	seal_hs_mix(c->aead, b->ck_accept, dgram + KEY_AT, SEAL_DH);
	if (!seal_hs_mix_dh(c->aead, b->ck_accept, s->tx_secret, dgram + KEY_AT) ||
	    (c->me && !seal_hs_mix_dh(c->aead, b->ck_accept, c->me->secret, dgram + KEY_AT))) {
		ep->count.drop_seal++;
		return false;
	}
	return suci_seal_once_open(ep, b->ck_accept, "suci acc", dgram, GREET,
				   GREET + b->hello_len);
}

size_t
suci_seal_refusal(struct suci *ep, const struct suci_body *b, uint8_t *dgram, size_t len)
{
	len = suci_seal_reset_gap(dgram, len, b->nonce, ep->conf.seal.key[b->psk].id);
	return suci_seal_once(ep, b->ck_open, "suci bye", dgram, SUCI_CLOSE_CLEAR + SUCI_SEAL_EXT,
			      len);
}

bool
suci_seal_refusal_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	struct suci_seal *s = p->seal;
	if (!suci_seal_reset_whole(ep, len))
		return false;
	if (!s->begun || memcmp(dgram + SUCI_CLOSE_CLEAR, s->nonce, SEAL_NONCE)) {
		ep->count.drop_seal++;
		return false;
	}
	if (!suci_seal_once_open(ep, s->ck, "suci bye", dgram, SUCI_CLOSE_CLEAR + SUCI_SEAL_EXT,
				 len - SUCI_SEAL_TAG))
		return false;
	suci_seal_reset_shift(dgram, len);
	return true;
}
