/* SPDX-License-Identifier: BSD-2-Clause */
#include "mmp/lanes.h"

/* In the cookie of a block of a link, with its number; also in that of a word. */
#define LINKED (1ull << 63)

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

/* What a lane that broke did not bring there is kept. */
static void
done_linked(struct mmp_lanes *m, uint32_t peer, uint64_t cookie, bool ok)
{
	struct mmp_link *l = peer == MMP_NONE ? NULL : m->far->peer[peer].link;
	uint32_t name;
	if (cookie == MMP_FAR_WORD || !ok)
		return;
	while (l && mmp_link_acked(l, cookie & ~LINKED, &name))
		mmp_far_sent(m->far, name == MMP_NONE ? MMP_FAR_WORD : name);
}

void
mmp_lanes_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct mmp_lanes *m = user;
	(void)now_ns;
	if (cookie & LINKED)
		done_linked(m, m->lane_peer[lane], cookie, ok);
	else
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

#define TURN_SHIFT 48 /* ranks have at most 16 bits (mmp_far_new) */

static int
open_lane(struct mmp_lanes *m, uint32_t peer, struct suci_lane_conf *c, uint32_t *lane,
	  uint64_t now_ns)
{
	/* Ranks, which both ends know alike. */
	c->tx_salt |= (uint64_t)m->rank << 32 | peer;
	c->rx_salt |= (uint64_t)peer << 32 | m->rank;
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
mmp_lanes_open_doors(struct mmp_lanes *m, uint32_t peer, const struct suci_lane_conf *between,
		     uint32_t turn, uint32_t *lane, uint64_t now_ns)
{
	struct suci_lane_conf c = *between;
	c.tx_salt = c.rx_salt = (uint64_t)turn << TURN_SHIFT;
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

bool
mmp_lanes_push(struct mmp_lanes *m, uint32_t peer, uint32_t lane, uint64_t now_ns)
{
	struct mmp_link *l = m->far->peer[peer].link;
	struct mmp_link_block b;
	while (lane != MMP_NONE && mmp_link_next(l, &b)) {
		uint64_t cookie = b.head.kind == MMP_FIRST ? MMP_FAR_WORD : LINKED | l->given;
		uint8_t head[MMP_HEAD_BYTES];
		mmp_head_put(head, &b.head);
		if (suci_lane_send(m->lanes, lane, head, sizeof head, b.data, b.head.bytes, false,
				   cookie, now_ns))
			return false;
		mmp_link_gave(l);
	}
	return true;
}

bool
mmp_lanes_send_linked(struct mmp_lanes *m, uint32_t peer, uint32_t lane, const struct mmp_head *h,
		      const void *data, uint32_t name, uint64_t now_ns)
{
	if (!mmp_link_put(m->far->peer[peer].link, h, data, name))
		return false;
	(void)mmp_lanes_push(m, peer, lane, now_ns);
	return true;
}
