/* SPDX-License-Identifier: BSD-2-Clause */
/* openflow_wire.c - see openflow.h. */
#include "openflow.h"

#define OXM_BASIC   0x8000u
#define OXM_IN_PORT 0u
#define WRITE	    3u
#define APPLY	    4u

uint8_t *
ocsproto_of_begin(struct base_writer *w, uint8_t version, enum of_type type, uint32_t xid)
{
	uint8_t *start = w->at;
	base_write_u8(w, version);
	base_write_u8(w, (uint8_t)type);
	base_write_be16(w, OF_HEAD);
	base_write_be32(w, xid);
	return start;
}

void
ocsproto_of_end(struct base_writer *w, uint8_t *start)
{
	if (base_writer_ok(w))
		be16_store(start + 2, (uint16_t)(w->at - start));
}

void
ocsproto_of_hello(struct base_writer *w, uint32_t xid)
{
	uint8_t *m = ocsproto_of_begin(w, OF_14, OF_HELLO, xid);
	base_write_be16(w, 1); /* versions, as bits */
	base_write_be16(w, 8);
	base_write_be32(w, 1u << OF_13 | 1u << OF_14);
	ocsproto_of_end(w, m);
}

void
ocsproto_of_multipart(struct base_writer *w, uint8_t version, uint32_t xid, enum of_multipart what)
{
	uint8_t *m = ocsproto_of_begin(w, version, OF_MULTIPART_REQUEST, xid);
	base_write_be16(w, (uint16_t)what);
	base_write_be16(w, 0);
	base_write_be32(w, 0);
	if (what == OF_MP_FLOW) {
		base_write_u8(w, 0xff); /* all tables */
		base_write_u8(w, 0);
		base_write_be16(w, 0);
		base_write_be32(w, OF_PORT_ANY);
		base_write_be32(w, OF_GROUP_ANY);
		base_write_be32(w, 0);
		base_write_be64(w, 0);
		base_write_be64(w, 0);
		base_write_be16(w, 1); /* everything matches */
		base_write_be16(w, 4);
		base_write_be32(w, 0);
	}
	ocsproto_of_end(w, m);
}

void
ocsproto_of_flow_mod(struct base_writer *w, uint8_t version, uint32_t xid, enum of_command command,
		     uint64_t cookie, uint32_t in, uint32_t out)
{
	uint8_t *m = ocsproto_of_begin(w, version, OF_FLOW_MOD, xid);
	base_write_be64(w, cookie);
	base_write_be64(w, 0);
	base_write_u8(w, 0); /* table */
	base_write_u8(w, (uint8_t)command);
	base_write_be32(w, 0); /* no timeouts */
	base_write_be16(w, OF_PRIORITY);
	base_write_be32(w, OF_NO_BUFFER);
	/* Deletes only what goes to this port. */
	base_write_be32(w, command == OF_ADD ? OF_PORT_ANY : out);
	base_write_be32(w, OF_GROUP_ANY);
	base_write_be16(w, command == OF_ADD ? OF_SEND_REMOVED : 0);
	base_write_be16(w, 0);
	base_write_be16(w, 1);
	base_write_be16(w, 12);
	base_write_be16(w, OXM_BASIC);
	base_write_u8(w, OXM_IN_PORT << 1);
	base_write_u8(w, 4);
	base_write_be32(w, in);
	base_write_be32(w, 0); /* to a multiple of 8 */
	if (command == OF_ADD) {
		base_write_be16(w, APPLY);
		base_write_be16(w, 24);
		base_write_be32(w, 0);
		base_write_be16(w, 0); /* output */
		base_write_be16(w, 16);
		base_write_be32(w, out);
		base_write_be16(w, 0xffff);
		base_write_be32(w, 0);
		base_write_be16(w, 0);
	}
	ocsproto_of_end(w, m);
}

