/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the receive buffers: tens of megabytes of which each datagram touches another
 * page, so large pages spare most of the misses in the TLB. */
#include "udp_internal.h"

#include <sys/mman.h>

#define HUGE_BYTES ((size_t)2 << 20)

bool
suci_udp_region_make(struct suci_udp *u, size_t bytes, bool reserved)
{
	int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *p;

	u->region_bytes = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	if (reserved) {
		/* The pages are set aside now, so touching them later cannot fail. */
		p = mmap(NULL, u->region_bytes, prot, flags | MAP_HUGETLB, -1, 0);
		if (p != MAP_FAILED) {
			u->buf = p;
			u->pages = SUCI_UDP_PAGES_RESERVED;
			return true;
		}
	}
	/* A page more, so that it begins where a huge page may. */
	p = mmap(NULL, u->region_bytes + HUGE_BYTES, prot, flags, -1, 0);
	if (p == MAP_FAILED)
		return false;
	size_t skip = -(uintptr_t)p & (HUGE_BYTES - 1);
	if (skip)
		munmap(p, skip);
	if (skip < HUGE_BYTES)
		munmap(p + skip + u->region_bytes, HUGE_BYTES - skip);
	u->buf = p + skip;
	u->pages = madvise(u->buf, u->region_bytes, MADV_HUGEPAGE) == 0 ? SUCI_UDP_PAGES_TRANSPARENT
									: SUCI_UDP_PAGES_SMALL;
	return true;
}

void
suci_udp_region_free(struct suci_udp *u)
{
	if (u->buf)
		munmap(u->buf, u->region_bytes);
	u->buf = NULL;
}
