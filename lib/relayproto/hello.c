/* SPDX-License-Identifier: BSD-2-Clause */
#include "relayproto/hello.h"

#include "base/bytes.h"
#include "base/siphash.h"

#include <string.h>

uint64_t
relay_hello_token(uint64_t announced, uint32_t label)
{
	uint8_t key[16] = "\0\0\0\0\0\0\0\0hello", said[4];
	if (announced >> 32 == 0)
		return announced;
	be64_store(key, announced);
	be32_store(said, label);
	return base_siphash(key, said, sizeof said) >> 1;
}

void
relay_hello_encode(const struct relay_hello *h, uint8_t out[RELAY_HELLO_LEN])
{
	memset(out, 0, RELAY_HELLO_LEN);
	out[0] = 'S';
	out[1] = 'H';
	out[2] = RELAY_HELLO_VERSION;
	out[3] = h->kind;
	be32_store(out + 4, (uint32_t)h->token);
	be32_store(out + 8, h->label);
	be32_store(out + 12, h->rank);
	be16_store(out + 16, h->mtu);
	out[18] = h->survives;
	be32_store(out + 20, (uint32_t)(h->token >> 32));
}

int
relay_hello_decode(const void *in, size_t len, struct relay_hello *h)
{
	const uint8_t *p = in;
	if (len < RELAY_HELLO_LEN || p[0] != 'S' || p[1] != 'H' || p[2] != RELAY_HELLO_VERSION)
		return RELAYPROTO_ERR_MALFORMED;
	if (p[3] != RELAY_HELLO_PROCESS && p[3] != RELAY_HELLO_RELAY &&
	    p[3] != RELAY_HELLO_GATEWAY && p[3] != RELAY_HELLO_DOOR)
		return RELAYPROTO_ERR_MALFORMED;
	*h = (struct relay_hello){
		.kind = p[3],
		.token = (uint64_t)be32_load(p + 20) << 32 | be32_load(p + 4),
		.label = be32_load(p + 8),
		.rank = be32_load(p + 12),
		.mtu = be16_load(p + 16),
		.survives = p[18] & 1,
	};
	return RELAYPROTO_ERR_OK;
}
