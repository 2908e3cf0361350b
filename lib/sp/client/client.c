/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between a process and the daemon of its node: sp/client.h. */
#include "sp/client.h"

#include "base/bytes.h"

#include <string.h>

const char *
sp_in_flight_name(unsigned mode)
{
	static const char *const name[] = {
#define X(id, text, what) text,
		SP_IN_FLIGHTS(X)
#undef X
	};
	return mode < SP_IN_FLIGHT_COUNT ? name[mode] : "?";
}

enum sp_in_flight
sp_in_flight_of(const char *name)
{
	unsigned i = 0;

	while (i < SP_IN_FLIGHT_COUNT && strcmp(name, sp_in_flight_name(i)) != 0)
		i++;
	return (enum sp_in_flight)i;
}

/* ---- texts: u16 length, bytes without a NUL ---- */

static void
write_client_text(struct base_writer *w, const char *text, size_t room)
{
	size_t n = strnlen(text, room - 1);

	base_write_be16(w, (uint16_t)n);
	base_write_bytes(w, text, n);
}

/* false: too long, or with a NUL inside. */
static bool
read_client_text(struct base_reader *r, char *text, size_t room)
{
	size_t n = base_read_be16(r);
	const uint8_t *p = base_read_bytes(r, n);

	if (!p || n >= room || memchr(p, '\0', n))
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	return true;
}

/* ---- writing ---- */

static void
write_epoch(struct base_writer *w, const struct sp_client_msg *m, const struct sp_role *roles)
{
	base_write_be64(w, m->epoch);
	base_write_be64(w, m->view);
	base_write_be32(w, m->role);
	base_write_be32(w, m->n);
	for (uint32_t i = 0; i < m->n; i++) {
		base_write_be32(w, roles[i].slot);
		base_write_be32(w, roles[i].takeovers);
		base_write_be16(w, roles[i].unit);
		base_write_be16(w, 0);
		base_write_be32(w, roles[i].ip);
	}
}

static void
write_welcome(struct base_writer *w, const struct sp_client_msg *m)
{
	base_write_be32(w, m->compute);
	base_write_u8(w, m->in_flight);
	base_write_u8(w, 0);
	base_write_be16(w, 0);
	base_write_be32(w, m->token);
	write_client_text(w, m->text, sizeof m->text);
	write_client_text(w, m->unit, sizeof m->unit);
}

size_t
sp_client_write(const struct sp_client_msg *m, const struct sp_role *roles, void *bytes)
{
	struct base_writer w = base_writer(bytes, SP_CLIENT_MAX);

	base_write_u8(&w, SP_CLIENT_VERSION);
	base_write_u8(&w, (uint8_t)m->type);
	base_write_be16(&w, 0);
	switch (m->type) {
	case SP_CLIENT_HELLO:
	case SP_CLIENT_PATH:
		base_write_be32(&w, m->number);
		break;
	case SP_CLIENT_CARD:
		base_write_be64(&w, m->epoch);
		base_write_be32(&w, m->role);
		base_write_bytes(&w, m->body, m->n);
		break;
	case SP_CLIENT_ABORT:
	case SP_CLIENT_END:
		base_write_be32(&w, m->number);
		write_client_text(&w, m->text, sizeof m->text);
		break;
	case SP_CLIENT_WELCOME:
		write_welcome(&w, m);
		break;
	case SP_CLIENT_EPOCH:
		write_epoch(&w, m, roles);
		break;
	case SP_CLIENT_LEFT:
	case SP_CLIENT_ALIVE:
		break;
	}
	return base_writer_ok(&w) ? base_writer_len(&w) : 0;
}

/* ---- reading ---- */

static bool
parse_epoch(struct sp_client_msg *m, struct base_reader *r)
{
	m->epoch = base_read_be64(r);
	m->view = base_read_be64(r);
	m->role = base_read_be32(r);
	m->n = base_read_be32(r);
	if (!base_reader_ok(r) || m->n > SP_CLIENT_ROLES_MAX ||
	    (m->role != SP_CLIENT_NONE && m->role >= m->n))
		return false;
	m->body = base_read_bytes(r, (size_t)m->n * SP_ROLE_BYTES);
	for (uint32_t i = 0; m->body && i < m->n; i++)
		if (be16_load(m->body + (size_t)i * SP_ROLE_BYTES + 10))
			return false;
	return m->body != NULL;
}

static bool
parse_welcome(struct sp_client_msg *m, struct base_reader *r)
{
	m->compute = base_read_be32(r);
	m->in_flight = base_read_u8(r);
	uint8_t zero = base_read_u8(r);
	uint16_t zeros = base_read_be16(r);
	m->token = base_read_be32(r);
	return read_client_text(r, m->text, sizeof m->text) &&
	       read_client_text(r, m->unit, sizeof m->unit) && !zero && !zeros &&
	       m->in_flight < SP_IN_FLIGHT_COUNT && m->compute <= SP_CLIENT_ROLES_MAX;
}

static bool
parse_card(struct sp_client_msg *m, struct base_reader *r)
{
	m->epoch = base_read_be64(r);
	m->role = base_read_be32(r);
	m->n = (uint32_t)base_reader_left(r);
	m->body = base_read_bytes(r, m->n);
	return m->role < SP_CLIENT_ROLES_MAX && m->n <= SP_CARD_MAX;
}

static bool
parse_client_body(struct sp_client_msg *m, struct base_reader *r)
{
	switch (m->type) {
	case SP_CLIENT_HELLO:
	case SP_CLIENT_PATH:
		m->number = base_read_be32(r);
		return true;
	case SP_CLIENT_CARD:
		return parse_card(m, r);
	case SP_CLIENT_ABORT:
	case SP_CLIENT_END:
		m->number = base_read_be32(r);
		return read_client_text(r, m->text, sizeof m->text);
	case SP_CLIENT_WELCOME:
		return parse_welcome(m, r);
	case SP_CLIENT_EPOCH:
		return parse_epoch(m, r);
	case SP_CLIENT_LEFT:
	case SP_CLIENT_ALIVE:
		return true;
	}
	return false;
}

bool
sp_client_read(struct sp_client_msg *m, const void *bytes, size_t len)
{
	struct base_reader r = base_reader(bytes, len);

	*m = (struct sp_client_msg){0};
	uint8_t version = base_read_u8(&r);
	m->type = (enum sp_client_type)base_read_u8(&r);
	uint16_t zero = base_read_be16(&r);
	return base_reader_ok(&r) && len <= SP_CLIENT_MAX && version == SP_CLIENT_VERSION &&
	       zero == 0 && parse_client_body(m, &r) && base_reader_ok(&r) &&
	       base_reader_left(&r) == 0;
}

struct sp_role
sp_client_role(const struct sp_client_msg *m, uint32_t i)
{
	const uint8_t *p = m->body + (size_t)i * SP_ROLE_BYTES;

	return (struct sp_role){.slot = be32_load(p),
				.takeovers = be32_load(p + 4),
				.unit = be16_load(p + 8),
				.ip = be32_load(p + 12)};
}
