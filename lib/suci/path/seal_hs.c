/* SPDX-License-Identifier: BSD-2-Clause */
/* What is sealed outside the numbered datagrams of a path and its handshake: RESET, CLOSE,
 * CHALLENGE, RESPONSE.
 *
 * Each such datagram has a key of its own, an HKDF of a secret, what it is, and all
 * its readable bytes, and the nonce 0: two different ones never share a key, so
 * that nothing has to be counted or remembered.  Sent again the same bytes are the same
 * datagram. */
#include "path_internal.h"

#include "base/bytes.h"

#include <string.h>

size_t
suci_seal_once(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
	       uint8_t *dgram, size_t clear, size_t len)
{
	seal_hs_seal(ep->conf.seal.aead, secret, label, dgram, clear, len - clear, ep->once);
	return len + SUCI_SEAL_TAG;
}

/* len is without the tag. */
bool
suci_seal_once_open(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
		    uint8_t *dgram, size_t clear, size_t len)
{
	if (seal_hs_open(ep->conf.seal.aead, secret, label, dgram, clear, len - clear, ep->once))
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

/* Of RESETs: the pre-shared key, and with identities what the two long-lived keys make. */
static void
psk_secret(const struct suci *ep, const struct suci_addr *peer, const struct seal_psk *k,
	   const uint8_t *salt, size_t len, uint8_t out[SEAL_HASH])
{
	const uint8_t *shared = suci_seal_shared(ep, peer);
	seal_hkdf_extract(ep->conf.seal.aead, salt, len, k->secret, sizeof k->secret, out);
	if (shared)
		seal_hs_mix(ep->conf.seal.aead, out, shared, SEAL_DH);
}

static void
put_ext(uint8_t *at, const uint8_t nonce[SEAL_NONCE], uint32_t id, uint32_t attempt)
{
	memcpy(at, nonce, SEAL_NONCE);
	be32_store(at + SEAL_NONCE, id);
	be32_store(at + SEAL_NONCE + 4, attempt);
}

/* The body of a CLOSE or RESET begins with reason and text_len; the extension goes behind. */
#define FAREWELL_CLEAR SUCI_CLOSE_CLEAR

size_t
suci_seal_reset_gap(uint8_t *dgram, size_t len, const uint8_t nonce[SEAL_NONCE], uint32_t id)
{
	dgram[1] |= SUCI_PF_SEALED;
	memmove(dgram + FAREWELL_CLEAR + SUCI_SEAL_EXT, dgram + FAREWELL_CLEAR,
		len - FAREWELL_CLEAR);
	put_ext(dgram + FAREWELL_CLEAR, nonce, id, 0);
	return len + SUCI_SEAL_EXT;
}

size_t
suci_seal_reset(struct suci *ep, const struct suci_addr *to, const struct seal_psk *k,
		const uint8_t nonce[SEAL_NONCE], uint8_t *dgram, size_t len)
{
	uint8_t secret[SEAL_HASH];
	len = suci_seal_reset_gap(dgram, len, nonce, k->id);
	psk_secret(ep, to, k, nonce, SEAL_NONCE, secret);
	len = suci_seal_once(ep, secret, "suci bye", dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT, len);
	explicit_bzero(secret, sizeof secret);
	return len;
}

size_t
suci_seal_close(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	static const uint8_t none[SEAL_NONCE];
	len = suci_seal_reset_gap(dgram, len, none, 0);
	return suci_seal_control(ep, p, dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT, len);
}

/* Move the text back to where an unsealed one has it. */
void
suci_seal_reset_shift(uint8_t *dgram, size_t len)
{
	const size_t clear = FAREWELL_CLEAR + SUCI_SEAL_EXT;
	memmove(dgram + FAREWELL_CLEAR, dgram + clear, len - clear - SUCI_SEAL_TAG);
}

bool
suci_seal_reset_whole(struct suci *ep, size_t len)
{
	if (len >= FAREWELL_CLEAR + SUCI_SEAL_EXT + SUCI_SEAL_TAG)
		return true;
	ep->count.drop_short++;
	return false;
}

bool
suci_seal_reset_open(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, size_t len,
		     uint8_t nonce[SEAL_NONCE])
{
	if (!suci_seal_reset_whole(ep, len))
		return false;
	const uint8_t *ext = dgram + FAREWELL_CLEAR;
	const struct seal_psk *k = suci_seal_psk(ep, be32_load(ext + SEAL_NONCE));
	if (!k) {
		ep->count.drop_psk++;
		return false;
	}
	uint8_t secret[SEAL_HASH];
	memcpy(nonce, ext, SEAL_NONCE);
	psk_secret(ep, from, k, nonce, SEAL_NONCE, secret);
	bool good = suci_seal_once_open(ep, secret, "suci bye", dgram,
					FAREWELL_CLEAR + SUCI_SEAL_EXT, len - SUCI_SEAL_TAG);
	explicit_bzero(secret, sizeof secret);
	if (good)
		suci_seal_reset_shift(dgram, len);
	return good;
}

bool
suci_seal_close_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	if (!suci_seal_reset_whole(ep, len) ||
	    !suci_seal_control_open(ep, p, dgram, FAREWELL_CLEAR + SUCI_SEAL_EXT, len))
		return false;
	suci_seal_reset_shift(dgram, len);
	return true;
}

size_t
suci_seal_control(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear, size_t len)
{
	struct suci_seal *s = p->seal;
	dgram[1] = (uint8_t)(SUCI_PF_SEALED | (s->tx_epoch << 5 & SUCI_PF_EPOCH));
	return suci_seal_once(ep, s->tx_secret, "suci ctl", dgram, clear, len);
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
	bool good = suci_seal_once_open(ep, secret, "suci ctl", dgram, clear, len - SUCI_SEAL_TAG);
	explicit_bzero(secret, sizeof secret);
	if (!good) {
		ep->count.drop_seal = before; /* counted with the path's */
		suci_seal_forged(ep, p);
	}
	return good;
}
