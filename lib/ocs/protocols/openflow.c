/* SPDX-License-Identifier: BSD-2-Clause */
/* openflow.c - the OpenFlow engine: a circuit is a flow entry "in_port i -> output j"; see
 * core.h, openflow.h.
 *
 * We are the controller.  Changes go in runs of flow messages, each run ended by a barrier:
 * errors before its answer name the circuits that were refused, all others are done.
 * An atomic batch is a bundle (1.4).  Entries that are no circuits - more match fields,
 * several outputs - make their ports taken. */
#include "openflow.h"

#include "ocsproto/core.h"

#include <stdio.h>
#include <string.h>

#define RUN_MAX	    64u
#define MESSAGE_MAX 65536u

struct openflow {
	uint8_t version; /* 0: HELLO has not come */
	uint32_t xid;
	uint32_t wait_xid; /* barrier, multipart, commit we wait for */
	uint32_t bundle;
	bool removal;
	uint32_t len;
	uint8_t buf[MESSAGE_MAX];
};

static size_t
of_footprint(const struct ocsproto_config *cfg)
{
	(void)cfg;
	return sizeof(struct openflow);
}

static uint32_t
next_xid(struct openflow *o)
{
	if (++o->xid == 0)
		o->xid = 1;
	return o->xid;
}

static void
send_written(struct core *c, const struct base_writer *w)
{
	ocsproto_core_send(c, w->start, base_writer_len(w));
}

static void
send_simple(struct core *c, enum of_type type, uint32_t xid, const uint8_t *body, size_t len)
{
	struct openflow *o = c->engine;
	uint8_t buf[256];
	struct base_writer w = base_writer(buf, sizeof buf);
	uint8_t *m = ocsproto_of_begin(&w, o->version, type, xid);
	base_write_bytes(&w, body, len < sizeof buf - OF_HEAD ? len : sizeof buf - OF_HEAD);
	ocsproto_of_end(&w, m);
	send_written(c, &w);
}

static void
ask_multipart(struct core *c, enum of_multipart what)
{
	struct openflow *o = c->engine;
	uint8_t buf[64];
	struct base_writer w = base_writer(buf, sizeof buf);
	o->wait_xid = next_xid(o);
	ocsproto_of_multipart(&w, o->version, o->wait_xid, what);
	ocsproto_core_expect(c);
	send_written(c, &w);
}

static void
of_start(struct core *c)
{
	struct openflow *o = c->engine;
	uint8_t buf[32];
	struct base_writer w = base_writer(buf, sizeof buf);
	o->version = 0;
	o->len = 0;
	ocsproto_of_hello(&w, next_xid(o));
	send_written(c, &w);
}

static void
of_read(struct core *c)
{
	ocsproto_core_have_none(c);
	ask_multipart(c, OF_MP_FLOW);
}

static void
of_keepalive(struct core *c)
{
	struct openflow *o = c->engine;
	send_simple(c, OF_ECHO_REQUEST, next_xid(o), NULL, 0);
}

/* ---- changes ---- */

static void
send_run(struct core *c)
{
	struct openflow *o = c->engine;
	struct core_item *it;
	uint32_t n = 0;
	for (uint32_t i = 0; n < RUN_MAX && (it = ocsproto_core_item(c, o->removal, &i)); n++) {
		uint8_t buf[128];
		struct base_writer w = base_writer(buf, sizeof buf);
		it->tag = next_xid(o);
		ocsproto_of_flow_mod(&w, o->version, it->tag,
				     it->removal ? OF_DELETE_STRICT : OF_ADD, c->cfg.cookie,
				     it->in + 1, it->out + 1);
		send_written(c, &w);
	}
	if (n == 0) {
		ocsproto_core_stage_done(c, OCS_ERR_OK, "");
		return;
	}
	o->wait_xid = next_xid(o);
	ocsproto_core_expect(c);
	send_simple(c, OF_BARRIER_REQUEST, o->wait_xid, NULL, 0);
}

