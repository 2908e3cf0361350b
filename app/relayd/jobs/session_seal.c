/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to the IMPI server, sealed (impi.server_sealing): all that start-up says there
 * goes through a sealed stream with a key of sealing.key_file, or nothing does. */
#include "jobs_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

bool
rd_session_seal(struct rd_session *s)
{
	uint8_t once[SEAL_DH];
	s->seal = aligned_alloc(64, (sizeof *s->seal + 63) & ~(size_t)63);
	if (!s->seal || getrandom(once, sizeof once, 0) != (ssize_t)sizeof once) {
		free(s->seal);
		s->seal = NULL;
		s->jobs->loop->count.refused_memory++;
		return false;
	}
	seal_link_init(s->seal, &s->jobs->server_keys, SEAL_LINK_DIALS, once, NULL);
	explicit_bzero(once, sizeof once);
	return true;
}

void
rd_session_unseal(struct rd_session *s)
{
	if (s->seal)
		seal_link_wipe(s->seal);
	free(s->seal);
	s->seal = NULL;
}

static void
take_text(void *user, const uint8_t *text, size_t len)
{
	struct rd_session *s = user;
	relay_startup_rx(s->s, RELAY_SIDE_SERVER, text, len);
}

bool
rd_session_seal_rx(struct rd_session *s, const uint8_t *bytes, size_t len)
{
	bool up = s->seal->state == SEAL_LINK_UP;
	if (!seal_link_rx(s->seal, bytes, len, take_text, s))
		return false;
	if (!up && s->seal->state == SEAL_LINK_UP) {
		s->proven = true;
		relay_startup_connected(s->s);
	}
	return true;
}

size_t
rd_session_seal_tx(struct rd_session *s, uint8_t out[OUT_BYTES])
{
	uint8_t text[SEAL_LINK_TEXT];
	size_t n = seal_link_out(s->seal, out), len = 0;
	if (s->seal->state == SEAL_LINK_UP)
		len = relay_startup_tx(s->s, RELAY_SIDE_SERVER, text, sizeof text);
	if (len)
		n += seal_link_tx(s->seal, text, len, out + n);
	explicit_bzero(text, len);
	return n;
}
