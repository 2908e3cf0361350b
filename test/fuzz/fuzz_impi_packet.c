/* SPDX-License-Identifier: BSD-2-Clause */
/* Any 128 bytes decode and encode to themselves; the rest of the input are a host
 * id and an address. */
#include "base/assert.h"
#include "impi/hostid.h"
#include "impi/wire.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[IMPI_PACKET_BYTES];
	if (size >= IMPI_PACKET_BYTES) {
		struct impi_packet p = impi_packet_decode(data);
		impi_packet_encode(&p, out);
		BASE_ASSERT(memcmp(out, data, sizeof out) == 0);
		enum impi_packet_fault fault = impi_packet_check(&p, 65536);
		if (fault == IMPI_PACKET_OK) {
			BASE_ASSERT(p.type < IMPI_PK_TYPES);
			BASE_ASSERT(impi_packet_payload_bytes(&p) <= 65536);
		}
		data += IMPI_PACKET_BYTES;
		size -= IMPI_PACKET_BYTES;
	}
	if (size >= IMPI_HOSTID_BYTES) {
		struct impi_hostid id;
		uint32_t ipv4;
		if (impi_hostid_decode(data, &id) == IMPI_HOSTID_SUCI) {
			impi_hostid_encode(&id, out);
			BASE_ASSERT(memcmp(out, data, IMPI_HOSTID_BYTES) == 0);
		}
		if (size >= IMPI_HOSTID_BYTES + 16 &&
		    impi_hostid_decode_at(data, data + IMPI_HOSTID_BYTES, &id) ==
			    IMPI_HOSTID_SUCI) {
			impi_hostid_encode(&id, out);
			BASE_ASSERT(memcmp(out, data, IMPI_HOSTID_BYTES) == 0);
		}
		if (impi_addr_classify(data, &ipv4) == IMPI_ADDR_V4) {
			impi_addr_from_ipv4(out, ipv4);
			BASE_ASSERT(memcmp(out + 12, data + 12, 4) == 0);
		}
	}
	return 0;
}
