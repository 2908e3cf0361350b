/* suci/seal.h - sealed paths: every datagram encrypted and authenticated.
 *
 * A path is sealed or it is not, for its whole life.  Both ends must say so
 * (suci_seal_conf.legs or .wanted); what comes unsealed on a path that is
 * to be sealed, or sealed where nothing is, is dropped and counted.
 *
 * Keys     OPEN and ACCEPT carry a nonce of either end and are themselves sealed
 *          under a pre-shared key, so a stranger gets nothing but a COOKIE.
 *          HKDF-SHA256 (RFC 5869) makes of key, nonces, incarnations and tags one
 *          secret per direction, and of that the AEAD key of the epoch.
 * Epochs   After suci_seal_conf.epoch datagrams, once the peer has been heard in
 *          the epoch and has acknowledged a packet of it, the secret is replaced by a hash of it and the old one
 *          forgotten; two flag bits of the datagram tell the epoch.  Nothing is
 *          negotiated: the peer follows.
 * Nonce    bare or not, and the 64-bit packet number; the direction is in the key.
 * Header   the path header is authenticated and stays readable; ack block, lane
 *          header and payload are encrypted.
 *
 * doc/wire.md, Sealing, says what that keeps from whom.
 *
 * The cipher is an argument: the library calls struct suci_aead_ops and links no
 * cryptography.  driver/aead.h has AES-256-GCM.
 *
 * Threads  the ops hold no state and may be called from any thread. */
#ifndef SUCI_SEAL_H
#define SUCI_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUCI_AEAD_SECRET  32   /* bytes of a key */
#define SUCI_AEAD_NONCE	  12   /* bytes of a nonce */
#define SUCI_AEAD_KEY_MAX 1024 /* bytes of a key made ready for use */
#define SUCI_SHA256	  32
#define SUCI_PSK_MAX	  4

struct suci_addr;

struct suci_aead_ops {
	const char *name;
	uint32_t key_bytes; /* <= SUCI_AEAD_KEY_MAX */
	/* Make a key ready in key_bytes at key, aligned to 64. */
	void (*expand)(void *key, const uint8_t secret[SUCI_AEAD_SECRET]);
	/* Encrypt len bytes at text in place and write the 16-byte tag behind them. */
	void (*seal)(const void *key, const uint8_t nonce[SUCI_AEAD_NONCE], const uint8_t *aad,
		     size_t aad_len, uint8_t *text, size_t len);
	/* The reverse; the tag is behind the len bytes.  False: not authentic, and what
	 * is at text is worth nothing any more. */
	bool (*open)(const void *key, const uint8_t nonce[SUCI_AEAD_NONCE], const uint8_t *aad,
		     size_t aad_len, uint8_t *text, size_t len);
	void (*sha256)(const void *msg, size_t len, uint8_t out[SUCI_SHA256]);
};

/* A pre-shared key.  Ends find the key the other one uses by its id, which is no secret. */
struct suci_psk {
	uint32_t id;
	uint8_t secret[SUCI_AEAD_SECRET];
};

struct suci_seal_conf {
	const struct suci_aead_ops *aead; /* NULL: no path is sealed */
	/* The first one is used for opens of ours, the others only if the first is not
	 * answered; the peer may use any.  To change keys: add the new one behind the old
	 * one everywhere, then put it first everywhere, then remove the old one. */
	struct suci_psk key[SUCI_PSK_MAX];
	uint32_t nkeys;
	uint32_t legs; /* bit n: paths over leg n (suci_addr.leg) are sealed */
	/* Not NULL: is asked instead of legs.  Must say the same of an address as long as
	 * there is a path to it. */
	bool (*wanted)(void *user, const struct suci_addr *peer);
	void *user;
	/* Datagrams sent under one key, at least 2; 0 = SUCI_SEAL_EPOCH. */
	uint32_t epoch;
};

/* Far below what AES-GCM bears with datagrams of 64 KB (RFC 9001, B.1: 2^23). */
#define SUCI_SEAL_EPOCH (1u << 22)

/* HMAC-SHA256 (RFC 2104) and HKDF-SHA256 (RFC 5869), over ops->sha256. */
#define SUCI_HMAC_MSG_MAX 640
void suci_hmac(const struct suci_aead_ops *ops, const uint8_t *key, size_t key_len, const void *msg,
	       size_t len, uint8_t out[SUCI_SHA256]);
void suci_hkdf_extract(const struct suci_aead_ops *ops, const uint8_t *salt, size_t salt_len,
		       const uint8_t *ikm, size_t ikm_len, uint8_t prk[SUCI_SHA256]);
/* len at most 255 * 32, info at most SUCI_HMAC_MSG_MAX - 33 bytes. */
void suci_hkdf_expand(const struct suci_aead_ops *ops, const uint8_t prk[SUCI_SHA256],
		      const void *info, size_t info_len, uint8_t *out, size_t len);

#endif