static void
of_change(struct core *c, bool removal)
{
	struct openflow *o = c->engine;
	o->removal = removal;
	for (uint32_t i = 0; i < c->nitems; i++)
		c->items[i].tag = 0;
	send_run(c);
}

static void
openflow_barrier(struct core *c)
{
	for (uint32_t i = 0; i < c->nitems; i++)
		if (c->items[i].tag && !c->items[i].decided)
			ocsproto_core_decide(c, &c->items[i], OCS_ERR_OK, "");
	send_run(c);
}

static void
bundle_control(struct core *c, enum of_bundle what)
{
	struct openflow *o = c->engine;
	uint8_t buf[32];
	struct base_writer w = base_writer(buf, sizeof buf);
	ocsproto_of_bundle(&w, o->wait_xid = next_xid(o), o->bundle, what);
	send_written(c, &w);
}

static void
of_swap(struct core *c)
{
	struct openflow *o = c->engine;
	o->bundle++;
	bundle_control(c, OF_OPEN);
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		uint8_t buf[160];
		struct base_writer w = base_writer(buf, sizeof buf);
		if (it->decided)
			continue;
		it->tag = next_xid(o);
		uint8_t *m = ocsproto_of_begin(&w, o->version, OF_BUNDLE_ADD, it->tag);
		base_write_be32(&w, o->bundle);
		base_write_be16(&w, 0);
		base_write_be16(&w, OF_BUNDLE_FLAGS);
		ocsproto_of_flow_mod(&w, o->version, it->tag,
				     it->removal ? OF_DELETE_STRICT : OF_ADD, c->cfg.cookie,
				     it->in + 1, it->out + 1);
		ocsproto_of_end(&w, m);
		send_written(c, &w);
	}
	bundle_control(c, OF_COMMIT);
	ocsproto_core_expect(c);
}

static void
swap_over(struct core *c, int err, const char *text)
{
	struct openflow *o = c->engine;
	o->wait_xid = 0;
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (!err && !it->decided)
			ocsproto_core_decide(c, it, OCS_ERR_OK, "");
		else if (err && (!it->decided || !it->err))
			ocsproto_core_decide(c, it, err, it->text[0] ? it->text : text);
	}
	ocsproto_core_stage_done(c, OCS_ERR_OK, "");
}

/* ---- what the switch says ---- */

static void
error_comes(struct core *c, uint32_t xid, const uint8_t *body, size_t len)
{
	struct openflow *o = c->engine;
	char text[OCS_TEXT_MAX];
	uint16_t type = len >= 4 ? be16_load(body) : 0, code = len >= 4 ? be16_load(body + 2) : 0;
	int err = type == 5 && code == 1 ? OCS_ERR_RETRY : OCS_ERR_REFUSED;
	snprintf(text, sizeof text, "OpenFlow error type %u code %u", type, code);
	if (c->session == CORE_OPENING) {
		ocsproto_core_fail(c, OCS_ERR_PROTOCOL, text);
		return;
	}
	bool changing = c->request == CORE_APPLY && !c->over &&
			(c->stage == CORE_REMOVE || c->stage == CORE_ADD || c->stage == CORE_SWAP);
	for (uint32_t i = 0; changing && i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (it->tag != xid || it->decided)
			continue;
		if (c->stage == CORE_SWAP) /* the commit will say no */
			ocsproto_core_text(it->text, sizeof it->text, text, sizeof text);
		else
			ocsproto_core_decide(c, it, err, text);
		return;
	}
	if (xid != o->wait_xid || !o->wait_xid)
		return;
	o->wait_xid = 0;
	if (changing && c->stage == CORE_SWAP) {
		bundle_control(c, OF_DISCARD);
		swap_over(c, err, "the switch refused the batch");
	} else {
		ocsproto_core_stage_done(c, err, text);
	}
}

