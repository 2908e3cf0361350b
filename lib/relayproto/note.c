/* SPDX-License-Identifier: BSD-2-Clause */
#include "relayproto/note.h"

#include "base/bytes.h"

#include <string.h>

/* What follows the type; ABORT and LEAVE may have a token behind it. */
static void
encode_body(const struct relay_note *n, struct base_writer *w)
{
	base_write_be32(w, n->label_base);
	switch ((enum relay_note_type)n->type) {
	case RELAY_NOTE_ABORT: {
		size_t len = strnlen(n->text, RELAY_WHY_MAX - 1);
		base_write_be16(w, (uint16_t)len);
		base_write_bytes(w, n->text, len);
		break;
	}
	case RELAY_NOTE_WAYS:
		base_write_be32(w, n->token);
		base_write_be32(w, n->ways);
		base_write_be32(w, n->resend);
		base_write_be32(w, n->lit);
		return;
	case RELAY_NOTE_DEATH:
		base_write_be32(w, n->token);
		base_write_be32(w, n->first);
		base_write_be32(w, n->count);
		return;
	case RELAY_NOTE_REST:
		base_write_be32(w, n->token);
		base_write_be32(w, n->say);
		base_write_be32(w, n->number);
		return;
	case RELAY_NOTE_LOST:
		base_write_be32(w, n->ipv4);
		base_write_be16(w, n->port);
		base_write_u8(w, n->lost);
		return;
	case RELAY_NOTE_LEAVE:
	case RELAY_NOTE_PING:
	case RELAY_NOTE_RELAYS:
	case RELAY_NOTE_LIGHT:
		break;
	}
	if (n->token)
		base_write_be32(w, n->token);
}

size_t
relay_note_encode(const struct relay_note *n, uint8_t out[RELAY_NOTE_MAX])
{
	struct base_writer w = base_writer(out, RELAY_NOTE_MAX);
	base_write_u8(&w, n->type);
	if (n->type != RELAY_NOTE_PING)
		encode_body(n, &w);
	return base_writer_len(&w);
}

int
relay_note_decode(const void *in, size_t len, struct relay_note *out)
{
	struct base_reader r = base_reader(in, len);
	struct relay_note n = {.type = base_read_u8(&r)};
	const uint8_t *text = NULL;
	size_t text_len = 0;
	if (n.type != RELAY_NOTE_PING)
		n.label_base = base_read_be32(&r);
	switch ((enum relay_note_type)n.type) {
	case RELAY_NOTE_ABORT:
		text_len = base_read_be16(&r);
		text = base_read_bytes(&r, text_len);
		break;
	case RELAY_NOTE_WAYS:
		n.token = base_read_be32(&r);
		n.ways = base_read_be32(&r);
		n.resend = base_read_be32(&r);
		if (base_reader_ok(&r) && base_reader_left(&r) >= 4) /* older ones say nothing */
			n.lit = base_read_be32(&r);
		break;
	case RELAY_NOTE_DEATH:
		n.token = base_read_be32(&r);
		n.first = base_read_be32(&r);
		n.count = base_read_be32(&r);
		if (n.count > UINT32_MAX - n.first)
			return RELAYPROTO_ERR_MALFORMED;
		break;
	case RELAY_NOTE_REST:
		n.token = base_read_be32(&r);
		n.say = base_read_be32(&r);
		n.number = base_read_be32(&r);
		break;
	case RELAY_NOTE_LOST:
		n.ipv4 = base_read_be32(&r);
		n.port = base_read_be16(&r);
		n.lost = base_read_u8(&r) != 0;
		break;
	case RELAY_NOTE_LEAVE:
	case RELAY_NOTE_PING:
	case RELAY_NOTE_RELAYS:
	case RELAY_NOTE_LIGHT:
		break;
	default:
		return RELAYPROTO_ERR_MALFORMED;
	}
	/* From a relay: the job's token.  Older ones and processes send none. */
	if ((n.type == RELAY_NOTE_ABORT || n.type == RELAY_NOTE_LEAVE) && base_reader_ok(&r) &&
	    base_reader_left(&r) >= 4)
		n.token = base_read_be32(&r);
	if (!base_reader_ok(&r))
		return RELAYPROTO_ERR_MALFORMED;
	relay_text_copy(n.text, text, text_len);
	*out = n;
	return RELAYPROTO_ERR_OK;
}

