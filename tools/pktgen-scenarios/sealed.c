/* SPDX-License-Identifier: BSD-2-Clause */
#include "sealed.h"

#include "path_internal.h"

#include <string.h>

#define PEEK 16 /* bytes that sealing surely changes */

static struct suci_path *
sealed_path(struct suci *ep, uint32_t path)
{
	struct suci_path *p = suci_path_get(ep, path);
	return p && p->state == PATH_UP && p->seal ? p : NULL;
}

bool
pg_sealed_is(const struct suci *ep, uint32_t path)
{
	const struct suci_path *p = path < ep->conf.limits.paths_max ? &ep->path[path] : NULL;
	return p && p->state == PATH_UP && p->seal;
}

size_t
pg_sealed_close(struct suci *ep, uint32_t path, uint8_t *dgram, size_t len, uint32_t held)
{
	struct suci_path *p = sealed_path(ep, path);
	struct suci_path_hdr h;
	if (!p || !suci_path_hdr_decode(&h, dgram, len))
		return 0;
	uint64_t *next = h.flags & SUCI_PF_BARE ? &p->sent.bare_pn : &p->sent.next_pn;
	/* 64 bits of it, as near to the last one as can be. */
	uint64_t pn = *next + (uint64_t)(int64_t)(int32_t)(h.pn - (uint32_t)*next);
	if (h.flags & SUCI_PF_BARE) {
		*next = pn;
	} else {
		*next = pn + 1;
		p->loss.largest_acked = pn - held - 1; /* so the next epoch may come */
	}
	return suci_seal_data(ep, p, dgram, len, pn);
}

size_t
pg_sealed_open(struct suci *ep, uint32_t path, uint8_t *dgram, size_t len)
{
	struct suci_path *p = sealed_path(ep, path);
	struct suci_path_hdr h;
	if (!p || !suci_path_hdr_decode(&h, dgram, len) || h.type != SUCI_T_DATA ||
	    !(h.flags & SUCI_PF_SEALED) || h.path_tag != p->rx_tag ||
	    !suci_seal_open(ep, p, &h, dgram, len))
		return 0;
	return len - SUCI_SEAL_TAG;
}

size_t
pg_sealed_through(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, size_t len,
		  uint8_t ecn, uint64_t now_ns)
{
	uint8_t before[PEEK];
	uint64_t forged = suci_counters(ep)->drop_seal;
	bool whole = len >= SUCI_PATH_HDR + PEEK + SUCI_SEAL_TAG;
	if (whole)
		memcpy(before, dgram + SUCI_PATH_HDR, PEEK);
	suci_rx_ecn(ep, from, dgram, len, ecn, 0, now_ns);
	/* It is opened in place, or left as it was. */
	bool opened = whole && memcmp(before, dgram + SUCI_PATH_HDR, PEEK) &&
		      suci_counters(ep)->drop_seal == forged;
	return opened ? len - SUCI_SEAL_TAG : 0;
}
