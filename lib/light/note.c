/* SPDX-License-Identifier: BSD-2-Clause */
#include "light/note.h"

#include "base/bytes.h"
#include "coll/schedule.h"

#include <string.h>

static void
write_comm(struct base_writer *w, const struct light_comm *c)
{
	base_write_be32(w, c->comm);
	base_write_be32(w, c->leader);
	base_write_be32(w, c->p);
	base_write_be32(w, c->at);
	base_write_be16(w, c->n);
	for (uint32_t i = 0; i < c->n; i++)
		base_write_be32(w, c->rank[i]);
}

static void
write_call(struct base_writer *w, const struct light_call *c)
{
	base_write_be32(w, c->comm);
	base_write_be32(w, c->leader);
	base_write_be32(w, c->seq);
	base_write_u8(w, c->op);
	base_write_be16(w, c->algorithm);
	base_write_u8(w, c->algorithm_version);
	base_write_u8(w, c->mode);
	base_write_u8(w, c->flags);
	base_write_be32(w, c->root);
	base_write_be64(w, c->bytes);
	base_write_be32(w, c->elem);
	base_write_u8(w, c->degree);
}

static void
write_count(struct base_writer *w, const struct light_count *c)
{
	base_write_be32(w, c->comm);
	base_write_be32(w, c->leader);
	base_write_be32(w, c->seq);
	base_write_be32(w, c->from);
	base_write_be32(w, c->to);
	base_write_be32(w, c->count);
}

bool
light_note_is_up(uint8_t kind)
{
	return kind == LIGHT_NOTE_CALL || (kind >= LIGHT_NOTE_COMM && kind <= LIGHT_NOTE_FREE);
}

size_t
light_note_encode(const struct light_note *n, uint8_t out[LIGHT_NOTE_MAX])
{
	struct base_writer w = base_writer(out, LIGHT_NOTE_MAX);
	base_write_u8(&w, LIGHT_NOTE_TYPE);
	base_write_be32(&w, n->label_base);
	base_write_u8(&w, n->kind);
	switch ((enum light_note_kind)n->kind) {
	case LIGHT_NOTE_COMM:
		write_comm(&w, &n->u.piece);
		break;
	case LIGHT_NOTE_CALL:
		write_call(&w, &n->u.call);
		break;
	case LIGHT_NOTE_CALL_BY_INDEX:
		base_write_be32(&w, n->u.call.comm);
		base_write_be32(&w, n->u.call.leader);
		base_write_be32(&w, n->u.call.seq);
		break;
	case LIGHT_NOTE_RECEIVED:
	case LIGHT_NOTE_CLEAR_TO_SEND:
		for (uint32_t i = 0; i < n->counts; i++)
			write_count(&w, &n->u.count[i]);
		break;
	case LIGHT_NOTE_FREE:
		base_write_be32(&w, n->comm);
		base_write_be32(&w, n->leader);
		break;
	case LIGHT_NOTE_OFFER:
		base_write_u8(&w, n->u.offer.on);
		base_write_u8(&w, n->u.offer.ports);
		base_write_u8(&w, n->u.offer.mode);
		base_write_be64(&w, n->u.offer.light_from);
		if (n->u.offer.version)
			base_write_u8(&w, n->u.offer.version);
		break;
	}
	return base_writer_len(&w);
}

static bool
read_comm(struct base_reader *r, struct light_comm *c)
{
	c->comm = base_read_be32(r);
	c->leader = base_read_be32(r);
	c->p = base_read_be32(r);
	c->at = base_read_be32(r);
	c->n = base_read_be16(r);
	if (c->n == 0 || c->n > LIGHT_NOTE_RANKS || c->at > c->p || c->n > c->p - c->at)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		c->rank[i] = base_read_be32(r);
	return true;
}

static bool
read_call(struct base_reader *r, struct light_call *c)
{
	c->comm = base_read_be32(r);
	c->leader = base_read_be32(r);
	c->seq = base_read_be32(r);
	c->op = base_read_u8(r);
	c->algorithm = base_read_be16(r);
	c->algorithm_version = base_read_u8(r);
	c->mode = base_read_u8(r);
	c->flags = base_read_u8(r);
	c->root = base_read_be32(r);
	c->bytes = base_read_be64(r);
	c->elem = base_read_be32(r);
	c->degree = base_read_u8(r);
	return c->op < COLL_OP_COUNT && c->mode < CIRC_MODE_COUNT;
}

static bool
read_counts(struct base_reader *r, struct light_note *n)
{
	size_t left = base_reader_left(r);
	if (left == 0 || left % 24 || left / 24 > LIGHT_NOTE_COUNTS)
		return false;
	n->counts = (uint32_t)(left / 24);
	for (uint32_t i = 0; i < n->counts; i++) {
		struct light_count *c = &n->u.count[i];
		c->comm = base_read_be32(r);
		c->leader = base_read_be32(r);
		c->seq = base_read_be32(r);
		c->from = base_read_be32(r);
		c->to = base_read_be32(r);
		c->count = base_read_be32(r);
	}
	return true;
}

static bool
read_offer(struct base_reader *r, struct light_offer *o)
{
	o->on = base_read_u8(r) != 0;
	o->ports = base_read_u8(r);
	o->mode = base_read_u8(r);
	o->light_from = base_read_be64(r);
	o->version = base_reader_left(r) ? base_read_u8(r) : 0;
	return o->mode < CIRC_MODE_COUNT;
}

static bool
read_note_body(struct base_reader *r, struct light_note *n)
{
	switch ((enum light_note_kind)n->kind) {
	case LIGHT_NOTE_COMM:
		return read_comm(r, &n->u.piece);
	case LIGHT_NOTE_CALL:
		return read_call(r, &n->u.call);
	case LIGHT_NOTE_CALL_BY_INDEX:
		n->u.call.comm = base_read_be32(r);
		n->u.call.leader = base_read_be32(r);
		n->u.call.seq = base_read_be32(r);
		return true;
	case LIGHT_NOTE_RECEIVED:
	case LIGHT_NOTE_CLEAR_TO_SEND:
		return read_counts(r, n);
	case LIGHT_NOTE_FREE:
		n->comm = base_read_be32(r);
		n->leader = base_read_be32(r);
		return true;
	case LIGHT_NOTE_OFFER:
		return read_offer(r, &n->u.offer);
	}
	return false;
}

int
light_note_decode(const void *in, size_t len, struct light_note *out)
{
	struct base_reader r = base_reader(in, len);
	struct light_note n;
	memset(&n, 0, sizeof n);
	if (base_read_u8(&r) != LIGHT_NOTE_TYPE)
		return LIGHT_ERR_MALFORMED;
	n.label_base = base_read_be32(&r);
	n.kind = base_read_u8(&r);
	if (!read_note_body(&r, &n) || !base_reader_ok(&r))
		return LIGHT_ERR_MALFORMED;
	*out = n;
	return LIGHT_ERR_OK;
}
