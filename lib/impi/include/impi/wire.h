/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/wire.h - bytes of IMPI 0.0: commands and labels of the server channel,
 * process ids, the 128-byte packet header, addresses in 16-byte containers.
 *
 * All integers are big-endian, structures are their fields without padding.
 * Source: IMPI 0.0 as LAM/MPI 7.1.4 speaks it ("the final rules", which differ
 * from the 1999 draft in DATALEN, 8-byte pids and the AUTH negotiation).
 *
 * Threads  pure functions of their arguments. */
#ifndef IMPI_WIRE_H
#define IMPI_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* --- limits ------------------------------------------------------------ */

#define IMPI_CLIENTS_MAX   32	       /* the client mask has 32 bits */
#define IMPI_CMD_BYTES_MAX (64u << 20) /* payload of one command; more is malformed */
#define IMPI_PROCS_MAX	   (IMPI_CMD_BYTES_MAX / 16 - 1) /* so that P_IPV6 fits one command */
#define IMPI_HOSTS_MAX	   IMPI_PROCS_MAX

/* --- server channel ---------------------------------------------------- */

/* Each command is {cmd, len} and len payload bytes.  The server's answer to
 * AUTH alone has no such header: it is {which, len}. */
enum impi_cmd {
	IMPI_CMD_AUTH = 0x41555448, /* client: u32 mask of methods */
	IMPI_CMD_IMPI = 0x494D5049, /* client: i32 rank; server: i32 number of clients */
	IMPI_CMD_COLL = 0x434F4C4C, /* client: label, data; server: label, client mask, data */
	IMPI_CMD_DONE = 0x444F4E45, /* both, empty */
	IMPI_CMD_FINI = 0x46494E49, /* client, empty */
	/* Not of IMPI 0.0; see impi/gone.h.  Who does not know it closes the connection. */
	IMPI_CMD_GONE = 0x474F4E45, /* client: u64 age, text; server: u32 client rank, text */
};

#define IMPI_CMD_HDR_BYTES    8
#define IMPI_AUTH_MASK_BYTES  4
#define IMPI_AUTH_REPLY_BYTES 8
#define IMPI_AUTH_KEY_BYTES   8
#define IMPI_COLL_HDR_BYTES   4 /* client to server: label */
#define IMPI_COLL_REPLY_BYTES 8 /* server to client: label, mask */
#define IMPI_VERSION_BYTES    8

enum impi_auth_method { IMPI_AUTH_NONE = 0, IMPI_AUTH_KEY = 1 };
#define IMPI_AUTH_MASK_NONE (1u << IMPI_AUTH_NONE)
#define IMPI_AUTH_MASK_KEY  (1u << IMPI_AUTH_KEY)

/* X(name, value, bytes per element, per) in the order in which a client
 * should send them (the only order LAM accepts).  per: C one per client (but
 * VERSION: one or more), H one per host, P one per proc. */
#define IMPI_LABEL_LIST(X)                \
	X(C_VERSION, 0x1000, 8, C)        \
	X(C_NHOSTS, 0x1100, 4, C)         \
	X(C_NPROCS, 0x1200, 4, C)         \
	X(C_DATALEN, 0x1300, 4, C)        \
	X(C_TAGUB, 0x1400, 4, C)          \
	X(C_COLL_XSIZE, 0x1500, 4, C)     \
	X(C_COLL_MAXLINEAR, 0x1600, 4, C) \
	X(H_IPV6, 0x2000, 16, H)          \
	X(H_PORT, 0x2100, 4, H)           \
	X(H_NPROCS, 0x2200, 4, H)         \
	X(H_ACKMARK, 0x2300, 4, H)        \
	X(H_HIWATER, 0x2400, 4, H)        \
	X(P_IPV6, 0x3000, 16, P)          \
	X(P_PID, 0x3100, 8, P)

enum impi_label {
	IMPI_NO_LABEL = 0, /* reserved, never sent */
#define IMPI_LABEL_ENUM(name, value, bytes, per) IMPI_##name = (value),
	IMPI_LABEL_LIST(IMPI_LABEL_ENUM)
#undef IMPI_LABEL_ENUM
};

#define IMPI_NLABELS 14

/* Position of a standard label in the list above, -1 if it is not one. */
int impi_label_index(uint32_t label);
/* The i-th label of the list, IMPI_NO_LABEL from IMPI_NLABELS on. */
uint32_t impi_label_at(unsigned int i);
/* Bytes of one element of a standard label, 0 if it is not one. */
uint32_t impi_label_elem_bytes(uint32_t label);
/* "IMPI_C_NHOSTS"; "unknown label" if it is not a standard one. */
const char *impi_label_name(uint32_t label);

#define IMPI_COLL_XSIZE_DEFAULT	    1024 /* what -1 means in IMPI_C_COLL_XSIZE */
#define IMPI_COLL_MAXLINEAR_DEFAULT 4	 /* what -1 means in IMPI_C_COLL_MAXLINEAR */
#define IMPI_TAGUB_MIN		    32767

/* --- processes --------------------------------------------------------- */

/* IMPI_Proc: an opaque name, compared byte by byte, never normalised. */
struct impi_proc {
	uint8_t hostid[16];
	uint64_t pid;
};

#define IMPI_PROC_BYTES 24

static inline void
impi_proc_encode(const struct impi_proc *p, uint8_t out[IMPI_PROC_BYTES])
{
	memcpy(out, p->hostid, 16);
	be64_store(out + 16, p->pid);
}

