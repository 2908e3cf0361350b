/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys and identities, out of files: at the opening, and again while the socket is in use. */
#include "datagram_internal.h"

#include "driver/aead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0; or errno, and why. */
static int
read_sock_keys(const struct key_files *f, struct seal_ring *ring, struct suci_seal_conf *seal,
	       char why[TEXT_MAX])
{
	char text[SEAL_TEXT];

	if (f->identity) {
		if (seal_ring_load(f->identity, f->peers, ring, text)) {
			snprintf(why, TEXT_MAX, "%s", text);
			return EINVAL;
		}
		seal->me = &ring->me;
		seal->peer = ring->peer;
		seal->npeers = ring->npeers;
	}
	int n = f->psk ? seal_psk_load(f->psk, seal->key, text) : 0;
	if (n < 0) {
		snprintf(why, TEXT_MAX, "%.80s: %s", f->psk, text);
		return EINVAL;
	}
	seal->nkeys = (uint32_t)n;
	return 0;
}

static bool
keep_name(char **to, const char *name)
{
	*to = name ? strdup(name) : NULL;
	return !name || *to;
}

static bool
keep_names(struct datagram_sock *s, const struct datagram_conf *conf)
{
	return keep_name(&s->files.psk, conf->psk_file) &&
	       keep_name(&s->files.identity, conf->identity_file) &&
	       keep_name(&s->files.peers, conf->peers_file);
}

int
datagram_keys_open(struct datagram_sock *s, const struct datagram_conf *conf,
		   struct suci_seal_conf *seal)
{
	char why[TEXT_MAX];

	if (!conf->psk_file && !conf->identity_file)
		return 0;
	seal->aead = seal_aes256gcm();
	if (!seal->aead) {
		datagram_fail_open(ENOTSUP, "the AES library cannot be used on this machine");
		return -1;
	}
	seal->legs = 1;
	s->sealed = true;
	if (conf->identity_file) {
		s->ring = calloc(1, sizeof *s->ring);
		s->fixed_bytes += sizeof *s->ring;
	}
	if (!keep_names(s, conf) || (conf->identity_file && !s->ring)) {
		datagram_fail_open(ENOMEM, "out of memory");
		return -1;
	}
	int err = read_sock_keys(&s->files, s->ring, seal, why);
	if (err) {
		datagram_fail_open(err, "%s", why);
		return -1;
	}
	return 0;
}

static void
free_ring(struct seal_ring *ring)
{
	if (ring)
		seal_ring_wipe(ring);
	free(ring);
}

void
datagram_keys_free(struct datagram_sock *s)
{
	free_ring(s->ring);
	free(s->files.psk);
	free(s->files.identity);
	free(s->files.peers);
}

int
datagram_rekey(struct datagram_sock *s)
{
	struct suci_seal_conf seal = {0};
	struct seal_ring *ring = NULL, *old;
	char why[TEXT_MAX] = "the endpoint does not take them";

	if (datagram_enter(s))
		return -1;
	if (!s->sealed)
		return datagram_fail(s, EINVAL, "it was opened without psk_file and identity_file");
	if (s->ring && (ring = calloc(1, sizeof *ring)) == NULL)
		return datagram_fail(s, ENOMEM, "out of memory");
	s->now_ns = suci_udp_now_ns();
	int err = read_sock_keys(&s->files, ring, &seal, why);
	if (!err && suci_rekey(s->ep, &seal, s->now_ns))
		err = EINVAL;
	explicit_bzero(&seal, sizeof seal);
	if (err) {
		free_ring(ring);
		return datagram_fail(s, err, "%s", why);
	}
	old = s->ring;
	s->ring = ring;
	free_ring(old);
	/* What was being opened begins again. */
	s->dirty = true;
	(void)datagram_progress(s);
	return 0;
}
