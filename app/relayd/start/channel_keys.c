#include "channel_keys.h"

#include "rd/conf.h"

#include "driver/aead.h"
#include "relay/peer.h"

#include <stdio.h>
#include <string.h>

/* All relays of a site have its identity, and nobody else has: so among themselves that is the
 * key, and a site that shares only the pre-shared one cannot pose as a sibling. */
static bool
site_key(const struct seal_crypto *crypto, const char *path, struct seal_psk *key,
	 char why[SEAL_TEXT])
{
	static const uint8_t salt[] = "relayd siblings";
	struct seal_identity me;
	if (seal_identity_load(path, &me, why) < 0)
		return false;
	key->id = 1;
	seal_hkdf_extract(crypto, salt, sizeof salt, me.secret, sizeof me.secret, key->secret);
	explicit_bzero(&me, sizeof me);
	return true;
}

int
rd_channel_keys(const struct rd_conf *conf, struct seal_link_conf *peer,
		struct seal_link_conf *light, char *err, size_t err_max)
{
	const char *psk = conf->sealing.key_file, *identity = conf->sealing.identity_file;
	char why[SEAL_TEXT];
	bool sealed = false;
	for (uint32_t leg = 0; leg < conf->nlegs; leg++)
		sealed |= conf->port[leg].sealing == RD_SEALING_ON;
	if (!sealed)
		return 0;
	*peer = *light = (struct seal_link_conf){.crypto = seal_aes256gcm()};
	peer->purpose = RELAY_PEER_PURPOSE;
	light->purpose = "relayd light";
	if (!peer->crypto) {
		snprintf(err, err_max, "the AES library cannot be used on this machine");
		return -1;
	}
	int n = *psk ? seal_psk_load(psk, light->key, why) : 0;
	if (n < 0) {
		snprintf(err, err_max, "sealing.key_file: %.60s: %s", psk, why);
		return -1;
	}
	light->nkeys = (uint32_t)n;
	if (*identity) {
		if (!site_key(peer->crypto, identity, &peer->key[0], why)) {
			snprintf(err, err_max, "sealing.identity_file: %.60s: %s", identity, why);
			return -1;
		}
		peer->nkeys = 1;
		return 0;
	}
	memcpy(peer->key, light->key, sizeof peer->key);
	peer->nkeys = light->nkeys;
	return 0;
}

int
rd_server_keys(const struct rd_conf *conf, struct seal_link_conf *server, char *err, size_t err_max)
{
	char why[SEAL_TEXT];
	if (conf->impi.server_sealing != RD_SEALING_ON)
		return 0;
	*server = (struct seal_link_conf){.crypto = seal_aes256gcm(), .purpose = SEAL_LINK_IMPI};
	if (!server->crypto) {
		snprintf(err, err_max, "the AES library cannot be used on this machine");
		return -1;
	}
	int n = seal_psk_load(conf->sealing.key_file, server->key, why);
	if (n < 0) {
		snprintf(err, err_max, "sealing.key_file: %.60s: %s", conf->sealing.key_file, why);
		return -1;
	}
	server->nkeys = (uint32_t)n;
	return 0;
}
