/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/pieces.h - a datagram of an endpoint as what sim_send() takes, and the keys of
 * sealed worlds. */
#ifndef SIM_PIECES_H
#define SIM_PIECES_H

#include "sim.h"

#include "base/assert.h"
#include "driver/aead.h"
#include "suci/endpoint.h"

#include <string.h>

/* The pieces of *o, valid until the next call; sealed it is one. */
static inline void
sim_pieces(struct suci *ep, const struct suci_out *o, struct sim_piece p[3])
{
	static uint8_t sealed[1 << 16];
	p[0] = (struct sim_piece){o->head, o->head_len};
	p[1] = (struct sim_piece){o->seg_head, o->seg_head_len};
	p[2] = (struct sim_piece){o->data, o->data_len};
	if (o->sealed) {
		p[0] = (struct sim_piece){sealed, suci_seal(ep, o, sealed, sizeof sealed)};
		p[1].len = p[2].len = 0;
		/* Sealed at once, so its path has not gone down meanwhile. */
		BASE_ASSERT(p[0].len == suci_out_len(o));
	}
}

/* All nodes are of one site, which knows itself everywhere.  (That sites refuse each other is
 * test_suci_seal's.) */
static inline void
sim_identity(struct suci_seal_conf *c)
{
	static struct seal_identity site;
	static struct seal_peer peer = {.name = "site",
					.nprefixes = 2,
					.prefix = {{{[10] = 0xff, [11] = 0xff}, 96}, {{0xfd}, 8}}};
	char why[SEAL_TEXT];
	if (!site.secret[0]) {
		memset(site.secret, 0x77, sizeof site.secret);
		c->aead->dh_public(site.secret, site.public_key);
		memcpy(peer.public_key, site.public_key, sizeof peer.public_key);
		bool good = seal_peers_agree(c->aead, &site, &peer, 1, why);
		BASE_ASSERT(good);
	}
	c->me = &site;
	c->peer = &peer;
	c->npeers = 1;
}

/* Seal the legs of that bit mask, with keys that all worlds share. */
static inline void
sim_seal(struct suci_config *c, uint32_t legs, uint32_t epoch, bool identities)
{
	if (!legs)
		return;
	c->limits.sealed_max = c->limits.paths_max;
	c->limits.keys_max = epoch ? 4 : 0; /* fewer than paths that are busy */
	c->seal = (struct suci_seal_conf){.aead = seal_aes256gcm(),
					  .key = {{.id = 1, .secret = {1}}},
					  .nkeys = 1,
					  .legs = legs,
					  .epoch = epoch};
	for (size_t i = 0; i < sizeof c->seal.seed; i++)
		c->seal.seed[i] = (uint8_t)(c->seed >> (i % 8) ^ i * 11);
	if (identities)
		sim_identity(&c->seal);
}

#endif
