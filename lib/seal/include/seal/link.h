/* SPDX-License-Identifier: BSD-2-Clause */
/* seal/link.h - a sealed stream: what two programs of ours say to each other over TCP.
 *
 *      dials                                       listens
 *        greeting 1  ->                              checks the code under the pre-shared key
 *                           <-  greeting 2
 *        an empty record ->                          up: the other end has the keys, now
 *        records  <->  records
 *
 * The key schedule is that of seal/handshake.h: a pre-shared key, identities, or both; forward
 * secrecy in any case.  On the wire (doc/wire.md, Sealed streams):
 *
 *      greeting  "SLK1", u16 length, key id 4 (in 1), public key 32, code 16, [own key 48 (in 1)],
 *                tag 16
 *      record    u16 length, ciphertext and tag; the nonce is a count, and after
 *                SEAL_LINK_REKEY records the key is replaced by a hash of it
 *
 * A record that was changed, left out, repeated, or is of another stream or direction breaks the
 * link for good.  That the stream ends early is what a link cannot see: a protocol above it that
 * has an end must say it.
 *
 * Sans-I/O: bytes go in and out, time limits are the caller's: a link that is not up after some
 * seconds is somebody's who has no key.  No memory but the struct; nothing is called back but what
 * is passed to seal_link_rx(), which must not call it again.
 *
 * Threads  one owner. */
#ifndef SEAL_LINK_H
#define SEAL_LINK_H

#include "seal/handshake.h"

#define SEAL_LINK_TEXT	   16384	/* plain bytes of a record, at most */
#define SEAL_LINK_GREETING 128		/* bytes of a greeting and of the empty record, at most */
#define SEAL_LINK_REKEY	   (1ull << 20) /* records under one key */
/* The purpose of what relays and impi-server say to each other. */
#define SEAL_LINK_IMPI "impi start-up"

enum seal_link_role { SEAL_LINK_DIALS = 1, SEAL_LINK_LISTENS };
enum seal_link_state {
	SEAL_LINK_OPENING,
	SEAL_LINK_UP,
	SEAL_LINK_BROKEN, /* for good; why is in seal_link.why */
};

/* A link has a copy, and forgets the keys when it is up: another one may be in their place then.
 * What me and user point to lives as long as the link. */
struct seal_link_conf {
	const struct seal_crypto *crypto;
	/* What the stream is for, less than 40 bytes: two ends that mean another thing do not come
	 * up. */
	const char *purpose;
	struct seal_psk key[SEAL_PSK_MAX]; /* who dials uses the first */
	uint32_t nkeys;
	/* Of this end; NULL: no identities, and nkeys must not be 0. */
	const struct seal_identity *me;
	/* Listens, with identities: may the one with that public key come in? */
	bool (*known)(void *user, const uint8_t public_key[SEAL_DH]);
	void *user;
	uint64_t rekey; /* 0: SEAL_LINK_REKEY */
};

struct seal_link {
	_Alignas(64) uint8_t tx_key[SEAL_KEY_MAX];
	_Alignas(64) uint8_t rx_key[SEAL_KEY_MAX];
	struct seal_link_conf conf;
	enum seal_link_role role;
	enum seal_link_state state;
	uint8_t peer[SEAL_DH]; /* its public key, with identities */
	uint32_t psk;	       /* index of the pre-shared key in use */
	char why[SEAL_TEXT];   /* for a person, when broken */
	/* private */
	uint8_t ck[SEAL_HASH], once[SEAL_DH], once_public[SEAL_DH];
	uint8_t tx_secret[SEAL_HASH], rx_secret[SEAL_HASH];
	uint64_t tx_n, rx_n;
	uint32_t step, have, want, out_len;
	uint8_t out[SEAL_LINK_GREETING];
	uint8_t in[2 + SEAL_LINK_TEXT + SEAL_TAG];
};

/* Why that configuration makes no links; NULL: it does. */
const char *seal_link_wrong(const struct seal_link_conf *conf, enum seal_link_role role);

/* once: 32 random bytes for this link alone; the caller wipes them.  listener: the public key
 * of who listens, for the one who dials with identities, else NULL. */
void seal_link_init(struct seal_link *l, const struct seal_link_conf *conf,
		    enum seal_link_role role, const uint8_t once[SEAL_DH], const uint8_t *listener);

/* Bytes that must be sent now, at most SEAL_LINK_GREETING: ask after _init and after each _rx, and
 * send them before anything of seal_link_tx(). */
size_t seal_link_out(struct seal_link *l, uint8_t out[SEAL_LINK_GREETING]);

/* All of what came.  text() gets what the other end sent, whole records, never an empty one. False:
 * the link is broken. */
bool seal_link_rx(struct seal_link *l, const uint8_t *in, size_t len,
		  void (*text)(void *user, const uint8_t *bytes, size_t len), void *user);

/* Bytes that so many become. */
size_t seal_link_size(size_t len);
/* Seal any number of bytes to out, which has seal_link_size(len), not overlapping; the bytes
 * written, 0 if the link is not up. */
size_t seal_link_tx(struct seal_link *l, const uint8_t *text, size_t len, uint8_t *out);

/* Forget the keys; the link is broken then. */
void seal_link_wipe(struct seal_link *l);

#endif
