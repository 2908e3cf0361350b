/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything libmpi parses that came from other processes, but for Suci's and
 * IMPI's own formats: contacts, cards, the job table, packets, peer switches (notes and hello data:
 * fuzz_relayproto). First byte: which. */
#include "boot.h"
#include "transport.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CONTACT_WORDS 20u /* magic, release */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
contact(const uint8_t *p, size_t len)
{
	struct lmpi_contact c;
	uint8_t again[LMPI_CONTACT_BYTES];

	char why[LMPI_CONTACT_WHY];

	if (!lmpi_contact_decode(p, len, &c, why)) {
		assert(memchr(why, 0, sizeof why));
		return;
	}
	assert(memchr(c.bell, 0, sizeof c.bell));
	lmpi_contact_encode(&c, again);
	assert(memcmp(p, again, 30) == 0);
}

/* Behind the words of this release, which change with each one. */
static void
contact_of_ours(const uint8_t *p, size_t len)
{
	static const struct lmpi_contact none;
	uint8_t c[LMPI_CONTACT_BYTES + 8];

	lmpi_contact_encode(&none, c);
	len = len < sizeof c - CONTACT_WORDS ? len : sizeof c - CONTACT_WORDS;
	memcpy(c + CONTACT_WORDS, p, len);
	contact(c, CONTACT_WORDS + len);
}

static void
card(const uint8_t *p, size_t len)
{
	struct lmpi_card c;
	uint8_t again[LMPI_CARD_BYTES];

	if (len < LMPI_CARD_BYTES || !lmpi_card_decode(p, &c))
		return;
	assert(memchr(c.node, 0, sizeof c.node));
	assert(c.hall.pid == 0 ? c.hall.key == 0 : c.hall.pid > 0 && c.hall.fd >= 0 && c.hall.key);
	lmpi_card_encode(&c, again);
	assert(memcmp(p, again, 24) == 0); /* the length of its door too */
}

static void
job(const uint8_t *p, size_t len)
{
	struct lmpi_job j;
	size_t n;

	if (!lmpi_job_decode(p, len, &j))
		return;
	void *again = lmpi_job_encode(&j, &n);
	assert(again && n == len);
	free(again);
	lmpi_job_free(&j);
}

static void
packet(const uint8_t *p, size_t len)
{
	static struct lmpi_peer peer[2] = {{.world = 0}, {.world = 1}};
	struct lmpi_hdr h;

	if (len < LMPI_PKT_BYTES)
		return;
	lmpi_eng.peer = peer;
	lmpi_eng.datalen = 1024;
	lmpi_eng.rank = 1;
	memcpy(peer[0].id, p + 8, 24);
	memcpy(peer[1].id, p + 32, 24);
	if (!lmpi_pkt_decode(&lmpi_eng, &peer[0], p, len - LMPI_PKT_BYTES, &h))
		assert(h.type < LMPI_T_MAX && h.src == 0);
}

/* The user's text (IMPI_PEERS), and what clients offer. */
static void
switches(const uint8_t *p, size_t len)
{
	struct impi_offered offered[IMPI_CLIENTS_MAX] = {0};
	struct impi_switch_table t;
	struct impi_error err = {0};
	char text[400];
	size_t n = len < sizeof text - 1 ? len : sizeof text - 1;

	memcpy(text, p, n);
	text[n] = 0;
	if (impi_switches_parse(text, &t, &err) != IMPI_ERR_OK) {
		assert(err.text[0] && memchr(err.text, 0, sizeof err.text));
	} else {
		for (uint32_t c = 0; c < IMPI_CLIENTS_MAX; c++)
			assert(impi_switches_for(&t, c, len & 1).payload != IMPI_PAYLOAD_UNSAID);
	}
	if (len >= 8)
		impi_offered_label(offered, 0x1300u + (p[0] & 7u) * 0x100, be32_load(p + 4), p + 8,
				   len - 8);
	(void)impi_offered_is_lam(&offered[0]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char host[256], port[16], server[300];

	if (len == 0)
		return 0;
	const uint8_t *p = data + 1;
	len--;
	switch (data[0] % 7) {
	case 0:
		contact(p, len);
		break;
	case 1:
		job(p, len);
		break;
	case 2:
		packet(p, len);
		break;
	case 3:
		len = len < sizeof server - 1 ? len : sizeof server - 1;
		memcpy(server, p, len);
		server[len] = 0;
		(void)lmpi_split_server(server, host, port);
		break;
	case 4:
		card(p, len);
		break;
	case 5:
		contact_of_ours(p, len);
		break;
	default:
		switches(p, len);
	}
	return 0;
}
