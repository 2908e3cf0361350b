/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are an address as text.  What is taken has one form: written and read again it is the same,
 * and so it is by way of the 16 bytes that lib/base has. */
#include "suci/addr.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_form(const struct suci_addr *a)
{
	uint8_t ip[16];
	suci_addr_16(a, ip);
	struct suci_addr same = suci_addr_of(ip, a->port);
	BASE_ASSERT(memcmp(a, &same, sizeof same) == 0);
	BASE_ASSERT(a->family == 4 || a->family == 6);
	const char *why = suci_addr_fault(a);
	BASE_ASSERT(!suci_addr_is_any(a) || why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suci_addr a, again;
	char out[SUCI_ADDR_TEXT_MAX], *text = malloc(size ? size : 1); /* exact: no NUL behind it */

	memcpy(text, data, size);
	if (suci_addr_parse(text, size, &a)) {
		check_form(&a);
		BASE_ASSERT(a.port != 0);
		suci_addr_text(&a, out);
		BASE_ASSERT(suci_addr_parse(out, strlen(out), &again));
		BASE_ASSERT(memcmp(&a, &again, sizeof a) == 0);
	}
	if (suci_addr_parse_ip(text, size, &a)) {
		check_form(&a);
		BASE_ASSERT(a.port == 0);
		suci_addr_ip_text(&a, out);
		BASE_ASSERT(suci_addr_parse_ip(out, strlen(out), &again));
		BASE_ASSERT(memcmp(&a, &again, sizeof a) == 0);
	}
	free(text);
	return 0;
}
