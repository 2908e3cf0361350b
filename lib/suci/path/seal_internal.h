/* SPDX-License-Identifier: BSD-2-Clause */
/* seal_internal.h - sealed paths, as the other files of lib/suci see them; a part of
 * path_internal.h. */
#ifndef SUCI_SEAL_INTERNAL_H
#define SUCI_SEAL_INTERNAL_H

#include "seal/handshake.h"
#include "suci/endpoint.h"
#include "wire_internal.h"

#define SEAL_NONCE   16 /* bytes */
#define SPARE_KEYS   8	/* keys of neighbouring epochs, all paths together */
#define KEYS_DEFAULT 512
#define NO_KEY	     UINT16_MAX

/* Secrets of a sealed path; for keys ready for use see keys.c. */
struct suci_seal {
	/* Of the current epochs.  The opener has in place of the first its private key for this
	 * path until that is up. */
	uint8_t tx_secret[SEAL_HASH], rx_secret[SEAL_HASH];
	uint8_t once[SEAL_DH]; /* the public key of that, or the listener's */
	uint8_t ck[SEAL_HASH]; /* opener: behind OPEN; listener: behind ACCEPT, until heard */
	uint8_t nonce[SEAL_NONCE], peer_nonce[SEAL_NONCE];
	uint8_t challenge[8]; /* end of the seal tag of our last question after a RESET, see reset.c
			       */
	uint64_t forged;      /* datagrams that were not authentic */
	uint64_t serial;      /* never used before in this endpoint */
	uint64_t rx_pn, rx_bare; /* highest that came authentically */
	uint64_t bare_seen;	 /* bit n: rx_bare - n */
	uint32_t sent;		 /* datagrams of this epoch */
	uint32_t tx_epoch, rx_epoch;
	uint64_t epoch_pn; /* first number sealed in tx_epoch */
	uint32_t next_free;
	uint32_t key_id; /* of the pre-shared key it came up with */
	/* Of the peer's public key, with identities: enough to find it again. */
	uint64_t who;
	uint32_t attempt;	/* of the opener: which of its keys this is about */
	uint64_t challenged_ns; /* when the challenge left, 0 = never */
	uint8_t psk;		/* index of the pre-shared key */
	bool begun;		/* opener: once and ck are those of this attempt */
	bool heard;		/* something authentic in rx_epoch */
	bool want_challenge, challenged;
	uint16_t slot[2]; /* its keys that are ready: sending, receiving; NO_KEY = not */
};

_Static_assert(sizeof(struct suci_seal) <= 280, "memory per sealed peer");

/* Whose key is in that place. */
struct suci_key_use {
	uint32_t seal; /* NONE: nobody's */
	bool rx, used;
};

struct suci_spare {
	_Alignas(64) uint8_t key[SEAL_KEY_MAX];
	uint64_t serial; /* of the struct suci_seal it belongs to */
	uint32_t epoch;
};

struct suci;
struct suci_path;

/* seal.c */
void suci_seal_init(struct suci *ep);
/* Identities alone: the pre-shared key is that of zeros, which is no secret. */
void suci_seal_no_psk(struct suci_seal_conf *c);
bool suci_seal_good(const struct suci_config *c);
bool suci_seal_wanted(const struct suci *ep, const struct suci_addr *peer);
/* Room for the keys of a path, and its nonce; NULL if all of it is in use. */
struct suci_seal *suci_seal_new(struct suci *ep, const struct suci_path *p);
/* The next key, as the last one was not answered. */
void suci_seal_retry(struct suci *ep, struct suci_path *p);
/* All from the beginning: another key pair and nonce, the first key. */
void suci_seal_again(struct suci *ep, struct suci_path *p);
/* Was that nonce made here? */
bool suci_seal_own_nonce(const struct suci *ep, const uint8_t nonce[SEAL_NONCE]);
void suci_seal_give(struct suci *ep, struct suci_seal *s);
/* The keys of both directions from the peer's OPEN or ACCEPT and what p has. */
void suci_seal_keys(struct suci *ep, struct suci_path *p, const struct suci_body *b);
/* Something for that path was not authentic: counted. */
void suci_seal_forged(struct suci *ep, struct suci_path *p);
void suci_seal_next_secret(const struct suci *ep, const uint8_t secret[SEAL_HASH],
			   uint8_t out[SEAL_HASH]);
