/* SPDX-License-Identifier: BSD-2-Clause */
#include "relayproto/door.h"

#include "base/assert.h"
#include "base/bytes.h"

#define WITH_LEN 6u

static void
write_address(struct base_writer *w, const struct relay_door_bytes *b)
{
	BASE_ASSERT(b->len <= RELAY_DOOR_ADDRESS_MAX);
	base_write_u8(w, b->len);
	base_write_bytes(w, b->at, b->len);
}

static void
write_last_words(struct base_writer *w, const struct relay_door_bytes *b)
{
	BASE_ASSERT(b->len <= RELAY_DOOR_TEXT_MAX);
	base_write_u8(w, b->len);
	base_write_bytes(w, b->at, b->len);
}

size_t
relay_door_encode(const struct relay_door_note *n, uint8_t out[RELAY_DOOR_NOTE_MAX])
{
	struct base_writer w = base_writer(out, RELAY_DOOR_NOTE_MAX);
	base_write_u8(&w, RELAY_NOTE_DOOR);
	base_write_u8(&w, n->op);
	base_write_be32(&w, n->request);
	base_write_be32(&w, n->label);
	switch ((enum relay_door_op)n->op) {
	case RELAY_DOOR_REGISTER:
		base_write_be16(&w, n->n);
		base_write_be64(&w, n->realm);
		base_write_be64(&w, n->token);
		base_write_be16(&w, n->importers);
		if (n->with_ipv4) {
			base_write_be32(&w, n->with_ipv4);
			base_write_be16(&w, n->with_port);
		}
		break;
	case RELAY_DOOR_ADDRESS:
	case RELAY_DOOR_IMPORT:
		write_address(&w, &n->address);
		break;
	case RELAY_DOOR_IMPORTED:
		base_write_be16(&w, n->n);
		base_write_be16(&w, n->turn);
		break;
	case RELAY_DOOR_ASK:
		write_address(&w, &n->address);
		write_address(&w, &n->own);
		break;
	case RELAY_DOOR_ANSWER:
		base_write_u8(&w, n->ok);
		base_write_be32(&w, n->called);
		base_write_be32(&w, n->offered);
		break;
	case RELAY_DOOR_GONE:
		if (n->text.len || n->ended)
			write_last_words(&w, &n->text);
		if (n->ended)
			base_write_u8(&w, 1);
		break;
	case RELAY_DOOR_LEAVE:
	case RELAY_DOOR_REFUSED:
	case RELAY_DOOR_HOLD:
	case RELAY_DOOR_DROP:
	case RELAY_DOOR_WITHDRAW:
	case RELAY_DOOR_NAMED:
		break;
	}
	return base_writer_len(&w);
}

/* False: longer than an address may be. */
static bool
read_address(struct base_reader *r, struct relay_door_bytes *b)
{
	uint8_t len = base_read_u8(r);
	*b = (struct relay_door_bytes){base_read_bytes(r, len), len};
	return len <= RELAY_DOOR_ADDRESS_MAX;
}

/* False: longer than a text may be. */
static bool
read_last_words(struct base_reader *r, struct relay_door_bytes *b)
{
	uint8_t len = base_reader_left(r) ? base_read_u8(r) : 0;
	*b = (struct relay_door_bytes){base_read_bytes(r, len), len};
	return len <= RELAY_DOOR_TEXT_MAX;
}

int
relay_door_decode(const void *in, size_t len, struct relay_door_note *out)
{
	struct base_reader r = base_reader(in, len);
	struct relay_door_note n = {0};
	bool good = base_read_u8(&r) == RELAY_NOTE_DOOR;
	n.op = base_read_u8(&r);
	n.request = base_read_be32(&r);
	n.label = base_read_be32(&r);
	switch ((enum relay_door_op)n.op) {
	case RELAY_DOOR_REGISTER:
		n.n = base_read_be16(&r);
		n.realm = base_read_be64(&r);
		n.token = base_read_be64(&r);
		n.importers = base_read_be16(&r);
		if (base_reader_left(&r) >= WITH_LEN) { /* not of who knows one relay only */
			n.with_ipv4 = base_read_be32(&r);
			n.with_port = base_read_be16(&r);
		}
		break;
	case RELAY_DOOR_ADDRESS:
	case RELAY_DOOR_IMPORT:
		good = read_address(&r, &n.address) && good;
		break;
	case RELAY_DOOR_IMPORTED:
		n.n = base_read_be16(&r);
		n.turn = base_read_be16(&r);
		break;
	case RELAY_DOOR_ASK:
		good = read_address(&r, &n.address) && good;
		good = read_address(&r, &n.own) && good;
		break;
	case RELAY_DOOR_ANSWER:
		n.ok = base_read_u8(&r) != 0;
		n.called = base_read_be32(&r);
		n.offered = base_read_be32(&r);
		break;
	case RELAY_DOOR_GONE:
		good = read_last_words(&r, &n.text) && good;
		n.ended = base_reader_left(&r) && base_read_u8(&r) == 1;
		break;
	case RELAY_DOOR_LEAVE:
	case RELAY_DOOR_REFUSED:
	case RELAY_DOOR_HOLD:
	case RELAY_DOOR_DROP:
	case RELAY_DOOR_WITHDRAW:
	case RELAY_DOOR_NAMED:
		break;
	default:
		good = false;
	}
	if (!good || !base_reader_ok(&r))
		return RELAYPROTO_ERR_MALFORMED;
	*out = n;
	return RELAYPROTO_ERR_OK;
}
