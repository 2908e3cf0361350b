/* seal_internal.h - sealed paths, as the other files of lib/suci see them; a part of
 * path_internal.h. */
#ifndef SUCI_SEAL_INTERNAL_H
#define SUCI_SEAL_INTERNAL_H

/* seal.c */
void suci_seal_init(struct suci *ep);
bool suci_seal_good(const struct suci_config *c);
bool suci_seal_wanted(const struct suci *ep, const struct suci_addr *peer);
/* Room for the keys of a path, and its nonce; NULL if all of it is in use. */
struct suci_seal *suci_seal_new(struct suci *ep, const struct suci_path *p);
/* The next key, as the last one was not answered. */
void suci_seal_retry(struct suci *ep, struct suci_path *p);
/* Was that nonce made here? */
bool suci_seal_own_nonce(const struct suci *ep, const uint8_t nonce[SEAL_NONCE]);
void suci_seal_give(struct suci *ep, struct suci_seal *s);
/* The keys of both directions from the peer's greeting and what p has. */
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

/* The key of the current epoch, valid until the next call for any path. */
static inline const uint8_t *
suci_keys_ready(struct suci *ep, struct suci_seal *s, bool rx)
{
	uint32_t i = s->slot[rx];
	if (i == NO_KEY)
		return suci_keys_make(ep, s, rx);
	ep->keys[i].used = true;
	return ep->key_mem + (size_t)i * SEAL_KEY_MAX;
}

/* seal_hs.c: dgram is a whole datagram, len its length; sealing returns the new one, opening
 * counts what it does not believe. */
const struct seal_psk *suci_seal_psk(const struct suci *ep, uint32_t id);
size_t suci_seal_once(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
		      uint8_t *dgram, size_t clear, size_t len);
bool suci_seal_once_open(struct suci *ep, const uint8_t secret[SEAL_HASH], const char label[8],
			 uint8_t *dgram, size_t clear, size_t len);
#define SUCI_BYE_CLEAR ((size_t)SUCI_PATH_HDR + 4) /* before the extension of a farewell */
/* RESET under a pre-shared key; opened, it looks like an unsealed one. */
size_t suci_seal_farewell(struct suci *ep, const struct suci_addr *to, const struct seal_psk *k,
			  const uint8_t nonce[SEAL_NONCE], uint8_t *dgram, size_t len);
bool suci_seal_farewell_open(struct suci *ep, const struct suci_addr *from, uint8_t *dgram,
			     size_t len, uint8_t nonce[SEAL_NONCE]);
/* Make room for the extension of a farewell and fill it in; take it out again; is it long enough
 * for one? */
size_t suci_seal_farewell_gap(uint8_t *dgram, size_t len, const uint8_t nonce[SEAL_NONCE],
			      uint32_t id);
void suci_seal_farewell_shift(uint8_t *dgram, size_t len);
bool suci_seal_farewell_whole(struct suci *ep, size_t len);
/* CLOSE under the keys of a path. */
size_t suci_seal_close(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
bool suci_seal_close_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
/* Any other datagram of a path that has no packet number, with clear bytes readable; no
 * two that differ may have the same clear bytes. */
size_t suci_seal_control(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear,
			 size_t len);
bool suci_seal_control_open(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t clear,
			    size_t len);

/* seal_greet.c: OPEN or ACCEPT of a path; the new length, 0: nobody at that address has a known
 * key. */
size_t suci_seal_greeting(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len);
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
