/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames, big-endian:
 *
 *   FAILED    version, type, bits, 0, u32 0, u64 0, u32 n, u32 rank[n]
 *   REVOKE    version, type, bits, 0, u32 0, u64 context, u32 n, u32 member[n]
 *		 between jobs bit 0 of bits is set, and in the place of each rank or member are
 *		 u64 job, u32 number; FAILED may have none of them then
 *   others    version, type, bits, 0, u32 number, u64 context, u32 n, u32 leader, u32 floor,
 *	       but ACK: u64 and[2], u64 max, failed and acked: a bit for each of n members */
#include "internal.h"

#include "base/bytes.h"

#define VERSION	    0xf1
#define BIT_NAMES   1u
#define BIT_DECIDED 1u
#define BIT_ADOPTED 2u
#define HEAD	    20u
#define MSG_HEAD    (HEAD + 8)
#define NUMBERS	    24u
#define NAME	    12u

static void
write_head(uint8_t *p, enum ft_type type, unsigned bits, uint32_t seq, uint64_t ctx, uint32_t n)
{
	p[0] = VERSION;
	p[1] = (uint8_t)type;
	p[2] = (uint8_t)bits;
	p[3] = 0;
	be32_store(p + 4, seq);
	be64_store(p + 8, ctx);
	be32_store(p + 16, n);
}

static uint8_t *
make_room(struct ft *f, size_t len)
{
	if (len > f->frame_room) {
		ft_put(f, f->frame);
		f->frame = ft_get(f, len);
		f->frame_room = len;
	}
	return f->frame;
}

size_t
ft_write_list(struct ft *f, enum ft_type type, uint64_t ctx, const uint32_t *rank, uint32_t n,
	      bool names)
{
	size_t len = HEAD + (names ? NAME : 4) * (size_t)n;
	uint8_t *p = make_room(f, len);

	write_head(p, type, names ? BIT_NAMES : 0, 0, ctx, n);
	p += HEAD;
	for (uint32_t i = 0; i < n; i++) {
		if (!names) {
			be32_store(p + 4 * (size_t)i, rank[i]);
			continue;
		}
		struct ft_name name = f->ops->name_of(f->user, rank[i]);
		be64_store(p + NAME * (size_t)i, name.job);
		be32_store(p + NAME * (size_t)i + 8, name.number);
	}
	return len;
}

size_t
ft_write_msg(struct ft *f, const struct ft_msg *m)
{
	size_t bits = ft_bytes(m->n);
	size_t len = MSG_HEAD + (m->type == FT_ACK ? 0 : NUMBERS + 2 * bits);
	uint8_t *p = make_room(f, len);

	write_head(p, m->type, (m->decided ? BIT_DECIDED : 0) | (m->adopted ? BIT_ADOPTED : 0),
		   m->seq, m->ctx, m->n);
	be32_store(p + HEAD, m->leader);
	be32_store(p + HEAD + 4, m->floor);
	if (m->type == FT_ACK)
		return len;
	be64_store(p + MSG_HEAD, m->value.and_of[0]);
	be64_store(p + MSG_HEAD + 8, m->value.and_of[1]);
	be64_store(p + MSG_HEAD + 16, m->value.max_of);
	memcpy(p + MSG_HEAD + NUMBERS, m->value.failed, bits);
	memcpy(p + MSG_HEAD + NUMBERS + bits, m->value.acked, bits);
	return len;
}

enum ft_type
ft_read_type(const uint8_t *frame, size_t len)
{
	if (len < HEAD || frame[0] != VERSION || frame[3] != 0 || frame[1] < FT_FAILED ||
	    frame[1] > FT_DECIDE)
		return 0;
	return (enum ft_type)frame[1];
}

/* n names by rising order; *known of them are processes that have a number here. */
static bool
read_list_names(const struct ft *f, const uint8_t *p, uint32_t n, uint32_t *rank, uint32_t *known)
{
	struct ft_name last = {0};

	*known = 0;
	for (uint32_t i = 0; i < n; i++, p += NAME) {
		struct ft_name name = {be64_load(p), be32_load(p + 8)};
		if (i > 0 &&
		    (name.job < last.job || (name.job == last.job && name.number <= last.number)))
			return false;
		last = name;
		rank[*known] = f->ops->find(f->user, name);
		*known += rank[*known] < f->size;
	}
	return true;
}

bool
ft_read_list(const struct ft *f, uint32_t from, const uint8_t *frame, size_t len, uint64_t *ctx,
	     uint32_t *rank, uint32_t *n)
{
	bool names = frame[2] == BIT_NAMES && f->ops->find;
	uint32_t all = be32_load(frame + 16);

	*ctx = be64_load(frame + 8);
	*n = all;
	if (all > FT_SIZE_MAX || be32_load(frame + 4) || (frame[2] && !names) ||
	    len != HEAD + (names ? NAME : 4) * (size_t)all)
		return false;
	if (names)
		return (all > 0 || frame[1] == FT_FAILED) &&
		       read_list_names(f, frame + HEAD, all, rank, n);
	if (all == 0 || from >= f->own)
		return false;
	for (uint32_t i = 0; i < all; i++) {
		rank[i] = be32_load(frame + HEAD + 4 * (size_t)i);
		if (rank[i] >= f->own || (i > 0 && rank[i] <= rank[i - 1]))
			return false;
	}
	return true;
}

/* Bits behind the last are 0. */
static bool
are_bits(const uint8_t *bits, uint32_t n)
{
	return n % 8 == 0 || bits[n / 8] >> n % 8 == 0;
}

bool
ft_read_msg(const struct ft *f, const uint8_t *frame, size_t len, struct ft_msg *m)
{
	if (len < MSG_HEAD)
		return false;
	*m = (struct ft_msg){.type = (enum ft_type)frame[1],
			     .decided = frame[2] & BIT_DECIDED,
			     .adopted = frame[2] & BIT_ADOPTED,
			     .seq = be32_load(frame + 4),
			     .ctx = be64_load(frame + 8),
			     .n = be32_load(frame + 16),
			     .leader = be32_load(frame + HEAD),
			     .floor = be32_load(frame + HEAD + 4)};
	if (m->n == 0 || m->n > f->size || m->leader >= m->n || m->floor > m->seq ||
	    frame[2] > (m->type == FT_STATE ? BIT_DECIDED | BIT_ADOPTED : 0))
		return false;
	if (m->type == FT_ACK)
		return len == MSG_HEAD;
	size_t bits = ft_bytes(m->n);
	if (len != MSG_HEAD + NUMBERS + 2 * bits)
		return false;
	const uint8_t *p = frame + MSG_HEAD;
	m->value.and_of[0] = be64_load(p);
	m->value.and_of[1] = be64_load(p + 8);
	m->value.max_of = be64_load(p + 16);
	m->value.failed = (uint8_t *)(uintptr_t)(p + NUMBERS);
	m->value.acked = m->value.failed + bits;
	return are_bits(m->value.failed, m->n) && are_bits(m->value.acked, m->n);
}
