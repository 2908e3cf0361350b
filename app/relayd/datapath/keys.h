/* SPDX-License-Identifier: BSD-2-Clause */
/* keys.h - the keys of sealed legs, out of the files that the configuration names: pre-shared ones,
 * this site's identity and its peers.  Who seals something else reads sealing.key_file here, too.
 *
 * One object for all workers, which only read it.  Control makes it, and after a reload another
 * one: the old one is wiped when all workers have the new one.
 *
 * Threads  control; the workers read. */
#ifndef RD_KEYS_H
#define RD_KEYS_H

#include "rd/conf.h"

#include "driver/aead.h"
#include "suci/seal.h"

struct rd_keys {
	bool sealed; /* some leg is; else there is nothing else here */
	struct seal_psk key[SEAL_PSK_MAX];
	uint32_t nkeys;
	bool identity;
	struct seal_ring ring;
};

/* The keys of sealing.key_file.  false: a text that names the file in err. */
bool rd_psk_load(const struct rd_conf *conf, struct seal_psk key[SEAL_PSK_MAX], uint32_t *nkeys,
		 char *err, size_t err_max);
/* The cryptography; NULL and a text in err if this machine cannot have it. */
const struct seal_crypto *rd_crypto(char *err, size_t err_max);
/* Bit n: leg n is sealed. */
uint32_t rd_sealed_legs(const struct rd_conf *conf);
/* NULL, and a text that names the file in err. */
struct rd_keys *rd_keys_load(const struct rd_conf *conf, char *err, size_t err_max);
bool rd_keys_same(const struct rd_keys *a, const struct rd_keys *b);
/* key, nkeys, me, peer, npeers of an endpoint, which point into k. */
void rd_keys_give(const struct rd_keys *k, struct suci_seal_conf *seal);
/* Wiped and freed; accepts NULL. */
void rd_keys_free(struct rd_keys *k);

#endif
