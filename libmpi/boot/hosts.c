/* SPDX-License-Identifier: BSD-2-Clause */
/* Which IMPI hosts a client of this library is made of. */
#include "boot.h"

#include <string.h>

uint32_t
lmpi_hosts_group(const struct lmpi_contact *contact, uint32_t n, uint32_t *host_of)
{
	uint32_t hosts = 0;

	for (uint32_t r = 0; r < n; r++) {
		if (r == 0 || !lmpi_addr_same(&contact[r].at, &contact[r - 1].at))
			hosts++;
		host_of[r] = hosts - 1;
	}
	/* An address seen again later: the ranks of an IMPI host are contiguous, and no
	 * two hosts may have one address, so there can only be one host. */
	for (uint32_t r = 1; r < n; r++) {
		for (uint32_t q = 0; host_of[q] != host_of[r]; q++) {
			if (!lmpi_addr_same(&contact[q].at, &contact[r].at))
				continue;
			memset(host_of, 0, n * sizeof *host_of);
			return 1;
		}
	}
	return hosts;
}
