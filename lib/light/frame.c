/* SPDX-License-Identifier: BSD-2-Clause */
#include "light/frame.h"

#include "base/bytes.h"

#include <string.h>

#define MAGIC	0x4c495445u /* "LITE" */
#define VERSION 1u

static void
write_addr(struct base_writer *w, struct light_addr a)
{
	base_write_be32(w, a.ipv4);
	base_write_be16(w, a.port);
}

static struct light_addr
read_addr(struct base_reader *r)
{
	uint32_t ipv4 = base_read_be32(r);
	return (struct light_addr){ipv4, base_read_be16(r)};
}

static void
write_hello(struct base_writer *w, const struct light_hello *h)
{
	base_write_be32(w, MAGIC);
	base_write_u8(w, VERSION);
	write_addr(w, h->relay);
	base_write_u8(w, h->n);
	for (uint32_t i = 0; i < h->n; i++) {
		base_write_be16(w, h->port[i].switch_port);
		write_addr(w, h->port[i].addr);
	}
}

static void
write_body(struct base_writer *w, const struct light_frame *f)
{
	switch ((enum light_frame_type)f->type) {
	case LIGHT_FRAME_HELLO:
		write_hello(w, &f->hello);
		break;
	case LIGHT_FRAME_JOB:
		base_write_be64(w, f->key);
		base_write_u8(w, f->client);
		break;
	case LIGHT_FRAME_JOB_END:
		base_write_be64(w, f->key);
		break;
	case LIGHT_FRAME_NOTE:
		base_write_be64(w, f->key);
		base_write_be32(w, f->rank);
		base_write_be16(w, f->note_len);
		base_write_bytes(w, f->note, f->note_len);
		base_write_bytes(w, f->clients, f->nclients);
		break;
	case LIGHT_FRAME_LINK_UP:
		base_write_be32(w, f->link);
		base_write_u8(w, f->slot);
		write_addr(w, f->peer);
		write_addr(w, f->light);
		break;
	case LIGHT_FRAME_LINK_DOWN:
		base_write_be32(w, f->link);
		base_write_u8(w, f->slot);
		break;
	case LIGHT_FRAME_LINK:
		base_write_be32(w, f->link);
		base_write_u8(w, f->slot);
		base_write_u8(w, f->state);
		break;
	case LIGHT_FRAME_OFFER:
		base_write_u8(w, f->offer.on);
		base_write_u8(w, f->offer.ports);
		base_write_u8(w, f->offer.mode);
		base_write_be64(w, f->offer.light_from);
		if (f->offer.version)
			base_write_u8(w, f->offer.version);
		break;
	case LIGHT_FRAME_PING:
		break;
	}
}

size_t
light_frame_encode(const struct light_frame *f, uint8_t out[LIGHT_FRAME_MAX])
{
	struct base_writer w = base_writer(out, LIGHT_FRAME_MAX);
	base_write_be32(&w, 0);
	base_write_u8(&w, f->type);
	write_body(&w, f);
	size_t len = base_writer_len(&w);
	be32_store(out, (uint32_t)(len - 4));
	return len;
}

static bool
read_hello(struct base_reader *r, struct light_hello *h)
{
	bool ok = base_read_be32(r) == MAGIC;
	ok = base_read_u8(r) == VERSION && ok;
	h->relay = read_addr(r);
	h->n = base_read_u8(r);
	if (!ok || h->n > LIGHT_SLOTS_MAX)
		return false;
	for (uint32_t i = 0; i < h->n; i++) {
		h->port[i].switch_port = base_read_be16(r);
		h->port[i].addr = read_addr(r);
	}
	return true;
}

static bool
read_note(struct base_reader *r, struct light_frame *f)
{
	f->key = base_read_be64(r);
	f->rank = base_read_be32(r);
	f->note_len = base_read_be16(r);
	f->note = base_read_bytes(r, f->note_len);
	size_t left = base_reader_left(r);
	if (!f->note || f->note_len > LIGHT_NOTE_MAX || left > LIGHT_NOTE_RANKS)
		return false;
	f->nclients = (uint16_t)left;
	f->clients = left ? base_read_bytes(r, left) : NULL;
	return true;
}

static bool
read_link(struct base_reader *r, struct light_frame *f)
{
	f->link = base_read_be32(r);
	f->slot = base_read_u8(r);
	if (f->type == LIGHT_FRAME_LINK) {
		f->state = base_read_u8(r);
		if (!base_lightpath_is_report(f->state))
			return false;
	}
	if (f->type == LIGHT_FRAME_LINK_UP) {
		f->peer = read_addr(r);
		f->light = read_addr(r);
	}
	return f->slot < LIGHT_SLOTS_MAX;
}

static bool
read_body(struct base_reader *r, struct light_frame *f)
{
	switch ((enum light_frame_type)f->type) {
	case LIGHT_FRAME_HELLO:
		return read_hello(r, &f->hello);
	case LIGHT_FRAME_JOB:
		f->key = base_read_be64(r);
		f->client = base_read_u8(r);
		return f->client < LIGHT_CLIENTS;
	case LIGHT_FRAME_JOB_END:
		f->key = base_read_be64(r);
		return true;
	case LIGHT_FRAME_NOTE:
		return read_note(r, f);
	case LIGHT_FRAME_LINK_UP:
	case LIGHT_FRAME_LINK_DOWN:
	case LIGHT_FRAME_LINK:
		return read_link(r, f);
	case LIGHT_FRAME_OFFER:
		f->offer.on = base_read_u8(r) != 0;
		f->offer.ports = base_read_u8(r);
		f->offer.mode = base_read_u8(r);
		f->offer.light_from = base_read_be64(r);
		f->offer.version = base_reader_left(r) ? base_read_u8(r) : 0;
		return f->offer.mode < CIRC_MODE_COUNT;
	case LIGHT_FRAME_PING:
		return true;
	}
	return false;
}

long
light_frame_decode(const uint8_t *in, size_t len, struct light_frame *out)
{
	struct light_frame f;
	if (len < LIGHT_FRAME_HEAD)
		return 0;
	uint32_t n = be32_load(in);
	if (n < 1 || n > LIGHT_FRAME_MAX - 4)
		return LIGHT_ERR_MALFORMED;
	if (len - 4 < n)
		return 0;
	struct base_reader r = base_reader(in + 4, n);
	memset(&f, 0, sizeof f);
	f.type = base_read_u8(&r);
	if (!read_body(&r, &f) || !base_reader_ok(&r))
		return LIGHT_ERR_MALFORMED;
	*out = f;
	return (long)n + 4;
}
