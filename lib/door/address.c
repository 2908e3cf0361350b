/* SPDX-License-Identifier: BSD-2-Clause */
#include "door/address.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/prefix.h"
#include "base/siphash.h"

#include <stdbool.h>
#include <string.h>

#define CRC_LEN		 4u
#define DOOR_NEAR_RELAYS 2u

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const char *
door_strerror(int err)
{
	switch ((enum door_err)err) {
#define X(n, v, t)         \
	case DOOR_ERR_##n: \
		return t;
		DOOR_ERRORS(X)
#undef X
	}
	return "unknown error";
}

static bool
place_is_six(const struct door_address *a)
{
	static const uint8_t none[16];
	return memcmp(a->six, none, sizeof none) != 0;
}

void
door_address_place(const struct door_address *a, uint8_t ip[16])
{
	if (place_is_six(a))
		memcpy(ip, a->six, sizeof a->six);
	else
		base_prefix_v4(a->relay[0].ipv4, ip);
}

void
door_address_put_place(struct door_address *a, const uint8_t ip[16], uint16_t port)
{
	uint32_t ipv4 = be32_load(ip + 12);
	uint8_t mapped[16];
	base_prefix_v4(ipv4, mapped);
	bool six = memcmp(ip, mapped, sizeof mapped) != 0;
	a->flags = DOOR_FLAG_PROCESS;
	a->nrelays = 1;
	a->relay[0] = (struct door_relay){six ? 0 : ipv4, port};
	memset(a->six, 0, sizeof a->six);
	if (six)
		memcpy(a->six, ip, sizeof a->six);
}

bool
door_address_put_near(struct door_address *a, uint32_t ipv4, uint16_t port)
{
	if (a->nrelays > DOOR_NEAR_RELAYS || a->flags & DOOR_FLAG_PROCESS)
		return false;
	a->near = (struct door_relay){ipv4, port};
	return true;
}

bool
door_address_same(const struct door_address *a, const struct door_address *b)
{
	bool same = a->realm == b->realm && a->token == b->token && a->cluster == b->cluster &&
		    a->label == b->label && a->n == b->n && a->flags == b->flags &&
		    a->nrelays == b->nrelays && memcmp(a->six, b->six, sizeof a->six) == 0;

	for (uint32_t i = 0; i < a->nrelays && same; i++)
		same = a->relay[i].ipv4 == b->relay[i].ipv4 && a->relay[i].port == b->relay[i].port;
	return same;
}

/* A place that others reach, and that is none of IPv4 in another form. */
static bool
place_is_right(const struct door_address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *ip = a->six;
	return a->flags == DOOR_FLAG_PROCESS && a->nrelays == 1 && !a->relay[0].ipv4 &&
	       a->relay[0].port && ip[0] != 0xff && (ip[0] != 0xfe || (ip[1] & 0xc0) != 0x80) &&
	       memcmp(ip, mapped, sizeof mapped) != 0;
}

static bool
check_fields(const struct door_address *a)
{
	if (a->n == 0 || a->label == 0 || a->label > DOOR_LABELS_END - a->n || a->nrelays == 0 ||
	    a->nrelays > DOOR_RELAYS_MAX || a->flags & ~DOOR_FLAG_PROCESS ||
	    (a->flags & DOOR_FLAG_PROCESS && a->nrelays != 1))
		return false;
	if (!a->near.ipv4 != !a->near.port ||
	    (a->near.port && (a->flags || a->nrelays > DOOR_NEAR_RELAYS)))
		return false;
	if (place_is_six(a))
		return place_is_right(a);
	for (uint32_t i = 0; i < a->nrelays; i++) {
		if (!a->relay[i].ipv4 || !a->relay[i].port)
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (a->relay[k].ipv4 == a->relay[i].ipv4 &&
			    a->relay[k].port == a->relay[i].port)
				return false;
	}
	return true;
}

size_t
door_address_encode(const struct door_address *a, uint8_t out[DOOR_ADDRESS_MAX])
{
	struct base_writer w = base_writer(out, DOOR_ADDRESS_MAX);
	if (!check_fields(a))
		return 0;
	bool six = place_is_six(a), near = a->near.port != 0;
	uint32_t version = near ? DOOR_VERSION_NEAR : six ? DOOR_VERSION_SIX : DOOR_VERSION;
	base_write_u8(&w, (uint8_t)(version << 4 | a->nrelays));
	base_write_u8(&w, a->flags);
	base_write_be16(&w, a->n);
	base_write_be32(&w, a->cluster);
	base_write_be64(&w, a->realm);
	base_write_be32(&w, a->label);
	base_write_be64(&w, a->token);
	for (uint32_t i = 0; i < a->nrelays; i++) {
		if (six)
			base_write_bytes(&w, a->six, sizeof a->six);
		else
			base_write_be32(&w, a->relay[i].ipv4);
		base_write_be16(&w, a->relay[i].port);
	}
	if (near) {
		base_write_be32(&w, a->near.ipv4);
		base_write_be16(&w, a->near.port);
	}
	base_write_be32(&w, base_crc32c(0, out, base_writer_len(&w)));
	return base_writer_len(&w);
}

