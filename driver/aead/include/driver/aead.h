/* driver/aead.h - AES-256-GCM for sealed paths (suci/seal.h), and the file with the keys.
 *
 * The cipher is intel-ipsec-mb's: it takes keys, data and scratch from the
 * caller, allocates nothing, and picks code for AES-NI, AVX2 or VAES at run time.
 * doc/dependencies.md has the measurement behind the choice.
 *
 * Threads  all of it from any thread. */
#ifndef DRIVER_AEAD_H
#define DRIVER_AEAD_H

#include "suci/seal.h"

#include <stddef.h>

const struct suci_aead_ops *suci_aes256gcm(void);

#define SUCI_PSK_TEXT 200

/* Read keys from a file: lines "ID KEY", ID a decimal number from 1 to 2^32 - 1, KEY 64
 * hexadecimal digits; empty lines and lines that begin with # do not count.  The
 * file must be a regular one, ours, and nobody else's to read or write (mode 0600 or less).
 * The number of keys, 1 .. SUCI_PSK_MAX; or -1 and a text in why, which never
 * has anything of a key in it. */
int suci_psk_load(const char *path, struct suci_psk key[SUCI_PSK_MAX], char why[SUCI_PSK_TEXT]);
/* The same of a file's content. */
int suci_psk_parse(const char *text, size_t len, struct suci_psk key[SUCI_PSK_MAX],
		   char why[SUCI_PSK_TEXT]);

#endif
