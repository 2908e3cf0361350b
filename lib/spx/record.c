/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of one frame. */
#include "spx/record.h"

#include "base/bytes.h"

void *
spx_record_write(void *to, uint32_t tag, size_t len)
{
	uint8_t *p = to;
	size_t all = spx_record_bytes(len);

	be32_store(p, tag);
	be32_store(p + 4, 0);
	be64_store(p + 8, len);
	memset(p + SPX_RECORD_HEAD + len, 0, all - SPX_RECORD_HEAD - len);
	return p + SPX_RECORD_HEAD;
}

bool
spx_record_next(const void *frame, size_t len, size_t *at, struct spx_record *r)
{
	const uint8_t *p = frame;

	if (*at >= len || len - *at < SPX_RECORD_HEAD)
		return false;
	p += *at;
	r->tag = be32_load(p);
	r->len = be64_load(p + 8);
	r->bytes = p + SPX_RECORD_HEAD;
	if (r->tag > INT32_MAX || be32_load(p + 4) || r->len > len - *at - SPX_RECORD_HEAD ||
	    spx_record_bytes((size_t)r->len) > len - *at)
		return false;
	*at += spx_record_bytes((size_t)r->len);
	return true;
}

bool
spx_records_check(const void *frame, size_t len)
{
	struct spx_record r;
	size_t at = 0;

	while (spx_record_next(frame, len, &at, &r))
		;
	return at == len;
}
