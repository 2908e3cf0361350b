/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between an agent and the controller over a link. */
#include "light_internal.h"

bool
rd_light_send(struct rd_link *l, const struct light_frame *f)
{
	uint8_t bytes[LIGHT_FRAME_MAX];
	return rd_link_send(l, bytes, light_frame_encode(f, bytes));
}

void
rd_light_ping(struct rd_link *l)
{
	static const struct light_frame ping = {.type = LIGHT_FRAME_PING};
	(void)rd_light_send(l, &ping);
}

long
rd_light_take(struct rd_link *l, const uint8_t *in, size_t len, size_t *need,
	      bool (*heard)(struct rd_link *l, const struct light_frame *f))
{
	struct light_frame f;
	long n = light_frame_decode(in, len, &f);
	*need = n ? 0 : LIGHT_FRAME_MAX;
	return n > 0 && !heard(l, &f) ? -1 : n;
}
