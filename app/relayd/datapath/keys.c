/* SPDX-License-Identifier: BSD-2-Clause */
#include "keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t
rd_sealed_legs(const struct rd_conf *conf)
{
	uint32_t legs = 0;
	for (uint32_t i = 0; i < conf->nlegs; i++)
		legs |= (conf->port[i].sealing == RD_SEALING_ON ? 1u : 0) << i;
	return legs;
}

const struct seal_crypto *
rd_crypto(char *err, size_t err_max)
{
	const struct seal_crypto *crypto = seal_aes256gcm();
	if (!crypto)
		snprintf(err, err_max, "the AES library cannot be used on this machine");
	return crypto;
}

bool
rd_psk_load(const struct rd_conf *conf, struct seal_psk key[SEAL_PSK_MAX], uint32_t *nkeys,
	    char *err, size_t err_max)
{
	char why[SEAL_TEXT];
	int n = seal_psk_load(conf->sealing.key_file, key, why);
	if (n < 0) {
		snprintf(err, err_max, "sealing.key_file: %.60s: %s", conf->sealing.key_file, why);
		return false;
	}
	*nkeys = (uint32_t)n;
	return true;
}

static bool
read_key_files(const struct rd_conf *conf, struct rd_keys *k, char *err, size_t err_max)
{
	char why[SEAL_TEXT];
	if (!rd_crypto(err, err_max))
		return false;
	if (*conf->sealing.identity_file) {
		k->identity = true;
		if (seal_ring_load(conf->sealing.identity_file, conf->sealing.peers_file, &k->ring,
				   why)) {
			snprintf(err, err_max, "%s", why);
			return false;
		}
	}
	return !*conf->sealing.key_file || rd_psk_load(conf, k->key, &k->nkeys, err, err_max);
}

struct rd_keys *
rd_keys_load(const struct rd_conf *conf, char *err, size_t err_max)
{
	struct rd_keys *k = calloc(1, sizeof *k);
	if (!k) {
		snprintf(err, err_max, "no memory for keys");
		return NULL;
	}
	k->sealed = rd_sealed_legs(conf) != 0;
	if (!k->sealed || read_key_files(conf, k, err, err_max))
		return k;
	rd_keys_free(k);
	return NULL;
}

static bool
same_ring_peers(const struct seal_ring *a, const struct seal_ring *b)
{
	return a->npeers == b->npeers &&
	       memcmp(a->peer, b->peer, a->npeers * sizeof a->peer[0]) == 0;
}

bool
rd_keys_same(const struct rd_keys *a, const struct rd_keys *b)
{
	return a->sealed == b->sealed && a->nkeys == b->nkeys && a->identity == b->identity &&
	       memcmp(a->key, b->key, sizeof a->key) == 0 &&
	       memcmp(&a->ring.me, &b->ring.me, sizeof a->ring.me) == 0 &&
	       same_ring_peers(&a->ring, &b->ring);
}

void
rd_keys_give(const struct rd_keys *k, struct suci_seal_conf *seal)
{
	memcpy(seal->key, k->key, sizeof seal->key);
	seal->nkeys = k->nkeys;
	seal->me = k->identity ? &k->ring.me : NULL;
	seal->peer = k->identity ? k->ring.peer : NULL;
	seal->npeers = k->identity ? k->ring.npeers : 0;
}

void
rd_keys_free(struct rd_keys *k)
{
	if (!k)
		return;
	explicit_bzero(k, sizeof *k);
	free(k);
}
