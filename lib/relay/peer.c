/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay/peer.h"

#include "base/bytes.h"

static int
decode_body(struct relay_peer_frame *f, struct base_reader *r)
{
	switch (f->type) {
	case RELAY_PEER_JOB:
		f->body_len = base_reader_left(r);
		f->body = base_read_bytes(r, f->body_len);
		return RELAY_ERR_OK;
	case RELAY_PEER_PING:
	case RELAY_PEER_PONG:
	case RELAY_PEER_GIVE:
		break;
	case RELAY_PEER_WAYS:
		f->job = base_read_be32(r);
		f->ways = base_read_be32(r);
		break;
	case RELAY_PEER_OK:
		f->job = base_read_be32(r);
		break;
	case RELAY_PEER_REFUSE:
	case RELAY_PEER_END: {
		f->job = base_read_be32(r);
		size_t len = base_read_be16(r);
		const uint8_t *text = base_read_bytes(r, len);
		if (text)
			relay_text_copy(f->text, text, len);
		break;
	}
	default:
		return RELAY_ERR_MALFORMED;
	}
	return base_reader_ok(r) && base_reader_left(r) == 0 ? RELAY_ERR_OK : RELAY_ERR_MALFORMED;
}

long
relay_peer_decode(const void *in, size_t len, struct relay_peer_frame *f, size_t *need)
{
	if (need)
		*need = 0;
	if (len < 4)
		return RELAY_ERR_SHORT;
	uint32_t rest = be32_load(in);
	if (rest < 1 || rest > RELAY_PEER_FRAME_MAX)
		return RELAY_ERR_MALFORMED;
	if (need)
		*need = 4 + (size_t)rest;
	if (len - 4 < rest)
		return RELAY_ERR_SHORT;
	struct base_reader r = base_reader((const uint8_t *)in + 4, rest);
	*f = (struct relay_peer_frame){.type = base_read_u8(&r)};
	int err = decode_body(f, &r);
	return err ? err : 4 + (long)rest;
}

size_t
relay_peer_encode(const struct relay_peer_frame *f, uint8_t out[RELAY_PEER_SMALL_MAX])
{
	struct base_writer w = base_writer(out, RELAY_PEER_SMALL_MAX);
	base_write_be32(&w, 0);
	base_write_u8(&w, f->type);
	if (f->type == RELAY_PEER_OK || f->type == RELAY_PEER_REFUSE || f->type == RELAY_PEER_END ||
	    f->type == RELAY_PEER_WAYS)
		base_write_be32(&w, f->job);
	if (f->type == RELAY_PEER_WAYS)
		base_write_be32(&w, f->ways);
	if (f->type == RELAY_PEER_REFUSE || f->type == RELAY_PEER_END) {
		size_t len = strnlen(f->text, RELAY_WHY_MAX - 1);
		base_write_be16(&w, (uint16_t)len);
		base_write_bytes(&w, f->text, len);
	}
	be32_store(out, (uint32_t)base_writer_len(&w) - 4);
	return base_writer_len(&w);
}

size_t
relay_peer_job_len(const struct relay_job *job)
{
	return RELAY_PEER_HEAD + relay_job_encoded_len(job);
}

size_t
relay_peer_encode_job(const struct relay_job *job, void *out, size_t room)
{
	size_t len = relay_peer_job_len(job);
	if (room < len || len - 4 > RELAY_PEER_FRAME_MAX)
		return 0;
	be32_store(out, (uint32_t)len - 4);
	((uint8_t *)out)[4] = RELAY_PEER_JOB;
	return relay_job_encode(job, (uint8_t *)out + RELAY_PEER_HEAD, room - RELAY_PEER_HEAD) ? len
											       : 0;
}
