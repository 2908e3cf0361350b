/* SPDX-License-Identifier: BSD-2-Clause */
#include "door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "driver/secrets.h"

static const uint8_t sealed_magic[4] = "SLK1";

static bool
refuse_door(struct door *d, const char *why)
{
	snprintf(d->why, sizeof d->why, "%s", why);
	return false;
}

static bool
begin_seal(struct door *d, const struct door_conf *conf)
{
	uint8_t once[SEAL_DH];

	if (!conf->keys.nkeys)
		return refuse_door(d,
				   "it wants a sealed connection, and there is no --key-file here");
	d->seal = aligned_alloc(64, (sizeof *d->seal + 63) & ~(size_t)63);
	if (!d->seal || getrandom(once, sizeof once, 0) != (ssize_t)sizeof once) {
		free(d->seal);
		d->seal = NULL;
		return refuse_door(d, "no memory or no random numbers to seal its connection");
	}
	(void)process_keep(d->seal, sizeof *d->seal);
	seal_link_init(d->seal, &conf->keys, SEAL_LINK_LISTENS, once, NULL);
	explicit_bzero(once, sizeof once);
	return true;
}

/* The first four bytes are there. */
static bool
decide_entry(struct door *d, const struct door_conf *conf)
{
	if (memcmp(d->first, sealed_magic, sizeof sealed_magic) == 0)
		return begin_seal(d, conf);
	if (conf->keys.nkeys && !conf->clear_too)
		return refuse_door(
			d, "it speaks in clear, and this server takes sealed connections "
			   "only: set impi.server_sealing at its relay, or --clear-too here");
	d->clear = true;
	return true;
}

static bool
pass_entry(struct door *d, const uint8_t *bytes, size_t len,
	   void (*text)(void *user, const uint8_t *bytes, size_t len), void *user)
{
	if (d->clear) {
		text(user, bytes, len);
		return true;
	}
	return seal_link_rx(d->seal, bytes, len, text, user) || refuse_door(d, d->seal->why);
}

bool
door_rx(struct door *d, const struct door_conf *conf, const uint8_t *bytes, size_t len,
	void (*text)(void *user, const uint8_t *bytes, size_t len), void *user)
{
	while (len && d->have < sizeof d->first) {
		d->first[d->have++] = *bytes++;
		len--;
		if (d->have == sizeof d->first &&
		    (!decide_entry(d, conf) ||
		     !pass_entry(d, d->first, sizeof d->first, text, user)))
			return false;
	}
	return !len || pass_entry(d, bytes, len, text, user);
}

bool
door_pending(const struct door *d)
{
	return d->seal && d->seal->out_len > 0;
}

bool
door_open(const struct door *d)
{
	return d->clear || (d->seal && d->seal->state == SEAL_LINK_UP);
}

size_t
door_tx(struct door *d, const uint8_t *text, size_t len, uint8_t *out)
{
	size_t n;

	if (!d->seal) {
		memcpy(out, text, len);
		return len;
	}
	n = seal_link_out(d->seal, out);
	return n + (len ? seal_link_tx(d->seal, text, len, out + n) : 0);
}

void
door_close(struct door *d)
{
	if (d->seal)
		seal_link_wipe(d->seal);
	free(d->seal);
	*d = (struct door){0};
}