static void
flows(struct core *c, const uint8_t *body, size_t len)
{
	struct base_reader r = base_reader(body, len);
	struct of_flow f;
	while (ocsproto_of_flow_next(&r, &f)) {
		bool port = f.out >= 1 && f.out <= OF_PORT_MAX;
		uint32_t in = f.has_in && f.in >= 1 ? f.in - 1 : CORE_OTHER;
		uint32_t out = f.noutputs > 0 && port ? f.out - 1 : CORE_OTHER;
		if (!f.more_match && f.has_in && f.noutputs == 1 && port) {
			ocsproto_core_have(c, in, out, OCS_SHOWN_STEADY);
		} else { /* no circuit; its ports are taken all the same */
			ocsproto_core_have(c, in, CORE_OTHER, OCS_SHOWN_STEADY);
			ocsproto_core_have(c, CORE_OTHER, out, OCS_SHOWN_STEADY);
		}
	}
	if (r.overrun)
		ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "a flow entry that makes no sense");
}

static void
port_seen(struct core *c, uint32_t number)
{
	if (number >= 1 && number <= c->cfg.ports && number > c->id.ingress)
		c->id.ingress = c->id.egress = number;
}

static void
openflow_ports(struct core *c, const uint8_t *body, size_t len)
{
	const struct openflow *o = c->engine;
	struct base_reader r = base_reader(body, len);
	while (base_reader_left(&r) >= 8) {
		uint32_t number = base_read_be32(&r);
		uint32_t bytes = base_read_be16(&r);
		bytes = o->version == OF_13 ? OF_PORT_BYTES : bytes;
		base_read_be16(&r);
		if (bytes < 40 || !base_read_bytes(&r, bytes - 8))
			break;
		port_seen(c, number);
	}
}

static void
description(struct core *c, const uint8_t *body, size_t len)
{
	if (len < 256 * 3)
		return;
	ocsproto_core_text(c->id.vendor, sizeof c->id.vendor, (const char *)body, 256);
	ocsproto_core_text(c->id.model, sizeof c->id.model, (const char *)body + 256, 256);
	ocsproto_core_text(c->id.version, sizeof c->id.version, (const char *)body + 512, 256);
}

static void
multipart_comes(struct core *c, uint32_t xid, const uint8_t *body, size_t len)
{
	const struct openflow *o = c->engine;
	if (len < 8 || xid != o->wait_xid)
		return;
	uint16_t what = be16_load(body);
	bool more = be16_load(body + 2) & 1;
	body += 8;
	len -= 8;
	if (what == OF_MP_FLOW && c->session == CORE_UP)
		flows(c, body, len);
	else if (what == OF_MP_PORTS)
		openflow_ports(c, body, len);
	else if (what == OF_MP_DESC)
		description(c, body, len);
	if (more)
		ocsproto_core_expect(c);
	else if (c->session == CORE_UP)
		ocsproto_core_stage_done(c, OCS_ERR_OK, "");
	else if (c->session == CORE_OPENING && what == OF_MP_PORTS)
		ask_multipart(c, OF_MP_DESC);
	else if (c->session == CORE_OPENING && what == OF_MP_DESC)
		ocsproto_core_up(c);
}

static void
hello_comes(struct core *c, uint8_t version, const uint8_t *body, size_t len)
{
	struct openflow *o = c->engine;
	uint8_t chosen = ocsproto_of_hello_version(version, body, len);
	if (o->version)
		return;
	if (!chosen) {
		ocsproto_core_fail(c, OCS_ERR_PROTOCOL,
				   "the switch has neither OpenFlow 1.3 nor 1.4");
		return;
	}
	o->version = chosen;
	ocsproto_core_expect(c);
	send_simple(c, OF_FEATURES_REQUEST, o->wait_xid = next_xid(o), NULL, 0);
}

