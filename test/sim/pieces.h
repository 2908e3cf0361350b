/* sim/pieces.h - a datagram of an endpoint as what sim_send() takes, and the keys of
 * sealed worlds. */
#ifndef SIM_PIECES_H
#define SIM_PIECES_H

#include "sim.h"

#include "driver/aead.h"
#include "suci/endpoint.h"

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
	}
}

/* Seal the legs of that bit mask, with keys that all worlds share. */
static inline void
sim_seal(struct suci_config *c, uint32_t legs, uint32_t epoch)
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
}

#endif
