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
	struct pair_dgram d;
	uint8_t ctl;
	while (pair_next_raw(&r, tag, &ctl, &d))
		pair_give_raw(p, ctl, &d);
	pair_deliver_all(p);
	pair_free(p);
	return 0;
}