int
door_address_decode(const void *in, size_t len, struct door_address *out)
{
	struct base_reader r = base_reader(in, len);
	struct door_address a = {0};
	uint8_t head = base_read_u8(&r);
	bool six = head >> 4 == DOOR_VERSION_SIX, near = head >> 4 == DOOR_VERSION_NEAR;
	if (len && !six && !near && head >> 4 != DOOR_VERSION)
		return DOOR_ERR_VERSION;
	a.nrelays = head & 15;
	a.flags = base_read_u8(&r);
	a.n = base_read_be16(&r);
	a.cluster = base_read_be32(&r);
	a.realm = base_read_be64(&r);
	a.label = base_read_be32(&r);
	a.token = base_read_be64(&r);
	if (base_reader_ok(&r) && (a.nrelays == 0 || a.nrelays > (six ? 1u : DOOR_RELAYS_MAX)))
		return DOOR_ERR_FIELD;
	for (uint32_t i = 0; i < a.nrelays && base_reader_ok(&r); i++) {
		const uint8_t *ip = six ? base_read_bytes(&r, sizeof a.six) : NULL;
		if (ip)
			memcpy(a.six, ip, sizeof a.six);
		else
			a.relay[i].ipv4 = base_read_be32(&r);
		a.relay[i].port = base_read_be16(&r);
	}
	if (near) {
		a.near.ipv4 = base_read_be32(&r);
		a.near.port = base_read_be16(&r);
	}
	uint32_t crc = base_read_be32(&r);
	if (!base_reader_ok(&r))
		return DOOR_ERR_SHORT;
	if (base_reader_left(&r))
		return DOOR_ERR_LONG;
	if (crc != base_crc32c(0, in, len - CRC_LEN))
		return DOOR_ERR_DAMAGED;
	if (!check_fields(&a) || near != (a.near.port != 0))
		return DOOR_ERR_FIELD;
	*out = a;
	return DOOR_ERR_OK;
}

int
door_address_print(const struct door_address *a, char out[DOOR_TEXT_MAX])
{
	uint8_t bytes[DOOR_ADDRESS_MAX];
	size_t len = door_address_encode(a, bytes);
	char *to = out;
	uint32_t bits = 0, have = 0;
	*to = 0;
	if (!len)
		return DOOR_ERR_FIELD;
	memcpy(to, DOOR_TEXT_PREFIX, sizeof DOOR_TEXT_PREFIX - 1);
	to += sizeof DOOR_TEXT_PREFIX - 1;
	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | bytes[i];
		for (have += 8; have >= 6; have -= 6)
			*to++ = digits[bits >> (have - 6) & 63];
	}
	if (have)
		*to++ = digits[bits << (6 - have) & 63];
	*to = 0;
	return DOOR_ERR_OK;
}

int
door_address_parse(const char *text, struct door_address *out)
{
	uint8_t bytes[DOOR_ADDRESS_MAX];
	size_t len = 0;
	uint32_t bits = 0, have = 0;
	if (strncmp(text, DOOR_TEXT_PREFIX, sizeof DOOR_TEXT_PREFIX - 1) != 0)
		return DOOR_ERR_TEXT;
	for (const char *p = text + sizeof DOOR_TEXT_PREFIX - 1; *p; p++) {
		const char *at = strchr(digits, *p);
		if (!at)
			return DOOR_ERR_TEXT;
		bits = bits << 6 | (uint32_t)(at - digits);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (len == sizeof bytes)
			return DOOR_ERR_LONG;
		bytes[len++] = (uint8_t)(bits >> have);
	}
	/* One address has one text: what is left of the last letter says nothing. */
	if (have >= 6 || (bits & ((1u << have) - 1)) != 0)
		return DOOR_ERR_SHORT;
	return door_address_decode(bytes, len, out);
}

uint64_t
door_proof(const struct door_address *a)
{
	uint8_t key[16] = "\0\0\0\0\0\0\0\0door", said[12];
	be64_store(key, a->token);
	be64_store(said, a->realm);
	be32_store(said + 8, a->label);
	return base_siphash(key, said, sizeof said);
}

bool
door_address_near(const struct door_address *a, const struct door_address *b)
{
	for (uint32_t i = 0; i < a->nrelays; i++)
		for (uint32_t k = 0; k < b->nrelays; k++)
			if (a->relay[i].ipv4 == b->relay[k].ipv4 &&
			    a->relay[i].port == b->relay[k].port)
				return true;
	return false;
}
