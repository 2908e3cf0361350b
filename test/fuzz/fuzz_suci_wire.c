/* SPDX-License-Identifier: BSD-2-Clause */
/* decode -> encode gives the same bytes, for every part of a datagram. */
#include "wire_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
same(const uint8_t *a, const uint8_t *b, size_t n)
{
	if (memcmp(a, b, n))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[70000];
	struct suci_path_hdr h;
	struct suci_ack a;
	struct suci_segment s;
	struct suci_part t;
	struct suci_body b;
	struct suci_close f;
	if (!size)
		return 0;
	const uint8_t *p = data + 1;
	size_t n = size - 1;
	switch (data[0] % 5) {
	case 0:
		if (suci_path_hdr_decode(&h, p, n))
			same(p, out, suci_path_hdr_encode(&h, out));
		break;
	case 1:
		if (suci_ack_decode(&a, p, n))
			same(p, out, suci_ack_encode(&a, out));
		break;
	case 2:
		if (suci_segment_decode(&s, p, n)) {
			size_t hdr = suci_segment_encode(&s, out);
			same(p, out, hdr);
			if (s.data != p + hdr || hdr + s.data_len != n)
				abort();
		}
		if (suci_part_decode(&t, p, n)) {
			size_t hdr = suci_part_encode(&t, out);
			same(p, out, hdr);
			if (t.bytes != p + hdr || hdr + t.len != n ||
			    (size_t)t.off + t.len > t.total)
				abort();
		}
		break;
	case 3:
		if (suci_body_decode(&b, p, n) && b.hello_len <= SUCI_HELLO_MAX)
			same(p, out, suci_body_encode(&b, out));
		break;
	case 4:
		if (suci_close_decode(&f, p, n))
			same(p, out, suci_close_encode(&f, out));
		break;
	}
	return 0;
}
