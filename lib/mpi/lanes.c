/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi/lanes.h"

#include "mpi/impi_packet.h"

#include <stdio.h>
#include <string.h>

/* Handle of a block that has no data for us. */
static struct lmpi_sink nowhere;

int
lmpi_lanes_send(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out,
		struct suci_lanes *lanes, uint32_t lane, uint64_t now_ns)
{
	uint8_t pkt[LMPI_PKT_BYTES];
	const void *head = &out->hdr;
	size_t head_len = sizeof out->hdr;
	/* Without data nothing of ours stays in use. */
	uint64_t cookie = out->len || out->req ? (uint64_t)(uintptr_t)out : 0;

	if (lmpi_speaks_impi(peer)) {
		lmpi_pkt_encode(e, peer, &out->hdr, out->len, pkt);
		head = pkt;
		head_len = sizeof pkt;
	}
	int err = suci_lane_send(lanes, lane, head, head_len, out->data, out->len, out->wait,
				 cookie, now_ns);
	if (err)
		return err;
	if (lmpi_speaks_impi(peer))
		lmpi_pkt_gone(peer, &out->hdr);
	if (!cookie)
		lmpi_out_done(e, out, true);
	return 0;
}

bool
lmpi_lanes_fits(const struct lmpi_engine *e, const struct lmpi_peer *peer, const struct lmpi_hdr *h,
		uint64_t len)
{
	if (lmpi_speaks_impi(peer))
		return len == 0 && lmpi_pkt_may_go(e, peer, h);
	return len <= SUCI_BLOCK_HEAD_MAX - sizeof *h;
}

int
lmpi_lanes_try(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	       const void *data, uint64_t len, struct suci_lanes *lanes, uint32_t lane,
	       uint64_t now_ns)
{
	uint8_t head[SUCI_BLOCK_HEAD_MAX];
	size_t n = sizeof *h + (size_t)len;

	/* The lane copies the head: a short message travels in it. */
	if (lmpi_speaks_impi(peer)) {
		lmpi_pkt_encode(e, peer, h, 0, head);
		n = LMPI_PKT_BYTES;
	} else {
		memcpy(head, h, sizeof *h);
		if (len)
			memcpy(head + sizeof *h, data, (size_t)len);
	}
	int err = suci_lane_send(lanes, lane, head, n, NULL, 0, false, 0, now_ns);
	if (!err && lmpi_speaks_impi(peer))
		lmpi_pkt_gone(peer, h);
	return err;
}

void *
lmpi_lanes_begin(struct lmpi_engine *e, struct lmpi_peer *peer, uint64_t bytes,
		 const uint8_t *first, size_t first_len)
{
	size_t head = lmpi_speaks_impi(peer) ? LMPI_PKT_BYTES : sizeof(struct lmpi_hdr);
	struct lmpi_hdr h;

	if (first_len < head || bytes < head) {
		char text[128];

		snprintf(text, sizeof text,
			 "rank %u sent a block of %llu bytes, shorter than a header", peer->world,
			 (unsigned long long)bytes);
		e->fail(e, text);
		return &nowhere;
	}
	if (lmpi_speaks_impi(peer)) {
		const char *wrong = lmpi_pkt_decode(e, peer, first, bytes - head, &h);
		if (wrong) {
			lmpi_pkt_fail(e, peer, first, wrong);
			return &nowhere;
		}
	} else {
		memcpy(&h, first, sizeof h);
	}
	struct lmpi_sink *s = lmpi_arrive(e, peer, &h, bytes - head);
	if (!s)
		return &nowhere;
	s->head = head;
	return s;
}

void
lmpi_lanes_data(void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	if (block != &nowhere)
		lmpi_sink_data(block, offset, data, len);
}

void
lmpi_lanes_end(struct lmpi_engine *e, void *block)
{
	if (block != &nowhere)
		lmpi_sink_end(e, block);
}

void
lmpi_lanes_done(struct lmpi_engine *e, uint64_t cookie, bool ok)
{
	if (cookie)
		lmpi_out_done(e, (struct lmpi_out *)(uintptr_t)cookie, ok);
}
