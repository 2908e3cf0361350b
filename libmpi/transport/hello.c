/* Hello data and notes of Suci paths, doc/job-setup.md. */
#include "transport.h"

#include "base/bytes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void
lmpi_hello_encode(const struct lmpi_hello *h, uint8_t out[LMPI_HELLO_BYTES])
{
	memset(out, 0, LMPI_HELLO_BYTES);
	out[0] = 'S';
	out[1] = 'H';
	out[2] = 1;
	out[3] = h->kind;
	be32_store(out + 4, (uint32_t)h->token);
	be32_store(out + 8, h->label);
	be32_store(out + 12, h->rank);
	be16_store(out + 16, h->mtu);
	be32_store(out + 20, (uint32_t)(h->token >> 32));
}

bool
lmpi_hello_decode(const void *in, size_t len, struct lmpi_hello *h)
{
	const uint8_t *p = in;

	if (len < LMPI_HELLO_BYTES || p[0] != 'S' || p[1] != 'H' || p[2] != 1)
		return false;
	*h = (struct lmpi_hello){.kind = p[3],
				 .token = (uint64_t)be32_load(p + 20) << 32 | be32_load(p + 4),
				 .label = be32_load(p + 8),
				 .rank = be32_load(p + 12),
				 .mtu = be16_load(p + 16)};
	return h->kind == LMPI_HELLO_LIBMPI || h->kind == LMPI_HELLO_RELAY;
}

size_t
lmpi_note_encode(uint8_t type, uint32_t base, const char *text, uint8_t out[LMPI_NOTE_MAX])
{
	struct base_writer w = base_writer(out, LMPI_NOTE_MAX);

	base_write_u8(&w, type);
	base_write_be32(&w, base);
	if (type == LMPI_NOTE_ABORT) {
		size_t n = strnlen(text, LMPI_NOTE_MAX - 8);
		base_write_be16(&w, (uint16_t)n);
		base_write_bytes(&w, text, n);
	}
	return base_writer_len(&w);
}

bool
lmpi_note_decode(const void *in, size_t len, uint8_t *type, uint32_t *base,
		 char text[LMPI_NOTE_MAX])
{
	struct base_reader r = base_reader(in, len);

	*type = base_read_u8(&r);
	*base = base_read_be32(&r);
	text[0] = 0;
	if (*type == LMPI_NOTE_ABORT) {
		size_t n = base_read_be16(&r);
		const uint8_t *p = base_read_bytes(&r, n);
		if (p) {
			n = n < LMPI_NOTE_MAX ? n : LMPI_NOTE_MAX - 1;
			for (size_t i = 0; i < n; i++) /* goes to a terminal */
				text[i] = p[i] >= 32 && p[i] < 127 ? (char)p[i] : '?';
			text[n] = 0;
		}
	}
	return base_reader_ok(&r);
}

int
lmpi_abort_code(const char *text)
{
	static const char begin[] = "MPI_Abort(", sep[] = ", ", by[] = ") called by ";
	const char *end = strstr(text, by), *comma = NULL;

	if (strncmp(text, begin, sizeof begin - 1) != 0 || !end)
		return 1;
	/* The communicator's name may have such words, too: the last ones count. */
	for (const char *p = end; p; p = strstr(p + 1, by))
		end = p;
	for (const char *p = strstr(text, sep); p && p < end; p = strstr(p + 1, sep))
		comma = p;
	if (!comma)
		return 1;
	const char *number = comma + sizeof sep - 1;
	char *stop;
	errno = 0;
	long code = strtol(number, &stop, 10);
	bool whole = stop == end && stop > number && !errno;
	return whole && code >= INT_MIN && code <= INT_MAX ? (int)code : 1;
}

bool
lmpi_note_relays_decode(const void *in, size_t len, struct lmpi_relays *n)
{
	struct base_reader r = base_reader(in, len);

	memset(n, 0, sizeof *n);
	memset(n->policy, LMPI_POLICY_UNSAID, sizeof n->policy);
	if (base_read_u8(&r) != LMPI_NOTE_RELAYS)
		return false;
	n->base = base_read_be32(&r);
	n->token = base_read_be32(&r);
	(void)base_read_u8(&r); /* client of the sender's cluster: mine */
	n->self = base_read_u8(&r);
	n->own = base_read_u8(&r);
	n->n = base_read_u8(&r);
	n->partition_s = base_read_be16(&r);
	if (n->n == 0 || n->n > LMPI_RELAYS_TOLD_MAX || n->self >= n->n ||
	    (n->own >= n->n && n->own != LMPI_RELAY_NONE))
		return false;
	for (uint32_t i = 0; i < n->n; i++) {
		be32_store(n->relay[i].ip, base_read_be32(&r));
		n->relay[i].port = base_read_be16(&r);
		n->relay[i].weight = base_read_u8(&r);
		(void)base_read_u8(&r);
		if (n->relay[i].weight > LMPI_RELAY_WEIGHT_MAX)
			n->relay[i].weight = LMPI_RELAY_WEIGHT_MAX;
	}
	for (uint32_t m = base_read_u8(&r); m > 0; m--) {
		uint8_t client = base_read_u8(&r), policy = base_read_u8(&r);
		if (client < LMPI_CLIENTS_MAX && policy <= LMPI_POLICY_STRIPE)
			n->policy[client] = policy;
	}
	return base_reader_ok(&r);
}

bool
lmpi_note_ways_decode(const void *in, size_t len, struct lmpi_ways *n)
{
	struct base_reader r = base_reader(in, len);

	if (base_read_u8(&r) != LMPI_NOTE_WAYS)
		return false;
	n->base = base_read_be32(&r);
	n->token = base_read_be32(&r);
	n->ways = base_read_be32(&r);
	n->resend = base_read_be32(&r);
	return base_reader_ok(&r);
}

void
lmpi_note_lost_encode(uint32_t base, const uint8_t ip[4], uint16_t port, bool lost,
		      uint8_t out[LMPI_NOTE_LOST_BYTES])
{
	struct base_writer w = base_writer(out, LMPI_NOTE_LOST_BYTES);

	base_write_u8(&w, LMPI_NOTE_LOST);
	base_write_be32(&w, base);
	base_write_bytes(&w, ip, 4);
	base_write_be16(&w, port);
	base_write_u8(&w, lost);
}