void
ocsproto_of_bundle(struct base_writer *w, uint32_t xid, uint32_t bundle, enum of_bundle what)
{
	uint8_t *m = ocsproto_of_begin(w, OF_14, OF_BUNDLE_CONTROL, xid);
	base_write_be32(w, bundle);
	base_write_be16(w, (uint16_t)what);
	base_write_be16(w, OF_BUNDLE_FLAGS);
	ocsproto_of_end(w, m);
}

uint8_t
ocsproto_of_hello_version(uint8_t version, const uint8_t *body, size_t len)
{
	struct base_reader r = base_reader(body, len);
	while (base_reader_left(&r) >= 4) {
		uint16_t type = base_read_be16(&r), bytes = base_read_be16(&r);
		if (bytes < 4)
			break;
		const uint8_t *e = base_read_bytes(&r, bytes - 4u);
		if (type == 1 && e && bytes >= 8) {
			uint32_t bits = be32_load(e);
			return bits & 1u << OF_14 ? OF_14 : bits & 1u << OF_13 ? OF_13 : 0;
		}
		size_t pad = (8u - bytes % 8u) % 8u;
		if (base_reader_left(&r) < pad)
			break;
		base_read_bytes(&r, pad);
	}
	return version >= OF_14 ? OF_14 : version == OF_13 ? OF_13 : 0;
}

/* Match fields: type and length have been read. */
static void
match_fields(struct base_reader *r, struct of_flow *f)
{
	while (base_reader_ok(r) && base_reader_left(r) > 0) {
		uint16_t class = base_read_be16(r);
		uint8_t field = base_read_u8(r), len = base_read_u8(r);
		const uint8_t *v = base_read_bytes(r, len);
		if (v && class == OXM_BASIC && field == OXM_IN_PORT << 1 && len == 4) {
			f->has_in = true;
			f->in = be32_load(v);
		} else {
			f->more_match = true;
		}
	}
}

static void
actions(struct base_reader *r, struct of_flow *f)
{
	base_read_be32(r);
	while (base_reader_ok(r) && base_reader_left(r) > 0) {
		uint16_t type = base_read_be16(r), len = base_read_be16(r);
		const uint8_t *a = len >= 8 ? base_read_bytes(r, len - 4u) : NULL;
		if (!a)
			r->overrun = true;
		else if (type == 0) {
			f->noutputs++;
			f->out = be32_load(a);
		}
	}
}

bool
ocsproto_of_flow_next(struct base_reader *r, struct of_flow *f)
{
	*f = (struct of_flow){0};
	if (base_reader_left(r) == 0)
		return false;
	uint16_t len = base_read_be16(r);
	const uint8_t *p = len >= 56 ? base_read_bytes(r, len - 2u) : NULL;
	if (!p) {
		r->overrun = true;
		return false;
	}
	struct base_reader e = base_reader(p, len - 2u);
	base_read_bytes(&e, 10); /* table, age */
	f->priority = base_read_be16(&e);
	base_read_bytes(&e, 10);
	f->cookie = base_read_be64(&e);
	base_read_bytes(&e, 16);
	base_read_be16(&e);
	uint16_t match = base_read_be16(&e);
	const uint8_t *m = match >= 4 ? base_read_bytes(&e, (match + 7u) / 8 * 8 - 4) : NULL;
	if (m) {
		struct base_reader fields = base_reader(m, match - 4u);
		match_fields(&fields, f);
		e.overrun = e.overrun || fields.overrun;
	}
	while (m && base_reader_ok(&e) && base_reader_left(&e) > 0) {
		uint16_t type = base_read_be16(&e), bytes = base_read_be16(&e);
		const uint8_t *i = bytes >= 8 ? base_read_bytes(&e, bytes - 4u) : NULL;
		struct base_reader in = base_reader(i, i ? bytes - 4u : 0);
		if (!i)
			e.overrun = true;
		else if (type == WRITE || type == APPLY)
			actions(&in, f);
		e.overrun = e.overrun || in.overrun;
	}
	r->overrun = r->overrun || !m || e.overrun;
	return !r->overrun;
}
