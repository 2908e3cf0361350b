/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a foreign host: the packet splitter, and the channel around it.
 *
 * First byte: bit 0 chooses what the rest is, the others the DATALEN.
 *   0  a byte stream.  It is split at once, in pieces, and read into place as a
 *      gateway does; all three must tell the same, and what packets say by themselves.
 *   1  operations on a channel: op, len, bytes...
 *      op: 0, 1 bytes come, 2 our FINI is out, 3 the peer closes */
#include "base/assert.h"
#include "impi/link.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a splitting came to. */
struct told {
	uint64_t headers, ends, payload_bytes, digest, taken;
	uint64_t fault; /* enum impi_packet_fault; all of one size, for memcmp() */
};

static void
digest(struct told *t, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		t->digest = (t->digest ^ p[i]) * 0x100000001b3u;
}

static void
tell(struct told *t, const struct impi_stream *s, const struct impi_stream_step *step)
{
	if (step->what & IMPI_STREAM_HEADER) {
		struct impi_packet p = impi_stream_packet(s);
		BASE_ASSERT(impi_packet_check(&p, s->datalen) == IMPI_PACKET_OK);
		BASE_ASSERT(s->payload_left == impi_packet_payload_bytes(&p));
		t->headers++;
		digest(t, s->head, sizeof s->head);
	}
	if (step->what & IMPI_STREAM_PAYLOAD) {
		BASE_ASSERT(step->bytes > 0 && step->off + step->bytes <= s->datalen);
		t->payload_bytes += step->bytes;
		digest(t, step->span, step->bytes);
	}
	if (step->what & IMPI_STREAM_END) {
		t->ends++;
		BASE_ASSERT(!impi_stream_is_midway(s));
	}
	BASE_ASSERT(!(step->what & IMPI_STREAM_FAILED) == (s->fault == IMPI_PACKET_OK));
}

static struct told
push(uint32_t datalen, const uint8_t *p, size_t len, size_t chunk)
{
	struct impi_stream s;
	struct impi_stream_step step;
	struct told t = {0};
	impi_stream_init(&s, datalen);
	while (t.taken < len) {
		size_t n = len - t.taken < chunk ? len - t.taken : chunk;
		size_t took = impi_stream_rx(&s, p + t.taken, n, &step);
		BASE_ASSERT(took <= n);
		if (took == 0)
			break;
		tell(&t, &s, &step);
		t.taken += took;
	}
	BASE_ASSERT(t.taken == len || s.fault != IMPI_PACKET_OK);
	BASE_ASSERT(s.npackets == t.headers && t.ends + 1 >= t.headers);
	t.fault = s.fault;
	return t;
}

static struct told
pull(uint32_t datalen, const uint8_t *p, size_t len, size_t chunk)
{
	static uint8_t place[4096];
	struct impi_stream s;
	struct told t = {0};
	uint32_t n;
	impi_stream_init(&s, datalen);
	while (t.taken < len) {
		uint8_t *where;
		uint32_t off = s.payload_off;
		if ((n = impi_stream_want(&s, &where)) == 0)
			break;
		if (n > len - t.taken)
			n = (uint32_t)(len - t.taken);
		if (n > chunk)
			n = (uint32_t)chunk;
		struct impi_stream_step step = {
			.span = where ? where : place, .bytes = n, .off = where ? 0 : off};
		memcpy(where ? where : place, p + t.taken, n);
		step.what = impi_stream_took(&s, n);
		BASE_ASSERT(!(step.what & IMPI_STREAM_PAYLOAD) == !!where);
		tell(&t, &s, &step);
		t.taken += n;
	}
	t.fault = s.fault;
	return t;
}

/* The same by looking at whole packets. */
static void
check_by_hand(uint32_t datalen, const uint8_t *p, size_t len, const struct told *t)
{
	uint64_t headers = 0, ends = 0;
	size_t at = 0;
	while (len - at >= IMPI_PACKET_BYTES) {
		struct impi_packet k = impi_packet_decode(p + at);
		if (impi_packet_check(&k, datalen) != IMPI_PACKET_OK)
			break;
		headers++;
		at += IMPI_PACKET_BYTES;
		if (len - at < impi_packet_payload_bytes(&k))
			break;
		at += impi_packet_payload_bytes(&k);
		ends++;
	}
	BASE_ASSERT(headers == t->headers && ends == t->ends);
}

static void
split(uint32_t datalen, const uint8_t *p, size_t len)
{
	size_t chunk = len ? 1 + p[0] % 200 : 1;
	struct told a = push(datalen, p, len, len), b = push(datalen, p, len, chunk),
		    c = pull(datalen, p, len, chunk);
	BASE_ASSERT(memcmp(&a, &b, sizeof a) == 0 && memcmp(&a, &c, sizeof a) == 0);
	check_by_hand(datalen, p, len, &a);
}

static void
bytes_come(struct impi_link *l, const uint8_t *p, size_t len)
{
	struct impi_stream_step step = {0};
	for (size_t n; len > 0 && (n = impi_link_rx(l, p, len, &step)) > 0; p += n)
		len -= n;
	BASE_ASSERT(!(step.what & IMPI_STREAM_FAILED) || l->state == IMPI_LINK_FAILED);
}

static void
live(uint32_t datalen, const uint8_t *p, size_t len)
{
	struct impi_link l;
	impi_link_init(&l, 3, datalen);
	for (size_t at = 0; at + 2 <= len;) {
		uint8_t op = p[at] % 4;
		size_t n = p[at + 1];
		at += 2;
		if (n > len - at)
			n = len - at;
		enum impi_link_state before = l.state;
		if (op == 2) {
			impi_link_fini_sent(&l);
		} else if (op == 3) {
			BASE_ASSERT(impi_link_eof(&l) == (before != l.state && l.err.code));
		} else {
			bytes_come(&l, p + at, n);
			at += n;
		}
		BASE_ASSERT(l.state >= before);
		BASE_ASSERT((l.state == IMPI_LINK_FAILED) == (l.err.code != IMPI_ERR_OK));
		BASE_ASSERT((l.err.code == IMPI_ERR_OK) == (l.err.text[0] == 0));
		BASE_ASSERT(l.state != IMPI_LINK_FINISHED || l.fini_seen);
		for (uint32_t type = 0; type < IMPI_PK_TYPES; type++)
			BASE_ASSERT(!impi_link_may_send(&l, type) ||
				    (l.state == IMPI_LINK_RUNNING && !l.fini_sent));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	uint32_t datalen = 1 + data[0] / 2 * 31u;
	if (data[0] & 1)
		live(datalen, data + 1, size - 1);
	else
		split(datalen, data + 1, size - 1);
	return 0;
}
