/* What is sealed outside the numbered datagrams of a path: OPEN, ACCEPT, RESET, CLOSE,
 * CHALLENGE, RESPONSE.
 *
 * Each such datagram has a key of its own, an HKDF of a secret, what it is, and all
 * its readable bytes, and the nonce 0: two different ones never share a key, so
 * that nothing has to be counted or remembered.  Sent again the same bytes are the same
 * datagram. */
#include "private.h"

#include "base/bytes.h"

#include <string.h>

#define CLEAR_MAX (SUCI_PATH_HDR + SUCI_BODY_HDR + SUCI_SEAL_EXT)

static const uint8_t zero_nonce[SEAL_AEAD_NONCE];

/* The key of one datagram whose first clear bytes stay readable, in ep->once. */
static void
once_key(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
	 const uint8_t *dgram, size_t clear)
{
	uint8_t info[8 + CLEAR_MAX], raw[SEAL_SECRET];
	memcpy(info, label, 8);
	memcpy(info + 8, dgram, clear);
	seal_hkdf_expand(ep->conf.seal.aead, secret, info, 8 + clear, raw, sizeof raw);
	ep->conf.seal.aead->expand(ep->once, raw);
	explicit_bzero(raw, sizeof raw);
}

static size_t
once_seal(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8], uint8_t *dgram,
	  size_t clear, size_t len)
{
	once_key(ep, secret, label, dgram, clear);
	ep->conf.seal.aead->seal(ep->once, zero_nonce, dgram, clear, dgram + clear, len - clear);
	return len + SUCI_SEAL_TAG;
}

/* len is without the tag. */
static bool
once_open(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8], uint8_t *dgram,
	  size_t clear, size_t len)
{
	once_key(ep, secret, label, dgram, clear);
	if (ep->conf.seal.aead->open(ep->once, zero_nonce, dgram, clear, dgram + clear,
				     len - clear))
		return true;
	ep->count.drop_seal++;
	return false;
}

const struct seal_psk *
suci_seal_psk(const struct suci *ep, uint32_t id)
{
	for (uint32_t i = 0; i < ep->conf.seal.nkeys; i++)
		if (ep->conf.seal.key[i].id == id)
			return &ep->conf.seal.key[i];
	return NULL;
}

static void
psk_secret(const struct suci *ep, const struct seal_psk *k, const uint8_t *salt, size_t len,
	   uint8_t out[SEAL_HASH])
{
	seal_hkdf_extract(ep->conf.seal.aead, salt, len, k->secret, sizeof k->secret, out);
}

static void
put_ext(uint8_t *at, const uint8_t nonce[SEAL_NONCE], uint32_t id, uint32_t attempt)
{
	memcpy(at, nonce, SEAL_NONCE);
	be32_store(at + SEAL_NONCE, id);
	be32_store(at + SEAL_NONCE + 4, attempt);
}

/* Both nonces for ACCEPT, the opener's for OPEN. */
static size_t
greeting_salt(const uint8_t *opener, const uint8_t *acceptor, uint8_t salt[2 * SEAL_NONCE])
{
	memcpy(salt, opener, SEAL_NONCE);
	if (!acceptor)
		return SEAL_NONCE;
	memcpy(salt + SEAL_NONCE, acceptor, SEAL_NONCE);
	return 2 * SEAL_NONCE;
}

size_t
suci_seal_greeting(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	const size_t clear = SUCI_PATH_HDR + SUCI_BODY_HDR;
	struct suci_seal *s = p->seal;
	bool accept = p->state == PATH_UP;
	const struct seal_psk *k = &ep->conf.seal.key[s->psk];
	uint8_t salt[2 * SEAL_NONCE], secret[SEAL_HASH];
	dgram[1] |= SUCI_PF_SEALED;
	memmove(dgram + clear + SUCI_SEAL_EXT, dgram + clear, len - clear);
	put_ext(dgram + clear, s->nonce, k->id, s->attempt);
	size_t n = accept ? greeting_salt(s->peer_nonce, s->nonce, salt)
			  : greeting_salt(s->nonce, NULL, salt);
	psk_secret(ep, k, salt, n, secret);
	len = once_seal(ep, secret, accept ? "suci acc" : "suci opn", dgram, clear + SUCI_SEAL_EXT,
			len + SUCI_SEAL_EXT);
	explicit_bzero(secret, sizeof secret);
	return len;
}

