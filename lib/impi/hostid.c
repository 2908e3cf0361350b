/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/hostid.h"

#include <string.h>

#include "base/bytes.h"
#include "impi/wire.h"

static const uint8_t prefix[4] = {0xfd, 0x53, 0x55, 0x43};

void
impi_hostid_encode(const struct impi_hostid *id, uint8_t out[IMPI_HOSTID_BYTES])
{
	memcpy(out, prefix, sizeof prefix);
	be32_store(out + 4, id->token);
	out[8] = (uint8_t)(id->major << 4 | (id->ipv4 ? IMPI_HOSTID_VERSION : IMPI_HOSTID_AT_HOST));
	out[9] = (uint8_t)(id->minor << 2 | id->kind);
	be16_store(out + 10, id->port);
	be32_store(out + 12, id->ipv4);
}

enum impi_hostid_result
impi_hostid_decode(const uint8_t in[IMPI_HOSTID_BYTES], struct impi_hostid *out)
{
	if (memcmp(in, prefix, sizeof prefix) != 0)
		return IMPI_HOSTID_FOREIGN;
	struct impi_hostid id = {
		.token = be32_load(in + 4),
		.kind = in[9] & 3,
		.major = in[8] >> 4,
		.minor = in[9] >> 2,
		.port = be16_load(in + 10),
		.ipv4 = be32_load(in + 12),
	};
	if ((in[8] & 15) != IMPI_HOSTID_VERSION || id.port == 0 || id.ipv4 == 0 || id.kind == 0)
		return IMPI_HOSTID_BAD;
	*out = id;
	return IMPI_HOSTID_SUCI;
}

bool
impi_hostid_is_at_host(const uint8_t in[IMPI_HOSTID_BYTES])
{
	return (in[8] & 15) == IMPI_HOSTID_AT_HOST && memcmp(in, prefix, sizeof prefix) == 0;
}

enum impi_hostid_result
impi_hostid_decode_at(const uint8_t in[IMPI_HOSTID_BYTES], const uint8_t host[16],
		      struct impi_hostid *out)
{
	struct impi_hostid id;
	uint8_t named[IMPI_HOSTID_BYTES];
	uint32_t ipv4;

	if (!impi_hostid_is_at_host(in))
		return impi_hostid_decode(in, out);
	if (be32_load(in + 12) != 0 || impi_addr_classify(host, &ipv4) != IMPI_ADDR_V6)
		return IMPI_HOSTID_BAD;
	/* As one of version 1 with some address: the other rules are the same. */
	memcpy(named, in, sizeof named);
	named[8] = (uint8_t)((in[8] & 0xf0) | IMPI_HOSTID_VERSION);
	named[15] = 1;
	if (impi_hostid_decode(named, &id) != IMPI_HOSTID_SUCI || id.kind != IMPI_HOSTID_LIBMPI)
		return IMPI_HOSTID_BAD;
	id.ipv4 = 0;
	*out = id;
	return IMPI_HOSTID_SUCI;
}
