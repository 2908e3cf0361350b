/* seal/keys.h - pre-shared keys and identities, and the texts that hold them.
 *
 * The functions read the content of a file; who opens it, and may, is driver/aead.h's.
 *
 * Threads  plain values, one owner. */
#ifndef SEAL_KEYS_H
#define SEAL_KEYS_H

#include "seal/crypto.h"

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

#endif
