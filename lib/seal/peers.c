/* SPDX-License-Identifier: BSD-2-Clause */
/* Identities and peers, from text. */
#include "text.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define V4_AT 12 /* where an IPv4 address is in 16 bytes */

int
seal_identity_parse(const struct seal_crypto *c, const char *text, size_t len,
		    struct seal_identity *id, char why[SEAL_TEXT])
{
	unsigned line = 0;
	const char *at;
	size_t n;
	bool have = false;
	while (seal_next_line(&text, &len, &line, &at, &n)) {
		if (have || !seal_unhex(at, n, id->secret)) {
			snprintf(why, SEAL_TEXT, "line %u: %s", line,
				 have ? "one private key is enough"
				      : "the private key must have 64 hexadecimal digits");
			explicit_bzero(id, sizeof *id);
			return -1;
		}
		have = true;
	}
	if (!have) {
		snprintf(why, SEAL_TEXT, "no key in it");
		return -1;
	}
	c->dh_public(id->secret, id->public_key);
	return 0;
}

size_t
seal_identity_text(const struct seal_identity *id, char *out)
{
	char secret[2 * SEAL_DH + 1], public_key[2 * SEAL_DH + 1];
	seal_hex(id->secret, secret);
	seal_hex(id->public_key, public_key);
	int n = snprintf(
		out, SEAL_IDENTITY_FILE,
		"# The private key of this site; nobody else needs it.  Its public key, for the\n"
		"# peers files of the others:\n# %s\n%s\n",
		public_key, secret);
	explicit_bzero(secret, sizeof secret);
	return (size_t)n;
}

/* The next word of a line; 0: none is left. */
static size_t
peers_word(const char **at, size_t *left, const char **w)
{
	while (*left && seal_blank(**at))
		++*at, --*left;
	*w = *at;
	while (*left && !seal_blank(**at))
		++*at, --*left;
	return (size_t)(*at - *w);
}

static bool
parse_prefix(const char *s, size_t len, struct base_prefix *p)
{
	return base_prefix_parse(s, len, p) && base_prefix_exact(p);
}

/* NULL, or what is wrong with it. */
static const char *
parse_peer(const char *at, size_t left, struct seal_peer *p)
{
	const char *w;
	memset(p, 0, sizeof *p);
	size_t n = peers_word(&at, &left, &w);
	if (n >= sizeof p->name)
		return "the name is longer than 31 bytes";
	for (size_t i = 0; i < n; i++)
		if (w[i] < 0x21 || w[i] > 0x7e)
			return "the name has bytes that cannot be printed";
	memcpy(p->name, w, n);
	n = peers_word(&at, &left, &w);
	if (!seal_unhex(w, n, p->public_key))
		return "behind the name must come the public key, 64 hexadecimal digits";
	while ((n = peers_word(&at, &left, &w)) != 0) {
		if (p->nprefixes == SEAL_PEER_PREFIXES)
			return "more than 8 prefixes";
		if (!parse_prefix(w, n, &p->prefix[p->nprefixes]))
			return "a prefix is no address, ADDRESS/BITS with zeros behind the bits";
		p->nprefixes++;
	}
	return NULL;
}

int
seal_peers_parse(const char *text, size_t len, struct seal_peer *peer, uint32_t max,
		 char why[SEAL_TEXT])
{
	unsigned line = 0;
	const char *at;
	size_t n;
	uint32_t have = 0;
	while (seal_next_line(&text, &len, &line, &at, &n)) {
		const char *wrong = have == max ? "too many peers" : parse_peer(at, n, &peer[have]);
		for (uint32_t i = 0; !wrong && i < have; i++)
			if (!memcmp(peer[i].public_key, peer[have].public_key, SEAL_DH))
				wrong = "this public key was there before";
		if (wrong) {
			snprintf(why, SEAL_TEXT, "line %u: %s", line, wrong);
			return -1;
		}
		have++;
	}
	if (!have)
		snprintf(why, SEAL_TEXT, "no peer in it");
	return have ? (int)have : -1;
}

bool
seal_peers_agree(const struct seal_crypto *c, const struct seal_identity *me,
		 struct seal_peer *peer, uint32_t n, char why[SEAL_TEXT])
{
	for (uint32_t i = 0; i < n; i++)
		if (!c->dh(me->secret, peer[i].public_key, peer[i].shared)) {
			snprintf(why, SEAL_TEXT, "the key of %s is no public key", peer[i].name);
			return false;
		}
	return true;
}

/* An address of IPv4 as lib/base has it. */
static void
peers_address_of(uint8_t family, const uint8_t *ip, uint8_t addr[16])
{
	if (family == 4)
		base_prefix_v4(be32_load(ip + V4_AT), addr);
	else
		memcpy(addr, ip, 16);
}

const struct seal_peer *
seal_peer_at(const struct seal_peer *peer, uint32_t n, uint8_t family, const uint8_t *ip)
{
	const struct seal_peer *best = NULL;
	uint8_t addr[16];
	uint32_t len = 0;
	peers_address_of(family, ip, addr);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < peer[i].nprefixes; k++) {
			const struct base_prefix *p = &peer[i].prefix[k];
			if (base_prefix_covers(p, addr) && (!best || p->len > len)) {
				best = &peer[i];
				len = p->len;
			}
		}
	return best;
}

const struct seal_peer *
seal_peer_with(const struct seal_peer *peer, uint32_t n, const uint8_t public_key[SEAL_DH])
{
	for (uint32_t i = 0; i < n; i++)
		if (seal_same(peer[i].public_key, public_key, SEAL_DH))
			return &peer[i];
	return NULL;
}

const struct seal_peer *
seal_peer_from(const struct seal_peer *peer, uint32_t n, const uint8_t public_key[SEAL_DH],
	       uint8_t family, const uint8_t *ip)
{
	const struct seal_peer *p = seal_peer_with(peer, n, public_key);
	uint8_t addr[16];
	peers_address_of(family, ip, addr);
	for (uint32_t k = 0; p && k < p->nprefixes; k++)
		if (base_prefix_covers(&p->prefix[k], addr))
			return p;
	return p && p->nprefixes ? NULL : p;
}
