/* SPDX-License-Identifier: BSD-2-Clause */
/* IMPI packet headers in front of what goes over relays and to foreign hosts (IMPI
 * reference 5). */
#include "mpi/impi_packet.h"

#include "impi/message.h"
#include "impi/wire.h"

#include <stdio.h>

_Static_assert(LMPI_PKT_BYTES == IMPI_PACKET_BYTES, "the header of a relayed block");

/* The same steps under both names; EAGER is DATASYNC if the receiver has to answer. */
static const uint8_t type_there[LMPI_T_MAX] = {
	[LMPI_T_EAGER] = IMPI_PK_DATA,	      [LMPI_T_DATA] = IMPI_PK_DATA,
	[LMPI_T_MATCHED] = IMPI_PK_SYNCACK,   [LMPI_T_PROTOACK] = IMPI_PK_PROTOACK,
	[LMPI_T_CANCEL] = IMPI_PK_CANCEL,     [LMPI_T_CANCELYES] = IMPI_PK_CANCELYES,
	[LMPI_T_CANCELNO] = IMPI_PK_CANCELNO,
};
static const uint8_t type_here[IMPI_PK_TYPES] = {
	[IMPI_PK_DATA] = LMPI_T_DATA,	      [IMPI_PK_DATASYNC] = LMPI_T_EAGER,
	[IMPI_PK_SYNCACK] = LMPI_T_MATCHED,   [IMPI_PK_PROTOACK] = LMPI_T_PROTOACK,
	[IMPI_PK_CANCEL] = LMPI_T_CANCEL,     [IMPI_PK_CANCELYES] = LMPI_T_CANCELYES,
	[IMPI_PK_CANCELNO] = LMPI_T_CANCELNO,
};

enum impi_pk_type
lmpi_pkt_type(const struct lmpi_hdr *h)
{
	if (h->type == LMPI_T_EAGER && h->flags & LMPI_HF_SYNC)
		return IMPI_PK_DATASYNC;
	return type_there[h->type];
}

bool
lmpi_pkt_may_go(const struct lmpi_engine *e, const struct lmpi_peer *peer, const struct lmpi_hdr *h)
{
	enum impi_pk_type type = lmpi_pkt_type(h);

	/* Between processes of this library answers go out in any case: whoever waits
	 * for them may be what frees the other side's memory. */
	return (type == IMPI_PK_SYNCACK && !peer->foreign) ||
	       impi_flow_may_send(&peer->flow, e->hiwater, type);
}

void
lmpi_pkt_gone(struct lmpi_peer *peer, const struct lmpi_hdr *h)
{
	impi_flow_on_sent(&peer->flow, lmpi_pkt_type(h));
}

void
lmpi_pkt_encode(const struct lmpi_engine *e, const struct lmpi_peer *peer, const struct lmpi_hdr *h,
		uint64_t len, uint8_t out[LMPI_PKT_BYTES])
{
	struct impi_packet p = {
		.type = lmpi_pkt_type(h),
		.len = (uint32_t)len,
		.src = impi_proc_decode(e->peer[e->rank].id),
		.dest = impi_proc_decode(peer->id),
		.srqid = h->srq,
		.drqid = h->drq,
		.msglen = h->msglen,
		.lsrank = h->lsrank,
		.tag = h->tag,
		.cid = h->cid,
	};

	impi_packet_encode(&p, out);
}

const char *
lmpi_pkt_decode(const struct lmpi_engine *e, const struct lmpi_peer *peer,
		const uint8_t in[LMPI_PKT_BYTES], uint64_t payload, struct lmpi_hdr *h)
{
	struct impi_packet p = impi_packet_decode(in);
	struct impi_proc me = impi_proc_decode(e->peer[e->rank].id);
	struct impi_proc from = impi_proc_decode(peer->id);
	enum impi_packet_fault fault = impi_packet_check(&p, e->datalen);

	if (fault != IMPI_PACKET_OK)
		return impi_packet_fault_name(fault);
	if (payload != impi_packet_payload_bytes(&p))
		return "its block has another length than its header says";
	if (impi_proc_cmp(&p.src, &from) != 0 || impi_proc_cmp(&p.dest, &me) != 0)
		return "process ids that do not belong here";
	if (p.type == IMPI_PK_FINI)
		return "a FINI, which is the business of hosts";
	*h = (struct lmpi_hdr){.magic = LMPI_HDR_MAGIC,
			       .type = type_here[p.type],
			       .flags = p.type == IMPI_PK_DATASYNC ? LMPI_HF_SYNC : 0,
			       .src = peer->world - peer->apart,
			       .lsrank = p.lsrank,
			       .tag = p.tag,
			       .cid = p.cid,
			       .msglen = p.msglen,
			       .srq = p.srqid,
			       .drq = p.drqid};
	if (p.type == IMPI_PK_DATA && impi_packet_opens(&p))
		h->type = LMPI_T_EAGER;
	return NULL;
}

void
lmpi_pkt_fail(struct lmpi_engine *e, const struct lmpi_peer *peer, const uint8_t in[LMPI_PKT_BYTES],
	      const char *wrong)
{
	struct impi_packet p = impi_packet_decode(in);
	char text[300];

	snprintf(text, sizeof text,
		 "rank %u sent a malformed IMPI packet (type %u %s, len %u, msglen %llu, srqid "
		 "%llx, drqid %llx): %s",
		 peer->world, p.type, impi_packet_type_name(p.type), p.len,
		 (unsigned long long)p.msglen, (unsigned long long)p.srqid,
		 (unsigned long long)p.drqid, wrong);
	e->fail(e, text);
}
