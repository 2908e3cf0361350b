/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/wire.h"

#include <assert.h>

static_assert(sizeof(struct impi_proc) == IMPI_PROC_BYTES, "arrays of procs are dense");

static const struct {
	uint32_t label;
	uint32_t elem_bytes;
	const char *name;
} labels[] = {
#define LABEL_ROW(name, value, bytes, per) {(value), (bytes), "IMPI_" #name},
	IMPI_LABEL_LIST(LABEL_ROW)
#undef LABEL_ROW
};

static_assert(sizeof labels / sizeof labels[0] == IMPI_NLABELS, "IMPI_NLABELS counts the list");

int
impi_label_index(uint32_t label)
{
	for (int i = 0; i < IMPI_NLABELS; i++)
		if (labels[i].label == label)
			return i;
	return -1;
}

uint32_t
impi_label_at(unsigned int i)
{
	return i < IMPI_NLABELS ? labels[i].label : (uint32_t)IMPI_NO_LABEL;
}

uint32_t
impi_label_elem_bytes(uint32_t label)
{
	int i = impi_label_index(label);
	return i < 0 ? 0 : labels[i].elem_bytes;
}

const char *
impi_label_name(uint32_t label)
{
	int i = impi_label_index(label);
	return i < 0 ? "unknown label" : labels[i].name;
}

enum impi_packet_fault
impi_packet_check(const struct impi_packet *p, uint32_t datalen)
{
	if (p->type >= IMPI_PK_TYPES)
		return IMPI_PACKET_BAD_TYPE;
	uint32_t payload_bytes = impi_packet_payload_bytes(p);
	if (payload_bytes > datalen)
		return IMPI_PACKET_OVERLONG;
	if (payload_bytes > p->msglen)
		return IMPI_PACKET_BAD_MSGLEN;
	return IMPI_PACKET_OK;
}

const char *
impi_packet_fault_name(enum impi_packet_fault fault)
{
	switch (fault) {
	case IMPI_PACKET_OK:
		return "ok";
	case IMPI_PACKET_BAD_TYPE:
		return "unknown packet type";
	case IMPI_PACKET_OVERLONG:
		return "payload longer than DATALEN";
	case IMPI_PACKET_BAD_MSGLEN:
		return "payload longer than its message";
	}
	return "unknown fault";
}

const char *
impi_packet_type_name(uint32_t type)
{
	static const char *const name[IMPI_PK_TYPES] = {
		"DATA",	  "DATASYNC",  "PROTOACK", "SYNCACK",
		"CANCEL", "CANCELYES", "CANCELNO", "FINI",
	};
	return type < IMPI_PK_TYPES ? name[type] : "unknown";
}

enum impi_addr_kind
impi_addr_classify(const uint8_t addr[16], uint32_t *ipv4)
{
	static const uint8_t zero[12];
	uint16_t form = be16_load(addr + 10);
	uint32_t low = be32_load(addr + 12);

	if (memcmp(addr, zero, 10) != 0 || (form != 0 && form != 0xffff))
		return IMPI_ADDR_V6;
	if (form == 0 && low == 0)
		return IMPI_ADDR_NONE;
	if (form == 0 && low == 1)
		return IMPI_ADDR_V6;
	if (ipv4)
		*ipv4 = low;
	return IMPI_ADDR_V4;
}

void
impi_addr_from_ipv4(uint8_t addr[16], uint32_t ipv4)
{
	memset(addr, 0, 10);
	be16_store(addr + 10, 0xffff);
	be32_store(addr + 12, ipv4);
}
