/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of a fragment as bytes. */
#include "mmp/head.h"

#include "base/bytes.h"

#define VERSION 0x10u

void
mmp_head_put(uint8_t out[MMP_HEAD_BYTES], const struct mmp_head *h)
{
	out[0] = (uint8_t)(VERSION | h->kind);
	out[1] = h->flags;
	be16_store(out + 2, h->stream);
	be32_store(out + 4, (uint32_t)h->tag);
	be32_store(out + 8, h->number);
	be32_store(out + 12, h->bytes);
	be64_store(out + 16, h->all);
	be64_store(out + 24, h->offset);
}

static bool
no(const char **what, const char *text)
{
	*what = text;
	return false;
}

bool
mmp_head_ok(const struct mmp_head *h, const char **what)
{
	if (h->kind < MMP_FRAGMENT || h->kind > MMP_FIRST)
		return no(what, "kind");
	if (h->flags & ~MMP_EAGER)
		return no(what, "flags");
	if (h->stream >= MMP_STREAMS)
		return no(what, "stream");
	if (h->kind != MMP_FRAGMENT)
		return h->bytes == 0 ? true : no(what, "bytes of a word without data");
	if (h->tag < 0)
		return no(what, "tag");
	if (h->all > MMP_MESSAGE_MAX)
		return no(what, "length of the message");
	if (h->bytes > MMP_FRAGMENT_MAX || h->offset > h->all || h->bytes > h->all - h->offset)
		return no(what, "fragment beyond its message");
	return true;
}

bool
mmp_head_get(const uint8_t in[MMP_HEAD_BYTES], struct mmp_head *h, const char **what)
{
	*h = (struct mmp_head){
		.kind = in[0] & 0x0f,
		.flags = in[1],
		.stream = be16_load(in + 2),
		.tag = (int32_t)be32_load(in + 4),
		.number = be32_load(in + 8),
		.bytes = be32_load(in + 12),
		.all = be64_load(in + 16),
		.offset = be64_load(in + 24),
	};
	if ((in[0] & 0xf0) != VERSION)
		return no(what, "version");
	return mmp_head_ok(h, what);
}
