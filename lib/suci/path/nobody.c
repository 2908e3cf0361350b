/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver learned that nobody is at an address: ICMP, which anybody can send with any source.
 *
 * It counts only if it quotes a datagram of ours by the tag that only the two ends, and who sees
 * the way between them, can know (RFC 5927 section 4); an error that quotes no more than a UDP
 * header says nothing.  And even so the peer must leave what we send unanswered for two timeouts,
 * since one that lives answers.  On a sealed path, where who sees the way is not trusted either,
 * it takes more: then only one who also takes datagrams away could make it look so. */
#include "path_internal.h"

#include "base/bytes.h"

#define PROBES		 2u /* unanswered, before it is believed */
#define PROBES_SEALED	 4u
#define SILENT_SEALED_NS (250 * BASE_MS_NS)
#define TRIES		 2u /* of a HELLO or OPEN */
#define TRIES_SEALED	 4u
#define BODY_TAG	 SUCI_PATH_HDR /* where a body has its sender's tag */

/* Is that the beginning of something we sent on this path, as it is now? */
static bool
quotes(const struct suci_path *p, const uint8_t *quote, size_t len)
{
	struct suci_path_hdr h;
	if (!suci_path_hdr_decode(&h, quote, len) || h.version != SUCI_VERSION)
		return false;
	if (p->state == PATH_UP)
		return h.type != SUCI_T_HELLO && h.type != SUCI_T_OPEN && h.path_tag == p->tx_tag;
	return (h.type == SUCI_T_HELLO || h.type == SUCI_T_OPEN) && len >= BODY_TAG + 4 &&
	       be32_load(quote + BODY_TAG) == p->rx_tag;
}

/* Whoever sees the way shows the tag, and timeouts happen to be too short, or two datagrams are
 * lost. */
static bool
long_enough(const struct suci_path *p, uint64_t now_ns)
{
	return !p->seal ||
	       (p->loss.probes >= PROBES_SEALED &&
		now_ns >= base_max_ns(p->last_rx_ns, p->sent.due_ns) + SILENT_SEALED_NS);
}

/* fired: of the last try of a handshake the timeout has passed. */
static bool
proven(const struct suci_path *p, uint32_t fired, uint64_t now_ns)
{
	/* Who had a cookie, a false one too, hears of somebody. */
	if (p->state != PATH_UP && p->seal && p->hs.cookie)
		return false;
	if (p->state != PATH_UP)
		return p->nobody.told_ns && p->hs.tries + fired > (p->seal ? TRIES_SEALED : TRIES);
	return p->nobody.told_ns > p->last_rx_ns && p->loss.probes >= PROBES && outstanding(p) &&
	       long_enough(p, now_ns);
}

bool
suci_nobody_timeout(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	bool gone = proven(p, 1, now_ns);
	if (gone)
		suci_path_down(ep, p, SUCI_DOWN_UNREACHABLE, "nobody is at that address", now_ns);
	return gone;
}

void
suci_path_unreachable(struct suci *ep, const struct suci_addr *to, const void *quote, size_t len,
		      uint64_t now_ns)
{
	suci_enter(ep, now_ns);
	struct suci_path *p = suci_path_at(ep, to);
	if (p && !SUCI_BUG(UNREACHABLE) && !quotes(p, quote, len)) {
		ep->count.drop_quote++;
	} else if (p) {
		p->nobody.told_ns = base_max_ns(now_ns, p->last_rx_ns + 1);
		if (proven(p, 0, now_ns) || SUCI_BUG(UNREACHABLE)) {
			suci_path_down(ep, p, SUCI_DOWN_UNREACHABLE, "nobody is at that address",
				       now_ns);
		} else if (p->state == PATH_UP && !outstanding(p)) {
			p->loss.probe_due = true;
			suci_path_ready(ep, p);
		}
	}
	suci_leave(ep);
}