bool
suci_seal_greeted(struct suci *ep, const uint8_t *opener, uint8_t *dgram, size_t len,
		  struct suci_body *b)
{
	const size_t clear = SUCI_PATH_HDR + SUCI_BODY_HDR + SUCI_SEAL_EXT;
	if (len != clear + b->hello_len + SUCI_SEAL_TAG) {
		ep->count.drop_short++;
		return false;
	}
	const uint8_t *ext = dgram + clear - SUCI_SEAL_EXT;
	const struct seal_psk *k = suci_seal_psk(ep, be32_load(ext + SEAL_NONCE));
	if (!k) {
		ep->count.drop_psk++;
		return false;
	}
	uint8_t salt[2 * SEAL_NONCE], secret[SEAL_HASH];
	size_t n = opener ? greeting_salt(opener, ext, salt) : greeting_salt(ext, NULL, salt);
	psk_secret(ep, k, salt, n, secret);
	bool good = once_open(ep, secret, opener ? "suci acc" : "suci opn", dgram, clear,
			      clear + b->hello_len);
	explicit_bzero(secret, sizeof secret);
	b->hello = dgram + clear;
	b->nonce = ext;
	b->psk = (uint32_t)(k - ep->conf.seal.key);
	b->attempt = be32_load(ext + SEAL_NONCE + 4);
	return good;
}

/* The body of a farewell begins with reason and text_len; the extension goes behind. */
#define FAREWELL_CLEAR ((size_t)SUCI_PATH_HDR + 4)

static uint8_t *
open_gap(uint8_t *dgram, size_t *len)
{
	dgram[1] |= SUCI_PF_SEALED;
	memmove(dgram + FAREWELL_CLEAR + SUCI_SEAL_EXT, dgram + FAREWELL_CLEAR,
		*len - FAREWELL_CLEAR);
	*len += SUCI_SEAL_EXT;
	return dgram + FAREWELL_CLEAR;
}

size_t
suci_seal_farewell(struct suci *ep, const struct seal_psk *k, const uint8_t nonce[SEAL_NONCE],
		   uint8_t *dgram, size_t len)
{
	uint8_t secret[SEAL_HASH];
	put_ext(open_gap(dgram, &len), nonce, k->id, 0);
	psk_secret(ep, k, nonce, SEAL_NONCE, secret);
	len = once_seal(ep, secret, "suci bye", dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT, len);
	explicit_bzero(secret, sizeof secret);
	return len;
}

size_t
suci_seal_close(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	static const uint8_t none[SEAL_NONCE];
	put_ext(open_gap(dgram, &len), none, 0, 0);
	return suci_seal_control(ep, p, dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT, len);
}

/* Move the text back to where an unsealed farewell has it. */
static void
close_gap(uint8_t *dgram, size_t len)
{
	const size_t clear = FAREWELL_CLEAR + SUCI_SEAL_EXT;
	memmove(dgram + FAREWELL_CLEAR, dgram + clear, len - clear - SUCI_SEAL_TAG);
}

static bool
farewell_long_enough(struct suci *ep, size_t len)
{
	if (len >= FAREWELL_CLEAR + SUCI_SEAL_EXT + SUCI_SEAL_TAG)
		return true;
	ep->count.drop_short++;
	return false;
}

bool
suci_seal_farewell_open(struct suci *ep, uint8_t *dgram, size_t len, uint8_t nonce[SEAL_NONCE])
{
	if (!farewell_long_enough(ep, len))
		return false;
	const uint8_t *ext = dgram + FAREWELL_CLEAR;
	const struct seal_psk *k = suci_seal_psk(ep, be32_load(ext + SEAL_NONCE));
	if (!k) {
		ep->count.drop_psk++;
		return false;
	}
	uint8_t secret[SEAL_HASH];
	memcpy(nonce, ext, SEAL_NONCE);
	psk_secret(ep, k, nonce, SEAL_NONCE, secret);
	bool good = once_open(ep, secret, "suci bye", dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT,
			      len - SUCI_SEAL_TAG);
	explicit_bzero(secret, sizeof secret);
	if (good)
		close_gap(dgram, len);
	return good;
}

bool
suci_seal_close_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	if (!farewell_long_enough(ep, len) ||
	    !suci_seal_control_open(ep, p, dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT, len))
		return false;
	close_gap(dgram, len);
	return true;
}

size_t
suci_seal_control(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear, size_t len)
{
	struct suci_seal *s = p->seal;
	dgram[1] = (uint8_t)(SUCI_PF_SEALED | (s->tx_epoch << 5 & SUCI_PF_EPOCH));
	return once_seal(ep, s->tx_secret, "suci ctl", dgram, clear, len);
}

bool
suci_seal_control_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear,
		       size_t len)
{
	const struct suci_seal *s = p->seal;
	uint8_t secret[SEAL_HASH];
	uint32_t ahead = (((dgram[1] & (uint32_t)SUCI_PF_EPOCH) >> 5) - s->rx_epoch) & 3;
	if (len < clear + SUCI_SEAL_TAG) {
		ep->count.drop_short++;
		return false;
	}
	if (ahead > 1) {
		ep->count.drop_seal++;
		return false;
	}
	memcpy(secret, s->rx_secret, sizeof secret);
	if (ahead)
		suci_seal_next_secret(ep, s->rx_secret, secret);
	uint64_t before = ep->count.drop_seal;
	bool good = once_open(ep, secret, "suci ctl", dgram, clear, len - SUCI_SEAL_TAG);
	explicit_bzero(secret, sizeof secret);
	if (!good) {
		ep->count.drop_seal = before; /* counted with the path's */
		suci_seal_forged(ep, p);
	}
	return good;
}
