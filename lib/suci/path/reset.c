/* SPDX-License-Identifier: BSD-2-Clause */
/* RESET: "I have no path with the tag of the datagram you sent me."
 *
 * Unsealed, it is believed if it comes from the path's address and echoes the tag that we use
 * there, which nobody knows who does not see the way, while something of ours is unanswered.
 *
 * Sealed, it is sealed under the key that all ends have in common, as who has lost the path has no
 * other; and it answers whatever has the shape of a sealed datagram.  So it is no proof by itself:
 * who sends us our own datagram with another tag has one made by ourselves, and one made by another
 * end, if he sends it there (RFC 9000 section 21.11).  Therefore
 *
 *      - it has in it whose it is, by incarnation: our own and those of ends that we have paths
 *        with at other addresses are dropped (drop_reflected);
 *      - it is only a hint, after which we ask by a probe: it must echo the seal tag of that;
 *      - and a peer that lives answers that probe, too.  Only when nothing of it is heard until the
 *        probe timeout does the question count as lost, and ROUNDS such in a row end the path.
 *
 * The answer is never longer than the question: probes on sealed paths are padded for that. */
#include "path_internal.h"

#include "base/bytes.h"

#include <string.h>

#define ROUNDS	  3
#define IDENTITY  8 /* bytes behind a sealed one's header, where a CLOSE has its text */
#define HINT_NS	  (40 * BASE_MS_NS)   /* pause between questions on hints */
#define SEALED_AT (SUCI_PATH_HDR + 4) /* where they are */

_Static_assert(SUCI_RESET_SEALED == SUCI_PATH_HDR + 4 + SUCI_SEAL_EXT + IDENTITY + SUCI_SEAL_TAG,
	       "as suci_seal_reset() makes it");

void
suci_send_reset(struct suci *ep, const struct suci_addr *to, const struct suci_path_hdr *h,
		const uint8_t *dgram, size_t len, uint64_t now_ns)
{
	bool sealed = suci_seal_wanted(ep, to);
	if (suci_pacer_next_ns(&ep->reset_pacer, now_ns) > now_ns)
		return;
	/* Where paths are sealed, strangers who seal nothing get no answer; nobody gets a longer
	 * one than the question. */
	if (sealed ? !(h->flags & SUCI_PF_SEALED) || len < SUCI_RESET_SEALED || !ep->conf.seal.aead
		   : len < SUCI_RESET_PLAIN)
		return;
	if (sealed && !suci_seal_knows(ep, to))
		return;
	struct suci_stateless *o = suci_stateless_new(ep, to, true);
	if (!o)
		return;
	suci_pacer_sent(&ep->reset_pacer, 1, now_ns);
	size_t n = suci_put_close(o->bytes, SUCI_T_RESET, h->path_tag, SUCI_DOWN_RESET, "", now_ns);
	if (sealed) {
		be16_store(o->bytes + SUCI_PATH_HDR + 2, IDENTITY);
		be64_store(o->bytes + n, ep->conf.incarnation);
		n = suci_seal_reset(ep, to, &ep->conf.seal.key[0], dgram + len - SUCI_SEAL_TAG,
				    o->bytes, n + IDENTITY);
	}
	o->len = (uint16_t)n;
	suci_stateless_send(ep, o, 0, 0);
}

/* Is that life the one of somebody else, who has a path with us?  The peer's own may have several.
 */
static bool
lives_elsewhere(const struct suci *ep, const struct suci_path *p, uint64_t incarnation)
{
	if (incarnation == p->hs.peer_incarnation)
		return false;
	for (uint32_t i = 0; i < ep->conf.limits.paths_max; i++) {
		const struct suci_path *o = &ep->path[i];
		if (o != p && o->state == PATH_UP && o->hs.peer_incarnation == incarnation)
			return true;
	}
	return false;
}

static uint64_t
answer_reset_wait_ns(const struct suci *ep, const struct suci_path *p)
{
	return suci_rtt_pto_ns(&p->rtt, ep->conf.ack_delay_ns, 0);
}

/* The next probe that leaves is the question. */
static void
ask_reset(struct suci *ep, struct suci_path *p)
{
	p->seal->challenged = false;
	p->seal->want_challenge = true;
	p->loss.probe_due = true;
	suci_path_ready(ep, p);
}

static bool
heard_since(const struct suci_path *p)
{
	return p->last_rx_ns > p->seal->challenged_ns;
}

uint64_t
suci_reset_look_at(const struct suci *ep, const struct suci_path *p)
{
	return base_add_ns(p->seal->challenged_ns, answer_reset_wait_ns(ep, p));
}

bool
suci_reset_look(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	p->reset.answered = false;
	if (heard_since(p)) {
		p->reset.rounds = 0;
		return false;
	}
	if (++p->reset.rounds >= ROUNDS) {
		suci_path_down(ep, p, SUCI_DOWN_RESET, "the peer does not know the path", now_ns);
		return true;
	}
	ask_reset(ep, p);
	return false;
}

/* Authentic, that is by somebody with the key. */
static void
reset_heard(struct suci *ep, struct suci_path *p, const uint8_t echo[SEAL_NONCE], uint64_t now_ns)
{
	struct suci_seal *s = p->seal;
	bool answers = s->challenged && !memcmp(echo + SEAL_NONCE - sizeof s->challenge,
						s->challenge, sizeof s->challenge);
	if (answers && SUCI_BUG(RESET)) {
		suci_path_down(ep, p, SUCI_DOWN_RESET, "the peer does not know the path", now_ns);
	} else if (answers && !heard_since(p)) {
		p->reset.answered = true;
		suci_path_arm(ep, p);
	} else if (!s->want_challenge && !p->reset.answered &&
		   (!s->challenged_ns || now_ns - s->challenged_ns >= HINT_NS)) {
		p->reset.rounds = 0;
		ask_reset(ep, p);
	}
}

static void
sealed_reset(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len, uint64_t now_ns)
{
	uint8_t echo[SEAL_NONCE];
	if (len != SUCI_RESET_SEALED) {
		ep->count.drop_malformed++;
		return;
	}
	if (!suci_seal_reset_open(ep, &p->peer, dgram, len, echo))
		return;
	uint64_t whose = be64_load(dgram + SEALED_AT);
	if (!SUCI_BUG(RESET) && (whose == ep->conf.incarnation || lives_elsewhere(ep, p, whose))) {
		ep->count.drop_reflected++;
		return;
	}
	reset_heard(ep, p, echo, now_ns);
}

void
suci_reset_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	      uint8_t *dgram, size_t len, uint64_t now_ns)
{
	bool sealed = h->flags & SUCI_PF_SEALED;
	struct suci_close f;
	struct suci_path *p = suci_path_at(ep, from);
	if (!p || p->state != PATH_UP || p->tx_tag != h->path_tag) {
		ep->count.drop_unknown_tag++;
	} else if (!outstanding(p)) {
		ep->count.drop_state++;
	} else if (sealed != (p->seal != NULL)) {
		ep->count.drop_sealed += sealed;
		ep->count.drop_unsealed += !sealed;
	} else if (sealed) {
		sealed_reset(ep, p, dgram, len, now_ns);
	} else if (!suci_close_decode(&f, dgram + SUCI_PATH_HDR, len - SUCI_PATH_HDR)) {
		ep->count.drop_malformed++;
	} else {
		suci_path_down(ep, p, SUCI_DOWN_RESET, "the peer does not know the path", now_ns);
	}
}
