/* SPDX-License-Identifier: BSD-2-Clause */
/* suci/seal.h - sealed paths: every datagram encrypted and authenticated.
 *
 * A path is sealed or it is not, for its whole life.  Both ends must say so
 * (suci_seal_conf.legs or .wanted); what comes unsealed on a path that is
 * to be sealed, or sealed where nothing is, is dropped and counted.
 *
 * Keys     OPEN and ACCEPT are the two messages of seal/handshake.h: each end makes a key
 *          pair for this one path and forgets it when the path is up, so that a recording cannot be
 *          opened with the keys of files.  A pre-shared key, identities, or both say who may;
 *          a stranger gets nothing but a COOKIE.
 *          HKDF-SHA256 (RFC 5869) makes of that, nonces, incarnations and tags one
 *          secret per direction, and of that the AEAD key of the epoch.
 * Who      With identities (me, peer) an opener must know the key of whoever is at the address, and
 * a listener takes opens of its peers only: a site is shut out by taking its line away. Which of
 * the two modes it is is configured at both ends and never negotiated. Epochs   After
 * suci_seal_conf.epoch datagrams, once the peer has been heard in the epoch and has acknowledged a
 * packet of it, the secret is replaced by a hash of it and the old one forgotten; two flag bits of
 * the datagram tell the epoch.  Nothing is negotiated: the peer follows. Nonce    bare or not, and
 * the 64-bit packet number; the direction is in the key. Header   the path header is authenticated
 * and stays readable; ack block, lane header and payload are encrypted.
 *
 * doc/wire.md, Sealing, says what that keeps from whom.
 *
 * The cipher is an argument (seal/crypto.h).
 *
 * Threads  the ops hold no state and may be called from any thread. */
#ifndef SUCI_SEAL_H
#define SUCI_SEAL_H

#include "seal/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct suci_addr;

struct suci_seal_conf {
	const struct seal_crypto *aead; /* NULL: no path is sealed */
	/* The first one is used for opens of ours, the others only if the first is not
	 * answered; the peer may use any.  To change keys: add the new one behind the old
	 * one everywhere, then put it first everywhere, then remove the old one;
	 * suci_rekey() does each in an endpoint that runs. */
	struct seal_psk key[SEAL_PSK_MAX];
	uint32_t nkeys; /* 0 only with an identity */
	/* Not NULL: identities.  Peers with shared keys (seal_peers_agree()); both live as long as
	 * the endpoint. */
	const struct seal_identity *me;
	const struct seal_peer *peer;
	uint32_t npeers;
	/* 32 random bytes that no other endpoint and no other run has; the caller wipes its own
	 * copy. */
	uint8_t seed[SEAL_HASH];
	uint32_t legs; /* bit n: paths over leg n (suci_addr.leg) are sealed */
	/* Not NULL: is asked instead of legs.  Must say the same of an address as long as
	 * there is a path to it. */
	bool (*wanted)(void *user, const struct suci_addr *peer);
	void *user;
	/* Datagrams sent under one key, at least 2; 0 = SUCI_SEAL_EPOCH. */
	uint32_t epoch;
	/* Limits of the cipher for a path, after which it goes down with STALE (RFC 9001
	 * section 6.6): datagrams sent under one key though the peer lets it not go to the next,
	 * and datagrams that were not authentic.  0 = those of AES-GCM. */
	uint32_t packets_max;
	uint64_t forgeries_max;
};
#define SUCI_SEAL_PACKETS   (1u << 23)
#define SUCI_SEAL_FORGERIES (1ull << 52)

/* Far below what AES-GCM bears with datagrams of 64 KB (RFC 9001, B.1: 2^23). */
#define SUCI_SEAL_EPOCH (1u << 22)

#endif
