/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw datagrams into an endpoint with one path up and a lane on it.  The input
 * is a row of records: control byte, length (2), bytes.  Control bit 0 writes
 * the right path tag into the datagram, bit 1 the endpoint it goes to, bit 2
 * lets time pass, bit 3 lets the pair talk in between. */
#include "fuzz_suci_pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct pair *p = pair_new(data[0] & 1);
	uint8_t tag[2][4] = {{0}};
	struct base_reader r = base_reader(data + 1, size - 1);
	pair_send(p, 0, true);
	pair_send(p, 1, true);
	pair_send(p, 0, true);
	pair_send(p, 1, true);
	pair_learn_tags(p, tag);
	while (base_reader_left(&r) >= 3) {
		uint8_t ctl = base_read_u8(&r);
		size_t len = base_read_be16(&r) % 1500;
		if (len > base_reader_left(&r))
			len = base_reader_left(&r);
		const uint8_t *bytes = base_read_bytes(&r, len);
		int to = ctl >> 1 & 1;
		struct pair_dgram *d = malloc(sizeof *d);
		*d = (struct pair_dgram){.from = !to, .len = len};
		memcpy(d->bytes, bytes, len);
		if (ctl & 1 && len >= 8)
			memcpy(d->bytes + 4, tag[to], 4);
		pair_give(p, d);
		free(d);
		if (ctl & 4)
			pair_advance(p, 1ull << (ctl >> 4) * 2);
		if (ctl & 8)
			pair_deliver_all(p);
	}
	pair_deliver_all(p);
	pair_free(p);
	return 0;
}