size_t
relay_list_encode(const struct relay_list *l, uint8_t out[RELAY_LIST_MAX])
{
	struct base_writer w = base_writer(out, RELAY_LIST_MAX);
	base_write_u8(&w, RELAY_NOTE_RELAYS);
	base_write_be32(&w, l->label_base);
	base_write_be32(&w, l->token);
	base_write_u8(&w, l->client);
	base_write_u8(&w, l->self);
	base_write_u8(&w, l->own);
	base_write_u8(&w, l->n);
	base_write_be16(&w, l->partition_s);
	for (uint32_t i = 0; i < l->n; i++) {
		base_write_be32(&w, l->relay[i].ipv4);
		base_write_be16(&w, l->relay[i].port);
		base_write_u8(&w, l->relay[i].weight);
		base_write_u8(&w, l->relay[i].flags);
	}
	base_write_u8(&w, l->npolicies);
	for (uint32_t i = 0; i < l->npolicies; i++) {
		base_write_u8(&w, l->policy[i].client);
		base_write_u8(&w, l->policy[i].policy);
	}
	if (l->places)
		base_write_u8(&w, RELAY_LIST_PLACES);
	for (uint32_t i = 0; l->places && i < l->n; i++)
		base_write_bytes(&w, l->place[i], sizeof l->place[i]);
	return base_writer_len(&w);
}

int
relay_list_decode(const void *in, size_t len, struct relay_list *out)
{
	struct base_reader r = base_reader(in, len);
	struct relay_list l = {0};
	if (base_read_u8(&r) != RELAY_NOTE_RELAYS)
		return RELAYPROTO_ERR_MALFORMED;
	l.label_base = base_read_be32(&r);
	l.token = base_read_be32(&r);
	l.client = base_read_u8(&r);
	l.self = base_read_u8(&r);
	l.own = base_read_u8(&r);
	l.n = base_read_u8(&r);
	l.partition_s = base_read_be16(&r);
	if (!base_reader_ok(&r) || l.n > RELAY_GROUP_MAX || l.self >= l.n ||
	    (l.own >= l.n && l.own != RELAY_LIST_NONE) || l.client >= RELAY_LIST_POLICIES)
		return RELAYPROTO_ERR_MALFORMED;
	for (uint32_t i = 0; i < l.n; i++) {
		l.relay[i].ipv4 = base_read_be32(&r);
		l.relay[i].port = base_read_be16(&r);
		l.relay[i].weight = base_read_u8(&r);
		l.relay[i].flags = base_read_u8(&r);
		if (l.relay[i].weight > RELAY_WEIGHT_MAX)
			l.relay[i].weight = RELAY_WEIGHT_MAX;
	}
	uint32_t policies = base_read_u8(&r);
	if (!base_reader_ok(&r) || policies > RELAY_LIST_POLICIES)
		return RELAYPROTO_ERR_MALFORMED;
	for (uint32_t i = 0; i < policies; i++) {
		uint8_t client = base_read_u8(&r), policy = base_read_u8(&r);
		if (client >= RELAY_LIST_POLICIES)
			continue;
		l.policy[l.npolicies].client = client;
		l.policy[l.npolicies++].policy =
			policy > RELAY_POLICY_STRIPE ? RELAY_POLICY_DEST : policy;
	}
	l.places =
		base_reader_ok(&r) && base_reader_left(&r) && base_read_u8(&r) == RELAY_LIST_PLACES;
	for (uint32_t i = 0; l.places && i < l.n; i++) {
		const uint8_t *place = base_read_bytes(&r, sizeof l.place[i]);
		if (place)
			memcpy(l.place[i], place, sizeof l.place[i]);
	}
	if (!base_reader_ok(&r))
		return RELAYPROTO_ERR_MALFORMED;
	*out = l;
	return RELAYPROTO_ERR_OK;
}
