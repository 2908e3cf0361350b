/* IMPI packet headers in front of what goes over relays (IMPI reference 5). */
#include "transport.h"

#include "impi/wire.h"

#include <string.h>

#define eng lmpi_eng

_Static_assert(LMPI_PKT_BYTES == IMPI_PACKET_BYTES, "the header of a relayed block");

void
lmpi_pkt_encode(const struct lmpi_peer *peer, const struct lmpi_hdr *h, uint64_t len,
		uint8_t out[LMPI_PKT_BYTES])
{
	struct impi_packet p = {
		.len = (uint32_t)len,
		.src = impi_proc_decode(eng.peer[lmpi_world.rank].id),
		.dest = impi_proc_decode(peer->id),
		.srqid = h->srq,
		.drqid = h->drq,
		.msglen = h->msglen,
		.lsrank = h->lsrank,
		.tag = h->tag,
		.cid = h->cid,
	};

	switch (h->type) {
	case LMPI_T_EAGER:
		p.type = h->flags & LMPI_HF_SYNC ? IMPI_PK_DATASYNC : IMPI_PK_DATA;
		break;
	case LMPI_T_MATCHED:
		p.type = IMPI_PK_SYNCACK;
		p.msglen = 0;
		break;
	case LMPI_T_PROTOACK:
		p.type = IMPI_PK_PROTOACK;
		break;
	default:
		p.type = IMPI_PK_DATA; /* the rest of a long message */
	}
	impi_packet_encode(&p, out);
}

const char *
lmpi_pkt_decode(const struct lmpi_peer *peer, const uint8_t in[LMPI_PKT_BYTES], uint64_t payload,
		struct lmpi_hdr *h)
{
	struct impi_packet p = impi_packet_decode(in);
	struct impi_proc me = impi_proc_decode(eng.peer[lmpi_world.rank].id);
	struct impi_proc from = impi_proc_decode(peer->id);
	enum impi_packet_fault fault = impi_packet_check(&p, eng.datalen);

	if (fault != IMPI_PACKET_OK)
		return impi_packet_fault_name(fault);
	if (payload != impi_packet_payload_bytes(&p))
		return "its block has another length than its header says";
	if (impi_proc_cmp(&p.src, &from) != 0 || impi_proc_cmp(&p.dest, &me) != 0)
		return "process ids that do not belong to its lane";
	*h = (struct lmpi_hdr){.magic = LMPI_HDR_MAGIC,
			       .src = peer->world,
			       .lsrank = p.lsrank,
			       .tag = p.tag,
			       .cid = p.cid,
			       .msglen = p.msglen,
			       .srq = p.srqid,
			       .drq = p.drqid};
	switch (p.type) {
	case IMPI_PK_DATASYNC:
		h->flags = LMPI_HF_SYNC;
		h->type = LMPI_T_EAGER;
		return NULL;
	case IMPI_PK_DATA:
		h->type = p.len == p.msglen ? LMPI_T_EAGER : LMPI_T_DATA;
		return NULL;
	case IMPI_PK_SYNCACK:
		h->type = LMPI_T_MATCHED;
		return NULL;
	case IMPI_PK_PROTOACK:
		h->type = LMPI_T_PROTOACK;
		return NULL;
	default:
		return "a packet type that has no place between processes of this library";
	}
}
