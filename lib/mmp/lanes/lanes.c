/* SPDX-License-Identifier: BSD-2-Clause */
#include "mmp/lanes.h"

void *
mmp_lanes_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
		uint64_t now_ns)
{
	struct mmp_lanes *m = user;
	(void)now_ns;
	return mmp_far_begin(m->far, m->lane_peer[lane], bytes, first, first_len);
}

void
mmp_lanes_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data,
	       size_t len)
{
	struct mmp_lanes *m = user;
	(void)lane;
	mmp_far_data(m->far, block, off, data, len);
}

void
mmp_lanes_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct mmp_lanes *m = user;
	(void)lane, (void)now_ns;
	mmp_far_end(m->far, block);
}

void
mmp_lanes_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct mmp_lanes *m = user;
	(void)lane, (void)ok, (void)now_ns;
	mmp_far_sent(m->far, cookie);
}

bool
mmp_lanes_room(void *user, uint32_t lane, uint64_t bytes)
{
	struct mmp_lanes *m = user;
	return mmp_far_room(m->far, m->lane_peer[lane], bytes);
}

bool
mmp_lanes_path_room(void *user, uint32_t path)
{
	const struct mmp_lanes *m = user;
	return mmp_far_has(m->far, m->path_peer[path]);
}

static int
open_lane(struct mmp_lanes *m, uint32_t peer, struct suci_lane_conf *c, uint32_t *lane,
	  uint64_t now_ns)
{
	/* Ranks, which both ends know alike. */
	c->tx_salt = (uint64_t)m->rank << 32 | peer;
	c->rx_salt = (uint64_t)peer << 32 | m->rank;
	int err = suci_lane_open(m->lanes, c, lane, now_ns);
	if (!err)
		m->lane_peer[*lane] = peer;
	return err;
}

int
mmp_lanes_open(struct mmp_lanes *m, uint32_t peer, uint32_t path, uint32_t window, uint32_t *lane,
	       uint64_t now_ns)
{
	struct suci_lane_conf c = {.path = path,
				   .tx_dst_label = peer,
				   .tx_src_label = m->rank,
				   .rx_dst_label = m->rank,
				   .rx_src_label = peer,
				   .direct = true,
				   .window = window};
	return open_lane(m, peer, &c, lane, now_ns);
}

int
mmp_lanes_open_doors(struct mmp_lanes *m, uint32_t peer, uint32_t path, const struct mmp_doors *d,
		     uint32_t *lane, uint64_t now_ns)
{
	struct suci_lane_conf c = {.path = path,
				   .tx_dst_label = d->label,
				   .tx_src_label = d->own,
				   .rx_dst_label = d->own,
				   .rx_src_label = d->label,
				   .crc = true,
				   .mss = d->mss,
				   .window = d->window,
				   .window_max = d->window_max};
	return open_lane(m, peer, &c, lane, now_ns);
}

bool
mmp_lanes_send(struct mmp_lanes *m, uint32_t lane, const struct mmp_head *h, const void *data,
	       uint32_t name, uint64_t now_ns)
{
	uint8_t head[MMP_HEAD_BYTES];
	mmp_head_put(head, h);
	return lane != MMP_NONE &&
	       !suci_lane_send(m->lanes, lane, head, sizeof head, data, h->bytes, false,
			       name == MMP_NONE ? MMP_FAR_WORD : name, now_ns);
}
