/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes into a sealed stream.  The first byte: bit 0 which end gets them, bit 1 identities, bit 2
 * the pair is up before, bit 3 what the honest end has to say comes first.  Then rows of length
 * (2), bytes. The cipher is the toy: a corpus of streams is authentic. */
#include <stdlib.h>

#include "../toy_aead.h"
#include "base/bytes.h"
#include "seal/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                  \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

static bool
known(void *user, const uint8_t public_key[SEAL_DH])
{
	(void)user;
	return public_key[0] & 1;
}

static void
got(void *user, const uint8_t *bytes, size_t len)
{
	size_t *n = user;
	MUST(len && len <= SEAL_LINK_TEXT);
	for (size_t i = 0; i < len; i++)
		*n += bytes[i];
}

static void
hand_over(struct seal_link *from, struct seal_link *to, size_t *n)
{
	uint8_t out[SEAL_LINK_GREETING];
	size_t len = seal_link_out(from, out);
	seal_link_rx(to, out, len, got, n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seal_link link[2];
	static struct seal_identity id = {.secret = {4}};
	struct seal_link_conf conf = {.crypto = toy_aead(),
				      .purpose = "fuzz",
				      .key = {{.id = 1, .secret = {2}}},
				      .nkeys = 1,
				      .known = known,
				      .rekey = 3};
	static const uint8_t once[2][SEAL_DH] = {{9}, {8}};
	uint8_t out[SEAL_LINK_GREETING];
	size_t n = 0;
	if (!size)
		return 0;
	unsigned control = data[0];
	conf.crypto->dh_public(id.secret, id.public_key);
	id.public_key[0] |= 1;
	if (control & 2)
		conf.me = &id;
	seal_link_init(&link[0], &conf, SEAL_LINK_DIALS, once[0], id.public_key);
	seal_link_init(&link[1], &conf, SEAL_LINK_LISTENS, once[1], NULL);
	if (control & 4)
		for (int i = 0; i < 3; i++)
			hand_over(&link[i & 1], &link[!(i & 1)], &n);
	struct seal_link *to = &link[control & 1];
	if (control & 8)
		hand_over(&link[!(control & 1)], to, &n);
	struct base_reader r = base_reader(data + 1, size - 1);
	while (base_reader_left(&r) >= 2) {
		size_t len = base_read_be16(&r);
		if (len > base_reader_left(&r))
			len = base_reader_left(&r);
		bool good = seal_link_rx(to, base_read_bytes(&r, len), len, got, &n);
		MUST(good == (to->state != SEAL_LINK_BROKEN));
		MUST(good || to->why[0]);
		MUST(seal_link_out(to, out) <= sizeof out);
	}
	uint8_t sealed[64];
	size_t len = seal_link_tx(to, once[0], 10, sealed);
	MUST(len == (to->state == SEAL_LINK_UP ? seal_link_size(10) : 0));
	return 0;
}