static void
port_status(struct core *c, const uint8_t *body, size_t len)
{
	if (len < 8 + 40)
		return;
	const uint8_t *p = body + 8;
	uint32_t number = be32_load(p);
	bool gone = body[0] == 1, down = (be32_load(p + 32) | be32_load(p + 36)) & 1;
	port_seen(c, number);
	if (number >= 1 && number <= c->id.ingress)
		ocsproto_core_alarm(c, true, number - 1, gone || down ? OCS_ERR_DARK : OCS_ERR_OK,
				    gone   ? "port removed"
				    : down ? "port down"
					   : "port up");
}

static void
message(struct core *c, const uint8_t *m, size_t len)
{
	struct openflow *o = c->engine;
	const uint8_t *body = m + OF_HEAD;
	uint32_t xid = be32_load(m + 4);
	len -= OF_HEAD;
	if (m[1] == OF_HELLO)
		hello_comes(c, m[0], body, len);
	if (!o->version || m[1] == OF_HELLO) {
		if (m[1] == OF_ERROR)
			error_comes(c, xid, body, len);
		return;
	}
	switch (m[1]) {
	case OF_ERROR:
		error_comes(c, xid, body, len);
		break;
	case OF_ECHO_REQUEST:
		send_simple(c, OF_ECHO_REPLY, xid, body, len);
		break;
	case OF_ECHO_REPLY:
		if (c->request == CORE_IDLE || c->over)
			ocsproto_core_settled(c);
		break;
	case OF_FEATURES_REPLY:
		if (c->session == CORE_OPENING && xid == o->wait_xid)
			ask_multipart(c, OF_MP_PORTS);
		break;
	case OF_MULTIPART_REPLY:
		multipart_comes(c, xid, body, len);
		break;
	case OF_BARRIER_REPLY:
		if (xid == o->wait_xid && c->request == CORE_APPLY && !c->over)
			openflow_barrier(c);
		break;
	case OF_BUNDLE_CONTROL:
		if (xid == o->wait_xid && len >= 6 && be16_load(body + 4) == OF_COMMITTED &&
		    c->stage == CORE_SWAP)
			swap_over(c, OCS_ERR_OK, "");
		break;
	case OF_PORT_STATUS:
		port_status(c, body, len);
		break;
	case OF_FLOW_REMOVED:
		/* Ours, and nobody here has asked for it. */
		if (len >= 8 && be64_load(body) == c->cfg.cookie &&
		    (c->request != CORE_APPLY || c->over))
			ocsproto_core_changed(c);
		break;
	default:
		break;
	}
}

static void
of_bytes(struct core *c, const uint8_t *p, size_t len)
{
	struct openflow *o = c->engine;
	while (len > 0 && c->session != CORE_BROKEN) {
		uint32_t want = o->len < OF_HEAD ? OF_HEAD : be16_load(o->buf + 2);
		size_t n = want - o->len < len ? want - o->len : len;
		memcpy(o->buf + o->len, p, n);
		o->len += (uint32_t)n;
		p += n;
		len -= n;
		if (o->len < OF_HEAD)
			continue;
		want = be16_load(o->buf + 2);
		if (want < OF_HEAD) {
			ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "a message shorter than its head");
		} else if (o->len == want) {
			o->len = 0;
			message(c, o->buf, want);
			if (o->version != OF_13 || c->session == CORE_BROKEN)
				continue;
			c->id.caps &= ~(uint32_t)OCS_CAP_ATOMIC_BATCH; /* bundles came with 1.4 */
		}
	}
}

const struct core_ops ocsproto_openflow = {
	.name = "openflow",
	.tcp_port = 6653,
	.caps = OCS_CAP_ATOMIC_BATCH | OCS_CAP_IMPLICIT_DISPLACE,
	.footprint = of_footprint,
	.start = of_start,
	.rx = of_bytes,
	.read = of_read,
	.change = of_change,
	.swap = of_swap,
	.keepalive = of_keepalive,
};
