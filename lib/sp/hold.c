/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that wait for the disk: what a voter says to others holds even if its daemon dies, so it
 * is said when what it stands on is durable. */
#include "internal.h"

#include "canary.h"

#include <string.h>

void
sp_post(struct sp_node *n, uint32_t to, const void *frame, size_t len)
{
	struct sp_hold *h = &n->hold;
	struct sp_held head = {to, (uint32_t)len, h->begun};

	if (h->begun == h->done || SP_BUG(EAGER)) {
		n->ops.send(n->user, to, frame, len);
		return;
	}
	if (h->room - h->len < sizeof head + len) {
		n->count.overheld++; /* as if the net had lost it */
		return;
	}
	n->count.held++;
	memcpy(h->bytes + h->len, &head, sizeof head);
	memcpy(h->bytes + h->len + sizeof head, frame, len);
	h->len += sizeof head + len;
}

void
sp_hold_release(struct sp_node *n)
{
	struct sp_hold *h = &n->hold;
	struct sp_held head;
	size_t at = 0;

	h->done++;
	for (; at < h->len; at += sizeof head + head.len) {
		memcpy(&head, h->bytes + at, sizeof head);
		if (head.after > h->done)
			break;
		n->ops.send(n->user, head.to, h->bytes + at + sizeof head, head.len);
	}
	h->len -= at;
	memmove(h->bytes, h->bytes + at, h->len);
}

void
sp_hold_forget(struct sp_node *n)
{
	n->hold.begun = n->hold.done = 0;
	n->hold.len = 0;
}
