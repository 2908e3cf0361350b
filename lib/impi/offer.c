/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/tables.h"

size_t
impi_offer_bytes(const struct impi_offer *o, uint32_t label)
{
	size_t elem_bytes = impi_label_elem_bytes(label);
	if (label >= IMPI_P_IPV6)
		return elem_bytes * o->nprocs;
	if (label >= IMPI_H_IPV6)
		return elem_bytes * o->nhosts;
	return elem_bytes; /* one version, 0.0 */
}

static void
write_host(struct base_writer *w, uint32_t label, const struct impi_host *h)
{
	switch (label) {
	case IMPI_H_IPV6:
		base_write_bytes(w, h->addr, sizeof h->addr);
		break;
	case IMPI_H_PORT:
		base_write_be32(w, h->port);
		break;
	case IMPI_H_NPROCS:
		base_write_be32(w, h->nprocs);
		break;
	case IMPI_H_ACKMARK:
		base_write_be32(w, h->ackmark);
		break;
	default:
		base_write_be32(w, h->hiwater);
		break;
	}
}

static uint32_t
client_value(const struct impi_offer *o, uint32_t label)
{
	switch (label) {
	case IMPI_C_NHOSTS:
		return o->nhosts;
	case IMPI_C_NPROCS:
		return o->nprocs;
	case IMPI_C_DATALEN:
		return o->datalen;
	case IMPI_C_TAGUB:
		return o->tagub;
	case IMPI_C_COLL_XSIZE:
		return (uint32_t)o->xsize;
	default:
		return (uint32_t)o->maxlinear;
	}
}

size_t
impi_offer_encode(const struct impi_offer *o, uint32_t label, uint8_t *out, size_t cap)
{
	struct base_writer w = base_writer(out, cap);

	if (impi_label_index(label) < 0 || cap < impi_offer_bytes(o, label))
		return 0;
	if (label == IMPI_C_VERSION) {
		base_write_be64(&w, 0);
	} else if (label < IMPI_H_IPV6) {
		base_write_be32(&w, client_value(o, label));
	} else if (label < IMPI_P_IPV6) {
		for (uint32_t i = 0; i < o->nhosts; i++)
			write_host(&w, label, &o->host[i]);
	} else {
		for (uint32_t i = 0; i < o->nprocs; i++) {
			if (label == IMPI_P_IPV6)
				base_write_bytes(&w, o->proc[i].hostid, 16);
			else
				base_write_be64(&w, o->proc[i].pid);
		}
	}
	return base_writer_ok(&w) ? base_writer_len(&w) : 0;
}
