/* SPDX-License-Identifier: BSD-2-Clause */
/* What daemons tell each other: spd/wire.h. */
#include "spd/wire.h"

#include "base/bytes.h"

#include <string.h>

#define OWN_FROM 4u /* version of mpispd that says HERE with `own` */

size_t
spd_note_write(const struct spd_note *n, void *bytes, size_t room)
{
	struct base_writer w = base_writer(bytes, room);
	size_t len = strnlen(n->text, sizeof n->text - 1);

	base_write_u8(&w, (uint8_t)n->type);
	if (n->type != SPD_NOTE_HERE && n->type != SPD_NOTE_SP)
		base_write_be32(&w, n->cluster);
	switch (n->type) {
	case SPD_NOTE_SP:
		return 0;
	case SPD_NOTE_HERE:
		base_write_u8(&w, n->version);
		base_write_u8(&w, n->state);
		base_write_be16(&w, 0);
		base_write_be64(&w, n->hash);
		if (n->version >= OWN_FROM)
			base_write_be64(&w, n->own);
		break;
	case SPD_NOTE_CARD:
		base_write_be64(&w, n->epoch);
		base_write_be32(&w, n->role);
		base_write_be32(&w, n->slot);
		base_write_bytes(&w, n->body, n->n);
		break;
	case SPD_NOTE_WANT:
		base_write_be64(&w, n->epoch);
		break;
	case SPD_NOTE_LEFT:
		base_write_be32(&w, n->slot);
		break;
	case SPD_NOTE_ABORT:
		base_write_be32(&w, n->status);
		base_write_bytes(&w, n->text, len);
		break;
	case SPD_NOTE_DOOR:
		base_write_be32(&w, n->slot);
		base_write_bytes(&w, n->text, len);
		break;
	case SPD_NOTE_SAID:
		base_write_bytes(&w, n->text, len);
		break;
	case SPD_NOTE_PART:
	case SPD_NOTE_PART_WANT:
		base_write_be64(&w, n->set);
		base_write_be64(&w, n->number);
		base_write_bytes(&w, n->body, n->n);
		break;
	case SPD_NOTE_GET:
	case SPD_NOTE_GOT:
		base_write_be32(&w, n->role);
		base_write_be32(&w, n->id);
		if (n->type == SPD_NOTE_GOT)
			base_write_be32(&w, n->status);
		base_write_bytes(&w, n->body, n->n);
		break;
	}
	return base_writer_ok(&w) ? base_writer_len(&w) : 0;
}

/* What is left, at most so much. */
static bool
parse_rest(struct spd_note *n, struct base_reader *r, size_t most)
{
	n->n = (uint32_t)base_reader_left(r);
	n->body = base_read_bytes(r, n->n);
	return base_reader_ok(r) && n->n <= most;
}

static bool
parse_note_text(struct spd_note *n, struct base_reader *r)
{
	if (!parse_rest(n, r, sizeof n->text - 1) || (n->n && memchr(n->body, '\0', n->n)))
		return false;
	if (n->n)
		memcpy(n->text, n->body, n->n);
	return true;
}

static bool
parse_note_body(struct spd_note *n, struct base_reader *r)
{
	uint16_t zero;

	switch (n->type) {
	case SPD_NOTE_SP:
		return parse_rest(n, r, UINT32_MAX);
	case SPD_NOTE_HERE:
		n->version = base_read_u8(r);
		n->state = base_read_u8(r);
		zero = base_read_be16(r);
		n->hash = base_read_be64(r);
		n->own = n->version >= OWN_FROM ? base_read_be64(r) : 0;
		return !zero && n->state < SPD_HERE_COUNT;
	case SPD_NOTE_CARD:
		n->epoch = base_read_be64(r);
		n->role = base_read_be32(r);
		n->slot = base_read_be32(r);
		return n->role < SP_CLIENT_ROLES_MAX && parse_rest(n, r, SP_CARD_MAX);
	case SPD_NOTE_WANT:
		n->epoch = base_read_be64(r);
		return true;
	case SPD_NOTE_LEFT:
		n->slot = base_read_be32(r);
		return true;
	case SPD_NOTE_ABORT:
		n->status = base_read_be32(r);
		return parse_note_text(n, r);
	case SPD_NOTE_DOOR:
		n->slot = base_read_be32(r);
		return parse_note_text(n, r);
	case SPD_NOTE_SAID:
		return parse_note_text(n, r);
	case SPD_NOTE_PART:
	case SPD_NOTE_PART_WANT:
		n->set = base_read_be64(r);
		n->number = base_read_be64(r);
		return parse_rest(n, r, n->type == SPD_NOTE_PART ? SPD_BODY_MAX : 0);
	case SPD_NOTE_GET:
	case SPD_NOTE_GOT:
		n->role = base_read_be32(r);
		n->id = base_read_be32(r);
		n->status = n->type == SPD_NOTE_GOT ? base_read_be32(r) : 0;
		return parse_rest(n, r, n->type == SPD_NOTE_GOT ? SPD_BODY_MAX : 0);
	}
	return false;
}

bool
spd_note_read(struct spd_note *n, const void *bytes, size_t len)
{
	struct base_reader r = base_reader(bytes, len);

	*n = (struct spd_note){0};
	n->type = (enum spd_note_type)base_read_u8(&r);
	if (n->type != SPD_NOTE_HERE && n->type != SPD_NOTE_SP)
		n->cluster = base_read_be32(&r);
	return base_reader_ok(&r) && parse_note_body(n, &r) && base_reader_ok(&r) &&
	       base_reader_left(&r) == 0;
}
