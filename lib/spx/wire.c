/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, big-endian:
 *
 *    0  version 0xf6, type, bits, 0
 *    4  u32 want
 *    8  u64 view
 *   16  u64 number
 *   24  u64 floor	     the origin's, as far as the sender knows
 *   32  u32 origin
 *   36  u32 room	     the sender's row for the receiver: frames it can take,
 *   40  u32 ready	     frames it has for it
 *   44  u32 length	     of what follows
 *   48  u64 0
 *   56  PUT, GIVE: the frame.	STATE: window / 8 bytes of bits "open", as many "done"; bit 7 of
 *	 the first byte is number `floor` */
#include "internal.h"

#include "base/bytes.h"

#define VERSION 0xf6

size_t
spx_write(uint8_t *to, const struct spx_msg *m)
{
	to[0] = VERSION;
	to[1] = (uint8_t)m->type;
	to[2] = m->bits;
	to[3] = 0;
	be32_store(to + 4, m->want);
	be64_store(to + 8, m->view);
	be64_store(to + 16, m->number);
	be64_store(to + 24, m->floor);
	be32_store(to + 32, m->origin);
	be32_store(to + 36, m->room);
	be32_store(to + 40, m->ready);
	be32_store(to + 44, (uint32_t)m->len);
	be64_store(to + 48, 0);
	return SPX_HEAD;
}

bool
spx_read(const uint8_t *bytes, size_t len, uint32_t window, struct spx_msg *m)
{
	if (len < SPX_HEAD || bytes[0] != VERSION || bytes[1] < SPX_MSG_PUT ||
	    bytes[1] > SPX_MSG_LAST ||
	    bytes[2] > (SPX_BIT_AGAIN | SPX_BIT_SKIPPED | SPX_BIT_DONE | SPX_BIT_LOST) ||
	    bytes[3] || be64_load(bytes + 48) || be32_load(bytes + 44) != len - SPX_HEAD)
		return false;
	*m = (struct spx_msg){.type = (enum spx_type)bytes[1],
			      .bits = bytes[2],
			      .want = be32_load(bytes + 4),
			      .view = be64_load(bytes + 8),
			      .number = be64_load(bytes + 16),
			      .floor = be64_load(bytes + 24),
			      .origin = be32_load(bytes + 32),
			      .room = be32_load(bytes + 36),
			      .ready = be32_load(bytes + 40),
			      .bytes = bytes + SPX_HEAD,
			      .len = len - SPX_HEAD};
	bool frame = m->type == SPX_MSG_PUT || m->type == SPX_MSG_GIVE;
	/* Sums of numbers do not wrap, and a frame is within its window. */
	if (m->number > UINT64_MAX / 2 || m->floor > UINT64_MAX / 2 ||
	    (frame && m->number >= m->floor + window))
		return false;
	if (m->type == SPX_MSG_STATE)
		return m->len == 2 * (size_t)window / 8;
	return frame || m->len == 0;
}

void
spx_send(struct spx *s, uint32_t to, struct spx_msg *m)
{
	const struct spx_proc *p = spx_view_proc(&s->view, to);
	bool frame = m->type == SPX_MSG_PUT || m->type == SPX_MSG_GIVE;

	if (!p || p->state == SPX_DEAD)
		return;
	m->view = s->view.number;
	m->room = spx_io_room(s, p);
	m->ready = spx_io_ready(s, p);
	const struct spx_origin *o = spx_origin_of(s, m->origin, false);
	m->floor = o ? o->floor : 0;
	size_t len = spx_write(s->head, m);
	if (!frame && m->len)
		memcpy(s->head + len, m->bytes, m->len);
	s->count.sent++;
	if (frame)
		s->ops->send(s->user, to, s->head, len, m->bytes, m->len);
	else
		s->ops->send(s->user, to, s->head, len + m->len, NULL, 0);
}

void
spx_send_slot(struct spx *s, uint32_t to, enum spx_type type, const struct spx_slot *t,
	      const void *bytes, size_t len)
{
	struct spx_msg m = {.type = type,
			    .bits = (uint8_t)((t->again ? SPX_BIT_AGAIN : 0) |
					      (t->skipped ? SPX_BIT_SKIPPED : 0) |
					      (t->lost ? SPX_BIT_LOST : 0)),
			    .origin = t->o->id,
			    .number = t->number,
			    .want = type == SPX_MSG_PUT ? t->put : t->want,
			    .bytes = bytes,
			    .len = len};

	spx_send(s, to, &m);
}

void
spx_answer(struct spx *s, uint32_t to, enum spx_type type, const struct spx_msg *about,
	   unsigned bits)
{
	struct spx_msg m = {.type = type,
			    .bits = (uint8_t)bits,
			    .origin = about->origin,
			    .number = about->number,
			    .want = about->want};

	spx_send(s, to, &m);
}