/* Seal a DATA datagram of len bytes in place; its new length. */
size_t suci_seal_data(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len,
		      uint64_t pn);
/* Open a DATA datagram in place; false, and counted: forged, or seen before. */
bool suci_seal_open(struct suci *ep, struct suci_path *p, const struct suci_path_hdr *h,
		    uint8_t *dgram, size_t len);

/* keys.c */
void suci_keys_init(struct suci *ep);
/* Those that can be ready at a time. */
uint32_t suci_keys_of(const struct suci_limits *l);
/* What the AEAD makes of the secret of an epoch. */
void suci_keys_expand(const struct suci *ep, const uint8_t secret[SEAL_HASH], uint8_t *key);
const uint8_t *suci_keys_make(struct suci *ep, struct suci_seal *s, bool rx);
/* Its secret is another now. */
void suci_keys_drop(struct suci *ep, struct suci_seal *s, bool rx);
/* The receiving key of the epoch before or after; NULL if it is gone. */
const uint8_t *suci_keys_beside(struct suci *ep, const struct suci_seal *s, uint32_t epoch);
/* Receiving goes on to the next epoch, whose key suci_keys_beside() gave. */
void suci_keys_follow(struct suci *ep, struct suci_seal *s);
void suci_keys_forget(struct suci *ep, struct suci_seal *s);

/* seal_hs.c: dgram is a whole datagram, len its length; sealing returns the new one, opening
 * counts what it does not believe. */
const struct seal_psk *suci_seal_psk(const struct suci *ep, uint32_t id);
size_t suci_seal_once(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
		      uint8_t *dgram, size_t clear, size_t len);
bool suci_seal_once_open(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
			 uint8_t *dgram, size_t clear, size_t len);
#define SUCI_CLOSE_CLEAR ((size_t)SUCI_PATH_HDR + 4) /* before the extension of a CLOSE */
/* RESET under a pre-shared key; opened, it looks like an unsealed one. */
size_t suci_seal_reset(struct suci *ep, const struct suci_addr *to, const struct seal_psk *k,
		       const uint8_t nonce[SEAL_NONCE], uint8_t *dgram, size_t len);
bool suci_seal_reset_open(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, size_t len,
			  uint8_t nonce[SEAL_NONCE]);
/* Make room for the extension of a RESET and fill it in; take it out again; is it long enough
 * for one? */
size_t suci_seal_reset_gap(uint8_t *dgram, size_t len, const uint8_t nonce[SEAL_NONCE],
			   uint32_t id);
void suci_seal_reset_shift(uint8_t *dgram, size_t len);
bool suci_seal_reset_whole(struct suci *ep, size_t len);
/* CLOSE under the keys of a path. */
size_t suci_seal_close(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
bool suci_seal_close_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
/* Any other datagram of a path that has no packet number, with clear bytes readable; no
 * two that differ may have the same clear bytes. */
size_t suci_seal_control(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear,
			 size_t len);
bool suci_seal_control_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear,
			    size_t len);

/* seal_open.c: OPEN or ACCEPT of a path; the new length, 0: nobody at that address has a known
 * key. */
size_t suci_seal_handshake(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
/* An OPEN: first what costs nothing on the curve, then the rest.  Both fill in what b has of a
 * sealed one. */
bool suci_seal_opens(struct suci *ep, const struct suci_addr *from, uint8_t *dgram, size_t len,
		     struct suci_body *b);
bool suci_seal_opened(struct suci *ep, const struct suci_addr *from, uint8_t *dgram,
		      struct suci_body *b);
bool suci_seal_accepted(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len,
			struct suci_body *b);
/* CLOSE that refuses an OPEN, under the keys of that. */
size_t suci_seal_refusal(struct suci *ep, const struct suci_body *b, uint8_t *dgram, size_t len);
bool suci_seal_refusal_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
/* Can paths to that address be opened, as far as identities go? */
bool suci_seal_knows(const struct suci *ep, const struct suci_addr *to);
/* What the two long-lived keys make, to be mixed into keys of datagrams that belong to no path;
 * NULL: no identities, or nobody known is there. */
const uint8_t *suci_seal_shared(const struct suci *ep, const struct suci_addr *at);

#endif
