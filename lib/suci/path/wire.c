/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire_internal.h"

#include "base/bytes.h"
#include "base/serial.h"

_Static_assert(SUCI_PATH_HDR == 4 + 3 * 4, "path header as in suci/wire.h");
_Static_assert(SUCI_ACK_HDR == 2 * 4 + 4 * 2, "ack block as in suci/wire.h");
_Static_assert(SUCI_LANE_HDR == 5 * 4 + 4 * 2 + 4, "lane header as in suci/wire.h");
_Static_assert(SUCI_BODY_HDR == 8 + 3 * 8, "handshake body as in suci/wire.h");
_Static_assert(SUCI_T_RESPONSE < 16 && SUCI_VERSION < 16, "share one byte");

static bool
refused_decode(struct suci_ack *a, const uint8_t *p, size_t len)
{
	if (!(a->flags & SUCI_AF_REFUSED) || len % SUCI_ACK_REFUSED ||
	    len / SUCI_ACK_REFUSED > SUCI_ACK_REFUSED_MAX)
		return false;
	for (; len; p += SUCI_ACK_REFUSED, len -= SUCI_ACK_REFUSED) {
		uint32_t lo = be32_load(p), n = be32_load(p + 4);
		if (!n)
			return false;
		a->refused[a->nrefused++] = (struct suci_pn_range){lo, lo + (n - 1)};
	}
	return true;
}

bool
suci_ack_decode(struct suci_ack *a, const uint8_t *p, size_t len)
{
	if (len < SUCI_ACK_HDR)
		return false;
	uint32_t more = p[12];
	size_t at = SUCI_ACK_HDR + SUCI_ACK_RANGE * (size_t)more;
	if (more > SUCI_ACK_RANGES_MAX || len < at)
		return false;
	a->largest = be32_load(p);
	a->echo_us = be32_load(p + 4);
	a->delay_us = be16_load(p + 8);
	a->credit = be16_load(p + 10);
	a->flags = p[13];
	a->nrefused = 0;
	if (a->flags & SUCI_AF_ROOM) {
		if (len < at + SUCI_ACK_ROOM)
			return false;
		len -= SUCI_ACK_ROOM;
		a->ask = be16_load(p + len);
		a->waiting = p[len + 2];
		a->ask_prio = p[len + 3];
		a->used = be32_load(p + len + 4);
		a->grant = be32_load(p + len + 8);
	}
	if (a->flags & SUCI_AF_ECN) {
		if (len < at + SUCI_ACK_ECN)
			return false;
		len -= SUCI_ACK_ECN;
		a->ect = be32_load(p + len);
		a->ce = be32_load(p + len + 4);
	}
	if (len != at && !refused_decode(a, p + at, len - at))
		return false;
	a->n = more + 1;
	uint32_t first_len = be16_load(p + 14);
	if (!first_len) {
		a->n = 0;
		return !more && !a->largest && a->flags & (SUCI_AF_REFUSED | SUCI_AF_ROOM);
	}
	a->range[0].hi = a->largest;
	a->range[0].lo = a->largest - (first_len - 1);
	for (uint32_t i = 1; i <= more; i++) {
		const uint8_t *r = p + SUCI_ACK_HDR + SUCI_ACK_RANGE * (i - 1);
		uint32_t gap = be16_load(r), n = be16_load(r + 2);
		if (!gap || !n)
			return false;
		a->range[i].hi = a->range[i - 1].lo - 1 - gap;
		a->range[i].lo = a->range[i].hi - (n - 1);
	}
	return true;
}

size_t
suci_ack_encode(const struct suci_ack *a, uint8_t *out)
{
	be32_store(out, a->largest);
	be32_store(out + 4, a->echo_us);
	be16_store(out + 8, a->delay_us);
	be16_store(out + 10, a->credit);
	out[12] = a->n ? (uint8_t)(a->n - 1) : 0;
	out[13] = a->flags;
	be16_store(out + 14, a->n ? (uint16_t)(a->range[0].hi - a->range[0].lo + 1) : 0);
	uint8_t *at = out + SUCI_ACK_HDR;
	for (uint32_t i = 1; i < a->n; i++, at += SUCI_ACK_RANGE) {
		be16_store(at, (uint16_t)(a->range[i - 1].lo - 1 - a->range[i].hi));
		be16_store(at + 2, (uint16_t)(a->range[i].hi - a->range[i].lo + 1));
	}
	for (uint32_t i = 0; i < a->nrefused; i++, at += SUCI_ACK_REFUSED) {
		be32_store(at, a->refused[i].lo);
		be32_store(at + 4, a->refused[i].hi - a->refused[i].lo + 1);
	}
	if (a->flags & SUCI_AF_ECN) {
		be32_store(at, a->ect);
		be32_store(at + 4, a->ce);
		at += SUCI_ACK_ECN;
	}
	if (a->flags & SUCI_AF_ROOM) {
		be16_store(at, a->ask);
		at[2] = a->waiting;
		at[3] = a->ask_prio;
		be32_store(at + 4, a->used);
		be32_store(at + 8, a->grant);
		at += SUCI_ACK_ROOM;
	}
	return (size_t)(at - out);
}

