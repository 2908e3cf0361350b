/* SPDX-License-Identifier: BSD-2-Clause */
/* seal/keys.h - pre-shared keys and identities, and the texts that hold them.
 *
 * The functions read the content of a file; who opens it, and may, is driver/aead.h's.
 *
 * Threads  plain values, one owner. */
#ifndef SEAL_KEYS_H
#define SEAL_KEYS_H

#include "seal/crypto.h"

#include "base/prefix.h"

#define SEAL_PSK_MAX 4
#define SEAL_TEXT    200 /* of what is wrong with a file; never has anything of a key in it */

/* A pre-shared key.  Ends find the key the other one uses by its id, which is no secret. */
struct seal_psk {
	uint32_t id;
	uint8_t secret[SEAL_SECRET];
};

/* The key pair of a site. */
struct seal_identity {
	uint8_t secret[SEAL_DH];
	uint8_t public_key[SEAL_DH];
};

/* Lines "ID KEY", ID a decimal number from 1 to 2^32 - 1, KEY 64 hexadecimal digits; empty
 * lines and lines that begin with # do not count.  The number of keys, 1 .. SEAL_PSK_MAX; or -1
 * and a text in why. */
int seal_psk_parse(const char *text, size_t len, struct seal_psk key[SEAL_PSK_MAX],
		   char why[SEAL_TEXT]);

/* A line with 64 hexadecimal digits, the private key; empty lines and comments as above.  0, or -1
 * and a text in why. */
int seal_identity_parse(const struct seal_crypto *c, const char *text, size_t len,
			struct seal_identity *id, char why[SEAL_TEXT]);
/* What such a file has, for out of at least SEAL_IDENTITY_FILE bytes; its length. */
#define SEAL_IDENTITY_FILE 400
size_t seal_identity_text(const struct seal_identity *id, char *out);
/* 64 digits and a NUL. */
void seal_hex(const uint8_t key[SEAL_DH], char out[2 * SEAL_DH + 1]);

#define SEAL_PEER_NAME	   32
#define SEAL_PEER_PREFIXES 8

/* A site, by its public key.  Without prefixes it may call from anywhere, and nobody calls it. */
struct seal_peer {
	char name[SEAL_PEER_NAME];
	uint8_t public_key[SEAL_DH];
	uint8_t shared[SEAL_DH]; /* what its key and ours make, see seal_peers_agree() */
	struct base_prefix prefix[SEAL_PEER_PREFIXES];
	uint32_t nprefixes;
};

/* Lines "NAME KEY [PREFIX ...]": KEY 64 hexadecimal digits, PREFIX an address with or without
 * /BITS. The number of peers, 1 .. max, or -1 and a text in why. */
int seal_peers_parse(const char *text, size_t len, struct seal_peer *peer, uint32_t max,
		     char why[SEAL_TEXT]);
/* Fill in shared; false: the key of that peer is none, its name is in why. */
bool seal_peers_agree(const struct seal_crypto *c, const struct seal_identity *me,
		      struct seal_peer *peer, uint32_t n, char why[SEAL_TEXT]);
/* Who is at that address (16 bytes; IPv4 is the last 4): of those that name it, the one with the
 * longest prefix; NULL: nobody. */
const struct seal_peer *seal_peer_at(const struct seal_peer *peer, uint32_t n, uint8_t family,
				     const uint8_t *ip);
/* Who has that key, wherever it calls from; NULL: nobody. */
const struct seal_peer *seal_peer_with(const struct seal_peer *peer, uint32_t n,
				       const uint8_t public_key[SEAL_DH]);
/* The same, if it may call from there; NULL: nobody. */
const struct seal_peer *seal_peer_from(const struct seal_peer *peer, uint32_t n,
				       const uint8_t public_key[SEAL_DH], uint8_t family,
				       const uint8_t *ip);

#endif
