/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel_keys.h"

#include "keys.h"

#include "rd/conf.h"

#include "driver/aead.h"
#include "relay/peer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	const char *identity = conf->sealing.identity_file;
	char why[SEAL_TEXT];
	if (!rd_sealed_legs(conf))
		return 0;
	*peer = *light = (struct seal_link_conf){.crypto = rd_crypto(err, err_max)};
	peer->purpose = RELAY_PEER_PURPOSE;
	light->purpose = "relayd light";
	if (!peer->crypto)
		return -1;
	if (*conf->sealing.key_file && !rd_psk_load(conf, light->key, &light->nkeys, err, err_max))
		return -1;
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
	if (conf->impi.server_sealing != RD_SEALING_ON)
		return 0;
	*server = (struct seal_link_conf){.crypto = rd_crypto(err, err_max),
					  .purpose = SEAL_LINK_IMPI};
	if (!server->crypto || !rd_psk_load(conf, server->key, &server->nkeys, err, err_max))
		return -1;
	return 0;
}

/* The text of a file that nobody but us may read: len, or -1 and err. */
static ssize_t
read_secret(const char *path, char *text, size_t max, char *err, size_t err_max)
{
	struct stat st;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		snprintf(err, err_max, "cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		snprintf(err, err_max, "%s is no regular file", path);
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		snprintf(err, err_max, "%s belongs to somebody else (uid %u)", path,
			 (unsigned)st.st_uid);
	else if (st.st_mode & 077)
		snprintf(err, err_max,
			 "%s: others may read or write it (mode %04o); fix: chmod 0600 %s", path,
			 (unsigned)st.st_mode & 07777, path);
	else if ((n = read(fd, text, max)) < 0)
		snprintf(err, err_max, "cannot read %s: %s", path, strerror(errno));
	close(fd);
	return n;
}

bool
rd_read_key(const char *path, uint64_t *key, char *err, size_t err_max)
{
	char text[64];
	ssize_t n = read_secret(path, text, sizeof text - 1, err, err_max);
	if (n < 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	char *end = text;
	errno = 0;
	unsigned long long v = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
	bool good = end != text && !*end && !errno;
	explicit_bzero(text, sizeof text);
	if (!good) {
		snprintf(err, err_max, "%s does not hold one decimal number below 2^64", path);
		return false;
	}
	*key = v;
	return true;
}
