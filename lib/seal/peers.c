/* Identities and peers, from text. */
#include "text.h"

#include <arpa/inet.h>
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
word(const char **at, size_t *left, const char **w)
{
	while (*left && seal_blank(**at))
		++*at, --*left;
	*w = *at;
	while (*left && !seal_blank(**at))
		++*at, --*left;
	return (size_t)(*at - *w);
}

static bool
parse_prefix(const char *s, size_t len, struct seal_prefix *p)
{
	char text[64];
	if (len >= sizeof text || memchr(s, 0, len))
		return false;
	memcpy(text, s, len);
	text[len] = 0;
	char *slash = strchr(text, '/');
	if (slash)
		*slash = 0;
	memset(p, 0, sizeof *p);
	p->family = strchr(text, ':') ? 6 : 4;
	uint8_t *ip = p->ip + V4_AT * (p->family == 4);
	if (inet_pton(p->family == 6 ? AF_INET6 : AF_INET, text, ip) != 1)
		return false;
	unsigned most = p->family == 6 ? 128 : 32, bits = slash ? 0 : most;
	for (const char *d = slash ? slash + 1 : ""; *d; d++) {
		if (*d < '0' || *d > '9' || bits > most)
			return false;
		bits = bits * 10 + (unsigned)(*d - '0');
	}
	if (bits > most || (slash && !slash[1]))
		return false;
	p->bits = (uint8_t)bits;
	for (unsigned i = bits; i < most; i++)
		if (ip[i / 8] >> (7 - i % 8) & 1)
			return false;
	return true;
}

/* NULL, or what is wrong with it. */
static const char *
parse_peer(const char *at, size_t left, struct seal_peer *p)
{
	const char *w;
	memset(p, 0, sizeof *p);
	size_t n = word(&at, &left, &w);
	if (n >= sizeof p->name)
		return "the name is longer than 31 bytes";
	for (size_t i = 0; i < n; i++)
		if (w[i] < 0x21 || w[i] > 0x7e)
			return "the name has bytes that cannot be printed";
	memcpy(p->name, w, n);
	n = word(&at, &left, &w);
	if (!seal_unhex(w, n, p->public_key))
		return "behind the name must come the public key, 64 hexadecimal digits";
	while ((n = word(&at, &left, &w)) != 0) {
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

static bool
covers(const struct seal_prefix *p, uint8_t family, const uint8_t *ip)
{
	unsigned at = family == 4 ? V4_AT : 0, end = at + p->bits / 8u, rest = p->bits % 8u;
	return p->family == family && !memcmp(p->ip + at, ip + at, end - at) &&
	       (!rest || !((p->ip[end] ^ ip[end]) >> (8 - rest)));
}

const struct seal_peer *
seal_peer_at(const struct seal_peer *peer, uint32_t n, uint8_t family, const uint8_t *ip)
{
	const struct seal_peer *best = NULL;
	unsigned bits = 0;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < peer[i].nprefixes; k++) {
			const struct seal_prefix *p = &peer[i].prefix[k];
			if (covers(p, family, ip) && (!best || p->bits > bits)) {
				best = &peer[i];
				bits = p->bits;
			}
		}
	return best;
}

const struct seal_peer *
seal_peer_from(const struct seal_peer *peer, uint32_t n, const uint8_t public_key[SEAL_DH],
	       uint8_t family, const uint8_t *ip)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!seal_same(peer[i].public_key, public_key, SEAL_DH))
			continue;
		for (uint32_t k = 0; k < peer[i].nprefixes; k++)
			if (covers(&peer[i].prefix[k], family, ip))
				return &peer[i];
		return peer[i].nprefixes ? NULL : &peer[i];
	}
	return NULL;
}