static inline struct impi_proc
impi_proc_decode(const uint8_t in[IMPI_PROC_BYTES])
{
	struct impi_proc p;
	memcpy(p.hostid, in, 16);
	p.pid = be64_load(in + 16);
	return p;
}

/* <0, 0, >0 in the order of the wire bytes. */
static inline int
impi_proc_cmp(const struct impi_proc *a, const struct impi_proc *b)
{
	int c = memcmp(a->hostid, b->hostid, 16);
	if (c)
		return c;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* --- packets ----------------------------------------------------------- */

enum impi_pk_type {
	IMPI_PK_DATA = 0,
	IMPI_PK_DATASYNC = 1,
	IMPI_PK_PROTOACK = 2,
	IMPI_PK_SYNCACK = 3,
	IMPI_PK_CANCEL = 4,
	IMPI_PK_CANCELYES = 5,
	IMPI_PK_CANCELNO = 6,
	IMPI_PK_FINI = 7,
};
#define IMPI_PK_TYPES 8

struct impi_packet {
	uint32_t type; /* enum impi_pk_type if impi_packet_check() passed */
	uint32_t len;  /* payload of DATA and DATASYNC; else meaningless (LAM: 128) */
	struct impi_proc src, dest;
	uint64_t srqid, drqid; /* opaque, echoed by the other side */
	uint64_t msglen;       /* DATA, DATASYNC: bytes of the whole message */
	int32_t lsrank;	       /* source's rank in the communicator */
	int32_t tag;
	uint64_t cid;
	uint64_t seqnum; /* this and the rest: hints for tools, do not depend on them */
	int64_t count;
	uint64_t dtype;
	uint64_t reserved;
};

#define IMPI_PACKET_BYTES    128
#define IMPI_PACKET_OFF_SRC  8	/* a relay rewrites src and dest in place: */
#define IMPI_PACKET_OFF_DEST 32 /* 48 bytes from IMPI_PACKET_OFF_SRC on */

static inline void
impi_packet_encode(const struct impi_packet *p, uint8_t out[IMPI_PACKET_BYTES])
{
	be32_store(out, p->type);
	be32_store(out + 4, p->len);
	impi_proc_encode(&p->src, out + IMPI_PACKET_OFF_SRC);
	impi_proc_encode(&p->dest, out + IMPI_PACKET_OFF_DEST);
	be64_store(out + 56, p->srqid);
	be64_store(out + 64, p->drqid);
	be64_store(out + 72, p->msglen);
	be32_store(out + 80, (uint32_t)p->lsrank);
	be32_store(out + 84, (uint32_t)p->tag);
	be64_store(out + 88, p->cid);
	be64_store(out + 96, p->seqnum);
	be64_store(out + 104, (uint64_t)p->count);
	be64_store(out + 112, p->dtype);
	be64_store(out + 120, p->reserved);
}

/* Any 128 bytes decode; ask impi_packet_check() whether they make sense. */
static inline struct impi_packet
impi_packet_decode(const uint8_t in[IMPI_PACKET_BYTES])
{
	return (struct impi_packet){
		.type = be32_load(in),
		.len = be32_load(in + 4),
		.src = impi_proc_decode(in + IMPI_PACKET_OFF_SRC),
		.dest = impi_proc_decode(in + IMPI_PACKET_OFF_DEST),
		.srqid = be64_load(in + 56),
		.drqid = be64_load(in + 64),
		.msglen = be64_load(in + 72),
		.lsrank = (int32_t)be32_load(in + 80),
		.tag = (int32_t)be32_load(in + 84),
		.cid = be64_load(in + 88),
		.seqnum = be64_load(in + 96),
		.count = (int64_t)be64_load(in + 104),
		.dtype = be64_load(in + 112),
		.reserved = be64_load(in + 120),
	};
}

/* Bytes that follow the header on the stream: only DATA and DATASYNC have any,
 * whatever pk_len says (LAM writes 128 into control packets). */
static inline uint32_t
impi_packet_payload_bytes(const struct impi_packet *p)
{
	return p->type == IMPI_PK_DATA || p->type == IMPI_PK_DATASYNC ? p->len : 0;
}

enum impi_packet_fault {
	IMPI_PACKET_OK = 0,
	IMPI_PACKET_BAD_TYPE,	/* then the payload length is unknowable */
	IMPI_PACKET_OVERLONG,	/* payload above datalen */
	IMPI_PACKET_BAD_MSGLEN, /* payload longer than its message */
};
/* May this header stand on a channel whose negotiated DATALEN is datalen? */
enum impi_packet_fault impi_packet_check(const struct impi_packet *p, uint32_t datalen);
const char *impi_packet_fault_name(enum impi_packet_fault fault);
/* "DATA", "SYNCACK", ...; "unknown" for other numbers. */
const char *impi_packet_type_name(uint32_t type);

/* --- addresses in 16-byte containers (IMPI_H_IPV6) ---------------------- */

enum impi_addr_kind {
	IMPI_ADDR_NONE, /* all zero */
	IMPI_ADDR_V4,	/* 80 zero bits, then 0000 (LAM) or ffff (MetaMPICH, ours), then IPv4 */
	IMPI_ADDR_V6,
};

/* What to connect to: V4 sets *ipv4 (host byte order) if ipv4 is not NULL.
 * ::1 counts as IPv6, for 0.0.0.1 is nobody's address. */
enum impi_addr_kind impi_addr_classify(const uint8_t addr[16], uint32_t *ipv4);
/* The mapped form, ::ffff:a.b.c.d.  ipv4 in host byte order. */
void impi_addr_from_ipv4(uint8_t addr[16], uint32_t ipv4);

#endif
