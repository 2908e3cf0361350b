/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between the daemons of a cluster, big-endian:
 *
 *   u8 version, u8 type, u16 0, u32 cluster, then
 *   BEAT    u32 incarnation, u32 n, u64 sent, u64 view, u64 term, u32 0,
 *	     n of {u8 kind, u8 why, u16 0, u32 a, u32 b}
 *   ACK     u64 echo, u64 term, u64 view, u32 n, n of {u32 length, change}
 *   VIEW    u64 term, view as bytes
 *   HINT    u64 term, u32 master
 *
 * Frames of lib/quorum go between voters as they are; their first byte is another. */
#include "internal.h"

#define REPORTS_MAX 32768u

static bool
parse_beat(struct sp_frame *f, struct base_reader *r)
{
	f->incarnation = base_read_be32(r);
	f->nreports = base_read_be32(r);
	f->sent_ns = base_read_be64(r);
	f->view = base_read_be64(r);
	f->term = base_read_be64(r);
	uint32_t zero = base_read_be32(r);
	if (!base_reader_ok(r) || zero || f->incarnation == 0 || f->nreports > REPORTS_MAX ||
	    base_reader_left(r) != SP_REPORT_BYTES * (size_t)f->nreports)
		return false;
	f->reports = r->at;
	for (uint32_t i = 0; i < f->nreports; i++) {
		struct sp_report p = sp_frame_report(f, i);
		bool numbered = p.kind == SP_REPORT_FACT || p.kind == SP_REPORT_CLAIM ||
				p.kind == SP_REPORT_ROLES;
		if (p.kind < SP_REPORT_DEAD || p.kind > SP_REPORT_LAST ||
		    (p.why >= SP_WHY_COUNT && !numbered) ||
		    (p.kind == SP_REPORT_READY && p.b >= SP_POOLS_MAX))
			return false;
	}
	return true;
}

static bool
parse_ack(struct sp_frame *f, struct base_reader *r)
{
	f->echo_ns = base_read_be64(r);
	f->term = base_read_be64(r);
	f->view = base_read_be64(r);
	f->nchanges = base_read_be32(r);
	f->body = r->at;
	f->body_len = base_reader_left(r);
	if (!base_reader_ok(r) || f->nchanges > SP_CHANGES_KEPT)
		return false;
	for (uint32_t i = 0; i < f->nchanges; i++)
		base_read_bytes(r, base_read_be32(r));
	return base_reader_ok(r) && base_reader_left(r) == 0;
}

bool
sp_frame_parse(struct sp_frame *f, const void *frame, size_t len)
{
	struct base_reader r = base_reader(frame, len);

	*f = (struct sp_frame){0};
	uint8_t version = base_read_u8(&r);
	f->type = (enum sp_frame_type)base_read_u8(&r);
	uint16_t zero = base_read_be16(&r);
	f->cluster = base_read_be32(&r);
	if (!base_reader_ok(&r) || version != SP_FRAME_VERSION || zero)
		return false;
	switch (f->type) {
	case SP_FRAME_BEAT:
		return parse_beat(f, &r);
	case SP_FRAME_ACK:
		return parse_ack(f, &r);
	case SP_FRAME_VIEW:
		f->term = base_read_be64(&r);
		break;
	case SP_FRAME_HINT:
		f->term = base_read_be64(&r);
		f->master = base_read_be32(&r);
		return base_reader_ok(&r) && base_reader_left(&r) == 0;
	default:
		return false;
	}
	f->body = r.at;
	f->body_len = base_reader_left(&r);
	return base_reader_ok(&r);
}

bool
sp_frame_read(const void *frame, size_t len)
{
	struct sp_frame f;

	return sp_frame_parse(&f, frame, len);
}

static const struct {
	uint8_t op, report;
} asked[] = {{SP_OP_POOL, SP_REPORT_POOL},
	     {SP_OP_FACT, SP_REPORT_FACT},
	     {SP_OP_CLAIM, SP_REPORT_CLAIM},
	     {SP_OP_ROLES, SP_REPORT_ROLES}};

uint8_t
sp_report_of_op(unsigned op)
{
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		if (asked[i].op == op)
			return asked[i].report;
	return 0;
}

uint8_t
sp_op_of_report(unsigned report)
{
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		if (asked[i].report == report)
			return asked[i].op;
	return 0;
}

struct sp_report
sp_frame_report(const struct sp_frame *f, uint32_t i)
{
	const uint8_t *p = f->reports + (size_t)i * SP_REPORT_BYTES;

	return (struct sp_report){
		.kind = p[0], .why = p[1], .a = be32_load(p + 4), .b = be32_load(p + 8)};
}

void
sp_frame_begin(struct base_writer *w, const struct sp_frame *f)
{
	base_write_u8(w, SP_FRAME_VERSION);
	base_write_u8(w, (uint8_t)f->type);
	base_write_be16(w, 0);
	base_write_be32(w, f->cluster);
	switch (f->type) {
	case SP_FRAME_BEAT:
		base_write_be32(w, f->incarnation);
		base_write_be32(w, f->nreports);
		base_write_be64(w, f->sent_ns);
		base_write_be64(w, f->view);
		base_write_be64(w, f->term);
		base_write_be32(w, 0);
		break;
	case SP_FRAME_ACK:
		base_write_be64(w, f->echo_ns);
		base_write_be64(w, f->term);
		base_write_be64(w, f->view);
		base_write_be32(w, f->nchanges);
		break;
	case SP_FRAME_VIEW:
		base_write_be64(w, f->term);
		break;
	case SP_FRAME_HINT:
		base_write_be64(w, f->term);
		base_write_be32(w, f->master);
		break;
	default:
		break;
	}
}
