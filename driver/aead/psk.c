/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys from files, and a file with a new one. */
#include "driver/aead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEYS_MAX  4096u
#define PEERS_MAX (1u << 18)

/* The whole file, at most max bytes; -1 and a text.  others: bits of the mode that must not be set.
 */
static ssize_t
read_file(const char *path, mode_t others, char *text, size_t max, char why[SEAL_TEXT])
{
	struct stat st;
	ssize_t len = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0) {
		snprintf(why, SEAL_TEXT, "cannot be read: %s",
			 errno == ELOOP ? "it is a symbolic link" : strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		snprintf(why, SEAL_TEXT, "is no regular file");
	} else if (st.st_uid != geteuid() && st.st_uid != 0) {
		snprintf(why, SEAL_TEXT, "belongs to somebody else (uid %u)", (unsigned)st.st_uid);
	} else if (st.st_mode & others) {
		snprintf(why, SEAL_TEXT, "others may %swrite it: mode %04o, chmod it to %s",
			 others & 044 ? "read or " : "", (unsigned)st.st_mode & 07777,
			 others & 044 ? "0600" : "0644");
	} else if ((len = read(fd, text, max + 1)) < 0) {
		snprintf(why, SEAL_TEXT, "cannot be read: %s", strerror(errno));
	} else if ((size_t)len > max) {
		snprintf(why, SEAL_TEXT, "is longer than %zu bytes", max);
		len = -1;
	}
	close(fd);
	return len;
}

int
seal_psk_load(const char *path, struct seal_psk key[SEAL_PSK_MAX], char why[SEAL_TEXT])
{
	char text[KEYS_MAX + 1];
	ssize_t len = read_file(path, 077, text, KEYS_MAX, why);
	int n = len < 0 ? -1 : seal_psk_parse(text, (size_t)len, key, why);
	explicit_bzero(text, sizeof text);
	return n;
}

int
seal_identity_load(const char *path, struct seal_identity *id, char why[SEAL_TEXT])
{
	char text[KEYS_MAX + 1];
	const struct seal_crypto *c = seal_aes256gcm();
	if (!c) {
		snprintf(why, SEAL_TEXT, "the AES library cannot be used on this machine");
		return -1;
	}
	ssize_t len = read_file(path, 077, text, KEYS_MAX, why);
	int err = len < 0 ? -1 : seal_identity_parse(c, text, (size_t)len, id, why);
	explicit_bzero(text, sizeof text);
	return err;
}

int
seal_identity_make(const char *path, struct seal_identity *id, char why[SEAL_TEXT])
{
	char text[SEAL_IDENTITY_FILE];
	const struct seal_crypto *c = seal_aes256gcm();
	if (!c || getrandom(id->secret, sizeof id->secret, 0) != (ssize_t)sizeof id->secret) {
		snprintf(why, SEAL_TEXT, "no key can be made: no random numbers, or no AES");
		return -1;
	}
	c->dh_public(id->secret, id->public_key);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		snprintf(why, SEAL_TEXT, "cannot be made: %s", strerror(errno));
		return -1;
	}
	size_t len = seal_identity_text(id, text);
	bool good = write(fd, text, len) == (ssize_t)len && !fsync(fd);
	explicit_bzero(text, sizeof text);
	if (close(fd) || !good) {
		snprintf(why, SEAL_TEXT, "cannot be written: %s", strerror(errno));
		(void)unlink(path);
		return -1;
	}
	return 0;
}

/* Public keys: others may read it. */
static int
load_peers(const char *path, struct seal_ring *ring, char why[SEAL_TEXT])
{
	char *text = malloc(PEERS_MAX + 1);
	if (!text) {
		snprintf(why, SEAL_TEXT, "no memory");
		return -1;
	}
	ssize_t len = read_file(path, 022, text, PEERS_MAX, why);
	int n = len < 0 ? -1 : seal_peers_parse(text, (size_t)len, ring->peer, SEAL_PEERS_MAX, why);
	free(text);
	ring->npeers = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? -1 : 0;
}

int
seal_ring_load(const char *identity_file, const char *peers_file, struct seal_ring *ring,
	       char why[SEAL_TEXT])
{
	char text[SEAL_TEXT] = "";
	const char *at = identity_file;
	int err = seal_identity_load(identity_file, &ring->me, text);
	if (!err) {
		at = peers_file;
		err = load_peers(peers_file, ring, text);
	}
	if (!err && !seal_peers_agree(seal_aes256gcm(), &ring->me, ring->peer, ring->npeers, text))
		err = -1;
	if (err) {
		snprintf(why, SEAL_TEXT, "%.60s: %.120s", at, text);
		seal_ring_wipe(ring);
	}
	return err;
}

void
seal_ring_wipe(struct seal_ring *ring)
{
	explicit_bzero(ring, sizeof *ring);
}