bool
suci_segment_decode(struct suci_segment *s, const uint8_t *p, size_t len)
{
	if (len < SUCI_LANE_HDR)
		return false;
	s->dst_label = be32_load(p);
	s->src_label = be32_load(p + 4);
	s->seq = be32_load(p + 8);
	s->block = be32_load(p + 12);
	s->ack = be32_load(p + 16);
	s->window = be16_load(p + 20);
	s->flags = be16_load(p + 22);
	s->mss = be16_load(p + 24);
	s->credit_shift = p[26];
	s->life = p[27];
	s->crc32c = be32_load(p + 28);
	size_t hdr = SUCI_LANE_HDR;
	s->block_bytes = 0;
	if (s->flags & SUCI_SF_FIRST) {
		if (len < SUCI_LANE_HDR + SUCI_FIRST_EXT)
			return false;
		s->block_bytes = be64_load(p + SUCI_LANE_HDR);
		hdr += SUCI_FIRST_EXT;
	}
	if (len - hdr > UINT16_MAX)
		return false;
	s->head = NULL;
	s->head_len = 0;
	s->data = p + hdr;
	s->data_len = (uint16_t)(len - hdr);
	s->cookie = 0;
	return true;
}

size_t
suci_segment_encode(const struct suci_segment *s, uint8_t *out)
{
	be32_store(out, s->dst_label);
	be32_store(out + 4, s->src_label);
	be32_store(out + 8, s->seq);
	be32_store(out + 12, s->block);
	be32_store(out + 16, s->ack);
	be16_store(out + 20, s->window);
	be16_store(out + 22, s->flags);
	be16_store(out + 24, s->mss);
	out[26] = s->credit_shift;
	out[27] = s->life;
	be32_store(out + 28, s->crc32c);
	if (!(s->flags & SUCI_SF_FIRST))
		return SUCI_LANE_HDR;
	be64_store(out + SUCI_LANE_HDR, s->block_bytes);
	return SUCI_LANE_HDR + SUCI_FIRST_EXT;
}

bool
suci_part_decode(struct suci_part *t, const uint8_t *p, size_t len)
{
	if (len <= SUCI_PART_HDR || len - SUCI_PART_HDR > UINT16_MAX)
		return false;
	t->id = be32_load(p);
	t->low = be32_load(p + 4);
	t->off = be16_load(p + 8);
	t->total = be16_load(p + 10);
	t->len = (uint16_t)(len - SUCI_PART_HDR);
	t->bytes = p + SUCI_PART_HDR;
	return t->total >= SUCI_LANE_HDR && t->off < t->total && t->len <= t->total - t->off &&
	       serial_le(t->low, t->id);
}

size_t
suci_part_encode(const struct suci_part *t, uint8_t *out)
{
	be32_store(out, t->id);
	be32_store(out + 4, t->low);
	be16_store(out + 8, t->off);
	be16_store(out + 10, t->total);
	return SUCI_PART_HDR;
}

bool
suci_body_decode(struct suci_body *b, const uint8_t *p, size_t len)
{
	struct base_reader r = base_reader(p, len);
	b->offer = 0;
	b->joins = false;
	b->tag = base_read_be32(&r);
	b->mtu = base_read_be16(&r);
	b->hello_len = base_read_be16(&r);
	b->incarnation = base_read_be64(&r);
	b->cookie = base_read_be64(&r);
	b->peer_incarnation = base_read_be64(&r);
	b->hello = base_read_bytes(&r, b->hello_len);
	return base_reader_ok(&r);
}

size_t
suci_body_encode(const struct suci_body *b, uint8_t *out)
{
	be32_store(out, b->tag);
	be16_store(out + 4, b->mtu);
	be16_store(out + 6, b->hello_len);
	be64_store(out + 8, b->incarnation);
	be64_store(out + 16, b->cookie);
	be64_store(out + 24, b->peer_incarnation);
	if (b->hello_len)
		memcpy(out + SUCI_BODY_HDR, b->hello, b->hello_len);
	return SUCI_BODY_HDR + (size_t)b->hello_len;
}

bool
suci_close_decode(struct suci_close *f, const uint8_t *p, size_t len)
{
	struct base_reader r = base_reader(p, len);
	f->reason = base_read_be16(&r);
	f->text_len = base_read_be16(&r);
	f->text = base_read_bytes(&r, f->text_len);
	return base_reader_ok(&r) && f->text_len < SUCI_TEXT_MAX;
}

size_t
suci_close_encode(const struct suci_close *f, uint8_t *out)
{
	be16_store(out, f->reason);
	be16_store(out + 2, f->text_len);
	if (f->text_len)
		memcpy(out + 4, f->text, f->text_len);
	return 4 + (size_t)f->text_len;
}
