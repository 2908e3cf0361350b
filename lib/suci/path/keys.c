/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of sealed paths made ready for use (for AES-256-GCM a kilobyte each: round keys and
 * powers of the hash key), for those that are used.
 *
 * A path keeps only its two secrets of 32 bytes.  What an AEAD makes of them is in one of
 * limits.keys_max places that all paths share, one per direction; when all are taken, a key
 * not used since the hand came by last makes room (the CLOCK algorithm, F. Corbato 1968).
 * So a path that is idle costs a few bytes, and one that is busy an expansion when it
 * begins. */
#include "path_internal.h"

#include <string.h>

void
suci_keys_init(struct suci *ep)
{
	uint32_t n = suci_keys_of(&ep->conf.limits);
	for (uint32_t i = 0; i < n; i++)
		ep->keys[i] = (struct suci_key_use){.seal = NONE};
	ep->keys_n = n;
	ep->keys_hand = 0;
	if (ep->spare)
		memset(ep->spare, 0, SPARE_KEYS * sizeof *ep->spare);
}

static uint8_t *
key_at(struct suci *ep, uint32_t i)
{
	return ep->key_mem + (size_t)i * SEAL_KEY_MAX;
}

void
suci_keys_expand(const struct suci *ep, const uint8_t secret[SEAL_HASH], uint8_t *key)
{
	uint8_t raw[SEAL_SECRET];
	seal_hkdf_expand(ep->conf.seal.aead, secret, "suci key", 8, raw, sizeof raw);
	ep->conf.seal.aead->expand(key, raw);
	explicit_bzero(raw, sizeof raw);
}

/* At most two rounds: the first takes every mark away. */
static uint32_t
take_path_keys(struct suci *ep)
{
	for (;;) {
		uint32_t i = ep->keys_hand;
		struct suci_key_use *u = &ep->keys[i];
		ep->keys_hand = i + 1 < ep->keys_n ? i + 1 : 0;
		if (u->seal == NONE)
			return i;
		if (!u->used) {
			ep->seal[u->seal].slot[u->rx] = NO_KEY;
			return i;
		}
		u->used = false;
	}
}

const uint8_t *
suci_keys_make(struct suci *ep, struct suci_seal *s, bool rx)
{
	uint32_t i = take_path_keys(ep);
	ep->keys[i] =
		(struct suci_key_use){.seal = (uint32_t)(s - ep->seal), .rx = rx, .used = true};
	s->slot[rx] = (uint16_t)i;
	suci_keys_expand(ep, rx ? s->rx_secret : s->tx_secret, key_at(ep, i));
	ep->count.keys_made++;
	return key_at(ep, i);
}

void
suci_keys_drop(struct suci *ep, struct suci_seal *s, bool rx)
{
	uint32_t i = s->slot[rx];
	if (i == NO_KEY)
		return;
	explicit_bzero(key_at(ep, i), SEAL_KEY_MAX);
	ep->keys[i] = (struct suci_key_use){.seal = NONE};
	s->slot[rx] = NO_KEY;
}

/* ---- epochs beside the current one of what comes in ---- */

static struct suci_spare *
spare_find(struct suci *ep, const struct suci_seal *s, uint32_t epoch)
{
	for (uint32_t i = 0; i < SPARE_KEYS; i++)
		if (ep->spare[i].serial == s->serial && ep->spare[i].epoch == epoch)
			return &ep->spare[i];
	return NULL;
}

static struct suci_spare *
spare_take(struct suci *ep, const struct suci_seal *s, uint32_t epoch)
{
	struct suci_spare *k = &ep->spare[ep->spare_next++ % SPARE_KEYS];
	k->serial = s->serial;
	k->epoch = epoch;
	return k;
}

const uint8_t *
suci_keys_beside(struct suci *ep, const struct suci_seal *s, uint32_t epoch)
{
	struct suci_spare *k = spare_find(ep, s, epoch);
	if (k || epoch != s->rx_epoch + 1)
		return k ? k->key : NULL;
	uint8_t secret[SEAL_HASH];
	k = spare_take(ep, s, epoch);
	suci_seal_next_secret(ep, s->rx_secret, secret);
	suci_keys_expand(ep, secret, k->key);
	explicit_bzero(secret, sizeof secret);
	return k->key;
}

void
suci_keys_follow(struct suci *ep, struct suci_seal *s)
{
	struct suci_spare *k = spare_find(ep, s, s->rx_epoch + 1); /* it was just used */
	uint8_t next[SEAL_KEY_MAX];
	(void)suci_keys_ready(ep, s, true);
	uint8_t *current = key_at(ep, s->slot[true]);
	memcpy(next, k->key, sizeof next);
	memcpy(k->key, current, sizeof k->key);
	k->epoch = s->rx_epoch;
	memcpy(current, next, sizeof next);
	explicit_bzero(next, sizeof next);
	suci_seal_next_secret(ep, s->rx_secret, s->rx_secret);
	s->rx_epoch++;
}

void
suci_keys_forget(struct suci *ep, struct suci_seal *s)
{
	suci_keys_drop(ep, s, false);
	suci_keys_drop(ep, s, true);
	for (uint32_t i = 0; i < SPARE_KEYS; i++)
		if (ep->spare[i].serial == s->serial)
			explicit_bzero(&ep->spare[i], sizeof ep->spare[i]);
}
